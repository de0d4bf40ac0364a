// bench_cuda: the CUDA backend against cuBLAS, on one device and one stream; where the filter names strassen,
// strassen{cuda} against cuBLAS and its base; where it names verified, verified{cuda} against its base; and, where it
// names weights, floats times weights of bfloat16 against floats times floats. Beside the options of
// program.hpp and sweep.hpp:
//
//   --tile=ENGINE,M,N,K,MICRO_M,MICRO_N,STAGES,GROUP,CLUSTER,PARTS,BESIDE
//                      one tile, by the place of its engine in engines.hpp, for every product that can use it
//   --invariant        cuda{.invariant = true} against cuda{} instead of cuBLAS: what the order costs
//
// Times are those of events, operands are random, and there are so many sets of them that none is in the
// cache from the product before (peers/cublas.cpp).
#include "cuda_ceilings.hpp"
#include "sweep.hpp"
#include "weights.hpp"

#include <stratagemm/algorithm/verified.hpp>
#include <stratagemm/backend/cuda.hpp>

#include <cstdlib>
#include <ctime>
#include <stdexcept>

namespace sg = stratagemm;

namespace {

using namespace bench;

// Products whose sides are drawn at random. Matrices begin at multiples of 16 elements.
problem group(element type, int count, int least, int most) {
    unsigned seed = 7;
    auto const side = [&]() -> long {
        seed = seed * 1664525u + 1013904223u;
        return least + long((seed >> 16) % unsigned(most - least + 1));
    };
    problem p{type, most, most, most, 0};
    long a = 0, b = 0, c = 0;
    auto const reserve = [](long& at, long size) { return std::exchange(at, at + (size + 15) / 16 * 16); };
    for (int i = 0; i < count; ++i) {
        long const m = side(), n = side(), k = side();
        p.group.push_back({m, n, k, reserve(a, m * k), reserve(b, k * n), reserve(c, m * n)});
    }
    return p;
}

std::vector<bench_case> cases() {
    std::vector<bench_case> list;
    auto const add = [&](std::string group, std::string name, std::string label, problem const& p,
                         bool quick = false) {
        list.push_back({std::move(group), std::move(name), std::move(label), p, limit::arithmetic, quick, 7});
    };
    for (long n : {256, 512, 1000, 1024, 2048, 4095, 4096, 8192, 16384})
        for (auto const& [name, type] : {std::pair{"sgemm", element::f32},
                                         {"dgemm", element::f64},
                                         {"bf16", element::bf16_bf16},
                                         {"fp16", element::f16_f16},
                                         {"tf32", element::tf32},
                                         {"int8", element::i8},
                                         {"fp8", element::fp8_bf16},
                                         {"cgemm", element::c32},
                                         {"zgemm", element::c64}}) {
            if (n > 8192 && (type == element::c32 || type == element::c64)) continue;
            problem p{type, n, n, n, 0};
            p.b_transposed = size_of(type) == 1; // cuBLAS wants B of int8 along k
            add("square", name, times(n, n, n), p, n == 1024 || n == 4096);
        }
    for (member const& x : {member{1023, 1025, 1027},
                            {2304, 2304, 2304},
                            {3072, 3072, 3072},
                            {4096, 16, 4096},
                            {64, 64, 65536},
                            {4096, 4096, 64},
                            {100000, 64, 64},
                            {128, 128, 1 << 20},
                            {8192, 8192, 128},
                            {20000, 1, 20000}})
        for (element const type : {element::f32, element::f64})
            add("other sides", type == element::f32 ? "sgemm" : "dgemm", times(x.m, x.n, x.k),
                {type, x.m, x.n, x.k, 0});
    for (long m : {1, 4, 7, 33, 512}) // rows, such as those of a batch of activations
        for (bool const b_transposed : {true, false})
            for (auto const& [name, type] : {std::pair{"sgemm rows", element::f32},
                                             {"dgemm rows", element::f64},
                                             {"bf16 rows", element::bf16_bf16}}) {
                problem p{type, m, 11008, 4096, 0};
                p.b_transposed = b_transposed;
                add("few rows", b_transposed ? name + std::string(" B^T") : name, times(m, 11008, 4096), p);
            }
    for (long m : {1, 7, 33, 512}) // the other layers of a network
        for (auto const& [n, k] : {std::pair{4096L, 11008L}, {32000L, 4096L}}) {
            problem p{element::bf16_bf16, m, n, k, 0};
            p.b_transposed = true;
            add("few rows", "bf16 rows B^T", times(m, n, k), p);
        }
    for (member const& x : {member{35, 8457, 2560}, {7680, 1500, 2560}, {1760, 7000, 1760}}) // of DeepBench
        add("other sides", "bf16", times(x.m, x.n, x.k), {element::bf16_bf16, x.m, x.n, x.k, 0});
    for (long n : {4, 8, 16, 32, 64, 128}) {
        long const count = (1L << 26) / (n * n);
        add("batched", "batched", times(n, n, n) + "*" + std::to_string(count),
            {element::f32, n, n, n, 0, count});
    }
    for (long n : {2048, 4096, 8192, 16384})
        for (element const type : {element::f32, element::f64}) {
            add("strassen to cuBLAS and its base", type == element::f32 ? "sgemm strassen" : "dgemm strassen",
                std::to_string(n), {type, n, n, n, 0});
            list.back().only_if = "strassen", list.back().field = 1;
        }
    for (long n : {1024, 2048, 4096, 8192})
        for (element const type : {element::f32, element::f64}) {
            add("verified to its base", type == element::f32 ? "sgemm verified" : "dgemm verified",
                std::to_string(n), {type, n, n, n, 0});
            list.back().only_if = "verified", list.back().field = 2;
        }
    for (bench_case& c : cases_of_weights(0, 3)) list.push_back(std::move(c));
    add("grouped", "grouped sgemm", "16..128*512", group(element::f32, 512, 16, 128));
    add("grouped", "grouped sgemm", "16..128*64", group(element::f32, 64, 16, 128));
    add("grouped", "grouped sgemm", "128..512*64", group(element::f32, 64, 128, 512));
    add("grouped", "grouped dgemm", "16..128*512", group(element::f64, 512, 16, 128));
    add("grouped", "grouped bf16", "16..128*512", group(element::bf16_bf16, 512, 16, 128));
    return list;
}

sg::cuda_configuration parse_tile(char const* text) {
    std::vector<short> parts = {0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1};
    for (short& part : parts) {
        if (!*text) break;
        char* end = nullptr;
        part = static_cast<short>(std::strtol(text, &end, 10));
        text = *end == ',' ? end + 1 : end;
    }
    return sg::cuda_configuration::of(parts);
}

facts about(sg::cuda const& gpu) {
    std::time_t const now = std::time(nullptr);
    char date[16] = "";
    std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
    auto const& where = gpu.where();
    return {{"date", date},
            {"device", where.name + ", sm_" + std::to_string(where.capability)},
            {"driver", "for CUDA " + std::to_string(where.driver / 1000) + "." +
                           std::to_string(where.driver % 1000 / 10) + ", NVRTC " +
                           sg::cuda_compiler::get().version()}};
}

} // namespace

int main(int argc, char** argv) {
    options const o = parse(argc, argv, sweep_options(roofline_options({"tile", "invariant"})));
    using enum element;
    bool const invariant = o.has("invariant");
    auto const open = [&] {
        sg::cuda gpu;
        if (o.has("tile")) gpu.tile = parse_tile(o.value("tile").c_str());
        gpu.ready().or_throw();
        arena a{make_cuda_machine(), {}, about(gpu)};
        if (!a.on) throw std::runtime_error("the driver lacks a function that the benchmarks use");
        constexpr forms all{.batches = true, .groups = true};
        contenders& field = a.fields.emplace_back();
        auto const add_cuda = [&](char const* name, role part, bool in_order) {
            field.push_back(make_policy<all, f32, f64, bf16_bf16, f16_f16, tf32, i8, fp8_bf16, c32, c64>(
                name, part, [gpu, in_order](problem const& p) {
                    sg::cuda one = gpu;
                    one.tf32 = p.type == tf32, one.invariant = in_order;
                    return one;
                }));
        };
        add_cuda(invariant ? "invariant" : "stratagemm", role::library, invariant);
        if (invariant)
            add_cuda("in any order", role::peer, false);
        else if (auto peer = make_cublas(*a.on))
            field.push_back(std::move(peer));
        contenders& fast = a.fields.emplace_back();
        auto const add_strassen = [&](char const* name, role part, sg::strassen_options const& form) {
            fast.push_back(make_policy<forms{}, f32, f64>(name, part, [gpu, form](problem const&) {
                return sg::strassen{gpu, form};
            }));
        };
        add_strassen("strassen{cuda, automatic}", role::library, {});
        add_strassen("1 level", role::information, {.levels = 1});
        add_strassen("2 levels", role::information, {.levels = 2});
        add_strassen("3 levels", role::information, {.levels = 3});
        add_strassen("1 level, little workspace", role::information,
                     {.levels = 1, .variant = sg::strassen_variant::winograd});
        fast.push_back(
            make_policy<forms{}, f32, f64>("cuda", role::peer, [gpu](problem const&) { return gpu; }));
        if (auto peer = make_cublas(*a.on)) fast.push_back(std::move(peer));
        contenders& checked = a.fields.emplace_back();
        checked.push_back(make_policy<forms{}, f32, f64>(
            "verified{cuda}", role::library, [gpu](problem const&) { return sg::verified{gpu}; }));
        checked.push_back(
            make_policy<forms{}, f32, f64>("cuda", role::peer, [gpu](problem const&) { return gpu; }));
        a.fields.push_back(make_weights([gpu](problem const&) { return gpu; }));
        return a;
    };
    if (asks_for_sweep(o)) // cuBLAS refuses int8 that is not in fours
        return run_sweep("cuda", o,
                         {.longest = 8192,
                          .types = invariant ? std::vector{f32, f64, bf16_bf16}
                                             : std::vector{f32, f64, bf16_bf16, f16_f16, i8},
                          .multiple_int8 = 4},
                         open);
    if (asks_for_roofline(o))
        return run_roofline("cuda", o,
                            {.types = {f32, f64, tf32, bf16_bf16, f16_f16, i8, fp8_bf16},
                             .squares = {64, 128, 256, 512, 1024, 2048, 4096, 8192},
                             .rows = {1, 4, 16, 64, 256},
                             .sums = {16, 32, 64, 256},
                             .side = 8192,
                             .measure =
                                 [](int) {
                                     sg::cuda const gpu;
                                     ceilings most = device_ceilings(gpu).measure();
                                     tensor_ceilings(gpu).add_to(most);
                                     return most;
                                 }},
                            open);
    return run("cuda", o, cases(), open);
}
