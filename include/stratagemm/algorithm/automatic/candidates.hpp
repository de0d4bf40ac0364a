// Which policies automatic chooses among.
//
// Over backends alone: each backend, and what the library has over it. Of strassen, ozaki and split each decides how
// deep it goes and of how many products it is made. A list with a layer in it: the policies of that list. Policies of a
// device, in a list for operands on the host, are one candidate: the choice among them, staged.
#pragma once

#include "../ozaki.hpp"
#include "../split.hpp"
#include "../strassen.hpp"
#include "options.hpp"
#include "ways.hpp"

#include <tuple>

STRATAGEMM_BEGIN

template <policy First, policy... Others>
class automatic;
template <policy Base>
class staged; // in out_of_core.hpp, which a caller includes for it

namespace automatic_parts {

// The library's policies over a backend, which comes first.
template <class Backend>
using over_backend =
    std::tuple<Backend, strassen<Backend>, ozaki<Backend>, split<Backend>, other_way<Backend>>;

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
            split<Backend>(backend, {.accuracy = of_parts}), other_way<Backend>(backend)};
}

template <class... Policies>
auto policies_of(automatic_options const& o, std::tuple<Policies...> const& all) {
    if constexpr ((is_backend<Policies> && ...))
        return std::apply(
            [&](Policies const&... policy) { return std::tuple_cat(policies_over(policy, o)...); }, all);
    else
        return all;
}

// Those of a list whose memory is Space, or is not.
template <class Space, bool IsThat, class... Policies>
auto only(std::tuple<Policies...> const& all) {
    auto const one = []<class P>(P const& policy) {
        if constexpr (std::is_same_v<typename P::space, Space> == IsThat)
            return std::tuple<P>(policy);
        else
            return std::tuple<>();
    };
    return std::apply([&](Policies const&... policy) { return std::tuple_cat(one(policy)...); }, all);
}
template <class... Policies>
auto automatic_of(automatic_options const& o, std::tuple<Policies...> const& all) {
    return std::apply([&](Policies const&... policy) { return automatic<Policies...>(policy..., o); }, all);
}
template <class P>
inline constexpr bool has_staged = requires {
    sizeof(staged<P>);
};

// Policies of another memory, for operands in Space.
template <class Space, class... Policies>
auto crossing(automatic_options const& o, std::tuple<Policies...> const& others) {
    if constexpr (sizeof...(Policies) == 0 || !std::is_same_v<Space, host_memory>) {
        return std::tuple<>();
    } else {
        using there = decltype(automatic_of(o, others));
        static_assert(has_staged<there>,
                      "stratagemm: automatic brings operands on the host to the device of its list by "
                      "staged: include stratagemm/algorithm/out_of_core.hpp");
        if constexpr (has_staged<there>)
            return std::tuple<staged<there>>(staged<there>(automatic_of(o, others)));
        else
            return std::tuple<>();
    }
}
template <class Space, class List>
auto candidates_of(automatic_options const& o, List const& all) {
    return std::tuple_cat(policies_of(o, only<Space, true>(all)),
                          crossing<Space>(o, only<Space, false>(all)));
}
template <class Space, class... Policies>
using candidates_from =
    decltype(candidates_of<Space>(automatic_options{}, std::declval<std::tuple<Policies...> const&>()));

// The same choice for operands on the host, in a list with policies of a device before those of the host; else nothing.
template <class Space, class... Policies>
auto with_host_first([[maybe_unused]] automatic_options const& o, std::tuple<Policies...> const& all) {
    constexpr bool has_host = (std::is_same_v<typename Policies::space, host_memory> || ...);
    if constexpr (std::is_same_v<Space, host_memory> || !has_host)
        return std::tuple<>();
    else
        return automatic_of(o, std::tuple_cat(only<host_memory, true>(all), only<host_memory, false>(all)));
}
template <class Space, class... Policies>
using host_first =
    decltype(with_host_first<Space>(automatic_options{}, std::declval<std::tuple<Policies...> const&>()));

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
// Whether P is `Backend`, or bounded by norms alone.
template <class P, class Backend>
inline constexpr bool only_by_norms = false;
template <class Backend>
inline constexpr bool only_by_norms<strassen<Backend>, Backend> = true;
// Whether a candidate is of another memory than its operands.
template <class P>
inline constexpr bool crosses = false;
template <class P>
inline constexpr bool crosses<staged<P>> = true;
// split does products of int8 as its base does.
template <class Base, class S>
constexpr bool is_candidate<split<Base>, S> =
    is_of_matrices<S>&& std::is_same_v<real_t<typename S::c_type>, float>&&
        takes<split<Base>, plain_product<S, typename Base::space>>;

// One of the operands has two ways, and the other is a matrix.
template <class Base, class S>
constexpr bool is_candidate<other_way<Base>, S> =
    has_other_way<typename S::a_form> != has_other_way<typename S::b_form> &&
    (std::is_same_v<typename S::a_form, typename S::a_type> ||
     std::is_same_v<typename S::b_form, typename S::b_type>)&&std::is_same_v<typename S::a_type,
                                                                             typename S::b_type> &&
    (host_leaf<leaf_of<Base>> || device_leaf<leaf_of<Base>, typename Base::space>);

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
