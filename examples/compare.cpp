// One product, by every backend and policy that this program has: how fast, how wrong, and how wrong at most.
// Prints a table and draws it. To compile, from the top of the checkout, and run:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/compare.cpp -o compare
//   ./compare [SIZE = 2048] [TYPES = float,double] [PICTURE = compare.svg]
// TYPES: float, double, half, bfloat16, int8, cfloat, cdouble. STRATAGEMM_ISA forces an instruction set.
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#if __has_include(<unistd.h>)
#    include <unistd.h>
#endif

namespace sg = stratagemm;
using sg::index_t;

// One line of the table. Errors are in ulps of |A||B|, where an ulp is 2u.
struct row {
    std::string policy, ran;
    double rate = 0; // GFLOP/s, of the 2 m n k that a product costs without tricks
    double error = 0, expected = 0, worst = 0;
    bool oracle = false; // what the others are measured against
};
struct table {
    std::string type;
    index_t size = 0;
    int runs = 0;
    bool exact = false; // integers do not round
    std::vector<row> rows{};
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A bar on stderr, if somebody watches.
void progress([[maybe_unused]] std::string const& what, [[maybe_unused]] double done) {
#if __has_include(<unistd.h>)
    static bool const watched = isatty(2) != 0;
    if (!watched) return;
    int const width = 30, full = static_cast<int>(std::min(done, 1.0) * width);
    std::fprintf(stderr, "\r\033[K%s", what.empty() ? "" : "[");
    for (int i = 0; i < width && !what.empty(); ++i) std::fputc(i < full ? '#' : '.', stderr);
    std::fprintf(stderr, "%s%.70s", what.empty() ? "" : "] ", what.c_str());
    std::fflush(stderr);
#endif
}

// ---- the measurement -------------------------------------------------------------------------------------

template <class T>
class contest {
public:
    using result = sg::accumulator_t<T>;
    static constexpr double ulp = 2 * sg::unit_roundoff<result>();

    explicit contest(index_t size)
        : n_(size), a_(size, size, random_element(1)), b_(size, size, random_element(2)), c_(size, size) {
        compute_oracle();
    }

    // A policy takes part if it has a kernel for the type.
    template <sg::policy P>
    void enter(std::string const& name, P const& policy, index_t size) {
        if constexpr (sg::takes<P, sg::dense_problem<T, T, result>>) {
            sg::plan const plan(policy, sg::shape<T>{.m = size, .n = size, .k = size});
            entrant e;
            e.line.policy = name, e.line.ran = plan.describe();
            e.line.oracle = std::is_same_v<P, sg::reference>;
            e.size = size, e.bound = plan.error_bound();
            e.run = [this, plan, size] {
                plan.run(a_.block(0, 0, size, size), b_.block(0, 0, size, size), c_.block(0, 0, size, size),
                         workspace_);
            };
            largest_ = larger(largest_, plan.workspace());
            entrants_.push_back(std::move(e));
        }
    }

    // Checks everyone, then times them in turn, round after round, so that a change of the clock meets all.
    table hold(double budget) {
        double const start = seconds();
        auto reserved = sg::reference{}.reserve(largest_); // one arena that serves every plan
        reserved.or_throw();
        workspace_ = std::move(*reserved);
        double const steps = static_cast<double>(entrants_.size()) * (1 + most_rounds);
        double step = 0;
        for (entrant& e : entrants_) {
            progress(std::string(sg::type_name<T>()) + ", checking " + e.line.policy, step++ / steps);
            check(e);
        }
        table t{.type = sg::type_name<T>(), .size = n_, .exact = ulp == 0};
        for (t.runs = 0; t.runs < most_rounds; ++t.runs) {
            if (t.runs > 0 && seconds() - start > budget) break;
            for (entrant& e : entrants_) {
                progress(std::string(sg::type_name<T>()) + ", timing " + e.line.policy, step++ / steps);
                e.times.push_back(time(e));
            }
        }
        for (entrant& e : entrants_) {
            std::nth_element(e.times.begin(), e.times.begin() + t.runs / 2, e.times.end());
            double const size = static_cast<double>(e.size), flops = sg::complex_like<T> ? 8 : 2;
            e.line.rate = flops * size * size * size / e.times[static_cast<std::size_t>(t.runs / 2)] * 1e-9;
            t.rows.push_back(e.line);
        }
        return t;
    }

private:
    static constexpr int most_rounds = 9;
    static constexpr index_t sampled = 16; // rows of C that are compared

    struct entrant {
        row line;
        index_t size = 0;
        sg::bound bound;
        std::function<void()> run;
        std::vector<double> times;
    };

    // Seconds a run, over as many as make a time worth reading.
    static double time(entrant const& e) {
        double const start = seconds();
        for (int runs = 1;; ++runs) {
            e.run();
            if (double const passed = seconds() - start; passed > 0.005) return passed / runs;
        }
    }

    static auto random_element(unsigned seed) {
        return [random = std::mt19937_64(seed)](index_t, index_t) mutable {
            auto uniform = [&] { return static_cast<double>(random() >> 10) * 0x1p-53 - 1; };
            if constexpr (sg::complex_like<T>) {
                using real = typename T::value_type;
                return T(static_cast<real>(uniform()), static_cast<real>(uniform()));
            } else if constexpr (std::is_integral_v<T>) {
                return static_cast<T>(127 * uniform());
            } else {
                return static_cast<T>(static_cast<sg::accumulator_t<T>>(uniform()));
            }
        };
    }

    // |x|, exactly for real types.
    static double size_of(T const& x) {
        if constexpr (sg::complex_like<T>)
            return static_cast<double>(std::abs(x));
        else
            return std::fabs(static_cast<double>(x));
    }

    // The true C and |A||B| in a few random rows.
    void compute_oracle() {
        progress(std::string(sg::type_name<T>()) + ", computing the true result", 0);
        index_t const count = std::min(sampled, n_);
        std::mt19937 random(3);
        for (index_t i = 0; i < count; ++i) picked_.push_back(static_cast<index_t>(random()) % n_);
        auto pick = [&](index_t i) { return picked_[static_cast<std::size_t>(i)]; };

        using operand = std::conditional_t<sg::complex_like<T>, std::complex<double>, T>;
        sg::matrix<operand> rows(count, n_, [&](index_t i, index_t j) { return a_(pick(i), j); });
        sg::matrix<operand> b(
            n_, n_, [&](index_t i, index_t j) { return b_(i, j); }, sg::layout::col_major);
        using wide = std::conditional_t<std::is_integral_v<T>, result, exact_type>;
        sg::matrix<wide> exact(count, n_);
        sg::gemm(sg::reference{}, rows, b, exact);
        exact_ = sg::matrix<exact_type>(count, n_, [&](index_t i, index_t j) { return exact(i, j); });

        sg::matrix<double> abs_rows(count, n_, [&](index_t i, index_t j) { return size_of(a_(pick(i), j)); });
        sg::matrix<double> abs_b(n_, n_, [&](index_t i, index_t j) { return size_of(b_(i, j)); });
        scale_ = sg::matrix<double>(count, n_);
        sg::gemm(abs_rows, abs_b, scale_);
        least_scale_ = *std::min_element(scale_.data(), scale_.data() + count * n_);
        double const max_a = *std::max_element(abs_rows.data(), abs_rows.data() + count * n_);
        double const max_b = *std::max_element(abs_b.data(), abs_b.data() + n_ * n_);
        norm_scale_ = static_cast<double>(n_) * max_a * max_b;
    }

    // One run: warms up, and measures the error.
    void check(entrant& e) {
        for (index_t i : picked_)
            for (index_t j = 0; j < n_; ++j) c_(i, j) = result(77); // what a policy leaves out will show
        e.run();
        if (e.line.oracle) return;
        // A normwise bound is put against the smallest |A||B|, where it promises least.
        double const unit = ulp == 0 ? 1 : ulp,
                     per_element = e.bound.normwise ? norm_scale_ / least_scale_ : 1;
        e.line.expected = e.bound.expected * per_element / unit;
        e.line.worst = e.bound.worst * per_element / unit;
        for (index_t i = 0; i < scale_.rows(); ++i)
            for (index_t j = 0; j < n_; ++j) {
                auto const computed = static_cast<exact_type>(c_(picked_[static_cast<std::size_t>(i)], j));
                double const distance = std::abs(computed - exact_(i, j)) / (scale_(i, j) * unit);
                if (distance > e.line.error || std::isnan(distance)) e.line.error = distance;
                if (std::isnan(distance)) return;
            }
    }

    using exact_type = std::conditional_t<sg::complex_like<T>, std::complex<double>, double>;

    index_t n_;
    sg::matrix<T> a_, b_;
    sg::matrix<result> c_;
    std::vector<index_t> picked_;
    sg::matrix<exact_type> exact_;
    sg::matrix<double> scale_;
    double least_scale_ = 0, norm_scale_ = 0;
    sg::footprint largest_;
    sg::host_arena workspace_;
    std::vector<entrant> entrants_;
};

// ---- the contestants -------------------------------------------------------------------------------------

template <class T>
table compare(index_t n, double budget) {
    contest<T> all(n);
    int const threads = sg::host_threads(0);
    std::string const many = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    sg::host const cpu{.threads = threads};

    index_t const small = std::min<index_t>(n, 256); // the oracle takes its time
    all.enter("reference, size " + std::to_string(small), sg::reference{}, small);
    if (threads > 1) all.enter("host, 1 thread", sg::host{.threads = 1}, n);
    all.enter("host, " + many, cpu, n);
    all.enter("recursive{host}", sg::recursive{cpu}, n);
    for (int levels : {1, 2}) {
        std::string const suffix = levels == 1 ? "1 level" : "2 levels";
        using enum sg::strassen_variant;
        all.enter("strassen{host}, " + suffix, sg::strassen{cpu, {.levels = levels, .variant = strassen}}, n);
        all.enter("winograd{host}, " + suffix, sg::strassen{cpu, {.levels = levels, .variant = winograd}}, n);
    }
    all.enter("strassen{recursive{host}}", sg::strassen{sg::recursive{cpu}}, n);
    all.enter("recursive{strassen{host}}", sg::recursive{sg::strassen{cpu}}, n);
    return all.hold(budget);
}

// ---- the table -------------------------------------------------------------------------------------------

// Three digits, and no exponent where one can do without.
std::string number(double x) {
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

void print(table const& t) {
    std::printf("\n%s, %td x %td, median of %d; error and bounds in %s\n\n", t.type.c_str(), t.size, t.size,
                t.runs, t.exact ? "units" : "ulps of |A||B|");
    std::printf("%-28s %9s %9s %9s %9s  %s\n", "policy", "GFLOP/s", "error", "expected", "at most",
                "what ran");
    for (row const& r : t.rows) {
        std::printf("%-28s %9s", r.policy.c_str(), number(r.rate).c_str());
        if (r.oracle)
            std::printf(" %9s %9s %9s", "oracle", "", "");
        else
            std::printf(" %9s %9s %9s", number(r.error).c_str(), number(r.expected).c_str(),
                        number(r.worst).c_str());
        std::printf("  %s\n", r.ran.c_str());
    }
    std::fflush(stdout);
}

// ---- the picture -----------------------------------------------------------------------------------------

class drawing {
public:
    drawing(std::FILE* file, int width, int height) : file_(file) {
        std::fprintf(file_,
                     "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
                     "font-family='system-ui, -apple-system, \"Segoe UI\", \"DejaVu Sans\", sans-serif'>\n",
                     width, height, width, height);
        box(0, 0, width, height, "#ffffff");
    }
    ~drawing() { std::fprintf(file_, "</svg>\n"); }
    drawing(drawing const&) = delete;
    drawing& operator=(drawing const&) = delete;

    void box(double x, double y, double width, double height, char const* color, double round = 0) {
        std::fprintf(file_, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' rx='%.1f' fill='%s'/>\n", x,
                     y, std::max(width, 0.0), height, round, color);
    }
    // `style` is a list of attributes; `hint` is shown when the pointer rests on the text.
    void text(double x, double y, std::string const& words, char const* style, std::string const& hint = "") {
        std::fprintf(file_, "<text x='%.1f' y='%.1f' %s>%s", x, y, style, escaped(words).c_str());
        if (!hint.empty()) std::fprintf(file_, "<title>%s</title>", escaped(hint).c_str());
        std::fprintf(file_, "</text>\n");
    }

private:
    static std::string escaped(std::string const& words) {
        std::string out;
        for (char c : words)
            out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
        return out;
    }
    std::FILE* file_;
};

namespace look {
constexpr char const *title = "font-size='22' font-weight='600' fill='#18212b'",
                     *heading = "font-size='16' font-weight='600' fill='#18212b'",
                     *label = "font-size='13' fill='#18212b'", *note = "font-size='12' fill='#5c6873'",
                     *axis = "font-size='11' fill='#5c6873' text-anchor='middle'",
                     *value = "font-size='12' fill='#18212b'",
                     *cell = "font-size='12' fill='#18212b' text-anchor='end'",
                     *column = "font-size='11' fill='#5c6873' text-anchor='end'";
constexpr char const *speed = "#2f6db3", *oracle = "#a9b4bf", *error = "#d9822b", *room = "#f8e7d3",
                     *expected = "#7a4a12", *beyond = "#c0262d", *grid = "#e4e8ec", *rule = "#c9d0d7";
constexpr double width = 1120, row_height = 28, bar = 14;
constexpr double names = 28, bars = 240, bars_width = 270, errors = 590, errors_width = 310;
constexpr double columns[] = {966, 1032, 1092};
} // namespace look

// The logarithmic axis of errors: whole decades around everything that is drawn.
struct decades {
    int low = 0, high = 1;

    explicit decades(table const& t) {
        double least = 1, most = 10;
        for (row const& r : t.rows)
            for (double x : {r.error, r.expected, r.worst})
                if (std::isfinite(x) && x > 0) least = std::min(least, x), most = std::max(most, x);
        low = std::max(-6, static_cast<int>(std::floor(std::log10(least / 1.5))));
        high = std::min(30, static_cast<int>(std::ceil(std::log10(most))));
    }
    double at(double x) const {
        double const share = (std::log10(std::max(x, 1e-6)) - low) / (high - low);
        return look::errors + look::errors_width * std::clamp(share, 0.0, 1.0);
    }
};

void draw_errors(drawing& d, row const& r, decades const& axis, double y) {
    double const top = y - look::bar / 2, to = axis.at(r.error);
    d.box(look::errors, top, axis.at(r.worst) - look::errors, look::bar, look::room, 2);
    d.box(look::errors, top, to - look::errors, look::bar, r.error <= r.worst ? look::error : look::beyond,
          2);
    d.box(axis.at(r.expected) - 1, top - 2, 2, look::bar + 4, look::expected);
}

// One type: speeds on the left, errors against their bounds on the right. Returns where it ends.
double draw_panel(drawing& d, table const& t, double y) {
    double fastest = 0;
    for (row const& r : t.rows) fastest = std::max(fastest, r.rate);
    decades const axis(t);
    double const first = y + 52, height = look::row_height * static_cast<double>(t.rows.size());

    d.text(look::names, y, t.type, look::heading);
    d.text(look::bars, y, "GFLOP/s", look::note);
    d.text(look::errors, y,
           t.exact ? "error: none, integers do not round" : "error, in ulps of |A||B|, log scale",
           look::note);
    char const* const heads[] = {"error", "expected", "at most"};
    for (int i = 0; i < 3; ++i) d.text(look::columns[i], y, heads[i], look::column);
    d.box(look::names, y + 10, look::width - 2 * look::names, 1, look::rule);
    for (int e = axis.low; e <= axis.high && !t.exact; ++e) {
        double const x = axis.at(std::pow(10.0, e));
        d.box(x - 0.5, first - 24, 1, height, look::grid);
        if ((e - axis.low) % (axis.high - axis.low > 7 ? 2 : 1) == 0) {
            char const* const near[] = {"0.001", "0.01", "0.1",      "1",       "10",
                                        "100",   "1000", "10\u2074", "10\u2075"};
            d.text(x, first - 24 + height + 14, e >= -3 && e <= 5 ? near[e + 3] : "1e" + std::to_string(e),
                   look::axis);
        }
    }
    double at = first - 10;
    for (row const& r : t.rows) {
        double const length = look::bars_width * r.rate / fastest, text = at + 4.5;
        d.text(look::names, text, r.policy, look::label, r.ran);
        d.box(look::bars, at - look::bar / 2, std::max(length, 1.5), look::bar,
              r.oracle ? look::oracle : look::speed, 2);
        d.text(look::bars + length + 7, text, number(r.rate), look::value);
        if (r.oracle) {
            d.text(look::errors + 7, text, "what the others are measured against", look::note);
        } else {
            if (!t.exact) draw_errors(d, r, axis, at);
            double const cells[] = {r.error, r.expected, r.worst};
            for (int i = 0; i < 3; ++i) d.text(look::columns[i], text, number(cells[i]), look::cell);
        }
        at += look::row_height;
    }
    return first + height + 40;
}

bool draw(std::vector<table> const& tables, std::string const& path) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (!file) return false;
    double height = 124;
    for (table const& t : tables) height += 92 + look::row_height * static_cast<double>(t.rows.size());
    {
        drawing d(file, static_cast<int>(look::width), static_cast<int>(height));
        std::string const n = std::to_string(tables[0].size);
        d.text(look::names, 46, "stratagemm: one product, every policy", look::title);
        d.text(look::names, 70,
               "C = A B, " + n + " \u00d7 " + n +
                   ", entries uniform in (\u22121, 1); medians. Every policy is credited with " +
                   "the 2 n\u00b3 operations of the plain product.",
               look::note);
        double const y = 96;
        d.box(look::errors, y - 7, 14, 10, look::error, 2);
        d.text(look::errors + 20, y + 2, "measured error", look::note);
        d.box(look::errors + 134, y - 9, 2, 14, look::expected);
        d.text(look::errors + 144, y + 2, "expected of random data", look::note);
        d.box(look::errors + 318, y - 7, 14, 10, look::room, 2);
        d.text(look::errors + 338, y + 2, "up to the worst case", look::note);
        double next = 142;
        for (table const& t : tables) next = draw_panel(d, t, next);
    }
    return std::fclose(file) == 0;
}

// ---- the program -----------------------------------------------------------------------------------------

table compare_type(std::string const& type, index_t n, double budget) {
    if (type == "float") return compare<float>(n, budget);
    if (type == "double") return compare<double>(n, budget);
    if (type == "half") return compare<sg::half>(n, budget);
    if (type == "bfloat16") return compare<sg::bfloat16>(n, budget);
    if (type == "int8") return compare<std::int8_t>(n, budget);
    if (type == "cfloat") return compare<std::complex<float>>(n, budget);
    if (type == "cdouble") return compare<std::complex<double>>(n, budget);
    throw std::runtime_error("no type '" + type +
                             "'; there are float double half bfloat16 int8 cfloat cdouble");
}

int main(int argc, char** argv) try {
    index_t const n = argc > 1 ? std::atol(argv[1]) : 2048;
    std::string const list = argc > 2 ? argv[2] : "float,double", path = argc > 3 ? argv[3] : "compare.svg";
    if (n < 1 || argc > 4) throw std::runtime_error("usage: compare [SIZE] [TYPES] [PICTURE]");

    std::vector<std::string> types;
    for (std::size_t at = 0; at < list.size();) {
        std::size_t const comma = std::min(list.find(',', at), list.size());
        types.push_back(list.substr(at, comma - at));
        at = comma + 1;
    }
    std::vector<table> tables;
    bool within = true;
    for (std::string const& type : types) {
        tables.push_back(compare_type(type, n, 30.0 / static_cast<double>(types.size())));
        progress("", 0);
        print(tables.back());
        for (row const& r : tables.back().rows) within = within && r.error <= r.worst;
    }
    if (tables.empty() || !draw(tables, path)) throw std::runtime_error("cannot write " + path);
    std::printf("\nerror: the largest |dC| / (|A||B|) in 16 rows of C, in units of 2u (float 1.2e-7, double "
                "2.2e-16)\n"
                "picture: %s\n",
                path.c_str());
    if (!within) std::fprintf(stderr, "compare: an error is beyond its bound\n");
    return within ? 0 : 1;
} catch (std::exception const& e) {
    progress("", 0);
    std::fprintf(stderr, "compare: %s\n", e.what());
    return 1;
}
