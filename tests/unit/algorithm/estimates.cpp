// Every policy over the host: its estimate, and that the same call gives the same bits while the machine's load
// changes.
#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/quantized.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/stratagemm.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

namespace sg = stratagemm;
using support::fractions;
using support::same_bits;

namespace {

// Another thread that is busy for some milliseconds, rests as long, and so on.
class wavering_load {
public:
    wavering_load()
        : thread_([this] {
              while (!done_) {
                  auto const start = std::chrono::steady_clock::now();
                  while (!done_ && std::chrono::steady_clock::now() - start < std::chrono::milliseconds(3)) {
                  }
                  std::this_thread::sleep_for(std::chrono::milliseconds(3));
              }
          }) {}
    ~wavering_load() {
        done_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> done_{false};
    std::thread thread_;
};

// f(name, policy, right operand) for each; products are of b.
template <class F>
void each_policy(sg::matrix<float> const& b, F const& f) {
    sg::host const cpu{.threads = 2};
    auto const plain = [&](char const* name, auto const& policy) { f(name, policy, b); };
    plain("reference", sg::reference{});
    plain("host", cpu);
    plain("recursive", sg::recursive{cpu, {.leaf_bytes = 3000}});
    plain("strassen", sg::strassen{cpu, {.levels = 2}});
    plain("ozaki", sg::ozaki{cpu});
    plain("ozaki where native never wins", sg::ozaki{eager{cpu}});
    plain("split", sg::split{cpu});
    plain("split where native never wins", sg::split{eager{cpu}});
    plain("ozaki over split", sg::ozaki{sg::split{cpu}});
    sg::ozaki const seven{cpu, {.moduli = 7}};
    f("quantized", seven, sg::keep(seven, b));
}

} // namespace

TEST_CASE("the same call gives the same bits a thousand times, whatever else the machine does", "[trials]") {
    sg::index_t const n = 24;
    auto const a = fractions<float>(n, n, 1), b = fractions<float>(n, n, 2);
    wavering_load const load;
    each_policy(b, [&](char const* name, auto const& policy, [[maybe_unused]] auto const& right) {
        sg::matrix<float> first(n, n), c(n, n);
        sg::gemm(policy, a, right, first);
        int different = 0;
        for (int x = 1; x < 1000; ++x) {
            sg::gemm(policy, a, right, c);
            different += !same_bits(c, first);
        }
        CAPTURE(name);
        CHECK(different == 0);
    });
}

TEST_CASE("an estimate is positive, the same each time, and grows with the product") {
    auto const b = fractions<float>(64, 64, 2);
    wavering_load const load;
    each_policy(b, [&](char const* name, auto const& policy, [[maybe_unused]] auto const& right) {
        CAPTURE(name);
        double before = 0;
        for (sg::index_t k : {1, 16, 64, 256, 1024, 4096, 16384}) {
            sg::shape<float> const s{300, 200, k};
            double const seconds = policy.estimate(s);
            CHECK(seconds > before);
            for (int x = 0; x < 20; ++x) CHECK(policy.estimate(s) == seconds);
            CHECK(sg::plan(policy, s).estimate() == seconds);
            sg::shape<float> const twice{300, 200, k, 2};
            CHECK(policy.estimate(twice) > seconds);
            before = seconds;
        }
    });
}

TEST_CASE("what layers choose does not depend on the number of threads") {
    for (sg::index_t n : {8, 64, 200, 512, 2000, 10000})
        for (int threads : {2, 7, 64}) {
            sg::host const one{.threads = 1}, many{.threads = threads};
            sg::shape<double> const d{n, n, n};
            sg::shape<float> const f{n, n, n};
            CAPTURE(n, threads);
            CHECK((sg::ozaki{one}.estimate(d) == one.estimate(d)) ==
                  (sg::ozaki{many}.estimate(d) == many.estimate(d)));
            CHECK((sg::split{one}.estimate(f) == one.estimate(f)) ==
                  (sg::split{many}.estimate(f) == many.estimate(f)));
            CHECK(sg::strassen{one}.describe(f).substr(0, 40) ==
                  sg::strassen{many}.describe(f).substr(0, 40));
        }
}

TEST_CASE(
    "of the host: grows with each side, with a batch, and with E; no threads and no layout change a choice") {
    for (int threads : {1, 2}) {
        sg::host const cpu{.threads = threads};
        auto const seconds = [&](sg::index_t m, sg::index_t n, sg::index_t k) {
            double const f = cpu.estimate(sg::shape<float>{m, n, k}),
                         d = cpu.estimate(sg::shape<double>{m, n, k});
            CAPTURE(m, n, k, threads);
            CHECK(std::isfinite(f));
            CHECK((f > 0 && d > 0.9 * f)); // double may have a kernel that is better for so few rows
            CHECK(cpu.estimate(sg::shape<float>{m, n, k, 3}) > f);
            CHECK(cpu.estimate(sg::shape<float>{.m = m, .n = n, .k = k, .adds = true}) >= f);
            return f;
        };
        for (sg::index_t m : {1, 7, 64, 1000})
            for (sg::index_t n : {1, 20, 500})
                for (sg::index_t k : {1, 33, 700}) {
                    double const one = seconds(m, n, k);
                    for (double const more :
                         {seconds(16 * m, n, k), seconds(m, 16 * n, k), seconds(m, n, 16 * k)})
                        CHECK(more >=
                              (threads == 1 ? one : 0.9 * one)); // more work may be given more threads
                }
        for (sg::index_t side : {0, 1}) CHECK(cpu.estimate(sg::shape<float>{side, 3, 1 - side}) > 0);
        CHECK(std::isfinite(cpu.estimate(sg::shape<double>{1 << 30, 1 << 30, 1 << 30})));
    }
    sg::shape<double> const turned{.m = 4096, .n = 4096, .k = 4096, .a_across = true, .b_across = true};
    sg::shape<double> const plain{4096, 4096, 4096};
    CHECK(sg::strassen{sg::host{}}.workspace(turned) == sg::strassen{sg::host{}}.workspace(plain));
}

TEST_CASE("of the host: within a factor of three of what was measured, where the instruction set is that") {
    int const column = sg::host_counts::column_of(sg::current_isa().isa);
    if (column == 0 || sg::current_isa().isa > sg::host_isa::avx512) return;
    struct measured {
        sg::index_t m, n, k;
        char const* layout;
        double by[3]; // microseconds of floats on one thread of Zen 3, of a Xeon with AVX-512, and of Zen 4
    };
    constexpr measured all[] = {
        {436, 704, 16, "TT", {148.8, 85.78, 95.05}},    {176, 2136, 14, "NN", {172.4, 103.2, 99.35}},
        {72, 1473, 32, "TN", {148.4, 44.68, 61.05}},    {2, 2550, 465, "TN", {139.2, 185.9, 65.84}},
        {576, 6, 488, "NT", {55.82, 27.26, 36.26}},     {829, 4, 9, "TN", {1.151, 0.696, 0.7847}},
        {2, 9, 1405, "NT", {0.9289, 0.7653, 0.6321}},   {2, 2312, 13, "TN", {1.99, 1.475, 1.326}},
        {11, 4, 212, "TT", {0.393, 0.3437, 0.2746}},    {17, 170, 66, "TT", {11.25, 5.335, 5.91}},
        {3, 123, 2, "TN", {0.07912, 0.03227, 0.04048}}, {24, 104, 88, "TT", {6.716, 3.629, 4.402}},
        {2, 72, 10, "NN", {0.08692, 0.04063, 0.06037}}, {1, 272, 1042, "NN", {22.89, 9.926, 12.55}},
        {52, 144, 54, "NN", {10.08, 4.802, 7.271}},     {247, 1496, 361, "NN", {3475, 1752, 2498}},
        {40, 424, 1, "TN", {1.372, 1.453, 1.418}},      {120, 2, 18, "TN", {0.1764, 0.1288, 0.1128}},
        {1320, 80, 64, "NT", {170.6, 79.69, 122.5}},    {5, 144, 11, "TN", {0.2716, 0.1227, 0.1864}},
        {2917, 3, 320, "NT", {115.9, 140.4, 57.05}},    {117, 48, 40, "NT", {6.67, 4.969, 6.865}},
        {176, 12, 10, "NT", {1.099, 0.6521, 0.6523}},   {2, 5, 6, "TT", {0.05777, 0.02822, 0.04269}},
        {16, 1480, 1041, "TT", {723.4, 326, 547.3}}};
    auto const check = [](measured const& x, int threads, double microseconds) {
        sg::shape<float> s{x.m, x.n, x.k};
        s.a_across = x.layout[0] == 'T', s.b_across = x.layout[1] == 'T';
        double const ratio = sg::host{.threads = threads}.estimate(s) * 1e6 / microseconds;
        CAPTURE(x.m, x.n, x.k, x.layout, threads, ratio);
        CHECK((ratio > 1 / 3.0 && ratio < 3));
    };
    for (measured const& x : all) check(x, 1, x.by[column - 1]);
    constexpr measured by_two[] = {
        {82, 480, 993, "TN", {0, 349.6, 0}},   {9, 1184, 759, "TT", {0, 117.3, 0}},
        {720, 1722, 72, "TT", {0, 647.5, 0}},  {448, 176, 40, "NT", {0, 25.45, 0}},
        {830, 1120, 40, "TN", {0, 276.1, 0}},  {64, 1616, 329, "TN", {0, 291.3, 0}},
        {1633, 1654, 17, "NT", {0, 465.2, 0}}, {24, 2759, 483, "TN", {0, 490.4, 0}}};
    for (measured const& x : by_two)
        if (column == 2) check(x, 2, x.by[1]);
}

TEST_CASE("the leaves offer what layers pick their form by") {
    static_assert(sg::leaf<sg::host_operations, sg::host_memory> && sg::host_leaf<sg::host_operations> &&
                  !sg::tiled_host_leaf<sg::host_operations>);
    using leaf = decltype(sg::host{}.leaf());
    static_assert(sg::leaf<leaf, sg::host_memory> && sg::host_leaf<leaf>);
#if defined(__x86_64__)
    static_assert(sg::tiled_host_leaf<leaf> &&
                  sg::tiled_host_leaf<decltype(sg::strassen{sg::recursive{sg::host{}}}.leaf())>);
    CHECK(sg::host{}.leaf().has_tiles() ==
          (sg::current_isa().isa == sg::host_isa::amx && sg::current_isa().available));
#endif
    auto const l = sg::host{.threads = 3}.leaf();
    CHECK(l.team(1) == 1);
    CHECK(l.team(1e12) == sg::host_threads(3));
    std::vector<int> done(10);
    l.each(3, 10, [&](int thread, int part) { done[static_cast<std::size_t>(part)] += thread < 3; });
    CHECK(done == std::vector<int>(10, 1));
}
