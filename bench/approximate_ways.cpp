// The ways in which bench_approximate multiplies.
#include "approximate.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/structure/low_rank.hpp>
#include <stratagemm/structure/sketch.hpp>
#include <stratagemm/structure/tensor_train.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace bench {
namespace {

std::string short_number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", x);
    return text;
}

double largest(sg::matrix<float> const& x) {
    float most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, std::abs(x(i, j)));
    return most;
}

// |A - rounded A| / |A|
template <class T>
double rounding(sg::matrix<float> const& a, sg::matrix<T> const& rounded) {
    double off = 0, all = 0;
    for (index_t i = 0; i < a.rows(); ++i)
        for (index_t j = 0; j < a.cols(); ++j) {
            double const x = a(i, j), d = x - static_cast<float>(rounded(i, j));
            off += d * d, all += x * x;
        }
    return std::sqrt(off / all);
}

// A product by a policy that states its bound for every input. `rounded` is what rounded operands add. An error within
// x |A||B| in each element is one within x |A| |B| in the norm.
template <class P, class A, class B, class T>
way exact(approximate_product& p, std::string method, std::string setting, P policy, A const& a, B const& b,
          sg::matrix<T>& c, double rounded = 0) {
    sg::bound const bound = sg::plan(policy, sg::product(a, b, c).shape()).error_bound();
    double const n = double(p.n),
                 all = bound.normwise ? n * largest(p.data.a) * n * largest(p.data.b) * n / p.norms : 1;
    outcome const promised{"", bound.worst * all + rounded};
    return {std::move(method), std::move(setting),
            [policy, &a, &b, &c, promised] {
                sg::gemm(policy, a, b, c);
                return promised;
            },
            std::is_same_v<T, double>};
}

// A by its factors, found in the call.
way low_rank_in_call(approximate_product& p, double tolerance) {
    return {"low_rank", short_number(tolerance), [&p, tolerance] {
                auto f = sg::try_low_rank(p.cpu, p.data.a, {.tolerance = tolerance, .seed = 1});
                if (!f) return outcome{f.error().what()};
                sg::gemm(p.cpu, *f, p.data.b, p.c32);
                sg::bound const b = f->report().bound;
                return outcome{"", b.worst, b.confidence, "rank " + std::to_string(f->rank())};
            }};
}
// By factors that were found before.
void add_kept_factors(std::vector<way>& all, approximate_product& p, double tolerance) {
    auto found = sg::try_low_rank(p.cpu, p.data.a, {.tolerance = tolerance, .seed = 1});
    if (!found) return;
    auto const f = std::make_shared<std::remove_cvref_t<decltype(*found)>>(*std::move(found));
    all.push_back({"low_rank kept", short_number(tolerance), [&p, f] {
                       sg::gemm(p.cpu, *f, p.data.b, p.c32);
                       sg::bound const b = f->report().bound;
                       return outcome{"", b.worst, b.confidence, "rank " + std::to_string(f->rank())};
                   }});
}

// A as a train of three cores, 16 x 16 but for the last.
void add_trains(std::vector<way>& all, approximate_product& p, double tolerance) {
    auto const make = [&p, tolerance] {
        index_t const rest = p.n / 256;
        return sg::try_tensor_train(p.data.a, {16, 16, rest}, {16, 16, rest}, {.tolerance = tolerance});
    };
    auto found = make();
    if (!found) return;
    auto const use = [&p](auto const& train) {
        sg::gemm(p.cpu, train, p.data.b, p.c32);
        auto const r = train.report();
        return outcome{"", r.bound.worst, r.bound.confidence, "ranks to " + std::to_string(r.count)};
    };
    auto const kept = std::make_shared<std::remove_cvref_t<decltype(*found)>>(*std::move(found));
    all.push_back({"tensor_train", short_number(tolerance), [make, use] { return use(*make()); }});
    all.push_back({"tensor_train kept", short_number(tolerance), [kept, use] { return use(*kept); }});
}

// (A S^T)(S B), by hand.
template <class Make>
void add_sketches(std::vector<way>& all, approximate_product& p, char const* name, Make make) {
    for (index_t const share : {16, 4}) {
        index_t const rows = p.n / share;
        auto const left = std::make_shared<sg::matrix<float>>(p.n, rows);
        auto const right = std::make_shared<sg::matrix<float>>(rows, p.n);
        all.push_back({name, "n / " + std::to_string(share), [&p, make, rows, left, right] {
                           auto const s = make(rows, p.n);
                           sg::gemm(p.cpu, p.data.a, sg::transposed(s), *left);
                           sg::gemm(p.cpu, s, p.data.b, *right);
                           sg::gemm(p.cpu, *left, *right, p.c32);
                           return outcome{};
                       }});
    }
}

// A policy that keeps a tolerance, at its standard confidence. make(tolerance, report) gives it.
template <class Make>
void add_policy(std::vector<way>& all, approximate_product& p, char const* name, double tolerance, Make make,
                std::string const& note = "") {
    all.push_back({name, short_number(tolerance) + note, [&p, make, tolerance] {
                       sg::report told;
                       sg::status const s = sg::try_gemm(make(tolerance, &told), p.data.a, p.data.b, p.c32);
                       return outcome_of(s, told);
                   }});
}

} // namespace

outcome outcome_of(sg::status const& s, sg::report const& told) {
    if (!s) return {s.error().what()};
    if (told.ran == "native") return {"", told.bound.worst, told.bound.confidence, "native"};
    return {"", told.bound.worst, told.bound.confidence, std::to_string(told.count)};
}

std::vector<way> exact_ways(approximate_product& p) {
    std::vector<way> all;
    auto const &a = p.data.a, &b = p.data.b;
    auto const rounded = [&](auto const& x, auto const& y) {
        double const of_a = rounding(a, x), of_b = rounding(b, y);
        return of_a + of_b + of_a * of_b;
    };
    // The first two are what the others are compared with: the time of the one, and the result of the other.
    all.push_back(exact(p, "float", "", p.cpu, a, b, p.c32));
    all.push_back(exact(p, "double", "", p.cpu, p.a64, p.b64, p.c64));
    all.push_back(exact(p, "bfloat16", "", p.cpu, p.ab16, p.bb16, p.c32, rounded(p.ab16, p.bb16)));
    all.push_back(exact(p, "half", "", p.cpu, p.a16, p.b16, p.c32, rounded(p.a16, p.b16)));
    sg::strassen const once{p.cpu, {.levels = 1}};
    all.push_back(exact(p, "strassen", "float", once, a, b, p.c32));
    all.push_back(exact(p, "strassen", "double", once, p.a64, p.b64, p.c64));
    for (int const products : {3, 6})
        all.push_back(exact(p, "split", std::to_string(products) + " products",
                            sg::split{p.cpu, {.products = products}}, a, b, p.c32));
    for (int const slices : {2, 3, 4})
        all.push_back(exact(p, "ozaki", std::to_string(slices) + " slices",
                            sg::ozaki{p.cpu, {.slices = slices}}, p.a64, p.b64, p.c64));
    return all;
}

std::vector<way> structured_ways(approximate_product& p) {
    std::vector<way> all;
    for (double const tolerance : {1e-2, 1e-5}) {
        all.push_back(low_rank_in_call(p, tolerance));
        add_kept_factors(all, p, tolerance);
    }
    if (p.data.diagonals.empty()) return all;
    all.push_back(exact(p, "toeplitz", "direct", p.cpu, p.diagonals, p.data.b, p.c32));
    all.push_back(exact(p, "toeplitz", "by transforms", p.cpu, p.by_transforms, p.data.b, p.c32));
    add_trains(all, p, 1e-4);
    return all;
}

std::vector<way> approximate_ways(approximate_product& p) {
    std::vector<way> all;
    auto const seed = std::uint64_t{1};
    add_sketches(all, p, "gaussian", [=](index_t r, index_t c) { return sg::gaussian<float>(r, c, seed); });
    add_sketches(all, p, "sparse_sign",
                 [=](index_t r, index_t c) { return sg::sparse_sign<float>(r, c, seed, 8); });
    add_sketches(all, p, "count_sketch",
                 [=](index_t r, index_t c) { return sg::count_sketch<float>(r, c, seed); });
    add_sketches(all, p, "srht", [=](index_t r, index_t c) { return sg::srht<float>(r, c, seed); });
    add_sketches(all, p, "srct", [=](index_t r, index_t c) { return sg::srct<float>(r, c, seed); });
    for (double const tolerance : {0.3, 0.1, 0.01})
        add_policy(all, p, "monte_carlo", tolerance, [&p](double t, sg::report* r) {
            return sg::monte_carlo{p.cpu, {.tolerance = t, .report = r}};
        });
    add_policy(
        all, p, "monte_carlo", 0.01,
        [&p](double t, sg::report* r) {
            return sg::monte_carlo{p.cpu, {.tolerance = t, .otherwise = sg::otherwise::exact, .report = r}};
        },
        " or exact");
    for (double const tolerance : {0.3, 0.1})
        add_policy(all, p, "sketched", tolerance, [&p](double t, sg::report* r) {
            return sg::sketched{p.cpu, {.tolerance = t, .report = r}};
        });
    add_policy(
        all, p, "sketched", 0.5,
        [&p](double t, sg::report* r) {
            return sg::sketched{p.cpu, sg::sketches::sparse_sign{8}, {.tolerance = t, .report = r}};
        },
        " by signs");
    for (double const tolerance : {0.1, 1e-4})
        add_policy(all, p, "compressed", tolerance, [&p](double t, sg::report* r) {
            return sg::compressed{p.cpu, {.tolerance = t, .report = r, .nonzeros = p.data.nonzeros}};
        });
    return all;
}

} // namespace bench
