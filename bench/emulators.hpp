// The settings whose speed and error are compared: the library's own product, and those made of narrower ones.
#pragma once

#include "contender.hpp"

namespace bench {

// The library with one policy. It takes products in float and double, neither transposed nor batched.
class emulator : public contender {
public:
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return role::library; }

    virtual bool by_contract() const = 0;
    virtual std::string ran() const = 0; // what the last run did, and why

    // The policy's error_bound(): relative to |A||B|, or, if normwise, to k max|A| max|B|.
    struct guarantee {
        double worst = 0;
        bool normwise = false;
    };
    virtual guarantee bound(problem const&) const = 0;
};

// What a contract looks at beside the data: whether it pays here, or nothing.
enum class choice { speed, data };

std::vector<std::unique_ptr<emulator>> make_emulators(choice); // the native product first

} // namespace bench
