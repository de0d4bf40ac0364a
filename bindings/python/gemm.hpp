// The functions of the module that multiply, and the type of plans.
#pragma once

#include "python.hpp"

namespace stratagemm_python {

PyObject* gemm(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* explain(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* fft(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* low_rank(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);
PyObject* policies(PyObject* module, PyObject* place);

void intern_names();
void add_plan_type(PyObject* module);
PyObject* make_plan_object(PyObject* module, PyObject* const* given, Py_ssize_t count, PyObject* names);

} // namespace stratagemm_python
