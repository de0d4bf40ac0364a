// One product, by every backend and policy of this machine and by the other libraries that are installed: how fast, how
// wrong, and how wrong at most. Prints a table, and draws it: a picture for a wide screen, one for a narrow screen, and
// a page with both and what ran. `./dev demo` compiles it in parts, and with what is installed. By hand, from the top of
// the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/compare.cpp -o compare
//   ./compare [SIZE = 2048] [TYPES = float,double] [PICTURE = compare.svg]
// More of it is compiled with
//   -DCOMPARE_OPENCL ... -lOpenCL                              the OpenCL backend
//   -DCOMPARE_CUDA -isystem /usr/local/cuda/include ... -ldl   the CUDA backend
// and a part of it, to be linked with the others, with one of
//   -DCOMPARE_MAIN                                      the program
//   -DCOMPARE_TYPE=float -DCOMPARE_BACKEND=host         the measurement of a type, and the policies of a backend
// compare/others.cpp, linked with files of bench, brings the other libraries.
// TYPES: of float, double, half, bfloat16, int8, cfloat, cdouble, those that were compiled; by hand, the first two.
// STRATAGEMM_ISA forces an instruction set.
#ifndef COMPARE_MAIN
#    include "compare/contest.hpp"
#    include <stratagemm/algorithm/automatic.hpp>
#endif
#ifndef COMPARE_TYPE
#    include "compare/picture.hpp"
#endif

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>

#ifdef COMPARE_OPENCL
#    include <stratagemm/backend/opencl.hpp>
#endif
#ifdef COMPARE_CUDA
#    include <stratagemm/backend/cuda.hpp>
#endif

namespace compare {

// What the parts of this program bring: for each type how it is measured, and the policies of each backend.
inline std::map<std::string, std::function<table(std::ptrdiff_t, double)>>& measurements() {
    static std::map<std::string, std::function<table(std::ptrdiff_t, double)>> all;
    return all;
}

#ifndef COMPARE_MAIN

// ---- the contestants -------------------------------------------------------------------------------------

enum backend { host, opencl, cuda, backends };
template <class T>
std::array<void (*)(contest<T>&), backends>& contestants() {
    static std::array<void (*)(contest<T>&), backends> all{};
    return all;
}

template <class T>
table measure(index_t n, double budget) {
    contest<T> all(n);
    for (auto const enter : contestants<T>())
        if (enter) enter(all);
    return all.hold(budget);
}

template <class T>
void enter_host(contest<T>& all) {
    index_t const n = all.size(), small = std::min<index_t>(n, 256); // the oracle takes its time
    int const threads = sg::host_threads(0);
    sg::host const cpu;
    auto const shape = sg::shape<T>{.m = n, .n = n, .k = n};
    others const found = others_on("host", name_of<T>(), n, threads);
    std::string where = cpu.describe(shape);
    where = where.substr(where.find(": ") == where.npos ? 0 : where.find(": ") + 2);
    if (found.peak > 0) where += "; at most " + number(found.peak) + " GFLOP/s (" + found.unit + ")";
    all.begin("host", where, found.peak);
    all.enter("sg::reference{}, size " + std::to_string(small), sg::reference{}, small);
    if (threads > 1) all.enter("sg::host{.threads = 1}", sg::host{.threads = 1}, n);
    all.enter("sg::host{}", cpu, n);
    all.native_is("sg::host{}");
    for (other const& library : found.all) all.enter(library);
    for (std::string const& what : found.missing) all.leave_out(what);
    all.enter("sg::recursive{sg::host{}}", sg::recursive{cpu}, n);
    all.enter("sg::strassen{sg::host{}, {.levels = 1}}", sg::strassen{cpu, {.levels = 1}}, n);
    all.enter("sg::strassen{sg::host{}, {.levels = 2}}", sg::strassen{cpu, {.levels = 2}}, n);
    all.enter("sg::strassen{sg::recursive{sg::host{}}, {.levels = 1}}",
              sg::strassen{sg::recursive{cpu}, {.levels = 1}}, n);
    all.enter("sg::strassen{sg::host{}}", sg::strassen{cpu}, n);
    bool const doubles = std::is_same_v<sg::real_t<T>, double>;
    all.enter(doubles ? "sg::ozaki{sg::host{}, {.moduli = 15}}" : "sg::ozaki{sg::host{}, {.moduli = 8}}",
              sg::ozaki{cpu, {.moduli = doubles ? 15 : 8}}, n);
    all.enter("sg::ozaki{sg::host{}}", sg::ozaki{cpu}, n);
    if constexpr (!std::is_integral_v<T>) all.enter("sg::split{sg::host{}}", sg::split{cpu}, n);
    all.enter("sg::automatic{sg::host{}}", sg::automatic{cpu}, n);
    all.enter("sg::automatic{sg::host{}, {.normwise = true}}", sg::automatic{cpu, {.normwise = true}}, n);
}

// The policies over a device, or why there are none.
template <class T, class Make, class Where>
void enter_device(contest<T>& all, std::string const& backend, Make const& make, Where const& where) {
    try {
        auto const gpu = make();
        gpu.ready().or_throw();
        all.begin(backend, where(gpu));
        progress(name_of<T>() + ": " + backend + " copies the operands", "", 0);
        auto const x = all.bring(gpu);
        std::string const it = "sg::" + backend + "{}";
        all.enter(it, gpu, x);
        all.native_is(it);
        others const found = others_on(backend, name_of<T>(), all.size(), 0);
        if constexpr (requires { x->a.data().address; })
            for (other const& library : found.all) all.enter(library, x);
        for (std::string const& what : found.missing) all.leave_out(what);
        all.enter("sg::strassen{" + it + ", {.levels = 1}}", sg::strassen{gpu, {.levels = 1}}, x);
        all.enter("sg::strassen{" + it + "}", sg::strassen{gpu}, x);
        all.enter("sg::staged{" + it + "}", sg::staged{gpu}, all.size(),
                  "operands on the host: the time has the copies");
        all.enter("sg::ozaki{" + it + "}", sg::ozaki{gpu}, x);
        if constexpr (std::is_same_v<sg::real_t<T>, float>)
            all.enter("sg::split{" + it + "}", sg::split{gpu}, x);
    } catch (sg::error const& e) {
        all.leave_out(e.what()); // which begins with the backend's name
    }
}
#    ifdef COMPARE_OPENCL
template <class T>
void enter_opencl(contest<T>& all) {
    enter_device(
        all, "opencl", [] { return sg::opencl(); },
        [](sg::opencl const& gpu) {
            std::string const& platform = gpu.where().platform_name;
            std::string const name = platform.substr(0, platform.find(',')) + ", " + gpu.where().name;
            bool const is_processor = (gpu.where().type & CL_DEVICE_TYPE_CPU) != 0;
            return is_processor ? name + "; the processor itself, for which sg::host{} is faster" : name;
        });
}
#    endif
#    ifdef COMPARE_CUDA
template <class T>
void enter_cuda(contest<T>& all) {
    enter_device(
        all, "cuda", [] { return sg::cuda(); },
        [](sg::cuda const& gpu) { return gpu.where().name + ", " + gpu.where().architecture(); });
}
#    endif

template <class T>
bool bring_host() {
    contestants<T>()[host] = enter_host<T>;
    measurements()[name_of<T>()] = measure<T>;
    return true;
}
#    ifdef COMPARE_OPENCL
template <class T>
bool bring_opencl() {
    contestants<T>()[opencl] = enter_opencl<T>;
    return true;
}
#    endif
#    ifdef COMPARE_CUDA
template <class T>
bool bring_cuda() {
    contestants<T>()[cuda] = enter_cuda<T>;
    return true;
}
#    endif

#    define COMPARE_BRING_(BACKEND) bring_##BACKEND
#    define COMPARE_BRING(BACKEND) COMPARE_BRING_(BACKEND)
#    if defined(COMPARE_TYPE)
static bool const brought = COMPARE_BRING(COMPARE_BACKEND)<COMPARE_TYPE>();
#    elif !defined(COMPARE_MAIN)
template <class T>
bool bring_all() {
    bool done = bring_host<T>();
#        ifdef COMPARE_OPENCL
    done = done && bring_opencl<T>();
#        endif
#        ifdef COMPARE_CUDA
    done = done && bring_cuda<T>();
#        endif
    return done;
}
static bool const brought = bring_all<float>() && bring_all<double>();
#    endif

#endif // COMPARE_MAIN

#ifndef COMPARE_TYPE

// ---- the program -----------------------------------------------------------------------------------------

int run(int argc, char** argv) {
    std::string const usage = "usage: compare [SIZE = 2048] [TYPES = float,double] [PICTURE = compare.svg]";
    char* end = nullptr;
    std::ptrdiff_t const n = argc > 1 ? std::strtol(argv[1], &end, 10) : 2048;
    if (n < 1 || n > 100000 || (end && *end) || argc > 4) throw std::runtime_error(usage);
    std::string const list = argc > 2 ? argv[2] : "float,double", path = argc > 3 ? argv[3] : "compare.svg";
    std::string there;
    for (auto const& [name, measure] : measurements()) there += ' ' + name;
    std::vector<std::string> types;
    for (std::size_t at = 0; at < list.size();) {
        std::size_t const comma = std::min(list.find(',', at), list.size());
        types.push_back(list.substr(at, comma - at));
        if (!measurements().contains(types.back()))
            throw std::runtime_error("no type '" + types.back() + "'; this program has" + there);
        at = comma + 1;
    }
    if (types.empty()) throw std::runtime_error(usage);

    std::vector<table> tables;
    bool within = true;
    for (std::string const& type : types) {
        tables.push_back(measurements()[type](n, 40.0 / static_cast<double>(types.size())));
        progress("", "", 0);
        print(tables.back());
        for (row const& r : tables.back().rows) within = within && (!r.bounded || r.error <= r.worst);
    }
    std::string const stem =
        path.substr(0, path.rfind(".svg") == path.npos ? path.size() : path.rfind(".svg"));
    write(path, draw(tables, wide));
    write(stem + "-narrow.svg", draw(tables, narrow));
    write(stem + ".html", page(tables));
    std::printf("\nerror: the largest |dC| / (|A||B|) in 16 rows of C, in units of 2u (float 1.2e-7, double "
                "2.2e-16)\n"
                "expected: of random data; at most: no data exceeds it\n"
                "picture: %s, and for a narrow screen %s-narrow.svg\npage with what ran: %s.html\n",
                path.c_str(), stem.c_str(), stem.c_str());
    if (!within) std::fprintf(stderr, "compare: an error is beyond its bound\n");
    return within ? 0 : 1;
}

} // namespace compare

int main(int argc, char** argv) try { return compare::run(argc, argv); } catch (std::exception const& e) {
    compare::progress("", "", 0);
    std::fprintf(stderr, "compare: %s\n", e.what());
    return 1;
}
#else
} // namespace compare
#endif
