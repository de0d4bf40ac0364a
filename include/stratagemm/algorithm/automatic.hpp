// The policy that chooses: among what the library has over a backend, or among policies of the caller's own.
//
//   sg::gemm(sg::automatic{cpu}, a, b, c);
//   sg::gemm(sg::automatic{cpu, {.normwise = true}}, a, b, c);              strassen, too
//   sg::gemm(sg::automatic{sg::ozaki{sg::split{gpu}}, gpu}, a, b, c);        among these two
//   std::cout << sg::automatic{cpu}.explain(sg::shape<double>{m, n, k});    what would run, and why
//
// A caller may rely on this:
//   - No result is less accurate than that of the backend, unless an option says so. Policies that are bounded by norms
//     alone (strassen) take .normwise, approximate ones .tolerance; .bound is for a caller who needs less than the backend
//     gives. Whether a policy keeps to that is read from its error_bound().
//   - Nothing is measured within a call: the estimates decide, and the backend runs unless another policy is estimated to be
//     faster by some per cent. Workspace is bounded by an option, or by the device's memory.
//   - The choice follows from the shape, so that the same call gives the same bits, for any number of threads.
//   - workspace, error_bound, estimate and describe are those of what is chosen.
// A choice is kept for the next product of that shape, by all copies of the policy: a program makes one and keeps it.
#pragma once

#include "../core/keep.hpp"
#include "../core/layer.hpp"
#include "automatic/arenas.hpp"
#include "automatic/candidates.hpp"
#include "automatic/choices.hpp"
#include "automatic/explanation.hpp"
#include "automatic/times.hpp"

STRATAGEMM_BEGIN

template <policy First, policy... Others>
class automatic {
    using given = std::tuple<First, Others...>;
    using list = automatic_parts::candidates_from<typename First::space, First, Others...>;
    using objection = automatic_parts::objection;
    using limits = automatic_parts::limits;
    using table = automatic_parts::choices;
    static constexpr int count = static_cast<int>(std::tuple_size_v<list>), none = -1;
    template <int I>
    using candidate = std::tuple_element_t<static_cast<std::size_t>(I), list>;
    // The last candidate has another memory, if any has.
    static constexpr bool has_crossing = automatic_parts::crosses<candidate<count - 1>>;

public:
    using space = typename First::space;
    // Over backends alone, the ways of an operand are among the candidates.
    static constexpr bool chooses_ways = is_backend<First> && (is_backend<Others> && ...);
    using arena = typename automatic_parts::arena_type<typename First::arena, candidate<count - 1>>::type;

    // What every candidate for the types takes.
    template <class P>
    static constexpr verdict accepts = automatic_parts::answer_of<list, P>;
    template <class P>
    static constexpr verdict accepts_operands = automatic_parts::answer_of<list, P>;

    explicit automatic(First first, Others... others, automatic_options options = {})
        : automatic(given(first, others...), options, shared<table>(table{})) {}

    // The same choice over policies that differ from these in nothing that is estimated, such as in the stream of a device.
    // Both share what was chosen.
    automatic over(First first, Others... others) const {
        return {given(first, others...), options_, known_};
    }

    auto leaf() const { return first().leaf(); }
    result<arena> reserve(footprint f) const {
        if constexpr (!has_crossing) {
            return first().reserve(f);
        } else {
            auto own = first().reserve({.host = f.host});
            if (!own) return own.take_status();
            if (!arena::crosses(f)) return arena(std::move(*own), {});
            auto there = std::get<count - 1>(policies_).reserve(f);
            if (!there) return there.take_status();
            return arena(std::move(*own), std::move(*there));
        }
    }

    template <class S>
    footprint workspace(S const& s) const;
    template <class S>
    bound error_bound(S const& s) const;
    template <class S>
    double estimate(S const& s) const;
    template <class S>
    std::string describe(S const& s) const;

    // What takes operands on the host.
    auto from_host() const {
        if constexpr (std::is_same_v<decltype(for_host_), std::tuple<>>)
            return staged<automatic>(*this);
        else
            return for_host_;
    }

    // All candidates for products of a shape, with what is predicted of them, and why each is taken or not.
    template <class S>
    explanation explain(S const& s) const;

    // What is wrong with the options, or why no candidate keeps to them.
    template <class S>
    status check(S const& s) const;

    // f(policy) for the policy that does the product: the choice is looked up once, whatever f asks of the policy.
    template <class P, class F>
    status by_chosen(P const& p, F const& f) const {
        auto const s = p.shape();
        status done;
        if (!with_chosen(s, [&](auto const& policy) { done = f(policy); })) return check(s);
        return done;
    }
    // A call is that of the policy that is chosen.
    template <class P>
    status hand_over(P const& p, bool usual) const {
        return by_chosen(p, [&](auto const& policy) -> status {
            if constexpr (requires { policy.try_small(p); })
                if (usual && policy.try_small(p)) return {};
            return run_in_workspace(policy, p, true); // it was checked
        });
    }
    template <class P>
    status operator()(P const& p, arena& memory) const;

    // For tune(): f(description, run) for each candidate that keeps to the options; run(last) multiplies, and waits after
    // the last product.
    template <class P, class F>
    void each_way(P const& p, F const& f) const {
        auto const s = p.shape();
        using S = std::remove_const_t<decltype(s)>;
        limits const most = limits_for(s);
        each_candidate<S>([&](int i, auto const& policy) {
            if (objection_to(i, policy, s, most) != objection::none) return;
            auto memory = reserve(policy.workspace(s));
            if (!memory) return;
            f(policy.describe(to_choose_by(s)), [&](bool last) {
                status done = run_one(policy, p, *memory);
                return done && (!last || leaf().synchronize());
            });
        });
    }
    // What was chosen until now.
    void forget() const {
        if (known_) known_->forget();
    }

private:
    // ---- candidates ----------------------------------------------------------------------------------------

    // f(number, what multiplies) for each candidate for products of S.
    template <class S, class F>
    void each_candidate(F const& f) const {
        auto const one = [&]<int I>() {
            if constexpr (automatic_parts::is_candidate<candidate<I>, S>)
                f(I, automatic_parts::performer_for<S>(std::get<static_cast<std::size_t>(I)>(policies_)));
        };
        [&]<int... I>(std::integer_sequence<int, I...>) { (one.template operator()<I>(), ...); }
        (std::make_integer_sequence<int, count>{});
    }
    // The first backend among them, which is the measure; `none` if there is no backend.
    template <class S>
    static constexpr int backend_for() {
        int at = none;
        [&]<int... I>(std::integer_sequence<int, I...>) {
            ((at == none && is_backend<candidate<I>> && automatic_parts::is_candidate<candidate<I>, S>
                  ? void(at = I)
                  : void()),
             ...);
        }
        (std::make_integer_sequence<int, count>{});
        return at;
    }
    First const& first() const { return std::get<0>(policies_); }

    // ---- choosing ------------------------------------------------------------------------------------------

    // Another policy than the backend has to be this much faster by its estimate. For 238 products on an H200 any factor
    // from 0.85 to 1.1 comes within 0.3% of any other in the mean (`./dev bench automatic cuda` prints what each comes
    // to): this one spares a caller workspace that gains nothing.
    static constexpr double worth_changing = 0.97;

    template <class S>
    int choice_for(S const& s) const {
        if constexpr (!automatic_parts::is_of_matrices<S>) return choose(s);
        auto const key = automatic_parts::product_key::of(s);
        if (!known_) return choose(s);
        int known = known_->find(key);
        if (known == table::unknown) known_->keep(key, known = choose(s));
        return known;
    }
    // By stored times, where there are any; else by estimates, a candidate of another memory against the best of this one.
    template <class S>
    [[gnu::cold]] int choose(S const& s) const;
    // The fastest candidate that keeps to the options. seconds_by(number, policy) is negative for no candidate.
    template <class S, class F>
    int fastest(S const& s, F const& seconds_by) const {
        double seconds[count];
        for (double& x : seconds) x = infinite<double>();
        each_candidate<S>([&](int i, auto const& policy) {
            if (double const x = seconds_by(i, policy); x >= 0) seconds[i] = x;
        });
        for (;;) {
            int best = 0;
            for (int i = 1; i < count; ++i)
                if (seconds[i] < seconds[best]) best = i;
            if (!(seconds[best] < infinite<double>())) return none;
            if (keeps_to_options(best, s)) return best;
            seconds[best] = infinite<double>();
        }
    }
    template <class S>
    bool keeps_to_options(int which, S const& s) const {
        bool keeps = false;
        each_candidate<S>([&](int i, auto const& policy) {
            if (i != which) return;
            bool const asks = i != backend_for<S>() || options_.bound > 0 || options_.workspace_bytes > 0;
            keeps = objection_to(i, policy, s, asks ? limits_for(s) : limits{}) == objection::none;
        });
        return keeps;
    }
    template <class S>
    automatic_parts::times measured(S const& s) const {
        if constexpr (automatic_parts::is_of_matrices<S>)
            return automatic_parts::times_for(leaf(), s);
        else
            return {};
    }
    // How two candidates are compared: on one thread, and where one is a device, with all.
    template <class S>
    static S with_all_threads(S s) {
        s = to_choose_by(s);
        s.alone = false;
        return s;
    }
    template <class S>
    double times_as_long(int i, int chosen, S const& s) const {
        bool const crosses = has_crossing && (i == count - 1 || chosen == count - 1);
        S const by = crosses ? with_all_threads(s) : to_choose_by(s);
        return seconds_of(i, by) / seconds_of(chosen, by);
    }
    template <class S>
    limits limits_for(S const& s) const {
        double const asked = options_.bound > 0 ? options_.bound : infinite<double>();
        limits most{asked, asked, infinite<double>()};
        constexpr int backend = backend_for<S>();
        if (backend != none && options_.bound == 0)
            each_candidate<S>([&](int i, auto const& policy) {
                if (i == backend) most.bound = automatic_parts::same_accuracy * policy.error_bound(s).worst;
            });
        if (options_.workspace_bytes > 0) {
            most.workspace = static_cast<double>(options_.workspace_bytes);
        } else if constexpr (device_leaf<leaf_of<First>, space>) {
            // An operand that is no matrix takes far less memory than one.
            double const operands = automatic_parts::is_of_matrices<S> ? operand_bytes(s) : 0,
                         left = static_cast<double>(leaf().limits().memory_bytes) - operands;
            most.workspace = left > 0 ? left : 0;
        }
        return most;
    }
    template <class P, class S>
    objection objection_to(int i, P const& policy, S const& s, limits const& most) const {
        if constexpr (requires { policy.check(s); })
            if (!policy.check(s)) return objection::refused;
        bool const is_measure = i == backend_for<S>();
        if (!is_measure || options_.bound > 0) {
            objection const x =
                automatic_parts::objection_to(policy.error_bound(s), is_measure, most, options_);
            if (x != objection::none) return x;
        }
        if (is_measure && options_.workspace_bytes == 0) return objection::none; // others take more
        footprint const f = policy.workspace(s);
        return static_cast<double>(f.host + f.pinned + f.device) > most.workspace ? objection::workspace
                                                                                  : objection::none;
    }
    template <class S>
    double seconds_of(int which, S const& s) const {
        double seconds = 0;
        each_candidate<S>([&](int i, auto const& policy) {
            if (i == which) seconds = policy.estimate(s);
        });
        return seconds;
    }
    template <class P, class S>
    explanation::candidate explained(int i, P const& policy, S const& s, limits const& most) const {
        explanation::candidate x;
        x.description = policy.describe(s), x.name = automatic_parts::name_in(x.description);
        x.seconds = policy.estimate(s), x.workspace = policy.workspace(s), x.error = policy.error_bound(s);
        status refusal;
        if constexpr (requires { policy.check(s); }) refusal = policy.check(s);
        x.reason = automatic_parts::text_of(objection_to(i, policy, s, most), most, refusal);
        return x;
    }

    // f(what multiplies); false if nothing keeps to the options.
    template <class S, class F>
    bool with_chosen(S const& s, F const& f) const {
        int const chosen = choice_for(s);
        each_candidate<S>([&](int i, auto const& policy) {
            if (i == chosen) f(policy);
        });
        return chosen != none;
    }
    template <class Policy, class P>
    static status run_one(Policy const& policy, P const& p, arena& memory) {
        auto ready = prepare(policy, p);
        if (!memory.fits(ready.workspace()))
            return failure(errc::argument,
                           "automatic: tuning changed the choice since the workspace was sized: call "
                           "reserve() again, or make the plan again");
        if constexpr (automatic_parts::crosses<Policy>)
            return ready.run(memory.of_staged());
        else
            return ready.run(memory);
    }

    automatic(given const& all, automatic_options const& options, shared<table> known)
        : policies_(automatic_parts::candidates_of<space>(options, all)),
          for_host_(automatic_parts::with_host_first<space>(options, all)), options_(options),
          known_(std::move(known)) {}

    list policies_;
    [[no_unique_address]] automatic_parts::host_first<space, First, Others...> for_host_;
    automatic_options options_;
    shared<table> known_;
};

// What asks candidates is not in the class: a compiler does not compile functions anew that stratagemm::kernels holds, unless
// they are inline.

template <policy First, policy... Others>
template <class S>
footprint automatic<First, Others...>::workspace(S const& s) const {
    footprint all;
    with_chosen(s, [&](auto const& policy) { all = policy.workspace(s); });
    return all;
}

template <policy First, policy... Others>
template <class S>
bound automatic<First, Others...>::error_bound(S const& s) const {
    bound b;
    with_chosen(s, [&](auto const& policy) { b = policy.error_bound(s); });
    return b;
}

template <policy First, policy... Others>
template <class S>
double automatic<First, Others...>::estimate(S const& s) const {
    double seconds = infinite<double>();
    with_chosen(s, [&](auto const& policy) { seconds = policy.estimate(s); });
    return seconds;
}

template <policy First, policy... Others>
template <class S>
std::string automatic<First, Others...>::describe(S const& s) const {
    std::string text = "nothing keeps to the options";
    with_chosen(s, [&](auto const& policy) { text = policy.describe(s); });
    return "automatic: " + text;
}

template <policy First, policy... Others>
template <class S>
explanation automatic<First, Others...>::explain(S const& s) const {
    explanation e{automatic_parts::text_of(s), {}};
    limits const most = limits_for(s);
    int const chosen = choice_for(s);
    auto const times = measured(s);
    each_candidate<S>([&](int i, auto const& policy) {
        e.candidates.push_back(explained(i, policy, s, most));
        auto& x = e.candidates.back();
        x.taken = i == chosen, x.measured = times.of(policy.describe(to_choose_by(s)));
    });
    auto const* const taken = e.taken();
    int at = 0;
    each_candidate<S>([&](int i, auto const&) {
        auto& x = e.candidates[static_cast<std::size_t>(at++)];
        bool const by_times = taken && taken->measured > 0;
        if (x.taken)
            x.reason = by_times                ? "measured to be the fastest"
                       : i == backend_for<S>() ? "nothing else is faster by enough"
                                               : "the fastest";
        if (x.reason.empty() && (!by_times || x.measured > 0))
            x.reason = automatic_parts::text_of_time(by_times ? x.measured / taken->measured
                                                              : times_as_long(i, chosen, s));
        if (x.reason.empty()) x.reason = "was not measured";
    });
    return e;
}

template <policy First, policy... Others>
template <class S>
status automatic<First, Others...>::check(S const& s) const {
    if (!(options_.tolerance >= 0 && options_.tolerance < 1))
        return failure(errc::argument, "automatic: `tolerance` is at least 0 and less than 1");
    if (!(options_.bound >= 0)) return failure(errc::argument, "automatic: `bound` must not be negative");
    if (choice_for(s) != none) return {};
    return failure(errc::argument, "automatic",
                   "no candidate keeps to the options for this product; explain() says why");
}

template <policy First, policy... Others>
template <class P>
status automatic<First, Others...>::operator()(P const& p, arena& memory) const {
    return by_chosen(p, [&](auto const& policy) { return run_one(policy, p, memory); });
}

template <policy First, policy... Others>
template <class S>
int automatic<First, Others...>::choose(S const& s) const {
    S const by = to_choose_by(s);
    auto const times = measured(s);
    int best = none;
    if (!times.all.empty())
        best = fastest(s, [&](int, auto const& policy) { return times.of(policy.describe(by)); });
    if (best != none) return best;
    best = fastest(s, [&]<class Policy>(int i, Policy const& policy) {
        constexpr int backend = backend_for<S>();
        if constexpr (backend != none) // estimates of devices take longest, and this one has many
            if (!options_.normwise && automatic_parts::only_by_norms<Policy, candidate<backend>>) return -1.0;
        if constexpr (automatic_parts::crosses<Policy>)
            return -1.0;
        else
            return policy.estimate(by) * (i == backend_for<S>() ? worth_changing : 1);
    });
    if constexpr (has_crossing && automatic_parts::is_candidate<candidate<count - 1>, S>) {
        S const all = with_all_threads(s);
        bool const faster =
            best == none || seconds_of(count - 1, all) < worth_changing * seconds_of(best, all);
        if (faster && keeps_to_options(count - 1, s)) best = count - 1;
    }
    return best;
}

template <policy First, policy... Others>
automatic(First, Others...) -> automatic<First, Others...>;
template <policy A>
automatic(A, automatic_options) -> automatic<A>;
template <policy A, policy B>
automatic(A, B, automatic_options) -> automatic<A, B>;
template <policy A, policy B, policy C>
automatic(A, B, C, automatic_options) -> automatic<A, B, C>;
template <policy A, policy B, policy C, policy D>
automatic(A, B, C, D, automatic_options) -> automatic<A, B, C, D>;
// A choice among choices is one, and not a copy of one.
template <policy First, policy... Others>
automatic(automatic<First, Others...>) -> automatic<automatic<First, Others...>>;

// Operands on the host: the host's policies run, or a device's, staged.
template <policy First, policy... Others>
requires(!std::is_same_v<typename First::space, host_memory> &&
         automatic_parts::has_staged<
             automatic<First, Others...>>) struct way_from<automatic<First, Others...>, host_memory> {
    static auto through(automatic<First, Others...> const& policy) { return policy.from_host(); }
};

STRATAGEMM_END

#ifdef STRATAGEMM_COMPILED_KERNELS
#    include "automatic/instances.hpp" // declares instances of the template above
#endif
