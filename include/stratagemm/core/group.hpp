// Many products by one call, each with its own sizes, operands, factors and epilogue; of the same types.
//
//   std::vector const products = {sg::product(a0, b0, c0), sg::product(2.0f, a1, b1, 0.5f, c1)};
//   sg::gemm(gpu, products);
//
// They may run in any order and at the same time: no C may overlap what another product reads or writes, nor may the
// bytes that batches span. To find that out takes the square of their number where the C's are interleaved, such as
// panels of columns of one matrix.
#pragma once

#include "policy.hpp"

#include <cstdlib>
#include <vector>

STRATAGEMM_BEGIN

// Borrowed, and seen by policies as one value.
template <class Problem>
struct group {
    using problem_type = Problem;

    Problem const* first = nullptr;
    index count = 0;

    Problem const* begin() const { return first; }
    Problem const* end() const { return first + count; }
};

template <class P>
struct is_problem : std::false_type {};
template <class TA, class TB, class TC, class Space, class Epilogue>
struct is_problem<problem<TA, TB, TC, Space, Epilogue>> : std::true_type {};

// What holds products one after another: a vector or an array of what product() gave.
template <class G>
concept product_range = requires(G const& g) {
    g.size();
    requires is_problem<std::remove_cvref_t<decltype(*g.data())>>::value;
};
template <product_range G>
auto as_group(G const& g) {
    using Problem = std::remove_cvref_t<decltype(*g.data())>;
    return group<Problem>{g.data(), static_cast<index>(g.size())};
}

// Where the matrices C of a group lie, so that it is quick to ask who else is there.
template <class Problem>
class written_places {
public:
    explicit written_places(group<Problem> const& all) {
        places_.reserve(static_cast<std::size_t>(all.count));
        for (Problem const& p : all) {
            place const x = place_of(p, p.c, p.c_step);
            if (x.low < x.high) places_.push_back(x);
        }
        // Not std::sort: <algorithm> is a tenth of what it takes to compile the library.
        bool sorted = true;
        for (std::size_t i = 1; i < places_.size(); ++i) sorted &= compare(&places_[i - 1], &places_[i]) <= 0;
        if (!sorted) std::qsort(places_.data(), places_.size(), sizeof(place), compare);
        for (std::size_t i = 1; i < places_.size(); ++i) {
            place& x = places_[i];
            place const& before = places_[i - 1];
            one_buffer_ &= x.buffer == before.buffer;
            if (x.buffer != before.buffer) continue;
            apart_ &= before.reach <= x.low;
            if (x.reach < before.reach) x.reach = before.reach;
        }
    }

    // Whether no two of them share a byte, even of gaps.
    bool are_apart() const { return apart_; }

    // Whether matrix v of `reader` shares an element with the C of another product.
    template <class V>
    bool meet(Problem const& reader, V const& v, index step) const {
        place const x = place_of(reader, v, step);
        if (x.low == x.high || places_.empty()) return false;
        if (one_buffer_ && (x.high <= places_.front().low || x.low >= places_.back().reach)) return false;
        // Those that begin before its end, backwards, as long as one of them may end after its beginning.
        std::size_t at = 0;
        for (std::size_t left = places_.size(); left > 0;) {
            place const& y = places_[at + left / 2];
            bool const before = y.buffer < x.buffer || (y.buffer == x.buffer && y.low < x.high);
            if (before) at += left / 2 + 1;
            left = before ? left - left / 2 - 1 : left / 2;
        }
        while (at-- > 0) {
            place const& y = places_[at];
            if (y.buffer != x.buffer || y.reach <= x.low) break;
            if (y.of == &reader || y.high <= x.low) continue;
            Problem const& writer = *y.of;
            if (writer.count > 1 || reader.count > 1) return true;
            auto const bytes = [](auto const& w) {
                using T = typename std::remove_cvref_t<decltype(w)>::value_type;
                return extent_of(w.rows, w.cols, w.row_stride, w.col_stride, 1, 0,
                                 static_cast<index>(sizeof(T)));
            };
            if (views_overlap(writer.c, bytes(writer.c), v, bytes(v))) return true;
        }
        return false;
    }

private:
    struct place {
        void const* buffer;
        index low, high, reach; // reach: the largest high so far
        Problem const* of;
    };
    static int compare(void const* left, void const* right) {
        auto const &x = *static_cast<place const*>(left), &y = *static_cast<place const*>(right);
        if (x.buffer != y.buffer) return x.buffer < y.buffer ? -1 : 1;
        return x.low < y.low ? -1 : x.low > y.low;
    }

    template <class V>
    static place place_of(Problem const& p, V const& v, index step) {
        using space = typename Problem::space;
        extent const x = extent_of(v.rows, v.cols, v.row_stride, v.col_stride, p.count, step,
                                   static_cast<index>(sizeof(typename V::value_type)));
        index const at = space::address(v.data);
        return {space::buffer(v.data), at + x.low, at + x.high, at + x.high, &p};
    }

    std::vector<place> places_;
    bool apart_ = true, one_buffer_ = true;
};

// Why one product of a group fails.
template <class Problem>
status in_group(group<Problem> const& all, Problem const& p, error const& e) {
    std::string const text =
        "product " + std::to_string(&p - all.first) + " of the group: " + (e.what() + e.layer().size() + 2);
    return error(e.code(), e.layer().data(), text.c_str(), e.native_code());
}

// Each by itself, and then beside the others.
template <class Problem>
status validate(group<Problem> const& all) {
    for (Problem const& p : all)
        if (status s = validate(p); !s) return in_group(all, p, s.error());
    if (all.count < 2) return {};
    written_places<Problem> const written(all);
    for (Problem const& p : all) {
        if (is_empty(p)) continue;
        bool const reads_ab = p.a.cols > 0 && p.alpha != typename Problem::scalar(0);
        bool const reads_e = p.beta != typename Problem::scalar(0);
        if ((!written.are_apart() && written.meet(p, p.c, p.c_step)) ||
            (reads_ab && (written.meet(p, p.a, p.a_step) || written.meet(p, p.b, p.b_step))) ||
            (reads_e && written.meet(p, p.e, p.e_step)))
            return in_group(
                all, p,
                error(errc::alias, "gemm",
                      "it may share elements with the C of another product; they may run at the same time"));
    }
    return {};
}

// A policy may take a group as a whole, by two members,
//   footprint group_workspace(group<Problem>) const;  status run_group(group<Problem>, arena&) const;
// and otherwise does one product after another, as far as the first that fails for a reason of the policy's own: those
// before it are done then. A type derived from a policy inherits these members. All of a group have been validated, but
// some may be empty, or have k = 0 or alpha = 0.
template <class P, class Problem>
concept takes_groups = requires(P const& p, group<Problem> const& all, typename P::arena& memory) {
    p.group_workspace(all);
    p.run_group(all, memory);
};

template <policy P, class Problem>
footprint group_workspace(P const& policy, group<Problem> const& all) {
    if constexpr (takes_groups<P, Problem>) {
        return policy.group_workspace(all);
    } else {
        footprint most;
        for (Problem const& p : all)
            if (!is_empty(p)) most = larger(most, policy.workspace(p.shape()));
        return most;
    }
}

// What a call with an arena of one's own needs of it.
template <policy P, product_range G>
footprint group_workspace(P const& policy, G const& products) {
    return group_workspace(policy, as_group(products));
}

template <policy P, class Problem>
status run_group(P const& policy, group<Problem> const& all, typename P::arena& memory) {
    if constexpr (takes_groups<P, Problem>) {
        return policy.run_group(all, memory);
    } else {
        for (Problem const& p : all)
            if (status s = run_checked(policy, p, memory); !s) return in_group(all, p, s.error());
        return {};
    }
}

STRATAGEMM_END
