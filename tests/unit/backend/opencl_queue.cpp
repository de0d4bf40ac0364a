#include "../structure/panels.hpp"
#include "parts.hpp"
#include "queues.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <array>

namespace sg = stratagemm;

static_assert(sg::has_queues<sg::opencl_operations, sg::opencl_memory>);

TEST_CASE(
    "OpenCL: blocks of any strides go to the device and back, pinned or not, and nothing else changes") {
    sg::opencl const gpu;
    for (bool const pinned : {false, true})
        for (auto const& [m, n] : {std::array<sg::index_t, 2>{1, 1}, {1, 13}, {11, 1}, {7, 5}, {33, 64}}) {
            CAPTURE(pinned, m, n);
            CHECK(queues::wrong_copies<float>(gpu, m, n, pinned) == 0);
            CHECK(queues::wrong_copies<std::int8_t>(gpu, m, n, pinned) == 0);
        }
    if (gpu.where().has_double) CHECK(queues::wrong_copies<std::complex<double>>(gpu, 5, 6, false) == 0);
}

TEST_CASE("OpenCL: blocks of more than a piece go to the device and back") {
    CHECK(queues::wrong_large_copies(sg::opencl{}) == 0);
}

TEST_CASE("OpenCL: queues wait for each other by events") {
    CHECK(queues::wrong_products(sg::opencl{}, false) == 0);
    CHECK(queues::wrong_products(sg::opencl{}, true) == 0);
}

TEST_CASE("OpenCL: what was queued on a queue that has gone is done") { queues::check_ends(sg::opencl{}); }

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

} // namespace

TEST_CASE("OpenCL: on a queue that is out of order, copies keep theirs") {
    own_queue const own(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    sg::opencl const gpu(own.queue);
    CHECK(queues::wrong_copies<float>(gpu, 7, 5, false) == 0);
    CHECK(queues::wrong_products(gpu, false) == 0);
    queues::check_ends(gpu);
}

TEST_CASE("OpenCL: what queues and copies refuse") {
    sg::opencl const gpu;
    queues::check_errors(gpu);
    own_queue const own;
    sg::opencl const other(own.queue);
    sg::opencl::matrix<float> there(other, 6, 5);
    sg::matrix<float> const a(6, 5, [](sg::index_t, sg::index_t) { return 1; });
    sg::status const foreign = gpu.leaf().copy_async(a.view(), there.view());
    REQUIRE(!foreign);
    CHECK(foreign.error().native_code() == CL_INVALID_CONTEXT);
    auto e = other.leaf().record();
    e.or_throw();
    sg::status const waits = gpu.leaf().wait(*e);
    REQUIRE(!waits);
    CHECK(waits.error().code() == sg::errc::native);
    CHECK(waits.error().native_code() == CL_INVALID_CONTEXT);
    sg::opencl::matrix<float> small(gpu, 6, 5);
    auto beyond = small.view();
    beyond.row_stride = 100;
    sg::status const outside = gpu.leaf().copy_async(a.view(), beyond);
    REQUIRE(!outside);
    CHECK(outside.error().native_code() == CL_INVALID_VALUE);

    sg::opencl_operations const none(
        std::make_shared<sg::opencl_session>(sg::error(sg::errc::unsupported, "opencl", "no device")));
    for (sg::status const& s :
         {none.fork().take_status(), none.record().take_status(), none.pin(8).take_status(), none.wait({}),
          none.synchronize(sg::opencl_event{})}) {
        REQUIRE(!s);
        CHECK(s.error().code() == sg::errc::unsupported);
    }
}

TEST_CASE("OpenCL: operands on the host need no workspace there, however they lie") {
    sg::opencl const gpu;
    CHECK(queues::wrong_staged<float>(gpu) == 0);
    CHECK(queues::wrong_staged<std::complex<float>>(gpu) == 0);
    sg::shape<float> const shape{.m = 300, .n = 200, .k = 100, .adds = true};
    sg::footprint const f = sg::staged{gpu}.workspace(shape);
    CHECK(f.host == 0);
    CHECK(f.device == gpu.workspace(shape).device + sizeof(float) * (300 * 100 + 100 * 200 + 2 * 300 * 200));
}

// Devices copy from each other by way of the host.
TEST_CASE("OpenCL: products of panels are those of the reference") {
    CHECK(panel_tests::wrong_products<float>(std::vector<sg::opencl>(3)) == 0);
    CHECK(panel_tests::wrong_vectors(std::vector<sg::opencl>(3)) == 0);
}

TEST_CASE("OpenCL: products in parts, on one device and on two") {
    sg::opencl const gpu, other;
    parts::check(gpu, other);
}
