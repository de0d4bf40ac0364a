// What every library in a race looks like: it says which products it takes, prepares outside the timed region,
// and runs. One adapter file each in peers/; the library itself is one more contender (library.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class element { f32, f64, bf16, i8 }; // C is float for bf16 and int32 for i8

inline int size_of(element e) {
    return e == element::f64 ? 8 : e == element::f32 ? 4 : e == element::bf16 ? 2 : 1;
}
inline int size_of_result(element e) { return e == element::f64 ? 8 : 4; }

// C = A B, row-major and dense; a transposed operand is stored as the transpose. A batch lies back to back.
struct problem {
    element type = element::f32;
    long m = 0, n = 0, k = 0;
    int threads = 1;
    long count = 1;
    bool a_transposed = false, b_transposed = false;

    long lda() const { return a_transposed ? m : k; }
    long ldb() const { return b_transposed ? k : n; }
    long ldc() const { return n; }
    double flops() const { return 2.0 * double(m) * double(n) * double(k) * double(count); }
    double bytes() const {
        return double(count * ((m * k + k * n) * size_of(type) + m * n * size_of_result(type)));
    }
};

struct operands {
    void const* a;
    void const* b;
    void* c;
};

enum class role {
    library,     // ours
    peer,        // counts for the ratio
    information, // shown, but not a like-for-like competitor
};

class contender {
public:
    virtual ~contender() = default;
    virtual std::string name() const = 0;
    virtual std::string version() const = 0; // and the kernels it chose, where it tells
    virtual role part() const { return role::peer; }
    virtual bool takes(problem const&) const = 0;
    virtual void prepare(problem const&, operands const&) {}    // threads, run-time compilation: never timed
    virtual void run(problem const&, operands const&) = 0;      // the whole batch once
    virtual long workspace(problem const&) const { return -1; } // in bytes, where it tells
};

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

// Peers without a batched call get what their users write: a parallel loop over the batch.
// `part(first, last)` runs once a thread, so that the loop itself can live in the peer's own translation unit.
template <class Part>
void split_batch(problem const& p, Part&& part) {
    if (p.threads == 1 || p.count == 1) return part(0L, p.count);
#pragma omp parallel for num_threads(p.threads) schedule(static)
    for (int t = 0; t < p.threads; ++t) part(p.count * t / p.threads, p.count * (t + 1) / p.threads);
}

// Null where the peer is not installed.
std::unique_ptr<contender> make_library();
std::vector<std::unique_ptr<contender>> make_strassen_and_base();
std::unique_ptr<contender> make_openblas();
std::unique_ptr<contender> make_blis();
std::unique_ptr<contender> make_eigen();
std::unique_ptr<contender> make_eigen_plain();
std::unique_ptr<contender> make_onednn();
std::unique_ptr<contender> make_onednn_packed();
std::unique_ptr<contender> make_libxsmm();
std::unique_ptr<contender> make_inlined();
std::vector<std::unique_ptr<contender>> make_peers(); // all that are installed

} // namespace bench
