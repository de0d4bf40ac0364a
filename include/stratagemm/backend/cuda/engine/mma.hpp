// Narrow types, and floats rounded to tf32, on the tensor cores of any architecture; tiles are copied by threads.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "../kernels/rows.cu.hpp"
#include "mma.cu.hpp"
#include "tile_cost.hpp"
#include "tile_launch.hpp"

STRATAGEMM_BEGIN

struct cuda_mma {
    static constexpr char const* name = "mma";
    static constexpr char const* text = cuda_mma_text; // of the kernel
    static constexpr bool fetches = false;             // by hardware
    static constexpr bool reads_lines() { return true; }
    static constexpr bool truncates(std::size_t) { return true; }
    static constexpr bool copies_lines(cuda_way const&) { return true; }
    // Bytes of shared memory for the results of each row of a tile, in the memory of its stages (ROW_BYTES in
    // kernels/rows.cu.hpp).
    static constexpr std::size_t row_results = 256;

    short m = 0, n = 0, k = 0;      // of C, and the depth of what is in shared memory at a time
    short micro_m = 1, micro_n = 1; // of C for each warp
    short stages = 1;               // of shared memory
    short group = 8;                // rows of tiles that are walked through together
    short parts = 0;                // of k, summed each by itself; 0: as the cost says

    friend bool operator==(cuda_mma const&, cuda_mma const&) = default;
    friend auto operator<=>(cuda_mma const&, cuda_mma const&) = default;

    static constexpr char types[] = "hwbts45"; // floats as tf32; fewer on older devices
    static constexpr bool widens = false;
    static bool takes_type(cuda_device const& d, char type) { return tensor_cores_take(d, type); }
    // wgmma is twice as fast for types of other than two bytes. But mma has smaller tiles of 16 bits, for few rows, and
    // takes lines that the hardware does not fetch.
    static bool takes(cuda_query const& q) {
        bool const lines_along_k = static_cast<std::size_t>(q.sides.k) * q.element % 16 == 0;
        bool const by_wgmma = q.device.capability == 90 && q.element != 2 &&
                              (lines_along_k || !q.layout.a_along_k || !q.layout.b_along_k);
        return takes_type(q.device, q.type) && !by_wgmma && !q.layout.widens() &&
               !cuda_few_columns::are_read_once(q);
    }
    static bool keeps_order(cuda_order const& order, char type, cuda_device const& d) {
        return order.on_tensor_cores && !(d.capability == 90 && std::strchr("45", type));
    }
    template <class F>
    static void candidates(cuda_query const& q, F& f);
    template <class F>
    void candidates_as_given(cuda_query const& q, F& f) const;

    constexpr int warps() const { return m / micro_m * (n / micro_n); }
    constexpr int threads() const { return warps() * 32; }
    std::string describe() const { return describe_tile(*this); }
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
    std::ptrdiff_t terms(std::ptrdiff_t of_k) const { return ((of_k - 1) / k + 1) * k; }
    std::ptrdiff_t least_part() const { return k; }
    bool may_shift(cuda_query const& q, bool fetched) const { return !fetched && takes_words(q.element); }
    bool sums_pieces() const { return stages > 1 || micro_m * micro_n <= 1024; }
    int blocks_with_pieces(int blocks) const { return blocks; }
    static constexpr bool adds_up_together(std::size_t) { return true; }
    static constexpr bool divides_last_round(std::size_t) { return false; }

    // The form that the tile takes, if operands lie as given.
    static cuda_form taken(std::size_t element, cuda_form given) {
        if (element != 2) given.a_along_k = given.b_along_k = true;
        given.direct = false;
        return given;
    }
    static bool takes_along_k(std::size_t element) { return taken(element, {}).a_along_k; }
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
        d("DENSE", form.dense).tile(*this, stages, group, 1).form(form)("SHIFTED", form.shifted);
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
        lines.put(x, form);
        std::ptrdiff_t const blocks = blocks_of(*this, *this, form, way, p.sides());
        return p.launch(**compiled, form, blocks, threads(), x, p.spread_out(blocks),
                        static_cast<unsigned>(form.together ? way.parts(p.sides().k) : 1));
    }
};

template <>
inline constexpr cuda_built_in<cuda_mma> cuda_tiles_of<cuda_mma>[] = {
    {"hw", {128, 128, 64, 64, 32, 3}, 1, 800},  {"hw", {64, 64, 64, 32, 32, 3}, 3, 570},
    {"hw", {32, 64, 64, 16, 32, 4}, 3, 430},    {"hw", {16, 64, 64, 16, 16, 6}, 3, 270},
    {"hw", {128, 128, 32, 64, 32, 1}, 2, 800},  {"hw", {64, 64, 32, 32, 32, 1}, 4, 600},
    {"b", {128, 128, 128, 64, 32, 3}, 1, 1600}, {"b", {64, 64, 128, 32, 32, 3}, 3, 1200},
    {"45", {128, 64, 128, 32, 32, 3}, 1, 1200}, {"45", {64, 64, 128, 32, 32, 3}, 2, 1000},
    {"t", {128, 128, 32, 64, 32, 3}, 1, 400},   {"t", {64, 64, 32, 32, 32, 3}, 3, 300},
};

class cuda_mma_cost : public cuda_tile_cost<cuda_mma_cost, cuda_mma> {
    using base = cuda_tile_cost<cuda_mma_cost, cuda_mma>;
    friend base;

public:
    cuda_mma_cost(cuda_query const& q, cuda_mma const& t, int blocks, double rate, cuda_way const& way)
        : base(q, t,
               cuda_mma::taken(q.element, {.a_along_k = q.layout.a_along_k, .b_along_k = q.layout.b_along_k}),
               blocks, rate, way) {}

private:
    // With one stage a block waits for each step of k, while other blocks of its multiprocessor multiply. The constants
    // are those of an H100.
    bool has_one_stage() const { return t_.stages == 1; }

    bool lines_are_words() const {
        return static_cast<std::size_t>(line_of_a() | line_of_b()) * element_ % 4 == 0;
    }
    bool by_words() const { return cuda_mma::takes_words(element_) && lines_are_words() && copies_itself(); }
    bool shifts() const {
        return cuda_mma::takes_words(element_) && how_.shifted && !lines_are_words() && copies_itself();
    }

    double begins() const {
        if (has_one_stage()) return shifts() ? 3000 : by_words() ? 4700 : 3700;
        return shifts() ? 6500 : by_words() ? 5300 + few_columns() : 4400;
    }
    // Tiles of 64 rows and more, alone with a few columns that lie apart, take longer than their words explain.
    double few_columns() const { return s_.n <= 8 && t_.m >= 64 && how_.part == 0 ? 5200 : 0; }

    double slowed(std::ptrdiff_t line, double share, bool = false) const {
        if (by_words()) return 1; // threads beside each other read neighbouring pieces
        double const most = shifts() ? 1.5 : 2.2;
        if (shifts()) share = 1; // a multiprocessor's own threads take so long
        bool const within = static_cast<std::size_t>(line) * element_ % 128 != 0;
        return within && most * share > 1 ? most * share : 1.0;
    }
    // Elements beyond the matrix take as long as others if they are copied word by word. Threads that copy pieces wait
    // longer for pieces from memory, most of all if none of these threads multiplies meanwhile. To ask for four bytes at
    // a time takes so long that no thread waits.
    double fetching(double share, std::ptrdiff_t depth) const {
        bool const all = by_words() || shifts();
        double const rows = all || s_.m > t_.m ? t_.m : real(s_.m),
                     cols = all || s_.n > t_.n ? t_.n : real(s_.n),
                     terms = all ? up(depth, t_.k) * t_.k : real(depth);
        if (!all) return fetching_of(rows, cols, terms, share);
        double const from_memory = streams() ? rows : streams_any() ? cols : 0, each = terms * size_;
        if (by_words()) {
            bool const words = static_cast<std::size_t>(line_of_a() | line_of_b()) * element_ % 8 != 0;
            double const waits = has_one_stage() ? 2 * from_memory : words ? 0 : 0.4 * from_memory;
            return (rows / pieces_per_cycle(line_of_a()) + cols / pieces_per_cycle(line_of_b()) +
                    waits / 29) *
                   each;
        }
        double const asked = rows * slowed(fetched_line(s_.m, layout_.a_along_k, form_.a_along_k), share) +
                             cols * slowed(fetched_line(s_.n, layout_.b_along_k, form_.b_along_k), share);
        double const all_of_it = rows + cols;
        return ((asked > all_of_it ? asked : all_of_it) + from_memory) * each / (has_one_stage() ? 13 : 14);
    }
    // Bytes that threads copy in a cycle of lines that begin at multiples of 4, or of 8 and more.
    double pieces_per_cycle(std::ptrdiff_t line) const {
        bool const eights = static_cast<std::size_t>(line) * element_ % 8 == 0;
        return blocks_ > 1 ? (eights ? 29 : 20.5) : eights ? 26 : 17.5;
    }
    // A step with one stage: a block waits for it, and multiplies it. If it is alone, it copies nothing meanwhile.
    double one_after_another(double beside) const {
        return 1000 + real(t_.m) * t_.n * t_.k / rate_ + (beside < 2 ? fetching(1, t_.k) : 0);
    }
    // Cycles until the operands of a step of k have come.
    double shortest_step(double beside) const {
        if (shifts()) return t_.stages > 1 ? 1400 : beside > 1 && s_.n > t_.n ? 1800 : 2600;
        if (has_one_stage()) return one_after_another(beside);
        bool const alone = by_words() && beside < 2;
        return streams_any() || alone ? 700 : reads_pages() ? 650 : 250;
    }
    // Bytes of C that a multiprocessor stores in a cycle, and nothing else meanwhile.
    double bytes_stored() const {
        bool const aligned = rows_are_aligned();
        if (has_one_stage()) return aligned ? 17 : row_bytes_ % 4 == 0 ? 11 : 9.5;
        return blocks_ > 1 ? (aligned ? 24 : 11) : aligned ? 13 : 6.5;
    }
    // A block that could have others beside it waits for its copies. Words have separate costs.
    double slowed_alone(double beside) const {
        bool const copies = t_.stages > 1 && !by_words() && !shifts();
        return copies && element_ == 2 && beside < 2 ? 1.5 : 1;
    }
    double uneven(double idle, double pairs, double items) const {
        return uneven_on_tensor_cores(idle, pairs, items, 0.1);
    }
    // Pieces of lines of B along n that begin anywhere: each step reads other pages, at half of the rate, and so do
    // blocks that have other parts of k.
    double scattered() const {
        double const bytes_of_b = real(s_.k) * real(s_.n) * size_;
        bool const pages = shifts() && !layout_.b_along_k && s_.m <= t_.m && bytes_of_b > 4e6;
        return pages ? 1.8 + 0.03 * parts_ : 1;
    }
    double gathering_begins() const { return 3800; }
};

template <class F>
void cuda_mma::candidates(cuda_query const& q, F& f) {
    ways_of_built_in<cuda_mma_cost, cuda_mma>(q, f);
}
template <class F>
void cuda_mma::candidates_as_given(cuda_query const& q, F& f) const {
    if (takes_type(q.device, q.type) && !q.layout.widens()) ways_as_given<cuda_mma_cost>(q, *this, f);
}

STRATAGEMM_END
