// What policies over a policy share: the base of every layer, of an algorithm or of an operand, and the report that a layer
// writes.
#pragma once

#include "policy.hpp"

#include <string_view>

STRATAGEMM_BEGIN

// What a layer did in its last call. A layer that has an option `report` writes it there; what a member says is stated
// where the layer is, and a layer leaves the members that do not concern it as they are here.
struct report {
    std::string_view ran = "native"; // the way that was taken, in one word; native: the base's own arithmetic
    char const* reason = "";         // why that one
    int count = 0;                   // of slices, moduli, parts of an element
    index_t products = 0;            // of matrices: those that C was made of, or those that were checked
    int phases = 0;   // steps that chose what came next: a look at the operands, products, a check, a repair
    int spread = 0;   // bits by which the data need more than the accuracy that was asked for
    double error = 0; // the largest that was seen, over the bound
    stratagemm::bound bound{}; // of this product, with its confidence
    double limit = 0;          // the least error that a check finds, over the bound
    std::uint64_t seed = 0;    // of random numbers
    index_t repaired = 0;      // elements of C that were wrong, and were replaced
    index_t repeated = 0;      // products that were done once more
    index_t skipped = 0;       // rows and columns of C that were not checked: Inf, NaN, overflow
};

// A layer over Base is Base in all that it does not state itself. It states accepts, operator() and whatever its products
// change: workspace, error_bound, estimate, describe. Optional members of a policy that do a product (try_small,
// workspace_for, prepare, hand_over) are not passed on, because they would go past the layer.
template <class Base>
class layer_over {
public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    explicit layer_over(Base base) : base_(std::move(base)) {}

    auto leaf() const { return base_.leaf(); }
    result<arena> reserve(footprint f) const { return base_.reserve(f); }
    template <class S>
    footprint workspace(S const& s) const {
        return base_.workspace(s);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_.error_bound(s);
    }
    template <class S>
    double estimate(S const& s) const {
        return base_.estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        return base_.describe(s);
    }
    // What is wrong with the options of the layers below, for products of this shape.
    template <class S>
    status check(S const& s) const {
        if constexpr (requires { base_.check(s); }) return base_.check(s);
        return {};
    }

protected:
    Base base_;
};

// The layer over P that does the products of an operand, which names it over<P>. Dense products are P's.
template <class P>
class product_over : public layer_over<P> {
public:
    template <class Q>
    static constexpr verdict accepts = verdict::structure;

    product_over(P policy) : layer_over<P>(std::move(policy)) {}
};

STRATAGEMM_END
