#include "gemm.hpp"

#include "call.hpp"
#include "failed.hpp"

namespace stratagemm_python {
namespace {

PyObject* in_library_of(PyObject* like, object made, bool is_given) {
    if (is_given) return made.release();
    return as_arrays_of(like, std::move(made)).release();
}

// Another library's array with at least one dimension, on the host.
void take_on_host(borrowed& to, PyObject* from, char const* name) {
    dlpack::stream stream;
    to.take(from, name, stream);
    if (to.device != on_host)
        raise_value("%s: it lies on a CUDA device, and this function works on the host", name);
}

enum { x, axis, out, inverse, fft_count };
signature const& fft_signature() {
    static char const* const names[] = {"x", "axis", "out", "inverse"};
    static PyObject* interned[fft_count];
    static signature const all{"fft", 1, 1, fft_count, names, interned};
    return all;
}
kind complex_of(kind k) {
    if (k == kind::float32 || k == kind::complex64) return kind::complex64;
    if (k == kind::float64 || k == kind::complex128) return kind::complex128;
    raise_type("x: there is no transform of %s; there are float32, float64, complex64 and complex128",
               facts(k).name);
}
bool same_sides(tensor const& one, tensor const& other) {
    if (one.dimensions != other.dimensions) return false;
    for (int i = 0; i < one.dimensions; ++i)
        if (one.side[i] != other.side[i]) return false;
    return true;
}

enum { matrix, tolerance, rank, confidence, seed, low_rank_count };
signature const& low_rank_signature() {
    static char const* const names[] = {"a", "tolerance", "rank", "confidence", "seed"};
    static PyObject* interned[low_rank_count];
    static signature const all{"low_rank", 1, 1, low_rank_count, names, interned};
    return all;
}

} // namespace

void intern_names() {
    call::gemm_signature().intern();
    fft_signature().intern();
    low_rank_signature().intern();
}

PyObject* gemm(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&] {
        named_arguments<call::count> arguments;
        call::gemm_signature().read(given, count, names, arguments.of);
        call one(arguments);
        object c = one.result();
        check(one.run());
        PyObject* const like = arguments.of[one.of.a ? call::a : call::b];
        return in_library_of(like, std::move(c), arguments[call::out] != nullptr);
    });
}

PyObject* explain(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<call::count> arguments;
        call::gemm_signature().read(given, count, names, arguments.of);
        call const one(arguments);
        if (one.of.with) raise_type("explain: both operands are arrays");
        if (one.of.b->type != one.of.a->type || one.of.a->cols() != one.of.b->rows())
            raise_value("explain: these operands do not fit; gemm() says why");
        std::string text;
        if (one.is_on_device()) {
            check(describe_on_device(one.shape(), one.place(), one.chosen.of_device, text));
        } else {
            made_plan const made = make_plan(one.shape());
            check(made.error);
            text = made.what->describe();
        }
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    });
}

PyObject* policies(PyObject*, PyObject* place) {
    return guarded([&]() -> PyObject* {
        object names(PyList_New(0));
        auto const append = [&](char const* name) {
            object const one(PyUnicode_FromString(name));
            if (PyList_Append(names.get(), one.get()) < 0) throw raised();
        };
        if (truth(place))
            for (char const* const name : device_policies()) append(name);
        else
            for (auto const& one : stratagemm_bindings::policies()) append(one.name);
        return PyList_AsTuple(names.get());
    });
}

PyObject* fft(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<fft_count> arguments;
        fft_signature().read(given, count, names, arguments.of);
        borrowed from, into;
        take_on_host(from, arguments.of[x], "x");
        if (from.dimensions < 1) raise_value("x: it has no dimension to transform along");
        Py_ssize_t along = arguments[axis] ? whole_number(arguments[axis], "axis") : -1;
        if (along < 0) along += from.dimensions;
        if (along < 0 || along >= from.dimensions)
            raise_value("axis: there is no dimension %zd of %d", along, from.dimensions);
        tensor to;
        object made;
        kind const type = complex_of(from.type);
        if (arguments[out]) {
            take_on_host(into, arguments[out], "out");
            if (!into.writable) raise_value("out: it is read-only");
            if (!same_sides(from, into)) raise_value("out: its sides are not those of x");
            to = into, made = object::borrowed(arguments[out]);
        } else {
            made = new_array(type, from.dimensions, from.side, on_host, {}, to);
        }
        structured transform{};
        transform.what = structure::dft, transform.type = type;
        transform.rows = transform.cols = from.side[along];
        transform.inverse = arguments[inverse] && truth(arguments[inverse]);
        tensor lines = from;
        lines_to_columns(lines, static_cast<int>(along)), lines_to_columns(to, static_cast<int>(along));
        product p;
        auto const host = find_chosen(nullptr, false);
        p.b = &lines, p.c = &to, p.with = &transform, p.policy = host.of_host, p.policy_name = host.name;
        outcome const o = [&] {
            unlocked const others;
            return multiply(p);
        }();
        check(o);
        return in_library_of(arguments.of[x], std::move(made), arguments[out] != nullptr);
    });
}

PyObject* low_rank(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<low_rank_count> arguments;
        low_rank_signature().read(given, count, names, arguments.of);
        borrowed a;
        take_on_host(a, arguments.of[matrix], "a");
        if (a.dimensions != 2) raise_value("a: it has %d dimensions, and a matrix has two", a.dimensions);
        low_rank_call one;
        one.a = &a;
        if (arguments[tolerance]) one.tolerance = real_number(arguments[tolerance], "tolerance");
        if (arguments[rank]) one.rank = whole_number(arguments[rank], "rank");
        if (arguments[confidence]) one.confidence = real_number(arguments[confidence], "confidence");
        if (arguments[seed]) one.seed = static_cast<std::uint64_t>(whole_number(arguments[seed], "seed"));
        outcome const o = [&] {
            unlocked const others;
            return find_low_rank(one);
        }();
        check(o);
        index_t const of_u[] = {a.rows(), one.found}, of_v[] = {one.found, a.cols()};
        tensor u, v;
        object left = new_array(a.type, 2, of_u, on_host, {}, u),
               right = new_array(a.type, 2, of_v, on_host, {}, v);
        one.write(one, u, v);
        PyObject* const like = arguments.of[matrix];
        left = as_arrays_of(like, std::move(left)), right = as_arrays_of(like, std::move(right));
        return Py_BuildValue("(OOdd)", left.get(), right.get(), one.error, one.bound);
    });
}

} // namespace stratagemm_python
