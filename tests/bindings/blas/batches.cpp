// Batches, by strides and by pointers; matrices that share memory; every name of a function.
#include "catch.hpp"
#include "matrices.hpp"

namespace blas_test {
namespace {

constexpr int side = 5, count = 7, size = side * side;

template <class T>
std::vector<T> numbers(int n, std::uint64_t seed) {
    random_source random(seed);
    std::vector<T> x(static_cast<std::size_t>(n));
    for (T& y : x) y = some<T>(random);
    return x;
}
// C + A B for square matrices by columns.
template <class T>
void add_product(T const* a, T const* b, T* c) {
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j)
            for (int k = 0; k < side; ++k) c[i + j * side] += a[i + k * side] * b[k + j * side];
}

// Two groups of one batch: the second has rows and columns of A exchanged, and factors.
template <class T, class Option>
struct groups {
    Option transa[2], transb[2];
    std::int32_t m[2] = {side, side}, n[2] = {side, side}, k[2] = {side, side}, leading[2] = {side, side};
    T alpha[2] = {T(1), T(2)}, beta[2] = {T(1), T(0)};
    std::int32_t sizes[2] = {3, count - 3};
};

} // namespace

TEMPLATE_TEST_CASE("gemm_batch_strided", "[devices]", float, double, std::complex<float>,
                   std::complex<double>) {
    using T = TestType;
    auto const a = numbers<T>(size * count, 1), b = numbers<T>(size * count, 2);
    for (language const l : {language::fortran, language::columns, language::rows})
        for (int const step : {0, 1}) { // 0: all take the same A
            auto c = numbers<T>(size * count, 3), expected = c;
            bool const by_rows = l == language::rows; // C^T = B^T A^T
            for (int i = 0; i < count; ++i) {
                T const *const x = &a[std::size_t(i * step * size)], *const y = &b[std::size_t(i * size)];
                add_product(by_rows ? y : x, by_rows ? x : y, &expected[std::size_t(i * size)]);
            }
            routines<T>(plain, l).strided('N', 'N', side, side, side, T(1), a.data(), side, step * size,
                                          b.data(), side, size, T(1), c.data(), side, size, count);
            REQUIRE(c == expected);
        }
    // Sums into one C, one after another.
    auto c = numbers<T>(size, 3), expected = c;
    for (int i = 0; i < count; ++i)
        add_product(&a[std::size_t(i * size)], &b[std::size_t(i * size)], expected.data());
    routines<T>(plain, language::fortran)
        .strided('N', 'N', side, side, side, T(1), a.data(), side, size, b.data(), side, size, T(1), c.data(),
                 side, 0, count);
    REQUIRE(c == expected);
}

TEMPLATE_TEST_CASE("gemm_batch", "[devices]", float, double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    auto const a = numbers<T>(size * count, 1), b = numbers<T>(size * count, 2);
    for (bool const is_c : {false, true}) {
        auto c = numbers<T>(size * count, 3), expected = c;
        std::vector<T const*> a_at, b_at;
        std::vector<T*> c_at;
        for (int i = 0; i < count; ++i) {
            auto const at = std::size_t(i * size);
            a_at.push_back(&a[at]), b_at.push_back(&b[at]), c_at.push_back(&c[at]);
            if (i < 3) {
                add_product(&a[at], &b[at], &expected[at]);
                continue;
            }
            std::vector<T> turned(size), twice(size, T(0));
            for (int r = 0; r < side; ++r)
                for (int s = 0; s < side; ++s)
                    turned[std::size_t(r + s * side)] = a[at + std::size_t(s + r * side)];
            add_product(turned.data(), &b[at], twice.data());
            for (int j = 0; j < size; ++j) expected[at + std::size_t(j)] = T(2) * twice[std::size_t(j)];
        }
        std::int32_t const two = 2;
        routines<T> const blas(plain, is_c ? language::columns : language::fortran);
        if (is_c) {
            groups<T, int> const g{{111, 112}, {111, 111}};
            blas.cblas("gemm_batch", g.transa, g.transb, g.m, g.n, g.k, g.alpha, a_at.data(), g.leading,
                       b_at.data(), g.leading, g.beta, c_at.data(), g.leading, two, g.sizes);
        } else {
            groups<T, char> const g{{'N', 'T'}, {'N', 'N'}};
            blas.fortran("gemm_batch", g.transa, g.transb, g.m, g.n, g.k, g.alpha, a_at.data(), g.leading,
                         b_at.data(), g.leading, g.beta, c_at.data(), g.leading, &two, g.sizes);
        }
        REQUIRE(c == expected);
    }
}

TEST_CASE("C may share memory with A and B: their old values are multiplied", "[devices]") {
    auto const old = numbers<double>(3 * size, 4);
    for (int const a_at : {0, 3, size})
        for (int const b_at : {0, 5, 2 * size}) {
            auto memory = old, expected = old;
            std::vector<double> c(size, 0.0);
            add_product(&old[std::size_t(a_at)], &old[std::size_t(b_at)], c.data());
            std::copy(c.begin(), c.end(), expected.begin() + 2);
            routines<double>(plain, language::fortran)
                .gemm('N', 'N', side, side, side, 1.0, &memory[std::size_t(a_at)], side,
                      &memory[std::size_t(b_at)], side, 0.0, &memory[2], side);
            REQUIRE(memory == expected);
        }
}

TEST_CASE("every name, with integers of its width") {
    auto const a = numbers<double>(size, 1), b = numbers<double>(size, 2);
    std::vector<double> expected(size, 0.0);
    add_product(a.data(), b.data(), expected.data());
    auto const is_right = [&](auto integer, naming const& names, language l) {
        using Int = decltype(integer);
        std::vector<double> c(size, 9.0);
        constexpr Int n = side;
        // By rows the same product is that of the transposes.
        bool const by_rows = l == language::rows;
        routines<double, Int>(names, l).gemm('N', 'N', n, n, n, 1.0, (by_rows ? b : a).data(), n,
                                             (by_rows ? a : b).data(), n, 0.0, c.data(), n);
        return c == expected;
    };
    for (language const l : {language::fortran, language::columns, language::rows}) {
        char const* const library = STRATAGEMM_BLAS_LIBRARY;
        REQUIRE(is_right(std::int32_t{}, {library, "", "_", ""}, l));
        REQUIRE(is_right(std::int32_t{}, {library, "scipy_", "_", ""}, l));
        REQUIRE(is_right(std::int64_t{}, {library, "", "_64_", "64_"}, l));
        REQUIRE(is_right(std::int64_t{}, {library, "", "_64_", "_64"}, l));
        REQUIRE(is_right(std::int64_t{}, {library, "scipy_", "_64_", "64_"}, l));
        REQUIRE(is_right(std::int64_t{}, {STRATAGEMM_BLAS64_LIBRARY, "", "_", ""}, l));
        REQUIRE(is_right(std::int64_t{}, {STRATAGEMM_BLAS64_LIBRARY, "", "_64_", "64_"}, l));
    }
}

} // namespace blas_test
