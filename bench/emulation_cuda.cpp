// bench_emulation_cuda: FP64 and FP32 made of narrower products on a CUDA device, against the device's own products
// and cuBLAS's, native and emulated. Beside the options of program.hpp:
//
//   --sizes=1024,4096   instead of 1024 to 16384
//   --phases            instead of the race, where the time of each setting goes
//
// Entries are (u - 1/2) exp(g / 2), u uniform and g normal: 2 million drawn numbers, repeated. Errors are
// max |dC| / (|A||B|) of 200 elements. "/ native" is to the library's own product, "/ peer" to cuBLAS's native one.
// By contract a product is left to the native one where that is estimated to be faster; "always" does not ask.
#include "oracle.hpp"
#include "phases.hpp"
#include "program.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/split.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <limits>
#include <regex>
#include <sstream>

namespace sg = stratagemm;

namespace {

using namespace bench;

std::vector<long> sizes_of(options const& o) {
    if (!o.has("sizes")) return {1024, 2048, 4096, 8192, 16384};
    std::vector<long> sizes;
    std::istringstream in(o.value("sizes"));
    for (std::string n; std::getline(in, n, ',');) sizes.push_back(std::max(1L, std::atol(n.c_str())));
    return sizes;
}

std::vector<bench_case> cases(options const& o) {
    std::vector<bench_case> list;
    auto const sizes = sizes_of(o);
    auto const add = [&](element type, std::string family, long n) {
        list.push_back({"emulation",
                        std::move(family),
                        std::to_string(n),
                        {type, n, n, n, 0},
                        limit::arithmetic,
                        n == 1024 || n == 4096,
                        n > 8192 ? 3 : 5});
    };
    for (long const n : sizes) add(element::f64, "FP64", n), add(element::f32, "FP32", n);
    for (long const n : sizes)
        if (n == 4096 || o.has("sizes"))
            add(element::c64, "complex FP64", n), add(element::c32, "complex FP32", n);
    return list;
}

facts about(sg::cuda const& gpu) {
    std::time_t const now = std::time(nullptr);
    char date[16] = "";
    std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
    auto const& where = gpu.where();
    return {{"date", date},
            {"device", where.name + ", sm_" + std::to_string(where.capability)},
            {"rates", "of the product that was asked for; a bound with * is normwise"},
            {"stratagemm", "-O2, no -march"}};
}

// ---- phases ----------------------------------------------------------------------------------------------

template <class T>
sg::cuda::matrix<T> drawn(sg::cuda const& gpu, long n, unsigned seed) {
    auto const block = draw<T>(std::min(n * n, 2097143L), 0.5, seed);
    sg::matrix<T> const x(
        n, n, [&](sg::index_t i, sg::index_t j) { return block[std::size_t(i * n + j) % block.size()]; });
    return sg::cuda::matrix<T>(gpu, x);
}

// Of a kernel's name, or of what phases.hpp calls the rest.
char const* phase_of(std::string const& part) {
    for (char const* scale :
         {"measure", "cross_lines", "look", "try_counts", "scale_lines", "copies of tables"})
        if (part == scale) return "scale";
    for (char const* split : {"split", "plane", "take_apart", "as_real"})
        if (part == split) return "split";
    return part.rfind("products", 0) == 0 || part == "split_product" ? "products" : "reconstruct";
}

// Medians over rounds of the seconds of each part, by phases; and the whole, as the host sees it without events.
template <class Timed, class Plain, class T>
void print_phases(std::string const& name, phase_log& log, Timed const& timed, Plain const& plain,
                  sg::cuda::matrix<T> const& a, sg::cuda::matrix<T> const& b, sg::cuda::matrix<T>& c,
                  std::function<std::string()> const& ran) try {
    auto const p = sg::product(a.view(), b.view(), c.view());
    auto memory = plain.reserve(plain.workspace(p.shape()));
    memory.or_throw();
    constexpr int rounds = 5;
    std::vector<double> whole;
    std::map<std::string, std::vector<double>> parts;
    std::map<std::string, int> times;
    for (int round = 0; round <= rounds; ++round) { // the first one warms up
        timed(p, *memory).or_throw();
        auto const shares = log.take();
        plain.leaf().synchronize().or_throw();
        auto const start = std::chrono::steady_clock::now();
        plain(p, *memory).or_throw();
        plain.leaf().synchronize().or_throw();
        if (round == 0) continue;
        whole.push_back(seconds_since(start));
        for (auto const& [phase, share] : shares)
            parts[phase].push_back(share.seconds), times[phase] = share.times;
    }
    double const all = median(whole);
    std::map<std::string, double> shares; // of scale, split, products, reconstruct
    double rest = all;
    for (auto const& [part, seconds] : parts) {
        shares[phase_of(part)] += median(seconds);
        rest -= median(seconds);
    }
    std::printf("  %s, %.3f ms:", name.c_str(), all * 1e3);
    for (auto const& [phase, seconds] : shares)
        std::printf(" %s %.1f%%,", phase.c_str(), 100 * seconds / all);
    std::printf(" between these %.1f%%; %s\n", 100 * rest / all, ran().c_str());
    for (auto const& [part, seconds] : parts)
        std::printf("    %-12s %-22s %4d times %10.3f ms %6.1f%%\n", phase_of(part), part.c_str(),
                    times[part], median(seconds) * 1e3, 100 * median(seconds) / all);
    std::fflush(stdout);
} catch (std::exception const& e) {
    std::printf("  %s: %s\n", name.c_str(), e.what());
}

// The same over the plain backend, which may not leave it for speed either.
struct eager_cuda : sg::cuda {
    template <class S>
    double estimate(S const& s) const {
        return sizeof(typename S::a_type) > 2 ? std::numeric_limits<double>::infinity()
                                              : sg::cuda::estimate(s);
    }
};

template <class T>
void phases_of(sg::cuda const& gpu, long n) {
    phase_log log(gpu);
    timed_cuda const timed(gpu, log);
    eager_cuda const plain{gpu};
    auto const a = drawn<T>(gpu, n, 1), b = drawn<T>(gpu, n, 2);
    sg::cuda::matrix<T> c(gpu, n, n);
    auto const ozaki = [&](std::string const& name, sg::ozaki_options options) {
        sg::ozaki_report report;
        options.report = &report;
        print_phases(name, log, sg::ozaki{timed, options}, sg::ozaki{plain, options}, a, b, c,
                     [&] { return std::to_string(report.products) + " products: " + report.reason; });
    };
    ozaki("ozaki fp64, always", {.accuracy = sg::accuracy::fp64});
    ozaki("ozaki fp32, always", {.accuracy = sg::accuracy::fp32});
    for (int const count : {8, 15}) ozaki("ozaki, " + std::to_string(count) + " moduli", {.moduli = count});
    for (int const count : {4, 7}) ozaki("ozaki, " + std::to_string(count) + " slices", {.slices = count});
    if constexpr (std::is_same_v<T, float>)
        for (int const count : {3, 6, 9}) {
            sg::split_report report;
            sg::split_options const options{.products = count, .report = &report};
            print_phases("split, " + std::to_string(count) + " products", log, sg::split{timed, options},
                         sg::split{plain, options}, a, b, c, [&] { return std::string(report.reason); });
        }
}

int print_all_phases(options const& o) {
    std::regex const filter(o.filter, std::regex::extended); // as Google Benchmark reads it
    sg::cuda const gpu;
    if (sg::status s = gpu.ready(); !s) return std::cout << "skipped: " << s.error().what() << "\n", 77;
    for (auto const& [key, value] : about(gpu)) std::cout << key << ": " << value << "\n";
    std::cout << "phases: medians of 5, by events around each kernel; percent of a product without events\n";
    for (bench_case const& x : cases(o)) {
        bool const real = x.p.type == element::f64 || x.p.type == element::f32;
        if (!real || (o.quick && !x.quick) || !std::regex_search(x.name(), filter)) continue;
        std::cout << "\n" << x.family << ", " << x.label << std::endl;
        x.p.type == element::f64 ? phases_of<double>(gpu, x.p.n) : phases_of<float>(gpu, x.p.n);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    options o = parse(argc, argv, {"sizes", "phases"});
    if (o.has("phases")) return print_all_phases(o);
    o.rule.errors = true;
    return run("emulation_cuda", o, cases(o), [] {
        arena a{make_emulation_machine(), {}, about(sg::cuda())};
        a.fields.push_back(make_emulators(choice::speed));
        auto const add = [&](char const* name, std::unique_ptr<contender> peer) {
            if (peer)
                a.fields[0].push_back(std::move(peer));
            else
                a.about.emplace_back(name, "left out, no library here has it");
        };
        add("cuBLAS", make_cublas(*a.on));
        add("cuBLAS, emulation", make_cublas_emulation(*a.on));
        return a;
    });
}
