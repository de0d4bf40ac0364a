#include "array.hpp"

#include "device.hpp"

#include <memory>
#include <new>

namespace stratagemm_python {
namespace {

// What `array` objects and capsules of them share.
struct storage {
    tensor how;
    Py_ssize_t shape[most_dimensions], strides[most_dimensions]; // strides in bytes, for buffers
    std::int64_t dlpack_shape[most_dimensions], dlpack_strides[most_dimensions];
    std::unique_ptr<std::byte, void (*)(std::byte*)> host{
        nullptr, [](std::byte* p) { ::operator delete(p, std::align_val_t(64)); }};
    dlpack::stream stream; // which outlives the memory
    std::shared_ptr<void> on_device;
};
struct array_object {
    PyObject_HEAD storage* of;
};
PyTypeObject* array_type = nullptr;

storage& of(PyObject* self) { return *reinterpret_cast<array_object*>(self)->of; }

void destroy(PyObject* self) {
    delete reinterpret_cast<array_object*>(self)->of;
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}
PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_TypeError,
                    "stratagemm.array: gemm() and its kin make arrays; there is no other way");
    return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* to, int flags) {
    storage& s = of(self);
    auto const refuse = [&](char const* why) {
        PyErr_SetString(PyExc_BufferError, why);
        to->obj = nullptr;
        return -1;
    };
    if (s.how.device != on_host || !facts(s.how.type).format)
        return refuse("stratagemm.array: this one has no buffer; from_dlpack() of its library takes it");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
        return refuse("stratagemm.array: it lies by rows, and was asked for by columns");
    index_t count = 1;
    for (int i = 0; i < s.how.dimensions; ++i) count *= s.how.side[i];
    *to = Py_buffer{};
    to->buf = s.how.data, to->obj = self, to->itemsize = facts(s.how.type).bytes,
    to->len = count * to->itemsize;
    to->ndim = s.how.dimensions;
    to->format = flags & PyBUF_FORMAT ? const_cast<char*>(facts(s.how.type).format) : nullptr;
    to->shape = flags & PyBUF_ND ? s.shape : nullptr;
    to->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? s.strides : nullptr;
    Py_INCREF(self);
    return 0;
}

dlpack::array described(storage& s) {
    kind_facts const& type = facts(s.how.type);
    bool const is_host = s.how.device == on_host;
    return {s.how.data,
            {is_host ? dlpack::cpu : dlpack::cuda, is_host ? 0 : s.how.device},
            s.how.dimensions,
            {static_cast<std::uint8_t>(type.dlpack_code), static_cast<std::uint8_t>(type.dlpack_bits), 1},
            s.dlpack_shape,
            s.dlpack_strides,
            0};
}
template <class Managed>
void free_unused(PyObject* capsule, char const* name) {
    if (!PyCapsule_IsValid(capsule, name)) return; // somebody took it
    auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    managed->destroy(managed);
}
std::unique_ptr<dlpack::versioned_tensor> versioned() {
    auto made = std::make_unique<dlpack::versioned_tensor>();
    made->is = dlpack::ours;
    return made;
}
// What whoever takes it has to destroy; it holds the array.
template <class Managed>
std::unique_ptr<Managed> managed(PyObject* self, std::unique_ptr<Managed> made) {
    made->tensor = described(of(self)), made->context = self;
    made->destroy = [](Managed* m) {
        release_anywhere(m->context);
        delete m;
    };
    Py_INCREF(self);
    return made;
}
template <class Managed>
PyObject* capsule_of(PyObject* self, std::unique_ptr<Managed> empty, char const* name,
                     PyCapsule_Destructor destructor) {
    auto made = managed(self, std::move(empty));
    PyObject* const capsule = PyCapsule_New(made.get(), name, destructor);
    Managed* const given = made.release();
    if (!capsule) given->destroy(given);
    return capsule;
}

// Whether the consumer knows versioned capsules.
bool knows_versions(PyObject* newest) {
    if (!newest || newest == Py_None) return false;
    return two_numbers(newest, "max_version").first >= static_cast<Py_ssize_t>(dlpack::ours.major);
}
void wait_for(storage& s, PyObject* stream) {
    if (s.how.device == on_host) {
        if (stream && stream != Py_None) raise_value("stratagemm.array: an array on the host has no stream");
        return;
    }
    dlpack::stream other;
    if (stream && stream != Py_None) {
        other.number = PyLong_AsSsize_t(stream);
        if (other.number == -1 && PyErr_Occurred()) throw raised();
    }
    if (other.number != -1) check(order_streams(s.how.device, s.stream, other));
}
PyObject* to_capsule(PyObject* self, PyObject* arguments, PyObject* named) {
    return guarded([&]() -> PyObject* {
        PyObject *stream = nullptr, *newest = nullptr, *device = nullptr, *copy = nullptr;
        char const* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
        if (!PyArg_ParseTupleAndKeywords(arguments, named, "|$OOOO", const_cast<char**>(names), &stream,
                                         &newest, &device, &copy))
            throw raised();
        if (copy == Py_True) {
            PyErr_SetString(PyExc_BufferError, "stratagemm.array: __dlpack__ makes no copies");
            throw raised();
        }
        auto const where = described(of(self)).where;
        if (device && device != Py_None) {
            auto const [wanted, number] = two_numbers(device, "dl_device");
            if (wanted != where.kind || number != where.number) {
                PyErr_SetString(PyExc_BufferError,
                                "stratagemm.array: it lies on another device, and __dlpack__ "
                                "makes no copies");
                throw raised();
            }
        }
        wait_for(of(self), stream);
        if (!knows_versions(newest))
            return capsule_of(self, std::make_unique<dlpack::managed_tensor>(), dlpack::name,
                              [](PyObject* c) { free_unused<dlpack::managed_tensor>(c, dlpack::name); });
        return capsule_of(self, versioned(), dlpack::versioned_name, [](PyObject* c) {
            free_unused<dlpack::versioned_tensor>(c, dlpack::versioned_name);
        });
    });
}
PyObject* device_of(PyObject* self, PyObject*) {
    auto const where = described(of(self)).where;
    return Py_BuildValue("(ii)", static_cast<int>(where.kind), static_cast<int>(where.number));
}
PyObject* shape_of(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        storage const& s = of(self);
        object shape(PyTuple_New(s.how.dimensions));
        for (int i = 0; i < s.how.dimensions; ++i)
            if (PyTuple_SetItem(shape.get(), i, PyLong_FromSsize_t(s.how.side[i])) < 0) throw raised();
        return shape.release();
    });
}
PyObject* type_of(PyObject* self, void*) { return PyUnicode_FromString(facts(of(self).how.type).name); }

void make_room(storage& s, std::size_t bytes) {
    if (s.how.device == on_host) {
        s.host.reset(static_cast<std::byte*>(::operator new(bytes ? bytes : 1, std::align_val_t(64))));
        s.how.data = s.host.get();
    } else {
        auto made = device_memory(s.how.device, s.stream, bytes);
        check(made.take_status());
        s.on_device = *made, s.how.data = s.on_device.get();
    }
}

} // namespace

object new_array(kind type, int dimensions, index_t const* sides, int device, dlpack::stream const& stream,
                 tensor& described) {
    auto made = std::make_unique<storage>();
    storage& s = *made;
    s.how.type = type, s.how.dimensions = dimensions, s.how.device = device, s.how.writable = true;
    s.stream = stream;
    index_t next = 1;
    for (int i = dimensions; i-- > 0;) {
        s.how.side[i] = s.shape[i] = s.dlpack_shape[i] = sides[i];
        s.how.stride[i] = s.dlpack_strides[i] = next;
        s.strides[i] = next * facts(type).bytes;
        if (__builtin_mul_overflow(next, sides[i], &next) || next > (index_t{1} << 56))
            raise_value("gemm: the result has too many elements");
    }
    make_room(s, static_cast<std::size_t>(next) * static_cast<std::size_t>(facts(type).bytes));
    auto const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(array_type, Py_tp_alloc));
    object self(allocate(array_type, 0));
    reinterpret_cast<array_object*>(self.get())->of = made.release();
    described = s.how;
    return self;
}

object as_arrays_of(PyObject* like, object array) {
    storage& made = of(array.get());
    // Libraries whose arrays have buffers have no such functions.
    dlpack::exchange const* const library = PyObject_CheckBuffer(like) ? nullptr : exchange_of(like);
    if (library &&
        (made.how.device == on_host || stream_of(*library, described(made).where) == made.stream.number)) {
        void* given = nullptr;
        // If it fails, nothing says whose the array is: it stays.
        if (library->give(managed(array.get(), versioned()).release(), &given) != 0) throw raised();
        return object(static_cast<PyObject*>(given));
    }
    static PyObject* const function = in_python("stratagemm._producers", "as_arrays_of").release();
    return object(PyObject_CallFunctionObjArgs(function, like, array.get(), nullptr));
}

void add_array_type(PyObject* module) {
    static PyMethodDef methods[] = {
        {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_capsule)),
         METH_VARARGS | METH_KEYWORDS, "The array as a capsule of DLPack."},
        {"__dlpack_device__", device_of, METH_NOARGS, "Kind and number of the device."},
        {}};
    static PyGetSetDef members[] = {{"shape", shape_of, nullptr, "Sides.", nullptr},
                                    {"dtype", type_of, nullptr, "The name of the element type.", nullptr},
                                    {}};
    static PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_methods, methods},
        {Py_tp_getset, members},
        {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
        {Py_tp_doc,
         const_cast<char*>("Memory of a result, for other libraries to take by DLPack or as a buffer.")},
        {}};
    static PyType_Spec spec{"stratagemm.array", sizeof(array_object), 0, Py_TPFLAGS_DEFAULT, slots};
    object type(PyType_FromSpec(&spec));
    array_type = reinterpret_cast<PyTypeObject*>(type.get());
    if (PyModule_AddObjectRef(module, "array", type.get()) < 0) throw raised();
    type.release(); // lives as long as the process
}

} // namespace stratagemm_python
