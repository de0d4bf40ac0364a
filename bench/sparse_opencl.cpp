// Sparse matrices whose rows differ (sparse_kinds.hpp), times dense ones, by OpenCL.
//
//   bench_sparse_opencl [FILTER]     a regular expression for names such as 'graph 2.1, scattered N 32 float'
//
// No library of sparse products for OpenCL is packaged. The times are compared with the least that memory allows, and
// with the CUDA backend, if the program has it and the device is NVIDIA's. "plain" is gemm with the matrix as it is,
// "rows" and "merged" are the two kernels that it chooses from. The least: the bytes of A, of the rows of B that A can
// name, and of C, at the rate of a copy of 128 MiB. Times are those of the host's clock until the queue is empty, over
// calls that are queued one after another, on either backend; medians of the rounds.
//
// Elements of C are compared with sums in double precision: some in each of the rows that are tested, and all columns
// over the rows. Every way runs twice there, and has to give the same bits. The exit status is 1 if one is wrong, and
// 77 if there is no device.
#include "median.hpp"
#include "sparse_kinds.hpp"

#include <stratagemm/backend/opencl.hpp>
#ifdef STRATAGEMM_BENCH_CUDA
#    include <stratagemm/backend/cuda.hpp>
#endif
#include <stratagemm/structure/csr.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace {

using bench::kind_of_matrix;
using bench::median;
using sg::index_t;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct way {
    std::string name;
    std::function<void(int)> run;                        // so many times, until the queue is empty
    std::function<void(index_t row, void* to)> download; // a row of C
    std::vector<double> seconds{};
};

// Seconds of a call in samples of some milliseconds; ways take turns.
void race(std::vector<way>& ways) {
    std::vector<int> repeats;
    for (way& w : ways) {
        w.run(2);
        double const begin = now();
        w.run(3);
        repeats.push_back(std::clamp(static_cast<int>(4e-3 / ((now() - begin) / 3)), 1, 200));
    }
    for (int round = 0; round < 3; ++round)
        for (std::size_t i = 0; i < ways.size(); ++i) {
            double const begin = now();
            ways[i].run(repeats[i]);
            ways[i].seconds.push_back((now() - begin) / repeats[i]);
        }
}

// Element i of B, counted along its rows.
constexpr index_t period = index_t{1} << 20;
template <class T>
T element_of_b(index_t i) {
    i %= period;
    return static_cast<T>((i * 7 + i / 31) % 17 - 8) / T(8);
}

// B, C and a matrix A on a device of backend P.
template <class P, class T>
class operands {
    using space = typename P::space;
    using matrix_a = sg::csr<T, std::int32_t, space>;
    template <class U>
    using view = sg::view<U, space>;

public:
    operands(P const& gpu, index_t longest) : gpu_(gpu), b_(gpu, 1, longest), c_(gpu, 1, longest) {
        std::vector<T> pattern(static_cast<std::size_t>(std::min(period, longest)));
        for (std::size_t i = 0; i < pattern.size(); ++i)
            pattern[i] = element_of_b<T>(static_cast<index_t>(i));
        auto const size = static_cast<index_t>(pattern.size());
        gpu_.leaf().upload(pattern.data(), b_.data(), size).or_throw();
        for (index_t there = size; there < longest; there *= 2) {
            index_t const more = std::min(there, longest - there);
            gpu_.leaf()
                .copy(view<T const>{b_.data(), 1, more, more, 1},
                      view<T>{b_.data() + there, 1, more, more, 1})
                .or_throw();
        }
    }
    void take(bench::host_csr const& a) {
        auto const nonzeros = static_cast<index_t>(a.values.size());
        begins_.emplace(gpu_, 1, a.rows + 1), columns_.emplace(gpu_, 1, nonzeros),
            values_.emplace(gpu_, 1, nonzeros);
        begins_->upload(sg::row_major(a.begins.data(), 1, a.rows + 1));
        columns_->upload(sg::row_major(a.columns.data(), 1, nonzeros));
        std::vector<T> const numbers(a.values.begin(), a.values.end());
        values_->upload(sg::row_major(numbers.data(), 1, nonzeros));
        a_ = {a.rows, a.cols, begins_->data(), columns_->data(), values_->data(), nonzeros};
    }
    // The plain call, under this name, and with `kernels` those that it chooses from. Returns what the plan says.
    std::string add_ways(std::vector<way>& ways, std::string const& name, index_t n, bool kernels) {
        auto const p =
            sg::product(a_, view<T const>{b_.data(), a_.cols, n, n, 1}, view<T>{c_.data(), a_.rows, n, n, 1});
        sg::plan const plan(gpu_, p.shape());
        auto const workspace = std::make_shared<typename P::arena>(plan.reserve());
        add(ways, name, n, [plan, p, workspace] { return plan.try_run(p, *workspace); });
        if (!kernels) return plan.describe();
        auto const work = sg::choose_csr_merged<T>(a_.rows, n, a_.nonzeros, sg::vector_of(p.b));
        auto const memory =
            *sg::reserve_for(gpu_, static_cast<std::size_t>((a_.rows + a_.nonzeros) / 16 + 9) *
                                       (4 + sizeof(T) * static_cast<std::size_t>(n)));
        add(ways, "rows", n,
            [this, p, memory] { return sg::multiply_csr_rows(gpu_.leaf(), p, sg::only_listed(), *memory); });
        add(ways, "merged", n, [this, p, memory, work] {
            return sg::multiply_csr_merged(gpu_.leaf(), p, work, sg::vector_of(p.c), *memory);
        });
        return plan.describe();
    }

private:
    template <class F>
    auto repeated(F call) const {
        return [this, call](int times) {
            for (int t = 0; t < times; ++t) call().or_throw();
            gpu_.synchronize().or_throw();
        };
    }
    template <class F>
    void add(std::vector<way>& ways, std::string const& name, index_t n, F call) {
        ways.push_back({name, repeated(std::move(call)), [this, n](index_t row, void* to) {
                            gpu_.leaf().download(c_.data() + row * n, static_cast<T*>(to), n).or_throw();
                        }});
    }

    P gpu_;
    sg::device_matrix<T, P> b_, c_;
    std::optional<sg::device_matrix<std::int32_t, P>> begins_{}, columns_{};
    std::optional<sg::device_matrix<T, P>> values_{};
    matrix_a a_{};
};

// Sums in double precision of some elements of C, which the ways are compared with.
template <class T>
class samples {
public:
    samples(bench::host_csr const& a, index_t n) : n_(n) {
        auto const length = [&](index_t i) {
            return a.begins[static_cast<std::size_t>(i) + 1] - a.begins[static_cast<std::size_t>(i)];
        };
        index_t longest = 0;
        for (index_t i = 0; i < a.rows; ++i)
            if (length(i) > length(longest)) longest = i;
        add(a, longest);
        index_t const count = std::min<index_t>(a.rows, 256);
        for (index_t i = 0; i < count; ++i) add(a, i * (a.rows - 1) / std::max<index_t>(count - 1, 1));
    }
    // Whether a way gives these, and the same bits in two calls.
    bool agrees(way const& w) const {
        std::vector<std::vector<T>> runs;
        for (int run = 0; run < 2; ++run) {
            w.run(1);
            runs.emplace_back();
            std::vector<T> row(static_cast<std::size_t>(n_));
            index_t last = -1;
            for (sample const& x : all_) {
                if (x.row != last) w.download(last = x.row, row.data());
                T const found = row[static_cast<std::size_t>(x.col)];
                if (!(std::abs(static_cast<double>(found) - x.value) <= x.most)) return false;
                runs.back().push_back(found);
            }
        }
        return runs[0] == runs[1];
    }

private:
    struct sample {
        index_t row, col;
        double value, most; // the largest error
    };
    // Eight columns of a row, others in the next row.
    void add(bench::host_csr const& a, index_t row) {
        index_t const columns = std::min<index_t>(n_, 8);
        for (index_t s = 0; s < columns; ++s) {
            index_t const col = (n_ * s / columns + row) % n_;
            double sum = 0, sizes = 0;
            auto const begin = static_cast<std::size_t>(a.begins[static_cast<std::size_t>(row)]),
                       end = static_cast<std::size_t>(a.begins[static_cast<std::size_t>(row) + 1]);
            for (std::size_t at = begin; at < end; ++at) {
                double const x = static_cast<double>(a.values[at]) *
                                 static_cast<double>(element_of_b<T>(a.columns[at] * n_ + col));
                sum += x, sizes += std::abs(x);
            }
            double const roundings = static_cast<double>(end - begin + 2);
            all_.push_back({row, col, sum, roundings * std::numeric_limits<T>::epsilon() * sizes});
        }
    }

    index_t n_;
    std::vector<sample> all_{};
};

// The bytes that a copy of 128 MiB moves in a second, read and written.
double rate_of_copy(sg::opencl const& gpu) {
    constexpr index_t count = index_t{1} << 25;
    sg::opencl::matrix<float> from(gpu, 1, count), to(gpu, 1, count);
    auto const copy = [&](int times) {
        for (int t = 0; t < times; ++t)
            if (clEnqueueCopyBuffer(gpu.queue(), from.data().buffer, to.data().buffer, 0, 0,
                                    count * sizeof(float), 0, nullptr, nullptr) != CL_SUCCESS)
                throw std::runtime_error("clEnqueueCopyBuffer failed");
        gpu.synchronize().or_throw();
    };
    std::vector<way> ways{{"copy", copy, {}}};
    race(ways);
    return 2.0 * count * sizeof(float) / median(ways[0].seconds);
}

struct ratio {
    index_t n;
    double value;
};
double mean(std::vector<ratio> const& all, index_t n) {
    double sum = 0, count = 0;
    for (ratio const& x : all)
        if (n == 0 || x.n == n) sum += std::log(x.value), ++count;
    return count > 0 ? std::exp(sum / count) : 0;
}
constexpr index_t widths[] = {1, 4, 16, 32, 100, 256};

// One type.
template <class T>
class bench_of {
    static constexpr char const* letter = sizeof(T) == 8 ? "double" : "float";

public:
    bench_of(sg::opencl const& gpu, index_t longest, double rate, std::string const& filter)
        : there_(gpu, longest), filter_(filter), rate_(rate) {
#ifdef STRATAGEMM_BENCH_CUDA
        if (sg::cuda const cuda; gpu.where().name.find("NVIDIA") == 0 && cuda.ready())
            cuda_.emplace(cuda, longest);
#endif
    }
    // Whether all is right.
    bool run(kind_of_matrix const& s) {
        bool right = true, taken = false;
        for (index_t const n : widths) {
            if (!std::regex_search(s.name + " N " + std::to_string(n) + ' ' + letter, filter_)) continue;
            if (!taken) take(s.a), taken = true;
            right = run(s, n) && right;
        }
        return right;
    }
    void report() const {
        for (auto const& [name, all] : ratios_) {
            double least = 1e9;
            for (ratio const& x : all) least = std::min(least, x.value);
            std::printf("%s %s: geometric mean %.2f, worst %.2f; by N", letter, name.c_str(), mean(all, 0),
                        least);
            for (index_t const n : widths)
                if (mean(all, n) > 0) std::printf("  %td: %.2f", n, mean(all, n));
            std::printf("\n");
        }
    }

private:
    void take(bench::host_csr const& a) {
        there_.take(a);
#ifdef STRATAGEMM_BENCH_CUDA
        if (cuda_) cuda_->take(a);
#endif
    }
    // The least seconds of a product.
    double least(bench::host_csr const& a, index_t n) const {
        auto const nonzeros = static_cast<double>(a.values.size()), rows = static_cast<double>(a.rows);
        double const of_a = nonzeros * (sizeof(T) + 4) + rows * 4,
                     rows_of_b = std::min(nonzeros, static_cast<double>(a.cols));
        return (of_a + (rows_of_b + rows) * static_cast<double>(n) * sizeof(T)) / rate_;
    }
    bool run(kind_of_matrix const& s, index_t n) {
        std::vector<way> ways;
        std::string const about = there_.add_ways(ways, "plain", n, true);
#ifdef STRATAGEMM_BENCH_CUDA
        if (cuda_) cuda_->add_ways(ways, "CUDA", n, false);
#endif
        samples<T> const expected(s.a, n);
        std::string wrong;
        for (way const& w : ways)
            if (!expected.agrees(w)) wrong += " WRONG: " + w.name;
        race(ways);
        double const floor = least(s.a, n);
        std::printf("%-22s %-6s N %3td%s  least %.1f", s.name.c_str(), letter, n, wrong.c_str(), floor * 1e6);
        for (way const& w : ways) {
            double const seconds = median(w.seconds), of_least = floor / seconds;
            std::printf("  %s %.1f (%.2f)", w.name.c_str(), seconds * 1e6, of_least);
            if (s.counts) ratios_["least over " + w.name].push_back({n, of_least});
            if (s.counts && w.name == "CUDA")
                ratios_["CUDA over plain"].push_back({n, seconds / median(ways[0].seconds)});
        }
        std::printf("  %s\n", about.c_str());
        std::fflush(stdout);
        return wrong.empty();
    }

    operands<sg::opencl, T> there_;
#ifdef STRATAGEMM_BENCH_CUDA
    std::optional<operands<sg::cuda, T>> cuda_{};
#endif
    std::regex filter_;
    double rate_; // of a copy
    std::map<std::string, std::vector<ratio>> ratios_{};
};

} // namespace

int main(int argc, char** argv) {
    sg::opencl const gpu;
    if (sg::status const s = gpu.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    std::printf("%s, driver %s\n", gpu.where().name.c_str(), gpu.where().driver.c_str());
    bool const is_cpu = gpu.where().type & CL_DEVICE_TYPE_CPU;
    auto const kinds = bench::make_kinds(index_t{1} << (is_cpu ? 12 : 18));
    index_t longest = 0;
    for (kind_of_matrix const& s : kinds) longest = std::max({longest, s.a.rows * 256, s.a.cols * 256});
    std::printf("graphs: us a call, and in brackets the least that memory allows over it\n");
    double const rate = rate_of_copy(gpu);
    std::printf("a copy moves %.0f GB/s\n", rate * 1e-9);
    bool right = true;
    auto const of_type = [&]<class T>(T) {
        bench_of<T> bench(gpu, longest, rate, argc > 1 ? argv[1] : "");
        for (kind_of_matrix const& s : kinds) right = bench.run(s) && right;
        bench.report();
    };
    of_type(0.0f);
    if (gpu.where().has_double) of_type(0.0);
    return !right;
}
