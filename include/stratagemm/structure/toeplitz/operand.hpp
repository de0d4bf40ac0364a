// The operand behind toeplitz(), hankel(), circulant() and block_toeplitz(): a matrix of blocks whose block (i, j) is
// number j - i + (block rows - 1) of a sequence, or number i + j for a Hankel matrix.
//
// The sequence borrows its data. It has two runs, each a batch of blocks in memory: a Toeplitz matrix has its first
// column, backwards, and its first row; a circulant matrix has its column twice.
#pragma once

#include "../../core/leaf.hpp"
#include "../../core/policy.hpp"

STRATAGEMM_BEGIN

template <policy P>
class toeplitz_product;
template <policy P>
class toeplitz_transforms;
template <policy P>
class toeplitz_device_transforms;
template <class P>
inline constexpr bool is_toeplitz_product = false;
template <policy P>
inline constexpr bool is_toeplitz_product<toeplitz_product<P>> = true;

template <policy P>
using toeplitz_transforms_over = std::conditional_t<device_leaf<leaf_of<P>, typename P::space>,
                                                    toeplitz_device_transforms<P>, toeplitz_transforms<P>>;

// How products with a Toeplitz matrix are computed.
enum class toeplitz_way { direct, by_transforms };

template <class T, toeplitz_way Way = toeplitz_way::direct>
struct toeplitz_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    static constexpr toeplitz_way way = Way;
    template <class P>
    requires(Way == toeplitz_way::direct ? !is_toeplitz_product<P> : is_backend<P>) using over =
        std::conditional_t<Way == toeplitz_way::direct, toeplitz_product<P>, toeplitz_transforms_over<P>>;

    index_t block_rows = 1, block_cols = 1; // the sides of a block
    // Direct: the sequence is copied first, of the matrix as it is and transposed, and a run has a factor then.
    bool gathers = true, gathers_turned = true, rounds = false;
    // By transforms: the spectrum was kept, of the matrix as it is or transposed.
    bool kept = false, kept_turned = false;

    auto in_other_way() const
        requires(Way == toeplitz_way::direct && (std::floating_point<T> || complex_like<T>)) {
        return toeplitz_form<T, toeplitz_way::by_transforms>{block_rows, block_cols, gathers, gathers_turned,
                                                             rounds};
    }
    toeplitz_form transposed() const {
        return {block_cols, block_rows, gathers_turned, gathers, rounds, kept_turned, kept};
    }
};

// A run backwards.
template <class T, class Space>
batch<T, Space> reversed(batch<T, Space> run) {
    if (run.count > 0) run.first.data = run.first.data + (run.count - 1) * run.stride;
    run.stride = -run.stride;
    return run;
}
template <class T, class Space>
batch<T, Space> transposed_blocks(batch<T, Space> run) {
    run.first = run.first.transposed();
    return run;
}
// All of its blocks but for the first `count`.
template <class T, class Space>
batch<T, Space> without_first(batch<T, Space> run, index_t count) {
    if (run.count > count) run.first.data = run.first.data + count * run.stride;
    run.count = run.count > count ? run.count - count : 0;
    return run;
}

template <class T, class Space = host_memory, toeplitz_way Way = toeplitz_way::direct>
struct toeplitz_matrix {
    using value_type = T;
    using space = Space;
    using form = toeplitz_form<T, Way>;
    using run = batch<T const, Space>;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0;
    run runs[2]{};
    index_t zeros[2]{}; // blocks before and after the runs
    bool is_hankel = false;
    accumulator_t<T> scale{1};
    bool conjugate = false;
    // Of the matrix without scale and conjugation, or of its transpose; keep() makes it.
    typename Space::template handle<real_t<T> const> spectrum{};
    bool is_kept = false, is_kept_turned = false;

    toeplitz_matrix() = default;
    // `m` x `n` blocks of the sequence that begins with `first`.
    toeplitz_matrix(index_t m, index_t n, run const& first, run const& second = {}, bool hankel = false)
        : rows(m), cols(n), runs{first, second}, is_hankel(hankel) {
        is_too_large_ = __builtin_mul_overflow(m, first.first.rows, &rows) ||
                        __builtin_mul_overflow(n, first.first.cols, &cols);
        if (runs[1].count > 0) return;
        scale = runs[0].first.scale, conjugate = runs[0].first.conjugate;
        runs[0].first.scale = accumulator_t<T>(real_t<T>(1)), runs[0].first.conjugate = false;
    }

    // The same matrix by Fourier transforms. The error is bounded by norms, so that an element of C that is small
    // beside the largest of its column has fewer digits, and a NaN or Inf reaches the whole column.
    toeplitz_matrix<T, Space, toeplitz_way::by_transforms> by_transforms() const {
        return in_way<toeplitz_way::by_transforms>();
    }
    toeplitz_matrix<T, Space> direct() const { return in_way<toeplitz_way::direct>(); }
    auto in_other_way() const requires has_other_way<form> { return by_transforms(); }

    index_t block_rows() const { return runs[0].first.rows; }
    index_t block_cols() const { return runs[0].first.cols; }
    index_t rows_of_blocks() const { return block_rows() > 0 ? rows / block_rows() : 0; }
    index_t cols_of_blocks() const { return block_cols() > 0 ? cols / block_cols() : 0; }
    index_t length() const { return zeros[0] + runs[0].count + runs[1].count + zeros[1]; } // of the sequence

    // The sequence as one matrix, its blocks side by side, which may be read as it lies.
    bool is_row() const {
        index_t const stride = row().col_stride;
        return length() == runs[0].count && magnitude(stride) == 1 && runs[0].stride == block_cols() * stride;
    }
    view<T const, Space> row() const {
        auto v = runs[0].first;
        v.cols = length() * block_cols();
        if (block_cols() == 1) v.col_stride = runs[0].stride;
        return v;
    }
    form facts() const {
        bool factors = false;
        for (run const& r : runs) factors |= r.first.scale != accumulator_t<T>(real_t<T>(1));
        return {block_rows(),
                block_cols(),
                !is_row(),
                !transposed().is_row(),
                factors,
                is_kept && !is_kept_turned,
                is_kept && is_kept_turned};
    }
    template <class F>
    void each_view(F&& f) const {
        for (run const& r : runs)
            if (r.count > 0) f(memory_of_run(r));
    }
    toeplitz_matrix transposed() const {
        toeplitz_matrix one = *this;
        one.rows = cols, one.cols = rows;
        one.is_kept_turned = !is_kept_turned;
        for (run& r : one.runs) r = transposed_blocks(r);
        if (is_hankel) return one;
        // Numbers count from the other end.
        bool const both = runs[1].count > 0;
        run const first = reversed(one.runs[0]), second = reversed(one.runs[1]);
        one.runs[0] = both ? second : first, one.runs[1] = both ? first : second;
        std::swap(one.zeros[0], one.zeros[1]);
        return one;
    }
    status usable() const {
        index_t const m = rows_of_blocks(), n = cols_of_blocks(), most = index_t{1} << 52;
        if (is_too_large_ || m > most || n > most)
            return failure(errc::overflow,
                           "toeplitz: the matrix has more than 2^52 rows or columns of blocks");
        if (Way == toeplitz_way::by_transforms && m + n > index_t{0x7fffffff})
            return failure(errc::overflow,
                           "toeplitz: there are more diagonals than a transform has points, 2^31 - 1; "
                           "a direct product takes them");
        if (rows <= 0 || cols <= 0 || length() == m + n - 1) return {};
        char text[200];
        __builtin_snprintf(
            text, sizeof(text), "%td x %td %s have %td diagonals (%td + %td - 1), and %td are given", m, n,
            block_rows() * block_cols() == 1 ? "elements" : "blocks", m + n - 1, m, n, length());
        return failure(errc::shape, "toeplitz", text);
    }

private:
    template <class, class, toeplitz_way>
    friend struct toeplitz_matrix;
    template <toeplitz_way Other>
    toeplitz_matrix<T, Space, Other> in_way() const {
        toeplitz_matrix<T, Space, Other> one;
        one.rows = rows, one.cols = cols, one.runs[0] = runs[0], one.runs[1] = runs[1];
        one.zeros[0] = zeros[0], one.zeros[1] = zeros[1], one.is_hankel = is_hankel, one.scale = scale,
        one.conjugate = conjugate;
        one.is_too_large_ = is_too_large_;
        return one;
    }
    // The elements of a run; of large blocks, all that lies between the first and the last address.
    static view<T const, Space> memory_of_run(run const& r) {
        auto v = r.first;
        if (v.rows == 1 && v.cols == 1) {
            v.cols = r.count, v.col_stride = used_stride(r.count, r.stride), v.row_stride = 1;
            return v;
        }
        constexpr auto size = static_cast<index_t>(sizeof(T));
        extent const bytes =
            checked_extent(v.rows, v.cols, v.row_stride, v.col_stride, r.count, r.stride, size);
        if (!bytes.fits) { // which the check of the product finds in this view, too
            v.rows = 2, v.row_stride = index_t{1} << 62;
            return v;
        }
        if (bytes.low != 0) v.data = v.data + bytes.low / size;
        v.rows = 1, v.cols = (bytes.high - bytes.low) / size;
        v.row_stride = v.col_stride = 1;
        return v;
    }

    bool is_too_large_ = false;
};
template <class X>
inline constexpr bool is_toeplitz = requires {
    requires std::same_as<decltype(X::form::way), toeplitz_way const>;
};

// Element (i, j) of block `at` of a sequence, on the host.
template <class A>
typename A::value_type element_of_sequence(A const& a, index_t at, index_t i, index_t j) {
    using T = typename A::value_type;
    if ((at -= a.zeros[0]) < 0 || at >= a.runs[0].count + a.runs[1].count) return T(real_t<T>(0));
    bool const second = at >= a.runs[0].count;
    auto const& r = a.runs[second];
    auto const& v = r.first;
    if (second) at -= a.runs[0].count;
    T const x = v.data[at * r.stride + i * v.row_stride + j * v.col_stride];
    return static_cast<T>(scaled_by(v.scale, accumulator_t<T>(v.conjugate ? conjugate(x) : x)));
}

STRATAGEMM_END
