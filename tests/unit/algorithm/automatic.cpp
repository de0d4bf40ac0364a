// The policy that chooses: what it takes, what it keeps to, and what it says.
#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/algorithm/automatic/tuning.hpp>
#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

// A host whose estimates are multiplied by a factor; it counts how often it is asked.
struct rated : sg::host {
    double factor;
    int* asked;

    explicit rated(double times, int* count = nullptr) : factor(times), asked(count) {}

    template <class S>
    double estimate(S const& s) const {
        if (asked) ++*asked;
        return factor * sg::host::estimate(s);
    }
};

// Slow, without workspace, and estimated to be fast.
struct boastful : sg::reference {
    static constexpr bool is_backend = false;
    template <class S>
    double estimate(S const&) const {
        return 1e-9;
    }
};

// The oracle, which counts how often a product of it is prepared, and run.
struct prepares : sg::reference {
    int *prepared, *run;
    prepares(int& count, int& runs) : prepared(&count), run(&runs) {}

    template <class P>
    struct product {
        prepares const& by;
        P const& p;
        sg::footprint workspace() const { return {192}; }
        sg::status run(sg::host_arena& memory) const {
            ++*by.run;
            CHECK(memory.fits({192}));
            return static_cast<sg::reference const&>(by)(p, memory);
        }
    };
    template <class P>
    auto prepare(P const& p) const {
        ++*prepared;
        return product<P>{*this, p};
    }
    template <class S>
    sg::footprint workspace(S const&) const {
        return {192};
    }
};

// A cache of its own, which is the standard one meanwhile.
class folder_of_programs {
public:
    folder_of_programs()
        : path_(std::filesystem::temp_directory_path() /
                ("stratagemm_automatic_" + std::to_string(getpid()))) {
        clear();
        std::filesystem::create_directory(path_);
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
        begin_process();
    }
    ~folder_of_programs() {
        clear();
        for (auto const& x : names_) std::filesystem::remove(x);
        unsetenv("STRATAGEMM_CACHE_DIR");
    }
    void clear() const { std::filesystem::remove_all(path_); }
    // A new process has read no entry: what this one has read, it has read by another name of the folder.
    void begin_process() {
        static int count = 0;
        names_.push_back(path_.string() + '_' + std::to_string(++count));
        std::filesystem::create_directory_symlink(path_, names_.back());
        setenv("STRATAGEMM_CACHE_DIR", names_.back().c_str(), 1);
    }

private:
    std::filesystem::path path_;
    std::vector<std::string> names_;
};

// Shapes of many kinds, the same in every run.
template <class T, class F>
void each_shape(int count, index_t longest, F const& f) {
    support::random_source from(7);
    for (int x = 0; x < count; ++x) {
        auto const side = [&] {
            return static_cast<index_t>(std::exp(from.uniform(0, std::log(static_cast<double>(longest)))));
        };
        index_t const m = side(), n = side(), k = side();
        f(sg::shape<T>{.m = m, .n = n, .k = k, .count = 1 + from.below(8) / 7, .adds = from.below(3) == 0});
    }
}

// What is taken keeps to the options, and is what the policy is; nothing that keeps to them is faster by more than some
// per cent.
template <class Policy, class S, class Allowed>
void check_choice(Policy const& policy, S const& s, Allowed const& allowed) {
    auto const told = policy.explain(s), on_one_thread = policy.explain(sg::to_choose_by(s));
    CAPTURE(on_one_thread.text());
    auto const* const taken = told.taken();
    REQUIRE(taken);
    int marked = 0;
    for (auto const& x : told.candidates) {
        marked += x.taken;
        CHECK(!x.reason.empty());
    }
    for (auto const& x : on_one_thread.candidates)
        if (allowed(x)) CHECK(on_one_thread.taken()->seconds <= x.seconds / 0.96);
    CHECK(marked == 1);
    CHECK(allowed(*taken));
    CHECK(policy.workspace(s) == taken->workspace);
    CHECK(policy.error_bound(s).worst == taken->error.worst);
    CHECK(policy.error_bound(s).normwise == taken->error.normwise);
    CHECK(policy.estimate(s) == taken->seconds);
    CHECK(policy.describe(s) == "automatic: " + taken->description);
}

// The largest error over the policy's bound.
template <class T, class Policy>
double error_over_bound(Policy const& policy, sg::matrix<T> const& a, sg::matrix<T> const& b) {
    index_t const m = a.rows(), n = b.cols(), k = a.cols();
    sg::matrix<T> c(m, n);
    sg::matrix<double> exact(m, n), size(m, n);
    sg::gemm(policy, a, b, c);
    auto const wide = [](sg::matrix<T> const& x, bool positive) {
        return sg::matrix<double>(x.rows(), x.cols(), [&](index_t i, index_t j) {
            auto const y = static_cast<double>(x(i, j));
            return positive && y < 0 ? -y : y;
        });
    };
    sg::gemm(sg::reference{}, wide(a, false), wide(b, false), exact);
    sg::gemm(sg::reference{}, wide(a, true), wide(b, true), size);
    sg::bound const bound = policy.error_bound(sg::shape<T>{m, n, k});
    auto const largest = [](sg::matrix<T> const& x) {
        double most = 0;
        for (index_t i = 0; i < x.rows() * x.cols(); ++i)
            most = std::max(most, std::abs(static_cast<double>(x.data()[i])));
        return most;
    };
    double const norms = static_cast<double>(k) * largest(a) * largest(b);
    double worst = 0;
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j < n; ++j) {
            double const off = std::abs(static_cast<double>(c(i, j)) - exact(i, j)) -
                               0x1p-53 * std::abs(exact(i, j)); // which is rounded, too
            double const most = bound.worst * (bound.normwise ? norms : size(i, j));
            if (off > 0) worst = std::max(worst, off / most);
        }
    return worst;
}

} // namespace

static_assert(sg::policy<sg::automatic<sg::host>> && sg::policy<sg::automatic<sg::reference>>);
static_assert(std::is_same_v<decltype(sg::automatic{sg::automatic{sg::host{}}}),
                             sg::automatic<sg::automatic<sg::host>>>);

TEST_CASE("automatic takes the fastest of the candidates whose bound is componentwise and no worse") {
    sg::automatic const policy{sg::host{}};
    auto const check = [&]<class T>(T) {
        each_shape<T>(40, 6000, [&](auto const& s) {
            double const native = sg::host{}.error_bound(s).worst;
            check_choice(policy, s, [&](auto const& x) {
                return !x.error.normwise && x.error.confidence == 1 && x.error.worst <= 2.0001 * native;
            });
        });
    };
    check(float{}), check(double{}), check(std::complex<float>{}), check(sg::bfloat16{}),
        check(std::int8_t{});
}

TEST_CASE("automatic divides products by norms where the caller allows it, and where that is faster") {
    sg::automatic const strict{sg::host{}}, norms{sg::host{}, {.normwise = true}};
    each_shape<double>(40, 20000, [&](auto const& s) {
        check_choice(norms, s, [](auto const& x) { return x.error.confidence == 1; });
        CHECK_FALSE(strict.error_bound(s).normwise);
    });
    CHECK(norms.error_bound(sg::shape<double>{9000, 9000, 9000}).normwise);
}

TEST_CASE("automatic leaves the backend only for what is faster by some per cent") {
    sg::shape<float> const s{300, 300, 300};
    sg::recursive const blocks{sg::host{}, {.leaf_bytes = 50000}};
    double const ratio = blocks.estimate(sg::to_choose_by(s)) / sg::host{}.estimate(sg::to_choose_by(s));
    auto const described = [&](double factor) {
        return sg::automatic{blocks, rated{factor * ratio}}.describe(s);
    };
    CHECK(contains(described(0.9), "automatic: host"));
    CHECK(contains(described(1.01), "automatic: host"));
    CHECK(contains(described(1.1), "automatic: recursive"));
}

TEST_CASE("a caller's own list is what automatic chooses among") {
    sg::strassen const divides{sg::host{}, {.levels = 1}};
    sg::shape<float> const s{400, 400, 400};
    sg::automatic const strict{divides, sg::host{}};
    sg::automatic const norms{divides, rated{100}, {.normwise = true}};
    CHECK(strict.explain(s).candidates.size() == 2);
    CHECK(contains(strict.describe(s), "automatic: host"));
    CHECK(contains(norms.describe(s), "automatic: strassen"));
    // Without a backend any componentwise bound is good enough, and what is bounded by norms alone still takes the option.
    sg::automatic const none{divides};
    CHECK_FALSE(none.explain(s).taken());
    auto const a = support::fractions<float>(400, 400, 1);
    sg::matrix<float> c(400, 400);
    c.fill(7);
    auto const refused = sg::try_gemm(none, a, a, c);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == sg::errc::argument);
    CHECK(contains(refused.error().what(), "explain"));
    CHECK(c(3, 3) == 7);
    CHECK_THROWS_AS(sg::plan(none, s), sg::error);
}

TEST_CASE("automatic emulates where that is faster, to the same bound") {
    auto const check = [](auto const& policy, auto const& s) {
        auto const told = policy.explain(s);
        CAPTURE(told.text());
        auto const* const taken = told.taken();
        REQUIRE(taken);
        CHECK((taken->name == "split" || contains(taken->name, "ozaki")));
        CHECK(!taken->error.normwise);
        CHECK(taken->error.worst <= 2.0001 * sg::host{}.error_bound(s).worst);
    };
    sg::automatic const policy{eager<untiled>{}};
    check(policy, sg::shape<float>{200, 200, 200});
    check(policy, sg::shape<double>{200, 200, 200});
    check(policy, sg::shape<std::complex<double>>{200, 200, 200});
}

TEST_CASE("automatic keeps its bound for data whose exponents spread") {
    support::random_source from(11);
    for (int x = 0; x < (support::sanitized ? 4 : 24); ++x) {
        index_t const m = 1 + from.below(60), n = 1 + from.below(60), k = 1 + from.below(300);
        double const phi = 2 * (x % 4);
        auto const check = [&]<class T>(T) {
            auto const a = support::spread_out<T>(m, k, phi, from.next()),
                       b = support::spread_out<T>(k, n, phi, from.next());
            CAPTURE(m, n, k, phi);
            CHECK(error_over_bound(sg::automatic{sg::host{}}, a, b) <= 1);
            CHECK(error_over_bound(sg::automatic{eager<untiled>{}}, a, b) <= 1);
            CHECK(error_over_bound(sg::automatic{sg::strassen{sg::host{}, {.levels = 1}}, {.normwise = true}},
                                   a, b) <= 1);
        };
        check(float{}), check(double{});
    }
}

TEST_CASE("automatic bounds its workspace") {
    sg::shape<double> const s{300, 300, 300};
    sg::host const host{.threads = 1}; // the workspace of the host grows with its threads
    eager<untiled> slow;
    slow.threads = 1;
    sg::automatic const free{slow};
    std::size_t const wanted = free.workspace(s).host, native = host.workspace(s).host;
    REQUIRE(wanted > native);
    sg::automatic const tight{sg::ozaki{slow}, host, {.workspace_bytes = wanted - 1}};
    CHECK(contains(tight.describe(s), "automatic: host"));
    CHECK(tight.workspace(s).host < wanted);
    sg::automatic const least{sg::host{}, {.workspace_bytes = 1}};
    CHECK_THROWS_AS(sg::plan(least, s), sg::error);
    CHECK(contains(least.explain(s).text(), "more workspace than"));
    auto const a = support::fractions<double>(300, 300, 1);
    sg::matrix<double> c(300, 300);
    CHECK_FALSE(sg::try_gemm(least, a, a, c));
}

TEST_CASE("an error bound that the caller gives is what automatic keeps to") {
    sg::shape<double> const s{400, 400, 400};
    sg::automatic const exact{eager<untiled>{}}, rough{eager<untiled>{}, {.bound = 1e-6}};
    CHECK(rough.error_bound(s).worst <= 1e-6);
    CHECK(rough.error_bound(s).worst > 1e-9);
    CHECK(rough.estimate(s) < exact.estimate(s));
    auto const a = support::fractions<double>(70, 300, 1), b = support::fractions<double>(300, 60, 2);
    CHECK(error_over_bound(rough, a, b) <= 1);
    // Less than the backend gives is refused.
    sg::automatic const strict{sg::host{}, {.bound = 1e-17}};
    CHECK_FALSE(strict.explain(s).taken());
    for (sg::automatic_options const wrong :
         {sg::automatic_options{.tolerance = -1}, sg::automatic_options{.tolerance = 1},
          sg::automatic_options{.bound = -1}})
        CHECK_THROWS_AS(sg::plan(sg::automatic{sg::host{}, wrong}, s), sg::error);
}

TEST_CASE("what automatic chooses does not depend on the number of threads, nor do the bits") {
    auto const with = [](int threads) {
        return sg::automatic{sg::host{.threads = threads}, {.normwise = true}};
    };
    each_shape<float>(30, 8000, [&](auto const& s) {
        CHECK(with(1).explain(s).taken()->name == with(2).explain(s).taken()->name);
        CHECK(with(1).explain(s).taken()->name == with(64).explain(s).taken()->name);
    });
    auto const a = support::fractions<float>(150, 200, 1), b = support::fractions<float>(200, 130, 2);
    sg::matrix<float> first(150, 130), c(150, 130);
    auto const multiply = [&](int threads, sg::matrix<float>& to) {
        sg::gemm(sg::automatic{eager<untiled>{{{.threads = threads}}}}, a, b, to);
    };
    multiply(1, first);
    for (int const threads : {2, 3, 7}) {
        multiply(threads, c);
        CHECK(same_bits(c, first));
    }
}

TEST_CASE("automatic asks for estimates once for each shape, whatever copies there are") {
    int asked = 0;
    sg::automatic const policy{rated{1, &asked}};
    auto const copy = policy;
    sg::shape<float> const s{100, 110, 120};
    std::string const chosen = policy.describe(s);
    int const once = asked;
    CHECK(once > 0);
    CHECK(copy.describe(s) == chosen);
    CHECK(copy.workspace(s) == policy.workspace(s));
    CHECK(asked == once);
    // Policies over other backends that estimate the same share the choice, too.
    int asked_others = 0;
    auto const same = policy.over(rated{1, &asked_others});
    CHECK(same.describe(s) == chosen);
    CHECK((asked == once && asked_others == 0));
    (void)same.estimate(s);
    CHECK((asked == once && asked_others == 1));
    // Another type, sides, batch or added matrix is another product.
    (void)policy.workspace(sg::shape<double>{100, 110, 120});
    CHECK(asked > once);
    // As many shapes as have no room together are chosen anew, and alike.
    each_shape<float>(300, 500, [&](auto const& other) { (void)policy.workspace(other); });
    CHECK(copy.describe(s) == chosen);
}

TEST_CASE("automatic has what it chose prepare a product once, in a call and in an arena of the caller's") {
    int prepared = 0, run = 0;
    sg::automatic const policy{prepares{prepared, run}};
    auto const a = support::integers<float>(5, 7, 1), b = support::integers<float>(7, 4, 2);
    sg::matrix<float> c(5, 4);
    auto const multiplies_once = [&](auto const& multiply) {
        prepared = run = 0;
        c.fill(99);
        multiply();
        CHECK(support::equal(c, support::product_of(a, b)));
        CHECK((prepared == 1 && run == 1));
    };
    multiplies_once([&] { sg::gemm(policy, a, b, c); });
    sg::plan const plan(policy, sg::shape<float>{5, 4, 7});
    auto arena = plan.reserve();
    multiplies_once([&] { plan.run(a, b, c, arena); });
    multiplies_once([&] { CHECK(policy(sg::product(a, b, c), arena)); });
    multiplies_once([&] { sg::gemm(sg::recursive{policy}, a, b, c); });
    prepared = run = 0;
    sg::gemm(policy, 0.0f, a, b, 0.0f, c); // no product is left
    CHECK(c(1, 1) == 0);
    CHECK((prepared == 0 && run == 0));
    sg::gemm(sg::automatic{prepares{prepared, run}, {.bound = 1e-30}}, 0.0f, a, b, 0.0f, c);
}

TEST_CASE("automatic multiplies with factors, added matrices, epilogues and batches") {
    auto const a = support::fractions<float>(40, 50, 1), b = support::fractions<float>(50, 30, 2),
               e = support::fractions<float>(40, 30, 3);
    CHECK(support::finishes(sg::automatic{sg::host{}}, a, b, e, 2.0f, 0.5f));
    CHECK(support::finishes(sg::automatic{sg::reference{}}, a, b, e, 2.0f, 0.5f));
    CHECK(support::finishes(sg::automatic{eager<untiled>{}}, a, b, e, 2.0f, 0.5f));
    CHECK(support::finishes(sg::recursive{sg::automatic{sg::host{}}, {.leaf_bytes = 4000}}, a, b, e, 2.0f,
                            0.5f));
    sg::matrix<float> c(40, 30), plain(40, 30);
    sg::gemm(sg::automatic{sg::host{}}, a, b, c);
    sg::gemm(sg::host{}, a, b, plain);
    CHECK(same_bits(c, plain));
    sg::matrix<float> none(40, 0), nothing(0, 30);
    sg::gemm(sg::automatic{sg::host{}}, 1.0f, none, nothing, 3.0f, e, c);
    CHECK(c(1, 2) == 3 * e(1, 2));
}

TEST_CASE("automatic runs in the workspace that it asks for, and in that of a plan") {
    auto const a = support::fractions<double>(90, 80, 1), b = support::fractions<double>(80, 70, 2);
    sg::matrix<double> c(90, 70);
    sg::automatic const policy{eager<untiled>{}};
    CHECK(support::try_arena(policy, sg::product(a, b, c)).stayed_inside);
    sg::plan const plan(policy, sg::shape<double>{90, 70, 80});
    auto arena = plan.reserve();
    sg::matrix<double> again(90, 70);
    plan.run(a, b, again, arena);
    CHECK(same_bits(c, again));
}

TEST_CASE("automatic tells its candidates as a table") {
    sg::automatic const policy{sg::host{}};
    sg::shape<float> const s{.m = 4500, .n = 4500, .k = 4500, .adds = true};
    auto const told = policy.explain(s);
    std::ostringstream out;
    out << told;
    CHECK(out.str() == told.text());
    CHECK(contains(out.str(), "4500 x 4500 x 4500"));
    CHECK(contains(out.str(), "added matrix"));
    CHECK(contains(out.str(), ".normwise"));
    for (auto const& x : told.candidates) CHECK(contains(out.str(), x.name));
    CHECK(contains(out.str(), told.taken()->description));
    std::string const text = out.str();
    CHECK(std::count(text.begin(), text.end(), '\n') == 3 + static_cast<long>(told.candidates.size()));
}

TEST_CASE("automatic chooses by stored times, which tune() alone measures") {
    folder_of_programs here;
    sg::recursive const blocks{sg::host{}, {.leaf_bytes = 4000}};
    sg::shape<float> const s{90, 100, 110}, other{91, 100, 110};
    sg::automatic const policy{rated{1e6}, blocks};
    std::string const by_estimate = policy.describe(s), of_other = policy.describe(other);
    CHECK(contains(by_estimate, "automatic: recursive"));
    auto const tuned = sg::tune(policy, std::vector{s}, 0.01);
    REQUIRE(tuned);
    // Blocks of a few lines are far slower than the host, whatever that says of itself.
    CHECK(contains(policy.describe(s), "automatic: host"));
    auto const told = policy.explain(s);
    CAPTURE(told.text());
    for (auto const& x : told.candidates) {
        CHECK(x.measured > 0);
        CHECK(told.taken()->measured <= x.measured);
    }
    CHECK(contains(told.text(), "measured"));
    CHECK(policy.describe(other) == of_other);
    // Another policy finds the times, and so does another process.
    CHECK(contains(sg::automatic{rated{1e6}, blocks}.describe(s), "automatic: host"));
    here.begin_process();
    CHECK(contains(sg::automatic{rated{1e6}, blocks}.describe(s), "automatic: host"));
    // A policy that would run otherwise than what was measured has no time, and its estimate does not count.
    sg::recursive const smaller{sg::host{}, {.leaf_bytes = 40}};
    CHECK(contains(sg::automatic{rated{1e6}, smaller}.describe(s), "automatic: host"));
    // A process reads the cache once, whatever becomes of that; one without the cache has no times.
    here.clear();
    CHECK(contains(sg::automatic{rated{1e6}, blocks}.describe(s), "automatic: host"));
    here.begin_process();
    CHECK(contains(sg::automatic{rated{1e6}, blocks}.describe(s), "automatic: recursive"));
}

TEST_CASE("times of several shapes are one entry, which several processes write") {
    folder_of_programs here;
    sg::recursive const blocks{sg::host{}, {.leaf_bytes = 4000}};
    sg::automatic const policy{rated{1e6}, blocks};
    auto const has_times = [&](auto const& s) {
        auto const told = policy.explain(s);
        return std::all_of(told.candidates.begin(), told.candidates.end(),
                           [](auto const& x) { return x.measured > 0; });
    };
    sg::shape<float> const first{90, 100, 110}, second{91, 100, 110}, third{92, 100, 110};
    REQUIRE(sg::tune(policy, std::vector{first}, 0.01));
    here.begin_process();
    CHECK_FALSE(has_times(third)); // it has read now
    REQUIRE(sg::tune(policy, std::vector{second}, 0.01));
    here.begin_process();
    CHECK(has_times(first));
    CHECK(has_times(second));
    CHECK_FALSE(has_times(third));
}

TEST_CASE("a plan from before tuning is refused where it has too little workspace") {
    folder_of_programs const here;
    auto const a = support::fractions<double>(200, 200, 1);
    sg::matrix<double> c(200, 200);
    sg::automatic const policy{sg::recursive{sg::host{}}, boastful{}};
    sg::plan const plan(policy, sg::shape<double>{200, 200, 200});
    auto arena = plan.reserve();
    plan.run(a, a, c, arena);
    REQUIRE(sg::tune(policy, std::vector{sg::shape<double>{200, 200, 200}}, 0.01));
    auto const refused = plan.try_run(sg::product(a, a, c), arena);
    REQUIRE_FALSE(refused);
    CHECK(contains(refused.error().what(), "again"));
    sg::gemm(policy, a, a, c);
}

TEST_CASE("automatic asks the backend for little where nothing else can win") {
    for (index_t const n : {10, 30, 60}) {
        int asked = 0;
        sg::automatic const norms{sg::strassen{rated{1, &asked}}, rated{1, &asked}, {.normwise = true}};
        sg::shape<float> const s{n, n, n};
        CHECK(contains(norms.describe(s), "automatic: host"));
        CHECK(asked <= 10); // not once for each border of each level
    }
}

TEST_CASE("automatic chooses between the two ways of an operand that has two") {
    sg::automatic const strict{sg::host{}}, norms{sg::host{}, {.normwise = true}};
    support::random_source from(3);
    bool by_transforms = false, directly = false;
    for (int x = 0; x < 30; ++x) {
        auto const m = 1 + static_cast<index_t>(std::exp(from.uniform(0, 9))),
                   n = 1 + static_cast<index_t>(from.below(9));
        sg::shape<sg::toeplitz_form<double>, double, double> const s{m, n, m};
        check_choice(norms, s, [](auto const&) { return true; });
        check_choice(strict, s, [](auto const& c) { return !c.error.normwise; });
        CHECK(norms.explain(s).candidates.size() == 2);
        (norms.error_bound(s).normwise ? by_transforms : directly) = true;
    }
    CHECK((by_transforms && directly));
    // What is computed directly alone, because of its type or because both operands have two ways.
    sg::shape<sg::toeplitz_form<sg::bfloat16>, sg::bfloat16, float> const narrow{900, 1, 900};
    CHECK(norms.explain(narrow).candidates.size() == 1);
    auto const a = support::fractions<double>(60, 1, 1), b = support::fractions<double>(60, 1, 2);
    sg::matrix<double> c(60, 60), plain(60, 60);
    sg::gemm(norms, sg::toeplitz(a, b), sg::toeplitz(b, a), c);
    sg::gemm(sg::host{}, sg::toeplitz(a, b), sg::toeplitz(b, a), plain);
    CHECK(same_bits(c, plain));
    // Over layers of the caller's, the dense products of the operand are theirs.
    sg::gemm(sg::automatic{sg::recursive{sg::host{}}}, sg::toeplitz(a, b), plain, c);
}

TEST_CASE("automatic multiplies by the other way of an operand, on either side") {
    sg::automatic const policy{laborious{sg::host{}}, {.normwise = true}};
    auto const down = support::fractions<double>(90, 1, 1), across = support::fractions<double>(70, 1, 2);
    auto const x = support::fractions<double>(70, 5, 3), y = support::fractions<double>(5, 90, 4);
    auto const near = [&](auto const& a, auto const& b, index_t m, index_t n) {
        auto const e = support::fractions<double>(m, n, 5);
        sg::matrix<double> c(m, n), plain(m, n);
        auto const s = sg::product(2.0, a, b, -0.5, e, c).shape();
        REQUIRE(policy.error_bound(s).normwise);
        sg::gemm(policy, 2.0, a, b, -0.5, e, c, sg::relu);
        sg::gemm(sg::host{}, 2.0, a, b, -0.5, e, plain, sg::relu);
        double const most = 2 * policy.error_bound(s).worst * (2.0 * static_cast<double>(s.k) + 0.5);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) CHECK(std::abs(c(i, j) - plain(i, j)) <= most);
    };
    auto const t = sg::toeplitz(down, across);
    near(t, x, 90, 5), near(y, t, 5, 70);
    near(sg::transposed(t), sg::transposed(y), 70, 5);
    near(sg::hankel(down, across), x, 90, 5), near(y, sg::circulant(down), 5, 90);
}
