// bench_approximate coverage: how often the error of a method was within what its report promised.
//
// The operands of a kind of data are fixed, and trials differ in their seeds: a promise is about every input. The kinds
// are friendly ones and those that a method may fail on. A method that refuses, or does the product exactly, is counted
// beside those that it did.
#include "approximate.hpp"
#include "oracle.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/structure/low_rank.hpp>

#include <algorithm>
#include <cstdio>

namespace bench {
namespace {

// C = A B of m x n, and `exact`, the same in double.
struct small_product {
    std::string name;
    sg::matrix<float> a, b;
    index_t nonzeros = 0; // of the product; 0: unknown
    sg::matrix<double> exact{};
    double norms = 0;
};

// ---- kinds of data ------------------------------------------------------------------------------------------

struct sides {
    index_t m, n, k;
};
// f(i, j) of A, and of B with the indices exchanged: k is the second.
template <class F>
small_product both(std::string name, sides s, F f) {
    return {
        std::move(name),
        sg::matrix<float>(s.m, s.k, [&](index_t i, index_t k) { return static_cast<float>(f(i, k, 0)); }),
        sg::matrix<float>(s.k, s.n, [&](index_t k, index_t j) { return static_cast<float>(f(j, k, 1)); })};
}

std::vector<small_product> kinds(sides s) {
    std::vector<double> const x[] = {draw<double>(s.m * s.k, 0, 1), draw<double>(s.n * s.k, 0, 2)};
    auto const some = [&](index_t i, index_t k, int of) {
        return x[of][static_cast<std::size_t>(i * s.k + k)];
    };
    std::vector<small_product> all;
    all.push_back(both("no structure", s, some));
    all.push_back(both("all of one sign", s, [&](auto... at) { return 1 + some(at...); }));
    // Element k of A and of B are as large, so that some terms are 2^40 times as large as others.
    all.push_back(both("spread of 2^40", s, [&](index_t i, index_t k, int of) {
        return std::ldexp(some(i, k, of), static_cast<int>(k * 7919 % 41) - 20);
    }));
    all.push_back(both("one huge row", s, [&](index_t i, index_t k, int of) {
        return some(i, k, of) * (of == 0 ? i == 0 : k == 0 ? 0x1p20 : 1);
    }));
    all.push_back(
        both("rank one", s, [&](index_t i, index_t k, int of) { return some(i, 0, of) * some(0, k, of); }));
    // Four columns leave a matrix of rank one, for which certificates err most often.
    all.push_back(both("rank five", s, [&](index_t i, index_t k, int of) {
        double sum = 0;
        for (index_t r = 0; r < 5; ++r) sum += some(i, r, of) * some(r, k, of);
        return sum;
    }));
    all.push_back(both("zero", s, [](auto...) { return 0; }));
    // Rows of a Hadamard matrix, which are orthogonal; those of A are not those of B, or are two of them.
    auto const sign = [](index_t line, index_t k) {
        return __builtin_popcountll(static_cast<unsigned long long>(line & k)) % 2 ? -1 : 1;
    };
    all.push_back(
        both("orthogonal", s, [&](index_t i, index_t k, int of) { return sign(2 * i + of + 1, k); }));
    all.push_back(both("sparse product", s, [&](index_t i, index_t k, int of) {
        if (of == 0) return some(i, 0, 0) * sign(i, k);
        return 1.0 * sign(i * 7 % s.m, k) - 2.0 * sign((i * 11 + 3) % s.m, k);
    }));
    if ((s.k & (s.k - 1)) == 0 && s.m <= s.k) all.back().nonzeros = 2 * s.n;
    for (small_product& p : all) {
        p.norms = frobenius(p.a) * frobenius(p.b);
        p.exact = sg::matrix<double>(s.m, s.n, [&](index_t i, index_t j) {
            double sum = 0;
            for (index_t k = 0; k < s.k; ++k) sum += double(p.a(i, k)) * double(p.b(k, j));
            return sum;
        });
    }
    return all;
}

// ---- trials -------------------------------------------------------------------------------------------------

template <class M>
double distance(sg::matrix<float> const& c, M const& from, double norm) {
    double sum = 0;
    for (index_t i = 0; i < c.rows(); ++i)
        for (index_t j = 0; j < c.cols(); ++j) {
            double const off = double(c(i, j)) - double(from(i, j));
            sum += off * off;
        }
    return norm > 0 ? std::sqrt(sum) / norm : std::sqrt(sum);
}

struct trial {
    outcome said;
    double error = 0;
};
struct method {
    std::string name;
    sides of;
    double confidence;
    std::function<trial(small_product const&, std::uint64_t seed)> run;
};
struct tally {
    int refused = 0, exact = 0, done = 0, kept = 0;
    double worst = 0; // error over what was promised
};

tally try_out(method const& of, small_product const& p, int trials) {
    tally all;
#pragma omp parallel
    {
        tally mine;
#pragma omp for schedule(dynamic)
        for (int t = 0; t < trials; ++t) {
            trial const x = of.run(p, static_cast<std::uint64_t>(t));
            if (!x.said.refusal.empty()) {
                ++mine.refused;
                continue;
            }
            if (x.said.note == "native") ++mine.exact;
            // Rounding of floats is no part of what a method leaves out.
            double const promised = x.said.promised + 1e-6;
            ++mine.done, mine.kept += x.error <= promised;
            mine.worst = std::max(mine.worst, x.error / promised);
        }
#pragma omp critical
        {
            all.refused += mine.refused, all.exact += mine.exact, all.done += mine.done,
                all.kept += mine.kept;
            all.worst = std::max(all.worst, mine.worst);
        }
    }
    return all;
}

// The certificate of factors is about A alone: they are multiplied by the identity.
trial factors(small_product const& p, sg::low_rank_options const& options) {
    sg::host const one{.threads = 1};
    auto f = sg::try_low_rank(one, p.a, options);
    if (!f) return {outcome{f.error().what()}};
    index_t const k = p.a.cols();
    sg::matrix<float> const unit(k, k, [](index_t i, index_t j) { return i == j ? 1.0f : 0.0f; });
    sg::matrix<float> c(p.a.rows(), k);
    sg::gemm(one, *f, unit, c);
    sg::bound const b = f->report().bound;
    return {{"", b.worst, b.confidence}, distance(c, p.a, frobenius(p.a))};
}
void add_factors(std::vector<method>& all, double confidence) {
    using enum sg::low_rank_sketch;
    for (auto const& [name, sketch] : {std::pair{"gaussian", gaussian}, std::pair{"signs", signs},
                                       std::pair{"srht", srht}, std::pair{"srct", srct}})
        all.push_back({std::string("low_rank, rank 4, ") + name,
                       {32, 16, 48},
                       confidence,
                       [=](small_product const& p, std::uint64_t seed) {
                           return factors(
                               p, {.rank = 4, .confidence = confidence, .seed = seed, .sketch = sketch});
                       }});
}

// The host, but a multiply-add of a product into C is said to take a microsecond, and one of another product less:
// small products are approximated then, too.
class slow_host : public sg::layer_over<sg::host> {
public:
    static constexpr bool is_backend = true;
    explicit slow_host(sides of_c) : sg::layer_over<sg::host>(sg::host{.threads = 1}), of_c_(of_c) {}
    template <class P>
    static constexpr sg::verdict accepts = sg::answer<sg::host, P>();
    template <class S>
    double estimate(S const& s) const {
        return (s.m == of_c_.m && s.n == of_c_.n ? 1e-6 : 1e-9) * sg::multiply_adds(s);
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        return base_(p, memory);
    }

private:
    sides of_c_;
};

// make(product, seed, report) gives the policy.
template <class Make>
method policy(std::string name, sides of, double confidence, Make make) {
    return {std::move(name), of, confidence, [make](small_product const& p, std::uint64_t seed) {
                sg::report told;
                sg::matrix<float> c(p.a.rows(), p.b.cols());
                sg::status const s = sg::try_gemm(make(p, seed, &told), p.a, p.b, c);
                return trial{outcome_of(s, told), distance(c, p.exact, p.norms)};
            }};
}

void add_draws(std::vector<method>& all, double confidence) {
    using enum sg::draw_probabilities;
    for (auto const& [name, probabilities] :
         {std::pair{"optimal", optimal}, std::pair{"uniform", uniform}, std::pair{"norms", norms}})
        all.push_back(policy(std::string("monte_carlo 0.25, ") + name, {16, 16, 4096}, confidence,
                             [=](small_product const&, std::uint64_t seed, sg::report* told) {
                                 return sg::monte_carlo{slow_host({16, 16, 4096}),
                                                        {.tolerance = 0.25,
                                                         .confidence = confidence,
                                                         .seed = seed,
                                                         .report = told,
                                                         .probabilities = probabilities}};
                             }));
}

void add_compressed(std::vector<method>& all, double confidence) {
    using enum sg::compressed_form;
    for (auto const& [name, form] :
         {std::pair{"walsh_hadamard", walsh_hadamard}, std::pair{"fourier", fourier}})
        all.push_back(policy(std::string("compressed 0.25, ") + name, {16, 16, 256}, confidence,
                             [=](small_product const& p, std::uint64_t seed, sg::report* told) {
                                 return sg::compressed{slow_host({16, 16, 256}),
                                                       {.tolerance = 0.25,
                                                        .confidence = confidence,
                                                        .seed = seed,
                                                        .report = told,
                                                        .nonzeros = p.nonzeros,
                                                        .form = form}};
                             }));
}

template <class Kind>
void add_sketched(std::vector<method>& all, double confidence, char const* name, Kind kind) {
    constexpr sides of{16, 17, 2048};
    all.push_back(policy(std::string("sketched 0.5, ") + name, of, confidence,
                         [=](small_product const&, std::uint64_t seed, sg::report* told) {
                             return sg::sketched{
                                 slow_host(of),
                                 kind,
                                 {.tolerance = 0.5, .confidence = confidence, .seed = seed, .report = told}};
                         }));
}

std::vector<method> methods() {
    std::vector<method> all;
    for (double const confidence : {0.9, 0.99}) {
        add_draws(all, confidence);
        add_compressed(all, confidence);
        add_sketched(all, confidence, "gaussian", sg::sketches::gaussian{});
        add_sketched(all, confidence, "sparse_sign 8", sg::sketches::sparse_sign{8});
        add_sketched(all, confidence, "count_sketch", sg::sketches::count_sketch{});
    }
    for (double const confidence : {0.9, 0.99, 0.999}) add_factors(all, confidence);
    return all;
}

} // namespace

int print_coverage(int trials) {
    std::printf(
        "%d trials each: of those that were not refused, how many had an error within what was promised\n",
        trials);
    int below = 0;
    for (method const& of : methods()) {
        std::printf("\n== %s: %td x %td x %td, a confidence of %g%%\n%-20s %9s %9s %9s %9s  %s\n",
                    of.name.c_str(), of.of.m, of.of.n, of.of.k, of.confidence * 100, "data", "refused",
                    "exact", "done", "within", "largest error over what was promised");
        for (small_product const& p : kinds(of.of)) {
            tally const seen = try_out(of, p, trials);
            std::printf("%-20s %9d %9d %9d", p.name.c_str(), seen.refused, seen.exact,
                        seen.done - seen.exact);
            if (seen.done == 0) {
                std::printf("\n");
                continue;
            }
            double const share = double(seen.kept) / seen.done;
            // A promise that is kept exactly as often as it says is below that by chance: by three deviations
            // in one of 700 cases.
            double const chance = 3 * std::sqrt(of.confidence * (1 - of.confidence) / seen.done);
            bool const fails = share < of.confidence - chance;
            below += fails;
            std::printf(" %8.2f%%  %.2f%s\n", share * 100, seen.worst,
                        fails ? "   BELOW ITS CONFIDENCE" : "");
            std::fflush(stdout);
        }
    }
    return below;
}

} // namespace bench
