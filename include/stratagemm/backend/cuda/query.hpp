// A product as engines see it (engine/README.md): sides, how its operands lie, the order of its sums; and the way that
// an engine would take.
#pragma once

#include "../../device/order.hpp"
#include "../../device/product.hpp"
#include "device.hpp"

#include <compare>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

STRATAGEMM_BEGIN

using cuda_sides = device_sides;

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

// How far apart the lines of a copy are, with `length` elements each. Lines begin at multiples of 16 bytes. Long lines
// begin with a line of the cache, since tiles are fetched sooner from such lines (engine/tile_counts.hpp).
constexpr std::ptrdiff_t line_of_copy(std::ptrdiff_t length, std::size_t element) {
    auto const size = static_cast<std::ptrdiff_t>(element), unit = (length * size < 1024 ? 16 : 128) / size;
    return (length + unit - 1) / unit * unit;
}

// Whether the tensor cores of a device multiply operands of a type: its letter (source.hpp), or t for floats that may be
// rounded to tf32. Those of doubles are for two engines only, which say so.
inline bool tensor_cores_take(cuda_device const& d, char type) {
    char const* const types = d.capability >= 89 ? "hwbt45" : d.capability >= 80 ? "hwbt" : "hb";
    return std::strchr(types, type) != nullptr;
}

// The order in which an invariant product sums k. Up to `shallow` terms, and of types without them, it is that of the
// CUDA cores, one multiply-add after another. Deeper products of the other types have the order of the tensor cores:
// they round once for each instruction, which has 16 terms of 16-bit types. mma and wgmma gave the same bits on
// sm_90, whatever the order of these terms (bench/results/invariant-cuda-h100.txt).
struct cuda_order {
    static constexpr std::ptrdiff_t shallow = 16;
    bool on_tensor_cores = false;
    std::ptrdiff_t piece = 0; // its depth; 0: k is not cut

    cuda_order(cuda_device const& d, char type, std::ptrdiff_t k) {
        bool const of_doubles =
            (type == 'd' || type == 'z') && d.capability == 90; // those of fp64 need no more
        on_tensor_cores = k > shallow && (of_doubles || tensor_cores_take(d, type));
        // For fp8 each step of a kernel is a piece already. Kernels of tf32 have no registers for two sums.
        bool const is_cut = std::strchr("t45", type) == nullptr;
        bool const of_halves = type == 'h' || type == 'w', is_complex = type == 'c' || type == 'z';
        std::ptrdiff_t const terms = is_complex ? 2 * k : k;
        // Small products of floats share even few terms among blocks.
        bool const of_few = (type == 's' || type == 'c') && terms > 128 && terms <= 512;
        std::ptrdiff_t const depth = of_halves
                                         ? piece_depth(terms, 512, 16)
                                         : piece_depth(terms, of_few ? 64 : 128, 32) / (is_complex ? 2 : 1);
        if (is_cut && depth < k) piece = depth;
    }
};

inline constexpr std::ptrdiff_t small_side = 32; // the longest of a product that many share a launch of
inline bool is_batch_of_small(cuda_sides const& s) {
    return s.count >= 16 && s.m <= small_side && s.n <= small_side && s.k <= small_side;
}

// What engines are asked: a product, as kernels take it, on a device. `type` is the letter of the operands, or t.
// Products of integers are exact in any order, and never `invariant`.
struct cuda_query {
    cuda_device const& device;
    char type;
    std::size_t element; // bytes
    cuda_sides sides;
    cuda_layout layout{};
    bool invariant = false;  // the order of sums may depend on k and the type only
    bool of_complex = false; // it replaces a product of complex numbers, and its operands may lie otherwise
    bool given = false;      // the caller wants an engine that is named
    int after = 0;           // instructions of the epilogue for each element of C; nothing is chosen by it
    cuda_order order = cuda_order(device, type, sides.k);

    std::size_t line_of_a() const {
        return static_cast<std::size_t>(layout.a_along_k ? sides.k : sides.m) * element;
    }
    std::size_t line_of_b() const {
        return static_cast<std::size_t>(layout.b_along_k ? sides.k : sides.n) * element;
    }
    double work() const {
        return static_cast<double>(sides.m) * static_cast<double>(sides.n) * static_cast<double>(sides.k);
    }
    // Bytes of an element of C. Products of integers nearly always have a result of the accumulator's type; products of
    // fp8 nearly always one of 16 bits.
    std::size_t result() const { return type == 'b' ? 4 : element == 1 ? 2 : element; }
};

// How an engine runs a product, besides its configuration.
struct cuda_way {
    std::ptrdiff_t part = 0;  // depth of each part of k, where there are several; 0: k is summed at once
    std::ptrdiff_t whole = 0; // tiles ahead of those that are in parts: full rounds of blocks
    bool together = false;    // the parts of a tile are summed by the blocks of a cluster, which add them up
    // Operands of mma and simt whose lines begin anywhere are not copied, and large tiles of simt read lines along k.
    bool shifted = false;
    double cycles = 0;        // that it should take
    bool widens = false;      // operands of two types are read as they are stored
    bool invariant = false;   // in the order of cuda_order: asked for, or since few columns are faster so
    std::ptrdiff_t piece = 0; // depth of each piece of k, which the kernel sums apart; 0: there is one

    std::ptrdiff_t parts(std::ptrdiff_t k) const { return part > 0 ? (k + part - 1) / part : 1; }
};

// Multiprocessors that clusters of so many blocks fill. Those of a cluster are neighbours, so that more than two leave
// over some of them: of 132, clusters of four and of eight took 120 at a time.
constexpr int units_filled(int blocks, int units) {
    int const filled = blocks > 2 ? units * 10 / 11 : units;
    return filled < blocks ? blocks : filled / blocks * blocks;
}

STRATAGEMM_END
