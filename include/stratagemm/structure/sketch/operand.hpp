// The operands of sketch.hpp: where the elements of a random matrix are drawn, and its parts.
#pragma once

#include "../../core/operand.hpp"
#include "host.hpp"

STRATAGEMM_BEGIN

// Rows [row0, row0 + rows) and columns [col0, col0 + cols) of a random matrix of all_rows x all_cols. If it is turned,
// rows, cols, row0 and col0 are those of the transposed. Sketch: the operand that this is the base of.
template <class Sketch, class T>
struct sketch_part {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || complex_like<T>,
                  "stratagemm: the elements of a sketch are float, double or complex numbers of these");
    using value_type = T;
    using space = no_memory;
    static constexpr int most_views = 0;

    index_t rows, cols;
    std::uint64_t seed;
    accumulator_t<T> scale;
    bool conjugate = false, turned = false;
    index_t row0 = 0, col0 = 0, all_rows, all_cols;

    sketch_part() = default;
    sketch_part(index_t of_rows, index_t of_cols, std::uint64_t of_seed, double factor)
        : rows(of_rows), cols(of_cols), seed(of_seed), scale(static_cast<real_t<T>>(factor)),
          all_rows(of_rows), all_cols(of_cols) {}

    Sketch transposed() const {
        Sketch one = self();
        one.turned = !turned;
        one.rows = cols, one.cols = rows, one.row0 = col0, one.col0 = row0;
        return one;
    }
    // A block, whose elements are those that the matrix has there.
    Sketch block(index_t i, index_t j, index_t m, index_t n) const {
        check_block(rows, cols, i, j, m, n);
        return part(i, j, m, n);
    }
    Sketch part(index_t i, index_t j, index_t m, index_t n) const {
        Sketch one = self();
        one.row0 += i, one.col0 += j, one.rows = m, one.cols = n;
        return one;
    }
    template <class F>
    void each_view(F&&) const {}

    // Element (i, j) as products have it, with the factor.
    T element(index_t i, index_t j) const {
        T const x = turned ? self().drawn(col0 + j, row0 + i) : self().drawn(row0 + i, col0 + j);
        return scaled_by(scale, conjugate ? stratagemm::conjugate(x) : x);
    }

protected:
    Sketch const& self() const { return static_cast<Sketch const&>(*this); }
    // Numbers of rows and columns are words of a counter, and int in kernels.
    status sides_usable(char const* name) const {
        constexpr index_t most = 0x7fffffff;
        index_t const r = turned ? col0 : row0, c = turned ? row0 : col0, m = turned ? cols : rows,
                      n = turned ? rows : cols;
        char text[160];
        if (all_rows < 1 || all_cols < 1 || all_rows > most || all_cols > most)
            __builtin_snprintf(text, sizeof(text),
                               "a sketch has from 1 to %td rows and columns, and this one is %td x %td", most,
                               all_rows, all_cols);
        else if (r < 0 || c < 0 || r > all_rows - m || c > all_cols - n)
            __builtin_snprintf(text, sizeof(text),
                               "a part of %td x %td from (%td, %td) on is not within a sketch of %td x %td",
                               m, n, r, c, all_rows, all_cols);
        else
            return {};
        return failure(errc::argument, name, text);
    }
};

STRATAGEMM_END
