#include "borrowed.hpp"

#include "arguments.hpp"

#include <cstring>

namespace stratagemm_python {
namespace {

kind kind_of_format(char const* format) {
    if (!format) return kind::none;
    if (*format == '<' || *format == '=' || *format == '@') ++format;
    bool const is_complex = *format == 'Z';
    if (is_complex) ++format;
    if (format[0] == '\0' || format[1] != '\0') return kind::none;
    switch (*format) {
    case 'f': return is_complex ? kind::complex64 : kind::float32;
    case 'd': return is_complex ? kind::complex128 : kind::float64;
    case 'e': return kind::float16;
    case 'b': return kind::int8;
    case 'i': return kind::int32;
    case 'l':
    case 'q': return kind::int64;
    default: return kind::none;
    }
}
kind kind_of_element(dlpack::element const& e) {
    if (e.lanes == 1)
        for (int k = 1; k <= static_cast<int>(kind::int64); ++k)
            if (auto const& known = facts(static_cast<kind>(k));
                known.dlpack_code == e.code && known.dlpack_bits == e.bits)
                return static_cast<kind>(k);
    return kind::none;
}

[[noreturn]] void refuse_elements(char const* name, char const* type) {
    raise_type("%s: its elements are of no type that is multiplied here ('%s'); there are float32, float64, "
               "complex64, "
               "complex128, float16, bfloat16 and int8",
               name, type);
}
void check_dimensions(char const* name, int dimensions) {
    if (dimensions > most_dimensions)
        raise_value("%s: it has %d dimensions, and %d are the most", name, dimensions, most_dimensions);
}
int alignment_of(int bytes) { return bytes > 8 ? 8 : bytes; }
bool is_aligned(void const* data, int bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment_of(bytes)) == 0;
}

// The stream on which the library of an array works now, where that library says so.
dlpack::stream stream_of_producer(PyObject* from) {
    static PyObject* const function = in_python("stratagemm._producers", "stream_of").release();
    object const answer(PyObject_CallFunctionObjArgs(function, from, nullptr));
    Py_ssize_t number = 0;
    PyObject* owner = nullptr;
    if (!PyArg_ParseTuple(answer.get(), "nO", &number, &owner)) throw raised();
    dlpack::stream found{true, number};
    if (owner != Py_None) {
        Py_INCREF(owner);
        found.kept = std::shared_ptr<void>(owner, release_anywhere);
    }
    return found;
}

// Calls from.__dlpack__ for the newest capsule that both sides know: producers before DLPack 1.0 know no max_version.
object capsule_of(PyObject* method, dlpack::stream const* stream) {
    object const none(PyTuple_New(0));
    object named(PyDict_New());
    if (stream) {
        object const number(PyLong_FromSsize_t(stream->number));
        if (PyDict_SetItemString(named.get(), "stream", number.get()) < 0) throw raised();
    }
    object const newest(Py_BuildValue("(II)", dlpack::ours.major, dlpack::ours.minor));
    if (PyDict_SetItemString(named.get(), "max_version", newest.get()) < 0) throw raised();
    if (PyObject* const capsule = PyObject_Call(method, none.get(), named.get())) return object(capsule);
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw raised();
    PyErr_Clear();
    if (PyDict_DelItemString(named.get(), "max_version") < 0) throw raised();
    return object(PyObject_Call(method, none.get(), named.get()));
}

// Whether an array takes part in automatic differentiation, of which its memory alone says nothing. Its __dlpack__
// refuses it; the functions of an exchange do not.
bool is_differentiated(PyObject* array) {
    static PyObject* const name = object(PyUnicode_InternFromString("requires_grad")).release();
    PyObject* const value = PyObject_GetAttr(array, name);
    if (!value) return PyErr_Clear(), false;
    object const held(value);
    return truth(value);
}
bool is_on_cuda(dlpack::device const& where) {
    return where.kind == dlpack::cuda || where.kind == dlpack::cuda_managed;
}

} // namespace

dlpack::exchange const* exchange_of(PyObject* array) {
    static PyObject* const name = object(PyUnicode_InternFromString(dlpack::exchange_attribute)).release();
    PyObject* const found = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name);
    if (!found) return PyErr_Clear(), nullptr;
    object const capsule(found);
    if (!PyCapsule_IsValid(found, dlpack::exchange_name)) return nullptr;
    auto const* known =
        static_cast<dlpack::exchange const*>(PyCapsule_GetPointer(found, dlpack::exchange_name));
    while (known && known->is.major != dlpack::ours.major) known = known->earlier;
    return known;
}
std::intptr_t stream_of(dlpack::exchange const& library, dlpack::device const& where) {
    void* current = nullptr;
    if (library.stream(where.kind, where.number, &current) != 0) return PyErr_Clear(), -1;
    return current ? reinterpret_cast<std::intptr_t>(current) : 1;
}

void borrowed::take(PyObject* from, char const* name, dlpack::stream& stream) {
    if (PyObject_CheckBuffer(from) && take_buffer(from, name)) return;
    if (!take_exchanged(from, name, stream)) take_capsule(from, name, stream);
}

bool borrowed::take_buffer(PyObject* from, char const* name) {
    if (PyObject_GetBuffer(from, &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        // An array on a device may be of a type that has buffers elsewhere, and types of elements may have no format.
        PyObject *type_of, *value, *traceback;
        PyErr_Fetch(&type_of, &value, &traceback);
        object const known(PyUnicode_FromString("__dlpack__"));
        bool const has_capsule = PyObject_HasAttr(from, known.get()) != 0;
        PyErr_Restore(type_of, value, traceback);
        if (!has_capsule) throw raised();
        PyErr_Clear();
        return false;
    }
    held_ = by::buffer;
    type = kind_of_format(buffer_.format);
    if (type == kind::none) refuse_elements(name, buffer_.format ? buffer_.format : "B");
    check_dimensions(name, buffer_.ndim);
    data = buffer_.buf, dimensions = buffer_.ndim, device = on_host, writable = !buffer_.readonly;
    int const bytes = facts(type).bytes;
    int const shift = __builtin_ctz(static_cast<unsigned>(bytes));
    bool lies_well = is_aligned(data, bytes);
    for (int i = 0; i < dimensions; ++i) {
        side[i] = buffer_.shape[i];
        index_t const distance = buffer_.strides[i];
        stride[i] = distance >> shift;
        if ((distance & (bytes - 1)) != 0) {
            lies_well &= side[i] <= 1;
            stride[i] = 1;
        }
    }
    if (!lies_well) copy_buffer();
    return true;
}

void borrowed::copy_buffer() {
    copy_.reset(new std::byte[static_cast<std::size_t>(buffer_.len)]);
    order_ = PyBuffer_IsContiguous(&buffer_, 'F') ? 'F' : 'C';
    if (PyBuffer_ToContiguous(copy_.get(), &buffer_, buffer_.len, order_) < 0) throw raised();
    data = copy_.get();
    index_t next = 1;
    for (int i = 0; i < dimensions; ++i) {
        int const at = order_ == 'F' ? i : dimensions - 1 - i;
        stride[at] = next, next *= side[at];
    }
}
void borrowed::write_back() {
    if (copy_ && PyBuffer_FromContiguous(&buffer_, copy_.get(), buffer_.len, order_) < 0) throw raised();
}

bool borrowed::take_exchanged(PyObject* from, char const* name, dlpack::stream& stream) {
    dlpack::exchange const* const library = exchange_of(from);
    if (!library || is_differentiated(from)) return false;
    if (library->take(from, &versioned_) != 0) return PyErr_Clear(), false;
    held_ = by::versioned_capsule;
    dlpack::array const& a = versioned_->tensor;
    bool const is_cuda = is_on_cuda(a.where);
    std::intptr_t const current = is_cuda ? stream_of(*library, a.where) : 1;
    // A complex array may be conjugated, about which only __dlpack__ asks. __dlpack__ also lets one stream wait for another.
    bool const is_all = versioned_->is.major == dlpack::ours.major && a.type.code != dlpack::complex &&
                        (is_cuda ? current != -1 && (!stream.is_given || stream.number == current)
                                 : a.where.kind == dlpack::cpu || a.where.kind == dlpack::cuda_host);
    if (!is_all) return give_back(), false;
    if (is_cuda) stream = {true, current};
    writable = !(versioned_->flags & dlpack::read_only);
    describe(a, name);
    return true;
}

void borrowed::take_capsule(PyObject* from, char const* name, dlpack::stream& stream) {
    PyObject* const method = PyObject_GetAttrString(from, "__dlpack__");
    if (!method) {
        PyErr_Clear();
        object const type_of(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(from)), "__name__"));
        raise_type("%s: '%U' is no array: it has neither a buffer nor __dlpack__", name, type_of.get());
    }
    object const export_it(method);
    object const where(PyObject_CallMethod(from, "__dlpack_device__", nullptr));
    auto const [place, number] = two_numbers(where.get(), "__dlpack_device__");
    bool const is_cuda = place == dlpack::cuda || place == dlpack::cuda_managed;
    if (!is_cuda && place != dlpack::cpu && place != dlpack::cuda_host)
        raise_value("%s: it lies on a device of kind %zd, as DLPack counts; there are the host (1) and CUDA "
                    "devices (2)",
                    name, place);
    if (is_cuda && !stream.is_given) stream = stream_of_producer(from);
    object const capsule = capsule_of(export_it.get(), is_cuda ? &stream : nullptr);
    if (PyCapsule_IsValid(capsule.get(), dlpack::versioned_name)) {
        versioned_ = static_cast<dlpack::versioned_tensor*>(
            PyCapsule_GetPointer(capsule.get(), dlpack::versioned_name));
        if (versioned_->is.major != dlpack::ours.major)
            raise_value("%s: its capsule is of DLPack %u, and this module reads version %u", name,
                        versioned_->is.major, dlpack::ours.major);
        if (PyCapsule_SetName(capsule.get(), dlpack::used_versioned_name) < 0) throw raised();
        held_ = by::versioned_capsule;
        writable = !(versioned_->flags & dlpack::read_only);
        describe(versioned_->tensor, name);
    } else if (void* const found = PyCapsule_GetPointer(capsule.get(), dlpack::name)) {
        managed_ = static_cast<dlpack::managed_tensor*>(found);
        if (PyCapsule_SetName(capsule.get(), dlpack::used_name) < 0) throw raised();
        held_ = by::capsule;
        // Such a capsule does not say whether its array is immutable, as JAX's arrays on a device are: JAX 0.10 makes it
        // whatever version is asked for. An immutable array has no operator +=.
        writable = PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(from)), "__iadd__") != 0;
        describe(managed_->tensor, name);
    } else {
        throw raised();
    }
}

void borrowed::describe(dlpack::array const& a, char const* name) {
    type = kind_of_element(a.type);
    if (type == kind::none) refuse_elements(name, "a type of DLPack");
    check_dimensions(name, a.dimensions);
    device = is_on_cuda(a.where) ? a.where.number : on_host;
    data = static_cast<std::byte*>(a.data) + (a.data ? a.offset : 0);
    if (int const bytes = facts(type).bytes; !is_aligned(data, bytes))
        raise_value("%s: its address is no multiple of %d bytes; copy it first", name, alignment_of(bytes));
    dimensions = a.dimensions;
    index_t next = 1;
    for (int i = dimensions; i-- > 0;) {
        side[i] = a.sides[i];
        stride[i] = a.strides ? a.strides[i] : next;
        if (__builtin_mul_overflow(next, side[i], &next)) next = 0; // which the check of the product finds
    }
}

void borrowed::give_back() {
    if (held_ == by::nothing) return;
    // Whoever gave the array may run Python, which an exception that is set would disturb.
    PyObject *type_of, *value, *traceback;
    PyErr_Fetch(&type_of, &value, &traceback);
    if (held_ == by::buffer)
        PyBuffer_Release(&buffer_);
    else if (held_ == by::capsule && managed_->destroy)
        managed_->destroy(managed_);
    else if (held_ == by::versioned_capsule && versioned_->destroy)
        versioned_->destroy(versioned_);
    PyErr_Restore(type_of, value, traceback);
    held_ = by::nothing;
}

} // namespace stratagemm_python
