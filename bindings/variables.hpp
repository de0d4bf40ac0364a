// Variables of the environment, as the libraries that programs preload read them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stratagemm_bindings {

// The settings that all these libraries share.
struct settings {
    std::ptrdiff_t policy = 0;    // the place of the policy's name, by default the first
    bool is_given = false;        // whether STRATAGEMM_POLICY is set
    char const* policy_name = ""; // the name that stands there
    double smallest = 0;          // calls of fewer flops are left to the library beneath
    bool reports = false;         // whether the program prints at its end what was called
};

// A library says by its name who complains. What is wrong ends the program with status 2, since neither BLAS nor cuBLAS
// has a way to report it.
class variables {
public:
    explicit constexpr variables(char const* library) : library_(library) {}

    // STRATAGEMM_POLICY, which has one of these names (names.hpp), and BINDING_MIN and BINDING_REPORT.
    settings read(std::string const& binding, std::span<char const* const> names) const;

    // Empty: the variable is not set.
    static std::string_view text(char const* name);

    [[noreturn, gnu::cold]] void refuse(char const* name, std::string const& why) const;
    [[noreturn, gnu::cold]] void give_up(char const* what) const;

private:
    // 1 is on; 0 and an empty text are off.
    bool is_on(char const* name) const;
    // A number of flops; 0, if the variable is not set.
    double flops(char const* name) const;

    char const* library_;
};

} // namespace stratagemm_bindings
