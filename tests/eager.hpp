// Policies over which layers do what they are for, whether or not it pays.
#pragma once

#include <stratagemm/backend/host.hpp>

#include <limits>

// Its own products are estimated to take for ever, but for those of the narrow types that layers make theirs of.
template <class Base>
struct eager : Base {
    template <class S>
    double estimate(S const& s) const {
        if constexpr (sizeof(typename S::a_type) <= 2)
            return Base::estimate(s);
        else
            return std::numeric_limits<double>::infinity();
    }
};
template <class Base>
eager(Base) -> eager<Base>;

// It is estimated to be slow in proportion to its multiply-adds, so that fewer of these pay.
template <class Base>
struct laborious : Base {
    template <class S>
    double estimate(S const& s) const {
        return 1e-6 * stratagemm::multiply_adds(s);
    }
};
template <class Base>
laborious(Base) -> laborious<Base>;

// A host whose leaf does not offer the tile unit, so that layers run as they do over any other leaf.
struct untiled : stratagemm::host {
    stratagemm::host_operations leaf() const { return stratagemm::host::leaf(); }
};
