// The library as its user has it, and one level of Strassen's product over it beside its base.
#include "policy.hpp"

namespace sg = stratagemm;

namespace bench {
namespace {

using enum element;
sg::host cpu(problem const& p) { return {.threads = p.threads}; }

} // namespace

contenders make_libraries() {
    contenders all;
    all.push_back(make_policy<forms{.batches = true}, f32, f64, bf16, i8>("stratagemm", role::library, cpu));
    return all;
}

contenders make_strassen() {
    contenders all;
    auto const over = [](problem const& p) { return sg::strassen{cpu(p)}; };
    all.push_back(make_policy<forms{}, f32, f64>("strassen{host}", role::library, over));
    all.push_back(make_policy<forms{}, f32, f64>("host", role::peer, cpu));
    return all;
}

} // namespace bench
