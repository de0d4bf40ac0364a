// Epilogues: what happens to an element of C after alpha A B + beta E is known and before it is stored.
//
// An epilogue is a value. It is called as f(x, i, j) or f(x), with x in the accumulator's type and (i, j) the
// place in C, and returns the new x. fits(m, n), where it exists, tells whether it can serve an m x n result.
//
// For backends that compile their kernels at run time it also says in C what it does: device(to) calls
// to(expression, state...) for each step. The expression gives the new x from x, i and j, where $0, $1, ... are
// the values of the state. x has the type `value`; real_value(r) makes one, and times(x, y) multiplies two. Kernels may
// evaluate it for more elements than C has, with an x that is anything, and store none of these.
//
// instructions(), where it exists, tells how many instructions a device takes for an element, roughly; a load from memory
// counts as four. Estimates count them (shape::after).
#pragma once

#include "types.hpp"

#include <utility>

STRATAGEMM_BEGIN

struct identity {
    template <class T>
    constexpr T operator()(T x) const {
        return x;
    }
    template <class To>
    void device(To&) const {}
    static constexpr int instructions() { return 0; }
};

enum class along { rows, columns };

// Adds v[j] to column j (one value per column, as a layer of a network does), or v[i] to row i. The values lie
// in the memory of the operands.
template <class T, class Values = T const*>
struct bias_epilogue {
    Values values;
    index_t count;
    along axis;

    template <class X>
    constexpr X operator()(X x, index_t i, index_t j) const {
        return sum_of_two(x, static_cast<X>(values[axis == along::columns ? j : i]));
    }
    constexpr bool fits(index_t m, index_t n) const { return count >= (axis == along::columns ? n : m); }
    template <class To>
    auto device(To& to) const -> decltype(to("", values)) {
        to(axis == along::columns ? "x + $0[j]" : "x + $0[i]", values);
    }
    static constexpr int instructions() { return 7; }
};
template <class V>
concept line_values = requires(V const& v) {
    v.data();
    v.size();
};
template <class V>
using values_of_lines =
    std::conditional_t<std::is_pointer_v<decltype(std::declval<V const&>().data())>,
                       typename V::value_type const*, decltype(std::declval<V const&>().data())>;
template <line_values V>
auto bias(V const& v, along axis = along::columns) {
    return bias_epilogue<typename V::value_type, values_of_lines<V>>{v.data(), static_cast<index_t>(v.size()),
                                                                     axis};
}
template <class V>
void bias(V const&&, along = along::columns) = delete; // it would dangle

struct relu_epilogue {
    template <class X>
    constexpr X operator()(X x) const {
        return x < X(0) ? X(0) : x; // NaN stays NaN
    }
    template <class To>
    void device(To& to) const {
        to("x < 0 ? 0 : x");
    }
    static constexpr int instructions() { return 1; }
};
inline constexpr relu_epilogue relu{};

// x Phi(x) with the exact distribution function, not its tanh approximation.
struct gelu_epilogue {
    float operator()(float x) const { return 0.5f * x * (1.0f + __builtin_erff(x * 0.70710678118654752f)); }
    double operator()(double x) const { return 0.5 * x * (1.0 + __builtin_erf(x * 0.70710678118654752)); }
    template <class To>
    void device(To& to) const {
        to("(value)0.5 * x * ((value)1 + erf(x * (value)0.70710678118654752))");
    }
    // As compiled for float by CUDA 13.
    static constexpr int instructions() { return 31; }
};
inline constexpr gelu_epilogue gelu{};

template <class T>
struct clamp_epilogue {
    T low, high;
    template <class X>
    constexpr X operator()(X x) const {
        return x < X(low) ? X(low) : X(high) < x ? X(high) : x;
    }
    template <class To>
    auto device(To& to) const -> decltype(to("", low, high)) {
        to("x < $0 ? $0 : $1 < x ? $1 : x", low, high);
    }
    static constexpr int instructions() { return 3; }
};
template <class T>
constexpr auto clamp(T low, T high) {
    return clamp_epilogue<T>{low, high};
}

template <class T>
struct scale_epilogue {
    T factor;
    template <class X>
    constexpr X operator()(X x) const {
        return scaled_by(x, X(factor));
    }
    template <class To>
    auto device(To& to) const -> decltype(to("", factor)) {
        to("times(x, $0)", factor);
    }
};
template <class T>
requires(!line_values<T>) constexpr auto scale(T factor) { return scale_epilogue<T>{factor}; }

// Multiplies column j by v[j], or row i by v[i], as operands ask for whose integers have a scale for each column or row.
// The values lie in the memory of the operands.
template <class T, class Values = T const*>
struct scale_of_lines_epilogue {
    Values values;
    index_t count;
    along axis;

    template <class X>
    constexpr X operator()(X x, index_t i, index_t j) const {
        return scaled_by(x, static_cast<X>(values[axis == along::columns ? j : i]));
    }
    constexpr bool fits(index_t m, index_t n) const { return count >= (axis == along::columns ? n : m); }
    template <class To>
    auto device(To& to) const -> decltype(to("", values)) {
        to(axis == along::columns ? "times(x, $0[j])" : "times(x, $0[i])", values);
    }
    static constexpr int instructions() { return 7; }
};
template <line_values V>
auto scale(V const& v, along axis = along::columns) {
    return scale_of_lines_epilogue<typename V::value_type, values_of_lines<V>>{
        v.data(), static_cast<index_t>(v.size()), axis};
}
template <line_values V>
void scale(V const&&, along = along::columns) = delete; // it would dangle

template <class F, class X>
constexpr X apply_epilogue(F const& f, X x, index_t i, index_t j) {
    if constexpr (std::is_invocable_v<F const&, X, index_t, index_t>)
        return static_cast<X>(f(x, i, j));
    else
        return static_cast<X>(f(x));
}
// An epilogue of C as one of the transposed of C.
template <class F>
struct turned_epilogue {
    F of;
    template <class X>
    X operator()(X x, index_t i, index_t j) const {
        return apply_epilogue(of, x, j, i);
    }
};

// One, if the epilogue does not say.
template <class F>
constexpr int instructions_of(F const& f) {
    if constexpr (requires { f.instructions(); })
        return f.instructions();
    else
        return 1;
}

template <class F>
constexpr bool epilogue_fits(F const& f, index_t m, index_t n) {
    if constexpr (requires { f.fits(m, n); })
        return f.fits(m, n);
    else
        return true;
}

template <class First, class Second>
struct then_epilogue {
    First first;
    Second second;
    template <class X>
    requires(std::is_invocable_v<First const&, X> ||
             std::is_invocable_v<First const&, X, index_t, index_t>) constexpr X
    operator()(X x, index_t i, index_t j) const {
        return apply_epilogue(second, apply_epilogue(first, x, i, j), i, j);
    }
    constexpr bool fits(index_t m, index_t n) const {
        return epilogue_fits(first, m, n) && epilogue_fits(second, m, n);
    }
    constexpr int instructions() const { return instructions_of(first) + instructions_of(second); }
    template <class To, class F = First, class S = Second>
    auto device(To& to) const
        -> decltype(std::declval<F const&>().device(to), std::declval<S const&>().device(to)) {
        first.device(to);
        second.device(to);
    }
};
template <class First, class Second, class... Rest>
constexpr auto then(First first, Second second, Rest... rest) {
    if constexpr (sizeof...(Rest) == 0)
        return then_epilogue<First, Second>{first, second};
    else
        return then(then_epilogue<First, Second>{first, second}, rest...);
}

template <class F, class X>
concept epilogue_for = std::is_invocable_v<F const&, X> || std::is_invocable_v<F const&, X, index_t, index_t>;

STRATAGEMM_END
