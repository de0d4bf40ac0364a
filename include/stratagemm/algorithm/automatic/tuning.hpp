// sg::tune(policy, shapes): measures the candidates of `automatic` for products of these shapes on this machine, and keeps
// the times in the cache. Later choices for these shapes, in this process and in others, are made by the times.
//
//   sg::automatic const pick{gpu};
//   sg::tune(pick, std::vector{sg::shape<float>{m, n, k}});
//
// No other function measures. The candidates that keep to the options of the policy take turns, with random operands in the
// memory of the policy, and the median of each counts. A plan that was made before is to be made again.
#pragma once

#include "../../core/matrix.hpp"
#include "../../device/program_store.hpp"
#include "../automatic.hpp"

#include <algorithm>
#include <chrono>

STRATAGEMM_BEGIN

struct automatic_tuned {
    int measured = 0; // products
    int changed = 0;  // those for which something else runs now
};

namespace automatic_parts {

// Operands of a product, in memory that a policy reserved.
template <class Policy, class S>
class trial {
    using space = typename Policy::space;
    using problem = plain_product<S, space>;

public:
    trial(Policy const& policy, S const& s) : policy_(policy), s_(s) {}

    status reserve() {
        auto const bytes = [&]<class T>(T, index_t rows, index_t cols) {
            return Policy::arena::rounded(static_cast<std::size_t>(rows * cols * s_.count) * sizeof(T));
        };
        footprint f;
        space::share(f) = bytes(typename S::a_type{}, s_.m, s_.k) + bytes(typename S::b_type{}, s_.k, s_.n) +
                          bytes(typename S::c_type{}, s_.m, s_.n);
        auto made = policy_.reserve(f);
        if (!made) return made.take_status();
        memory_ = std::move(*made);
        p_.count = s_.count, p_.beta = typename problem::scalar(s_.adds ? 1 : 0);
        if (status x = random(s_.m, s_.k, 1, p_.a, p_.a_step); !x) return x;
        if (status x = random(s_.k, s_.n, 2, p_.b, p_.b_step); !x) return x;
        if (status x = random(s_.m, s_.n, 3, p_.c, p_.c_step); !x) return x;
        p_.e = p_.c, p_.e_step = p_.c_step;
        return {};
    }

    // Rounds until the time is over, at least three: the median of each candidate.
    times measure(double seconds) {
        using clock = std::chrono::steady_clock;
        auto const end = clock::now() + std::chrono::duration<double>(seconds);
        struct samples {
            std::uint64_t candidate;
            int times;
            std::vector<double> seconds;
        };
        std::vector<samples> all;
        auto const timed = [](auto const& run, int times) {
            auto const start = clock::now();
            for (int i = 0; i < times; ++i)
                if (!run(i + 1 == times)) return -1.0;
            return std::chrono::duration<double>(clock::now() - start).count() / times;
        };
        for (int round = 0; round < 3 || clock::now() < end; ++round) {
            std::size_t at = 0;
            policy_.each_way(p_, [&](std::string const& description, auto const& run) {
                if (round == 0) { // compiles, and touches memory
                    double const once = timed(run, 1) < 0 ? -1 : timed(run, 1);
                    all.push_back({hash_bytes(description),
                                   once < 0      ? 0
                                   : once > 1e-3 ? 1
                                                 : static_cast<int>(1e-3 / once) + 1,
                                   {}});
                }
                samples& x = all[at++];
                if (x.times > 0) x.seconds.push_back(timed(run, x.times));
            });
        }
        times found;
        for (samples& x : all) {
            if (x.seconds.empty()) continue;
            std::sort(x.seconds.begin(), x.seconds.end());
            if (x.seconds.front() > 0) found.all.push_back({x.candidate, x.seconds[x.seconds.size() / 2]});
        }
        return found;
    }

private:
    template <class V>
    status random(index_t rows, index_t cols, unsigned seed, V& view, index_t& step) {
        using T = std::remove_const_t<typename V::element_type>;
        index_t const count = rows * cols * s_.count;
        auto const to = memory_.template take<T>(count);
        view = {to, rows, cols, cols, 1};
        step = s_.count > 1 ? rows * cols : 0;
        matrix<T> const numbers(1, count, [seed](index_t, index_t) mutable {
            seed = seed * 1664525u + 1013904223u;
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(static_cast<int>(seed >> 24) - 128);
            else
                return static_cast<T>(static_cast<real_t<T>>(static_cast<double>(seed >> 8) * 0x1p-23 - 1));
        });
        auto const leaf = policy_.leaf();
        if constexpr (device_leaf<leaf_of<Policy>, space>)
            return leaf.upload(numbers.data(), to, count);
        else
            return leaf.copy(numbers.view(), stratagemm::view<T, space>{to, 1, count, count, 1});
    }

    Policy const& policy_;
    S s_;
    typename Policy::arena memory_;
    problem p_;
};

} // namespace automatic_parts

// `seconds` are for each shape.
template <policy First, policy... Others, class Shapes>
result<automatic_tuned> tune(automatic<First, Others...> const& policy, Shapes const& shapes,
                             double seconds = 1) {
    using policy_type = automatic<First, Others...>;
    using S = std::remove_cvref_t<decltype(*std::begin(shapes))>;
    static_assert(automatic_parts::is_of_matrices<S>, "stratagemm: tune() measures products of matrices");
    if constexpr (!named_leaf<leaf_of<policy_type>>) {
        return error(
            errc::unsupported,
            "tune: the backend does not name its machine (core/leaf.hpp), so that no time can be kept");
    } else {
        auto const store = program_store::standard();
        if (status s = store.ready(); !s) return s;
        automatic_tuned done;
#ifdef __cpp_exceptions
        try {
#endif
            for (S const& s : shapes) {
                std::string const before = policy.describe(s);
                automatic_parts::trial<policy_type, S> trial(policy, s);
                if (status x = trial.reserve(); !x) return x;
                automatic_parts::times const found = trial.measure(seconds);
                auto const key = automatic_parts::key_of_times<leaf_of<policy_type>, S>(policy.leaf());
                automatic_parts::known_times::keep(store, key, automatic_parts::name_of_product(s), found);
                policy.forget();
                ++done.measured, done.changed += policy.describe(s) != before;
            }
#ifdef __cpp_exceptions
        } catch (error const& e) { // no memory for the operands
            return e;
        } catch (std::bad_alloc const&) {
            return error(errc::memory, "tune: no host memory is left");
        }
#endif
        return done;
    }
}

STRATAGEMM_END
