// A queue, and what is done on it without kernels: events, and copies between host and device.
#pragma once

#include "session.hpp"

STRATAGEMM_BEGIN

class opencl_queue {
public:
    using event = opencl_event;

    opencl_queue() = default; // good for nothing but assigning to
    explicit opencl_queue(std::shared_ptr<opencl_session> session) : session_(std::move(session)) {}

    status synchronize() const { return session_->synchronize(); }

    // Happens when all that was queued before is done. Other queues may wait for it: that needs the flush.
    result<event> record() const {
        if (status s = session_->ready(); !s) return result<event>(std::move(s));
        cl_event made = nullptr;
        if (cl_int const code = clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &made); code != CL_SUCCESS)
            return opencl_error(code, "clEnqueueMarkerWithWaitList");
        event e(made);
        if (cl_int const code = clFlush(queue()); code != CL_SUCCESS) return opencl_error(code, "clFlush");
        return result<event>(std::move(e));
    }
    // What is queued from now on waits for an event of any queue. One that was never recorded has happened.
    status wait(event const& e) const {
        cl_event const one = e.get();
        if (status s = session_->ready(); !s || !one) return s;
        return status_of(clEnqueueBarrierWithWaitList(queue(), 1, &one, nullptr),
                         "clEnqueueBarrierWithWaitList");
    }
    // Returns when it has happened.
    status synchronize(event const& e) const {
        cl_event const one = e.get();
        if (status s = session_->ready(); !s || !one) return s;
        return status_of(clWaitForEvents(1, &one), "clWaitForEvents");
    }

    // Host memory that the device reads and writes itself: a buffer that stays mapped. Waits for what was
    // queued before.
    result<pinned_block> pin(std::size_t bytes) const {
        if (status s = session_->ready(); !s) return result<pinned_block>(std::move(s));
        if (bytes == 0) return pinned_block();
        auto made = session_->allocate(bytes, CL_MEM_ALLOC_HOST_PTR);
        if (!made) return made.take_status();
        opencl_buffer buffer(*made);
        cl_int code = CL_SUCCESS;
        void* const p = clEnqueueMapBuffer(queue(), buffer.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                           bytes, 0, nullptr, nullptr, &code);
        if (code != CL_SUCCESS)
            return opencl_error(code, "clEnqueueMapBuffer of " + std::to_string(bytes) + " bytes");
        auto const unmap = [buffer, own = opencl_command_queue::to(queue())](std::byte* x) {
            (void)clEnqueueUnmapMemObject(own.get(), buffer.get(), x, 0, nullptr, nullptr);
            (void)clFlush(own.get());
        };
        return or_no_memory([&]() -> result<pinned_block> {
            return pinned_block({static_cast<std::byte*>(p), unmap}, bytes);
        });
    }

    // Device memory. Commands that use it keep it until they have run.
    result<opencl_arena> reserve(std::size_t bytes) const {
        auto buffer = session_->allocate(bytes);
        if (!buffer) return buffer.take_status();
        return opencl_arena({*buffer, 0}, bytes,
                            [](opencl_pointer<std::byte> p, std::size_t) { clReleaseMemObject(p.buffer); });
    }

    // What device/transfer.hpp asks for. Any host memory will do: drivers take what is pinned faster.
    bool reads_itself(void const*) const { return true; }
    transfer_pool<event>& pool() const { return session_->transfers(); }
    status send(line_copy const& x, void const* from, device_place to) const {
        auto const buffer = buffer_of(to);
        if (status s = session_->check_buffers(buffer); !s) return s;
        if (status s = session_->keep_order(); !s) return s;
        auto const at = static_cast<std::size_t>(to.address);
        if (x.lines == 1)
            return status_of(
                clEnqueueWriteBuffer(queue(), buffer, CL_FALSE, at, x.bytes, from, 0, nullptr, nullptr),
                "clEnqueueWriteBuffer");
        std::size_t const there[3] = {at, 0, 0}, here[3] = {}, sides[3] = {x.bytes, x.lines, 1};
        return status_of(clEnqueueWriteBufferRect(queue(), buffer, CL_FALSE, there, here, sides,
                                                  x.device_pitch, 0, x.host_pitch, 0, from, 0, nullptr,
                                                  nullptr),
                         "clEnqueueWriteBufferRect");
    }
    status fetch(line_copy const& x, device_place from, void* to) const {
        auto const buffer = buffer_of(from);
        if (status s = session_->check_buffers(buffer); !s) return s;
        if (status s = session_->keep_order(); !s) return s;
        auto const at = static_cast<std::size_t>(from.address);
        if (x.lines == 1)
            return status_of(
                clEnqueueReadBuffer(queue(), buffer, CL_FALSE, at, x.bytes, to, 0, nullptr, nullptr),
                "clEnqueueReadBuffer");
        std::size_t const there[3] = {at, 0, 0}, here[3] = {}, sides[3] = {x.bytes, x.lines, 1};
        return status_of(clEnqueueReadBufferRect(queue(), buffer, CL_FALSE, there, here, sides,
                                                 x.device_pitch, 0, x.host_pitch, 0, to, 0, nullptr, nullptr),
                         "clEnqueueReadBufferRect");
    }

protected:
    std::shared_ptr<opencl_session> session_;

private:
    cl_command_queue queue() const { return session_->queue(); }
    static cl_mem buffer_of(device_place p) { return static_cast<cl_mem>(const_cast<void*>(p.buffer)); }
    static status status_of(cl_int code, char const* what) {
        if (code != CL_SUCCESS) return opencl_error(code, what);
        return {};
    }
};

STRATAGEMM_END
