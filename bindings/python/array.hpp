// The type stratagemm.array: memory that the module makes for a result, on the host or on a CUDA device. Other
// libraries take it by the buffer protocol (host) or by DLPack, without a copy.
#pragma once

#include "borrowed.hpp"

namespace stratagemm_python {

// Adds the type to the module.
void add_array_type(PyObject* module);
// An array in row-major order whose elements are anything. `described`: how it lies.
object new_array(kind type, int dimensions, index_t const* sides, int device, dlpack::stream const& stream,
                 tensor& described);
// The array as the library of `like` has arrays, if that library is known; itself otherwise.
object as_arrays_of(PyObject* like, object array);

} // namespace stratagemm_python
