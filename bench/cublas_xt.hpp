// cublasXt, opened at run time: products of matrices in host memory over several devices.
#pragma once

#include <cstddef>
#include <dlfcn.h>
#include <vector>

namespace bench {

// cublasXt, with blocks of a size.
template <class T>
class cublas_xt {
public:
    cublas_xt(int devices, std::ptrdiff_t block) {
        for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
            if (!library_) library_ = dlopen(name, RTLD_NOW);
        if (!library_) return;
        auto const create = get<int (*)(void**)>("cublasXtCreate");
        auto const select = get<int (*)(void*, int, int*)>("cublasXtDeviceSelect");
        auto const block_dim = get<int (*)(void*, int)>("cublasXtSetBlockDim");
        product_ = get<product>(sizeof(T) == 8 ? "cublasXtDgemm" : "cublasXtSgemm");
        std::vector<int> ids;
        for (int i = 0; i < devices; ++i) ids.push_back(i);
        ready_ = create && select && block_dim && product_ && create(&handle_) == 0 &&
                 select(handle_, devices, ids.data()) == 0 &&
                 block_dim(handle_, static_cast<int>(block)) == 0;
    }
    bool ready() const { return ready_; }
    bool multiply(std::ptrdiff_t n, T const* a, T const* b, T* c) const {
        auto const side = static_cast<std::size_t>(n);
        T const one = 1, zero = 0;
        return product_(handle_, 0, 0, side, side, side, &one, a, side, b, side, &zero, c, side) == 0;
    }

private:
    template <class F>
    F get(char const* name) const {
        return reinterpret_cast<F>(dlsym(library_, name));
    }
    void* library_ = nullptr;
    using product = int (*)(void*, int, int, std::size_t, std::size_t, std::size_t, T const*, T const*,
                            std::size_t, T const*, std::size_t, T const*, T*, std::size_t);
    void* handle_ = nullptr;
    product product_ = nullptr;
    bool ready_ = false;
};

} // namespace bench
