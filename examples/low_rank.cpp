// A matrix of distances in two factors: how many columns each tolerance takes, how far the factors are from the matrix,
// and how much sooner a product is done.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/low_rank.cpp -o low_rank
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/low_rank.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

namespace sg = stratagemm;
using sg::index_t;

namespace {

// The least of some runs, in milliseconds.
template <class F>
double milliseconds(F const& f) {
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 3; ++run) {
        auto const begin = std::chrono::steady_clock::now();
        f();
        std::chrono::duration<double, std::milli> const taken = std::chrono::steady_clock::now() - begin;
        least = std::min(least, taken.count());
    }
    return least;
}

} // namespace

int main() {
    sg::host const cpu;
    // How points on one line act on points on another, which is near: smooth, and so nearly of a low rank.
    index_t const m = 1500, n = 1000, columns = 500;
    sg::matrix<float> const a(m, n, [](index_t i, index_t j) {
        double const x = static_cast<double>(i) / m, y = static_cast<double>(j) / n;
        return static_cast<float>(1 / std::hypot(x - y, 0.2));
    });
    sg::matrix<float> const b(n, columns,
                              [](index_t i, index_t j) { return static_cast<float>((i * 7 + j) % 5 - 2); });
    sg::matrix<float> c(m, columns), near(m, columns);
    double const whole = milliseconds([&] { sg::gemm(cpu, a, b, c); });

    bool good = true;
    std::printf("tolerance   columns   certified    product\n");
    for (double const tolerance : {1e-1, 1e-2, 1e-4}) {
        auto const f = sg::low_rank(cpu, a, {.tolerance = tolerance, .seed = 1});
        double const factored = milliseconds([&] { sg::gemm(cpu, f, b, near); });
        sg::bound const certified = f.report().bound;
        std::printf("%9.0e %9td   %9.2e   %4.1f times as fast\n", tolerance, f.rank(), certified.worst,
                    whole / factored);
        good &= certified.worst <= tolerance;
    }
    // A tolerance that no smaller factors keep is refused.
    sg::matrix<float> const unit(n, n, [](index_t i, index_t j) { return i == j ? 1.0f : 0.0f; });
    auto const refused = sg::try_low_rank(cpu, unit, {.tolerance = 1e-2});
    if (!refused) std::printf("%s\n", refused.error().what());
    return good && !refused ? 0 : 1;
}
