// Compiled with -ffast-math: sums that find what they lose, and tests for Inf and NaN, have to be what they are without.
#include "random.hpp"

#include <stratagemm/stratagemm.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace sg = stratagemm;

namespace {

int wrong = 0;
void check(bool good, char const* what) {
    if (good) return;
    ++wrong;
    std::printf("wrong: %s\n", what);
}

// Elements are integers, so that 128 bits hold sums exactly; products cancel all but a part of their bits.
template <class Policy>
void compare(char const* name, Policy const& policy, sg::index_t m, sg::index_t n, sg::index_t k) {
    __extension__ typedef __int128 wide;
    support::random_source from(7);
    auto const element = [&](sg::index_t, sg::index_t) {
        return static_cast<double>(static_cast<std::int64_t>(from.next()) >> 12); // 52 bits
    };
    sg::matrix<double> const a(m, k, element), b(k, n, element);
    sg::matrix<double> c(m, n);
    check(static_cast<bool>(sg::try_gemm(policy, a, b, c)), name);
    double most = 0;
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j) {
            wide sum = 0;
            for (sg::index_t l = 0; l < k; ++l)
                sum += static_cast<wide>(static_cast<std::int64_t>(a(i, l))) *
                       static_cast<std::int64_t>(b(l, j));
            wide const off = static_cast<wide>(c(i, j)) - sum;
            double const x =
                static_cast<double>(off < 0 ? -off : off) / static_cast<double>(sum < 0 ? -sum : sum);
            if (x > most) most = x;
        }
    // One rounding is 1.1e-16; plain sums are wrong by more than 1e-14.
    if (most > 1.2e-16) std::printf("%s: relative error %.3g\n", name, most);
    check(most <= 1.2e-16, name);
}

template <class T>
bool is_nan_or_inf(T x) {
    if constexpr (sizeof(T) == 8)
        return (__builtin_bit_cast(std::uint64_t, x) >> 52 & 0x7ff) == 0x7ff;
    else
        return (__builtin_bit_cast(std::uint32_t, x) >> 23 & 0xff) == 0xff;
}

// Inf is found, and the product is left to the base.
template <class T, class Policy>
void find_infinity(char const* name, Policy const& policy) {
    sg::index_t const n = 40;
    sg::matrix<T> a(n, n, [](sg::index_t i, sg::index_t j) { return static_cast<T>(i + j + 1); });
    sg::matrix<T> const b = a;
    sg::matrix<T> c(n, n);
    std::uint64_t const infinity = 0x7ff0000000000000;
    std::uint32_t const narrow = 0x7f800000;
    std::memcpy(&a(3, 4), sizeof(T) == 8 ? static_cast<void const*>(&infinity) : &narrow, sizeof(T));
    check(static_cast<bool>(sg::try_gemm(policy, a, b, c)), name);
    for (sg::index_t i = 0; i < n; ++i)
        for (sg::index_t j = 0; j < n; ++j) check(is_nan_or_inf(c(i, j)) == (i == 3), name);
}

} // namespace

int main() {
    sg::host const cpu{.threads = 1};
    compare("reference", sg::reference{}, 20, 20, 100);
    compare("reference", sg::reference{}, 1, 3, 1000);
    compare("ozaki, 20 moduli", sg::ozaki{cpu, {.moduli = 20}}, 20, 20, 100);
    compare("ozaki, 19 moduli", sg::ozaki{cpu, {.moduli = 19}}, 33, 65, 100);
    compare("ozaki, 9 slices", sg::ozaki{cpu, {.slices = 9}}, 20, 20, 100);
    compare("ozaki, 9 slices", sg::ozaki{cpu, {.slices = 9}}, 33, 65, 100);
    compare("ozaki over reference", sg::ozaki{sg::reference{}, {.moduli = 20}}, 20, 20, 100);
    find_infinity<double>("Inf, ozaki", sg::ozaki{cpu, {.moduli = 15}});
    find_infinity<double>("Inf, ozaki by accuracy", sg::ozaki{cpu, {.accuracy = sg::accuracy::fp64}});
    find_infinity<float>("Inf, split", sg::split{cpu, {.products = 6}});
    return wrong != 0;
}
