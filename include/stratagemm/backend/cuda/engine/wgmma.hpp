// Narrow types, and floats rounded to tf32, by warpgroups of sm_90a; tiles are fetched by hardware.
#pragma once

#include "tile_counts.hpp"
#include "tile_launch.hpp"
#include "wgmma_widths.hpp"

STRATAGEMM_BEGIN

// The tiles that a built-in one stands for: itself, and others of its kind.
template <class F>
void cuda_wgmma::candidates(cuda_query const& q, F& f) {
    if (is_times_vector(q)) return;
    cuda_tile_costs_of const& row = tile_costs_of(name, q.type);
    bool const b_along_k = q.layout.b_along_k;
    for (auto const& e : cuda_tiles_of<cuda_wgmma>) {
        if (!std::strchr(e.types, q.type)) continue;
        float const slower = row.slower[&e - cuda_tiles_of<cuda_wgmma>];
        auto const ask = [&](cuda_wgmma const& t) {
            cuda_ways_of_tile<cuda_wgmma, F>(q, t, e.blocks, row.costs, slower, f).ask();
        };
        auto const with_other_clusters = [&](cuda_wgmma const& given) {
            ask(given);
            for_other_clusters(q.device, given, q.sides, q.element, ask);
        };
        with_other_clusters(e.tile);
        for_clustered_widths(q.device, e.tile, q.sides, q.element, b_along_k, ask);
        if (q.element == 2 || (q.element == 1 && b_along_k))
            for_other_widths(q.device, e.tile, q.sides, q.element, b_along_k, with_other_clusters);
    }
}
template <class F>
void cuda_wgmma::candidates_as_given(cuda_query const& q, F& f) const {
    if (takes_type(q.device, q.type) && !q.layout.widens()) ways_as_given(q, *this, f);
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

template <class Product, class Arguments, class Epilogue>
status cuda_wgmma::run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
                       Epilogue const& epilogue, cuda_arena& memory) const {
    auto compiled = p.compiled(*this, form, epilogue);
    if (!compiled) return compiled.take_status();
    cuda_operand_lines<Product> lines(p);
    if (status s = lines.copy(p, form, memory); !s) return s;
    constexpr std::size_t element = sizeof(typename Product::in_type);
    cuda_wgmma const on_c = lying_on_c(form, element);
    int const lines_of_b = form.b_along_k ? on_c.lines_fetched() : on_c.n;
    if (status s = lines.map(p, form, on_c.m / beside, k / beside, lines_of_b, on_c.terms_fetched(), true);
        !s)
        return s;
    if (!way.invariant) x.flags |= first_steps(on_c, form, p.sides(), element);
    int const side_by_side =
        form.together ? static_cast<int>(way.parts(p.sides().k)) : blocks_of_cluster(*this);
    cuda_grid const grid = grid_of(p, blocks_of(*this, on_c, form, way, p.sides()), threads(), side_by_side,
                                   (*compiled)->resident, form.together);
    return launch_storing(p, **compiled, form, grid, lines,
                          on_c.n >= static_cast<int>(128 / sizeof(typename Product::out_type)),
                          is_turned(form, element) ? 32 : 16, x, epilogue);
}

STRATAGEMM_END
