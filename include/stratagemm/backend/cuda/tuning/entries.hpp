// Built-in tiles, by the type of the operands: data, the larger tiles first.
#pragma once

#include "../configuration.hpp"

STRATAGEMM_BEGIN

struct cuda_entry {
    char const* types; // letters (source.hpp); t: floats that may be rounded to tf32
    cuda_tile tile;
    short blocks; // that a multiprocessor runs at a time, or needs to be full
    float rate;   // multiply-adds in a cycle of a multiprocessor that is full
};

inline constexpr cuda_entry cuda_entries[] = {
    {"hw", {cuda_engine::wgmma, 128, 256, 64, 1, 1, 4, 16, 1}, 1, 1730},
    {"hw", {cuda_engine::wgmma, 128, 256, 64, 1, 1, 4, 8, 2}, 1, 1680},
    {"hw", {cuda_engine::wgmma, 192, 192, 64, 1, 1, 4, 8, 2}, 1, 1800},
    {"hw", {cuda_engine::wgmma, 192, 192, 64, 1, 1, 4, 8, 1}, 1, 1830},
    {"hw", {cuda_engine::wgmma, 192, 128, 64, 1, 1, 5, 8, 1}, 1, 1650},
    {"hw", {cuda_engine::wgmma, 128, 192, 64, 1, 1, 4, 8, 1}, 1, 1650},
    {"hw", {cuda_engine::wgmma, 128, 192, 64, 1, 1, 4, 8, 2}, 1, 1620},
    {"hw", {cuda_engine::wgmma, 128, 128, 64, 1, 1, 6, 8, 2}, 1, 1620},
    {"hw", {cuda_engine::wgmma, 128, 128, 64, 1, 1, 6, 8, 1}, 1, 1620},
    {"hw", {cuda_engine::wgmma, 64, 256, 64, 1, 1, 4, 8, 1}, 1, 1280},
    {"hw", {cuda_engine::wgmma, 64, 192, 64, 1, 1, 6, 8, 1}, 1, 1250},
    {"hw", {cuda_engine::wgmma, 64, 128, 64, 1, 1, 8, 8, 1}, 1, 1200},
    {"hw", {cuda_engine::wgmma, 64, 128, 64, 1, 1, 8, 8, 2}, 1, 1100},
    {"hw", {cuda_engine::wgmma, 128, 64, 64, 1, 1, 8, 8, 1}, 1, 1030},
    {"hw", {cuda_engine::wgmma, 64, 64, 64, 1, 1, 8, 8, 1}, 1, 840},
    {"b", {cuda_engine::wgmma, 128, 256, 128, 1, 1, 4, 8, 1}, 1, 3280},
    {"b", {cuda_engine::wgmma, 128, 256, 128, 1, 1, 4, 16, 2}, 1, 3350},
    {"b", {cuda_engine::wgmma, 128, 192, 128, 1, 1, 4, 8, 1}, 1, 2730},
    {"b", {cuda_engine::wgmma, 128, 128, 128, 1, 1, 6, 8, 1}, 1, 2800},
    {"b", {cuda_engine::wgmma, 64, 128, 128, 1, 1, 8, 8, 2}, 1, 1800},
    {"b", {cuda_engine::wgmma, 128, 64, 128, 1, 1, 8, 8, 1}, 1, 1700},
    {"b", {cuda_engine::wgmma, 64, 64, 128, 1, 1, 8, 8, 1}, 1, 1000},
    {"45", {cuda_engine::wgmma, 128, 128, 128, 1, 1, 6, 8, 1}, 1, 2250},
    {"45", {cuda_engine::wgmma, 64, 128, 128, 1, 1, 6, 8, 2}, 1, 1300},
    {"45", {cuda_engine::wgmma, 128, 64, 128, 1, 1, 6, 8, 1}, 1, 1200},
    {"45", {cuda_engine::wgmma, 64, 64, 128, 1, 1, 6, 8, 1}, 1, 750},
    {"t", {cuda_engine::wgmma, 128, 256, 32, 1, 1, 4, 8, 1}, 1, 900},
    {"t", {cuda_engine::wgmma, 64, 128, 32, 1, 1, 6, 8, 1}, 1, 500},
    {"t", {cuda_engine::wgmma, 64, 64, 32, 1, 1, 6, 8, 1}, 1, 250},
    {"s", {cuda_engine::simt, 256, 192, 32, 16, 12, 3, 8}, 1, 113},
    {"s", {cuda_engine::simt, 256, 128, 32, 8, 16, 4, 8}, 1, 112},
    {"s", {cuda_engine::simt, 128, 128, 32, 8, 16, 3, 8}, 2, 113},
    {"s", {cuda_engine::simt, 128, 96, 32, 8, 12, 3, 8}, 2, 109},
    {"s", {cuda_engine::simt, 96, 96, 32, 8, 12, 3, 8}, 2, 80},
    {"s", {cuda_engine::simt, 64, 192, 32, 8, 12, 3, 8}, 2, 109},
    {"s", {cuda_engine::simt, 128, 64, 32, 8, 8, 3, 8}, 3, 104},
    {"s", {cuda_engine::simt, 64, 128, 32, 8, 8, 3, 8}, 3, 103},
    {"s", {cuda_engine::simt, 64, 64, 32, 8, 4, 3, 8}, 4, 92},
    {"s", {cuda_engine::simt, 64, 64, 32, 4, 4, 3, 8}, 2, 78},
    {"s", {cuda_engine::simt, 64, 32, 32, 4, 4, 3, 8}, 4, 81},
    {"s", {cuda_engine::simt, 32, 64, 32, 4, 4, 3, 8}, 4, 81},
    {"s", {cuda_engine::simt, 16, 128, 32, 4, 4, 3, 8}, 4, 78},
    {"s", {cuda_engine::simt, 128, 16, 32, 4, 4, 3, 8}, 4, 77},
    {"s", {cuda_engine::simt, 32, 32, 32, 4, 4, 3, 8}, 8, 78},
    {"d", {cuda_engine::fp64, 128, 128, 16, 64, 32, 6, 8}, 1, 131},
    {"d", {cuda_engine::fp64, 128, 96, 16, 32, 48, 6, 8}, 1, 128},
    {"d", {cuda_engine::fp64, 96, 96, 16, 48, 48, 6, 8}, 1, 120},
    {"d", {cuda_engine::fp64, 128, 64, 16, 32, 32, 8, 8}, 1, 128},
    {"d", {cuda_engine::fp64, 64, 128, 16, 32, 32, 8, 8}, 1, 128},
    {"d", {cuda_engine::fp64, 64, 96, 16, 16, 48, 6, 8}, 1, 122},
    {"d", {cuda_engine::fp64, 96, 64, 16, 48, 32, 8, 8}, 1, 125},
    {"d", {cuda_engine::fp64, 96, 64, 16, 48, 16, 6, 8}, 1, 126},
    {"d", {cuda_engine::fp64, 64, 80, 16, 16, 80, 8, 8}, 1, 125},
    {"d", {cuda_engine::fp64, 64, 64, 16, 32, 16, 6, 8}, 1, 124},
    {"d", {cuda_engine::fp64, 64, 64, 16, 32, 32, 6, 8}, 2, 128},
    {"d", {cuda_engine::fp64, 128, 32, 16, 32, 32, 6, 8}, 2, 124},
    {"d", {cuda_engine::fp64, 32, 64, 16, 16, 32, 8, 8}, 2, 108},
    {"d", {cuda_engine::fp64, 64, 32, 16, 32, 16, 8, 8}, 2, 110},
    {"d", {cuda_engine::fp64, 32, 32, 16, 16, 16, 8, 8}, 2, 77},
    {"d", {cuda_engine::fp64, 64, 16, 16, 16, 16, 8, 8}, 2, 80},
    {"d", {cuda_engine::fp64, 16, 64, 16, 16, 16, 8, 8}, 2, 70},
    {"d", {cuda_engine::fp64, 32, 16, 16, 16, 16, 16, 8}, 2, 55},

    {"hw", {cuda_engine::mma, 128, 128, 64, 64, 32, 3, 8}, 1, 800},
    {"hw", {cuda_engine::mma, 64, 64, 64, 32, 32, 3, 8}, 3, 570},
    {"hw", {cuda_engine::mma, 32, 64, 64, 16, 32, 4, 8}, 3, 430},
    {"hw", {cuda_engine::mma, 16, 64, 64, 16, 16, 6, 8}, 3, 270},
    {"hw", {cuda_engine::mma, 128, 128, 32, 64, 32, 1, 8}, 2, 800},
    {"hw", {cuda_engine::mma, 64, 64, 32, 32, 32, 1, 8}, 4, 600},
    {"b", {cuda_engine::mma, 128, 128, 128, 64, 32, 3, 8}, 1, 1600},
    {"b", {cuda_engine::mma, 64, 64, 128, 32, 32, 3, 8}, 3, 1200},
    {"45", {cuda_engine::mma, 128, 64, 128, 32, 32, 3, 8}, 1, 1200},
    {"45", {cuda_engine::mma, 64, 64, 128, 32, 32, 3, 8}, 2, 1000},
    {"t", {cuda_engine::mma, 128, 128, 32, 64, 32, 3, 8}, 1, 400},
    {"t", {cuda_engine::mma, 64, 64, 32, 32, 32, 3, 8}, 3, 300},

    {"s", {cuda_engine::blocked, 128, 128, 8, 8, 8, 2, 8}, 2, 96},
    {"s", {cuda_engine::blocked, 64, 64, 16, 8, 4, 2, 8}, 4, 68},
    {"s", {cuda_engine::blocked, 64, 128, 8, 8, 4, 2, 8}, 3, 80},
    {"s", {cuda_engine::blocked, 64, 128, 4, 8, 4, 2, 8}, 3, 68},
    {"thwb45", {cuda_engine::blocked, 128, 128, 8, 8, 8, 2, 8}, 2, 75},
    {"tb", {cuda_engine::blocked, 64, 64, 16, 8, 4, 2, 8}, 4, 62},
    {"thwb", {cuda_engine::blocked, 64, 128, 8, 8, 4, 2, 8}, 3, 54},
    {"thwb", {cuda_engine::blocked, 64, 128, 4, 8, 4, 2, 8}, 3, 60},
    {"sthwb45", {cuda_engine::blocked, 32, 32, 16, 2, 2, 2, 8}, 6, 34},
    {"d", {cuda_engine::blocked, 64, 64, 16, 4, 4, 2, 8}, 3, 45},
    {"d", {cuda_engine::blocked, 32, 128, 4, 8, 4, 2, 8}, 2, 42},
    {"d", {cuda_engine::blocked, 32, 128, 8, 4, 4, 2, 8}, 2, 42},
    {"d", {cuda_engine::blocked, 32, 32, 16, 2, 2, 2, 8}, 6, 25},
    {"c", {cuda_engine::blocked, 64, 64, 8, 4, 4, 2, 8}, 3, 22},
    {"c", {cuda_engine::blocked, 32, 32, 8, 2, 2, 2, 8}, 6, 12},
    {"z", {cuda_engine::blocked, 32, 32, 8, 2, 2, 2, 8}, 4, 8},
};

// Tiles for groups, whose products share a launch. A multiprocessor runs one block of a larger tile at a time, and
// idles while that block begins and ends.
inline constexpr cuda_entry cuda_group_entries[] = {
    {"sthwb", {cuda_engine::blocked, 64, 64, 16, 8, 4, 2, 8}, 4, 62},
    {"sthwb", {cuda_engine::blocked, 32, 32, 8, 4, 4, 2, 8}, 12, 45}, // of fp8 it spills on sm_100a
    {"sthwb45", {cuda_engine::blocked, 32, 32, 16, 2, 2, 2, 8}, 6, 26},
    {"d", {cuda_engine::blocked, 64, 64, 8, 8, 4, 2, 8}, 3, 45},
    {"d", {cuda_engine::blocked, 32, 32, 8, 4, 4, 2, 8}, 8, 32},
    {"d", {cuda_engine::blocked, 32, 32, 16, 2, 2, 2, 8}, 6, 25},
    {"c", {cuda_engine::blocked, 64, 64, 8, 4, 4, 2, 8}, 3, 22},
    {"c", {cuda_engine::blocked, 32, 32, 8, 2, 2, 2, 8}, 6, 12},
    {"z", {cuda_engine::blocked, 32, 32, 8, 2, 2, 2, 8}, 4, 8},
};

STRATAGEMM_END
