// A matrix as a Tucker decomposition: with the index of a row in parts i1, i2, ... and that of a column in parts j1,
// j2, ..., it is a tensor with a mode (ik, jk) for each pair, and the tensor is a small core, multiplied along each
// mode by a factor of orthonormal columns. It is never written out.
//
//   auto const a = sg::tucker(matrix, {16, 16, 16}, {16, 16, 16}, {.tolerance = 1e-3});    of 4096 x 4096
//   auto const a = sg::tucker(matrix, {16, 16, 16}, {16, 16, 16}, {.ranks = {4, 4, 4}});
//   a.ranks(), a.core(), a.factor(0), a.norm()
//   a.report().bound.worst             |A - Tucker| / |A|, as it is
//   sg::gemm(cpu, a, b, c);            a batch of dense products for each mode
//   sg::written(a)                     the matrix that it stands for
//
// A tensor whose modes are not pairs has parts of 1: one of 20 x 30 x 40 elements is a matrix of 20 x 1200, of the rows
// {20, 1, 1} and the columns {1, 30, 40}.
//
// Factors are found by a sequentially truncated singular value decomposition, on the host, in double; the same matrix
// has the same factors, for any number of threads. Once they are rounded, the tensor that they make is compared with
// the matrix. If it is not as near as `tolerance` says, because of the ranks or of the element type, the call is
// refused.
//
// Products are those of a tensor train of the same digits (tensor_train.hpp), by any policy; what takes a train takes
// this, too: added(), rounded(). to_device(policy, a) copies one.
#pragma once

#include "tensor_train.hpp"
#include "tucker/decompose.hpp"

STRATAGEMM_BEGIN

template <policy P>
class tucker_product : public tensor_train_product<P> {
public:
    using tensor_train_product<P>::tensor_train_product;

    template <class S>
    std::string describe(S const& s) const {
        auto const& form = [&]() -> auto const& {
            if constexpr (is_train_form<typename S::a_form>)
                return s.a_facts;
            else
                return s.b_facts;
        }
        ();
        std::string text = "tucker of ranks";
        for (int k = 0; k < form.sides.cores; ++k) text.append(" ").append(std::to_string(form.rank[k]));
        using T = typename S::c_type;
        text.append(", ").append(std::to_string(static_cast<std::size_t>(form.elements()) * sizeof(T)));
        return text.append(" bytes, as a ").append(tensor_train_product<P>::describe(s));
    }
};
template <policy P>
inline constexpr bool is_tensor_train_product<tucker_product<P>> = true;

template <class T>
struct tucker_form : tensor_train_form<T> {
    template <class P>
    requires(!is_tensor_train_product<P>) using over = tucker_product<P>;

    index_t rank[train_sides::most] = {}; // of the core

    tucker_form() = default;
    tucker_form(train_sides const& x, bool turned, index_t const* ranks) : tensor_train_form<T>{x, turned} {
        for (int k = 0; k < x.cores; ++k) rank[k] = ranks[k];
    }
    tucker_form transposed() const { return {this->sides, !this->is_transposed, rank}; }
    index_t core_elements() const {
        index_t all = 1;
        for (int k = 0; k < this->sides.cores; ++k) all *= rank[k];
        return all;
    }
    index_t factor_elements(int k) const { return this->sides.side(k) * rank[k]; }
    index_t elements() const {
        index_t all = core_elements();
        for (int k = 0; k < this->sides.cores; ++k) all += factor_elements(k);
        return all;
    }
};

// The cores of the train, then the core, then the factors.
template <class T, class Space = host_memory>
struct tucker_view : train<T, Space> {
    using form = tucker_form<T>;
    using base = train<T, Space>;
    using base::core; // of the train

    index_t rank[train_sides::most] = {};

    tucker_view() = default;
    tucker_view(typename Space::template handle<T const> all, train_sides const& x, index_t const* ranks)
        : base(all, x) {
        for (int k = 0; k < x.cores; ++k) rank[k] = ranks[k];
    }
    form facts() const { return {this->sides, this->is_transposed, rank}; }
    tucker_view transposed() const {
        tucker_view one = *this;
        static_cast<base&>(one) = base::transposed();
        return one;
    }
    template <class F>
    void each_view(F&& f) const {
        f(view<T const, Space>{this->data, 1, size(), size(), 1});
    }
    index_t size() const { return this->sides.size() + facts().elements(); }
    // (the first rank) x (the others, the last one fastest).
    view<T const, Space> core() const {
        index_t const others = facts().core_elements() / rank[0];
        return {this->data + this->sides.size(), rank[0], others, others, 1};
    }
    // (part of the row, part of the column) x rank, for mode k from 0 on.
    view<T const, Space> factor(int k) const {
        index_t at = this->sides.size() + facts().core_elements();
        for (int i = 0; i < k; ++i) at += facts().factor_elements(i);
        return {this->data + at, this->sides.side(k), rank[k], rank[k], 1};
    }
};
static_assert(ready_operand<tucker_view<float>>);

template <class T, policy P = host>
class tucker_matrix : public owned<tucker_view<T, typename P::space>, P> {
    using base = owned<tucker_view<T, typename P::space>, P>;

public:
    tucker_matrix() = default;
    tucker_matrix(base all, stratagemm::report made, double norm)
        : base(std::move(all)), report_(made), norm_(norm) {}

    int modes() const { return this->view().sides.cores; }
    index_t rank(int k) const { return this->view().rank[k]; }
    // In the memory of P, as long as a copy of this is there.
    auto core() const { return this->view().core(); }
    auto factor(int k) const { return this->view().factor(k); }
    double norm() const { return norm_; } // of the matrix that this stands for, in the Frobenius norm
    // `bound` and `error`: of |A - Tucker| / |A|. `count`: the largest rank.
    stratagemm::report const& report() const { return report_; }

private:
    stratagemm::report report_;
    double norm_ = 0;
};

// The elements of a decomposition in the type T, in memory of their own.
template <class T, class W>
result<owned<tucker_view<T>, host>> stored_factors(wide_tucker<W>& from, wide_train<W>& as_train) {
    tucker_view<T> const sides(nullptr, as_train.sides, from.rank);
    auto memory = reserve_for(host{}, static_cast<std::size_t>(sides.size()) * sizeof(T));
    if (!memory) return memory.take_status();
    T* to = (*memory)->template take<T>(sides.size());
    tucker_view<T> const made(to, as_train.sides, from.rank);
    store_cores(as_train, to);
    to += as_train.sides.size();
    for (W const& x : from.core) *to++ = static_cast<T>(x);
    for (int k = 0; k < made.sides.cores; ++k)
        for (W const& x : from.factor[k]) *to++ = static_cast<T>(x);
    return owned<tucker_view<T>, host>(std::move(*memory), made);
}
// How far the train, as it is stored, is from the tensor C; both are divided by `factor`.
template <class T, class W>
status compare_train(train<T> const& x, list<W> const& c, double factor, tensor_fit& fit) {
    wide_train<W> wide;
    list<W> made;
    if (status s = widen(x, wide); !s) return s;
    for (W& value : wide.core[0]) value = W(1 / factor) * value;
    double magnitude = 1, terms = 0;
    for (int k = 0; k < wide.sides.cores; ++k)
        magnitude *= __builtin_sqrt(sum_of_squares(wide.core[k])),
            terms += static_cast<double>(wide.sides.rank[k]) + 1;
    if (status s = multiply_out(wide, made); !s) return s;
    fit = compare(c, made, magnitude * terms);
    return {};
}
template <class A>
status check_tucker(view<A const> const& from, train_sides const& sides, tucker_options const& options) {
    auto const refuse = [](char const* why) { return failure(errc::argument, "tucker", why); };
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        return refuse("`tolerance` is from 0 to 1, and less than 1");
    index_t size = 0;
    if (__builtin_mul_overflow(from.rows, from.cols, &size))
        return failure(errc::overflow, "tucker", "the matrix has more than 2^63 elements");
    for (int k = 0; k < train_sides::most; ++k) {
        index_t const side = k < sides.cores ? sides.side(k) : 0, r = options.ranks[k];
        if (r >= 0 && r <= side) continue;
        char text[160];
        __builtin_snprintf(text, sizeof(text), "rank %d is %td, and mode %d has %td elements", k + 1, r,
                           k + 1, side);
        return refuse(text);
    }
    return {};
}

// What was found, or why it may not be used.
template <class T>
result<tucker_matrix<T>> certified_tucker(owned<tucker_view<T>, host> found, tensor_fit const& fit,
                                          double factor, tucker_options const& options) {
    report made;
    made.ran = "tucker", made.reason = "singular vectors of each mode";
    for (int k = 0; k < found.view().sides.cores; ++k)
        made.count = static_cast<int>(larger_of(index_t{made.count}, found.view().rank[k]));
    made.error = fit.error, made.bound = {fit.error + fit.noise, fit.error, true, 1};
    if (!__builtin_isfinite(fit.error))
        return failure(errc::argument, "tucker",
                       "an element of the core or of a factor is too large for its type");
    if (options.tolerance > 0 && made.bound.worst > options.tolerance) {
        char text[160];
        __builtin_snprintf(
            text, sizeof(text),
            "with these ranks and this type the error is %.3g |A|, more than the tolerance of %.3g",
            made.bound.worst, options.tolerance);
        return failure(errc::argument, "tucker", text);
    }
    return tucker_matrix<T>(std::move(found), made, fit.norm * factor);
}

// The decomposition of the matrix A, whose sides are the products of `rows` and of `cols`: as many parts of each.
template <operand A>
auto try_tucker(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
                tucker_options const& options) -> result<tucker_matrix<value_of<A const>>> {
    using T = value_of<A const>;
    using W = wide_of<T>;
    view<T const> const from = as_view(a);
    wide_tucker<W> wide;
    wide_train<W> as_train;
    if (status s = set_parts("tucker", from.rows, from.cols, rows, cols, wide.sides); !s) return s;
    if (status s = check_tucker(from, wide.sides, options); !s) return s;
    list<W> c, left;
    double factor = 1;
    if (status s = unfold("tucker", from, wide.sides, c); !s) return s;
    if (status s = scale_to_one("tucker", c, factor); !s) return s;
    if (!left.resize(c.size())) return no_memory_for_parts("tucker");
    for (std::size_t i = 0; i < c.size(); ++i) left[i] = c[i];
    // Rounding of the core and of each factor takes its part of the tolerance.
    double const rounding = (wide.sides.cores + 1) * unit_roundoff<T>();
    double const sought =
        rounding < options.tolerance / 2 ? options.tolerance - rounding : options.tolerance / 2;
    if (status s = decompose(left, wide, options, sought); !s) return s;
    for (W& x : wide.core) x = W(factor) * x;
    if (status s = to_train(wide, as_train); !s) return s;
    auto made = stored_factors<T>(wide, as_train);
    if (!made) return made.take_status();
    tensor_fit fit;
    if (status s = compare_train<T>(made->view(), c, factor, fit); !s) return s;
    return certified_tucker(*std::move(made), fit, factor, options);
}
template <operand A>
auto tucker(A const& a, std::initializer_list<index_t> rows, std::initializer_list<index_t> cols,
            tucker_options const& options) {
    auto made = try_tucker(a, rows, cols, options);
    made.or_throw();
    return *std::move(made);
}

// A copy in the memory of a device's policy.
template <policy P, class T>
auto to_device(P const& policy, tucker_matrix<T> const& x) {
    static_assert(device_leaf<leaf_of<P>, typename P::space>,
                  "stratagemm: to_device() copies a decomposition in host memory to a device");
    using there = tucker_view<T, typename P::space>;
    auto const from = x.view();
    auto memory = reserve_for(policy, static_cast<std::size_t>(from.size()) * sizeof(T));
    memory.or_throw();
    auto const to = (*memory)->template take<T>(from.size());
    policy.leaf().upload(from.data, to, from.size()).or_throw();
    return tucker_matrix<T, P>({std::move(*memory), there(to, from.sides, from.rank)}, x.report(), x.norm());
}

STRATAGEMM_END
