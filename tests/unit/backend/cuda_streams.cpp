// Streams of one's own, graphs, and groups of products, which share launches.
#include "cuda.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/host.hpp>
#include <stratagemm/structure/csr.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using namespace on_cuda;

TEST_CASE("two streams at once, and threads with a stream each") {
    own_stream const own[4];
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (auto const& stream : own)
        threads.emplace_back([&] {
            sg::cuda const gpu{.stream = stream.stream};
            product p;
            sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
            for (int i = 0; i < 20; ++i) {
                sg::gemm(gpu, a, b, c);
                sg::gemm(sg::strassen{gpu, {.levels = 1}}, a, b, c);
                c.download(p.c);
                wrong += p.wrong();
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
}

// Two streams give the bits of the first run, fifty times each; and those of `expected`, if there is one.
template <class T, class OnDevice>
void check_bits_of_a_hundred_runs(sg::index_t n, OnDevice const& on_device, sg::matrix<T> const* expected) {
    auto const a = support::spread_out<T>(n, n + 37, 0.5, 1), b = support::spread_out<T>(n + 37, n, 0.5, 2);
    own_stream const own[2];
    sg::matrix<T> first(n, n), now(n, n);
    if (expected) first = *expected;
    for (int run = 0; run < 100; ++run) {
        sg::cuda const gpu{.stream = own[run % 2].stream};
        sg::cuda::matrix<T> c(gpu, n, n);
        sg::gemm(on_device(gpu), sg::cuda::matrix<T>(gpu, a), sg::cuda::matrix<T>(gpu, b), c);
        bool const is_first = run == 0 && !expected;
        c.download(is_first ? first : now);
        if (!is_first) REQUIRE(support::same_bits(first, now));
    }
}
template <class T>
void check_bits_of_a_hundred_runs(sg::index_t n, sg::ozaki_options options) {
    auto const a = support::spread_out<T>(n, n + 37, 0.5, 1), b = support::spread_out<T>(n + 37, n, 0.5, 2);
    sg::matrix<T> expected(n, n);
    sg::gemm(sg::ozaki{sg::host{}, options}, a, b, expected);
    check_bits_of_a_hundred_runs<T>(
        n,
        [&](sg::cuda const& gpu) {
            return sg::ozaki{gpu, options};
        },
        &expected);
}
TEST_CASE("ozaki and split have the same bits in a hundred runs on two streams", "[real]") {
    check_bits_of_a_hundred_runs<double>(300, {.moduli = 15});
    check_bits_of_a_hundred_runs<float>(300, {.moduli = 9});
    check_bits_of_a_hundred_runs<float>(300, {.slices = 4});
    for (int const products : {3, 6, 9})
        check_bits_of_a_hundred_runs<float>(
            1300,
            [&](sg::cuda const& gpu) {
                return sg::split{gpu, {.products = products}};
            },
            nullptr);
}

// What run() queues is captured, and gives `exact` in C each time that it is replayed.
template <class Run>
void check_replays(sg::cuda const& gpu, sg::cuda::matrix<float>& c, sg::matrix<float> const& exact,
                   Run const& run) {
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    CALL(cuStreamBeginCapture_v2, gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    run();
    CALL(cuStreamEndCapture, gpu.stream, &graph);
    CALL(cuGraphInstantiateWithFlags, &ready, graph, 0);
    sg::matrix<float> now(exact.rows(), exact.cols());
    for (int times = 0; times < 3; ++times) {
        gpu.leaf().fill(c.view(), -1.0f).or_throw();
        CALL(cuGraphLaunch, ready, gpu.stream);
        c.download(now);
        CHECK(support::same_bits(now, exact));
    }
    CALL(cuGraphExecDestroy, ready);
    CALL(cuGraphDestroy, graph);
}

TEST_CASE("a product is captured in a graph and replayed", "[real]") {
    own_stream const own;
    sg::cuda const gpu{.stream = own.stream};
    sg::index_t const n = 300, k = 9000; // in parts of k, so that there is workspace
    sg::matrix<float> const ha = numbers(n, k, 3), hb = numbers(k, n, 5);
    sg::matrix<float> exact(n, n);
    sg::cuda::matrix<float> a(gpu, ha), b(gpu, hb), c(gpu, n, n);
    auto const plan = sg::plan(gpu, sg::shape<float>{.m = n, .n = n, .k = k});
    auto arena = plan.reserve();
    CHECK(arena.size() > 0);
    plan.run(a, b, c, arena);
    c.download(exact);
    check_replays(gpu, c, exact, [&] { plan.run(a, b, c, arena); });
}

// By the merged kernels, which leave sums of parts of rows in workspace, and by rows.
TEST_CASE("a sparse product is captured in a graph and replayed", "[real]") {
    own_stream const own;
    sg::cuda const gpu{.stream = own.stream};
    for (sg::index_t const m : {100000, 100})
        for (sg::index_t const n : {1, 4, 40}) {
            std::vector<std::int32_t> begins{0}, columns;
            for (sg::index_t i = 0; i < m; ++i) {
                for (sg::index_t at = 0; at < (i == m / 2 ? m / 2 : 5 + i % 9); ++at)
                    columns.push_back(static_cast<std::int32_t>((i * 7 + at * 31) % m));
                begins.push_back(static_cast<std::int32_t>(columns.size()));
            }
            auto const count = static_cast<sg::index_t>(columns.size());
            sg::cuda::matrix<std::int32_t> there_begins(gpu, 1, m + 1), there_columns(gpu, 1, count);
            there_begins.upload(sg::row_major(begins.data(), 1, m + 1));
            there_columns.upload(sg::row_major(columns.data(), 1, count));
            sg::cuda::matrix<float> values(gpu, numbers(1, count, 3)), b(gpu, numbers(m, n, 5)), c(gpu, m, n);
            sg::csr<float, std::int32_t, sg::cuda::space> const a{
                m, m, there_begins.data(), there_columns.data(), values.data(), count};
            auto const p = sg::product(a, b, c);
            sg::plan const plan(gpu, p.shape());
            auto arena = plan.reserve();
            plan.run(p, arena);
            sg::matrix<float> exact(m, n);
            c.download(exact);
            INFO(plan.describe() << ", " << n << " columns");
            CHECK((plan.describe().find("together") != std::string::npos) == (m > 100));
            check_replays(gpu, c, exact, [&] { plan.run(p, arena); });
        }
}

namespace {

// Products of all sizes: more than a launch takes at a time, some with nothing to sum, and one that is worth a launch
// of its own.
struct many {
    struct one {
        sg::matrix<float> exact;
        sg::cuda::matrix<float> a, b, c;
    };
    std::vector<one> all;
    std::vector<sg::dense_problem<float, float, float, sg::cuda_memory>> products;

    many(sg::cuda const& gpu, int count) {
        for (int i = 0; i < count; ++i) {
            bool const large = i == count / 2;
            sg::index_t const m = large ? 1500 : 1 + i * 7 % 70, n = large ? 1400 : i * 5 % 66,
                              k = large ? 900 : i * 3 % 41;
            auto const a = numbers(m, k, 3), b = numbers(k, n, 5);
            one x{{m, n}, {gpu, a}, {gpu, b}, {gpu, m, n}};
            sg::gemm(a, b, x.exact); // of integers
            all.push_back(std::move(x));
        }
        for (one& x : all) products.push_back(sg::product(x.a, x.b, x.c));
    }
    void spoil(sg::cuda const& gpu) {
        for (one& x : all) gpu.leaf().fill(x.c.view(), -1.0f).or_throw();
    }
    int wrong() const {
        int n = 0;
        for (one const& x : all) {
            sg::matrix<float> now(x.exact.rows(), x.exact.cols());
            x.c.download(now);
            for (sg::index_t i = 0; i < now.rows(); ++i)
                for (sg::index_t j = 0; j < now.cols(); ++j) n += now(i, j) != x.exact(i, j);
        }
        return n;
    }
};

} // namespace

TEST_CASE("a group of products, large and small", "[real]") {
    sg::cuda const gpu{.check_pointers = true};
    for (int const count : {1, 5, 600}) {
        many x(gpu, count);
        sg::gemm(gpu, x.products);
        CHECK(x.wrong() == 0);
        x.spoil(gpu);
        auto arena = gpu.reserve(sg::group_workspace(gpu, x.products));
        REQUIRE(arena);
        sg::gemm(gpu, x.products, *arena);
        CHECK(x.wrong() == 0);
    }
    many x(gpu, 40);
    for (sg::cuda_configuration const& tile : std::vector<sg::cuda_configuration>{
             sg::cuda_simt{64, 64, 32, 4, 4, 3, 8}, sg::cuda_blocked{32, 64, 8, 4, 4, 2, 2}}) {
        x.spoil(gpu);
        sg::gemm(sg::cuda{.tile = tile}, x.products);
        CHECK(x.wrong() == 0);
    }
    // As one is refused, so is the group.
    x.spoil(gpu);
    sg::matrix<float> const here(x.all[30].a.rows(), x.all[30].a.cols());
    x.products[30] = sg::product(sg::cuda::on_device(here), x.all[30].b, x.all[30].c);
    sg::status const s = sg::try_gemm(gpu, x.products);
    REQUIRE(!s);
    CHECK(says(s, "memory of the host"));
    sg::matrix<float> c(x.all[7].c.rows(), x.all[7].c.cols());
    x.all[7].c.download(c);
    CHECK(c(0, 0) == -1);
}

TEST_CASE("products of a group share launches, unless they are better off alone") {
    sg::cuda_device device;
    device.capability = 90, device.units = 132, device.shared_bytes = 227 * 1024;
    using sides = sg::cuda_sides;
    auto const alone = [&](std::vector<sides> all) {
        int n = 0;
        for (bool const one : sg::cuda_share_out(device, 's', sizeof(float), all, 180, {}).best.alone)
            n += one;
        return n;
    };
    CHECK(alone(std::vector<sides>(500, {20, 100, 60, 1})) == 0);
    CHECK(alone(std::vector<sides>(64, {320, 320, 320, 1})) == 0);
    CHECK(alone(std::vector<sides>(2, {320, 320, 320, 1})) == 2);
    CHECK(alone(std::vector<sides>(5, {2000, 2000, 2000, 1})) == 5);
    std::vector<sides> all(100, {20, 100, 60, 1});
    for (sides const s : {sides{320, 320, 320, 1}, sides{20, 30, 100000, 1}, sides{1, 2000000, 1, 1},
                          sides{64, 64, 64, 9999}}) {
        CAPTURE(s.m, s.n, s.k, s.count);
        all.back() = s;
        CHECK(alone(all) == 1);
    }
}

TEST_CASE("products of a group have epilogues of their own values") {
    sg::cuda const gpu;
    std::vector<product> all(50);
    std::vector<sg::cuda::matrix<float>> c;
    std::vector<sg::dense_problem<float, float, float, sg::cuda_memory, sg::scale_epilogue<float>>> products;
    sg::cuda::matrix<float> const a(gpu, all[0].a), b(gpu, all[0].b);
    for (std::size_t i = 0; i < all.size(); ++i) c.emplace_back(gpu, 33, 40);
    for (std::size_t i = 0; i < all.size(); ++i)
        products.push_back(sg::product(a, b, c[i], sg::scale(static_cast<float>(i))));
    sg::gemm(gpu, products);
    for (std::size_t i = 0; i < all.size(); ++i) {
        c[i].download(all[i].c);
        CHECK(all[i].c(32, 39) == static_cast<float>(i) * all[i].exact(32, 39));
    }
}

TEST_CASE("a group is captured in a graph and replayed", "[real]") {
    own_stream const own;
    sg::cuda const gpu{.stream = own.stream};
    many x(gpu, 300);
    auto arena = gpu.reserve(sg::group_workspace(gpu, x.products));
    REQUIRE(arena);
    sg::gemm(gpu, x.products, *arena); // compiles
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    CALL(cuStreamBeginCapture_v2, own.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    sg::gemm(gpu, x.products, *arena);
    CALL(cuStreamEndCapture, own.stream, &graph);
    CALL(cuGraphInstantiateWithFlags, &ready, graph, 0);
    x.products.clear(); // what it needs of them it has
    for (int times = 0; times < 2; ++times) {
        x.spoil(gpu);
        CALL(cuGraphLaunch, ready, own.stream);
        CHECK(x.wrong() == 0);
    }
    CALL(cuGraphExecDestroy, ready);
    CALL(cuGraphDestroy, graph);
}
