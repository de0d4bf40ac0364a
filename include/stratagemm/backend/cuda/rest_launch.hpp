// At work: the engines that have no file of their own yet.
#pragma once

#include "fetched.hpp"
#include "kernels/fp64.cu.hpp"
#include "kernels/mma.cu.hpp"
#include "kernels/rows.cu.hpp"
#include "kernels/simt.cu.hpp"
#include "kernels/wgmma.cu.hpp"
#include "rest.hpp"

STRATAGEMM_BEGIN

template <class In, class Out, class A, class B, class Epilogue>
cuda_source cuda_tile::source(cuda_form const& form, Epilogue const& epilogue) const {
    cuda_tile const& tile = *this;
    if (engine == cuda_engine::blocked)
        return cuda_source_of<In, Out>("blocked", cuda_blocked_text, epilogue, definitions(tile, form));
    std::string body = std::string(fetches_text) + cuda_pipeline_text;
    switch (engine) {
    case cuda_engine::simt:
        body += cuda_narrower<In, A>("A_IN") + cuda_narrower<In, B>("B_IN") + cuda_simt_text;
        break;
    case cuda_engine::fp64: body += cuda_fp64_text; break;
    case cuda_engine::mma:
        body += cuda_mma_operands(type_letter<In>()) + cuda_copies_text + cuda_shared_text + cuda_rows_text +
                cuda_mma_text;
        break;
    default: {
        char const letter = type_letter<In>();
        char const* const type = letter == 'h'   ? "f16"
                                 : letter == 'w' ? "bf16"
                                 : letter == 'b' ? "s8"
                                 : letter == '4' ? "e4m3"
                                 : letter == '5' ? "e5m2"
                                                 : "tf32";
        bool const turned = is_turned(tile, form, sizeof(In));
        bool const few_registers =
            tile.n > 256 || (has_three_groups(tile) && tile.n > 128); // beside the sums
        body += cuda_promotes(letter) + "#define FROM_REGISTERS " + (turned ? "1\n" : "0\n") +
                "#define WARP_BYTES " + std::to_string(warp_results(tile, sizeof(In))) + '\n' +
                (few_registers ? "#define ROWS_IN_FLIGHT 4\n" : "") + wgmma_text +
                wgmma_instructions(type, tile.n, turned) + cuda_shared_text + cuda_rows_text +
                cuda_wgmma_text;
    }
    }
    cuda_source source = cuda_source_of<In, Out>(name_of(engine), body.c_str(), epilogue,
                                                 definitions(lying_on_c(tile, form, sizeof(In)), form));
    source.shared_bytes = shared_bytes_of(tile, sizeof(In), form);
    source.threads = threads_of(tile, form);
    return source;
}

// The definitions of a tile for the kernel that adds up sums of the last tiles.
inline std::string cuda_tail_definitions(cuda_configuration const& c, cuda_form const& form) {
    cuda_tile const* const tile = c.as<cuda_tile>();
    return form.tail && tile ? definitions(*tile, form) : "";
}

// The form for the operands as they lie, or as their copies will lie.
template <class Product>
cuda_form form_of(Product const& p, cuda_tile const& tile, cuda_way const& way) {
    using In = typename Product::in_type;
    cuda_form f = p.form_as_lying(way);
    f.direct = way.shifted;
    if (!reads_lines(tile.engine)) return form_for(tile, sizeof(In), f);
    auto const a = p.line_view_a();
    auto const b = p.line_view_b();
    auto const of_a = cuda_lines_of(a);
    auto const of_b = cuda_lines_of(b);
    cuda_form const taken = form_for(tile, sizeof(In), f);
    bool const lie =
        of_a.are_lines() && of_b.are_lines() && a.along_k == taken.a_along_k && b.along_k == taken.b_along_k;
    bool const by_words = takes_words(tile, sizeof(In)) && lie && of_a.are_words() && of_b.are_words();
    f.shifted = takes_words(tile, sizeof(In)) && way.shifted && lie && !by_words;
    bool const simt = tile.engine == cuda_engine::simt;
    f.leaves_out = way.part == 0 && leaves_out(tile, p.sides().k);
    bool const gathered = way.whole == 0 && takes_any_lines(tile) && (!simt || (lie && way.shifted));
    bool const copied = !gathered && !by_words && !f.shifted;
    f.dense = Product::has_one_type && ((of_a.can_be_fetched() && of_b.can_be_fetched()) || copied ||
                                        a.is_sum() || b.is_sum()); // then what has gaps is copied
    f.shifted &= !f.dense;
    if (by_words && !f.dense) f.a_unit = of_a.aligned(), f.b_unit = of_b.aligned();
    if (simt && !f.dense) {
        bool const turns = turns_on_the_way(tile);
        f.a_turned = turns && f.a_along_k, f.b_turned = turns && f.b_along_k;
        f.a_along_k &= !turns, f.b_along_k &= !turns;
        // The unit of copies: up to 16 bytes, once widened; up to two terms, where the operand that is turned is
        // narrower.
        auto const unit = [](short all, std::size_t size, bool turned) {
            short const most = !turned ? 4 : size < sizeof(In) ? 2 : 1;
            return all < most ? all : most;
        };
        f.a_unit = unit(of_a.aligned(), sizeof(typename Product::a_type), f.a_turned);
        f.b_unit = unit(of_b.aligned(), sizeof(typename Product::b_type), f.b_turned);
    }
    return form_for(tile, sizeof(In), f);
}

template <class In>
std::size_t cuda_tile::copies_at_most(cuda_sides const& s) const {
    if (!reads_lines()) return 0;
    return cuda_lines<In>::bytes_either(s.m, s.k, s.count) + cuda_lines<In>::bytes_either(s.k, s.n, s.count);
}
template <class Product>
std::size_t cuda_tile::copies(Product const& p, cuda_way const& way) const {
    if (!reads_lines()) return 0;
    cuda_form const form = form_of(p, *this, way);
    if (!form.dense && way.whole == 0) return 0;
    return Product::bytes_copied(p.line_view_a(), form.a_along_k) +
           Product::bytes_copied(p.line_view_b(), form.b_along_k);
}

template <class Product>
status cuda_tile::launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
    return p.run_in_parts(*this, way, form_of(p, *this, way), memory);
}

// Which tiles begin with different steps of k (first_step() in pipeline.cu.hpp): those of a single row or column of
// tiles, if the operand that each tile reads alone lies along k, and the operand that tiles share stays in the
// second-level cache.
template <class Product>
int first_steps(Product const& p, cuda_tile const& on_c, cuda_form const& form) {
    using In = typename Product::in_type;
    constexpr index_t most = (index_t{4} << 20) / static_cast<index_t>(sizeof(In));
    cuda_sides const s = p.sides();
    bool const a_along_k = form.a_along_k || form.a_turned, b_along_k = form.b_along_k || form.b_turned;
    if (s.n <= on_c.n && a_along_k && s.n * s.k <= most) return cuda_flag::begins_by_row;
    if (s.m <= on_c.m && b_along_k && s.m * s.k <= most) return cuda_flag::begins_by_column;
    return 0;
}
// Whether C is stored sooner by lines of 128 bytes than by sectors of 32: where rows share sectors, which are then
// written in parts, and where C has to leave the second-level cache while it is written.
template <class Product>
bool gains_by_lines(Product const& p, cuda_operand const& c) {
    using Out = typename Product::out_type;
    cuda_sides const s = p.sides();
    auto const begins =
        reinterpret_cast<std::uintptr_t>(c.data) | static_cast<std::uintptr_t>(c.row) * sizeof(Out);
    auto const bytes = static_cast<std::size_t>(s.m * s.n * s.count) * sizeof(Out);
    return begins % 32 != 0 || bytes > p.device().cache_bytes;
}
// Runs tiles whose operands are aligned lines, or copies with aligned lines.
template <class Product, class Arguments, class Epilogue>
status run_lines(Product const& p, cuda_tile const& tile, cuda_compiled const& compiled, cuda_way const& way,
                 cuda_form const& form, index_t tiles, unsigned cluster, Arguments const& x,
                 Epilogue const& epilogue, cuda_arena& memory) {
    using A = typename Product::a_type;
    using B = typename Product::b_type;
    using In = typename Product::in_type;
    using Out = typename Product::out_type;
    cuda_tile const on_c = lying_on_c(tile, form, sizeof(In));
    cuda_session& session = p.session();
    auto const& q = p.problem();
    cuda_lines<A> a = cuda_lines_of(p.line_view_a());
    cuda_lines<B> b = cuda_lines_of(p.line_view_b());
    if constexpr (Product::has_one_type)
        if (form.dense) {
            cuda_packing<In> copies;
            a = Product::fetchable(p.line_view_a(), form.a_along_k, copies, memory);
            b = Product::fetchable(p.line_view_b(), form.b_along_k, copies, memory);
            if (status s = copies.run(session, p.stream()); !s) return s;
        }
    Arguments arguments = x;
    // Threads read these operands as lines. A single line gets a stride to an aligned place.
    if (!fetches(tile.engine) || (tile.engine == cuda_engine::simt && !form.dense)) {
        bool const a_along_k = form.a_along_k || form.a_turned, b_along_k = form.b_along_k || form.b_turned;
        arguments.a = {a.data, a_along_k ? a.stride : 1, a_along_k ? 1 : a.stride, a.step};
        arguments.b = {b.data, b_along_k ? 1 : b.stride, b_along_k ? b.stride : 1, b.step};
    }
    if (!fetches(tile.engine))
        return p.launch(compiled, form, tiles, threads_of(tile), arguments, p.spread_out(tiles), cluster);
    index_t const line = 128 / static_cast<index_t>(sizeof(In));
    // A box along k has no more lines than the operand. wgmma and fp64 count the bytes of such a box, and wait for
    // so many bytes.
    auto const map = [&]<class T>(CUtensorMap& to, cuda_lines<T> const& l, bool along_k, index_t side,
                                  index_t all, index_t terms) {
        bool const swizzled = tile.engine != cuda_engine::simt;
        if (along_k) return cuda_map_of(session, to, l, line, swizzled && all < side ? all : side, true);
        return cuda_map_of(session, to, l, swizzled ? line : side, terms, swizzled);
    };
    CUtensorMap a_map{}, b_map{};
    if (form.dense) {
        if (status s = map(a_map, a, form.a_along_k, on_c.m / tile.beside, x.m, tile.k / tile.beside); !s)
            return s;
        if (status s = map(b_map, b, form.b_along_k, form.b_along_k ? lines_fetched(on_c) : on_c.n, x.n,
                           terms_fetched(on_c));
            !s)
            return s;
    }
    if (!way.invariant) arguments.flags |= first_steps(p, on_c, form);
    if (tile.engine == cuda_engine::fp64 && gains_by_lines(p, x.c))
        arguments.flags |= cuda_flag::stores_lines;
    cuda_grid grid;
    grid.threads = static_cast<unsigned>(threads_of(tile, form)), grid.cluster = cluster;
    int resident = compiled.resident;
    // There may be room for more blocks that gather than the model expects. Each block would then have fewer tiles,
    // and the last tiles would run alone for longer.
    int const sums = tile.micro_m * tile.micro_n * (form.pieces ? 2 : 1);
    if (tile.engine == cuda_engine::simt && !form.dense && blocks_with_sums(tile, sums) < resident)
        resident = blocks_with_sums(tile, sums);
    index_t const most = index_t{units_for(tile, p.device().units)} * resident;
    grid.blocks = static_cast<unsigned>(tiles < most || form.together ? tiles : most);
    grid.each = p.spread_out(grid.blocks);
    if (tile.engine == cuda_engine::simt)
        return p.with_targets(form, arguments, [&](auto const& given) {
            return session.launch(p.stream(), compiled, grid, a_map, b_map, given, epilogue.bytes());
        });
    // C has a map as well, if the hardware can store C: in boxes of 128 bytes by as many rows as the kernel has.
    // For the map, rows end at a multiple of 16 bytes: the hardware fetches no further than rows go, but stores the
    // bytes that round them up.
    CUtensorMap c_map{};
    index_t const wide = 128 / static_cast<index_t>(sizeof(Out));
    cuda_lines<Out> const c{
        static_cast<Out const*>(x.c.data), q.c.rows, q.c.cols, q.count, q.c.row_stride, q.c_step};
    bool const has_boxes = tile.engine == cuda_engine::fp64 ? sizeof(Out) == 8 : on_c.n >= wide;
    if (has_boxes && !form.partial && !form.together && !form.spreads &&
        q.beta == typename Product::scalar(0) && q.c.col_stride == 1 && c.length % c.unit == 0 &&
        c.can_be_fetched()) {
        index_t const rows = is_turned(tile, form, sizeof(In)) ? 32 : 16;
        if (status s = cuda_map_of(session, c_map, c, wide, rows, true); !s) return s;
        arguments.flags |= cuda_flag::c_is_mapped;
    }
    return p.with_targets(form, arguments, [&](auto const& given) {
        return session.launch(p.stream(), compiled, grid, a_map, b_map, c_map, given, epilogue.bytes());
    });
}

// Writes to C, or writes sums of parts of k to workspace.
template <class Product, class Arguments, class Epilogue>
status cuda_tile::run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments const& x,
                      Epilogue const& epilogue, cuda_arena& memory) const {
    auto compiled = p.compiled(*this, form, epilogue);
    if (!compiled) return compiled.take_status();
    cuda_sides const s = p.sides();
    cuda_tile const on_c = lying_on_c(*this, form, sizeof(typename Product::in_type));
    index_t const of_k = way.parts(s.k);
    index_t const blocks = form.tail ? way.whole + tail(way, s) * of_k
                                     : on_c.tiles(s) * (form.partial || form.together ? of_k : s.count);
    auto const side_by_side = static_cast<unsigned>(form.together ? of_k : blocks_of_cluster());
    if (reads_lines())
        return run_lines(p, *this, **compiled, way, form, blocks, side_by_side, x, epilogue, memory);
    return p.launch(**compiled, form, blocks, threads_of(*this), x, p.spread_out(blocks), side_by_side);
}

STRATAGEMM_END
