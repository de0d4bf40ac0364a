// bench_emulation: FP64 and FP32 made of narrower products, against the native product and every peer installed.
//
//   bench_emulation [--threads=1,2] [--quick] [--patience=SECONDS] [Google Benchmark's options]
//
// As in bench_host a case is one entry, its repetitions are the rounds, and within a round all run in turn. Errors
// are max |dC| / (|A||B|) over some rows. The rate of the tile unit is taken before each round: on some machines it
// drops to a quarter for seconds at a time. Ratios are of rounds in which it was at least 0.6 of the best rate seen;
// of the others, if any, they are given by themselves. What takes longer than `patience` for one product (2 s unless
// told otherwise), or would to judge by a smaller one, is left out; beyond 1024, so is what takes three times as long as
// the native product.
#include "emulators.hpp"
#include "oracle.hpp"
#include "peaks.hpp"
#include "race.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

namespace {

using namespace bench;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

struct arguments {
    std::vector<int> threads = std::thread::hardware_concurrency() > 1 ? std::vector{1, 2} : std::vector{1};
    bool quick = false;
    double patience = 2;
    std::vector<std::string> passed_on;
};

struct racer {
    contender* who = nullptr;
    emulator* ours = nullptr; // if it is
    double seconds = 0;
    double error = 0;
    std::string ran;
    std::vector<double> gflops; // one a round
};

std::string dimensions(problem const& p) {
    std::string const n = std::to_string(p.n);
    return p.m == p.n && p.k == p.n ? n : std::to_string(p.m) + "x" + n + "x" + std::to_string(p.k);
}

// ---- one case --------------------------------------------------------------------------------------------

double best_tile_rate = 0;                            // seen so far, for one thread
std::map<std::pair<std::string, int>, double> speeds; // of the last case, by name and type and threads

template <class T>
class contest {
public:
    contest(problem const& p, std::vector<contender*> const& field, double patience)
        : p_(p), a_(draw(p.m * p.k, 1)), b_(draw(p.k * p.n, 2)), c_(std::size_t(p.m * p.n)),
          judge_(p, a_.data(), b_.data(), 8) {
        double limit = patience;
        for (contender* who : field) { // native is the first
            if (!who->takes(p) || who->part() == role::information) continue;
            double const speed = speeds[key(who)];
            if (speed > 0 && p.flops() / speed > limit) {
                left_out_ += (left_out_.empty() ? "" : "; ") + who->name();
                continue;
            }
            racer r;
            r.who = who, r.ours = dynamic_cast<emulator*>(who);
            try_out(r);
            if (r.seconds > limit) {
                left_out_ += (left_out_.empty() ? "" : "; ") + who->name();
                continue;
            }
            if (racers_.empty() && p.flops() > 3e9) limit = std::min(limit, 3 * r.seconds);
            racers_.push_back(std::move(r));
        }
    }

    void round() {
        tiles_.push_back(arithmetic_peak(element::i8, p_.threads) / p_.threads);
        best_tile_rate = std::max(best_tile_rate, tiles_.back());
        for (racer& r : racers_) r.gflops.push_back(sample(r));
    }
    std::vector<racer> const& racers() const { return racers_; }
    std::size_t rounds() const { return tiles_.size(); }

    void print(char const* type) const {
        std::vector<std::size_t> fast, slow;
        for (std::size_t i = 0; i < tiles_.size(); ++i)
            (tiles_[i] >= 0.6 * best_tile_rate ? fast : slow).push_back(i);
        auto const [least, most] = std::minmax_element(tiles_.begin(), tiles_.end());
        std::printf(
            "\n%s, %s, %d thread%s; tile unit %.0f to %.0f Gop/s a thread, fast in %zu rounds of %zu\n", type,
            dimensions(p_).c_str(), p_.threads, p_.threads == 1 ? "" : "s", *least, *most, fast.size(),
            tiles_.size());
        std::printf("  %-20s %9s %9s %9s %9s %9s  %s\n", "", "GFLOP/s", "/ native", "/ peer", "error",
                    "bound", "what ran");
        racer const* native = nullptr;
        racer const* peer = nullptr;
        for (racer const& r : racers_) {
            if (r.who->name() == "native") native = &r;
            if (!r.ours && (!peer || median(r.gflops) > median(peer->gflops))) peer = &r;
        }
        for (auto const* rounds : {&fast, &slow}) {
            if (rounds->empty()) continue;
            if (rounds == &slow) std::printf("  while the tile unit was slow\n");
            for (racer const& r : racers_) {
                std::printf("  %-20s %9.1f %9s %9s %9.1e", r.who->name().c_str(), median(pick(r, *rounds)),
                            ratio(r, native, *rounds).c_str(), ratio(r, peer, *rounds).c_str(), r.error);
                if (r.ours)
                    std::printf(" %9.1e%s %s\n", r.ours->bound(p_).worst,
                                r.ours->bound(p_).normwise ? "*" : " ", r.ran.c_str());
                else
                    std::printf("%s\n", &r == peer ? "             best peer" : "");
            }
        }
        if (!left_out_.empty()) std::printf("  left out, since slow: %s\n", left_out_.c_str());
        std::fflush(stdout);
    }

private:
    // (u - 1/2) exp(g / 2): exponents as in data that nobody has scaled.
    static std::vector<T> draw(long count, unsigned seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> g;
        std::vector<T> x(static_cast<std::size_t>(count));
        for (T& v : x)
            v = static_cast<T>((double(random() >> 11) * 0x1p-53 - 0.5) * std::exp(0.5 * g(random)));
        return x;
    }
    std::pair<std::string, int> key(contender* who) const {
        return {who->name() + (p_.type == element::f64 ? " d" : " s"), p_.threads};
    }
    operands view() { return {a_.data(), b_.data(), c_.data()}; }

    void try_out(racer& r) {
        std::memset(c_.data(), 0xff, c_.size() * sizeof(T));
        r.who->prepare(p_, view());
        auto const start = clock::now();
        r.who->run(p_, view());
        r.seconds = seconds_since(start);
        speeds[key(r.who)] = p_.flops() / r.seconds;
        r.error = judge_.error(c_.data());
        if (r.ours) r.ran = r.ours->ran();
    }
    double sample(racer& r) {
        // Thread pools spin for a while after their work and would slow the next one.
        if (p_.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        r.who->prepare(p_, view());
        if (r.seconds < 0.1) r.who->run(p_, view()); // untimed: the clock of this instruction mix
        int runs = 0;
        double elapsed = 0;
        for (auto const start = clock::now(); elapsed < 30e-3; elapsed = seconds_since(start), ++runs)
            r.who->run(p_, view());
        return p_.flops() * runs / elapsed * 1e-9;
    }
    static std::vector<double> pick(racer const& r, std::vector<std::size_t> const& rounds) {
        std::vector<double> x;
        for (std::size_t i : rounds) x.push_back(r.gflops[i]);
        return x;
    }
    static std::string ratio(racer const& r, racer const* to, std::vector<std::size_t> const& rounds) {
        if (!to) return "-";
        std::vector<double> x;
        for (std::size_t i : rounds) x.push_back(r.gflops[i] / to->gflops[i]);
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", median(x));
        return text;
    }

    problem p_;
    std::vector<T> a_, b_, c_;
    oracle<T> judge_;
    std::vector<racer> racers_;
    std::vector<double> tiles_;
    std::string left_out_;
};

// ---- all of them -----------------------------------------------------------------------------------------

template <class T>
void register_case(problem const& p, std::vector<contender*> const& field, double patience) {
    int const rounds = p.flops() > 50e9 * p.threads ? 3 : 5;
    std::string const type = sizeof(T) == 8 ? "FP64" : "FP32";
    std::string const name = type + "/" + dimensions(p) + "/threads:" + std::to_string(p.threads);
    auto const current = std::make_shared<std::unique_ptr<contest<T>>>();
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=, &field](benchmark::State& state) {
                                     auto& c = *current;
                                     if (!c) c = std::make_unique<contest<T>>(p, field, patience);
                                     for (auto _ : state) {
                                         c->round();
                                         state.SetIterationTime(p.flops() * 1e-9 /
                                                                c->racers().front().gflops.back());
                                     }
                                     for (racer const& r : c->racers())
                                         state.counters[r.who->name()] = r.gflops.back();
                                     if (c->rounds() < std::size_t(rounds)) return;
                                     c->print(type.c_str());
                                     c.reset();
                                 })
        ->Iterations(1)
        ->Repetitions(rounds)
        ->UseManualTime();
}

arguments parse(int argc, char** argv) {
    arguments a;
    for (int i = 0; i < argc; ++i) {
        std::string const arg = argv[i];
        if (arg.rfind("--threads=", 0) == 0) {
            a.threads.clear();
            std::istringstream in(arg.substr(10));
            for (std::string n; std::getline(in, n, ',');)
                a.threads.push_back(std::max(1, std::atoi(n.c_str())));
        } else if (arg == "--quick") {
            a.quick = true;
        } else if (arg.rfind("--patience=", 0) == 0) {
            a.patience = std::atof(arg.c_str() + 11);
        } else if (arg.rfind("--report=", 0) != 0) { // there is no report of this race
            a.passed_on.push_back(arg);
        }
    }
    return a;
}

struct quiet : benchmark::BenchmarkReporter { // the tables are ours
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

    auto const ours = make_emulators(choice::speed);
    auto const peers = make_peers();
    std::vector<contender*> field;
    for (auto& e : ours) field.push_back(e.get());
    for (auto& c : peers) field.push_back(c.get());
    for (auto& c : peers) std::cout << c->name() << ": " << c->version() << "\n";
    for (int t : a.threads)
        std::cout << "peak, " << t << (t == 1 ? " thread" : " threads") << ": int8 "
                  << arithmetic_peak(element::i8, t) << ", bf16 " << arithmetic_peak(element::bf16, t)
                  << ", float " << arithmetic_peak(element::f32, t) << ", double "
                  << arithmetic_peak(element::f64, t) << " GFLOP/s\n";
    std::cout << "GFLOP/s of the product that was asked for, medians; a bound with * is normwise"
              << std::endl;

    for (long n : {1000, 1024, 2047, 2048, 4095, 4096})
        for (int t : a.threads) {
            if (a.quick && n != 1024) continue;
            register_case<double>({element::f64, n, n, n, t}, field, a.patience);
            if (n % 1024 == 0) register_case<float>({element::f32, n, n, n, t}, field, a.patience);
        }
    for (long m : {64, 128}) // times a large B, which may be kept
        for (int t : a.threads)
            if (!a.quick) register_case<double>({element::f64, m, 4096, 4096, t}, field, a.patience);
    quiet display;
    benchmark::RunSpecifiedBenchmarks(&display);
    benchmark::Shutdown();
    return 0;
}
