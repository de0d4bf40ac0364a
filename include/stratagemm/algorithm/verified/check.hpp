// The check of one product for `verified`: which elements of C are wrong, and their repair. verified.hpp says what is
// found and what is not.
#pragma once

#include "../../backend/reference.hpp"
#include "sums.hpp"

STRATAGEMM_BEGIN

// What was found in all products of the last call.
struct verified_report {
    index_t products = 0; // checked
    index_t repaired = 0; // elements of C that were wrong, and were replaced
    index_t repeated = 0; // products that were done once more
    index_t skipped = 0;  // rows and columns of C that were not checked: Inf, NaN, overflow
    double error = 0; // the largest error of an element that was computed again and was right, over the bound
    double limit = 0; // an error of more than so many times the bound of an average element is found
};

struct verified_options {
    std::uint64_t seed = 1; // of the vectors
    int rounds = 4;         // how many pairs of vectors; one for inexact types beyond 2^24 multiply-adds
    verified_report* report = nullptr; // written by each call, if not null
};

namespace verified_parts {

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

// The workspace of a check; `Arena` gives it, or counts it.
template <class P, class W>
struct room {
    using T = typename P::a_type;
    static constexpr index_t several = parts<T>;
    static constexpr int most = 8; // rows, and columns, that are looked at closely
    static constexpr index_t both = 2;

    W *x, *y, *ones, *w, *w_size, *v, *v_size;
    W *rows, *rows_size, *rows_e, *rows_e_size, *rows_c, *cols, *cols_size, *cols_e, *cols_e_size, *cols_c;
    W *partial, *apart[sweeper<int, W>::arrays];
    T *lines_a, *lines_b;

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        index_t const longer = m < n ? n : m, longest = longer < k ? k : longer;
        take(x, several * n), take(y, several * m), take(ones, longer);
        take(w, several * k), take(w_size, k), take(v, several * k), take(v_size, k);
        take(rows, several * m), take(rows_size, m), take(rows_e, several * m), take(rows_e_size, m);
        take(rows_c, several * m);
        take(cols, several * n), take(cols_size, n), take(cols_e, several * n), take(cols_e_size, n);
        take(cols_c, several * n);
        index_t most_partial = 0;
        for (index_t const count : {sweeper<int, W>::template partial_count<T>(m, k),
                                    sweeper<int, W>::template partial_count<T>(k, n),
                                    sweeper<int, W>::template partial_count<T>(m, n)})
            most_partial = most_partial < count ? count : most_partial;
        take(partial, most_partial);
        for (W*& array : apart) take(array, several == 2 ? 2 * longest : 0);
        take(lines_a, most * k), take(lines_b, most * k);
    }
    template <class Arena>
    static std::size_t bytes(index_t m, index_t n, index_t k) {
        std::size_t all = 0;
        room{}.each(m, n, k, [&]<class E>(E*&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
        });
        return all;
    }
};

// Compares the C of a product without an epilogue with its operands, and repairs it.
template <class Leaf, class P>
class check {
    using T = typename P::a_type;
    using C = typename P::c_type;
    using S = typename P::scalar;
    using W = number_of<C>;
    static constexpr bool exact = std::is_integral_v<C>;
    static constexpr index_t several = parts<T>;
    static constexpr int most = room<P, W>::most, most_repairs = most;
    static constexpr int measured = exact ? 0 : int{sizes};

public:
    template <class Arena>
    check(Leaf const& leaf, P const& p, bound const& allowed, verified_options const& options, Arena& memory)
        : p_(p), allowed_(allowed), options_(options), m_(p.c.rows), n_(p.c.cols), k_(p.a.cols) {
        at_.each(m_, n_, k_,
                 [&]<class E>(E*& array, index_t count) { array = memory.template take<E>(count); });
        sweep_.leaf = leaf;
        sweep_.partial = at_.partial;
        for (int i = 0; i < sweep_.arrays; ++i) sweep_.apart[i] = at_.apart[i];
    }

    // Whether C is right now.
    bool run() {
        if constexpr (!exact)
            if (!is_finite(magnitude_of(p_.alpha)) || !is_finite(magnitude_of(p_.beta))) {
                skipped_ = m_ + n_;
                return true;
            }
        bool const small =
            static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_) <= 0x1p24;
        int const rounds = exact || small ? options_.rounds : 1;
        for (int round = 0; round < rounds; ++round) {
            choose_vectors(round);
            round_limit_ = 0;
            add_up();
            if constexpr (!exact)
                if (!sums_are_finite() && !leave_out()) return false;
            if (!search()) return false;
            if (round == 0 || limit_ > round_limit_) limit_ = round_limit_;
        }
        return true;
    }

    // Takes what was found into the report; a product that was not right leaves its repairs behind.
    void tell(verified_report& to, bool right) const {
        if (!right) return;
        to.products += 1, to.repaired += repaired_, to.skipped += skipped_;
        to.error = to.error < error_ ? error_ : to.error;
        to.limit = to.limit < limit_ ? limit_ : to.limit;
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
        for (index_t i = 0; i < (m_ < n_ ? n_ : m_); ++i) at_.ones[i] = W(1);
    }

    void add_up() {
        using side = verified_parts::side<W>;
        room<P, W>& r = at_;
        sweep_.template times<sums | measured>(p_.a, side{}, side{r.y, r.ones, r.w, r.w_size});
        sweep_.template times<dots | sums | measured>(p_.b, side{r.x, r.ones, r.v, r.v_size},
                                                      side{r.w, r.w_size, r.cols, r.cols_size});
        sweep_.template times<dots | measured>(p_.a, side{r.v, r.v_size, r.rows, r.rows_size}, side{});
        sweep_.template times<dots | sums>(reading(p_.c), side{r.x, nullptr, r.rows_c, nullptr},
                                           side{r.y, nullptr, r.cols_c, nullptr});
        if (adds())
            sweep_.template times<dots | sums | measured>(p_.e, side{r.x, r.ones, r.rows_e, r.rows_e_size},
                                                          side{r.y, r.ones, r.cols_e, r.cols_e_size});
        expect(m_, r.rows, r.rows_size, r.rows_e, r.rows_e_size);
        expect(n_, r.cols, r.cols_size, r.cols_e, r.cols_e_size);
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
        for (index_t i = 0; i < m_; ++i) {
            bool good = true;
            for (index_t l = 0; l < k_; ++l) good &= finite(p_.a(i, l));
            for (index_t j = 0; adds() && j < n_; ++j) good &= finite(p_.e(i, j));
            if (!good) leave(at_.y, i);
        }
        for (index_t j = 0; j < n_; ++j) {
            bool good = true;
            for (index_t l = 0; l < k_; ++l) good &= finite(p_.b(l, j));
            if (!good) leave(at_.x, j);
        }
        // Such algorithms may spread what is not finite.
        if (allowed_.normwise && skipped_ > before) {
            for (index_t i = 0; i < m_; ++i) leave(at_.y, i);
            for (index_t j = 0; j < n_; ++j) leave(at_.x, j);
        }
        for (index_t i = 0; i < m_; ++i)
            for (index_t j = 0; j < n_; ++j) {
                if (left_out(at_.y, i) || left_out(at_.x, j) || finite(p_.c(i, j))) continue;
                finding const found = judge(i, j, p_.a.part(i, 0, 1, k_), p_.b.part(0, j, k_, 1));
                if (found == finding::wrong && !repair(i, j)) return false;
                if (found == finding::unknown) leave(at_.y, i);
            }
        sweep_.clean = true;
        add_up();
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

    // How far the sum of a line is off, relative to |A||B|; of integers, whether it is.
    double off(bool by_rows, index_t i) const {
        W const *sum = by_rows ? at_.rows : at_.cols, *of_c = by_rows ? at_.rows_c : at_.cols_c;
        if constexpr (exact) {
            return sum[i] == of_c[i] ? 0 : 1;
        } else {
            if (left_out(by_rows ? at_.y : at_.x, i)) return 0;
            double x = 0;
            for (index_t s = several * i; s < several * (i + 1); ++s) x += __builtin_fabs(sum[s] - of_c[s]);
            double const size = (by_rows ? at_.rows_size : at_.cols_size)[i];
            if (x == 0) return 0;
            double const y = x / size;
            return size > 0 && is_finite(y) ? y : 1e300;
        }
    }
    // The lines that are off by most, in order, and the mean of the others.
    struct suspects {
        index_t at[most];
        double by[most];
        int count = 0;
        index_t of = 0;
        bool by_rows = true;
        double mean = 0;
    };
    suspects select(bool by_rows) const {
        suspects s;
        s.of = by_rows ? m_ : n_, s.by_rows = by_rows;
        double sum = 0;
        for (index_t i = 0; i < s.of; ++i) {
            double const x = off(by_rows, i);
            if (x == 0) continue;
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
        if (s.of > most) s.mean = sum / static_cast<double>(s.of - most);
        return s;
    }
    // An error relative to |A||B| of all a line, as a multiple of the bound of an average element.
    double in_bounds(suspects const& s, double x) const {
        return x * static_cast<double>(s.by_rows ? n_ : m_) / allowed_.worst;
    }
    // Whether all of a line is to be looked at, since no crossing explains how far its sum is off: far beyond
    // the others and enough for one wrong element, or more than all its elements may be off together.
    bool stands_out(suspects const& s) const {
        if (exact || s.count == 0 || s.of <= 2 * most) return false;
        double const by = in_bounds(s, s.by[0]);
        return (s.by[0] > 12 * s.mean && by > 0.5) || by > static_cast<double>(s.by_rows ? n_ : m_);
    }

    bool search() {
        index_t row_done = -1, col_done = -1;
        for (;;) {
            suspects const r = select(true), c = select(false);
            int found = cross(r, c);
            if (found == 0 && stands_out(r) && r.at[0] != row_done) {
                row_done = r.at[0];
                for (index_t j = 0; found >= 0 && j < n_; ++j) found = look(row_done, j, found);
            }
            if (found == 0 && stands_out(c) && c.at[0] != col_done) {
                col_done = c.at[0];
                for (index_t i = 0; found >= 0 && i < m_; ++i) found = look(i, col_done, found);
            }
            if (found < 0) return false;
            if (found > 0) continue;
            if (exact && r.count + c.count > 0) return false;
            note_limit(r), note_limit(c);
            return true;
        }
    }
    // An error that is less may be hidden by those of its line, or be lost in the rounding of its sum.
    void note_limit(suspects const& s) {
        if (exact || s.of <= most || allowed_.worst == 0) return;
        double rounding = 0;
        for (index_t i = 0; i < s.of; ++i) {
            double const size = (s.by_rows ? at_.rows_size : at_.cols_size)[i];
            double const x = 0x1p-52 * magnitude_of((s.by_rows ? at_.rows_c : at_.cols_c)[several * i]);
            if (size > 0 && x > rounding * size && !left_out(s.by_rows ? at_.y : at_.x, i))
                rounding = x / size;
        }
        double const first = s.count > 0 ? s.by[0] : 0, last = s.count == most ? s.by[most - 1] : 0;
        double const x = in_bounds(s, first + last + rounding);
        round_limit_ = round_limit_ < x ? x : round_limit_;
    }

    // ---- which elements --------------------------------------------------------------------------------

    // How many elements were wrong where suspects cross, and have been repaired; -1: too many.
    int cross(suspects const& r, suspects const& c) {
        if (r.count == 0 || c.count == 0) return 0;
        // Side by side: a column of B may be in as many pages as it has elements.
        for (index_t l = 0; l < k_; ++l)
            for (int x = 0; x < c.count; ++x) at_.lines_b[x * k_ + l] = p_.b(l, c.at[x]);
        for (int x = 0; x < r.count; ++x)
            for (index_t l = 0; l < k_; ++l) at_.lines_a[x * k_ + l] = p_.a(r.at[x], l);
        int found = 0;
        for (int x = 0; x < r.count; ++x)
            for (int y = 0; y < c.count; ++y) {
                view<T const> row{at_.lines_a + x * k_, 1, k_, k_, 1};
                view<T const> col{at_.lines_b + y * k_, k_, 1, 1, k_};
                row.conjugate = p_.a.conjugate, col.conjugate = p_.b.conjugate;
                if (judge(r.at[x], c.at[y], row, col) != finding::wrong) continue;
                if (!repair(r.at[x], c.at[y])) return -1;
                ++found;
            }
        return found;
    }
    int look(index_t i, index_t j, int found) {
        if (left_out(at_.y, i) || left_out(at_.x, j)) return found;
        if (judge(i, j, p_.a.part(i, 0, 1, k_), p_.b.part(0, j, k_, 1)) != finding::wrong) return found;
        return repair(i, j) ? found + 1 : -1;
    }

    enum class finding { right, wrong, unknown };
    // Computes an element again, into value_, and compares.
    finding judge(index_t i, index_t j, view<T const> const& row, view<T const> const& col) {
        P one = p_;
        one.a = row, one.b = col, one.c = {&value_, 1, 1, 1, 1}, one.e = one.c;
        if (adds()) one.e = p_.e.part(i, j, 1, 1);
        host_arena none;
        (void)reference{}(one, none);
        C const& c = p_.c(i, j);
        if constexpr (exact) {
            if (c == value_) return finding::right;
            row_ = i, col_ = j, off_by_ = 0;
            return finding::wrong;
        } else {
            // |A||B|, and the part of it that is lost where subnormal numbers count as zero.
            double size = 0, lost = 0;
            constexpr double least = static_cast<double>(std::numeric_limits<real_t<T>>::min());
            for (index_t l = 0; l < k_; ++l) {
                double const a = magnitude_of(row(0, l)), b = magnitude_of(col(l, 0)), x = a * b;
                size += x;
                if (a < least || b < least) lost += x;
            }
            double const e = adds() ? magnitude_of(p_.beta) * magnitude_of(p_.e(i, j)) : 0;
            double const alpha = magnitude_of(p_.alpha), all = alpha * size + e;
            double const of_norm = allowed_.normwise ? norm() : all;
            double const exact_value = magnitude_of(value_), accumulates = largest_of<S>();
            if (!is_finite(exact_value) || exact_value > 0.9 * largest_of<C>() || !(all < accumulates / 16) ||
                !(size < accumulates / 16) || !(of_norm < accumulates / 64))
                return finding::unknown;
            auto const k = static_cast<double>(k_);
            double const wide = sizeof(real_t<S>) == 8 ? (4 * k + 8) * 0x1p-104 : (k + 8) * 0x1p-52;
            double const may = allowed_.worst * of_norm + alpha * lost + wide * all +
                               1.001 * unit_roundoff<C>() * exact_value + slack();
            double const by = distance(c, value_) / may;
            if (is_finite(by) && by <= 1) {
                error_ = error_ < by ? by : error_;
                return finding::right;
            }
            row_ = i, col_ = j, off_by_ = by;
            return finding::wrong;
        }
    }
    static double distance(C const& x, C const& y) {
        using R = real_t<C>;
        if constexpr (complex_like<C>)
            return __builtin_hypot(static_cast<double>(x.real()) - static_cast<double>(y.real()),
                                   static_cast<double>(x.imag()) - static_cast<double>(y.imag()));
        else
            return __builtin_fabs(static_cast<double>(static_cast<R>(x)) -
                                  static_cast<double>(static_cast<R>(y)));
    }
    // What underflow may come to.
    double slack() const {
        double const each = (static_cast<double>(k_) + 4) * least_of<S>();
        return 2 * (magnitude_of(p_.alpha) + magnitude_of(p_.beta) + 1) * each + least_of<C>();
    }
    double norm() {
        if (norm_ < 0) {
            norm_ = magnitude_of(p_.alpha) * static_cast<double>(k_) * peak(p_.a) * peak(p_.b);
            if (adds()) norm_ += magnitude_of(p_.beta) * peak(p_.e);
        }
        return norm_;
    }
    template <class E>
    double peak(view<E const> m) const {
        if (magnitude(m.row_stride) < magnitude(m.col_stride)) m = m.transposed();
        double most_of[16] = {};
        auto const n = static_cast<int>(parts_of(m.rows));
        int const team = sweep_.leaf.team(4 * static_cast<double>(m.rows) * static_cast<double>(m.cols));
        sweep_.leaf.each(team, n, [&](int, int part) {
            double x[2] = {};
            for (index_t i = m.rows * part / n; i < m.rows * (part + 1) / n; ++i)
                for (index_t j = 0; j < m.cols; ++j) {
                    double const size = magnitude_of(m(i, j));
                    x[j % 2] = size > x[j % 2] && is_finite(size) ? size : x[j % 2];
                }
            most_of[part] = x[0] < x[1] ? x[1] : x[0];
        });
        double all = 0;
        for (double const x : most_of) all = all < x ? x : all;
        return all;
    }

    // Writes value_ to C, whose sums change; false if that was done too often.
    bool repair(index_t i, index_t j) {
        if (++repaired_ > most_repairs) return false;
        p_.c(i, j) = value_;
        renew(reading(p_.c).part(i, 0, 1, n_), at_.x, at_.rows_c + several * i);
        renew(reading(p_.c).part(0, j, m_, 1).transposed(), at_.y, at_.cols_c + several * j);
        return true;
    }
    void renew(view<C const> const& line, W const* x, W* sum) const {
        for (index_t s = 0; s < several; ++s) sum[s] = W(0);
        for (index_t l = 0; l < line.cols; ++l) {
            C const& c = line(0, l);
            if constexpr (exact) {
                sum[0] += static_cast<W>(c) * x[l];
            } else if (!sweep_.clean || finite(c)) {
                if constexpr (complex_like<C>)
                    sum[0] += x[2 * l] * c.real(), sum[1] += x[2 * l] * c.imag();
                else
                    sum[0] += x[l] * static_cast<W>(static_cast<real_t<C>>(c));
            }
        }
    }

    P const& p_;
    bound const allowed_;
    verified_options const& options_;
    index_t const m_, n_, k_;
    room<P, W> at_{};
    sweeper<Leaf, W> sweep_{};
    C value_{};
    double norm_ = -1;
    index_t repaired_ = 0, skipped_ = 0, row_ = -1, col_ = -1;
    double off_by_ = 0, error_ = 0, limit_ = 0, round_limit_ = 0;
};

} // namespace verified_parts

STRATAGEMM_END
