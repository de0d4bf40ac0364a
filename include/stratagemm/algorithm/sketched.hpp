// A product by way of a random matrix S with few rows: C = alpha (A S^H) (S B) + beta E. The expected value of S^H S is
// the identity, so that what multiplies alpha is A B on average (Sarlos: Improved approximation algorithms for large
// matrices via random projections, 2006).
//
//   sg::gemm(sg::sketched{cpu, {.tolerance = 0.2}}, a, b, c);                                     normal numbers
//   sg::gemm(sg::sketched{cpu, sg::sketches::sparse_sign{8}, {.tolerance = 0.3}}, a, b, c);       eight signs a column
//
// approximate.hpp has the contract. How many rows S has follows from the tolerance and the confidence alone, whatever A
// and B are; docs/accuracy.md derives it. At 99% it is about 17 / tolerance^2 for normal numbers, and 200 / tolerance^2
// where only the mean square of the error is known, as of signs. Rounding errors of the three products count by the
// estimates of the base. `count` of the report is the number of rows.
//
// The base multiplies by S, and so it is a backend (structure/sketch.hpp). A kind of sketch of your own has
//   make<T>(rows, cols, seed)      an operand of elements T, whose S^H S is the identity on average
//   deviation<T>(rows, confidence) an error, relative to |A||B|, that is exceeded with a probability of at most
//                                  1 - confidence; it is less for more rows
//   multiple()                     rows come in multiples of this
#pragma once

#include "../structure/sketch.hpp"
#include "approximate.hpp"

STRATAGEMM_BEGIN

namespace sketches {

// A kind whose error has a mean square of at most `moment` / rows; Chebyshev's inequality says what follows. Unless
// another number is known: 2, as of all independent columns of which no two meet in more than one row in `rows`, on
// average. docs/accuracy.md derives these numbers.
struct by_mean_square {
    double moment = 2;

    template <class T>
    double deviation(double rows, double confidence) const {
        return __builtin_sqrt(moment / (rows * (1 - confidence)));
    }
    index_t multiple() const { return 1; }
};

struct gaussian {
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return stratagemm::gaussian<T>(rows, cols, seed);
    }
    // By moments: |S x|^2 / |x|^2 is a chi-squared number over its degrees of freedom, whose central moments follow
    // from one another.
    template <class T>
    double deviation(double rows, double confidence) const {
        constexpr double parts = complex_like<T> ? 2 : 1;
        double const freedom = parts * rows;
        double before = 1, moment = 0, least = __builtin_inf();
        for (int l = 1; l < 64; ++l) {
            double const next = 2 * l / freedom * (moment + before);
            before = moment, moment = next; // that of order l + 1
            if (l % 2 == 0) continue;
            double const off = __builtin_pow(moment / (1 - confidence), 1.0 / (l + 1));
            least = off < least ? off : least;
        }
        return __builtin_sqrt(parts) * least;
    }
    index_t multiple() const { return 1; }
};
struct sparse_sign : by_mean_square {
    index_t nonzeros;

    explicit sparse_sign(index_t of_column) : nonzeros(of_column < 1 ? 1 : of_column) {}
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return stratagemm::sparse_sign<T>(rows, cols, seed, nonzeros);
    }
    index_t multiple() const { return nonzeros; } // the parts of a column have the same rows
};
struct count_sketch : by_mean_square {
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return stratagemm::count_sketch<T>(rows, cols, seed);
    }
};
struct srht : by_mean_square {
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return stratagemm::srht<T>(rows, cols, seed);
    }
};
struct srct : by_mean_square {
    srct() : by_mean_square{6} {}
    template <class T>
    auto make(index_t rows, index_t cols, std::uint64_t seed) const {
        return stratagemm::srct<T>(rows, cols, seed);
    }
};

} // namespace sketches

struct sketched_options {
    double tolerance = 0;     // of |C - A B| / |A||B|; it has to be given
    double confidence = 0.99; // the probability that a result keeps it
    std::uint64_t seed = 0;
    stratagemm::otherwise otherwise = stratagemm::otherwise::refuse;
    bool certify = false;
    stratagemm::report* report = nullptr;
};

template <policy Base, class Kind = sketches::gaussian>
class sketched : public approximate<sketched<Base, Kind>, Base> {
    using layer = approximate<sketched<Base, Kind>, Base>;
    using layer::base_;
    using typename layer::line_norms, typename layer::prediction;
    template <class T>
    using sketch_of = std::remove_cvref_t<decltype(std::declval<Kind const&>().template make<T>(0, 0, 0))>;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;
    static constexpr char const *name = "sketched", *unit = "rows of a sketch";

private:
    // A S^H and S B.
    template <class T>
    using from_left = problem<sketch_of<T>, view<T const, space>, view<T, space>>;
    template <class T>
    using from_right = problem<view<T const, space>, sketch_of<T>, view<T, space>>;

public:
    template <class P>
    static constexpr verdict answer_of = [] {
        using T = typename P::c_type;
        constexpr bool one_type =
            std::is_same_v<typename P::a_type, T> && std::is_same_v<typename P::b_type, T>;
        if constexpr (!one_type || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
            return verdict::types;
        } else {
            using left = performer<Base, from_left<T>>;
            using right = performer<Base, from_right<T>>;
            return answer<left, from_left<T>>() & answer<right, from_right<T>>();
        }
    }();

    explicit sketched(Base base, sketched_options options = {}) // option names: see sketched_options
        : sketched(std::move(base), Kind{}, options) {}
    sketched(Base base, Kind kind, sketched_options options = {})
        : layer(std::move(base)), kind_(std::move(kind)), options_(options) {}

    sketched_options const& options() const { return options_; }

    template <class S>
    footprint room(S const& s) const {
        index_t const rows = most_rows(s);
        if (rows == 0) return {};
        footprint products = base_.workspace(last_shape(s, rows)), own;
        each_sketch(s, rows, [&](auto const& multiply, auto const& one) {
            products = larger(products, multiply.workspace(one));
        });
        using T = typename S::c_type;
        space::share(own) = arena::rounded(static_cast<std::size_t>(s.m * rows) * sizeof(T)) +
                            arena::rounded(static_cast<std::size_t>(rows * s.n) * sizeof(T));
        return own + products;
    }
    template <class S>
    double seconds(S const& s) const {
        using T = typename S::c_type;
        double const rows = rows_for<T>(options_.tolerance);
        return rows < static_cast<double>(s.k) ? seconds_for(s, static_cast<index_t>(rows)) : __builtin_inf();
    }

    template <class P>
    prediction predict(P const& p, line_norms const&) const {
        using T = typename P::c_type;
        auto const s = p.shape();
        index_t const most = most_rows(s);
        double const rounding = rounding_of(s, larger_of(most, kind_.multiple()));
        prediction said;
        said.most = static_cast<double>(most);
        said.least = most > 0 ? kind_.template deviation<T>(said.most, options_.confidence) + rounding : 0;
        said.count =
            rounding < options_.tolerance ? rows_for<T>(options_.tolerance - rounding) : __builtin_inf();
        said.pays = said.count <= said.most;
        if (!said.pays) return said;
        said.error = kind_.template deviation<T>(said.count, options_.confidence) + rounding;
        said.typical = __builtin_sqrt(2 / said.count);
        return said;
    }

    template <class P>
    status multiply(P const& p, line_norms const&, prediction& said, arena& memory) const {
        using T = typename P::c_type;
        typename arena::scope const scope(memory);
        auto const rows = static_cast<index_t>(said.count);
        index_t const m = p.c.rows, n = p.c.cols, k = p.a.cols;
        auto const s = kind_.template make<T>(rows, k, options_.seed);
        if (status usable = s.usable(); !usable) return usable;
        auto adjoint = s.transposed();
        adjoint.conjugate = true;
        view<T, space> const x{memory.template take<T>(m * rows), m, rows, rows, 1},
            y{memory.template take<T>(rows * n), rows, n, n, 1};
        using S = typename P::scalar;
        from_right<T> const first{S(1), p.a, adjoint, S(0), x, x};
        from_left<T> const second{S(1), s, p.b, S(0), y, y};
        if (status done = this->run_part(performer<Base, from_right<T>>(base_), first, memory); !done)
            return done;
        if (status done = this->run_part(performer<Base, from_left<T>>(base_), second, memory); !done)
            return done;
        auto q = p;
        q.a = x, q.b = y;
        return this->run_part(base_, q, memory);
    }

private:
    // The rows that an error takes: a multiple of what the kind says, as a double that may be beyond any index.
    template <class T>
    double rows_for(double error) const {
        auto const step = static_cast<double>(kind_.multiple());
        constexpr double most = 0x1p60;
        // `low` does not keep it, and `high` does. Errors are nearly as the inverse root of the rows.
        double low = 0, high = most, at = 1;
        for (bool halves = false; high - low > 1;) {
            double const all = high - low,
                         off = kind_.template deviation<T>(at * step, options_.confidence) / error;
            (off <= 1 ? high : low) = at;
            at = halves ? __builtin_floor((low + high) / 2) : __builtin_floor(at * off * off);
            at = at > low ? at : low + 1, at = at < high ? at : high - 1;
            halves = !halves && 2 * (high - low) > all;
        }
        return high < most ? high * step : __builtin_inf();
    }

    template <class S>
    static S last_shape(S s, index_t rows) {
        s.k = rows;
        return s;
    }
    // f(what multiplies, shape) for both products with a sketch.
    template <class S, class F>
    void each_sketch(S const& s, index_t rows, F const& f) const {
        using T = typename S::c_type;
        auto const sketch = kind_.template make<T>(rows, s.k, options_.seed);
        auto const with = [&]<class Q>(Q const& q) {
            auto one = q.shape();
            one.alone = s.alone;
            f(performer<Base, Q>(base_), one);
        };
        from_right<T> right{};
        right.a.rows = right.c.rows = s.m, right.a.cols = s.k, right.c.cols = rows;
        right.b = sketch.transposed();
        from_left<T> left{};
        left.a = sketch, left.b.rows = s.k, left.b.cols = left.c.cols = s.n, left.c.rows = rows;
        with(right), with(left);
    }
    template <class S>
    double seconds_for(S const& s, index_t rows) const {
        double all = base_.estimate(last_shape(s, rows));
        each_sketch(s, rows, [&](auto const& multiply, auto const& one) { all += multiply.estimate(one); });
        return all;
    }
    // The most rows that are less work than the exact product.
    template <class S>
    index_t most_rows(S s) const {
        s = to_choose_by(s), s.count = 1;
        index_t const step = kind_.multiple();
        return step * this->most_that_pays(s, divide_up(s.k, step),
                                           [&](index_t steps) { return seconds_for(s, steps * step); });
    }
    // Estimates of rounding errors, relative to |A||B|: the norm of S is the root of k, and those of A S^H and S B are
    // about |A| and |B|.
    template <class S>
    double rounding_of(S const& s, index_t rows) const {
        double all = base_.error_bound(last_shape(s, rows)).expected;
        each_sketch(s, rows, [&](auto const& multiply, auto const& one) {
            all += __builtin_sqrt(static_cast<double>(s.k)) * multiply.error_bound(one).expected;
        });
        return all;
    }

    Kind kind_;
    sketched_options options_;
};

template <policy Base>
sketched(Base) -> sketched<Base>;
template <policy Base>
sketched(Base, sketched_options) -> sketched<Base>;

STRATAGEMM_END
