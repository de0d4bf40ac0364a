// Arrays of other libraries: by the buffer protocol, else by DLPack. They are borrowed, never copied, and held until
// the object that borrows them is destroyed.
#pragma once

#include "dlpack.hpp"
#include "python.hpp"
#include "tensor.hpp"

namespace stratagemm_python {

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
