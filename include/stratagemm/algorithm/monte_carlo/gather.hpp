// Rows of a matrix, each with a factor, written side by side: those that `monte_carlo` has drawn.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../../core/policy.hpp"
#include "../../device/dialect.hpp"

STRATAGEMM_BEGIN

namespace approximate_parts {

// A matrix that has `lines` rows of x, in memory of its own, and lies as x does.
template <class T, class Space, class U>
view<T, Space> like_rows_of(view<U, Space> const& x, typename Space::template handle<T> data, index_t lines) {
    bool const by_rows = magnitude(x.col_stride) <= magnitude(x.row_stride);
    view<T, Space> to{data, lines, x.cols, by_rows ? x.cols : 1, by_rows ? 1 : lines};
    to.conjugate = x.conjugate;
    return to;
}

// to_ij = factors[i] x_lj, where l = which[i].
template <host_leaf Leaf, class T>
status gather_rows(Leaf const& leaf, view<T const> const& x, std::int32_t const* which, double const* factors,
                   view<T> const& to) {
    auto const scaled = [](T const& e, double by) {
        using R = real_t<T>;
        if constexpr (complex_like<T>)
            return T(static_cast<R>(static_cast<double>(e.real()) * by),
                     static_cast<R>(static_cast<double>(e.imag()) * by));
        else
            return static_cast<T>(
                static_cast<accumulator_t<T>>(static_cast<double>(static_cast<accumulator_t<T>>(e)) * by));
    };
    bool const by_rows = to.col_stride == 1;
    index_t const outer = by_rows ? to.rows : to.cols;
    int const team = leaf.team(4 * static_cast<double>(to.rows) * static_cast<double>(to.cols));
    leaf.each(team, team, [&](int, int part) {
        for (index_t o = outer * part / team; o < outer * (part + 1) / team; ++o)
            if (by_rows)
                for (index_t j = 0; j < to.cols; ++j) to(o, j) = scaled(x(which[o], j), factors[o]);
            else
                for (index_t i = 0; i < to.rows; ++i) to(i, o) = scaled(x(which[i], o), factors[i]);
    });
    return {};
}

inline constexpr char gather_text[] = R"(
KERNEL(ITEMS) gather_rows(MATRIX(IN const, x), BUFFER(int const, which), BUFFER(FACTOR const, factors),
                          MATRIX(IN, to), index rows, index cols, int turned) {
    ELEMENT(i, j, rows, cols); /* of `to`, or of the transposed: its columns have the smaller stride */
    OPEN(IN const, x);
    OPEN(int const, which);
    OPEN(double const, factors);
    OPEN(IN, to);
    index const line = turned ? j : i, along = turned ? i : j;
    scalar element = LOAD(IN, x, AT(x, (index)which[line], along));
    FACTOR const factor = factors[line];
#if COMPLEX
    element.x = (REAL)((FACTOR)element.x * factor);
    element.y = (REAL)((FACTOR)element.y * factor);
#else
    element = (scalar)((FACTOR)element * factor);
#endif
    STORE(IN, to, AT(to, line, along), CONVERT(OUT_VALUE, (value)element));
}
)";
// The same on a device, whose memory has which and factors; these are floats where it lacks double.
template <class Leaf, class T, class Space, class Factor>
requires device_leaf<Leaf, Space> status gather_rows(Leaf const& leaf, view<T const, Space> const& x,
                                                     typename Space::template handle<std::int32_t> which,
                                                     Factor factors, view<T, Space> const& to) {
    constexpr bool is_double = std::is_same_v<Factor, typename Space::template handle<double>>;
    device_kernel const kernel{"gather_rows",
                               gather_text,
                               is_double ? "#define FACTOR double\n" : "#define FACTOR float\n",
                               256,
                               is_double || uses_double<T, T>,
                               false,
                               kernel_types<T, T>};
    bool const turned = to.col_stride != 1;
    index_t const rows = turned ? to.cols : to.rows, cols = turned ? to.rows : to.cols;
    return leaf.launch(kernel, groups_for_elements(rows, cols), x, which, factors, to, rows, cols,
                       int{turned});
}

} // namespace approximate_parts

STRATAGEMM_END
