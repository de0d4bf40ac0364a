// The arguments of a function of the module, by place or by name, without a tuple or a dictionary.
#pragma once

#include "python.hpp"

#include <complex>

namespace stratagemm_python {

// `most_by_place`: how many may come without a name.
struct signature {
    char const* function;
    int required, most_by_place, count;
    char const* const* names;
    PyObject** interned; // `count` strings, made by intern()

    void intern() const;
    // Writes the argument with each name, or null, to `to`.
    void read(PyObject* const* given, Py_ssize_t by_place, PyObject* names_given, PyObject** to) const;
};
// A signature whose names are an enum, in order.
template <int Count>
struct named_arguments {
    PyObject* of[Count] = {};
    // None counts as absent.
    PyObject* operator[](int i) const { return of[i] == Py_None ? nullptr : of[i]; }
};

double real_number(PyObject* x, char const* name);
std::complex<double> number(PyObject* x, char const* name);
Py_ssize_t whole_number(PyObject* x, char const* name);
bool truth(PyObject* x);
// The text of a string. It lives as long as the string.
char const* text(PyObject* x, char const* name);

using fast_function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
inline PyCFunction as_method(fast_function f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

} // namespace stratagemm_python
