// The BLAS beneath: the library whose functions the program would call without this one.
#pragma once

#include <string>

namespace stratagemm_blas {

// Takes this library for the BLAS beneath. Says why it cannot be that: it is not found, or it is this library.
std::string open_beneath(char const* path);

// The function of this name there, or null. Without a library that was opened: of the libraries after this one, and then
// of any other that the program has loaded, even one that it opened for itself as Python modules do.
void* find_beneath(char const* name);

} // namespace stratagemm_blas
