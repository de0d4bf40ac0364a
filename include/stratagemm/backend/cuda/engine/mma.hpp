// Narrow types, and floats rounded to tf32, on the tensor cores of any architecture; tiles are copied by threads.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "../kernels/rows.cu.hpp"
#include "mma.cu.hpp"
#include "tile_counts.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

struct cuda_mma : cuda_micro_tiled<cuda_mma> {
    using cuda_micro_tiled::cuda_micro_tiled;

    static constexpr char const* name = "mma";
    static constexpr char const* text = cuda_mma_text; // of the kernel
    static constexpr bool fetches = false;             // by hardware
    static constexpr bool truncates(std::size_t) { return true; }
    static constexpr bool copies_lines(cuda_way const&) { return true; }
    // Bytes of shared memory for the results of each row of a tile, in the memory of its stages (ROW_BYTES in
    // kernels/rows.cu.hpp).
    static constexpr std::size_t row_results = 256;

    static constexpr char types[] = "hwbts45"; // floats as tf32; fewer on older devices
    static bool takes_type(cuda_device const& d, char type) { return tensor_cores_take(d, type); }
    // wgmma is twice as fast for types of other than two bytes. But mma has smaller tiles of 16 bits, for few rows, and
    // takes lines that the hardware does not fetch.
    static bool takes(cuda_query const& q) {
        bool const lines_along_k = static_cast<std::size_t>(q.sides.k) * q.element % 16 == 0;
        bool const by_wgmma = q.device.capability == 90 && q.element != 2 &&
                              (lines_along_k || !q.layout.a_along_k || !q.layout.b_along_k);
        return takes_type(q.device, q.type) && !by_wgmma && !q.layout.widens();
    }
    static bool keeps_order(cuda_order const& order, char type, cuda_device const& d) {
        return order.on_tensor_cores && !(d.capability == 90 && std::strchr("45", type));
    }

    constexpr int threads() const { return micro_tiles() * 32; }
    std::size_t shared_bytes(std::size_t element) const {
        std::size_t const tiles = static_cast<std::size_t>(stages) * static_cast<std::size_t>((m + n) * k) *
                                  element,
                          rows = static_cast<std::size_t>(m) * row_results;
        return stages > 1 || tiles > rows ? tiles : rows;
    }
    bool can_run(cuda_device const& d, std::size_t element, bool = true) const {
        return shared_bytes(element) <= d.shared_bytes;
    }
    bool is_legal(std::size_t element, std::size_t scalar) const {
        auto const rounds = [&](int bytes, int lines) { // of copies
            int const together = threads() * 16 / bytes;
            return threads() * 16 % bytes == 0 && together % 8 == 0 && lines % together == 0;
        };
        int const width = static_cast<int>(element), deep = k * width;
        bool const along_side = element != 2 || (rounds(m * 2, k) && rounds(n * 2, k));
        return threads() >= 64 && threads() <= 512 && micro_tiles_fit(*this, 16, 16) && micro_m <= 64 &&
               micro_n <= 64 && (deep == 64 || deep == 128) &&
               stages >= (element == 2 && deep == 64 ? 1 : 2) && rounds(deep, m) && rounds(deep, n) &&
               along_side && static_cast<std::size_t>(micro_m * micro_n) * scalar <= 32 * 512;
    }

    // What ways there are.
    // Whether the lines of operands may begin at multiples of 4 bytes, or anywhere, if they lie as the tile takes them.
    static constexpr bool takes_words(std::size_t element) { return element < 4; }
    std::ptrdiff_t least_part() const { return k; }
    bool may_shift(cuda_query const& q, bool fetched) const { return !fetched && takes_words(q.element); }
    bool sums_pieces() const { return stages > 1 || micro_sums() <= 1024; }
    static constexpr bool adds_up_together(std::size_t) { return true; }

    // The form that the tile takes, if operands lie as given.
    static cuda_form taken(std::size_t element, cuda_form given) {
        if (element != 2) given.a_along_k = given.b_along_k = true;
        given.direct = false;
        return given;
    }
    static bool takes_along_k(std::size_t element) { return taken(element, {}).a_along_k; }
    // Threads copy lines that begin at words; or anywhere, in pieces that they shift.
    static cuda_form form_taken(cuda_query const& q, cuda_way const&) {
        return taken(q.element, {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k});
    }
    static bool gathers_lines(cuda_query const& q, cuda_way const& way) {
        bool const are_words = (q.line_of_a() | q.line_of_b()) % 4 == 0;
        return takes_words(q.element) && (are_words || way.shifted);
    }
    static constexpr bool changes_lines(bool, std::size_t begins) { return begins < 4; }
    template <class Product>
    static cuda_form form_of(Product const& p, cuda_way const& way) {
        constexpr std::size_t element = sizeof(typename Product::in_type);
        cuda_form f = taken(element, p.form_as_lying(way));
        auto const of_a = cuda_lines_of(p.line_view_a());
        auto const of_b = cuda_lines_of(p.line_view_b());
        bool const lie = takes_words(element) && operands_lie(p, f);
        bool const by_words = lie && of_a.are_words() && of_b.are_words();
        bool const shifted = lie && way.shifted && !by_words;
        f.dense = are_dense(p, by_words || shifted);
        f.shifted = shifted && !f.dense;
        if (by_words && !f.dense) f.a_unit = of_a.aligned(), f.b_unit = of_b.aligned();
        return f;
    }

    std::string definitions(cuda_form const& form) const {
        cuda_definitions d;
        d("DENSE", form.dense).tile(*this, stages, group).form(form)("SHIFTED", form.shifted);
        if (!form.shifted && !form.dense) d("A_UNIT", form.a_unit)("B_UNIT", form.b_unit);
        return d.only("TOGETHER", form.together).text();
    }
    template <class In, class Out, class, class, class Epilogue>
    cuda_source source(cuda_form const& form, Epilogue const& epilogue) const {
        std::string const body = std::string(fetches_text) + cuda_pipeline_text +
                                 cuda_mma_operands(type_letter<In>()) + cuda_copies_text + cuda_shared_text +
                                 cuda_rows_text + cuda_mma_text;
        cuda_source made = cuda_source_of<In, Out>(name, body.c_str(), epilogue, definitions(form));
        made.shared_bytes = shared_bytes(sizeof(In)), made.threads = threads();
        return made;
    }
    template <class Product, class Arguments, class Epilogue>
    status run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
               Epilogue const& epilogue, cuda_arena& memory) const {
        auto compiled = p.compiled(*this, form, epilogue);
        if (!compiled) return compiled.take_status();
        cuda_operand_lines<Product> lines(p);
        if (status s = lines.copy(p, form, memory); !s) return s;
        lines.put(x, form);
        std::ptrdiff_t const blocks = blocks_of(*this, *this, form, way, p.sides());
        return p.launch(**compiled, form, blocks, threads(), x, p.spread_out(blocks),
                        static_cast<unsigned>(form.together ? way.parts(p.sides().k) : 1));
    }
};

template <>
inline constexpr cuda_built_in<cuda_mma> cuda_tiles_of<cuda_mma>[] = {
    {"hw", {128, 128, 64, 64, 32, 3}, 1}, {"hw", {64, 64, 64, 32, 32, 3}, 3},
    {"hw", {32, 64, 64, 16, 32, 4}, 3},   {"hw", {16, 64, 64, 16, 16, 6}, 3},
    {"hw", {128, 128, 32, 64, 32, 1}, 2}, {"hw", {64, 64, 32, 32, 32, 1}, 4},
    {"b", {128, 128, 128, 64, 32, 3}, 1}, {"b", {64, 64, 128, 32, 32, 3}, 3},
    {"45", {128, 64, 128, 32, 32, 3}, 1}, {"45", {64, 64, 128, 32, 32, 3}, 2},
    {"t", {128, 128, 32, 64, 32, 3}, 1},  {"t", {64, 64, 32, 32, 32, 3}, 3},
};

STRATAGEMM_END
