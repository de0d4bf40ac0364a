// What device policies do without memory of the host: the n-th allocation of a call fails, for each n until the call
// gets through. It must return errc::memory or do without, throw nothing, leak nothing, and the next call works.
#pragma once

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/reference.hpp>

#include <cstdio>
#include <vector>

namespace memory {

namespace sg = stratagemm;
using namespace failing;

inline int wrong = 0;

struct operands {
    sg::matrix<float> a = numbers(33, 21, 3), b = numbers(21, 40, 5), exact{33, 40};
    operands() { sg::gemm(sg::reference{}, 2.0f, a, b, 0.0f, exact, sg::relu); }
    static sg::matrix<float> numbers(sg::index_t m, sg::index_t n, sg::index_t step) {
        return {m, n, [step](sg::index_t i, sg::index_t j) {
                    return static_cast<float>((step * i + 2 * j) % 9 - 4);
                }};
    }
    bool is(sg::matrix<float> const& c) const {
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j)
                if (c(i, j) != exact(i, j)) return false;
        return true;
    }
};

// One call with the n-th allocation failing, alone or with all after it. False if there were not so many.
template <class Call>
bool failed_in(char const* name, long n, bool alone, bool leaks_nothing, Call const& call) {
    auto const complain = [&](char const* what) {
        ++wrong;
        std::printf("%s, %s allocation %ld fails: %s\n", name, alone ? "only" : "from", n, what);
    };
    has_failed = false, one_alone = alone, until_failure = n, blocks = 0, armed = true;
    try {
        sg::status const s = call();
        unarmed const saying;
        if (!s && (!has_failed || s.error().code() != sg::errc::memory)) complain(s.error().what());
    } catch (...) {
        armed = false;
        complain("an exception was thrown");
    }
    armed = false;
    if (leaks_nothing && blocks != 0) complain("memory is not given back");
    return has_failed;
}

// call() computes, and right() says whether the result is there. Kernels that a call needs first are compiled in the
// calls that fail, which must not remember a part of one.
template <class Call, class Right>
void try_each(char const* name, long least, Call const& call, Right const& right) {
    for (bool const warm : {false, true})
        for (bool const alone : {true, false}) {
            long n = 0;
            while (failed_in(name, n, alone, warm, call) && n < 2000) {
                ++n;
                if (!warm) continue;
                sg::status const s = call();
                if (s && right()) continue;
                ++wrong;
                std::printf("%s, after allocation %ld failed: %s\n", name, n - 1,
                            s ? "C is wrong" : s.error().what());
            }
            if ((!warm && alone && n < least) || n >= 2000) {
                ++wrong;
                std::printf("%s: %ld allocations were not expected\n", name, n);
            }
        }
}

// Each kind of call; `tiled` is the policy with a tile of its own. The first time, kernels are compiled.
template <class Policy, class Tiled>
void try_all(Policy const& gpu, Tiled const& tiled, bool compiles = true) {
    operands const x;
    sg::matrix<float> c(33, 40);
    typename Policy::template matrix<float> a(gpu, x.a), b(gpu, x.b), there(gpu, 33, 40);
    auto const right = [&] {
        there.download(c);
        return x.is(c);
    };
    auto const single = [&](char const* name, long least, auto const& policy) {
        try_each(
            name, compiles ? least : 0,
            [&] { return sg::try_gemm(policy, 2.0f, a, b, 0.0f, there, sg::relu); }, right);
    };
    single("a product", 3, gpu);
    single("tiles", 3, tiled);
    single("strassen", 3, sg::strassen{gpu, {.levels = 1}});
    single("ozaki", 3, sg::ozaki{gpu, {.moduli = 9}});
    auto const whole = sg::product(2.0f, a, b, 0.0f, there, sg::relu);
    std::vector<std::remove_const_t<decltype(whole)>> group;
    for (sg::index_t const j : {0, 8, 16, 24, 32})
        group.push_back(sg::product(2.0f, a, b.block(0, j, 21, 8), 0.0f, there.block(0, j, 33, 8), sg::relu));
    try_each(
        "a group", compiles ? 3 : 0, [&] { return sg::try_gemm(gpu, group); }, right);
    try_each(
        "operands on the host", compiles ? 3 : 0,
        [&] { return sg::try_gemm(gpu, 2.0f, x.a, x.b, 0.0f, c, sg::relu); }, [&] { return x.is(c); });
    sg::plan const planned{gpu, whole.shape()};
    auto room = planned.reserve();
    try_each(
        "a plan", 0, [&] { return planned.try_run(whole, room); }, right);
    auto const leaf = gpu.leaf();
    using space = typename Policy::space;
    typename Policy::template matrix<float> kept(gpu, x.exact);
    try_each(
        "copy", compiles, [&] { return leaf.copy(sg::view<float const, space>(kept.view()), there.view()); },
        right);
    try_each(
        "upload", 0, [&] { return leaf.copy_async(x.exact.view(), there.view()); }, right);
    try_each(
        "fork", compiles,
        [&]() -> sg::status {
            auto queue = leaf.fork();
            if (!queue) return queue.take_status();
            if (sg::status s = queue->copy(sg::view<float const, space>(kept.view()), there.view()); !s)
                return s;
            auto done = queue->record();
            if (!done) return done.take_status();
            return queue->synchronize(*done);
        },
        right);
    gpu.synchronize().or_throw();
}

inline int verdict() {
    if (wrong == 0) std::puts("every allocation may fail");
    return wrong != 0;
}

} // namespace memory
