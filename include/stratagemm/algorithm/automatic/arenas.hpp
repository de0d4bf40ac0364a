// Workspace of a choice between policies of the host, and policies of a device that are staged.
#pragma once

#include "../../core/policy.hpp"

STRATAGEMM_BEGIN

namespace automatic_parts {

// The memory of both; only one of them runs a product.
template <class Own, class Staged>
class arenas : public Own {
public:
    arenas() = default;
    arenas(Own own, Staged staged) : Own(std::move(own)), staged_(std::move(staged)) {}

    bool fits(footprint f) const { return Own::fits(f) && (!crosses(f) || staged_.fits(f)); }
    Staged& of_staged() { return staged_; }

    // Whether that is workspace of a staged product, which has some on the device.
    static bool crosses(footprint f) { return f.device > 0 || f.pinned > 0; }

private:
    Staged staged_;
};

template <class Own, class Policy>
struct arena_type {
    using type = Own;
};
template <class Own, class Policy>
requires requires { typename Policy::there; }
struct arena_type<Own, Policy> {
    using type = arenas<Own, typename Policy::arena>;
};

} // namespace automatic_parts

STRATAGEMM_END
