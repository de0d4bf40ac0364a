// Products of operands that are more than a matrix in memory: sparse, Toeplitz, factored, transforms. The same for the
// memory of the host and of devices, which a side describes:
//
//   side.policy       multiplies
//   side.place(x)     a view, batch or operand of pointers as one in the memory that the pointers are of
//   Side::steps<S>    the epilogue of a call for sums of type S: value, and failed(), which is an outcome
#pragma once

#include "stated.hpp"

#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/dft.hpp>
#include <stratagemm/structure/factored.hpp>
#include <stratagemm/structure/toeplitz.hpp>

namespace stratagemm_python {

template <class T>
T const* values(tensor const* x) {
    return static_cast<T const*>(x->data);
}
template <class T>
sg::view<T const> vector_of(tensor const& x) {
    return {values<T>(&x), x.side[0], 1, x.stride[0], 1};
}
template <class X>
X conjugated_if(bool wanted, X x) {
    if (wanted) return sg::conjugated(x);
    return x;
}

// f(operand) with the operand as the library has it. A csr is not transposed here: see turned.
template <class T, class Index, class Side, class F>
outcome with_csr(Side const& side, structured const& s, F const& f) {
    return f(side.place(conjugated_if(
        s.conjugated, sg::csr<T, Index>{s.rows, s.cols, values<Index>(s.part[0]), values<Index>(s.part[1]),
                                        values<T>(s.part[2]), s.part[2]->side[0]})));
}
template <class T, class Side, class F>
outcome with_toeplitz(Side const& side, structured const& s, F const& f) {
    auto const column = side.place(vector_of<T>(*s.part[0]));
    auto a = s.part[1] ? sg::toeplitz(column, side.place(vector_of<T>(*s.part[1]))) : sg::toeplitz(column);
    if (s.transposed) a = a.transposed();
    if (s.conjugated) a = sg::conjugated(a);
    return s.by_transforms ? f(a.by_transforms()) : f(a);
}
template <class T, class Side, class F>
outcome with_factored(Side const& side, structured const& s, F const& f) {
    sg::factored a(side.place(s.part[0]->matrix<T const>()), side.place(s.part[1]->matrix<T const>()));
    if (s.transposed) a = a.transposed();
    return f(conjugated_if(s.conjugated, a));
}

template <class A>
constexpr bool is_transform = std::is_same_v<typename A::space, sg::no_memory>;

// C = A X, or X A where `on_left` is false: `a` is the operand, T the type of the elements of X and C that of C.
template <class T, class C, bool on_left, class Side, class A, class Epilogue>
sg::status run_parts(Side const& side, A const& a, product const& p, batch_dimensions const& batch,
                     Epilogue const& epilogue) {
    sg::status failed;
    auto const place = [&](auto const& x) { return side.place(x); };
    auto const in = batch.innermost();
    batch.each_outer(p, [&](product const& part) {
        if (!failed) return;
        tensor const& x = on_left ? *part.b : *part.a;
        auto const other = place(sg::batched(x.matrix<T const>(), in.side, on_left ? in.b : in.a));
        if constexpr (on_left)
            failed = sg::run(side.policy, stated<C>(part, batch, a, other, epilogue, place));
        else
            failed = sg::run(side.policy, stated<C>(part, batch, other, a, epilogue, place));
    });
    return failed;
}
template <class T, class C, bool on_left, class Side, class A>
outcome run_structured(Side const& side, A const& a, product const& p) {
    using S = sg::scalar_of<A const&, sg::view<T const> const&>;
    if (outcome o = check_scalars<S>(p); !o.status) return o;
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    if constexpr (std::is_same_v<T, C> && !is_transform<A>) {
        typename Side::template steps<S> const epilogue(p);
        if (outcome o = epilogue.failed(); !o.status) return o;
        return {run_parts<T, C, on_left>(side, a, p, batch, epilogue.value)};
    } else { // fft() has no epilogue
        return {run_parts<T, C, on_left>(side, a, p, batch, sg::identity{})};
    }
}
template <class T, class Side>
outcome run_typed(Side const& side, product const& p) {
    structured const& s = *p.with;
    auto const left = [&](auto const& a) { return run_structured<T, T, true>(side, a, p); };
    auto const right = [&](auto const& a) { return run_structured<T, T, false>(side, a, p); };
    switch (s.what) {
    case structure::toeplitz: return with_toeplitz<T>(side, s, left);
    case structure::factored: return with_factored<T>(side, s, left);
    default: break;
    }
    bool const is_wide = s.part[1]->type == kind::int64;
    if (p.a)
        return is_wide ? with_csr<T, std::int64_t>(side, s, right)
                       : with_csr<T, std::int32_t>(side, s, right);
    return is_wide ? with_csr<T, std::int64_t>(side, s, left) : with_csr<T, std::int32_t>(side, s, left);
}
template <class T, class Side>
outcome run_transform(Side const& side, product const& p) {
    structured const& s = *p.with;
    auto const a = s.inverse ? sg::idft<T>(s.rows) : sg::dft<T>(s.rows);
    using C = std::complex<T>;
    return p.b->type == kind_of<T> ? run_structured<T, C, true>(side, a, p)
                                   : run_structured<C, C, true>(side, a, p);
}

// The same product transposed: A of a structure on the right is its transpose on the left, and the other way round.
struct turned {
    tensor x, c, e;
    structured with;
    product call;

    explicit turned(product const& p);
};
outcome refuse_other(structured const& s, tensor const& other, tensor const& c);

template <class Side>
outcome multiply_on(Side const& side, product const& p) {
    structured const& s = *p.with;
    bool const turns = s.what == structure::csr ? s.transposed : p.a != nullptr;
    if (turns) return multiply_on(side, turned(p).call);
    tensor const& other = p.a ? *p.a : *p.b;
    kind const c = p.c->type;
    if (s.what == structure::dft) {
        bool const is_double = c == kind::complex128;
        kind const real = is_double ? kind::float64 : kind::float32;
        if ((is_double || c == kind::complex64) && (other.type == c || other.type == real))
            return is_double ? run_transform<double>(side, p) : run_transform<float>(side, p);
    } else if (other.type == s.type && c == s.type) {
        switch (c) {
        case kind::float32: return run_typed<float>(side, p);
        case kind::float64: return run_typed<double>(side, p);
        case kind::complex64: return run_typed<std::complex<float>>(side, p);
        case kind::complex128: return run_typed<std::complex<double>>(side, p);
        default: break;
        }
    }
    return refuse_other(s, other, *p.c);
}

template <class Index>
outcome check_rows(structured const& s, Index const* begins, Index const* columns) {
    return {sg::csr<float, Index>{s.rows, s.cols, begins, columns, nullptr, s.part[2]->side[0]}.check()};
}

} // namespace stratagemm_python
