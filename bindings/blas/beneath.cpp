#include "beneath.hpp"

#include "../beneath.hpp"

#include <dlfcn.h>

namespace stratagemm_blas {
namespace {

void* opened = nullptr;

// Whether a library is a BLAS whose plain names take integers of this width, as far as its file name says: Debian calls
// those of 64 bits libblas64.so.3 and libopenblas64.so.0.
bool is_blas(std::string const& path, width integers) {
    std::string const name = path.substr(path.rfind('/') + 1);
    for (char const* const stem : {"libblas", "libopenblas", "libblis"}) {
        std::string const wide = std::string(stem) + "64", narrow = std::string(stem) + ".so";
        if (name.rfind(integers == width::wide ? wide : narrow, 0) == 0) return true;
    }
    return false;
}

} // namespace

std::string open_beneath(char const* path) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return std::string("cannot be opened: ") + dlerror();
    if (stratagemm_bindings::is_binding(library))
        return "'" + std::string(path) + "' is this library; name the BLAS that it stands before";
    opened = library;
    return {};
}

void* find_beneath(char const* name, width integers) {
    if (opened) return dlsym(opened, name);
    width const other = integers == width::wide ? width::narrow : width::wide;
    return stratagemm_bindings::find_beneath_us(name, [&](std::string const& path, void*) {
        return integers == width::in_name || !is_blas(path, other);
    });
}

std::string other_width(width integers) {
    std::string other;
    for (std::string const& path : stratagemm_bindings::loaded_libraries()) {
        if (is_blas(path, integers)) return {};
        if (is_blas(path, integers == width::wide ? width::narrow : width::wide)) other = path;
    }
    return other;
}

} // namespace stratagemm_blas
