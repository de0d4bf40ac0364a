// The cases of `./dev bench against`, compiled once with this checkout's headers and once with those of another commit,
// as libraries that know nothing of each other. Only what both versions have may be used. AGAINST_EMULATION, _OPENCL or
// _CUDA selects products other than those of `host`.
#if defined(AGAINST_CUDA)
#    include <stratagemm/backend/cuda.hpp>
#elif defined(AGAINST_OPENCL)
#    include <stratagemm/backend/opencl.hpp>
#elif defined(AGAINST_EMULATION)
#    include <stratagemm/algorithm/ozaki.hpp>
#endif
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <complex>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace {

using std::ptrdiff_t;

struct product {
    std::string name;
    std::function<void()> run;
};
std::vector<product> products;
std::function<void()> finish = [] {}; // waits for what a device still does

template <class T>
sg::matrix<T> filled(ptrdiff_t m, ptrdiff_t n, bool by_columns = false) {
    return sg::matrix<T>(
        m, n,
        [](ptrdiff_t i, ptrdiff_t j) {
            auto const x = static_cast<unsigned>(i * 7919 + j * 104729) * 2654435761u;
            return T(static_cast<float>(static_cast<int>(x >> 8) % 201 - 100) / 100.0f);
        },
        by_columns ? sg::layout::col_major : sg::layout::row_major);
}

#if defined(AGAINST_CUDA) || defined(AGAINST_OPENCL)

#    ifdef AGAINST_CUDA
using device = sg::cuda;
#    else
using device = sg::opencl;
#    endif

template <class T, class C>
struct operands {
    typename device::matrix<T> a, b;
    typename device::matrix<C> e, c;
};

template <class T, class C = T>
void add(std::string const& type, device const& gpu, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    auto const x = std::make_shared<operands<T, C>>(
        operands<T, C>{{gpu, filled<T>(m, k)}, {gpu, filled<T>(k, n)}, {gpu, filled<C>(m, n)}, {gpu, m, n}});
    std::string const name =
        type + ' ' + std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    products.push_back({name, [=] { sg::gemm(gpu, x->a, x->b, x->c); }});
    if (m == n && n == k) {
        products.push_back(
            {name + ", A transposed", [=] { sg::gemm(gpu, sg::transposed(x->a), x->b, x->c); }});
        if constexpr (!sg::complex_like<T>)
            products.push_back({name + ", added matrix, relu",
                                [=] { sg::gemm(gpu, 2, x->a, x->b, 3, x->e, x->c, sg::relu); }});
    }
}

template <class T, class C = T>
void add_sizes(std::string const& type, device const& gpu, std::initializer_list<ptrdiff_t> sides) {
    for (ptrdiff_t const n : sides) add<T, C>(type, gpu, n, n, n);
    ptrdiff_t const n = *(sides.end() - 1);
    add<T, C>(type, gpu, n, 1, n), add<T, C>(type, gpu, n, 16, n), add<T, C>(type, gpu, 64, 64, 16 * n);
}

void add_all() {
    static device const gpu;
    finish = [] { gpu.synchronize().or_throw(); };
#    ifdef AGAINST_CUDA
    auto const sides = {ptrdiff_t{64}, ptrdiff_t{500}, ptrdiff_t{1024}, ptrdiff_t{4096}};
#    else
    auto const sides = {ptrdiff_t{64}, ptrdiff_t{500}, ptrdiff_t{1024}};
#    endif
    add_sizes<float>("float", gpu, sides), add_sizes<sg::half, float>("half", gpu, sides);
    add_sizes<std::complex<float>>("complex<float>", gpu, sides);
    add_sizes<std::int8_t, std::int32_t>("int8", gpu, sides);
#    ifdef AGAINST_CUDA
    add_sizes<double>("double", gpu, sides), add_sizes<sg::bfloat16, float>("bfloat16", gpu, sides);
#    endif
}

#else

template <class T, class C>
struct operands {
    sg::matrix<T> a, b;
    sg::matrix<C> e, c;
};

template <class T, class C = T>
auto make_operands(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, bool a_turned = false, bool b_turned = false) {
    return std::make_shared<operands<T, C>>(operands<T, C>{
        filled<T>(m, k, a_turned), filled<T>(k, n, b_turned), filled<C>(m, n), sg::matrix<C>(m, n)});
}

template <class T, class C = T>
void add(std::string const& type, sg::host cpu, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
         char const* turned = "nn") {
    auto const x = make_operands<T, C>(m, n, k, turned[0] == 't', turned[1] == 't');
    products.push_back({type + ' ' + std::to_string(m) + " x " + std::to_string(n) + " x " +
                            std::to_string(k) + ' ' + turned + ", threads: " + std::to_string(cpu.threads),
                        [=] { sg::gemm(cpu, x->a, x->b, x->c); }});
}

template <class T>
void add_real(std::string const& type, sg::host cpu) {
    std::string const threads = ", threads: " + std::to_string(cpu.threads);
    for (ptrdiff_t const n : {4, 6, 8, 15, 16, 24, 31, 32}) {
        ptrdiff_t const count = 200;
        auto const x = make_operands<T>(n * count, n, n);
        auto const many = filled<T>(n * count, n);
        x->b = many;
        auto const batch = [=](auto& matrix) {
            return sg::batched(sg::row_major(matrix.data(), n, n), count, n * n);
        };
        products.push_back({type + " batch of " + std::to_string(n) + threads,
                            [=] { sg::gemm(cpu, batch(x->a), batch(x->b), batch(x->c)); }});
    }
    for (ptrdiff_t const n : {5, 16, 33, 64, 100, 128, 200, 256, 500, 512, 1000, 1024, 2048})
        add<T>(type, cpu, n, n, n);
    add<T>(type, cpu, 3, 500, 500), add<T>(type, cpu, 500, 7, 500), add<T>(type, cpu, 9, 500, 100);
    add<T>(type, cpu, 4096, 16, 4096), add<T>(type, cpu, 64, 64, 16384), add<T>(type, cpu, 2000, 100, 30);
    add<T>(type, cpu, 1, 2000, 2000), add<T>(type, cpu, 2000, 1, 2000),
        add<T>(type, cpu, 1, 2000, 2000, "nt");
    add<T>(type, cpu, 400, 410, 390, "tn"), add<T>(type, cpu, 400, 410, 390, "nt"),
        add<T>(type, cpu, 400, 410, 390, "tt");
    for (ptrdiff_t const k : {300, 900}) {
        auto const x = make_operands<T>(500, 500, k);
        std::string const name = type + " 500 x 500 x " + std::to_string(k);
        products.push_back({name + ", relu" + threads, [=] { sg::gemm(cpu, x->a, x->b, x->c, sg::relu); }});
        products.push_back(
            {name + ", added matrix" + threads, [=] { sg::gemm(cpu, T(2), x->a, x->b, T(3), x->e, x->c); }});
    }
}

#    ifdef AGAINST_EMULATION

template <class T, class Policy>
void add_layer(std::string const& name, Policy const& policy, int threads) {
    for (ptrdiff_t const n : {64, 300, 1024}) {
        auto const x = make_operands<T, T>(n, n, n);
        products.push_back({name + ' ' + std::to_string(n) + ", threads: " + std::to_string(threads),
                            [=] { sg::gemm(policy, x->a, x->b, x->c); }});
    }
}

void add_all() {
    using both = std::complex<double>;
    for (int const threads : {1, 2}) {
        sg::host const cpu{.threads = threads};
        add_layer<double>("ozaki, 15 moduli, double", sg::ozaki{cpu, {.moduli = 15}}, threads);
        add_layer<double>("ozaki, 7 slices, double", sg::ozaki{cpu, {.slices = 7}}, threads);
        add_layer<double>("ozaki, fp64, double", sg::ozaki{cpu, {.accuracy = sg::accuracy::fp64}}, threads);
        add_layer<float>("ozaki, 8 moduli, float", sg::ozaki{cpu, {.moduli = 8}}, threads);
        add_layer<float>("ozaki, fp32, float", sg::ozaki{cpu, {.accuracy = sg::accuracy::fp32}}, threads);
        add_layer<both>("ozaki, 15 moduli, complex<double>", sg::ozaki{cpu, {.moduli = 15}}, threads);
        add_layer<float>("split, 3 products, float", sg::split{cpu, {.products = 3}}, threads);
        add_layer<float>("split, 6 products, float", sg::split{cpu, {.products = 6}}, threads);
        add_layer<float>("split, fp32, float", sg::split{cpu, {.accuracy = sg::accuracy::fp32}}, threads);
        add_layer<float>("strassen, float", sg::strassen{cpu}, threads);
        add_layer<double>("strassen, double", sg::strassen{cpu}, threads);
        add_layer<double>("recursive, double", sg::recursive{cpu}, threads);
    }
}

#    else

void add_all() {
    for (int const threads : {1, 2}) {
        sg::host const cpu{.threads = threads};
        add_real<float>("float", cpu), add_real<double>("double", cpu);
        for (ptrdiff_t const n : {64, 500, 1024}) {
            add<std::complex<float>>("complex<float>", cpu, n, n, n),
                add<sg::half, float>("half", cpu, n, n, n);
            add<sg::bfloat16, float>("bfloat16", cpu, n, n, n);
            add<std::int8_t, std::int32_t>("int8", cpu, n, n, n);
        }
    }
}

#    endif
#endif

} // namespace

#define STRATAGEMM_EXPORTED extern "C" __attribute__((visibility("default")))
STRATAGEMM_EXPORTED int count_cases() {
    add_all();
    return static_cast<int>(products.size());
}
STRATAGEMM_EXPORTED char const* name_of_case(int i) {
    return products[static_cast<std::size_t>(i)].name.c_str();
}
STRATAGEMM_EXPORTED double seconds_of_case(int i, int times) {
    auto const start = std::chrono::steady_clock::now();
    for (int x = 0; x < times; ++x) products[static_cast<std::size_t>(i)].run();
    finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}
