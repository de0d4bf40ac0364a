#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::ozaki_parts;
using support::contains;
using support::equal;
using support::fractions;
using support::integers;
using support::product_of;
using support::random_source;
using support::same_bits;
using support::spread_out;

namespace {

using wide = __float128; // 113 bits: errors of products in double are seen in all their digits

// The exact product, to measure others by.
template <class T>
class exact {
public:
    exact(sg::matrix<T> const& a, sg::matrix<T> const& b) : cols_(b.cols()) {
        double largest_a = 0, largest_b = 0;
        for (sg::index_t i = 0; i < a.rows(); ++i)
            for (sg::index_t j = 0; j < cols_; ++j) {
                wide sum = 0, size = 0;
                for (sg::index_t l = 0; l < a.cols(); ++l) {
                    wide const term = static_cast<wide>(a(i, l)) * b(l, j);
                    sum += term;
                    size += term < 0 ? -term : term;
                    largest_a = std::max(largest_a, static_cast<double>(std::abs(a(i, l))));
                    largest_b = std::max(largest_b, static_cast<double>(std::abs(b(l, j))));
                }
                sums_.push_back(sum), sizes_.push_back(size);
            }
        norm_ = static_cast<wide>(largest_a) * largest_b * static_cast<double>(a.cols());
    }

    // The largest |dC| / (|A||B|); the largest |dC| / (k max|A| max|B|).
    double error(sg::matrix<T> const& c) const {
        return largest(c, [&](std::size_t x) { return sizes_[x]; });
    }
    double error_in_norm(sg::matrix<T> const& c) const {
        return largest(c, [&](std::size_t) { return norm_; });
    }

    bool is_nearest(sg::matrix<T> const& c) const {
        int wrong = 0;
        for (std::size_t x = 0; x < sums_.size(); ++x) wrong += c.data()[x] != static_cast<T>(sums_[x]);
        return wrong == 0;
    }

private:
    template <class F>
    double largest(sg::matrix<T> const& c, F const& scale) const {
        double worst = 0;
        for (std::size_t x = 0; x < sums_.size(); ++x) {
            wide off = sums_[x] - c(static_cast<sg::index_t>(x) / cols_, static_cast<sg::index_t>(x) % cols_);
            if (off < 0) off = -off;
            if (scale(x) > 0)
                worst = std::max(worst, static_cast<double>(off / scale(x)));
            else if (!(off == 0))
                worst = std::numeric_limits<double>::infinity();
        }
        return worst;
    }

    sg::index_t cols_;
    std::vector<wide> sums_, sizes_;
    wide norm_;
};

template <class Policy, class T>
sg::matrix<T> multiply(Policy const& policy, sg::matrix<T> const& a, sg::matrix<T> const& b) {
    sg::matrix<T> c(a.rows(), b.cols());
    sg::gemm(policy, a, b, c);
    return c;
}

// m 2^q mod p, by its definition.
std::uint64_t remainder_of(parts::integer v, std::uint64_t p) {
    auto const size = static_cast<std::uint64_t>(v.m < 0 ? -v.m : v.m) % p;
    std::uint64_t r = v.m < 0 ? (p - size) % p : size;
    for (int i = 0; i < v.q; ++i) r = r * 2 % p;
    return r;
}

} // namespace

// ---- the arithmetic --------------------------------------------------------------------------------------

TEST_CASE("exponents and lowest bits") {
    CHECK(parts::exponent_of(1) == 1);
    CHECK(parts::exponent_of(-0.75) == 0);
    CHECK(parts::exponent_of(0x1p-1074) == -1073);
    CHECK(parts::exponent_of(0x1.8p-1060) == -1059);
    CHECK(parts::exponent_of(std::numeric_limits<double>::max()) == 1024);
    CHECK(parts::lowest_bit(-6) == 1);
    CHECK(parts::lowest_bit(0x1.0000000000001p0) == -52);
    CHECK(parts::lowest_bit(0x1p-1074) == -1074);
    CHECK(parts::lowest_bit(0x1p1000) == 1000);
    for (int e : {-2100, -1075, -1074, -1022, -3, 0, 5, 1023, 1500, 2097}) {
        CHECK(parts::times_power(1.5, e) == std::ldexp(1.5, e));
        CHECK(parts::times_power(0x1p-1074, e) == std::ldexp(0x1p-1074, e));
    }
}

TEST_CASE("scaling rounds to the nearest integer") {
    random_source from(1);
    int wrong = 0;
    for (int x = 0; x < 100000; ++x) {
        double const value = from.over_binades(-61, 59);
        int const shift = from.below(200) - 100;
        parts::integer const v = parts::scaled(value, shift);
        double const exact = std::ldexp(value, shift), got = std::ldexp(static_cast<double>(v.m), v.q);
        wrong += !(std::abs(got - exact) <= 0.5) || v.q < 0;
        wrong += exact == std::rint(exact) && got != exact;
    }
    CHECK(wrong == 0);
    CHECK(parts::scaled(0x1p-1074, 1074).m == 1);
    CHECK(parts::scaled(-0.0, 100).m == 0);
    CHECK(parts::scaled(1.5, 0).m == 2);
    CHECK(parts::scaled(-1.5, 0).m == -2);
    CHECK(parts::scaled(2.5, 0).m == 2);
    CHECK(parts::scaled(-2.5, 0).m == -2);
    CHECK(parts::scaled(0.25, 0).m == 0);
}

TEST_CASE("digits in balanced base 256 make up the number, for every count of slices") {
    random_source from(2);
    int wrong = 0;
    for (int count = 2; count <= 18; ++count)
        for (int x = 0; x < 4000; ++x) {
            double const value = x % 7 == 0   ? std::ldexp(1, from.below(60) - 60)
                                 : x % 7 == 1 ? -std::nextafter(1 - 0x1p-7, 0)
                                              : from.over_binades(-61, -1);
            parts::integer const v = parts::scaled(value, 7 - (std::abs(value) == 1) + 8 * (count - 1));
            // Compared modulo 2^64 and two primes: what agrees in all is the same number.
            std::uint64_t const primes[] = {2147483647u, 4294967291u};
            std::uint64_t whole = 0, rests[2] = {};
            for (int j = count - 1; j >= 0; --j) {
                int const d = parts::digit(v, j);
                wrong += d < -128 || d > 127;
                whole = whole * 256 + static_cast<std::uint64_t>(d);
                for (int i = 0; i < 2; ++i)
                    rests[i] =
                        (rests[i] * 256 + primes[i] + static_cast<std::uint64_t>(d + 256) - 256) % primes[i];
            }
            wrong += whole != (v.q > 63 ? 0 : static_cast<std::uint64_t>(v.m) << v.q);
            for (int i = 0; i < 2; ++i) wrong += rests[i] != remainder_of(v, primes[i]);
            wrong += parts::digit(v, count) != 0;
        }
    CHECK(wrong == 0);
}

TEST_CASE("residues are centred int8, congruent to the number") {
    random_source from(3);
    int wrong = 0;
    for (int const p : parts::moduli) {
        parts::modulus const mod(p);
        for (int x = 0; x < 3000; ++x) {
            parts::integer const v{static_cast<std::int64_t>(from.next() >> 10) - (std::int64_t{1} << 53),
                                   from.below(x % 2 ? 1 : 100)};
            int const r = mod.centred(v);
            wrong += r < -p / 2 || r > (p - 1) / 2;
            wrong += static_cast<std::uint64_t>((r + p) % p) != remainder_of(v, static_cast<unsigned>(p));
            wrong += v.q == 0 && mod.centred(v.m) != r;
        }
        for (std::int64_t const x : {std::numeric_limits<std::int64_t>::max() - 300, std::int64_t{1} - p,
                                     std::int64_t{p}, std::int64_t{p} / 2, -std::int64_t{p} / 2})
            wrong += (x - mod.centred(x)) % p != 0;
        for (std::uint64_t const x : {~std::uint64_t{0}, std::uint64_t{1} << 63})
            wrong += mod.of(x) != x % unsigned(p);
    }
    CHECK(wrong == 0);
}

TEST_CASE("the moduli are coprime, and the weights of the Chinese remainder theorem are inverses") {
    auto const gcd = [](int x, int y) {
        while (y != 0) {
            int const r = x % y;
            x = y, y = r;
        }
        return x;
    };
    for (int i = 0; i < parts::most_moduli; ++i)
        for (int j = 0; j < i; ++j) CHECK(gcd(parts::moduli[i], parts::moduli[j]) == 1);
    static_assert(parts::residue_system(2).weight(0) == 85);  // 253 * 85 = 1 mod 256
    static_assert(parts::residue_system(2).weight(1) == 169); // 256 * 169 = 1 mod 253
    for (int count = 2; count <= parts::most_moduli; ++count) {
        parts::residue_system const system(count);
        for (int i = 0; i < count; ++i) {
            std::int64_t cofactor = 1;
            for (int j = 0; j < count; ++j)
                if (j != i) cofactor = cofactor * parts::moduli[j] % parts::moduli[i];
            CHECK(cofactor * system.weight(i) % parts::moduli[i] == 1);
        }
    }
}

TEST_CASE("integers come back from their residues, for every count of moduli") {
    random_source from(4);
    for (int count = 2; count <= parts::most_moduli; ++count) {
        parts::residue_system const system(count);
        auto const back = [&](parts::integer x, parts::integer y) {
            return system.integer_of([&](int i) {
                parts::modulus const mod(parts::moduli[i]);
                return mod.centred(std::int64_t{system.weight(i)} * (mod.centred(x) + mod.centred(y)));
            });
        };
        double const limit = parts::room(count) * parts::room(count);
        int const bits = parts::exponent_of(limit) - 1;
        int wrong = 0;
        for (int x = 0; x < 3000; ++x) {
            // Values of any size, and the largest that there may be.
            double const value =
                std::trunc(x % 3 == 0 ? limit * (1 - from.unit() * 0x1p-30) * (x % 2 ? 1 : -1)
                                      : from.over_binades(-1, 2 * (bits / 2) - 1));
            sg::twofold const one = back(parts::scaled(value, 0), {});
            wrong += one.high != value || one.low != 0;
            // More bits than a double has.
            double const small = std::rint(std::ldexp(value, -from.below(100)) / 2),
                         rest = std::rint(small * from.unit());
            sg::twofold const two = back(parts::scaled(value / 2, 0), parts::scaled(rest, 0));
            wide const value_and_rest =
                static_cast<wide>(std::ldexp(static_cast<double>(parts::scaled(value / 2, 0).m),
                                             parts::scaled(value / 2, 0).q)) +
                rest;
            wide off = value_and_rest - two.high - two.low;
            if (off < 0) off = -off;
            wrong += off > 0x1p-104 * std::abs(two.high);
        }
        CAPTURE(count);
        CHECK(wrong == 0);
    }
}

// ---- explicit counts -------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("integers are exact with any count", "", float, double, std::complex<double>) {
    using T = TestType;
    auto const a = integers<T>(13, 20, 1), b = integers<T>(20, 11, 2), e = integers<T>(13, 11, 3);
    auto const ab = product_of(a, b);
    auto const check = [&](sg::ozaki_options options) {
        CAPTURE(options.slices, options.moduli);
        sg::ozaki const policy(sg::reference{}, options);
        sg::matrix<T> c(13, 11, [](sg::index_t, sg::index_t) { return T(1e9f); });
        sg::gemm(policy, a, b, c);
        CHECK(equal(c, ab));
        sg::gemm(policy, T(2), a, b, T(-1), c); // 2 AB - AB
        CHECK(equal(c, ab));
        sg::gemm(policy, a, b, e, c);
        CHECK(equal(c,
                    sg::matrix<T>(13, 11, [&](sg::index_t i, sg::index_t j) { return ab(i, j) + e(i, j); })));
    };
    check({});
    for (int x = 2; x <= 18; ++x) check({.slices = x});
    for (int x = 2; x <= 20; ++x) check({.moduli = x});
    for (int x = 2; x <= 20; ++x) check({.moduli = x, .scaling = sg::ozaki_scaling::product});
}

TEST_CASE("bounds of explicit counts hold, and are within a hundred of what is seen") {
    double const u = 0x1p-53;
    for (auto const& size : {std::array<sg::index_t, 3>{40, 30, 60}, {16, 17, 700}, {50, 50, 3}})
        for (double const lift : {0.0, 0.5}) { // around zero, and positive
            sg::index_t const m = size[0], n = size[1], k = size[2];
            random_source from(5);
            auto const fill = [&](sg::index_t, sg::index_t) { return from.uniform(-0.5, 0.5) + lift; };
            sg::matrix<double> const a(m, k, fill), b(k, n, fill);
            exact const truth(a, b);
            auto const check = [&](sg::ozaki_options options) {
                CAPTURE(m, n, k, lift, options.slices, options.moduli, int(options.scaling));
                sg::ozaki const policy(sg::reference{}, options);
                auto const bound = policy.error_bound(sg::shape<double>{m, n, k});
                double const error = truth.error_in_norm(multiply(policy, a, b));
                CHECK(bound.normwise);
                CHECK(error <= bound.expected);
                CHECK(bound.expected <= bound.worst);
                if (bound.expected > 10 * u) CHECK(bound.expected <= 100 * error);
            };
            int const step = support::sanitized ? 8 : 1;
            for (int x = 2; x <= 18; x += step) check({.slices = x});
            for (int x = 2; x <= 20; x += step) check({.moduli = x});
            for (int x = 7; x <= 20; x += step) check({.moduli = x, .scaling = sg::ozaki_scaling::product});
        }
}

TEST_CASE("the worst of explicit counts holds where all roundings go one way") {
    for (double const value : {1 / 3.0, std::nextafter(1.0, 0), 0.5 + 0x1p-9, 1.0, 127.5 / 128})
        for (sg::index_t const k : {1, 7, 300}) {
            sg::matrix<double> const a(2, k, [&](sg::index_t i, sg::index_t) { return i ? -value : value; }),
                b(k, 2, [&](sg::index_t, sg::index_t j) { return j ? value / 3 : value; });
            exact const truth(a, b);
            auto const check = [&](sg::ozaki_options options) {
                CAPTURE(value, k, options.slices, options.moduli, int(options.scaling));
                sg::ozaki const policy(sg::reference{}, options);
                CHECK(truth.error_in_norm(multiply(policy, a, b)) <=
                      policy.error_bound(sg::shape<double>{2, 2, k}).worst);
            };
            int const step = support::sanitized ? 7 : 1;
            for (int x = 2; x <= 9; x += step) check({.slices = x});
            for (int x = 2; x <= 18; x += step) check({.moduli = x});
            for (int x = 7; x <= 18; x += step) check({.moduli = x, .scaling = sg::ozaki_scaling::product});
        }
}

TEST_CASE("with enough slices or moduli, each element is the nearest double") {
    auto const a = fractions<double>(20, 50, 1), b = fractions<double>(50, 20, 2);
    exact const truth(a, b);
    for (sg::ozaki_options const& options : {sg::ozaki_options{.slices = 18}, {.slices = 11}, {.moduli = 20}})
        CHECK(truth.is_nearest(multiply(sg::ozaki{sg::reference{}, options}, a, b)));
}

TEST_CASE("k past what int32 holds is split") {
    // All digits are 109, and residues are whatever they are: the same in every term, so that sums grow with k.
    double const digits = 109 * 65793;
    for (sg::index_t const k : {sg::index_t{1} << 17, (sg::index_t{1} << 18) - 5})
        for (double const value : {digits, 127.0, -0.1}) {
            sg::matrix<double> const a(2, k, [&](sg::index_t i, sg::index_t) { return i ? value : -value; }),
                b(k, 1, [&](sg::index_t, sg::index_t) { return value; });
            exact const truth(a, b);
            for (sg::ozaki_options const& options :
                 {sg::ozaki_options{}, {.slices = 3}, {.slices = 18}, {.moduli = 18}}) {
                if (options.slices == 3 && value != digits) continue; // these are cut off
                if (options.slices == 18 && k > 200000) continue;     // long, and no new way to go
                if (support::sanitized && (options.slices == 18 || value != digits)) continue;
                CAPTURE(k, value, options.slices, options.moduli);
                double const error =
                    truth.error(multiply(sg::ozaki{eager{untiled{{.threads = 1}}}, options}, a, b));
                CHECK(error <= 0x1p-53 + (options.slices == 3 ? 0x1p-20 : 0));
            }
        }
    if (support::sanitized) return;
    auto const a = fractions<double>(2, 200000, 1), b = fractions<double>(200000, 1, 2);
    exact const truth(a, b);
    for (sg::ozaki_options const& options : {sg::ozaki_options{}, {.slices = 9}, {.moduli = 18}})
        CHECK(truth.error(multiply(sg::ozaki{eager{untiled{{.threads = 1}}}, options}, a, b)) <= 1e-16);
}

// ---- the contract ----------------------------------------------------------------------------------------

namespace {

// Not above the native product's, on the same data; and what ran.
template <class T>
sg::ozaki_report check_contract(char const* what, sg::matrix<T> const& a, sg::matrix<T> const& b) {
    sg::ozaki_report report;
    eager const cpu{untiled{{.threads = 1}}};
    exact const truth(a, b);
    double const native = truth.error(multiply(cpu, a, b));
    double const ours = truth.error(multiply(sg::ozaki{cpu, {.report = &report}}, a, b));
    CAPTURE(what, a.rows(), b.cols(), a.cols(), report.ran, report.count, report.spread);
    CHECK(ours <= native);
    if (report.ran == "native") CHECK(report.count == 0);
    // By the letter: eps |A||B| + u |C|.
    if (report.ran != "native") CHECK(ours <= 2 * sg::unit_roundoff<T>());
    return report;
}

template <class T>
sg::matrix<T> eye(sg::index_t n) {
    return sg::matrix<T>(n, n, [](sg::index_t i, sg::index_t j) { return i == j ? 1 : 0; });
}

} // namespace

TEMPLATE_TEST_CASE("never less accurate than the native product, for any spread of exponents", "", float,
                   double) {
    using T = TestType;
    for (double const phi : {0.0, 0.5, 1.0, 2.0, 4.0, 8.0})
        for (auto const& [m, n, k] :
             {std::array<sg::index_t, 3>{64, 64, 64}, {20, 30, 1000}, {17, 3, 5}, {30, 30, 2}, {40, 40, 1}}) {
            auto const a = spread_out<T>(m, k, phi, 6), b = spread_out<T>(k, n, phi, 7);
            auto const report = check_contract("spread", a, b);
            CAPTURE(phi, k);
            if (phi <= 1) CHECK(report.ran == "moduli");
            if (phi == 8 && k >= 64) {
                CHECK(report.ran == "native");
                CHECK(contains(report.reason, "spread"));
            }
        }
}

TEMPLATE_TEST_CASE("never less accurate than the native product, on what is meant to trip it", "", float,
                   double) {
    using T = TestType;
    sg::index_t const m = 30, n = 26, k = 90;
    auto const a = fractions<T>(m, k, 8), b = fractions<T>(k, n, 9);
    auto const with = [](sg::matrix<T> x, auto const& f) {
        f(x);
        return x;
    };
    auto const change_a = [&](auto const& f) { return with(a, f); };
    T const big = sizeof(T) == 8 ? T(0x1p500) : T(0x1p60f), small = T(1) / big;

    check_contract("one huge element", change_a([&](auto& x) { x(3, 5) = big; }), b);
    check_contract("one element larger by 2^20", change_a([&](auto& x) { x(3, 5) = T(1 << 20); }), b);
    check_contract("one tiny element", change_a([&](auto& x) { x(3, 5) = small; }), b);
    check_contract("zero rows and columns", change_a([&](auto& x) {
                       for (sg::index_t l = 0; l < k; ++l) x(7, l) = x(29, l) = 0, x(8, l) = -T(0);
                   }),
                   with(b, [&](auto& x) {
                       for (sg::index_t l = 0; l < k; ++l) x(l, 0) = 0;
                   }));
    check_contract("all zero", sg::matrix<T>(m, k), b);
    check_contract("rows and columns scaled", change_a([&](auto& x) {
                       for (sg::index_t i = 0; i < m; ++i)
                           for (sg::index_t l = 0; l < k; ++l) x(i, l) *= i % 2 ? big : small;
                   }),
                   with(b, [&](auto& x) {
                       for (sg::index_t l = 0; l < k; ++l)
                           for (sg::index_t j = 0; j < n; ++j) x(l, j) *= j % 3 ? T(1) / 8 : T(1) / 1024;
                   }));
    check_contract("wide within rows, against it within columns", change_a([&](auto& x) {
                       for (sg::index_t i = 0; i < m; ++i)
                           for (sg::index_t l = 0; l < k; ++l) x(i, l) = std::ldexp(x(i, l), int(l % 20));
                   }),
                   with(b, [&](auto& x) {
                       for (sg::index_t l = 0; l < k; ++l)
                           for (sg::index_t j = 0; j < n; ++j) x(l, j) = std::ldexp(x(l, j), -int(l % 20));
                   }));
    check_contract("the unit matrix", fractions<T>(m, m, 3), eye<T>(m));
    check_contract("two unit matrices", eye<T>(m), eye<T>(m));
    check_contract("blocks on the diagonal",
                   with(eye<T>(60),
                        [](auto& x) {
                            for (sg::index_t i = 0; i + 1 < 60; i += 2)
                                x(i, i + 1) = T(1) / 3, x(i + 1, i) = T(3);
                        }),
                   fractions<T>(60, 50, 4));
    check_contract("half of it zero", change_a([&](auto& x) {
                       for (sg::index_t i = 0; i < m; ++i)
                           for (sg::index_t l = 0; l < k; ++l) x(i, l) = l < k / 2 ? T(0) : x(i, l);
                   }),
                   with(b, [&](auto& x) {
                       for (sg::index_t l = k / 2; l < k; ++l)
                           for (sg::index_t j = 0; j < n; ++j) x(l, j) = j % 2 ? T(0) : x(l, j);
                   }));
    for (T const value : {T(1) / 3, T(1), std::nextafter(T(1), T(0)), T(0.1)})
        check_contract("all the same",
                       sg::matrix<T>(40, 500, [&](sg::index_t, sg::index_t) { return value; }),
                       sg::matrix<T>(500, 9, [&](sg::index_t, sg::index_t) { return value / 7; }));
    check_contract("sums that cancel",
                   with(fractions<T>(m, 200, 1),
                        [&](auto& x) {
                            for (sg::index_t i = 0; i < m; ++i)
                                for (sg::index_t l = 1; l < 200; l += 2) x(i, l) = -x(i, l - 1);
                        }),
                   with(fractions<T>(200, n, 2), [&](auto& x) {
                       for (sg::index_t l = 1; l < 200; l += 2)
                           for (sg::index_t j = 0; j < n; ++j)
                               x(l, j) = x(l - 1, j) * (1 + std::numeric_limits<T>::epsilon());
                   }));
    // The peaks of rows and columns meet zeros, and what is left is far below them.
    sg::matrix<T> const c(3, 60,
                          [&](sg::index_t i, sg::index_t l) {
                              return l == 0 ? 1 : l == 1 ? 0 : a(i, l) / 8192;
                          }),
        d(60, 3, [&](sg::index_t l, sg::index_t j) { return l == 0   ? 0
                                                            : l == 1 ? 1
                                                                     : b(l, j) / 8192; });
    check_contract("peaks that meet zeros", c, d);
    T const tiny = std::numeric_limits<T>::denorm_min();
    check_contract(
        "subnormals",
        sg::matrix<T>(m, k, [&](sg::index_t i, sg::index_t l) { return tiny * T(1 + (i * l) % 99); }),
        integers<T>(k, n, 5));
    check_contract("subnormals beside others", change_a([&](auto& x) {
                       for (sg::index_t i = 0; i < m; ++i) x(i, i) = tiny * T(i);
                   }),
                   b);
}

TEST_CASE("what fits is exact, and takes no more than it needs") {
    sg::ozaki_report report;
    sg::ozaki const policy(eager<sg::reference>{}, {.report = &report});
    auto const a = integers<double>(20, 50, 1), b = integers<double>(50, 20, 2);
    CHECK(equal(multiply(policy, a, b), product_of(a, b)));
    CHECK(report.ran == "moduli");
    CHECK(report.count == 7);
    CHECK(report.products == 8);
    // Wide, and yet exact: every sum has one term.
    auto const wide_one = sg::matrix<double>(
        9, 9, [](sg::index_t i, sg::index_t j) { return i == j ? std::ldexp(1, int(i) * 40) : 0; });
    CHECK(equal(multiply(policy, wide_one, wide_one), product_of(wide_one, wide_one)));
}

TEST_CASE("accuracy is what was asked for, and no more work than that") {
    auto const a = fractions<double>(30, 100, 1), b = fractions<double>(100, 30, 2);
    exact const truth(a, b);
    sg::index_t before = 0;
    for (int bits = 2; bits <= 53; ++bits) {
        sg::ozaki_report report;
        sg::ozaki const policy(eager<sg::reference>{},
                               {.accuracy = sg::accuracy::bits(bits), .report = &report});
        double const error = truth.error(multiply(policy, a, b));
        auto const bound = policy.error_bound(sg::shape<double>{30, 30, 100});
        CAPTURE(bits, report.count);
        CHECK(error <= std::ldexp(1, -bits) + 0x1p-53);
        CHECK(error <= bound.expected);
        CHECK(bound.expected <= bound.worst);
        CHECK(!bound.normwise);
        CHECK(report.products >= before);
        before = report.products;
        if (bits <= 8) CHECK(report.ran == "slices");
        if (bits >= 20) CHECK(report.ran == "moduli");
    }
    CHECK(before <= 17);
    CHECK(sg::accuracy::bits(53).eps == sg::accuracy::fp64.eps);
    CHECK(sg::accuracy::relative(1e-3).eps == 1e-3);
}

TEST_CASE("fp32 takes half of what fp64 takes") {
    auto const count = [](auto const& a, auto const& b, sg::accuracy accuracy) {
        sg::ozaki_report report;
        multiply(sg::ozaki{eager<sg::reference>{}, {.accuracy = accuracy, .report = &report}}, a, b);
        return report.count;
    };
    auto const a = fractions<double>(30, 100, 1), b = fractions<double>(100, 30, 2);
    auto const x = fractions<float>(30, 100, 1), y = fractions<float>(100, 30, 2);
    CHECK(count(a, b, sg::accuracy::fp64) >= 14);
    CHECK(count(a, b, sg::accuracy::fp64) <= 16);
    CHECK(count(a, b, sg::accuracy::fp32) <= 8);
    CHECK(count(x, y, sg::accuracy::fp32) <= 8);
    CHECK(count(x, y, sg::accuracy::fp64) <= 8); // C holds no more
}

TEST_CASE("lines that one power of two cannot scale are left to the base") {
    auto const b = fractions<double>(12, 10, 2);
    for (sg::ozaki_options options : {sg::ozaki_options{}, {.moduli = 9}, {.moduli = 15}})
        for (double const size : {0x1p-900, 0x1p-1000}) {
            auto a = fractions<double>(9, 12, 1);
            for (sg::index_t l = 0; l < 12; ++l) a(4, l) *= size;
            sg::ozaki_report report;
            options.report = &report;
            CHECK(exact(a, b).error(multiply(sg::ozaki{eager<sg::reference>{}, options}, a, b)) < 1e-6);
            CHECK((report.ran == "native") == (size == 0x1p-1000));
        }
}

TEMPLATE_TEST_CASE("Inf, NaN and what overflows come out as from the native product", "", float, double) {
    using T = TestType;
    T const inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
            huge = std::numeric_limits<T>::max();
    for (T const odd : {inf, -inf, nan, huge, -huge})
        for (sg::ozaki_options options : {sg::ozaki_options{}, {.slices = 4}, {.moduli = 9}})
            for (bool const in_a : {true, false}) {
                auto a = fractions<T>(9, 12, 1), b = fractions<T>(12, 10, 2);
                (in_a ? a(4, 5) : b(5, 4)) = odd;
                b(3, 3) = huge / 2; // of its own, it does not overflow
                sg::ozaki_report report;
                options.report = &report;
                eager const cpu{untiled{{.threads = 1}}};
                CHECK(same_bits(multiply(sg::ozaki{cpu, options}, a, b), multiply(cpu, a, b)));
                CHECK(report.ran == "native");
                CHECK(*report.reason != '\0');
            }
}

// ---- the same bits ---------------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("the same bits over reference and host, and for any number of threads", "", float, double,
                   std::complex<float>) {
    using T = TestType;
    // Large enough for two threads, also in what is done by elements.
    sg::matrix<T> const a = fractions<T>(270, 7, 10), b = fractions<T>(7, 265, 11);
    for (sg::ozaki_options const& options : {sg::ozaki_options{},
                                             {.slices = 3},
                                             {.moduli = 5},
                                             {.moduli = 9, .scaling = sg::ozaki_scaling::product}}) {
        auto const over = [&](auto const& base) { return multiply(sg::ozaki{base, options}, a, b); };
        auto const c = over(eager{untiled{{.threads = 1}}});
        CHECK(same_bits(c, over(eager{untiled{{.threads = 2}}})));
        CHECK(same_bits(c, over(eager{untiled{{.threads = 3}}})));
        CHECK(same_bits(c, over(eager<sg::reference>{})));
        for (int x = 0; x < 2; ++x) CHECK(same_bits(c, over(eager{untiled{{.threads = 2}}})));
    }
}

// ---- as a policy -----------------------------------------------------------------------------------------

TEST_CASE("ozaki: workspace is what is needed, not less and not more") {
    for (auto const& [m, n, k] :
         {std::array<sg::index_t, 3>{20, 30, 40}, {33, 7, 100}, {1, 1, 9}, {2, 1, 131072}})
        for (sg::ozaki_options const& options : {sg::ozaki_options{},
                                                 {.slices = 2},
                                                 {.slices = 7},
                                                 {.moduli = 9},
                                                 {.moduli = 15, .scaling = sg::ozaki_scaling::product}}) {
            sg::ozaki const policy(sg::reference{}, options);
            auto const a = fractions<double>(m, k, 1), b = fractions<double>(k, n, 2);
            sg::matrix<double> c(m, n);
            auto const use = support::try_arena(policy, sg::product(a, b, c));
            CAPTURE(m, n, k, options.slices, options.moduli);
            CHECK(use.stayed_inside);
            if (options.slices + options.moduli > 0) CHECK(use.used_up);
            sg::ozaki const on_host(eager{untiled{{.threads = 2}}}, options);
            CHECK(support::try_arena(on_host, sg::product(a, b, c)).stayed_inside);
        }
}

TEST_CASE("a product of nothing needs no workspace of its own") {
    for (sg::ozaki_options const& options : {sg::ozaki_options{}, {.slices = 7}, {.moduli = 9}})
        CHECK(sg::ozaki{sg::reference{}, options}.workspace(sg::shape<double>{3, 4, 0}) == sg::footprint{});
}

TEST_CASE("ozaki applies an epilogue once to each element, with its place") {
    auto const a = integers<float>(21, 19, 1), b = integers<float>(19, 23, 2);
    auto const ab = product_of(a, b);
    for (sg::ozaki_options const& options : {sg::ozaki_options{}, {.slices = 3}, {.moduli = 6}}) {
        sg::matrix<float> c(21, 23);
        sg::gemm(sg::recursive{sg::ozaki{eager<sg::reference>{}, options}, {.leaf_bytes = 900}}, a, b, c,
                 [](float x, sg::index_t i, sg::index_t j) { return x + static_cast<float>(100 * i + j); });
        int wrong = 0;
        for (sg::index_t i = 0; i < 21; ++i)
            for (sg::index_t j = 0; j < 23; ++j)
                wrong += c(i, j) != ab(i, j) + static_cast<float>(100 * i + j);
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("ozaki: an epilogue does as it would to the finished C", "", float, double,
                   std::complex<float>) {
    using T = TestType;
    auto const a = integers<T>(11, 19, 1), b = integers<T>(19, 13, 2), e = integers<T>(11, 13, 3);
    for (sg::ozaki_options const& options : {sg::ozaki_options{}, {.slices = 3}, {.moduli = 6}})
        for (T const alpha : {T(1), T(0), T(0.7f)})
            for (T const beta : {T(0), T(-1.3f)}) {
                CHECK(support::finishes(sg::ozaki{eager<untiled>{}, options}, a, b, e, alpha, beta));
                CHECK(support::finishes(sg::ozaki{eager<sg::reference>{}, options}, a, b, e, alpha, beta));
            }
    sg::matrix<T> const none(11, 0), nothing(0, 13);
    CHECK(support::finishes(sg::ozaki{eager<untiled>{}, {.moduli = 6}}, none, nothing, e, T(1), T(2)));
}

TEST_CASE("complex products: as accurate as real ones") {
    using T = std::complex<double>;
    sg::matrix<T> const a = fractions<T>(12, 200, 11), b = fractions<T>(200, 11, 12);
    sg::matrix<T> c(12, 11), want(12, 11);
    T const alpha(0.3, -0.7);
    sg::ozaki_report report;
    sg::gemm(sg::ozaki{eager{untiled{{.threads = 1}}}, {.report = &report}}, alpha, sg::conjugated(a), b,
             T(0), c);
    sg::gemm(sg::reference{}, alpha, sg::conjugated(a), b, T(0), want);
    CHECK(report.ran == "moduli");
    for (sg::index_t i = 0; i < 12; ++i)
        for (sg::index_t j = 0; j < 11; ++j)
            CHECK(std::abs(c(i, j) - want(i, j)) <= 3e-16 * std::abs(want(i, j)) + 1e-16);
}

TEST_CASE("what cannot be asked for is refused with a reason, and C is as it was") {
    auto const a = integers<double>(3, 4, 1), b = integers<double>(4, 5, 2);
    auto const refused = [&](sg::ozaki_options options) {
        sg::matrix<double> c(3, 5, [](sg::index_t, sg::index_t) { return 42; });
        sg::ozaki const policy(sg::reference{}, options);
        auto const s = sg::try_gemm(policy, a, b, c);
        REQUIRE(!s);
        CHECK(s.error().layer() == "ozaki");
        CHECK(s.error().code() == sg::errc::argument);
        CHECK(equal(c, sg::matrix<double>(3, 5, [](sg::index_t, sg::index_t) { return 42; })));
        return std::string(s.error().what());
    };
    for (int const x : {-1, 1, 19, 1000}) CHECK(contains(refused({.slices = x}), "`slices` must be 2 to 18"));
    for (int const x : {-1, 1, 21, 1000}) CHECK(contains(refused({.moduli = x}), "`moduli` must be 2 to 20"));
    CHECK(contains(refused({.slices = 3, .moduli = 3}), "not both"));
    for (int const bits : {-1, 0, 1, 54, 200, 5000})
        CHECK(contains(refused({.accuracy = sg::accuracy::bits(bits)}), "2 to 53 bits"));
    for (double const eps : {0.0, -1.0, 1e-30, 0.5, std::nan("")})
        CHECK(contains(refused({.accuracy = sg::accuracy::relative(eps)}), "2 to 53 bits"));
}

TEST_CASE("k too large is refused") {
    double const one = 1;
    double c = 42;
    auto const refused = [&](sg::index_t k, sg::ozaki_options options) {
        auto const s = sg::try_gemm(sg::ozaki{sg::reference{}, options}, sg::strided(&one, 1, k, 0, 0),
                                    sg::strided(&one, k, 1, 0, 0), sg::row_major(&c, 1, 1));
        REQUIRE(!s);
        CHECK(s.error().layer() == "ozaki");
        CHECK(c == 42);
        return std::string(s.error().what());
    };
    CHECK(contains(refused((sg::index_t{1} << 31) + 1, {}), "at most 2^31"));
    CHECK(contains(refused(40000, {.moduli = 2}), "too large for so few"));
}

TEST_CASE("ozaki: what it accepts, and what it says") {
    using policy = sg::ozaki<sg::host>;
    using Z = std::complex<float>;
    static_assert(sg::takes<policy, sg::dense_problem<float, float, float>>);
    static_assert(sg::takes<policy, sg::dense_problem<Z, Z, Z>>);
    static_assert(!sg::takes<policy, sg::dense_problem<std::int8_t, std::int8_t, std::int32_t>>);
    static_assert(!sg::takes<policy, sg::dense_problem<sg::half, sg::half, float>>);
    // Strassen has no int8 products.
    static_assert(!sg::takes<sg::ozaki<sg::strassen<sg::host>>, sg::dense_problem<float, float, float>>);
    static_assert(sg::takes<sg::ozaki<sg::recursive<sg::host>>, sg::dense_problem<float, float, float>>);

    sg::shape<double> const s{64, 64, 64};
    auto const said = [&](sg::ozaki_options options) {
        return sg::ozaki{sg::reference{}, options}.describe(s);
    };
    CHECK(contains(said({}), "1.1e-16"));
    CHECK(contains(said({}), "natively"));
    // It says which of the two it counts with.
    for (sg::index_t const n : {8, 64, 2048}) {
        sg::ozaki const layer{sg::host{}};
        sg::shape<double> const x{.m = n, .n = n, .k = n};
        bool const counts_native = layer.estimate(x) == sg::host{}.estimate(x);
        CHECK(contains(layer.describe(x), counts_native ? "natively, which is estimated to be faster here"
                                                        : "estimated to be faster here, or natively"));
    }
    CHECK(contains(said({.slices = 7}), "7 slices, 28 products"));
    CHECK(contains(said({.moduli = 15}), "15 moduli"));
    CHECK(contains(said({.moduli = 15, .scaling = sg::ozaki_scaling::product}), "16 products"));
    CHECK(contains(said({.moduli = 15}), "int8"));
}

namespace {

// Products of int8 are so many times as fast as others.
struct rated : sg::reference {
    double ratio = 1;
    template <class S>
    double estimate(S const& s) const {
        return sg::multiply_adds(s) / (std::is_same_v<typename S::a_type, std::int8_t> ? ratio : 1);
    }
};

} // namespace

TEST_CASE("the native product where it is estimated to be faster, unless counts are explicit") {
    auto const a = fractions<double>(20, 30, 1), b = fractions<double>(30, 20, 2);
    auto const scheme = [&](double ratio, sg::ozaki_options options) {
        sg::ozaki_report report;
        options.report = &report;
        rated base;
        base.ratio = ratio;
        multiply(sg::ozaki{base, options}, a, b);
        if (report.ran == "native") CHECK(contains(report.reason, "faster"));
        return report.ran;
    };
    CHECK(scheme(2, {}) == "native");
    CHECK(scheme(10, {}) == "native"); // 7 would pay, but 14 are needed
    CHECK(scheme(13.5, {}) == "native");
    CHECK(scheme(15.5, {}) == "moduli");
    CHECK(scheme(10, {.accuracy = sg::accuracy::bits(8)}) == "slices");
    CHECK(scheme(2, {.moduli = 15}) == "moduli");

    // The host knows: so few elements are never worth the planes.
    sg::ozaki_report report;
    multiply(sg::ozaki{sg::host{}, {.report = &report}}, a, b);
    CHECK(report.ran == "native");
    CHECK(contains(report.reason, "faster"));
}
