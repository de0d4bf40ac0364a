// The header of every kernel when a CPU stands in for the device. It defines the words of CUDA in C++, and a
// function for each instruction that kernels write as asm; nvrtc.cpp turns the asm into calls of these
// functions.
#pragma once

// Without the special functions of libstdc++, such as Bessel's: each kernel would instantiate them again, which is half of
// what compiling an empty one takes.
#define _GLIBCXX_BITS_SPECFUN_H 1
#include <math.h>
#include <stdlib.h>
#include <type_traits>
#include <utility>

// What a thread knows of itself, and the calls that it may make. cuda.cpp switches between the threads of a
// block.
struct stand_in_sides {
    unsigned x, y, z;
};
struct stand_in_thread {
    stand_in_sides thread, block, threads, blocks;
    char* shared;        // dynamic shared memory of the block
    char* exchange;      // 32 times 64 bytes of the warp
    void (*sync)();      // of the block
    void (*sync_warp)(); // of the warp
    void (*sync_cluster)();
    void (*let_others)();
    unsigned long waits;     // in a row without progress of any thread
    unsigned in_cluster;     // the number of the block there
    char* cluster_shared[8]; // of its blocks
    unsigned of_cluster;     // how many these are
    // Products of the words of rows of A and columns of B, row after row, as a tensor core of that type makes them.
    void (*multiply)(char const* type, unsigned const (*a)[8], unsigned rows, unsigned const (*b)[8],
                     unsigned columns, double* sums);
};
#define STAND_IN_SEEN __attribute__((visibility("default")))
static stand_in_thread* stand_in_now;
static void stand_in_clear();
extern "C" STAND_IN_SEEN void stand_in_begin(stand_in_thread* now) {
    stand_in_now = now;
    stand_in_clear();
}

#define threadIdx (stand_in_now->thread)
#define blockIdx (stand_in_now->block)
#define blockDim (stand_in_now->threads)
#define gridDim (stand_in_now->blocks)
#define __global__
#define __shared__ static
#define __grid_constant__
#define __device__
#define __align__(bytes) __attribute__((aligned(bytes)))

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
template <class T>
T min(T x, T y) {
    return x < y ? x : y;
}
template <class T>
T max(T x, T y) {
    return x < y ? y : x;
}
template <class To, class From>
To stand_in_bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}
inline float __uint_as_float(unsigned x) { return stand_in_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return stand_in_bits<unsigned>(x); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31));
}

inline void __syncthreads() { stand_in_now->sync(); }
inline void __syncwarp() { stand_in_now->sync_warp(); }
// Each lane stores its value, and reads the one that another lane stored.
template <class T>
T __shfl_sync(unsigned, T mine, unsigned lane) {
    static_assert(sizeof(T) <= 64);
    __builtin_memcpy(stand_in_now->exchange + 64 * (threadIdx.x % 32), &mine, sizeof(T));
    stand_in_now->sync_warp();
    T other;
    __builtin_memcpy(&other, stand_in_now->exchange + 64 * (lane % 32), sizeof(T));
    stand_in_now->sync_warp();
    return other;
}

template <class T>
T __shfl_down_sync(unsigned all, T mine, unsigned by) {
    unsigned const lane = threadIdx.x % 32;
    return __shfl_sync(all, mine, lane + by < 32 ? lane + by : lane);
}

inline unsigned __ballot_sync(unsigned all, bool mine) {
    unsigned mask = 0;
    for (unsigned lane = 0; lane < 32; ++lane) mask |= (unsigned)__shfl_sync(all, mine, lane) << lane;
    return mask;
}
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
template <class T>
T __ldcs(T const* p) {
    return *p;
}
template <class T>
void __stcs(T* p, T x) {
    *p = x;
}

// Addresses of shared memory as instructions take them: dynamic memory begins at 0, static memory is around
// 3 << 30.
alignas(1024) static char stand_in_own;
inline unsigned __cvta_generic_to_shared(void const* p) {
    long long const from_launch = (char const*)p - stand_in_now->shared,
                    from_own = (char const*)p - &stand_in_own;
    return from_launch >= 0 && from_launch < 256 * 1024 ? (unsigned)from_launch
                                                        : (3u << 30) + (unsigned)from_own;
}
inline char* __cvta_shared_to_generic(unsigned at) {
    return at >= 2u << 30 ? &stand_in_own + (int)(at - (3u << 30)) : stand_in_now->shared + at;
}

// ---- instructions: each takes the text, then its outputs, then its inputs

// Half: five bits of exponent, ten of fraction. Converted by hand, because older compilers do not have the
// type.
inline float stand_in_float(unsigned short x) {
    unsigned const sign = (x & 0x8000u) << 16, exponent = x >> 10 & 31, fraction = x & 1023u;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    float const size =
        exponent == 0 ? (float)fraction * 0x1p-24f : __uint_as_float((exponent + 112) << 23 | fraction << 13);
    return sign ? -size : size;
}
inline unsigned short stand_in_half(float x) {
    unsigned const u = __float_as_uint(x), sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;
    if (size > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
    if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (size < 0x38800000u) { // below the normal ones: the addition rounds
        float const sum = __uint_as_float(size) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(sum) - __float_as_uint(0.5f)));
    }
    return (unsigned short)(sign | (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13);
}
inline void cvt_f32_f16(char const*, float& y, unsigned short x) { y = stand_in_float(x); }
inline void cvt_rn_bf16_f32(char const*, unsigned short& y, float x) {
    unsigned const u = __float_as_uint(x);
    y = (unsigned short)(x != x ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
inline void cvt_rn_f16_f32(char const*, unsigned short& y, float x) { y = stand_in_half(x); }
template <class T>
void st_global_v4_b32(char const*, T* to, unsigned x, unsigned y, unsigned z, unsigned w) {
    unsigned const all[] = {x, y, z, w};
    __builtin_memcpy(to, all, sizeof(all));
}
template <class T>
void st_global_v2_b32(char const*, T* to, unsigned x, unsigned y) {
    unsigned const all[] = {x, y};
    __builtin_memcpy(to, all, sizeof(all));
}

template <class T>
T& stand_in_shared(unsigned at) {
    return *(T*)__cvta_shared_to_generic(at);
}
template <class T>
void mov_u32(char const* text, T& x) {
    x = __builtin_strstr(text, "laneid")   ? (T)(threadIdx.x % 32)
        : __builtin_strstr(text, "nsmid")  ? 5
        : __builtin_strstr(text, "nctaid") ? (T)stand_in_now->of_cluster
                                           : (T)stand_in_now->in_cluster;
}
inline long long clock64() {
    static long long now;
    return now += 1 << 20;
}
inline void __nanosleep(unsigned) { stand_in_now->let_others(); }
inline void griddepcontrol_wait(char const*) {}
inline void griddepcontrol_launch_dependents(char const*) {}
inline void dp4a_s32_s32(char const*, unsigned& sum, unsigned x, unsigned y) {
    for (int b = 0; b < 32; b += 8) sum += (unsigned)((signed char)(x >> b) * (signed char)(y >> b));
}
inline void setmaxnreg_dec_sync_aligned_u32(char const*, int = 0) {}
inline void setmaxnreg_inc_sync_aligned_u32(char const*, int = 0) {}

inline void ld_shared_v4_f32(char const*, float& x, float& y, float& z, float& w, unsigned at) {
    float const* const from = &stand_in_shared<float>(at);
    x = from[0], y = from[1], z = from[2], w = from[3];
}
inline void ld_shared_f32(char const*, float& x, unsigned at) { x = stand_in_shared<float>(at); }
inline void st_shared_v4_f32(char const*, unsigned at, float x, float y, float z, float w) {
    float* const to = &stand_in_shared<float>(at);
    to[0] = x, to[1] = y, to[2] = z, to[3] = w;
}
template <class T>
void ld_shared_b32(char const*, T& x, unsigned at) {
    x = stand_in_shared<T>(at);
}
template <class T>
void ld_shared_v2_b32(char const*, T& x, T& y, unsigned at) {
    x = stand_in_shared<T>(at), y = stand_in_shared<T>(at + 4);
}
template <class T>
void ld_shared_v4_b32(char const*, T& x, T& y, T& z, T& w, unsigned at) {
    T const* const from = &stand_in_shared<T>(at);
    x = from[0], y = from[1], z = from[2], w = from[3];
}
template <class T>
void ld_global_v4_u32(char const*, unsigned& x, unsigned& y, unsigned& z, unsigned& w, T const* from) {
    if ((unsigned long long)from % 16 != 0) __builtin_trap();
    unsigned words[4];
    __builtin_memcpy(words, from, 16);
    x = words[0], y = words[1], z = words[2], w = words[3];
}
template <class T>
void ld_global_L2__128B_v4_u32(char const* text, unsigned& x, unsigned& y, unsigned& z, unsigned& w,
                               T const* from) {
    ld_global_v4_u32(text, x, y, z, w, from);
}
template <class T>
void ld_global_L1__no_allocate_L2__128B_v4_u32(char const* text, unsigned& x, unsigned& y, unsigned& z,
                                               unsigned& w, T const* from) {
    ld_global_v4_u32(text, x, y, z, w, from);
}
inline void ld_global_u32(char const*, unsigned& x, unsigned const* from) {
    if ((unsigned long long)from % 4 != 0) __builtin_trap();
    x = *from;
}
template <class T>
void prefetch_global_L2(char const*, T const*) {}
inline void st_shared_b16(char const*, unsigned at, unsigned short x) {
    stand_in_shared<unsigned short>(at) = x;
}
inline void st_shared_b8(char const*, unsigned at, unsigned x) {
    stand_in_shared<unsigned char>(at) = static_cast<unsigned char>(x);
}
inline void st_shared_b32(char const*, unsigned at, unsigned x) { stand_in_shared<unsigned>(at) = x; }
inline void st_shared_v4_b32(char const*, unsigned at, unsigned x, unsigned y, unsigned z, unsigned w) {
    unsigned* const to = &stand_in_shared<unsigned>(at);
    to[0] = x, to[1] = y, to[2] = z, to[3] = w;
}
inline void st_shared_f32(char const*, unsigned at, float x) { stand_in_shared<float>(at) = x; }
inline void st_shared_v2_f32(char const*, unsigned at, float x, float y) {
    stand_in_shared<float>(at) = x, stand_in_shared<float>(at + 4) = y;
}
inline void st_shared_v2_b32(char const*, unsigned at, unsigned x, unsigned y) {
    stand_in_shared<unsigned>(at) = x, stand_in_shared<unsigned>(at + 4) = y;
}
inline void st_shared_v2_b16(char const*, unsigned at, unsigned short x, unsigned short y) {
    stand_in_shared<unsigned short>(at) = x, stand_in_shared<unsigned short>(at + 2) = y;
}
inline void ld_shared_v2_f64(char const*, double& x, double& y, unsigned at) {
    x = stand_in_shared<double>(at), y = stand_in_shared<double>(at + 8);
}
inline void ld_shared_f64(char const*, double& x, unsigned at) { x = stand_in_shared<double>(at); }
inline void st_shared_f64(char const*, unsigned at, double x) { stand_in_shared<double>(at) = x; }
inline void st_shared_v2_f64(char const*, unsigned at, double x, double y) {
    stand_in_shared<double>(at) = x, stand_in_shared<double>(at + 8) = y;
}
inline void ld_volatile_shared_f64(char const* text, double& x, double& y, unsigned at) {
    ld_shared_v2_f64(text, x, y, at);
}

// Copies are done immediately.
template <class T>
void cp_async_cg_shared_global_L2__128B(char const*, unsigned to, T const* from, int there) {
    if (to % 16 != 0 || (unsigned long long)from % 16 != 0) __builtin_trap();
    __builtin_memset(__cvta_shared_to_generic(to), 0, 16);
    __builtin_memcpy(__cvta_shared_to_generic(to), from, there);
}
inline void cp_async_ca_shared_global(char const*, unsigned to, char const* from, int bytes) {
    if (to % bytes != 0 || (unsigned long long)from % bytes != 0) __builtin_trap();
    __builtin_memcpy(__cvta_shared_to_generic(to), from, bytes);
}
inline void cp_async_ca_shared_global(char const*, unsigned to, double const* from, int there) { // of 8 bytes
    stand_in_shared<double>(to) = there > 0 ? *from : 0;
}
inline void cp_async_ca_shared_global(char const*, unsigned to, unsigned const* from, int there,
                                      int bytes = 4) {
    if (to % bytes != 0 || (unsigned long long)from % bytes != 0) __builtin_trap();
    __builtin_memset(__cvta_shared_to_generic(to), 0, bytes);
    __builtin_memcpy(__cvta_shared_to_generic(to), from, there);
}
inline void cp_async_commit_group(char const*) {}
inline void cp_async_wait_group(char const*, int) {}

// ---- barriers in shared memory: the arrivals and bytes that are still missing, and the phases completed

struct stand_in_barrier {
    short missing, all;
    int bytes : 31;
    unsigned round : 1;
    void check() {
        if (missing == 0 && bytes == 0) missing = all, ++round, stand_in_now->waits = 0;
    }
};
inline void mbarrier_init_shared__cta_b64(char const*, unsigned at, int arrivals) {
    stand_in_shared<stand_in_barrier>(at) = {(short)arrivals, (short)arrivals, 0, 0};
}
inline void mbarrier_arrive_shared__cta_b64(char const*, unsigned at) {
    stand_in_barrier& b = stand_in_shared<stand_in_barrier>(at);
    --b.missing, b.check();
}
inline void cp_async_mbarrier_arrive_noinc_shared__cta_b64(char const* text, unsigned at) {
    mbarrier_arrive_shared__cta_b64(text, at);
}
inline void mbarrier_arrive_expect_tx_shared__cta_b64(char const*, unsigned at, int bytes) {
    stand_in_barrier& b = stand_in_shared<stand_in_barrier>(at);
    b.bytes += bytes, --b.missing, b.check();
}
inline void fence_proxy_async_shared__cta(char const*) {}
inline void fence_mbarrier_init_release_cluster(char const*) {}

// Barriers of some threads of a block.
static struct {
    int arrived;
    unsigned round;
} stand_in_named[8][16];
inline void barrier_sync(char const*, int number, int threads = 128) {
    auto& b = stand_in_named[stand_in_now->in_cluster][number];
    unsigned const round = b.round;
    if (++b.arrived == threads) b.arrived = 0, ++b.round, stand_in_now->waits = 0;
    while (b.round == round) stand_in_now->let_others();
}

// ---- tiles that the hardware fetches, as described by the map that cuda.cpp writes

struct stand_in_map {
    char* data;
    unsigned long long sides[3], strides[2];
    unsigned box[3], element, swizzled;
};
inline void prefetch_tensormap(char const*, void const*) {}
// Lines of 128 bytes: the place of each piece of 16 is its number xor that of the line modulo 8; of 64, xor that of the
// pair of lines modulo 4.
inline unsigned stand_in_place(unsigned at, unsigned swizzled) {
    return swizzled ? at ^ (at >> 7 & (swizzled == 128 ? 7 : 3)) << 4 : at;
}
struct stand_in_fetch {
    char* shared;
    stand_in_map map; // a copy, because the thread that asked may have ended
    unsigned to, full;
    int along, across, batch;

    void perform() const {
        stand_in_map const& m = map;
        if (to % 128 != 0) __builtin_trap();
        unsigned const piece = 16 / m.element;
        for (unsigned y = 0; y < m.box[1]; ++y)
            for (unsigned x = 0; x < m.box[0]; x += piece) {
                char* const place = shared + stand_in_place(to + (y * m.box[0] + x) * m.element, m.swizzled);
                long long const i = along + (long long)x, j = across + (long long)y;
                __builtin_memset(place, 0, 16);
                if ((unsigned long long)j >= m.sides[1] || (unsigned)batch >= m.sides[2]) continue;
                char const* const from =
                    m.data + i * m.element + j * (long long)m.strides[0] + batch * (long long)m.strides[1];
                if (i >= 0 && i + piece <= m.sides[0])
                    __builtin_memcpy(place, from, 16);
                else
                    for (unsigned e = 0; e < piece; ++e)
                        if ((unsigned long long)(i + e) < m.sides[0])
                            __builtin_memcpy(place + e * m.element, from + e * m.element, m.element);
            }
        stand_in_barrier& b = *(stand_in_barrier*)(shared + full);
        b.bytes -= (int)(m.box[0] * m.box[1] * m.element), b.check();
    }
};
// Every second fetch is done immediately, the others when a thread waits for a barrier. So a tile that is
// read before its barrier, or overwritten before it was read, shows in one of the two.
static struct {
    stand_in_fetch ring[256];
    unsigned first, past, count;
} stand_in_later;
template <class Map>
void stand_in_ask(char* shared, unsigned to, Map const* map, int along, int across, int batch,
                  unsigned full) {
    auto& l = stand_in_later;
    stand_in_fetch const f{shared, *(stand_in_map const*)map, to, full, along, across, batch};
    if (++l.count % 2 || l.past - l.first == 256) return f.perform();
    l.ring[l.past++ % 256] = f;
}
inline void mbarrier_try_wait_parity_shared__cta_b64(char const*, unsigned at, int parity) {
    auto& l = stand_in_later;
    while (stand_in_shared<stand_in_barrier>(at).round == (unsigned)parity)
        if (l.first != l.past)
            l.ring[l.first++ % 256].perform();
        else
            stand_in_now->let_others();
}
template <class Map>
void cp_async_bulk_tensor_3d_shared__cluster_global_mbarrier__complete_tx__bytes(char const*, unsigned to,
                                                                                 Map const* map, int along,
                                                                                 int across, int batch,
                                                                                 unsigned full) {
    stand_in_ask(stand_in_now->shared, to, map, along, across, batch, full);
}

// Stores a tile. The hardware stores whole 16 bytes, and so overwrites what lies beside the last column up to there.
struct stand_in_send {
    char const* thread; // of a block: its number there, beside the memory of the block
    bool is_late;       // and still to be performed
    stand_in_map map;
    int along, across, batch;
    unsigned from;

    void perform() const {
        stand_in_map const& m = map;
        unsigned const piece = 16 / m.element;
        for (unsigned y = 0; y < m.box[1]; ++y)
            for (unsigned x = 0; x < m.box[0]; x += piece) {
                unsigned long long const i = along + (long long)x, j = across + (long long)y;
                if (i >= m.sides[0] || j >= m.sides[1] || (unsigned)batch >= m.sides[2]) continue;
                __builtin_memcpy(m.data + i * m.element + j * m.strides[0] + batch * m.strides[1],
                                 __cvta_shared_to_generic(
                                     stand_in_place(from + (y * m.box[0] + x) * m.element, m.swizzled)),
                                 16);
            }
    }
};
// Every second box is read immediately, the others when their thread waits for it. So a box that is sent before it was
// written, or written again before it was read, shows in one of the two.
static struct {
    stand_in_send list[1024];
    unsigned past, count;
} stand_in_sent;
inline char const* stand_in_sender() { return stand_in_now->shared + threadIdx.x; }
template <class Map>
void cp_async_bulk_tensor_3d_global_shared__cta_bulk_group(char const*, Map const* map, int along, int across,
                                                           int batch, unsigned from) {
    auto& sent = stand_in_sent;
    if (sent.past == 1024) __builtin_trap();
    stand_in_send& s = sent.list[sent.past++];
    s = {stand_in_sender(), ++sent.count % 2 == 0, *(stand_in_map const*)map, along, across, batch, from};
    if (!s.is_late) s.perform();
}
inline void cp_async_bulk_wait_group_read(char const*, int but) {
    auto& sent = stand_in_sent;
    char const* const sender = stand_in_sender();
    int own = 0;
    for (unsigned i = 0; i < sent.past; ++i) own += sent.list[i].thread == sender;
    unsigned kept = 0;
    for (unsigned i = 0; i < sent.past; ++i) {
        stand_in_send const& s = sent.list[i];
        if (s.thread != sender || own <= but)
            sent.list[kept++] = s;
        else if (--own; s.is_late)
            s.perform();
    }
    sent.past = kept;
}

// ---- clusters

inline void mapa_shared__cluster_u32(char const*, unsigned at, int block) {
    stand_in_barrier& b = *(stand_in_barrier*)(stand_in_now->cluster_shared[block] + at);
    --b.missing, b.check();
}
inline void mapa_shared__cluster_u32(char const*, unsigned& x, unsigned& y, unsigned& z, unsigned& w,
                                     unsigned at, int block) {
    unsigned const* const from = (unsigned const*)(stand_in_now->cluster_shared[block] + at);
    x = from[0], y = from[1], z = from[2], w = from[3];
}
inline void mapa_shared__cluster_u32(char const*, unsigned at, int block, unsigned x) {
    *(unsigned*)(stand_in_now->cluster_shared[block] + at) = x;
}
template <class Map>
void cp_async_bulk_tensor_3d_shared__cluster_global_mbarrier__complete_tx__bytes_multicast__cluster(
    char const*, unsigned to, Map const* map, int along, int across, int batch, unsigned full,
    unsigned short blocks) {
    for (unsigned b = 0; b < 8; ++b)
        if (blocks >> b & 1)
            stand_in_ask(stand_in_now->cluster_shared[b], to, map, along, across, batch, full);
}
inline void barrier_cluster_arrive_relaxed_aligned(char const*) { stand_in_now->sync_cluster(); }
inline void barrier_cluster_arrive_release_aligned(char const*) { stand_in_now->sync_cluster(); }

// ---- tensor cores: lane 4 g + t holds bytes 4 t .. 4 t + 3 of k of rows g and g + 8 of A, of column g of B,
// and columns 2 t and 2 t + 1 of these rows of C

// What the threads of a warp or a warpgroup bring to an instruction that they execute together. The last of them that
// comes computes for all; `compute` gets a function from the number of a thread to what that one brought.
struct stand_in_meeting {
    void const* brought[128];
    unsigned come, round;
};
static stand_in_meeting
    stand_in_meetings[8][32 + 8]; // of the warps of each block of a cluster, and of its warpgroups
template <class T, class F>
void stand_in_together(unsigned threads, T const& mine, F const& compute) {
    unsigned const me = threadIdx.x;
    stand_in_meeting& m =
        stand_in_meetings[stand_in_now->in_cluster][threads == 32 ? me / 32 : 32 + me / 128];
    unsigned const round = m.round;
    m.brought[me % threads] = &mine;
    if (++m.come == threads) {
        compute([&](unsigned of) -> T const& { return *(T const*)m.brought[of]; });
        m.come = 0, ++m.round, stand_in_now->waits = 0;
    }
    while (m.round == round) stand_in_now->let_others();
}
inline unsigned stand_in_add(unsigned c, double sum) { return c + (unsigned)(int)sum; }
// Tensor cores truncate where other units round.
inline float stand_in_add(float c, double sum) {
    double const exact = c + sum;
    float const rounded = (float)exact;
    return fabs((double)rounded) > fabs(exact) ? nextafterf(rounded, 0.0f) : rounded;
}

// "...row.col.SUM.A.B.SUM {": A's type.
inline char const* stand_in_type(char const* text) {
    char const* at = __builtin_strstr(text, ".row.col.") + 9;
    return __builtin_strchr(at, '.') + 1;
}
// The words of A and B, and the places of the sums: c[0] and c[1] are of row g, c[2] and c[3] of row g + 8.
template <class S, class T>
struct stand_in_fragments {
    S* c[4];
    T a[4], b[2];
};
template <class S>
void stand_in_multiply(char const* type, S& c0, S& c1, S& c2, S& c3, unsigned a0, unsigned a1, unsigned a2,
                       unsigned a3, unsigned b0, unsigned b1) {
    stand_in_fragments<S, unsigned> const mine{{&c0, &c1, &c2, &c3}, {a0, a1, a2, a3}, {b0, b1}};
    stand_in_together(32, mine, [&](auto const& of) {
        unsigned a[16][8], b[8][8];
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned h = 0; h < 2; ++h) {
                unsigned const g = lane / 4, q = lane % 4 + 4 * h;
                a[g][q] = of(lane).a[2 * h], a[g + 8][q] = of(lane).a[2 * h + 1], b[g][q] = of(lane).b[h];
            }
        double sums[16][8];
        stand_in_now->multiply(type, a, 16, b, 8, sums[0]);
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned x = 0; x < 4; ++x) {
                S& c = *of(lane).c[x];
                c = stand_in_add(c, sums[lane / 4 + x / 2 * 8][lane % 4 * 2 + x % 2]);
            }
    });
}
template <class S>
void mma_sync_aligned_(char const* text, S& c0, S& c1, S& c2, S& c3, unsigned a0, unsigned a1, unsigned a2,
                       unsigned a3, unsigned b0, unsigned b1) {
    stand_in_multiply(stand_in_type(text), c0, c1, c2, c3, a0, a1, a2, a3, b0, b1);
}
template <class S>
void mma_sync_aligned_m8n8k16_row_col_s32_s8_s8_s32(char const*, S& c0, S& c1, unsigned a, unsigned b) {
    S unused[2] = {};
    stand_in_multiply("s8", c0, c1, unused[0], unused[1], a, 0, 0, 0, b, 0);
}
template <class S>
void mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(char const* text, S& c0, S& c1, S& c2, S& c3,
                                                      unsigned a0, unsigned a1, unsigned b) {
    mma_sync_aligned_(text, c0, c1, c2, c3, a0, a1, 0, 0, b, 0);
}
// The same for doubles: lane 4 g + t holds terms t and t + 4 of k. The device sums them one after another.
inline void mma_sync_aligned_m16n8k8_row_col_f64_f64_f64_f64(char const*, double& c0, double& c1, double& c2,
                                                             double& c3, double a0, double a1, double a2,
                                                             double a3, double b0, double b1) {
    stand_in_fragments<double, double> const mine{{&c0, &c1, &c2, &c3}, {a0, a1, a2, a3}, {b0, b1}};
    stand_in_together(32, mine, [&](auto const& of) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            unsigned const g = lane / 4, t = lane % 4;
            double* const* const c = of(lane).c;
            double s0 = *c[0], s1 = *c[1], s2 = *c[2],
                   s3 = *c[3]; // side by side, since each waits for its own sum
            for (unsigned h = 0; h < 2; ++h)
                for (unsigned q = 0; q < 4; ++q) {
                    double const* const a = of(g * 4 + q).a + 2 * h;
                    double const x = of(2 * t * 4 + q).b[h], y = of((2 * t + 1) * 4 + q).b[h];
                    s0 = __builtin_fma(a[0], x, s0), s1 = __builtin_fma(a[0], y, s1);
                    s2 = __builtin_fma(a[1], x, s2), s3 = __builtin_fma(a[1], y, s3);
                }
            *c[0] = s0, *c[1] = s1, *c[2] = s2, *c[3] = s3;
        }
    });
}

// Four matrices of eight rows of 16 bytes; lane 8 i + r says where row r of matrix i is, and lane 4 g + t
// gets bytes 4 t .. 4 t + 3 of row g of each. Or, transposed, elements (2 t, g) and (2 t + 1, g).
struct stand_in_matrices_of {
    unsigned at, *x;
};
inline void stand_in_matrices(unsigned (&x)[4], unsigned at, bool transposed) {
    if (at % 16 != 0) __builtin_trap();
    stand_in_matrices_of const mine{at, x};
    stand_in_together(32, mine, [&](auto const& of) {
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned i = 0; i < 4; ++i) {
                unsigned const g = lane / 4, t = lane % 4;
                auto const row = [&](unsigned r) { return of(8 * i + r).at; };
                if (transposed)
                    of(lane).x[i] = stand_in_shared<unsigned short>(row(2 * t) + 2 * g) |
                                    (unsigned)stand_in_shared<unsigned short>(row(2 * t + 1) + 2 * g) << 16;
                else
                    of(lane).x[i] = stand_in_shared<unsigned>(row(g) + 4 * t);
            }
    });
}
inline void ldmatrix_sync_aligned_m8n8_x4_shared_b16(char const*, unsigned& x, unsigned& y, unsigned& z,
                                                     unsigned& w, unsigned at) {
    unsigned all[4];
    stand_in_matrices(all, at, false);
    x = all[0], y = all[1], z = all[2], w = all[3];
}
inline void ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(char const*, unsigned& x, unsigned& y, unsigned& z,
                                                           unsigned& w, unsigned at) {
    unsigned all[4];
    stand_in_matrices(all, at, true);
    x = all[0], y = all[1], z = all[2], w = all[3];
}

// A warpgroup's 64 rows times N columns, 32 bytes of k; operands where descriptors say, the first perhaps in
// registers. A warp has 16 rows, and its lanes have of C what they have of 16 x 8, once for each 8 columns.
inline void wgmma_fence_sync_aligned(char const*) {}
inline void wgmma_commit_group_sync_aligned(char const*) {}
inline void wgmma_wait_group_sync_aligned(char const*, int) {}
struct stand_in_tile {
    unsigned at, leading, line; // bytes of a line
    bool turned;                // lines run along the rows, not along k
    stand_in_tile(unsigned long long descriptor, bool turned)
        : at((unsigned)(descriptor & 0x3fff) << 4), leading((unsigned)(descriptor >> 16 & 0x3fff) << 4),
          line(descriptor >> 62 == 1 ? 128 : 64), turned(turned) {
        if (descriptor >> 62 > 2 || (turned && line != 128)) __builtin_trap();
        if ((descriptor >> 32 & 0x3fff) != 8 * line / 16) __builtin_trap();
    }
    // All 32 bytes of k of a row; turned, elements are of two bytes.
    void words(unsigned row, unsigned (&to)[8]) const {
        for (unsigned q = 0; !turned && q < 8; q += 4)
            __builtin_memcpy(to + q, __cvta_shared_to_generic(stand_in_place(at + row * line + 4 * q, line)),
                             16);
        auto const one = [&](unsigned k) -> unsigned {
            return stand_in_shared<unsigned short>(
                stand_in_place(at + row / 64 * leading + k / 8 * 1024 + k % 8 * 128 + row % 64 * 2, 128));
        };
        for (unsigned q = 0; turned && q < 8; ++q) to[q] = one(2 * q) | one(2 * q + 1) << 16;
    }
};
struct stand_in_arguments {
    void* const* places;               // of all, beginning with the sums
    unsigned long long const* numbers; // those that are not sums
};
template <class S>
void stand_in_warpgroup(char const* text, unsigned count, stand_in_arguments const& mine) {
    stand_in_together(128, mine, [&](auto const& of) {
        unsigned const columns = (unsigned)atoi(__builtin_strstr(text, ".m64n") + 5), sums = columns / 2;
        char const* type = __builtin_strstr(text, ".m64n") + 1; // of m64n128k16.f32.f16.f16, say
        for (int dots = 0; dots < 2; ++type) dots += *type == '.';
        bool const turns = type[0] == 'f' || type[0] == 'b';
        bool const from_registers = count == sums + 6 + 2 * turns;
        unsigned long long const* const after = mine.numbers + sums + (from_registers ? 4 : 1);
        bool const adds_up = after[1];

        static unsigned a[64][8], b[256][8];
        static double made[64 * 256];
        if (from_registers) {
            for (unsigned thread = 0; thread < 128; ++thread)
                for (unsigned x = 0; x < 4; ++x)
                    a[thread / 32 * 16 + thread % 32 / 4 + x % 2 * 8][thread % 4 + x / 2 * 4] =
                        (unsigned)of(thread).numbers[sums + x];
        } else {
            stand_in_tile const tile(mine.numbers[sums], turns && after[2]);
            for (unsigned i = 0; i < 64; ++i) tile.words(i, a[i]);
        }
        stand_in_tile const tile(after[0], turns && after[3]);
        for (unsigned j = 0; j < columns; ++j) tile.words(j, b[j]);
        stand_in_now->multiply(type, a, 64, b, columns, made);
        for (unsigned thread = 0; thread < 128; ++thread)
            for (unsigned x = 0; x < sums; ++x) {
                unsigned const i = thread / 32 * 16 + thread % 32 / 4 + x / 2 % 2 * 8,
                               j = x / 4 * 8 + thread % 4 * 2 + x % 2;
                S& c = *(S*)of(thread).places[x];
                c = stand_in_add(adds_up ? c : S(0), made[i * columns + j]);
            }
    });
}
template <class S, class... Rest>
void setp_ne_b32(char const* text, S& first, Rest&&... rest) {
    void* const places[] = {&first, (void*)&rest...};
    auto const as_number = [](auto const& x) {
        if constexpr (std::is_floating_point_v<std::decay_t<decltype(x)>>) // a sum
            return 0ull;
        else
            return (unsigned long long)x;
    };
    unsigned long long const numbers[] = {0, as_number(rest)...};
    stand_in_warpgroup<S>(text, sizeof...(rest) + 1, {places, numbers});
}

static void stand_in_clear() {
    __builtin_memset(stand_in_named, 0, sizeof(stand_in_named));
    __builtin_memset(stand_in_meetings, 0, sizeof(stand_in_meetings));
    if (stand_in_later.first != stand_in_later.past)
        __builtin_trap(); // an earlier launch left fetches that nobody waited for
}

// A launch passes pointers to the arguments.
template <class... A, size_t... I>
void stand_in_call(void (*kernel)(A...), void** p, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<A>*)p[I]...);
}
template <class... A>
void stand_in_call(void (*kernel)(A...), void** p) {
    stand_in_call(kernel, p, std::index_sequence_for<A...>{});
}
