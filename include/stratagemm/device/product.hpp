// What every device needs to know of a product: its sides, how its matrices lie, and what there is besides
// alpha A B.
#pragma once

#include "../core/problem.hpp"

STRATAGEMM_BEGIN

// Sides, and groups of a launch, are int in kernels.
inline constexpr std::ptrdiff_t device_longest = 0x7fffffff;

// The sides of an oriented product: the rows of its C are contiguous.
struct device_sides {
    std::ptrdiff_t m, n, k, count;

    device_sides turned() const { return {n, m, k, count}; }
    friend bool operator==(device_sides const&, device_sides const&) = default;
};
template <class Problem>
device_sides sides_of(Problem const& p) {
    return {p.c.rows, p.c.cols, p.a.cols, p.count};
}
template <class Problem>
status check_sides(Problem const& p, char const* layer) {
    device_sides const s = sides_of(p);
    for (std::ptrdiff_t const side : {s.m, s.n, s.k, s.count})
        if (side > device_longest)
            return failure(errc::unsupported, layer, "a side is longer than 2^31 - 1; multiply blocks");
    return {};
}

// E, or C if beta is 0: kernels always get a matrix there, and E may be null.
template <class Problem>
auto added_or_c(Problem const& p) {
    using added = decltype(p.e);
    return p.beta != typename Problem::scalar(0) ? p.e : added(p.c);
}
// Applies the epilogue to C, after a kernel that wrote alpha A B + beta E there.
template <class Leaf, class Problem>
status apply_to_c(Leaf const& leaf, Problem const& p) {
    if constexpr (std::is_same_v<typename Problem::epilogue_type, identity>)
        return {};
    else
        return leaf.apply(p.epilogue, p.c, p.row0, p.col0);
}

// As the preludes of kernels name them. `turned`: rows are the caller's columns.
template <class Problem>
int flags_of(Problem const& p, bool turned) {
    bool const adds = p.beta != typename Problem::scalar(0);
    return (p.a.conjugate ? 1 : 0) | (p.b.conjugate ? 2 : 0) | (p.e.conjugate ? 4 : 0) | (adds ? 8 : 0) |
           (turned ? 16 : 0);
}

STRATAGEMM_END
