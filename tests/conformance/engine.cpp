// The suite itself under test: it must notice a policy that is wrong.
#include "catch.hpp"
#include "policies.hpp"
#include "trial.hpp"

#include <stratagemm/stratagemm.hpp>

using namespace trials;

namespace {

enum class fault {
    none,
    inaccurate,    // one element slightly off
    reads_c,       // 0 * C is added although beta is zero
    writes_beside, // stores the element after the last of a row
    writes_a,
    bound_tight,
    bound_unordered, // expected > worst
    fails
};

// The reference, with a fault.
struct faulty : sg::reference {
    fault what = fault::none;

    template <class S>
    sg::bound error_bound(S const& s) const {
        sg::bound b = sg::reference::error_bound(s);
        if (what == fault::bound_tight) b.worst = b.expected = 0;
        if (what == fault::bound_unordered) b.worst /= 2;
        return b;
    }
    template <class Problem>
    sg::status operator()(Problem const& p, arena& workspace) const {
        using T = typename Problem::c_type;
        if (what == fault::fails) return sg::error(sg::errc::native, "faulty", "as asked");
        T const old = p.c(0, 0);
        if (sg::status s = sg::reference::operator()(p, workspace); !s) return s;
        if (what == fault::inaccurate) p.c(0, 0) *= T(1.00001);
        if (what == fault::reads_c) p.c(0, 0) += T(0) * old;
        if (what == fault::writes_beside) p.c(0, p.c.cols) = T(0);
        if (what == fault::writes_a) const_cast<T&>(p.a(0, 0)) += T(1);
        return {};
    }
};

std::string complaint(fault what) {
    trial t;
    t.m = 20, t.n = 18, t.k = 70;
    t.c.right = 1;
    prepared<float, float> p(t);
    faulty policy;
    policy.what = what;
    return try_on(policy, p).wrong;
}

} // namespace

TEST_CASE("the suite notices what is wrong", "[quick][engine]") {
    CHECK(complaint(fault::none).empty());
    CHECK(complaint(fault::inaccurate).find("should be") != std::string::npos);
    CHECK(complaint(fault::reads_c).find("should be") != std::string::npos);
    CHECK(complaint(fault::writes_beside).find("not of C was written") != std::string::npos);
    CHECK(complaint(fault::writes_a).find("operand was written") != std::string::npos);
    CHECK(complaint(fault::bound_tight).find("should be") != std::string::npos);
    CHECK(complaint(fault::bound_unordered).find("> worst") != std::string::npos);
    CHECK(complaint(fault::fails).find("as asked") != std::string::npos);
}

// CONFORMANCE_POLICIES are the outermost layers that have tests of their own, from tests/CMakeLists.txt.
TEST_CASE("each policy belongs to a test", "[quick][engine]") {
    for (std::uint64_t turn = 0; turn < 10; ++turn)
        for_each_policy(turn, [](std::string const& name, auto const&) {
            std::istringstream tests(CONFORMANCE_POLICIES);
            int belongs = 0;
            for (std::string test; tests >> test;) belongs += name.compare(0, test.size(), test) == 0;
            CAPTURE(name);
            CHECK(belongs == 1);
            CHECK((name.find("host") == name.npos) != (name.find("reference") == name.npos));
        });
}

TEST_CASE("the suite notices a bound that is too loose", "[quick][engine]") {
    for (auto const data : {values::random, values::positive}) {
        trial t;
        t.m = 20, t.n = 18, t.k = 70, t.data = data;
        prepared<float, float> p(t);
        double const observed = try_on(sg::reference{}, p).observed;
        sg::bound b = sg::reference{}.error_bound(p.call.shape());
        CHECK(!too_loose(b, observed));
        b.expected *= 1000;
        CHECK(too_loose(b, observed));
    }
}

TEST_CASE("the suite's random trials reach every choice", "[quick][engine]") {
    random_source from(1);
    int turned = 0, backwards = 0, spread = 0, blocks = 0, apart = 0, batches = 0, conjugated = 0;
    for (int i = 0; i < 1000; ++i) {
        trial const t = draw_trial(from);
        turned += t.a.turned, backwards += t.b.rows_back && t.b.cols_back, spread += t.c.step > 1;
        blocks += t.c.above > 0, apart += t.e_is == added::apart, batches += t.count != 1;
        conjugated += t.conjugate_a;
    }
    for (int const count : {turned, backwards, spread, blocks, apart, batches, conjugated}) CHECK(count > 20);
}
