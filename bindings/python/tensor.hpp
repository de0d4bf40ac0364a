// Arrays of any number of dimensions, as Python's producers describe them. Nothing here knows Python.
#pragma once

#include <stratagemm/core/operand.hpp>

#include <complex>
#include <cstdint>

namespace stratagemm_python {

namespace sg = stratagemm;
using sg::index_t;

enum class kind : unsigned char {
    none,
    float32,
    float64,
    complex64,
    complex128,
    float16,
    bfloat16,
    int8,
    int32,
    int64
};
struct kind_facts {
    char const* name;
    char const* format; // of the buffer protocol; null: it has none
    int bytes;
    int dlpack_code, dlpack_bits;
};
kind_facts const& facts(kind k);
// The kind of C where the caller says none: int8 products are summed in int32, and others keep their type.
inline kind kind_of_result(kind k) { return k == kind::int8 ? kind::int32 : k; }

// Whether matrices of these two types are multiplied, into float32: one type holds the numbers of the other.
inline bool are_two_types(kind a, kind b) {
    auto const holds = [](kind wide, kind narrow) {
        bool const is_half = wide == kind::float16 || wide == kind::bfloat16;
        return (wide == kind::float32 && (narrow == kind::float16 || narrow == kind::bfloat16)) ||
               (is_half && narrow == kind::int8);
    };
    return holds(a, b) || holds(b, a);
}
inline kind kind_of_result(kind a, kind b) { return are_two_types(a, b) ? kind::float32 : kind_of_result(a); }

// The kind of elements of type T.
template <class T>
inline constexpr kind kind_of = kind::none;
template <>
inline constexpr kind kind_of<float> = kind::float32;
template <>
inline constexpr kind kind_of<double> = kind::float64;
template <>
inline constexpr kind kind_of<std::complex<float>> = kind::complex64;
template <>
inline constexpr kind kind_of<std::complex<double>> = kind::complex128;
template <>
inline constexpr kind kind_of<sg::half> = kind::float16;
template <>
inline constexpr kind kind_of<sg::bfloat16> = kind::bfloat16;
template <>
inline constexpr kind kind_of<std::int8_t> = kind::int8;
template <>
inline constexpr kind kind_of<std::int32_t> = kind::int32;

inline constexpr int most_dimensions = 8;
inline constexpr int on_host = -1;

// Strides are in elements. The last two dimensions are rows and columns.
struct tensor {
    void* data = nullptr;
    int dimensions = 0;
    int device = on_host; // or the number of a CUDA device
    kind type = kind::none;
    bool writable = false;
    index_t side[most_dimensions], stride[most_dimensions];

    index_t rows() const { return side[dimensions - 2]; }
    index_t cols() const { return side[dimensions - 1]; }
    template <class T>
    sg::view<T> matrix() const {
        return {static_cast<T*>(data), rows(), cols(), stride[dimensions - 2], stride[dimensions - 1]};
    }
};

// The same tensor, with a dimension of one element at its end if it has only one, and dimension `axis` moved before the
// last: its lines are columns then.
void lines_to_columns(tensor& x, int axis);
// The same tensor with rows and columns exchanged, in `to`; null of null.
tensor const* turned_tensor(tensor const* x, tensor& to);

} // namespace stratagemm_python
