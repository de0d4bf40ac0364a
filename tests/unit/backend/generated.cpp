// Kernels that are generated for a shape have the bits of the compiled ones, write C and nothing else, and read A and
// B and nothing else.
#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/host.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#if STRATAGEMM_GENERATES

namespace sg = stratagemm;
using sg::index_t;
using support::random_source;

namespace {

bool generates() { return sg::current_isa().available && sg::current_isa().isa >= sg::host_isa::avx2; }

// A number, or a packet of numbers; and of NaN, or of an integer that would show.
template <class T>
struct element {
    static T random(random_source& from) {
        if constexpr (std::is_same_v<T, std::int8_t>)
            return static_cast<T>(from.below(256) - 128);
        else if constexpr (std::is_same_v<T, std::int32_t>)
            return from.below(1 << 20) - (1 << 19);
        else if constexpr (std::is_same_v<T, sg::bfloat16>)
            return T(static_cast<float>(from.uniform(-0.5, 0.5)));
        else
            return static_cast<T>(from.uniform(-0.5, 0.5));
    }
    static T nan() {
        if constexpr (std::is_integral_v<T>)
            return 77;
        else
            return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
};
template <class T>
struct element<sg::packet_of<T>> {
    template <class F>
    static sg::packet_of<T> each(F const& f) {
        sg::packet_of<T> x;
        for (auto& part : x.at) part = __builtin_bit_cast(std::decay_t<decltype(part)>, T(f()));
        return x;
    }
    static auto random(random_source& from) {
        return each([&] { return element<T>::random(from); });
    }
    static auto nan() { return each(element<T>::nan); }
};

// Numbers with NaN before, after and between the rows of a matrix.
template <class T>
std::vector<T> guarded(index_t rows, index_t columns, index_t distance, random_source& from) {
    std::vector<T> all(static_cast<std::size_t>(rows * distance + 64), element<T>::nan());
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j)
            all[static_cast<std::size_t>(32 + i * distance + j)] = element<T>::random(from);
    return all;
}

// The kernel of a shape, after as many calls as it takes. Its entry is cleared for the next shape: a new table, of
// two megabytes, would take longer than a trial.
template <class T>
sg::block_function<T> generate(sg::block_args<T> const& g,
                               sg::generated_form form = sg::generated_form::tiles) {
    static auto const kernels = std::make_unique<sg::generated_kernels>();
    sg::generated_shape const shape = sg::generated_shape_of(g, form);
    sg::block_function<T> made = nullptr;
    for (int calls = 0; calls < 1000; ++calls) {
        kernels->miss(shape);
        if (auto const* const found = kernels->find(shape)) {
            made = reinterpret_cast<sg::block_function<T>>(found->code);
            break;
        }
    }
    unsigned const place = sg::generated_kernels::place_of(shape);
    for (unsigned i = 0; i < sg::generated_kernels::tries; ++i)
        kernels->kernel[(place + i) % sg::generated_kernels::places] = nullptr;
    kernels->tried[place] = 0, kernels->any = kernels->refused = false;
    return made;
}

// C = alpha A B + beta C by the compiled kernel, called for each product of a batch, since a batch would add one E to
// all products, and for each piece of k.
template <class T>
void multiply_compiled(sg::block_args<T> const& g) {
    index_t const length = sg::pieces_of<T>(g.k).length;
    for (index_t x = 0; x < g.count; ++x)
        for (index_t p = 0; p < g.k; p += length) {
            sg::block_args<T> part = g;
            part.count = 1, part.k = std::min(length, g.k - p);
            part.a += x * g.a_step + p * g.a_col, part.b += x * g.b_step + p * g.b_row;
            part.c += x * g.c_step, part.e = part.c;
            if (p > 0) part.beta = 1;
            sg::kernels<T, T>().block(part);
        }
}

// What remains of C when a kernel has run.
template <class T>
auto result_of(sg::block_args<T> g, sg::block_function<T> kernel, std::vector<sg::accumulated<T>> c) {
    g.c = c.data() + 32;
    if (g.beta != sg::accumulated<T>(0)) g.e = g.c;
    kernel(g);
    return c;
}
template <class T>
bool same_bits(std::vector<T> const& x, std::vector<T> const& y) {
    return std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

int side(random_source& from, int most) { return 1 + from.below(from.below(2) == 0 ? 20 : most); }

// `large`: B fills much of the second-level cache, as blocks of one piece of k do.
template <class T>
void compare_products(random_source& from, int trials, bool large = false) {
    using Acc = sg::accumulated<T>;
    auto const& table = sg::kernels<T, T>();
    for (int x = 0; x < trials; ++x) {
        index_t const m = large ? 10 + from.below(60) : side(from, 70),
                      n = large ? 200 + from.below(500) : side(from, 150),
                      longest = large                ? 200 + from.below(500)
                                : from.below(4) == 0 ? side(from, 1000)
                                                     : side(from, 150),
                      pad = from.below(3), some = from.below(4) == 0 ? 3 : 1, strip = table.strip;
        // Strips of integers are packed, after a row of what their sums begin with.
        constexpr bool integers = std::is_same_v<Acc, std::int32_t>;
        index_t const k = integers || large ? std::min(longest, sg::longest_piece(sizeof(T))) : longest,
                      count = integers || large ? 1 : some;
        bool const across = from.below(2) == 0, packed = integers || (count == 1 && from.below(3) == 0);
        sg::block_args<T> g{};
        g.m = m, g.n = n, g.k = k, g.count = count;
        g.a_row = across ? 1 : k + pad, g.a_col = across ? m + pad : 1;
        g.b_row = packed ? strip : n + pad, g.b_strip = packed ? k * strip : strip;
        g.c_row = g.e_row = n + pad;
        int const end = from.below(3); // plain, scaled, added
        g.alpha = end == 0 ? Acc(1) : static_cast<Acc>(7.7),
        g.beta = end == 2 ? static_cast<Acc>(-3.3) : Acc(0);
        g.a_step = across ? k * g.a_col : m * g.a_row, g.b_step = k * g.b_row, g.c_step = m * g.c_row;
        auto const a =
            across ? guarded<T>(count * k, m, g.a_col, from) : guarded<T>(count * m, k, g.a_row, from);
        auto b = packed ? guarded<T>(k * ((n + strip - 1) / strip), strip, strip, from)
                        : guarded<T>(count * k, n, g.b_row, from);
        auto const c = guarded<Acc>(count * m, n, g.c_row, from);
        g.a = a.data() + 32, g.b = b.data() + 32;
        INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k << ", " << count << " products, strides "
                       << g.a_row << " " << g.a_col << " " << g.b_row << " " << g.b_strip << " " << g.c_row
                       << ", end " << end);
        auto const kernel = generate(g);
        REQUIRE(kernel);
        auto const expected = result_of(g, multiply_compiled<T>, c);
        REQUIRE(same_bits(result_of(g, kernel, c), expected));
        sg::block_args<T> none = g; // of a batch without products nothing is written
        none.count = 0;
        REQUIRE(same_bits(result_of(none, kernel, c), c));
        if (!large || packed || table.masked) continue;
        // Each strip of B is copied, and nothing beside the room for the copy is touched.
        std::vector<T> room = guarded<T>(64, strip, strip, from);
        room.resize(room.size() + static_cast<std::size_t>(k * strip));
        auto const before = room;
        g.room = room.data() + 64;
        auto const copying = generate(g, sg::generated_form::copied);
        REQUIRE(copying);
        REQUIRE(same_bits(result_of(g, copying, c), expected));
        std::size_t const end_of_copy = 64 + static_cast<std::size_t>(k * strip);
        REQUIRE(std::memcmp(room.data(), before.data(), 64 * sizeof(T)) == 0);
        REQUIRE(std::memcmp(room.data() + end_of_copy, before.data() + end_of_copy,
                            (room.size() - end_of_copy) * sizeof(T)) == 0);
    }
}

// C' is written: a column after the other, whose elements lie side by side.
template <class T>
void compare_turned(random_source& from, int trials) {
    auto const& table = sg::kernels<T, T>();
    for (int x = 0; x < trials; ++x) {
        index_t const m = x % 7 == 0 ? 2 : side(from, 70), n = side(from, 150),
                      k = from.below(4) == 0 ? side(from, 1000) : side(from, 60), pad = from.below(3),
                      count = from.below(4) == 0 ? 3 : 1;
        sg::block_args<T> g{};
        g.m = m, g.n = n, g.k = k, g.count = count;
        g.a_row = from.below(2) == 0 ? 1 : k + pad, g.a_col = g.a_row == 1 ? m + pad : 1;
        g.b_row = n + pad, g.b_strip = table.strip, g.c_row = g.e_row = n;
        int const end = from.below(3); // plain, scaled, added
        g.alpha = end == 0 ? T(1) : T(0.7), g.beta = end == 2 ? T(-0.3) : T(0);
        g.a_step = g.a_row == 1 ? k * g.a_col : m * g.a_row, g.b_step = k * g.b_row, g.c_step = m * n;
        auto const a =
            g.a_row == 1 ? guarded<T>(count * k, m, g.a_col, from) : guarded<T>(count * m, k, g.a_row, from);
        auto const b = guarded<T>(count * k, n, g.b_row, from), c = guarded<T>(count * m, n, n, from);
        g.a = a.data() + 32, g.b = b.data() + 32;
        INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k << ", " << count << " products, strides "
                       << g.a_row << " " << g.a_col << " " << g.b_row << ", padding " << pad << ", end "
                       << end);
        auto const expected = result_of(g, multiply_compiled<T>, c);
        // The same results and the same marks around them, with rows and columns exchanged.
        sg::block_args<T> turned = g;
        turned.c_row = turned.e_row = m + pad, turned.c_step = n * turned.c_row;
        auto const place = [&](index_t p, index_t i, index_t j) {
            return static_cast<std::size_t>(32 + p * turned.c_step + j * turned.c_row + i);
        };
        auto across = guarded<T>(count * n, m, turned.c_row, from), expected_across = across;
        for (index_t p = 0; p < count; ++p)
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j) {
                    auto const at = static_cast<std::size_t>(32 + p * g.c_step + i * n + j);
                    across[place(p, i, j)] = c[at], expected_across[place(p, i, j)] = expected[at];
                }
        auto const kernel = generate(turned, sg::generated_form::turned);
        REQUIRE(kernel);
        REQUIRE(same_bits(result_of(turned, kernel, across), expected_across));
    }
}

// Some products of a sum, and then the others.
template <class T>
void compare_continued(random_source& from, int trials) {
    auto const& table = sg::kernels<T, T>();
    for (int x = 0; x < trials; ++x) {
        index_t const m = side(from, 30), n = side(from, 150), k = 1 + side(from, 40),
                      first = 1 + from.below(static_cast<int>(k) - 1), pad = from.below(3);
        sg::block_args<T> g{};
        g.m = m, g.n = n, g.k = k, g.alpha = T(1), g.beta = T(0);
        g.a_row = k + pad, g.a_col = 1, g.b_row = n + pad, g.b_strip = table.strip,
        g.c_row = g.e_row = n + pad;
        auto const a = guarded<T>(m, k, g.a_row, from), b = guarded<T>(k, n, g.b_row, from),
                   c = guarded<T>(m, n, g.c_row, from);
        g.a = a.data() + 32, g.b = b.data() + 32;
        INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k << ", " << first << " first, padding "
                       << pad);
        sg::block_args<T> begun = g, rest = g;
        begun.k = first, rest.k = k - first, rest.a += first, rest.b += first * g.b_row;
        auto const begins = generate(begun), goes_on = generate(rest, sg::generated_form::continued);
        REQUIRE((begins && goes_on));
        REQUIRE(
            same_bits(result_of(rest, goes_on, result_of(begun, begins, c)), result_of(g, table.block, c)));
    }
}

template <class Packet>
void compare_dots(random_source& from, int trials) {
    using T = sg::dotted<Packet>;
    using Acc = sg::accumulated<T>;
    auto const& table = sg::kernels<Packet, Packet>();
    for (int x = 0; x < trials; ++x) {
        index_t m = side(from, 30), n = side(from, 60), k = side(from, 400), pad = from.below(3);
        if (from.below(2) == 0) std::swap(m, n);
        sg::block_args<T> g{};
        g.m = m, g.n = n, g.k = k;
        g.a_row = k + pad, g.a_col = g.b_row = 1, g.b_strip = k + pad, g.c_row = g.e_row = n + pad;
        g.alpha = Acc(1), g.beta = from.below(2) == 0 ? Acc(0) : Acc(1);
        auto const a = guarded<T>(m, k, g.a_row, from), b = guarded<T>(n, k, g.b_strip, from);
        auto const c = guarded<Acc>(m, n, g.c_row, from);
        g.a = a.data() + 32, g.b = b.data() + 32;
        INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k << ", padding " << pad << ", beta "
                       << g.beta);
        auto const kernel = generate(g, sg::generated_form::dots);
        REQUIRE(kernel);
        REQUIRE(same_bits(result_of(g, kernel, c), result_of(g, table.dot_products, c)));
    }
}

} // namespace

TEST_CASE("generated: a kernel has the bits of compiled ones") {
    if (!generates()) return;
    random_source from(1);
    compare_products<float>(from, 2000);
    compare_products<double>(from, 2000);
    if (sg::multiplies_packets<sg::bfloat16>()) compare_products<sg::bfloat16_pair>(from, 2000);
    if (sg::multiplies_packets<std::int8_t>()) compare_products<sg::int8_quad>(from, 2000);
}

TEST_CASE("generated: a kernel of a large block has the bits of compiled ones") {
    if (!generates()) return;
    random_source from(9);
    compare_products<float>(from, 60, true);
    compare_products<double>(from, 60, true);
    if (sg::multiplies_packets<sg::bfloat16>()) compare_products<sg::bfloat16_pair>(from, 60, true);
    if (sg::multiplies_packets<std::int8_t>()) compare_products<sg::int8_quad>(from, 60, true);
}

TEST_CASE("generated: a kernel that writes columns of C has the bits of compiled ones") {
    if (!generates()) return;
    random_source from(6);
    compare_turned<float>(from, 2000);
    compare_turned<double>(from, 2000);
}

TEST_CASE("generated: a kernel goes on with sums") {
    if (!generates()) return;
    random_source from(7);
    compare_continued<float>(from, 1000);
    compare_continued<double>(from, 1000);
}

// B does not fit a near cache, so rows of it are read eight or sixteen at a time: by compiled kernels, by generated
// ones for the columns that have them, and by these alone; for one row only by compiled ones.
TEST_CASE("generated: few rows times a large matrix have the same bits with each call") {
    random_source from(8);
    for (index_t const m : {1, 3, 23, 48}) {
        index_t const n = 1501, k = m == 1 ? 2900 : 2150;
        auto const a = support::fractions<float>(m, k, from.next()),
                   b = support::fractions<float>(k, n, from.next());
        sg::matrix<float> first(m, n), later(m, n), block(m, 7);
        sg::gemm(sg::host{.threads = 1, .invariant = true}, a, b, first);
        for (int i = 0; i < (m == 3 ? 40 : 4); ++i) {
            sg::gemm(sg::host{.threads = 1 + i % 2}, a, b, later);
            REQUIRE(std::memcmp(first.data(), later.data(),
                                sizeof(float) * static_cast<std::size_t>(m * n)) == 0);
        }
        sg::gemm(sg::host{.invariant = true}, a, b.view().block(0, 1400, k, 7), block);
        for (index_t i = 0; i < m; ++i)
            REQUIRE(std::memcmp(&block(i, 0), &first(i, 1400), 7 * sizeof(float)) == 0);
    }
}

// Rows that are whole pages apart share sets of the caches, and are read in another order, or copied.
TEST_CASE("products of rows that are whole pages apart have the bits of others") {
    random_source from(11);
    auto const compare = [&]<class T>(T, index_t m, index_t n, index_t k) {
        index_t const page = 4096 / index_t{sizeof(T)}, width = (std::max(n, k) + page - 1) / page * page;
        sg::matrix<T> first(m, n), later(m, n);
        auto const a = support::fractions<T>(m, width, from.next()),
                   b = support::fractions<T>(k, width, from.next());
        auto const in_pages = [&](sg::matrix<T> const& x, index_t columns) {
            return x.view().block(0, 0, x.rows(), columns);
        };
        sg::matrix<T> other_a(m, k), other_b(k, n + 5);
        for (index_t i = 0; i < m; ++i)
            for (index_t p = 0; p < k; ++p) other_a(i, p) = a(i, p);
        for (index_t p = 0; p < k; ++p)
            for (index_t j = 0; j < n; ++j) other_b(p, j) = b(p, j);
        sg::host const one{.threads = 1, .invariant = true};
        sg::gemm(one, other_a, other_b.view().block(0, 0, k, n), first);
        INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k);
        for (int i = 0; i < 3; ++i) {
            sg::gemm(sg::host{.threads = 1 + i % 2, .invariant = true}, in_pages(a, k), in_pages(b, n),
                     later);
            REQUIRE(std::memcmp(first.data(), later.data(), sizeof(T) * static_cast<std::size_t>(m * n)) ==
                    0);
        }
    };
    for (index_t const m : {1, 2, 7, 12, 13, 48}) {
        compare(float{}, m, 1024, 500);
        compare(float{}, m, 2043, 129);
        compare(double{}, m, 509, 200);
        compare(double{}, m, 24, 512);
    }
    // One row and a small B: a product that is done at once, without workspace.
    for (index_t const k : {16, 17, 100, 129}) {
        compare(float{}, 1, 1024, k);
        compare(double{}, 1, 517, k);
    }
    for (index_t const n : {3, 8, 16, 24, 100, 300}) {
        compare(float{}, 90, n, 1024);
        compare(double{}, 61, n, 511);
    }
}

TEST_CASE("generated: dot products have the bits of compiled ones") {
    if (!generates()) return;
    random_source from(2);
    compare_dots<float>(from, 2000);
    compare_dots<double>(from, 2000);
    if (sg::multiplies_packets<sg::bfloat16>()) compare_dots<sg::bfloat16_pair>(from, 2000);
    if (sg::multiplies_packets<std::int8_t>()) compare_dots<sg::int8_quad>(from, 2000);
}

TEST_CASE("generated: a shape that has no place, or strides that no instruction holds, have no kernel") {
    if (!generates()) return;
    sg::block_args<float> g{};
    g.m = g.n = g.k = 8, g.a_row = g.b_row = g.c_row = 8, g.a_col = 1,
    g.b_strip = sg::kernels<float, float>().strip, g.alpha = 1;
    REQUIRE(generate(g));
    g.a_row = index_t{1} << 40;
    REQUIRE(!generate(g));
}

namespace {

// The first call of a product has the bits of a call after a kernel was generated.
template <class T>
void compare_calls(index_t m, index_t n, index_t k, bool turns_a, bool turns_b, bool turns_c,
                   random_source& from) {
    auto const make = [&](index_t rows, index_t columns, bool turns) {
        return turns ? support::fractions<T>(columns, rows, from.next())
                     : support::fractions<T>(rows, columns, from.next());
    };
    auto const turned_if = [](auto const& x, bool turns) {
        return turns ? sg::transposed(x.view()) : x.view();
    };
    auto const a = make(m, k, turns_a), b = make(k, n, turns_b);
    auto first = make(m, n, turns_c), later = make(m, n, turns_c);
    sg::gemm(turned_if(a, turns_a), turned_if(b, turns_b),
             turns_c ? sg::transposed(first.view()) : first.view());
    for (int i = 0; i < 80; ++i)
        sg::gemm(turned_if(a, turns_a), turned_if(b, turns_b),
                 turns_c ? sg::transposed(later.view()) : later.view());
    INFO(sizeof(T) << " bytes, " << m << "x" << n << "x" << k << ", turned: " << turns_a << turns_b
                   << turns_c);
    REQUIRE(std::memcmp(first.data(), later.data(), sizeof(T) * static_cast<std::size_t>(m * n)) == 0);
}

} // namespace

TEST_CASE("generated: results do not change when a shape gets its kernel") {
    random_source from(3);
    struct {
        index_t m, n, k;
        bool turns_b, turns_a = false;
    } const shapes[] = {{3, 4, 4, false},     {1, 7, 140, true},         {5, 9, 33, true},
                        {24, 40, 500, false}, {7, 100, 1700, true},      {24, 12, 698, true},
                        {64, 20, 1248, true}, {3, 120, 3500, true},      {2, 2, 391, true, true},
                        {9, 16, 900, false},  {60, 8, 820, false, true}, {3, 4, 290, true, true}};
    for (auto const& s : shapes) {
        compare_calls<float>(s.m, s.n, s.k, s.turns_a, s.turns_b, false, from);
        compare_calls<double>(s.m, s.n, s.k, s.turns_a, s.turns_b, false, from);
    }
    for (int x = 0; x < 400; ++x) {
        index_t const m = 1 + from.below(12), n = 1 + from.below(x % 4 == 0 ? 100 : 12), k = side(from, 500);
        bool const a = from.below(2) == 0, b = from.below(2) == 0, c = from.below(2) == 0;
        compare_calls<float>(m, n, k, a, b, c, from);
        compare_calls<double>(n, m, k, a, b, c, from);
    }
}

namespace {

using floats = sg::view<float>;
using float_batch = sg::batch<float>;

// Whether C = alpha A B + beta C is what a loop gets, of small whole numbers, for a product or each product of a
// batch.
template <class A, class B, class C>
bool is_right(sg::host const& policy, float alpha, A const& a, B const& b, float beta, C const& c) {
    auto const at = [](auto const& v, index_t i) {
        floats one = sg::first_of(v);
        one.data += i * sg::step_of(v);
        return one;
    };
    support::random_source from(4);
    std::vector<float> expected;
    for (index_t p = 0; p < sg::count_of(c); ++p)
        for (floats const& v : {at(a, p), at(b, p), at(c, p)})
            for (index_t i = 0; i < v.rows; ++i)
                for (index_t j = 0; j < v.cols; ++j) v(i, j) = static_cast<float>(from.below(9)) - 4;
    for (index_t p = 0; p < sg::count_of(c); ++p) {
        floats const x = at(a, p), y = at(b, p), z = at(c, p);
        for (index_t i = 0; i < z.rows; ++i)
            for (index_t j = 0; j < z.cols; ++j) {
                float sum = 0;
                for (index_t q = 0; q < x.cols; ++q) sum += x.scale * x(i, q) * y.scale * y(q, j);
                expected.push_back(alpha * sum + (beta == 0 ? 0 : beta * z(i, j)));
            }
    }
    if (alpha == 1 && beta == 0)
        sg::gemm(policy, a, b, c);
    else
        sg::gemm(policy, alpha, a, b, beta, c);
    std::size_t next = 0;
    for (index_t p = 0; p < sg::count_of(c); ++p) {
        floats const z = at(c, p);
        for (index_t i = 0; i < z.rows; ++i)
            for (index_t j = 0; j < z.cols; ++j)
                if (!(z(i, j) == expected[next++])) return false;
    }
    return true;
}

} // namespace

TEST_CASE("generated: a product that comes again is checked as the first was") {
    constexpr index_t most = 4096;
    std::vector<float> memory(3 * most);
    float *const a = memory.data(), *const b = a + most, *const c = b + most;
    struct sides {
        index_t m, n, k;
        bool turns_a, turns_b, turns_c, invariant;
        float alpha, beta;
    };
    std::vector<sides> all;
    random_source from(5);
    for (int i = 0; i < 60; ++i)
        all.push_back({1 + from.below(i % 3 == 0 ? 4 : 20), 1 + from.below(i % 5 == 0 ? 3 : 30),
                       1 + from.below(40), from.below(2) == 0, from.below(2) == 0, from.below(3) == 0,
                       from.below(4) == 0, from.below(3) == 0 ? 2.0f : 1.0f,
                       from.below(3) == 0 ? 1.0f : 0.0f});
    for (auto const& s : all) {
        auto const matrix = [](float* data, index_t rows, index_t cols, bool turned) {
            return floats{data, rows, cols, turned ? 1 : cols, turned ? rows : 1};
        };
        floats const va = matrix(a, s.m, s.k, s.turns_a), vb = matrix(b, s.k, s.n, s.turns_b),
                     vc = matrix(c, s.m, s.n, s.turns_c);
        sg::host const policy{.threads = 1, .invariant = s.invariant};
        INFO(s.m << "x" << s.n << "x" << s.k << " " << s.turns_a << s.turns_b << s.turns_c << ", invariant "
                 << s.invariant << ", " << s.alpha << " A B + " << s.beta << " C");
        for (int i = 0; i < 100; ++i) REQUIRE(is_right(policy, s.alpha, va, vb, s.beta, vc));

        // Neighbours of the product, in each member that a call has.
        REQUIRE(is_right(policy, 0, va, vb, s.beta, vc));
        REQUIRE(is_right(policy, 3, va, vb, s.beta, vc));
        for (float alpha : {0.0f, 3.0f}) { // with zero, A is not read
            va(0, 0) = std::numeric_limits<float>::quiet_NaN();
            sg::gemm(policy, alpha, va, vb, s.beta, vc);
            REQUIRE((vc(0, 0) == vc(0, 0)) == (alpha == 0));
            REQUIRE(is_right(policy, s.alpha, va, vb, s.beta, vc));
        }
        REQUIRE(is_right(policy, s.alpha, va, vb, 2 - s.beta, vc));
        REQUIRE(is_right({.threads = 1, .invariant = !s.invariant}, s.alpha, va, vb, s.beta, vc));
        floats scaled = va, back = va, wide = vb;
        scaled.scale = -2;
        REQUIRE(is_right(policy, s.alpha, scaled, vb, s.beta, vc));
        back.data += (s.m - 1) * va.row_stride, back.row_stride = -va.row_stride;
        for (int i = 0; i < 100; ++i) REQUIRE(is_right(policy, s.alpha, back, vb, s.beta, vc));
        (s.turns_b ? wide.col_stride : wide.row_stride) += 3;
        REQUIRE(is_right(policy, s.alpha, va, wide, s.beta, vc));
        REQUIRE(is_right(policy, s.alpha, va, vb, s.beta, vc));

        auto const refused = [&](floats const& x, floats const& y, floats const& z) {
            return s.alpha == 1 && s.beta == 0 ? !sg::try_gemm(policy, x, y, z)
                                               : !sg::try_gemm(policy, s.alpha, x, y, s.beta, z);
        };
        auto const with = [](floats v, auto member, auto value) {
            v.*member = value;
            return v;
        };
        float* const none = nullptr;
        for (auto member : {&floats::rows, &floats::cols}) {
            REQUIRE(refused(with(va, member, va.*member + 1), vb, vc));
            REQUIRE(refused(va, with(vb, member, vb.*member + 1), vc));
            REQUIRE(refused(va, vb, with(vc, member, vc.*member + 1)));
        }
        REQUIRE(refused(with(va, &floats::data, none), vb, vc));
        REQUIRE(refused(va, with(vb, &floats::data, none), vc));
        REQUIRE(refused(va, vb, with(vc, &floats::data, none)));
        REQUIRE(refused(va, vb, with(vc, &floats::scale, 2.0f)));
        for (index_t from_c : {index_t{0}, s.m * s.n - 1, 1 - s.m * s.k})
            REQUIRE(refused(with(va, &floats::data, c + from_c), vb, vc));
        for (index_t from_c : {index_t{0}, s.m * s.n - 1, 1 - s.k * s.n})
            REQUIRE(refused(va, with(vb, &floats::data, c + from_c), vc));
        // Side by side with C.
        REQUIRE(is_right(policy, s.alpha, with(va, &floats::data, c + s.m * s.n), vb, s.beta, vc));
        REQUIRE(is_right(policy, s.alpha, va, with(vb, &floats::data, c - s.k * s.n), s.beta, vc));
    }
}

TEST_CASE("generated: a batch that comes again is checked as the first was") {
    constexpr index_t most = 16384;
    std::vector<float> memory(3 * most);
    float *const a = memory.data(), *const b = a + most, *const c = b + most;
    struct sides {
        index_t m, n, k, count, apart; // elements between the matrices of each operand
        bool turns_c, one_b;
        float alpha, beta;
    };
    sides const all[] = {
        {4, 4, 4, 7, 0, false, false, 1, 0},   {4, 4, 4, 7, 0, false, true, 1, 0},
        {4, 4, 4, 7, 16, false, false, 1, 0},  {8, 8, 8, 5, 0, false, false, 1, 0},
        {5, 7, 6, 9, 3, false, false, 1, 0},   {5, 7, 6, 9, 3, true, false, 1, 0},
        {16, 16, 16, 6, 0, false, true, 2, 1}, {3, 20, 9, 2, 1, true, true, 1, -2},
    };
    for (auto const& s : all) {
        INFO(s.m << "x" << s.n << "x" << s.k << ", " << s.count << " products, " << s.apart << " apart, "
                 << s.turns_c << s.one_b);
        float_batch const va{{a, s.m, s.k, s.k, 1}, s.count, s.m * s.k + s.apart},
            vb{{b, s.k, s.n, s.n, 1}, s.count, s.one_b ? 0 : s.k * s.n + s.apart},
            vc{{c, s.m, s.n, s.turns_c ? 1 : s.n, s.turns_c ? s.m : 1}, s.count, s.m * s.n + s.apart};
        for (int threads : {1, 2}) {
            sg::host const policy{.threads = threads};
            for (int i = 0; i < 100; ++i) REQUIRE(is_right(policy, s.alpha, va, vb, s.beta, vc));
            // One B for all is a product of one taller A, if the matrices of A are side by side.
            if (generates() && !s.one_b) REQUIRE(policy.again(s.alpha, va, vb, s.beta, vc));

            // Neighbours of the batch, in each member that a call has.
            auto const with = [](float_batch v, auto member, auto value) {
                v.*member = value;
                return v;
            };
            auto const of = [&](auto const& x, auto const& y, auto const& z) {
                return is_right(policy, s.alpha, x, y, s.beta, z);
            };
            for (index_t count : {index_t{0}, index_t{1}, s.count - 1, s.count + 1}) {
                auto const member = &float_batch::count;
                REQUIRE(of(with(va, member, count), with(vb, member, count), with(vc, member, count)));
                if (count == s.count + 1) {
                    REQUIRE(!sg::try_gemm(policy, s.alpha, with(va, member, count), vb, s.beta, vc));
                    REQUIRE(!sg::try_gemm(policy, s.alpha, va, with(vb, member, count), s.beta, vc));
                    REQUIRE(!sg::try_gemm(policy, s.alpha, va, vb, s.beta, with(vc, member, count)));
                }
            }
            REQUIRE(of(with(va, &float_batch::stride, va.stride + 1), vb, vc));
            REQUIRE(of(va, with(vb, &float_batch::stride, s.k * s.n + s.apart + 2), vc));
            REQUIRE(of(va, vb, with(vc, &float_batch::stride, vc.stride + 3)));
            REQUIRE(of(with(va, &float_batch::stride, index_t{0}), vb, vc));
            REQUIRE(of(va.first, vb, vc));
            REQUIRE(of(va, vb.first, vc));
            REQUIRE(!sg::try_gemm(policy, s.alpha, va, vb, s.beta, vc.first));
            REQUIRE(
                !sg::try_gemm(policy, s.alpha, va, vb, s.beta, with(vc, &float_batch::stride, index_t{1})));
            REQUIRE(of(va, vb, vc));

            // The last elements of C, and the ones behind it.
            auto const moved = [](float_batch v, float* to) {
                v.first.data = to;
                return v;
            };
            index_t const c_end = (s.count - 1) * vc.stride + s.m * s.n,
                          a_end = (s.count - 1) * va.stride + s.m * s.k,
                          b_end = (s.count - 1) * vb.stride + s.k * s.n;
            REQUIRE(!sg::try_gemm(policy, s.alpha, moved(va, c + c_end - 1), vb, s.beta, vc));
            REQUIRE(!sg::try_gemm(policy, s.alpha, va, moved(vb, c + c_end - 1), s.beta, vc));
            REQUIRE(!sg::try_gemm(policy, s.alpha, moved(va, c - a_end + 1), vb, s.beta, vc));
            REQUIRE(!sg::try_gemm(policy, s.alpha, va, moved(vb, c - b_end + 1), s.beta, vc));
            REQUIRE(of(moved(va, c + c_end), vb, vc));
            REQUIRE(of(va, moved(vb, c - b_end), vc));
        }
    }
}

TEST_CASE("generated: two products with the same place have an entry each") {
    constexpr index_t most = 4096;
    std::vector<float> memory(3 * most);
    float *const a = memory.data(), *const b = a + most, *const c = b + most;
    struct product {
        floats a, b, c;
        bool again() const { return sg::multiply_again<float>(false, 1, a, b, 0, c); }
    };
    std::map<unsigned, std::vector<product>> at; // by place
    unsigned busiest = 0;
    for (index_t m = 1; m <= 7; ++m)
        for (index_t n = 1; n <= 31; ++n)
            for (index_t k = 1; k <= 31; ++k) {
                product const p{{a, m, k, k, 1}, {b, k, n, n, 1}, {c, m, n, n, 1}};
                auto const place = static_cast<unsigned>(
                    sg::hash_of_product(sg::generated_kind<float>(1.0f, 0.0f, 0), p.a, p.b, p.c) >> 52);
                at[place].push_back(p);
                if (at[place].size() > at[busiest].size()) busiest = place;
            }
    REQUIRE(at[busiest].size() > 2);
    sg::host const policy{.threads = 1};
    int found = 0;
    for (auto const& p : at[busiest]) {
        INFO(p.a.rows << "x" << p.b.cols << "x" << p.a.cols);
        for (int i = 0; i < 100; ++i) REQUIRE(is_right(policy, 1, p.a, p.b, 0, p.c));
        found += p.again();
        REQUIRE(is_right(policy, 1, p.a, p.b, 0, p.c));
    }
    if (generates()) REQUIRE(found == 2);
    for (auto const& p : at[busiest]) found -= p.again();
    REQUIRE(found == 0);
}

#endif
