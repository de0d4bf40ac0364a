// The columns of a product with a Toeplitz matrix by transforms: how they come into blocks of lanes or into memory of
// complex numbers, and how results become C.
#pragma once

#include "spectrum.hpp"

#include <cstring>

STRATAGEMM_BEGIN

// A product whose A is a Toeplitz matrix of p x q blocks and whose B and C are views. Columns of all matrices of a batch
// are numbered through. Part j of a column of B has element j of each block, part i of a column of C likewise.
template <class Q>
class toeplitz_columns {
public:
    using T = typename Q::c_type;
    using R = real_t<T>;
    using number = dft_complex<R>;
    static constexpr bool is_real = !complex_like<T>;

    explicit toeplitz_columns(Q const& problem)
        : p(problem), m(p.a.rows_of_blocks()), n(p.a.cols_of_blocks()),
          factor_(scaled_by(p.alpha, static_cast<typename Q::scalar>(p.a.scale))),
          conjugates_input_(!is_real && p.a.conjugate != p.b.conjugate),
          conjugates_output_(!is_real && p.a.conjugate) {}

    index_t columns() const { return p.c.cols * p.count; }
    // Complex numbers of a column of B and of C.
    index_t inputs() const { return is_real ? (n + 1) / 2 : n; }
    index_t outputs() const { return is_real ? (m + 1) / 2 : m; }

    // Number k of part j of a column of B, and what becomes of number k of part i of a column of C.
    number input(index_t j, index_t column, index_t k) const {
        T const* const x = first_input(j, column);
        index_t const step = input_step();
        if constexpr (is_real)
            return {x[2 * k * step], 2 * k + 1 < n ? x[(2 * k + 1) * step] : R(0)};
        else
            return {x[k * step].real(), conjugates_input_ ? -x[k * step].imag() : x[k * step].imag()};
    }
    void output(index_t i, index_t column, index_t k, number x) const {
        index_t const rows = p.a.block_rows();
        if constexpr (is_real) {
            finish(2 * k * rows + i, column, x.re);
            if (2 * k + 1 < m) finish((2 * k + 1) * rows + i, column, x.im);
        } else {
            finish(k * rows + i, column, T(x.re, x.im));
        }
    }
    // A result of the transform back, which has neither the factor nor the conjugation yet.
    number scaled(number x) const {
        if constexpr (is_real)
            return {x.re * factor_, x.im * factor_};
        else
            return number(factor_.real(), factor_.imag()) * number(x.re, conjugates_output_ ? -x.im : x.im);
    }

    // Part j of columns [first, first + count) as lanes of a block; the other lanes and rows are zero.
    void load(dft_kernels<R> const& with, index_t j, index_t first, index_t count, index_t points,
              R* to) const {
        index_t const W = with.lanes, used = count == W ? inputs() : 0;
        std::memset(to + used * 2 * W, 0, static_cast<std::size_t>((points - used) * 2 * W) * sizeof(R));
        each_run(first, count, [&](index_t column, index_t lane, index_t run) {
            R const* const x = reinterpret_cast<R const*>(first_input(j, column));
            index_t const step = input_step(), apart = p.b.col_stride;
            index_t k = 0;
            if constexpr (!is_real) {
                with.load({x, 2 * step, 2 * apart, n, run}, to + lane);
                k = n;
            } else if (step == 1) {
                with.load({x, 2, apart, k = n / 2, run}, to + lane);
            } else if (apart == 1) {
                for (; k < n / 2; ++k) {
                    R* const row = to + k * 2 * W + lane;
                    std::memcpy(row, x + 2 * k * step, static_cast<std::size_t>(run) * sizeof(R));
                    std::memcpy(row + W, x + (2 * k + 1) * step, static_cast<std::size_t>(run) * sizeof(R));
                }
            }
            for (; k < inputs(); ++k)
                for (index_t l = 0; l < run; ++l) {
                    number const z = input(j, column + l, k);
                    to[k * 2 * W + lane + l] = z.re, to[k * 2 * W + W + lane + l] = z.im;
                }
        });
        if (conjugates_input_ && !is_real) with.scale(to, n, R(1), R(0), true);
    }
    // The block x has conjugates of part i of columns [first, first + count) of the result.
    void store(dft_kernels<R> const& with, index_t i, index_t first, index_t count, R* x) const {
        index_t const W = with.lanes;
        if constexpr (is_real)
            with.scale(x, outputs(), factor_, R(0), true);
        else
            with.scale(x, outputs(), factor_.real(), factor_.imag(), !conjugates_output_);
        each_run(first, count, [&](index_t column, index_t lane, index_t run) {
            index_t k = 0;
            if (is_plain()) k = store_plain(with, i, column, run, x + lane);
            for (; k < outputs(); ++k)
                for (index_t l = 0; l < run; ++l)
                    output(i, column + l, k, {x[k * 2 * W + lane + l], x[k * 2 * W + W + lane + l]});
        });
    }

private:
    T const* first_input(index_t j, index_t column) const {
        index_t const batch = column / p.c.cols, at = column - batch * p.c.cols,
                      row = p.a.is_hankel ? (n - 1) * p.a.block_cols() + j : j;
        return p.b.data + (batch * p.b_step + row * p.b.row_stride + at * p.b.col_stride);
    }
    index_t input_step() const {
        index_t const step = p.a.block_cols() * p.b.row_stride;
        return p.a.is_hankel ? -step : step;
    }
    // Whether C is the result, without E and epilogue.
    bool is_plain() const {
        return std::is_same_v<typename Q::epilogue_type, identity> && p.beta == typename Q::scalar(0);
    }
    // C_ij = epilogue(x + beta E_ij)
    void finish(index_t row, index_t column, T x) const {
        index_t const batch = column / p.c.cols, j = column - batch * p.c.cols;
        if (p.beta != typename Q::scalar(0)) {
            T const e = p.e.data[batch * p.e_step + row * p.e.row_stride + j * p.e.col_stride];
            x = x + scaled_by(p.beta, p.e.conjugate ? conjugate(e) : e);
        }
        p.c.data[batch * p.c_step + row * p.c.row_stride + j * p.c.col_stride] =
            static_cast<T>(apply_epilogue(p.epilogue, x, p.row0 + row, p.col0 + j));
    }
    // Stores what vectors can, and returns how many numbers of each column that is.
    index_t store_plain(dft_kernels<R> const& with, index_t i, index_t column, index_t run,
                        R const* x) const {
        index_t const W = with.lanes, batch = column / p.c.cols, j = column - batch * p.c.cols,
                      step = p.a.block_rows() * p.c.row_stride, apart = p.c.col_stride;
        R* const to =
            reinterpret_cast<R*>(p.c.data + (batch * p.c_step + i * p.c.row_stride + j * p.c.col_stride));
        if constexpr (!is_real) {
            with.store(x, {to, 2 * step, 2 * apart, m, run});
            return m;
        } else if (step == 1) {
            with.store(x, {to, 2, apart, m / 2, run});
            return m / 2;
        } else if (apart == 1) {
            for (index_t k = 0; k < m / 2; ++k) {
                R const* const row = x + k * 2 * W;
                std::memcpy(to + 2 * k * step, row, static_cast<std::size_t>(run) * sizeof(R));
                std::memcpy(to + (2 * k + 1) * step, row + W, static_cast<std::size_t>(run) * sizeof(R));
            }
            return m / 2;
        }
        return 0;
    }
    // Lanes [l, l + run) are columns of one matrix of the batch.
    template <class F>
    void each_run(index_t first, index_t count, F const& f) const {
        for (index_t l = 0; l < count;) {
            index_t const left = p.c.cols - (first + l) % p.c.cols, run = smaller(left, count - l);
            f(first + l, l, run);
            l += run;
        }
    }

    Q const& p;
    index_t m, n;
    typename Q::scalar factor_;
    bool conjugates_input_, conjugates_output_;
};

STRATAGEMM_END
