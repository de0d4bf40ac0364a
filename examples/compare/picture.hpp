// What the demo measured, as pictures, and as a page with the pictures and what ran.
#pragma once

#include "table.hpp"

#include <stdexcept>

namespace compare {

inline std::string escaped(std::string const& words) {
    std::string out;
    for (char c : words)
        out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

// Lines of at most `limit` letters, broken at spaces where there are spaces.
inline std::vector<std::string> wrapped(std::string words, std::size_t limit) {
    std::vector<std::string> lines;
    while (words.size() > limit) {
        std::size_t const space = words.rfind(' ', limit);
        bool const broken = space != words.npos && space > 0;
        lines.push_back(words.substr(0, broken ? space : limit));
        words.erase(0, broken ? space + 1 : limit);
    }
    lines.push_back(std::move(words));
    return lines;
}

// Where things are. The narrow picture is as wide as the screen of a telephone, so that its letters are as large there
// as those of the page; a row has its bars below its name. In the wide one they are beside it.
struct layout {
    double width, left, right;
    double speed_left, speed_right, value, error_left, error_right;
    double speed_down, error_down; // of a row's bars, from the line of its name
    double row_height;
    std::size_t letters, letters_of_policy; // of a note, and of a policy, on one line
    int key_columns;
    char const* style;
};
inline constexpr layout narrow{.width = 420,
                               .left = 12,
                               .right = 408,
                               .speed_left = 12,
                               .speed_right = 408,
                               .value = 408,
                               .error_left = 12,
                               .error_right = 408,
                               .speed_down = 7,
                               .error_down = 27,
                               .row_height = 66,
                               .letters = 50,
                               .letters_of_policy = 41,
                               .key_columns = 1,
                               .style = "max-width:560px"};
inline constexpr layout wide{.width = 1240,
                             .left = 12,
                             .right = 1228,
                             .speed_left = 490,
                             .speed_right = 790,
                             .value = 866,
                             .error_left = 896,
                             .error_right = 1228,
                             .speed_down = -11,
                             .error_down = -8,
                             .row_height = 34,
                             .letters = 140,
                             .letters_of_policy = 54,
                             .key_columns = 2,
                             .style = "max-width:1240px"};

// An SVG.
class drawing {
public:
    void box(double x, double y, double width, double height, char const* color, double round = 0) {
        add("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='%.1f' fill='%s'/>\n", x, y,
            std::max(width, 0.0), height, round, color);
    }
    // `style` is a list of attributes; `hint` is shown when the pointer rests on the text.
    void text(double x, double y, std::string const& words, char const* style, std::string const& hint = "") {
        add("<text x='%.1f' y='%.1f' %s>", x, y, style);
        text_ += escaped(words);
        if (!hint.empty()) text_ += "<title>" + escaped(hint) + "</title>";
        text_ += "</text>\n";
    }
    std::string finished(layout const& at, double height) const {
        char head[400];
        std::snprintf(head, sizeof head,
                      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' style='%s' "
                      "font-family='system-ui, -apple-system, \"Segoe UI\", \"DejaVu Sans\", sans-serif'>\n"
                      "<rect width='%.0f' height='%.0f' fill='#ffffff'/>\n",
                      at.width, height, at.style, at.width, height);
        return head + text_ + "</svg>\n";
    }

private:
    template <class... Values>
    void add(char const* format, Values... values) {
        char one[300];
        std::snprintf(one, sizeof one, format, values...);
        text_ += one;
    }
    std::string text_;
};

namespace look {
inline constexpr char const
    *title = "font-size='22' font-weight='600' fill='#18212b'",
    *heading = "font-size='19' font-weight='600' fill='#18212b'",
    *backend = "font-size='16' font-weight='600' fill='#18212b'",
    *policy = "font-size='14' fill='#18212b' font-family='ui-monospace, Menlo, \"DejaVu Sans "
              "Mono\", monospace'",
    *note = "font-size='14' fill='#5c6873'",
    *value = "font-size='15' font-weight='600' fill='#18212b' text-anchor='end'",
    *axis = "font-size='14' fill='#5c6873' text-anchor='middle'";
inline constexpr char const *speed = "#2f6db3", *oracle = "#a9b4bf", *other = "#6b8f71", *range = "#18212b",
                            *error = "#d9822b", *room = "#f8e7d3", *expected = "#7a4a12", *beyond = "#c0262d",
                            *track = "#f0f3f5", *rule = "#c9d0d7";
} // namespace look

// The axes of a type: GFLOP/s, linear, and errors, logarithmic: whole decades around everything that is drawn.
struct axes {
    layout at;
    double fastest = 0;
    int low = 0, high = 1;

    axes(layout const& where, table const& t) : at(where) {
        double least = 1, most = 10;
        for (row const& r : t.rows) {
            fastest = std::max(fastest, r.most);
            for (double x : {r.error, r.expected, r.worst})
                if (std::isfinite(x) && x > 0) least = std::min(least, x), most = std::max(most, x);
        }
        for (group const& g : t.groups) fastest = std::max(fastest, g.peak);
        low = std::max(-6, static_cast<int>(std::floor(std::log10(least / 1.5))));
        high = std::min(30, static_cast<int>(std::ceil(std::log10(most))));
    }
    double speed(double rate) const {
        return at.speed_left + (at.speed_right - at.speed_left) * rate / fastest;
    }
    double error(double x) const {
        double const share = (std::log10(std::max(x, 1e-6)) - low) / (high - low);
        return at.error_left + (at.error_right - at.error_left) * std::clamp(share, 0.0, 1.0);
    }
};

// What each kind of bar is. Returns where it ends.
inline double draw_key(drawing& d, layout const& at, double y) {
    int keys = 0;
    int const per_column = (7 + at.key_columns - 1) / at.key_columns;
    auto const line = [&](auto const& sign, char const* words) {
        double const x = at.left + (at.right - at.left) / at.key_columns * (keys / per_column),
                     down = y + 24 * (keys % per_column);
        sign(x, down);
        d.text(x + 42, down + 5, words, look::note);
        ++keys;
    };
    auto const bar = [&](char const* color, double up = 8, double height = 14) {
        return [&d, color, up, height](double x, double down) { d.box(x, down - up, 32, height, color, 2); };
    };
    line(bar(look::speed), "speed in GFLOP/s, median, with least and most");
    line(bar(look::other), "the same of another library");
    line(bar(look::oracle), "the same of the oracle, which errors refer to");
    line([&](double x, double down) { d.box(x + 15, down - 10, 2, 18, look::beyond); },
         "as fast as arithmetic is here");
    line(bar(look::error, 5, 8), "measured error in ulps of |A||B|, log. scale");
    line([&](double x, double down) { d.box(x + 15, down - 8, 3, 14, look::expected); },
         "error expected of random data");
    line(bar(look::room, 5, 8), "up to the bound that no data exceeds");
    return y + 24 * per_column;
}

inline void draw_speed(drawing& d, axes const& axis, row const& r, group const& where, double y) {
    layout const& at = axis.at;
    d.box(at.speed_left, y, at.speed_right - at.speed_left, 14, look::track, 2);
    d.box(at.speed_left, y, std::max(axis.speed(r.rate) - at.speed_left, 2.0), 14,
          r.oracle  ? look::oracle
          : r.other ? look::other
                    : look::speed,
          2);
    d.box(axis.speed(r.least), y + 6, axis.speed(r.most) - axis.speed(r.least), 2, look::range);
    if (where.peak > 0 && !r.oracle) d.box(axis.speed(where.peak) - 2, y - 2, 2, 18, look::beyond);
}

inline void draw_error(drawing& d, axes const& axis, row const& r, double y) {
    double const left = axis.at.error_left;
    bool const within = !r.bounded || r.error <= r.worst;
    if (r.bounded) d.box(left, y, axis.error(r.worst) - left, 8, look::room, 2);
    d.box(left, y, std::max(axis.error(r.error) - left, 2.0), 8, within ? look::error : look::beyond,
          2); // 0 shows, too
    if (r.bounded) d.box(axis.error(r.expected) - 1.5, y - 3, 3, 14, look::expected);
}

// Returns where it ends.
inline double draw_row(drawing& d, table const& t, row const& r, axes const& axis, double y) {
    layout const& at = axis.at;
    // A name that would meet the number has a second line.
    std::size_t const cut =
        r.policy.size() > at.letters_of_policy ? r.policy.rfind("{sg::") : std::string::npos;
    bool const native = r.same == "native";
    d.text(at.left, y, r.policy.substr(0, cut), look::policy, r.ran);
    d.text(at.value, y, native ? "= native" : r.same.empty() ? number(r.rate) : "the same", look::value);
    if (cut != std::string::npos) y += 18, d.text(at.left + 16, y, r.policy.substr(cut), look::policy, r.ran);
    if (r.same.empty()) draw_speed(d, axis, r, t.groups[r.group], y + at.speed_down);
    double const up = r.same.empty() || at.key_columns > 1 ? 0 : 18; // the bar of the speed is not there
    if (!r.oracle && !t.exact) draw_error(d, axis, r, y + at.error_down - up);
    std::string note = r.other ? r.ran : r.note;
    if (r.oracle) note = "the oracle: what the others' errors refer to";
    if (r.bounded && !(r.error <= r.worst)) note = "the error is beyond its bound";
    double end = y + at.row_height - up;
    if (note.empty()) return end;
    bool const roomy = r.oracle && at.key_columns == 1; // where the bar of its error would be
    if (roomy) end -= 20;
    for (std::string const& line : wrapped(note, at.letters))
        d.text(at.left, end - 14, line, look::note), end += 20;
    return end;
}

// One type: its backends, and the policies of each. Returns where it ends.
inline double draw_panel(drawing& d, layout const& at, table const& t, double y) {
    axes const axis(at, t);
    d.text(at.left, y, t.type, look::heading);
    d.box(at.left, y + 10, at.right - at.left, 1, look::rule);
    y += 36;
    d.text(at.left, y, timings(t) + (t.exact ? "; integers do not round" : ""), look::note);
    y += 26;
    for (std::string const& verdict : t.verdicts)
        for (std::string const& line : wrapped(verdict, at.letters))
            d.text(at.left, y, line, look::note), y += 20;
    if (!t.verdicts.empty()) y += 14;
    for (std::size_t g = 0; g < t.groups.size(); ++g) {
        std::string const& where = t.groups[g].where;
        d.text(at.left, y, t.groups[g].name, look::backend, where);
        y += 22;
        for (std::string const& line : wrapped(where, at.letters))
            d.text(at.left, y, line, look::note), y += 20;
        y += 12;
        for (row const& r : t.rows)
            if (r.group == g) y = draw_row(d, t, r, axis, y);
        y += 12;
    }
    for (int e = axis.low; e <= axis.high && !t.exact; ++e)
        if ((e - axis.low) % ((axis.high - axis.low) / 7 + 1) == 0) {
            char const* const near[] = {"0.001", "0.01", "0.1", "1", "10", "100", "1000"};
            double const x =
                std::clamp(axis.error(std::pow(10.0, e)), at.error_left + 12, at.error_right - 16);
            d.text(x, y - 8, e >= -3 && e <= 3 ? near[e + 3] : "1e" + std::to_string(e), look::axis);
        }
    if (!t.exact) d.text(at.error_left, y + 14, "scale of the errors, in ulps of |A||B|", look::note);
    return y + 72;
}

inline std::string draw(std::vector<table> const& tables, layout const& at) {
    drawing d;
    std::string const n = std::to_string(tables[0].size);
    d.text(at.left, 44, "One product, every policy", look::title);
    d.text(at.left, 70, "stratagemm: C = A B, " + n + " \u00d7 " + n, look::note);
    double y = draw_key(d, at, 102) + 30;
    for (table const& t : tables) y = draw_panel(d, at, t, y);
    return d.finished(at, y - 36);
}

// The pictures, of which the browser shows the one that fits, what ran, and what is missing.
inline std::string page(std::vector<table> const& tables) {
    std::string out =
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        "content='width=device-width, initial-scale=1'><title>stratagemm: every policy</title><style>"
        "body{margin:0 auto;max-width:1240px;padding:8px;font:16px/1.45 system-ui,sans-serif;color:#18212b}"
        "svg{display:block;width:100%;height:auto}h2{font-size:20px}"
        "dt{font-family:ui-monospace,monospace;font-size:14px;margin-top:12px}"
        "dt,dd,li{overflow-wrap:anywhere}dd{margin:0;color:#5c6873}"
        ".wide{display:none}@media(min-width:1200px){.wide{display:block}.narrow{display:none}}</style>\n"
        "<div class=wide>" +
        draw(tables, wide) + "</div><div class=narrow>" + draw(tables, narrow) + "</div>\n";
    for (table const& t : tables) {
        out += "<h2>" + escaped(t.type) + ": what ran</h2>\n<dl>\n";
        for (row const& r : t.rows) {
            std::string errors = ". Error " + number(r.error);
            if (r.bounded) errors += ", expected " + number(r.expected) + ", at most " + number(r.worst);
            if (!t.exact) errors += " ulps";
            std::string const speed = r.same == "native" ? "the native product"
                                      : r.same.empty()   ? number(r.rate) + " GFLOP/s, from " +
                                                             number(r.least) + " to " + number(r.most)
                                                       : r.note;
            out += "<dt>" + escaped(r.policy) + "</dt><dd>" + escaped(speed + ": " + r.ran) +
                   (r.oracle ? "" : errors) + "</dd>\n";
        }
        out += "</dl>\n";
        if (!t.missing.empty()) out += "<p>Not measured:</p>\n<ul>\n";
        for (std::string const& what : t.missing) out += "<li>" + escaped(what) + "</li>\n";
        if (!t.missing.empty()) out += "</ul>\n";
    }
    return out + "</html>\n";
}

inline void write(std::string const& path, std::string const& text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    bool const whole = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if ((file && std::fclose(file) != 0) || !whole) throw std::runtime_error("cannot write " + path);
}

} // namespace compare
