// An OpenCL device by one of its queues; operands are buffers. Time is that of the host's clock until the
// queue is empty.
#include "opencl_machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

void check(cl_int code, char const* what) {
    if (code != CL_SUCCESS) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(code));
}

class opencl_machine final : public device_machine {
public:
    opencl_machine(cl_command_queue queue, facts about)
        : device_machine(50e-3, 1L << 30), queue_(queue), about_(std::move(about)) {
        cl_device_id device = nullptr;
        cl_device_type type = 0;
        check(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context_, &context_, nullptr),
              "the queue");
        check(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr), "the queue");
        check(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr), "the device");
        rotates_ = type != CL_DEVICE_TYPE_CPU;
    }

    facts about(std::vector<int> const&) override { return about_; }

    memory allocate(long bytes) override {
        cl_int code = 0;
        cl_mem const p =
            clCreateBuffer(context_, CL_MEM_READ_WRITE, std::size_t(std::max(bytes, 1L)), nullptr, &code);
        check(code, "clCreateBuffer");
        return {p, [](void* q) { clReleaseMemObject(static_cast<cl_mem>(q)); }};
    }
    void upload(void* to, long at, void const* from, long bytes) override {
        check(clEnqueueWriteBuffer(queue_, static_cast<cl_mem>(to), CL_TRUE, std::size_t(at),
                                   std::size_t(bytes), from, 0, nullptr, nullptr),
              "clEnqueueWriteBuffer");
    }
    void download(void* to, void const* from, long at, long bytes) override {
        check(clEnqueueReadBuffer(queue_, static_cast<cl_mem>(const_cast<void*>(from)), CL_TRUE,
                                  std::size_t(at), std::size_t(bytes), to, 0, nullptr, nullptr),
              "clEnqueueReadBuffer");
    }

    // So many that none is in the cache from the run before; on a CPU as for the host's policies.
    long sets(double bytes) const override {
        return rotates_ ? std::clamp(long(0x1p27 / std::max(bytes, 1.0)) + 1, 1L, 64L) : 1;
    }

private:
    void synchronize() override { check(clFinish(queue_), "clFinish"); }

    cl_command_queue queue_;
    cl_context context_ = nullptr;
    bool rotates_ = false;
    facts about_;
};

} // namespace

std::unique_ptr<machine> make_opencl_machine(cl_command_queue queue, facts about) {
    return std::make_unique<opencl_machine>(queue, std::move(about));
}

} // namespace bench
