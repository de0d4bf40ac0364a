// An element of C has the same bits, whatever is computed beside it, on however many threads, and however the
// operands lie.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace sg = stratagemm;
using support::random_source;

namespace {

template <class T>
sg::matrix<T> numbers(sg::index_t m, sg::index_t n, random_source& from) {
    if constexpr (std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::int32_t>)
        return support::random_matrix<T>(m, n, from.next(), sg::layout::row_major,
                                         [](random_source& x) { return x.below(255) - 127; });
    else
        return support::fractions<T>(m, n, from.next());
}

// A part of a matrix, copied to where it lies in one of four ways: by rows or by columns, alone or in a larger one.
template <class T>
class laid_out {
public:
    laid_out(sg::matrix<T> const& from, sg::index_t i, sg::index_t j, sg::index_t m, sg::index_t n, int how)
        : memory_(m + how / 2 * 3, n + how / 2 * 5,
                  how % 2 == 0 ? sg::layout::row_major : sg::layout::col_major),
          m_(m), n_(n) {
        for (sg::index_t r = 0; r < m; ++r)
            for (sg::index_t c = 0; c < n; ++c) memory_(r, c) = from(i + r, j + c);
    }
    auto view() { return sg::as_view(memory_).block(0, 0, m_, n_); }

private:
    sg::matrix<T> memory_;
    sg::index_t m_, n_;
};

template <class T>
T factor(random_source& from, int kind) {
    if (kind == 0) return T(1);
    if constexpr (sg::complex_like<T>)
        return T(static_cast<sg::real_t<T>>(from.uniform(-2, 2)),
                 kind == 1 ? sg::real_t<T>(0) : static_cast<sg::real_t<T>>(from.uniform(-2, 2)));
    else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(from.below(9) - 4);
    else
        return static_cast<T>(from.uniform(-2, 2));
}

struct part {
    sg::index_t i, j, m, n;
};

// One product of random elements, and parts of it.
template <class T, class R>
void compare(random_source& from, sg::index_t m, sg::index_t n, sg::index_t k, int parts) {
    using S = sg::accumulator_t<T>;
    auto const a = numbers<T>(m, k, from), b = numbers<T>(k, n, from);
    auto const e = numbers<R>(m, n, from);
    S const alpha = factor<S>(from, from.below(3));
    S const beta = from.below(2) ? factor<S>(from, from.below(3)) : S(0);
    sg::matrix<R> whole(m, n);
    sg::gemm(sg::host{.threads = 1, .invariant = true}, alpha, a, b, beta, e, whole);
    auto const side = [&](sg::index_t all) { return 1 + from.below(static_cast<int>(all)); };
    for (int x = 0; x < parts; ++x) {
        part p{0, 0, m, n};
        int const kind = x % 6; // an element, a row, a column, a block, all, a batch
        if (kind == 0 || kind == 1) p.m = 1;
        if (kind == 0 || kind == 2) p.n = 1;
        if (kind == 3) p.m = side(m), p.n = side(n);
        p.i = from.below(static_cast<int>(m - p.m + 1)), p.j = from.below(static_cast<int>(n - p.n + 1));
        int const ways = from.below(256), threads = 1 + from.below(2);
        laid_out<T> ap(a, p.i, 0, p.m, k, ways % 4), bp(b, 0, p.j, k, p.n, ways / 4 % 4);
        laid_out<R> ep(e, p.i, p.j, p.m, p.n, ways / 16 % 4), cp(e, p.i, p.j, p.m, p.n, ways / 64);
        sg::host const cpu{.threads = threads, .invariant = true};
        auto const c = cp.view();
        bool const in_place = from.below(2);
        if (kind == 5) { // columns, or rows, or neighbouring pairs of rows
            auto const av = ap.view();
            auto const bv = bp.view();
            auto const ev = in_place ? c : ep.view();
            if (from.below(2))
                sg::gemm(cpu, alpha, sg::batched(av, p.n, 0),
                         sg::batched(bv.block(0, 0, k, 1), p.n, bv.col_stride), beta,
                         sg::batched(ev.block(0, 0, p.m, 1), p.n, ev.col_stride),
                         sg::batched(c.block(0, 0, p.m, 1), p.n, c.col_stride));
            else
                sg::gemm(cpu, alpha, sg::batched(av.block(0, 0, 1, k), p.m, av.row_stride),
                         sg::batched(bv, p.m, 0), beta,
                         sg::batched(ev.block(0, 0, 1, p.n), p.m, ev.row_stride),
                         sg::batched(c.block(0, 0, 1, p.n), p.m, c.row_stride));
        } else if (from.below(4) == 0) {
            sg::gemm(cpu, alpha, ap.view(), bp.view(), beta, ep.view(), c,
                     [](S y, sg::index_t, sg::index_t) { return y; });
        } else if (in_place) {
            sg::gemm(cpu, alpha, ap.view(), bp.view(), beta, c);
        } else {
            sg::gemm(cpu, alpha, ap.view(), bp.view(), beta, ep.view(), c);
        }
        for (sg::index_t i = 0; i < p.m; ++i)
            for (sg::index_t j = 0; j < p.n; ++j)
                if (std::memcmp(&c(i, j), &whole(p.i + i, p.j + j), sizeof(R)) != 0) {
                    INFO(sg::type_name<T>()
                         << " " << m << "x" << n << "x" << k << ", " << p.m << "x" << p.n << " at " << p.i
                         << "," << p.j << ", element " << i << "," << j << ", case " << kind << ", ways "
                         << ways << ", " << threads << " threads, alpha " << (alpha == S(1)) << ", beta "
                         << (beta == S(0)));
                    REQUIRE(false);
                }
    }
}

template <class T, class R>
void compare_shapes(std::uint64_t seed) {
    if (!sg::current_isa().available) {
        std::puts("skipped: STRATAGEMM_ISA asks for what this machine lacks");
        SUCCEED();
        return;
    }
    random_source from(seed);
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    for (int x = 0; x < 120; ++x) compare<T, R>(from, side(6), side(6), side(7), 6);
    for (int x = 0; x < 16; ++x) compare<T, R>(from, side(7.5), side(7.5), 200 + side(10), 6);
    for (int x = 0; x < 4; ++x) compare<T, R>(from, side(4), side(4), 12000 + side(14), 6);
    compare<T, R>(from, 70, 1100, 800, 6);
    SUCCEED();
}

} // namespace

TEST_CASE("an element has the same bits, whatever is computed beside it: float") {
    compare_shapes<float, float>(1);
}
TEST_CASE("an element has the same bits, whatever is computed beside it: double") {
    compare_shapes<double, double>(2);
}
TEST_CASE("an element has the same bits, whatever is computed beside it: half") {
    compare_shapes<sg::half, float>(3);
    compare_shapes<sg::half, sg::half>(4);
}
TEST_CASE("an element has the same bits, whatever is computed beside it: bfloat16") {
    compare_shapes<sg::bfloat16, float>(5);
    compare_shapes<sg::bfloat16, sg::bfloat16>(6);
}
TEST_CASE("an element has the same bits, whatever is computed beside it: int8") {
    compare_shapes<std::int8_t, std::int32_t>(7);
}

TEST_CASE("an element has the same bits, whatever is computed beside it: complex") {
    compare_shapes<std::complex<float>, std::complex<float>>(8);
    compare_shapes<std::complex<double>, std::complex<double>>(9);
}
