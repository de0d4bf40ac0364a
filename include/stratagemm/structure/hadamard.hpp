// The Hadamard transform as an operand: a matrix of n x n, n a power of two, whose elements +1 and -1 lie in no memory.
//
//   sg::gemm(cpu, sg::hadamard<float>(1024), x, y);                  transforms the columns of x
//   sg::gemm(cpu, x, sg::hadamard<float>(1024), y);                  transforms the rows
//   sg::gemm(cpu, sg::sequency(sg::hadamard<float>(1024)), x, y);    rows of the matrix by their changes of sign (Walsh)
//   sg::gemm(cpu, sg::orthogonal(sg::hadamard<float>(1024)), x, x);  divided by sqrt(1024), and in place
//
// Natural order: element (i, j) is -1 to the number of bits that i and j have in common. The order of sequency has the
// same rows. The matrix is symmetric in both orders, and the square of it is n times the identity: orthogonal() gives
// the matrix whose inverse is itself, and scaled(1.0f / n, hadamard<float>(n)) the inverse of hadamard<float>(n).
//
// x and y are both real, or both complex, of the precision T; where T is float, x may have elements of half or bfloat16,
// and y those or floats. Both may have any strides, and x may be a batch of matrices, with y; y may be x. alpha, beta, E
// and an epilogue serve as in other products. The result depends on x, the length and the order alone: not on threads,
// on instruction sets, on strides, or on what is transformed beside x. The error of an element is at most a multiple of
// the sum of the absolute values in its column of x that grows with log2 n (product.hpp).
#pragma once

#include "../gemm.hpp"
#include "hadamard/product.hpp"

STRATAGEMM_BEGIN

template <class T>
struct hadamard_form {
    using value_type = computed<T>;
    static constexpr bool is_transform = true, is_computed = true;
    template <class P>
    requires P::is_backend using over = hadamard_product<P>;
};

// T: float or double, the precision of sums.
template <class T>
struct hadamard {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "stratagemm: the type of a transform is float or double, the real type of its operands");
    using value_type = computed<T>;
    using real_type = T;
    using space = no_memory;
    using form = hadamard_form<T>;
    static constexpr int most_views = 0;
    static constexpr bool in_place = true;

    index_t rows = 1, cols = 1;
    T scale{1};
    bool conjugate = false; // which changes nothing
    hadamard_order order = hadamard_order::natural;

    explicit hadamard(index_t points) : rows(points), cols(points) {}

    hadamard transposed() const { return *this; }
    template <class F>
    void each_view(F&&) const {}
    status usable() const {
        constexpr index_t most = index_t{1} << 30;
        if (rows >= 1 && rows <= most && (rows & (rows - 1)) == 0) return {};
        char text[160];
        __builtin_snprintf(
            text, sizeof(text),
            "a Hadamard transform has a power of two from 1 to %td of points, and this one has %td", most,
            rows);
        return failure(errc::argument, "hadamard", text);
    }
};
static_assert(ready_operand<hadamard<float>>);

template <class T>
hadamard<T> sequency(hadamard<T> h) {
    h.order = hadamard_order::sequency;
    return h;
}
// The orthogonal matrix: divided by the square root of its rows.
template <class T>
hadamard<T> orthogonal(hadamard<T> h) {
    h.scale = static_cast<T>(h.scale / __builtin_sqrt(static_cast<double>(h.rows)));
    return h;
}

STRATAGEMM_END
