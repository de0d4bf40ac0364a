// Products that are checked: wrong elements of C are found and repaired, or the call fails.
//
//   sg::verified_report seen;
//   sg::gemm(sg::verified{policy, {.report = &seen}}, a, b, c);   over any policy for operands in host memory
//
// After the base has computed C = alpha A B + beta E, row and column checksums compare it with its operands:
// C x with alpha A (B x) + beta E x, and y^T C with alpha (y^T A) B + beta y^T E, for vectors x and y of
// random signs. That takes four passes over the operands, and no product. The rows and the columns that are
// off by most, relative to |A||B|, cross in the elements that may be wrong. These are computed again in wider
// arithmetic and compared with the base's own worst error bound. So no correct product is refused, whatever
// the data: an element is wrong only if it is beyond the bound. An element that is wrong is replaced by what
// was computed again. If more than 8 are wrong, the whole product is done once more; if it is wrong then,
// too, the call fails with errc::verification, and C is not to be used.
//
// What is found: an error that stands out among the rounding errors of its row and of its column, which add
// up in a checksum. `limit` of the report says how large that is, as a multiple of the base's bound. Products
// of up to 2^24 multiply-adds are checked with several pairs of vectors.
//
// Sums of int8 products are exact modulo 2^32, and so are their checksums (Freivalds): a row or column with
// one wrong element is always found. Any other wrong C is missed with a probability of at most 4^(1 -
// rounds). That is reached only where all differences are multiples of 2^31; where one is odd, it is less
// than 2^-62.
//
// Rows of A, columns of B and rows of E with Inf or NaN, and elements of C near overflow, are not checked;
// the report counts these rows and columns. The epilogue is applied after the check. Nothing is random
// between calls: the same call has the same vectors. The copy of E that a second try needs is made only where
// C replaces E.
//
// Freivalds: Probabilistic machines can use less running time, 1977. Huang, Abraham: Algorithm-based fault
// tolerance for matrix operations, 1984.
#pragma once

#include "verified/check.hpp"

STRATAGEMM_BEGIN

template <policy Base>
class verified {
public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    // The base does the product without the epilogue; the check is done by the threads of a host.
    template <class P>
    static constexpr verdict accepts = [] {
        using Plain = decltype(std::declval<P const&>().without_epilogue());
        if constexpr (!std::is_same_v<space, host_memory> || !host_leaf<leaf_of<Base>>)
            return verdict::leaf;
        else
            return answer<Base, Plain>() & answer<reference, Plain>();
    }();

    explicit verified(Base base, verified_options options = {}) : base_(std::move(base)), options_(options) {}

    auto leaf() const { return base_.leaf(); }
    result<arena> reserve(footprint f) const { return base_.reserve(f); }

    template <class S>
    footprint workspace(S s) const {
        s.count = 1; // one after the other
        using C = typename S::c_type;
        using P = dense_problem<typename S::a_type, typename S::b_type, C>;
        footprint check, copy;
        space::share(check) =
            verified_parts::room<P, verified_parts::number_of<C>>::template bytes<arena>(s.m, s.n, s.k);
        if (s.adds) space::share(copy) = arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(C));
        return copy + larger(base_.workspace(s), check);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_.error_bound(s);
    }
    // Four passes over the operands, which wait for memory.
    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        return count * (base_.estimate(s) + 1.5 * operand_bytes(s) / 8e9 / all_threads(leaf()));
    }
    template <class S>
    std::string describe(S const& s) const {
        return "verified by checksums: " + base_.describe(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (options_.rounds < 1) return error(errc::argument, "verified: `rounds` must be at least 1");
        verified_report seen;
        status done;
        for (index_t i = 0; done && i < p.count; ++i) done = multiply(p.at(i), memory, seen);
        if (options_.report) *options_.report = seen;
        return done;
    }

private:
    template <class P>
    status multiply(P const& with_epilogue, arena& memory, verified_report& seen) const {
        auto p = with_epilogue.without_epilogue();
        using Plain = decltype(p);
        using C = typename P::c_type;
        typename arena::scope const until_return(memory);
        auto again = p; // with an E that stays
        if (p.beta != typename P::scalar(0) && p.e.data == p.c.data) {
            bool const by_rows = magnitude(p.c.col_stride) <= magnitude(p.c.row_stride);
            index_t const m = p.c.rows, n = p.c.cols;
            view<C> copy{memory.template take<C>(m * n), m, n, by_rows ? n : 1, by_rows ? 1 : m};
            again.e.conjugate = false;
            if (status s = leaf().copy(again.e, copy); !s) return s;
            again.e = copy;
            again.e.conjugate = p.e.conjugate;
        }
        bound const allowed = base_.error_bound(p.shape());
        for (bool first = true;; first = false) {
            if (status s = base_(first ? p : again, memory); !s) return s;
            typename arena::scope const until_checked(memory);
            verified_parts::check<leaf_of<Base>, Plain> check(leaf(), again, allowed, options_, memory);
            bool const right = check.run();
            check.tell(seen, right);
            if (right) break;
            if (!first) return refusal(check.row(), check.col(), check.off_by());
            ++seen.repeated;
        }
        if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
            return leaf().apply(with_epilogue.epilogue, p.c, p.row0, p.col0);
        return {};
    }

    [[gnu::cold, gnu::noinline]] static status refusal(index_t row, index_t col, double by) {
        char text[200];
        if (row < 0)
            __builtin_snprintf(
                text, sizeof(text),
                "C is wrong, and was wrong when it was computed once more: its checksums differ; do not "
                "use C, and test the machine");
        else
            __builtin_snprintf(
                text, sizeof(text),
                "C(%td, %td) is wrong (by %.1e times the error bound), as elements were when C was first "
                "computed; do not use C, and test the machine",
                row, col, by);
        return failure(errc::verification, "verified", text);
    }

    Base base_;
    verified_options options_;
};

// A check of a checked product is two of them, and not a copy of one.
template <policy Base>
verified(verified<Base>) -> verified<verified<Base>>;

STRATAGEMM_END
