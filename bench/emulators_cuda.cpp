// The settings whose speed and error are compared, over a CUDA device.
#include "emulators.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <limits>
#include <stdexcept>

namespace bench {
namespace {

// A device whose own products of wide types may be estimated to take for ever: what the data allow runs then, whether
// or not it pays here.
struct base : sg::cuda {
    bool eager = false;

    template <class S>
    double estimate(S const& s) const {
        return eager && sizeof(typename S::a_type) > 2 ? std::numeric_limits<double>::infinity()
                                                       : sg::cuda::estimate(s);
    }
};

template <class Means>
struct over_device {
    Means means;
    base device;
    bool light; // it stays within the memory of a device, beside the others, whatever the size

    bool takes(problem const& p) const { return light || p.n < 16384; }
    auto operator()(problem const&) { return means.over(device); }
    std::string ran() const { return means.ran(); }
};

contenders over(choice by) {
    using enum element;
    contenders all;
    base device, eager;
    device.eager = by == choice::data, eager.eager = true;
    auto const add = [&]<class Means>(std::string name, Means const& means, base const& on,
                                      bool light = true) {
        all.push_back(make_policy<forms{}, f32, f64, c32, c64>(std::move(name), role::library,
                                                               over_device<Means>{means, on, light}));
    };
    auto const add_single = [&]<class Means>(std::string name, Means const& means, base const& on,
                                             bool light = true) {
        all.push_back(make_policy<forms{}, f32, c32>(std::move(name), role::library,
                                                     over_device<Means>{means, on, light}));
    };
    by_ozaki const fp64{{.accuracy = sg::accuracy::fp64}}, fp32{{.accuracy = sg::accuracy::fp32}};
    by_split const split_fp32{{.accuracy = sg::accuracy::fp32}};
    add("native", native{}, device);
    add("ozaki fp64", fp64, device);
    add("ozaki fp32", fp32, device);
    add_single("split fp32", split_fp32, device);
    if (by == choice::speed) { // what the contracts cost where they are not left for speed
        add("ozaki fp64, always", fp64, eager, false);
        add("ozaki fp32, always", fp32, eager, false);
        add_single("split fp32, always", split_fp32, eager, false);
    }
    for (int const count : {7, 8, 14, 15, 16})
        add("ozaki, " + std::to_string(count) + " moduli", by_ozaki{{.moduli = count}}, device);
    for (int const count : {3, 4, 7, 8})
        add("ozaki, " + std::to_string(count) + " slices", by_ozaki{{.slices = count}}, device, count < 7);
    for (int const count : {3, 6, 9})
        add_single("split, " + std::to_string(count) + " products", by_split{{.products = count}}, device,
                   count < 9);
    return all;
}

} // namespace

contenders make_emulators(choice by) { return over(by); }

std::unique_ptr<machine> make_emulation_machine() {
    sg::cuda().ready().or_throw();
    auto on = make_cuda_machine();
    if (!on) throw std::runtime_error("the driver lacks a function that the benchmarks use");
    return on;
}

} // namespace bench
