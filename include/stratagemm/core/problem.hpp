// A product to be done: C = epilogue(alpha A B + beta E), once or for a strided batch.
//
// product(...) builds it from what a user writes; validate() checks everything that can be checked before the
// first element is touched.
#pragma once

#include "epilogue.hpp"
#include "error.hpp"
#include "view.hpp"

STRATAGEMM_BEGIN

// The sizes and types of a product. `adds`: beta is not zero, so that E is read.
template <class TA, class TB = TA, class TC = accumulator_t<TA>>
struct shape {
    using a_type = TA;
    using b_type = TB;
    using c_type = TC;

    index m = 0, n = 0, k = 0;
    index count = 1;
    bool adds = false;
};

template <class TA, class TB, class TC, class Space = host_memory, class Epilogue = identity>
struct problem {
    using a_type = TA;
    using b_type = TB;
    using c_type = TC;
    using space = Space;
    using epilogue_type = Epilogue;
    using scalar = accumulator_t<TA>;

    scalar alpha{1};
    view<TA const, Space> a;
    view<TB const, Space> b;
    scalar beta{0};
    view<TC const, Space> e; // the added matrix; C itself unless another was given; not read if beta is 0
    view<TC, Space> c;
    Epilogue epilogue{};

    // Batch strides in elements.
    index count = 1;
    index a_step = 0, b_step = 0, e_step = 0, c_step = 0;

    // Where c lies in the user's C: a layer that hands down a block says so, and epilogues see true indices.
    index row0 = 0, col0 = 0;

    auto shape() const {
        return stratagemm::shape<TA, TB, TC>{c.rows, c.cols, a.cols, count, beta != scalar(0)};
    }

    // The same product with nothing done to its result: for the parts of a sum.
    auto without_epilogue() const {
        return problem<TA, TB, TC, Space>{alpha, a,      b,      beta,   e,      c,    {},
                                          count, a_step, b_step, e_step, c_step, row0, col0};
    }

    // What rows [i, i + m_), columns [j, j + n_) of C get from terms [l, l + k_) of their sums. Not of a batch.
    problem part(index i, index j, index l, index m_, index n_, index k_) const {
        problem one = *this;
        one.a = a.block(i, l, m_, k_);
        one.b = b.block(l, j, k_, n_);
        one.c = c.block(i, j, m_, n_);
        one.e = one.c;
        if (beta != scalar(0)) one.e = e.block(i, j, m_, n_); // else it may be null
        one.row0 += i;
        one.col0 += j;
        return one;
    }

    // The i-th product of the batch.
    problem at(index i) const {
        problem one = *this;
        one.count = 1;
        one.a.data = a.data + i * a_step;
        one.b.data = b.data + i * b_step;
        one.e.data = e.data + i * e_step;
        one.c.data = c.data + i * c_step;
        return one;
    }
};

// ---- building one ----------------------------------------------------------------------------------------

template <class M>
using value_of = typename decltype(as_view(std::declval<M>()))::value_type;
template <class M>
using scalar_of = accumulator_t<value_of<M>>;

template <class V>
auto first_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return v.first;
    else
        return v;
}
template <class V>
index count_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return v.count;
    else
        return 1;
}
template <class V>
index step_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return v.stride;
    else
        return 0;
}

template <class S, class A, class B, class E, class C, class Epilogue>
auto make_product(S alpha, A const& a, B const& b, S beta, E const& e, C const& c, Epilogue epilogue) {
    using c_element = typename C::element_type;
    using TA = typename A::value_type;
    using TB = typename B::value_type;
    using TC = typename C::value_type;
    using problem_type = problem<TA, TB, TC, typename C::space, Epilogue>;
    if constexpr (std::is_const_v<c_element>) {
        static_assert(!std::is_const_v<c_element>, "stratagemm: C must be writable, and this one is const");
    } else if constexpr (!std::is_same_v<typename A::space, typename C::space> ||
                         !std::is_same_v<typename B::space, typename C::space>) {
        static_assert(std::is_same_v<typename A::space, typename C::space> &&
                          std::is_same_v<typename B::space, typename C::space>,
                      "stratagemm: A, B and C must be in one memory space");
    } else if constexpr (!std::is_same_v<typename E::value_type, TC>) {
        static_assert(std::is_same_v<typename E::value_type, TC>,
                      "stratagemm: the added matrix must have the element type of C");
    } else if constexpr (!epilogue_for<Epilogue, accumulator_t<TA>>) {
        static_assert(
            epilogue_for<Epilogue, accumulator_t<TA>>,
            "stratagemm: an epilogue is called as f(x) or f(x, i, j) with x in the accumulator's type");
    } else {
        problem_type p;
        p.a = first_of(a), p.b = first_of(b), p.e = first_of(e), p.c = first_of(c);
        p.alpha = static_cast<S>(alpha * p.a.scale * static_cast<S>(p.b.scale));
        p.beta = static_cast<S>(beta * static_cast<S>(p.e.scale));
        p.a.scale = decltype(p.a.scale)(1), p.b.scale = decltype(p.b.scale)(1);
        p.e.scale = decltype(p.e.scale)(1);
        p.epilogue = epilogue;
        p.count = count_of(c);
        p.a_step = step_of(a), p.b_step = step_of(b), p.e_step = step_of(e), p.c_step = step_of(c);
        if (p.beta == S(0) && p.e.rows == p.c.rows && p.e.cols == p.c.cols) // not read, so it may be anything
            p.e = p.c, p.e_step = p.c_step;
        // One matrix beside a batch is repeated; two batches must agree, which validate() checks.
        bool const agree = (!is_batch<A>::value || count_of(a) == p.count) &&
                           (!is_batch<B>::value || count_of(b) == p.count) &&
                           (!is_batch<E>::value || count_of(e) == p.count);
        if (!agree) p.count = -1;
        return p;
    }
}

// C = A B
template <operand A, operand B, operand C, class Epilogue = identity>
requires(!operand<Epilogue>) auto product(A&& a, B&& b, C&& c, Epilogue epilogue = {}) {
    using S = scalar_of<A>;
    return make_product(S(1), as_view(a), as_view(b), S(0), as_view(c), as_view(c), epilogue);
}
// C = A B + E
template <operand A, operand B, operand E, operand C, class Epilogue = identity>
requires(!operand<Epilogue>) auto product(A&& a, B&& b, E&& e, C&& c, Epilogue epilogue = {}) {
    using S = scalar_of<A>;
    return make_product(S(1), as_view(a), as_view(b), S(1), as_view(e), as_view(c), epilogue);
}
// A scalar is whatever converts to the accumulator of A: 2, 0.5 and 2.0f all serve for float.
template <class S, class A>
concept scalar_for = std::convertible_to<S, scalar_of<A>>;

// C = alpha A B + beta C
template <class S, class T, operand A, operand B, operand C, class Epilogue = identity>
requires(scalar_for<S, A>&& scalar_for<T, A> &&
         !operand<Epilogue>) auto product(S alpha, A&& a, B&& b, T beta, C&& c, Epilogue epilogue = {}) {
    using X = scalar_of<A>;
    return make_product(static_cast<X>(alpha), as_view(a), as_view(b), static_cast<X>(beta), as_view(c),
                        as_view(c), epilogue);
}
// C = alpha A B + beta E
template <class S, class T, operand A, operand B, operand E, operand C, class Epilogue = identity>
requires(scalar_for<S, A>&& scalar_for<T, A> && !operand<Epilogue>) auto product(S alpha, A&& a, B&& b,
                                                                                 T beta, E&& e, C&& c,
                                                                                 Epilogue epilogue = {}) {
    using X = scalar_of<A>;
    return make_product(static_cast<X>(alpha), as_view(a), as_view(b), static_cast<X>(beta), as_view(e),
                        as_view(c), epilogue);
}

// ---- checking one ----------------------------------------------------------------------------------------

// Where the elements of a (batch of) matrices lie: byte offsets [low, high) from the handle.
struct extent {
    index low = 0, high = 0;
    bool fits = true; // the byte offsets are representable
};
[[gnu::noinline]] inline extent checked_extent(index rows, index cols, index row_stride, index col_stride,
                                               index count, index step, index element_size) {
    extent x;
    if (rows == 0 || cols == 0 || count == 0) return x;
    index const sizes[] = {rows, cols, count}, strides[] = {row_stride, col_stride, step};
    for (int d = 0; d < 3; ++d) {
        index reach = 0;
        x.fits &= !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach);
        x.fits &= !__builtin_mul_overflow(reach, element_size, &reach);
        x.fits &= !__builtin_add_overflow(reach < 0 ? x.low : x.high, reach, reach < 0 ? &x.low : &x.high);
        if (!x.fits) return x;
    }
    x.fits &= !__builtin_add_overflow(x.high, element_size, &x.high);
    return x;
}

inline extent extent_of(index rows, index cols, index row_stride, index col_stride, index count, index step,
                        index element_size) {
    // None is negative and none so large that anything could overflow: most calls, and the small ones need haste.
    bool const modest = ((rows | cols | count | row_stride | col_stride | step) >> 20) == 0;
    if (!modest || rows == 0 || cols == 0 || count == 0)
        return checked_extent(rows, cols, row_stride, col_stride, count, step, element_size);
    index const last = (rows - 1) * row_stride + (cols - 1) * col_stride + (count - 1) * step;
    return {0, (last + 1) * element_size, true};
}

inline index magnitude(index x) { return x < 0 ? -x : x; }

// Whether i rs + j cs is the same for two different (i, j): rs/g and cs/g, with g their greatest common
// divisor, is the smallest step between such a pair.
[[gnu::noinline]] inline bool elements_collide(index rows, index cols, index row_stride, index col_stride) {
    if (col_stride == 1 && row_stride >= cols) return false;
    if (row_stride == 1 && col_stride >= rows) return false;
    index g = magnitude(row_stride), r = magnitude(col_stride);
    while (r != 0) {
        index const t = g % r;
        g = r, r = t;
    }
    if (g == 0) return rows > 1 || cols > 1; // both strides zero
    return magnitude(col_stride) / g < rows && magnitude(row_stride) / g < cols;
}

// Whether three dimensions nest: each stride reaches past all that the smaller ones span, so that no two
// elements share an address.
[[gnu::noinline]] inline bool nested(index rows, index row_stride, index cols, index col_stride, index count,
                                     index step) {
    if (col_stride == 1 && row_stride >= cols && step > (rows - 1) * row_stride + cols - 1) return true;
    index size[] = {rows, cols, count},
          stride[] = {magnitude(row_stride), magnitude(col_stride), magnitude(step)};
    for (int pass = 0; pass < 2; ++pass)
        for (int d = 0; d < 2; ++d)
            if (stride[d] > stride[d + 1]) {
                std::swap(stride[d], stride[d + 1]);
                std::swap(size[d], size[d + 1]);
            }
    index span = 0;
    for (int d = 0; d < 3; ++d) {
        if (size[d] > 1 && stride[d] <= span) return false;
        span += (size[d] - 1) * stride[d];
    }
    return true;
}

// Whether two views share an element. Exact when their bytes are apart or when both lie on one lattice (the
// same two strides, one of them at least the other's reach); otherwise overlapping bytes count as shared.
template <class V, class W>
bool views_overlap(V const& v, extent const& ev, W const& w, extent const& ew) {
    using space = typename V::space;
    if (ev.low == ev.high || ew.low == ew.high || space::buffer(v.data) != space::buffer(w.data))
        return false;
    index const pv = space::address(v.data), pw = space::address(w.data);
    if (pv + ev.high <= pw + ew.low || pw + ew.high <= pv + ev.low) return false;
    constexpr auto size = static_cast<index>(sizeof(typename V::value_type));
    if (sizeof(typename V::value_type) != sizeof(typename W::value_type)) return true;
    bool const straight = v.row_stride == w.row_stride && v.col_stride == w.col_stride;
    bool const rows_outer = magnitude(v.row_stride) >= magnitude(v.col_stride);
    index const inner = rows_outer ? v.col_stride : v.row_stride;
    index const outer = rows_outer ? v.row_stride : v.col_stride;
    index const distance = (pw - pv) / size;
    if (!straight || (pw - pv) % size != 0 || inner <= 0 || outer <= 0 || distance % inner != 0) return true;
    index const v_in = rows_outer ? v.cols : v.rows, w_in = rows_outer ? w.cols : w.rows;
    index const v_out = rows_outer ? v.rows : v.cols, w_out = rows_outer ? w.rows : w.cols;
    if ((v_in - 1) * inner >= outer || (w_in - 1) * inner >= outer) return true; // lines interleave
    // w starts at (d_out, d_in) of v's lattice, for one of two neighbouring d_out.
    index const base = distance >= 0 ? distance / outer : -((-distance + outer - 1) / outer);
    for (index d_out = base; d_out <= base + 1; ++d_out) {
        index const d_in = (distance - d_out * outer) / inner;
        if ((distance - d_out * outer) % inner != 0) continue;
        if (d_out < v_out && -d_out < w_out && d_in < v_in && -d_in < w_in) return true;
    }
    return false;
}

[[gnu::cold, gnu::noinline]] inline status shape_failure(index a_rows, index a_cols, index b_rows,
                                                         index b_cols, index c_rows, index c_cols) {
    char text[256];
    __builtin_snprintf(
        text, sizeof(text),
        "A is %td x %td, B is %td x %td and C is %td x %td; C = A B needs m x k, k x n and m x n (is "
        "a transposed() missing?)",
        a_rows, a_cols, b_rows, b_cols, c_rows, c_cols);
    return failure(errc::shape, "gemm", text);
}

// Where the operands of a product lie; of E only if it is read.
struct extents {
    extent a, b, e, c;
};
template <class Problem>
extents extents_of(Problem const& p) {
    auto const measure = [&](auto const& v, index step) {
        using T = typename std::remove_cvref_t<decltype(v)>::value_type;
        return extent_of(v.rows, v.cols, v.row_stride, v.col_stride, p.count, step,
                         static_cast<index>(sizeof(T)));
    };
    return {measure(p.a, p.a_step), measure(p.b, p.b_step),
            p.beta != typename Problem::scalar(0) ? measure(p.e, p.e_step) : extent{},
            measure(p.c, p.c_step)};
}

// `x` is extents_of(p).
template <class Problem>
status validate(Problem const& p, extents const& x) {
    auto fail = [](errc code, char const* text) { return failure(code, "gemm", text); };
    if (p.count < 0)
        return fail(errc::shape, "the batches of A, B and C must have the same, non-negative count");
    index const m = p.c.rows, n = p.c.cols, k = p.a.cols;
    if (m < 0 || n < 0 || k < 0 || p.b.rows < 0) return fail(errc::shape, "sizes must not be negative");
    if (p.a.rows != m || p.b.cols != n || p.b.rows != k)
        return shape_failure(p.a.rows, k, p.b.rows, p.b.cols, m, n);
    if (p.e.rows != m || p.e.cols != n) return fail(errc::shape, "the added matrix must have the shape of C");
    if (p.c.conjugate || p.c.scale != decltype(p.c.scale)(1))
        return fail(errc::argument, "C cannot be scaled or conjugated; use alpha, beta or an epilogue");

    bool const reads_e = p.beta != typename Problem::scalar(0);
    bool const reads_ab = p.alpha != typename Problem::scalar(0);
    auto const& [a, b, e, c] = x;
    if (!a.fits || !b.fits || !c.fits || !e.fits)
        return fail(errc::overflow, "the sizes and strides of an operand address more bytes than there are");
    if (c.low == c.high) return {}; // nothing to write, so nothing else matters

    using space = typename Problem::space;
    auto missing = [](auto const& v, extent const& x) {
        return x.low != x.high && space::buffer(v.data) == nullptr && space::address(v.data) == 0;
    };
    if ((reads_ab && (missing(p.a, a) || missing(p.b, b))) || missing(p.c, c) || missing(p.e, e))
        return fail(errc::null_data, "an operand with elements has a null pointer");

    // Spaces whose handles know their buffer can tell how much of it there is.
    if constexpr (requires { space::capacity(p.c.data); }) {
        auto outside = [](auto const& v, extent const& x) {
            index const at = space::address(v.data);
            return x.low != x.high && (at + x.low < 0 || at + x.high > space::capacity(v.data));
        };
        if ((reads_ab && (outside(p.a, a) || outside(p.b, b))) || outside(p.c, c) || outside(p.e, e))
            return fail(errc::shape,
                        "an operand reaches beyond its buffer; check its offset, sides and strides");
    }

    if (elements_collide(m, n, p.c.row_stride, p.c.col_stride))
        return fail(
            errc::strides,
            "two elements of C share an address; its leading dimension must be at least its row length");
    if (p.count > 1 && !nested(m, p.c.row_stride, n, p.c.col_stride, p.count, p.c_step))
        return fail(errc::strides,
                    "the matrices of the batch C overlap; its stride must be at least one matrix");

    auto shares = [](auto const& v, extent const& ev, auto const& w, extent const& ew, index count) {
        if (count == 1) return views_overlap(v, ev, w, ew);
        index const pv = space::address(v.data), pw = space::address(w.data);
        return ev.low != ev.high && ew.low != ew.high && space::buffer(v.data) == space::buffer(w.data) &&
               pv + ev.high > pw + ew.low && pw + ew.high > pv + ev.low;
    };
    if (reads_ab && (shares(p.c, c, p.a, a, p.count) || shares(p.c, c, p.b, b, p.count)))
        return fail(errc::alias, "C overlaps A or B; multiply into another matrix and copy");
    bool const in_place = space::buffer(p.e.data) == space::buffer(p.c.data) &&
                          space::address(p.e.data) == space::address(p.c.data) &&
                          p.e.row_stride == p.c.row_stride && p.e.col_stride == p.c.col_stride &&
                          p.e_step == p.c_step;
    if (reads_e && !in_place && shares(p.c, c, p.e, e, p.count))
        return fail(errc::alias, "C may be the added matrix or be apart from it, but not overlap it in part");
    if (!epilogue_fits(p.epilogue, m, n))
        return fail(errc::shape, "a vector of the epilogue is shorter than the side of C that it runs along");
    return {};
}
template <class Problem>
status validate(Problem const& p) {
    return validate(p, extents_of(p));
}

STRATAGEMM_END
