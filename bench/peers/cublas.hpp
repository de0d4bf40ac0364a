// cuBLAS on the first CUDA device, opened at run time: nothing of CUDA's is needed to build this, and where it is not
// installed there is no such peer. It has a context and buffers of its own, beside those of OpenCL on the same card.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <initializer_list>
#include <type_traits>

namespace bench {

class cublas {
public:
    cublas() {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
        void* library = nullptr;
        for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
            if (!library) library = dlopen(name, RTLD_NOW);
        if (!driver || !library) return;
        auto const init = symbol<int (*)(unsigned)>(driver, "cuInit");
        auto const device = symbol<int (*)(int*, int)>(driver, "cuDeviceGet");
        auto const retain = symbol<int (*)(void**, int)>(driver, "cuDevicePrimaryCtxRetain");
        auto const enter = symbol<int (*)(void*)>(driver, "cuCtxSetCurrent");
        auto const create = symbol<int (*)(void**)>(library, "cublasCreate_v2");
        allocate_ = symbol<int (*)(address*, std::size_t)>(driver, "cuMemAlloc_v2");
        free_ = symbol<int (*)(address)>(driver, "cuMemFree_v2");
        upload_ = symbol<int (*)(address, void const*, std::size_t)>(driver, "cuMemcpyHtoD_v2");
        download_ = symbol<int (*)(void*, address, std::size_t)>(driver, "cuMemcpyDtoH_v2");
        finish_ = symbol<int (*)()>(driver, "cuCtxSynchronize");
        sgemm_ = symbol<gemm_function<float>>(library, "cublasSgemm_v2");
        dgemm_ = symbol<gemm_function<double>>(library, "cublasDgemm_v2");
        int first = 0;
        void* context = nullptr;
        if (!init || !device || !retain || !enter || !create || !allocate_ || !free_ || !upload_ ||
            !download_ || !finish_ || !sgemm_ || !dgemm_)
            return;
        if (init(0) || device(&first, 0) || retain(&context, first) || enter(context) || create(&handle_))
            handle_ = nullptr;
    }
    bool found() const { return handle_ != nullptr; }
    int finish() const { return finish_(); }

    // Row-major C = A B: of its column-major view the other way round.
    template <class T>
    class product {
    public:
        product(cublas const& library, long m, long n, long k, T const* a, T const* b)
            : library_(library), m_(m), n_(n), k_(k) {
            good_ = put(a_, a, m * k) && put(b_, b, k * n) && put(c_, nullptr, m * n);
        }
        product(product const&) = delete;
        product& operator=(product const&) = delete;
        ~product() {
            for (address const buffer : {a_, b_, c_})
                if (buffer) library_.free_(buffer);
        }
        bool good() const { return good_; }
        int run() const {
            T const one = 1, zero = 0;
            gemm_function<T> gemm;
            if constexpr (std::is_same_v<T, float>)
                gemm = library_.sgemm_;
            else
                gemm = library_.dgemm_;
            return gemm(library_.handle_, 0, 0, int(n_), int(m_), int(k_), &one, b_, int(n_), a_, int(k_),
                        &zero, c_, int(n_));
        }
        int download(T* c) const { return library_.download_(c, c_, sizeof(T) * std::size_t(m_ * n_)); }

    private:
        bool put(unsigned long long& buffer, T const* from, long count) {
            std::size_t const bytes = sizeof(T) * std::size_t(count);
            return library_.allocate_(&buffer, bytes) == 0 &&
                   (!from || library_.upload_(buffer, from, bytes) == 0);
        }
        cublas const& library_;
        long m_, n_, k_;
        unsigned long long a_ = 0, b_ = 0, c_ = 0;
        bool good_ = false;
    };

private:
    using address = unsigned long long; // CUdeviceptr
    template <class T>
    using gemm_function = int (*)(void*, int, int, int, int, int, T const*, address, int, address, int,
                                  T const*, address, int);
    template <class F>
    static F symbol(void* library, char const* name) {
        return reinterpret_cast<F>(dlsym(library, name));
    }

    void* handle_ = nullptr;
    int (*allocate_)(address*, std::size_t) = nullptr;
    int (*free_)(address) = nullptr;
    int (*upload_)(address, void const*, std::size_t) = nullptr;
    int (*download_)(void*, address, std::size_t) = nullptr;
    int (*finish_)() = nullptr;
    gemm_function<float> sgemm_ = nullptr;
    gemm_function<double> dgemm_ = nullptr;
};

} // namespace bench
