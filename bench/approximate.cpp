// bench_approximate: error against time, on the host, for five kinds of data: exact products in every precision,
// products of structured operands and of factors, and products that are allowed an error.
//
//   bench_approximate [SIZE...]          512 and 2048 unless told otherwise; powers of two
//   bench_approximate coverage [TRIALS]  1000 unless told otherwise
//
// The error is |C - A B| / |A| |B| in Frobenius norms, against a product of doubles; that of a result in double is
// taken over 16 rows, against sums in long double. Each time is a median over rounds in which all ways run in turn, and
// its ratio the median of those within a round. Operands of half and bfloat16 are rounded beforehand, so that the
// rounding is in their error and not in their time. bench/approximate.sh draws what this prints.
#include "approximate.hpp"
#include "median.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace bench;

double seconds_of(way const& w) {
    auto const begin = std::chrono::steady_clock::now();
    w.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What results are compared with.
class judge {
public:
    // c64 has the product of doubles.
    explicit judge(approximate_product const& p) : exact_(p.c64), rows_(some_rows(p)), norms_(p.norms) {}

    // Of the result of a way, and of C = 0.
    double error(approximate_product const& p, bool in_double) const {
        return in_double ? of_rows(p.c64) : std::sqrt(squares(&p.c32)) / norms_;
    }
    double of_nothing() const { return std::sqrt(squares(nullptr)) / norms_; }

private:
    static constexpr index_t some = 16;

    static std::vector<long double> some_rows(approximate_product const& p) {
        std::vector<long double> sums(static_cast<std::size_t>(some * p.n));
#pragma omp parallel for
        for (index_t r = 0; r < some; ++r)
            for (index_t k = 0; k < p.n; ++k)
                for (index_t j = 0; j < p.n; ++j)
                    sums[static_cast<std::size_t>(r * p.n + j)] +=
                        static_cast<long double>(p.a64(r * p.n / some, k)) * p.b64(k, j);
        return sums;
    }
    double of_rows(sg::matrix<double> const& c) const {
        index_t const n = c.cols();
        long double sum = 0;
        for (index_t r = 0; r < some; ++r)
            for (index_t j = 0; j < n; ++j) {
                long double const off = c(r * n / some, j) - rows_[static_cast<std::size_t>(r * n + j)];
                sum += off * off;
            }
        return std::sqrt(static_cast<double>(sum) * double(n) / double(some)) / norms_;
    }
    double squares(sg::matrix<float> const* c) const {
        double sum = 0;
        index_t const n = exact_.rows();
#pragma omp parallel for reduction(+ : sum)
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) {
                double const off = (c ? double((*c)(i, j)) : 0) - exact_(i, j);
                sum += off * off;
            }
        return sum;
    }

    sg::matrix<double> exact_;
    std::vector<long double> rows_;
    double norms_;
};

struct line {
    way what;
    outcome seen{};
    double error = -1;
    std::vector<double> times{};
};

void print(line const& x, line const& native) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < x.times.size(); ++r) ratios.push_back(native.times[r] / x.times[r]);
    std::printf("%-28s %9.2f %8.2f", x.what.name().c_str(), median(x.times) * 1e3, median(ratios));
    if (!x.seen.refusal.empty()) {
        std::printf("   refused: %s\n", x.seen.refusal.c_str());
        return;
    }
    std::printf(" %9.1e", x.error);
    if (x.seen.promised >= 0)
        std::printf(" %9.1e %9.3g%%", x.seen.promised, x.seen.confidence * 100);
    else
        std::printf(" %9s %10s", "-", "-");
    std::printf("%s%s\n", x.seen.note.empty() ? "" : "   ", x.seen.note.c_str());
}

void race(data_kind kind, index_t n) {
    approximate_product p(make_data(kind, n));
    std::vector<line> all;
    for (auto* const make : {exact_ways, structured_ways, approximate_ways})
        for (way& w : make(p)) all.push_back({std::move(w)});
    all[1].what.run(); // of doubles
    judge const exact(p);
    for (line& x : all) {
        x.seen = x.what.run();
        if (x.seen.refusal.empty()) x.error = exact.error(p, x.what.in_double);
    }
    for (int round = 0; round < 5; ++round)
        for (line& x : all) x.times.push_back(seconds_of(x.what));

    std::printf("\n== %td x %td x %td, %s; of C = 0 the error is %.1e\n", n, n, n, p.data.name.c_str(),
                exact.of_nothing());
    std::printf("%-28s %9s %8s %9s %9s %10s\n", "method", "ms", "of float", "error", "promised",
                "confidence");
    for (line const& x : all) print(x, all[0]);
    std::fflush(stdout);
}

bool usable(char const* word, long& number) {
    char* end = nullptr;
    number = std::strtol(word, &end, 10);
    return *word != 0 && *end == 0;
}

int usage() {
    std::fprintf(stderr,
                 "usage: bench_approximate [SIZE...] | coverage [TRIALS]: a size is a power of two from "
                 "512 to 8192, and there are 100 to 100000 trials\n");
    return 2;
}

} // namespace

int main(int argc, char** argv) try {
    long number = 1000;
    if (argc > 1 && std::string(argv[1]) == "coverage") {
        if (argc > 3 || (argc == 3 && !usable(argv[2], number)) || number < 100 || number > 100000)
            return usage();
        return print_coverage(static_cast<int>(number)) == 0 ? 0 : 1;
    }
    std::vector<index_t> sizes;
    for (int i = 1; i < argc; ++i) {
        if (!usable(argv[i], number) || number < 512 || number > 8192 || (number & (number - 1)) != 0)
            return usage();
        sizes.push_back(number);
    }
    if (sizes.empty()) sizes = {512, 2048};
    std::printf("products of n x n on the host, %d threads: |C - A B| / |A| |B|, in Frobenius norms, against "
                "the time;"
                " medians over 5 rounds\n",
                sg::host_threads(0));
    for (index_t const n : sizes)
        for (auto const kind : {data_kind::unstructured, data_kind::uneven, data_kind::decaying,
                                data_kind::planted, data_kind::toeplitz})
            race(kind, n);
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_approximate: %s\n", e.what());
    return 1;
}
