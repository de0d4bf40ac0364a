// The front end: gemm and try_gemm. It names no backend and no algorithm.
//
//   gemm([policy,] A, B, C [, epilogue])                    C = A B
//   gemm([policy,] A, B, E, C [, epilogue])                 C = A B + E
//   gemm([policy,] alpha, A, B, beta, C [, epilogue])       C = alpha A B + beta C
//   gemm([policy,] alpha, A, B, beta, E, C [, epilogue])    C = alpha A B + beta E
//   gemm([policy,] products)                                a group: see core/group.hpp
//   gemm(policy, products, arena)                           with workspace of one's own
//
// Operands are views, owning matrices, anything shaped like mdspan or a matrix of Eigen, or batched(first,
// count, stride). try_gemm returns the error that gemm throws. When a call fails before it runs, C is
// untouched; of a group, see there.
#pragma once

#include "core/group.hpp"
#include "core/matrix.hpp"
#include "core/plan.hpp"

STRATAGEMM_BEGIN

template <class... Args>
constexpr bool describes_product = requires(Args&&... args) {
    product(static_cast<Args&&>(args)...);
};

template <class... Args>
constexpr bool is_group_call = false;
template <class Products, class... Memory>
constexpr bool is_group_call<Products, Memory...> = product_range<std::remove_cvref_t<Products>>;

// Arguments that are in a wrong place, or are no matrices: what a caller may have meant.
template <class... Args>
constexpr bool has_policy = (policy<std::remove_cvref_t<Args>> || ...);
template <class... Args>
constexpr bool has_range = ((!operand<Args> && host_range<std::remove_reference_t<Args>>) || ...);

// A backend that knows products from before: again(alpha, A, B, beta, C) multiplies one of these, and returns false for
// any other product, valid or not.
template <class Policy>
concept has_again = requires(Policy const& policy, view<float const> const& v, view<float> const& c) {
    { policy.again(1.0f, v, v, 0.0f, c) } -> std::same_as<bool>;
};
template <class V>
[[gnu::always_inline]] inline decltype(auto) seen(V& v) {
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
    using S = scalar_of<A>;
    return policy.again(S(1), seen(a), seen(b), S(0), seen(c));
}
template <has_again Policy, class S, operand A, operand B, class T, operand C>
requires(scalar_for<S, A>&& scalar_for<T, A>)
    [[gnu::always_inline]] inline bool done_again(Policy const& policy, S& alpha, A& a, B& b, T& beta, C& c) {
    using X = scalar_of<A>;
    return holds<X>(alpha) && holds<X>(beta) &&
           policy.again(as_scalar<X>(alpha), seen(a), seen(b), as_scalar<X>(beta), seen(c));
}

// The product that arguments state, by a policy. One that was done before is not even put together.
template <class Policy, class... Args>
[[gnu::always_inline]] inline status run_product(Policy const& policy, Args&... args) {
    if (done_again(policy, args...)) return {};
    return run(policy, product(args...));
}

template <class First, class... Rest>
status run_call(First&& first, Rest&&... rest) {
    if constexpr (has_policy<Rest...>) {
        static_assert(!has_policy<Rest...>,
                      "stratagemm: the policy is the first argument of gemm: gemm(policy, a, b, c)");
    } else if constexpr (has_range<First, Rest...> && !is_group_call<First> && !is_group_call<Rest...>) {
        static_assert(
            !has_range<First, Rest...>,
            "stratagemm: a std::vector or std::span does not say how many rows and columns it has; write "
            "row_major(v, rows, cols) or col_major(v, rows, cols)");
    } else if constexpr (product_range<std::remove_cvref_t<First>>) {
        using Space = typename decltype(as_group(first))::problem_type::space;
        static_assert(sizeof...(Rest) == 0, "stratagemm: gemm takes ([policy,] products)");
        constexpr bool has_default = requires { typename default_policy<Space>::type; };
        static_assert(has_default, "stratagemm: include a backend for the memory of these operands");
        if constexpr (has_default) return run(typename default_policy<Space>::type{}, as_group(first));
    } else if constexpr (policy<std::remove_cvref_t<First>> && is_group_call<Rest...>) {
        return [&](auto const& products, auto&... memory) {
            return run(first, as_group(products), memory...);
        }(rest...);
    } else if constexpr (policy<std::remove_cvref_t<First>>) {
        constexpr bool known = describes_product<Rest...>;
        static_assert(known, "stratagemm: gemm takes ([policy,] [alpha,] A, B, [beta,] [E,] C [, epilogue])");
        if constexpr (known) {
            if constexpr (!std::is_void_v<decltype(product(rest...))>) return run_product(first, rest...);
        }
    } else {
        constexpr bool known = describes_product<First, Rest...>;
        static_assert(known, "stratagemm: gemm takes ([policy,] [alpha,] A, B, [beta,] [E,] C [, epilogue])");
        if constexpr (known) {
            using P = decltype(product(first, rest...));
            if constexpr (!std::is_void_v<P>) {
                constexpr bool has_default = requires { typename default_policy<typename P::space>::type; };
                static_assert(has_default, "stratagemm: include a backend for the memory of these operands");
                if constexpr (has_default)
                    return run_product(typename default_policy<typename P::space>::type{}, first, rest...);
            }
        }
    }
    return {};
}

template <class... Args>
status try_gemm(Args&&... args) {
    return or_no_memory([&] { return run_call(static_cast<Args&&>(args)...); });
}
template <class... Args>
void gemm(Args&&... args) {
    try_gemm(static_cast<Args&&>(args)...).or_throw();
}

STRATAGEMM_END
