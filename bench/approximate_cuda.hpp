// What the parts of bench_approximate_cuda share: the device and cuBLAS, a race of calls that events time, a table of
// what it measured, and exact products that results are compared with.
#pragma once

#include "sparse.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

template <class T>
using there = sg::cuda::matrix<T>;
using device_space = sg::cuda::space;

// For calls of other libraries: what fails there costs a row, and not the program.
inline void must(int code, char const* what) {
    if (code != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(code));
}

struct cuda_desk {
    cuda_desk(sg::cuda const& on, graphs const& driver, index_t divided_by)
        : gpu(on), g(driver), divisor(divided_by) {}
    cuda_desk(cuda_desk const&) = delete;

    sg::cuda gpu;
    graphs const& g;
    cublas blas{};
    index_t divisor; // of all sides, so that the stand-in of tests/stand_in can run the checks

    bool can_time() const { return g.begin != nullptr; } // the stand-in has no graphs
    int (*copy)(void*, void const*, std::size_t,
                graphs::stream) = get<decltype(copy)>(g.driver, "cuMemcpyDtoDAsync_v2");
};

// One row of a table.
struct entry {
    std::string name;
    std::function<void()> call{}; // none: there is nothing to time
    double bytes = 0;             // that a call reads and writes, if that is the limit
    bool is_queued = true;        // false: the call waits for the device, so that no graph can hold it
    std::string refusal{};        // of the call
    double error = -1;
    std::string note{};
    // Seconds of a call in each round: in a graph if one can hold it, and of calls back to back.
    std::vector<double> seconds{}, queued{};

    double rate(std::size_t round) const { return (bytes > 0 ? bytes : 1) / seconds[round]; }
};

// Times rows in turn, round after round.
class event_race {
public:
    explicit event_race(cuda_desk const& desk) : g_(desk.g), stream_(desk.gpu.stream) {
        if (create_) check(create_(&start_, 0), "cuEventCreate"), check(create_(&stop_, 0), "cuEventCreate");
    }
    void run(std::vector<entry>& rows, int rounds = 7) const {
        std::vector<runner> all;
        for (entry& x : rows)
            if (x.call) all.push_back(prepared(x));
        for (int round = 0; round < rounds; ++round)
            for (runner& r : all) {
                auto const calls = [&] {
                    for (int i = 0; i < r.times; ++i) r.row->call();
                };
                r.row->queued.push_back(seconds(calls) / r.times);
                if (r.graph) {
                    auto const replay = [&] { check(g_.launch(r.graph, stream_), "cuGraphLaunch"); };
                    r.row->seconds.push_back(seconds(replay) / r.times);
                } else {
                    r.row->seconds.push_back(r.row->queued.back());
                }
            }
        for (runner& r : all)
            if (r.graph) check(g_.destroy(r.graph), "to free a graph");
    }

private:
    struct runner {
        entry* row;
        int times = 1;
        void* graph = nullptr;
    };

    // Between two events around what f() queues.
    template <class F>
    double seconds(F const& f) const {
        check(record_(start_, stream_), "cuEventRecord");
        f();
        check(record_(stop_, stream_), "cuEventRecord");
        check(wait_(stop_), "cuEventSynchronize");
        float milliseconds = 0;
        check(elapsed_(&milliseconds, start_, stop_), "cuEventElapsedTime");
        return double(milliseconds) * 1e-3;
    }
    runner prepared(entry& x) const {
        runner r{&x};
        x.call(); // what is allocated and compiled once
        double const one = seconds([&] { x.call(), x.call(); }) / 2;
        r.times = std::max(1, std::min(200, static_cast<int>(8e-3 / one)));
        if (x.is_queued) r.graph = capture(x, r.times);
        if (r.graph) seconds([&] { check(g_.launch(r.graph, stream_), "cuGraphLaunch"); });
        return r;
    }
    // Null: a graph cannot hold the calls.
    void* capture(entry const& x, int times) const {
        void *graph = nullptr, *ready = nullptr;
        bool whole = true;
        check(g_.begin(stream_, 2), "to begin a capture");
        try {
            for (int i = 0; i < times; ++i) x.call();
        } catch (std::exception const&) {
            whole = false;
        }
        whole = g_.end(stream_, &graph) == 0 && graph && whole;
        if (whole && g_.instantiate(&ready, graph, 0) != 0) ready = nullptr;
        if (graph) check(g_.destroy_graph(graph), "to free a graph");
        return ready;
    }

    graphs const& g_;
    graphs::stream stream_;
    void *start_ = nullptr, *stop_ = nullptr;
    int (*create_)(void**, unsigned) = get<decltype(create_)>(g_.driver, "cuEventCreate");
    int (*record_)(void*, graphs::stream) = get<decltype(record_)>(g_.driver, "cuEventRecord");
    int (*wait_)(void*) = get<decltype(wait_)>(g_.driver, "cuEventSynchronize");
    using elapsed = int (*)(float*, void*, void*);
    elapsed elapsed_ = get<elapsed>(g_.driver, "cuEventElapsedTime_v2")
                           ? get<elapsed>(g_.driver, "cuEventElapsedTime_v2")
                           : get<elapsed>(g_.driver, "cuEventElapsedTime");
};

// The median over rounds of f(round).
template <class F>
double median_of_rounds(std::size_t rounds, F const& f) {
    std::vector<double> all;
    for (std::size_t r = 0; r < rounds; ++r) all.push_back(f(r));
    return median(std::move(all));
}

// A row for each entry: microseconds of a call in a graph, or back to back where none holds it (marked by a star), and
// queued back to back; GB/s, of rows with bytes; how many times as fast as the rows `beside`, or that share of their
// bytes a second; the error; and a note.
inline void print_table(std::vector<entry> const& rows, std::vector<std::size_t> const& beside) {
    bool const in_bytes = !rows.empty() && rows[0].bytes > 0;
    std::printf("%-38s %11s %11s%s", "", "us", "queued us", in_bytes ? "     GB/s" : "");
    for (std::size_t const b : beside) std::printf("  / %-12.12s", rows[b].name.c_str());
    std::printf(" %9s\n", "error");
    for (entry const& x : rows) {
        std::printf("%-38s", x.name.c_str());
        if (x.seconds.empty()) {
            std::printf(" %11s %11s%s", "-", "-", in_bytes ? "        -" : "");
        } else {
            std::printf(" %10.1f%c %11.1f", median(x.seconds) * 1e6, x.seconds == x.queued ? '*' : ' ',
                        median(x.queued) * 1e6);
            if (in_bytes) std::printf(" %8.0f", x.bytes / median(x.seconds) * 1e-9);
        }
        for (std::size_t const b : beside)
            if (x.seconds.empty() || rows[b].seconds.empty())
                std::printf("  %14s", "-");
            else
                std::printf("  %14.3f", median_of_rounds(x.seconds.size(), [&](std::size_t r) {
                                return x.rate(r) / rows[b].rate(r);
                            }));
        if (x.error >= 0 || std::isnan(x.error))
            std::printf(" %9.1e", x.error);
        else
            std::printf(" %9s", "-");
        std::printf("%s%s\n", x.note.empty() ? "" : "  ", x.note.c_str());
        if (!x.refusal.empty()) std::printf("    refused: %s\n", x.refusal.c_str());
    }
    std::fflush(stdout);
}

// A call that does the product `p` in memory of its own.
template <class P, class Problem>
std::function<void()> planned(P const& policy, Problem const& p) {
    using plan_type = decltype(sg::plan(policy, p.shape()));
    auto const plan = std::make_shared<plan_type const>(policy, p.shape());
    auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
    return [p, plan, memory] { plan->run(p, *memory); };
}

inline void* address(there<float>& x) { return x.data().address; }
inline void* address(there<float> const& x) { return const_cast<float*>(x.data().address); }

// C = A B in row-major order by cublasGemmEx in float, which is cublasSgemm: of C^T = B^T A^T.
inline std::function<void()> by_cublas(cuda_desk const& desk, there<float> const& a, there<float> const& b,
                                       there<float>& c) {
    return [&desk, &a, &b, &c] {
        float const one = 1, zero = 0;
        int const m = static_cast<int>(c.rows()), n = static_cast<int>(c.cols()),
                  k = static_cast<int>(a.cols());
        must(desk.blas.gemm(desk.blas.handle, 0, 0, n, m, k, &one, address(b), 0, n, address(a), 0, k, &zero,
                            address(c), 0, n, 68, -1), // CUDA_R_32F, CUBLAS_COMPUTE_32F
             "cublasGemmEx");
    };
}

// Numbers from -1 to 1, the same for one seed.
inline sg::matrix<float> uniform(index_t rows, index_t cols, std::uint64_t seed) {
    sg::matrix<float> x(rows, cols);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (index_t i = 0; i < rows * cols; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x.data()[i] = static_cast<float>(state >> 40) * 0x1p-23f - 1;
    }
    return x;
}

inline double frobenius(there<float> const& x) {
    sg::matrix<float> here(x.rows(), x.cols());
    x.download(here);
    double sum = 0;
    for (index_t i = 0; i < x.size(); ++i) sum += double(here.data()[i]) * double(here.data()[i]);
    return std::sqrt(sum);
}
inline there<double> widened(sg::cuda const& gpu, sg::view<float const, device_space> const& x) {
    there<double> wide(gpu, x.rows, x.cols);
    gpu.leaf().copy(x, wide.view()).or_throw();
    return wide;
}

// A B in double, made on the device by the library's own product, which tests hold to the oracle.
class exact_product {
public:
    exact_product(sg::cuda const& gpu, there<float> const& a, there<float> const& b)
        : c_(a.rows(), b.cols()), here_(a.rows(), b.cols()), norms_(frobenius(a) * frobenius(b)) {
        there<double> const wide_a = widened(gpu, a.view()), wide_b = widened(gpu, b.view());
        there<double> c(gpu, a.rows(), b.cols());
        sg::gemm(gpu, wide_a, wide_b, c);
        c.download(c_);
    }
    // |C - A B| / |A||B| in Frobenius norms.
    double error(there<float> const& c) {
        c.download(here_);
        double sum = 0;
        for (index_t i = 0; i < c.size(); ++i) {
            double const off = double(here_.data()[i]) - c_.data()[i];
            sum += off * off;
        }
        return std::sqrt(sum) / norms_;
    }

private:
    sg::matrix<double> c_;
    sg::matrix<float> here_;
    double norms_;
};

// Rows that all write C = A B.
class product_rows {
public:
    there<float> c;
    std::vector<entry> all{};

    product_rows(cuda_desk const& desk, there<float> const& a, there<float> const& b)
        : c(desk.gpu, a.rows(), b.cols()), desk_(desk), exact_(desk.gpu, a, b) {
        add("dense", [&] { return planned(desk.gpu, sg::product(a, b, c)); });
        if (desk.blas.handle) add("cublasSgemm", [&] { return by_cublas(desk, a, b, c); });
    }
    product_rows(product_rows const&) = delete;

    // make() gives the call, which is done once to see its error.
    template <class Make>
    entry& add(std::string name, Make const& make, bool is_queued = true) {
        entry x{std::move(name)};
        x.is_queued = is_queued;
        desk_.gpu.leaf().fill(c.view(), NAN).or_throw();
        try {
            x.call = make();
            x.call();
            desk_.gpu.synchronize().or_throw();
            if (x.refusal.empty()) x.error = exact_.error(c);
        } catch (std::exception const& e) {
            x.call = nullptr, x.refusal = e.what();
        }
        all.push_back(std::move(x));
        return all.back();
    }
    // The dense product, and that of cuBLAS if it is here.
    std::vector<std::size_t> dense() const {
        return desk_.blas.handle ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0};
    }

private:
    cuda_desk const& desk_;
    exact_product exact_;
};

// Factors of a matrix with a decaying spectrum: found, kept, and those of cusolverDnXgesvdr.
void race_low_rank(cuda_desk const&, index_t n);
// Sketches from either side, and Hadamard transforms, beside copies.
void race_sketches(cuda_desk const&);
void race_hadamard(cuda_desk const&);
