// How far a computed C is from alpha A B + beta E, from products with random vectors (core/certificate.hpp) that
// whatever made C did not draw.
//
// begin() multiplies the vectors by the operands before C is written, since C may replace E; finish() compares C with
// that. All products are in double, by the base, which reads lines of the operands widened, a panel at a time.
#pragma once

#include "../../core/certificate.hpp"
#include "../../structure/low_rank/small.hpp"
#include "../../structure/sketch/device.hpp"
#include "../../structure/sketch/host.hpp"
#include "norms.hpp"
#include "sparse.hpp"

STRATAGEMM_BEGIN

namespace approximate_parts {

// Base: what multiplies. S: the shape of the product.
template <class Base, class S>
class certificate {
    using space = typename Base::space;
    using arena = typename Base::arena;
    using T = typename S::wide_type;
    using W = typename in_double<T>::type;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>;
    using wide_problem = dense_problem<W, W, W, space>;

public:
    static constexpr int vectors = 16;
    static constexpr bool is_possible = takes<Base, wide_problem>;

    static footprint room(Base const& base, S const& s) {
        footprint own, products;
        space::share(own) = bytes(s.n) + bytes(s.m);
        each_shape(s, [&](auto const& one) { products = larger(products, base.workspace(one)); });
        std::size_t const squares = bytes_for_squares<arena, W>(space{}, vectors, s.m);
        std::size_t const passing =
            bytes(s.k) + arena::rounded(static_cast<std::size_t>(panel_of(s)) *
                                        static_cast<std::size_t>(longest(s)) * sizeof(W));
        space::share(products) += larger(squares, passing);
        return own + products;
    }
    // Three products of matrices with `vectors` columns, each of which reads its matrix once.
    static double seconds(Base const& base, S const& s) {
        auto const of = [&](index_t rows, index_t cols) {
            shape<W> one{rows, vectors, cols};
            one.alone = s.alone;
            return base.estimate(one);
        };
        double b = 0, a = 0;
        if constexpr (on_host && sparse_form<typename S::b_form>)
            b = seconds_of_vectors(static_cast<double>(s.b_facts.likely(s.k, s.n)), vectors);
        else
            b = of(s.k, s.n);
        if constexpr (on_host && sparse_form<typename S::a_form>)
            a = seconds_of_vectors(static_cast<double>(s.a_facts.likely(s.m, s.k)), vectors);
        else
            a = of(s.m, s.k);
        return b + a + of(s.m, s.n);
    }

    certificate(Base const& base, S const& s, std::uint64_t seed) : base_(base), s_(s), seed_(seed) {}

    // X = random vectors, Z = alpha A (B X) + beta E X.
    template <class P>
    status begin(P const& p, arena& memory) {
        x_ = take(memory, s_.n), z_ = take(memory, s_.m);
        if constexpr (on_host) {
            write_normals(base_.leaf(), seed_, 0, 0, x_);
        } else {
            if (status s = write_normals_on_device(base_.leaf(), seed_, 0, 0, x_); !s) return s;
        }
        typename arena::scope const scope(memory);
        auto const y = take(memory, s_.k);
        if (status s = add_times(W(1), as_read(p.b), x_, W(0), y, memory); !s) return s;
        if (status s = add_times(wide(p.alpha), as_read(p.a), y, W(0), z_, memory); !s) return s;
        if (p.beta == typename P::scalar(0)) return {};
        return add_times(wide(p.beta), p.e, x_, W(1), z_, memory);
    }
    // `norm`: with the confidence, an upper bound of the Frobenius norm of C - alpha A B - beta E.
    template <class C>
    status finish(view<C, space> const& c, double confidence, double& norm, arena& memory) {
        typename arena::scope const scope(memory);
        if (status s = add_times(W(-1), view<C const, space>(c), x_, W(1), z_, memory); !s) return s;
        double squares[vectors], all = 0;
        view<W const, space> const lines = z_.transposed();
        if (status s = squares_of_rows(base_.leaf(), lines, squares, memory); !s) return s;
        for (double const x : squares) all += x;
        // Both parts of a complex number have the variance 1 here.
        constexpr int numbers = vectors * (complex_like<W> ? 2 : 1);
        norm = certified(numbers, confidence) * __builtin_sqrt(all / numbers);
        return {};
    }

private:
    static std::size_t bytes(index_t rows) {
        return arena::rounded(static_cast<std::size_t>(rows * vectors) * sizeof(W));
    }
    static view<W, space> take(arena& memory, index_t rows) {
        return {memory.template take<W>(rows * vectors), rows, vectors, vectors, 1};
    }
    template <class X>
    static W wide(X const& x) {
        if constexpr (complex_like<W>)
            return W(static_cast<double>(x.real()), static_cast<double>(x.imag()));
        else
            return static_cast<W>(x);
    }
    static index_t longest(S const& s) { return larger_of(s.n, s.k); }
    // Lines that are widened at a time: few enough for a cache, or, on a device, for little memory.
    static index_t panel_of(S const& s) {
        index_t const most = larger_of(s.m, s.k);
        return larger_of(1, smaller(most, (index_t{1} << (on_host ? 16 : 23)) / larger_of(1, longest(s))));
    }
    template <class F>
    static void each_shape(S const& s, F const& f) {
        auto const each = [&](index_t rows, index_t cols) {
            index_t const panel = smaller(panel_of(s), rows);
            for (index_t const lines : {panel, panel > 0 ? rows % panel : 0}) {
                if (lines == 0) continue;
                shape<W> one{lines, vectors, cols};
                for (bool const adds : {false, true}) {
                    one.adds = adds;
                    f(one);
                }
            }
        };
        each(s.k, s.n), each(s.m, s.k), each(s.m, s.n);
    }
    // Z = alpha X Y + beta Z
    template <class X, class Index>
    status add_times(W alpha, csr<X, Index> const& x, view<W, space> const& y, W beta,
                     view<W, space> const& z, arena&) const {
        add_times_vectors(base_.leaf(), alpha, x, view<W const>(y), beta, z);
        return {};
    }
    template <class X>
    status add_times(W alpha, view<X const, space> const& x, view<W, space> const& y, W beta,
                     view<W, space> const& z, arena& memory) const {
        index_t const panel = smaller(panel_of(s_), x.rows);
        for (index_t i = 0; i < x.rows; i += panel) {
            typename arena::scope const scope(memory);
            index_t const lines = smaller(panel, x.rows - i);
            view<W, space> const wide{memory.template take<W>(lines * x.cols), lines, x.cols, x.cols, 1};
            if (status s = base_.leaf().copy(x.part(i, 0, lines, x.cols), wide); !s) return s;
            auto const to = z.part(i, 0, lines, vectors);
            wide_problem const q{alpha, wide, y, beta, to, to};
            if (status s = run_checked(base_, q, memory); !s) return s;
        }
        return {};
    }

    Base const& base_;
    S s_;
    std::uint64_t seed_;
    view<W, space> x_, z_;
};

} // namespace approximate_parts

STRATAGEMM_END
