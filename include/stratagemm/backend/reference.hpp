// The oracle: three loops, sums in wider arithmetic than the result, one rounding at the end.
//
// float, half, bfloat16 and fp8 are summed in double; double in double-double (Ogita, Rump, Oishi: Accurate sum
// and dot product, 2005); int8 in 64 bits. It takes every combination of types that any backend takes, and
// also a wider C (double for float), so that errors of others can be measured against it.
#pragma once

#include "host/memory.hpp"

STRATAGEMM_BEGIN

// A sum of products of T, in about twice the precision of T.
template <class T>
struct wide_sum {
    double high = 0;
    void add(double x) { high += x; }
    void add_product(T x, T y) { high += static_cast<double>(x) * static_cast<double>(y); }
    double value() const { return high; }
};
template <>
struct wide_sum<double> : twofold {};
template <>
struct wide_sum<std::int32_t> {
    std::int64_t sum = 0;
    void add_product(std::int64_t x, std::int64_t y) { sum += x * y; }
    std::int64_t value() const { return sum; }
};

struct reference {
    static constexpr bool is_backend = true, is_oracle = true; // structures multiply by their definition
    using space = host_memory;
    using arena = host_arena;

    template <class P>
    static constexpr verdict accepts =
        types_if(have_wider<typename P::a_type, typename P::b_type> &&
                 (std::is_same_v<typename P::c_type, typename P::scalar> ||
                  std::is_same_v<typename P::c_type, typename P::wide_type> ||
                  (std::is_same_v<typename P::scalar, float> && std::is_same_v<typename P::c_type, double>) ||
                  (is_fp8<typename P::wide_type> && sizeof(typename P::c_type) == 2)));

    host_operations leaf() const { return {}; }
    result<arena> reserve(footprint f) const { return reserve_host(f, "reference"); }

    template <class S>
    footprint workspace(S const&) const {
        return {};
    }
    // The rounding to C, and the sums': k roundings in arithmetic with u^2 (double) or 2^-53 (the others).
    template <class S>
    bound error_bound(S const& s) const {
        using T = accumulator_t<typename S::wide_type>;
        if constexpr (std::is_integral_v<T>) return {};
        double const u = unit_roundoff<typename S::c_type>();
        double const wide = sizeof(real_t<T>) == 8 ? 0x1p-104 : 0x1p-53;
        double const spread = complex_like<T> ? 2 : 1; // a complex product is a sum of two
        return {spread * (2 * u + static_cast<double>(4 * s.k + 8) * wide),
                spread * (2 * u + static_cast<double>(4 * s.k + 8) * wide), false};
    }
    // One thread, an element at a time.
    template <class S>
    double estimate(S const& s) const {
        return roofline(s, 0.5e9, 5e9, 0.1e-6);
    }
    template <class S>
    std::string describe(S const&) const {
        return "reference: plain loops in wide arithmetic, " + types_of<S>();
    }

    template <class Problem>
    status operator()(Problem const& batch, arena&) const {
        for (index_t x = 0; x < batch.count; ++x) {
            auto const p = batch.at(x);
            for (index_t i = 0; i < p.c.rows; ++i)
                for (index_t j = 0; j < p.c.cols; ++j) p.c(i, j) = element(p, i, j);
        }
        return {};
    }

private:
    template <class Problem>
    static typename Problem::c_type element(Problem const& p, index_t i, index_t j) {
        using S = typename Problem::scalar;
        using C = typename Problem::c_type;
        using R = real_t<S>;
        bool const reads_e = p.beta != S(0);
        if constexpr (complex_like<S>) {
            S const b = reads_e ? value(p.e, i, j) : S{};
            // re and im of sum a b, then of alpha sum + beta e, each one wide sum.
            wide_sum<R> re, im;
            for (index_t l = 0; l < p.a.cols; ++l) {
                S const x = value(p.a, i, l), y = value(p.b, l, j);
                re.add_product(x.real(), y.real()), re.add_product(-x.imag(), y.imag());
                im.add_product(x.real(), y.imag()), im.add_product(x.imag(), y.real());
            }
            return static_cast<C>(apply_epilogue(
                p.epilogue,
                S(finish<R>({p.alpha.real(), -p.alpha.imag()}, {re, im}, {p.beta.real(), -p.beta.imag()}, b),
                  finish<R>({p.alpha.imag(), p.alpha.real()}, {re, im}, {p.beta.imag(), p.beta.real()}, b)),
                p.row0 + i, p.col0 + j));
        } else {
            using W = std::conditional_t<std::is_same_v<S, std::int32_t>, std::int32_t, R>;
            wide_sum<W> sum;
            for (index_t l = 0; l < p.a.cols; ++l)
                sum.add_product(static_cast<S>(value(p.a, i, l)), static_cast<S>(value(p.b, l, j)));
            if constexpr (std::is_integral_v<S>) { // modulo 2^32, as the hardware does
                std::uint64_t v =
                    static_cast<std::uint64_t>(sum.value()) * static_cast<std::uint64_t>(p.alpha);
                if (reads_e) v += static_cast<std::uint64_t>(p.beta) * static_cast<std::uint64_t>(p.e(i, j));
                return static_cast<C>(apply_epilogue(
                    p.epilogue, static_cast<S>(static_cast<std::uint32_t>(v)), p.row0 + i, p.col0 + j));
            } else {
                wide_sum<R> total;
                scale_into(total, p.alpha, sum);
                if (reads_e) total.add_product(p.beta, static_cast<R>(value(p.e, i, j)));
                using X = std::conditional_t<std::is_same_v<C, double>, double, S>;
                return static_cast<C>(
                    apply_epilogue(p.epilogue, static_cast<X>(total.value()), p.row0 + i, p.col0 + j));
            }
        }
    }

    template <class T>
    static auto value(view<T> const& v, index_t i, index_t j) {
        return v.conjugate ? conjugate(v(i, j)) : v(i, j);
    }

    // total += factor * sum, without losing the width of the sum.
    template <class R>
    static void scale_into(wide_sum<R>& total, R factor, wide_sum<R> const& sum) {
        if constexpr (std::is_same_v<R, double>) {
            total.add_product(factor, sum.high);
            double const rest = factor * sum.low;
            if (!is_nan(rest)) total.low += rest;
        } else {
            total.add(static_cast<double>(factor) * sum.high);
        }
    }

    // One real component of alpha sum + beta e, all factors real.
    template <class R>
    struct pair {
        R x, y;
    };
    template <class R>
    struct sums {
        wide_sum<R> const &re, &im;
    };
    template <class R, class S>
    static R finish(pair<R> alpha, sums<R> sum, pair<R> beta, S e) {
        wide_sum<R> total;
        scale_into(total, alpha.x, sum.re), scale_into(total, alpha.y, sum.im);
        total.add_product(beta.x, e.real()), total.add_product(beta.y, e.imag());
        return static_cast<R>(total.value());
    }
};

STRATAGEMM_END
