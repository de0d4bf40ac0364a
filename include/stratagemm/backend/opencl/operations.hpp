// The leaf of every policy whose operands are in OpenCL memory: operations on sub-views, queued.
#pragma once

#include "../../device/elementwise.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

// How kernels take a matrix: where it begins, its strides, and the stride of the batch.
template <class T>
cl_long4 opencl_place(opencl_view<T> const& v, index step = 0) {
    return {{v.data.offset, v.row_stride, v.col_stride, step}};
}

class opencl_operations : public elementwise_operations<opencl_operations, opencl_memory, opencl_epilogue> {
public:
    static constexpr char const* layer = "opencl";

    explicit opencl_operations(std::shared_ptr<opencl_session> session) : session_(std::move(session)) {}

    // See device_leaf. An argument may also be a complex number, or an epilogue.
    template <class... Arguments>
    status launch(device_kernel const& kernel, index groups, Arguments const&... arguments) const {
        status usable = session_->ready();
        ((void)(usable = usable ? check(arguments) : std::move(usable)), ...);
        if (!usable || groups <= 0) return usable;
        if (groups > limits().groups)
            return error(errc::unsupported, "opencl",
                         "more than 2^31 - 1 groups in one launch; work on parts");
        auto compiled = session_->kernel({opencl_operation::dialect, {}, {}, {}, dialect_key(kernel)},
                                         [&] { return opencl_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        return session_->launch(
            **compiled,
            {{static_cast<std::size_t>(groups), 1, 1}, {32, static_cast<std::size_t>(kernel.items / 32), 1}},
            [&](opencl_call& call) { (pass(call, arguments), ...); });
    }
    device_limits limits() const { return {device_longest, session_->device().has_double}; }

    // Between host memory and a buffer; returns when it is done, after all that was queued before.
    template <class T>
    status upload(T const* from, opencl_pointer<T> to, index count) const {
        if (status s = session_->check_buffers(to.buffer); !s || count == 0) return s;
        return transferred(clEnqueueWriteBuffer(session_->queue(), to.buffer, CL_TRUE, bytes_of<T>(to.offset),
                                                bytes_of<T>(count), from, 0, nullptr, nullptr),
                           "clEnqueueWriteBuffer");
    }
    template <class T>
    status download(opencl_pointer<T> from, std::remove_const_t<T>* to, index count) const {
        if (status s = session_->check_buffers(from.buffer); !s || count == 0) return s;
        return transferred(clEnqueueReadBuffer(session_->queue(), from.buffer, CL_TRUE,
                                               bytes_of<T>(from.offset), bytes_of<T>(count), to, 0, nullptr,
                                               nullptr),
                           "clEnqueueReadBuffer");
    }

    status synchronize() const { return session_->synchronize(); }

private:
    template <class T>
    status check(opencl_pointer<T> p) const {
        return session_->check_buffers(p.buffer);
    }
    template <class State>
    status check(kernel_epilogue<State> const& e) const {
        return e.check();
    }
    template <class T>
    status check(T const&) const {
        return {};
    }
    template <class T>
    static void pass(opencl_call& call, opencl_pointer<T> p) {
        call(p.buffer, cl_long{p.offset});
    }
    template <class State>
    static void pass(opencl_call& call, kernel_epilogue<State> const& e) {
        e.pass(call);
    }
    template <class T>
    static void pass(opencl_call& call, T const& x) {
        call(x);
    }

    template <class T>
    static std::size_t bytes_of(index count) {
        return static_cast<std::size_t>(count) * sizeof(T);
    }
    static status transferred(cl_int code, char const* what) {
        if (code != CL_SUCCESS) return opencl_error(code, what);
        return {};
    }

    std::shared_ptr<opencl_session> session_;
};

STRATAGEMM_END
