#include "sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>

namespace bench {

std::vector<std::string> sweep_options(std::vector<std::string> more) {
    more.insert(more.end(), {"sweep", "estimate", "seed", "count", "data"});
    return more;
}
bool asks_for_sweep(options const& o) { return o.has("sweep") || o.has("estimate"); }

// ---- the shapes ------------------------------------------------------------------------------------------

std::vector<bench_case> random_cases(unsigned seed, int count, sweep_domain const& domain) {
    std::mt19937 random(seed);
    auto const uniform = [&] { return double(random()) * 0x1p-32; };
    auto const up_to = [&](long side, long multiple) {
        return std::min((side + multiple - 1) / multiple * multiple, domain.longest);
    };
    auto const side = [&] {
        long const drawn = std::lround(std::pow(double(domain.longest), uniform()));
        return uniform() < 0.5 && drawn > 16 ? up_to(drawn, 8) : drawn;
    };
    std::vector<bench_case> list;
    for (int i = 0; i < count; ++i) {
        long const m = side(), n = side(), k = side();
        bool const turned_a = uniform() < 0.5 && domain.turns_a, turned_b = uniform() < 0.5;
        for (element const type : domain.types) {
            problem p{type, m, n, k, domain.threads[std::size_t(i) % domain.threads.size()]};
            if (type == element::i8)
                for (long* const x : {&p.m, &p.n, &p.k}) *x = up_to(*x, domain.multiple_int8);
            p.a_transposed = turned_a, p.b_transposed = turned_b;
            std::string const label =
                times(p.m, p.n, p.k) + (turned_a ? " T" : " N") + (turned_b ? "T" : "N");
            list.push_back({name_of(type), name_of(type), label, p});
            list.back().rounds = domain.rounds;
        }
    }
    return list;
}

// ---- what is found ---------------------------------------------------------------------------------------

namespace {

double seconds_of(result const& r) { return r.work / median(r.library()->rates); }
double flops_of(result const& r) { return r.work * (r.unit[0] == 'T' ? 1e12 : 1e9); }

// What is looked at: a number of a case, which is 0 where it is not known.
struct question {
    bool of_estimates;

    double answer(result const& r) const {
        if (!r.library()) return 0;
        return of_estimates ? r.library()->predicted / seconds_of(r) : r.ratio();
    }
    // The least is the worst.
    double rank(double answer) const { return of_estimates ? -std::abs(std::log2(answer)) : answer; }
    char const* name() const { return of_estimates ? "predicted / measured" : "ratio to the best peer"; }
};

// The cases of a type and a number of threads.
struct finding {
    std::string name;
    std::vector<result const*> cases; // the worst first
    double mean = 0, tenth = 0;       // geometric mean and tenth percentile of the answers
    double deviation = 0;             // the median of |log2(answer)|
};

std::string name_of(result const& r) { return r.family + (r.setting.empty() ? "" : ", ") + r.setting; }

std::vector<finding> look_at(std::vector<result> const& all, question const& q) {
    std::vector<finding> list;
    for (auto const& family : distinct(all, [](result const& r) { return r.family; }))
        for (auto const& setting : distinct(all, [](result const& r) { return r.setting; })) {
            finding x{family + (setting.empty() ? "" : ", ") + setting, {}};
            for (result const& r : all)
                if (r.family == family && r.setting == setting && q.answer(r) > 0) x.cases.push_back(&r);
            if (!x.cases.empty()) list.push_back(x);
        }
    for (finding& x : list) {
        std::vector<double> answers, deviations;
        double logs = 0;
        for (result const* r : x.cases) {
            answers.push_back(q.answer(*r)), deviations.push_back(std::abs(std::log2(answers.back())));
            logs += std::log(answers.back());
        }
        std::sort(answers.begin(), answers.end());
        std::stable_sort(x.cases.begin(), x.cases.end(), [&](result const* r, result const* s) {
            return q.rank(q.answer(*r)) < q.rank(q.answer(*s));
        });
        x.mean = std::exp(logs / double(answers.size()));
        x.tenth = answers[answers.size() / 10];
        x.deviation = median(deviations);
    }
    return list;
}

std::string microseconds(double seconds) {
    return fixed(seconds * 1e6, seconds < 1e-5 ? 2 : seconds < 1e-4 ? 1 : 0) + " us";
}

std::string about_case(result const& r, question const& q) {
    std::string text = microseconds(seconds_of(r));
    if (q.of_estimates) return text + ", predicted " + microseconds(r.library()->predicted);
    text += ", " + rate(median(r.library()->rates)) + " " + r.unit;
    if (r.best_peer()) text += "; " + r.best_peer()->name + " " + rate(median(r.best_peer()->rates));
    return text;
}

void print_case(std::ostream& out, result const& r, question const& q) {
    out << std::left << std::setw(18) << r.family << std::setw(20) << r.label << std::setw(11) << r.setting;
    double const answer = q.answer(r);
    out << std::right << std::setw(8) << (answer > 0 ? fixed(answer, 2) : "-");
    if (r.library()) out << "   " << about_case(r, q);
    for (auto const& w : r.left_out) out << "; left out: " << w;
    if (!r.library()) out << "; FAILED";
    out << std::endl;
}

constexpr std::size_t shown = 10; // of the worst cases

void print(std::ostream& out, std::vector<finding> const& all, question const& q) {
    out << "\n" << std::left << std::setw(30) << q.name() << std::right << std::setw(6) << "cases";
    if (q.of_estimates) out << std::setw(20) << "median |log2|";
    out << std::setw(12) << "geo. mean" << std::setw(18) << "tenth percentile" << std::setw(8) << "worst\n";
    for (finding const& x : all) {
        out << std::left << std::setw(30) << x.name << std::right << std::setw(6) << x.cases.size();
        if (q.of_estimates) out << std::setw(20) << fixed(x.deviation, 2);
        out << std::setw(12) << fixed(x.mean, 2) << std::setw(18) << fixed(x.tenth, 2) << std::setw(7)
            << fixed(q.answer(*x.cases.front()), 2) << "\n";
    }
    for (finding const& x : all) {
        out << "\nworst of " << x.name << "\n";
        for (std::size_t i = 0; i < std::min(shown, x.cases.size()); ++i) {
            result const& r = *x.cases[i];
            out << std::right << std::setw(8) << fixed(q.answer(r), 2) << "  " << std::left << std::setw(20)
                << r.label << about_case(r, q);
            if (!r.library()->ran.empty()) out << "; " << r.library()->ran;
            out << "\n";
        }
    }
    out << std::flush;
}

// ---- the page --------------------------------------------------------------------------------------------

// Points on two logarithmic axes, with a line at 1.
class scatter {
public:
    scatter(std::ostream& out, std::vector<result> const& all, question const& q) : out_(out), q_(q) {
        for (result const& r : all) {
            double const y = q.answer(r);
            if (y <= 0) continue;
            cases_.push_back(&r);
            if (std::find(types_.begin(), types_.end(), r.family) == types_.end()) types_.push_back(r.family);
            left_ = std::min(left_, std::log10(flops_of(r))),
            right_ = std::max(right_, std::log10(flops_of(r)));
            low_ = std::min(low_, std::log10(y)), high_ = std::max(high_, std::log10(y));
        }
        left_ = std::floor(left_), right_ = std::max(std::ceil(right_), left_ + 1);
        low_ -= 0.05, high_ += 0.05;
    }

    void draw() {
        out_ << "<div class=keys>";
        for (std::size_t i = 0; i < types_.size(); ++i)
            out_ << "<span><i class=c" << i << "></i>" << escape(types_[i]) << "</span>";
        out_ << "</div><div class=card><svg class=scatter viewBox='0 0 " << width << " " << height << "'>";
        draw_axes();
        for (result const* r : cases_) {
            auto const type = std::find(types_.begin(), types_.end(), r->family) - types_.begin();
            out_ << "<circle class=c" << type
                 << " fill-opacity=.75 cx=" << fixed(x(std::log10(flops_of(*r))), 1)
                 << " cy=" << fixed(y(q_.answer(*r)), 1) << " r=4.2><title>" << escape(name_of(*r)) << ", "
                 << escape(r->label) << ": " << fixed(q_.answer(*r), 2) << "; " << escape(about_case(*r, q_))
                 << "</title></circle>";
        }
        out_ << "</svg></div>";
    }

private:
    static constexpr double width = 760, height = 440, margin = 62, bottom = 380;

    double x(double exponent) const {
        return margin + (width - margin - 12) * (exponent - left_) / (right_ - left_);
    }
    double y(double value) const {
        return bottom - (bottom - 12) * (std::log10(value) - low_) / (high_ - low_);
    }

    void draw_axes() {
        for (double e = left_; e <= right_; ++e) {
            out_ << "<path class=grid d='M" << fixed(x(e), 1) << " 12V" << bottom << "'/>";
            if (int(e) % 3 == 0 || right_ - left_ < 4)
                out_ << "<text class=s text-anchor=" << (e < right_ ? "middle" : "end")
                     << " x=" << fixed(x(e), 1) << " y=" << bottom + 24 << ">"
                     << (int(e) % 3 == 1   ? "10"
                         : int(e) % 3 == 2 ? "100"
                                           : "1")
                     << std::string(1, " kMGTP"[std::clamp(int(e) / 3, 0, 5)]) << "</text>";
        }
        out_ << "<text class=s text-anchor=middle x=" << (width + margin) / 2 << " y=" << height - 8
             << ">work, 2 m n k</text>";
        for (double e = std::floor(low_); e <= high_; ++e)
            for (int const step : {1, 2, 5}) {
                double const v = step * std::pow(10, e);
                if (std::log10(v) < low_ || std::log10(v) > high_ || (step > 1 && high_ - low_ > 2.5))
                    continue;
                out_ << "<path class=" << (v == 1 ? "roof" : "grid") << " d='M" << margin << " "
                     << fixed(y(v), 1) << "H" << width - 12
                     << "'/><text class=s text-anchor=end x=" << margin - 8 << " y=" << fixed(y(v) + 4, 1)
                     << ">" << (v < 1000 ? v : v / 1000) << (v < 1000 ? "" : "k") << "</text>";
            }
    }

    std::ostream& out_;
    question q_;
    std::vector<result const*> cases_;
    std::vector<std::string> types_;
    double left_ = 99, right_ = -99, low_ = std::log10(0.8), high_ = std::log10(1.25);
};

std::string page_of(std::vector<result> const& all, std::vector<finding> const& found, question const& q) {
    std::ostringstream out;
    if (q.of_estimates)
        out << "<p>Random shapes: the seconds that <i>estimate()</i> predicts for a product, divided by "
               "those of the "
               "median round. Above 1 the product was faster than predicted.</p>";
    else
        out << "<p>Random shapes: every library on the same operands, in turn in one process. The ratio is "
               "our speed "
               "divided by that of the best peer of the case, the median over rounds; above 1 is faster.</p>";
    out << "<div class=row>";
    for (finding const& x : found) {
        double const big = q.of_estimates ? x.deviation : x.mean;
        bool const good = q.of_estimates ? big <= 0.15 : big >= 1;
        out << "<div class=card><h3>" << escape(x.name) << "</h3><div class='big "
            << (good ? "good'>" : "bad'>") << fixed(big, 2) << (q.of_estimates ? "" : "&times;")
            << "</div><div class=small>"
            << (q.of_estimates ? "median of |log2(predicted / measured)|" : "geometric mean") << " of "
            << x.cases.size() << " cases<br>";
        if (q.of_estimates) out << "geometric mean " << fixed(x.mean, 2) << "&times;, ";
        out << "tenth percentile " << fixed(x.tenth, 2) << "&times;<br>worst "
            << fixed(q.answer(*x.cases.front()), 2) << "&times;: " << escape(x.cases.front()->label)
            << "</div></div>";
    }
    out << "</div><h2>" << (q.of_estimates ? "Predicted / measured" : "Ratio to the best peer")
        << " against work</h2>";
    scatter(out, all, q).draw();
    for (finding const& x : found) {
        bool const tells = !x.cases[0]->library()->ran.empty();
        out << "<h2>Worst of " << escape(x.name) << "</h2><div class='card scroll'><table><tr><th>shape<th>"
            << (q.of_estimates ? "predicted / measured" : "ratio") << "<th class=l>times"
            << (tells ? "<th class=l>what ran</tr>" : "</tr>");
        for (std::size_t i = 0; i < std::min(shown, x.cases.size()); ++i) {
            result const& r = *x.cases[i];
            out << "<tr><td>" << escape(r.label) << "<td class=us>" << fixed(q.answer(r), 2) << "<td class=l>"
                << escape(about_case(r, q));
            if (tells) out << "<td class=l>" << escape(r.library()->ran);
            out << "</tr>";
        }
        out << "</table></div>";
    }
    for (result const& r : all)
        for (auto const& w : r.left_out)
            out << "<p class=bad>Left out of " << escape(name_of(r)) << ", " << escape(r.label) << ": "
                << escape(w) << "</p>";
    return out.str();
}

// A line for each case, for bench_fit and bench/estimates.sh: its type, number of threads, sides and layout, and the
// microseconds that were measured and predicted.
void write_data(std::string const& file, std::vector<result> const& all) {
    std::ofstream out(file);
    for (result const& r : all)
        if (r.library())
            out << r.family << ' ' << std::max(1, std::atoi(r.setting.c_str())) << ' '
                << r.label.substr(0, r.label.find(' ')) << ' ' << r.label.substr(r.label.find(' ') + 1) << ' '
                << std::setprecision(4) << seconds_of(r) * 1e6 << ' ' << r.library()->predicted * 1e6 << '\n';
    if (!out.flush()) std::cerr << "cannot write " << file << "\n";
}

// A whole number from 1 on.
long number(options const& o, char const* name, long usual) {
    if (!o.has(name)) return usual;
    std::string const text = o.value(name);
    char* end = nullptr;
    long const n = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end || n < 1 || n > 1000000000) {
        std::cerr << "--" << name << " is a whole number, such as 100, and not '" << text << "'\n";
        std::exit(2);
    }
    return n;
}

} // namespace

int run_sweep(std::string const& backend, options const& asked, sweep_domain const& domain,
              std::function<arena()> const& open) {
    question const q{asked.has("estimate")};
    long const seed = number(asked, "seed", 1), count = number(asked, "count", 100);
    options o = asked;
    o.rule.sweep = o.rule.alternate = true;
    auto const cases = random_cases(unsigned(seed), int(count), domain);

    bool failed = false;
    view shown_as;
    shown_as.each = [&](std::ostream& out, result const& r, std::size_t at) {
        failed |= !r.library();
        out << std::right << std::setw(5) << at << "/" << std::left << std::setw(6) << cases.size();
        print_case(out, r, q);
    };
    shown_as.all = [&](std::ostream& out, std::vector<result> const& all) {
        auto const found = look_at(all, q);
        print(out, found, q);
        if (asked.has("data")) write_data(asked.value("data"), all);
        return page_of(all, found, q);
    };
    int const status = run(
        backend, o, cases,
        [&] {
            arena a = open();
            a.fields.resize(1);
            std::erase_if(a.fields[0], [&](auto const& who) {
                return who->part() == role::information || (q.of_estimates && who->part() == role::peer);
            });
            a.about.emplace_back("shapes", std::to_string(count) + " of seed " + std::to_string(seed));
            return a;
        },
        {}, shown_as);
    if (failed) std::cerr << "\nThe library failed in some cases: see FAILED above." << std::endl;
    return status ? status : failed;
}

} // namespace bench
