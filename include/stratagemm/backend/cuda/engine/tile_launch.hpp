// Launches of tiles whose operands are lines: as they lie, or as their copies lie.
#pragma once

#include "../launch.hpp"
#include "tile.hpp"

STRATAGEMM_BEGIN

// What the hardware reads of an operand: boxes of lines along k, or of `terms` terms of other lines. A box along k has
// no more lines than the operand where the kernel counts the bytes of a box, and waits for so many (`swizzled`).
template <class Session, class T>
status map_operand(Session const& session, CUtensorMap& to, cuda_lines<T> const& l, bool along_k,
                   std::ptrdiff_t side, std::ptrdiff_t all, std::ptrdiff_t terms, bool swizzled) {
    auto const line = 128 / static_cast<std::ptrdiff_t>(sizeof(T));
    if (along_k) return session.map_of(to, l, line, swizzled && all < side ? all : side, true);
    return session.map_of(to, l, swizzled ? line : side, terms, swizzled);
}

// The lines of both operands of a product, copied where the form says so.
template <class Product>
struct cuda_operand_lines {
    cuda_lines<typename Product::a_type> a;
    cuda_lines<typename Product::b_type> b;

    CUtensorMap a_map{}, b_map{}; // what the hardware reads of them

    explicit cuda_operand_lines(Product const& p)
        : a(cuda_lines_of(p.line_view_a())), b(cuda_lines_of(p.line_view_b())) {}

    status copy(Product const& p, cuda_form const& form, cuda_arena& memory) {
        if constexpr (Product::has_one_type)
            if (form.dense) {
                typename Product::packing copies;
                a = Product::fetchable(p.line_view_a(), form.a_along_k, copies, memory);
                b = Product::fetchable(p.line_view_b(), form.b_along_k, copies, memory);
                return copies.run(p.session(), p.stream());
            }
        return {};
    }
    // Boxes of so many lines of A and of B, with so many terms.
    status map(Product const& p, cuda_form const& form, int lines_of_a, int terms_of_a, int lines_of_b,
               int terms_of_b, bool swizzled) {
        cuda_sides const s = p.sides();
        status done =
            map_operand(p.session(), a_map, a, form.a_along_k, lines_of_a, s.m, terms_of_a, swizzled);
        if (!done) return done;
        return map_operand(p.session(), b_map, b, form.b_along_k, lines_of_b, s.n, terms_of_b, swizzled);
    }
    // The arguments of a kernel whose threads read the operands as lines. A single line gets a stride to an aligned
    // place.
    template <class Arguments>
    void put(Arguments& x, cuda_form const& form) const {
        bool const a_along_k = form.a_along_k || form.a_turned, b_along_k = form.b_along_k || form.b_turned;
        x.a = {a.data, a_along_k ? a.stride : 1, a_along_k ? 1 : a.stride, a.step};
        x.b = {b.data, b_along_k ? 1 : b.stride, b_along_k ? b.stride : 1, b.step};
    }
};

// The form of a tile, if operands lie as the tile takes them (`lie`) or are copied to do so. `itself`: threads of the
// block copy what the hardware does not fetch.
template <class Product>
bool are_dense(Product const& p, bool itself) {
    auto const a = p.line_view_a();
    auto const b = p.line_view_b();
    bool const fetched = cuda_lines_of(a).can_be_fetched() && cuda_lines_of(b).can_be_fetched();
    return Product::has_one_type && (fetched || !itself || a.is_sum() || b.is_sum());
}
template <class Product>
bool operands_lie(Product const& p, cuda_form const& taken) {
    auto const a = p.line_view_a();
    auto const b = p.line_view_b();
    return cuda_lines_of(a).are_lines() && cuda_lines_of(b).are_lines() && a.along_k == taken.a_along_k &&
           b.along_k == taken.b_along_k;
}

// Which tiles begin with different steps of k (first_step() in pipeline.cu.hpp): those of a single row or column of
// tiles, if the operand that each tile reads alone lies along k, and the operand that tiles share stays in the
// second-level cache.
template <class Tile>
int first_steps(Tile const& on_c, cuda_form const& form, cuda_sides const& s, std::size_t element) {
    auto const most = (std::ptrdiff_t{4} << 20) / static_cast<std::ptrdiff_t>(element);
    bool const a_along_k = form.a_along_k || form.a_turned, b_along_k = form.b_along_k || form.b_turned;
    if (s.n <= on_c.n && a_along_k && s.n * s.k <= most) return cuda_flag::begins_by_row;
    if (s.m <= on_c.m && b_along_k && s.m * s.k <= most) return cuda_flag::begins_by_column;
    return 0;
}

// The grid of blocks that stay and take tile after tile.
template <class Product>
cuda_grid grid_of(Product const& p, std::ptrdiff_t tiles, int threads, int cluster, int resident,
                  bool together) {
    cuda_grid grid;
    grid.threads = static_cast<unsigned>(threads), grid.cluster = static_cast<unsigned>(cluster);
    std::ptrdiff_t const most =
        std::ptrdiff_t{units_filled(together ? 1 : cluster, p.device().units)} * resident;
    grid.blocks = static_cast<unsigned>(tiles < most || together ? tiles : most);
    grid.each = p.spread_out(grid.blocks);
    return grid;
}

// Launches a kernel that stores tiles through shared memory. C has a map as well, if the hardware can store C: in boxes
// of 128 bytes by as many rows as the kernel has. For the map, rows end at a multiple of 16 bytes: the hardware fetches
// no further than rows go, but stores the bytes that round them up.
template <class Product, class Arguments, class Epilogue>
status launch_storing(Product const& p, cuda_compiled const& compiled, cuda_form const& form,
                      cuda_grid const& grid, cuda_operand_lines<Product> const& lines, bool has_boxes,
                      std::ptrdiff_t rows, Arguments x, Epilogue const& epilogue) {
    using Out = typename Product::out_type;
    auto const& q = p.problem();
    CUtensorMap c_map{};
    auto const wide = 128 / static_cast<std::ptrdiff_t>(sizeof(Out));
    cuda_lines<Out> const c{
        static_cast<Out const*>(x.c.data), q.c.rows, q.c.cols, q.count, q.c.row_stride, q.c_step};
    if (has_boxes && !form.partial && !form.together && !form.spreads &&
        q.beta == typename Product::scalar(0) && q.c.col_stride == 1 && c.length % c.unit == 0 &&
        c.can_be_fetched()) {
        if (status s = p.session().map_of(c_map, c, wide, rows, true); !s) return s;
        x.flags |= cuda_flag::c_is_mapped;
    }
    return p.with_targets(form, x, [&](auto const& given) {
        return p.session().launch(p.stream(), compiled, grid, lines.a_map, lines.b_map, c_map, given,
                                  epilogue.bytes());
    });
}

STRATAGEMM_END
