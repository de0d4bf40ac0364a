// multiply() and multiply_batch(), for the sources that instantiate them.
#pragma once

#include "multiply.hpp"
#include "settings.hpp"

#include <memory>
#include <new>

namespace stratagemm_blas {

// A layer that does not know the type, such as split with doubles, leaves the product to the host.
template <class T, class S = T, class... Operands>
sg::status try_policy(Operands const&... operands) {
    any_policy const& chosen = environment().chosen;
    if (auto const* const host = std::get_if<sg::host>(&chosen)) return sg::try_gemm(*host, operands...);
    return std::visit(
        [&](auto const& policy) {
            using Policy = std::remove_cvref_t<decltype(policy)>;
            if constexpr (std::is_same_v<Policy, sg::host> || !sg::takes<Policy, sg::dense_problem<T, T, S>>)
                return sg::try_gemm(sg::host{}, operands...);
            else
                return sg::try_gemm(policy, operands...);
        },
        chosen);
}

// The matrix in memory of its own, which `room` holds.
template <class T>
sg::view<T const> copied(sg::view<T const> const& from, std::unique_ptr<T[]>& room) {
    room.reset(new (std::nothrow) T[static_cast<std::size_t>(from.rows * from.cols)]);
    if (!room) give_up("a matrix shares memory with C, and there is no memory for a copy of it");
    sg::view<T const> to = from;
    to.data = room.get(), to.row_stride = 1, to.col_stride = from.rows;
    for (index_t j = 0; j < from.cols; ++j)
        for (index_t i = 0; i < from.rows; ++i)
            room[static_cast<std::size_t>(i + j * from.rows)] = from(i, j);
    return to;
}

template <class T, class S>
[[gnu::cold, gnu::noinline]] void multiply_otherwise(sg::error const& e, S alpha, sg::view<T const> const& a,
                                                     sg::view<T const> const& b, S beta,
                                                     sg::view<S> const& c) {
    std::unique_ptr<T[]> a_room, b_room;
    sg::status s;
    if (e.code() == sg::errc::alias)
        s = try_policy<T, S>(alpha, copied(a, a_room), copied(b, b_room), beta, c);
    else if (e.code() == sg::errc::memory) // which the host alone needs less of
        s = sg::try_gemm(sg::host{}, alpha, a, b, beta, c);
    else
        give_up(e.what());
    if (!s) give_up(s.error().what());
}

template <class T, class S>
void multiply(S alpha, sg::view<T const> const& a, sg::view<T const> const& b, S beta, sg::view<S> const& c) {
    if (sg::status const s = try_policy<T, S>(alpha, a, b, beta, c); !s)
        multiply_otherwise(s.error(), alpha, a, b, beta, c);
}

template <class T>
void multiply_batch(T alpha, sg::batch<T const> const& a, sg::batch<T const> const& b, T beta,
                    sg::batch<T> const& c) {
    if (try_policy<T>(alpha, a, b, beta, c)) return;
    // Matrices C that overlap are legal, one after another.
    for (index_t i = 0; i < c.count; ++i)
        multiply(alpha, a.first.moved(i * a.stride), b.first.moved(i * b.stride), beta,
                 c.first.moved(i * c.stride));
}

// `count` products, the i-th of which is product(i).
template <class T, class Product>
void multiply_group(index_t count, Product const& product) {
    using Problem = sg::dense_problem<T, T, T>;
    sg::list<Problem> all;
    bool fits = true;
    for (index_t i = 0; i < count && fits; ++i) fits = all.append(product(i));
    if (fits && try_policy<T>(all)) return;
    // Products that overlap are legal, one after another.
    for (index_t i = 0; i < count; ++i) {
        Problem const p = product(i);
        multiply(p.alpha, p.a, p.b, p.beta, p.c);
    }
}

} // namespace stratagemm_blas
