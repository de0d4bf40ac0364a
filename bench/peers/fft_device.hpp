// Peers of transforms on a device. Each is in a translation unit of its own, and no std:: type crosses (see
// kernels.hpp).
#pragma once

namespace bench {

// `count` transforms of `points`, one after the other: of complex numbers or, in a real case, of real ones, into points
// / 2 + 1 complex numbers of each. CUDA: `device` is a CUdevice*, `queue` a stream; OpenCL: a cl_device_id and a
// cl_command_queue of `context`.
struct fft_device_problem {
    long points, count;
    bool wide, real;
    void *device, *context, *queue;
};

// prepare() is not timed, makes a plan, and returns null where the library lacks the case. run() queues the transform of
// x, a device pointer or a cl_mem, into y, and says whether that went well.
struct fft_device_peer {
    char const* name;
    void* (*prepare)(fft_device_problem const&, void* x, void* y);
    bool (*run)(fft_device_problem const&, void* plan, void* x, void* y);
    void (*release)(void* plan);
};

extern fft_device_peer const fft_clfft, fft_vkfft;
fft_device_peer const* open_cufft(); // both are opened at run time; null where they are not installed
fft_device_peer const* open_vkfft();

} // namespace bench
