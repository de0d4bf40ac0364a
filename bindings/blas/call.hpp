// What all routines share: how a call says what its operands are, and what happens to a call that BLAS does not allow.
#pragma once

#include <stratagemm/backend/host.hpp>

#include <complex>
#include <type_traits>

namespace stratagemm_blas {

namespace sg = stratagemm;
using sg::index_t;

template <class T>
inline constexpr bool is_complex = sg::complex_like<T>;
template <class T>
using real = sg::real_t<T>;

// `bad`: the argument is none that BLAS knows.
enum class op : unsigned char { none, transposed, adjoint, conjugated, bad };
enum class side : unsigned char { left, right, bad };
enum class half : unsigned char { upper, lower, bad };
enum class diagonal : unsigned char { stored, unit, bad };

// Who was called. Errors count the arguments as the caller sees them: CBLAS has the layout before those of Fortran.
struct caller {
    char const* name;     // as errors give it: "DGEMM " or "cblas_dgemm"
    bool is_c = false;    // CBLAS
    bool by_rows = false; // its matrices are row-major
};

// Reports an argument, counted as Fortran does, to the program's xerbla_ or cblas_xerbla; or prints the usual line.
void refuse(caller const& who, int argument);
// The layout itself is none.
void refuse_layout(caller const& who);
// Ends the program: BLAS has no way to report such an error.
[[noreturn]] void give_up(char const* what);

// A matrix as it lies in memory.
template <class T>
sg::view<T> stored(caller const& who, T* data, index_t rows, index_t cols, index_t leading) {
    return who.by_rows ? sg::row_major(data, rows, cols, leading) : sg::col_major(data, rows, cols, leading);
}
// Whether a leading dimension is too small for a matrix with these sides.
inline bool is_short(caller const& who, index_t leading, index_t rows, index_t cols) {
    index_t const line = who.by_rows ? cols : rows;
    return leading < (line > 1 ? line : 1);
}

template <class T>
sg::view<T> applied(op what, sg::view<T> v) {
    if (what == op::transposed || what == op::adjoint) v = v.transposed();
    if constexpr (is_complex<std::remove_const_t<T>>)
        v.conjugate = what == op::adjoint || what == op::conjugated;
    return v;
}
inline bool turns(op what) { return what == op::transposed || what == op::adjoint; }
inline half other(half h) { return h == half::lower ? half::upper : half::lower; }

} // namespace stratagemm_blas
