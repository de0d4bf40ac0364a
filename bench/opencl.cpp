// bench_opencl: the OpenCL backend against CLBlast and, on NVIDIA's cards, cuBLAS, where they are installed:
// on one device, OpenCL in one queue; and, where the filter names strassen, one level of strassen{opencl} against its
// base. Beside the options of program.hpp and sweep.hpp:
//
//   --device=PART OF ITS NAME
//   --invariant                 races .invariant against the backend without it, and nothing else
//   --tune-clblast=SECONDS      looks for parameters of CLBlast's for float for so long beforehand
#include "device_ceilings.hpp"
#include "opencl_machine.hpp"
#include "policy.hpp"
#include "sweep.hpp"

#include <stratagemm/algorithm/strassen.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace sg = stratagemm;

namespace {

using namespace bench;

// On a CPU what is larger would take all day.
struct backend {
    sg::opencl device;

    sg::opencl const& operator()(problem const&) const { return device; }
    bool takes(problem const& p) const {
        bool const is_gpu = device.where().type & CL_DEVICE_TYPE_GPU;
        return (is_gpu || p.flops() < 5e9) && (p.type != element::f64 || device.where().has_double);
    }
};

// A device that says it has no memory to spare: Strassen's form then does without temporaries, too.
struct frugal : sg::opencl {
    struct operations : sg::opencl_operations {
        sg::device_limits limits() const {
            sg::device_limits all = sg::opencl_operations::limits();
            all.memory_bytes = 0;
            return all;
        }
    };
    operations leaf() const { return {sg::opencl::leaf()}; }
};
struct frugal_strassen_over : backend {
    sg::strassen<frugal> operator()(problem const&) const {
        return sg::strassen{frugal{device}, {.levels = 1, .variant = sg::strassen_variant::strassen}};
    }
};
struct strassen_over : backend {
    sg::strassen_options form{};

    sg::strassen<sg::opencl> operator()(problem const&) const { return sg::strassen{device, form}; }
};
contenders make_strassen(backend const& base) {
    contenders all;
    auto const add = [&](char const* name, role part, auto const& make) {
        all.push_back(make_policy<forms{}, element::f32, element::f64>(name, part, make));
    };
    add("strassen{opencl, automatic}", role::library, strassen_over{base});
    for (auto const& [name, levels] : {std::pair{"1 level", 1}, {"2 levels", 2}, {"3 levels", 3}})
        add(name, role::information, strassen_over{base, {.levels = levels}});
    add("1 level, no temporaries", role::information, frugal_strassen_over{base});
    add("1 level, no temporaries, Winograd's form", role::information,
        strassen_over{base, {.levels = 1, .variant = sg::strassen_variant::winograd}});
    add("opencl", role::peer, base);
    return all;
}

std::vector<bench_case> cases() {
    std::vector<bench_case> list;
    auto const add = [&](element type, long m, long n, long k, bool quick = false) {
        list.push_back({m == n && n == k ? "square" : "skinny",
                        type == element::f32 ? "sgemm" : "dgemm",
                        times(m, n, k),
                        {type, m, n, k, 0},
                        limit::arithmetic,
                        quick,
                        7});
    };
    for (long n : {256, 512, 1000, 1023, 1024}) add(element::f32, n, n, n, n == 1024);
    for (member const& x : {member{64, 64, 65536}, {4096, 16, 4096}, {4096, 1, 4096}})
        add(element::f32, x.m, x.n, x.k);
    for (long n : {2048, 4095, 4096, 8192, 16384}) add(element::f32, n, n, n);
    for (long n : {1023, 1024}) add(element::f64, n, n, n);
    for (long n : {4096, 8192}) {
        list.push_back(
            {"strassen to its base", "sgemm strassen", std::to_string(n), {element::f32, n, n, n, 0}});
        list.back().rounds = 7, list.back().only_if = "strassen", list.back().field = 1;
    }
    return list;
}

sg::opencl open_device(options const& o) {
    return o.has("device") ? sg::opencl(sg::opencl::find(o.value("device"))) : sg::opencl();
}

} // namespace

int main(int argc, char** argv) {
    options const o =
        parse(argc, argv, sweep_options(roofline_options({"device", "invariant", "tune-clblast"})));
    static std::unique_ptr<machine> cuda; // of the peer
    auto const open = [&] {
        sg::opencl const device = open_device(o);
        device.ready().or_throw();
        arena a{make_opencl_machine(device.queue(),
                                    {{"device", device.where().name + ", driver " + device.where().driver}}),
                {}};
        contenders& field = a.fields.emplace_back();
        if (o.has("invariant")) {
            sg::opencl same = device;
            same.invariant = true;
            field.push_back(
                make_policy<forms{}, element::f32, element::f64>("invariant", role::library, backend{same}));
            field.push_back(
                make_policy<forms{}, element::f32, element::f64>("opencl", role::peer, backend{device}));
            a.fields.push_back(make_strassen({device}));
            return a;
        }
        field.push_back(
            make_policy<forms{}, element::f32, element::f64>("stratagemm", role::library, backend{device}));
#ifdef STRATAGEMM_BENCH_CLBLAST
        if (double const budget = std::atof(o.value("tune-clblast").c_str()); budget > 0)
            tune_clblast(device, budget);
        field.push_back(make_clblast(device));
#else
        if (o.has("tune-clblast")) std::printf("no CLBlast here to be tuned\n");
#endif
        if (device.where().family == sg::opencl_family::nvidia && (cuda = make_cuda_machine()))
            if (auto peer = make_cublas(*cuda)) field.push_back(std::move(peer));
        a.fields.push_back(make_strassen({device}));
        return a;
    };
    if (asks_for_sweep(o))
        return run_sweep("opencl", o, {.longest = 8192, .types = {element::f32, element::f64}}, open);
    if (asks_for_roofline(o)) {
        sg::opencl const device = open_device(o);
        bool const is_gpu = device.where().type & CL_DEVICE_TYPE_GPU;
        std::vector<long> squares{64, 128, 256, 512, 1024};
        if (is_gpu) squares.insert(squares.end(), {2048, 4096, 8192});
        return run_roofline("opencl", o,
                            {.types = {element::f32, element::f64},
                             .squares = squares,
                             .rows = {1, 4, 16, 64, 256},
                             .sums = {1, 4, 16, 64, 256},
                             .side = is_gpu ? 4096 : 1024,
                             .measure = [&](int) { return device_ceilings(device).measure(); }},
                            open);
    }
    return run("opencl", o, cases(), open);
}
