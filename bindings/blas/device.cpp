#include "device.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace stratagemm_blas {
namespace {

constexpr auto names = [] {
    std::array<char const*, host_and_cuda + 2> all{};
    std::copy_n(stratagemm_bindings::device_policy_names, host_and_cuda, all.begin());
    all[host_and_cuda] = "automatic(host,cuda)", all[host_and_cuda + 1] = "opencl";
    return all;
}();

// The folder of this library.
std::string folder() {
    static char const here = 0;
    Dl_info found;
    std::string const path = dladdr(&here, &found) ? found.dli_fname : "";
    auto const slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

} // namespace

std::span<char const* const> device_policy_names() { return names; }

std::string open_device(std::ptrdiff_t name, device_policy& found) {
    bool const is_cuda = name <= host_and_cuda;
    std::string const file = is_cuda ? "libstratagemm-blas-cuda.so" : "libstratagemm-blas-opencl.so";
    // Beside this library, or beside the folder of libblas.so.3.
    void* library = dlopen((folder() + '/' + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    std::string const why = library ? "" : dlerror();
    if (!library) library = dlopen((folder() + "/../" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return "needs " + file + " beside this library: " + why;
    found.library = static_cast<device_library const*>(dlsym(library, "stratagemm_blas_device"));
    found.policy = is_cuda ? name : 0;
    if (!found) return file + " is of another version";
    sg::status const ready = found.library->ready();
    return ready ? "" : ready.error().what();
}

} // namespace stratagemm_blas
