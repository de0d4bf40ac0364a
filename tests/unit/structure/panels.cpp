// Panels in host memory: the "devices" are threads, and so all of it but copies between devices is tried anywhere.
#include "panels.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/stratagemm.hpp>

#include <complex>

namespace sg = stratagemm;
using panel_tests::gathered;
using panel_tests::scattered;
using sg::index_t;
using support::contains;
using support::same;

namespace {

std::vector<sg::host> hosts(std::size_t count) {
    return std::vector<sg::host>(count, sg::host{.threads = 1, .invariant = true});
}

// A device that has no memory for workspace, or whose products fail.
struct faulty : sg::layer_over<sg::host> {
    template <class P>
    static constexpr sg::verdict accepts = sg::host::accepts<P>;
    bool lacks_memory = false, fails = false;

    explicit faulty(bool memory = false, bool product = false)
        : layer_over(sg::host{.threads = 1}), lacks_memory(memory), fails(product) {}
    sg::result<arena> reserve(sg::footprint f) const {
        if (lacks_memory) return sg::error(sg::errc::memory, "host: there is no memory for a workspace");
        return base_.reserve(f);
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        if (fails) return sg::failure(sg::errc::native, "host: the product failed");
        return base_(p, memory);
    }
};

template <class Policy, class... Args>
std::string message(Policy const& policy, Args&&... args) {
    sg::status const s = sg::try_gemm(policy, args...);
    return s ? std::string() : std::string(s.error().what());
}

} // namespace

TEST_CASE("panels: products over any number of devices are those of the reference") {
    for (std::size_t const count : {1u, 2u, 3u, 5u, 64u}) {
        CAPTURE(count);
        CHECK(panel_tests::wrong_products<float>(hosts(count)) == 0);
        CHECK(panel_tests::wrong_products<std::complex<double>>(hosts(count)) == 0);
    }
    CHECK(panel_tests::wrong_products<double>(std::vector<sg::reference>(3)) == 0);
}

TEST_CASE("panels: the same bits on one device and on several") {
    CHECK(panel_tests::different_bits<float>([](sg::host const& h) { return h; }, hosts(4)) == 0);
    CHECK(panel_tests::different_bits<double>(
              [](sg::host const& h) {
                  return sg::strassen{h, {.levels = 1}};
              },
              hosts(4)) == 0);
    CHECK(panel_tests::different_bits<double>(
              [](sg::host const& h) {
                  return sg::ozaki{h, {.slices = 5}};
              },
              hosts(4)) == 0);
    CHECK(panel_tests::different_bits<float>([](sg::host const& h) { return sg::split{h}; }, hosts(4)) == 0);
    CHECK(panel_tests::different_bits<double>([](sg::host const& h) { return sg::verified{h}; }, hosts(4)) ==
          0);
}

TEST_CASE("panels: the default blocks of rows are the same for 1, 2, 4 and 8 devices, and cover all rows") {
    for (index_t const rows : {0, 1, 7, 8, 100, 1000, 16384, 32768, 100000})
        for (index_t const devices : {1, 2, 3, 4, 7, 8, 64}) {
            CAPTURE(rows, devices);
            index_t const height = sg::height_of_blocks(rows, devices);
            REQUIRE(height > 0);
            if (8 % devices == 0) CHECK(height == sg::height_of_blocks(rows, 1));
            index_t next = 0;
            for (index_t i = 0; i < devices; ++i) {
                sg::rows_of_device const own(rows, height, i, devices);
                CHECK(own.begin == next);
                CHECK((own.count() >= 0 && (own.begin % height == 0 || own.count() == 0)));
                next = own.end;
            }
            CHECK(next == rows);
        }
}

TEST_CASE("panels: an epilogue sees the indices of the whole C, and what has no terms is kept") {
    auto const devices = hosts(3);
    auto const a = support::integers<float>(40, 30, 1), b = support::integers<float>(30, 50, 2),
               e = support::integers<float>(40, 50, 3);
    auto const by_place = [](float x, index_t i, index_t j) { return x + static_cast<float>(100 * i + j); };
    auto const pa = scattered(devices, a), pb = scattered(devices, b);
    for (float const alpha : {1.0f, 0.0f})
        for (float const beta : {0.0f, 2.0f}) {
            auto pc = scattered(devices, e);
            auto expected = e;
            sg::gemm(sg::out_of_core{devices}, alpha, pa, pb, beta, pc, by_place);
            sg::gemm(sg::reference{}, alpha, a, b, beta, expected, by_place);
            CHECK(same(gathered(pc), expected));
        }
    // No terms, no columns, no rows.
    sg::panels<float, sg::host> thin(devices, 40, 0), low(devices, 0, 50), none(devices, 30, 0),
        nothing(devices, 40, 0);
    auto pc = scattered(devices, e);
    sg::gemm(sg::out_of_core{devices}, thin, low, pc);
    CHECK(same(gathered(pc), sg::matrix<float>(40, 50, [](index_t, index_t) { return 0.0f; })));
    sg::gemm(sg::out_of_core{devices}, pa, none, nothing);
    sg::panels<float, sg::host> no_rows(devices, 0, 30), no_c(devices, 0, 50);
    sg::gemm(sg::out_of_core{devices}, no_rows, pb, no_c);
}

TEST_CASE("panels: vectors of an epilogue lie on each device") {
    for (std::size_t const count : {1u, 2u, 5u}) CHECK(panel_tests::wrong_vectors(hosts(count)) == 0);
    // On the host, a vector of the program serves all.
    auto const devices = hosts(3);
    auto const a = support::integers<float>(40, 30, 1), b = support::integers<float>(30, 50, 2);
    std::vector<float> const v(50, 7.0f);
    auto expected = sg::matrix<float>(40, 50);
    sg::gemm(sg::reference{}, a, b, expected, sg::bias(v));
    auto const pa = scattered(devices, a), pb = scattered(devices, b);
    sg::panels<float, sg::host> pc(devices, 40, 50);
    sg::gemm(sg::out_of_core{devices}, pa, pb, pc, sg::bias(v));
    CHECK(same(gathered(pc), expected));

    // Each device reads its own: here they differ.
    sg::panel_values<float, sg::host> const marks(devices, v);
    for (int i = 0; i < 3; ++i)
        for (index_t j = 0; j < 50; ++j) marks.data().panels[i].data(0, j) = static_cast<float>(i);
    for (int const alpha : {1, 0}) {
        sg::panels<float, sg::host> pm(devices, 40, 50);
        sg::gemm(sg::out_of_core{devices}, alpha, pa, pb, 0, pm, sg::bias(marks));
        auto const whole = gathered(pm);
        int wrong = 0;
        for (int i = 0; i < 3; ++i)
            for (index_t r = 0; r < pm.panel_on(i).rows; ++r)
                for (index_t j = 0; j < 50; ++j) {
                    index_t const row = pm.first_row_on(i) + r;
                    float const sum = alpha == 0 ? 0 : expected(row, j) - 7;
                    wrong += whole(row, j) != sum + static_cast<float>(i);
                }
        CHECK(wrong == 0);
    }

    sg::panel_values<float, sg::host> const elsewhere(hosts(2), v), on_all(devices, v);
    sg::panel_values<float, sg::host> const brief(devices, std::vector<float>(49));
    sg::out_of_core const policy{devices};
    auto const what = "the policy, the matrices and the values of an epilogue must have the same devices";
    CHECK(contains(message(policy, pa, pb, pc, sg::then(sg::bias(on_all), sg::scale(elsewhere))), what));
    CHECK(contains(message(policy, 0, pa, pb, 1, pc, sg::bias(elsewhere)), what));
    CHECK(contains(message(policy, pa, pb, pc, sg::bias(brief)), "a vector of the epilogue is shorter"));
    CHECK(same(gathered(pc), expected));
}

TEST_CASE("panels: a plan of columns says what each device has") {
    auto const devices = hosts(2);
    sg::panels<float, sg::host> const b(devices, 300, 200), a(devices, 64, 200);
    sg::panels<float, sg::host> c(devices, 300, 64);
    auto const plan =
        sg::plan(sg::out_of_core{devices}, sg::product(a, sg::transposed(b), sg::transposed(c)).shape());
    CHECK(contains(plan.describe(),
                   "panels on 2 devices: 152 columns of C on each in blocks of 38, A in pieces of "));
    CHECK(plan.error_bound().worst > 0);
    CHECK(contains(
        message(sg::out_of_core{devices, {.host_bytes = 20}}, a, sg::transposed(b), sg::transposed(c)),
        "too little for one row of A"));
}

TEST_CASE("panels: files go into panels and back, and so do matrices of one device") {
    support::folder const here;
    auto const devices = hosts(3);
    auto const a = support::fractions<double>(50, 20, 1);
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::panels<double, sg::host> pa(devices, 50, 20, {.order = order});
        pa.upload(support::stored(here / "a.npy", a, order));
        CHECK(same(gathered(pa), a));
        auto file = sg::file_matrix<double>::create_npy(here / "b.npy", 50, 20, order);
        pa.download(file);
        CHECK(same(support::held(file), a));
        sg::panels<double, sg::host> pb(devices, 50, 20, {.order = order});
        sg::matrix<double> back(50, 20);
        pb.upload(a, devices[0]);
        pb.download(back, devices[1]);
        CHECK(same(back, a));
    }
    CHECK(contains(support::message_of([&] {
                       sg::panels<double, sg::host> other(devices, 20, 50);
                       other.upload(a);
                   }),
                   "matrices of the same shape"));
}

TEST_CASE("panels: a plan says what runs, and its arena is all that a run takes") {
    auto const devices = hosts(2);
    sg::panels_shape<float, sg::host> const shape{.m = 64, .n = 300, .k = 200};
    sg::out_of_core const policy{devices, {.host_bytes = 4'000'000}};
    auto const plan = sg::plan(policy, shape);
    CHECK(contains(plan.describe(),
                   "panels on 2 devices: 32 rows of C on each in blocks of 8, B in pieces of "));
    CHECK(contains(plan.describe(), "copied directly"));
    CHECK(plan.workspace().host <= 4'000'000);
    CHECK(plan.workspace().host >= sizeof(float) * 200);
    CHECK(plan.estimate() > 0);
    CHECK(plan.error_bound().worst > 0);
    auto const a = support::integers<float>(64, 200, 1), b = support::integers<float>(200, 300, 2);
    auto const pa = scattered(devices, a), pb = scattered(devices, b);
    sg::panels<float, sg::host> pc(devices, 64, 300);
    auto arena = plan.reserve();
    plan.run(pa, pb, pc, arena);
    sg::matrix<float> expected(64, 300);
    sg::gemm(sg::reference{}, a, b, expected);
    CHECK(same(gathered(pc), expected));
}

TEST_CASE("panels: what does not fit together is refused, and C is as it was") {
    auto const devices = hosts(3);
    auto const x = support::integers<float>(24, 24, 1);
    auto const a = scattered(devices, x), b = scattered(devices, x);
    auto c = scattered(devices, x);
    sg::out_of_core const policy{devices};
    CHECK(contains(message(sg::out_of_core{hosts(2)}, a, b, c), "the same devices"));
    auto const low = scattered(devices, x, {.height = 2});
    CHECK(contains(message(policy, low, b, c), "A and C must have the same height of blocks"));
    CHECK(contains(message(policy, a, sg::transposed(low), sg::transposed(c)), "B and C must have the same"));
    CHECK(contains(message(policy, a, c, c), "C overlaps A or B"));
    CHECK(contains(message(policy, 1, a, b, 1, b, c), "must be C itself"));
    CHECK(contains(message(policy, a, scattered(devices, support::integers<float>(20, 24, 1)), c), "m x k"));
    CHECK(contains(message(sg::out_of_core{devices, {.host_bytes = 0}}, a, b, c),
                   "host_bytes must be positive"));
    CHECK(contains(message(sg::out_of_core{devices, {.host_bytes = 20}}, a, b, c),
                   "host_bytes is 20, which is too little for one column of B"));
    CHECK(same(gathered(c), x));
    CHECK(contains(support::message_of([] { sg::panels<float, sg::host>({}, 3, 3); }), "1 to 64 devices"));
    CHECK(contains(support::message_of([&] { sg::panels<float, sg::host>(devices, -3, 3); }),
                   "not be negative"));
}

TEST_CASE("panels: a device that fails is named, and one without memory ends the product before anything is "
          "written") {
    auto const x = support::integers<float>(24, 24, 1);
    auto const good = hosts(3);
    std::vector<faulty> devices(3);
    auto const a = scattered(devices, x), b = scattered(devices, x);
    auto c = scattered(devices, x);
    CHECK(message(sg::out_of_core{devices}, a, b, c).empty());
    c.upload(x);
    devices[2] = faulty(true);
    sg::status const s = sg::try_gemm(sg::out_of_core{devices}, a, b, c);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::memory);
    CHECK(s.error().what() ==
          std::string("out_of_core: device 2 of the list: host: there is no memory for a workspace"));
    CHECK(same(gathered(c), x));
    for (std::size_t const broken : {0u, 1u}) {
        devices.assign(3, faulty());
        devices[broken] = faulty(false, true);
        CHECK(message(sg::out_of_core{devices}, a, b, c) ==
              "out_of_core: device " + std::to_string(broken) + " of the list: host: the product failed");
    }
}
