// Built-in tiles, by device family and by the type that sums are kept in: data, the larger tiles first.
#pragma once

#include "../configuration.hpp"

STRATAGEMM_BEGIN

struct opencl_entry {
    opencl_family family;
    char sums; // s, d, c or z; i takes those of s
    opencl_tile tile;
    short groups; // that a compute unit runs at a time
    float rate;   // of a device that is full, relative to the other entries of the family
};

// threads, micro-tile, depth, unroll, lanes, widths of loads, buffers, padding, swizzle.
inline constexpr opencl_entry opencl_entries[] = {
    {opencl_family::gfx803, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, 1.0f},
    {opencl_family::gfx803, 's', {16, 16, 8, 4, 8, 8, 4, 4, 4, 2, 2, 4, 8}, 3, 0.85f},
    {opencl_family::gfx803, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 4, 0.7f},
    {opencl_family::gfx803, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 1, 2, 8}, 8, 0.35f},
    {opencl_family::gfx803, 'd', {16, 16, 4, 4, 8, 8, 2, 2, 2, 2, 2, 2, 8}, 2, 1.0f},
    {opencl_family::gfx803, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 2, 1.0f},
    {opencl_family::gfx803, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 2, 1.0f},

    {opencl_family::nvidia, 's', {16, 16, 8, 8, 8, 8, 4, 4, 4, 4, 2, 4, 8}, 2, 1.0f},
    {opencl_family::nvidia, 's', {16, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 4, 0.9f},
    {opencl_family::nvidia, 's', {8, 8, 8, 8, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 8, 0.9f},
    {opencl_family::nvidia, 's', {16, 16, 4, 4, 16, 16, 4, 4, 4, 4, 2, 4, 8}, 4, 0.7f},
    {opencl_family::nvidia, 's', {16, 16, 2, 2, 16, 16, 2, 2, 2, 2, 2, 2, 8}, 8, 0.35f},
    {opencl_family::nvidia, 'd', {16, 16, 4, 4, 16, 16, 2, 2, 2, 2, 2, 2, 8}, 3, 1.0f},
    {opencl_family::nvidia, 'c', {16, 16, 4, 4, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 3, 1.0f},
    {opencl_family::nvidia, 'z', {16, 16, 2, 2, 8, 8, 1, 1, 1, 1, 2, 1, 8}, 4, 1.0f},

    // PoCL runs a work-group on one core: local memory is cache, and vectors are as wide as its registers.
    {opencl_family::cpu, 's', {8, 4, 4, 16, 64, 2, 1, 16, 1, 16, 1, 0, 4}, 1, 1.0f},
    {opencl_family::cpu, 'd', {8, 4, 4, 8, 64, 2, 1, 8, 1, 8, 1, 0, 4}, 1, 1.0f},
    {opencl_family::cpu, 'c', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1, 1.0f},
    {opencl_family::cpu, 'z', {8, 4, 4, 4, 32, 1, 1, 1, 1, 1, 1, 0, 4}, 1, 1.0f},
};

// Families without entries of their own take those of one that is like them.
constexpr opencl_family tuned_like(opencl_family f) {
    switch (f) {
    case opencl_family::gcn:
    case opencl_family::rdna:
    case opencl_family::intel:
    case opencl_family::other: return opencl_family::gfx803;
    default: return f;
    }
}

STRATAGEMM_END
