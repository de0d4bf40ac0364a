// The policies under test on OpenCL devices, each named as a caller writes it. A new one is one line here.
#pragma once

#include "conformance/device/mirrored.hpp"
#include "eager.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/opencl.hpp>

namespace trials {

using under_test = sg::opencl;
inline constexpr char under_test_name[] = "opencl";

// As for CUDA; no kernel of OpenCL is for large products alone.
using small_device = sg::opencl;
inline bool multiplies_by_warpgroups(small_device const&) { return false; }

// Tiles that the sizes of the suite are larger than: one with two buffers, vectors and parts of k, one with neither.
inline constexpr sg::opencl_tile small_tile{.threads_m = 4,
                                            .threads_n = 4,
                                            .micro_m = 4,
                                            .micro_n = 4,
                                            .depth = 8,
                                            .lanes_m = 2,
                                            .lanes_n = 2,
                                            .a_width = 4,
                                            .b_width = 4,
                                            .buffers = 2,
                                            .padding = 4,
                                            .swizzle = 2};
inline constexpr sg::opencl_tile odd_tile{
    .threads_m = 2, .threads_n = 4, .micro_m = 3, .micro_n = 2, .depth = 8, .buffers = 1};
// Slices, and local memory read ahead.
inline constexpr sg::opencl_tile sliced_tile{.threads_m = 2,
                                             .threads_n = 4,
                                             .micro_m = 4,
                                             .micro_n = 4,
                                             .depth = 8,
                                             .unroll = 8,
                                             .lanes_m = 4,
                                             .lanes_n = 4,
                                             .a_width = 2,
                                             .b_width = 2,
                                             .padding = 4,
                                             .slices = 2,
                                             .ahead = 1};

inline sg::opencl with_small_tiles() { return sg::opencl().with(small_tile, 64); }

// Compilers for CPUs take a second for each kernel with tiles, and one is needed for each way that operands lie. So
// the other types, and epilogues, have a few trials of their own.
template <class Base>
struct for_float : mirrored<sg::opencl, Base> {
    template <class P>
    static constexpr sg::verdict
        accepts = sg::types_if(std::is_same_v<typename P::a_type, float>) &
                  sg::epilogue_if(std::is_same_v<typename P::epilogue_type, sg::identity>) &
                  mirrored<sg::opencl, Base>::template accepts<P>;
};
template <class Base>
for_float(mirrored<sg::opencl, Base>) -> for_float<Base>;

// Layers whose epilogue is the leaf's or the base's, which are tried by themselves.
template <class Base>
struct without_epilogue : mirrored<sg::opencl, Base> {
    template <class P>
    static constexpr sg::verdict
        accepts = sg::types_if(sizeof(sg::real_t<typename P::a_type>) >= 4) &
                  sg::epilogue_if(std::is_same_v<typename P::epilogue_type, sg::identity>) &
                  mirrored<sg::opencl, Base>::template accepts<P>;
};
template <class Base>
without_epilogue(mirrored<sg::opencl, Base>) -> without_epilogue<Base>;

inline constexpr sg::ozaki_options by_product{.moduli = 9, .scaling = sg::ozaki_scaling::product};

// Kernels are written for an epilogue.
template <class P>
inline constexpr bool takes_any_epilogue = false;

// f(name, policy) for each. Deeper levels of strassen, and its other forms, are in conformance/device/strassen.cpp.
template <class F>
void for_each_policy(std::uint64_t turn, F&& f) {
    sg::opencl const device;
    f("opencl", mirrored{device, device});
    f("opencl.with(small_tile)", for_float{mirrored{device, with_small_tiles()}});
    f("opencl.with(odd_tile)", for_float{mirrored{device, device.with(odd_tile)}});
    f("opencl.with(sliced_tile)", for_float{mirrored{device, device.with(sliced_tile)}});
    f("strassen{opencl, {.levels = 1}}", mirrored{device, sg::strassen{device, {.levels = 1}}});
    f("staged{opencl}", of_each_size{sg::staged{device}});
    f("recursive{strassen{opencl, {.levels = 1}}}",
      of_each_size{
          mirrored{device, sg::recursive{sg::strassen{device, {.levels = 1}}, {.leaf_bytes = 6000}}}});

    // Those that do many products take turns, and rest often: there is little in them that depends on the shape.
    switch (turn % 16) {
    case 0: return f("ozaki{opencl}", without_epilogue{mirrored{device, sg::ozaki{eager{device}}}});
    case 3:
        return f("ozaki{opencl, {.slices = 3}}",
                 without_epilogue{mirrored{device, sg::ozaki{device, {.slices = 3}}}});
    case 6:
        return f("ozaki{opencl, {.moduli = 9, .scaling = ozaki_scaling::product}}",
                 without_epilogue{mirrored{device, sg::ozaki{device, by_product}}});
    case 7: return f("verified{opencl}", without_epilogue{mirrored{device, sg::verified{device}}});
    case 9: return f("split{opencl}", without_epilogue{mirrored{device, sg::split{eager{device}}}});
    case 11:
        return f("verified{strassen{opencl, {.levels = 1}}}",
                 without_epilogue{mirrored{device, sg::verified{sg::strassen{device, {.levels = 1}}}}});
    case 12:
        return f("split{opencl, {.products = 3}}",
                 without_epilogue{mirrored{device, sg::split{device, {.products = 3}}}});
    case 15:
        return f("out_of_core{opencl, {.device_bytes = 100'000}}",
                 staged_without_epilogue{sg::out_of_core{device, {.device_bytes = 100'000}}});
    default: return;
    }
}

} // namespace trials
