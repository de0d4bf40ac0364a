#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/recursive.hpp>
#include <stratagemm/algorithm/split.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/host.hpp>
#include <stratagemm/backend/reference.hpp>

namespace sg = stratagemm;
using support::contains;

namespace {

// A policy whose bound holds in 99 of 100 runs.
struct drawn : sg::reference {
    template <class S>
    sg::bound error_bound(S const& s) const {
        auto x = sg::reference::error_bound(s);
        x.confidence = 0.99;
        return x;
    }
};

// A layer that states no more than it has to.
template <sg::policy Base>
struct plain : sg::layer_over<Base> {
    template <class P>
    static constexpr sg::verdict accepts = sg::answer<Base, P>();
    explicit plain(Base base) : sg::layer_over<Base>(std::move(base)) {}
    template <class P>
    sg::status operator()(P const& p, typename Base::arena& memory) const {
        return this->base_(p, memory);
    }
};
static_assert(sg::policy<plain<sg::host>>);

template <class Layer, class Base>
constexpr bool is_layer_over = std::is_base_of_v<sg::layer_over<Base>, Layer>;
static_assert(is_layer_over<sg::ozaki<sg::host>, sg::host> && is_layer_over<sg::split<sg::host>, sg::host> &&
              is_layer_over<sg::strassen<sg::host>, sg::host> &&
              is_layer_over<sg::recursive<sg::host>, sg::host> &&
              is_layer_over<sg::verified<sg::host>, sg::host>);

template <class Policy>
std::string refusal_of(Policy const& policy) {
    try {
        sg::plan(policy, sg::shape<float>{8, 8, 8});
    } catch (sg::error const& e) {
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("a layer is its base in all that it does not state") {
    sg::shape<float> const s{30, 20, 40};
    sg::host const cpu;
    plain const layer(cpu);
    CHECK(layer.workspace(s) == cpu.workspace(s));
    CHECK(layer.error_bound(s).worst == cpu.error_bound(s).worst);
    CHECK(layer.estimate(s) == cpu.estimate(s));
    CHECK(layer.describe(s) == cpu.describe(s));
    auto const a = support::integers<float>(30, 40, 1), b = support::integers<float>(40, 20, 2);
    sg::matrix<float> c(30, 20), d(30, 20);
    sg::gemm(layer, a, b, c);
    sg::gemm(cpu, a, b, d);
    CHECK(c == d);
}

TEST_CASE("options that are wrong are reported however deep they are, before anything runs") {
    sg::strassen const wrong(sg::host{}, {.levels = -2});
    CHECK(contains(refusal_of(wrong), "levels must not be negative"));
    CHECK(contains(refusal_of(plain(wrong)), "levels must not be negative"));
    CHECK(contains(refusal_of(sg::ozaki{wrong}), "levels must not be negative"));
    CHECK(contains(refusal_of(sg::split{wrong}), "levels must not be negative"));
    CHECK(contains(refusal_of(sg::recursive{wrong}), "levels must not be negative"));
    CHECK(contains(refusal_of(sg::verified{wrong}), "levels must not be negative"));
    CHECK(contains(refusal_of(sg::ozaki{sg::split{sg::host{}, {.products = 5}}}), "`products` must be"));
}

TEST_CASE("a bound of many products of the base holds less often than that of one") {
    sg::shape<float> const s{128, 128, 128};
    CHECK(sg::host{}.error_bound(s).confidence == 1);
    CHECK(sg::strassen{sg::host{}, {.levels = 2}}.error_bound(s).confidence == 1);
    CHECK(plain(drawn{}).error_bound(s).confidence == 0.99);
    double const blocks = sg::recursive{drawn{}, {.leaf_bytes = 3 * 64 * 64 * 4}}.error_bound(s).confidence;
    CHECK(blocks == Approx(1 - 8 * 0.01));
    double const one = sg::strassen{drawn{}, {.levels = 1}}.error_bound(s).confidence;
    CHECK(one == Approx(1 - 7 * 0.01));
    CHECK(sg::strassen{drawn{}, {.levels = 3}}.error_bound(s).confidence == 0);
    CHECK(sg::larger({1, 1, false, 0.5}, {2, 0, false, 0.9}).confidence == 0.5);
}

TEST_CASE("layers report in the same words") {
    auto const a = support::integers<float>(40, 40, 1), b = support::integers<float>(40, 40, 2);
    sg::matrix<float> c(40, 40);
    sg::shape<float> const s{40, 40, 40};
    sg::report ran;

    sg::ozaki const integers(sg::host{}, {.moduli = 8, .report = &ran});
    sg::gemm(integers, a, b, c);
    CHECK(ran.ran == "moduli");
    CHECK(ran.count == 8);
    CHECK(ran.products == 8);
    CHECK(ran.phases == 2);
    CHECK(std::string(ran.reason) == "set by the options");
    CHECK(ran.bound.worst == integers.error_bound(s).worst);

    sg::split const parts(sg::host{}, {.products = 6, .report = &ran});
    sg::gemm(parts, a, b, c);
    CHECK(ran.ran == "bfloat16");
    CHECK(ran.count == 3);
    CHECK(ran.products == 6);
    CHECK(ran.bound.worst == parts.error_bound(s).worst);

    sg::gemm(sg::verified{sg::host{}, {.seed = 7, .report = &ran}}, a, b, c);
    CHECK(ran.ran == "checked");
    CHECK(ran.seed == 7);
    CHECK(ran.products == 1);
    CHECK(ran.phases == 2);
    CHECK(ran.bound.confidence == 1);
}
