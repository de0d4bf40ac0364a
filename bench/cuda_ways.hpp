// Every way that the engines of the CUDA backend have to run random products, and files of what the ways took: what
// choosing is fitted to and judged by.
#pragma once

#include "ways.hpp"

#include <stratagemm/backend/cuda.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <istream>
#include <iterator>
#include <map>
#include <ostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace sg = stratagemm;
using sg::index_t;

struct cuda_way_taken {
    sg::cuda_configuration tile;
    sg::cuda_way way;
    double microseconds = 0;
};

// The epilogue whose steps a name lists, such as bias+gelu; none, if it is empty. It is a value, so that one program has
// the kernels of all of them. Values of a bias have the accumulator's type.
template <class S>
struct cuda_measured_epilogue {
    using bias = sg::bias_epilogue<S, sg::cuda_pointer<S const>>;
    std::string steps;
    sg::cuda_pointer<S const> values{};

    // For the concept of an epilogue: no product runs on the host.
    template <class X>
    X operator()(X x, index_t, index_t) const = delete;
    template <class To>
    auto device(To& to) const -> decltype(to("", values)) {
        each([&](auto const& step) { step.device(to); });
    }
    int instructions() const {
        int all = 0;
        each([&](auto const& step) { all += sg::instructions_of(step); });
        return all;
    }

private:
    template <class F>
    void each(F const& f) const {
        auto const has = [&](char const* step) { return steps.find(step) != std::string::npos; };
        if (has("bias")) f(bias{values, 0, sg::along::columns});
        if (has("relu")) f(sg::relu);
        if (has("gelu")) f(sg::gelu);
    }
};

struct cuda_shape : drawn_product {
    std::string epilogue{}; // its steps

    sg::cuda_layout layout() const {
        return {.a_along_k = a_along_k || sides.m == 1, .b_along_k = b_along_k || sides.n == 1};
    }
    std::size_t element() const {
        switch (type) {
        case 'b':
        case '4': return 1;
        case 'w': return 2;
        case 's':
        case 't': return 4;
        case 'z': return 16;
        default: return 8;
        }
    }
    sg::cuda_query query(sg::cuda_device const& device) const {
        return {.device = device,
                .type = type,
                .element = element(),
                .sides = sides,
                .layout = layout(),
                .after = cuda_measured_epilogue<float>{epilogue}.instructions()};
    }
};

struct cuda_measured {
    cuda_shape shape;
    std::vector<cuda_way_taken> ways;
};

// Takes all ways that engines name.
struct cuda_all_ways {
    std::vector<cuda_way_taken> all;

    double least() const { return 1e300; }
    template <class Engine>
    void operator()(Engine const& engine, sg::cuda_way const& way) {
        if (way.cycles >= 1e299) return;
        all.push_back({engine, way});
    }
};
// Whether only `invariant` asks an engine: its ways are measured, but nothing else chooses them.
inline bool is_for_order(sg::cuda_query const& q, sg::cuda_configuration const& tile) {
    return tile.as<sg::cuda_ordered>() && !sg::cuda_ordered::takes(q);
}
inline std::vector<cuda_way_taken> ways_of(sg::cuda_query const& q) {
    cuda_all_ways ways;
    sg::cuda_query in_order = q;
    in_order.invariant = true;
    sg::cuda_configuration::for_each([&]<class Engine>(Engine const&) {
        if (Engine::takes(q))
            Engine::candidates(q, ways);
        else if (std::is_same_v<Engine, sg::cuda_ordered> && Engine::takes(in_order))
            Engine::candidates(in_order, ways);
    });
    return std::move(ways.all);
}

// Shapes of these families: sides of any length; few rows, as inference has; near squares; deep; batches; large; short,
// with a k of few terms, where C is most of what is moved; few columns; vectors; few columns of many terms; batches of few
// columns, and of small products; layers of networks, whose sides are multiples of 256. Kernels take C as it lies, or
// turned; these shapes are as kernels take them.
inline cuda_shape draw_shape(std::mt19937& from, char type, int number) {
    static constexpr char const* families[] = {"rows", "square", "deep", "batch", "large"};
    int const place = number % 16;
    cuda_shape x{draw_product(from, type, place < 5 ? families[place] : place < 9 && place > 5 ? "any" : "")};
    auto const side = [&](double shortest, double longest) { return draw_side(from, shortest, longest); };
    auto const columns = [&](double most) { return static_cast<index_t>(draw_below(from, most)) + 1; };
    auto const layer = [&] { return (side(640, 10000) + 255) / 256 * 256; };
    sg::cuda_sides& s = x.sides;
    switch (place) {
    case 9: x.family = "layers", s = {layer(), layer(), layer(), 1}; break;
    case 5: x.family = "short", s = {side(64, 8192), side(64, 8192), side(1, 32), 1}; break;
    case 10: x.family = "vector", s = {side(16, 65536), 1, side(32, 65536), 1}; break;
    case 11: x.family = "long", s = {side(16, 512), columns(16), side(8192, 500000), 1}; break;
    case 12: x.family = "few-batch", s = {side(16, 4096), columns(8), side(32, 4096), side(2, 64)}; break;
    case 13: x.family = "small", s = {columns(32), columns(32), columns(32), side(16, 30000)}; break;
    case 14:
    case 15: x.family = "few", s = {side(64, 65536), columns(16), side(32, 16384), 1}; break;
    default: break;
    }
    s = sg::oriented(type, s);
    return x;
}

// A file has a line with the device, lines that number configurations by their parameters, and for each product a line
// with its type, family, sides, layout and steps of an epilogue, followed by a line for each way that begins with a blank:
// the number of its configuration; part, whole, and the letters t and s for together and shifted, or a dash; microseconds.
class cuda_ways_writer {
public:
    cuda_ways_writer(std::ostream& to, sg::cuda_device const& d) : to_(to) {
        to_ << "device " << d.capability << ' ' << d.units << ' ' << d.shared_bytes << ' ' << d.cache_bytes
            << ' ' << d.bytes_per_cycle << ' ' << d.name << '\n';
    }
    void operator()(cuda_shape const& x) {
        write_product(to_, x);
        to_ << (x.epilogue.empty() ? "" : " ") << x.epilogue << std::endl;
    }
    void operator()(cuda_way_taken const& w) {
        std::vector<short> const values = values_of(w.tile);
        auto const [at, is_new] = tiles_.try_emplace(values, tiles_.size());
        if (is_new) {
            to_ << "tile " << at->second;
            for (short const v : values) to_ << ' ' << v;
            to_ << '\n';
        }
        char time[24];
        std::snprintf(time, sizeof time, "%.4g", w.microseconds);
        to_ << ' ' << at->second << ' ' << w.way.part << ' ' << w.way.whole << ' ' << flags_of(w.way) << ' '
            << time << '\n';
    }

private:
    static std::string flags_of(sg::cuda_way const& way) {
        std::string const flags = std::string(way.together ? "t" : "") + (way.shifted ? "s" : "");
        return flags.empty() ? "-" : flags;
    }

    std::ostream& to_;
    std::map<std::vector<short>, std::size_t> tiles_;
};

struct cuda_file {
    sg::cuda_device device;
    std::vector<cuda_measured> products;
};

inline cuda_shape read_shape(std::istream& words, char type) {
    cuda_shape x{read_product(words, type)};
    words >> x.epilogue;
    return x;
}
inline cuda_way_taken read_way(std::istream& words, std::vector<std::vector<short>> const& tiles) {
    cuda_way_taken w;
    std::size_t tile = 0;
    std::string flags;
    words >> tile >> w.way.part >> w.way.whole >> flags >> w.microseconds;
    if (!words || tile >= tiles.size())
        throw std::runtime_error("a way has a tile, part, whole, flags and a time");
    w.tile = sg::cuda_configuration::of(tiles[tile]);
    w.way.together = flags.find('t') != std::string::npos,
    w.way.shifted = flags.find('s') != std::string::npos;
    return w;
}
inline cuda_file read_ways(std::istream& in) {
    cuda_file file;
    std::vector<std::vector<short>> tiles;
    for (std::string line, word; std::getline(in, line);) {
        std::istringstream words(line);
        if (line.empty()) continue;
        if (line[0] == ' ') {
            if (file.products.empty()) throw std::runtime_error("a way comes before any product");
            file.products.back().ways.push_back(read_way(words, tiles));
        } else if (words >> word && word == "device") {
            sg::cuda_device& d = file.device;
            words >> d.capability >> d.units >> d.shared_bytes >> d.cache_bytes >> d.bytes_per_cycle >>
                std::ws;
            std::getline(words, d.name);
        } else if (word == "tile") {
            words >> word;
            tiles.emplace_back(std::istream_iterator<short>(words), std::istream_iterator<short>());
            tiles.back().resize(11);
        } else if (word.size() == 1) {
            file.products.push_back({read_shape(words, word[0]), {}});
        }
    }
    return file;
}

} // namespace bench
