// Products of sums of matrices, into several results: what kernels/combined.cl.hpp is given.
//
// As on the host, no temporary is stored: kernels form a sum while they fetch it, and a product is added to each target
// where it ends (Huang, Smith, Henry, van de Geijn, 2016).
#pragma once

#include "operations.hpp"

STRATAGEMM_BEGIN

// A product of matrices.
struct opencl_plain {};

// What a product has beside its first terms and its first target. Alpha is in the factors of the targets, if there are
// any; a sum of one term is a matrix.
template <class T>
struct opencl_combination {
    static constexpr int most = 4;
    sum_of<opencl_view<T const>, most> a, b;
    spread<opencl_view<T>, most> c;

    // For C^T = B^T A^T.
    opencl_combination transposed() const { return {b.transposed(), a.transposed(), c.transposed()}; }
};

// How many views an operand or a result may be made of.
template <class Operand>
inline constexpr int opencl_views = is_combination<Operand> ? Operand::most_views : 0;
// Matrices of one real or complex type, and sums and spreads of as many as kernels take.
template <class P>
constexpr verdict opencl_accepts_operands() {
    using T = typename P::a_type;
    constexpr auto fits = []<class Operand>(Operand*) {
        return opencl_views<Operand> >= 1 && opencl_views<Operand> <= opencl_combination<float>::most;
    };
    constexpr bool known = fits(static_cast<typename P::a_operand*>(nullptr)) &&
                           fits(static_cast<typename P::b_operand*>(nullptr)) &&
                           fits(static_cast<typename P::c_operand*>(nullptr));
    constexpr bool one_type = std::is_same_v<T, typename P::b_type> && std::is_same_v<T, typename P::c_type>;
    if constexpr (!known)
        return verdict::structure;
    else
        return types_if(one_type && (std::floating_point<T> || complex_like<T>)) &
               epilogue_if(is_view<typename P::c_operand>::value
                               ? has_source<typename P::epilogue_type, opencl_epilogue<typename P::scalar>>
                               : std::is_same_v<typename P::epilogue_type, identity>);
}
// Roundings of a sum, which are relative to the sum of the magnitudes of its terms: one for each factor but that of the
// first, or for all, and for each addition.
template <class Form>
inline constexpr index_t opencl_roundings = further_terms<Form> > 0 ? further_terms<Form> + 1 : 0;

template <class T>
bool is_alike(opencl_view<T const> const& x, opencl_view<T const> const& y) {
    return x.row_stride == y.row_stride && x.col_stride == y.col_stride;
}
template <class T, int N>
opencl_sum_form form_of(sum_of<opencl_view<T const>, N> const& x) {
    opencl_sum_form form;
    form.terms = static_cast<short>(x.terms);
    if (x.terms <= 1) return form;
    form.scaled = x.term[0].scale != T(1);
    for (int t = 0; t < x.terms; ++t) {
        form.alike &= is_alike<T>(x.term[0], x.term[t]);
        if constexpr (complex_like<T>) form.real &= x.term[t].scale.imag() == 0;
    }
    return form;
}

// A product of sums as one of their first terms, and the rest.
template <class Problem>
struct opencl_stated {
    using T = typename Problem::a_type;
    static constexpr bool spreads = !is_view<typename Problem::c_operand>::value;

    dense_problem<T, T, T, opencl_memory, typename Problem::epilogue_type> first;
    opencl_combination<T> rest;

    explicit opencl_stated(Problem const& p) {
        first.alpha = p.alpha, first.epilogue = p.epilogue, first.row0 = p.row0, first.col0 = p.col0;
        first.count = p.count, first.a_step = p.a_step, first.b_step = p.b_step;
        first.a = state(p.a, rest.a), first.b = state(p.b, rest.b);
        if constexpr (spreads) {
            auto const& target = p.c.at[0];
            first.c = target.to, first.e = first.c;
            if (p.c.targets == 1 && is_plain_sum(rest.a) && is_plain_sum(rest.b)) {
                first.alpha = first.alpha * target.factor, first.beta = target.keep;
                if (target.keep != T(0)) first.e = target.from;
                return;
            }
            rest.c.rows = p.c.rows, rest.c.cols = p.c.cols, rest.c.targets = p.c.targets;
            for (int t = 0; t < p.c.targets; ++t) {
                auto const& x = p.c.at[t];
                rest.c.at[t] = {x.to, first.alpha * x.factor, x.keep, x.from};
            }
        } else {
            first.c = p.c, first.beta = p.beta, first.e = p.e;
            first.c_step = p.c_step, first.e_step = p.e_step;
        }
    }

    bool is_plain() const { return is_plain_sum(rest.a) && is_plain_sum(rest.b) && rest.c.targets == 0; }
    // Whether the products of a batch have to be done one by one: kernels move only sums whose terms are alike.
    bool is_one_by_one() const {
        return first.count > 1 && ((first.a_step != 0 && !form_of(rest.a).alike) ||
                                   (first.b_step != 0 && !form_of(rest.b).alike));
    }

private:
    using sum = sum_of<opencl_view<T const>, opencl_combination<T>::most>;

    static bool is_plain_sum(sum const& x) { return x.terms <= 1; }

    opencl_view<T const> state(opencl_view<T const> const& x, sum&) { return x; }
    // The first term gets the factor 1, if one of them has 1 or -1: the sign goes into alpha, and kernels multiply less.
    // The factor of an only term goes into alpha, too.
    template <class View, int N>
    opencl_view<T const> state(sum_of<View, N> const& x, sum& to) {
        to.rows = x.rows, to.cols = x.cols, to.terms = x.terms;
        int unit = 0;
        for (int t = x.terms - 1; t >= 0; --t) {
            to.term[t] = x.term[t];
            if (x.term[t].scale == T(1) || x.term[t].scale == T(-1)) unit = t;
        }
        std::swap(to.term[0], to.term[unit]);
        T const factor = to.term[0].scale;
        if (x.terms == 1 || factor == T(1) || factor == T(-1)) {
            first.alpha = first.alpha * factor;
            to.term[0].scale = T(1);
            for (int t = 1; t < x.terms; ++t) to.term[t].scale = to.term[t].scale * factor;
        }
        opencl_view<T const> one = to.term[0];
        one.scale = T(1);
        if (x.terms > 1) one.conjugate = false; // as the kernel conjugates terms
        return one;
    }
};

// Passes a sum: its terms, and how the kernel walks through it as if it were one matrix, in bytes.
template <class T, int N>
void pass_sum(opencl_call& call, sum_of<opencl_view<T const>, N> const& x, index_t step) {
    constexpr index_t bytes = sizeof(T);
    for (int t = 0; t < x.terms; ++t) {
        auto const& v = x.term[t];
        call(v.data.buffer, cl_long{bytes * v.data.offset},
             cl_long2{{bytes * v.row_stride, bytes * v.col_stride}}, v.scale);
    }
    auto const& first = x.term[0];
    call(form_of(x).alike ? cl_long4{{0, bytes * first.row_stride, bytes * first.col_stride, bytes * step}}
                          : cl_long4{{0, index_t{1} << 32, 1, 0}});
}

STRATAGEMM_END
