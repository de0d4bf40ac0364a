// A plan: everything about a product that depends on its policy and shape alone, done once.
//
// A policy with options may have check(shape), a status: what is wrong with the options, by themselves or for this
// shape. A plan throws that where it is made; a layer passes the question on to its base.
#pragma once

#include "policy.hpp"

STRATAGEMM_BEGIN

template <policy Policy, class Shape>
class plan {
public:
    using arena = typename Policy::arena;

    plan(Policy policy, Shape shape) : policy_(std::move(policy)), shape_(shape) {
        if (shape.m < 0 || shape.n < 0 || shape.k < 0 || shape.count < 0)
            raise(error(errc::shape, "plan: sizes must not be negative"));
        if (is_vast(shape)) raise(error(errc::overflow, vast_refusal));
        if constexpr (requires { policy_.check(shape_); }) policy_.check(shape_).or_throw();
        workspace_ = policy_.workspace(shape_);
    }

    std::string describe() const { return policy_.describe(shape_); }
    footprint workspace() const { return workspace_; }
    bound error_bound() const { return policy_.error_bound(shape_); }
    double estimate() const { return policy_.estimate(shape_); } // seconds, roughly

    // Workspace for run(); may serve any plan that needs no more.
    arena reserve() const {
        auto made = policy_.reserve(workspace_);
        made.or_throw();
        return std::move(*made);
    }

    // Runs product(...), whose shape is the plan's.
    template <class Problem>
    status try_run(Problem const& p, arena& workspace) const {
        constexpr bool same_types = std::is_same_v<decltype(p.shape()), Shape>;
        static_assert(same_types, "stratagemm: the plan was made for operands of other types");
        if constexpr (!same_types) {
            return {};
        } else if constexpr (check_policy<Policy, Problem>()) {
            auto const s = p.shape();
            if (s.m != shape_.m || s.n != shape_.n || s.k != shape_.k || s.count != shape_.count)
                return other_shape(s);
            if (s.adds && !shape_.adds && !workspace.fits(policy_.workspace(s)))
                return error(
                    errc::argument,
                    "plan: beta is not zero, which takes more workspace; plan with shape.adds = true");
            if (!workspace.fits(workspace_)) return small_arena();
            if (status v = validate(p); !v) return v;
            return or_no_memory([&] { return run_checked(policy_, p, workspace); });
        }
    }
    template <operand A, operand B, operand C>
    void run(A&& a, B&& b, C&& c, arena& workspace) const {
        try_run(product(a, b, c), workspace).or_throw();
    }
    template <operand A, operand B, operand C>
    void run(A&& a, B&& b, C&& c) const {
        arena workspace = reserve();
        run(a, b, c, workspace);
    }
    template <class Problem>
    void run(Problem const& p, arena& workspace) const {
        try_run(p, workspace).or_throw();
    }

private:
    status other_shape(Shape const& s) const {
        char text[256];
        __builtin_snprintf(text, sizeof(text),
                           "the product is %td x %td x %td (m, n, k), %td of them, and the plan was made for "
                           "%td x %td x %td, %td of them",
                           s.m, s.n, s.k, s.count, shape_.m, shape_.n, shape_.k, shape_.count);
        return failure(errc::shape, "plan", text);
    }
    status small_arena() const {
        char text[256];
        __builtin_snprintf(
            text, sizeof(text),
            "the arena is smaller than workspace() asks for: %zu bytes of host, %zu of pinned and "
            "%zu of device memory; reserve() makes an arena that is large enough",
            workspace_.host, workspace_.pinned, workspace_.device);
        return failure(errc::memory, "plan", text);
    }

    Policy policy_;
    Shape shape_;
    footprint workspace_;
};

template <policy Policy, class Shape>
plan(Policy, Shape) -> plan<multiplier<Policy, Shape>, Shape>;

STRATAGEMM_END
