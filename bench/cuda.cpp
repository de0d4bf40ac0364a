// bench_cuda: the CUDA backend against cuBLAS, which is opened when this runs, on one device and one stream.
//
//   bench_cuda [--quick] [--rounds=7] [--tile=ENGINE,M,N,K,MICRO_M,MICRO_N,STAGES,GROUP,CLUSTER,PARTS]
//              [Google Benchmark's options]
//
// One Google Benchmark entry a case; each of its iterations is a round in which both take a turn. Its counters are
// medians over rounds: TFLOP/s of each, and the ratio within a round. Times are those of events, operands are random,
// and there are so many sets of them that none is in the cache from the product before. Both results are compared
// first. With --tile, one tile (by the number of its engine) for every product that can use it.
#include <stratagemm/backend/cuda.hpp>

#include <benchmark/benchmark.h>
#include <cublas_v2.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace sg = stratagemm;

namespace {

template <class Function>
Function* entry(char const* library, char const* name) {
    void* const opened = dlopen(library, RTLD_NOW);
    return opened ? reinterpret_cast<Function*>(dlsym(opened, name)) : nullptr;
}

// cuBLAS's interface, by the names of its newer versions.
struct cublas {
    decltype(&::cublasCreate_v2) create = nullptr;
    decltype(&::cublasSetStream_v2) set_stream = nullptr;
    decltype(&::cublasGetVersion_v2) get_version = nullptr;
    decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
    // In C++ the name has overloads, so its type is spelled out.
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, void const*,
                           void const*, cudaDataType, int, long long, void const*, cudaDataType, int,
                           long long, void const*, void*, cudaDataType, int, long long, int,
                           cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
    // Since 12.5; of floats and doubles, and bfloat16 and half.
    decltype(&::cublasGemmGroupedBatchedEx) grouped = nullptr;
    cublasHandle_t handle = nullptr;
    int version = 0;

    static cublas const& get() {
        static cublas const one;
        return one;
    }

private:
    cublas() {
        for (char const* name :
             {"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"}) {
            create = entry<std::remove_pointer_t<decltype(create)>>(name, "cublasCreate_v2");
            if (!create) continue;
            set_stream = entry<std::remove_pointer_t<decltype(set_stream)>>(name, "cublasSetStream_v2");
            get_version = entry<std::remove_pointer_t<decltype(get_version)>>(name, "cublasGetVersion_v2");
            set_workspace =
                entry<std::remove_pointer_t<decltype(set_workspace)>>(name, "cublasSetWorkspace_v2");
            gemm = entry<std::remove_pointer_t<decltype(gemm)>>(name, "cublasGemmStridedBatchedEx");
            grouped = entry<std::remove_pointer_t<decltype(grouped)>>(name, "cublasGemmGroupedBatchedEx");
            break;
        }
        if (create && create(&handle) == CUBLAS_STATUS_SUCCESS)
            get_version(handle, &version);
        else
            handle = nullptr;
    }
};

// Time on the device, by events.
class stopwatch {
public:
    explicit stopwatch(sg::cuda const& gpu) : stream_(gpu.stream) {
        create_(&start_, CU_EVENT_DEFAULT), create_(&stop_, CU_EVENT_DEFAULT);
    }
    template <class F>
    double seconds(F&& f, int times) {
        record_(start_, stream_);
        for (int i = 0; i < times; ++i) f(i);
        record_(stop_, stream_);
        synchronize_(stop_);
        float milliseconds = 0;
        elapsed_(&milliseconds, start_, stop_);
        return static_cast<double>(milliseconds) * 1e-3 / times;
    }

private:
    static constexpr char const* driver = "libcuda.so.1";
    CUstream stream_;
    CUevent start_ = nullptr, stop_ = nullptr;
    decltype(&::cuEventCreate) create_ = entry<decltype(::cuEventCreate)>(driver, "cuEventCreate");
    decltype(&::cuEventRecord) record_ = entry<decltype(::cuEventRecord)>(driver, "cuEventRecord");
    decltype(&::cuEventSynchronize) synchronize_ =
        entry<decltype(::cuEventSynchronize)>(driver, "cuEventSynchronize");
    decltype(&::cuEventElapsedTime) elapsed_ =
        entry<decltype(::cuEventElapsedTime)>(driver, "cuEventElapsedTime_v2");
};

struct sides {
    sg::index_t m, n, k, count = 1;
    double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(count); }
};

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

template <class T>
constexpr cudaDataType_t kind() {
    if constexpr (std::is_same_v<T, double>)
        return CUDA_R_64F;
    else if constexpr (std::is_same_v<T, float>)
        return CUDA_R_32F;
    else if constexpr (std::is_same_v<T, sg::half>)
        return CUDA_R_16F;
    else if constexpr (std::is_same_v<T, sg::bfloat16>)
        return CUDA_R_16BF;
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return CUDA_R_8I;
    else
        return CUDA_R_32I;
}

// A block of random numbers, repeated: making all of them would take longer than to measure.
template <class T>
sg::cuda::matrix<T> noise(sg::cuda const& gpu, sg::index_t size, unsigned seed) {
    sg::index_t const block = std::min<sg::index_t>(size, sg::index_t{1} << 21);
    sg::matrix<T> const some(1, block, [&](sg::index_t, sg::index_t) {
        seed = seed * 1664525u + 1013904223u;
        if constexpr (std::is_same_v<T, std::int8_t>)
            return static_cast<int>(seed >> 24) - 128;
        else
            return static_cast<T>(static_cast<float>(seed >> 8) * 0x1p-23f - 1);
    });
    sg::cuda::matrix<T> const first(gpu, some);
    sg::cuda::matrix<T> all(gpu, 1, size);
    for (sg::index_t at = 0; at < size; at += block) {
        sg::index_t const length = std::min(block, size - at);
        gpu.leaf().copy(first.block(0, 0, 1, length), all.block(0, at, 1, length)).or_throw();
    }
    return all;
}

template <class T>
double value(T const& x) {
    return static_cast<double>(static_cast<sg::accumulator_t<T>>(x));
}

// Our way and cuBLAS's in turn; each is given the number of the call.
template <class Ours, class Others>
void race(benchmark::State& state, sg::cuda const& gpu, stopwatch& clock, double flops, double bytes,
          Ours const& ours, Others const& others, bool against) {
    for (int warm = 0; warm < 2; ++warm) clock.seconds(ours, 1);
    int const times = std::clamp(static_cast<int>(0.02 / clock.seconds(ours, 3)), 1, 500);
    clock.seconds(ours, times);
    std::vector<double> mine, their, ratio;
    for (auto _ : state) {
        mine.push_back(clock.seconds(ours, times));
        state.SetIterationTime(mine.back());
        if (!against) continue;
        their.push_back(clock.seconds(others, times));
        ratio.push_back(their.back() / mine.back());
    }
    state.counters["stratagemm"] = flops * 1e-12 / median(mine);
    state.counters["us"] = median(mine) * 1e6;
    // Of a queue that is not full: what a caller waits for.
    gpu.synchronize().or_throw();
    auto const start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) ours(i);
    std::chrono::duration<double> const queued = std::chrono::steady_clock::now() - start;
    state.counters["host_us"] = queued.count() * 1e4;
    state.counters["TBps"] = bytes * 1e-12 / median(mine);
    if (against) {
        state.counters["cuBLAS"] = flops * 1e-12 / median(their);
        state.counters["ratio"] = median(ratio);
    }
}

// How far a result may be from cuBLAS's.
template <class TA, class TC>
bool close(double x, double y, sg::index_t k, bool tf32) {
    double const last = sizeof(TC) == 2 ? 0x1p-7 : 0;
    double const each = std::is_same_v<TA, std::int8_t> ? 0 : tf32 ? 2e-3 : sizeof(TA) == 8 ? 1e-14 : 2e-6;
    // Errors add up like a walk whose steps grow with the sums that are rounded.
    double const steps = std::max(std::sqrt(double(k)), double(k) / 64);
    return std::abs(x - y) <= last * std::abs(y) + each * steps * 3;
}

template <class TA>
cublasComputeType_t compute_type(bool tf32) {
    return std::is_same_v<TA, double>        ? CUBLAS_COMPUTE_64F
           : std::is_same_v<TA, std::int8_t> ? CUBLAS_COMPUTE_32I
           : tf32                            ? CUBLAS_COMPUTE_32F_FAST_TF32
                                             : CUBLAS_COMPUTE_32F;
}

// C = A B with row-major C; `along_k` has B lie along k, which cuBLAS wants of int8.
template <class TA, class TC>
class contest {
    using Scalar = sg::accumulator_t<TA>;

public:
    contest(sg::cuda gpu, sides s, bool along_k)
        : gpu_(gpu), s_(s), along_k_(along_k), clock_(gpu),
          sets_(std::max<sg::index_t>(
              1, std::min<sg::index_t>(64, (sg::index_t{1} << 27) / std::max<sg::index_t>(bytes(), 1) + 1))),
          a_(noise<TA>(gpu, sets_ * s.m * s.k * s.count, 1)),
          b_(noise<TA>(gpu, sets_ * s.k * s.n * s.count, 2)), c_(gpu, 1, sets_ * s.m * s.n * s.count) {
        auto memory = gpu.reserve(gpu.workspace(shape()));
        memory.or_throw();
        arena_ = std::move(*memory);
        if (theirs()) {
            cublas const& lib = cublas::get();
            lib.set_stream(lib.handle, reinterpret_cast<cudaStream_t>(gpu.stream));
            workspace_ = sg::cuda::matrix<std::int8_t>(gpu, 1, sg::index_t{1} << 26);
            lib.set_workspace(lib.handle, workspace_.data().address, std::size_t{1} << 26);
        }
    }

    void run(benchmark::State& state) {
        if (!agree()) return state.SkipWithError("the results differ");
        race(
            state, gpu_, clock_, s_.flops(), double(bytes()), [&](int i) { multiply(i); },
            [&](int i) { multiply_by_cublas(i); }, theirs());
        state.SetLabel(gpu_.describe(shape()));
    }

private:
    sg::shape<TA, TA, TC> shape() const { return {s_.m, s_.n, s_.k, s_.count, false}; }
    sg::index_t bytes() const {
        auto const a = s_.m * s_.k + s_.k * s_.n;
        return s_.count * (a * static_cast<sg::index_t>(sizeof(TA)) +
                           s_.m * s_.n * static_cast<sg::index_t>(sizeof(TC)));
    }
    bool theirs() const {
        return cublas::get().handle && !sg::is_fp8<TA> && // which cuBLASLt alone has
               !(std::is_same_v<TA, std::int8_t> && (s_.n % 4 || s_.k % 4));
    }
    auto c(sg::index_t set) {
        return sg::cuda_view<TC>{c_.data() + set * s_.m * s_.n * s_.count, s_.m, s_.n, s_.n, 1};
    }
    void multiply(int i) {
        sg::index_t const set = i % sets_;
        sg::cuda_view<TA const> const a{a_.data() + set * s_.m * s_.k * s_.count, s_.m, s_.k, s_.k, 1};
        sg::cuda_view<TA const> b{b_.data() + set * s_.k * s_.n * s_.count, s_.k, s_.n, s_.n, 1};
        if (along_k_) b.row_stride = 1, b.col_stride = s_.k;
        if (s_.count == 1)
            gpu_(sg::product(a, b, c(set)), arena_).or_throw();
        else
            gpu_(sg::product(sg::batched(a, s_.count, s_.m * s_.k), sg::batched(b, s_.count, s_.k * s_.n),
                             sg::batched(c(set), s_.count, s_.m * s_.n)),
                 arena_)
                .or_throw();
    }
    // Column by column C is the transpose of ours.
    void multiply_by_cublas(int i) {
        sg::index_t const set = i % sets_;
        cublas const& lib = cublas::get();
        auto const size = [](sg::index_t x) { return static_cast<int>(x); };
        Scalar const one{1}, zero{0};
        auto const code = lib.gemm(
            lib.handle, along_k_ ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, size(s_.n), size(s_.m), size(s_.k),
            &one, (b_.data() + set * s_.k * s_.n * s_.count).address, kind<TA>(),
            size(along_k_ ? s_.k : s_.n), s_.k * s_.n, (a_.data() + set * s_.m * s_.k * s_.count).address,
            kind<TA>(), size(s_.k), s_.m * s_.k, &zero, c(set).data.address, kind<TC>(), size(s_.n),
            s_.m * s_.n, size(s_.count), compute_type<TA>(gpu_.tf32), CUBLAS_GEMM_DEFAULT);
        if (code != CUBLAS_STATUS_SUCCESS)
            throw sg::error(sg::errc::native, "cuBLAS", "a product failed", code);
    }

    // The first rows of C, some in the middle, and the last.
    sg::matrix<Scalar> some_rows() {
        sg::index_t const rows = std::min<sg::index_t>(s_.m, 32);
        sg::matrix<Scalar> got(3 * rows, s_.n);
        sg::cuda::matrix<Scalar> part(gpu_, rows, s_.n);
        for (sg::index_t x = 0; x < 3; ++x) {
            gpu_.leaf().copy(c(0).block(x * (s_.m - rows) / 2, 0, rows, s_.n), part.view()).or_throw();
            part.download(got.block(x * rows, 0, rows, s_.n));
        }
        return got;
    }
    bool agree() {
        multiply(0);
        auto const mine = some_rows();
        if (!theirs()) return true;
        gpu_.leaf().fill(c(0), TC(Scalar(77))).or_throw();
        multiply_by_cublas(0);
        auto const their = some_rows();
        for (sg::index_t i = 0; i < mine.rows(); ++i)
            for (sg::index_t j = 0; j < mine.cols(); ++j) {
                double const x = value(mine(i, j)), y = value(their(i, j));
                if (!close<TA, TC>(x, y, s_.k, gpu_.tf32)) {
                    std::printf("(%td, %td): %g, cuBLAS %g\n", i, j, x, y);
                    return false;
                }
            }
        return true;
    }

    sg::cuda gpu_;
    sides s_;
    bool along_k_;
    stopwatch clock_;
    sg::index_t sets_;
    sg::cuda::matrix<TA> a_, b_;
    sg::cuda::matrix<TC> c_;
    sg::cuda::arena arena_;
    sg::cuda::matrix<std::int8_t> workspace_;
};

// A group of products whose sides are drawn at random.
template <class TA, class TC>
class group_contest {
    using Scalar = sg::accumulator_t<TA>;
    using problem = sg::dense_problem<TA, TA, TC, sg::cuda_memory>;

public:
    group_contest(sg::cuda gpu, int count, int least, int most) : gpu_(gpu), clock_(gpu) {
        unsigned seed = 7;
        auto const side = [&] {
            seed = seed * 1664525u + 1013904223u;
            return least + static_cast<int>((seed >> 16) % static_cast<unsigned>(most - least + 1));
        };
        sg::index_t a = 0, b = 0, c = 0; // elements; matrices begin at multiples of 16 bytes
        auto const reserve = [](sg::index_t& at, sg::index_t size) {
            sg::index_t const begin = at;
            at += (size + 15) / 16 * 16;
            return begin;
        };
        for (int i = 0; i < count; ++i) {
            member x{side(), side(), side()};
            x.a = reserve(a, x.m * x.k), x.b = reserve(b, x.k * x.n), x.c = reserve(c, x.m * x.n);
            members_.push_back(x);
            flops_ += 2.0 * double(x.m) * double(x.n) * double(x.k);
        }
        bytes_ = (a + b) * sg::index_t(sizeof(TA)) + c * sg::index_t(sizeof(TC));
        sets_ = std::max<sg::index_t>(1, std::min<sg::index_t>(64, (sg::index_t{1} << 27) / bytes_ + 1));
        a_ = noise<TA>(gpu, sets_ * a, 1), b_ = noise<TA>(gpu, sets_ * b, 2), c_each_ = c;
        c_ = sg::cuda::matrix<TC>(gpu, 1, sets_ * c);
        for (sg::index_t set = 0; set < sets_; ++set) {
            std::vector<problem> all;
            for (member const& x : members_)
                all.push_back(
                    sg::product(sg::cuda_view<TA const>{a_.data() + (set * a + x.a), x.m, x.k, x.k, 1},
                                sg::cuda_view<TA const>{b_.data() + (set * b + x.b), x.k, x.n, x.n, 1},
                                sg::cuda_view<TC>{c_.data() + (set * c + x.c), x.m, x.n, x.n, 1}));
            products_.push_back(std::move(all));
        }
        auto memory = gpu.reserve(sg::group_workspace(gpu, products_[0]));
        memory.or_throw();
        arena_ = std::move(*memory);
        if (theirs()) state_for_cublas();
    }

    void run(benchmark::State& state) {
        if (!agree()) return state.SkipWithError("the results differ");
        race(
            state, gpu_, clock_, flops_, double(bytes_), [&](int i) { multiply(i); },
            [&](int i) { multiply_by_cublas(i); }, theirs());
    }

private:
    struct member {
        sg::index_t m, n, k;
        sg::index_t a = 0, b = 0, c = 0; // where they begin
    };
    bool theirs() const { return cublas::get().handle && cublas::get().grouped; }

    void multiply(int i) { sg::gemm(gpu_, products_[std::size_t(i % sets_)], arena_); }

    // Each product is a group of its own; column by column C is the transpose of ours. Pointers are on the device.
    void state_for_cublas() {
        cublas const& lib = cublas::get();
        lib.set_stream(lib.handle, reinterpret_cast<cudaStream_t>(gpu_.stream));
        auto const count = members_.size();
        for (member const& x : members_)
            m_.push_back(int(x.n)), n_.push_back(int(x.m)), k_.push_back(int(x.k));
        one_.assign(count, Scalar(1)), zero_.assign(count, Scalar(0)), each_.assign(count, 1);
        plain_.assign(count, CUBLAS_OP_N);
        std::vector<void const*> all;
        for (auto const& products : products_) {
            for (problem const& p : products) all.push_back(p.b.data.address);
            for (problem const& p : products) all.push_back(p.a.data.address);
            for (problem const& p : products) all.push_back(p.c.data.address);
        }
        static_assert(sizeof(double) == sizeof(void*), "pointers travel as doubles");
        sg::matrix<double> pointers(1, sg::index_t(all.size()));
        std::memcpy(pointers.data(), all.data(), all.size() * sizeof(void*));
        pointers_ = sg::cuda::matrix<double>(gpu_, pointers);
    }
    void multiply_by_cublas(int i) {
        cublas const& lib = cublas::get();
        auto const count = sg::index_t(members_.size());
        auto** const first = reinterpret_cast<void**>(pointers_.data().address) + i % sets_ * (3 * count);
        auto const code = lib.grouped(lib.handle, plain_.data(), plain_.data(), m_.data(), n_.data(),
                                      k_.data(), one_.data(), first, kind<TA>(), m_.data(), first + count,
                                      kind<TA>(), k_.data(), zero_.data(), first + 2 * count, kind<TC>(),
                                      m_.data(), int(count), each_.data(), compute_type<TA>(gpu_.tf32));
        if (code != CUBLAS_STATUS_SUCCESS)
            throw sg::error(sg::errc::native, "cuBLAS", "a group of products failed", code);
    }

    sg::matrix<Scalar> first_results() {
        sg::cuda::matrix<Scalar> wide(gpu_, 1, c_each_);
        gpu_.leaf().copy(c_.block(0, 0, 1, c_each_), wide.view()).or_throw();
        sg::matrix<Scalar> got(1, c_each_);
        wide.download(got);
        return got;
    }
    bool agree() {
        multiply(0);
        auto const mine = first_results();
        if (!theirs()) return true;
        gpu_.leaf().fill(c_.block(0, 0, 1, c_each_), TC(Scalar(77))).or_throw();
        multiply_by_cublas(0);
        auto const their = first_results();
        for (member const& x : members_)
            for (sg::index_t at = x.c; at < x.c + x.m * x.n; ++at)
                if (!close<TA, TC>(value(mine(0, at)), value(their(0, at)), x.k, gpu_.tf32)) {
                    std::printf("%td: %g, cuBLAS %g\n", at, value(mine(0, at)), value(their(0, at)));
                    return false;
                }
        return true;
    }

    sg::cuda gpu_;
    stopwatch clock_;
    std::vector<member> members_;
    double flops_ = 0;
    sg::index_t bytes_ = 0, sets_ = 1, c_each_ = 0;
    sg::cuda::matrix<TA> a_, b_;
    sg::cuda::matrix<TC> c_;
    std::vector<std::vector<problem>> products_;
    sg::cuda::arena arena_;
    std::vector<int> m_, n_, k_, each_;
    std::vector<Scalar> one_, zero_;
    std::vector<cublasOperation_t> plain_;
    sg::cuda::matrix<double> pointers_;
};

struct options {
    sg::cuda gpu;
    bool quick = false;
    int rounds = 7;
};

// make() gives a contest.
template <class Make>
void enter(std::string const& label, options const& o, Make const& make) {
    benchmark::RegisterBenchmark(label.c_str(),
                                 [=](benchmark::State& state) {
                                     try {
                                         make().run(state);
                                     } catch (sg::error const& e) {
                                         state.SkipWithError(e.what());
                                     }
                                 })
        ->UseManualTime()
        ->Iterations(o.rounds)
        ->Unit(benchmark::kMillisecond);
}

template <class TA, class TC = sg::accumulator_t<TA>>
void add(std::string const& name, options const& o, sides s, bool tf32 = false) {
    auto label = name + '/' + std::to_string(s.m) + 'x' + std::to_string(s.n) + 'x' + std::to_string(s.k);
    if (s.count > 1) label += '*' + std::to_string(s.count);
    sg::cuda gpu = o.gpu;
    gpu.tf32 = tf32;
    enter(label, o, [=] { return contest<TA, TC>(gpu, s, sizeof(TA) == 1); });
}
template <class TA, class TC = sg::accumulator_t<TA>>
void add_group(std::string const& name, options const& o, int count, int least, int most) {
    auto const label =
        name + '/' + std::to_string(least) + ".." + std::to_string(most) + '*' + std::to_string(count);
    enter(label, o, [=] { return group_contest<TA, TC>(o.gpu, count, least, most); });
}

void add_all(options const& o) {
    std::vector<sg::index_t> squares = {256, 512, 1000, 1024, 2048, 4095, 4096, 8192, 16384};
    if (o.quick) squares = {1024, 4096};
    for (sg::index_t const n : squares) {
        add<float>("sgemm", o, {n, n, n});
        add<double>("dgemm", o, {n, n, n});
        add<sg::bfloat16, sg::bfloat16>("bf16", o, {n, n, n});
        add<sg::half, sg::half>("fp16", o, {n, n, n});
        add<float>("tf32", o, {n, n, n}, true);
        add<std::int8_t>("int8", o, {n, n, n});
        add<sg::fp8_e4m3, sg::bfloat16>("fp8", o, {n, n, n});
    }
    if (o.quick) return;
    for (sides const s : {sides{1023, 1025, 1027},
                          {2304, 2304, 2304},
                          {3072, 3072, 3072},
                          {4096, 16, 4096},
                          {64, 64, 65536},
                          {4096, 4096, 64},
                          {100000, 64, 64},
                          {128, 128, 1 << 20},
                          {8192, 8192, 128},
                          {20000, 1, 20000}}) {
        add<float>("sgemm", o, s);
        add<double>("dgemm", o, s);
    }
    for (sg::index_t const n : {4, 8, 16, 32, 64, 128})
        add<float>("batched", o, {n, n, n, (sg::index_t{1} << 26) / (n * n)});
    add_group<float>("grouped sgemm", o, 512, 16, 128);
    add_group<float>("grouped sgemm", o, 64, 16, 128);
    add_group<float>("grouped sgemm", o, 64, 128, 512);
    add_group<double>("grouped dgemm", o, 512, 16, 128);
    add_group<sg::bfloat16, sg::bfloat16>("grouped bf16", o, 512, 16, 128);
}

} // namespace

int main(int argc, char** argv) {
    options o;
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
        if (std::strcmp(argv[i], "--quick") == 0) {
            o.quick = true;
        } else if (std::strncmp(argv[i], "--rounds=", 9) == 0) {
            o.rounds = std::atoi(argv[i] + 9);
        } else if (std::strncmp(argv[i], "--tile=", 7) == 0) {
            std::vector<short> parts = {0, 0, 0, 0, 1, 1, 1, 1, 1, 0};
            char* at = argv[i] + 7;
            for (short& part : parts) {
                part = static_cast<short>(std::strtol(at, &at, 10));
                if (*at == ',') ++at;
            }
            o.gpu.tile = sg::cuda_tile::of(parts);
        } else if (std::strncmp(argv[i], "--report=", 9) != 0) { // there is no report of this race
            rest.push_back(argv[i]);
        }
    }
    int count = static_cast<int>(rest.size());
    benchmark::Initialize(&count, rest.data());
    if (sg::status const s = o.gpu.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    std::time_t const now = std::time(nullptr);
    char date[16] = "";
    std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
    auto const where = o.gpu.where();
    std::printf("%s, %s, sm_%d, driver for CUDA %d.%d, NVRTC %s, cuBLAS %d\n", date, where.name.c_str(),
                where.capability, where.driver / 1000, where.driver % 1000 / 10,
                sg::cuda_compiler::get().version().c_str(), cublas::get().version);
    add_all(o);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
