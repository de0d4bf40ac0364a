// Products of doubles made of exact products of int8: what the parts cost, and how exact the whole is, for several
// counts of slices and moduli. To compile, from the top of the checkout, and run:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/emulated_dgemm.cpp -o emulated_dgemm
//   ./emulated_dgemm [SIZE = 200] [SPREAD = 0.5]   elements are (u - 1/2) exp(SPREAD g), u uniform, g normal
//   ./emulated_dgemm show [NUMBER ...]             the slices and residues of a few numbers, for learning
// It pays where products of int8 run tens of times as fast as those of doubles: on tile units and tensor cores.
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- a base that keeps time ------------------------------------------------------------------------------

// A layer sees a base through its call operator and its leaf, so a base that wraps both sees all that is done.
struct times {
    double preprocessing = 0, slicing = 0, products = 0, together = 0;
    bool after_product = false;
};
struct timed_operations : sg::host_operations {
    times* spent;

    template <class F, class To>
    sg::status apply(F const& f, sg::view<To> to, index_t row0, index_t col0) const {
        bool const plane = std::is_same_v<To, std::int8_t> && !spent->after_product;
        double& here = to.cols == 1 ? spent->preprocessing : plane ? spent->slicing : spent->together;
        double const start = seconds();
        sg::status s = sg::host_operations::apply(f, to, row0, col0);
        here += seconds() - start;
        return s;
    }
    template <class To>
    sg::status fill(sg::view<To> to, To value) const {
        spent->after_product = false;
        return sg::host_operations::fill(to, value);
    }
};
struct timed : sg::host {
    times* spent = nullptr;

    timed_operations leaf() const { return {sg::host::leaf(), spent}; }
    template <class Problem>
    sg::status operator()(Problem const& p, arena& memory) const {
        double const start = seconds();
        sg::status s = sg::host::operator()(p, memory);
        spent->products += seconds() - start;
        spent->after_product = true;
        return s;
    }
};

// ---- the table -------------------------------------------------------------------------------------------

struct experiment {
    sg::matrix<double> a, b;
    std::vector<long double> exact, size; // AB and |A||B|

    experiment(index_t n, double spread) : a(n, n), b(n, n) {
        std::mt19937_64 random(1);
        std::uniform_real_distribution<double> u(-0.5, 0.5);
        std::normal_distribution<double> g;
        for (auto* const x : {&a, &b})
            for (index_t i = 0; i < n * n; ++i) x->data()[i] = u(random) * std::exp(spread * g(random));
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) {
                long double sum = 0, all = 0;
                for (index_t l = 0; l < n; ++l) {
                    long double const term = static_cast<long double>(a(i, l)) * b(l, j);
                    sum += term, all += std::fabs(term);
                }
                exact.push_back(sum), size.push_back(all);
            }
    }
    double error(sg::matrix<double> const& c) const { // the largest |dC| / (|A||B|)
        long double worst = 0;
        for (std::size_t x = 0; x < exact.size(); ++x)
            worst = std::fmax(worst, std::fabs(c.data()[x] - exact[x]) / size[x]);
        return static_cast<double>(worst);
    }
};

// One line: the median of three runs, by their whole time.
enum class means { native, ozaki, b_kept };
double line(char const* what, experiment const& x, sg::ozaki_options options, means by = means::ozaki) {
    index_t const n = x.a.rows();
    sg::matrix<double> c(n, n);
    sg::ozaki_report report;
    options.report = &report;
    struct run {
        times parts;
        double whole;
    };
    std::vector<run> runs;
    for (int i = 0; i < 4; ++i) { // the first warms up
        run r{};
        timed base;
        base.spent = &r.parts;
        double start = seconds();
        if (by == means::native) {
            sg::gemm(base, x.a, x.b, c);
        } else if (by == means::ozaki) {
            sg::gemm(sg::ozaki{base, options}, x.a, x.b, c);
        } else { // B is taken apart before: for many products
            sg::ozaki const policy{base, options};
            auto const kept = sg::keep(policy, x.b);
            r.parts = {}, start = seconds();
            sg::gemm(policy, x.a, kept, c);
        }
        r.whole = seconds() - start;
        if (i > 0) runs.push_back(r);
    }
    if (runs[0].whole > runs[1].whole) std::swap(runs[0], runs[1]);
    if (runs[1].whole > runs[2].whole) std::swap(runs[1], runs[2]);
    if (runs[0].whole > runs[1].whole) std::swap(runs[0], runs[1]);
    auto const& [parts, whole] = runs[1];
    std::string name = what;
    if (by == means::ozaki && options.slices + options.moduli == 0)
        name += ": " + (report.count ? std::to_string(report.count) + " " : "") + std::string(report.ran);
    double const error = x.error(c), work = 2.0 * double(n) * double(n) * double(n);
    std::printf("%-24s %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.1e\n", name.c_str(), parts.preprocessing * 1e3,
                parts.slicing * 1e3, parts.products * 1e3, parts.together * 1e3, whole * 1e3,
                work / whole * 1e-9, error);
    return error;
}

int compare(index_t n, double spread) {
    experiment const x(n, spread);
    std::printf("%td x %td, exponents spread by %g; times in ms, GFLOP/s as of a product of doubles,\n", n, n,
                spread);
    std::printf("error as max |dC| / (|A||B|)\n\n%-24s %9s %9s %9s %9s %9s %9s %9s\n", "", "measuring",
                "slicing", "products", "together", "whole", "GFLOP/s", "error");
    double const native = line("native", x, {}, means::native);
    double const fp64 = line("accuracy fp64", x, {.accuracy = sg::accuracy::fp64});
    line("accuracy fp32", x, {.accuracy = sg::accuracy::fp32});
    for (int const count : {3, 4, 6, 7, 8})
        line((std::to_string(count) + " slices").c_str(), x, {.slices = count});
    for (int const count : {7, 8, 14, 15, 16})
        line((std::to_string(count) + " moduli").c_str(), x, {.moduli = count});
    line("15 moduli, B kept", x, {.moduli = 15}, means::b_kept);
    line("15 moduli, by product", x, {.moduli = 15, .scaling = sg::ozaki_scaling::product});
    std::printf("\n%s\n", sg::ozaki{sg::host{}}.describe(sg::shape<double>{n, n, n}).c_str());
    return fp64 <= native ? 0 : 1;
}

// ---- slices and residues, for learning -------------------------------------------------------------------

int show(std::vector<double> const& numbers) {
    namespace parts = sg::ozaki_parts;
    int wrong = 0;
    for (double const x : numbers) {
        if (x == 0 || !std::isfinite(x)) {
            std::printf("%g: neither 0 nor what is not finite has an exponent to scale by\n", x);
            continue;
        }
        // As if it were the largest of its row: scaled to seven bits before the point.
        int const scale = 7 - parts::exponent_of(x * 1.01);
        std::printf("%.17g = %a\n  slices (x 2^%d = sum of slice_t 256^-t):\n   ", x, x, scale);
        int const count = 8;
        parts::integer const v = parts::scaled(x, scale + 8 * (count - 1));
        long double sum = 0;
        for (int t = 0; t < count; ++t) {
            int const slice = parts::digit(v, count - 1 - t);
            sum += std::ldexp(static_cast<long double>(slice), -8 * t - scale);
            std::printf(" %4d", slice);
        }
        std::printf("\n  together: %.17Lg\n  residues of x 2^%d, rounded:\n   ", sum, scale + 46);
        int const moduli = 9;
        parts::residue_system const system(moduli);
        parts::integer const w = parts::scaled(x, scale + 46);
        std::vector<int> residues;
        for (int i = 0; i < moduli; ++i) {
            residues.push_back(parts::modulus(parts::moduli[i]).centred(w));
            std::printf(" %4d mod %d%s", residues.back(), parts::moduli[i], i + 1 < moduli ? "," : "\n");
        }
        double const back =
            std::ldexp(system
                           .integer_of([&](int i) {
                               return parts::modulus(parts::moduli[i])
                                   .centred(std::int64_t{system.weight(i)} * residues[std::size_t(i)]);
                           })
                           .value(),
                       -(scale + 46));
        std::printf("  together: %.17g\n\n", back);
        wrong += static_cast<double>(sum) != x || std::fabs(back - x) > std::ldexp(1, -(scale + 47));
    }
    return wrong ? 1 : 0;
}

int main(int count, char** arguments) {
    if (count > 1 && std::string(arguments[1]) == "show") {
        std::vector<double> numbers;
        for (int i = 2; i < count; ++i) numbers.push_back(std::atof(arguments[i]));
        return show(numbers.empty() ? std::vector<double>{1, -1.0 / 3, 3.141592653589793} : numbers);
    }
    index_t const n = count > 1 ? std::atol(arguments[1]) : 200;
    double const spread = count > 2 ? std::atof(arguments[2]) : 0.5;
    if (n < 1 || n > 100000) {
        std::fprintf(stderr, "usage: %s [SIZE] [SPREAD], or %s show [NUMBER ...]\n", arguments[0],
                     arguments[0]);
        return 2;
    }
    return show({3.141592653589793}) | compare(n, spread);
}
