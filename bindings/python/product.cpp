#include "product.hpp"

#include "stated.hpp"

#include <algorithm>
#include <cstdlib>

namespace stratagemm_python {
namespace {

// One dimension of a batch, `from` the last two outwards: its side and stride in x. True where x has it.
bool dimension_of(tensor const& x, int from, index_t& side, index_t& stride) {
    int const at = x.dimensions - 3 - from;
    side = at >= 0 ? x.side[at] : 1;
    stride = at >= 0 && side != 1 ? x.stride[at] : 0;
    return at >= 0;
}
sg::status refuse_batch(char const* name, index_t side, index_t of_c) {
    char text[200];
    __builtin_snprintf(text, sizeof(text),
                       "%s has %td matrices along a dimension in which C has %td: they are as many, or one",
                       name, side, of_c);
    return sg::failure(sg::errc::shape, "gemm", text);
}
// The stride of an operand along a dimension of C, which may repeat the operand.
sg::status stride_of(tensor const* x, char const* name, int from, index_t of_c, index_t& stride) {
    index_t side = 1;
    if (x) dimension_of(*x, from, side, stride);
    if (side != 1 && side != of_c) return refuse_batch(name, side, of_c);
    return {};
}
bool follows(batch_dimensions::one const& inner, batch_dimensions::one const& outer) {
    return outer.a == inner.a * inner.side && outer.b == inner.b * inner.side &&
           outer.c == inner.c * inner.side && outer.e == inner.e * inner.side;
}

// The types that are multiplied.
struct pair {
    kind a, c;
    outcome (*multiply)(product const&);
    made_plan (*plan)(planned_shape const&);
};
template <class T, class C = T>
constexpr pair pair_for{kind_of<T>, kind_of<C>, multiply_types<T, C>, plan_types<T, C>};
constexpr pair pairs[] = {pair_for<double>,
                          pair_for<float>,
                          pair_for<std::complex<float>>,
                          pair_for<std::complex<double>>,
                          pair_for<sg::half>,
                          pair_for<sg::half, float>,
                          pair_for<sg::bfloat16>,
                          pair_for<sg::bfloat16, float>,
                          pair_for<std::int8_t, std::int32_t>};
pair const* pair_of(kind a, kind c) {
    for (pair const& one : pairs)
        if (one.a == a && one.c == c) return &one;
    return nullptr;
}

} // namespace

sg::status batch_dimensions::find(product const& p) {
    tensor const* const operands[] = {p.a, p.b, p.e};
    for (tensor const* x : operands)
        if (x && x->dimensions > p.c->dimensions)
            return sg::failure(sg::errc::shape, "gemm: an operand has more dimensions than C");
    one all[most_dimensions];
    int known = 0;
    for (int from = 0; from < p.c->dimensions - 2; ++from) {
        one d;
        dimension_of(*p.c, from, d.side, d.c);
        if (sg::status s = stride_of(p.a, "A", from, d.side, d.a); !s) return s;
        if (sg::status s = stride_of(p.b, "B", from, d.side, d.b); !s) return s;
        if (p.e) {
            if (sg::status s = stride_of(p.e, "the added matrix", from, d.side, d.e); !s) return s;
        } else {
            d.e = d.c;
        }
        if (d.side != 1) all[known++] = d;
    }
    // Matrices C that lie beside each other come first: parts of a group may not reach over each other.
    std::stable_sort(all, all + known,
                     [](one const& x, one const& y) { return std::abs(x.c) < std::abs(y.c); });
    for (int i = 0; i < known; ++i)
        if (count > 0 && follows(of[count - 1], all[i]))
            of[count - 1].side *= all[i].side;
        else
            of[count++] = all[i];
    return {};
}

outcome refuse_types(std::string text) {
    auto const at = text.find(": ");
    return {sg::failure(sg::errc::unsupported, text.substr(0, at), text.substr(at + 2)), true};
}

outcome multiply(product const& p) {
    if (p.with) return multiply_structured(p);
    if (are_two_types(p.a->type, p.b->type) && p.c->type == kind::float32 && (!p.e || p.e->type == p.c->type))
        return multiply_two_types(p);
    if (p.b->type == p.a->type && (!p.e || p.e->type == p.c->type))
        if (auto const* const found = pair_of(p.a->type, p.c->type)) return found->multiply(p);
    return refuse_types(std::string("gemm: there is no product of ") + facts(p.a->type).name + " and " +
                        facts(p.b->type).name + " into " + facts(p.c->type).name +
                        (p.e && p.e->type != p.c->type
                             ? std::string(", to which ") + facts(p.e->type).name + " is added"
                             : std::string()) +
                        ": A, B and C have one type, or C float32 for float16 and bfloat16, and int32 for "
                        "int8; A and B may be of "
                        "float32 and float16 or bfloat16, or of one of these and int8, with C of float32");
}
outcome refuse_two_types(char const* name, char const* known) {
    return refuse_types(std::string("gemm: the policy ") + name + " multiplies no two element types here; '" +
                        known + "' does");
}

made_plan make_plan(planned_shape const& s) {
    auto const* const found = pair_of(s.a_type, s.c_type);
    if (!found)
        return {nullptr, refuse_types(std::string("plan: there is no product of ") + facts(s.a_type).name +
                                      " into " + facts(s.c_type).name)};
    made_plan made = found->plan(s);
    if (made.what) made.what->shape = s;
    return made;
}

} // namespace stratagemm_python
