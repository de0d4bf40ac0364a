// What `./dev bench against` races: compiled once with this checkout's headers and once with those of another
// commit, as libraries that know nothing of each other. Only what both versions have may be used.
// AGAINST_EMULATION, _OPENCL or _CUDA selects policies other than `host`.
#include "policy.hpp"

#if defined(AGAINST_CUDA)
#    include <stratagemm/backend/cuda.hpp>
#elif defined(AGAINST_OPENCL)
#    include <stratagemm/backend/opencl.hpp>
#endif

namespace sg = stratagemm;
using namespace bench;

// `queue` is a cl_command_queue, so that both versions use the buffers of one context.
extern "C" __attribute__((visibility("default"))) void
make_contenders(role part, [[maybe_unused]] void* queue, contenders& all) {
    using enum element;
    auto const name = [&](char const* own) { return part == role::library ? own : "the other"; };
    [[maybe_unused]] constexpr forms epilogues{.epilogues = true};
#if defined(AGAINST_CUDA)
    all.push_back(make_policy<epilogues, f32, f64, f16, bf16, c32, i8>(
        name("stratagemm"), part, [](problem const&) { return sg::cuda{}; }));
#elif defined(AGAINST_OPENCL)
    sg::opencl const device(static_cast<cl_command_queue>(queue));
    all.push_back(make_policy<epilogues, f32, f16, c32, i8>(name("stratagemm"), part,
                                                            [=](problem const&) { return device; }));
#else
    auto const cpu = [](problem const& p) { return sg::host{.threads = p.threads}; };
#    if defined(AGAINST_EMULATION)
    auto const ozaki = [=](sg::ozaki_options const& o) {
        return [=](problem const& p) { return sg::ozaki{cpu(p), o}; };
    };
    auto const split = [=](sg::split_options const& o) {
        return [=](problem const& p) { return sg::split{cpu(p), o}; };
    };
    all.push_back(make_policy<forms{}, f64, c64>(name("ozaki, 15 moduli"), part, ozaki({.moduli = 15})));
    all.push_back(make_policy<forms{}, f64>(name("ozaki, 7 slices"), part, ozaki({.slices = 7})));
    all.push_back(
        make_policy<forms{}, f64>(name("ozaki, fp64"), part, ozaki({.accuracy = sg::accuracy::fp64})));
    all.push_back(make_policy<forms{}, f32>(name("ozaki, 8 moduli"), part, ozaki({.moduli = 8})));
    all.push_back(
        make_policy<forms{}, f32>(name("ozaki, fp32"), part, ozaki({.accuracy = sg::accuracy::fp32})));
    all.push_back(make_policy<forms{}, f32>(name("split, 3 products"), part, split({.products = 3})));
    all.push_back(make_policy<forms{}, f32>(name("split, 6 products"), part, split({.products = 6})));
    all.push_back(
        make_policy<forms{}, f32>(name("split, fp32"), part, split({.accuracy = sg::accuracy::fp32})));
    all.push_back(make_policy<forms{}, f32, f64>(name("strassen"), part, [=](problem const& p) {
        return sg::strassen{cpu(p), {.levels = 1}};
    }));
    all.push_back(make_policy<forms{}, f64>(name("recursive"), part,
                                            [=](problem const& p) { return sg::recursive{cpu(p)}; }));
#    else
    constexpr forms batches{.batches = true, .epilogues = true};
    all.push_back(make_policy<batches, f32, f64, f16, bf16, c32, i8>(name("stratagemm"), part, cpu));
#    endif
#endif
}
