// The discrete cosine transforms II, III and IV as operands: matrices of n x n whose elements lie in no memory.
//
//   sg::gemm(cpu, sg::dct<float>(64), x, y);                       II of the columns of x, whose rows are 64
//   sg::gemm(cpu, x, sg::transposed(sg::dct<float>(64)), y);       II of the rows
//   sg::gemm(cpu, sg::idct<float>(64), y, x);                      the inverse of the first: a multiple of III
//   sg::gemm(cpu, sg::dct<float>(64, sg::dct_type::iv), x, x);     IV, in place
//   sg::gemm(cpu, sg::orthogonal(sg::dct<float>(64)), x, y);       an orthogonal matrix, whose inverse is its transpose
//
// Element (k, j), counted from 0, is
//   II    cos(pi (2j + 1) k / 2n)
//   III   cos(pi (2k + 1) j / 2n), the transpose of II
//   IV    cos(pi (2j + 1) (2k + 1) / 4n), symmetric
// without the factors 2 that SciPy has. orthogonal() multiplies by sqrt(2 / n), and by sqrt(1 / 2) where k of II, or j
// of III, is 0. The right operand is a matrix, too: rows are transformed by the transpose, as the second line says.
//
// x and y are both real, or both complex, of the precision T. Both may have any strides, and x may be a batch of
// matrices, with y; y may be x. alpha, beta, E and an epilogue serve as in other products. Any length from 1 to 2^30 -
// 1 is accepted; even lengths are faster than odd ones, and those with prime factors 2, 3, 5 and 7 alone are the
// fastest. The result depends on x, the length and the instruction set or the device alone: not on threads, and not on
// what is transformed beside x.
//
// The error is bounded by the norm of x (dct/product.hpp): an element of y that is small beside the largest has fewer
// digits. Transforms run on the host and on devices (OpenCL, CUDA). A device compiles a kernel for each length and
// layout.
#pragma once

#include "dct/device_product.hpp"

STRATAGEMM_BEGIN

template <class T>
struct dct_form {
    using value_type = computed<T>;
    static constexpr bool is_transform = true, is_computed = true, has_facts = true;
    template <class P>
    requires P::is_backend using over =
        std::conditional_t<device_leaf<leaf_of<P>, typename P::space>, dct_device_product<P>, dct_product<P>>;
    dct_type type = dct_type::ii;
};

// T: float or double, the precision of both operands.
template <class T>
struct dct {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "stratagemm: the type of a transform is float or double, the real type of its operands");
    using value_type = computed<T>;
    using real_type = T;
    using space = no_memory;
    using form = dct_form<T>;
    static constexpr int most_views = 0;
    static constexpr bool in_place = true;

    index_t rows = 1, cols = 1;
    dct_type type = dct_type::ii;
    T scale{1}, first{1};   // first: another factor, of row 0 of II and of column 0 of III
    bool conjugate = false; // which changes nothing

    explicit dct(index_t points, dct_type of = dct_type::ii) : rows(points), cols(points), type(of) {}

    form facts() const { return {type}; }
    dct transposed() const {
        dct one = *this;
        if (type == dct_type::ii) one.type = dct_type::iii;
        if (type == dct_type::iii) one.type = dct_type::ii;
        return one;
    }
    template <class F>
    void each_view(F&&) const {}
    status usable() const {
        constexpr index_t most = (index_t{1} << 30) - 1;
        if (rows >= 1 && rows <= most) return {};
        char text[160];
        __builtin_snprintf(text, sizeof(text),
                           "a cosine transform has from 1 to %td points, and this one has %td", most, rows);
        return failure(errc::argument, "dct", text);
    }
};
static_assert(ready_operand<dct<float>>);

// The orthogonal matrix among the multiples of this one.
template <class T>
dct<T> orthogonal(dct<T> d) {
    d.scale = static_cast<T>(d.scale * __builtin_sqrt(2 / static_cast<double>(d.rows)));
    if (d.type != dct_type::iv) d.first = static_cast<T>(d.first * 0.70710678118654752440);
    return d;
}
// The inverse of dct<T>(points, type).
template <class T>
dct<T> idct(index_t points, dct_type type = dct_type::ii) {
    dct<T> d = dct<T>(points, type).transposed();
    d.scale = static_cast<T>(2 / static_cast<double>(points));
    if (type != dct_type::iv) d.first = T(0.5);
    return d;
}

STRATAGEMM_END
