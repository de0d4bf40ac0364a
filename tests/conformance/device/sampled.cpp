// Products into sparse matrices on a device, against the host: the kernels are one for all devices.
#include "catch.hpp"
#include "csr_there.hpp"

#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/sampled.hpp>

#include <algorithm>
#include <limits>
#include <utility>

using namespace trials;

namespace {

template <class T>
using there = under_test::matrix<T>;

template <class T>
T not_read() {
    if constexpr (std::is_integral_v<T>)
        return T(77);
    else
        return T(std::numeric_limits<float>::quiet_NaN());
}
// A matrix by rows or by columns, whose elements have gap - 1 others between them, which no product may read.
template <class T>
struct strided {
    sg::matrix<T> plain;
    there<T> whole;
    sg::view<T const, under_test::space> view;

    strided(under_test const& device, sg::matrix<T> const& x, bool by_columns, sg::index_t gap,
            sg::index_t skip)
        : plain(x) {
        sg::index_t const lines = by_columns ? x.cols() : x.rows(), length = by_columns ? x.rows() : x.cols(),
                          step = length * gap + skip;
        sg::matrix<T> const all(lines, step, [&](sg::index_t i, sg::index_t at) {
            sg::index_t const j = at - skip;
            if (j < 0 || j % gap != 0) return not_read<T>();
            return by_columns ? x(j / gap, i) : x(i, j / gap);
        });
        whole = there<T>(device, all);
        view = {whole.data() + skip, x.rows(), x.cols(), by_columns ? gap : step, by_columns ? step : gap};
    }
};

// Dense times dense, with factors, without reading C, and with an epilogue that takes the place.
template <class T, class C, class Index>
int wrong_at_places(support::sparse_arrays<C, Index> const& pattern, sg::index_t k, int layout,
                    sg::index_t gap = 1, sg::index_t skip = 0) {
    under_test const device;
    sg::host const cpu{1};
    using S = sg::accumulator_t<T>;
    sg::index_t const m = pattern.rows, n = pattern.cols;
    strided<T> const x(device, support::integers<T>(m, k, 1), layout & 1, gap, skip),
        y(device, support::integers<T>(k, n, 2), layout & 2, gap, skip);
    csr_there<C, Index> c(device, pattern.view(), layout == 0 ? 37 : 0);
    auto values = pattern.values;
    auto const there_c = sg::sampled(c.view, c.values);
    auto const here_c = sg::sampled(pattern.view(), values.data());

    sg::gemm(cpu, S(2), sg::conjugated(x.plain), y.plain, S(-1), here_c);
    sg::gemm(device, S(2), sg::conjugated(x.view), y.view, S(-1), there_c);
    int wrong = c.wrong(values);

    c.upload(std::vector<C>(values.size(), not_read<C>()));
    std::vector<S> steps;
    for (sg::index_t j = 0; j < n; ++j) steps.push_back(S(static_cast<float>(j % 5)));
    there<S> const there_steps(device, sg::row_major(steps, 1, n));
    auto const finish = [](auto const& v) { return sg::then(sg::scale(S(2)), sg::bias(v)); };
    sg::gemm(cpu, x.plain, sg::conjugated(sg::scaled(S(3), y.plain)), here_c, finish(steps));
    sg::gemm(device, x.view, sg::conjugated(sg::scaled(S(3), y.view)), there_c, finish(there_steps));
    wrong += c.wrong(values);

    // Neither k = 0 nor alpha = 0 reads X and Y.
    sg::gemm(cpu, S(0), x.plain, y.plain, S(2), here_c, finish(steps));
    sg::gemm(device, S(0), x.view, y.view, S(2), there_c, finish(there_steps));
    return wrong + c.wrong(values);
}

} // namespace

TEST_CASE("sampled on a device: float, in every layout") {
    int wrong = 0;
    for (int layout = 0; layout < 4; ++layout) {
        wrong += wrong_at_places<float, float>(support::power_law<float>(23, 31, 0.6, 3), 24, layout);
        wrong += wrong_at_places<float, float>(support::uniform_sparse<float, std::int64_t>(19, 40, 0.2, 4),
                                               13, layout, 1, 1);
        wrong +=
            wrong_at_places<float, float>(support::uniform_sparse<float>(9, 70, 0.1, 5), 3, layout, 2, 3);
    }
    CHECK(wrong == 0);
}
template <class T, class C>
void places_of_type() {
    int wrong = 0;
    for (int layout = 0; layout < 4; ++layout) {
        wrong += wrong_at_places<T, C>(support::uniform_sparse<C>(12, 50, 0.2, 6), 48, layout);
        wrong += wrong_at_places<T, C>(support::power_law<C, std::int64_t>(21, 18, 0.7, 7), 7, layout, 1, 2);
    }
    CHECK(wrong == 0);
}
TEST_CASE("sampled on a device: double and complex") {
    places_of_type<double, double>();
    places_of_type<std::complex<float>, std::complex<float>>();
    places_of_type<std::complex<double>, std::complex<double>>();
}
TEST_CASE("sampled on a device: half, bfloat16, int8 and fp8") {
    places_of_type<sg::half, sg::half>();
    places_of_type<sg::half, float>();
    places_of_type<sg::bfloat16, sg::bfloat16>();
    places_of_type<std::int8_t, std::int32_t>();
    using fp8 = sg::view<sg::fp8_e5m2 const, under_test::space>;
    using result = sg::sampled_matrix<float, std::int32_t, under_test::space>;
    if constexpr (sg::takes<sg::sampled_product<under_test>, sg::problem<fp8, fp8, result>>)
        places_of_type<sg::fp8_e5m2, float>();
}
// As many places as keep a large device busy: groups compute several rounds of them.
TEST_CASE("sampled on a device: many places, long sums, and none") {
    CHECK(wrong_at_places<float, float>(support::banded<float>(211, 197, 150, 8), 136, 2) == 0);
    CHECK(wrong_at_places<float, float>(support::banded<float>(15, 9, 2, 9), 2203, 2) == 0);
    CHECK(wrong_at_places<double, double>(support::banded<double>(11, 13, 1, 10), 1030, 1) == 0);
    CHECK(wrong_at_places<float, float>(support::uniform_sparse<float>(10, 8, 0, 11), 5, 0) == 0);
    CHECK(wrong_at_places<float, float>(support::uniform_sparse<float>(10, 8, 0.3, 12), 1, 3) == 0);
    CHECK(wrong_at_places<float, float>(support::uniform_sparse<float>(10, 8, 0.3, 13), 0, 2) == 0);
}
TEST_CASE("sampled on a device: an owned C, a plan, the same bits, and what is wrong is said") {
    under_test const device;
    auto const pattern = support::uniform_sparse<float>(40, 30, 0.3, 14);
    csr_there<float, std::int32_t> const arrays(device, pattern.view());
    sg::index_t const k = 300;
    there<float> const x(device, support::fractions<float>(40, k, 1)),
        y(device, support::fractions<float>(k, 30, 2));
    sg::csr_matrix<float, std::int32_t, under_test> c(arrays.memory, arrays.view);
    sg::plan const plan(device, sg::product(x, y, sg::sampled(c)).shape());
    CHECK(plan.describe().find("at the places of a sparse C") != std::string::npos);
    CHECK(plan.estimate() > 0);
    plan.run(x, y, sg::sampled(c));
    auto const once = arrays.download();
    sg::gemm(device, x, y, sg::sampled(c));
    CHECK(arrays.wrong(once) == 0);

    sg::matrix<float> exact(40, 30);
    sg::gemm(sg::reference{}, support::fractions<float>(40, k, 1), support::fractions<float>(k, 30, 2),
             exact);
    double most = 0;
    for (sg::index_t i = 0; i < 40; ++i)
        for (auto at = pattern.begins[static_cast<std::size_t>(i)];
             at < pattern.begins[static_cast<std::size_t>(i) + 1]; ++at)
            most = std::max(
                most, static_cast<double>(std::abs(once[static_cast<std::size_t>(at)] -
                                                   exact(i, pattern.columns[static_cast<std::size_t>(at)]))));
    CHECK(most <= 2 * plan.error_bound().worst * static_cast<double>(k) / 4);

    auto const refused = [](sg::status const& s, sg::errc code) {
        REQUIRE(!s);
        CHECK(s.error().code() == code);
    };
    refused(sg::try_gemm(device, y, x, sg::sampled(c)), sg::errc::shape);
    csr_there<float, std::int32_t> const other(device, pattern.view());
    refused(sg::try_gemm(device, 1, x, y, 1, sg::sampled(other.view, other.values), sg::sampled(c)),
            sg::errc::argument);
    // What row_begins say does not lead beyond the arrays.
    auto const after = arrays.download();
    auto less = arrays.view;
    less.nonzeros -= 9;
    sg::gemm(device, 1, x, y, 1, sg::sampled(less, arrays.values));
    sg::gemm(device, 0, x, y, 2, sg::sampled(less, arrays.values));
    auto const some = arrays.download();
    CHECK(std::equal(some.end() - 9, some.end(), after.end() - 9));
    CHECK(some.front() == 4 * after.front());
    refused(sg::try_gemm(device, x, y, sg::sampled(arrays.view, under_test::space::handle<float>{})),
            sg::errc::null_data);
}

namespace {

// Sparse times sparse: the places of the product, and the products there.
template <class T, class Index>
void sparse_times_sparse(support::sparse_arrays<T, Index> const& a, support::sparse_arrays<T, Index> const& b,
                         bool turn_rows_of_c = false) {
    under_test const device;
    sg::host const cpu{1};
    using S = sg::accumulator_t<T>;
    INFO(a.rows << " x " << a.cols << " x " << b.cols);
    csr_there<T, Index> const there_a(device, a.view(), 3), there_b(device, b.view());
    auto here = sg::pattern(cpu, a.view(), b.view());
    auto const found = sg::pattern(device, there_a.view, there_b.view);
    auto const c = here.view();
    REQUIRE(found.view().nonzeros == c.nonzeros);
    CHECK(numbers<Index const>(device, found.view().row_begins, c.rows + 1) ==
          std::vector<Index>(c.row_begins, c.row_begins + c.rows + 1));
    std::vector<Index> columns(c.columns, c.columns + c.nonzeros);
    CHECK(numbers<Index const>(device, found.view().columns, c.nonzeros) == columns);
    int not_zero = 0;
    for (T const x : numbers<T const>(device, found.view().values, c.nonzeros)) not_zero += !(x == T(0));
    CHECK(not_zero == 0);

    // Fewer places than the product has, and in any order.
    std::vector<Index> begins{0}, some;
    for (sg::index_t i = 0; i < c.rows; ++i) {
        for (Index at = c.row_begins[i]; at < c.row_begins[i + 1]; ++at)
            if ((i + at) % 7 != 0) some.push_back(c.columns[at]);
        if (turn_rows_of_c)
            std::reverse(some.begin() + static_cast<std::ptrdiff_t>(begins.back()), some.end());
        begins.push_back(static_cast<Index>(some.size()));
    }
    std::vector<T> values(some.size(), T(3));
    sg::csr<T, Index> const here_some{c.rows,      c.cols,        begins.data(),
                                      some.data(), values.data(), static_cast<sg::index_t>(some.size())};
    csr_there<T, Index> const there_some(device, here_some);
    auto const here_c = sg::sampled(here_some, values.data());
    auto const there_c = sg::sampled(there_some.view, there_some.values);
    sg::gemm(cpu, S(2), sg::conjugated(a.view()), sg::scaled(S(3), b.view()), S(-1), here_c);
    sg::gemm(device, S(2), sg::conjugated(there_a.view), sg::scaled(S(3), there_b.view), S(-1), there_c);
    CHECK(there_some.wrong(values) == 0);
    sg::gemm(cpu, a.view(), b.view(), here_c, sg::scale(S(2)));
    sg::gemm(device, there_a.view, there_b.view, there_c, sg::scale(S(2)));
    CHECK(there_some.wrong(values) == 0);
    sg::gemm(cpu, S(0), a.view(), b.view(), S(2), here_c);
    sg::gemm(device, S(0), there_a.view, there_b.view, S(2), there_c);
    CHECK(there_some.wrong(values) == 0);
}

} // namespace

TEST_CASE("sampled on a device: sparse times sparse") {
    sparse_times_sparse(support::power_law<float>(30, 40, 0.7, 1),
                        support::uniform_sparse<float>(40, 35, 0.1, 2));
    sparse_times_sparse(support::uniform_sparse<std::complex<float>, std::int64_t>(21, 17, 0.3, 3),
                        support::power_law<std::complex<float>, std::int64_t>(17, 24, 0.5, 4), true);
    sparse_times_sparse(support::uniform_sparse<sg::half>(11, 12, 0.3, 5),
                        support::banded<sg::half>(12, 13, 1, 6));
    sparse_times_sparse(support::uniform_sparse<double>(8, 9, 0, 7),
                        support::uniform_sparse<double>(9, 5, 0.4, 8));
    sparse_times_sparse(support::uniform_sparse<float>(5, 0, 0, 9),
                        support::uniform_sparse<float>(0, 6, 0.4, 10));
    sparse_times_sparse(support::uniform_sparse<float>(0, 4, 0.4, 9),
                        support::uniform_sparse<float>(4, 6, 0.4, 10));
    // Rows of C that are longer than a group computes at once; columns beyond what it marks at once.
    sparse_times_sparse(support::uniform_sparse<float>(6, 30, 0.4, 11),
                        support::uniform_sparse<float>(30, 2500, 0.3, 12));
    sparse_times_sparse(support::uniform_sparse<float>(9, 500, 0.1, 13),
                        support::uniform_sparse<float>(500, 1400, 0.02, 14), true);
    sparse_times_sparse(support::uniform_sparse<float>(5, 20, 0.3, 15),
                        support::uniform_sparse<float>(20, 40000, 0.0005, 16));
    sparse_times_sparse(support::uniform_sparse<float>(4, 300, 0.6, 19),
                        support::power_law<float>(300, 20000, 1.9, 20));
    // Rows that are not sorted and name columns twice.
    auto a = support::uniform_sparse<float>(14, 15, 0.4, 17), b = support::power_law<float>(15, 60, 0.3, 18);
    for (auto* x : {&a, &b})
        for (std::size_t at = 0; at + 1 < x->columns.size(); at += 3)
            std::swap(x->columns[at], x->columns[(5 * at + 2) % x->columns.size()]);
    sparse_times_sparse(a, b);
}
// Elements of A and of B may be in any order.
TEST_CASE("sampled on a device: sparse times sparse with a few long rows") {
    auto const with_long_rows = []<class T, class Index>(T, Index, sg::index_t k, bool turned) {
        support::random_source from(7);
        auto a = support::sparse_where<T, Index>(19, k, 1, [&](sg::index_t i, sg::index_t) {
            return i % 9 == 4 ? from.unit() < 0.9 : i % 4 != 2 && from.unit() < 3 / static_cast<double>(k);
        });
        if (turned)
            for (std::size_t i = 0; i < 19; ++i)
                std::reverse(a.columns.begin() + static_cast<std::ptrdiff_t>(a.begins[i]),
                             a.columns.begin() + static_cast<std::ptrdiff_t>(a.begins[i + 1]));
        return a;
    };
    // Sums at many places, and at places that lie far apart.
    sparse_times_sparse(with_long_rows(0.0f, std::int32_t(0), 700, false),
                        support::uniform_sparse<float>(700, 900, 0.03, 2));
    sparse_times_sparse(with_long_rows(0.0f, std::int64_t(0), 401, true),
                        support::uniform_sparse<float, std::int64_t>(401, 30011, 0.001, 3));
    sparse_times_sparse(with_long_rows(0.0, std::int32_t(0), 260, true),
                        support::power_law<double>(260, 5003, 0.6, 4), true);
    // Not in order, and with columns that are there twice.
    auto b = support::power_law<float>(500, 1201, 0.5, 5);
    for (std::size_t at = 0; at + 1 < b.columns.size(); at += 5)
        std::swap(b.columns[at], b.columns[(3 * at + 7) % b.columns.size()]);
    sparse_times_sparse(with_long_rows(0.0f, std::int32_t(0), 500, false), b);
}
// Columns that crowd together in a wide matrix; many short rows.
TEST_CASE("sampled on a device: patterns of crowded columns and of many rows") {
    auto const crowded = [](sg::index_t rows, sg::index_t from_column, sg::index_t width) {
        support::random_source from(3);
        return support::sparse_where<float, std::int64_t>(
            rows, 70001, 5, [&, from_column, width](sg::index_t i, sg::index_t j) {
                return j == 69999 ||
                       (j >= from_column * (i % 3) && j < from_column * (i % 3) + width && from.unit() < 0.7);
            });
    };
    sparse_times_sparse(support::uniform_sparse<float, std::int64_t>(5, 12, 0.4, 1), crowded(12, 23, 90));
    sparse_times_sparse(support::uniform_sparse<float, std::int64_t>(5, 9, 0.5, 2), crowded(9, 30000, 200));
    sparse_times_sparse(support::banded<float>(2111, 211, 1, 3),
                        support::uniform_sparse<float>(211, 150, 0.01, 4));
    sparse_times_sparse(support::uniform_sparse<float>(5001, 7, 0.2, 5),
                        support::uniform_sparse<float>(7, 30, 0.2, 6));
}
TEST_CASE("sampled on a device: columns that 32 bits cannot count") {
    under_test const device;
    sg::index_t const far = sg::index_t{1} << 31, cols = far + 100;
    std::vector<std::int64_t> const a_begins{0, 2, 2, 4}, a_columns{0, 1, 2, 0};
    std::vector<std::int64_t> const b_begins{0, 2, 4, 6}, b_columns{5, far + 50, far + 50, far + 99, 1, 5};
    std::vector<float> const a_values{1, 2, 3, 4}, b_values{1, 2, 3, 4, 5, 6};
    csr_there<float, std::int64_t> const a(
        device, sg::csr<float, std::int64_t>{3, 3, a_begins.data(), a_columns.data(), a_values.data(), 4}),
        b(device,
          sg::csr<float, std::int64_t>{3, cols, b_begins.data(), b_columns.data(), b_values.data(), 6});
    auto c = sg::pattern(device, a.view, b.view);
    sg::gemm(device, a.view, b.view, sg::sampled(c));
    REQUIRE(c.view().nonzeros == 6);
    CHECK(numbers<std::int64_t const>(device, c.view().row_begins, 4) ==
          std::vector<std::int64_t>{0, 3, 3, 6});
    CHECK(numbers<std::int64_t const>(device, c.view().columns, 6) ==
          std::vector<std::int64_t>{5, far + 50, far + 99, 1, 5, far + 50});
    CHECK(numbers<float const>(device, c.view().values, 6) == std::vector<float>{1, 8, 8, 15, 22, 8});
}
TEST_CASE("sampled on a device: sums of the numbers before") {
    under_test const device;
    for (sg::index_t const count : {1, 4096, 4097, 10007, 2100001}) {
        std::vector<sg::index_t> x(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<sg::index_t>(i * i % 11 + i % 3);
        auto const memory = *sg::reserve_for(
            device, static_cast<std::size_t>(count + sg::scan_parts::most + 64) * sizeof(sg::index_t));
        auto const there = memory->take<sg::index_t>(count), sums = memory->take<sg::index_t>(1024);
        device.leaf().upload(x.data(), there, count).or_throw();
        sg::scan_numbers<sg::index_t>(device.leaf(), there, count, sums).or_throw();
        sg::index_t sum = 0;
        for (sg::index_t& one : x) sum += std::exchange(one, sum);
        CHECK(numbers<sg::index_t>(device, there, count) == x);
    }
}
TEST_CASE("sampled on a device: sparse times sparse has the same bits each time, and those of the host") {
    under_test const device;
    // Rows of every length, with values that are not exact.
    auto a = support::power_law<float>(60, 300, 0.8, 1), b = support::power_law<float>(300, 400, 0.4, 2);
    support::random_source from(3);
    for (auto* x : {&a, &b})
        for (float& value : x->values) value = static_cast<float>(from.unit()) - 0.5f;
    csr_there<float, std::int32_t> const there_a(device, a.view()), there_b(device, b.view());
    auto c = sg::pattern(device, there_a.view, there_b.view);
    auto here = sg::pattern(sg::host{1}, a.view(), b.view());
    auto const values = [&] {
        sg::gemm(device, there_a.view, there_b.view, sg::sampled(c));
        return numbers<float const>(device, c.view().values, c.view().nonzeros);
    };
    auto const once = values();
    CHECK(values() == once);
    sg::gemm(sg::host{1}, a.view(), b.view(), sg::sampled(here));
    REQUIRE(here.view().nonzeros == c.view().nonzeros);
    double const bound =
        sg::plan(device, sg::product(there_a.view, there_b.view, sg::sampled(c)).shape()).error_bound().worst;
    double most = 0;
    for (std::size_t at = 0; at < once.size(); ++at)
        most = std::max(most, static_cast<double>(std::abs(once[at] - here.view().values[at])));
    CHECK(most <= 2 * bound * 300 / 4);
}
TEST_CASE("sampled on a device: sparse times sparse of other formats") {
    under_test const device;
    auto const a = support::power_law<float>(13, 16, 0.5, 1),
               b = support::uniform_sparse<float>(16, 12, 0.3, 2);
    csr_there<float, std::int32_t> const there_a(device, a.view()), there_b(device, b.view());
    auto const coo = sg::to_coo(device, there_a.view);
    auto const csc = sg::to_csc(device, there_b.view);
    auto c = sg::pattern(device, coo, csc);
    sg::gemm(device, coo, csc, sg::sampled(c));
    there<float> whole(device, 13, 12);
    sg::to_dense(device, c, whole);
    sg::matrix<float> found(13, 12), expected(13, 12);
    whole.download(found);
    sg::gemm(sg::reference{}, a.dense(), b.dense(), expected);
    int wrong = 0;
    for (sg::index_t i = 0; i < 13; ++i)
        for (sg::index_t j = 0; j < 12; ++j) wrong += !(found(i, j) == expected(i, j));
    CHECK(wrong == 0);
    try {
        sg::pattern(device, there_b.view, there_b.view);
        FAIL("taken");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
    }
}
TEST_CASE("sampled on a device: matrices without elements") {
    under_test const device;
    auto const a = support::uniform_sparse<float>(6, 8, 0.5, 1),
               b = support::uniform_sparse<float>(8, 5, 0.5, 2),
               at = support::uniform_sparse<float>(6, 5, 0.5, 3);
    csr_there<float, std::int32_t> const there_a(device, a.view()), there_b(device, b.view()),
        there_c(device, at.view());
    auto const none = [](auto x) { // the same without elements: row_begins has 0 alone
        x.columns = {}, x.values = {}, x.nonzeros = 0;
        return x;
    };
    std::vector<std::int32_t> const zeros(9, 0);
    csr_there<float, std::int32_t> const begins(device, {8, 1, zeros.data(), nullptr, nullptr, 0});
    auto no_a = none(there_a.view), no_b = none(there_b.view), no_c = none(there_c.view);
    no_a.row_begins = no_b.row_begins = no_c.row_begins = begins.view.row_begins;
    CHECK(sg::pattern(device, no_a, there_b.view).view().nonzeros == 0);
    CHECK(sg::pattern(device, there_a.view, no_b).view().nonzeros == 0);
    CHECK(sg::pattern(device, no_a, no_b).view().nonzeros == 0);
    auto const c = sg::sampled(there_c.view, there_c.values);
    for (auto const& [x, y] : {std::pair(no_a, there_b.view), {there_a.view, no_b}, {no_a, no_b}}) {
        std::vector<float> expected(at.values.size(), 0.0f);
        sg::gemm(device, x, y, c);
        CHECK(there_c.wrong(expected) == 0);
    }
    sg::gemm(device, 1.0f, no_a, no_b, 2.0f, c);
    sg::gemm(device, there_a.view, there_b.view, sg::sampled(no_c, there_c.values));
    under_test::matrix<float> const x(device, 6, 3), y(device, 3, 5);
    sg::gemm(device, x, y, sg::sampled(no_c, there_c.values));
}
