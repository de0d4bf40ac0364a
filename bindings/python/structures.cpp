// Products of operands that are more than a matrix in memory, on the host.
#include "host_side.hpp"
#include "structured.hpp"

namespace stratagemm_python {

turned::turned(product const& p) : with(*p.with), call(p) {
    call.a = p.b ? turned_tensor(p.b, x) : nullptr, call.b = p.a ? turned_tensor(p.a, x) : nullptr;
    call.c = turned_tensor(p.c, c), call.e = turned_tensor(p.e, e), call.with = &with;
    with.transposed = !with.transposed;
    std::swap(with.rows, with.cols);
    for (stated_step& one : call.epilogue) one.axis = other_axis(one.axis);
}

outcome refuse_other(structured const& s, tensor const& other, tensor const& c) {
    char const* const names[] = {"csr", "toeplitz", "factored", "fft"};
    char const* const name = names[static_cast<int>(s.what)];
    return refuse_types(std::string(name) + ": there is no product of one of " + facts(s.type).name +
                        " with " + facts(other.type).name + " into " + facts(c.type).name +
                        ": all are of one type, which is float32, float64, complex64 or complex128");
}

outcome multiply_structured(product const& p) {
    auto const* const host = std::get_if<sg::host>(p.policy);
    if (!host) return refuse_structured_policy(p.policy_name, "host");
    return multiply_on(host_side{*host}, p);
}
outcome refuse_structured_policy(char const* name, char const* known) {
    return refuse_types(std::string("gemm: the policy ") + name + " multiplies no such operands here; '" +
                        known + "' does");
}

outcome check_structured(structured const& s) {
    if (s.what != structure::csr) return {};
    auto const check = [&]<class Index>(Index const*) {
        return check_rows(s, values<Index>(s.part[0]), values<Index>(s.part[1]));
    };
    if (s.part[1]->type == kind::int64) return check(static_cast<std::int64_t const*>(nullptr));
    return check(static_cast<std::int32_t const*>(nullptr));
}

} // namespace stratagemm_python
