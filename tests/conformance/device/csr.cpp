// Sparse matrices times dense ones on a device, against the host: the kernel is one for all devices.
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

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

} // namespace

TEST_CASE("csr times dense on a device: float", "[csr]") { csr_on_device<float>(); }
TEST_CASE("csr times dense on a device: double", "[csr]") { csr_on_device<double>(); }
TEST_CASE("csr times dense on a device: half", "[csr]") { csr_on_device<sg::half>(); }
TEST_CASE("csr times dense on a device: complex", "[csr]") { csr_on_device<std::complex<float>>(); }
