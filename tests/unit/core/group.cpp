#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>

#include <array>
#include <list>
#include <vector>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

namespace {

using problem = sg::dense_problem<float, float, float>;

// C = A B, exactly.
struct job {
    sg::matrix<float> a, b, c, exact;
    job(sg::index_t m, sg::index_t n, sg::index_t k)
        : a(integers<float>(m, k, 1)), b(integers<float>(k, n, 2)), c(m, n), exact(product_of(a, b)) {}
};
void fill(sg::matrix<float>& c, float x) {
    for (sg::index_t i = 0; i < c.rows(); ++i)
        for (sg::index_t j = 0; j < c.cols(); ++j) c(i, j) = x;
}
// Products of all sizes, some empty, and some with nothing to sum; large enough together to be shared out among
// threads.
std::list<job> jobs() {
    std::list<job> all;
    for (sg::index_t i = 0; i < 40; ++i) all.emplace_back(1 + i * 7 % 50, i * 5 % 33, i * 11 % 47);
    all.emplace_back(150, 140, 130);
    all.emplace_back(0, 3, 4);
    return all;
}
std::vector<problem> products_of(std::list<job>& all) {
    std::vector<problem> products;
    for (job& j : all) products.push_back(sg::product(j.a, j.b, j.c));
    return products;
}
template <class Policy>
void check_on(Policy const& policy) {
    auto all = jobs();
    auto const products = products_of(all);
    sg::gemm(policy, products);
    for (job const& j : all) CHECK(equal(j.c, j.exact));
    for (job& j : all) fill(j.c, 7);
    auto arena = policy.reserve(sg::group_workspace(policy, products));
    REQUIRE(arena);
    sg::gemm(policy, products, *arena);
    for (job const& j : all) CHECK(equal(j.c, j.exact));
}

} // namespace

TEST_CASE("a group on every policy, with an arena and without") {
    check_on(sg::reference{});
    check_on(sg::host{});
    check_on(sg::host{.threads = 1});
    check_on(sg::host{.threads = 3});
    check_on(sg::strassen{sg::host{.threads = 2}, {.levels = 1}});
    auto all = jobs();
    sg::gemm(products_of(all)); // the policy of these operands
    for (job const& j : all) CHECK(equal(j.c, j.exact));
}

TEST_CASE("products of a group have factors, added matrices, epilogues and batches of their own") {
    job x(5, 6, 7), y(3, 4, 2), z(6, 8, 8);
    auto const before = integers<float>(5, 6, 3), e = integers<float>(3, 4, 4);
    x.c = before;
    sg::gemm(std::array{sg::product(2, x.a, x.b, 3, x.c), sg::product(y.a, y.b, e, y.c),
                        sg::product(sg::batched(z.a.block(0, 0, 2, 8), 3, 16), z.b,
                                    sg::batched(z.c.block(0, 0, 2, 8), 3, 16))});
    CHECK(equal(
        x.c, sg::matrix<float>(5, 6, [&](auto i, auto j) { return 2 * x.exact(i, j) + 3 * before(i, j); })));
    CHECK(equal(y.c, sg::matrix<float>(3, 4, [&](auto i, auto j) { return y.exact(i, j) + e(i, j); })));
    CHECK(equal(z.c, z.exact));
    sg::gemm(
        std::array{sg::product(y.a, y.b, y.c, sg::scale(2.0f)), sg::product(z.a, z.b, z.c, sg::scale(3.0f))});
    CHECK(y.c(1, 1) == 2 * y.exact(1, 1));
    CHECK(z.c(1, 1) == 3 * z.exact(1, 1));
}

TEST_CASE("a group is refused as a whole, and says which product is wrong") {
    auto all = jobs();
    auto products = products_of(all);
    auto const refused = [&](sg::errc code, char const* words) {
        for (job& j : all) fill(j.c, 7);
        sg::status const s = sg::try_gemm(sg::host{.threads = 2}, products);
        REQUIRE(!s);
        CAPTURE(s.error().what());
        CHECK(s.error().code() == code);
        CHECK(contains(s.error().what(), words));
        int touched = 0;
        for (job const& j : all)
            for (sg::index_t i = 0; i < j.c.rows(); ++i)
                for (sg::index_t l = 0; l < j.c.cols(); ++l) touched += j.c(i, l) != 7;
        CHECK(touched == 0);
    };
    sg::matrix<float> one(9, 9), c(9, 9), d(9, 9);
    SECTION("for its shape") {
        products.insert(products.begin() + 5, sg::product(one, one, c));
        products[5].a.cols = 8;
        refused(sg::errc::shape, "product 5 of the group: A is 9 x 8");
    }
    SECTION("for a C that another has") {
        products = {sg::product(one, one, c), sg::product(one, one, d), sg::product(one, one, c)};
        refused(sg::errc::alias, "C of another product");
    }
    SECTION("for an A that another writes") {
        products = {sg::product(one, one, c), sg::product(c, one, d)};
        refused(sg::errc::alias, "product 1 of the group: it may share elements");
    }
    SECTION("for an added matrix that another writes") {
        products = {sg::product(one, one, d, c), sg::product(one, one, d)};
        refused(sg::errc::alias, "product 0 of the group: it may share elements");
    }
}

TEST_CASE("a product without results may name anything") {
    sg::matrix<float> const a = integers<float>(4, 5, 1), b = integers<float>(5, 6, 2);
    sg::matrix<float> c(4, 6), none(0, 6);
    std::vector<problem> const products = {sg::product(a, b, c),
                                           sg::product(sg::row_major(a.data(), 0, 4), c, none)};
    sg::gemm(sg::host{.threads = 1}, products);
    CHECK(equal(c, product_of(a, b)));
}

TEST_CASE("where one is done after another, a policy's own refusal says which it was") {
    job x(3, 3, 10), y(3, 3, 40000);
    sg::status const s = sg::try_gemm(sg::ozaki{sg::host{.threads = 1}, {.moduli = 2}},
                                      std::array{sg::product(x.a, x.b, x.c), sg::product(y.a, y.b, y.c)});
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "ozaki: product 1 of the group: k is too large"));
}

TEST_CASE("blocks of one matrix may be the results of a group, in any order") {
    sg::matrix<float> const a = integers<float>(12, 20, 1), b = integers<float>(20, 12, 2);
    sg::matrix<float> c(12, 12);
    std::vector<problem> products;
    for (sg::index_t j = 9; j >= 0; j -= 3)
        for (sg::index_t i = 0; i < 12; i += 4)
            products.push_back(sg::product(a.block(i, 0, 4, 20), b.block(0, j, 20, 3), c.block(i, j, 4, 3)));
    sg::gemm(sg::host{.threads = 2}, products);
    CHECK(equal(c, product_of(a, b)));
    products.push_back(sg::product(a.block(0, 0, 2, 20), b.block(0, 0, 20, 2), c.block(3, 2, 2, 2)));
    CHECK(!sg::try_gemm(products));
}

TEST_CASE("an arena that is too small, and no products at all") {
    auto all = jobs();
    sg::host const cpu{.threads = 2};
    auto arena = cpu.reserve({});
    sg::status const s = sg::try_gemm(cpu, products_of(all), *arena);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::memory);
    CHECK(contains(s.error().what(), "group_workspace"));
    std::vector<problem> const none;
    CHECK(sg::try_gemm(cpu, none));
    CHECK(sg::group_workspace(cpu, none) == sg::footprint{});
}

TEST_CASE("operands of a group may lie among its results, as long as they are apart") {
    constexpr sg::index_t n = 6, size = n * n;
    sg::matrix<float> all(1, 12 * size);
    auto const at = [&](sg::index_t i) { return sg::row_major(all.data() + i * size, n, n); };
    auto const a = integers<float>(n, n, 1), b = integers<float>(n, n, 2), e = integers<float>(n, n, 3);
    std::vector<problem> products;
    for (sg::index_t i = 0; i < 12; i += 4) {
        for (sg::index_t l = 0; l < size; ++l) {
            all(0, i * size + l) = a(l / n, l % n), all(0, (i + 2) * size + l) = b(l / n, l % n);
            all(0, (i + 3) * size + l) = e(l / n, l % n);
        }
        products.push_back(sg::product(at(i), at(i + 2), at(i + 3), at(i + 1)));
    }
    sg::gemm(sg::host{.threads = 2}, products);
    auto const exact = product_of(a, b);
    for (sg::index_t i = 0; i < 12; i += 4)
        for (sg::index_t l = 0; l < size; ++l)
            CHECK(all(0, (i + 1) * size + l) == exact(l / n, l % n) + e(l / n, l % n));
    // An element further, and the last one reads what the one before it writes.
    products[2].e.data = all.data() + 6 * size - 1;
    CHECK(!sg::try_gemm(products));
    products[2].beta = 0;
    CHECK(sg::try_gemm(products));
}

TEST_CASE("results are refused when they overlap, and only then, wherever they lie in one matrix") {
    support::random_source from(3);
    auto const below = [&](sg::index_t n) { return sg::index_t{from.below(static_cast<int>(n))}; };
    sg::matrix<float> const a = integers<float>(24, 1, 1), b = integers<float>(1, 24, 2);
    int refused = 0, taken = 0, wrong = 0;
    for (int round = 0; round < 1000; ++round) {
        sg::matrix<float> memory(24, 24);
        auto const c =
            round % 2 ? sg::row_major(memory.data(), 24, 24) : sg::col_major(memory.data(), 24, 24);
        sg::matrix<int> owners(24, 24);
        bool overlap = false;
        std::vector<problem> products;
        for (sg::index_t left = 1 + below(12); left > 0; --left) {
            sg::index_t const m = 1 + below(round % 3 ? 5 : 24), n = 1 + below(round % 5 ? 4 : 24);
            sg::index_t const i = below(25 - m), j = below(25 - n);
            products.push_back(sg::product(a.block(0, 0, m, 1), b.block(0, 0, 1, n), c.block(i, j, m, n)));
            for (sg::index_t x = i; x < i + m; ++x)
                for (sg::index_t y = j; y < j + n; ++y) overlap |= owners(x, y)++ > 0;
        }
        bool const done = static_cast<bool>(sg::try_gemm(sg::host{.threads = 1}, products));
        wrong += done == overlap, refused += !done, taken += done;
    }
    CHECK(wrong == 0);
    CHECK(refused > 200);
    CHECK(taken > 200);
}

TEST_CASE("products of a group are refused when one reads what another writes, wherever operands lie") {
    support::random_source from(4);
    auto const below = [&](std::size_t n) { return std::size_t(from.below(static_cast<int>(n))); };
    int refused = 0, taken = 0, wrong = 0;
    for (int round = 0; round < 1000; ++round) {
        // Columns and rows one after another, in the order of their products or in any, and then one elsewhere.
        std::size_t const count = 2 + below(9);
        std::vector<std::size_t> sides(count), order(3 * count), first(3 * count), length(3 * count);
        for (std::size_t i = 0; i < 3 * count; ++i) order[i] = i;
        for (std::size_t i = order.size(); round % 2 && i > 1; --i) std::swap(order[i - 1], order[below(i)]);
        std::size_t end = 0;
        for (std::size_t const i : order) {
            std::size_t& side = sides[i / 3];
            if (side == 0) side = 1 + below(5);
            length[i] = i % 3 < 2 ? side : side * side;
            first[i] = end, end += length[i] + below(2);
        }
        if (round % 3)
            if (std::size_t const i = below(3 * count); length[i] < end) first[i] = below(end - length[i]);
        bool overlap = false;
        for (std::size_t c = 2; c < 3 * count; c += 3)
            for (std::size_t i = 0; i < 3 * count; ++i)
                overlap |= i != c && first[i] < first[c] + length[c] && first[c] < first[i] + length[i];
        std::vector<float> memory(end, 1.0f);
        std::vector<problem> products;
        for (std::size_t i = 0; i < count; ++i) {
            auto const at = [&](std::size_t which) { return memory.data() + first[3 * i + which]; };
            auto const n = static_cast<sg::index_t>(sides[i]);
            products.push_back(sg::product(sg::row_major(at(0), n, 1), sg::row_major(at(1), 1, n),
                                           sg::row_major(at(2), n, n)));
        }
        bool const done = static_cast<bool>(sg::try_gemm(sg::host{.threads = 1}, products));
        wrong += done == overlap, refused += !done, taken += done;
    }
    CHECK(wrong == 0);
    CHECK(refused > 200);
    CHECK(taken > 200);
}
