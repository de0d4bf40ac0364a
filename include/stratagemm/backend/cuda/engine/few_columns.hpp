// Products whose C has few columns, or few rows and is turned: which ones have kernels that read A once.
#pragma once

#include "../lines.hpp"
#include "../query.hpp"

STRATAGEMM_BEGIN

// The most columns of m rows that have a dedicated kernel (narrow.cu.hpp). For more columns the tiles of other kernels
// are faster, although they are mostly empty.
constexpr std::ptrdiff_t narrow_most(char type, std::ptrdiff_t m) {
    switch (type) {
    case 'h':
    case 'w':
    case 'c': return 8;
    case 's':
    case 't': return m >= 1024 ? 8 : 4;
    case 'd': return m >= 4096 ? 8 : 4;
    default: return 4;
    }
}
// The most columns where lines along k begin anywhere and are read as vectors. For as many, tiles need a copy of A.
inline constexpr std::ptrdiff_t narrow_most_shifted = 64;

// Whether C has so few columns, or after turning it so few rows, that A is best read once by a kernel for that.
// `type` as in choose().
inline bool has_few_columns(cuda_sides const& s, std::ptrdiff_t most = 8) {
    bool const no_overflow = s.k <= device_longest - 65536; // of what a step adds
    return s.n <= s.m && s.n <= most && s.k >= 32 && no_overflow && !is_batch_of_small(s);
}
inline bool is_narrow(char type, cuda_sides const& s) { return has_few_columns(s, narrow_most(type, s.m)); }
// Whether a matrix is multiplied by a vector, so that each of its elements is read once and tiles have nothing to share.
inline bool is_times_vector(cuda_query const& q) {
    return q.sides.n == 1 && !q.invariant && !q.layout.widens() && is_narrow(q.type, q.sides);
}
// The sides of C or, if its transpose is narrow, those of the transpose.
inline cuda_sides oriented(char type, cuda_sides const& s) {
    cuda_sides const turned{s.n, s.m, s.k, s.count};
    return s.m < s.n && is_narrow(type, turned) ? turned : s;
}

// Whether few columns are multiplied by the tensor cores, if A may be read as vectors. Doubles whose A lies along k are
// multiplied by tiles instead.
inline bool narrow_on_tensor_cores(char type, cuda_device const& d, std::ptrdiff_t n, bool along_k) {
    if (type == 'h' || type == 'w') return d.capability >= 80 && (along_k || n > 2);
    if (type == 'b') return d.capability >= 80 && along_k;
    return type == 'd' && d.capability >= 90 && n > 4 && !along_k;
}

// Whether few columns of 16 bits may be multiplied by an A whose lines along k begin anywhere, without a copy of A.
// Tiles would need a copy, which is faster where A is small and B is not. For up to eight columns another kernel takes
// lines that begin at multiples of 4 bytes; that kernel is faster for many terms. `of_any_size`: also in sizes in which
// this kernel is never faster.
inline bool reads_shifted(char type, std::size_t element, cuda_device const& d, cuda_sides const& s,
                          cuda_layout const& layout, bool of_any_size = false) {
    bool const of_type = type == 'h' || type == 'w', no_overflow = s.k <= device_longest - 65536;
    std::size_t const line = static_cast<std::size_t>(s.k) * element;
    bool const may = of_type && d.capability >= 80 && layout.a_along_k && layout.a_in_lines &&
                     line % 16 != 0 && s.n <= narrow_most_shifted && no_overflow;
    if (!may || of_any_size) return may;
    if (s.count > 1 || s.n > s.m) return false;
    bool const words = line % 4 == 0;
    if (s.n <= (words ? 8 : 16)) return s.n > 1 && s.m >= 500 && s.k >= 96 && (!words || s.k <= 768);
    double const bytes = static_cast<double>(s.m) * static_cast<double>(line);
    return s.n > 8 && s.m >= 1000 && s.k >= 256 && bytes >= (words ? 12e5 : 6e5) * static_cast<double>(s.n);
}

// How the kernels for few columns may read A, whose lines are the rows of a view.
struct cuda_lines_of_few {
    std::uintptr_t begins;       // what divides the addresses of all lines
    bool in_lines, words, dense; // read as words of 4 bytes, or as vectors

    template <class T>
    explicit cuda_lines_of_few(cuda_line_view<T> const& a)
        : begins(reinterpret_cast<std::uintptr_t>(a.view.data.address) |
                 static_cast<std::uintptr_t>(a.view.row_stride | a.step) * sizeof(T)),
          // Vectors may read beyond the rows of a line along m, up to the next line.
          in_lines(a.view.col_stride == 1 && (a.along_k || a.view.row_stride >= a.view.cols)),
          words(begins % 16 != 0 && begins % 4 == 0 && sizeof(T) < 4 && a.along_k && a.view.col_stride == 1),
          dense(words || (begins % 16 == 0 && in_lines)) {}
};

STRATAGEMM_END
