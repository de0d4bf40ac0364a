// The arrays of sparse formats: how much memory they take, and checks of them on the host.
#pragma once

#include "../../core/policy.hpp"

#include <limits>

STRATAGEMM_BEGIN

constexpr index_t lesser(index_t x, index_t y) { return x < y ? x : y; }

// Stands for values where each element is one.
struct no_values {};
template <class List>
constexpr bool has_values = requires(List const& x) {
    x.values;
};
// Stands for a dense matrix where an operand has a list alone.
struct only_listed {};
// More rows are always multiplied by the list.
inline constexpr index_t most_rows_of_whole = 8;

// The type as which kernels read an element type. Marks of one byte are `byte`.
template <class T>
struct stored {
    using type = T;
};
template <class T>
requires(std::is_integral_v<T> && sizeof(T) == 1) struct stored<T> {
    using type = std::int8_t;
};
template <class T>
using stored_t = typename stored<T>::type;

// The sum of no numbers: -0, because 0 + -0 is 0.
template <class S>
S no_sum() {
    real_t<S> const none = -real_t<S>(0);
    if constexpr (complex_like<S>)
        return S(none, none);
    else
        return none;
}

// Bytes of workspace for the three arrays of a matrix by rows.
template <class Arena, class T, class Index>
std::size_t bytes_of_lists(index_t rows, index_t elements) {
    auto const n = static_cast<std::size_t>(elements);
    return Arena::rounded(static_cast<std::size_t>(rows + 1) * sizeof(Index)) +
           Arena::rounded(n * sizeof(Index)) + Arena::rounded(n * sizeof(T));
}

[[gnu::cold, gnu::noinline]] inline status wrong_at(char const* format, char const* what, index_t at) {
    char text[160];
    __builtin_snprintf(text, sizeof(text), "%s%td", what, at);
    return failure(errc::argument, format, text);
}
[[gnu::cold, gnu::noinline]] inline status missing_array(char const* format) {
    return failure(errc::null_data, format, "an array of a matrix with elements is null");
}
// begins[0] = 0 <= begins[1] <= ... <= begins[lines] = elements. Without lines, there may be no array.
template <class Index>
status check_begins(char const* format, char const* name, Index const* begins, index_t lines,
                    index_t elements) {
    auto const wrong = [&](char const* what, index_t at) {
        char text[120];
        __builtin_snprintf(text, sizeof(text), "%s%s", name, what);
        return wrong_at(format, text, at);
    };
    if (!begins) return lines == 0 && elements == 0 ? status() : missing_array(format);
    if (begins[0] != 0) return wrong(" does not begin with 0 but with ", begins[0]);
    for (index_t i = 0; i < lines; ++i)
        if (begins[i + 1] < begins[i]) return wrong(" falls after row ", i);
    if (begins[lines] != elements) {
        char text[120];
        __builtin_snprintf(text, sizeof(text), "the number of stored elements is not the last of %s, ", name);
        return wrong_at(format, text, begins[lines]);
    }
    return {};
}
// Each number is in [0, side).
template <class Index>
status check_range_of(char const* format, char const* name, Index const* numbers, index_t count,
                      index_t side) {
    if (!numbers && count > 0) return missing_array(format);
    for (index_t at = 0; at < count; ++at)
        if (numbers[at] < 0 || numbers[at] >= side) {
            char text[120];
            __builtin_snprintf(text, sizeof(text), "%s is out of range: number ", name);
            return wrong_at(format, text, at);
        }
    return {};
}
// Whether numbers of type Index can count `n` elements.
template <class Index>
constexpr bool can_count(index_t n) {
    return sizeof(Index) >= sizeof(index_t) || n <= static_cast<index_t>(std::numeric_limits<Index>::max());
}
template <class Index>
constexpr bool can_count(index_t x, index_t y) {
    index_t n = 0;
    return !__builtin_mul_overflow(x, y, &n) && can_count<Index>(n);
}

// The number x * y of elements of `size` bytes; an error if there cannot be so many.
inline index_t product_of_sides(char const* layer, index_t x, index_t y, std::size_t size) {
    index_t elements = 0, bytes = 0;
    if (__builtin_mul_overflow(x, y, &elements) ||
        __builtin_mul_overflow(elements, static_cast<index_t>(size), &bytes))
        raise(error(errc::overflow, layer, "the arrays have more bytes than there are"));
    return elements;
}

// Where part `part` of `parts` begins, if rows are divided by their elements.
template <class Index>
index_t first_row(Index const* begins, index_t rows, int part, int parts) {
    if (part == parts || rows == 0) return rows;
    auto const elements = static_cast<index_t>(begins[rows]);
    // Parts have like numbers of elements and rows together: an empty row takes time, too.
    index_t const before = (elements + rows) / parts * part;
    index_t low = 0, high = rows;
    while (low < high) {
        index_t const middle = (low + high) / 2;
        if (static_cast<index_t>(begins[middle]) + middle < before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

STRATAGEMM_END
