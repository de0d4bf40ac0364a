// Sparse operands of compressed products. On the host: their elements in the order in which columns of A and rows of B
// are transformed. On a device, whose transforms take a step for each place: a csr as a matrix. And the product of two
// sparse matrices into a dense one, which a compressed product is compared with.
#pragma once

#include "../../core/layer.hpp"
#include "../../structure/csr/product.hpp"
#include "../approximate/sparse.hpp"

#include <cstdint>

STRATAGEMM_BEGIN

namespace compressed_parts {

// An element of A in row `line`, or of B in column `line`; `lane` is its k in a stripe.
template <class R>
struct sparse_entry {
    std::uint32_t line, lane;
    R value;
};
// The elements of an operand by stripes of k: those of stripe s are [begins[s], begins[s + 1]).
template <class R>
struct sparse_stripes {
    index_t* begins;
    sparse_entry<R>* entries;

    // place(i, j, f) calls f(line, k).
    template <class X, class Place>
    void list(X const& x, index_t stripes, index_t width, Place const& place) const {
        for (index_t s = 0; s <= stripes; ++s) begins[s] = 0;
        x.each_element(0, 1, [&](index_t i, index_t j, R) {
            place(i, j, [&](index_t, index_t l) { ++begins[l / width + 1]; });
        });
        for (index_t s = 0; s < stripes; ++s) begins[s + 1] += begins[s];
        x.each_element(0, 1, [&](index_t i, index_t j, R value) {
            place(i, j, [&](index_t line, index_t l) {
                entries[begins[l / width]++] = {static_cast<std::uint32_t>(line),
                                                static_cast<std::uint32_t>(l % width), value};
            });
        });
        for (index_t s = stripes; s > 0; --s) begins[s] = begins[s - 1]; // each is where its stripe ends
        begins[0] = 0;
    }
};
template <class X>
index_t listed_elements([[maybe_unused]] X const& x) {
    if constexpr (is_csr_list<X>)
        return x.nonzeros;
    else
        return 0;
}

// C = alpha A B + beta E for two sparse matrices and a dense C, row by row.
template <policy P>
class sparse_pair_product : public product_over<P> {
public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class S>
    footprint workspace(S const& s) const {
        footprint room;
        room.host = bytes_of_row<S>(s.n) * static_cast<std::size_t>(all_threads(this->leaf()));
        return room;
    }
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // A multiplication for each pair of elements that meet, if rows are alike.
    template <class S>
    double estimate(S const& s) const {
        auto const a = static_cast<double>(s.a_facts.likely(s.m, s.k)),
                   b = static_cast<double>(s.b_facts.likely(s.k, s.n));
        return a * b / static_cast<double>(larger_of(1, s.k)) * 1e-9 +
               static_cast<double>(s.m) * static_cast<double>(s.n) * 1e-9;
    }
    template <class S>
    std::string describe(S const&) const {
        return "rows of B, added up for each row of A";
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        using R = typename Q::c_type;
        index_t const n = p.c.cols;
        auto const leaf = this->leaf();
        int team = leaf.team(static_cast<double>(p.a.nonzeros) * static_cast<double>(n));
        while (team > 1 &&
               !memory.fits({bytes_of_row<decltype(p.shape())>(n) * static_cast<std::size_t>(team)}))
            --team;
        typename arena::scope const scope(memory);
        auto const stride =
            static_cast<index_t>(arena::rounded(static_cast<std::size_t>(n) * sizeof(R)) / sizeof(R));
        R* const rows = memory.template take<R>(stride * team);
        leaf.each(team, team, [&](int, int part) {
            R* const sum = rows + part * stride;
            index_t const end = first_row(p.a.row_begins, p.a.rows, part + 1, team);
            for (index_t i = first_row(p.a.row_begins, p.a.rows, part, team); i < end; ++i) {
                for (index_t j = 0; j < n; ++j) sum[j] = R(0);
                for (index_t at = p.a.row_begins[i]; at < p.a.row_begins[i + 1]; ++at) {
                    index_t const l = p.a.columns[at];
                    for (index_t to = p.b.row_begins[l]; to < p.b.row_begins[l + 1]; ++to)
                        sum[p.b.columns[to]] += p.a.values[at] * p.b.values[to];
                }
                for (index_t j = 0; j < n; ++j) finish_element(p, i, j, sum[j]);
            }
        });
        return {};
    }

private:
    template <class S>
    static std::size_t bytes_of_row(index_t n) {
        return arena::rounded(static_cast<std::size_t>(n) * sizeof(typename S::c_type));
    }
};

// X, which is a csr on a device, as a matrix, without its factor.
template <class Leaf, class T, class Index, class Space, class Arena>
result<view<T const, Space>> written_out(Leaf const& leaf, csr<T, Index, Space> const& x, Arena& memory) {
    view<T, Space> const to{memory.template take<T>(x.rows * x.cols), x.rows, x.cols, x.cols, 1};
    if (x.rows > 0 && x.cols > 0) {
        if (status s = leaf.fill(to, T(0)); !s) return s;
        status s =
            leaf.launch(list_kernel<T, Index>("write_dense", dense_text, ""), groups_for_each(x.rows, 256),
                        x.row_begins, x.columns, x.values, to, x.rows, T(1), int{0}, no_sum<T>());
        if (!s) return s;
    }
    return view<T const, Space>(to);
}
template <class Arena, class T>
std::size_t bytes_to_write_out(index_t rows, index_t cols) {
    return Arena::rounded(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * sizeof(T));
}

// The same product on a device, where B is written out, too (written_csr).
template <policy P>
class written_pair_product : public product_over<P> {
public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class S>
    footprint workspace(S const& s) const {
        return by_list().workspace(with_places(s));
    }
    template <class S>
    bound error_bound(S const& s) const {
        return by_list().error_bound(with_places(s));
    }
    template <class S>
    double estimate(S const& s) const {
        return by_list().estimate(with_places(s));
    }
    template <class S>
    std::string describe(S const& s) const {
        return "B written out; " + by_list().describe(with_places(s));
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        problem<typename Q::a_operand, view<typename Q::b_type const, space>, typename Q::c_operand,
                typename Q::epilogue_type> const q{p.alpha,  p.a,        p.b.places, p.beta,   p.e,
                                                   p.c,      p.epilogue, p.count,    p.a_step, p.b_step,
                                                   p.e_step, p.c_step,   p.row0,     p.col0};
        return by_list()(q, memory);
    }

private:
    csr_product<P> by_list() const { return csr_product<P>(this->base_); }
    template <class S>
    static auto with_places(S const& s) {
        using T = typename S::b_type;
        shape<typename S::a_form, T, typename S::c_form> to{s.m, s.n, s.k, s.count, s.adds, s.a_facts};
        to.alone = s.alone;
        return to;
    }
};

} // namespace compressed_parts

STRATAGEMM_END
