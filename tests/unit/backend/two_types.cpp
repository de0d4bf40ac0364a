// Products of two element types on the host: those of two operands in floats, to the bit.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace sg = stratagemm;
using sg::index_t;
using support::random_source;

namespace {

// A matrix within a larger one, with NaN around it, and the same in floats.
template <class T>
class in_two_types {
public:
    in_two_types(index_t rows, index_t cols, sg::layout order, int seed)
        : rows_(rows), cols_(cols), own_(rows + 3, cols + 5, order), wide_(rows + 3, cols + 5, order) {
        random_source from(static_cast<std::uint64_t>(seed));
        for (index_t i = 0; i < rows + 3; ++i)
            for (index_t j = 0; j < cols + 5; ++j) {
                bool const inside = i > 0 && i <= rows && j > 1 && j <= cols + 1;
                double const x = std::is_integral_v<T> ? from.below(256) - 128 : from.uniform(-1, 1);
                own_(i, j) = support::make<T>(inside ? x : std::nan(""));
                wide_(i, j) = static_cast<float>(own_(i, j));
            }
    }
    auto own() const { return own_.block(1, 2, rows_, cols_); }
    auto wide() const { return wide_.block(1, 2, rows_, cols_); }

private:
    index_t rows_, cols_;
    sg::matrix<T> own_;
    sg::matrix<float> wide_;
};

struct sides {
    index_t m, n, k;
};

template <class A, class B>
void has_bits_of_floats(sides const s, int lying) {
    auto const order = [&](int bit) { return lying & bit ? sg::layout::col_major : sg::layout::row_major; };
    in_two_types<A> const a(s.m, s.k, order(1), 1);
    in_two_types<B> const b(s.k, s.n, order(2), 2);
    sg::matrix<float> const start(
        s.m, s.n, [](index_t i, index_t j) { return i - 2 * j; }, order(4));
    // Dot products of more rows or columns, which have to be widened before, have no counterpart.
    bool const few_are_floats = s.m <= s.n ? std::is_same_v<A, float> : std::is_same_v<B, float>,
               few = s.m <= 8 || s.n <= 8 || few_are_floats;
    for (int const threads : {1, 4, 7}) // A kernel may be generated meanwhile.
        for (bool const invariant : {true, false}) {
            if (!invariant && !few) continue;
            sg::host const on{.threads = threads, .invariant = invariant};
            auto c = start, expected = start;
            sg::gemm(on, 0.5f, a.own(), b.own(), 2.0f, c, sg::relu);
            sg::gemm(on, 0.5f, a.wide(), b.wide(), 2.0f, expected, sg::relu);
            INFO(s.m << " x " << s.n << " x " << s.k << ", lying " << lying << ", invariant " << invariant
                     << ", " << threads << " threads");
            CHECK(support::same_bits(c, expected));
            sg::gemm(on, a.own(), b.own(), c);
            sg::gemm(on, a.wide(), b.wide(), expected);
            CHECK(support::same_bits(c, expected));
        }
}

template <class A, class B>
void have_bits_of_floats(int one_in) {
    constexpr sides all[] = {
        {1, 1, 1},      {5, 7, 3},       {1, 3000, 700}, {3000, 1, 700},  {1, 700, 3000},
        {2, 900, 800},  {4, 33, 9000},   {17, 1900, 90}, {48, 70, 1000},  {49, 70, 1000},
        {70, 48, 1000}, {900, 3, 500},   {7, 7, 13000},  {1, 1, 5000},    {130, 140, 500},
        {1, 8, 20000},  {600, 30, 2000}, {5, 203, 411},  {11, 137, 1601}, {16, 301, 777},
        {23, 95, 2100}, {200, 19, 900},  {31, 450, 130}, {64, 100, 260},  {2, 77, 1500}};
    int turn = 0;
    for (sides const& s : all)
        for (int lying = 0; lying < 8; ++lying)
            if (++turn % (support::sanitized ? 4 * one_in : one_in) == 0) has_bits_of_floats<A, B>(s, lying);
}

} // namespace

// Before the others, which leave no room for more kernels.
TEST_CASE(
    "few rows of floats times a narrower matrix that comes from memory, or whose rows are pages apart") {
    if (!sg::current_isa().available)
        std::puts("skipped: this machine lacks the instruction set that is asked for");
    for (index_t const m : {1, 3, 11, 37}) {
        if (m > 3 || !support::sanitized) has_bits_of_floats<float, sg::bfloat16>({m, 6403, 1000}, 0);
        has_bits_of_floats<float, sg::half>({m, 2043, 130}, 0);
    }
    has_bits_of_floats<std::int8_t, sg::half>({9, 2043, 130}, 0);
}

TEST_CASE("a product of two element types has the bits of one of floats") {
    have_bits_of_floats<float, sg::bfloat16>(1);
    have_bits_of_floats<float, sg::half>(3);
    have_bits_of_floats<sg::half, float>(3);
    have_bits_of_floats<sg::bfloat16, std::int8_t>(3);
    have_bits_of_floats<std::int8_t, sg::half>(5);
}

TEST_CASE("batches of two element types") {
    constexpr index_t m = 6, n = 40, k = 500, count = 5;
    in_two_types<float> const a(count * m, k, sg::layout::row_major, 3);
    in_two_types<sg::half> const b(k, n, sg::layout::col_major, 4);
    sg::matrix<float> c(count * m, n), expected(count * m, n);
    auto const multiply = [&](auto const& left, auto const& right, auto& to) {
        auto const first = left.block(0, 0, m, k);
        sg::gemm(sg::host{.threads = 2}, sg::batched(first, count, m * left.row_stride), right,
                 sg::batched(to.block(0, 0, m, n), count, m * n));
    };
    multiply(a.own(), b.own(), c), multiply(a.wide(), b.wide(), expected);
    CHECK(support::same_bits(c, expected));
}

TEST_CASE("operands of two element types are named, and bounded as in the wider") {
    using sg::bfloat16;
    sg::shape<float, bfloat16> const mixed{30, 40, 900};
    sg::shape<float> const floats{30, 40, 900};
    sg::host const on{.threads = 1};
    CHECK(support::contains(on.describe(mixed), "float x bfloat16"));
    CHECK(on.error_bound(mixed).worst == on.error_bound(floats).worst);
    CHECK(sg::reference{}.error_bound(mixed).worst == sg::reference{}.error_bound(floats).worst);
    static_assert(std::is_same_v<sg::shape<bfloat16, std::int8_t>::c_type, float>);
    static_assert(std::is_same_v<sg::shape<std::int8_t, sg::half>::c_type, float>);
}
