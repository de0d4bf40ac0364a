// bench_fit_cuda TABLE FILE...: fits what products are made of (backend/cuda/engine/tile_counts.hpp) to what
// bench/cuda_ways.cpp measured, and writes the costs into TABLE, which is engine/tile_costs_table.hpp.
// bench_fit_cuda judge FILE...: what the costs that are compiled in choose, and how far off they are.
// With a family of shapes left out of the fit, what is judged is said of that family. fitting.hpp says how.
#include "cuda_ways.hpp"
#include "fitting.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

namespace {

using namespace bench;
constexpr std::size_t kinds = sg::cuda_cost_kinds;
constexpr double clock_rate = 1750; // cycles of a microsecond, as estimate() counts them

struct way_counts {
    std::size_t product;
    int row;     // of the table of costs; -1: there is none
    bool judged; // not only measured
    int tile;
    sg::cuda_counts counts;
    cuda_way_taken const* way;
    double measured, weight;

    bool depends_on(std::size_t i) const { return i < kinds || i == kinds + static_cast<std::size_t>(tile); }
    double by(auto const& costs) const {
        return counts.cycles(costs.costs, static_cast<double>(costs.slower[static_cast<std::size_t>(tile)]));
    }
};

// What is fitted of a row: costs, and the factors of tiles.
struct row_costs {
    static constexpr std::size_t unknowns = kinds + sg::cuda_most_tiles;

    sg::cuda_tile_costs costs;
    std::array<float, sg::cuda_most_tiles> slower;

    float& at(std::size_t i) { return i < kinds ? costs.of[i] : slower[i - kinds]; }
    double at(std::size_t i) const { return static_cast<double>(const_cast<row_costs&>(*this).at(i)); }
    static double pulled(std::size_t i) { return i < kinds ? 2e-2 : 1e-1; }
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
    // Four warps of 32 threads each do an instruction in a cycle. This cost stays for types that were measured without
    // epilogues.
    set(kind::finish, 1 / 128.0f);
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

// The method finds no way to a cost that is far too small to matter. It begins a second time where blocks take longer and
// waits are shorter, and the better end is kept.
row_costs best_fit(std::vector<way_counts const*> const& ways, row_costs const& begin) {
    using kind = sg::cuda_cost;
    row_costs busy = begin;
    auto const times = [&](kind k, float factor) { busy.at(static_cast<std::size_t>(k)) *= factor; };
    times(kind::load, 50), times(kind::block, 10), times(kind::gather, 3), times(kind::wait, 0.4f);
    fitting<way_counts, row_costs> one(ways, begin), other(ways, busy);
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

// How many factors a row has.
int factors_of(std::size_t row) {
    auto const& factors = sg::cuda_tile_costs_table[row].slower;
    return static_cast<int>(std::find(std::begin(factors), std::end(factors), 0.0f) - std::begin(factors));
}

// Numbers of a row from place `from` on, ten to a line.
void write_numbers(std::ostream& to, row_costs const& row, std::size_t from, std::size_t until,
                   char const* format) {
    for (std::size_t k = from; k < until; ++k) {
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
    weigh(all, [](way_counts const& w) { return std::pair(w.product, w.row); });
    table const begin = guesses();
    if (std::string(argv[1]) == "judge") {
        report(judge(all, shapes.size(), built_in_costs()), shapes, 25);
        time_choosing(shapes,
                      [&](cuda_shape const& x) { return sg::choose(x.query(files.front().device)).cycles; });
        return 0;
    }
    table const fitted = fit(all, begin, [](way_counts const&) { return true; });
    write_table(argv[1], fitted, bytes_per_cycle);
    std::printf("Fitted to all shapes:\n");
    report(judge(all, shapes.size(), fitted), shapes, 25);
    std::vector<judged> held_out(shapes.size());
    for (std::string const family : {"any", "rows", "square", "deep", "batch", "large", "short", "vector",
                                     "long", "few-batch", "small", "few", "layers"}) {
        table const without =
            fit(all, begin, [&](way_counts const& w) { return shapes[w.product].family != family; });
        auto const each = judge(all, shapes.size(), without);
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (shapes[i].family == family) held_out[i] = each[i];
    }
    std::printf("Each family of shapes judged by a fit to the others:\n");
    report(held_out, shapes, 0);
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_fit_cuda: %s\n", e.what());
    return 1;
}
