// The front end: gemm and try_gemm. It names no backend and no algorithm.
//
//   gemm([policy,] A, B, C [, epilogue])                    C = A B
//   gemm([policy,] A, B, E, C [, epilogue])                 C = A B + E
//   gemm([policy,] alpha, A, B, beta, C [, epilogue])       C = alpha A B + beta C
//   gemm([policy,] alpha, A, B, beta, E, C [, epilogue])    C = alpha A B + beta E
//   gemm([policy,] products)                                a group: see core/group.hpp
//   gemm(policy, products, arena)                           with workspace of one's own
//   C = multiplied([policy,] A, B)                          a matrix that is made for it
//
// Operands are views, owning matrices, anything shaped like mdspan or a matrix of Eigen, or batched(first,
// count, stride). try_gemm returns the error that gemm throws. When a call fails before it runs, C is
// untouched; of a group, see there.
#pragma once

#include "core/group.hpp"
#include "core/matrix.hpp"
#include "core/plan.hpp"

STRATAGEMM_BEGIN

// The product that arguments state: a problem, a refused_product, or void.
template <class... Args>
struct stated {
    using type = void;
};
template <class... Args>
requires requires(Args&... args) { product(args...); }
struct stated<Args...> {
    using type = decltype(product(std::declval<Args&>()...));
};
template <class Products, class... Memory>
requires product_range<std::remove_cvref_t<Products>>
struct stated<Products, Memory...> {
    using type = typename decltype(as_group(std::declval<Products&>()))::problem_type;
};

template <class First, class... Rest>
constexpr bool states_policy = policy<std::remove_cvref_t<First>>;

// The product of a call.
template <class First, class... Rest>
struct problem_of : stated<First, Rest...> {};
template <class First, class... Rest>
requires states_policy<First>
struct problem_of<First, Rest...> : stated<Rest...> {
};

// What arguments that state no product may be. Expressions of Eigen have no elements in memory.
template <class M>
concept unevaluated = !operand<M> && requires(std::remove_reference_t<M> & x) {
    x.rows(), x.cols(), x.eval();
};
template <class M>
concept without_sides =
    (!operand<M> && host_range<std::remove_reference_t<M>>) || std::is_pointer_v<std::decay_t<M>>;
template <class S>
concept factor = std::is_arithmetic_v<std::remove_cvref_t<S>> || element<std::remove_cvref_t<S>>;

// Says at compile time, in one line, why a call of gemm cannot be compiled, if it cannot.
template <class First, class... Rest>
constexpr bool check_call() {
    using Problem = typename problem_of<First, Rest...>::type;
    constexpr bool is_last = (policy<std::remove_cvref_t<Rest>> || ...), is_known = !std::is_void_v<Problem>;
    if constexpr (is_last) {
        static_assert(!is_last,
                      "stratagemm: the policy is the first argument of gemm: gemm(policy, a, b, c)");
    } else if constexpr (!is_known) {
        constexpr bool eigen = (unevaluated<First> || ... || unevaluated<Rest>),
                       bare = (without_sides<First> || ... || without_sides<Rest>),
                       scaled = (factor<First> || ... || factor<Rest>);
        static_assert(!eigen, "stratagemm: an expression of Eigen has no elements in memory: write "
                              "conjugated(transposed(Z)) for Z.adjoint(), and (A + B).eval() for A + B");
        static_assert(eigen || !bare,
                      "stratagemm: a pointer, a std::vector or a std::span does not say how many rows and "
                      "columns it has; write row_major(v, rows, cols) or col_major(v, rows, cols)");
        static_assert(
            eigen || bare || !scaled,
            "stratagemm: alpha and beta go together: gemm(alpha, a, b, beta, c), with beta = 0 for C = "
            "alpha A B; both convert to the type in which A B is summed");
        static_assert(
            eigen || bare || scaled || is_known,
            "stratagemm: gemm takes (A, B, C), (A, B, E, C), (alpha, A, B, beta, C) or (alpha, A, B, "
            "beta, E, C), behind a policy or none and before an epilogue or none");
    } else if constexpr (!is_problem<Problem>::value) {
        return Problem::say();
    } else if constexpr (states_policy<First>) {
        return check_policy<performer<std::remove_cvref_t<First>, Problem>, Problem>();
    } else {
        using Policy = typename default_policy<typename Problem::space>::type;
        constexpr bool has_backend = !std::is_void_v<Policy>;
        static_assert(has_backend, "stratagemm: include a backend for the memory of these operands");
        if constexpr (has_backend) return check_policy<performer<Policy, Problem>, Problem>();
    }
    return false;
}

// A backend that knows products from before: again(alpha, A, B, beta, C) multiplies one of these, and returns false for
// any other product, valid or not.
template <class Policy>
concept has_again = requires(Policy const& policy, view<float const> const& v, view<float> const& c) {
    { policy.again(1.0f, v, v, 0.0f, c) } -> std::same_as<bool>;
};
// An operand as a view. A view is passed on as it is.
template <class V>
[[gnu::always_inline]] inline decltype(auto) view_of_operand(V& v) {
    if constexpr (is_view<std::remove_const_t<V>>::value)
        return static_cast<V const&>(v);
    else
        return as_view(v);
}
template <class... Any>
[[gnu::always_inline]] inline bool done_again(Any const&...) {
    return false;
}
template <has_again Policy, operand A, operand B, operand C>
[[gnu::always_inline]] inline bool done_again(Policy const& policy, A& a, B& b, C& c) {
    using S = scalar_of<A, B>;
    return policy.again(S(1), view_of_operand(a), view_of_operand(b), S(0), view_of_operand(c));
}
template <has_again Policy, class S, operand A, operand B, class T, operand C>
requires(scalar_for<S, A, B>&& scalar_for<T, A, B>)
    [[gnu::always_inline]] inline bool done_again(Policy const& policy, S& alpha, A& a, B& b, T& beta, C& c) {
    using X = scalar_of<A, B>;
    return holds<X>(alpha) && holds<X>(beta) &&
           policy.again(as_scalar<X>(alpha), view_of_operand(a), view_of_operand(b), as_scalar<X>(beta),
                        view_of_operand(c));
}

// The product that arguments state, or the group, by a policy. A product that was done before is not even put together.
template <class Policy, class First, class... Rest>
[[gnu::always_inline]] inline status run_call(Policy const& policy, First& first, Rest&... rest) {
    if constexpr (product_range<std::remove_cv_t<First>>) {
        return run(policy, as_group(first), rest...);
    } else {
        if (done_again(policy, first, rest...)) return {};
        return run(policy, product(first, rest...));
    }
}

template <class... Args>
status try_gemm(Args&&... args) {
    if constexpr (check_call<Args...>())
        return or_no_memory([&] {
            if constexpr (states_policy<Args...>)
                return run_call(args...);
            else
                return run_call(typename default_policy<typename problem_of<Args...>::type::space>::type{},
                                args...);
        });
    else
        return {};
}
template <class... Args>
[[gnu::always_inline]] inline void gemm(Args&&... args) {
    if constexpr (check_call<Args...>()) try_gemm(static_cast<Args&&>(args)...).or_throw();
}

// A C for multiplied(): its elements have the type in which A B is summed.
template <operand A, operand B>
auto matrix_for(A& a, B& b) {
    constexpr bool is_one = !is_batch<view_of<A>>::value && !is_batch<view_of<B>>::value;
    static_assert(is_one, "stratagemm: multiplied() takes no batches; gemm(a, b, c) does");
    if constexpr (is_one)
        return matrix<scalar_of<A&, B&>>(as_view(a).rows, as_view(b).cols);
    else
        return matrix<scalar_of<A&, B&>>();
}
template <operand A, operand B>
auto multiplied(A&& a, B&& b) {
    auto c = matrix_for(a, b);
    gemm(a, b, c);
    return c;
}
template <policy P, operand A, operand B>
auto multiplied(P const& policy, A&& a, B&& b) {
    auto c = matrix_for(a, b);
    gemm(policy, a, b, c);
    return c;
}

STRATAGEMM_END
