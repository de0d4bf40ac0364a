// The leaf of every policy whose operands are in OpenCL memory: operations on sub-views, queued.
#pragma once

#include "../../device/elementwise.hpp"
#include "queue.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

// How kernels take a matrix: where it begins, its strides, and the stride of the batch.
template <class T>
cl_long4 opencl_place(opencl_view<T> const& v, index_t step = 0) {
    return {{v.data.offset, v.row_stride, v.col_stride, step}};
}

class opencl_operations : public opencl_queue,
                          public elementwise_operations<opencl_operations, opencl_memory, opencl_epilogue> {
public:
    static constexpr char const* layer = "opencl";

    using opencl_queue::opencl_queue;

    // See device_leaf. An argument may also be a complex number, or an epilogue.
    template <class... Arguments>
    status launch(device_kernel const& kernel, index_t groups, Arguments const&... arguments) const {
        status usable = session_->ready();
        ((void)(usable = usable ? check(arguments) : std::move(usable)), ...);
        if (!usable || groups <= 0) return usable;
        if (groups > limits().groups)
            return error(errc::unsupported, "opencl: more than 2^31 - 1 groups in one launch; work on parts");
        auto compiled = session_->kernel({opencl_operation::dialect, {}, {}, {}, dialect_key(kernel)},
                                         [&] { return opencl_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        return session_->launch(
            **compiled,
            {{static_cast<std::size_t>(groups), 1, 1}, {32, static_cast<std::size_t>(kernel.items / 32), 1}},
            [&](opencl_call& call) { (pass(call, arguments), ...); });
    }
    device_limits limits() const { return {device_longest, session_->device().has_double}; }

    // The same device, and a queue of its own, in no order with this one but by events.
    result<opencl_operations> fork() const {
        auto session = session_->fork();
        if (!session) return session.take_status();
        return opencl_operations(std::move(*session));
    }

    // See core/leaf.hpp. Host memory that lies as the device's does is read, or written, until the queue has done it;
    // other, when this returns.
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(view<From> from,
                                                                           opencl_view<To> to)
    const { return send_block(*this, from, to); }
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(opencl_view<From> from,
                                                                           view<To> to)
    const { return fetch_block(*this, from, to); }

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
};

STRATAGEMM_END
