// Copies between the host and a device through pinned memory, which the device reads and writes by itself: two pieces,
// of which one is filled, or emptied, while the other travels.
#pragma once

#include "api.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

STRATAGEMM_BEGIN

// In the context that is current, which is that of the device.
class cuda_pieces {
public:
    static constexpr std::size_t bytes = std::size_t{4} << 20; // of a piece

    cuda_pieces() = default;
    cuda_pieces(cuda_pieces const&) = delete;
    cuda_pieces& operator=(cuda_pieces const&) = delete;
    ~cuda_pieces() {
        for (piece& p : all_) {
            if (p.done) (void)driver().cuEventDestroy(p.done);
            if (p.place) (void)driver().cuMemFreeHost(p.place);
        }
    }
    CUresult make() {
        CUresult code = CUDA_SUCCESS;
        for (piece& p : all_) {
            if (code == CUDA_SUCCESS)
                code = driver().cuMemHostAlloc(&p.place, bytes, CU_MEMHOSTALLOC_PORTABLE);
            if (code == CUDA_SUCCESS) code = driver().cuEventCreate(&p.done, CU_EVENT_DISABLE_TIMING);
        }
        return code;
    }

    // `to` is there when it returns.
    CUresult upload(CUstream stream, CUdeviceptr to, char const* from, std::size_t count) {
        CUresult code = CUDA_SUCCESS;
        for (std::size_t at = 0, i = 0; at < count && code == CUDA_SUCCESS; at += bytes, i ^= 1) {
            piece& p = all_[i];
            std::size_t const part = count - at < bytes ? count - at : bytes;
            code = driver().cuEventSynchronize(p.done); // what it was used for last
            if (code != CUDA_SUCCESS) break;
            std::memcpy(p.place, from + at, part);
            code = driver().cuMemcpyHtoDAsync(to + at, p.place, part, stream);
            if (code == CUDA_SUCCESS) code = driver().cuEventRecord(p.done, stream);
        }
        for (piece const& p : all_)
            if (code == CUDA_SUCCESS) code = driver().cuEventSynchronize(p.done);
        return code;
    }
    // Likewise.
    CUresult download(CUstream stream, char* to, CUdeviceptr from, std::size_t count) {
        CUresult code = CUDA_SUCCESS;
        std::size_t arrived = 0;
        for (std::size_t at = 0, i = 0; arrived < count && code == CUDA_SUCCESS; at += bytes, i ^= 1) {
            if (at < count) {
                std::size_t const part = count - at < bytes ? count - at : bytes;
                code = driver().cuEventSynchronize(all_[i].done);
                if (code == CUDA_SUCCESS)
                    code = driver().cuMemcpyDtoHAsync(all_[i].place, from + at, part, stream);
                if (code == CUDA_SUCCESS) code = driver().cuEventRecord(all_[i].done, stream);
            }
            if (at == 0 || code != CUDA_SUCCESS) continue; // two are under way before the first is awaited
            piece const& p = all_[i ^ 1];
            std::size_t const part = count - arrived < bytes ? count - arrived : bytes;
            code = driver().cuEventSynchronize(p.done);
            if (code != CUDA_SUCCESS) break;
            std::memcpy(to + arrived, p.place, part);
            arrived += part;
        }
        return code;
    }

private:
    struct piece {
        void* place = nullptr;
        CUevent done = nullptr; // with what the piece was used for; before that, it is
    };
    static cuda_driver const& driver() { return cuda_driver::get(); }
    std::array<piece, 2> all_;
};

// As many pairs of pieces as threads copy at a time; they stay for the next.
class cuda_transfers {
public:
    // None if there is no pinned memory for them.
    std::unique_ptr<cuda_pieces> take() {
        {
            std::lock_guard const lock(mutex_);
            if (!idle_.empty()) {
                auto own = std::move(idle_.back());
                idle_.pop_back();
                return own;
            }
        }
        auto own = std::make_unique<cuda_pieces>();
        return own->make() == CUDA_SUCCESS ? std::move(own) : nullptr;
    }
    // Not after a failure: something may still be on its way, and freeing waits for it.
    void give_back(std::unique_ptr<cuda_pieces> own) {
        std::lock_guard const lock(mutex_);
        idle_.push_back(std::move(own));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<cuda_pieces>> idle_;
};

STRATAGEMM_END
