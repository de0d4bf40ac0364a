// What a policy chooses for its products. Choosing takes longer than queueing what was chosen, and products come again:
// each thread remembers its last choices.
#pragma once

#include "choice.hpp"
#include "session.hpp"

#include <array>
#include <cstdint>

STRATAGEMM_BEGIN

// The layout that needs all copies that any other layout needs, and all layouts of lines.
inline constexpr cuda_layout any_cuda_layout{true, false, false};
inline constexpr cuda_layout cuda_layouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

// A policy at work: its device and stream, and what its choices depend on beside the product.
struct cuda_chooser {
    cuda_session& session;
    CUstream stream;
    bool check_pointers, tf32, invariant;
    cuda_configuration tile; // that the caller wants
    int after = 0;           // instructions of the epilogue (cuda_query)

    // The letter of the operands' type; t for floats that may be rounded.
    template <class In>
    char letter() const {
        return tf32 && std::is_same_v<In, float> ? 't' : type_letter<In>();
    }
    // Integers are exact in any order.
    template <class In>
    bool in_order() const {
        return invariant && !std::is_integral_v<accumulator_t<In>>;
    }

    template <class In>
    cuda_choice choice_for(cuda_sides const& s, cuda_layout const& layout) const {
        if (tile.is_given() || s.count != 1) return choice_with<In>(s, tile, layout);
        return choice_with<In>(s, session.tuned_for(tuning_bucket(letter<In>(), s.m, s.n, s.k)), layout);
    }
    template <class In>
    cuda_choice choice_with(cuda_sides const& s, cuda_configuration const& only,
                            cuda_layout const& layout) const {
        return known({&session, letter<In>(), sizeof(In), in_order<In>(), after, layout, s, only});
    }
    // Calls f with the sides and the choice of each layout of lines: those that a shape may stand for, whose C may be
    // turned.
    template <class In, class F>
    void for_each_choice(std::initializer_list<cuda_sides> orientations, F const& f) const {
        for (cuda_sides const& sides : orientations)
            for (cuda_layout const& layout : cuda_layouts) f(sides, choice_for<In>(sides, layout));
    }

    // The choice for operands of two types: the kernel reads them as they are stored, or reads copies, if copies take
    // less time.
    template <class W>
    cuda_choice choice_of_two(cuda_sides const& s, cuda_layout const& layout) const {
        cuda_choice copied = choice_for<W>(s, {layout.a_along_k, layout.b_along_k, layout.a_in_lines});
        copied.cycles += cycles_of_widening(session.device(), s, layout, sizeof(W));
        cuda_choice const read = choice_for<W>(s, layout);
        return read.widens && read.cycles < copied.cycles ? read : copied;
    }
    // The choice for few columns of C if A, whose elements have so many bytes, is narrower than B. If the choice has the
    // direct engine, few columns get no separate kernel.
    cuda_choice few_columns(cuda_sides const& s, cuda_layout const& layout, std::size_t element) const {
        cuda_choice x;
        if (invariant || tile.is_given() || !is_narrow(type_letter<float>(), s)) return x;
        cuda_query const q{
            session.device(), type_letter<float>(), element, s, {layout.a_along_k, layout.b_along_k}};
        cuda_best_of<cuda_narrow> best;
        cuda_narrow::candidates(q, best);
        static_cast<cuda_way&>(x) = best.way, x.tile = best.tile, x.widens = true;
        x.cycles += cycles_after(after, q, x);
        return x;
    }

private:
    // All that a choice depends on.
    struct question {
        cuda_session const* session = nullptr;
        char type = 0;
        std::size_t element = 0;
        bool invariant = false;
        int after = 0;
        cuda_layout layout;
        cuda_sides sides{};
        cuda_configuration only;
        friend bool operator==(question const&, question const&) = default;

        // From the upper bits of the hash: the lower ones of sides are often zero.
        std::size_t place() const {
            std::uint64_t hash = 0;
            for (std::ptrdiff_t const x :
                 {sides.m, sides.n, sides.k, sides.count,
                  std::ptrdiff_t{16384} * after + std::ptrdiff_t{8192} * layout.b_bytes +
                      std::ptrdiff_t{1024} * layout.a_bytes + std::ptrdiff_t{8} * type +
                      4 * layout.a_in_lines + 2 * layout.a_along_k + layout.b_along_k})
                hash = (hash ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
            return hash >> 56;
        }
    };
    // Two questions that share a place keep their answers.
    static cuda_choice known(question const& q) {
        struct answer {
            question to;
            cuda_choice choice;
        };
        thread_local std::array<std::array<answer, 2>, 256> all;
        auto& [last, before] = all[q.place()];
        if (last.to == q) return last.choice;
        if (before.to == q) return before.choice;
        before = last;
        cuda_query const product{.device = q.session->device(),
                                 .type = q.type,
                                 .element = q.element,
                                 .sides = q.sides,
                                 .layout = q.layout,
                                 .invariant = q.invariant};
        last = {q, choose(product, q.only)};
        last.choice.cycles += cycles_after(q.after, product, last.choice);
        return last.choice;
    }
};

STRATAGEMM_END
