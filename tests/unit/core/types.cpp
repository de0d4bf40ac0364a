#include "catch.hpp"

#include <stratagemm/core/types.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace sg = stratagemm;

namespace {

sg::half half_of(unsigned bits) {
    sg::half h;
    h.bits = static_cast<std::uint16_t>(bits);
    return h;
}
sg::bfloat16 bfloat16_of(unsigned bits) {
    sg::bfloat16 b;
    b.bits = static_cast<std::uint16_t>(bits);
    return b;
}
// The value of a half from the definition of the format.
double defined_value(unsigned bits) {
    int const exponent = static_cast<int>(bits >> 10 & 31);
    double const fraction = bits & 1023;
    double const size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}
// The same of an fp8 with so many bits of fraction; not for NaN and infinity.
double defined_value(unsigned bits, int fraction_bits) {
    int const exponent = static_cast<int>((bits & 0x7f) >> fraction_bits), bias = fraction_bits == 3 ? 7 : 15;
    int const fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1), first = 1 << fraction_bits;
    double const size = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                      : std::ldexp(first + fraction, exponent - bias - fraction_bits);
    return bits & 0x80 ? -size : size;
}
template <class T>
T fp8_of(unsigned bits) {
    T x;
    x.bits = static_cast<std::uint8_t>(bits);
    return x;
}
// Each code, and the middles between neighbours. `last`: the code of the largest number.
template <class T>
int wrong_of_fp8(int fraction_bits, unsigned last) {
    int wrong = 0;
    for (unsigned bits = 0; bits < 256; ++bits) {
        float const f = fp8_of<T>(bits);
        unsigned const magnitude = bits & 0x7f, sign = bits & 0x80;
        if (magnitude > last) {
            bool const infinite = fraction_bits == 2 && magnitude == last + 1;
            wrong += infinite ? !std::isinf(f) || T(f).bits != (last | sign) : !std::isnan(f);
            wrong += !infinite && T(f).bits != (0x7f | sign);
            wrong += std::signbit(f) != (sign != 0);
            continue;
        }
        wrong += static_cast<double>(f) != defined_value(bits, fraction_bits) || T(f).bits != bits ||
                 std::signbit(f) != (sign != 0);
        if (sign != 0 || magnitude == last) continue;
        auto const middle = static_cast<float>(
            (defined_value(bits, fraction_bits) + defined_value(bits + 1, fraction_bits)) / 2);
        unsigned const even = bits % 2 == 0 ? bits : bits + 1;
        for (float const side : {1.0f, -1.0f}) {
            unsigned const s = side < 0 ? 0x80 : 0;
            wrong += T(side * middle).bits != (even | s);
            wrong += T(side * std::nextafter(middle, 1e30f)).bits != ((bits + 1) | s);
            wrong += T(side * std::nextafter(middle, 0.0f)).bits != (bits | s);
        }
    }
    return wrong;
}
float infinity() { return std::numeric_limits<float>::infinity(); }

} // namespace

TEST_CASE("each half has the value of its bits and survives a round trip") {
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        float const f = half_of(bits);
        unsigned const back = sg::half(f).bits;
        if ((bits & 0x7fff) >
            0x7c00) { // a NaN stays one, with its sign and payload; a signalling one is quieted
            wrong += !std::isnan(f) || back != (bits | 0x200);
        } else if ((bits & 0x7fff) == 0x7c00) {
            wrong += !std::isinf(f) || std::signbit(f) != (bits >> 15 != 0) || back != bits;
        } else {
            wrong += static_cast<double>(f) != defined_value(bits) || std::signbit(f) != (bits >> 15 != 0) ||
                     back != bits;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("float to half rounds to nearest, ties to even") {
    int wrong = 0;
    for (unsigned low = 0; low < 0x7bff; ++low) {
        // Two neighbours and their middle, all exact in float.
        auto const middle = static_cast<float>((defined_value(low) + defined_value(low + 1)) / 2);
        unsigned const even = low % 2 == 0 ? low : low + 1;
        for (float const sign : {1.0f, -1.0f}) {
            unsigned const s = sign < 0 ? 0x8000 : 0;
            wrong += sg::half(sign * middle).bits != (even | s);
            wrong += sg::half(sign * std::nextafter(middle, infinity())).bits != ((low + 1) | s);
            wrong += sg::half(sign * std::nextafter(middle, 0.0f)).bits != (low | s);
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("float to half at the ends of the range") {
    CHECK(sg::half(65504.0f).bits == 0x7bff);
    CHECK(sg::half(65519.996f).bits == 0x7bff); // below the middle between 65504 and 65536
    CHECK(sg::half(65520.0f).bits == 0x7c00);
    CHECK(sg::half(-1e30f).bits == 0xfc00);
    CHECK(sg::half(infinity()).bits == 0x7c00);
    CHECK(sg::half(0x1p-24f).bits == 1);
    CHECK(sg::half(0x1p-25f).bits == 0); // a tie, to even
    CHECK(sg::half(0x1.000002p-25f).bits == 1);
    CHECK(sg::half(-0.0f).bits == 0x8000);
    CHECK(sg::half(std::numeric_limits<float>::denorm_min()).bits == 0);
    CHECK(std::isnan(static_cast<float>(sg::half(std::nanf("")))));
}

TEST_CASE("each bfloat16 is the upper half of a float") {
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
        float const f = bfloat16_of(bits);
        unsigned const back = sg::bfloat16(f).bits;
        bool const nan = (bits & 0x7fff) > 0x7f80;
        wrong += nan ? !std::isnan(f) || back != (bits | 0x40) : back != bits;
        std::uint32_t const u = bits << 16;
        wrong += std::memcmp(&u, &f, 4) != 0;
    }
    CHECK(wrong == 0);
}

TEST_CASE("float to bfloat16 rounds to nearest, ties to even") {
    auto from_bits = [](std::uint32_t u) {
        float f;
        std::memcpy(&f, &u, 4);
        return f;
    };
    int wrong = 0;
    for (std::uint32_t low = 0; low < 0x7f7f; ++low) {
        std::uint32_t const middle = low << 16 | 0x8000;
        wrong += sg::bfloat16(from_bits(middle)).bits != (low % 2 == 0 ? low : low + 1);
        wrong += sg::bfloat16(from_bits(middle + 1)).bits != low + 1;
        wrong += sg::bfloat16(from_bits(middle - 1)).bits != low;
        wrong += sg::bfloat16(-from_bits(middle + 1)).bits != ((low + 1) | 0x8000);
    }
    CHECK(wrong == 0);
    CHECK(sg::bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80); // rounds beyond the largest
    CHECK(sg::bfloat16(-infinity()).bits == 0xff80);
    CHECK(std::isnan(
        static_cast<float>(sg::bfloat16(from_bits(0x7f800001))))); // its payload is in the lost bits
}

TEST_CASE("each fp8 has the value of its bits, survives a round trip, and is rounded to") {
    CHECK(wrong_of_fp8<sg::fp8_e4m3>(3, 0x7e) == 0);
    CHECK(wrong_of_fp8<sg::fp8_e5m2>(2, 0x7b) == 0);
    CHECK(sg::fp8_e4m3(449.0f).bits == 0x7e); // what is too large becomes the largest
    CHECK(sg::fp8_e4m3(-infinity()).bits == 0xfe);
    CHECK(sg::fp8_e5m2(1e30f).bits == 0x7b);
    CHECK(sg::fp8_e4m3(0x1p-10f).bits == 0); // a tie, to even
    CHECK(sg::fp8_e4m3(0x1.8p-9f).bits == 2);
    CHECK(sg::fp8_e5m2(-0.0f).bits == 0x80);
    CHECK(sg::fp8_e5m2(std::numeric_limits<float>::denorm_min()).bits == 0);
}

TEST_CASE("conversions work in constant expressions") {
    static_assert(sg::fp8_e4m3(1.5f).bits == 0x3c && static_cast<float>(sg::fp8_e5m2(0x1p-16f)) == 0x1p-16f);
    static_assert(sg::half(1.5f).bits == 0x3e00);
    static_assert(static_cast<float>(sg::half(0x1p-24f)) == 0x1p-24f);
    static_assert(sg::bfloat16(1.0f).bits == 0x3f80);
    SUCCEED();
}

TEST_CASE("what each type accumulates in, and its rounding") {
    static_assert(std::is_same_v<sg::accumulator_t<sg::half>, float>);
    static_assert(std::is_same_v<sg::accumulator_t<sg::bfloat16 const>, float>);
    static_assert(std::is_same_v<sg::accumulator_t<sg::fp8_e4m3>, float> && sizeof(sg::fp8_e5m2) == 1);
    static_assert(sg::unit_roundoff<sg::fp8_e4m3>() == 0x1p-4 && sg::unit_roundoff<sg::fp8_e5m2>() == 0x1p-3);
    static_assert(std::is_same_v<sg::accumulator_t<std::int8_t>, std::int32_t>);
    static_assert(std::is_same_v<sg::accumulator_t<std::complex<double>>, std::complex<double>>);
    static_assert(std::is_same_v<sg::real_t<std::complex<float>>, float>);
    static_assert(std::is_same_v<sg::real_t<sg::half>, float>);
    static_assert(sg::unit_roundoff<float>() == 0x1p-24);
    static_assert(sg::unit_roundoff<std::complex<double>>() == 0x1p-53);
    static_assert(sg::unit_roundoff<sg::half>() == 0x1p-11);
    static_assert(sg::unit_roundoff<sg::bfloat16>() == 0x1p-8);
    static_assert(sg::unit_roundoff<std::int32_t>() == 0);
    SUCCEED();
}

TEST_CASE("complex types are known by their shape") {
    struct lookalike {
        using value_type = float;
        float re, im;
        float real() const { return re; }
        float imag() const { return im; }
    };
    static_assert(sg::complex_like<std::complex<float>> && sg::complex_like<lookalike>);
    static_assert(!sg::complex_like<float> && !sg::complex_like<std::string>);
    static_assert(sg::element<sg::half> && !sg::element<long double> && !sg::element<std::int16_t>);
    CHECK(sg::conjugate(std::complex<float>(1, 2)) == std::complex<float>(1, -2));
    CHECK(sg::conjugate(3.0) == 3.0);
    CHECK(sg::type_name<std::complex<float>>() == std::string("complex<float>"));
    CHECK(sg::type_name<std::int8_t>() == std::string("int8"));
}
