// Strassen's algorithm and its kin on a device, where the products of all levels are one batch: exact, on integers.
#include "catch.hpp"
#include "policies.hpp"

#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/backend/host.hpp>

using namespace trials;

namespace {

using sg::strassen_variant;
constexpr strassen_variant variants[] = {strassen_variant::best,     strassen_variant::winograd,
                                         strassen_variant::strassen, strassen_variant::plain,
                                         strassen_variant::by_323,   strassen_variant::by_424};

template <class T>
void strassen_on_device(std::initializer_list<int> levels) {
    under_test const device;
    using matrix = typename under_test::template matrix<T>;
    sg::index_t const m = 37, n = 29, k = 41; // rests of all levels on all sides
    sg::matrix<T> const a = support::integers<T>(m, k, 1), b = support::integers<T>(k, n, 2),
                        e = support::integers<T>(m, n, 3);
    sg::matrix<T> expected(m, n), c(m, n);
    auto const wrong = [&](matrix const& there) {
        there.download(c);
        int count = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) count += !(c(i, j) == expected(i, j));
        return count;
    };
    auto const check = [&](strassen_variant variant, int levels, int lying) {
        INFO("variant " << static_cast<int>(variant) << ", levels " << levels << ", lying " << lying);
        constexpr sg::layout orders[] = {sg::layout::row_major, sg::layout::col_major};
        sg::strassen const policy(device, {.levels = levels, .variant = variant});
        matrix there_a(device, m, k, orders[lying & 1]), there_b(device, k, n, orders[lying >> 1 & 1]),
            there_c(device, m, n, orders[lying >> 2]);
        matrix const there_e(device, e);
        there_a.upload(a), there_b.upload(b), there_c.upload(e);
        sg::gemm(sg::host{}, T(2), a, b, T(-1), e, expected);
        sg::gemm(policy, T(2), there_a, there_b, T(-1), there_c);
        CHECK(wrong(there_c) == 0);
        sg::gemm(policy, T(2), there_a, there_b, T(-1), there_e, there_c);
        CHECK(wrong(there_c) == 0);
        sg::gemm(sg::host{}, sg::conjugated(a), sg::conjugated(b), expected);
        sg::gemm(policy, sg::conjugated(there_a), sg::conjugated(there_b), there_c);
        CHECK(wrong(there_c) == 0);
    };
    // Compiling kernels takes most of the time: each way to lie once, and each variant and depth in one of them. Further
    // levels do as the first, whatever the variant.
    int next = 0;
    if (std::is_same_v<T, float>)
        for (int lying = 0; lying < 8; ++lying) check(strassen_variant::best, 1, lying);
    for (strassen_variant const variant : variants)
        for (int const deep : levels)
            if (deep < 2 || variant == strassen_variant::best) check(variant, deep, next++ * 3 % 8);
}

} // namespace

TEST_CASE("strassen on a device: float", "[strassen]") { strassen_on_device<float>({1, 2, 3}); }
TEST_CASE("strassen on a device: double", "[strassen]") { strassen_on_device<double>({1}); }
TEST_CASE("strassen on a device: complex", "[strassen]") { strassen_on_device<std::complex<float>>({1}); }

TEST_CASE("strassen on a device: levels together where there is memory for them", "[strassen]") {
    under_test const device;
    sg::strassen const two(device, {.levels = 2});
    auto const text = two.describe(sg::shape<float>{256, 256, 256});
    CHECK(text.find("Strassen's form), 2 levels, 49 products together") != text.npos);
    // 49 products of 64 x 64 take 3 x 49 x 16 KiB, and what the batch wants.
    auto const alone = device.workspace(sg::shape<float>{64, 64, 64, 49});
    auto const all = two.workspace(sg::shape<float>{256, 256, 256});
    using space = typename under_test::space;
    CHECK(space::share(all) == space::share(alone) + 3 * 49 * 16384);
    // As much as no device has: one level after another.
    sg::index_t const far = sg::index_t{1} << 22;
    CHECK(two.describe(sg::shape<float>{far, far, far}).find("together") == std::string::npos);
}
