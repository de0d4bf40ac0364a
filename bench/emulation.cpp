// bench_emulation: FP64 and FP32 made of narrower products, against the native product and every peer
// installed. Its options are those of program.hpp.
//
// Errors are max |dC| / (|A||B|) over some rows. The rate of the tile unit is taken before each round: on
// some machines it drops to a quarter for seconds at a time. What takes longer than the patience for one
// product (2 s unless told otherwise) is left out; beyond 1024, so is what takes three times as long as the
// native product.
#include "program.hpp"

namespace {

using namespace bench;

std::vector<bench_case> cases(options const& o) {
    std::vector<bench_case> list;
    auto const add = [&](element type, long m, long n, int threads, bool quick) {
        problem const p{type, m, n, n, threads};
        list.push_back({"emulation", type == element::f64 ? "FP64" : "FP32",
                        m == n ? std::to_string(n) : times(m, n, n), p, limit::arithmetic, quick,
                        p.flops() > 50e9 * threads ? 3 : 5});
    };
    for (long n : {1000, 1024, 2047, 2048, 4095, 4096})
        for (int t : o.threads) {
            add(element::f64, n, n, t, n == 1024);
            if (n % 1024 == 0) add(element::f32, n, n, t, n == 1024);
        }
    for (long m : {64, 128}) // times a large B, which may be kept
        for (int t : o.threads) add(element::f64, m, 4096, t, false);
    return list;
}

} // namespace

int main(int argc, char** argv) {
    options o = parse(argc, argv);
    o.rule.errors = true;
    if (o.rule.patience > 1e9) o.rule.patience = 2;
    return run("emulation", o, cases(o), [] {
        arena a{make_host_machine(30e-3), {}};
        a.fields.push_back(make_emulators(choice::speed));
        for (auto& peer : make_peers()) a.fields[0].push_back(std::move(peer));
        a.about.emplace_back("rates",
                             "GFLOP/s of the product that was asked for; a bound with * is normwise");
        return a;
    });
}
