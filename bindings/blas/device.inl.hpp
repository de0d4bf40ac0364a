// A library of products on devices, for the source that has its policies.
#pragma once

#include "device.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>

namespace stratagemm_blas {

// Policies has ready(), and with(policy, f), which calls f with a policy of the device.
template <class Policies>
struct device_library_of {
    template <class T>
    static sg::status multiply(std::ptrdiff_t policy, device_product<T> const& p) {
        return sg::or_no_memory([&] {
            return Policies::with(policy, [&]<class Policy>(Policy const& chosen) {
                if constexpr (std::is_same_v<typename Policy::space, sg::host_memory>)
                    return sg::run(chosen, p);
                else
                    return sg::run(sg::staged{chosen}, p);
            });
        });
    }
    static constexpr device_library value() {
        return {[] { return sg::or_no_memory([] { return Policies::ready(); }); },
                {multiply<float>, multiply<double>, multiply<std::complex<float>>,
                 multiply<std::complex<double>>}};
    }
};

} // namespace stratagemm_blas

#define STRATAGEMM_BLAS_DEVICE(POLICIES)                                                                     \
    extern "C" [[gnu::visibility(                                                                            \
        "default")]] constinit stratagemm_blas::device_library const stratagemm_blas_device =                \
        stratagemm_blas::device_library_of<POLICIES>::value();
