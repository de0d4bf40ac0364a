// The operands of bench_approximate.
#include "approximate.hpp"
#include "oracle.hpp"

#include <stratagemm/structure/hadamard.hpp>

#include <utility>

namespace bench {
namespace {

sg::matrix<float> random_matrix(index_t rows, index_t cols, unsigned seed) {
    auto const x = draw<float>(rows * cols, 0, seed);
    return sg::matrix<float>(rows, cols,
                             [&](index_t i, index_t j) { return x[static_cast<std::size_t>(i * cols + j)]; });
}

// X D Y and Y^T D Z: the singular values fall by 10^5 within n / 16, and the product is of what is large in both.
approximate_data decaying(index_t n) {
    index_t const rank = n / 8;
    sg::matrix<float> x = random_matrix(n, rank, 1), z = random_matrix(rank, n, 2);
    sg::matrix<float> const y = random_matrix(rank, n, 3);
    for (index_t i = 0; i < rank; ++i) {
        auto const factor = static_cast<float>(std::pow(10, -80.0 * double(i) / double(n)));
        for (index_t j = 0; j < n; ++j) x(j, i) *= factor, z(i, j) *= factor;
    }
    sg::matrix<float> a(n, n), b(n, n);
    sg::gemm(x, y, a);
    sg::gemm(sg::transposed(y), z, b);
    return {"decaying spectrum", std::move(a), std::move(b)};
}

// Columns of A and rows of B whose norms fall as 1 / l, in an order without a pattern.
approximate_data uneven(index_t n) {
    sg::matrix<float> a = random_matrix(n, n, 1), b = random_matrix(n, n, 2);
    for (index_t l = 0; l < n; ++l) {
        auto const factor = 1 / static_cast<float>(1 + l * 7919 % n);
        for (index_t i = 0; i < n; ++i) a(i, l) *= factor, b(l, i) *= factor;
    }
    return {"uneven norms", std::move(a), std::move(b)};
}

// Rows of A are rows of a half of an orthogonal matrix H, and columns of B are rows of the other half; but each 16th
// also has one of the first. Both are dense, and A B has two elements in each 16th column.
approximate_data planted(index_t n) {
    sg::matrix<float> of_a(n, n), of_b(n, n), a(n, n), b(n, n);
    auto const factor = draw<float>(n, 0, 1);
    index_t const half = n / 2;
    for (index_t j = 0; j < n; ++j) {
        of_a(j, j % half) = factor[static_cast<std::size_t>(j)];
        of_b(half + j % half, j) = 1;
        if (j % 16 == 0) of_b(7 * j % half, j) = 1;
    }
    auto const h = sg::orthogonal(sg::hadamard<float>(n));
    sg::gemm(sg::host{}, of_a, h, a);
    sg::gemm(sg::host{}, h, of_b, b);
    return {"sparse product", std::move(a), std::move(b), {}, n / 8};
}

// Smooth along its diagonals but not across, as a matrix of correlations is.
approximate_data correlations(index_t n) {
    std::vector<float> diagonals(static_cast<std::size_t>(2 * n - 1));
    for (index_t d = 0; d < 2 * n - 1; ++d)
        diagonals[static_cast<std::size_t>(d)] =
            static_cast<float>(1 / (1 + std::abs(double(d - n + 1)) / 4));
    sg::matrix<float> a(
        n, n, [&](index_t i, index_t j) { return diagonals[static_cast<std::size_t>(n - 1 + j - i)]; });
    return {"Toeplitz", std::move(a), random_matrix(n, n, 2), std::move(diagonals)};
}

} // namespace

approximate_data make_data(data_kind kind, index_t n) {
    switch (kind) {
    case data_kind::uneven: return uneven(n);
    case data_kind::decaying: return decaying(n);
    case data_kind::planted: return planted(n);
    case data_kind::toeplitz: return correlations(n);
    case data_kind::unstructured: break;
    }
    return {"no structure", random_matrix(n, n, 1), random_matrix(n, n, 2)};
}

approximate_product::approximate_product(approximate_data x)
    : n(x.a.rows()), data(std::move(x)), a64(n, n), b64(n, n), c64(n, n), a16(n, n), b16(n, n), ab16(n, n),
      bb16(n, n), c32(n, n) {
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
            float const a = data.a(i, j), b = data.b(i, j);
            a64(i, j) = a, a16(i, j) = sg::half(a), ab16(i, j) = sg::bfloat16(a);
            b64(i, j) = b, b16(i, j) = sg::half(b), bb16(i, j) = sg::bfloat16(b);
        }
    norms = frobenius(data.a) * frobenius(data.b);
    if (data.diagonals.empty()) return;
    diagonals = sg::toeplitz(std::as_const(data.diagonals), n, n);
    by_transforms = diagonals.by_transforms();
}

} // namespace bench
