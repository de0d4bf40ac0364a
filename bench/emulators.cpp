// The settings whose speed and error are compared: the library's own product, and those made of narrower
// ones.
#include "emulators.hpp"

#include <limits>
#include <optional>

namespace bench {
namespace {

// A host whose own products of wide types are estimated to take for ever: what the data allow runs, whether
// or not it pays here.
struct eager : sg::host {
    template <class S>
    double estimate(S const& s) const {
        return sizeof(typename S::a_type) <= 2 ? sg::host::estimate(s)
                                               : std::numeric_limits<double>::infinity();
    }
};

// What makes the policy of a contender: means over a base of so many threads.
template <class Base, class Means>
struct over_base {
    Means means;

    auto operator()(problem const& p) {
        Base base;
        base.threads = p.threads;
        return means.over(base);
    }
    std::string ran() const { return means.ran(); }
};

// Ozaki with B kept as residues, which is not timed: for many products of few rows each.
template <class Base>
class with_b_kept final : public contender {
public:
    explicit with_b_kept(int moduli) : options_{.moduli = moduli} {}

    std::string name() const override {
        return "ozaki, " + std::to_string(options_.moduli) + " moduli, B kept";
    }
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return role::library; }
    std::string ran(problem const&) const override {
        auto const facts = kept_->facts();
        return facts.native ? facts.native : std::to_string(facts.bytes) + " bytes kept";
    }
    bool takes(problem const& p) const override {
        return p.type == element::f64 && p.plain() && 8 * p.m <= p.n;
    }
    void prepare(problem const& p, operands const& x) override { kept_ = sg::keep(policy(p), b(p, x)); }
    void run(problem const& p, operands const& x) override {
        sg::gemm(policy(p), sg::row_major(static_cast<double const*>(x.a), p.m, p.k), *kept_,
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
    std::optional<sg::quantized<Base, double, sg::ozaki_parts::side::right>> kept_;
};

template <class Base>
contenders over() {
    using enum element;
    contenders all;
    auto const add = [&]<class Means>(std::string name, Means means) {
        all.push_back(
            make_policy<forms{}, f32, f64>(std::move(name), role::library, over_base<Base, Means>{means}));
    };
    auto const add_single = [&]<class Means>(std::string name, Means means) {
        all.push_back(
            make_policy<forms{}, f32>(std::move(name), role::library, over_base<Base, Means>{means}));
    };
    by_ozaki const fp32{{.accuracy = sg::accuracy::fp32}};
    by_split const split_fp32{{.accuracy = sg::accuracy::fp32}};
    add("native", native{});
    add("ozaki fp64", by_ozaki{{.accuracy = sg::accuracy::fp64}});
    add("ozaki fp32", fp32);
    for (int const count : {7, 8, 14, 15, 16})
        add("ozaki, " + std::to_string(count) + " moduli", by_ozaki{{.moduli = count}});
    all.push_back(std::make_unique<with_b_kept<Base>>(15));
    for (int const count : {3, 4, 7, 8})
        add("ozaki, " + std::to_string(count) + " slices", by_ozaki{{.slices = count}});
    add_single("split fp32", split_fp32);
    add_single("either fp32", by_both{fp32, split_fp32});
    for (int const count : {3, 6, 9})
        add_single("split, " + std::to_string(count) + " products", by_split{{.products = count}});
    return all;
}

} // namespace

contenders make_emulators(choice by) { return by == choice::speed ? over<sg::host>() : over<eager>(); }
std::unique_ptr<machine> make_emulation_machine() { return make_host_machine(30e-3); }

} // namespace bench
