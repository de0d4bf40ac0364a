// Arrays of other libraries: by the buffer protocol, else by DLPack. They are borrowed, never copied, and held until
// the object that borrows them is destroyed.
#pragma once

#include "dlpack.hpp"
#include "python.hpp"
#include "tensor.hpp"

namespace stratagemm_python {

// The functions of the library that an array is of, or null.
dlpack::exchange const* exchange_of(PyObject* array);
// On which stream that library works now on a device, or -1.
std::intptr_t stream_of(dlpack::exchange const& library, dlpack::device const& where);

class borrowed : public tensor {
public:
    borrowed() = default;
    borrowed(borrowed const&) = delete;
    borrowed& operator=(borrowed const&) = delete;
    ~borrowed() { give_back(); }

    // `name`: of the argument, for errors. Once only.
    void take(PyObject* from, char const* name, dlpack::stream& on);

private:
    enum class by : unsigned char { nothing, buffer, capsule, versioned_capsule };

    bool take_buffer(PyObject* from, char const* name); // false: it has none, but perhaps a capsule
    // false: the array's __dlpack__ is needed, or says what is wrong.
    bool take_exchanged(PyObject* from, char const* name, dlpack::stream& on);
    void take_capsule(PyObject* from, char const* name, dlpack::stream& on);
    void describe(dlpack::array const& a, char const* name);
    void give_back();

    by held_ = by::nothing;
    union {
        Py_buffer buffer_;
        dlpack::managed_tensor* managed_;
        dlpack::versioned_tensor* versioned_;
    };
};

} // namespace stratagemm_python
