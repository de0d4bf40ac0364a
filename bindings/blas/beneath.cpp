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

} // namespace

std::string open_beneath(char const* path) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) return std::string("cannot be opened: ") + dlerror();
    if (dlsym(library, "stratagemm_blas_version"))
        return "'" + std::string(path) + "' is this library; name the BLAS that it stands before";
    opened = library;
    return {};
}

void* find_beneath(char const* name) {
    if (opened) return dlsym(opened, name);
    if (void* const next = dlsym(RTLD_NEXT, name); next && !is_ours(next)) return next;
    for (std::string const& path : loaded_libraries()) {
        void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        void* const found = dlsym(library, name);
        dlclose(library); // it was loaded before, and stays
        if (found && !is_ours(found)) return found;
    }
    return nullptr;
}

} // namespace stratagemm_blas
