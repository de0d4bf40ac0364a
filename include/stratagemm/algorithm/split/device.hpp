// `split` over a leaf of a device: kernels that measure operands, take them apart, and begin and end complex
// products.
//
// This is the plain form: each step is one launch, and one work-item measures a whole row. A call waits for
// these measures, because the host finds the scales with them. A later version should measure by groups and
// scale on the device.
#pragma once

#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "parts.hpp"

#include <new>
#include <vector>

STRATAGEMM_BEGIN

namespace split_parts {

inline constexpr char device_text[] = R"(
/* The largest element of each row, and the least one that is not 0. */
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

/* Elements in two or three parts, x = h + m (+ l); columns from `cols` to `padded` are zeros. */
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
KERNEL(ITEMS) as_real(MATRIX(complex64 const, x), index x_rows, index x_cols, int x_conjugated,
                      MATRIX(float, to), index rows, index cols) {
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
                     MATRIX(complex64 const, e), int e_conjugated, MATRIX(complex64, c), index rows,
                     index cols) {
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

    // Updates `most` and `fewest` with what measure_line finds in all rows. Waits for the device.
    status measure(view<float const, Space> const& x, handle<float> table, float& most, float& fewest) const {
        if (status s = launch("measure", device_text, x.rows, x, x.rows, x.cols,
                              std::numeric_limits<float>::infinity(), table);
            !s)
            return s;
        std::vector<float> found;
        try {
            found.resize(static_cast<std::size_t>(measures * x.rows));
        } catch (std::bad_alloc const&) {
            return error(errc::memory, "split: cannot allocate host memory for what is measured of A and B");
        }
        if (status s = leaf_.download(table, found.data(), measures * x.rows); !s) return s;
        for (std::size_t i = 0; i < found.size(); i += measures) {
            if (found[i + largest] > most) most = found[i + largest];
            if (found[i + least] < fewest) fewest = found[i + least];
        }
        return {};
    }

    // Stores part p of element (i, j) at to(i, j), p `next` further on. `to` includes the columns that
    // padding adds.
    status take_apart(view<float const, Space> const& x, float factor, view<bfloat16, Space> const& to,
                      index_t next, int parts) const {
        return launch("take_apart", device_text, to.rows * to.cols, x, x.rows, x.cols, to.cols, factor, to,
                      next, parts);
    }

    // The same as left_as_real or right_as_real.
    template <class T>
    status as_real(view<T const, Space> const& x, view<float, Space> const& to) const {
        return launch<true>("as_real", device_complex_text, to.rows * to.cols, x, x.rows, x.cols,
                            int{x.conjugate}, to, to.rows, to.cols);
    }
    // `sums` has no gaps.
    template <class P>
    status finish(P const& p, view<float, Space> const& sums) const {
        bool const adds = p.beta != typename P::scalar(0);
        auto const e = added_or_c(p);
        status s = launch<true>("finish", device_complex_text, p.c.rows * p.c.cols, sums.data, p.alpha,
                                p.beta, int{adds}, e, int{e.conjugate}, p.c, p.c.rows, p.c.cols);
        return s ? apply_to_c(leaf_, p) : std::move(s); // the epilogue's argument has been rounded already
    }

private:
    template <bool Double = false, class... Arguments>
    status launch(char const* name, static_text text, index_t elements, Arguments const&... arguments) const {
        constexpr int items = 64;
        return leaf_.launch({name, text, {}, items, Double, true}, groups_for_each(elements, items),
                            arguments...);
    }

    Leaf leaf_;
};

} // namespace split_parts

STRATAGEMM_END
