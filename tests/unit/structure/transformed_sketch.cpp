#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

#include <cmath>
#include <complex>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class T>
sg::matrix<T> random_matrix(index_t rows, index_t cols, unsigned seed) {
    support::random_source from(seed);
    return sg::matrix<T>(rows, cols, [&](index_t, index_t) {
        using R = sg::real_t<T>;
        auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
        if constexpr (sg::complex_like<T>) {
            R const re = part();
            return T(re, part());
        } else {
            return part();
        }
    });
}
template <class T, class Sketch>
sg::matrix<T> written(Sketch const& s) {
    return {s.rows, s.cols, [&](index_t i, index_t j) { return s.element(i, j); }};
}
// The largest error of alpha S X + beta E and alpha X^T S^T + beta E^T, over the bounds.
template <class T, class Policy, class Sketch>
double error_of_products(Policy const& policy, Sketch const& s, index_t n) {
    using R = sg::real_t<T>;
    using wide = std::complex<double>;
    auto const x = random_matrix<T>(s.cols, n, 1), e = random_matrix<T>(s.rows, n, 2);
    T const alpha(R(2)), beta(R(-1));
    auto const a = written<T>(s);
    sg::matrix<T> c(s.rows, n), d(n, s.rows);
    auto const problem = sg::product(alpha, s, x, beta, e, c);
    auto const bound = sg::plan(policy, problem.shape()).error_bound();
    sg::gemm(policy, alpha, s, x, beta, e, c);
    sg::gemm(policy, alpha, sg::transposed(x), sg::transposed(s), beta, sg::transposed(e), d);
    double largest_a = 0, largest_x = 0, most = 0;
    for (index_t i = 0; i < s.rows; ++i)
        for (index_t l = 0; l < s.cols; ++l) largest_a = std::max(largest_a, double(std::abs(a(i, l))));
    for (index_t l = 0; l < s.cols; ++l)
        for (index_t j = 0; j < n; ++j) largest_x = std::max(largest_x, double(std::abs(x(l, j))));
    for (index_t i = 0; i < s.rows; ++i)
        for (index_t j = 0; j < n; ++j) {
            wide sum = -wide(e(i, j));
            double terms = std::abs(e(i, j));
            for (index_t l = 0; l < s.cols; ++l) {
                wide const one = 2.0 * wide(a(i, l)) * wide(x(l, j));
                sum += one, terms += std::abs(one);
            }
            if (bound.normwise) terms = 2 * static_cast<double>(s.cols) * largest_a * largest_x + 1;
            // The elements are rounded themselves.
            double const unit = (bound.worst + 2 * sg::unit_roundoff<R>()) * terms + 1e-300;
            most = std::max(most, std::abs(wide(c(i, j)) - sum) / unit);
            most = std::max(most, std::abs(wide(d(j, i)) - sum) / unit);
        }
    return most;
}

} // namespace

namespace {

template <class T, class Make>
void products_of(Make const& make) {
    for (index_t const n : {1, 3, 40})
        for (index_t const cols : {1, 2, 7, 16, 100, 1001}) {
            index_t const rows = std::min<index_t>(cols, 13);
            auto const s = make(rows, cols);
            INFO(cols << ' ' << n);
            CHECK(error_of_products<T>(sg::host{1}, s, n) <= 1);
            CHECK(error_of_products<T>(sg::host{2}, sg::transposed(s), n) <= 1);
            CHECK(error_of_products<T>(sg::reference{}, s, n) <= 1);
            if (cols < 100) continue;
            auto const part = sg::scaled(T(3), s.block(2, 17, 9, 60));
            CHECK(error_of_products<T>(sg::host{1}, part, n) <= 1);
            CHECK(error_of_products<T>(sg::host{1}, sg::transposed(part), n) <= 1);
        }
}

} // namespace

TEMPLATE_TEST_CASE("srht and srct: products are those of the elements", "", float, double, std::complex<float>,
                   std::complex<double>) {
    using T = TestType;
    products_of<T>([](index_t m, index_t n) { return sg::srht<T>(m, n, 5); });
    products_of<T>([](index_t m, index_t n) { return sg::srct<T>(m, n, 5); });
}
