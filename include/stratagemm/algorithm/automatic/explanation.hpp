// What automatic says about its choice: a line for each candidate.
#pragma once

#include "options.hpp"

#include <string>
#include <vector>

STRATAGEMM_BEGIN

struct explanation {
    struct candidate {
        std::string name;        // its first words
        std::string description; // all that it says of itself for this shape
        double seconds = 0;      // as predicted, with all threads
        double measured = -1;    // as tune() measured; less than 0 if it did not
        footprint workspace;
        bound error;
        bool taken = false;
        std::string reason; // why it is taken, or why not
    };

    std::string product; // its sides and types
    std::vector<candidate> candidates;

    // The one that is taken; null if there is none.
    candidate const* taken() const {
        for (candidate const& x : candidates)
            if (x.taken) return &x;
        return nullptr;
    }

    // A table. The candidate that is taken is marked.
    std::string text() const {
        bool tuned = false;
        for (candidate const& x : candidates) tuned |= x.measured > 0;
        std::string all =
            product + '\n' +
            line(" ", "predicted", tuned ? "measured" : nullptr, "workspace", "error bound", "policy", "");
        for (candidate const& x : candidates) {
            std::string const error = number(x.error.worst, "%.1e") + (x.error.normwise ? " of norms" : ""),
                              measured = x.measured > 0 ? time(x.measured) : "";
            all += line(x.taken ? ">" : " ", time(x.seconds), tuned ? measured.c_str() : nullptr,
                        bytes(x.workspace.host + x.workspace.pinned + x.workspace.device), error, x.name,
                        x.reason);
        }
        if (candidate const* const x = taken()) all += "> " + x->description + '\n';
        return all;
    }
    template <class Stream>
    requires requires(Stream& out, std::string const& text) { out << text; }
    friend Stream& operator<<(Stream& out, explanation const& x) {
        out << x.text();
        return out;
    }

    // Numbers as a reader takes them in.
    static std::string time(double seconds) {
        return seconds < 1e-3 ? number(seconds * 1e6, "%.3g us")
               : seconds < 1  ? number(seconds * 1e3, "%.3g ms")
                              : number(seconds, "%.3g s");
    }
    static std::string bytes(std::size_t count) {
        auto const x = static_cast<double>(count);
        return x < 0x1p20   ? number(x * 0x1p-10, "%.3g KiB")
               : x < 0x1p30 ? number(x * 0x1p-20, "%.3g MiB")
                            : number(x * 0x1p-30, "%.3g GiB");
    }
    static std::string number(double x, char const* format) {
        char text[40];
        __builtin_snprintf(text, sizeof(text), format, x);
        return text;
    }

private:
    static std::string line(char const* mark, std::string const& seconds, char const* measured,
                            std::string const& workspace, std::string const& error, std::string const& name,
                            std::string const& reason) {
        char text[100], more[100] = "";
        __builtin_snprintf(text, sizeof(text), "%s %10s", mark, seconds.c_str());
        if (measured) __builtin_snprintf(more, sizeof(more), " %10s", measured);
        std::string all = std::string(text) + more;
        __builtin_snprintf(text, sizeof(text), " %10s  %-16s ", workspace.c_str(), error.c_str());
        all += text + name;
        for (std::size_t x = name.size(); x < 18; ++x) all += ' ';
        return all + ' ' + reason + '\n';
    }
};

namespace automatic_parts {

// The first words of a description.
inline std::string name_in(std::string const& description) {
    std::string name = description.substr(0, description.find_first_of(":,;("));
    while (!name.empty() && name.back() == ' ') name.pop_back();
    return name;
}

// What a shape is of, in words.
template <class S>
std::string text_of(S const& s) {
    char text[120];
    __builtin_snprintf(text, sizeof(text), "%td x %td x %td (m, n, k)", s.m, s.n, s.k);
    return (s.count > 1 ? std::to_string(s.count) + " products of " : std::string()) + text + ", " +
           types_of<S>() + " to " + type_name<typename S::c_type>() +
           (s.adds ? ", with an added matrix" : "");
}

// Of what is not taken for its time alone, beside what is taken.
inline std::string text_of_time(double ratio) {
    return ratio < 1.005 ? "no faster" : "takes " + explanation::number(ratio, "%.2f") + " times as long";
}

inline std::string text_of(objection x, limits const& at_most, status const& refusal) {
    using e = explanation;
    switch (x) {
    case objection::refused: return refusal ? "refused" : refusal.error().what();
    case objection::approximate: return "approximate, and not within .tolerance";
    case objection::normwise: return "bounded by norms alone, which takes .normwise = true";
    case objection::inaccurate: return "its error bound is beyond " + e::number(at_most.bound, "%.1e");
    case objection::workspace:
        return "more workspace than " + e::bytes(static_cast<std::size_t>(at_most.workspace));
    default: return "";
    }
}

} // namespace automatic_parts

STRATAGEMM_END
