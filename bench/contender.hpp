// What takes part in a race: the library and its peers. A contender says which problems it takes, prepares
// outside the timed region, and runs. A problem is a product, a batch of them or a group. policy.hpp makes a
// contender of any policy of stratagemm; peers/ has one file for each other library.
#pragma once

#include <stratagemm/core/types.hpp>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// The element types of a product: of A and B, and of C.
enum class element { f32, f64, tf32, bf16, bf16_bf16, f16, f16_f16, fp8_bf16, i8, c32, c64 };

template <class In, class Out>
struct types {
    using in = In;
    using out = Out;
};
template <element>
struct types_of;
template <>
struct types_of<element::f32> : types<float, float> {};
template <>
struct types_of<element::f64> : types<double, double> {};
template <>
struct types_of<element::tf32> : types<float, float> {}; // which may be rounded to tf32
template <>
struct types_of<element::bf16> : types<stratagemm::bfloat16, float> {};
template <>
struct types_of<element::bf16_bf16> : types<stratagemm::bfloat16, stratagemm::bfloat16> {};
template <>
struct types_of<element::f16> : types<stratagemm::half, float> {};
template <>
struct types_of<element::f16_f16> : types<stratagemm::half, stratagemm::half> {};
template <>
struct types_of<element::fp8_bf16> : types<stratagemm::fp8_e4m3, stratagemm::bfloat16> {};
template <>
struct types_of<element::i8> : types<std::int8_t, std::int32_t> {};
template <>
struct types_of<element::c32> : types<std::complex<float>, std::complex<float>> {};
template <>
struct types_of<element::c64> : types<std::complex<double>, std::complex<double>> {};

// f(types_of<e>) if e is among these.
template <element... These, class F>
void visit(element e, F&& f) {
    (void)((e == These && (f(types_of<These>{}), true)) || ...);
}
template <class F>
void visit_all(element e, F&& f) {
    using enum element;
    visit<f32, f64, tf32, bf16, bf16_bf16, f16, f16_f16, fp8_bf16, i8, c32, c64>(e, f);
}
inline int size_of(element e) {
    int size = 0;
    visit_all(e, [&]<class T>(T) { size = sizeof(typename T::in); });
    return size;
}
inline int size_of_result(element e) {
    int size = 0;
    visit_all(e, [&]<class T>(T) { size = sizeof(typename T::out); });
    return size;
}

// One product of a problem, and where its matrices begin, in elements.
struct member {
    long m, n, k, a = 0, b = 0, c = 0;
};

// C = A B, row-major and dense; a transposed operand is stored as the transpose. A batch lies back to back.
struct problem {
    element type = element::f32;
    long m = 0, n = 0, k = 0;
    int threads = 1; // 0 on a device
    long count = 1;
    bool a_transposed = false, b_transposed = false;
    bool added = false;          // C = 2 A B + 3 E
    bool relu = false;           // applied to that; no operand has a negative element then
    std::vector<member> group{}; // products of any sides; m, n, k are the largest then

    bool plain() const { return count == 1 && !added && !relu && !a_transposed && !b_transposed; }
    member at(long i) const {
        return group.empty() ? member{m, n, k, i * m * k, i * k * n, i * m * n} : group[std::size_t(i)];
    }
    long lda() const { return a_transposed ? m : k; }
    long ldb() const { return b_transposed ? k : n; }
    long ldc() const { return n; }
    double flops() const {
        double sum = 0;
        for (member const& x : group) sum += 2.0 * double(x.m) * double(x.n) * double(x.k);
        double const real = group.empty() ? 2.0 * double(m) * double(n) * double(k) * double(count) : sum;
        return type == element::c32 || type == element::c64 ? 4 * real : real;
    }
    // Elements of A, B and C.
    member sizes() const {
        if (group.empty()) return {0, 0, 0, count * m * k, count * k * n, count * m * n};
        member const& x = group.back();
        return {0, 0, 0, x.a + x.m * x.k, x.b + x.k * x.n, x.c + x.m * x.n};
    }
    double bytes() const {
        member const all = sizes();
        return double((all.a + all.b) * size_of(type) + all.c * size_of_result(type));
    }
};

// Addresses on the host, or what the contender's machine uses for them.
struct operands {
    void const* a;
    void const* b;
    void* c;
    void const* e = nullptr;
    long set = 0; // on a device there are several sets of operands, and runs take them in turn
};

enum class role {
    library,     // ours; the ratios are those of the first of them
    peer,        // counts for the ratio
    information, // shown, but not a like-for-like competitor
};

// What a policy promises: relative to |A||B|, or, if normwise, to k max|A| max|B|. Negative: it does not
// tell.
struct guarantee {
    double worst = -1;
    bool normwise = false;
};

class machine;

class contender {
public:
    virtual ~contender() = default;
    virtual std::string name() const = 0;
    virtual std::string version() const = 0; // and the kernels it chose, where it tells
    virtual role part() const { return role::peer; }
    virtual bool takes(problem const&) const = 0;
    virtual machine* home() { return nullptr; } // where its operands live, if not on the machine of the race

    // Not timed. enter: before each sample, what others may have changed, such as the number of threads.
    // prepare: once for each case and set of operands, in order.
    virtual void enter(problem const&) {}
    virtual void prepare(problem const&, operands const&) {}
    virtual void run(problem const&,
                     operands const&) = 0; // the whole batch once; on a device it may only queue it

    virtual long workspace(problem const&) const { return -1; } // in bytes, where it tells
    virtual guarantee bound(problem const&) const { return {}; }
    virtual double estimate(problem const&) const { return -1; } // in seconds, where it tells
    virtual std::string ran(problem const&) const { return ""; } // what the last run did, and why
};
using contenders = std::vector<std::unique_ptr<contender>>;

// The i-th matrix of a batch.
template <class T>
T const* matrix_a(problem const& p, operands const& x, long i) {
    return static_cast<T const*>(x.a) + i * p.m * p.k;
}
template <class T>
T const* matrix_b(problem const& p, operands const& x, long i) {
    return static_cast<T const*>(x.b) + i * p.k * p.n;
}
template <class T>
T* matrix_c(problem const& p, operands const& x, long i) {
    return static_cast<T*>(x.c) + i * p.m * p.n;
}

// Peers without a batched call get what their users write: a parallel loop over the batch. `part(first,
// last)` runs once a thread, so that the loop itself can live in the peer's own translation unit.
template <class Part>
void split_batch(problem const& p, Part&& part) {
    if (p.threads == 1 || p.count == 1) return part(0L, p.count);
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (int t = 0; t < p.threads; ++t) part(p.count * t / p.threads, p.count * (t + 1) / p.threads);
}

contenders make_libraries();           // host, as a newcomer compiles it
contenders make_invariant();           // host{.invariant = true}, and host{}
contenders make_strassen();            // over host, and one level of it, and its base, which it has to beat
contenders make_odd_sides(int levels); // of it: what levels leave is peeled, or the operands are padded
contenders make_verified();            // over host, and its base
contenders make_host_weights();        // host, of weights in bfloat16 and in floats

// What a contract looks at beside the data: whether it pays here, or nothing.
enum class choice { speed, data };
// The native product first. In emulators.cpp, and over a device in emulators_cuda.cpp: a program is linked with one.
contenders make_emulators(choice);

// Null where the peer is not installed.
std::unique_ptr<contender> make_openblas();
std::unique_ptr<contender> make_blis();
std::unique_ptr<contender> make_eigen();
std::unique_ptr<contender> make_eigen_plain();
std::unique_ptr<contender> make_onednn();
std::unique_ptr<contender> make_onednn_packed();
std::unique_ptr<contender> make_libxsmm();
std::unique_ptr<contender> make_inlined();
contenders make_peers();                          // of the CPU: all that are installed
std::unique_ptr<contender> make_cublas(machine&); // on what make_cuda_machine() gives
// FP64 from fixed-point numbers and FP32 from bfloat16, since cuBLAS 13; it refuses a product where it cannot do that
std::unique_ptr<contender> make_cublas_emulation(machine&);

} // namespace bench
