// Products on devices, of operands in the host's memory. A library beside this one does them, which is opened where
// STRATAGEMM_POLICY names a device: other programs load nothing of a device.
#pragma once

#include "../device_names.hpp"
#include "call.hpp"

#include <stratagemm/core/problem.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <tuple>

namespace stratagemm_blas {

// Products and batches of one of the four types of BLAS.
template <class T>
using device_product = sg::dense_problem<T, T, T>;

// The place of the policy that chooses between the host and a CUDA device, after those of the device.
inline constexpr std::ptrdiff_t host_and_cuda = std::ssize(stratagemm_bindings::device_policy_names);

// What such a library has, as stratagemm_blas_device. A policy is its place among the library's names.
struct device_library {
    template <class T>
    using function = sg::status (*)(std::ptrdiff_t policy, device_product<T> const&);

    // Why it can multiply nothing, for example because there is no device.
    sg::status (*ready)();
    // Return when C is there.
    std::tuple<function<float>, function<double>, function<std::complex<float>>,
               function<std::complex<double>>>
        multiply;
};

// A policy that is run by such a library, or none.
struct device_policy {
    device_library const* library = nullptr;
    std::ptrdiff_t policy = 0;

    explicit operator bool() const { return library != nullptr; }
    template <class T>
    sg::status multiply(device_product<T> const& p) const {
        return std::get<device_library::function<T>>(library->multiply)(policy, p);
    }
};
// The names of all such policies.
std::span<char const* const> device_policy_names();
// Opens the library of one of these names. Says why nothing can be multiplied by it.
std::string open_device(std::ptrdiff_t name, device_policy& found);

} // namespace stratagemm_blas
