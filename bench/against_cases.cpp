// The cases of `./dev bench against`: products on the host, compiled once with this checkout's headers and once with
// those of another commit, as libraries that know nothing of each other. Only what both versions have may be used.
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <complex>
#include <cstdint>
#include <functional>
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
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}
