// What the demo measured, as a table to print.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#if __has_include(<unistd.h>)
#    include <unistd.h>
#endif

namespace compare {

// One line of the table. Errors are in ulps of |A||B|, where an ulp is 2u.
struct row {
    std::string policy, ran; // or another library, and its version
    std::string same;        // the policy that runs the same product: its timings stand for this one
    std::string note;        // what to know before comparing the speed
    std::size_t group = 0;   // of table::groups
    double rate = 0, least = 0, most = 0; // GFLOP/s, of the 2 m n k that a product costs without tricks
    double error = 0, expected = 0, worst = 0;
    bool bounded = true; // another library promises nothing
    bool oracle = false; // what the others are measured against
    bool other = false;  // another library
};
// A backend, where it runs, and what the place can do at most (GFLOP/s; 0: not known).
struct group {
    std::string name, where;
    double peak = 0;
};
struct table {
    std::string type;
    std::ptrdiff_t size = 0;
    int fewest = 0, runs = 0; // timings of a policy
    bool exact = false;       // integers do not round
    std::vector<group> groups{};
    std::vector<row> rows{};
    std::vector<std::string> verdicts{}; // the answer, for each backend that has other libraries beside it
    std::vector<std::string> missing{};  // what is not in the table, and why
};

// On stderr: a bar where somebody watches, else a line for each stage.
inline void progress(std::string const& stage, std::string const& what, double done) {
    bool watched = false;
#if __has_include(<unistd.h>)
    watched = isatty(2) != 0;
#endif
    if (!watched) {
        static std::string last;
        if (!stage.empty() && stage != last) std::fprintf(stderr, "%s ...\n", stage.c_str());
        last = stage;
        return;
    }
    int const width = 24, full = static_cast<int>(std::min(done, 1.0) * width);
    std::fprintf(stderr, "\r\033[K%s", stage.empty() ? "" : "[");
    for (int i = 0; i < width && !stage.empty(); ++i) std::fputc(i < full ? '#' : '.', stderr);
    std::fprintf(stderr, "%s%s %.48s", stage.empty() ? "" : "] ", stage.c_str(), what.c_str());
    std::fflush(stderr);
}

// Three digits, and no exponent where one can do without.
inline std::string number(double x) {
    char text[32];
    if (x == 0) return "0";
    if (x >= 1000 && x < 1e6) { // round to three digits
        double const unit = std::pow(10.0, std::floor(std::log10(x)) - 2);
        x = std::round(x / unit) * unit;
    }
    bool const plain = x >= 1e-3 && x < 1e6;
    std::snprintf(text, sizeof text, !plain ? "%.1e" : x >= 99.95 ? "%.0f" : x >= 9.995 ? "%.1f" : "%.2f", x);
    return text;
}
inline std::string percent(double part) {
    return part > 0 ? std::to_string(std::lround(100 * part)) + "%" : "";
}

// How often was timed, in words.
inline std::string timings(table const& t) {
    std::string const most = std::to_string(t.runs);
    if (t.runs == t.fewest) return "medians of " + most + " timings";
    return "medians of " + std::to_string(t.fewest) + " to " + most + " timings";
}

inline void print(row const& r, group const& where) {
    if (r.same.empty()) {
        std::string const range = number(r.least) + " - " + number(r.most);
        std::printf("  %8s %15s %5s", number(r.rate).c_str(), range.c_str(),
                    percent(where.peak > 0 ? r.rate / where.peak : 0).c_str());
    } else {
        std::printf("  %30s", r.same == "native" ? "= native" : "= another policy");
    }
    if (r.oracle)
        std::printf(" %8s %8s %8s", "oracle", "", "");
    else if (r.bounded)
        std::printf(" %8s %8s %8s", number(r.error).c_str(), number(r.expected).c_str(),
                    number(r.worst).c_str());
    else
        std::printf(" %8s %8s %8s", number(r.error).c_str(), "", "");
    std::printf("  %s\n", r.policy.c_str());
    if (r.other) std::printf("%60s %s\n", "", r.ran.c_str());
    if (!r.note.empty()) std::printf("%60s %s\n", "", r.note.c_str());
}

inline void print(table const& t) {
    std::printf("\n%s, %td x %td, %s by turns; error and bounds in %s\n", t.type.c_str(), t.size, t.size,
                timings(t).c_str(), t.exact ? "units" : "ulps of |A||B|");
    for (std::size_t g = 0; g < t.groups.size(); ++g) {
        std::printf("\n%s: %s\n", t.groups[g].name.c_str(), t.groups[g].where.c_str());
        std::printf("  %8s %15s %5s %8s %8s %8s  %s\n", "GFLOP/s", "least - most",
                    t.groups[g].peak > 0 ? "peak" : "", "error", "expected", "at most", "policy");
        for (row const& r : t.rows)
            if (r.group == g) print(r, t.groups[g]);
    }
    if (!t.verdicts.empty()) std::printf("\n");
    for (std::string const& line : t.verdicts) std::printf("%s\n", line.c_str());
    if (!t.missing.empty()) std::printf("\nnot in the table:\n");
    for (std::string const& what : t.missing) std::printf("  %s\n", what.c_str());
    std::fflush(stdout);
}

} // namespace compare
