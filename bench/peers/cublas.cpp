// cuBLAS on the first CUDA device, and that device as a machine: memory, and time by events on the stream 0.
// Both libraries are opened at run time and declared here, so that nothing of CUDA's is needed to build this,
// and where they are not installed there is no such peer.
#include "../machine.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <stdexcept>

namespace bench {
namespace {

void check(int code, char const* what) {
    if (code != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(code));
}
template <class F>
void find(void* library, F& function, char const* name, char const* or_name = nullptr) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (!function && or_name) function = reinterpret_cast<F>(dlsym(library, or_name));
}

// ---- the device ------------------------------------------------------------------------------------------

class cuda_machine final : public device_machine {
public:
    cuda_machine() : device_machine(20e-3, 500) {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver) return;
        int (*init)(unsigned) = nullptr;
        int (*device)(int*, int) = nullptr;
        int (*retain)(void**, int) = nullptr;
        int (*create)(void**, unsigned) = nullptr;
        find(driver, init, "cuInit"), find(driver, device, "cuDeviceGet");
        find(driver, retain, "cuDevicePrimaryCtxRetain"), find(driver, enter_, "cuCtxSetCurrent");
        find(driver, allocate_, "cuMemAlloc_v2"), find(driver, free_, "cuMemFree_v2");
        find(driver, upload_, "cuMemcpyHtoD_v2"), find(driver, download_, "cuMemcpyDtoH_v2");
        find(driver, finish_, "cuCtxSynchronize"), find(driver, create, "cuEventCreate");
        find(driver, record_, "cuEventRecord"), find(driver, wait_, "cuEventSynchronize");
        find(driver, elapsed_, "cuEventElapsedTime_v2", "cuEventElapsedTime");
        if (!init || !device || !retain || !enter_ || !allocate_ || !free_ || !upload_ || !download_ ||
            !finish_ || !create || !record_ || !wait_ || !elapsed_)
            return;
        int first = 0;
        void* context = nullptr;
        found_ = init(0) == 0 && device(&first, 0) == 0 && retain(&context, first) == 0 &&
                 enter_(context) == 0 && create(&start_, 0) == 0 && create(&stop_, 0) == 0;
    }
    bool found() const { return found_; }

    facts about(std::vector<int> const&) override { return {}; }
    std::string rate() const override { return "TFLOP/s"; }

    memory allocate(long bytes) override {
        void* p = nullptr;
        check(allocate_(&p, std::size_t(std::max(bytes, 1L))), "cuMemAlloc");
        return {p, free_};
    }
    void upload(void* to, long at, void const* from, long bytes) override {
        check(upload_(static_cast<char*>(to) + at, from, std::size_t(bytes)), "cuMemcpyHtoD");
    }
    void download(void* to, void const* from, long at, long bytes) override {
        check(download_(to, static_cast<char const*>(from) + at, std::size_t(bytes)), "cuMemcpyDtoH");
    }
    // So many that none is in the cache from the run before.
    long sets(double bytes) const override {
        return std::clamp(long(0x1p27 / std::max(bytes, 1.0)) + 1, 1L, 64L);
    }

    // Of a queue that is not full: what a caller waits for.
    double queued(runs const& run) override {
        synchronize();
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < 100; ++i) run(i);
        return seconds_since(start) / 100;
    }

private:
    double seconds(runs const& run, long times) override {
        check(record_(start_, nullptr), "cuEventRecord");
        for (long i = 0; i < times; ++i) run(i);
        check(record_(stop_, nullptr), "cuEventRecord");
        check(wait_(stop_), "cuEventSynchronize");
        float milliseconds = 0;
        check(elapsed_(&milliseconds, start_, stop_), "cuEventElapsedTime");
        return double(milliseconds) * 1e-3;
    }
    void synchronize() override { check(finish_(), "cuCtxSynchronize"); }

    bool found_ = false;
    void *start_ = nullptr, *stop_ = nullptr;
    int (*enter_)(void*) = nullptr;
    int (*allocate_)(void**, std::size_t) = nullptr;
    int (*free_)(void*) = nullptr;
    int (*upload_)(void*, void const*, std::size_t) = nullptr;
    int (*download_)(void*, void const*, std::size_t) = nullptr;
    int (*finish_)() = nullptr;
    int (*record_)(void*, void*) = nullptr;
    int (*wait_)(void*) = nullptr;
    int (*elapsed_)(float*, void*, void*) = nullptr;
};

// ---- the library -----------------------------------------------------------------------------------------

// cudaDataType_t of A and B and of C, and cublasComputeType_t.
struct kinds {
    int in, out, compute;
};
kinds kinds_of(element e) {
    switch (e) {
    case element::f32: return {0, 0, 68};
    case element::tf32: return {0, 0, 77};
    case element::f64: return {1, 1, 70};
    case element::f16: return {2, 0, 68};
    case element::f16_f16: return {2, 2, 68};
    case element::bf16: return {14, 0, 68};
    case element::bf16_bf16: return {14, 14, 68};
    case element::i8: return {3, 10, 72};
    case element::c32: return {4, 4, 68};
    case element::c64: return {5, 5, 70};
    default: return {-1, -1, -1}; // of fp8, cuBLASLt alone has products
    }
}

// Column by column C is the transpose of ours: C' = B' A'.
class cublas final : public contender {
public:
    cublas(machine& on, bool emulates) : on_(on), emulates_(emulates) {
        void* library = nullptr;
        for (char const* name :
             {"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
            if (!library) library = dlopen(name, RTLD_NOW);
        if (!library) return;
        int (*create)(void**) = nullptr;
        int (*set_workspace)(void*, void*, std::size_t) = nullptr;
        int (*get_version)(void*, int*) = nullptr;
        find(library, create, "cublasCreate_v2"), find(library, get_version, "cublasGetVersion_v2");
        find(library, set_workspace, "cublasSetWorkspace_v2");
        find(library, gemm_, "cublasGemmStridedBatchedEx"), find(library, plain_gemm_, "cublasGemmEx");
        int (*set_strategy)(void*, int) = nullptr;
        find(library, set_strategy, "cublasSetEmulationStrategy"); // since 13.0
        if (emulates && (!set_strategy || !plain_gemm_)) return;
        find(library, grouped_, "cublasGemmGroupedBatchedEx"); // since 12.5
        if (!create || !get_version || !set_workspace || !gemm_ || create(&handle_) != 0) {
            handle_ = nullptr;
            return;
        }
        get_version(handle_, &version_);
        set_workspace_ = set_workspace;
        give(1L << 26);
        if (emulates) set_strategy(handle_, 2); // wherever it can, and not where it is faster
    }
    bool found() const { return handle_ != nullptr; }

    std::string name() const override { return emulates_ ? "cuBLAS, emulation" : "cuBLAS"; }
    role part() const override { return emulates_ ? role::information : role::peer; }
    std::string version() const override { return std::to_string(version_); }
    machine* home() override { return &on_; }
    bool takes(problem const& p) const override {
        if (kinds_of(p.type).in < 0 || p.added || p.relu) return false;
        if (emulates_) return emulated(p.type) != 0 && p.plain() && p.group.empty();
        if (!p.group.empty()) return grouped_ != nullptr && p.type != element::i8;
        return p.type != element::i8 || (p.n % 4 == 0 && p.k % 4 == 0);
    }
    // Each product of a group is a group of its own. Pointers are on the device.
    void prepare(problem const& p, operands const& x) override {
        if (x.set == 0) pointers_.clear(), m_.clear(), n_.clear(), k_.clear();
        if (emulates_ &&
            x.set == 0) { // slices of both operands, and sums of C: without room for them it runs natively
            long const parts = p.type == element::c32 || p.type == element::c64 ? 4 : 1;
            give((1L << 28) + parts * (12 * (p.m * p.k + p.k * p.n) + 16 * p.m * p.n));
        }
        if (p.group.empty()) return;
        std::vector<void const*> all;
        long const in = size_of(p.type), out = size_of_result(p.type);
        for (member const& y : p.group) all.push_back(static_cast<char const*>(x.b) + y.b * in);
        for (member const& y : p.group) all.push_back(static_cast<char const*>(x.a) + y.a * in);
        for (member const& y : p.group) all.push_back(static_cast<char const*>(x.c) + y.c * out);
        long const bytes = long(all.size() * sizeof(void*));
        pointers_.push_back(on_.allocate(bytes));
        on_.upload(pointers_.back().get(), 0, all.data(), bytes);
        if (x.set > 0) return;
        for (member const& y : p.group)
            m_.push_back(int(y.m)), n_.push_back(int(y.n)), k_.push_back(int(y.k));
        each_.assign(m_.size(), 1), plain_.assign(m_.size(), 0);
        ones_.assign(m_.size(), 1), zeros_.assign(m_.size(), 0);
        wide_ones_.assign(m_.size(), 1), wide_zeros_.assign(m_.size(), 0);
    }
    void run(problem const& p, operands const& x) override {
        auto const [in, out, compute] = kinds_of(p.type);
        bool const is_wide = p.type == element::f64 || p.type == element::c64;
        if (!p.group.empty()) {
            auto** const at = static_cast<void**>(pointers_[std::size_t(x.set)].get());
            auto const count = p.group.size();
            void const* const one = is_wide ? static_cast<void const*>(wide_ones_.data()) : ones_.data();
            void const* const zero = is_wide ? static_cast<void const*>(wide_zeros_.data()) : zeros_.data();
            check(grouped_(handle_, plain_.data(), plain_.data(), n_.data(), m_.data(), k_.data(), one, at,
                           in, n_.data(), at + count, in, k_.data(), zero, at + 2 * count, out, n_.data(),
                           int(count), each_.data(), compute),
                  "a group of products");
            return;
        }
        struct { // with an imaginary part
            float f[2];
            double d[2];
            int i;
        } const one{{1, 0}, {1, 0}, 1}, zero{{0, 0}, {0, 0}, 0};
        auto const scalar = [&](auto const& s) -> void const* {
            if (is_wide) return &s.d;
            if (p.type == element::i8) return &s.i;
            return &s.f;
        };
        if (emulates_) {
            check(plain_gemm_(handle_, 0, 0, int(p.n), int(p.m), int(p.k), scalar(one), x.b, in, int(p.ldb()),
                              x.a, in, int(p.lda()), scalar(zero), x.c, out, int(p.n), emulated(p.type), -1),
                  "an emulated product");
            return;
        }
        check(gemm_(handle_, p.b_transposed, p.a_transposed, int(p.n), int(p.m), int(p.k), scalar(one), x.b,
                    in, int(p.ldb()), p.k * p.n, x.a, in, int(p.lda()), p.m * p.k, scalar(zero), x.c, out,
                    int(p.n), p.m * p.n, int(p.count), compute, -1),
              "a product");
    }

private:
    // cublasComputeType_t of emulation, or 0.
    static int emulated(element e) {
        switch (e) {
        case element::f32:
        case element::c32: return 78;
        case element::f64:
        case element::c64: return 79;
        default: return 0;
        }
    }
    void give(long bytes) {
        workspace_ = nullptr; // first, or both would be there for a moment
        workspace_ = on_.allocate(bytes);
        check(set_workspace_(handle_, workspace_.get(), std::size_t(bytes)), "cublasSetWorkspace");
    }

    machine& on_;
    bool emulates_;
    void* handle_ = nullptr;
    int (*set_workspace_)(void*, void*, std::size_t) = nullptr;
    int (*plain_gemm_)(void*, int, int, int, int, int, void const*, void const*, int, int, void const*, int,
                       int, void const*, void*, int, int, int, int) = nullptr;
    int version_ = 0;
    int (*gemm_)(void*, int, int, int, int, int, void const*, void const*, int, int, long long, void const*,
                 int, int, long long, void const*, void*, int, int, long long, int, int, int) = nullptr;
    int (*grouped_)(void*, int const*, int const*, int const*, int const*, int const*, void const*,
                    void const* const*, int, int const*, void const* const*, int, int const*, void const*,
                    void* const*, int, int const*, int, int const*, int) = nullptr;
    machine::memory workspace_;
    std::vector<machine::memory> pointers_; // one a set
    std::vector<int> m_, n_, k_, each_, plain_;
    std::vector<float> ones_, zeros_;
    std::vector<double> wide_ones_, wide_zeros_;
};

} // namespace

std::unique_ptr<machine> make_cuda_machine() {
    auto on = std::make_unique<cuda_machine>();
    if (!on->found()) return nullptr;
    return on;
}
std::unique_ptr<contender> make_cublas(machine& on) {
    auto p = std::make_unique<cublas>(on, false);
    if (!p->found()) return nullptr;
    return p;
}
std::unique_ptr<contender> make_cublas_emulation(machine& on) {
    auto p = std::make_unique<cublas>(on, true);
    if (!p->found()) return nullptr;
    return p;
}

} // namespace bench
