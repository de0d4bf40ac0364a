// Kernels in the dialect of device/dialect.hpp, launched on every device.
#include "catch.hpp"
#include "policies.hpp"

#include <vector>

namespace trials {

using leaf = decltype(std::declval<under_test>().leaf());
static_assert(sg::leaf<leaf, under_test::space>);
static_assert(sg::device_leaf<leaf, under_test::space>);

template <class T>
sg::matrix<T> line(index_t count) {
    return {1, count, [](index_t, index_t j) { return static_cast<T>(static_cast<float>(j % 23 - 11)); }};
}

template <class T>
std::string type_of() {
    return std::string("#define T ") + sg::kernel_type<T>() + '\n';
}

TEMPLATE_TEST_CASE("dialect: a x + y from an offset", "", float, double) {
    using T = TestType;
    under_test const gpu;
    leaf const device = gpu.leaf();
    if (sizeof(T) == 8 && !device.limits().has_double) return;
    sg::device_kernel kernel{"axpy", R"(
#ifndef sum_of
FUNCTION T sum_of(GLOBAL T const *x, T a, T y, index i) { return a * LOAD(T, x, i) + y; }
#endif
KERNEL(ITEMS) axpy(index n, T a, BUFFER(T const, x), BUFFER(T, y)) {
    OPEN(T const, x);
    OPEN(T, y);
    for (index i = (index)GROUP * ITEMS + ITEM; i < n; i += (index)GROUPS * ITEMS)
        STORE(T, y, i, sum_of(x, a, LOAD(T, y, i), i));
}
)",
                             type_of<T>(), 64, sizeof(T) == 8};
    index_t const n = 1000;
    sg::matrix<T> const x = line<T>(n);
    sg::matrix<T> y(1, n);
    sg::matrix<T> const before(1, n, [](index_t, index_t j) { return static_cast<T>(j); });
    under_test::matrix<T> const dx(gpu, x);
    under_test::matrix<T> dy(gpu, before);
    auto const run = [&](index_t groups) {
        return device.launch(kernel, groups, n - 20, T(3), dx.data() + 5, dy.data() + 9);
    };
    run(0).or_throw();
    run(-3).or_throw();
    run(7).or_throw();
    dy.download(y);
    int wrong = 0;
    for (index_t j = 0; j < n; ++j)
        wrong += y(0, j) != (j >= 9 && j < n - 11 ? 3 * x(0, j - 4) + before(0, j) : before(0, j));
    CHECK(wrong == 0);
    // The same name and text, and so another kernel by its definitions alone.
    kernel.definitions += "#define sum_of(x, a, y, i) (-(y))\n";
    run(7).or_throw();
    dy.download(y);
    CHECK(y(0, 9) == -(3 * x(0, 5) + before(0, 9)));
}

TEST_CASE("dialect: sums over a group") {
    under_test const gpu;
    sg::device_kernel const kernel{"sums",
                                   R"(
KERNEL(ITEMS) sums(MATRIX(float const, x), MATRIX(float, to), int cols) {
    OPEN(float const, x);
    OPEN(float, to);
    SHARED float part[ITEMS];
    float sum = 0;
    for (int j = ITEM; j < cols; j += ITEMS) sum += x[AT(x, GROUP, j)];
#if SHUFFLES
    for (int step = 16; step > 0; step /= 2) sum += SHUFFLE(sum, LANE ^ step);
    part[ITEM] = LANE == 0 ? sum : 0;
#else
    part[ITEM] = sum;
#endif
    for (int step = ITEMS / 2; step > 0; step /= 2) {
        BARRIER();
        if (ITEM < step) part[ITEM] += part[ITEM + step];
    }
    if (ITEM == 0) to[AT(to, GROUP, 0)] = part[0];
}
)",
                                   {},
                                   128};
    index_t const rows = 37, cols = 301;
    sg::matrix<float> const x(rows, cols,
                              [](index_t i, index_t j) { return static_cast<float>((7 * i + j) % 19); });
    under_test::matrix<float> const dx(gpu, x);
    under_test::matrix<float> to(gpu, rows, 2);
    gpu.leaf().fill(to.view(), -1.0f).or_throw();
    gpu.leaf()
        .launch(kernel, rows, dx.data() + 1, cols, index_t{1}, to.data() + 1, index_t{2}, index_t{1},
                static_cast<int>(cols - 1))
        .or_throw();
    sg::matrix<float> sums(rows, 2);
    to.download(sums);
    int wrong = 0;
    for (index_t i = 0; i < rows; ++i) {
        float exact = 0;
        for (index_t j = 1; j < cols; ++j) exact += x(i, j);
        wrong += sums(i, 1) != exact || sums(i, 0) != -1;
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("dialect: products are rounded where exact says so", "", float, double) {
    using T = TestType;
    under_test const gpu;
    if (sizeof(T) == 8 && !gpu.leaf().limits().has_double) return;
    sg::device_kernel const kernel{"errors", R"(
KERNEL(ITEMS) errors(BUFFER(T const, x), BUFFER(T, to)) {
    OPEN(T const, x);
    OPEN(T, to);
    T const a = x[ITEM], rounded = a * a;
    to[ITEM] = a * a - x[ITEMS + ITEM];
    to[ITEMS + ITEM] = fma(a, a, -rounded);
}
)", type_of<T>(), 32, sizeof(T) == 8, true};
    auto const root = [](index_t j) {
        return 1 + static_cast<T>(2 * j + 1) / (sizeof(T) == 8 ? T(1 << 30) : T(1 << 12));
    };
    sg::matrix<T> const x(2, 32, [&](index_t i, index_t j) {
        T volatile square = root(j) * root(j);
        return i == 0 ? root(j) : square;
    });
    under_test::matrix<T> const dx(gpu, x);
    under_test::matrix<T> to(gpu, 2, 32);
    gpu.leaf().launch(kernel, 1, dx.data(), to.data()).or_throw();
    sg::matrix<T> errors(2, 32);
    to.download(errors);
    int wrong = 0;
    for (index_t j = 0; j < 32; ++j)
        wrong += errors(0, j) != 0 || errors(1, j) != __builtin_fma(root(j), root(j), -x(1, j));
    CHECK(wrong == 0);
    CHECK(errors(1, 0) != 0);
}

TEMPLATE_TEST_CASE("dialect: elements of each type", "", float, double, sg::half, sg::bfloat16, std::int8_t,
                   std::int32_t) {
    using T = TestType;
    under_test const gpu;
    if (sizeof(T) == 8 && !gpu.leaf().limits().has_double) return;
    sg::device_kernel const kernel{"twice", R"(
KERNEL(32) twice(BUFFER(IN const, x), BUFFER(IN, y), BUFFER(OUT, z)) {
    OPEN(IN const, x);
    OPEN(IN, y);
    OPEN(OUT, z);
    scalar const number = multiply_add(LOAD(IN, x, ITEM), (scalar)real_value(2), ZERO);
    STORE(IN, y, ITEM, number);
    STORE(OUT, z, ITEM, CONVERT(OUT_VALUE, (value)number));
}
)",
                                   sg::kernel_types<T, float>(), 32, sizeof(T) == 8};
    sg::matrix<T> const x = line<T>(32);
    sg::matrix<T> y(1, 32);
    sg::matrix<float> z(1, 32);
    under_test::matrix<T> const dx(gpu, x);
    under_test::matrix<T> dy(gpu, 1, 32);
    under_test::matrix<float> dz(gpu, 1, 32);
    gpu.leaf().launch(kernel, 1, dx.data(), dy.data(), dz.data()).or_throw();
    dy.download(y), dz.download(z);
    int wrong = 0;
    for (index_t j = 0; j < 32; ++j) {
        auto const twice = static_cast<float>(2 * (j % 23 - 11));
        wrong += static_cast<float>(y(0, j)) != twice || z(0, j) != twice;
    }
    CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("dialect: vectors", "", float, double, std::int8_t) {
    using T = TestType;
    under_test const gpu;
    if (sizeof(T) == 8 && !gpu.leaf().limits().has_double) return;
    sg::device_kernel const kernel{"turn", R"(
KERNEL(32) turn(BUFFER(T const, x), BUFFER(T, to)) {
    OPEN(T const, x);
    OPEN(T, to);
    VECTOR(T, 4) const v = LOAD_VECTOR(T, 4, x, 4 * ITEM);
    VECTOR(T, 2) pair = LOAD_VECTOR(T, 2, x, 4 * ITEM + 2);
    VECTOR(T, 4) turned;
    turned.x = pair.y, turned.y = pair.x, turned.z = v.y, turned.w = v.x;
    STORE_VECTOR(T, 4, to, 4 * ITEM, turned);
    pair.x = v.w;
    STORE_VECTOR(T, 2, to, 128 + 2 * ITEM, pair);
}
)",
                                   type_of<T>(), 32, sizeof(T) == 8};
    sg::matrix<T> const x = line<T>(128);
    sg::matrix<T> y(1, 192);
    under_test::matrix<T> const dx(gpu, x);
    under_test::matrix<T> to(gpu, 1, 192);
    gpu.leaf().launch(kernel, 1, dx.data(), to.data()).or_throw();
    to.download(y);
    int wrong = 0;
    for (index_t j = 0; j < 128; ++j) wrong += y(0, j) != x(0, j / 4 * 4 + 3 - j % 4);
    for (index_t j = 0; j < 64; ++j) wrong += y(0, 128 + j) != x(0, j / 2 * 4 + 3);
    CHECK(wrong == 0);
}

// Two tables, of 3 pairs and of `at[0]` pairs, and a kernel that reads them itself and by a function.
template <class T>
std::string with_tables(sg::text_numbers const& numbers, sg::text_tables* apart) {
    std::string text, parameter, argument;
    index_t place = 0;
    for (index_t const count : {index_t{3}, numbers.at[0]}) {
        std::string const name = count == 3 ? "few" : "many";
        text += apart ? "#define " + name + " (tables + " + std::to_string(place) + ")\n"
                      : "TABLE(T, " + std::to_string(count) + ", " + name + ") = {";
        for (index_t i = 0; i < count; ++i) {
            T const pair[] = {static_cast<T>(count + i), static_cast<T>(-i)};
            if (apart)
                apart->bytes.append(reinterpret_cast<char const*>(pair), sizeof(pair));
            else
                text += "PAIR(T, " + std::to_string(count + i) + ", " + std::to_string(-i) + "), ";
        }
        text += apart ? "" : "};\n", place += count;
    }
    if (apart) parameter = " TABLES(T)", argument = ", tables";
    return text + "FUNCTION T one_of(int i" + parameter +
           ") { return many[i].x; }\nKERNEL(ITEMS) read_tables(BUFFER(T, to)" + parameter +
           ") {\n    OPEN(T, to);\n    to[ITEM] = one_of(ITEM" + argument +
           ") + few[ITEM % 3].x / 2;\n    to[ITEMS + ITEM] = many[ITEM].y;\n}\n";
}

TEMPLATE_TEST_CASE("dialect: tables that are written for numbers", "", float, double) {
    using T = TestType;
    under_test const gpu;
    if (sizeof(T) == 8 && !gpu.leaf().limits().has_double) return;
    for (index_t const items : {32, 64}) {
        sg::device_kernel kernel{"read_tables", "", type_of<T>(), static_cast<int>(items), sizeof(T) == 8};
        kernel.write = with_tables<T>, kernel.numbers.at[0] = items;
        under_test::matrix<T> to(gpu, 2, items);
        sg::matrix<T> read(2, items);
        for (int again = 0; again < 2; ++again) { // compiled, and kept
            gpu.leaf().fill(to.view(), T(0)).or_throw();
            gpu.leaf().launch(kernel, 1, to.data()).or_throw();
            to.download(read);
            int wrong = 0;
            for (index_t j = 0; j < items; ++j)
                wrong += read(0, j) != static_cast<T>(items + j) + static_cast<T>(3 + j % 3) / 2 ||
                         read(1, j) != static_cast<T>(-j);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("dialect: a kernel that does not build is an error") {
    under_test const gpu;
    sg::status const s = gpu.leaf().launch({"wrong", "KERNEL(256) wrong(int n) { no_such_name = n; }"}, 1, 3);
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::native);
    CHECK(std::string_view(s.error().what()).find("the kernel 'wrong' did not") != std::string_view::npos);
    CHECK(std::string_view(s.error().what()).find("no_such_name") != std::string_view::npos);
    sg::status const many =
        gpu.leaf().launch({"none", "KERNEL(256) none(int n) {}"}, gpu.leaf().limits().groups + 1, 3);
    REQUIRE(!many);
    CHECK(many.error().code() == sg::errc::unsupported);
}

} // namespace trials
