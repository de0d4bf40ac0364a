// Variables of the environment, as the libraries that programs preload read them.
#pragma once

#include <string>
#include <string_view>

namespace stratagemm_bindings {

// A library says by its name who complains. What is wrong ends the program with status 2, since neither BLAS nor cuBLAS
// has a way to report it.
class variables {
public:
    explicit constexpr variables(char const* library) : library_(library) {}

    // Empty: the variable is not set.
    static std::string_view text(char const* name);
    // 1 is on; 0 and an empty text are off.
    bool is_on(char const* name) const;
    // A number of flops, or `unset`.
    double flops(char const* name, double unset) const;

    [[noreturn, gnu::cold]] void refuse(char const* name, std::string const& why) const;
    [[noreturn, gnu::cold]] void give_up(char const* what) const;

private:
    char const* library_;
};

} // namespace stratagemm_bindings
