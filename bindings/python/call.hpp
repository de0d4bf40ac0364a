// The arguments that gemm(), explain() and a plan's run() share, read into a product.
#pragma once

#include "arguments.hpp"
#include "array.hpp"
#include "device.hpp"
#include "operand.hpp"

namespace stratagemm_python {

// A policy by its name: of the host, or a number of device_policies().
struct chosen_policy {
    any_policy const* of_host = nullptr;
    int of_device = -1;
    char const* name = nullptr;
};
std::string name_of_place(int device);
// null: the default of the place.
chosen_policy find_chosen(PyObject* name, bool on_device);

class call {
public:
    enum { a, b, out, alpha, beta, add, epilogue, policy, stream, count };
    static signature const& gemm_signature();

    explicit call(named_arguments<count> const& given);

    product of;
    chosen_policy chosen;
    dlpack::stream& on = of.on;
    // Both operands, their place checked; C is `out` or is made.
    object result();
    bool is_on_device() const { return place_ != on_host; }
    int place() const { return place_; }
    // The shape of the product, where A and B are matrices in memory.
    planned_shape shape() const;
    outcome run();
    // Throws what went wrong with the product, or brings C to where the caller has it.
    void finish(outcome const& o);

private:
    void take_operand(PyObject* from, char const* name, borrowed& to, tensor const*& as);
    void take_array(PyObject* from, char const* name, borrowed& to);
    void note_place(int device, char const* name);
    void read_epilogue(PyObject* from);
    void read_step(PyObject* from);
    object make_result();

    named_arguments<count> const& given_;
    borrowed a_, b_, out_, add_;
    tensor made_;
    int place_ = on_host;
    bool has_place_ = false;
    std::vector<std::unique_ptr<borrowed>> values_;
};

} // namespace stratagemm_python
