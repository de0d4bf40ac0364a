// Devices, policies and operands, errors.
#include "cuda.hpp"

#include <stratagemm/algorithm/strassen.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace sg = stratagemm;
using namespace on_cuda;

namespace {

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

TEST_CASE("an estimate is for operands that lie as the shape says") {
    sg::cuda const gpu;
    if (sg::cuda::devices().front().capability < 90) return;
    // Tensor cores take bytes along k: a B in rows is turned before.
    using bytes = sg::shape<std::int8_t, std::int8_t, std::int32_t>;
    bytes const in_rows{.m = 1024, .n = 1024, .k = 1024},
        as_it_lies{.m = 1024, .n = 1024, .k = 1024, .b_across = true};
    CHECK(gpu.estimate(as_it_lies) < 0.9 * gpu.estimate(in_rows));
    // Few rows are multiplied as the transpose.
    bytes const few{.m = 4, .n = 8192, .k = 4096},
        few_along_k{.m = 4, .n = 8192, .k = 4096, .b_across = true};
    CHECK(gpu.estimate(few_along_k) != gpu.estimate(few));
    // None is done sooner than the host queues it.
    CHECK(gpu.estimate(sg::shape<float>{.m = 2, .n = 2, .k = 2}) > 3e-6);
    CHECK(gpu.estimate(sg::shape<float>{.m = 2, .n = 2, .k = 2}) < 4e-6);
}

TEST_CASE("an estimate counts the instructions of an epilogue, as far as a shape says them") {
    sg::cuda const gpu;
    auto const takes = [&](sg::index_t k, auto const& epilogue) {
        sg::shape<sg::half> s{.m = 4096, .n = 4096, .k = k};
        s.after = sg::instructions_of(epilogue);
        return gpu.estimate(s);
    };
    std::vector<float> const v(4096);
    auto const share = [&](sg::index_t k, auto const& epilogue) {
        return takes(k, epilogue) / takes(k, sg::identity{}) - 1;
    };
    CHECK(share(512, sg::identity{}) == 0);
    CHECK(share(512, sg::relu) > 0);
    CHECK(share(512, sg::gelu) > share(512, sg::relu));
    CHECK(share(512, sg::then(sg::bias(v), sg::gelu)) > share(512, sg::gelu));
    CHECK(share(16384, sg::gelu) < share(512, sg::gelu) / 4); // for each element of C, however long its sum
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
TEST_CASE("what a kernel did before is reported", "[.]") {
    product p;
    sg::cuda const gpu;
    sg::cuda::matrix<float> a(gpu, p.a), b(gpu, p.b);
    auto const nowhere = sg::cuda::on_device(sg::row_major(reinterpret_cast<float*>(64), 33, 40));
    REQUIRE(sg::try_gemm(gpu, a, b, nowhere)); // queued
    sg::status const first = gpu.synchronize();
    sg::status const next = sg::try_gemm(gpu, a, b, nowhere);
    bool const reported = !first && says(first, "a kernel that ran before has failed") && !next &&
                          says(next, "a kernel that ran before has failed");
    if (!first) std::printf("%s\n", first.error().what());
    if (!next) std::printf("%s\n", next.error().what());
    std::fflush(stdout);
    std::_Exit(reported ? 42 : 1);
}
TEST_CASE("a device error from before", "[real]") {
    char self[4096] = "";
    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    std::string const command = std::string("'") + self + "' 'what a kernel did before is reported'";
    int const ended = std::system(command.c_str());
    CHECK(WEXITSTATUS(ended) == 42);
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
