// Products of operands that are more than a matrix in memory: sparse, Toeplitz, factored, transforms.
#include "stated.hpp"

#include <stratagemm/backend/host.hpp>
#include <stratagemm/structure/csr.hpp>
#include <stratagemm/structure/dft.hpp>
#include <stratagemm/structure/factored.hpp>
#include <stratagemm/structure/toeplitz.hpp>

namespace stratagemm_python {
namespace {

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

// f(operand) with the operand as the library has it. A csr is not transposed here: see turned().
template <class T, class Index, class F>
outcome with_csr(structured const& s, F const& f) {
    return f(conjugated_if(s.conjugated, sg::csr<T, Index>{s.rows, s.cols, values<Index>(s.part[0]),
                                                           values<Index>(s.part[1]), values<T>(s.part[2]),
                                                           s.part[2]->side[0]}));
}
template <class T, class F>
outcome with_toeplitz(structured const& s, F const& f) {
    auto const column = vector_of<T>(*s.part[0]);
    auto a = s.part[1] ? sg::toeplitz(column, vector_of<T>(*s.part[1])) : sg::toeplitz(column);
    if (s.transposed) a = a.transposed();
    if (s.conjugated) a = sg::conjugated(a);
    return s.by_transforms ? f(a.by_transforms()) : f(a);
}
template <class T, class F>
outcome with_factored(structured const& s, F const& f) {
    sg::factored<T> a(s.part[0]->matrix<T const>(), s.part[1]->matrix<T const>());
    if (s.transposed) a = a.transposed();
    return f(conjugated_if(s.conjugated, a));
}

template <class A>
constexpr bool is_transform = std::is_same_v<typename A::space, sg::no_memory>;

// C = A X, or X A where `on_left` is false: `a` is the operand, T the type of the elements of X and C that of C.
template <class T, class C, bool on_left, class A, class Epilogue>
sg::status run_parts(sg::host const& host, A const& a, product const& p, batch_dimensions const& batch,
                     Epilogue const& epilogue) {
    sg::status failed;
    auto const in = batch.innermost();
    batch.each_outer(p, [&](product const& part) {
        if (!failed) return;
        tensor const& x = on_left ? *part.b : *part.a;
        auto const other = sg::batched(x.matrix<T const>(), in.side, on_left ? in.b : in.a);
        if constexpr (on_left)
            failed = sg::run(host, stated<C>(part, batch, a, other, epilogue, on_the_host));
        else
            failed = sg::run(host, stated<C>(part, batch, other, a, epilogue, on_the_host));
    });
    return failed;
}
template <class T, class C, bool on_left, class A>
outcome run(A const& a, product const& p) {
    using S = sg::scalar_of<A const&, sg::view<T const> const&>;
    if (outcome o = check_scalars<S>(p); !o.status) return o;
    auto const* const host = std::get_if<sg::host>(p.policy);
    if (!host)
        return refuse_types(std::string("gemm: the policy ") + p.policy_name +
                            " multiplies no such operands here; 'host' does");
    batch_dimensions batch;
    if (sg::status s = batch.find(p); !s) return {std::move(s)};
    if constexpr (std::is_same_v<T, C> && !is_transform<A>) {
        steps_of<S> const epilogue(p);
        if (!epilogue.status) return {sg::status(epilogue.status.error()), epilogue.is_of_types};
        return {run_parts<T, C, on_left>(*host, a, p, batch, epilogue.value)};
    } else { // fft() has no epilogue
        return {run_parts<T, C, on_left>(*host, a, p, batch, sg::identity{})};
    }
}
template <class T>
outcome run_typed(product const& p) {
    structured const& s = *p.with;
    auto const left = [&](auto const& a) { return run<T, T, true>(a, p); };
    auto const right = [&](auto const& a) { return run<T, T, false>(a, p); };
    switch (s.what) {
    case structure::toeplitz: return with_toeplitz<T>(s, left);
    case structure::factored: return with_factored<T>(s, left);
    default: break;
    }
    bool const is_wide = s.part[1]->type == kind::int64;
    if (p.a) return is_wide ? with_csr<T, std::int64_t>(s, right) : with_csr<T, std::int32_t>(s, right);
    return is_wide ? with_csr<T, std::int64_t>(s, left) : with_csr<T, std::int32_t>(s, left);
}
template <class T>
outcome run_transform(product const& p) {
    structured const& s = *p.with;
    auto const a = s.inverse ? sg::idft<T>(s.rows) : sg::dft<T>(s.rows);
    using C = std::complex<T>;
    return p.b->type == kind_of<T> ? run<T, C, true>(a, p) : run<C, C, true>(a, p);
}

// The same product transposed: A of a structure on the right is its transpose on the left, and the other way round.
struct turned {
    tensor x, c, e;
    structured with;
    product call;

    explicit turned(product const& p) : with(*p.with), call(p) {
        auto const turn = [](tensor const* from, tensor& to) -> tensor const* {
            if (!from) return nullptr;
            to = *from;
            int const last = to.dimensions - 1;
            std::swap(to.side[last], to.side[last - 1]), std::swap(to.stride[last], to.stride[last - 1]);
            return &to;
        };
        call.a = turn(p.b, x), call.b = turn(p.a, x);
        if (p.b) call.a = &x;
        call.c = turn(p.c, c), call.e = turn(p.e, e), call.with = &with;
        with.transposed = !with.transposed;
        std::swap(with.rows, with.cols);
        for (stated_step& one : call.epilogue)
            one.axis = one.axis == sg::along::rows ? sg::along::columns : sg::along::rows;
    }
};

outcome refuse_other(structured const& s, tensor const& other, tensor const& c) {
    char const* const names[] = {"csr", "toeplitz", "factored", "fft"};
    char const* const name = names[static_cast<int>(s.what)];
    return refuse_types(std::string(name) + ": there is no product of one of " + facts(s.type).name +
                        " with " + facts(other.type).name + " into " + facts(c.type).name +
                        ": all are of one type, which is float32, float64, complex64 or complex128");
}

} // namespace

outcome multiply_structured(product const& p) {
    structured const& s = *p.with;
    bool const turns = s.what == structure::csr ? s.transposed : p.a != nullptr;
    if (turns) return multiply_structured(turned(p).call);
    tensor const& other = p.a ? *p.a : *p.b;
    kind const c = p.c->type;
    if (s.what == structure::dft) {
        bool const is_double = c == kind::complex128;
        kind const real = is_double ? kind::float64 : kind::float32;
        if ((is_double || c == kind::complex64) && (other.type == c || other.type == real))
            return is_double ? run_transform<double>(p) : run_transform<float>(p);
    } else if (other.type == s.type && c == s.type) {
        switch (c) {
        case kind::float32: return run_typed<float>(p);
        case kind::float64: return run_typed<double>(p);
        case kind::complex64: return run_typed<std::complex<float>>(p);
        case kind::complex128: return run_typed<std::complex<double>>(p);
        default: break;
        }
    }
    return refuse_other(s, other, *p.c);
}

namespace {

template <class Index>
outcome check_rows(structured const& s) {
    return {sg::csr<float, Index>{s.rows, s.cols, values<Index>(s.part[0]), values<Index>(s.part[1]), nullptr,
                                  s.part[2]->side[0]}
                .check()};
}

} // namespace

outcome check_structured(structured const& s) {
    if (s.what == structure::csr)
        return s.part[1]->type == kind::int64 ? check_rows<std::int64_t>(s) : check_rows<std::int32_t>(s);
    return {};
}

} // namespace stratagemm_python
