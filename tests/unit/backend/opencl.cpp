// What the conformance suite does not see: devices, queues of one's own, errors, the cache.
#include "catch.hpp"
#include "unit/backend/integers.hpp"
#include "unit/backend/invariance.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/opencl.hpp>

#include <complex>
#include <filesystem>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using namespace integers;

namespace {

struct own_queue {
    cl_context context;
    cl_command_queue queue;
    explicit own_queue(cl_command_queue_properties properties = 0) {
        auto const device = sg::opencl().where().id;
        context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
        queue = clCreateCommandQueue(context, device, properties, nullptr);
    }
    ~own_queue() {
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
    }
};

// A device that says it has no memory to spare.
struct frugal : sg::opencl {
    struct operations : sg::opencl_operations {
        sg::device_limits limits() const {
            sg::device_limits all = sg::opencl_operations::limits();
            all.memory_bytes = 0;
            return all;
        }
    };
    operations leaf() const { return {sg::opencl::leaf()}; }
};

struct nonsense {
    float operator()(float x) const { return x; }
    template <class To>
    void device(To& to) const {
        to("x + no_such_name");
    }
};

sg::errc code_of(sg::status const& s) { return s.error().code(); }

// How many elements of A B are wrong, where the rows of A and B begin `offset` elements behind a whole vector.
template <class TA, class TC>
int wrong_behind(sg::index_t offset) {
    sg::opencl const gpu;
    sg::index_t const m = 100, n = 104, k = 112;
    auto const number = [](sg::index_t i, sg::index_t j) {
        return static_cast<float>((3 * i + 2 * j) % 5 - 2);
    };
    sg::matrix<TA> const a(m, k + 1, [&](auto i, auto j) { return TA(number(i, j)); }),
        b(k, n + 3, [&](auto i, auto j) { return TA(number(j, i)); });
    sg::opencl::matrix<TA> const da(gpu, a), db(gpu, b);
    sg::opencl::matrix<TC> dc(gpu, m, n);
    sg::gemm(gpu, da.view().block(0, offset % 2, m, k), db.view().block(0, offset, k, n), dc);
    sg::matrix<TC> c(m, n), exact(m, n);
    dc.download(c);
    sg::gemm(sg::reference{}, a.block(0, offset % 2, m, k), b.block(0, offset, k, n), exact);
    return different(c, exact);
}

} // namespace

TEST_CASE("devices are listed and found by name or type") {
    auto const all = sg::opencl::devices();
    REQUIRE(!all.empty());
    CHECK(!all[0].name.empty());
    CHECK(all[0].work_group > 0);
    CHECK(sg::opencl::find(all[0].name).id == all[0].id);
    CHECK(sg::opencl::find("", all[0].type).type == all[0].type);
    try {
        (void)sg::opencl::find("no such device");
        FAIL("found");
    } catch (sg::error const& e) {
        CHECK(e.layer() == "opencl");
        CHECK(e.native_code() == CL_DEVICE_NOT_FOUND);
        CHECK(std::string_view(e.what()).find("there is: ") != std::string_view::npos);
    }
}

TEST_CASE("a device made for Polaris is held to the limits of Polaris") {
    sg::opencl_device d;
    d.type = CL_DEVICE_TYPE_GPU, d.vendor = "AMD";
    d.name = "AMD Radeon RX 590 Series (radeonsi, polaris10, LLVM 15.0.6, DRM 3.49)";
    CHECK(sg::family_of(d) == sg::opencl_family::gfx803);
    d.name = "gfx1030";
    CHECK(sg::family_of(d) == sg::opencl_family::rdna);
    d.name = "gfx906";
    CHECK(sg::family_of(d) == sg::opencl_family::gcn);
    d.name = "NVIDIA H200", d.vendor = "NVIDIA Corporation";
    CHECK(sg::family_of(d) == sg::opencl_family::nvidia);
    d.name = "pthread-haswell", d.vendor = "GenuineIntel", d.type = CL_DEVICE_TYPE_CPU;
    CHECK(sg::family_of(d) == sg::opencl_family::cpu);
}

TEST_CASE("matrices go to the device and come back in any layout") {
    sg::opencl const gpu;
    auto const a = numbers(17, 23, 3);
    sg::matrix<float> back(23, 17, sg::layout::col_major);
    sg::opencl::matrix<float> rows(gpu, a), columns(gpu, 17, 23, sg::layout::col_major);
    gpu.leaf().copy(rows.view(), columns.view()).or_throw();
    columns.download(sg::transposed(back));
    for (sg::index_t i = 0; i < 17; ++i)
        for (sg::index_t j = 0; j < 23; ++j) CHECK(back(j, i) == a(i, j));
    CHECK_THROWS_AS(rows.download(back), sg::error);
}

TEST_CASE("rows that begin at any element, not at a whole vector") {
    for (sg::index_t const offset : {0, 1, 2, 3}) {
        INFO("offset " << offset);
        CHECK(wrong_behind<sg::half, float>(offset) == 0);
        CHECK(wrong_behind<sg::bfloat16, float>(offset) == 0);
        CHECK(wrong_behind<std::int8_t, std::int32_t>(offset) == 0);
        CHECK(wrong_behind<float, float>(offset) == 0);
    }
}

TEST_CASE("strides along a side of 1 may be any number, on a device") {
    sg::opencl const gpu;
    constexpr sg::index_t shapes[][3] = {{1, 40, 30}, {40, 1, 30}, {40, 30, 1}, {1, 1, 50}};
    for (auto const& [m, n, k] : shapes) {
        auto const a = numbers(m, k, 3), b = numbers(k, n, 5);
        sg::opencl::matrix<float> const da(gpu, a), db(gpu, b);
        sg::opencl::matrix<float> dc(gpu, m, n);
        sg::matrix<float> c(m, n), exact(m, n);
        sg::gemm(sg::reference{}, a, b, exact);
        for (sg::index_t const stride : support::unused_strides) {
            sg::gemm(gpu, support::with_unused(da.view(), stride), support::with_unused(db.view(), stride),
                     support::with_unused(dc.view(), stride));
            dc.download(c);
            INFO(m << " x " << n << " x " << k << ", stride " << stride);
            CHECK(different(c, exact) == 0);
        }
    }
}

TEST_CASE("a queue of one's own, in order or not") {
    using properties_of_queue = cl_command_queue_properties;
    for (auto const properties :
         {properties_of_queue{0}, properties_of_queue{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
        own_queue const own(properties);
        sg::opencl const gpu(own.queue);
        CHECK(gpu.queue() == own.queue);
        product p;
        sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
        sg::gemm(sg::strassen{gpu, {.levels = 2}}, a, b, c);
        gpu.synchronize().or_throw();
        c.download(p.c);
        CHECK(p.wrong() == 0);
    }
}

TEST_CASE("operands on a device have a policy by default, and a plan") {
    product p;
    sg::opencl const gpu;
    sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
    sg::gemm(a, b, c);
    c.download(p.c);
    CHECK(p.wrong() == 0);
    auto const plan = sg::plan(sg::strassen{gpu, {.levels = 2}}, sg::shape<float>{.m = 33, .n = 40, .k = 21});
    CHECK(plan.describe().find("opencl: ") != std::string::npos);
    auto arena = plan.reserve();
    CHECK(plan.workspace().device > 0);
    plan.run(a, b, c, arena);
    c.download(p.c);
    CHECK(p.wrong() == 0);
}

TEST_CASE("one level of Winograd's form needs no temporaries, and of Strassen's where there is no memory for "
          "them") {
    frugal const gpu;
    sg::shape<float> const large{.m = 8192, .n = 8192, .k = 8192};
    product p;
    sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
    auto const check = [&](auto const& policy) {
        CHECK(policy.workspace(large) == gpu.workspace(sg::shape<float>{.m = 4096, .n = 4096, .k = 4096}));
        CHECK(policy.describe(large).find("the last without temporaries; opencl") != std::string::npos);
        sg::gemm(policy, a, b, c);
        c.download(p.c);
        CHECK(p.wrong() == 0);
        sg::gemm(policy, 3, a, b, -2, c); // each block of E comes with the first product of its place
        c.download(p.c);
        int wrong = 0;
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j) wrong += p.c(i, j) != p.exact(i, j);
        CHECK(wrong == 0);
    };
    check(sg::strassen{sg::opencl(gpu), {.levels = 1, .variant = sg::strassen_variant::winograd}});
    check(sg::strassen{gpu, {.levels = 1, .variant = sg::strassen_variant::strassen}});
}

TEST_CASE("which sums and spreads are taken") {
    using space = sg::opencl::space;
    static constexpr auto answer = []<class T, int N, class Epilogue>(T, std::integral_constant<int, N>,
                                                                      Epilogue) {
        using sums = sg::sum_of<sg::view<T const, space>, N>;
        using spread = sg::spread<sg::view<T, space>, N>;
        return sg::answer<sg::opencl, sg::problem<sums, sums, spread, Epilogue>>();
    };
    constexpr std::integral_constant<int, 4> four;
    static_assert(answer(1.0f, four, sg::identity{}) == sg::verdict::yes);
    static_assert(answer(1.0, four, sg::identity{}) == sg::verdict::yes);
    static_assert(answer(std::complex<float>(), four, sg::identity{}) == sg::verdict::yes);
    static_assert(answer(std::complex<double>(), four, sg::identity{}) == sg::verdict::yes);
    static_assert(answer(1.0f, std::integral_constant<int, 5>(), sg::identity{}) == sg::verdict::structure);
    static_assert(answer(sg::half(), four, sg::identity{}) == sg::verdict::types);
    static_assert(answer(1.0f, four, sg::relu_epilogue{}) == sg::verdict::epilogue);
    SUCCEED();
}

TEST_CASE("a sum serves a whole batch, and each kind of tile takes it") {
    sg::opencl const gpu;
    // Sides that no vector divides; slices, and local memory read ahead.
    constexpr sg::opencl_tile odd{.threads_m = 2, .threads_n = 4, .micro_m = 3, .micro_n = 2, .depth = 8};
    constexpr sg::opencl_tile sliced{.threads_m = 2,
                                     .threads_n = 4,
                                     .micro_m = 4,
                                     .micro_n = 4,
                                     .depth = 8,
                                     .unroll = 8,
                                     .lanes_m = 4,
                                     .lanes_n = 4,
                                     .a_width = 2,
                                     .b_width = 2,
                                     .padding = 4,
                                     .slices = 2,
                                     .ahead = 1};
    sg::index_t const m = 24, n = 32, k = 80;
    auto const a = numbers(3 * m, k, 3), b = numbers(k, 2 * n, 5), b_turned = numbers(n, k, 4);
    sg::opencl::matrix<float> const da(gpu, a), db(gpu, b), db_turned(gpu, b_turned);
    sg::matrix<float> const left(k, n,
                                 [&](sg::index_t i, sg::index_t j) { return b(i, j) - 2 * b(i, n + j); }),
        right(k, n, [&](sg::index_t i, sg::index_t j) { return b(i, j) + b_turned(j, i); });
    auto const alike = sg::sum(db.view().block(0, 0, k, n), sg::scaled(-2, db.view().block(0, n, k, n)));
    auto const apart = sg::sum(db.view().block(0, 0, k, n), sg::transposed(db_turned));
    sg::matrix<float> c(3 * m, n), exact(3 * m, n), d(m, n);
    auto const try_on = [&](sg::opencl const& policy, auto const& sum, sg::matrix<float> const& sum_of) {
        sg::opencl::matrix<float> dc(gpu, 3 * m, n), dd(gpu, numbers(m, n, 7));
        auto const batch = sg::batched(da.view().block(0, 0, m, k), 3, m * k);
        sg::gemm(policy, batch, sum, sg::batched(dc.view().block(0, 0, m, n), 3, m * n), sg::relu);
        dc.download(c);
        sg::gemm(sg::reference{}, a, sum_of, exact);
        int wrong = 0;
        for (sg::index_t i = 0; i < 3 * m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += c(i, j) != (exact(i, j) < 0 ? 0 : exact(i, j));
        sg::spread<sg::opencl_view<float>, 2> both;
        both.add(dc.view().block(m, 0, m, n), 1.0f);
        both.add(dd.view(), -1.0f, 3.0f, dd.view());
        sg::gemm(policy, da.view().block(0, 0, m, k), sum, both);
        dc.download(c), dd.download(d);
        auto const before = numbers(m, n, 7);
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j)
                wrong += (c(m + i, j) != exact(i, j)) + (d(i, j) != 3 * before(i, j) - exact(i, j));
        CHECK(wrong == 0);
    };
    try_on(gpu, alike, left);
    try_on(gpu, apart, right);
    try_on(gpu.with(odd, 0), alike, left);
    try_on(gpu.with(odd, 32), apart, right);
    try_on(gpu.with(sliced, 0), alike, left);
    try_on(gpu.with(sliced, 32), apart, right);
}

TEST_CASE("threads share a policy") {
    sg::opencl const gpu;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            product p;
            sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
            for (int i = 0; i < 20; ++i) {
                sg::gemm(gpu, a, b, c);
                c.download(p.c);
                wrong += p.wrong();
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
}

TEST_CASE("operands on the host are brought to the device and back") {
    sg::opencl const gpu;
    product p;
    sg::gemm(gpu, p.a, p.b, p.c);
    CHECK(p.wrong() == 0);

    // With gaps, transposed, with a bias in host memory, which only the host can read, and twice in a row.
    sg::matrix<float> wide(50, 60, [](sg::index_t, sg::index_t) { return 7; });
    auto const c = wide.block(3, 4, 40, 33);
    std::vector<float> const v(33, 2.0f);
    sg::matrix<float> exact(40, 33);
    sg::gemm(sg::staged{sg::strassen{gpu, {.levels = 1}}}, 2, sg::transposed(p.b), sg::transposed(p.a), 3, c,
             sg::bias(v));
    sg::gemm(sg::reference{}, sg::transposed(p.b), sg::transposed(p.a), exact);
    int wrong = 0;
    for (sg::index_t i = 0; i < 50; ++i)
        for (sg::index_t j = 0; j < 60; ++j) {
            bool const inside = i >= 3 && i < 43 && j >= 4 && j < 37;
            wrong += wide(i, j) != (inside ? 2 * exact(i - 3, j - 4) + 3 * 7 + 2 : 7);
        }
    CHECK(wrong == 0);

    auto const plan = sg::plan(sg::staged{gpu}, sg::shape<float>{.m = 33, .n = 40, .k = 21});
    CHECK(plan.describe().find("out_of_core, one part; opencl") == 0);
    CHECK(plan.workspace().device >= sizeof(float) * (33 * 21 + 21 * 40 + 33 * 40));
    auto arena = plan.reserve();
    for (int i = 0; i < 2; ++i) plan.run(p.a, p.b, p.c, arena);
    CHECK(p.wrong() == 0);

    // More than the device has: told before anything is touched. The operands need not exist for that.
    sg::shape<float> const huge{.m = sg::index_t{1} << 28, .n = 16, .k = sg::index_t{1} << 28};
    sg::out_of_core const greedy{gpu, {.device_bytes = sg::index_t{1} << 60}};
    auto const none = greedy.reserve(greedy.workspace(huge));
    REQUIRE(!none);
    CHECK(none.error().code() == sg::errc::memory);
    CHECK(none.error().layer() == "opencl");
}

TEST_CASE("what is refused, and why; C stays as it was") {
    product p;
    sg::opencl const gpu;
    sg::matrix<float> const ones(33, 40, [](sg::index_t, sg::index_t) { return 1; });
    sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, ones);
    auto untouched = [&] {
        c.download(p.c);
        int n = 0;
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j) n += p.c(i, j) == 1;
        return n == 33 * 40;
    };

    SECTION("a buffer that is too small for the view") {
        auto longer = a.view();
        longer.row_stride += 1;
        sg::status const s = sg::try_gemm(gpu, longer, b, c);
        CHECK(code_of(s) == sg::errc::shape);
        CHECK(says(s, "beyond its buffer"));
    }
    SECTION("a buffer of another context") {
        own_queue const own;
        sg::opencl::matrix<float> const foreign(sg::opencl(own.queue), p.a);
        sg::status const s = sg::try_gemm(gpu, foreign, b, c);
        CHECK(code_of(s) == sg::errc::argument);
        CHECK(s.error().native_code() == CL_INVALID_CONTEXT);
        CHECK(says(s, "CL_INVALID_CONTEXT"));
        CHECK(code_of(sg::try_gemm(sg::opencl(own.queue), a, b, c)) == sg::errc::argument);
        // Nothing but C and E would be used here.
        CHECK(code_of(sg::try_gemm(sg::opencl(own.queue), 0.0f, a, b, 0.0f, c)) == sg::errc::argument);
    }
    SECTION("more memory than the device has") {
        sg::footprint huge;
        huge.device = std::size_t{1} << 60;
        auto const arena = gpu.reserve(huge);
        REQUIRE(!arena);
        CHECK(arena.error().code() == sg::errc::memory);
        CHECK(std::string_view(arena.error().what()).find("CL_") != std::string_view::npos);
    }
    SECTION("no device") {
        sg::opencl_session const session(sg::error(sg::errc::unsupported, "opencl", "no device"));
        CHECK(!session.ready());
        CHECK(!session.allocate(10));
        CHECK(!session.synchronize());
    }
    CHECK(untouched());
}

TEST_CASE("epilogues in every kernel that ends a product") {
    constexpr sg::opencl_tile tile{.threads_m = 4, .threads_n = 4, .micro_m = 2, .micro_n = 2, .depth = 8};
    sg::opencl const gpu;
    sg::matrix<float> const v(1, 30,
                              [](sg::index_t, sg::index_t j) { return static_cast<float>(j % 5 - 2); });
    sg::opencl::matrix<float> const dv(gpu, v);
    std::vector<float> const hv(v.data(), v.data() + 30);
    for (sg::index_t const k : {20, 700})
        for (bool const by_columns : {false, true}) {
            auto const order = by_columns ? sg::layout::col_major : sg::layout::row_major;
            auto const a = numbers(14, k, 3), b = numbers(k, 15, 5);
            sg::matrix<float> c(14, 15, order), exact(14, 15, order);
            sg::opencl::matrix<float> da(gpu, a), db(gpu, b), dc(gpu, 14, 15, order);
            for (sg::opencl const& policy : {gpu, gpu.with(tile), gpu.with(tile, 64)}) {
                sg::gemm(
                    policy, da, db, dc,
                    sg::then(sg::bias(dv), sg::bias(dv, sg::along::rows), sg::clamp(-9, 40), sg::scale(3)));
                dc.download(c);
                sg::gemm(
                    sg::reference{}, a, b, exact,
                    sg::then(sg::bias(hv), sg::bias(hv, sg::along::rows), sg::clamp(-9, 40), sg::scale(3)));
                int wrong = 0;
                for (sg::index_t i = 0; i < 14; ++i)
                    for (sg::index_t j = 0; j < 15; ++j) wrong += c(i, j) != exact(i, j);
                CHECK(wrong == 0);
            }
        }
}

TEST_CASE("tuning keeps the best tile, for products of that size and for the next process") {
    sg::opencl const gpu;
    sg::shape<float> const shape{.m = 130, .n = 140, .k = 150};
    int calls = 0;
    sg::opencl_tuning_options options;
    options.seconds = 2;
    options.progress = [&](sg::opencl_tile const&, double, double) { ++calls; };
    auto tuned = gpu.tune(shape, options);
    REQUIRE(tuned);
    CHECK(tuned->measured == calls);
    CHECK(tuned->before > 0);
    REQUIRE(tuned->tile.threads() > 0);
    CHECK(sg::is_legal(tuned->tile, {}));
    CHECK(sg::fits_device(tuned->tile, gpu.where(), sizeof(float)));

    sg::opencl_session next(gpu.where()); // as in another process: from the cache on disk
    CHECK(next.tuning().find({'s', 130, 140, 150}) == tuned->tile);
    CHECK(next.tuning().find({'s', 4096, 140, 150}).threads() == 0);
    CHECK(gpu.describe(shape).find(sg::describe(tuned->tile)) != std::string::npos);
    CHECK(!gpu.tune(sg::shape<float>{.m = 0, .n = 1, .k = 1}));
}

TEST_CASE("a kernel that does not build is an error with the log in it") {
    product p;
    sg::opencl const gpu;
    sg::opencl::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
    sg::status const s = sg::try_gemm(gpu, a, b, c, nonsense{});
    REQUIRE(!s);
    CHECK(s.error().layer() == "opencl");
    CHECK(s.error().native_code() == CL_BUILD_PROGRAM_FAILURE);
    CHECK(says(s, "CL_BUILD_PROGRAM_FAILURE"));
    CHECK(says(s, "no_such_name"));
}

namespace {

// A card like the one that the tiles of its family were tuned on.
sg::opencl_device h200() {
    sg::opencl_device d;
    d.family = sg::opencl_family::nvidia;
    d.work_group = 1024, d.local_bytes = 49152, d.compute_units = 132, d.clock = 1.98e9;
    return d;
}
sg::opencl_choice choice(sg::opencl_device const& d, sg::index_t m, sg::index_t n, sg::index_t k) {
    return sg::choose({d, 's', sizeof(float), {m, n, k, 1}});
}

} // namespace

TEST_CASE("a choice follows from the sides") {
    auto const d = h200();
    auto const area = [&](sg::index_t m, sg::index_t n, sg::index_t k) {
        auto const tile = choice(d, m, n, k).tile;
        return tile.tile_m() * tile.tile_n();
    };
    // Large tiles where there are many, small ones where there are few, parts of k where there are next to none.
    for (sg::index_t const n : {2048, 4095, 4096, 8192, 16384}) CHECK(area(n, n, n) >= 64 * 64);
    CHECK(area(256, 256, 256) < area(8192, 8192, 8192));
    CHECK(choice(d, 64, 64, 65536).parts(65536) >= 32);
    CHECK(choice(d, 4096, 16, 4096).tile.tile_n() <= 32);
    CHECK(choice(d, 16, 4096, 4096).tile.tile_m() <= 32);
    // Whole lines of C where k is short.
    CHECK(sg::stores_lines(choice(d, 4344, 1751, 1).tile));
    // No second launch for what one does in less.
    CHECK(choice(d, 40, 56, 100).part == 0);
    CHECK(choice(d, 4096, 1, 64).way == sg::opencl_way::narrow);
    CHECK(sg::choose({d, 's', 4, {16, 16, 16, 10000}}).way == sg::opencl_way::small);
    CHECK(sg::choose({d, 's', 4, {16, 16, 16, 1}}).way != sg::opencl_way::small);
    // Sums and spreads are for the tiled kernel and the direct one.
    auto const combined = [&](sg::index_t m, sg::index_t n, sg::index_t k, sg::index_t count) {
        return sg::choose({d, 's', sizeof(float), {m, n, k, count}, true, true}).way;
    };
    CHECK(combined(4096, 4, 4096, 1) == sg::opencl_way::tiled);
    CHECK(combined(4096, 1, 4096, 1) != sg::opencl_way::narrow);
    CHECK(combined(16, 16, 16, 1000) != sg::opencl_way::small);
}

static std::size_t bytes_of(char sums) { return sums == 's' || sums == 'i' ? 4 : sums == 'z' ? 16 : 8; }

TEST_CASE("built-in tiles can be compiled for operands that lie in any way") {
    for (sg::opencl_entry const& e : sg::opencl_entries)
        for (bool const a_along_k : {true, false})
            for (bool const b_along_k : {true, false}) {
                CAPTURE(sg::describe(e.tile));
                sg::opencl_form const form{.a_along_k = a_along_k, .b_along_k = b_along_k};
                sg::opencl_tile narrow = e.tile;
                narrow.a_width = narrow.b_width = 1;
                CHECK(sg::is_legal(e.tile, form));
                CHECK(sg::is_legal(narrow, form));
                auto const local = e.tile.local_bytes(bytes_of(e.sums));
                CHECK((e.family == sg::opencl_family::cpu ||
                       local <= (e.family == sg::opencl_family::nvidia ? 49152 : 32768)));
            }
    // Any family has some, and so has a device that nobody knows.
    sg::opencl_device d = h200();
    for (auto const family : {sg::opencl_family::gfx803, sg::opencl_family::gcn, sg::opencl_family::rdna,
                              sg::opencl_family::intel, sg::opencl_family::other}) {
        d.family = family, d.work_group = 256, d.local_bytes = 32768;
        for (char const sums : {'s', 'i', 'd', 'c', 'z'})
            CHECK(sg::choose({d, sums, bytes_of(sums), {1000, 900, 800, 1}}).way == sg::opencl_way::tiled);
    }
    // Every tile has a rate: a tile that is added is fitted, or gets that of the compiled kernel.
    for (auto const family : {sg::opencl_family::nvidia, sg::opencl_family::cpu, sg::opencl_family::gfx803,
                              sg::opencl_family::gcn, sg::opencl_family::rdna, sg::opencl_family::intel}) {
        d.family = family;
        for (char const sums : {'s', 'i', 'd', 'c', 'z'})
            sg::for_each_entry(family, sums, [&](sg::opencl_entry const& e, int number) {
                CAPTURE(sums, sg::describe(e.tile));
                REQUIRE(number < sg::opencl_most_tiles);
                sg::opencl_rate const rate = sg::costs_of(d, sums).rate_of(e, number);
                CHECK(rate.full > 0);
                CHECK((rate.alone > 0 && rate.alone <= 1));
            });
    }
}

TEST_CASE("what a product is taken to cost") {
    auto const d = h200();
    auto const costs = sg::costs_of(d, 's');
    auto const by = [&](sg::opencl_entry const& e, sg::opencl_sides const& s, sg::index_t part = 0) {
        double clocks = 0;
        sg::for_each_entry(d.family, 's', [&](sg::opencl_entry const& own, int number) {
            if (own.tile == e.tile)
                clocks = sg::opencl_counts({d, 's', sizeof(float), s}, costs.costs)
                             .clocks({e.tile, part}, e.groups, costs.rate_of(e, number));
        });
        return clocks;
    };
    auto const& big = *std::find_if(std::begin(sg::opencl_entries), std::end(sg::opencl_entries),
                                    [&](auto const& e) { return e.family == d.family; });
    auto const clocks = [&](sg::index_t m, sg::index_t n, sg::index_t k, sg::index_t part = 0) {
        return by(big, {m, n, k, 1}, part);
    };
    // Twice the rounds take about twice as long; one tile more than there are places is a round more.
    auto const places = sg::index_t{d.compute_units} * big.groups, row = sg::index_t{big.tile.tile_m()},
               column = sg::index_t{big.tile.tile_n()};
    CHECK(clocks(2 * row * places, column, 4096) > 1.7 * clocks(row * places, column, 4096));
    CHECK(clocks(row * (places + 1), column, 4096) > 1.2 * clocks(row * places, column, 4096));
    CHECK(clocks(row * places, column, 4096) <=
          1.05 * big.groups * clocks(row * d.compute_units, column, 4096));
    // Parts of k pay for themselves where k is long, and not where it is short.
    CHECK(clocks(128, 128, 65536, 1024) < 0.1 * clocks(128, 128, 65536));
    CHECK(clocks(2048, 2048, 64, 32) > clocks(2048, 2048, 64));
    CHECK(clocks(127, 128, 2048) > clocks(128, 128, 2048)); // elements are read one by one
    // With a short k the stores take most of the time, and stores of whole lines take less.
    auto const& lines =
        *std::find_if(std::begin(sg::opencl_entries), std::end(sg::opencl_entries),
                      [&](auto const& e) { return e.family == d.family && sg::stores_lines(e.tile); });
    CHECK(by(lines, {4344, 1751, 1, 1}) < 0.8 * clocks(4344, 1751, 1));
}

TEST_CASE("a family that was not measured is predicted from one that was") {
    sg::opencl_device d = h200();
    auto const measured = sg::costs_of(d, 's').costs;
    d.family = sg::opencl_family::gfx803, d.compute_units = 36, d.clock = 1.545e9;
    auto const predicted = sg::costs_of(d, 's');
    using kind = sg::opencl_cost;
    CHECK(predicted.rates == nullptr); // those of the compiled kernels
    auto const near = [](double x, double y) { return std::abs(x - y) < 1e-5 * y; };
    // The host takes as many seconds, and memory moves what it can.
    CHECK(near(predicted.costs[kind::queue] / d.clock, measured[kind::queue] / sg::opencl_fitted_clock));
    CHECK(near(predicted.costs[kind::memory], d.clock / sg::bytes_of_unit(d.family)));
    CHECK(predicted.costs[kind::narrow_multiply] > measured[kind::narrow_multiply]);
    CHECK(predicted.costs[kind::wait] == measured[kind::wait]);
    // Some drivers do not say the clock.
    d.clock = 0;
    CHECK(sg::choose({d, 's', 4, {1000, 1000, 1000, 1}}).clocks / sg::clock_of(d) > 1e-5);
}

TEST_CASE("all ways of a product can run on the device") {
    for (auto const family : {sg::opencl_family::nvidia, sg::opencl_family::gfx803, sg::opencl_family::cpu,
                              sg::opencl_family::other})
        for (std::size_t const scalar : {4u, 8u, 16u})
            for (sg::opencl_sides const& s : {sg::opencl_sides{5, 1, 70000, 1},
                                              {336, 2, 4717, 1},
                                              {6000, 4, 32, 1},
                                              {7, 30, 32, 900},
                                              {500, 400, 300, 1},
                                              {1, 1, 1, 1}})
                for (bool const along_k : {true, false}) {
                    sg::opencl_device small = h200();
                    small.family = family, small.work_group = 256, small.local_bytes = 32768;
                    char const sums = scalar == 4 ? 's' : scalar == 16 ? 'z' : 'd';
                    sg::opencl_query const q{small, sums, scalar, s, along_k};
                    sg::opencl_choice const chosen = sg::choose(q);
                    CAPTURE(scalar, s.m, s.n, s.k, along_k);
                    bool is_one_of_them = false;
                    auto const costs = sg::costs_of(small, sums);
                    sg::for_each_way(
                        q, costs, {}, [&](sg::opencl_choice const& x, int, sg::opencl_rate const& r) {
                            CHECK(x.tile.threads() <= 256);
                            CHECK((x.way != sg::opencl_way::tiled || (r.full > 0 && r.alone > 0)));
                            CHECK((x.part == 0 || (s.count == 1 && x.part < s.k)));
                            auto const rows = std::size_t(along_k ? x.tile.micro_m : x.tile.a_width);
                            if (x.way == sg::opencl_way::narrow)
                                CHECK(std::size_t(x.tile.threads()) * rows * std::size_t(s.n) * scalar <=
                                      32768);
                            is_one_of_them |=
                                x.way == chosen.way && x.tile == chosen.tile && x.part == chosen.part;
                        });
                    CHECK(is_one_of_them);
                }
}

// In pieces of k by one work-group and by several; few columns; by the kernel for small products.
TEST_CASE("an element has the same bits, whatever is computed beside it") {
    sg::opencl gpu;
    gpu.invariant = true;
    support::random_source from(1);
    CHECK(invariance::compare<float, float>(gpu, from, 37, 70, 300, 7) > 0);
    invariance::compare<sg::half, sg::half>(gpu, from, 70, 18, 41, 7);
    invariance::compare<std::complex<float>, std::complex<float>>(gpu, from, 9, 20, 270, 7);
    // A tile keeps the order, or is not used.
    sg::matrix<float> const a = support::fractions<float>(40, 600, 4),
                            b = support::fractions<float>(600, 50, 5);
    sg::matrix<float> c(40, 50), d(40, 50);
    sg::gemm(gpu, a, b, c);
    for (short const slices : {short{1}, short{2}})
        for (sg::index_t const part : {0, 64, -1}) {
            sg::opencl_tile const tile{
                .threads_m = 4, .threads_n = 4, .micro_m = 4, .micro_n = 4, .depth = 8, .slices = slices};
            sg::gemm(gpu.with(tile, part), a, b, d);
            CHECK(support::same_bits(c, d));
        }
}

TEST_CASE("every way has an estimate") {
    auto const d = h200();
    auto const seconds = [&](sg::opencl_sides const& s, bool invariant = false) {
        return sg::choose({d, 's', 4, s, true, false, invariant}).clocks / sg::clock_of(d);
    };
    CHECK(seconds({4096, 4096, 4096, 1}) > 1.8 * seconds({2048, 4096, 4096, 1}));
    CHECK(seconds({4096, 1, 4096, 1}) < seconds({8192, 1, 8192, 1}));
    CHECK(seconds({16, 16, 16, 100000}) > 1.5 * seconds({16, 16, 16, 50000}));
    CHECK(seconds({10, 10, 10, 1}) > 1e-6);
    CHECK(seconds({100, 100, 4000, 1}, true) > 0);
    CHECK(seconds({100, 3, 4000, 1}, true) >= seconds({100, 3, 4000, 1}));
}
