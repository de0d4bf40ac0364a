// main of the conformance programs: skipped where the machine lacks what they test.
//
// It includes nothing of the library: with Catch2 2.13 this file holds all of Catch2 and is compiled without
// optimization, and the linker would take its copies of the inline functions for the whole program.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include "missing.hpp"
#include "policy_filter.hpp"

#include <cstdio>
#include <string>

// For the leak checker of clang: LLVM's libomp does not free what it made for teams that have changed their size.
extern "C" char const* __lsan_default_suppressions() { return "leak:libomp\n"; }

int main(int argc, char** argv) {
    if (std::string const missing = missing_here(); !missing.empty()) {
        std::printf("skipped: %s\n", missing.c_str());
        return 77;
    }
    int const failed = Catch::Session().run(argc, argv);
    policy_filter const& chosen = chosen_policies();
    if (!chosen.left_out_all()) return failed;
    std::puts("no policy is as CONFORMANCE_POLICY and CONFORMANCE_LEAF ask for; there are");
    for (std::string const& name : chosen.left_out()) std::printf("  %s\n", name.c_str());
    return 1;
}
