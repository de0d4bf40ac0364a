// What ozaki and split do on a device beyond the suite: the bits of the host, and what runs for which data.
#include "catch.hpp"
#include "eager.hpp"
#include "policies.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>

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
    same_bits_as_host<float>(18);
    same_bits_as_host<double>(18);
}
TEST_CASE("emulated: ozaki of complex numbers on a device has the bits of the host") {
    same_bits_as_host<std::complex<float>>(12);
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
    CHECK(ran.scheme == sg::ozaki_report::moduli);
    CHECK(wrong_with(layer, ran, near, far) == "");
    CHECK(ran.scheme == sg::ozaki_report::moduli);
    CHECK(ran.count > few);
    CHECK(ran.spread > 0);
    CHECK(wrong_with(coarse, ran, near, spread_by<T>(1, 45, 21, 3)) == "");
    CHECK(ran.scheme == sg::ozaki_report::slices);

    auto const native_for = [&](T number, char const* reason) {
        auto a = near;
        a(7, 5) = number;
        CHECK(wrong_with(layer, ran, a, far) == "");
        CHECK(ran.scheme == sg::ozaki_report::native);
        CHECK(std::string_view(ran.reason) == reason);
    };
    native_for(std::numeric_limits<T>::infinity(), "there are Inf or NaN");
    native_for(std::numeric_limits<T>::quiet_NaN(), "there are Inf or NaN");
    native_for(std::numeric_limits<T>::max(), "sums might overflow");
    int const reach = sizeof(T) == 8 ? 300 : 90;
    sg::matrix<T> c(9, 21);
    sg::gemm(sg::staged{layer}, spread_by<T>(reach, 9, 45, 5), spread_by<T>(reach, 45, 21, 6), c);
    CHECK(ran.scheme == sg::ozaki_report::native);
}

TEST_CASE("emulated: split on a device takes what the data need") {
    sg::split_report ran;
    auto const near = spread_by<float>(2, 33, 45, 1), far = spread_by<float>(30, 45, 21, 2);
    for (int const products : {3, 6, 9}) {
        sg::split const layer{under_test(), {.products = products, .report = &ran}};
        CHECK(wrong_with(layer, ran, near, far) == "");
        CHECK(ran.products == products);
    }
    sg::split const layer{eager{under_test()}, {.report = &ran}};
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
