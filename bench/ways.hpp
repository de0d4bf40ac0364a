// What programs have in common that measure every way of random products on a device (cuda_ways, opencl_ways): shapes,
// which ways are measured, and how.
#pragma once

#include <stratagemm/device/product.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <istream>
#include <map>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace bench {

namespace sg = stratagemm;
using sg::index_t;

// A product, by the letter of its type; and the family of shapes that it was drawn from.
struct drawn_product {
    char type = 's';
    std::string family;
    sg::device_sides sides{};
    bool a_along_k = true, b_along_k = false;
};

inline double draw_below(std::mt19937& from, double most) {
    return static_cast<double>(from()) * 0x1p-32 * most;
}
// Half of the longer sides are multiples of 16.
inline index_t draw_side(std::mt19937& from, double shortest, double longest) {
    double const octaves = draw_below(from, std::log2(longest / shortest));
    auto const length = static_cast<index_t>(shortest * std::exp2(octaves) + 0.5);
    return draw_below(from, 2) < 1 && length > 16 ? (length + 15) / 16 * 16 : length;
}

// Draws from a family of shapes: sides of any length; few rows, as inference has; near squares; deep; batches; large;
// few columns; batches of small products. For any other family it draws the layout alone.
inline drawn_product draw_product(std::mt19937& from, char type, std::string const& family) {
    auto const side = [&](double shortest, double longest) { return draw_side(from, shortest, longest); };
    drawn_product x;
    x.type = type, x.family = family;
    x.a_along_k = draw_below(from, 2) < 1, x.b_along_k = draw_below(from, 2) < 1;
    sg::device_sides& s = x.sides;
    if (family == "rows") s = {side(1, 256), side(512, 16384), side(512, 16384), 1};
    if (family == "square") {
        double const all = 64 * std::exp2(draw_below(from, 7));
        auto const near = [&] { return side(all / 1.5, all * 1.5); };
        s = {near(), near(), near(), 1};
    }
    if (family == "deep") s = {side(16, 1024), side(16, 1024), side(2048, 65536), 1};
    if (family == "batch") s = {side(16, 512), side(16, 512), side(16, 512), side(4, 256)};
    if (family == "large") s = {side(1536, 6144), side(1536, 6144), side(1536, 6144), 1};
    if (family == "any") s = {side(1, 8192), side(1, 8192), side(1, 8192), 1};
    if (family == "few") s = {side(8, 65536), side(1, 4), side(32, 65536), 1};
    if (family == "small") s = {side(2, 32), side(2, 32), side(2, 32), side(16, 65536)};
    return x;
}

// Up to `most` ways: those of kinds that have a few only, all whose clocks are within a half of the least, and others by
// lot. A way has `kind` and `clocks`.
template <class Way>
std::vector<Way> some_of(std::vector<Way> all, std::size_t most, std::mt19937& from) {
    std::shuffle(all.begin(), all.end(), from);
    double least = 1e300;
    std::map<std::size_t, std::size_t> of_kind;
    for (auto const& w : all) ++of_kind[w.kind()];
    for (auto& w : all) {
        if (w.clocks() > 0) least = std::min(least, w.clocks());
        if (of_kind[w.kind()] < 40) w.clocks() = 0;
    }
    auto const good =
        std::stable_partition(all.begin(), all.end(), [&](Way const& w) { return w.clocks() < 1.5 * least; });
    // One of four is by lot from all the others.
    auto const first = static_cast<std::size_t>(good - all.begin());
    if (first > most * 3 / 4) {
        std::stable_sort(all.begin(), good,
                         [](Way const& x, Way const& y) { return x.clocks() < y.clocks(); });
        std::rotate(all.begin() + static_cast<std::ptrdiff_t>(most * 3 / 4), good, all.end());
    }
    if (all.size() > most) all.resize(most);
    return all;
}

// Calls f(worker) in processes of their own, side by side, and waits for them; each compiles a part of the kernels.
template <class F>
void in_workers(int workers, F&& f) {
    for (int worker = 0; worker < workers; ++worker)
        if (fork() == 0) {
            f(worker);
            std::fflush(nullptr);
            _exit(0);
        }
    while (wait(nullptr) > 0) {
    }
}

// Microseconds of what run(turn) queues: the shortest of three samples of about `least` microseconds, or the first one if
// that took long.
template <class Run, class Wait>
double measured(Run&& run, Wait&& wait, double least) {
    auto const timed = [&](index_t times) {
        wait();
        auto const start = std::chrono::steady_clock::now();
        for (index_t i = 0; i < times; ++i) run(i);
        wait();
        std::chrono::duration<double, std::micro> const all = std::chrono::steady_clock::now() - start;
        return all.count() / static_cast<double>(times);
    };
    double const first = timed(2);
    if (first > 20 * least) return first;
    auto const times = std::clamp<index_t>(static_cast<index_t>(least / first), 1, 100);
    return std::min({timed(times), timed(times), timed(times)});
}

// A product in a file: type, family, sides and layout. What else a program has of it follows on the line.
inline void write_product(std::ostream& to, drawn_product const& x) {
    to << x.type << ' ' << x.family << ' ' << x.sides.m << ' ' << x.sides.n << ' ' << x.sides.k << ' '
       << x.sides.count << ' ' << (x.a_along_k ? 'N' : 'T') << (x.b_along_k ? 'T' : 'N');
}
inline drawn_product read_product(std::istream& words, char type) {
    drawn_product x;
    std::string layout;
    x.type = type;
    words >> x.family >> x.sides.m >> x.sides.n >> x.sides.k >> x.sides.count >> layout;
    if (!words || layout.size() != 2)
        throw std::runtime_error("a product has a family, four sides and a layout");
    x.a_along_k = layout[0] == 'N', x.b_along_k = layout[1] == 'T';
    return x;
}

} // namespace bench
