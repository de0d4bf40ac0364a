// The fused form of the Ozaki layer on the tile unit, against the layered form over the same machine: the same bits.
#include "catch.hpp"
#include "eager.hpp"
#include "unit/support.hpp"

#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/stratagemm.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>
#include <vector>

namespace sg = stratagemm;
namespace parts = stratagemm::ozaki_parts;
namespace tiles = stratagemm::ozaki_tiles;
using support::fractions;
using support::random_source;
using support::same_bits;

#if defined(__x86_64__)

namespace {

bool here() {
    if (sg::current_isa().isa == sg::host_isa::amx && sg::current_isa().available) return true;
    std::puts("skipped: no AVX-512 here to emulate the tile unit with, or STRATAGEMM_ISA is not amx");
    return false;
}

struct trial {
    sg::index_t m, n, k;
    bool a_turned = false, b_turned = false;
    int threads = 1;
    double phi = 0, zeros = 0;
};

// Both forms of one policy; whether C and the reports agree.
template <class T>
bool agree(trial const& t, sg::ozaki_options options, T alpha = T(1), T beta = T(0)) {
    random_source from(static_cast<std::uint64_t>(t.m * 7 + t.n * 3 + t.k));
    auto const fill = [&](sg::index_t, sg::index_t) {
        T const x = support::make_by<T>([&] { return from.spread(t.phi); });
        return from.unit() < t.zeros ? T(0) : x;
    };
    auto const order = [](bool turned) { return turned ? sg::layout::col_major : sg::layout::row_major; };
    sg::matrix<T> const a(t.m, t.k, fill, order(t.a_turned)), b(t.k, t.n, fill, order(t.b_turned));
    sg::matrix<T> layered(t.m, t.n, fill),
        fused(t.m, t.n, [&](sg::index_t i, sg::index_t j) { return layered(i, j); });
    sg::ozaki_report one, other;
    eager<untiled> by_maps;
    eager<sg::host> by_leaf;
    by_maps.threads = by_leaf.threads = t.threads;
    options.report = &one;
    sg::gemm(sg::ozaki{by_maps, options}, alpha, a, b, beta, layered);
    options.report = &other;
    sg::gemm(sg::ozaki{by_leaf, options}, alpha, a, b, beta, fused);
    CAPTURE(t.m, t.n, t.k, t.a_turned, t.b_turned, t.threads, t.phi, t.zeros, one.count, other.count,
            one.spread, other.spread);
    CHECK(one.ran == other.ran);
    CHECK(one.count == other.count);
    CHECK(one.spread == other.spread);
    CHECK(same_bits(layered, fused));
    return same_bits(layered, fused);
}

} // namespace

TEST_CASE("every count of moduli gives the bits of the layered form") {
    if (!here()) return;
    for (int count = 2; count <= 20; ++count) agree<double>({40, 37, 70}, {.moduli = count});
    for (int count : {2, 6, 7, 8, 9}) agree<float>({33, 66, 129, false, false, 2}, {.moduli = count});
    for (int count : {7, 15, 18})
        agree<double>({35, 33, 65}, {.moduli = count, .scaling = sg::ozaki_scaling::product});
}

TEST_CASE("in every layout, over passes of k, and with any number of threads") {
    if (!here()) return;
    for (bool a : {false, true})
        for (bool b : {false, true}) {
            agree<double>({65, 130, 1100, a, b, 2}, {.moduli = 15}, 1.5, 0.75);
            agree<double>({96, 64, 128, a, b, 1}, {.moduli = 16});
            agree<float>({97, 66, 129, a, b, 3}, {.moduli = 8}, -2.0f, 1.0f);
            agree<std::complex<double>>({33, 20, 40, a, b, 2}, {.moduli = 15}, {1, 2}, {0.5, -1});
        }
    for (sg::index_t n : {1, 2, 31, 32, 33}) agree<double>({n, 34 - n, n}, {.moduli = 15});
    agree<double>({530, 33, 65, true, false, 2}, {.moduli = 15});
    agree<double>({3, 600, 64, false, false, 2}, {.moduli = 15});
    agree<double>({34, 1100, 65}, {.moduli = 15}); // two blocks of columns
    if (!support::sanitized)                       // what is packed of B goes past the caches
        agree<double>({20, 2100, 1600, false, true}, {.moduli = 15});
}

TEST_CASE("a hundred runs, the same bits") {
    if (!here()) return;
    auto const a = support::spread_out<double>(37, 80, 0.5, 11),
               b = support::spread_out<double>(80, 41, 0.5, 12);
    sg::matrix<double> first(37, 41), c(37, 41);
    for (int run = 0; run < 100; ++run) {
        eager<sg::host> cpu;
        cpu.threads = 1 + run % 2;
        sg::ozaki_report ran;
        sg::gemm(sg::ozaki{cpu, {.report = &ran}}, a, b, run == 0 ? first : c);
        REQUIRE(ran.ran == "moduli");
        if (run > 0) REQUIRE(same_bits(first, c));
    }
}

TEST_CASE("strides of any sign, and a C of columns") {
    if (!here()) return;
    sg::index_t const m = 37, n = 45, k = 80;
    auto const all = fractions<double>(120, 200, 5);
    auto const a = sg::strided(all.data() + 7 + 2 * (k - 1), m, k, 200, -2),
               b = sg::strided(all.data() + 3 + 200 * (k - 1), k, n, -200, 3);
    auto const run = [&](auto policy) {
        sg::matrix<double> c(m, n, sg::layout::col_major);
        sg::gemm(sg::ozaki{policy, {.moduli = 15}}, a, b, c);
        return c;
    };
    CHECK(same_bits(run(eager<untiled>{}), run(sg::host{})));
}

TEMPLATE_TEST_CASE("epilogues are applied as blocks are written, to the same bits", "", float, double,
                   std::complex<double>) {
    if (!here()) return;
    using T = TestType;
    auto const a = fractions<T>(70, 40, 7), b = fractions<T>(40, 45, 8), e = fractions<T>(70, 45, 9);
    for (int count : {3, 8, 15, 18})
        for (T const beta : {T(0), T(0.3f)})
            CHECK(support::finishes(sg::ozaki{sg::host{.threads = 2}, {.moduli = count}}, a, b, e, T(1.5f),
                                    beta));
    CHECK(support::finishes(sg::ozaki{eager<sg::host>{}, {}}, a, b, e, T(1), T(0)));
    if constexpr (std::is_same_v<T, float>) // the other layer that has a fused form
        for (int products : {3, 6, 9})
            for (T const beta : {T(0), T(1)})
                CHECK(support::finishes(sg::split{sg::host{.threads = 2}, {.products = products}}, a, b, e,
                                        T(1), beta));
    if constexpr (std::is_same_v<T, double>) { // so far apart that they are written by the layer
        auto x = fractions<T>(40, 50, 10), y = fractions<T>(50, 36, 11);
        for (sg::index_t l = 0; l < 50; ++l) {
            for (sg::index_t i = 0; i < 40; ++i) x(i, l) = std::ldexp(x(i, l), i % 2 ? 900 : -900);
            for (sg::index_t j = 0; j < 36; ++j) y(l, j) = std::ldexp(y(l, j), j % 3 ? -900 : 100);
        }
        CHECK(
            support::finishes(sg::ozaki{sg::host{}, {.moduli = 15}}, x, y, sg::matrix<T>(40, 36), 1.0, 0.0));
    }
}

TEST_CASE("lines far apart in size") {
    if (!here()) return;
    for (int far : {100, 490, 900}) {
        auto a = fractions<double>(40, 50, 6), b = fractions<double>(50, 36, 7);
        for (sg::index_t l = 0; l < 50; ++l) {
            for (sg::index_t i = 0; i < 40; ++i) a(i, l) = std::ldexp(a(i, l), i % 2 ? far : -far);
            for (sg::index_t j = 0; j < 36; ++j) b(l, j) = std::ldexp(b(l, j), j % 3 ? -far : far / 9);
        }
        sg::matrix<double> layered(40, 36), fused(40, 36);
        sg::gemm(sg::ozaki{eager<untiled>{}, {.moduli = 15}}, a, b, layered);
        sg::gemm(sg::ozaki{sg::host{}, {.moduli = 15}}, a, b, fused);
        CAPTURE(far);
        CHECK(same_bits(layered, fused));
    }
}

TEST_CASE("by contract the survey by vectors leads to the same choice") {
    if (!here()) return;
    for (double phi : {0.0, 0.5, 1.0, 2.0, 4.0})
        for (int x = 0; x < 4; ++x) agree<double>({70, 45, 130, (x & 1) != 0, x > 1, 1 + x % 2, phi}, {});
    for (double zeros : {0.5, 0.9, 0.99}) agree<double>({64, 64, 200, false, false, 2, 0, zeros}, {});
    for (double phi : {0.0, 1.0}) agree<float>({70, 45, 130, true, false, 2, phi}, {});
    agree<double>({40, 1100, 1030, false, true, 2, 0.5}, {});
    agree<std::complex<double>>({20, 21, 40, false, false, 1, 0.5}, {});
}

TEST_CASE("sums too long to be packed at once are left to the layers") {
    if (!here()) return;
    sg::shape<double> const longer{2, 3, (sg::index_t{1} << 18) + 1};
    sg::ozaki const fused{sg::host{.threads = 1}, {.moduli = 15}};
    eager<untiled> by_maps;
    by_maps.threads = 1;
    CHECK(fused.workspace(longer) == sg::ozaki{by_maps, {.moduli = 15}}.workspace(longer));
    agree<double>({2, 3, longer.k}, {.moduli = 15});
}

TEST_CASE("what no integer can be made of is left to the base") {
    if (!here()) return;
    sg::matrix<double> a(40, 40), b(40, 40), c(40, 40);
    for (sg::index_t i = 0; i < 40; ++i)
        for (sg::index_t j = 0; j < 40; ++j) a(i, j) = static_cast<double>(i + j), b(i, j) = 1;
    for (double odd :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e300}) {
        a(7, 39) = odd;
        if (odd == 1e300) b(39, 0) = odd;
        sg::ozaki_report report;
        sg::gemm(sg::ozaki{eager<sg::host>{}, {.report = &report}}, a, b, c);
        CHECK(report.ran == "native");
    }
}

TEST_CASE("fewer moduli take no more workspace, nor do threads for which there is no block") {
    if (!here()) return;
    for (sg::index_t k : {1, 64, 1000, 4096, 8192, 46592, 52480, 262144})
        for (sg::index_t m : {1, 64, 1024, 5000})
            for (int count = 2; count < 20; ++count) {
                tiles::residue_sizes const fewer(m, m, k, count), more(m, m, k, count + 1);
                CAPTURE(k, m, count);
                REQUIRE(fewer.bytes(count, 3) <= more.bytes(count + 1, 3));
            }
    tiles::on_host const one(sg::host{.threads = 1}.leaf()), many(sg::host{.threads = 64}.leaf());
    CHECK(many.bytes(32, 32, 262144, 20) == one.bytes(32, 32, 262144, 20));
    if (!support::sanitized) agree<double>({33, 40, 52480, false, false, 3}, {});
}

namespace {

// Lines that have nothing but a sum, of which some do not count.
struct plain_lines {
    std::vector<double> left, right;
    std::vector<double>*most_left, *least_left, *most_right, *least_right;

    bool left_counts(sg::index_t i) const { return left[std::size_t(i)] > 0; }
    bool right_counts(sg::index_t j) const { return right[std::size_t(j)] > 0; }
    double left_sum(sg::index_t i) const { return left[std::size_t(i)]; }
    double right_sum(sg::index_t j) const { return right[std::size_t(j)]; }
    struct pair {
        double left, right;
    };
    pair shares(sg::index_t, sg::index_t, std::int32_t q) const { return {double(q), double(q)}; }
    void take_left(sg::index_t i, double most, double least) const {
        (*most_left)[std::size_t(i)] = most, (*least_left)[std::size_t(i)] = least;
    }
    void take_right(sg::index_t j, double most, double least) const {
        (*most_right)[std::size_t(j)] = most, (*least_right)[std::size_t(j)] = least;
    }
};

} // namespace

TEST_CASE("no extreme of a line is lost, whatever is left over of it") {
    if (!here()) return;
    for (sg::index_t n : {1, 7, 8, 9, 12, 15, 17, 511, 513, 521})
        for (sg::index_t weak : {sg::index_t{0}, sg::index_t{7}, n / 2, n - 1}) {
            sg::index_t const m = 5;
            if (weak >= n) continue;
            sg::matrix<std::int32_t> const q(m, n, [&](sg::index_t i, sg::index_t j) {
                return static_cast<std::int32_t>(j == weak ? 40 - 9 * i : 1000 + (i * 31 + j * 17) % 500);
            });
            auto const size = static_cast<std::size_t>(n);
            std::vector<double> a(5), b(5), c(size), d(size);
            plain_lines lines{{1, 2, 0, 4, 1}, std::vector<double>(size, 2), &a, &b, &c, &d};
            if (n > 9) lines.right[9] = 0;
            auto memory = sg::host{}.reserve({tiles::crossing_bytes(m, n, 2)});
            REQUIRE(memory);
            tiles::cross_lines(lines, sg::view<std::int32_t const>(q.view()), 2, *memory);
            std::vector<double> expected_row(5, HUGE_VAL), expected_column(size, HUGE_VAL);
            for (sg::index_t i = 0; i < m; ++i)
                for (sg::index_t j = 0; j < n; ++j) {
                    if (!lines.left_counts(i) || !lines.right_counts(j)) continue;
                    auto const r = std::size_t(i), s = std::size_t(j);
                    expected_row[r] = std::min(expected_row[r], q(i, j) * (1 / lines.right[s]));
                    expected_column[s] = std::min(expected_column[s], q(i, j) * (1 / lines.left[r]));
                }
            CAPTURE(n, weak);
            CHECK(b == expected_row);
            for (sg::index_t j = 0; j < n; ++j)
                if (lines.right_counts(j)) CHECK(d[std::size_t(j)] == expected_column[std::size_t(j)]);
        }
}

TEST_CASE("operands that do not fit are packed in parts") {
    if (!here()) return;
    sg::index_t const m = 100, n = 150, k = 90;
    auto const a = fractions<double>(m, k, 8), b = fractions<double>(k, n, 9);
    sg::matrix<double> c(m, n), expected(m, n);
    sg::gemm(sg::ozaki{eager<untiled>{}, {.moduli = 15}}, a, b, expected);
    parts::residue_system const system(15);
    sg::matrix<std::int32_t> const left(m, 1, [](sg::index_t, sg::index_t) { return 50; }),
        right(n, 1, [](sg::index_t, sg::index_t) { return 51; });
    auto const p = sg::product(1.0, a, b, 0.0, c);
    parts::residue_job<std::remove_const_t<decltype(p)>> const job{
        p, {p.a}, parts::right_lines_of(p.b), left.view(), right.view(), 52, system};
    for (int team : {1, 2}) {
        tiles::residue_sizes sizes(m, n, k, 15);
        sizes.rows = 32, sizes.cols = 64, sizes.planes = 32 * 64 + 320;
        auto arena = sg::host{}.reserve({sizes.bytes(15, team)});
        REQUIRE(arena);
        tiles::multiply_residues(job, sizes, team, *arena);
        double worst = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) worst = std::max(worst, std::abs(c(i, j) - expected(i, j)));
        CHECK(worst < 1e-14);
    }
}

#endif
