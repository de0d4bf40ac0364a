// What panels are held to on any devices: products against the reference on data whose sums are exact, and the same bits
// whatever the number of devices.
#pragma once

#include "catch.hpp"
#include "files.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/reference.hpp>
#include <stratagemm/structure/panels.hpp>

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
            sg::matrix<T> bt(s.n, s.k);
            sg::matrix<C> expected = e;
            for (index_t i = 0; i < s.k; ++i)
                for (index_t j = 0; j < s.n; ++j) bt(j, i) = b(i, j);
            sg::gemm(sg::reference{}, 3, a, b, beta, expected);
            auto const pa = scattered(devices, a, {order}), pb = scattered(devices, b, {.order = order}),
                       pbt = scattered(devices, bt, {.order = order});
            auto pc = scattered(devices, e), pd = scattered(devices, e, {.order = order});
            auto const least = least_budget(devices, pa, pb, pc.view());
            sg::gemm(sg::out_of_core{devices}, 3, pa, pb, beta, pc);
            sg::gemm(sg::out_of_core{devices, least}, 3, pa, sg::transposed(pbt), beta, pd);
            wrong += least.host_bytes == sg::out_of_core_options::automatic;
            wrong += !support::same(gathered(pc), expected);
            wrong += !support::same(gathered(pd), expected);
        }
    return wrong;
}

// Counts products over some of the devices that have other bits than those over one. over(device) is the base.
template <class T, class Over, class Policy>
int different_bits(Over const& over, std::vector<Policy> const& all) {
    auto const a = support::fractions<T>(70, 90, 1), b = support::fractions<T>(90, 130, 2);
    int different = 0;
    for (index_t const height : {0, 11}) {
        sg::matrix<T> first(70, 130);
        for (std::size_t count = 1; count <= all.size(); ++count) {
            if (height == 0 && 8 % count != 0) continue;
            std::vector<Policy> const devices(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
            std::vector<decltype(over(all[0]))> bases;
            for (Policy const& one : devices) bases.push_back(over(one));
            auto const pa = scattered(devices, a, {.height = height}), pb = scattered(devices, b);
            sg::panels<T, Policy> pc(devices, 70, 130, {.height = height});
            sg::gemm(sg::out_of_core<decltype(over(all[0]))>(bases), pa, pb, pc);
            auto const c = gathered(pc);
            if (count == 1)
                first = c;
            else
                different += !support::same_bits(c, first);
        }
    }
    return different;
}

} // namespace panel_tests
