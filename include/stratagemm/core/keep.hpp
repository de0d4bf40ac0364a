// What is made of an operand once, for many products: the residues of `ozaki`, rows of a csr in pieces, a list of the
// elements that are not zero.
//
//   auto const kept = sg::keep(policy, b);         for the right operand of products
//   auto const kept = sg::keep_left(policy, a);    for the left one
//   sg::gemm(policy, a, kept, c);
//
// What is kept is an operand. It belongs to the type of the policy that made it: a product of another policy does not
// compile. It has memory of its own, in the memory space of the policy; copies share that memory, and the last copy gives
// it back. It borrows the arrays of the operand itself, which must stay where they are, unless the operand is `owned`.
//
// An algorithm or a structure overloads keep() and keep_left() for the operands and policies that it knows. It needs
//   reserve_for(policy, bytes)   memory that copies share; memory_of<P>(x) is the memory of an `owned` x
//   owned<X, P>                  an operand X and its memory
//   kept<X, P>                   the same, for policies of type P alone: owned<kept_operand<X, P>, P>
//   kept_form<F, P>              the form of an operand for policies of type P alone
//   shared<T>                    anything else that copies share
//   lasting<M, P>                whether an argument may be borrowed
#pragma once

#include "policy.hpp"

#include <new>

STRATAGEMM_BEGIN

// A T that copies share; the last copy deletes it. It is empty if there was no host memory. Copies may be made and go on
// any thread.
template <class T>
class shared {
    struct node;

public:
    shared() = default;
    explicit shared(T value) : node_(new (std::nothrow) node{std::move(value)}) {}
    shared(shared const& other) : node_(other.node_) {
        if (node_) __atomic_add_fetch(&node_->users, 1, __ATOMIC_RELAXED);
    }
    shared(shared&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    shared& operator=(shared other) noexcept {
        std::swap(node_, other.node_);
        return *this;
    }
    ~shared() {
        if (node_ && __atomic_sub_fetch(&node_->users, 1, __ATOMIC_ACQ_REL) == 0) delete node_;
    }

    explicit operator bool() const { return node_; }
    T& operator*() const { return node_->value; }
    T* operator->() const { return &node_->value; }

    // `other` stays as long as this does. Only for one that is not empty and has no copies yet.
    void hold(shared other) const { node_->also = std::move(other); }

private:
    node* node_ = nullptr;
};
template <class T>
struct shared<T>::node {
    T value;
    int users = 1;
    shared also{};
};

// Reserves bytes in the memory of a policy, for copies to share.
template <class P>
result<shared<typename P::arena>> reserve_for(P const& policy, std::size_t bytes) {
    footprint room;
    P::space::share(room) = bytes;
    auto memory = policy.reserve(room);
    if (!memory) return memory.take_status();
    shared<typename P::arena> made(std::move(*memory));
    if (!made) return failure(errc::memory, "stratagemm: no host memory is left");
    return made;
}

// An operand, such as a sparse matrix, whose arrays lie in memory that copies share; policies of type P made the memory.
template <class X, class P>
class owned {
public:
    using value_type = typename X::value_type;
    using arena = typename P::arena;

    owned() = default;
    owned(shared<arena> memory, X const& view) : memory_(std::move(memory)), view_(view) {}

    index_t rows() const { return view_.rows; }
    index_t cols() const { return view_.cols; }
    X view() const { return view_; }                        // for as long as a copy of this is there
    shared<arena> const& memory() const { return memory_; } // for another view of the same arrays

    // A kept operand as the operand beneath, which any policy of its memory may multiply.
    template <class Y>
    requires(std::derived_from<X, Y> && !std::same_as<X, Y>) operator owned<Y, P>() const {
        return {memory_, view_};
    }

private:
    shared<arena> memory_;
    X view_;
};

// The memory of an `owned` operand; none for an operand that borrows its arrays.
template <class P, class M>
shared<typename P::arena> memory_of([[maybe_unused]] M const& x) {
    if constexpr (requires {
                      requires std::same_as<typename M::arena, typename P::arena>;
                      x.memory();
                  })
        return x.memory();
    else
        return {};
}
// Whether what is kept of an argument M&& may borrow it: M is no temporary with memory of its own, or it shares the memory.
template <class M, class P>
concept lasting = std::is_lvalue_reference_v<M> || !has_view<M> || requires(M & x) {
    { x.memory() } -> std::same_as<shared<typename P::arena> const&>;
};

// A form like F, whose products policies of type P alone perform.
template <class F, class P>
struct kept_form : F {
    template <class Q>
    requires std::same_as<Q, P>
    using over = typename F::template over<Q>;

    auto transposed() const requires requires(F const& f) { f.transposed(); }
    {
        auto const form = F::transposed();
        return kept_form<std::remove_const_t<decltype(form)>, P>{form};
    }
};
// An operand X for policies of type P alone.
template <class X, class P>
struct kept_operand : X {
    using form = kept_form<typename X::form, P>;

    form facts() const { return {X::facts()}; }
    auto transposed() const requires requires(X const& x) { x.transposed(); }
    {
        auto const x = X::transposed();
        return kept_operand<std::remove_const_t<decltype(x)>, P>{x};
    }
};
// What is kept of a kept operand is that operand.
template <class X, class P>
struct kept_once {
    using type = kept_operand<X, P>;
};
template <class X, class P>
struct kept_once<kept_operand<X, P>, P> {
    using type = kept_operand<X, P>;
};
template <class X, class P>
using kept = owned<typename kept_once<X, P>::type, P>;

STRATAGEMM_END
