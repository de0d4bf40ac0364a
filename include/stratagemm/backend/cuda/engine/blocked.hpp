// Tiles pass through registers to shared memory: any type, stride and architecture.
#pragma once

#include "blocked.cu.hpp"
#include "tile_counts.hpp"

STRATAGEMM_BEGIN

struct cuda_blocked : cuda_micro_tiled<cuda_blocked> {
    using cuda_micro_tiled::cuda_micro_tiled;

    static constexpr char const* name = "blocked";
    static constexpr char const* text = cuda_blocked_text; // of the kernel
    static constexpr bool fetches = false;                 // by hardware
    static constexpr bool reads_lines() { return false; }

    static bool takes_type(cuda_device const&, char) { return true; }
    static bool takes(cuda_query const& q) { return !q.layout.widens(); }

    constexpr int threads() const { return micro_tiles(); }

    // What tuning may try.
    bool can_run(cuda_device const&, std::size_t, bool = true) const { return true; }
    bool is_legal(std::size_t, std::size_t scalar) const {
        std::size_t const shared = static_cast<std::size_t>(2 * k * (m + n + 8)) * scalar,
                          sums = static_cast<std::size_t>(micro_m * micro_n) * scalar;
        auto const loads = [&](int side) { return side * k % threads() == 0 && side * k <= 32 * threads(); };
        return threads() >= 64 && threads() <= 512 && micro_tiles_fit(*this, 1, 1) && stages == 2 &&
               k <= 32 && loads(m) && loads(n) && sums <= 512 && shared <= 48 * 1024;
    }

    // What ways there are.
    std::ptrdiff_t least_part() const { return 4 * k; }
    bool sums_pieces() const { return true; }
    bool stores_lines() const { return n / micro_n % 32 == 0; } // whether a warp does

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group).form(form).only("TOGETHER", form.together);
        return d("TABLE", form.table)("TABLE_STATES", form.table_states).text();
    }
    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        return cuda_source_of<In, Out>(name, cuda_blocked_text, epilogue, definitions(form));
    }
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments const& x,
               Epilogue const& epilogue, cuda_arena&) const {
        auto compiled = p.compiled(*this, form, epilogue);
        if (!compiled) return compiled.take_status();
        std::ptrdiff_t const blocks = blocks_of(*this, *this, form, way, p.sides());
        return p.launch(**compiled, form, blocks, threads(), x, p.spread_out(blocks));
    }
};

template <>
inline constexpr cuda_built_in<cuda_blocked> cuda_tiles_of<cuda_blocked>[] = {
    {"s", {128, 128, 8, 8, 8}, 2},   {"s", {64, 64, 16, 8, 4}, 4},       {"s", {64, 128, 8, 8, 4}, 3},
    {"s", {64, 128, 4, 8, 4}, 3},    {"thwb45", {128, 128, 8, 8, 8}, 2}, {"tb", {64, 64, 16, 8, 4}, 4},
    {"thwb", {64, 128, 8, 8, 4}, 3}, {"thwb", {64, 128, 4, 8, 4}, 3},    {"sthwb45", {32, 32, 16, 2, 2}, 6},
    {"d", {64, 64, 16, 4, 4}, 3},    {"d", {32, 128, 4, 8, 4}, 2},       {"d", {32, 128, 8, 4, 4}, 2},
    {"d", {32, 32, 16, 2, 2}, 6},    {"c", {64, 64, 8, 4, 4}, 3},        {"c", {32, 32, 8, 2, 2}, 6},
    {"z", {32, 32, 8, 2, 2}, 4},
};

struct cuda_group_tile : cuda_built_in<cuda_blocked> {
    float rate; // multiply-adds of a full multiprocessor in a cycle
};
// Tiles for groups, whose products share a launch. A multiprocessor runs one block of a larger tile at a time, and
// idles while that block begins and ends.
inline constexpr cuda_group_tile cuda_group_tiles[] = {
    {{"sthwb", {64, 64, 16, 8, 4}, 4}, 62},
    {{"sthwb", {32, 32, 8, 4, 4}, 12}, 45}, // of fp8 it spills on sm_100a
    {{"sthwb45", {32, 32, 16, 2, 2}, 6}, 26},
    {{"d", {64, 64, 8, 8, 4}, 3}, 45},
    {{"d", {32, 32, 8, 4, 4}, 8}, 32},
    {{"d", {32, 32, 16, 2, 2}, 6}, 25},
    {{"c", {64, 64, 8, 4, 4}, 3}, 22},
    {{"c", {32, 32, 8, 2, 2}, 6}, 12},
    {{"z", {32, 32, 8, 2, 2}, 4}, 8},
};

STRATAGEMM_END
