// What routines.hpp declares, for the sources that instantiate it.
#pragma once

#include "multiply.inl.hpp"
#include "routines.hpp"
#include "triangles.inl.hpp"

namespace stratagemm_blas {

// The first argument that is wrong, of a list in the order of BLAS; 0: none is.
struct check {
    int argument;
    bool is_wrong;
};
template <std::size_t N>
int first_wrong(check const (&all)[N]) {
    for (check const& one : all)
        if (one.is_wrong) return one.argument;
    return 0;
}

// The operands of a product, as they are multiplied.
template <class T, class S, class U>
sg::view<T const> left_operand(caller const& who, product_call<T, S, U> const& p) {
    bool const t = turns(p.transa);
    return applied(p.transa, stored(who, p.a, t ? p.k : p.m, t ? p.m : p.k, p.lda));
}
template <class T, class S, class U>
sg::view<T const> right_operand(caller const& who, product_call<T, S, U> const& p) {
    bool const t = turns(p.transb);
    return applied(p.transb, stored(who, p.b, t ? p.n : p.k, t ? p.k : p.n, p.ldb));
}
template <class T, class S, class U>
bool is_a_short(caller const& who, product_call<T, S, U> const& p) {
    bool const t = turns(p.transa);
    return is_short(who, p.lda, t ? p.k : p.m, t ? p.m : p.k);
}
template <class T, class S, class U>
bool is_b_short(caller const& who, product_call<T, S, U> const& p) {
    bool const t = turns(p.transb);
    return is_short(who, p.ldb, t ? p.n : p.k, t ? p.k : p.n);
}
// Whether C stays as it is.
template <class T, class S, class U>
bool is_done(product_call<T, S, U> const& p) {
    return p.m == 0 || p.n == 0 || ((p.alpha == S(0) || p.k == 0) && p.beta == S(1));
}
template <class T, class S, class U>
int wrong_in_gemm(caller const& who, product_call<T, S, U> const& p) {
    return first_wrong({{1, p.transa == op::bad},
                        {2, p.transb == op::bad},
                        {3, p.m < 0},
                        {4, p.n < 0},
                        {5, p.k < 0},
                        {8, is_a_short(who, p)},
                        {10, is_b_short(who, p)},
                        {13, is_short(who, p.ldc, p.m, p.n)}});
}

template <class T, class S, class U>
void gemm(caller const& who, product_call<T, S, U> const& p) {
    if (int const wrong = wrong_in_gemm(who, p)) return refuse(who, wrong);
    if (is_done(p)) return;
    multiply(p.alpha, left_operand(who, p), right_operand(who, p), p.beta, stored(who, p.c, p.m, p.n, p.ldc));
}

template <class T>
void gemmt(caller const& who, half uplo, product_call<T> const& p) {
    int const wrong = first_wrong({{1, uplo == half::bad},
                                   {2, p.transa == op::bad},
                                   {3, p.transb == op::bad},
                                   {4, p.n < 0},
                                   {5, p.k < 0},
                                   {8, is_a_short(who, p)},
                                   {10, is_b_short(who, p)},
                                   {13, is_short(who, p.ldc, p.n, p.n)}});
    if (wrong) return refuse(who, wrong);
    if (is_done(p)) return;
    multiply_triangle(p.alpha, left_operand(who, p), right_operand(who, p), p.beta,
                      stored(who, p.c, p.n, p.n, p.ldc), uplo);
}

template <class T>
void gemm_batch_strided(caller const& who, product_call<T> const& p, index_t a_stride, index_t b_stride,
                        index_t c_stride, index_t count) {
    // Each leading dimension is followed by a stride.
    int const wrong = first_wrong({{1, p.transa == op::bad},
                                   {2, p.transb == op::bad},
                                   {3, p.m < 0},
                                   {4, p.n < 0},
                                   {5, p.k < 0},
                                   {8, is_a_short(who, p)},
                                   {11, is_b_short(who, p)},
                                   {15, is_short(who, p.ldc, p.m, p.n)},
                                   {17, count < 0}});
    if (wrong) return refuse(who, wrong);
    if (is_done(p) || count == 0) return;
    multiply_batch<T>(p.alpha, {left_operand(who, p), count, a_stride},
                      {right_operand(who, p), count, b_stride}, p.beta,
                      {stored(who, p.c, p.m, p.n, p.ldc), count, c_stride});
}

template <class T>
bool gemm_group(caller const& who, product_call<T> const& p, T const* const* a, T const* const* b,
                T* const* c, index_t count) {
    if (int const wrong = count < 0 ? 15 : wrong_in_gemm(who, p)) return refuse(who, wrong), false;
    if (is_done(p)) return true;
    multiply_group<T>(count, [&](index_t i) {
        product_call<T> one = p;
        one.a = a[i], one.b = b[i], one.c = c[i];
        return sg::product(p.alpha, left_operand(who, one), right_operand(who, one), p.beta,
                           stored(who, one.c, p.m, p.n, p.ldc));
    });
    return true;
}

template <class T>
void symm(caller const& who, symmetric_call<T> const& p, bool hermitian) {
    bool const is_left = p.where == side::left;
    index_t const order = is_left ? p.m : p.n;
    int const wrong = first_wrong({{1, p.where == side::bad},
                                   {2, p.uplo == half::bad},
                                   {3, p.m < 0},
                                   {4, p.n < 0},
                                   {7, is_short(who, p.lda, order, order)},
                                   {9, is_short(who, p.ldb, p.m, p.n)},
                                   {12, is_short(who, p.ldc, p.m, p.n)}});
    if (wrong) return refuse(who, wrong);
    if (p.m == 0 || p.n == 0 || (p.alpha == T(0) && p.beta == T(1))) return;
    sg::view<T const> const a = stored(who, p.a, order, order, p.lda), b = stored(who, p.b, p.m, p.n, p.ldb);
    sg::view<T> const c = stored(who, p.c, p.m, p.n, p.ldc);
    if (p.alpha == T(0)) // A and B are not read
        multiply(p.alpha, is_left ? a : b, is_left ? b : a, p.beta, c);
    else if (is_left)
        multiply_symmetric(p.alpha, a, p.uplo, hermitian, b, p.beta, c);
    else // C^T = A^T B^T
        multiply_symmetric(p.alpha, a.transposed(), other(p.uplo), hermitian, b.transposed(), p.beta,
                           c.transposed());
}

// The imaginary parts on the diagonal of a Hermitian C are zero, whatever lies there.
template <class T>
void make_real(sg::view<T> const& c) {
    if constexpr (is_complex<T>)
        for (index_t i = 0; i < c.rows; ++i) c(i, i) = c(i, i).real();
}
inline bool is_known(op trans, bool is_of_complex, bool hermitian) {
    if (!is_of_complex) return trans == op::none || trans == op::transposed || trans == op::adjoint;
    return trans == op::none || trans == (hermitian ? op::adjoint : op::transposed);
}
// The n x k matrix of a rank update.
template <class T>
sg::view<T const> factor_of(caller const& who, rank_call<T> const& p, T const* data, index_t leading) {
    bool const t = turns(p.trans);
    return applied(p.trans, stored(who, data, t ? p.k : p.n, t ? p.n : p.k, leading));
}
template <class T>
sg::view<T const> turned(sg::view<T const> v, bool hermitian) {
    v = v.transposed();
    if (is_complex<T> && hermitian) v.conjugate = !v.conjugate;
    return v;
}
template <class T>
int wrong_in_rank(caller const& who, rank_call<T> const& p, bool hermitian, bool has_two) {
    bool const t = turns(p.trans);
    index_t const rows = t ? p.k : p.n, cols = t ? p.n : p.k;
    return first_wrong({{1, p.uplo == half::bad},
                        {2, !is_known(p.trans, is_complex<T>, hermitian)},
                        {3, p.n < 0},
                        {4, p.k < 0},
                        {7, is_short(who, p.lda, rows, cols)},
                        {9, has_two && is_short(who, p.ldb, rows, cols)},
                        {has_two ? 12 : 10, is_short(who, p.ldc, p.n, p.n)}});
}
template <class T>
bool is_done(rank_call<T> const& p) {
    return p.n == 0 || ((p.alpha == T(0) || p.k == 0) && p.beta == T(1));
}

template <class T>
void syrk(caller const& who, rank_call<T> const& p, bool hermitian) {
    if (int const wrong = wrong_in_rank(who, p, hermitian, false)) return refuse(who, wrong);
    if (is_done(p)) return;
    sg::view<T> const c = stored(who, p.c, p.n, p.n, p.ldc);
    sg::view<T const> const a = factor_of(who, p, p.a, p.lda);
    if (hermitian && p.beta != T(0)) make_real(c);
    multiply_triangle(p.alpha, a, turned(a, hermitian), p.beta, c, p.uplo);
    if (hermitian) make_real(c);
}

template <class T>
void syr2k(caller const& who, rank_call<T> const& p, bool hermitian) {
    if (int const wrong = wrong_in_rank(who, p, hermitian, true)) return refuse(who, wrong);
    if (is_done(p)) return;
    sg::view<T> const c = stored(who, p.c, p.n, p.n, p.ldc);
    sg::view<T const> const a = factor_of(who, p, p.a, p.lda), b = factor_of(who, p, p.b, p.ldb);
    if (hermitian && p.beta != T(0)) make_real(c);
    multiply_triangle(p.alpha, a, turned(b, hermitian), p.beta, c, p.uplo);
    if (p.alpha != T(0) && p.k != 0)
        multiply_triangle(hermitian ? sg::conjugate(p.alpha) : p.alpha, b, turned(a, hermitian), T(1), c,
                          p.uplo);
    if (hermitian) make_real(c);
}

template <class T, class F>
void triangular(caller const& who, triangular_call<T> const& p, F const& f) {
    bool const is_left = p.where == side::left;
    index_t const order = is_left ? p.m : p.n;
    int const wrong = first_wrong({{1, p.where == side::bad},
                                   {2, p.uplo == half::bad},
                                   {3, p.trans == op::bad},
                                   {4, p.diag == diagonal::bad},
                                   {5, p.m < 0},
                                   {6, p.n < 0},
                                   {9, is_short(who, p.lda, order, order)},
                                   {11, is_short(who, p.ldb, p.m, p.n)}});
    if (wrong) return refuse(who, wrong);
    if (p.m == 0 || p.n == 0) return;
    sg::view<T> b = stored(who, p.b, p.m, p.n, p.ldb);
    if (p.alpha == T(0)) { // neither A nor B is read
        sg::view<T const> const nothing{p.a, p.m, 0, 1, p.m};
        return multiply<T>(p.alpha, nothing, {p.a, 0, p.n, 1, 1}, T(0), b);
    }
    sg::view<T const> a = applied(p.trans, stored(who, p.a, order, order, p.lda));
    half which = turns(p.trans) ? other(p.uplo) : p.uplo;
    if (!is_left) a = a.transposed(), b = b.transposed(), which = other(which); // B^T = A^T B^T
    f(a, which, b);
}
template <class T>
void trmm(caller const& who, triangular_call<T> const& p) {
    triangular(who, p, [&](auto const& a, half which, auto const& b) {
        multiply_triangular(p.alpha, a, which, p.diag, b);
    });
}
template <class T>
void trsm(caller const& who, triangular_call<T> const& p) {
    triangular(who, p, [&](auto const& a, half which, auto const& b) {
        solve_triangular(p.alpha, a, which, p.diag, b);
    });
}

#define STRATAGEMM_BLAS_INSTANCES(T)                                                                         \
    template void multiply(T, sg::view<T const> const&, sg::view<T const> const&, T, sg::view<T> const&);    \
    template void gemm(caller const&, product_call<T> const&);                                               \
    template void gemmt(caller const&, half, product_call<T> const&);                                        \
    template void gemm_batch_strided(caller const&, product_call<T> const&, index_t, index_t, index_t,       \
                                     index_t);                                                               \
    template bool gemm_group(caller const&, product_call<T> const&, T const* const*, T const* const*,        \
                             T* const*, index_t);                                                            \
    template void symm(caller const&, symmetric_call<T> const&, bool);                                       \
    template void syrk(caller const&, rank_call<T> const&, bool);                                            \
    template void syr2k(caller const&, rank_call<T> const&, bool);                                           \
    template void trmm(caller const&, triangular_call<T> const&);                                            \
    template void trsm(caller const&, triangular_call<T> const&);

} // namespace stratagemm_blas
