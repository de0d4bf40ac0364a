// What ozaki and split do on a device beyond the suite: the bits of the host, and what runs for which data.
#include "catch.hpp"
#include "eager.hpp"
#include "policies.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/quantized.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/device/device_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string_view>

namespace trials {

using wanting = sg::ozaki_options;

// The same bits as on the host, for explicit counts: odd shapes, any layout, factors and batches.
template <class T>
void same_bits_as_host(int count) {
    if (sizeof(sg::real_t<T>) == 8 && !under_test().leaf().limits().has_double) return;
    constexpr auto by_product = sg::ozaki_scaling::product;
    constexpr wanting all[] = {{.moduli = 9}, {.slices = 5}, {.moduli = 15, .scaling = by_product},
                               {.slices = 2}, {.moduli = 4}, {.moduli = 20}};
    under_test const gpu;
    random_source from(41);
    for (int x = 0; x < count; ++x) {
        trial t = draw_trial(from);
        t.m = 1 + from.below(40), t.n = 1 + from.below(40), t.k = 1 + from.below(70);
        t.count = 1 + x % 4 / 3;
        // Without a product, the leaf's copy runs.
        if (t.alpha == factor::zero) t.alpha = factor::other;
        wanting const options = all[x % 6];
        prepared<T, T> p(t, unsolved);
        sg::run(sg::ozaki{sg::host{.threads = 1}, options}, p.call).or_throw();
        std::vector<T> const bits = p.c.bytes();
        p.c.restore(p.c_before);
        mirrored{gpu, sg::ozaki{gpu, options}}.run(p.call).or_throw();
        if (!p.c.same_bytes(bits))
            FAIL_CHECK("not the bits of the host: " << describe(t) << ", slices " << options.slices
                                                    << ", moduli " << options.moduli);
    }
}
TEST_CASE("emulated: ozaki on a device has the bits of the host") {
    same_bits_as_host<float>(12);
    same_bits_as_host<double>(12);
}
TEST_CASE("emulated: ozaki of complex numbers on a device has the bits of the host") {
    same_bits_as_host<std::complex<float>>(6);
    same_bits_as_host<std::complex<double>>(12);
}

// What is wrong with a product, or nothing, and what ran for it.
template <class Layer, class Report, class T>
std::string wrong_with(Layer const& layer, Report& ran, sg::matrix<T> const& a, sg::matrix<T> const& b) {
    sg::matrix<T> c(a.rows(), b.cols());
    ran = {};
    sg::gemm(sg::staged{layer}, a, b, c);
    auto const bound = layer.error_bound(sg::shape<T>{a.rows(), b.cols(), a.cols()});
    for (index_t i = 0; i < a.rows(); ++i)
        for (index_t j = 0; j < b.cols(); ++j) {
            long double exact = 0, size = 0;
            for (index_t l = 0; l < a.cols(); ++l) {
                long double const term = static_cast<long double>(a(i, l)) * b(l, j);
                exact += term, size += term < 0 ? -term : term;
            }
            long double const off = exact - c(i, j);
            bool const fine = exact - exact == 0 && exact < std::numeric_limits<T>::max()
                                  ? (off < 0 ? -off : off) <= bound.worst * size
                                  : !(c(i, j) - c(i, j) == 0);
            if (!fine) return "element " + std::to_string(i) + ", " + std::to_string(j) + " is wrong";
        }
    return "";
}
// Elements between 2^-reach and 1, larger ones here and there.
template <class T>
sg::matrix<T> spread_by(int reach, index_t m, index_t n, std::uint64_t seed) {
    return support::random_matrix<T>(m, n, seed, sg::layout::row_major, [reach](random_source& from) {
        return from.over_binades(-reach - 1, -1);
    });
}

TEMPLATE_TEST_CASE("emulated: ozaki on a device takes what the data need", "", float, double) {
    using T = TestType;
    if (sizeof(T) == 8 && !under_test().leaf().limits().has_double) return;
    sg::ozaki_report ran;
    sg::ozaki const layer{eager{under_test()}, {.report = &ran}};
    sg::ozaki const coarse{eager{under_test()}, {.accuracy = {0x1p-10}, .report = &ran}};
    auto const near = spread_by<T>(2, 33, 45, 1), far = spread_by<T>(45, 45, 21, 2);
    CHECK(wrong_with(layer, ran, near, spread_by<T>(2, 45, 21, 3)) == "");
    int const few = ran.count;
    CHECK(ran.ran == "moduli");
    CHECK(wrong_with(layer, ran, near, far) == "");
    CHECK(ran.ran == "moduli");
    CHECK(ran.count > few);
    CHECK(ran.spread > 0);
    CHECK(wrong_with(coarse, ran, near, spread_by<T>(1, 45, 21, 3)) == "");
    CHECK(ran.ran == "slices");

    auto const native_for = [&](T number, char const* reason) {
        auto a = near;
        a(7, 5) = number;
        CHECK(wrong_with(layer, ran, a, far) == "");
        CHECK(ran.ran == "native");
        CHECK(std::string_view(ran.reason) == reason);
    };
    native_for(std::numeric_limits<T>::infinity(), "there are Inf or NaN");
    native_for(std::numeric_limits<T>::quiet_NaN(), "there are Inf or NaN");
    native_for(std::numeric_limits<T>::max(), "sums might overflow");
    int const reach = sizeof(T) == 8 ? 300 : 90;
    sg::matrix<T> c(9, 21);
    sg::gemm(sg::staged{layer}, spread_by<T>(reach, 9, 45, 5), spread_by<T>(reach, 45, 21, 6), c);
    CHECK(ran.ran == "native");
}

template <class Device>
void split_takes_what_data_need(Device const& device) {
    sg::split_report ran;
    auto const near = spread_by<float>(2, 33, 45, 1), far = spread_by<float>(30, 45, 21, 2);
    for (int const products : {3, 6, 9}) {
        sg::split const layer{device, {.products = products, .report = &ran}};
        CHECK(wrong_with(layer, ran, near, far) == "");
        CHECK(ran.products == products);
    }
    sg::split const layer{eager{device}, {.report = &ran}};
    CHECK(wrong_with(layer, ran, near, far) == "");
    CHECK(ran.products == 6);
    auto const with = [&](float number) {
        auto a = near;
        a(7, 5) = number;
        CHECK(wrong_with(layer, ran, a, far) == "");
    };
    with(0x1p55f); // is scaled
    CHECK(ran.products == 6);
    with(0x1p-45f);
    CHECK(ran.products == 6);
    with(std::numeric_limits<float>::infinity());
    CHECK(ran.products == 0);
    CHECK(std::string_view(ran.reason) == "there are Inf or NaN");
    with(std::numeric_limits<float>::quiet_NaN());
    CHECK(ran.products == 0);
    with(0x1p-120f);
    CHECK(std::string_view(ran.reason) == "the exponents of the data spread too far");
}
TEST_CASE("emulated: split on a device takes what the data need") {
    split_takes_what_data_need(under_test());
}
TEST_CASE("emulated: split in one kernel takes what the data need, and half where it may") {
    small_device const device;
    if (!multiplies_by_warpgroups(device)) return;
    split_takes_what_data_need(device);
    sg::split_report ran;
    auto const near = spread_by<float>(2, 33, 45, 1), other = spread_by<float>(16, 45, 21, 2),
               far = spread_by<float>(30, 45, 21, 2);
    sg::split const explicit_count{device, {.products = 3, .report = &ran}};
    sg::split const fine{eager{device}, {.accuracy = sg::accuracy::bits(20), .report = &ran}};
    sg::split const finer{eager{device}, {.accuracy = sg::accuracy::bits(22), .report = &ran}};
    for (float const scale : {1.0f, 0x1p-60f, 0x1p60f}) {
        auto a = near;
        for (index_t i = 0; i < 33; ++i)
            for (index_t j = 0; j < 45; ++j) a(i, j) *= scale;
        CHECK(wrong_with(fine, ran, a, other) ==
              ""); // with an error that bfloat16 cannot keep to in three products
        CHECK(ran.products == 3);
        CHECK(ran.ran == "half");
    }
    CHECK(wrong_with(finer, ran, near, other) == "");
    CHECK(ran.products == 6);
    CHECK(wrong_with(fine, ran, near, far) == "");
    CHECK(ran.products == 6);
    CHECK(wrong_with(explicit_count, ran, near, other) == "");
    CHECK(ran.ran == "half");
    CHECK(wrong_with(explicit_count, ran, near, far) == "");
    CHECK(ran.products == 3);
    CHECK(ran.ran != "half");
}

TEST_CASE("emulated: split in one kernel adds up long sums") {
    small_device const device;
    if (!multiplies_by_warpgroups(device)) return;
    sg::split_report ran;
    sg::split const layer{device, {.products = 3, .report = &ran}};
    CHECK(wrong_with(layer, ran, spread_by<float>(2, 33, 2 * 2048 + 70, 1),
                     spread_by<float>(2, 2 * 2048 + 70, 21, 2)) == "");
    CHECK(ran.products == 3);
}

// max |dC| / (|A||B|) of some rows, where there is something to divide by.
template <class Policy>
double error_of(Policy const& policy, sg::matrix<float> const& a, sg::matrix<float> const& b) {
    sg::matrix<float> c(a.rows(), b.cols());
    sg::gemm(sg::staged{policy}, a, b, c);
    double worst = 0;
    for (index_t i = 0; i < a.rows(); i += a.rows() / 8)
        for (index_t j = 0; j < b.cols(); ++j) {
            double exact = 0, size = 0;
            for (index_t l = 0; l < a.cols(); ++l) {
                double const term = double(a(i, l)) * b(l, j);
                exact += term, size += std::abs(term);
            }
            double const off = std::abs(exact - double(c(i, j)));
            worst = std::max(worst, size > 0 ? off / size : off);
        }
    return worst;
}
// A large device sums small products in many parts, which is more accurate; split is for large ones there.
template <class Device>
index_t side_for_split(Device const& device) {
    if constexpr (requires { device.leaf().warpgroup_units(); })
        return device.leaf().warpgroup_units() > 64 ? 1280 : 136;
    else
        return 0;
}
TEST_CASE("emulated: split in one kernel errs no more than the native product") {
    under_test const device;
    if (!multiplies_by_warpgroups(small_device{device})) return;
    index_t const side = side_for_split(device), m = side, n = side + 1, k = side + 2;
    auto const check = [&](char const* data, auto const& of_a, auto const& of_b) {
        sg::matrix<float> a = spread_by<float>(3, m, k, 1), b = spread_by<float>(3, k, n, 2);
        for (index_t l = 0; l < k; ++l) {
            for (index_t i = 0; i < m; ++i) a(i, l) = of_a(a(i, l), i, l);
            for (index_t j = 0; j < n; ++j) b(l, j) = of_b(b(l, j), l, j);
        }
        sg::split_report ran;
        double const native = error_of(device, a, b);
        double const split = error_of(sg::split{device, {.products = 6, .report = &ran}}, a, b);
        CAPTURE(data, native, split);
        CHECK(ran.products == 6);
        CHECK(split <= std::max(native, 0x1p-24)); // or one rounding, where few terms leave native less
    };
    auto const same = [](float x, index_t, index_t) { return x; };
    auto const magnitude = [](float x, index_t, index_t) { return std::abs(x); };
    check("random", same, same);
    check("all of one sign", magnitude, magnitude);
    check(
        "a huge element in rows and columns",
        [](float x, index_t i, index_t l) { return l == 7 * (i % 16) ? x * 0x1p20f : x; },
        [](float x, index_t l, index_t j) { return l == 2 * (j % 32) ? x * 0x1p20f : x; });
    check(
        "a tiny element", [](float x, index_t i, index_t l) { return i == 0 && l == 5 ? 0x1p-30f : x; },
        same);
    check(
        "rows and columns of zeros, and zeros with a sign",
        [](float x, index_t i, index_t) { return i % 3 == 0 ? -0.0f : x; },
        [](float x, index_t l, index_t j) { return l % 5 == 0 || j % 4 == 0 ? 0.0f : x; });
    check(
        "the second half nearly takes away the first",
        [k](float x, index_t i, index_t l) {
            float const both = static_cast<float>(i + l % (k / 2) % 97) / 64;
            return l < k / 2 ? both : x * 0x1p-20f - both;
        },
        [k](float, index_t l, index_t j) {
            return static_cast<float>(j + 2 * (l % (k / 2))) / 1024 + 0x1p-12f;
        });
}

// An operand that is kept, or both, against the matrices themselves.
template <class T, class A, class B, class... Epilogue>
void check_kept(int moduli, A const& a, B const& b, sg::layout order, Epilogue const&... epilogue) {
    using support::same_bits;
    under_test const gpu;
    sg::ozaki const policy{gpu, {.moduli = moduli}};
    index_t const m = sg::as_view(a).rows, n = sg::as_view(b).cols;
    sg::device_matrix<T, under_test> const e(gpu, support::fractions<T>(m, n, 3));
    sg::device_matrix<T, under_test> c(gpu, m, n, order);
    auto const product = [&](auto const& x, auto const& y) {
        sg::gemm(policy, T(0.3f), x, y, T(-1.7f), e, c, epilogue...);
        sg::matrix<T> result(m, n);
        c.download(result);
        return result;
    };
    auto const expected = product(a, b);
    auto const kept_a = sg::keep_left(policy, a);
    auto const kept_b = sg::keep(policy, b);
    CAPTURE(moduli, m, n, sg::as_view(a).cols, int(order));
    for (int twice = 0; twice < 2; ++twice) {
        CHECK(same_bits(product(kept_a, b), expected));
        CHECK(same_bits(product(a, kept_b), expected));
        CHECK(same_bits(product(kept_a, kept_b), expected));
    }
}
template <class T>
void check_kept() {
    under_test const gpu;
    if (!gpu.leaf().limits().has_double) return;
    auto const draw = [&](index_t m, index_t n, unsigned seed) {
        return sg::device_matrix<T, under_test>(gpu, support::fractions<T>(m, n, seed));
    };
    auto const rows = sg::layout::row_major, cols = sg::layout::col_major;
    auto const a = draw(33, 45, 1), b = draw(45, 21, 2), square = draw(37, 37, 4);
    check_kept<T>(9, a, b, rows);
    check_kept<T>(15, a, b, cols);
    check_kept<T>(9, sg::transposed(b), sg::transposed(a), rows, sg::relu);
    check_kept<T>(20, draw(1, 1, 1), draw(1, 1, 2), rows);
    check_kept<T>(4, square.block(1, 2, 30, 17), sg::conjugated(square.block(2, 1, 17, 35)), cols);
    index_t const longer = (index_t{1} << 15) + 5; // three parts of k
    check_kept<T>(9, draw(3, longer, 1), draw(longer, 2, 2), rows);
}
TEST_CASE("emulated: an operand kept on a device gives the bits of ozaki") {
    check_kept<float>();
    check_kept<double>();
}
TEMPLATE_TEST_CASE("emulated: a complex operand kept on a device gives the bits of ozaki", "",
                   std::complex<float>, std::complex<double>) {
    using T = TestType;
    under_test const gpu;
    if (!gpu.leaf().limits().has_double) return;
    sg::device_matrix<T, under_test> const a(gpu, support::fractions<T>(19, 25, 1)),
        b(gpu, support::fractions<T>(25, 13, 2));
    check_kept<T>(9, a, b, sg::layout::row_major);
    check_kept<T>(15, sg::conjugated(sg::transposed(b)), sg::transposed(a), sg::layout::col_major);
}
TEST_CASE("emulated: what is kept on a device takes no workspace, and serves batches and other shapes") {
    under_test const gpu;
    if (!gpu.leaf().limits().has_double) return;
    sg::ozaki_report ran;
    sg::ozaki const policy{gpu, {.moduli = 9, .report = &ran}};
    index_t const m = 8, n = 21, k = 45;
    auto const a = support::fractions<float>(4 * m, k, 1);
    auto b = support::fractions<float>(k, n, 2);
    sg::device_matrix<float, under_test> const da(gpu, a), db(gpu, b);
    sg::device_matrix<float, under_test> dc(gpu, 4 * m, n);
    auto const batch = [&](auto&& x) { return sg::batched(x.block(0, 0, m, x.cols()), 4, m * x.cols()); };
    auto const result = [&](auto const& right) {
        sg::matrix<float> c(4 * m, n);
        sg::gemm(policy, batch(da), right, batch(dc));
        dc.download(c);
        return c;
    };
    auto kept = sg::keep(policy, db);
    CHECK(support::same_bits(result(kept), result(db)));
    for (index_t const rows : {0, 1, 30}) {
        sg::device_matrix<float, under_test> x(gpu, rows, n), y(gpu, rows, n);
        sg::gemm(policy, da.block(0, 0, rows, k), kept, x);
        sg::gemm(policy, da.block(0, 0, rows, k), db, y);
        sg::matrix<float> of_kept(rows, n), expected(rows, n);
        x.download(of_kept), y.download(expected);
        CHECK(support::same_bits(of_kept, expected));
    }
    auto const with = sg::plan(policy, sg::product(da, kept, dc).shape());
    CHECK(with.describe().find("quantized: B is kept in ") != std::string::npos);
    CHECK(with.workspace().device + 9 * n * 48 <= policy.workspace(sg::shape<float>{4 * m, n, k}).device);

    // What integers cannot hold is left to the base.
    b(7, 5) = std::numeric_limits<float>::infinity();
    sg::device_matrix<float, under_test> const odd(gpu, b);
    kept = sg::keep(policy, odd);
    CHECK(support::same_bits(result(kept), result(odd)));
    CHECK(ran.ran == "native");
    sg::ozaki const by_contract{gpu};
    auto const s = sg::try_gemm(by_contract, da, sg::keep(by_contract, db), dc);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::argument);
}

// Neither is there for what the base lacks, nor for what depends on memory that the host shares.
template <class T>
using dense = sg::dense_problem<T, T, T, under_test::space>;
struct without_int8 : under_test {
    template <class P>
    static constexpr sg::verdict
        accepts = sg::types_if(!std::is_same_v<typename P::a_type, std::int8_t>) & under_test::accepts<P>;
};
static_assert(sg::ozaki<under_test>::accepts<dense<double>> == sg::verdict::yes);
static_assert(sg::ozaki<under_test>::accepts<dense<sg::half>> == sg::verdict::types);
static_assert(sg::ozaki<without_int8>::accepts<dense<double>> == sg::verdict::parts);
static_assert(sg::split<under_test>::accepts<dense<float>> == sg::verdict::yes);
static_assert(sg::split<under_test>::accepts<dense<double>> == sg::verdict::types);

} // namespace trials
