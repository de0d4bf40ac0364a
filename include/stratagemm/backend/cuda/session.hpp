// A device at work: its context, compiled kernels and memory. Policies and matrices of one device share it.
#pragma once

#include "../../device/build_once.hpp"
#include "../../device/dialect_source.hpp"
#include "../../device/dump.hpp"
#include "../../device/program_store.hpp"
#include "../../device/transfer.hpp"
#include "../../device/tuning.hpp"
#include "../../device/warpgroups.hpp"
#include "compiler.hpp"
#include "engines.hpp"
#include "launch.hpp"
#include "lines.hpp"
#include "memory.hpp"

#include <array>
#include <unordered_map>

STRATAGEMM_BEGIN

enum class cuda_operation { product, gather, pack };

// The key of a compiled kernel, unless the kernel is in the dialect.
struct cuda_kernel_key {
    cuda_operation operation{};
    // Letters of the types of the operands and of C; and of A and B, if these are narrower.
    std::array<char, 4> types{};
    cuda_configuration tile{};
    cuda_form form{};
    std::string text{}; // of the epilogue, empty for none
    int slices = 0;     // of the kernel that adds up sums of parts

    friend bool operator==(cuda_kernel_key const&, cuda_kernel_key const&) = default;
    friend auto operator<=>(cuda_kernel_key const&, cuda_kernel_key const&) = default;
};

class cuda_session {
public:
    // The device's primary context is current while one of these lives, as the runtime's would be.
    class context_scope {
    public:
        explicit context_scope(CUcontext context) {
            CUcontext current = nullptr;
            pushed_ = driver().cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != context;
            if (pushed_) (void)driver().cuCtxPushCurrent(context);
        }
        context_scope(context_scope const&) = delete;
        context_scope& operator=(context_scope const&) = delete;
        ~context_scope() {
            CUcontext popped = nullptr;
            if (pushed_) (void)driver().cuCtxPopCurrent(&popped);
        }

    private:
        bool pushed_;
    };

    static constexpr std::size_t most_devices = 64;

    // The session of a device, made by the first call. The session is never destroyed: drivers may be gone when
    // destructors of globals run.
    static cuda_session& of(int ordinal) {
        static std::array<std::atomic<cuda_session*>, most_devices> sessions{};
        static std::mutex making;
        static auto* const none = new cuda_session(-1);
        if (ordinal < 0 || ordinal >= int{most_devices}) return *none;
        auto& slot = sessions[static_cast<std::size_t>(ordinal)];
        if (cuda_session* const made = slot.load(std::memory_order_acquire)) return *made;
        std::lock_guard const lock(making);
        if (!slot.load(std::memory_order_relaxed))
            slot.store(new cuda_session(ordinal), std::memory_order_release);
        return *slot.load(std::memory_order_relaxed);
    }

    // Whether the session has a device.
    status ready() const {
        if (fault_) return *fault_;
        return {};
    }
    cuda_device const& device() const { return device_; }
    context_scope enter() const { return context_scope(context_); }
    CUcontext context() const { return context_; }

    // Whether this device reads the memory of another one itself. The first question lets it: memory of the other's pool,
    // and what the program allocated there.
    bool reaches(cuda_session& other) {
        if (fault_ || other.fault_) return false;
        if (this == &other) return true;
        std::lock_guard const lock(reaching_);
        auto& known = reached_[static_cast<std::size_t>(other.device_.ordinal)];
        if (known == answer::none) known = reach(other) ? answer::yes : answer::no;
        return known == answer::yes;
    }
    // Bytes a second from the memory of another device to this one's. Links that do atomic operations are NVLink; others
    // are as fast as the way to the host.
    double link_from(cuda_session& other) {
        cuda_rates const rates = cuda_rates_of(device_.capability);
        if (this == &other) return rates.memory / 2 * device_.units; // which it reads and writes
        if (!reaches(other)) return rates.host / 2;                  // down, then up
        int is_nvlink = 0;
        (void)driver().cuDeviceGetP2PAttribute(&is_nvlink, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                               handle(), other.handle());
        return is_nvlink ? rates.nvlink : rates.host;
    }

    // The tile that tuning found for products of that size; no tile if there was no tuning.
    cuda_configuration tuned_for(tuning_bucket const& b) {
        return tuning_ ? tuning_->find(b) : cuda_configuration{};
    }
    // The device and the compiler of its kernels.
    std::string target() const {
        return device_.name + ' ' + device_.architecture() + ", nvrtc " + cuda_compiler::get().version();
    }
    void keep_tuned(tuning_bucket const& b, cuda_configuration const& tile) { tuning_->keep(b, tile); }

    // The first call for a key compiles the kernel, from the source that make() gives.
    template <class Key = cuda_kernel_key, class Make>
    result<cuda_compiled*> kernel(Key const& key, Make&& make) {
        if (fault_) return *fault_;
        return kernels_.get(key, [&]() { return compile(make()); });
    }

    // Queues a kernel.
    template <class... Arguments>
    status launch(CUstream stream, cuda_compiled const& compiled, cuda_grid const& grid,
                  Arguments const&... arguments) const {
        void const* places[] = {&arguments...};
        return launch_at(stream, compiled, grid, places);
    }
    // Queues a kernel with the addresses of its arguments.
    status launch_at(CUstream stream, cuda_compiled const& compiled, cuda_grid const& grid,
                     void const** places) const {
        context_scope const in(context_);
        CUlaunchConfig config{};
        config.gridDimX = grid.blocks, config.gridDimY = 1, config.gridDimZ = 1;
        config.blockDimX = grid.threads, config.blockDimY = 1, config.blockDimZ = 1;
        config.sharedMemBytes = compiled.shared_bytes;
        if (grid.each > 0) {
            // If blocks of the previous kernel still run, the next blocks go where room is first: several to one
            // multiprocessor, while others have none. More shared memory than the blocks need keeps them apart.
            std::size_t const share = (device_.shared_bytes + 1024) / (grid.each + 1) / 128 * 128;
            if (share > config.sharedMemBytes + compiled.fixed_bytes + 1024)
                config.sharedMemBytes = static_cast<unsigned>(share - 896 - compiled.fixed_bytes);
        }
        config.hStream = stream;
        CUlaunchAttribute attributes[2] = {};
        config.attrs = attributes;
        // Drivers before 12.3 cannot capture this attribute.
        if (grid.overlaps && device_.capability >= 90 && device_.driver >= 12030) {
            attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
        }
        if (grid.cluster > 1) {
            attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            auto& sides = attributes[config.numAttrs++].value.clusterDim;
            sides.x = grid.cluster, sides.y = 1, sides.z = 1;
        }
        CUresult const code =
            driver().cuLaunchKernelEx(&config, compiled.function, const_cast<void**>(places), nullptr);
        if (code != CUDA_SUCCESS) return cuda_error(code, "a launch on " + device_.title());
        return {};
    }

    // Whether the device may follow a pointer. This check is slow and runs on request only.
    status check_pointer(void const* p) const {
        if (fault_) return *fault_;
        context_scope const in(context_);
        origin const o(p);
        if (o.code != CUDA_SUCCESS) return cuda_error(o.code, "cuPointerGetAttributes");
        if (o.kind != CU_MEMORYTYPE_DEVICE)
            return error(errc::argument,
                         "cuda: CUDA_ERROR_INVALID_VALUE: an operand is in memory of the host; copy it to "
                         "the device, as "
                         "sg::cuda::matrix does",
                         CUDA_ERROR_INVALID_VALUE);
        if (o.ordinal != device_.ordinal)
            return error(
                errc::argument,
                "cuda: CUDA_ERROR_INVALID_VALUE: an operand is on another device; copy it, or name that "
                "device in the policy",
                CUDA_ERROR_INVALID_VALUE);
        return {};
    }

    // How the hardware fetches boxes of a matrix, or stores them: `along` elements of a line, and `lines` lines. Swizzled
    // lines have 32, 64 or 128 bytes.
    template <class T>
    status map_of(CUtensorMap& map, cuda_lines<T> const& l, index_t along, index_t lines,
                  bool swizzled) const {
        constexpr CUtensorMapDataType type = sizeof(T) == 8   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
                                             : sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                             : sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                              : CU_TENSOR_MAP_DATA_TYPE_UINT8;
        auto const number = [](index_t x) { return static_cast<cuuint64_t>(x); };
        auto const bytes = [&](index_t x) { return number(x) * sizeof(T); };
        // One matrix that is repeated is a batch of one; kernels then ask for the first.
        bool const batch = l.count > 1 && l.step > 0;
        cuuint64_t const sides[3] = {number(l.length), number(l.lines), batch ? number(l.count) : 1};
        cuuint64_t const strides[2] = {bytes(l.stride), batch ? bytes(l.step) : bytes(l.stride)};
        cuuint32_t const box[3] = {static_cast<cuuint32_t>(along), static_cast<cuuint32_t>(lines), 1},
                         every[3] = {1, 1, 1};
        // How much is brought to the cache at once. A line of 128 bytes that does not begin at a multiple of 128 should
        // not bring four times as much: with 256 at once, products of 1000 take an eighth longer.
        auto const fetched = swizzled && sizeof(T) < 8 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                                       : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
        auto const swizzle = !swizzled             ? CU_TENSOR_MAP_SWIZZLE_NONE
                             : bytes(along) == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                             : bytes(along) == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                                                   : CU_TENSOR_MAP_SWIZZLE_32B;
        context_scope const in(context_);
        CUresult const code = driver().cuTensorMapEncodeTiled(
            &map, type, 3, const_cast<T*>(l.data), sides, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle, fetched, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        if (code != CUDA_SUCCESS) return cuda_error(code, "cuTensorMapEncodeTiled");
        return {};
    }

    // Memory in the order of the stream: after free(), others have the memory once all work queued before is done.
    result<void*> allocate(CUstream stream, std::size_t bytes) {
        if (fault_) return *fault_;
        context_scope const in(context_);
        CUdeviceptr address = 0;
        CUresult code = driver().cuMemAllocFromPoolAsync(&address, bytes ? bytes : 1, pool_, stream);
        if (code == CUDA_ERROR_OUT_OF_MEMORY && driver().cuMemPoolTrimTo(pool_, 0) == CUDA_SUCCESS)
            code = driver().cuMemAllocFromPoolAsync(&address, bytes ? bytes : 1, pool_, stream);
        if (code != CUDA_SUCCESS)
            return cuda_error(code, std::to_string(bytes) + " bytes on " + device_.title());
        return reinterpret_cast<void*>(address);
    }
    // What stays in the pool when the host waits; the driver takes back what is more.
    std::size_t kept_bytes() const { return device_.global_bytes / 16; }
    void free(CUstream stream, void* p) const {
        context_scope const in(context_);
        (void)driver().cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(p), stream);
    }

    // Whether the device reads host memory itself.
    bool is_pinned(void const* p) const {
        if (fault_) return false;
        context_scope const in(context_);
        origin const o(p);
        return o.code == CUDA_SUCCESS && o.kind == CU_MEMORYTYPE_HOST;
    }
    transfer_pool<cuda_event>& transfers() { return transfers_; }

    status synchronize(CUstream stream) const {
        if (fault_) return *fault_;
        context_scope const in(context_);
        if (CUresult const code = driver().cuStreamSynchronize(stream); code != CUDA_SUCCESS)
            return cuda_error(code, "cuStreamSynchronize on " + device_.title());
        return {};
    }

private:
    explicit cuda_session(int ordinal) {
        if (!driver().missing.empty()) {
            fault_ = error(errc::unsupported, "cuda", driver().missing.c_str());
            return;
        }
        int const count = count_cuda_devices();
        if (ordinal < 0 || ordinal >= count) {
            fault_ = error(errc::unsupported, "cuda",
                           ("CUDA_ERROR_INVALID_DEVICE: there is no such device; they are numbered from 0, "
                            "and there are " +
                            std::to_string(count))
                               .c_str(),
                           CUDA_ERROR_INVALID_DEVICE);
            return;
        }
        device_ = describe_cuda_device(ordinal);
        if (device_.capability < 75) {
            fault_ = error(
                errc::unsupported, "cuda",
                (device_.title() + " is of an architecture before sm_75; use sg::opencl there").c_str());
            return;
        }
        // The tuning comes before the context and the pool: nothing would give these back if there were no memory for
        // the tuning.
        tuning_.emplace(program_store::standard(), target(), kernels_of_tuning());
        if (CUresult const code = driver().cuDevicePrimaryCtxRetain(&context_, handle());
            code != CUDA_SUCCESS) {
            fault_ = cuda_error(code, "the context of " + device_.title());
            return;
        }
        make_pool();
    }

    // The kernels of the tiles that tuning may keep: if they change, tiles are looked for anew. 2: their engines are
    // known by their places in the list.
    static std::string kernels_of_tuning() {
        std::string text = std::string("2") + cuda_elements_text + cuda_numbers_text + cuda_product_text +
                           fetches_text + wgmma_text + cuda_pipeline_text + cuda_shared_text +
                           cuda_rows_text + cuda_copies_text;
        cuda_configuration::for_each([&]<class Engine>(Engine const&) {
            if constexpr (has_tiles<Engine>) text += Engine::text;
        });
        return text;
    }

    // A private pool, which does not change the settings of the device's pool, since these belong to the program. Some
    // device memory stays in the pool from one product to the next.
    void make_pool() {
        context_scope const in(context_);
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = device_.ordinal;
        if (CUresult const code = driver().cuMemPoolCreate(&pool_, &properties); code != CUDA_SUCCESS) {
            fault_ = cuda_error(code, "a pool of memory on " + device_.title());
            return;
        }
        cuuint64_t kept = kept_bytes();
        (void)driver().cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
    }

    result<cuda_compiled> compile(cuda_source const& source) const {
        std::string const architecture = device_.architecture();
        program_key const key{"nvrtc " + cuda_compiler::get().version(), architecture, source.text};
        dump_program(key, source.kernel, ".cu", source.text);
        if (auto const binary = cache_.load(key)) {
            auto cached = load(*binary, source);
            if (cached) return cached;
        }
        auto made = cuda_compiler::get().compile(source.text, source.kernel, architecture, source.exact);
        if (!made) return made.take_status();
        dump_program(key, source.kernel, ".cubin", made->code);
        cache_.store(key, made->code);
        return load(made->code, source);
    }
    result<cuda_compiled> load(std::string const& binary, cuda_source const& source) const {
        context_scope const in(context_);
        CUmodule module = nullptr;
        cuda_compiled made;
        CUresult code = driver().cuModuleLoadData(&module, binary.c_str());
        if (code == CUDA_SUCCESS) code = driver().cuModuleGetFunction(&made.function, module, source.kernel);
        int fixed = 0;
        if (code == CUDA_SUCCESS)
            code = driver().cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, made.function);
        made.fixed_bytes = static_cast<unsigned>(fixed);
        std::size_t most = source.shared_bytes;
        if (std::size_t const apart = device_.shared_bytes / 2 + 1024; apart > most + made.fixed_bytes)
            most = apart - made.fixed_bytes; // as launch_at() may ask for
        if (code == CUDA_SUCCESS)
            code = driver().cuFuncSetAttribute(made.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(most));
        if (code == CUDA_SUCCESS && source.threads > 0)
            code = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&made.resident, made.function,
                                                                        source.threads, source.shared_bytes);
        if (code != CUDA_SUCCESS)
            return cuda_error(code, std::string("the kernel '") + source.kernel + "' on " + device_.title());
        made.shared_bytes = static_cast<unsigned>(source.shared_bytes);
        return made;
    }

    // Where memory is, as the driver knows. The kind stays 0 for memory that the driver has not allocated.
    struct origin {
        unsigned kind = 0;
        int ordinal = 0;
        CUresult code;
        explicit origin(void const* p) {
            CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                          CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
            void* answers[] = {&kind, &ordinal};
            code = driver().cuPointerGetAttributes(2, what, answers, reinterpret_cast<CUdeviceptr>(p));
        }
    };
    static cuda_driver const& driver() { return cuda_driver::get(); }

    CUdevice handle() const {
        CUdevice id = 0;
        (void)driver().cuDeviceGet(&id, device_.ordinal);
        return id;
    }
    bool reach(cuda_session& other) const {
        int can = 0;
        if (driver().cuDeviceCanAccessPeer(&can, handle(), other.handle()) != CUDA_SUCCESS || can == 0)
            return false;
        context_scope const in(context_);
        CUresult const code = driver().cuCtxEnablePeerAccess(other.context_, 0);
        if (code != CUDA_SUCCESS && code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return false;
        CUmemAccessDesc here{}; // access to a pool is a matter of its own
        here.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        here.location.id = device_.ordinal;
        here.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        return driver().cuMemPoolSetAccess(other.pool_, &here, 1) == CUDA_SUCCESS;
    }

    cuda_device device_;
    CUcontext context_ = nullptr;
    CUmemoryPool pool_ = nullptr;
    std::optional<error> fault_;
    program_store cache_ = program_store::standard();
    build_once_by<cuda_compiled, cuda_kernel_key, dialect_key> kernels_;
    std::optional<tuning_store<cuda_configuration>> tuning_;
    transfer_pool<cuda_event> transfers_;
    std::mutex reaching_;
    enum class answer : char { none, yes, no };
    std::array<answer, most_devices> reached_{}; // other devices
};

// Memory that frees itself in the order of the stream that allocated it. An arena knows the address of its memory only,
// so this class keeps the rest.
class cuda_allocations {
public:
    static void keep(void* address, cuda_session& session, CUstream stream) {
        auto& all = get();
        std::lock_guard const lock(all.mutex_);
        owner const whose{&session, stream};
        // Not by operator[], for the reason that device/tuning.hpp gives.
        if (auto const [at, fresh] = all.owners_.emplace(address, whose); !fresh) at->second = whose;
    }
    static void release(cuda_pointer<std::byte> p, std::size_t) {
        auto& all = get();
        owner o{};
        {
            std::lock_guard const lock(all.mutex_);
            auto const found = all.owners_.find(p.address);
            o = found->second;
            all.owners_.erase(found);
        }
        o.session->free(o.stream, p.address);
    }

private:
    struct owner {
        cuda_session* session;
        CUstream stream;
    };
    static cuda_allocations& get() {
        static auto* const one = new cuda_allocations;
        return *one;
    }
    std::mutex mutex_;
    std::unordered_map<void const*, owner> owners_;
};

STRATAGEMM_END
