// What this machine can do at most, measured: multiply-adds from registers or tiles, and streaming from memory.
#pragma once

#include "contender.hpp"

#include <string>

namespace bench {

// GFLOP/s (or Gop/s) of `threads` threads over about 5 ms; 0 where this machine has no unit for the type.
double arithmetic_peak(element, int threads);
std::string arithmetic_unit(element); // "AVX-512", "AMX", ...

// GB/s over about 25 ms. Reading goes over a buffer of `bytes` again and again, so it is served by the cache
// that holds that much; copying counts bytes read and written.
double read_bandwidth(int threads, double bytes);
double copy_bandwidth(int threads);

// The caches that this machine names, and memory: GB/s of reading what a level holds, all threads together.
struct memory_level {
    std::string name;
    double bandwidth;
};
std::vector<memory_level> memory_levels(int threads);

} // namespace bench
