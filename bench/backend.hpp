// The policy of the backend that a program is compiled for, whether it can run here, and what it runs on.
#pragma once

#include <stratagemm/backend/host.hpp>
#ifdef STRATAGEMM_BENCH_OPENCL
#    include <stratagemm/backend/opencl.hpp>
#endif
#ifdef STRATAGEMM_BENCH_CUDA
#    include <stratagemm/backend/cuda.hpp>
#endif

#include <string>

namespace bench {

#if defined(STRATAGEMM_BENCH_OPENCL)
using backend = stratagemm::opencl;
inline backend make_backend() { return {}; }
inline stratagemm::status ready(backend const& gpu) { return gpu.ready(); } // or why there is no device
inline bool is_large(backend const& gpu) { return (gpu.where().type & CL_DEVICE_TYPE_GPU) != 0; }
inline bool has_double(backend const& gpu) { return gpu.where().has_double; }
inline std::string device_of(backend const& gpu) {
    return gpu.where().name + ", driver " + gpu.where().driver;
}
#elif defined(STRATAGEMM_BENCH_CUDA)
using backend = stratagemm::cuda;
inline backend make_backend() { return {}; }
inline stratagemm::status ready(backend const& gpu) { return gpu.ready(); }
inline bool is_large(backend const&) { return true; }
inline bool has_double(backend const&) { return true; }
inline std::string device_of(backend const& gpu) { return gpu.where().name; }
#else
using backend = stratagemm::host;
// One thread, which ways_over times by its own clock.
inline backend make_backend() { return {.threads = 1}; }
inline stratagemm::status ready(backend const&) { return {}; }
inline bool is_large(backend const&) { return false; }
inline bool has_double(backend const&) { return true; }
inline std::string device_of(backend const& cpu) {
    return cpu.describe(stratagemm::shape<float>{.m = 1024, .n = 1024, .k = 1024});
}
#endif

} // namespace bench
