// A product that may be wrong by a tolerance: the call says how much, and is told how wrong the result is. A tolerance
// that takes more work than the exact product is refused, with a sentence that says what can be had; or the product is
// done exactly, if the call asks for that.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/approximate.cpp -o approximate
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <cstdio>

namespace sg = stratagemm;
using sg::index_t;

namespace {

double norm(sg::matrix<float> const& x) {
    double sum = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) sum += double(x(i, j)) * double(x(i, j));
    return std::sqrt(sum);
}

} // namespace

int main() {
    sg::host const cpu;
    // Sums over many observations, of which most weigh little.
    index_t const m = 300, n = 200, observations = 20000;
    auto const value = [](index_t i, index_t l) {
        double const weight = 1 / (1 + 0.01 * static_cast<double>(l));
        return static_cast<float>(weight * (1 + 0.5 * std::sin(static_cast<double>(i * l % 977))));
    };
    sg::matrix<float> const a(m, observations, value);
    sg::matrix<float> const b(observations, n, [&](index_t l, index_t j) { return value(j + 400, l); });
    sg::matrix<float> c(m, n), exact(m, n);
    sg::gemm(cpu, a, b, exact);

    // The error is |C - A B| / |A||B|, in Frobenius norms. `certify` measures it by products with random vectors.
    sg::report told;
    sg::gemm(sg::monte_carlo{cpu, {.tolerance = 0.1, .seed = 1, .certify = true, .report = &told}}, a, b, c);
    sg::matrix<float> const off(m, n, [&](index_t i, index_t j) { return c(i, j) - exact(i, j); });
    double const error = norm(off) / (norm(a) * norm(b));
    std::printf("%d of %td columns were drawn\n", told.count, observations);
    std::printf("the error is at most %.2g, with a confidence of %g%%; it is %.2g\n", told.bound.worst,
                100 * told.bound.confidence, error);
    bool good = error <= told.bound.worst && told.bound.worst <= 0.1;

    // An error that would take more work than the exact product: C is not touched.
    sg::status const refused = sg::try_gemm(sg::monte_carlo{cpu, {.tolerance = 1e-4}}, a, b, c);
    if (!refused) std::printf("%s\n", refused.error().what());

    // The exact product instead.
    sg::monte_carlo const either{cpu,
                                 {.tolerance = 1e-4, .otherwise = sg::otherwise::exact, .report = &told}};
    sg::gemm(either, a, b, c);
    std::printf("%.*s: %s\n", static_cast<int>(told.ran.size()), told.ran.data(), told.reason);
    good = good && !refused && told.ran == "native" && c == exact;
    return good ? 0 : 1;
}
