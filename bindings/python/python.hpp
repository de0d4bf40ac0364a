// Python's stable interface, as this module uses it.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stratagemm/core/error.hpp>

#include <utility>

namespace stratagemm_python {

namespace sg = stratagemm;

// Thrown once an exception of Python is set.
struct raised {};

[[noreturn]] void raise_type(char const* format, ...);
[[noreturn]] void raise_value(char const* format, ...);
// An error of the library as an exception with the same sentence.
[[noreturn]] void raise_error(sg::error const& e);
inline void check(sg::status const& s) {
    if (!s) raise_error(s.error());
}

// Owns a reference. A null pointer means that an exception is set.
class object {
public:
    object() = default;
    explicit object(PyObject* owned) : to_(owned) {
        if (!to_) throw raised();
    }
    static object borrowed(PyObject* x) {
        Py_INCREF(x);
        return object(x);
    }
    object(object&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    object& operator=(object other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~object() { Py_XDECREF(to_); }
    PyObject* get() const { return to_; }
    PyObject* release() { return std::exchange(to_, nullptr); }

private:
    PyObject* to_ = nullptr;
};

// Gives a reference back, also by a thread that does not have the interpreter's lock.
void release_anywhere(void* object);

// A function of a module that is written in Python.
inline object in_python(char const* module, char const* function) {
    object const known(PyImport_ImportModule(module));
    return object(PyObject_GetAttrString(known.get(), function));
}

// f() with exceptions of C++ as those of Python; what it returns, or `failed`.
template <class F, class R>
R guarded(R failed, F const& f) {
    try {
        return f();
    } catch (raised const&) {
    } catch (sg::error const& e) {
        try {
            raise_error(e);
        } catch (raised const&) {
        }
    } catch (std::bad_alloc const&) {
        PyErr_NoMemory();
    }
    return failed;
}
template <class F>
PyObject* guarded(F const& f) {
    return guarded(static_cast<PyObject*>(nullptr), f);
}

// A tuple of two whole numbers.
struct number_pair {
    Py_ssize_t first, second;
};
number_pair two_numbers(PyObject* x, char const* name);

// Without the interpreter's lock.
class unlocked {
public:
    unlocked() : state_(PyEval_SaveThread()) {}
    unlocked(unlocked const&) = delete;
    ~unlocked() { PyEval_RestoreThread(state_); }

private:
    PyThreadState* state_;
};

} // namespace stratagemm_python
