// What the first product of a process takes: opencl_start [PART OF A DEVICE'S NAME]
// Run it twice: the second finds the compiled kernel on disk. It prints milliseconds from main() until the product is
// there; of these, what the platforms took to start, which they do when first asked what devices there are, and every
// program pays; then what finding the device, a queue on it, the operands and the product took.
#include <stratagemm/backend/opencl.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;

int main(int argc, char** argv) try {
    auto const start = std::chrono::steady_clock::now();
    auto const since = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
    cl_uint platforms = 0, devices = 0;
    (void)clGetPlatformIDs(0, nullptr, &platforms);
    std::vector<cl_platform_id> all(platforms);
    (void)clGetPlatformIDs(platforms, all.data(), nullptr);
    for (cl_platform_id const p : all) (void)clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    double const started = since();
    sg::opencl const device = argc > 1 ? sg::opencl(sg::opencl::find(argv[1])) : sg::opencl();
    if (sg::status const s = device.ready(); !s) {
        std::printf("skipped: %s\n", s.error().what());
        return 77;
    }
    double const found = since();
    sg::matrix<float> const ones(256, 256, [](sg::index, sg::index) { return 1; });
    sg::opencl::matrix<float> const a(device, ones), b(device, ones);
    sg::opencl::matrix<float> c(device, 256, 256);
    double const brought = since();
    sg::gemm(device, a, b, c);
    device.synchronize().or_throw();
    double const done = since();
    sg::matrix<float> result(256, 256);
    c.download(result);
    std::printf(
        "%s: first product %.1f ms after the start: platforms %.1f, device %.1f, operands %.1f, product %.1f "
        "ms%s\n",
        device.where().name.c_str(), done, started, found - started, brought - found, done - brought,
        result(255, 255) == 256 ? "" : " WRONG");
    return 0;
} catch (sg::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
