// The BLAS beneath: the library whose functions the program would call without this one.
#pragma once

#include <string>

namespace stratagemm_blas {

// How wide the integers of a function are: `in_name` if its name says so, or says whose it is.
enum class width : unsigned char { narrow, wide, in_name };

// Takes this library for the BLAS beneath. Says why it cannot be that: it is not found, or it is this library.
std::string open_beneath(char const* path);

// The function of this name there, or null. Unless a library was opened, these are searched: the libraries after this
// one, and then all that the program has loaded, also those that a module of Python opened for itself.
void* find_beneath(char const* name, width integers);

// The BLAS of the program, if it has one and that takes integers of another width under the same names.
std::string other_width(width integers);

} // namespace stratagemm_blas
