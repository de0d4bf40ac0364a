// bench_choices [SEED [COUNT [THREADS]]]: what the host chooses for random shapes against every other way there is to
// multiply them: as it is or as the transpose, in blocks, by the kernels for few rows, and by each of those for small
// products, on one thread and on all. All go through the same call, in turn; the median of each counts.
#include "sweep.hpp"

#include <stratagemm/backend/host.hpp>
#include <stratagemm/gemm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

namespace sg = stratagemm;
using sg::index_t;

struct way {
    enum kind { chosen, blocks, rows, tiles, narrow, dots } what = chosen;
    bool turned = false;
    int threads = 1;

    std::string name() const {
        constexpr char const* names[] = {"host",  "blocks",       "few rows",
                                         "tiles", "narrow tiles", "dot products"};
        return std::string(names[what]) + (turned ? ", turned" : "") +
               (threads > 1 ? ", " + std::to_string(threads) + " threads" : "");
    }
};

// The host, told what to do.
template <class T>
struct told : sg::host {
    way how;
    using packing = sg::real_packing<T, T>;
    using job_type = sg::host_job<T, packing>;

    told(way w, int most) : sg::host{.threads = most}, how(w) {}

    // The kernel that the host found before is not the one that is asked for.
    template <class... X>
    bool again(X const&... x) const {
        return how.what == way::chosen && sg::host::again(x...);
    }

    template <class P>
    bool try_small(P const& p) const {
        if (how.what == way::chosen) return sg::host::try_small(p);
        if (how.what == way::blocks || how.what == way::rows) return through_job(p);
        return through_kernel(p);
    }

private:
    template <class P>
    static void write_turned(void const* problem, bool, T const* sum, index_t sum_row, index_t i, index_t j,
                             index_t rows, index_t cols) {
        auto const& c = static_cast<P const*>(problem)->c;
        sg::gather(packing::kernels(), c.data + j * c.row_stride + i, c.row_stride, sum, 1, sum_row, cols,
                   rows);
    }

    template <class P>
    bool through_job(P const& p) const {
        job_type job;
        job.a = how.turned ? sg::transposed(p.b) : p.a, job.b = how.turned ? sg::transposed(p.a) : p.b;
        job.alpha = p.alpha, job.invariant = false;
        if (how.turned && p.c.cols > 1)
            job.write = write_turned<P>, job.problem = &p;
        else
            job.c = p.c.data, job.c_row = how.turned ? p.c.rows : p.c.row_stride;
        sg::host_way const by = how.what == way::rows ? sg::way_of(job) : sg::host_way::blocks;
        if (how.what == way::rows && by == sg::host_way::blocks) return false;
        auto const need =
            sg::multiply_bytes<packing>(job.rows(), job.cols(), job.depth(), how.threads) + 4096;
        auto memory = sg::reserve_host({need}, "choices");
        if (!memory) return false;
        sg::multiply(job, how.threads, *memory, by);
        return true;
    }

    // On one thread. A transpose is summed in a buffer.
    template <class P>
    bool through_kernel(P const& p) const {
        auto const& table = packing::kernels();
        auto const a = how.turned ? sg::transposed(p.b) : p.a;
        auto const b = how.turned ? sg::transposed(p.a) : p.b;
        bool const buffered = how.turned && p.c.cols > 1;
        sg::block_args<T> g{};
        g.m = a.rows, g.n = b.cols, g.k = a.cols, g.alpha = T(1), g.beta = T(0);
        constexpr index_t room = 8192;
        alignas(64) T sums[room];
        if (buffered && g.m * g.n > room) return false;
        g.a = a.data, g.a_row = a.row_stride, g.a_col = a.col_stride;
        g.b = b.data, g.b_row = b.row_stride;
        g.c = buffered ? sums : p.c.data, g.c_row = buffered ? g.n : how.turned ? g.n : p.c.row_stride;
        bool const across = b.row_stride == 1 && b.col_stride != 1;
        if (how.what == way::tiles) {
            g.b_strip = table.strip;
            if (!sg::multiply_small_pieces(g, b.col_stride)) return false;
        } else if (how.what == way::narrow) {
            if (!table.small || across || g.k > sg::block_sizes<T>::k) return false;
            table.small(g);
        } else {
            if (!table.dot_products || !across || g.k <= 1 || g.a_col != 1) return false;
            sg::multiply_by_dots(g, b.col_stride, std::min(g.m, g.n));
        }
        if (buffered) sg::gather(table, p.c.data, p.c.row_stride, sums, 1, g.n, g.n, g.m);
        return true;
    }
};

using bench::median;

struct found {
    std::string label, chosen_is;
    double ratio = 1, seconds = 0; // chosen / best
};

template <class T>
found try_all(bench::problem const& p, int threads) {
    std::vector<T> a(std::size_t(p.m * p.k)), b(std::size_t(p.k * p.n)), c(std::size_t(p.m * p.n));
    std::minstd_rand random{1};
    for (auto* const v : {&a, &b})
        for (T& x : *v) x = static_cast<T>(int(random() % 17) - 8);
    sg::view<T const> const va{a.data(), p.m, p.k, p.a_transposed ? 1 : p.k, p.a_transposed ? p.m : 1},
        vb{b.data(), p.k, p.n, p.b_transposed ? 1 : p.n, p.b_transposed ? p.k : 1};
    sg::view<T> const vc{c.data(), p.m, p.n, p.n, 1};
    auto const problem = sg::product(va, vb, vc);

    std::vector<told<T>> all{{way{way::chosen, false, 1}, threads}};
    for (bool const turned : {false, true}) {
        for (auto const kind : {way::tiles, way::narrow, way::dots})
            all.push_back({way{kind, turned, 1}, threads});
        for (auto const kind : {way::blocks, way::rows})
            for (int t = 1; t <= threads; t *= 2) all.push_back({way{kind, turned, t}, threads});
    }
    sg::gemm(all[0], va, vb, vc);
    std::vector<T> const expected = c;
    std::erase_if(all, [&](told<T> const& x) {
        std::fill(c.begin(), c.end(), T(-1));
        if (x.how.what != way::chosen && !x.try_small(problem)) return true;
        if (x.how.what == way::chosen || c == expected) return false; // small whole numbers: sums are exact
        std::printf("wrong: %s\n", x.how.name().c_str());
        return true;
    });

    long repeats = 1;
    auto const time = [&](told<T> const& x) {
        sg::gemm(x, va, vb, vc);
        auto const start = std::chrono::steady_clock::now();
        for (long r = 0; r < repeats; ++r) sg::gemm(x, va, vb, vc);
        return bench::seconds_since(start) / double(repeats);
    };
    std::vector<std::vector<double>> times(all.size());
    double spent = 0;
    for (int round = 0; round < 41 && (round < 4 || spent < 0.01 * double(all.size())); ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::size_t const x = round % 2 ? all.size() - 1 - i : i;
            double const t = time(all[x]);
            if (round > 0) times[x].push_back(t), spent += t * double(repeats);
            if (round == 0 && x == 0) repeats = std::clamp(long(40e-6 / std::max(t, 1e-8)), 1L, 400L);
        }
    // The least of many medians is less than it is again: the best meets the chosen once more.
    std::size_t best = 0;
    for (std::size_t i = 1; i < all.size(); ++i)
        if (median(times[i]) < median(times[best])) best = i;
    std::vector<double> ratios;
    for (int round = 0; best > 0 && round < 15; ++round) {
        double seconds[2];
        for (int i : {round % 2, 1 - round % 2}) seconds[i] = time(all[i ? best : 0]);
        ratios.push_back(seconds[0] / seconds[1]);
    }
    found f{"", all[best].how.name(), 1, median(times[0])};
    if (best > 0) f.ratio = std::max(1.0, median(ratios));
    return f;
}

} // namespace

int main(int argc, char** argv) {
    auto const number = [&](int i, int usual) { return argc > i ? std::atoi(argv[i]) : usual; };
    unsigned const seed = unsigned(number(1, 1));
    int const count = number(2, 100), threads = number(3, 1);
    using bench::element;
    std::vector<found> all[2];
    for (auto const& c : bench::random_cases(
             seed, count, {.longest = 3000, .types = {element::f32, element::f64}, .turns_a = true})) {
        bool const is_float = c.p.type == element::f32;
        found f = is_float ? try_all<float>(c.p, threads) : try_all<double>(c.p, threads);
        f.label = c.label;
        all[!is_float].push_back(f);
    }
    for (int type = 0; type < 2; ++type) {
        double logs = 0;
        for (found const& f : all[type]) logs += std::log(f.ratio);
        std::sort(all[type].begin(), all[type].end(),
                  [](auto const& x, auto const& y) { return x.ratio > y.ratio; });
        std::printf("%s, %d threads: chosen / best, geometric mean %.3f of %zu; tenth worst %.2f\n",
                    type ? "double" : "float", threads, std::exp(logs / double(all[type].size())),
                    all[type].size(), all[type][all[type].size() / 10].ratio);
        for (std::size_t i = 0; i < std::min<std::size_t>(all[type].size(), 20); ++i)
            std::printf("  %6.2f  %-20s %9.2f us  best: %s\n", all[type][i].ratio, all[type][i].label.c_str(),
                        all[type][i].seconds * 1e6, all[type][i].chosen_is.c_str());
    }
}
