// Split products: float, real or complex, out of bfloat16 products of the policy beneath.
//
// Every element is taken apart into three bfloat16, x = h + m + l, without a remainder: 24 bits are three
// times eight. 3, 6 or all 9 products of parts are multiplied and summed in float, small ones first:
//
//   products   what is multiplied                  what is left out, at most
//   3          hh + (hm + mh)                      2^-15 |A||B|
//   6          and (mm + hl + lh)                  2^-24 |A||B|
//   9          and (ml + lm), ll                   nothing
//
// Parts p of A lie side by side, parts q of B in reverse order beneath each other, so that the sum over p + q
// = d is one product. By default as many are taken as `accuracy` asks for. `accuracy` is about the products: sums
// are rounded as the base rounds its sums of float, of which the largest are kept short; error_bound() counts
// that in.
//
// On NVIDIA's sm_90a all products are one kernel (split/warpgroups.hpp). There, three products are of half where the
// exponents of each operand spread over no more than 28 binades: x = h + 2^-12 m with 11 bits each, which leaves out
// 2^-21 |A||B| at most.
//
// Matrix engines read subnormal bfloat16 as zero and flush small sums, so elements are scaled by one power of
// two for each operand if they are not within [2^-40, 2^48). Where no power brings them there, where there is
// Inf or NaN, and where results might leave the range of float, the base's own product runs.
//
// Henry, Tang, Heinecke: Leveraging the bfloat16 artificial intelligence datatype for higher-precision
// computations, 2019 (arXiv 1904.06376).
#pragma once

#include "split/device.hpp"
#include "split/host.hpp"
#include "split/parts.hpp"
#include "split/warpgroups.hpp"

#include "../core/accuracy.hpp"
#include "../core/layer.hpp"

STRATAGEMM_BEGIN

// What a split product did: `ran` is bfloat16, half or native, `count` the parts of an element, `products` those of
// matrices of parts, m n k multiply-adds each; 0 of both if native. The last product of a batch writes it.
using split_report = report;

struct split_options {
    int products = 0; // 3, 6 or 9, or 0 for as many as `accuracy` asks for
    stratagemm::accuracy accuracy = stratagemm::accuracy::fp32;
    split_report* report = nullptr; // written by each product, if not null
};

template <policy Base>
class split : public layer_over<Base> {
    using layer = layer_over<Base>;
    using layer::base_;
    using floats = view<float const, typename Base::space>;
    using narrow = view<bfloat16 const, typename Base::space>;
    using narrow_shape = shape<bfloat16>;
    template <class Epilogue = identity>
    using narrow_problem = dense_problem<bfloat16, bfloat16, float, typename Base::space, Epilogue>;
    static constexpr bool on_device = device_leaf<leaf_of<Base>, typename Base::space>;

public:
    using layer::leaf;
    using typename layer::arena, typename layer::space;

    template <class P>
    static constexpr verdict accepts = [] {
        using T = typename P::a_type;
        constexpr bool taken_apart = std::is_same_v<T, typename P::b_type> &&
                                     std::is_same_v<T, typename P::c_type> &&
                                     std::is_same_v<real_t<T>, float> && std::is_same_v<T, accumulator_t<T>>;
        if constexpr (taken_apart && !on_device && !std::is_same_v<space, host_memory>)
            return verdict::leaf;
        else if constexpr (taken_apart)
            return answer<Base, P>() & parts_if(takes<Base, narrow_problem<>>);
        else // products of int8 go to the base as they are, for `ozaki` above
            return types_if(std::is_same_v<T, std::int8_t> && std::is_same_v<T, typename P::b_type>) &
                   answer<Base, P>();
    }();

    explicit split(Base base, split_options options = {}) // option names: see split_options
        : layer(std::move(base)), options_(options) {}

    template <class S>
    footprint workspace(S s) const {
        if constexpr (!takes_apart<S>) return base_.workspace(s);
        s.count = 1; // one after the other
        footprint const native = base_.workspace(s);
        if (!check(s)) return native;
        bool const both = complex_like<typename S::c_type>;
        index_t const m = both ? 2 * s.m : s.m, k = both ? 2 * s.k : s.k;
        footprint beneath;
        each_product(k, chain, [&](int d, index_t depth, bool) {
            for (bool const adds : {false, true})
                beneath = larger(beneath, base_.workspace(narrow_shape{m, s.n, depth * pairs(d), 1, adds}));
            return true;
        });
        std::size_t own = bytes<bfloat16>(padded(m), parts() * padded(k)) +
                          bytes<bfloat16>(padded(s.n), parts() * padded(k));
        if constexpr (has_warpgroups)
            if (is_one_kernel(m, s.n, k))
                beneath = {}, own = split_parts::bytes_for_warpgroups<arena>(m, k, parts()) +
                                    split_parts::bytes_for_warpgroups<arena>(s.n, k, parts()) +
                                    bytes<float>(1, split_parts::totals_for_warpgroups(leaf(), k));
        if constexpr (tiled) {
            std::size_t const packed = bytes<std::byte>(on_host().bytes(m, k, parts()), 1) +
                                       bytes<std::byte>(on_host().bytes(s.n, k, parts()), 1);
            own = larger(own, packed);
        }
        if constexpr (on_device)
            own += bytes<float>(2, decltype(device())::table_size);
        else
            own += bytes<float>(m, split_parts::measures) + bytes<float>(s.n, split_parts::measures) +
                   bytes<std::int32_t>(1, 1);
        if (both) own += bytes<float>(m, k) + bytes<float>(k, s.n) + bytes<float>(m, s.n);
        footprint f;
        space::share(f) = own;
        return larger(native, f + beneath);
    }

    // What is left out, the base's sums with their share of |A||B|, and the additions to C: these may be as
    // wrong as the base is for a single term, and are expected to round twice. Or the base's own bound, where
    // that is larger, since it may run instead.
    template <class S>
    bound error_bound(S const& s) const {
        bound const native = base_.error_bound(s);
        if (!takes_apart<S> || s.k == 0 || !check(s)) return native;
        constexpr bool both = complex_like<typename S::c_type>;
        index_t const k = both ? 2 * s.k : s.k;
        auto const terms = static_cast<double>(k);
        bool const one_kernel = is_one_kernel(both ? 2 * s.m : s.m, s.n, k);
        double left = left_out();
        if (takes_half() && left < half_leaves_out && one_kernel) left = half_leaves_out;
        bound b{left, left * (k > 9 ? 3 / __builtin_sqrt(terms) : 1), false};
        double additions = one_kernel ? terms / split_parts::warpgroup_long_chain : 0;
        int last = -1;
        each_product(k, one_kernel ? split_parts::warpgroup_chain : chain, [&](int d, index_t depth, bool) {
            ++additions;
            if (d == last) return true; // the same share, of other terms
            bound const x = base_.error_bound(narrow_shape{s.m, s.n, depth * pairs(d), 1, true});
            b.worst += share(d) * x.worst, b.expected += share(d) * x.expected;
            last = d;
            return true;
        });
        bound const one = base_.error_bound(narrow_shape{s.m, s.n, 1, 1, true});
        b.worst += additions * one.worst,
            b.expected += __builtin_sqrt(additions) * 2 * unit_roundoff<float>();
        if (both) b.worst = 1.5 * b.worst + 0x1p-23, b.expected = 1.5 * b.expected + 0x1p-23;
        return larger(native, b);
    }

    template <class S>
    double estimate(S s) const {
        auto const count = static_cast<double>(std::exchange(s.count, 1));
        double const native = base_.estimate(s);
        if constexpr (takes_apart<S>)
            if (check(s) && (options_.products != 0 || !native_is_faster(s)))
                return count * seconds_in_parts(s);
        return count * native;
    }

    template <class S>
    std::string describe(S const& s) const {
        if (!takes_apart<S>) return base_.describe(s);
        if (status wrong = check(s); !wrong) return wrong.error().what();
        constexpr index_t both = complex_like<typename S::c_type> ? 2 : 1;
        index_t const k = both * s.k;
        if (is_one_kernel(both * s.m, s.n, k))
            return "split: " + std::to_string(products()) + " products of " + std::to_string(parts()) +
                   " parts" + (takes_half() ? ", or 3 of 2 parts in half if exponents allow it," : "") +
                   " in one kernel; or natively: " + base_.describe(s);
        return "split: " + std::to_string(products()) + " products of " + std::to_string(parts()) +
               " parts; " + base_.describe(narrow_shape{s.m, s.n, k}) + "; or natively: " + base_.describe(s);
    }

    // What is wrong with the options, by themselves or for this shape, or with those of the base. int8 products are the
    // base's.
    template <class S>
    status check(S const& s) const {
        if (status own = check_options(s); !own) return own;
        return layer::check(s);
    }

    // The same of the options alone.
    template <class S>
    status check_options(S const& s) const {
        if (!takes_apart<S>) return {};
        auto const fail = [](char const* text) { return failure(errc::argument, text); };
        int const x = options_.products;
        double const eps = options_.accuracy.eps;
        if (x != 0 && x != 3 && x != 6 && x != 9)
            return fail("split: `products` must be 3, 6 or 9, or 0 to have the layer choose");
        if (x == 0 && !(eps >= accuracy::fp64.eps && eps <= 0.25))
            return fail("split: `accuracy` must be 2 to 53 bits (2^-53 to 1/4): no type of C holds more");
        if (s.k * (complex_like<typename S::c_type> ? 2 : 1) > longest)
            return fail("split: k must be at most 2^30 (2^29 for complex); add up products over parts of k");
        return {};
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if constexpr (!takes_apart<P>) {
            report ran;
            ran.reason = "products of int8 are not split", ran.bound = error_bound(p.shape());
            if (options_.report) *options_.report = ran;
            return base_(p, memory);
        } else {
            if (status s = check(p.shape()); !s) return s;
            for (index_t i = 0; i < p.count; ++i)
                if (status s = multiply(p.at(i), memory); !s) return s;
            return {};
        }
    }

private:
    template <class S>
    static constexpr bool takes_apart = std::is_same_v<real_t<typename S::c_type>, float>;

    // Whether the leaf may have a tile unit; and then, what is done with it.
    static constexpr bool tiled = tiled_host_leaf<leaf_of<Base>>;
    auto on_host() const { return split_tiles::on_host(leaf()); }
    auto device() const { return split_parts::on_device<leaf_of<Base>, space>(leaf()); }

    // Whether the leaf may have warpgroups that multiply.
    static constexpr bool has_warpgroups = warpgroup_leaf<leaf_of<Base>, space>;
    // Whether one kernel of warpgroups does all products of parts of a real m x n x k.
    bool is_one_kernel([[maybe_unused]] index_t m, [[maybe_unused]] index_t n,
                       [[maybe_unused]] index_t k) const {
        if constexpr (has_warpgroups)
            return split_parts::can_multiply_by_warpgroups(leaf(), m, n, k, parts());
        else
            return false;
    }

    static constexpr index_t longest = index_t{1} << 30;
    static constexpr index_t chain = 512; // the most terms of hh that are summed before the sum goes to C

    static constexpr double leaves_out(int products) {
        return products == 3 ? 0x1.02p-15 : products == 6 ? 0x1p-24 : 0;
    }
    double left_out() const { return leaves_out(products()); }
    int products() const {
        if (options_.products != 0) return options_.products;
        return options_.accuracy.eps >= leaves_out(3) ? 3 : 6;
    }
    int parts() const { return products() == 3 ? 2 : 3; }
    // Three products of half, if they are accurate enough; which the exponents have to allow as well.
    static constexpr double half_leaves_out = 0x1.01p-21;
    bool takes_half() const {
        return options_.products == 3 || (options_.products == 0 && options_.accuracy.eps >= half_leaves_out);
    }

    // ---- the products ------------------------------------------------------------------------------------

    // p + q of the smallest terms, how many pairs (p, q) have that sum, and their part of |A||B| at most.
    int smallest() const { return products() == 9 ? 4 : parts() - 1; }
    int pairs(int d) const { return (d < parts() ? d : 2 * (parts() - 1) - d) + 1; }
    static double share(int d) {
        constexpr double shares[] = {1.01, 0x1.05p-7, 0x1.05p-15, 0x1.05p-24, 0x1.05p-34};
        return shares[d];
    }
    static index_t padded(index_t side) {
        return (side + split_parts::sixteen::count - 1) / split_parts::sixteen::count *
               split_parts::sixteen::count;
    }

    // f(d, depth, is_last) for each product in its order, while that returns true: all of k at once but for hh, in
    // chains of at_most terms.
    template <class F>
    void each_product(index_t k, index_t at_most, F const& f) const {
        index_t const all = padded(k);
        for (int d = smallest(); d > 0; --d)
            if (!f(d, all, false)) return;
        for (index_t l = 0; l < all; l += at_most) {
            index_t const depth = all - l < at_most ? all - l : at_most;
            if (!f(0, depth, l + depth == all)) return;
        }
    }

    template <class T>
    static std::size_t bytes(index_t rows, index_t cols) {
        return arena::rounded(static_cast<std::size_t>(rows * cols) * sizeof(T));
    }

    // What one product takes. Elements are taken apart sixteen at a time. What takes longer than `most` need not be told
    // exactly: the base is asked about products until all takes as long.
    template <class S>
    double seconds_in_parts(S const& s, double most = infinite<double>()) const {
        constexpr index_t both = complex_like<typename S::c_type> ? 2 : 1;
        index_t const m = both * s.m, k = both * s.k, n = s.n;
        double const elements = static_cast<double>(m * k + k * n),
                     copied = both == 2 ? elements + static_cast<double>(m * n)
                                        : 0; // as real numbers, read and written
        auto const product_of = [&](index_t rows, index_t cols, index_t depth, bool adds) {
            return narrow_shape{.m = rows, .n = cols, .k = depth, .adds = adds, .alone = s.alone};
        };
        if constexpr (on_device) { // read twice, and written in parts
            double const bytes = elements * (8 + 2 * parts()) + 8 * copied;
            double const around = bytes / (0.75 * leaf().limits().bandwidth) + 40e-6;
            if constexpr (has_warpgroups)
                if (is_one_kernel(m, n, k))
                    return around +
                           split_parts::seconds_by_warpgroups(leaf(), m, n, k, takes_half() ? 3 : products());
            // C is read and written for each chain of hh.
            index_t const all = padded(k), once = all < chain ? all : chain,
                          chains = (all + chain - 1) / chain;
            double seconds = around;
            for (int d = smallest(); d >= 0 && seconds <= most; --d)
                seconds += d > 0 ? base_.estimate(product_of(m, n, all * pairs(d), true))
                                 : static_cast<double>(chains) * base_.estimate(product_of(m, n, once, true));
            return seconds;
        } else {
            int const threads = threads_for(s, leaf());
            double const of_a_map = 10e-9 / threads;
            if constexpr (tiled)
                if (on_host().here())
                    return on_host().seconds(m, n, k, products()) / threads + copied * of_a_map;
            double const around = (elements / split_parts::sixteen::count + copied) * of_a_map;
            if (around > most) return around;
            return products() * base_.estimate(product_of(m, n, k, false)) + around;
        }
    }
    template <class S>
    bool native_is_faster(S const& s) const {
        S const one = to_choose_by(s);
        double const native = base_.estimate(one);
        return native < seconds_in_parts(one, native);
    }

    // ---- one product -------------------------------------------------------------------------------------

    template <class P>
    status multiply(P const& p, arena& memory) const {
        report ran;
        ran.reason = "the native product is faster";
        if (options_.products != 0 || !native_is_faster(p.shape())) {
            typename arena::scope const scope(memory);
            ran.reason = "";
            if (status s = try_parts(p, memory, ran); !s) return s;
        }
        ran.bound = error_bound(p.shape());
        if (options_.report) *options_.report = ran;
        return ran.products > 0 ? status{} : base_(p, memory);
    }

    // Leaves ran.products at 0, and C as it was, where parts will not do.
    template <class P>
    status try_parts(P const& p, arena& memory, report& ran) const {
        if constexpr (!complex_like<typename P::c_type>) {
            return real(p, memory, ran);
        } else {
            if constexpr (on_device)
                if (!leaf().limits().has_double)
                    return failure(
                        errc::unsupported,
                        "split: this device has no double, in which complex products are put together; "
                        "use its own products");
            using T = typename P::c_type;
            auto const take = [&](index_t rows, index_t cols) {
                return view<float, space>{memory.template take<float>(rows * cols), rows, cols, cols, 1};
            };
            index_t const m = 2 * p.c.rows, n = p.c.cols, k = 2 * p.a.cols;
            auto const a = take(m, k), b = take(k, n), c = take(m, n);
            if constexpr (on_device) {
                if (status s = device().as_real(p.a, a); !s) return s;
                if (status s = device().as_real(p.b, b); !s) return s;
            } else {
                if (status s = leaf().apply(split_parts::left_as_real<T>{p.a}, a, 0, 0); !s) return s;
                if (status s = leaf().apply(split_parts::right_as_real<T>{p.b}, b, 0, 0); !s) return s;
            }
            if (status s = real(dense_problem<float, float, float, space>{1, a, b, 0, c, c}, memory, ran); !s)
                return s;
            if (ran.products == 0) return {};
            if constexpr (on_device)
                return device().finish(p, c);
            else
                return leaf().apply(split_parts::finish<P>{p, c}, p.c, 0, 0);
        }
    }

    template <class P>
    status real(P const& p, arena& memory, report& ran) const {
        if constexpr (tiled) {
            bool const turned = p.c.col_stride != 1 && p.c.row_stride == 1;
            P one = p;
            if (turned) {
                one.a = transposed(p.b), one.b = transposed(p.a), one.c = transposed(p.c);
                if (p.beta != 0) one.e = transposed(p.e);
            }
            if (on_host().takes(one)) return fused(one, turned, memory, ran);
        }
        if constexpr (has_warpgroups)
            if (is_one_kernel(p.c.rows, p.c.cols, p.a.cols)) return by_warpgroups(p, memory, ran);
        operand a = take(p.a, false, memory), b = take(transposed(p.b), true, memory);
        float alpha = p.alpha;
        if (status s = take_both_apart(a, b, alpha, memory, ran); !s || *ran.reason) return s;
        ran = report_of_parts();

        narrow const left = as_matrix(a), right = transposed(as_matrix(b));
        status failed;
        float beta = p.beta;
        auto e = p.e;
        index_t at = 0; // of hh
        each_product(p.a.cols, chain, [&](int d, index_t depth, bool last) {
            index_t const first = d < parts() ? 0 : d - parts() + 1, k = padded(p.a.cols);
            narrow_problem<> one{
                alpha,
                left.block(0, first * k + at, left.rows, depth * pairs(d)),
                right.block((parts() - 1 - d + first) * k + at, 0, depth * pairs(d), right.cols),
                beta,
                e,
                p.c};
            failed = last ? finished(one, p, memory) : base_(one, memory);
            if (d == 0) at += depth;
            beta = 1, e = p.c;
            return static_cast<bool>(failed);
        });
        return failed;
    }
    template <class P>
    status finished(narrow_problem<> const& x, P const& p, arena& memory) const {
        return base_(narrow_problem<typename P::epilogue_type>{x.alpha, x.a, x.b, x.beta, x.e, x.c,
                                                               p.epilogue, 1, 0, 0, 0, 0, p.row0, p.col0},
                     memory);
    }

    // The same on the tile unit, in one pass for all products.
    template <class P>
    status fused(P const& p, bool turned, arena& memory, report& ran) const {
        auto const by = on_host();
        index_t const m = p.c.rows, n = p.c.cols, k = p.a.cols;
        auto const pack = [&](measured const& x, bool as_b, auto const& to) {
            using namespace split_parts;
            return by.pack(x.of, {power(x.shift), bits_of_power(least_exponent), bits_of_power(end_exponent)},
                           as_b, to);
        };
        measured a{p.a}, b{transposed(p.b)};
        auto const left = by.packed(memory.template take<std::byte>(by.bytes(m, k, parts())), m, k, parts()),
                   right = by.packed(memory.template take<std::byte>(by.bytes(n, k, parts())), n, k, parts());
        float alpha = p.alpha;
        bool good = pack(a, false, left);
        good = good && pack(b, true, right);
        if (!good) {
            if (status s = rescale(a, b, alpha, memory, ran); !s || *ran.reason) return s;
            pack(a, false, left), pack(b, true, right);
        }
        by.multiply(products(), left, right, alpha, p, turned);
        ran = report_of_parts();
        return {};
    }
    report report_of_parts() const {
        return report_of("bfloat16", products(),
                         options_.products != 0 ? "set by the options"
                                                : "the fewest that are accurate enough");
    }
    static report report_of(std::string_view ran, int products, char const* reason) {
        report r;
        r.ran = ran, r.reason = reason, r.products = products, r.count = products == 3 ? 2 : 3, r.phases = 2;
        return r;
    }

    // ---- operands ----------------------------------------------------------------------------------------

    // A, or B transposed: what it is scaled by, and, once measured, between which magnitudes it is.
    struct measured {
        floats of;
        int shift = 0;
        float most = 0, least = 0;
    };
    // With its parts. They lie as it does: `along` k or across it, in lines that are padded.
    struct operand : measured {
        bool along, reversed;
        typename space::template handle<bfloat16> parts;
        index_t line, next; // from line to line, from one part to the next

        // Where the first parts are, of so many.
        auto first(int count) const { return reversed ? parts + (count - 1) * next : parts; }
    };
    operand take(floats const& of, bool reversed, arena& memory) const {
        bool const along = magnitude(of.col_stride) <= magnitude(of.row_stride);
        index_t const m = padded(of.rows), k = padded(of.cols);
        return {{of},
                along,
                reversed,
                memory.template take<bfloat16>(m * k * parts()),
                along ? k * parts() : m,
                along ? k : k * m};
    }
    // The parts as one matrix: side by side along k.
    narrow as_matrix(operand const& x) const {
        return {x.parts, x.of.rows, padded(x.of.cols) * parts(), x.along ? x.line : 1, x.along ? 1 : x.line};
    }

    // Both operands; or ran.reason tells why parts will not do.
    status take_both_apart(operand& a, operand& b, float& alpha, arena& memory, report& ran) const {
        if constexpr (on_device) {
            if (status s = measure(a, b, memory); !s) return s;
            if (is_odd(a) || is_odd(b)) {
                make_up(a, b, alpha, ran);
                if (*ran.reason) return {};
            }
            for (operand const* const x : {&a, &b}) {
                view<bfloat16, space> const to{x->first(parts()), x->of.rows, padded(x->of.cols),
                                               x->along ? x->line : 1, x->along ? 1 : x->line};
                if (status s = device().take_apart(x->of, split_parts::power(x->shift), to,
                                                   x->reversed ? -x->next : x->next, parts());
                    !s)
                    return s;
            }
        } else {
            auto const odd = view<std::int32_t>{memory.template take<std::int32_t>(1), 1, 1, 1, 1};
            // As they are, first: most operands need no scale, and need not be measured to know that.
            if (status s = leaf().fill(odd, std::int32_t{0}); !s) return s;
            if (status s = take_apart(a, odd); !s) return s;
            if (status s = take_apart(b, odd); !s) return s;
            if (status s = leaf().synchronize(); !s) return s;
            if (odd(0, 0) == 0) return {};
            if (status s = rescale(a, b, alpha, memory, ran); !s || *ran.reason) return s;
            if (status s = take_apart(a, odd); !s) return s;
            if (status s = take_apart(b, odd); !s) return s;
        }
        return {};
    }
    status take_apart(operand const& x, view<std::int32_t, space> const& odd) const {
        using split_parts::sixteen;
        auto* const first = reinterpret_cast<sixteen*>(x.first(parts()));
        index_t const line = x.line / sixteen::count, next = x.next / sixteen::count;
        auto const of = x.along ? x.of : transposed(x.of);
        view<sixteen, space> const to{first, x.along ? of.rows : padded(of.rows),
                                      padded(of.cols) / sixteen::count, line, 1};
        return leaf().apply(split_parts::take_apart{of, split_parts::power(x.shift), first, line,
                                                    x.reversed ? -next : next, parts(), odd.data},
                            to, 0, 0);
    }

    // Finds scales, and an alpha that makes up for them; or a reason why parts will not do.
    status rescale(measured& a, measured& b, float& alpha, arena& memory, report& ran) const {
        if (status s = measure(a, b, memory); !s) return s;
        make_up(a, b, alpha, ran);
        return {};
    }
    static void make_up(measured const& a, measured const& b, float& alpha, report& ran) {
        char const* const reason = not_for_parts(a, b, alpha);
        ran.reason = reason ? reason : "";
        if (!reason) alpha *= split_parts::power(-a.shift) * split_parts::power(-b.shift);
    }
    // Whether elements are not where they are to be; once measured.
    static bool is_odd(measured const& x) { return x.shift != 0 || !is_finite(x.most); }
    status measure(measured& a, measured& b, arena& memory) const {
        typename arena::scope const scope(memory);
        if constexpr (on_device) {
            auto const by = device();
            typename decltype(device())::range of_a, of_b;
            auto const table = memory.template take<float>(2 * by.table_size);
            if (status s = by.measure(a.of, b.of, table, of_a, of_b); !s) return s;
            a.most = of_a.most, a.least = of_a.least;
            b.most = of_b.most, b.least = of_b.least;
        } else {
            if (status s = measure_on_host(a, memory); !s) return s;
            if (status s = measure_on_host(b, memory); !s) return s;
        }
        find_shift(a), find_shift(b);
        return {};
    }
    status measure_on_host(measured& x, arena& memory) const {
        using namespace split_parts;
        index_t const rows = x.of.rows;
        auto const found = memory.template take<float>(rows * measures);
        x.most = 0, x.least = infinite<float>();
        view<float> const table{found, rows, measures, measures, 1};
        if (status s = leaf().apply(measure_line{x.of}, table, 0, 0); !s) return s;
        if (status s = leaf().synchronize(); !s) return s;
        for (index_t i = 0; i < rows; ++i) {
            if (table(i, largest) > x.most) x.most = table(i, largest);
            if (table(i, split_parts::least) < x.least) x.least = table(i, split_parts::least);
        }
        return {};
    }
    // As far as it has to be: alpha makes up for it.
    static void find_shift(measured& x) {
        using namespace split_parts;
        if (x.most == 0 || !is_finite(x.most)) return;
        int const above = exponent_of(x.most) - end_exponent,
                  below = least_exponent + 1 - exponent_of(x.least);
        x.shift = above > 0 ? -above : below > 0 ? below : 0;
    }

    // Finds a shift that makes the largest element less than 2^15 and the least one at least 2^-14, from where half
    // has all its bits. False if there is none.
    static bool shift_for_half(measured& x) {
        using split_parts::exponent_of;
        if (x.most == 0 || !is_finite(x.most) || exponent_of(x.most) - exponent_of(x.least) > 28)
            return false;
        x.shift = 15 - exponent_of(x.most);
        return x.shift > -100 && x.shift < 100;
    }

    // Why not, if so. Near the ends of float's range, sums are to do what the base's do.
    static char const* not_for_parts(measured const& a, measured const& b, float alpha) {
        using split_parts::exponent_of, split_parts::span;
        if (!is_finite(a.most) || !is_finite(b.most)) return "there are Inf or NaN";
        if (a.most == 0 || b.most == 0) return "an operand is zero";
        int const high = exponent_of(a.most) + exponent_of(b.most),
                  low = exponent_of(a.least) + exponent_of(b.least);
        if (high + exponent_of(static_cast<float>(a.of.cols)) > 127) return "sums might overflow";
        if (exponent_of(a.most) - exponent_of(a.least) >= span ||
            exponent_of(b.most) - exponent_of(b.least) >= span)
            return "the exponents of the data spread too far";
        if (low < -100) return "products might be subnormal";
        int const e = exponent_of(alpha) - a.shift - b.shift;
        if (e < -120 || e > 120) return "alpha is too large or too small";
        return nullptr;
    }

    // ---- on warpgroups ------------------------------------------------------------------------------------

    // One kernel for all products.
    template <class P>
    status by_warpgroups(P const& p, arena& memory, report& ran) const {
        measured a{p.a}, b{transposed(p.b)};
        float alpha = p.alpha;
        if (status s = measure(a, b, memory); !s) return s;
        bool const in_half = takes_half() && shift_for_half(a) && shift_for_half(b);
        if (!in_half) find_shift(a), find_shift(b);
        if (in_half || is_odd(a) || is_odd(b)) {
            make_up(a, b, alpha, ran);
            if (*ran.reason) return {};
        }
        status s = in_half ? by_warpgroups_in<half>(3, a, b, alpha, p, memory)
                           : by_warpgroups_in<bfloat16>(products(), a, b, alpha, p, memory);
        ran = in_half ? report_of("half", 3, "the exponents of the data allow half") : report_of_parts();
        return s;
    }
    template <class Part, class P>
    status by_warpgroups_in(int products, measured const& a, measured const& b, float alpha, P const& p,
                            arena& memory) const {
        status failed;
        auto const take_apart = [&](measured const& x) {
            split_parts::parts_for_warpgroups<Part, space> to(x.of, products == 3 ? 2 : 3);
            to.first = memory.template take<Part>(to.elements());
            if (failed)
                failed =
                    device().take_apart(x.of, split_parts::power(x.shift), to.target(), to.next(), to.parts);
            return to;
        };
        auto const left = take_apart(a), right = take_apart(b);
        if (!failed) return failed;
        auto const totals = memory.template take<float>(split_parts::totals_for_warpgroups(leaf(), p.a.cols));
        return split_parts::multiply_by_warpgroups(leaf(), products, left, right, totals, alpha, p);
    }

    split_options options_;
};

STRATAGEMM_END
