// The type stratagemm.operand: a matrix that is more than an array, made of arrays that it borrows.
#pragma once

#include "borrowed.hpp"
#include "product.hpp"

namespace stratagemm_python {

void add_operand_type(PyObject* module);
// What the object stands for, or null if it is no such operand.
structured const* operand_in(PyObject* x);

PyObject* make_csr(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* make_toeplitz(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* make_factored(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);

} // namespace stratagemm_python
