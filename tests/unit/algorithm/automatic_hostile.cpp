// The policy that chooses, on products that are made to break bounds: for each class of accuracy that a caller may ask for,
// a thousand of them, each against wider arithmetic.
#include "catch.hpp"
#include "conformance/trial.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <complex>

namespace sg = stratagemm;
using sg::index_t;

namespace {

constexpr int products = support::sanitized ? 100 : 1000;

// Sides are odd as often as even, k is long now and then, and some products are large enough to be divided. Layouts,
// padding, transposes, factors and added matrices are those of the conformance suite; so are wide exponents and sums that
// cancel. Elements are subnormal in one product of eight, and Inf or NaN in another.
trials::trial hostile(support::random_source& from, int number, int deepest) {
    trials::trial t = trials::draw_trial(from);
    bool const large = number % 16 == 15;
    t.m = 1 + from.below(large ? 70 : 20), t.n = 1 + from.below(large ? 70 : 20);
    t.k = 1 + from.below(number % 8 == 7 ? deepest : 30);
    t.count = t.count > 1 && !large ? t.count : 1;
    if (number % 8 == 3) {
        t.data = trials::values::tiny, t.scale_a = t.scale_b = t.scale_e = 0;
        for (trials::factor* const x : {&t.alpha, &t.beta})
            if (*x == trials::factor::other) *x = trials::factor::minus_one;
    } else if (number % 8 == 5) {
        t.data = trials::values::integers, t.specials = 1 + from.below(3); // no sum overflows by itself
        t.alpha = trials::factor::one;
    }
    return t;
}

// f(number, product) for as many products, of every type in turn.
template <class F>
void each_hostile_product(std::uint64_t seed, F const& f, int deepest = 200) {
    support::random_source from(seed);
    for (int x = 0; x < products; ++x) {
        auto const t = hostile(from, x, deepest);
        CAPTURE(trials::describe(t));
        auto const with = [&]<class T>(T) {
            trials::prepared<T, T> p(t);
            f(x, p);
        };
        switch (x / 2 % 4) {
        case 0: with(float{}); break;
        case 1: with(double{}); break;
        case 2: with(std::complex<float>{}); break;
        default: with(std::complex<double>{});
        }
    }
}

// The result is as far off as the policy says, at most, and the policy says what its class does.
template <class Policy, class Product, class Says>
void holds(Policy const& policy, Product& p, Says const& says) {
    auto const s = p.call.shape();
    CAPTURE(policy.describe(s));
    sg::bound const bound = policy.error_bound(s);
    CHECK(says(bound));
    CHECK(trials::try_on(policy, p).wrong == "");
}

// |C - (alpha A B + beta E)| over |alpha| |A||B|, by Frobenius norms, of one product; the roundings of E are left out.
template <class TA, class TC>
double error_by_norms(trials::prepared<TA, TC>& p, double of_roundings) {
    using W = typename trials::prepared<TA, TC>::W;
    auto const norm = [](auto& matrix, int scale) {
        double squares = 0;
        matrix.each([&](auto& x, index_t, index_t, index_t) {
            double const size = trials::size_of(trials::widen<W>(x));
            squares += size * size;
        });
        using T = std::remove_cvref_t<decltype(matrix(0, 0, 0))>;
        return std::sqrt(squares) *
               (scale ? trials::size_of(trials::widen<W>(trials::scale_value<T>(scale))) : 1);
    };
    double squares = 0;
    std::size_t cell = 0;
    p.c.each([&](TC& x, index_t, index_t, index_t) {
        auto const got = trials::widen<W>(x), want = p.exact[cell];
        double const off = trials::size_of<W>({got.re - want.re, got.im - want.im}) -
                           of_roundings * p.terms[cell] - trials::smallest<TC>();
        squares += off > 0 ? off * off : 0, ++cell;
    });
    auto const alpha = trials::value_of<TC>(p.what.alpha, p.what.data == trials::values::integers, false);
    double const size =
        trials::size_of(trials::widen<W>(alpha)) * norm(p.a, p.what.scale_a) * norm(p.b, p.what.scale_b);
    return squares == 0 ? 0 : std::sqrt(squares) / size;
}

} // namespace

TEST_CASE("automatic keeps componentwise bounds on hostile products") {
    each_hostile_product(1, [](int x, auto& p) {
        auto const native = sg::host{}.error_bound(p.call.shape());
        auto const says = [&](sg::bound const& b) {
            return !b.normwise && b.confidence == 1 && b.worst <= 2.0001 * native.worst;
        };
        sg::host const some{.threads = 1 + x % 3};
        if (x % 2 == 0)
            holds(sg::automatic{eager{untiled{some}}}, p, says); // emulates
        else
            holds(sg::automatic{some}, p, says);
    });
}

TEST_CASE("automatic keeps the bound that a caller gives on hostile products") {
    each_hostile_product(2, [](int, auto& p) {
        using T = std::remove_cvref_t<decltype(p.c(0, 0, 0))>;
        double const enough = sizeof(sg::real_t<T>) == 8 ? 1e-8 : 1e-3;
        auto const says = [&](sg::bound const& b) {
            return !b.normwise && b.confidence == 1 && b.worst <= enough * (1 + 1e-9);
        };
        holds(sg::automatic{eager{untiled{}}, {.bound = enough}}, p, says);
    });
}

TEST_CASE("automatic keeps bounds by norms on hostile products") {
    int divided = 0;
    each_hostile_product(3, [&](int, auto& p) {
        sg::automatic const policy{laborious{sg::host{}}, {.normwise = true}};
        holds(policy, p, [&](sg::bound const& b) { return b.confidence == 1; });
        divided += policy.error_bound(p.call.shape()).normwise;
    });
    CHECK(divided > products / 4);
}

// Of those whose k is long, many are drawn or sketched. What holds with a probability of 9 in 10 holds for each of these
// products: the promises cover the worst of operands.
TEST_CASE("automatic keeps tolerances on hostile products") {
    int approximate = 0;
    auto const with = [&](auto const& policy, auto& p) {
        double const native = sg::host{}.error_bound(p.call.shape()).worst;
        holds(policy, p, [&](sg::bound const& b) { return b.expected <= 0.5 + 2.0001 * native; });
        if (p.what.count == 1 && p.what.specials == 0) CHECK(error_by_norms(p, 2 * native) <= 0.5);
        approximate += policy.error_bound(p.call.shape()).confidence < 1;
    };
    each_hostile_product(
        4,
        [&](int x, auto& p) {
            constexpr auto otherwise = sg::otherwise::exact;
            laborious const slow{sg::host{}};
            if (x % 16 < 8)
                with(sg::automatic{sg::monte_carlo{
                                       slow, {.tolerance = 0.5, .confidence = 0.9, .otherwise = otherwise}},
                                   slow,
                                   {.tolerance = 0.5}},
                     p);
            else
                with(
                    sg::automatic{sg::sketched{slow,
                                               sg::sketches::sparse_sign{4},
                                               {.tolerance = 0.5, .confidence = 0.9, .otherwise = otherwise}},
                                  slow,
                                  {.tolerance = 0.5}},
                    p);
        },
        2000);
    CHECK(approximate > products / 16);
}
