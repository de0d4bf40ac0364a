// The parameters of the tiled kernel, and which combinations of them are legal.
#pragma once

#include "device.hpp"

#include <compare>

STRATAGEMM_BEGIN

inline constexpr std::ptrdiff_t opencl_longest = 0x7fffffff; // sides are int in kernels

struct opencl_tile {
    friend auto operator<=>(opencl_tile const&, opencl_tile const&) = default;
};

STRATAGEMM_END
