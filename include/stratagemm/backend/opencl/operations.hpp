// The leaf of every policy whose operands are in OpenCL memory: operations on sub-views, queued.
#pragma once

#include "../../device/operations.hpp"
#include "queue.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

// How kernels take a matrix: where it begins, its strides, and the stride of the batch.
template <class T>
cl_long4 opencl_place(opencl_view<T> const& v, index_t step = 0) {
    return {{v.data.offset, v.row_stride, v.col_stride, step}};
}

class opencl_operations : public opencl_queue,
                          public device_operations<opencl_operations, opencl_memory, opencl_epilogue> {
public:
    static constexpr char const* layer = "opencl";

    using opencl_queue::opencl_queue;

    device_limits limits() const {
        opencl_device const& d = session_->device();
        device_limits limits;
        limits.groups = device_longest, limits.has_double = d.has_double;
        limits.is_cpu = d.family == opencl_family::cpu;
        limits.memory_bytes = d.global_bytes < d.buffer_bytes ? d.global_bytes : d.buffer_bytes;
        limits.kept_bytes = limits.memory_bytes / 4; // drivers do not say
        limits.bandwidth = bytes_of_unit(d.family) * d.compute_units;
        if (d.work_group > 256)
            limits.group_items = static_cast<int>(d.work_group < 1024 ? d.work_group : 1024);
        if (d.local_bytes > limits.group_bytes) limits.group_bytes = d.local_bytes;
        return limits;
    }

    std::string machine() const { return session_->target(); }

    // The same device, and a queue of its own, in no order with this one but by events.
    result<opencl_operations> fork() const {
        auto session = or_no_memory([&] { return session_->fork(); });
        if (!session) return session.take_status();
        return opencl_operations(std::move(*session));
    }

private:
    friend device_operations<opencl_operations, opencl_memory, opencl_epilogue>;

    status check() const { return session_->ready(); }
    template <class T>
    status check(T const&) const {
        return {};
    }
    // The arrays of a sparse matrix without elements may be null; a kernel reads nothing there.
    template <class T>
    status check(opencl_pointer<T> const& p) const {
        return p.buffer ? session_->check_buffers(p.buffer) : status();
    }
    template <class State>
    status check(kernel_epilogue<State> const& e) const {
        return e.check();
    }
    template <class... Arguments>
    status queue_kernel(device_kernel const& kernel, index_t groups, Arguments const&... arguments) const {
        auto compiled = session_->kernel(dialect_key(kernel), [&] { return opencl_source_of(kernel); });
        if (!compiled) return compiled.take_status();
        return session_->launch(
            **compiled,
            {{static_cast<std::size_t>(groups), 1, 1}, {32, static_cast<std::size_t>(kernel.items / 32), 1}},
            [&](opencl_call& call) { (each_given(call, arguments), ...); });
    }
};

STRATAGEMM_END
