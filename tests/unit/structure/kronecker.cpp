#include "unit/structure/toeplitz.hpp"

#include <stratagemm/structure/kronecker.hpp>

#include <limits>

namespace sg = stratagemm;
using namespace structured;
using support::contains;

namespace {

// By its definition.
template <class T>
sg::matrix<T> kronecker_of(sg::matrix<T> const& a, sg::matrix<T> const& b) {
    return sg::matrix<T>(a.rows() * b.rows(), a.cols() * b.cols(), [&](index_t i, index_t j) {
        return a(i / b.rows(), j / b.cols()) * b(i % b.rows(), j % b.cols());
    });
}

} // namespace

TEMPLATE_TEST_CASE("products with Kronecker products", "", float, std::complex<double>) {
    using T = TestType;
    constexpr index_t sides[][7] = {{1, 1, 1, 1, 1, 1, 1},
                                    {2, 3, 4, 5, 1, 1, 6},
                                    {5, 2, 2, 7, 3, 4, 1},
                                    {8, 3, 6, 6, 2, 5, 9},
                                    {1, 4, 9, 2, 3, 3, 20}};
    for (auto const& s : sides) {
        INFO(s[0] << " x " << s[1] << ", " << s[2] << " x " << s[3] << ", " << s[4] << " x " << s[5]);
        // Elements of the expanded matrix are products that are rounded: numbers of few bits are not.
        auto const few_bits = [](index_t rows, index_t cols, unsigned seed, sg::layout order) {
            support::random_source from(seed);
            return sg::matrix<T>(
                rows, cols,
                [&](index_t, index_t) { return T(static_cast<sg::real_t<T>>(from.below(15) - 7)); }, order);
        };
        auto const a = few_bits(s[0], s[1], 1, sg::layout::row_major),
                   b = few_bits(s[2], s[3], 2, sg::layout::col_major),
                   c = few_bits(s[4], s[5], 3, sg::layout::row_major);
        auto const ab = kronecker_of(a, b), abc = kronecker_of(ab, c);
        for (unsigned const seed : {1u, 2u}) {
            check_products(sg::host{2}, sg::kronecker(a, b), ab, s[6], seed);
            check_products(sg::host{1}, sg::kronecker(a, b, c), abc, s[6], seed);
        }
        check_products(sg::reference{}, sg::kronecker(a, b), ab, s[6], 1);
        check_products(sg::reference{}, sg::kronecker(c), c, s[6], 1);
    }
}

TEST_CASE("the host does columns of a Kronecker product in slices, by several threads") {
    using T = std::complex<double>;
    auto const few_bits = [](index_t rows, index_t cols, unsigned seed) {
        support::random_source from(seed);
        return sg::matrix<T>(rows, cols,
                             [&](index_t, index_t) { return T(from.below(15) - 7, from.below(15) - 7); });
    };
    auto const a = few_bits(32, 16, 1), b = few_bits(16, 32, 2), all = kronecker_of(a, b);
    index_t const columns = sg::second_level_cache() / 4 / (2 * 1024 * 16) * 2 + 3; // more than two slices
    sg::matrix<T> const x = few_bits(512, columns, 3);
    sg::matrix<T> y(512, columns), expected(512, columns);
    std::vector<T> lines; // columns of x, one after another
    for (index_t j = 0; j < columns; ++j)
        for (index_t i = 0; i < 512; ++i) lines.push_back(x(i, j));
    auto const product = sg::product(sg::kronecker(a, b), x, y);
    CHECK(contains(sg::plan(sg::host{1}, product.shape()).describe(), "columns at a time"));
    sg::gemm(sg::host{}, all, x, expected);
    for (int const threads : {1, 2, 3}) {
        std::fill(y.data(), y.data() + 512 * columns, T(NAN));
        sg::gemm(sg::host{threads}, sg::kronecker(a, b), x, y);
        CHECK(std::equal(y.data(), y.data() + 512 * columns, expected.data())); // nothing is rounded
        // Rows of the transposed product lie side by side.
        sg::matrix<T> turned(columns, 512);
        sg::gemm(sg::host{threads}, sg::row_major(lines, columns, 512), sg::kronecker(a, b).transposed(),
                 turned);
        for (index_t i = 0; i < 512; ++i)
            for (index_t j = 0; j < columns; ++j)
                if (turned(j, i) != expected(i, j)) FAIL("wrong at " << i << ", " << j);
    }
}

TEST_CASE("a Kronecker product multiplies in the order that takes least") {
    sg::matrix<float> const a(40, 2), b(3, 50), x(100, 8);
    sg::matrix<float> y(120, 8);
    auto const text = sg::plan(sg::host{1}, sg::product(sg::kronecker(a, b), x, y).shape()).describe();
    CHECK(text.find("3 x 50") < text.find("40 x 2"));
}

TEST_CASE("what is wrong with a Kronecker product") {
    auto const a = random_matrix<float>(2, 2, 1), x = random_matrix<float>(4, 3, 2);
    sg::matrix<float> y(4, 3, [](index_t, index_t) { return 7.0f; });
    auto const message = [&](auto const& k) {
        auto const s = sg::try_gemm(sg::host{1}, k, x, y);
        for (index_t i = 0; i < 12; ++i) CHECK(y.data()[i] == 7.0f);
        return s ? std::string() : std::string(s.error().what());
    };
    CHECK(contains(message(sg::kronecker(a, sg::row_major<float const>(nullptr, 2, 2))), "null pointer"));
    CHECK(contains(message(sg::kronecker(a, a, a)), "A is 8 x 8"));
    CHECK(
        contains(message(sg::kronecker(a, sg::row_major<float const>(y.data(), 2, 2))), "C overlaps A or B"));
    index_t const vast = index_t{1} << 40;
    auto const v = sg::strided<float const>(a.data(), vast, vast, 0, 0);
    CHECK(!message(sg::kronecker(v, v)).empty());
}
