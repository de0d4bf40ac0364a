// The OpenCL 1.2 interface, and its error codes in words.
#pragma once

#include "../../core/error.hpp"

#ifndef CL_TARGET_OPENCL_VERSION
#    define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#    define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue, which every platform has
#endif
#include <CL/cl.h>

#include <string>

STRATAGEMM_BEGIN

inline char const* opencl_code_name(cl_int code) {
    switch (code) {
    case CL_DEVICE_NOT_FOUND: return "CL_DEVICE_NOT_FOUND";
    case CL_DEVICE_NOT_AVAILABLE: return "CL_DEVICE_NOT_AVAILABLE";
    case CL_COMPILER_NOT_AVAILABLE: return "CL_COMPILER_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES: return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY: return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE: return "CL_BUILD_PROGRAM_FAILURE";
    case CL_MISALIGNED_SUB_BUFFER_OFFSET: return "CL_MISALIGNED_SUB_BUFFER_OFFSET";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    case CL_INVALID_VALUE: return "CL_INVALID_VALUE";
    case CL_INVALID_DEVICE: return "CL_INVALID_DEVICE";
    case CL_INVALID_CONTEXT: return "CL_INVALID_CONTEXT";
    case CL_INVALID_COMMAND_QUEUE: return "CL_INVALID_COMMAND_QUEUE";
    case CL_INVALID_MEM_OBJECT: return "CL_INVALID_MEM_OBJECT";
    case CL_INVALID_BINARY: return "CL_INVALID_BINARY";
    case CL_INVALID_BUILD_OPTIONS: return "CL_INVALID_BUILD_OPTIONS";
    case CL_INVALID_PROGRAM_EXECUTABLE: return "CL_INVALID_PROGRAM_EXECUTABLE";
    case CL_INVALID_KERNEL_NAME: return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_KERNEL_ARGS: return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_ARG_SIZE: return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_ARG_VALUE: return "CL_INVALID_ARG_VALUE";
    case CL_INVALID_WORK_GROUP_SIZE: return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_WORK_ITEM_SIZE: return "CL_INVALID_WORK_ITEM_SIZE";
    case CL_INVALID_BUFFER_SIZE: return "CL_INVALID_BUFFER_SIZE";
    case CL_INVALID_GLOBAL_WORK_SIZE: return "CL_INVALID_GLOBAL_WORK_SIZE";
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "an OpenCL error";
    }
}

// The code by name, what was asked for, and what to do about it.
[[gnu::cold, gnu::noinline]] inline error opencl_error(cl_int code, std::string const& what) {
    bool const memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                        code == CL_INVALID_BUFFER_SIZE;
    std::string text = what + ": " + opencl_code_name(code) + " (" + std::to_string(code) + ')';
    if (memory || code == CL_OUT_OF_RESOURCES) text += "; free device memory or multiply in smaller blocks";
    return error(memory ? errc::memory : errc::native, "opencl", text.c_str(), code);
}

// One reference to an OpenCL object, given back at the end.
template <class Object, cl_int(CL_API_CALL* Retain)(Object), cl_int(CL_API_CALL* Release)(Object)>
class opencl_reference {
public:
    opencl_reference() = default;
    explicit opencl_reference(Object owned) : object_(owned) {}
    static opencl_reference to(Object shared) {
        if (shared) Retain(shared);
        return opencl_reference(shared);
    }
    opencl_reference(opencl_reference const& other) : opencl_reference(to(other.object_)) {}
    opencl_reference(opencl_reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    opencl_reference& operator=(opencl_reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~opencl_reference() {
        if (object_) Release(object_);
    }
    Object get() const { return object_; }

private:
    Object object_ = nullptr;
};
using opencl_context = opencl_reference<cl_context, clRetainContext, clReleaseContext>;
using opencl_command_queue = opencl_reference<cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue>;
using opencl_event = opencl_reference<cl_event, clRetainEvent, clReleaseEvent>;
using opencl_program = opencl_reference<cl_program, clRetainProgram, clReleaseProgram>;
using opencl_kernel = opencl_reference<cl_kernel, clRetainKernel, clReleaseKernel>;
using opencl_buffer = opencl_reference<cl_mem, clRetainMemObject, clReleaseMemObject>;

STRATAGEMM_END
