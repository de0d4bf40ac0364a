// The policies under test on CUDA devices, each named as a caller writes it. A new one is one line here.
#pragma once

#include "conformance/device/mirrored.hpp"
#include "eager.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/cuda.hpp>

namespace trials {

using under_test = sg::cuda;
inline constexpr char under_test_name[] = "cuda";

// Tiles that the sizes of the suite are larger than.
inline constexpr sg::cuda_blocked small_tile{16, 16, 8, 4, 2, 2, 2};
inline constexpr sg::cuda_blocked odd_tile{6, 8, 8, 3, 2, 2, 1};

inline sg::cuda with(sg::cuda_configuration const& tile) {
    sg::cuda policy;
    policy.tile = tile;
    return policy;
}
inline sg::cuda with_small_tiles() { return with(small_tile); }

// Engines of one type or a few: the rest would do what "cuda" does. Complex numbers have those of real ones.
template <class Base, class... T>
struct only_for : mirrored<sg::cuda, Base> {
    template <class P>
    static constexpr sg::verdict accepts = sg::types_if((std::is_same_v<typename P::wide_type, T> || ...)) &
                                           mirrored<sg::cuda, Base>::template accepts<P>;
};
template <class... T>
auto only(sg::cuda_configuration const& tile, bool tf32 = false) {
    sg::cuda policy = with(tile);
    policy.tf32 = tf32;
    return only_for<sg::cuda, T...>{{policy, policy}};
}
inline constexpr sg::cuda_simt simt_tile{64, 128, 32, 8, 16, 3, 2};
inline constexpr sg::cuda_simt narrow_simt_tile{64, 16, 32, 4, 4, 3, 2};
inline constexpr sg::cuda_fp64 fp64_tile{32, 64, 16, 32, 32, 3, 2};
inline constexpr sg::cuda_fp64 narrow_fp64_tile{32, 16, 16, 16, 16, 3, 2};
inline constexpr sg::cuda_fp64 fetching_fp64_tile{128, 128, 16, 64, 32, 3, 2};
inline constexpr sg::cuda_wgmma wgmma_tile{64, 128, 64, 2, 2, 2};
inline constexpr sg::cuda_wgmma tf32_tile{64, 128, 32, 2, 2};
inline constexpr sg::cuda_wgmma int8_tile{128, 64, 128, 2, 2, 2};
inline constexpr sg::cuda_mma mma_tile{64, 64, 32, 32, 32, 3, 2};
inline constexpr sg::cuda_mma thin_mma_tile{32, 64, 64, 16, 32, 2, 2};
inline constexpr sg::cuda_wgmma fp8_tile{64, 64, 128, 2, 2};
inline constexpr sg::cuda_mma mma_fp8_tile{64, 64, 128, 32, 32, 2, 2};
inline constexpr sg::cuda_mma mma_tf32_tile{64, 64, 16, 32, 32, 3, 2};
inline constexpr sg::cuda_narrow shifted_lines{.parts = 2, .together = true, .anywhere = true};

// As on a device with one multiprocessor, if it multiplies by warpgroups: one group computes all tiles.
struct small_device : sg::cuda {
    struct leaf_type : sg::cuda_operations {
        int warpgroup_units() const { return sg::cuda_operations::warpgroup_units() > 0; }
        sg::result<leaf_type> fork() const {
            auto another = sg::cuda_operations::fork();
            if (!another) return another.take_status();
            return leaf_type{std::move(*another)};
        }
    };
    leaf_type leaf() const { return {sg::cuda::leaf()}; }
};
inline bool multiplies_by_warpgroups(small_device const& device) {
    return device.leaf().warpgroup_units() > 0;
}

// Layers whose epilogue is the leaf's or the base's, which are tried by themselves.
template <class Base>
struct without_epilogue : mirrored<sg::cuda, Base> {
    template <class P>
    static constexpr sg::verdict
        accepts = sg::types_if(sizeof(sg::real_t<typename P::a_type>) >= 4) &
                  sg::epilogue_if(std::is_same_v<typename P::epilogue_type, sg::identity>) &
                  mirrored<sg::cuda, Base>::template accepts<P>;
};
template <class Base>
without_epilogue(mirrored<sg::cuda, Base>) -> without_epilogue<Base>;

inline constexpr sg::ozaki_options by_product{.moduli = 9, .scaling = sg::ozaki_scaling::product};

// Kernels are written for an epilogue.
template <class P>
inline constexpr bool takes_any_epilogue = false;

// f(name, policy) for each.
template <class F>
void for_each_policy(std::uint64_t turn, F&& f) {
    sg::cuda const device;
    f("cuda", mirrored{device, device});
    f("cuda{.tile = small_tile}", mirrored{device, with(small_tile)});
    f("cuda{.tile = odd_tile}", mirrored{device, with(odd_tile)});
    f("cuda{.tile = simt_tile}", only<float, std::complex<float>>(simt_tile));
    f("cuda{.tf32 = true, .tile = tf32_tile}", only<float>(tf32_tile, true));
    f("cuda{.tile = narrow_simt_tile}", only<float, std::complex<float>>(narrow_simt_tile));
    f("cuda{.tile = fp64_tile}", only<double, std::complex<double>>(fp64_tile));
    f("cuda{.tile = narrow_fp64_tile}", only<double>(narrow_fp64_tile));
    f("cuda{.tile = fetching_fp64_tile}", only<double, std::complex<double>>(fetching_fp64_tile));
    f("cuda{.tile = wgmma_tile}", only<sg::half, sg::bfloat16>(wgmma_tile));
    f("cuda{.tile = int8_tile}", only<std::int8_t>(int8_tile));
    f("cuda{.tile = mma_tile}", only<sg::half, sg::bfloat16>(mma_tile));
    f("cuda{.tile = thin_mma_tile}", only<sg::half, sg::bfloat16, std::int8_t>(thin_mma_tile));
    f("cuda{.tile = shifted_lines}", only<sg::half, sg::bfloat16>(shifted_lines));
    f("cuda{.tile = fp8_tile}", only<sg::fp8_e4m3, sg::fp8_e5m2>(fp8_tile));
    f("cuda{.tile = mma_fp8_tile}", only<sg::fp8_e4m3, sg::fp8_e5m2>(mma_fp8_tile));
    f("cuda{.tf32 = true, .tile = mma_tf32_tile}", only<float>(mma_tf32_tile, true));
    f("staged{cuda}", of_each_size{sg::staged{device}});
    f("strassen{cuda, {.levels = 1}}", mirrored{device, sg::strassen{device, {.levels = 1}}});
    f("strassen{cuda, {.levels = 2}}", mirrored{device, sg::strassen{device, {.levels = 2}}});
    f("strassen{cuda, {.levels = 1, .variant = strassen_variant::winograd}}",
      mirrored{device, sg::strassen{device, {.levels = 1, .variant = sg::strassen_variant::winograd}}});
    f("recursive{strassen{cuda, {.levels = 1}}}",
      of_each_size{
          mirrored{device, sg::recursive{sg::strassen{device, {.levels = 1}}, {.leaf_bytes = 6000}}}});

    // Those that do many products take turns, and rest often: there is little in them that depends on the shape.
    switch (turn % 16) {
    case 0: return f("ozaki{cuda}", without_epilogue{mirrored{device, sg::ozaki{eager{device}}}});
    case 3:
        return f("ozaki{cuda, {.slices = 3}}",
                 without_epilogue{mirrored{device, sg::ozaki{device, {.slices = 3}}}});
    case 6:
        return f("ozaki{cuda, {.moduli = 9, .scaling = ozaki_scaling::product}}",
                 without_epilogue{mirrored{device, sg::ozaki{device, by_product}}});
    case 7: return f("verified{cuda}", without_epilogue{mirrored{device, sg::verified{device}}});
    case 9: return f("split{cuda}", without_epilogue{mirrored{device, sg::split{eager{device}}}});
    case 10:
        return f("split{cuda with one multiprocessor}",
                 mirrored{device, sg::split{eager{small_device{device}}}});
    case 13:
        return f("split{cuda with one multiprocessor, {.products = 3}}",
                 without_epilogue{mirrored{device, sg::split{small_device{device}, {.products = 3}}}});
    case 11:
        return f("verified{strassen{cuda, {.levels = 1}}}",
                 without_epilogue{mirrored{device, sg::verified{sg::strassen{device, {.levels = 1}}}}});
    case 12:
        return f("split{cuda, {.products = 3}}",
                 without_epilogue{mirrored{device, sg::split{device, {.products = 3}}}});
    case 15:
        return f("out_of_core{cuda, {.device_bytes = 100'000}}",
                 staged_without_epilogue{sg::out_of_core{device, {.device_bytes = 100'000}}});
    default: return;
    }
}

} // namespace trials
