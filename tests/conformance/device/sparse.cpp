// Sparse formats on a device, against the host: the kernels that list, sort and transpose are the same for all
// devices.
#include "catch.hpp"
#include "csr_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/blocked_ell.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/ell.hpp>
#include <stratagemm/structure/events.hpp>
#include <stratagemm/structure/two_of_four.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <string>

using namespace trials;

namespace {

using space = under_test::space;
template <class T>
using there = under_test::matrix<T>;

// The arrays of a matrix, as one row each.
template <class T>
there<T> row(under_test const& device, T const* values, sg::index_t size) {
    return there<T>(device, sg::row_major(values, 1, size));
}

template <class T>
void compare(sg::matrix<T> const& found, sg::matrix<T> const& expected) {
    int wrong = 0;
    for (sg::index_t i = 0; i < expected.rows(); ++i)
        for (sg::index_t j = 0; j < expected.cols(); ++j) wrong += !(found(i, j) == expected(i, j));
    CHECK(wrong == 0);
}

// x and its transposed times dense matrices, dense times x, and x as a dense matrix.
template <class T, class X>
void try_products(under_test const& device, X const& x, sg::matrix<T> const& dense) {
    sg::index_t const m = dense.rows(), k = dense.cols(), n = 5;
    auto const right = support::integers<T>(k, n, 1), across = support::integers<T>(m, n, 2);
    there<T> const there_right(device, right), there_across(device, across);
    there<T> c(device, m, n), d(device, k, n), whole(device, m, k);
    sg::matrix<T> found(m, n), expected(m, n), found_d(k, n), expected_d(k, n), back(m, k);
    sg::gemm(device, sg::conjugated(sg::scaled(T(2), x)), there_right, c);
    sg::gemm(sg::reference{}, T(2), sg::conjugated(dense), right, T(0), expected);
    c.download(found);
    compare(found, expected);
    sg::gemm(device, x.transposed(), there_across, d);
    sg::gemm(sg::reference{}, sg::transposed(dense), across, expected_d);
    d.download(found_d);
    compare(found_d, expected_d);
    sg::gemm(device, T(1), sg::transposed(there_across), x, T(-1), sg::transposed(d), sg::transposed(d),
             sg::scale(T(3)));
    CHECK(sg::plan(device, sg::product(x, there_right, c).shape()).estimate() > 0);
    CHECK(
        sg::plan(device, sg::product(sg::transposed(there_across), x, sg::transposed(d)).shape()).estimate() >
        0);
    d.download(found_d);
    compare(found_d, sg::matrix<T>(k, n));
    sg::to_dense(device, x, whole);
    whole.download(back);
    compare(back, dense);
}

template <class T>
void formats_on_device(support::sparse_arrays<T> const& a) {
    under_test const device;
    sg::host const cpu;
    auto const dense = a.dense();
    auto const x = a.view();
    auto const begins = row(device, x.row_begins, x.rows + 1), columns = row(device, x.columns, x.nonzeros);
    auto const values = row(device, x.values, x.nonzeros);
    sg::csr<T, std::int32_t, space> const by_rows{x.rows,         x.cols,        begins.data(),
                                                  columns.data(), values.data(), x.nonzeros};
    try_products(device, by_rows, dense);
    auto const coo = sg::to_coo(device, by_rows);
    try_products(device, coo.view(), dense);
    auto const csc = sg::to_csc(device, coo.view());
    try_products(device, csc.view(), dense);

    auto const e = sg::to_ell(cpu, x);
    sg::index_t const width = e.view().columns.cols;
    auto const ell_columns = row(device, e.view().columns.data, x.rows * width);
    auto const ell_values = row(device, e.view().values.data, x.rows * width);
    using index_view = sg::view<std::int32_t const, space>;
    sg::ell<T, std::int32_t, space> const ell(
        x.cols, index_view{ell_columns.data(), x.rows, width, width, 1},
        sg::view<T const, space>{ell_values.data(), x.rows, width, width, 1});
    try_products(device, ell, dense);

    auto const b = sg::to_bsr(cpu, x, 4);
    auto const v = b.view();
    auto const block_begins = row(device, v.block_begins, x.rows / 4 + 1);
    auto const block_columns = row(device, v.block_columns, v.blocks);
    auto const block_values = row(device, v.values, v.nonzeros());
    sg::bsr<T, std::int32_t, space> const bsr{
        x.rows, x.cols, 4, block_begins.data(), block_columns.data(), block_values.data(), v.blocks};
    try_products(device, bsr, dense);
    auto const made_ell = sg::to_ell(device, coo);
    try_products(device, made_ell.view(), dense);
    auto const made_bsr = sg::to_bsr(device, csc, 2);
    try_products(device, made_bsr.view(), dense);
    auto const padded = sg::to_blocked_ell(device, made_bsr, 4);
    try_products(device, padded.view(), dense);
    // A pattern, and back.
    sg::matrix<T> ones(x.rows, x.cols);
    for (sg::index_t i = 0; i < x.rows; ++i)
        for (sg::index_t at = x.row_begins[i]; at < x.row_begins[i + 1]; ++at)
            ones(i, x.columns[at]) = T(1.0f);
    auto const places = sg::to_csr_of_ones(device, csc.view());
    try_products(device, places.view(), ones);
    auto const valued = sg::to_csr(device, places);
    try_products(device, valued.view(), ones);
    auto const blocks_of_ones = sg::to_bsr(device, places, 4);
    try_products(device, blocks_of_ones.view(), ones);
}

// The arrays of ELL and BSR that a device makes, against those of the host.
template <class T, class Index>
void same_arrays(support::sparse_arrays<T, Index> const& a, sg::index_t side) {
    under_test const device;
    sg::host const cpu;
    csr_there<T, Index> const there(device, a.view(), 11);
    INFO(a.rows << " x " << a.cols << ", " << a.values.size() << " elements, blocks of " << side);
    auto const same = [&](auto found, auto const* expected, sg::index_t count) {
        using Number = std::remove_cvref_t<decltype(*expected)>;
        CHECK(numbers<Number const>(device, found, count) == std::vector<Number>(expected, expected + count));
    };
    auto const ell_here = sg::to_ell(cpu, sg::scaled(T(2), a.view()));
    auto const ell_there = sg::to_ell(device, sg::scaled(T(2), there.view));
    auto const e = ell_here.view();
    auto const ell = ell_there.view();
    REQUIRE(ell.columns.cols == e.columns.cols);
    CHECK((ell.rows == e.rows && ell.cols == e.cols && ell.scale == e.scale));
    same(ell.columns.data, e.columns.data, e.rows * e.columns.cols);
    same(ell.values.data, e.values.data, e.rows * e.columns.cols);
    auto const bsr_here = sg::to_bsr(cpu, sg::conjugated(a.view()), side);
    auto const bsr_there = sg::to_bsr(device, sg::conjugated(there.view), side);
    auto const b = bsr_here.view();
    auto const bsr = bsr_there.view();
    REQUIRE(bsr.blocks == b.blocks);
    CHECK((bsr.rows == b.rows && bsr.cols == b.cols && bsr.side == side && bsr.conjugate == b.conjugate));
    same(bsr.block_begins, b.block_begins, b.rows / side + 1);
    same(bsr.block_columns, b.block_columns, b.blocks);
    same(bsr.values, b.values, b.nonzeros());
    auto const padded_here = sg::to_blocked_ell(cpu, bsr_here, side);
    auto const padded_there = sg::to_blocked_ell(device, bsr_there, side);
    auto const p = padded_here.view();
    auto const padded = padded_there.view();
    REQUIRE(padded.values.cols == p.values.cols);
    CHECK((padded.rows == p.rows && padded.cols == p.cols && padded.conjugate == p.conjugate));
    same(padded.block_columns.data, p.block_columns.data, p.block_columns.rows * p.block_columns.cols);
    same(padded.values.data, p.values.data, p.nonzeros());
    // Listed, the padding is gone.
    auto const list_here = sg::to_csr(cpu, padded_here);
    auto const list_there = sg::to_csr(device, padded_there);
    auto const l = list_here.view();
    auto const list = list_there.view();
    same(list.row_begins, l.row_begins, l.rows + 1);
    same(list.columns, l.columns, l.nonzeros);
    same(list.values, l.values, l.nonzeros);
}

} // namespace

TEST_CASE("sparse formats on a device: float", "[sparse]") {
    formats_on_device(support::uniform_sparse<float>(20, 28, 0.2, 1));
}
TEST_CASE("sparse formats on a device: complex", "[sparse]") {
    formats_on_device(support::banded<std::complex<float>>(24, 16, 2, 3));
}
// Blocks that tensor cores multiply if the device has those that can; any device gives the same sums of integers. The
// last tiles of C are not full, some rows of blocks are empty, and one list is not sorted and names a column twice. Other
// devices, which have a kernel for elements, have fewer blocks.
template <class T, class C>
void blocks_times_dense(sg::index_t side, sg::index_t n, sg::index_t unused_columns = 0) {
    under_test const device;
    bool by_blocks = false;
    if constexpr (sg::may_have_bsr_kernel<decltype(device.leaf()), space, T>)
        by_blocks = sg::has_bsr_kernel<space, T>(device.leaf(), side);
    auto const a = support::blocks<T>((by_blocks ? 19 : 7) * side, (by_blocks ? 11 : 5) * side, side, 0.4,
                                      static_cast<std::uint64_t>(side));
    auto const made = sg::to_bsr(sg::host{}, a.view(), side);
    auto const v = made.view();
    sg::index_t const m = v.rows, k = v.cols, lines = m / side;
    std::vector<std::int32_t> columns(v.block_columns, v.block_columns + v.blocks);
    std::reverse(columns.begin() + v.block_begins[2], columns.begin() + v.block_begins[3]);
    std::fill(columns.begin() + v.block_begins[4], columns.begin() + v.block_begins[5], 3);
    auto const block_begins = row(device, v.block_begins, lines + 1);
    auto const block_columns = row(device, static_cast<std::int32_t const*>(columns.data()), v.blocks);
    auto const values = row(device, v.values, v.nonzeros());
    auto b = v;
    b.block_columns = columns.data();
    auto const x =
        sg::scaled(-2.0f, sg::bsr<T, std::int32_t, space>{m, k, side, block_begins.data(),
                                                          block_columns.data(), values.data(), v.blocks});
    auto const right = support::integers<T>(k, n + unused_columns, 1);
    auto const added = support::integers<C>(m, n, 2);
    there<T> const there_right(device, right);
    there<C> const there_added(device, added);
    auto const some_of = [&](auto const& y) { return sg::as_view(y).part(0, 0, k, n); };
    there<C> c(device, m, n), by_columns(device, n, m);
    sg::matrix<C> found(m, n), found_turned(n, m), expected(m, n);
    auto const there_part = some_of(there_right);
    auto const part = some_of(right);
    auto const try_blocks = [&](auto const& y) {
        sg::gemm(device, y, there_part, c);
        sg::gemm(sg::host{}, sg::scaled(-2.0f, b), part, expected);
        c.download(found);
        compare(found, expected);
        // Each of the tiles, whichever the product would choose.
        if constexpr (sg::may_have_bsr_kernel<decltype(device.leaf()), space, T>)
            if (sg::has_bsr_kernel<space, T>(device.leaf(), side) && sg::can_fetch(y, there_part))
                for (sg::bsr_tiling const& tile : sg::bsr_tilings) {
                    INFO(tile.rows << " x " << tile.cols);
                    auto p = sg::product(y, there_part, c);
                    p.alpha = y.scale;
                    device.leaf().fill(p.c, C(7.0f)).or_throw();
                    sg::multiply_bsr(device.leaf(), p, tile).or_throw();
                    c.download(found);
                    compare(found, expected);
                }
        sg::gemm(device, 0.5f, y, there_part, 2.0f, there_added, sg::transposed(by_columns), sg::relu);
        sg::gemm(sg::host{}, 0.5f, sg::scaled(-2.0f, b), part, 2.0f, added, expected, sg::relu);
        by_columns.download(found_turned);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(found_turned(j, i) == expected(i, j));
        CHECK(wrong == 0);
    };
    try_blocks(x);
    auto const padded = sg::to_blocked_ell(device, x, side);
    try_blocks(padded.view());
}
TEST_CASE("sparse formats on a device: blocks of half and bfloat16", "[sparse]") {
    blocks_times_dense<sg::half, sg::half>(16, 40);
    blocks_times_dense<sg::half, float>(32, 200);
    blocks_times_dense<sg::bfloat16, sg::bfloat16>(32, 136);
    blocks_times_dense<sg::half, sg::half>(64, 72);
    blocks_times_dense<sg::bfloat16, float>(64, 320);
    blocks_times_dense<sg::half, sg::half>(16, 9);  // rows of B begin anywhere
    blocks_times_dense<sg::half, float>(32, 37, 3); // an odd number of columns
    blocks_times_dense<sg::half, sg::half>(48, 24); // no such kernel
}

// What a device makes of a matrix, against what the host makes of it, and its products.
template <class T>
void two_of_four_on_device(sg::index_t m, sg::index_t k) {
    under_test const device;
    sg::host const cpu;
    auto const a = support::two_of_four<T>(m, k, 7);
    auto const dense = a.dense();
    there<T> const there_dense(device, dense);
    auto const same = [&](auto const& made, auto const& expected) {
        auto const x = made.view();
        auto const y = expected.view();
        REQUIRE((x.rows == y.rows && x.cols == y.cols && x.values.row_stride == y.values.row_stride));
        CHECK((x.scale == y.scale && x.conjugate == y.conjugate));
        sg::index_t const words = sg::two_of_four_words(m, k);
        CHECK(numbers<std::int32_t const>(device, x.positions, words) ==
              std::vector<std::int32_t>(y.positions, y.positions + words));
        there<T> values(device, m, k / 2);
        device.leaf().copy(x.values, values.view()).or_throw();
        sg::matrix<T> found(m, k / 2);
        values.download(found);
        compare(found, sg::matrix<T>(m, k / 2, [&](auto i, auto e) { return y.values(i, e); }));
    };
    auto const made = sg::to_two_of_four(device, there_dense);
    same(made, sg::to_two_of_four(cpu, dense));
    try_products(device, made.view(), dense);
    csr_there<T, std::int32_t> const list(device, a.view(), 3);
    same(sg::to_two_of_four(device, sg::scaled(T(2), list.view)),
         sg::to_two_of_four(cpu, sg::scaled(T(2), a.view())));
    auto const full = support::integers<T>(k, m, 9);
    there<T> const there_full(device, full);
    same(sg::prune_to_two_of_four(device, sg::conjugated(sg::transposed(there_full))),
         sg::prune_to_two_of_four(cpu, sg::conjugated(sg::transposed(full))));
    sg::matrix<T> wrong = dense;
    for (sg::index_t const j : {8, 9, 11, 12, 13, 14, 15}) wrong(m - 1, j) = T(1.0f);
    try {
        sg::to_two_of_four(device, there<T>(device, wrong));
        FAIL("taken");
    } catch (sg::error const& e) {
        INFO(e.what());
        std::string const place = "not zero in row " + std::to_string(m - 1) + ", columns 8 to 11";
        CHECK(std::string(e.what()).find(place) != std::string::npos);
    }
}
TEST_CASE("sparse formats on a device: two of four", "[sparse]") {
    two_of_four_on_device<float>(70, 136);
    two_of_four_on_device<float>(9, 64);
    two_of_four_on_device<std::complex<float>>(20, 28);
    two_of_four_on_device<sg::half>(33, 68);
}
// Tensor cores multiply these if the device has those that can; any device gives the same sums of integers. Rows of B
// that no element meets are NaN.
template <class T, class C>
void two_of_four_times_dense(sg::index_t m, sg::index_t k, sg::index_t n, sg::index_t unused_columns = 0) {
    under_test const device;
    INFO(m << " x " << n << " x " << k);
    sg::matrix<T> const dense(m, k, [](sg::index_t i, sg::index_t j) {
        auto const met = [&](sg::index_t column) { return column == j / 4 % 3 || column == 3; };
        return T(met(j % 4) ? static_cast<float>((i * 5 + j * 3) % 7) - 3.5f : 0.0f);
    });
    auto const here = sg::to_two_of_four(sg::host{}, dense);
    auto const made = sg::to_two_of_four(device, there<T>(device, dense));
    auto const x = sg::scaled(-2.0f, made.view());
    auto const y = sg::scaled(-2.0f, here.view());
    sg::matrix<T> right = support::integers<T>(k, n + unused_columns, 1);
    for (sg::index_t j = 0; j < k; ++j)
        if (j % 4 != j / 4 % 3 && j % 4 != 3)
            for (sg::index_t i = 0; i < n; ++i) right(j, i) = T(std::numeric_limits<float>::quiet_NaN());
    sg::matrix<T> const turned_right(n + unused_columns, k,
                                     [&](sg::index_t i, sg::index_t j) { return right(j, i); });
    auto const added = support::integers<C>(m, n, 2);
    there<T> const there_right(device, right), there_turned(device, turned_right);
    there<C> const there_added(device, added);
    auto const part = sg::as_view(right).part(0, 0, k, n);
    auto const along_n = sg::as_view(there_right).part(0, 0, k, n);
    auto const along_k = sg::transposed(sg::as_view(there_turned).part(0, 0, n, k));
    // Rows of C, and columns, begin where the hardware can store them.
    sg::index_t const wide_n = (n + 7) / 8 * 8, wide_m = (m + 7) / 8 * 8;
    there<C> rows(device, m, wide_n), columns(device, n, wide_m);
    auto const by_rows = sg::as_view(rows).part(0, 0, m, n),
               by_columns = sg::as_view(columns).part(0, 0, n, m);
    sg::matrix<C> expected(m, n), found_rows(m, wide_n), found_columns(n, wide_m);
    auto const wrong = [&] {
        rows.download(found_rows), columns.download(found_columns);
        int count = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j)
                count += !(found_rows(i, j) == expected(i, j)) + !(found_columns(j, i) == expected(i, j));
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = n; j < wide_n; ++j) count += !(found_rows(i, j) == C(9.0f));
        for (sg::index_t j = 0; j < n; ++j)
            for (sg::index_t i = m; i < wide_m; ++i) count += !(found_columns(j, i) == C(9.0f));
        device.leaf().fill(rows.view(), C(9.0f)).or_throw();
        device.leaf().fill(columns.view(), C(9.0f)).or_throw();
        return count;
    };
    wrong();
    sg::gemm(sg::host{}, y, part, expected);
    sg::gemm(device, x, along_n, by_rows);
    sg::gemm(device, sg::transposed(along_k), sg::transposed(x), by_columns);
    CHECK(wrong() == 0);
    sg::gemm(device, x, along_k, by_rows);
    sg::gemm(device, x, along_n, sg::transposed(by_columns));
    CHECK(wrong() == 0);
    sg::gemm(sg::host{}, 0.5f, y, part, 2.0f, added, expected, sg::relu);
    sg::gemm(device, 0.5f, x, along_n, 2.0f, there_added, by_rows, sg::relu);
    sg::gemm(device, 0.5f, sg::transposed(along_k), sg::transposed(x), 2.0f, sg::transposed(there_added),
             by_columns, sg::relu);
    CHECK(wrong() == 0);
    // An epilogue sees the indices of the caller's C.
    std::vector<float> steps;
    for (sg::index_t j = 0; j < n; ++j) steps.push_back(static_cast<float>(j % 5));
    there<float> const there_steps(device, sg::row_major(steps, 1, n));
    sg::gemm(sg::host{}, y, part, expected, sg::bias(steps));
    sg::gemm(device, x, along_n, by_rows, sg::bias(there_steps));
    sg::gemm(device, sg::transposed(along_k), sg::transposed(x), by_columns,
             sg::bias(there_steps, sg::along::rows));
    CHECK(wrong() == 0);
}
TEST_CASE("sparse formats on a device: two of four of half and bfloat16", "[sparse]") {
    two_of_four_times_dense<sg::half, sg::half>(200, 172, 40);
    two_of_four_times_dense<sg::half, float>(130, 256, 136);
    two_of_four_times_dense<sg::bfloat16, sg::bfloat16>(64, 64, 520);
    two_of_four_times_dense<sg::bfloat16, float>(300, 60, 8);
    two_of_four_times_dense<sg::half, sg::half>(20, 1024, 270, 2);
    two_of_four_times_dense<sg::half, sg::half>(37, 68, 9); // rows of B begin anywhere
}
// Each tile of C that the tensor cores may compute, against the dense product of the device.
template <class T, class C>
void two_of_four_by_tiles(sg::index_t m, sg::index_t n, sg::index_t k) {
    under_test const device;
    if constexpr (sg::may_have_two_of_four_kernel<decltype(device.leaf()), space, T>) {
        if (!sg::has_two_of_four_kernel<space, T>(device.leaf())) return;
        auto const made = sg::prune_to_two_of_four(device, there<T>(device, support::integers<T>(m, k, 3)));
        auto const x = made.view();
        there<T> const along_n(device, support::integers<T>(k, n, 4));
        there<T> dense(device, m, k), turned(device, n, k);
        device.leaf().copy(sg::transposed(along_n), turned.view()).or_throw();
        sg::to_dense(device, x, dense);
        there<C> by_rows(device, m, n), by_columns(device, n, m);
        sg::matrix<C> expected(m, n), found(m, n), found_turned(n, m);
        sg::gemm(device, 2.0f, dense, along_n, 0.0f, by_rows);
        by_rows.download(expected);
        for (sg::two_of_four_tiling const& tile : sg::two_of_four_tilings)
            for (bool const b_along_k : {false, true}) {
                INFO(m << " x " << n << " x " << k << " by " << tile.rows << " x " << tile.cols << ", "
                       << b_along_k);
                auto const b = b_along_k ? sg::transposed(turned) : along_n.view();
                auto p = sg::product(2.0f, x, b, 0.0f, by_rows);
                device.leaf().fill(by_rows.view(), C(9.0f)).or_throw();
                sg::multiply_two_of_four(device.leaf(), p, tile).or_throw();
                by_rows.download(found);
                compare(found, expected);
                p.c = sg::transposed(by_columns);
                device.leaf().fill(by_columns.view(), C(9.0f)).or_throw();
                sg::multiply_two_of_four(device.leaf(), p, tile).or_throw();
                by_columns.download(found_turned);
                compare(sg::matrix<C>(m, n, [&](auto i, auto j) { return found_turned(j, i); }), expected);
                // The threads store what the hardware cannot, here since E is read.
                auto q = sg::product(1.0f, x, b, 0.5f, by_rows, by_columns.view().transposed());
                sg::multiply_two_of_four(device.leaf(), q, tile).or_throw();
                by_columns.download(found_turned);
                compare(sg::matrix<C>(m, n, [&](auto i, auto j) { return found_turned(j, i); }), expected);
                sg::multiply_two_of_four(device.leaf(), sg::product(1.0f, x, b, 0.5f, by_rows), tile)
                    .or_throw();
                by_rows.download(found);
                compare(found, expected);
            }
    }
}
TEST_CASE("sparse formats on a device: two of four by every tile of tensor cores", "[sparse]") {
    two_of_four_by_tiles<sg::bfloat16, sg::bfloat16>(1096, 2104, 1032);
    two_of_four_by_tiles<sg::half, float>(136, 200, 328);
    two_of_four_by_tiles<sg::half, float>(1096, 520, 64);
}
// Several groups sort, and each of them several tiles.
TEST_CASE("sparse formats on a device: many elements are sorted", "[sparse]") {
    under_test const device;
    auto const a = support::uniform_sparse<float>(300, 400, 0.2, 5);
    auto const x = a.view();
    auto const begins = row(device, x.row_begins, x.rows + 1), columns = row(device, x.columns, x.nonzeros);
    auto const values = row(device, x.values, x.nonzeros);
    sg::csr<float, std::int32_t, space> const by_rows{x.rows,         x.cols,        begins.data(),
                                                      columns.data(), values.data(), x.nonzeros};
    auto const csc = sg::to_csc(device, by_rows);
    there<float> whole(device, 300, 400);
    sg::to_dense(device, csc.view(), whole);
    sg::matrix<float> back(300, 400);
    whole.download(back);
    compare(back, a.dense());
    // A list whose length the host does not know: that of a matrix that is mostly zero.
    auto const list = sg::compact(device, there<float>(device, a.dense()));
    sg::to_dense(device, sg::to_csc(device, list.view()), whole);
    whole.download(back);
    compare(back, a.dense());
}
// Without elements there are no columns and values either: C = beta E.
template <class T>
void nothing_on_device(sg::index_t m, sg::index_t k) {
    under_test const device;
    sg::index_t const n = 4;
    std::vector<std::int32_t> const zeros(static_cast<std::size_t>(m + k + 1), 0);
    auto const begins = row(device, zeros.data(), m + k + 1);
    auto const b = support::integers<T>(k, n, 1), left = support::integers<T>(n, m, 2),
               e = support::integers<T>(m, n, 3);
    there<T> const there_b(device, b), there_left(device, left), there_e(device, e);
    there<T> c(device, m, n), d(device, n, k), whole(device, m, k);
    sg::matrix<T> found(m, n), found_d(n, k), found_whole(m, k),
        twice(m, n, [&](auto i, auto j) { return e(i, j) + e(i, j); });
    auto const try_one = [&](auto const& x) {
        for (bool const conjugates : {false, true}) {
            auto const y = conjugates ? sg::conjugated(x) : x;
            sg::gemm(device, T(1), y, there_b, T(2), there_e, c);
            c.download(found), compare(found, twice);
            sg::gemm(device, T(1), y, there_b, T(1), there_e, c, sg::scale(T(2)));
            c.download(found), compare(found, twice);
            sg::gemm(device, there_left, y, d);
            d.download(found_d), compare(found_d, sg::matrix<T>(n, k));
            sg::gemm(device, sg::transposed(y), sg::transposed(there_left), sg::transposed(d));
            d.download(found_d), compare(found_d, sg::matrix<T>(n, k));
            device.leaf().fill(whole.view(), T(1.0f)).or_throw();
            sg::to_dense(device, y, whole);
            whole.download(found_whole), compare(found_whole, sg::matrix<T>(m, k));
        }
        CHECK(sg::to_csr_of_ones(device, x).view().nonzeros == 0);
        CHECK(sg::by_rows(device, sg::transposed(x)).view().rows == k);
        CHECK(sg::to_bsr(device, x, 1).view().blocks == 0);
        CHECK(sg::to_ell(device, x).view().columns.cols == 0);
    };
    sg::csr<T, std::int32_t, space> const csr{m, k, begins.data(), {}, {}, 0};
    try_one(csr);
    try_one(sg::csr_of_ones<T, std::int32_t, space>{m, k, begins.data(), {}, 0});
    try_one(sg::csc<T, std::int32_t, space>(m, k, begins.data(), {}, {}, 0));
    try_one(sg::coo<T, std::int32_t, space>{m, k, {}, {}, {}, 0});
    try_one(sg::bsr<T, std::int32_t, space>{m, k, 1, begins.data(), {}, {}, 0});
    try_one(sg::ell<T, std::int32_t, space>(k, {{}, m, 0, 0, 1}, {{}, m, 0, 0, 1}));
    try_one(sg::blocked_ell<T, std::int32_t, space>(k, 1, {{}, m, 0, 0, 1}, {{}, m, 0, 0, 1}));
    if (m == 0 || k == 0) try_one(sg::two_of_four<T, space>{m, k, {{}, m, k / 2, k / 2, 1}, {}});
    sg::gemm(device, T(1), sg::balanced(device, csr), there_b, T(2), there_e, c);
    c.download(found), compare(found, twice);
}
TEST_CASE("sparse formats on a device: matrices without elements", "[sparse]") {
    nothing_on_device<float>(5, 8);
    nothing_on_device<std::complex<float>>(5, 8);
    nothing_on_device<float>(0, 8);
    nothing_on_device<float>(5, 0);
    nothing_on_device<float>(0, 0);
}
// Elements as they are, with Inf and the sign of a zero.
TEST_CASE("sparse formats on a device: to_dense and to_bsr keep Inf and signed zeros", "[sparse]") {
    under_test const device;
    float const inf = std::numeric_limits<float>::infinity();
    using Z = std::complex<float>;
    std::vector<std::int32_t> const begins{0, 5}, columns{0, 1, 2, 3, 4};
    std::vector<Z> const values{{inf, 1}, {1, -inf}, {-0.0f, 0}, {0, -0.0f}, {-0.0f, -0.0f}};
    csr_there<Z, std::int32_t> const x(device, {1, 5, begins.data(), columns.data(), values.data(), 5});
    there<Z> whole(device, 1, 5);
    sg::matrix<Z> found(1, 5);
    sg::to_dense(device, x.view, whole);
    whole.download(found);
    auto const blocks = numbers<Z const>(device, sg::to_bsr(device, x.view, 1).view().values, 5);
    for (std::size_t j = 0; j < 5; ++j) {
        INFO(j);
        auto const same = [&](Z const& y) { return std::memcmp(&y, &values[j], sizeof(y)) == 0; };
        CHECK(same(found(0, static_cast<sg::index_t>(j))));
        CHECK(same(blocks[j]));
    }
}
TEST_CASE("sparse formats on a device: to_ell, to_bsr and to_blocked_ell") {
    same_arrays(support::power_law<float>(60, 90, 0.9, 1), 3);
    same_arrays(support::uniform_sparse<float, std::int64_t>(33, 44, 0.2, 2), 11);
    same_arrays(support::banded<double>(40, 24, 3, 3), 8);
    same_arrays(support::blocks<std::complex<float>>(30, 50, 5, 0.3, 4), 5);
    same_arrays(support::uniform_sparse<float>(6, 9, 0, 5), 3);
    same_arrays(support::uniform_sparse<float>(0, 8, 0.5, 6), 4);
    same_arrays(support::uniform_sparse<float>(8, 0, 0.5, 7), 4);
    // More columns of blocks than a group marks at once, far apart and next to each other.
    same_arrays(support::uniform_sparse<float>(7, 30000, 0.001, 8), 1);
    same_arrays(support::sparse_where<float>(3, 20000, 9,
                                             [](sg::index_t i, sg::index_t j) { return i != 1 || j > 8100; }),
                1);
    // Rows that are not sorted and name columns twice.
    auto a = support::uniform_sparse<sg::half>(20, 16, 0.5, 10);
    for (std::size_t at = 0; at + 1 < a.columns.size(); at += 2)
        std::swap(a.columns[at], a.columns[(7 * at + 3) % a.columns.size()]);
    same_arrays(a, 4);
}
