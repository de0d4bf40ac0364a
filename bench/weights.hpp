// Products of floats whose B, the weights of a network, is kept in a narrower type. Its elements are rounded before, and
// each of them is then widened by the product.
#pragma once

#include "policy.hpp"

namespace bench {

template <class Narrow, class Make>
class narrow_weights final : public contender {
    using made = std::remove_cvref_t<decltype(std::declval<Make&>()(problem{}))>;
    using space = typename made::space;
    using arena = typename made::arena;
    static constexpr bool on_host = std::is_same_v<space, stratagemm::host_memory>;

public:
    narrow_weights(std::string name, Make make) : name_(std::move(name)), make_(make) {}

    std::string name() const override { return name_; }
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return role::library; }
    bool takes(problem const& p) const override {
        return p.type == element::f32 && p.count == 1 && !p.added && !p.relu && p.group.empty();
    }
    void prepare(problem const& p, operands const& x) override {
        auto const over = make_(p);
        if (x.set == 0) {
            weights_.clear();
            arena_ = reserved(over, over.workspace(product_of(p, x, {}).shape()));
        }
        stratagemm::footprint room;
        space::share(room) = std::size_t(p.k * p.n) * sizeof(Narrow);
        weights_.push_back(reserved(over, room));
        auto const narrow = weights_.back().template take<Narrow>(p.k * p.n);
        places_.resize(std::size_t(x.set) + 1), places_.back() = narrow;
        over.leaf().copy(floats_of_b(p, x), like_b(p, narrow)).or_throw();
        over.leaf().synchronize().or_throw();
    }
    void run(problem const& p, operands const& x) override {
        auto const over = make_(p);
        auto const product = product_of(p, x, places_[std::size_t(x.set)]);
        if constexpr (on_host)
            stratagemm::run(over, product).or_throw();
        else
            over(product, arena_).or_throw();
    }
    guarantee bound(problem const& p) const override {
        stratagemm::shape<float, Narrow> const s{p.m, p.n, p.k};
        auto const b = make_(p).error_bound(s);
        return {b.worst + stratagemm::unit_roundoff<Narrow>(), b.normwise};
    }

private:
    using handle = typename space::template handle<Narrow>;

    static arena reserved(made const& over, stratagemm::footprint const& room) {
        auto memory = over.reserve(room);
        memory.or_throw();
        return std::move(*memory);
    }
    static stratagemm::view<float const, space> floats_of_b(problem const& p, operands const& x) {
        return matrix_at<float const, space>(x.b, 0, p.k, p.n, p.b_transposed);
    }
    static stratagemm::view<Narrow, space> like_b(problem const& p, handle const& at) {
        return {at, p.k, p.n, p.b_transposed ? 1 : p.n, p.b_transposed ? p.k : 1};
    }
    static auto product_of(problem const& p, operands const& x, handle const& weights) {
        return stratagemm::product(matrix_at<float const, space>(x.a, 0, p.m, p.k, p.a_transposed),
                                   like_b(p, weights), matrix_at<float, space>(x.c, 0, p.m, p.n));
    }

    std::string name_;
    mutable Make make_;
    arena arena_{};
    std::vector<arena> weights_; // of each set of operands
    std::vector<handle> places_;
};

// Beside the same policy with floats, which is the peer.
template <class Make>
contenders make_weights(Make make) {
    contenders all;
    all.push_back(std::make_unique<narrow_weights<stratagemm::bfloat16, Make>>("bfloat16 weights", make));
    all.push_back(make_policy<forms{}, element::f32>("float weights", role::peer, make));
    return all;
}

} // namespace bench
