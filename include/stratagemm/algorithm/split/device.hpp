// `split` over a leaf of a device: kernels that measure operands, take them apart, and begin and end complex products.
//
// This is the plain form: one launch for each step, one work-item for each row that is measured, and a call waits for
// what is measured, since the host finds the scales. A later version is to measure by groups and to scale on the device.
#pragma once

#include "../../core/leaf.hpp"
#include "../../core/list.hpp"
#include "../../device/source.hpp"
#include "parts.hpp"

STRATAGEMM_BEGIN

namespace split_parts {

inline constexpr char device_text[] = R"(
#define EACH(at, count) index at = (index)GROUP * ITEMS + ITEM; at < (count); at += (index)GROUPS * ITEMS

/* The largest and the least element of each row; the latter not 0. */
KERNEL(ITEMS) measure(MATRIX(float const, x), index rows, index cols, float infinity, BUFFER(float, table)) {
    OPEN(float const, x);
    OPEN(float, table);
    for (EACH(i, rows)) {
        float most = 0, least = infinity;
        for (index j = 0; j < cols; ++j) {
            float const size = fabs(x[AT(x, i, j)]);
            if (!(size < infinity)) {
                most = least = infinity;
                break;
            }
            if (size > most) most = size;
            if (size > 0 && size < least) least = size;
        }
        table[2 * i] = most;
        table[2 * i + 1] = least;
    }
}

/* Parts of elements, with zeros from `cols` to `padded`; x = h + m + l, or h + m for two. */
KERNEL(ITEMS) take_apart(MATRIX(float const, x), index rows, index cols, index padded, float factor,
                         MATRIX(bfloat16, to), index next, int parts) {
    OPEN(float const, x);
    OPEN(bfloat16, to);
    for (EACH(at, rows * padded)) {
        index const i = to_row == 1 ? at % rows : at / padded, j = to_row == 1 ? at / rows : at % padded;
        float rest = j < cols ? x[AT(x, i, j)] * factor : 0;
        for (int part = 0; part < parts; ++part) {
            index const place = AT(to, i, j) + part * next;
            STORE(bfloat16, to, place, rest);
            rest = rest - LOAD(bfloat16, to, place);
        }
    }
}
)";

// [Re -Im; Im Re] or [Re; Im], and C from a product of these.
inline constexpr char device_complex_text[] = R"(
#define EACH(at, count) index at = (index)GROUP * ITEMS + ITEM; at < (count); at += (index)GROUPS * ITEMS

KERNEL(ITEMS) as_real(MATRIX(complex64 const, x), index x_rows, index x_cols, int x_conjugated, MATRIX(float, to),
                      index rows, index cols) {
    OPEN(complex64 const, x);
    OPEN(float, to);
    for (EACH(at, rows * cols)) {
        index const i = at / cols, j = at % cols;
        int const low = i >= x_rows, right = j >= x_cols;
        index const from = AT(x, low ? i - x_rows : i, right ? j - x_cols : j);
        float const re = x[from].x, im = x_conjugated ? -x[from].y : x[from].y;
        to[AT(to, i, j)] = low == right ? re : low ? im : -im;
    }
}

KERNEL(ITEMS) finish(BUFFER(float const, sums), complex64 alpha, complex64 beta, int adds,
                     MATRIX(complex64 const, e), int e_conjugated, MATRIX(complex64, c), index rows, index cols) {
    OPEN(float const, sums);
    OPEN(complex64 const, e);
    OPEN(complex64, c);
    for (EACH(at, rows * cols)) {
        double const x = sums[at], y = sums[rows * cols + at];
        double re = (double)alpha.x * x - (double)alpha.y * y, im = (double)alpha.x * y + (double)alpha.y * x;
        index const i = at / cols, j = at % cols;
        if (adds) {
            complex64 const added = e[AT(e, i, j)];
            double const f = added.x, g = e_conjugated ? -added.y : added.y;
            re += (double)beta.x * f - (double)beta.y * g;
            im += (double)beta.x * g + (double)beta.y * f;
        }
        complex64 z;
        z.x = (float)re;
        z.y = (float)im;
        c[AT(c, i, j)] = z;
    }
}
)";

template <class Leaf, class Space>
class on_device {
    template <class Element>
    using handle = typename Space::template handle<Element>;

public:
    explicit on_device(Leaf leaf) : leaf_(std::move(leaf)) {}

    // What measure_line finds, over all rows and what is there already. Waits.
    status measure(view<float const, Space> const& x, handle<float> table, float& most, float& fewest) const {
        if (status s = launch("measure", device_text, x.rows, x.data, x.row_stride, x.col_stride, x.rows,
                              x.cols, infinite<float>(), table);
            !s)
            return s;
        list<float> found;
        if (!found.resize(static_cast<std::size_t>(measures * x.rows)))
            return error(errc::memory, "split: cannot allocate host memory for what is measured of A and B");
        if (status s = leaf_.download(table, found.data(), measures * x.rows); !s) return s;
        for (std::size_t i = 0; i < found.size(); i += measures) {
            if (found[i + largest] > most) most = found[i + largest];
            if (found[i + least] < fewest) fewest = found[i + least];
        }
        return {};
    }

    // Part p of element (i, j) goes to `to`, p `next` further on; `to` has the columns that padding adds.
    status take_apart(view<float const, Space> const& x, float factor, view<bfloat16, Space> const& to,
                      index next, int parts) const {
        return launch("take_apart", device_text, to.rows * to.cols, x.data, x.row_stride, x.col_stride,
                      x.rows, x.cols, to.cols, factor, to.data, to.row_stride, to.col_stride, next, parts);
    }

    // As left_as_real or right_as_real.
    template <class T>
    status as_real(view<T const, Space> const& x, view<float, Space> const& to) const {
        return launch("as_real", device_complex_text, to.rows * to.cols, x.data, x.row_stride, x.col_stride,
                      x.rows, x.cols, int{x.conjugate}, to.data, to.row_stride, to.col_stride, to.rows,
                      to.cols);
    }
    // `sums` has no gaps.
    template <class P>
    status finish(P const& p, view<float, Space> const& sums) const {
        using T = typename P::c_type;
        bool const adds = p.beta != typename P::scalar(0);
        view<T const, Space> const e = adds ? p.e : view<T const, Space>(p.c);
        if (status s = launch("finish", device_complex_text, p.c.rows * p.c.cols, sums.data, p.alpha, p.beta,
                              int{adds}, e.data, e.row_stride, e.col_stride, int{e.conjugate}, p.c.data,
                              p.c.row_stride, p.c.col_stride, p.c.rows, p.c.cols);
            !s)
            return s;
        // Its argument has been rounded to the type of C already.
        if constexpr (std::is_same_v<typename P::epilogue_type, identity>)
            return {};
        else
            return leaf_.apply(p.epilogue, p.c, p.row0, p.col0);
    }

private:
    // Kernels loop over what is left when all groups have an element.
    static constexpr int items = 64;
    static constexpr index most_groups = 1 << 16;

    template <class... Arguments>
    status launch(char const* name, char const* text, index elements, Arguments const&... arguments) const {
        index const wanted = (elements + items - 1) / items;
        return leaf_.launch({name, text, {}, items, text == device_complex_text, true},
                            wanted < most_groups ? wanted : most_groups, arguments...);
    }

    Leaf leaf_;
};

} // namespace split_parts

STRATAGEMM_END
