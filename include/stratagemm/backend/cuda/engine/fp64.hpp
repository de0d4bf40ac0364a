// Doubles on the tensor cores of sm_90; tiles are fetched by hardware.
#pragma once

#include "fp64.cu.hpp"
#include "tile_counts.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

struct cuda_fp64 : cuda_micro_tiled<cuda_fp64> {
    using cuda_micro_tiled::cuda_micro_tiled;

    static constexpr char const* name = "fp64";
    static constexpr char const* text = cuda_fp64_text; // of the kernel
    static constexpr bool fetches = true;
    static constexpr bool takes_along_k(std::size_t) { return true; }

    static constexpr char types[] = "d";
    static bool takes_type(cuda_device const&, char type) { return type == 'd'; }
    static bool takes(cuda_query const& q) { return q.type == 'd' && !q.layout.widens(); }
    static bool keeps_order(cuda_order const& order, char, cuda_device const& d) {
        return order.on_tensor_cores && d.capability == 90;
    }

    constexpr int warps() const { return micro_tiles(); }
    // Warps that only fetch: one, or four where there are eight others that need the registers which these give up; and
    // four that gather.
    constexpr int fetchers() const { return warps() == 8 && micro_m * micro_n >= 1024 ? 4 : 1; }
    constexpr int threads() const { return (warps() + fetchers()) * 32; }
    constexpr int threads(cuda_form const& f) const { return (warps() + fetchers(f)) * 32; }
    constexpr int fetchers(cuda_form const& f) const { return f.dense ? fetchers() : 4; }
    // Whether the lines of A and B may begin anywhere. Threads of some warps then copy the operands that the hardware
    // cannot fetch. Large tiles do without these copies: their warps have no registers left, and a copy of the operands
    // costs large products little.
    constexpr bool takes_any_lines() const { return fetchers() == 1; }
    bool copies_lines(cuda_way const&) const { return !takes_any_lines(); }

    // Bytes of shared memory for each warp, through which results pass to C: boxes of 16 x 16, as many as the warp has,
    // or a part of them if there is no room for all beside the stages.
    constexpr std::size_t warp_results() const {
        int const boxes = micro_m / 16 * (micro_n / 16);
        auto const all = static_cast<std::size_t>(m / micro_m) * static_cast<std::size_t>(n / micro_n);
        std::size_t const tiles =
            1024 + static_cast<std::size_t>(stages) *
                       (static_cast<std::size_t>(m + n) * static_cast<std::size_t>(k) * 8 + 16);
        constexpr std::size_t box = 2048;
        // The shared memory that a block may have on devices with 99 KB for one, that each of two blocks has on sm_90,
        // and that a single block has there.
        std::size_t const room = tiles + all * box <= 101376   ? 101376
                                 : tiles + all * box <= 115712 ? 115712
                                                               : 232448;
        int some = boxes > 1 ? boxes : 1;
        while (some > 1 && (boxes % some != 0 || tiles + all * static_cast<std::size_t>(some) * box > room))
            --some;
        return static_cast<std::size_t>(some) * box;
    }
    std::size_t shared_bytes() const { // fetched tiles begin at multiples of 1 KiB
        std::size_t const stage = static_cast<std::size_t>((m + n) * k) * 8;
        return 1024 + static_cast<std::size_t>(warps()) * warp_results() +
               static_cast<std::size_t>(stages) * (stage + 16);
    }
    bool can_run(cuda_device const& d, std::size_t, bool = true) const {
        return d.capability >= 90 && shared_bytes() <= d.shared_bytes;
    }
    bool is_legal(std::size_t, std::size_t scalar) const {
        return threads() >= 64 && threads() <= 512 && micro_tiles_fit(*this, 16, 16) && k == 16 &&
               stages >= 3 && static_cast<std::size_t>(micro_m * micro_n) * scalar <= 32 * 576;
    }

    // What ways there are.
    bool sums_pieces() const { return micro_sums() <= 1024; }
    static constexpr bool divides_last_round(std::size_t) { return true; }
    bool gathers_lines(cuda_query const&, cuda_way const&) const { return takes_any_lines(); }

    template <class Product>
    cuda_form form_of(Product const& p, cuda_way const& way) const {
        cuda_form f = p.form_as_lying(way);
        f.dense = are_dense(p, way.whole == 0 && takes_any_lines());
        return f;
    }

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group);
        d("WARP_RESULTS", static_cast<int>(warp_results()))("FETCHERS", fetchers(form)).form(form);
        return d.only("TOGETHER", form.together).text();
    }
    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        std::string const body = std::string(fetches_text) + cuda_pipeline_text + cuda_fp64_text;
        cuda_source made = cuda_source_of<In, Out>(name, body.c_str(), epilogue, definitions(form));
        made.shared_bytes = shared_bytes(), made.threads = threads(form);
        return made;
    }
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const {
        auto compiled = p.compiled(*this, form, epilogue);
        if (!compiled) return compiled.take_status();
        cuda_operand_lines<Product> lines(p);
        if (status s = lines.copy(p, form, memory); !s) return s;
        if (form.dense)
            if (status s = lines.map(p, form, m, k, n, k, true); !s) return s;
        if (!way.invariant) x.flags |= first_steps(*this, form, p.sides(), sizeof(double));
        if (gains_by_lines(p, x.c)) x.flags |= cuda_flag::stores_lines;
        cuda_grid const grid = grid_of(p, blocks_of(*this, *this, form, way, p.sides()), threads(form), 1,
                                       (*compiled)->resident, false);
        return launch_storing(p, **compiled, form, grid, lines, sizeof(typename Product::out_type) == 8, 16,
                              x, epilogue);
    }

private:
    // Whether C is stored sooner by lines of 128 bytes than by sectors of 32: where rows share sectors, which are then
    // written in parts, and where C has to leave the second-level cache while it is written.
    template <class Product>
    static bool gains_by_lines(Product const& p, cuda_operand const& c) {
        constexpr std::size_t size = sizeof(typename Product::out_type);
        auto const begins =
            reinterpret_cast<std::uintptr_t>(c.data) | static_cast<std::uintptr_t>(c.row) * size;
        cuda_sides const s = p.sides();
        return begins % 32 != 0 ||
               static_cast<std::size_t>(s.m * s.n * s.count) * size > p.device().cache_bytes;
    }
};

template <>
inline constexpr cuda_built_in<cuda_fp64> cuda_tiles_of<cuda_fp64>[] = {
    {"d", {128, 128, 16, 64, 32, 6}, 1}, {"d", {128, 96, 16, 32, 48, 6}, 1},
    {"d", {96, 96, 16, 48, 48, 6}, 1},   {"d", {128, 64, 16, 32, 32, 8}, 1},
    {"d", {64, 128, 16, 32, 32, 8}, 1},  {"d", {64, 96, 16, 16, 48, 6}, 1},
    {"d", {96, 64, 16, 48, 32, 8}, 1},   {"d", {96, 64, 16, 48, 16, 6}, 1},
    {"d", {64, 80, 16, 16, 80, 8}, 1},   {"d", {64, 64, 16, 32, 16, 6}, 1},
    {"d", {64, 64, 16, 32, 32, 6}, 2},   {"d", {128, 32, 16, 32, 32, 6}, 2},
    {"d", {32, 64, 16, 16, 32, 8}, 2},   {"d", {64, 32, 16, 32, 16, 8}, 2},
    {"d", {32, 32, 16, 16, 16, 8}, 2},   {"d", {64, 16, 16, 16, 16, 8}, 2},
    {"d", {16, 64, 16, 16, 16, 8}, 2},   {"d", {32, 16, 16, 16, 16, 16}, 2},
};

STRATAGEMM_END
