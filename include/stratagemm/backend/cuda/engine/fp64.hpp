// Doubles on the tensor cores of sm_90; tiles are fetched by hardware.
#pragma once

#include "fp64.cu.hpp"
#include "tile_counts.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

struct cuda_fp64 {
    static constexpr char const* name = "fp64";
    static constexpr char const* text = cuda_fp64_text; // of the kernel
    static constexpr bool fetches = true;
    static constexpr bool reads_lines() { return true; }
    static constexpr bool takes_along_k(std::size_t) { return true; }

    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each warp
    short stages = 1;               // of shared memory
    short group = 8;                // rows of tiles that are walked through together
    short parts = 0;                // of k, summed each by itself; 0: as the cost says

    friend bool operator==(cuda_fp64 const&, cuda_fp64 const&) = default;
    friend auto operator<=>(cuda_fp64 const&, cuda_fp64 const&) = default;

    static constexpr char types[] = "d";
    static constexpr bool widens = false;
    static bool takes_type(cuda_device const&, char type) { return type == 'd'; }
    static bool takes(cuda_query const& q) {
        return q.type == 'd' && !q.layout.widens() && !cuda_few_columns::are_read_once(q);
    }
    static bool keeps_order(cuda_order const& order, char, cuda_device const& d) {
        return order.on_tensor_cores && d.capability == 90;
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;

    constexpr int warps() const { return m / micro_m * (n / micro_n); }
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
    std::string describe() const { return describe_tile(*this); }

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
    std::ptrdiff_t terms(std::ptrdiff_t of_k) const { return ((of_k - 1) / k + 1) * k; }
    std::ptrdiff_t least_part() const { return 32; }
    bool may_shift(cuda_query const&, bool) const { return false; }
    bool sums_pieces() const { return micro_m * micro_n <= 1024; }
    int blocks_with_pieces(int blocks) const { return blocks; }
    static constexpr bool adds_up_together(std::size_t) { return false; }
    static constexpr bool divides_last_round(std::size_t) { return true; }
    static cuda_form form_taken(cuda_query const& q, cuda_way const&) {
        return {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k};
    }
    bool gathers_lines(cuda_query const&, cuda_way const&) const { return takes_any_lines(); }
    static constexpr bool changes_lines(bool, std::size_t) { return false; }

    template <class Product>
    cuda_form form_of(Product const& p, cuda_way const& way) const {
        cuda_form f = p.form_as_lying(way);
        f.dense = are_dense(p, way.whole == 0 && takes_any_lines());
        return f;
    }

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group, 1);
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
    template <class In>
    std::size_t copies_at_most(cuda_sides const& s) const {
        return bytes_of_copies<In>(s);
    }
    template <class Product>
    std::size_t copies(Product const& p, cuda_way const& way) const {
        return bytes_of_copies(p, way, form_of(p, way));
    }
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
        return p.run_in_parts(*this, way, form_of(p, way), memory);
    }
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const {
        auto compiled = p.compiled(*this, form, epilogue);
        if (!compiled) return compiled.take_status();
        cuda_operand_lines<Product> lines(p);
        if (status s = lines.copy(p, form, memory); !s) return s;
        CUtensorMap a_map{}, b_map{};
        if (form.dense) {
            if (status s = map_operand(p.session(), a_map, lines.a, form.a_along_k, m, x.m, k, true); !s)
                return s;
            if (status s = map_operand(p.session(), b_map, lines.b, form.b_along_k, n, x.n, k, true); !s)
                return s;
        }
        if (!way.invariant) x.flags |= first_steps(*this, form, p.sides(), sizeof(double));
        if (gains_by_lines(p, x.c)) x.flags |= cuda_flag::stores_lines;
        cuda_grid const grid = grid_of(p, blocks_of(*this, *this, form, way, p.sides()), threads(form), 1,
                                       (*compiled)->resident, false);
        return launch_storing(p, **compiled, form, grid, a_map, b_map,
                              sizeof(typename Product::out_type) == 8, 16, x, epilogue);
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

template <class F>
void cuda_fp64::candidates(cuda_query const& q, F& f) {
    ways_of_built_in<cuda_fp64>(q, f);
}
template <class F>
void cuda_fp64::candidates_as_given(cuda_query const& q, F& f) const {
    if (q.type == 'd' && !q.layout.widens()) ways_as_given(q, *this, f);
}

STRATAGEMM_END
