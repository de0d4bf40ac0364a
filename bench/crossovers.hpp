// Where one way to multiply becomes faster than another: ./dev crossovers. What estimate() predicts stands beside what
// is measured, so that a reader sees where a choice by estimates goes wrong.
//   Strassen's product by its levels, against the size; emulation by its slices and moduli, error and time; products of
//   a sparse matrix against the dense product, by density; and, over a device, out_of_core by the memory that it may
//   take.
// A program of a backend makes its policy and says the sizes. Rounds run all ways in turn.
#pragma once

#include "measured_ways.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/structure/csr.hpp>

#include <cstdio>
#include <ostream>

namespace bench {

struct crossover_sizes {
    std::vector<index_t> strassen; // sides
    index_t emulated, sparse, beyond;
    int rounds;
    double patience = 2; // seconds of a native product
    bool has_double = true;
};

template <class Policy>
class crossovers : ways_over<Policy> {
    using way = measured_way;
    using ways_over<Policy>::base, ways_over<Policy>::on_host, ways_over<Policy>::there,
        ways_over<Policy>::product, ways_over<Policy>::race;

public:
    crossovers(Policy over, crossover_sizes sizes, std::ostream& out)
        : ways_over<Policy>(std::move(over), sizes.rounds), sizes_(std::move(sizes)), out_(out) {}

    void run_all() {
        strassen<float>("float");
        if (sizes_.has_double) strassen<double>("double");
        emulated<float>("float", 8, 10);
        if (sizes_.has_double) emulated<double>("double", 10, 18);
        for (index_t const columns : {index_t{64}, sizes_.sparse}) sparse(columns);
        if constexpr (!on_host) out_of_core();
    }

private:
    void tell(std::string const& what, std::string const& line, double x, double measured, double predicted,
              std::string const& note = "") {
        char text[400];
        std::snprintf(text, sizeof text, "point | %s | %s | %.6g | %.5g | %.5g | %s", what.c_str(),
                      line.c_str(), x, measured, predicted, note.c_str());
        out_ << text << std::endl;
        std::puts(text), std::fflush(stdout);
    }

    // The time of each number of levels over that of none.
    template <class T>
    void strassen(std::string const& type) {
        for (index_t const n : sizes_.strassen) {
            auto const a = there(random_matrix<T>(n, n, 1)), b = there(random_matrix<T>(n, n, 2));
            auto c = there(sg::matrix<T>(n, n));
            std::vector<way> ways{product("none", double(n), base, a, b, c)};
            if (ways[0].predicted > sizes_.patience) break;
            for (int const levels : {1, 2, 3})
                ways.push_back(product(std::to_string(levels) + (levels == 1 ? " level" : " levels"),
                                       double(n), sg::strassen{base, {.levels = levels}}, a, b, c));
            race(ways);
            for (way const& w : ways)
                if (&w != &ways[0])
                    tell("strassen, " + type, w.line, w.x, w.measured() / ways[0].measured(),
                         w.predicted / ways[0].predicted);
        }
    }

    // The error of so many slices and moduli beside their bounds, and their time over that of the native product.
    template <class T>
    void emulated(std::string const& type, int most_slices, int most_moduli) {
        index_t const n = sizes_.emulated;
        sg::matrix<T> const x = random_matrix<T>(n, n, 1), y = random_matrix<T>(n, n, 2);
        oracle<T> const exact({.m = n, .n = n, .k = n}, x.data(), y.data(), 8);
        auto const a = there(x), b = there(y);
        auto c = there(sg::matrix<T>(n, n));
        std::vector<way> ways{product("native", 0, base, a, b, c)};
        std::vector<double> bounds{base.error_bound(sg::shape<T>{.m = n, .n = n, .k = n}).worst};
        auto const add = [&](char const* line, int count, sg::ozaki_options options) {
            sg::ozaki const over{base, options};
            ways.push_back(product(line, count, over, a, b, c));
            bounds.push_back(over.error_bound(sg::shape<T>{.m = n, .n = n, .k = n}).worst);
        };
        for (int count = 2; count <= most_slices; ++count) add("slices", count, {.slices = count});
        for (int count = 4; count <= most_moduli; count += 2) add("moduli", count, {.moduli = count});
        race(ways);
        sg::matrix<T> back(n, n);
        for (std::size_t i = 0; i < ways.size(); ++i) {
            way const& w = ways[i];
            w.run();
            if constexpr (on_host)
                back = c;
            else
                c.download(back);
            tell("error of emulation, " + type, w.line, w.x, exact.error(back.data()), bounds[i]);
            tell("time of emulation, " + type, w.line, w.x, w.measured() / ways[0].measured(),
                 w.predicted / ways[0].predicted);
        }
    }

    // The time over that of the dense product.
    void sparse(index_t columns) {
        index_t const n = sizes_.sparse;
        auto const dense = there(random_matrix<float>(n, n, 1)),
                   b = there(random_matrix<float>(n, columns, 2));
        auto c = there(sg::matrix<float>(n, columns));
        for (double const density : {0.001, 0.003, 0.01, 0.03, 0.1, 0.3}) {
            auto const list = random_csr(n, density);
            auto const a = [&] {
                if constexpr (on_host)
                    return list.view();
                else
                    return sg::to_device(base, list.view());
            }();
            std::vector<way> ways{product("dense", density, base, dense, b, c),
                                  product("csr", density, base, a, b, c)};
            race(ways);
            tell("sparse, " + std::to_string(columns) + " columns", "csr", density,
                 ways[1].measured() / ways[0].measured(), ways[1].predicted / ways[0].predicted);
        }
    }
    struct lists {
        index_t side;
        std::vector<std::int32_t> begins{0}, columns{};
        std::vector<float> values{};

        sg::csr<float> view() const {
            return {side, side, begins.data(), columns.data(), values.data(), index_t(values.size())};
        }
    };
    static lists random_csr(index_t n, double density) {
        std::mt19937 random(7);
        lists x{n};
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < n; ++j)
                if (double(random()) * 0x1p-32 < density)
                    x.columns.push_back(std::int32_t(j)), x.values.push_back(float(random()) * 0x1p-31f - 1);
            x.begins.push_back(std::int32_t(x.columns.size()));
        }
        return x;
    }

    // The rate by the share of the operands' bytes that the device may take, and the blocks of C.
    void out_of_core() {
        index_t const n = sizes_.beyond;
        auto const bytes = 3 * double(n) * double(n) * sizeof(float);
        sg::matrix<float> const a = random_matrix<float>(n, n, 1), b = random_matrix<float>(n, n, 2);
        sg::matrix<float> c(n, n);
        auto const da = there(a), db = there(b);
        auto dc = there(c);
        std::vector<way> ways{product("on the device", 1, base, da, db, dc)};
        for (double const share : {0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.3}) {
            sg::out_of_core<Policy> const over(base, {.device_bytes = index_t(share * bytes)});
            std::string const about = sg::plan(over, sg::product(a, b, c).shape()).describe();
            if (about.find("too small") != about.npos) continue;
            ways.push_back(product("out_of_core", share, over, a, b, c));
            ways.back().note = about;
        }
        race(ways);
        double const work = 2e-9 * double(n) * double(n) * double(n);
        for (way const& w : ways)
            tell("out of core, " + std::to_string(n), w.line, w.x, work / w.measured(), work / w.predicted,
                 w.note);
    }

    crossover_sizes sizes_;
    std::ostream& out_;
};

} // namespace bench
