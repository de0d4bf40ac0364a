// Sparse matrices times dense ones on a device, against the host: the kernel is one for all devices.
#include "catch.hpp"
#include "csr_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/csr.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

using namespace trials;

namespace {

template <class T>
void csr_on_device() {
    under_test const device;
    using S = sg::accumulator_t<T>;
    sg::index_t const m = 19, k = 23;
    for (sg::index_t const n : {1, 37}) {
        std::vector<std::int32_t> begins{0}, columns;
        std::vector<T> values;
        for (sg::index_t i = 0; i < m; ++i) {
            for (sg::index_t j = i % 4; i % 5 != 2 && j < k; j += 1 + i % 3) {
                columns.push_back(static_cast<std::int32_t>(j));
                values.push_back(T(static_cast<float>((3 * i + 5 * j) % 7 - 3)));
            }
            begins.push_back(static_cast<std::int32_t>(columns.size()));
        }
        auto const size = static_cast<sg::index_t>(values.size());
        sg::matrix<T> const b = support::integers<T>(k, n, 1);
        sg::matrix<S> const e = support::integers<S>(m, n, 2);
        sg::matrix<S> c(m, n), expected(m, n);

        typename under_test::template matrix<std::int32_t> const there_begins(
            device, sg::row_major(begins.data(), 1, m + 1)),
            there_columns(device, sg::row_major(columns.data(), 1, size));
        typename under_test::template matrix<T> const there_values(device,
                                                                   sg::row_major(values.data(), 1, size)),
            there_b(device, b);
        typename under_test::template matrix<S> const there_e(device, e);
        typename under_test::template matrix<S> there_c(device, m, n, sg::layout::col_major);
        using space = typename under_test::space;
        sg::csr<T, std::int32_t, space> const there{
            m, k, there_begins.data(), there_columns.data(), there_values.data(), size};
        sg::csr<T> const here{m, k, begins.data(), columns.data(), values.data(), size};
        sg::gemm(device, there, there_b, there_c);
        there_c.download(c);
        sg::gemm(sg::host{}, here, b, expected);
        int wrong = 0;
        auto const compare = [&] {
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) wrong += !(c(i, j) == expected(i, j));
        };
        compare();
        sg::gemm(device, S(2), there, sg::conjugated(there_b), S(-1), there_e, there_c, sg::scale(S(3)));
        there_c.download(c);
        sg::gemm(sg::host{}, S(2), here, sg::conjugated(b), S(-1), e, expected, sg::scale(S(3)));
        compare();
        CHECK(wrong == 0);
        auto const in_pieces = sg::balanced(device, there);
        sg::gemm(device, S(2), in_pieces, sg::conjugated(there_b), S(-1), there_e, there_c, sg::scale(S(3)));
        there_c.download(c);
        compare();
        CHECK(wrong == 0);
        CHECK(sg::plan(device, sg::product(there, there_b, there_c).shape()).describe().find("csr of") == 0);
    }
}

// Copied to the device, as it is and by columns, with values and without; kept there; and made of pointers to the device.
template <class T>
void csr_copied_and_kept() {
    under_test const device;
    sg::index_t const m = 31, k = 26, n = 5;
    auto const a = support::uniform_sparse<T>(m, k, 0.3, 1);
    auto const right = support::integers<T>(k, n, 2), left = support::integers<T>(n, m, 3);
    sg::csr_of_ones<T> const pattern{m, k, a.begins.data(), a.columns.data(), a.view().nonzeros};
    under_test::matrix<T> const there_right(device, right), there_left(device, left);
    under_test::matrix<sg::accumulator_t<T>> there_c(device, m, n), there_d(device, n, k);
    sg::matrix<sg::accumulator_t<T>> c(m, n), expected_c(m, n), d(n, k), expected_d(n, k);
    int wrong = 0;
    auto const compare = [&](auto const& x) { // on the left; and the same on the right
        sg::gemm(device, x, there_right, there_c), sg::gemm(device, there_left, x, there_d);
        there_c.download(c), there_d.download(d);
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(c(i, j) == expected_c(i, j));
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < k; ++j) wrong += !(d(i, j) == expected_d(i, j));
    };
    auto const try_one = [&](auto const& x) {
        sg::gemm(sg::host{}, x, right, expected_c), sg::gemm(sg::host{}, left, x, expected_d);
        auto const there = sg::to_device(device, x);
        compare(there);
        compare(sg::keep_left(device, there)), compare(sg::keep(device, there));
        compare(sg::keep_left(device, sg::to_device(device, x))); // keeps the copy
        auto const kept = sg::keep(device, there);
        compare(sg::keep(device, kept));
        sg::plan const plan(device, sg::product(there_left, kept, there_d).shape());
        auto arena = plan.reserve();
        plan.run(there_left, kept, there_d, arena);
        compare(there);
    };
    try_one(a.view()), try_one(sg::conjugated(sg::scaled(2, a.view()))),
        try_one(a.view().transposed().transposed());
    try_one(pattern);
    auto const turned = sg::to_csc(sg::host{}, a.view());
    try_one(turned), try_one(sg::scaled(3, turned));

    auto const there = sg::to_device(device, a.view());
    auto const x = there.view();
    sg::gemm(sg::host{}, a.view(), right, expected_c), sg::gemm(sg::host{}, left, a.view(), expected_d);
    [&]<class P>(P const&) {
        if constexpr (requires { x.values.address; }) {
            sg::csr<T> const pointers{m,         k, x.row_begins.address, x.columns.address, x.values.address,
                                      x.nonzeros};
            compare(P::on_device(pointers)), compare(P::on_device(pointers.transposed()).transposed());
        }
    }(device);
    CHECK(wrong == 0);
}

// An epilogue has the sum before it is rounded to a narrower C: it is beyond the range of T until the epilogue has
// brought it back, by a factor or by limits.
template <class T>
void csr_then_epilogue() {
    using S = sg::accumulator_t<T>;
    under_test const device;
    sg::index_t const m = 20, k = 24, n = 9;
    auto const a = support::uniform_sparse<T>(m, k, 0.4, 1), right = support::uniform_sparse<T>(k, n, 0.4, 2);
    csr_there<T, std::int32_t> const there_a(device, a.view()), there_right(device, right.view());
    auto const b = support::integers<T>(k, n, 3), left = support::integers<T>(m, k, 4),
               e = support::integers<T>(m, n, 5);
    under_test::matrix<T> const there_b(device, b), there_left(device, left), there_e(device, e);
    under_test::matrix<T> there_c(device, m, n);
    sg::matrix<T> c(m, n), expected(m, n);
    S const factor(std::is_integral_v<T> ? 100 : 65536);
    auto const back = [&] {
        if constexpr (std::is_integral_v<T>)
            return sg::clamp(-100, 100);
        else
            return sg::scale(1 / factor);
    }();
    auto const try_one = [&](auto const& x, auto const& y, auto const& dense_x, auto const& dense_y) {
        for (S const beta : {S(0), factor}) {
            sg::gemm(sg::reference{}, factor, dense_x, dense_y, beta, e, expected, back);
            sg::gemm(device, factor, x, y, beta, there_e, there_c, back);
            there_c.download(c);
            int wrong = 0;
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) wrong += !(c(i, j) == expected(i, j));
            CHECK(wrong == 0);
        }
    };
    try_one(there_a.view, there_b, a.dense(), b);
    try_one(there_left, there_right.view, left, right.dense());
    auto const blocks = sg::to_bsr(device, there_a.view, 4);
    try_one(blocks.view(), there_b, a.dense(), b);
}

// The kernel for one column, whatever it would take to be chosen. Some rows are empty. The whole group has some tiles, of
// many rows and of a long one. The first rows are another matrix, whose columns do not exist. C and B are columns of
// others, with NaN beside, and where no element is multiplied.
template <class T, class Index>
void csr_by_vector() {
    under_test const device;
    using S = sg::accumulator_t<T>;
    using space = under_test::space;
    if constexpr (sg::warpgroup_leaf<decltype(device.leaf()), space>) {
        if (sg::csr_vector_units<space>(device.leaf()) == 0) return;
        sg::index_t const others = 3, m = 210, k = 83, unused = 41;
        support::sparse_arrays<T, Index> a;
        a.rows = others + m, a.cols = k;
        for (sg::index_t i = 0; i < others + m; ++i) {
            sg::index_t const length = i % 7 == 3   ? 0
                                       : i == 100   ? 9000
                                       : i == 137   ? 300
                                       : i / 6 == 9 ? 800
                                                    : (i * 5) % 67;
            for (sg::index_t at = 0; at < length; ++at) {
                sg::index_t const j = (at * 11 + i) % (k - 1);
                a.columns.push_back(static_cast<Index>(i < others ? -1000000000 : j < unused ? j : j + 1));
                a.values.push_back(T(static_cast<float>((3 * i + 5 * at) % 7 - 3)));
            }
            a.begins.push_back(static_cast<Index>(a.columns.size()));
        }
        T const nan = std::is_integral_v<S> ? T(1) : T(std::numeric_limits<float>::quiet_NaN());
        auto const numbers = support::integers<T>(k, 2, 1);
        sg::matrix<T> const b(
            k, 2, [&](sg::index_t i, sg::index_t j) { return j == 0 || i == unused ? nan : numbers(i, j); });
        auto const added = support::integers<S>(m, 1, 2);
        under_test::matrix<T> const there_b(device, b);
        under_test::matrix<S> const there_added(device, added);
        under_test::matrix<S> c(device, m, 2);
        csr_there<T, Index> const there(device, a.view(), 5);
        auto x = there.view;
        x.rows = m, x.row_begins = x.row_begins + others;
        auto y = a.view();
        y.rows = m, y.row_begins += others;
        sg::matrix<S> found(m, 2), expected(m, 1);
        auto const try_product = [&](auto const& there_a, auto const& here, S alpha, S beta,
                                     sg::csr_vector_work const& work) {
            INFO(work.rows << " rows, " << work.staged << " staged, beta " << (beta != S(0)));
            auto const part = sg::conjugated(sg::as_view(b).part(0, 1, k, 1));
            auto const there_part = sg::conjugated(sg::as_view(there_b).part(0, 1, k, 1));
            sg::gemm(sg::host{}, alpha, here, part, beta, added, expected);
            device.leaf().fill(c.view(), S(9)).or_throw();
            auto const p =
                sg::product(alpha, there_a, there_part, beta, there_added, sg::as_view(c).part(0, 1, m, 1));
            sg::multiply_csr_by_vector(device.leaf(), p, work).or_throw();
            c.download(found);
            int wrong = 0;
            for (sg::index_t i = 0; i < m; ++i)
                wrong += !(found(i, 1) == expected(i, 0)) + !(found(i, 0) == S(9));
            CHECK(wrong == 0);
        };
        for (int const rows : {1, 6, 32}) {
            try_product(x, y, S(1), S(0), {rows});
            try_product(x, y, S(2), S(-1), {rows});
        }
        if constexpr (std::is_same_v<T, float>) {
            for (int const rows : {1, 6}) try_product(x, y, S(1), S(0), {rows, 37});
            sg::csr_of_ones<T, Index, space> const ones{m, k, x.row_begins, x.columns, x.nonzeros};
            sg::csr_of_ones<T, Index> const ones_here{m, k, y.row_begins, y.columns, y.nonzeros};
            try_product(ones, ones_here, S(1), S(0), {6});
        }
    }
}

} // namespace

TEST_CASE("csr times dense on a device: one column", "[csr]") {
    csr_by_vector<float, std::int32_t>();
    csr_by_vector<double, std::int64_t>();
    csr_by_vector<std::complex<float>, std::int32_t>();
}
TEST_CASE("csr times dense on a device: which kernel has one column", "[csr]") {
    using work = sg::csr_vector_work;
    auto const choice = [](sg::index_t m, sg::index_t length) {
        return sg::choose_csr_vector<float, std::int32_t>(m, m, m * length, 132);
    };
    CHECK(choice(2000000, 33) == work{32});
    CHECK(choice(440000, 150) == work{21, 0, 3 * 150 * 21});
    CHECK(choice(65536, 512) == work{1, 57856});
    CHECK(choice(42000, 600) == work{1, 42000});
    CHECK(choice(21000, 8000) == work{1, 21000, 24000});
    for (auto const& [m, length] : {std::pair{100000, 33}, {264000, 250}, {10000, 2000}, {2000, 9000}})
        CHECK(choice(m, length).rows == 0);
    CHECK(sg::choose_csr_vector<float, std::int32_t>(2000000, 2000000, 66000000, 0).rows == 0);

    under_test const device;
    using space = under_test::space;
    sg::index_t const m = 2000000, k = m / 2; // a row of k elements would not take longer than all others
    sg::csr<float, std::int32_t, space> a{m, k};
    a.nonzeros = 33 * m;
    sg::view<float const, space> const b{{}, k, 1, 1, 1};
    sg::view<float, space> const c{{}, m, 1, 1, 1};
    auto const text = sg::plan(device, sg::product(a, b, c).shape()).describe();
    INFO(text);
    bool const there = sg::csr_vector_units<space>(device.leaf()) > 0;
    CHECK((text.find("rows of A by a warp") != std::string::npos) == there);
}
TEST_CASE("csr times dense on a device: an epilogue before a narrower C", "[csr]") {
    csr_then_epilogue<sg::half>();
    csr_then_epilogue<std::int8_t>();
}
TEST_CASE("csr times dense on a device: copied there, and kept", "[csr]") {
    csr_copied_and_kept<float>();
    csr_copied_and_kept<std::complex<float>>();
}
TEST_CASE("csr times dense on a device: float", "[csr]") { csr_on_device<float>(); }
TEST_CASE("csr times dense on a device: double", "[csr]") { csr_on_device<double>(); }
TEST_CASE("csr times dense on a device: half", "[csr]") { csr_on_device<sg::half>(); }
TEST_CASE("csr times dense on a device: complex", "[csr]") { csr_on_device<std::complex<float>>(); }
