// Libraries that stand before another one, whose functions the program would call without them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stratagemm_bindings {

// The files of all libraries that the program has loaded, also those that another library opened for itself.
std::vector<std::string> loaded_libraries();

// Whether an address is in the library that this code is part of.
bool is_in_this_library(void const* address);

// The function of this name that the program would call without us, or null. These are searched: the libraries after
// this one, and then all that are loaded. `marker`: a function that every copy of this library has. `fits`: whether a
// function of a library may be the one.
using is_fit = std::function<bool(std::string const& library, void* function)>;
void* find_beneath_us(char const* name, char const* marker, is_fit const& fits);

} // namespace stratagemm_bindings
