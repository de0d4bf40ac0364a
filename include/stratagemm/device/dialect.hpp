// The dialect: kernels that move memory, written once for every language in which a device takes its kernels.
//
// A kernel is a text (device_kernel in core/leaf.hpp) that leaf.launch(kernel, groups, arguments...) compiles when it is
// first needed. A backend puts in front of it what its language needs (kernels/dialect.* in its folder). A launch is
// one-dimensional: groups of `items` work-items each, a multiple of 32. A kernel can
// rely on these words and on C. It must not use C++, which OpenCL C lacks.
//
//   KERNEL(items) name(parameters)   a kernel for groups of so many work-items; ITEMS is device_kernel::items
//   FUNCTION type name(parameters)   a function that kernels call
//   BUFFER(T, x)                     a parameter that the launch gives a handle; T is an element type, or T const
//   OPEN(T, x)                       makes x a pointer; once for each BUFFER, before its use
//   MATRIX(T, x)                     BUFFER(T, x) and the strides x_row and x_col, of type index: the launch gives a handle
//                                    and two indices
//   AT(x, i, j)                      where element (i, j) of that matrix is, from x on
//   GLOBAL T *p                      a pointer into a buffer, as functions take it
//   SHARED T x[n]                    memory of the group; declared in the outermost block of a kernel, not initialised.
//                                    T is float, double, int, uint, ulong or byte
//   BARRIER()                        all work-items of the group come here, and see what was written to SHARED memory
//   ITEM, GROUP, GROUPS              the number of the work-item in its group, of the group, and of groups: int
//   WARP, LANE                       ITEM / 32 and ITEM % 32, for less
//   LOAD(T, p, i)                    p[i] as a number: float for half, bfloat16 and fp8, uint for byte and int, T else
//   STORE(T, p, i, x)                p[i] = x, rounded to nearest even; x has the type that LOAD gives
//   CONVERT(T, x)                    x as T, a type of numbers; a complex number only as a complex one
//   VECTOR(T, n)                     n = 2 or 4 of float, double, int, uint or byte; the members are x, y, z and w
//   LOAD_VECTOR(T, n, p, i)          p[i], ..., p[i + n - 1] as one; p + i is aligned to n elements
//   STORE_VECTOR(T, n, p, i, v)
//   SHUFFLES                         1 if there is SHUFFLE(x, lane), else 0: x of that LANE of the same WARP, of which all
//                                    32 come here
//
// Element types: float, double, half, bfloat16, byte (8 bits, with a sign), int, complex64, complex128; fp8_e4m3 and
// fp8_e5m2 where the backend has them. kernel_type<T>() (source.hpp) names that of T. Half, bfloat16 and fp8 exist behind
// pointers only. Integers: int and uint have 32 bits, index and ulong 64, index with a sign. Both languages also have fma,
// fabs, floor, rint, ldexp, sqrt, min and max. Double takes device_kernel::uses_double.
//
// With kernel_types<In, Out>() in the definitions there are IN, OUT and what sums of IN are kept in: `scalar` (with ZERO,
// times(x, y), scale_by(factor, x), multiply_add(x, y, sum), conjugate_if(condition, x)), `value` (a scalar as epilogues
// see it; integers with a sign) and OUT_VALUE (what numbers of OUT are). With an epilogue's definitions() behind these,
// epilogue(x, i, j EPILOGUE_NAMES) is it; its values come where EPILOGUE_STATE stands among the parameters, behind another
// one and without a comma, and the launch is given the epilogue there.
//
// With device_kernel::exact, a * b + c rounds twice, as it is written; fma(a, b, c) rounds once in any case. Else the
// compiler may take one for the other. What a kernel adds up with atomics depends on chance: there are none.
#pragma once

#include "../core/leaf.hpp"
#include "source.hpp"

STRATAGEMM_BEGIN

inline constexpr char dialect_text[] = R"(
#define MATRIX(T, x) BUFFER(T, x), index x##_row, index x##_col
#define AT(x, i, j) ((i) * x##_row + (j) * x##_col)
#define EACH(at, count) index at = (index)GROUP * ITEMS + ITEM; at < (count); at += (index)GROUPS * ITEMS
#define ELEMENT(i, j, rows, cols)                            \
    int const i##_across = (int)(((cols) - 1) / 32 + 1);     \
    index const j = (index)(GROUP % i##_across) * 32 + LANE; \
    index const i = (index)(GROUP / i##_across) * 8 + WARP;  \
    if (j >= (cols) || i >= (rows)) return
#define PRODUCT                                                                                                        \
    scalar alpha, scalar beta, int adds, MATRIX(OUT const, e), int e_conjugated, MATRIX(OUT, c), index rows, index cols
#define FINISH_ELEMENT(i, j, sum)                                                               \
    do {                                                                                \
        scalar finished = scale_by(alpha, sum);                                         \
        if (adds) {                                                                     \
            scalar const added = LOAD(OUT, e, AT(e, i, j));                             \
            finished = multiply_add(beta, conjugate_if(e_conjugated, added), finished); \
        }                                                                               \
        STORE(OUT, c, AT(c, i, j), CONVERT(OUT_VALUE, (value)finished));                \
    } while (0)
)";

// How many groups to launch for a kernel that loops over EACH of its elements: enough for any device, few to schedule.
constexpr index groups_for_each(index count, int items) {
    constexpr index most = 1 << 16;
    index const wanted = (count + items - 1) / items;
    return wanted < most ? wanted : most;
}
// And for one with an ELEMENT of a matrix for each work-item, in groups of 256.
constexpr index groups_for_elements(index rows, index cols) {
    return rows == 0 || cols == 0 ? 0 : ((rows - 1) / 8 + 1) * ((cols - 1) / 32 + 1);
}

// f(x) for what a launch gives a kernel for an argument: of a view, what MATRIX takes.
template <class F, class T>
void each_given(F&& f, T const& argument) {
    f(argument);
}
template <class F, class T, class Space>
void each_given(F&& f, view<T, Space> const& matrix) {
    f(matrix.data), f(matrix.row_stride), f(matrix.col_stride);
}

// What a compiled kernel is found by. A launch makes one, so that it has no text to build.
struct dialect_key {
    static_text text;
    std::uintptr_t types; // the address of a function
    int items;
    bool uses_double, exact;
    std::string name, definitions; // of the caller, who may change them

    explicit dialect_key(device_kernel const& k)
        : text(k.text), types(reinterpret_cast<std::uintptr_t>(k.types)), items(k.items),
          uses_double(k.uses_double), exact(k.exact), name(k.name), definitions(k.definitions) {}
    friend auto operator<=>(dialect_key const&, dialect_key const&) = default;
};

inline std::string dialect_head(device_kernel const& k) {
    std::string head = "#define ITEMS " + std::to_string(k.items) + '\n';
    if (k.uses_double) head += "#define DOUBLE 1\n";
    if (k.exact) head += "#define EXACT 1\n";
    return head;
}
// `language` defines the words and the element types, `numbers` what depends on the definitions.
inline std::string dialect_source(device_kernel const& k, std::string const& language, char const* numbers) {
    return dialect_head(k) + language + (k.types ? k.types() : std::string()) + k.definitions + numbers +
           dialect_text + k.text.get();
}

STRATAGEMM_END
