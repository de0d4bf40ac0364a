// Products with a Toeplitz matrix by Fourier transforms on a device.
//
// Where one launch has room for a column (dft_work::largest_on), it does all: a column is read once and its results are
// written once. Longer columns, and matrices of blocks, go through workspace, as many at a time as keep a device busy.
// Bits of a column depend on the device and the matrix alone. Bounds are those of the host (spectrum.hpp).
#pragma once

#include "../../core/layer.hpp"
#include "../../device/product.hpp"
#include "device_text.hpp"

STRATAGEMM_BEGIN

// A product whose A is a Toeplitz matrix and whose B and C are views on a device. `turned`: the caller's product is the
// transposed one.
template <class Leaf, class Q, class Arena>
class spectrum_on_device {
    using T = typename Q::c_type;
    using R = real_t<T>;
    using space = typename Q::space;
    template <class X>
    using handle = typename space::template handle<X>;
    static constexpr bool is_real = !complex_like<T>;

    // Where a launch reads or writes: columns of the product, or numbers of workspace.
    struct place {
        index_t point = 0, side = 0, batch = 0, rows = 0;
        bool conjugated = false;
    };
    // What a launch does.
    struct work {
        int points;
        index_t flags, order, first, sets;
    };

public:
    spectrum_on_device(Leaf const& leaf, Q const& problem, bool turned, handle<R const> spectra)
        : leaf_(leaf), p_(problem), turned_(turned), spectra_(spectra),
          o_(p_.a.facts(), p_.a.rows, p_.a.cols, p_.c.cols * p_.count),
          division_(o_.sides.points, leaf.limits()) {
        index_t const down = o_.q * p_.b.row_stride;
        x_ = {p_.a.is_hankel ? -down : down, p_.b.col_stride, p_.b_step, o_.n,
              p_.a.conjugate != p_.b.conjugate};
        c_ = {o_.p * p_.c.row_stride, p_.c.col_stride, p_.c_step, o_.m, !p_.a.conjugate};
    }

    status run(Arena& memory) const {
        int const points = division_.launches.points[0];
        if (is_one_launch(o_, division_))
            return read_columns({points, spectrum_whole | short_flags(true, true), points, 0, o_.columns}, 0,
                                p_.c.data, c_, 0);
        typename Arena::scope const scope(memory);
        index_t const at_once = division_.at_once(o_.columns), each = elements(o_.sides.points * at_once);
        handle<T> const z = memory.template take<T>(o_.q * each);
        handle<T> between[2]{};
        for (int i = 0; i + 1 < division_.launches.count; ++i) between[i % 2] = memory.template take<T>(each);
        for (index_t first = 0; first < o_.columns; first += at_once) {
            index_t const sets = smaller(at_once, o_.columns - first);
            for (index_t j = 0; j < o_.q; ++j)
                if (status s = transform(first, sets, j, z + j * each, between[0]); !s) return s;
            for (index_t i = 0; i < o_.p; ++i)
                if (status s = transform_back(first, sets, i, z, each, between); !s) return s;
        }
        return {};
    }
    // Numbers of workspace, beside spectra.
    static index_t room(spectrum_outline<T> const& o, dft_device_division<R> const& d) {
        if (is_one_launch(o, d)) return 0;
        index_t const between = smaller(2, d.launches.count - 1);
        return (o.q + between) * o.sides.points * d.at_once(o.columns);
    }
    static bool is_one_launch(spectrum_outline<T> const& o, dft_device_division<R> const& d) {
        return o.p * o.q == 1 && !d.is_long();
    }

private:
    static constexpr index_t elements(index_t numbers) { return is_real ? 2 * numbers : numbers; }
    bool adds() const { return p_.beta != typename Q::scalar(0); }
    // Whether neighbours in memory are elements of different columns.
    bool is_across(place const& at) const {
        index_t const side = p_.c.cols > 1 ? at.side : at.batch;
        return o_.columns > 1 && magnitude(side) < magnitude(at.point);
    }
    // Whether numbers may be read or written as one.
    bool is_aligned(handle<T const> from, place const& at) const {
        auto const size = static_cast<std::intptr_t>(2 * sizeof(R));
        return space::address(from) % size == 0 &&
               (!is_real || (at.point == 1 && ((at.side | at.batch) & 1) == 0));
    }
    index_t reading_flags(index_t part) const {
        return is_aligned(first_of_columns(part), x_) ? dft_in_aligned : 0;
    }
    index_t writing_flags(index_t part) const {
        bool const ends = adds() || !std::is_same_v<typename Q::epilogue_type, identity>;
        return (is_aligned(p_.c.data + part * p_.c.row_stride, c_) ? dft_out_aligned : 0) |
               (ends ? dft_ends : 0);
    }
    handle<T const> first_of_columns(index_t part) const {
        index_t const row = p_.a.is_hankel ? (o_.n - 1) * o_.q + part : part;
        return p_.b.data + row * p_.b.row_stride;
    }
    // Of a launch that does whole transforms, from columns or to them.
    index_t short_flags(bool from_columns, bool to_columns) const {
        return (from_columns ? is_across(x_) ? dft_in_across : 0 : dft_in_inside) |
               (to_columns ? is_across(c_) ? dft_out_across : 0 : dft_out_inside);
    }

    // ---- through workspace --------------------------------------------------------------------------------
    // Whether transforms lie side by side in workspace, as they do in B and C.
    bool columns_first(index_t sets) const {
        return division_.is_long() && is_across(x_) && is_across(c_) && sets >= 4;
    }
    place inside(index_t sets) const {
        index_t const points = o_.sides.points;
        return columns_first(sets) ? place{sets, 1, 0, points} : place{1, points, 0, points};
    }
    // Launch i of a transform.
    work step(int i, index_t first, index_t sets, bool from_columns, bool to_columns) const {
        work w{division_.launches.points[i], 0, 1, first, sets};
        for (int before = 0; before <= i; ++before) w.order *= division_.launches.points[before];
        if (!division_.is_long()) {
            w.flags = short_flags(from_columns, to_columns);
            return w;
        }
        bool const side_by_side = columns_first(sets);
        w.flags = dft_in_across | (from_columns ? 0 : dft_in_inside) | (to_columns ? 0 : dft_out_inside) |
                  (side_by_side ? dft_columns_first : 0) | (side_by_side || i > 0 ? dft_out_across : 0);
        return w;
    }
    // Of part j of so many columns, to z. Every second launch writes there.
    status transform(index_t first, index_t sets, index_t j, handle<T> z, handle<T> between) const {
        int const last = division_.launches.count - 1;
        place const in = inside(sets);
        for (int i = 0; i <= last; ++i) {
            bool const to_z = (last - i) % 2 == 0;
            work const w = step(i, first, sets, i == 0, false);
            status s = i == 0 ? read_columns(w, j, to_z ? z : between, in, 0)
                              : launch(w, to_z ? between : z, in, 1, to_z ? z : between, in, 0);
            if (!s) return s;
        }
        return {};
    }
    // Of the sum of products for part i.
    status transform_back(index_t first, index_t sets, index_t i, handle<T> z, index_t each,
                          handle<T> const* between) const {
        int const last = division_.launches.count - 1;
        place in = inside(sets);
        for (int l = 0; l <= last; ++l) {
            work w = step(l, first, sets, false, l == last);
            if (l == 0) w.flags |= spectrum_in;
            if (l == last) w.flags |= writing_flags(i);
            place from = in;
            from.batch = l == 0 ? numbers_of(each) : 0;
            handle<T const> const source = l == 0 ? z : between[(l - 1) % 2];
            handle<T> const to = l == last ? p_.c.data + i * p_.c.row_stride : between[l % 2];
            if (status s = launch(w, source, from, o_.q, to, l == last ? c_ : in, i); !s) return s;
        }
        return {};
    }
    static constexpr index_t numbers_of(index_t all) { return is_real ? all / 2 : all; }

    // A launch whose source are columns of B.
    status read_columns(work w, index_t part, handle<T> to, place const& c, index_t row) const {
        w.flags |= reading_flags(part);
        if (!(w.flags & dft_out_inside)) w.flags |= writing_flags(row);
        return launch(w, first_of_columns(part), x_, 1, to, c, row);
    }
    // `x.batch` is what lies between parts, for sums of products.
    status launch(work const& w, handle<T const> from, place const& x, index_t parts, handle<T> to,
                  place const& c, index_t row) const {
        index_t const flags = w.flags | (is_real ? dft_real : 0) | dft_work<R>::room_on(leaf_.limits());
        dft_work<R> const by(w.points, flags);
        index_t const units = w.sets * (o_.sides.points / w.points);
        auto kernel = spectrum_kernel<T>({{w.points, flags, w.order, o_.sides.points, 0}}, by.items);
        kernel.shared_bytes = by.launched_bytes();
        handle<R const> const spectrum = spectra_ + row * o_.q * o_.sides.numbers();
        handle<T const> e = p_.c.data;
        if (adds()) e = p_.e.data + row * p_.e.row_stride;
        using S = typename Q::scalar;
        auto const factor = scaled_by(p_.alpha, static_cast<S>(p_.a.scale));
        return or_no_memory([&] {
            typename Leaf::template epilogue<T> const last(p_.epilogue);
            kernel.definitions = last.definitions();
            return leaf_.launch(kernel, divide_up(units, by.together), from, x.point, x.side, x.batch, x.rows,
                                int{x.conjugated}, x.batch, static_cast<int>(parts), e,
                                o_.p * p_.e.row_stride, p_.e.col_stride, p_.e_step, int{p_.e.conjugate},
                                p_.beta, int{adds()}, to, c.point, c.side, c.batch, c.rows, int{c.conjugated},
                                factor, units, w.sets, w.first, p_.c.cols, p_.row0, p_.col0, row, o_.p,
                                int{turned_}, 0, spectrum, last);
        });
    }

    Leaf const& leaf_;
    Q const& p_;
    bool turned_;
    handle<R const> spectra_;
    spectrum_outline<T> o_;
    dft_device_division<R> division_;
    place x_, c_;
};

// P: the backend of a device. A Toeplitz matrix on the right runs as the transposed product, whose epilogue is told.
template <policy P>
class toeplitz_device_transforms : public product_over<P> {
    using Leaf = leaf_of<P>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;
    using product_over<P>::product_over;

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        constexpr verdict v = spectrum_accepts<Q>;
        if constexpr (v != verdict::yes)
            return v;
        else
            return epilogue_if(
                has_source<typename Q::epilogue_type, typename Leaf::template epilogue<typename Q::c_type>>);
    }();

    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::c_type;
        using R = real_t<T>;
        spectrum_outline<T> const o(s);
        footprint spectra, between;
        space::share(between) = bytes<R>(2 * on_device<S>::room(o, division_of(o))) + 2 * bytes<R>(1);
        if (o.is_kept) return between;
        space::share(spectra) = bytes<R>(o.numbers());
        return spectra + larger(between, spectrum_footprint(o.sides, o.p * o.q));
    }
    template <class S>
    bound error_bound(S const& s) const {
        spectrum_outline<typename S::c_type> const o(s);
        return spectrum_bound(o, s.k, s.adds, errors_of(division_of(o)));
    }
    // Each launch reads and writes all numbers of its source and target.
    template <class S>
    double estimate(S const& s) const {
        using T = typename S::c_type;
        using R = real_t<T>;
        spectrum_outline<T> const o(s);
        auto const d = division_of(o);
        double const columns = static_cast<double>(o.columns), both = static_cast<double>(o.p + o.q),
                     elements = sizeof(T) * columns * static_cast<double>(o.p * o.m + o.q * o.n),
                     numbers = 2 * sizeof(R) * static_cast<double>(o.sides.points),
                     spectra =
                         static_cast<double>(o.p * o.q) * numbers * (spectrum_sides<T>::is_real ? 2 : 1);
        double launches = 1, moved = elements + spectra;
        if (!on_device<S>::is_one_launch(o, d)) {
            double const each = d.launches.count;
            launches = both * each * static_cast<double>(divide_up(o.columns, d.at_once(o.columns)));
            // Between launches, and what the product reads: each number and its mirror, for each part of C.
            moved += columns * numbers * (both * 2 * (each - 1) + static_cast<double>(o.q * (1 + o.p)));
        }
        if (!o.is_kept) launches += 2 + d.launches.count, moved += 4 * spectra;
        return moved / this->leaf().limits().bandwidth + launches * 3e-6;
    }
    template <class S>
    std::string describe(S const& s) const {
        using T = typename S::c_type;
        spectrum_outline<T> const o(s);
        auto const d = division_of(o);
        std::string const points = std::to_string(o.sides.points);
        if (on_device<S>::is_one_launch(o, d))
            return spectrum_text(o) + "transforms of " + points +
                   " points, both and the product in one launch";
        return spectrum_text(o) + "transforms of " + points + " points through workspace, each in " +
               std::to_string(d.launches.count) + (d.launches.count > 1 ? " launches" : " launch");
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (is_toeplitz<typename Q::a_operand>)
            return multiply(p, false, memory);
        else // C^T = B^T A^T
            return multiply(p.transposed(), true, memory);
    }

    // Sets the spectrum of a matrix: rows of spectrum_sides for each element of a block. `memory` has what
    // spectrum_footprint() says.
    template <class A>
    status set_spectra(A const& a, typename space::template handle<real_t<typename A::value_type>> to,
                       arena& memory) const {
        using T = typename A::value_type;
        using R = real_t<T>;
        using number = dft_complex<R>;
        typename arena::scope const scope(memory);
        spectrum_sides<T> const sides(a.rows_of_blocks(), a.cols_of_blocks());
        index_t const all = a.block_rows() * a.block_cols(), points = sides.points;
        auto const z = memory.template take<number>(points * all);
        auto const leaf = this->leaf();
        auto const &first = a.runs[0], &second = a.runs[a.runs[1].count > 0 ? 1 : 0];
        index_t const period = sides.period();
        status s = leaf.launch(
            sequence_kernel<T>(), groups_for_each(period * all, 256), first.first.data,
            first.first.row_stride, first.first.col_stride, first.stride, first.count, first.first.scale,
            int{first.first.conjugate}, second.first.data, second.first.row_stride, second.first.col_stride,
            second.stride, a.runs[1].count, second.first.scale, int{second.first.conjugate}, a.zeros[0],
            a.rows_of_blocks(), a.cols_of_blocks(), int{a.is_hankel}, a.block_cols(), all, period, z);
        if (!s) return s;
        view<number, space> const columns{z, points, all, 1, points};
        problem<dft<R>, view<number const, space>, view<number, space>> const transform{
            {R(1)}, dft<R>(points), columns, {}, columns, columns};
        if (status t = dft_device_product<P>(this->base_)(transform, memory); !t) return t;
        return or_no_memory([&] {
            return leaf.launch(spectrum_rows_kernel<T>(points), groups_for_each(points * all, 256),
                               typename space::template handle<number const>(z), to, points, points * all);
        });
    }
    template <class T>
    footprint spectrum_footprint(spectrum_sides<T> const& sides, index_t elements) const {
        using number = dft_complex<real_t<T>>;
        shape<dft_form<real_t<T>>, number, number> s{sides.points, elements, sides.points};
        s.a_facts.points = sides.points;
        footprint need;
        space::share(need) = bytes<number>(sides.points * elements);
        return need + dft_device_product<P>(this->base_).workspace(s);
    }

private:
    // What does not depend on the problem.
    template <class S>
    using on_device =
        spectrum_on_device<Leaf,
                           problem<toeplitz_matrix<typename S::c_type, space, toeplitz_way::by_transforms>,
                                   view<typename S::c_type const, space>, view<typename S::c_type, space>>,
                           arena>;
    template <class X>
    static std::size_t bytes(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count) * sizeof(X));
    }
    template <class T>
    auto division_of(spectrum_outline<T> const& o) const {
        return dft_device_division<real_t<T>>(o.sides.points, this->leaf().limits());
    }
    template <class Q>
    status multiply(Q const& p, bool turned, arena& memory) const {
        using R = real_t<typename Q::c_type>;
        typename arena::scope const scope(memory);
        spectrum_outline<typename Q::c_type> const o(p.a.facts(), p.a.rows, p.a.cols, 1);
        auto spectra = p.a.spectrum;
        if (!o.is_kept) {
            auto const to = memory.template take<R>(o.numbers());
            if (status s = set_spectra(p.a, to, memory); !s) return s;
            spectra = to;
        }
        auto const leaf = this->leaf();
        return spectrum_on_device<Leaf, Q, arena>(leaf, p, turned, spectra).run(memory);
    }
};

STRATAGEMM_END
