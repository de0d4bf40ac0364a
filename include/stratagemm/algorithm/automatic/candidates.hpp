// Which policies automatic chooses among.
//
// Over backends alone: each backend, and what the library has over it. Of strassen, ozaki and split each decides how
// deep it goes and of how many products it is made. A list with a layer in it: the policies of that list.
#pragma once

#include "../ozaki.hpp"
#include "../split.hpp"
#include "../strassen.hpp"
#include "options.hpp"

#include <tuple>

STRATAGEMM_BEGIN

namespace automatic_parts {

// The library's policies over a backend, which comes first.
template <class Backend>
using over_backend = std::tuple<Backend, strassen<Backend>, ozaki<Backend>, split<Backend>>;

// An accuracy of products by which ozaki keeps a bound, whatever the type: its bound is 1.5 times the accuracy and at most
// six roundings, of complex elements.
inline accuracy accuracy_for(double bound) { return bound == 0 ? accuracy::fp64 : accuracy{bound / 2}; }

template <class Backend>
over_backend<Backend> policies_over(Backend const& backend, automatic_options const& o) {
    accuracy wanted = accuracy_for(o.bound);
    if (wanted.eps < accuracy::fp64.eps) wanted = accuracy::fp64;
    if (wanted.eps > 0.25) wanted.eps = 0.25;
    accuracy const of_parts = wanted.eps > accuracy::fp32.eps ? wanted : accuracy::fp32;
    return {backend, strassen<Backend>(backend), ozaki<Backend>(backend, {.accuracy = wanted}),
            split<Backend>(backend, {.accuracy = of_parts})};
}

template <class... Policies>
struct candidates_of {
    using type = std::tuple<Policies...>;
    static type make(automatic_options const&, Policies const&... policies) { return {policies...}; }
};
template <class... Policies>
requires(is_backend<Policies>&&...) struct candidates_of<Policies...> {
    using type = decltype(std::tuple_cat(std::declval<over_backend<Policies>>()...));
    static type make(automatic_options const& o, Policies const&... policies) {
        return std::tuple_cat(policies_over(policies, o)...);
    }
};

// The product that a shape of matrices is of.
template <class S, class Space>
using plain_product = dense_problem<typename S::a_type, typename S::b_type, typename S::c_type, Space>;
template <class S>
inline constexpr bool is_of_matrices =
    std::is_same_v<typename S::a_form, typename S::a_type>&& std::is_same_v<
        typename S::b_form, typename S::b_type>&& std::is_same_v<typename S::c_form, typename S::c_type>;

// Whether P is a candidate for products of a shape; another operand's products are a backend's.
template <class P, class S>
constexpr bool is_candidate = [] {
    if constexpr (is_of_matrices<S>)
        return takes<P, plain_product<S, typename P::space>>;
    else
        return is_backend<P> && !std::is_same_v<multiplier<P, S>, P>;
}();
// split does products of int8 as its base does.
template <class Base, class S>
constexpr bool is_candidate<split<Base>, S> =
    is_of_matrices<S>&& std::is_same_v<real_t<typename S::c_type>, float>&&
        takes<split<Base>, plain_product<S, typename Base::space>>;

// What a list of candidates says of a product: what each that is one for its types says.
template <class List, class P>
inline constexpr verdict answer_of = verdict::types;
template <class First, class... Others, class P>
inline constexpr verdict answer_of<std::tuple<First, Others...>, P> = [] {
    using S = decltype(std::declval<P const&>().shape());
    bool any = false;
    verdict all = verdict::yes;
    auto const ask = [&]<class One>(One const*) {
        if constexpr (is_candidate<One, S>) any = true, all = all & answer<multiplier<One, S>, P>();
    };
    ask(static_cast<First const*>(nullptr)), (ask(static_cast<Others const*>(nullptr)), ...);
    return any ? all : answer<First, P>();
}();

// What does the products of a shape for a candidate.
template <class S, class P>
decltype(auto) performer_for(P const& policy) {
    using M = multiplier<P, S>;
    if constexpr (std::is_same_v<M, P>)
        return static_cast<P const&>(policy);
    else
        return M(policy);
}

} // namespace automatic_parts

STRATAGEMM_END
