// bench_fit_opencl TABLE FILE...: fits what products on OpenCL devices are made of (backend/opencl/counts.hpp) to what
// bench/opencl_ways.cpp measured, and writes the costs into TABLE, which is backend/opencl/costs_table.hpp.
// bench_fit_opencl judge FILE...: what the costs that are compiled in choose, and how far off they are.
// A row of the table that no file has measurements for stays.
#include "fitting.hpp"
#include "opencl_ways.hpp"

#include <cstring>
#include <deque>
#include <fstream>

namespace {

using namespace bench;
constexpr std::size_t kinds = sg::opencl_cost_kinds;
constexpr std::size_t rows = std::size(sg::opencl_costs_table);

// What is fitted of a row: costs, and the rates of tiles, full and alone.
struct row_costs {
    static constexpr std::size_t unknowns = kinds + 2 * sg::opencl_most_tiles;

    sg::opencl_costs costs;
    sg::opencl_rate rates[sg::opencl_most_tiles];

    float& at(std::size_t i) {
        if (i < kinds) return costs.of[i];
        sg::opencl_rate& r = rates[(i - kinds) / 2];
        return (i - kinds) % 2 ? r.alone : r.full;
    }
    float at(std::size_t i) const { return const_cast<row_costs&>(*this).at(i); }
    static double pulled(std::size_t i) { return i < kinds ? 2e-2 : 1e-2; }
};
using table = std::vector<row_costs>;

struct sample {
    std::size_t product, row, tile;
    int groups;
    sg::opencl_query query;
    sg::opencl_choice choice;
    double measured, weight = 0; // in clocks

    double by(row_costs const& c) const {
        return sg::opencl_counts(query, c.costs).clocks(choice, groups, c.rates[tile]);
    }
    bool depends_on(std::size_t i) const {
        return i < kinds || (choice.way == sg::opencl_way::tiled && (i - kinds) / 2 == tile);
    }
};

// Where every row begins: what a reader would guess of a GPU, and of a CPU, where a launch wakes threads and a step is
// what one core does.
sg::opencl_costs guess(bool cpu) {
    sg::opencl_costs c{};
    auto const set = [&](sg::opencl_cost kind, double gpu, double on_cpu) {
        c.of[static_cast<int>(kind)] = static_cast<float>(cpu ? on_cpu : gpu);
    };
    using kind = sg::opencl_cost;
    set(kind::queue, 11000, 5000), set(kind::begin, 4500, 40000);
    set(kind::memory, 0.07, 0.25), set(kind::memory_of_one, 0.03, 0.2);
    set(kind::add, 3000, 50000), set(kind::add_part, 20, 100), set(kind::sum, 0.1, 0.25);
    set(kind::tile, 400, 300), set(kind::wait, 500, 50), set(kind::wait_product, 0.9, 0.01);
    set(kind::fetch, 0.02, 0.01), set(kind::piece, 0.1, 0.2), set(kind::guard, 1.25, 3);
    set(kind::meet, 0.25, 0.1), set(kind::store_vectors, 0.04, 0.05), set(kind::store_lines, 0.08, 0.1),
        set(kind::store_apart, 0.2, 0.2);
    set(kind::narrow_wait, 1000, 50), set(kind::narrow_load_alone, 5, 1), set(kind::narrow_trip, 0.2, 5),
        set(kind::narrow_load, 0.02, 0.25), set(kind::narrow_multiply, 0.01, 0.25),
        set(kind::narrow_fold, 40, 100), set(kind::narrow_group, 100, 500);
    set(kind::small_group, 100, 500), set(kind::small_read, 0.02, 1), set(kind::small_load, 0.01, 0.5),
        set(kind::small_multiply, 0.01, 0.5), set(kind::small_read_alone, 50, 2),
        set(kind::small_load_alone, 20, 1);
    set(kind::direct_wait, 300, 6), set(kind::direct_term, 0.1, 6), set(kind::direct_element, 0.5, 30);
    return c;
}
// Multiply-adds that a compute unit can do in a clock.
double most_multiply_adds(bool cpu, char sums) {
    double const of_floats = cpu ? 32 : 128;
    return sums == 's'   ? of_floats
           : sums == 'z' ? of_floats / 8
           : sums == 'c' ? of_floats / 4
                         : of_floats / 2;
}
// A tile begins with the part of that rate which remains if every element that is read from local memory takes as long as
// two multiply-adds.
row_costs guess(sg::opencl_family family, char sums) {
    bool const cpu = family == sg::opencl_family::cpu;
    row_costs row{guess(cpu), {}};
    std::fill(std::begin(row.rates), std::end(row.rates), sg::opencl_rate{1, 1});
    sg::for_each_entry(family, sums, [&](sg::opencl_entry const& e, int number) {
        double const loads = 2.0 / e.tile.micro_m + 2.0 / e.tile.micro_n;
        row.rates[number] = {static_cast<float>(most_multiply_adds(cpu, sums) / (1 + loads)),
                             static_cast<float>(1 / std::sqrt(e.groups))};
    });
    return row;
}

table guesses() {
    table t;
    for (auto const& row : sg::opencl_costs_table) t.push_back(guess(row.family, row.sums[0]));
    return t;
}
table built_in_costs() {
    table t;
    for (auto const& row : sg::opencl_costs_table) {
        t.push_back({row.costs, {}});
        std::copy(std::begin(row.rates), std::end(row.rates), t.back().rates);
    }
    return t;
}
std::size_t row_of(sg::opencl_family family, char sums) {
    for (std::size_t i = 0; i < rows; ++i)
        if (sg::opencl_costs_table[i].family == family && std::strchr(sg::opencl_costs_table[i].sums, sums))
            return i;
    throw std::runtime_error("the table has no row for a family and a type that were measured");
}

// Ways whose tile is no longer built in are left out.
void append_samples(std::vector<sample>& all, opencl_file const& file, std::size_t first) {
    for (std::size_t i = 0; i < file.products.size(); ++i) {
        opencl_measured const& p = file.products[i];
        for (opencl_way_taken const& w : p.ways) {
            sample x{
                first + i, row_of(file.device.family, p.shape.type), 0, 0, query_of(p.shape, file.device),
                w.choice,  w.microseconds * 1e-6 * file.device.clock};
            sg::for_each_entry(file.device.family, p.shape.type, [&](sg::opencl_entry const& e, int number) {
                if (e.tile == w.choice.tile) x.tile = static_cast<std::size_t>(number), x.groups = e.groups;
            });
            if (x.groups > 0 || w.choice.way != sg::opencl_way::tiled) all.push_back(x);
        }
    }
}

template <class Takes>
table fit(std::vector<sample> const& all, table const& begin, Takes const& takes_part) {
    table fitted = begin;
    for (std::size_t r = 0; r < rows; ++r) {
        std::vector<sample const*> of_row;
        for (auto const& w : all)
            if (w.row == r && takes_part(w)) of_row.push_back(&w);
        fitted[r] =
            of_row.size() > kinds ? fitting<sample, row_costs>(of_row, begin[r]).run() : built_in_costs()[r];
    }
    return fitted;
}

std::vector<judged> judge_by(std::vector<sample> const& all, std::size_t products, table const& costs) {
    auto const text = [](sample const& w, double clocks) {
        std::ostringstream to;
        double const clock = w.query.device.clock * 1e-6;
        static constexpr char const* ways[] = {"direct", "narrow", "small", "tiled"};
        to << w.measured / clock << " us, predicted " << clocks / clock << ": "
           << ways[static_cast<int>(w.choice.way)];
        if (w.choice.tile.threads() > 0) to << ' ' << describe(w.choice.tile);
        to << ", part " << w.choice.part;
        return to.str();
    };
    return judge(
        all, products, [&](sample const& w) { return w.by(costs[w.row]); }, text);
}

void write_table(std::string const& name, table const& costs, std::string const& devices, double clock) {
    std::ofstream to(name);
    to << "// Written by bench/fit_opencl.cpp (./dev bench fit opencl): what products on OpenCL devices are "
          "made of costs "
          "so many\n// clocks of a compute unit, and how many multiply-adds built-in tiles do in one, as "
          "measured on "
       << devices
       << ".\n// Rows of devices that were not measured are what guess() there says, and other families are "
          "predicted from NVIDIA's\n// rows (choice.hpp).\n#pragma once\n\n#include "
          "\"costs.hpp\"\n\nSTRATAGEMM_BEGIN\n\n// The clock of the NVIDIA device.\ninline constexpr double "
          "opencl_fitted_clock = "
       << clock << ";\n\ninline constexpr opencl_costs_of opencl_costs_table[] = {\n";
    auto const print = [&](char const* form, auto... values) {
        char text[64];
        std::snprintf(text, sizeof text, form, values...);
        to << text;
    };
    for (std::size_t r = 0; r < rows; ++r) {
        auto const& row = sg::opencl_costs_table[r];
        to << "    {opencl_family::" << opencl_families[static_cast<int>(row.family)].name << ", \""
           << row.sums << "\", {{";
        for (std::size_t k = 0; k < kinds; ++k)
            print("%s%.3ef", k ? ", " : "", static_cast<double>(costs[r].at(k)));
        to << "}}, {";
        sg::for_each_entry(row.family, row.sums[0], [&](sg::opencl_entry const&, int number) {
            sg::opencl_rate const& rate = costs[r].rates[number];
            print("%s{%#.3gf, %.2ff}", number ? ", " : "", static_cast<double>(rate.full),
                  std::min(1.0, static_cast<double>(rate.alone)));
        });
        to << "}},\n";
    }
    to << "};\n\nSTRATAGEMM_END\n";
}

} // namespace

int main(int argc, char** argv) try {
    if (argc < 3) throw std::invalid_argument("usage: bench_fit_opencl TABLE|judge FILE...");
    std::deque<opencl_file> files;
    std::vector<sample> all;
    std::vector<drawn_product> shapes;
    std::string devices;
    double clock = sg::opencl_fitted_clock;
    for (int i = 2; i < argc; ++i) {
        std::ifstream in(argv[i]);
        if (!in) throw std::runtime_error(std::string("cannot read ") + argv[i]);
        files.push_back(read_opencl_ways(in));
        opencl_file const& file = files.back();
        append_samples(all, file, shapes.size());
        for (auto const& p : file.products) shapes.push_back(p.shape);
        if (devices.find(file.device.name) == std::string::npos)
            devices += (devices.empty() ? "" : " and ") + file.device.name;
        if (file.device.family == sg::opencl_family::nvidia) clock = file.device.clock;
    }
    weigh(all, [](sample const& w) { return w.product; });
    if (std::string(argv[1]) == "judge") {
        report(judge_by(all, shapes.size(), built_in_costs()), shapes, 25);
        time_choosing(shapes, [&](drawn_product const& x) {
            return sg::choose(query_of(x, files.front().device)).clocks;
        });
        return 0;
    }
    table const begin = guesses(), fitted = fit(all, begin, [](sample const&) { return true; });
    write_table(argv[1], fitted, devices, clock);
    std::printf("Fitted to all shapes:\n");
    report(judge_by(all, shapes.size(), fitted), shapes, 25);
    std::vector<judged> held_out(shapes.size());
    for (std::string const family : {"any", "rows", "square", "deep", "batch", "large", "few", "small"}) {
        table const without =
            fit(all, begin, [&](sample const& w) { return shapes[w.product].family != family; });
        auto const each = judge_by(all, shapes.size(), without);
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (shapes[i].family == family) held_out[i] = each[i];
    }
    std::printf("Each family of shapes judged by a fit to the others:\n");
    report(held_out, shapes, 0);
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_fit_opencl: %s\n", e.what());
    return 1;
}
