// MKL's sparse products, opened at run time: of the arrays as they are, and of what its inspector makes of them for
// many products of one kind.
#include "sparse.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>

namespace bench {
namespace {

// As mkl_spblas.h declares them, with 32-bit integers.
struct descriptor {
    int type = 20, mode = 0, diagonal = 0; // a general matrix
};
constexpr int plain = 10, by_rows = 101;
using handle = void*;
template <class T>
struct functions {
    int (*create)(handle*, int base, int rows, int cols, int const* begins, int const* ends,
                  int const* columns, T const* values);
    int (*mv)(int operation, T alpha, handle, descriptor, T const* x, T beta, T* y);
    int (*mm)(int operation, T alpha, handle, descriptor, int layout, T const* b, int columns, int ldb,
              T beta, T* c, int ldc);
};
struct library {
    functions<float> f32{};
    functions<double> f64{};
    int (*destroy)(handle) = nullptr;
    int (*hint_mv)(handle, int operation, descriptor, int calls) = nullptr;
    int (*hint_mm)(handle, int operation, descriptor, int layout, int columns, int calls) = nullptr;
    int (*optimize)(handle) = nullptr;
    void (*set_threads)(int) = nullptr;
    bool complete = false;

    library() {
        void* opened = nullptr;
        for (char const* name : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"})
            if (!opened) opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!opened) return;
        complete = true;
        auto const find = [&](auto& to, char const* name) {
            to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(opened, name));
            complete &= to != nullptr;
        };
        int (*set_layer)(int) = nullptr;
        find(set_layer, "MKL_Set_Threading_Layer");
        if (complete) set_layer(3); // libgomp, as in this program
        find(f32.create, "mkl_sparse_s_create_csr"), find(f64.create, "mkl_sparse_d_create_csr");
        find(f32.mv, "mkl_sparse_s_mv"), find(f64.mv, "mkl_sparse_d_mv");
        find(f32.mm, "mkl_sparse_s_mm"), find(f64.mm, "mkl_sparse_d_mm");
        find(destroy, "mkl_sparse_destroy"), find(optimize, "mkl_sparse_optimize");
        find(hint_mv, "mkl_sparse_set_mv_hint"), find(hint_mm, "mkl_sparse_set_mm_hint");
        find(set_threads, "MKL_Set_Num_Threads");
    }
    template <class T>
    functions<T> const& of() const {
        if constexpr (sizeof(T) == 4)
            return f32;
        else
            return f64;
    }
};
library const& mkl() {
    static library const opened;
    return opened;
}

void check(int code, char const* what) {
    if (code == 0) return;
    std::fprintf(stderr, "MKL: %s failed with %d\n", what, code);
    std::exit(1);
}
template <class T, bool Inspects>
void* prepare(sparse_problem<T> const& p) {
    mkl().set_threads(p.threads);
    handle a = nullptr;
    check(mkl().template of<T>().create(&a, 0, static_cast<int>(p.rows), static_cast<int>(p.cols), p.begins,
                                        p.begins + 1, p.columns, p.values),
          "create_csr");
    int const calls = 1000;
    if (!Inspects) return a;
    if (p.n == 1)
        mkl().hint_mv(a, plain, {}, calls);
    else
        mkl().hint_mm(a, plain, {}, by_rows, static_cast<int>(p.n), calls);
    mkl().optimize(a); // both may refuse a hint: the product then goes without
    return a;
}
template <class T>
void run(sparse_problem<T> const& p, void* a) {
    mkl().set_threads(p.threads);
    int const n = static_cast<int>(p.n);
    if (n == 1)
        check(mkl().template of<T>().mv(plain, 1, a, {}, p.b, 0, p.c), "mv");
    else
        check(mkl().template of<T>().mm(plain, 1, a, {}, by_rows, p.b, n, n, 0, p.c, n), "mm");
}

template <bool Inspects>
constexpr sparse_peer peer{Inspects ? "inspected" : "MKL",   !Inspects,  prepare<float, Inspects>,
                           prepare<double, Inspects>,        run<float>, run<double>,
                           [](void* a) { mkl().destroy(a); }};

} // namespace

sparse_peer const* open_sparse_mkl(bool with_inspector) {
    if (!mkl().complete) return nullptr;
    return with_inspector ? &peer<true> : &peer<false>;
}

} // namespace bench
