#include "gemm.hpp"

#include "multiply.hpp"
#include "settings.hpp"

namespace stratagemm_cublas {
namespace {

bool is_op(int x) { return x >= static_cast<int>(op::none) && x <= static_cast<int>(op::conjugated); }
bool turns(op x) { return x == op::transposed || x == op::adjoint; }

// op(X), which has these sides, where X is stored by columns.
matrix operand(op what, void const* data, index_t rows, index_t cols, index_t leading, index_t step) {
    matrix x;
    x.data = data, x.rows = rows, x.cols = cols, x.step = step;
    x.row_stride = turns(what) ? leading : 1, x.col_stride = turns(what) ? 1 : leading;
    x.is_conjugated = what == op::adjoint || what == op::conjugated;
    return x;
}
bool is_short(index_t leading, index_t rows) { return leading < (rows > 1 ? rows : 1); }

bool are_right(gemm_call const& g) {
    return is_op(g.transa) && is_op(g.transb) && g.m >= 0 && g.n >= 0 && g.k >= 0 && g.count >= 0 &&
           !is_short(g.lda, turns(op{g.transa}) ? g.k : g.m) &&
           !is_short(g.ldb, turns(op{g.transb}) ? g.n : g.k) && !is_short(g.ldc, g.m);
}

// Modes of the handle that change what a call means, or how it rounds.
reason modes_of(handle h) {
    questions const& q = ask();
    if (!q.pointer_mode || !q.math_mode || !q.stream) return reason::context;
    int mode = 0;
    if (q.pointer_mode(h, &mode) != success) return reason::arguments;
    if (mode != 0) return reason::scalars;
    // Sums are never kept in less than the compute type here, which is what this flag asks for.
    constexpr int no_reduced_precision = 16;
    if (q.math_mode(h, &mode) != success || (mode & ~no_reduced_precision) != 0) return reason::modes;
    if (q.atomics_mode && (q.atomics_mode(h, &mode) != success || mode != 0)) return reason::modes;
    if (q.multiprocessors && (q.multiprocessors(h, &mode) != success || mode != 0)) return reason::modes;
    return environment().asks_of_cublas ? reason::modes : reason::none;
}

} // namespace

type factors_of(type c, compute sums) {
    if (c == type::complex64 || c == type::complex128) return c;
    return sums == compute::float32 ? type::float32 : sums == compute::float64 ? type::float64 : type::int32;
}

answer gemm(gemm_call const& g) noexcept {
    if (!are_right(g)) return {reason::arguments};
    if (leaves(g.c_type))
        return {reason::slower}; // before anything is asked: small products wait for the host
    if (reason const why = modes_of(g.of); why != reason::none) return {why};
    void* stream = nullptr;
    if (ask().stream(g.of, &stream) != success) return {reason::arguments};
    product_call p;
    p.a_type = g.a_type, p.b_type = g.b_type, p.c_type = g.c_type;
    p.sums = g.sums, p.factors = factors_of(g.c_type, g.sums);
    p.a = operand(op{g.transa}, g.a, g.m, g.k, g.lda, g.a_step);
    p.b = operand(op{g.transb}, g.b, g.k, g.n, g.ldb, g.b_step);
    p.c = p.e = operand(op::none, g.c, g.m, g.n, g.ldc, g.c_step);
    p.alpha = g.alpha, p.beta = g.beta, p.count = g.count;
    place at(stream, g.of);
    return multiply(p, at);
}

} // namespace stratagemm_cublas
