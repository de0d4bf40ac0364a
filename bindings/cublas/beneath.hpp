// The cuBLAS beneath: the library whose functions the program would call without this one. Declared here as far as it
// is called, so that no header of CUDA's libraries is needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stratagemm_cublas {

using handle = void*; // of cuBLAS or cublasLt
enum : int { success = 0, not_initialized = 1, execution_failed = 13 };

// The function of this name there, or null.
void* find_beneath(char const* name);

// Functions that ask; null where the library has none. Attributes of descriptors are read as the library stores them.
struct questions {
    int (*stream)(handle, void**);
    int (*pointer_mode)(handle, int*);
    int (*math_mode)(handle, int*);
    int (*atomics_mode)(handle, int*);
    int (*multiprocessors)(handle, int*);
    using attribute = int (*)(void const*, int, void*, std::size_t, std::size_t*);
    attribute of_matmul, of_layout;
    int (*make_matmul)(void**, int, int);
    int (*destroy_matmul)(void*);
    int (*make_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
    int (*destroy_layout)(void*);
};
questions const& ask();

} // namespace stratagemm_cublas
