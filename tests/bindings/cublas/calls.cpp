// The functions of cuBLAS, which a preloaded library does on the CPU that stands for a device. The cuBLAS beneath does
// nothing: a product that is left to it is counted there, and C stays as it was.
#include "catch.hpp"
#include "cublas.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

using complex = std::complex<double>;

template <class Function>
Function* of_driver(char const* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
}
#define NAMED(NAME) #NAME
#define DRIVER(NAME) of_driver<decltype(NAME)>(NAMED(NAME)) // cuda.h renames some to newer versions

// A program of CUDA: its context is current, and it has a stream.
struct program {
    handle h = nullptr;
    stream s = nullptr;

    program() {
        CUcontext context = nullptr;
        REQUIRE(DRIVER(cuInit)(0) == CUDA_SUCCESS);
        REQUIRE(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
        REQUIRE(DRIVER(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
        REQUIRE(DRIVER(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(cublasCreate_v2(&h) == 0);
        REQUIRE(cublasSetStream_v2(h, s) == 0);
    }
    program(program const&) = delete;
    ~program() {
        (void)cublasDestroy_v2(h);
        (void)DRIVER(cuStreamDestroy)(s);
    }
    void begin_capture() const {
        REQUIRE(DRIVER(cuStreamBeginCapture)(s, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    }
    void end_capture() const {
        CUgraph graph = nullptr;
        REQUIRE(DRIVER(cuStreamEndCapture)(s, &graph) == CUDA_SUCCESS);
    }
};
// What is left to the library beneath while one of these lives.
struct watch {
    int const before = beneath_calls();
    int left() const { return beneath_calls() - before; }
};

// 16-bit floats, of integers that they hold exactly.
struct bf16 {
    std::uint16_t bits = 0;
    bf16() = default;
    explicit bf16(double x) {
        auto const f = static_cast<float>(x);
        std::uint32_t wide = 0;
        std::memcpy(&wide, &f, sizeof(wide));
        bits = static_cast<std::uint16_t>(wide >> 16);
    }
    explicit operator double() const {
        std::uint32_t const wide = std::uint32_t{bits} << 16;
        float f = 0;
        std::memcpy(&f, &wide, sizeof(f));
        return static_cast<double>(f);
    }
};

complex value(float x) { return {static_cast<double>(x), 0}; }
complex value(double x) { return {x, 0}; }
complex value(c8 x) { return {static_cast<double>(x.re), static_cast<double>(x.im)}; }
complex value(c16 x) { return {x.re, x.im}; }
complex value(bf16 x) { return {static_cast<double>(x), 0}; }
complex value(std::int8_t x) { return {static_cast<double>(x), 0}; }
complex value(std::int32_t x) { return {static_cast<double>(x), 0}; }
template <class T>
T from(complex x) {
    if constexpr (std::is_same_v<T, c8>)
        return {static_cast<float>(x.real()), static_cast<float>(x.imag())};
    else if constexpr (std::is_same_v<T, c16>)
        return {x.real(), x.imag()};
    else
        return static_cast<T>(x.real());
}

// The matrices of a product, filled with small integers, whose sums are exact in all types.
template <class T, class C = T>
struct operands {
    int m, n, k, lda, ldb, ldc, count;
    int ta, tb;
    long long a_step, b_step, c_step;
    std::vector<T> a, b;
    std::vector<C> c, first;
    C alpha = from<C>({2, 0}), beta = from<C>({-1, 0});

    operands(int ta_, int tb_, int m_, int n_, int k_, int count_ = 1)
        : m(m_), n(n_), k(k_), lda((ta_ ? k_ : m_) + 1), ldb((tb_ ? n_ : k_) + 2), ldc(m_ + 3), count(count_),
          ta(ta_), tb(tb_), a_step((ta_ ? m_ : k_) * static_cast<long long>(lda)),
          b_step((tb_ ? k_ : n_) * static_cast<long long>(ldb)), c_step(n_ * static_cast<long long>(ldc)),
          a(static_cast<std::size_t>(a_step * count_)), b(static_cast<std::size_t>(b_step * count_)),
          c(static_cast<std::size_t>(c_step * count_)) {
        std::mt19937 random(7);
        auto const any = [&] { return static_cast<double>(random() % 7) - 3; };
        for (T& x : a) x = from<T>({any(), any()});
        for (T& x : b) x = from<T>({any(), any()});
        for (C& x : c) x = from<C>({any(), any()});
        first = c;
    }
    static complex at(std::vector<T> const& x, int op, int ld, long long begin, int i, int j) {
        complex const v = value(
            x[static_cast<std::size_t>(begin + (op == 1 || op == 2 ? j + static_cast<long long>(i) * ld
                                                                   : i + static_cast<long long>(j) * ld))]);
        return op >= 2 ? std::conj(v) : v;
    }
    complex expected(int p, int i, int j) const {
        complex sum = 0;
        for (int l = 0; l < k; ++l)
            sum += at(a, ta, lda, p * a_step, i, l) * at(b, tb, ldb, p * b_step, l, j);
        return value(alpha) * sum + value(beta) * value(first[place(p, i, j)]);
    }
    std::size_t place(int p, int i, int j) const {
        return static_cast<std::size_t>(p * c_step + i + static_cast<long long>(j) * ldc);
    }
    // The largest difference from what is expected; padding is to stay as it was.
    template <class After>
    double error(After const& after) const {
        double most = 0;
        std::vector<char> inside(c.size());
        for (int p = 0; p < count; ++p)
            for (int j = 0; j < n; ++j)
                for (int i = 0; i < m; ++i) {
                    inside[place(p, i, j)] = 1;
                    most = std::max(most, std::abs(after(expected(p, i, j), i) - value(c[place(p, i, j)])));
                }
        for (std::size_t x = 0; x < c.size(); ++x)
            if (!inside[x] && value(c[x]) != value(first[x])) most = HUGE_VAL;
        return most;
    }
    double error() const {
        return error([](complex x, int) { return x; });
    }
    bool is_untouched() const { return std::memcmp(c.data(), first.data(), c.size() * sizeof(C)) == 0; }
};

#define PLAIN(F, X)                                                                                          \
    F(x.h, X.ta, X.tb, X.m, X.n, X.k, &X.alpha, X.a.data(), X.lda, X.b.data(), X.ldb, &X.beta, X.c.data(),   \
      X.ldc)
#define BATCH(F, X)                                                                                          \
    F(x.h, X.ta, X.tb, X.m, X.n, X.k, &X.alpha, X.a.data(), X.lda, X.a_step, X.b.data(), X.ldb, X.b_step,    \
      &X.beta, X.c.data(), X.ldc, X.c_step, X.count)

// A product that is done here, and right.
#define DONE(CALL, X)                                                                                        \
    do {                                                                                                     \
        watch const watched;                                                                                 \
        CHECK((CALL) == 0);                                                                                  \
        CHECK(watched.left() == 0);                                                                          \
        CHECK((X).error() == 0);                                                                             \
        (X).c = (X).first;                                                                                   \
    } while (false)
// One that is left beneath.
#define LEFT(CALL, X)                                                                                        \
    do {                                                                                                     \
        watch const watched;                                                                                 \
        CHECK((CALL) == 0);                                                                                  \
        CHECK(watched.left() == 1);                                                                          \
        CHECK((X).is_untouched());                                                                           \
    } while (false)

enum : int { float32 = 0, float64 = 1, int8 = 3, int32 = 10, bfloat16 = 14 };
enum : int {
    sums32 = 68,
    sums32_pedantic = 69,
    sums32_tf32 = 77,
    sums32_emulated = 78,
    sums64 = 70,
    sums_int = 72
};

} // namespace

TEST_CASE("products of one type") {
    program const x;
    for (int const ta : {0, 1})
        for (int const tb : {0, 1}) {
            operands<double> d(ta, tb, 20, 17, 9);
            DONE(PLAIN(cublasDgemm_v2, d), d);
            operands<float> s(ta, tb, 20, 17, 9);
            DONE(PLAIN(cublasSgemm_v2_64, s), s);
        }
    operands<c16> z(2, 3, 7, 5, 6);
    DONE(PLAIN(cublasZgemm_v2, z), z);
    operands<c8> c(1, 2, 7, 5, 6);
    DONE(PLAIN(cublasCgemm_v2, c), c);
}

TEST_CASE("batches") {
    program const x;
    operands<double> d(0, 1, 20, 17, 9, 3);
    DONE(BATCH(cublasDgemmStridedBatched, d), d);
    DONE(BATCH(cublasDgemmStridedBatched_64, d), d);
    // One B for all.
    d.b_step = 0;
    DONE(BATCH(cublasDgemmStridedBatched, d), d);
    // Addresses on the device cannot be read without waiting.
    double const* a = d.a.data();
    double const* b = d.b.data();
    double* to = d.c.data();
    LEFT(cublasDgemmBatched(x.h, 0, 1, d.m, d.n, d.k, &d.alpha, &a, d.lda, &b, d.ldb, &d.beta, &to, d.ldc, 1),
         d);
}

TEST_CASE("products of any types") {
    program const x;
    float const one = 1, none = 0;
    operands<bf16> w(1, 0, 24, 16, 32);
    w.alpha = bf16(1), w.beta = bf16(0);
    auto const bf = [&](int sums) {
        return cublasGemmEx(x.h, w.ta, w.tb, w.m, w.n, w.k, &one, w.a.data(), bfloat16, w.lda, w.b.data(),
                            bfloat16, w.ldb, &none, w.c.data(), bfloat16, w.ldc, sums, -1);
    };
    {
        watch const left;
        CHECK(bf(sums32) == 0);
        CHECK(left.left() == 0);
        CHECK(w.error() <= 1); // rounded to eight bits
        w.c = w.first;
    }
    for (int const sums : {sums32_pedantic, sums32_tf32, sums32_emulated, sums64}) LEFT(bf(sums), w);
    operands<std::int8_t, std::int32_t> i(1, 0, 24, 16, 32);
    DONE(cublasGemmEx_64(x.h, i.ta, i.tb, i.m, i.n, i.k, &i.alpha, i.a.data(), int8, i.lda, i.b.data(), int8,
                         i.ldb, &i.beta, i.c.data(), int32, i.ldc, sums_int, -1),
         i);
    operands<double> d(0, 1, 20, 17, 9, 3);
    DONE(cublasGemmStridedBatchedEx(x.h, d.ta, d.tb, d.m, d.n, d.k, &d.alpha, d.a.data(), float64, d.lda,
                                    d.a_step, d.b.data(), float64, d.ldb, d.b_step, &d.beta, d.c.data(),
                                    float64, d.ldc, d.c_step, d.count, sums64, -1),
         d);
    // Types that do not belong together.
    LEFT(cublasGemmEx(x.h, d.ta, d.tb, d.m, d.n, d.k, &d.alpha, d.a.data(), float64, d.lda, d.b.data(),
                      float32, d.ldb, &d.beta, d.c.data(), float64, d.ldc, sums64, -1),
         d);
}

TEST_CASE("what is left beneath") {
    program const x;
    operands<float> s(0, 0, 20, 17, 9);
    auto const call = [&] { return PLAIN(cublasSgemm_v2, s); };
    DONE(call(), s);
    cublasSetPointerMode_v2(x.h, 1);
    LEFT(call(), s);
    cublasSetPointerMode_v2(x.h, 0);
    for (int const mode : {1, 2, 3, 4, 8, 3 | 16}) {
        cublasSetMathMode(x.h, mode);
        LEFT(call(), s);
    }
    cublasSetMathMode(x.h, 16); // no sums in fewer bits: here there are none
    DONE(call(), s);
    cublasSetMathMode(x.h, 0);
    cublasSetAtomicsMode(x.h, 1);
    LEFT(call(), s);
    cublasSetAtomicsMode(x.h, 0);
    cublasSetSmCountTarget(x.h, 4);
    LEFT(call(), s);
    cublasSetSmCountTarget(x.h, 0);

    // Wrong arguments are cuBLAS's to refuse, with its status.
    beneath_says(7);
    watch const w;
    CHECK(cublasSgemm_v2(x.h, 5, 0, 20, 17, 9, &s.alpha, s.a.data(), s.lda, s.b.data(), s.ldb, &s.beta,
                         s.c.data(), s.ldc) == 7);
    CHECK(cublasSgemm_v2(x.h, 0, 0, -1, 17, 9, &s.alpha, s.a.data(), s.lda, s.b.data(), s.ldb, &s.beta,
                         s.c.data(), s.ldc) == 7);
    CHECK(cublasSgemm_v2(x.h, 0, 0, 20, 17, 9, &s.alpha, s.a.data(), 19, s.b.data(), s.ldb, &s.beta,
                         s.c.data(), s.ldc) == 7);
    CHECK(cublasSgemm_v2(x.h, 0, 0, 20, 17, 9, nullptr, s.a.data(), s.lda, s.b.data(), s.ldb, &s.beta,
                         s.c.data(), s.ldc) == 7);
    // C overlaps A.
    CHECK(cublasSgemm_v2(x.h, 0, 0, 9, 9, 9, &s.alpha, s.c.data(), 9, s.b.data(), 9, &s.beta, s.c.data(),
                         9) == 7);
    CHECK(w.left() == 5);
    beneath_says(0);
    CHECK(s.is_untouched());

    // No context, or another one.
    CUcontext current = nullptr;
    DRIVER(cuCtxPopCurrent)(&current);
    LEFT(call(), s);
    DRIVER(cuCtxPushCurrent)(reinterpret_cast<CUcontext>(&current));
    LEFT(call(), s);
    DRIVER(cuCtxPopCurrent)(&current);
    DRIVER(cuCtxPushCurrent)(nullptr);
    LEFT(call(), s);
}

TEST_CASE("graphs get what ran before") {
    program const x;
    operands<float> s(0, 1, 21, 18, 10);
    auto const call = [&] { return PLAIN(cublasSgemm_v2, s); };
    x.begin_capture();
    LEFT(call(), s);
    x.end_capture();
    DONE(call(), s);
    x.begin_capture();
    DONE(call(), s);
    x.end_capture();

    // With workspace: k is so long that it is cut into parts. Another stream has none yet.
    operands<float> deep(0, 0, 16, 16, 20000);
    auto const long_sum = [&] { return PLAIN(cublasSgemm_v2, deep); };
    DONE(long_sum(), deep);
    for (int round = 0; round < 2; ++round) { // a graph keeps its workspace; the next product gets other
        x.begin_capture();
        DONE(long_sum(), deep);
        x.end_capture();
        DONE(long_sum(), deep);
    }
    stream other = nullptr;
    REQUIRE(DRIVER(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    cublasSetStream_v2(x.h, other);
    DONE(long_sum(), deep);
    cublasSetStream_v2(x.h, x.s);
    REQUIRE(DRIVER(cuStreamDestroy)(other) == CUDA_SUCCESS);
    // A handle that is destroyed gives its workspace back, and one at the same address begins without.
    handle second = nullptr;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(cublasCreate_v2(&second) == 0);
        cublasSetStream_v2(second, x.s);
        CHECK(cublasSgemm_v2(second, 0, 0, 16, 16, 20000, &deep.alpha, deep.a.data(), deep.lda, deep.b.data(),
                             deep.ldb, &deep.beta, deep.c.data(), deep.ldc) == 0);
        REQUIRE(cublasDestroy_v2(second) == 0);
        deep.c = deep.first;
    }
}

TEST_CASE("threads with one handle") {
    // Their products need workspace, of which the handle has one.
    program const x;
    CUcontext context = nullptr;
    REQUIRE(DRIVER(cuCtxGetCurrent)(&context) == CUDA_SUCCESS);
    watch const watched;
    double worst[4] = {};
    std::vector<std::thread> all;
    for (double& error : worst)
        all.emplace_back([&] {
            (void)DRIVER(cuCtxSetCurrent)(context);
            for (int i = 0; i < 3; ++i) {
                operands<float> s(0, 0, 16, 16, 20000);
                int const status = PLAIN(cublasSgemm_v2, s);
                error = std::max(error, status == 0 ? s.error() : HUGE_VAL);
            }
        });
    for (std::thread& one : all) one.join();
    for (double const error : worst) CHECK(error == 0);
    CHECK(watched.left() == 0);
}

namespace {

// cublasLtMatmul of the operands above.
template <class T>
struct matmul {
    operands<T> o;
    int type, sums;
    void *what = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
    std::vector<T> bias;

    matmul(int type_, int sums_, int m = 24, int n = 16, int k = 32)
        : o(1, 0, m, n, k), type(type_), sums(sums_), bias(static_cast<std::size_t>(m)) {
        cublasLtMatmulDescCreate(&what, sums, sums == sums64 ? float64 : float32);
        cublasLtMatrixLayoutCreate(&a, type, static_cast<unsigned>(k), static_cast<unsigned>(m), o.lda);
        cublasLtMatrixLayoutCreate(&b, type, static_cast<unsigned>(k), static_cast<unsigned>(n), o.ldb);
        cublasLtMatrixLayoutCreate(&c, type, static_cast<unsigned>(m), static_cast<unsigned>(n), o.ldc);
        tell(3, std::int32_t{1});
        for (std::size_t i = 0; i < bias.size(); ++i)
            bias[i] = from<T>(complex(static_cast<double>(i % 5) - 2));
    }
    matmul(matmul const&) = delete;
    ~matmul() {
        cublasLtMatmulDescDestroy(what);
        for (void* const x : {a, b, c}) cublasLtMatrixLayoutDestroy(x);
    }
    template <class V>
    void tell(int id, V value) {
        REQUIRE(cublasLtMatmulDescSetAttribute(what, id, &value, sizeof(value)) == 0);
    }
    template <class S>
    int call(program const& x, S alpha, S beta) {
        return cublasLtMatmul(x.h, what, &alpha, o.a.data(), a, o.b.data(), b, &beta, o.c.data(), c,
                              o.c.data(), c, nullptr, nullptr, 0, x.s);
    }
};
double relu(double x) { return x < 0 ? 0 : x; }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

} // namespace

TEST_CASE("cublasLtMatmul") {
    program const x;
    matmul<float> f(float32, sums32);
    auto const call = [&] { return f.call(x, 2.0f, -1.0f); };
    DONE(call(), f.o);
    f.tell(8, f.bias.data());
    struct {
        std::uint32_t epilogue;
        double (*then)(double);
    } const steps[] = {{4, [](double v) { return v; }}, {2, relu}, {6, relu}, {32, gelu}, {36, gelu}};
    for (auto const& step : steps) {
        f.tell(7, step.epilogue);
        watch const w;
        CHECK(call() == 0);
        CHECK(w.left() == 0);
        CHECK(f.o.error([&](complex v, int i) {
            double const added =
                step.epilogue & 4 ? static_cast<double>(f.bias[static_cast<std::size_t>(i)]) : 0;
            return complex(step.then(v.real() + added));
        }) < 1e-4);
        f.o.c = f.o.first;
    }
    // Outputs beside C, and gradients.
    for (unsigned const epilogue : {2u | 128, 32u | 128, 6u | 128, 8u | 128, 64u | 128, 256u, 512u}) {
        f.tell(7, epilogue);
        LEFT(call(), f.o);
    }
    f.tell(7, 1u);
    DONE(call(), f.o);
    // What is not known, scales among it.
    for (int const id : {17, 20, 61}) {
        f.tell(id, std::int64_t{1});
        LEFT(call(), f.o);
        f.tell(id, std::int64_t{0});
    }
    f.tell(15, std::int32_t{3});
    LEFT(call(), f.o);
    f.tell(15, std::int32_t{0});
    f.tell(2, std::int32_t{1});
    LEFT(call(), f.o);
    f.tell(2, std::int32_t{0});
    std::int32_t const order = 5;
    cublasLtMatrixLayoutSetAttribute(f.a, 1, &order, sizeof(order));
    LEFT(call(), f.o);

    matmul<double> d(float64, sums64);
    d.tell(8, d.bias.data());
    d.tell(7, 4u);
    {
        watch const w;
        CHECK(d.call(x, 2.0, -1.0) == 0);
        CHECK(w.left() == 0);
        CHECK(d.o.error([&](complex v, int i) { return v + d.bias[static_cast<std::size_t>(i)]; }) == 0);
    }
    // A bias of 16 bits, beside sums of 32.
    matmul<bf16> w(bfloat16, sums32);
    w.o.alpha = bf16(1), w.o.beta = bf16(0);
    w.tell(8, w.bias.data());
    w.tell(7, 6u);
    watch const seen;
    CHECK(w.call(x, 1.0f, 0.0f) == 0);
    CHECK(seen.left() == 0);
    CHECK(w.o.error([&](complex v, int i) {
        return complex(relu(v.real() + static_cast<double>(w.bias[static_cast<std::size_t>(i)])));
    }) <= 1);
}

TEST_CASE("what cuBLAS does faster is left to it, if no policy is asked for", "[.unset]") {
    program const x;
    operands<double> d(0, 0, 20, 17, 9);
    DONE(PLAIN(cublasDgemm_v2, d), d);
    operands<c16> z(0, 0, 7, 5, 6);
    LEFT(PLAIN(cublasZgemm_v2, z), z);
    operands<c8> c(0, 0, 7, 5, 6);
    LEFT(PLAIN(cublasCgemm_v2, c), c);
    // Several tiles for each multiprocessor, and few terms.
    matmul<bf16> w(bfloat16, sums32, 512, 512, 16);
    w.tell(8, w.bias.data());
    w.tell(7, 4u);
    LEFT(w.call(x, 1.0f, 0.0f), w.o);
    // One tile has no next one, beside which cuBLAS would do the steps.
    matmul<bf16> one(bfloat16, sums32);
    one.tell(8, one.bias.data());
    one.tell(7, 36u);
    watch const seen;
    CHECK(one.call(x, 1.0f, 0.0f) == 0);
    CHECK(seen.left() == 0);
}
