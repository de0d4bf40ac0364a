// A case of transforms on a device, against peers; the programs of CUDA and OpenCL say what their machine is. Operands
// rotate: so many that no call finds them in the second-level cache.
//
// A machine has
//   peers()             a vector of fft_device_peer const*, those that are here
//   about(c)            the case as these want it (fft_device_problem)
//   handle(matrix)      what these want of a matrix
//   wait()              until all that was queued is done
//   ways(way, call)     the way, whose error and name are known, with call(i) as what it does: one or several forms
//   takes(c)            whether the case is not too long for it
//   least_bytes         of rotating operands
//   copies()            whether there is copy(x, y, bytes), which queues a copy of memory
#pragma once

#include "fft.hpp"
#include "peers/fft_device.hpp"

#include <stratagemm/structure/dct.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

namespace bench {

namespace sg = stratagemm;

template <class P, class X, class T>
constexpr bool transforms_here = [] {
    using Q = sg::problem<sg::dft<T>, sg::view<X const, typename P::space>,
                          sg::view<std::complex<T>, typename P::space>>;
    return sg::answer<sg::performer<P, Q>, Q>() == sg::verdict::yes;
}();

template <class P, class X, class T>
class fft_operands {
    using C = std::complex<T>;

public:
    fft_operands(P const& gpu, fft_case const& c, double least_bytes)
        : c_(c), gpu_(&gpu), host_(fft_data<X>(c.points * c.count)), exact_(c.points) {
        long const sets = std::clamp(static_cast<long>(least_bytes / c.bytes()) + 1, 1L, 64L);
        for (long i = 0; i < sets; ++i) {
            x.emplace_back(gpu, c.points, c.count, sg::layout::col_major);
            y.emplace_back(gpu, c.frequencies(), c.count, sg::layout::col_major);
            x.back().upload(sg::col_major(host_, c.points, c.count));
        }
    }
    // What is in y before a call that error() judges.
    void clear() { gpu_->leaf().fill(y[0].view(), C(T(NAN))).or_throw(); }
    double error() {
        std::vector<C> seen(static_cast<std::size_t>(c_.frequencies() * c_.count));
        y[0].download(sg::col_major(seen, c_.frequencies(), c_.count));
        return exact_.error(c_, host_.data(), seen.data());
    }

    std::vector<typename P::template matrix<X>> x;
    std::vector<typename P::template matrix<C>> y;

private:
    fft_case c_;
    P const* gpu_;
    std::vector<X> host_;
    exact_fft exact_;
};

// Why there is nothing to run; empty if there is something.
template <class P>
std::string missing_on(P const& gpu) {
    if (sg::status const s = gpu.ready(); !s) return s.error().what();
    if (!transforms_here<P, std::complex<float>, float>)
        return "not yet: the library has no transforms on this device";
    return "";
}

// The library, its peers and a copy over the same operands.
template <class X, class T, class P, class Machine>
class fft_device_race {
    using C = std::complex<T>;

public:
    fft_device_race(fft_case const& c, P const& gpu, Machine const& on)
        : c_(c), gpu_(gpu), on_(on), here_(gpu, c, on.least_bytes), p_(on.about(c)) {}

    // False: its result is wrong, or it is not here.
    bool add_library() {
        auto const transform = c_.real ? sg::rdft<T>(c_.points) : sg::dft<T>(c_.points);
        auto const product = [this, transform](long i) {
            return sg::product(transform, std::as_const(x(i)), y(i));
        };
        auto const plan = std::make_shared<plan_type const>(gpu_, product(0).shape());
        auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
        return add("stratagemm", [product, plan, memory](long i) { plan->run(product(i), *memory); });
    }
    void add_peer(fft_device_peer const& peer) {
        std::shared_ptr<void> const made(peer.prepare(p_, on_.handle(x(0)), on_.handle(y(0))),
                                         [&peer](void* old) {
                                             if (old) peer.release(old);
                                         });
        if (made)
            add(peer.name, [this, &peer, made](long i) {
                if (!peer.run(p_, made.get(), on_.handle(x(i)), on_.handle(y(i))))
                    throw std::runtime_error(std::string(peer.name) + " failed");
            });
    }
    // Half of what is read and written, if x has as much: a copy reads it, and writes it.
    void add_copy() {
        auto const bytes = static_cast<std::size_t>(
            std::min(c_.bytes() / 2, double(sizeof(X)) * double(c_.points * c_.count)));
        if (on_.copies())
            keep(on_.ways(
                {"copy", {}, false}, [this, bytes](long i) { on_.copy(x(i), y(i), bytes); }, sets()));
    }
    void run(benchmark::State& state, fft_table& table) {
        race(state, all_, [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        });
        table.add(state, c_, all_);
    }

private:
    using product_type = decltype(sg::product(std::declval<sg::dft<T>>(),
                                              std::declval<typename P::template matrix<X> const&>(),
                                              std::declval<typename P::template matrix<C>&>()));
    using plan_type = decltype(sg::plan(std::declval<P>(), std::declval<product_type>().shape()));

    auto& x(long i) { return here_.x[std::size_t(i)]; }
    auto& y(long i) { return here_.y[std::size_t(i)]; }
    long sets() const { return long(here_.x.size()); }

    template <class Call>
    bool add(char const* name, Call const& call) {
        here_.clear();
        call(0);
        on_.wait();
        fft_way way{name, {}};
        way.error = here_.error();
        if (!(way.error < (c_.wide ? 1e-14 : 1e-5))) {
            std::printf("%s: %s is wrong, and left out: its error is %.1e\n", c_.name().c_str(), name,
                        way.error);
            return false;
        }
        keep(on_.ways(std::move(way), call, sets()));
        return true;
    }
    void keep(std::vector<fft_way> forms) {
        for (fft_way& form : forms) all_.push_back(std::move(form));
    }

    fft_case c_;
    P const& gpu_;
    Machine const& on_;
    fft_operands<P, X, T> here_;
    fft_device_problem p_;
    std::vector<fft_way> all_;
};

template <class X, class T, class P, class Machine>
void run_case_of(benchmark::State& state, fft_table& table, fft_case const& c, P const& gpu,
                 Machine const& on) {
    if constexpr (!transforms_here<P, X, T>) {
        state.SkipWithError("not yet: the library has no such transform on this device");
    } else {
        if (!on.takes(c)) return state.SkipWithError("too long for this device");
        fft_device_race<X, T, P, Machine> all(c, gpu, on);
        if (!all.add_library()) return state.SkipWithError("the library is wrong");
        for (fft_device_peer const* const peer : on.peers()) all.add_peer(*peer);
        all.add_copy();
        all.run(state, table);
    }
}

// What a cosine transform II is by a peer that has real transforms alone: the points in another order; their transform;
// and the real parts of its results times a factor.
inline constexpr char fft_cosines_text[] = R"(
KERNEL(ITEMS) take_points(BUFFER(OUT const, x), BUFFER(OUT, to), index points, index numbers) {
    OPEN(OUT const, x);
    OPEN(OUT, to);
    for (EACH(at, numbers)) {
        index const i = at % points;
        STORE(OUT, to, at, LOAD(OUT, x, at - i + (2 * i < points ? 2 * i : 2 * (points - 1 - i) + 1)));
    }
}
KERNEL(ITEMS) give_cosines(BUFFER(OUT const, spectra), BUFFER(OUT const, turns), BUFFER(OUT, to), index points,
                           index numbers) {
    OPEN(OUT const, spectra);
    OPEN(OUT const, turns);
    OPEN(OUT, to);
    for (EACH(at, numbers)) {
        index const k = at % points, given = 2 * k <= points ? k : points - k;
        index const from = 2 * (at / points * (points / 2 + 1) + given);
        REAL const im = LOAD(OUT, spectra, from + 1), sine = LOAD(OUT, turns, 2 * k + 1);
        STORE(OUT, to, at, LOAD(OUT, spectra, from) * LOAD(OUT, turns, 2 * k) + (given == k ? im : -im) * sine);
    }
}
)";

// Cosine transforms II: the library, peers with two kernels of ours, and a copy.
template <class T, class P, class Machine>
class cosine_race {
    using real_matrix = typename P::template matrix<T>;

public:
    cosine_race(fft_case const& c, P const& gpu, Machine const& on)
        : c_(c), gpu_(gpu), on_(on), host_(fft_data<T>(c.points * c.count)), exact_(c.points),
          spectra_(gpu, 2 * (c.points / 2 + 1), c.count, sg::layout::col_major),
          points_(gpu, c.points, c.count, sg::layout::col_major),
          turns_(gpu, 2, c.points, sg::layout::col_major) {
        long const sets = std::clamp(static_cast<long>(on.least_bytes / c.bytes()) + 1, 1L, 64L);
        for (long i = 0; i < sets; ++i) {
            x_.emplace_back(gpu, c.points, c.count, sg::layout::col_major);
            y_.emplace_back(gpu, c.points, c.count, sg::layout::col_major);
            x_.back().upload(sg::col_major(host_, c.points, c.count));
        }
        std::vector<T> turns(static_cast<std::size_t>(2 * c.points));
        for (long k = 0; k < c.points; ++k) {
            double const angle = 1.5707963267948966 * double(k) / double(c.points);
            turns[std::size_t(2 * k)] = T(std::cos(angle)),
                                  turns[std::size_t(2 * k + 1)] = T(std::sin(angle));
        }
        turns_.upload(sg::col_major(turns, 2, c.points));
    }
    bool add_library() {
        auto const product = [this](long i) {
            return sg::product(sg::dct<T>(c_.points), std::as_const(x_[std::size_t(i)]), y_[std::size_t(i)]);
        };
        using plan_type = decltype(sg::plan(gpu_, product(0).shape()));
        auto const plan = std::make_shared<plan_type const>(gpu_, product(0).shape());
        auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
        return add("stratagemm", [product, plan, memory](long i) { plan->run(product(i), *memory); });
    }
    void add_peer(fft_device_peer const& peer) {
        fft_case real = c_;
        real.real = true;
        fft_device_problem const p = on_.about(real);
        std::shared_ptr<void> const made(peer.prepare(p, on_.handle(points_), on_.handle(spectra_)),
                                         [&peer](void* old) {
                                             if (old) peer.release(old);
                                         });
        if (!made) return;
        add((std::string(peer.name) + " and 2 kernels").c_str(), [this, &peer, p, made](long i) {
            long const numbers = c_.points * c_.count;
            launch("take_points", x_[std::size_t(i)].data(), points_.data(), c_.points, numbers);
            if (!peer.run(p, made.get(), on_.handle(points_), on_.handle(spectra_)))
                throw std::runtime_error(std::string(peer.name) + " failed");
            launch("give_cosines", spectra_.data(), turns_.data(), y_[std::size_t(i)].data(), c_.points,
                   numbers);
        });
    }
    void add_copy() {
        if (on_.copies())
            keep(on_.ways(
                {"copy", {}, false},
                [this](long i) {
                    on_.copy(x_[std::size_t(i)], y_[std::size_t(i)],
                             static_cast<std::size_t>(c_.bytes() / 2));
                },
                long(x_.size())));
    }
    void run(benchmark::State& state, fft_table& table) {
        race(state, all_, [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        });
        table.add(state, c_, all_);
    }

private:
    template <class... Arguments>
    void launch(char const* name, Arguments const&... arguments) {
        sg::device_kernel kernel{name, fft_cosines_text};
        kernel.uses_double = sizeof(T) == 8;
        kernel.types = sg::kernel_types<T, T>;
        gpu_.leaf()
            .launch(kernel, sg::groups_for_each(c_.points * c_.count, kernel.items), arguments...)
            .or_throw();
    }
    template <class Call>
    bool add(char const* name, Call const& call) {
        gpu_.leaf().fill(y_[0].view(), T(NAN)).or_throw();
        call(0);
        on_.wait();
        std::vector<T> seen(host_.size());
        y_[0].download(sg::col_major(seen, c_.points, c_.count));
        fft_way way{name, {}};
        way.error = exact_.error_of_cosines(c_, host_.data(), seen.data());
        if (!(way.error < (c_.wide ? 1e-14 : 1e-5))) {
            std::printf("%s: %s is wrong, and left out: its error is %.1e\n", c_.name().c_str(), name,
                        way.error);
            return false;
        }
        keep(on_.ways(std::move(way), call, long(x_.size())));
        return true;
    }
    void keep(std::vector<fft_way> forms) {
        for (fft_way& form : forms) all_.push_back(std::move(form));
    }

    fft_case c_;
    P const& gpu_;
    Machine const& on_;
    std::vector<T> host_;
    exact_fft exact_;
    real_matrix spectra_, points_, turns_;
    std::vector<real_matrix> x_, y_;
    std::vector<fft_way> all_;
};

template <class T, class P, class Machine>
void run_cosines(benchmark::State& state, fft_table& table, fft_case const& c, P const& gpu,
                 Machine const& on) {
    if (!on.takes(c)) return state.SkipWithError("too long for this device");
    cosine_race<T, P, Machine> all(c, gpu, on);
    if (!all.add_library()) return state.SkipWithError("the library is wrong");
    for (fft_device_peer const* const peer : on.peers()) all.add_peer(*peer);
    all.add_copy();
    all.run(state, table);
}

template <class P, class Machine>
void run_case(benchmark::State& state, fft_table& table, fft_case const& c, P const& gpu,
              Machine const& on) try {
    if (c.cosine)
        c.wide ? run_cosines<double>(state, table, c, gpu, on) : run_cosines<float>(state, table, c, gpu, on);
    else if (c.wide && c.real)
        run_case_of<double, double>(state, table, c, gpu, on);
    else if (c.wide)
        run_case_of<std::complex<double>, double>(state, table, c, gpu, on);
    else if (c.real)
        run_case_of<float, float>(state, table, c, gpu, on);
    else
        run_case_of<std::complex<float>, float>(state, table, c, gpu, on);
} catch (std::exception const& e) {
    state.SkipWithError(e.what());
}

} // namespace bench
