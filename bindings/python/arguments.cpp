#include "arguments.hpp"

namespace stratagemm_python {

void signature::intern() const {
    for (int i = 0; i < count; ++i)
        if (!interned[i]) interned[i] = object(PyUnicode_InternFromString(names[i])).release();
}

void signature::read(PyObject* const* given, Py_ssize_t by_place, PyObject* names_given,
                     PyObject** to) const {
    if (by_place > most_by_place)
        raise_type("%s: %zd arguments without a name, and %d are the most", function, by_place,
                   most_by_place);
    for (Py_ssize_t i = 0; i < by_place; ++i) to[i] = given[i];
    Py_ssize_t const named = names_given ? PyTuple_Size(names_given) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) {
        PyObject* const name = PyTuple_GetItem(names_given, i);
        int at = 0;
        while (at < count && interned[at] != name) ++at;
        if (at == count) // the caller's names need not be interned
            for (at = 0; at < count && PyUnicode_Compare(interned[at], name) != 0;) ++at;
        if (at == count) raise_type("%s: there is no argument '%U'", function, name);
        if (to[at]) raise_type("%s: '%U' is given twice", function, name);
        to[at] = given[by_place + i];
    }
    for (int i = 0; i < required; ++i)
        if (!to[i]) raise_type("%s: '%s' is missing", function, names[i]);
}

double real_number(PyObject* x, char const* name) {
    double const value = PyFloat_AsDouble(x);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        raise_type("%s: it is a real number", name);
    }
    return value;
}
std::complex<double> number(PyObject* x, char const* name) {
    if (PyFloat_Check(x)) return PyFloat_AsDouble(x);
    if (!PyComplex_Check(x)) { // NumPy's numbers, too, know how to become complex
        PyObject* const method = PyObject_GetAttrString(x, "__complex__");
        if (!method) {
            PyErr_Clear();
            return real_number(x, name);
        }
        object const known(method);
        object const value(PyObject_CallNoArgs(known.get()));
        return {PyComplex_RealAsDouble(value.get()), PyComplex_ImagAsDouble(value.get())};
    }
    return {PyComplex_RealAsDouble(x), PyComplex_ImagAsDouble(x)};
}
Py_ssize_t whole_number(PyObject* x, char const* name) {
    Py_ssize_t const value = PyNumber_AsSsize_t(x, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        raise_type("%s: it is a whole number of 64 bits", name);
    }
    return value;
}
bool truth(PyObject* x) {
    int const is = PyObject_IsTrue(x);
    if (is < 0) throw raised();
    return is != 0;
}
char const* text(PyObject* x, char const* name) {
    if (!PyUnicode_Check(x)) raise_type("%s: it is a string", name);
    char const* const characters = PyUnicode_AsUTF8AndSize(x, nullptr);
    if (!characters) throw raised();
    return characters;
}

} // namespace stratagemm_python
