// The CUDA driver's interface over this machine's CPU, for tests without a device. A call does its work at
// once: it runs one block at a time, and the threads of the block in turn. Memory is NaN until it is written,
// and ends within 256 bytes of a page that nobody may touch. (The static shared memory of a kernel is not
// reset between blocks.)
//
// STAND_IN_DEVICES says how many devices there are. Those with even and with odd numbers do not reach the memory of each
// other. STAND_IN_FULL and STAND_IN_BROKEN name a device that has no memory left, and one that takes no copies; both are
// read at each call, so that a test may set them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

// As device.hpp has it.
struct sides {
    unsigned x, y, z;
};
struct thread_state {
    sides thread, block, threads, blocks;
    char* shared;
    char* exchange;
    void (*sync)();
    void (*sync_warp)();
    void (*sync_cluster)();
    void (*let_others)();
    unsigned long waits;
    unsigned in_cluster;
    char* cluster_shared[8];
    unsigned of_cluster;
    void (*multiply)(char const* type, unsigned const (*a)[8], unsigned rows, unsigned const (*b)[8],
                     unsigned columns, double* sums);
};

struct CUctx_st {};
struct CUstream_st {
    unsigned long long number;
    int device;
    bool captures = false;
};
struct CUevent_st {};
struct CUmemPoolHandle_st {
    unsigned readers = 0; // other devices, a bit each
};
struct CUmod_st {
    void* library;
};
struct CUfunc_st {
    void (*call)(void**);
    void (*begin)(thread_state*);
    std::size_t shared_bytes = 48 << 10; // the most that a launch may ask for
};

namespace {

[[noreturn]] void stop(char const* why) {
    std::fprintf(stderr, "stand-in device: %s\n", why);
    std::abort();
}

int capability() {
    char const* const text = std::getenv("STAND_IN_CAPABILITY");
    return text ? std::atoi(text) : 75;
}

constexpr int most_devices = 8;
int device_named_by(char const* variable, int otherwise) {
    char const* const text = std::getenv(variable);
    return text ? std::atoi(text) : otherwise;
}
int devices() { return device_named_by("STAND_IN_DEVICES", 1); }

std::size_t shared_most() {
    return std::size_t{1024} * (capability() >= 90 ? 227 : capability() >= 80 ? 163 : 64);
}

// ---- what tensor cores do with words of 4 bytes, of a type by its first letters: f16, bf16, tf32, s8, e4m3, e5m2

float of_bits(unsigned x) {
    float y = 0;
    std::memcpy(&y, &x, sizeof(y));
    return y;
}
float fp8(unsigned x, int fraction_bits, int bias) {
    int const exponent = static_cast<int>((x & 0x7f) >> fraction_bits),
              fraction = static_cast<int>(x) & ((1 << fraction_bits) - 1);
    float const size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits)
                                     : std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)),
                                                  exponent - bias - fraction_bits);
    bool const special = fraction_bits == 2 ? exponent == 31 : (x & 0x7f) == 0x7f;
    float const y = !special                              ? size
                    : fraction_bits == 2 && fraction == 0 ? std::numeric_limits<float>::infinity()
                                                          : std::numeric_limits<float>::quiet_NaN();
    return x & 0x80 ? -y : y;
}
// The bits of the size, as those of a float, are its size times 2^-112; unless it is infinite or NaN.
float half(unsigned x) {
    unsigned const size = (x & 0x7fff) << 13, sign = (x & 0x8000) << 16;
    float const finite = of_bits(size) * 0x1p112f;
    unsigned bits = 0;
    std::memcpy(&bits, &finite, sizeof(bits));
    return of_bits(sign | ((x & 0x7c00) == 0x7c00 ? 0x7f800000 | size : bits));
}

template <char First, char Second>
struct tensor_core {
    static constexpr unsigned in_word = First == 't' ? 1 : First == 'f' || First == 'b' ? 2 : 4;

    static void decode(unsigned const (&words)[8], float (&to)[8 * in_word]) {
        static auto const* const eights = [] {
            static float all[256];
            for (unsigned x = 0; x < 256; ++x) all[x] = Second == '4' ? fp8(x, 3, 7) : fp8(x, 2, 15);
            return all;
        }();
        for (unsigned q = 0; q < 8; ++q)
            for (unsigned i = 0; i < in_word; ++i) {
                unsigned const x = words[q] >> (32 / in_word * i);
                to[q * in_word + i] = First == 't'   ? of_bits(x & ~0x1fffu)
                                      : First == 'f' ? half(x)
                                      : First == 'b' ? of_bits(x << 16)
                                      : First == 's' ? static_cast<float>(static_cast<std::int8_t>(x))
                                                     : eights[x & 255];
            }
    }
    static void multiply(unsigned const (*a)[8], unsigned rows, unsigned const (*b)[8], unsigned columns,
                         double* sums) {
        constexpr unsigned terms = 8 * in_word;
        static float of_b[terms][256]; // several columns are multiplied at a time
        float line[terms];
        for (unsigned j = 0; j < columns; ++j) {
            decode(b[j], line);
            for (unsigned x = 0; x < terms; ++x) of_b[x][j] = line[x];
        }
        for (unsigned i = 0; i < rows; ++i) {
            decode(a[i], line);
            double* const sum = sums + i * columns;
            for (unsigned j = 0; j < columns; ++j) sum[j] = 0;
            for (unsigned q = 0; q < terms; q += in_word)
                for (unsigned j = 0; j < columns; ++j) {
                    double of_word = 0;
                    for (unsigned x = q; x < q + in_word; ++x)
                        of_word += static_cast<double>(line[x]) * static_cast<double>(of_b[x][j]);
                    sum[j] += of_word;
                }
        }
    }
};
void multiply(char const* type, unsigned const (*a)[8], unsigned rows, unsigned const (*b)[8],
              unsigned columns, double* sums) {
    switch (type[0]) {
    case 'b': return tensor_core<'b', 'f'>::multiply(a, rows, b, columns, sums);
    case 'f': return tensor_core<'f', '1'>::multiply(a, rows, b, columns, sums);
    case 't': return tensor_core<'t', 'f'>::multiply(a, rows, b, columns, sums);
    case 's': return tensor_core<'s', '8'>::multiply(a, rows, b, columns, sums);
    default:
        return type[1] == '4' ? tensor_core<'e', '4'>::multiply(a, rows, b, columns, sums)
                              : tensor_core<'e', '5'>::multiply(a, rows, b, columns, sums);
    }
}

// ---- threads of a block: each has a stack and runs until it waits for the others

extern "C" void stand_in_switch(void** from, void* to);
asm(R"(
.text
.globl stand_in_switch
.hidden stand_in_switch
.type stand_in_switch, @function
stand_in_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size stand_in_switch, .-stand_in_switch
)");

struct barrier {
    unsigned alive = 0, arrived = 0, round = 0;
    void check() {
        if (arrived == alive) arrived = 0, ++round;
    }
};

// The blocks of a cluster; most have one.
class threads_in_turn {
public:
    static constexpr std::size_t stack_bytes = 128 << 10, shared_bytes = 256 << 10;
    static constexpr unsigned most = 4096, most_blocks = 8;

    static threads_in_turn& one() {
        static auto* const made = new threads_in_turn;
        return *made;
    }

    void run(CUfunc_st const& f, void** arguments, unsigned blocks, unsigned threads, unsigned cluster,
             std::size_t shared) {
        function_ = &f, arguments_ = arguments, threads_ = threads, count_ = threads * cluster;
        f.begin(&now_);
        now_.threads = {threads, 1, 1}, now_.blocks = {blocks, 1, 1};
        now_.sync = [] { one().wait(one().blocks_[one().current_ / one().threads_]); };
        now_.sync_warp = [] { one().wait(one().warps_[one().warp()]); };
        now_.sync_cluster = [] { one().wait(one().all_); };
        now_.let_others = [] { one().let_others(); };
        for (unsigned b = 0; b < most_blocks; ++b) now_.cluster_shared[b] = shared_[b];
        now_.of_cluster = cluster;
        now_.multiply = multiply;
        for (unsigned first = 0; first < blocks; first += cluster) {
            first_ = first;
            for (unsigned b = 0; b < cluster; ++b) std::memset(shared_[b], 0xff, shared);
            run_cluster(cluster);
        }
    }

private:
    threads_in_turn() {
        void* const p = mmap(nullptr, most * stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) stop("no memory for stacks");
        stacks_ = static_cast<char*>(p);
    }

    unsigned warps_of_block() const { return (threads_ + 31) / 32; }
    unsigned warp() const { return current_ / threads_ * warps_of_block() + current_ % threads_ / 32; }

    void run_cluster(unsigned cluster) {
        all_ = {count_, 0, 0};
        for (unsigned b = 0; b < cluster; ++b) {
            blocks_[b] = {threads_, 0, 0};
            for (unsigned w = 0; w < warps_of_block(); ++w)
                warps_[b * warps_of_block() + w] = {std::min(32u, threads_ - w * 32), 0, 0};
        }
        left_ = count_;
        for (unsigned t = 0; t < count_; ++t) {
            // The stack of a thread that was switched out just before it began: six registers, then where to
            // go on.
            auto* top = reinterpret_cast<void**>(stacks_ + (t + 1) * stack_bytes);
            *--top = nullptr; // aligns the stack as a call does
            *--top = reinterpret_cast<void*>(&begin);
            top -= 6;
            std::memset(top, 0, 6 * sizeof(void*));
            places_[t] = top, done_[t] = false;
        }
        current_ = count_ - 1;
        now_.waits = 0;
        enter_next(&home_);
    }

    [[noreturn]] static void begin() {
        threads_in_turn& b = one();
        b.function_->call(b.arguments_);
        unsigned const me = b.current_;
        b.done_[me] = true, --b.left_, b.now_.waits = 0;
        for (barrier* x : {&b.all_, &b.blocks_[me / b.threads_], &b.warps_[b.warp()]}) --x->alive, x->check();
        b.enter_next(&b.places_[me]);
        stop("a thread goes on after its end");
    }

    void wait(barrier& b) {
        unsigned const round = b.round;
        ++b.arrived, b.check();
        if (b.round != round) now_.waits = 0;
        while (b.round == round) let_others();
    }
    void let_others() {
        if (++now_.waits > 100 * count_) stop("the threads of a block wait for each other");
        enter_next(&places_[current_]);
    }

    // Switches to the next thread that has not ended, or back to run_cluster().
    void enter_next(void** from) {
        void* to = home_;
        if (left_ > 0) {
            do current_ = current_ + 1 == count_ ? 0 : current_ + 1;
            while (done_[current_]);
            now_.in_cluster = current_ / threads_;
            now_.thread = {current_ % threads_, 0, 0}, now_.block = {first_ + now_.in_cluster, 0, 0};
            now_.shared = shared_[now_.in_cluster], now_.exchange = exchange_[warp()];
            to = places_[current_];
            if (from == &places_[current_]) return;
        }
        stand_in_switch(from, to);
    }

    CUfunc_st const* function_ = nullptr;
    void** arguments_ = nullptr;
    unsigned threads_ = 0, count_ = 0, first_ = 0; // of a block, of all, and the first block
    unsigned current_ = 0, left_ = 0;
    thread_state now_{};
    void* home_ = nullptr;
    char* stacks_ = nullptr;
    void* places_[most]{};
    bool done_[most]{};
    barrier all_, blocks_[most_blocks], warps_[most];
    alignas(1024) char shared_[most_blocks][shared_bytes];
    alignas(64) char exchange_[most][32 * 64];
};

// ---- memory

struct allocation {
    std::size_t mapped;
    CUmemorytype kind;
    int device;
};
std::mutex mutex;
std::map<std::uintptr_t, allocation>& allocations() {
    static auto* const all = new std::map<std::uintptr_t, allocation>;
    return *all;
}
constexpr std::size_t page = 4096;

// Streams that have no handle are there always; others until they are destroyed.
std::set<CUstream>& streams() {
    static auto* const all = new std::set<CUstream>;
    return *all;
}
bool is_alive(CUstream s) {
    if (s == nullptr || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD) return true;
    std::lock_guard const lock(mutex);
    return streams().contains(s);
}
CUresult alive_or_not(CUstream s) { return is_alive(s) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

CUresult allocate(void** to, std::size_t bytes, CUmemorytype kind, int device) {
    std::size_t const used = (bytes + 255) / 256 * 256, pages = (used + page - 1) / page * page;
    void* const p = mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    char* const end = static_cast<char*>(p) + pages;
    mprotect(end, page, PROT_NONE);
    std::memset(p, 0xff, pages);
    *to = end - used;
    std::lock_guard const lock(mutex);
    allocations()[reinterpret_cast<std::uintptr_t>(*to)] = {pages + page, kind, device};
    return CUDA_SUCCESS;
}
CUresult release(void* p) {
    std::lock_guard const lock(mutex);
    auto const found = allocations().find(reinterpret_cast<std::uintptr_t>(p));
    if (found == allocations().end()) return CUDA_ERROR_INVALID_VALUE;
    auto const start = found->first / page * page;
    munmap(reinterpret_cast<void*>(start), found->second.mapped);
    allocations().erase(found);
    return CUDA_SUCCESS;
}

// Of each device.
CUctx_st context[most_devices];
CUmemPoolHandle_st pool[most_devices];
unsigned peers[most_devices]; // contexts that it may follow, a bit each
thread_local std::vector<CUcontext> contexts;
int device_of(CUcontext c) { return static_cast<int>(c - context); }
int current_device() { return contexts.empty() ? 0 : device_of(contexts.back()); }

// The device whose memory holds an address; -1: it is not memory of a device.
int home_of(CUdeviceptr p) {
    std::lock_guard const lock(mutex);
    auto found = allocations().upper_bound(p);
    if (found == allocations().begin()) return -1;
    --found;
    bool const within = p < found->first / page * page + found->second.mapped - page;
    return within && found->second.kind == CU_MEMORYTYPE_DEVICE ? found->second.device : -1;
}
// What is wrong with a copy or a launch on a stream, while a context is current.
CUresult check_stream(CUstream s) {
    if (!is_alive(s)) return CUDA_ERROR_INVALID_HANDLE;
    bool const is_own =
        s == nullptr || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD || s->device == current_device();
    if (!is_own) return CUDA_ERROR_INVALID_HANDLE;
    return current_device() == device_named_by("STAND_IN_BROKEN", -1) ? CUDA_ERROR_ECC_UNCORRECTABLE
                                                                      : CUDA_SUCCESS;
}
CUresult check_copy(CUstream s, CUdeviceptr p, std::size_t bytes) {
    if (CUresult const code = check_stream(s); code != CUDA_SUCCESS || bytes == 0) return code;
    return home_of(p) == current_device() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool initialized = false; // atomic; before it is set a driver gives no device

// What would break the capture of a graph, if one is captured. Launches are let through, and run at once.
int captures = 0; // streams; atomic
CUresult unless_captured() {
    return __atomic_load_n(&captures, __ATOMIC_RELAXED) > 0 ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                            : CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuInit(unsigned) {
    __atomic_store_n(&initialized, true, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, char const** name) {
    *name = code == CUDA_ERROR_OUT_OF_MEMORY       ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == CUDA_ERROR_NOT_FOUND         ? "CUDA_ERROR_NOT_FOUND"
            : code == CUDA_ERROR_ECC_UNCORRECTABLE ? "CUDA_ERROR_ECC_UNCORRECTABLE"
                                                   : "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, char const** words) {
    *words = "said by the stand-in device";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = devices();
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    if (!__atomic_load_n(&initialized, __ATOMIC_RELAXED)) return CUDA_ERROR_NOT_INITIALIZED;
    return ordinal >= 0 && ordinal < devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(length), "a CPU standing in for sm_%d", capability());
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice) {
    switch (what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability() / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability() % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 5; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = static_cast<int>(shared_most());
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 20; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
    *bytes = std::size_t{1} << 30;
    return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
    *can = from != to && from % 2 == to % 2;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice, CUdevice) {
    *value = 1;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* made, CUdevice device) {
    *made = context + device;
    return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext to, unsigned) {
    unsigned& known = peers[current_device()];
    unsigned const bit = 1u << device_of(to);
    if (known & bit) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    known |= bit;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext c) {
    if (!contexts.empty()) contexts.pop_back();
    contexts.push_back(c);
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* c) {
    *c = contexts.empty() ? nullptr : contexts.back();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    *device = current_device();
    return contexts.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext c) {
    contexts.push_back(c);
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* c) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *c = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* made, CUmemPoolProps const* properties) {
    *made = pool + properties->location.id;
    return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAccess(CUmemoryPool of, CUmemAccessDesc const* who, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) of->readers |= 1u << who[i].location.id;
    return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
CUresult cuMemPoolTrimTo(CUmemoryPool, std::size_t) { return CUDA_SUCCESS; }
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool from, CUstream on) {
    if (!is_alive(on)) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult const code = unless_captured(); code != CUDA_SUCCESS) return code;
    int const device = static_cast<int>(from - pool);
    if (bytes > std::size_t{1} << 30 || device == device_named_by("STAND_IN_FULL", -1))
        return CUDA_ERROR_OUT_OF_MEMORY;
    void* p = nullptr;
    CUresult const code = allocate(&p, bytes, CU_MEMORYTYPE_DEVICE, device);
    *address = reinterpret_cast<CUdeviceptr>(p);
    return code;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on) {
    return is_alive(on) ? release(reinterpret_cast<void*>(address)) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuMemHostAlloc(void** p, std::size_t bytes, unsigned) {
    return allocate(p, bytes, CU_MEMORYTYPE_HOST, current_device());
}
CUresult cuMemFreeHost(void* p) { return release(p); }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, void const* from, std::size_t bytes, CUstream on) {
    if (CUresult const code = check_copy(on, to, bytes); code != CUDA_SUCCESS) return code;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream on) {
    if (CUresult const code = check_copy(on, from, bytes); code != CUDA_SUCCESS) return code;
    std::memcpy(to, reinterpret_cast<void const*>(from), bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpy2DAsync(CUDA_MEMCPY2D const* c, CUstream on) {
    bool const up = c->srcMemoryType == CU_MEMORYTYPE_HOST && c->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    bool const down = c->srcMemoryType == CU_MEMORYTYPE_DEVICE && c->dstMemoryType == CU_MEMORYTYPE_HOST;
    // What the hardware asks for.
    constexpr std::size_t most = 0x7fffffff;
    if ((!up && !down) || c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY ||
        c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes || c->srcPitch > most ||
        c->dstPitch > most)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const code = check_copy(on, up ? c->dstDevice : c->srcDevice, c->Height * c->WidthInBytes);
        code != CUDA_SUCCESS)
        return code;
    auto const* from =
        up ? static_cast<char const*>(c->srcHost) : reinterpret_cast<char const*>(c->srcDevice);
    auto* to = up ? reinterpret_cast<char*>(c->dstDevice) : static_cast<char*>(c->dstHost);
    for (std::size_t i = 0; i < c->Height; ++i)
        std::memcpy(to + i * c->dstPitch, from + i * c->srcPitch, c->WidthInBytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpy3DPeerAsync(CUDA_MEMCPY3D_PEER const* c, CUstream on) {
    constexpr std::size_t most = 0x7fffffff; // what the hardware asks for
    if (c->srcMemoryType != CU_MEMORYTYPE_DEVICE || c->dstMemoryType != CU_MEMORYTYPE_DEVICE ||
        c->srcXInBytes || c->srcY || c->srcZ || c->dstXInBytes || c->dstY || c->dstZ || c->Depth != 1 ||
        c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes || c->srcPitch > most ||
        c->dstPitch > most)
        return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < c->Height; ++i)
        if (CUresult const code =
                cuMemcpyPeerAsync(c->dstDevice + i * c->dstPitch, c->dstContext,
                                  c->srcDevice + i * c->srcPitch, c->srcContext, c->WidthInBytes, on);
            code != CUDA_SUCCESS)
            return code;
    return CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           std::size_t bytes, CUstream on) {
    if (CUresult const code = check_copy(on, to, bytes); code != CUDA_SUCCESS) return code;
    int const other = device_of(from_context);
    if (device_of(to_context) != current_device() || home_of(from) != other) return CUDA_ERROR_INVALID_VALUE;
    // A driver would copy by way of the host, and take longer.
    bool const reaches =
        (peers[current_device()] >> other & 1) && (pool[other].readers >> current_device() & 1);
    if (other != current_device() && !reaches) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void const*>(from), bytes);
    return CUDA_SUCCESS;
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* what, void** answers, CUdeviceptr p) {
    std::lock_guard const lock(mutex);
    auto found = allocations().upper_bound(p);
    bool known = found != allocations().begin();
    if (known) {
        --found;
        known = p < found->first / page * page + found->second.mapped - page;
    }
    for (unsigned i = 0; i < count; ++i)
        if (what[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *static_cast<unsigned*>(answers[i]) = known ? found->second.kind : 0;
        else if (what[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *static_cast<int*>(answers[i]) = known ? found->second.device : -2;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* made, unsigned) {
    *made = new CUevent_st;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream on) { return alive_or_not(on); }
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent e) {
    delete e;
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* made, unsigned) {
    static unsigned long long count = 1; // the null stream is the first
    *made = new CUstream_st{__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED), current_device()};
    std::lock_guard const lock(mutex);
    streams().insert(*made);
    return CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream s, unsigned long long* number) {
    *number = s ? s->number : 1;
    return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode) {
    if (!s || s->captures) return CUDA_ERROR_INVALID_VALUE;
    s->captures = true, __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph* graph) {
    if (!s || !s->captures) return CUDA_ERROR_INVALID_VALUE;
    s->captures = false, __atomic_sub_fetch(&captures, 1, __ATOMIC_RELAXED);
    *graph = nullptr;
    return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus* status) {
    *status = s && s->captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream on) {
    return is_alive(on) ? unless_captured() : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuStreamWaitEvent(CUstream on, CUevent, unsigned) { return alive_or_not(on); }
CUresult cuStreamDestroy(CUstream s) {
    std::lock_guard const lock(mutex);
    if (streams().erase(s) == 0) return CUDA_ERROR_INVALID_HANDLE;
    delete s;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* made, void const* image) {
    if (CUresult const code = unless_captured(); code != CUDA_SUCCESS) return code;
    std::size_t bytes = 0;
    std::memcpy(&bytes, image, sizeof(bytes));
    // The file stays open: the loader tells libraries apart by this name, and the next file would get its
    // number.
    int const file = memfd_create("kernel", 0);
    auto const* from = static_cast<char const*>(image) + sizeof(bytes);
    if (file < 0 || write(file, from, bytes) != static_cast<ssize_t>(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    void* const library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) stop(dlerror());
    *made = new CUmod_st{library};
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* made, CUmodule module, char const* name) {
    auto* const call = dlsym(module->library, (std::string("stand_in_") + name).c_str());
    auto* const begin = dlsym(module->library, "stand_in_begin");
    if (!call || !begin) return CUDA_ERROR_NOT_FOUND;
    *made = new CUfunc_st{reinterpret_cast<void (*)(void**)>(call),
                          reinterpret_cast<void (*)(thread_state*)>(begin)};
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute what, CUfunction) {
    if (what != CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute what, int value) {
    if (what != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        static_cast<std::size_t>(value) > shared_most())
        return CUDA_ERROR_INVALID_VALUE;
    f->shared_bytes = static_cast<std::size_t>(value);
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
    *blocks = 1;
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(CUlaunchConfig const* config, CUfunction f, void** arguments, void**) {
    if (CUresult const code = check_stream(config->hStream); code != CUDA_SUCCESS) return code;
    static std::mutex one_at_a_time;
    std::lock_guard const lock(one_at_a_time);
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            cluster = config->attrs[i].value.clusterDim.x;
    if (config->gridDimX == 0 || config->gridDimY != 1 || config->gridDimZ != 1 || config->blockDimX == 0 ||
        config->blockDimY != 1 || config->blockDimZ != 1 || config->sharedMemBytes > f->shared_bytes ||
        cluster == 0 || config->gridDimX % cluster != 0 || config->blockDimX > 1024 ||
        cluster > threads_in_turn::most_blocks || config->blockDimX * cluster > threads_in_turn::most)
        return CUDA_ERROR_INVALID_VALUE;
    threads_in_turn::one().run(*f, arguments, config->gridDimX, config->blockDimX, cluster,
                               config->sharedMemBytes);
    return CUDA_SUCCESS;
}
// As device.hpp has it.
struct map {
    void* data;
    cuuint64_t sides[3], strides[2];
    cuuint32_t box[3], element, swizzled; // lines of so many bytes, or 0
};
CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* data,
                                cuuint64_t const* sides, cuuint64_t const* strides, cuuint32_t const* box,
                                cuuint32_t const*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    cuuint32_t const element = type == CU_TENSOR_MAP_DATA_TYPE_UINT8     ? 1
                               : type == CU_TENSOR_MAP_DATA_TYPE_UINT16  ? 2
                               : type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4
                               : type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 ? 8
                                                                         : 0;
    // What the hardware asks for.
    bool ok = rank == 3 && element > 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    for (int d = 0; d < 3; ++d)
        ok = ok && box[d] >= 1 && box[d] <= 256 && sides[d] >= 1 && sides[d] <= 1ull << 32;
    for (int d = 0; d < 2; ++d) ok = ok && strides[d] % 16 == 0 && strides[d] < 1ull << 40;
    cuuint32_t const swizzled = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                                : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                                                                       : 0;
    ok = ok && box[0] * element % 16 == 0 &&
         (swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || (swizzled > 0 && box[0] * element <= swizzled));
    if (!ok) return CUDA_ERROR_INVALID_VALUE;
    map const m{
        data,    {sides[0], sides[1], sides[2]}, {strides[0], strides[1]}, {box[0], box[1], box[2]}, element,
        swizzled};
    static_assert(sizeof(m) <= sizeof(*to));
    std::memcpy(to, &m, sizeof(m));
    return CUDA_SUCCESS;
}
}
