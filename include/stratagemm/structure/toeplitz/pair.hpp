// The product of two Toeplitz matrices, into a matrix.
//
// Element (i + 1, j + 1) is element (i, j) and two more products: a_(i+1) b_(-1-j) - a_(i+1-k) b_(k-1-j), where a_t is the
// element of A on the diagonal t = row - column (Kailath, Kung, Morf: Displacement ranks of matrices and linear
// equations, 1979). So m n elements take 2 m n products, and each diagonal begins with k. Sums of floats are kept in
// double, and sums of doubles in two doubles, so that errors do not pile up along a diagonal: hardly any element
// differs from its exact value, rounded. What is not finite would stay in a diagonal's sum: then, and where fewer
// products do, and on other leaves than a host's, the product is a dense one of two views.
#pragma once

#include "../../core/layer.hpp"
#include "kernels.hpp"
#include "operand.hpp"

#include <cstring>

STRATAGEMM_BEGIN

// What two sequences become: doubles for each diagonal, real and imaginary parts apart, and the halves of each where sums
// are twofold.
template <class T>
struct diagonal_numbers {
    static constexpr bool is_twofold = std::is_same_v<real_t<T>, double>;
    static constexpr int parts = complex_like<T> ? 2 : 1, halves = is_twofold ? 2 : 1,
                         arrays = parts * halves;
    static index_t size(index_t count) { return arrays * (count + beyond); }
    static constexpr index_t beyond = 64; // zeros behind, which a last block of sums reads
    double* at[parts][halves];
    double largest = 0;
    bool is_finite = true;

    // From element(s), 0 <= s < count.
    template <class F>
    diagonal_numbers(double* room, index_t count, F const& element) {
        for (int p = 0; p < parts; ++p)
            for (int h = 0; h < halves; ++h) {
                at[p][h] = room + (p * halves + h) * (count + beyond);
                for (index_t s = count; s < count + beyond; ++s) at[p][h][s] = 0;
            }
        for (index_t s = 0; s < count; ++s) {
            T const x = element(s);
            if constexpr (complex_like<T>)
                set(0, s, x.real()), set(1, s, x.imag());
            else
                set(0, s, x);
        }
    }
    diagonal_term term(int part, double factor, double factor_low, index_t from) const {
        return {factor, factor_low, at[part][0] + from, at[part][halves - 1] + from};
    }
    double high(int part, index_t s) const { return at[part][0][s]; }
    double low(int part, index_t s) const { return at[part][halves - 1][s]; }

private:
    void set(int part, index_t s, double x) {
        double high = x;
        is_finite = is_finite && stratagemm::is_finite(x);
        largest = largest < (x < 0 ? -x : x) ? (x < 0 ? -x : x) : largest;
        if constexpr (is_twofold) { // without its last 27 bits
            high =
                __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, x) & ~std::uint64_t{0x7ffffff});
            at[part][1][s] = x - high;
        }
        at[part][0][s] = high;
    }
};

inline constexpr index_t diagonals_of_chunk = 1024;

// Sums along diagonals of C = A B, both Toeplitz matrices: element (i, j) is on diagonal j - i.
template <class Q>
class diagonal_sums {
public:
    using T = typename Q::c_type;
    using R = real_t<T>;
    using numbers = diagonal_numbers<T>;
    static constexpr index_t width =
        diagonals_of_chunk; // diagonals of a chunk, whose sums stay in the first-level cache
    static constexpr int parts = numbers::parts, halves = numbers::halves;

    static constexpr index_t line = width + numbers::beyond;        // sums of a last block are written behind
    static index_t own_room() { return 2 * line * parts * halves; } // as much for the first column
    static index_t shared_room(index_t m, index_t n, index_t k) {
        return numbers::size(m + k - 1) + numbers::size(n + k - 1);
    }

    // The columns of C are backwards if one of the two is a Hankel matrix.
    diagonal_sums(Q const& problem, double* room)
        : p(problem), m(p.c.rows), n(p.c.cols), k(p.a.cols), turns_(p.a.is_hankel != p.b.is_hankel),
          a_(room, m + k - 1, [&](index_t s) { return element_of(p.a, p.a.is_hankel ? s : m + k - 2 - s); }),
          b_(room + numbers::size(m + k - 1), k + n - 1,
             [&](index_t s) { return element_of(p.b, turns_ ? k + n - 2 - s : s); }) {}

    // Whether no sum can overflow, and no upper half times an upper half.
    bool can_run() const {
        return a_.is_finite && b_.is_finite &&
               is_finite(a_.largest * b_.largest * static_cast<double>(4 * k));
    }
    index_t chunks() const { return (m + n - 2) / width + 1; }
    void run(index_t chunk, double* room) const {
        double* sum[parts][halves];
        for (int part = 0; part < parts; ++part)
            for (int h = 0; h < halves; ++h) sum[part][h] = room + (part * halves + h) * line;
        std::memset(room, 0, static_cast<std::size_t>(own_room()) * sizeof(double));
        index_t const first = chunk * width - (m - 1), end = smaller(first + width, n);
        begin(first, end, sum);
        // Diagonal d has rows from -d on, and columns up to n.
        for (index_t i = end <= 0 ? 1 - end : 0; i < m && first < n - i; ++i) {
            index_t const begins = larger_of(first, 1 - i), ends = smaller(end, n - i);
            if constexpr (parts == 1)
                if (stores_plain() && i > 0 && i + 1 < m && begins < ends - 1) {
                    add_two_rows(i++, begins, ends, first, sum);
                    if (-i >= first) store(i, 0, 1, -i - first, sum);
                    continue;
                }
            if (i > 0 && begins < ends) add_row(i, begins, ends, first, sum);
            index_t const stored = larger_of(first, -i);
            if (stored < ends) store(i, stored + i, ends - stored, stored - first, sum);
        }
    }

private:
    template <class A>
    static T element_of(A const& a, index_t at) {
        T const x = element_of_sequence(a, at, 0, 0);
        return a.conjugate ? conjugate(x) : x;
    }
    double* low_of(double* (&sum)[parts][halves], int part, index_t at) const {
        return sum[part][halves - 1] + at;
    }

    // What row i of C has beside row i - 1, on diagonals from `begins` on: part `of` of A times part `part` of B.
    diagonal_row<R> row_of(index_t i, index_t begins, int of, int part, double sign) const {
        index_t const x = i + k - 1, y = i - 1;
        return {{b_.term(part, sign * a_.high(of, x), sign * a_.low(of, x), k + begins + i - 1),
                 b_.term(part, -sign * a_.high(of, y), -sign * a_.low(of, y), begins + i - 1)}};
    }
    void add_row(index_t i, index_t begins, index_t ends, index_t first,
                 double* (&sum)[parts][halves]) const {
        auto const& with = diagonal_kernels_here<R>();
        index_t const at = begins - first, count = ends - begins;
        for (int part = 0; part < parts; ++part) {
            double *const sums = sum[part][0] + at, *const low = low_of(sum, part, at);
            diagonal_row<R> rows[2] = {row_of(i, begins, 0, part, 1)};
            if constexpr (parts == 2) {
                rows[1] = row_of(i, begins, 1, 1 - part, part == 0 ? -1 : 1); // i i is -1
                with.add_two(sums, low, rows, count, 1);
            } else {
                with.add_one(sums, low, rows, count, 1);
            }
        }
    }
    // Rows i and i + 1, which are stored but for their first column. The second may begin one diagonal earlier, and end
    // one earlier.
    void add_two_rows(index_t i, index_t begins, index_t ends, index_t first,
                      double* (&sum)[parts][halves]) const {
        auto const& with = diagonal_kernels_here<R>();
        auto const at = [&](index_t row, index_t d) {
            auto one = row_of(row, d, 0, 0, 1);
            one.to = p.c.data + (row * p.c.row_stride + d + row);
            return one;
        };
        auto const add = [&](auto kernel, diagonal_row<R> const* rows, index_t d, index_t count) {
            if (count > 0) kernel(sum[0][0] + d - first, low_of(sum, 0, d - first), rows, count, p.alpha);
        };
        index_t const both = smaller(ends, n - i - 1);
        diagonal_row<R> const rows[] = {at(i, begins), at(i + 1, begins)}, last = at(i, both);
        add(with.add_two, rows, begins, both - begins);
        add(with.add_one, &last, both, ends - both);
        if (begins > first) { // diagonal -i, whose first element is in row i
            store(i, 0, 1, begins - 1 - first, sum);
            diagonal_row<R> const early = at(i + 1, begins - 1);
            add(with.add_one, &early, begins - 1, smaller(1, n - i - begins));
        }
    }
    // `count` sums of k products: numbers of x backwards from one on, times others from one on.
    void add_products(numbers const& x, index_t from_x, numbers const& y, index_t from_y, index_t at,
                      index_t count, double* (&sum)[parts][halves]) const {
        auto const& with = diagonal_kernels_here<R>();
        auto const add = [&](int part, int of, double sign) {
            int const other = of == 0 ? part : 1 - part;
            with.begin(sum[part][0] + at, low_of(sum, part, at),
                       {x.at[of][0] + from_x, x.at[of][halves - 1] + from_x, sign}, y.at[other][0] + from_y,
                       y.at[other][halves - 1] + from_y, k, count);
        };
        for (int part = 0; part < parts; ++part) {
            add(part, 0, 1);
            if constexpr (parts == 2) add(part, 1, part == 0 ? -1 : 1);
        }
    }
    // The first element of each diagonal: of the first row of C, and of its first column, whose numbers lie the other way
    // round.
    void begin(index_t first, index_t end, double* (&sum)[parts][halves]) const {
        index_t const right = larger_of(first, 0), below = smaller(end, 0), count = below - first,
                      row = 1 - below;
        double* turned[parts][halves];
        for (int part = 0; part < parts; ++part)
            for (int h = 0; h < halves; ++h) turned[part][h] = sum[part][h] + parts * halves * line;
        if (right < end) add_products(a_, k - 1, b_, k - 1 + right, right - first, end - right, sum);
        if (count <= 0) return;
        add_products(b_, k - 1, a_, row + k - 1, 0, count, turned);
        for (int part = 0; part < parts; ++part)
            for (int h = 0; h < halves; ++h)
                for (index_t l = 0; l < count; ++l) sum[part][h][count - 1 - l] = turned[part][h][l];
    }
    // Whether C is alpha times the sums, in rows without gaps.
    bool stores_plain() const {
        return parts == 1 && std::is_same_v<typename Q::epilogue_type, identity> && p.c.col_stride == 1 &&
               p.beta == typename Q::scalar(0) && !turns_;
    }
    // C_ij for `count` columns from j on.
    void store(index_t i, index_t j, index_t count, index_t at, double* (&sum)[parts][halves]) const {
        for (index_t l = 0; l < count; ++l) {
            auto const value = [&](int part) {
                double const x = sum[part][0][at + l];
                return numbers::is_twofold ? x + sum[part][halves - 1][at + l] : x;
            };
            if (stores_plain()) { // rounded once, as vectors are
                if constexpr (parts == 1)
                    p.c(i, j + l) = static_cast<T>(static_cast<double>(p.alpha) * value(0));
                continue;
            }
            index_t const column = turns_ ? n - 1 - (j + l) : j + l;
            if constexpr (parts == 2)
                finish_element(p, i, column, T(static_cast<R>(value(0)), static_cast<R>(value(1))));
            else
                finish_element(p, i, column, static_cast<R>(value(0)));
        }
    }

    Q const& p;
    index_t m, n, k;
    bool turns_;
    numbers a_, b_;
};

// The policy for two Toeplitz matrices over P.
template <policy P>
class toeplitz_pair_product : public layer_over<P> {
public:
    using typename layer_over<P>::space;
    using typename layer_over<P>::arena;
    using layer_over<P>::layer_over;

    template <class Q>
    static constexpr verdict accepts_pair = [] {
        using A = typename Q::a_operand;
        using B = typename Q::b_operand;
        if constexpr (A::form::way != toeplitz_way::direct || B::form::way != toeplitz_way::direct ||
                      !is_view<typename Q::c_operand>::value)
            return verdict::structure;
        else
            return answer<
                P, problem<view<typename Q::a_type const, space>, view<typename Q::b_type const, space>,
                           typename Q::c_operand, typename Q::epilogue_type>>();
    }();

    // A dense copy of B takes the place of what sums along diagonals need.
    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::b_type;
        footprint copy, rows, sums;
        space::share(copy) = arena::rounded(static_cast<std::size_t>(s.k * s.n) * sizeof(T));
        rows = bytes_of_sequence(s.b_facts, s.k, s.n) +
               toeplitz_product<P>(this->base_).workspace(left_shape(s));
        if constexpr (has_sums<S>) space::share(sums) = bytes_of_sums(s, team_for(s));
        return larger(copy + rows, sums);
    }
    // Sums have their rounding error, of all that a diagonal added up before, in double or twice that.
    template <class S>
    bound error_bound(S const& s) const {
        bound const dense = toeplitz_product<P>(this->base_).error_bound(left_shape(s));
        if constexpr (has_sums<S>) {
            using R = real_t<typename S::c_type>;
            if (adds_diagonals(s)) {
                // Products of floats are exact in double. What two doubles round is relative to the lower one.
                double const u = unit_roundoff<R>(), terms = 2 * static_cast<double>(s.m + s.n + s.k),
                             lower = terms / (s.k < 1 ? 1 : static_cast<double>(s.k)) * 0x1p-75,
                             fine = std::is_same_v<R, float> ? 0x1p-51 : lower;
                return {4 * u + terms * fine, 2 * u, true};
            }
        }
        return dense;
    }
    template <class S>
    double estimate(S const& s) const {
        if constexpr (has_sums<S>)
            if (adds_diagonals(s)) {
                auto const outputs = static_cast<double>(s.m) * static_cast<double>(s.n);
                return products_of_sums(s) * 0.15e-9 / (s.alone ? 1 : team_for(s)) +
                       outputs * sizeof(typename S::c_type) / 10e9 + 1e-6;
            }
        return toeplitz_product<P>(this->base_).estimate(left_shape(s));
    }
    template <class S>
    std::string describe(S const& s) const {
        if constexpr (has_sums<S>)
            if (adds_diagonals(s)) {
                int const team = team_for(s);
                return std::string("toeplitz times toeplitz, sums along diagonals in ") +
                       (std::is_same_v<real_t<typename S::c_type>, float> ? "double" : "two doubles") +
                       ", on " + std::to_string(team) + (team == 1 ? " thread" : " threads");
            }
        return "toeplitz times a copy of a toeplitz matrix; " +
               toeplitz_product<P>(this->base_).describe(left_shape(s));
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (has_sums<decltype(p.shape())>) {
            if (adds_diagonals(p.shape())) {
                bool done = false;
                for (index_t i = 0; i < p.count; ++i)
                    if (status s = add_diagonals(p.at(i), memory, done); !s) return s;
                if (done || p.count == 0) return {};
            }
        }
        return multiply_copy(p, memory);
    }

private:
    template <class S>
    static constexpr bool has_sums = [] {
        using T = typename S::c_type;
        return host_leaf<leaf_of<P>> && !requires { requires P::is_oracle; }
        &&(std::is_same_v<real_t<T>, float> || std::is_same_v<real_t<T>, double>)&&(
            std::is_same_v<T, real_t<T>> ||
            complex_like<T>)&&std::is_same_v<typename S::a_type, T>&& std::is_same_v<typename S::b_type, T>;
    }();
    // Multiplications by sums, in units of those of a dense product: a twofold one has ten operations.
    template <class S>
    static double products_of_sums(S const& s) {
        auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
        return (2 * m * n + (m + n) * k) * (std::is_same_v<real_t<typename S::c_type>, float> ? 2 : 10);
    }
    template <class S>
    static bool adds_diagonals(S const& s) {
        return s.a_facts.block_rows * s.a_facts.block_cols * s.b_facts.block_rows * s.b_facts.block_cols ==
                   1 &&
               products_of_sums(s) <
                   static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    }
    template <class S>
    int team_for(S const& s) const {
        if (s.alone) return 1;
        index_t const chunks = (s.m + s.n) / diagonals_of_chunk + 1,
                      team = this->leaf().team(products_of_sums(s));
        return static_cast<int>(larger_of(1, smaller(team, chunks)));
    }
    template <class S>
    static std::size_t bytes_of_sums(S const& s, int team) {
        using T = typename S::c_type;
        auto const bytes = [](index_t doubles) {
            return arena::rounded(static_cast<std::size_t>(doubles) * sizeof(double));
        };
        using numbers = diagonal_numbers<T>;
        return bytes(numbers::size(s.m + s.k) + numbers::size(s.n + s.k)) +
               bytes(2 * (diagonals_of_chunk + numbers::beyond) * numbers::arrays * team);
    }
    template <class F>
    static footprint bytes_of_sequence(F const& f, index_t rows, index_t cols) {
        footprint need;
        index_t const blocks = rows / f.block_rows + cols / f.block_cols;
        space::share(need) = arena::rounded(static_cast<std::size_t>(blocks * f.block_rows * f.block_cols) *
                                            sizeof(typename F::value_type));
        return need;
    }
    template <class S>
    static auto left_shape(S const& s) {
        shape<typename S::a_form, typename S::b_type, typename S::c_form> left{s.m, s.n, s.k, s.count,
                                                                               s.adds};
        left.a_facts = s.a_facts, left.alone = s.alone;
        return left;
    }

    // `done`: neither operand has anything that is not finite or too large.
    template <class Q>
    status add_diagonals(Q const& p, arena& memory, bool& done) const {
        using sums = diagonal_sums<Q>;
        if (status s = isa_status(); !s) return s;
        typename arena::scope const scope(memory);
        auto q = p;
        q.alpha = scaled_by(p.alpha, scaled_by(static_cast<typename Q::scalar>(p.a.scale),
                                               static_cast<typename Q::scalar>(p.b.scale)));
        auto const s = p.shape();
        sums const all(q, memory.template take<double>(sums::shared_room(s.m, s.n, s.k)));
        done = all.can_run();
        if (!done) return {};
        int team = team_for(s); // as workspace() had it, or fewer
        while (team > 1 &&
               !memory.fits({arena::rounded(static_cast<std::size_t>(sums::own_room() * team) * 8)}))
            --team;
        double* const own = memory.template take<double>(sums::own_room() * team);
        constexpr index_t most = 1 << 20; // parts are counted in int
        index_t const chunks = all.chunks();
        int const parts = static_cast<int>(smaller(chunks, most));
        this->leaf().each(team, parts, [&](int thread, int part) {
            for (index_t c = chunks * part / parts; c < chunks * (part + 1) / parts; ++c)
                all.run(c, own + thread * sums::own_room());
        });
        return {};
    }
    // A product of A with a dense copy of B.
    template <class Q>
    status multiply_copy(Q const& p, arena& memory) const {
        using T = typename Q::b_type;
        typename arena::scope const scope(memory);
        index_t const k = p.b.rows, n = p.b.cols;
        view<T, space> const copy{memory.template take<T>(k * n), k, n, n, 1};
        if (status s = copy_toeplitz(this->base_, p.b, copy, memory); !s) return s;
        problem<typename Q::a_operand, view<T const, space>, typename Q::c_operand, typename Q::epilogue_type>
            q{scaled_by(p.alpha, static_cast<typename Q::scalar>(p.b.scale)),
              p.a,
              copy,
              p.beta,
              p.e,
              p.c,
              p.epilogue,
              p.count,
              0,
              0,
              p.e_step,
              p.c_step,
              p.row0,
              p.col0};
        q.b.conjugate = p.b.conjugate;
        return toeplitz_product<P>(this->base_)(q, memory);
    }
};

STRATAGEMM_END
