// A matrix times a few columns, such as a vector: A is read once, as it lies.
#pragma once

#include "../kernels/copies.cu.hpp"
#include "narrow.cu.hpp"
#include "narrow_along_k.cu.hpp"
#include "narrow_along_k_mma.cu.hpp"
#include "narrow_along_m.cu.hpp"
#include "narrow_along_m_mma.cu.hpp"
#include "narrow_counts.hpp"
#include "narrow_shifted.cu.hpp"

STRATAGEMM_BEGIN

inline bool cuda_narrow::takes(cuda_query const& q) {
    return !q.invariant && !q.layout.widens() &&
           (is_narrow(q.type, q.sides) || reads_shifted(q.type, q.element, q.device, q.sides, q.layout));
}

template <class F>
void cuda_narrow::candidates(cuda_query const& q, F& f) {
    if (is_narrow(q.type, q.sides)) cuda_ways_of_narrow<F>(q, cuda_narrow_reads::of(q), f).ask();
    if (reads_shifted(q.type, q.element, q.device, q.sides, q.layout))
        cuda_ways_of_narrow<F>(q, cuda_narrow_reads::shifted(), f).ask();
}

// With the parts of k and the slices that the caller wants, if any.
template <class F>
void cuda_narrow::candidates_as_given(cuda_query const& q, F& f) const {
    if (q.invariant || q.layout.widens() || is_batch_of_small(q.sides)) return;
    bool const is_shifted = anywhere && reads_shifted(q.type, q.element, q.device, q.sides, q.layout, true);
    if (!is_shifted && (parts == 0 || !is_narrow(q.type, q.sides))) return;
    cuda_best_of<cuda_narrow> best;
    cuda_ways_of_narrow<cuda_best_of<cuda_narrow>> const ways(
        q, is_shifted ? cuda_narrow_reads::shifted() : cuda_narrow_reads::of(q), best);
    ways.each_block([&](cuda_narrow const& t) {
        if (parts == 0)
            ways.ask(t);
        else if (!is_shifted || t.slices == slices || !can_slice(q.sides.n, slices))
            ways.with(t, parts, together && q.device.capability >= 90 && parts <= 8);
    });
    f(best.tile, best.way);
}

// The kernel that reads A so.
inline char const* narrow_text(cuda_narrow_form const& form) {
    if (!form.along_k) return form.on_tensor_cores ? cuda_narrow_along_m_mma_text : cuda_narrow_along_m_text;
    if (form.shifted) return cuda_narrow_shifted_text;
    return form.on_tensor_cores ? cuda_narrow_along_k_mma_text : cuda_narrow_along_k_text;
}

template <class In, class Out, class A, class, class Epilogue>
cuda_source cuda_narrow::source(cuda_form const& form, Epilogue const& epilogue) const {
    cuda_definitions d;
    d("DENSE", form.dense)("WORDS", form.words).tile(*this, slices, apart).form(form);
    d("SHIFTED", form.shifted).only("TOGETHER", form.together);
    std::string const body = (form.together ? fetches_text : "") + std::string(cuda_copies_text) +
                             cuda_narrow_text + narrow_text({form.a_along_k, micro_m == 16, form.shifted});
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

// A block that was chosen for operands that lie otherwise is replaced by the best one for these.
template <class Product>
status cuda_narrow::launch(Product const& p, cuda_way const& way, cuda_arena& memory) const {
    using A = typename Product::a_type;
    cuda_form const form = form_of(p, way);
    cuda_sides const s = p.sides();
    bool const on_tensor_cores = Product::has_one_type &&
                                 narrow_on_tensor_cores(Product::letter, p.device(), s.n, form.a_along_k) &&
                                 form.dense;
    cuda_narrow_reads const reads{{form.a_along_k, on_tensor_cores, form.shifted},
                                  form.words   ? 4
                                  : form.dense ? 16
                                               : sizeof(A),
                                  false};
    if (is_for(reads.form, sizeof(A))) return p.run_in_parts(*this, way, form, memory);
    cuda_query const q{p.device(), Product::letter, sizeof(A), s, p.layout()};
    cuda_best_of<cuda_narrow> best;
    cuda_ways_of_narrow<cuda_best_of<cuda_narrow>> const ways(q, reads, best);
    ways.each_block([&](cuda_narrow const& t) { ways.with(t, way.parts(s.k), way.together); });
    return p.run_in_parts(best.tile, way, form, memory);
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
