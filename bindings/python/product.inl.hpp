// multiply_types() and plan_types(), for the sources that instantiate them.
#pragma once

#include "product.hpp"
#include "stated.hpp"

namespace stratagemm_python {

template <class T, class C>
using typed_problem = sg::dense_problem<T, T, C, sg::host_memory, steps<sg::accumulator_t<T>>>;

template <class Policy, class T, class C>
outcome refuse_policy(char const* name) {
    return refuse_types(std::string("gemm: the policy ") + name + " multiplies no " + facts(kind_of<T>).name +
                        " into " + facts(kind_of<C>).name);
}

// One product or batch of them; where batches have more dimensions than one stride can follow, a group.
template <class T, class C, class Policy, class Epilogue>
sg::status run_stated(Policy const& policy, product const& p, batch_dimensions const& batch,
                      Epilogue const& epilogue) {
    if (batch.count <= 1) return sg::run(policy, stated_dense<T, C>(p, batch, epilogue));
    sg::list<sg::dense_problem<T, T, C, sg::host_memory, Epilogue>> all;
    sg::status failed;
    batch.each_outer(p, [&](product const& part) {
        if (!all.append(stated_dense<T, C>(part, batch, epilogue)) && failed)
            failed = sg::failure(sg::errc::memory, "stratagemm: no host memory is left");
    });
    if (!failed) return failed;
    return sg::try_gemm(policy, all);
}

template <class T, class C>
outcome multiply_types(product const& p) {
    using S = sg::accumulator_t<T>;
    // The shortest way, for products that take less time than it takes to state them.
    if (auto const* const host = std::get_if<sg::host>(p.policy);
        host && is_plain(p) && is_real_enough<S>(p)) {
        auto const alpha = static_cast<S>(scalar_as<S>(p.alpha)), beta = static_cast<S>(scalar_as<S>(p.beta));
        return {sg::try_gemm(*host, alpha, p.a->matrix<T const>(), p.b->matrix<T const>(), beta,
                             p.c->matrix<C>())};
    }
    if (outcome o = check_scalars<S>(p); !o.status) return o;
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    steps_of<S> const epilogue(p);
    if (!epilogue.status) return {sg::status(epilogue.status.error()), epilogue.is_of_types};
    return std::visit(
        [&](auto const& policy) -> outcome {
            using Policy = std::remove_cvref_t<decltype(policy)>;
            if constexpr (!sg::takes<Policy, typed_problem<T, C>>)
                return refuse_policy<Policy, T, C>(p.policy_name);
            else if constexpr (std::is_same_v<Policy, sg::host>)
                return {epilogue.value.count == 0 ? run_stated<T, C>(policy, p, batch, sg::identity{})
                                                  : run_stated<T, C>(policy, p, batch, epilogue.value)};
            else
                return {run_stated<T, C>(policy, p, batch, epilogue.value)};
        },
        *p.policy);
}

template <class Policy, class T, class C>
class typed_plan final : public plan {
    using shape_type = sg::shape<T, T, C>;

public:
    typed_plan(Policy const& policy, shape_type const& s) : plan_(policy, s) {}
    std::string describe() const override { return plan_.describe(); }
    sg::footprint workspace() const override { return plan_.workspace(); }
    sg::bound error_bound() const override { return plan_.error_bound(); }
    double estimate() const override { return plan_.estimate(); }
    outcome run(product const& p) override {
        using S = sg::accumulator_t<T>;
        if (outcome o = check_scalars<S>(p); !o.status) return o;
        batch_dimensions batch;
        if (sg::status s = batch.find(p); !s) return {std::move(s)};
        if (batch.count > 1)
            return {sg::failure(sg::errc::shape, "plan",
                                "the matrices of a batch have to be the same distance apart")};
        steps_of<S> const epilogue(p);
        if (!epilogue.status) return {sg::status(epilogue.status.error()), epilogue.is_of_types};
        if (!arena_) arena_ = std::make_unique<typename Policy::arena>(plan_.reserve());
        return {plan_.try_run(stated_dense<T, C>(p, batch, epilogue.value), *arena_)};
    }

private:
    sg::plan<Policy, shape_type> plan_;
    std::unique_ptr<typename Policy::arena> arena_;
};

template <class T, class C>
made_plan plan_types(planned_shape const& s) {
    return std::visit(
        [&](auto const& policy) -> made_plan {
            using Policy = std::remove_cvref_t<decltype(policy)>;
            if constexpr (!sg::takes<Policy, typed_problem<T, C>>) {
                return {nullptr, refuse_policy<Policy, T, C>(s.policy_name)};
            } else {
                sg::shape<T, T, C> shape;
                shape.m = s.m, shape.n = s.n, shape.k = s.k, shape.count = s.count, shape.adds = s.adds;
                return {std::make_unique<typed_plan<Policy, T, C>>(policy, shape), {}};
            }
        },
        *s.policy);
}

#define STRATAGEMM_PYTHON_INSTANCES(T, C)                                                                    \
    template outcome multiply_types<T, C>(product const&);                                                   \
    template made_plan plan_types<T, C>(planned_shape const&);

} // namespace stratagemm_python
