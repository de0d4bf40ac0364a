// A matrix that owns its elements, in the memory of a device; of it, it asks what any policy offers.
#pragma once

#include "../core/matrix.hpp"
#include "../core/policy.hpp"

#include <optional>

STRATAGEMM_BEGIN

// Row-major and without gaps unless told. What copies to and from the host waits for it; all that was queued
// before is done by then.
template <element T, class Policy>
class device_matrix {
    using space = typename Policy::space;

public:
    using value_type = T;
    template <class U>
    using view_of = stratagemm::view<U, space>;

    device_matrix() = default;

    // Not initialised.
    device_matrix(Policy const& policy, index_t rows, index_t cols, layout order = layout::row_major)
        : policy_(policy), rows_(rows), cols_(cols), order_(order) {
        index_t bytes = 0;
        if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
            __builtin_mul_overflow(bytes, static_cast<index_t>(sizeof(T)), &bytes))
            throw error(errc::overflow, "matrix: rows and cols must be non-negative and fit in memory");
        footprint f;
        space::share(f) = bytes > 0 ? static_cast<std::size_t>(bytes) : 1;
        auto memory = policy.reserve(f);
        memory.or_throw();
        memory_ = std::move(*memory);
        data_ = memory_.template take<T>(size());
    }

    // A copy of a host matrix, in row-major order.
    template <operand M>
    device_matrix(Policy const& policy, M&& from)
        : device_matrix(policy, as_view(from).rows, as_view(from).cols) {
        upload(from);
    }

    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    index_t size() const { return rows_ * cols_; }
    typename space::template handle<T> data() { return data_; }
    typename space::template handle<T const> data() const { return data_; }

    view_of<T> view() { return make_view<T>(); }
    view_of<T const> view() const { return make_view<T const>(); }
    auto block(index_t i, index_t j, index_t m, index_t n) { return view().block(i, j, m, n); }
    auto block(index_t i, index_t j, index_t m, index_t n) const { return view().block(i, j, m, n); }

    template <operand M>
    void upload(M&& from) {
        stratagemm::view<T const> const host = as_view(from);
        check_shape(host.rows, host.cols);
        policy_->leaf().copy_async(host, view()).or_throw();
        policy_->leaf().synchronize().or_throw();
    }

    template <operand M>
    void download(M&& to) const {
        auto const host = as_view(to);
        check_shape(host.rows, host.cols);
        policy_->leaf().copy_async(view(), host).or_throw();
        policy_->leaf().synchronize().or_throw();
    }

private:
    template <class U>
    view_of<U> make_view() const {
        if (order_ == layout::row_major) return {data_, rows_, cols_, cols_, 1};
        return {data_, rows_, cols_, 1, rows_};
    }
    void check_shape(index_t rows, index_t cols) const {
        if (rows != rows_ || cols != cols_)
            throw error(errc::shape,
                        "matrix: a copy between host and device needs matrices of the same shape");
    }

    std::optional<Policy> policy_;
    typename Policy::arena memory_;
    typename space::template handle<T> data_{};
    index_t rows_ = 0;
    index_t cols_ = 0;
    layout order_ = layout::row_major;
};

STRATAGEMM_END
