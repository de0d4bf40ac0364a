// Products with a cosine transform, over the leaf of a backend.
#pragma once

#include "../../core/layer.hpp"
#include "host.hpp"

STRATAGEMM_BEGIN

template <class X>
inline constexpr bool is_dct = false;
template <class T>
inline constexpr bool is_dct<dct<T>> = true;

// Of a product with a cosine transform: the types of its operands, and what its shape says of the transform of columns.
template <class F, class X, class To>
inline constexpr bool are_types_of_cosines = (std::is_same_v<X, typename F::real_type> ||
                                              (complex_like<X> &&
                                               std::is_same_v<real_t<X>, typename F::real_type>)) &&
                                             std::is_same_v<To, X>;
template <class S>
inline constexpr index_t lines_of_column = complex_like<typename S::wide_type> ? 2 : 1;
template <class S>
dct_type type_of_columns(S const& s) {
    if constexpr (transform_is_left<S>)
        return s.a_facts.type;
    else
        return s.b_facts.type == dct_type::iv   ? dct_type::iv
               : s.b_facts.type == dct_type::ii ? dct_type::iii
                                                : dct_type::ii;
}
// A normwise bound, made of that of the complex transform: its error, relative to the norm of what it transforms and
// times the square root of its length, reaches one element of C. Of n / 2 points both are smaller by sqrt(1/2) than
// the norm of x and sqrt(n), but that III, whose row 0 is larger than the others by sqrt(2), has the one of x. Two
// products with rounded factors and two sums come before and behind.
inline bound bound_of_cosines(dct_type type, bool is_half, index_t points, dft_errors const& e, double u,
                              bool has_e) {
    constexpr double factors = 4.5, // alpha, the operand's scale and that of one row
        factor = 3.24;              // of a complex product, and of the other number's rounding
    double const n = static_cast<double>(points < 1 ? 1 : points), adds = has_e ? 4 : 0,
                 of_norms = type == dct_type::iii  ? 1
                            : type == dct_type::iv ? (is_half ? 0.71 : 1.42)
                            : is_half              ? 0.71
                                                   : 1,
                 typical = 4.5 * 0.5 * __builtin_sqrt((e.steps + 8) / n);
    return {(of_norms * (e.worst + 2 * factor + 2) + factors + adds) * u, (typical + adds) * u, true};
}
[[gnu::cold]] inline status another_cosine_plan() {
    return failure(errc::argument, "dct: the plan is one of another transform; give its shape the facts() of "
                                   "the operand");
}

// Products with a cosine transform. P: a backend. One on the right runs as the transposed product.
template <policy P>
class dct_product : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>;
    static constexpr bool by_definition = requires { requires P::is_oracle; };

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        constexpr bool left = is_dct<A> && is_view<B>::value, right = is_view<A>::value && is_dct<B>;
        if constexpr (!(left || right) || !is_view<typename Q::c_operand>::value) {
            return verdict::structure;
        } else if constexpr (!on_host) {
            return verdict::leaf;
        } else {
            using X = std::conditional_t<left, typename Q::b_type, typename Q::a_type>;
            using F = std::conditional_t<left, A, B>;
            return types_if(are_types_of_cosines<F, X, typename Q::c_type>) &
                   epilogue_if(epilogue_for<typename Q::epilogue_type, X>);
        }
    }();

    template <class S>
    footprint workspace(S const& s) const {
        footprint need;
        if constexpr (by_definition) {
            space::share(need) = bytes<double>(8 * s.k) + bytes<double>(2 * s.k);
        } else if constexpr (on_host) {
            using R = real_of_shape<S>;
            index_t const lines = columns_at_once(s) * lines_of_column<S>, length = length_of(s);
            need = inner().workspace(inner_shape<R>{length, lines, length});
            space::share(need) += bytes<dft_complex<R>>(length * lines);
        }
        return need;
    }
    // See bound_of_cosines().
    template <class S>
    bound error_bound(S const& s) const {
        using R = real_of_shape<S>;
        double const u = unit_roundoff<R>();
        if constexpr (by_definition || !on_host) {
            constexpr double factors = 4.5; // alpha, the operand's scale and that of one row
            double const adds = s.adds ? 4 : 0,
                         typical = 6 / __builtin_sqrt(static_cast<double>(s.k < 1 ? 1 : s.k)) + adds;
            return {(2 + factors + adds) * u, typical * u, true};
        } else {
            return bound_of_cosines(type_of_columns(s), s.k % 2 == 0, s.k,
                                    errors_of(dft_division<R>(length_of(s))), u, s.adds);
        }
    }
    template <class S>
    double estimate(S const& s) const {
        using R = real_of_shape<S>;
        double const n = static_cast<double>(s.k),
                     lines = static_cast<double>(columns_of(s) * s.count * lines_of_column<S>);
        if constexpr (by_definition) {
            return n * n * lines * 10e-9;
        } else {
            inner_shape<R> const by{length_of(s), columns_of(s) * s.count * lines_of_column<S>, length_of(s)};
            return inner().estimate(by) + n * lines * 2e-9 / (s.alone ? 1 : team_for(s));
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string const text = "dct of " + std::to_string(s.k) + " points";
        if constexpr (by_definition) {
            return text + " by its definition, in double";
        } else {
            index_t const length = length_of(s);
            return text + ", by a " +
                   inner().describe(inner_shape<real_of_shape<S>>{
                       length, columns_at_once(s) * lines_of_column<S>, length});
        }
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_dct<typename Q::a_operand>) {
            return transform(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            return transform(q, memory);
        }
    }

private:
    template <class S>
    using real_of_shape = real_t<typename S::wide_type>;
    template <class R>
    using inner_shape = shape<dft_form<R>, dft_complex<R>, dft_complex<R>>;
    template <class R>
    using inner_problem = problem<dft<R>, view<dft_complex<R> const>, view<dft_complex<R>>>;

    dft_product<P> inner() const { return dft_product<P>(this->base_); }
    template <class T>
    static std::size_t bytes(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count < 0 ? 0 : count) * sizeof(T));
    }
    template <class T>
    static footprint space_for(index_t count) {
        footprint need;
        space::share(need) = bytes<T>(count);
        return need;
    }
    template <class S>
    static index_t columns_of(S const& s) {
        return transform_is_left<S> ? s.n : s.m;
    }
    // The points of the complex transform.
    template <class S>
    static index_t length_of(S const& s) {
        return dct_length(type_of_columns(s), s.k < 1 ? 1 : s.k);
    }
    template <class S>
    int team_for(S const& s) const {
        return this->leaf().team(static_cast<double>(s.k * columns_of(s) * s.count * lines_of_column<S>));
    }
    // As many as a cache holds, or as fill the vectors of some threads; a long transform is done alone.
    template <class S>
    static index_t columns_at_once(S const& s) {
        using R = real_of_shape<S>;
        dft_division<R> const d(length_of(s));
        index_t const all = columns_of(s) * s.count, W = dft_kernels_here<R>().lanes,
                      held = second_level_cache() / (d.length * index_t{2 * sizeof(R)} * W),
                      lines = d.is_long() ? 1 : W * larger_of(8, held);
        return larger_of(1, smaller(all, lines / lines_of_column<S>));
    }

    template <class Q>
    status transform(Q const& p, arena& memory) const {
        typename arena::scope const scope(memory);
        if constexpr (by_definition) {
            double* const cosines = memory.template take<double>(8 * p.a.rows);
            dct_by_definition(p, cosines, memory.template take<double>(2 * p.a.rows));
            return {};
        } else {
            if (status s = isa_status(); !s) return s;
            return by_lines(p, memory);
        }
    }
    template <class Q>
    status by_lines(Q const& p, arena& memory) const {
        using job_type = dct_job<Q>;
        using R = typename job_type::R;
        using number = typename job_type::number;
        job_type const job(p);
        dct_tables_use<R> const tables(job.type, job.n);
        if (!tables)
            return failure(errc::memory, "dct: cannot allocate the tables of a transform of this length");
        auto const shape = p.shape();
        index_t const at_once = columns_at_once(shape), length = length_of(shape);
        if (!memory.fits(space_for<number>(length * at_once * job_type::width))) return another_cosine_plan();
        number* const room = memory.template take<number>(length * at_once * job_type::width);
        bool const along = rows_are_closer(p.b);
        dft<R> d(length);
        d.conjugate = job.type == dct_type::iii;
        for (index_t q = 0; q < job.columns(); q += at_once) {
            index_t const lines = smaller(at_once, job.columns() - q) * job_type::width;
            view<number> const v{room, length, lines, along ? 1 : lines, along ? length : 1};
            dct_lines<Q> const of(job, *tables, v, q);
            each(length, lines, [&](index_t begin, index_t end) { of.load(begin, end); });
            inner_problem<R> one{number(R(1), R(0)), d, v, number(R(0), R(0)), v, v};
            if (status s = inner()(one, memory); !s) return s;
            each(of.steps(), lines, [&](index_t begin, index_t end) { of.store(begin, end); });
        }
        return {};
    }
    // Pieces of `rows` rows, by threads.
    template <class F>
    void each(index_t rows, index_t lines, F const& f) const {
        auto const by = this->leaf();
        int const team = by.team(static_cast<double>(rows * lines)),
                  parts = static_cast<int>(smaller(rows, team == 1 ? 1 : 4 * team));
        by.each(team, parts, [&](int, int part) { f(rows * part / parts, rows * (part + 1) / parts); });
    }
};

STRATAGEMM_END
