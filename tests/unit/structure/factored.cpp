#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/factored.hpp>

#include <complex>
#include <string>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;

namespace {

template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<T>(
        rows, cols,
        [&](index_t, index_t) {
            using R = sg::real_t<T>;
            auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
            if constexpr (sg::complex_like<T>) {
                R const re = part();
                return T(re, part());
            } else {
                return static_cast<T>(part());
            }
        },
        order);
}
template <class T>
using wide = std::conditional_t<sg::complex_like<T>, std::complex<long double>, long double>;

// alpha U V in long double, and |alpha||U||V|.
template <class T>
struct written_out {
    sg::index_t rows, cols;
    std::vector<wide<T>> value;
    std::vector<long double> size;

    written_out(sg::matrix<T> const& u, sg::matrix<T> const& v)
        : rows(u.rows()), cols(v.cols()), value(static_cast<std::size_t>(rows * cols)), size(value.size()) {
        for (index_t i = 0; i < rows; ++i)
            for (index_t j = 0; j < cols; ++j)
                for (index_t l = 0; l < u.cols(); ++l) {
                    wide<T> const x = wide<T>(u(i, l)) * wide<T>(v(l, j));
                    value[at(i, j)] += x,
                        size[at(i, j)] += std::abs(wide<T>(u(i, l))) * std::abs(wide<T>(v(l, j)));
                }
    }
    std::size_t at(index_t i, index_t j) const { return static_cast<std::size_t>(i * cols + j); }
};

// The largest error of C over |A||B|, where A and B are written out.
template <class T>
double error_of(written_out<T> const& a, written_out<T> const& b, sg::matrix<T> const& c) {
    double worst = 0;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j) {
            wide<T> exact{};
            long double size = 0;
            for (index_t l = 0; l < a.cols; ++l)
                exact += a.value[a.at(i, l)] * b.value[b.at(l, j)],
                    size += a.size[a.at(i, l)] * b.size[b.at(l, j)];
            worst = std::max(worst, static_cast<double>(std::abs(wide<T>(c(i, j)) - exact) / size));
        }
    return worst;
}
template <class T>
sg::matrix<T> unit(index_t n) {
    return sg::matrix<T>(n, n, [](index_t i, index_t j) { return T(i == j ? 1 : 0); });
}

} // namespace

TEMPLATE_TEST_CASE("a factored matrix times a dense one, on either side, is within its bound", "", float,
                   double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    struct sizes {
        index_t m, n, k, rank;
    };
    for (sizes const s :
         {sizes{1, 1, 1, 1}, sizes{7, 5, 9, 2}, sizes{33, 65, 40, 17}, sizes{20, 3, 50, 60}}) {
        auto const u = random_matrix<T>(s.m, s.rank, 1),
                   v = random_matrix<T>(s.rank, s.k, 2, sg::layout::col_major),
                   b = random_matrix<T>(s.k, s.n, 3), left = random_matrix<T>(s.n, s.m, 4);
        written_out<T> const a(u, v), dense(b, unit<T>(s.n)), dense_left(left, unit<T>(s.m));
        sg::matrix<T> c(s.m, s.n), d(s.n, s.k);
        auto const product = sg::product(sg::factored(u, v), b, c);
        sg::gemm(sg::host{1}, sg::factored(u, v), b, c);
        auto const bound = sg::plan(sg::host{1}, product.shape()).error_bound();
        CHECK(error_of(a, dense, c) <= bound.worst);
        CHECK(bound.worst < 1e-4);
        sg::gemm(sg::host{1}, left, sg::factored(u, v), d);
        CHECK(error_of(dense_left, a, d) <= bound.worst * 4);
        sg::gemm(sg::reference{}, sg::factored(u, v), b, c);
        CHECK(error_of(a, dense, c) <= bound.worst);
    }
}

TEMPLATE_TEST_CASE(
    "a factored matrix with alpha, beta, E, an epilogue, in a batch, transposed and conjugated", "", float,
    std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    index_t const m = 19, n = 11, k = 23, rank = 4, count = 3;
    auto const u = random_matrix<T>(m, rank, 1), v = random_matrix<T>(rank, k, 2);
    auto const b = random_matrix<T>(count * k, n, 3), e = random_matrix<T>(count * m, n, 4);
    T const alpha(R(1.5)), beta(R(-0.5));
    sg::matrix<T> a(m, k), expected(count * m, n), c(count * m, n);
    sg::gemm(sg::reference{}, u, v, a);
    auto const of = [](sg::matrix<T> const& x, index_t rows) {
        return sg::batched(x.block(0, 0, rows, x.cols()), count, rows * x.cols());
    };
    auto const to = [](sg::matrix<T>& x, index_t rows) {
        return sg::batched(x.block(0, 0, rows, x.cols()), count, rows * x.cols());
    };
    auto const halved = [](T x, index_t i, index_t j) { return i > j ? x : x * R(0.5); };
    auto const far = [&] {
        double most = 0;
        for (index_t i = 0; i < c.rows(); ++i)
            for (index_t j = 0; j < c.cols(); ++j)
                most = std::max(most, static_cast<double>(std::abs(c(i, j) - expected(i, j))));
        return most;
    };
    double const near = 64 * sg::unit_roundoff<R>() * static_cast<double>(rank * k);
    sg::gemm(sg::reference{}, alpha, a, of(b, k), beta, of(e, m), to(expected, m), halved);
    sg::gemm(sg::host{1}, alpha, sg::factored(u, v), of(b, k), beta, of(e, m), to(c, m), halved);
    CHECK(far() <= near);
    c.fill(0);
    sg::gemm(sg::strassen{sg::host{1}}, alpha, sg::factored(u, v), of(b, k), beta, of(e, m), to(c, m),
             halved);
    CHECK(far() <= near);

    // On the right, whose epilogue has the indices of C.
    auto const left = random_matrix<T>(n, m, 5), added = random_matrix<T>(n, k, 6);
    expected = c = sg::matrix<T>(n, k);
    sg::gemm(sg::reference{}, alpha, left, a, beta, added, expected, halved);
    sg::gemm(sg::host{1}, alpha, left, sg::factored(u, v), beta, added, c, halved);
    CHECK(far() <= near);
    expected = c = sg::matrix<T>(k, n);
    sg::gemm(sg::reference{}, sg::transposed(sg::conjugated(a)), sg::transposed(left), expected);
    sg::gemm(sg::host{1}, sg::transposed(sg::conjugated(sg::factored(u, v))), sg::transposed(left), c);
    CHECK(far() <= near);
    expected = c = sg::matrix<T>(m, n);
    sg::gemm(sg::reference{}, a, sg::scaled(R(-3), b.block(0, 0, k, n)), expected);
    sg::gemm(sg::host{1}, sg::scaled(R(3), sg::factored(sg::scaled(R(-1), u), v)), b.block(0, 0, k, n), c);
    CHECK(far() <= 4 * near);
}

TEMPLATE_TEST_CASE("a factored matrix times a factored one takes three products, in the cheaper order", "",
                   float, std::complex<float>) {
    using T = TestType;
    struct sizes {
        index_t m, n, k, first, second;
    };
    for (sizes const s :
         {sizes{40, 30, 50, 3, 5}, sizes{40, 30, 50, 9, 2}, sizes{5, 200, 8, 6, 1}, sizes{1, 1, 1, 1, 1}}) {
        auto const u = random_matrix<T>(s.m, s.first, 1), v = random_matrix<T>(s.first, s.k, 2),
                   x = random_matrix<T>(s.k, s.second, 3), y = random_matrix<T>(s.second, s.n, 4);
        sg::matrix<T> c(s.m, s.n);
        auto const a = sg::factored(u, v), b = sg::factored(x, y);
        auto const product = sg::product(a, b, c);
        sg::plan const plan(sg::host{1}, product.shape());
        auto memory = plan.reserve();
        plan.run(a, b, c, memory);
        CHECK(error_of(written_out<T>(u, v), written_out<T>(x, y), c) <= plan.error_bound().worst);
        std::string const text = plan.describe();
        CHECK(contains(text, "factored: "));
        auto const first =
            std::to_string(s.second) + " x " + std::to_string(s.first) + " x " + std::to_string(s.k);
        auto const f = [](index_t i) { return static_cast<double>(i); };
        bool const is_turned = f(s.second * s.m) * f(s.first + s.n) < f(s.first * s.n) * f(s.second + s.m);
        CHECK(contains(text, first) == (is_turned || s.first == s.second));
    }
}

TEST_CASE("a factored matrix refuses factors of other shapes, and writes nothing") {
    sg::matrix<float> u(4, 3), v(2, 5), b(5, 2), c(4, 2);
    c.fill(7);
    auto const s = sg::try_gemm(sg::host{1}, sg::factored(u, v), b, c);
    REQUIRE(!s);
    CHECK(s.error().what() ==
          std::string("factored: U has 3 columns and V 2 rows; both are the rank, which is 1 or more"));
    CHECK(contains(sg::try_gemm(sg::host{1}, sg::factored(u, v), c, c).error().what(), "C = A B needs"));
    for (index_t i = 0; i < 4; ++i) CHECK((c(i, 0) == 7 && c(i, 1) == 7));
    using Q = sg::problem<sg::factored<float>, sg::view<sg::half const>, sg::view<double>>;
    CHECK(sg::answer<sg::performer<sg::host, Q>, Q>() != sg::verdict::yes);
}
