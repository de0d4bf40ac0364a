// A layer of a network whose inputs are mostly zero, such as activations after relu: y = x W for one vector x. Spikes
// have no values: y is the sum of the rows of W where there is one.
//
//   events [SIDE [PERCENT]]     of W, and of the elements of x that are not zero
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/events.cpp -o events
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/events.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sg = stratagemm;
using sg::index_t;

template <class F>
double time_of(F&& f) {
    double least = 1e300;
    for (int run = 0; run < 5; ++run) {
        auto const begin = std::chrono::steady_clock::now();
        f();
        double const passed =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (passed < least) least = passed;
    }
    return least;
}

int main(int argc, char** argv) try {
    index_t const side = argc > 1 ? std::atol(argv[1]) : 4000;
    double const percent = argc > 2 ? std::atof(argv[2]) : 1;
    if (side < 1 || side > 1 << 16 || !(percent > 0 && percent <= 100)) {
        std::fprintf(stderr, "usage: events [SIDE [PERCENT]]\n");
        return 2;
    }
    index_t const one_in = static_cast<index_t>(100 / percent);
    sg::host const cpu;
    sg::matrix<float> const w(side, side,
                              [](index_t i, index_t j) { return static_cast<float>((i + 3 * j) % 9 - 4); });
    sg::matrix<float> const x(1, side, [&](index_t, index_t j) {
        return j % one_in == 0 ? 1.0f + static_cast<float>(j % 5) : 0.0f;
    });
    sg::matrix<float> y(1, side), expected(1, side);
    double const dense = time_of([&] { sg::gemm(cpu, x, w, expected); });
    double const listed = time_of([&] { sg::gemm(cpu, sg::events(x), w, y); });
    auto const list = sg::compact(cpu, x); // where x serves several products
    double const again = time_of([&] { sg::gemm(cpu, list, w, y); });
    sg::matrix<std::int8_t> const spikes(
        1, side, [&](index_t, index_t j) { return static_cast<std::int8_t>(x(0, j) != 0 ? 1 : 0); });
    sg::matrix<float> sums(1, side);
    double const marked = time_of([&] { sg::gemm(cpu, sg::events<float>(spikes), w, sums); });
    std::printf("x W, W %td x %td, %td of x not zero\n", side, side, list.view().nonzeros);
    std::printf("dense %.3f ms, events %.3f ms, of a list %.3f ms, spikes %.3f ms\n", dense, listed, again,
                marked);
    for (index_t j = 0; j < side; ++j)
        if (std::abs(y(0, j) - expected(0, j)) > 1e-3f * (1 + std::abs(expected(0, j))))
            return std::printf("wrong\n"), 1;
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
