// bench_host: the CPU backend against every peer installed; and, where the filter names strassen, one level of
// strassen{host} against its base.
//
//   bench_host [--threads=1,2] [--quick] [--report=report.html] [Google Benchmark's options]
//
// One Google Benchmark entry a case; one of its repetitions is one round of the race (race.hpp). Its JSON
// (host.json unless --benchmark_out says otherwise) therefore holds every sample and its own medians.
#include "contender.hpp"
#include "peaks.hpp"
#include "race.hpp"
#include "report.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using namespace bench;

struct arguments {
    std::vector<int> threads = std::thread::hardware_concurrency() > 1 ? std::vector{1, 2} : std::vector{1};
    bool quick = false;
    bool huge = false;     // 8192, only when the filter names it
    bool strassen = false; // likewise
    std::string report = "report.html";
    std::vector<std::string> passed_on;
};

struct bench_case {
    std::string group, family, label;
    problem p;
    limit bound = limit::arithmetic;
    bool quick = false;
    bool in_cache = false; // a batch that each thread's cache holds: its count is for each thread
    bool in_l1 = false;    // done in a microsecond, so not worth a second thread to anyone
    int rounds = 0;        // 0: fewer where they are long
};

std::string times(long m, long n, long k) {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

void square_and_skinny(std::vector<bench_case>& list, element type, bool huge) {
    bool const single = type == element::f32;
    std::string const gemm = single ? "sgemm" : "dgemm";
    for (long n : {64, 128, 256, 512, 1000, 1023, 1024, 2048, 4096})
        list.push_back({"square",
                        gemm,
                        std::to_string(n),
                        {type, n, n, n},
                        limit::arithmetic,
                        n == 256 || n == 1024 || (single && n == 64)});
    if (huge) list.push_back({"square", gemm, "8192", {type, 8192, 8192, 8192}});
    for (auto [m, n, k] : {std::array{64L, 64L, 65536L}, std::array{4096L, 16L, 4096L}})
        list.push_back(
            {"skinny", gemm + " skinny", times(m, n, k), {type, m, n, k}, limit::arithmetic, single});
    list.push_back(
        {"matrix-vector", single ? "sgemv" : "dgemv", "4096", {type, 4096, 1, 4096}, limit::memory, single});
    problem tn{type, 1024, 1024, 1024}, nt = tn;
    tn.a_transposed = nt.b_transposed = true;
    list.push_back({"transposed", gemm + " transposed", "TN 1024", tn});
    list.push_back({"transposed", gemm + " transposed", "NT 1024", nt});
}

std::vector<bench_case> strassen_cases() {
    std::vector<bench_case> list;
    for (element type : {element::f32, element::f64}) {
        list.push_back({"strassen to its base",
                        type == element::f32 ? "sgemm strassen" : "dgemm strassen",
                        "4096",
                        {type, 4096, 4096, 4096},
                        limit::arithmetic,
                        true});
        list.back().rounds = 7;
    }
    return list;
}

std::vector<bench_case> cases(bool huge) {
    std::vector<bench_case> list;
    square_and_skinny(list, element::f32, huge);
    square_and_skinny(list, element::f64, huge);
    for (element type : {element::bf16, element::i8})
        for (long n : {1024, 2048, 4096})
            list.push_back({"bf16 and int8",
                            type == element::i8 ? "int8 to int32" : "bf16 to float",
                            std::to_string(n),
                            {type, n, n, n},
                            limit::arithmetic,
                            n == 1024});
    for (auto const& [place, bytes] : {std::pair{"batched, in L1", 24 << 10},
                                       {"batched, in L2", 384 << 10},
                                       {"batched, from memory", 96 << 20}})
        for (long n : {4, 8, 16, 32}) {
            bench_case c{
                "batched", place, std::to_string(n) + "x" + std::to_string(n), {element::f32, n, n, n}};
            c.p.count = bytes / (3 * n * n * 4);
            c.in_cache = bytes < 1 << 20;
            c.in_l1 = bytes < 32 << 10;
            c.bound = c.in_cache ? limit::arithmetic : limit::memory;
            c.quick = n == 8 && c.in_cache;
            list.push_back(c);
        }
    std::stable_sort(list.begin(), list.end(), [](auto const& a, auto const& b) {
        auto const rank = [](std::string const& group) { // the order of the report
            std::array<char const*, 5> const order{"square", "transposed", "skinny", "matrix-vector",
                                                   "batched"};
            return std::find(order.begin(), order.end(), group) - order.begin();
        };
        return rank(a.group) < rank(b.group);
    });
    return list;
}

// Google Benchmark wants a word a/b/c.
std::string entry_name(bench_case const& c) {
    std::string s = c.family + "/" + c.label;
    std::replace(s.begin(), s.end(), ' ', '_');
    std::erase(s, ',');
    return s + "/threads:" + std::to_string(c.p.threads);
}

// The case as a Google Benchmark entry. Its time is our library's (or the first contender's) for one product.
void register_case(bench_case const& c, std::vector<contender*> const& field, bool quick,
                   std::vector<result>& results) {
    bool const slow = c.p.flops() > 25e9 * c.p.threads;
    int const rounds = quick ? 3 : c.rounds ? c.rounds : slow ? 3 : 5;
    auto state_of_race = std::make_shared<std::unique_ptr<race>>();
    auto const body = [c, &field, rounds, &results, state_of_race](benchmark::State& state) {
        auto& r = *state_of_race;
        if (!r) r = std::make_unique<race>(c.p, c.bound, field, 20e-3);
        for (auto _ : state) {
            r->round();
            double const first = r->lanes().empty() ? 1 : r->lanes().front().gflops.back();
            state.SetIterationTime(c.p.flops() / first * 1e-9);
        }
        for (lane const& l : r->lanes()) state.counters[l.name] = l.gflops.back();
        state.counters["peak"] = r->roof().back();
        if (int(r->roof().size()) < rounds) return;

        std::string const setting = std::to_string(c.p.threads) + (c.p.threads == 1 ? " thread" : " threads");
        std::string const unit = c.p.type == element::i8 ? "Gop/s" : "GFLOP/s";
        results.push_back({c.group, c.family, c.label, setting, unit, r->lanes(), r->roof(), r->wrong()});
        r.reset(); // its operands too
        std::cerr << entry_name(c) << std::endl;
    };
    benchmark::RegisterBenchmark(entry_name(c).c_str(), body)
        ->Iterations(1)
        ->Repetitions(rounds)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
}

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string rounded(double x) {
    std::ostringstream s;
    s << std::fixed;
    s.precision(x < 100 ? 1 : 0);
    s << x;
    return s.str();
}

facts machine(std::vector<int> const& threads, std::vector<contender*> const& field) {
    facts list{{"processor",
                cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) + " logical cores"}};
    for (int t : threads) {
        std::ostringstream s;
        for (auto [e, name] : {std::pair{element::f32, "float"},
                               {element::f64, "double"},
                               {element::bf16, "bf16"},
                               {element::i8, "int8"}})
            if (double const peak = arithmetic_peak(e, t); peak > 0)
                s << name << " " << rounded(peak) << " (" << arithmetic_unit(e) << "), ";
        s << "reading " << rounded(read_bandwidth(t, 256 << 20)) << " GB/s, copying "
          << rounded(copy_bandwidth(t)) << " GB/s";
        list.emplace_back("peak, " + std::to_string(t) + (t == 1 ? " thread" : " threads"), s.str());
    }
    for (contender* c : field) list.emplace_back(c->name(), c->version());
    return list;
}

arguments parse(int argc, char** argv) {
    arguments a;
    a.passed_on.push_back(argv[0]);
    bool has_out = false;
    for (int i = 1; i < argc; ++i) {
        std::string const arg = argv[i];
        if (arg.rfind("--threads=", 0) == 0) {
            a.threads.clear();
            std::istringstream in(arg.substr(10));
            for (std::string n; std::getline(in, n, ',');)
                a.threads.push_back(std::max(1, std::atoi(n.c_str())));
        } else if (arg == "--quick") {
            a.quick = true;
        } else if (arg.rfind("--report=", 0) == 0) {
            a.report = arg.substr(9);
        } else {
            if (arg.rfind("--benchmark_filter=", 0) == 0) {
                a.huge = arg.find("8192") != arg.npos;
                a.strassen = arg.find("strassen") != arg.npos;
            }
            has_out |= arg.rfind("--benchmark_out=", 0) == 0;
            a.passed_on.push_back(arg);
        }
    }
    if (!has_out) a.passed_on.push_back("--benchmark_out=host.json");
    return a;
}

// Our own table comes at the end; Google Benchmark's lines would be a dozen counters wide.
struct quiet : benchmark::BenchmarkReporter {
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const&) override {}
};

} // namespace

int main(int argc, char** argv) {
    arguments a = parse(argc, argv);
    std::vector<char*> rest;
    for (auto& s : a.passed_on) rest.push_back(s.data());
    int count = int(rest.size());
    benchmark::Initialize(&count, rest.data());
    if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 1;

    auto all = make_peers();
    all.insert(all.begin(), make_library());
    std::vector<contender*> field;
    for (auto& c : all) field.push_back(c.get());
    auto const strassen_and_base = make_strassen_and_base();
    std::vector<contender*> const two{strassen_and_base[0].get(), strassen_and_base[1].get()};

    facts const about = machine(a.threads, field);
    for (auto const& [key, value] : about) {
        std::cout << key << ": " << value << std::endl;
        benchmark::AddCustomContext(key, value);
    }

    std::vector<result> results;
    auto const race_all = [&](std::vector<bench_case> const& list, std::vector<contender*> const& of) {
        for (bench_case c : list) {
            if (a.quick && !c.quick) continue;
            long const each = c.p.count;
            for (int t : a.threads) {
                if (c.in_l1 && t > 1) continue;
                c.p.threads = t;
                c.p.count = c.in_cache ? each * t : each;
                register_case(c, of, a.quick, results);
            }
        }
    };
    race_all(cases(a.huge), field);
    if (a.strassen) race_all(strassen_cases(), two);
    quiet display;
    benchmark::RunSpecifiedBenchmarks(&display);
    benchmark::Shutdown();

    print_table(std::cout, results);
    std::ofstream out(a.report);
    write_html(out, "stratagemm on the CPU", about, results);
    if (!out) return std::cerr << "cannot write " << a.report << "\n", 1;
    return 0;
}
