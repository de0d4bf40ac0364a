// As a user has it: this file is compiled at plain -O2 with OpenMP and no -march.
#include "emulators.hpp"

#include <stratagemm/stratagemm.hpp>

#include <limits>
#include <optional>

namespace sg = stratagemm;

namespace bench {
namespace {

// A host whose own products of wide types are estimated to take for ever: what the data allow runs, whether or not it
// pays here.
struct eager : sg::host {
    template <class S>
    double estimate(S const& s) const {
        return sizeof(typename S::a_type) <= 2 ? sg::host::estimate(s)
                                               : std::numeric_limits<double>::infinity();
    }
};

// What an emulator makes of the call: a policy over `base`, and the report in words.
struct native {
    template <class Base>
    Base over(Base const& base) const {
        return base;
    }
    static constexpr bool by_contract = false;
    std::string ran() const { return ""; }
};

struct by_ozaki {
    sg::ozaki_options options;
    bool by_contract = false;
    sg::ozaki_report report{};

    template <class Base>
    auto over(Base const& base) {
        options.report = &report;
        return sg::ozaki{base, options};
    }
    std::string ran() const {
        char const* const scheme = report.scheme == sg::ozaki_report::native   ? "native"
                                   : report.scheme == sg::ozaki_report::slices ? " slices"
                                                                               : " moduli";
        bool const counted = report.scheme != sg::ozaki_report::native;
        return (counted ? std::to_string(report.count) : "") + scheme + ": " + report.reason;
    }
};

struct by_split {
    sg::split_options options;
    bool by_contract = false;
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
    static constexpr bool by_contract = true;

    template <class Base>
    auto over(Base const& base) {
        return integers.over(parts.over(base));
    }
    std::string ran() const {
        return integers.report.scheme == sg::ozaki_report::native ? parts.ran() : integers.ran();
    }
};

template <class Means, class Base>
class policy final : public emulator {
public:
    policy(std::string name, Means means, bool singles_only)
        : name_(std::move(name)), means_(means), singles_only_(singles_only) {}

    std::string name() const override { return name_; }
    bool by_contract() const override { return means_.by_contract; }
    std::string ran() const override { return means_.ran(); }
    bool takes(problem const& p) const override {
        return (p.type == element::f32 || (p.type == element::f64 && !singles_only_)) && p.count == 1 &&
               !p.a_transposed && !p.b_transposed;
    }

    void run(problem const& p, operands const& x) override {
        if (p.type == element::f32)
            multiply<float>(p, x);
        else if constexpr (!std::is_same_v<Means, by_split> && !std::is_same_v<Means, by_both>)
            multiply<double>(p, x);
    }
    guarantee bound(problem const& p) const override {
        Means means = means_;
        auto const over = means.over(base(p));
        auto const b = p.type == element::f32 ? over.error_bound(sg::shape<float>{p.m, p.n, p.k})
                                              : over.error_bound(sg::shape<double>{p.m, p.n, p.k});
        return {b.worst, b.normwise};
    }

private:
    static Base base(problem const& p) {
        Base b;
        b.threads = p.threads;
        return b;
    }
    template <class T>
    void multiply(problem const& p, operands const& x) {
        sg::gemm(means_.over(base(p)), sg::row_major(static_cast<T const*>(x.a), p.m, p.k),
                 sg::row_major(static_cast<T const*>(x.b), p.k, p.n),
                 sg::row_major(static_cast<T*>(x.c), p.m, p.n));
    }

    std::string name_;
    Means means_;
    bool singles_only_;
};

// Ozaki with B kept as residues, which is not timed: for many products of few rows each.
template <class Base>
class with_b_kept final : public emulator {
public:
    explicit with_b_kept(int moduli) : options_{.moduli = moduli} {}

    std::string name() const override {
        return "ozaki, " + std::to_string(options_.moduli) + " moduli, B kept";
    }
    bool by_contract() const override { return false; }
    std::string ran() const override { return doubles_->describe(sg::shape<double>{}); }
    bool takes(problem const& p) const override {
        return p.type == element::f64 && p.count == 1 && !p.a_transposed && !p.b_transposed && 8 * p.m <= p.n;
    }
    void prepare(problem const& p, operands const& x) override { doubles_.emplace(policy(p), b(p, x)); }
    void run(problem const& p, operands const& x) override {
        sg::gemm(*doubles_, sg::row_major(static_cast<double const*>(x.a), p.m, p.k), b(p, x),
                 sg::row_major(static_cast<double*>(x.c), p.m, p.n));
    }
    guarantee bound(problem const& p) const override {
        auto const b = policy(p).error_bound(sg::shape<double>{p.m, p.n, p.k});
        return {b.worst, b.normwise};
    }

private:
    sg::ozaki<Base> policy(problem const& p) const {
        Base base;
        base.threads = p.threads;
        return sg::ozaki<Base>{base, options_};
    }
    static sg::view<double const> b(problem const& p, operands const& x) {
        return sg::row_major(static_cast<double const*>(x.b), p.k, p.n);
    }

    sg::ozaki_options options_;
    std::optional<sg::quantized<Base, double>> doubles_;
};

template <class Base>
std::vector<std::unique_ptr<emulator>> over() {
    std::vector<std::unique_ptr<emulator>> all;
    auto const add = [&](std::string name, auto means, bool singles_only = false) {
        all.push_back(std::make_unique<policy<decltype(means), Base>>(std::move(name), means, singles_only));
    };
    add("native", native{});
    add("ozaki fp64", by_ozaki{{.accuracy = sg::accuracy::fp64}, true});
    add("ozaki fp32", by_ozaki{{.accuracy = sg::accuracy::fp32}, true});
    for (int const count : {7, 8, 14, 15, 16})
        add("ozaki, " + std::to_string(count) + " moduli", by_ozaki{{.moduli = count}});
    all.push_back(std::make_unique<with_b_kept<Base>>(15));
    for (int const count : {3, 4, 7, 8})
        add("ozaki, " + std::to_string(count) + " slices", by_ozaki{{.slices = count}});
    add("split fp32", by_split{{.accuracy = sg::accuracy::fp32}, true}, true);
    add("either fp32",
        by_both{{{.accuracy = sg::accuracy::fp32}, true}, {{.accuracy = sg::accuracy::fp32}, true}}, true);
    for (int const count : {3, 6, 9})
        add("split, " + std::to_string(count) + " products", by_split{{.products = count}}, true);
    return all;
}

} // namespace

std::vector<std::unique_ptr<emulator>> make_emulators(choice by) {
    return by == choice::speed ? over<sg::host>() : over<eager>();
}

} // namespace bench
