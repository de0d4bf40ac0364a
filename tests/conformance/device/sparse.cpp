// Sparse formats on a device, against the host: the kernels that list, sort and transpose are the same for all
// devices.
#include "sparse.hpp"
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/ell.hpp>
#include <stratagemm/structure/events.hpp>

#include <algorithm>

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
}

} // namespace

TEST_CASE("sparse formats on a device: float", "[sparse]") {
    formats_on_device(support::uniform_sparse<float>(20, 28, 0.2, 1));
}
TEST_CASE("sparse formats on a device: complex", "[sparse]") {
    formats_on_device(support::banded<std::complex<float>>(24, 16, 2, 3));
}
// Blocks that tensor cores multiply if the device has those that can; any device gives the same sums of integers. The
// last tiles of C are not full, some rows of blocks are empty, and one list is not sorted and names a column twice.
template <class T, class C>
void blocks_times_dense(sg::index_t side, sg::index_t n, sg::index_t unused_columns = 0) {
    under_test const device;
    auto const a = support::blocks<T>(19 * side, 11 * side, side, 0.4, static_cast<std::uint64_t>(side));
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
    sg::gemm(device, x, there_part, c);
    sg::gemm(sg::host{}, sg::scaled(-2.0f, b), part, expected);
    c.download(found);
    compare(found, expected);
    // Each of the tiles, whichever the product would choose.
    if constexpr (sg::may_have_bsr_kernel<decltype(device.leaf()), space, T>)
        if (sg::has_bsr_kernel<space, T>(device.leaf(), side) && sg::can_fetch(x, there_part))
            for (sg::bsr_tiling const& tile : sg::bsr_tilings) {
                INFO(tile.rows << " x " << tile.cols);
                auto p = sg::product(x, there_part, c);
                p.alpha = x.scale;
                device.leaf().fill(p.c, C(7.0f)).or_throw();
                sg::multiply_bsr(device.leaf(), p, tile).or_throw();
                c.download(found);
                compare(found, expected);
            }
    sg::gemm(device, 0.5f, x, there_part, 2.0f, there_added, sg::transposed(by_columns), sg::relu);
    sg::gemm(sg::host{}, 0.5f, sg::scaled(-2.0f, b), part, 2.0f, added, expected, sg::relu);
    by_columns.download(found_turned);
    int wrong = 0;
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j) wrong += !(found_turned(j, i) == expected(i, j));
    CHECK(wrong == 0);
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
