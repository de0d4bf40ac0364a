// bench_fft_kronecker: dense matrices times Kronecker products of square factors on the host, m x p^N. Each line is a
// case: its number, what it is, and the median over rounds of microseconds of a product. The first argument is a case
// that is run alone; peers/kronecker.py, which runs FastKron between, asks for them one by one. One thread is timed by
// its own clock, which does not count what other programs take of the processor.
#include "median.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/kronecker.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace sg = stratagemm;

namespace {

using sg::index_t;

double seconds(int threads) {
    timespec now{};
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class T, std::size_t... F>
double microseconds(index_t m, index_t p, int threads, std::index_sequence<F...>) {
    index_t k = 1;
    for (std::size_t f = 0; f < sizeof...(F); ++f) k *= p;
    auto const few_bits = [](index_t i, index_t j) { return static_cast<T>((5 * i + 3 * j) % 7 - 3); };
    sg::matrix<T> const x(m, k, few_bits), factor(p, p, few_bits);
    sg::matrix<T> y(m, k);
    auto const of = [&](std::size_t) { return factor.view(); };
    auto const product = sg::product(x, sg::kronecker(of(F)...), y);
    sg::plan const plan(sg::host{threads}, product.shape());
    auto memory = plan.reserve();
    plan.run(product, memory);
    constexpr double sample = 20e-3;
    double const first = seconds(threads);
    plan.run(product, memory);
    int const times = 1 + static_cast<int>(sample / (seconds(threads) - first + 1e-9));
    std::vector<double> rounds;
    for (int r = 0; r < 11; ++r) {
        double const begin = seconds(threads);
        for (int i = 0; i < times; ++i) plan.run(product, memory);
        rounds.push_back((seconds(threads) - begin) / times);
    }
    return 1e6 * bench::median(rounds);
}

// Calls f(number, m, p, factors, threads, type) for each case.
template <class F>
void each_case(F const& f) {
    int number = 0;
    for (int const threads : {1, 2}) {
        auto const of_type = [&]<class T>(T zero) {
            f(number++, 1024, 16, std::make_index_sequence<3>(), threads, zero);
            f(number++, 1024, 64, std::make_index_sequence<2>(), threads, zero);
            f(number++, 256, 8, std::make_index_sequence<5>(), threads, zero);
            f(number++, 16, 32, std::make_index_sequence<3>(), threads, zero);
            f(number++, 1024, 4, std::make_index_sequence<6>(), threads, zero);
            f(number++, 64, 128, std::make_index_sequence<2>(), threads, zero);
        };
        of_type(0.0f), of_type(0.0);
    }
}

} // namespace

int main(int argc, char** argv) {
    int const only = argc > 1 ? std::atoi(argv[1]) : -1;
    each_case([&]<class T>(int number, index_t m, index_t p, auto factors, int threads, T) {
        if (only >= 0 && only != number) return;
        std::printf("%d %td %td %zu %s %d %.2f\n", number, m, p, factors.size(),
                    sizeof(T) == 4 ? "float32" : "float64", threads, microseconds<T>(m, p, threads, factors));
        std::fflush(stdout);
    });
}
