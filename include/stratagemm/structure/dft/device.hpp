// Transforms of the columns of a matrix on a device: what is launched. written.hpp has the kernels.
//
// A transform of up to 4096 points reads its elements once and writes its results once, and so does one of any other
// length up to 2048; where a group of the device has more work-items and shared memory, one of more points. Longer
// transforms go through workspace, by two or more launches. The bytes that are read and written are the floor of the
// time.
#pragma once

#include "../../device/product.hpp"
#include "number.hpp"
#include "written.hpp"

STRATAGEMM_BEGIN

template <class R>
std::string dft_written(text_numbers const& numbers, text_tables* apart) {
    return dft_writer<R>(numbers, apart).write();
}

// The kernel for some numbers of dft_writer. It reads elements of In and writes some of To, of which one is complex, or
// both are real.
template <class In, class To>
device_kernel dft_kernel(text_numbers const& numbers, int items) {
    using R = real_t<To>;
    device_kernel kernel{"dft", dft_device_text, {}, items, sizeof(R) == 8, true};
    kernel.types = [] {
        return kernel_types<To, To>() + "#undef IN\n#define IN " + kernel_type<In>() + '\n';
    };
    kernel.write = dft_written<R>;
    kernel.numbers = numbers;
    return kernel;
}

// All points of a transform are rows of X and of C. Another type of this says which are, where dft_sampled is meant: it is
// what kernels get for that.
struct dft_all_points {};

// A product whose A is a transform and whose B and C are views on a device. `turned`: the caller's product is the
// transposed one. `lines`: 0, or dft_parts for a cosine transform of the real parts of complex numbers, with
// dft_second_part of the imaginary ones.
template <class Leaf, class Q, class Arena, class Share = dft_all_points>
class dft_on_device {
    using C = typename Q::c_type;
    using R = real_t<C>;
    using X = typename Q::b_type;
    using Z = std::conditional_t<complex_like<C>, C, dft_complex<R>>; // in workspace
    using space = typename Q::space;
    template <class T>
    using handle = typename space::template handle<T>;
    static constexpr bool is_cosine_transform = requires(Q const& p) { p.a.first; };
    static constexpr bool is_sampled = !std::is_same_v<Share, dft_all_points>;

    // Where a launch reads or writes.
    struct place {
        index_t point = 0, side = 0, batch = 0, rows = 0, shift = 0;
        bool conjugated = false;
        index_t all_rows = 0; // of which rows is a part
    };
    // What a launch does.
    struct work {
        int points;
        index_t flags, order, first, sets;
    };

public:
    dft_on_device(Leaf const& leaf, Q const& problem, dft_device_way<R> const& way, bool turned,
                  index_t lines = 0, Share const& share = {})
        : leaf_(leaf), p_(problem), turned_(turned), way_(way), division_(way.division),
          lines_(lines | (is_sampled ? dft_sampled : 0)), share_(share) {
        auto const& a = p_.a;
        bool const from_spectrum = way.kind == dft_kind::from_half || way.kind == dft_kind::from_mirrored;
        index_t const n = way.n, half = n / 2 + 1;
        x_ = {p_.b.row_stride, p_.b.col_stride, p_.b_step, a.cols};
        c_ = {p_.c.row_stride, p_.c.col_stride, p_.c_step, a.rows};
        x_.all_rows = from_spectrum ? half : n, c_.all_rows = way.kind == dft_kind::to_half ? half : n;
        if constexpr (requires { a.row_shift; }) {
            x_.shift = within(a.col_shift), c_.shift = within(a.row_shift);
            x_.conjugated = complex_like<X> && a.conjugate != p_.b.conjugate;
            c_.conjugated = complex_like<C> && a.conjugate;
        }
        set_factor();
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
            return launch<X, C>({points, flags, points, 0, transforms}, p_.b.data, x_, p_.c.data, c_,
                                nothing);
        }
        typename Arena::scope const scope(memory);
        index_t const at_once = division_.at_once(transforms);
        handle<Z> arrays[2]{}, spectrum{};
        for (int i = 0; i < division_.arrays(); ++i)
            arrays[i] = memory.template take<Z>(division_.length * at_once);
        if (division_.is_chirp()) {
            spectrum = memory.template take<Z>(division_.length);
            if (status s = transform_chirp(arrays, spectrum); !s) return s;
        }
        for (index_t first = 0; first < transforms; first += at_once)
            if (status s = transform(first, smaller(at_once, transforms - first), arrays, spectrum); !s)
                return s;
        return {};
    }

private:
    index_t within(index_t shift) const {
        index_t const s = shift % way_.n;
        return s < 0 ? s + way_.n : s;
    }
    void set_factor() {
        using S = typename Q::scalar;
        // The kernels give twice the results of these.
        bool const is_double = meets_behind(way_.kind) || way_.kind == dft_kind::cosine_3 ||
                               way_.kind == dft_kind::cosine_3_halved;
        R const half = is_double ? R(0.5) : R(1);
        auto const scale = static_cast<R>(p_.a.scale);
        if constexpr (is_cosine_transform) row_factor_ = p_.a.first;
        if constexpr (complex_like<S> && is_cosine_transform) { // of a part: alpha is real
            bool const changes_sign = (lines_ & dft_second_part) != 0 && p_.b.conjugate;
            R const factor = p_.alpha.real() * scale;
            factor_ = C(half * (changes_sign ? -factor : factor), R(0));
        } else if constexpr (complex_like<S> && complex_like<C>) {
            factor_ = C(p_.alpha.real() * scale, p_.alpha.imag() * scale), beta_ = p_.beta;
        } else if constexpr (complex_like<C>) {
            factor_ = C(half * (p_.alpha * scale), R(0)), beta_ = C(p_.beta, R(0));
        } else {
            factor_ = half * (real_part(p_.alpha) * scale), beta_ = real_part(p_.beta);
        }
    }
    template <class S>
    static R real_part(S const& x) {
        if constexpr (complex_like<S>)
            return x.real();
        else
            return x;
    }
    static index_t size_of(index_t stride) { return stride < 0 ? -stride : stride; }
    // Whether neighbours in memory are elements of different transforms.
    bool is_across(place const& at) const {
        index_t const side = p_.c.cols > 1 ? at.side : at.batch;
        return p_.c.cols * p_.count > 1 && size_of(side) < size_of(at.point);
    }
    bool is_moved(place const& at) const { return at.shift != 0 || at.rows != at.all_rows; }
    bool adds() const { return p_.beta != typename Q::scalar(0); }
    bool ends() const { return adds() || !std::is_same_v<typename Q::epilogue_type, identity>; }
    template <class T, class Handle>
    static bool is_multiple_of(Handle from) {
        return space::address(from) % static_cast<std::intptr_t>(sizeof(T)) == 0;
    }
    // Whether real numbers 2k and 2k + 1 of each transform can be read or written at once.
    template <class T>
    bool are_pairs(handle<T> from, place const& at) const {
        return is_multiple_of<Z>(from) && at.point == 1 && ((at.side | at.batch) & 1) == 0 && !is_moved(at);
    }
    index_t reading_flags() const {
        bool const is_aligned =
            way_.kind == dft_kind::to_half ? are_pairs(p_.b.data, x_) : is_multiple_of<X>(p_.b.data);
        bool const is_real = !complex_like<X> && way_.kind == dft_kind::whole;
        return (is_aligned ? dft_in_aligned : 0) | (x_.point == 1 ? dft_in_unit : 0) |
               (is_moved(x_) ? dft_in_moved : 0) | (is_real ? dft_real : 0) | flags_of(way_.kind) | lines_;
    }
    index_t writing_flags() const {
        bool const is_aligned = way_.kind == dft_kind::from_half ? are_pairs(p_.c.data, c_) && !ends()
                                                                 : is_multiple_of<C>(p_.c.data);
        return (is_aligned ? dft_out_aligned : 0) | (c_.point == 1 ? dft_out_unit : 0) |
               (is_moved(c_) ? dft_out_moved : 0) | (ends() ? dft_ends : 0) | flags_of(way_.kind) | lines_;
    }
    // Whether 16 bytes of it are elements of one transform, and begin at multiples of 16 bytes.
    template <class T>
    static bool is_paired(handle<T> from, place const& at) {
        constexpr index_t width = 16 / index_t{sizeof(T)};
        return at.point == 1 && space::address(from) % 16 == 0 &&
               ((at.side | at.batch | at.rows | at.shift) & (width - 1)) == 0;
    }
    index_t pair_flags(int points, index_t flags) const {
        if (division_.is_chirp() || sizeof(R) != 4) return 0;
        dft_work<R> const by(points, flags);
        bool const whole = way_.kind == dft_kind::whole,
                   may_in = whole ? complex_like<X> : way_.kind == dft_kind::to_half && !is_moved(x_),
                   may_out = whole || (way_.kind == dft_kind::from_half && !is_moved(c_)),
                   in = may_in && by.can_pair(0) && is_paired(p_.b.data, x_),
                   out = may_out && by.can_pair(by.steps.count - 1) && is_paired(p_.c.data, c_) &&
                         !by.turns_out(flags);
        return (in ? dft_in_pairs : 0) | (out && !ends() ? dft_out_pairs : 0);
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

    status transform(index_t first, index_t sets, handle<Z> const* arrays, handle<Z> spectrum) const {
        bool const side_by_side = columns_first(sets), is_chirp = division_.is_chirp();
        place const in = inside(sets, side_by_side);
        int const each = division_.launches.count, all = is_chirp ? 2 * each : each;
        for (int i = 0; i < all; ++i) {
            work w = step(i % each, first, sets, side_by_side);
            if (is_chirp && i + 1 == each) w.flags |= dft_out_spectrum;
            if (i + 1 == all)
                w.flags = (w.flags & ~external_out) | writing_flags() | (is_chirp ? dft_out_chirp : 0);
            if (i == 0) w.flags = (w.flags & ~external_in) | reading_flags() | (is_chirp ? dft_in_chirp : 0);
            handle<Z> const from = arrays[(i + 1) % 2], to = arrays[i % 2];
            handle<Z const> const by = is_chirp ? spectrum : arrays[0];
            status s = i == 0        ? launch<X, Z>(w, p_.b.data, x_, to, in, by)
                       : i + 1 < all ? launch<Z, Z>(w, handle<Z const>(from), in, to, in, by)
                                     : launch<Z, C>(w, handle<Z const>(from), in, p_.c.data, c_,
                                                    handle<C const>(p_.c.data));
            if (!s) return s;
        }
        return {};
    }
    status transform_chirp(handle<Z> const* arrays, handle<Z> spectrum) const {
        place const in = inside(1, false);
        int const each = division_.launches.count;
        for (int i = 0; i < each; ++i) {
            work w = step(i, 0, 1, false);
            if (i == 0) w.flags |= dft_from_chirp;
            handle<Z const> const from = i == 0 ? spectrum : arrays[(i - 1) % 2];
            if (status s = launch<Z, Z>(w, from, in, i + 1 < each ? arrays[i % 2] : spectrum, in,
                                        handle<Z const>(spectrum));
                !s)
                return s;
        }
        return {};
    }

    // To is C, or workspace, where there is no factor, E or epilogue.
    template <class In, class To>
    status launch(work const& w, handle<In const> from, place const& x, handle<To> to, place const& c,
                  handle<To const> spectrum) const {
        index_t const flags = w.flags | dft_work<R>::room_on(leaf_.limits());
        dft_work<R> const by(w.points, flags);
        index_t const units = w.sets * (division_.length / w.points);
        bool const uses_chirp =
            division_.is_chirp() &&
            (!division_.is_long() || (w.flags & (dft_in_chirp | dft_out_chirp | dft_from_chirp)));
        auto kernel = dft_kernel<In, To>(
            {{w.points, flags, w.order, division_.length, uses_chirp ? division_.n : 0}}, by.items);
        kernel.shared_bytes = by.launched_bytes();
        auto const go = [&](auto factor, auto beta, handle<To const> e, auto const& last) {
            kernel.definitions = last.definitions();
            auto const with = [&](auto const&... more) {
                return leaf_.launch(kernel, divide_up(units, by.together), more..., from, x.point, x.side,
                                    x.batch, x.rows, x.shift, int{x.conjugated}, e, p_.e.row_stride,
                                    p_.e.col_stride, p_.e_step, int{p_.e.conjugate}, beta, int{adds()}, to,
                                    c.point, c.side, c.batch, c.rows, c.shift, int{c.conjugated}, factor,
                                    units, w.sets, w.first, p_.c.cols, p_.row0, p_.col0, int{turned_},
                                    spectrum, last);
            };
            if constexpr (is_cosine_transform)
                if (is_cosine(kind_of(w.flags))) {
                    if constexpr (is_sampled)
                        return with(row_factor_, share_);
                    else
                        return with(row_factor_);
                }
            return with();
        };
        return or_no_memory([&] {
            if constexpr (std::is_same_v<To, C>) {
                typename Leaf::template epilogue<C> const last(p_.epilogue);
                return go(factor_, beta_, adds() ? p_.e.data : handle<C const>(p_.c.data), last);
            } else {
                typename Leaf::template epilogue<To> const none(identity{});
                return go(To(), To(), handle<To const>(to), none);
            }
        });
    }

    Leaf const& leaf_;
    Q const& p_;
    bool turned_;
    dft_device_way<R> const& way_;
    dft_device_division<R> const& division_;
    index_t lines_;
    place x_, c_;
    C factor_{}, beta_{};
    R row_factor_{};
    Share share_;
};

STRATAGEMM_END
