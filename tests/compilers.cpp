// What tests/compilers.sh compiles and runs with every compiler: products on the CPU, compared with
// `reference`. All sums are exact, so that results have to be equal. The program exits with 77 where the machine lacks what STRATAGEMM_ISA asks for.
#include <stratagemm/stratagemm.hpp>

#include <cstdint>
#include <cstdio>
#include <type_traits>

namespace sg = stratagemm;

namespace {

int wrong = 0;

// Small integers, so that every type holds the operands exactly, and quarters where the type has them.
template <class T>
sg::matrix<T> operand(sg::index_t rows, sg::index_t columns, int seed) {
    return sg::matrix<T>(rows, columns, [=](sg::index_t i, sg::index_t j) {
        int const number = static_cast<int>((i * 7 + j * 3 + i * j + seed) % 23) - 11;
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(number);
        else
            return static_cast<T>(static_cast<float>(number) / 4.0f);
    });
}

// C = 2 A B^T + C for sides that are no multiples of any tile.
template <class T, class Policy>
void compare(char const* name, Policy const& policy, sg::index_t m, sg::index_t n, sg::index_t k) {
    using result = sg::accumulator_t<T>;
    sg::matrix<T> const a = operand<T>(m, k, 1), b = operand<T>(n, k, 2);
    sg::matrix<result> c = operand<result>(m, n, 3), expected = c;
    sg::gemm(sg::reference{}, static_cast<result>(2), a, sg::transposed(b), static_cast<result>(1), expected);
    sg::gemm(policy, static_cast<result>(2), a, sg::transposed(b), static_cast<result>(1), c);
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j)
            if (!(c(i, j) == expected(i, j))) {
                std::printf("wrong: %s, %lld x %lld x %lld: element (%lld, %lld) is %.9g, and not %.9g\n",
                            name, static_cast<long long>(m), static_cast<long long>(n),
                            static_cast<long long>(k), static_cast<long long>(i), static_cast<long long>(j),
                            static_cast<double>(c(i, j)), static_cast<double>(expected(i, j)));
                ++wrong;
                return;
            }
}

} // namespace

int main() {
    sg::host const cpu;
    // STRATAGEMM_ISA may name what the machine lacks; the first call says so.
    sg::matrix<float> one(1, 1);
    if (sg::status s = sg::try_gemm(cpu, one, one, sg::matrix<float>(1, 1)); !s) {
        std::puts(s.error().what());
        return s.error().code() == sg::errc::unsupported ? 77 : 1;
    }
    for (sg::index_t k : {1, 37, 300}) {
        compare<float>("float", cpu, 131, 67, k);
        compare<float>("float, one column", cpu, 131, 1, k);
        compare<double>("double", cpu, 131, 67, k);
        compare<double>("double, one row", cpu, 1, 67, k);
        compare<sg::half>("half", cpu, 131, 67, k);
        compare<std::int8_t>("int8", cpu, 131, 67, k);
    }
    compare<float>("strassen", sg::strassen{cpu, {.levels = 1}}, 130, 66, 98);
    compare<float>("split", sg::split{cpu, {.products = 6}}, 131, 67, 99);
    compare<double>("ozaki", sg::ozaki{cpu, {.moduli = 15}}, 131, 67, 99);
    return wrong != 0;
}
