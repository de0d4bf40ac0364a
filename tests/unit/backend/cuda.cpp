// What the conformance suite does not see: devices, streams of one's own, graphs, errors. What a CPU cannot stand in
// for (tests/stand_in), or not in a minute, is tagged [real].
#include "catch.hpp"
#include "random.hpp"
#include "unit/backend/invariance.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/cuda.hpp>
#include <stratagemm/backend/host.hpp>
#include <stratagemm/backend/reference.hpp>

#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sg = stratagemm;

namespace {

sg::matrix<float> numbers(sg::index_t m, sg::index_t n, sg::index_t step) {
    return {m, n,
            [step](sg::index_t i, sg::index_t j) { return static_cast<float>((step * i + 2 * j) % 9 - 4); }};
}

// A product of integers, on the device and on the host.
struct product {
    sg::matrix<float> a = numbers(33, 21, 3), b = numbers(21, 40, 5), c{33, 40}, exact{33, 40};
    product() { sg::gemm(sg::reference{}, a, b, exact); }
    int wrong() const {
        int n = 0;
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j) n += c(i, j) != exact(i, j);
        return n;
    }
};

// What a caller of the driver does.
template <class Function>
Function* entry(char const* name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<Function*>(dlsym(library, name));
}
#define CALL(name, ...) REQUIRE(entry<decltype(name)>(#name)(__VA_ARGS__) == CUDA_SUCCESS)

struct own_stream {
    CUstream stream = nullptr;
    own_stream() {
        CUdevice device = 0;
        CUcontext context = nullptr;
        CALL(cuDeviceGet, &device, 0);
        CALL(cuDevicePrimaryCtxRetain, &context, device);
        CALL(cuCtxSetCurrent, context);
        CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    }
    ~own_stream() { entry<decltype(cuStreamSynchronize)>("cuStreamSynchronize")(stream); }
};

struct nonsense {
    float operator()(float x) const { return x; }
    template <class To>
    void device(To& to) const {
        to("x + no_such_name");
    }
};
// Numbers and values of several types.
struct mixed {
    sg::cuda_pointer<double const> per_row;
    float operator()(float x, sg::index_t, sg::index_t) const { return x; }
    template <class To>
    void device(To& to) const {
        to("$0 * x + $1[i]", 2, per_row);
    }
};

bool says(sg::status const& s, char const* text) {
    return std::string_view(s.error().what()).find(text) != std::string_view::npos;
}

} // namespace

TEST_CASE("devices are listed") {
    auto const all = sg::cuda::devices();
    REQUIRE(!all.empty());
    CHECK(!all[0].name.empty());
    CHECK(all[0].capability >= 75);
    CHECK(sg::cuda{}.where().name == all[0].name);
    sg::cuda_device h;
    h.capability = 90;
    CHECK(h.architecture() == "sm_90a");
    h.capability = 86;
    CHECK(h.architecture() == "sm_86");
}

TEST_CASE("matrices go to the device and come back in any layout") {
    sg::cuda const gpu;
    auto const a = numbers(17, 23, 3);
    sg::matrix<float> back(23, 17, sg::layout::col_major);
    sg::cuda::matrix<float> rows(gpu, a), columns(gpu, 17, 23, sg::layout::col_major);
    gpu.leaf().copy(rows.view(), columns.view()).or_throw();
    columns.download(sg::transposed(back));
    for (sg::index_t i = 0; i < 17; ++i)
        for (sg::index_t j = 0; j < 23; ++j) CHECK(back(j, i) == a(i, j));
    CHECK_THROWS_AS(rows.download(back), sg::error);
}

TEST_CASE("operands on a device have a policy by default, and a plan") {
    product p;
    sg::cuda const gpu;
    sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
    sg::gemm(a, b, c);
    c.download(p.c);
    CHECK(p.wrong() == 0);
    auto const own = sg::cuda::on_device(sg::row_major(c.data().address, 33, 40));
    sg::gemm(gpu, 2.0f, a, b, -1.0f, own);
    c.download(p.c);
    CHECK(p.wrong() == 0);
    auto const plan = sg::plan(sg::strassen{gpu, {.levels = 1}}, sg::shape<float>{.m = 33, .n = 40, .k = 21});
    CHECK(plan.describe().find("cuda: ") != std::string::npos);
    auto arena = plan.reserve();
    CHECK(plan.workspace().device > 0);
    plan.run(a, b, c, arena);
    c.download(p.c);
    CHECK(p.wrong() == 0);
}

TEST_CASE("operands on the host go to the device and back, in more pieces than one") {
    sg::cuda const gpu;
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{33, 40, 21}, {1700, 1600, 3}, {3, 2, 1200000}}) {
        sg::matrix<float> const a = numbers(m, k, 3), b = numbers(k, n, 5);
        sg::matrix<float> c(m, n), exact(m, n), odd(n, m + 1, [](sg::index_t, sg::index_t) { return 7; });
        sg::gemm(sg::reference{}, a, b, exact);
        sg::gemm(gpu, a, b, c);
        auto const turned = sg::transposed(odd.block(0, 1, n, m));
        sg::gemm(gpu, 2.0f, a, b, 0.0f, turned);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j)
                wrong += c(i, j) != exact(i, j) || turned(i, j) != 2 * exact(i, j);
        for (sg::index_t j = 0; j < n; ++j) wrong += odd(j, 0) != 7;
        CHECK(wrong == 0);
    }
    own_stream const context; // of the driver's calls below
    void* pinned = nullptr;
    CALL(cuMemHostAlloc, &pinned, 4000, 0);
    auto const row = sg::row_major(static_cast<float*>(pinned), 1, 1000);
    for (sg::index_t j = 0; j < 1000; ++j) row(0, j) = static_cast<float>(j);
    sg::cuda::matrix<float> there(gpu, row);
    for (sg::index_t j = 0; j < 1000; ++j) row(0, j) = 0;
    there.download(row);
    CHECK(row(0, 999) == 999);
    CALL(cuMemFreeHost, pinned);
}

TEST_CASE("several devices in one program, by index") {
    int const count = static_cast<int>(sg::cuda::devices().size());
    if (count < 2) WARN("skipped: one device here");
    for (int device = 0; device < count && count > 1; ++device) {
        sg::cuda const gpu{.device = device, .check_pointers = true};
        product p;
        sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
        sg::gemm(gpu, a, b, c);
        c.download(p.c);
        CHECK(p.wrong() == 0);
        sg::status const s =
            sg::try_gemm(sg::cuda{.device = (device + 1) % count, .check_pointers = true}, a, b, c);
        REQUIRE(!s);
        CHECK(says(s, "another device"));
    }
}

// In a process of its own, since no other product can run in it then.
TEST_CASE("what a kernel did before is told", "[.]") {
    product p;
    sg::cuda const gpu;
    sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b);
    auto const nowhere = sg::cuda::on_device(sg::row_major(reinterpret_cast<float*>(64), 33, 40));
    REQUIRE(sg::try_gemm(gpu, a, b, nowhere)); // queued
    sg::status const first = gpu.synchronize();
    sg::status const next = sg::try_gemm(gpu, a, b, nowhere);
    bool const told = !first && says(first, "a kernel that ran before has failed") && !next &&
                      says(next, "a kernel that ran before has failed");
    if (!first) std::printf("%s\n", first.error().what());
    if (!next) std::printf("%s\n", next.error().what());
    std::fflush(stdout);
    std::_Exit(told ? 42 : 1);
}
TEST_CASE("a device error from before", "[real]") {
    char self[4096] = "";
    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    std::string const command = std::string("'") + self + "' 'what a kernel did before is told'";
    int const ended = std::system(command.c_str());
    CHECK(WEXITSTATUS(ended) == 42);
}

TEST_CASE("what is chosen for a product does not hang on what was chosen before") {
    // More shapes than are remembered, by policies that choose differently, in one order and in the other.
    auto const choices = [](bool backwards) {
        std::vector<std::string> all(1200);
        for (std::size_t x = 0; x < all.size(); ++x) {
            std::size_t const i = backwards ? all.size() - 1 - x : x;
            sg::cuda gpu{.tf32 = i % 4 == 2};
            if (i % 4 == 0) gpu.tile = {sg::cuda_engine::blocked, 32, 32, 16, 4, 4, 1, 4};
            auto const side = static_cast<sg::index_t>(64 << i / 4 % 8),
                       k = static_cast<sg::index_t>(1 + i / 32);
            all[i] = i % 4 == 3 ? gpu.describe(sg::shape<double>{.m = side, .n = 2 * side, .k = 64 * k})
                                : gpu.describe(sg::shape<float>{.m = side, .n = 2 * side, .k = 64 * k});
        }
        return all;
    };
    std::vector<std::string> const forwards = choices(false);
    CHECK(choices(true) == forwards);
    std::vector<std::string> elsewhere; // a thread remembers its own
    std::thread([&] { elsewhere = choices(true); }).join();
    CHECK(elsewhere == forwards);
    CHECK(std::set<std::string>(forwards.begin(), forwards.end()).size() > 4);
}

TEST_CASE("tuning keeps the best tile, for products of that size and for the next process", "[real]") {
    sg::cuda const gpu;
    sg::shape<sg::half> const shape{.m = 300, .n = 280, .k = 1000};
    int calls = 0, wrong = 0;
    sg::cuda_tuning_options options;
    options.seconds = 4;
    options.progress = [&](sg::cuda_tile const& tile, double seconds, double) {
        ++calls, wrong += seconds < 0;
        if (seconds < 0) std::printf("failed: %s\n", sg::describe(tile).c_str());
    };
    std::string const before = gpu.describe(shape);
    auto tuned = gpu.tune(shape, options);
    REQUIRE(tuned);
    CHECK(tuned->measured == calls);
    CHECK(wrong == 0);
    CHECK(tuned->before > 0);
    REQUIRE(tuned->tile.engine != sg::cuda_engine::direct);
    // Not kept where it is no faster, as may be beside other programs.
    bool const kept = tuned->after < tuned->before;
    auto const text = kept ? sg::describe(tuned->tile) : before;
    CHECK(gpu.describe(shape).find(text) != std::string::npos);
    if (kept)
        CHECK(gpu.describe(sg::shape<sg::half>{.m = 310, .n = 270, .k = 900}).find(text) !=
              std::string::npos);
    CHECK(!gpu.tune(sg::shape<float>{.m = 0, .n = 1, .k = 1}));
}

TEST_CASE("the tuner takes every tile that is built in") {
    for (sg::cuda_entry const& e : sg::cuda_entries)
        for (char const* type = e.types; *type; ++type) {
            std::size_t const bytes = std::strchr("45b", *type)  ? 1
                                      : std::strchr("hw", *type) ? 2
                                      : std::strchr("st", *type) ? 4
                                      : *type == 'z'             ? 16
                                                                 : 8;
            CHECK(sg::is_legal(e.tile, bytes, bytes < 4 ? 4 : bytes));
        }
}

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

// The bits of the first run on two streams, fifty times each; and of the host, if they are told.
template <class T, class OnDevice>
void check_bits_of_a_hundred_runs(sg::index_t n, OnDevice const& on_device, sg::matrix<T> const* told) {
    auto const a = support::spread_out<T>(n, n + 37, 0.5, 1), b = support::spread_out<T>(n + 37, n, 0.5, 2);
    own_stream const own[2];
    sg::matrix<T> first(n, n), now(n, n);
    if (told) first = *told;
    for (int run = 0; run < 100; ++run) {
        sg::cuda const gpu{.stream = own[run % 2].stream};
        sg::cuda::matrix<T> c(gpu, n, n);
        sg::gemm(on_device(gpu), sg::cuda::matrix<T>(gpu, a), sg::cuda::matrix<T>(gpu, b), c);
        bool const is_first = run == 0 && !told;
        c.download(is_first ? first : now);
        if (!is_first) REQUIRE(support::same_bits(first, now));
    }
}
template <class T>
void check_bits_of_a_hundred_runs(sg::index_t n, sg::ozaki_options options) {
    auto const a = support::spread_out<T>(n, n + 37, 0.5, 1), b = support::spread_out<T>(n + 37, n, 0.5, 2);
    sg::matrix<T> told(n, n);
    sg::gemm(sg::ozaki{sg::host{}, options}, a, b, told);
    check_bits_of_a_hundred_runs<T>(
        n,
        [&](sg::cuda const& gpu) {
            return sg::ozaki{gpu, options};
        },
        &told);
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

TEST_CASE("a product is captured in a graph and replayed", "[real]") {
    own_stream const own;
    sg::cuda const gpu{.stream = own.stream};
    sg::index_t const n = 300, k = 9000; // in parts of k, so that there is workspace
    sg::matrix<float> const ha = numbers(n, k, 3), hb = numbers(k, n, 5);
    sg::matrix<float> exact(n, n), now(n, n);
    sg::cuda::matrix<float> a(gpu, ha), b(gpu, hb), c(gpu, n, n);
    auto const plan = sg::plan(gpu, sg::shape<float>{.m = n, .n = n, .k = k});
    auto arena = plan.reserve();
    CHECK(arena.size() > 0);
    plan.run(a, b, c, arena);
    c.download(exact);

    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    CALL(cuStreamBeginCapture_v2, own.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    plan.run(a, b, c, arena);
    CALL(cuStreamEndCapture, own.stream, &graph);
    CALL(cuGraphInstantiateWithFlags, &ready, graph, 0);
    for (int times = 0; times < 3; ++times) {
        gpu.leaf().fill(c.view(), -1.0f).or_throw();
        CALL(cuGraphLaunch, ready, own.stream);
        c.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += now(i, j) != exact(i, j);
        CHECK(wrong == 0);
    }
    CALL(cuGraphExecDestroy, ready);
    CALL(cuGraphDestroy, graph);
}

TEST_CASE(
    "of rows padded to multiples of 16 bytes, or not at all, what lies between is neither read nor written") {
    sg::cuda const gpu;
    // All bytes around the operands are set: NaN in every type that has one.
    auto const check = [&]<class In, class Out>(In, Out, sg::cuda_tile const& tile, bool tf32 = false,
                                                bool odd = false) {
        sg::cuda with{.tile = tile};
        with.tf32 = tf32;
        auto const padded = [odd](sg::index_t side, std::size_t element, sg::index_t more) {
            sg::index_t const unit = odd ? 1 : 16 / static_cast<sg::index_t>(element);
            return (side + unit - 1) / unit * unit + more * unit;
        };
        auto const laid_out = [](auto at, sg::index_t lines, sg::index_t length, sg::index_t line) {
            std::vector<In> v(static_cast<std::size_t>(lines * line));
            std::memset(static_cast<void*>(v.data()), 0xff, v.size() * sizeof(In));
            for (sg::index_t i = 0; i < lines; ++i)
                for (sg::index_t j = 0; j < length; ++j)
                    v[static_cast<std::size_t>(i * line + j)] = static_cast<In>(at(i, j));
            return v;
        };
        auto const a = [](sg::index_t i, sg::index_t l) { return static_cast<float>((3 * i + l) % 5 - 2); };
        auto const b = [](sg::index_t l, sg::index_t j) { return static_cast<float>((l + 2 * j) % 3 - 1); };
        int wrong = 0, touched = 0;
        for (sg::index_t n = 1; n <= tile.n + 2; ++n) {
            sg::index_t const m = 5 + 11 * n % 73, k = 1 + 7 * n % 61, around = 256;
            bool const by_columns = n % 4 < 2; // B
            sg::index_t const a_line = padded(k, sizeof(In), n % 2),
                              b_line = padded(by_columns ? k : n, sizeof(In), n / 2 % 2),
                              c_line = padded(n, sizeof(Out), n / 3 % 2);
            sg::index_t const before = n % 5 == 0 ? 1 : 0; // then the first element is not aligned
            auto const ha = laid_out(a, m, k, a_line);
            auto const hb =
                by_columns ? laid_out([&](sg::index_t j, sg::index_t l) { return b(l, j); }, n, k, b_line)
                           : laid_out(b, k, n, b_line);
            std::vector<std::byte> c(static_cast<std::size_t>(2 * around) +
                                         static_cast<std::size_t>(m * c_line + before) * sizeof(Out),
                                     std::byte{0xff});
            auto const bytes = static_cast<sg::index_t>(c.size());
            sg::footprint f;
            f.device = (ha.size() + hb.size()) * sizeof(In) + c.size() + 3 * 256;
            auto arena = gpu.reserve(f);
            arena.or_throw();
            auto const da = arena->template take<In>(m * a_line),
                       db = arena->template take<In>(static_cast<sg::index_t>(hb.size()));
            auto const dc = arena->template take<std::byte>(bytes);
            gpu.leaf().upload(ha.data(), da, m * a_line).or_throw();
            gpu.leaf().upload(hb.data(), db, static_cast<sg::index_t>(hb.size())).or_throw();
            gpu.leaf().upload(c.data(), dc, bytes).or_throw();
            sg::cuda_view<In const> const B{db, k, n, by_columns ? 1 : b_line, by_columns ? b_line : 1};
            sg::gemm(with, sg::cuda_view<In const>{da, m, k, a_line, 1}, B,
                     sg::cuda_view<Out>{sg::cuda_memory::cast<Out>(dc + around) + before, m, n, c_line, 1});
            gpu.leaf().download(dc, c.data(), bytes).or_throw();
            // What should be there is compared, and made what the rest is.
            Out* const got = reinterpret_cast<Out*>(c.data() + around) + before;
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) {
                    float exact = 0;
                    for (sg::index_t l = 0; l < k; ++l) exact += a(i, l) * b(l, j);
                    wrong += got[i * c_line + j] != static_cast<Out>(exact);
                    std::memset(static_cast<void*>(&got[i * c_line + j]), 0xff, sizeof(Out));
                }
            for (std::byte const x : c) touched += x != std::byte{0xff};
        }
        INFO(sg::describe(tile));
        CHECK(with.describe(sg::shape<In, In, Out>{.m = 78, .n = tile.n + 2, .k = 61})
                  .find(sg::describe(tile)) != std::string::npos);
        CHECK(wrong == 0);
        CHECK(touched == 0);
    };
    using sg::cuda_engine;
    int const capability = gpu.where().capability;
    if (capability != 90) WARN("skipped: the kernels for Hopper");
    check(1.0f, 1.0f, {cuda_engine::blocked, 32, 32, 16, 2, 2, 2, 8});
    if (capability >= 90) {
        check(1.0f, 1.0f, {cuda_engine::simt, 64, 64, 32, 8, 4, 3, 2});
        check(1.0f, 1.0f, {cuda_engine::simt, 32, 64, 32, 8, 4, 3, 2}, false, true);
        check(1.0, 1.0, {cuda_engine::fp64, 64, 64, 16, 32, 32, 3, 2});
    }
    if (capability >= 80) {
        check(sg::half(), sg::half(), {cuda_engine::mma, 64, 64, 64, 32, 32, 3, 2});
        check(sg::half(), sg::half(), {cuda_engine::mma, 64, 64, 32, 32, 32, 1, 2});
        check(sg::bfloat16(), float(), {cuda_engine::mma, 128, 128, 32, 64, 32, 1, 8});
        check(std::int8_t(), std::int32_t(), {cuda_engine::mma, 64, 64, 128, 32, 32, 3, 2});
    }
    if (capability == 90) {
        check(sg::half(), sg::half(), {cuda_engine::wgmma, 64, 128, 64, 1, 1, 2, 2, 2});
        check(sg::half(), sg::half(), {cuda_engine::wgmma, 128, 192, 64, 1, 1, 2, 2});
        check(sg::half(), sg::half(), {cuda_engine::wgmma, 192, 192, 64, 1, 1, 2, 2, 2});
        check(sg::bfloat16(), float(), {cuda_engine::wgmma, 64, 64, 64, 1, 1, 2, 2});
        check(std::int8_t(), std::int32_t(), {cuda_engine::wgmma, 64, 64, 128, 1, 1, 2, 2});
        check(sg::fp8_e4m3(), float(), {cuda_engine::wgmma, 64, 64, 128, 1, 1, 2, 2});
        check(sg::fp8_e5m2(), sg::half(), {cuda_engine::wgmma, 64, 128, 128, 1, 1, 2, 2});
        check(1.0f, 1.0f, {cuda_engine::wgmma, 64, 128, 32, 1, 1, 2, 2}, true);
    }
}

TEST_CASE("a last round of tiles that is not full is divided along k") {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) WARN("skipped: tiles are not fetched by hardware here");
    auto const check = [&]<class T, class Out>(T, Out, sg::cuda_tile const& tile) {
        sg::cuda const with{.tile = tile};
        // Eight rows of tiles: rounds of all multiprocessors, of up to four tiles each, and some that are left. Small
        // tiles take lines that begin anywhere as they are, and are then not divided: lines of B do not. Five rows
        // of clusters, with one beyond C: they take a round, and begin another.
        bool const together = tile.cluster > 1;
        sg::index_t const columns = together ? gpu.where().units / 6 + 3 : gpu.where().units / 2 + 2,
                          m = (together ? 5 : 8) * tile.m - 3,
                          n = columns * tile.n - 48 / static_cast<sg::index_t>(sizeof(T)),
                          k = together ? 48 * tile.k + 28 : 1100;
        sg::matrix<T> const a(m, k, [](sg::index_t i, sg::index_t j) {
            return T(static_cast<float>((3 * i + 2 * j) % 9 - 4));
        });
        sg::matrix<T> const b(
            k, n, [](sg::index_t i, sg::index_t j) { return T(static_cast<float>((5 * i + j) % 7 - 3)); });
        sg::matrix<Out> const e(m, n,
                                [](sg::index_t i, sg::index_t j) { return static_cast<Out>((i + j) % 5); });
        sg::matrix<Out> exact = e, now(m, n), again(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, m, n);
        sg::gemm(sg::host{}, 2, a, b, 3, exact, sg::scale(Out(2)));
        CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k, .adds = true})
                  .find("of the last round k in parts") != std::string::npos);
        for (auto* const to : {&now, &again}) {
            dc.upload(e);
            sg::gemm(with, 2, da, db, 3, dc, sg::scale(Out(2)));
            dc.download(*to);
        }
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += now(i, j) != exact(i, j) || now(i, j) != again(i, j);
        CHECK(wrong == 0);
    };
    if (gpu.where().capability >= 90) {
        check(1.0f, 1.0f, {sg::cuda_engine::simt, 64, 64, 32, 4, 4, 3, 8});
        check(1.0f, 1.0f, {sg::cuda_engine::simt, 128, 64, 32, 8, 8, 3, 2});
        if (gpu.where().capability == 90)
            check(1.0f, 1.0f, {sg::cuda_engine::simt, 256, 192, 32, 16, 12, 3, 8});
        check(1.0, 1.0, {sg::cuda_engine::fp64, 64, 64, 16, 32, 32, 4, 8});
        check(1.0, 1.0, {sg::cuda_engine::fp64, 128, 64, 16, 32, 32, 8, 8});
        check(1.0, 1.0, {sg::cuda_engine::fp64, 128, 96, 16, 32, 48, 6, 8});
        check(1.0, 1.0, {sg::cuda_engine::fp64, 64, 32, 16, 32, 16, 4, 2});
    }
    if (gpu.where().capability == 90) {
        check(sg::half(), 1.0f, {sg::cuda_engine::wgmma, 64, 128, 64, 1, 1, 4, 2, 2});
        check(std::int8_t(), std::int32_t(), {sg::cuda_engine::wgmma, 64, 128, 128, 1, 1, 4, 8, 2});
    }
}

TEST_CASE("blocks of a cluster add up their parts of k") {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) WARN("skipped: there are no clusters here");
    auto const check = [&]<class T, class Out>(T, Out, sg::cuda_tile tile, sg::index_t m, sg::index_t n,
                                               sg::index_t k, bool turned) {
        tile.parts = 3;
        sg::cuda const with{.tile = tile};
        CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k}).find("the blocks of a cluster") !=
              std::string::npos);
        auto const value = [](sg::index_t x) { return static_cast<float>(x); };
        sg::matrix<T> const a(m, k, [&](auto i, auto j) { return T(value((3 * i + 2 * j) % 5 - 2)); });
        sg::matrix<T> const b(turned ? n : k, turned ? k : n,
                              [&](auto i, auto j) { return T(value((5 * i + j) % 3 - 1)); });
        sg::matrix<Out> const e(m, n, [&](auto i, auto j) { return Out(value((i + j) % 5)); });
        sg::matrix<Out> exact = e, now(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, e);
        auto const multiply = [&](auto const& policy, auto const& x, auto const& y, auto& to) {
            if (turned)
                sg::gemm(policy, 2, x, sg::transposed(y), 3, to);
            else
                sg::gemm(policy, 2, x, y, 3, to);
        };
        multiply(sg::host{}, a, b, exact);
        multiply(with, da, db, dc);
        dc.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact(i, j));
        CHECK(wrong == 0);
    };
    using sg::cuda_engine;
    if (gpu.where().capability < 90) return;
    check(1.0f, 1.0f, {cuda_engine::simt, 64, 64, 32, 8, 4, 3, 2}, 60, 61, 420, true);
    check(1.0f, 1.0f, {cuda_engine::simt, 64, 64, 32, 8, 4, 3, 2}, 60, 64, 419, false);
    check(sg::half(), float(), {cuda_engine::mma, 64, 64, 64, 32, 32, 3, 2}, 60, 61, 800, false);
    check(std::int8_t(), std::int32_t(), {cuda_engine::mma, 64, 64, 128, 32, 32, 3, 2}, 60, 61, 1500, true);
    // Few rows or columns: with B along k, along n in aligned lines, and in lines that begin anywhere.
    sg::cuda_tile const narrow{cuda_engine::narrow, 0, 0, 0, 1, 1, 1, 1, 2};
    for (sg::index_t const side : {200, 203}) {
        check(sg::half(), float(), narrow, 1, side, 701, false);
        check(sg::half(), float(), narrow, 3, side, 701, false);
        check(1.0f, 1.0f, narrow, 1, side, 701, false);
        check(1.0f, 1.0f, narrow, 3, side, 701, false);
        check(1.0, 1.0, narrow, 2, side, 701, false);
        check(std::int8_t(), std::int32_t(), narrow, 3, side, 701, false);
    }
    check(sg::half(), float(), narrow, 3, 203, 704, true);
    check(1.0f, 1.0f, narrow, 203, 3, 701, false);
    if (gpu.where().capability == 90) {
        check(sg::half(), float(), {cuda_engine::wgmma, 128, 64, 64, 1, 1, 3, 2}, 120, 56, 808, false);
        check(std::int8_t(), std::int32_t(), {cuda_engine::wgmma, 64, 64, 128, 1, 1, 3, 2}, 60, 61, 1500,
              true);
    }
}

TEST_CASE("products of 16 bits with few terms, or with few rows, run on tensor cores") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: chosen for Hopper");
        return;
    }
    sg::cuda_device h100 = gpu.where();
    h100.units = 132, h100.bytes_per_cycle = 14;
    auto const check = [&](sg::index_t m, sg::index_t n, sg::index_t k, sg::cuda_engine engine) {
        CAPTURE(m, n, k);
        sg::cuda_choice const choice = sg::choose(h100, 'h', 2, {m, n, k, 1}, {});
        CHECK(choice.tile.engine == engine);
        CHECK(choice.together == (engine == sg::cuda_engine::narrow));
        auto const value = [](sg::index_t x) { return sg::half(static_cast<float>(x)); };
        sg::matrix<sg::half> const a(m, k, [&](auto i, auto j) { return value((3 * i + 2 * j) % 5 - 2); });
        sg::matrix<sg::half> const b(k, n, [&](auto i, auto j) { return value((5 * i + j) % 3 - 1); });
        sg::matrix<sg::half> exact(m, n), now(m, n);
        sg::cuda::matrix<sg::half> da(gpu, a), db(gpu, b), dc(gpu, m, n);
        sg::gemm(sg::host{}, a, b, exact);
        sg::gemm(gpu, da, db, dc);
        dc.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact(i, j));
        CHECK(wrong == 0);
    };
    check(4744, 223, 23, sg::cuda_engine::mma); // lines begin anywhere
    check(792, 1645, 28, sg::cuda_engine::mma);
    check(220, 7, 6594, sg::cuda_engine::narrow);
    check(50, 1, 6592, sg::cuda_engine::narrow);
}

TEST_CASE("warps share the terms of few columns whose lines begin anywhere") {
    sg::cuda const gpu;
    if (gpu.where().capability < 80) {
        WARN("skipped: no tensor cores for that");
        return;
    }
    auto const value = [](sg::index_t x) { return sg::half(static_cast<float>(x)); };
    for (auto const [n, k] : {std::pair<sg::index_t, sg::index_t>{3, 333}, {11, 97}, {5, 1301}, {30, 259}}) {
        sg::index_t const m = 150;
        sg::matrix<sg::half> const a(m, k, [&](auto i, auto j) { return value((3 * i + 2 * j) % 5 - 2); });
        sg::matrix<sg::half> const b(n, k, [&](auto i, auto j) { return value((5 * i + j) % 3 - 1); });
        sg::matrix<sg::half> exact(m, n), now(m, n);
        sg::cuda::matrix<sg::half> da(gpu, a), db(gpu, b), dc(gpu, m, n);
        sg::gemm(sg::host{}, a, sg::transposed(b), exact);
        for (short const slices : {1, 2, 4, 8})
            for (short const parts : {1, 3}) {
                if (!sg::can_slice(n, slices)) continue;
                CAPTURE(n, k, slices, parts);
                short const cluster = parts > 1 && slices != 2 ? 2 : 1;
                sg::cuda with;
                with.tile = {sg::cuda_engine::narrow, 0, 0, 0, 1, 1, slices, 8, cluster, parts};
                dc.upload(sg::matrix<sg::half>(m, n, [&](auto, auto) { return value(77); }));
                sg::gemm(with, da, sg::transposed(db), dc);
                dc.download(now);
                int wrong = 0;
                for (sg::index_t i = 0; i < m; ++i)
                    for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact(i, j));
                CHECK(wrong == 0);
            }
    }
    sg::cuda_device h100 = gpu.where();
    h100.capability = 90, h100.units = 132, h100.bytes_per_cycle = 14;
    sg::cuda_choice const choice = sg::choose(h100, 'h', 2, {1691, 5, 411, 1}, {}, {true, true, true});
    CHECK((choice.shifted && choice.tile.engine == sg::cuda_engine::narrow && choice.tile.stages > 1));
}

TEST_CASE("tiles as wide as a round of blocks needs, and large ones that read lines along k") {
    sg::cuda const gpu;
    if (gpu.where().capability != 90) {
        WARN("skipped: tiles are not fetched by hardware here, or have other widths");
        return;
    }
    auto const check = [&]<class T, class Out>(T, Out, sg::cuda_tile const& tile, sg::index_t m,
                                               sg::index_t n, sg::index_t k, bool adds, bool b_along_k = true,
                                               bool a_along_k = true) {
        CAPTURE(sg::describe(tile), m, n, k, adds, b_along_k, a_along_k);
        sg::cuda with{.tile = tile};
        if (tile.engine == sg::cuda_engine::wgmma)
            with.tile.parts = 1; // and not as many as there is room for
        if (!b_along_k)
            CHECK(with.describe(sg::shape<T, T, Out>{.m = m, .n = n, .k = k}).find(sg::describe(tile)) !=
                  std::string::npos);
        auto const value = [](sg::index_t x) { return static_cast<float>(x); };
        sg::matrix<T> const a(a_along_k ? m : k, a_along_k ? k : m, [&](auto i, auto j) {
            auto const [i_of_c, l] = a_along_k ? std::pair{i, j} : std::pair{j, i};
            return T(value((3 * i_of_c + 2 * l) % 5 - 2));
        });
        sg::matrix<T> const b(b_along_k ? n : k, b_along_k ? k : n, [&](auto i, auto j) {
            auto const [l, j_of_c] = b_along_k ? std::pair{j, i} : std::pair{i, j};
            return T(value((5 * j_of_c + l) % 3 - 1));
        });
        sg::matrix<Out> const e(m, n, [&](auto i, auto j) { return Out(value((i + j) % 5)); });
        sg::matrix<Out> exact = e, now(m, n);
        sg::cuda::matrix<T> da(gpu, a), db(gpu, b);
        sg::cuda::matrix<Out> dc(gpu, e);
        int const beta = adds ? 3 : 0;
        auto const multiply = [&](auto const& policy, auto const& x, auto const& y, auto& to) {
            if (b_along_k && a_along_k)
                sg::gemm(policy, 2, x, sg::transposed(y), beta, to);
            else if (b_along_k)
                sg::gemm(policy, 2, sg::transposed(x), sg::transposed(y), beta, to);
            else if (a_along_k)
                sg::gemm(policy, 2, x, y, beta, to);
            else
                sg::gemm(policy, 2, sg::transposed(x), y, beta, to);
        };
        multiply(sg::host{}, a, b, exact);
        multiply(with, da, db, dc);
        dc.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact(i, j));
        CHECK(wrong == 0);
    };
    using sg::cuda_engine;
    // Blocks of a cluster share what they fetch, below and beside each other; some of them have no tile.
    for (auto const& [below, beside] :
         {std::pair<short, short>{1, 2}, {2, 2}, {4, 1}, {1, 4}, {2, 4}, {4, 2}, {8, 1}, {1, 8}})
        for (bool const along_k : {false, true}) {
            auto const tile = [&, below = below, beside = beside](short rows, short cols, short depth) {
                return sg::cuda_tile{cuda_engine::wgmma, rows, cols, depth, 1, 1, 3, 8, below, 0, beside};
            };
            check(sg::half(), sg::half(), tile(64, 64, 64), 328, 330, 200, false, along_k);
            check(sg::half(), float(), tile(64, 128, 64), 328, 336, 208, true, along_k, below == 2);
            check(sg::bfloat16(), sg::bfloat16(), tile(64, 128, 64), 136, 600, 264, false, along_k, false);
            if (below <= 2)
                check(sg::bfloat16(), sg::bfloat16(), tile(64, 80, 64), 200, 168, 136, false, along_k);
            check(std::int8_t(), std::int32_t(), tile(64, 64, 128), 328, 330, 400, along_k);
        }
    for (bool const adds : {false, true}) {
        for (sg::index_t const n : {336, 334, 331}) { // rows of C that the hardware stores, words, and others
            for (int const wide : {144, 160, 176, 208, 224, 240, 272, 288, 304}) {
                auto const width = static_cast<short>(wide);
                short const stages = wide > 240 ? 3 : 4;
                for (bool const b_along_k : {false, true}) {
                    check(sg::half(), sg::half(), {cuda_engine::wgmma, 128, width, 64, 1, 1, stages, 8}, 200,
                          n, 72, adds, b_along_k);
                    check(sg::half(), float(), {cuda_engine::wgmma, 128, width, 64, 1, 1, stages, 8, 2}, 200,
                          n, 72, adds, b_along_k);
                }
                check(std::int8_t(), std::int32_t(),
                      {cuda_engine::wgmma, 128, width, 128, 1, 1, stages, 8, static_cast<short>(1 + adds)},
                      200, n, 144, adds);
            }
            check(sg::bfloat16(), sg::bfloat16(), {cuda_engine::wgmma, 192, 160, 64, 1, 1, 4, 8}, 200, n, 72,
                  adds);
            check(sg::bfloat16(), float(), {cuda_engine::wgmma, 192, 144, 64, 1, 1, 4, 8, 2}, 200, n, 72,
                  adds);
        }
        for (sg::index_t const k : {400, 401, 402})
            for (auto const& [m, n] : {std::pair<sg::index_t, sg::index_t>{200, 300}, {4000, 90}}) {
                check(1.0f, 1.0f, {cuda_engine::simt, 128, 64, 32, 8, 8, 3, 8}, m, n, k, adds);
                check(1.0f, 1.0f, {cuda_engine::simt, 128, 96, 32, 8, 12, 3, 8}, m, n, k, adds);
                check(1.0f, 1.0f, {cuda_engine::simt, 128, 96, 32, 8, 12, 3, 8, 1, 3}, m, n, k, adds);
                check(1.0f, 1.0f, {cuda_engine::simt, 128, 128, 32, 8, 16, 3, 8}, m, n, k, adds);
                check(1.0f, 1.0f, {cuda_engine::simt, 256, 128, 32, 8, 16, 4, 8}, m, n, k, adds);
            }
    }
}

// In pieces of k, with and without parts; narrow ones; of few terms.
TEST_CASE("an element has the same bits, whatever is computed beside it") {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(1);
    invariance::compare<float, float>(gpu, from, 37, 70, 300, 7);
    invariance::compare<double, double>(gpu, from, 20, 33, 200, 7);
    invariance::compare<sg::bfloat16, float>(gpu, from, 18, 70, 530, 7);
    invariance::compare<sg::half, sg::half>(gpu, from, 70, 18, 41, 7);
    invariance::compare<std::complex<float>, std::complex<float>>(gpu, from, 9, 20, 70, 7);
    invariance::compare<sg::bfloat16, float>(gpu, from, 9, 20, 11, 7);
    invariance::compare<float, float>(gpu, from, 40, 3, 290, 4);
    invariance::compare<sg::bfloat16, float>(gpu, from, 3, 40, 1100, 4);
}

TEMPLATE_TEST_CASE(
    "ten thousand elements of random products have the same bits, whatever is computed beside them", "[real]",
    float, double, sg::bfloat16, sg::half) {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(2);
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    long compared = 0;
    for (int x = 0; x < 25; ++x)
        compared += invariance::compare<TestType, sg::accumulator_t<TestType>>(gpu, from, side(11), side(11),
                                                                               side(13), 14, 100);
    for (int x = 0; x < 10; ++x)
        compared += invariance::compare<TestType, TestType>(gpu, from, side(7), side(7), side(13), 14, 10);
    INFO(compared << " elements");
    CHECK(compared > 10000);
}
TEMPLATE_TEST_CASE("elements of complex products have the same bits, whatever is computed beside them",
                   "[real]", std::complex<float>, std::complex<double>) {
    sg::cuda const gpu{.invariant = true};
    support::random_source from(3);
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    for (int x = 0; x < 30; ++x)
        invariance::compare<TestType, TestType>(gpu, from, side(9), side(9), side(11), 14);
}
// What the order of the tensor cores rests on (choice.hpp): wgmma and mma round alike, whatever the order of the 16
// terms of an instruction, and doubles are summed one after another, of eight terms the even ones first.
TEMPLATE_TEST_CASE("wgmma and mma have the same bits", "[real]", sg::bfloat16, sg::half) {
    sg::index_t const n = 256;
    SUCCEED();
    if (sg::cuda().where().capability != 90) return;
    for (sg::index_t const k : {16, 64, 1000, 4096})
        for (double const phi : {0.0, 1.0, 4.0}) {
            auto const a = support::spread_out<TestType>(n, k, phi, 1),
                       b = support::spread_out<TestType>(k, n, phi, 2);
            auto const product = [&](sg::cuda_tile const& tile, auto const& term) {
                sg::matrix<TestType> const x(n, k,
                                             [&](sg::index_t i, sg::index_t l) { return a(i, term(l)); });
                sg::matrix<TestType> const y(k, n,
                                             [&](sg::index_t l, sg::index_t j) { return b(term(l), j); });
                sg::matrix<float> c(n, n);
                sg::gemm(sg::cuda{.tile = tile}, x, y, c);
                return c;
            };
            sg::cuda_tile const wgmma{sg::cuda_engine::wgmma, 64, 64, 64, 1, 1, 6, 8, 1, 1};
            sg::cuda_tile const mma{sg::cuda_engine::mma, 64, 64, 64, 32, 32, 3, 8, 1, 1};
            sg::cuda_tile const one_stage{sg::cuda_engine::mma, 64, 64, 32, 32, 32, 1, 8, 1, 1};
            auto const given = [](sg::index_t l) { return l; };
            auto const reversed = [&](sg::index_t l) {
                return l / 16 * 16 + 16 <= k ? l / 16 * 16 + 15 - l % 16 : l;
            };
            CAPTURE(k, phi);
            auto const c = product(wgmma, given);
            CHECK(support::same_bits(c, product(mma, given)));
            CHECK(support::same_bits(c, product(one_stage, given)));
            CHECK(support::same_bits(c, product(mma, reversed)));
            CHECK(support::same_bits(c, product(wgmma, reversed)));
        }
}
TEST_CASE("the tensor cores of sm_90 sum doubles one after another", "[real]") {
    SUCCEED();
    if (sg::cuda().where().capability != 90) return;
    sg::index_t const n = 128, k = 999;
    auto const a = support::spread_out<double>(n, k, 4, 1), b = support::spread_out<double>(k, n, 4, 2);
    sg::matrix<double> c(n, n);
    sg::gemm(sg::cuda{.tile = {sg::cuda_engine::fp64, 64, 64, 16, 32, 16, 6, 8, 1, 1}}, a, b, c);
    auto const in_order = [&](sg::index_t i, sg::index_t j) {
        double sum = 0;
        for (sg::index_t l0 = 0; l0 < k; l0 += 8)
            for (sg::index_t const t : {0, 2, 4, 6, 1, 3, 5, 7})
                if (l0 + t < k) sum = std::fma(a(i, l0 + t), b(l0 + t, j), sum);
        return sum;
    };
    CHECK(support::same_bits(c, sg::matrix<double>(n, n, in_order)));
}

// Explicit tiles keep the order, or are not used.
TEST_CASE("an explicit tile does not change the bits of an invariant product", "[real]") {
    sg::matrix<float> const a = support::fractions<float>(150, 1000, 4),
                            b = support::fractions<float>(1000, 90, 5);
    sg::matrix<float> c(150, 90), d(150, 90);
    sg::gemm(sg::cuda{.invariant = true}, a, b, c);
    for (sg::cuda_tile const tile : {sg::cuda_tile{sg::cuda_engine::simt, 256, 128, 32, 8, 16, 4, 8},
                                     sg::cuda_tile{sg::cuda_engine::blocked, 32, 64, 8, 4, 4, 2, 2},
                                     sg::cuda_tile{sg::cuda_engine::simt, 64, 64, 32, 4, 4, 3, 8, 1, 3}}) {
        sg::gemm(sg::cuda{.tile = tile, .invariant = true}, a, b, d);
        CHECK(support::same_bits(c, d));
    }
}

TEMPLATE_TEST_CASE("a product that keeps the device busy is right in every element", "[real]", double, float,
                   sg::bfloat16) {
    sg::cuda const gpu;
    if (gpu.where().capability < 90) {
        WARN("skipped: tiles are not fetched by hardware here");
        return;
    }
    // All rows of A are the same, and all columns of B, of integers: so is C, and a tile that is multiplied from other
    // terms of k than it should be shows. When tiles were refilled too soon, it took so large a product to.
    sg::index_t const n = 8192;
    auto const row = support::integers<TestType>(1, n, 1), column = support::integers<TestType>(n, 1, 2);
    float sum = 0;
    for (sg::index_t l = 0; l < n; ++l)
        sum += static_cast<float>(row(0, l)) * static_cast<float>(column(l, 0));
    auto const exact = static_cast<TestType>(sum);

    sg::cuda::matrix<TestType> const one_row(gpu, row), one_column(gpu, column);
    sg::cuda::matrix<TestType> a(gpu, n, n), b(gpu, n, n), c(gpu, n, n);
    gpu.leaf().copy(sg::cuda_view<TestType const>{one_row.data(), n, n, 0, 1}, a.view()).or_throw();
    gpu.leaf().copy(sg::cuda_view<TestType const>{one_column.data(), n, n, 1, 0}, b.view()).or_throw();
    sg::matrix<TestType> now(n, n);
    for (int time = 0; time < 2; ++time) {
        gpu.leaf().fill(c.view(), TestType(-1.0f)).or_throw();
        sg::gemm(gpu, a, b, c);
        c.download(now);
        sg::index_t wrong = 0;
        for (sg::index_t i = 0; i < n; ++i)
            for (sg::index_t j = 0; j < n; ++j) wrong += !(now(i, j) == exact);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a batch of more small products than are done at a time") {
    sg::cuda const gpu;
    auto const check = [&]<class T>(T, sg::index_t side) {
        sg::index_t const count = sg::index_t{1000} * gpu.where().units + 7, size = side * side;
        auto const some = [&](int step) {
            return sg::matrix<T>(count * side, side, [&](sg::index_t i, sg::index_t j) {
                return static_cast<T>(static_cast<float>((step * i + 2 * j + i / 100) % 7 - 3));
            });
        };
        sg::matrix<T> const a = some(3), b = some(5);
        sg::matrix<T> exact = some(1), now(count * side, side);
        sg::cuda::matrix<T> const da(gpu, a), db(gpu, b);
        sg::cuda::matrix<T> dc(gpu, exact);
        auto const all = [&](auto&& x) { return sg::batched(x.block(0, 0, side, side), count, size); };
        sg::gemm(sg::host{}, 2, all(a), all(b), 1, all(exact));
        sg::gemm(gpu, 2, all(da), all(db), 1, all(dc));
        dc.download(now);
        int wrong = 0;
        for (sg::index_t i = 0; i < count * side; ++i)
            for (sg::index_t j = 0; j < side; ++j)
                wrong += static_cast<float>(now(i, j)) != static_cast<float>(exact(i, j));
        CHECK(wrong == 0);
    };
    check(1.0f, 7); // of those whose blocks stay
    check(1.0f, 8);
    check(sg::half(1.0f), 16);
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
    for (sg::cuda_tile const tile : {sg::cuda_tile{sg::cuda_engine::simt, 64, 64, 32, 4, 4, 3, 8},
                                     sg::cuda_tile{sg::cuda_engine::blocked, 32, 64, 8, 4, 4, 2, 2}}) {
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
        for (bool const one : sg::share_out(device, 's', sizeof(float), all, 180, {}).alone) n += one;
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

TEST_CASE("what is refused, and why; C stays as it was") {
    product p;
    sg::cuda const gpu{.check_pointers = true};
    sg::matrix<float> const ones(33, 40, [](sg::index_t, sg::index_t) { return 1; });
    sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, ones);
    auto untouched = [&] {
        c.download(p.c);
        int n = 0;
        for (sg::index_t i = 0; i < 33; ++i)
            for (sg::index_t j = 0; j < 40; ++j) n += p.c(i, j) == 1;
        return n == 33 * 40;
    };

    SECTION("a pointer to the host") {
        sg::status const s = sg::try_gemm(gpu, sg::cuda::on_device(p.a), b, c);
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::argument);
        CHECK(says(s, "memory of the host"));
        CHECK(sg::try_gemm(gpu, a, b, c));
        c.upload(ones);
    }
    SECTION("more memory than the device has") {
        sg::footprint huge;
        huge.device = std::size_t{1} << 50;
        auto const arena = gpu.reserve(huge);
        REQUIRE(!arena);
        CHECK(arena.error().code() == sg::errc::memory);
        CHECK(std::string_view(arena.error().what()).find("CUDA_ERROR_OUT_OF_MEMORY") !=
              std::string_view::npos);
    }
    SECTION("no such device") {
        sg::status const s = sg::try_gemm(sg::cuda{.device = 63}, a, b, c);
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::unsupported);
        CHECK(s.error().layer() == "cuda");
    }
    SECTION("a kernel that does not compile") {
        sg::status const s = sg::try_gemm(gpu, a, b, c, nonsense{});
        REQUIRE(!s);
        CHECK(s.error().layer() == "cuda");
        CHECK(says(s, "no_such_name"));
    }
    CHECK(untouched());
}

TEST_CASE("an epilogue with values of several types") {
    product p;
    sg::cuda const gpu;
    sg::matrix<double> const rows(1, 33,
                                  [](sg::index_t, sg::index_t j) { return static_cast<double>(j % 5); });
    sg::cuda::matrix<double> const values(gpu, rows);
    sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b), c(gpu, 33, 40);
    sg::gemm(gpu, a, b, c, mixed{values.data()});
    c.download(p.c);
    int wrong = 0;
    for (sg::index_t i = 0; i < 33; ++i)
        for (sg::index_t j = 0; j < 40; ++j)
            wrong += p.c(i, j) != 2 * p.exact(i, j) + static_cast<float>(i % 5);
    CHECK(wrong == 0);
}
