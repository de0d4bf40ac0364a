// Views: a matrix somewhere in memory, described by a handle and two signed strides.
//
// Transposing, taking a sub-matrix, scaling and conjugating change the description and move no data. A
// memory space says what a handle is: T* on the host, something pointer-like elsewhere.
#pragma once

#include "types.hpp"

STRATAGEMM_BEGIN

struct host_memory {
    template <class T>
    using handle = T*;
    static constexpr char const* name = "host";

    // What the alias check needs: handles in different buffers never overlap.
    static void const* buffer(void const*) { return nullptr; }
    static std::intptr_t address(void const* p) { return reinterpret_cast<std::intptr_t>(p); }

    // What an arena needs: a typed handle into its bytes, and its part of a footprint.
    template <class T>
    static T* cast(std::byte* p) {
        return reinterpret_cast<T*>(p);
    }
    template <class Footprint>
    static auto& share(Footprint& f) {
        return f.host;
    }
};

template <class T, class Space = host_memory>
struct view {
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using space = Space;
    using handle = typename Space::template handle<T>;

    handle data{};
    index rows = 0;
    index cols = 0;
    index row_stride = 0;
    index col_stride = 1;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    // The stored element: scale and conjugation are left to whoever computes.
    T& operator()(index i, index j) const requires std::same_as<Space, host_memory> {
        return data[i * row_stride + j * col_stride];
    }

    // The m x n part whose upper left corner is (i, j). An empty part keeps the handle: no address is
    // formed outside the matrix.
    view block(index i, index j, index m, index n) const {
        view part = *this;
        if (m > 0 && n > 0) part.data = data + (i * row_stride + j * col_stride);
        part.rows = m;
        part.cols = n;
        return part;
    }

    // A view of T is a view of T const. Constrained, because nvcc warns about a conversion to one's own
    // type (#554-D).
    template <class U>
    requires(std::same_as<U, T const> && !std::same_as<U, T>) operator view<U, Space>() const {
        return {data, rows, cols, row_stride, col_stride, scale, conjugate};
    }
};

// `count` views of one shape, `stride` elements apart; stride 0 repeats one operand.
template <class T, class Space = host_memory>
struct batch {
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using space = Space;

    view<T, Space> first;
    index count = 0;
    index stride = 0;
};

template <class T>
struct is_view : std::false_type {};
template <class T, class Space>
struct is_view<view<T, Space>> : std::true_type {};
template <class T>
struct is_batch : std::false_type {};
template <class T, class Space>
struct is_batch<batch<T, Space>> : std::true_type {};

// std::mdspan, Kokkos' and cuda::std's, recognised by their members.
template <class M>
concept mdspan_like = requires(M const& x) {
    typename M::element_type;
    x.data_handle();
    x.extent(0);
    x.mapping().stride(0);
    x.accessor();
    requires M::rank()
    == 2;
};

// Owning matrices, ours or a user's, offer view().
template <class M>
concept has_view = requires(M& x) {
    requires is_view<decltype(x.view())>::value;
};

// std::linalg's scaled and conjugated accessors, again by their members.
template <class A>
concept scaling_accessor = requires(A const& a) {
    a.scaling_factor();
    a.nested_accessor();
};
template <class A>
concept nesting_accessor = requires(A const& a) {
    a.nested_accessor();
};

template <class V, class Accessor>
void apply_accessor(V& v, Accessor const& accessor) {
    // The innermost is applied first: scaled(f, conjugated(x)) is f conj(x).
    if constexpr (nesting_accessor<Accessor>) apply_accessor(v, accessor.nested_accessor());
    if constexpr (scaling_accessor<Accessor>) {
        v.scale = v.scale * static_cast<decltype(v.scale)>(accessor.scaling_factor());
    } else if constexpr (nesting_accessor<Accessor>) { // std::linalg::conjugated_accessor is the other one
        v.conjugate = !v.conjugate;
        v.scale = stratagemm::conjugate(v.scale);
    }
}

template <class M>
auto as_view(M&& x) {
    using X = std::remove_cvref_t<M>;
    if constexpr (is_view<X>::value || is_batch<X>::value) {
        return x;
    } else if constexpr (has_view<std::remove_reference_t<M>>) {
        return x.view();
    } else {
        using T = std::remove_pointer_t<std::remove_cvref_t<decltype(x.data_handle())>>;
        view<T> v{x.data_handle(), static_cast<index>(x.extent(0)), static_cast<index>(x.extent(1)),
                  static_cast<index>(x.mapping().stride(0)), static_cast<index>(x.mapping().stride(1))};
        apply_accessor(v, x.accessor());
        return v;
    }
}

template <class M>
concept operand = is_view<std::remove_cvref_t<M>>::value || is_batch<std::remove_cvref_t<M>>::value ||
    has_view<std::remove_reference_t<M>> || mdspan_like<std::remove_cvref_t<M>>;

// Borrowed matrices.
template <class T>
view<T> strided(T* data, index rows, index cols, index row_stride, index col_stride) {
    return {data, rows, cols, row_stride, col_stride};
}
template <class T>
view<T> row_major(T* data, index rows, index cols, index leading) {
    return {data, rows, cols, leading, 1};
}
template <class T>
view<T> row_major(T* data, index rows, index cols) {
    return {data, rows, cols, cols, 1};
}
template <class T>
view<T> col_major(T* data, index rows, index cols, index leading) {
    return {data, rows, cols, 1, leading};
}
template <class T>
view<T> col_major(T* data, index rows, index cols) {
    return {data, rows, cols, 1, rows};
}

// Views of views.
template <operand M>
auto transposed(M&& x) {
    auto v = as_view(x);
    auto turn = [](auto& w) {
        index const rows = w.rows, row_stride = w.row_stride;
        w.rows = w.cols, w.cols = rows;
        w.row_stride = w.col_stride, w.col_stride = row_stride;
    };
    if constexpr (is_batch<decltype(v)>::value)
        turn(v.first);
    else
        turn(v);
    return v;
}

template <operand M>
auto scaled(accumulator_t<typename std::remove_cvref_t<M>::value_type> factor, M&& x) {
    auto v = as_view(x);
    if constexpr (is_batch<decltype(v)>::value)
        v.first.scale = v.first.scale * factor;
    else
        v.scale = v.scale * factor;
    return v;
}

template <operand M>
auto conjugated(M&& x) {
    auto v = as_view(x);
    auto flip = [](auto& w) {
        w.conjugate = !w.conjugate;
        w.scale = conjugate(w.scale);
    };
    if constexpr (is_batch<decltype(v)>::value)
        flip(v.first);
    else
        flip(v);
    return v;
}

template <operand M>
auto batched(M&& first, index count, index stride) {
    auto v = as_view(first);
    return batch<typename decltype(v)::element_type, typename decltype(v)::space>{v, count, stride};
}

STRATAGEMM_END
