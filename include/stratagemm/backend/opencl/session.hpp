// A queue and what belongs to it: device, context, compiled kernels. Policies and matrices share it.
#pragma once

#include "../../device/build_once.hpp"
#include "../../device/dialect_source.hpp"
#include "../../device/dump.hpp"
#include "../../device/program_store.hpp"
#include "../../device/transfer.hpp"
#include "../../device/tuning.hpp"
#include "configuration.hpp"
#include "kernels/tiled.cl.hpp"
#include "memory.hpp"

#include <array>

STRATAGEMM_BEGIN

enum class opencl_operation { direct, narrow, small, tiled, gather };

// What a compiled kernel is found by, unless it is in the dialect.
struct opencl_kernel_key {
    opencl_operation operation{};
    std::array<char, 4> types{}; // letters of what goes in and of what comes out; of A and B, if they differ
    opencl_tile tile{};
    opencl_form form{};
    std::string text{};                    // of the epilogue, empty for none
    std::array<std::ptrdiff_t, 3> sides{}; // where it is compiled for them

    friend bool operator==(opencl_kernel_key const&, opencl_kernel_key const&) = default;
    friend auto operator<=>(opencl_kernel_key const&, opencl_kernel_key const&) = default;
};

// A program of one kernel, before it is compiled.
struct opencl_source {
    char const* kernel; // its name
    std::string text;
    bool uses_double = false;
    std::string tables{}; // bytes for the last argument of the kernel; empty for none
};

struct opencl_compiled {
    opencl_program program;
    opencl_kernel kernel;
    opencl_buffer tables; // of the source, made with the kernel and never written again
    std::unique_ptr<std::mutex> setting = std::make_unique<std::mutex>(); // a kernel holds its arguments
};

// Arguments of a kernel, in order.
class opencl_call {
public:
    explicit opencl_call(cl_kernel kernel) : kernel_(kernel) {}
    template <class... Arguments>
    void operator()(Arguments const&... arguments) {
        (set(arguments), ...);
    }
    cl_int code() const { return code_; }

private:
    template <class T>
    void set(opencl_pointer<T> const& p) {
        (*this)(p.buffer, cl_long{p.offset});
    }
    template <class State>
    void set(kernel_epilogue<State> const& e) {
        e.pass(*this);
    }
    template <class T>
    void set(T const& argument) {
        cl_int const code = clSetKernelArg(kernel_, next_++, sizeof(argument), &argument);
        if (code != CL_SUCCESS) code_ = code;
    }
    cl_kernel kernel_;
    cl_uint next_ = 0;
    cl_int code_ = CL_SUCCESS;
};

struct opencl_grid {
    std::array<std::size_t, 3> groups, items; // items in a group
};

class opencl_session {
public:
    explicit opencl_session(opencl_device const& device) : device_(device) {
        cl_int code = CL_SUCCESS;
        context_ = opencl_context(clCreateContext(nullptr, 1, &device.id, nullptr, nullptr, &code));
        if (code != CL_SUCCESS) {
            fail(code, "clCreateContext on " + device.name);
            return;
        }
        queue_ = opencl_command_queue(clCreateCommandQueue(context_.get(), device.id, 0, &code));
        if (code != CL_SUCCESS) fail(code, "clCreateCommandQueue on " + device.name);
    }
    explicit opencl_session(cl_command_queue queue) {
        cl_context context = nullptr;
        cl_device_id device = nullptr;
        cl_command_queue_properties properties = 0;
        cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, nullptr);
        if (code == CL_SUCCESS)
            code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr);
        if (code == CL_SUCCESS)
            code =
                clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, nullptr);
        if (code != CL_SUCCESS) {
            fail(code, "the queue that was given cannot be used");
            return;
        }
        queue_ = opencl_command_queue::to(queue);
        context_ = opencl_context::to(context);
        device_ = describe_device(device);
        in_order_ = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
        shared_ = std::make_shared<shared_by_queues>(target());
    }
    explicit opencl_session(error fault) : fault_(std::move(fault)) {}

    // Whether there is a device behind it.
    status ready() const {
        if (fault_) return *fault_;
        return {};
    }
    opencl_device const& device() const { return device_; }
    cl_context context() const { return context_.get(); }
    cl_command_queue queue() const { return queue_.get(); }

    // Another queue of the device and context, in order, with the same kernels.
    result<std::shared_ptr<opencl_session>> fork() const {
        if (fault_) return *fault_;
        cl_int code = CL_SUCCESS;
        opencl_command_queue made(clCreateCommandQueue(context(), device_.id, 0, &code));
        if (code != CL_SUCCESS) return opencl_error(code, "clCreateCommandQueue on " + device_.name);
        auto other = std::make_shared<opencl_session>(*this);
        other->queue_ = std::move(made), other->in_order_ = true;
        return result<std::shared_ptr<opencl_session>>(std::move(other));
    }

    // Compiled when it is first asked for, from the source that make() gives.
    template <class Key = opencl_kernel_key, class Make>
    result<opencl_compiled*> kernel(Key const& key, Make&& make) {
        if (fault_) return *fault_;
        return shared_->kernels.get(key, [&]() { return compile(make()); });
    }

    // Queues a kernel. set(call) gives its arguments.
    template <class Set>
    status launch(opencl_compiled& compiled, opencl_grid const& grid, Set&& set) {
        std::array<std::size_t, 3> items;
        for (std::size_t d = 0; d < 3; ++d) items[d] = grid.groups[d] * grid.items[d];
        std::lock_guard const lock(*compiled.setting);
        opencl_call call(compiled.kernel.get());
        set(call);
        if (compiled.tables.get()) call(compiled.tables.get());
        if (call.code() != CL_SUCCESS) return opencl_error(call.code(), "clSetKernelArg");
        if (status s = keep_order(); !s) return s;
        cl_int const code = clEnqueueNDRangeKernel(queue(), compiled.kernel.get(), 3, nullptr, items.data(),
                                                   grid.items.data(), 0, nullptr, nullptr);
        if (code != CL_SUCCESS) return opencl_error(code, "clEnqueueNDRangeKernel on " + device_.name);
        return {};
    }

    // What is queued next waits for all that was queued before.
    status keep_order() const {
        if (in_order_) return {};
        cl_int const code = clEnqueueBarrierWithWaitList(queue(), 0, nullptr, nullptr);
        if (code != CL_SUCCESS) return opencl_error(code, "clEnqueueBarrierWithWaitList");
        return {};
    }

    // Buffers of another context may not be used on this queue.
    template <class... Buffer>
    status check_buffers(Buffer... buffers) const {
        if (fault_) return *fault_;
        auto foreign = [&](cl_mem buffer) {
            cl_context owner = nullptr;
            return clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof(owner), &owner, nullptr) != CL_SUCCESS ||
                   owner != context();
        };
        if ((foreign(buffers) || ...))
            return error(errc::argument,
                         "opencl: CL_INVALID_CONTEXT: an operand is in a buffer of another context than the "
                         "queue's; make "
                         "matrices and policy from one queue",
                         CL_INVALID_CONTEXT);
        return {};
    }

    result<cl_mem> allocate(std::size_t bytes, cl_mem_flags flags = 0) const {
        if (fault_) return *fault_;
        cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        cl_mem const buffer =
            device_.buffer_bytes > 0 && bytes > device_.buffer_bytes
                ? nullptr
                : clCreateBuffer(context(), CL_MEM_READ_WRITE | flags, bytes ? bytes : 1, nullptr, &code);
        if (code != CL_SUCCESS)
            return opencl_error(code,
                                "clCreateBuffer of " + std::to_string(bytes) + " bytes on " + device_.name);
        return buffer;
    }

    // The device and its driver.
    std::string target() const {
        return device_.name + '\n' + device_.driver + '\n' + device_.version + '\n' + device_.platform_name;
    }
    tuning_store<opencl_tile>& tuning() { return shared_->tuning; }
    transfer_pool<opencl_event>& transfers() { return shared_->transfers; }

    status synchronize() const {
        if (fault_) return *fault_;
        if (cl_int const code = clFinish(queue()); code != CL_SUCCESS) return opencl_error(code, "clFinish");
        return {};
    }

private:
    void fail(cl_int code, std::string const& what) { fault_ = opencl_error(code, what); }

    result<opencl_compiled> compile(opencl_source const& source) const {
        if (source.uses_double && !device_.has_double)
            return error(errc::unsupported, "opencl",
                         (device_.name + " has no double precision; use float").c_str());
        program_key const key{
            target(), source.uses_double ? "-cl-std=CL1.2" : "-cl-std=CL1.2 -cl-single-precision-constant",
            source.text};
        dump_program(key, source.kernel, ".cl", source.text);
        if (auto const binary = cache_.load(key)) {
            opencl_compiled cached;
            if (build(cached, from_binary(*binary), key, source).operator bool())
                return result<opencl_compiled>(std::move(cached));
        }
        opencl_compiled compiled;
        char const* text = source.text.c_str();
        cl_int code = CL_SUCCESS;
        opencl_program program(clCreateProgramWithSource(context(), 1, &text, nullptr, &code));
        if (code != CL_SUCCESS) return opencl_error(code, "clCreateProgramWithSource");
        if (status s = build(compiled, std::move(program), key, source); !s)
            return result<opencl_compiled>(std::move(s));
        if (!cache_.directory().empty() || dump_folder()) { // asking for it may mean compiling once more
            std::string const binary = binary_of(compiled.program.get());
            dump_program(key, source.kernel, ".bin", binary);
            if (!binary.empty()) cache_.store(key, binary);
        }
        return result<opencl_compiled>(std::move(compiled));
    }

    status build(opencl_compiled& to, opencl_program program, program_key const& key,
                 opencl_source const& source) const {
        if (!program.get()) return error(errc::native, "opencl: no program");
        cl_int code = clBuildProgram(program.get(), 1, &device_.id, key.options.c_str(), nullptr, nullptr);
        if (code != CL_SUCCESS) {
            std::size_t bytes = 0;
            (void)clGetProgramBuildInfo(program.get(), device_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
            std::string log(bytes, '\0');
            (void)clGetProgramBuildInfo(program.get(), device_.id, CL_PROGRAM_BUILD_LOG, bytes, log.data(),
                                        nullptr);
            log = log.c_str();
            return opencl_error(code, std::string("the kernel '") + source.kernel + "' did not build on " +
                                          device_.name +
                                          " (STRATAGEMM_DUMP=FOLDER writes its source); the log:\n" + log);
        }
        to.kernel = opencl_kernel(clCreateKernel(program.get(), source.kernel, &code));
        if (code != CL_SUCCESS)
            return opencl_error(code, std::string("clCreateKernel '") + source.kernel + '\'');
        to.program = std::move(program);
        return source.tables.empty() ? status() : put_tables(to, source.tables);
    }
    // Filled when it is made, so that every queue of the context may read it at once.
    status put_tables(opencl_compiled& to, std::string const& bytes) const {
        cl_int code = CL_SUCCESS;
        to.tables = opencl_buffer(clCreateBuffer(context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                                 bytes.size(), const_cast<char*>(bytes.data()), &code));
        if (code != CL_SUCCESS)
            return opencl_error(code, "clCreateBuffer of " + std::to_string(bytes.size()) + " bytes on " +
                                          device_.name);
        return {};
    }

    opencl_program from_binary(std::string const& binary) const {
        auto const* bytes = reinterpret_cast<unsigned char const*>(binary.data());
        std::size_t const size = binary.size();
        cl_int loaded = CL_SUCCESS, code = CL_SUCCESS;
        opencl_program program(
            clCreateProgramWithBinary(context(), 1, &device_.id, &size, &bytes, &loaded, &code));
        return code == CL_SUCCESS && loaded == CL_SUCCESS ? std::move(program) : opencl_program();
    }

    // The binary for this device. A caller's context may have several, and a program then one binary for each.
    std::string binary_of(cl_program program) const {
        cl_uint count = 0;
        (void)clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, nullptr);
        std::vector<cl_device_id> devices(count);
        std::vector<std::size_t> sizes(count);
        if (count == 0 ||
            clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(),
                             nullptr) ||
            clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(std::size_t), sizes.data(),
                             nullptr))
            return {};
        std::string binary;
        std::vector<std::string> others(count);
        std::vector<unsigned char*> places(count);
        for (cl_uint i = 0; i < count; ++i) {
            std::string& to = devices[i] == device_.id ? binary : others[i];
            to.resize(sizes[i]);
            places[i] = reinterpret_cast<unsigned char*>(to.data());
        }
        if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*), places.data(),
                             nullptr))
            return {};
        return binary;
    }

    opencl_device device_;
    opencl_context context_;
    opencl_command_queue queue_;
    bool in_order_ = true;
    std::optional<error> fault_;
    program_store cache_ = program_store::standard();

    struct shared_by_queues {
        explicit shared_by_queues(std::string target)
            : tuning(program_store::standard(), std::move(target), opencl_tiled_text) {}
        tuning_store<opencl_tile> tuning;
        build_once_by<opencl_compiled, opencl_kernel_key, dialect_key> kernels;
        transfer_pool<opencl_event> transfers;
    };
    std::shared_ptr<shared_by_queues> shared_ = std::make_shared<shared_by_queues>(target());
};

STRATAGEMM_END
