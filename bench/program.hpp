// What every benchmark program does: it registers its cases with Google Benchmark, opens the machine, races the
// contenders case by case, and reports. A program of a backend lists its cases and its contenders.
//
// An iteration is a round of the race, and its time is that of one product of the library. Counters are medians over
// rounds: the library's rate, named by its unit; those of the other contenders, named by theirs; "peak"; "ratio", to the
// best peer, which the label names; and "error" (lane::error). Names are those that Google Benchmark makes, such as
// sgemm/512/threads:1/iterations:5/manual_time, and all of its flags work: --benchmark_filter, --benchmark_list_tests,
// --benchmark_repetitions, --benchmark_out=FILE (JSON). Without --benchmark_format the program shows the tables of
// report.hpp; with it, these tables go to stderr.
#pragma once

#include "report.hpp"

namespace bench {

//   --quick            the few cases that are marked so
//   --rounds=N         instead of what each case says
//   --threads=1,2      on the host
//   --patience=SECONDS leave out what takes longer for one product
//   --report=FILE      the page of HTML: report.html unless told otherwise
// and what the program adds.
struct options {
    std::vector<int> threads;
    bool quick = false, list = false, tables = true;
    int rounds = 0;
    std::string filter;
    rules rule;
    std::map<std::string, std::string> own; // "device" is the value of --device=

    bool asks_for(std::string const& word) const { return filter.find(word) != filter.npos; }
    bool has(std::string const& name) const { return own.count(name) > 0; }
    std::string value(std::string const& name, std::string const& usual = "") const {
        return has(name) ? own.at(name) : usual;
    }
};
// Ends the program where an option is unknown. `own` are those that the program adds.
options parse(int argc, char** argv, std::vector<std::string> own = {});

struct bench_case {
    std::string group, family, label;
    problem p;
    limit bound = limit::arithmetic;
    bool quick = false;
    int rounds = 5;
    std::string only_if{}; // run only if the filter has this in it; it is listed nevertheless
    std::size_t field = 0; // which contenders race

    std::string name() const; // a word a/b/c, to be filtered by
};
std::string times(long m, long n, long k); // "64x64x65536"
char const* name_of(element);
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
    std::function<void(std::ostream&, result const&, std::size_t at)> each{};
    std::function<std::string(std::ostream&, std::vector<result> const&)> all{};
};
// open() is called when there is something to race. It may throw std::runtime_error: no device, say; the
// program is skipped then, and its exit status is 77. It is 1 where no case matches.
int run(std::string const& backend, options const&, std::vector<bench_case> const&,
        std::function<arena()> const& open, std::function<void(std::vector<result>&)> const& arrange = {},
        view const& shown_as = {});

} // namespace bench
