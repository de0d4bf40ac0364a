// The library as its user has it; Strassen's product over it beside its base, and beside one that pads odd sides; and
// checked products beside those of their base; and floats times weights of bfloat16 beside those of floats.
#include "weights.hpp"

#include <stratagemm/algorithm/verified.hpp>

namespace sg = stratagemm;

namespace bench {
namespace {

using enum element;
sg::host cpu(problem const& p) { return {.threads = p.threads}; }

// Strassen's product whose sides all levels divide: of copies of A and B with zeros in further rows and columns,
// whose product is copied to C.
class padded : public sg::strassen<sg::host> {
public:
    padded(problem const& p, int levels) : strassen(cpu(p), {.levels = levels}), parts_(1 << levels) {}

    template <class S>
    sg::footprint workspace(S const& s) const {
        S const whole = padded_shape(s);
        auto const bytes = [](sg::index_t rows, sg::index_t cols) {
            return arena::rounded(std::size_t(rows * cols) * sizeof(typename S::c_type));
        };
        sg::footprint all = strassen::workspace(whole);
        all.host += bytes(whole.m, whole.k) + bytes(whole.k, whole.n) + bytes(whole.m, whole.n);
        return all;
    }
    template <class P>
    sg::status operator()(P const& p, arena& memory) const {
        using T = typename P::c_type;
        arena::scope const scope(memory);
        auto const s = padded_shape(p.shape());
        auto const room = [&](sg::index_t rows, sg::index_t cols) {
            return sg::view<T>{memory.take<T>(rows * cols), rows, cols, cols, 1};
        };
        sg::view<T> const a = room(s.m, s.k), b = room(s.k, s.n), c = room(s.m, s.n);
        auto const pad = [&](sg::view<T const> const& from, sg::view<T> const& to) {
            leaf().copy(from, to.part(0, 0, from.rows, from.cols)).or_throw();
            leaf().fill(to.part(from.rows, 0, to.rows - from.rows, to.cols), T(0)).or_throw();
            leaf().fill(to.part(0, from.cols, from.rows, to.cols - from.cols), T(0)).or_throw();
        };
        pad(p.a, a), pad(p.b, b);
        P whole = p;
        whole.a = a, whole.b = b, whole.c = c, whole.e = c;
        if (sg::status x = strassen::operator()(whole, memory); !x) return x;
        return leaf().copy(c.part(0, 0, p.c.rows, p.c.cols), p.c);
    }

private:
    template <class S>
    S padded_shape(S s) const {
        for (sg::index_t* const side : {&s.m, &s.n, &s.k}) *side = (*side + parts_ - 1) / parts_ * parts_;
        return s;
    }

    sg::index_t parts_;
};

} // namespace

contenders make_libraries() {
    contenders all;
    all.push_back(make_policy<forms{.batches = true}, f32, f64, bf16, i8>("stratagemm", role::library, cpu));
    return all;
}

contenders make_invariant() {
    contenders all;
    auto const in_order = [](problem const& p) { return sg::host{.threads = p.threads, .invariant = true}; };
    all.push_back(make_policy<forms{}, f32, f64>("invariant", role::library, in_order));
    all.push_back(make_policy<forms{}, f32, f64>("host", role::peer, cpu));
    return all;
}

contenders make_strassen() {
    contenders all;
    auto const over = [](problem const& p) { return sg::strassen{cpu(p)}; };
    auto const one_level = [](problem const& p) { return sg::strassen{cpu(p), {.levels = 1}}; };
    all.push_back(make_policy<forms{}, f32, f64>("strassen{host}", role::library, over));
    all.push_back(make_policy<forms{}, f32, f64>("1 level", role::peer, one_level));
    all.push_back(make_policy<forms{}, f32, f64>("host", role::peer, cpu));
    return all;
}

contenders make_odd_sides(int levels) {
    contenders all;
    auto const peeled = [=](problem const& p) { return sg::strassen{cpu(p), {.levels = levels}}; };
    auto const copied = [=](problem const& p) { return padded(p, levels); };
    all.push_back(make_policy<forms{}, f32, f64>("peeled", role::library, peeled));
    all.push_back(make_policy<forms{}, f32, f64>("padded", role::peer, copied));
    return all;
}

contenders make_verified() {
    contenders all;
    auto const checked = [](problem const& p) { return sg::verified{cpu(p)}; };
    all.push_back(make_policy<forms{}, f32, f64>("verified{host}", role::library, checked));
    all.push_back(make_policy<forms{}, f32, f64>("host", role::peer, cpu));
    return all;
}

contenders make_host_weights() { return make_weights(cpu); }

} // namespace bench
