// A matrix that owns its elements, in the memory of a CUDA device.
#pragma once

#include "../../core/matrix.hpp"
#include "session.hpp"

STRATAGEMM_BEGIN

// Row-major and without gaps unless told. What copies to and from the host waits for it; all that was queued on the
// stream before is done by then. The stream outlives the matrix.
template <element T>
class cuda_matrix {
public:
    using value_type = T;

    cuda_matrix() = default;

    // Not initialised.
    cuda_matrix(cuda_session& session, CUstream stream, index rows, index cols,
                layout order = layout::row_major)
        : session_(&session), stream_(stream), rows_(rows), cols_(cols), order_(order) {
        index bytes = 0;
        if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
            __builtin_mul_overflow(bytes, static_cast<index>(sizeof(T)), &bytes))
            throw error(errc::overflow, "cuda", "rows and cols must be non-negative and fit in memory");
        auto memory = session_->allocate(stream_, static_cast<std::size_t>(bytes));
        memory.or_throw();
        data_ = static_cast<T*>(*memory);
    }

    // A copy of a host matrix, in row-major order.
    template <operand M>
    cuda_matrix(cuda_session& session, CUstream stream, M&& from)
        : cuda_matrix(session, stream, as_view(from).rows, as_view(from).cols) {
        upload(from);
    }

    cuda_matrix(cuda_matrix&& other) noexcept
        : session_(other.session_), stream_(other.stream_), data_(std::exchange(other.data_, nullptr)),
          rows_(std::exchange(other.rows_, 0)), cols_(std::exchange(other.cols_, 0)), order_(other.order_) {}
    cuda_matrix& operator=(cuda_matrix&& other) noexcept {
        std::swap(session_, other.session_);
        std::swap(stream_, other.stream_);
        std::swap(data_, other.data_);
        std::swap(rows_, other.rows_);
        std::swap(cols_, other.cols_);
        std::swap(order_, other.order_);
        return *this;
    }
    ~cuda_matrix() {
        if (data_) session_->free(stream_, data_);
    }

    index rows() const { return rows_; }
    index cols() const { return cols_; }
    index size() const { return rows_ * cols_; }
    cuda_pointer<T> data() { return {data_}; }
    cuda_pointer<T const> data() const { return {data_}; }

    cuda_view<T> view() { return make_view(data()); }
    cuda_view<T const> view() const { return make_view(data()); }
    auto block(index i, index j, index m, index n) { return view().block(i, j, m, n); }
    auto block(index i, index j, index m, index n) const { return view().block(i, j, m, n); }

    template <operand M>
    void upload(M&& from) {
        stratagemm::view<T const> const host = as_view(from);
        check_shape(host.rows, host.cols);
        if (size() == 0) return;
        std::vector<T> packed;
        T const* source = host.data;
        if (!is_same_layout(host)) {
            packed.resize(static_cast<std::size_t>(size()));
            for_each_place(
                [&](index i, index j, index at) { packed[static_cast<std::size_t>(at)] = host(i, j); });
            source = packed.data();
        }
        session_->upload(stream_, data_, source, bytes()).or_throw();
    }

    template <operand M>
    void download(M&& to) const {
        auto const host = as_view(to);
        check_shape(host.rows, host.cols);
        if (size() == 0) return;
        if (is_same_layout(host)) {
            session_->download(stream_, host.data, data_, bytes()).or_throw();
            return;
        }
        std::vector<T> packed(static_cast<std::size_t>(size()));
        session_->download(stream_, packed.data(), data_, bytes()).or_throw();
        for_each_place(
            [&](index i, index j, index at) { host(i, j) = packed[static_cast<std::size_t>(at)]; });
    }

private:
    template <class U>
    cuda_view<U> make_view(cuda_pointer<U> p) const {
        if (order_ == layout::row_major) return {p, rows_, cols_, cols_, 1};
        return {p, rows_, cols_, 1, rows_};
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
            throw error(errc::shape, "cuda",
                        "a copy between host and device needs matrices of the same shape");
    }
    std::size_t bytes() const { return static_cast<std::size_t>(size()) * sizeof(T); }

    cuda_session* session_ = nullptr;
    CUstream stream_ = nullptr;
    T* data_ = nullptr;
    index rows_ = 0;
    index cols_ = 0;
    layout order_ = layout::row_major;
};

STRATAGEMM_END
