// bench_fit TABLE COLUMN FILE [COLUMN FILE]...: fits the costs of what products on the host are made of to
// measurements that bench_host --estimate --data=FILE wrote, and writes them into TABLE, which is
// host/costs_table.hpp. Then it prints how far off they are. Costs of what no measured shape does stay.
//
// The costs are those, none below zero, that least squares of relative errors give, weighted again and again so that
// it is the sum of |log2(predicted / measured)| that is least: few shapes that take a path of their own do not count
// for more than they are.
#include "median.hpp"

#include <stratagemm/backend/host.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace sg = stratagemm;
constexpr int kinds = static_cast<int>(sg::host_cost::kinds);
constexpr char const* columns[] = {"portable", "avx2", "avx512", "zen4"}; // of the table
constexpr int most = static_cast<int>(std::size(columns));

struct measured {
    std::string type;
    int threads = 1;
    double cycles = 0;
    sg::host_counts counts;
};

template <class T>
sg::host_counts counts_of(int table_column, int threads, long m, long n, long k, std::string const& layout) {
    sg::shape<T> s{m, n, k};
    s.a_across = layout[0] == 'T', s.b_across = layout[1] == 'T';
    return sg::counts_of(s, table_column, threads);
}

std::vector<measured> read(int table_column, std::string const& file) {
    auto const isa = static_cast<sg::host_isa>(std::min(table_column, 2));
    // How packets are multiplied depends on more of a machine than its column: they are read on one like that which was
    // measured.
    bool const own = table_column == sg::host_counts::column_of(sg::current_isa().isa);
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file);
    std::vector<measured> all;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        measured x;
        long m, n, k;
        std::string layout;
        double microseconds;
        char times;
        if (!(words >> x.type >> x.threads >> m >> times >> n >> times >> k >> layout >> microseconds))
            continue;
        x.cycles = microseconds * 1e-6 * sg::host_clock_of(isa);
        auto const counts = [&](auto of) {
            return counts_of<decltype(of)>(table_column, x.threads, m, n, k, layout);
        };
        if (x.type == "float")
            x.counts = counts(float{});
        else if (x.type == "double")
            x.counts = counts(double{});
        else if (x.type == "bfloat16" && own)
            x.counts = counts(sg::bfloat16{});
        else if (x.type == "int8" && own)
            x.counts = counts(std::int8_t{});
        else
            continue;
        all.push_back(x);
    }
    return all;
}

struct costs {
    double of[kinds] = {}; // in cycles
    double operator()(sg::host_counts const& c) const {
        double sum = 0;
        for (int i = 0; i < kinds; ++i) sum += of[i] * c.of[i];
        return sum;
    }
};

double off(double predicted, double measured) { return std::abs(std::log2(predicted / measured)); }

costs fit(std::vector<measured> const& all, costs x) {
    std::vector<double> weights;
    for (measured const& y : all) weights.push_back(1 / (y.cycles * y.cycles));
    for (int round = 0; round < 100; ++round) {
        for (int sweep = 0; sweep < 200; ++sweep)
            for (int i = 0; i < kinds; ++i) { // the best of one, the others as they are
                double above = 0, below = 0;
                for (std::size_t r = 0; r < all.size(); ++r) {
                    double const count = all[r].counts.of[i];
                    if (count == 0) continue;
                    above += weights[r] * count * (all[r].cycles - x(all[r].counts) + x.of[i] * count);
                    below += weights[r] * count * count;
                }
                if (below > 0) x.of[i] = std::max(0.0, above / below);
            }
        for (std::size_t r = 0; r < all.size(); ++r) {
            double const predicted = x(all[r].counts);
            weights[r] = 1 / (all[r].cycles * predicted * std::max(0.03, off(predicted, all[r].cycles)));
        }
    }
    return x;
}

using bench::median;
void report(std::vector<measured> const& all, costs const& x) {
    for (char const* const type : {"float", "double", "bfloat16", "int8"})
        for (int const threads : {1, 2}) {
            std::vector<double> errors;
            for (measured const& y : all)
                if (y.type == type && y.threads == threads) errors.push_back(off(x(y.counts), y.cycles));
            if (!errors.empty())
                std::cout << type << ", " << threads << " threads: median |log2| " << median(errors) << " of "
                          << errors.size() << "\n";
        }
}

// Columns of the table, and back: numbers in braces, one line a kind, after the line that names the table.
struct table {
    std::vector<std::string> lines;
    std::size_t first = 0;

    explicit table(std::string const& file) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        while (first < lines.size() && lines[first++].find(" host_costs[") == std::string::npos) {
        }
        if (first + kinds > lines.size()) throw std::runtime_error(file + " has no table");
    }
    void set(int kind, double const (&cycles)[most]) {
        std::string& line = lines[first + std::size_t(kind)];
        std::ostringstream out;
        out.precision(5);
        for (int column = 0; column < most; ++column)
            out << (column == 0 ? "    {" : ", ") << rounded(cycles[column]);
        out << line.substr(line.find('}'));
        line = out.str();
    }
    static double rounded(double x) { return x < 100 ? x : std::round(x); }
    void write(std::string const& file) const {
        std::ofstream out(file);
        for (auto const& line : lines) out << line << '\n';
        if (!out.flush()) throw std::runtime_error("cannot write " + file);
    }
};

} // namespace

int main(int argc, char** argv) try {
    if (argc < 4 || argc % 2 != 0) throw std::runtime_error("bench_fit TABLE COLUMN FILE [COLUMN FILE]...");
    table to(argv[1]);
    double cycles[kinds][most];
    for (int k = 0; k < kinds; ++k) std::copy_n(sg::host_costs[k], most, cycles[k]);
    for (int i = 2; i < argc; i += 2) {
        auto const column = std::find(std::begin(columns), std::end(columns), std::string(argv[i])) - columns;
        if (column == most) throw std::runtime_error(std::string("the table has no column for ") + argv[i]);
        auto const all = read(static_cast<int>(column), argv[i + 1]);
        costs x;
        for (int k = 0; k < kinds; ++k) x.of[k] = cycles[k][column];
        x = fit(all, x);
        for (int k = 0; k < kinds; ++k) cycles[k][column] = x.of[k];
        std::cout << argv[i] << "\n";
        report(all, x);
    }
    for (int k = 0; k < kinds; ++k) to.set(k, cycles[k]);
    to.write(argv[1]);
} catch (std::exception const& e) {
    std::cerr << e.what() << "\n";
    return 1;
}
