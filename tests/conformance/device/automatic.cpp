// The policy that chooses, on a device: for operands there and on the host, by itself and beside the host.
#include "catch.hpp"
#include "eager.hpp"
#include "policies.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/stratagemm.hpp>

using namespace trials;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class T>
using there = typename under_test::template matrix<T>;

// Its products of doubles are estimated to be slow.
struct tiresome : under_test {
    double times = 1e6;
    template <class S>
    double estimate(S const& s) const {
        double const seconds = under_test::estimate(s);
        return sizeof(sg::real_t<typename S::a_type>) == 8 ? times * seconds : seconds;
    }
};
struct slow_host : sg::host {
    template <class S>
    double estimate(S const& s) const {
        return 1e6 * sg::host::estimate(s);
    }
};

// The error of C = A B over the bound that the policy states.
template <class Policy, class T>
double error_over_bound(Policy const& policy, sg::matrix<T> const& a, sg::matrix<T> const& b,
                        sg::matrix<T> const& c) {
    sg::matrix<double> exact(c.rows(), c.cols()), size(c.rows(), c.cols());
    auto const wide = [](sg::matrix<T> const& x, bool sizes) {
        return sg::matrix<double>(x.rows(), x.cols(), [&](index_t i, index_t j) {
            auto const y = static_cast<double>(x(i, j));
            return sizes ? std::abs(y) : y;
        });
    };
    sg::gemm(sg::reference{}, wide(a, false), wide(b, false), exact);
    sg::gemm(sg::reference{}, wide(a, true), wide(b, true), size);
    double const bound = policy.error_bound(sg::shape<T>{c.rows(), c.cols(), a.cols()}).worst;
    double worst = 0;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j) {
            double const off =
                std::abs(static_cast<double>(c(i, j)) - exact(i, j)) - 0x1p-53 * std::abs(exact(i, j));
            if (off > 0) worst = std::max(worst, off / (bound * size(i, j)));
        }
    return worst;
}

template <class T>
struct operands {
    sg::matrix<T> a, b, c;
    operands(index_t m, index_t n, index_t k)
        : a(support::fractions<T>(m, k, 1)), b(support::fractions<T>(k, n, 2)), c(m, n) {}
};

} // namespace

TEST_CASE("automatic on a device: operands there") {
    under_test const device;
    index_t const m = 70, n = 50, k = 90;
    auto const multiply = [&]<class T>(auto const& policy, T) {
        operands<T> x(m, n, k);
        there<T> const a(device, x.a), b(device, x.b);
        there<T> c(device, m, n);
        sg::gemm(policy, a, b, c);
        c.download(x.c);
        CHECK(error_over_bound(policy, x.a, x.b, x.c) <= 1);
    };
    multiply(sg::automatic{device}, float{}), multiply(sg::automatic{device}, double{});
    multiply(sg::automatic{sg::split{device}, device}, float{});
    sg::shape<double> const s{m, n, k};
    CHECK(sg::automatic{device}.error_bound(s).worst <= 2.0001 * device.error_bound(s).worst);
    if (!device.leaf().limits().has_double) return;
    sg::automatic const emulates{tiresome{device}};
    CHECK(contains(emulates.describe(s), "automatic: ozaki"));
    multiply(emulates, double{});
}

TEST_CASE("automatic on a device leaves policies out whose workspace the device has no room for") {
    under_test const device;
    sg::automatic const policy{tiresome{device}};
    sg::shape<double> const s{1 << 17, 1 << 17, 1 << 17};
    auto const told = policy.explain(s);
    CHECK(contains(told.text(), "more workspace than"));
    CHECK(contains(policy.describe(s), std::string("automatic: ") + under_test_name));
}

TEST_CASE("automatic on a device: operands on the host") {
    under_test const device;
    operands<float> x(60, 40, 80);
    sg::automatic const alone{device};
    sg::gemm(alone, x.a, x.b, x.c);
    CHECK(error_over_bound(alone, x.a, x.b, x.c) <= 1);

    // Of a host and a device, the faster one.
    sg::shape<float> const s{60, 40, 80};
    sg::automatic const near{sg::host{}, device};
    sg::automatic const far{slow_host{}, device};
    CHECK(contains(near.describe(s), "automatic: host"));
    CHECK(contains(far.describe(s), "automatic: out_of_core"));
    CHECK(near.workspace(s).device == 0);
    CHECK(far.workspace(s).device > 0);
    sg::matrix<float> plain(60, 40);
    sg::gemm(near, x.a, x.b, x.c);
    sg::gemm(sg::host{}, x.a, x.b, plain);
    CHECK(same_bits(x.c, plain));
    sg::gemm(far, x.a, x.b, x.c);
    sg::gemm(device, x.a, x.b, plain);
    CHECK(same_bits(x.c, plain));
    // The same list, whatever comes first.
    sg::gemm(sg::automatic{device, slow_host{}}, x.a, x.b, x.c);
    CHECK(same_bits(x.c, plain));
    // Epilogues that the device cannot run, factors, and a plan.
    auto const twice = [](float y, index_t, index_t) { return 2 * y; };
    sg::gemm(far, x.a, x.b, x.c, twice);
    CHECK(x.c(5, 7) == 2 * plain(5, 7));
    sg::plan const plan(far, s);
    auto arena = plan.reserve();
    plan.run(x.a, x.b, x.c, arena);
    CHECK(same_bits(x.c, plain));
    auto const told = far.explain(s);
    CHECK(told.candidates.back().taken);
    CHECK(contains(told.text(), "out_of_core"));
}

TEST_CASE("automatic takes operands on the device by the policies of the device alone") {
    under_test const device;
    operands<float> x(60, 40, 80);
    there<float> const a(device, x.a), b(device, x.b);
    there<float> c(device, 60, 40), expected(device, 60, 40);
    sg::automatic const policy{device, sg::host{}};
    CHECK(policy.explain(sg::shape<float>{60, 40, 80}).candidates.size() == 4);
    sg::gemm(policy, a, b, c);
    sg::gemm(device, a, b, expected);
    sg::matrix<float> here(60, 40), plain(60, 40);
    c.download(here), expected.download(plain);
    CHECK(same_bits(here, plain));
}
