// A library that stands for cuBLAS: it remembers what a handle or a descriptor was told, and counts the products that it
// is asked for, but does none of them.
#include "cublas.hpp"

#include <cstring>
#include <map>
#include <vector>

namespace {

int calls = 0, says = 0;

// Attributes of a descriptor, by number, as bytes. Those with numbers from 60 on are what no test and no library knows.
using attributes = std::map<int, std::vector<unsigned char>>;

template <class T>
void put(attributes& all, int id, T value) {
    all[id].resize(sizeof(value));
    std::memcpy(all[id].data(), &value, sizeof(value));
}
int set(void* of, int id, void const* value, std::size_t bytes) {
    auto& all = *static_cast<attributes*>(of);
    auto const found = all.find(id);
    if (found == all.end() || found->second.size() != bytes) return 7;
    std::memcpy(found->second.data(), value, bytes);
    return 0;
}
int get(void const* of, int id, void* value, std::size_t bytes, std::size_t* written) {
    auto const& all = *static_cast<attributes const*>(of);
    auto const found = all.find(id);
    if (found == all.end() || (bytes != 0 && bytes < found->second.size())) return 7;
    if (written) *written = found->second.size();
    if (bytes != 0) std::memcpy(value, found->second.data(), found->second.size());
    return 0;
}
int count() {
    ++calls;
    return says;
}

} // namespace

struct cublas_context {
    stream on = nullptr;
    int pointer_mode = 0, math_mode = 0, atomics_mode = 0, multiprocessors = 0;
};

extern "C" {

int beneath_calls() { return calls; }
void beneath_says(int status) { says = status; }

int cublasCreate_v2(handle* made) {
    *made = new cublas_context;
    return 0;
}
int cublasDestroy_v2(handle h) {
    delete h;
    return 0;
}
int cublasSetStream_v2(handle h, stream s) { return h->on = s, 0; }
int cublasGetStream_v2(handle h, stream* s) { return *s = h->on, 0; }

#define FAKE_MODE(NAME, MEMBER)                                                                              \
    int cublasSet##NAME(handle h, int x) { return h->MEMBER = x, 0; }                                        \
    int cublasGet##NAME(handle h, int* x) { return *x = h->MEMBER, 0; }
FAKE_MODE(PointerMode_v2, pointer_mode)
FAKE_MODE(MathMode, math_mode)
FAKE_MODE(AtomicsMode, atomics_mode)
FAKE_MODE(SmCountTarget, multiprocessors)

#define FAKE_GEMM(P, T, I, S)                                                                                \
    int cublas##P##gemm_v2##S(handle h, int, int, I, I, I, T const* alpha, T const* a, I, T const* b, I,     \
                              T const* beta, T* c, I) {                                                      \
        return cublas##P##gemmBatched##S(h, 0, 0, 0, 0, 0, alpha, &a, 0, &b, 0, beta, &c, 0, 1);             \
    }                                                                                                        \
    int cublas##P##gemmStridedBatched##S(handle, int, int, I, I, I, T const*, T const*, I, long long,        \
                                         T const*, I, long long, T const*, T*, I, long long, I) {            \
        return count();                                                                                      \
    }                                                                                                        \
    int cublas##P##gemmBatched##S(handle, int, int, I, I, I, T const*, T const* const*, I, T const* const*,  \
                                  I, T const*, T* const*, I, I) {                                            \
        return count();                                                                                      \
    }
FAKE_GEMM(S, float, int, )
FAKE_GEMM(D, double, int, )
FAKE_GEMM(C, c8, int, )
FAKE_GEMM(Z, c16, int, )
FAKE_GEMM(S, float, std::int64_t, _64)
FAKE_GEMM(D, double, std::int64_t, _64)
FAKE_GEMM(C, c8, std::int64_t, _64)
FAKE_GEMM(Z, c16, std::int64_t, _64)

#define FAKE_EX(I, S)                                                                                        \
    int cublasGemmEx##S(handle, int, int, I, I, I, void const*, void const*, int, I, void const*, int, I,    \
                        void const*, void*, int, I, int, int) {                                              \
        return count();                                                                                      \
    }                                                                                                        \
    int cublasGemmStridedBatchedEx##S(handle, int, int, I, I, I, void const*, void const*, int, I,           \
                                      long long, void const*, int, I, long long, void const*, void*, int, I, \
                                      long long, I, int, int) {                                              \
        return count();                                                                                      \
    }
FAKE_EX(int, )
FAKE_EX(std::int64_t, _64)

int cublasLtMatmulDescCreate(void** made, int sums, int factors) {
    auto* const all = new attributes;
    for (int const id : {2, 3, 4, 5, 15}) put(*all, id, std::int32_t{0});
    put(*all, 0, std::int32_t{sums}), put(*all, 1, std::int32_t{factors});
    put(*all, 6, std::int32_t{2}), put(*all, 7, std::uint32_t{1}), put(*all, 26, std::int32_t{-1});
    for (int const id : {8, 10, 11, 12, 13, 14, 17, 18, 19, 20, 21, 61}) put(*all, id, std::int64_t{0});
    *made = all;
    return 0;
}
int cublasLtMatmulDescDestroy(void* of) {
    delete static_cast<attributes*>(of);
    return 0;
}
int cublasLtMatmulDescSetAttribute(void* of, int id, void const* value, std::size_t bytes) {
    return set(of, id, value, bytes);
}
int cublasLtMatmulDescGetAttribute(void const* of, int id, void* value, std::size_t bytes,
                                   std::size_t* written) {
    return get(of, id, value, bytes, written);
}
int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t cols,
                               std::int64_t ld) {
    auto* const all = new attributes;
    put(*all, 0, std::int32_t{type}), put(*all, 1, std::int32_t{0}), put(*all, 2, rows), put(*all, 3, cols);
    put(*all, 4, ld), put(*all, 5, std::int32_t{1}), put(*all, 6, std::int64_t{0}),
        put(*all, 7, std::int64_t{0});
    *made = all;
    return 0;
}
int cublasLtMatrixLayoutDestroy(void* of) { return cublasLtMatmulDescDestroy(of); }
int cublasLtMatrixLayoutSetAttribute(void* of, int id, void const* value, std::size_t bytes) {
    return set(of, id, value, bytes);
}
int cublasLtMatrixLayoutGetAttribute(void const* of, int id, void* value, std::size_t bytes,
                                     std::size_t* written) {
    return get(of, id, value, bytes, written);
}
int cublasLtMatmul(handle, void const*, void const*, void const*, void const*, void const*, void const*,
                   void const*, void const*, void const*, void*, void const*, void const*, void*, std::size_t,
                   stream) {
    return count();
}
}
