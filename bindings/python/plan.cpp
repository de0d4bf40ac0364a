// The type stratagemm.Plan: a product of one shape, planned once.
#include "call.hpp"
#include "failed.hpp"
#include "gemm.hpp"

#include <mutex>

namespace stratagemm_python {
namespace {

struct plan_state {
    std::unique_ptr<plan> what;
    chosen_policy chosen;
    std::mutex running; // its workspace serves one product at a time
};
struct plan_object {
    PyObject_HEAD plan_state* of;
};
PyTypeObject* plan_type = nullptr;
plan_state& of(PyObject* self) { return *reinterpret_cast<plan_object*>(self)->of; }

void destroy(PyObject* self) {
    delete reinterpret_cast<plan_object*>(self)->of;
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

enum { m, n, k, dtype, out_dtype, count, add, policy, device, argument_count };
signature const& plan_signature() {
    static char const* const names[] = {"m",     "n",   "k",      "dtype", "out_dtype",
                                        "count", "add", "policy", "device"};
    static PyObject* interned[argument_count];
    static signature const all{"plan", 3, 4, argument_count, names, interned};
    all.intern();
    return all;
}
// None, "cpu" and "cuda", "cuda:1", or what has that for a name: torch.device.
int device_named(PyObject* x) {
    object const name(PyObject_Str(x));
    std::string_view wanted = text(name.get(), "device");
    if (wanted == "cpu") return on_host;
    if (wanted == "cuda") return 0;
    int number = 0;
    bool is_one = wanted.substr(0, 5) == "cuda:" && wanted.size() > 5 && wanted.size() < 9;
    if (is_one)
        for (char const c : wanted.substr(5))
            is_one &= c >= '0' && c <= '9', number = 10 * number + (c - '0');
    if (!is_one) raise_value("device: '%U' is none; there are 'cpu', 'cuda', 'cuda:1' and so on", name.get());
    return number;
}
// "float32", or what has that for a name: numpy.float32, torch.float32, a dtype.
kind kind_named(PyObject* x) {
    object const name(
        PyObject_CallFunctionObjArgs(in_python("stratagemm._producers", "name_of_type").get(), x, nullptr));
    std::string_view const wanted = text(name.get(), "dtype");
    for (int i = 1; i <= static_cast<int>(kind::int32); ++i)
        if (wanted == facts(static_cast<kind>(i)).name) return static_cast<kind>(i);
    raise_type("dtype: '%U' is no type that is multiplied here", name.get());
}

PyObject* describe(PyObject* self, PyObject*) {
    return guarded([&] {
        std::string const text = of(self).what->describe();
        return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    });
}
PyObject* workspace_of(PyObject* self, void*) {
    plan const& one = *of(self).what;
    return PyLong_FromSize_t(one.shape.device == on_host ? one.workspace().host : one.workspace().device);
}
PyObject* bound_of(PyObject* self, void*) { return PyFloat_FromDouble(of(self).what->error_bound().worst); }
PyObject* seconds_of(PyObject* self, void*) { return PyFloat_FromDouble(of(self).what->estimate()); }

PyObject* run(PyObject* self, PyObject* const* given, Py_ssize_t by_place, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<call::count> arguments;
        call::gemm_signature().read(given, by_place, names, arguments.of);
        if (arguments[call::policy]) raise_type("plan: its policy is chosen when it is made");
        call one(arguments);
        plan_state& state = of(self);
        if (one.of.with) raise_type("plan: its operands are arrays");
        planned_shape const& shape = state.what->shape;
        if (one.place() != shape.device)
            raise_value("plan: it was made for %s, and these arrays lie on %s",
                        name_of_place(shape.device).c_str(), name_of_place(one.place()).c_str());
        object c = one.result();
        if (one.of.a->type != shape.a_type || one.of.b->type != shape.a_type ||
            one.of.c->type != shape.c_type || (one.of.e && one.of.e->type != shape.c_type))
            raise_type("plan: it was made for %s into %s", facts(shape.a_type).name,
                       facts(shape.c_type).name);
        outcome const o = [&] {
            unlocked const others;
            std::lock_guard const lock(state.running);
            return state.what->run(one.of);
        }();
        one.finish(o);
        if (arguments[call::out]) return c.release();
        return as_arrays_of(arguments.of[call::a], std::move(c)).release();
    });
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
    PyErr_SetString(PyExc_TypeError, "stratagemm.Plan: plan() makes plans");
    return nullptr;
}

} // namespace

PyObject* make_plan_object(PyObject*, PyObject* const* given, Py_ssize_t by_place, PyObject* names) {
    return guarded([&]() -> PyObject* {
        named_arguments<argument_count> x;
        plan_signature().read(given, by_place, names, x.of);
        planned_shape s{};
        s.m = whole_number(x.of[m], "m"), s.n = whole_number(x.of[n], "n"), s.k = whole_number(x.of[k], "k");
        s.count = x[count] ? whole_number(x[count], "count") : 1;
        s.adds = x[add] && truth(x[add]);
        s.a_type = x[dtype] ? kind_named(x[dtype]) : kind::float64;
        s.c_type = x[out_dtype] ? kind_named(x[out_dtype]) : kind_of_result(s.a_type);
        auto state = std::make_unique<plan_state>();
        if (x[device]) s.device = device_named(x[device]);
        state->chosen = find_chosen(x[policy], s.device != on_host);
        s.policy = state->chosen.of_host, s.policy_name = state->chosen.name;
        s.device_policy = state->chosen.of_device;
        made_plan made = s.device == on_host ? make_plan(s) : make_plan_on_device(s);
        check(made.error);
        state->what = std::move(made.what);
        auto const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(plan_type, Py_tp_alloc));
        object self(allocate(plan_type, 0));
        reinterpret_cast<plan_object*>(self.get())->of = state.release();
        return self.release();
    });
}

void add_plan_type(PyObject* module) {
    static PyMethodDef methods[] = {
        {"describe", describe, METH_NOARGS, "What will run, in words."},
        {"run", as_method(run), METH_FASTCALL | METH_KEYWORDS,
         "run(a, b, out=None, *, alpha=1, beta=0, add=None, "
         "epilogue=None, stream=None)\n\nThe product, with workspace that the plan "
         "keeps."},
        {}};
    static PyGetSetDef members[] = {
        {"workspace", workspace_of, nullptr, "Bytes of workspace.", nullptr},
        {"error_bound", bound_of, nullptr, "The largest error, relative to |A||B|.", nullptr},
        {"seconds", seconds_of, nullptr, "The estimated time.", nullptr},
        {}};
    static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, members},
                                  {Py_tp_doc, const_cast<char*>("A product of one shape, planned once.")},
                                  {}};
    static PyType_Spec spec{"stratagemm.Plan", sizeof(plan_object), 0, Py_TPFLAGS_DEFAULT, slots};
    object type(PyType_FromSpec(&spec));
    plan_type = reinterpret_cast<PyTypeObject*>(type.get());
    if (PyModule_AddObjectRef(module, "Plan", type.get()) < 0) throw raised();
    type.release(); // lives as long as the process
}

} // namespace stratagemm_python
