// Few columns in the order of device/order.hpp: what `invariant` asks for, and also taken where lines begin anywhere.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "../source.hpp"
#include "counts.hpp"
#include "few_columns.hpp"
#include "ordered.cu.hpp"

STRATAGEMM_BEGIN

struct cuda_ordered {
    static constexpr char const* name = "narrow";

    short m = 0, n = 0, k = 0; // of C for a block, and the terms of a step
    short pieces = 1;          // of k at a time, for a block or for each of the blocks of a cluster
    short columns = 1;         // of C for each thread
    short stages = 1;          // of shared memory
    short cluster = 1;         // blocks that share the pieces of k

    friend bool operator==(cuda_ordered const&, cuda_ordered const&) = default;
    friend auto operator<=>(cuda_ordered const&, cuda_ordered const&) = default;

    static constexpr bool truncates(std::size_t element) { return element == 2; }
    static constexpr int threads() { return 256; }
    std::string describe() const { return name; }

    static bool takes(cuda_query const& q);
    static bool keeps_order(cuda_order const& order, char type, cuda_device const& d) {
        return std::strchr(!order.on_tensor_cores ? "sdcz"
                           : d.capability >= 80   ? "dhw"
                                                  : "",
                           type) != nullptr;
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);

    // Bytes of shared memory.
    std::size_t shared_bytes(std::size_t element, bool a_along_k) const {
        auto const rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n),
                   terms = static_cast<std::size_t>(k), some = static_cast<std::size_t>(pieces);
        std::size_t const gap = element == 2 ? 16 : 16 / element, lines = (a_along_k ? rows : 0) + cols;
        return static_cast<std::size_t>(stages) * some * lines * (terms + gap) * element +
               static_cast<std::size_t>(cluster) * some * rows * cols * (element == 2 ? 4 : element);
    }
    // Calls f with each block that a kernel may have, for pieces of so many terms.
    template <class F>
    static void each_block(cuda_query const& q, std::ptrdiff_t piece, F const& f) {
        short const shallowest = q.element == 16 ? 64 : 128, deepest = q.element == 2 ? 512 : 256;
        for (short cluster = 1;
             cluster == 1 || (q.device.capability >= 90 && cluster <= 8 && cluster * piece < q.sides.k);
             cluster *= 2)
            for (short depth = shallowest; depth <= deepest; depth *= 2)
                if (depth < 128 || depth < 2 * piece) each_of_depth(q, piece, depth, cluster, f);
    }
    // The name of what the kernel costs.
    static char const* costs(cuda_query const& q) {
        return q.layout.a_along_k ? "ordered along k" : "ordered along m";
    }
    // Calls f with each parameter, as files of measurements keep them.
    template <class Engine, class F>
    static void each_parameter(Engine& t, F const& f) {
        for (auto* const x : {&t.m, &t.n, &t.k, &t.pieces, &t.columns, &t.stages, &t.cluster}) f(*x);
    }
    // The place of its factor in the table of costs.
    int number() const {
        int place = 0;
        for (short rows = m; rows > 1; rows /= 2) ++place;
        return place;
    }

    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const;
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const;

private:
    // The pieces of k for each block of a cluster.
    static std::ptrdiff_t pieces_of(std::ptrdiff_t k, std::ptrdiff_t piece, short cluster) {
        return ((k - 1) / piece + cluster) / cluster;
    }
    template <class F>
    static void each_of_depth(cuda_query const& q, std::ptrdiff_t piece, short depth, short cluster,
                              F const& f) {
        cuda_ordered t{.n = static_cast<short>(q.sides.n), .k = depth, .cluster = cluster};
        bool const on_tensor_cores = q.element == 2;
        std::ptrdiff_t const all = pieces_of(q.sides.k, piece, cluster),
                             steps = ((piece < q.sides.k ? piece : q.sides.k) - 1) / depth + 1;
        // Where A does not lie along k, threads read it, and only some of a line at a time.
        for (t.m = 1; t.m <= 64 && t.m * t.n <= (on_tensor_cores ? 512 : 256) && t.m < 2 * q.sides.m;
             t.m *= 2)
            for (t.pieces = 1; t.pieces <= 32 && t.pieces * t.m <= 256 && t.pieces < 2 * all; t.pieces *= 2) {
                bool const one_each = on_tensor_cores || t.pieces * t.m * t.n <= 256;
                t.columns = one_each ? short{1} : t.n;
                t.stages = t.pieces < all || steps > 1 ? 2 : 1;
                if (t.shared_bytes(q.element, q.layout.a_along_k) > q.device.shared_bytes) break;
                f(t);
            }
    }
};

class cuda_ordered_counts : public cuda_counts {
public:
    cuda_ordered_counts(cuda_query const& q, cuda_ordered const& t) {
        cuda_sides const& s = q.sides;
        std::ptrdiff_t const piece = q.order.piece > 0 ? q.order.piece : s.k;
        std::size_t const shared = t.shared_bytes(q.element, q.layout.a_along_k);
        auto const room = static_cast<int>(q.device.shared_bytes / shared), registers = q.element < 8    ? 4
                                                                                        : q.element < 16 ? 3
                                                                                                         : 1;
        units = units_filled(t.cluster, q.device.units);
        resident = room < 1 ? 1 : room < registers ? room : registers;
        clustered = t.cluster > 1;
        std::ptrdiff_t const pieces = ((s.k - 1) / piece + t.cluster) / t.cluster,
                             deep = piece < s.k ? piece : s.k;
        double const steps = up(pieces, t.pieces) * up(deep, t.k);
        step_of(q, t, real(deep < t.k ? deep : t.k), real(pieces < t.pieces ? pieces : t.pieces));
        rounds(((s.m - 1) / t.m + 1) * s.count * t.cluster, steps);
        stages = t.stages;
        memory_of(q, t, real(pieces));
    }

private:
    // Steps of `some` pieces of k, of which each has so many terms.
    void step_of(cuda_query const& q, cuda_ordered const& t, double terms, double some) {
        double const size = real(q.element), rows = q.sides.m < t.m ? real(q.sides.m) : t.m,
                     of_a = rows * some * terms, of_b = t.n * some * terms;
        multiply_adds = of_a * t.n;
        chain = terms * t.columns;
        // Tensor cores sum 16 terms at once, and a warp has several rows and pieces, one after another.
        if (q.element == 2) chain = terms / 16 * up(t.pieces * ((t.m + 7) / 8), 8);
        fetched = of_a * size;
        loads = of_b; // the same ones in each block
        bool const by_elements = q.element > 2 && q.element < 16;
        if (by_elements && q.layout.a_along_k && begins_at(q.line_of_a()) < 16) gathered += of_a;
        bool const b_lies = q.layout.b_along_k
                                ? begins_at(q.line_of_b()) == 16 || !by_elements
                                : begins_at(static_cast<std::size_t>(q.sides.k) * q.line_of_b()) == 16;
        if (!b_lies) gathered += of_b;
        within = q.layout.a_along_k && q.line_of_a() % 128 != 0 ? of_a * size : 0;
        gathers = q.layout.a_along_k && begins_at(q.line_of_a()) < 16;
    }
    void memory_of(cuda_query const& q, cuda_ordered const& t, double pieces) {
        cuda_sides const& s = q.sides;
        double const size = real(q.element), rows = s.m < t.m ? real(s.m) : t.m;
        moved = ((real(s.m) + real(s.n)) * real(s.k) * size + real(s.m) * real(s.n) * real(q.result())) *
                real(s.count) / units * (cuda_fitted_bytes_per_cycle / q.device.bytes_per_cycle);
        stored = rows * t.n * real(q.result());
        finishes(q, rows * t.n, 0);
        aligned = s.n == 1 || static_cast<std::size_t>(s.n) * q.result() % 16 == 0;
        in_cluster = rows * t.n * pieces * sum_size(q);
    }
};

inline bool cuda_ordered::takes(cuda_query const& q) {
    cuda_layout const& layout = q.layout;
    // Where A does not lie along k, tiles for tensor cores read it faster than kernels for few columns do.
    bool const as_it_lies = !q.order.on_tensor_cores || (layout.a_along_k && layout.a_in_lines);
    bool const anywhere = static_cast<std::size_t>(q.sides.k) * q.element % 16 != 0;
    bool const may = q.device.capability == 90 && !q.of_complex && std::strchr("sdhw", q.type) &&
                     q.sides.count == 1 && layout.a_along_k && layout.a_in_lines &&
                     (anywhere || q.element > 2);
    return has_few_columns(q.sides) && keeps_order(q.order, q.type, q.device) && as_it_lies &&
           !layout.widens() && (q.invariant || may);
}

template <class F>
void cuda_ordered::candidates(cuda_query const& q, F& f) {
    std::ptrdiff_t const piece = q.order.piece > 0 ? q.order.piece : q.sides.k;
    cuda_tile_costs_of const& row = tile_costs_of(costs(q), q.type);
    cuda_way way;
    way.invariant = true, way.piece = q.order.piece;
    each_block(q, piece, [&](cuda_ordered const& t) {
        way.cycles = cuda_ordered_counts(q, t).cycles(row.costs, static_cast<double>(row.slower[t.number()]),
                                                      f.least());
        f(t, way);
    });
}

template <class In, class Out, class, class, class Epilogue>
cuda_source cuda_ordered::source(cuda_form const& form, Epilogue const& epilogue) const {
    bool const on_tensor_cores = sizeof(In) == 2;
    cuda_definitions d;
    d("DENSE", form.dense)("WORDS", form.words);
    d("TILE_M", m)("TILE_N", n)("TILE_K", k)("MICRO_M", pieces)("MICRO_N", columns);
    d("STAGES", stages)("GROUP", 1)("CLUSTER", cluster).form(form)("SHIFTED", form.shifted);
    std::string const body = (cluster > 1 ? fetches_text : "") + std::string(cuda_copies_text) +
                             cuda_ordered_copies_text +
                             (on_tensor_cores ? cuda_ordered_mma_text : cuda_ordered_text);
    cuda_source made =
        cuda_source_of<In, Out>(on_tensor_cores ? "ordered_mma" : "ordered", body.c_str(), epilogue,
                                (on_tensor_cores ? cuda_mma_operands(type_letter<In>()) : "") + d.text());
    made.shared_bytes = shared_bytes(sizeof(In), form.a_along_k);
    return made;
}

template <class Product>
status cuda_ordered::launch(Product const& p, cuda_way const& way, cuda_arena&) const {
    cuda_form form = p.form_as_lying(way);
    cuda_lines_of_few const of_a(p.line_view_a());
    form.pieces = false; // all of them are
    form.words = of_a.words, form.dense = of_a.dense;
    form.shifted = !(form.dense && !form.words) && sizeof(typename Product::in_type) == 2 &&
                   p.line_view_a().view.col_stride == 1;
    form.words &= !form.shifted, form.dense |= form.shifted;
    form.b_along_k = form.dense && (p.problem().b.cols == 1 || p.line_view_b().along_k);
    auto compiled = p.compiled(*this, form, p.epilogue());
    if (!compiled) return compiled.take_status();
    auto x = p.arguments(way);
    if (x.part == 0) x.part = x.k;
    cuda_sides const s = p.sides();
    std::ptrdiff_t const blocks = ((s.m - 1) / m + 1) * cluster * s.count;
    return p.launch(**compiled, form, blocks, threads(), x, p.spread_out(blocks, cluster),
                    static_cast<unsigned>(cluster));
}

STRATAGEMM_END
