// One product tried on one policy: the engine of the conformance suite and of the fuzzer.
//
// A trial says in small numbers what the operands look like. prepare() lays them out in buffers whose other
// bytes are poison, and computes what must come out in wider arithmetic; try_on() runs a policy and says what
// is wrong with what it did. The oracle is written here anew, so that sg::reference is under test as well.
#pragma once

#include "random.hpp"

#include <stratagemm/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace trials {

namespace sg = stratagemm;
using sg::index_t;
using support::make;
using support::random_source;

// ---- what a trial is -------------------------------------------------------------------------------------

// How a matrix lies in its buffer: as a part of a larger one, with steps and gaps, forwards or backwards.
struct form {
    bool by_columns = false;
    int step = 1; // between neighbours along the inner side
    int gap = 0;  // between lines
    bool rows_back = false, cols_back = false;
    bool turned = false;      // stored as its transpose and turned by transposed()
    int above = 0, below = 0; // rows of the matrix that it is a block of
    int left = 0, right = 0;  // and columns
    int before = 0;           // elements ahead of it all, so that alignment varies
};

enum class values {
    random,       // uniform in [-1, 1]
    integers,     // small enough for every sum to be exact
    positive,     // uniform in [1/2, 1]: sums grow, and their roundings with them
    spread,       // magnitudes over many binades
    cancellation, // sums much smaller than their terms
    tiny,         // subnormal elements of A and E, small integers in B; factors are to be exact
};
enum class factor { zero, one, minus_one, other };
enum class added { in_place, same_view, apart };

struct trial {
    index_t m = 1, n = 1, k = 1, count = 1;
    form a, b, c, e;
    bool repeat_a = false, repeat_b = false; // one operand for the whole batch
    int batch_gap = 0;
    factor alpha = factor::one, beta = factor::zero;
    int scale_a = 0, scale_b = 0, scale_e = 0; // 0: not scaled
    bool conjugate_a = false, conjugate_b = false, conjugate_e = false;
    added e_is = added::in_place;
    values data = values::random;
    int specials = 0; // how many elements of A and B are Inf or NaN
    std::uint64_t seed = 1;
};

// How many threads policies over the host have in their turn, which is the seed of a trial where it has one.
inline int threads_in(std::uint64_t turn) { return 1 + static_cast<int>(turn % 7); }

// Source has below(n): random_source, or the bytes of a fuzzer.
template <class Source>
form draw_form(Source& from) {
    form f;
    f.by_columns = from.below(2) == 1;
    if (from.below(3) == 0) f.step = 2 + from.below(2);
    if (from.below(2) == 0) f.gap = from.below(6);
    f.rows_back = from.below(5) == 0;
    f.cols_back = from.below(5) == 0;
    f.turned = from.below(3) == 0;
    if (from.below(3) == 0) {
        f.above = from.below(3), f.below = from.below(3);
        f.left = from.below(3), f.right = from.below(3);
    }
    f.before = from.below(4);
    return f;
}

// Everything but the sizes.
template <class Source>
trial draw_trial(Source& from) {
    trial t;
    t.a = draw_form(from), t.b = draw_form(from), t.c = draw_form(from), t.e = draw_form(from);
    if (from.below(12) == 11) {
        t.count = from.below(4);
        t.repeat_a = from.below(3) == 0, t.repeat_b = from.below(3) == 0;
        t.batch_gap = from.below(3);
    }
    auto draw_factor = [&] {
        int const x = from.below(8);
        return x < 3 ? factor::one : x == 3 ? factor::minus_one : x == 4 ? factor::zero : factor::other;
    };
    t.alpha = draw_factor();
    if (from.below(2) == 0) t.beta = draw_factor();
    if (from.below(6) == 0) t.scale_a = 1 + from.below(2);
    if (from.below(6) == 0) t.scale_b = 1 + from.below(2);
    if (from.below(6) == 0) t.scale_e = 1 + from.below(2);
    t.conjugate_a = from.below(3) == 0, t.conjugate_b = from.below(3) == 0,
    t.conjugate_e = from.below(3) == 0;
    t.e_is = static_cast<added>(from.below(3));
    t.data = static_cast<values>(from.below(5));
    t.seed = static_cast<std::uint64_t>(from.below(1 << 30));
    return t;
}

inline std::string describe(form const& f) {
    std::ostringstream s;
    s << (f.by_columns ? "col" : "row") << (f.turned ? "^T" : "") << " step " << f.step << " gap " << f.gap
      << (f.rows_back ? " rows back" : "") << (f.cols_back ? " cols back" : "") << " in " << f.above << ','
      << f.below << ',' << f.left << ',' << f.right << " at " << f.before;
    return s.str();
}
inline std::string describe(trial const& t) {
    char const* const kinds[] = {"random", "integers", "positive", "spread", "cancellation", "tiny"};
    char const* const factors[] = {"0", "1", "-1", "other"};
    char const* const places[] = {"in place", "same view", "apart"};
    std::ostringstream s;
    s << t.m << " x " << t.n << " x " << t.k << ", count " << t.count << (t.repeat_a ? ", A repeated" : "")
      << (t.repeat_b ? ", B repeated" : "") << ", alpha " << factors[static_cast<int>(t.alpha)] << ", beta "
      << factors[static_cast<int>(t.beta)] << ", E " << places[static_cast<int>(t.e_is)] << ", scales "
      << t.scale_a << ',' << t.scale_b << ',' << t.scale_e << ", conjugate " << t.conjugate_a << t.conjugate_b
      << t.conjugate_e << ", " << kinds[static_cast<int>(t.data)] << ", specials " << t.specials << ", seed "
      << t.seed << " (" << threads_in(t.seed) << " threads)"
      << "\n    A " << describe(t.a) << "\n    B " << describe(t.b) << "\n    C " << describe(t.c)
      << "\n    E " << describe(t.e);
    return s.str();
}

// ---- numbers ---------------------------------------------------------------------------------------------

// Two element types of operands, where one is expected.
template <class A, class B>
struct two_types {};
template <class T>
struct operands_of {
    using a = T;
    using b = T;
};
template <class A, class B>
struct operands_of<two_types<A, B>> {
    using a = A;
    using b = B;
};

} // namespace trials
template <class A, class B>
struct stratagemm::accumulator<trials::two_types<A, B>> {
    using type = accumulator_t<wider_t<A, B>>;
};
namespace trials {

// What the oracle computes in: at least eleven bits more than sums of T are kept in.
template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T>, std::int64_t,
                                  std::conditional_t<sizeof(sg::real_t<T>) == 8, long double, double>>;

// A number of the oracle; im stays 0 for real types.
template <class W>
struct number {
    W re = 0, im = 0;

    friend number operator+(number x, number y) { return {x.re + y.re, x.im + y.im}; }
    friend number operator*(number x, number y) {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
    number conjugated() const { return {re, -im}; }
};
template <class W, class T>
number<W> widen(T const& x) {
    if constexpr (sg::complex_like<T>)
        return {static_cast<W>(x.real()), static_cast<W>(x.imag())};
    else if constexpr (std::is_integral_v<T>)
        return {static_cast<W>(x), 0};
    else
        return {static_cast<W>(static_cast<sg::real_t<T>>(x)), 0};
}
template <class W>
double size_of(number<W> x) {
    auto const re = static_cast<double>(x.re), im = static_cast<double>(x.im);
    if (im == 0) return std::abs(re);
    // hypot takes several times as long, and is needed only where squares leave the range of double.
    double const squares = re * re + im * im;
    return squares > 0x1p-900 && squares < 0x1p900 ? std::sqrt(squares) : std::hypot(re, im);
}

// What must not be used: NaN where there is one.
template <class T>
T poison() {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(0x5a5a5a5a & std::numeric_limits<T>::max());
    else
        return make<T>(std::nan(""), std::nan(""));
}

// A value of S for a factor. The odd ones are inexact in binary unless the trial is to be exact.
template <class S>
S value_of(factor f, bool exact, bool for_beta) {
    double const other = exact || std::is_integral_v<S> ? (for_beta ? -3 : 2) : for_beta ? -1.3 : 0.7;
    switch (f) {
    case factor::zero: return make<S>(0);
    case factor::one: return make<S>(1);
    case factor::minus_one: return make<S>(-1);
    case factor::other: break;
    }
    return make<S>(other, exact ? 1 : 0.4);
}
// Factors of scaled(): powers of two (times i), so that their product with alpha is exact.
template <class S>
S scale_value(int which) {
    if (which == 1) return make<S>(-2);
    return std::is_integral_v<S> ? make<S>(3) : make<S>(sg::complex_like<S> ? 0 : 0.5, 2);
}

// The largest integer up to which all of them are exact in T, within what is wanted here.
template <class T>
constexpr double exact_up_to() {
    if constexpr (std::is_integral_v<T>)
        return 0x1p31;
    else
        return 1 / sg::unit_roundoff<T>();
}
template <class T>
double smallest() { // rounding to a subnormal is not in any bound
    if constexpr (std::is_same_v<T, sg::half>)
        return 0x1p-24;
    else if constexpr (std::is_integral_v<T>)
        return 0;
    else
        return static_cast<double>(std::numeric_limits<sg::real_t<T>>::denorm_min());
}

// ---- operands --------------------------------------------------------------------------------------------

// A batch of matrices in a buffer of exactly the needed size, every other element of it poison.
template <class T>
class placed {
public:
    placed() = default;
    placed(form const& f, index_t rows, index_t cols, index_t count, index_t batch_gap, bool repeated)
        : count_(count), repeated_(repeated) {
        index_t const m = f.turned ? cols : rows, n = f.turned ? rows : cols;
        index_t const R = m + f.above + f.below, C = n + f.left + f.right;
        index_t const inner = f.by_columns ? R : C, outer = f.by_columns ? C : R;
        index_t const line = inner * f.step + f.gap;
        index_t const whole = outer * line;
        step_ = repeated ? 0 : whole + batch_gap;
        index_t const stored = repeated ? std::min<index_t>(count, 1) : count;
        buffer_.assign(static_cast<std::size_t>(f.before + stored * (whole + batch_gap)), poison<T>());
        index_t rs = f.by_columns ? f.step : line, cs = f.by_columns ? line : f.step;
        T* p = buffer_.data() + f.before;
        if (R > 0 && C > 0 && stored > 0) {
            if (f.rows_back) p += (R - 1) * rs;
            if (f.cols_back) p += (C - 1) * cs;
        }
        if (f.rows_back) rs = -rs;
        if (f.cols_back) cs = -cs;
        view_ = sg::strided(p, R, C, rs, cs);
        // Without a buffer there is no address to move on from.
        if (stored > 0)
            view_ = view_.block(f.above, f.left, m, n);
        else
            view_.rows = m, view_.cols = n;
        if (f.turned) view_ = sg::transposed(view_);
    }

    T& operator()(index_t b, index_t i, index_t j) { return (&view_(i, j))[b * step_]; }
    T const& operator()(index_t b, index_t i, index_t j) const { return (&view_(i, j))[b * step_]; }
    sg::view<T> view() const { return view_; }
    index_t step() const { return step_; }
    index_t rows() const { return view_.rows; }
    index_t cols() const { return view_.cols; }
    index_t stored() const { return repeated_ ? std::min<index_t>(count_, 1) : count_; }

    // f(element, b, i, j) for each stored element.
    template <class F>
    void each(F&& f) {
        for (index_t b = 0; b < stored(); ++b)
            for (index_t i = 0; i < rows(); ++i)
                for (index_t j = 0; j < cols(); ++j) f((*this)(b, i, j), b, i, j);
    }

    std::vector<T> const& bytes() const { return buffer_; }
    void restore(std::vector<T> const& from) { // keeps the address
        if (!from.empty())
            std::memcpy(static_cast<void*>(buffer_.data()), from.data(), from.size() * sizeof(T));
    }
    // Whether the buffer is `before` in every byte that is not of an element.
    bool guards_hold(std::vector<T> before) {
        index_t const base = buffer_.empty() ? 0 : &view_.data[0] - buffer_.data();
        each([&](T& x, index_t b, index_t i, index_t j) {
            before[static_cast<std::size_t>(base + b * step_ + i * view_.row_stride + j * view_.col_stride)] =
                x;
        });
        return same_bytes(before);
    }
    bool same_bytes(std::vector<T> const& other) const {
        return buffer_.empty() || std::memcmp(buffer_.data(), other.data(), buffer_.size() * sizeof(T)) == 0;
    }

private:
    std::vector<T> buffer_;
    sg::view<T> view_;
    index_t count_ = 0;
    index_t step_ = 0;
    bool repeated_ = false;
};

// Uniform in magnitude and sign as the kind asks; full range for int8.
template <class T, bool StaysNarrow>
T draw_value(random_source& from, values kind) {
    return support::make_by<T>([&]() -> double {
        if constexpr (std::is_integral_v<T>) {
            if (sizeof(T) == 1 && StaysNarrow) return from.below(5) - (kind == values::positive ? 0 : 2);
            if (sizeof(T) == 1 && kind == values::positive) return 64 + from.below(64);
            if (sizeof(T) == 1 && kind != values::integers) return from.below(256) - 128;
            return from.below(2001) - 1000;
        }
        switch (kind) {
        case values::integers: { // few of them not zero: sums stay within 8 bits
            int const x = from.below(8);
            return x == 0 ? 1 : x == 1 ? -1 : 0;
        }
        case values::positive: return from.uniform(0.5, 1);
        case values::spread: {
            int const reach = StaysNarrow || sg::is_fp8<T> ? 3
                              : sizeof(T) == 2             ? 6
                              : sizeof(sg::real_t<T>) == 8 ? 200
                                                           : 20;
            return from.over_binades(-reach, reach);
        }
        case values::tiny: return smallest<T>() * (from.below(2001) - 1000);
        default: return from.uniform(-1, 1);
        }
    });
}

// ---- a trial made concrete -------------------------------------------------------------------------------

// For those who compare results with one another only.
struct unsolved_t {};
inline constexpr unsolved_t unsolved{};

template <class TA, class TC>
struct prepared {
    using A = typename operands_of<TA>::a;
    using B = typename operands_of<TA>::b;
    using problem = sg::dense_problem<A, B, TC>;
    using S = typename problem::scalar;
    using W = wide_t<S>;

    trial what;
    placed<A> a;
    placed<B> b;
    placed<TC> e, c;
    std::vector<A> a_before;
    std::vector<B> b_before;
    std::vector<TC> e_before, c_before;
    problem call;

    std::vector<number<W>> exact; // alpha A B + beta E
    std::vector<double> terms;    // |alpha| |A||B| + |beta E|
    double norm = 0;              // |alpha| k max|A| max|B| + max|beta E|
    double largest = 0;           // of |alpha| |A||B| + |beta E|, where sums of integers must stay
    bool is_exact = false;        // every sum is exact in TC, whatever its order

    explicit prepared(trial const& t) : prepared(t, unsolved) { solve(); }
    prepared(trial const& t, unsolved_t) : what(t) {
        lay_out();
        state();
    }

private:
    void lay_out() {
        trial const& t = what;
        a = {t.a, t.m, t.k, t.count, t.batch_gap, t.repeat_a};
        b = {t.b, t.k, t.n, t.count, t.batch_gap, t.repeat_b};
        c = {t.c, t.m, t.n, t.count, t.batch_gap, false};
        e = {t.e, t.m, t.n, t.e_is == added::apart ? t.count : 0, t.batch_gap, false};
        constexpr bool narrow = std::is_same_v<TC, sg::half>;
        random_source from(t.seed);
        bool const reads_ab = t.alpha != factor::zero, reads_e = t.beta != factor::zero;
        bool const pairs = t.data == values::cancellation && !std::is_integral_v<A> && !std::is_integral_v<B>;
        if (reads_ab) {
            // For cancellation, the terms of each sum come in pairs of (almost) opposite ones.
            a.each([&](A& x, index_t s, index_t i, index_t l) {
                x = draw_value < A, narrow && !std::is_integral_v < S >> (from, t.data);
                if (pairs && l % 2 == 1) x = negated(a(s, i, l - 1));
            });
            b.each([&](B& x, index_t s, index_t l, index_t j) {
                values const kind = t.data == values::tiny ? values::integers : t.data;
                x = draw_value < B, narrow && !std::is_integral_v < S >> (from, kind);
                if (pairs && l % 2 == 1 && from.below(4) != 0) x = b(s, l - 1, j);
            });
        }
        for (int planted = 0; planted < t.specials && t.m * t.n * t.k * t.count > 0; ++planted) {
            double const odd[] = {std::nan(""), INFINITY, -INFINITY};
            auto plant = [&](auto& matrix) {
                int const i = from.below(static_cast<int>(matrix.rows()));
                int const j = from.below(static_cast<int>(matrix.cols()));
                auto& x = matrix(0, i, j);
                x = make<std::remove_reference_t<decltype(x)>>(odd[from.below(3)], 1);
            };
            // Integers have none.
            if (std::is_integral_v<B> || (from.below(2) == 0 && !std::is_integral_v<A>))
                plant(a);
            else
                plant(b);
        }
        if (reads_e) {
            auto fill = [&](TC& x, index_t, index_t, index_t) { x = draw_value<TC, narrow>(from, t.data); };
            if (t.e_is == added::apart)
                e.each(fill);
            else
                c.each(fill);
        }
        a_before = a.bytes(), b_before = b.bytes(), e_before = e.bytes(), c_before = c.bytes();
    }
    static A negated(A const& x) {
        if constexpr (sg::complex_like<A>)
            return A(-x.real(), -x.imag());
        else
            return static_cast<A>(-static_cast<S>(x));
    }

    S alpha() const { return value_of<S>(what.alpha, what.data == values::integers, false); }
    S beta() const { return value_of<S>(what.beta, what.data == values::integers, true); }

    // The call as a user writes it, in one of its forms.
    void state() {
        trial const& t = what;
        auto dress = [](auto v, int scale, bool conjugate) {
            if (scale) v = sg::scaled(scale_value<typename std::remove_cvref_t<decltype(v.scale)>>(scale), v);
            if (conjugate) v = sg::conjugated(v);
            return v;
        };
        sg::view<A const> const left = dress(a.view(), t.scale_a, t.conjugate_a);
        sg::view<B const> const right = dress(b.view(), t.scale_b, t.conjugate_b);
        auto const where = t.e_is == added::apart ? e.view() : c.view();
        sg::view<TC const> const E = dress(where, t.scale_e, t.conjugate_e);
        auto const C = c.view();
        bool const plain_e = t.e_is == added::in_place && !t.scale_e && !t.conjugate_e;
        if (t.count != 1 || t.seed % 5 == 0) {
            auto const bA = sg::batched(left, t.count, a.step());
            auto const bB = sg::batched(right, t.count, b.step());
            auto const bE = sg::batched(E, t.count, t.e_is == added::apart ? e.step() : c.step());
            auto const bC = sg::batched(C, t.count, c.step());
            if (t.repeat_a)
                call = sg::product(alpha(), left, bB, beta(), bE, bC); // a single one is repeated
            else
                call = sg::product(alpha(), bA, bB, beta(), bE, bC);
        } else if (t.alpha == factor::one && t.beta == factor::zero) {
            call = sg::product(left, right, C);
        } else if (t.alpha == factor::one && t.beta == factor::one) {
            call = sg::product(left, right, E, C);
        } else if (plain_e) {
            call = sg::product(alpha(), left, right, beta(), C);
        } else {
            call = sg::product(alpha(), left, right, beta(), E, C);
        }
    }

    void solve() {
        trial const& t = what;
        using N = number<W>;
        auto value_of = [](N x, N scale, bool conjugate) {
            return conjugate ? scale.conjugated() * x.conjugated() : scale * x;
        };
        auto scale_of = [](int which, auto const& matrix) {
            using T = std::remove_cvref_t<decltype(matrix.view().scale)>;
            return which ? widen<W>(scale_value<T>(which)) : N{1, 0};
        };
        bool const reads_ab = t.alpha != factor::zero && t.k > 0, reads_e = t.beta != factor::zero;
        N const al = widen<W>(alpha()), be = widen<W>(beta());
        auto const cells = static_cast<std::size_t>(t.count * t.m * t.n);
        auto const K = static_cast<std::size_t>(t.k);
        exact.assign(cells, N{});
        terms.assign(cells, 0);
        double max_a = 0, max_b = 0, max_e = 0, max_value = 0;
        // A by rows and B by columns, so that the sums run along memory.
        std::vector<N> x(static_cast<std::size_t>(t.m) * K), y(static_cast<std::size_t>(t.n) * K);
        std::vector<double> ax(x.size()), ay(y.size());
        std::size_t cell = 0;
        for (index_t s = 0; s < t.count; ++s) {
            if (reads_ab) {
                for (index_t i = 0; i < t.m; ++i)
                    for (index_t l = 0; l < t.k; ++l) {
                        auto const at = static_cast<std::size_t>(i * t.k + l);
                        x[at] = value_of(widen<W>(a(t.repeat_a ? 0 : s, i, l)), scale_of(t.scale_a, a),
                                         t.conjugate_a);
                        max_a = std::max(max_a, ax[at] = size_of(x[at]));
                    }
                for (index_t j = 0; j < t.n; ++j)
                    for (index_t l = 0; l < t.k; ++l) {
                        auto const at = static_cast<std::size_t>(j * t.k + l);
                        y[at] = value_of(widen<W>(b(t.repeat_b ? 0 : s, l, j)), scale_of(t.scale_b, b),
                                         t.conjugate_b);
                        max_b = std::max(max_b, ay[at] = size_of(y[at]));
                    }
            }
            for (index_t i = 0; i < t.m; ++i)
                for (index_t j = 0; j < t.n; ++j, ++cell) {
                    N sum;
                    double size = 0;
                    if (reads_ab) {
                        N const *u = x.data() + i * t.k, *v = y.data() + j * t.k;
                        double const *au = ax.data() + i * t.k, *av = ay.data() + j * t.k;
                        for (index_t l = 0; l < t.k; ++l) {
                            if constexpr (sg::complex_like<S>)
                                sum = sum + u[l] * v[l];
                            else
                                sum.re += u[l].re * v[l].re;
                            size += au[l] * av[l];
                        }
                    }
                    exact[cell] = al * sum;
                    terms[cell] = size_of(al) * size;
                    if (reads_e) {
                        N const added_value =
                            be * value_of(widen<W>(t.e_is == added::apart ? e(s, i, j) : c(s, i, j)),
                                          scale_of(t.scale_e, e), t.conjugate_e);
                        exact[cell] = exact[cell] + added_value;
                        terms[cell] += size_of(added_value);
                        max_e = std::max(max_e, size_of(added_value));
                    }
                    largest = std::max(largest, terms[cell]);
                    max_value = std::max(max_value, size_of(exact[cell]));
                }
        }
        norm = size_of(al) * static_cast<double>(t.k) * max_a * max_b + max_e;
        is_exact = std::is_integral_v<S> || (t.data == values::integers && largest < exact_up_to<S>() &&
                                             max_value < exact_up_to<TC>());
    }
};

// ---- the verdict -----------------------------------------------------------------------------------------

struct verdict {
    std::string wrong;   // empty if nothing is
    double observed = 0; // the largest error in the measure of the bound
    bool ran = false;
};

// What C must be where A or B has an Inf or NaN: of the same kind as the exact result. Complex products and
// algorithms with a normwise bound may turn one into the other, and the latter may spread it.
template <class TA, class TC>
void judge_specials(prepared<TA, TC>& p, bool normwise, std::ostringstream& wrong) {
    constexpr bool complex = sg::complex_like<TC>;
    std::size_t cell = 0;
    bool shown = false;
    p.c.each([&](TC& x, index_t, index_t i, index_t j) {
        auto const got = widen<double>(x);
        double const want_re = static_cast<double>(p.exact[cell].re);
        double const want_im = complex ? static_cast<double>(p.exact[cell].im) : 0;
        ++cell;
        bool const odd = !std::isfinite(want_re) || !std::isfinite(want_im);
        bool const got_odd = !std::isfinite(got.re) || !std::isfinite(got.im);
        bool good = odd ? got_odd : normwise || !got_odd;
        if (!complex && !normwise)
            good = std::isnan(want_re) ? std::isnan(got.re) : got.re == want_re || (!odd && !got_odd);
        if (!good && !shown)
            wrong << "  C(" << i << ", " << j << ") is " << got.re << ", should be " << want_re << '\n';
        shown |= !good;
    });
}

// What is wrong with the C of `p` after a call with this bound.
template <class TA, class TC>
verdict judge(prepared<TA, TC>& p, sg::bound bound) {
    using W = typename prepared<TA, TC>::W;
    trial const& t = p.what;
    verdict v;
    v.ran = true;
    std::ostringstream wrong;
    if (!p.a.same_bytes(p.a_before) || !p.b.same_bytes(p.b_before) || !p.e.same_bytes(p.e_before))
        wrong << "  an operand was written to\n";
    if (!p.c.guards_hold(p.c_before)) wrong << "  a byte that is not of C was written\n";
    if (!(bound.expected <= bound.worst))
        wrong << "  expected " << bound.expected << " > worst " << bound.worst << '\n';

    if (t.specials > 0) {
        judge_specials(p, bound.normwise, wrong);
        v.wrong = wrong.str();
        return v;
    }
    bool const tame = t.data == values::random || t.data == values::integers || t.data == values::positive;
    double const limit = tame ? bound.expected : bound.worst;
    bool const is_exact = p.is_exact && bound.confidence == 1; // what holds with a probability is a tolerance
    std::size_t cell = 0;
    int bad = 0;
    p.c.each([&](TC& x, index_t, index_t i, index_t j) {
        number<W> const got = widen<W>(x);
        number<W> want = p.exact[cell];
        if constexpr (std::is_same_v<TC, std::int8_t>) want.re = static_cast<TC>(want.re); // modulo 2^8
        double const scale = bound.normwise ? p.norm : p.terms[cell];
        number<W> const off{got.re - want.re, got.im - want.im};
        double const error = size_of(off);
        bool good = error <= limit * scale + smallest<TC>();
        if (is_exact) good = error == 0;
        if (!good && bad++ == 0)
            wrong << "  C(" << i << ", " << j << ") is " << static_cast<double>(got.re) << " + "
                  << static_cast<double>(got.im) << "i, should be " << static_cast<double>(want.re) << " + "
                  << static_cast<double>(want.im) << "i: error " << error << ", allowed "
                  << (is_exact ? 0.0 : limit * scale) << '\n';
        if (scale > 0) v.observed = std::max(v.observed, error / scale);
        ++cell;
    });
    if (bad > 1) wrong << "  and " << bad - 1 << " more elements\n";
    v.wrong = wrong.str();
    return v;
}

// A bound that is never approached says nothing. `observed` is the largest error seen on random data of either
// kind: with signs errors stay about u, without they grow with the root of k, and one bound has to cover both.
inline bool too_loose(sg::bound bound, double observed) { return bound.expected > 100 * observed; }

// Runs a policy, or what stands for one because its memory is another, on operands of the host.
template <class Policy, class Problem>
sg::status run_on(Policy const& policy, Problem const& call) {
    if constexpr (requires { policy.run(call); })
        return policy.run(call);
    else
        return sg::run(policy, call);
}

// Runs one policy on it and judges.
template <class Policy, class TA, class TC>
verdict try_on(Policy const& policy, prepared<TA, TC>& p) {
    p.c.restore(p.c_before);
    if (sg::status s = run_on(policy, p.call); !s) {
        verdict v;
        v.wrong = std::string("  failed: ") + s.error().what() + '\n';
        return v;
    }
    return judge(p, policy.error_bound(p.call.shape()));
}

} // namespace trials
