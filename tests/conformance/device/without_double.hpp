// A device that says that it lacks double, and refuses kernels that need it.
#pragma once

#include <stratagemm/core/policy.hpp>

#include <utility>

namespace trials {

namespace sg = stratagemm;

template <class Leaf>
struct leaf_without_double : Leaf {
    sg::device_limits limits() const {
        sg::device_limits all = Leaf::limits();
        all.has_double = false;
        return all;
    }
    template <class... Arguments>
    sg::status launch(sg::device_kernel const& kernel, sg::index_t groups,
                      Arguments const&... arguments) const {
        if (kernel.uses_double) return sg::failure(sg::errc::unsupported, "test", "a kernel needs double");
        return Leaf::launch(kernel, groups, arguments...);
    }
};
template <class Base>
struct without_double : Base {
    explicit without_double(Base base) : Base(std::move(base)) {}
    auto leaf() const { return leaf_without_double<sg::leaf_of<Base>>{Base::leaf()}; }
};

} // namespace trials
