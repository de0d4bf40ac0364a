// The conformance suite on CUDA devices: a sample of each case, since a device is slow to start.
#pragma once

#include "policies.hpp"

#include "conformance/suite.hpp"

namespace trials {

// Small tiles for every type, on row-major operands: larger than a tile and smaller, alone and in a batch.
template <class TA, class TC>
void small_tiles() {
    report note;
    sg::cuda const device;
    mirrored const policy{device, with(small_tile)};
    chance from(29);
    for (index const size : {5, 17, 32, 50})
        for (int x = 0; x < 6; ++x) {
            trial t = draw_trial(from);
            t.m = size + from.below(20), t.n = size + from.below(20), t.k = 1 + from.below(70);
            if (size == 5 && x > 3) t.k += 400; // in parts, if alone
            t.count = 1 + x % 2, t.repeat_a = t.repeat_b = false;
            t.a = t.b = {}, t.c.by_columns = t.c.turned = false;
            prepared<TA, TC> p(t);
            note("cuda, small tiles", t, try_on(policy, p));
        }
}

} // namespace trials

#define STRATAGEMM_CUDA_CONFORMANCE(TA, TC)                                                                  \
    TEST_CASE(#TA " to " #TC ": shapes and layouts") { shapes_and_layouts<TA, TC>(15); }                     \
    TEST_CASE(#TA " to " #TC ": long and thin") { long_and_thin<TA, TC>(7); }                                \
    TEST_CASE(#TA " to " #TC ": alpha, beta and data") { factors_and_data<TA, TC>(9); }                      \
    TEST_CASE(#TA " to " #TC ": batches") { batches<TA, TC>(2); }                                            \
    TEST_CASE(#TA " to " #TC ": error bounds") { bounds<TA, TC>(6); }                                        \
    TEST_CASE(#TA " to " #TC ": random products") { random_products<TA, TC>(50); }                           \
    TEST_CASE(#TA " to " #TC ": a chain of epilogues") { epilogue_chain<TA, TC>(5); }                        \
    TEST_CASE(#TA " to " #TC ": small tiles") { small_tiles<TA, TC>(); }
