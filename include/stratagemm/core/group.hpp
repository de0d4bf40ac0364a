// Many products by one call, each with its own sizes, operands, factors and epilogue; of the same types.
//
//   std::vector const products = {sg::product(a0, b0, c0), sg::product(2.0f, a1, b1, 0.5f, c1)};
//   sg::gemm(gpu, products);
//
// They may run in any order and at the same time: no C may overlap what another product reads or writes, nor may the
// bytes that batches span. To find that out takes the square of their number where the C's are interleaved and either
// are not blocks of one matrix, or interleave with A's and B's as well.
#pragma once

#include "list.hpp"
#include "policy.hpp"

#include <cstdlib>

STRATAGEMM_BEGIN

// Borrowed, and seen by policies as one value.
template <class Problem>
struct group {
    using problem_type = Problem;

    Problem const* first = nullptr;
    index_t count = 0;

    Problem const* begin() const { return first; }
    Problem const* end() const { return first + count; }
};

template <class P>
struct is_problem : std::false_type {};
template <class A, class B, class C, class Epilogue>
struct is_problem<problem<A, B, C, Epilogue>> : std::true_type {};

// What holds products of plain matrices one after another: a vector or an array of what product() gave.
template <class G>
concept product_range = requires(G const& g) {
    g.size();
    requires is_problem<std::remove_cvref_t<decltype(*g.data())>>::value;
    requires is_dense<std::remove_cvref_t<decltype(*g.data())>>;
};
template <product_range G>
auto as_group(G const& g) {
    using Problem = std::remove_cvref_t<decltype(*g.data())>;
    return group<Problem>{g.data(), static_cast<index_t>(g.size())};
}

// Where the matrices C of a group lie, so that it is quick to ask who else is there.
template <class Problem>
class written_places {
    using space = typename Problem::space;

public:
    // Room for so many products; false if there is no memory for it.
    [[nodiscard]] bool reserve(index_t count) { return places_.reserve(static_cast<std::size_t>(count)); }

    // The next product, which lies so.
    [[nodiscard]] bool add(Problem const& p, extents const& x) {
        if (x.c.low == x.c.high) return true; // nothing is read then
        written_.include(p.c, x.c);
        if (p.alpha != typename Problem::scalar(0)) read_.include(p.a, x.a), read_.include(p.b, x.b);
        index_t const at = space::address(p.c.data);
        bool const in_place =
            space::address(p.e.data) == at && space::buffer(p.e.data) == space::buffer(p.c.data);
        if (!in_place) read_.include(p.e, x.e);
        return places_.append({space::buffer(p.c.data), at + x.c.low, at + x.c.high, at + x.c.high, &p});
    }

    // After the last: whether anything is left to ask. `memory` becomes false if there is too little to find
    // out.
    bool settle(bool& memory) {
        // Not std::sort: <algorithm> is a tenth of what it takes to compile the library.
        bool sorted = true;
        for (std::size_t i = 1; i < places_.size(); ++i) sorted &= compare(&places_[i - 1], &places_[i]) <= 0;
        if (!sorted) std::qsort(places_.data(), places_.size(), sizeof(place), compare);
        for (std::size_t i = 1; i < places_.size(); ++i) {
            place& x = places_[i];
            place const& before = places_[i - 1];
            if (x.buffer != before.buffer) continue;
            apart_ &= before.reach <= x.low;
            if (x.reach < before.reach) x.reach = before.reach;
        }
        apart_ = apart_ || are_blocks_apart(memory);
        bool const clear =
            !written_.mixed && !read_.mixed &&
            (written_.buffer != read_.buffer || written_.high <= read_.low || read_.high <= written_.low);
        return !apart_ || !clear;
    }

    // Whether it is known that no two of them share an element.
    bool are_apart() const { return apart_; }

    // Whether matrix v of `reader` shares an element with the C of another product.
    template <class V>
    bool meet(Problem const& reader, V const& v, index_t step) {
        place const x = place_of(reader, v, step);
        if (x.low == x.high || places_.empty()) return false;
        // Those that begin before its end, backwards, as long as one of them may end after its beginning. There are
        // near_ of them, as many as for the last matrix that was asked about, or one more, if operands lie in the order
        // of their products.
        auto const before = [&](place const& y) {
            return y.buffer < x.buffer || (y.buffer == x.buffer && y.low < x.high);
        };
        std::size_t const count = places_.size();
        if (near_ < count && before(places_[near_])) ++near_;
        if ((near_ > 0 && !before(places_[near_ - 1])) || (near_ < count && before(places_[near_]))) {
            near_ = 0;
            for (std::size_t left = count; left > 0;) {
                bool const later = before(places_[near_ + left / 2]);
                if (later) near_ += left / 2 + 1;
                left = later ? left - left / 2 - 1 : left / 2;
            }
        }
        for (std::size_t at = near_; at-- > 0;) {
            place const& y = places_[at];
            if (y.buffer != x.buffer || y.reach <= x.low) break;
            if (y.of == &reader || y.high <= x.low) continue;
            Problem const& writer = *y.of;
            if (writer.count > 1 || reader.count > 1) return true;
            if (views_overlap(stratagemm::place(writer.c, extent_of(writer.c)),
                              stratagemm::place(v, extent_of(v)), false))
                return true;
        }
        return false;
    }

private:
    struct place {
        void const* buffer;
        index_t low, high, reach; // reach: the largest high so far
        Problem const* of;
    };
    static int compare(void const* left, void const* right) {
        auto const &x = *static_cast<place const*>(left), &y = *static_cast<place const*>(right);
        if (x.buffer != y.buffer) return x.buffer < y.buffer ? -1 : 1;
        return x.low < y.low ? -1 : x.low > y.low;
    }

    // A part of a matrix of lines, as wide as they are apart.
    struct block {
        index_t line, begin, end, last; // lines [line, last) of elements [begin, end)
    };
    static int compare_lines(void const* left, void const* right) {
        auto const &x = *static_cast<block const*>(left), &y = *static_cast<block const*>(right);
        return x.line < y.line ? -1 : x.line > y.line;
    }

    // Whether those that interleave are blocks of one matrix, and apart: line by line, with those that a line meets in
    // order, where only neighbours can overlap.
    bool are_blocks_apart(bool& memory) const {
        constexpr auto size = static_cast<index_t>(sizeof(typename Problem::c_type));
        list<block> blocks, met;
        for (std::size_t begin = 0, end; begin < places_.size(); begin = end) {
            place const& first = places_[begin];
            auto const& c = first.of->c;
            bool const by_rows = c.col_stride == 1;
            index_t const outer = by_rows ? c.row_stride : c.col_stride;
            blocks.clear(), met.clear();
            bool all_fit = true;
            for (end = begin; end < places_.size(); ++end) {
                place const& x = places_[end];
                if (end > begin && (x.buffer != first.buffer || x.low >= places_[end - 1].reach)) break;
                auto const& v = x.of->c;
                index_t const wide = by_rows ? v.cols : v.rows, lines = by_rows ? v.rows : v.cols;
                bool const fits = x.of->count == 1 && v.row_stride == c.row_stride &&
                                  v.col_stride == c.col_stride && (by_rows || c.row_stride == 1) &&
                                  outer >= wide && (x.low - first.low) % size == 0;
                all_fit = all_fit && fits;
                if (!all_fit) continue;
                index_t const at = (x.low - first.low) / size, line = at / outer, from = at % outer;
                index_t const beyond =
                    from + wide - outer; // of the next line, seen from where the first begins
                memory = blocks.append({line, from, beyond > 0 ? outer : from + wide, line + lines}) &&
                         (beyond <= 0 || blocks.append({line + 1, 0, beyond, line + 1 + lines}));
                if (!memory) return false;
            }
            if (end - begin == 1) continue;
            if (!all_fit) return false;
            std::qsort(blocks.data(), blocks.size(), sizeof(block), compare_lines);
            for (block const& x : blocks) {
                std::size_t at = 0; // of the first that begins later
                for (std::size_t left = met.size(); left > 0;) {
                    bool const before = met[at + left / 2].begin <= x.begin;
                    if (before) at += left / 2 + 1;
                    left = before ? left - left / 2 - 1 : left / 2;
                }
                std::size_t low = at, high = at; // those in the way have ended above
                while (low > 0 && met[low - 1].end > x.begin)
                    if (met[--low].last > x.line) return false;
                while (high < met.size() && met[high].begin < x.end)
                    if (met[high++].last > x.line) return false;
                if (memory = met.replace(low, high, x); !memory) return false;
            }
        }
        return true;
    }

    template <class V>
    static place place_of(Problem const& p, V const& v, index_t step) {
        extent const x = extent_of(v, p.count, step);
        index_t const at = space::address(v.data);
        return {space::buffer(v.data), at + x.low, at + x.high, at + x.high, &p};
    }

    struct range {
        void const* buffer = nullptr;
        index_t low = PTRDIFF_MAX, high = PTRDIFF_MIN;
        bool mixed = false; // it is more than one buffer

        template <class V>
        void include(V const& v, extent const& x) {
            if (x.low == x.high) return;
            index_t const at = space::address(v.data);
            mixed |= low <= high && buffer != space::buffer(v.data);
            buffer = space::buffer(v.data);
            low = at + x.low < low ? at + x.low : low;
            high = at + x.high > high ? at + x.high : high;
        }
    };

    list<place> places_;
    bool apart_ = true;
    range written_, read_;
    std::size_t near_ = 0; // where meet() found its last
};

// Why one product of a group fails.
template <class Problem>
status in_group(group<Problem> const& all, Problem const& p, error const& e) {
    char text[1000];
    __builtin_snprintf(text, sizeof(text), "product %td of the group: %s", &p - all.first,
                       e.what() + e.layer().size() + 2);
    return error(e.code(), e.layer(), text, e.native_code());
}

// As extents_of() has it, sooner: nothing overflows, and nothing is a batch.
template <class Problem>
extents extents_of_usual(Problem const& p) {
    auto const of = [](auto const& v) {
        index_t const last = (v.rows - 1) * v.row_stride + (v.cols - 1) * v.col_stride;
        return extent{0, (last + 1) * index_t{sizeof(typename std::remove_cvref_t<decltype(v)>::value_type)},
                      true};
    };
    return {of(p.a), of(p.b), of(p.e), of(p.c)};
}

// Each by itself, and then beside the others.
template <class Problem>
status validate(group<Problem> const& all) {
    auto const no_memory = [] {
        return failure(errc::memory, "gemm: no memory to check that the products of a group are apart");
    };
    written_places<Problem> written;
    if (!written.reserve(all.count)) return no_memory();
    for (Problem const& p : all)
        if (is_usual(p)) {
            if (!written.add(p, extents_of_usual(p))) return no_memory();
        } else {
            extents const x = extents_of(p);
            if (status s = validate_closely(p, x); !s) return in_group(all, p, s.error());
            if (!written.add(p, x)) return no_memory();
        }
    if (all.count < 2) return {};
    bool memory = true;
    bool const clear = !written.settle(memory);
    if (!memory) return no_memory();
    if (clear) return {};
    for (Problem const& p : all) {
        if (is_empty(p)) continue;
        bool const reads_ab = p.a.cols > 0 && p.alpha != typename Problem::scalar(0);
        bool const reads_e = p.beta != typename Problem::scalar(0);
        if ((!written.are_apart() && written.meet(p, p.c, p.c_step)) ||
            (reads_ab && (written.meet(p, p.a, p.a_step) || written.meet(p, p.b, p.b_step))) ||
            (reads_e && written.meet(p, p.e, p.e_step)))
            return in_group(all, p,
                            error(errc::alias, "gemm: it may share elements with the C of another product; "
                                               "they may run at the same time"));
    }
    return {};
}

// One product after another, as far as the first that fails for a reason of the policy's own: those before it are done
// then. All have been validated, but some may be empty, or have k = 0 or alpha = 0.
template <class P, class Problem>
struct prepared_group {
    P const& policy;
    group<Problem> const& all;

    footprint workspace() const {
        footprint most;
        for (Problem const& p : all)
            if (!is_empty(p)) most = larger(most, policy.workspace(p.shape()));
        return most;
    }
    status run(typename P::arena& memory) const {
        for (Problem const& p : all)
            if (status s = run_checked(policy, p, memory); !s) return in_group(all, p, s.error());
        return {};
    }
};
// A policy may take a group as a whole, by a member prepare_group(group<Problem>), which returns what has the members of
// prepared_group. A type derived from a policy inherits it.
template <class P, class Problem>
auto prepare_group(P const& policy, group<Problem> const& all) {
    if constexpr (requires { policy.prepare_group(all); })
        return policy.prepare_group(all);
    else
        return prepared_group<P, Problem>{policy, all};
}

// What a call with an arena of one's own needs of it.
template <policy P, product_range G>
footprint group_workspace(P const& policy, G const& products) {
    auto const all = as_group(products);
    return prepare_group(policy, all).workspace();
}

template <policy P, class Problem>
status run(P const& policy, group<Problem> const& all, typename P::arena& memory) {
    if constexpr (check_policy<P, Problem>()) {
        if (status s = validate(all); !s) return s;
        auto ready = prepare_group(policy, all);
        if (!memory.fits(ready.workspace()))
            return failure(errc::memory, "gemm: the arena is smaller than group_workspace() asks for");
        return ready.run(memory);
    }
    return {};
}
template <policy P, class Problem>
status run(P const& policy, group<Problem> const& all) {
    if constexpr (crosses_to<P, typename Problem::space>) {
        return run(way_from<P, typename Problem::space>::through(policy), all);
    } else if constexpr (check_policy<P, Problem>()) {
        if (status s = validate(all); !s) return s;
        auto ready = prepare_group(policy, all);
        auto memory = policy.reserve(ready.workspace());
        if (!memory) return memory.take_status();
        return ready.run(*memory);
    }
    return {};
}

STRATAGEMM_END
