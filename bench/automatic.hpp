// What `automatic` chooses for random shapes and types, against every policy that it could have chosen, each made to do
// what it is for: with a number of Strassen's levels, and int8 or bfloat16 products whether or not they are estimated to pay.
// Nothing is left out: a way that is estimated to be slow is timed, too.
//
// A program of a backend says how products of it are made and waited for (see bench/automatic.cpp).
#pragma once

#include "median.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace bench {

namespace sg = stratagemm;
using sg::index_t;

// A backend whose own products of wide types are estimated to take for ever, so that layers never leave a product to it.
template <class Base>
struct never : Base {
    explicit never(Base base) : Base(std::move(base)) {}
    template <class S>
    double estimate(S const& s) const {
        if constexpr (sizeof(typename S::a_type) <= 2)
            return Base::estimate(s);
        else
            return std::numeric_limits<double>::infinity();
    }
};

struct sides {
    index_t m, n, k;
};

// Half of the shapes have any three sides, and a quarter each are near a square, and near one with a long or short k.
inline sides random_sides(std::mt19937_64& from, index_t longest, double most_work) {
    auto const uniform = [&] { return static_cast<double>(from() >> 11) * 0x1p-53; };
    auto const side = [&](double low, double high) {
        return static_cast<index_t>(std::exp(std::log(low) + uniform() * (std::log(high) - std::log(low))));
    };
    for (;;) {
        auto const most = static_cast<double>(longest);
        sides s{side(1, most), side(1, most), side(1, most)};
        int const kind = static_cast<int>(from() % 4);
        if (kind >= 2) {
            double const n = static_cast<double>(side(64, most));
            auto const near = [&] {
                return std::max<index_t>(1, static_cast<index_t>(n * (0.7 + 0.6 * uniform())));
            };
            s = {near(), near(), kind == 2 ? near() : s.k};
        }
        if (static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) <= most_work)
            return s;
    }
}

// A way to do a product: what it is estimated to take, and how it is run so many times.
struct way {
    std::string name;
    bool normwise = false;
    double predicted = 0;
    std::function<bool(int times)> run;
    std::vector<double> seconds{};

    double time(int times) {
        auto const start = std::chrono::steady_clock::now();
        bool const done = run(times);
        std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start;
        return done ? elapsed.count() / times : std::numeric_limits<double>::infinity();
    }
};

// Times all in turn, round after round; those that are far behind have fewer rounds. What fails is taken off.
inline void race(std::vector<way>& ways, double sample) {
    double best = std::numeric_limits<double>::infinity();
    std::vector<double> first;
    for (way& w : ways) {
        w.time(1); // compiles, and touches memory
        first.push_back(w.time(1));
        best = std::min(best, first.back());
    }
    for (int round = 0; round < 9; ++round)
        for (std::size_t i = 0; i < ways.size(); ++i) {
            if (!std::isfinite(first[i]) || (round >= 3 && first[i] > 1.5 * best)) continue;
            ways[i].seconds.push_back(ways[i].time(std::max(1, static_cast<int>(sample / first[i]))));
        }
    std::erase_if(ways, [](way const& w) { return w.seconds.empty(); });
}

// Ratios of two times.
class ratios {
public:
    void add(double ratio) { all_.push_back(ratio); }
    void print(char const* what) {
        if (all_.empty()) return;
        std::sort(all_.begin(), all_.end());
        double logs = 0;
        for (double const x : all_) logs += std::log(x);
        auto const at = [&](double part) {
            return all_[std::min(all_.size() - 1,
                                 static_cast<std::size_t>(part * static_cast<double>(all_.size())))];
        };
        std::printf("%-44s geometric mean %.3f, median %.3f, 95th percentile %.3f, worst %.3f of %zu\n", what,
                    std::exp(logs / static_cast<double>(all_.size())), at(0.5), at(0.95), all_.back(),
                    all_.size());
    }

private:
    std::vector<double> all_;
};

// Backend: a policy; Place: matrix<T>(rows, cols) with random elements, run(policy, a, b, c, times).
template <class Backend, class Place>
class judge {
public:
    judge(Backend backend, Place place, index_t longest, double most_work)
        : backend_(backend), place_(place), longest_(longest), most_work_(most_work), strict_(backend),
          norms_(backend, {.normwise = true}) {}

    // How many shapes of each type are measured, and for how many seconds.
    template <class... Types>
    void run(unsigned seed, int count, int seconds) {
        std::mt19937_64 from{seed};
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
        std::printf("# type m n k: name seconds predicted, for each way\n");
        for (int x = 0; x < count && std::chrono::steady_clock::now() < end; ++x)
            (one<Types>(random_sides(from, longest_, most_work_)), ...);
        strict_over_best_.print("componentwise: chosen / best");
        strict_over_plain_.print("componentwise: chosen / backend");
        norms_over_best_.print("normwise: chosen / best");
        norms_over_plain_.print("normwise: chosen / backend");
        for (auto& [name, all] : predicted_) all.print(("predicted / measured: " + name).c_str());
        for (auto& [factor, strict, norms] : changing_) {
            char text[80];
            std::snprintf(text, sizeof(text), "leaving the backend at %.2f: componentwise", factor);
            strict.print(text);
            std::snprintf(text, sizeof(text), "leaving the backend at %.2f: normwise", factor);
            norms.print(text);
        }
        (time_choosing<Types>(seed), ...);
    }

private:
    template <class T>
    void one(sides const& s) {
        if constexpr (sg::complex_like<T>)
            if (4.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) >
                most_work_)
                return;
        auto const a = place_.template matrix<T>(s.m, s.k, 1), b = place_.template matrix<T>(s.k, s.n, 2);
        auto c = place_.template matrix<sg::accumulator_t<T>>(s.m, s.n, 0);
        sg::shape<T> const shape{s.m, s.n, s.k};
        std::vector<way> ways;
        auto const add = [&](char const* name, bool normwise, auto const& policy) {
            using P = std::remove_cvref_t<decltype(policy)>;
            if constexpr (sg::automatic_parts::is_candidate<P, sg::shape<T>>)
                ways.push_back({name, normwise, policy.estimate(shape),
                                [&, policy](int times) { return place_.run(policy, a, b, c, times); }});
        };
        add("automatic", strict_.error_bound(shape).normwise, strict_);
        add("automatic, by norms", true, norms_);
        add("backend", false, backend_);
        for (int levels = 1; levels <= 3; ++levels) {
            constexpr char const* names[] = {"strassen, 1 level", "strassen, 2 levels", "strassen, 3 levels"};
            if (std::min({s.m, s.n, s.k}) >> levels >= 64)
                add(names[levels - 1], true, sg::strassen{backend_, {.levels = levels}});
        }
        add("ozaki", false, sg::ozaki{never<Backend>(backend_)});
        add("split", false, sg::split{never<Backend>(backend_)});
        race(ways, place_.sample);
        note<T>(s, ways);
    }

    template <class T>
    void note(sides const& s, std::vector<way> const& ways) {
        double best = std::numeric_limits<double>::infinity(), strict = best, chosen = 0, by_norms = 0,
               plain = 0;
        std::printf("%s %td %td %td:", sg::type_name<T>(), s.m, s.n, s.k);
        for (way const& w : ways) {
            double const x = median(w.seconds);
            std::printf(" %s %.4g %.4g;", w.name.c_str(), x, w.predicted);
            best = std::min(best, x);
            if (!w.normwise) strict = std::min(strict, x);
            if (w.name == "automatic") chosen = x;
            if (w.name == "automatic, by norms") by_norms = x;
            if (w.name == "backend") plain = x;
            if (w.name != "automatic" && w.name != "automatic, by norms")
                add_prediction(w.name, w.predicted / x);
        }
        std::printf(" chosen / best %.3f, by norms %.3f\n", chosen / strict, by_norms / best);
        std::fflush(stdout);
        strict_over_best_.add(chosen / strict), strict_over_plain_.add(chosen / plain);
        norms_over_best_.add(by_norms / best), norms_over_plain_.add(by_norms / plain);
        for (auto& [factor, by_bounds, all] : changing_)
            by_bounds.add(taken_at(factor, ways, false) / strict),
                all.add(taken_at(factor, ways, true) / best);
    }
    // What the product would take if another way than the backend had to be predicted to take less than `factor` of it:
    // says how large automatic's worth_changing should be.
    static double taken_at(double factor, std::vector<way> const& ways, bool normwise) {
        double least = std::numeric_limits<double>::infinity(), taken = least;
        for (way const& w : ways) {
            if (w.name.starts_with("automatic") || (w.normwise && !normwise)) continue;
            double const predicted = w.predicted * (w.name == "backend" ? factor : 1);
            if (predicted < least) least = predicted, taken = median(w.seconds);
        }
        return taken;
    }
    void add_prediction(std::string const& name, double ratio) {
        for (auto& [known, all] : predicted_)
            if (known == name) return all.add(ratio);
        predicted_.emplace_back(name, ratios{});
        predicted_.back().second.add(ratio);
    }

    // check() does nothing but choose. The backend's own estimate of a new shape is what choosing cannot do without.
    template <class T>
    void time_choosing(unsigned seed) {
        std::mt19937_64 from{seed + 1};
        std::vector<sg::shape<T>> shapes;
        for (int x = 0; x < 300; ++x) {
            sides const s = random_sides(from, longest_, std::numeric_limits<double>::infinity());
            shapes.push_back({s.m, s.n, s.k});
        }
        auto const microseconds = [](auto const& work) {
            auto const start = std::chrono::steady_clock::now();
            work();
            return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
                .count();
        };
        auto const print = [&](char const* what, ratios& all) {
            all.print((std::string("us, ") + sg::type_name<T>() + ": " + what).c_str());
        };
        auto const policy = [&](char const* what, sg::automatic_options const& options) {
            sg::automatic const pick(backend_, options);
            ratios found, known;
            for (auto const& s : shapes) found.add(microseconds([&] { keep_ += !pick.check(s); }));
            for (auto const& s : shapes)
                if (pick.check(s)) known.add(microseconds([&] { keep_ += !pick.check(s); }));
            print(what, found), print("a known shape", known);
        };
        // A device remembers its last choices: other shapes in between.
        ratios estimates;
        policy("a new shape, componentwise", {});
        forget<T>(), policy("a new shape, by norms", {.normwise = true});
        forget<T>();
        for (auto const& s : shapes) estimates.add(microseconds([&] { keep_ += backend_.estimate(s) < 0; }));
        print("the backend's estimate of a new shape", estimates);
    }
    template <class T>
    void forget() {
        std::mt19937_64 from{0};
        for (int x = 0; x < 1500; ++x) {
            sides const s = random_sides(from, longest_, std::numeric_limits<double>::infinity());
            keep_ += backend_.estimate(sg::shape<T>{s.m, s.n, s.k}) < 0;
        }
    }

    Backend backend_;
    Place place_;
    index_t longest_;
    double most_work_;
    sg::automatic<Backend> strict_, norms_;
    ratios strict_over_best_, strict_over_plain_, norms_over_best_, norms_over_plain_;
    struct changing {
        double factor;
        ratios strict{}, norms{};
    };
    std::vector<changing> changing_{{0.8}, {0.85}, {0.9}, {0.94}, {0.97}, {1}, {1.03}};
    int keep_ = 0; // of what is called for its time alone
    std::vector<std::pair<std::string, ratios>> predicted_;
};

// Random elements in [-1, 1) with all bits of their type, or any integers; of the result, zeros.
template <class T>
sg::matrix<T> random_elements(index_t rows, index_t cols, unsigned seed) {
    std::mt19937_64 from{seed};
    auto const uniform = [&] { return static_cast<double>(from() >> 10) * 0x1p-53 - 1; };
    return sg::matrix<T>(rows, cols, [&](index_t, index_t) {
        if (seed == 0) return T{};
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(127 * uniform());
        } else if constexpr (sg::complex_like<T>) {
            using R = sg::real_t<T>;
            auto const re = static_cast<R>(uniform());
            return T(re, static_cast<R>(uniform()));
        } else {
            return static_cast<T>(static_cast<sg::real_t<T>>(uniform()));
        }
    });
}

// An operand of a device.
template <class Backend>
struct device_place {
    Backend backend;
    double sample = 5e-3;

    template <class T>
    auto matrix(index_t rows, index_t cols, unsigned seed) const {
        return typename Backend::template matrix<T>(backend, random_elements<T>(rows, cols, seed));
    }
    template <class Policy, class A, class B, class C>
    bool run(Policy const& policy, A const& a, B const& b, C& c, int times) const {
        auto const p = sg::product(a, b, c);
        auto arena = policy.reserve(policy.workspace(p.shape()));
        bool done = static_cast<bool>(arena);
        for (int x = 0; x < times && done; ++x) done = static_cast<bool>(policy(p, *arena));
        return static_cast<bool>(backend.synchronize()) && done;
    }
};

// [SEED [COUNT [SECONDS]]]
struct arguments {
    int seed, count, seconds;
    arguments(int argc, char** argv)
        : seed(at(argc, argv, 1, 1)), count(at(argc, argv, 2, 25)), seconds(at(argc, argv, 3, 3600)) {}

private:
    static int at(int argc, char** argv, int i, int otherwise) {
        return argc > i ? std::atoi(argv[i]) : otherwise;
    }
};

} // namespace bench
