#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <ostream>
#include <sstream>

namespace bench {

std::string fixed(double x, int digits) {
    std::ostringstream s;
    s << std::fixed << std::setprecision(digits) << x;
    return s.str();
}

std::string rate(double x) { return fixed(x, x < 100 ? 1 : 0); }

std::string escape(std::string const& s) {
    std::string r;
    for (char c : s) c == '<' ? r += "&lt;" : c == '&' ? r += "&amp;" : c == '"' ? r += "&quot;" : r += c;
    return r;
}

namespace {

double median_ratio(std::vector<double> const& a, std::vector<double> const& b) {
    std::vector<double> r;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        if (b[i] > 0) r.push_back(a[i] / b[i]);
    return median(r);
}

struct summary {
    std::string group;
    int cases = 0, won = 0;
    double mean = 0; // geometric
    result const* worst = nullptr;
};

summary sum_up(std::string const& group, std::vector<result> const& all) {
    summary s{group};
    double logs = 0;
    for (result const& r : all) {
        if (!(r.group == group || group.empty()) || r.ratio() <= 0) continue;
        ++s.cases, s.won += r.ratio() >= 1, logs += std::log(r.ratio());
        if (!s.worst || r.ratio() < s.worst->ratio()) s.worst = &r;
    }
    if (s.cases) s.mean = std::exp(logs / s.cases);
    return s;
}

std::vector<summary> summaries(std::vector<result> const& all) {
    std::vector<summary> list;
    for (auto const& g : distinct(all, [](result const& r) { return r.group; }))
        list.push_back(sum_up(g, all));
    list.push_back(sum_up("", all));
    list.back().group = "all";
    std::erase_if(list, [](summary const& s) { return !s.cases; });
    return list;
}

std::string full_name(result const& r) { return r.family + " " + r.label; }

} // namespace

lane const* result::library() const {
    for (lane const& l : lanes)
        if (l.part == role::library) return &l;
    return nullptr;
}

lane const* result::best_peer() const {
    lane const* best = nullptr;
    for (lane const& l : lanes)
        if (l.part == role::peer && (!best || median(l.rates) > median(best->rates))) best = &l;
    return best;
}

double result::ratio_to(lane const& other) const {
    return library() ? median_ratio(library()->rates, other.rates) : 0;
}
double result::ratio() const { return best_peer() ? ratio_to(*best_peer()) : 0; }
double result::share_of_roof() const { return library() ? median_ratio(library()->rates, roof) : 0; }

void print_table(std::ostream& out, std::vector<result> const& all) {
    auto const row = [&](auto const& name, auto const& setting, auto const& ours, auto const& share,
                         auto const& peer, auto const& theirs, auto const& ratio) {
        out << std::left << std::setw(34) << name << std::setw(11) << setting << std::right << std::setw(9)
            << ours << std::setw(8) << share << "  " << std::left << std::setw(14) << peer << std::right
            << std::setw(9) << theirs << std::setw(8) << ratio;
    };
    bool const tera = !all.empty() && all[0].unit[0] == 'T';
    out << "\n"
        << (tera ? "TFLOP/s (Top/s for integers)" : "GFLOP/s (Gop/s for integers)")
        << ": medians; the ratio is the median over rounds to the best peer of the case\n\n";
    row("case", "", "ours", "of peak", "best peer", "", "ratio");
    bool const device = !all.empty() && all[0].setting.empty();
    out << (device ? "         us  host us    TB/s  kernel\n" : "\n");
    std::string group;
    for (result const& r : all) {
        if (r.group != group) out << "-- " << (group = r.group) << "\n";
        lane const *ours = r.library(), *peer = r.best_peer();
        row(full_name(r), r.setting, ours ? rate(median(ours->rates)) : "-",
            ours && median(r.roof) > 0 ? fixed(100 * r.share_of_roof(), 0) + "%" : "-",
            peer ? peer->name : "-", peer ? rate(median(peer->rates)) : "-",
            r.ratio() > 0 ? fixed(r.ratio(), 2) : "-");
        if (ours && device) {
            double const seconds = r.work / median(ours->rates);
            out << std::setw(11) << fixed(seconds * 1e6, 1) << std::setw(9)
                << (ours->queued < 0 ? "-" : fixed(ours->queued * 1e6, 1)) << std::setw(8)
                << fixed(r.bytes * 1e-12 / seconds, 2) << "  " << ours->ran;
        }
        out << "\n";
        if (std::count_if(r.lanes.begin(), r.lanes.end(), [](lane const& l) { return l.workspace >= 0; }) > 1)
            for (lane const& l : r.lanes)
                if (l.workspace >= 0)
                    out << "   workspace of " << l.name << ": " << fixed(double(l.workspace) / (1 << 20), 2)
                        << " MiB\n";
        for (lane const& l : r.lanes)
            if (device && l.part == role::peer && &l != peer)
                out << "   " << l.name << ": " << rate(median(l.rates)) << ", ratio "
                    << fixed(r.ratio_to(l), 2) << "\n";
        for (auto const& w : r.left_out) out << "   left out: " << w << "\n";
    }
    out << "\n"
        << std::left << std::setw(24) << "ratio to the best peer" << std::right << std::setw(7) << "cases"
        << std::setw(10) << "geo. mean" << std::setw(7) << "worst\n";
    for (summary const& s : summaries(all))
        out << std::left << std::setw(24) << s.group << std::right << std::setw(7) << s.cases << std::setw(10)
            << fixed(s.mean, 2) << std::setw(7) << fixed(s.worst->ratio(), 2) << "  " << full_name(*s.worst)
            << (s.worst->setting.empty() ? "" : ", ") << s.worst->setting << "\n";
    out << std::flush;
}

void print_errors(std::ostream& out, result const& r) {
    static double best_pace = 0; // seen so far
    for (double const x : r.pace) best_pace = std::max(best_pace, x);
    std::vector<std::size_t> fast, slow;
    for (std::size_t i = 0; i < r.pace.size(); ++i) (r.pace[i] >= 0.6 * best_pace ? fast : slow).push_back(i);
    auto const [least, most] = std::minmax_element(r.pace.begin(), r.pace.end());
    out << "\n" << r.family << ", " << r.label;
    if (!r.setting.empty()) out << ", " << r.setting;
    if (best_pace > 0 && !r.pace.empty()) // a device has no such unit
        out << "; tile unit " << fixed(*least, 0) << " to " << fixed(*most, 0) << " Gop/s a thread, fast in "
            << fast.size() << " rounds of " << r.pace.size();
    out << "\n";
    auto const row = [&](auto const& name, auto const& ours, auto const& native, auto const& peer,
                         auto const& error, auto const& rest) {
        out << "  " << std::left << std::setw(24) << name << std::right;
        for (auto const& x : {std::string(ours), std::string(native), std::string(peer), std::string(error)})
            out << " " << std::setw(9) << x;
        out << rest << "\n";
    };
    row("", r.unit, "/ native", "/ peer", "error", "     bound  what ran");
    auto const brief = [](double x) {
        std::ostringstream s;
        s << std::scientific << std::setprecision(1) << x;
        return s.str();
    };
    lane const *native = r.library(), *peer = r.best_peer();
    for (auto const* rounds : {&fast, &slow}) {
        auto const pick = [&](lane const& l) {
            std::vector<double> x;
            for (std::size_t i : *rounds) x.push_back(l.rates[i]);
            return x;
        };
        auto const ratio = [&](lane const& l, lane const* to) {
            return to ? fixed(median_ratio(pick(l), pick(*to)), 2) : std::string("-");
        };
        if (rounds == &slow && !slow.empty()) out << "  while the tile unit was slow\n";
        for (lane const& l : r.lanes)
            if (!rounds->empty())
                row(l.name, fixed(median(pick(l)), 1), ratio(l, native), ratio(l, peer), brief(l.error),
                    l.bound.worst >= 0
                        ? "   " + brief(l.bound.worst) + (l.bound.normwise ? "* " : "  ") + l.ran
                    : &l == peer ? std::string("             best peer")
                                 : std::string());
    }
    for (auto const& w : r.left_out) out << (&w == &r.left_out[0] ? "  left out: " : "; ") << w;
    out << (r.left_out.empty() ? "" : "\n");
    out << std::flush;
}

// ---- HTML ------------------------------------------------------------------------------------------------

// The page. Colours are CSS classes: c0 is ours, the others follow in order of first appearance.

namespace {

char const* const style = R"(
:root{--bg:#fbfbfa;--card:#fff;--ink:#1c2024;--soft:#6b7280;--line:#e5e7eb;--good:#0f8a5f;--bad:#c2410c;
--c0:#e4572e;--c1:#3b6ea8;--c2:#4fa3a5;--c3:#8a6fb3;--c4:#c39b3f;--c5:#7a8f4e;--c6:#a8adb5;--c7:#c9a0b4;--c8:#9fb3c8}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--card:#1c2024;--ink:#e8eaed;--soft:#9aa1ab;--line:#333a42;--good:#4cc38a;
--bad:#f0884d;--c0:#ff7a52;--c1:#6fa3de;--c2:#6cc5c7;--c3:#b39ddb;--c4:#dfbc63;--c5:#a3ba70;--c6:#7c838d;--c7:#d6a9c0;--c8:#8fa6bf}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:40px 24px 80px}h1{font-size:30px;margin:0 0 4px;letter-spacing:-.02em}
h2{font-size:19px;margin:44px 0 12px}p{color:var(--soft);margin:0 0 16px;max-width:75ch}
.row{display:grid;gap:14px;grid-template-columns:repeat(auto-fill,minmax(200px,1fr))}
.wide{display:grid;gap:14px;grid-template-columns:repeat(auto-fill,minmax(min(500px,100%),1fr))}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.card h3{margin:0 0 6px;font-size:14px;font-weight:600}.big{font-size:30px;font-weight:650;letter-spacing:-.02em;line-height:1.2}
.small{font-size:12.5px;color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
.keys{display:flex;flex-wrap:wrap;gap:6px 18px;font-size:13px;margin:0 0 14px}.keys i{display:inline-block;width:11px;height:11px;
border-radius:3px;margin-right:6px}table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}td,th{padding:4px 7px;text-align:right;border-bottom:1px solid var(--line)}td{white-space:nowrap}th{font-weight:600;
color:var(--soft);vertical-align:bottom}
td:first-child,th:first-child,td.l,th.l{text-align:left}td.us{font-weight:650}dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;
margin:0;font-size:13.5px}dt{color:var(--soft)}dd{margin:0}svg{display:block;width:100%;height:auto}svg text{fill:var(--ink);font-size:12px;
font-family:system-ui,sans-serif;paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}
svg .s{fill:var(--soft)}.grid{stroke:var(--line);stroke-width:1}.roof{stroke:var(--ink);stroke-width:1.3;stroke-dasharray:4 3;fill:none;opacity:.6}
.broad{min-width:1000px}
@media(max-width:600px){main{padding:24px 8px 60px}.card{padding:10px 8px}svg text{font-size:16px}.broad text{font-size:12px}
.scatter text{font-size:24px}}
)";

class page {
public:
    page(std::ostream& out, std::vector<result> const& all) : out_(out), all_(all) {
        for (role part : {role::library, role::peer, role::information})
            for (result const& r : all)
                for (lane const& l : r.lanes)
                    if (l.part == part && !colours_.count(l.name)) {
                        int const next = int(colours_.size()) + (part == role::library ? 0 : !has_library());
                        colours_[l.name] = std::min(next, 8);
                        order_.push_back(l.name);
                    }
    }

    void write() {
        out_ << "<p>Every library on the same operands, interleaved in one "
             << "process; medians over rounds. A ratio is taken within each round against the best peer of "
                "the case; "
             << "above 1 is faster. The dashed line is the peak, measured in the same rounds: multiply-adds "
                "from "
             << "registers or tiles, or reading from memory where that is the limit.</p>";
        cards();
        keys();
        for (auto const& f : distinct(all_, [](result const& r) { return r.family; })) family(f);
        ratios();
        table();
    }

private:
    bool has_library() const {
        return std::any_of(all_.begin(), all_.end(), [](result const& r) { return r.library() != nullptr; });
    }
    int colour(std::string const& name) const { return colours_.at(name); }

    void cards() {
        out_ << "<div class=row>";
        for (summary const& s : summaries(all_))
            out_ << "<div class=card><h3>" << escape(s.group) << "</h3><div class='big "
                 << (s.mean >= 1 ? "good" : "bad") << "'>" << fixed(s.mean, 2)
                 << "&times;</div><div class=small>geometric mean of " << s.cases << " cases, " << s.won
                 << " won<br>worst " << fixed(s.worst->ratio(), 2)
                 << "&times;: " << escape(full_name(*s.worst)) << ", " << escape(s.worst->setting)
                 << "</div></div>";
        out_ << "</div><h2>Rates</h2>";
    }

    void keys() {
        out_ << "<div class=keys>";
        for (auto const& name : order_)
            out_ << "<span><i class=c" << colour(name) << "></i>" << escape(name) << "</span>";
        out_ << "<span><svg style='display:inline;width:22px;height:8px;margin-right:6px'><path class=roof "
                "d='M0 "
                "4H22'/></svg>peak</span></div>";
    }

    // A card for each setting: lines over many sizes, bars for a few cases.
    void family(std::string const& name) {
        out_ << "<div class=wide style='margin-bottom:14px'>";
        for (auto const& setting : distinct(all_, [](result const& r) { return r.setting; })) {
            std::vector<result const*> cases;
            for (result const& r : all_)
                if (r.family == name && r.setting == setting) cases.push_back(&r);
            if (cases.empty()) continue;
            out_ << "<div class=card><h3>" << escape(name) << " <span class=small>" << escape(setting) << ", "
                 << escape(cases[0]->unit) << "</span></h3>";
            if (cases.size() >= 5)
                lines(cases);
            else
                bars(cases);
            out_ << "</div>";
        }
        out_ << "</div>";
    }

    static double highest(std::vector<result const*> const& cases) {
        double top = 0;
        for (auto const* r : cases) {
            top = std::max(top, median(r->roof));
            for (lane const& l : r->lanes) top = std::max(top, median(l.rates));
        }
        return top > 0 ? top : 1;
    }

    static double tick_for(double top) {
        double const step = std::pow(10, std::floor(std::log10(top / 3)));
        for (double s : {1, 2, 5, 10})
            if (top / (s * step) <= 5) return s * step;
        return 10 * step;
    }

    void lines(std::vector<result const*> const& cases) {
        double const width = 500, height = 250, left = 40, bottom = 222, top_y = 10,
                     top = highest(cases) * 1.04;
        auto const x = [&](std::size_t i) {
            return left + 22 + (width - left - 44) * double(i) / double(cases.size() - 1);
        };
        auto const y = [&](double v) { return bottom - (bottom - top_y) * v / top; };
        out_ << "<svg viewBox='0 0 " << width << " " << height << "'>";
        for (double v = 0; v <= top; v += tick_for(top))
            out_ << "<path class=grid d='M" << left << " " << y(v) << "H" << width
                 << "'/><text class=s text-anchor=end x=" << left - 6 << " y=" << y(v) + 4 << ">" << v
                 << "</text>";
        std::string roof;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            roof += (i ? "L" : "M") + fixed(x(i), 1) + " " + fixed(y(median(cases[i]->roof)), 1);
            out_ << "<text class=s text-anchor=middle x=" << x(i) << " y=" << bottom + 17 << ">"
                 << escape(cases[i]->label) << "</text>";
        }
        out_ << "<path class=roof d='" << roof << "'/>";
        for (auto name = order_.rbegin(); name != order_.rend(); ++name)
            line(*name, cases, x, y); // ours last, on top
        out_ << "</svg>";
    }

    template <class X, class Y>
    void line(std::string const& name, std::vector<result const*> const& cases, X const& x, Y const& y) {
        std::string path, dots;
        bool pen_down = false;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            lane const* found = nullptr;
            for (lane const& l : cases[i]->lanes)
                if (l.name == name) found = &l;
            if (!found) {
                pen_down = false;
                continue;
            }
            std::string const px = fixed(x(i), 1), py = fixed(y(median(found->rates)), 1);
            path += (pen_down ? "L" : "M") + px + " " + py;
            pen_down = true;
            dots += "<circle class=c" + std::to_string(colour(name)) + " cx=" + px + " cy=" + py +
                    " r=" + (colour(name) ? "2.4" : "3.4") + "><title>" + escape(name) + ", " +
                    escape(cases[i]->label) + ": " + rate(median(found->rates)) + "</title></circle>";
        }
        if (!path.empty()) out_ << "<path class=l" << colour(name) << " d='" << path << "'/>" << dots;
    }

    void bars(std::vector<result const*> const& cases) {
        double const width = 500, left = 144, right = 452, bar = 17;
        double height = 0;
        for (auto const* r : cases) height += 26 + bar * double(r->lanes.size());
        out_ << "<svg viewBox='0 0 " << width << " " << height << "'>";
        double y = 0;
        for (auto const* r : cases) {
            double const top = highest({r}), roof = median(r->roof);
            auto const x = [&](double v) { return (right - left) * v / top; };
            out_ << "<text x=0 y=" << y + 13 << " font-weight=600>" << escape(r->label) << "</text>";
            if (roof > 0)
                out_ << "<text class=s text-anchor=end x=" << left + x(roof) << " y=" << y + 13 << ">peak "
                     << rate(roof) << "</text>";
            y += 18;
            if (roof > 0)
                out_ << "<path class=roof d='M" << fixed(left + x(roof), 1) << " " << y << "v"
                     << bar * double(r->lanes.size()) << "'/>";
            for (lane const& l : r->lanes) {
                double const v = median(l.rates);
                out_ << "<text class=s text-anchor=end x=" << left - 8 << " y=" << y + 11 << ">"
                     << escape(l.name) << "</text><rect class=c" << colour(l.name) << " x=" << left
                     << " y=" << y + 2 << " width=" << fixed(std::max(x(v), 1.0), 1) << " height=" << bar - 4
                     << " rx=2></rect><text x=" << fixed(left + x(v) + 5, 1) << " y=" << y + 11 << ">"
                     << rate(v) << "</text>";
                y += bar;
            }
            y += 8;
        }
        out_ << "</svg>";
    }

    // All ratios on one logarithmic axis.
    void ratios() {
        std::vector<result const*> cases;
        for (result const& r : all_)
            if (r.ratio() > 0) cases.push_back(&r);
        if (cases.empty()) return;
        double const width = 1060, left = 270, line_height = 17;
        double low = 0.8, high = 1.25;
        for (auto const* r : cases) low = std::min(low, r->ratio()), high = std::max(high, r->ratio());
        double const height = line_height * double(cases.size()) + 26;
        auto const x = [&](double v) {
            return left + (width - left - 190) * std::log(v / low) / std::log(high / low);
        };
        out_ << "<h2>Ratio to the best peer</h2><p>A bar reaches from 1&times; to the ratio, on a "
                "logarithmic axis.</p>"
                "<div class='card scroll'><svg class=broad viewBox='0 0 "
             << width << " " << height << "'>";
        double last = -100; // a tick that is too near to another is left out, but for 1
        for (double v : {0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0})
            if (v >= low && v <= high && (v == 1 || (x(v) - last > 44 && (v > 1 || x(1) - x(v) > 44)))) {
                last = x(v);
                out_ << "<path class=" << (v == 1 ? "roof" : "grid") << " d='M" << x(v) << " 18V" << height
                     << "'/><text class=s text-anchor=middle x=" << x(v) << " y=12>" << v << "&times;</text>";
            }
        double y = 20;
        for (auto const* r : cases) {
            double const from = std::min(x(1), x(r->ratio())), to = std::max(x(1), x(r->ratio()));
            char const* const colour = r->ratio() >= 1 ? "var(--good)" : "var(--bad)";
            out_ << "<text x=0 y=" << y + 12 << ">" << escape(full_name(*r))
                 << "</text><text class=s text-anchor=end x=" << left - 14 << " y=" << y + 12 << ">"
                 << escape(r->setting) << "</text><rect style='fill:" << colour
                 << ";opacity:.35' x=" << fixed(from, 1) << " y=" << y + 6 << " width=" << fixed(to - from, 1)
                 << " height=5></rect><circle style='fill:" << colour << "' cx=" << fixed(x(r->ratio()), 1)
                 << " cy=" << y + 8.5 << " r=4></circle><text x=" << width - 180 << " y=" << y + 12 << ">"
                 << fixed(r->ratio(), 2) << "&times;</text><text class=s x=" << width - 130 << " y=" << y + 12
                 << ">" << escape(r->best_peer()->name) << "</text>";
            y += line_height;
        }
        out_ << "</svg></div>";
    }

    void table() {
        out_ << "<h2>All medians</h2><div class='card scroll'><table><tr><th>case<th class=l>setting";
        for (auto const& name : order_) out_ << "<th>" << escape(name);
        out_ << "<th>peak<th>of peak<th>ratio</tr>";
        for (result const& r : all_) {
            out_ << "<tr><td>" << escape(full_name(r)) << "<td class=l>" << escape(r.setting);
            for (auto const& name : order_) {
                auto const l = std::find_if(r.lanes.begin(), r.lanes.end(),
                                            [&](lane const& x) { return x.name == name; });
                out_ << (colour(name) ? "<td>" : "<td class=us>");
                if (l != r.lanes.end()) out_ << rate(median(l->rates));
            }
            double const roof = median(r.roof), share = r.share_of_roof(), ratio = r.ratio();
            out_ << "<td>" << (roof > 0 ? rate(roof) : "") << "<td>"
                 << (share > 0 ? fixed(100 * share, 0) + "%" : "")
                 << "<td class=" << (ratio >= 1 ? "good" : "bad") << ">" << (ratio > 0 ? fixed(ratio, 2) : "")
                 << "</tr>";
        }
        out_ << "</table></div>";
        for (result const& r : all_)
            for (auto const& w : r.left_out)
                out_ << "<p class=bad>Left out of " << escape(full_name(r)) << ", " << escape(r.setting)
                     << ": " << escape(w) << "</p>";
    }

    std::ostream& out_;
    std::vector<result> const& all_;
    std::map<std::string, int> colours_;
    std::vector<std::string> order_;
};

} // namespace

void write_page(std::ostream& out, std::string const& title, facts const& about, std::string const& body) {
    out << "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
           "content='width=device-width'>"
        << "<title>" << escape(title) << "</title><style>" << style;
    for (int i = 0; i <= 8; ++i)
        out << ".c" << i << "{fill:var(--c" << i << ");background:var(--c" << i << ")}.l" << i
            << "{stroke:var(--c" << i << ");fill:none;stroke-width:" << (i ? 1.6 : 2.6)
            << ";stroke-linejoin:round}";
    out << "</style><main><h1>" << escape(title) << "</h1>" << body
        << "<h2>The machine and the peers</h2><div class=card><dl>";
    for (auto const& [key, value] : about) out << "<dt>" << escape(key) << "<dd>" << escape(value);
    out << "</dl></div></main></html>\n";
}

void write_html(std::ostream& out, std::string const& title, facts const& about,
                std::vector<result> const& all) {
    std::ostringstream body;
    page(body, all).write();
    write_page(out, title, about, body.str());
}

} // namespace bench
