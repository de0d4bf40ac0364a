// A program of its own, since it replaces operator new.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "failing_new.hpp"

#include <stratagemm/backend/opencl/api.hpp>

// What the driver allocates itself, its compiler above all, is not ours to fail.
#define clBuildProgram(...) (failing::unarmed(), clBuildProgram(__VA_ARGS__))
#define clCreateBuffer(...) (failing::unarmed(), clCreateBuffer(__VA_ARGS__))
#define clCreateCommandQueue(...) (failing::unarmed(), clCreateCommandQueue(__VA_ARGS__))
#define clCreateContext(...) (failing::unarmed(), clCreateContext(__VA_ARGS__))
#define clCreateKernel(...) (failing::unarmed(), clCreateKernel(__VA_ARGS__))
#define clCreateProgramWithBinary(...) (failing::unarmed(), clCreateProgramWithBinary(__VA_ARGS__))
#define clCreateProgramWithSource(...) (failing::unarmed(), clCreateProgramWithSource(__VA_ARGS__))
#define clEnqueueBarrierWithWaitList(...) (failing::unarmed(), clEnqueueBarrierWithWaitList(__VA_ARGS__))
#define clEnqueueMapBuffer(...) (failing::unarmed(), clEnqueueMapBuffer(__VA_ARGS__))
#define clEnqueueMarkerWithWaitList(...) (failing::unarmed(), clEnqueueMarkerWithWaitList(__VA_ARGS__))
#define clEnqueueNDRangeKernel(...) (failing::unarmed(), clEnqueueNDRangeKernel(__VA_ARGS__))
#define clEnqueueReadBuffer(...) (failing::unarmed(), clEnqueueReadBuffer(__VA_ARGS__))
#define clEnqueueReadBufferRect(...) (failing::unarmed(), clEnqueueReadBufferRect(__VA_ARGS__))
#define clEnqueueUnmapMemObject(...) (failing::unarmed(), clEnqueueUnmapMemObject(__VA_ARGS__))
#define clEnqueueWriteBuffer(...) (failing::unarmed(), clEnqueueWriteBuffer(__VA_ARGS__))
#define clEnqueueWriteBufferRect(...) (failing::unarmed(), clEnqueueWriteBufferRect(__VA_ARGS__))
#define clFinish(...) (failing::unarmed(), clFinish(__VA_ARGS__))
#define clFlush(...) (failing::unarmed(), clFlush(__VA_ARGS__))
#define clGetCommandQueueInfo(...) (failing::unarmed(), clGetCommandQueueInfo(__VA_ARGS__))
#define clGetDeviceIDs(...) (failing::unarmed(), clGetDeviceIDs(__VA_ARGS__))
#define clGetDeviceInfo(...) (failing::unarmed(), clGetDeviceInfo(__VA_ARGS__))
#define clGetMemObjectInfo(...) (failing::unarmed(), clGetMemObjectInfo(__VA_ARGS__))
#define clGetPlatformIDs(...) (failing::unarmed(), clGetPlatformIDs(__VA_ARGS__))
#define clGetProgramBuildInfo(...) (failing::unarmed(), clGetProgramBuildInfo(__VA_ARGS__))
#define clGetProgramInfo(...) (failing::unarmed(), clGetProgramInfo(__VA_ARGS__))
#define clReleaseMemObject(...) (failing::unarmed(), clReleaseMemObject(__VA_ARGS__))
#define clSetKernelArg(...) (failing::unarmed(), clSetKernelArg(__VA_ARGS__))
#define clWaitForEvents(...) (failing::unarmed(), clWaitForEvents(__VA_ARGS__))

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/opencl.hpp>

#include "memory.hpp"

#include <chrono>
#include <thread>

namespace sg = stratagemm;

int main() {
    if (auto const ready = sg::opencl().ready(); !ready) {
        std::printf("skipped: %s\n", ready.error().what());
        return 77;
    }
    sg::opencl const gpu;
    // Buffers, kernels, queues: each keeps the context. Threads of PoCL let go of some after clFinish.
    auto const objects = [&] {
        cl_uint least = ~cl_uint{0};
        for (int times = 0; times < 30; ++times) {
            cl_uint count = 0;
            (void)clGetContextInfo(gpu.context(), CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, nullptr);
            if (count < least) least = count;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return least;
    };
    sg::opencl_tile const tile{
        .threads_m = 2, .threads_n = 4, .micro_m = 3, .micro_n = 2, .depth = 8, .buffers = 1};
    cl_uint before = 0;
    for (bool const compiles : {true, false}) { // kernels stay
        before = objects();
        memory::try_all(gpu, gpu.with(tile, 8), compiles); // with parts of k
    }
    if (cl_uint const after = objects(); after != before) {
        std::printf("there were %u objects of OpenCL, and now %u\n", before, after);
        return 1;
    }
    return memory::verdict();
}
