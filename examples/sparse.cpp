// A sparse matrix times a dense one, beside the dense product, and sparse times sparse.
//
//   sparse [FILE.mtx | SIDE [COLUMNS]]     a file of Matrix Market, or a random matrix with 1% of its elements
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/sparse.cpp -o sparse
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/matrix_market.hpp>
#include <stratagemm/structure/sampled.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

// The least of three runs, in milliseconds.
template <class F>
double time_of(F&& f) {
    double least = 1e300;
    for (int run = 0; run < 3; ++run) {
        auto const begin = std::chrono::steady_clock::now();
        f();
        double const passed =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (passed < least) least = passed;
    }
    return least;
}

// Elements in any order, one of a hundred; to_csr sorts them.
sg::csr_matrix<float, std::int32_t, sg::host> random_matrix(index_t side) {
    std::vector<std::int32_t> rows, columns;
    std::vector<float> values;
    std::uint64_t state = 1;
    auto const below = [&](index_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::int32_t>(state >> 33) % static_cast<std::int32_t>(n);
    };
    for (index_t element = 0; element < side * side / 100; ++element) {
        rows.push_back(below(side)), columns.push_back(below(side));
        values.push_back(static_cast<float>(below(1000)) / 1000);
    }
    auto const size = static_cast<index_t>(values.size());
    return sg::to_csr(sg::host{},
                      sg::coo<float>{side, side, rows.data(), columns.data(), values.data(), size});
}

int main(int argc, char** argv) try {
    bool const is_file = argc > 1 && std::string(argv[1]).find(".mtx") != std::string::npos;
    index_t const side = argc > 1 && !is_file ? std::atol(argv[1]) : 2000,
                  cols = argc > 2 ? std::atol(argv[2]) : 64;
    if (side < 1 || side > 1 << 20 || cols < 1) {
        std::fprintf(stderr, "usage: sparse [FILE.mtx | SIDE [COLUMNS]]\n");
        return 2;
    }
    sg::host const cpu;
    auto const a = is_file ? sg::read_matrix_market<float>(argv[1]) : random_matrix(side);
    a.view().check().or_throw();
    double const all = static_cast<double>(a.rows()) * static_cast<double>(a.cols());
    std::printf("A is %td x %td with %td non-zeros, %.2g%%\n", a.rows(), a.cols(), a.view().nonzeros,
                100 * static_cast<double>(a.view().nonzeros) / all);

    sg::matrix<float> const b(a.cols(), cols,
                              [](index_t i, index_t j) { return static_cast<float>((i + 3 * j) % 7); });
    sg::matrix<float> c(a.rows(), cols), expected(a.rows(), cols);
    double const sparse = time_of([&] { sg::gemm(cpu, a, b, c); });
    std::printf("A B, %td columns: %.3f ms\n", cols, sparse);
    sg::matrix<float> back(a.cols(), cols);
    double const turned = time_of([&] { sg::gemm(cpu, a.view().transposed(), c, back); });
    std::printf("A^T C: %.3f ms\n", turned);
    if (all > 1e9) return 0; // too large to be dense

    sg::matrix<float> dense(a.rows(), a.cols());
    sg::to_dense(cpu, a, dense);
    double const full = time_of([&] { sg::gemm(cpu, dense, b, expected); });
    std::printf("dense: %.3f ms, %.1f times as long\n", full, full / sparse);
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < cols; ++j)
            if (std::abs(c(i, j) - expected(i, j)) > 1e-3f * (1 + std::abs(expected(i, j))))
                return std::printf("wrong\n"), 1;
    if (a.rows() == a.cols()) {
        auto square = sg::pattern(cpu, a, a);
        double const time = time_of([&] { sg::gemm(cpu, a, a, sg::sampled(square)); });
        std::printf("A A, sparse: %td non-zeros, %.3f ms\n", square.view().nonzeros, time);
    }
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
