// bench_against: two versions of the library, against_contenders.cpp compiled with the headers of each, case
// by case and in turn, since a machine's clock wanders from one second to the next:
//
//   bench_against --backend=host|emulation|opencl|cuda --other=LIBRARY --this=LIBRARY [as in program.hpp]
//
// Ratios are this version's speed to the other's; the slowest case comes first.
#include "program.hpp"
#ifdef STRATAGEMM_BENCH_OPENCL
#    include "opencl_machine.hpp"
#endif

#include <dlfcn.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>

namespace {

using namespace bench;

contenders load(std::string const& file, role part, void* queue = nullptr) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    contenders all;
    reinterpret_cast<void (*)(role, void*, contenders&)>(dlsym(library, "make_contenders"))(part, queue, all);
    return all;
}

std::vector<bench_case> list;
bench_case& add(std::string const& family, std::string const& label, problem const& p) {
    list.push_back({"this version", family, label, p, limit::arithmetic, false, p.flops() > 2e9 ? 5 : 13});
    return list.back();
}
problem& add(std::string const& family, problem const& p, std::string const& more = "") {
    return add(family, times(p.m, p.n, p.k) + more, p).p;
}

void add_real(std::string const& name, element type, int threads) {
    for (long n : {4, 6, 8, 15, 16, 24, 31, 32})
        add(name, "batch of " + std::to_string(n), {type, n, n, n, threads, 200});
    for (long n : {5, 16, 33, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2048})
        add(name, {type, n, n, n, threads});
    for (member const& x : {member{3, 500, 500},
                            {500, 7, 500},
                            {9, 500, 100},
                            {4096, 16, 4096},
                            {64, 64, 16384},
                            {2000, 100, 30},
                            {1, 2000, 2000},
                            {2000, 1, 2000}})
        add(name, {type, x.m, x.n, x.k, threads});
    add(name, {type, 1, 2000, 2000, threads}, " NT").b_transposed = true;
    problem p{type, 400, 410, 390, threads};
    p.a_transposed = true, add(name, p, " TN");
    p.b_transposed = true, add(name, p, " TT");
    p.a_transposed = false, add(name, p, " NT");
    for (long k : {300, 900}) {
        add(name, {type, 500, 500, k, threads}, " relu").relu = true;
        add(name, {type, 500, 500, k, threads}, " added matrix").added = true;
    }
}

void add_host() {
    using enum element;
    for (int const threads : {1, 2}) {
        add_real("float", f32, threads), add_real("double", f64, threads);
        for (long n : {64, 500, 1024})
            for (auto const& [name, type] :
                 {std::pair{"complex float", c32}, {"half", f16}, {"bfloat16", bf16}, {"int8", i8}})
                add(name, {type, n, n, n, threads});
    }
}

void add_device(bool cuda) {
    using enum element;
    std::vector<std::pair<std::string, element>> all{
        {"float", f32}, {"half", f16}, {"complex float", c32}, {"int8", i8}};
    if (cuda) all.insert(all.end(), {{"double", f64}, {"bfloat16", bf16}});
    for (auto const& [name, type] : all) {
        for (long n : {64, 500, 1024, 4096}) {
            if (n == 4096 && !cuda) continue;
            add(name, {type, n, n, n, 0});
            add(name, {type, n, n, n, 0}, " TN").a_transposed = true;
            if (type == c32) continue;
            problem& p = add(name, {type, n, n, n, 0}, " added matrix, relu");
            p.added = p.relu = true;
        }
        long const n = cuda ? 4096 : 1024;
        add(name, {type, n, 1, n, 0}), add(name, {type, n, 16, n, 0}), add(name, {type, 64, 64, 16 * n, 0});
    }
}

// Each policy of emulation is a field: it meets itself.
void add_layers(contenders const& ours) {
    for (int const threads : {1, 2})
        for (std::size_t i = 0; i < ours.size(); ++i)
            for (auto const& [name, type] : {std::pair{"double", element::f64},
                                             {"float", element::f32},
                                             {"complex double", element::c64}})
                for (long n : {64, 300, 1024})
                    if (problem const p{type, n, n, n, threads}; ours[i]->takes(p))
                        add(ours[i]->name() + ", " + name, std::to_string(n), p).field = i;
}

arena open(options const& o) {
    std::string const backend = o.value("backend");
    arena a;
    void* queue = nullptr;
#ifdef STRATAGEMM_BENCH_OPENCL
    if (backend == "opencl") {
        static stratagemm::opencl const device;
        device.ready().or_throw();
        queue = device.queue();
        a.on = make_opencl_machine(device.queue(), {{"device", device.where().name}});
    }
#endif
    if (backend == "cuda") a.on = make_cuda_machine();
    if (backend == "host" || backend == "emulation") a.on = make_host_machine(5e-3);
    if (!a.on) throw std::runtime_error("no " + backend + " device here");
    contenders ours = load(o.value("this"), role::library, queue),
               others = load(o.value("other"), role::peer, queue);
    for (std::size_t i = 0; i < ours.size(); ++i) {
        a.fields.emplace_back().push_back(std::move(ours[i]));
        a.fields.back().push_back(std::move(others[i]));
    }
    return a;
}

} // namespace

int main(int argc, char** argv) try {
    options o = parse(argc, argv, {"backend", "other", "this"});
    o.rule.alternate = true;
    std::string const backend = o.value("backend");
    if (!o.has("other") || !o.has("this"))
        throw std::runtime_error("--backend=, --other= and --this=, please");
    if (backend == "emulation")
        add_layers(load(o.value("this"), role::library));
    else if (backend == "host")
        add_host();
    else
        add_device(backend == "cuda");
    return run(
        "against", o, list, [&] { return open(o); },
        [](std::vector<result>& all) {
            std::stable_sort(all.begin(), all.end(),
                             [](result const& x, result const& y) { return x.ratio() < y.ratio(); });
        });
} catch (std::exception const& e) {
    return std::cerr << e.what() << "\n", 2;
}
