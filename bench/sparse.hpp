// What the programs of sparse products on a CUDA device share: a race of calls that are kept in graphs, cuSPARSE, and
// matrices at random. Both libraries of NVIDIA are opened at run time.
#pragma once

#include "median.hpp"
#include "sparse_kinds.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

namespace sg = stratagemm;
using bench::host_csr;
using bench::make_csr;
using sg::index_t;

inline void check(int code, char const* what) {
    if (code == 0) return;
    std::printf("%s failed: %d\n", what, code);
    std::exit(1);
}
inline void* open_any(std::initializer_list<char const*> names) {
    for (char const* name : names)
        if (void* const library = dlopen(name, RTLD_NOW)) return library;
    return nullptr;
}
template <class F>
F get(void* library, char const* name) {
    return library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
}

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
using bench::median;

// The part of the driver that captures graphs.
struct graphs {
    void* driver = open_any({"libcuda.so.1"});
    using stream = void*;
    int (*create)(stream*, unsigned) = get<decltype(create)>(driver, "cuStreamCreate");
    int (*begin)(stream, int) = get<decltype(begin)>(driver, "cuStreamBeginCapture_v2");
    int (*end)(stream, void**) = get<decltype(end)>(driver, "cuStreamEndCapture");
    int (*instantiate)(void**, void*,
                       unsigned long long) = get<decltype(instantiate)>(driver,
                                                                        "cuGraphInstantiateWithFlags");
    int (*launch)(void*, stream) = get<decltype(launch)>(driver, "cuGraphLaunch");
    int (*destroy)(void*) = get<decltype(destroy)>(driver, "cuGraphExecDestroy");
    int (*destroy_graph)(void*) = get<decltype(destroy_graph)>(driver, "cuGraphDestroy");
    int (*wait)(stream) = get<decltype(wait)>(driver, "cuStreamSynchronize");
};

// One way to compute something: call(i) queues the i-th of `sets` products that rotate.
struct way {
    std::string name;
    std::function<void(int)> call;
    bool counts = true; // in the best of the peers
    void* graph = nullptr;
    double calls = 0;
    std::vector<double> seconds{}, queued{};
};

class race {
public:
    race(graphs const& g, graphs::stream stream) : g_(g), stream_(stream) {}

    // Seconds of a call, the median, for each way.
    void run(std::vector<way>& ways, int sets, int rounds = 5) const {
        for (way& w : ways) {
            for (int i = 0; i < sets; ++i) w.call(i);
            check(g_.wait(stream_), w.name.c_str());
            double const begin = now();
            for (int i = 0; i < 3; ++i) w.call(i % sets);
            check(g_.wait(stream_), w.name.c_str());
            double const one = (now() - begin) / 3;
            int const times = std::max(1, std::min(200, static_cast<int>(5e-3 / one)));
            int const whole = times < sets ? times : times / sets * sets;
            void* graph = nullptr;
            check(g_.begin(stream_, 2), "to begin a capture");
            for (int i = 0; i < whole; ++i) w.call(i % sets);
            check(g_.end(stream_, &graph), "to capture");
            check(g_.instantiate(&w.graph, graph, 0), "to make a graph");
            check(g_.destroy_graph(graph), "to free a graph");
            w.calls = whole;
            replay(w);
        }
        for (int round = 0; round < rounds; ++round)
            for (way& w : ways) {
                w.seconds.push_back(replay(w));
                double const begin = now();
                for (int i = 0; i < static_cast<int>(w.calls); ++i) w.call(i % sets);
                check(g_.wait(stream_), w.name.c_str());
                w.queued.push_back((now() - begin) / w.calls);
            }
        for (way& w : ways) check(g_.destroy(w.graph), "to free a graph");
    }

    // Whether a graph can hold the call.
    template <class F>
    bool can_hold(F const& call) const {
        if (g_.begin(stream_, 2) != 0) return false;
        bool const called = call() == 0;
        void* graph = nullptr;
        bool const ended = g_.end(stream_, &graph) == 0;
        if (graph) check(g_.destroy_graph(graph), "to free a graph");
        return called && ended;
    }

private:
    double replay(way const& w) const {
        double const begin = now();
        check(g_.launch(w.graph, stream_), w.name.c_str());
        check(g_.wait(stream_), w.name.c_str());
        return (now() - begin) / w.calls;
    }
    graphs const& g_;
    graphs::stream stream_;
};

struct cublas {
    void* library = open_any({"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"});
    int (*create)(void**) = get<decltype(create)>(library, "cublasCreate_v2");
    int (*set_stream)(void*, void*) = get<decltype(set_stream)>(library, "cublasSetStream_v2");
    int (*gemv)(void*, int, int, int, float const*, float const*, int, float const*, int, float const*,
                float*, int) = get<decltype(gemv)>(library, "cublasSgemv_v2");
    int (*gemm)(void*, int, int, int, int, int, void const*, void const*, int, int, void const*, int, int,
                void const*, void*, int, int, int, int) = get<decltype(gemm)>(library, "cublasGemmEx");
    void* handle = nullptr;
};

using device_matrix = sg::cuda::matrix<float>;

struct cusparse {
    void* library =
        open_any({"libcusparse.so.12", "libcusparse.so.13", "/usr/local/cuda/lib64/libcusparse.so"});
    int (*create)(void**) = get<decltype(create)>(library, "cusparseCreate");
    int (*set_stream)(void*, void*) = get<decltype(set_stream)>(library, "cusparseSetStream");
    int (*create_csr)(void**, std::int64_t, std::int64_t, std::int64_t, void*, void*, void*, int, int, int,
                      int) = get<decltype(create_csr)>(library, "cusparseCreateCsr");
    int (*create_ell)(void**, std::int64_t, std::int64_t, std::int64_t, std::int64_t, void*, void*, int, int,
                      int) = get<decltype(create_ell)>(library, "cusparseCreateBlockedEll");
    int (*create_bsr)(void**, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, void*,
                      void*, void*, int, int, int, int,
                      int) = get<decltype(create_bsr)>(library, "cusparseCreateBsr");
    int (*create_matrix)(void**, std::int64_t, std::int64_t, std::int64_t, void*, int,
                         int) = get<decltype(create_matrix)>(library, "cusparseCreateDnMat");
    int (*create_vector)(void**, std::int64_t, void*,
                         int) = get<decltype(create_vector)>(library, "cusparseCreateDnVec");
    using product = int (*)(void*, int, int, void const*, void*, void*, void const*, void*, int, int, void*);
    product multiply = get<product>(library, "cusparseSpMM"),
            prepare = get<product>(library, "cusparseSpMM_preprocess"),
            room = get<product>(library, "cusparseSpMM_bufferSize");
    using vector_product = int (*)(void*, int, void const*, void*, void*, void const*, void*, int, int,
                                   void*);
    vector_product times_vector = get<vector_product>(library, "cusparseSpMV"),
                   vector_room = get<vector_product>(library, "cusparseSpMV_bufferSize"),
                   prepare_vector = get<vector_product>(library, "cusparseSpMV_preprocess");
    void* handle = nullptr;
};

// Products into sparse matrices, of sparse ones and perhaps of dense ones: sampled.cpp.
void sampled(sg::cuda const& gpu, race const& by, graphs::stream stream, bool of_dense);

// Matrices whose rows differ, times dense ones: sparse_graphs.cpp. `filter` is a part of a product's name. `variants` of
// the kernels are raced, too.
void graphs_by_kind(sg::cuda const& gpu, race const& by, graphs::stream stream, std::string const& filter,
                    bool variants);
