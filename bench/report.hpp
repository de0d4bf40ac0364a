// What a benchmark program shows at its end: one table on stdout and one self-contained HTML page.
// It knows nothing of hosts or devices, so every backend's program uses it.
#pragma once

#include "race.hpp"

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct result {
    std::string group;   // summed up together: "square", "skinny", ...
    std::string family;  // one chart: "sgemm", "batched, in L1", ...
    std::string label;   // within the family: "1024", "4096 x 16 x 4096", ...
    std::string setting; // "1 thread", "2 threads"
    std::string unit = "GFLOP/s";
    std::vector<lane> lanes;
    std::vector<double> roof;
    std::vector<std::string> wrong; // contenders left out, and why

    lane const* library() const;
    lane const* best_peer() const; // by median; null if no peer takes the case
    double ratio() const;          // median of the rounds' ratios to the best peer; 0 if unknown
    double share_of_roof() const;  // likewise to the peak
    double ratio_to(lane const&) const;
};

using facts = std::vector<std::pair<std::string, std::string>>;

void print_table(std::ostream&, std::vector<result> const&);
void write_html(std::ostream&, std::string const& title, facts const&, std::vector<result> const&);

} // namespace bench
