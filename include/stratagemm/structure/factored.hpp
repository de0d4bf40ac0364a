// A matrix that is the product of two smaller ones, U of rows x rank and V of rank x cols, as an operand. It is never
// written out.
//
//   sg::gemm(policy, sg::factored(u, v), b, c);    C = U (V B), two dense products of the policy
//   sg::gemm(policy, b, sg::factored(u, v), c);    C = (B U) V
//   sg::gemm(policy, sg::factored(u, v), sg::factored(x, y), c);   three products: V X first
//
// U and V are matrices of one element type in the policy's memory, with any strides. The policy may be a layer, such as
// `strassen`. The other operand may be a batch; alpha, beta, E and an epilogue serve as in other products. What is between
// the products is kept in the type in which sums of the elements are made, in workspace.
//
// Bounds are those of both products, relative to |U||V| in place of |A|.
#pragma once

#include "../gemm.hpp"
#include "factored/product.hpp"

STRATAGEMM_BEGIN

template <class T>
struct factored_form {
    using value_type = T;
    static constexpr bool has_facts = true, is_factored = true;
    template <class P>
    requires(!is_factored_product<P>) using over = factored_product<P>;

    index_t rank = 0;

    factored_form transposed() const { return *this; }
};

template <class T, class Space = host_memory>
struct factored {
    using value_type = T;
    using space = Space;
    using form = factored_form<T>;
    static constexpr int most_views = 2;

    view<T const, Space> left, right; // rows x rank, rank x cols
    index_t rows = left.rows, cols = right.cols;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    factored() = default;
    template <operand U, operand V>
    factored(U&& u, V&& v) : left(as_view(u)), right(as_view(v)), scale(scaled_by(left.scale, right.scale)) {
        left = with_scale(left, accumulator_t<T>(1)), right = with_scale(right, accumulator_t<T>(1));
    }

    form facts() const { return {left.cols}; }
    factored transposed() const {
        factored one(right.transposed(), left.transposed());
        one.scale = scale, one.conjugate = conjugate;
        return one;
    }
    template <class F>
    void each_view(F&& f) const {
        f(left), f(right);
    }
    status usable() const {
        if (left.cols == right.rows && left.cols > 0) return {};
        char text[160];
        __builtin_snprintf(text, sizeof(text),
                           "U has %td columns and V %td rows; both are the rank, which is 1 or more",
                           left.cols, right.rows);
        return failure(errc::shape, "factored", text);
    }

    // The factors as the product needs them: the conjugate of U V has the conjugate of each, and the factor is alpha's.
    view<T const, Space> u() const { return finished(left); }
    view<T const, Space> v() const { return finished(right); }

private:
    view<T const, Space> finished(view<T const, Space> const& x) const {
        return conjugate ? conjugated(x) : x;
    }
};
template <operand U, operand V>
factored(U&&, V&&) -> factored<value_of<U>, typename view_of<U>::space>;

STRATAGEMM_END
