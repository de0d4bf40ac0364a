#include "place.hpp"

#include "gemm.hpp"

#include <array>
#include <atomic>
#include <dlfcn.h>
#include <unordered_map>

namespace stratagemm_cublas {
namespace {

// What the library does not ask the driver for.
struct more_of_driver {
    decltype(&::cuCtxGetDevice) device = nullptr;
    decltype(&::cuStreamIsCapturing) is_capturing = nullptr;
    decltype(&::cuStreamGetId) number = nullptr;

    more_of_driver() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) return;
        device = reinterpret_cast<decltype(device)>(dlsym(library, "cuCtxGetDevice"));
        is_capturing = reinterpret_cast<decltype(is_capturing)>(dlsym(library, "cuStreamIsCapturing"));
        number = reinterpret_cast<decltype(number)>(dlsym(library, "cuStreamGetId"));
    }
    bool is_there() const { return device && is_capturing && number; }
};
more_of_driver const& more() {
    static more_of_driver const one;
    return one;
}
sg::cuda_driver const& driver() { return sg::cuda_driver::get(); }

// The primary context of a device. It is retained for ever, as the library retains it.
CUcontext primary_of(CUdevice device) {
    static std::array<std::atomic<CUcontext>, 64> all{};
    auto& known = all[static_cast<std::size_t>(device) % all.size()];
    CUcontext context = known.load(std::memory_order_relaxed);
    if (!context && driver().cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS)
        known.store(context, std::memory_order_relaxed);
    return context;
}

std::mutex handles_in_use;
std::unordered_map<handle, std::unique_ptr<handle_workspace>>& handles() {
    static auto* const all = new std::unordered_map<handle, std::unique_ptr<handle_workspace>>;
    return *all;
}

} // namespace

handle_workspace& workspace_of(handle h) {
    std::lock_guard const lock(handles_in_use);
    auto& kept = handles()[h];
    if (!kept) kept = std::make_unique<handle_workspace>();
    return *kept;
}

void forget_workspace(handle h) {
    std::unique_ptr<handle_workspace> gone;
    {
        std::lock_guard const lock(handles_in_use);
        auto const found = handles().find(h);
        if (found == handles().end()) return;
        gone = std::move(found->second);
        handles().erase(found);
    }
    gone->free_all();
}

void handle_workspace::free_all() {
    for (block const& b : blocks_) sg::cuda_session::of(b.device).free(nullptr, b.at);
    blocks_.clear();
}

sg::result<sg::cuda::arena> handle_workspace::reserve(sg::cuda const& gpu, bool captures, std::size_t bytes) {
    unsigned long long number = 0;
    if (CUresult const code = more().number(gpu.stream, &number); code != CUDA_SUCCESS)
        return sg::cuda_error(code, "cuStreamGetId");
    std::size_t all = bytes;
    block *old = nullptr, *found = nullptr;
    for (block& b : blocks_) {
        all += b.bytes;
        if (b.device != gpu.device || b.stream != number || (b.is_of_graphs && !captures)) continue;
        if (!b.is_of_graphs) old = &b;
        if (b.bytes >= bytes && (!found || b.is_of_graphs)) found = &b;
    }
    auto const arena_of = [](block const& b) {
        return sg::cuda::arena({static_cast<std::byte*>(b.at)}, b.bytes, nullptr);
    };
    if (found) {
        found->is_of_graphs |= captures;
        return arena_of(*found);
    }
    if (captures) return sg::failure(sg::errc::memory, "a graph is captured, and there is no workspace yet");
    // As much as the library's pool keeps of a device. A program that makes streams without end gets memory for each
    // product instead.
    if (all > gpu.where().global_bytes / 16) return gpu.reserve({.device = bytes});
    auto& session = sg::cuda_session::of(gpu.device);
    auto memory = session.allocate(gpu.stream, bytes);
    if (!memory) return memory.take_status();
    block const made{gpu.device, number, *memory, bytes, false};
    if (old) {
        session.free(gpu.stream, old->at);
        *old = made;
    } else {
        blocks_.push_back(made);
    }
    return arena_of(made);
}

bool place::find_device() {
    if (!driver().missing.empty() || !more().is_there()) return false;
    CUcontext current = nullptr;
    if (driver().cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return false;
    thread_local struct {
        CUcontext context = nullptr;
        int device = 0;
    } last; // a primary context, which never goes
    if (last.context != current) {
        CUdevice device = 0;
        if (more().device(&device) != CUDA_SUCCESS || primary_of(device) != current) return false;
        last = {current, device};
    }
    gpu.device = last.device;
    return static_cast<bool>(gpu.ready());
}

bool place::captures() {
    if (!is_asked_) {
        CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
        captures_ =
            more().is_capturing(gpu.stream, &state) != CUDA_SUCCESS || state != CU_STREAM_CAPTURE_STATUS_NONE;
        is_asked_ = true;
    }
    return captures_;
}

sg::result<sg::cuda::arena> place::reserve(std::size_t bytes) {
    constexpr std::size_t alignment = 256; // of what the driver allocates
    if (bytes == 0) return sg::cuda::arena{};
    if (handle_) {
        handle_workspace& kept = workspace_of(handle_);
        lock_ = std::unique_lock(kept.in_use);
        return kept.reserve(gpu, captures(), bytes);
    }
    if (given_ && given_bytes_ >= bytes && reinterpret_cast<std::uintptr_t>(given_) % alignment == 0)
        return sg::cuda::arena({static_cast<std::byte*>(given_)}, given_bytes_, nullptr);
    if (captures()) return sg::failure(sg::errc::memory, "a graph is captured, and the workspace is small");
    return gpu.reserve({.device = bytes});
}

} // namespace stratagemm_cublas
