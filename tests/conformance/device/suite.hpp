// The conformance suite on devices: a sample of each case, since a device is slow to start. policies.hpp is that of
// the backend under test.
#pragma once

#include "policies.hpp"

#include "conformance/suite.hpp"

#include <array>

namespace trials {

// Small tiles for every type, on row-major operands: larger than a tile and smaller, alone and in a batch.
template <class TA, class TC>
void small_tiles() {
    if (!chosen_policies().takes(under_test_name)) return;
    report note;
    mirrored const policy{under_test{}, with_small_tiles()};
    sample chosen(1);
    random_source from(29);
    for (index_t const size : {5, 17, 32, 50})
        for (int x = 0; x < 6; ++x) {
            trial t = draw_trial(from);
            t.m = size + from.below(20), t.n = size + from.below(20), t.k = 1 + from.below(70);
            if (size == 5 && x % 3 == 0) t.k += 400; // in parts, if alone
            t.count = 1 + x % 2, t.repeat_a = t.repeat_b = false;
            t.a = t.b = {}, t.c.by_columns = t.c.turned = false;
            if (!chosen.next()) continue;
            prepared<TA, TC> p(t);
            note((std::string(under_test_name) + " with small tiles").c_str(), t, try_on(policy, p));
        }
}

// C of few columns or rows, with k in parts and not; and batches of products small enough for local memory.
template <class TA, class TC>
void narrow_and_small(int count) {
    if (!chosen_policies().takes(under_test_name)) return;
    report note;
    under_test const device;
    mirrored const policy{device, device};
    random_source from(31);
    for (int x = 0; x < count; ++x) {
        trial t = draw_trial(from);
        t.m = 1 + from.below(70), t.n = 1 + x % 4,
        t.k = x % 3 ? 32 + from.below(90) : 1500 + 4 * from.below(9);
        if (x % 2) std::swap(t.m, t.n);
        t.count = 1 + x % 5 / 4;
        prepared<TA, TC> p(t);
        note(under_test_name, t, try_on(policy, p));
    }
    for (int x = 0; x < count; ++x) {
        trial t = draw_trial(from);
        index_t const side = std::array<index_t, 6>{4, 7, 16, 13, 32, 8}[static_cast<std::size_t>(x) % 6];
        t.m = side, t.n = x % 2 ? side : 1 + from.below(32), t.k = x % 3 ? side : 1 + from.below(31);
        t.count = 16 + from.below(9);
        prepared<TA, TC> p(t);
        note(under_test_name, t, try_on(policy, p));
    }
}

} // namespace trials

// Compiling kernels takes most of the time. Complex and 16-bit numbers, whose kernels differ from those of floats by a product
// or a load, have fewer shapes, and floats have most of the other trials.
template <class TA>
inline constexpr bool is_float = std::is_same_v<TA, float>;
template <class TA>
inline constexpr int shapes_one_in = std::is_floating_point_v<TA> || std::is_integral_v<TA> ? 15
                                     : sizeof(TA) == 2                                      ? 62
                                                                                            : 31;

#define STRATAGEMM_DEVICE_CONFORMANCE(TA, TC)                                                                \
    TEST_CASE(#TA " to " #TC ": shapes and layouts") { shapes_and_layouts<TA, TC>(shapes_one_in<TA>); }      \
    TEST_CASE(#TA " to " #TC ": long and thin") { long_and_thin<TA, TC>(7); }                                \
    TEST_CASE(#TA " to " #TC ": alpha, beta and data") { factors_and_data<TA, TC>(is_float<TA> ? 9 : 27); }  \
    TEST_CASE(#TA " to " #TC ": batches") { batches<TA, TC>(is_float<TA> ? 2 : 4); }                         \
    TEST_CASE(#TA " to " #TC ": groups") { groups<TA, TC>(10); }                                             \
    TEST_CASE(#TA " to " #TC ": error bounds") { bounds<TA, TC>(6); }                                        \
    TEST_CASE(#TA " to " #TC ": random products") { random_products<TA, TC>(is_float<TA> ? 50 : 25); }       \
    TEST_CASE(#TA " to " #TC ": a chain of epilogues") { epilogue_chain<TA, TC>(5); }                        \
    TEST_CASE(#TA " to " #TC ": small tiles") { small_tiles<TA, TC>(); }                                     \
    TEST_CASE(#TA " to " #TC ": narrow and small") { narrow_and_small<TA, TC>(is_float<TA> ? 12 : 5); }
