// The conformance suite on OpenCL devices: a sample of each case, since a device is slow to start.
#pragma once

#include "policies.hpp"

#include "conformance/suite.hpp"

#define STRATAGEMM_OPENCL_CONFORMANCE(TA, TC)                                                                \
    TEST_CASE(#TA " to " #TC ": shapes and layouts") { shapes_and_layouts<TA, TC>(9); }                      \
    TEST_CASE(#TA " to " #TC ": long and thin") { long_and_thin<TA, TC>(2); }                                \
    TEST_CASE(#TA " to " #TC ": alpha, beta and data") { factors_and_data<TA, TC>(5); }                      \
    TEST_CASE(#TA " to " #TC ": batches") { batches<TA, TC>(2); }                                            \
    TEST_CASE(#TA " to " #TC ": error bounds") { bounds<TA, TC>(3); }                                        \
    TEST_CASE(#TA " to " #TC ": random products") { random_products<TA, TC>(80); }                           \
    TEST_CASE(#TA " to " #TC ": a chain of epilogues") { epilogue_chain<TA, TC>(10); }
