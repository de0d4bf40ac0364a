// Block recursion: halves the longest side of a product until its operands fit a budget of bytes, or the longer side
// of C until its base's workspace does.
//
// All eight products of each 2 x 2 x 2 split are done, so nothing is saved but traffic: the order of the
// halves is Morton's, and a block of C meets blocks of A and B that are still near, in every cache there is
// (Frigo, Leiserson, Prokop, Ramachandran: Cache-oblivious algorithms, 1999). There is no workspace but the
// base's. Each result is the base's, added up in C over the parts of k. k stays whole where C is narrower than the
// sums, so that nothing is rounded twice, and where workspace is what is bounded.
#pragma once

#include "../core/layer.hpp"

STRATAGEMM_BEGIN

struct recursive_options {
    std::size_t leaf_bytes = std::size_t{4} << 20; // of A, B and C together, for one product of the base
    // If not 0, what bounds products instead: the base's workspace, as far as blocks of C of 32 x 32 allow.
    std::size_t workspace_bytes = 0;
};

template <policy Base>
class recursive : public layer_over<Base> {
    using layer = layer_over<Base>;
    using layer::base_;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    template <class P>
    static constexpr verdict accepts = answer<Base, P>();

    explicit recursive(Base base, recursive_options options = {}) // option names: see recursive_options
        : layer(std::move(base)), options_(options) {}

    template <class S>
    footprint workspace(S s) const {
        if (together(s)) return base_.workspace(s);
        s.count = 1;
        halves<S> const split = split_of(s);
        if (split.along == side::none) return base_.workspace(s);
        footprint const first = workspace(split.first);
        return same(split) ? first : larger(first, workspace(split.second));
    }

    // Componentwise, if the base's is; the bounds of all blocks have to hold.
    template <class S>
    bound error_bound(S const& s) const {
        errors x = errors_of(s);
        if (s.adds && x.parts_of_k > 1) x.total.expected = root_of_squares(x.total.expected, x.additions);
        if (x.total.expected > x.total.worst) x.total.expected = x.total.worst;
        x.total.confidence = all_hold(x.total.confidence, x.blocks);
        return x.total;
    }

    // The base's products, one after the other.
    template <class S>
    double estimate(S s) const {
        if (together(s)) return base_.estimate(s);
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        halves<S> const split = split_of(s);
        if (split.along == side::none) return count * base_.estimate(s);
        double const first = estimate(split.first);
        return count * (first + (same(split) ? first : estimate(split.second)));
    }

    template <class S>
    std::string describe(S const& s) const {
        S block = s;
        for (auto split = split_of(s); split.along != side::none; split = split_of(block))
            block = split.first;
        return "recursive: blocks such as " + std::to_string(block.m) + " x " + std::to_string(block.n) +
               " x " + std::to_string(block.k) + "; " + base_.describe(block);
    }

    // What is wrong with the options of the base, for any shape: k of a block is shorter.
    template <class S>
    status check(S const&) const {
        return layer::check(S{});
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (together(p.shape())) return base_(p, memory); // a batch stays one call
        for (index_t i = 0; i < p.count; ++i)
            if (status s = multiply(p.at(i), memory); !s) return s;
        return {};
    }

private:
    enum class side { none, m, n, k };
    template <class S>
    struct halves {
        side along = side::none;
        S first, second;
    };

    template <class P>
    status multiply(P const& p, arena& memory) const {
        auto const split = split_of(p.shape());
        index_t const m = split.first.m, n = split.first.n, k = split.first.k;
        index_t const rest_m = p.c.rows - m, rest_n = p.c.cols - n, rest_k = p.a.cols - k;
        switch (split.along) {
        case side::none: return base_(p, memory);
        case side::m: return both(p.part(0, 0, 0, m, n, k), p.part(m, 0, 0, rest_m, n, k), memory);
        case side::n: return both(p.part(0, 0, 0, m, n, k), p.part(0, n, 0, m, rest_n, k), memory);
        case side::k: break;
        }
        P rest = p.part(0, 0, k, m, n, rest_k); // has the epilogue
        rest.beta = typename P::scalar(1);
        rest.e = rest.c;
        return both(p.without_epilogue().part(0, 0, 0, m, n, k), rest, memory);
    }
    template <class P, class Q>
    status both(P const& first, Q const& second, arena& memory) const {
        if (status s = multiply(first, memory); !s) return s;
        return multiply(second, memory);
    }

    // With G = |alpha||A||B| + |beta E| = G1 + G2 over two parts of k, C1 is wrong by x1 G1, and
    // C = A2 B2 + C1 by x2 (G2 + |C1|) more, which |C1| <= (1 + x1) G1 makes at most x1 + x2 + x1 x2 times G.
    // `expected` is a statistical estimate for typical data: the parts are wrong by x1 and x2 of their shares of k, C1
    // by what adding to it does each time, and the squares of these errors add up.
    struct errors {
        bound total;      // its `expected` without what additions do to E
        double additions; // what adding all parts of k, one after another, does to a C that was there before
        index_t parts_of_k;
        double blocks; // products of the base
    };
    template <class S>
    errors errors_of(S const& s) const {
        halves<S> const split = split_of(s);
        if (split.along == side::none) return {base_.error_bound(s), addition(s), 1, 1};
        errors const x = errors_of(split.first), y = same(split) ? x : errors_of(split.second);
        if (split.along != side::k)
            return {larger(x.total, y.total), x.additions < y.additions ? y.additions : x.additions,
                    x.parts_of_k < y.parts_of_k ? y.parts_of_k : x.parts_of_k, x.blocks + y.blocks};
        double const share = static_cast<double>(split.first.k) / static_cast<double>(s.k);
        double const parts = root_of_squares(share * x.total.expected, (1 - share) * y.total.expected);
        return {{x.total.worst + y.total.worst + x.total.worst * y.total.worst,
                 root_of_squares(parts, share * y.additions), x.total.normwise || y.total.normwise,
                 x.total.confidence < y.total.confidence ? x.total.confidence : y.total.confidence},
                root_of_squares(x.additions, y.additions),
                x.parts_of_k + y.parts_of_k,
                x.blocks + y.blocks};
    }
    // What the base does to a C that its product is added to. Sums of blocks are finished first, and C is
    // rounded by 4 u at most (measured). A vector C may be read and written for every few terms, since it is
    // memory that a matrix times a vector waits for: each of these sums is rounded, for which the base's
    // bound of a product with E stands.
    template <class S>
    double addition(S s) const {
        double const few = 4 * unit_roundoff<typename S::c_type>();
        if (s.m > 1 && s.n > 1) return few;
        s.adds = true;
        double const all = base_.error_bound(s).expected;
        return all < few ? few : all;
    }
    static double root_of_squares(double x, double y) { return __builtin_sqrt(x * x + y * y); }

    template <class S>
    bool fits(S const& s) const {
        footprint const f = base_.workspace(s);
        return f.host + f.pinned + f.device <= options_.workspace_bytes;
    }
    template <class S>
    bool together(S const& s) const {
        return split_of(s).along == side::none && (options_.workspace_bytes == 0 || fits(s));
    }

    template <class S>
    halves<S> split_of(S const& s) const {
        return options_.workspace_bytes == 0 ? split_by_operands(s) : split_by_workspace(s);
    }
    template <class S>
    halves<S> split_by_workspace(S s) const {
        s.count = 1; // else it is one after the other
        halves<S> split{side::none, s, s};
        bool const rows = s.m >= s.n;
        index_t S::*const longer = rows ? &S::m : &S::n;
        if (s.*longer < 64 || fits(s)) return split;
        split.along = rows ? side::m : side::n;
        split.first.*longer = middle(s.*longer);
        split.second.*longer = s.*longer - middle(s.*longer);
        return split;
    }
    template <class S>
    halves<S> split_by_operands(S const& s) const {
        using C = typename S::c_type;
        constexpr bool whole_k = !std::is_same_v<C, accumulator_t<C>>;
        auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
        double const bytes =
            m * k * sizeof(typename S::a_type) + k * n * sizeof(typename S::b_type) + m * n * sizeof(C);
        halves<S> split{side::none, s, s};
        if (bytes <= static_cast<double>(options_.leaf_bytes)) return split;
        split.first.count = split.second.count = 1;
        // On a tie k comes last: splitting it reads C once more.
        index_t S::*longest = &S::m;
        split.along = side::m;
        if (s.n > s.*longest) longest = &S::n, split.along = side::n;
        if (s.k > s.*longest && !whole_k) longest = &S::k, split.along = side::k;
        index_t const length = s.*longest;
        if (length < (whole_k ? 32 : 2)) return {side::none, s, s}; // beside a long k, thinner saves nothing
        split.first.*longest = middle(length);
        split.second.*longest = length - middle(length);
        if (split.along == side::k) split.second.adds = true;
        return split;
    }

    // The multiple of 64 next to the half, or of 16 where that is too coarse: few tiles of the base are cut.
    static index_t middle(index_t length) {
        index_t const grain = length >= 128 ? 64 : length >= 32 ? 16 : 1;
        return (length + grain) / (2 * grain) * grain;
    }
    template <class S>
    static bool same(halves<S> const& x) {
        S const &a = x.first, &b = x.second;
        return a.m == b.m && a.n == b.n && a.k == b.k && a.adds == b.adds;
    }

    recursive_options options_;
};

// A recursion over a recursion is one, and not a copy of it.
template <policy Base>
recursive(recursive<Base>) -> recursive<recursive<Base>>;

STRATAGEMM_END
