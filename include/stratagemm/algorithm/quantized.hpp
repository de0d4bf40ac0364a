// One operand of products in float or double, kept as residues for many of them: a layer over `ozaki`.
//
//   sg::quantized by_b{sg::ozaki{cpu, {.moduli = 15}}, b};
//   sg::gemm(by_b, a, b, c);
//   sg::gemm(by_b, x, b, y);
//
// What depends on the operand alone (norms, scales, residues; packed, with a tile unit) is found when the policy is
// made, and lies in memory of its own, which copies of the policy share. Calls pass the operand as they would
// without this layer, and get the same bits. It is recognised by address, shape, strides and conjugation; other
// operands are refused. The policy borrows the operand: that must stay where it is and as it is, since products that
// ozaki leaves to its base (Inf, NaN, sums that might overflow) read it again.
//
// It takes explicit `moduli` scaled by norms: whatever else, an operand's integers depend on the other one. What is
// wrong with that, or with the operand, is told by each call. Threads may share a policy that has no `report`.
#pragma once

#include "ozaki.hpp"

STRATAGEMM_BEGIN

enum class kept { a, b };

template <policy Base, class T>
class quantized {
    using alone = dense_problem<T, T, T, typename Base::space>;
    using work = ozaki_parts::product<ozaki<Base>, alone>;

public:
    using space = typename Base::space;
    using arena = typename Base::arena;

    template <class P>
    static constexpr verdict
        accepts = types_if(std::is_same_v<typename P::c_type, T>&& std::is_same_v<space, host_memory>) &
                  answer<ozaki<Base>, P>();

    template <operand M>
    requires(std::is_lvalue_reference_v<M> || !has_view<M>) // else it would dangle
        quantized(ozaki<Base> policy, M&& x, kept which = kept::b)
        : policy_(std::move(policy)), of_(as_view(x)), which_(which) {
        state_->good = prepare(*state_);
    }

    auto leaf() const { return policy_.leaf(); }
    result<arena> reserve(footprint f) const { return policy_.reserve(f); }

    template <class S>
    footprint workspace(S s) const {
        if (!state_->good) return {};
        s.count = 1;
        if (state_->native) return policy_.base_.workspace(s);
        return policy_.workspace_beside(s, which_ == kept::a, which_ == kept::b);
    }
    template <class S>
    bound error_bound(S const& s) const {
        return policy_.error_bound(s);
    }
    template <class S>
    double estimate(S const& s) const {
        return state_->native ? policy_.base_.estimate(s) : policy_.estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        std::string const name = which_ == kept::a ? "quantized: A" : "quantized: B";
        if (!state_->good) return name + " cannot be kept; " + policy_.describe(s);
        if (state_->native)
            return name + " is not kept: " + state_->native + "; " + policy_.base_.describe(s);
        return name + " is kept in " + std::to_string(state_->bytes) + " bytes; " + policy_.describe(s);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        state const& made = *state_;
        if (!made.good) return made.good.error();
        bool const of_a = which_ == kept::a;
        bool const same = of_a ? recognises(p.a, p.count, p.a_step) : recognises(p.b, p.count, p.b_step);
        if (!same)
            return failure(
                errc::argument, "quantized",
                of_a ? "A is not the operand that is kept; pass the same view, once for a whole batch"
                     : "B is not the operand that is kept; pass the same view, once for a whole batch");
        for (index i = 0; i < p.count; ++i)
            if (status s = multiply(made, p.at(i), memory); !s) return s;
        return {};
    }

private:
    struct state {
        status good;
        char const* native = nullptr; // why all products are the base's
        std::size_t bytes = 0;
        arena memory;
        ozaki_parts::kept_lines<typename work::left> a{};
        ozaki_parts::kept_lines<typename work::right> b{};
        int users = 1;
    };

    // Shared by copies; the last one deletes it.
    class shared {
    public:
        shared() : state_(new state) {}
        shared(shared const& other) : state_(other.state_) {
            __atomic_add_fetch(&state_->users, 1, __ATOMIC_RELAXED);
        }
        shared& operator=(shared other) noexcept {
            std::swap(state_, other.state_);
            return *this;
        }
        ~shared() {
            if (__atomic_sub_fetch(&state_->users, 1, __ATOMIC_ACQ_REL) == 0) delete state_;
        }
        state& operator*() const { return *state_; }
        state* operator->() const { return state_; }

    private:
        state* state_;
    };

    // ---- what is kept ------------------------------------------------------------------------------------

    status prepare(state& to) const {
        if (policy_.options_.moduli == 0 || policy_.probes(policy_.options_.moduli))
            return failure(
                errc::argument, "quantized",
                "an operand can be kept for explicit `moduli` scaled by norms; for anything else its "
                "integers depend on the other operand");
        if (!readable()) return {}; // a call says what is wrong with it
        bool const of_a = which_ == kept::a;
        alone p;
        index const k = of_a ? of_.cols : of_.rows;
        p.a = of_a ? of_ : view<T const, space>{nullptr, 0, k, k, 1};
        p.b = of_a ? view<T const, space>{nullptr, k, 0, 0, 1} : of_;
        p.c.rows = p.a.rows, p.c.cols = p.b.cols;
        if (status s = policy_.check(p.shape()); !s) return s;
        return of_a ? keep(p, to, to.a) : keep(p, to, to.b);
    }
    template <class Lines>
    status keep(alone const& p, state& to, ozaki_parts::kept_lines<Lines>& made) const {
        int const count = policy_.options_.moduli;
        Lines const lines{of_};
        std::size_t const residues = work::kept_bytes(policy_, lines, count);
        to.bytes = policy_.bytes_of_lines(lines.count()) + arena::rounded(residues);
        auto memory = reserve(policy_.own(to.bytes));
        // A block that was kept for workspace, and is larger than this needs, is given back.
        if (memory && memory->size() / 2 > to.bytes) memory = reserve(policy_.own(to.bytes));
        if (!memory) return memory.take_status();
        work one(policy_, p, *memory);
        auto const plan = one.plan();
        if (one.good() && plan.scheme == ozaki_report::native) {
            to.native = plan.reason;
            return {};
        }
        made = {one.lines_of(lines), memory->template take<std::byte>(static_cast<index>(residues))};
        to.memory = std::move(*memory);
        return one.keep(made.of, count, made.residues);
    }
    bool readable() const {
        return of_.rows > 0 && of_.cols > 0 && of_.data != nullptr &&
               extent_of(of_.rows, of_.cols, of_.row_stride, of_.col_stride, 1, 0, index{sizeof(T)}).fits;
    }

    bool recognises(view<T const, space> const& x, index count, index step) const {
        return x.data == of_.data && x.rows == of_.rows && x.cols == of_.cols &&
               (x.row_stride == of_.row_stride || x.rows == 1) &&
               (x.col_stride == of_.col_stride || x.cols == 1) &&
               (x.conjugate == of_.conjugate || !complex_like<T>)&&(count == 1 || step == 0);
    }

    template <class P>
    status multiply(state const& made, P const& p, arena& memory) const {
        if (made.native) {
            if (auto* const report = policy_.options_.report)
                *report = {ozaki_report::native, 0, 0, 0, made.native};
            return policy_.base_(p, memory);
        }
        return policy_.multiply(p, memory, which_ == kept::a ? &made.a : nullptr,
                                which_ == kept::b ? &made.b : nullptr);
    }

    ozaki<Base> policy_;
    view<T const, space> of_;
    kept which_;
    shared state_;
};

template <policy Base, operand M>
quantized(ozaki<Base>, M&&, kept = kept::b) -> quantized<Base, value_of<M>>;

STRATAGEMM_END
