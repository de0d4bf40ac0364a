// Compiles the kernels of a file for each instruction set. Before this file is included,
//   #define STRATAGEMM_EACH_ISA "../../structure/<name>/<file>.inl.hpp"     seen from here
// and afterwards it is undefined. The file finds itself in host_portable, host_avx2 and host_avx512, beside the vectors of
// kernels.hpp, with
//   STRATAGEMM_TARGET     before each function
//   STRATAGEMM_OP         before those that others inline
//   STRATAGEMM_UNROLLED   before loops with a constant, small count; whoever includes this may define another
//   STRATAGEMM_ON_X86     defined where the set is one of x86's
#define STRATAGEMM_OP STRATAGEMM_TARGET inline __attribute__((always_inline))
#ifndef STRATAGEMM_UNROLLED
#    ifdef __CUDACC__ // which warns of it
#        define STRATAGEMM_UNROLLED
#    else
#        define STRATAGEMM_UNROLLED _Pragma("GCC unroll 16")
#    endif
#endif
namespace host_portable {
#define STRATAGEMM_TARGET
#include STRATAGEMM_EACH_ISA
#undef STRATAGEMM_TARGET
} // namespace host_portable
#if defined(__x86_64__)
#    define STRATAGEMM_ON_X86
namespace host_avx2 {
#    define STRATAGEMM_TARGET __attribute__((target("avx2,fma,f16c")))
#    include STRATAGEMM_EACH_ISA
#    undef STRATAGEMM_TARGET
} // namespace host_avx2
namespace host_avx512 {
#    define STRATAGEMM_TARGET STRATAGEMM_AVX512
#    include STRATAGEMM_EACH_ISA
#    undef STRATAGEMM_TARGET
} // namespace host_avx512
#    undef STRATAGEMM_ON_X86
#endif
#undef STRATAGEMM_OP
#undef STRATAGEMM_UNROLLED
#undef STRATAGEMM_EACH_ISA
