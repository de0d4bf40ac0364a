// The check of one product for `verified`: which elements of C are wrong, and their repair. verified.hpp says what is
// found and what is not.
//
// It decides on the host, with sums over rows and columns and with a few elements that are computed again. Where the
// operands are is left to a place: host.hpp has that of host memory, device.hpp that of a device. A place has
//   add_up(sums, clean)        fills the sums of a product, for the vectors x and y there; if `clean`, Inf and NaN
//                              count as zero
//   mark_odd(rows, cols)       sets an entry for each row of A and E and each column of B: not 0 if it has Inf or NaN
//   mark_odd_of_c(rows)        the same for the rows of C
//   copy_row_of_a(i, to), copy_col_of_b(j, to)        k elements, in the wider type of A and B
//   row_of_c(i), col_of_c(j)   views in host memory; one holds until another row, or another column, is asked for
//   element_of_e(i, j), element_of_c(i, j), put(i, j, value)
//   peaks()                    the largest magnitudes of A, B and E that are finite
//   look_along(by_rows, line, sums, f)   f(i, j, row of A, column of B) for elements of a row or a column of C, until
//                              f says false: for all of them, or for those that are off by most
//   rounding                   the rounding error of its sums
//   ok()                       false after a failure, after which the place does nothing
#pragma once

#include "../../backend/reference.hpp"
#include "../../core/layer.hpp"

#include <limits>

STRATAGEMM_BEGIN

// What was found in all products of the last call: `products` that were checked; `error` is the largest of an element
// that was computed again and was right, over the bound. An error beyond the bound of its element is found if it is
// more than `limit` times the bound of an average element of its row, and of one of its column; Inf: some were too large
// to tell.
using verified_report = report;

struct verified_options {
    std::uint64_t seed = 1; // of the vectors
    int rounds = 4;         // how many pairs of vectors; one for inexact types beyond 2^24 multiply-adds
    verified_report* report = nullptr; // written by each call, if not null
};

namespace verified_parts {

// What checksums are kept in: double, or integers modulo 2^32.
template <class T>
using number_of = std::conditional_t<std::is_integral_v<T>, std::uint32_t, double>;
template <class T>
inline constexpr index_t parts = complex_like<T> ? 2 : 1;

// splitmix64 (Steele, Lea, Flood, 2014), as a function of the place.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
    std::uint64_t z = seed + (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class T>
double magnitude_of(T const& x) {
    if constexpr (complex_like<T>)
        return __builtin_hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
    else if constexpr (std::is_integral_v<T>)
        return x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
    else
        return __builtin_fabs(static_cast<double>(static_cast<real_t<T>>(x)));
}
// The largest and the smallest normal number of T.
template <class T>
constexpr double largest_of() {
    if constexpr (std::is_same_v<T, half>)
        return 65504;
    else if constexpr (std::is_same_v<T, bfloat16>)
        return static_cast<double>(std::numeric_limits<float>::max());
    else if constexpr (std::is_integral_v<T>)
        return 0;
    else
        return static_cast<double>(std::numeric_limits<real_t<T>>::max());
}
template <class T>
constexpr double least_of() {
    return std::is_same_v<T, half> ? 0x1p-24 : static_cast<double>(std::numeric_limits<real_t<T>>::min());
}

// How many pairs of vectors a product is checked with.
template <class C>
int rounds_of(index_t m, index_t n, index_t k, verified_options const& options) {
    bool const small = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) <= 0x1p24;
    return std::is_integral_v<C> || small ? options.rounds : 1;
}

// What underflow in one element may come to.
template <class C, class S>
double underflow_of(S const& alpha, S const& beta, index_t k) {
    double const each = (static_cast<double>(k) + 4) * least_of<S>();
    return 2 * (magnitude_of(alpha) + magnitude_of(beta) + 1) * each + least_of<C>();
}

// Whether this thread's arithmetic takes subnormal numbers for what they are, which -ffast-math of a program may change.
template <class R>
bool keeps_subnormals() {
    R const volatile least = std::numeric_limits<R>::denorm_min();
    R const volatile x = least * R(0x1p60);
    return x > 0;
}

// How far the sums of lines, all rows or all columns, are off relative to the size of the line: |A||B|, and what
// underflow in its elements may come to as if that were a part of it.
struct lines_off {
    static constexpr int most = 8; // that are suspects, and looked at closely

    index_t lines = 0, length = 0; // how many there are, and how many elements each has
    double worst = 0;              // the bound of an element
    int count = 0;              // of suspects: those that are off by most, or all if there are at most `most`
    double first = 0, last = 0; // of the suspects; `last` is 0 if there are fewer than `most`
    double mean = 0;            // of the others
    double rounding = 0;        // the largest error that vanishes when it is added to the others of its line

    // As a multiple of the bound of an average element.
    double in_bounds(double x) const { return x * static_cast<double>(length) / worst; }
    // Underflow of so much in each element, as part of a line's size.
    double floor(double underflow) const {
        return worst > 0 ? static_cast<double>(length) * underflow / worst : 0;
    }
    // Whether all of the first line is to be looked at, since no crossing explains how far its sum is off: far beyond
    // the others and enough for one wrong element, or more than all its elements may be off together.
    bool stand_out() const {
        if (count == 0) return false;
        double const by = in_bounds(first);
        return by > static_cast<double>(length) || (lines > 2 * most && first > 12 * mean && by > 0.5);
    }
    // An error that is less may be hidden by those of its line, or be lost in the rounding of its sum. It is
    // assumed that its line has no larger rounding errors than the line that is off by most. If all lines are
    // suspects, no error is hidden.
    double limit() const { return lines <= most || worst == 0 ? 0 : in_bounds(first + last + rounding); }
};

// What a check keeps of a product whose elements are T: vectors, the sums that C should have and those that it has,
// and the lines of operands that it looks at.
template <class T, class W>
struct sums_of {
    static constexpr index_t several = parts<T>;
    static constexpr int most = lines_off::most;

    W *x, *y;
    W *rows, *rows_size, *rows_e, *rows_e_size, *rows_c, *rows_c_size;
    W *cols, *cols_size, *cols_e, *cols_e_size, *cols_c, *cols_c_size;
    T *lines_a, *lines_b;

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        take(x, several * n), take(y, several * m);
        take(rows, several * m), take(rows_size, m), take(rows_e, several * m), take(rows_e_size, m);
        take(rows_c, several * m), take(rows_c_size, m);
        take(cols, several * n), take(cols_size, n), take(cols_e, several * n), take(cols_e_size, n);
        take(cols_c, several * n), take(cols_c_size, n);
        take(lines_a, most * k), take(lines_b, most * k);
    }
};
// The bytes that arrays of `Room` take in an arena, and the arrays.
template <class Arena, class Room>
std::size_t bytes_of(index_t m, index_t n, index_t k) {
    std::size_t all = 0;
    Room{}.each(m, n, k, [&]<class E>(E*&, index_t count) {
        all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
    });
    return all;
}
template <class Room, class Arena>
Room take_room(Arena& memory, index_t m, index_t n, index_t k) {
    Room room{};
    room.each(m, n, k, [&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); });
    return room;
}

// The largest elements of A, B and E.
struct magnitudes {
    double a, b, e;
};

// Compares the C of a product without an epilogue with its operands, and repairs it.
template <class Place, class P>
class check {
    using T = typename P::wide_type;
    using C = typename P::c_type;
    using S = typename P::scalar;
    using W = number_of<C>;
    static constexpr bool exact = std::is_integral_v<C>;
    static constexpr index_t several = parts<T>;
    using sums = sums_of<T, W>;
    static constexpr int most = sums::most, most_repairs = most;

public:
    // `memory` is the host's.
    template <class Arena>
    check(Place& place, P const& p, bound const& allowed, verified_options const& options, Arena& memory)
        : place_(place), p_(p), allowed_(allowed), options_(options), m_(p.c.rows), n_(p.c.cols),
          k_(p.a.cols), at_(take_room<sums>(memory, m_, n_, k_)) {}

    // Whether C is right now, if the place is ok.
    bool run() {
        if constexpr (!exact)
            if (!is_finite(magnitude_of(p_.alpha)) || !is_finite(magnitude_of(p_.beta))) {
                skipped_ = m_ + n_;
                return true;
            }
        int const rounds = rounds_of<C>(m_, n_, k_, options_);
        for (int round = 0; round < rounds; ++round) {
            choose_vectors(round);
            round_limit_ = 0;
            add_up();
            if (!place_.ok()) return false;
            if constexpr (!exact)
                if (!sums_are_finite() && !leave_out()) return false;
            if (!search()) return false;
            if (round == 0 || limit_ > round_limit_) limit_ = round_limit_;
        }
        return true;
    }

    // Takes what was found into the report; a product that was not right leaves its repairs behind.
    void tell(report& to, bool right) const {
        if (!right) return;
        to.products += 1, to.repaired += repaired_, to.skipped += skipped_;
        to.error = to.error < error_ ? error_ : to.error;
        double const limit = limit_ < let_pass_ ? let_pass_ : limit_;
        to.limit = to.limit < limit ? limit : to.limit;
    }
    // Where the last wrong element was, and how many bounds it was off by; a row of -1: nowhere in
    // particular.
    index_t row() const { return row_; }
    index_t col() const { return col_; }
    double off_by() const { return off_by_; }

private:
    bool adds() const { return p_.beta != S(0); }

    // ---- checksums -------------------------------------------------------------------------------------

    // Signs; for exact types odd integers in the first round, any integers in the others.
    void choose_vectors(int round) {
        auto const draw = [&](std::uint64_t which, W* to, index_t count) {
            std::uint64_t const seed =
                random_bits(options_.seed, 2 * static_cast<std::uint64_t>(round) + which);
            for (index_t i = 0; i < count; ++i) {
                std::uint64_t const bits = random_bits(seed, static_cast<std::uint64_t>(i));
                if constexpr (exact) {
                    to[i] = static_cast<W>(bits >> 32) | (round == 0 ? 1u : 0u);
                } else if (round == 0 || !left_out(to, i)) {
                    to[several * i] = bits >> 63 ? -1 : 1;
                    if constexpr (several == 2) to[2 * i + 1] = 0;
                }
            }
        };
        draw(0, at_.x, n_), draw(1, at_.y, m_);
    }

    void add_up() {
        place_.add_up(at_, clean_);
        expect(m_, at_.rows, at_.rows_size, at_.rows_e, at_.rows_e_size);
        expect(n_, at_.cols, at_.cols_size, at_.cols_e, at_.cols_e_size);
    }
    // alpha times the sums of A B, and beta times those of E.
    void expect(index_t count, W* sum, W* size, W const* e, W const* e_size) const {
        for (index_t i = 0; i < count; ++i) {
            if constexpr (complex_like<S>) {
                auto const times = [](S const& f, W const* z, W& re, W& im) {
                    W const a = z[0], b = z[1];
                    re = f.real() * a - f.imag() * b, im = f.real() * b + f.imag() * a;
                };
                W re = 0, im = 0;
                times(p_.alpha, sum + 2 * i, sum[2 * i], sum[2 * i + 1]);
                if (adds()) times(p_.beta, e + 2 * i, re, im);
                sum[2 * i] += re, sum[2 * i + 1] += im;
            } else {
                sum[i] *= static_cast<W>(p_.alpha);
                if (adds()) sum[i] += static_cast<W>(p_.beta) * e[i];
            }
            if constexpr (!exact) {
                size[i] *= magnitude_of(p_.alpha);
                if (adds()) size[i] += magnitude_of(p_.beta) * e_size[i];
            }
        }
    }
    bool sums_are_finite() const {
        bool finite = true;
        auto const look = [&](index_t count, W const* sum, W const* size, W const* of_c) {
            for (index_t i = 0; i < several * count; ++i) finite &= is_finite(sum[i]) && is_finite(of_c[i]);
            for (index_t i = 0; i < count; ++i) finite &= is_finite(size[i]);
        };
        look(m_, at_.rows, at_.rows_size, at_.rows_c), look(n_, at_.cols, at_.cols_size, at_.cols_c);
        return finite;
    }

    // ---- Inf and NaN -----------------------------------------------------------------------------------

    template <class E>
    static bool finite(E const& x) {
        return is_finite(magnitude_of(x));
    }
    // Leaves out what has no checksum: rows of A, columns of B and rows of E with Inf or NaN, and rows of C
    // with elements that may rightly overflow. Then all is summed up again. False: too many elements of C are
    // wrong.
    bool leave_out() {
        index_t const before = skipped_;
        place_.mark_odd(at_.rows_c, at_.cols_c);
        for (index_t i = 0; i < m_; ++i)
            if (at_.rows_c[i] != W(0)) leave(at_.y, i);
        for (index_t j = 0; j < n_; ++j)
            if (at_.cols_c[j] != W(0)) leave(at_.x, j);
        // Such algorithms may spread what is not finite.
        if (allowed_.normwise && skipped_ > before) {
            for (index_t i = 0; i < m_; ++i) leave(at_.y, i);
            for (index_t j = 0; j < n_; ++j) leave(at_.x, j);
        }
        W* const odd = at_.rows_e; // is summed up again, and repairs leave it as it is
        place_.mark_odd_of_c(odd);
        for (index_t i = 0; i < m_; ++i) {
            if (odd[i] == W(0) || left_out(at_.y, i)) continue;
            place_.copy_row_of_a(i, at_.lines_a);
            view<C const> const row = place_.row_of_c(i); // with its repairs
            for (index_t j = 0; j < n_ && !left_out(at_.y, i) && place_.ok(); ++j) {
                if (left_out(at_.x, j) || finite(row(0, j))) continue;
                place_.copy_col_of_b(j, at_.lines_b);
                finding const found = judge(i, j, row_at(0), col_at(0));
                if (found == finding::wrong && !repair(i, j)) return false;
                if (found == finding::unknown) leave(at_.y, i);
            }
        }
        clean_ = true;
        add_up();
        if (!place_.ok()) return false;
        // Sums may overflow that are no element.
        auto const rest = [&](index_t count, W* x, W const* sum, W const* size, W const* of_c) {
            for (index_t i = 0; i < count; ++i) {
                bool good = is_finite(size[i]);
                for (index_t s = several * i; s < several * (i + 1); ++s)
                    good &= is_finite(sum[s]) && is_finite(of_c[s]);
                if (!good) leave(x, i);
            }
        };
        rest(m_, at_.y, at_.rows, at_.rows_size, at_.rows_c);
        rest(n_, at_.x, at_.cols, at_.cols_size, at_.cols_c);
        return true;
    }
    void leave(W* x, index_t i) {
        if (!left_out(x, i)) ++skipped_;
        x[several * i] = 0;
    }
    bool left_out(W const* x, index_t i) const { return !exact && x[several * i] == W(0); }

    // ---- which rows and columns ------------------------------------------------------------------------

    // How far the sum of a line is off, relative to its size; of integers, whether it is.
    double off(bool by_rows, index_t i, double size) const {
        W const *sum = by_rows ? at_.rows : at_.cols, *of_c = by_rows ? at_.rows_c : at_.cols_c;
        if constexpr (exact) {
            return sum[i] == of_c[i] ? 0 : 1;
        } else {
            double x = 0;
            for (index_t s = several * i; s < several * (i + 1); ++s) x += __builtin_fabs(sum[s] - of_c[s]);
            if (x == 0) return 0;
            double const y = x / size;
            return size > 0 && is_finite(y) ? y : 1e300;
        }
    }
    // Which lines are off by most, in order, and by how much.
    struct suspects : lines_off {
        index_t at[most];
        double by[most];
    };
    suspects select(bool by_rows) const {
        suspects s;
        s.lines = by_rows ? m_ : n_, s.length = by_rows ? n_ : m_, s.worst = allowed_.worst;
        double const floor = exact ? 0 : s.floor(underflow());
        double sum = 0;
        for (index_t i = 0; i < s.lines; ++i) {
            if (left_out(by_rows ? at_.y : at_.x, i)) continue;
            double size = 0;
            if constexpr (!exact) {
                size = (by_rows ? at_.rows_size : at_.cols_size)[i] + floor;
                double const lost = place_.rounding * (by_rows ? at_.rows_c_size : at_.cols_c_size)[i] / size;
                if (is_finite(lost) && s.rounding < lost) s.rounding = lost;
            }
            double const x = off(by_rows, i, size);
            if (x == 0 && (exact || s.lines > most)) continue;
            if (s.count == most && x <= s.by[most - 1]) {
                sum += x;
                continue;
            }
            if (s.count == most) sum += s.by[--s.count];
            int place = s.count++;
            for (; place > 0 && s.by[place - 1] < x; --place)
                s.by[place] = s.by[place - 1], s.at[place] = s.at[place - 1];
            s.by[place] = x, s.at[place] = i;
        }
        if (s.count > 0) s.first = s.by[0];
        if (s.count == most) s.last = s.by[most - 1];
        if (s.lines > most) s.mean = sum / static_cast<double>(s.lines - most);
        return s;
    }
    bool stand_out(suspects const& s) const { return !exact && s.stand_out(); }

    bool search() {
        index_t row_done = -1, col_done = -1;
        for (;;) {
            suspects const r = select(true), c = select(false);
            int found = cross(r, c);
            if (found == 0 && stand_out(r) && r.at[0] != row_done) found = look(true, row_done = r.at[0]);
            if (found == 0 && stand_out(c) && c.at[0] != col_done) found = look(false, col_done = c.at[0]);
            if (!place_.ok()) return false;
            if (found < 0) return false;
            if (found > 0) continue;
            if (exact && r.count + c.count > 0) return false;
            note_limit(r), note_limit(c);
            return true;
        }
    }
    void note_limit(suspects const& s) {
        double const x = exact ? 0 : s.limit();
        round_limit_ = round_limit_ < x ? x : round_limit_;
    }

    // ---- which elements --------------------------------------------------------------------------------

    // How many elements were wrong where suspects cross, and have been repaired; -1: too many.
    int cross(suspects const& r, suspects const& c) {
        if (r.count == 0 || c.count == 0) return 0;
        for (int x = 0; x < r.count; ++x) place_.copy_row_of_a(r.at[x], at_.lines_a + x * k_);
        for (int y = 0; y < c.count; ++y) place_.copy_col_of_b(c.at[y], at_.lines_b + y * k_);
        if (!place_.ok()) return -1;
        int found = 0;
        for (int x = 0; x < r.count; ++x)
            for (int y = 0; y < c.count; ++y) {
                if (!is_wrong(r.at[x], c.at[y], row_at(x), col_at(y))) continue;
                if (!repair(r.at[x], c.at[y])) return -1;
                ++found;
            }
        return found;
    }
    // The lines that were copied.
    view<T const> row_at(int x) const {
        return {at_.lines_a + x * k_, 1, k_, k_, 1, accumulator_t<T>{1}, p_.a.conjugate};
    }
    view<T const> col_at(int y) const {
        return {at_.lines_b + y * k_, k_, 1, 1, k_, accumulator_t<T>{1}, p_.b.conjugate};
    }
    // The same of all elements of a row or a column.
    int look(bool by_rows, index_t line) {
        int found = 0;
        place_.look_along(by_rows, line, at_,
                          [&](index_t i, index_t j, view<T const> const& row, view<T const> const& col) {
                              if (left_out(at_.y, i) || left_out(at_.x, j)) return true;
                              if (!is_wrong(i, j, row, col)) return true;
                              found = repair(i, j) ? found + 1 : -1;
                              return found >= 0;
                          });
        return found;
    }

    // Whether an element that may be wrong is. Nothing is known of one that is too large to tell.
    bool is_wrong(index_t i, index_t j, view<T const> const& row, view<T const> const& col) {
        finding const found = judge(i, j, row, col);
        if (found == finding::unknown) let_pass_ = std::numeric_limits<double>::infinity();
        return found == finding::wrong;
    }
    enum class finding { right, wrong, unknown };
    // Computes an element again, into value_, and compares.
    finding judge(index_t i, index_t j, view<T const> const& row, view<T const> const& col) {
        C const added = adds() ? place_.element_of_e(i, j) : C{}, c = place_.element_of_c(i, j);
        dense_problem<T, T, C> one;
        one.alpha = p_.alpha, one.beta = p_.beta;
        one.a = row, one.b = col, one.c = {&value_, 1, 1, 1, 1};
        one.e = view<C const>{&added, 1, 1, 1, 1}, one.e.conjugate = p_.e.conjugate;
        host_arena none;
        (void)reference{}(one, none);
        if (!place_.ok()) return finding::unknown;
        if constexpr (exact) {
            if (c == value_) return finding::right;
            row_ = i, col_ = j, off_by_ = 0;
            return finding::wrong;
        } else {
            // |A||B|, and the part of |A||B| that is lost where subnormal numbers count as zero. Subnormal
            // doubles count as zero only if an option of the compiler says so.
            double size = 0, lost = 0;
            double const least = sizeof(real_t<T>) == 8 && keeps_subnormals<double>()
                                     ? 0
                                     : static_cast<double>(std::numeric_limits<real_t<T>>::min());
            for (index_t l = 0; l < k_; ++l) {
                double const a = magnitude_of(row(0, l)), b = magnitude_of(col(l, 0)), x = a * b;
                size += x;
                if (a < least || b < least) lost += x;
            }
            double const e = adds() ? magnitude_of(p_.beta) * magnitude_of(added) : 0;
            double const alpha = magnitude_of(p_.alpha), all = alpha * size + e;
            double const of_norm = allowed_.normwise ? norm() : all;
            double const exact_value = magnitude_of(value_), accumulates = largest_of<S>();
            if (!is_finite(exact_value) || exact_value > 0.9 * largest_of<C>() || !(all < accumulates / 16) ||
                !(size < accumulates / 16) || !(of_norm < accumulates / 64))
                return finding::unknown;
            auto const k = static_cast<double>(k_);
            double const wide = sizeof(real_t<S>) == 8 ? (4 * k + 8) * 0x1p-104 : (k + 8) * 0x1p-52;
            double const may = allowed_.worst * of_norm + wide * all +
                               1.001 * unit_roundoff<C>() * exact_value + underflow();
            double const error = distance(c, value_), by = error / (may + alpha * lost);
            if (is_finite(by) && by <= 1) {
                error_ = error_ < by ? by : error_;
                if (error > may) note_passed(i, j, error);
                return finding::right;
            }
            row_ = i, col_ = j, off_by_ = by;
            return finding::wrong;
        }
    }
    // An error beyond the bound of its element that is let pass since subnormal numbers may explain it.
    void note_passed(index_t i, index_t j, double error) {
        double const of_row = at_.rows_size[i] / static_cast<double>(n_),
                     of_col = at_.cols_size[j] / static_cast<double>(m_);
        double const size = allowed_.normwise ? norm() : of_row < of_col ? of_col : of_row;
        double const x = error / (allowed_.worst * size + underflow());
        if (let_pass_ < x) let_pass_ = x;
    }
    double underflow() const { return underflow_of<C>(p_.alpha, p_.beta, k_); }
    static double distance(C const& x, C const& y) {
        using R = real_t<C>;
        if constexpr (complex_like<C>)
            return __builtin_hypot(static_cast<double>(x.real()) - static_cast<double>(y.real()),
                                   static_cast<double>(x.imag()) - static_cast<double>(y.imag()));
        else
            return __builtin_fabs(static_cast<double>(static_cast<R>(x)) -
                                  static_cast<double>(static_cast<R>(y)));
    }
    double norm() {
        if (norm_ < 0) {
            auto const [a, b, e] = place_.peaks();
            norm_ = magnitude_of(p_.alpha) * static_cast<double>(k_) * a * b;
            if (adds()) norm_ += magnitude_of(p_.beta) * e;
        }
        return norm_;
    }

    // Writes value_ to C, whose sums change; false if that was done too often.
    bool repair(index_t i, index_t j) {
        if (++repaired_ > most_repairs) return false;
        place_.put(i, j, value_);
        renew(place_.row_of_c(i), at_.x, at_.rows_c + several * i);
        renew(place_.col_of_c(j).transposed(), at_.y, at_.cols_c + several * j);
        return true;
    }
    void renew(view<C const> const& line, W const* x, W* sum) const {
        for (index_t s = 0; s < several; ++s) sum[s] = W(0);
        for (index_t l = 0; l < line.cols; ++l) {
            C const& c = line(0, l);
            if constexpr (exact) {
                sum[0] += static_cast<W>(c) * x[l];
            } else if (!clean_ || finite(c)) {
                if constexpr (complex_like<C>)
                    sum[0] += x[2 * l] * c.real(), sum[1] += x[2 * l] * c.imag();
                else
                    sum[0] += x[l] * static_cast<W>(static_cast<real_t<C>>(c));
            }
        }
    }

    Place& place_;
    P const& p_;
    bound const allowed_;
    verified_options const& options_;
    index_t const m_, n_, k_;
    sums at_;
    bool clean_ = false; // Inf and NaN count as zero
    C value_{};
    double norm_ = -1;
    index_t repaired_ = 0, skipped_ = 0, row_ = -1, col_ = -1;
    double off_by_ = 0, error_ = 0, limit_ = 0, round_limit_ = 0, let_pass_ = 0;
};

} // namespace verified_parts

STRATAGEMM_END
