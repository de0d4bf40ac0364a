// What kernels begin with: element types and arithmetic on them; and for those of a product its operands,
// arguments and end.
//
// Defined from outside: IN, OUT (element types), REAL (what sums are kept in), COMPLEX, INTEGER (0 or 1),
// EPILOGUE_MEMBERS (a declaration for each value that an epilogue has), EPILOGUE_BODY (statements that change x) and
// SPREADS (1: the result goes to several targets).
#pragma once

#include "../../../core/config.hpp"

STRATAGEMM_BEGIN

inline constexpr char cuda_elements_text[] = R"cu(
typedef long long index;

/* Elements as they lie in memory, and as numbers. Types of 16 bits, and fp8, are storage only. */
struct half { unsigned short bits; };
struct bfloat16 { unsigned short bits; };
struct fp8_e4m3 { unsigned char bits; };
struct fp8_e5m2 { unsigned char bits; };
template <class R> struct complex { R x, y; };
typedef complex<float> complex64;
typedef complex<double> complex128;
typedef signed char byte;
typedef unsigned uint;

inline float widen(float x) { return x; }
inline double widen(double x) { return x; }
inline unsigned widen(signed char x) { return (unsigned)(int)x; }
inline unsigned widen(int x) { return (unsigned)x; }
inline float widen(half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
inline float widen(bfloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
/* The upper half of a half; with an exponent that is 8 less. */
inline float widen(fp8_e5m2 x) { return widen(half{(unsigned short)(x.bits << 8)}); }
inline float widen(fp8_e4m3 x) {
    bool const nan = (x.bits & 0x7f) == 0x7f;
    return nan ? __uint_as_float(0x7fc00000u)
               : 256 * widen(half{(unsigned short)((x.bits & 0x80) << 8 | (x.bits & 0x7f) << 7)});
}
template <class R> complex<R> widen(complex<R> x) { return x; }

template <class T> struct to { template <class S> static T from(S x) { return (T)x; } };
template <> struct to<half> {
    static half from(float x) {
        half y;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
        return y;
    }
};
template <> struct to<bfloat16> {
    static bfloat16 from(float x) {
#if __CUDA_ARCH__ >= 800
        bfloat16 y;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
        return y;
#else
        unsigned const u = __float_as_uint(x);
        bool const nan = (u & 0x7fffffffu) > 0x7f800000u;
        return {(unsigned short)(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
#endif
    }
};
/* As core/types.hpp has it. */
inline unsigned char narrow(float x, unsigned fraction, unsigned least, unsigned most, unsigned most_bits) {
    unsigned const u = __float_as_uint(x), size = u & 0x7fffffffu, lost = 23 - fraction;
    unsigned r = most_bits;
    float const place = __uint_as_float((least + lost) << 23);
    if (size > 0x7f800000u)
        r = 0x7f;
    else if (size < least << 23)
        r = __float_as_uint(__uint_as_float(size) + place) - __float_as_uint(place);
    else if (size < most)
        r = (size - ((least - 1) << 23) + (1u << (lost - 1)) - 1 + (size >> lost & 1)) >> lost;
    return r | (u >> 24 & 0x80);
}
template <> struct to<fp8_e4m3> {
    static fp8_e4m3 from(float x) { return {narrow(x, 3, 121, 0x43e00000u, 0x7e)}; }
};
template <> struct to<fp8_e5m2> {
    static fp8_e5m2 from(float x) { return {narrow(x, 2, 113, 0x47600000u, 0x7b)}; }
};
template <class R> struct to<complex<R>> {
    template <class S> static complex<R> from(complex<S> x) { return {(R)x.x, (R)x.y}; }
};

template <class R> complex<R> operator+(complex<R> x, complex<R> y) { return {x.x + y.x, x.y + y.y}; }
template <class R> complex<R> operator-(complex<R> x, complex<R> y) { return {x.x - y.x, x.y - y.y}; }
template <class R> complex<R> times(complex<R> x, complex<R> y) {
    return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};
}
template <class T> T times(T x, T y) { return x * y; }
/* A real factor leaves an infinite part alone. */
template <class R> complex<R> scale_by(complex<R> f, complex<R> x) {
    return f.y == 0 ? complex<R>{f.x * x.x, f.x * x.y} : times(f, x);
}
template <class T> T scale_by(T f, T x) { return f * x; }
#ifndef INVARIANT
#define INVARIANT 0
#endif
#if INVARIANT
/* Compiled such that nothing else is contracted. Complex numbers are summed as real ones are of twice as many terms. */
inline float multiply_add(float x, float y, float sum) { return fmaf(x, y, sum); }
inline double multiply_add(double x, double y, double sum) { return fma(x, y, sum); }
template <class R> complex<R> multiply_add(complex<R> x, complex<R> y, complex<R> sum) {
    return {multiply_add(x.y, -y.y, multiply_add(x.x, y.x, sum.x)),
            multiply_add(x.y, y.x, multiply_add(x.x, y.y, sum.y))};
}
#else
template <class R> complex<R> multiply_add(complex<R> x, complex<R> y, complex<R> sum) {
    return {sum.x + x.x * y.x - x.y * y.y, sum.y + x.x * y.y + x.y * y.x};
}
template <class T> T multiply_add(T x, T y, T sum) { return sum + x * y; }
#endif
template <class R> complex<R> conjugate_if(bool condition, complex<R> x) { return {x.x, condition ? -x.y : x.y}; }
template <class T> T conjugate_if(bool, T x) { return x; }
)cu";

inline constexpr char cuda_numbers_text[] = R"cu(
#ifdef REAL
/* scalar: what is computed with; integers wrap around, which int may not do and unsigned may. value: a scalar as an
   epilogue sees it. */
typedef REAL real;
#if COMPLEX
typedef complex<REAL> scalar, value;
#else
typedef REAL scalar;
#if INTEGER
typedef int value;
#else
typedef REAL value;
#endif
#endif
#if COMPLEX
inline value real_value(real x) { return {x, 0}; }
#else
template <class T> value real_value(T x) { return (value)x; }
#endif
#endif

#ifdef EPILOGUE_BODY
struct alignas(8) epilogue_state {
    union {
        struct { EPILOGUE_MEMBERS char end_of_members; };
        char room[256];
    };
};
inline value epilogue(value x, index i, index j, epilogue_state const &state) {
    EPILOGUE_BODY
    return x;
}
#endif
)cu";

// The bits of `flags` of a product's arguments: for the host, and as text for kernels. flags_of() (device/product.hpp)
// sets the first five.
#define STRATAGEMM_CUDA_FLAGS(...)                                                                           \
    struct cuda_flag {                                                                                       \
        enum : int { __VA_ARGS__ };                                                                          \
    };                                                                                                       \
    inline constexpr char cuda_flags_text[] = "enum { " #__VA_ARGS__ " };\n";
STRATAGEMM_CUDA_FLAGS(conjugate_a = 1, conjugate_b = 2, conjugate_e = 4,
                      adds = 8,               // E is read
                      turned = 16,            // this is C^T = B^T A^T: rows are the caller's columns
                      c_is_mapped = 32,       // wgmma, fp64: hardware may store C
                      targets_in_runs = 64,   // the rows of all targets are aligned vectors
                      begins_by_column = 128, // of tiles: first_step() of pipeline.cu.hpp
                      begins_by_row = 256,
                      stores_lines = 512) // fp64: C is stored by lines of 128 bytes
#undef STRATAGEMM_CUDA_FLAGS

inline constexpr char cuda_product_text[] = R"cu(
#ifndef SPREADS
#define SPREADS 0
#endif
/* Where the elements of a matrix are: its first, and how far it is to the next row, column and matrix of a batch. */
struct operand {
    void *data;
    index row, col, step;
};
template <class T> T const *element(operand const &o, index i, index j, index batch = 0) {
    return (T const *)o.data + (i * o.row + j * o.col + batch * o.step);
}

inline unsigned shared_address(void const *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* From sm_90 on a kernel may be started while those queued before it still run (session.hpp). It reads and writes
   nothing of theirs until they have ended, and lets the next one be started. */
inline void wait_until_earlier_end() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
inline void wait_for_earlier() {
    let_next_start();
    wait_until_earlier_end();
}

struct arguments {
    operand a, b, e, c;
    index row0, col0;       /* of C in the caller's */
    int m, n, k, count;
    int part;               /* depth of each part of k, if PARTIAL */
    int flags;
    scalar alpha, beta;
#if SPREADS
    /* Where alpha A B goes: instead of E, C and beta, for each target its own, and a factor of alpha. */
    int targets;
    struct target {
        operand e, c;
        scalar factor, beta;
        int flags; /* of e */
    } target[4];
#endif
};

/* Calls f with what an end of a product takes, for each target; only once where sums go to workspace. `alpha` takes the
   place of that of p. */
template <class F> void for_each_target(arguments const &p, scalar alpha, bool to_workspace, F const &f) {
    arguments one = p;
    one.alpha = alpha;
#if SPREADS
#pragma unroll 1
    for (int t = 0; t < (to_workspace ? 1 : p.targets); ++t) {
        if (!to_workspace) {
            one.e = p.target[t].e, one.c = p.target[t].c, one.beta = p.target[t].beta;
            one.alpha = scale_by(p.target[t].factor, alpha);
            one.flags = (p.flags & ~(adds | conjugate_e)) | p.target[t].flags;
        }
        f(one);
    }
#else
    f(one);
#endif
}
template <class F> void for_each_target(arguments const &p, bool to_workspace, F const &f) {
#if SPREADS
    for_each_target(p, p.alpha, to_workspace, f);
#else
    f(p); /* and no copy of it: some kernels have no registers for one */
#endif
}

/* PIECES: k is summed in pieces of p.part terms, and the sum of each is added to a total (device/order.hpp). Where k is not
   cut, INVARIANT sums are added to zero as well: a sum that underflowed may be -0, and becomes 0 by a term of zero, of
   which some kernels have more beyond k than others. */
#ifndef PIECES
#define PIECES 0
#endif
inline void settle(scalar &total, scalar &sum) { total = total + sum, sum = scalar{}; }
template <class T, int N> void settle(T (&total)[N], T (&sum)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) settle(total[i], sum[i]);
}
inline void take(scalar &sum, scalar const &total) { sum = total + scalar{}; }
template <class T, int N> void take(T (&sum)[N], T const (&total)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) take(sum[i], total[i]);
}
/* The sums of a thread, in steps of so many terms. Each piece is a loop of its own: where one loop asked after each step
   whether a piece has ended, compilers made the addition a part of all steps, which then waited for what they summed. */
template <class T> struct in_pieces {
#if PIECES
    T total = {};
    int steps;
    in_pieces(arguments const &p, int depth) : steps(p.part / depth) {}
    /* Of the steps that are left, those of the next piece. */
    int next(int left) const { return min(left, steps); }
    void add(T &sum) { settle(total, sum); }
    void finish(T &sum) { take(sum, total); }
#else
    in_pieces(arguments const &, int) {}
    void finish(T &sum) {
        if (INVARIANT) take(sum, sum);
    }
#endif
};

/* What an element of C becomes; `e`: where that of E is. */
inline OUT finished(arguments const &p, epilogue_state const &state, scalar sum, bool reads_e, OUT const *e, index i,
                    index j) {
    scalar x = scale_by(p.alpha, sum);
    if (reads_e) x = x + scale_by(p.beta, conjugate_if(p.flags & conjugate_e, (scalar)widen(*e)));
    bool const t = p.flags & turned;
    return to<OUT>::from((value)epilogue((value)x, p.row0 + (t ? j : i), p.col0 + (t ? i : j), state));
}
inline void store_to(arguments const &p, epilogue_state const &state, scalar sum, index i, index j, index batch) {
    bool const reads_e = p.flags & adds;
    OUT const *const e = reads_e ? element<OUT>(p.e, i, j, batch) : nullptr;
    *(OUT *)element<OUT>(p.c, i, j, batch) = finished(p, state, sum, reads_e, e, i, j);
}
inline void store(arguments const &p, epilogue_state const &state, scalar sum, index i, index j, index batch) {
    for_each_target(p, false, [&](arguments const &one) { store_to(one, state, sum, i, j, batch); });
}

/* W elements that are loaded or stored at once, as far as the hardware can. */
constexpr int alignment_of(int bytes, int least) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 && least <= 8 ? 8 : bytes % 4 == 0 && least <= 4 ? 4 : least;
}
template <class T, int W> struct alignas(alignment_of(W * sizeof(T), alignof(T))) run_of { T x[W]; };

/* A run of W elements of a row of C, which no other thread has. The common case: vectors, all within C. */
template <int W> void store_run_to(arguments const &p, epilogue_state const &state, scalar const *sum, int i, int j,
                                   index batch) {
    OUT *const c = (OUT *)element<OUT>(p.c, i, j, batch);
    constexpr int bytes = W * sizeof(OUT), vector = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
    if (vector > 1 && p.c.col == 1 && j + W <= p.n && (unsigned long long)c % vector == 0) {
        struct alignas(OUT) alignas(vector) run { OUT x[W]; } result;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            bool const reads_e = p.flags & adds;
            OUT const *const e = reads_e ? element<OUT>(p.e, i, j + w, batch) : nullptr;
            result.x[w] = finished(p, state, sum[w], reads_e, e, i, j + w);
        }
        *(run *)c = result;
        return;
    }
#pragma unroll
    for (int w = 0; w < W; ++w)
        if (j + w < p.n) store_to(p, state, sum[w], i, j + w, batch);
}
template <int W> void store_run(arguments const &p, epilogue_state const &state, scalar const *sum, int i, int j,
                                index batch) {
    if (i >= p.m) return;
    for_each_target(p, false, [&](arguments const &one) { store_run_to<W>(one, state, sum, i, j, batch); });
}
/* In one instruction, where there is one: a compiler that sees what each element is takes it apart. */
template <class T, int W> void put(T *to, run_of<T, W> const &run) {
    union { run_of<T, W> whole; unsigned word[(sizeof(run) + 3) / 4]; } const x = {run};
    if constexpr (sizeof(run) == 16 && alignof(run_of<T, W>) == 16)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x.word[0]), "r"(x.word[1]),
                     "r"(x.word[2]), "r"(x.word[3]) : "memory");
    else if constexpr (sizeof(run) == 8 && alignof(run_of<T, W>) == 8)
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(x.word[0]), "r"(x.word[1]) : "memory");
    else
        *(run_of<T, W> *)to = run;
}
/* Where a thread stores: its first element, the distance to the next row and column, and how many of these there are. */
template <class T> struct stored_block {
    T *first;
    index row, col;
    int rows, cols;
};
/* M x N sums of a thread: the first goes to `to.first`, the others to rows down(i) and columns right(j) from there, in
   runs of W columns, if there are such rows and columns. VECTORS: there are all columns, one after another, and runs
   are aligned. */
template <int W, bool VECTORS, class T, int M, int N, class DOWN, class RIGHT, class RESULT>
void store_from(stored_block<T> const &to, scalar const (&sum)[M][N], DOWN const &down, RIGHT const &right,
                RESULT const &result) {
#pragma unroll
    for (int i = 0; i < M; ++i) {
        if (down(i) >= to.rows) continue;
        T *const line = to.first + down(i) * to.row;
#pragma unroll
        for (int j = 0; j < N; j += W) {
            run_of<T, W> run;
            if (VECTORS) {
#pragma unroll
                for (int w = 0; w < W; ++w) run.x[w] = result(sum[i][j + w], down(i), right(j) + w);
                put(line + right(j), run);
            } else {
#pragma unroll
                for (int w = 0; w < W; ++w)
                    if (right(j) + w < to.cols)
                        line[(right(j) + w) * to.col] = result(sum[i][j + w], down(i), right(j) + w);
            }
        }
    }
}
/* The same to C, from an element of it on. Whether E is added is asked once. */
struct place_in_c {
    int i, j;
    index batch;
};
template <int W, int M, int N, class DOWN, class RIGHT>
void store_sums(arguments const &p, epilogue_state const &state, scalar const (&sum)[M][N], place_in_c const &from,
                bool vectors, DOWN const &down, RIGHT const &right) {
    int const i0 = from.i, j0 = from.j;
    OUT *const c = (OUT *)element<OUT>(p.c, i0, j0, from.batch);
    auto const store = [&](auto const &result) {
        if (vectors)
            store_from<W, true>(stored_block<OUT>{c, p.c.row, 1, p.m - i0, p.n - j0}, sum, down, right, result);
        else
            store_from<W, false>(stored_block<OUT>{c, p.c.row, p.c.col, p.m - i0, p.n - j0}, sum, down, right, result);
    };
    if (p.flags & adds) {
        OUT const *const e = element<OUT>(p.e, i0, j0, from.batch);
        store([&](scalar x, int i, int j) {
            return finished(p, state, x, true, e + (i * p.e.row + j * p.e.col), i0 + i, j0 + j);
        });
    } else {
        store([&](scalar x, int i, int j) { return finished(p, state, x, false, nullptr, i0 + i, j0 + j); });
    }
}
/* The same of a part of k, to workspace, whose rows begin at multiples of four. */
inline int line_of_parts(arguments const &p) { return (p.n + 3) / 4 * 4; }
template <int W> void store_partial(arguments const &p, scalar const *sum, int i, int j, int part) {
    if (i >= p.m) return;
    scalar *const c = (scalar *)p.c.data + (((index)part * p.m + i) * line_of_parts(p) + j);
    run_of<scalar, W> result;
#pragma unroll
    for (int w = 0; w < W; ++w) result.x[w] = sum[w];
    if (j + W <= p.n && (unsigned long long)c % alignof(run_of<scalar, W>) == 0)
        *(run_of<scalar, W> *)c = result;
    else
#pragma unroll
        for (int w = 0; w < W; ++w)
            if (j + w < p.n) c[w] = sum[w];
}
)cu";

STRATAGEMM_END
