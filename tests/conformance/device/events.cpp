// Events times dense matrices on a device, against the oracle: the kernels are one for all devices.
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/events.hpp>

#include <array>
#include <complex>
#include <limits>

using namespace trials;

namespace {

template <class T>
sg::matrix<T> mostly_zero(sg::index_t rows, sg::index_t cols) {
    return {rows, cols, [](sg::index_t i, sg::index_t j) {
                bool const there = (7 * i + 13 * j + j / 61) % 9 == 0;
                return T(static_cast<float>(there ? (i + j) % 5 - 2 : 0));
            }};
}

// The rows of W are read where W lies by rows, its columns where it lies by columns.
template <class T>
void events_on_device(std::initializer_list<std::array<sg::index_t, 3>> sizes) {
    under_test const device;
    using S = sg::accumulator_t<T>;
    for (auto const& size : sizes)
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            auto const m = size[0], n = size[1],
                       k = size[2]; // clang 14 does not let a lambda capture bindings
            auto const x = mostly_zero<T>(m, k);
            sg::matrix<T> const w = support::integers<T>(k, n, 1, order);
            sg::matrix<S> const e = support::integers<S>(m, n, 2);
            sg::matrix<S> c(m, n), expected(m, n), turned(n, m);
            typename under_test::template matrix<T> const there_x(device, x);
            typename under_test::template matrix<T> there_w(device, k, n, order);
            there_w.upload(w);
            typename under_test::template matrix<S> const there_e(device, e);
            typename under_test::template matrix<S> there_c(device, m, n), there_turned(device, n, m);
            int wrong = 0;
            auto const compare = [&] {
                there_c.download(c);
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j) wrong += !(c(i, j) == expected(i, j));
            };
            sg::gemm(sg::reference{}, x, w, expected);
            sg::gemm(device, sg::events(there_x), there_w, there_c);
            compare();
            auto const list = sg::compact(device, there_x);
            device.leaf().fill(there_c.view(), S(sg::real_t<S>(5))).or_throw();
            sg::gemm(device, list, there_w, there_c);
            compare();
            sg::gemm(device, sg::transposed(there_w), sg::events(sg::transposed(there_x)), there_turned);
            there_turned.download(turned);
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) wrong += !(turned(j, i) == expected(i, j));
            sg::gemm(sg::reference{}, S(2), sg::conjugated(x), w, S(-1), e, expected, sg::scale(S(3)));
            sg::gemm(device, S(2), sg::events(sg::conjugated(there_x)), there_w, S(-1), there_e, there_c,
                     sg::scale(S(3)));
            compare();
            CHECK(wrong == 0);
        }
}

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
constexpr int densities[] = {0, -1, 50, 200, 300, 500, 1000};

// The product without what is zero: where X has a zero, W may have NaN or Inf.
template <class T, class X, class S>
int wrong_without_zeros(X const& x, sg::matrix<T> const& w, sg::matrix<S> const& c, S alpha) {
    int wrong = 0;
    for (sg::index_t i = 0; i < c.rows(); ++i)
        for (sg::index_t j = 0; j < c.cols(); ++j) {
            S sum{};
            for (sg::index_t l = 0; l < w.rows(); ++l)
                if (x(i, l) != 0) sum += static_cast<S>(x(i, l)) * static_cast<S>(w(l, j));
            sum *= alpha;
            wrong += !(c(i, j) == sum || (c(i, j) != c(i, j) && sum != sum));
        }
    return wrong;
}
// In half of the rows that meet a zero of X.
template <class T, class X>
void spoil(sg::matrix<T>& w, X const& x, bool all_rows) {
    for (sg::index_t l = 0; l < w.rows(); l += 2) {
        int there = 0;
        for (sg::index_t i = 0; i < x.rows(); ++i) there += x(i, l) != 0 ? 1 : 0;
        if (there == 0 || (!all_rows && there < x.rows() && l % 64 == 0))
            for (sg::index_t j = 0; j < w.cols(); ++j)
                w(l, j) = l % 4 ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
    }
}

// On both sides of the density where the device goes over to reading all of W.
template <class T>
void any_density(std::initializer_list<std::array<sg::index_t, 3>> sizes) {
    under_test const device;
    for (auto const& [m, n, k] : sizes)
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (int const density : densities) {
                auto const x = with_density<T>(m, k, density);
                auto w = support::integers<T>(k, n, 1, order);
                spoil(w, x, m == 2);
                sg::matrix<T> c(m, n), again(m, n);
                typename under_test::template matrix<T> const there_x(device, x);
                typename under_test::template matrix<T> there_w(device, k, n, order), there_c(device, m, n);
                there_w.upload(w);
                sg::gemm(device, T(2), sg::events(there_x), there_w, T(0), there_c);
                there_c.download(c);
                CHECK(wrong_without_zeros(x, w, c, T(2)) == 0);
                sg::gemm(device, T(2), sg::events(there_x), there_w, T(0), there_c);
                there_c.download(again);
                int other_bits = 0;
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j)
                        other_bits += c(i, j) == c(i, j) && !(c(i, j) == again(i, j));
                CHECK(other_bits == 0);
            }
}

template <class T, class Mark>
void marks_on_device(std::initializer_list<sg::index_t> rows, bool sorts) {
    under_test const device;
    using S = sg::accumulator_t<T>;
    constexpr bool has_infinity = std::is_floating_point_v<T>;
    sg::index_t const n = 38, k = 700;
    for (sg::index_t const m : rows)
        for (auto const order : {sg::layout::row_major, sg::layout::col_major})
            for (int const density : densities) {
                sg::matrix<Mark> const x = with_density<Mark>(m, k, density);
                sg::matrix<T> const ones(
                    m, k, [&](sg::index_t i, sg::index_t j) { return T(static_cast<float>(x(i, j) != 0)); });
                auto w = support::integers<T>(k, n, 1, order);
                if constexpr (has_infinity) spoil(w, x, true);
                sg::matrix<S> const e = support::integers<S>(m, n, 2);
                sg::matrix<S> c(m, n), turned(n, m);
                typename under_test::template matrix<Mark> const there_x(device, x);
                typename under_test::template matrix<T> there_w(device, k, n, order);
                there_w.upload(w);
                typename under_test::template matrix<S> const there_e(device, e);
                typename under_test::template matrix<S> there_c(device, m, n), there_turned(device, n, m);
                int wrong = 0;
                auto const compare = [&](S alpha, S beta, S factor) {
                    for (sg::index_t i = 0; i < m; ++i)
                        for (sg::index_t j = 0; j < n; ++j) {
                            S sum{};
                            for (sg::index_t l = 0; l < k; ++l)
                                if (x(i, l)) sum += static_cast<S>(w(l, j));
                            wrong += !(c(i, j) == factor * (alpha * sum + beta * e(i, j)));
                        }
                };
                sg::gemm(device, sg::events<T>(there_x), there_w, there_c);
                there_c.download(c);
                compare(S(1), S(0), S(1));
                sg::gemm(device, S(2), sg::events<T>(there_x), there_w, S(-1), there_e, there_c,
                         sg::scale(S(3)));
                there_c.download(c);
                compare(S(2), S(-1), S(3));
                auto const list = sg::compact<T>(device, there_x);
                sg::gemm(device, list, there_w, there_c);
                there_c.download(c);
                compare(S(1), S(0), S(1));
                sg::gemm(device, S(2), sg::transposed(there_w), sg::events<T>(sg::transposed(there_x)), S(0),
                         there_turned);
                there_turned.download(turned);
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j) c(i, j) = turned(j, i);
                compare(S(2), S(0), S(1));
                CHECK(wrong == 0);
                // A list by columns is transposed, without values, too.
                if (!sorts || density != 300 || m > 3) continue;
                sg::gemm(device, sg::transposed(there_w), list.view().transposed(), there_turned);
                auto const columns = sg::compact<T>(device, sg::transposed(there_x));
                sg::gemm(device, columns.view().transposed(), there_w, there_c);
                there_c.download(c);
                compare(S(1), S(0), S(1));
                there_turned.download(turned);
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j) c(i, j) = turned(j, i);
                compare(S(1), S(0), S(1));
                CHECK(wrong == 0);
            }
}

} // namespace

TEST_CASE("events on a device: any density of one vector: float", "[events]") {
    any_density<float>({{1, 132, 1100}, {1, 37, 530}, {1, 1, 90}});
}
TEST_CASE("events on a device: any density of a few vectors: float", "[events]") {
    any_density<float>({{2, 68, 1100}, {3, 37, 530}, {8, 160, 700}, {9, 32, 300}, {2, 1, 90}, {4, 3, 2}});
}
TEST_CASE("events on a device: any density: double", "[events]") {
    any_density<double>({{1, 66, 1100}, {5, 34, 530}});
}
// Complex, conjugated and without zeros.
TEST_CASE("events on a device: all of a complex matrix", "[events]") {
    using T = std::complex<float>;
    under_test const device;
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        auto const x = with_density<T>(3, 200, 1000);
        auto const w = support::integers<T>(200, 35, 1, order);
        auto const e = support::integers<T>(3, 35, 2);
        sg::matrix<T> const turned(3, 200, [&](sg::index_t i, sg::index_t j) { return x(i, j) * T(1, -2); });
        under_test::matrix<T> const there_x(device, turned), there_e(device, e);
        under_test::matrix<T> there_w(device, 200, 35, order), there_c(device, 3, 35);
        there_w.upload(w);
        sg::matrix<T> c(3, 35), expected(3, 35);
        auto const twice = sg::scale(T(2));
        sg::gemm(sg::reference{}, T(3), sg::conjugated(turned), sg::conjugated(w), T(-1), e, expected, twice);
        sg::gemm(device, T(3), sg::events(sg::conjugated(there_x)), sg::conjugated(there_w), T(-1), there_e,
                 there_c, twice);
        there_c.download(c);
        int wrong = 0;
        for (sg::index_t i = 0; i < 3; ++i)
            for (sg::index_t j = 0; j < 35; ++j) wrong += !(c(i, j) == expected(i, j));
        CHECK(wrong == 0);
    }
}
TEST_CASE("events on a device: marks", "[events]") {
    marks_on_device<float, std::int8_t>({1, 3, 10}, true);
    marks_on_device<float, std::int32_t>({1}, false);
    marks_on_device<sg::half, std::int8_t>({2}, false);
    marks_on_device<double, std::int8_t>({2}, false);
}

// One vector, short enough that groups count by themselves; longer; several; nothing to do.
TEST_CASE("events on a device: float", "[events]") {
    events_on_device<float>({{1, 132, 5000}, {1, 37, 70000}, {5, 70, 9000}, {40, 3, 300}, {1, 1, 1}});
}
TEST_CASE("events on a device: double", "[events]") { events_on_device<double>({{1, 66, 3000}}); }
TEST_CASE("events on a device: half", "[events]") { events_on_device<sg::half>({{2, 33, 500}}); }
TEST_CASE("events on a device: int8", "[events]") { events_on_device<std::int8_t>({{2, 33, 500}}); }
TEST_CASE("events on a device: complex", "[events]") {
    events_on_device<std::complex<float>>({{2, 33, 500}});
}

// Rows of very different lengths, for each number of columns that has a form of its own.
TEST_CASE("csr times dense on a device: a long row among short ones", "[csr]") {
    under_test const device;
    sg::index_t const m = 70, k = 4000;
    sg::matrix<float> const x(m, k, [](sg::index_t i, sg::index_t j) {
        bool const there = i == 5 ? j % 7 != 0 : (i + j) % 500 == 0;
        return there ? static_cast<float>((i + 3 * j) % 5 - 2) : 0.0f;
    });
    under_test::matrix<float> const there_x(device, x);
    auto const kept = sg::compact(device, there_x);
    auto list = kept.view();
    list.nonzeros = 4000; // as a caller would give it: the room for all elements makes every row long
    auto const in_pieces = sg::balanced(device, list);
    for (sg::index_t const n : {1, 3, 8, 40, 200})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            sg::matrix<float> const b = support::integers<float>(k, n, 1, order);
            sg::matrix<float> c(m, n), expected(m, n);
            under_test::matrix<float> there_b(device, k, n, order), there_c(device, m, n);
            there_b.upload(b);
            sg::gemm(sg::reference{}, x, b, expected);
            sg::gemm(device, list, there_b, there_c);
            there_c.download(c);
            int wrong = 0;
            auto const compare = [&](float times) {
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j) wrong += !(c(i, j) == times * expected(i, j));
            };
            compare(1);
            sg::gemm(device, in_pieces, there_b, there_c);
            there_c.download(c);
            compare(1);
            sg::gemm(device, 2, in_pieces, there_b, 1, there_c, there_c);
            there_c.download(c);
            compare(3);
            CHECK(wrong == 0);
        }
}
