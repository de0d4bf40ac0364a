#include "catch.hpp"
#include "sparse.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/ell.hpp>

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
    auto const epilogue = [](T y, sg::index_t i, sg::index_t j) {
        return y + T(static_cast<sg::real_t<T>>(3 * i + j));
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
    auto const whole = support::blocks<T>(16, 24, 4, 0.4, 4);
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

TEST_CASE("sparse formats: what is wrong is said") {
    auto const says = [](sg::status const& s, sg::errc code, char const* words) {
        REQUIRE(!s);
        CHECK(s.error().code() == code);
        INFO(s.error().what());
        CHECK(contains(s.error().what(), words));
    };
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
