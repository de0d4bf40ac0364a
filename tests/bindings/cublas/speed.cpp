// Times calls of cuBLAS as a program makes them, with libstratagemm-cublas.so preloaded, against the same functions of
// cuBLAS itself, by turns within one process:
//   LD_PRELOAD=.../libstratagemm-cublas.so cublas_speed [FILTER [COUNT [SEED]]]
// FILTER is the beginning of a function and its type, such as 'gemm d'. With COUNT, as many random calls that fit it take the
// place of the list. Ratio: the median of cuBLAS's time over ours; more than 1 is faster. Error: the largest difference
// of the results, relative to k max|A| max|B|. The last line has the geometric mean of the ratios and the least of them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <random>
#include <string>
#include <vector>

namespace {

void check(bool ok, char const* what) {
    if (ok) return;
    std::fprintf(stderr, "cublas_speed: %s failed\n", what);
    std::exit(1);
}
void check(cudaError_t code, char const* what) { check(code == cudaSuccess, what); }
void check(cublasStatus_t code, char const* what) { check(code == CUBLAS_STATUS_SUCCESS, what); }

struct device_memory {
    void* at = nullptr;
    std::size_t bytes;
    device_memory(std::size_t b) : bytes(b) { check(cudaMalloc(&at, b), "cudaMalloc"); }
    device_memory(device_memory const&) = delete;
    ~device_memory() { (void)cudaFree(at); }
};

cudaDataType type_of(char letter) {
    switch (letter) {
    case 's': return CUDA_R_32F;
    case 'd': return CUDA_R_64F;
    case 'c': return CUDA_C_32F;
    case 'z': return CUDA_C_64F;
    case 'h': return CUDA_R_16F;
    default: return CUDA_R_16BF;
    }
}
std::size_t size_of(char letter) {
    return letter == 's' ? 4 : letter == 'd' || letter == 'c' ? 8 : letter == 'z' ? 16 : 2;
}
// Numbers from -1 to 1; of complex ones the parts.
void fill(device_memory const& to, char letter) {
    std::mt19937 random(std::random_device{}());
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<unsigned char> some(std::min<std::size_t>(to.bytes, std::size_t{1} << 22));
    std::size_t const real = letter == 'c' ? 4 : letter == 'z' ? 8 : size_of(letter);
    for (std::size_t at = 0; at + real <= some.size(); at += real) {
        double const x = any(random);
        float const f = static_cast<float>(x);
        __half const h(f);
        __nv_bfloat16 const w(f);
        void const* const from = real == 8       ? static_cast<void const*>(&x)
                                 : real == 4     ? static_cast<void const*>(&f)
                                 : letter == 'h' ? static_cast<void const*>(&h)
                                                 : static_cast<void const*>(&w);
        std::memcpy(some.data() + at, from, real);
    }
    // Pieces that begin elsewhere each time, so that no two rows are the same.
    for (std::size_t at = 0, piece = 0; at < to.bytes; at += piece) {
        std::size_t const skip = at == 0 ? 0 : random() % (some.size() / 32) * 16;
        piece = std::min(some.size() - skip, to.bytes - at);
        check(cudaMemcpy(static_cast<char*>(to.at) + at, some.data() + skip, piece, cudaMemcpyHostToDevice),
              "a copy");
    }
}
double number(unsigned char const* x, char letter) {
    if (letter == 'd' || letter == 'z') {
        double d;
        std::memcpy(&d, x, sizeof(d));
        return d;
    }
    if (letter == 's' || letter == 'c') {
        float f;
        std::memcpy(&f, x, sizeof(f));
        return f;
    }
    unsigned short bits;
    std::memcpy(&bits, x, sizeof(bits));
    if (letter == 'h') return static_cast<float>(__half(__half_raw{bits}));
    return static_cast<float>(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}
double difference(device_memory const& x, device_memory const& y, char letter) {
    std::vector<unsigned char> a(std::min<std::size_t>(x.bytes, std::size_t{1} << 26)), b(a.size());
    check(cudaMemcpy(a.data(), x.at, a.size(), cudaMemcpyDeviceToHost), "a copy");
    check(cudaMemcpy(b.data(), y.at, b.size(), cudaMemcpyDeviceToHost), "a copy");
    std::size_t const real = letter == 'c' ? 4 : letter == 'z' ? 8 : size_of(letter);
    double most = 0;
    for (std::size_t at = 0; at + real <= a.size(); at += real)
        most = std::max(most, std::abs(number(&a[at], letter) - number(&b[at], letter)));
    return most;
}

struct measured {
    char const* function;
    char type;
    char const* ops; // of A and B
    long m, n, k, count;
};

// The functions of one library.
struct library {
    decltype(&cublasSgemm_v2) s;
    decltype(&cublasDgemm_v2) d;
    decltype(&cublasCgemm_v2) c;
    decltype(&cublasZgemm_v2) z;
    // cublas_v2.h overloads these two.
    cublasStatus_t (*ex)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, void const*,
                         void const*, cudaDataType, int, void const*, cudaDataType, int, void const*, void*,
                         cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
    cublasStatus_t (*strided)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                              void const*, void const*, cudaDataType, int, long long, void const*,
                              cudaDataType, int, long long, void const*, void*, cudaDataType, int, long long,
                              int, cublasComputeType_t, cublasGemmAlgo_t);
    decltype(&cublasLtMatmul) matmul;

    explicit library(void* of, void* of_lt) {
        auto const find = [](auto& f, void* in, char const* name) {
            f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(in, name));
            check(f != nullptr, name);
        };
        find(s, of, "cublasSgemm_v2"), find(d, of, "cublasDgemm_v2"), find(c, of, "cublasCgemm_v2");
        find(z, of, "cublasZgemm_v2"), find(ex, of, "cublasGemmEx"),
            find(strided, of, "cublasGemmStridedBatchedEx");
        find(matmul, of_lt, "cublasLtMatmul");
    }
};

class race {
public:
    race(cublasHandle_t h, cudaStream_t s, measured const& x)
        : h_(h), stream_(s), x_(x), copies_(copies_of(x)), a_(padded(bytes(x.m * x.k)) * copies_),
          b_(padded(bytes(x.k * x.n)) * copies_), c_{bytes(x.m * x.n), bytes(x.m * x.n)},
          bias_(static_cast<std::size_t>(x.m) * size_of(x.type)) {
        fill(a_, x.type), fill(b_, x.type), fill(bias_, x.type);
        for (device_memory const* c : {&c_[0], &c_[1]}) check(cudaMemset(c->at, 0, c->bytes), "cudaMemset");
        check(cudaEventCreate(&begin_), "an event"), check(cudaEventCreate(&end_), "an event");
        if (is("lt")) describe();
    }
    double run(library const& theirs, library const& ours) {
        call(theirs, 0);
        calls_ = 0;
        auto const before = std::chrono::steady_clock::now();
        call(ours, 1);
        double const first = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
        check(cudaDeviceSynchronize(), "the first call");
        double const difference_of_results = difference(c_[0], c_[1], x_.type);
        for (int i = 0; i < 3; ++i) call(theirs, 0), call(ours, 1);
        double const once = seconds(theirs, 0, 1).first;
        int const calls = std::max(3, std::min(200, static_cast<int>(0.02 / once)));
        std::vector<double> ratios, times, host;
        for (int round = 0; round < 9; ++round) {
            auto const there = seconds(theirs, 0, calls), here = seconds(ours, 1, calls);
            ratios.push_back(there.first / here.first), times.push_back(here.first),
                host.push_back(here.second);
        }
        double const flops = (x_.type == 'c' || x_.type == 'z' ? 8.0 : 2.0) * static_cast<double>(x_.m) *
                             static_cast<double>(x_.n) * static_cast<double>(x_.k) *
                             static_cast<double>(x_.count);
        std::printf("%-8s %c %s %6ldx%ldx%ld x%-5ld %8.3f %10.1f us %9.1f TFLOP/s  host %6.1f us  error "
                    "%8.1e  first %6.0f ms\n",
                    x_.function, x_.type, x_.ops, x_.m, x_.n, x_.k, x_.count, median(ratios),
                    median(times) * 1e6, flops / median(times) * 1e-12, median(host) * 1e6,
                    difference_of_results / static_cast<double>(x_.k), first * 1e3);
        std::fflush(stdout);
        return median(ratios);
    }

private:
    std::size_t bytes(long elements) const {
        return static_cast<std::size_t>(elements * x_.count) * size_of(x_.type);
    }
    bool is(char const* function) const { return std::strcmp(x_.function, function) == 0; }
    static double median(std::vector<double> x) {
        std::sort(x.begin(), x.end());
        return x[x.size() / 2];
    }
    // A call: seconds of the device, and of the host until it is queued.
    std::pair<double, double> seconds(library const& with, int which, int calls) {
        calls_ = 0;
        check(cudaDeviceSynchronize(), "waiting");
        check(cudaEventRecord(begin_, stream_), "an event");
        auto const before = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) call(with, which);
        double const host = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
        check(cudaEventRecord(end_, stream_), "an event");
        check(cudaEventSynchronize(end_), "a product");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin_, end_), "an event");
        return {static_cast<double>(ms) * 1e-3 / calls, host / calls};
    }
    template <class T, class F>
    cublasStatus_t typed(F f, T alpha, T beta, int which) {
        return f(h_, op(0), op(1), sides_[0], sides_[1], sides_[2], &alpha, static_cast<T const*>(a()), lda(),
                 static_cast<T const*>(b()), ldb(), &beta, static_cast<T*>(c_[which].at), sides_[0]);
    }
    void call(library const& with, int which) {
        cublasStatus_t done = CUBLAS_STATUS_NOT_SUPPORTED;
        cudaDataType const t = type_of(x_.type);
        float const one = 1, none = 0;
        double const one64 = 1, none64 = 0;
        bool const is64 = x_.type == 'd';
        void const *alpha = is64 ? static_cast<void const*>(&one64) : &one,
                   *beta = is64 ? static_cast<void const*>(&none64) : &none;
        auto const sums = is64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
        if (is("gemm") && x_.type == 's') done = typed<float>(with.s, 1, 0, which);
        if (is("gemm") && x_.type == 'd') done = typed<double>(with.d, 1, 0, which);
        if (is("gemm") && x_.type == 'c') done = typed<cuComplex>(with.c, {1, 0}, {0, 0}, which);
        if (is("gemm") && x_.type == 'z') done = typed<cuDoubleComplex>(with.z, {1, 0}, {0, 0}, which);
        if (is("ex"))
            done = with.ex(h_, op(0), op(1), sides_[0], sides_[1], sides_[2], alpha, a(), t, lda(), b(), t,
                           ldb(), beta, c_[which].at, t, sides_[0], sums, CUBLAS_GEMM_DEFAULT);
        if (is("strided"))
            done = with.strided(h_, op(0), op(1), sides_[0], sides_[1], sides_[2], alpha, a(), t, lda(),
                                x_.m * x_.k, b(), t, ldb(), x_.k * x_.n, beta, c_[which].at, t, sides_[0],
                                x_.m * x_.n, static_cast<int>(x_.count), sums, CUBLAS_GEMM_DEFAULT);
        if (is("lt"))
            done = with.matmul(lt_, what_, alpha, a(), la_, b(), lb_, beta, c_[which].at, lc_, c_[which].at,
                               lc_, &found_.algo, room_.at, room_.bytes, stream_);
        check(done, x_.function);
        ++calls_;
    }
    // A linear layer: a bias for each row of C, as columns are what is learned from.
    void describe() {
        check(cublasLtCreate(&lt_), "cublasLtCreate");
        cudaDataType const t = type_of(x_.type);
        check(cublasLtMatmulDescCreate(&what_, x_.type == 'd' ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                       x_.type == 'd' ? CUDA_R_64F : CUDA_R_32F),
              "a descriptor");
        cublasOperation_t const ta = op(0), tb = op(1);
        cublasLtEpilogue_t const steps = x_.count == 1 && std::getenv("SPEED_GELU")
                                             ? CUBLASLT_EPILOGUE_GELU_BIAS
                                         : std::getenv("SPEED_RELU") ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                                     : CUBLASLT_EPILOGUE_BIAS;
        cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof(ta));
        cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof(tb));
        cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_EPILOGUE, &steps, sizeof(steps));
        cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_.at, sizeof(bias_.at));
        auto const u = [](long x) { return static_cast<std::uint64_t>(x); };
        bool const a = x_.ops[0] == 'T', b = x_.ops[1] == 'T';
        check(cublasLtMatrixLayoutCreate(&la_, t, u(a ? x_.k : x_.m), u(a ? x_.m : x_.k), lda()), "a layout");
        check(cublasLtMatrixLayoutCreate(&lb_, t, u(b ? x_.n : x_.k), u(b ? x_.k : x_.n), ldb()), "a layout");
        check(cublasLtMatrixLayoutCreate(&lc_, t, u(x_.m), u(x_.n), x_.m), "a layout");
        cublasLtMatmulPreference_t preference = nullptr;
        check(cublasLtMatmulPreferenceCreate(&preference), "a preference");
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &room_.bytes, sizeof(room_.bytes));
        int count = 0;
        check(cublasLtMatmulAlgoGetHeuristic(lt_, what_, la_, lb_, lc_, lc_, preference, 1, &found_, &count),
              "a heuristic");
        check(count == 1, "an algorithm");
    }
    cublasOperation_t op(int which) const { return x_.ops[which] == 'T' ? CUBLAS_OP_T : CUBLAS_OP_N; }
    // Each call has other operands, until they come round again: none are in the cache from the last call.
    static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
    std::size_t copies_of(measured const& x) const {
        std::size_t const each = padded(bytes(x.m * x.k)) + padded(bytes(x.k * x.n));
        return std::clamp<std::size_t>((std::size_t{256} << 20) / each, 1, 64);
    }
    void* nth(device_memory const& of) const {
        return static_cast<char*>(of.at) + of.bytes / copies_ * (calls_ % copies_);
    }
    void* a() const { return nth(a_); }
    void* b() const { return nth(b_); }
    int lda() const { return x_.ops[0] == 'T' ? sides_[2] : sides_[0]; }
    int ldb() const { return x_.ops[1] == 'T' ? sides_[1] : sides_[2]; }

    cublasHandle_t h_;
    cudaStream_t stream_;
    measured x_;
    int sides_[3] = {static_cast<int>(x_.m), static_cast<int>(x_.n), static_cast<int>(x_.k)};
    std::size_t copies_, calls_ = 0;
    device_memory a_, b_, c_[2], bias_, room_{std::size_t{32} << 20};
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
    cublasLtHandle_t lt_ = nullptr;
    cublasLtMatmulDesc_t what_ = nullptr;
    cublasLtMatrixLayout_t la_ = nullptr, lb_ = nullptr, lc_ = nullptr;
    cublasLtMatmulHeuristicResult_t found_{};
};

std::vector<measured> cases() {
    std::vector<measured> all;
    for (char const type : {'d', 's', 'c', 'z'})
        for (long const n : {32L, 64L, 128L, 256L, 512L, 1000L, 1024L, 2048L, 4095L, 4096L, 8192L})
            if ((type == 'd' || type == 's') || (n > 32 && n < 8192 && n != 64 && n != 1000))
                all.push_back({"gemm", type, n % 3 == 0 ? "TN" : "NN", n, n, n, 1});
    for (char const type : {'d', 's'}) {
        all.push_back({"gemm", type, "NT", 4096, 16, 4096, 1}),
            all.push_back({"gemm", type, "TN", 64, 64, 65536, 1});
        all.push_back({"gemm", type, "TN", 4096, 1, 4096, 1}),
            all.push_back({"gemm", type, "NN", 4096, 4096, 64, 1});
    }
    for (char const type : {'w', 'h'})
        for (long const n : {64L, 256L, 1024L, 1000L, 2048L, 4096L, 8192L})
            all.push_back({"ex", type, n == 1024 ? "TN" : "NN", n, n, n, 1});
    for (long const tokens : {1L, 8L, 64L, 512L}) {
        all.push_back({"ex", 'w', "TN", 4096, tokens, 4096, 1}),
            all.push_back({"ex", 'w', "TN", 11008, tokens, 4096, 1});
    }
    for (char const type : {'d', 's', 'w', 'h'})
        for (long const tokens : {32L, 512L, 4096L}) {
            all.push_back({"lt", type, "TN", 1024, tokens, 1024, 1});
            all.push_back({"lt", type, "TN", 4096, tokens, 1024, 1});
        }
    struct { // layers of transformers: outputs, tokens, inputs
        long m, n, k;
    } constexpr layers[] = {{768, 16384, 768},  {3072, 16384, 768},  {768, 16384, 3072},  {4096, 2048, 4096},
                            {4096, 4096, 4096}, {11008, 4096, 4096}, {4096, 4096, 11008}, {8192, 8192, 1024},
                            {8192, 8192, 8192}, {2048, 8192, 512},   {2048, 2304, 2048},  {1024, 1024, 8192}};
    for (auto const& x : layers) all.push_back({"lt", 'w', "TN", x.m, x.n, x.k, 1});
    for (char const type : {'d', 's', 'w'}) {
        all.push_back({"strided", type, "NN", 16, 16, 16, 1000}),
            all.push_back({"strided", type, "NN", 64, 64, 64, 256});
        all.push_back({"strided", type, "TN", 512, 512, 64, 64}),
            all.push_back({"strided", type, "NN", 1024, 1024, 1024, 8});
    }
    for (char const type : {'d', 's'}) all.push_back({"gemm", type, "NN", 16384, 16384, 16384, 1});
    return all;
}
bool fits(measured const& x, std::string const& filter) {
    return (std::string(x.function) + ' ' + x.type).rfind(filter, 0) == 0;
}

// Calls that nobody chose. Sides are log-uniform up to 8192: two of three calls have multiples of 8 from 32 on, the others
// any numbers.
std::vector<measured> random_calls(std::size_t count, unsigned seed, std::string const& filter) {
    std::mt19937 random(seed);
    auto const below = [&](unsigned n) { return random() % n; };
    auto const side = [&](double least, double most, bool even) {
        double const where = static_cast<double>(random()) / 4294967296.0;
        long const x = std::lround(least * std::exp2(std::log2(most / least) * where));
        return even ? (x + 7) / 8 * 8 : x;
    };
    struct { // how often a function is called, and for which types
        char const *function, *types;
    } constexpr kinds[] = {{"gemm", "ddssddsscz"}, {"ex", "wwh"}, {"lt", "wwhds"}, {"strided", "dsw"}};
    char const* const ops[] = {"NN", "TN", "NT", "TT"};
    std::vector<measured> all;
    for (int tries = 0; all.size() < count && tries < 1000000; ++tries) {
        auto const& kind = kinds[below(4)];
        measured x{kind.function,
                   kind.types[below(static_cast<unsigned>(std::strlen(kind.types)))],
                   ops[below(4)],
                   1,
                   1,
                   1,
                   1};
        bool const is_lt = std::strcmp(x.function, "lt") == 0;
        bool const even = is_lt || below(3) > 0; // cublasLtMatmul finds algorithms for all of these
        double const least = even ? 32 : 1;
        x.m = side(least, 8192, even), x.n = side(least, 8192, even), x.k = side(least, 8192, even);
        if (std::strcmp(x.function, "strided") == 0) x.count = side(1, 256, false);
        double const elements =
            static_cast<double>(x.m * x.k + x.k * x.n + x.m * x.n) * static_cast<double>(x.count);
        if (elements < 1 << 28 && fits(x, filter)) all.push_back(x);
    }
    return all;
}

} // namespace

int main(int argc, char** argv) {
    std::string const filter = argc > 1 ? argv[1] : "";
    cublasHandle_t h = nullptr;
    cudaStream_t stream = nullptr;
    check(cublasCreate(&h), "cublasCreate"), check(cudaStreamCreate(&stream), "a stream");
    check(cublasSetStream(h, stream), "cublasSetStream");
    char const* const names[] = {"libcublas.so.13", "libcublasLt.so.13"};
    library const theirs(dlopen(names[0], RTLD_NOW | RTLD_NOLOAD), dlopen(names[1], RTLD_NOW | RTLD_NOLOAD));
    library const ours(RTLD_DEFAULT, RTLD_DEFAULT);
    if (ours.s == theirs.s)
        std::puts("libstratagemm-cublas.so is not preloaded: cuBLAS races against itself");
    std::puts("call     type        sides            ratio       time");
    auto const calls = argc > 2
                           ? random_calls(std::strtoul(argv[2], nullptr, 10),
                                          argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1, filter)
                           : cases();
    double logarithms = 0, least = 1e300;
    int count = 0, slower = 0;
    for (measured const& x : calls) {
        if (!fits(x, filter)) continue;
        double const ratio = race(h, stream, x).run(theirs, ours);
        logarithms += std::log(ratio), least = std::min(least, ratio);
        ++count, slower += ratio < 0.97;
    }
    if (count > 0)
        std::printf("%d calls: %.3f in the mean, least %.3f, %d below 0.97\n", count,
                    std::exp(logarithms / count), least, slower);
    check(cublasDestroy(h), "cublasDestroy");
    return 0;
}
