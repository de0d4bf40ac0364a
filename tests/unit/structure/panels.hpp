// What panels are held to on any devices: products against the reference on data whose sums are exact, the same bits
// whatever the number of devices, and epilogues with vectors.
#pragma once

#include "catch.hpp"
#include "files.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/structure/panels.hpp>

#include <limits>
#include <string>
#include <vector>

namespace panel_tests {

namespace sg = stratagemm;
using sg::index_t;

template <class T, class Policy>
sg::matrix<T> gathered(sg::panels<T, Policy> const& from) {
    sg::matrix<T> to(from.rows(), from.cols());
    from.download(to);
    return to;
}
template <class T, class Policy>
sg::panels<T, Policy> scattered(std::vector<Policy> const& devices, sg::matrix<T> const& from,
                                sg::panels_options const& options = {}) {
    sg::panels<T, Policy> to(devices, from.rows(), from.cols(), options);
    to.upload(from);
    return to;
}

template <class T>
sg::matrix<T> turned(sg::matrix<T> const& m) {
    return {m.cols(), m.rows(), [&](index_t i, index_t j) { return m(j, i); }};
}

// The least budget that a product can do with, which the error for a smaller one says.
template <class Policy, class... Args>
sg::out_of_core_options least_budget(std::vector<Policy> const& devices, Args const&... args) {
    sg::status const s =
        sg::try_gemm(sg::out_of_core{devices, {.device_bytes = 1, .host_bytes = 1}}, args...);
    if (s) return {};
    std::string const text = s.error().what();
    index_t const least = std::stol(text.substr(text.rfind(' ') + 1));
    return {.device_bytes = least, .host_bytes = least};
}

// Counts products of panels that differ from the reference's, with as much memory as there is and with the least.
template <class T, class C = T, class Policy>
int wrong_products(std::vector<Policy> const& devices) {
    int wrong = 0, way = 0;
    struct sides {
        index_t m, n, k;
    };
    for (sides const s : {sides{40, 30, 20}, {1, 1, 1}, {3, 70, 50}, {65, 9, 33}, {20, 150, 7}})
        for (int const beta : {0, 2}) {
            auto const order = ++way % 2 ? sg::layout::row_major : sg::layout::col_major;
            auto const a = support::integers<T>(s.m, s.k, 1), b = support::integers<T>(s.k, s.n, 2);
            auto const e = support::integers<C>(s.m, s.n, 3);
            sg::matrix<C> expected = e;
            sg::gemm(sg::reference{}, 3, a, b, beta, expected);
            auto const pa = scattered(devices, a, {order}), pat = scattered(devices, turned(a)),
                       pb = scattered(devices, b, {.order = order}),
                       pbt = scattered(devices, turned(b), {.order = order});
            // Rows, and then columns, of C on each device.
            auto pc = scattered(devices, e), pd = scattered(devices, e, {.order = order});
            auto const least = least_budget(devices, pa, pb, pc.view());
            sg::gemm(sg::out_of_core{devices}, 3, pa, pb, beta, pc);
            sg::gemm(sg::out_of_core{devices, least}, 3, pa, sg::transposed(pbt), beta, pd);
            wrong += least.host_bytes == sg::out_of_core_options::automatic;
            wrong += !support::same(gathered(pc), expected);
            wrong += !support::same(gathered(pd), expected);
            auto ct = scattered(devices, turned(e)), dt = scattered(devices, turned(e), {.order = order});
            auto const less = least_budget(devices, pa, sg::transposed(pbt), sg::transposed(ct));
            sg::gemm(sg::out_of_core{devices}, 3, pa, sg::transposed(pbt), beta, sg::transposed(ct));
            sg::gemm(sg::out_of_core{devices, less}, 3, sg::transposed(pat), sg::transposed(pbt), beta,
                     sg::transposed(dt));
            wrong += less.host_bytes == sg::out_of_core_options::automatic;
            wrong += !support::same(gathered(ct), turned(expected));
            wrong += !support::same(gathered(dt), turned(expected));
        }
    return wrong;
}

// Counts products whose epilogue has vectors along the rows and the columns of C that differ from the reference's: where C
// lies in panels of rows and of columns, with and without terms. What is not read is NaN.
template <class Policy>
int wrong_vectors(std::vector<Policy> const& devices) {
    int wrong = 0;
    auto const a = support::integers<float>(37, 30, 1), b = support::integers<float>(30, 51, 2),
               e = support::integers<float>(37, 51, 3);
    auto const unread = [](index_t, index_t) { return std::numeric_limits<float>::quiet_NaN(); };
    sg::matrix<float> const no_a(37, 30, unread), no_e(37, 51, unread);
    std::vector<float> by_row(37), by_column(51);
    for (std::size_t i = 0; i < by_row.size(); ++i) by_row[i] = static_cast<float>(i) - 20;
    for (std::size_t j = 0; j < by_column.size(); ++j) by_column[j] = static_cast<float>(3 * j) - 60;
    sg::panel_values<float, Policy> const rows(devices, by_row), columns(devices, by_column);
    auto const steps = [](auto const& row_values, auto const& column_values) {
        return sg::then(sg::bias(row_values, sg::along::rows), sg::scale(column_values), sg::relu,
                        sg::bias(column_values));
    };
    for (float const alpha : {2.0f, 0.0f})
        for (float const beta : {0.0f, 2.0f}) {
            auto const &left = alpha == 0 ? no_a : a, &added = beta == 0 ? no_e : e;
            auto expected = e;
            sg::gemm(sg::reference{}, alpha, a, b, beta, expected, steps(by_row, by_column));
            auto const pa = scattered(devices, left), pb = scattered(devices, b),
                       pbt = scattered(devices, turned(b));
            auto pc = scattered(devices, added), pct = scattered(devices, turned(added));
            sg::gemm(sg::out_of_core{devices}, alpha, pa, pb, beta, pc, steps(rows, columns));
            sg::gemm(sg::out_of_core{devices}, alpha, pa, sg::transposed(pbt), beta, sg::transposed(pct),
                     steps(rows, columns));
            wrong += !support::same(gathered(pc), expected);
            wrong += !support::same(gathered(pct), turned(expected));
        }
    return wrong;
}

// Counts products over some of the devices that have other bits than those over one: with panels of rows, and of columns.
// over(device) is the base.
template <class T, class Over, class Policy>
int different_bits(Over const& over, std::vector<Policy> const& all) {
    auto const a = support::fractions<T>(70, 90, 1), b = support::fractions<T>(90, 130, 2);
    int different = 0;
    for (index_t const height : {0, 11}) {
        sg::matrix<T> first(70, 130), first_turned(130, 70);
        for (std::size_t count = 1; count <= all.size(); ++count) {
            if (height == 0 && 8 % count != 0) continue;
            std::vector<Policy> const devices(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
            std::vector<decltype(over(all[0]))> bases;
            for (Policy const& one : devices) bases.push_back(over(one));
            auto const pa = scattered(devices, a, {.height = height}), pb = scattered(devices, b),
                       pbt = scattered(devices, turned(b), {.height = height});
            sg::panels<T, Policy> pc(devices, 70, 130, {.height = height}),
                pct(devices, 130, 70, {.height = height});
            sg::out_of_core<decltype(over(all[0]))> const policy(bases);
            sg::gemm(policy, pa, pb, pc);
            sg::gemm(policy, pa, sg::transposed(pbt), sg::transposed(pct));
            auto const c = gathered(pc), ct = gathered(pct);
            if (count == 1)
                first = c, first_turned = ct;
            else
                different += !support::same_bits(c, first) + !support::same_bits(ct, first_turned);
        }
    }
    return different;
}

} // namespace panel_tests
