// The other way of an operand that has two (core/policy.hpp), as a policy over a backend: a Toeplitz matrix by transforms.
#pragma once

#include "../../core/layer.hpp"

STRATAGEMM_BEGIN

namespace automatic_parts {

template <class X>
auto in_other_way(X const& x) {
    if constexpr (has_other_way<X>)
        return x.in_other_way();
    else
        return x;
}
// A form that is a type of elements has no facts.
template <class Form>
struct other_form {
    using type = Form;
};
template <has_other_way Form>
struct other_form<Form> {
    using type = decltype(std::declval<Form const&>().in_other_way());
};

template <class S>
auto shape_in_other_way(S const& s) {
    shape<typename other_form<typename S::a_form>::type, typename other_form<typename S::b_form>::type,
          typename S::c_form>
        one{s.m, s.n, s.k, s.count, s.adds, in_other_way(s.a_facts), in_other_way(s.b_facts)};
    one.a_across = s.a_across, one.b_across = s.b_across, one.alone = s.alone;
    return one;
}
template <class Q>
auto product_in_other_way(Q const& p) {
    auto const a = in_other_way(p.a);
    auto const b = in_other_way(p.b);
    return problem<std::remove_const_t<decltype(a)>, std::remove_const_t<decltype(b)>, typename Q::c_operand,
                   typename Q::epilogue_type>{p.alpha,  a,          b,       p.beta,   p.e,
                                              p.c,      p.epilogue, p.count, p.a_step, p.b_step,
                                              p.e_step, p.c_step,   p.row0,  p.col0};
}

template <policy Base>
class other_way : public product_over<Base> {
public:
    using typename product_over<Base>::space;
    using typename product_over<Base>::arena;
    using product_over<Base>::product_over;
    static constexpr bool chooses_ways = true; // what it takes is in the first way

    template <class Q>
    static constexpr verdict accepts_operands = [] {
        using Other = decltype(product_in_other_way(std::declval<Q const&>()));
        return answer<multiplier<Base, decltype(std::declval<Other const&>().shape())>, Other>();
    }();

    template <class S>
    footprint workspace(S const& s) const {
        return by(s).workspace(shape_in_other_way(s));
    }
    template <class S>
    bound error_bound(S const& s) const {
        return by(s).error_bound(shape_in_other_way(s));
    }
    template <class S>
    double estimate(S const& s) const {
        return by(s).estimate(shape_in_other_way(s));
    }
    template <class S>
    std::string describe(S const& s) const {
        return by(s).describe(shape_in_other_way(s));
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        return by(p.shape())(product_in_other_way(p), memory);
    }

private:
    template <class S>
    auto by(S const& s) const {
        return multiplier<Base, decltype(shape_in_other_way(s))>(this->base_);
    }
};

} // namespace automatic_parts

STRATAGEMM_END
