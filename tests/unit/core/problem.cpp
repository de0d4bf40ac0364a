#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::errc;
using support::contains;

namespace {

constexpr sg::index_t huge = std::numeric_limits<sg::index_t>::max();

template <class V, class W>
bool overlap(V const& v, W const& w) {
    return sg::views_overlap(sg::place(v, sg::extent_of(v)), sg::place(w, sg::extent_of(w)), false);
}

// Three buffers with room for every case; C's is watched.
struct room {
    std::vector<float> a, b, c, e;
    room() : a(400, 1.0f), b(400, 1.0f), c(400, 7.0f), e(400, 1.0f) {}

    // A call that must fail with this code, and a message that has these words in it.
    template <class... Operands>
    void refused(errc code, char const* words, Operands const&... operands) {
        std::vector<float> const before = c;
        sg::status const s = sg::try_gemm(sg::reference{}, operands...);
        REQUIRE(!s);
        CAPTURE(s.error().what());
        CHECK(s.error().code() == code);
        CHECK(s.error().layer() == "gemm");
        CHECK(contains(s.error().what(), words));
        CHECK(c == before);
        CHECK_THROWS_AS(sg::gemm(sg::reference{}, operands...), sg::error);
        CHECK(c == before);
    }
    template <class... Operands>
    void accepted(Operands const&... operands) {
        sg::status const s = sg::try_gemm(sg::reference{}, operands...);
        if (!s) FAIL_CHECK(s.error().what());
    }
};

} // namespace

TEST_CASE("shapes that do not fit are refused with all three in the message") {
    room r;
    auto const a = sg::row_major(r.a.data(), 2, 3), b = sg::row_major(r.b.data(), 3, 4);
    auto const c = sg::row_major(r.c.data(), 2, 4);
    r.accepted(a, b, c);
    r.refused(errc::shape, "A is 3 x 2, B is 3 x 4 and C is 2 x 4", sg::transposed(a), b, c);
    r.refused(errc::shape, "transposed()", a, sg::transposed(b), c);
    r.refused(errc::shape, "m x n", a, b, sg::row_major(r.c.data(), 2, 5));
    r.refused(errc::shape, "m x n", a, b, sg::row_major(r.c.data(), 3, 4));
    r.refused(errc::shape, "shape of C", 1.0f, a, b, 1.0f, sg::row_major(r.e.data(), 4, 2), c);
    r.refused(errc::shape, "negative", sg::row_major(r.a.data(), -2, 3), b, sg::row_major(r.c.data(), -2, 4));
    r.refused(errc::shape, "negative", sg::row_major(r.a.data(), 2, -3), sg::row_major(r.b.data(), -3, 4), c);
}

TEST_CASE("batches of different length are refused, a single operand beside a batch is repeated") {
    room r;
    auto const a = sg::row_major(r.a.data(), 2, 2), b = sg::row_major(r.b.data(), 2, 2);
    auto const c = sg::row_major(r.c.data(), 2, 2);
    r.accepted(sg::batched(a, 3, 4), b, sg::batched(c, 3, 4));
    r.accepted(a, sg::batched(b, 3, 0), sg::batched(c, 3, 4));
    r.refused(errc::shape, "count", sg::batched(a, 2, 4), b, sg::batched(c, 3, 4));
    r.refused(errc::shape, "count", sg::batched(a, 3, 4), sg::batched(b, 4, 4), sg::batched(c, 3, 4));
    for (sg::index_t const count : {-1, -2, -3})
        r.refused(errc::shape, "count", sg::batched(a, count, 4), sg::batched(b, count, 4),
                  sg::batched(c, count, 4));
    r.refused(errc::shape, "count", sg::batched(a, 3, 4), b, c);
}

TEST_CASE("the result may not be one of the factors, nor lie across one") {
    room r;
    float* const x = r.c.data();
    auto const c = sg::row_major(x, 4, 4, 20);
    auto const other = sg::row_major(r.a.data(), 4, 4);
    r.refused(errc::alias, "copy", c, other, c);
    r.refused(errc::alias, "copy", other, c, c);
    r.refused(errc::alias, "copy", sg::transposed(c), other, c);
    r.refused(errc::alias, "copy", sg::row_major(x + 3, 4, 4, 20), other, c);  // one column in common
    r.refused(errc::alias, "copy", sg::row_major(x + 63, 4, 4, 20), other, c); // one element
    r.refused(errc::alias, "copy", other, sg::row_major(x + 45, 4, 4, 7), c);  // another leading dimension
    // Not read, and so of no account.
    r.accepted(0.0f, c, other, 1.0f, c);
}

TEST_CASE("blocks of one matrix side by side do not overlap") {
    room r;
    sg::matrix<float> parent(20, 20);
    auto const block = [&](sg::index_t i, sg::index_t j, sg::index_t m, sg::index_t n) {
        return parent.block(i, j, m, n);
    };
    r.accepted(block(0, 0, 5, 5), block(5, 5, 5, 5), block(0, 5, 5, 5));
    r.accepted(block(0, 10, 10, 10), block(10, 10, 10, 10), block(0, 0, 10, 10));
    r.accepted(block(3, 0, 1, 20), sg::row_major(r.b.data(), 20, 20), block(4, 0, 1, 20));
    r.accepted(sg::row_major(r.a.data(), 20, 20), block(0, 3, 20, 1), block(0, 4, 20, 1));
    r.accepted(sg::transposed(block(0, 5, 5, 5)), sg::transposed(block(5, 0, 5, 5)),
               sg::transposed(block(0, 0, 5, 5)));
    r.refused(errc::alias, "copy", block(0, 4, 5, 5), block(5, 5, 5, 5), block(0, 0, 5, 5));
    r.refused(errc::alias, "copy", block(0, 0, 5, 5), block(4, 4, 5, 5), block(8, 8, 5, 5)); // one corner
}

TEST_CASE("whether two views overlap is found out exactly on one lattice") {
    // Against a count of addresses, for all blocks of a small matrix.
    int buffer[60];
    int wrong = 0;
    for (bool const by_columns : {false, true})
        for (sg::index_t i = 0; i < 3; ++i)
            for (sg::index_t j = 0; j < 3; ++j)
                for (sg::index_t m = 1; m < 4; ++m)
                    for (sg::index_t n = 1; n < 4; ++n)
                        for (sg::index_t y = 0; y < 3; ++y)
                            for (sg::index_t x = 0; x < 3; ++x) {
                                auto const parent = by_columns ? sg::col_major(buffer, 6, 6, 8)
                                                               : sg::row_major(buffer, 6, 6, 8);
                                auto const v = parent.block(i, j, m, n), w = parent.block(y, x, 2, 3);
                                bool const meet = i < y + 2 && y < i + m && j < x + 3 && x < j + n;
                                wrong += overlap(v, w) != meet;
                                wrong += overlap(v, w.transposed()) != meet;
                                wrong += overlap(v.transposed(), w) != meet;
                            }
    CHECK(wrong == 0);
}

TEST_CASE("columns that interleave and share no element do not overlap") {
    room r;
    float* const x = r.c.data();
    auto const b = sg::row_major(r.b.data(), 4, 4);
    auto const every_second = [](float* p, sg::index_t ld) { return sg::strided(p, 4, 4, ld, 2); };
    for (sg::index_t const ld :
         {8, 9, 10, 11}) // rows with one element more than twice the columns, and so on
        r.accepted(every_second(x, ld), b, every_second(x + 1, ld));
    r.accepted(sg::col_major(x, 4, 4, 10), b, sg::col_major(x + 5, 4, 4, 10));
    r.refused(errc::alias, "copy", every_second(x, 8), b, every_second(x + 2, 8));
    r.refused(errc::alias, "copy", every_second(x, 7), b,
              every_second(x + 1, 7)); // x + 7 + 2 is x + 1 + 4 * 2
}

TEST_CASE("whether two views with the same strides overlap is found out exactly, whatever the strides") {
    // Also where lines interleave.
    int buffer[200];
    int wrong = 0, shared_count = 0;
    for (sg::index_t rs = 1; rs < 8; ++rs)
        for (sg::index_t cs = 1; cs < 8; ++cs)
            for (sg::index_t m = 1; m < 4; ++m)
                for (sg::index_t n = 1; n < 5; ++n)
                    for (sg::index_t at = -20; at < 21; ++at) {
                        auto const v = sg::strided(buffer + 60, 3, 4, rs, cs);
                        auto const w = sg::strided(buffer + 60 + at, m, n, rs, cs);
                        bool shared = false;
                        for (sg::index_t i = 0; i < 12; ++i)
                            for (sg::index_t j = 0; j < m * n; ++j)
                                shared |= &v(i / 4, i % 4) == &w(j / n, j % n);
                        wrong += shared != overlap(v, w);
                        wrong += shared != overlap(v, w.transposed());
                        shared_count += shared;
                    }
    CHECK(wrong == 0);
    CHECK(shared_count > 1000);
}

TEST_CASE("the added matrix is C itself or apart from it") {
    room r;
    auto const a = sg::row_major(r.a.data(), 4, 4), b = sg::row_major(r.b.data(), 4, 4);
    auto const c = sg::row_major(r.c.data(), 4, 4, 10);
    r.accepted(1.0f, a, b, 1.0f, c);
    r.accepted(1.0f, a, b, 1.0f, c, c);
    r.accepted(a, b, sg::row_major(r.e.data(), 4, 4), c);
    r.accepted(a, b, sg::row_major(r.c.data() + 4, 4, 4, 10), c);
    r.accepted(a, b, a, c); // a factor may be added too
    r.refused(errc::alias, "apart", a, b, sg::transposed(c), c);
    r.refused(errc::alias, "apart", a, b, sg::row_major(r.c.data() + 1, 4, 4, 10), c);
    r.accepted(1.0f, a, b, 0.0f, sg::row_major(r.c.data() + 1, 4, 4, 10), c); // not read
}

TEST_CASE("null data is refused where there are elements to read or to write") {
    room r;
    float* const null = nullptr;
    auto const a = sg::row_major(r.a.data(), 2, 2), c = sg::row_major(r.c.data(), 2, 2);
    auto const none = sg::row_major(null, 2, 2);
    r.refused(errc::null_data, "null", none, a, c);
    r.refused(errc::null_data, "null", a, none, c);
    r.refused(errc::null_data, "null", a, a, none);
    r.refused(errc::null_data, "null", a, a, none, c);
    r.accepted(0.0f, none, none, 1.0f, c);
    r.accepted(1.0f, a, a, 0.0f, none, c);
    r.accepted(sg::row_major(null, 2, 0), sg::row_major(null, 0, 2), c); // k = 0
    r.accepted(sg::row_major(null, 0, 2), a, sg::row_major(null, 0, 2));
}

TEST_CASE("two elements of C at one address are refused, interleaved ones are not") {
    room r;
    auto const a = sg::row_major(r.a.data(), 3, 3);
    auto const into = [&](sg::index_t rs, sg::index_t cs) {
        return sg::strided(r.c.data() + 100, 3, 3, rs, cs);
    };
    r.refused(errc::strides, "leading dimension", a, a, into(2, 1));
    r.refused(errc::strides, "leading dimension", a, a, into(0, 1));
    r.refused(errc::strides, "leading dimension", a, a, into(0, 0));
    r.refused(errc::strides, "leading dimension", a, a, into(1, 1));
    r.refused(errc::strides, "leading dimension", a, a, into(-1, 1));
    r.refused(errc::strides, "leading dimension", a, a, into(4, 2)); // (1, 0) is (0, 2)
    r.accepted(a, a, into(3, 1));
    r.accepted(a, a, into(-3, -1));
    r.accepted(a, a, into(-7, 2));
    r.accepted(a, a, into(3, 2)); // 3 i + 2 j differs for all of them
    r.accepted(sg::row_major(r.a.data(), 1, 3), a, sg::strided(r.c.data(), 1, 3, 0, 1)); // one row
    // Batches: one matrix must end before the next begins.
    auto const c = sg::row_major(r.c.data(), 3, 3);
    r.refused(errc::strides, "batch", sg::batched(a, 2, 9), a, sg::batched(c, 2, 8));
    r.refused(errc::strides, "batch", sg::batched(a, 2, 9), a, sg::batched(c, 2, 0));
    r.accepted(sg::batched(a, 2, 9), a, sg::batched(c, 2, 9));
    r.accepted(sg::batched(a, 2, 9), a, sg::batched(sg::row_major(r.c.data() + 9, 3, 3), 2, -9));
}

TEST_CASE("whether elements collide agrees with a count of addresses") {
    int wrong = 0;
    for (sg::index_t m = 1; m < 6; ++m)
        for (sg::index_t n = 1; n < 6; ++n)
            for (sg::index_t rs = -7; rs < 8; ++rs)
                for (sg::index_t cs = -7; cs < 8; ++cs) {
                    std::vector<int> hits(200);
                    bool collide = false;
                    for (sg::index_t i = 0; i < m; ++i)
                        for (sg::index_t j = 0; j < n; ++j)
                            collide |= hits[static_cast<std::size_t>(100 + i * rs + j * cs)]++ > 0;
                    wrong += sg::elements_collide(m, n, rs, cs) != collide;
                }
    CHECK(wrong == 0);
    CHECK(sg::elements_collide(huge, huge, 0, 0));
}

TEST_CASE("sizes beyond memory are refused before anything is computed from them") {
    room r;
    auto const c = sg::row_major(r.c.data(), 2, 2);
    auto const tall = sg::strided(r.a.data(), 2, huge / 4, 1, 2);
    auto const wide = sg::strided(r.b.data(), huge / 4, 2, 2, 1);
    r.refused(errc::overflow, "bytes", tall, wide, c);
    r.refused(errc::overflow, "bytes", sg::strided(r.a.data(), 2, 3, huge / 2, 1),
              sg::row_major(r.b.data(), 3, 2), c);
    r.refused(errc::overflow, "bytes", sg::strided(r.a.data(), 2, 3, -(huge / 2), 1),
              sg::row_major(r.b.data(), 3, 2), c);
    r.refused(errc::overflow, "bytes", sg::row_major(r.a.data(), 2, 3), sg::row_major(r.b.data(), 3, 2),
              sg::strided(r.c.data(), 2, 2, huge / 3, 1));
    r.refused(errc::overflow, "bytes", sg::batched(sg::row_major(r.a.data(), 2, 2), huge / 8, 4),
              sg::row_major(r.b.data(), 2, 2), sg::batched(c, huge / 8, 4));
    // Strides of zero make any number of elements lie in few bytes.
    for (sg::index_t const k : {sg::index_t{1} << 58, sg::index_t{1} << 61, huge}) {
        auto const one_row = sg::strided(r.a.data(), 2, k, 1, 0),
                   one_column = sg::strided(r.b.data(), k, 2, 0, 1);
        r.refused(errc::overflow, "2^52 elements", one_row, one_column, sg::row_major(r.c.data(), 2, 2));
    }
}

TEST_CASE("strides along a side of 1 may be any number") {
    CHECK(support::wrong_by_unused_strides<float, float>(sg::reference{}) == 0);
    CHECK(support::wrong_by_unused_strides<std::int8_t, std::int32_t>(sg::reference{}) == 0);
    for (sg::index_t const stride : support::unused_strides) {
        CHECK(!sg::elements_collide(1, 7, stride, 2));
        CHECK(!sg::elements_collide(7, 1, -3, stride));
        CHECK(sg::elements_collide(1, 7, stride, 0));
    }
    // One that is used may not be as large, even where its bytes can be counted.
    std::vector<std::int8_t> x(4), y(4);
    auto const beyond = sg::strided(x.data(), 2, 2, std::numeric_limits<sg::index_t>::min(), 1);
    sg::status const s =
        sg::try_gemm(sg::reference{}, sg::row_major(y.data(), 2, 2), sg::row_major(y.data(), 2, 2), beyond);
    REQUIRE(!s);
    CHECK(s.error().code() == errc::overflow);
}

TEST_CASE("a factor of 0 reads no A and no B, which may be null") {
    std::vector<float> c(8, 3.0f);
    auto const none = sg::row_major(static_cast<float const*>(nullptr), 2, 2);
    sg::gemm(sg::reference{}, 0.0f, sg::batched(none, 2, huge / 64), sg::batched(none, 2, 4), 2.0f,
             sg::batched(sg::row_major(c.data(), 2, 2), 2, 4));
    CHECK(c == std::vector<float>(8, 6.0f));
}

TEST_CASE("C cannot be scaled or conjugated") {
    room r;
    auto const a = sg::row_major(r.a.data(), 2, 2), c = sg::row_major(r.c.data(), 2, 2);
    r.refused(errc::argument, "alpha", a, a, sg::scaled(2.0f, c));
    r.refused(errc::argument, "alpha", a, a, sg::conjugated(c));
}

TEST_CASE("a vector of an epilogue must reach along C") {
    room r;
    auto const a = sg::row_major(r.a.data(), 2, 2), b = sg::row_major(r.b.data(), 2, 5),
               c = sg::row_major(r.c.data(), 2, 5);
    std::vector<float> const v(4), w(5);
    r.refused(errc::shape, "epilogue", a, b, c, sg::bias(v));
    r.refused(errc::shape, "epilogue", a, b, c, sg::then(sg::relu, sg::bias(v)));
    r.accepted(a, b, c, sg::bias(w));
    r.accepted(a, b, c, sg::bias(v, sg::along::rows));
}

TEST_CASE("sizes of zero are legal") {
    room r;
    auto const empty = [&](sg::index_t m, sg::index_t n) { return sg::row_major(r.a.data(), m, n); };
    std::vector<float> const before = r.c;
    r.accepted(empty(0, 3), empty(3, 4), sg::row_major(r.c.data(), 0, 4));
    r.accepted(empty(3, 4), empty(4, 0), sg::row_major(r.c.data(), 3, 0));
    r.accepted(empty(0, 0), empty(0, 0), sg::row_major(r.c.data(), 0, 0));
    r.accepted(sg::batched(empty(2, 2), 0, 4), empty(2, 2),
               sg::batched(sg::row_major(r.c.data(), 2, 2), 0, 4));
    CHECK(r.c == before);
    r.accepted(empty(2, 0), empty(0, 2), sg::row_major(r.c.data(), 2, 2)); // C = 0
    for (std::size_t i = 0; i < 400; ++i) CHECK(r.c[i] == (i < 4 ? 0.0f : 7.0f));
    r.accepted(1.0f, empty(2, 0), empty(0, 2), 0.5f, sg::row_major(r.c.data() + 4, 2, 2)); // C = C / 2
    for (std::size_t i = 4; i < 400; ++i) CHECK(r.c[i] == (i < 8 ? 3.5f : 7.0f));
}

TEST_CASE("a product takes its factors from its operands") {
    float x[4] = {1, 2, 3, 4}, y[4] = {};
    auto const a = sg::row_major(x, 2, 2), c = sg::row_major(y, 2, 2);
    auto const p = sg::product(3.0f, sg::scaled(2.0f, a), sg::scaled(5.0f, a), 0.5f, sg::scaled(4.0f, a), c);
    CHECK(p.alpha == 30.0f);
    CHECK(p.beta == 2.0f);
    CHECK(p.a.scale == 1.0f);
    CHECK(p.b.scale == 1.0f);
    CHECK(p.e.scale == 1.0f);
    CHECK(p.shape().adds);
    CHECK(!sg::product(a, a, c).shape().adds);
    CHECK(sg::product(a, a, c).e.data == y);
    auto const batch = sg::product(sg::batched(a, 2, 1), a, sg::batched(c, 2, 4));
    CHECK(batch.at(1).a.data == x + 1);
    CHECK(batch.at(1).b.data == x);
    CHECK(batch.at(1).c.data == y + 4);
    CHECK(batch.at(1).count == 1);
}

TEST_CASE("factors that the scalar cannot hold are refused") {
    std::vector<std::int8_t> a(4, 1), b(4, 1);
    std::vector<std::int32_t> c(4, 7);
    auto const x = sg::row_major(a.data(), 2, 2), y = sg::row_major(b.data(), 2, 2);
    auto const z = sg::row_major(c.data(), 2, 2);
    auto const refused = [&](auto alpha, auto beta) {
        sg::status const s = sg::try_gemm(sg::reference{}, alpha, x, y, beta, z);
        REQUIRE(!s);
        CHECK(s.error().code() == errc::argument);
        CHECK(contains(s.error().what(), "alpha or beta"));
        CHECK(c[0] == 7);
    };
    refused(0.5, 0);
    refused(1, 0.25f);
    refused(3e9, 0);
    refused(1, std::int64_t{1} << 40);
    refused(std::numeric_limits<double>::quiet_NaN(), 0);
    CHECK(static_cast<bool>(sg::try_gemm(sg::reference{}, 2.0, x, y, -1.0f, z)));
    CHECK(c[0] == -3);
    std::vector<float> r(4, 1.0f), t(4, 7.0f);
    auto const f = sg::row_major(r.data(), 2, 2);
    CHECK(!sg::try_gemm(sg::reference{}, 1e300, f, f, 0, sg::row_major(t.data(), 2, 2)));
    CHECK(t[0] == 7);
    CHECK(static_cast<bool>(sg::try_gemm(sg::reference{}, 0.1, f, f, 0, sg::row_major(t.data(), 2, 2))));
    CHECK(sg::holds<float>(std::numeric_limits<double>::infinity())); // as it is
    std::vector<std::complex<float>> u(4, 1.0f), v(4, 7.0f);
    auto const g = sg::row_major(u.data(), 2, 2), h = sg::row_major(v.data(), 2, 2);
    CHECK(!sg::try_gemm(sg::reference{}, 1e300, g, g, 0, h));
    CHECK(!sg::try_gemm(sg::reference{}, 1, g, g, -1e300, h));
    CHECK(v[0] == 7.0f);
    CHECK(static_cast<bool>(sg::try_gemm(sg::reference{}, 3, g, g, 0.5, h)));
    CHECK(v[0] == 9.5f);
}

TEST_CASE("integers and their factors are modulo 2^32") {
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    std::int8_t x[] = {127}, y[] = {127};
    std::int32_t z[] = {most};
    auto const a = sg::row_major(x, 1, 1), b = sg::row_major(y, 1, 1);
    auto const c = sg::row_major(z, 1, 1);
    auto const word = [](std::int64_t v) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(v)); };
    sg::gemm(sg::reference{}, most, sg::scaled(most, sg::scaled(3, a)), b, most - 1, sg::scaled(3, c), c);
    CHECK(z[0] == word(3 * 16129 + 3 - 3 * std::int64_t{most}));
    z[0] = most;
    sg::finish_element(sg::product(most, a, b, 3, c), 0, 0, most);
    CHECK(z[0] == word(1 + 3 * std::int64_t{most}));
    z[0] = most;
    std::vector<std::int32_t> const v = {most};
    sg::gemm(sg::reference{}, 0, a, b, 1, c, sg::then(sg::bias(v), sg::scale(most)));
    CHECK(z[0] == 2);
}

TEST_CASE("a transposed problem is the same product") {
    room r;
    for (std::size_t i = 0; i < 60; ++i)
        r.a[i] = static_cast<float>(i % 7), r.b[i] = static_cast<float>(i % 5),
        r.e[i] = static_cast<float>(i);
    auto const a = sg::row_major(r.a.data(), 3, 2), b = sg::col_major(r.b.data(), 2, 4);
    auto const two = [](auto const& v, sg::index_t step) { return sg::batched(v, 2, step); };
    auto const run = [&](bool turned) {
        r.c.assign(400, 7.0f);
        auto const p =
            sg::product(2.0f, two(a, 6), two(b, 0), -1.0f, two(sg::row_major(r.e.data(), 3, 4), 12),
                        two(sg::row_major(r.c.data(), 3, 4, 5), 20));
        auto const q = p.transposed();
        CHECK(q.c.rows == 4);
        CHECK(q.transposed().a.data == p.a.data);
        (turned ? sg::run(sg::reference{}, q) : sg::run(sg::reference{}, p)).or_throw();
        return r.c;
    };
    CHECK(run(true) == run(false));
}
