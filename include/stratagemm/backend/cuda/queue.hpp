// A stream, and what is done on it without kernels: events, and copies between host and device.
#pragma once

#include "session.hpp"

STRATAGEMM_BEGIN

class cuda_queue {
public:
    using event = cuda_event;

    cuda_queue() : cuda_queue(cuda_session::of(-1), nullptr) {} // every call fails and says why
    cuda_queue(cuda_session& session, CUstream stream) : session_(&session), stream_(stream) {}

    status synchronize() const { return session_->synchronize(stream_); }

    // An event that happens when all work queued before is done.
    result<event> record() const {
        if (status s = session_->ready(); !s) return result<event>(std::move(s));
        auto const in = session_->enter();
        CUevent made = nullptr;
        if (CUresult const code = driver().cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
            code != CUDA_SUCCESS)
            return cuda_error(code, "cuEventCreate on " + session_->device().title());
        auto e = or_no_memory([&] {
            return result<event>({made, [s = session_](CUevent x) {
                                      auto const inside = s->enter();
                                      (void)driver().cuEventDestroy(x);
                                  }});
        });
        if (!e) return e;
        if (CUresult const code = driver().cuEventRecord(made, stream_); code != CUDA_SUCCESS)
            return cuda_error(code, "cuEventRecord on " + session_->device().title());
        return e;
    }
    // Work that is queued from now on waits for an event of any queue. An event that was never recorded has happened.
    status wait(event const& e) const {
        if (status s = session_->ready(); !s || !e) return s;
        auto const in = session_->enter();
        return status_of(driver().cuStreamWaitEvent(stream_, e.get(), CU_EVENT_WAIT_DEFAULT),
                         "cuStreamWaitEvent on ");
    }
    // Returns when the event has happened.
    status synchronize(event const& e) const {
        if (status s = session_->ready(); !s || !e) return s;
        auto const in = session_->enter();
        return status_of(driver().cuEventSynchronize(e.get()), "cuEventSynchronize on ");
    }

    // Host memory that every device can read and write.
    result<pinned_block> pin(std::size_t bytes) const {
        if (status s = session_->ready(); !s) return result<pinned_block>(std::move(s));
        if (bytes == 0) return pinned_block();
        auto const in = session_->enter();
        void* p = nullptr;
        if (CUresult const code = driver().cuMemHostAlloc(&p, bytes, CU_MEMHOSTALLOC_PORTABLE);
            code != CUDA_SUCCESS)
            return cuda_error(code, std::to_string(bytes) + " bytes of pinned memory");
        auto const free = [s = session_](std::byte* x) {
            auto const inside = s->enter();
            (void)driver().cuMemFreeHost(x);
        };
        return or_no_memory([&]() -> result<pinned_block> {
            return pinned_block({static_cast<std::byte*>(p), free}, bytes);
        });
    }

    // Device memory, given back in the order of the stream.
    result<cuda_arena> reserve(std::size_t bytes) const {
        auto memory = session_->allocate(stream_, bytes);
        if (!memory) return memory.take_status();
        status kept = or_no_memory([&]() -> status {
            cuda_allocations::keep(*memory, *session_, stream_);
            return {};
        });
        if (!kept) {
            session_->free(stream_, *memory);
            return result<cuda_arena>(std::move(kept));
        }
        return cuda_arena({static_cast<std::byte*>(*memory)}, bytes, cuda_allocations::release);
    }

    // The members that device/transfer.hpp needs. If host memory is not pinned, the driver copies it in pieces, more
    // slowly than device/transfer.hpp does.
    bool reads_itself(void const* host) const { return session_->is_pinned(host); }
    transfer_pool<event>& pool() const { return session_->transfers(); }
    status send(line_copy const& x, void const* from, device_place to) const {
        CUDA_MEMCPY2D c = block(x);
        c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = from, c.srcPitch = x.host_pitch;
        c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstPitch = x.device_pitch;
        c.dstDevice = static_cast<CUdeviceptr>(to.address);
        auto const all = [&] { return driver().cuMemcpy2DAsync(&c, stream_); };
        return copy_lines(x, "a copy to ", all, [&](std::size_t i) {
            return driver().cuMemcpyHtoDAsync(c.dstDevice + i * x.device_pitch,
                                              static_cast<char const*>(from) + i * x.host_pitch, x.bytes,
                                              stream_);
        });
    }
    status fetch(line_copy const& x, device_place from, void* to) const {
        CUDA_MEMCPY2D c = block(x);
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE, c.srcPitch = x.device_pitch;
        c.srcDevice = static_cast<CUdeviceptr>(from.address);
        c.dstMemoryType = CU_MEMORYTYPE_HOST, c.dstHost = to, c.dstPitch = x.host_pitch;
        auto const all = [&] { return driver().cuMemcpy2DAsync(&c, stream_); };
        return copy_lines(x, "a copy from ", all, [&](std::size_t i) {
            return driver().cuMemcpyDtoHAsync(static_cast<char*>(to) + i * x.host_pitch,
                                              c.srcDevice + i * x.device_pitch, x.bytes, stream_);
        });
    }

    // See peer_leaf.
    bool is_beside(cuda_queue const& other) const { return session_ == other.session_; }
    bool reaches(cuda_queue const& other) const { return session_->reaches(*other.session_); }
    status fetch_from(cuda_queue const& other, line_copy const& x, device_place from, device_place to) const {
        if (status s = other.session_->ready(); !s) return s;
        CUDA_MEMCPY3D_PEER c{};
        c.WidthInBytes = x.bytes, c.Height = x.lines, c.Depth = 1;
        c.srcHeight = c.dstHeight = x.lines;
        c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        c.srcDevice = static_cast<CUdeviceptr>(from.address), c.srcPitch = x.host_pitch;
        c.dstDevice = static_cast<CUdeviceptr>(to.address), c.dstPitch = x.device_pitch;
        c.srcContext = other.session_->context(), c.dstContext = session_->context();
        return copy_lines(
            x, "a copy from another device to ", [&] { return driver().cuMemcpy3DPeerAsync(&c, stream_); },
            [&](std::size_t i) {
                return driver().cuMemcpyPeerAsync(c.dstDevice + i * x.device_pitch, c.dstContext,
                                                  c.srcDevice + i * x.host_pitch, c.srcContext, x.bytes,
                                                  stream_);
            });
    }

protected:
    // Another stream of the device. The stream stays until its last user has gone and the work queued on it is done.
    // Work on the legacy stream 0 does not delay it.
    result<cuda_queue> another() const {
        if (status s = session_->ready(); !s) return result<cuda_queue>(std::move(s));
        auto const in = session_->enter();
        CUstream made = nullptr;
        if (CUresult const code = driver().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
            code != CUDA_SUCCESS)
            return cuda_error(code, "cuStreamCreate on " + session_->device().title());
        return or_no_memory([&] {
            cuda_queue q(*session_, made);
            q.own_ = {made, [s = session_](CUstream x) {
                          auto const inside = s->enter();
                          (void)driver().cuStreamDestroy(x);
                      }};
            return result<cuda_queue>(std::move(q));
        });
    }

    cuda_session* session_;
    CUstream stream_;

private:
    static cuda_driver const& driver() { return cuda_driver::get(); }
    status status_of(CUresult code, char const* what) const {
        if (code != CUDA_SUCCESS) return cuda_error(code, what + session_->device().title());
        return {};
    }

    static CUDA_MEMCPY2D block(line_copy const& x) {
        CUDA_MEMCPY2D c{};
        c.WidthInBytes = x.bytes, c.Height = x.lines;
        return c;
    }
    // Copies at once, or line by line where a pitch is larger than any device takes.
    template <class All, class Line>
    status copy_lines(line_copy const& x, char const* what, All&& all, Line&& line) const {
        constexpr std::size_t most = 0x7fffffff;
        if (status s = session_->ready(); !s) return s;
        auto const in = session_->enter();
        CUresult code = CUDA_SUCCESS;
        if (x.lines > 1 && x.host_pitch <= most && x.device_pitch <= most)
            code = all();
        else
            for (std::size_t i = 0; i < x.lines && code == CUDA_SUCCESS; ++i) code = line(i);
        return status_of(code, what);
    }

    std::shared_ptr<CUstream_st> own_; // if it is not the caller's
};

STRATAGEMM_END
