#include "gemm.hpp"

#include "call.hpp"
#include "failed.hpp"

namespace stratagemm_python {
namespace {

PyObject* in_library_of(PyObject* like, object made, bool is_given) {
    if (is_given) return made.release();
    return as_arrays_of(like, std::move(made)).release();
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

// What fft() works with: lines of x, and those of the result.
class fft_call {
public:
    explicit fft_call(named_arguments<fft_count> const& given) : given_(given) {
        from_.take(given.of[x], "x", of_.on);
        if (from_.dimensions < 1) raise_value("x: it has no dimension to transform along");
        Py_ssize_t along = given[axis] ? whole_number(given[axis], "axis") : -1;
        if (along < 0) along += from_.dimensions;
        if (along < 0 || along >= from_.dimensions)
            raise_value("axis: there is no dimension %zd of %d", along, from_.dimensions);
        kind const type = complex_of(from_.type);
        if (given[out])
            take_result();
        else
            made_ = new_array(type, from_.dimensions, from_.side, from_.device, of_.on, to_);
        transform_.what = structure::dft, transform_.type = type;
        transform_.rows = transform_.cols = from_.side[along];
        transform_.inverse = given[inverse] && truth(given[inverse]);
        transform_.device = from_.device, transform_.on = of_.on;
        lines_ = from_;
        lines_to_columns(lines_, static_cast<int>(along)), lines_to_columns(to_, static_cast<int>(along));
    }
    object result() {
        bool const is_on_device = from_.device != on_host;
        auto const chosen = find_chosen(nullptr, is_on_device);
        of_.b = &lines_, of_.c = &to_, of_.with = &transform_;
        of_.policy = chosen.of_host, of_.policy_name = chosen.name;
        outcome const o = [&] {
            unlocked const others;
            return is_on_device ? multiply_on_device(of_, chosen.of_device) : multiply(of_);
        }();
        check(o);
        into_.write_back();
        return std::move(made_);
    }

private:
    void take_result() {
        into_.take(given_.of[out], "out", of_.on);
        if (!into_.writable) raise_value("out: it is read-only");
        if (into_.device != from_.device)
            raise_value("out: it lies on %s, and x on %s", name_of_place(into_.device).c_str(),
                        name_of_place(from_.device).c_str());
        if (!same_sides(from_, into_)) raise_value("out: its sides are not those of x");
        to_ = into_, made_ = object::borrowed(given_.of[out]);
    }

    named_arguments<fft_count> const& given_;
    borrowed from_, into_;
    tensor lines_, to_;
    structured transform_{};
    product of_;
    object made_;
};

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
        one.finish(one.run());
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
        if (are_two_types(one.of.a->type, one.of.b->type))
            raise_type("explain: both operands have one element type");
        if (one.of.b->type != one.of.a->type || one.of.a->cols() != one.of.b->rows())
            raise_value("explain: these operands do not fit; gemm() says why");
        made_plan const made = one.is_on_device() ? make_plan_on_device(one.shape()) : make_plan(one.shape());
        check(made.error);
        std::string const text = made.what->describe();
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
        return in_library_of(arguments.of[x], fft_call(arguments).result(), arguments[out] != nullptr);
    });
}

PyObject* low_rank(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<low_rank_count> arguments;
        low_rank_signature().read(given, count, names, arguments.of);
        low_rank_call one;
        borrowed a;
        a.take(arguments.of[matrix], "a", one.on);
        if (a.dimensions != 2) raise_value("a: it has %d dimensions, and a matrix has two", a.dimensions);
        one.a = &a;
        if (arguments[tolerance]) one.tolerance = real_number(arguments[tolerance], "tolerance");
        if (arguments[rank]) one.rank = whole_number(arguments[rank], "rank");
        if (arguments[confidence]) one.confidence = real_number(arguments[confidence], "confidence");
        if (arguments[seed]) one.seed = static_cast<std::uint64_t>(whole_number(arguments[seed], "seed"));
        outcome const o = [&] {
            unlocked const others;
            return a.device == on_host ? find_low_rank(one) : find_low_rank_on_device(one);
        }();
        check(o);
        index_t const of_u[] = {a.rows(), one.found}, of_v[] = {one.found, a.cols()};
        tensor u, v;
        object left = new_array(a.type, 2, of_u, a.device, one.on, u),
               right = new_array(a.type, 2, of_v, a.device, one.on, v);
        check(one.write(one, u, v));
        PyObject* const like = arguments.of[matrix];
        left = as_arrays_of(like, std::move(left)), right = as_arrays_of(like, std::move(right));
        return Py_BuildValue("(OOdd)", left.get(), right.get(), one.error, one.bound);
    });
}

} // namespace stratagemm_python
