// What kernels for a warpgroup_leaf (core/leaf.hpp) are made of, those of a backend, of algorithms and of structures:
// fetches_text has barriers in shared memory and tiles that the tensor memory accelerator fetches and stores; wgmma_text
// and wgmma_instructions() have the multiplications of a warpgroup. They are CUDA C++ for NVIDIA's sm_90 and later.
//
// An operand comes as a tensor map of rank 3: along memory, across, and from one matrix of a batch to the
// next. What a box has outside of it comes as zeros, so no side has to be a multiple of anything.
#pragma once

#include "../core/config.hpp"

#include <string>

STRATAGEMM_BEGIN

inline constexpr char fetches_text[] = R"cu(
struct alignas(64) tensor_map { unsigned long long opaque[16]; };

struct barrier {
    unsigned at;
    void initialise(int arrivals) const {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
    }
    void arrive() const { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
    /* On the barrier at the same place in another block of the cluster. It says that something has been read: nothing
       that was written is handed on, which at the scope of a cluster takes longer than a stage is multiplied. */
    void arrive_at(int block) const {
        asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                     "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(at), "r"(block)
                     : "memory");
    }
    void expect(int bytes) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    }
    void wait(int parity) const {
        asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra AGAIN;\n}" ::"r"(at), "r"(parity)
                     : "memory");
    }
};
/* What has been read and written in shared memory comes before what the hardware copies to it or from it afterwards. */
inline void hand_over() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
inline void barriers_are_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

inline void fetch_map(tensor_map const &map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
inline void fetch(unsigned to, tensor_map const &map, int along, int across, int batch, barrier full) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
                 "%4}], [%5];" ::"r"(to), "l"(&map), "r"(along), "r"(across), "r"(batch), "r"(full.at)
                 : "memory");
}
inline void fetch_for_all(unsigned to, tensor_map const &map, int along, int across, int batch, barrier full,
                          unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to), "l"(&map), "r"(along), "r"(across), "r"(batch),
                 "r"(full.at), "h"(blocks)
                 : "memory");
}
/* The other way: a box, which hand_over() comes before. */
inline void send_box(unsigned from, tensor_map const &map, int along, int across, int batch) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];\n"
                 "cp.async.bulk.commit_group;" ::"l"(&map), "r"(along), "r"(across), "r"(batch), "r"(from)
                 : "memory");
}
/* Of those that this thread has sent, all but so many. */
template <int N> void boxes_are_read_but_for() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
inline int block_in_cluster() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
/* Of barriers, barriers_are_ready() tells the others. */
inline void cluster_begins() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* From the same place in the shared memory of another block of the cluster. */
inline uint4 words_of_block(unsigned at, int block) {
    uint4 x;
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
                 "ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [there];\n}"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at), "r"(block));
    return x;
}
/* To the same place there. */
inline void put_in_block(unsigned at, int block, unsigned x) {
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "st.shared::cluster.b32 [there], %2;\n}" ::"r"(at), "r"(block), "r"(x)
                 : "memory");
}
/* What a block has told another has come there before this is passed. */
inline void cluster_ends() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)cu";

inline constexpr char wgmma_text[] = R"cu(
/* How the hardware is told of a tile in lines of 32, 64 or 128 bytes, swizzled, eight of them to a block. Where the tile has
   several lines beside each other, the next one begins so many bytes further on. */
inline unsigned long long descriptor_of(unsigned address, int line, int next = 16) {
    unsigned long long const swizzle = line == 128 ? 1 : line == 64 ? 2 : 3;
    return swizzle << 62 | (unsigned long long)(8 * line / 16) << 32 | (unsigned long long)(next / 16) << 16 |
           (address & 0x3ffff) >> 4;
}
/* Multiplications come between begin() and commit(); then those of all but the last N commits are waited for. */
inline void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> void wait_but_for() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
/* The sums are there: nothing that the compiler makes of them may come before. */
template <int N> void are_there(float (&sum)[N]) {
#pragma unroll
    for (int v = 0; v < N; ++v) asm volatile("" : "+f"(sum[v])::"memory");
}
template <int N> void are_there(unsigned (&sum)[N]) {
#pragma unroll
    for (int v = 0; v < N; ++v) asm volatile("" : "+r"(sum[v])::"memory");
}
/* Tile `number` of a block that takes tile after tile: `together` rows of tiles are walked through side by side, so that what
   they read is still in the cache. */
inline void place_of_tile(int number, int down, int across, int together, int &i, int &j) {
    int const first = number / (together * across) * together, height = min(together, down - first);
    int const within = number - first * across;
    i = first + within % height, j = within / height;
}
)cu";

// An instruction: 64 x columns from `from` to `to`, 32 bytes of k. The types are as PTX calls them: f16, bf16, tf32,
// s8, e4m3, e5m2. Its first operand is in shared memory, or in registers. A template, as the next, so that a program
// without a CUDA device does not pay for compiling it.
template <class Text = std::string>
Text wgmma_instruction(std::type_identity_t<Text> const& type, int from, int to, bool from_registers) {
    bool const integer = type == "s8", turns = type == "f16" || type == "bf16";
    int const sums = (to - from) / 2;
    Text list, outputs;
    for (int i = 0; i < sums; ++i) {
        list += (i ? ", %" : "%") + std::to_string(i);
        outputs +=
            Text(i ? ", \"+" : "\"+") + (integer ? 'r' : 'f') + "\"(d[" + std::to_string(from / 2 + i) + "])";
    }
    int next = sums;
    auto const operand = [&] { return '%' + std::to_string(next++); };
    Text first = operand();
    if (from_registers) {
        first = '{' + first;
        for (int i = 1; i < 4; ++i) first += ", " + operand();
        first += '}';
    }
    Text const second = operand(), adds_up = operand(), turn_a = operand(), turn_b = operand();
    Text const given = from_registers ? R"("r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))" : R"("l"(a))";
    // However B lies, 128 of its columns have 16 KiB.
    return "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, " + adds_up +
           ", 0;\\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(to - from) + 'k' +
           (turns                       ? "16"
            : integer || type[0] == 'e' ? "32"
                                        : "8") +
           (integer ? ".s32." : ".f32.") + type + '.' + type + " {" + list + "}, " + first + ", " + second +
           ", p" + (integer ? "" : ", 1, 1") + (turns ? ", " + turn_a + ", " + turn_b : "") +
           ";\\n}\" : " + outputs + " : " + given + ", \"l\"(b + " + std::to_string(from * 128 / 16) +
           "), \"r\"(adds_up)" + (turns ? ", \"n\"(!A_ALONG_K), \"n\"(!B_ALONG_K)" : "") + ");\n";
}
// For n columns: one, or two for more than 256, which it does not have.
template <class Text = std::string>
Text wgmma_instructions(std::type_identity_t<Text> const& type, int n, bool from_registers) {
    int const first = n > 256 ? 128 : n;
    Text text =
        Text("inline void multiply(") + (type == "s8" ? "unsigned" : "float") + " (&d)[" +
        std::to_string(n / 2) + (from_registers ? "], unsigned const (&a)[4]" : "], unsigned long long a") +
        ", unsigned long long b, int adds_up) {\n" + wgmma_instruction<Text>(type, 0, first, from_registers);
    if (first < n) text += wgmma_instruction<Text>(type, first, n, from_registers);
    return text + "}\n";
}

STRATAGEMM_END
