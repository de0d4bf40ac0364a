// Sketches by a Hadamard transform on a device: numbers are added in the same order as on the host, so that results are
// equal where no factor rounds.
#include "catch.hpp"
#include "conformance/device/matrix_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sketch.hpp>

#include <complex>

using namespace trials;

namespace {

// S X with columns beside each other and apart, and X^T S^T likewise, in all kinds of layouts of C.
template <class T, class Sketch>
int wrong_products(Sketch s, sg::index_t n) {
    under_test const device;
    sg::host const cpu{1};
    s.scale = decltype(s.scale)(sg::real_t<T>(0.5));
    auto const x = uniform_matrix<T>(s.cols, n, 1), e = uniform_matrix<T>(s.rows, n, 2);
    sg::matrix<T> const turned_x(n, s.cols, [&](sg::index_t i, sg::index_t j) { return x(j, i); });
    matrix_there<T> const across(device, x), along(device, turned_x), there_e(device, e);
    sg::matrix<T> expected(s.rows, n), turned(n, s.rows), added(s.rows, n);
    sg::gemm(cpu, s, x, expected);
    sg::gemm(cpu, turned_x, sg::transposed(s), turned);
    auto const last = sg::then(sg::scale(T(2)), sg::relu);
    matrix_there<T> y(device, s.rows, n), z(device, n, s.rows);
    int wrong = 0;
    sg::gemm(device, s, across, y);
    wrong += differences(expected, y);
    sg::gemm(device, s, sg::transposed(along), y);
    wrong += differences(expected, y);
    sg::gemm(device, s, across, sg::transposed(z));
    wrong += differences(turned, z);
    sg::gemm(device, along, sg::transposed(s), z);
    wrong += differences(turned, z);
    sg::gemm(device, sg::transposed(across), sg::transposed(s), sg::transposed(y));
    wrong += differences(expected, y);
    // Factors that are powers of two, so that nothing is rounded that the host does not round.
    sg::gemm(cpu, T(sg::real_t<T>(2)), s, sg::conjugated(x), T(sg::real_t<T>(0)), e, added);
    sg::gemm(device, T(sg::real_t<T>(2)), s, sg::conjugated(across), T(sg::real_t<T>(0)), there_e, y);
    wrong += differences(added, y);
    (void)last;
    if constexpr (!sg::complex_like<T>) {
        sg::gemm(cpu, s, x, added, last);
        sg::gemm(device, s, across, y, last);
        wrong += differences(added, y);
    }
    return wrong;
}
template <class T>
int wrong_in_batches(sg::index_t rows, sg::index_t cols, sg::index_t n) {
    under_test const device;
    sg::host const cpu{1};
    auto s = sg::srht<T>(rows, cols, 9);
    s.scale = decltype(s.scale)(1);
    auto const x = uniform_matrix<T>(3 * cols, n, 4);
    matrix_there<T> const there_x(device, x);
    sg::matrix<T> y(3 * rows, n);
    matrix_there<T> there_y(device, y);
    auto const part = [&](auto& m, sg::index_t r) {
        return sg::batched(m.view().block(0, 0, r, n), 3, r * n);
    };
    sg::gemm(cpu, s, part(x, cols), part(y, rows));
    sg::gemm(device, s, part(there_x, cols), part(there_y, rows));
    return differences(y, there_y);
}

template <class T>
void transformed_sketches() {
    under_test const device;
    if (sizeof(sg::real_t<T>) == 8 && !device.leaf().limits().has_double) return;
    struct sides {
        sg::index_t rows, cols;
    };
    // Less than five steps, one round, several, and several passes.
    for (sides const s :
         {sides{1, 1}, sides{2, 3}, sides{5, 16}, sides{7, 33}, sides{40, 500}, sides{700, 40000}}) {
        INFO(s.rows << " x " << s.cols);
        auto const all = sg::srht<T>(s.rows, s.cols, 0x123456789abcdef0);
        for (sg::index_t const n : {1, 5, 40}) {
            if (n > 5 && s.cols > 10000) break;
            CHECK(wrong_products<T>(all, n) == 0);
            CHECK(wrong_products<T>(sg::transposed(all), n) == 0);
        }
        if (s.cols < 500) continue;
        auto const part = all.block(3, 100, 30, 300);
        CHECK(wrong_products<T>(part, 3) == 0);
        CHECK(wrong_products<T>(sg::transposed(part), 3) == 0);
    }
    CHECK(wrong_in_batches<T>(9, 100, 5) == 0);
    CHECK(wrong_in_batches<T>(9, 100, 1) == 0);
}

} // namespace

TEST_CASE("sketch by a transform on a device: float") { transformed_sketches<float>(); }
TEST_CASE("sketch by a transform on a device: double") { transformed_sketches<double>(); }
TEST_CASE("sketch by a transform on a device: complex64") { transformed_sketches<std::complex<float>>(); }
TEST_CASE("sketch by a transform on a device: complex128") { transformed_sketches<std::complex<double>>(); }
