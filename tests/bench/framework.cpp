// The framework of the benchmarks, with contenders of its own: what a filter picks, that a wrong result does not
// race, what is reported, and which shapes a sweep draws. Nothing here depends on a time.
#include "../../bench/oracle.hpp"
#include "../../bench/sweep.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>

namespace {

using namespace bench;

int failures = 0;
void check(bool good, char const* what) {
    if (!good) std::printf("FAILED: %s\n", what), ++failures;
}

class naive final : public contender {
public:
    naive(std::string name, role part, float error, double promise = -1)
        : name_(std::move(name)), part_(part), error_(error), promise_(promise) {}
    std::string name() const override { return name_; }
    std::string version() const override { return "of the test"; }
    role part() const override { return part_; }
    bool takes(problem const& p) const override { return p.type == element::f32; }
    guarantee bound(problem const&) const override { return {promise_}; }
    double estimate(problem const&) const override { return 1; }
    void run(problem const& p, operands const& x) override {
        for (long c = 0; c < p.count; ++c)
            for (long i = 0; i < p.m; ++i)
                for (long j = 0; j < p.n; ++j) {
                    float sum = error_;
                    for (long l = 0; l < p.k; ++l)
                        sum += matrix_a<float>(p, x, c)[p.a_transposed ? l * p.m + i : i * p.k + l] *
                               matrix_b<float>(p, x, c)[p.b_transposed ? j * p.k + l : l * p.n + j];
                    matrix_c<float>(p, x, c)[i * p.n + j] = sum;
                }
    }

private:
    std::string name_;
    role part_;
    float error_;
    double promise_;
};

std::vector<bench_case> cases() {
    problem transposed{element::f32, 5, 3, 7};
    transposed.a_transposed = transposed.b_transposed = true;
    return {{"square", "sgemm", "8", {element::f32, 8, 8, 8}, limit::arithmetic, true, 2},
            {"square", "sgemm", "9, odd", {element::f32, 9, 9, 9}, limit::arithmetic, false, 2},
            {"square", "sgemm", "turned", transposed, limit::arithmetic, false, 2},
            {"square", "dgemm", "8", {element::f64, 8, 8, 8}, limit::arithmetic, false, 2},
            {"batched", "batched", "4", {element::f32, 4, 4, 4, 1, 3}, limit::memory, false, 2},
            {"square", "sgemm", "huge", {element::f32, 10, 10, 10}, limit::arithmetic, false, 2, "huge"}};
}

arena open() {
    arena a{make_host_machine(1e-5), {}};
    contenders& field = a.fields.emplace_back();
    field.push_back(std::make_unique<naive>("ours", role::library, 0.0f));
    field.push_back(std::make_unique<naive>("theirs", role::peer, 0.0f));
    field.push_back(std::make_unique<naive>("wrong", role::peer, 0.1f));
    return a;
}

struct outcome {
    int status;
    std::string out, err;
    std::vector<result> results;
};
// Google Benchmark keeps its flags from one run to the next.
outcome run_with(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"framework", "--threads=1", "--report=framework.html", "--benchmark_out=framework.json",
                      "--benchmark_filter=", "--benchmark_list_tests=false"});
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    std::ostringstream out, err;
    auto* const cout = std::cout.rdbuf(out.rdbuf());
    auto* const cerr = std::cerr.rdbuf(err.rdbuf());
    outcome x{};
    x.status = run("test", parse(int(argv.size()), argv.data()), cases(), open,
                   [&](std::vector<result>& all) { x.results = all; });
    std::cout.rdbuf(cout), std::cerr.rdbuf(cerr);
    x.out = out.str(), x.err = err.str();
    return x;
}

// Sides and transposition of the shapes of a seed; a third of the cases is int8, in fours.
void check_shapes() {
    sweep_domain const domain{.longest = 500,
                              .types = {element::f32, element::f64, element::i8},
                              .threads = {1, 2},
                              .turns_a = true,
                              .multiple_int8 = 4};
    auto const all = random_cases(7, 200, domain), again = random_cases(7, 100, domain);
    check(all.size() == 600 && again.size() == 300, "each shape in each type");
    long short_sides = 0, in_eights = 0, turned = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        problem const& p = all[i].p;
        for (long const side : {p.m, p.n, p.k}) {
            check(side >= 1 && side <= 500 && (p.type != element::i8 || side % 4 == 0),
                  "sides are within reach");
            if (p.type == element::f32) short_sides += side <= 22, in_eights += side > 22 && side % 8 == 0;
        }
        turned += p.a_transposed && p.b_transposed;
        check(p.threads == int(i / 3 % 2 + 1), "numbers of threads take turns");
        if (i < again.size())
            check(all[i].name() == again[i].name(), "a seed draws the same shapes, however many");
        if (p.type == element::f64)
            check(p.m == all[i - 1].p.m && p.k == all[i - 1].p.k, "whatever the type");
    }
    check(short_sides > 240 && short_sides < 360, "half of the logarithms are below the middle");
    check(in_eights > 120 && in_eights < 240, "half of the longer sides are multiples of 8");
    check(turned > 100 && turned < 200, "a quarter has both operands transposed");
    check(random_cases(8, 1, domain)[0].name() != all[0].name(), "another seed draws others");
}

// `ours` against a peer that is right.
outcome sweep_with(std::vector<std::string> arguments, float error, double promise) {
    arguments.insert(arguments.begin(),
                     {"framework", "--count=20", "--rounds=2", "--benchmark_out=sweep.json",
                      "--benchmark_filter=", "--report=sweep.html"});
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    std::ostringstream out;
    auto* const cout = std::cout.rdbuf(out.rdbuf());
    outcome x{};
    x.status = run_sweep("test", parse(int(argv.size()), argv.data(), sweep_options()),
                         {.longest = 30, .types = {element::f32}, .threads = {1}, .turns_a = true}, [&] {
                             arena a{make_host_machine(1e-5), {}};
                             contenders& field = a.fields.emplace_back();
                             field.push_back(std::make_unique<naive>("ours", role::library, error, promise));
                             field.push_back(std::make_unique<naive>("theirs", role::peer, 0.0f));
                             field.push_back(std::make_unique<naive>("shown", role::information, 0.0f));
                             return a;
                         });
    std::cout.rdbuf(cout);
    x.out = out.str();
    return x;
}

void check_sweep() {
    auto const has = [](outcome const& x, char const* text) { return x.out.find(text) != x.out.npos; };
    outcome const good = sweep_with({"--sweep"}, 0, 40 * 0x1p-24);
    check(good.status == 0 && has(good, "ratio to the best peer") && has(good, "worst of float, 1 thread"),
          "a sweep ends with a summary");
    check(has(good, "theirs") && !has(good, "shown"), "of the library and its peers");
    outcome const slightly = sweep_with({"--sweep"}, 5e-7f, 1);
    check(slightly.status == 0, "a result may differ from a peer's within its bound");
    outcome const careless = sweep_with({"--sweep"}, 5e-7f, 1e-9);
    check(careless.status == 1 && has(careless, "ours: beyond its error bound where theirs differs"),
          "and not beyond it");
    outcome const estimated = sweep_with({"--estimate"}, 0, 40 * 0x1p-24);
    check(estimated.status == 0 && has(estimated, "predicted 1000000 us") && !has(estimated, "theirs"),
          "predicted against measured, without peers");
    std::stringstream page;
    page << std::ifstream("sweep.html").rdbuf();
    auto const count = [&](std::string const& text) {
        long times = 0;
        for (auto at = page.str().find(text); at != std::string::npos; at = page.str().find(text, at + 1))
            ++times;
        return times;
    };
    check(count("<circle") == 20 && count("<svg") == 1, "a picture with a point for each case");
}

// The rows of C that the oracle asks for, by a plain loop over operands that repeat; then one element wrong, or NaN.
template <class T>
void check_sampled(element type) {
    problem const p{type, 37, 29, 23};
    auto const a = draw<T>(101, 0.5, 1), b = draw<T>(97, 0.5, 2);
    sampled_oracle<T> const judge(p, a, b);
    check(judge.rows().size() == 8 && judge.rows().front() == 0 && judge.rows().back() == 36,
          "the first row, the last one, and some between");
    std::vector<T> c;
    for (long const i : judge.rows())
        for (long j = 0; j < p.n; ++j) {
            T sum{};
            for (long l = 0; l < p.k; ++l)
                sum += a[std::size_t(i * p.k + l) % a.size()] * b[std::size_t(l * p.n + j) % b.size()];
            c.push_back(sum);
        }
    double const u = stratagemm::unit_roundoff<T>();
    check(judge.error(c.data()) < 30 * u, "a plain loop is accurate");
    T& last = c.back();
    last += stratagemm::real_t<T>(0.5);
    check(judge.error(c.data()) > 1e-3, "a wrong element is found");
    c.front() = T(std::numeric_limits<stratagemm::real_t<T>>::quiet_NaN());
    check(!(judge.error(c.data()) < 1), "NaN is an error");
}

// What is run of the cases above.
void check_choice() {
    check(run_with({"--benchmark_filter=sgemm/7"}).status == 1, "a filter that matches no case is an error");
    check(run_with({"--benchmark_filter=("}).status == 1, "and so is one that is no regular expression");
    check(run_with({"--benchmark_list_tests", "--benchmark_filter=sgemm/7"}).status == 1, "of a list, too");
    outcome const list = run_with({"--benchmark_list_tests", "--benchmark_filter=gemm/(8|huge)"});
    check(list.out == "sgemm/8/threads:1/iterations:2/manual_time\n"
                      "dgemm/8/threads:1/iterations:2/manual_time\n"
                      "sgemm/huge/threads:1/iterations:2/manual_time\n",
          "a list of what matches");
    check(run_with({"--quick"}).results.size() == 1, "--quick runs the cases that are marked");
    check(run_with({"--benchmark_filter=sgemm/huge"}).results.size() == 1,
          "a case that is run only if it is named, named");
    check(run_with({"--benchmark_filter=dgemm"}).status == 77,
          "what our contender does not take is not raced");
}

// Google Benchmark's own reports. The last check here, because no flag takes back --benchmark_repetitions.
void check_json() {
    auto const has = [](std::string const& text, char const* part) { return text.find(part) != text.npos; };
    outcome const shown = run_with({"--benchmark_format=json", "--quick", "--benchmark_repetitions=2"});
    check(shown.status == 0 && shown.results.size() == 2, "two repetitions are two races");
    std::stringstream file;
    file << std::ifstream("framework.json").rdbuf();
    for (std::string const& json : {shown.out, file.str()}) {
        check(json.starts_with("{\n") && json.ends_with("}\n"), "nothing but JSON");
        for (char const* part :
             {"\"processor\": ", "\"theirs\": \"of the test\"", "/manual_time_median\"", "\"iterations\": 2",
              "\"label\": \"theirs\"", "\"GFLOP/s\": ", "\"theirs\": ", "\"ratio\": ", "\"error\": "})
            check(has(json, part), part);
        check(!has(json, "\"wrong\": 0"), "a wrong result has no rate");
    }
    check(has(shown.err, "ratio to the best peer"), "our tables go to stderr then");
}

} // namespace

int main() {
    check_sampled<double>(element::f64);
    check_sampled<float>(element::f32);
    check_sampled<std::complex<double>>(element::c64);
    check_sampled<std::complex<float>>(element::c32);

    check_shapes();
    check_sweep();

    check_choice();

    outcome const all = run_with({});
    check(all.status == 0 && all.results.size() == 4, "all cases but the two above");
    for (result const& r : all.results) {
        check(r.lanes.size() == 2 && r.left_out.size() == 1, "a wrong result is left out");
        check(r.ratio() > 0 && r.lanes[0].rates.size() == 2, "two rounds give a ratio");
    }
    check(all.out.find("left out: wrong: wrong result") != all.out.npos, "and the table says so");
    std::string line;
    std::ifstream html("framework.html");
    check(bool(std::getline(html, line)) && line.find("<!doctype html>") == 0, "a page of HTML");
    check(run_with({"--rounds=3", "--quick"}).results[0].lanes[0].rates.size() == 3, "--rounds");
    check_json();

    result r{};
    r.lanes = {{"ours", role::library, {4, 9, 8}, -1, "", -1, {}, -1},
               {"theirs", role::peer, {2, 3, 8}, -1, "", -1, {}, -1}};
    check(r.ratio() == 2, "the median of the ratios within rounds");
    return failures != 0;
}
