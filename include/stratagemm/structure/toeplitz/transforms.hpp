// Products with a Toeplitz matrix by Fourier transforms of columns, over the leaf of a host: a transform, a product
// with the spectrum of the matrix, and a transform back.
//
// Blocks of as many columns as a vector has lanes stay in the second-level cache from load to store. Where a block does
// not fit, the transforms are products with dft over all of memory. The number of columns decides nothing, so that a
// column has the same bits beside any others.
//
// The error is bounded by norms: the 2-norm of a column's error, by that of its transforms (dft/product.hpp).
#pragma once

#include "../../core/layer.hpp"
#include "columns.hpp"

STRATAGEMM_BEGIN

template <policy P>
class toeplitz_transforms : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    static constexpr bool on_host = host_leaf<Leaf>;
    static constexpr bool by_definition = requires { requires P::is_oracle; };

    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        constexpr verdict v = spectrum_accepts<Q>;
        if constexpr (v != verdict::yes)
            return v;
        else if constexpr (!on_host)
            return verdict::leaf;
        else
            return epilogue_if(epilogue_for<typename Q::epilogue_type, typename Q::c_type>);
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::c_type;
        footprint need;
        if constexpr (on_host) {
            outline<T> const o(s);
            space::share(need) = bytes_of_spectra(o) + bytes_between(o, team_for(o, s.alone));
            if (!in_blocks(o)) need = need + dft_footprint<real_t<T>>(o.sides.points, at_a_time(o));
            if (!o.is_kept) need = need + spectrum_footprint<T>(o.sides);
        }
        return need;
    }
    template <class S>
    bound error_bound(S const& s) const {
        outline<typename S::c_type> const o(s);
        return spectrum_bound(o, s.k, s.adds, errors_of_transform(o));
    }
    // A block of columns takes so long for each point and pass of two, as measured on one machine; transforms that go
    // through memory four times that, but no lane of theirs is idle. The spectrum is a transform in one lane, and two
    // passes over its rows.
    template <class S>
    double estimate(S const& s) const {
        using T = typename S::c_type;
        outline<T> const o(s);
        int bits = 1;
        for (index_t x = o.sides.points; x > 1; x /= 2) ++bits;
        double const once = 1.5e-9 * static_cast<double>(o.sides.points * bits);
        auto const both = static_cast<double>(o.p + o.q),
                   spectra = o.is_kept ? 0 : static_cast<double>(o.p * o.q);
        if constexpr (!on_host || by_definition) {
            return 20e-9 * static_cast<double>(o.sides.points) * static_cast<double>(o.sides.points) *
                   (both * static_cast<double>(o.columns) + spectra);
        } else {
            index_t const lanes = dft_kernels_here<real_t<T>>().lanes;
            double const blocks = in_blocks(o)
                                      ? static_cast<double>(divide_up(o.columns, lanes))
                                      : 4 * static_cast<double>(o.columns) / static_cast<double>(lanes);
            return once * (both * blocks / team_for(o, s.alone) + 2 * spectra) + 1e-6;
        }
    }
    template <class S>
    std::string describe(S const& s) const {
        outline<typename S::c_type> const o(s);
        std::string text = spectrum_text(o);
        text += in_blocks(o) ? "columns stay in the cache; " : "columns go through memory; ";
        return text + dft_product<P>(this->base_).describe(dft_shape(o, o.columns, s.alone));
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_toeplitz<typename Q::a_operand>) {
            return multiply(p, memory);
        } else { // C^T = B^T A^T
            auto q = p.with_epilogue(turned_epilogue<typename Q::epilogue_type>{p.epilogue}).transposed();
            std::swap(q.row0, q.col0);
            if constexpr (std::is_same_v<typename Q::epilogue_type, identity>)
                return multiply(q.without_epilogue(), memory);
            else
                return multiply(q, memory);
        }
    }

    // Sets the spectrum of a matrix: rows of spectrum_sides for each element of a block. `memory` has what
    // spectrum_footprint() says.
    template <class A>
    status set_spectra(A const& a, real_t<typename A::value_type>* to, arena& memory) const {
        using T = typename A::value_type;
        using R = real_t<T>;
        typename arena::scope const scope(memory);
        spectrum_sides<T> const sides(a.rows_of_blocks(), a.cols_of_blocks());
        auto const z = memory.template take<dft_complex<R>>(sides.points);
        spectrum_roots const roots(sides.points,
                                   memory.template take<dft_root>(spectrum_roots::size(sides.points)));
        for (index_t i = 0; i < a.block_rows(); ++i)
            for (index_t j = 0; j < a.block_cols(); ++j) {
                set_sequence(a, i, j, sides.period(), z);
                if (status s = transform(z, sides.points, 1, false, memory); !s) return s;
                set_spectrum<T>(z, sides.points, roots, to + (i * a.block_cols() + j) * sides.numbers());
            }
        return {};
    }
    template <class T>
    footprint spectrum_footprint(spectrum_sides<T> const& sides, index_t = 1) const {
        using R = real_t<T>;
        footprint need;
        space::share(need) =
            bytes<dft_complex<R>>(sides.points) + bytes<dft_root>(spectrum_roots::size(sides.points));
        return need + dft_footprint<R>(sides.points, 1);
    }

private:
    template <class T>
    using outline = spectrum_outline<T>;

    template <class X>
    static std::size_t bytes(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count) * sizeof(X));
    }
    template <class T>
    static std::size_t bytes_of_spectra(outline<T> const& o) {
        return o.is_kept ? 0 : bytes<real_t<T>>(o.numbers());
    }
    // Of columns between load and store.
    template <class T>
    static std::size_t bytes_between(outline<T> const& o, int team) {
        using R = real_t<T>;
        if (in_blocks(o)) return bytes<R>(block_room(o) * team);
        return bytes<R>(2 * o.sides.points * at_a_time(o) * o.q) +
               bytes<R>(2 * o.sides.points * at_a_time(o));
    }
    // The numbers of a block of each part of B, and one more or two.
    template <class T>
    static index_t block_room(outline<T> const& o) {
        return (o.q + (o.p > 1 ? 2 : 1)) * 2 * dft_kernels_here<real_t<T>>().lanes * o.sides.points;
    }
    template <class T>
    static bool in_blocks(outline<T> const& o) {
        if constexpr (by_definition || !on_host)
            return false;
        else
            return !dft_division<real_t<T>>(o.sides.points).is_long();
    }
    // Columns that are loaded and stored together, since rows of B and C may be contiguous.
    template <class T>
    static index_t at_a_time(outline<T> const& o) {
        return smaller(o.columns < 1 ? 1 : o.columns, 16);
    }
    template <class T>
    int team_for(outline<T> const& o, bool alone) const {
        if (alone) return 1;
        auto const lanes = dft_kernels_here<real_t<T>>().lanes;
        int bits = 1;
        for (index_t x = o.sides.points; x > 1; x /= 2) ++bits;
        double const work = static_cast<double>(o.sides.points) * static_cast<double>(o.columns) *
                            static_cast<double>(2 * bits * (o.p + o.q) + o.p * o.q);
        auto const team = index_t{this->leaf().team(work)};
        return static_cast<int>(larger_of(1, smaller(team, divide_up(o.columns, lanes))));
    }
    template <class T>
    dft_errors errors_of_transform(outline<T> const& o) const {
        if constexpr (by_definition || !on_host)
            return {6, 2};
        else
            return errors_of(dft_division<real_t<T>>(o.sides.points));
    }

    // ---- transforms in memory: of columns one after another, in place
    template <class R>
    using dft_problem = problem<dft<R>, view<dft_complex<R> const>, view<dft_complex<R>>>;
    template <class T>
    static auto dft_shape(outline<T> const& o, index_t columns, bool alone) {
        using R = real_t<T>;
        shape<dft_form<R>, dft_complex<R>, dft_complex<R>> s{o.sides.points, columns, o.sides.points};
        s.a_facts.points = o.sides.points, s.alone = alone;
        return s;
    }
    template <class R>
    footprint dft_footprint(index_t points, index_t columns) const {
        shape<dft_form<R>, dft_complex<R>, dft_complex<R>> s{points, columns, points};
        s.a_facts.points = points;
        return dft_product<P>(this->base_).workspace(s);
    }
    template <class R>
    status transform(dft_complex<R>* z, index_t points, index_t columns, bool back, arena& memory) const {
        dft<R> d(points);
        d.conjugate = back;
        view<dft_complex<R>> const all{z, points, columns, 1, points};
        return dft_product<P>(this->base_)(dft_problem<R>{{R(1)}, d, all, {}, all, all}, memory);
    }

    template <class Q>
    status multiply(Q const& p, arena& memory) const {
        using T = typename Q::c_type;
        using R = real_t<T>;
        if constexpr (!by_definition)
            if (status s = isa_status(); !s) return s;
        typename arena::scope const scope(memory);
        outline<T> const o(p.a.facts(), p.a.rows, p.a.cols, p.c.cols * p.count);
        R const* spectra = p.a.spectrum;
        if (!o.is_kept) {
            auto const to = memory.template take<R>(o.p * o.q * o.sides.numbers());
            if (status s = set_spectra(p.a, to, memory); !s) return s;
            spectra = to;
        }
        toeplitz_columns<Q> const columns(p);
        return in_blocks(o) ? multiply_blocks(o, columns, spectra, memory)
                            : multiply_in_memory(o, columns, spectra, memory);
    }

    template <class T, class Columns>
    status multiply_blocks(outline<T> const& o, Columns const& columns, real_t<T> const* spectra,
                           arena& memory) const {
        using R = real_t<T>;
        dft_plan_use<R> const use(o.sides.points);
        if (!use)
            return failure(errc::memory,
                           "toeplitz: cannot allocate the tables of a transform of this length");
        index_t const W = dft_kernels_here<R>().lanes, blocks = divide_up(o.columns, W), own = block_room(o);
        int team = team_for(o, false); // as workspace() had it, or fewer
        while (team > 1 && !memory.fits({bytes<R>(own * team)})) --team;
        R* const room = memory.template take<R>(own * team);
        constexpr index_t most = 1 << 20; // parts are counted in int
        int const parts = static_cast<int>(smaller(blocks, most));
        this->leaf().each(team, parts, [&](int thread, int part) {
            for (index_t b = blocks * part / parts; b < blocks * (part + 1) / parts; ++b)
                multiply_block(o, columns, spectra, *use, b * W, room + thread * own);
        });
        return {};
    }
    // Columns from `first` on. A transform goes to and fro between two buffers; the number of its passes says in which
    // of the two it ends.
    template <class T, class Columns>
    static void multiply_block(outline<T> const& o, Columns const& columns, real_t<T> const* spectra,
                               dft_plan<real_t<T>> const& plan, index_t first, real_t<T>* room) {
        using R = real_t<T>;
        auto const& with = dft_kernels_here<R>();
        auto const& by = spectrum_kernels_here<R>();
        auto const times = spectrum_sides<T>::is_real ? by.even_and_odd : by.complex;
        index_t const points = o.sides.points, size = 2 * with.lanes * points,
                      count = smaller(with.lanes, o.columns - first);
        R *const other = room + o.q * size, *const third = o.p > 1 ? other + size : room;
        bool const changes = plan.first.count % 2 == 1;
        for (index_t j = 0; j < o.q; ++j) { // part j becomes buffer j
            R *const part = room + j * size, *const from = changes ? other : part;
            columns.load(with, j, first, count, points, from);
            with.passes(plan.first, from, changes ? part : other);
        }
        for (index_t i = 0; i < o.p; ++i) {
            for (index_t j = 0; j < o.q; ++j)
                times(room + j * size, other, spectra + (i * o.q + j) * o.sides.numbers(), points, j > 0,
                      j + 1 == o.q);
            columns.store(with, i, first, count, with.passes(plan.first, other, third));
        }
    }

    // As many columns at a time as memory was taken for.
    template <class T, class Columns>
    status multiply_in_memory(outline<T> const& o, Columns const& columns, real_t<T> const* spectra,
                              arena& memory) const {
        using number = dft_complex<real_t<T>>;
        index_t const points = o.sides.points, most = at_a_time(o);
        number* const z = memory.template take<number>(points * most * o.q);
        number* const y = memory.template take<number>(points * most);
        for (index_t first = 0; first < o.columns; first += most) {
            index_t const count = smaller(most, o.columns - first);
            for (index_t j = 0; j < o.q; ++j) {
                number* const to = z + j * points * most;
                each_part(points, count, [&](index_t k, index_t end) {
                    for (; k < end; ++k)
                        for (index_t l = 0; l < count; ++l)
                            to[l * points + k] =
                                k < columns.inputs() ? columns.input(j, first + l, k) : number();
                });
                if (status s = transform(to, points, count, false, memory); !s) return s;
            }
            for (index_t i = 0; i < o.p; ++i) {
                each_part(points, count, [&](index_t k, index_t end) {
                    for (index_t l = 0; l < count; ++l)
                        for (index_t j = 0; j < o.q; ++j)
                            add_products<T>(z + (j * most + l) * points, k, end, points,
                                            spectra + (i * o.q + j) * o.sides.numbers(), j > 0,
                                            y + l * points);
                });
                if (status s = transform(y, points, count, true, memory); !s) return s;
                each_part(columns.outputs(), count, [&](index_t k, index_t end) {
                    for (; k < end; ++k)
                        for (index_t l = 0; l < count; ++l)
                            columns.output(i, first + l, k, columns.scaled(y[l * points + k]));
                });
            }
        }
        return {};
    }
    // f(k, end) for parts of so many rows, on several threads.
    template <class F>
    void each_part(index_t rows, index_t count, F const& f) const {
        index_t const team = this->leaf().team(static_cast<double>(rows * count)),
                      parts = smaller(rows, team);
        this->leaf().each(static_cast<int>(team), static_cast<int>(parts),
                          [&](int, int part) { f(rows * part / parts, rows * (part + 1) / parts); });
    }
    // Elements [k, end) of a column z times the spectrum.
    template <class T, class R>
    static void add_products(dft_complex<R> const* z, index_t k, index_t end, index_t points,
                             R const* spectrum, bool adds, dft_complex<R>* y) {
        for (; k < end; ++k) {
            R const* const at = spectrum + k * spectrum_sides<T>::width;
            auto sum = dft_complex<R>(at[0], at[1]) * z[k];
            if constexpr (spectrum_sides<T>::is_real)
                sum = sum + dft_complex<R>(at[2], at[3]) * conjugate(z[k == 0 ? 0 : points - k]);
            y[k] = adds ? y[k] + sum : sum;
        }
    }
};

STRATAGEMM_END
