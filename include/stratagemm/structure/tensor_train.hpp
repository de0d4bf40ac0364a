// A matrix as a tensor train: with the index of a row in parts i1, i2, ... and that of a column in parts j1, j2, ...,
// an element is a product of small matrices, G1(i1, j1) G2(i2, j2) ... (Oseledets: Tensor-train decomposition, 2011).
// It is never written out.
//
//   auto const a = sg::tensor_train(matrix, {16, 16, 16}, {16, 16, 16}, {.tolerance = 1e-3});   of 4096 x 4096
//   a.view().sides.rank, a.report().bound.worst            the ranks, and |A - train| / |A|
//   sg::gemm(cpu, a, b, c);                                a dense product for each core
//   auto const b = sg::rounded(sg::added(a, a), {.tolerance = 1e-3});   a sum, and a train of smaller ranks near it
//
// A train is made, added and rounded on the host, in double; to_device(policy, a) copies one. The product is any
// policy's. The other operand has the element type of the train; it may be a batch; alpha, beta, E and an epilogue
// serve as in other products. Bounds of products are relative to what the absolute values of all cores multiply to.
#pragma once

#include "../core/keep.hpp"
#include "../gemm.hpp"
#include "tensor_train/decompose.hpp"
#include "tensor_train/product.hpp"

STRATAGEMM_BEGIN

template <class T, class Space = host_memory>
struct train {
    using value_type = T;
    using space = Space;
    using form = tensor_train_form<T>;
    static constexpr int most_views = 1;

    typename Space::template handle<T const> data{};
    train_sides sides{};
    index_t rows = 0, cols = 0;
    bool is_transposed = false;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    train() = default;
    train(typename Space::template handle<T const> cores, train_sides const& x)
        : data(cores), sides(x), rows(x.all_rows()), cols(x.all_cols()) {}

    form facts() const { return {sides, is_transposed}; }
    train transposed() const {
        train one = *this;
        one.is_transposed = !is_transposed;
        std::swap(one.rows, one.cols);
        return one;
    }
    template <class F>
    void each_view(F&& f) const {
        f(view<T const, Space>{data, 1, sides.size(), sides.size(), 1});
    }
    // (row, rank after) x (rank before, column)
    view<T const, Space> core(int k) const {
        index_t const r = sides.rows[k] * sides.rank[k + 1], c = sides.rank[k] * sides.cols[k];
        return {data + sides.begin(k), r, c, c, 1};
    }
};
static_assert(ready_operand<train<float>>);

template <class T, policy P = host>
class tensor_train_matrix : public owned<train<T, typename P::space>, P> {
    using base = owned<train<T, typename P::space>, P>;

public:
    tensor_train_matrix() = default;
    tensor_train_matrix(base cores, stratagemm::report made) : base(std::move(cores)), report_(made) {}

    // `bound` and `error`: of |A - train| / |A|. `count`: the largest rank.
    stratagemm::report const& report() const { return report_; }

private:
    stratagemm::report report_;
};

// ---- cores in the type of the matrix ------------------------------------------------------------------------

template <class T, class W>
void store_cores(wide_train<W>& from, T* to) {
    train_sides const& x = from.sides;
    for (int k = 0; k < x.cores; ++k)
        for (index_t b = 0; b < x.rank[k]; ++b)
            for (index_t i = 0; i < x.rows[k]; ++i)
                for (index_t j = 0; j < x.cols[k]; ++j)
                    for (index_t a = 0; a < x.rank[k + 1]; ++a)
                        to[x.begin(k) + ((i * x.rank[k + 1] + a) * x.rank[k] + b) * x.cols[k] + j] =
                            static_cast<T>(from.unfolded(k)((b * x.rows[k] + i) * x.cols[k] + j, a));
}
template <class T, class W>
result<tensor_train_matrix<T>> narrowed(wide_train<W>& from) {
    train_sides const& x = from.sides;
    auto memory = reserve_for(host{}, static_cast<std::size_t>(x.size()) * sizeof(T));
    if (!memory) return memory.take_status();
    T* const to = (*memory)->template take<T>(x.size());
    store_cores(from, to);
    report made;
    made.ran = "tensor_train", made.reason = "singular vectors of each cut";
    for (int k = 1; k < x.cores; ++k)
        made.count = static_cast<int>(larger_of(index_t{made.count}, x.rank[k]));
    double const all = from.all > 0 ? from.all : 1, d = x.cores;
    made.error = __builtin_sqrt(from.left_out / all);
    // Gram matrices are wrong by some units of rounding of |A|^2 at each cut, and each core is rounded to T.
    made.bound = {__builtin_sqrt(from.left_out / all + d * 1e-14) + d * unit_roundoff<T>(), made.error, true,
                  1};
    return tensor_train_matrix<T>({std::move(*memory), train<T>(to, x)}, made);
}
template <class W, class T>
status widen(train<T> const& from, wide_train<W>& to) {
    train_sides x = from.sides;
    if (from.is_transposed)
        for (int k = 0; k < x.cores; ++k) std::swap(x.rows[k], x.cols[k]);
    to.sides = x;
    for (int k = 0; k < x.cores; ++k) {
        if (!to.core[k].resize(static_cast<std::size_t>(x.size(k)))) return no_memory_for_train();
        auto const core = from.core(k);
        index_t const next = x.rank[k + 1], stored = from.sides.cols[k];
        for (index_t b = 0; b < x.rank[k]; ++b)
            for (index_t i = 0; i < x.rows[k]; ++i)
                for (index_t j = 0; j < x.cols[k]; ++j)
                    for (index_t a = 0; a < next; ++a) {
                        index_t const row = from.is_transposed ? j : i, col = from.is_transposed ? i : j;
                        W const value(core(row * next + a, b * stored + col));
                        to.unfolded(k)((b * x.rows[k] + i) * x.cols[k] + j, a) =
                            from.conjugate ? conjugate(value) : value;
                    }
    }
    for (W& value : to.core[0]) value = scaled_by(static_cast<W>(from.scale), value);
    return {};
}
template <class M>
using train_value = typename std::remove_cvref_t<decltype(as_view(std::declval<M const&>()))>::value_type;

// ---- what makes trains ----------------------------------------------------------------------------------------

// A train of the matrix A, whose sides are the products of `rows` and of `cols`: as many parts of each as cores.
template <operand A>
auto try_tensor_train(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                      tensor_train_options const& options) -> result<tensor_train_matrix<value_of<A const>>> {
    using T = value_of<A const>;
    view<T const> const from = as_view(a);
    auto const refuse = [](char const* why) { return failure(errc::argument, "tensor_train", why); };
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        return refuse("`tolerance` is from 0 to 1, and less than 1");
    if (options.rank < 0) return refuse("`rank` must not be negative");
    wide_train<wide_of<T>> to;
    if (status s = set_parts("tensor_train", from.rows, from.cols, rows, cols, to.sides); !s) return s;
    list<wide_of<T>> c;
    if (status s = unfold("tensor_train", from, to.sides, c); !s) return s;
    double factor = 1;
    if (status s = scale_to_one("tensor_train", c, factor); !s) return s;
    if (status s = decompose(c, to, options); !s) return s;
    for (wide_of<T>& x : to.core[to.sides.cores - 1]) x = wide_of<T>(factor) * x;
    return narrowed<T>(to);
}
template <operand A>
auto tensor_train(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                  tensor_train_options const& options) {
    auto made = try_tensor_train(a, rows, cols, options);
    made.or_throw();
    return *std::move(made);
}

// A train near X, of the ranks that the tolerance takes.
template <operand X>
auto rounded(X const& x, tensor_train_options const& options) {
    using T = train_value<X>;
    wide_train<wide_of<T>> wide;
    widen(as_view(x), wide).or_throw();
    round(wide, options).or_throw();
    auto made = narrowed<T>(wide);
    made.or_throw();
    return *std::move(made);
}

// X + Y, whose ranks are the sums of theirs.
template <operand X, operand Y>
auto added(X const& x, Y const& y) {
    using T = train_value<X>;
    using W = wide_of<T>;
    wide_train<W> one, other, sum;
    widen(as_view(x), one).or_throw();
    widen(as_view(y), other).or_throw();
    train_sides& s = sum.sides = one.sides;
    int const d = s.cores;
    bool alike = d == other.sides.cores;
    for (int k = 0; alike && k < d; ++k)
        alike = s.rows[k] == other.sides.rows[k] && s.cols[k] == other.sides.cols[k];
    if (!alike) raise(error(errc::shape, "added", "both trains have the same parts of rows and columns"));
    for (int k = 1; k < d; ++k) s.rank[k] += other.sides.rank[k];
    for (int k = 0; k < d; ++k) {
        if (!sum.core[k].resize(static_cast<std::size_t>(s.size(k)))) no_memory_for_train().or_throw();
        index_t const inner = s.rows[k] * s.cols[k];
        auto const place = [&](wide_train<W>& from, bool is_second) {
            index_t const above = is_second && k > 0 ? one.sides.rank[k] * inner : 0,
                          beside = is_second && k + 1 < d ? one.sides.rank[k + 1] : 0;
            view<W> const z = from.unfolded(k), to = sum.unfolded(k);
            for (index_t i = 0; i < z.rows; ++i)
                for (index_t j = 0; j < z.cols; ++j) to(above + i, beside + j) += z(i, j);
        };
        place(one, false), place(other, true);
    }
    auto made = narrowed<T>(sum);
    made.or_throw();
    return *std::move(made);
}

// The matrix that a train stands for.
template <operand X>
requires is_train<std::remove_cvref_t<decltype(as_view(std::declval<X const&>()))>>
auto written(X const& x) -> matrix<train_value<X>> {
    wide_train<wide_of<train_value<X>>> wide;
    list<wide_of<train_value<X>>> made;
    widen(as_view(x), wide).or_throw();
    multiply_out(wide, made).or_throw();
    matrix<train_value<X>> a(as_view(x).rows, as_view(x).cols);
    fold("written", made, wide.sides, a).or_throw();
    return a;
}

// A copy of a train in the memory of a device's policy.
template <policy P, class T>
auto to_device(P const& policy, tensor_train_matrix<T> const& x) {
    static_assert(device_leaf<leaf_of<P>, typename P::space>,
                  "stratagemm: to_device() copies a train in host memory to a device");
    auto const from = x.view();
    index_t const size = from.sides.size();
    auto memory = reserve_for(policy, static_cast<std::size_t>(size) * sizeof(T));
    memory.or_throw();
    auto const to = (*memory)->template take<T>(size);
    policy.leaf().upload(from.data, to, size).or_throw();
    using there = train<T, typename P::space>;
    return tensor_train_matrix<T, P>({std::move(*memory), there(to, from.sides)}, x.report());
}

STRATAGEMM_END
