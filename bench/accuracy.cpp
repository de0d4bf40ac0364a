// bench_accuracy, bench_accuracy_cuda: the error of each setting against how far the exponents of the data spread, on
// the host and on a CUDA device.
//
//   bench_accuracy [SIZE = 1000 | MxNxK] [--report=FILE]
//
// Elements are (u - 1/2) exp(phi g), u uniform and g normal; the error is max |dC| / (|A||B|) over some rows.
// Writes a table to stdout, and beside FILE (or here) a picture for each type, accuracy-fp64.svg and
// accuracy-fp32.svg: what was seen in full, the stated bound dashed. Nothing is timed, and no contract leaves
// a product to the native one for speed.
#include "machine.hpp"
#include "oracle.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

using namespace bench;

std::vector<double> const spreads{0, 0.5, 1, 2, 4, 8};

struct curve {
    std::string name;
    std::vector<double> seen, bound;
    std::vector<std::string> ran;
};

template <class T>
std::vector<curve> measure(problem const& p) {
    auto const on = make_emulation_machine();
    auto const field = make_emulators(choice::data);
    auto const bytes = [](long count) { return count * long(sizeof(T)); };
    auto const there = std::array{on->allocate(bytes(p.m * p.k)), on->allocate(bytes(p.k * p.n)),
                                  on->allocate(bytes(p.m * p.n))};
    operands const x{there[0].get(), there[1].get(), there[2].get()};
    std::vector<curve> curves;
    for (auto& e : field)
        if (e->takes(p)) curves.push_back({e->name(), {}, {}, {}});
    for (double const phi : spreads) {
        auto const a = draw<T>(p.m * p.k, phi, 1), b = draw<T>(p.k * p.n, phi, 2);
        std::vector<T> c(std::size_t(p.m * p.n));
        on->upload(there[0].get(), 0, a.data(), bytes(p.m * p.k));
        on->upload(there[1].get(), 0, b.data(), bytes(p.k * p.n));
        oracle<T> const judge(p, a.data(), b.data(), 64);
        std::size_t at = 0;
        for (auto& e : field) {
            if (!e->takes(p)) continue;
            e->prepare(p, x);
            e->run(p, x);
            on->download(c.data(), x.c, 0, bytes(p.m * p.n));
            curve& of = curves[at++];
            of.seen.push_back(judge.error(c.data()));
            of.ran.push_back(e->ran(p));
            auto const bound = e->bound(p);
            of.bound.push_back(bound.worst * (bound.normwise ? judge.norm_over_least() : 1));
        }
    }
    return curves;
}

std::string sides(problem const& p) {
    if (p.m == p.n && p.n == p.k) return "n = " + std::to_string(p.n);
    return std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k);
}

void print(char const* type, problem const& p, std::vector<curve> const& curves) {
    std::printf("\n%s, %s: max |dC| / (|A||B|), what was seen and below it the bound\n%-22s", type,
                sides(p).c_str(), "phi");
    for (double const phi : spreads) std::printf("%10g", phi);
    std::printf("\n");
    for (curve const& c : curves) {
        std::printf("%-22s", c.name.c_str());
        for (double const x : c.seen) std::printf("%10.1e", x);
        std::printf("\n%-22s", "");
        for (double const x : c.bound) std::printf("%10.1e", x);
        std::printf("\n");
        bool chosen = false;
        for (auto const& r : c.ran) chosen |= r != c.ran.front();
        for (std::size_t i = 0; chosen && i < c.ran.size(); ++i)
            std::printf("    at %g: %s\n", spreads[i], c.ran[i].c_str());
    }
    std::fflush(stdout);
}

// ---- the picture -----------------------------------------------------------------------------------------

class picture {
public:
    picture(std::string const& title, std::vector<curve> const& curves) {
        for (curve const& c : curves)
            for (double const x : c.seen)
                if (x > 0) low_ = std::min(low_, std::floor(std::log10(x)));
        out_ << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
             << "' font-family='system-ui,sans-serif' font-size='12'>\n<rect width='" << width << "' height='"
             << height << "' fill='#fff'/>\n<text x='" << left << "' y='24' font-size='16'>" << title
             << "</text>\n<text x='" << left
             << "' y='42' fill='#667'>max |dC| / (|A||B|) against phi, elements (u - 1/2) exp(phi g); "
                "dashed: the bound</text>\n";
        axes();
        for (std::size_t i = 0; i < curves.size(); ++i) draw(curves[i], i);
        out_ << "</svg>\n";
    }
    std::string str() const { return out_.str(); }

private:
    static constexpr double width = 860, height = 520, left = 60, right = 640, top = 60, bottom = 470;

    double x(std::size_t i) const {
        return left + 20 + (right - left - 40) * double(i) / double(spreads.size() - 1);
    }
    double y(double error) const {
        double const e = std::min(high_, std::max(low_, error > 0 ? std::log10(error) : low_));
        return bottom - (bottom - top) * (e - low_) / (high_ - low_);
    }
    void axes() {
        for (double e = low_; e <= high_; e += 2)
            out_ << "<path d='M" << left << ' ' << y(std::pow(10, e)) << "H" << right
                 << "' stroke='#e5e7eb'/><text x='" << left - 8 << "' y='" << y(std::pow(10, e)) + 4
                 << "' text-anchor='end' fill='#667'>1e" << e << "</text>\n";
        for (std::size_t i = 0; i < spreads.size(); ++i)
            out_ << "<text x='" << x(i) << "' y='" << bottom + 20 << "' text-anchor='middle' fill='#667'>"
                 << spreads[i] << "</text>\n";
    }
    void draw(curve const& c, std::size_t i) {
        char const* const colours[] = {"#222",    "#e4572e", "#f2a541", "#3b6ea8", "#4fa3a5", "#8a6fb3",
                                       "#7a8f4e", "#c9a0b4", "#9fb3c8", "#a8adb5", "#b0413e", "#2f6690"};
        char const* const colour = colours[i % std::size(colours)];
        line(c.bound, colour, "stroke-dasharray='3 4' stroke-width='1' opacity='.6'");
        line(c.seen, colour, i < 3 ? "stroke-width='2.6'" : "stroke-width='1.5'");
        double const at = top + 12 + 22 * double(i);
        out_ << "<rect x='" << right + 24 << "' y='" << at - 10 << "' width='12' height='12' fill='" << colour
             << "'/><text x='" << right + 44 << "' y='" << at << "'>" << c.name << "</text>\n";
    }
    void line(std::vector<double> const& values, char const* colour, char const* style) {
        out_ << "<path fill='none' stroke='" << colour << "' " << style << " d='";
        for (std::size_t i = 0; i < values.size(); ++i)
            out_ << (i ? 'L' : 'M') << x(i) << ' ' << y(values[i]);
        out_ << "'/>\n";
    }

    double low_ = 0, high_ = 0;
    std::ostringstream out_;
};

template <class T>
bool write(std::filesystem::path const& folder, char const* type, char const* file, problem const& p) {
    auto const curves = measure<T>(p);
    print(type, p, curves);
    std::ofstream out(folder / file);
    out << picture(std::string(type) + ", " + sides(p), curves).str();
    if (!out) std::cerr << "cannot write " << folder / file << "\n";
    return bool(out);
}

} // namespace

int main(int argc, char** argv) try {
    long m = 1000, n = m, k = m;
    std::filesystem::path folder = ".";
    for (std::string const& arg : std::vector<std::string>(argv + 1, argv + argc)) {
        if (arg.rfind("--report=", 0) == 0)
            folder = std::filesystem::absolute(arg.substr(9)).parent_path();
        else if (arg[0] != '-' && // bench/run.sh has options for others
                 std::sscanf(arg.c_str(), "%ldx%ldx%ld", &m, &n, &k) == 1)
            n = k = m;
    }
    if (std::min({m, n, k}) < 1 || std::max(m, n) > 20000 || k > 1 << 20)
        return std::cerr << "usage: bench_accuracy [SIZE = 1000 | MxNxK] [--report=FILE]\n", 2;
    bool const good = write<double>(folder, "FP64", "accuracy-fp64.svg", {element::f64, m, n, k}) &
                      write<float>(folder, "FP32", "accuracy-fp32.svg", {element::f32, m, n, k});
    return good ? 0 : 1;
} catch (std::exception const& e) { // no device, say
    std::cout << "skipped: " << e.what() << "\n";
    return 77;
}
