// The parameters of the tiled kernel, and which combinations of them a device can run.
#pragma once

#include "device.hpp"

#include <compare>
#include <string>

STRATAGEMM_BEGIN

struct opencl_tile {
    short threads_m = 0, threads_n = 0; // work-items of a group; 0: no tiles
    short micro_m = 0, micro_n = 0;     // rows and columns of C for each of them
    short depth = 0;                    // terms of k in a tile
    short unroll = 1;                   // of them that are written out
    short lanes_m = 1, lanes_n = 1; // elements read from local memory at a time; sums are vectors of lanes_n
    short a_width = 1, b_width = 1; // elements read from global memory at a time
    short buffers = 1;              // of local memory: with 2, one is filled while the other is read
    short padding = 0;              // elements added to each line of local memory
    short swizzle = 1;              // rows of tiles that are walked through together
    short slices = 1;               // of the depth, each for work-items of its own
    short ahead = 0;                // 1: local memory is read a term ahead of the products

    friend bool operator==(opencl_tile const&, opencl_tile const&) = default;
    friend auto operator<=>(opencl_tile const&, opencl_tile const&) = default;

    // From the list of its parameters, in the order above; values_of() is the list.
    static opencl_tile of(std::vector<short> const& v) {
        return {v[0], v[1], v[2],  v[3],  v[4],  v[5],  v[6], v[7],
                v[8], v[9], v[10], v[11], v[12], v[13], v[14]};
    }

    int threads() const { return threads_m * threads_n * slices; }
    int tile_m() const { return threads_m * micro_m; }
    int tile_n() const { return threads_n * micro_n; }
    std::size_t local_bytes(std::size_t scalar) const {
        return static_cast<std::size_t>(buffers * depth * (tile_m() + tile_n() + 2 * padding)) * scalar;
    }
};

inline std::vector<short> values_of(opencl_tile const& t) {
    return {t.threads_m, t.threads_n, t.micro_m, t.micro_n, t.depth,   t.unroll, t.lanes_m, t.lanes_n,
            t.a_width,   t.b_width,   t.buffers, t.padding, t.swizzle, t.slices, t.ahead};
}

// An operand that is a sum of matrices, or one matrix.
struct opencl_sum_form {
    short terms = 1;
    bool alike = true;   // they have the same strides
    bool scaled = false; // the first has a factor, too
    bool real = true;    // no factor has an imaginary part

    friend bool operator==(opencl_sum_form const&, opencl_sum_form const&) = default;
    friend auto operator<=>(opencl_sum_form const&, opencl_sum_form const&) = default;
};

// How the operands of one product lie; compiled into the kernel.
struct opencl_form {
    bool a_along_k = true, b_along_k = false;
    bool aligned = false;   // vectors may be read as such
    short wide = 0;         // so may vectors of C and E, and written: 1; 2: wherever they begin
    bool guard = false;     // C is smaller than a tile
    bool once = false;      // all of k is at most the depth of a tile
    bool partial = false;   // sums go to workspace
    bool invariant = false; // no compiler decides where is rounded
    bool pieces = false;    // k is summed in pieces, one after the other
    opencl_sum_form a_sum{}, b_sum{};
    short targets = 0; // of a spread; 0: the result is a matrix

    bool is_combined() const { return a_sum.terms > 1 || b_sum.terms > 1 || targets > 0; }
    friend bool operator==(opencl_form const&, opencl_form const&) = default;
    friend auto operator<=>(opencl_form const&, opencl_form const&) = default;
};

// Whether the kernel can be compiled for these. The group reads a whole number of lines at a time, or a line in a
// whole number of steps, and each work-item as much as the others. In local memory every line and every buffer begins
// where a vector may.
inline bool is_legal(opencl_tile const& t, opencl_form const& f) {
    for (short const value : values_of(t))
        if (value < 0) return false;
    for (short const value : {t.threads_m, t.threads_n, t.micro_m, t.micro_n, t.depth, t.unroll, t.lanes_m,
                              t.lanes_n, t.a_width, t.b_width, t.buffers, t.swizzle, t.slices})
        if (value < 1) return false;
    auto reads = [&](int side, bool along_k, int width) {
        int const length = along_k ? t.depth : side, span = t.threads() * width;
        return length % width == 0 && (span % length == 0 || length % span == 0) &&
               side * t.depth % span == 0;
    };
    auto aligns = [&](int width) {
        int const a_line = t.tile_m() + t.padding, b_line = t.tile_n() + t.padding;
        return t.depth * a_line % width == 0 && t.depth * b_line % width == 0;
    };
    if (t.depth % t.slices != 0) return false;
    // Slices meet in local memory, a row of each micro-tile at a time. Reading ahead goes by pairs, written out.
    bool const meets =
        t.threads_m * t.tile_n() <= t.buffers * t.depth * (t.tile_m() + t.tile_n() + 2 * t.padding);
    bool const pairs = t.depth / t.slices % 2 == 0 && t.unroll == t.depth;
    return t.buffers <= 2 && t.ahead <= 1 && (t.slices == 1 || meets) && (t.ahead == 0 || pairs) &&
           t.micro_m % t.lanes_m == 0 && t.micro_n % t.lanes_n == 0 && t.padding % t.lanes_m == 0 &&
           t.padding % t.lanes_n == 0 && (f.a_along_k || t.padding % t.a_width == 0) &&
           (f.b_along_k || t.padding % t.b_width == 0) && aligns(t.lanes_m) && aligns(t.lanes_n) &&
           aligns(t.a_width) && aligns(t.b_width) && reads(t.tile_m(), f.a_along_k, t.a_width) &&
           reads(t.tile_n(), f.b_along_k, t.b_width);
}
// Whether the device has room for it. `scalar` is the size of what sums are kept in.
inline bool fits_device(opencl_tile const& t, opencl_device const& d, std::size_t scalar) {
    return static_cast<std::size_t>(t.threads()) <= d.work_group && t.local_bytes(scalar) <= d.local_bytes;
}

// What all kernels know of the form; nothing for a plain product.
inline std::string definitions(opencl_form const& f) {
    std::string text;
    auto define = [&](char const* name, int value) {
        ((((text += "#define ") += name) += ' ') += std::to_string(value)) += '\n';
    };
    if (f.invariant) define("INVARIANT", 1), define("IN_PIECES", f.pieces);
    if (!f.is_combined()) return text;
    define("A_TERMS", f.a_sum.terms), define("A_ALIKE", f.a_sum.alike), define("A_SCALED", f.a_sum.scaled);
    define("B_TERMS", f.b_sum.terms), define("B_ALIKE", f.b_sum.alike), define("B_SCALED", f.b_sum.scaled);
    define("A_REAL", f.a_sum.real), define("B_REAL", f.b_sum.real);
    define("TARGETS", f.targets);
    return text;
}
inline std::string definitions(opencl_tile const& t, opencl_form const& f) {
    std::string text;
    auto define = [&](char const* name, int value) {
        ((((text += "#define ") += name) += ' ') += std::to_string(value)) += '\n';
    };
    define("THREADS_M", t.threads_m), define("THREADS_N", t.threads_n);
    define("MICRO_M", t.micro_m), define("MICRO_N", t.micro_n), define("DEPTH", t.depth),
        define("UNROLL", t.unroll);
    define("LANES_M", t.lanes_m), define("LANES_N", t.lanes_n);
    define("A_WIDTH", t.a_width), define("B_WIDTH", t.b_width);
    define("BUFFERS", t.buffers), define("PADDING", t.padding), define("SWIZZLE", t.swizzle);
    define("A_ALONG_K", f.a_along_k), define("B_ALONG_K", f.b_along_k), define("ALIGNED", f.aligned);
    define("SLICES", t.slices), define("AHEAD", t.ahead), define("WIDE", f.wide);
    define("GUARD", f.guard), define("ONCE", f.once), define("PARTIAL", f.partial);
    return text + definitions(f);
}

// As in describe(): 128x128x8, 16x16 items of 8x8.
inline std::string describe(opencl_tile const& t) {
    auto times = [](int x, int y) { return std::to_string(x) + 'x' + std::to_string(y); };
    return times(t.tile_m(), t.tile_n()) + 'x' + std::to_string(t.depth) + ", " +
           times(t.threads_m, t.threads_n) + " work-items of " + times(t.micro_m, t.micro_n) + ", loads of " +
           std::to_string(t.a_width) + " and " + std::to_string(t.b_width) +
           (t.buffers == 2 ? ", double-buffered" : "") +
           (t.slices > 1 ? ", " + std::to_string(t.slices) + " slices" : "") +
           (t.ahead ? ", read ahead" : "");
}

STRATAGEMM_END
