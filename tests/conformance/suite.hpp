// The conformance suite, for one pair of element types: every policy does what the oracle says.
//
// Each element type has a source file of its own, which includes the policies to be tested before this file and
// states its cases with STRATAGEMM_CONFORMANCE. A [sample] has some of the trials of the whole case next to it, for runs
// under sanitizers, which are those of all [quick] cases.
#pragma once

#include "any_epilogue.hpp"
#include "catch.hpp"
#include "fuzz/property.hpp"
#include "policy_filter.hpp"
#include "trial.hpp"

#include <cstdlib>
#include <list>
#include <optional>

namespace trials {

// Takes note of what is wrong, and ends a case that has shown enough.
class report {
public:
    void operator()(char const* policy, trial const& t, verdict const& v) {
        ++checked_;
        if (v.wrong.empty()) return;
        FAIL_CHECK(policy << ": " << describe(t) << '\n' << v.wrong);
        if (++failed_ == 10) FAIL("ten failures are enough");
    }
    ~report() { CHECK((checked_ > 0 || !chosen_policies().takes_all())); }

private:
    int checked_ = 0, failed_ = 0;
};

// Which trials of a case to run: every `one_in`-th, and of these every so many as CONFORMANCE_EVERY says.
class sample {
public:
    explicit sample(int one_in) : one_in_(one_in) {
        if (char const* const every = std::getenv("CONFORMANCE_EVERY")) one_in_ *= std::atoi(every);
    }
    bool next() { return count_++ % one_in_ == 0; }

private:
    int one_in_;
    int count_ = 0;
};

#ifdef STRATAGEMM_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

template <class Policy>
inline constexpr bool is_over_reference = false;
template <template <class...> class Layer, class Base, class... More>
inline constexpr bool is_over_reference<Layer<Base, More...>> =
    std::is_same_v<Base, sg::reference> || is_over_reference<Base>;

// Sanitizers watch memory. What a layer does with its own hangs neither on the leaf nor, but for the size, on the type of
// an element: they watch layers over the host, with four types of A and B. Leaves they watch with all.
template <class Policy, class Problem>
constexpr bool is_watched() {
    using A = typename Problem::a_type;
    constexpr bool is_layer = takes_any_epilogue<Policy>;
    constexpr bool is_one_of_four = std::is_same_v<A, float> || std::is_same_v<A, std::complex<float>> ||
                                    std::is_same_v<A, sg::half> || std::is_same_v<A, std::int8_t>;
    constexpr bool same_types = std::is_same_v<A, typename Problem::b_type>;
    return !is_layer || (is_one_of_four && same_types && !is_over_reference<Policy>);
}

// Whether `Policy` is tried with `Problem`.
template <class Policy, class Problem>
constexpr bool is_tried() {
    if constexpr (!sanitized || is_watched<Policy, Problem>())
        return Policy::template accepts<Problem> == sg::verdict::yes;
    else
        return false;
}

// f(name, policy) for each policy that is chosen and accepts the problem.
template <class Problem, class F>
void for_each_chosen(std::uint64_t turn, F&& f) {
    for_each_policy(turn, [&](char const* name, auto const& policy) {
        if constexpr (is_tried<std::remove_cvref_t<decltype(policy)>, Problem>())
            if (chosen_policies().takes(name)) f(name, policy);
    });
}

// The oracle takes a part of the time, so nothing is prepared before there is a policy to be tried.
template <class TA, class TC>
void try_on_all(report& note, trial const& t) {
    std::optional<prepared<TA, TC>> p;
    for_each_chosen<typename prepared<TA, TC>::problem>(t.seed, [&](char const* name, auto const& policy) {
        if (!p) p.emplace(t);
        note(name, t, try_on(policy, *p));
    });
}

// Inf and NaN in A and B arrive where they belong, and nowhere else.
template <class TA, class TC>
void infinities_and_nans(int one_in) {
    report note;
    sample chosen(one_in);
    random_source from(27);
    for (int x = 0; x < 200; ++x) {
        trial t = draw_trial(from);
        t.m = 1 + from.below(70), t.n = 1 + from.below(70), t.k = 1 + from.below(40), t.count = 1;
        t.data = values::integers, t.specials = 1 + from.below(3);
        t.scale_a = t.scale_b = t.scale_e = 0;
        t.alpha = factor::one, t.beta = x % 2 ? factor::one : factor::zero;
        if (chosen.next()) try_on_all<TA, TC>(note, t);
    }
}

// Nothing planned: whatever the fuzzer would try. $CONFORMANCE_PRODUCTS says how many instead, and $CONFORMANCE_SEED which.
template <class TA, class TC>
void random_products(int trials) {
    report note;
    char const *const wanted = std::getenv("CONFORMANCE_PRODUCTS"), *const seed =
                                                                        std::getenv("CONFORMANCE_SEED");
    random_source from(seed ? static_cast<std::uint64_t>(std::atoll(seed)) : 28);
    sample chosen(1);
    for (int x = 0; x < (wanted ? std::atoi(wanted) : trials); ++x) {
        trial const t = draw_product(from);
        if (wanted || chosen.next()) try_on_all<TA, TC>(note, t);
    }
}

// The sizes at which kernels change: around each likely tile, and primes in between.
inline constexpr index_t sizes[] = {0,  1,  2,  3,  5,  7,  8,  9,  11, 13, 14, 15, 16, 17, 23,
                                    29, 31, 32, 33, 37, 47, 48, 49, 53, 61, 63, 64, 65, 67};
inline constexpr int size_count = static_cast<int>(std::size(sizes));

// Every pair of sizes in (m, n), (n, k) and (m, k): Latin squares over m and n, with the rest by chance.
template <class TA, class TC>
void shapes_and_layouts(int one_in) {
    report note;
    sample chosen(one_in);
    random_source from(20);
    for (int square = 0; square < 2; ++square)
        for (int i = 0; i < size_count; ++i)
            for (int j = 0; j < size_count; ++j) {
                trial t = draw_trial(from);
                t.m = sizes[i], t.n = sizes[j], t.k = sizes[(i + j + 11 * square) % size_count];
                if (t.count > 1 && t.m * t.n * t.k > 40000) t.count = 1;
                if (chosen.next()) try_on_all<TA, TC>(note, t);
            }
}

// Shapes with one or two sides long enough to be blocked, and those with paths of their own.
template <class TA, class TC>
void long_and_thin(int one_in) {
    constexpr index_t shapes[][3] = {
        {300, 17, 23}, {17, 600, 9},   {5, 7, 2000},  {16, 16, 1100}, {1, 500, 64},
        {500, 1, 64},  {1, 1, 3000},   {1, 300, 300}, {300, 1, 300},  {2100, 3, 5},
        {3, 4200, 2},  {129, 65, 257}, {65, 130, 70}, {97, 101, 103}, {2, 2, 777},
        {700, 600, 1}, {24, 24, 400},  {8, 300, 260}, {260, 8, 300},  {33, 1025, 8},
        {200, 8, 1},   {96, 96, 96},   {1, 2000, 3},  {2000, 1, 3},   {40, 40, 513}};
    report note;
    sample chosen(one_in);
    random_source from(21);
    for (auto const& s : shapes)
        for (bool const by_columns : {false, true}) {
            trial t = draw_trial(from);
            t.m = s[0], t.n = s[1], t.k = s[2], t.count = 1;
            t.c.by_columns = by_columns;
            if (chosen.next()) try_on_all<TA, TC>(note, t);
        }
}

// alpha x beta x where E is x kind of data, at a few sizes.
template <class TA, class TC>
void factors_and_data(int one_in) {
    report note;
    sample chosen(one_in);
    random_source from(22);
    for (auto const alpha : {factor::zero, factor::one, factor::minus_one, factor::other})
        for (auto const beta : {factor::zero, factor::one, factor::minus_one, factor::other})
            for (auto const where : {added::in_place, added::same_view, added::apart})
                for (auto const data : {values::random, values::integers, values::positive, values::spread,
                                        values::cancellation}) {
                    trial t = draw_trial(from);
                    t.alpha = alpha, t.beta = beta, t.e_is = where, t.data = data;
                    t.m = 16 + from.below(33), t.n = 16 + from.below(33), t.k = 64 + from.below(40);
                    t.count = 1;
                    if (chosen.next()) try_on_all<TA, TC>(note, t);
                }
}

// Batches: none, one, some; A or B repeated; small matrices and others.
template <class TA, class TC>
void batches(int one_in) {
    report note;
    sample chosen(one_in);
    random_source from(23);
    for (index_t const count : {0, 1, 3, 17})
        for (bool const repeat_a : {false, true})
            for (bool const repeat_b : {false, true})
                for (index_t const size : {0, 1, 4, 8, 15, 32, 50}) {
                    trial t = draw_trial(from);
                    t.count = count, t.repeat_a = repeat_a, t.repeat_b = repeat_b;
                    t.m = size, t.n = size + from.below(3), t.k = size + from.below(3);
                    t.batch_gap = from.below(3);
                    if (count == 17 && size > 15) continue;
                    if (chosen.next()) try_on_all<TA, TC>(note, t);
                }
}

// Also says what is wrong with the bound, where `largest` is the largest error so far.
inline verdict judge_bound(trial const& t, verdict v, sg::bound bound, bool fp8, double& largest) {
    if (t.data == values::random) largest = v.observed;
    largest = std::max(largest, v.observed);
    bool const exact = fp8 && largest == 0; // sums of fp8 often fit into a float to the last bit
    bool const is_tolerance = bound.confidence < 1;
    if (t.data == values::positive && !exact && !is_tolerance && too_loose(bound, largest)) {
        std::ostringstream loose;
        loose << "  the bound is too loose: expected " << bound.expected << ", observed " << largest << '\n';
        v.wrong += loose.str();
    }
    return v;
}

// The bounds: not exceeded, and not a hundred times what is observed.
template <class TA, class TC>
void bounds(int one_in) {
    constexpr index_t shapes[][3] = {{64, 64, 64},    {64, 48, 200}, {16, 16, 64},   {20, 24, 1000},
                                     {100, 100, 100}, {67, 65, 129}, {16, 16, 1100}, {18, 25, 99},
                                     {48, 33, 65},    {24, 80, 256}};
    report note;
    sample chosen(one_in);
    random_source from(24);
    for (auto const& s : shapes)
        for (bool const plain : {true, false}) {
            trial t = draw_trial(from);
            t.m = s[0], t.n = s[1], t.k = s[2], t.count = 1;
            t.alpha = plain ? factor::one : factor::other, t.beta = plain ? factor::zero : factor::other;
            if (!chosen.next()) continue;
            std::vector<double> largest;
            for (auto const data : {values::spread, values::cancellation, values::random, values::positive}) {
                t.data = data;
                std::optional<prepared<TA, TC>> p;
                std::size_t which = 0;
                using problem = typename prepared<TA, TC>::problem;
                for_each_chosen<problem>(t.seed, [&](char const* name, auto const& policy) {
                    if (!p) p.emplace(t);
                    if (largest.size() <= which) largest.push_back(0);
                    note(name, t,
                         judge_bound(t, try_on(policy, *p), policy.error_bound(p->call.shape()),
                                     sg::is_fp8<TA>, largest[which++]));
                });
            }
        }
}

inline void check_status(char const* name, int count, sg::status const& s) {
    if (!s) FAIL_CHECK(name << ": a group of " << count << ": " << s.error().what());
}

// Groups: products of any sizes by one call, empty ones, batches and k = 0 among them.
template <class TA, class TC>
void groups(int one_in) {
    report note;
    sample chosen(one_in);
    random_source from(30);
    for (int x = 0; x < 60; ++x) {
        using problem = typename prepared<TA, TC>::problem;
        bool const is_chosen = chosen.next();
        std::vector<trial> trials;
        std::list<prepared<TA, TC>> all;
        std::vector<problem> calls;
        int const count = x % 10 == 9 ? 60 : from.below(9), longest = x % 10 == 9 ? 20 : 70;
        for (int i = 0; i < count; ++i) {
            trial t = draw_trial(from);
            t.m = from.below(longest), t.n = from.below(longest), t.k = from.below(longest);
            if (from.below(20) == 0) t.k += 200;
            trials.push_back(t);
        }
        if (!is_chosen) continue;
        for_each_chosen<problem>(static_cast<std::uint64_t>(x), [&](char const* name, auto const& policy) {
            if (all.empty())
                for (trial const& t : trials) calls.push_back(all.emplace_back(t).call);
            for (auto& p : all) p.c.restore(p.c_before);
            check_status(name, count, run_on(policy, sg::as_group(calls)));
            for (auto& p : all) note(name, p.what, judge(p, policy.error_bound(p.call.shape())));
        });
    }
}

// ---- epilogues -------------------------------------------------------------------------------------------

// Depends on the place as well as on the value, so that a wrong index shows.
struct place_marker {
    template <class X>
    X operator()(X x, index_t i, index_t j) const {
        return x + X(static_cast<sg::real_t<X>>((3 * i + 5 * j) % 8));
    }
    template <class To>
    void device(To& to) const {
        to("x + real_value((3 * i + 5 * j) % 8)");
    }
};

// What is wrong with the C of `p` after a call with this epilogue.
template <class TA, class TC>
verdict judge_epilogue(prepared<TA, TC>& p, any_epilogue<sg::accumulator_t<TA>> const& epilogue, double ulps,
                       sg::status const& ran) {
    using S = sg::accumulator_t<TA>;
    verdict v;
    std::ostringstream wrong;
    if (!ran) wrong << "  failed: " << ran.error().what() << '\n';
    if (!p.c.guards_hold(p.c_before)) wrong << "  a byte that is not of C was written\n";
    std::size_t cell = 0;
    bool shown = false;
    p.c.each([&](TC& x, index_t, index_t i, index_t j) {
        auto const sum = p.exact[cell++];
        S const before = make<S>(static_cast<double>(sum.re), static_cast<double>(sum.im));
        TC const want = static_cast<TC>(epilogue(before, i, j));
        auto const w = widen<double>(want), g = widen<double>(x);
        double const off = size_of(number<double>{g.re - w.re, g.im - w.im});
        if (!(off <= ulps * 2 * sg::unit_roundoff<TC>() * (size_of(w) + 1e-3)) && !shown) {
            wrong << "  C(" << i << ", " << j << ") is " << g.re << ", should be " << w.re << '\n';
            shown = true;
        }
    });
    v.wrong = wrong.str();
    return v;
}

template <class TA, class TC, class Epilogue>
auto with_epilogue(prepared<TA, TC> const& p, Epilogue const& epilogue) {
    using types = operands_of<TA>;
    return sg::dense_problem<typename types::a, typename types::b, TC, sg::host_memory, Epilogue>{
        p.call.alpha, p.call.a,      p.call.b,      p.call.beta,   p.call.e,      p.call.c, epilogue,
        p.call.count, p.call.a_step, p.call.b_step, p.call.e_step, p.call.c_step, 0,        0};
}

// An epilogue over trials with exact sums: the result is known to the last bit, or nearly so for gelu.
template <class TA, class TC, class Epilogue>
void epilogue_on_all(report& note, trial const& t, Epilogue const& epilogue, double ulps) {
    prepared<TA, TC> p(t);
    if (!p.is_exact) return;
    any_epilogue<sg::accumulator_t<TA>> const any(epilogue);
    auto const itself = with_epilogue(p, epilogue);
    auto const erased = with_epilogue(p, any);
    for_each_chosen<std::remove_cvref_t<decltype(itself)>>(t.seed, [&](char const* name, auto const& policy) {
        auto const run = [&](auto const& call) {
            p.c.restore(p.c_before);
            // A tolerance of sums says little about elements behind an epilogue.
            bool const is_tolerance = policy.error_bound(p.call.shape()).confidence < 1;
            double const allowed = is_tolerance ? std::numeric_limits<double>::infinity() : ulps;
            note(name, t, judge_epilogue(p, any, allowed, run_on(policy, call)));
        };
        if constexpr (takes_any_epilogue<std::remove_cvref_t<decltype(policy)>>)
            run(erased);
        else
            run(itself);
    });
}

template <class TA, class TC, class Epilogue>
void one_epilogue(Epilogue const& epilogue, int trials, double ulps = 0) {
    report note;
    random_source from(25);
    for (int x = 0; x < trials; ++x) {
        trial t = draw_trial(from);
        t.data = values::integers;
        t.m = sizes[from.below(size_count)], t.n = sizes[from.below(size_count)],
        t.k = sizes[from.below(size_count)];
        if (t.alpha == factor::zero && x % 4 != 0) t.alpha = factor::one;
        epilogue_on_all<TA, TC>(note, t, epilogue, ulps);
    }
}

// Values for bias(), long enough for every size here.
template <class T>
std::vector<T> bias_values() {
    std::vector<T> v;
    for (int i = 0; i < 80; ++i) v.push_back(make<T>(i % 7 - 3, i % 2));
    return v;
}

// Those that every type has, in one chain: a bias, a place, a scale for each column.
template <class TA, class TC>
void epilogue_chain(int trials) {
    using S = sg::accumulator_t<TA>;
    auto const v = bias_values<S>();
    one_epilogue<TA, TC>(sg::then(sg::bias(v), place_marker{}, sg::scale(v)), trials);
}
// Each of them by itself.
template <class TA, class TC>
void epilogues_one_by_one(int trials) {
    using S = sg::accumulator_t<TA>;
    auto const v = bias_values<S>();
    one_epilogue<TA, TC>(sg::bias(v), trials);
    one_epilogue<TA, TC>(sg::bias(v, sg::along::rows), trials);
    one_epilogue<TA, TC>(sg::relu, trials);
    one_epilogue<TA, TC>(sg::gelu, trials, 8);
    one_epilogue<TA, TC>(sg::clamp(S(-1), S(2)), trials);
    one_epilogue<TA, TC>(sg::scale(S(-0.5)), trials);
    one_epilogue<TA, TC>(sg::scale(v, sg::along::rows), trials);
    one_epilogue<TA, TC>(place_marker{}, trials);
    one_epilogue<TA, TC>(sg::then(sg::bias(v), sg::relu), trials);
}

// ---- determinism -----------------------------------------------------------------------------------------

// The same bits for any number of threads, at sizes where the work is shared out in every way there is.
template <class TA, class TC>
void same_bits_for_any_team(int one_in) {
    constexpr index_t shapes[][3] = {{200, 200, 200}, {64, 64, 4096}, {600, 16, 600}, {16, 600, 600},
                                     {1, 2000, 500},  {2000, 1, 500}, {1, 500, 2000}, {3, 3, 20000},
                                     {301, 299, 7},   {7, 5, 3}};
    sample chosen(one_in);
    random_source from(26);
    int compared = 0;
    for (auto const& s : shapes)
        for (index_t const count : {1, 3}) {
            trial t = draw_trial(from);
            t.m = s[0], t.n = s[1], t.k = s[2], t.count = count, t.data = values::random;
            t.alpha = factor::other;
            t.a = draw_form(from), t.b = draw_form(from), t.c = draw_form(from);
            if (!chosen.next()) continue;
            std::optional<prepared<TA, TC>> p;
            for_each_team([&](char const* name, auto const& first, auto const&... others) {
                using P = std::remove_cvref_t<decltype(first)>;
                if constexpr (is_tried<P, typename prepared<TA, TC>::problem>()) {
                    if (!chosen_policies().takes(name)) return;
                    if (!p) p.emplace(t, unsolved);
                    auto bits_of = [&](auto const& policy) {
                        p->c.restore(p->c_before);
                        sg::run(policy, p->call).or_throw();
                        return p->c.bytes();
                    };
                    auto const bits = bits_of(first);
                    for (bool const same : {((void)bits_of(others), p->c.same_bytes(bits))...}) {
                        ++compared;
                        if (!same) FAIL_CHECK(name << ": not the same bits: " << describe(t));
                    }
                }
            });
        }
    CHECK((compared > 0 || !chosen_policies().takes_all()));
}

} // namespace trials

#define STRATAGEMM_CONFORMANCE_CASE(TA, TC, NAME, TAGS, FULL, QUICK)                                         \
    TEST_CASE(#TA " to " #TC ": " NAME, TAGS) { FULL; }                                                      \
    TEST_CASE(#TA " to " #TC ": " NAME ", a sample", "[quick][sample]" TAGS) { QUICK; }

#define STRATAGEMM_CONFORMANCE(TA, TC, TAGS)                                                                 \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "shapes and layouts", TAGS, (shapes_and_layouts<TA, TC>(1)),         \
                                (shapes_and_layouts<TA, TC>(31)))                                            \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "long and thin", TAGS, (long_and_thin<TA, TC>(1)),                   \
                                (long_and_thin<TA, TC>(7)))                                                  \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "alpha, beta and data", TAGS, (factors_and_data<TA, TC>(1)),         \
                                (factors_and_data<TA, TC>(11)))                                              \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "batches", TAGS, (batches<TA, TC>(1)), (batches<TA, TC>(5)))         \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "groups", TAGS, (groups<TA, TC>(1)), (groups<TA, TC>(15)))           \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "error bounds", TAGS, (bounds<TA, TC>(1)), (bounds<TA, TC>(5)))      \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "random products", TAGS, (random_products<TA, TC>(500)),             \
                                (random_products<TA, TC>(30)))                                               \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "a chain of epilogues", TAGS, (epilogue_chain<TA, TC>(60)),          \
                                (epilogue_chain<TA, TC>(6)))                                                 \
    STRATAGEMM_CONFORMANCE_CASE(TA, TC, "the same bits for any number of threads", TAGS,                     \
                                (same_bits_for_any_team<TA, TC>(1)), (same_bits_for_any_team<TA, TC>(7)))
