// The settings that the benchmarks of emulation compare, over a policy that is given later: `over(base)` makes the
// policy, and ran() says what its last product did.
#pragma once

#include "machine.hpp"
#include "policy.hpp"

namespace sg = stratagemm;

namespace bench {

struct native {
    template <class Base>
    Base over(Base const& base) const {
        return base;
    }
    std::string ran() const { return ""; }
};

struct by_ozaki {
    sg::ozaki_options options;
    sg::ozaki_report report{};

    template <class Base>
    auto over(Base const& base) {
        options.report = &report;
        return sg::ozaki{base, options};
    }
    std::string ran() const {
        bool const counted = report.ran != "native";
        std::string const ways = (counted ? " " : "") + std::string(report.ran);
        return (counted ? std::to_string(report.count) : "") + ways + ": " + report.reason;
    }
};

struct by_split {
    sg::split_options options;
    sg::split_report report{};

    template <class Base>
    auto over(Base const& base) {
        options.report = &report;
        return sg::split{base, options};
    }
    std::string ran() const {
        return (report.products ? std::to_string(report.products) + " products: " : "native: ") +
               report.reason;
    }
};

// The one over the other, so that the fastest runs.
struct by_both {
    by_ozaki integers;
    by_split parts;

    template <class Base>
    auto over(Base const& base) {
        return integers.over(parts.over(base));
    }
    std::string ran() const { return integers.report.ran == "native" ? parts.ran() : integers.ran(); }
};

} // namespace bench
