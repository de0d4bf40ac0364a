// What the unit tests of the CUDA backend share. Cases that a CPU cannot stand in for (tests/stand_in), or not in a
// minute, are tagged [real].
#pragma once

#include "catch.hpp"

#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <string_view>

namespace sg = stratagemm;

namespace on_cuda {

inline sg::matrix<float> numbers(sg::index_t m, sg::index_t n, sg::index_t step) {
    return {m, n,
            [step](sg::index_t i, sg::index_t j) { return static_cast<float>((step * i + 2 * j) % 9 - 4); }};
}

// A product of integers, on the device and on the host.
struct product {
    sg::matrix<float> a = numbers(33, 21, 3), b = numbers(21, 40, 5), c{33, 40}, exact{33, 40};
    product() { sg::gemm(sg::reference{}, a, b, exact); }
    int wrong() const {
        int n = 0;
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j) n += c(i, j) != exact(i, j);
        return n;
    }
};

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
        CALL(cuDeviceGet, &device, 0);
        CALL(cuDevicePrimaryCtxRetain, &context, device);
        CALL(cuCtxSetCurrent, context);
        CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    }
    ~own_stream() { entry<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream); }
};

inline bool says(sg::status const& s, char const* text) {
    return std::string_view(s.error().what()).find(text) != std::string_view::npos;
}

} // namespace on_cuda
