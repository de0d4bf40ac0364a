// Narrow types, and floats rounded to tf32, by warpgroups of sm_90a; tiles are fetched by hardware.
#pragma once

#include "tile_cost.hpp"
#include "tile_launch.hpp"
#include "wgmma_widths.hpp"

STRATAGEMM_BEGIN

class cuda_wgmma_cost : public cuda_tile_cost<cuda_wgmma_cost, cuda_wgmma> {
    using base = cuda_tile_cost<cuda_wgmma_cost, cuda_wgmma>;
    friend base;

public:
    cuda_wgmma_cost(cuda_query const& q, cuda_wgmma const& t, int blocks, double rate, cuda_way const& way)
        : cuda_wgmma_cost(
              q, t, t.taken(q.element, {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k}),
              blocks, rate, way) {}

private:
    cuda_wgmma_cost(cuda_query const& q, cuda_wgmma const& t, cuda_form const& form, int blocks, double rate,
                    cuda_way const& way)
        : base(q, t.lying_on_c(form, q.element), form, blocks, rate, way) {}

    bool in_large_cluster() const { return element_ == 2 && blocks_of_cluster(t_) >= 4; }
    bool is_small() const { return t_.m * t_.n <= 128 * 128; }

    // Blocks of a cluster begin together. The largest clusters fetch so little that their tiles come sooner, small tiles
    // most of all.
    double begins() const {
        int const blocks = blocks_of_cluster(t_);
        if (blocks <= 4) return blocks > 1 ? 7000 : 5300;
        if (t_.has_three_groups()) return 6000;
        return element_ != 2 ? 4100 : t_.m * t_.n > 64 * 64 ? 6500 : 4800;
    }
    // Whether tiles of B begin within lines of the cache: B lies along n, and the width of a tile is no multiple of
    // such a line.
    bool begins_within() const { return t_.columns_fetched(element_, form_.b_along_k) > t_.n; }
    double slowed(std::ptrdiff_t line, double share, bool begins_within = false) const {
        std::size_t const bytes = static_cast<std::size_t>(line) * element_;
        // Sectors of 32 bytes that two lines share are fetched for both. If lines begin at multiples of 64 bytes, every
        // other one begins within a line of the cache.
        bool const pairs = element_ < 4, of_pairs = element_ == 2, small_ones = of_pairs && is_small();
        double const most = bytes % 64 == 0 && !begins_within ? (small_ones ? 1.2 : 1.55)
                            : bytes % 32 == 0                 ? (small_ones ? 1.65 : 2.1)
                            : of_pairs                        ? 2.4
                                                              : 3;
        bool const within = bytes % 128 != 0 || begins_within;
        // Multiprocessors share paths to the second-level cache, which small tiles keep busy.
        if (!within && pairs) {
            double const busy = share * (is_small() ? 1.4 : 1.3);
            return busy > 1 ? busy : 1;
        }
        // If lines begin within lines of the cache, half of the multiprocessors keep more than half of the paths busy,
        // unless none of them shares a path.
        if (pairs && share > 0.5) share = __builtin_sqrt(share);
        return within && most * share > 1 ? most * share : 1.0;
    }
    // Hardware fills its boxes with zeros, and a box of lines along k has no more lines than there are.
    double fetching(double share, std::ptrdiff_t depth) const {
        double const rows = !form_.a_along_k || s_.m > t_.m ? t_.m : real(s_.m);
        double const cols = !form_.b_along_k ? t_.columns_fetched(element_, false)
                            : s_.n > t_.n    ? t_.n
                                             : real(s_.n);
        return fetching_of(rows, cols, up(depth, t_.k) * t_.k, share);
    }
    // Lines that arrive in several blocks at once arrive sooner.
    double share_of_bytes() const { return in_large_cluster() ? 0.75 : 1; }
    // Cycles until the operands of a step have come: a stage comes so long after its request; all are on their way.
    double shortest_step(double) const {
        if (element_ == 2) return 2200.0 / t_.stages;
        return reads_pages() || streams() ? 650 : 400;
    }
    // Bytes of C that a multiprocessor stores in a cycle, and nothing else meanwhile. A warpgroup has so much on its
    // way.
    double bytes_stored() const {
        bool const aligned = rows_are_aligned();
        if (aligned && result_ > size_) return t_.m > 64 ? 10 : 8;
        if (aligned) return t_.has_three_groups() ? 11 : 13;
        return (row_bytes_ % 4 == 0 ? 9 : 6.5) / (t_.m == 64 && element_ == 2 ? 2 : 1);
    }
    double storing_sums_rate() const { return 25; }
    // In a second and last round, sums of parts are stored as slowly as rows that the hardware's copies do not take.
    // After more rounds it makes no difference.
    bool stores_to_workspace() const { return element_ == 2 && how_.whole > 0 && how_.whole <= units_; }
    // Rows that are aligned are left to the hardware while the next tile is multiplied.
    bool stores_meanwhile(double stored) const {
        return rows_are_aligned() && !(stores_to_workspace() && stored >= 4);
    }
    double between_tiles() const { return 600; } // nothing is multiplied
    double uneven(double idle, double pairs, double items) const {
        return uneven_on_tensor_cores(idle, pairs, items, 0.4);
    }
    bool waits_for_pairs(double items) const { return items <= units_; }
    double gathering_begins() const { return element_ == 1 ? 7000 : 2500; }
};

// The tiles that a built-in one stands for: itself, and others of its kind.
template <class F>
void cuda_wgmma::candidates(cuda_query const& q, F& f) {
    for (auto const& e : cuda_tiles_of<cuda_wgmma>) {
        if (!std::strchr(e.types, q.type)) continue;
        auto const rate = static_cast<double>(e.rate);
        bool const b_along_k = q.layout.b_along_k;
        auto const ask = [&](cuda_wgmma const& t, double of_t) {
            cuda_ways_of_tile<cuda_wgmma, cuda_wgmma_cost, F>(q, t, e.blocks, of_t, f).ask();
        };
        auto const with_other_clusters = [&](cuda_wgmma const& given, double of_given) {
            ask(given, of_given);
            for_other_clusters(q.device, given, q.sides, q.element, b_along_k,
                               [&](cuda_wgmma const& t, double part) { ask(t, of_given * part); });
        };
        with_other_clusters(e.tile, rate);
        for_clustered_widths(q.device, e.tile, q.sides, q.element, b_along_k,
                             [&](cuda_wgmma const& t, double part) { ask(t, rate * part); });
        if (q.element == 2 || (q.element == 1 && b_along_k))
            for_other_widths(q.device, e.tile, q.sides, q.element, b_along_k,
                             [&](cuda_wgmma const& t, double part) { with_other_clusters(t, rate * part); });
    }
}
template <class F>
void cuda_wgmma::candidates_as_given(cuda_query const& q, F& f) const {
    if (takes_type(q.device, q.type) && !q.layout.widens()) ways_as_given<cuda_wgmma_cost>(q, *this, f);
}

// What the hardware cannot fetch is always copied.
template <class Product>
cuda_form cuda_wgmma::form_of(Product const& p, cuda_way const& way) const {
    cuda_form f = taken(sizeof(typename Product::in_type), p.form_as_lying(way));
    f.dense = Product::has_one_type;
    return f;
}

inline std::string cuda_wgmma::definitions(cuda_form const& form) const {
    cuda_definitions d;
    d("DENSE", form.dense)("TILE_M", m)("TILE_N", n)("TILE_K", k)("MICRO_M", 1)("MICRO_N", 1);
    d("STAGES", stages)("GROUP", group)("CLUSTER", cluster)("BESIDE", beside).form(form);
    return d.only("TOGETHER", form.together).text();
}

template <class In, class Out, class, class, class Epilogue>
cuda_source cuda_wgmma::source(cuda_form const& form, Epilogue const& epilogue) const {
    char const letter = type_letter<In>();
    char const* const type = letter == 'h'   ? "f16"
                             : letter == 'w' ? "bf16"
                             : letter == 'b' ? "s8"
                             : letter == '4' ? "e4m3"
                             : letter == '5' ? "e5m2"
                                             : "tf32";
    bool const turned = is_turned(form, sizeof(In));
    bool const few_registers = n > 256 || (has_three_groups() && n > 128); // beside the sums
    std::string const body =
        std::string(fetches_text) + cuda_pipeline_text + cuda_promotes(letter) + "#define FROM_REGISTERS " +
        (turned ? "1\n" : "0\n") + "#define WARP_BYTES " + std::to_string(warp_results(sizeof(In))) + '\n' +
        (few_registers ? "#define ROWS_IN_FLIGHT 4\n" : "") + wgmma_text +
        wgmma_instructions(type, n, turned) + cuda_shared_text + cuda_rows_text + cuda_wgmma_text;
    cuda_source made =
        cuda_source_of<In, Out>(name, body.c_str(), epilogue, lying_on_c(form, sizeof(In)).definitions(form));
    made.shared_bytes = shared_bytes(sizeof(In), form.b_along_k), made.threads = threads();
    return made;
}

template <class In>
std::size_t cuda_wgmma::copies_at_most(cuda_sides const& s) const {
    return bytes_of_copies<In>(s);
}
template <class Product>
std::size_t cuda_wgmma::copies(Product const& p, cuda_way const& way) const {
    return bytes_of_copies(p, way, form_of(p, way));
}
template <class Product>
status cuda_wgmma::launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
    return p.run_in_parts(*this, way, form_of(p, way), memory);
}
template <class Product, class Arguments, class Epilogue>
status cuda_wgmma::run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
                       Epilogue const& epilogue, cuda_arena& memory) const {
    auto compiled = p.compiled(*this, form, epilogue);
    if (!compiled) return compiled.take_status();
    cuda_operand_lines<Product> lines(p);
    if (status s = lines.copy(p, form, memory); !s) return s;
    constexpr std::size_t element = sizeof(typename Product::in_type);
    cuda_wgmma const on_c = lying_on_c(form, element);
    CUtensorMap a_map{}, b_map{};
    if (status s =
            map_operand(p.session(), a_map, lines.a, form.a_along_k, on_c.m / beside, x.m, k / beside, true);
        !s)
        return s;
    if (status s =
            map_operand(p.session(), b_map, lines.b, form.b_along_k,
                        form.b_along_k ? on_c.lines_fetched() : on_c.n, x.n, on_c.terms_fetched(), true);
        !s)
        return s;
    if (!way.invariant) x.flags |= first_steps(on_c, form, p.sides(), element);
    int const side_by_side =
        form.together ? static_cast<int>(way.parts(p.sides().k)) : blocks_of_cluster(*this);
    cuda_grid const grid = grid_of(p, blocks_of(*this, on_c, form, way, p.sides()), threads(), side_by_side,
                                   (*compiled)->resident, form.together);
    return launch_storing(p, **compiled, form, grid, a_map, b_map,
                          on_c.n >= static_cast<int>(128 / sizeof(typename Product::out_type)),
                          is_turned(form, element) ? 32 : 16, x, epilogue);
}

STRATAGEMM_END
