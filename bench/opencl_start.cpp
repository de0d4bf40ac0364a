// opencl_start [PART OF A DEVICE'S NAME]: see start.hpp.
#include "start.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <vector>

int main(int argc, char** argv) {
    return first_product(
        [] {
            cl_uint count = 0, devices = 0;
            (void)clGetPlatformIDs(0, nullptr, &count);
            std::vector<cl_platform_id> platforms(count);
            (void)clGetPlatformIDs(count, platforms.data(), nullptr);
            for (cl_platform_id const p : platforms)
                (void)clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
        },
        [&] { return argc > 1 ? sg::opencl(sg::opencl::find(argv[1])) : sg::opencl(); },
        [](sg::opencl const&) {});
}
