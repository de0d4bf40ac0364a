// The selection matrix: ./dev bench matrix. For classes of shapes, element types and accuracies: which policy the estimates
// choose, and how much longer it takes than the fastest one. All candidates are measured, and told.
//
// candidates() is what chooses from: a policy beside its name and its accuracy class. A policy that chooses among others
// has only to be one more of them.
#pragma once

#include "measured_ways.hpp"

#include <stratagemm/algorithm/split.hpp>

#include <cstdio>
#include <ostream>

namespace bench {

struct shape_class {
    char const* name;
    index_t m, n, k;
};

template <class Policy>
class selection_matrix : ways_over<Policy> {
    using ways_over<Policy>::base, ways_over<Policy>::there, ways_over<Policy>::product,
        ways_over<Policy>::race;

public:
    selection_matrix(Policy over, int rounds, std::ostream& out)
        : ways_over<Policy>(std::move(over), rounds), out_(out) {}

    template <class T>
    void run(shape_class const& x, char const* type) {
        auto const a = there(random_matrix<T>(x.m, x.k, 1)), b = there(random_matrix<T>(x.k, x.n, 2));
        auto c = there(sg::matrix<T>(x.m, x.n));
        std::vector<measured_way> ways;
        candidates<T>([&](char const* name, char const* accuracy, auto const& over) {
            ways.push_back(product(name, 0, over, a, b, c));
            ways.back().note = accuracy;
        });
        race(ways);
        for (measured_way const& w : ways) {
            char text[300];
            std::snprintf(text, sizeof text, "candidate | %s | %td x %td x %td | %s | %s | %s | %.4g | %.4g",
                          x.name, x.m, x.n, x.k, type, w.note.c_str(), w.line.c_str(), w.predicted,
                          w.measured());
            out_ << text << std::endl;
            std::puts(text), std::fflush(stdout);
        }
    }

private:
    // f(name, accuracy, policy). Accuracies: "native", an error in each element as that of the native product; "normwise",
    // one in the norm of the whole.
    template <class T, class F>
    void candidates(F const& f) const {
        constexpr auto as_native = sizeof(T) == 8 ? sg::accuracy::fp64 : sg::accuracy::fp32;
        f("native", "native", base);
        f("ozaki", "native", sg::ozaki{base, {.accuracy = as_native}});
        if constexpr (sizeof(T) == 4) f("split", "native", sg::split{base, {.accuracy = as_native}});
        f("strassen", "normwise", sg::strassen{base});
        f("strassen, 1 level", "normwise", sg::strassen{base, {.levels = 1}});
        f("strassen, 2 levels", "normwise", sg::strassen{base, {.levels = 2}});
    }

    std::ostream& out_;
};

} // namespace bench
