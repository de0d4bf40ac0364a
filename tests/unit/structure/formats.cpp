#include "catch.hpp"
#include "sparse.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/blocked_ell.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/ell.hpp>
#include <stratagemm/structure/events.hpp>
#include <stratagemm/structure/two_of_four.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;

namespace {

// The products of x, from both sides, transposed and with factors, and x as a dense matrix.
template <class T, class X>
int wrong_products(X const& x, sg::matrix<T> const& dense, sg::index_t n) {
    sg::index_t const m = dense.rows(), k = dense.cols();
    auto const right = integers<T>(k, n, 1), left = integers<T>(n, m, 2), across = integers<T>(m, n, 3);
    sg::matrix<T> c(m, n), expected(m, n), back(m, k);
    int wrong = 0;
    sg::host const cpu{2};
    sg::gemm(cpu, T(2), x, right, T(0), c);
    sg::gemm(sg::reference{}, T(2), dense, right, T(0), expected);
    wrong += !equal(c, expected);
    sg::matrix<T> d(n, k), expected_d(n, k);
    sg::gemm(cpu, left, sg::conjugated(sg::scaled(T(2), x)), d);
    sg::gemm(sg::reference{}, left, sg::conjugated(sg::scaled(T(2), dense)), expected_d);
    wrong += !equal(d, expected_d);
    sg::matrix<T> t(k, n), expected_t(k, n);
    sg::gemm(cpu, x.transposed(), across, t);
    sg::gemm(sg::reference{}, sg::transposed(dense), across, expected_t);
    wrong += !equal(t, expected_t);
    using S = sg::accumulator_t<T>;
    auto const epilogue = [](S y, sg::index_t i, sg::index_t j) {
        return y + S(static_cast<sg::real_t<S>>(3 * i + j));
    };
    sg::gemm(sg::reference{}, T(3), sg::conjugated(sg::scaled(T(2), dense)), sg::conjugated(right), T(-2),
             across, expected, epilogue);
    sg::gemm(cpu, T(3), sg::conjugated(sg::scaled(T(2), x)), sg::conjugated(right), T(-2), across, c,
             epilogue);
    wrong += !equal(c, expected);
    sg::to_dense(cpu, x, back);
    wrong += !equal(back, dense);
    return wrong;
}
// With one column, two and more: of a few, the host adds up elements as they are stored.
template <class T, class X>
int wrong_products(X const& x, sg::matrix<T> const& dense) {
    return wrong_products(x, dense, 1) + wrong_products(x, dense, 2) + wrong_products(x, dense, 9);
}

} // namespace

TEMPLATE_TEST_CASE("sparse formats: conversions among them, and the products of each", "", float,
                   std::complex<double>) {
    using T = TestType;
    sg::host const cpu;
    for (auto const& a : {support::uniform_sparse<T>(20, 28, 0.2, 1), support::power_law<T>(12, 36, 1.1, 2),
                          support::banded<T>(24, 16, 2, 3), support::blocks<T>(16, 24, 4, 0.4, 4)}) {
        auto const dense = a.dense();
        auto const x = a.view();
        CHECK(wrong_products<T>(x, dense) == 0);
        auto const coo = sg::to_coo(cpu, x);
        CHECK(static_cast<bool>(coo.view().check_sorted()));
        CHECK(wrong_products<T>(coo.view(), dense) == 0);
        auto const csc = sg::to_csc(cpu, coo);
        CHECK(static_cast<bool>(csc.view().check()));
        CHECK(wrong_products<T>(csc.view(), dense) == 0);
        auto const ell = sg::to_ell(cpu, csc);
        CHECK(static_cast<bool>(ell.view().check()));
        CHECK(wrong_products<T>(ell.view(), dense) == 0);
        auto const bsr = sg::to_bsr(cpu, ell, 4);
        CHECK(static_cast<bool>(bsr.view().check()));
        CHECK(wrong_products<T>(bsr.view(), dense) == 0);
        auto const padded = sg::to_blocked_ell(cpu, csc, 4);
        CHECK(static_cast<bool>(padded.view().check()));
        CHECK(wrong_products<T>(padded.view(), dense) == 0);
        CHECK(wrong_products<T>(sg::to_blocked_ell(cpu, bsr, 4).view(), dense) == 0);
        CHECK(wrong_products<T>(sg::to_blocked_ell(cpu, bsr, 2).view(), dense) == 0);
        CHECK(wrong_products<T>(sg::to_blocked_ell(cpu, sg::events(dense), 1).view(), dense) == 0);
        CHECK(sg::to_bsr(cpu, padded, 4).view().blocks == bsr.view().blocks); // without the padding
        // And back: blocks hold zeros, everything else is as it was.
        auto const again = sg::to_csr(cpu, ell);
        auto const list = again.view();
        CHECK(list.nonzeros == x.nonzeros);
        CHECK(static_cast<bool>(list.check_sorted()));
        CHECK(static_cast<bool>(sg::to_csr(cpu, bsr).view().check_sorted()));
        CHECK(sg::to_csr(cpu, bsr).view().nonzeros >= x.nonzeros);
    }
    // Long lines: their elements are shared out.
    auto const a = support::uniform_sparse<T>(30, 1400, 0.5, 6);
    CHECK(wrong_products<T>(sg::to_coo(cpu, a.view()).view(), a.dense()) == 0);
    CHECK(wrong_products<T>(sg::to_csc(cpu, a.view()).view(), a.dense()) == 0);
    CHECK(wrong_products<T>(sg::to_ell(cpu, a.view()).view(), a.dense()) == 0);
    // What plans say of each, on backends of any kind.
    auto const plans = [](auto const& policy, auto const& x) {
        sg::matrix<T> const b(x.view().cols, 3), left(3, x.view().rows);
        for (double const seconds :
             {sg::plan(policy, sg::product(x, b, sg::matrix<T>(x.view().rows, 3)).shape()).estimate(),
              sg::plan(policy, sg::product(left, x, sg::matrix<T>(3, x.view().cols)).shape()).estimate()})
            CHECK(seconds > 0);
    };
    auto const whole = support::blocks<T>(16, 24, 4, 0.4, 4);
    auto const each_format = [&](auto const& policy) {
        plans(policy, sg::to_coo(cpu, whole.view()));
        plans(policy, sg::to_csc(cpu, whole.view()));
        plans(policy, sg::to_ell(cpu, whole.view()));
        plans(policy, sg::to_bsr(cpu, whole.view(), 4));
        plans(policy, sg::to_blocked_ell(cpu, whole.view(), 4));
    };
    each_format(cpu);
    each_format(sg::reference{});
    CHECK(sg::to_bsr(cpu, whole.view(), 4).view().nonzeros() == whole.view().nonzeros);
    CHECK(contains(
        sg::plan(
            cpu,
            sg::product(sg::to_bsr(cpu, whole.view(), 4), sg::matrix<T>(24, 2), sg::matrix<T>(16, 2)).shape())
            .describe(),
        "bsr, listed first; each call does that, to_csr once; csr of"));
}

TEST_CASE(
    "sparse formats: a vector times elements as they are stored has the same bits on any number of threads") {
    auto a = support::uniform_sparse<float>(40, 2000, 0.3, 7);
    auto const x = support::fractions<float>(1, static_cast<sg::index_t>(a.values.size()), 2);
    std::copy(x.data(), x.data() + a.values.size(), a.values.begin());
    auto const csc = sg::to_csc(sg::host{}, a.view());
    auto const coo = sg::to_coo(sg::host{}, a.view());
    auto const b = support::fractions<float>(2000, 1, 3);
    sg::matrix<float> one(40, 1), several(40, 1);
    auto const compare = [&](auto const& matrix) {
        sg::gemm(sg::host{1}, matrix, b, one);
        for (int const threads : {2, 3}) {
            sg::gemm(sg::host{threads}, matrix, b, several);
            CHECK(support::same_bits(one, several));
        }
        auto const expected = support::product_of(a.dense(), b);
        double most = 0;
        for (sg::index_t i = 0; i < 40; ++i)
            most = std::max(most, std::abs(static_cast<double>(one(i, 0) - expected(i, 0))));
        CHECK(most <= 600 * 0.25 * static_cast<double>(std::numeric_limits<float>::epsilon()));
    };
    compare(csc);
    compare(coo);
    sg::plan const plan(sg::host{}, sg::product(csc, b, one).shape());
    CHECK(contains(plan.describe(), "elements, added up as they are stored"));
    sg::plan const none(sg::host{}, sg::product(sg::coo<float>{0, 3, nullptr, nullptr, nullptr, 0},
                                                sg::matrix<float>(3, 1), sg::matrix<float>(0, 1))
                                        .shape());
    CHECK(none.workspace().host == 0);
}

TEMPLATE_TEST_CASE("sparse formats: patterns, from every format and back", "", float, std::complex<double>) {
    using T = TestType;
    sg::host const cpu;
    auto const a = support::uniform_sparse<T>(20, 28, 0.2, 1);
    auto const x = a.view();
    sg::matrix<T> ones(20, 28), turned(28, 20);
    for (sg::index_t i = 0; i < 20; ++i)
        for (sg::index_t at = x.row_begins[i]; at < x.row_begins[i + 1]; ++at)
            ones(i, x.columns[at]) = turned(x.columns[at], i) = T(1);
    auto const of_csr = sg::to_csr_of_ones(cpu, sg::scaled(T(2), x));
    CHECK((of_csr.view().columns == x.columns && of_csr.view().row_begins == x.row_begins));
    auto const of_coo = sg::to_csr_of_ones(cpu, sg::to_coo(cpu, x));
    auto const of_ell = sg::to_csr_of_ones(cpu, sg::to_ell(cpu, x));
    auto const of_dense = sg::to_csr_of_ones(cpu, sg::events(ones));
    for (auto const& p : {of_csr.view(), of_coo.view(), of_ell.view(), of_dense.view(),
                          sg::to_csr_of_ones(cpu, of_ell).view()}) {
        REQUIRE(static_cast<bool>(p.check()));
        CHECK(wrong_products<T>(p, ones) == 0);
    }
    CHECK(wrong_products<T>(sg::to_csr_of_ones(cpu, x.transposed()).view(), turned) == 0);
    // All elements of a block are stored.
    CHECK(sg::to_csr_of_ones(cpu, sg::to_bsr(cpu, x, 4)).view().nonzeros ==
          sg::to_bsr(cpu, x, 4).view().nonzeros());
    auto const p = of_csr.view();
    CHECK(wrong_products<T>(sg::to_csr(cpu, p).view(), ones) == 0);
    CHECK(wrong_products<T>(sg::to_csc(cpu, p).view(), ones) == 0);
    CHECK(wrong_products<T>(sg::to_coo(cpu, p).view(), ones) == 0);
    CHECK(wrong_products<T>(sg::to_ell(cpu, p).view(), ones) == 0);
    CHECK(wrong_products<T>(sg::to_bsr(cpu, p, 4).view(), ones) == 0);
    CHECK(wrong_products<T>(sg::to_blocked_ell(cpu, p, 2).view(), ones) == 0);
    sg::matrix<T> twice(20, 28), sum(20, 28);
    sg::to_dense(cpu, sg::scaled(T(2), p), twice);
    sg::to_dense(cpu, sg::to_csr(cpu, sg::scaled(T(2), p)), sum);
    CHECK((equal(twice, sum) && twice(0, x.columns[0]) == T(2)));
    auto const marks = sg::matrix<std::int8_t>(
        20, 28, [&](auto i, auto j) { return static_cast<std::int8_t>(ones(i, j) == T(1) ? 5 : 0); });
    CHECK(wrong_products<T>(sg::to_csr(cpu, sg::events<T>(marks)).view(), ones) == 0);
    CHECK(sg::to_csr_of_ones(cpu, sg::coo<T>{3, 4, nullptr, nullptr, nullptr, 0}).view().nonzeros == 0);
    CHECK(sg::to_csr(cpu, sg::to_csr_of_ones(cpu, sg::coo<T>{3, 4, nullptr, nullptr, nullptr, 0}))
              .view()
              .nonzeros == 0);
}

TEST_CASE("sparse formats: elements in any order, and several of one place") {
    std::vector<std::int64_t> const rows{2, 0, 2, 1, 2}, columns{1, 3, 0, 2, 1};
    std::vector<float> const values{1, 2, 3, 4, 5};
    sg::coo<float, std::int64_t> const x{3, 4, rows.data(), columns.data(), values.data(), 5};
    CHECK(static_cast<bool>(x.check()));
    CHECK(contains(x.check_sorted().error().what(), "not sorted, or repeat: number 1"));
    sg::matrix<float> dense(3, 4);
    dense(2, 1) = 6, dense(0, 3) = 2, dense(2, 0) = 3, dense(1, 2) = 4;
    CHECK(wrong_products<float>(x, dense) == 0);
    auto const listed = sg::to_csr(sg::host{}, x);
    auto const by_rows = listed.view();
    CHECK((by_rows.columns[2] == 1 && by_rows.columns[3] == 0 &&
           by_rows.columns[4] == 1)); // as they were stored
    CHECK(by_rows.check_sorted().error().code() == sg::errc::argument);
    auto const in_order = sg::to_csr(sg::host{}, sg::to_csc(sg::host{}, x));
    auto const sorted = in_order.view();
    CHECK((sorted.columns[2] == 0 && sorted.columns[3] == 1 && sorted.columns[4] == 1));
    CHECK((sorted.values[3] == 1 && sorted.values[4] == 5));
    // Nothing at all.
    sg::coo<float> const none{3, 4, nullptr, nullptr, nullptr, 0};
    CHECK(wrong_products<float>(none, sg::matrix<float>(3, 4)) == 0);
    CHECK(wrong_products<float>(sg::to_ell(sg::host{}, none).view(), sg::matrix<float>(3, 4)) == 0);
    CHECK(wrong_products<float>(sg::to_bsr(sg::host{}, none, 1).view(), sg::matrix<float>(3, 4)) == 0);
    CHECK(wrong_products<float>(sg::to_blocked_ell(sg::host{}, none, 1).view(), sg::matrix<float>(3, 4)) ==
          0);
}

TEST_CASE("sparse formats: rows of a width, with columns a column apart") {
    // Element e of row i is e * 3 + i.
    std::vector<std::int32_t> const columns{0, 2, -1, 3, -1, -1};
    std::vector<float> const values{1, 2, 99, 3, 99, 99};
    sg::ell<float> const x(4, sg::col_major(columns.data(), 3, 2), sg::col_major(values.data(), 3, 2));
    CHECK(static_cast<bool>(x.check()));
    sg::matrix<float> dense(3, 4);
    dense(0, 0) = 1, dense(1, 2) = 2, dense(0, 3) = 3;
    CHECK(wrong_products<float>(x, dense) == 0);
}

TEST_CASE("sparse formats: rows of blocks of a width, with columns a column apart") {
    // Block e of row l of blocks is e * 2 + l. Padding has values that are not numbers.
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::int64_t> const columns{1, 0, 2, -1};
    std::vector<float> const values{1, 2, 5,   6,   //
                                    3, 4, 7,   8,   //
                                    9, 0, nan, nan, //
                                    0, 9, nan, nan};
    sg::blocked_ell<float, std::int64_t> const x(6, 2, sg::col_major(columns.data(), 2, 2),
                                                 sg::row_major(values.data(), 4, 4));
    CHECK(static_cast<bool>(x.check()));
    sg::matrix<float> dense(4, 6);
    dense(0, 2) = 1, dense(0, 3) = 2, dense(1, 2) = 3, dense(1, 3) = 4;
    dense(0, 4) = 5, dense(0, 5) = 6, dense(1, 4) = 7, dense(1, 5) = 8;
    dense(2, 0) = dense(3, 1) = 9;
    CHECK(wrong_products<float>(x, dense) == 0);
    auto const list = sg::to_csr(sg::host{}, x);
    CHECK((list.view().nonzeros == 12 && list.view().check_sorted()));
    // A row of B that only padding meets is not read.
    sg::matrix<float> b(6, 3), c(4, 3);
    b(2, 0) = nan;
    sg::gemm(sg::host{}, x, b, c);
    CHECK((c(2, 0) == 0 && c(3, 0) == 0));
    CHECK(contains(sg::plan(sg::host{}, sg::product(x, b, c).shape()).describe(),
                   "blocked ell, listed first; each call does that, to_csr once; csr of 16 non-zeros"));
}

TEMPLATE_TEST_CASE("sparse formats: two of four", "", float, double, sg::half, sg::bfloat16,
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    sg::host const cpu;
    for (auto const& [m, k] : {std::pair<sg::index_t, sg::index_t>{20, 28}, {70, 136}, {1, 4}, {5, 64}}) {
        auto const a = support::two_of_four<T>(m, k, static_cast<std::uint64_t>(m));
        auto const dense = a.dense();
        auto const made = sg::to_two_of_four(cpu, dense);
        auto const x = made.view();
        CHECK(static_cast<bool>(x.check()));
        CHECK(wrong_products<T>(x, dense) == 0);
        CHECK(wrong_products<T>(sg::to_two_of_four(cpu, a.view()).view(), dense) == 0);
        CHECK(wrong_products<T>(sg::prune_to_two_of_four(cpu, dense).view(), dense) == 0);
        auto const list = sg::to_csr(cpu, x);
        CHECK(static_cast<bool>(list.view().check_sorted()));
        CHECK(list.view().nonzeros == m * k / 2);
        auto const turned = sg::to_two_of_four(
            cpu, sg::matrix<T>(
                     m, k, [&, &d = dense](auto i, auto j) { return d(i, j); }, sg::layout::col_major));
        CHECK(wrong_products<T>(turned.view(), dense) == 0);
    }
    // The factor of the matrix that it is made of.
    auto const dense = support::two_of_four<T>(8, 12, 3).dense();
    auto const scaled = sg::to_two_of_four(cpu, sg::conjugated(sg::scaled(T(3), dense)));
    sg::matrix<T> found(8, 12), expected(8, 12);
    sg::to_dense(cpu, scaled, found);
    sg::gemm(cpu, sg::conjugated(sg::scaled(T(3), dense)),
             sg::matrix<T>(12, 12, [](auto i, auto j) { return T(i == j ? 1.0f : 0.0f); }), expected);
    CHECK(equal(found, expected));
}

TEST_CASE("sparse formats: two of four, where the positions are") {
    // Values with a gap; bits of rows and columns that are not there are set at random.
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const values{1, 2, 3, 4, nan, 5, 6, 7, 8, nan};
    std::vector<std::int32_t> positions(128, -1);
    auto const put = [&](sg::index_t i, sg::index_t group, std::uint32_t first, std::uint32_t second) {
        auto const [word, shift] = sg::two_of_four_place(8, i, group);
        auto& bits = positions[static_cast<std::size_t>(word)];
        bits = static_cast<std::int32_t>((static_cast<std::uint32_t>(bits) & ~(15u << shift)) |
                                         (first | second << 2) << shift);
    };
    put(0, 0, 0, 3), put(0, 1, 1, 2), put(1, 0, 2, 3), put(1, 1, 0, 1);
    sg::two_of_four<float> const x{2, 8, sg::row_major(values.data(), 2, 4, 5), positions.data()};
    CHECK(static_cast<bool>(x.check()));
    CHECK(static_cast<std::uint32_t>(positions[0]) == 0xffffff9cu);
    CHECK(static_cast<std::uint32_t>(positions[4]) == 0xffffff4eu);
    sg::matrix<float> dense(2, 8);
    dense(0, 0) = 1, dense(0, 3) = 2, dense(0, 5) = 3, dense(0, 6) = 4;
    dense(1, 2) = 5, dense(1, 3) = 6, dense(1, 4) = 7, dense(1, 5) = 8;
    CHECK(wrong_products<float>(x, dense) == 0);
    // A row of B that no element meets is not read.
    sg::matrix<float> b(8, 1), c(2, 1);
    b(7, 0) = nan;
    sg::gemm(sg::host{}, x, b, c);
    CHECK((c(0, 0) == 0 && c(1, 0) == 0));
    CHECK(sg::two_of_four_words(65, 68) == 512);
    auto const last = sg::two_of_four_place(136, 64 + 47, 33);
    CHECK((last.word == 5 * 128 + 2 * 32 + 7 * 4 && last.shift == 20));
    CHECK(contains(sg::plan(sg::host{}, sg::product(x, b, c).shape()).describe(),
                   "two of four, listed first; each call does that, to_csr once; csr of 8 non-zeros"));
}

TEST_CASE("sparse formats: two of four, the largest of each four") {
    sg::host const cpu;
    float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const from{1, -4, 3, 2, 5, 5, -5, 5, 0, 0, 0, 0, nan, 1, inf, nan};
    auto const x = sg::prune_to_two_of_four(cpu, sg::row_major(from, 1, 16));
    auto const v = x.view();
    std::vector<sg::index_t> columns;
    for (sg::index_t e = 0; e < 8; ++e) columns.push_back(v.column(0, e));
    CHECK(columns == std::vector<sg::index_t>{1, 2, 4, 5, 8, 9, 12, 15});
    CHECK((v.values(0, 0) == -4 && v.values(0, 1) == 3));
}

namespace {

void says(sg::status const& s, sg::errc code, char const* words) {
    REQUIRE(!s);
    CHECK(s.error().code() == code);
    INFO(s.error().what());
    CHECK(contains(s.error().what(), words));
}

} // namespace

TEST_CASE("sparse formats: two of four, what is wrong is said") {
    sg::host const cpu;
    auto const refused = [&](sg::errc code, char const* words, auto const& call) {
        try {
            call();
            FAIL("taken");
        } catch (sg::error const& e) {
            INFO(e.what());
            CHECK(e.code() == code);
            CHECK(contains(e.what(), words));
        }
    };
    sg::matrix<float> dense(4, 12);
    dense(2, 4) = dense(2, 5) = dense(2, 7) = 1;
    refused(sg::errc::argument, "more than two elements are not zero in row 2, columns 4 to 7",
            [&] { sg::to_two_of_four(cpu, dense); });
    refused(sg::errc::shape, "multiple of 4", [&] { sg::to_two_of_four(cpu, sg::matrix<float>(4, 6)); });
    std::vector<std::int32_t> positions(128, 0x44444444);
    sg::matrix<float> const values(4, 6), b(12, 2);
    sg::matrix<float> c(4, 2);
    sg::two_of_four<float> x{4, 12, values.view(), positions.data()};
    CHECK(static_cast<bool>(x.check()));
    positions[8] = 0x44444454; // both elements of columns 4 to 7 of row 2 are in the same place
    says(x.check(), sg::errc::argument, "the two positions do not rise in row 2, columns 4 to 7");
    x.cols = 10;
    says(x.check(), sg::errc::shape, "multiple of 4");
    says(sg::try_gemm(cpu, x, sg::matrix<float>(10, 2), c), sg::errc::shape, "multiple of 4");
    x.cols = 16;
    says(x.check(), sg::errc::shape, "half as many columns");
}

TEST_CASE("sparse formats: what is wrong is said") {
    std::vector<std::int32_t> rows{0, 1, 3}, columns{0, 1, 2};
    std::vector<float> const values(16);
    sg::coo<float> const list{3, 3, rows.data(), columns.data(), values.data(), 3};
    says(list.check(), sg::errc::argument, "coo: a row is out of range: number 2");
    rows[2] = 2, columns[1] = -1;
    says(list.check(), sg::errc::argument, "coo: a column is out of range: number 1");
    columns[1] = 7;
    sg::ell<float> const wide(3, sg::row_major(columns.data(), 3, 1), sg::row_major(values.data(), 3, 1));
    says(wide.check(), sg::errc::argument, "ell: a column is out of range in row 1");
    sg::ell<float> const uneven(3, sg::row_major(columns.data(), 3, 1), sg::row_major(values.data(), 3, 2));
    says(uneven.check(), sg::errc::shape, "the same shape");
    sg::matrix<float> const b(4, 2), odd(3, 2);
    sg::matrix<float> c(4, 2), odd_c(3, 2);
    says(sg::try_gemm(sg::host{}, uneven, odd, odd_c), sg::errc::shape, "the same shape");
    sg::index_t const side = sg::index_t{1} << 40; // the number of elements does not fit index_t
    sg::ell<float> const vast_ell(3, {columns.data(), side, side, 0, 0}, {values.data(), side, side, 0, 0});
    says(vast_ell.check(), sg::errc::overflow, "than 32-bit indices can count");
    std::vector<std::int32_t> begins{0, 1, 2};
    columns = {0, 1};
    sg::bsr<float> blocks{4, 4, 2, begins.data(), columns.data(), values.data(), 2};
    CHECK(static_cast<bool>(blocks.check()));
    blocks.side = 3;
    says(blocks.check(), sg::errc::shape, "must divide");
    says(sg::try_gemm(sg::host{}, blocks, b, c), sg::errc::shape, "must divide");
    blocks.side = 2, blocks.blocks = 3;
    says(blocks.check(), sg::errc::argument,
         "bsr: the number of stored elements is not the last of block_begins, 2");
    blocks.blocks = std::int64_t{1} << 40;
    says(blocks.check(), sg::errc::overflow, "than the indices can count");
    blocks.blocks = 2, columns[1] = 2;
    says(blocks.check(), sg::errc::argument, "bsr: a column of blocks is out of range: number 1");
    begins[1] = 3;
    says(blocks.check(), sg::errc::argument, "block_begins falls after row 1");
    std::vector<std::int32_t> padded{1, -1, 0, 2};
    sg::blocked_ell<float> ells(4, 2, sg::row_major(padded.data(), 2, 2), sg::row_major(values.data(), 4, 4));
    says(ells.check(), sg::errc::argument,
         "blocked_ell: a column of blocks is out of range in row of blocks 1");
    padded = {1, -1, -1, 0};
    says(ells.check(), sg::errc::argument, "blocked_ell: a block is behind padding in row of blocks 1");
    padded[3] = -7;
    CHECK(static_cast<bool>(ells.check()));
    ells.values.cols = 3;
    says(ells.check(), sg::errc::shape, "values must have `side` times");
    ells.side = 3;
    says(ells.check(), sg::errc::shape, "must divide the sides of the matrix");
    says(sg::try_gemm(sg::host{}, ells, b, c), sg::errc::shape, "must divide");
    sg::blocked_ell<float> vast_ells(std::int64_t{1} << 34, 2, ells.block_columns, ells.values);
    vast_ells.values.cols = std::int64_t{1} << 32, vast_ells.block_columns.cols = std::int64_t{1} << 31;
    says(vast_ells.check(), sg::errc::overflow, "than the indices can count");
    // As many elements as 32 bits do not count; none is read.
    sg::coo<float> const vast{3, 3, rows.data(), rows.data(), values.data(), std::int64_t{1} << 32};
    auto const made = sg::try_by_rows(sg::host{}, vast);
    REQUIRE(!made);
    CHECK((made.error().code() == sg::errc::overflow || made.error().code() == sg::errc::memory));
    sg::matrix<float> wrong_sides(2, 2);
    try {
        sg::to_dense(sg::host{}, list, wrong_sides);
        FAIL("taken");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
    }
}
