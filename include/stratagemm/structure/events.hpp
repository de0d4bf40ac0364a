// Products of a matrix that is mostly zero with a dense matrix W. A product reads only the rows, or columns, of W
// that meet a non-zero element.
//
//   sg::gemm(gpu, sg::events(x), w, y);      Y = X W: rows of W; X has few rows, such as one vector of activations
//   sg::gemm(gpu, w, sg::events(x), y);      Y = W X: columns of W
//
//   auto const list = sg::compact(gpu, x);   once: a csr_matrix
//   sg::gemm(gpu, list, w, y);               many times
//
// The product lists the non-zero elements on the device, in workspace that has room for all elements, and does not
// wait for the host. The list is in the order of the columns, so the result is the same from run to run. Zeros are
// not multiplied: 0 times Inf or NaN in W adds nothing. Where such a product must give NaN, pass x itself.
#pragma once

#include "csr.hpp"
#include "csr/compact.hpp"

#include <memory>

STRATAGEMM_BEGIN

template <policy P>
class event_product;

template <class T>
struct event_form {
    using value_type = T;
    template <class P>
    requires P::is_backend using over = event_product<P>;
};

template <class T, class Space>
struct event_matrix {
    using value_type = T;
    using space = Space;
    using form = event_form<T>;
    static constexpr int most_views = 1;

    index_t rows = 0, cols = 0;
    view<T const, Space> elements{};

    event_matrix() = default;
    explicit event_matrix(view<T const, Space> const& x) : rows(x.rows), cols(x.cols), elements(x) {}
    event_matrix transposed() const { return event_matrix(elements.transposed()); }
    template <class F>
    void each_view(F&& f) const {
        f(elements);
    }
};
template <class X>
inline constexpr bool is_events = false;
template <class T, class Space>
inline constexpr bool is_events<event_matrix<T, Space>> = true;

template <operand X>
requires is_view<reading_t<decltype(as_view(std::declval<X const&>()))>>::value auto events(X const& x) {
    auto const v = reading(as_view(x));
    return event_matrix<typename decltype(v)::value_type, typename decltype(v)::space>(v);
}

// A CSR matrix that owns its arrays, in the memory of a policy. Copies share them.
template <class T, class Index, class Policy>
class csr_matrix {
    using space = typename Policy::space;

public:
    using value_type = T;

    // Lists the non-zero elements of x, times its factor. On a device the host does not learn how many there are:
    // `nonzeros` of the view is the number of elements of x then.
    csr_matrix(Policy const& policy, view<T const, space> const& x) {
        using arena = typename Policy::arena;
        footprint room;
        space::share(room) =
            bytes_of_lists<arena, T, Index>(x.rows, x.cols) + bytes_to_compact<arena>(x.rows, x.cols);
        auto memory = policy.reserve(room);
        memory.or_throw();
        memory_ = std::make_shared<arena>(std::move(*memory));
        auto const begins = memory_->template take<Index>(x.rows + 1);
        auto const columns = memory_->template take<Index>(x.rows * x.cols);
        auto const values = memory_->template take<T>(x.rows * x.cols);
        auto const leaf = policy.leaf();
        list_nonzeros<decltype(leaf), T, space, Index>(leaf, x, x.scale, begins, columns, values, *memory_)
            .or_throw();
        view_ = {x.rows, x.cols, begins, columns, values, x.rows * x.cols};
        if constexpr (host_leaf<decltype(leaf)>) view_.nonzeros = begins[x.rows];
    }

    index_t rows() const { return view_.rows; }
    index_t cols() const { return view_.cols; }
    csr<T, Index, space> view() const { return view_; }

private:
    std::shared_ptr<typename Policy::arena> memory_;
    csr<T, Index, space> view_;
};
template <policy P, operand X>
requires std::is_same_v<typename decltype(as_view(std::declval<X const&>()))::space, typename P::space>
auto compact(P const& policy, X const& x) {
    auto const v = reading(as_view(x));
    return csr_matrix<typename decltype(v)::value_type, std::int32_t, P>(policy, v);
}

// Lists X, and multiplies the list.
template <policy P>
class event_product : public product_over<P> {
    using Leaf = leaf_of<P>;
    using Index = std::int32_t;
    using Space = typename P::space;

    template <class S>
    static constexpr bool on_left = !element<typename S::a_form>;
    template <class Q>
    using dense_of =
        std::conditional_t<is_events<typename Q::a_operand>, typename Q::b_operand, typename Q::a_operand>;
    template <class Q, class Epilogue>
    using of_lists =
        problem<csr<typename Q::a_type, Index, Space>, dense_of<Q>, typename Q::c_operand, Epilogue>;

public:
    using typename product_over<P>::space;
    using typename product_over<P>::arena;

    event_product(P policy) : product_over<P>(policy), of_lists_(policy) {}

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        if constexpr (is_events<typename Q::a_operand> == is_events<typename Q::b_operand>)
            return verdict::structure;
        else
            return csr_product<P>::template accepts_operands<of_lists<Q, typename Q::epilogue_type>>;
    }();

    template <class S>
    footprint workspace(S const& s) const {
        index_t const rows = on_left<S> ? s.m : s.n;
        footprint need = of_lists_.workspace(s);
        space::share(need) += bytes_of_lists<arena, typename S::a_type, Index>(rows, s.k) +
                              (host_leaf<Leaf> ? 0 : bytes_to_compact<arena>(rows, s.k));
        return need;
    }
    template <class S>
    bound error_bound(S const& s) const {
        return chain_bound<S>(s.k);
    }
    // The host does not know how many elements are non-zero: assume one in ten.
    template <class S>
    double estimate(S const& s) const {
        return of_lists_.estimate(lists_shape(s, 10));
    }
    template <class S>
    std::string describe(S const& s) const {
        return "events, listed first; " + of_lists_.describe(lists_shape(s, 1), "at most ");
    }

    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        typename arena::scope const scope(memory);
        auto const q = [&] {
            if constexpr (is_events<typename Q::a_operand>)
                return p.without_epilogue();
            else
                return p.without_epilogue().transposed();
        }();
        auto const& x = q.a.elements;
        using T = typename Q::a_type;
        auto const begins = memory.template take<Index>(x.rows + 1);
        auto const columns = memory.template take<Index>(x.rows * x.cols);
        auto const values = memory.template take<T>(x.rows * x.cols);
        status s = list_nonzeros<Leaf, T, space, Index>(
            this->leaf(), x, accumulator_t<T>(real_t<accumulator_t<T>>(1)), begins, columns, values, memory);
        if (!s) return s;
        of_lists<Q, identity> r{q.alpha * x.scale,
                                {x.rows, x.cols, begins, columns, values, x.rows * x.cols},
                                q.b,
                                q.beta,
                                q.e,
                                q.c};
        r.count = q.count, r.b_step = q.b_step, r.e_step = q.e_step, r.c_step = q.c_step;
        if (s = of_lists_(r, memory); !s) return s;
        for (index_t i = 0; i < p.count; ++i)
            if (s = apply_to_c(this->leaf(), p.at(i)); !s) return s;
        return {};
    }

private:
    // The shape of the CSR product, with one element in `one_in` non-zero.
    template <class S>
    static auto lists_shape(S const& s, index_t one_in) {
        using T = typename S::a_type;
        shape<csr_form<T>, T, typename S::c_type> of{s.m, s.n, s.k, s.count, s.adds};
        if (!on_left<S>) std::swap(of.m, of.n);
        of.a_facts.nonzeros = of.m * s.k / one_in;
        return of;
    }

    csr_product<P> of_lists_;
};

STRATAGEMM_END
