#include "beneath.hpp"

#include <dlfcn.h>
#include <link.h>
#include <vector>

// Another copy of this library, under whatever name, has it too.
extern "C" [[gnu::visibility("default")]] char const* stratagemm_blas_version() { return "0.1.0"; }

namespace stratagemm_blas {
namespace {

void* opened = nullptr;

void const* library_of(void const* address) {
    Dl_info found;
    return address && dladdr(address, &found) ? found.dli_fbase : nullptr;
}
bool is_ours(void const* address) { return library_of(address) == library_of(&opened); }

std::vector<std::string> loaded_libraries() {
    std::vector<std::string> all;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            if (info->dlpi_name && *info->dlpi_name)
                static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
            return 0;
        },
        &all);
    return all;
}
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
bool may_be_beneath(std::string const& path, void* function, width integers) {
    if (!function || is_ours(function)) return false;
    return integers == width::in_name ||
           !is_blas(path, integers == width::wide ? width::narrow : width::wide);
}

} // namespace

std::string open_beneath(char const* path) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return std::string("cannot be opened: ") + dlerror();
    if (dlsym(library, "stratagemm_blas_version"))
        return "'" + std::string(path) + "' is this library; name the BLAS that it stands before";
    opened = library;
    return {};
}

void* find_beneath(char const* name, width integers) {
    if (opened) return dlsym(opened, name);
    Dl_info next;
    if (void* const found = dlsym(RTLD_NEXT, name);
        found && dladdr(found, &next) && may_be_beneath(next.dli_fname, found, integers))
        return found;
    for (std::string const& path : loaded_libraries()) {
        void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        void* const found = dlsym(library, "stratagemm_blas_version") ? nullptr : dlsym(library, name);
        dlclose(library); // it was loaded before, and stays
        if (may_be_beneath(path, found, integers)) return found;
    }
    return nullptr;
}

std::string other_width(width integers) {
    std::string other;
    for (std::string const& path : loaded_libraries()) {
        if (is_blas(path, integers)) return {};
        if (is_blas(path, integers == width::wide ? width::narrow : width::wide)) other = path;
    }
    return other;
}

} // namespace stratagemm_blas
