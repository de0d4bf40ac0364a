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
// and copy(x, y, bytes), which queues a copy.
#pragma once

#include "fft.hpp"
#include "peers/fft_device.hpp"

#include <stratagemm/structure/dft.hpp>

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
            y.emplace_back(gpu, c.points, c.count, sg::layout::col_major);
            x.back().upload(sg::col_major(host_, c.points, c.count));
        }
    }
    // What is in y before a call that error() judges.
    void clear() { gpu_->leaf().fill(y[0].view(), C(T(NAN))).or_throw(); }
    double error(long pitch) {
        std::vector<C> seen(static_cast<std::size_t>(c_.points * c_.count));
        y[0].download(sg::col_major(seen, c_.points, c_.count));
        return exact_.error(c_, host_.data(), seen.data(), pitch);
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

template <class X, class T, class P, class Machine>
void run_case_of(benchmark::State& state, fft_table& table, fft_case const& c, P const& gpu,
                 Machine const& on) {
    if constexpr (!transforms_here<P, X, T>) {
        state.SkipWithError("not yet: the library has no such transform on this device");
    } else {
        if (!on.takes(c)) return state.SkipWithError("too long for this device");
        fft_operands<P, X, T> here(gpu, c, on.least_bytes);
        std::vector<fft_way> all;
        double const most = c.wide ? 1e-14 : 1e-5;
        auto const add = [&](fft_way way, long pitch, auto const& call) {
            here.clear();
            call(0);
            on.wait();
            way.error = here.error(pitch);
            if (!(way.error < most)) {
                if (all.empty()) state.SkipWithError("the library is wrong");
                std::printf("%s: %s is wrong (%.1e), and left out\n", c.name().c_str(), way.name.c_str(),
                            way.error);
                return;
            }
            for (fft_way& form : on.ways(std::move(way), call, long(here.x.size())))
                all.push_back(std::move(form));
        };
        using C = std::complex<T>;
        sg::plan const plan(gpu, sg::shape<sg::dft_form<T>, X, C>{c.points, c.count, c.points});
        auto memory = plan.reserve();
        add({"stratagemm", {}}, c.points, [&](long i) {
            plan.run(sg::dft<T>(c.points), std::as_const(here.x[std::size_t(i)]), here.y[std::size_t(i)],
                     memory);
        });
        if (all.empty()) return;
        fft_device_problem const p = on.about(c);
        std::vector<std::unique_ptr<void, void (*)(void*)>> kept;
        for (fft_device_peer const* const peer : on.peers()) {
            kept.emplace_back(peer->prepare(p, on.handle(here.x[0]), on.handle(here.y[0])), peer->release);
            void* const made = kept.back().get();
            if (!made) continue;
            add({peer->name, {}}, c.frequencies(), [&on, &here, &p, peer, made](long i) {
                if (!peer->run(p, made, on.handle(here.x[std::size_t(i)]), on.handle(here.y[std::size_t(i)])))
                    throw std::runtime_error(std::string(peer->name) + " failed");
            });
        }
        // Half of what is read and written, if x has as much: a copy reads it, and writes it.
        auto const bytes =
            static_cast<std::size_t>(std::min(c.bytes() / 2, double(sizeof(X)) * double(c.points * c.count)));
        for (fft_way& form : on.ways(
                 {"copy", {}, false},
                 [&on, &here, bytes](long i) {
                     on.copy(here.x[std::size_t(i)], here.y[std::size_t(i)], bytes);
                 },
                 long(here.x.size())))
            all.push_back(std::move(form));
        race(state, all, [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        });
        table.add(state, c, all);
    }
}

template <class P, class Machine>
void run_case(benchmark::State& state, fft_table& table, fft_case const& c, P const& gpu,
              Machine const& on) try {
    if (c.wide && c.real)
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
