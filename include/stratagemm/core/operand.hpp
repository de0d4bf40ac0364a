// Operands and results of a product: views of matrices, batches of them, sums of views, and results that go to
// several places.
//
// A view describes a matrix somewhere in memory by a handle and two signed strides. Transposing, taking a sub-matrix,
// scaling and conjugating change the description and move no data. A memory space says what a handle is: T* on the
// host, something pointer-like elsewhere.
//
// Any operand of a problem has
//   rows, cols          its sides
//   value_type, space   of its elements, and where they are
//   form                what a shape keeps of it when its memory is gone: the element type of a view
//   each_view(f)        f(v) for each view of memory that it reads or writes, of which there are at most
//   most_views
// and, if it can be divided or turned, as views, sums and spreads can,
//   part(i, j, m, n)    a block, unchecked: for algorithms
//   moved(n)            the same operand n elements further on, in a batch
//   transposed()
// If C may be the same view as the other operand, because a product reads that before it writes, it also has
//   in_place            true
// and if C may share memory with the other operand though one is real and the other complex,
//   shares(v, c, ...)   whether they may, as check() in problem.hpp asks
// One without memory whose products can be checked has probe() and peak() (algorithm/verified/probe.hpp).
#pragma once

#include "error.hpp"
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
    // For memory that was not const when it was made.
    template <class T>
    static T* writable(T const* p) {
        return const_cast<T*>(p);
    }
    template <class Footprint>
    static auto& share(Footprint& f) {
        return f.host;
    }
};

// The space of an operand whose elements are computed and lie in no memory: it may be A or B beside any other operand.
struct no_memory {};

// Refuses a block that is not within a matrix.
[[gnu::cold, gnu::noinline]] inline void refuse_block(index_t rows, index_t cols, index_t i, index_t j,
                                                      index_t m, index_t n) {
    char text[200];
    __builtin_snprintf(
        text, sizeof(text),
        "block(%td, %td, %td, %td) is not within a matrix of %td x %td; its arguments are the row and "
        "the column of its first element, and its sides",
        i, j, m, n, rows, cols);
    raise(error(errc::shape, "block", text));
}
inline void check_block(index_t rows, index_t cols, index_t i, index_t j, index_t m, index_t n) {
    if (i < 0 || j < 0 || m < 0 || n < 0 || i > rows || j > cols || m > rows - i || n > cols - j)
        refuse_block(rows, cols, i, j, m, n);
}

// A stride along a side of 0 or 1 is never used and may be any number. One that arithmetic could overflow with becomes 1
// where a product is stated, so that neither checks nor kernels meet it.
constexpr index_t used_stride(index_t side, index_t stride) {
    constexpr index_t most = index_t{1} << 25;
    return side <= 1 && (stride > most || stride < -most) ? 1 : stride;
}

template <class T, class Space = host_memory>
struct view {
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using space = Space;
    using form = value_type;
    static constexpr int most_views = 1;
    using handle = typename Space::template handle<T>;

    handle data{};
    index_t rows = 0;
    index_t cols = 0;
    index_t row_stride = 0;
    index_t col_stride = 1;
    accumulator_t<T> scale{1};
    bool conjugate = false;

    // The stored element: scale and conjugation are left to whoever computes.
    T& operator()(index_t i, index_t j) const requires std::same_as<Space, host_memory> {
        return data[i * row_stride + j * col_stride];
    }

    // The m x n block whose upper left corner is (i, j); it has to be within the matrix.
    view block(index_t i, index_t j, index_t m, index_t n) const {
        check_block(rows, cols, i, j, m, n);
        return part(i, j, m, n);
    }
    // The same, unchecked. An empty block keeps the handle: no address is formed outside the matrix.
    constexpr view part(index_t i, index_t j, index_t m, index_t n) const {
        view one = *this;
        if (m > 0 && n > 0) one.data = data + (i * row_stride + j * col_stride);
        one.rows = m;
        one.cols = n;
        return one;
    }
    view moved(index_t n) const {
        view one = *this;
        one.data = data + n;
        return one;
    }
    view transposed() const { return {data, cols, rows, col_stride, row_stride, scale, conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        f(*this);
    }

    // A view of T is a view of T const. Constrained, because nvcc warns about a conversion to one's own
    // type (#554-D).
    template <class U>
    requires(std::same_as<U, T const> && !std::same_as<U, T>) operator view<U, Space>() const {
        return {data, rows, cols, row_stride, col_stride, scale, conjugate};
    }
};

template <class T>
struct is_view : std::false_type {};
template <class T, class Space>
struct is_view<view<T, Space>> : std::true_type {};

// The same matrix, whose strides are safe to compute with.
template <class V>
V as_stated(V v) {
    v.row_stride = used_stride(v.rows, v.row_stride), v.col_stride = used_stride(v.cols, v.col_stride);
    return v;
}

// A sum of up to N views of one shape; the factor of each is its scale. A policy that takes sums forms them while it
// reads them.
template <class View, int N>
struct sum_of {
    using value_type = typename View::value_type;
    using space = typename View::space;
    struct form {
        using value_type = typename View::value_type;
        static constexpr int most_terms = N;
    };
    static constexpr int most_views = N;

    index_t rows = 0, cols = 0;
    View term[N]{};
    int terms = 0;

    sum_of() = default;
    template <class... Views>
    requires(sizeof...(Views) >= 1 && sizeof...(Views) <= N && (std::convertible_to<Views, View> && ...))
        sum_of(Views const&... views)
        : term{as_stated(View(views))...}, terms(sizeof...(Views)) {
        rows = term[0].rows, cols = term[0].cols;
    }

    sum_of part(index_t i, index_t j, index_t m, index_t n) const {
        return changed([&](View const& v) { return v.part(i, j, m, n); });
    }
    sum_of moved(index_t n) const {
        return changed([&](View const& v) { return v.moved(n); });
    }
    sum_of transposed() const {
        return changed([](View const& v) { return v.transposed(); });
    }
    template <class F>
    void each_view(F&& f) const {
        for (int t = 0; t < terms; ++t) f(term[t]);
    }

private:
    template <class F>
    sum_of changed(F const& f) const {
        sum_of one = *this;
        for (int t = 0; t < terms; ++t) one.term[t] = f(term[t]);
        one.rows = one.term[0].rows, one.cols = one.term[0].cols;
        return one;
    }
};

// A result that goes to up to N places of one shape: target t becomes factor_t (alpha A B) + keep_t from_t. Each has
// its own `keep` and `from` instead of the product's beta and E; `from` is not read if `keep` is 0, and is the target
// itself or apart from all targets. No two targets overlap.
template <class View, int N>
struct spread {
    using value_type = typename View::value_type;
    using space = typename View::space;
    using scalar = accumulator_t<value_type>;
    struct form {
        using value_type = typename View::value_type;
        static constexpr int most_targets = N;
    };
    static constexpr int most_views = N;
    struct target {
        View to;
        scalar factor{1}, keep{0};
        view<value_type const, space> from{};
    };

    index_t rows = 0, cols = 0;
    target at[N]{};
    int targets = 0;

    // Adds a target, which receives factor (alpha A B), or that and keep from.
    void add(View const& to, scalar factor) { add(to, factor, scalar(0), to); }
    void add(View const& to, scalar factor, scalar keep, view<value_type const, space> from) {
        if (targets == N)
            raise(error(errc::argument, "spread: it has as many targets as its type has room for"));
        if (targets == 0) rows = to.rows, cols = to.cols;
        keep = scaled_by(keep, from.scale), from.scale = scalar(1);
        at[targets++] = {as_stated(to), factor, keep, as_stated(from)};
    }

    spread part(index_t i, index_t j, index_t m, index_t n) const {
        return changed(
            m, n, [&](View const& v) { return v.part(i, j, m, n); },
            [&](auto const& v) { return v.part(i, j, m, n); });
    }
    spread moved(index_t n) const {
        return changed(
            rows, cols, [&](View const& v) { return v.moved(n); }, [&](auto const& v) { return v.moved(n); });
    }
    spread transposed() const {
        return changed(
            cols, rows, [](View const& v) { return v.transposed(); },
            [](auto const& v) { return v.transposed(); });
    }
    template <class F>
    void each_view(F&& f) const {
        for (int t = 0; t < targets; ++t) f(at[t].to);
    }

private:
    template <class To, class From>
    spread changed(index_t m, index_t n, To const& to, From const& from) const {
        spread one = *this;
        one.rows = m, one.cols = n;
        for (int t = 0; t < targets; ++t) {
            one.at[t].to = to(at[t].to);
            if (at[t].keep != scalar(0)) one.at[t].from = from(at[t].from);
        }
        return one;
    }
};

// How many terms an operand of a form may have beside the first.
template <class Form>
inline constexpr index_t further_terms = 0;
template <class Form>
requires requires { Form::most_terms; }
inline constexpr index_t further_terms<Form> = Form::most_terms - 1;

// Views, and what is made of several.
template <class T>
inline constexpr bool is_combination = is_view<T>::value;
template <class View, int N>
inline constexpr bool is_combination<sum_of<View, N>> = true;
template <class View, int N>
inline constexpr bool is_combination<spread<View, N>> = true;

// The element type of a form: itself, or what it names.
template <class Form>
struct element_of {
    using type = Form;
};
template <class Form>
requires requires {
    typename Form::value_type;
    requires !complex_like<Form>;
}
struct element_of<Form> {
    using type = typename Form::value_type;
};

// `count` views of one shape, `stride` elements apart; stride 0 repeats one operand.
template <class T, class Space = host_memory>
struct batch {
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using space = Space;

    view<T, Space> first;
    index_t count = 0;
    index_t stride = 0;
};

template <class T>
struct is_batch : std::false_type {};
template <class T, class Space>
struct is_batch<batch<T, Space>> : std::true_type {};

// What says itself how it is multiplied, or is a combination of views: problems hold it as it is.
struct any_view { // nvcc takes no lambda in a requires-expression
    void operator()(auto const&) const {}
};
template <class M>
concept ready_operand = requires(M const& x) {
    typename M::form;
    typename M::space;
    typename M::value_type;
    { x.rows } -> std::convertible_to<index_t>;
    { x.cols } -> std::convertible_to<index_t>;
    { M::most_views } -> std::convertible_to<int>;
    x.each_view(any_view{});
};

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
    requires ready_operand<std::remove_cvref_t<decltype(x.view())>>;
};

// Matrices, maps and blocks of Eigen, recognised by their members; expressions without memory have no data().
template <class M>
concept eigen_like = requires(M& x) {
    requires std::is_pointer_v<decltype(x.data())>;
    { x.rows() } -> std::convertible_to<index_t>;
    { x.cols() } -> std::convertible_to<index_t>;
    { x.innerStride() } -> std::convertible_to<index_t>;
    { x.outerStride() } -> std::convertible_to<index_t>;
    static_cast<bool>(std::remove_cv_t<M>::IsRowMajor);
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
        v.scale = scaled_by(v.scale, static_cast<decltype(v.scale)>(accessor.scaling_factor()));
    } else if constexpr (nesting_accessor<Accessor>) { // std::linalg::conjugated_accessor is the other one
        v.conjugate = !v.conjugate;
        v.scale = stratagemm::conjugate(v.scale);
    }
}

template <class M>
concept operand = ready_operand<std::remove_cvref_t<M>> || is_batch<std::remove_cvref_t<M>>::value ||
    has_view<std::remove_reference_t<M>> || mdspan_like<std::remove_cvref_t<M>> ||
    eigen_like<std::remove_reference_t<M>>;

template <operand M>
auto as_view(M&& x) {
    using X = std::remove_cvref_t<M>;
    if constexpr (ready_operand<X> || is_batch<X>::value) {
        return x;
    } else if constexpr (has_view<std::remove_reference_t<M>>) {
        return x.view();
    } else if constexpr (eigen_like<std::remove_reference_t<M>>) {
        using T = std::remove_pointer_t<decltype(x.data())>;
        index_t const inner = x.innerStride(), outer = x.outerStride();
        constexpr bool by_rows = static_cast<bool>(X::IsRowMajor);
        return view<T>{x.data(), static_cast<index_t>(x.rows()), static_cast<index_t>(x.cols()),
                       by_rows ? outer : inner, by_rows ? inner : outer};
    } else {
        using T = std::remove_pointer_t<std::remove_cvref_t<decltype(x.data_handle())>>;
        view<T> v{x.data_handle(), static_cast<index_t>(x.extent(0)), static_cast<index_t>(x.extent(1)),
                  static_cast<index_t>(x.mapping().stride(0)), static_cast<index_t>(x.mapping().stride(1))};
        apply_accessor(v, x.accessor());
        return v;
    }
}

// Borrowed matrices.
template <class T>
view<T> strided(T* data, index_t rows, index_t cols, index_t row_stride, index_t col_stride) {
    return {data, rows, cols, row_stride, col_stride};
}
template <class T>
view<T> row_major(T* data, index_t rows, index_t cols, index_t leading) {
    return {data, rows, cols, leading, 1};
}
template <class T>
view<T> row_major(T* data, index_t rows, index_t cols) {
    return {data, rows, cols, cols, 1};
}
template <class T>
view<T> col_major(T* data, index_t rows, index_t cols, index_t leading) {
    return {data, rows, cols, 1, leading};
}
template <class T>
view<T> col_major(T* data, index_t rows, index_t cols) {
    return {data, rows, cols, 1, rows};
}

// The same of a std::vector, std::array or std::span, which has to have as many elements.
template <class R>
concept host_range = requires(R& r) {
    requires std::is_pointer_v<decltype(r.data())>;
    requires std::is_object_v<std::remove_pointer_t<decltype(r.data())>>;
    { r.size() } -> std::convertible_to<std::size_t>;
};
// What may be a temporary: a span, which is constant without its elements being so. A vector would dangle.
template <class R>
concept lasting_range = host_range<std::remove_reference_t<R>> &&
    (std::is_lvalue_reference_v<R> ||
     (!std::is_const_v<R> &&
      std::is_same_v<decltype(std::declval<R&>().data()), decltype(std::declval<R const&>().data())>));

[[gnu::cold, gnu::noinline]] inline void refuse_range(char const* function, std::size_t size, index_t rows,
                                                      index_t cols, index_t leading) {
    char text[200];
    __builtin_snprintf(
        text, sizeof(text),
        "the range has %zu elements, too few for a matrix of %td x %td with leading dimension %td", size,
        rows, cols, leading);
    raise(error(errc::shape, function, text));
}
// `lines` rows or columns of `length`, `leading` elements apart.
inline void check_range(char const* function, std::size_t size, index_t rows, index_t cols, index_t leading,
                        bool by_rows) {
    index_t const lines = by_rows ? rows : cols, length = by_rows ? cols : rows;
    index_t last = 0;
    if (lines == 0 || length == 0) return;
    if (lines < 0 || length < 0 || leading < 0 || __builtin_mul_overflow(lines - 1, leading, &last) ||
        __builtin_add_overflow(last, length, &last) || static_cast<std::size_t>(last) > size)
        refuse_range(function, size, rows, cols, leading);
}
template <lasting_range R>
auto row_major(R&& r, index_t rows, index_t cols, index_t leading) {
    check_range("row_major", r.size(), rows, cols, leading, true);
    return row_major(r.data(), rows, cols, leading);
}
template <lasting_range R>
auto row_major(R&& r, index_t rows, index_t cols) {
    return row_major(r, rows, cols, cols);
}
template <lasting_range R>
auto col_major(R&& r, index_t rows, index_t cols, index_t leading) {
    check_range("col_major", r.size(), rows, cols, leading, false);
    return col_major(r.data(), rows, cols, leading);
}
template <lasting_range R>
auto col_major(R&& r, index_t rows, index_t cols) {
    return col_major(r, rows, cols, rows);
}

// Views of views.
template <operand M>
auto transposed(M&& x) {
    auto v = as_view(x);
    if constexpr (is_batch<decltype(v)>::value) {
        v.first = v.first.transposed();
        return v;
    } else {
        return v.transposed();
    }
}

template <operand M>
auto scaled(accumulator_t<typename std::remove_cvref_t<M>::value_type> factor, M&& x) {
    auto v = as_view(x);
    if constexpr (is_batch<decltype(v)>::value)
        v.first.scale = scaled_by(v.first.scale, factor);
    else
        v.scale = scaled_by(v.scale, factor);
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

// x + y + ..., each as scaled: sum(a, scaled(-1, b)).
template <operand First, operand... Rest>
auto sum(First&& first, Rest&&... rest) {
    using View =
        view<typename decltype(as_view(first))::value_type const, typename decltype(as_view(first))::space>;
    return sum_of<View, 1 + sizeof...(Rest)>(as_view(first), as_view(rest)...);
}

template <operand M>
auto batched(M&& first, index_t count, index_t stride) {
    auto v = as_view(first);
    return batch<typename decltype(v)::element_type, typename decltype(v)::space>{v, count, stride};
}

STRATAGEMM_END
