// Kernels of transforms on the host, for each instruction set.
#pragma once

#include "../../backend/host/kernels.hpp"

STRATAGEMM_BEGIN

// The largest prime that is a pass by itself. Such a pass has as many multiply-adds for each number as the prime is; a
// convolution by transforms of more than twice the length has some 60, and larger errors.
inline constexpr int largest_prime_pass = 61;

// A transform whose length has no larger prime factors: a pass for each radix, and the factors of all passes one after
// another, as pairs of real and imaginary part. Before those of a radix beyond 8 are the roots of unity of this order.
template <class R>
struct dft_steps {
    index_t points = 1;
    int count = 0;
    int radix[32] = {}; // 2^31 has fewer factors
    R const* factors = nullptr;
};

// Elements of a matrix that are lanes of a block: `count` of them in each of `rows` rows. Strides are in numbers of R.
template <class R>
struct dft_lanes {
    R* data;
    index_t row, lane, rows;
    index_t count;
    bool real = false; // elements have no imaginary part
    index_t apart = 1; // from the real part of an element to its imaginary part
};

// Pairs of rows of two blocks, or of one: row i from p on, and row i counted back from q, for the step between the
// spectrum of pairs of real numbers, taken for complex ones, and that of these numbers (dft_mirror, passes.inl.hpp).
template <class R>
struct dft_pairs {
    R *p, *q;
    index_t count;
    R const* turns;  // a factor for each i
    R const* across; // and one for each lane; null: all are 1
    R factor;        // of all results
    bool conjugate;  // the spectrum of the real numbers
};

// Transforms whose elements lie side by side in memory, one transform every from_step numbers (lines.inl.hpp).
template <class R>
struct dft_lines {
    dft_steps<R> const* steps;
    R const* factors; // of passes that exchange lanes
    int part;         // lanes of a transform: all, or half of them
    index_t
        together; // transforms that have rows in both blocks; an even number if `part` is half of the lanes
    bool fetches; // operands come from memory
    R const* from;
    R* to;
    index_t from_step, to_step, count;
    R factor;
    bool conjugates_input, conjugates_output;
};

// How a last pass writes: times factors that each lane of a row has (null: none), and a factor of all; the imaginary
// parts negated at the end. The second vector of a row begins `apart` numbers after the first.
template <class R>
struct dft_last {
    R const* factors = nullptr;
    R factor = R(1);
    bool conjugate = false;
    index_t row = 0, apart = 0;
    index_t count = 1, step = 0; // sets of rows: in memory, a set follows every `step` numbers
};

template <class R>
struct dft_kernels {
    index_t lanes;
    int largest_radix; // 8 numbers and their factors take more than 16 registers
    R* (*passes)(dft_steps<R> const&, R*, R*);
    void (*times)(R*, R const*, index_t, bool, bool);
    void (*scale)(R*, index_t, R, R, bool);
    void (*load)(dft_lanes<R const> const&, R*);
    void (*store)(R const*, dft_lanes<R> const&);
    void (*to_spectrum)(dft_pairs<R> const&), (*from_spectrum)(dft_pairs<R> const&);
    void (*lines)(dft_lines<R> const&, R*, R*);
    // From rows of memory, conjugated or not (null: from the first block), to rows of memory; overwrites both blocks.
    void (*through)(dft_steps<R> const&, dft_lanes<R const> const*, bool, R*, R*, dft_lanes<R> const&,
                    dft_last<R> const&);
};

// Roots of unity of a small odd order: exp(2 pi i k / Radix).
template <int Radix>
struct dft_roots;
template <>
struct dft_roots<3> {
    static constexpr double cosines[] = {1, -0.5, -0.5};
    static constexpr double sines[] = {0, 0.86602540378443864676, -0.86602540378443864676};
};
template <>
struct dft_roots<5> {
    static constexpr double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410,
                            s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    static constexpr double cosines[] = {1, c1, c2, c2, c1};
    static constexpr double sines[] = {0, s1, s2, -s2, -s1};
};
template <>
struct dft_roots<7> {
    static constexpr double c1 = 0.62348980185873353053, c2 = -0.22252093395631440429,
                            c3 = -0.90096886790241912624, s1 = 0.78183148246802980871,
                            s2 = 0.97492791218182360702, s3 = 0.43388373911755812048;
    static constexpr double cosines[] = {1, c1, c2, c3, c3, c2, c1};
    static constexpr double sines[] = {0, s1, s2, s3, -s3, -s2, -s1};
};

// Which elements of two vectors a third vector has, at i: the even or the odd ones, forwards or backwards; those of the
// first backwards; or groups of one vector and of the other in turn, from the lower halves or from the upper.
template <int Odd>
struct dft_second_of_two {
    static constexpr int of(int i) { return 2 * i + Odd; }
};
template <int Lanes, int Odd>
struct dft_second_of_two_back {
    static constexpr int of(int i) { return 2 * (Lanes - 1 - i) + Odd; }
};
template <int Lanes>
struct dft_backwards {
    static constexpr int of(int i) { return Lanes - 1 - i; }
};
template <int Lanes, int Group, int Upper, int Part = Lanes>
struct dft_in_turn {
    static constexpr int of(int i) {
        int const k = i % Part;
        return k / Group % 2 * Lanes + k / (2 * Group) * Group + k % Group + Upper * (Part / 2) +
               i / Part * Part;
    }
};
template <int Lanes, int Group, int Odd, int Part>
struct dft_every_second {
    static constexpr int of(int i) {
        int const k = i % Part, at = k % (Part / 2);
        return k / (Part / 2) * Lanes + (at / Group * 2 + Odd) * Group + at % Group + i / Part * Part;
    }
};

// The order of lanes in rows of lines.inl.hpp: numbers from the lower half of a row and from the upper half in turn, as
// many as 8 bytes have. Pairs are split and joined within 16 bytes so.
template <class R, int Lanes>
struct dft_order {
    static constexpr int group = 8 / static_cast<int>(sizeof(R));
    static constexpr int lane_of(int i) {
        int const k = i % (Lanes / 2);
        return (k / group * 2 + i / (Lanes / 2)) * group + k % group;
    }
    static constexpr int number_of(int lane) {
        return lane / group % 2 * (Lanes / 2) + lane / (2 * group) * group + lane % group;
    }
};
// The choice `At` among numbers of two rows, as one among lanes.
template <class R, int Lanes, class At>
struct dft_ordered {
    using order = dft_order<R, Lanes>;
    static constexpr int of(int lane) {
        int const from = At::of(order::number_of(lane));
        return from / Lanes * Lanes + order::lane_of(from % Lanes);
    }
};

#define STRATAGEMM_EACH_ISA "../../structure/dft/passes.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"
#define STRATAGEMM_EACH_ISA "../../structure/dft/lines.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// The kernels of the instruction set in force.
template <class R>
dft_kernels<R> const& dft_kernels_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512) return host_avx512::dft_table<R>;
    if (choice.available && choice.isa >= host_isa::avx2) return host_avx2::dft_table<R>;
#endif
    return host_portable::dft_table<R>;
}

STRATAGEMM_END
