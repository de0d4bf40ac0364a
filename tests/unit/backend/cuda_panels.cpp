// Panels on several CUDA devices: those of the stand-in, of which some do not reach each other's memory, or what there is.
#include "../structure/panels.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <cstdlib>

namespace sg = stratagemm;
using panel_tests::gathered;
using panel_tests::scattered;
using sg::index_t;
using support::contains;
using support::same;

static_assert(sg::peer_leaf<sg::cuda_operations, sg::cuda_memory>);

namespace {

std::vector<sg::cuda> all_devices() {
    std::vector<sg::cuda> all;
    for (auto const& d : sg::cuda::devices()) all.push_back({.device = d.ordinal});
    return all;
}
bool on_stand_in() { return contains(sg::cuda{}.where().name, "standing in"); }

// Tells the stand-in something about one of its devices.
struct told {
    char const* variable;
    told(char const* name, int device) : variable(name) { ::setenv(name, std::to_string(device).c_str(), 1); }
    ~told() { ::unsetenv(variable); }
};

} // namespace

TEST_CASE("CUDA: products of panels on all devices, and on one device twice, are those of the reference") {
    CHECK(panel_tests::wrong_products<float>(all_devices()) == 0);
    CHECK(panel_tests::wrong_products<std::int8_t, std::int32_t>(all_devices()) == 0);
    CHECK(panel_tests::wrong_products<double>(std::vector<sg::cuda>(2)) == 0);
}

TEST_CASE("CUDA: panels have the same bits on one device and on several") {
    auto all = all_devices();
    if (all.size() == 1) all.resize(3, all[0]);
    CHECK(panel_tests::different_bits<float>([](sg::cuda const& gpu) { return gpu; }, all) == 0);
    CHECK(panel_tests::different_bits<double>(
              [](sg::cuda const& gpu) {
                  return sg::ozaki{gpu, {.slices = 4}};
              },
              all) == 0);
    CHECK(panel_tests::different_bits<float>(
              [](sg::cuda const& gpu) {
                  return sg::strassen{gpu, {.levels = 1}};
              },
              all) == 0);
    CHECK(panel_tests::different_bits<float>([](sg::cuda const& gpu) { return sg::verified{gpu}; }, all) ==
          0);
}

TEST_CASE("CUDA: an epilogue sees the indices of the whole C of panels, and what has no terms is kept") {
    auto const devices = all_devices();
    auto const a = support::integers<float>(40, 30, 1), b = support::integers<float>(30, 50, 2),
               e = support::integers<float>(40, 50, 3);
    auto const pa = scattered(devices, a), pb = scattered(devices, b);
    for (float const alpha : {1.0f, 0.0f}) {
        auto pc = scattered(devices, e);
        auto expected = e;
        sg::gemm(sg::out_of_core{devices}, alpha, pa, pb, 2, pc, sg::relu);
        sg::gemm(sg::reference{}, alpha, a, b, 2, expected, sg::relu);
        CHECK(same(gathered(pc), expected));
    }
}

TEST_CASE("CUDA: vectors of an epilogue of panels lie on each device") {
    CHECK(panel_tests::wrong_vectors(all_devices()) == 0);
    CHECK(panel_tests::wrong_vectors(std::vector<sg::cuda>(8)) == 0);
}

TEST_CASE("CUDA: files go into panels and back, and so do matrices of one device") {
    support::folder const here;
    auto const devices = all_devices();
    auto const a = support::fractions<double>(50, 20, 1);
    sg::panels<double, sg::cuda> pa(devices, 50, 20), pb(devices, 50, 20, {.order = sg::layout::col_major});
    pa.upload(support::stored(here / "a.npy", a));
    CHECK(same(gathered(pa), a));
    auto file = sg::file_matrix<double>::create_npy(here / "b.npy", 50, 20, sg::layout::col_major);
    pa.download(file);
    CHECK(same(support::held(file), a));
    // Also where panels lie otherwise than the matrix.
    sg::cuda const& last = devices.back();
    sg::cuda::matrix<double> whole(devices[0], a), back(last, 50, 20);
    sg::matrix<double> c(50, 20);
    for (auto* const x : {&pa, &pb}) {
        x->upload(whole, devices[0]);
        x->download(back, last);
        back.download(c);
        CHECK(same(c, a));
    }
}

TEST_CASE("CUDA: a plan of panels says how devices copy, and what it takes") {
    auto const devices = all_devices();
    sg::panels_shape<float, sg::cuda> const shape{.m = 16384, .n = 16384, .k = 16384};
    auto const on = [&](std::vector<sg::cuda> const& some) {
        return sg::plan(sg::out_of_core{some, {.device_bytes = index_t{1} << 32}}, shape);
    };
    sg::cuda const first = devices[0];
    CHECK(contains(on({first}).describe(), "panels on 1 device: 16384 rows of C on each in blocks of 2048"));
    CHECK(contains(on({first, first}).describe(), "copied directly at"));
    CHECK(on({first, first}).workspace() == on({first}).workspace());
    CHECK(on({first, first}).estimate() < 0.6 * on({first}).estimate());
    // Of a product that copies longer than it computes, the estimate is that of the link.
    if (devices.size() > 2 && on_stand_in()) {
        sg::panels_shape<float, sg::cuda> const flat{.m = 2, .n = 8192, .k = 8192};
        auto const near = sg::plan(sg::out_of_core{std::vector{first, devices[2]}}, flat),
                   far = sg::plan(sg::out_of_core{std::vector{first, devices[1]}}, flat);
        sg::cuda_rates const rates = sg::cuda_rates_of(first.where().capability);
        auto const at = [](double rate) { return std::to_string(static_cast<int>(rate / 1e9)) + " GB/s"; };
        CHECK(contains(near.describe(), "copied directly at " + at(rates.nvlink)));
        CHECK(contains(far.describe(), "copied by way of the host at " + at(rates.host / 2)));
        CHECK(near.estimate() < 0.5 * far.estimate());
    }
}

TEST_CASE("CUDA: panels on other devices than the policy's are refused") {
    auto devices = all_devices();
    if (devices.size() < 2) {
        WARN("skipped: one device here");
        return;
    }
    auto const x = support::integers<float>(24, 24, 1);
    auto const a = scattered(devices, x), b = scattered(devices, x);
    auto c = scattered(devices, x);
    std::swap(devices[0], devices[1]);
    sg::status const s = sg::try_gemm(sg::out_of_core{devices}, a, b, c);
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "in the same order"));
    CHECK(same(gathered(c), x));
}

TEST_CASE(
    "CUDA: a device that fails is named, and one without memory ends a product before anything is written") {
    auto const devices = all_devices();
    if (devices.size() < 2 || !on_stand_in()) {
        WARN("skipped: no device here fails when it is told to");
        return;
    }
    auto const x = support::integers<float>(24, 24, 1);
    auto const a = scattered(devices, x), b = scattered(devices, x);
    auto c = scattered(devices, x);
    sg::out_of_core const policy{devices};
    for (int const device : {0, 1}) {
        std::string const named = "out_of_core: device " + std::to_string(device) + " of the list: cuda: ";
        {
            told const full("STAND_IN_FULL", device);
            sg::status const s = sg::try_gemm(policy, a, b, c);
            REQUIRE(!s);
            CHECK(s.error().code() == sg::errc::memory);
            CHECK(std::string(s.error().what()).starts_with(named));
        }
        CHECK(same(gathered(c), x));
        {
            // The panels of a device that is full are not made: the message has its number, for the name may be that of all.
            told const full("STAND_IN_FULL", device);
            std::string const text =
                support::message_of([&] { sg::panels<float, sg::cuda> more(devices, 24, 24); });
            CHECK(contains(text, "bytes on device " + std::to_string(device) + " (a CPU standing in"));
        }
        {
            told const broken("STAND_IN_BROKEN", device);
            sg::status const s = sg::try_gemm(policy, 0, a, b, 2, c, sg::relu);
            REQUIRE(!s);
            CHECK(std::string(s.error().what()).starts_with(named));
        }
        c.upload(x);
        {
            told const broken("STAND_IN_BROKEN", device);
            sg::status const s = sg::try_gemm(policy, a, b, c);
            REQUIRE(!s);
            std::string const text = s.error().what(); // of the device, or of another one that copied from it
            CHECK((text.starts_with(named) ||
                   contains(text, "a copy from device " + std::to_string(device) + ": cuda: ")));
            CHECK(contains(text, "CUDA_ERROR_ECC_UNCORRECTABLE"));
            CHECK(s.error().native_code() == CUDA_ERROR_ECC_UNCORRECTABLE);
        }
        c.upload(x);
    }
    // The same of operands on the host, which the devices share out.
    told const full("STAND_IN_FULL", 1);
    sg::matrix<float> result(24, 24);
    sg::status const s = sg::try_gemm(policy, x, x, result);
    REQUIRE(!s);
    CHECK(std::string(s.error().what()).starts_with("out_of_core: device 1 of the list: cuda: "));
}
