// Eigen, the libraries that ./dev bench compares with, and its peaks, for the demo. Compiled with COMPARE_EIGEN and
// COMPARE_ONEDNN where these are installed, and with COMPARE_CUBLAS for CUDA devices; the rest is opened at run time.
#include "others.hpp"

#include "eigen.hpp"

#include "../../bench/machine.hpp"
#include "../../bench/peaks.hpp"

#include <map>
#include <memory>

namespace compare {
namespace {

#ifdef COMPARE_EIGEN
template <class T>
other eigen(std::ptrdiff_t n, int threads) {
    auto run = [n, threads](void const* a, void const* b, void* c) {
        eigen_threads(threads);
        eigen_product(n, static_cast<T const*>(a), static_cast<T const*>(b), static_cast<T*>(c));
    };
    return {"Eigen", eigen_version() + std::string(", -O3 -march=native"), run};
}
#endif

bench::problem product(std::string const& type, std::ptrdiff_t n, int threads) {
    static std::map<std::string, bench::element> const types{
        {"float", bench::element::f32},     {"double", bench::element::f64}, {"half", bench::element::f16},
        {"bfloat16", bench::element::bf16}, {"int8", bench::element::i8},    {"cfloat", bench::element::c32},
        {"cdouble", bench::element::c64}};
    bench::problem p;
    p.type = types.at(type), p.m = p.n = p.k = n, p.threads = threads;
    return p;
}

others find_on_host(std::string const& type, std::ptrdiff_t n, int threads) {
    bench::problem const p = product(type, n, threads);
    others found;
    auto const add = [&](std::shared_ptr<bench::contender> library, char const* how) {
        if (!library) return found.missing.push_back(how);
        if (!library->takes(p)) return;
        auto run = [library, p, prepared = false](void const* a, void const* b, void* c) mutable {
            bench::operands const x{a, b, c};
            library->enter(p);
            if (!prepared) library->prepare(p, x), prepared = true;
            library->run(p, x);
        };
        found.all.push_back({library->name(), library->version(), run});
    };
    add(bench::make_openblas(), "OpenBLAS, which is not installed (libopenblas0)");
    add(bench::make_blis(), "BLIS, which is not installed (libblis4)");
#ifdef COMPARE_ONEDNN
    add(bench::make_onednn(), "");
#else
    found.missing.push_back("oneDNN, which is not installed (libdnnl-dev)");
#endif
#ifdef COMPARE_EIGEN
    if (type == "float") found.all.push_back(eigen<float>(n, threads));
    if (type == "double") found.all.push_back(eigen<double>(n, threads));
#else
    found.missing.push_back("Eigen, which is not installed (libeigen3-dev)");
#endif
    if (type != "float" && type != "double") {
        found.missing.clear();
        if (found.all.empty())
            found.missing.push_back(
                "other libraries: float and double are compared, and with oneDNN bfloat16 and int8");
    }
    auto const real = p.type == bench::element::c32   ? bench::element::f32
                      : p.type == bench::element::c64 ? bench::element::f64
                                                      : p.type;
    found.peak = bench::arithmetic_peak(real, threads), found.unit = bench::arithmetic_unit(real);
    return found;
}

#ifdef COMPARE_CUBLAS
others find_on_cuda(std::string const& type, std::ptrdiff_t n, int) {
    std::shared_ptr<bench::machine> const gpu = bench::make_cuda_machine();
    std::shared_ptr<bench::contender> const library = gpu ? bench::make_cublas(*gpu) : nullptr;
    others found;
    if (!library) {
        found.missing.push_back("cuBLAS, which is not installed");
        return found;
    }
    bench::problem const p = product(type, n, 0);
    if (!library->takes(p)) return found;
    auto const run = [gpu, library, p](void const* a, void const* b, void* c) {
        bench::operands const x{a, b, c};
        double estimate = 1; // so long that a sample is one run
        gpu->sample([&](long) { library->run(p, x); }, estimate);
    };
    found.all.push_back({library->name(), library->version(), run});
    return found;
}
bool const brought_to_cuda = (other_libraries()["cuda"] = find_on_cuda, true);
#endif

bool const brought = (other_libraries()["host"] = find_on_host, true);

} // namespace
} // namespace compare
