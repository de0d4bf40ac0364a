// A matrix that owns its elements, in a buffer of an OpenCL device.
#pragma once

#include "../../core/matrix.hpp"
#include "session.hpp"

STRATAGEMM_BEGIN

// Row-major and without gaps unless told. What copies to and from the host waits for it; all that was queued
// before is done by then.
template <element T>
class opencl_matrix {
public:
    using value_type = T;

    opencl_matrix() = default;

    // Not initialised.
    opencl_matrix(std::shared_ptr<opencl_session> session, index rows, index cols,
                  layout order = layout::row_major)
        : session_(std::move(session)), rows_(rows), cols_(cols), order_(order) {
        index bytes = 0;
        if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &bytes) ||
            __builtin_mul_overflow(bytes, static_cast<index>(sizeof(T)), &bytes))
            throw error(errc::overflow, "opencl", "rows and cols must be non-negative and fit in memory");
        auto buffer = session_->allocate(static_cast<std::size_t>(bytes));
        buffer.or_throw();
        buffer_ = opencl_buffer(*buffer);
    }

    // A copy of a host matrix, in row-major order.
    template <operand M>
    opencl_matrix(std::shared_ptr<opencl_session> session, M&& from)
        : opencl_matrix(std::move(session), as_view(from).rows, as_view(from).cols) {
        upload(from);
    }

    index rows() const { return rows_; }
    index cols() const { return cols_; }
    index size() const { return rows_ * cols_; }
    opencl_pointer<T> data() { return {buffer_.get(), 0}; }
    opencl_pointer<T const> data() const { return {buffer_.get(), 0}; }

    opencl_view<T> view() { return make_view(data()); }
    opencl_view<T const> view() const { return make_view(data()); }
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
        done(clEnqueueWriteBuffer(session_->queue(), buffer_.get(), CL_TRUE, 0, bytes(), source, 0, nullptr,
                                  nullptr),
             "clEnqueueWriteBuffer");
    }

    template <operand M>
    void download(M&& to) const {
        auto const host = as_view(to);
        check_shape(host.rows, host.cols);
        if (size() == 0) return;
        if (is_same_layout(host)) {
            done(clEnqueueReadBuffer(session_->queue(), buffer_.get(), CL_TRUE, 0, bytes(), host.data, 0,
                                     nullptr, nullptr),
                 "clEnqueueReadBuffer");
            return;
        }
        std::vector<T> packed(static_cast<std::size_t>(size()));
        done(clEnqueueReadBuffer(session_->queue(), buffer_.get(), CL_TRUE, 0, bytes(), packed.data(), 0,
                                 nullptr, nullptr),
             "clEnqueueReadBuffer");
        for_each_place(
            [&](index i, index j, index at) { host(i, j) = packed[static_cast<std::size_t>(at)]; });
    }

private:
    template <class U>
    opencl_view<U> make_view(opencl_pointer<U> p) const {
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
            throw error(errc::shape, "opencl",
                        "a copy between host and device needs matrices of the same shape");
    }
    std::size_t bytes() const { return static_cast<std::size_t>(size()) * sizeof(T); }
    static void done(cl_int code, char const* what) {
        if (code != CL_SUCCESS) throw opencl_error(code, what);
    }

    std::shared_ptr<opencl_session> session_;
    opencl_buffer buffer_;
    index rows_ = 0;
    index cols_ = 0;
    layout order_ = layout::row_major;
};

STRATAGEMM_END
