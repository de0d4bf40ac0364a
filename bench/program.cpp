#include "program.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>
#include <thread>

namespace bench {

options parse(int argc, char** argv, std::vector<std::string> own) {
    options o;
    for (int i = 1; i < argc; ++i) { // Google Benchmark keeps these to itself
        std::string_view const arg = argv[i];
        o.list |= arg == "--benchmark_list_tests" || arg == "--benchmark_list_tests=true";
        o.tables &= !arg.starts_with("--benchmark_format");
    }
    benchmark::Initialize(&argc, argv);
    o.filter = benchmark::GetBenchmarkFilter();
    own.insert(own.end(), {"quick", "rounds", "threads", "patience", "report"});
    for (int i = 1; i < argc; ++i) {
        std::string const arg = argv[i], key = arg.substr(0, arg.find('='));
        if (!key.starts_with("--") || std::find(own.begin(), own.end(), key.substr(2)) == own.end()) {
            std::cerr << "unknown option " << arg << "; there are those of Google Benchmark (--help), and";
            for (auto const& name : own) std::cerr << " --" << name;
            std::cerr << "\n";
            std::exit(2);
        }
        o.own[key.substr(2)] = key.size() < arg.size() ? arg.substr(key.size() + 1) : "";
    }
    o.quick = o.has("quick");
    if (o.has("rounds")) o.rounds = std::max(1, std::atoi(o.value("rounds").c_str()));
    if (o.has("patience")) o.rule.patience = std::atof(o.value("patience").c_str());
    std::istringstream threads(o.value("threads", std::thread::hardware_concurrency() > 1 ? "1,2" : "1"));
    for (std::string n; std::getline(threads, n, ',');)
        o.threads.push_back(std::max(1, std::atoi(n.c_str())));
    return o;
}

std::string times(long m, long n, long k) {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

char const* name_of(element e) {
    switch (e) {
    case element::f32: return "float";
    case element::f64: return "double";
    case element::bf16: return "bfloat16 to float";
    case element::bf16_bf16: return "bfloat16";
    case element::f16: return "half to float";
    case element::f16_f16: return "half";
    case element::i8: return "int8";
    case element::tf32: return "float as tf32";
    case element::fp8_bf16: return "fp8 to bfloat16";
    case element::c32: return "complex float";
    case element::c64: return "complex double";
    }
    return "";
}

std::vector<bench_case> cases_of_weights(int threads, std::size_t field) {
    std::vector<bench_case> all;
    for (bool const transposed : {false, true})
        for (long const m : {1, 4, 16, 64, 256, 1024, 4096})
            for (long const side : {1024, 4096}) {
                if (m > side) continue;
                bench_case c{"narrow weights to floats",
                             transposed ? "weights transposed" : "weights",
                             times(m, side, side),
                             {element::f32, m, side, side, threads}};
                c.p.b_transposed = transposed;
                c.bound = m < 16 ? limit::memory : limit::arithmetic;
                c.rounds = 7, c.only_if = "weights", c.field = field;
                all.push_back(std::move(c));
            }
    return all;
}

std::string bench_case::name() const {
    std::string s = family + "/" + label;
    std::replace(s.begin(), s.end(), ' ', '_');
    std::erase(s, ',');
    return p.threads ? s + "/threads:" + std::to_string(p.threads) : s;
}

namespace {

// Runs the cases that Google Benchmark picks, and is what it reports to.
class runner final : public benchmark::BenchmarkReporter {
public:
    runner(options const& o, std::function<arena()> const& open, view const& shown_as)
        : o_(o), open_(open), shown_as_(shown_as),
          theirs_(o.tables ? nullptr : benchmark::CreateDefaultDisplayReporter()) {}

    std::ostream& out() const { return theirs_ ? std::cerr : std::cout; }
    facts const& about() const { return about_; }
    std::vector<result>& results() { return results_; }

    void run(benchmark::State& state, bench_case const& c) {
        std::vector<contender*> field;
        for (auto const& who : where_.fields[c.field]) field.push_back(who.get());
        race r(c.p, c.bound, field, *where_.on, o_.rule);
        if (r.lanes().empty()) state.SkipWithError("no contender takes this case here");
        for (auto _ : state) state.SetIterationTime(r.round());
        r.finish();
        result x = result_of(c, r);
        count(state, x);
        bool const taken = !x.lanes.empty() || !x.left_out.empty();
        if (!shown_as_.each || !taken)
            std::cerr << c.name() << (x.library() ? "" : ": not here") << std::endl;
        if (!taken) return;
        results_.push_back(std::move(x));
        if (shown_as_.each) shown_as_.each(out(), results_.back(), results_.size());
        if (o_.rule.errors) print_errors(out(), results_.back());
    }

    // Comes before the first case; none is run if it says no.
    bool ReportContext(Context const& context) override {
        try {
            where_ = open_();
        } catch (std::exception const& e) {
            out() << "skipped: " << e.what() << "\n";
            return false;
        }
        about_ = where_.on->about(o_.threads);
        about_.insert(about_.end(), where_.about.begin(), where_.about.end());
        for (auto const& who : where_.fields[0])
            if (!o_.rule.errors || who->part() != role::library)
                about_.emplace_back(who->name(), who->version());
        for (auto const& [key, value] : about_) {
            out() << key << ": " << value << std::endl;
            if (key != "date") benchmark::AddCustomContext(key, value); // it has one already
        }
        return !theirs_ || theirs_->ReportContext(context);
    }
    void ReportRuns(std::vector<Run> const& runs) override {
        if (theirs_) theirs_->ReportRuns(runs);
    }
    void Finalize() override {
        if (theirs_) theirs_->Finalize();
    }

private:
    result result_of(bench_case const& c, race const& r) const {
        bool const tera = where_.on->rate()[0] == 'T';
        result x{c.group,     c.family,          c.label,
                 "",          where_.on->rate(), c.p.flops() * (tera ? 1e-12 : 1e-9),
                 c.p.bytes(), r.lanes(),         r.roof(),
                 r.pace(),    r.left_out()};
        if (c.p.threads)
            x.setting = std::to_string(c.p.threads) + (c.p.threads == 1 ? " thread" : " threads");
        if (c.p.type == element::i8) x.unit = tera ? "Top/s" : "Gop/s";
        if (tera)
            for (lane& l : x.lanes)
                for (double& rate : l.rates) rate /= 1000;
        return x;
    }

    // Counts the rates and errors of peers under the peers' own names.
    static void count(benchmark::State& state, result const& x) {
        lane const* const ours = x.library();
        auto const tell = [&](std::string const& what, double value) {
            if (value >= 0) state.counters[what] = value;
        };
        for (lane const& l : x.lanes) {
            tell(&l == ours ? x.unit : l.name, median(l.rates));
            tell(&l == ours ? "error" : l.name + " error", l.error);
        }
        if (!ours) return state.SkipWithError(x.left_out.empty() ? "not here" : x.left_out[0].c_str());
        tell("bound", ours->bound.worst);
        tell("workspace", double(ours->workspace));
        tell("host_us", ours->queued * 1e6);
        tell("predicted_us", ours->predicted * 1e6);
        if (double const peak = median(x.roof); peak > 0) tell("peak", peak);
        if (!x.best_peer()) return;
        tell("ratio", x.ratio());
        state.SetLabel(x.best_peer()->name);
    }

    options const& o_;
    std::function<arena()> const& open_;
    view const& shown_as_;
    std::unique_ptr<benchmark::BenchmarkReporter> theirs_;
    arena where_;
    facts about_;
    std::vector<result> results_;
};

} // namespace

int run(std::string const& backend, options const& o, std::vector<bench_case> const& all,
        std::function<arena()> const& open, std::function<void(std::vector<result>&)> const& arrange,
        view const& shown_as) {
    runner cases(o, open, shown_as);
    benchmark::ClearRegisteredBenchmarks();
    for (bench_case const& c : all)
        if ((!o.quick || c.quick) && (o.list || c.only_if.empty() || o.asks_for(c.only_if)))
            benchmark::RegisterBenchmark(c.name().c_str(), [&](benchmark::State& s) { cases.run(s, c); })
                ->UseManualTime()
                ->Unit(benchmark::kMicrosecond)
                ->Iterations(o.rounds ? o.rounds : c.rounds);
    if (!benchmark::RunSpecifiedBenchmarks(&cases)) return 1;
    if (o.list) return 0;
    if (cases.about().empty()) return 77;
    auto& results = cases.results();
    if (results.empty()) return cases.out() << "skipped: none of these cases is for this device\n", 77;
    if (arrange) arrange(results);
    std::string const body = shown_as.all ? shown_as.all(cases.out(), results) : "";
    if (!shown_as.all && !o.rule.errors) print_table(cases.out(), results);
    std::string const file = o.value("report", "report.html");
    std::ofstream page(file);
    if (shown_as.all)
        write_page(page, "stratagemm, " + backend, cases.about(), body);
    else
        write_html(page, "stratagemm, " + backend, cases.about(), results);
    if (!page.flush()) return std::cerr << "cannot write " << file << "\n", 1;
    return 0;
}

} // namespace bench
