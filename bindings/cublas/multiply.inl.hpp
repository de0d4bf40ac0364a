// multiply_types(), for the sources that instantiate it.
#pragma once

#include "../device_policies.hpp"
#include "multiply.hpp"
#include "settings.hpp"

#include <complex>

namespace stratagemm_cublas {

// The steps after a product, which cublasLt calls an epilogue. S: the type of the sums.
template <class S, class C>
struct finish {
    sg::cuda_pointer<C const> bias{};
    activation then = activation::none;

    // For the concept of an epilogue: on the host nobody can follow the pointer, and no product runs there.
    template <class X>
    X operator()(X x, index_t, index_t) const = delete;
    template <class To>
    auto device(To& to) const -> decltype(to("", bias)) {
        if (bias) to(sizeof(C) < sizeof(S) ? "x + widen($0[i])" : "x + $0[i]", bias);
        if (then == activation::relu) sg::relu.device(to);
        // x (1 + tanh u) / 2 is x / (1 + exp -2u), which takes fewer instructions. cublasLt has that; sg::gelu is by
        // the error function.
        if (then == activation::gelu)
            to("x / ((value)1 + exp((value)-1.5957691216057308 * (x + (value)0.044715 * x * x * x)))");
    }
};

template <class T>
sg::cuda_view<T> view_of(matrix const& m) {
    sg::cuda_view<T> v;
    v.data = {static_cast<T*>(const_cast<void*>(m.data))};
    v.rows = m.rows, v.cols = m.cols, v.row_stride = m.row_stride, v.col_stride = m.col_stride;
    v.conjugate = sg::complex_like<std::remove_const_t<T>> && m.is_conjugated;
    return v;
}
template <class T, class C, class Epilogue>
auto problem_of(product_call const& p, Epilogue const& epilogue) {
    sg::dense_problem<T, T, C, sg::cuda_memory, Epilogue> q;
    using S = typename decltype(q)::scalar;
    q.alpha = *static_cast<S const*>(p.alpha), q.beta = *static_cast<S const*>(p.beta);
    q.a = view_of<T const>(p.a), q.b = view_of<T const>(p.b);
    q.c = view_of<C>(p.c), q.e = view_of<C const>(q.beta == S(0) ? p.c : p.e);
    q.count = p.count;
    q.a_step = p.a.step, q.b_step = p.b.step, q.c_step = p.c.step;
    q.e_step = q.beta == S(0) ? p.c.step : p.e.step;
    q.epilogue = epilogue;
    return q;
}

// Whether cuBLAS can still do the product: C is as it was, or is not read.
template <class Problem>
answer refused(sg::error const& e, Problem const& p) {
    bool const began = e.code() == sg::errc::native && p.beta != typename Problem::scalar(0);
    return {reason::refused, began};
}

template <class Policy, class Problem>
answer run_by(Policy const& policy, Problem const& p, place& at) {
    if (!sg::is_usual(p) && !sg::validate_unusual(p)) return {reason::arguments};
    if (sg::is_empty(p)) return {};
    auto ready = sg::prepare(policy, p);
    auto memory = at.reserve(ready.workspace().device);
    if (!memory) return {at.captures() ? reason::capture : reason::refused};
    if (sg::status const done = sg::run_prepared(policy, p, ready, *memory); !done)
        return refused(done.error(), p);
    return {};
}

// The choice is looked up once, and then its policy multiplies.
template <class... Policies, class Problem>
answer run_by(sg::automatic<Policies...> const& policy, Problem const& p, place& at) {
    answer done{reason::refused};
    if (sg::is_empty(p)) return {};
    (void)policy.by_chosen(p, [&](auto const& chosen) -> sg::status {
        done = run_by(chosen, p, at);
        return {};
    });
    return done;
}

// A layer that does not know the types leaves the product to `cuda`.
template <class Problem>
answer run(Problem const& p, place& at) {
    return stratagemm_bindings::with_device_policy(
        environment().chosen(), at.gpu, [&](auto const& policy) -> answer {
            if constexpr (sg::takes<std::remove_cvref_t<decltype(policy)>, Problem>)
                return run_by(policy, p, at);
            else
                return run_by(at.gpu, p, at);
        });
}

template <class T, class C>
answer multiply_types(product_call const& p, place& at) {
    using S = sg::accumulator_t<T>;
    if (!p.bias && p.then == activation::none) return run(problem_of<T, C>(p, sg::identity{}), at);
    if constexpr (std::is_floating_point_v<S>) {
        finish<S, C> const epilogue{{static_cast<C const*>(p.bias)}, p.then};
        return run(problem_of<T, C>(p, epilogue), at);
    }
    return {reason::types};
}

} // namespace stratagemm_cublas
