// A matrix that owns its elements, in the memory of a device; of it, it asks what any policy offers.
#pragma once

#include "../core/matrix.hpp"
#include "../core/policy.hpp"

#include <optional>
#include <vector>

STRATAGEMM_BEGIN

// Row-major and without gaps unless told. What copies to and from the host waits for it; all that was queued before
// is done by then.
template <element T, class Policy>
class device_matrix {
    using space = typename Policy::space;

public:
    using value_type = T;
    template <class U>
    using view_of = stratagemm::view<U, space>;

    device_matrix() = default;

    // Not initialised.
    device_matrix(Policy const& policy, index rows, index cols, layout order = layout::row_major)
        : policy_(policy), rows_(rows), cols_(cols), order_(order) {
        index bytes = 0;
        if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
            __builtin_mul_overflow(bytes, static_cast<index>(sizeof(T)), &bytes))
            throw error(errc::overflow, "matrix", "rows and cols must be non-negative and fit in memory");
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

    index rows() const { return rows_; }
    index cols() const { return cols_; }
    index size() const { return rows_ * cols_; }
    typename space::template handle<T> data() { return data_; }
    typename space::template handle<T const> data() const { return data_; }

    view_of<T> view() { return make_view<T>(); }
    view_of<T const> view() const { return make_view<T const>(); }
    auto block(index i, index j, index m, index n) { return view().block(i, j, m, n); }
    auto block(index i, index j, index m, index n) const { return view().block(i, j, m, n); }

    template <operand M>
    void upload(M&& from) {
        stratagemm::view<T const> const host = as_view(from);
        check_shape(host.rows, host.cols);
        if (size() == 0) return;
        std::vector<T> packed;
        if (!is_same_layout(host)) {
            packed.resize(static_cast<std::size_t>(size()));
            for_each_place(
                [&](index i, index j, index at) { packed[static_cast<std::size_t>(at)] = host(i, j); });
        }
        policy_->leaf().upload(packed.empty() ? host.data : packed.data(), data_, size()).or_throw();
    }

    template <operand M>
    void download(M&& to) const {
        auto const host = as_view(to);
        check_shape(host.rows, host.cols);
        if (size() == 0) return;
        std::vector<T> packed;
        if (!is_same_layout(host)) packed.resize(static_cast<std::size_t>(size()));
        policy_->leaf().download(data(), packed.empty() ? host.data : packed.data(), size()).or_throw();
        if (!packed.empty())
            for_each_place(
                [&](index i, index j, index at) { host(i, j) = packed[static_cast<std::size_t>(at)]; });
    }

private:
    template <class U>
    view_of<U> make_view() const {
        if (order_ == layout::row_major) return {data_, rows_, cols_, cols_, 1};
        return {data_, rows_, cols_, 1, rows_};
    }
    template <class V>
    bool is_same_layout(V const& host) const {
        bool const by_rows = order_ == layout::row_major;
        return host.row_stride == (by_rows ? cols_ : 1) && host.col_stride == (by_rows ? 1 : rows_);
    }
    template <class F>
    void for_each_place(F&& f) const {
        for (index i = 0; i < rows_; ++i)
            for (index j = 0; j < cols_; ++j)
                f(i, j, order_ == layout::row_major ? i * cols_ + j : i + j * rows_);
    }
    void check_shape(index rows, index cols) const {
        if (rows != rows_ || cols != cols_)
            throw error(errc::shape, "matrix",
                        "a copy between host and device needs matrices of the same shape");
    }

    std::optional<Policy> policy_;
    typename Policy::arena memory_;
    typename space::template handle<T> data_{};
    index rows_ = 0;
    index cols_ = 0;
    layout order_ = layout::row_major;
};

STRATAGEMM_END
