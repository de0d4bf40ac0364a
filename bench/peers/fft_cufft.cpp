// cuFFT, opened at run time and declared here; and the module with VkFFT for CUDA (fft_vkfft.cpp), which lies beside the
// program.
#include "fft_device.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace bench {
namespace {

struct library {
    int (*create)(int*) = nullptr;
    int (*make)(int plan, int rank, long long* points, long long* in_sides, long long in_stride,
                long long in_distance, long long* out_sides, long long out_stride, long long out_distance,
                int type, long long count, std::size_t* bytes) = nullptr;
    int (*set_stream)(int, void*) = nullptr;
    int (*c2c)(int, void* x, void* y, int direction) = nullptr;
    int (*z2z)(int, void* x, void* y, int direction) = nullptr;
    int (*r2c)(int, void* x, void* y) = nullptr;
    int (*d2z)(int, void* x, void* y) = nullptr;
    int (*destroy)(int) = nullptr;
    bool complete = false;

    library() {
        void* opened = nullptr;
        for (char const* name : {"libcufft.so.12", "libcufft.so.11", "/usr/local/cuda/lib64/libcufft.so"})
            if (!opened) opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!opened) return;
        complete = true;
        auto const find = [&](auto& to, char const* name) {
            to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(opened, name));
            complete &= to != nullptr;
        };
        find(create, "cufftCreate"), find(make, "cufftMakePlanMany64"), find(set_stream, "cufftSetStream");
        find(c2c, "cufftExecC2C"), find(z2z, "cufftExecZ2Z"), find(r2c, "cufftExecR2C");
        find(d2z, "cufftExecD2Z"), find(destroy, "cufftDestroy");
    }
};
library const& cufft() {
    static library const opened;
    return opened;
}

void* prepare(fft_device_problem const& p, void*, void*) {
    int plan = 0;
    long long points = p.points, frequencies = p.real ? p.points / 2 + 1 : p.points;
    std::size_t bytes = 0;
    int const type = (p.real ? 0x2a : 0x29) + (p.wide ? 0x40 : 0); // CUFFT_R2C, C2C, D2Z, Z2Z
    if (cufft().create(&plan) != 0) return nullptr;
    if (cufft().make(plan, 1, &points, &points, 1, points, &frequencies, 1, frequencies, type, p.count,
                     &bytes) == 0 &&
        cufft().set_stream(plan, p.queue) == 0)
        return new int(plan);
    cufft().destroy(plan);
    return nullptr;
}
bool run(fft_device_problem const& p, void* made, void* x, void* y) {
    int const plan = *static_cast<int*>(made), forward = -1;
    if (p.real) return (p.wide ? cufft().d2z : cufft().r2c)(plan, x, y) == 0;
    return (p.wide ? cufft().z2z : cufft().c2c)(plan, x, y, forward) == 0;
}
void release(void* made) {
    cufft().destroy(*static_cast<int*>(made));
    delete static_cast<int*>(made);
}
constexpr fft_device_peer peer{"cuFFT", prepare, run, release};

// Opens the first of these for all that is opened later.
bool open_for_all(std::initializer_list<char const*> names) {
    for (char const* name : names)
        if (dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return true;
    return false;
}

} // namespace

fft_device_peer const* open_cufft() { return cufft().complete ? &peer : nullptr; }

fft_device_peer const* open_vkfft() {
    std::error_code none;
    std::string const beside =
        std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "bench_vkfft_cuda.so";
    if (!open_for_all({"libcuda.so.1"}) ||
        !open_for_all({"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}) ||
        !open_for_all({"libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"}))
        return nullptr;
    void* const module = dlopen(beside.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!module) return nullptr;
    auto const get = reinterpret_cast<fft_device_peer const* (*)()>(dlsym(module, "bench_vkfft"));
    return get ? get() : nullptr;
}

} // namespace bench
