// How devices divide Hadamard transforms: every step is done once, those of points that are far apart first. So each
// result is the same sum for all layouts, and with any room of a group.
#include "catch.hpp"

#include <stratagemm/structure/hadamard.hpp>

namespace sg = stratagemm;

namespace {

// A small device, one with 64 KiB for a group, and an H200.
constexpr sg::device_limits limits_of(int which) {
    sg::device_limits limits;
    if (which > 0) limits.group_items = 1024, limits.group_bytes = (which == 1 ? 64 : 227) << 10;
    return limits;
}

// Steps of a pass, from the bit of the elements that is the highest.
bool has_all_steps(sg::hadamard_pass const& pass) {
    auto const all = pass.rounds();
    int const low = pass.lines_low ? pass.line_bits : 0;
    int next = low + pass.point_bits - 1;
    for (int i = 0; i < all.count; ++i) {
        if (all.at[i].at < 0 || all.at[i].at + pass.registers > pass.tile_bits()) return false;
        for (int b = pass.registers - 1; b >= 0; --b)
            if (all.at[i].steps >> b & 1 && all.at[i].at + b != next--) return false;
    }
    return next == low - 1;
}

int wrong_passes(int bits, int size, sg::device_limits const& limits, sg::index_t cols) {
    int wrong = 0;
    for (int form = 0; form < 24; ++form) {
        bool const across = form & 1, by_sequency = form & 2, splits = form & 4;
        sg::hadamard_passes passes(bits, size, across, by_sequency, splits, cols, limits);
        passes.at[0].share_in = form / 8, passes.at[passes.count - 1].share_out = form / 8 * 2 % 3;
        int left = bits;
        for (int i = 0; i < passes.count; ++i) {
            sg::hadamard_pass const& pass = passes.at[i];
            left -= pass.point_bits;
            wrong += !has_all_steps(pass) || pass.point_shift != left || pass.last != (left == 0) ||
                     pass.items() < 32 || pass.items() > limits.group_items || pass.rounds().count > 3 ||
                     static_cast<std::size_t>(size) << pass.tile_bits() > limits.group_bytes ||
                     (!pass.columns && pass.tile_bits() > bits);
            // Whole sectors of neighbours, where there is a choice.
            bool const beside = pass.lines_low && (!pass.columns || cols >= 32);
            wrong += beside && (passes.count > 1 || splits) && size << pass.line_bits < 32;
        }
        wrong += left != 0;
    }
    return wrong;
}

} // namespace

TEST_CASE("hadamard on a device: each step once, and in order") {
    for (int const which : {0, 1, 2})
        for (int const size : {4, 8, 16})
            for (int bits = 0; bits <= 30; ++bits)
                for (sg::index_t const cols : {1, 2, 9, 1000}) {
                    INFO(which << ' ' << size << ' ' << bits << ' ' << cols);
                    CHECK(wrong_passes(bits, size, limits_of(which), cols) == 0);
                }
}

TEST_CASE("hadamard on a device: one pass where a group has room") {
    for (int const size : {4, 8, 16}) {
        int const bits = 17 - sg::bits_of(size);
        CHECK(sg::hadamard_passes(bits, size, false, false, true, 9, limits_of(2)).count == 1);
        CHECK(sg::hadamard_passes(bits, size, false, false, true, 9, limits_of(1)).count == 2);
        CHECK(sg::hadamard_passes(bits - 1, size, false, false, true, 9, limits_of(1)).count == 1);
        CHECK(sg::hadamard_passes(bits - 1, size, false, false, true, 9, limits_of(0)).count == 2);
    }
}
