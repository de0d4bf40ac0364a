// multiply() and multiply_batch(), for the sources that instantiate them.
#pragma once

#include "multiply.hpp"
#include "settings.hpp"

#include <memory>
#include <new>

namespace stratagemm_blas {

// Whether operands state a product that devices do: one of the types of BLAS.
template <class T, class... Operands>
inline constexpr bool is_for_devices = false;
template <class T, class... Operands>
requires((std::is_floating_point_v<T> || is_complex<T>)&&requires(Operands const&... all) {
    device_product<T>(sg::product(all...));
}) inline constexpr bool is_for_devices<T, Operands...> = true;

// A layer that does not know the type, such as split with doubles, leaves the product to the host.
template <class T, class U = T, class... Operands>
sg::status try_policy(Operands const&... operands) {
    if constexpr (is_for_devices<T, Operands...>)
        if (device_policy const& device = environment().device) {
            device_product<T> const p = sg::product(operands...);
            // If A and B are not read, they may be nowhere.
            if (p.alpha != T(0) && p.a.cols != 0) return device.multiply(p);
        }
    any_policy const& chosen = environment().chosen;
    if (auto const* const host = std::get_if<sg::host>(&chosen)) return sg::try_gemm(*host, operands...);
    return std::visit(
        [&](auto const& policy) {
            using Policy = std::remove_cvref_t<decltype(policy)>;
            if constexpr (std::is_same_v<Policy, sg::host> || !sg::takes<Policy, sg::dense_problem<T, T, U>>)
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

// Whether C may have been written in part: by a device, which was lost or ran out of memory.
inline bool may_have_begun(sg::error const& e) {
    return environment().device && (e.code() == sg::errc::native || e.code() == sg::errc::memory);
}

template <class T, class S, class U>
[[gnu::cold, gnu::noinline]] void multiply_otherwise(sg::error const& e, S alpha, sg::view<T const> const& a,
                                                     sg::view<T const> const& b, S beta,
                                                     sg::view<U> const& c) {
    std::unique_ptr<T[]> a_room, b_room;
    sg::status s;
    if (e.code() == sg::errc::alias)
        s = try_policy<T, U>(alpha, copied(a, a_room), copied(b, b_room), beta, c);
    else if (e.code() == sg::errc::memory && !may_have_begun(e)) // which the host alone needs less of
        s = sg::try_gemm(sg::host{}, alpha, a, b, beta, c);
    else
        give_up(e.what());
    if (!s) give_up(s.error().what());
}

template <class T, class S, class U>
void multiply(S alpha, sg::view<T const> const& a, sg::view<T const> const& b, S beta, sg::view<U> const& c) {
    if (sg::status const s = try_policy<T, U>(alpha, a, b, beta, c); !s)
        multiply_otherwise(s.error(), alpha, a, b, beta, c);
}

template <class T>
void multiply_batch(T alpha, sg::batch<T const> const& a, sg::batch<T const> const& b, T beta,
                    sg::batch<T> const& c) {
    sg::status const s = try_policy<T>(alpha, a, b, beta, c);
    if (s) return;
    if (may_have_begun(s.error())) give_up(s.error().what());
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
    bool fits = !environment().device; // a device does one after another, which may fail in between
    for (index_t i = 0; i < count && fits; ++i) fits = all.append(product(i));
    if (fits && try_policy<T>(all)) return;
    // Products that overlap are legal, one after another.
    for (index_t i = 0; i < count; ++i) {
        Problem const p = product(i);
        multiply(p.alpha, p.a, p.b, p.beta, p.c);
    }
}

} // namespace stratagemm_blas
