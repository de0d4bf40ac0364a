// Products with a spectrum, and sums along diagonals, on the host, for each instruction set.
#pragma once

#include "../dft/kernels.hpp"

STRATAGEMM_BEGIN

// y = z times a spectrum, or added to y; conjugated afterwards if the last argument says so. A block has a row for each
// of n points, as those of transforms have (dft/passes.inl.hpp).
//   even_and_odd   z has the even elements of real numbers as real parts, the odd ones as imaginary parts. Row k of the
//                  spectrum is two complex numbers P and Q: y_k = P z_k + Q conj(z_(n-k))
//   complex        row k of the spectrum is one complex number
template <class R>
struct spectrum_kernels {
    void (*even_and_odd)(R const* z, R* y, R const* spectrum, index_t n, bool adds, bool conjugates);
    void (*complex)(R const* z, R* y, R const* spectrum, index_t n, bool adds, bool conjugates);
};

// n numbers, each times one factor. Where sums are twofold, these are upper halves of doubles, whose products are exact.
struct diagonal_term {
    double factor, factor_low;
    double const *numbers, *numbers_low;
};
// Factors that go backwards, all times one sign.
struct diagonal_factors {
    double const *factors, *factors_low;
    double sign;
};
// Two terms; sums that have them, times alpha, go to `to`, unless that is null.
template <class R>
struct diagonal_row {
    diagonal_term term[2];
    R* to = nullptr;
};
// Sums along diagonals of a C of R, twofold for double. The functions read `low` and lower halves in that case alone.
//   add_one, add_two   add one row or two to n sums
//   begin              sum i += x_(-l) numbers_(i - l) for l < k. n is rounded up to a multiple of `block`
template <class R>
struct diagonal_kernels {
    void (*add_one)(double* sum, double* low, diagonal_row<R> const* rows, index_t n, double alpha);
    void (*add_two)(double* sum, double* low, diagonal_row<R> const* rows, index_t n, double alpha);
    void (*begin)(double* sum, double* low, diagonal_factors const& x, double const* numbers,
                  double const* numbers_low, index_t k, index_t n);
    index_t block;
};

#define STRATAGEMM_EACH_ISA "../../structure/toeplitz/diagonals.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"
#define STRATAGEMM_EACH_ISA "../../structure/toeplitz/spectrum.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// The kernels of the instruction set in force.
template <class R>
spectrum_kernels<R> const& spectrum_kernels_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512) return host_avx512::spectrum_table<R>;
    if (choice.available && choice.isa >= host_isa::avx2) return host_avx2::spectrum_table<R>;
#endif
    return host_portable::spectrum_table<R>;
}
template <class R>
diagonal_kernels<R> const& diagonal_kernels_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512) return host_avx512::diagonal_table<R>;
    if (choice.available && choice.isa >= host_isa::avx2) return host_avx2::diagonal_table<R>;
#endif
    return host_portable::diagonal_table<R>;
}

STRATAGEMM_END
