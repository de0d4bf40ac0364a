// Libraries that stand before another one, whose functions the program would call without them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stratagemm_bindings {

// The files of all libraries that the program has loaded, also those that another library opened for itself.
std::vector<std::string> loaded_libraries();

// Whether a library, as dlopen gave it, is one of these bindings, under whatever name.
bool is_binding(void* library);

// The function of this name that the program would call without us, or null. These are searched: the libraries after
// this one, and then all that are loaded. `fits`: whether a function of a library may be the one.
using is_fit = std::function<bool(std::string const& library, void* function)>;
void* find_beneath_us(char const* name, is_fit const& fits);

// A function that is searched for once, when it is first asked for. Threads may ask at once.
class found_once {
public:
    // find() returns its address, or null.
    template <class Find>
    void* get(Find const& find) {
        if (!__atomic_load_n(&is_searched_, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&address_, find(), __ATOMIC_RELAXED);
            __atomic_store_n(&is_searched_, true, __ATOMIC_RELEASE);
        }
        return __atomic_load_n(&address_, __ATOMIC_RELAXED);
    }

private:
    void* address_ = nullptr; // atomic, as below
    bool is_searched_ = false;
};

} // namespace stratagemm_bindings
