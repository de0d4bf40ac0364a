// Products of matrices of two element types, on a side as structured.hpp has them: floats and halves or bfloat16, or one
// of these two and int8. C is of floats.
#pragma once

#include "stated.hpp"

namespace stratagemm_python {

// C = A B, where the type of A holds all numbers of that of B.
template <class A, class B, class Side>
outcome multiply_wider_first(Side const& side, product const& p) {
    if (outcome o = check_scalars<float>(p); !o.status) return o;
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    typename Side::template steps<float> const epilogue(p);
    if (outcome o = epilogue.failed(); !o.status) return o;
    auto const place = [&](auto const& x) { return side.place(x); };
    auto const in = batch.innermost();
    sg::status failed;
    batch.each_outer(p, [&](product const& part) {
        if (!failed) return;
        auto const a = place(sg::batched(part.a->matrix<A const>(), in.side, in.a));
        auto const b = place(sg::batched(part.b->matrix<B const>(), in.side, in.b));
        failed = sg::run(side.policy, stated<float>(part, batch, a, b, epilogue.value, place));
    });
    return {std::move(failed)};
}

// The same product transposed: B^T A^T.
struct exchanged {
    tensor a, b, c, e;
    product call;

    explicit exchanged(product const& p) : call(p) {
        call.a = turned_tensor(p.b, a), call.b = turned_tensor(p.a, b);
        call.c = turned_tensor(p.c, c), call.e = turned_tensor(p.e, e);
        for (stated_step& one : call.epilogue) one.axis = other_axis(one.axis);
    }
};

template <class Side>
outcome multiply_two_types_on(Side const& side, product const& p) {
    kind const a = p.a->type, b = p.b->type;
    if (a == kind::float32 && b == kind::float16) return multiply_wider_first<float, sg::half>(side, p);
    if (a == kind::float32 && b == kind::bfloat16) return multiply_wider_first<float, sg::bfloat16>(side, p);
    if (a == kind::float16 && b == kind::int8) return multiply_wider_first<sg::half, std::int8_t>(side, p);
    if (a == kind::bfloat16 && b == kind::int8)
        return multiply_wider_first<sg::bfloat16, std::int8_t>(side, p);
    return multiply_two_types_on(side, exchanged(p).call);
}

} // namespace stratagemm_python
