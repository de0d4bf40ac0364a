// The parameters of the engines that have no file of their own yet, and what each kernel asks of its operands.
#pragma once

#include "engine/narrow_tile.hpp"

#include <compare>
#include <cstddef>
#include <string>
#include <utility>

STRATAGEMM_BEGIN

// Ways to multiply: a kernel each, in kernels/.
enum class cuda_engine : short {
    blocked = 3, // tiles pass through registers to shared memory; any type, stride and architecture
    simt,        // floats on the FP32 units; tiles fetched by hardware, as in those that follow: sm_90
    fp64,        // doubles on the tensor cores of sm_90
    wgmma,       // narrow types, and floats rounded to tf32, on the tensor cores of sm_90a
    mma,         // the same on those of any architecture; tiles are copied by threads
};

// Whether operands have to be aligned lines along one of their sides, or are copied to be so.
constexpr bool reads_lines(cuda_engine e) { return e >= cuda_engine::simt; }

struct cuda_tile {
    cuda_engine engine = cuda_engine::blocked;
    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each thread; for a warp in fp64 and mma; not used by wgmma
    short stages = 1;               // of shared memory
    short group = 1;                // rows of tiles that are walked through together
    short cluster = 1; // blocks below each other that share the tiles of B that they fetch; wgmma only
    short parts = 0;   // of k, summed each by itself; 0: as the model says
    short beside = 1;  // blocks beside each other that share what is fetched of A; wgmma only

    friend bool operator==(cuda_tile const&, cuda_tile const&) = default;
    friend auto operator<=>(cuda_tile const&, cuda_tile const&) = default;

    // From the list of its parameters, in the order above; values_of() is the list.
    static cuda_tile of(std::vector<short> const& v) {
        return {static_cast<cuda_engine>(v[0]), v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
    }
    constexpr int blocks_of_cluster() const { return cluster * beside; }

    // What engines have (engine/README.md).
    static bool takes(cuda_query const& q);
    static bool keeps_order(cuda_order const& order, char, cuda_device const&) {
        return !order.on_tensor_cores;
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;
    std::string describe() const;
    bool reads_lines() const { return stratagemm::reads_lines(engine); }
    bool takes_along_k(std::size_t of_element) const;
    bool truncates(std::size_t) const { return engine == cuda_engine::wgmma || engine == cuda_engine::mma; }
    bool copies_lines(cuda_way const& way) const;
    // A cluster takes tiles that lie together, as many as it has blocks.
    std::ptrdiff_t tiles(cuda_sides const& s) const {
        return ((s.m - 1) / (m * cluster) + 1) * cluster * (((s.n - 1) / (n * beside) + 1) * beside);
    }
    // Tiles that are in parts where the others are whole.
    std::ptrdiff_t tail(cuda_way const& way, cuda_sides const& s) const { return tiles(s) - way.whole; }
    template <class In, class Out, class A, class B, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const;
    template <class In>
    std::size_t copies_at_most(cuda_sides const& s) const;
    template <class Product>
    std::size_t copies(Product const& p, cuda_way const& way) const;
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const;
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments const& x,
               Epilogue const& epilogue, cuda_arena& memory) const;
};
inline std::vector<short> values_of(cuda_tile const& t) {
    return {static_cast<short>(t.engine),
            t.m,
            t.n,
            t.k,
            t.micro_m,
            t.micro_n,
            t.stages,
            t.group,
            t.cluster,
            t.parts,
            t.beside};
}

// Whether a large tile of simt may read lines along k as they lie. The tile is faster with transposed copies of the
// operands, but these take time.
constexpr bool may_read_along_k(cuda_tile const& t) {
    return t.engine == cuda_engine::simt && t.micro_m * t.micro_n > 64 && t.micro_m * t.micro_n <= 128;
}

// Whether simt leaves out the terms of the last step of a tile that are beyond k, in eights, because they take
// noticeable time. Checking this at each step takes up to 5% longer.
constexpr bool leaves_out(cuda_tile const& t, std::ptrdiff_t k) {
    std::ptrdiff_t const beyond = (t.k - 1 - (k - 1) % t.k) / 8 * 8;
    return t.engine == cuda_engine::simt && 25 * beyond >= k;
}
// The number of terms that a tile multiplies then.
constexpr std::ptrdiff_t terms_of(cuda_tile const& t, std::ptrdiff_t k) {
    std::ptrdiff_t const unit = leaves_out(t, k) ? 8 : t.k;
    return ((k - 1) / unit + 1) * unit;
}

// The form that a tile takes, if operands lie as given. Some tiles take one form only.
inline cuda_form form_for(cuda_tile const& t, std::size_t element, cuda_form given) {
    bool const on_tensor_cores = t.engine == cuda_engine::wgmma || t.engine == cuda_engine::mma;
    given.direct &= may_read_along_k(t);
    if (t.engine == cuda_engine::simt && t.micro_m * t.micro_n > 64 && !given.direct)
        given.a_along_k = given.b_along_k = false;
    bool const turns_b = t.engine == cuda_engine::wgmma && element == 4 && t.n % 64 == 0;
    if (on_tensor_cores && element != 2) given.a_along_k = true, given.b_along_k |= !turns_b;
    return given;
}

inline bool cuda_tile::takes_along_k(std::size_t of_element) const {
    return form_for(*this, of_element, {}).a_along_k;
}

// Floats whose B does not lie along k: wgmma computes C^T, and the sides of a tile change places.
inline bool is_turned(cuda_tile const& t, cuda_form const& f, std::size_t element) {
    return t.engine == cuda_engine::wgmma && element == 4 && !f.b_along_k;
}
inline cuda_tile lying_on_c(cuda_tile t, cuda_form const& f, std::size_t element) {
    if (is_turned(t, f, element)) std::swap(t.m, t.n);
    return t;
}

// Whether tiles are fetched by hardware. Blocks then stay and take tile after tile, so that one is fetched
// while another is stored.
constexpr bool fetches(cuda_engine e) { return reads_lines(e) && e != cuda_engine::mma; }

// Whether the last round of tiles, if it is not full, may be divided along k (TAIL in pipeline.cu.hpp).
constexpr bool divides_last_round(cuda_tile const& t, std::size_t element) {
    return fetches(t.engine) && !(t.engine == cuda_engine::wgmma && element == 4);
}

// Whether three warpgroups multiply, which have fewer registers and less shared memory each than two.
constexpr bool has_three_groups(cuda_tile const& t) { return t.engine == cuda_engine::wgmma && t.m > 128; }

// Whether a thread has registers for two sums of each element, that of a piece of k and that of the pieces before.
constexpr bool sums_pieces(cuda_tile const& t) {
    switch (t.engine) {
    case cuda_engine::simt: return t.micro_m * t.micro_n <= 96;
    case cuda_engine::fp64: return t.micro_m * t.micro_n <= 1024;
    case cuda_engine::wgmma: return t.n <= 192 && !has_three_groups(t);
    case cuda_engine::mma: return t.stages > 1 || t.micro_m * t.micro_n <= 1024;
    default: return true;
    }
}

// Whether the parts of k of a tile may be the blocks of a cluster: it has eight blocks at most, and their sums have
// to fit where tiles were.
constexpr bool adds_up_together(cuda_tile const& t, std::size_t element, std::ptrdiff_t parts) {
    bool const has_code =
        t.engine == cuda_engine::simt || t.engine == cuda_engine::mma ||
        (t.engine == cuda_engine::wgmma && element < 4 && !has_three_groups(t)); // registers
    return has_code && t.blocks_of_cluster() == 1 && parts > 1 && parts <= 8 &&
           t.m * t.n * 4 <= t.stages * (t.m + t.n) * t.k * static_cast<int>(element);
}

// Warps of fp64 that only fetch: one, or four where there are eight others that need the registers which
// these give up.
constexpr int fetchers_of(cuda_tile const& t) {
    int const warps = t.m / t.micro_m * (t.n / t.micro_n);
    return warps == 8 && t.micro_m * t.micro_n >= 1024 ? 4 : 1;
}

// Whether the lines of A and B may begin anywhere. Threads of some warps then copy the operands that the hardware
// cannot fetch. Large tiles do without these copies: their warps have no registers left, and a copy of the operands
// costs large products little.
constexpr bool takes_any_lines(cuda_tile const& t) {
    return (t.engine == cuda_engine::fp64 && fetchers_of(t) == 1) ||
           (t.engine == cuda_engine::simt && t.micro_m * t.micro_n <= 128 && t.m * t.n <= 128 * 128);
}
inline bool cuda_tile::copies_lines(cuda_way const& way) const {
    return reads_lines() && !(takes_any_lines(*this) && (way.shifted || engine == cuda_engine::fp64));
}
// Whether the lines of operands may begin at multiples of 4 bytes, or anywhere, if they lie as the tile takes them.
constexpr bool takes_words(cuda_tile const& t, std::size_t element) {
    return t.engine == cuda_engine::mma && element < 4;
}

inline int threads_of(cuda_tile const& t) {
    switch (t.engine) {
    case cuda_engine::fp64: return (t.m / t.micro_m * (t.n / t.micro_n) + fetchers_of(t)) * 32;
    case cuda_engine::mma: return t.m / t.micro_m * (t.n / t.micro_n) * 32;
    case cuda_engine::wgmma: return (t.m / 64 + 1) * 128;
    default: return t.m / t.micro_m * (t.n / t.micro_n);
    }
}

// Blocks of a multiprocessor that have registers for `sums` sums of each thread (RESIDENT in kernels/simt.cu.hpp).
inline int blocks_with_sums(cuda_tile const& t, int sums) {
    int const blocks = (sums > 64 ? 256 : sums > 32 ? 384 : 512) / threads_of(t);
    return blocks > 0 ? blocks : 1;
}
// The same for threads that have two sums of each element; with one sum of each there would be `blocks`.
inline int blocks_with_pieces(cuda_tile const& t, int blocks) {
    if (t.engine != cuda_engine::simt) return blocks;
    int const least = blocks_with_sums(t, 2 * t.micro_m * t.micro_n);
    return least < blocks ? least : blocks;
}

constexpr int units_for(cuda_tile const& t, int units) { return units_filled(t.blocks_of_cluster(), units); }

// Bytes of shared memory for each warp, through which results pass to C. wgmma has four warps to 64 rows. Each of the
// twelve that a tile of 192 rows has gets half of it, since the stage that then fits makes the tile faster. fp64 has
// boxes of 16 x 16: as many as the warp has, or a part of them if there is no room for all beside the stages.
constexpr std::size_t warp_results(cuda_tile const& t, std::size_t element) {
    if (t.engine != cuda_engine::fp64) return has_three_groups(t) && element < 4 ? 2048 : 4096;
    int const boxes = t.micro_m / 16 * (t.micro_n / 16);
    auto const warps = static_cast<std::size_t>(t.m / t.micro_m) * static_cast<std::size_t>(t.n / t.micro_n);
    std::size_t const tiles =
        1024 + static_cast<std::size_t>(t.stages) *
                   (static_cast<std::size_t>(t.m + t.n) * static_cast<std::size_t>(t.k) * 8 + 16);
    constexpr std::size_t box = 2048;
    // The shared memory that a block may have on devices with 99 KB for one, that each of two blocks has on sm_90, and
    // that a single block has there.
    std::size_t const room = tiles + warps * box <= 101376   ? 101376
                             : tiles + warps * box <= 115712 ? 115712
                                                             : 232448;
    int some = boxes > 1 ? boxes : 1;
    while (some > 1 && (boxes % some != 0 || tiles + warps * static_cast<std::size_t>(some) * box > room))
        --some;
    return static_cast<std::size_t>(some) * box;
}
// Bytes of shared memory that mma uses for the results of each row of a tile, in the memory of its stages (ROW_BYTES in
// kernels/rows.cu.hpp).
inline constexpr std::size_t cuda_row_results = 256;

// Lines of B along k that wgmma fetches at a time: each block of a cluster its part, and hardware takes up to 256.
constexpr int lines_fetched(cuda_tile const& t) {
    int const all = t.n / t.cluster;
    return t.engine == cuda_engine::wgmma && all > 256 ? all / 2 : all;
}
// Terms that are fetched at a time of a B that does not lie along k: each block takes some of the boxes of 128 bytes
// or, if the boxes cannot be divided, some lines of all.
constexpr int terms_fetched(cuda_tile const& t) {
    return (t.n + t.k - 1) / t.k % t.cluster == 0 ? t.k : t.k / t.cluster;
}
// Columns of B that are fetched for a tile: wgmma fetches those that do not lie along k as lines of 128 bytes.
constexpr int columns_fetched(cuda_tile const& t, std::size_t element, bool b_along_k) {
    int const line = 128 / static_cast<int>(element);
    return t.engine == cuda_engine::wgmma && !b_along_k ? (t.n + line - 1) / line * line : t.n;
}

// Bytes of dynamic shared memory. Fetched tiles begin at multiples of 1 KiB.
inline std::size_t shared_bytes_of(cuda_tile const& t, std::size_t element, bool b_along_k) {
    if (!reads_lines(t.engine)) return 0;
    std::size_t const stage =
        static_cast<std::size_t>((t.m + columns_fetched(t, element, b_along_k)) * t.k) * element;
    if (t.engine == cuda_engine::mma) {
        std::size_t const tiles = static_cast<std::size_t>(t.stages) * stage,
                          rows = static_cast<std::size_t>(t.m) * cuda_row_results;
        return t.stages > 1 || tiles > rows ? tiles : rows;
    }
    auto const warps_of = [&] { return t.m / t.micro_m * (t.n / t.micro_n); };
    std::size_t const results =
        t.engine == cuda_engine::wgmma  ? static_cast<std::size_t>(t.m) / 16 * warp_results(t, element)
        : t.engine == cuda_engine::fp64 ? static_cast<std::size_t>(warps_of()) * warp_results(t, element)
                                        : 0;
    return 1024 + results + static_cast<std::size_t>(t.stages) * (stage + 16);
}

// The same, with the gaps between lines of operands that are turned on the way. Lines that threads of simt copy may
// begin anywhere: three blocks of 128x64 that turn both operands just fit.
inline std::size_t shared_bytes_of(cuda_tile const& t, std::size_t element, cuda_form const& f) {
    std::size_t const bytes = shared_bytes_of(t, element, f.b_along_k);
    if (t.engine != cuda_engine::simt || f.dense) return bytes;
    std::size_t const gaps = static_cast<std::size_t>(t.stages * (t.k - 1) * (f.a_turned + f.b_turned));
    return bytes - 1024 + gaps * 4 * element;
}

// How many blocks of `bytes` bytes a multiprocessor has shared memory for, if one block may have `most`. Each block
// takes 1 KiB more.
constexpr int blocks_beside(std::size_t most, std::size_t bytes) {
    return static_cast<int>((most + 1024) / ((bytes + 127) / 128 * 128 + 1024));
}

inline bool can_run(cuda_tile const& t, cuda_device const& d, std::size_t element, bool b_along_k = true) {
    if (fetches(t.engine) && d.capability < 90) return false;
    if (t.engine == cuda_engine::wgmma && d.capability != 90) return false;
    // Sums in three registers of four leave none over, and not all compilers of machine code get by with
    // that.
    if (t.engine == cuda_engine::simt && t.micro_m * t.micro_n > 128 && d.capability != 90) return false;
    if (t.blocks_of_cluster() > 1 && t.engine != cuda_engine::wgmma) return false;
    if (t.engine == cuda_engine::wgmma) {
        // Swizzled lines begin in eights.
        if (b_along_k ? lines_fetched(t) % 8 != 0 : t.k / t.cluster % 8 != 0) return false;
        if (t.m % (8 * t.beside) != 0 || t.k % (8 * t.beside) != 0) return false;
        if (t.blocks_of_cluster() > 8 || (t.beside > 1 && element == 4)) return false;
    }
    return shared_bytes_of(t, element, b_along_k) <= d.shared_bytes;
}

// Whether operands that lie along k are turned on the way to shared memory, where threads of simt copy. A block of
// two warps waits longer for one that turns than for one that copies.
inline bool turns_on_the_way(cuda_tile const& t) {
    return t.engine == cuda_engine::simt && threads_of(t) >= 96;
}

// The number of warps that only fetch. Where threads of simt copy, four warps fetch if at least as many multiply: one
// on each scheduler, since each instruction that a fetching warp issues delays the warps that multiply.
inline int fetchers_of(cuda_tile const& t, cuda_form const& f) {
    if (t.engine == cuda_engine::fp64) return f.dense ? fetchers_of(t) : 4;
    return t.engine != cuda_engine::simt || f.dense ? 0 : threads_of(t) < 128 ? 1 : 4;
}

inline std::string definitions(cuda_tile const& t, cuda_form const& f) {
    std::string text;
    auto define = [&](char const* name, int value) {
        ((((text += "#define ") += name) += ' ') += std::to_string(value)) += '\n';
    };
    define("DENSE", f.dense);
    define("TILE_M", t.m), define("TILE_N", t.n), define("TILE_K", t.k);
    define("MICRO_M", t.micro_m), define("MICRO_N", t.micro_n);
    define("STAGES", t.stages), define("GROUP", t.group), define("CLUSTER", t.cluster);
    if (t.engine == cuda_engine::wgmma) define("BESIDE", t.beside);
    if (t.engine == cuda_engine::fp64) define("WARP_RESULTS", static_cast<int>(warp_results(t, 8)));
    if (t.engine == cuda_engine::fp64 || t.engine == cuda_engine::simt) define("FETCHERS", fetchers_of(t, f));
    define("A_ALONG_K", f.a_along_k), define("B_ALONG_K", f.b_along_k), define("PARTIAL", f.partial);
    if (f.tail) define("TAIL", 1);
    if (f.invariant) define("INVARIANT", 1);
    if (f.pieces) define("PIECES", 1);
    if (f.spreads) define("SPREADS", 1);
    if (t.engine == cuda_engine::mma) define("SHIFTED", f.shifted);
    if (t.engine == cuda_engine::simt) {
        define("A_TURNED", f.a_turned), define("B_TURNED", f.b_turned);
        define("LEAVES_OUT", f.leaves_out);
    }
    bool const by_units = t.engine == cuda_engine::simt || (t.engine == cuda_engine::mma && !f.shifted);
    if (by_units && !f.dense) define("A_UNIT", f.a_unit), define("B_UNIT", f.b_unit);
    if (f.together) define("TOGETHER", 1);
    if (t.engine == cuda_engine::blocked) define("TABLE", f.table), define("TABLE_STATES", f.table_states);
    return text;
}

inline char const* name_of(cuda_engine e) {
    switch (e) {
    case cuda_engine::blocked: return "blocked";
    case cuda_engine::simt: return "simt";
    case cuda_engine::fp64: return "fp64";
    case cuda_engine::mma: return "mma";
    default: return "wgmma";
    }
}

inline int threads_of(cuda_tile const& t, cuda_form const& f) {
    return threads_of(t) + (fetchers_of(t, f) - (t.engine == cuda_engine::fp64 ? fetchers_of(t) : 0)) * 32;
}

// As in describe(): blocked, tiles of 128x128x8, 256 threads.
inline std::string cuda_tile::describe() const {
    cuda_tile const& t = *this;
    std::string text = name_of(engine);
    text += ", tiles of " + std::to_string(t.m) + 'x' + std::to_string(t.n) + 'x' + std::to_string(t.k) +
            ", " + std::to_string(threads_of(t)) + " threads";
    if (t.blocks_of_cluster() == 1) return text;
    text += ", clusters of " + std::to_string(t.cluster);
    return t.beside > 1 ? text + 'x' + std::to_string(t.beside) : text;
}

STRATAGEMM_END
