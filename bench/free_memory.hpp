// The free memory of CUDA devices, as the driver counts it.
#pragma once

#include <stratagemm/backend/cuda.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <dlfcn.h>
#include <thread>

namespace bench {

inline std::size_t free_memory(int device) {
    static auto const get = reinterpret_cast<CUresult (*)(std::size_t*, std::size_t*)>(
        dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemGetInfo_v2"));
    auto const in = stratagemm::cuda_session::of(device).enter();
    std::size_t free = 0, all = 0;
    if (get) (void)get(&free, &all);
    return free;
}

// The least that a device reports while something runs.
class least_free {
public:
    explicit least_free(int device) : device_(device), thread_([this] { watch(); }) {}
    ~least_free() { stop(); }
    std::size_t stop() {
        stopped_ = true;
        if (thread_.joinable()) thread_.join();
        return least_;
    }

private:
    void watch() {
        while (!stopped_) {
            least_ = std::min(least_, free_memory(device_));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    int device_;
    std::atomic<bool> stopped_{false};
    std::size_t least_ = ~std::size_t{0};
    std::thread thread_;
};

} // namespace bench
