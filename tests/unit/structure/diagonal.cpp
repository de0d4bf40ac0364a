#include "unit/structure/toeplitz.hpp"

#include <stratagemm/structure/diagonal.hpp>
#include <stratagemm/structure/permutation.hpp>

#include <cstdint>
#include <limits>

namespace sg = stratagemm;
using namespace structured;
using support::contains;

TEMPLATE_TEST_CASE("products with diagonal matrices", "", float, double, std::complex<float>) {
    using T = TestType;
    for (index_t const n : {1, 7, 60}) {
        auto const d = random_vector<T>(2 * n, 1);
        auto const check = [&](auto const& policy, index_t stride) {
            sg::matrix<T> const dense(n, n,
                                      [&](index_t i, index_t j) { return i == j ? at(d, i * stride) : T{}; });
            auto const elements = sg::strided<T const>(d.data(), n, 1, stride, 1);
            check_products(policy, sg::diagonal(elements), dense, 5, 1);
            check_products(policy, sg::diagonal(elements.transposed()), dense, 1, 2);
        };
        check(sg::host{2}, 1);
        check(sg::host{1}, 2);
        check(sg::reference{}, 1);
    }
}

TEMPLATE_TEST_CASE("products with permutations", "", std::int32_t, std::int64_t) {
    using Index = TestType;
    using T = float;
    for (index_t const n : {1, 7, 60}) {
        std::vector<Index> p(static_cast<std::size_t>(n));
        for (index_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = static_cast<Index>((i * 11 + 3) % n);
        sg::matrix<T> const dense(n, n, [&](index_t i, index_t j) { return T(at(p, i) == j); });
        auto const check = [&](auto const& policy) {
            check_products(policy, sg::permutation<T>(p), dense, 5, 1);
            sg::matrix<T> const turned(n, n, [&](index_t i, index_t j) { return dense(j, i); });
            check_products(policy, sg::transposed(sg::permutation<T>(p)), turned, 3, 2);
        };
        check(sg::host{2});
        check(sg::reference{});
    }
}

TEST_CASE("what is wrong with a permutation") {
    std::vector<std::int32_t> p{2, 0, 1};
    auto const x = random_matrix<float>(3, 3, 2);
    sg::matrix<float> y(3, 3, [](index_t, index_t) { return 7.0f; });
    auto const message = [&](auto const& a) {
        auto const s = sg::try_gemm(sg::host{1}, a, x, y);
        for (index_t i = 0; i < 9; ++i) CHECK(y.data()[i] == 7.0f);
        return s ? std::string() : std::string(s.error().what());
    };
    p[1] = 3;
    CHECK(contains(message(sg::permutation<float>(p)), "an index is out of range: number 1"));
    p[1] = -1;
    CHECK(contains(message(sg::transposed(sg::permutation<float>(p))), "an index is out of range: number 1"));
    p[1] = 2;
    CHECK(contains(message(sg::permutation<float>(p)), "an index is there twice: number 1"));
    CHECK(contains(sg::permutation<float>(p).check().error().what(), "an index is there twice: number 1"));
    p[1] = 0;
    CHECK(sg::permutation<float>(p).check());
}
