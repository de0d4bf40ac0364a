// What a program has when it writes its small products out: sizes known to the compiler, -O3 -march=...
#include "kernels.hpp"

namespace bench {
namespace {

// g++ unrolls small loops completely before it vectorises, and then does not vectorise them (8x8 falls to a tenth).
// The simd hint on the columns prevents that; only 4x4 is better off without.
template <int N>
void inlined(long count, float const* __restrict a, float const* __restrict b, float* __restrict c) {
    for (long i = 0; i < count; ++i, a += N * N, b += N * N, c += N * N)
        for (int row = 0; row < N; ++row)
            if constexpr (N == 4) {
                float sum[N] = {};
                for (int p = 0; p < N; ++p)
                    for (int col = 0; col < N; ++col) sum[col] += a[row * N + p] * b[p * N + col];
                for (int col = 0; col < N; ++col) c[row * N + col] = sum[col];
            } else {
#pragma omp simd
                for (int col = 0; col < N; ++col) {
                    float sum = 0;
                    for (int p = 0; p < N; ++p) sum += a[row * N + p] * b[p * N + col];
                    c[row * N + col] = sum;
                }
            }
}

} // namespace

extern inlined_kernel const inlined_4 = inlined<4>, inlined_8 = inlined<8>, inlined_16 = inlined<16>,
                            inlined_32 = inlined<32>;

#ifdef __AVX2__
extern bool const native_needs_avx2 = true;
#else
extern bool const native_needs_avx2 = false;
#endif
#ifdef __AVX512F__
extern bool const native_needs_avx512 = true;
#else
extern bool const native_needs_avx512 = false;
#endif

} // namespace bench
