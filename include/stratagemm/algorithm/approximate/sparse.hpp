// What approximate policies ask of a sparse operand: norms, and products with the vectors of a certificate. On the host
// they take time that follows its elements; a device writes the operand out as a matrix.
#pragma once

#include "../../core/leaf.hpp"
#include "../../structure/csr/operand.hpp"
#include "norms.hpp"
#include "written.hpp"

STRATAGEMM_BEGIN

template <class X>
inline constexpr bool is_csr_list = false;
template <class T, class Index>
inline constexpr bool is_csr_list<csr<T, Index>> = true;

namespace approximate_parts {

// to[i] = the sum of |x_ij|^2 over j, or to[j] = that over i.
template <class T, class Index>
void squares_of_rows(csr<T, Index> const& x, double* to) {
    for (index_t i = 0; i < x.rows; ++i) {
        to[i] = 0;
        for (index_t at = x.row_begins[i]; at < x.row_begins[i + 1]; ++at) to[i] += square_of(x.values[at]);
    }
}
template <class T, class Index>
void squares_of_columns(csr<T, Index> const& x, double* to) {
    for (index_t j = 0; j < x.cols; ++j) to[j] = 0;
    x.each_element(0, 1, [&](index_t, index_t j, T const& value) { to[j] += square_of(value); });
}

// Z = alpha X Y + beta Z, where Y and Z have few columns, and X stays without its factor. A thread has whole rows.
template <class Leaf, class T, class Index, class W>
void add_times_vectors(Leaf const& leaf, W alpha, csr<T, Index> const& x, view<W const> const& y, W beta,
                       view<W> const& z) {
    int const team = leaf.team(static_cast<double>(x.nonzeros) * static_cast<double>(y.cols));
    leaf.each(team, team, [&](int, int part) {
        index_t const end = first_row(x.row_begins, x.rows, part + 1, team);
        for (index_t i = first_row(x.row_begins, x.rows, part, team); i < end; ++i) {
            for (index_t v = 0; v < z.cols; ++v) z(i, v) = beta == W(0) ? W(0) : beta * z(i, v);
            for (index_t at = x.row_begins[i]; at < x.row_begins[i + 1]; ++at) {
                W const by = alpha * static_cast<W>(x.values[at]);
                for (index_t v = 0; v < z.cols; ++v) z(i, v) += by * y(x.columns[at], v);
            }
        }
    });
}
inline double seconds_of_vectors(double elements, double vectors) { return elements * vectors * 1e-9; }

} // namespace approximate_parts

STRATAGEMM_END
