// An epilogue whose steps a caller puts together at run time, each an epilogue of the library.
#pragma once

#include "tensor.hpp"

#include <stratagemm/core/epilogue.hpp>

#include <vector>

namespace stratagemm_python {

enum class step_kind : unsigned char { relu, gelu, clamp, scale, bias, scale_lines };

// As the caller states a step, for any element type.
struct stated_step {
    step_kind what;
    sg::along axis = sg::along::columns;
    std::complex<double> first{}, second{}; // of clamp and scale
    tensor const* values = nullptr;         // of bias and scale_lines: one dimension
};

// The steps of the transposed product.
inline sg::along other_axis(sg::along axis) {
    return axis == sg::along::rows ? sg::along::columns : sg::along::rows;
}

// The same for sums of type S. Values: what points to S.
template <class S, class Values = S const*>
struct step {
    step_kind what;
    sg::along axis;
    S first, second;
    Values values;
    index_t count;
};

template <class S, class Values = S const*>
struct steps {
    step<S, Values> const* first = nullptr;
    int count = 0;

    template <class X>
    X operator()(X x, index_t i, index_t j) const {
        for (int s = 0; s < count; ++s) x = applied(first[s], x, i, j);
        return x;
    }
    bool fits(index_t m, index_t n) const {
        for (int s = 0; s < count; ++s)
            if (first[s].what == step_kind::bias || first[s].what == step_kind::scale_lines)
                if (first[s].count < (first[s].axis == sg::along::columns ? n : m)) return false;
        return true;
    }
    template <class To>
    auto device(To& to) const -> decltype(to("", std::declval<Values>())) {
        for (int s = 0; s < count; ++s) state(first[s], to);
    }

private:
    template <class F>
    static void with(step<S, Values> const& one, F const& f) {
        switch (one.what) {
        case step_kind::relu:
            if constexpr (!sg::complex_like<S>) f(sg::relu);
            break;
        case step_kind::gelu:
            if constexpr (std::is_floating_point_v<S>) f(sg::gelu);
            break;
        case step_kind::clamp:
            if constexpr (!sg::complex_like<S>) f(sg::clamp(one.first, one.second));
            break;
        case step_kind::scale: f(sg::scale(one.first)); break;
        case step_kind::bias: f(sg::bias_epilogue<S, Values>{one.values, one.count, one.axis}); break;
        case step_kind::scale_lines:
            f(sg::scale_of_lines_epilogue<S, Values>{one.values, one.count, one.axis});
            break;
        }
    }
    template <class X>
    static X applied(step<S, Values> const& one, X x, index_t i, index_t j) {
        with(one, [&](auto const& epilogue) { x = sg::apply_epilogue(epilogue, x, i, j); });
        return x;
    }
    template <class To>
    static void state(step<S, Values> const& one, To& to) {
        with(one, [&](auto const& epilogue) { epilogue.device(to); });
    }
};

} // namespace stratagemm_python
