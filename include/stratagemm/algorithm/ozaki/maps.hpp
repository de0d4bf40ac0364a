// What the Ozaki layer does element by element. Each step is a function of its place, which a leaf on the
// host calls from apply(). For a device it is only the description of the step, since device.hpp has a kernel
// for it.
//
// A product of complex matrices is taken as one of real matrices, [Re -Im; Im Re] times [Re; Im],
// interleaved. A line is a row of the left matrix or a column of the right one: it has one scale, a power of
// two.
#pragma once

#include "arithmetic.hpp"

#include "../../core/epilogue.hpp"
#include "../../core/operand.hpp"

STRATAGEMM_BEGIN

namespace ozaki_parts {

enum class side { left, right };

// Real numbers that make up one element.
template <class T>
inline constexpr index_t parts = complex_like<T> ? 2 : 1;

// An operand as a real matrix, by lines.
template <class T, side Side, class Space = host_memory>
struct lines {
    using space = Space;
    using element = T;
    static constexpr bool is_left = Side == side::left;

    view<T const, Space> of;

    index_t count() const { return Side == side::left ? parts<T> * of.rows : of.cols; }
    index_t length() const { return parts<T> * (Side == side::left ? of.cols : of.rows); }

    // Real elements as they lie, a line in each row.
    view<T const, Space> by_lines() const requires(!complex_like<T>) {
        return Side == side::left ? of : transposed(of);
    }

    double operator()(index_t line, index_t l) const {
        if constexpr (!complex_like<T>) {
            return static_cast<double>(Side == side::left ? of(line, l) : of(l, line));
        } else {
            T const z = Side == side::left ? of(line / 2, l / 2) : of(l / 2, line);
            auto const re = static_cast<double>(z.real()), im = static_cast<double>(z.imag());
            bool const imaginary = (Side == side::left ? line + l : l) % 2 != 0;
            bool const minus = (Side == side::left && l % 2 != 0) != of.conjugate;
            return !imaginary ? re : minus ? -im : im;
        }
    }
};

// On the host, columns of a real B are rows of its transpose, so that both operands share their code.
template <class T, class Space>
using right_lines =
    lines<T, complex_like<T> || !std::is_same_v<Space, host_memory> ? side::right : side::left, Space>;
template <class T, class Space>
right_lines<T, Space> right_lines_of(view<T const, Space> const& b) {
    if constexpr (right_lines<T, Space>::is_left)
        return {transposed(b)};
    else
        return {b};
}

// ---- what is known of a line -----------------------------------------------------------------------------

// One column of a table for each; E is `exponent`.
enum quantity : index_t {
    peak,       // where the largest element is, or one of the two below
    exponent,   // E: the least with |x| < 2^E for all x
    sum,        // of |x| 2^-E, not less than it
    squares,    // of (x 2^-E)^2, likewise
    lowest_set, // the exponent of the lowest bit that is set in any element
    ceiling,    // max |A||B| over all crossing lines f, in 2^(E + E_f - 14), not less than it
    spread, // max over f of (sum of f) 2^(E + E_f) / |A||B|: what scaling f loses may count for so much more
    thinnest, // max over f of 2^(E + E_f) / |A||B|
    quantities
};
inline constexpr double all_zero = -1, not_finite = -2;

// Where a device keeps the table and the shifts of its lines; `measured` has copies of both in host memory.
template <class Space>
struct device_tables {
    typename Space::template handle<double> table{};
    typename Space::template handle<std::int32_t> shift{};
};
template <>
struct device_tables<host_memory> {};

// Lines with their table, and the powers of two that scale them.
template <class Lines>
struct measured {
    // A device also keeps |x| 2^-E of the largest element, since the host cannot read the element there, and 1 / sum.
    static constexpr bool on_host = std::is_same_v<typename Lines::space, host_memory>;
    static constexpr index_t columns = on_host ? index_t{quantities} : quantities + 2;

    Lines line;
    view<double> table;
    view<std::int32_t> shift;
    [[no_unique_address]] device_tables<typename Lines::space> there{};

    double operator()(index_t i, quantity what) const { return table(i, what); }

    // What was found with vectors (host_survey.hpp).
    template <class Facts>
    void take(index_t i, Facts const& f) const {
        auto const length = static_cast<double>(line.length());
        auto const total = [&](double const* p) {
            index_t const s = f.step;
            double const x =
                ((p[0] + p[4 * s]) + (p[2 * s] + p[6 * s])) + ((p[s] + p[5 * s]) + (p[3 * s] + p[7 * s]));
            return x * (1 + (length + 2) * 0x1p-52);
        };
        bool const finite = f.largest < 0x7ff0000000000000, used = finite && f.largest != 0;
        table(i, peak) = used ? static_cast<double>(f.at) : finite ? all_zero : not_finite;
        table(i, exponent) = used ? static_cast<double>(f.exponent) : 0;
        table(i, sum) = used ? total(f.sum) : 0;
        table(i, squares) = used ? total(f.squares) : 0;
        table(i, lowest_set) = used ? exponent_of(f.lowest) - 1 : 0;
    }

    int power_of(index_t i) const { return static_cast<int>(table(i, exponent)); }

    double ceiling_of(index_t i, double most) const {
        return most == 0 ? 0 : most + 128 * table(i, sum) + static_cast<double>(line.length());
    }

    // |x| 2^-E for the largest element of line i.
    double largest(index_t i) const {
        if constexpr (on_host)
            return scaled_down(i, static_cast<index_t>(table(i, peak)));
        else
            return table(i, quantities);
    }
    // |x| 2^-E for element l of line i.
    double scaled_down(index_t i, index_t l) const {
        return times_power(__builtin_fabs(line(i, l)), -power_of(i));
    }
};

// The quantities that a line has by itself.
template <class Lines>
struct measure {
    measured<Lines> of;

    double operator()(double, index_t i, index_t what) const {
        index_t const length = of.line.length();
        if (what == peak) {
            double largest = 0, at = all_zero;
            for (index_t l = 0; l < length; ++l) {
                double const x = __builtin_fabs(of.line(i, l));
                if (!is_finite(x)) return not_finite;
                if (x > largest) largest = x, at = static_cast<double>(l);
            }
            return at;
        }
        double const at = of(i, peak);
        if (at < 0) return 0;
        if (what == exponent) return exponent_of(of.line(i, static_cast<index_t>(at)));
        if (what == lowest_set) {
            int lowest = 2000;
            for (index_t l = 0; l < length; ++l) {
                double const x = of.line(i, l);
                if (x == 0) continue;
                int const bit = lowest_bit(x);
                if (bit < lowest) lowest = bit;
            }
            return lowest;
        }
        double part[8] = {}; // as vectors do it, for the same bits
        for (index_t l = 0; l < length; ++l) {
            double const x = of.scaled_down(i, l);
            part[l % 8] = what == sum ? part[l % 8] + x : __builtin_fma(x, x, part[l % 8]);
        }
        double const total =
            ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
        return total * (1 + static_cast<double>(length + 2) * 0x1p-52);
    }
};

// The leading seven bits of |x|, counted from the largest of its line; what they lack is below one.
template <class Lines>
struct leading_bits {
    measured<Lines> of;
    index_t first; // of the elements of a line that are wanted

    std::int32_t operator()(std::int32_t, index_t i, index_t l) const {
        return static_cast<std::int32_t>(
            times_power(__builtin_fabs(of.line(i, first + l)), 7 - of.power_of(i)));
    }
};

// Of |A||B| for two lines, with their scales taken off: one term or none, and all.
template <class Mine, class Other>
double term(Mine const& x, Other const& y, index_t i, index_t j, index_t l) {
    if (x.line(i, l) == 0 || y.line(j, l) == 0) return 0;
    double const size = x.scaled_down(i, l) * y.scaled_down(j, l);
    return size > 0x1p-1000 ? size : 0x1p-1000; // not nothing, but hopeless
}
template <class Mine, class Other>
double one_term(double share, Mine const& x, Other const& y, index_t i, index_t j) {
    double const mine = term(x, y, i, j, static_cast<index_t>(x(i, peak))),
                 other = term(x, y, i, j, static_cast<index_t>(y(j, peak)));
    if (mine > share) share = mine;
    return other > share ? other : share;
}
template <class Mine, class Other>
double all_terms(Mine const& x, Other const& y, index_t i, index_t j) {
    double share = 0;
    for (index_t l = 0; l < x.line.length(); ++l) share += term(x, y, i, j, l);
    return share / (1 + static_cast<double>(x.line.length() + 2) * 0x1p-52);
}
inline constexpr index_t most_looked = 8; // times all, for a line

// The quantities that depend on the crossing lines, from Q, the product of leading bits:
//   Q <= |A||B| 2^(14 - E - E_f) < Q + 128 (sum of i) + 128 (sum of f) + length.
template <class Mine, class Other>
struct cross {
    measured<Mine> of;
    measured<Other> others;
    view<double const> q; // q(i, j): line i crosses line j

    double operator()(double, index_t i, index_t what) const {
        if (of(i, peak) < 0) return 0;
        double most = 0, least = infinite<double>();
        index_t looked = 0;
        for (index_t j = 0; j < others.line.count(); ++j) {
            if (others(j, peak) < 0) continue;
            if (what == ceiling) {
                double const x = q(i, j) + 128 * others(j, sum);
                if (x > most) most = x;
                continue;
            }
            double share = q(i, j) * 0x1p-14;
            if (q(i, j) < 32) share = closer(share, i, j, looked);
            if (share == 0) continue; // they have no term in common: their product is exact
            if (share < 0) return infinite<double>();
            if (what == spread) share *= 1 / others(j, sum);
            if (share < least) least = share;
        }
        return what == ceiling ? of.ceiling_of(i, most) : (1 + 0x1p-50) / least;
    }

private:
    // A better lower bound of |A||B| for lines with little in common: one term, or all. Negative when all
    // have been asked for too often: where zeros abound, that would be as much work as the product.
    double closer(double share, index_t i, index_t j, index_t& looked) const {
        share = one_term(share, of, others, i, j);
        if (share > 0) return share;
        return ++looked > most_looked ? -1 : all_terms(of, others, i, j);
    }
};

// The same, for one pass over Q (host_survey.hpp).
template <class Left, class Right>
struct crossing {
    measured<Left> left;
    measured<Right> right;
    view<std::int32_t> left_looked, right_looked; // zeros at first

    bool left_counts(index_t i) const { return left(i, peak) >= 0; }
    bool right_counts(index_t j) const { return right(j, peak) >= 0; }
    double left_sum(index_t i) const { return left(i, sum); }
    double right_sum(index_t j) const { return right(j, sum); }

    // In units of Q; infinite where lines have no term in common.
    struct pair {
        double left, right;
    };
    pair shares(index_t i, index_t j, std::int32_t q) const {
        double const none = infinite<double>();
        double const share = one_term(q * 0x1p-14, left, right, i, j);
        if (share > 0) return {share * 0x1p14, share * 0x1p14};
        bool const mine = __atomic_add_fetch(&left_looked(i, 0), 1, __ATOMIC_RELAXED) <= most_looked,
                   other = __atomic_add_fetch(&right_looked(j, 0), 1, __ATOMIC_RELAXED) <= most_looked;
        double all = 0;
        if (mine || other) all = all_terms(left, right, i, j) * 0x1p14;
        if (all == 0) all = none;
        return {mine ? all : 0, other ? all : 0};
    }
    void take_left(index_t i, double most, double least) const { put(left, i, most, least); }
    void take_right(index_t j, double most, double least) const { put(right, j, most, least); }

private:
    template <class Lines>
    static void put(measured<Lines> const& x, index_t i, double most, double least) {
        bool const counts = x(i, peak) >= 0;
        x.table(i, ceiling) = counts ? x.ceiling_of(i, most) : 0;
        x.table(i, spread) = counts ? (1 + 0x1p-50) / (least * 0x1p-14) : 0;
    }
};

// ---- scales ----------------------------------------------------------------------------------------------

// Shifts with which no element of A'B' leaves the range of the residues, (2^s |a| + 1/2) (2^t |b| + 1/2)
// summed up to room^2: from norms, by Cauchy's and Minkowski's inequalities; from the product of leading
// bits, by an element of it that is at most (f + 1)(g + 1) for seven bits f and g. The first form for any
// count, the second from 7.
template <class Lines>
struct scale_by_norms {
    measured<Lines> of;
    double room;
    std::int32_t operator()(std::int32_t, index_t i, index_t) const {
        if (of(i, peak) < 0) return 0;
        double const half = 0.5 * __builtin_sqrt(static_cast<double>(of.line.length()));
        return exponent_of((room - half) / __builtin_sqrt(of(i, squares))) - 1 - of.power_of(i);
    }
};
template <class Lines>
struct scale_by_product {
    measured<Lines> of;
    double room;
    std::int32_t operator()(std::int32_t, index_t i, index_t) const {
        if (of(i, peak) < 0) return 0;
        double const most = of(i, ceiling) > 1 ? of(i, ceiling) : 1;
        return exponent_of(room / __builtin_sqrt(most) - 0.5) - 1 + 7 - of.power_of(i);
    }
};

// The first digit has seven bits and a sign. Elements near 2^E would round up to an eighth; they take one bit
// less.
template <class Lines>
struct scale_of_slices {
    measured<Lines> of;
    int count;
    std::int32_t operator()(std::int32_t, index_t i, index_t) const {
        if (of(i, peak) < 0) return 0;
        bool const full = of.largest(i) >= 1 - 0x1p-7;
        return 7 - of.power_of(i) - full + 8 * (count - 1);
    }
};

// ---- planes of int8 --------------------------------------------------------------------------------------

// One operand with all that depends on it alone, kept for many products: what was measured, its scales, and its
// residues modulo one modulus after another, as packed tiles or as matrices of int8; on a device these of one part of
// k after another.
template <class Lines>
struct kept_lines {
    measured<Lines> of;
    typename Lines::space::template handle<std::byte> residues;
};

// Elements scaled to integers, and of these one digit or one residue.
template <class Lines>
struct digits {
    measured<Lines> of;
    index_t first;
    int position;

    std::int32_t operator()(std::int32_t, index_t i, index_t l) const {
        return digit(scaled(of.line(i, first + l), of.shift(i, 0)), position);
    }
};
template <class Lines>
struct residues {
    measured<Lines> of;
    index_t first;
    modulus mod;

    std::int32_t operator()(std::int32_t, index_t i, index_t l) const {
        return mod.centred(scaled(of.line(i, first + l), of.shift(i, 0)));
    }
};

// ---- products of planes ----------------------------------------------------------------------------------

template <class Space>
struct add_integers {
    view<std::int32_t const, Space> x;
    double operator()(double total, index_t i, index_t j) const { return total + x(i, j); }
};

template <class Space>
struct add_residues {
    view<std::int32_t const, Space> x;
    modulus mod;
    int weight;
    std::int32_t operator()(std::int32_t total, index_t i, index_t j) const {
        return mod.centred(std::int64_t{weight} * x(i, j) + total);
    }
};

// total += x factor, in two doubles: first what the sum will lose goes to the low one, then x to the high
// one.
template <class Space>
struct add_lost {
    view<std::int32_t const, Space> x;
    view<double const, Space> high;
    double factor;
    double operator()(double low, index_t i, index_t j) const {
        twofold total{high(i, j), low};
        total.add(x(i, j) * factor);
        return total.low;
    }
};
template <class Space>
struct add_high {
    view<std::int32_t const, Space> x;
    double factor;
    double operator()(double high, index_t i, index_t j) const { return high + x(i, j) * factor; }
};

// ---- the way back ----------------------------------------------------------------------------------------

template <class Space>
struct from_digits {
    view<double const, Space> high, low;
    twofold operator()(index_t i, index_t j) const { return {high(i, j), low(i, j)}; }
};
template <class Space>
struct from_residues {
    residue_system system;
    view<std::int8_t const, Space> weighted; // one matrix after another
    index_t step;
    twofold operator()(index_t i, index_t j) const {
        std::int8_t const* const first = &weighted(i, j);
        return system.integer_of([&](int r) -> int { return first[r * step]; });
    }
};

// C = epilogue(alpha X 2^-(shifts) + beta E), whose argument is rounded once.
template <class Problem, class Sum>
struct finish {
    using S = typename Problem::scalar;
    using R = real_t<S>;

    Problem p;
    Sum integers;
    view<std::int32_t const> left, right; // shifts
    int exponent;

    S operator()(S, index_t i, index_t j) const {
        return apply_epilogue(p.epilogue, rounded(i, j), p.row0 + i, p.col0 + j);
    }

private:
    S rounded(index_t i, index_t j) const {
        S e{};
        if (p.beta != S(0)) e = p.e.conjugate ? conjugate(p.e(i, j)) : p.e(i, j);
        if constexpr (complex_like<S>) {
            twofold const re = unscaled(2 * i, j), im = unscaled(2 * i + 1, j);
            return S(total({p.alpha.real(), -p.alpha.imag()}, {re, im}, {p.beta.real(), -p.beta.imag()}, e),
                     total({p.alpha.imag(), p.alpha.real()}, {re, im}, {p.beta.imag(), p.beta.real()}, e));
        } else {
            twofold r;
            r.add_product(p.alpha, unscaled(i, j));
            if (p.beta != S(0)) r.add_product(p.beta, e);
            return static_cast<S>(r.value());
        }
    }

    struct factors {
        R x, y;
    };
    struct sums {
        twofold x, y;
    };
    R total(factors alpha, sums ab, factors beta, S e) const {
        twofold r;
        r.add_product(alpha.x, ab.x), r.add_product(alpha.y, ab.y);
        if (p.beta != S(0)) r.add_product(beta.x, e.real()), r.add_product(beta.y, e.imag());
        return static_cast<R>(r.value());
    }
    twofold unscaled(index_t i, index_t j) const {
        twofold const x = integers(i, j);
        int const e = exponent - left(i, 0) - right(j, 0);
        return {times_power(x.high, e), times_power(x.low, e)};
    }
};

// ---- a product by residues, in one pass (host_residues.hpp) ----------------------------------------------

template <class Problem>
struct residue_job {
    using element = typename Problem::scalar;

    Problem const& problem;
    lines<element, side::left> left;
    right_lines<element, host_memory> right;
    view<std::int32_t const> left_shift, right_shift; // x 2^shift is to be rounded to an integer,
    int bits;                                         // at most 2^bits in magnitude
    residue_system const& system;
    std::byte *left_packed = nullptr, *right_packed = nullptr; // if the operand was packed before

    // Out of line, since in code for another instruction set a compiler might contract what it does not here.
    //
    // C from (i, j) on, of whole elements, from integers that are each a sum of two doubles, `row` apart.
    [[gnu::noinline]] void store(index_t i, index_t j, index_t rows, index_t cols, double const* high,
                                 double const* low, index_t row) const {
        struct given {
            double const *high, *low;
            index_t row;
            twofold operator()(index_t r, index_t c) const { return {high[r * row + c], low[r * row + c]}; }
        };
        constexpr index_t p = parts<element>;
        finish<Problem, given> const f{problem.part(i / p, j, 0, rows / p, cols, 0),
                                       {high, low, row},
                                       left_shift.block(i, 0, rows, 1),
                                       right_shift.block(j, 0, cols, 1),
                                       0};
        for (index_t r = 0; r < rows / p; ++r)
            for (index_t c = 0; c < cols; ++c) f.p.c(r, c) = f(element{}, r, c);
    }
    // The epilogue alone, for elements of C that were written without it.
    [[gnu::noinline]] void finish_block(index_t i, index_t j, index_t rows, index_t cols) const {
        for (index_t r = i; r < i + rows; ++r)
            for (index_t c = j; c < j + cols; ++c) {
                element& x = problem.c(r, c);
                x = apply_epilogue(problem.epilogue, x, problem.row0 + r, problem.col0 + c);
            }
    }
    static constexpr bool finishes = !std::is_same_v<typename Problem::epilogue_type, identity>;
};

} // namespace ozaki_parts

STRATAGEMM_END
