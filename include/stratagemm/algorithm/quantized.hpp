// One operand of products in float or double, kept as residues for many of them.
//
//   sg::ozaki const policy{cpu, {.moduli = 15}};
//   auto const kept = sg::keep(policy, b);     // as the right operand; keep_left(policy, a) as the left one
//   sg::gemm(policy, a, kept, c);
//   sg::gemm(policy, x, kept, y);
//
// What depends on the operand alone (norms, scales, residues; packed, with a tile unit) is found when it is
// kept (core/keep.hpp). Products have the bits of those that take the matrix itself. What is kept also belongs to the
// number of moduli of its policy. It borrows the matrix: that must stay where it is and as it is, since products that
// ozaki leaves to its base (Inf, NaN, sums that might overflow) read it again.
//
// It takes explicit `moduli` scaled by norms: whatever else, an operand's integers depend on the other one.
// What is wrong with that, or with the operand, is told by each product. Threads may share what is kept, and
// a policy that has no `report`.
//
// On a device it lies in the device's memory, and is complete when keep() returns, so that products on any queue may
// take it. The memory goes back to the queue of the policy that kept it: a product on another queue has to be done
// before the last copy goes.
#pragma once

#include "../core/keep.hpp"
#include "ozaki.hpp"

STRATAGEMM_BEGIN

template <policy Base>
class quantized_product;

template <policy Base, class T>
struct quantized_form {
    using value_type = T;
    static constexpr bool has_facts = true;
    template <class>
    using over = quantized_product<Base>;

    char const* native = nullptr; // why its products are the base's, if they are
    std::size_t bytes = 0;
};

template <policy Base, class T, ozaki_parts::side Side>
class quantized {
    using alone = dense_problem<T, T, T, typename Base::space>;
    using work = ozaki_parts::integer_sums<ozaki<Base>, T>;
    static constexpr bool is_left = Side == ozaki_parts::side::left;

public:
    using value_type = T;
    using space = typename Base::space;
    using form = kept_form<quantized_form<Base, T>, ozaki<Base>>;
    static constexpr int most_views = 1;
    using lines = typename work::template lines_on<Side>;

    index_t rows = 0, cols = 0;

    quantized() = default;
    quantized(ozaki<Base> const& policy, view<T const, space> const& x)
        : rows(x.rows), cols(x.cols), of_(x), count_(policy.options_.moduli) {
        if (state_) state_->good = prepare(policy, *state_);
    }

    form facts() const { return state_ ? form{{state_->native, state_->bytes}} : form{}; }
    template <class F>
    void each_view(F&& f) const {
        f(of_);
    }
    // Why it cannot be multiplied, if so.
    status usable() const {
        if (!state_) return failure(errc::memory, "quantized: there was no memory to keep an operand");
        if (state_->good) return {};
        return state_->good.error();
    }

    view<T const, space> const& matrix() const { return of_; }
    ozaki_parts::kept_lines<lines> const& kept() const { return state_->kept; }
    int moduli() const { return count_; }

private:
    using arena = typename Base::arena;
    struct state {
        status good;
        char const* native = nullptr;
        std::size_t bytes = 0;
        arena memory;
        ozaki_parts::kept_lines<lines> kept{};
    };

    static lines lines_of(view<T const, space> const& x) {
        if constexpr (is_left)
            return {x};
        else
            return ozaki_parts::right_lines_of(x);
    }
    status prepare(ozaki<Base> const& policy, state& to) const {
        if (count_ == 0 || policy.probes(count_))
            return failure(errc::argument, "quantized: an operand can be kept for explicit `moduli` scaled "
                                           "by norms; for anything else its "
                                           "integers depend on the other operand");
        placed_view const at = place(of_, extent_of(of_));
        bool const readable =
            of_.rows > 0 && of_.cols > 0 && at.bytes.fits && !at.is_missing() && !at.is_outside();
        if (!readable) return {}; // a product says what is wrong with it
        alone p;
        index_t const k = is_left ? of_.cols : of_.rows;
        p.a = is_left ? of_ : view<T const, space>{{}, 0, k, k, 1};
        p.b = is_left ? view<T const, space>{{}, k, 0, 0, 1} : of_;
        p.c.rows = p.a.rows, p.c.cols = p.b.cols;
        if (status s = policy.check(p.shape()); !s) return s;
        if (status s = policy.check_device(); !s) return s;
        lines const line = lines_of(of_);
        std::size_t const residues = work::kept_bytes(policy, line, count_);
        to.bytes = policy.bytes_of_lines(line.count()) + arena::rounded(residues) +
                   policy.template bytes_of_facts<T>();
        auto memory = policy.reserve(policy.own(to.bytes));
        // A block that was kept for workspace, and is larger than this needs, is given back.
        if (memory && memory->size() / 2 > to.bytes)
            (void)(memory = policy.reserve(policy.own(to.bytes))); // nvcc warns of an assignment alone
        if (!memory) return memory.take_status();
        work one(policy, {p.a}, ozaki_parts::right_lines_of(p.b), p.shape(), *memory);
        auto const plan = one.plan();
        if (one.good() && plan.scheme == ozaki_parts::choice::natively) {
            to.native = plan.reason;
            return {};
        }
        to.kept = {one.template lines_of<Side>(),
                   memory->template take<std::byte>(static_cast<index_t>(residues))};
        to.memory = std::move(*memory);
        return one.template keep<Side>(to.kept.of, count_, to.kept.residues);
    }

    view<T const, space> of_{};
    int count_ = 0;
    shared<state> state_{state{}};
};

// The matrix must outlive what is kept of it.
template <policy Base, operand M>
requires lasting<M, Base>
auto keep(ozaki<Base> const& policy, M&& right) {
    return quantized<Base, value_of<M>, ozaki_parts::side::right>(policy, as_view(right));
}
template <policy Base, operand M>
requires lasting<M, Base>
auto keep_left(ozaki<Base> const& policy, M&& left) {
    return quantized<Base, value_of<M>, ozaki_parts::side::left>(policy, as_view(left));
}

// Products with one operand kept, or both.
template <policy Base>
class quantized_product : public product_over<ozaki<Base>> {
    using layer = product_over<ozaki<Base>>;
    using layer::base_;
    template <class A, class T, ozaki_parts::side Side>
    static constexpr bool is_kept = std::is_same_v<A, quantized<Base, T, Side>>;
    template <class P>
    static constexpr bool keeps_a =
        is_kept<typename P::a_operand, typename P::a_type, ozaki_parts::side::left>;
    template <class P>
    static constexpr bool keeps_b =
        is_kept<typename P::b_operand, typename P::b_type, ozaki_parts::side::right>;
    template <class P>
    using plain = dense_problem<typename P::a_type, typename P::b_type, typename P::c_type,
                                typename Base::space, typename P::epilogue_type>;

public:
    quantized_product(ozaki<Base> policy) : layer(std::move(policy)) {}
    using typename layer::arena, typename layer::space;

    template <class P>
    static constexpr verdict accepts_operands = [] {
        constexpr bool known = (keeps_a<P> || is_view<typename P::a_operand>::value) &&
                               (keeps_b<P> || is_view<typename P::b_operand>::value) &&
                               is_view<typename P::c_operand>::value;
        if constexpr (known)
            return answer<ozaki<Base>, plain<P>>();
        else
            return verdict::structure;
    }();

    template <class S>
    footprint workspace(S const& s) const {
        auto one = plain_shape(s);
        one.count = 1;
        if (native_of(s)) return base_.base_.workspace(one);
        return base_.workspace_beside(one, has_facts<typename S::a_form>, has_facts<typename S::b_form>);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return base_.error_bound(plain_shape(s));
    }
    template <class S>
    double estimate(S const& s) const {
        return native_of(s) ? base_.base_.estimate(plain_shape(s)) : base_.estimate(plain_shape(s));
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string text;
        auto const add = [&](char const* name, auto const& facts) {
            if constexpr (requires { facts.bytes; })
                text += std::string(name) +
                        (facts.native ? " is not kept: " + std::string(facts.native)
                                      : " is kept in " + std::to_string(facts.bytes) + " bytes") +
                        "; ";
        };
        add("quantized: A", s.a_facts), add("quantized: B", s.b_facts);
        return text + (native_of(s) ? base_.base_.describe(plain_shape(s)) : base_.describe(plain_shape(s)));
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (wrong_count(p.a) || wrong_count(p.b))
            return failure(
                errc::argument,
                "quantized: an operand was kept by a policy with another number of moduli; keep it anew");
        char const* const native = native_of(p.shape());
        for (index_t i = 0; i < p.count; ++i) {
            auto const q = plain_of(p.at(i));
            if (native) base_.tell({ozaki_parts::choice::natively, 0, 0, 0, native}, q.shape(), true);
            status s = native ? base_.base_(q, memory) : multiply(q, p, memory);
            if (!s) return s;
        }
        return {};
    }

private:
    template <class Form>
    static constexpr bool has_facts = requires {
        requires Form::has_facts;
    };
    template <class S>
    static auto plain_shape(S const& s) {
        return shape<typename S::a_type, typename S::b_type, typename S::c_type>{s.m, s.n, s.k, s.count,
                                                                                 s.adds};
    }
    template <class S>
    static char const* native_of(S const& s) {
        char const* reason = nullptr;
        if constexpr (has_facts<typename S::a_form>) reason = s.a_facts.native;
        if constexpr (has_facts<typename S::b_form>)
            if (!reason) reason = s.b_facts.native;
        return reason;
    }
    template <class A>
    bool wrong_count(A const& x) const {
        if constexpr (requires { x.moduli(); }) return x.moduli() != base_.options_.moduli;
        return false;
    }

    // The product of the matrices themselves; what scales them is a part of alpha.
    template <class P>
    static auto plain_of(P const& p) {
        plain<P> q;
        q.alpha = p.alpha, q.beta = p.beta, q.e = p.e, q.c = p.c, q.epilogue = p.epilogue;
        q.row0 = p.row0, q.col0 = p.col0;
        auto const take = [&](auto const& x) {
            if constexpr (requires { x.matrix(); }) {
                auto v = x.matrix();
                q.alpha = q.alpha * v.scale;
                v.scale = decltype(v.scale)(1);
                return v;
            } else {
                return x;
            }
        };
        q.a = take(p.a), q.b = take(p.b);
        return q;
    }
    template <class Q, class P>
    status multiply(Q const& q, P const& p, arena& memory) const {
        using work = ozaki_parts::product<ozaki<Base>, Q>;
        ozaki_parts::kept_lines<typename work::left> const* a = nullptr;
        ozaki_parts::kept_lines<typename work::right> const* b = nullptr;
        if constexpr (keeps_a<P>) a = &p.a.kept();
        if constexpr (keeps_b<P>) b = &p.b.kept();
        return base_.multiply(q, memory, a, b);
    }
};

STRATAGEMM_END
