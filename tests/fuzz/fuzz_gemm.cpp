// The libFuzzer target: random shapes, strides, sub-views, factors and types against the oracle.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/fuzz_gemm.cpp
//
// The conformance suite tries the same property on a fixed sequence ("random products").
#include "conformance/policies.hpp"
#include "property.hpp"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace trials;
    choices from(data, size);
    int const type = from.below(9);
    trial const t = draw_product(from);
    auto const policies = [&](auto&& f) { for_each_policy(t.seed, f); };
    std::string const wrong = [&] {
        switch (type) {
        case 0: return wrong_with<float, float>(t, policies);
        case 1: return wrong_with<double, double>(t, policies);
        case 2: return wrong_with<sg::half, float>(t, policies);
        case 3: return wrong_with<sg::half, sg::half>(t, policies);
        case 4: return wrong_with<sg::bfloat16, float>(t, policies);
        case 5: return wrong_with<sg::bfloat16, sg::bfloat16>(t, policies);
        case 6: return wrong_with<std::int8_t, std::int32_t>(t, policies);
        case 7: return wrong_with<std::complex<float>, std::complex<float>>(t, policies);
        default: return wrong_with<std::complex<double>, std::complex<double>>(t, policies);
        }
    }();
    if (!wrong.empty()) {
        std::fprintf(stderr, "%s", wrong.c_str());
        std::abort();
    }
    return 0;
}
