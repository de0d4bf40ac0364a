// OpenBLAS and BLIS export the same cblas_* names, so each is opened in a scope of its own and asked by address.
// A name alone proves nothing (distributions redirect libblas.so.3 from one to the other): the adapter also
// requires a symbol that only the right library has.
#pragma once

#include "../contender.hpp"

#include <dlfcn.h>

namespace bench {

class cblas_peer : public contender {
public:
    bool takes(problem const& p) const override {
        if (p.type == element::bf16) return sbgemm_ && p.count == 1;
        return p.type == element::f32 || p.type == element::f64;
    }

    void enter(problem const& p) override { set_threads(p.count > 1 ? 1 : p.threads); }

    void run(problem const& p, operands const& x) override {
        split_batch(p, [&](long first, long last) {
            for (long i = first; i < last; ++i) {
                if (p.type == element::f32) one<float>(p, x, i, sgemm_, sgemv_);
                if (p.type == element::f64) one<double>(p, x, i, dgemm_, dgemv_);
            }
        });
        if (p.type == element::bf16)
            sbgemm_(row_major, op(p.a_transposed), op(p.b_transposed), int(p.m), int(p.n), int(p.k), 1.0f,
                    x.a, int(p.lda()), x.b, int(p.ldb()), 0.0f, x.c, int(p.ldc()));
    }

protected:
    // An installed copy, or one beside the executable: its run path starts with $ORIGIN.
    explicit cblas_peer(char const* file, char const* proof) {
        handle_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (!handle_ || !symbol<void*>(proof)) return;
        sgemm_ = symbol<gemm_function<float>>("cblas_sgemm");
        dgemm_ = symbol<gemm_function<double>>("cblas_dgemm");
        sgemv_ = symbol<gemv_function<float>>("cblas_sgemv");
        dgemv_ = symbol<gemv_function<double>>("cblas_dgemv");
        sbgemm_ = symbol<sbgemm_function>("cblas_sbgemm");
    }
    bool complete() const { return sgemm_ && dgemm_ && sgemv_ && dgemv_; }
    virtual void set_threads(int) = 0;

    template <class Function>
    Function symbol(char const* name) const {
        return reinterpret_cast<Function>(dlsym(handle_, name));
    }

private:
    template <class T>
    using gemm_function = void (*)(int, int, int, int, int, int, T, T const*, int, T const*, int, T, T*, int);
    template <class T>
    using gemv_function = void (*)(int, int, int, int, T, T const*, int, T const*, int, T, T*, int);
    using sbgemm_function = void (*)(int, int, int, int, int, int, float, void const*, int, void const*, int,
                                     float, void*, int);

    static constexpr int row_major = 101;
    static int op(bool transposed) { return transposed ? 112 : 111; }

    template <class T>
    static void one(problem const& p, operands const& x, long i, gemm_function<T> gemm,
                    gemv_function<T> gemv) {
        int const m = int(p.m), n = int(p.n), k = int(p.k);
        T const *a = matrix_a<T>(p, x, i), *b = matrix_b<T>(p, x, i);
        T* c = matrix_c<T>(p, x, i);
        if (n == 1 && !p.a_transposed) return gemv(row_major, op(false), m, k, 1, a, k, b, 1, 0, c, 1);
        gemm(row_major, op(p.a_transposed), op(p.b_transposed), m, n, k, 1, a, int(p.lda()), b, int(p.ldb()),
             0, c, int(p.ldc()));
    }

    void* handle_ = nullptr;
    gemm_function<float> sgemm_ = nullptr;
    gemm_function<double> dgemm_ = nullptr;
    gemv_function<float> sgemv_ = nullptr;
    gemv_function<double> dgemv_ = nullptr;
    sbgemm_function sbgemm_ = nullptr; // only in builds of OpenBLAS with bfloat16
};

} // namespace bench
