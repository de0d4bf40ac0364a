// From tensors to problems of the library: factors, batches and epilogues in the types of one product.
#pragma once

#include "product.hpp"

#include <stratagemm/gemm.hpp>

namespace stratagemm_python {

// ---- factors ---------------------------------------------------------------------------------------------

// A factor as a number of type S, which holds it: see check_scalars().
template <class S>
S scalar_as(std::complex<double> const& x) {
    if constexpr (sg::complex_like<S>)
        return S(static_cast<typename S::value_type>(x.real()),
                 static_cast<typename S::value_type>(x.imag()));
    else
        return static_cast<S>(x.real());
}
template <class S>
bool is_one_of(std::complex<double> const& x) {
    if constexpr (sg::complex_like<S>)
        return true;
    else if constexpr (std::is_integral_v<S>)
        return x.imag() == 0 && x.real() >= -0x1p31 && x.real() < 0x1p31 &&
               x.real() == static_cast<S>(x.real());
    else
        return x.imag() == 0;
}
template <class S>
bool is_real_enough(product const& p) {
    return is_one_of<S>(p.alpha) && is_one_of<S>(p.beta);
}
template <class S>
outcome check_scalars(product const& p) {
    if (is_real_enough<S>(p)) return {};
    return refuse_types(std::string("gemm: alpha and beta are ") +
                        (std::is_integral_v<S> ? "whole numbers of 32 bits" : "real numbers") +
                        ", as the elements of these matrices are");
}

// ---- batches ---------------------------------------------------------------------------------------------

// The dimensions before the last two, of C and of the operands that it is made of. Dimensions that one stride follows
// are one.
struct batch_dimensions {
    struct one {
        index_t side = 1, a = 0, b = 0, c = 0, e = 0; // strides
    };
    one of[most_dimensions - 2];
    int count = 0; // 0: no batch

    // Fails where the sides do not fit.
    sg::status find(product const& p);
    one innermost() const { return count > 0 ? of[0] : one{}; }
    // f(part) for each product that remains: tensors at the places of the outer dimensions.
    template <class F>
    void each_outer(product const& p, F const& f) const {
        index_t all = 1;
        for (int d = 1; d < count; ++d) all *= of[d].side;
        for (index_t at = 0; at < all; ++at) {
            one moved;
            index_t rest = at;
            for (int d = 1; d < count; ++d) {
                index_t const i = rest % of[d].side;
                rest /= of[d].side;
                moved.a += i * of[d].a, moved.b += i * of[d].b, moved.c += i * of[d].c,
                    moved.e += i * of[d].e;
            }
            f_moved(p, moved, f);
        }
    }

private:
    template <class F>
    static void f_moved(product const& p, one const& by, F const& f) {
        auto const shifted = [](tensor const* x, index_t elements, tensor& to) -> tensor const* {
            if (!x) return nullptr;
            to = *x;
            if (to.data) to.data = static_cast<std::byte*>(to.data) + elements * facts(to.type).bytes;
            return &to;
        };
        tensor a, b, c, e;
        product part = p;
        part.a = shifted(p.a, by.a, a), part.b = shifted(p.b, by.b, b), part.c = shifted(p.c, by.c, c),
        part.e = shifted(p.e, by.e, e);
        f(part);
    }
};

// Whether a product is one of matrices, without more than two factors.
inline bool is_plain(product const& p) {
    return p.a && p.b && !p.e && p.epilogue.empty() && p.a->dimensions == 2 && p.b->dimensions == 2 &&
           p.c->dimensions == 2;
}

// The problem of a call. A, B: as the library has operands; C: the type of its elements. place(x): the batch x in the
// memory that its pointers are of.
constexpr auto on_the_host = [](auto const& x) { return x; };
template <class C, class A, class B, class Epilogue, class Place>
auto stated(product const& p, batch_dimensions const& batch, A const& a, B const& b, Epilogue const& epilogue,
            Place const& place) {
    using S = sg::scalar_of<A const&, B const&>;
    auto const in = batch.innermost();
    auto const c = sg::batched(p.c->matrix<C>(), in.side, in.c);
    sg::batch<C const> e{c.first, c.count, c.stride};
    if (p.e) e = sg::batched(p.e->matrix<C const>(), in.side, in.e);
    return sg::product(scalar_as<S>(p.alpha), a, b, scalar_as<S>(p.beta), place(e), place(c), epilogue);
}
template <class T, class C, class Epilogue, class Place = decltype(on_the_host)>
auto stated_dense(product const& p, batch_dimensions const& batch, Epilogue const& epilogue,
                  Place const& place = on_the_host) {
    auto const in = batch.innermost();
    return stated<C>(p, batch, place(sg::batched(p.a->matrix<T const>(), in.side, in.a)),
                     place(sg::batched(p.b->matrix<T const>(), in.side, in.b)), epilogue, place);
}

// ---- epilogues -------------------------------------------------------------------------------------------

// What is wrong with a step for sums of type S, or null.
template <class S>
char const* wrong_step(stated_step const& s) {
    bool const orders = s.what == step_kind::relu || s.what == step_kind::clamp || s.what == step_kind::gelu;
    if (sg::complex_like<S> && orders) return "gemm: relu, gelu and clamp are for real numbers";
    if (!std::is_floating_point_v<S> && s.what == step_kind::gelu)
        return "gemm: gelu is for floating-point numbers";
    if (!is_one_of<S>(s.first) || !is_one_of<S>(s.second))
        return "gemm: the numbers of clamp and scale are not of the type in which the products are summed";
    return nullptr;
}
// The epilogue of a call, for sums of type S on the host; the values of a bias, one for each row or column, are copied.
template <class S>
struct steps_of {
    steps<S> value;
    sg::status status;
    bool is_of_types = false;

    outcome failed() const {
        if (status) return {};
        return {sg::status(status.error()), is_of_types};
    }
    explicit steps_of(product const& p) {
        all_.reserve(p.epilogue.size());
        values_.resize(p.epilogue.size());
        for (std::size_t i = 0; i < p.epilogue.size() && status; ++i) add(p.epilogue[i], values_[i]);
        value.first = all_.data(), value.count = static_cast<int>(all_.size());
    }

private:
    void refuse(char const* text) {
        status = sg::failure(sg::errc::argument, text);
        is_of_types = true;
    }
    void add(stated_step const& from, std::vector<S>& values) {
        if (char const* const wrong = wrong_step<S>(from)) return refuse(wrong);
        if (from.values && !read(*from.values, values))
            return refuse(
                "gemm: the values of bias and scale have the type of C, or that in which the products are "
                "summed");
        all_.push_back({from.what, from.axis, scalar_as<S>(from.first), scalar_as<S>(from.second),
                        values.data(), static_cast<index_t>(values.size())});
    }
    template <class T>
    static void copy_values(tensor const& from, std::vector<S>& to) {
        for (index_t i = 0; i < from.side[0]; ++i)
            to.push_back(static_cast<S>(static_cast<T const*>(from.data)[i * from.stride[0]]));
    }
    static bool read(tensor const& from, std::vector<S>& to) {
        if (from.device != on_host) return false;
        if (from.type == kind_of<S>)
            copy_values<S>(from, to);
        else if (from.type == kind::float16 && std::is_same_v<S, float>)
            copy_widened<sg::half>(from, to);
        else if (from.type == kind::bfloat16 && std::is_same_v<S, float>)
            copy_widened<sg::bfloat16>(from, to);
        else
            return false;
        return true;
    }
    template <class T>
    static void copy_widened(tensor const& from, std::vector<S>& to) {
        if constexpr (std::is_same_v<S, float>) copy_values<T>(from, to);
    }

    std::vector<step<S>> all_;
    std::vector<std::vector<S>> values_;
};

} // namespace stratagemm_python
