// Random matrices as operands, for sketches: their elements are functions of seed and place, and lie in no memory.
//
//   sg::gemm(cpu, sg::gaussian<float>(64, n, seed), x, y);          Y = S X: n rows of X become 64
//   sg::gemm(cpu, x, sg::transposed(sg::gaussian<float>(64, n, seed)), y);   Y = X S^T: n columns become 64
//   sg::sparse_sign<float>(64, n, seed, 8)                          eight signs in each column, and zeros
//   sg::count_sketch<float>(64, n, seed)                            one sign in each column
//   sg::srht<float>(64, n, seed)                                    random signs, and sampled rows of a transform
//   sg::srct<float>(64, n, seed)                                    the same with a cosine transform
//   auto const list = sg::keep_left(gpu, sg::count_sketch<float>(64, n, seed));   signs, listed once for many products
//   auto const drawn = sg::keep_left(gpu, sg::srht<float>(64, n, seed));          signs and sample, likewise
//
// An element has the same bits on the host and on every device; in float it is the element in double, rounded
// (sketch/random.hpp has the generator). A part has the elements that the sketch has there, with their factor:
// s.block(i, j, m, n). s.element(i, j) gives one element.
//
// E[S^H S] = I: normal numbers have the variance 1 / rows; of complex ones, each part has half of that. Signs are those
// of real numbers, divided by the root of their number in a column. scaled() gives other factors:
// scaled(sqrt(rows), gaussian<T>(...)) has standard normal numbers.
//
// The result is that of the dense product with the written-out matrix by the policy, within the bound of the plan;
// but zeros of a sparse sketch are not multiplied, so that 0 times Inf or NaN adds nothing; and the bound of srct is by
// norms, as that of dct, and takes the largest element of a part to be that of the sketch. The same call gives the
// same bits, for any number of threads; a product of a batch has the bits that it has alone.
#pragma once

#include "../gemm.hpp"
#include "sketch/keep.hpp"
#include "sketch/product.hpp"
#include "sketch/signs.hpp"

STRATAGEMM_BEGIN

template <class T>
struct gaussian_form {
    using value_type = T;
    template <class P>
    requires P::is_backend using over = sketch_product<P>;
};

// Independent normal numbers.
template <class T>
struct gaussian_sketch : sketch_part<gaussian_sketch<T>, T> {
    using form = gaussian_form<T>;

    gaussian_sketch() = default;
    gaussian_sketch(index_t of_rows, index_t of_cols, std::uint64_t of_seed)
        : sketch_part<gaussian_sketch, T>(of_rows, of_cols, of_seed,
                                          1 / __builtin_sqrt(static_cast<double>(of_rows < 1 ? 1 : of_rows) *
                                                             (complex_like<T> ? 2 : 1))) {}
    T drawn(index_t row, index_t col) const { return normal_at<T>(this->seed, row, col); }
    status usable() const { return this->sides_usable("gaussian"); }
};

// rows x cols independent normal numbers. T: float, double, or a complex type of these.
template <class T>
gaussian_sketch<T> gaussian(index_t rows, index_t cols, std::uint64_t seed) {
    return {rows, cols, seed};
}
static_assert(ready_operand<gaussian_sketch<float>>);

// Each column has `nonzeros` elements, which are 1 or -1 times nonzeros^(-1/2) each, in different rows.
template <class T>
sign_sketch<T> sparse_sign(index_t rows, index_t cols, std::uint64_t seed, index_t nonzeros) {
    return {rows, cols, seed, nonzeros};
}
// One sign in each column (CountSketch; Charikar, Chen, Farach-Colton: Finding frequent items in data streams, 2004).
template <class T>
sign_sketch<T> count_sketch(index_t rows, index_t cols, std::uint64_t seed) {
    return {rows, cols, seed, 1};
}
static_assert(sparse_operand<sign_sketch<float>>);

// sqrt(k / rows) P H D: random signs D, the orthogonal Hadamard transform H of k points, the next power of two of the
// columns, and a sample P of its rows without replacement. Elements are 1 or -1 times rows^(-1/2).
template <class T>
transformed_sketch<by_hadamard, T> srht(index_t rows, index_t cols, std::uint64_t seed) {
    return {rows, cols, seed};
}
static_assert(ready_operand<transformed_sketch<by_hadamard, float>>);

// The same with the cosine transform II of `cols` points.
template <class T>
transformed_sketch<by_dct, T> srct(index_t rows, index_t cols, std::uint64_t seed) {
    return {rows, cols, seed};
}

// The list of signs, for many products with the sketch on the left; for products with it on the right.
template <policy P, class T>
requires listed_by<P, T>
auto keep_left(P const& policy, sign_sketch<T> const& sketch) {
    if constexpr (host_leaf<leaf_of<P>>)
        return keep_rows(policy, sketch, shared<typename P::arena>());
    else
        return keep_signs(policy, sketch);
}
template <policy P, class T>
requires listed_by<P, T>
auto keep(P const& policy, sign_sketch<T> const& sketch) {
    auto const rows = keep_left(policy, sketch.transposed());
    auto const x = rows.view().transposed();
    return owned<std::remove_const_t<decltype(x)>, P>(rows.memory(), x);
}

STRATAGEMM_END
