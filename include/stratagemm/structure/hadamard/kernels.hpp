// Kernels of Hadamard transforms on the host, for each instruction set.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "order.hpp"

STRATAGEMM_BEGIN

// Rows of numbers, `row` numbers apart. `gap`: behind each 64 rows there is room for one more, so that rows which are a
// power of two apart do not share a set of the cache.
template <class R>
struct hadamard_rows {
    R* data;
    index_t row;
    bool gap = false;
    static constexpr index_t with_gaps(index_t rows) { return rows + rows / 64; }
    index_t at(index_t i) const { return (gap ? with_gaps(i) : i) * row; }
};

// 1 << bits rows of `width` numbers, which is a multiple of the lanes of a vector, become their transform: each column,
// and within each row the numbers that are step apart, for step = top, top / 2, ..., last. What results is multiplied
// by `factors`, the first of them for even columns. Passes but the last write to `room`, which `from` or `to` may be.
// If sequency_bits is not 0, row i goes where row first_row + i of so many bits is by sequency.
template <class R>
struct hadamard_block {
    hadamard_rows<R const> from;
    hadamard_rows<R> room, to;
    int bits;
    index_t width, top, last;
    R factors[2];
    int sequency_bits;
    index_t first_row;
};

template <class R>
struct hadamard_kernels {
    index_t lanes;
    int widest; // log2 of the rows that a pass combines
    void (*transform)(hadamard_block<R> const&);
    // Writes transforms of 1 << bits points, whose elements have `width` numbers, in order of sequency. `from` has
    // vectors in natural order. There are at least as many vectors as a vector has elements.
    void (*by_sequency)(hadamard_rows<R const> const& from, R* to, int bits, index_t width);
    // `count` numbers times a factor, or times as many signs.
    void (*scaled)(R const* from, R factor, R* to, index_t count);
    void (*signed_by)(R const* from, R const* signs, R* to, index_t count);
};

// Which lane of two vectors, numbered through, a third vector has at i: the lane that is Step away; groups of one
// vector and of the other in turn, from the lower halves or from the upper; or the groups of one vector backwards.
template <int Step>
struct hadamard_partner {
    static constexpr int of(int i) { return i ^ Step; }
};
template <int Lanes, int Group, int Upper>
struct hadamard_in_turn {
    static constexpr int of(int i) {
        return i / Group % 2 * Lanes + i / (2 * Group) * Group + i % Group + Upper * (Lanes / 2);
    }
};
template <int Lanes, int Group>
struct hadamard_backwards {
    static constexpr int of(int i) { return (Lanes / Group - 1 - i / Group) * Group + i % Group; }
};
// The sign of lane i in a difference of lanes that are Step apart.
template <class R, int Step>
struct hadamard_signs {
    R at[64 / sizeof(R)];
    constexpr hadamard_signs() : at() {
        for (int i = 0; i < static_cast<int>(64 / sizeof(R)); ++i) at[i] = R(i & Step ? -1 : 1);
    }
};
template <class R, int Step>
inline constexpr hadamard_signs<R, Step> hadamard_sign;

#define STRATAGEMM_EACH_ISA "../../structure/hadamard/passes.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// The kernels of the instruction set in force.
template <class R>
hadamard_kernels<R> const& hadamard_kernels_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512) return host_avx512::hadamard_table<R>;
    if (choice.available && choice.isa >= host_isa::avx2) return host_avx2::hadamard_table<R>;
#endif
    return host_portable::hadamard_table<R>;
}

STRATAGEMM_END
