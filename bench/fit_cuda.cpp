// bench_fit_cuda TABLE FILE...: fits what products are made of (backend/cuda/engine/tile_counts.hpp) to what
// bench/cuda_ways.cpp measured, and writes the costs into TABLE, which is engine/tile_costs_table.hpp.
// bench_fit_cuda judge FILE...: what the costs that are compiled in choose, and how far off they are.
//
// The costs are those, none below zero, for which the sum of |log(predicted / measured)| is least: least squares of
// logarithms, weighted again and again. Ways that take much longer than the best one count less. A cost that no
// measurement depends on stays. Judged is what is chosen among all measured ways: its time over the shortest. With a
// family of shapes left out of the fit, this is said of that family.
#include "cuda_ways.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

namespace {

using namespace bench;
constexpr int kinds = sg::cuda_cost_kinds;
constexpr double clock_rate = 1750; // cycles of a microsecond, as estimate() counts them

struct way_counts {
    std::size_t product;
    int row;     // of the table of costs; -1: there is none
    bool judged; // not only measured
    int tile;
    sg::cuda_counts counts;
    cuda_way_taken const* way;
    double measured, weight;

    double by(auto const& costs) const {
        return counts.cycles(costs.costs, static_cast<double>(costs.slower[static_cast<std::size_t>(tile)]));
    }
};

// What is fitted of a row: costs, and the factors of tiles.
constexpr int unknowns = kinds + sg::cuda_most_tiles;
struct row_costs {
    sg::cuda_tile_costs costs;
    std::array<float, sg::cuda_most_tiles> slower;

    float& at(int i) { return i < kinds ? costs.of[i] : slower[static_cast<std::size_t>(i - kinds)]; }
    double at(int i) const { return static_cast<double>(const_cast<row_costs&>(*this).at(i)); }
};
using table = std::vector<row_costs>;
// Where every row begins: what a reader would guess of a device whose memory gives 16 bytes in a cycle.
constexpr sg::cuda_tile_costs guess() {
    sg::cuda_tile_costs c{};
    auto const set = [&](sg::cuda_cost kind, float cycles) { c.of[static_cast<int>(kind)] = cycles; };
    using kind = sg::cuda_cost;
    set(kind::begin, 4500), set(kind::launch, 5500), set(kind::tile, 400), set(kind::multiply, 0.003f);
    set(kind::load, 0.01f), set(kind::step, 50), set(kind::fetch, 0.02f), set(kind::fetch_within, 0.005f);
    set(kind::gather, 0.3f), set(kind::change, 0.3f), set(kind::wait, 1500), set(kind::wait_changed, 300);
    set(kind::alone, 0.3f), set(kind::store, 0.05f), set(kind::store_apart, 0.1f), set(kind::memory, 0.06f);
    set(kind::memory_of_one, 0.03f), set(kind::memory_across, 0.005f), set(kind::apart, 1),
        set(kind::add, 2000);
    set(kind::add_part, 20), set(kind::sum, 0.05f), set(kind::cluster, 500), set(kind::cluster_sum, 0.06f);
    set(kind::copy, 4500), set(kind::copy_byte, 0.06f);
    set(kind::lies_tn, 1), set(kind::lies_nn, 1), set(kind::lies_nt, 1), set(kind::direct, 1),
        set(kind::tail, 1000), set(kind::kept, 0.33f), set(kind::block, 50), set(kind::chain, 8);
    return c;
}
table guesses() {
    table t(std::size(sg::cuda_tile_costs_table), {guess(), {}});
    for (auto& row : t) row.slower.fill(1);
    return t;
}
table built_in_costs() {
    table t;
    for (auto const& row : sg::cuda_tile_costs_table) {
        t.push_back({row.costs, {}});
        std::copy(std::begin(row.slower), std::end(row.slower), t.back().slower.begin());
    }
    return t;
}
int row_of(char const* engine, char type) {
    for (std::size_t i = 0; i < std::size(sg::cuda_tile_costs_table); ++i)
        if (std::strcmp(sg::cuda_tile_costs_table[i].engine, engine) == 0 &&
            std::strchr(sg::cuda_tile_costs_table[i].types, type))
            return static_cast<int>(i);
    return -1;
}

// The built-in tile that a tile is; or that of as many rows and the next more columns, which it is made of.
template <class Tile>
int built_in_of(Tile const& tile, char type) {
    int found = -1, columns = 0, number = 0;
    for (auto const& e : sg::cuda_tiles_of<Tile>) {
        if (std::strchr(e.types, type)) {
            if (e.tile == tile) return number;
            bool const better = found < 0 || (columns < tile.n ? e.tile.n > columns
                                                               : e.tile.n >= tile.n && e.tile.n < columns);
            if (e.tile.m == tile.m && better) found = number, columns = e.tile.n;
        }
        ++number;
    }
    return std::max(found, 0);
}

// What a way of a product is made of, and whose costs it has.
struct counted {
    char const* costs;
    int number;
    sg::cuda_counts counts;
};
counted count(sg::cuda_query const& q, sg::cuda_way const& way, sg::cuda_narrow const& t) {
    auto const reads = way.shifted ? sg::cuda_narrow_reads::shifted() : sg::cuda_narrow_reads::of(q);
    return {reads.form.costs(), t.number(), sg::cuda_narrow_counts(q, t, reads, way)};
}
counted count(sg::cuda_query const& q, sg::cuda_way const&, sg::cuda_ordered const& t) {
    return {t.costs(q), t.number(), sg::cuda_ordered_counts(q, t)};
}
counted count(sg::cuda_query const& q, sg::cuda_way const&, sg::cuda_small const& t) {
    return {t.name, t.number(), sg::cuda_small_counts(q, t)};
}
counted count(sg::cuda_query const& q, sg::cuda_way const&, sg::cuda_direct const& t) {
    return {t.name, 0, sg::cuda_direct_counts(q)};
}
template <class Tile>
counted count(sg::cuda_query const& q, sg::cuda_way const& way, Tile const& t) {
    int const number = built_in_of(t, q.type);
    return {Tile::name, number, sg::cuda_tile_counts(q, t, sg::cuda_tiles_of<Tile>[number].blocks, way)};
}

// The ways of a file's products, with their counts.
std::vector<way_counts> count_all(cuda_file const& file, std::size_t first) {
    std::vector<way_counts> all;
    for (std::size_t i = 0; i < file.products.size(); ++i) {
        cuda_measured const& p = file.products[i];
        sg::cuda_query const q = p.shape.query(file.device);
        for (cuda_way_taken const& w : p.ways) {
            counted const x = w.tile.visit([&](auto const& engine) { return count(q, w.way, engine); });
            all.push_back({first + i, row_of(x.costs, q.type), !is_for_order(q, w.tile), x.number, x.counts,
                           &w, w.microseconds * clock_rate, 0});
        }
    }
    return all;
}

// Each product counts as much as any other; a way counts the less the longer it takes, and so does an engine.
void weigh(std::vector<way_counts>& all) {
    std::map<std::pair<std::size_t, int>, std::pair<double, double>> of; // how many ways, and the shortest
    std::map<std::size_t, double> best;
    for (auto const& x : all) {
        auto& [count, least] = of.try_emplace({x.product, x.row}, 0, 1e300).first->second;
        count += 1, least = std::min(least, x.measured);
        double& shortest = best.try_emplace(x.product, 1e300).first->second;
        shortest = std::min(shortest, x.measured);
    }
    for (auto& x : all) {
        auto const& [count, least] = of[{x.product, x.row}];
        x.weight = std::pow(least / x.measured, 3) * best[x.product] / least / count;
    }
}

// Levenberg and Marquardt's method on logarithms of costs. What pulls each cost towards where it began keeps those in
// place that measurements hardly tell.
class fitting {
public:
    fitting(std::vector<way_counts const*> ways, row_costs const& begin)
        : ways_(std::move(ways)), begin_(begin), now_(begin) {}

    double loss() const { return loss(now_); }
    row_costs run() {
        double damping = 1e-2, least = loss(now_);
        for (int round = 0; round < 60; ++round) {
            linearise();
            bool better = false;
            for (int tries = 0; tries < 8 && !better; ++tries) {
                row_costs const next = step(damping);
                double const that = loss(next);
                better = that < least;
                damping = better ? damping / 4 : damping * 4;
                if (better) {
                    bool const ends = least - that < 1e-5 * least;
                    now_ = next, least = that;
                    if (ends) return now_;
                }
            }
            if (!better) break;
        }
        return now_;
    }

private:
    static constexpr double pull = 2e-2, sharp = 0.05; // deviations below `sharp` count by their squares
    static double pulls(int k) { return k < kinds ? pull : 5 * pull; }
    double deviation(way_counts const& w, row_costs const& c) const { return std::log(w.by(c) / w.measured); }
    double loss(row_costs const& c) const {
        double sum = 0;
        for (auto const* w : ways_) {
            double const d = deviation(*w, c) / sharp;
            sum += w->weight * 2 * (std::sqrt(1 + d * d) - 1) * sharp;
        }
        for (int k = 0; k < unknowns; ++k) {
            double const d = std::log(c.at(k) / begin_.at(k));
            sum += pulls(k) * d * d;
        }
        return sum;
    }
    void linearise() {
        matrix_ = {}, right_ = {};
        for (auto const* w : ways_) {
            double const at = deviation(*w, now_), d = at / sharp;
            double const weight = w->weight / std::sqrt(1 + d * d) / sharp;
            std::array<double, unknowns> slope{};
            for (int k = 0; k < unknowns; ++k) {
                if (k >= kinds && k != kinds + w->tile) continue;
                row_costs other = now_;
                other.at(k) *= 1.001f;
                slope[static_cast<std::size_t>(k)] = (deviation(*w, other) - at) / std::log(1.001);
            }
            for (std::size_t i = 0; i < unknowns; ++i) {
                if (slope[i] == 0) continue;
                right_[i] -= weight * slope[i] * at;
                for (std::size_t j = 0; j <= i; ++j) matrix_[i][j] += weight * slope[i] * slope[j];
            }
        }
        for (int k = 0; k < unknowns; ++k) {
            auto const i = static_cast<std::size_t>(k);
            matrix_[i][i] += pulls(k);
            right_[i] -= pulls(k) * std::log(now_.at(k) / begin_.at(k));
        }
    }
    // Solves by Cholesky's factors.
    row_costs step(double damping) const {
        auto l = matrix_;
        auto x = right_;
        for (std::size_t i = 0; i < unknowns; ++i) {
            l[i][i] = l[i][i] * (1 + damping) + 1e-9;
            for (std::size_t j = 0; j <= i; ++j) {
                for (std::size_t k = 0; k < j; ++k) l[i][j] -= l[i][k] * l[j][k];
                l[i][j] = i == j ? std::sqrt(std::max(l[i][i], 1e-12)) : l[i][j] / l[j][j];
            }
            for (std::size_t k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
            x[i] /= l[i][i];
        }
        row_costs next = now_;
        for (std::size_t i = unknowns; i-- > 0;) {
            for (std::size_t k = i + 1; k < unknowns; ++k) x[i] -= l[k][i] * x[k];
            x[i] /= l[i][i];
            next.at(static_cast<int>(i)) *= static_cast<float>(std::exp(std::clamp(x[i], -1.0, 1.0)));
        }
        return next;
    }

    std::vector<way_counts const*> ways_;
    row_costs begin_, now_;
    std::array<std::array<double, unknowns>, unknowns> matrix_{};
    std::array<double, unknowns> right_{};
};

// The method finds no way to a cost that is far too small to matter. It begins a second time where blocks take longer and
// waits are shorter, and the better end is kept.
row_costs best_fit(std::vector<way_counts const*> const& ways, row_costs const& begin) {
    using kind = sg::cuda_cost;
    row_costs busy = begin;
    auto const times = [&](kind k, float factor) { busy.at(static_cast<int>(k)) *= factor; };
    times(kind::load, 50), times(kind::block, 10), times(kind::gather, 3), times(kind::wait, 0.4f);
    fitting one(ways, begin), other(ways, busy);
    row_costs const of_one = one.run(), of_other = other.run();
    return other.loss() < one.loss() ? of_other : of_one;
}

table fit(std::vector<way_counts> const& all, table const& begin, auto const& takes_part) {
    table fitted = begin;
    for (std::size_t r = 0; r < begin.size(); ++r) {
        std::vector<way_counts const*> of_row;
        for (auto const& w : all)
            if (w.row == static_cast<int>(r) && takes_part(w)) of_row.push_back(&w);
        if (!of_row.empty()) fitted[r] = best_fit(of_row, begin[r]);
    }
    return fitted;
}

struct judged {
    std::vector<double> regret, error;
    std::string text; // of the product, what is chosen and the best way

    void print(std::string const& what) {
        if (regret.empty()) return;
        double sum = 0;
        for (double const r : regret) sum += std::log(r);
        std::sort(regret.begin(), regret.end()), std::sort(error.begin(), error.end());
        std::size_t const n = regret.size();
        std::printf("%-24s %4zu products: over the best %.3f in the mean, 95th percentile %.3f, worst %.3f; "
                    "|log2(predicted / measured)| %.3f in the median\n",
                    what.c_str(), n, std::exp(sum / static_cast<double>(n)), regret[n * 95 / 100],
                    regret.back(), error[n / 2]);
    }
};

std::string text_of(cuda_way_taken const& w, double cycles) {
    std::ostringstream text;
    text << w.microseconds << " us, predicted " << cycles / clock_rate << ": " << describe(w.tile)
         << ", part " << w.way.part << ", whole " << w.way.whole << (w.way.together ? ", together" : "")
         << (w.way.shifted ? ", shifted" : "");
    return text.str();
}

// What costs choose among the measured ways of each product.
std::vector<judged> judge(std::vector<way_counts> const& all, std::size_t products, table const& costs) {
    struct found {
        double cycles = 1e301, measured = 0, best = 1e300, best_cycles = 0;
        cuda_way_taken const *chosen = nullptr, *best_way = nullptr;
    };
    std::vector<found> of(products);
    for (auto const& w : all) {
        if (w.row < 0 || !w.judged) continue;
        double const cycles = w.by(costs[static_cast<std::size_t>(w.row)]);
        found& f = of[w.product];
        if (cycles < f.cycles) f.cycles = cycles, f.measured = w.measured, f.chosen = w.way;
        if (w.measured < f.best) f.best = w.measured, f.best_cycles = cycles, f.best_way = w.way;
    }
    std::vector<judged> each(products);
    for (std::size_t i = 0; i < products; ++i) {
        if (of[i].cycles >= 1e300) continue;
        each[i].regret.push_back(of[i].measured / of[i].best);
        each[i].error.push_back(std::abs(std::log2(of[i].cycles / of[i].measured)));
        each[i].text = text_of(*of[i].chosen, of[i].cycles) + "\n      best " +
                       text_of(*of[i].best_way, of[i].best_cycles);
    }
    return each;
}

void report(std::vector<judged> const& each, std::vector<cuda_shape> const& shapes, bool worst) {
    std::map<std::string, judged> of;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::string const type(1, shapes[i].type);
        for (std::string const& what : {type, type + " " + shapes[i].family, std::string("~ all")}) {
            auto& j = of[what];
            j.regret.insert(j.regret.end(), each[i].regret.begin(), each[i].regret.end());
            j.error.insert(j.error.end(), each[i].error.begin(), each[i].error.end());
        }
        if (!each[i].regret.empty()) order.emplace_back(each[i].regret[0], i);
    }
    for (auto& [what, j] : of) j.print(what);
    std::sort(order.rbegin(), order.rend());
    for (std::size_t i = 0; worst && i < order.size() && i < 25; ++i) {
        cuda_shape const& x = shapes[order[i].second];
        std::printf("%.2f %c %td x %td x %td, %td of them, %c%c: %s\n", order[i].first, x.type, x.sides.m,
                    x.sides.n, x.sides.k, x.sides.count, x.a_along_k ? 'N' : 'T', x.b_along_k ? 'T' : 'N',
                    each[order[i].second].text.c_str());
    }
}

// How long it takes to choose for a shape that is not known yet.
void time_choosing(std::vector<cuda_shape> const& shapes, sg::cuda_device const& device) {
    std::vector<double> all;
    for (cuda_shape const& x : shapes) {
        double least = 1e300;
        for (int i = 0; i < 5; ++i) {
            auto const start = std::chrono::steady_clock::now();
            if (sg::choose(x.query(device)).cycles < 0) return;
            std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - start;
            least = std::min(least, took.count());
        }
        all.push_back(least);
    }
    std::sort(all.begin(), all.end());
    std::printf("Choosing takes %.1f us in the median of %zu shapes, %.1f us at most\n", all[all.size() / 2],
                all.size(), all.back());
}

// How many factors a row has.
int factors_of(std::size_t row) {
    auto const& factors = sg::cuda_tile_costs_table[row].slower;
    return static_cast<int>(std::find(std::begin(factors), std::end(factors), 0.0f) - std::begin(factors));
}

// Numbers of a row from place `from` on, ten to a line.
void write_numbers(std::ostream& to, row_costs const& row, int from, int until, char const* format) {
    for (int k = from; k < until; ++k) {
        char text[32];
        std::snprintf(text, sizeof text, format, row.at(k));
        bool const begins = (k - from) % 10 == 0;
        to << (k == from ? "" : begins ? ",\n      " : ", ") << text;
    }
}
void write_table(std::string const& name, table const& costs, double bytes_per_cycle) {
    std::ofstream to(name);
    to << "// Written by bench/fit_cuda.cpp (./dev bench fit cuda): what products are made of costs so many "
          "cycles, as\n"
          "// measured on an H200.\n#pragma once\n\n#include \"tile_costs.hpp\"\n\nSTRATAGEMM_BEGIN\n\n"
          "// The bytes that its memory has for each multiprocessor in a cycle.\n"
          "inline constexpr double cuda_fitted_bytes_per_cycle = "
       << bytes_per_cycle
       << ";\n\n// clang-format off\ninline constexpr cuda_tile_costs_of cuda_tile_costs_table[] = {\n";
    for (std::size_t r = 0; r < costs.size(); ++r) {
        to << "    {\"" << sg::cuda_tile_costs_table[r].engine << "\", \""
           << sg::cuda_tile_costs_table[r].types << "\",\n     {{";
        write_numbers(to, costs[r], 0, kinds, "%.3ef");
        to << "}},\n     {";
        write_numbers(to, costs[r], kinds, kinds + factors_of(r), "%.2ff");
        to << "}},\n";
    }
    to << "};\n// clang-format on\n\nSTRATAGEMM_END\n";
}

} // namespace

int main(int argc, char** argv) try {
    if (argc < 3) throw std::invalid_argument("usage: bench_fit_cuda TABLE|judge FILE...");
    std::deque<cuda_file> files;
    std::vector<way_counts> all;
    std::vector<cuda_shape> shapes;
    double bytes_per_cycle = 0;
    for (int i = 2; i < argc; ++i) {
        std::ifstream in(argv[i]);
        if (!in) throw std::runtime_error(std::string("cannot read ") + argv[i]);
        files.push_back(read_ways(in));
        cuda_file const& file = files.back();
        auto const more = count_all(file, shapes.size());
        all.insert(all.end(), more.begin(), more.end());
        for (auto const& p : file.products) shapes.push_back(p.shape);
        bytes_per_cycle = file.device.bytes_per_cycle;
    }
    weigh(all);
    table const begin = guesses();
    if (std::string(argv[1]) == "judge") {
        report(judge(all, shapes.size(), built_in_costs()), shapes, true);
        time_choosing(shapes, files.front().device);
        return 0;
    }
    table const fitted = fit(all, begin, [](way_counts const&) { return true; });
    write_table(argv[1], fitted, bytes_per_cycle);
    std::printf("Fitted to all shapes:\n");
    report(judge(all, shapes.size(), fitted), shapes, true);
    std::vector<judged> held_out(shapes.size());
    for (std::string const family : {"any", "rows", "square", "deep", "batch", "large", "short", "vector",
                                     "long", "few-batch", "small", "few"}) {
        table const without =
            fit(all, begin, [&](way_counts const& w) { return shapes[w.product].family != family; });
        auto const each = judge(all, shapes.size(), without);
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (shapes[i].family == family) held_out[i] = each[i];
    }
    std::printf("Each family of shapes judged by a fit to the others:\n");
    report(held_out, shapes, false);
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_fit_cuda: %s\n", e.what());
    return 1;
}
