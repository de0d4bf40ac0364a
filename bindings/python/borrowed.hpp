// Arrays of other libraries: by the buffer protocol, else by DLPack. They are borrowed, and held until the object that
// borrows them is destroyed. A buffer whose elements do not lie at multiples of their size, such as one that came from
// another process or a field of records, is copied.
#pragma once

#include "dlpack.hpp"
#include "python.hpp"
#include "tensor.hpp"

#include <memory>

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
    // Puts the elements of a copy where the array has them.
    void write_back();

private:
    enum class by : unsigned char { nothing, buffer, capsule, versioned_capsule };

    bool take_buffer(PyObject* from, char const* name); // false: it has none, but perhaps a capsule
    // false: the array's __dlpack__ is needed, or says what is wrong.
    bool take_exchanged(PyObject* from, char const* name, dlpack::stream& on);
    void take_capsule(PyObject* from, char const* name, dlpack::stream& on);
    void copy_buffer();
    void describe(dlpack::array const& a, char const* name);
    void give_back();

    by held_ = by::nothing;
    union {
        Py_buffer buffer_;
        dlpack::managed_tensor* managed_;
        dlpack::versioned_tensor* versioned_;
    };
    std::unique_ptr<std::byte[]> copy_; // of buffer_, in its order
    char order_ = 'C';
};

} // namespace stratagemm_python
