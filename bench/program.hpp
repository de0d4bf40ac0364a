// What every benchmark program does: it reads its options, picks the cases that the filter names, opens the
// machine, races the contenders case by case, and reports. A program of a backend lists its cases and its
// contenders.
#pragma once

#include "report.hpp"

namespace bench {

//   --filter=REGEX     cases whose names match; one that matches none is an error, which lists the names
//   --quick            the few cases that are marked so
//   --rounds=N         instead of what each case says
//   --threads=1,2      on the host
//   --patience=SECONDS leave out what takes longer for one product
//   --json=FILE, --report=FILE (HTML): BACKEND.json and report.html unless told otherwise
//   --list             only the names
//   --names            all names, each with the word that a filter must have in it for the case to run, if there is one
// and what the program adds.
struct options {
    std::vector<int> threads;
    bool quick = false, list = false, names = false;
    int rounds = 0;
    std::string filter, json, report;
    rules rule;
    std::map<std::string, std::string> own; // "device" is the value of --device=
    bool asks_for(std::string const& word) const { return filter.find(word) != filter.npos; }
};
// Ends the program where an option is unknown. `own` are those that the program adds.
options parse(int argc, char** argv, std::vector<std::string> const& own = {});

struct bench_case {
    std::string group, family, label;
    problem p;
    limit bound = limit::arithmetic;
    bool quick = false;
    int rounds = 5;
    std::string only_if{}; // run only if the filter has this in it
    std::size_t field = 0; // which contenders race

    std::string name() const; // a word a/b/c, to be filtered by
};
std::string times(long m, long n, long k); // "64x64x65536"
// Floats times weights (weights.hpp), for a filter that names them.
std::vector<bench_case> cases_of_weights(int threads, std::size_t field);

// The contenders of a program, and where they race. Those of one field meet each other.
struct arena {
    std::unique_ptr<machine> on;
    std::vector<contenders> fields;
    facts about{}; // beside what the machine and the contenders of the first field say
};
// What a program may show instead of the table and the charts: a line for each result, and at the end a summary, whose
// page it returns (the body of write_page).
struct view {
    std::function<void(result const&, std::size_t at, std::size_t all)> each{};
    std::function<std::string(std::vector<result> const&)> all{};
};
// open() is called when there is something to race. It may throw std::runtime_error: no device, say; the
// program is skipped then, and its exit status is 77.
int run(std::string const& backend, options const&, std::vector<bench_case> const&,
        std::function<arena()> const& open, std::function<void(std::vector<result>&)> const& arrange = {},
        view const& shown_as = {});

} // namespace bench
