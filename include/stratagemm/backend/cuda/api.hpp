// The CUDA driver, opened when it is first needed: a program that includes this starts without one, and links
// with nothing of CUDA. Its error codes in words.
#pragma once

#include "../../core/error.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <string>

STRATAGEMM_BEGIN

// The functions of the driver. cuda.h renames some of these to their newer versions, here as in calls.
#define STRATAGEMM_CUDA_ENTRIES(X)                                                                           \
    X(cuInit)                                                                                                \
    X(cuDriverGetVersion)                                                                                    \
    X(cuGetErrorName)                                                                                        \
    X(cuGetErrorString)                                                                                      \
    X(cuDeviceGetCount)                                                                                      \
    X(cuDeviceGet)                                                                                           \
    X(cuDeviceGetName)                                                                                       \
    X(cuDeviceGetAttribute)                                                                                  \
    X(cuDeviceTotalMem)                                                                                      \
    X(cuDeviceCanAccessPeer)                                                                                 \
    X(cuDeviceGetP2PAttribute)                                                                               \
    X(cuDevicePrimaryCtxRetain)                                                                              \
    X(cuCtxGetCurrent)                                                                                       \
    X(cuCtxPushCurrent)                                                                                      \
    X(cuCtxPopCurrent)                                                                                       \
    X(cuCtxEnablePeerAccess)                                                                                 \
    X(cuMemPoolCreate)                                                                                       \
    X(cuMemPoolSetAttribute)                                                                                 \
    X(cuMemPoolTrimTo)                                                                                       \
    X(cuMemPoolSetAccess)                                                                                    \
    X(cuMemAllocFromPoolAsync)                                                                               \
    X(cuMemFreeAsync)                                                                                        \
    X(cuMemHostAlloc)                                                                                        \
    X(cuMemFreeHost)                                                                                         \
    X(cuMemcpyHtoDAsync)                                                                                     \
    X(cuMemcpyDtoHAsync)                                                                                     \
    X(cuMemcpy2DAsync)                                                                                       \
    X(cuMemcpyPeerAsync)                                                                                     \
    X(cuMemcpy3DPeerAsync)                                                                                   \
    X(cuPointerGetAttributes)                                                                                \
    X(cuEventCreate)                                                                                         \
    X(cuEventRecord)                                                                                         \
    X(cuEventSynchronize)                                                                                    \
    X(cuEventDestroy)                                                                                        \
    X(cuStreamCreate)                                                                                        \
    X(cuStreamSynchronize)                                                                                   \
    X(cuStreamWaitEvent)                                                                                     \
    X(cuStreamDestroy)                                                                                       \
    X(cuModuleLoadData)                                                                                      \
    X(cuModuleGetFunction)                                                                                   \
    X(cuFuncGetAttribute)                                                                                    \
    X(cuFuncSetAttribute)                                                                                    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                           \
    X(cuLaunchKernelEx)                                                                                      \
    X(cuTensorMapEncodeTiled)

struct cuda_driver {
#define STRATAGEMM_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
    STRATAGEMM_CUDA_ENTRIES(STRATAGEMM_CUDA_MEMBER)
#undef STRATAGEMM_CUDA_MEMBER
    std::string missing; // why there is no driver; empty if there is one

    static cuda_driver const& get() {
        static cuda_driver const* const one = new cuda_driver; // drivers may be gone before globals are
        return *one;
    }

private:
    cuda_driver() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            missing = "no CUDA driver here (libcuda.so.1 cannot be opened); install NVIDIA's driver";
            return;
        }
#define STRATAGEMM_CUDA_NAME(name) #name
#define STRATAGEMM_CUDA_FIND(name)                                                                           \
    name = reinterpret_cast<decltype(name)>(dlsym(library, STRATAGEMM_CUDA_NAME(name)));                     \
    if (!name)                                                                                               \
        missing = "the CUDA driver has no " STRATAGEMM_CUDA_NAME(name) "; install one of CUDA 12 or later";
        STRATAGEMM_CUDA_ENTRIES(STRATAGEMM_CUDA_FIND)
#undef STRATAGEMM_CUDA_FIND
#undef STRATAGEMM_CUDA_NAME
        if (!missing.empty()) return;
        if (CUresult const code = cuInit(0); code != CUDA_SUCCESS)
            missing =
                "cuInit: " + name_of(code) + "; is there an NVIDIA device, and may this process use it?";
    }

public:
    std::string name_of(CUresult code) const {
        char const *name = nullptr, *words = nullptr;
        if (cuGetErrorName && cuGetErrorName(code, &name) == CUDA_SUCCESS && name &&
            cuGetErrorString(code, &words) == CUDA_SUCCESS && words)
            return std::string(name) + " (" + std::to_string(code) + ", " + words + ')';
        return "CUDA error " + std::to_string(code);
    }
};
#undef STRATAGEMM_CUDA_ENTRIES

// The error by name, the call that failed, and a remedy.
[[gnu::cold, gnu::noinline]] inline error cuda_error(CUresult code, std::string const& what) {
    bool const memory = code == CUDA_ERROR_OUT_OF_MEMORY;
    std::string text = what + ": " + cuda_driver::get().name_of(code);
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY: text += "; free device memory or multiply in smaller blocks"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
        text += "; a kernel that ran before has failed, and the device takes no more work from this process: "
                "compute-sanitizer finds which";
        break;
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT: text += "; is the stream one of the policy's device?"; break;
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
        text += "; run the product once before it is captured, and give it an arena";
        break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        text += "; the driver is older than NVRTC: install a newer driver, or an older toolkit";
        break;
    default: break;
    }
    return error(memory ? errc::memory : errc::native, "cuda", text.c_str(), code);
}

STRATAGEMM_END
