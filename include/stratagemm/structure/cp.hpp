// A matrix as a sum of Kronecker products of small matrices, A = sum_r M1r x M2r x ...: a canonical polyadic (CP,
// CANDECOMP, PARAFAC) decomposition of the tensor that has a mode for each pair of a part of the index of a row and a
// part of that of a column. It is never written out.
//
//   auto const a = sg::cp(matrix, {16, 16, 16}, {16, 16, 16}, {.rank = 4, .tolerance = 1e-3});   of 4096 x 4096
//   a.report().bound.worst             |A - sum| / |A|, as it is
//   a.factor(0, 3), a.norm()           M14, and the norm of the sum
//   sg::gemm(cpu, a, b, c);            a batch of dense products for each factor
//   sg::written(a)                     the matrix that it stands for
//   sg::cp_view<float>(data, sides)    factors that somebody else made, as an operand
//
// A tensor whose modes are not pairs has parts of 1: one of 20 x 30 x 40 elements is a matrix of 20 x 1200, of the rows
// {20, 1, 1} and the columns {1, 30, 40}; terms are then products of vectors.
//
// Terms are found by alternating least squares, on the host, in double. The search may miss the nearest sum. With a
// `tolerance` it begins anew until a sum is within it, and the call is refused if none is after so many `iterations`.
// Without one, the call is refused if the error still falls then. Once the factors are rounded, the matrix that they
// make is compared with A. The same seed gives the same bits, for any number of threads.
//
// The other operand of a product has the element type of the factors; it may be a batch; alpha, beta, E and an epilogue
// serve as in other products. Bounds of products are relative to what the absolute values of all factors multiply to.
// to_device(policy, a) copies one to a device.
#pragma once

#include "../core/keep.hpp"
#include "../gemm.hpp"
#include "cp/decompose.hpp"
#include "cp/product.hpp"

STRATAGEMM_BEGIN

template <class T, class Space = host_memory>
struct cp_view {
    using value_type = T;
    using space = Space;
    using form = cp_form<T>;
    static constexpr int most_views = 1;

    typename Space::template handle<T const> data{};
    cp_sides sides{};
    index_t rows = 0, cols = 0;
    bool is_transposed = false;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    cp_view() = default;
    cp_view(typename Space::template handle<T const> factors, cp_sides const& x)
        : data(factors), sides(x), rows(x.all_rows()), cols(x.all_cols()) {}

    form facts() const { return {sides, is_transposed}; }
    cp_view transposed() const {
        cp_view one = *this;
        one.is_transposed = !is_transposed;
        std::swap(one.rows, one.cols);
        return one;
    }
    template <class F>
    void each_view(F&& f) const {
        f(view<T const, Space>{data, 1, sides.size(), sides.size(), 1});
    }
    status usable() const {
        bool is_whole =
            sides.cores >= 1 && sides.cores <= sides.most && sides.rank >= 1 && rows > 0 && cols > 0;
        for (int k = 0; is_whole && k < sides.cores; ++k) is_whole = sides.rows[k] > 0 && sides.cols[k] > 0;
        if (is_whole) return {};
        return failure(errc::shape, "cp: from 1 to 16 factors, terms, and parts whose products are an index");
    }
    // The matrix of a term in one factor.
    view<T const, Space> term(int k, index_t r) const {
        index_t const n = sides.cols[k];
        view<T const, Space> const x{data + (sides.begin(k) + r * n), sides.rows[k], n, sides.rank * n, 1};
        return is_transposed ? x.transposed() : x;
    }
    // Those of all terms, which share columns or rows as they lie.
    view<T const, Space> terms(int k, bool share_columns) const {
        index_t const m = sides.rows[k], n = sides.cols[k], r = sides.rank;
        if (is_transposed)
            return view<T const, Space>{data + sides.begin(k), share_columns ? m : m * r,
                                        share_columns ? r * n : n, share_columns ? r * n : n, 1}
                .transposed();
        return {data + sides.begin(k), share_columns ? m * r : m, share_columns ? n : r * n,
                share_columns ? n : r * n, 1};
    }
};
static_assert(ready_operand<cp_view<float>>);

template <class T, policy P = host>
class cp_matrix : public owned<cp_view<T, typename P::space>, P> {
    using base = owned<cp_view<T, typename P::space>, P>;

public:
    cp_matrix() = default;
    cp_matrix(base all, stratagemm::report made, double norm)
        : base(std::move(all)), report_(made), norm_(norm) {}

    int modes() const { return this->view().sides.cores; }
    index_t rank() const { return this->view().sides.rank; }
    // The matrix of term r in factor k, both from 0 on, in the memory of P, as long as a copy of this is there.
    auto factor(int k, index_t r) const { return this->view().term(k, r); }
    double norm() const { return norm_; } // of the sum, in the Frobenius norm
    // `bound` and `error`: of |A - sum| / |A|. `count`: the terms. `phases`: the iterations of all starts.
    stratagemm::report const& report() const { return report_; }

private:
    stratagemm::report report_;
    double norm_ = 0;
};

// ---- factors in the type of the matrix ----------------------------------------------------------------------

template <class T, class W>
result<owned<cp_view<T>, host>> stored_factors(wide_cp<W>& from) {
    cp_sides const& x = from.sides;
    auto memory = reserve_for(host{}, static_cast<std::size_t>(x.size()) * sizeof(T));
    if (!memory) return memory.take_status();
    T* const to = (*memory)->template take<T>(x.size());
    for (int k = 0; k < x.cores; ++k)
        for (index_t i = 0; i < x.rows[k]; ++i)
            for (index_t j = 0; j < x.cols[k]; ++j)
                for (index_t r = 0; r < x.rank; ++r)
                    to[x.begin(k) + (i * x.rank + r) * x.cols[k] + j] =
                        static_cast<T>(from.mode(k)(i * x.cols[k] + j, r));
    return owned<cp_view<T>, host>(std::move(*memory), cp_view<T>(to, x));
}
template <class W, class T>
status widen(cp_view<T> const& from, wide_cp<W>& to) {
    to.sides = from.sides;
    if (from.is_transposed)
        for (int k = 0; k < to.sides.cores; ++k) std::swap(to.sides.rows[k], to.sides.cols[k]);
    if (!to.resize()) return no_memory_for_parts("cp");
    for (int k = 0; k < to.sides.cores; ++k)
        for (index_t r = 0; r < to.sides.rank; ++r) {
            auto const term = from.term(k, r);
            for (index_t i = 0; i < term.rows; ++i)
                for (index_t j = 0; j < term.cols; ++j) {
                    W const value(term(i, j));
                    to.mode(k)(i * term.cols + j, r) = from.conjugate ? conjugate(value) : value;
                }
        }
    for (W& value : to.factor[0]) value = scaled_by(static_cast<W>(from.scale), value);
    return {};
}
// How far the sum, as it is stored, is from the tensor C; both are divided by `factor`.
template <class T, class W>
status compare_sum(cp_view<T> const& x, list<W> const& c, double factor, tensor_fit& fit) {
    wide_cp<W> wide;
    list<W> made;
    if (status s = widen(x, wide); !s) return s;
    wide.scale(1 / factor);
    double magnitude = 0;
    for (index_t r = 0; r < x.sides.rank; ++r) {
        double term = 1;
        for (int k = 0; k < x.sides.cores; ++k) {
            double squares = 0;
            for (index_t i = 0; i < x.sides.side(k); ++i) squares += squared(wide.mode(k)(i, r));
            term *= __builtin_sqrt(squares);
        }
        magnitude += term;
    }
    if (status s = multiply_out(wide, made); !s) return s;
    fit = compare(c, made, magnitude * static_cast<double>(x.sides.rank + x.sides.cores));
    return {};
}
inline status check_cp(index_t rows, index_t cols, cp_sides const& sides, cp_options const& options) {
    auto const refuse = [](char const* why) { return failure(errc::argument, "cp", why); };
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        return refuse("`tolerance` is from 0 to 1, and less than 1");
    if (!(options.change > 0 && options.change < 1)) return refuse("`change` is more than 0 and less than 1");
    if (options.iterations < 1) return refuse("`iterations` is 1 or more");
    index_t size = 0, longest = 1;
    if (__builtin_mul_overflow(rows, cols, &size))
        return failure(errc::overflow, "cp", "the matrix has more than 2^63 elements");
    for (int k = 0; k < sides.cores; ++k) longest = larger_of(longest, sides.side(k));
    if (options.rank >= 1 && options.rank <= size / longest) return {};
    char text[160];
    __builtin_snprintf(text, sizeof(text),
                       "`rank` is from 1 to %td, which suffices for any matrix of these parts",
                       size / longest);
    return refuse(text);
}
// What was found, or why it may not be used.
template <class T>
result<cp_matrix<T>> certified_cp(owned<cp_view<T>, host> found, tensor_fit const& fit, double factor,
                                  int iterations, cp_options const& options) {
    report made;
    made.ran = "cp", made.reason = "alternating least squares";
    made.count = static_cast<int>(options.rank), made.phases = iterations, made.seed = options.seed;
    made.error = fit.error, made.bound = {fit.error + fit.noise, fit.error, true, 1};
    if (!__builtin_isfinite(fit.error))
        return failure(errc::argument, "cp", "an element of a factor is too large for its type");
    if (options.tolerance > 0 && made.bound.worst > options.tolerance) {
        char text[160];
        __builtin_snprintf(text, sizeof(text),
                           "with factors of this type the error is %.3g |A|, more than the tolerance of %.3g",
                           made.bound.worst, options.tolerance);
        return failure(errc::argument, "cp", text);
    }
    return cp_matrix<T>(std::move(found), made, fit.norm * factor);
}

// ---- what makes sums ------------------------------------------------------------------------------------------

// A sum near the matrix A, whose sides are the products of `rows` and of `cols`: as many parts of each.
template <operand A>
auto try_cp(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
            cp_options const& options) -> result<cp_matrix<value_of<A const>>> {
    using T = value_of<A const>;
    using W = wide_of<T>;
    view<T const> const from = as_view(a);
    wide_cp<W> wide;
    if (status s = set_parts("cp", from.rows, from.cols, rows, cols, wide.sides); !s) return s;
    if (status s = check_cp(from.rows, from.cols, wide.sides, options); !s) return s;
    wide.sides.rank = options.rank;
    list<W> c;
    double factor = 1;
    if (status s = unfold("cp", from, wide.sides, c); !s) return s;
    if (status s = scale_to_one("cp", c, factor); !s) return s;
    // Rounding of each factor takes its part of the tolerance.
    double const rounding = (wide.sides.cores + 1) * unit_roundoff<T>(), half = options.tolerance / 2;
    alternating_least_squares<W> by(c, wide, options, rounding < half ? options.tolerance - rounding : half);
    if (status s = by.find(); !s) return s;
    wide.scale(factor);
    auto made = stored_factors<T>(wide);
    if (!made) return made.take_status();
    tensor_fit fit;
    if (status s = compare_sum<T>(made->view(), c, factor, fit); !s) return s;
    return certified_cp(*std::move(made), fit, factor, by.iterations(), options);
}
template <operand A>
auto cp(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
        cp_options const& options) {
    auto made = try_cp(a, rows, cols, options);
    made.or_throw();
    return *std::move(made);
}

// The matrix that a sum stands for.
template <operand X>
requires is_cp<std::remove_cvref_t<decltype(as_view(std::declval<X const&>()))>>
auto written(X const& x) {
    auto const from = as_view(x);
    using T = typename decltype(from)::value_type;
    wide_cp<wide_of<T>> wide;
    list<wide_of<T>> made;
    from.usable().or_throw();
    widen(from, wide).or_throw();
    multiply_out(wide, made).or_throw();
    matrix<T> a(from.rows, from.cols);
    fold("written", made, wide.sides, a).or_throw();
    return a;
}

// A copy in the memory of a device's policy.
template <policy P, class T>
auto to_device(P const& policy, cp_matrix<T> const& x) {
    static_assert(device_leaf<leaf_of<P>, typename P::space>,
                  "stratagemm: to_device() copies a decomposition in host memory to a device");
    auto const from = x.view();
    index_t const size = from.sides.size();
    auto memory = reserve_for(policy, static_cast<std::size_t>(size) * sizeof(T));
    memory.or_throw();
    auto const to = (*memory)->template take<T>(size);
    policy.leaf().upload(from.data, to, size).or_throw();
    using there = cp_view<T, typename P::space>;
    return cp_matrix<T, P>({std::move(*memory), there(to, from.sides)}, x.report(), x.norm());
}

STRATAGEMM_END
