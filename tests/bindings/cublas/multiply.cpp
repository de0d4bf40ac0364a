// A small program of cuBLAS, as users have one: three products of doubles of 2 x 32^3 flops, printed as one sum.
// With CUBLAS_LIBRARY it opens that library itself and finds the functions by name.
#include "cublas.hpp"

#include <cstdio>
#include <cuda.h>
#include <dlfcn.h>
#include <vector>

namespace {

template <class Function>
Function* find(void* library, char const* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

} // namespace

int main() {
#ifdef CUBLAS_LIBRARY
    void* const library = dlopen(CUBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::fputs(dlerror(), stderr), 1;
    auto* const create = find<decltype(cublasCreate_v2)>(library, "cublasCreate_v2");
    auto* const destroy = find<decltype(cublasDestroy_v2)>(library, "cublasDestroy_v2");
    auto* const multiply = find<decltype(cublasDgemm_v2)>(library, "cublasDgemm_v2");
    if (!create || !destroy || !multiply) return 1;
#else
    auto* const create = cublasCreate_v2;
    auto* const destroy = cublasDestroy_v2;
    auto* const multiply = cublasDgemm_v2;
#endif
    // What cudaSetDevice does.
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CUcontext context = nullptr;
    if (!driver ||
        find<decltype(cuDevicePrimaryCtxRetain)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0) != 0 ||
        find<decltype(cuCtxSetCurrent)>(driver, "cuCtxSetCurrent")(context) != 0)
        return 1;

    constexpr int n = 32;
    std::vector<double> const a(n * n, 1), b(n * n, 2);
    std::vector<double> c(n * n, 0);
    double const alpha = 1, beta = 1;
    handle h = nullptr;
    if (create(&h) != 0) return 1;
    for (int i = 0; i < 3; ++i)
        if (multiply(h, 0, 0, n, n, n, &alpha, a.data(), n, b.data(), n, &beta, c.data(), n) != 0) return 1;
    if (destroy(h) != 0) return 1;
    double sum = 0;
    for (double const x : c) sum += x;
    std::printf("%.0f\n", sum);
    return 0;
}
