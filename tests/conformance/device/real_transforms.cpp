// Transforms of real numbers and cosine transforms on a device, against the host and the definition.
#include "conformance/device/transforms.hpp"

#include <stratagemm/structure/dct.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <string>

using namespace transforms;

namespace {

template <class R>
using to_half = transform_trial<sg::dft<R>, R, std::complex<R>>;
template <class R>
using from_half = transform_trial<sg::irdft<R>, std::complex<R>, R>;
template <class X>
using cosines = transform_trial<sg::dct<sg::real_t<X>>, X, X>;
constexpr sg::dct_type types[] = {sg::dct_type::ii, sg::dct_type::iii, sg::dct_type::iv};

// Pairs in one step and in several; odd; chirps of even and odd lengths; with single work-items and a rest of these.
std::vector<index_t> some_lengths() { return {1, 2, 12, 17, 34, 64, 70, 75}; }

template <class R>
void every_option_of(index_t n, int step = 1) {
    INFO(n);
    every_option(
        to_half<R>{sg::rdft<R>(n)},
        [&](to_half<R>& t, int way) {
            if (way % 3 == 2) t.d.conjugate = true;
            if (way % 5 == 1) t.d = sg::leading(t.d, n / 3 + 1, n / 2 + 1);
        },
        step);
    every_option(
        from_half<R>{sg::irdft<R>(n)},
        [&](from_half<R>& t, int way) {
            t.conjugates = way % 3 == 1;
            if (way % 4 == 3) t.d.conjugate = true;
            if (way % 5 == 1) t.d = sg::leading(t.d, n / 2 + 1, n / 3 + 1);
        },
        step);
}
template <class X>
void every_cosine_of(index_t n, int step = 1) {
    using R = sg::real_t<X>;
    for (auto const type : types) {
        INFO("type " << static_cast<int>(type) << " of " << n);
        every_option(
            cosines<X>{sg::dct<R>(n, type)},
            [&](cosines<X>& t, int way) {
                if (way % 3 == 2) t.d = sg::idct<R>(n, type);
                if (way % 5 == 1) t.d = sg::orthogonal(t.d);
            },
            step);
    }
}
// The trial's error is within the bound, whose typical part it comes near to for some of them.
template <class Trial>
void check_by_definition(Trial t, double& closest, double& typical) {
    t.defines = true, t.x_lies = t.c_lies = layout::rows_alone;
    double const error = t.error() / t.peak();
    auto const bound = t.bound();
    REQUIRE(error <= bound.expected);
    bool const is_exact = t.d.cols < 3;
    typical = std::max(typical, is_exact ? 0 : error / bound.expected);
    closest = std::max(closest, is_exact ? 0 : error / bound.worst);
}
// How many elements of a product in place differ from those of one that is not: real and complex numbers in one memory,
// line by line.
template <class X, class C, class D>
int wrong_in_place(D const& d, index_t width) {
    using R = typename D::real_type;
    under_test const device;
    constexpr index_t of_x = sizeof(X) / sizeof(R), of_c = sizeof(C) / sizeof(R);
    index_t const room = 2 * (std::max(d.rows, d.cols) / (of_x == of_c ? 1 : 2) + 1), numbers = room * width;
    std::vector<R> const given = random_elements<R>(layout(layout::rows_alone, 1, numbers, 1), 3);
    there<X> x(device, d.cols, width);
    there<C> c(device, d.rows, width);
    sg::footprint need;
    device_space::share(need) = static_cast<std::size_t>(numbers) * sizeof(R);
    auto memory = device.reserve(need);
    memory.or_throw();
    auto const bytes = memory->template take<std::byte>(numbers * index_t{sizeof(R)});
    auto const all = device_space::cast<R>(bytes);
    device.leaf().upload(given.data(), all, numbers).or_throw();
    sg::view<X, device_space> const from{device_space::cast<X>(bytes), d.cols, width, 1, room / of_x};
    sg::view<C, device_space> const to{device_space::cast<C>(bytes), d.rows, width, 1, room / of_c};
    device.leaf().copy(sg::reading(from), x.view()).or_throw();
    sg::gemm(device, d, x, c);
    sg::gemm(device, d, from, to);
    sg::matrix<C> expected(d.rows, width), found(d.rows, width);
    c.download(expected);
    device.leaf().copy(sg::reading(to), c.view()).or_throw();
    c.download(found);
    int wrong = 0;
    for (index_t i = 0; i < d.rows; ++i)
        for (index_t j = 0; j < width; ++j) wrong += !(expected(i, j) == found(i, j));
    return wrong;
}

} // namespace

TEST_CASE("real transforms on a device are those of the definition for every length") {
    double closest = 0, typical = 0;
    for (index_t n = 1; n <= 44; ++n) {
        INFO(n);
        check_by_definition(to_half<float>{sg::rdft<float>(n)}, closest, typical);
        check_by_definition(from_half<float>{sg::irdft<float>(n)}, closest, typical);
        for (auto const type : types) {
            INFO(static_cast<int>(type));
            check_by_definition(cosines<float>{sg::dct<float>(n, type)}, closest, typical);
        }
        if (n % 9 > 1) continue;
        check_by_definition(to_half<double>{sg::rdft<double>(n)}, closest, typical);
        check_by_definition(from_half<double>{sg::irdft<double>(n)}, closest, typical);
        check_by_definition(cosines<double>{sg::dct<double>(n, types[n % 3])}, closest, typical);
    }
    CHECK(typical > 0.05);
    CHECK(closest > 0.01);
}
TEST_CASE("real transforms on a device: layouts, batches, parts, factors and epilogues") {
    for (index_t const n : some_lengths()) every_option_of<float>(n, n == 17 || n == 64 ? 1 : 3);
    every_option_of<double>(64, 3);
}
TEST_CASE("dct on a device: layouts, batches, factors and epilogues") {
    for (index_t const n : {1, 2, 17, 34, 64}) every_cosine_of<float>(n, n == 64 ? 1 : 3);
    for (index_t const n : {9, 34}) every_cosine_of<std::complex<float>>(n, n == 34 ? 1 : 3);
    every_cosine_of<double>(12, 3);
}
TEST_CASE("real transforms on a device: the same bits in every layout and place") {
    for (index_t const n : {12, 17, 64, 70}) {
        INFO(n);
        check_bits(to_half<float>{sg::rdft<float>(n)});
        check_bits(from_half<float>{sg::irdft<float>(n)});
        for (auto const type : types) check_bits(cosines<float>{sg::dct<float>(n, type)});
    }
}
TEST_CASE("real transforms on a device in place") {
    for (index_t const n : {1, 2, 12, 17, 34, 64, 70, 960, 8748}) {
        INFO(n);
        CHECK(wrong_in_place<float, std::complex<float>>(sg::rdft<float>(n), 5) == 0);
        CHECK(wrong_in_place<std::complex<float>, float>(sg::irdft<float>(n), 5) == 0);
        for (auto const type : types) {
            INFO(static_cast<int>(type));
            CHECK(wrong_in_place<float, float>(sg::dct<float>(n, type), 5) == 0);
        }
    }
    using C = std::complex<float>;
    CHECK(wrong_in_place<C, C>(sg::dct<float>(34), 5) == 0);
}
TEST_CASE("real transforms on a device: what a plan says, and what is refused") {
    under_test const device;
    auto const plan = [&](auto const& trial) { return sg::plan(device, trial.shape()); };
    to_half<float> const half{sg::rdft<float>(64)};
    from_half<float> const back{sg::irdft<float>(64)};
    cosines<float> const wave{sg::dct<float>(64)};
    CHECK(plan(half).describe() == "dft of 64 points as 32 pairs, radices 4 8, in one launch");
    CHECK(plan(back).describe() == "irdft of 64 points as 32 pairs, radices 8 4, in one launch");
    CHECK(plan(wave).describe() == "dct of 64 points, by a dft of 32 points, radices 4 8, in one launch");
    CHECK(plan(half).workspace() == sg::footprint{});
    CHECK(plan(wave).workspace() == sg::footprint{});
    CHECK(plan(back).estimate() > 0);
    auto const long_one = plan(cosines<float>{sg::dct<float>(1 << 20)});
    CHECK(long_one.describe() ==
          "dct of 1048576 points, by a dft of 1048576 points, as 1024 x 1024, each by a "
          "launch, through workspace");
    CHECK(long_one.workspace().device == (std::size_t{3} << 20) * sizeof(std::complex<float>));
    // As on the host.
    using C = std::complex<float>;
    sg::host const cpu;
    sg::matrix<float> const x(8, 8);
    sg::matrix<C> y(5, 8), turned(8, 5);
    sg::matrix<float> z(8, 8);
    there<float> const x_there(device, x);
    there<C> y_there(device, y), turned_there(device, turned);
    there<float> z_there(device, z);
    auto const same = [](sg::status const& here, sg::status const& on_device) {
        REQUIRE(!here);
        REQUIRE(!on_device);
        CHECK(std::string(here.error().what()) == on_device.error().what());
    };
    same(sg::try_gemm(cpu, sg::rdft<float>(9), x, y),
         sg::try_gemm(device, sg::rdft<float>(9), x_there, y_there));
    auto const wrong_side = sg::transposed(sg::leading(sg::irdft<float>(8), 5, 5));
    same(sg::try_gemm(cpu, wrong_side, y, z.view().block(0, 0, 5, 8)),
         sg::try_gemm(device, wrong_side, y_there, z_there.view().block(0, 0, 5, 8)));
    same(sg::try_gemm(cpu, sg::dct<float>(0), x, z),
         sg::try_gemm(device, sg::dct<float>(0), x_there, z_there));
}
TEST_CASE("real transforms on a device: long transforms, by several launches") {
    for (index_t const n : {8748, 8198, 4375}) every_option_of<float>(n, 4);
    every_option_of<double>(8748, 5);
    for (index_t const n : {8748, 8198, 4375}) every_cosine_of<float>(n, 5);
    every_cosine_of<std::complex<float>>(8748, 5);
    // One launch of the most points.
    every_option_of<float>(8192, 4);
    every_cosine_of<float>(8192, 5);
}
// For a simulator that watches every access.
TEST_CASE("small transforms on a device") {
    auto const check = [](auto t, int lies) {
        t.width = 5, t.x_lies = lies, t.c_lies = layout::columns;
        REQUIRE(t.error() <= 2 * t.bound().worst * t.peak());
    };
    using C = std::complex<float>;
    for (index_t const n : {16, 34})
        for (int const lies : {layout::rows_alone, layout::columns}) {
            INFO(n);
            check(transform_trial<sg::dft<float>, C, C>{sg::dft<float>(n)}, lies);
            check(to_half<float>{sg::rdft<float>(n)}, lies);
            check(from_half<float>{sg::irdft<float>(n)}, lies);
            for (auto const type : types) check(cosines<float>{sg::dct<float>(n, type)}, lies);
        }
}
