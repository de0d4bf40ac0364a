#include "parts.hpp"
#include "queues.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <array>

namespace sg = stratagemm;

static_assert(sg::has_queues<sg::cuda_operations, sg::cuda_memory>);

TEST_CASE("CUDA: blocks of any strides go to the device and back, pinned or not, and nothing else changes") {
    sg::cuda const gpu;
    for (bool const pinned : {false, true})
        for (auto const& [m, n] : {std::array<sg::index_t, 2>{1, 1}, {1, 13}, {11, 1}, {7, 5}, {33, 64}}) {
            CAPTURE(pinned, m, n);
            CHECK(queues::wrong_copies<float>(gpu, m, n, pinned) == 0);
            CHECK(queues::wrong_copies<std::int8_t>(gpu, m, n, pinned) == 0);
        }
    CHECK(queues::wrong_copies<std::complex<double>>(gpu, 5, 6, false) == 0);
}

TEST_CASE("CUDA: blocks of more than a piece go to the device and back") {
    CHECK(queues::wrong_large_copies(sg::cuda{}) == 0);
}

TEST_CASE("CUDA: queues wait for each other by events") {
    CHECK(queues::wrong_products(sg::cuda{}, false) == 0);
    CHECK(queues::wrong_products(sg::cuda{}, true) == 0);
}

TEST_CASE("CUDA: what was queued on a queue that has gone is done") { queues::check_ends(sg::cuda{}); }

TEST_CASE("CUDA: what queues and copies refuse") {
    queues::check_errors(sg::cuda{});
    auto const none = sg::cuda{.device = 63}.leaf();
    for (sg::status const& s :
         {none.fork().take_status(), none.record().take_status(), none.pin(8).take_status(), none.wait({}),
          none.synchronize(sg::cuda_event{})}) {
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::unsupported);
    }
    CHECK(!sg::cuda_operations().record());
}

TEST_CASE("CUDA: host memory that is not pinned has been read, or written, when a copy returns") {
    sg::cuda const gpu;
    std::vector<float> host(3000 * 1000, 1.0f), back(host.size());
    sg::cuda::matrix<float> there(gpu, 3000, 1000);
    gpu.leaf().copy_async(sg::row_major<float const>(host.data(), 3000, 1000), there.view()).or_throw();
    std::fill(host.begin(), host.end(), 2.0f);
    gpu.leaf()
        .copy_async(sg::cuda_view<float const>(there.view()), sg::row_major(back.data(), 3000, 1000))
        .or_throw();
    CHECK(std::count(back.begin(), back.end(), 1.0f) == 3000 * 1000);
}

TEST_CASE("CUDA: operands on the host need no workspace there, however they lie") {
    sg::cuda const gpu;
    CHECK(queues::wrong_staged<float>(gpu) == 0);
    CHECK(queues::wrong_staged<std::complex<float>>(gpu) == 0);
    sg::shape<float> const shape{.m = 300, .n = 200, .k = 100, .adds = true};
    sg::footprint const f = sg::staged{gpu}.workspace(shape);
    CHECK(f.host == 0);
    CHECK(f.device == gpu.workspace(shape).device + sizeof(float) * (300 * 100 + 100 * 200 + 2 * 300 * 200));
}

TEST_CASE("CUDA: products in parts, on one device and on two") {
    sg::cuda const gpu, other;
    parts::check(gpu, other);
}
