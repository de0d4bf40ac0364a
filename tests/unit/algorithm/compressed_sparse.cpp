// `compressed` with sparse operands.
#include "catch.hpp"
#include "sparse.hpp"
#include "unit/algorithm/approximate.hpp"

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/coo.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::compressed_parts;
using approximations::distance;
using approximations::norm_of;
using sg::index_t;
using support::same_bits;

namespace {

// A product with few elements, of factors whose columns and rows have many: those of even numbers cancel those that
// follow them, but for `count` of the last, which have one element each.
template <class R>
struct cancelling {
    support::sparse_arrays<R> a, b;
    sg::matrix<R> c;

    cancelling(index_t m, index_t n, index_t pairs, index_t count, double density, std::uint64_t seed) {
        support::random_source from(seed);
        index_t const k = 2 * pairs + count;
        sg::matrix<R> left(m, k, [](index_t, index_t) { return R(0); }),
            right(k, n, [](index_t, index_t) { return R(0); });
        c = sg::matrix<R>(m, n, [](index_t, index_t) { return R(0); });
        auto const number = [&] { return from.unit() < density ? static_cast<R>(from.below(7) - 3) : R(0); };
        for (index_t l = 0; l < 2 * pairs; l += 2) {
            for (index_t i = 0; i < m; ++i) left(i, l) = left(i, l + 1) = number();
            for (index_t j = 0; j < n; ++j) right(l, j) = number(), right(l + 1, j) = -right(l, j);
        }
        for (index_t l = 2 * pairs; l < k; ++l) {
            index_t const i = from.below(static_cast<int>(m)), j = from.below(static_cast<int>(n));
            left(i, l) = right(l, j) = static_cast<R>(1 + from.below(3));
            c(i, j) += left(i, l) * right(l, j);
        }
        a = listed(left), b = listed(right);
    }
    index_t nonzeros() const {
        index_t count = 0;
        for (index_t i = 0; i < c.rows(); ++i)
            for (index_t j = 0; j < c.cols(); ++j) count += c(i, j) != R(0);
        return count;
    }
    double norms() const { return norm_of(a.dense()) * norm_of(b.dense()); }

private:
    static support::sparse_arrays<R> listed(sg::matrix<R> const& x) {
        support::sparse_arrays<R> to;
        to.rows = x.rows(), to.cols = x.cols();
        for (index_t i = 0; i < x.rows(); ++i) {
            for (index_t j = 0; j < x.cols(); ++j)
                if (x(i, j) != R(0))
                    to.columns.push_back(static_cast<std::int32_t>(j)), to.values.push_back(x(i, j));
            to.begins.push_back(static_cast<std::int32_t>(to.columns.size()));
        }
        return to;
    }
};

// The medians of all elements by sketches of a size.
template <class R, class A, class B>
sg::matrix<R> estimates(parts::sketch_size size, std::uint64_t seed, A const& a, B const& b,
                        int threads = 1) {
    sg::host const cpu{.threads = threads};
    sg::compressed_options options{.seed = seed};
    parts::work<sg::host, R, A, B> const work(cpu, options, a, b);
    sg::footprint room;
    room.host = work.bytes(size);
    auto memory = cpu.reserve(room);
    memory.or_throw();
    sg::matrix<R> c(a.rows, b.cols);
    work.each(size, R(1), *memory, 3,
              [&](int, index_t i, index_t j, index_t count, R const* x) {
                  for (index_t l = 0; l < count; ++l) c(i, j + l) = x[l];
              })
        .or_throw();
    return c;
}

} // namespace

TEMPLATE_TEST_CASE("compressed, sparse: the sketches are those of the same matrices", "[unit]", float,
                   double) {
    using R = TestType;
    using dense = sg::view<R const>;
    struct sides {
        index_t m, n, k;
        int bits, sketches;
    } const all[] = {
        {1, 1, 1, 6, 1}, {5, 7, 3, 6, 3}, {64, 64, 64, 6, 1}, {37, 200, 130, 9, 3}, {3, 1000, 50, 7, 1}};
    for (auto const& s : all) {
        auto const a = support::uniform_sparse<R>(s.m, s.k, 0.3, 1),
                   b = support::uniform_sparse<R>(s.k, s.n, 0.3, 2);
        auto const x = a.dense(), y = b.dense();
        parts::sketch_size const size{s.bits, s.sketches};
        auto const expected = estimates<R, dense, dense>(size, 5, sg::as_view(x), sg::as_view(y));
        double const allowed = 100 * static_cast<double>(std::numeric_limits<R>::epsilon()) *
                               (norm_of(x) * norm_of(y) + norm_of(expected));
        INFO(s.m << " x " << s.n << " x " << s.k);
        CHECK(distance(estimates<R>(size, 5, a.view(), b.view()), expected) <= allowed);
        CHECK(distance(estimates<R>(size, 5, a.view(), dense(sg::as_view(y))), expected) <= allowed);
        CHECK(distance(estimates<R>(size, 5, dense(sg::as_view(x)), b.view()), expected) <= allowed);
    }
}

TEST_CASE("compressed, sparse: the same bits on any number of threads", "[unit]") {
    auto const a = support::uniform_sparse<float>(90, 200, 0.2, 1),
               b = support::uniform_sparse<float>(200, 70, 0.2, 2);
    auto const one = estimates<float>({8, 5}, 3, a.view(), b.view());
    for (int const threads : {2, 3, 7})
        CHECK(same_bits(one, estimates<float>({8, 5}, 3, a.view(), b.view(), threads)));
    CHECK(!same_bits(one, estimates<float>({8, 5}, 4, a.view(), b.view())));
}

TEST_CASE("compressed, sparse: products that were planted are found as often as the confidence says",
          "[unit]") {
    int const trials = support::sanitized ? 20 : 300;
    sg::host const cpu{.threads = 1};
    sg::compressed_options const options{};
    int missed = 0;
    for (int t = 0; t < trials; ++t) {
        cancelling<float> const p(20, 30, 4, 12, 0.5, static_cast<std::uint64_t>(t));
        parts::work<sg::host, float, sg::csr<float>> const work(cpu, options, p.a.view(), p.b.view());
        auto const made = work.plan_for(static_cast<double>(p.nonzeros()), 0.1);
        REQUIRE(made.size.sketches > 0);
        auto const c = estimates<float>(made.size, static_cast<std::uint64_t>(t), p.a.view(), p.b.view());
        missed += distance(c, p.c) > 1e-4 * p.norms();
    }
    CHECK(missed <= trials / 10);
}

TEMPLATE_TEST_CASE("compressed, sparse: factors, E, epilogues, formats and layouts", "[unit]", float,
                   double) {
    using R = TestType;
    index_t const m = 500, n = 600;
    cancelling<R> const p(m, n, 120, 20, 0.9, 1);
    sg::report made;
    sg::compressed const policy{
        sg::host{.threads = 1},
        {.tolerance = 1e-4, .confidence = 0.999, .certify = true, .report = &made, .nonzeros = 20}};
    auto const a = p.a.view(), b = p.b.view();
    double const allowed = 1e-4 * p.norms();
    auto const twice = [&](index_t i, index_t j) {
        return std::clamp(-4 * p.c(i, j) + 3 * static_cast<R>((i + j) % 3), R(-7), R(5));
    };
    auto const e = [](index_t i, index_t j) { return static_cast<R>((i + j) % 3); };
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::matrix<R> c(m, n, e, order);
        sg::gemm(policy, R(2), sg::scaled(R(-2), a), b, R(3), c, sg::clamp(R(-7), R(5)));
        CHECK(made.ran == "compressed");
        CHECK(made.bound.worst <= 1e-4);
        CHECK(distance(c, sg::matrix<R>(m, n, twice)) <= 4 * allowed);
    }
    // By columns, as coo, and turned.
    sg::matrix<R> c(m, n), turned(n, m);
    sg::host const cpu;
    auto const by_columns = sg::to_csc(cpu, a);
    sg::gemm(policy, by_columns.view(), sg::to_coo(cpu, b), c);
    CHECK(made.ran == "compressed");
    CHECK(distance(c, p.c) <= allowed);
    sg::gemm(policy, b.transposed(), a.transposed(), turned);
    CHECK(distance(turned, sg::matrix<R>(n, m, [&](index_t j, index_t i) { return p.c(i, j); })) <= allowed);
    // Without a number of elements: the norm of A B is small beside those of A and B.
    sg::gemm(sg::compressed{sg::host{.threads = 1}, {.tolerance = 0.02, .report = &made}}, a, b, c);
    CHECK(made.ran == "compressed");
    CHECK(distance(c, p.c) <= 0.02 * p.norms());
}

TEST_CASE("compressed, sparse: with a matrix", "[unit]") {
    index_t const m = 3000, n = 3000;
    cancelling<float> const p(m, n, 8, 4, 0.9, 1);
    auto const y = p.b.dense(), x = p.a.dense();
    sg::report made;
    sg::compressed const policy{
        sg::host{.threads = 1},
        {.tolerance = 1e-4, .otherwise = sg::otherwise::exact, .report = &made, .nonzeros = 4}};
    sg::matrix<float> c(m, n);
    sg::gemm(policy, p.a.view(), y, c);
    CHECK(distance(c, p.c) <= 1e-4 * p.norms());
    sg::gemm(policy, x, p.b.view(), c);
    CHECK(distance(c, p.c) <= 1e-4 * p.norms());
}

TEST_CASE("compressed, sparse: refused, exact, certified; and bad input", "[unit]") {
    index_t const m = 60, n = 70, k = 50;
    auto a = support::uniform_sparse<float>(m, k, 0.1, 1);
    auto const b = support::uniform_sparse<float>(k, n, 0.1, 2);
    sg::host const cpu;
    auto const product = support::product_of(a.dense(), b.dense()); // of integers
    sg::matrix<float> c(m, n, [](index_t, index_t) { return 7.0f; });
    auto const before = c;
    sg::report made;
    auto const failure_of = [&](sg::compressed_options options) {
        auto const s = sg::try_gemm(sg::compressed{cpu, options}, a.view(), b.view(), c);
        return s ? sg::errc{} : s.error().code();
    };
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3}) == sg::errc::argument);
    CHECK(failure_of({.nonzeros = 20}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = -1}) == sg::errc::argument);
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20, .form = sg::compressed_form::fourier}) ==
          sg::errc::unsupported);
    CHECK(same_bits(c, before));
    sg::compressed const exact{
        cpu, {.tolerance = 1e-3, .otherwise = sg::otherwise::exact, .report = &made, .nonzeros = 20}};
    sg::gemm(exact, a.view(), b.view(), c);
    CHECK(made.ran == "native");
    CHECK(same_bits(c, product));
    auto const y = b.dense();
    sg::gemm(exact, a.view(), y, c);
    CHECK(same_bits(c, product));
    // A number of elements that is too small.
    cancelling<float> const p(500, 600, 120, 300, 0.9, 1);
    sg::matrix<float> d(500, 600);
    sg::compressed_options options{.tolerance = 1e-4, .certify = true, .report = &made, .nonzeros = 1};
    auto const wrong = sg::try_gemm(sg::compressed{cpu, options}, p.a.view(), p.b.view(), d);
    REQUIRE(!wrong);
    CHECK(wrong.error().code() == sg::errc::verification);
    options.otherwise = sg::otherwise::exact;
    sg::gemm(sg::compressed{cpu, options}, p.a.view(), p.b.view(), d);
    CHECK(distance(d, p.c) <= 1e-5 * p.norms());
    // Inf, zeros, and sides of zero.
    a.values[3] = std::numeric_limits<float>::infinity();
    CHECK(failure_of({.tolerance = 1e-3, .nonzeros = 20}) == sg::errc::argument);
    for (auto& x : a.values) x = 0;
    sg::gemm(sg::compressed{cpu, {.tolerance = 1e-3, .nonzeros = 20}}, a.view(), b.view(), c);
    CHECK(norm_of(c) == 0);
    auto const none = support::uniform_sparse<float>(5, 0, 0.1, 1),
               nothing = support::uniform_sparse<float>(0, 6, 0.1, 1);
    sg::matrix<float> zero(5, 6, [](index_t, index_t) { return 3.0f; });
    sg::gemm(sg::compressed{cpu, {.tolerance = 1e-3, .nonzeros = 20}}, none.view(), nothing.view(), zero);
    CHECK(norm_of(zero) == 0);
}
