// Products of two element types: kernels that read one operand as it is stored, or copies of it.
#include "suite.hpp"

using namespace trials;
using float_x_bfloat16 = two_types<float, sg::bfloat16>;
using half_x_float = two_types<sg::half, float>;
using bfloat16_x_int8 = two_types<sg::bfloat16, std::int8_t>;
using int8_x_half = two_types<std::int8_t, sg::half>;
using sg::half;

#define STRATAGEMM_DEVICE_CONFORMANCE_OF_TWO(TA, TC)                                                         \
    TEST_CASE(#TA " to " #TC ": shapes and layouts") { shapes_and_layouts<TA, TC>(93); }                     \
    TEST_CASE(#TA " to " #TC ": long and thin") { long_and_thin<TA, TC>(7); }                                \
    TEST_CASE(#TA " to " #TC ": batches and groups") {                                                       \
        batches<TA, TC>(10);                                                                                 \
        groups<TA, TC>(20);                                                                                  \
    }                                                                                                        \
    TEST_CASE(#TA " to " #TC ": random products") { random_products<TA, TC>(20); }                           \
    TEST_CASE(#TA " to " #TC ": a chain of epilogues") { epilogue_chain<TA, TC>(3); }                        \
    TEST_CASE(#TA " to " #TC ": small tiles") { small_tiles<TA, TC>(); }                                     \
    TEST_CASE(#TA " to " #TC ": narrow and small") { narrow_and_small<TA, TC>(6); }                          \
    TEST_CASE(#TA " to " #TC ": infinities and NaNs") { infinities_and_nans<TA, TC>(20); }

STRATAGEMM_DEVICE_CONFORMANCE_OF_TWO(float_x_bfloat16, float)
STRATAGEMM_DEVICE_CONFORMANCE_OF_TWO(half_x_float, float)
STRATAGEMM_DEVICE_CONFORMANCE_OF_TWO(bfloat16_x_int8, float)
STRATAGEMM_DEVICE_CONFORMANCE_OF_TWO(int8_x_half, half)

// Tensor cores, which 16-bit types have, are bounded as those of one type.
TEST_CASE("two types on a device: error bounds") {
    bounds<float_x_bfloat16, float>(6);
    bounds<half_x_float, float>(6);
}
