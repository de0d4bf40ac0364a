#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>

#include <array>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#    include <climits>
#    include <sys/mman.h>
#    include <unistd.h>
#endif
#ifdef _OPENMP
#    include <omp.h>
#endif

namespace sg = stratagemm;
using support::contains;
using support::equal;
using support::integers;
using support::product_of;

// Workspace comes from this operator, and so it can be made to run out.
namespace {
bool out_of_memory = false;
} // namespace
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
    if (out_of_memory) return nullptr;
    try {
        return ::operator new(size, alignment);
    } catch (std::bad_alloc const&) {
        return nullptr;
    }
}

namespace {

// The process that a variable of the environment is set in, for as long as this lives.
class environment {
public:
    environment(char const* name, char const* value) : name_(name) {
        if (char const* old = std::getenv(name)) old_ = old, was_set_ = true;
        setenv(name, value, 1);
    }
    ~environment() {
        if (was_set_)
            setenv(name_, old_.c_str(), 1);
        else
            unsetenv(name_);
    }

private:
    char const* name_;
    std::string old_;
    bool was_set_ = false;
};

} // namespace

#ifdef _SC_LEVEL3_CACHE_SIZE
TEST_CASE("sizes of caches are asked for by the names that <unistd.h> has") {
    CHECK(sg::sysconf_level2_cache_size == _SC_LEVEL2_CACHE_SIZE);
    CHECK(sg::sysconf_level3_cache_size == _SC_LEVEL3_CACHE_SIZE);
    CHECK(sg::posix_sysconf(_SC_PAGESIZE) == sysconf(_SC_PAGESIZE));
    CHECK(sg::posix_effective_user() == geteuid());
}
#endif

TEST_CASE("the host is the default for operands in host memory") {
    static_assert(std::is_same_v<sg::default_policy<sg::host_memory>::type, sg::host>);
    static_assert(sg::policy<sg::host>);
    auto const a = integers<float>(20, 30, 1), b = integers<float>(30, 10, 2);
    sg::matrix<float> c(20, 10), d(20, 10);
    sg::gemm(a, b, c);
    sg::gemm(sg::host{}, a, b, d);
    CHECK(support::same_bits(c, d));
    CHECK(equal(c, product_of(a, b)));
}

TEST_CASE("what the host accepts") {
    static_assert(sg::takes<sg::host, sg::dense_problem<float, float, float>>);
    static_assert(sg::takes<sg::host, sg::dense_problem<sg::bfloat16, sg::bfloat16, sg::bfloat16>>);
    static_assert(sg::takes<sg::host, sg::dense_problem<sg::half, sg::half, float>>);
    static_assert(sg::takes<sg::host, sg::dense_problem<std::int8_t, std::int8_t, std::int32_t>>);
    static_assert(
        sg::takes<sg::host,
                  sg::dense_problem<std::complex<double>, std::complex<double>, std::complex<double>>>);
    static_assert(!sg::takes<sg::host, sg::dense_problem<float, double, double>>);
    static_assert(!sg::takes<sg::host, sg::dense_problem<std::int8_t, std::int8_t, std::int8_t>>);
    SUCCEED();
}

TEST_CASE("the host says which instructions and how many threads it uses") {
    sg::shape<float> const large{1000, 1000, 1000};
    std::string const one = sg::host{.threads = 1}.describe(large);
    CHECK(contains(one, "host"));
    CHECK(contains(one, "float"));
    CHECK(contains(one, "1 thread"));
    bool named = false;
    for (char const* isa : {"portable", "avx2", "avx512", "amx"}) named |= contains(one, isa);
    CHECK(named);
#ifdef _OPENMP
    CHECK(contains(sg::host{.threads = 3}.describe(large), "3 threads"));
#endif
}

namespace {
// Fills what later calls find on the stack with numbers whose products overflow, and with bytes of no number.
[[gnu::noinline]] void spoil_stack(int byte) {
    unsigned char volatile room[200000];
    for (unsigned char volatile& x : room) x = static_cast<unsigned char>(byte);
}
} // namespace

TEST_CASE("products of small numbers leave the floating-point status alone") {
    auto const raises = [](auto zero, sg::index_t m, sg::index_t n, sg::index_t k, sg::layout b_layout) {
        using T = decltype(zero);
        sg::matrix<T> const a = integers<T>(m, k, 1), b = integers<T>(k, n, 2, b_layout);
        sg::matrix<sg::accumulator_t<T>> c(m, n);
        int raised = 0;
        for (int const byte : {0x7f, 0xff, 0x7e}) {
            spoil_stack(byte);
            std::feclearexcept(FE_ALL_EXCEPT);
            sg::gemm(sg::host{.threads = 1}, a, b, c);
            raised |= std::fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO);
        }
        return raised;
    };
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{157, 101, 203},
                                  {157, 301, 203},
                                  {30, 29, 31},
                                  {7, 5, 9},
                                  {300, 3, 400},
                                  {3, 301, 200},
                                  {1, 301, 303},
                                  {50, 51, 3000}})
        for (sg::layout const layout : {sg::layout::row_major, sg::layout::col_major}) {
            CAPTURE(m, n, k, layout == sg::layout::row_major);
            CHECK(raises(0.0f, m, n, k, layout) == 0);
            CHECK(raises(0.0, m, n, k, layout) == 0);
            CHECK(raises(sg::half(), m, n, k, layout) == 0);
            CHECK(raises(std::complex<float>(), m, n, k, layout) == 0);
            CHECK(raises(std::complex<double>(), m, n, k, layout) == 0);
        }
}

TEST_CASE("workspace is enough for each type, shape and team") {
    auto const enough = [](auto zero, auto result, sg::index_t m, sg::index_t n, sg::index_t k,
                           sg::index_t count, int threads) {
        using T = decltype(zero);
        using C = decltype(result);
        sg::matrix<T> const a = integers<T>(m, k, 1), b = integers<T>(k, n, 2, sg::layout::col_major);
        sg::matrix<C> c(m * count, n);
        auto const C0 = c.block(0, 0, m, n);
        if (count == 1)
            return support::try_arena(sg::host{.threads = threads}, sg::product(a, b, C0)).stayed_inside;
        auto const batch = sg::product(sg::batched(a, count, 0), b, sg::batched(C0, count, m * n));
        return support::try_arena(sg::host{.threads = threads}, batch).stayed_inside;
    };
    for (auto const& [m, n, k] : {std::array<sg::index_t, 3>{200, 190, 180},
                                  {1, 700, 300},
                                  {700, 1, 300},
                                  {20, 20, 3000},
                                  {5, 1500, 20},
                                  {33, 31, 29},
                                  {300, 9, 400},
                                  {40, 1000, 700},
                                  {90, 300, 70},
                                  {1000, 40, 700}})
        for (sg::index_t const count : {1, 3})
            for (int const threads : {1, 2, 3}) {
                CAPTURE(m, n, k, count, threads);
                CHECK(enough(0.0f, 0.0f, m, n, k, count, threads));
                CHECK(enough(0.0, 0.0, m, n, k, count, threads));
                CHECK(enough(sg::half(), sg::half(), m, n, k, count, threads));
                CHECK(enough(sg::bfloat16(), 0.0f, m, n, k, count, threads));
                CHECK(enough(std::int8_t(), std::int32_t(), m, n, k, count, threads));
                CHECK(enough(std::complex<float>(), std::complex<float>(), m, n, k, count, threads));
            }
}

#ifdef _OPENMP
TEST_CASE("an arena reserved for one thread serves when OpenMP has more by then") {
    int const before = omp_get_max_threads();
    for (sg::index_t const count : {1, 4}) {
        auto const a = integers<float>(300, 300, 1), b = integers<float>(300, 300, 2);
        sg::matrix<float> c(300 * count, 300);
        auto const p =
            sg::product(sg::batched(a, count, 0), b, sg::batched(c.block(0, 0, 300, 300), count, 300 * 300));
        omp_set_num_threads(1);
        std::size_t const size = sg::host{}.workspace(p.shape()).host, guard = std::size_t{32} << 20;
        auto const pattern = std::byte{0x5c};
        std::vector<std::byte> room(size + guard, pattern);
        sg::host_arena arena(room.data(), size, nullptr);
        omp_set_num_threads(4);
        sg::host{}(p, arena).or_throw();
        std::size_t beyond = 0;
        for (std::size_t i = size; i < room.size(); ++i) beyond += room[i] != pattern;
        CHECK(beyond == 0);
        CHECK(equal(sg::matrix<float>(300, 300, [&](sg::index_t i, sg::index_t j) { return c(i, j); }),
                    product_of(a, b)));
    }
    omp_set_num_threads(before);
}

TEST_CASE("inside a parallel region each call is its own") {
    auto const a = integers<float>(150, 150, 1), b = integers<float>(150, 150, 2);
    auto const ab = product_of(a, b);
    int wrong = 0;
#    pragma omp parallel for num_threads(3) reduction(+ : wrong)
    for (int i = 0; i < 12; ++i) {
        sg::matrix<float> c(150, 150);
        sg::gemm(a, b, c);
        wrong += !equal(c, ab);
    }
    CHECK(wrong == 0);
}
#endif

TEST_CASE("threads of the user may call at the same time") {
    auto const a = integers<double>(120, 130, 1), b = integers<double>(130, 110, 2);
    auto const ab = product_of(a, b);
    std::vector<int> wrong(3);
    std::vector<std::thread> users;
    for (int& w : wrong)
        users.emplace_back([&] {
            for (int i = 0; i < 5; ++i) {
                sg::matrix<double> c(120, 110);
                sg::gemm(a, b, c);
                w += !equal(c, ab);
            }
        });
    for (auto& u : users) u.join();
    for (int const w : wrong) CHECK(w == 0);
}

TEST_CASE("a call without memory for its workspace fails and leaves C alone") {
    auto const a = integers<float>(300, 300, 1), b = integers<float>(300, 300, 2);
    sg::matrix<float> c(300, 300, [](sg::index_t, sg::index_t) { return 5.0f; });
    auto const before = c;
    REQUIRE(sg::host{.threads = 1}.workspace(sg::shape<float>{300, 300, 300}).host > 0);
    auto const refused = [&](auto const& policy, char const* layer) {
        // A thread of its own: it has no block left from an earlier call.
        std::thread([&] {
            out_of_memory = true;
            sg::status const s = sg::try_gemm(policy, a, b, c);
            out_of_memory = false;
            if (s) return;
            CHECK(s.error().code() == sg::errc::memory);
            CHECK(s.error().layer() == layer);
            CHECK(contains(s.error().what(), "bytes"));
            CHECK(contains(s.error().what(), "free memory"));
        }).join();
        CHECK(equal(c, before));
    };
    refused(sg::host{.threads = 1}, "host");
    refused(sg::strassen{sg::reference{}, {.levels = 1}}, "reference");
    refused(sg::strassen{sg::host{.threads = 1}, {.levels = 1}}, "host");

    sg::plan const p(sg::strassen{sg::reference{}, {.levels = 1}}, sg::shape<float>{300, 300, 300});
    std::thread([&] {
        out_of_memory = true;
        CHECK_THROWS_AS(p.reserve(), sg::error);
        out_of_memory = false;
    }).join();
    // And afterwards all is well.
    sg::gemm(sg::host{.threads = 1}, a, b, c);
    CHECK(equal(c, product_of(a, b)));
}

// Integers, so that sums are exact in any order. What lies around C has to stay.
template <class T>
bool small_product_is_right(support::random_source& from, sg::index_t m, sg::index_t n, sg::index_t k) {
    using C = sg::accumulator_t<T>;
    auto const block = [](auto& in, sg::index_t rows, sg::index_t cols, bool turned) {
        auto const v = in.view().block(1, 2, turned ? cols : rows, turned ? rows : cols);
        return turned ? v.transposed() : v;
    };
    int const layout = from.below(16);
    auto const room = [&](auto zero, sg::index_t rows, sg::index_t cols, bool turned) {
        bool const apart = from.below(2) != 0; // or contiguous but for what lies around
        return integers<decltype(zero)>((turned ? cols : rows) + 1 + apart,
                                        (turned ? rows : cols) + 2 + apart, from.next());
    };
    auto a_room = room(T(), m, k, layout & 1), b_room = room(T(), k, n, layout & 2);
    auto c_room = room(C(), m, n, layout & 4), e_room = room(C(), m, n, layout & 4);
    auto const a = block(a_room, m, k, layout & 1), b = block(b_room, k, n, layout & 2);
    auto const c = block(c_room, m, n, layout & 4), e = block(e_room, m, n, layout & 4);
    C const alpha = static_cast<C>(from.below(2) ? 1 : 3), beta = static_cast<C>(from.below(2) ? 0 : -2);
    bool const in_place = layout & 8;
    auto expected = c_room;
    auto const to = block(expected, m, n, layout & 4);
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j) {
            C sum = 0;
            for (sg::index_t l = 0; l < k; ++l) sum += static_cast<C>(a(i, l)) * static_cast<C>(b(l, j));
            to(i, j) = alpha * sum + (beta == 0 ? 0 : beta * (in_place ? c(i, j) : e(i, j)));
        }
    sg::host const cpu{.threads = 1 + from.below(2), .invariant = from.below(2) != 0};
    if (in_place)
        sg::gemm(cpu, alpha, a, b, beta, c);
    else
        sg::gemm(cpu, alpha, a, b, beta, e, c);
    if (equal(c_room, expected)) return true;
    UNSCOPED_INFO(m << " x " << n << " x " << k << ", layout " << layout << ", alpha " << alpha << ", beta "
                    << beta << ", threads " << cpu.threads << ", invariant " << cpu.invariant);
    return false;
}
TEST_CASE("small products in every layout") {
    support::random_source from(5);
    auto const side = [&](int most) { return static_cast<sg::index_t>(1 + from.below(most)); };
    for (int i = 0; i < 3000; ++i) {
        sg::index_t const m = side(i % 3 ? 40 : 9), n = side(i % 2 ? 40 : 9), k = side(i % 5 ? 40 : 900);
        CHECK(small_product_is_right<float>(from, m, n, k));
        CHECK(small_product_is_right<double>(from, m, n, k));
    }
}

// Those of which the transpose is multiplied, and those with a transposed A that is read in place or copied as it lies.
TEST_CASE("narrow and flat products in every layout") {
    support::random_source from(6);
    auto const side = [&](int least, int most) {
        return static_cast<sg::index_t>(least + from.below(most - least + 1));
    };
    auto const right = [&](sg::index_t m, sg::index_t n, sg::index_t k) {
        CHECK(small_product_is_right<float>(from, m, n, k));
        CHECK(small_product_is_right<double>(from, m, n, k));
    };
    int const one_in = support::sanitized ? 4 : 1;
    for (int i = 0; i < 300; i += one_in) right(side(16, 700), side(2, 9), side(8, 60));
    for (int i = 0; i < 100; i += one_in) right(side(4, 36), side(8, 300), side(30, 500));
    for (int i = 0; i < 20; i += one_in) right(side(60, 400), side(20, 300), side(60, 500));
    // A transposed B of many columns and few terms is copied some strips at a time.
    for (int i = 0; i < 200; i += one_in) right(side(2, 24), side(200, 1500), side(2, 60));
}

// With tiles (AMX): rows that are read where they are, B packed chunk by chunk, lines shorter than a tile's.
TEMPLATE_TEST_CASE("products of bfloat16 and int8 in every layout", "", sg::bfloat16, std::int8_t) {
    support::random_source from(8);
    auto const side = [&](int least, int most) {
        return static_cast<sg::index_t>(least + from.below(most - least + 1));
    };
    auto const right = [&](sg::index_t m, sg::index_t n, sg::index_t k) {
        CHECK(small_product_is_right<TestType>(from, m, n, k));
    };
    int const one_in = support::sanitized ? 4 : 1;
    for (int i = 0; i < 100; i += one_in) right(side(1, 40), side(1, 40), side(1, 150));
    for (int i = 0; i < 100; i += one_in) right(side(30, 300), side(1, 100), side(1, 200));
    for (int i = 0; i < 100; i += one_in) right(side(1, 100), side(30, 300), side(1, 200));
    for (int i = 0; i < 20; i += one_in) right(side(4, 70), side(100, 600), side(500, 1300));
    for (int i = 0; i < 20; i += one_in) right(side(100, 600), side(4, 70), side(500, 1300));
    // More columns than are packed at a time.
    if (!support::sanitized && sizeof(TestType) == 2) right(258, 16420, 24);
}

// The sides are odd: no vector, tile or strip divides them. Where C lies in columns, C^T = B^T A^T of row-major
// operands may be multiplied instead; where it lies in rows, not. Integers: sums are exact in any order.
TEMPLATE_TEST_CASE("products whose operands are both transposed", "", float, double) {
    support::random_source from(7);
    auto const odd = [&](int most) { return static_cast<sg::index_t>(1 + 2 * from.below((most + 1) / 2)); };
    for (int x = 0; x < 48; ++x) {
        bool const deep = x % 4 == 3; // in pieces of k
        sg::index_t const m = odd(deep ? 61 : 231), n = odd(deep ? 61 : 231), k = odd(deep ? 2001 : 151),
                          pad = from.below(3);
        auto const order = x % 2 ? sg::layout::col_major : sg::layout::row_major;
        auto const a = integers<TestType>(k, m + pad, from.next()), b = integers<TestType>(n, k, from.next());
        sg::matrix<TestType> c = integers<TestType>(m, n, from.next(), order);
        auto const turned = [](auto const& v) {
            return sg::matrix<TestType>(v.cols, v.rows,
                                        [&](sg::index_t i, sg::index_t j) { return v(j, i); });
        };
        auto const of_a = a.view().block(0, pad, k, m);
        sg::matrix<TestType> expected = product_of(turned(of_a), turned(b.view()));
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) expected(i, j) = 2 * expected(i, j) - 3 * c(i, j);
        sg::host const cpu{.threads = 1 + x % 3, .invariant = x % 5 == 0};
        sg::gemm(cpu, 2, sg::transposed(of_a), sg::transposed(b), -3, c);
        INFO(m << " x " << n << " x " << k << ", padding " << pad << ", threads " << cpu.threads
               << ", C in columns: " << (x % 2 == 1));
        CHECK(equal(c, expected));
    }
}

TEST_CASE("strides along a side of 1 may be any number, on the host") {
    for (int const threads : {1, 3}) {
        sg::host const policy{.threads = threads};
        CHECK(support::wrong_by_unused_strides<float, float>(policy) == 0);
        CHECK(support::wrong_by_unused_strides<sg::bfloat16, float>(policy) == 0);
        CHECK(support::wrong_by_unused_strides<std::int8_t, std::int32_t>(policy) == 0);
        CHECK(support::wrong_by_unused_strides<std::complex<double>, std::complex<double>>(policy) == 0);
    }
}

TEST_CASE("a small product needs no memory") {
    auto const a = integers<double>(30, 30, 1), b = integers<double>(30, 30, 2);
    sg::matrix<double> c(30, 30);
    std::thread([&] { // which has no block left from an earlier call
        out_of_memory = true;
        sg::status const s = sg::try_gemm(sg::host{}, a, b, c),
                         t = sg::try_gemm(sg::host{}, a, sg::transposed(b), c);
        out_of_memory = false;
        CHECK(s);
        CHECK(t);
    })
        .join();
    CHECK(equal(
        c, product_of(a, sg::matrix<double>(30, 30, [&](sg::index_t i, sg::index_t j) { return b(j, i); }))));
}

namespace {

// Whether the host computes a product at once, without workspace, and whether its estimate counts it so.
template <class T>
bool is_counted_as_it_runs(sg::index_t m, sg::index_t n, sg::index_t k, bool a_across, bool b_across) {
    std::vector<T> const a(static_cast<std::size_t>(m * k), T(1)), b(static_cast<std::size_t>(k * n), T(1));
    std::vector<T> c(static_cast<std::size_t>(m * n));
    sg::view<T const> const va{a.data(), m, k, a_across ? 1 : k, a_across ? m : 1},
        vb{b.data(), k, n, b_across ? 1 : n, b_across ? k : 1};
    sg::host const cpu{.threads = 1};
    bool const at_once = cpu.try_small(sg::product(va, vb, sg::view<T>{c.data(), m, n, n, 1}));
    sg::shape<T> shape{m, n, k};
    shape.a_across = a_across, shape.b_across = b_across;
    sg::host_counts counts = sg::counts_of(shape, sg::host_counts::column_of(sg::current_isa().isa), 1);
    CAPTURE(m, n, k, a_across, b_across, sizeof(T));
    CHECK((counts[sg::host_cost::workspace] == 0) == at_once);
    return at_once;
}

} // namespace

TEST_CASE("the estimate counts the path that a product takes") {
    if (!sg::current_isa().available) return;
    support::random_source from(5);
    int at_once = 0, all = 0;
    auto const side = [&](double bits) { return static_cast<sg::index_t>(std::exp2(from.uniform(0, bits))); };
    for (int i = 0; i < 600; ++i) {
        sg::index_t const m = side(8), n = side(i % 2 == 0 ? 13 : 8), k = side(i % 2 == 0 ? 10 : 8);
        bool const a_across = from.uniform(0, 1) < 0.5, b_across = from.uniform(0, 1) < 0.5;
        // Larger products with an A across k wait for kernels that are generated after some calls.
        if (m * n * k > 64 * 64 * 64 && a_across) continue;
        at_once += is_counted_as_it_runs<float>(m, n, k, a_across, b_across);
        at_once += is_counted_as_it_runs<double>(m, n, k, a_across, b_across);
        all += 2;
    }
    CHECK((at_once > all / 20 && all - at_once > all / 20));
}

TEST_CASE("STRATAGEMM_ISA chooses the kernels") {
    {
        environment const set("STRATAGEMM_ISA", "portable");
        CHECK(sg::find_isa().isa == sg::host_isa::portable);
        CHECK(sg::find_isa().available);
    }
    {
        environment const set("STRATAGEMM_ISA", "mmx");
        CHECK(!sg::find_isa().known);
        CHECK(!sg::find_isa().available);
    }
    {
        environment const set("STRATAGEMM_ISA", "amx");
        CHECK(sg::find_isa().available == sg::cpu_has(sg::host_isa::amx));
    }
    environment const set("STRATAGEMM_ISA", "");
    CHECK(sg::find_isa().available);
    CHECK(sg::cpu_has(sg::find_isa().isa));
}

// Run by the case below, in a process of its own: the choice is made once per process.
TEST_CASE("forced to an instruction set that is no such thing", "[.isa]") {
    float a = 2, c = 7;
    auto const A = sg::row_major(&a, 1, 1), C = sg::row_major(&c, 1, 1);
    // After many calls, too, of which others would have a kernel of their own.
    std::vector<float> many(3 * 64 * 64, 1.0f);
    auto const X = sg::row_major(many.data(), 64, 64), Y = sg::row_major(many.data() + 4096, 64, 64),
               Z = sg::row_major(many.data() + 8192, 64, 64);
    for (int calls = 0; calls < 100; ++calls) REQUIRE(!sg::try_gemm(sg::host{}, X, Y, Z));
    CHECK(many.back() == 1);
    sg::status const s = sg::try_gemm(sg::host{}, A, A, C);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::unsupported);
    CHECK(s.error().layer() == "host");
    CHECK(contains(s.error().what(), "STRATAGEMM_ISA"));
    CHECK(contains(s.error().what(), "unset"));
    CHECK(c == 7);
    CHECK_THROWS_AS(sg::gemm(A, A, C), sg::error);
    // Also where nothing is left to multiply, and through a layer.
    CHECK(!sg::try_gemm(sg::strassen{sg::host{}}, A, A, C));
    CHECK(c == 7);
    CHECK(static_cast<bool>(sg::try_gemm(sg::reference{}, A, A, C)));
    CHECK(c == 4);
}

#ifdef __linux__
TEST_CASE("an instruction set that the machine lacks is an error, and not a crash") {
    char path[PATH_MAX] = {};
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    auto const run_with = [&](char const* isa) {
        int const how = std::system(
            ("STRATAGEMM_ISA=" + std::string(isa) + " '" + path + "' '[isa]' >/dev/null").c_str());
        CHECK(WIFEXITED(how));
        CHECK(WEXITSTATUS(how) < 128); // what a shell makes of a signal
        return how;
    };
    CHECK(run_with("mmx") == 0);
    // With AVX-512, this program emulates the rest of it.
    if (!sg::cpu_has(sg::host_isa::avx512)) CHECK(run_with("amx") == 0);
    CHECK(run_with("portable") != 0); // the hidden case notices that nothing was refused
}
#endif

// -fsanitize=undefined watches this: int8 products are modulo 2^32, with factors and with an epilogue too.
namespace {

template <class T, class R>
void compare_teams(sg::index_t m, sg::index_t n, sg::index_t k, std::uint64_t seed) {
    using S = sg::accumulator_t<T>;
    support::random_source from(seed);
    auto const any = [](support::random_source& x) {
        return static_cast<T>(static_cast<S>(x.below(255) - 127));
    };
    auto const rows = support::random_matrix<T>(m, k, from.next(), sg::layout::row_major, any),
               columns = support::random_matrix<T>(k, n, from.next(), sg::layout::col_major, any);
    auto const added =
        support::random_matrix<R>(m, n, from.next(), sg::layout::row_major, [](support::random_source& x) {
            return static_cast<R>(static_cast<S>(x.below(99) - 50));
        });
    for (S const alpha : {S(1), static_cast<S>(7.7)})
        for (S const beta : {S(0), S(1), static_cast<S>(-3.3)})
            for (bool const ends : {false, true}) {
                auto const multiply = [&](auto const& policy) {
                    sg::matrix<R> c(m, n);
                    if (ends)
                        sg::gemm(policy, alpha, rows, columns, beta, added, c, sg::relu);
                    else
                        sg::gemm(policy, alpha, rows, columns, beta, added, c);
                    return c;
                };
                auto const same = [&](sg::matrix<R> const& x, sg::matrix<R> const& y) {
                    return std::memcmp(x.data(), y.data(), static_cast<std::size_t>(m * n) * sizeof(R)) == 0;
                };
                auto const one = multiply(sg::host{.threads = 1});
                INFO(sg::type_name<T>() << " " << m << "x" << n << "x" << k << ", alpha " << (alpha == S(1))
                                        << ", beta " << (beta == S(0)) << ", epilogue " << ends);
                for (int const team : {2, 3, 4}) CHECK(same(multiply(sg::host{.threads = team}), one));
                if (std::is_integral_v<R> && beta == S(0)) CHECK(same(one, multiply(sg::reference{})));
            }
}

} // namespace

TEST_CASE("dot products have the same bits on any number of threads") {
    constexpr sg::index_t shapes[][3] = {{2, 2, 100000}, {4, 4, 40003},  {8, 3, 30001},  {20, 5, 10000},
                                         {5, 20, 10000}, {257, 5, 1024}, {5, 257, 1024}, {12, 8, 9000}};
    for (auto const& s : shapes) {
        compare_teams<float, float>(s[0], s[1], s[2], 1);
        compare_teams<double, double>(s[0], s[1], s[2], 2);
        compare_teams<sg::bfloat16, float>(s[0], s[1], s[2], 3);
        compare_teams<std::int8_t, std::int32_t>(s[0], s[1], s[2], 4);
    }
}

TEST_CASE("a call that is repeated has the result of the first") {
    std::vector<float> a(64, 1e-20f), b(64, 1.0f), c(64);
    auto const A = sg::row_major(a.data(), 8, 8), B = sg::row_major(b.data(), 8, 8),
               C = sg::row_major(c.data(), 8, 8);
    for (int calls = 0; calls < 300; ++calls) {
        sg::gemm(1e-30f, sg::scaled(1e30f, A), sg::scaled(1e30f, B), 0.0f, C);
        REQUIRE(c[63] > 7e10f);
        REQUIRE(c[63] < 9e10f);
    }
}

TEST_CASE("what is left of a product without terms is rounded once") {
    std::vector<sg::half> c(6, sg::half(40000.0f));
    std::vector<sg::half> none(6);
    auto const C = sg::row_major(c.data(), 2, 3);
    auto const A = sg::row_major(none.data(), 2, 0), B = sg::row_major(none.data(), 0, 3);
    sg::gemm(std::numeric_limits<float>::infinity(), A, B, 2.0f, C, sg::scale(0.5f));
    CHECK(static_cast<float>(c[5]) == 40000.0f);
    auto const X = sg::row_major(none.data(), 2, 2), Y = sg::row_major(none.data(), 2, 3);
    sg::gemm(0.0f, X, Y, 2.0f, C, sg::scale(0.5f));
    CHECK(static_cast<float>(c[5]) == 40000.0f);
}

TEST_CASE("integers that overflow are what the oracle has") {
    auto const least = [](sg::index_t, sg::index_t) { return -128; };
    auto const large = [](sg::index_t, sg::index_t) { return 2000000000; };
    for (sg::index_t const n : {1, 3, 8, 40})
        for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
            sg::matrix<std::int8_t> const a(n, 700, least), b(700, n, least, order);
            sg::matrix<std::int32_t> const e(n, n, large);
            sg::matrix<std::int32_t> c(n, n), exact(n, n), both(n, n);
            auto const same = [&] {
                for (sg::index_t i = 0; i < n * n; ++i)
                    if (c.data()[i] != exact.data()[i]) return false;
                return true;
            };
            sg::gemm(sg::host{.threads = 1}, 1000000, a, b, 70000, e, c);
            sg::gemm(sg::reference{}, 1000000, a, b, 70000, e, exact);
            CHECK(same());
            auto const half = [](std::int32_t x) { return x / 2; };
            sg::gemm(sg::host{.threads = 1}, 1000000, a, b, 70000, e, c, half);
            sg::gemm(sg::reference{}, 1000000, a, b, 70000, e, exact, half);
            CHECK(same());
            REQUIRE(sg::host{}.leaf().add(e.view(), e.view(), both.view()));
            CHECK(both(0, 0) == static_cast<std::int32_t>(4000000000u));
        }
}

#ifdef __linux__
namespace {
// Pages between two that cannot be read.
class fenced {
public:
    fenced()
        : begin_(static_cast<char*>(mmap(nullptr, bytes_ + 2 * page_, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        REQUIRE(begin_ != MAP_FAILED);
        mprotect(begin_, page_, PROT_NONE);
        mprotect(begin_ + page_ + bytes_, page_, PROT_NONE);
    }
    fenced(fenced&&) = delete;
    ~fenced() { munmap(begin_, bytes_ + 2 * page_); }
    // A place for so many elements, at the beginning or at the end of the room.
    template <class T>
    T* place(sg::index_t count, bool first) const {
        char* const from = begin_ + page_;
        return reinterpret_cast<T*>(first ? from
                                          : from + bytes_ - static_cast<std::size_t>(count) * sizeof(T));
    }

private:
    static inline std::size_t const page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)),
                                    bytes_ = 4 * page_;
    char* begin_;
};

template <class T>
void turn_each() {
    fenced const in, out;
    auto const& table = sg::kernels<T, T>();
    if (!table.block) return;
    for (sg::index_t const rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 18})
        for (sg::index_t const cols : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 19})
            for (int layout = 0; layout < 8; ++layout) {
                bool const first = layout & 1;
                sg::index_t const from_col = rows + (layout & 2 ? 3 : 0),
                                  to_row = cols + (layout & 4 ? 5 : 0), of = (cols - 1) * from_col + rows,
                                  to_size = (rows - 1) * to_row + cols;
                T *const from = in.place<T>(of, first), *const to = out.place<T>(to_size, first);
                for (sg::index_t x = 0; x < of; ++x) from[x] = T(x + 1);
                for (sg::index_t x = 0; x < to_size; ++x) to[x] = T(-1);
                sg::gather<T, T>(table, to, to_row, from, 1, from_col, rows, cols);
                sg::index_t wrong = 0;
                for (sg::index_t x = 0; x < to_size; ++x)
                    wrong += to[x] != (x % to_row < cols ? T(x / to_row + x % to_row * from_col + 1) : T(-1));
                CAPTURE(rows, cols, from_col, to_row, first);
                CHECK(wrong == 0);
            }
}
} // namespace

TEST_CASE("a matrix whose columns are contiguous is turned, and nothing beside it is touched") {
    turn_each<float>();
    turn_each<double>();
}
#endif
