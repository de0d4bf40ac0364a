// A product from sketches that are smaller than C: each element (i, j) is added to one of b buckets, with a random
// sign, and is estimated by the median of what d sketches have where it was added (Pagh: Compressed matrix
// multiplication, ACM Transactions on Computation Theory 5, 2013; arXiv 1108.1320). It is for products of which few
// elements are not zero, or few are large.
//
//   sg::gemm(sg::compressed{cpu, {.tolerance = 1e-4, .nonzeros = 1000}}, a, b, c);
//   auto large = sg::heavy(sg::compressed{cpu, {.nonzeros = 1000}}, a, b, 0.5f);      a coo, without a C
//
// approximate.hpp has the contract. `nonzeros` says how many elements of A B may be other than zero: what the caller
// knows of A and B. An estimate is right, but for rounding, if no other such element is in its bucket. Without
// `nonzeros`, b follows from |A B|, which random vectors estimate in one more pass over A and B; b is some |A B|^2 m
// n / (tolerance |A||B|)^2 then, which is more than m n unless A B has far smaller elements than A and B suggest.
// `count` of the report is the number of all buckets.
//
// Form Walsh-Hadamard, the default: A and B are transformed once, and each of the d b buckets is a dot product of k
// terms (compressed/transforms.hpp). Form Fourier: Pagh's, with d k transforms of b points for A and as many for B.
//
// A, B and C have one type, float or double. A and B may be sparse, in any format that is listed as csr. The host then
// takes a step for each of their elements instead of one for each place; a device writes them out in its memory. Devices
// have form Walsh-Hadamard alone (compressed/device.hpp).
#pragma once

#include "compressed/heavy.hpp"
#include "compressed/work.hpp"

STRATAGEMM_BEGIN

template <policy Base>
class compressed : public approximate<compressed<Base>, Base> {
    using layer = approximate<compressed<Base>, Base>;
    using layer::base_;
    using typename layer::line_norms, typename layer::prediction;
    using plan = compressed_parts::plan;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>;
    template <class S>
    static constexpr bool is_sparse = sparse_form<typename S::a_form> || sparse_form<typename S::b_form>;

    // What an operand is listed as: a matrix as it is.
    template <class X>
    struct listed_as {
        using type = X;
    };
    template <class X>
    static constexpr bool listed_with_values = [] {
        if constexpr (sparse_operand<X>)
            return has_values<std::remove_cvref_t<decltype(*std::declval<X const&>().listed(
                std::declval<any_leaf const&>(), std::declval<any_arena&>()))>>;
        else
            return true;
    }();
    template <sparse_operand X>
    struct listed_as<X> {
        using list = csr<typename X::value_type, typename X::index_type, typename Base::space>;
        using type =
            std::conditional_t<on_host, list,
                               approximate_parts::written_csr<typename X::value_type, typename X::index_type,
                                                              typename Base::space>>;
    };
    // The operand of a shape that only says how large it is.
    template <class Form, class Facts>
    static auto sized(index_t rows, index_t cols, [[maybe_unused]] Facts const& facts) {
        using T = typename element_of<Form>::type;
        using matrix = view<T const, typename Base::space>;
        if constexpr (sparse_form<Form>) {
            using Index = typename Form::index_type;
            csr<T, Index, typename Base::space> const list{rows, cols, {}, {}, {}, facts.most(rows, cols)};
            if constexpr (on_host)
                return list;
            else
                return approximate_parts::written_csr<T, Index, typename Base::space>{
                    list, matrix{{}, rows, cols, cols, 1}};
        } else {
            return matrix{{}, rows, cols, cols, 1};
        }
    }

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;
    static constexpr char const *name = "compressed", *unit = "buckets";

    template <class P>
    static constexpr verdict answer_of = [] {
        using T = typename P::c_type;
        constexpr bool one_type =
            std::is_same_v<T, typename P::a_type> && std::is_same_v<T, typename P::b_type>;
        return types_if(one_type && (std::is_same_v<T, float> || std::is_same_v<T, double>));
    }();

    // Listed sparse matrices, with each other or with matrices.
    template <class S>
    using exact = std::conditional_t<sparse_form<typename S::a_form> && sparse_form<typename S::b_form>,
                                     std::conditional_t<on_host, compressed_parts::sparse_pair_product<Base>,
                                                        compressed_parts::written_pair_product<Base>>,
                                     multiplier<Base, S>>;
    template <class P>
    static constexpr verdict accepts_operands = [] {
        using A = typename P::a_operand;
        using B = typename P::b_operand;
        using R = typename P::c_type;
        constexpr bool sparse_a = sparse_operand<A>, sparse_b = sparse_operand<B>;
        if constexpr (!is_view<typename P::c_operand>::value ||
                      !((sparse_a || is_view<A>::value) && (sparse_b || is_view<B>::value)))
            return verdict::structure;
        else if constexpr (!listed_with_values<A> || !listed_with_values<B>)
            return verdict::structure;
        else if constexpr (sparse_a && sparse_b)
            return answer_of<P> &
                   compressed::template accepts<dense_problem<R, R, R, space, typename P::epilogue_type>>;
        else
            return answer_of<P> & answer<performer<Base, P>, P>() &
                   compressed::template accepts<dense_problem<R, R, R, space, typename P::epilogue_type>>;
    }();

    explicit compressed(Base base, compressed_options options = {}) // option names: see compressed_options
        : layer(std::move(base)), options_(options) {}

    compressed_options const& options() const { return options_; }
    Base const& base() const { return base_; }

    template <class S>
    footprint workspace(S const& s) const {
        if constexpr (is_sparse<S>) {
            footprint all = layer::workspace(listed_shape(s));
            space::share(all) += bytes_to_list<typename S::a_form>(s.a_facts, s.m, s.k) +
                                 bytes_to_list<typename S::b_form>(s.b_facts, s.k, s.n);
            return all;
        } else {
            return layer::workspace(s);
        }
    }
    template <class S>
    footprint room(S const& s) const {
        footprint all = this->exact_for(s).workspace(s);
        auto const work = work_of(s);
        if (options_.nonzeros == 0)
            all = larger(all, work.room_of_norm());
        else if (plan const made = plan_of(s, known()); made.size.sketches > 0)
            space::share(all) = larger(space::share(all), bytes_of(work, made));
        return all;
    }
    template <class S>
    double seconds(S const& s) const {
        if (options_.nonzeros == 0) return __builtin_inf();
        plan const made = plan_of(s, known(), threads_for(s, leaf()));
        return made.size.sketches > 0 ? made.seconds : __builtin_inf();
    }
    template <class S>
    status check(S const& s) const {
        if (options_.nonzeros < 0) return failure(errc::argument, name, "`nonzeros` is a number of elements");
        if ((!on_host || is_sparse<S>)&&options_.form == compressed_form::fourier)
            return failure(errc::unsupported, name,
                           "form Fourier is for matrices on the host: take walsh_hadamard");
        return layer::check(s);
    }
    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        if constexpr (is_dense<P>)
            return layer::operator()(p, memory);
        else
            return list_and_multiply(p, memory);
    }
    template <class P>
    prediction predict(P const& p, line_norms const& norms) const {
        // A sum over all elements must not overflow.
        double const largest = sides(p.shape()) * norms.all_a * norms.all_b;
        if (!(4 * largest < largest_number<typename P::c_type>())) return {};
        return predict_by(p.shape(), options_.nonzeros > 0 ? known() : 1);
    }
    template <class P>
    status multiply(P const& p, line_norms const& norms, prediction& said, arena& memory) const {
        typename arena::scope const scope(memory);
        auto const work = work_with(approximate_parts::as_read(p.a), approximate_parts::as_read(p.b));
        double bad = known();
        if (options_.nonzeros == 0) {
            double norm = 0;
            if (status s = work.norm_of_product(fails(), norm, memory); !s) return s;
            double const x = sides(p.shape()) * norm / (norms.all_a * norms.all_b * allowed());
            bad = x * x;
            said = predict_by(p.shape(), bad);
            if (!said.pays) return {};
            said.error = options_.tolerance;
        }
        return write(p, work, plan_of(p.shape(), bad), memory);
    }

private:
    double known() const { return static_cast<double>(options_.nonzeros); }
    // Half of what may fail is that |A B| is larger than it is estimated to be.
    double fails() const { return (1 - options_.confidence) / (options_.nonzeros > 0 ? 1 : 2); }
    // What the sketches may be wrong by, relative to |A||B|; the rest is for rounding.
    double allowed() const { return 0.75 * options_.tolerance; }
    template <class S>
    static double sides(S const& s) {
        return __builtin_sqrt(static_cast<double>(s.m) * static_cast<double>(s.n));
    }
    template <class S>
    plan plan_of(S const& s, double bad, double threads = 1) const {
        return work_of(s).plan_for(bad, fails(), threads);
    }
    template <class A, class B>
    auto work_with(A const& a, B const& b) const {
        return compressed_parts::work<Base, std::remove_const_t<typename A::value_type>, A, B>(
            base_, options_, a, b);
    }
    template <class S>
    auto work_of(S const& s) const {
        auto const a = sized<typename S::a_form>(s.m, s.k, s.a_facts);
        auto const b = sized<typename S::b_form>(s.k, s.n, s.b_facts);
        return work_with(approximate_parts::as_read(a), approximate_parts::as_read(b));
    }
    template <class S>
    static auto listed_shape(S const& s) {
        auto const a = sized<typename S::a_form>(s.m, s.k, s.a_facts);
        auto const b = sized<typename S::b_form>(s.k, s.n, s.b_facts);
        shape<typename decltype(a)::form, typename decltype(b)::form, typename S::c_form> to{s.m, s.n, s.k,
                                                                                             s.count, s.adds};
        if constexpr (requires { a.facts(); }) to.a_facts = a.facts();
        if constexpr (requires { b.facts(); }) to.b_facts = b.facts();
        return to;
    }
    template <class Form, class Facts>
    static std::size_t bytes_to_list([[maybe_unused]] Facts const& facts, [[maybe_unused]] index_t rows,
                                     [[maybe_unused]] index_t cols) {
        if constexpr (!sparse_form<Form>)
            return 0;
        else
            return facts.template bytes<arena, leaf_of<Base>>(rows, cols) +
                   (on_host
                        ? 0
                        : compressed_parts::bytes_to_write_out<arena, typename Form::value_type>(rows, cols));
    }
    // Lists what is sparse, whose factors go into alpha.
    template <class P>
    status list_and_multiply(P const& p, arena& memory) const {
        using A = typename listed_as<typename P::a_operand>::type;
        using B = typename listed_as<typename P::b_operand>::type;
        typename arena::scope const scope(memory);
        problem<A, B, typename P::c_operand, typename P::epilogue_type> q{
            p.alpha, {},       {},       p.beta,   p.e,      p.c,    p.epilogue,
            p.count, p.a_step, p.b_step, p.e_step, p.c_step, p.row0, p.col0};
        if (status s = list(p.a, q.a, q.alpha, memory); !s) return s;
        if (status s = list(p.b, q.b, q.alpha, memory); !s) return s;
        return layer::operator()(q, memory);
    }
    template <class X, class To>
    status list(X const& x, To& to, auto& alpha, arena& memory) const {
        if constexpr (is_view<X>::value) {
            to = x;
        } else {
            auto made = x.listed(leaf(), memory);
            if (!made) return made.take_status();
            alpha = scaled_by(alpha, made->scale);
            made->scale = 1;
            if constexpr (on_host) {
                to = *made;
            } else {
                made->pieces = {}; // the plan knows of none
                auto places = compressed_parts::written_out(leaf(), *made, memory);
                if (!places) return places.take_status();
                to = {*made, *places};
            }
        }
        return {};
    }
    template <class S>
    prediction predict_by(S const& s, double bad) const {
        plan const made = plan_of(s, bad);
        prediction said;
        said.count = made.size.sketches > 0 ? static_cast<double>(made.size.numbers()) : 2 * bad; // or more
        said.typical = said.error = made.rounding;
        double const most = options_.nonzeros > 0 ? options_.tolerance : options_.tolerance - allowed();
        said.pays =
            made.size.sketches > 0 && made.rounding <= most && made.seconds < this->seconds_to_spend(s);
        return said;
    }

    // On a device, whichever side C has contiguous.
    template <class Work>
    static std::size_t bytes_of(Work const& work, plan const& made) {
        std::size_t const bytes = work.bytes(made.size);
        if constexpr (on_host)
            return bytes;
        else
            return larger(bytes, work.turned().bytes(made.size));
    }
    template <class P, class Work>
    status write(P const& p, Work const& work, plan const& made, arena& memory) const {
        footprint need;
        space::share(need) = bytes_of(work, made);
        if (!memory.fits(need)) {
            auto more = base_.reserve(need);
            if (!more) return more.take_status();
            return write(p, work, made, *more);
        }
        if constexpr (on_host) {
            return write_on_host(p, work, made, memory);
        } else {
            // Neighbours in a row of C read neighbours in a sketch. C^T = B^T A^T has others as rows.
            bool const turns = rows_are_closer(p.c);
            auto sketch = (turns ? work.turned() : work).on_device(made.size);
            if (status s = sketch.run(options_.seed, memory); !s) return s;
            return turns ? sketch.write(p.transposed(), true) : sketch.write(p, false);
        }
    }
    template <class P, class Work>
    status write_on_host(P const& p, Work const& work, plan const& made, arena& memory) const {
        using R = typename P::c_type;
        auto const q = p.without_epilogue();
        bool const is_plain = q.beta == R(0) && q.c.col_stride == 1;
        constexpr int parts = 256;
        R const alpha = is_plain ? q.alpha : R(1);
        status done = work.each(
            made.size, alpha, memory, parts, [&](int, index_t i, index_t j, index_t count, R const* x) {
                if (is_plain)
                    std::memcpy(&q.c(i, j), x, static_cast<std::size_t>(count) * sizeof(R));
                else
                    for (index_t l = 0; l < count; ++l) finish_element(q, i, j + l, x[l]);
            });
        if (!done) return done;
        if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
            return leaf().apply(p.epilogue, p.c, p.row0, p.col0);
        return {};
    }

    compressed_options options_;
};

// A product compressed from compressed products is that, and not a copy of one.
template <policy Base>
compressed(compressed<Base>) -> compressed<compressed<Base>>;

// The elements of A B, with A's and B's factors, whose magnitude is `threshold` or more: compressed/heavy.hpp.
template <policy Base, operand A, operand B>
auto heavy(compressed<Base> const& policy, A const& a, B const& b, double threshold) {
    auto const x = compressed_parts::heavy_operand(policy.base(), as_view(a));
    auto const y = compressed_parts::heavy_operand(policy.base(), as_view(b));
    using X = decltype(x.is);
    using Y = decltype(y.is);
    using R = std::remove_const_t<typename X::value_type>;
    auto found = compressed_parts::heavy_elements<Base, R, X, Y>(policy.base(), policy.options(), x.is, y.is)
                     .elements(threshold);
    found.or_throw();
    return std::move(*found);
}

STRATAGEMM_END
