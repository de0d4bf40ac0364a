// MKL's transforms, opened at run time.
#include "fft.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>

namespace bench {
namespace {

// As mkl_dfti.h declares them.
using handle = void*;
enum : int {
    forward_domain_complex = 32,
    forward_domain_real = 33,
    number_of_transforms = 7,
    conjugate_even_storage = 10,
    placement = 11,
    input_distance = 14,
    output_distance = 15,
    thread_limit = 27,
    complex_complex = 39,
    not_in_place = 44
};
struct library {
    long (*create_s)(handle*, int domain, ...) = nullptr;
    long (*create_d)(handle*, int domain, ...) = nullptr;
    long (*set)(handle, int what, ...) = nullptr;
    long (*commit)(handle) = nullptr;
    long (*forward)(handle, void* x, ...) = nullptr;
    long (*release)(handle*) = nullptr;
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
        find(create_s, "DftiCreateDescriptor_s_1d"), find(create_d, "DftiCreateDescriptor_d_1d");
        find(set, "DftiSetValue"), find(commit, "DftiCommitDescriptor");
        find(forward, "DftiComputeForward"), find(release, "DftiFreeDescriptor");
        find(set_threads, "MKL_Set_Num_Threads");
    }
};
library const& mkl() {
    static library const opened;
    return opened;
}

void check(long code, char const* what) {
    if (code == 0) return;
    std::fprintf(stderr, "MKL: %s failed with %ld\n", what, code);
    std::exit(1);
}
void* prepare(fft_problem const& p) {
    mkl().set_threads(p.threads);
    handle plan = nullptr;
    check((p.wide ? mkl().create_d
                  : mkl().create_s)(&plan, p.real ? forward_domain_real : forward_domain_complex, p.points),
          "DftiCreateDescriptor");
    long const count = p.count, from = p.points, to = p.real ? p.points / 2 + 1 : p.points,
               threads = p.threads;
    check(mkl().set(plan, placement, not_in_place), "DftiSetValue");
    check(mkl().set(plan, number_of_transforms, count), "DftiSetValue");
    check(mkl().set(plan, input_distance, from), "DftiSetValue");
    check(mkl().set(plan, output_distance, to), "DftiSetValue");
    check(mkl().set(plan, thread_limit, threads), "DftiSetValue");
    if (p.real) check(mkl().set(plan, conjugate_even_storage, complex_complex), "DftiSetValue");
    check(mkl().commit(plan), "DftiCommitDescriptor");
    return plan;
}
void run(fft_problem const& p, void* plan) {
    check(mkl().forward(plan, const_cast<void*>(p.x), p.y), "DftiComputeForward");
}
void release(void* plan) { mkl().release(&plan); }

constexpr fft_peer peer{"MKL", prepare, run, release};

} // namespace

fft_peer const* open_fft_mkl() { return mkl().complete ? &peer : nullptr; }

} // namespace bench
