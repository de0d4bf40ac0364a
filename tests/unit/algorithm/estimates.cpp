// Every policy over the host: its estimate, and that the same call gives the same bits while the machine's load changes.
#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/quantized.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/stratagemm.hpp>

#include <atomic>
#include <chrono>
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

TEST_CASE("the same call gives the same bits a thousand times, whatever else the machine does") {
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
        }
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
