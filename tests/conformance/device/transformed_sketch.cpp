// Sketches by transforms on a device. With a Hadamard transform numbers are added in the same order as on the host, so
// that results are equal where no factor rounds; with a cosine transform they are within the bound.
#include "catch.hpp"
#include "conformance/device/matrix_there.hpp"
#include "conformance/device/transforms.hpp"
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

template <class X>
using cosines = transforms::transform_trial<sg::transformed_sketch<sg::by_dct, X>, X, X>;

// The sketch and a part of it, to fewer numbers and back, in some layouts, batches and endings.
template <class X>
void sampled_cosines(sg::index_t rows, sg::index_t cols, int step) {
    INFO(rows << " x " << cols);
    auto const all = sg::srct<X>(rows, cols, 0x123456789abcdef0);
    auto const part = all.block(rows / 3, cols / 4, rows - rows / 3, (cols + 1) / 2);
    for (bool const back : {false, true})
        transforms::every_option(
            cosines<X>{all},
            [&](cosines<X>& t, int way) {
                auto const d = way % 4 == 3 ? part : all;
                t.d = back ? d.transposed() : d;
                if (way % 5 == 1) t.d = sg::scaled(X(sg::real_t<X>(-1.5)), t.d);
            },
            step);
}
template <class X>
double error_of_long_cosines(sg::index_t rows, sg::index_t cols, bool back) {
    cosines<X> t{sg::srct<X>(rows, cols, 7)};
    if (back) t.d = t.d.transposed();
    t.width = 2, t.ends = true, t.alpha = X(sg::real_t<X>(0.5)), t.beta = X(sg::real_t<X>(2));
    return t.error() / (t.bound().worst * t.peak() * 3);
}

} // namespace

TEST_CASE("sketch by a transform on a device: float") { transformed_sketches<float>(); }
TEST_CASE("sketch by a transform on a device: double") { transformed_sketches<double>(); }
TEST_CASE("sketch by a transform on a device: complex64") { transformed_sketches<std::complex<float>>(); }
TEST_CASE("sketch by a transform on a device: complex128") { transformed_sketches<std::complex<double>>(); }

TEST_CASE("srct on a device: layouts, parts, batches, factors and epilogues") {
    for (sg::index_t const cols : {1, 2, 17, 64})
        sampled_cosines<float>((cols + 2) / 3, cols, cols > 16 ? 1 : 3);
    sampled_cosines<float>(33, 33, 3);
    for (sg::index_t const cols : {9, 34}) sampled_cosines<std::complex<float>>(5, cols, cols == 34 ? 1 : 3);
    if (!under_test().leaf().limits().has_double) return;
    sampled_cosines<double>(5, 12, 3);
    sampled_cosines<std::complex<double>>(5, 15, 3);
}
TEST_CASE("srct on a device: columns that take several launches") {
    for (bool const back : {false, true}) {
        CHECK(error_of_long_cosines<float>(30, 9000, back) < 1);
        CHECK(error_of_long_cosines<float>(3, 4099, back) < 1);
        CHECK(error_of_long_cosines<std::complex<float>>(3, 4375, back) < 1);
    }
}
TEST_CASE("srct on a device: the elements are those of the sketch, and results the same in every layout") {
    for (sg::index_t const cols : {17, 64}) {
        INFO(cols);
        transforms::check_bits(cosines<float>{sg::srct<float>(6, cols, 5)});
        transforms::check_bits(cosines<float>{sg::srct<float>(6, cols, 5).transposed()});
    }
    // A column of the identity gives a column of elements.
    under_test const device;
    auto const s = sg::srct<float>(7, 40, 11);
    sg::matrix<float> const one(40, 40, [](sg::index_t i, sg::index_t j) { return i == j ? 1.0f : 0.0f; });
    matrix_there<float> const there_one(device, one);
    matrix_there<float> there_y(device, 7, 40);
    sg::matrix<float> y(7, 40);
    sg::gemm(device, s, there_one, there_y);
    there_y.download(y);
    double most = 0;
    for (sg::index_t i = 0; i < 7; ++i)
        for (sg::index_t j = 0; j < 40; ++j)
            most = std::max(most, std::abs(double(y(i, j)) - double(s.element(i, j))));
    CHECK(most < 4e-7);
}
TEST_CASE("sketches by transforms that are kept on a device") {
    under_test const device;
    auto const try_one = [&](auto const& s) {
        auto const x = uniform_matrix<float>(s.cols, 3, 1), y = uniform_matrix<float>(3, s.rows, 2);
        matrix_there<float> const there_x(device, x), there_y(device, y);
        matrix_there<float> c(device, s.rows, 3), e(device, 3, s.cols);
        sg::matrix<float> expected(s.rows, 3), turned(3, s.cols);
        auto const left = sg::keep_left(device, s), right = sg::keep(device, s);
        sg::gemm(device, s, there_x, c), c.download(expected);
        sg::gemm(device, left, there_x, c);
        CHECK(differences(expected, c) == 0);
        sg::gemm(device, there_y, s, e), e.download(turned);
        sg::gemm(device, there_y, right, e);
        CHECK(differences(turned, e) == 0);
    };
    try_one(sg::srht<float>(9, 40, 3)), try_one(sg::srht<float>(9, 40, 3).transposed());
    try_one(sg::srht<float>(9, 40, 3).block(2, 5, 5, 20));
    try_one(sg::srct<float>(9, 64, 3)), try_one(sg::srct<float>(9, 64, 3).block(2, 5, 5, 20));
}
TEST_CASE("srct on a device: what a plan says, and what is refused") {
    under_test const device;
    cosines<float> t{sg::srct<float>(9, 64, 5)};
    auto const plan = sg::plan(device, t.shape());
    CHECK(plan.describe() ==
          "9 rows of a dct of 64 points, by a dft of 32 points, radices 4 8, in one launch, "
          "with random signs");
    CHECK(plan.estimate() > 0);
    auto room = plan.workspace();
    CHECK(under_test::space::share(room) >= (2 + 64) * sizeof(int));
    // A plan of another sketch, of one point.
    sg::plan const other(
        device, sg::shape<sg::transformed_sketch_form<sg::by_dct, float>, float, float>{9, 3, 30000});
    auto memory = device.reserve(other.workspace());
    memory.or_throw();
    matrix_there<float> const x(device, 30000, 3);
    matrix_there<float> y(device, 9, 3);
    auto const done = other.try_run(sg::product(sg::srct<float>(9, 30000, 5), x, y), *memory);
    CHECK(!done);
    CHECK(std::string(done.error().what()).find("facts()") != std::string::npos);
}
