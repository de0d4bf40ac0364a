// What a caller asks of automatic (automatic.hpp), and why it does not take a policy.
#pragma once

#include "../../core/policy.hpp"

STRATAGEMM_BEGIN

struct automatic_options {
    bool normwise = false; // policies whose error is bounded by norms alone may run, such as strassen
    double tolerance = 0;  // approximate policies may run that keep |C - A B| <= tolerance |A||B|
    double bound = 0;      // the largest error bound that is good enough; 0: that of the backend
    std::size_t workspace_bytes =
        0; // at most so much workspace; 0: as much as the device's memory has room for
};

namespace automatic_parts {

// What is in the way of a policy, for products of a shape.
enum class objection {
    none,
    refused,     // its check()
    approximate, // not within the tolerance, or none was given
    normwise,    // componentwise bounds were asked for
    inaccurate,  // its bound is too large
    workspace
};

// A bound as large as twice the backend's counts as no worse: to know the error to a bit is as far as bounds go.
inline constexpr double same_accuracy = 2;

// What candidates are held to.
struct limits {
    double bound = 0;     // of errors: that of the backend, or of the option
    double asked = 0;     // that of the option, or Inf: for the backend itself, and for errors in other norms
    double workspace = 0; // bytes
};

inline objection objection_to(bound const& x, bool is_backend, limits const& most,
                              automatic_options const& o) {
    auto const exceeds = [](double error, double at_most) { return !(error <= at_most * (1 + 1e-9)); };
    if (x.confidence < 1)
        return exceeds(x.expected, o.tolerance + most.bound) ? objection::approximate : objection::none;
    if (x.normwise && !o.normwise) return objection::normwise;
    return exceeds(x.worst, is_backend || x.normwise ? most.asked : most.bound) ? objection::inaccurate
                                                                                : objection::none;
}

} // namespace automatic_parts

STRATAGEMM_END
