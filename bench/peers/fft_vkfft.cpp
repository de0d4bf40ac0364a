// VkFFT, which compiles its kernels at run time, by OpenCL or CUDA: VKFFT_BACKEND is 3 or 1. For CUDA this file is a
// separate module, bench_vkfft_cuda.so, which needs the driver, NVRTC and the runtime library when it is opened and not before.
#include "fft_device.hpp"

#include <vkFFT.h>

namespace bench {
namespace {

struct plan {
    VkFFTApplication app{};
    uint64_t in_bytes = 0, out_bytes = 0;
#if VKFFT_BACKEND == 3
    using buffer = cl_mem;
    cl_device_id device = nullptr;
    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
#else
    using buffer = void*;
    cudaStream_t stream = nullptr;
#endif
    buffer x{}, y{};
};

void* prepare(fft_device_problem const& p, void* x, void* y) {
    auto* const made = new plan;
    VkFFTConfiguration set{};
    auto const points = static_cast<uint64_t>(p.points), count = static_cast<uint64_t>(p.count);
    uint64_t const frequencies = p.real ? points / 2 + 1 : points, size = p.wide ? 8 : 4;
    set.FFTdim = 1, set.size[0] = points, set.numberBatches = count;
    set.doublePrecision = p.wide, set.performR2C = p.real, set.makeForwardPlanOnly = 1;
    set.isInputFormatted = 1;
    set.inputBufferStride[0] = points, set.bufferStride[0] = frequencies;
    made->in_bytes = points * count * size * (p.real ? 1 : 2),
    made->out_bytes = frequencies * count * size * 2;
    set.inputBufferSize = &made->in_bytes, set.bufferSize = &made->out_bytes;
    made->x = static_cast<plan::buffer>(x), made->y = static_cast<plan::buffer>(y);
    set.inputBuffer = &made->x, set.buffer = &made->y;
#if VKFFT_BACKEND == 3
    made->device = static_cast<cl_device_id>(p.device), made->context = static_cast<cl_context>(p.context);
    made->queue = static_cast<cl_command_queue>(p.queue);
    set.device = &made->device, set.context = &made->context, set.commandQueue = &made->queue;
#else
    set.device = static_cast<CUdevice*>(p.device);
    made->stream = static_cast<cudaStream_t>(p.queue);
    set.stream = &made->stream, set.num_streams = 1;
#endif
    if (initializeVkFFT(&made->app, set) == VKFFT_SUCCESS) return made;
    delete made;
    return nullptr;
}
bool run(fft_device_problem const&, void* there, void* x, void* y) {
    auto* const made = static_cast<plan*>(there);
    VkFFTLaunchParams with{};
    made->x = static_cast<plan::buffer>(x), made->y = static_cast<plan::buffer>(y);
    with.inputBuffer = &made->x, with.buffer = &made->y;
#if VKFFT_BACKEND == 3
    with.commandQueue = &made->queue;
#endif
    return VkFFTAppend(&made->app, -1, &with) == VKFFT_SUCCESS;
}
void release(void* there) {
    auto* const made = static_cast<plan*>(there);
    deleteVkFFT(&made->app);
    delete made;
}

} // namespace

extern fft_device_peer const fft_vkfft{"VkFFT", prepare, run, release};

} // namespace bench

#if VKFFT_BACKEND == 1
extern "C" bench::fft_device_peer const* bench_vkfft() { return &bench::fft_vkfft; }
#endif
