// bench_host: the CPU backend against every peer installed; where the filter names strassen, strassen{host} against
// its base, and peeling of odd sides against padding; where it names verified, verified{host} against its base; where it
// names loaded, the backend and its peers beside a program that keeps every processor busy; and, where it names weights,
// floats times weights of bfloat16 against floats times floats.
// Its options are those of program.hpp, sweep.hpp and roofline.hpp, and
//   --invariant   host{.invariant = true} against host{}, and no other: what the order of sums costs
#include "roofline.hpp"
#include "sweep.hpp"

#include <csignal>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace bench;

struct listed_case : bench_case {
    bool in_cache = false; // a batch that each thread's cache holds: its count is for each thread
    bool in_l1 = false;    // done in a microsecond, so not worth a second thread to anyone
};

std::vector<listed_case> listed() {
    std::vector<listed_case> list;
    auto const add = [&](std::string group, std::string family, std::string label, problem const& p,
                         bool quick = false) -> listed_case& {
        list.push_back(
            {{std::move(group), std::move(family), std::move(label), p, limit::arithmetic, quick}});
        return list.back();
    };
    auto const floats = {element::f32, element::f64}; // the order of the cases is that of the report
    auto const gemm = [](element type) -> std::string { return type == element::f32 ? "sgemm" : "dgemm"; };

    for (element const type : floats)
        for (long n : {64, 128, 256, 512, 1000, 1023, 1024, 2048, 4096, 8192}) {
            bool const quick = n == 256 || n == 1024 || (type == element::f32 && n == 64);
            auto& c = add("square", gemm(type), std::to_string(n), {type, n, n, n}, quick);
            if (n == 8192) c.only_if = "8192"; // half a minute each
        }
    for (element const type : floats) {
        add("transposed", gemm(type) + " transposed", "TN 1024", {type, 1024, 1024, 1024}).p.a_transposed =
            true;
        add("transposed", gemm(type) + " transposed", "NT 1024", {type, 1024, 1024, 1024}).p.b_transposed =
            true;
    }
    for (element const type : floats)
        for (member const& x : {member{64, 64, 65536}, {4096, 16, 4096}})
            add("skinny", gemm(type) + " skinny", times(x.m, x.n, x.k), {type, x.m, x.n, x.k},
                type == element::f32);
    for (element const type : floats)
        add("matrix-vector", type == element::f32 ? "sgemv" : "dgemv", "4096", {type, 4096, 1, 4096},
            type == element::f32)
            .bound = limit::memory;
    for (auto const& [place, bytes] : {std::pair{"batched, in L1", 24 << 10},
                                       {"batched, in L2", 384 << 10},
                                       {"batched, from memory", 96 << 20}})
        for (long n : {4, 8, 16, 32}) {
            auto& c =
                add("batched", place, std::to_string(n) + "x" + std::to_string(n), {element::f32, n, n, n});
            c.p.count = bytes / (3 * n * n * 4);
            c.in_cache = bytes < 1 << 20;
            c.in_l1 = bytes < 32 << 10;
            c.bound = c.in_cache ? limit::arithmetic : limit::memory;
            c.quick = n == 8 && c.in_cache;
        }
    for (element const type : {element::bf16, element::i8})
        for (long n : {1024, 2048, 4096})
            add("bf16 and int8", type == element::i8 ? "int8 to int32" : "bf16 to float", std::to_string(n),
                {type, n, n, n}, n == 1024);
    for (element const type : floats)
        for (long n : {1024, 2048, 4096, 8192}) {
            auto& c = add("strassen to its base", gemm(type) + " strassen", std::to_string(n),
                          {type, n, n, n}, n == 4096);
            c.rounds = n < 8192 ? 7 : 3, c.only_if = "strassen", c.field = 1;
        }
    for (element const type : floats)
        for (long n : {1024, 2048, 4096, 8192}) {
            auto& c = add("verified to its base", gemm(type) + " verified", std::to_string(n),
                          {type, n, n, n}, n == 1024);
            c.rounds = n < 4096 ? 7 : 3, c.only_if = "verified", c.field = 4;
        }
    for (element const type : floats)
        for (long n : {128, 256, 512, 1024}) {
            auto& c =
                add("beside a busy program", gemm(type) + " loaded", std::to_string(n), {type, n, n, n});
            c.rounds = 9, c.only_if = "loaded";
        }
    for (int const levels : {1, 2})
        for (long n : {1025, 2049, 3001}) {
            auto& c = add("odd sides", "sgemm strassen " + std::to_string(levels) + " levels",
                          std::to_string(n), {element::f32, n, n, n});
            c.rounds = 7, c.only_if = "strassen", c.field = std::size_t(1 + levels);
        }
    for (bench_case& c : cases_of_weights(1, 5)) list.push_back({std::move(c)});
    return list;
}

// Processes that compute for as long as this is there, one for each processor.
class load {
public:
    load() {
        for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
            pid_t const child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); // as long as this process at the most
                for (unsigned long volatile x = 0;;) x = x + 1;
            }
            if (child > 0) children_.push_back(child);
        }
    }
    load(load const&) = delete;
    load& operator=(load const&) = delete;
    ~load() {
        for (pid_t const child : children_) kill(child, SIGKILL);
    }

private:
    std::vector<pid_t> children_;
};

// Each with all numbers of threads.
std::vector<bench_case> cases(options const& o) {
    std::vector<bench_case> all;
    for (listed_case const& c : listed())
        for (int const t : o.threads) {
            if (c.in_l1 && t > 1) continue;
            all.push_back(c);
            problem& p = all.back().p;
            p.threads = t;
            if (c.in_cache) p.count *= t;
            if (c.field == 0 && p.flops() > 25e9 * t) all.back().rounds = 3;
        }
    return all;
}

ceilings most_of_host(int threads) {
    ceilings most;
    for (element const type : {element::f32, element::f64, element::bf16, element::i8})
        if (double const rate = arithmetic_peak(type, threads); rate > 0)
            most.units.push_back({type, arithmetic_unit(type), rate});
    most.levels = memory_levels(threads);
    return most;
}

} // namespace

int main(int argc, char** argv) {
    options const o = parse(argc, argv, sweep_options(roofline_options({"invariant"})));
    bool const estimates = o.has("estimate"), loaded = o.asks_for("loaded") && !o.list;
    // Samples of a loaded machine hold many turns of the scheduler.
    double const sample = estimates                                   ? 1e-3
                          : loaded                                    ? 0.4
                          : asks_for_sweep(o) || asks_for_roofline(o) ? 5e-3
                                                                      : 20e-3;
    std::unique_ptr<load> const beside(loaded ? new load : nullptr);
    auto const open = [&] {
        // Many short samples: the median leaves out those in which something else took a processor for a while.
        arena a{make_host_machine(sample), {}};
        if (o.has("invariant")) {
            a.fields.push_back(make_invariant());
            return a;
        }
        a.fields.push_back(make_libraries());
        for (auto& peer : make_peers()) a.fields[0].push_back(std::move(peer));
        a.fields.push_back(make_strassen());
        for (int const levels : {1, 2}) a.fields.push_back(make_odd_sides(levels));
        a.fields.push_back(make_verified());
        a.fields.push_back(make_host_weights());
        return a;
    };
    using enum element;
    if (asks_for_sweep(o))
        return run_sweep("host", o,
                         {.longest = 3000,
                          .types = {f32, f64, bf16, i8},
                          .threads = o.threads,
                          .turns_a = true,
                          .rounds = estimates ? 25 : 9},
                         open);
    if (asks_for_roofline(o))
        return run_roofline("host", o,
                            {.types = {f32, f64, bf16, i8},
                             .squares = {16, 32, 64, 128, 256, 512, 1024, 2048},
                             .rows = {1, 2, 4, 8, 16, 64, 256},
                             .sums = {1, 2, 4, 8, 16, 64, 256},
                             .side = 1024,
                             .threads = o.threads,
                             .measure = most_of_host},
                            open);
    return run("host", o, cases(o), open);
}
