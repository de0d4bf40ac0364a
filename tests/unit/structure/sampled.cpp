#include "catch.hpp"
#include "sparse.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/coo.hpp>
#include <stratagemm/structure/sampled.hpp>

#include <complex>
#include <limits>

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;

namespace {

// A sparse result against the dense one, at its places.
template <class T>
int wrong_places(sg::csr<T> const& c, sg::matrix<T> const& expected) {
    int wrong = 0;
    for (sg::index_t i = 0; i < c.rows; ++i)
        for (sg::index_t at = c.row_begins[i]; at < c.row_begins[i + 1]; ++at)
            wrong += !(c.values[at] == expected(i, c.columns[at]));
    return wrong;
}

} // namespace

TEMPLATE_TEST_CASE("sampled: sparse times sparse into the pattern of the product", "", float,
                   std::complex<float>) {
    using T = TestType;
    auto const a = support::power_law<T>(30, 40, 0.7, 1);
    auto const b = support::uniform_sparse<T>(40, 35, 0.1, 2);
    sg::matrix<T> expected(30, 35), twice(30, 35);
    sg::gemm(sg::reference{}, sg::conjugated(a.dense()), b.dense(), expected);
    sg::gemm(sg::reference{}, T(2), sg::conjugated(a.dense()), b.dense(), T(3), expected, twice,
             sg::scale(T(2)));
    for (int const threads : {1, 3}) {
        sg::host const cpu{threads};
        auto c = sg::pattern(cpu, a.view(), b.view());
        CHECK(static_cast<bool>(c.view().check_sorted()));
        sg::gemm(cpu, sg::conjugated(a.view()), b.view(), sg::sampled(c));
        CHECK(wrong_places(c.view(), expected) == 0);
        // Nothing else is non-zero.
        sg::matrix<T> whole(30, 35);
        sg::to_dense(cpu, c, whole);
        CHECK(equal(whole, expected));
        sg::gemm(cpu, T(2), sg::conjugated(a.view()), b.view(), T(3), sg::sampled(c), sg::scale(T(2)));
        CHECK(wrong_places(c.view(), twice) == 0);
        // Operands in other formats.
        auto d = sg::pattern(cpu, sg::to_coo(cpu, a.view()), sg::to_csc(cpu, b.view()));
        CHECK(d.view().nonzeros == c.view().nonzeros);
        sg::gemm(cpu, sg::to_coo(cpu, sg::conjugated(a.view())), sg::to_csc(cpu, b.view()), sg::sampled(d));
        CHECK(wrong_places(d.view(), expected) == 0);
        sg::gemm(cpu, T(0), a.view(), b.view(), T(2), sg::sampled(d));
        sg::gemm(sg::reference{}, T(2), sg::conjugated(a.dense()), b.dense(), T(0), whole);
        CHECK(wrong_places(d.view(), whole) == 0);
    }
}

TEMPLATE_TEST_CASE("sampled: dense times dense at the places of a sparse C, in every layout", "", double,
                   sg::half) {
    using T = TestType;
    using S = sg::accumulator_t<T>;
    auto const at = support::power_law<S>(25, 30, 0.8, 3);
    sg::index_t const k = 12;
    int wrong = 0;
    for (int layout = 0; layout < 4; ++layout) {
        auto const order = [&](int bit) {
            return layout >> bit & 1 ? sg::layout::col_major : sg::layout::row_major;
        };
        auto const x = integers<T>(25, k, 4, order(0)), y = integers<T>(k, 30, 5, order(1));
        sg::matrix<S> expected = at.dense();
        sg::gemm(sg::reference{}, S(2), x, y, S(-1), expected);
        std::vector<S> values = at.values;
        auto c = at.view();
        c.values = values.data();
        sg::gemm(sg::host{3}, S(2), x, y, S(-1), sg::sampled(at.view(), values.data()));
        wrong += wrong_places(c, expected);
        auto const place = [](S s, sg::index_t i, sg::index_t j) { return s + static_cast<S>(100 * i + j); };
        sg::gemm(sg::reference{}, x, y, expected, place);
        sg::gemm(sg::host{2}, x, y, sg::sampled(at.view(), values.data()), place);
        wrong += wrong_places(c, expected);
    }
    CHECK(wrong == 0);
    // An Inf meets only the places that are there.
    sg::plan const plan(sg::host{}, sg::product(integers<T>(25, k, 4), integers<T>(k, 30, 5),
                                                sg::sampled(at.view(), std::vector<S>(at.values).data()))
                                        .shape());
    CHECK(contains(plan.describe(), "at the places of a sparse C"));
}

TEST_CASE("sampled: the pattern of int8 has room for sums") {
    auto const a = support::uniform_sparse<std::int8_t>(20, 300, 0.9, 1),
               b = support::uniform_sparse<std::int8_t>(300, 15, 0.9, 2);
    sg::matrix<std::int32_t> expected(20, 15);
    sg::gemm(sg::reference{}, 100, a.dense(), b.dense(), 0, expected);
    sg::host const cpu;
    auto c = sg::pattern(cpu, a.view(), b.view());
    sg::gemm(cpu, 100, a.view(), b.view(), 0, sg::sampled(c));
    CHECK(wrong_places(c.view(), expected) == 0);
    sg::gemm(cpu, 100, a.dense(), b.dense(), 0, sg::sampled(c));
    CHECK(wrong_places(c.view(), expected) == 0);
}

TEST_CASE("sampled: workspace, and what is wrong is said") {
    auto const a = support::uniform_sparse<float>(10, 12, 0.3, 1),
               b = support::uniform_sparse<float>(12, 9, 0.3, 2);
    sg::host const cpu{1};
    auto c = sg::pattern(cpu, a.view(), b.view());
    auto const use = support::try_arena(sg::sampled_product<sg::host>(cpu),
                                        sg::product(a.view(), b.view(), sg::sampled(c)));
    CHECK(use.stayed_inside);
    auto const refused = [](sg::status const& s, sg::errc code, char const* words) {
        REQUIRE(!s);
        CHECK(s.error().code() == code);
        INFO(s.error().what());
        CHECK(contains(s.error().what(), words));
    };
    refused(sg::try_gemm(cpu, b.view(), a.view(), sg::sampled(c)), sg::errc::shape, "A is 12 x 9");
    auto other = sg::pattern(cpu, a.view(), b.view());
    refused(sg::try_gemm(cpu, 1.0f, a.view(), b.view(), 1.0f, sg::sampled(other), sg::sampled(c)),
            sg::errc::argument, "must be C itself");
    refused(sg::try_gemm(cpu, 1.0f, a.view(), b.view(), 1.0f, sg::matrix<float>(10, 9), sg::sampled(c)),
            sg::errc::argument, "must be C itself");
    std::vector<float> values = a.values;
    auto same = a.view();
    same.values = values.data();
    refused(sg::try_gemm(cpu, same, support::banded<float>(12, 12, 1, 1).view(),
                         sg::sampled(same, values.data())),
            sg::errc::alias, "overlaps");
    refused(sg::try_gemm(cpu, a.view(), b.view(), sg::sampled(c.view(), static_cast<float*>(nullptr))),
            sg::errc::null_data, "null");
    try {
        sg::pattern(cpu, a.view(), a.view());
        FAIL("taken");
    } catch (sg::error const& e) {
        CHECK(e.code() == sg::errc::shape);
    }
    // Sparse times dense has a dense result.
    using to = sg::sampled_matrix<float, std::int32_t>;
    using mixed = sg::problem<sg::csr<float>, sg::view<float const>, to>;
    static_assert(sg::answer<sg::sampled_product<sg::host>, mixed>() == sg::verdict::structure);
    using term = sg::view<float const>;
    static_assert(sg::answer<sg::strassen<sg::host>, sg::problem<term, term, to>>() ==
                  sg::verdict::structure);
}
