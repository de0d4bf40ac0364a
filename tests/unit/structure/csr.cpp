#include "catch.hpp"
#include "sparse.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/sampled.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;

namespace {

// A sparse matrix with its arrays, and the same as a dense one.
template <class T, class Index = std::int32_t>
struct sparse {
    std::vector<Index> begins{0}, columns;
    std::vector<T> values;
    sg::matrix<T> dense;

    sparse(sg::index_t rows, sg::index_t cols, int one_in) : dense(integers<T>(rows, cols, 5)) {
        support::random_source from(1);
        for (sg::index_t i = 0; i < rows; ++i) {
            for (sg::index_t j = 0; j < cols; ++j) {
                if (i % 5 == 3 || from.below(one_in) != 0) {
                    dense(i, j) = T(static_cast<float>(0));
                    continue;
                }
                columns.push_back(static_cast<Index>(j)), values.push_back(dense(i, j));
            }
            begins.push_back(static_cast<Index>(columns.size()));
        }
    }
    sg::csr<T, Index> view() const {
        return {dense.rows(),   dense.cols(),  begins.data(),
                columns.data(), values.data(), static_cast<sg::index_t>(values.size())};
    }
};

} // namespace

TEMPLATE_TEST_CASE("csr times dense is the dense product, in every layout", "", float, double, sg::half,
                   std::complex<float>, std::int8_t) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    sg::index_t const sizes[][3] = {{1, 1, 1}, {7, 5, 9}, {40, 300, 33}, {65, 1, 70}, {100, 513, 64}};
    int wrong = 0;
    for (auto const& [m, n, k] : sizes)
        for (int layout = 0; layout < 4; ++layout) {
            if (support::sanitized && m == 100 && layout % 3 != 0) continue;
            auto const order = [&](int bit) {
                return layout >> bit & 1 ? sg::layout::col_major : sg::layout::row_major;
            };
            sparse<T> const a(m, k, 4);
            sparse<T, std::int64_t> const wide(m, k, 4);
            auto const b = integers<T>(k, n, 2, order(0));
            auto const e = integers<S>(m, n, 3);
            for (int const threads : {1, 3}) {
                sg::host const cpu{threads};
                sg::matrix<S> c(
                    m, n, [](sg::index_t, sg::index_t) { return S(77); }, order(1)),
                    expected = c, d = c;
                sg::gemm(sg::reference{}, a.dense, b, expected);
                sg::gemm(cpu, a.view(), b, c);
                wrong += !equal(c, expected);
                sg::gemm(cpu, wide.view(), b, d);
                wrong += !equal(d, expected);
                auto const twice = sg::scale(S(2));
                sg::gemm(sg::reference{}, S(2), a.dense, b, S(-3), e, expected, twice);
                sg::gemm(cpu, S(2), a.view(), b, S(-3), e, c, twice);
                wrong += !equal(c, expected);
                sg::gemm(sg::reference{}, S(2), a.view(), sg::conjugated(b), S(1), c);
                sg::gemm(sg::reference{}, S(2), a.dense, sg::conjugated(b), S(1), expected);
                wrong += !equal(c, expected);
            }
        }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("csr: transposed, by columns, on the right, scaled and conjugated", "", float,
                   std::complex<float>, std::int8_t) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    sg::index_t const m = 23, n = 17, k = 40;
    sparse<T> const a(k, m, 4), right(k, n, 3);
    auto const b = integers<T>(k, n, 2), left = integers<T>(m, k, 4, sg::layout::col_major);
    auto const e = integers<S>(m, n, 3);
    auto const place = [](S y, sg::index_t i, sg::index_t j) {
        return S(2) * y + S(static_cast<sg::real_t<S>>(3 * i + j));
    };
    sg::matrix<S> c(m, n), expected(m, n);
    int wrong = 0;
    auto const try_one = [&](auto const& x, auto const& y, auto const& dense_x, auto const& dense_y) {
        for (int const threads : {1, 3}) {
            sg::host const cpu{threads};
            sg::gemm(sg::reference{}, dense_x, dense_y, expected);
            sg::gemm(cpu, x, y, c);
            wrong += !equal(c, expected);
            auto const conjugated = [](auto const& z) { return sg::conjugated(sg::scaled(S(2), z)); };
            sg::gemm(sg::reference{}, S(2), conjugated(dense_x), conjugated(dense_y), S(-3), e, expected,
                     place);
            sg::gemm(cpu, S(2), conjugated(x), conjugated(y), S(-3), e, c, place);
            wrong += !equal(c, expected);
        }
    };
    try_one(a.view().transposed(), b, sg::transposed(a.dense), b);
    auto const by_columns = sg::csc<T>(m, k, a.begins.data(), a.columns.data(), a.values.data(),
                                       static_cast<sg::index_t>(a.values.size()));
    CHECK(static_cast<bool>(by_columns.check()));
    try_one(by_columns, b, sg::transposed(a.dense), b);
    try_one(left, right.view(), left, right.dense);
    try_one(sg::transposed(a.dense), right.view(), sg::transposed(a.dense),
            right.view().transposed().transposed());
    try_one(left, sg::transposed(sg::conjugated(right.view().transposed())), left,
            sg::conjugated(right.dense));
    CHECK(wrong == 0);

    // As arrays of its own.
    sg::host const cpu;
    auto const turned = sg::to_csr(cpu, sg::scaled(S(2), a.view().transposed()));
    CHECK(static_cast<bool>(turned.view().check_sorted()));
    sg::gemm(cpu, turned, b, c);
    sg::gemm(cpu, S(2), sg::transposed(a.dense), b, S(0), expected);
    CHECK(equal(c, expected));
    auto const plan = sg::plan(cpu, sg::product(left, right.view(), c).shape());
    CHECK(contains(plan.describe(), "transposed first; each call does that, to_csr once; csr of"));
    sg::index_t const size = static_cast<sg::index_t>(right.values.size());
    CHECK(plan.workspace().host >= static_cast<std::size_t>(size) * (sizeof(T) + 4));
}

TEMPLATE_TEST_CASE("csr: an epilogue has the sum before it is rounded to a narrower C", "", sg::half,
                   std::int8_t) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    sg::index_t const m = 9, n = 70, k = 40;
    sparse<T> const a(m, k, 3), right(k, n, 3);
    auto const b = integers<T>(k, n, 2), left = integers<T>(m, k, 4), e = integers<T>(m, n, 3);
    // Beyond the range of T until it is back: by a factor, or by limits.
    S const factor(std::is_integral_v<T> ? 100 : 65536);
    auto const back = [&](S x, sg::index_t i, sg::index_t j) {
        S const place(static_cast<S>(i - j % 7));
        return x / factor + place;
    };
    sg::matrix<T> c(m, n), expected(m, n);
    auto const try_one = [&](auto const& x, auto const& y, auto const& dense_x, auto const& dense_y) {
        for (int const threads : {1, 3}) {
            sg::host const cpu{threads};
            sg::gemm(sg::reference{}, factor, dense_x, dense_y, S(0), expected, back);
            sg::gemm(cpu, factor, x, y, S(0), c, back);
            CHECK(equal(c, expected));
            sg::gemm(sg::reference{}, factor, dense_x, dense_y, factor, e, expected, back);
            sg::gemm(cpu, factor, x, y, factor, e, c, back);
            CHECK(equal(c, expected));
        }
    };
    try_one(a.view(), b, a.dense, b);
    try_one(left, right.view(), left, right.dense);
}

TEST_CASE("csr: factors of int8 are modulo 2^32") {
    sparse<std::int8_t> const a(9, 40, 3);
    auto const b = integers<std::int8_t>(40, 5, 2);
    auto const part = b.block(0, 0, 40, 1);
    std::int32_t const factor = 65537, square = 131073; // 65537^2, modulo 2^32
    sg::matrix<std::int32_t> c(9, 5), expected(9, 5), one(9, 1), expected_one(9, 1);
    sg::gemm(sg::reference{}, square, a.dense, b, 0, expected);
    sg::gemm(sg::host{}, factor, sg::scaled(factor, a.view()), b, 0, c);
    CHECK(equal(c, expected));
    auto const columns = sg::to_csc(sg::host{}, a.view());
    sg::gemm(sg::host{}, factor, sg::scaled(factor, columns.view()), b, 0, c);
    CHECK(equal(c, expected));
    sg::gemm(sg::reference{}, square, a.dense, part, 0, expected_one);
    sg::gemm(sg::host{}, factor, sg::scaled(factor, columns.view()), part, 0, one);
    CHECK(equal(one, expected_one));
    auto turned = sg::scaled(factor, a.view()).transposed();
    CHECK(sg::scaled(factor, turned).transposed().scale == square);
    turned.of.scale = factor;
    CHECK(turned.transposed().scale == square);
}

TEMPLATE_TEST_CASE("csr: the result does not depend on the number of threads", "", float, double) {
    using T = TestType;
    for (sg::index_t const n : {1, 65, 200})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (auto const& [m, power] : {std::pair<sg::index_t, double>{3, 0.3},
                                           {300, 0.3},
                                           {300, 0.9}}) { // 0.9: from 0 to 400 elements
                auto a = support::power_law<T>(m, 400, power, 1);
                auto const x = support::fractions<T>(1, static_cast<sg::index_t>(a.values.size()), 2);
                std::copy(x.data(), x.data() + a.values.size(), a.values.begin());
                auto const b = support::fractions<T>(400, n, 3, order);
                sg::matrix<T> one(m, n, order), several(m, n, order);
                sg::gemm(sg::host{1}, a.view(), b, one);
                sg::gemm(sg::host{3}, a.view(), b, several);
                CHECK(support::same_bits(one, several));
                auto const expected = support::product_of(
                    a.dense(), sg::matrix<T>(400, n, [&](sg::index_t i, sg::index_t j) { return b(i, j); }));
                double most = 0;
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j)
                        most = std::max(most, std::abs(static_cast<double>(one(i, j) - expected(i, j))));
                CHECK(most <= 400 * 0.25 * static_cast<double>(std::numeric_limits<T>::epsilon()));
            }
}

TEMPLATE_TEST_CASE("csr: the number of threads does not change a bit of few rows times any number of columns",
                   "", float, double) {
    using T = TestType;
    sg::index_t const m = 5, k = 400;
    auto a = support::power_law<T>(m, k, 0.3, 1);
    auto const x = support::fractions<T>(1, static_cast<sg::index_t>(a.values.size()), 2);
    std::copy(x.data(), x.data() + a.values.size(), a.values.begin());
    auto const same = [](T y) { return y; }; // takes the way of epilogues
    int wrong = 0;
    for (sg::index_t const n : {70, 84, 100, 129, 150, 200, 260, 290, 320, 340, 520, 580}) {
        auto const b = support::fractions<T>(k, n, 3), e = support::fractions<T>(m, n, 4);
        sg::matrix<T> one(m, n), several(m, n), one_then(m, n);
        sg::gemm(sg::host{1}, T(2), a.view(), b, T(0.3), e, one);
        sg::gemm(sg::host{1}, T(2), a.view(), b, T(0.3), e, one_then, same);
        for (int const threads : {2, 3, 5, 7}) {
            sg::gemm(sg::host{threads}, T(2), a.view(), b, T(0.3), e, several);
            wrong += !support::same_bits(one, several);
            sg::gemm(sg::host{threads}, T(2), a.view(), b, T(0.3), e, several, same);
            wrong += !support::same_bits(one_then, several);
        }
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("csr: the result does not depend on where in a line of the cache B begins", "", float,
                   double) {
    using T = TestType;
    sg::index_t const m = 30, k = 50, width = 1024;
    auto a = support::power_law<T>(m, k, 0.4, 1);
    auto const values = support::fractions<T>(1, static_cast<sg::index_t>(a.values.size()), 2);
    std::copy(values.data(), values.data() + a.values.size(), a.values.begin());
    T const nan = std::numeric_limits<T>::quiet_NaN();
    for (sg::index_t const n : {17, 33, 49, 64, 65, 129, 150, 200, 300, 520}) {
        auto const numbers = support::fractions<T>(k, n, 3);
        sg::matrix<T> first(m, n);
        for (sg::index_t const at : {0, 1, 4, 7, 15}) {
            // Neither B's neighbours may be read nor C's written.
            sg::matrix<T> b(k, width,
                            [&](auto i, auto j) { return j >= at && j < at + n ? numbers(i, j - at) : nan; });
            sg::matrix<T> c(m, width, [](auto, auto) { return T(7); });
            auto const there = c.block(0, at, m, n);
            for (int times = 0; times < 2; ++times)
                sg::gemm(sg::host{1}, T(2), a.view(), b.block(0, at, k, n), T(0.5), there);
            int wrong = 0;
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < width; ++j)
                    if (j < at || j >= at + n)
                        wrong += c(i, j) != T(7);
                    else if (at == 0)
                        first(i, j) = c(i, j), wrong += !(c(i, j) == c(i, j));
                    else
                        wrong += c(i, j) != first(i, j - at);
            CHECK(wrong == 0);
        }
    }
}

// Rows of B come from memory, and are fetched ahead, unless neighbours in A are neighbours in B.
TEMPLATE_TEST_CASE("csr: few columns of a B that is larger than the second cache", "", float, double) {
    using T = TestType;
    using sg::index_t;
    index_t const rows = 70;
    for (bool const in_bands : {false, true})
        for (index_t n = 1; n <= (support::sanitized ? 9 : 36); ++n) {
            index_t const k = sg::second_level_cache() / (n * static_cast<index_t>(sizeof(T))) + 7;
            support::sparse_arrays<T, std::int64_t> a;
            a.rows = rows, a.cols = k;
            support::random_source from(static_cast<std::uint32_t>(n));
            for (index_t i = 0; i < rows; ++i) {
                index_t const length = i == 40 ? 300 : i % 7 == 2 ? 0 : i % 23;
                for (index_t at = 0; at < length; ++at) {
                    a.columns.push_back(in_bands ? k / 2 + i + at : (i * 7919 + at * 104729) % k);
                    a.values.push_back(T(static_cast<float>(from.below(7))) - T(3));
                }
                a.begins.push_back(static_cast<std::int64_t>(a.columns.size()));
            }
            sg::matrix<T> const b(k, n, [](index_t i, index_t j) { return T((i * 3 + j * 5) % 11 - 5); });
            sg::matrix<T> const e = integers<T>(rows, n, 3);
            sg::matrix<T> expected(rows, n);
            for (index_t i = 0; i < rows; ++i)
                for (index_t j = 0; j < n; ++j) {
                    T sum = 0;
                    auto const row = static_cast<std::size_t>(i);
                    for (auto at = static_cast<std::size_t>(a.begins[row]);
                         at < static_cast<std::size_t>(a.begins[row + 1]); ++at)
                        sum += a.values[at] * b(a.columns[at], j);
                    expected(i, j) = 2 * sum - e(i, j);
                }
            for (int const threads : {1, 3}) {
                sg::matrix<T> c = e;
                sg::gemm(sg::host{threads}, T(2), a.view(), b, T(-1), c, c);
                INFO(n << " columns, " << threads << " threads");
                CHECK(equal(c, expected));
            }
        }
}

TEST_CASE("csr: plans, empty products, and what is not stored is not multiplied") {
    sparse<float> const a(10, 12, 3);
    auto b = integers<float>(12, 6, 1);
    sg::matrix<float> c(10, 6), expected(10, 6);
    auto const plan = sg::plan(sg::host{}, sg::product(a.view(), b, c).shape());
    CHECK(contains(plan.describe(), "csr of " + std::to_string(a.values.size())));
    CHECK(plan.workspace() == sg::footprint{});
    CHECK(plan.estimate() > 0);
    auto arena = plan.reserve();
    plan.run(sg::product(a.view(), b, c), arena);
    sg::gemm(a.dense, b, expected);
    CHECK(equal(c, expected));

    sg::matrix<float> e(10, 6, [](sg::index_t i, sg::index_t) { return float(i); });
    std::vector<std::int32_t> const nothing(11, 0);
    sg::csr<float> const zero{10, 12, nothing.data(), nullptr, nullptr, 0};
    sg::gemm(sg::host{}, 1.0f, zero, b, 2.0f, e, c);
    CHECK(c(3, 5) == 6);
    sg::csr<float> const flat{10, 0, nothing.data(), nullptr, nullptr, 0};
    sg::gemm(sg::host{}, 1.0f, flat, sg::row_major(b.data(), 0, 6), 2.0f, e, c);
    CHECK(c(3, 5) == 6);

    // Row 3 has no elements.
    b(0, 0) = std::numeric_limits<float>::infinity();
    sg::gemm(sg::host{}, a.view(), b, c);
    CHECK(c(3, 0) == 0);
}

TEST_CASE("csr: what is wrong is said") {
    sparse<float> a(10, 12, 3);
    auto b = integers<float>(12, 6, 1), small = integers<float>(11, 6, 1);
    sg::matrix<float> c(10, 6, [](sg::index_t, sg::index_t) { return 5.0f; });
    auto const refused = [&](sg::errc code, char const* words, auto const& left, auto const& right, auto to) {
        sg::status const s = sg::try_gemm(sg::host{}, left, right, to);
        REQUIRE(!s);
        CHECK(s.error().code() == code);
        CHECK(contains(s.error().what(), words));
        CHECK(c(0, 0) == 5);
    };
    refused(sg::errc::shape, "A is 10 x 12", a.view(), small, c.view());
    refused(sg::errc::alias, "overlaps", a.view(), b, sg::row_major(a.values.data(), 10, 6, 6));
    auto missing = a.view();
    missing.columns = nullptr;
    refused(sg::errc::null_data, "null", missing, b, c.view());
    refused(sg::errc::strides, "the batch C overlap", a.view(), b, sg::batched(c.view(), 2, 0));

    CHECK(static_cast<bool>(a.view().check()));
    auto const complaint = [&] {
        sg::status const s = a.view().check();
        REQUIRE(!s);
        return std::string(s.error().what());
    };
    std::swap(a.columns[0], a.columns[1]);
    CHECK(static_cast<bool>(a.view().check()));
    CHECK(contains(a.view().check_sorted().error().what(), "do not rise: number 1"));
    a.columns[4] = 12;
    CHECK(contains(complaint(), "out of range: number 4"));
    a.columns[4] = -1;
    CHECK(contains(complaint(), "out of range: number 4"));
    a.begins[2] = a.begins[1] - 1;
    CHECK(contains(complaint(), "falls after row 1"));
    a.begins[0] = 1;
    CHECK(contains(complaint(), "begin with 0 but with 1"));
}

TEST_CASE("csr: a matrix without rows needs no arrays") {
    sg::host const cpu{2};
    sg::csr<float> const none;
    CHECK(static_cast<bool>(none.check()));
    CHECK(static_cast<bool>(none.check_sorted()));
    CHECK(static_cast<bool>(sg::csr_of_ones<float>().check()));
    CHECK(static_cast<bool>(none.transposed().check()));
    CHECK(sg::to_csc(cpu, none).rows() == 0);
    CHECK(sg::pattern(cpu, none, none).view().nonzeros == 0);
    sg::matrix<float> c(0, 0);
    sg::to_dense(cpu, none, c);
    auto const missing = [](sg::status const& s) {
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::null_data);
    };
    missing(sg::csr<float>{2, 2}.check());
    std::int32_t const begins[] = {0, 1};
    missing(sg::csr<float>{1, 2, begins, nullptr, nullptr, 1}.check());
}

TEST_CASE("csr: one sparse matrix times a batch") {
    sparse<double> const a(10, 12, 3);
    auto const b = integers<double>(12, 18, 4);
    sg::matrix<double> c(10, 18), expected(10, 18);
    // Columns [0, 6), [6, 12) and [12, 18) by themselves.
    sg::gemm(sg::host{}, a.view(), sg::batched(b.block(0, 0, 12, 6), 3, 6),
             sg::batched(c.block(0, 0, 10, 6), 3, 6));
    sg::gemm(sg::host{}, a.dense, b, expected);
    CHECK(equal(c, expected));
}

TEST_CASE("csr: layers that know matrices alone refuse it when they are compiled") {
    using term = sg::view<float const>;
    using problem = sg::problem<sg::csr<float>, term, sg::view<float>>;
    static_assert(sg::answer<sg::strassen<sg::host>, problem>() == sg::verdict::structure);
    static_assert(sg::answer<sg::host, problem>() == sg::verdict::structure); // its product is the operand's
    static_assert(sg::takes<sg::csr_product<sg::host>, problem>);
    using mixed = sg::problem<sg::csr<float>, sg::view<double const>, sg::view<float>>;
    static_assert(sg::answer<sg::csr_product<sg::host>, mixed>() == sg::verdict::types);
    SUCCEED();
}

TEST_CASE("balanced gives the same product on the host, where rows stay whole", "") {
    sparse<float> const a(40, 33, 4);
    sg::matrix<float> const b = integers<float>(33, 9, 2);
    sg::matrix<float> c(40, 9), expected(40, 9);
    sg::gemm(sg::host{}, a.dense, b, expected);
    auto const kept = sg::balanced(sg::host{}, a.view());
    sg::gemm(sg::host{}, kept, b, c);
    CHECK(equal(c, expected));
}

TEST_CASE("what is kept of a sparse operand gives the same products, on the side that it is for") {
    sg::host const cpu;
    sparse<float> const a(40, 33, 4);
    sg::matrix<float> const right = integers<float>(33, 9, 2), left = integers<float>(9, 40, 3);
    sg::matrix<float> c(40, 9), expected_c(40, 9), d(9, 33), expected_d(9, 33);
    sg::gemm(cpu, a.dense, right, expected_c);
    sg::gemm(cpu, left, a.dense, expected_d);
    auto const list = sg::to_coo(cpu, a.view());
    auto const columns = sg::to_csc(cpu, a.view());
    int wrong = 0;
    auto const try_one = [&](auto const& x) {
        auto const as_left = sg::keep_left(cpu, x);
        auto const as_right = sg::keep(cpu, x);
        for (int product = 0; product < 2; ++product) {
            sg::gemm(cpu, as_left, right, c), sg::gemm(cpu, left, as_right, d);
            wrong += !equal(c, expected_c) + !equal(d, expected_d);
            sg::gemm(cpu, sg::transposed(right), sg::transposed(as_left), sg::transposed(c));
            sg::gemm(cpu, sg::transposed(as_right), sg::transposed(left), sg::transposed(d));
            wrong += !equal(c, expected_c) + !equal(d, expected_d);
            // On the other side as well.
            sg::gemm(cpu, as_right, right, c), sg::gemm(cpu, left, as_left, d);
            wrong += !equal(c, expected_c) + !equal(d, expected_d);
        }
        // Of what is kept, the same is kept.
        static_assert(std::is_same_v<decltype(sg::keep_left(cpu, as_left)), decltype(sg::keep_left(cpu, x))>);
    };
    try_one(a.view()), try_one(columns), try_one(list), try_one(a.view().transposed().transposed());
    // Whatever was made for it stays with what is kept.
    auto const kept = sg::keep_left(cpu, sg::to_csr(cpu, list));
    auto const turned = sg::keep(cpu, sg::to_csc(cpu, list));
    sg::gemm(cpu, kept, right, c), sg::gemm(cpu, left, turned, d);
    wrong += !equal(c, expected_c) + !equal(d, expected_d);
    CHECK(wrong == 0);
    CHECK(turned.view().of.row_begins != nullptr);

    sg::csr_matrix<float, std::int32_t, sg::host> const plain = sg::keep_left(cpu, list); // for any policy
    sg::gemm(sg::reference{}, plain, right, c);
    CHECK(equal(c, expected_c));
}

namespace {

template <class P, class A>
constexpr bool multiplies = [] {
    using problem = sg::problem<A, sg::view<float const>, sg::view<float>>;
    return sg::takes<sg::performer<P, problem>, problem>;
}();

} // namespace

TEST_CASE("what is kept belongs to the type of the policy") {
    using csr = sg::csr<float>;
    using kept = sg::kept_operand<csr, sg::host>;
    static_assert(multiplies<sg::host, csr> && multiplies<sg::reference, csr>);
    static_assert(multiplies<sg::host, kept> && !multiplies<sg::reference, kept>);
    using turned = decltype(kept{}.transposed());
    static_assert(multiplies<sg::host, turned> && !multiplies<sg::reference, turned>);
    static_assert(sg::sparse_operand<kept> && sg::sparse_operand<turned>);
    // Arrays of a temporary that shares nothing would not stay.
    struct arrays {
        csr view() const { return {}; }
    };
    static_assert(sg::lasting<arrays&, sg::host> && !sg::lasting<arrays, sg::host>);
    static_assert(sg::lasting<csr, sg::host>);
    static_assert(sg::lasting<sg::csr_matrix<float, std::int32_t, sg::host>, sg::host>);
    SUCCEED();
}

namespace {

// Formats that lack something.
struct without_bytes : sg::csr_form<float> {
    template <class Arena, class Leaf>
    void bytes(sg::index_t, sg::index_t) const {}
};
struct without_list : sg::csr<float> {
    void listed() const {}
};
struct without_marks : sg::csr<float> {
    struct none {
    } scale;
};

} // namespace

TEST_CASE("a sparse format is checked") {
    static_assert(sg::sparse_form<sg::csr_form<float>> && !sg::sparse_form<float>);
    static_assert(!sg::sparse_form<without_bytes>);
    static_assert(!sg::sparse_operand<without_list> && !sg::sparse_operand<without_marks>);
    static_assert(!sg::sparse_operand<sg::view<float>> &&
                  !sg::sparse_operand<sg::sum_of<sg::view<float>, 2>>);
    SUCCEED();
}
