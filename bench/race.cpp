#include "race.hpp"
#include "peaks.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <random>
#include <thread>

namespace bench {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

struct release {
    void operator()(void* p) const { std::free(p); }
};
using buffer = std::unique_ptr<void, release>;

buffer allocate(long bytes) {
    void* const p = std::aligned_alloc(64, std::size_t(bytes / 64 + 2) * 64);
    if (!p) throw std::bad_alloc();
    return buffer(p);
}

double load(element e, void const* p, long i) {
    switch (e) {
    case element::f32: return static_cast<float const*>(p)[i];
    case element::f64: return static_cast<double const*>(p)[i];
    case element::i8: return static_cast<std::int8_t const*>(p)[i];
    case element::bf16: {
        std::uint32_t const bits = std::uint32_t(static_cast<std::uint16_t const*>(p)[i]) << 16;
        float f;
        std::memcpy(&f, &bits, 4);
        return f;
    }
    }
    return 0;
}

double load_result(element e, void const* p, long i) {
    if (e == element::i8) return static_cast<std::int32_t const*>(p)[i];
    return load(e == element::f64 ? e : element::f32, p, i);
}

void fill(element e, void* p, long n, std::uint64_t seed) {
    std::minstd_rand random{unsigned(seed)};
    for (long i = 0; i < n; ++i) {
        double const u = double(random()) * (2.0 / 2147483647) - 1;
        float const f = float(u);
        if (e == element::f32) static_cast<float*>(p)[i] = f;
        if (e == element::f64) static_cast<double*>(p)[i] = u;
        if (e == element::bf16)
            std::memcpy(static_cast<std::uint16_t*>(p) + i, reinterpret_cast<char const*>(&f) + 2, 2);
        if (e == element::i8) static_cast<std::int8_t*>(p)[i] = std::int8_t(std::lround(u * 127));
    }
}

// y += M x for the i-th matrix of a batch, M rows x cols, perhaps stored transposed.
void multiply(element e, void const* matrix, long first, long rows, long cols, bool transposed,
              double const* x, double* y) {
    if (transposed)
        for (long j = 0; j < cols; ++j)
            for (long i = 0; i < rows; ++i) y[i] += load(e, matrix, first + j * rows + i) * x[j];
    else
        for (long i = 0; i < rows; ++i)
            for (long j = 0; j < cols; ++j) y[i] += load(e, matrix, first + i * cols + j) * x[j];
}

} // namespace

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

// The operands, and the answer to check against: C x = A (B x) for a random vector of signs (Freivalds), which costs
// next to nothing and needs no contender to be trusted.
struct race::workspace {
    buffer a, b, c;
    std::vector<double> signs, expected;

    explicit workspace(problem const& p)
        : a(allocate(p.count * p.m * p.k * size_of(p.type))),
          b(allocate(p.count * p.k * p.n * size_of(p.type))),
          c(allocate(p.count * p.m * p.n * size_of_result(p.type))), signs(std::size_t(p.n)),
          expected(std::size_t(p.count * p.m)) {
        fill(p.type, a.get(), p.count * p.m * p.k, 1);
        fill(p.type, b.get(), p.count * p.k * p.n, 2);
        std::minstd_rand random{3};
        for (double& s : signs) s = random() % 64 < 32 ? -1 : 1;
        std::vector<double> bx(std::size_t(p.k));
        for (long i = 0; i < p.count; ++i) {
            std::fill(bx.begin(), bx.end(), 0);
            multiply(p.type, b.get(), i * p.k * p.n, p.k, p.n, p.b_transposed, signs.data(), bx.data());
            multiply(p.type, a.get(), i * p.m * p.k, p.m, p.k, p.a_transposed, bx.data(),
                     expected.data() + i * p.m);
        }
    }

    operands view() const { return {a.get(), b.get(), c.get()}; }

    void poison(problem const& p) {
        std::memset(c.get(), 0xff, std::size_t(p.count * p.m * p.n * size_of_result(p.type)));
    }

    bool correct(problem const& p) const {
        double const ulp = p.type == element::i8 ? 0 : p.type == element::f64 ? 0x1p-53 : 0x1p-24;
        double const tolerance = 8 * ulp * double(p.k + 4) * std::sqrt(double(p.n));
        long at = 0;
        for (double const right : expected) {
            double sum = 0;
            for (double const sign : signs) sum += load_result(p.type, c.get(), at++) * sign;
            if (!(std::abs(sum - right) <= tolerance)) return false; // NaN is wrong too
        }
        return true;
    }
};

race::race(problem p, limit l, std::vector<contender*> const& all, double sample_seconds)
    : problem_(p), limit_(l), sample_seconds_(sample_seconds) {
    for (contender* c : all)
        if (c->takes(p)) {
            contenders_.push_back(c);
            lanes_.push_back({c->name(), c->part(), {}, c->workspace(p)});
        }
    seconds_.resize(contenders_.size());
}

race::~race() = default;

void race::round() {
    if (!workspace_) {
        workspace_ = std::make_unique<workspace>(problem_);
        first_run();
    }
    roof_.push_back(roof_now());
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
        lane& l = lanes_[i];
        bool const once = l.part == role::information && !l.gflops.empty();
        l.gflops.push_back(once ? l.gflops.front() : sample(i));
    }
}

// Checks each contender's result and drops those that fail: a wrong call is worse than none.
void race::first_run() {
    operands const x = workspace_->view();
    for (std::size_t i = 0; i < contenders_.size();) {
        workspace_->poison(problem_);
        std::string why = "wrong result";
        try {
            contenders_[i]->prepare(problem_, x);
            auto const start = clock::now();
            contenders_[i]->run(problem_, x);
            seconds_[i] = seconds_since(start);
            if (workspace_->correct(problem_)) why.clear();
        } catch (std::exception const& e) {
            why = e.what();
        }
        if (why.empty()) {
            ++i;
            continue;
        }
        wrong_.push_back(lanes_[i].name + ": " + why);
        contenders_.erase(contenders_.begin() + long(i));
        lanes_.erase(lanes_.begin() + long(i));
        seconds_.erase(seconds_.begin() + long(i));
    }
}

double race::sample(std::size_t i) {
    operands const x = workspace_->view();
    // Thread pools spin for a while after their work (OpenBLAS's for some 25 ms) and would slow the next contender.
    if (problem_.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    contenders_[i]->prepare(problem_, x);

    // Untimed: wake the threads, fill the caches, reach the clock of this instruction mix. A product of many
    // milliseconds does so by itself.
    auto start = clock::now();
    for (double t = 0; t < sample_seconds_ / 5 && seconds_[i] < sample_seconds_; t = seconds_since(start)) {
        contenders_[i]->run(problem_, x);
        seconds_[i] = std::min(seconds_[i], seconds_since(start) - t);
    }

    // In chunks, so that a first run that was slow does not cut the sample short.
    long const at_once = std::max(1L, long(sample_seconds_ / 4 / seconds_[i]));
    long runs = 0;
    double elapsed = 0;
    start = clock::now();
    while (elapsed < sample_seconds_) {
        for (long j = 0; j < at_once; ++j) contenders_[i]->run(problem_, x);
        runs += at_once;
        elapsed = seconds_since(start);
    }
    seconds_[i] = std::min(seconds_[i], elapsed / double(runs));
    return problem_.flops() * double(runs) / elapsed * 1e-9;
}

double race::roof_now() const {
    double const arithmetic = arithmetic_peak(problem_.type, problem_.threads);
    if (limit_ == limit::arithmetic) return arithmetic;
    double const gigabytes = read_bandwidth(problem_.threads, problem_.bytes());
    return std::min(arithmetic, gigabytes * problem_.flops() / problem_.bytes());
}

} // namespace bench
