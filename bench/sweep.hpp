// Products of random shapes: ./dev bench sweep, the library against the peers of its program, and ./dev bench estimate,
// what estimate() predicts against what is measured. A program of a backend says which shapes and types it draws:
//
//   --sweep, --estimate    instead of the cases of the program, with
//   --seed=N               which shapes, by default 1; a seed draws the same shapes on every machine
//   --data=FILE            where to write what was measured, a line for each case
//   --count=N              how many, by default 100, each in every type; on the host numbers of threads take turns
//
// The other options are those of program.hpp. After a line for each case come the mean, the tenth percentile and the
// worst cases of each type; the page has a picture.
#pragma once

#include "program.hpp"

namespace bench {

// What a backend draws: sides are log-uniform from 1 to longest, and half of those beyond 16 are rounded up to multiples
// of 8; B is as it is or transposed.
struct sweep_domain {
    long longest;
    std::vector<element> types;
    std::vector<int> threads = {0}; // shapes take them in turn
    bool turns_a = false;           // A may be transposed, too
    long multiple_int8 = 1;         // what the sides of int8 are rounded up to
    int rounds = 5;
};

// For parse(), with those of the program.
std::vector<std::string> sweep_options(std::vector<std::string> more = {});
bool asks_for_sweep(options const&);

std::vector<bench_case> random_cases(unsigned seed, int count, sweep_domain const&);

// As run() of program.hpp; the first field of the arena races. Not 0 if the library fails in a case, too.
int run_sweep(std::string const& backend, options const&, sweep_domain const&,
              std::function<arena()> const& open);

} // namespace bench
