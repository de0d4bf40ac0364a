// A layer of a network whose inputs are mostly zero, such as activations after relu: y = x W for one vector x. Spikes
// have no values: y is the sum of the rows of W where there is one. A picture shows the speed at other densities,
// beside the dense product.
//
//   events [SIDE [PERCENT [PICTURE.svg]]]     of W, and of the elements of x that are not zero
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/events.cpp -o events
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/events.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

template <class F>
double time_of(F&& f) {
    double least = 1e300;
    for (int run = 0; run < 20; ++run) {
        auto const begin = std::chrono::steady_clock::now();
        f();
        double const passed =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (passed < least) least = passed;
    }
    return least;
}

struct point {
    double percent, speed; // against the dense product
};
// Both axes are logarithmic: 0.1 to 100% to the right, and 0.1 to 1000 times as fast upwards.
bool draw(char const* path, index_t side, std::vector<point> const& points) {
    std::FILE* const file = std::fopen(path, "w");
    if (!file) return false;
    auto const x = [](double percent) { return 70 + 130 * (1 + std::log10(percent)); };
    auto const y = [](double speed) { return 280 - 60 * (1 + std::log10(speed)); };
    std::fprintf(
        file,
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 500 340' font-family='sans-serif' "
        "font-size='13'>\n<rect width='500' height='340' fill='white'/>\n"
        "<text x='70' y='22'>x W, W %td x %td, one vector x: events(x) against the dense product</text>\n"
        "<text x='265' y='330' text-anchor='middle'>elements of x that are not zero</text>\n",
        side, side);
    for (double const speed : {0.1, 1.0, 10.0, 100.0, 1000.0})
        std::fprintf(file,
                     "<line x1='70' x2='460' y1='%g' y2='%g' stroke='%s'/>"
                     "<text x='64' y='%g' text-anchor='end'>%gx</text>\n",
                     y(speed), y(speed), speed == 1 ? "black" : "#ddd", y(speed) + 4, speed);
    for (double const percent : {0.1, 1.0, 10.0, 100.0})
        std::fprintf(file, "<text x='%g' y='300' text-anchor='middle'>%g%%</text>\n", x(percent), percent);
    std::fprintf(file, "<polyline fill='none' stroke='#c33' stroke-width='2' points='");
    for (point const& p : points) std::fprintf(file, "%.1f,%.1f ", x(p.percent), y(p.speed));
    std::fprintf(file, "'/>\n</svg>\n");
    return std::fclose(file) == 0;
}

int main(int argc, char** argv) try {
    index_t const side = argc > 1 ? std::atol(argv[1]) : 4000;
    double const percent = argc > 2 ? std::atof(argv[2]) : 1;
    if (side < 1 || side > 1 << 16 || !(percent > 0 && percent <= 100)) {
        std::fprintf(stderr, "usage: events [SIDE [PERCENT [PICTURE.svg]]]\n");
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

    if (argc < 4) return 0;
    std::vector<point> points;
    for (double const density : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
        auto const apart = static_cast<index_t>(100 / density);
        sg::matrix<float> const some(1, side,
                                     [&](index_t, index_t j) { return j % apart == 0 ? 1.0f : 0.0f; });
        double const time = time_of([&] { sg::gemm(cpu, sg::events(some), w, y); });
        points.push_back({density, dense / time});
        std::printf("%5.1f%% not zero: %.4f ms, %.1f times as fast as dense\n", density, time, dense / time);
    }
    if (!draw(argv[3], side, points)) return std::fprintf(stderr, "%s cannot be written\n", argv[3]), 1;
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
