#include "python.hpp"

#include <cstdarg>

namespace stratagemm_python {

void raise_type(char const* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(PyExc_TypeError, format, arguments);
    va_end(arguments);
    throw raised();
}
void raise_value(char const* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(PyExc_ValueError, format, arguments);
    va_end(arguments);
    throw raised();
}
void raise_error(sg::error const& e) {
    PyObject* type = PyExc_ValueError;
    switch (e.code()) {
    case sg::errc::memory: type = PyExc_MemoryError; break;
    case sg::errc::unsupported:
    case sg::errc::native:
    case sg::errc::verification: type = PyExc_RuntimeError; break;
    default: break;
    }
    PyErr_SetString(type, e.what());
    throw raised();
}

void release_anywhere(void* object) {
    auto const state = PyGILState_Ensure();
    Py_DECREF(static_cast<PyObject*>(object));
    PyGILState_Release(state);
}

number_pair two_numbers(PyObject* x, char const* name) {
    number_pair all{};
    if (!PyTuple_Check(x) || PyTuple_Size(x) != 2) raise_type("%s: it is a tuple of two numbers", name);
    if (!PyArg_ParseTuple(x, "nn", &all.first, &all.second)) throw raised();
    return all;
}

} // namespace stratagemm_python
