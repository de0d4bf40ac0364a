#include "beneath.hpp"

#include <dlfcn.h>
#include <link.h>

// What all copies of the bindings that are preloaded have, and nothing else.
extern "C" [[gnu::visibility("default")]] char const* stratagemm_binding_version() {
    return STRATAGEMM_BINDING_VERSION;
}

namespace stratagemm_bindings {
namespace {

void const* library_of(void const* address) {
    Dl_info found;
    return address && dladdr(address, &found) ? found.dli_fbase : nullptr;
}
bool is_in_this_library(void const* address) {
    static char const here = 0;
    return library_of(address) == library_of(&here);
}

} // namespace

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

bool is_binding(void* library) { return dlsym(library, "stratagemm_binding_version") != nullptr; }

void* find_beneath_us(char const* name, is_fit const& fits) {
    auto const may_be = [&](std::string const& library, void* function) {
        return function && !is_in_this_library(function) && fits(library, function);
    };
    Dl_info next;
    if (void* const found = dlsym(RTLD_NEXT, name);
        found && dladdr(found, &next) && may_be(next.dli_fname, found))
        return found;
    for (std::string const& path : loaded_libraries()) {
        void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!library) continue;
        void* const found = is_binding(library) ? nullptr : dlsym(library, name);
        dlclose(library); // it was loaded before, and stays
        if (may_be(path, found)) return found;
    }
    return nullptr;
}

} // namespace stratagemm_bindings
