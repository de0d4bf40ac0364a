// What several unit tests need.
#pragma once

#include "random.hpp"
#include "reference_products.hpp"

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace support {

// Code takes ten times as long under sanitizers, which have seen it after a few of many alike: tests leave out the others.
#ifdef STRATAGEMM_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// The product by its definition.
template <class T>
sg::matrix<T> product_of(sg::matrix<T> const& a, sg::matrix<T> const& b) {
    return sg::matrix<T>(a.rows(), b.cols(), [&](sg::index_t i, sg::index_t j) {
        T sum{};
        for (sg::index_t l = 0; l < a.cols(); ++l) sum = sum + a(i, l) * b(l, j);
        return sum;
    });
}

#ifdef STRATAGEMM_COMPILED_KERNELS // beside those of sg::reference, for the same reason
extern template sg::matrix<float> product_of(sg::matrix<float> const&, sg::matrix<float> const&);
extern template sg::matrix<double> product_of(sg::matrix<double> const&, sg::matrix<double> const&);
#endif

template <class T>
bool equal(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    if (x.rows() != y.rows() || x.cols() != y.cols()) return false;
    for (sg::index_t i = 0; i < x.rows(); ++i)
        for (sg::index_t j = 0; j < x.cols(); ++j)
            if (!(x(i, j) == y(i, j))) return false;
    return true;
}

template <class T>
bool same_bits(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    auto const size = static_cast<std::size_t>(x.rows() * x.cols()) * sizeof(T);
    return x.rows() == y.rows() && x.cols() == y.cols() && std::memcmp(x.data(), y.data(), size) == 0;
}

inline bool contains(std::string const& text, std::string const& part) {
    return text.find(part) != std::string::npos;
}

// What a stride along a side of 1 may be, since nobody uses it.
inline constexpr sg::index_t unused_strides[] = {std::numeric_limits<sg::index_t>::min(),
                                                 std::numeric_limits<sg::index_t>::max(),
                                                 std::numeric_limits<sg::index_t>::min() + 1,
                                                 (sg::index_t{1} << 61) + 1,
                                                 -(sg::index_t{1} << 40),
                                                 -1,
                                                 0};
// The same matrix, with that stride along each side of 1.
template <class T, class Space>
sg::view<T, Space> with_unused(sg::view<T, Space> v, sg::index_t stride) {
    if (v.rows == 1) v.row_stride = stride;
    if (v.cols == 1) v.col_stride = stride;
    return v;
}
// How many elements of C = A B + C, of integers, are wrong, whatever such strides are.
template <class TA, class TC, class Policy>
int wrong_by_unused_strides(Policy const& policy) {
    int wrong = 0;
    constexpr sg::index_t shapes[][3] = {{1, 5, 9},  {5, 1, 9}, {5, 9, 1},    {1, 1, 70},
                                         {1, 70, 1}, {1, 1, 1}, {1, 300, 200}};
    for (auto const& [m, n, k] : shapes)
        for (sg::index_t const stride : unused_strides) {
            auto const number = [](sg::index_t i, sg::index_t j) {
                return static_cast<float>((i + 2 * j) % 3 - 1);
            };
            sg::matrix<TA> a(m, k, [&](auto i, auto j) { return make<TA>(number(i, j)); }),
                b(k, n, [&](auto i, auto j) { return make<TA>(number(i + 1, j)); });
            sg::matrix<TC> c(m, n, [](auto, auto) { return make<TC>(3); }), expected(m, n);
            sg::gemm(sg::reference{}, sg::accumulator_t<TA>(1), a, b, sg::accumulator_t<TA>(1), c, expected);
            auto const of_a = with_unused(a.view(), stride), of_b = with_unused(b.view(), stride);
            auto const of_c = with_unused(c.view(), stride);
            sg::gemm(policy, sg::accumulator_t<TA>(1), of_a, of_b, sg::accumulator_t<TA>(1), of_c);
            wrong += !equal(c, expected);
            // The step of a batch of one is not used either.
            sg::gemm(policy, sg::batched(of_a, 1, stride), of_b, sg::batched(of_c, 1, stride));
            sg::gemm(sg::reference{}, a, b, expected);
            wrong += !equal(c, expected);
        }
    return wrong;
}

// Runs a product in an arena of exactly workspace() bytes, and tells what became of them.
struct arena_use {
    bool stayed_inside = false; // nothing was written beyond
    bool used_up = false;       // the last of it was written to
};
template <class Policy, class Problem>
arena_use try_arena(Policy const& policy, Problem const& p) {
    std::size_t const size = policy.workspace(p.shape()).host, guard = 4096;
    auto const pattern = std::byte{0x5c};
    std::vector<std::byte> room(size + guard + 64, pattern);
    auto const off = reinterpret_cast<std::uintptr_t>(room.data()) % 64;
    std::byte* const base = room.data() + (off == 0 ? 0 : 64 - off);
    sg::host_arena arena(base, size, nullptr);
    policy(p, arena).or_throw();
    arena_use use;
    use.stayed_inside = true;
    for (std::size_t i = 0; i < guard; ++i) use.stayed_inside &= base[size + i] == pattern;
    for (std::size_t i = 0; i < 64 && i < size; ++i) use.used_up |= base[size - 1 - i] != pattern;
    return use;
}

// Whether an epilogue gives what it would on the finished C, bit for bit, for the C of alpha A B + beta E in both
// orders, once and in a batch.
template <class Policy, class T, class F>
bool finishes(Policy const& policy, sg::matrix<T> const& a, sg::matrix<T> const& b, sg::matrix<T> const& e,
              T alpha, T beta, F const& f) {
    sg::index_t const m = a.rows(), n = b.cols();
    for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
        sg::matrix<T> c(m, n, order), expected(m, n, order), twice(2 * m, n);
        sg::gemm(policy, alpha, a, b, beta, e, expected);
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n; ++j) expected(i, j) = sg::apply_epilogue(f, expected(i, j), i, j);
        sg::gemm(policy, alpha, a, b, beta, e, c, f);
        if (!same_bits(c, expected)) return false;
        if (order == sg::layout::col_major) break;
        sg::gemm(policy, alpha, a, b, beta, e, sg::batched(sg::row_major(twice.data(), m, n), 2, m * n), f);
        for (sg::index_t i = 0; i < 2 * m; ++i)
            for (sg::index_t j = 0; j < n; ++j)
                if (std::memcmp(&twice(i, j), &expected(i % m, j), sizeof(T)) != 0) return false;
    }
    return true;
}
// Epilogues as one type, so that policies are compiled once for all of them. Compilers inline it: if they
// contracted the last one, it would round differently.
template <class T>
struct finishing {
    enum { chain, square, place } which;
    std::vector<T> const* values;

    T operator()(T x, sg::index_t i, sg::index_t j) const {
        using R = sg::real_t<T>;
        switch (which) {
        case chain: return sg::then(sg::bias(*values), sg::scale(T(3)))(x, i, j);
        case square: return x * x;
        case place: break;
        }
        return x * R(1.1) + T(static_cast<R>(100 * i + j));
    }
};
template <class Policy, class T>
bool finishes(Policy const& policy, sg::matrix<T> const& a, sg::matrix<T> const& b, sg::matrix<T> const& e,
              T alpha, T beta) {
    std::vector<T> values;
    for (sg::index_t j = 0; j < b.cols(); ++j) values.push_back(T(static_cast<sg::real_t<T>>(j) / 3));
    using one = finishing<T>;
    for (auto const which : {one::chain, one::square, one::place})
        if (!finishes(policy, a, b, e, alpha, beta, one{which, &values})) return false;
    return true;
}

} // namespace support
