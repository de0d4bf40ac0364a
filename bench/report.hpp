// What a benchmark program shows: tables on stdout and one self-contained page of HTML. It knows nothing of
// hosts or devices, so every backend's program uses it.
#pragma once

#include "race.hpp"

#include <algorithm>
#include <iosfwd>

namespace bench {

struct result {
    std::string group;   // summed up together: "square", "skinny", ...
    std::string family;  // one chart: "sgemm", "batched, in L1", ...
    std::string label;   // within the family: "1024", "4096 x 16 x 4096", ...
    std::string setting; // "1 thread", "2 threads", or nothing
    std::string unit;    // of rates: GFLOP/s, TFLOP/s, Gop/s
    double work = 0;     // in that unit, for one second
    double bytes = 0;    // of A, B and C
    std::vector<lane> lanes;
    std::vector<double> roof;
    std::vector<double> pace;          // of the tile unit, where it was taken
    std::vector<std::string> left_out; // contenders, and why

    lane const* library() const;
    lane const* best_peer() const; // by median; null if no peer takes the case
    double ratio() const;          // median of the rounds' ratios to the best peer; 0 if unknown
    double share_of_roof() const;  // likewise to the peak
    double ratio_to(lane const&) const;
};

// key(r) of all, in order of first appearance.
template <class Key>
std::vector<std::string> distinct(std::vector<result> const& all, Key key) {
    std::vector<std::string> names;
    for (result const& r : all)
        if (std::find(names.begin(), names.end(), key(r)) == names.end()) names.push_back(key(r));
    return names;
}

void print_table(std::ostream&, std::vector<result> const&);
// Every contender of a case: its rate beside those of the first and of the best peer, its error and its
// bound. Rounds in which the tile unit was slower than 0.6 of the fastest rate seen in this run are given by
// themselves.
void print_errors(std::ostream&, result const&);
void write_html(std::ostream&, std::string const& title, facts const&, std::vector<result> const&);

// A page with a body of HTML of the caller's, in the style of the other: what is in it of classes is in report.cpp.
void write_page(std::ostream&, std::string const& title, facts const&, std::string const& body);
std::string fixed(double, int digits);
std::string rate(double);               // fixed, with as many digits as the tables have
std::string escape(std::string const&); // for HTML

} // namespace bench
