// Sums of matrices as operands, and results in several places, on the host.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>

#include <limits>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

namespace {

// f x + g y, element by element.
template <class T>
sg::matrix<T> combined(T f, sg::matrix<T> const& x, T g, sg::matrix<T> const& y) {
    return sg::matrix<T>(x.rows(), x.cols(),
                         [&](sg::index_t i, sg::index_t j) { return f * x(i, j) + g * y(i, j); });
}
template <class T>
using pair_of = sg::spread<sg::view<T>, 2>;

constexpr auto nan_value = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEMPLATE_TEST_CASE("sums and spreads are what they say, for every layout and odd sizes", "", float, double) {
    using T = TestType;
    sg::index_t const sizes[][3] = {{1, 1, 1},     {5, 7, 3},    {48, 16, 100},
                                    {97, 65, 800}, {50, 530, 9}, {300, 17, 1300}};
    int wrong = 0;
    for (auto const& [m, n, k] : sizes)
        for (int layout = 0; layout < 8; ++layout) {
            if (support::sanitized && m * n > 3000 && layout % 7 != 0) continue;
            auto const order = [&](int bit) {
                return layout >> bit & 1 ? sg::layout::col_major : sg::layout::row_major;
            };
            auto const a = integers<T>(m, k, 1, order(0)), a2 = integers<T>(m, k, 2, order(0)),
                       a3 = integers<T>(m, k, 3, sg::layout::row_major), b = integers<T>(k, n, 4, order(1)),
                       b2 = integers<T>(k, n, 5, order(1)), e = integers<T>(m, n, 6);
            auto const sum_a = combined(T(1), combined(T(1), a, T(-2), a2), T(1), a3);
            auto const sum_b = combined(T(1), b, T(1), b2);
            auto const ab = product_of(sum_a, sum_b), a_b = product_of(sum_a, b);
            auto const left = sg::sum(a, sg::scaled(T(-2), a2), a3);
            auto const right = sg::sum(b, b2);
            for (int const threads : {1, 3}) {
                sg::host const cpu{threads};
                sg::matrix<T> c(
                    m, n, [](sg::index_t, sg::index_t) { return T(nan_value); }, order(2)),
                    d = c;
                sg::gemm(cpu, left, right, c);
                wrong += !equal(c, ab);
                sg::gemm(cpu, T(2), left, b, T(-1), e, d, sg::relu);
                auto const expected = combined(T(2), a_b, T(-1), e);
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j)
                        wrong += d(i, j) != (expected(i, j) < 0 ? 0 : expected(i, j));
                // The first target is only written to: what it held is not read.
                c = sg::matrix<T>(
                    m, n, [](sg::index_t, sg::index_t) { return T(nan_value); }, order(2));
                d = integers<T>(m, n, 7, order(2));
                auto const before = d;
                pair_of<T> both;
                both.add(c.view(), T(2));
                both.add(d.view(), T(-1), T(3), d.view());
                sg::gemm(cpu, left, right, both);
                wrong += !equal(c, combined(T(2), ab, T(0), ab));
                wrong += !equal(d, combined(T(-1), ab, T(3), before));
                pair_of<T> apart;
                apart.add(c.view(), T(1), T(2), e.view());
                sg::gemm(cpu, T(3), a, b, T(0), apart);
                wrong += !equal(c, combined(T(3), product_of(a, b), T(2), e));
            }
        }
    CHECK(wrong == 0);
}

TEST_CASE("a spread of nothing keeps what its targets say") {
    auto const a = integers<float>(4, 0, 1), b = integers<float>(0, 5, 2);
    auto const e = integers<float>(4, 5, 3);
    sg::matrix<float> c(4, 5, [](sg::index_t, sg::index_t) { return 9.0f; }), d = c;
    pair_of<float> both;
    both.add(c.view(), 1.0f);
    both.add(d.view(), 1.0f, 2.0f, e.view());
    sg::gemm(sg::host{}, a, b, both);
    CHECK(equal(c, sg::matrix<float>(4, 5)));
    CHECK(equal(d, combined(2.0f, e, 0.0f, e)));
}

TEST_CASE("a product of sums takes the workspace of a plain one, and stays inside of it") {
    auto const a = integers<float>(70, 400, 1), b = integers<float>(400, 90, 2);
    sg::matrix<float> c(70, 90), d(70, 90);
    auto const p = sg::product(sg::sum(a, a), b, c);
    sg::host const cpu{1};
    CHECK(cpu.workspace(p.shape()) == cpu.workspace(sg::shape<float>{70, 90, 400}));
    CHECK(support::try_arena(cpu, p).stayed_inside);
    pair_of<float> both;
    both.add(c.view(), 1.0f);
    both.add(d.view(), 1.0f);
    CHECK(support::try_arena(cpu, sg::product(sg::sum(a, a), b, both)).stayed_inside);
}

TEST_CASE("bits depend on neither threads nor how columns are divided") {
    auto const a = support::fractions<float>(130, 900, 1), b = support::fractions<float>(900, 1100, 2);
    sg::matrix<float> c(130, 1100), d(130, 1100), part(130, 500);
    auto const left = sg::sum(a, sg::scaled(0.3f, a));
    sg::gemm(sg::host{1}, left, sg::sum(b, b), c);
    sg::gemm(sg::host{3}, left, sg::sum(b, b), d);
    CHECK(support::same_bits(c, d));
    auto const columns = b.block(0, 100, 900, 500);
    sg::gemm(sg::host{2}, left, sg::sum(columns, columns), part);
    int wrong = 0;
    for (sg::index_t i = 0; i < 130; ++i)
        for (sg::index_t j = 0; j < 500; ++j) wrong += part(i, j) != c(i, j + 100);
    CHECK(wrong == 0);
}

TEST_CASE("what is wrong with sums and spreads is said before anything is written") {
    auto const a = integers<float>(6, 8, 1), b = integers<float>(8, 10, 2), narrow = integers<float>(6, 7, 3);
    sg::matrix<float> c(6, 10, [](sg::index_t, sg::index_t) { return 5.0f; }), d = c;
    auto const before = c;
    auto const refused = [&](sg::errc code, char const* words, auto const&... operands) {
        sg::status const s = sg::try_gemm(sg::host{}, operands...);
        REQUIRE(!s);
        CAPTURE(s.error().what());
        CHECK(s.error().code() == code);
        CHECK(contains(s.error().what(), words));
        CHECK(equal(c, before));
        CHECK(equal(d, before));
    };
    refused(sg::errc::shape, "same shape", sg::sum(a, narrow), b, c.view());
    refused(sg::errc::shape, "A is 6 x 8", sg::sum(a, a), sg::sum(narrow), c.view());
    refused(sg::errc::alias, "overlaps A or B", sg::sum(c.block(0, 0, 6, 8), a), b, c.view());
    refused(sg::errc::null_data, "null", sg::sum(a, sg::row_major(static_cast<float*>(nullptr), 6, 8)), b,
            c.view());
    pair_of<float> both;
    both.add(c.view(), 1.0f);
    both.add(c.block(0, 0, 6, 10), 1.0f);
    refused(sg::errc::alias, "overlap", a, b, both);
    both = pair_of<float>();
    both.add(c.view(), 1.0f);
    both.add(d.block(0, 0, 6, 9), 1.0f);
    refused(sg::errc::shape, "same shape", a, b, both);
    both = pair_of<float>();
    both.add(c.view(), 1.0f);
    both.add(d.view(), 1.0f, 1.0f, c.view());
    refused(sg::errc::alias, "another target", a, b, both);
    both = pair_of<float>();
    both.add(c.view(), 1.0f);
    refused(sg::errc::argument, "no beta", 1.0f, a, b, 2.0f, both);
    CHECK_THROWS_AS((both.add(d.view(), 1.0f), both.add(d.view(), 1.0f)), sg::error);
    refused(sg::errc::strides, "the batch C overlap", sg::batched(a, 2, 0), sg::sum(b),
            sg::batched(c.view(), 2, 0));
}

TEST_CASE("a sum serves a whole batch") {
    auto const a = integers<double>(12, 8, 1), b = integers<double>(8, 10, 2),
               b2 = integers<double>(8, 10, 3);
    sg::matrix<double> c(12, 10);
    sg::gemm(sg::host{}, sg::batched(a.block(0, 0, 3, 8), 4, 24), sg::sum(b, b2),
             sg::batched(c.block(0, 0, 3, 10), 4, 30));
    CHECK(equal(c, product_of(a, combined(1.0, b, 1.0, b2))));
}

TEST_CASE("other policies refuse sums when they are compiled") {
    using term = sg::view<float const>;
    using sums = sg::problem<sg::sum_of<term, 2>, term, sg::view<float>>;
    using spreads = sg::problem<term, term, pair_of<float>>;
    static_assert(sg::takes<sg::host, sums> && sg::takes<sg::host, spreads>);
    static_assert(sg::answer<sg::reference, sums>() == sg::verdict::structure);
    static_assert(sg::answer<sg::strassen<sg::host>, sums>() == sg::verdict::structure);
    using of_half = sg::view<sg::half const>;
    using halves = sg::problem<sg::sum_of<of_half, 2>, of_half, sg::view<float>>;
    static_assert(sg::answer<sg::host, halves>() == sg::verdict::types);
    using finished = sg::problem<term, term, pair_of<float>, sg::relu_epilogue>;
    static_assert(sg::answer<sg::host, finished>() == sg::verdict::epilogue);
    SUCCEED();
}
