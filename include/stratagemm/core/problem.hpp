// A product to be done: C = epilogue(alpha A B + beta E), once or for a strided batch.
//
// product(...) builds it from what a user writes; validate() checks everything that can be checked before the
// first element is touched.
#pragma once

#include "epilogue.hpp"
#include "error.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

// What a shape keeps of a form beside its type: nothing, but for a form that has members.
template <class Form>
struct facts_of {
    struct type {};
};
template <class Form>
requires requires { requires Form::has_facts; }
struct facts_of<Form> {
    using type = Form;
};

// The sizes of a product and the forms of its operands: of views, their element types. `adds`: beta is not zero, so
// that E is read.
template <class FormA, class FormB = FormA, class FormC = accumulator_t<wider_t<FormA, FormB>>>
struct shape {
    using a_form = FormA;
    using b_form = FormB;
    using c_form = FormC;
    using a_type = typename element_of<FormA>::type;
    using b_type = typename element_of<FormB>::type;
    using c_type = typename element_of<FormC>::type;
    using wide_type = wider_t<a_type, b_type>;

    index_t m = 0, n = 0, k = 0;
    index_t count = 1;
    bool adds = false;
    typename facts_of<FormA>::type a_facts{};
    typename facts_of<FormB>::type b_facts{};

    // For estimates, and for describe(); nothing else reads them, and no product sets them: whether columns of A
    // or B are contiguous, as those of a transposed matrix are, and whether one thread does the product.
    bool a_across = false, b_across = false, alone = false;
    // For estimates, likewise: instructions_of() the epilogue, for each element of C.
    int after = 0;
};

// Whether A and B have one element type, in a shape or a problem.
template <class S>
inline constexpr bool has_one_type = std::is_same_v<typename S::a_type, typename S::b_type>;

// A, B: operands. C: a view, or another kind of result.
template <class A, class B, class C, class Epilogue = identity>
struct problem {
    using a_operand = A;
    using b_operand = B;
    using c_operand = C;
    using a_type = typename A::value_type;
    using b_type = typename B::value_type;
    using c_type = typename C::value_type;
    using space = typename C::space;
    using epilogue_type = Epilogue;
    using wide_type = wider_t<a_type, b_type>; // of both operands, once the other is widened
    using scalar = accumulator_t<wide_type>;

    scalar alpha{1};
    A a;
    B b;
    scalar beta{0};
    view<c_type const, space> e; // the added matrix; C itself unless another was given; not read if beta is 0
    C c;
    Epilogue epilogue{};

    // Batch strides in elements.
    index_t count = 1;
    index_t a_step = 0, b_step = 0, e_step = 0, c_step = 0;

    // Where c lies in the user's C: a layer that hands down a block says so, and epilogues see true indices.
    index_t row0 = 0, col0 = 0;

    auto shape() const {
        stratagemm::shape<typename A::form, typename B::form, typename C::form> s{c.rows, c.cols, a.cols,
                                                                                  count, beta != scalar(0)};
        if constexpr (requires { a.facts(); }) s.a_facts = a.facts();
        if constexpr (requires { b.facts(); }) s.b_facts = b.facts();
        return s;
    }

    // The same product with another epilogue; with nothing done to its result, for the parts of a sum.
    template <class Other>
    auto with_epilogue(Other const& other) const {
        return problem<A, B, C, Other>{alpha, a,      b,      beta,   e,      c,    other,
                                       count, a_step, b_step, e_step, c_step, row0, col0};
    }
    auto without_epilogue() const { return with_epilogue(identity{}); }

    // What rows [i, i + m_), columns [j, j + n_) of C get from terms [l, l + k_) of their sums. Not of a batch.
    problem part(index_t i, index_t j, index_t l, index_t m_, index_t n_, index_t k_) const {
        problem one = *this;
        one.a = a.part(i, l, m_, k_);
        one.b = b.part(l, j, k_, n_);
        one.c = c.part(i, j, m_, n_);
        if constexpr (is_view<C>::value) one.e = one.c;
        if (beta != scalar(0)) one.e = e.part(i, j, m_, n_); // else it may be null
        one.row0 += i;
        one.col0 += j;
        return one;
    }

    // C^T = B^T A^T, which is the same product. row0 and col0 stay those of the user's C: whoever calls the
    // epilogue swaps the indices back.
    auto transposed() const {
        return problem<decltype(b.transposed()), decltype(a.transposed()), decltype(c.transposed()),
                       Epilogue>{alpha,          b.transposed(), a.transposed(), beta,   e.transposed(),
                                 c.transposed(), epilogue,       count,          b_step, a_step,
                                 e_step,         c_step,         row0,           col0};
    }

    // The i-th product of the batch.
    problem at(index_t i) const {
        problem one = *this;
        one.count = 1;
        if (i == 0) return one;
        // Operands that do not move serve the whole batch.
        if constexpr (requires { a.moved(i); }) one.a = a.moved(i * a_step);
        if constexpr (requires { b.moved(i); }) one.b = b.moved(i * b_step);
        one.e = e.moved(i * e_step);
        one.c = c.moved(i * c_step);
        return one;
    }
};

// A product of matrices as they lie.
template <class TA, class TB, class TC, class Space = host_memory, class Epilogue = identity>
using dense_problem = problem<view<TA const, Space>, view<TB const, Space>, view<TC, Space>, Epilogue>;
template <class P>
inline constexpr bool is_dense = is_view<typename P::a_operand>::value&&
    is_view<typename P::b_operand>::value&& is_view<typename P::c_operand>::value;

// The element of a view on the host as a number of type S, conjugated if the view is. Its factor is in alpha
// or beta.
template <class S, class T>
S element_as(view<T> const& v, index_t i, index_t j) {
    auto const x = static_cast<S>(v(i, j));
    return v.conjugate ? conjugate(x) : x;
}
// C_ij = epilogue(alpha sum + beta E_ij), on the host.
template <class Problem>
void finish_element(Problem const& p, index_t i, index_t j, typename Problem::scalar sum) {
    using S = typename Problem::scalar;
    S x = scaled_by(p.alpha, sum);
    if (p.beta != S(0)) x = sum_of_two(x, scaled_by(p.beta, element_as<S>(p.e, i, j)));
    p.c(i, j) = static_cast<typename Problem::c_type>(apply_epilogue(p.epilogue, x, p.row0 + i, p.col0 + j));
}

// ---- building one ----------------------------------------------------------------------------------------

// What as_view() gives of a matrix. A class remembers it: compilers resolve the call anew for each alias.
template <class M>
struct viewed {};
template <operand M>
struct viewed<M> {
    using type = decltype(as_view(std::declval<M>()));
};
template <class M>
using view_of = typename viewed<M&>::type;
template <class M>
using value_of = typename view_of<M>::value_type;
template <class A, class B>
using scalar_of = accumulator_t<wider_t<value_of<A>, value_of<B>>>;

template <class V>
auto const& first_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return v.first;
    else
        return v;
}
template <class V>
index_t count_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return v.count;
    else
        return 1;
}
template <class V, class S = int>
index_t step_of(V const& v, S factor = 1) {
    if constexpr (is_batch<V>::value) {
        // What is not read may be null, and null is not to be moved.
        bool const is_read = factor != S(0) && v.first.rows != 0 && v.first.cols != 0;
        return is_read ? used_stride(v.count, v.stride) : 0;
    } else {
        return 0;
    }
}

// An operand of a problem: a view reads, whatever it was made from.
template <class T, class Space>
view<T const, Space> reading(view<T, Space> const& v) {
    return v;
}
template <class V>
V const& reading(V const& v) {
    return v;
}
template <class V>
using first_t = std::remove_cvref_t<decltype(first_of(std::declval<V const&>()))>;
template <class V>
using reading_t = std::remove_cvref_t<decltype(reading(std::declval<first_t<V> const&>()))>;

// Why a product that was built cannot be done; validate() says so.
inline constexpr index_t counts_differ = -1, factor_is_lost = -2, adds_another = -3;

// Whether a scalar type has room for a factor: 0.5 is no integer, and 1e300 no float.
template <class S, class Factor>
constexpr bool holds(Factor const& factor) {
    if constexpr (std::is_same_v<S, Factor>) {
        return true;
    } else if constexpr (complex_like<S>) {
        return holds<real_t<S>>(factor);
    } else {
        auto const x = static_cast<double>(factor);
        constexpr double most = largest_number<S>();
        bool const fits = x >= (std::is_integral_v<S> ? -most - 1 : -most) && x <= most;
        if constexpr (std::is_integral_v<S>)
            return fits && static_cast<double>(static_cast<S>(x)) == x;
        else
            return fits || !is_finite(x); // Inf and NaN stay what they are
    }
}

// A view with another factor, and with strides that are safe to compute with. Written member by member: compilers copy
// the whole of one through memory.
template <class V, class S>
V const& with_scale(V const& v, S) {
    return v;
}
template <class T, class Space, class S>
view<T, Space> with_scale(view<T, Space> const& v, S scale) {
    return {v.data,
            v.rows,
            v.cols,
            used_stride(v.rows, v.row_stride),
            used_stride(v.cols, v.col_stride),
            static_cast<accumulator_t<T>>(scale),
            v.conjugate};
}
template <class S, class V>
S scale_of(V const& v) {
    if constexpr (is_batch<V>::value)
        return scale_of<S>(v.first);
    else if constexpr (!is_view<V>::value)
        return S(1);
    else if constexpr (complex_like<decltype(v.scale)> && !complex_like<S>)
        return static_cast<S>(v.scale.real());
    else
        return static_cast<S>(v.scale);
}
// Whether that is the whole factor: a complex operand may stand beside a real scalar (computed in types.hpp).
template <class S, class V>
bool has_whole_scale(V const& v) {
    if constexpr (is_batch<V>::value)
        return has_whole_scale<S>(v.first);
    else if constexpr (requires { requires complex_like<decltype(v.scale)> && !complex_like<S>; })
        return v.scale.imag() == real_t<S>(0);
    else
        return true;
}
// What product() is where it cannot be one. E: the added matrix.
template <class A, class B, class E, class C, class Epilogue>
struct refused_product {
    using Space = typename C::space;
    template <class S>
    static constexpr bool is_there = std::is_same_v<S, Space> || std::is_same_v<S, no_memory>;
    static constexpr bool one_space = is_there<typename A::space> && is_there<typename B::space> &&
                                      std::is_same_v<typename E::space, Space>;
    static constexpr bool adds_own_type = std::is_same_v<typename E::value_type, typename C::value_type>;
    static constexpr bool is_epilogue =
        epilogue_for<Epilogue, accumulator_t<wider_t<typename A::value_type, typename B::value_type>>>;
    static constexpr bool writable = [] {
        if constexpr (requires { typename C::element_type; })
            return !std::is_const_v<typename C::element_type>;
        else
            return true;
    }();

    // Says at compile time, in one line, why.
    static constexpr bool say() {
        if constexpr (!writable)
            static_assert(writable, "stratagemm: C must be writable, and this one is const");
        else if constexpr (!one_space)
            static_assert(one_space, "stratagemm: A, B, C and the added matrix must be in one memory space");
        else if constexpr (!adds_own_type)
            static_assert(adds_own_type, "stratagemm: the added matrix must have the element type of C");
        else
            static_assert(
                is_epilogue,
                "stratagemm: the last argument is no epilogue: relu, bias(v), or a function object that is "
                "called as f(x) or f(x, i, j), with x in the type in which A B is summed");
        return false;
    }
};
template <class A, class B, class E, class C, class Epilogue>
constexpr bool is_refused =
    !(refused_product<A, B, E, C, Epilogue>::writable && refused_product<A, B, E, C, Epilogue>::one_space &&
      refused_product<A, B, E, C, Epilogue>::adds_own_type &&
      refused_product<A, B, E, C, Epilogue>::is_epilogue);
// The problem of a product of operands as as_view() gives them.
template <class A, class B, class E, class C, class Epilogue>
using product_type =
    std::conditional_t<is_refused<A, B, E, C, Epilogue>, refused_product<A, B, E, C, Epilogue>,
                       problem<reading_t<A>, reading_t<B>, first_t<C>, Epilogue>>;

template <class S, class A, class B, class E, class C, class Epilogue>
product_type<A, B, E, C, Epilogue> make_product(S alpha, A const& a, B const& b, S beta, E const& e,
                                                C const& c, Epilogue epilogue, bool held = true) {
    using Product = product_type<A, B, E, C, Epilogue>;
    using To = first_t<C>;
    if constexpr (is_refused<A, B, E, C, Epilogue>) {
        Product::say();
        return {};
    } else {
        alpha = scaled_by(scaled_by(alpha, scale_of<S>(a)), scale_of<S>(b));
        beta = scaled_by(beta, scale_of<S>(e));
        index_t count = count_of(c);
        // One matrix beside a batch is repeated; two batches must agree, which validate() checks.
        bool const agree = (!is_batch<A>::value || count_of(a) == count) &&
                           (!is_batch<B>::value || count_of(b) == count) &&
                           (!is_batch<E>::value || count_of(e) == count);
        if (!agree || count < 0) count = counts_differ;
        // A result that is no matrix in memory can be added to itself only.
        if constexpr (requires { c.is_same(e); })
            if (!c.is_same(e)) count = adds_another;
        if (!held || !has_whole_scale<S>(a) || !has_whole_scale<S>(b) || !has_whole_scale<S>(e) ||
            !has_whole_scale<S>(c))
            count = factor_is_lost;
        using Added = view<typename C::value_type const, typename C::space>;
        auto const stated = [&](Added const& from, index_t from_step) {
            return Product{alpha,
                           reading(with_scale(first_of(a), S(1))),
                           reading(with_scale(first_of(b), S(1))),
                           beta,
                           from,
                           with_scale(first_of(c), scale_of<S>(c)),
                           epilogue,
                           count,
                           step_of(a, alpha),
                           step_of(b, alpha),
                           from_step,
                           step_of(c)};
        };
        if constexpr (is_view<std::remove_cvref_t<decltype(first_of(e))>>::value) {
            if constexpr (is_view<To>::value) // what is not read may be anything
                if (beta == S(0) && first_of(e).rows == first_of(c).rows &&
                    first_of(e).cols == first_of(c).cols)
                    return stated(with_scale(first_of(c), scale_of<S>(c)), step_of(c));
            return stated(with_scale(first_of(e), S(1)), step_of(e));
        } else {
            return stated(Added{}, step_of(e));
        }
    }
}

// The problem of a product of matrices.
template <class A, class B, class E, class C, class Epilogue>
using product_of = product_type<view_of<A>, view_of<B>, view_of<E>, view_of<C>, Epilogue>;

// C = A B
template <operand A, operand B, operand C, class Epilogue = identity>
requires(!operand<Epilogue>) auto product(A&& a, B&& b, C&& c, Epilogue epilogue = {})
    -> product_of<A, B, C, C, Epilogue> {
    using S = scalar_of<A, B>;
    auto const to = as_view(c);
    return make_product(S(1), as_view(a), as_view(b), S(0), to, to, epilogue);
}
// C = A B + E
template <operand A, operand B, operand E, operand C, class Epilogue = identity>
requires(!operand<Epilogue>) auto product(A&& a, B&& b, E&& e, C&& c, Epilogue epilogue = {})
    -> product_of<A, B, E, C, Epilogue> {
    using S = scalar_of<A, B>;
    return make_product(S(1), as_view(a), as_view(b), S(1), as_view(e), as_view(c), epilogue);
}
// A scalar is whatever converts to the accumulator of A and B: 2, 0.5 and 2.0f all serve for float.
template <class S, class A, class B>
concept scalar_for = std::convertible_to<S, scalar_of<A, B>>;
// C++ does not define the conversion of a scalar that X cannot hold. It becomes 0 here, and the check of the
// product refuses it.
template <class X, class S>
X as_scalar(S s) {
    if constexpr (complex_like<X> && std::is_arithmetic_v<S>)
        return X(as_scalar<real_t<X>>(s));
    else
        return holds<X>(s) ? static_cast<X>(s) : X{};
}

// C = alpha A B + beta C
template <class S, class T, operand A, operand B, operand C, class Epilogue = identity>
requires(scalar_for<S, A, B>&& scalar_for<T, A, B> &&
         !operand<Epilogue>) auto product(S alpha, A&& a, B&& b, T beta, C&& c, Epilogue epilogue = {})
    -> product_of<A, B, C, C, Epilogue> {
    using X = scalar_of<A, B>;
    auto const to = as_view(c);
    return make_product(as_scalar<X>(alpha), as_view(a), as_view(b), as_scalar<X>(beta), to, to, epilogue,
                        holds<X>(alpha) && holds<X>(beta));
}
// C = alpha A B + beta E
template <class S, class T, operand A, operand B, operand E, operand C, class Epilogue = identity>
requires(scalar_for<S, A, B>&& scalar_for<T, A, B> &&
         !operand<Epilogue>) auto product(S alpha, A&& a, B&& b, T beta, E&& e, C&& c, Epilogue epilogue = {})
    -> product_of<A, B, E, C, Epilogue> {
    using X = scalar_of<A, B>;
    return make_product(as_scalar<X>(alpha), as_view(a), as_view(b), as_scalar<X>(beta), as_view(e),
                        as_view(c), epilogue, holds<X>(alpha) && holds<X>(beta));
}

// ---- checking one ----------------------------------------------------------------------------------------

// Where the elements of a (batch of) matrices lie: byte offsets [low, high) from the handle.
struct extent {
    index_t low = 0, high = 0;
    bool fits = true; // neither is beyond 2^62, so that what is computed from them does not overflow
};
[[gnu::cold, gnu::noinline]] inline extent checked_extent(index_t rows, index_t cols, index_t row_stride,
                                                          index_t col_stride, index_t count, index_t step,
                                                          index_t element_size) {
    extent x;
    if (rows == 0 || cols == 0 || count == 0) return x;
    index_t const sizes[] = {rows, cols, count}, strides[] = {row_stride, col_stride, step};
    for (int d = 0; d < 3; ++d) {
        index_t reach = 0;
        x.fits &= !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach);
        x.fits &= !__builtin_mul_overflow(reach, element_size, &reach);
        x.fits &= !__builtin_add_overflow(reach < 0 ? x.low : x.high, reach, reach < 0 ? &x.low : &x.high);
        if (!x.fits) return x;
    }
    constexpr index_t most = index_t{1} << 62;
    x.fits &= x.low >= -most && x.high <= most - element_size;
    x.high += x.fits ? element_size : 0;
    return x;
}

[[gnu::noinline]] inline extent extent_of(index_t rows, index_t cols, index_t row_stride, index_t col_stride,
                                          index_t count, index_t step, index_t element_size) {
    // None is negative and none so large that anything could overflow: most calls, and the small ones need haste.
    bool const modest = ((rows | cols | count | row_stride | col_stride | step) >> 20) == 0;
    if (!modest || rows == 0 || cols == 0 || count == 0)
        return checked_extent(rows, cols, row_stride, col_stride, count, step, element_size);
    index_t const last = (rows - 1) * row_stride + (cols - 1) * col_stride + (count - 1) * step;
    return {0, (last + 1) * element_size, true};
}

// Whether A, B or C has more elements than anything can hold, which strides of zero permit. Sizes of
// workspace are computed for products that are not, and do not overflow.
[[gnu::noinline]] inline bool is_vast(index_t m, index_t n, index_t k, index_t count) {
    constexpr index_t most = index_t{1} << 52;
    auto const many = [&](index_t rows, index_t cols) {
        index_t all = 0;
        return __builtin_mul_overflow(rows, cols, &all) || __builtin_mul_overflow(all, count, &all) ||
               all > most;
    };
    return many(m, k) || many(k, n) || many(m, n);
}
// The same of a shape. An operand without memory has no elements to count.
template <class S>
bool is_vast(S const& s) {
    constexpr bool computes = requires { requires S::a_form::is_computed; }
    || requires { requires S::b_form::is_computed; };
    return is_vast(s.m, s.n, computes ? 1 : s.k, s.count);
}
inline constexpr char const* vast_refusal =
    "gemm: A, B or C has more than 2^52 elements; multiply blocks of it";

inline index_t magnitude(index_t x) { return x < 0 ? -x : x; }
// Whether the rows of a matrix have the smaller stride, so that neighbours should follow them.
template <class T, class Space>
bool rows_are_closer(view<T, Space> const& v) {
    return magnitude(v.row_stride) < magnitude(v.col_stride);
}

// Whether i rs + j cs is the same for two different (i, j): rs/g and cs/g, with g their greatest common
// divisor, is the smallest step between such a pair. The stride of a side of 1 may be any number.
[[gnu::cold, gnu::noinline]] inline bool elements_collide(index_t rows, index_t cols, index_t row_stride,
                                                          index_t col_stride) {
    if (rows <= 1) return cols > 1 && col_stride == 0;
    if (cols <= 1) return row_stride == 0;
    if (col_stride == 1 && row_stride >= cols) return false;
    if (row_stride == 1 && col_stride >= rows) return false;
    index_t g = magnitude(row_stride), r = magnitude(col_stride);
    while (r != 0) {
        index_t const t = g % r;
        g = r, r = t;
    }
    if (g == 0) return true; // both strides zero
    return magnitude(col_stride) / g < rows && magnitude(row_stride) / g < cols;
}

// Whether three dimensions nest: each stride reaches past all that the smaller ones span, so that no two
// elements share an address.
[[gnu::cold, gnu::noinline]] inline bool nested(index_t rows, index_t row_stride, index_t cols,
                                                index_t col_stride, index_t count, index_t step) {
    if (col_stride == 1 && row_stride >= cols && step > (rows - 1) * row_stride + cols - 1) return true;
    index_t size[] = {rows, cols, count},
            stride[] = {magnitude(row_stride), magnitude(col_stride), magnitude(step)};
    for (int pass = 0; pass < 2; ++pass)
        for (int d = 0; d < 2; ++d)
            if (stride[d] > stride[d + 1]) {
                std::swap(stride[d], stride[d + 1]);
                std::swap(size[d], size[d + 1]);
            }
    index_t span = 0;
    for (int d = 0; d < 3; ++d) {
        if (size[d] > 1 && stride[d] <= span) return false;
        span += (size[d] - 1) * stride[d];
    }
    return true;
}

// ---- what checking needs to know of a product, whatever its types ----------------------------------------

struct placed_view {
    index_t rows, cols, row_stride, col_stride, element_size;
    void const* buffer; // null for host memory
    index_t address, capacity;
    extent bytes;
    bool altered;     // conjugated or scaled
    bool used;        // read or written by this product
    index_t step = 0; // in a batch; kept where C may be the same view

    bool is_missing() const { return used && bytes.low != bytes.high && !buffer && address == 0; }
    bool is_outside() const {
        return used && bytes.low != bytes.high && capacity >= 0 &&
               (address + bytes.low < 0 || address + bytes.high > capacity);
    }
};

template <class V>
extent extent_of(V const& v, index_t count = 1, index_t step = 0) {
    return extent_of(v.rows, v.cols, v.row_stride, v.col_stride, count, step,
                     static_cast<index_t>(sizeof(typename V::value_type)));
}

template <class V>
placed_view place(V const& v, extent const& bytes, bool used = true) {
    using space = typename V::space;
    index_t capacity = -1;
    // Spaces whose handles know their buffer can tell how much of it there is.
    if constexpr (requires { space::capacity(v.data); }) capacity = space::capacity(v.data);
    return {v.rows,
            v.cols,
            v.row_stride,
            v.col_stride,
            static_cast<index_t>(sizeof(typename V::value_type)),
            space::buffer(v.data),
            space::address(v.data),
            capacity,
            bytes,
            v.conjugate || v.scale != decltype(v.scale)(1),
            used};
}

// A product as checking sees it. Each target of its result has its own matrix to add.
struct outline {
    struct list {
        placed_view const* first;
        int count;
        index_t rows, cols;
        bool alike;               // each view has these sides
        bool may_be_c = false;    // C may be the same view as one of these
        bool is_computed = false; // it has no elements in memory
        bool may_share = false;   // memory with C, as the other operand says
        placed_view const* begin() const { return first; }
        placed_view const* end() const { return first + count; }
    };
    list a, b, to, from; // as many from as to
    index_t count, to_step, from_step;
    bool is_spread, has_beta, epilogue_fits;
};

// Whether C is the same view as an operand, element for element.
[[gnu::cold, gnu::noinline]] inline bool is_same_view(placed_view const& v, placed_view const& w) {
    auto const same = [](index_t side, index_t stride, index_t other) {
        return side <= 1 || stride == other;
    };
    return v.buffer == w.buffer && v.address == w.address && v.element_size == w.element_size &&
           v.rows == w.rows && v.cols == w.cols && same(v.rows, v.row_stride, w.row_stride) &&
           same(v.cols, v.col_stride, w.col_stride) && v.step == w.step;
}

// Whether two views share bytes. Exact when both have the same two strides, neither negative; otherwise, and in
// a batch, overlapping bytes count as shared.
[[gnu::cold, gnu::noinline]] inline bool views_overlap(placed_view const& v, placed_view const& w,
                                                       bool is_batch) {
    extent const &ev = v.bytes, &ew = w.bytes;
    if (ev.low == ev.high || ew.low == ew.high || v.buffer != w.buffer) return false;
    index_t const pv = v.address, pw = w.address, size = v.element_size;
    if (pv + ev.high <= pw + ew.low || pw + ew.high <= pv + ev.low) return false;
    if (is_batch || size != w.element_size) return true;
    index_t const distance = (pw - pv) / size;
    if (distance * size != pw - pv) return true;
    // Elements are the same the other way round, which may be the way of v.
    bool const turned = v.row_stride == w.col_stride && v.col_stride == w.row_stride;
    bool const straight = turned || (v.row_stride == w.row_stride && v.col_stride == w.col_stride);
    bool const rows_outer = magnitude(v.row_stride) >= magnitude(v.col_stride);
    index_t const inner = rows_outer ? v.col_stride : v.row_stride;
    index_t const outer = rows_outer ? v.row_stride : v.col_stride;
    if (!straight || inner <= 0) return true;
    index_t const v_in = rows_outer ? v.cols : v.rows, v_out = rows_outer ? v.rows : v.cols;
    index_t const w_in = rows_outer != turned ? w.cols : w.rows,
                  w_out = rows_outer != turned ? w.rows : w.cols;
    // The first element of w is d_out lines and d_in elements after that of v: all d_out with -w_in < d_in < v_in.
    index_t d_out = (distance - (v_in - 1) * inner) / outer - 1;
    if (d_out <= -w_out) d_out = 1 - w_out;
    for (; d_out < v_out; ++d_out) {
        index_t const rest = distance - d_out * outer, d_in = rest / inner;
        if (d_in <= -w_in) return false;
        if (rest % inner == 0 && d_in < v_in) return true;
    }
    return false;
}

[[gnu::cold, gnu::noinline]] inline status shape_failure(outline const& p) {
    char text[256];
    __builtin_snprintf(
        text, sizeof(text),
        "A is %td x %td, B is %td x %td and C is %td x %td; C = A B needs m x k, k x n and m x n (is "
        "a transposed() missing?)",
        p.a.rows, p.a.cols, p.b.rows, p.b.cols, p.to.rows, p.to.cols);
    return failure(errc::shape, "gemm", text);
}

// Why a matrix cannot be written: its elements are elements of another matrix, or each other.
[[gnu::cold, gnu::noinline]] inline status check_target(outline const& p, placed_view const& to) {
    bool const is_batch = p.count > 1;
    if (elements_collide(to.rows, to.cols, to.row_stride, to.col_stride))
        return failure(errc::strides, "gemm: two elements of C share an address; its leading dimension "
                                      "must be at least its row length");
    if (is_batch && !nested(to.rows, to.row_stride, to.cols, to.col_stride, p.count, p.to_step))
        return failure(errc::strides, "gemm: the matrices of the batch C overlap; its stride must be at "
                                      "least one matrix");
    for (auto const* l : {&p.a, &p.b})
        for (placed_view const& v : *l)
            if (v.used && !l->may_share && views_overlap(to, v, is_batch) &&
                !(l->may_be_c && is_same_view(to, v)))
                return failure(errc::alias, "gemm: C overlaps A or B; multiply into another matrix and copy");
    for (placed_view const& other : p.to)
        if (&other < &to && views_overlap(to, other, is_batch))
            return failure(errc::alias, "gemm: two targets of a spread overlap");
    for (placed_view const& from : p.from) {
        if (!from.used || !views_overlap(to, from, is_batch)) continue;
        bool const own = &from - p.from.first == &to - p.to.first;
        if (!own) return failure(errc::alias, "gemm: what a target of a spread adds overlaps another target");
        bool const in_place = from.address == to.address && from.row_stride == to.row_stride &&
                              from.col_stride == to.col_stride && p.from_step == p.to_step;
        if (!in_place)
            return failure(errc::alias, "gemm: C may be the added matrix or be apart from it, but not "
                                        "overlap it in part");
    }
    return {};
}

// Why a product cannot be done, if it cannot.
[[gnu::cold, gnu::noinline]] inline status check(outline const& p) {
    if (p.count == factor_is_lost)
        return failure(errc::argument,
                       "gemm: alpha or beta is not a number that the scalar type of this product can hold; "
                       "with int8 operands both are 32-bit integers");
    if (p.count == adds_another)
        return failure(errc::argument, "gemm: a C that is no plain matrix, such as a sparse one, can be "
                                       "added to itself only: E must be C itself");
    if (p.count < 0)
        return failure(
            errc::shape,
            "gemm: the batches of A, B and C must have the same, non-negative count (an A or B that is no "
            "batch serves all; C must be a batch)");
    bool negative = p.a.cols < 0 || p.b.rows < 0, fits = true;
    bool empty = p.to.count == 0 || p.count == 0, missing = false, outside = false;
    for (auto const* l : {&p.a, &p.b, &p.to, &p.from})
        for (placed_view const& v : *l) {
            if (l != &p.from || v.used) negative |= v.rows < 0 || v.cols < 0;
            fits &= v.bytes.fits;
            missing |= v.is_missing(), outside |= v.is_outside();
        }
    if (negative || p.to.rows < 0 || p.to.cols < 0)
        return failure(errc::shape, "gemm: sizes must not be negative");
    if (p.a.rows != p.to.rows || p.b.cols != p.to.cols || p.b.rows != p.a.cols) return shape_failure(p);
    if (p.is_spread && p.count != 1)
        return failure(errc::unsupported, "gemm: a spread is the result of one product, not of a batch");
    if (p.is_spread && p.has_beta)
        return failure(errc::argument,
                       "gemm: a spread has a factor and a matrix to add for each target, and no beta");
    for (auto const* l : {&p.a, &p.b, &p.to})
        for (placed_view const& v : *l)
            if (l->alike && (v.rows != l->rows || v.cols != l->cols))
                return failure(errc::shape, l == &p.to
                                                ? "gemm: the targets of a spread must have the same shape"
                                                : "gemm: the terms of a sum must have the same shape");
    for (placed_view const& v : p.from)
        if ((v.used || !p.is_spread) && (v.rows != p.to.rows || v.cols != p.to.cols))
            return failure(errc::shape, "gemm: the added matrix must have the shape of C");
    for (placed_view const& v : p.to)
        if (v.altered)
            return failure(errc::argument,
                           "gemm: C cannot be scaled or conjugated; use alpha, beta or an epilogue");
    if (!fits)
        return failure(errc::overflow,
                       "gemm: the sizes and strides of an operand address more bytes than there are");
    if (empty || p.to.rows == 0 || p.to.cols == 0) return {}; // nothing to write, so nothing else matters
    index_t const depth = p.a.is_computed || p.b.is_computed ? 1 : p.a.cols;
    if (is_vast(p.to.rows, p.to.cols, depth, p.count)) return failure(errc::overflow, vast_refusal);
    if (missing) return failure(errc::null_data, "gemm: an operand with elements has a null pointer");
    if (outside)
        return failure(errc::shape,
                       "gemm: an operand reaches beyond its buffer; check its offset, sides and strides");
    for (placed_view const& to : p.to)
        if (status s = check_target(p, to); !s) return s;
    if (!p.epilogue_fits)
        return failure(errc::shape,
                       "gemm: a vector of the epilogue is shorter than the side of C that it runs along");
    return {};
}

// The usual product passes every check of those below, and there is something to multiply: no batch, in a space without
// capacity(), of sides and strides so small that nothing overflows, with C in contiguous rows or columns, apart from A
// and B, and beta E in C itself.
template <class Problem>
[[gnu::always_inline]] inline bool is_usual(Problem const& p) {
    using space = typename Problem::space;
    if constexpr (!is_dense<Problem> || requires { space::capacity(p.c.data); }) {
        return false;
    } else {
        index_t const m = p.c.rows, n = p.c.cols, k = p.a.cols;
        // A side of zero and all that is negative are large numbers here.
        auto const less_one = [](index_t side) { return static_cast<std::size_t>(side) - 1; };
        std::size_t const all = less_one(m) | less_one(n) | less_one(k) |
                                static_cast<std::size_t>(p.a.row_stride | p.a.col_stride | p.b.row_stride |
                                                         p.b.col_stride | p.c.row_stride | p.c.col_stride);
        auto const first = [](auto const& v) { return space::address(v.data); };
        auto const end = [&](auto const& v, index_t rows, index_t cols) {
            index_t const last = (rows - 1) * v.row_stride + (cols - 1) * v.col_stride;
            return first(v) +
                   (last + 1) * index_t{sizeof(typename std::remove_cvref_t<decltype(v)>::value_type)};
        };
        if (all >> 25 != 0 || p.alpha == typename Problem::scalar(0) || p.count != 1 || p.a.rows != m ||
            p.b.cols != n || p.b.rows != k || !p.a.data || !p.b.data || !p.c.data || p.e.data != p.c.data ||
            p.e.rows != m || p.e.cols != n || p.e.row_stride != p.c.row_stride ||
            p.e.col_stride != p.c.col_stride || p.c.conjugate || p.c.scale != decltype(p.c.scale)(1))
            return false;
        if (!(p.c.col_stride == 1 && p.c.row_stride >= n) && !(p.c.row_stride == 1 && p.c.col_stride >= m))
            return false;
        index_t const c = first(p.c), c_end = end(p.c, m, n);
        return (end(p.a, m, k) <= c || c_end <= first(p.a)) && (end(p.b, k, n) <= c || c_end <= first(p.b)) &&
               epilogue_fits(p.epilogue, m, n);
    }
}

// Where the operands of a product of matrices lie; of E only if it is read.
struct extents {
    extent a, b, e, c;
};
template <class Problem>
extents extents_of(Problem const& p) {
    return {extent_of(p.a, p.count, p.a_step), extent_of(p.b, p.count, p.b_step),
            p.beta != typename Problem::scalar(0) ? extent_of(p.e, p.count, p.e_step) : extent{},
            extent_of(p.c, p.count, p.c_step)};
}

// Checks a product of matrices. `x` is extents_of(p).
template <class Problem>
[[gnu::cold, gnu::noinline]] status validate_closely(Problem const& p, extents const& x) {
    bool const fits = epilogue_fits(p.epilogue, p.c.rows, p.c.cols);
    bool const reads_ab = p.alpha != typename Problem::scalar(0),
               has_beta = p.beta != typename Problem::scalar(0);
    placed_view const a = place(p.a, x.a, reads_ab), b = place(p.b, x.b, reads_ab), c = place(p.c, x.c),
                      e = place(p.e, x.e, has_beta);
    return check({{&a, 1, a.rows, a.cols, true},
                  {&b, 1, b.rows, b.cols, true},
                  {&c, 1, c.rows, c.cols, true},
                  {&e, 1, c.rows, c.cols, true},
                  p.count,
                  p.c_step,
                  p.e_step,
                  false,
                  has_beta,
                  fits});
}

template <class X>
constexpr bool works_in_place = requires {
    requires X::in_place;
};
// Whether a view X beside Other may share memory with C, where Other::shares() says so. A real and a complex matrix do.
template <class X, class Other, class C>
constexpr bool may_share = [] {
    if constexpr (requires { &Other::shares; })
        return complex_like<typename X::value_type> != complex_like<typename C::value_type>;
    else
        return false;
}();
// What only the operands know: whether they can be multiplied at all.
template <class Problem>
status usable_operands(Problem const& p) {
    if constexpr (requires { p.a.usable(); })
        if (status s = p.a.usable(); !s) return s;
    if constexpr (requires { p.b.usable(); }) return p.b.usable();
    return {};
}
// Checks a product of operands that are not views.
template <class Problem>
status validate_operands(Problem const& p) {
    bool const reads_ab = p.alpha != typename Problem::scalar(0),
               has_beta = p.beta != typename Problem::scalar(0);
    using A = typename Problem::a_operand;
    using B = typename Problem::b_operand;
    constexpr bool may_be_c = works_in_place<A> || works_in_place<B>;
    placed_view a[A::most_views + 1], b[B::most_views + 1], to[Problem::c_operand::most_views],
        from[Problem::c_operand::most_views];
    constexpr bool a_shares = may_share<A, B, typename Problem::c_operand>,
                   b_shares = may_share<B, A, typename Problem::c_operand>;
    auto const list = [&](auto const& x, placed_view* views, index_t step, bool used,
                          bool shares = false) -> outline::list {
        using X = std::remove_cvref_t<decltype(x)>;
        int count = 0;
        x.each_view([&](auto const& v) {
            views[count] = place(v, extent_of(v, p.count, step), used);
            views[count++].step = p.count > 1 ? step : 0;
        });
        return {views,
                count,
                x.rows,
                x.cols,
                is_combination<X>,
                may_be_c,
                std::is_same_v<typename X::space, no_memory>,
                shares};
    };
    constexpr bool is_spread = requires { p.c.targets; };
    outline all{list(p.a, a, p.a_step, reads_ab, a_shares),
                list(p.b, b, p.b_step, reads_ab, b_shares),
                list(p.c, to, p.c_step, true),
                {from, 0, p.c.rows, p.c.cols, true},
                p.count,
                p.c_step,
                p.e_step,
                is_spread,
                has_beta,
                epilogue_fits(p.epilogue, p.c.rows, p.c.cols)};
    auto const add = [&](auto const& e, bool used) {
        from[all.from.count++] = place(e, used ? extent_of(e, p.count, p.e_step) : extent{}, used);
    };
    if constexpr (is_view<typename Problem::c_operand>::value)
        add(p.e, has_beta);
    else if constexpr (is_spread)
        for (int t = 0; t < p.c.targets; ++t)
            add(p.c.at[t].from, p.c.at[t].keep != typename Problem::scalar(0));
    status checked = check(all);
    if constexpr (a_shares || b_shares) {
        // Elements of C may share an address because its lines lack room, which is then what is wrong.
        using transform = std::conditional_t<a_shares, B, A>;
        if (checked || checked.error().code() == errc::strides)
            for (placed_view const& v : a_shares ? all.a : all.b)
                if (v.used && views_overlap(to[0], v, p.count > 1))
                    if (status s = transform::shares(v, to[0], p.count, b_shares); !s) return s;
    }
    return checked ? usable_operands(p) : std::move(checked);
}

// Checks what is_usual() does not.
template <class Problem>
[[gnu::cold, gnu::noinline]] status validate_unusual(Problem const& p) {
    if constexpr (is_dense<Problem>)
        return validate_closely(p, extents_of(p));
    else
        return validate_operands(p);
}
template <class Problem>
status validate(Problem const& p) {
    if (is_usual(p)) return {};
    return validate_unusual(p);
}

STRATAGEMM_END
