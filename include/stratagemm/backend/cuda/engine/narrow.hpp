// A matrix times a few columns, such as a vector: A is read once, as it lies.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "narrow.cu.hpp"
#include "narrow_along_k.cu.hpp"
#include "narrow_along_m.cu.hpp"
#include "narrow_parts.hpp"

STRATAGEMM_BEGIN

// How the kernel reads a product of few columns, by which its cost is told.
struct cuda_few_columns {
    bool dense, words;       // lines of A begin at multiples of 16 bytes, or of 4
    bool by_words, by_steps; // tensor cores read them as words; a warp takes k in steps
    bool copied;             // B is copied first
    bool surely;             // A is read by vectors of threads that have nothing else to do
    double bytes;            // of all operands

    explicit cuda_few_columns(cuda_query const& q) {
        cuda_sides const& s = q.sides;
        cuda_layout const& layout = q.layout;
        std::size_t const line = static_cast<std::size_t>(s.k) * q.element;
        bytes = (static_cast<double>(s.m) * static_cast<double>(s.k + s.n) +
                 static_cast<double>(s.k) * static_cast<double>(s.n)) *
                static_cast<double>(q.element) * static_cast<double>(s.count);
        // Lines along k that begin within 16 bytes are read word by word, or element by element; tiles may then be
        // faster.
        dense = !layout.a_along_k || line % 16 == 0 || s.n == 1;
        words = q.element < 4 && line % 4 == 0;
        by_words = layout.a_along_k && layout.a_in_lines && line % 4 == 0 && q.element < 4 &&
                   narrow_on_tensor_cores(q.type, q.device, s.n, true);
        by_steps = by_words && s.k < 32768 && s.count == 1;
        // Where A lies along k, B is copied, with two exceptions: B lies along k, too, aligned, as a single column
        // does; or tensor cores read B as it lies.
        copied = s.n > 1 && layout.a_along_k && !by_words && (!layout.b_along_k || line % 16 != 0);
        bool const by_threads =
            !layout.a_along_k && s.n > 1 && !narrow_on_tensor_cores(q.type, q.device, s.n, layout.a_along_k);
        surely = dense && !by_threads && !(q.element == 8 && s.n > 1);
    }

    // Whether nothing that reads A more than once need be asked. Lines along m that begin anywhere wait longer, and
    // tiles of doubles take such lines as they lie. Tiles of 16 bits may divide k better.
    static bool are_read_once(cuda_query const& q) {
        if (q.invariant || q.layout.widens() || !is_narrow(q.type, q.sides)) return false;
        cuda_few_columns const few(q);
        bool const along_k = q.layout.a_along_k;
        bool const doubles_may =
            q.type == 'd' && q.device.capability >= 90 && q.sides.m % 2 != 0 && q.sides.count == 1;
        bool const as_tiles = (q.element == 2 && (!along_k || few.by_steps)) || (!along_k && doubles_may);
        return few.bytes > 1e6 && few.surely && !as_tiles;
    }
};

// The parts where A lies along k and threads multiply, not the tensor cores. Where A lies along k the blocks of a kernel
// divide k themselves, if there are enough rows or few enough terms. Otherwise a product of several columns gets parts
// such that rounds of blocks are full. A vector gets as few parts as keep memory busy: no multiprocessor may read its
// blocks, at up to 40 bytes a cycle, for longer than memory takes for all of A, and no block may wait for its lines for
// longer than that.
inline std::ptrdiff_t parts_by_threads(cuda_query const& q, double bytes) {
    cuda_sides const& s = q.sides;
    int const units = q.device.units;
    std::ptrdiff_t parts = 1;
    if (s.m >= units || s.k < 8192 || s.count != 1) return parts;
    std::ptrdiff_t const blocks = (s.m * static_cast<std::ptrdiff_t>(q.element) - 1) / 128 + 1,
                         places = std::ptrdiff_t{2} * units;
    double least = 1e300;
    for (std::ptrdiff_t p = 1; p <= s.k / 256 && (p == 1 || blocks * (p - 1) < 2 * places); ++p) {
        auto const rounds = static_cast<double>((blocks * p - 1) / places + 1);
        double time = rounds / static_cast<double>(p) * (1 + 0.02 * static_cast<double>(p));
        if (s.n == 1) {
            auto const each = static_cast<double>((blocks * p - 1) / units + 1),
                       lines = static_cast<double>(s.k / p);
            double const all = bytes / (20 * units), longest = lines * (3.2 * each > 4.3 ? 3.2 * each : 4.3);
            time = (all > longest ? all : longest) + (p > 1 ? 4000 + 50 * static_cast<double>(p) : 0);
        }
        if (time < least) least = time, parts = p;
    }
    return parts;
}

// The cycles of few columns whose parts of k are known. `reading`: those of the blocks, if a model has told them.
inline double cycles_of_few_columns(cuda_query const& q, cuda_few_columns const& few, bool gathers,
                                    double reading) {
    cuda_sides const& s = q.sides;
    int const units = q.device.units;
    // Bytes in a cycle. Several columns of doubles may be multiplied sooner by the tensor cores of tiles.
    double const by_vectors = few.surely ? 20 : 12;
    double const by_elements = q.element == 1 ? 3 : q.element == 2 ? 4.5 : 12;
    double const rate = few.dense ? by_vectors : few.words ? 10 : by_elements;
    // Sums of a row that is read by elements are added up by the threads of a warp.
    double const rows = few.dense || few.words ? 0 : static_cast<double>(s.m) * static_cast<double>(s.count);
    double cycles = q.layout.a_along_k
                        ? 5000 + few.bytes / (rate * units) + rows * 50 * static_cast<double>(s.n) / units +
                              (gathers ? 4000 : 0) + (few.dense && !few.surely && few.copied ? 7500 : 0)
                        : reading;
    // Threads that read by elements wait for the copy, and then for each of their elements.
    bool const waits_twice = few.copied && !few.dense && !few.words && q.element > 1;
    if (waits_twice && cycles < 18000) cycles = 18000;
    if (few.by_steps && (few.dense || cycles < reading)) cycles = reading;
    return cycles;
}

inline bool cuda_narrow::takes(cuda_query const& q) {
    return !q.invariant && !q.layout.widens() &&
           (is_narrow(q.type, q.sides) || reads_shifted(q.type, q.element, q.device, q.sides, q.layout));
}

template <class F>
void cuda_narrow::candidates(cuda_query const& q, F& f) {
    cuda_sides const& s = q.sides;
    bool const read_once = cuda_few_columns::are_read_once(q);
    if (!read_once && reads_shifted(q.type, q.element, q.device, s, q.layout)) {
        cuda_parts_of_k const by_model = parts_of_shifted(q.element, s, q.device);
        cuda_way way;
        way.shifted = true, way.cycles = by_model.cycles;
        if (s.count == 1 && by_model.parts > 1)
            way.part = cuda_parts_of_k::part_of(s.k, by_model.parts, true);
        if (way.part >= s.k) way.part = 0;
        way.together = way.part > 0 && by_model.together;
        f(cuda_narrow{.n = static_cast<short>(s.n), .slices = by_model.slices}, way);
    }
    if (!is_narrow(q.type, s)) return;
    cuda_few_columns const few(q);
    cuda_way way;
    cuda_parts_of_k by_model;
    double reading = 0;
    if (!q.layout.a_along_k || few.by_steps) {
        by_model = q.layout.a_along_k ? parts_along_k(q.element, s, q.device)
                                      : parts_along_m(q.type, q.element, s, q.device);
        reading = by_model.cycles;
    } else {
        by_model.parts = parts_by_threads(q, few.bytes);
    }
    if (by_model.parts > 1 && s.count == 1) way.part = cuda_parts_of_k::part_of(s.k, by_model.parts, false);
    if (way.part >= s.k) way.part = 0;
    way.together = way.part > 0 && by_model.together;
    bool const gathers = way.part > 0 && !way.together;
    way.cycles = cycles_of_few_columns(q, few, gathers, reading);
    // Launches take most of the time of small products, and tiles may need fewer launches.
    double const queued = read_once ? 0 : launching(1 + gathers + few.copied);
    if (way.cycles < queued) way.cycles = queued;
    // Tiles of doubles on the tensor cores read an A along k as fast as this kernel, and need no copy of B.
    bool const by_tiles = q.type == 'd' && q.device.capability >= 90 && s.n > 4 && q.layout.a_along_k;
    way.surely = read_once; // however soon others would be
    if (read_once || !by_tiles) f(cuda_narrow{.n = static_cast<short>(s.n)}, way);
}

// With the parts of k that the caller wants, if any.
template <class F>
void cuda_narrow::candidates_as_given(cuda_query const& q, F& f) const {
    cuda_sides const& s = q.sides;
    if (q.invariant || q.layout.widens() || q.is_batch_of_small()) return;
    bool const is_shifted = anywhere && reads_shifted(q.type, q.element, q.device, s, q.layout, true);
    if (!is_shifted && (parts == 0 || !is_narrow(q.type, s))) return;
    cuda_narrow one{.n = static_cast<short>(s.n)};
    cuda_way way;
    way.shifted = is_shifted;
    std::ptrdiff_t some = parts;
    if (is_shifted) {
        cuda_parts_of_k const by_model = parts_of_shifted(q.element, s, q.device);
        way.cycles = by_model.cycles, way.together = by_model.together;
        if (parts == 0) some = by_model.parts;
        one.slices = parts == 0 ? by_model.slices : can_slice(s.n, slices) ? slices : short{1};
    }
    if (parts > 0) way.together = together && q.device.capability >= 90 && parts <= 8;
    if (some > 1 && s.count == 1) way.part = cuda_parts_of_k::part_of(s.k, some, is_shifted);
    if (way.part >= s.k) way.part = 0;
    way.together &= way.part > 0;
    f(one, way);
}

template <class In, class Out, class A, class, class Epilogue>
cuda_source cuda_narrow::source(cuda_form const& form, Epilogue const& epilogue) const {
    cuda_definitions d;
    d("DENSE", form.dense)("WORDS", form.words).tile(*this, slices, apart, 1).form(form);
    d("SHIFTED", form.shifted).only("TOGETHER", form.together);
    std::string const body = (form.together ? fetches_text : "") + std::string(cuda_copies_text) +
                             cuda_narrow_text +
                             (form.a_along_k ? cuda_narrow_along_k_text : cuda_narrow_along_m_text);
    cuda_source made = cuda_source_of<In, Out>(name, body.c_str(), epilogue,
                                               cuda_narrower<In, A>("A_IN") +
                                                   cuda_mma_operands(type_letter<In>()) + d.text());
    made.shared_bytes = shared_bytes(sizeof(In), sizeof(accumulator_t<In>), form);
    return made;
}

// Whether B has lines along k that the kernel reads as vectors, or as the words that tensor cores take. If not, and if
// the form says that B lies along k, B is copied.
template <class Product>
bool has_lines_of_b(Product const& p, bool words) {
    using B = typename Product::b_type;
    auto const& q = p.problem();
    auto const b = cuda_line_view_of<B>(transposed(q.b), q.b_step, q.b_step == 0 ? 1 : q.count);
    auto const lines = cuda_lines_of(b);
    words &= Product::has_one_type && narrow_on_tensor_cores(Product::letter, p.device(), q.b.cols, true);
    return b.along_k && (lines.can_be_fetched() || (words && lines.are_words()));
}

template <class Product>
cuda_form cuda_narrow::form_of(Product const& p, cuda_way const& way) {
    using A = typename Product::a_type;
    auto const a = p.line_view_a();
    auto const& b = p.problem().b;
    cuda_form f = p.form_as_lying(way);
    cuda_lines_of_few const of_a(a);
    f.words = of_a.words, f.dense = of_a.dense;
    f.shifted = a.along_k ? way.shifted : !f.dense && of_a.in_lines && of_a.begins % sizeof(A) == 0;
    f.words &= !f.shifted, f.dense |= f.shifted;
    bool const in_lines = has_lines_of_b(p, f.words);
    // Tensor cores read any other B as it lies, if its terms are at most a sector of memory apart.
    bool const may_stay =
        Product::has_one_type && narrow_on_tensor_cores(Product::letter, p.device(), b.cols, true) &&
        magnitude(b.row_stride) * static_cast<std::ptrdiff_t>(sizeof(typename Product::in_type)) <= 32;
    if (a.along_k)
        f.b_along_k = !f.shifted && (in_lines || !may_stay || !f.dense);
    else
        f.b_along_k = !f.shifted && f.dense && b.cols > 2 && in_lines;
    return f;
}
template <class Product>
bool cuda_narrow::copies_b(Product const& p, cuda_form const& form) {
    return form.a_along_k && form.b_along_k && !has_lines_of_b(p, form.words);
}

template <class Product>
std::size_t cuda_narrow::copies(Product const& p, cuda_way const& way) const {
    return copies_b(p, form_of(p, way)) ? Product::bytes_copied(p.line_view_b(), true) : 0;
}

template <class Product>
status cuda_narrow::launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
    using A = typename Product::a_type;
    cuda_form const form = form_of(p, way);
    cuda_sides const s = p.sides();
    bool const on_tensor_cores = Product::has_one_type &&
                                 narrow_on_tensor_cores(Product::letter, p.device(), s.n, form.a_along_k) &&
                                 form.dense;
    cuda_narrow const of_block =
        for_sides(s.m * s.count, s.n, s.k, sizeof(A), sizeof(typename Product::scalar),
                  {form.a_along_k, on_tensor_cores, form.shifted, slices}, p.device().units);
    return p.run_in_parts(of_block, way, form, memory);
}
template <class Product, class Arguments, class Epilogue>
status cuda_narrow::run(Product const& p, cuda_way const& way, cuda_form const& form, Arguments x,
                        Epilogue const& epilogue, cuda_arena& memory) const {
    auto compiled = p.compiled(*this, form, epilogue);
    if (!compiled) return compiled.take_status();
    cuda_sides const s = p.sides();
    std::ptrdiff_t const of_k = way.parts(s.k), blocks = ((s.m - 1) / (m * apart) + 1) * apart *
                                                         ((s.n - 1) / n + 1) *
                                                         (form.partial || form.together ? of_k : s.count);
    if constexpr (std::is_same_v<typename Product::b_type, typename Product::in_type>)
        if (copies_b(p, form))
            if (status done = p.copy_b(x, memory); !done) return done;
    return p.launch(**compiled, form, blocks, threads(), x, p.spread_out(blocks),
                    form.together ? static_cast<unsigned>(of_k) : 1);
}

STRATAGEMM_END
