// Few columns in the order of device/order.hpp: what `invariant` asks for, and also taken where lines begin anywhere.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "narrow_tile.hpp"
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
    // The tile for m x n x k whose pieces have `piece` terms. A block has all pieces of as many rows as leave most
    // multiprocessors a block, since each block reads all of B; for a vector it has eight rows, or more if there are few
    // pieces. Blocks of 16-bit types have rows times pieces of 64 or
    // more, if there are enough rows, or twice as many rows as B has columns. If these have no room, some pieces of 16
    // rows, or of eight where there are eight columns. Where A does not lie along k, a warp reads at least 32 bytes of each
    // line of A.
    static cuda_ordered for_sides(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, std::ptrdiff_t piece,
                                  std::size_t element, bool a_along_k, cuda_device const& d,
                                  short cluster = 1) {
        bool const on_tensor_cores = element == 2;
        cuda_ordered t{.n = static_cast<short>(n), .cluster = cluster};
        // The multiprocessors that a cluster fills, and the share that each of its blocks has.
        std::ptrdiff_t const units = units_filled(cluster, d.units) / cluster,
                             pieces = ((k - 1) / piece + cluster) / cluster;
        // Blocks with few rows wait for each step. A piece is then one step, if the piece is not too deep.
        bool const in_one_step =
            a_along_k && !on_tensor_cores && element < 16 && m <= d.units && piece > 128 && piece <= 256;
        t.k = in_one_step       ? static_cast<short>((piece + 31) / 32 * 32)
              : on_tensor_cores ? 512
              : element < 16    ? 128
                                : 64;
        while (t.k >= 2 * piece && t.k > 64) t.k = static_cast<short>(t.k / 2);
        std::ptrdiff_t const steps = ((piece < k ? piece : k) - 1) / t.k + 1,
                             most = on_tensor_cores ? 64 : 32;
        std::ptrdiff_t rows = a_along_k ? 1 : most, step_pieces = 1;
        auto const blocks = [&] { return (m - 1) / rows + 1; };
        auto const with = [&](std::ptrdiff_t some) {
            bool const one_each = on_tensor_cores || some * rows * n <= 256;
            t.m = static_cast<short>(rows), t.pieces = static_cast<short>(some);
            t.columns = static_cast<short>(one_each ? 1 : n);
            t.stages = some < pieces || steps > 1 ? 2 : 1;
            return some * rows <= 256 ? t.shared_bytes(element, a_along_k) : d.shared_bytes + 1;
        };
        auto const room = [&] {
            std::size_t const shared = n == 1         ? 76800
                                       : element == 4 ? 72000
                                                      : 90000; // of two or three blocks
            std::size_t const all = blocks() > 2 * units ? shared : blocks() > units ? 110000 : 220000;
            return all < d.shared_bytes ? all : d.shared_bytes;
        };
        if (a_along_k) {
            while (step_pieces < pieces && step_pieces < 32) step_pieces *= 2;
            auto const double_rows = [&](std::ptrdiff_t enough) { // blocks
                bool const may = rows < most && 2 * rows * n <= 256 && m >= 2 * rows * enough;
                if (may) rows *= 2;
                return may;
            };
            if (on_tensor_cores)
                while ((rows * step_pieces < 64 || rows < (n == 1 ? 8 : 2 * n)) &&
                       double_rows(2 * units / 5)) {
                }
            else {
                while (rows < (n == 1 ? 8 : 32) && double_rows(n == 1 ? 9 * units / 10 : units / 2)) {
                }
                while (n == 1 && rows * step_pieces < 64 && double_rows(4 * units)) {
                }
            }
            if (std::ptrdiff_t const some = n >= 8 ? 8 : 16;
                with(step_pieces) > room() && (rows > some || (n == 1 && m >= some * units)))
                rows = some;
        } else {
            auto const least = static_cast<std::ptrdiff_t>(32 / element);
            while (rows > least && 2 * blocks() <= units) rows /= 2;
        }
        while (rows > 1 && with(1) > d.shared_bytes) rows /= 2;
        step_pieces = 1;
        while (step_pieces < pieces && step_pieces < 32 && with(2 * step_pieces) <= room()) step_pieces *= 2;
        with(step_pieces);
        return t;
    }

    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const;
    template <class Product>
    status launch(Product const& p, cuda_way const& way, cuda_arena& memory) const;
};

// The cycles of ordered.cu.hpp: those of a block with a step of its pieces, and those of all blocks with the
// bytes that they read. Each block reads the terms of B that its pieces have. Where A does not lie along k, threads
// read some terms of A at a time, and wait for them. The constants fit measurements on an H100; those for lines along k
// and for vectors fit an H200.
inline double cycles_of_ordered(cuda_ordered const& t, cuda_sides const& s, std::ptrdiff_t piece,
                                std::size_t element, cuda_layout const& layout, int all_units) {
    auto const up = [](std::ptrdiff_t x, std::ptrdiff_t y) { return static_cast<double>((x + y - 1) / y); };
    // A cluster counts as a block with its share of the pieces, and the multiprocessors of a cluster count as one.
    std::ptrdiff_t const blocks = ((s.m - 1) / t.m + 1) * s.count,
                         units = units_filled(t.cluster, all_units) / t.cluster,
                         pieces = ((s.k - 1) / piece + t.cluster) / t.cluster;
    auto const size = static_cast<double>(element), k = static_cast<double>(s.k),
               n = static_cast<double>(s.n);
    double const bytes_of_a_and_c = static_cast<double>(s.m * s.count) * (k + n) * size,
                 bytes_of_b = static_cast<double>(blocks) * k * n * size;
    // An H200 has four small blocks that read A along k on a multiprocessor.
    bool const small = layout.a_along_k && element <= 4 && t.shared_bytes(element, true) < 55000;
    double const rounds = up(blocks, std::ptrdiff_t{small ? 4 : 2} * units);
    double const steps = up(pieces, t.pieces) * up(piece, t.k);
    double const depth = piece < t.k ? static_cast<double>(piece) : t.k;
    double const at_a_time = element == 16 ? 8 : t.columns == 1 ? 32 : 16;
    double const term = element == 2 ? 2.5 : t.columns == 1 ? 10 : 12 * t.columns;
    double const step = layout.a_along_k ? 600 + depth * term : (s.n == 1 ? 1700 : 1100) * depth / at_a_time;
    // Bytes of A and B that a multiprocessor reads in a cycle. Bytes of a B of 16-bit types count one and a half times,
    // since warps wait longer for them. If blocks are few, some multiprocessors idle.
    bool const dense = static_cast<std::size_t>(s.k) * element % 16 == 0;
    double const of_halves = !dense ? 8.7 : steps > 1 ? 12 : 16;
    double const of_vector = !dense         ? (element == 8   ? 9
                                               : element == 2 ? of_halves
                                                              : 12)
                             : element == 2 ? (steps > 1 ? 14 : 18)
                                            : 16,
                 of_several = element == 2                    ? of_halves
                              : element == 4 || element == 16 ? 16
                                                              : 12,
                 rate = !layout.a_along_k ? 10
                        : s.n == 1        ? of_vector
                                          : of_several;
    double const traffic = bytes_of_a_and_c + (layout.a_along_k && element == 2 ? 1.5 : 1) * bytes_of_b,
                 even = static_cast<double>(blocks) / (up(blocks, units) * static_cast<double>(units)),
                 slowed = !layout.a_along_k || blocks > 4 * units ? 1
                          : 3 * blocks < units                    ? 1 / even
                                                                  : 2 - even;
    // Elements are copied one by one, 32 words of them in 13 cycles.
    bool const by_elements = layout.a_along_k && element > 2 && !dense;
    double const copying =
        by_elements ? up(blocks, units) * (t.m + n) * k / t.cluster * size / 4 * 13 / 32 : 0;
    double const summing = rounds * steps * step + copying,
                 reading = traffic / (rate * static_cast<double>(units * t.cluster)) * slowed;
    double const meeting = t.cluster > 1 ? up(blocks, units) * (element == 2 ? 1500 : 300) : 0;
    double const working = (element == 2 ? 4800 : 5300) + meeting + (summing > reading ? summing : reading),
                 queued = launching(1);
    return working > queued ? working : queued;
}

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
    cuda_sides const& s = q.sides;
    cuda_device const& d = q.device;
    cuda_way way;
    cuda_ordered best;
    way.cycles = 1e300, way.invariant = true, way.piece = q.order.piece;
    std::ptrdiff_t const piece = q.order.piece > 0 ? q.order.piece : s.k;
    for (short cluster = 1; cluster == 1 || (d.capability >= 90 && cluster <= 8 && cluster * piece < s.k);
         cluster = static_cast<short>(2 * cluster)) {
        cuda_ordered const t =
            for_sides(s.m * s.count, s.n, s.k, piece, q.element, q.layout.a_along_k, d, cluster);
        // Clusters are for multiprocessors that would otherwise idle.
        if (cluster > 1 && ((s.m - 1) / t.m + 1) * s.count * cluster > 3 * d.units) continue;
        double const cycles = cycles_of_ordered(t, s, piece, q.element, q.layout, d.units);
        if (cycles < way.cycles) best = t, way.cycles = cycles;
    }
    f(best, way);
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
