// One call of gemm(), without Python: C = epilogue(alpha A B + beta E) of tensors whose last two dimensions are
// matrices, and whose others are counts of a batch. A or B may be more than a matrix in memory.
#pragma once

#include "../policies.hpp"
#include "dlpack.hpp"
#include "steps.hpp"

#include <memory>

namespace stratagemm_python {

using stratagemm_bindings::any_policy;

enum class structure : unsigned char { csr, toeplitz, factored, dft };
struct structured {
    structure what;
    kind type;
    index_t rows, cols;
    tensor const*
        part[3]{};        // csr: row_begins, columns, values; toeplitz: column, row or null; factored: U, V
    bool inverse = false; // of dft
    bool by_transforms = false;
    bool transposed = false, conjugated = false;
    int device =
        on_host; // where the arrays are; the stream on which they are ready, if that is a CUDA device
    dlpack::stream on{};
};

struct product {
    tensor const* a = nullptr; // null: `structure` is A
    tensor const* b = nullptr; // null: `structure` is B
    tensor const* c = nullptr;
    tensor const* e = nullptr; // null: C itself
    structured const* with = nullptr;
    std::complex<double> alpha{1}, beta{0};
    std::vector<stated_step> epilogue;
    any_policy const* policy = nullptr; // of the host
    char const* policy_name = "";
    dlpack::stream on{}; // of a CUDA device
};

// What is wrong with a call may be that of types, which Python tells from values.
struct outcome {
    sg::status status;
    bool is_of_types = false;
};
outcome multiply(product const& p);
// Products of a structured operand, of floats, doubles and complex numbers on the host.
outcome multiply_structured(product const& p);
outcome refuse_structured_policy(char const* name, char const* known);
// Products of two types that go together (are_two_types) into float32, on the host.
outcome multiply_two_types(product const& p);
outcome refuse_two_types(char const* name, char const* known);
// Whether the arrays of a structure are such that products with it stay within them.
outcome check_structured(structured const& s);

struct planned_shape {
    index_t m, n, k, count;
    bool adds;
    kind a_type, c_type;
    any_policy const* policy;
    char const* policy_name;
    int device = on_host, device_policy = 0; // or a CUDA device, and a number of device_policies()
};
// A plan of the library, whatever its types are.
struct plan {
    planned_shape shape{};

    virtual ~plan() = default;
    virtual std::string describe() const = 0;
    virtual sg::footprint workspace() const = 0;
    virtual sg::bound error_bound() const = 0;
    virtual double estimate() const = 0;
    virtual outcome run(product const& p) = 0; // with workspace that is kept from the first run on
};
struct made_plan {
    std::unique_ptr<plan> what;
    outcome error;
};
made_plan make_plan(planned_shape const& s);

// Factors U and V of a matrix of floats, doubles or complex numbers, on the host.
struct low_rank_call {
    tensor const* a = nullptr;
    dlpack::stream on{}; // of a CUDA device
    double tolerance = 0, confidence = 0.999;
    index_t rank = 0;
    std::uint64_t seed = 0;
    // results
    index_t found = 0;
    double error = 0, bound = 0;
    std::shared_ptr<void> factors{};
    // Copies the factors into matrices of rows x found and found x cols.
    sg::status (*write)(low_rank_call const& call, tensor const& u, tensor const& v) = nullptr;
};
outcome find_low_rank(low_rank_call& call);

// Each defined where its types are compiled. False: no product of these two types.
template <class T, class C>
outcome multiply_types(product const& p);
template <class T, class C>
made_plan plan_types(planned_shape const& s);
outcome refuse_types(std::string text);

} // namespace stratagemm_python
