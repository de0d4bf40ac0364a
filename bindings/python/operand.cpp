#include "operand.hpp"

#include "call.hpp"
#include "failed.hpp"

#include <memory>

namespace stratagemm_python {
namespace {

// The arrays are shared with the transposed operand, and with the conjugated one.
struct held {
    borrowed part[3];
};
struct operand_state {
    std::shared_ptr<held> arrays = std::make_shared<held>();
    structured what{};
};
struct operand_object {
    PyObject_HEAD operand_state* of;
};
PyTypeObject* operand_type = nullptr;

operand_state& of(PyObject* self) { return *reinterpret_cast<operand_object*>(self)->of; }

object wrapped(std::unique_ptr<operand_state> state) {
    auto const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(operand_type, Py_tp_alloc));
    object self(allocate(operand_type, 0));
    reinterpret_cast<operand_object*>(self.get())->of = state.release();
    return self;
}
void destroy(PyObject* self) {
    delete reinterpret_cast<operand_object*>(self)->of;
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}
PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_TypeError,
                    "stratagemm.operand: csr(), toeplitz(), factored() and low_rank() make operands");
    return nullptr;
}

PyObject* shape_of(PyObject* self, void*) {
    return Py_BuildValue("(nn)", of(self).what.rows, of(self).what.cols);
}
PyObject* type_of(PyObject* self, void*) { return PyUnicode_FromString(facts(of(self).what.type).name); }
PyObject* transposed(PyObject* self, void*) {
    return guarded([&] {
        auto made = std::make_unique<operand_state>(of(self));
        made->what.transposed = !made->what.transposed;
        std::swap(made->what.rows, made->what.cols);
        return wrapped(std::move(made)).release();
    });
}
PyObject* conjugated(PyObject* self, PyObject*) {
    return guarded([&] {
        auto made = std::make_unique<operand_state>(of(self));
        made->what.conjugated = !made->what.conjugated;
        return wrapped(std::move(made)).release();
    });
}

// Takes array number `at`, which has so many dimensions. All arrays lie in one place.
void take(operand_state& s, int at, PyObject* from, char const* name, int dimensions) {
    bool const is_first = !s.what.part[0] && !s.what.part[1] && !s.what.part[2];
    borrowed& to = s.arrays->part[at];
    to.take(from, name, s.what.on);
    if (is_first)
        s.what.device = to.device;
    else if (to.device != s.what.device)
        raise_value("%s: it lies on %s, and others on %s", name, name_of_place(to.device).c_str(),
                    name_of_place(s.what.device).c_str());
    if (to.dimensions != dimensions)
        raise_value("%s: it has %d dimensions, and not %d", name, to.dimensions, dimensions);
    s.what.part[at] = &to;
}
void check_contiguous(tensor const& x, char const* name) {
    if (x.side[0] > 1 && x.stride[0] != 1) raise_value("%s: its elements are not side by side", name);
}
bool is_index(kind k) { return k == kind::int32 || k == kind::int64; }
void check_arithmetic(kind k, char const* name) {
    if (k < kind::float32 || k > kind::complex128)
        raise_type("%s: its elements are %s; there are float32, float64, complex64 and complex128", name,
                   facts(k).name);
}

} // namespace

structured const* operand_in(PyObject* x) { return Py_TYPE(x) == operand_type ? &of(x).what : nullptr; }

PyObject* make_csr(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count != 5 || names) raise_type("csr: data, indices, indptr, rows and columns, please");
        auto made = std::make_unique<operand_state>();
        structured& s = made->what;
        take(*made, 2, given[0], "data", 1), take(*made, 1, given[1], "indices", 1);
        take(*made, 0, given[2], "indptr", 1);
        s.what = structure::csr, s.type = s.part[2]->type;
        s.rows = whole_number(given[3], "rows"), s.cols = whole_number(given[4], "columns");
        check_arithmetic(s.type, "data");
        if (!is_index(s.part[0]->type) || s.part[0]->type != s.part[1]->type)
            raise_type("csr: indices and indptr are of one type, int32 or int64");
        check_contiguous(*s.part[2], "data"), check_contiguous(*s.part[1], "indices");
        check_contiguous(*s.part[0], "indptr");
        if (s.rows < 0 || s.cols < 0 || s.part[0]->side[0] != s.rows + 1)
            raise_value("csr: indptr has %zd elements, and a matrix of %zd rows needs one more than rows",
                        s.part[0]->side[0], s.rows);
        if (s.part[1]->side[0] != s.part[2]->side[0])
            raise_value("csr: there are %zd indices and %zd elements", s.part[1]->side[0],
                        s.part[2]->side[0]);
        outcome const o = [&] {
            unlocked const others;
            return s.device == on_host ? check_structured(s) : check_structured_on_device(s);
        }();
        check(o);
        return wrapped(std::move(made)).release();
    });
}

PyObject* make_toeplitz(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count != 3 || names)
            raise_type("toeplitz: a column, a row or None, and whether by transforms, please");
        auto made = std::make_unique<operand_state>();
        structured& s = made->what;
        take(*made, 0, given[0], "column", 1);
        if (given[1] != Py_None) take(*made, 1, given[1], "row", 1);
        s.what = structure::toeplitz, s.type = s.part[0]->type, s.by_transforms = truth(given[2]);
        check_arithmetic(s.type, "column");
        if (s.part[1] && s.part[1]->type != s.type) raise_type("toeplitz: column and row are of one type");
        s.rows = s.part[0]->side[0], s.cols = s.part[s.part[1] ? 1 : 0]->side[0];
        return wrapped(std::move(made)).release();
    });
}

PyObject* make_factored(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count != 2 || names) raise_type("factored: two matrices, please");
        auto made = std::make_unique<operand_state>();
        structured& s = made->what;
        take(*made, 0, given[0], "u", 2), take(*made, 1, given[1], "v", 2);
        s.what = structure::factored, s.type = s.part[0]->type;
        check_arithmetic(s.type, "u");
        if (s.part[1]->type != s.type) raise_type("factored: u and v are of one type");
        s.rows = s.part[0]->rows(), s.cols = s.part[1]->cols();
        return wrapped(std::move(made)).release();
    });
}

void add_operand_type(PyObject* module) {
    static PyMethodDef methods[] = {
        {"conj", conjugated, METH_NOARGS, "The operand with conjugated elements."}, {}};
    static PyGetSetDef members[] = {{"shape", shape_of, nullptr, "Rows and columns.", nullptr},
                                    {"dtype", type_of, nullptr, "The name of the element type.", nullptr},
                                    {"T", transposed, nullptr, "The transposed operand.", nullptr},
                                    {}};
    static PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_methods, methods},
        {Py_tp_getset, members},
        {Py_tp_doc, const_cast<char*>("A matrix that is more than an array: gemm() takes it as A or B.")},
        {}};
    static PyType_Spec spec{"stratagemm.operand", sizeof(operand_object), 0, Py_TPFLAGS_DEFAULT, slots};
    object type(PyType_FromSpec(&spec));
    operand_type = reinterpret_cast<PyTypeObject*>(type.get());
    if (PyModule_AddObjectRef(module, "operand", type.get()) < 0) throw raised();
    type.release(); // lives as long as the process
}

} // namespace stratagemm_python
