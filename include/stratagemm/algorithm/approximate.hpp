// What approximate policies share: products that may be wrong by a tolerance, and say how wrong they are.
//
//   sg::gemm(sg::monte_carlo{cpu, {.tolerance = 0.1, .seed = 7}}, a, b, c);
//
// A policy of this kind is a layer over any policy, and runs only where a call names it. Its options are
//   tolerance     of |C - A B| relative to |A||B|, in the Frobenius norm: more than 0, less than 1; it has to be given
//   confidence    the probability, whatever the data, that a result keeps the tolerance
//   seed          of all random numbers: the same call gives the same bits, for any number of threads
//   otherwise     what happens where the tolerance is not kept, or not with less work than the exact product: the call is
//                 refused, or the base does the product exactly
//   certify       whether the error of each result is measured by random vectors that it was not made from
//   report        written by each call, if not null
//
// First, the error is predicted from norms, in one pass over A and B: how much work the tolerance takes, at that
// confidence. If the base's exact product is estimated to take less, the call is refused with errc::argument, before C
// is touched, or the product is exact. Inf and NaN in A or B, and norms whose squares leave the range of double, are
// treated likewise; so is |A||B| beyond 2^-60 and 2^60 on a device without double. If A B is zero, it is exact. A
// certificate beyond the tolerance has the product done again, exactly; if `otherwise` is refuse, the call fails with
// errc::verification, and C is not to be used.
//
// alpha, beta, E and the epilogue are as everywhere: what is approximated is A B.
#pragma once

#include "../backend/host/memory.hpp"
#include "../core/layer.hpp"
#include "approximate/certificate.hpp"
#include "approximate/sparse.hpp"

STRATAGEMM_BEGIN

enum class otherwise {
    refuse, // the call fails
    exact   // the base does the product
};

namespace approximate_parts {

// What the options of all approximate policies have in common.
struct terms {
    double tolerance, confidence;
    std::uint64_t seed;
    stratagemm::otherwise otherwise;
    bool certify;
    stratagemm::report* report;

    template <class Options>
    explicit terms(Options const& o)
        : tolerance(o.tolerance), confidence(o.confidence), seed(o.seed), otherwise(o.otherwise),
          certify(o.certify), report(o.report) {}
};

// Norms of one product: of column l of A and of row l of B, for each l < k, and of all of A and B.
struct line_norms {
    double *a, *b;
    index_t k;
    double all_a, all_b;
};

// What a policy says of a product before it does it. Errors are relative to |A||B|.
struct prediction {
    double count = 0;   // of draws, or whatever the policy's `unit` is, that the tolerance takes
    double error = 0;   // that they keep, with the confidence
    double typical = 0; // root of the mean square of their error
    bool pays = false;  // whether they are estimated to take less time than the exact product
    double most = 0;    // that pay
    double least = 0;   // error that these keep, with the confidence
};

} // namespace approximate_parts

// The base of an approximate policy: Method{Base, options}. Method has
//   name, unit                       "monte_carlo", "draws"
//   options()                        with the members that this file's opening comment lists
//   exact<S>                         if it takes sparse operands: the policy over Base that does their products
//   answer_of<P>                     the verdict about what it needs beyond a product P of the base
//   room(s)                          what multiply() takes from an arena, the base's workspace among it
//   seconds(s)                       an estimate of multiply() for typical data; Inf: it does not pay
//   predict(p, norms)                a prediction, from no work but on norms
//   multiply(p, norms, said, arena)  C = epilogue(alpha X + beta E), where X is near A B. It may set said.error to what it
//                                    promises now, or clear said.pays and leave C as it is
// with s and p of one product.
template <class Method, policy Base>
class approximate : public layer_over<Base> {
    using layer = layer_over<Base>;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>,
                          on_device = device_leaf<leaf_of<Base>, typename Base::space>;
    template <class T>
    static constexpr bool is_rounded =
        std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, half> ||
        std::is_same_v<T, bfloat16> || complex_like<T>;
    // Sparse operands are read by their elements on the host; a device writes them out.
    template <class Form>
    static constexpr bool is_list = on_host&& sparse_form<Form>;
    template <class P>
    using plain = decltype(std::declval<P const&>().without_epilogue());

protected:
    using layer::base_;
    using line_norms = approximate_parts::line_norms;
    using prediction = approximate_parts::prediction;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    // The base does products with the epilogue, without it, and exact ones. Integers are not approximated.
    template <class P>
    static constexpr verdict accepts = [] {
        if constexpr (!on_host && !on_device)
            return verdict::leaf;
        else if constexpr (!is_rounded<typename P::a_type> || !is_rounded<typename P::b_type> ||
                           !is_rounded<typename P::c_type>)
            return verdict::types;
        else
            return answer<Base, P>() & answer<Base, plain<P>>() & Method::template answer_of<P>;
    }();

    explicit approximate(Base base) : layer(std::move(base)) {}

    template <class S>
    footprint workspace(S s) const {
        s.count = 1;
        footprint room = larger(exact_for(s).workspace(s), self().room(s)), fixed;
        if (terms().certify)
            with_certificate(s, [&]<class Certificate>(Certificate*) {
                footprint const all = Certificate::room(base_, s);
                space::share(fixed) += space::share(all); // its vectors stay while the product is done
                if (s.adds) space::share(fixed) += bytes_of_copy(s);
            });
        std::size_t squares = 0;
        if constexpr (!is_list<typename S::a_form>)
            squares += approximate_parts::bytes_for_squares<arena, typename S::a_type>(space{}, s.k, s.m);
        if constexpr (!is_list<typename S::b_form>)
            squares += approximate_parts::bytes_for_squares<arena, typename S::b_type>(space{}, s.k, s.n);
        space::share(room) = larger(space::share(room), squares);
        if constexpr (on_host) fixed.host += bytes_of_norms(s);
        return room + fixed;
    }
    // In units of the bound of a normwise algorithm, |A||B| is at most sqrt(m n).
    template <class S>
    bound error_bound(S const& s) const {
        bound const exact = exact_for(s).error_bound(s);
        double const elements =
            static_cast<double>(larger_of(1, s.m)) * static_cast<double>(larger_of(1, s.n));
        auto const t = terms();
        return {t.tolerance * __builtin_sqrt(elements) + exact.worst, t.tolerance + exact.expected, true,
                all_hold(t.confidence < exact.confidence ? t.confidence : exact.confidence,
                         static_cast<double>(s.count))};
    }
    // For data whose norms are alike; one pass over the operands, and a product, or none that is refused.
    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        double const fast = self().seconds(s);
        double seconds = seconds_of_norms(s);
        double const exact = exact_for(s).estimate(s);
        if (fast < exact)
            seconds += fast + seconds_of_certificate(s);
        else if (terms().otherwise == otherwise::exact)
            seconds += exact;
        return count * seconds;
    }
    template <class S>
    std::string describe(S const& s) const {
        auto const t = terms();
        char text[240];
        __builtin_snprintf(
            text, sizeof(text),
            "%s: %s that keep |C - A B| <= %.2g |A||B| with a confidence of %.4g; where they are "
            "more work than the exact product, %s: ",
            Method::name, Method::unit, t.tolerance, t.confidence,
            t.otherwise == otherwise::exact ? "it is done" : "the call is refused");
        return text + exact_for(s).describe(s);
    }
    template <class S>
    status check(S const& s) const {
        auto const t = terms();
        if (!(t.tolerance > 0 && t.tolerance < 1))
            return wrong("give a `tolerance` of |C - A B| / |A||B|: more than 0 and less than 1");
        if (!(t.confidence > 0 && t.confidence < 1))
            return wrong("`confidence` is more than 0 and less than 1");
        if (t.certify && !with_certificate(s, [](auto*) {}))
            return failure(errc::unsupported, Method::name,
                           "the policy beneath has no products of doubles, which a certificate takes");
        return layer::check(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (status s = check(p.shape()); !s) return s;
        auto const t = terms();
        report made;
        made.ran = Method::name, made.reason = "predicted to keep the tolerance";
        made.seed = t.seed, made.bound.confidence = t.confidence, made.bound.normwise = true;
        status done;
        for (index_t i = 0; done && i < p.count; ++i) done = one(p.at(i), t, memory, made);
        if (t.report) *t.report = made;
        return done;
    }

protected:
    // One pass over A and B.
    template <class S>
    double seconds_of_norms(S const& s) const {
        auto const m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
        double a = m * k * sizeof(typename S::a_type), b = k * n * sizeof(typename S::b_type);
        if constexpr (is_list<typename S::a_form>) a = bytes_of_elements<S>(s.a_facts.likely(s.m, s.k));
        if constexpr (is_list<typename S::b_form>) b = bytes_of_elements<S>(s.b_facts.likely(s.k, s.n));
        if constexpr (on_device) { // written out first
            if constexpr (sparse_form<typename S::a_form>) a *= 2;
            if constexpr (sparse_form<typename S::b_form>) b *= 2;
        }
        return (a + b) / bandwidth(s);
    }
    template <class S>
    static double bytes_of_elements(index_t elements) {
        return static_cast<double>(elements) * (sizeof(typename S::wide_type) + sizeof(std::int64_t));
    }
    // What does products of a shape exactly.
    template <class S>
    decltype(auto) exact_for(S const&) const {
        if constexpr (sparse_form<typename S::a_form> || sparse_form<typename S::b_form>)
            return typename Method::template exact<S>(base_);
        else
            return (base_);
    }
    // Bytes a second that a pass over a matrix moves, roughly.
    template <class S>
    double bandwidth(S const& s) const {
        if constexpr (on_host)
            return 8e9 * threads_for(s, leaf());
        else
            return leaf().limits().bandwidth;
    }
    // What an exact product leaves to an approximate one, for one thread: seconds.
    template <class S>
    double seconds_to_spend(S s) const {
        s.count = 1;
        s = to_choose_by(s);
        return exact_for(s).estimate(s) - seconds_of_norms(s) - seconds_of_certificate(s);
    }

    // A product that is a part of this one. Its workspace is there, but smaller shapes may take more than larger ones.
    template <class On, class Q>
    static status run_part(On const& policy, Q const& q, arena& memory) {
        footprint const need = policy.workspace(q.shape());
        if (memory.fits(need)) return run_checked(policy, q, memory);
        auto more = policy.reserve(need);
        if (!more) return more.take_status();
        return run_checked(policy, q, *more);
    }
    // The most that pays of what takes `seconds(x)`, for x from 1 to below `end`, or up to 2% less, which saves as much;
    // 0: nothing does. Estimates are nearly straight, and take microseconds: few are asked for.
    template <class S, class F>
    index_t most_that_pays(S const& s, index_t end, F const& seconds) const {
        double const spend = seconds_to_spend(s);
        index_t low = 0, high = end < 0x7fffffff ? end : 0x7fffffff; // `low` pays, and `high` does not
        double spare = spend,
               beyond = 0; // what `low` leaves, and what `high` takes too much, if it was asked for
        index_t at = high / 4;
        for (bool halves = false; high - low > 1 && high - low > low / 50;) {
            at = at <= low ? low + 1 : at >= high ? high - 1 : at;
            index_t const all = high - low, step = at - low;
            double const left = spend - seconds(at);
            double line =
                1; // of the way from `low` to `high`, where the line through what is known meets `spend`
            if (left > 0) {
                double const used = spare - left;
                low = at, spare = left;
                if (beyond == 0 && used > 0)
                    line = 1.01 * spare / used * static_cast<double>(step) / static_cast<double>(high - low);
            } else {
                high = at, beyond = -left;
            }
            if (beyond > 0) line = spare / (spare + beyond);
            if (halves || !(line < 1)) line = 0.5;
            at = low + static_cast<index_t>(line * static_cast<double>(high - low));
            halves = !halves && 2 * (high - low) > all;
        }
        return low;
    }

private:
    template <class S>
    using certificate_of = approximate_parts::certificate<Base, S>;
    template <class S>
    using narrow_of = approximate_parts::narrow_certificate<Base, S>;
    using terms_type = approximate_parts::terms;

    Method const& self() const { return static_cast<Method const&>(*this); }
    terms_type terms() const { return terms_type(self().options()); }
    [[gnu::cold, gnu::noinline]] static status wrong(char const* why) {
        return failure(errc::argument, Method::name, why);
    }
    template <class S>
    static std::size_t bytes_of_norms(S const& s) {
        return 2 * arena::rounded(static_cast<std::size_t>(s.k) * sizeof(double));
    }
    template <class S>
    static std::size_t bytes_of_copy(S const& s) {
        return arena::rounded(static_cast<std::size_t>(s.m * s.n) * sizeof(typename S::c_type));
    }
    template <class S>
    double seconds_of_certificate(S const& s) const {
        double all = 0;
        if (terms().certify)
            with_certificate(s,
                             [&]<class Certificate>(Certificate*) { all = Certificate::seconds(base_, s); });
        return all;
    }
    // Whether the device, if it is one, has double.
    bool has_double() const {
        if constexpr (on_host)
            return true;
        else
            return leaf().limits().has_double;
    }
    // f(a null pointer to the type of the certificate); false: there is none for these products.
    template <class S, class F>
    bool with_certificate(S const&, F const& f) const {
        if constexpr (narrow_of<S>::is_possible)
            if (!has_double()) return f(static_cast<narrow_of<S>*>(nullptr)), true;
        if constexpr (certificate_of<S>::is_possible)
            if (has_double()) return f(static_cast<certificate_of<S>*>(nullptr)), true;
        return false;
    }

    // One product of a batch. Norms are in the arena on the host, and in memory of their own beside a device.
    template <class P>
    status one(P const& p, terms_type const& t, arena& memory, report& made) const {
        typename arena::scope const scope(memory);
        if constexpr (on_host) {
            return look(p, t, memory, memory, made);
        } else {
            footprint room;
            room.host = bytes_of_norms(p.shape());
            auto host = reserve_host(room, Method::name);
            if (!host) return host.take_status();
            return look(p, t, memory, *host, made);
        }
    }
    template <class P, class Host>
    status look(P const& p, terms_type const& t, arena& memory, Host& host, report& made) const {
        line_norms norms{};
        norms.k = p.a.cols;
        norms.a = host.template take<double>(2 * norms.k), norms.b = norms.a + norms.k;
        if (status s = measure(p, norms, memory); !s) return s;
        bool is_zero = true;
        for (index_t l = 0; l < norms.k; ++l) {
            norms.all_a += norms.a[l], norms.all_b += norms.b[l];
            is_zero = is_zero && (norms.a[l] == 0 || norms.b[l] == 0);
        }
        if (is_zero) return nothing(p, norms, memory, made);
        approximate_parts::take_roots(norms.a, 2 * norms.k);
        // Squares below 2^-1074 are lost: of elements that are less than 2^-80 of a norm in this range.
        auto const in_range = [](double squares) { return squares >= 0x1p-900 && squares <= 0x1p1000; };
        if (!in_range(norms.all_a) || !in_range(norms.all_b) || !is_finite(scale_of_alpha(p)))
            return instead(p, t, memory, made,
                           "A, B or alpha has Inf or NaN, or squares of elements leave the range of double");
        norms.all_a = __builtin_sqrt(norms.all_a), norms.all_b = __builtin_sqrt(norms.all_b);
        double const both = norms.all_a * norms.all_b;
        if (!has_double() && !(both >= 0x1p-60 && both <= 0x1p60))
            return instead(p, t, memory, made,
                           "the device has no double, and products of elements may leave the range of float");
        prediction said = self().predict(p, norms);
        if (!said.pays) return too_much(p, t, said, memory, made);
        return approximately(p, t, norms, said, memory, made);
    }
    // Sums of squares, in one pass over A and B.
    template <class P>
    status measure(P const& p, line_norms& norms, arena& memory) const {
        using namespace approximate_parts;
        constexpr bool of_a = is_csr_list<typename P::a_operand>, of_b = is_csr_list<typename P::b_operand>;
        if constexpr (!of_a && !of_b) {
            return squares_of_both(leaf(), as_read(p.a).transposed(), as_read(p.b), norms.a, memory);
        } else {
            if constexpr (of_a)
                squares_of_columns(p.a, norms.a);
            else if (status s = squares_of_rows(leaf(), p.a.transposed(), norms.a, memory); !s)
                return s;
            if constexpr (of_b)
                squares_of_rows(p.b, norms.b);
            else if (status s = squares_of_rows(leaf(), p.b, norms.b, memory); !s)
                return s;
            return {};
        }
    }
    template <class P>
    static double scale_of_alpha(P const& p) {
        using S = typename P::scalar;
        if constexpr (complex_like<S>)
            return __builtin_hypot(static_cast<double>(p.alpha.real()), static_cast<double>(p.alpha.imag()));
        else
            return __builtin_fabs(static_cast<double>(p.alpha));
    }

    // All products of norms are zero. So is A B, unless squares vanished that are too small for a double.
    template <class P>
    status nothing(P const& p, line_norms const& norms, arena& memory, report& made) const {
        made.ran = "native", made.reason = "A B is zero";
        bool const is_known = is_finite(norms.all_a) && is_finite(norms.all_b) &&
                              std::is_same_v<real_t<typename P::scalar>, float>;
        if (!is_known) return exact_for(p.shape())(p, memory);
        return scale_only(leaf(), p);
    }
    // What happens where nothing is predicted.
    template <class P>
    status instead(P const& p, terms_type const& t, arena& memory, report& made, char const* why) const {
        made.ran = "native", made.reason = why;
        if (t.otherwise == otherwise::exact) return exact(p, memory, made);
        made.ran = "refused";
        return wrong(why);
    }
    template <class P>
    status exact(P const& p, arena& memory, report& made) const {
        auto const& policy = exact_for(p.shape());
        made.error = 0, made.bound = policy.error_bound(p.shape());
        return policy(p, memory);
    }
    template <class P>
    status too_much(P const& p, terms_type const& t, prediction const& said, arena& memory,
                    report& made) const {
        made.ran = "native", made.reason = "the exact product is less work than the tolerance takes";
        made.error = said.least;
        if (t.otherwise == otherwise::exact) return exact(p, memory, made);
        made.ran = "refused";
        char text[300];
        int const used = __builtin_snprintf(
            text, sizeof(text),
            "a tolerance of %.2g takes %.6g %s, which are more work than the exact product; ", t.tolerance,
            said.count, Method::unit);
        auto const rest = sizeof(text) - static_cast<std::size_t>(used);
        if (said.most >= 1)
            __builtin_snprintf(
                text + used, rest,
                "%.6g of them are less, and predicted to be within %.2g |A||B|: raise `tolerance`, "
                "or set otherwise::exact",
                said.most, said.least);
        else
            __builtin_snprintf(text + used, rest, "set otherwise::exact, or multiply by the policy beneath");
        return wrong(text);
    }

    template <class P>
    status approximately(P const& p, terms_type const& t, line_norms const& norms, prediction& said,
                         arena& memory, report& made) const {
        if (t.certify) {
            status done; // check() has refused what has no certificate
            auto const s = p.shape();
            with_certificate(s, [&]<class Certificate>(Certificate*) {
                // Other numbers than the product draws.
                Certificate proof(base_, s, ~t.seed * 0x9e3779b97f4a7c15u);
                done = certified_product(p, t, norms, said, proof, memory, made);
            });
            return done;
        }
        if (status s = self().multiply(p, norms, said, memory); !s) return s;
        if (!said.pays) return too_much(p, t, said, memory, made);
        tell(said, made);
        return {};
    }
    static void tell(prediction const& said, report& made) {
        made.count += static_cast<int>(said.count < 0x7fffffff ? said.count : 0x7fffffff);
        made.products += 1;
        made.error = made.error < said.typical ? said.typical : made.error;
        made.bound.worst = made.bound.worst < said.error ? said.error : made.bound.worst;
        made.bound.expected = made.error;
    }

    template <class P, class Certificate>
    status certified_product(P const& p, terms_type const& t, line_norms const& norms, prediction& said,
                             Certificate& proof, arena& memory, report& made) const {
        auto const first = p.without_epilogue();
        auto again = first; // with an E that stays
        if (first.beta != typename P::scalar(0) && t.otherwise == otherwise::exact &&
            space::buffer(p.e.data) == space::buffer(p.c.data) &&
            space::address(p.e.data) == space::address(p.c.data)) {
            view<typename P::c_type, space> const copy{
                memory.template take<typename P::c_type>(p.c.rows * p.c.cols), p.c.rows, p.c.cols, p.c.cols,
                1};
            again.e.conjugate = false;
            if (status s = leaf().copy(again.e, copy); !s) return s;
            again.e = copy;
            again.e.conjugate = p.e.conjugate;
        }
        if (status s = proof.begin(first, memory); !s) return s;
        if (status s = self().multiply(first, norms, said, memory); !s) return s;
        if (!said.pays) return too_much(p, t, said, memory, made);
        double off = 0;
        if (status s = proof.finish(p.c, t.confidence, off, memory); !s) return s;
        said.error = off / (scale_of_alpha(p) * norms.all_a * norms.all_b);
        tell(said, made);
        if (!(said.error <= t.tolerance)) {
            made.reason = "a certificate was beyond the tolerance", made.repeated += 1;
            if (t.otherwise == otherwise::refuse) return uncertified(said.error, t.tolerance);
            made.ran = "native";
            if (status s = exact(again, memory, made); !s) return s;
        } else {
            made.reason = "certified to keep the tolerance";
        }
        if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
            return leaf().apply(p.epilogue, p.c, p.row0, p.col0);
        return {};
    }
    [[gnu::cold, gnu::noinline]] static status uncertified(double error, double tolerance) {
        char text[240];
        __builtin_snprintf(
            text, sizeof(text),
            "the error is certified to be at most %.2g |A||B|, which is beyond the tolerance of %.2g: "
            "do not use C; take another seed, or set otherwise::exact",
            error, tolerance);
        return failure(errc::verification, Method::name, text);
    }
};

STRATAGEMM_END
