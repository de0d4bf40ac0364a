// Element types: the storage types of 16 and 8 bits, and what each type accumulates in.
//
// `half`, `bfloat16`, `fp8_e4m3` and `fp8_e5m2` hold bits and convert; they do no arithmetic. They are bit-compatible
// with the types of the vendors' libraries. Complex types are recognised by shape (value_type, real(), imag()), so that
// std::complex and its relatives work without this header including any of them.
#pragma once

#include "config.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

STRATAGEMM_BEGIN

using index_t = std::ptrdiff_t;

// Round-to-nearest-even conversion by bits; NaN stays NaN.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    explicit constexpr bfloat16(float value) {
        auto const u = __builtin_bit_cast(std::uint32_t, value);
        bool const nan = (u & 0x7fffffffu) > 0x7f800000u;
        bits = static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
    constexpr operator float() const {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
    }
};

struct half {
    std::uint16_t bits = 0;

    half() = default;
    explicit constexpr half(float value) {
        auto const u = __builtin_bit_cast(std::uint32_t, value);
        auto const sign = static_cast<std::uint16_t>((u >> 16) & 0x8000u);
        std::uint32_t const magnitude = u & 0x7fffffffu;
        std::uint32_t r = 0;
        if (magnitude > 0x7f800000u) { // NaN
            r = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
        } else if (magnitude >= 0x477ff000u) { // rounds beyond 65504
            r = 0x7c00u;
        } else if (magnitude < 0x38800000u) { // subnormal: let the FPU round at the right place
            float const shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
            r = __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u;
        } else {
            r = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
        }
        bits = static_cast<std::uint16_t>(r | sign);
    }
    constexpr operator float() const {
        std::uint32_t const sign = (bits & 0x8000u) << 16;
        std::uint32_t const magnitude = bits & 0x7fffu;
        std::uint32_t u = 0;
        if (magnitude >= 0x7c00u) {
            u = (magnitude << 13) + 0x70000000u; // Inf, NaN
        } else if (magnitude >= 0x0400u) {
            u = (magnitude << 13) + 0x38000000u;
        } else { // subnormal: the value is magnitude x 2^-24 exactly
            u = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-24f);
        }
        return __builtin_bit_cast(float, u | sign);
    }
};

// A sign, 7 - Mantissa bits of exponent, Mantissa of fraction (Micikevicius et al.: FP8 formats for deep learning,
// 2022). What is too large for it becomes its largest number, as NVIDIA's instructions have it. With three bits of
// fraction there is no infinity, and one code is NaN.
template <int Mantissa>
struct fp8 {
    std::uint8_t bits = 0;

    fp8() = default;
    explicit constexpr fp8(float value) {
        auto const u = __builtin_bit_cast(std::uint32_t, value);
        std::uint32_t const magnitude = u & 0x7fffffffu;
        std::uint32_t r = 0;
        if (magnitude > 0x7f800000u) { // NaN
            r = 0x7fu;
        } else if (magnitude >= __builtin_bit_cast(std::uint32_t, largest)) {
            r = largest_bits;
        } else if (magnitude < least_exponent << 23) { // subnormal: let the FPU round at the right place
            float const place = __builtin_bit_cast(float, (least_exponent + 23 - Mantissa) << 23);
            r = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + place) -
                __builtin_bit_cast(std::uint32_t, place);
        } else {
            std::uint32_t const half_way = (1u << (lost - 1)) - 1 + ((magnitude >> lost) & 1u);
            r = (magnitude - ((least_exponent - 1) << 23) + half_way) >> lost;
        }
        bits = static_cast<std::uint8_t>(r | ((u >> 24) & 0x80u));
    }
    constexpr operator float() const {
        std::uint32_t const sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
        std::uint32_t u = (magnitude << lost) + ((least_exponent - 1) << 23);
        if (magnitude > largest_bits)
            u = Mantissa == 2 && magnitude == largest_bits + 1 ? 0x7f800000u : 0x7fc00000u;
        else if (magnitude >> Mantissa == 0) // the value is magnitude x 2^-9, or 2^-16, exactly
            u = __builtin_bit_cast(std::uint32_t,
                                   static_cast<float>(magnitude) * (Mantissa == 3 ? 0x1p-9f : 0x1p-16f));
        return __builtin_bit_cast(float, u | sign);
    }

private:
    static_assert(Mantissa == 3 || Mantissa == 2, "the two formats that there are");
    static constexpr int lost = 23 - Mantissa; // bits of a float's fraction
    static constexpr std::uint32_t least_exponent =
        Mantissa == 3 ? 121 : 113; // of a normal number, as a float's
    static constexpr float largest = Mantissa == 3 ? 448.0f : 57344.0f;
    static constexpr std::uint32_t largest_bits = Mantissa == 3 ? 0x7eu : 0x7bu;
};
using fp8_e4m3 = fp8<3>;
using fp8_e5m2 = fp8<2>;
template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, fp8_e4m3> || std::is_same_v<T, fp8_e5m2>;

template <class T>
concept complex_like = requires(T const& z) {
    typename T::value_type;
    requires std::floating_point<typename T::value_type>;
    { z.real() } -> std::convertible_to<typename T::value_type>;
    { z.imag() } -> std::convertible_to<typename T::value_type>;
    requires sizeof(T) == 2 * sizeof(typename T::value_type);
};

// What sums of products of T are kept in, and what alpha and beta are given in.
template <class T>
struct accumulator {
    using type = T;
};
template <>
struct accumulator<half> {
    using type = float;
};
template <>
struct accumulator<bfloat16> {
    using type = float;
};
template <int Mantissa>
struct accumulator<fp8<Mantissa>> {
    using type = float;
};
template <>
struct accumulator<std::int8_t> {
    using type = std::int32_t;
};
// The element of an operand that lies in no memory, such as a transform, in the arithmetic of T. Beside an operand of U
// it counts as U, if T is the real type beneath U.
template <class T>
struct computed {};
template <class T>
struct accumulator<computed<T>> {
    using type = T;
};
// The same where the product of the operand and complex numbers is real, in the arithmetic of T.
template <class T>
struct computed_real {};
template <class T>
struct accumulator<computed_real<T>> {
    using type = T;
};
template <class T>
using accumulator_t = typename accumulator<std::remove_cv_t<T>>::type;

template <class T>
concept element =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, half> || std::same_as<T, bfloat16> ||
    is_fp8<T> || std::same_as<T, std::int8_t> || std::same_as<T, std::int32_t> || complex_like<T>;

// The real type beneath T: float for float, half and complex<float>.
template <class T>
struct real_of {
    using type = accumulator_t<T>;
};
template <complex_like T>
struct real_of<T> {
    using type = typename T::value_type;
};
template <class T>
using real_t = typename real_of<T>::type;

// Whether each T is a W, so that widening it rounds nothing.
template <class T, class W>
inline constexpr bool widens_to = std::is_same_v<T, W> ||
                                  (std::is_same_v<T, std::int8_t> &&
                                   (std::is_same_v<W, half> || std::is_same_v<W, bfloat16>)) ||
                                  (std::is_same_v<W, float> &&
                                   (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>));
template <class T, class U>
inline constexpr bool widens_to<computed<T>, U> = std::is_same_v<real_t<U>, T>;
template <complex_like U, class T>
inline constexpr bool widens_to<U, computed_real<T>> = std::is_same_v<real_t<U>, T>;
// A and B may be the elements of the operands of one product.
template <class A, class B>
inline constexpr bool have_wider = widens_to<A, B> || widens_to<B, A>;
// The wider of them: their product is that of two operands of this type.
template <class A, class B>
using wider_t = std::conditional_t<widens_to<A, B>, B, A>;

// u = 2^-t: the largest relative error of one rounding to T. Integers do not round.
template <class T>
constexpr double unit_roundoff() {
    if constexpr (std::is_same_v<T, half>)
        return 0x1p-11;
    else if constexpr (std::is_same_v<T, bfloat16>)
        return 0x1p-8;
    else if constexpr (is_fp8<T>)
        return std::is_same_v<T, fp8_e4m3> ? 0x1p-4 : 0x1p-3;
    else if constexpr (std::is_integral_v<T>)
        return 0.0;
    else
        return std::is_same_v<real_t<T>, float> ? 0x1p-24 : 0x1p-53;
}

// The largest finite number of a signed integer or real type. <limits> would add 3% to the memory that compiling a product takes.
template <class T>
constexpr double largest_number() {
    if constexpr (std::is_integral_v<T>)
        return static_cast<double>(static_cast<T>(~(T(1) << (8 * sizeof(T) - 1))));
    else
        return std::is_same_v<T, float> ? static_cast<double>(__FLT_MAX__) : __DBL_MAX__;
}

// a + b, a x and a x + b. Integers are modulo 2^32, as machines have them; in their own type, an overflow
// would be undefined.
template <class T>
constexpr T sum_of_two(T const& a, T const& b) {
    if constexpr (std::is_same_v<T, std::int32_t>)
        return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
    else
        return a + b;
}
template <class T>
constexpr T scaled_by(T const& a, T const& x) {
    if constexpr (std::is_same_v<T, std::int32_t>)
        return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(x));
    else
        return a * x;
}
template <class T>
constexpr T scaled_sum(T const& a, T const& x, T const& b) {
    if constexpr (std::is_same_v<T, std::int32_t>)
        return sum_of_two(scaled_by(a, x), b);
    else
        return a * x + b;
}

// ---- what has to hold with -ffast-math too ----------------------------------------------------------------

// A sum or a product that is rounded here: an optimiser may not take (x + y) - x for y beyond it. Without
// that option it is nothing, and with it, it keeps a loop from being vectorised, which
// __builtin_assoc_barrier does not outlive.
inline double as_rounded(double x) {
#if defined(__FAST_MATH__) && defined(__SSE2__)
    asm("" : "+x"(x));
#elif defined(__FAST_MATH__)
    asm("" : "+m"(x));
#endif
    return x;
}

// x y + z, rounded once. With -ffast-math clang takes two operations for it where the machine has no such
// instruction, and so it must not know which function it calls.
#if defined(__clang__) && defined(__FAST_MATH__) && defined(__x86_64__) && !defined(__FMA__)
#    ifdef __APPLE__
double fused(double x, double y, double z) noexcept asm("_fma");
#    else
double fused(double x, double y, double z) noexcept asm("fma");
#    endif
#else
inline double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
#endif

// Comparisons that tell, where the optimiser may assume that there are no Inf and NaN.
constexpr bool is_finite(double x) {
#if __FINITE_MATH_ONLY__
    return (__builtin_bit_cast(std::uint64_t, x) >> 52 & 0x7ff) != 0x7ff;
#else
    return x - x == 0;
#endif
}
constexpr bool is_nan(double x) {
#if __FINITE_MATH_ONLY__
    return (__builtin_bit_cast(std::uint64_t, x) & 0x7fffffffffffffff) > 0x7ff0000000000000;
#else
    return x != x;
#endif
}

// A sum of two doubles, with about twice the bits of one.
struct twofold {
    double high = 0, low = 0;

    void add(double x) {
        double const s = as_rounded(high + x), t = as_rounded(s - high);
        low += as_rounded(high - as_rounded(s - t)) + as_rounded(x - t);
        high = s;
    }
    void add_product(double x, double y) {
        double const p = as_rounded(x * y);
        add(p);
        low += fused(x, y, -p);
    }
    void add_product(double x, twofold y) {
        add_product(x, y.high);
        low = fused(x, y.low, low);
    }
    double value() const {
        double const v = high + low;
        return is_nan(v) ? high : v; // what overflows is carried by `high`
    }
};
// An infinity that the optimiser does not see.
template <class R>
R infinite() {
    R x = static_cast<R>(__builtin_bit_cast(float, 0x7f800000u));
    asm("" : "+m"(x));
    return x;
}

template <class T>
constexpr T conjugate(T const& x) {
    if constexpr (complex_like<T>)
        return T(x.real(), -x.imag());
    else
        return x;
}

// The short name of a type, for describe() and messages.
template <class T>
constexpr char const* type_name() {
    if constexpr (std::is_same_v<T, float>)
        return "float";
    else if constexpr (std::is_same_v<T, double>)
        return "double";
    else if constexpr (std::is_same_v<T, half>)
        return "half";
    else if constexpr (std::is_same_v<T, bfloat16>)
        return "bfloat16";
    else if constexpr (is_fp8<T>)
        return std::is_same_v<T, fp8_e4m3> ? "fp8_e4m3" : "fp8_e5m2";
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return "int8";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "int32";
    else if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? "complex<float>" : "complex<double>";
    else
        return "unknown";
}

STRATAGEMM_END
