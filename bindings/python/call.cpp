#include "call.hpp"

#include "../device_names.hpp"
#include "failed.hpp"

#include <cstring>

namespace stratagemm_python {
namespace {

// `wrong` says what is wrong with the name as one of the place where the arrays lie. It may be one of the other place.
[[noreturn]] void refuse_policy(char const* name, bool on_device, std::string const& wrong) {
    std::string unused;
    bool const is_of_other =
        on_device
            ? stratagemm_bindings::find_policy(name, unused) != nullptr
            : stratagemm_bindings::find_name(name, stratagemm_bindings::device_policy_names, unused) >= 0;
    if (!is_of_other) raise_value("policy: %s", wrong.c_str());
    raise_value("policy: '%s' is for arrays on %s, and these lie on %s%s", name,
                on_device ? "the host" : "CUDA devices", on_device ? "a CUDA device" : "the host",
                wrong.substr(wrong.find(". Valid names")).c_str());
}
chosen_policy find_of_device(char const* name) {
    auto const names = device_policies();
    if (!name) return {nullptr, 0, names.empty() ? "cuda" : names.front()};
    std::string error;
    auto const at = stratagemm_bindings::find_name(name, names, error);
    if (at < 0 && !names.empty()) refuse_policy(name, true, error);
    return {nullptr, static_cast<int>(at), name};
}
// The number of elements of each dimension of C before the last two.
int sides_of_batch(tensor const* a, tensor const* b, index_t* to) {
    int const da = a ? a->dimensions : 2, db = b ? b->dimensions : 2, most = da > db ? da : db;
    for (int i = 0; i < most - 2; ++i) {
        int const in_a = i - (most - da), in_b = i - (most - db);
        index_t const x = in_a >= 0 ? a->side[in_a] : 1, y = in_b >= 0 ? b->side[in_b] : 1;
        to[i] = x == 1 ? y : x;
    }
    return most;
}

} // namespace

std::string name_of_place(int device) {
    return device == on_host ? std::string("the host") : "CUDA device " + std::to_string(device);
}

chosen_policy find_chosen(PyObject* name, bool on_device) {
    char const* const wanted = name ? text(name, "policy") : nullptr;
    if (on_device) return find_of_device(wanted);
    static stratagemm_bindings::named_policy const& usual = stratagemm_bindings::policies().front();
    if (!wanted) return {&usual.policy, -1, usual.name};
    std::string error;
    auto const* const found = stratagemm_bindings::find_policy(wanted, error);
    if (!found) refuse_policy(wanted, false, error);
    return {&found->policy, -1, found->name};
}

signature const& call::gemm_signature() {
    static char const* const names[count] = {"a",   "b",        "out",    "alpha", "beta",
                                             "add", "epilogue", "policy", "stream"};
    static PyObject* interned[count];
    static signature const all{"gemm", 2, 3, count, names, interned};
    return all;
}

call::call(named_arguments<count> const& given) : given_(given) {
    if (given[stream]) on = {true, whole_number(given[stream], "stream")};
    take_operand(given.of[a], "a", a_, of.a), take_operand(given.of[b], "b", b_, of.b);
    if (!of.a && !of.b)
        raise_type("gemm: one of the operands is an array; two such operands are not multiplied here");
    if (given[out]) {
        take_array(given[out], "out", out_);
        if (!out_.writable) raise_value("out: it is read-only");
        of.c = &out_;
    }
    if (given[add]) take_array(given[add], "add", add_), of.e = &add_;
    if (given[alpha]) of.alpha = number(given[alpha], "alpha");
    if (given[beta])
        of.beta = number(given[beta], "beta");
    else if (of.e)
        of.beta = 1;
    if (of.beta != 0.0 && !of.e && !of.c)
        raise_value("gemm: beta is a factor of `out` or `add`, and neither is given");
    if (given[epilogue]) read_epilogue(given[epilogue]);
    chosen = find_chosen(given[policy], is_on_device());
    of.policy = chosen.of_host, of.policy_name = chosen.name;
}

void call::take_operand(PyObject* from, char const* name, borrowed& to, tensor const*& as) {
    if (structured const* const special = operand_in(from)) {
        of.with = special;
        note_place(special->device, name);
        return;
    }
    take_array(from, name, to);
    as = &to;
}

void call::take_array(PyObject* from, char const* name, borrowed& to) {
    to.take(from, name, on);
    if (to.dimensions < 2)
        raise_value("%s: it has %d dimensions; a matrix has two, and a batch of matrices more (x[:, None] is "
                    "a column)",
                    name, to.dimensions);
    note_place(to.device, name);
}
void call::note_place(int device, char const* name) {
    if (has_place_ && device != place_) {
        raise_value("%s: it lies on %s, and others on %s", name, name_of_place(device).c_str(),
                    name_of_place(place_).c_str());
    }
    place_ = device, has_place_ = true;
}

void call::read_epilogue(PyObject* from) {
    static PyObject* const function = in_python("stratagemm._epilogues", "steps_of").release();
    object const all(PyObject_CallFunctionObjArgs(function, from, nullptr));
    Py_ssize_t const steps = PyTuple_Size(all.get());
    if (steps < 0) throw raised();
    for (Py_ssize_t i = 0; i < steps; ++i) read_step(PyTuple_GetItem(all.get(), i));
}
void call::read_step(PyObject* from) {
    char const* const names[] = {"relu", "gelu", "clamp", "scale", "bias", "scale_lines"};
    char const* name = nullptr;
    PyObject *first = nullptr, *second = nullptr, *values = nullptr;
    int by_rows = 0;
    if (!PyArg_ParseTuple(from, "sOOOp", &name, &first, &second, &values, &by_rows)) throw raised();
    stated_step one{};
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (std::strcmp(name, names[i]) == 0) one.what = static_cast<step_kind>(i);
    one.axis = by_rows ? sg::along::rows : sg::along::columns;
    one.first = number(first, "epilogue"), one.second = number(second, "epilogue");
    if (values != Py_None) {
        values_.push_back(std::make_unique<borrowed>());
        borrowed& to = *values_.back();
        to.take(values, "epilogue", on);
        if (to.dimensions != 1) raise_value("epilogue: the values of bias and scale have one dimension");
        if (to.device != place_) raise_value("epilogue: its values lie elsewhere than the matrices");
        one.values = &to;
    }
    of.epilogue.push_back(one);
}

object call::make_result() {
    index_t sides[most_dimensions];
    int const dimensions = sides_of_batch(of.a, of.b, sides);
    sides[dimensions - 2] = of.a ? of.a->rows() : of.with->rows;
    sides[dimensions - 1] = of.b ? of.b->cols() : of.with->cols;
    kind const first = (of.a ? of.a : of.b)->type, second = (of.b ? of.b : of.a)->type;
    object made = new_array(kind_of_result(first, second), dimensions, sides, place_, on, made_);
    of.c = &made_;
    return made;
}
object call::result() { return of.c ? object::borrowed(given_.of[out]) : make_result(); }

planned_shape call::shape() const {
    planned_shape s{};
    s.m = of.a->rows(), s.n = of.b->cols(), s.k = of.a->cols(), s.count = 1;
    index_t sides[most_dimensions];
    int const dimensions = sides_of_batch(of.a, of.b, sides);
    for (int i = 0; i < dimensions - 2; ++i) s.count *= sides[i];
    s.adds = of.beta != 0.0, s.a_type = of.a->type, s.c_type = of.c ? of.c->type : kind_of_result(of.a->type);
    s.policy = of.policy, s.policy_name = of.policy_name;
    s.device = place_, s.device_policy = chosen.of_device;
    return s;
}

outcome call::run() {
    unlocked const others;
    if (is_on_device()) return multiply_on_device(of, chosen.of_device);
    return multiply(of);
}
void call::finish(outcome const& o) {
    check(o);
    out_.write_back();
}

} // namespace stratagemm_python
