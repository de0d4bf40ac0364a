// Transforms on a device, against the host and the definition: the kernels are one for all devices.
#include "conformance/device/transforms.hpp"

using namespace transforms;

namespace {

template <class X>
using dft_trial = transform_trial<sg::dft<sg::real_t<X>>, X, std::complex<sg::real_t<X>>>;

// A short one, of two steps; a chirp; with single work-items, with pairs, and with a rest of work-items.
std::vector<index_t> some_lengths() { return {1, 12, 17, 64, 70, 125}; }

template <class X>
void every_option(index_t n, bool long_one = false) {
    using R = sg::real_t<X>;
    INFO(n);
    int const step = long_one ? 3 : 1;
    for (int way = 0; way < 10; way += step) {
        INFO(way);
        dft_trial<X> t{sg::dft<R>(n)};
        t.x_lies = way % layout::kinds, t.c_lies = (way * 3 + way / 5) % layout::kinds;
        t.width = way == 4 ? 1 : 3, t.count = long_one ? 1 : 1 + way % 3;
        t.right = way % 2 == 1, t.ends = way % 4 == 2, t.conjugates = way % 3 == 1;
        if (t.ends) t.alpha = X(R(1.5)), t.beta = X(R(-0.75));
        if constexpr (sg::complex_like<X>)
            if (way % 8 == 6) t.alpha = X(1.5, -0.5), t.beta = X(0.25, 2);
        if (way % 3 == 2) t.d = sg::idft<R>(n);
        if (way % 5 == 3) t.d = sg::fftshift(t.d);
        if (way % 5 == 4) t.d = sg::ifftshift(sg::fftshift(t.d), sg::along::columns);
        if (way % 5 == 1) t.d = sg::leading(t.d, n / 2 + 1, n / 3 + 1);
        double const limit = t.bound().worst * static_cast<double>(t.d.scale) * (t.ends ? 3 : 1);
        REQUIRE(t.error() <= 2 * limit);
    }
}

} // namespace

TEST_CASE("dft on a device is the transform by its definition for every length") {
    double closest = 0, closest_typical = 0;
    for (index_t n = 1; n <= 130; ++n) {
        INFO(n);
        auto const check = [&](auto number) {
            dft_trial<decltype(number)> t{sg::dft<sg::real_t<decltype(number)>>(n)};
            t.defines = true, t.x_lies = n % 2 ? layout::rows_alone : layout::aligned_columns,
            t.c_lies = t.x_lies;
            double const error = t.error();
            auto const bound = t.bound();
            REQUIRE(error <= bound.expected);
            closest_typical = std::max(closest_typical, n > 1 ? error / bound.expected : 0);
            closest = std::max(closest, n > 1 ? error / bound.worst : 0);
        };
        check(std::complex<float>());
        if (n % 5 == 1) check(std::complex<double>());
    }
    CHECK(closest_typical > 0.05);
    CHECK(closest > 0.01);
}
TEST_CASE("dft on a device: layouts, batches, parts, shifts, factors and epilogues") {
    for (index_t const n : some_lengths()) every_option<std::complex<float>>(n);
    for (index_t const n : {17, 64}) every_option<std::complex<double>>(n);
    for (index_t const n : {17, 64}) every_option<float>(n);
    every_option<double>(12);
}
TEST_CASE("dft on a device: the same bits in every layout and place, and in place") {
    using C = std::complex<float>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        std::vector<C> expected, found;
        dft_trial<C> t{sg::dft<float>(n)};
        t.width = 37;
        t.error(&expected);
        for (int lies = 0; lies < layout::kinds; ++lies) {
            t.x_lies = lies, t.c_lies = (lies + 1) % layout::kinds, t.right = lies % 2 == 1;
            found.clear();
            t.error(&found);
            REQUIRE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
        }
        // One column of these by itself, and all in place.
        under_test const device;
        layout const by(layout::rows_alone, n, 37, 1);
        auto x = upload(device, random_elements<C>(by, 1)),
             y = upload(device, std::vector<C>(static_cast<std::size_t>(n)));
        auto const whole = by.on(x).first;
        sg::gemm(device, sg::dft<float>(n), whole.block(0, 20, n, 1),
                 sg::view<C, device_space>{y.data(), n, 1, 1, 1});
        sg::gemm(device, sg::dft<float>(n), whole, whole);
        auto const one = download(y), all = download(x);
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < 37; ++j) {
                C const element = expected[static_cast<std::size_t>(j * n + i)];
                wrong += !(all[static_cast<std::size_t>(by.at(i, j, 0))] == element);
                if (j == 20) wrong += !(one[static_cast<std::size_t>(i)] == element);
            }
        CHECK(wrong == 0);
    }
}
TEST_CASE("dft on a device: as many points in one launch as a group has room for") {
    for (index_t const n : {6000, 8192, 16384}) {
        dft_trial<std::complex<float>> t{sg::dft<float>(n)};
        t.x_lies = n == 8192 ? layout::columns : layout::rows_alone, t.width = 2;
        REQUIRE(t.error() <= t.bound().expected);
    }
    dft_trial<std::complex<double>> t{sg::dft<double>(8192)};
    t.width = 1;
    REQUIRE(t.error() <= t.bound().expected);
}
TEST_CASE("dft on a device: long transforms, by several launches") {
    using C = std::complex<float>;
    for (index_t const n : {17496, 4099}) every_option<C>(n, true); // the second by a convolution
    every_option<std::complex<double>>(17496, true);
    // Side by side in workspace, too.
    dft_trial<C> t{sg::dft<float>(17496)};
    t.width = 5;
    std::vector<C> expected, found;
    REQUIRE(t.error(&expected) <= t.bound().expected);
    REQUIRE(t.error() >= t.bound().expected / 20);
    t.x_lies = t.c_lies = layout::columns;
    t.error(&found);
    CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
    t.d = sg::dft<float>(1 << 17);
    t.width = 1;
    CHECK(t.error() <= t.bound().expected);
}
TEST_CASE("dft on a device: what a plan says, and what is refused") {
    using C = std::complex<float>;
    under_test const device;
    using S = sg::shape<sg::dft_form<float>, C, C>;
    auto const plan = [&](index_t n) { return sg::plan(device, S{n, 3, n}); };
    CHECK(plan(64).describe() == "dft of 64 points, radices 4 4 4, in one launch");
    CHECK(plan(64).workspace() == sg::footprint{});
    CHECK(plan(1009).describe() ==
          "dft of 1009 points by a convolution of 2025 (Bluestein), radices 15 15 9, in one launch");
    CHECK(plan(1 << 20).describe() ==
          "dft of 1048576 points, as 1024 x 1024, each by a launch, through workspace");
    CHECK(plan(1 << 20).workspace().device == (std::size_t{3} << 20) * sizeof(C));
    CHECK(plan(64).estimate() > 0);
    CHECK(plan(1 << 20).estimate() > plan(64).estimate());
    there<C> x(device, sg::matrix<C>(8, 8)), y(device, sg::matrix<C>(8, 8));
    auto const s = sg::try_gemm(device, sg::dft<float>(9), x, y);
    CHECK(!s);
    auto const part = sg::try_gemm(device, sg::leading(sg::dft<float>(4), 8, 8), x, y);
    CHECK(!part);
}
