// What out_of_core does over any device: products in parts against the reference, on data whose sums are
// exact.
#pragma once

#include "catch.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <complex>
#include <limits>
#include <string>
#include <vector>

namespace parts {

namespace sg = stratagemm;
using sg::index_t;

// Small integers, and other ones at every place.
template <class T>
T whole_number(index_t i) {
    return T(static_cast<float>((i * 7 + i / 5) % 5 - 2));
}

struct sides {
    index_t m, n, k;
};

// A matrix in a buffer of its own, with gaps; NaN where the matrix is not, of A and B.
template <class T>
struct lying {
    std::vector<T> data;
    index_t rows, cols, row, col;

    lying(index_t m, index_t n, int way, T gap)
        : rows(m), cols(n), row(way % 3 == 0   ? n + 3
                                : way % 3 == 1 ? 1
                                               : 2 * n + 1),
          col(way % 3 == 0   ? 1
              : way % 3 == 1 ? m + 2
                             : 2) {
        data.assign(static_cast<std::size_t>((m - 1) * row + (n - 1) * col + 1), gap);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j)
                data[static_cast<std::size_t>(i * row + j * col)] = whole_number<T>(i * n + j);
    }
    auto view() { return sg::strided(data.data(), rows, cols, row, col); }
};

// Counts products that differ from the reference's, and appends what describe() says of each.
template <class T, class Make>
int wrong_products(Make const& policy_for, std::vector<sides> const& all, std::vector<index_t> const& budgets,
                   std::string& said) {
    int wrong = 0, way = 0;
    T const gap = T(std::numeric_limits<float>::quiet_NaN());
    for (sides const& s : all)
        for (index_t const budget : budgets)
            for (int const beta : {0, 2}) {
                ++way;
                lying<T> a(s.m, s.k, way, gap), b(s.k, s.n, way / 2, gap), e(s.m, s.n, way / 3, gap);
                lying<T> found(s.m, s.n, way / 5, T(7)), expected = found;
                auto const policy = policy_for(budget);
                sg::shape<T> shape{.m = s.m, .n = s.n, .k = s.k};
                shape.adds = beta != 0;
                said += policy.describe(shape) + "\n";
                wrong += policy.workspace(shape).device > static_cast<std::size_t>(budget);
                auto const multiply = [&](auto const& with, lying<T>& c) {
                    if (way % 2 == 0)
                        sg::gemm(with, 3, a.view(), sg::conjugated(b.view()), beta, e.view(), c.view());
                    else
                        sg::gemm(with, 1, sg::scaled(T(2), a.view()), b.view(), beta, c.view());
                };
                multiply(policy, found);
                multiply(sg::reference{}, expected);
                wrong += found.data != expected.data;
            }
    return wrong;
}

template <class Policy>
void check(Policy const& gpu, Policy const& other) {
    std::string said;
    std::vector<sides> const all = {{20, 30, 40},  {100, 120, 90}, {33, 33, 1000}, {301, 17, 260},
                                    {700, 500, 9}, {40, 900, 7},   {900, 40, 7}};
    auto const one = [&](index_t budget) { return sg::out_of_core{gpu, {.device_bytes = budget}}; };
    CHECK(wrong_products<float>(one, all, {30'000, 60'000, 150'000}, said) == 0);
    auto const two = [&](index_t budget) { return sg::out_of_core{{gpu, other}, {.device_bytes = budget}}; };
    CHECK(wrong_products<float>(two, all, {60'000}, said) == 0);
    CHECK(wrong_products<std::complex<float>>(one, {{60, 50, 70}, {300, 200, 5}}, {60'000}, said) == 0);
    for (char const* const words : {"A stays", "B stays", "C stays", "one part", "on each of 2 devices"}) {
        CAPTURE(words, said);
        CHECK(said.find(words) != std::string::npos);
    }

    // An epilogue runs once, with the indices of the whole C: one of the device's, and one that only the
    // host can run.
    std::vector<float> values(120);
    for (std::size_t i = 0; i < 120; ++i) values[i] = static_cast<float>(i);
    lying<float> a(100, 90, 0, 0), b(90, 120, 1, 0), c(100, 120, 0, 0), d = c;
    auto const by_place = [](float x, index_t i, index_t j) { return x + static_cast<float>(100 * i + j); };
    sg::gemm(one(60'000), a.view(), b.view(), c.view(), by_place);
    sg::gemm(sg::reference{}, a.view(), b.view(), d.view(), by_place);
    CHECK(c.data == d.data);
    sg::gemm(one(60'000), a.view(), b.view(), c.view(), sg::relu);
    sg::gemm(sg::reference{}, a.view(), b.view(), d.view(), sg::relu);
    CHECK(c.data == d.data);

    // A batch goes as many products at a time as there is room for, and in parts where there is room for
    // none.
    for (index_t const budget : {20'000, 3'000}) {
        std::vector<float> x(7 * 20 * 30), y(7 * 30 * 10), z(7 * 20 * 10, 1.0f);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = whole_number<float>(static_cast<index_t>(i));
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = whole_number<float>(static_cast<index_t>(i) + 2);
        std::vector<float> w = z;
        auto const multiply = [&](auto const& with, std::vector<float>& to) {
            sg::gemm(with, 1, sg::batched(sg::row_major(x.data(), 20, 30), 7, 600),
                     sg::batched(sg::row_major(y.data(), 30, 10), 7, 300), 1,
                     sg::batched(sg::row_major(to.data(), 20, 10), 7, 200));
        };
        multiply(one(budget), z);
        multiply(sg::reference{}, w);
        CHECK(z == w);
    }

    // Progress ends with all.
    index_t last = 0, of = -1, calls = 0;
    sg::gemm(
        sg::out_of_core{gpu,
                        {.device_bytes = 30'000,
                         .progress = [&](index_t done, index_t total) { last = done, of = total, ++calls; }}},
        a.view(), b.view(), c.view());
    CHECK(last == of);
    CHECK(calls == of);
    CHECK(of > 1);

    // Budgets that do not do.
    auto const message_of = [&](index_t budget, auto... epilogue) {
        auto const before = c.data;
        sg::status const s = sg::try_gemm(one(budget), a.view(), b.view(), c.view(), epilogue...);
        CHECK(c.data == before);
        return s ? std::string() : std::string(s.error().what());
    };
    CHECK(message_of(0) == "out_of_core: device_bytes must be positive");
    CHECK(message_of(-5) == "out_of_core: device_bytes must be positive");
    std::string const little = message_of(100);
    std::string const begin =
        "out_of_core: device_bytes is 100, which is too little for one block; the least for this "
        "product is ";
    REQUIRE(little.find(begin) == 0);
    CHECK(message_of(std::stol(little.substr(begin.size()))) == "");
}

} // namespace parts
