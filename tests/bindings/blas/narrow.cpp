// Products of bfloat16, into floats and into bfloat16, and of integers of 8 bits, against loops: all options, offsets, rounding, and what is out of
// range.
#include "catch.hpp"
#include "matrices.hpp"

#include <stratagemm/core/types.hpp>

namespace blas_test {
namespace {

namespace sg = stratagemm;

constexpr language languages[] = {language::fortran, language::columns, language::rows};

// A function with this name, of a type without a letter.
template <class... Args>
void call(char const* name, Args... args) {
    reinterpret_cast<void (*)(Args...)>(find(plain, name))(args...);
}
int at(bool by_rows, int i, int j, int leading) { return by_rows ? i * leading + j : i + j * leading; }

// A matrix of numbers between two bounds, with a line that is longer than it has to be.
template <class T>
struct block {
    int rows, cols, leading;
    bool by_rows;
    std::vector<T> memory;

    template <class Number>
    block(int m, int n, bool r, Number const& number)
        : rows(m), cols(n), leading((r ? n : m) + 2), by_rows(r) {
        memory.resize(static_cast<std::size_t>(leading * (r ? m : n) + 1));
        for (T& x : memory) x = static_cast<T>(number());
    }
    T& operator()(int i, int j) { return memory[static_cast<std::size_t>(at(by_rows, i, j, leading))]; }
    T operator()(char trans, int i, int j) { return trans == 'N' ? (*this)(i, j) : (*this)(j, i); }
};

// U: the type of C and of the factors. All sums are integers that it holds, or is near enough to round to.
template <class U>
void try_bfloat16(std::string const& name, char ta, char tb, int m, int n, int k, float alpha, float beta,
                  language l) {
    random_source random(static_cast<std::uint64_t>(m * 100 + k));
    auto const number = [&] { return static_cast<float>(random.below(9) - 4); };
    bool const by_rows = l == language::rows;
    block<sg::bfloat16> a(ta == 'N' ? m : k, ta == 'N' ? k : m, by_rows, number),
        b(tb == 'N' ? k : n, tb == 'N' ? n : k, by_rows, number);
    block<U> c(m, n, by_rows, number), expected = c;
    if (beta == 0)
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) c(i, j) = U(nan_of<float>());
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int q = 0; q < k; ++q) sum += float(a(ta, i, q)) * float(b(tb, q, j));
            expected(i, j) = U(beta == 0 ? alpha * sum : alpha * sum + beta * float(c(i, j)));
        }
    U const by = U(alpha), old = U(beta);
    if (l == language::fortran)
        call((name + "_").c_str(), &ta, &tb, &m, &n, &k, &by, a.memory.data(), &a.leading, b.memory.data(),
             &b.leading, &old, c.memory.data(), &c.leading);
    else
        call(("cblas_" + name).c_str(), by_rows ? 101 : 102, trans_number(ta), trans_number(tb), m, n, k, by,
             a.memory.data(), a.leading, b.memory.data(), b.leading, old, c.memory.data(), c.leading);
    INFO(name << ' ' << ta << tb << ' ' << m << ' ' << n << ' ' << k << ", language " << int(l));
    bool const is_same = std::equal(c.memory.begin(), c.memory.end(), expected.memory.begin(),
                                    [](U x, U y) { return float(x) == float(y); });
    REQUIRE(is_same);
}
template <class U>
void try_bfloat16(std::string const& name) {
    for (language const l : languages)
        for (char const ta : {'N', 'T'})
            for (char const tb : {'N', 'T'})
                for (int const m : {1, 5, 40}) {
                    try_bfloat16<U>(name, ta, tb, m, 7, 33, 1, 0, l);
                    try_bfloat16<U>(name, ta, tb, m, 1, 9, -2, 0.5f, l);
                    try_bfloat16<U>(name, ta, tb, m, 30, 70, 0.5f, 1, l);
                }
}

struct integer_options {
    char offset; // 'F', 'C' or 'R'
    std::int8_t oa, ob;
    float alpha, beta;
};
void try_integers(char ta, char tb, int m, int n, int k, integer_options const& x, language l) {
    random_source random(static_cast<std::uint64_t>(m * 100 + k));
    bool const by_rows = l == language::rows;
    auto const byte = [&](bool has_sign) { return random.below(256) - (has_sign ? 128 : 0); };
    // Elements in 16 bits here, in 8 bits for the call.
    block<short> a(ta == 'N' ? m : k, ta == 'N' ? k : m, by_rows, [&] { return byte(!by_rows); }),
        b(tb == 'N' ? k : n, tb == 'N' ? n : k, by_rows, [&] { return byte(by_rows); });
    std::vector<unsigned char> const a_bytes(a.memory.begin(), a.memory.end()),
        b_bytes(b.memory.begin(), b.memory.end());
    block<std::int32_t> c(m, n, by_rows, [&] { return random.below(2000) - 1000; }), expected = c;
    std::vector<std::int32_t> added;
    for (int i = 0; i < std::max(m, n); ++i) added.push_back(random.below(100) - 50);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int q = 0; q < k; ++q) sum += (a(ta, i, q) + x.oa) * (b(tb, q, j) + x.ob);
            double const plus = added[static_cast<std::size_t>(x.offset == 'F'   ? 0
                                                               : x.offset == 'C' ? i
                                                                                 : j)];
            double const all = double(x.alpha) * sum + plus + double(x.beta) * c(i, j);
            expected(i, j) =
                static_cast<std::int32_t>(std::nearbyint(std::min(std::max(all, -0x1p31), 0x1p31 - 1)));
        }
    if (l == language::fortran)
        call("gemm_s8u8s32_", &ta, &tb, &x.offset, &m, &n, &k, &x.alpha, a_bytes.data(), &a.leading, &x.oa,
             b_bytes.data(), &b.leading, &x.ob, &x.beta, c.memory.data(), &c.leading, added.data());
    else
        call("cblas_gemm_s8u8s32", by_rows ? 101 : 102, trans_number(ta), trans_number(tb),
             number_of(x.offset, "RCF", 171), m, n, k, x.alpha, static_cast<void const*>(a_bytes.data()),
             a.leading, x.oa, static_cast<void const*>(b_bytes.data()), b.leading, x.ob, x.beta,
             c.memory.data(), c.leading, added.data());
    INFO(ta << tb << x.offset << ' ' << m << ' ' << n << ' ' << k << ", language " << int(l));
    REQUIRE(c.memory == expected.memory);
}

} // namespace

TEST_CASE("sbgemm") { try_bfloat16<float>("sbgemm"); }
TEST_CASE("bgemm", "[devices]") { try_bfloat16<sg::bfloat16>("bgemm"); }

TEST_CASE("gemm_s8u8s32") {
    for (language const l : languages)
        for (char const ta : {'N', 'T'})
            for (char const tb : {'N', 'T'})
                for (char const offset : {'F', 'C', 'R'})
                    for (int const m : {1, 6, 40}) {
                        try_integers(ta, tb, m, 9, 17, {offset, 0, 0, 1, 0}, l);
                        try_integers(ta, tb, m, 20, 70, {offset, -128, 127, 0.5f, 1}, l);
                        try_integers(ta, tb, m, 3, 33, {offset, 5, -77, 0.1f, -0.3f}, l);
                        try_integers(ta, tb, m, 3, 5, {offset, 1, 1, 1e6f, 0}, l); // beyond 32 bits
                    }
}

} // namespace blas_test
