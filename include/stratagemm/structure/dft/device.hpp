// Transforms of the columns of a matrix on a device: what is launched. written.hpp has the kernels.
//
// A transform of up to 4096 points reads its elements once and writes its results once, and so does one of any other
// length up to 2048; where a group of the device has more work-items and shared memory, one of more points. Longer transforms go through workspace, by two or more launches. The bytes that are read and
// written are the floor of the time.
#pragma once

#include "../../device/product.hpp"
#include "written.hpp"

STRATAGEMM_BEGIN

template <class R>
std::string dft_written(text_numbers const& numbers) {
    return dft_writer<R>(numbers).write();
}

// The kernel for some numbers of dft_writer. It reads elements of In and writes some of C, a complex type.
template <class In, class C>
device_kernel dft_kernel(text_numbers const& numbers, int items) {
    using R = real_t<C>;
    device_kernel kernel{"dft", dft_device_text, {}, items, sizeof(R) == 8, true};
    kernel.types = [] { return kernel_types<C, C>() + "#undef IN\n#define IN " + kernel_type<In>() + '\n'; };
    kernel.write = dft_written<R>;
    kernel.numbers = numbers;
    return kernel;
}

// A product whose A is a transform and whose B and C are views on a device. `turned`: the caller's product is the
// transposed one.
template <class Leaf, class Q, class Arena>
class dft_on_device {
    using C = typename Q::c_type;
    using R = real_t<C>;
    using X = typename Q::b_type;
    using space = typename Q::space;
    template <class T>
    using handle = typename space::template handle<T>;
    static constexpr bool is_real = !complex_like<X>;

    // Where a launch reads or writes.
    struct place {
        index_t point = 0, side = 0, batch = 0, rows = 0, shift = 0;
        bool conjugated = false;
    };
    // What a launch does.
    struct work {
        int points;
        index_t flags, order, first, sets;
    };

public:
    dft_on_device(Leaf const& leaf, Q const& problem, bool turned)
        : leaf_(leaf), p_(problem), turned_(turned), division_(problem.a.points, leaf.limits()) {
        auto const& a = p_.a;
        x_ = {p_.b.row_stride, p_.b.col_stride,     p_.b_step,
              a.cols,          within(a.col_shift), a.conjugate != p_.b.conjugate};
        c_ = {p_.c.row_stride, p_.c.col_stride, p_.c_step, a.rows, within(a.row_shift), a.conjugate};
        if constexpr (is_real)
            factor_ = C(p_.alpha * a.scale, R(0)), beta_ = C(p_.beta, R(0));
        else
            factor_ = C(p_.alpha.real() * a.scale, p_.alpha.imag() * a.scale), beta_ = p_.beta;
    }

    status run(Arena& memory) const {
        index_t const transforms = p_.c.cols * p_.count;
        int const points = division_.launches.points[0];
        handle<C const> const nothing = p_.c.data;
        if (!division_.is_long()) {
            index_t flags = division_.is_chirp() ? dft_in_chirp | dft_out_chirp : 0;
            flags |= (is_across(x_) ? dft_in_across : 0) | (is_across(c_) ? dft_out_across : 0);
            flags |= reading_flags() | writing_flags();
            flags |= pair_flags(points, flags);
            return launch<X>({points, flags, points, 0, transforms}, p_.b.data, x_, p_.c.data, c_, nothing);
        }
        typename Arena::scope const scope(memory);
        index_t const at_once = division_.at_once(transforms);
        handle<C> arrays[2]{}, spectrum{};
        for (int i = 0; i < division_.arrays(); ++i)
            arrays[i] = memory.template take<C>(division_.length * at_once);
        if (division_.is_chirp()) {
            spectrum = memory.template take<C>(division_.length);
            if (status s = transform_chirp(arrays, spectrum); !s) return s;
        }
        for (index_t first = 0; first < transforms; first += at_once)
            if (status s = transform(first, smaller(at_once, transforms - first), arrays, spectrum); !s)
                return s;
        return {};
    }

private:
    index_t within(index_t shift) const {
        index_t const s = shift % p_.a.points;
        return s < 0 ? s + p_.a.points : s;
    }
    static index_t size_of(index_t stride) { return stride < 0 ? -stride : stride; }
    // Whether neighbours in memory are elements of different transforms.
    bool is_across(place const& at) const {
        index_t const side = p_.c.cols > 1 ? at.side : at.batch;
        return p_.c.cols * p_.count > 1 && size_of(side) < size_of(at.point);
    }
    bool is_moved(place const& at) const { return at.shift != 0 || at.rows != p_.a.points; }
    bool adds() const { return p_.beta != typename Q::scalar(0); }
    template <class T, class Handle>
    static bool is_multiple_of(Handle from) {
        return space::address(from) % static_cast<std::intptr_t>(sizeof(T)) == 0;
    }
    index_t reading_flags() const {
        return (is_multiple_of<X>(p_.b.data) ? dft_in_aligned : 0) | (x_.point == 1 ? dft_in_unit : 0) |
               (is_moved(x_) ? dft_in_moved : 0) | (is_real ? dft_real : 0);
    }
    index_t writing_flags() const {
        bool const ends = adds() || !std::is_same_v<typename Q::epilogue_type, identity>;
        return (is_multiple_of<C>(p_.c.data) ? dft_out_aligned : 0) | (c_.point == 1 ? dft_out_unit : 0) |
               (is_moved(c_) ? dft_out_moved : 0) | (ends ? dft_ends : 0);
    }
    template <class T>
    static bool is_paired(handle<T> from, place const& at) {
        return at.point == 1 && space::address(from) % 16 == 0 &&
               ((at.side | at.batch | at.rows | at.shift) & 1) == 0;
    }
    index_t pair_flags(int points, index_t flags) const {
        dft_work<R> const by(points, flags);
        bool const in = !is_real && by.can_pair(0) && is_paired(p_.b.data, x_),
                   out =
                       by.can_pair(by.radices.count - 1) && is_paired(p_.c.data, c_) && !by.turns_out(flags);
        if (division_.is_chirp()) return 0;
        return (in ? dft_in_pairs : 0) | (out && !(flags & dft_ends) ? dft_out_pairs : 0);
    }

    // ---- long transforms ----------------------------------------------------------------------------------
    // Whether transforms lie side by side in workspace, as they do in X and C.
    bool columns_first(index_t sets) const { return is_across(x_) && is_across(c_) && sets >= 4; }
    place inside(index_t sets, bool side_by_side) const {
        return side_by_side ? place{sets, 1, 0, division_.length, 0}
                            : place{1, division_.length, 0, division_.length, 0};
    }
    // What launch i of a transform does inside workspace.
    work step(int i, index_t first, index_t sets, bool side_by_side) const {
        work w{division_.launches.points[i], 0, 1, first, sets};
        for (int before = 0; before <= i; ++before) w.order *= division_.launches.points[before];
        w.flags = dft_in_across | dft_in_inside | dft_out_inside | (side_by_side ? dft_columns_first : 0) |
                  (side_by_side || i > 0 ? dft_out_across : 0) |
                  (side_by_side ? 0 : dft_in_unit | dft_out_unit);
        return w;
    }
    static constexpr index_t external_in = dft_in_inside | dft_in_unit,
                             external_out = dft_out_inside | dft_out_unit;

    status transform(index_t first, index_t sets, handle<C> const* arrays, handle<C> spectrum) const {
        bool const side_by_side = columns_first(sets), is_chirp = division_.is_chirp();
        place const in = inside(sets, side_by_side);
        int const each = division_.launches.count, all = is_chirp ? 2 * each : each;
        for (int i = 0; i < all; ++i) {
            work w = step(i % each, first, sets, side_by_side);
            handle<C> const to = i + 1 < all ? arrays[i % 2] : p_.c.data;
            if (is_chirp && i + 1 == each) w.flags |= dft_out_spectrum;
            if (i + 1 == all)
                w.flags = (w.flags & ~external_out) | writing_flags() | (is_chirp ? dft_out_chirp : 0);
            place const& target = i + 1 < all ? in : c_;
            status s;
            if (i == 0) {
                w.flags = (w.flags & ~external_in) | reading_flags() | (is_chirp ? dft_in_chirp : 0);
                s = launch<X>(w, p_.b.data, x_, to, target, spectrum_or_c(spectrum));
            } else {
                s = launch<C>(w, handle<C const>(arrays[(i - 1) % 2]), in, to, target,
                              spectrum_or_c(spectrum));
            }
            if (!s) return s;
        }
        return {};
    }
    handle<C const> spectrum_or_c(handle<C> spectrum) const {
        if (division_.is_chirp()) return spectrum;
        return p_.c.data;
    }
    status transform_chirp(handle<C> const* arrays, handle<C> spectrum) const {
        place const in = inside(1, false);
        int const each = division_.launches.count;
        for (int i = 0; i < each; ++i) {
            work w = step(i, 0, 1, false);
            if (i == 0) w.flags |= dft_from_chirp;
            handle<C const> const from = i == 0 ? spectrum : arrays[(i - 1) % 2];
            if (status s = launch<C>(w, from, in, i + 1 < each ? arrays[i % 2] : spectrum, in,
                                     handle<C const>(spectrum));
                !s)
                return s;
        }
        return {};
    }

    template <class In>
    status launch(work const& w, handle<In const> from, place const& x, handle<C> to, place const& c,
                  handle<C const> spectrum) const {
        dft_work<R> const by(w.points, w.flags);
        index_t const units = w.sets * (division_.length / w.points);
        bool const uses_chirp =
            division_.is_chirp() &&
            (!division_.is_long() || (w.flags & (dft_in_chirp | dft_out_chirp | dft_from_chirp)));
        auto kernel = dft_kernel<In, C>(
            {{w.points, w.flags, w.order, division_.length, uses_chirp ? division_.n : 0}}, by.items);
        kernel.shared_bytes = by.launched_bytes();
        auto const e = adds() ? p_.e.data : handle<C const>(p_.c.data);
        return or_no_memory([&] {
            typename Leaf::template epilogue<C> const last(p_.epilogue);
            kernel.definitions = last.definitions();
            return leaf_.launch(kernel, divide_up(units, by.together), from, x.point, x.side, x.batch, x.rows,
                                x.shift, int{x.conjugated}, e, p_.e.row_stride, p_.e.col_stride, p_.e_step,
                                int{p_.e.conjugate}, beta_, int{adds()}, to, c.point, c.side, c.batch, c.rows,
                                c.shift, int{c.conjugated}, factor_, units, w.sets, w.first, p_.c.cols,
                                p_.row0, p_.col0, int{turned_}, spectrum, last);
        });
    }

    Leaf const& leaf_;
    Q const& p_;
    bool turned_;
    dft_device_division<R> division_;
    place x_, c_;
    C factor_{}, beta_{};
};

STRATAGEMM_END
