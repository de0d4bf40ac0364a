// One product, by every backend and policy of this machine: how fast, how wrong, and how wrong at most.
// Prints a table, and draws it: a picture, and a page with the picture and what ran. `./dev demo` compiles it in parts,
// and with what is installed. By hand, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/compare.cpp -o compare
//   ./compare [SIZE = 2048] [TYPES = float,double] [PICTURE = compare.svg]
// More of it is compiled with
//   -DCOMPARE_OPENCL ... -lOpenCL                              the OpenCL backend
//   -DCOMPARE_CUDA -isystem /usr/local/cuda/include ... -ldl   the CUDA backend
// and a part of it, to be linked with the others, with one of
//   -DCOMPARE_MAIN                                      the program
//   -DCOMPARE_TYPE=float -DCOMPARE_BACKEND=host         the measurement of a type, and the policies of a backend
// TYPES: of float, double, half, bfloat16, int8, cfloat, cdouble, those that were compiled; by hand, the first two.
// STRATAGEMM_ISA forces an instruction set.
#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#if __has_include(<unistd.h>)
#    include <unistd.h>
#endif

#ifdef COMPARE_OPENCL
#    include <stratagemm/backend/opencl.hpp>
#endif
#ifdef COMPARE_CUDA
#    include <stratagemm/backend/cuda.hpp>
#endif

namespace sg = stratagemm;

namespace compare {

using sg::index_t;

// One line of the table. Errors are in ulps of |A||B|, where an ulp is 2u.
struct row {
    std::string policy, ran;
    std::size_t group = 0; // of table::groups
    double rate = 0;       // GFLOP/s, of the 2 m n k that a product costs without tricks
    double error = 0, expected = 0, worst = 0;
    bool oracle = false; // what the others are measured against
};
// A backend, and where it runs.
struct group {
    std::string name, where;
};
struct table {
    std::string type;
    index_t size = 0;
    int runs = 0;
    bool exact = false; // integers do not round
    std::vector<group> groups{};
    std::vector<row> rows{};
    std::vector<std::string> missing{}; // what is not in the table, and why
};

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

template <class T>
std::string name_of() {
    if constexpr (sg::complex_like<T>)
        return std::is_same_v<typename T::value_type, float> ? "cfloat" : "cdouble";
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return "int8";
    else
        return sg::type_name<T>();
}

// ---- the measurement -------------------------------------------------------------------------------------

template <class T>
class contest {
public:
    using result = sg::accumulator_t<T>;
    static constexpr double ulp = 2 * sg::unit_roundoff<result>();
    static constexpr double patience = 6; // seconds that one product may be estimated to take

    explicit contest(index_t size)
        : n_(size), a_(size, size, random_element(1)), b_(size, size, random_element(2)), c_(size, size) {
        compute_oracle();
    }

    index_t size() const { return n_; }
    // Those who enter next belong to this backend.
    void begin(std::string const& name, std::string const& where) { groups_.push_back({name, where}); }
    void leave_out(std::string const& what) { missing_.push_back(what); }

    // A policy takes part if it has a kernel for the type. Operands on the host.
    template <sg::policy P>
    void enter(std::string const& name, P const& policy, index_t size) {
        if constexpr (sg::takes<P, sg::dense_problem<T, T, result>>) {
            sg::plan const plan(policy, sg::shape<T>{.m = size, .n = size, .k = size});
            if (takes_too_long(name, plan.estimate())) return;
            entrant& e = add(name, plan.describe(), plan.error_bound(), size);
            e.line.oracle = std::is_same_v<P, sg::reference>;
            auto const run = [this, plan, size](typename P::arena& memory) {
                plan.run(a_.block(0, 0, size, size), b_.block(0, 0, size, size), c_.block(0, 0, size, size),
                         memory);
            };
            if constexpr (std::is_same_v<typename P::arena, sg::host_arena>) {
                largest_ = larger(largest_, plan.workspace()); // one arena serves every such plan
                e.run = [this, run] { run(workspace_); };
            } else {
                auto const memory = std::make_shared<typename P::arena>(plan.reserve());
                e.run = [memory, run] { run(*memory); };
            }
        }
    }

    // Operands in the memory of a device.
    template <class Gpu>
    struct on_device {
        Gpu gpu;
        typename Gpu::template matrix<T> a, b;
        typename Gpu::template matrix<result> c;
    };
    template <class Gpu>
    auto bring(Gpu const& gpu) const {
        using there = on_device<Gpu>;
        return std::make_shared<there>(there{gpu, {gpu, a_}, {gpu, b_}, {gpu, n_, n_}});
    }
    template <class Gpu, sg::policy P>
    void enter(std::string const& name, P const& policy, std::shared_ptr<on_device<Gpu>> const& x) {
        if constexpr (sg::takes<P, sg::dense_problem<T, T, result, typename P::space>>) {
            sg::plan const plan(policy, sg::shape<T>{.m = n_, .n = n_, .k = n_});
            if (takes_too_long(name, plan.estimate())) return;
            entrant& e = add(name, plan.describe(), plan.error_bound(), n_);
            auto const memory = std::make_shared<typename P::arena>(plan.reserve());
            e.run = [x, plan, memory] {
                plan.run(x->a, x->b, x->c, *memory);
                x->gpu.synchronize().or_throw();
            };
            e.send = [x](sg::matrix<result> const& c) { x->c.upload(c); };
            e.fetch = [x](sg::matrix<result>& c) { x->c.download(c); };
        }
    }

    // Checks everyone, then times them in turn, round after round, so that a change of the clock meets all.
    table hold(double budget) {
        double const start = seconds();
        auto reserved = sg::reference{}.reserve(largest_);
        reserved.or_throw();
        workspace_ = std::move(*reserved);
        std::string const type = name_of<T>();
        double const steps = static_cast<double>(entrants_.size()) * (1 + most_rounds);
        double step = 0;
        for (entrant& e : entrants_) {
            progress(type + ": checking", e.line.policy, step++ / steps);
            try {
                check(e);
            } catch (sg::error const& error) {
                leave_out(e.line.policy + ": " + error.what());
                e.run = nullptr;
            }
        }
        std::erase_if(entrants_, [](entrant const& e) { return !e.run; });
        // One whose runs are long has fewer of them.
        double const share = budget / static_cast<double>(1 + entrants_.size());
        table t{.type = type, .size = n_, .exact = ulp == 0};
        for (t.runs = 0; t.runs < most_rounds; ++t.runs) {
            if (t.runs > 0 && seconds() - start > budget) break;
            for (entrant& e : entrants_) {
                progress(type + ": timing", e.line.policy, step++ / steps);
                if (e.spent > share) continue;
                e.times.push_back(time(e));
                e.spent += e.times.back();
            }
        }
        for (entrant& e : entrants_) {
            auto const middle = e.times.size() / 2;
            std::nth_element(e.times.begin(), e.times.begin() + static_cast<index_t>(middle), e.times.end());
            double const size = static_cast<double>(e.size), flops = sg::complex_like<T> ? 8 : 2;
            e.line.rate = flops * size * size * size / e.times[middle] * 1e-9;
            t.rows.push_back(e.line);
        }
        t.groups = groups_, t.missing = missing_;
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
        std::function<void(sg::matrix<result> const&)> send; // of C, where it is not on the host
        std::function<void(sg::matrix<result>&)> fetch;
        std::vector<double> times;
        double spent = 0;
    };

    entrant& add(std::string const& name, std::string const& ran, sg::bound bound, index_t size) {
        entrant e;
        e.line.policy = name, e.line.ran = ran, e.line.group = groups_.size() - 1;
        e.size = size, e.bound = bound;
        entrants_.push_back(std::move(e));
        return entrants_.back();
    }
    bool takes_too_long(std::string const& name, double estimate) {
        if (estimate <= patience) return false;
        char text[100];
        std::snprintf(text, sizeof text, ": left out, estimated to take %.0f s; a smaller SIZE has it",
                      estimate);
        leave_out(name + text);
        return true;
    }

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
        progress(name_of<T>() + ": computing the true result", "", 0);
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
        if (e.send) e.send(c_);
        e.run();
        if (e.line.oracle) return;
        if (e.fetch) e.fetch(c_);
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
    std::vector<group> groups_;
    std::vector<std::string> missing_;
};

// ---- the contestants -------------------------------------------------------------------------------------

// What the parts of this program bring: for each type how it is measured, and the policies of each backend.
inline std::map<std::string, std::function<table(index_t, double)>>& measurements() {
    static std::map<std::string, std::function<table(index_t, double)>> all;
    return all;
}
enum backend { host, opencl, cuda, backends };
template <class T>
std::array<void (*)(contest<T>&), backends>& contestants() {
    static std::array<void (*)(contest<T>&), backends> all{};
    return all;
}

template <class T>
table measure(index_t n, double budget) {
    contest<T> all(n);
    for (auto const enter : contestants<T>())
        if (enter) enter(all);
    return all.hold(budget);
}

template <class T>
void enter_host(contest<T>& all) {
    index_t const n = all.size(), small = std::min<index_t>(n, 256); // the oracle takes its time
    int const threads = sg::host_threads(0);
    sg::host const cpu;
    auto const shape = sg::shape<T>{.m = n, .n = n, .k = n};
    std::string const where = cpu.describe(shape);
    all.begin("host", where.substr(where.find(": ") == where.npos ? 0 : where.find(": ") + 2));
    all.enter("sg::reference{}, size " + std::to_string(small), sg::reference{}, small);
    if (threads > 1) all.enter("sg::host{.threads = 1}", sg::host{.threads = 1}, n);
    all.enter("sg::host{}", cpu, n);
    all.enter("sg::recursive{sg::host{}}", sg::recursive{cpu}, n);
    all.enter("sg::strassen{sg::host{}}", sg::strassen{cpu}, n);
    all.enter("sg::strassen{sg::host{}, {.levels = 1}}", sg::strassen{cpu, {.levels = 1}}, n);
    all.enter("sg::strassen{sg::host{}, {.levels = 2}}", sg::strassen{cpu, {.levels = 2}}, n);
    all.enter("sg::strassen{sg::recursive{sg::host{}}, {.levels = 1}}",
              sg::strassen{sg::recursive{cpu}, {.levels = 1}}, n);
    all.enter("sg::recursive{sg::strassen{sg::host{}, {.levels = 1}}}",
              sg::recursive{sg::strassen{cpu, {.levels = 1}}}, n);
    all.enter("sg::ozaki{sg::host{}}", sg::ozaki{cpu}, n);
    bool const wide = std::is_same_v<sg::real_t<T>, double>;
    all.enter(wide ? "sg::ozaki{sg::host{}, {.moduli = 15}}" : "sg::ozaki{sg::host{}, {.moduli = 8}}",
              sg::ozaki{cpu, {.moduli = wide ? 15 : 8}}, n);
    if constexpr (!std::is_integral_v<T>) all.enter("sg::split{sg::host{}}", sg::split{cpu}, n);
}

// The policies over a device, or why there are none.
template <class T, class Make, class Where>
void enter_device(contest<T>& all, std::string const& backend, Make const& make, Where const& where) {
    try {
        auto const gpu = make();
        gpu.ready().or_throw();
        all.begin(backend, where(gpu));
        progress(name_of<T>() + ": " + backend + " copies the operands", "", 0);
        auto const x = all.bring(gpu);
        std::string const it = "sg::" + backend + "{}";
        all.enter(it, gpu, x);
        all.enter("sg::strassen{" + it + "}", sg::strassen{gpu}, x);
        all.enter("sg::strassen{" + it + ", {.levels = 1}}", sg::strassen{gpu, {.levels = 1}}, x);
        all.enter("sg::staged{" + it + "}", sg::staged{gpu}, all.size());
        all.enter("sg::ozaki{" + it + "}", sg::ozaki{gpu}, x);
        if constexpr (std::is_same_v<sg::real_t<T>, float>)
            all.enter("sg::split{" + it + "}", sg::split{gpu}, x);
    } catch (sg::error const& e) {
        all.leave_out(e.what()); // which begins with the backend's name
    }
}
#ifdef COMPARE_OPENCL
template <class T>
void enter_opencl(contest<T>& all) {
    enter_device(
        all, "opencl", [] { return sg::opencl(); },
        [](sg::opencl const& gpu) {
            std::string const& platform = gpu.where().platform_name;
            return platform.substr(0, platform.find(',')) + ", " + gpu.where().name;
        });
}
#endif
#ifdef COMPARE_CUDA
template <class T>
void enter_cuda(contest<T>& all) {
    enter_device(
        all, "cuda", [] { return sg::cuda(); },
        [](sg::cuda const& gpu) { return gpu.where().name + ", " + gpu.where().architecture(); });
}
#endif

template <class T>
bool bring_host() {
    contestants<T>()[host] = enter_host<T>;
    measurements()[name_of<T>()] = measure<T>;
    return true;
}
#ifdef COMPARE_OPENCL
template <class T>
bool bring_opencl() {
    contestants<T>()[opencl] = enter_opencl<T>;
    return true;
}
#endif
#ifdef COMPARE_CUDA
template <class T>
bool bring_cuda() {
    contestants<T>()[cuda] = enter_cuda<T>;
    return true;
}
#endif

#define COMPARE_BRING_(BACKEND) bring_##BACKEND
#define COMPARE_BRING(BACKEND) COMPARE_BRING_(BACKEND)
#if defined(COMPARE_TYPE)
static bool const brought = COMPARE_BRING(COMPARE_BACKEND)<COMPARE_TYPE>();
#elif !defined(COMPARE_MAIN)
template <class T>
bool bring_all() {
    bool done = bring_host<T>();
#    ifdef COMPARE_OPENCL
    done = done && bring_opencl<T>();
#    endif
#    ifdef COMPARE_CUDA
    done = done && bring_cuda<T>();
#    endif
    return done;
}
static bool const brought = bring_all<float>() && bring_all<double>();
#endif

#ifndef COMPARE_TYPE

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
    std::string const times =
        t.runs > 1 ? "medians of up to " + std::to_string(t.runs) + " timings" : "timed once";
    std::printf("\n%s, %td x %td, %s; error and bounds in %s\n", t.type.c_str(), t.size, t.size,
                times.c_str(), t.exact ? "units" : "ulps of |A||B|");
    for (std::size_t g = 0; g < t.groups.size(); ++g) {
        std::printf("\n%s: %s\n", t.groups[g].name.c_str(), t.groups[g].where.c_str());
        std::printf("  %-56s %9s %9s %9s %9s\n", "policy", "GFLOP/s", "error", "expected", "at most");
        for (row const& r : t.rows) {
            if (r.group != g) continue;
            std::printf("  %-56s %9s", r.policy.c_str(), number(r.rate).c_str());
            if (r.oracle)
                std::printf(" %9s\n", "oracle");
            else
                std::printf(" %9s %9s %9s\n", number(r.error).c_str(), number(r.expected).c_str(),
                            number(r.worst).c_str());
        }
    }
    if (!t.missing.empty()) std::printf("\nnot in the table:\n");
    for (std::string const& what : t.missing) std::printf("  %s\n", what.c_str());
    std::fflush(stdout);
}

// ---- the picture -----------------------------------------------------------------------------------------

std::string escaped(std::string const& words) {
    std::string out;
    for (char c : words)
        out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

// Lines of at most `limit` letters, broken at spaces where there are spaces.
std::vector<std::string> wrapped(std::string words, std::size_t limit) {
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

// An SVG. It is as wide as the screen of a telephone, so that its letters are as large there as those of the page, and
// grows with a wider screen.
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
    std::string finished(double width, double height) const {
        char head[400];
        std::snprintf(head, sizeof head,
                      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
                      "style='max-width:560px' font-family='system-ui, "
                      "-apple-system, \"Segoe UI\", \"DejaVu Sans\", sans-serif'>\n"
                      "<rect width='%.0f' height='%.0f' fill='#ffffff'/>\n",
                      width, height, width, height);
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
constexpr char const *title = "font-size='22' font-weight='600' fill='#18212b'",
                     *heading = "font-size='19' font-weight='600' fill='#18212b'",
                     *backend = "font-size='16' font-weight='600' fill='#18212b'",
                     *policy =
                         "font-size='14' fill='#18212b' font-family='ui-monospace, Menlo, \"DejaVu Sans "
                         "Mono\", monospace'",
                     *note = "font-size='14' fill='#5c6873'",
                     *value = "font-size='15' font-weight='600' fill='#18212b' text-anchor='end'",
                     *axis = "font-size='14' fill='#5c6873' text-anchor='middle'";
constexpr char const *speed = "#2f6db3", *oracle = "#a9b4bf", *error = "#d9822b", *room = "#f8e7d3",
                     *expected = "#7a4a12", *beyond = "#c0262d", *track = "#f0f3f5", *rule = "#c9d0d7";
constexpr double width = 420, left = 12, right = 408, bars = right - left, row_height = 66;
constexpr std::size_t letters = 50, letters_of_policy = 41; // of a note, and of a policy, on one line
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
        return look::left + look::bars * std::clamp(share, 0.0, 1.0);
    }
};

// What each kind of bar is. Returns where it ends.
double draw_key(drawing& d, double y) {
    auto const line = [&](auto const& sign, char const* words) {
        sign(y);
        d.text(look::left + 42, y + 5, words, look::note);
        y += 24;
    };
    line([&](double at) { d.box(look::left, at - 8, 32, 14, look::speed, 2); },
         "speed in GFLOP/s; the fastest fills the width");
    line([&](double at) { d.box(look::left, at - 8, 32, 14, look::oracle, 2); },
         "the same of the oracle, which errors refer to");
    line([&](double at) { d.box(look::left, at - 5, 32, 8, look::error, 2); },
         "measured error in ulps of |A||B|, log. scale");
    line([&](double at) { d.box(look::left + 15, at - 8, 3, 14, look::expected); },
         "error expected of random data");
    line([&](double at) { d.box(look::left, at - 5, 32, 8, look::room, 2); },
         "up to the bound that no data exceeds");
    return y;
}

// Returns where it ends.
double draw_row(drawing& d, table const& t, row const& r, double fastest, decades const& axis, double y) {
    // A name that would meet the number has a second line.
    std::size_t const cut =
        r.policy.size() > look::letters_of_policy ? r.policy.rfind("{sg::") : std::string::npos;
    d.text(look::left, y, r.policy.substr(0, cut), look::policy, r.ran);
    d.text(look::right, y, number(r.rate), look::value);
    if (cut != std::string::npos)
        y += 18, d.text(look::left + 16, y, r.policy.substr(cut), look::policy, r.ran);
    d.box(look::left, y + 7, look::bars, 14, look::track, 2);
    d.box(look::left, y + 7, std::max(look::bars * r.rate / fastest, 2.0), 14,
          r.oracle ? look::oracle : look::speed, 2);
    if (r.oracle) {
        d.text(look::left, y + 37, "the oracle: what the others' errors refer to", look::note);
    } else if (!t.exact) {
        d.box(look::left, y + 27, axis.at(r.worst) - look::left, 8, look::room, 2);
        d.box(look::left, y + 27, std::max(axis.at(r.error) - look::left, 2.0), 8, // 0 shows, too
              r.error <= r.worst ? look::error : look::beyond, 2);
        d.box(axis.at(r.expected) - 1.5, y + 24, 3, 14, look::expected);
        if (!(r.error <= r.worst)) d.text(look::left, y + 50, "the error is beyond its bound", look::note);
    }
    return y + look::row_height;
}

// One type: its backends, and the policies of each. Returns where it ends.
double draw_panel(drawing& d, table const& t, double y) {
    double fastest = 0;
    for (row const& r : t.rows) fastest = std::max(fastest, r.rate);
    decades const axis(t);
    d.text(look::left, y, t.type + (t.exact ? ": integers do not round" : ""), look::heading);
    d.box(look::left, y + 10, look::bars, 1, look::rule);
    y += 40;
    for (std::size_t g = 0; g < t.groups.size(); ++g) {
        std::string const& where = t.groups[g].where;
        d.text(look::left, y, t.groups[g].name, look::backend, where);
        y += 22;
        for (std::string const& line : wrapped(where, look::letters))
            d.text(look::left, y, line, look::note), y += 20;
        y += 12;
        for (row const& r : t.rows)
            if (r.group == g) y = draw_row(d, t, r, fastest, axis, y);
    }
    for (int e = axis.low; e <= axis.high && !t.exact; ++e)
        if ((e - axis.low) % ((axis.high - axis.low) / 7 + 1) == 0) {
            char const* const near[] = {"0.001", "0.01", "0.1", "1", "10", "100", "1000"};
            double const x = std::clamp(axis.at(std::pow(10.0, e)), look::left + 12, look::right - 16);
            d.text(x, y - 8, e >= -3 && e <= 3 ? near[e + 3] : "1e" + std::to_string(e), look::axis);
        }
    if (!t.exact) d.text(look::left, y + 14, "scale of the errors, in ulps of |A||B|", look::note);
    return y + 56;
}

std::string draw(std::vector<table> const& tables) {
    drawing d;
    std::string const n = std::to_string(tables[0].size);
    d.text(look::left, 44, "One product, every policy", look::title);
    d.text(look::left, 70, "stratagemm: C = A B, " + n + " \u00d7 " + n + ", medians", look::note);
    double y = draw_key(d, 102) + 30;
    for (table const& t : tables) y = draw_panel(d, t, y);
    return d.finished(look::width, y - 20);
}

// The picture, what ran, and what is missing.
std::string page(std::vector<table> const& tables, std::string const& picture) {
    std::string out =
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        "content='width=device-width, initial-scale=1'><title>stratagemm: every policy</title><style>"
        "body{margin:0 auto;max-width:560px;padding:8px;font:16px/1.45 system-ui,sans-serif;color:#18212b}"
        "svg{display:block;width:100%;height:auto}h2{font-size:20px}dt{font-family:ui-monospace,monospace;"
        "font-size:14px;"
        "margin-top:12px}dt,dd,li{overflow-wrap:anywhere}dd{margin:0;color:#5c6873}</style>\n" +
        picture;
    for (table const& t : tables) {
        out += "<h2>" + escaped(t.type) + ": what ran</h2>\n<dl>\n";
        for (row const& r : t.rows) {
            std::string const errors = ". Error " + number(r.error) + ", expected " + number(r.expected) +
                                       ", at most " + number(r.worst) + (t.exact ? "" : " ulps");
            out += "<dt>" + escaped(r.policy) + "</dt><dd>" + number(r.rate) + " GFLOP/s: " + escaped(r.ran) +
                   (r.oracle ? "" : errors) + "</dd>\n";
        }
        out += "</dl>\n";
        if (!t.missing.empty()) out += "<p>Not measured:</p>\n<ul>\n";
        for (std::string const& what : t.missing) out += "<li>" + escaped(what) + "</li>\n";
        if (!t.missing.empty()) out += "</ul>\n";
    }
    return out + "</html>\n";
}

void write(std::string const& path, std::string const& text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    bool const whole = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if ((file && std::fclose(file) != 0) || !whole) throw std::runtime_error("cannot write " + path);
}

// ---- the program -----------------------------------------------------------------------------------------

int run(int argc, char** argv) {
    std::string const usage = "usage: compare [SIZE = 2048] [TYPES = float,double] [PICTURE = compare.svg]";
    char* end = nullptr;
    index_t const n = argc > 1 ? std::strtol(argv[1], &end, 10) : 2048;
    if (n < 1 || n > 100000 || (end && *end) || argc > 4) throw std::runtime_error(usage);
    std::string const list = argc > 2 ? argv[2] : "float,double", path = argc > 3 ? argv[3] : "compare.svg";
    std::string there;
    for (auto const& [name, measure] : measurements()) there += ' ' + name;
    std::vector<std::string> types;
    for (std::size_t at = 0; at < list.size();) {
        std::size_t const comma = std::min(list.find(',', at), list.size());
        types.push_back(list.substr(at, comma - at));
        if (!measurements().contains(types.back()))
            throw std::runtime_error("no type '" + types.back() + "'; this program has" + there);
        at = comma + 1;
    }
    if (types.empty()) throw std::runtime_error(usage);

    std::vector<table> tables;
    bool within = true;
    for (std::string const& type : types) {
        tables.push_back(measurements()[type](n, 40.0 / static_cast<double>(types.size())));
        progress("", "", 0);
        print(tables.back());
        for (row const& r : tables.back().rows) within = within && r.error <= r.worst;
    }
    std::string const picture = draw(tables),
                      html = path.substr(0, path.rfind(".svg") == path.npos ? path.size() : path.size() - 4) +
                             ".html";
    write(path, picture);
    write(html, page(tables, picture));
    std::printf("\nerror: the largest |dC| / (|A||B|) in 16 rows of C, in units of 2u (float 1.2e-7, double "
                "2.2e-16)\n"
                "picture: %s; with what ran: %s\n",
                path.c_str(), html.c_str());
    if (!within) std::fprintf(stderr, "compare: an error is beyond its bound\n");
    return within ? 0 : 1;
}

} // namespace compare

int main(int argc, char** argv) try { return compare::run(argc, argv); } catch (std::exception const& e) {
    compare::progress("", "", 0);
    std::fprintf(stderr, "compare: %s\n", e.what());
    return 1;
}
#else
} // namespace compare
#endif
