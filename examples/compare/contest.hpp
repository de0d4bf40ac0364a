// How policies and other libraries are measured: all multiply the same operands, each result is compared with sums in
// wider arithmetic, and they are timed by turns.
#pragma once

#include "others.hpp"
#include "table.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <complex>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

namespace compare {

namespace sg = stratagemm;
using sg::index_t;

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
std::string name_of() {
    if constexpr (sg::complex_like<T>)
        return std::is_same_v<typename T::value_type, float> ? "cfloat" : "cdouble";
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return "int8";
    else
        return sg::type_name<T>();
}

// The middle of some values, and the value below which a part of them lies.
inline double quantile(std::vector<double> values, double part) {
    auto const at = static_cast<index_t>(part * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

// Who takes part.
template <class Result>
struct entrant {
    row line;
    index_t size = 0;
    sg::bound bound;
    double estimate = 0; // seconds
    bool native = false; // what the policies over this backend are compared with
    std::function<void()> run;
    std::function<void(sg::matrix<Result> const&)> send; // of C, where it is not on the host
    std::function<void(sg::matrix<Result>&)> fetch;
    std::vector<Result> sample; // rows of C
    std::vector<double> times;
    double first = 0; // seconds of the first run

    bool runs() const { return line.same.empty(); }
};

template <class T>
class contest {
public:
    using result = sg::accumulator_t<T>;
    static constexpr double ulp = 2 * sg::unit_roundoff<result>();
    // Seconds that a product may be estimated to take: a backend's own, and a policy's, for a policy takes them again.
    static constexpr double patience = 6, patience_with_policies = 1.5;
    // A policy that is estimated to take so many times as long as the backend is not worth the time of a look.
    static constexpr double hopeless = 4;
    static constexpr double busy = 1.3;        // by so much the timings of a machine that is not quiet differ
    static constexpr double least_gain = 0.97; // of the backend's time: automatic takes a policy below it

    explicit contest(index_t size)
        : n_(size), a_(size, size, random_element(1)), b_(size, size, random_element(2)), c_(size, size) {
        compute_oracle();
    }

    index_t size() const { return n_; }
    // Those who enter next belong to this backend. `peak`: GFLOP/s that the place can do; 0: not known.
    void begin(std::string const& name, std::string const& where, double peak = 0) {
        groups_.push_back({name, where, peak});
    }
    void leave_out(std::string const& what) { missing_.push_back(what); }

    // A policy takes part if it has a kernel for the type. Operands on the host.
    template <sg::policy P>
    void enter(std::string const& name, P const& policy, index_t size, std::string const& note = "") {
        if constexpr (sg::takes<P, sg::dense_problem<T, T, result>>) {
            sg::plan const plan(policy, sg::shape<T>{.m = size, .n = size, .k = size});
            entrant<result>* const e = add(name, plan, size, note);
            if (!e) return;
            e->line.oracle = std::is_same_v<P, sg::reference>;
            auto const run = [this, plan, size](typename P::arena& memory) {
                plan.run(a_.block(0, 0, size, size), b_.block(0, 0, size, size), c_.block(0, 0, size, size),
                         memory);
            };
            if constexpr (std::is_same_v<typename P::arena, sg::host_arena>) {
                largest_ = larger(largest_, plan.workspace()); // one arena serves every such plan
                e->run = [this, run] { run(workspace_); };
            } else {
                auto const memory = std::make_shared<typename P::arena>(plan.reserve());
                e->run = [memory, run] { run(*memory); };
            }
        }
    }

    // Operands in the memory of a device.
    template <class Gpu>
    struct on_device {
        Gpu gpu;
        typename Gpu::template matrix<T> a, b;
        typename Gpu::template matrix<result> c;
    };
    template <class Gpu>
    auto bring(Gpu const& gpu) const {
        using there = on_device<Gpu>;
        return std::make_shared<there>(there{gpu, {gpu, a_}, {gpu, b_}, {gpu, n_, n_}});
    }
    template <class Gpu, sg::policy P>
    void enter(std::string const& name, P const& policy, std::shared_ptr<on_device<Gpu>> const& x,
               std::string const& note = "") {
        if constexpr (sg::takes<P, sg::dense_problem<T, T, result, typename P::space>>) {
            sg::plan const plan(policy, sg::shape<T>{.m = n_, .n = n_, .k = n_});
            entrant<result>* const e = add(name, plan, n_, note);
            if (!e) return;
            auto const memory = std::make_shared<typename P::arena>(plan.reserve());
            e->run = [x, plan, memory] {
                plan.run(x->a, x->b, x->c, *memory);
                x->gpu.synchronize().or_throw();
            };
            exchange(*e, x);
        }
    }
    // The policies of this backend that enter from now on are over this one.
    void native_is(std::string const& name) {
        for (entrant<result>& e : entrants_)
            if (e.line.policy == name && e.line.group == groups_.size() - 1) e.native = true;
    }

    // Another library, on the host and on a device.
    void enter(other const& library) {
        add(library).run = [this, run = library.run] { run(a_.data(), b_.data(), c_.data()); };
    }
    template <class Gpu>
    void enter(other const& library, std::shared_ptr<on_device<Gpu>> const& x) {
        entrant<result>& e = add(library);
        e.run = [x, run = library.run] {
            run(x->a.data().address, x->b.data().address, x->c.data().address);
        };
        exchange(e, x);
    }

    // Checks everyone, then times them in turn, round after round, so that a change of the clock meets all.
    table hold(double budget) {
        double const start = seconds();
        auto reserved = sg::reference{}.reserve(largest_);
        reserved.or_throw();
        workspace_ = std::move(*reserved);
        check_all();
        double round = 0;
        for (entrant<result> const& e : entrants_)
            if (e.runs()) round += std::max(e.first, shortest);
        int const rounds = std::clamp(static_cast<int>((budget - (seconds() - start)) / round), 3, 9);
        char text[100];
        std::snprintf(text, sizeof text, "%s: timing %d times, about %.0f s", name_of<T>().c_str(), rounds,
                      std::ceil(round * rounds));
        for (int i = 0; i < rounds; ++i) {
            double step = 0;
            for (entrant<result>& e : entrants_) {
                double const done = (i + step++ / static_cast<double>(entrants_.size())) / rounds;
                progress(text, e.line.policy, done);
                if (e.runs()) e.times.push_back(time(e));
            }
        }
        return finished(rounds);
    }

private:
    static constexpr index_t sampled = 16;    // rows of C that are compared
    static constexpr double shortest = 0.005; // seconds that a timing takes at least

    template <class Plan>
    entrant<result>* add(std::string const& name, Plan const& plan, index_t size, std::string const& note) {
        entrant<result> e;
        e.line.policy = name, e.line.ran = plan.describe(), e.line.note = note,
        e.line.group = groups_.size() - 1;
        e.size = size, e.bound = plan.error_bound(), e.estimate = plan.estimate();
        entrant<result> const* const native = native_of(e);
        char text[200] = "";
        double const over = native ? e.estimate / native->estimate : 0;
        if (over > hopeless && note.empty())
            std::snprintf(text, sizeof text,
                          "it cannot win at this size: it is estimated to take %.0f times as long as %s",
                          over, native->line.policy.c_str());
        else if (e.estimate > (native ? patience_with_policies : patience))
            std::snprintf(text, sizeof text,
                          "it is estimated to take %.1f s a product; a smaller SIZE has it", e.estimate);
        if (text[0]) {
            leave_out(name + ": " + text);
            return nullptr;
        }
        if (native && over > least_gain && note.empty()) {
            std::snprintf(text, sizeof text, "%s at this size: estimated at %.2f of the time of %s",
                          over < 0.995 ? "hardly a gain" : "no gain", over, native->line.policy.c_str());
            e.line.note = text;
        }
        entrants_.push_back(std::move(e));
        return &entrants_.back();
    }
    entrant<result>& add(other const& library) {
        entrant<result> e;
        e.line.policy = library.name, e.line.ran = library.version, e.line.group = groups_.size() - 1;
        e.line.other = true, e.line.bounded = false;
        e.size = n_;
        entrants_.push_back(std::move(e));
        return entrants_.back();
    }
    template <class Gpu>
    static void exchange(entrant<result>& e, std::shared_ptr<on_device<Gpu>> const& x) {
        e.send = [x](sg::matrix<result> const& c) { x->c.upload(c); };
        e.fetch = [x](sg::matrix<result>& c) { x->c.download(c); };
    }
    entrant<result> const* native_of(entrant<result> const& e) const {
        for (entrant<result> const& x : entrants_)
            if (x.native && x.line.group == e.line.group) return &x;
        return nullptr;
    }

    void check_all() {
        double step = 0;
        for (entrant<result>& e : entrants_) {
            progress(name_of<T>() + ": checking", e.line.policy,
                     step++ / static_cast<double>(entrants_.size()));
            try {
                check(e);
                find_same(e);
                if (e.line.other && wrong(e)) e.line.ran += "; its result is wrong";
            } catch (std::exception const& error) {
                leave_out(e.line.policy + ": " + error.what());
                e.run = nullptr;
            }
        }
        std::erase_if(entrants_, [](entrant<result> const& e) { return !e.run; });
    }

    // A policy that leaves the product to another has that one's estimate, and its bits. The backend stands for all of
    // its kind.
    void find_same(entrant<result>& e) const {
        if (e.line.other || e.native) return;
        entrant<result> const* same = nullptr;
        for (entrant<result> const& x : entrants_) {
            if (&x == &e) break;
            bool const alike = x.run && x.runs() && x.line.group == e.line.group && x.size == e.size &&
                               x.estimate == e.estimate && x.sample == e.sample;
            if (alike && (!same || x.native)) same = &x;
        }
        if (!same) return;
        e.line.same = same->native ? "native" : same->line.policy;
        e.line.note = same->native ? "" : "the same product as " + same->line.policy;
    }

    // Whether sums of integers that cannot overflow are not exact.
    static bool wrong(entrant<result> const& e) { return ulp == 0 && e.line.error > 0; }

    // Seconds a run, over as many as make a time worth reading.
    static double time(entrant<result> const& e) {
        double const start = seconds();
        for (int runs = 1;; ++runs) {
            e.run();
            if (double const passed = seconds() - start; passed > shortest) return passed / runs;
        }
    }

    table finished(int rounds) const {
        table t{.type = name_of<T>(), .size = n_, .fewest = rounds, .runs = rounds, .exact = ulp == 0};
        for (entrant<result> const& e : entrants_) {
            row line = e.line;
            entrant<result> const& timed = e.runs() ? e : same_as(e);
            double const size = static_cast<double>(e.size),
                         work = (sg::complex_like<T> ? 8e-9 : 2e-9) * size * size * size;
            line.rate = work / quantile(timed.times, 0.5);
            line.least = work / quantile(timed.times, 1), line.most = work / quantile(timed.times, 0);
            t.rows.push_back(line);
        }
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (std::string const line = verdict(g); !line.empty()) t.verdicts.push_back(line);
        t.groups = groups_, t.missing = missing_;
        return t;
    }
    entrant<result> const& same_as(entrant<result> const& e) const {
        for (entrant<result> const& x : entrants_)
            if (x.line.group == e.line.group &&
                (e.line.same == "native" ? x.native : x.line.policy == e.line.same))
                return x;
        return e;
    }

    // The backend against the fastest other library; each ratio is of timings of one round.
    std::string verdict(std::size_t g) const {
        entrant<result> const *native = nullptr, *best = nullptr;
        for (entrant<result> const& e : entrants_) {
            if (e.line.group != g) continue;
            if (e.native) native = &e;
            if (e.line.other && !wrong(e) && (!best || quantile(e.times, 0.5) < quantile(best->times, 0.5)))
                best = &e;
        }
        if (!native) return "";
        std::string const name = native->line.policy;
        std::string text;
        if (best) {
            std::vector<double> ratios;
            for (std::size_t i = 0; i < best->times.size(); ++i)
                ratios.push_back(best->times[i] / native->times[i]);
            text = name + " runs at " + number(quantile(ratios, 0.5)) + " of the speed of " +
                   best->line.policy + ", the fastest other library here (the middle half of " +
                   std::to_string(ratios.size()) + " rounds: " + number(quantile(ratios, 0.25)) + " to " +
                   number(quantile(ratios, 0.75)) + ")";
        }
        if (quantile(native->times, 0.75) > busy * quantile(native->times, 0.25))
            text +=
                (best ? "; its" : name + ": its") + std::string(" timings differ much, as on a busy machine");
        return text;
    }

    static auto random_element(unsigned seed) {
        return [random = std::mt19937_64(seed)](index_t, index_t) mutable {
            auto uniform = [&] { return static_cast<double>(random() >> 10) * 0x1p-53 - 1; };
            if constexpr (sg::complex_like<T>) {
                using real = typename T::value_type;
                return T(static_cast<real>(uniform()), static_cast<real>(uniform()));
            } else if constexpr (std::is_integral_v<T>) {
                return static_cast<T>(127 * uniform());
            } else {
                return static_cast<T>(static_cast<sg::accumulator_t<T>>(uniform()));
            }
        };
    }

    // |x|, exactly for real types.
    static double size_of(T const& x) {
        if constexpr (sg::complex_like<T>)
            return static_cast<double>(std::abs(x));
        else
            return std::fabs(static_cast<double>(x));
    }

    // The true C and |A||B| in a few random rows.
    void compute_oracle() {
        progress(name_of<T>() + ": computing the true result", "", 0);
        index_t const count = std::min(sampled, n_);
        std::mt19937 random(3);
        for (index_t i = 0; i < count; ++i) picked_.push_back(static_cast<index_t>(random()) % n_);
        auto pick = [&](index_t i) { return picked_[static_cast<std::size_t>(i)]; };

        using operand = std::conditional_t<sg::complex_like<T>, std::complex<double>, T>;
        sg::matrix<operand> rows(count, n_, [&](index_t i, index_t j) { return a_(pick(i), j); });
        sg::matrix<operand> b(
            n_, n_, [&](index_t i, index_t j) { return b_(i, j); }, sg::layout::col_major);
        using wide = std::conditional_t<std::is_integral_v<T>, result, exact_type>;
        sg::matrix<wide> exact(count, n_);
        sg::gemm(sg::reference{}, rows, b, exact);
        exact_ = sg::matrix<exact_type>(count, n_, [&](index_t i, index_t j) { return exact(i, j); });

        sg::matrix<double> abs_rows(count, n_, [&](index_t i, index_t j) { return size_of(a_(pick(i), j)); });
        sg::matrix<double> abs_b(n_, n_, [&](index_t i, index_t j) { return size_of(b_(i, j)); });
        scale_ = sg::matrix<double>(count, n_);
        sg::gemm(abs_rows, abs_b, scale_);
        least_scale_ = *std::min_element(scale_.data(), scale_.data() + count * n_);
        double const max_a = *std::max_element(abs_rows.data(), abs_rows.data() + count * n_);
        double const max_b = *std::max_element(abs_b.data(), abs_b.data() + n_ * n_);
        norm_scale_ = static_cast<double>(n_) * max_a * max_b;
    }

    // One run: warms up, and measures the error.
    void check(entrant<result>& e) {
        for (index_t i : picked_)
            for (index_t j = 0; j < n_; ++j) c_(i, j) = result(77); // what a policy leaves out will show
        if (e.send) e.send(c_);
        double const start = seconds();
        e.run();
        e.first = seconds() - start;
        if (e.line.oracle) return;
        if (e.fetch) e.fetch(c_);
        for (index_t i : picked_)
            for (index_t j = 0; j < n_; ++j) e.sample.push_back(c_(i, j));
        // A normwise bound is put against the smallest |A||B|, where it promises least.
        double const unit = ulp == 0 ? 1 : ulp,
                     per_element = e.bound.normwise ? norm_scale_ / least_scale_ : 1;
        e.line.expected = e.bound.expected * per_element / unit;
        e.line.worst = e.bound.worst * per_element / unit;
        for (index_t i = 0; i < scale_.rows(); ++i)
            for (index_t j = 0; j < n_; ++j) {
                auto const computed = static_cast<exact_type>(c_(picked_[static_cast<std::size_t>(i)], j));
                double const off = std::abs(computed - exact_(i, j));
                double const distance = ulp == 0 ? off : off / (scale_(i, j) * unit);
                if (distance > e.line.error || std::isnan(distance)) e.line.error = distance;
                if (std::isnan(distance)) return;
            }
    }

    using exact_type = std::conditional_t<sg::complex_like<T>, std::complex<double>, double>;

    index_t n_;
    sg::matrix<T> a_, b_;
    sg::matrix<result> c_;
    std::vector<index_t> picked_;
    sg::matrix<exact_type> exact_;
    sg::matrix<double> scale_;
    double least_scale_ = 0, norm_scale_ = 0;
    sg::footprint largest_;
    sg::host_arena workspace_;
    std::vector<entrant<result>> entrants_;
    std::vector<group> groups_;
    std::vector<std::string> missing_;
};

} // namespace compare
