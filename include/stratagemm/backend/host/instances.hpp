// What stratagemm::kernels holds compiled. Programs that link it have STRATAGEMM_COMPILED_KERNELS defined, and
// compile none of this: neither the whole call of a plain product of floats or doubles, nor, for each type of
// elements, the set of functions that every other product calls after its checks. Complex products call the
// functions of their real parts.
#pragma once

#include "../host.hpp"

STRATAGEMM_BEGIN

// Types cannot be in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define STRATAGEMM_HOST_DRIVERS(EXTERN, ELEMENT, ...)                                                        \
    EXTERN template void multiply(host_job<ELEMENT, __VA_ARGS__> const&, int, host_arena&, host_way);        \
    EXTERN template std::size_t multiply_bytes<__VA_ARGS__>(index_t, index_t, index_t, int);
#define STRATAGEMM_HOST_REAL(EXTERN, ELEMENT)                                                                \
    EXTERN template kernel_table<ELEMENT, ELEMENT> const& kernels();                                         \
    STRATAGEMM_HOST_DRIVERS(EXTERN, ELEMENT, real_packing<ELEMENT, ELEMENT>)                                 \
    EXTERN template void join_parts(block_args<ELEMENT> const&, bool, bool);                                 \
    EXTERN template block_function<ELEMENT> only_kernel(block_args<ELEMENT>&, index_t);                      \
    EXTERN template block_function<ELEMENT> multiply_by_dots(block_args<ELEMENT> const&, index_t, index_t);  \
    EXTERN template bool multiply_small_pieces(block_args<ELEMENT>&, index_t);
#define STRATAGEMM_HOST_CONVERTED(EXTERN, ELEMENT)                                                           \
    EXTERN template kernel_table<float, ELEMENT> const& kernels();                                           \
    STRATAGEMM_HOST_DRIVERS(EXTERN, ELEMENT, real_packing<ELEMENT, float>)
#define STRATAGEMM_HOST_PACKETS(EXTERN, ELEMENT)                                                             \
    EXTERN template kernel_table<packet_of<ELEMENT>, packet_of<ELEMENT>> const& kernels();                   \
    STRATAGEMM_HOST_DRIVERS(EXTERN, ELEMENT, packet_packing<ELEMENT>)

#define STRATAGEMM_HOST_CALL(EXTERN, ELEMENT)                                                                \
    EXTERN template status run_in_workspace(host const&, dense_problem<ELEMENT, ELEMENT, ELEMENT> const&,    \
                                            bool);                                                           \
    EXTERN template bool host::try_small(dense_problem<ELEMENT, ELEMENT, ELEMENT> const&) const;

#define STRATAGEMM_HOST_INSTANCES(EXTERN)                                                                    \
    STRATAGEMM_HOST_REAL(EXTERN, float)                                                                      \
    STRATAGEMM_HOST_REAL(EXTERN, double)                                                                     \
    STRATAGEMM_HOST_CONVERTED(EXTERN, half)                                                                  \
    STRATAGEMM_HOST_CONVERTED(EXTERN, bfloat16)                                                              \
    STRATAGEMM_HOST_PACKETS(EXTERN, bfloat16)                                                                \
    STRATAGEMM_HOST_PACKETS(EXTERN, std::int8_t)                                                             \
    EXTERN template kernel_table<pair16, std::int8_t> const& kernels();                                      \
    STRATAGEMM_HOST_DRIVERS(EXTERN, std::int8_t, pair_packing<std::int8_t>)                                  \
    EXTERN template kernel_table<float, std::int8_t> const& kernels();                                       \
    EXTERN template void multiply_widened(widened_job const&, widened_b const&, int, host_arena&);           \
    STRATAGEMM_HOST_CALL(EXTERN, float)                                                                      \
    STRATAGEMM_HOST_CALL(EXTERN, double)

// NOLINTEND(bugprone-macro-parentheses)

#ifdef STRATAGEMM_COMPILED_KERNELS
STRATAGEMM_HOST_INSTANCES(extern)
#endif

STRATAGEMM_END
