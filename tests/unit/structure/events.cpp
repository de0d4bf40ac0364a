#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/events.hpp>

#include <complex>
#include <limits>
#include <memory>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;

namespace {

// Integers, most of them zero.
template <class T>
sg::matrix<T> mostly_zero(sg::index_t rows, sg::index_t cols, sg::layout order = sg::layout::row_major) {
    support::random_source from(3);
    sg::matrix<T> x = integers<T>(rows, cols, 1, order);
    for (sg::index_t i = 0; i < rows; ++i)
        for (sg::index_t j = 0; j < cols; ++j)
            if (from.below(5) != 0) x(i, j) = T(static_cast<float>(0));
    return x;
}

} // namespace

TEMPLATE_TEST_CASE("events times dense is the dense product, from both sides and in every layout", "", float,
                   double, sg::half, std::complex<float>, std::int8_t) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    sg::index_t const sizes[][3] = {{1, 1, 1}, {1, 70, 300}, {3, 5, 64}, {40, 300, 33}, {5, 1, 70}};
    int wrong = 0;
    for (auto const& [m, n, k] : sizes)
        for (int layout = 0; layout < 8; ++layout) {
            auto const order = [&](int bit) {
                return layout >> bit & 1 ? sg::layout::col_major : sg::layout::row_major;
            };
            auto const x = mostly_zero<T>(m, k, order(0));
            auto const w = integers<T>(k, n, 2, order(1));
            auto const e = integers<S>(m, n, 3);
            auto const twice_and_place = [](S y, sg::index_t i, sg::index_t j) {
                return S(2) * y + S(static_cast<sg::real_t<S>>(3 * i + j));
            };
            for (int const threads : {1, 3}) {
                sg::host const cpu{threads};
                sg::matrix<S> c(
                    m, n, [](sg::index_t, sg::index_t) { return S(77); }, order(2)),
                    expected = c;
                sg::gemm(sg::reference{}, x, w, expected);
                sg::gemm(cpu, sg::events(x), w, c);
                wrong += !equal(c, expected);
                sg::gemm(cpu, sg::compact(cpu, x), w, c);
                wrong += !equal(c, expected);
                sg::gemm(sg::reference{}, sg::events(x), w, c);
                wrong += !equal(c, expected);
                // C^T = W^T X^T, with what else there may be.
                sg::gemm(sg::reference{}, S(2), sg::conjugated(x), w, S(-3), e, expected, twice_and_place);
                sg::gemm(cpu, S(2), sg::events(sg::conjugated(x)), w, S(-3), e, c, twice_and_place);
                wrong += !equal(c, expected);
                auto const turned = [](S y, sg::index_t j, sg::index_t i) {
                    return S(2) * y + S(static_cast<sg::real_t<S>>(3 * i + j));
                };
                sg::gemm(cpu, S(2), sg::transposed(w), sg::events(sg::transposed(sg::conjugated(x))), S(-3),
                         sg::transposed(e), sg::transposed(c), turned);
                wrong += !equal(c, expected);
            }
        }
    CHECK(wrong == 0);
}

TEST_CASE("events: factors, parts, batches and plans") {
    auto const x = mostly_zero<float>(4, 30);
    auto const w = integers<float>(30, 18, 2);
    sg::matrix<float> c(4, 18), expected(4, 18);
    sg::gemm(sg::scaled(-2.0f, x), w, expected);
    sg::gemm(sg::events(sg::scaled(-2.0f, x)), w, c);
    CHECK(equal(c, expected));
    sg::gemm(sg::compact(sg::host{}, sg::scaled(-2.0f, x)), w, c);
    CHECK(equal(c, expected));

    sg::matrix<float> part(2, 18), of_part(2, 18);
    sg::gemm(x.block(1, 3, 2, 20), w.block(3, 0, 20, 18), of_part);
    sg::gemm(sg::events(x.block(1, 3, 2, 20)), w.block(3, 0, 20, 18), part);
    CHECK(equal(part, of_part));

    sg::gemm(x, w, expected);
    sg::gemm(sg::host{}, sg::events(x), sg::batched(w.block(0, 0, 30, 6), 3, 6),
             sg::batched(c.block(0, 0, 4, 6), 3, 6));
    CHECK(equal(c, expected));

    sg::plan const plan(sg::host{}, sg::product(sg::events(x), w, c).shape());
    CHECK(contains(plan.describe(), "events, listed first; csr of at most 120 non-zeros"));
    CHECK(contains(plan.describe(), "or all of the dense matrix where that takes less time"));
    CHECK(plan.estimate() > 0);
    auto memory = plan.reserve();
    plan.run(sg::product(sg::events(x), w, c), memory);
    CHECK(equal(c, expected));

    auto const list = sg::compact(sg::host{}, x);
    CHECK(list.rows() == 4);
    CHECK(list.cols() == 30);
    sg::index_t count = 0;
    for (sg::index_t i = 0; i < 4; ++i)
        for (sg::index_t j = 0; j < 30; ++j) count += x(i, j) != 0;
    CHECK(list.view().nonzeros == count);
    CHECK(static_cast<bool>(list.view().check()));
}

TEST_CASE("events: what is zero is not multiplied, and what is no number is") {
    float const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    sg::matrix<float> x(1, 4, [](sg::index_t, sg::index_t) { return 0.0f; });
    x(0, 1) = 2, x(0, 3) = -0.0f;
    sg::matrix<float> w(4, 2, [](sg::index_t i, sg::index_t) { return static_cast<float>(i); }), c(1, 2);
    w(0, 0) = inf, w(3, 1) = nan;
    sg::gemm(sg::events(x), w, c);
    CHECK(c(0, 0) == 2);
    CHECK(c(0, 1) == 2);
    x(0, 2) = nan;
    sg::gemm(sg::events(x), w, c);
    CHECK(c(0, 0) != c(0, 0));
    CHECK(sg::compact(sg::host{}, x).view().nonzeros == 2);
    // Nothing at all.
    x = sg::matrix<float>(1, 4, [](sg::index_t, sg::index_t) { return 0.0f; });
    sg::gemm(sg::events(x), w, c);
    CHECK(c(0, 0) == 0);
}

namespace {

// Elements that are not zero: none, one, or so many in a thousand.
template <class T>
sg::matrix<T> with_density(sg::index_t rows, sg::index_t cols, int per_mille) {
    support::random_source from(5);
    return {rows, cols, [&](sg::index_t i, sg::index_t j) {
                bool const there = per_mille < 0 ? i == rows - 1 && j == cols / 2
                                                 : static_cast<int>(from.below(1000)) < per_mille;
                return T(static_cast<float>(there ? 1 + (i + 2 * j) % 3 : 0));
            }};
}

} // namespace

// NaN and Inf in rows of W that no element meets, and in some that only a few rows of X meet.
TEMPLATE_TEST_CASE("events: any density, and what is zero is not read", "", float, double) {
    using T = TestType;
    sg::index_t const k = 300;
    int wrong = 0;
    for (sg::index_t const m : {1, 2, 7, 12})
        for (sg::index_t const n : {1, 45, 200})
            for (int const density : {0, -1, 50, 200, 500, 900, 1000})
                for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
                    if (support::sanitized && (m == 2 || density == 200 || density == 900)) continue;
                    auto const x = with_density<T>(m, k, density);
                    auto w = integers<T>(k, n, 1, order);
                    for (sg::index_t l = 0; l < k; l += 2) {
                        int there = 0;
                        for (sg::index_t i = 0; i < m; ++i) there += x(i, l) != 0;
                        if (there == 0 || (there < m && l % 64 == 0))
                            for (sg::index_t j = 0; j < n; ++j)
                                w(l, j) = l % 4 ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::quiet_NaN();
                    }
                    sg::matrix<std::int8_t> const marks(
                        m, k, [&](sg::index_t i, sg::index_t j) { return std::int8_t(x(i, j) != 0); });
                    std::vector<std::uint8_t> bytes;
                    auto const bits = std::make_unique<bool[]>(static_cast<std::size_t>(m * k));
                    for (sg::index_t i = 0; i < m; ++i)
                        for (sg::index_t j = 0; j < k; ++j)
                            bytes.push_back(x(i, j) != 0 ? 200 : 0),
                                bits[static_cast<std::size_t>(i * k + j)] = x(i, j) != 0;
                    for (int const threads : {1, 3}) {
                        sg::host const cpu{threads};
                        sg::matrix<T> c(m, n), turned(n, m);
                        auto const compare = [&](bool ones, T alpha) {
                            for (sg::index_t i = 0; i < m; ++i)
                                for (sg::index_t j = 0; j < n; ++j) {
                                    T sum = 0;
                                    for (sg::index_t l = 0; l < k; ++l)
                                        if (x(i, l) != 0) sum += ones ? w(l, j) : x(i, l) * w(l, j);
                                    sum *= alpha;
                                    wrong += !(c(i, j) == sum || (c(i, j) != c(i, j) && sum != sum));
                                }
                        };
                        sg::gemm(cpu, sg::events(x), w, c);
                        compare(false, T(1));
                        sg::gemm(cpu, T(2), sg::events(x), w, T(0), c, sg::scale(T(2)));
                        compare(false, T(4));
                        sg::gemm(cpu, sg::events<T>(marks), w, c);
                        compare(true, T(1));
                        sg::gemm(cpu, T(2), sg::events<T>(sg::row_major(bytes, m, k)), w, T(0), c,
                                 sg::scale(T(2)));
                        compare(true, T(4));
                        sg::gemm(cpu, sg::compact<T>(cpu, sg::row_major(bits.get(), m, k)), w, c);
                        compare(true, T(1));
                        sg::gemm(cpu, sg::transposed(w), sg::events<T>(sg::transposed(marks)), turned);
                        for (sg::index_t i = 0; i < m; ++i)
                            for (sg::index_t j = 0; j < n; ++j) c(i, j) = turned(j, i);
                        compare(true, T(1));
                    }
                }
    CHECK(wrong == 0);
}

TEST_CASE("events: marks of other types, and lists without values") {
    sg::host const cpu;
    auto const marks = with_density<std::int32_t>(3, 40, 200);
    sg::matrix<sg::half> const ones(
        3, 40, [&](sg::index_t i, sg::index_t j) { return sg::half(marks(i, j) != 0 ? 1.0f : 0.0f); });
    auto const w = integers<sg::half>(40, 21, 2);
    sg::matrix<float> c(3, 21), expected(3, 21);
    sg::gemm(sg::reference{}, ones, w, expected);
    sg::gemm(cpu, sg::events<sg::half>(marks), w, c);
    CHECK(equal(c, expected));
    auto const list = sg::compact<sg::half>(cpu, marks);
    CHECK(static_cast<bool>(list.view().check()));
    sg::gemm(cpu, list, w, c);
    CHECK(equal(c, expected));
    // By columns, from both sides.
    auto const columns = sg::compact<sg::half>(cpu, sg::transposed(marks));
    sg::gemm(cpu, columns.view().transposed(), w, c);
    CHECK(equal(c, expected));
    sg::gemm(cpu, sg::transposed(w), list.view().transposed(), sg::transposed(c));
    CHECK(equal(c, expected));
    sg::gemm(cpu, sg::transposed(w), columns, sg::transposed(c));
    CHECK(equal(c, expected));

    // A list of one's own, with a factor.
    std::int32_t const begins[] = {0, 3}, numbers[] = {1, 4, 30};
    sg::csr_of_ones<sg::half> mine{1, 40, begins, numbers, 3};
    CHECK(static_cast<bool>(mine.check()));
    sg::matrix<float> y(1, 21);
    sg::gemm(cpu, sg::scaled(2.0f, mine), w, y);
    int wrong = 0;
    for (sg::index_t j = 0; j < 21; ++j)
        wrong += y(0, j) != 2 * (static_cast<float>(w(1, j)) + static_cast<float>(w(4, j)) +
                                 static_cast<float>(w(30, j)));
    CHECK(wrong == 0);
    mine.cols = 30;
    sg::status const s = mine.check();
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "a column is out of range: number 2"));
}

TEST_CASE("events: what is wrong is said") {
    auto const x = mostly_zero<float>(3, 12);
    auto const w = integers<float>(11, 6, 1);
    sg::matrix<float> c(3, 6, [](sg::index_t, sg::index_t) { return 5.0f; });
    sg::status s = sg::try_gemm(sg::host{}, sg::events(x), w, c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::shape);
    CHECK(c(0, 0) == 5);
    sg::matrix<float> both(12, 12);
    s = sg::try_gemm(sg::host{}, sg::events(both.block(0, 0, 3, 12)), both, both.block(0, 0, 3, 12));
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::alias);

    // More elements than their numbers can count, all of them one number; or no memory for so many.
    float const zero = 0;
    auto const large = sg::strided(&zero, 65536, 65536, 0, 0);
    sg::matrix<float> column(65536, 1);
    s = sg::try_gemm(sg::host{}, sg::events(large), sg::strided(&zero, 65536, 1, 0, 0), column);
    REQUIRE(!s);
    CHECK((s.error().code() == sg::errc::unsupported || s.error().code() == sg::errc::memory));

    using term = sg::view<float const>;
    using events = sg::event_matrix<float, sg::host_memory>;
    using problem = sg::problem<events, term, sg::view<float>>;
    static_assert(sg::answer<sg::strassen<sg::host>, problem>() == sg::verdict::structure);
    static_assert(sg::takes<sg::csr_product<sg::host>, problem>);
    using two = sg::problem<events, events, sg::view<float>>;
    static_assert(sg::answer<sg::csr_product<sg::host>, two>() == sg::verdict::structure);
}
