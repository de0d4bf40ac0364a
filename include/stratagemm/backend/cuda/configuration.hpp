// The parameters of the kernels of products, and what each kernel asks of its operands.
#pragma once

#include "device.hpp"

#include <compare>
#include <cstddef>
#include <string>
#include <utility>

STRATAGEMM_BEGIN

// Ways to multiply: a kernel each, in kernels/.
enum class cuda_engine : short {
    direct,  // each thread sums one element
    narrow,  // a matrix times a few columns, such as a vector
    small,   // many small products, several to a block
    blocked, // tiles pass through registers to shared memory; any type, stride and architecture
    simt,    // floats on the FP32 units; tiles fetched by hardware, as in those that follow: sm_90
    fp64,    // doubles on the tensor cores of sm_90
    wgmma,   // narrow types, and floats rounded to tf32, on the tensor cores of sm_90a
    mma,     // the same on those of any architecture; tiles are copied by threads
};

struct cuda_tile {
    cuda_engine engine = cuda_engine::direct;
    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each thread; for a warp in fp64 and mma; not used by wgmma
    short stages = 1;               // of shared memory
    // Rows of tiles that are walked through together; of small, products; of narrow, how far apart rows of a block
    // are.
    short group = 1;
    // Blocks below each other that share the tiles of B that they fetch (wgmma), or the pieces of k (few columns in
    // order).
    short cluster = 1;
    short parts = 0;  // of k, summed each by itself; 0: as the model says
    short beside = 1; // blocks beside each other that share what is fetched of A; wgmma only

    friend bool operator==(cuda_tile const&, cuda_tile const&) = default;
    friend auto operator<=>(cuda_tile const&, cuda_tile const&) = default;

    // From the list of its parameters, in the order above; values_of() is the list.
    static cuda_tile of(std::vector<short> const& v) {
        return {static_cast<cuda_engine>(v[0]), v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
    }
    constexpr int blocks_of_cluster() const { return cluster * beside; }
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

// Along which side the lines of the operands lie: k, or m (A) and n (B).
struct cuda_layout {
    bool a_along_k = true, b_along_k = false;
    bool a_in_lines = true; // whose elements are side by side
    // Bytes of elements that are narrower than the type of the product, and widened on the way to shared memory.
    short a_bytes = 0, b_bytes = 0;

    bool widens() const { return a_bytes + b_bytes > 0; }
    friend bool operator==(cuda_layout const&, cuda_layout const&) = default;
};

// How the operands of one product lie; compiled into the kernel.
struct cuda_form {
    bool a_along_k = true, b_along_k = false;
    bool partial = false; // sums of parts of k go to workspace
    bool tail = false;    // so do those of the last tiles alone
    // Operands may be read as vectors. narrow: A. small: both, where batches have no gaps. simt, fp64 and mma: both
    // begin all their lines at multiples of 16 bytes.
    bool dense = false;
    bool words = false;           // A of narrow is dense, but its lines begin at multiples of 4 bytes only
    bool spreads = false;         // the result goes to several targets
    bool sums = false;            // of copies: operands are sums
    short a_unit = 1, b_unit = 1; // of simt and mma: elements that are copied at a time if it is not dense
    // If an operand is not dense: one that lies along k is turned on the way, and its tile does not lie along k.
    bool a_turned = false, b_turned = false;
    short table = 0, table_states = 1; // products that share a launch, and their epilogues; of blocked
    bool direct = false;               // of simt: a large tile reads lines along k as they lie
    bool leaves_out = false;           // of simt: terms of its last step that are beyond k
    // mma reads operands that are not dense in aligned pieces, and shifts them. For narrow: A is dense, but its lines
    // may begin anywhere. For narrow in order, lines of B along k may begin anywhere, too.
    bool shifted = false;
    bool together = false;  // parts of k are the blocks of a cluster, which add them up
    bool invariant = false; // nothing is contracted but multiply-adds, and no sum is -0
    bool pieces = false;    // k is summed in pieces (device/order.hpp), of an argument's depth

    friend bool operator==(cuda_form const&, cuda_form const&) = default;
    friend auto operator<=>(cuda_form const&, cuda_form const&) = default;
};

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

// How far apart the lines of a copy are, with `length` elements each. Lines begin at multiples of 16 bytes. Long lines
// begin with a line of the cache, since tiles are fetched sooner from such lines (model.hpp).
constexpr std::ptrdiff_t line_of_copy(std::ptrdiff_t length, std::size_t element) {
    auto const size = static_cast<std::ptrdiff_t>(element), unit = (length * size < 1024 ? 16 : 128) / size;
    return (length + unit - 1) / unit * unit;
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

// Floats whose B does not lie along k: wgmma computes C^T, and the sides of a tile change places.
inline bool is_turned(cuda_tile const& t, cuda_form const& f, std::size_t element) {
    return t.engine == cuda_engine::wgmma && element == 4 && !f.b_along_k;
}
inline cuda_tile lying_on_c(cuda_tile t, cuda_form const& f, std::size_t element) {
    if (is_turned(t, f, element)) std::swap(t.m, t.n);
    return t;
}

// Whether operands have to be aligned lines along one of their sides, or are copied to be so.
constexpr bool reads_lines(cuda_engine e) { return e >= cuda_engine::simt; }

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
// Whether the lines of operands may begin at multiples of 4 bytes, or anywhere, if they lie as the tile takes them.
constexpr bool takes_words(cuda_tile const& t, std::size_t element) {
    return t.engine == cuda_engine::mma && element < 4;
}

inline int threads_of(cuda_tile const& t) {
    switch (t.engine) {
    case cuda_engine::fp64: return (t.m / t.micro_m * (t.n / t.micro_n) + fetchers_of(t)) * 32;
    case cuda_engine::mma: return t.m / t.micro_m * (t.n / t.micro_n) * 32;
    case cuda_engine::wgmma: return (t.m / 64 + 1) * 128;
    case cuda_engine::narrow: return 256;
    case cuda_engine::small: return ((t.m - 1) / t.micro_m + 1) * ((t.n - 1) / t.micro_n + 1) * t.group;
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

// The most columns of m rows that have a dedicated kernel (narrow.cu.hpp). For more columns the tiles of other kernels
// are faster, although they are mostly empty.
constexpr std::ptrdiff_t narrow_most(char type, std::ptrdiff_t m) {
    switch (type) {
    case 'h':
    case 'w':
    case 'c': return 8;
    case 's':
    case 't': return m >= 1024 ? 8 : 4;
    case 'd': return m >= 4096 ? 8 : 4;
    default: return 4;
    }
}
// For m x n x k with so few columns. Along k: rows of a warp, and warps that share the terms of these, so that there
// are enough warps; else: threads side by side, few enough for many blocks. `units`: multiprocessors.
struct cuda_narrow_form {
    bool along_k = true, on_tensor_cores = false;
    bool shifted = false; // lines begin anywhere
    short slices = 1;     // of shifted: warps that share the terms of rows
};
// The most columns where lines along k begin anywhere and are read as vectors. For as many, tiles need a copy of A.
inline constexpr std::ptrdiff_t narrow_most_shifted = 64;
// Whether a vector is multiplied by a matrix that takes more than half of a second-level cache.
constexpr bool is_large_vector(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element) {
    return n == 1 && static_cast<std::size_t>(m) * static_cast<std::size_t>(k) * element > 30000000;
}
inline cuda_tile tile_for_narrow(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element,
                                 std::size_t scalar, cuda_narrow_form const& f, int units) {
    cuda_tile t{.engine = cuda_engine::narrow, .n = static_cast<short>(n)};
    auto const size = static_cast<std::ptrdiff_t>(element);
    if (!f.along_k) {
        t.k = 1024;
        while (static_cast<std::size_t>(t.k * ((n + 3) / 4 * 4)) * scalar > 32768)
            t.k = static_cast<short>(t.k / 2);
        std::ptrdiff_t const each = size == 1 ? 8 : 16 / size, rows = 8 * each;
        // Wide blocks read longer parts of lines, if there are enough of them.
        if (f.on_tensor_cores)
            t.micro_m = 16, t.micro_n = size == 2 && !f.shifted && m > rows * units ? 16 : 8;
        else
            t.micro_n =
                m >= 6 * rows * units                                                                     ? 32
                : size > 1 && is_large_vector(m, n, k, element) && 5 * m >= 6 * rows * units && k >= 1024 ? 32
                : n == 1 && size > 1 && 3 * m < 2 * rows * units                                          ? 4
                                                                                                          : 8;
        t.m = static_cast<short>((t.micro_n - f.shifted) * each);
        return t;
    }
    if (f.shifted) {
        std::ptrdiff_t const pairs = (n + 15) / 16; // of eights of columns
        t.group = static_cast<short>(16 / size), t.micro_m = 16;
        t.stages = f.slices;
        t.m = static_cast<short>(f.slices > 1 ? 64 / f.slices : m > 64 * t.group ? 128 : 64);
        t.k = pairs == 1 ? 1024 : pairs == 2 ? 512 : 256;
        return t;
    }
    bool const on_tensor_cores = f.on_tensor_cores;
    std::ptrdiff_t const piece = (on_tensor_cores ? 4 : 32) * 16 / size, wanted = 32 * units;
    t.micro_m = on_tensor_cores ? 16 : size == 1 || scalar > 4 ? 2 : 4;
    while (!on_tensor_cores && t.micro_m > 1 && m < t.micro_m * units)
        t.micro_m = static_cast<short>(t.micro_m / 2);
    while (t.stages < 8 && m * t.stages < t.micro_m * wanted && k >= 2 * piece * t.stages)
        t.stages = static_cast<short>(2 * t.stages);
    t.m = static_cast<short>(8 / t.stages * t.micro_m);
    return t;
}

// Whether so many warps may share the terms of rows: a block brings B to shared memory, and has at least as many rows
// as B has columns.
constexpr bool can_slice(std::ptrdiff_t n, int slices) {
    return slices == 1 || ((slices == 2 || slices == 4 || slices == 8) && n * slices <= 64);
}

// Dynamic shared memory: the sums of a block that others of its cluster read, and before them a part of B where it is
// shifted, or sums of warps that share terms.
inline std::size_t shared_bytes_of_narrow(cuda_tile const& t, std::size_t element, std::size_t scalar,
                                          cuda_form const& f) {
    bool const in_slices = f.a_along_k && f.shifted && t.stages > 1;
    int const warps = f.together + (in_slices ? t.stages : 0);
    std::size_t const sums = (static_cast<std::size_t>(warps * t.m * t.n) * scalar + 15) / 16 * 16;
    std::size_t const of_b =
        f.a_along_k && f.shifted ? static_cast<std::size_t>((t.n + 15) / 16 * 16 * t.k) * element : 0;
    return sums > of_b ? sums : of_b;
}

// Multiprocessors that clusters of such blocks fill. Those of a cluster are neighbours, so that more than two leave
// over some of them: of 132, clusters of four and of eight took 120 at a time.
constexpr int units_for(cuda_tile const& t, int units) {
    int const blocks = t.blocks_of_cluster(), filled = blocks > 2 ? units * 10 / 11 : units;
    return filled < blocks ? blocks : filled / blocks * blocks;
}

// The kernel for few columns that sums in the order of device/order.hpp (kernels/ordered.cu.hpp): m rows of C and
// micro_m pieces of k at a time for a block, or for each of the blocks of a cluster. Its bytes of shared memory:
inline std::size_t shared_bytes_of_ordered(cuda_tile const& t, std::size_t element, bool a_along_k) {
    auto const m = static_cast<std::size_t>(t.m), n = static_cast<std::size_t>(t.n),
               k = static_cast<std::size_t>(t.k), pieces = static_cast<std::size_t>(t.micro_m);
    std::size_t const gap = element == 2 ? 16 : 16 / element, lines = (a_along_k ? m : 0) + n;
    return static_cast<std::size_t>(t.stages) * pieces * lines * (k + gap) * element +
           static_cast<std::size_t>(t.cluster) * pieces * m * n * (element == 2 ? 4 : element);
}
// Its tile: all pieces at a time of so many rows that most multiprocessors have a block, since each block reads all of
// B; of a vector eight rows, or more if there are few pieces. Blocks of 16-bit types have rows times pieces of 64 or
// more, if there are enough rows, or twice as many rows as B has columns. If these have no room, some pieces of 16
// rows, or of eight where there are eight columns. Where A does not lie along k, a warp reads at least 32 bytes of each
// line of A.
inline cuda_tile tile_for_ordered(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::ptrdiff_t piece,
                                  std::size_t element, bool a_along_k, cuda_device const& d,
                                  short cluster = 1) {
    bool const on_tensor_cores = element == 2;
    cuda_tile t{.engine = cuda_engine::narrow, .n = static_cast<short>(n), .cluster = cluster};
    // The multiprocessors that a cluster fills, and the share that each of its blocks has.
    std::ptrdiff_t const units = units_for(t, d.units) / cluster,
                         pieces = ((k - 1) / piece + cluster) / cluster;
    // Blocks with few rows wait for each step. A piece is then one step, if the piece is not too deep.
    bool const in_one_step =
        a_along_k && !on_tensor_cores && element < 16 && m <= d.units && piece > 128 && piece <= 256;
    t.k = in_one_step       ? static_cast<short>((piece + 31) / 32 * 32)
          : on_tensor_cores ? 512
          : element < 16    ? 128
                            : 64;
    while (t.k >= 2 * piece && t.k > 64) t.k = static_cast<short>(t.k / 2);
    std::ptrdiff_t const steps = ((piece < k ? piece : k) - 1) / t.k + 1, most = on_tensor_cores ? 64 : 32;
    std::ptrdiff_t rows = a_along_k ? 1 : most, step_pieces = 1;
    auto const blocks = [&] { return (m - 1) / rows + 1; };
    auto const with = [&](std::ptrdiff_t some) {
        bool const one_each = on_tensor_cores || some * rows * n <= 256;
        t.m = static_cast<short>(rows), t.micro_m = static_cast<short>(some);
        t.micro_n = static_cast<short>(one_each ? 1 : n);
        t.stages = some < pieces || steps > 1 ? 2 : 1;
        return some * rows <= 256 ? shared_bytes_of_ordered(t, element, a_along_k) : d.shared_bytes + 1;
    };
    auto const room = [&] {
        std::size_t const shared = n == 1 ? 76800 : element == 4 ? 72000 : 90000; // of two or three blocks
        std::size_t const all = blocks() > 2 * units ? shared : blocks() > units ? 110000 : 220000;
        return all < d.shared_bytes ? all : d.shared_bytes;
    };
    if (a_along_k) {
        while (step_pieces < pieces && step_pieces < 32) step_pieces *= 2;
        auto const double_rows = [&](std::ptrdiff_t enough) { // blocks
            bool const may = rows < most && 2 * rows * n <= 256 && m >= 2 * rows * enough;
            if (may) rows *= 2;
            return may;
        };
        if (on_tensor_cores)
            while ((rows * step_pieces < 64 || rows < (n == 1 ? 8 : 2 * n)) && double_rows(2 * units / 5)) {
            }
        else {
            while (rows < (n == 1 ? 8 : 32) && double_rows(n == 1 ? 9 * units / 10 : units / 2)) {
            }
            while (n == 1 && rows * step_pieces < 64 && double_rows(4 * units)) {
            }
        }
        if (std::ptrdiff_t const some = n >= 8 ? 8 : 16;
            with(step_pieces) > room() && (rows > some || (n == 1 && m >= some * units)))
            rows = some;
    } else {
        auto const least = static_cast<std::ptrdiff_t>(32 / element);
        while (rows > least && 2 * blocks() <= units) rows /= 2;
    }
    while (rows > 1 && with(1) > d.shared_bytes) rows /= 2;
    step_pieces = 1;
    while (step_pieces < pieces && step_pieces < 32 && with(2 * step_pieces) <= room()) step_pieces *= 2;
    with(step_pieces);
    return t;
}

// The tile of a batch. Threads have few elements, so that neighbours store whole lines of memory. Where columns come in
// no vectors, a thread has one column, if the kernel then does not read more than it multiplies. A block has about 128
// threads and up to 21 KB of operands at a time, or 44 where 21 KB are not enough for 64 threads or for whole vectors.
inline cuda_tile tile_for_small(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::size_t element) {
    if (m < 1 || n < 1 || k < 1) return {};
    std::ptrdiff_t const width = n % 4 == 0 || n >= 24 ? 4 : n % 2 == 0 ? 2 : 1;
    std::ptrdiff_t const most = m > 24 && element < 16 ? 8 : m > 8 ? 4 : (m > 4 ? 8 : 4) / width;
    std::ptrdiff_t const threads = (m - 1) / most + 1; // along m
    cuda_tile t{cuda_engine::small,
                static_cast<short>(m),
                static_cast<short>(n),
                static_cast<short>(k),
                static_cast<short>((m - 1) / threads + 1),
                static_cast<short>(width)};
    // The bytes include gaps in shared memory, of which a block has 48 KB.
    std::size_t const bytes = static_cast<std::size_t>((m + n) * k) * element * 9 / 8 + 32;
    auto const fits = [&](std::size_t products, std::size_t kilobytes) {
        return products * bytes <= kilobytes * 1024;
    };
    auto const dense = [&] { // a group begins at a multiple of 16 bytes
        auto const size = static_cast<std::size_t>(t.group) * element;
        return static_cast<std::size_t>(m * k) * size % 16 == 0 &&
               static_cast<std::size_t>(k * n) * size % 16 == 0;
    };
    while (fits(2 * static_cast<std::size_t>(t.group), 44) && threads_of(t) < 256 &&
           (!dense() || threads_of(t) < 64 ||
            (threads_of(t) < 128 && fits(2 * static_cast<std::size_t>(t.group), 21))))
        t.group = static_cast<short>(2 * t.group);
    // Where vectors of numbers are multiplied as they are, so many blocks fetch at a time that one stage is
    // best.
    if (element < 4 || n % 4 != 0)
        while (t.stages < 3 && fits(static_cast<std::size_t>(t.group * (t.stages + 1)), 48)) ++t.stages;
    return t;
}

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
    if (t.engine == cuda_engine::narrow) define("WORDS", f.words);
    if (t.engine == cuda_engine::small) {
        define("SIDE_M", t.m), define("SIDE_N", t.n), define("SIDE_K", t.k), define("PRODUCTS", t.group);
    }
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
    if (t.engine == cuda_engine::mma || t.engine == cuda_engine::narrow) define("SHIFTED", f.shifted);
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
    case cuda_engine::direct: return "direct";
    case cuda_engine::narrow: return "narrow";
    case cuda_engine::small: return "small";
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
inline std::string describe(cuda_tile const& t) {
    std::string text = name_of(t.engine);
    if (t.engine <= cuda_engine::narrow) return text;
    if (t.engine == cuda_engine::small)
        return text + ", " + std::to_string(t.group) + " products to a block of " +
               std::to_string(threads_of(t)) + " threads";
    text += ", tiles of " + std::to_string(t.m) + 'x' + std::to_string(t.n) + 'x' + std::to_string(t.k) +
            ", " + std::to_string(threads_of(t)) + " threads";
    if (t.blocks_of_cluster() == 1) return text;
    text += ", clusters of " + std::to_string(t.cluster);
    return t.beside > 1 ? text + 'x' + std::to_string(t.beside) : text;
}

STRATAGEMM_END
