// Every routine of level 3 against loops: all options, sides around those of blocks, leading dimensions with room to
// spare, NaN in what must not be read, and every byte that must not be written watched. Results are exact.
#include "catch.hpp"
#include "matrices.hpp"

namespace blas_test {
namespace {

constexpr language languages[] = {language::fortran, language::columns, language::rows};

// One call, for all that it is tried with.
template <class T>
struct trial {
    random_source random;
    routines<T> blas;
    bool by_rows;
    T alpha, beta;

    trial(std::uint64_t seed, language l) : random(seed), blas(plain, l), by_rows(l == language::rows) {
        alpha = factor(), beta = factor();
    }
    T factor() {
        constexpr double values[] = {0, 1, -2, 0.5};
        int const which = random.below(5);
        if (which == 4) {
            if constexpr (is_complex<T>)
                return {real<T>(1), real<T>(-2)};
            else
                return T(4);
        }
        return T(static_cast<real<T>>(values[which]));
    }
    int side() {
        constexpr int sides[] = {0, 1, 2, 3, 7, 15, 16, 17, 33, 64, 65, 130};
        return sides[random.below(random.below(4) == 0 ? 12 : 9)];
    }
    matrix<T> empty(int rows, int cols) { return {rows, cols, by_rows, random}; }
    matrix<T> full(int rows, int cols, bool is_read = true) {
        matrix<T> one = empty(rows, cols);
        return is_read ? one.fill(random) : one;
    }
    bool is_read() const { return alpha != T(0); }
};

// C, which holds numbers where keep(i, j) says so if it is read, and what it has to hold after a call.
template <class T, class Keep>
matrix<T> result(trial<T>& t, int rows, int cols, T beta, Keep const& keep) {
    matrix<T> c = t.empty(rows, cols);
    return beta == T(0) ? c : c.fill(t.random, keep);
}
template <class T>
T updated(T alpha, T sum, T beta, T old) {
    T const product = alpha == T(0) ? T(0) : alpha * sum;
    return beta == T(0) ? product : product + beta * old;
}
template <class T>
T dot(matrix<T> const& a, char ta, int i, matrix<T> const& b, char tb, int j, int k) {
    T sum(0);
    for (int l = 0; l < k; ++l) sum += element(a, ta, i, l) * element(b, tb, l, j);
    return sum;
}
bool in_triangle(char uplo, int i, int j) { return uplo == 'U' ? i <= j : i >= j; }
char turned(char trans, bool hermitian) { return trans != 'N' ? 'N' : hermitian ? 'C' : 'T'; }

// f(seed, language) for so many trials in each language.
template <class F>
void each_trial(int count, F const& f) {
    for (language const l : languages)
        for (int i = 0; i < count; ++i)
            f(static_cast<std::uint64_t>(i) * 3 + static_cast<std::uint64_t>(l), l);
}

template <class T>
void try_gemm(char ta, char tb, std::uint64_t seed, language l) {
    trial<T> t(seed, l);
    int const m = t.side(), n = t.side(), k = t.side();
    matrix<T> a = ta == 'N' ? t.full(m, k, t.is_read()) : t.full(k, m, t.is_read());
    matrix<T> b = tb == 'N' ? t.full(k, n, t.is_read()) : t.full(n, k, t.is_read());
    matrix<T> c = result(t, m, n, t.beta, [](int, int) { return true; }), expected = c;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            expected(i, j) = updated(t.alpha, dot(a, ta, i, b, tb, j, k), t.beta, c(i, j));
    t.blas.gemm(ta, tb, m, n, k, t.alpha, a.data(), a.leading(), b.data(), b.leading(), t.beta, c.data(),
                c.leading());
    INFO(ta << tb << ' ' << m << ' ' << n << ' ' << k << ", language " << int(l));
    REQUIRE(c.difference(expected) == "");
}

template <class T>
void try_gemmt(char const* name, char uplo, char ta, char tb, std::uint64_t seed, language l) {
    trial<T> t(seed, l);
    int const n = t.side(), k = t.side();
    matrix<T> a = ta == 'N' ? t.full(n, k, t.is_read()) : t.full(k, n, t.is_read());
    matrix<T> b = tb == 'N' ? t.full(k, n, t.is_read()) : t.full(n, k, t.is_read());
    matrix<T> c = result(t, n, n, t.beta, [&](int i, int j) { return in_triangle(uplo, i, j); }),
              expected = c;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            if (in_triangle(uplo, i, j))
                expected(i, j) = updated(t.alpha, dot(a, ta, i, b, tb, j, k), t.beta, c(i, j));
    t.blas.gemmt(name, uplo, ta, tb, n, k, t.alpha, a.data(), a.leading(), b.data(), b.leading(), t.beta,
                 c.data(), c.leading());
    INFO(name << ' ' << uplo << ta << tb << ' ' << n << ' ' << k << ", language " << int(l));
    REQUIRE(c.difference(expected) == "");
}

template <class T>
void try_symm(bool hermitian, char side, char uplo, std::uint64_t seed, language l) {
    trial<T> t(seed, l);
    int const m = t.side(), n = t.side(), order = side == 'L' ? m : n;
    matrix<T> a = t.empty(order, order), whole = t.empty(order, order);
    if (t.is_read()) a.fill(t.random, [&](int i, int j) { return in_triangle(uplo, i, j); });
    for (int i = 0; i < order; ++i)
        for (int j = 0; j < order; ++j) {
            T const mirrored = hermitian ? conj_of(a(j, i)) : a(j, i);
            whole(i, j) = in_triangle(uplo, i, j) ? a(i, j) : mirrored;
            if constexpr (is_complex<T>)
                if (hermitian && i == j && t.is_read())
                    whole(i, i) = a(i, i).real(), a(i, i).imag(nan_of<T>().imag());
        }
    matrix<T> b = t.full(m, n, t.is_read());
    matrix<T> c = result(t, m, n, t.beta, [](int, int) { return true; }), expected = c;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T const sum = side == 'L' ? dot(whole, 'N', i, b, 'N', j, m) : dot(b, 'N', i, whole, 'N', j, n);
            expected(i, j) = updated(t.alpha, sum, t.beta, c(i, j));
        }
    t.blas.symm(hermitian ? "hemm" : "symm", side, uplo, m, n, t.alpha, a.data(), a.leading(), b.data(),
                b.leading(), t.beta, c.data(), c.leading());
    INFO(side << uplo << ' ' << m << ' ' << n << ", language " << int(l));
    REQUIRE(c.difference(expected) == "");
}

// The imaginary parts on the diagonal of a Hermitian C, which are taken for zero.
template <class T>
void spoil_diagonal(matrix<T>& c) {
    if constexpr (is_complex<T>)
        for (int i = 0; i < c.rows(); ++i) c(i, i).imag(nan_of<T>().imag());
}
template <class T>
T without_imaginary(T x) {
    if constexpr (is_complex<T>)
        return x.real();
    else
        return x;
}

// syrk and herk, or with two matrices.
template <class T>
void try_rank(bool hermitian, bool has_two, char uplo, char trans, std::uint64_t seed, language l) {
    trial<T> t(seed, l);
    int const n = t.side(), k = t.side();
    if (hermitian) t.beta = T(std::real(t.beta));
    if (hermitian && !has_two) t.alpha = T(std::real(t.alpha));
    auto const operand = [&] { return trans == 'N' ? t.full(n, k, t.is_read()) : t.full(k, n, t.is_read()); };
    matrix<T> a = operand(), b = operand();
    matrix<T> c = result(t, n, n, t.beta, [&](int i, int j) { return in_triangle(uplo, i, j); });
    if (hermitian) spoil_diagonal(c);
    matrix<T> expected = c;
    char const second = turned(trans, hermitian);
    bool const stays = (t.alpha == T(0) || k == 0) && t.beta == T(1);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            if (!in_triangle(uplo, i, j) || stays) continue;
            bool const is_real = hermitian && i == j;
            T const old = is_real ? without_imaginary(c(i, j)) : c(i, j);
            // trans and its counterpart, seen as n x k and k x n
            T x = updated(t.alpha, dot(a, trans, i, has_two ? b : a, second, j, k), t.beta, old);
            if (has_two && t.alpha != T(0)) {
                T const factor = hermitian ? conj_of(t.alpha) : t.alpha;
                x += factor * dot(b, trans, i, a, second, j, k);
            }
            expected(i, j) = is_real ? without_imaginary(x) : x;
        }
    std::string const name = std::string(hermitian ? "her" : "syr") + (has_two ? "2k" : "k");
    auto const call = [&](auto alpha, auto beta) {
        if (has_two)
            t.blas.syr2k(name.c_str(), uplo, trans, n, k, t.alpha, a.data(), a.leading(), b.data(),
                         b.leading(), beta, c.data(), c.leading());
        else
            t.blas.syrk(name.c_str(), uplo, trans, n, k, alpha, a.data(), a.leading(), beta, c.data(),
                        c.leading());
    };
    if (hermitian)
        call(std::real(t.alpha), std::real(t.beta));
    else
        call(t.alpha, t.beta);
    INFO(name << ' ' << uplo << trans << ' ' << n << ' ' << k << ", language " << int(l));
    REQUIRE(c.difference(expected) == "");
}

// Small off the diagonal, and on it a power of two, so that both products and solutions are exact.
template <class T>
matrix<T> triangular(trial<T>& t, int order, char uplo, char diag) {
    matrix<T> a = t.empty(order, order);
    a.fill(t.random, [&](int i, int j) { return i != j && in_triangle(uplo, i, j); });
    constexpr double values[] = {1, -1, 2, -0.5};
    for (int i = 0; i < order && diag == 'N'; ++i) {
        a(i, i) = T(static_cast<real<T>>(values[t.random.below(4)]));
        if constexpr (is_complex<T>)
            if (t.random.below(2)) a(i, i) *= T(0, 1);
    }
    return a;
}
template <class T>
T triangle_element(matrix<T> const& a, char uplo, char trans, char diag, int i, int j) {
    int const row = trans == 'N' ? i : j, col = trans == 'N' ? j : i;
    if (!in_triangle(uplo, row, col)) return T(0);
    return i == j && diag == 'U' ? T(1) : element(a, trans, i, j);
}

template <class T>
void try_triangular(bool solves, char side, char uplo, char trans, char diag, std::uint64_t seed,
                    language l) {
    trial<T> t(seed, l);
    if (solves && t.alpha != T(0)) t.alpha = T(static_cast<real<T>>(t.random.below(2) ? -2 : 1));
    int const m = t.side(), n = t.side(), order = side == 'L' ? m : n;
    matrix<T> a = t.is_read() ? triangular(t, order, uplo, diag) : t.empty(order, order);
    matrix<T> x = t.full(m, n), product = x;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum(0);
            for (int k = 0; k < order && t.is_read(); ++k)
                sum += side == 'L' ? triangle_element(a, uplo, trans, diag, i, k) * x(k, j)
                                   : x(i, k) * triangle_element(a, uplo, trans, diag, k, j);
            product(i, j) = !t.is_read() ? T(0) : solves ? sum / t.alpha : sum * t.alpha;
        }
    if (solves) std::swap(x, product);
    if (!t.is_read() && solves) std::swap(x, product);
    t.blas.triangular(solves ? "trsm" : "trmm", side, uplo, trans, diag, m, n, t.alpha, a.data(), a.leading(),
                      x.data(), x.leading());
    INFO((solves ? "trsm " : "trmm ") << side << uplo << trans << diag << ' ' << m << ' ' << n
                                      << ", language " << int(l) << ", alpha " << t.alpha);
    REQUIRE(x.difference(product) == "");
}

} // namespace

TEMPLATE_TEST_CASE("gemm", "", float, double, std::complex<float>, std::complex<double>) {
    for (char const ta : {'N', 'T', 'C'})
        for (char const tb : {'N', 'T', 'C'})
            each_trial(12, [&](auto seed, language l) { try_gemm<TestType>(ta, tb, seed, l); });
}
TEMPLATE_TEST_CASE("gemmt", "", float, double, std::complex<float>, std::complex<double>) {
    for (char const uplo : {'U', 'L'})
        for (char const ta : {'N', 'T', 'C'})
            for (char const tb : {'N', 'T', 'C'})
                each_trial(5, [&](auto seed, language l) {
                    try_gemmt<TestType>(seed % 2 ? "gemmt" : "gemmtr", uplo, ta, tb, seed, l);
                });
}
TEMPLATE_TEST_CASE("symm and hemm", "", float, double, std::complex<float>, std::complex<double>) {
    for (bool const hermitian : {false, true})
        for (char const side : {'L', 'R'})
            for (char const uplo : {'U', 'L'})
                if (is_complex<TestType> || !hermitian)
                    each_trial(16, [&](auto seed, language l) {
                        try_symm<TestType>(hermitian, side, uplo, seed, l);
                    });
}
TEMPLATE_TEST_CASE("syrk, herk, syr2k, her2k", "", float, double, std::complex<float>, std::complex<double>) {
    for (bool const hermitian : {false, true})
        for (bool const has_two : {false, true})
            for (char const uplo : {'U', 'L'})
                for (char const trans : {'N', 'T', 'C'}) {
                    if (is_complex<TestType> ? trans == (hermitian ? 'T' : 'C') : hermitian) continue;
                    each_trial(12, [&](auto seed, language l) {
                        try_rank<TestType>(hermitian, has_two, uplo, trans, seed, l);
                    });
                }
}
TEMPLATE_TEST_CASE("trmm and trsm", "", float, double, std::complex<float>, std::complex<double>) {
    for (bool const solves : {false, true})
        for (char const side : {'L', 'R'})
            for (char const uplo : {'U', 'L'})
                for (char const trans : {'N', 'T', 'C'})
                    for (char const diag : {'N', 'U'})
                        each_trial(8, [&](auto seed, language l) {
                            try_triangular<TestType>(solves, side, uplo, trans, diag, seed, l);
                        });
}

// A sample, since kernels of a device that a CPU stands in for take long.
TEMPLATE_TEST_CASE("by the policy of the environment", "[devices]", float, double, std::complex<float>,
                   std::complex<double>) {
    for (language const l : {language::fortran, language::columns, language::rows})
        for (std::uint64_t seed = 1; seed < 4; ++seed) {
            try_gemm<TestType>('N', 'C', seed, l), try_gemm<TestType>('T', 'N', seed, l);
            try_triangular<TestType>(seed % 2, 'L', 'U', 'T', 'N', seed, l);
            try_rank<TestType>(is_complex<TestType>, true, 'L', 'N', seed, l);
        }
}

} // namespace blas_test
