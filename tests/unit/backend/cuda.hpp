// What the unit tests of the CUDA backend share. Cases that a CPU cannot stand in for (tests/stand_in), or not in a
// minute, are tagged [real].
#pragma once

#include "catch.hpp"
#include "unit/backend/integers.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/cuda.hpp>

namespace sg = stratagemm;

namespace on_cuda {

using namespace integers;

// What a caller of the driver does.
template <class Function>
Function* entry(char const* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(library, name));
}
#define CALL(name, ...) REQUIRE(entry<decltype(name)>(#name)(__VA_ARGS__) == CUDA_SUCCESS)

struct own_stream {
    CUstream stream = nullptr;
    own_stream() {
        CUdevice device = 0;
        CUcontext context = nullptr;
        CALL(cuInit, 0); // this case may be the first to use the driver
        CALL(cuDeviceGet, &device, 0);
        CALL(cuDevicePrimaryCtxRetain, &context, device);
        CALL(cuCtxSetCurrent, context);
        CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    }
    ~own_stream() { entry<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream); }
};

} // namespace on_cuda
