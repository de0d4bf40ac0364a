// Every way that the OpenCL backend has to run random products, and files of what the ways took: what choosing is fitted
// to and judged by.
#pragma once

#include "ways.hpp"

#include <stratagemm/backend/opencl.hpp>

#include <iterator>
#include <sstream>

namespace bench {

struct opencl_way_taken {
    sg::opencl_choice choice;
    double microseconds = 0;

    std::size_t kind() const { return static_cast<std::size_t>(choice.way); }
    double clocks() const { return choice.clocks; }
    double& clocks() { return choice.clocks; }
};

inline std::size_t opencl_scalar_of(char type) {
    return type == 'z' ? 16 : type == 's' || type == 'i' ? 4 : 8;
}

inline sg::opencl_query query_of(drawn_product const& x, sg::opencl_device const& device) {
    return {device, x.type, opencl_scalar_of(x.type), x.sides, x.a_along_k || x.sides.m == 1};
}

struct opencl_measured {
    drawn_product shape;
    std::vector<opencl_way_taken> ways;
};

// All ways, with the clocks that the costs say.
inline std::vector<opencl_way_taken> ways_of(sg::opencl_query const& q) {
    std::vector<opencl_way_taken> all;
    sg::opencl_device_costs const costs = sg::costs_of(q.device, q.sums);
    sg::opencl_counts const counts(q, costs.costs);
    sg::for_each_way(q, costs, {}, [&](sg::opencl_choice x, int groups, sg::opencl_rate const& rate) {
        x.clocks = counts.clocks(x, groups, rate);
        all.push_back({x});
    });
    return all;
}

// Kernels take C as it lies, or turned; these shapes are as kernels take them.
inline drawn_product draw_opencl(std::mt19937& from, char type, int number) {
    static constexpr char const* families[] = {"rows", "square", "deep", "batch", "large",
                                               "any",  "any",    "few",  "small"};
    drawn_product x = draw_product(from, type, families[number % 9]);
    if (x.sides.m < x.sides.n && x.sides.m <= sg::opencl_narrow) std::swap(x.sides.m, x.sides.n);
    return x;
}

inline constexpr struct {
    char const* name;
    sg::opencl_family family;
} opencl_families[] = {{"gfx803", sg::opencl_family::gfx803}, {"gcn", sg::opencl_family::gcn},
                       {"rdna", sg::opencl_family::rdna},     {"nvidia", sg::opencl_family::nvidia},
                       {"intel", sg::opencl_family::intel},   {"cpu", sg::opencl_family::cpu},
                       {"other", sg::opencl_family::other}};

// A file has a line with the device (family, units, clocks in a second, work-items of a group, bytes of local memory,
// name), lines that number configurations (way, and the parameters of the tile), and for each product a line with its
// type, family, sides and layout, followed by a line for each way that begins with a blank: the number of its
// configuration, the depth of parts, and microseconds.
class opencl_ways_writer {
public:
    opencl_ways_writer(std::ostream& to, sg::opencl_device const& d) : to_(to) {
        to_ << "device " << opencl_families[static_cast<int>(d.family)].name << ' ' << d.compute_units << ' '
            << d.clock << ' ' << d.work_group << ' ' << d.local_bytes << ' ' << d.name << '\n';
    }
    void operator()(drawn_product const& x) {
        write_product(to_, x);
        to_ << std::endl;
    }
    void operator()(opencl_way_taken const& w) {
        std::vector<short> values = values_of(w.choice.tile);
        values.insert(values.begin(), static_cast<short>(w.choice.way));
        auto const [at, is_new] = tiles_.try_emplace(values, tiles_.size());
        if (is_new) {
            to_ << "tile " << at->second;
            for (short const v : values) to_ << ' ' << v;
            to_ << '\n';
        }
        char time[24];
        std::snprintf(time, sizeof time, "%.4g", w.microseconds);
        to_ << ' ' << at->second << ' ' << w.choice.part << ' ' << time << '\n';
    }

private:
    std::ostream& to_;
    std::map<std::vector<short>, std::size_t> tiles_;
};

struct opencl_file {
    sg::opencl_device device;
    std::vector<opencl_measured> products;
};

inline sg::opencl_device read_opencl_device(std::istream& words) {
    sg::opencl_device d;
    std::string family;
    words >> family >> d.compute_units >> d.clock >> d.work_group >> d.local_bytes >> std::ws;
    std::getline(words, d.name);
    for (auto const& f : opencl_families)
        if (family == f.name) d.family = f.family;
    return d;
}
inline opencl_file read_opencl_ways(std::istream& in) {
    opencl_file file;
    std::vector<opencl_way_taken> tiles;
    for (std::string line, word; std::getline(in, line);) {
        std::istringstream words(line);
        if (line.empty()) continue;
        if (line[0] == ' ') {
            std::size_t tile = 0;
            std::ptrdiff_t part = 0;
            double microseconds = 0;
            words >> tile >> part >> microseconds;
            if (!words || tile >= tiles.size() || file.products.empty())
                throw std::runtime_error("a way has a product, a tile, a part and a time");
            auto& ways = file.products.back().ways;
            ways.push_back(tiles[tile]);
            ways.back().choice.part = part, ways.back().microseconds = microseconds;
        } else if (words >> word && word == "device") {
            file.device = read_opencl_device(words);
        } else if (word == "tile") {
            words >> word;
            std::vector<short> const v{std::istream_iterator<short>(words), {}};
            sg::opencl_choice x{sg::opencl_tile::of({v.begin() + 1, v.end()})};
            x.way = static_cast<sg::opencl_way>(v[0]);
            tiles.push_back({x});
        } else if (word.size() == 1) {
            file.products.push_back({read_product(words, word[0]), {}});
        }
    }
    return file;
}

} // namespace bench
