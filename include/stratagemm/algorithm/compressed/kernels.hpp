// Kernels of compressed products on the host, for each instruction set.
#pragma once

#include "../../structure/hadamard/kernels.hpp"
#include "choice.hpp"

#include <utility>

STRATAGEMM_BEGIN

// Columns of a panel, whatever the instruction set: a row has four lines of the cache.
template <class R>
inline constexpr index_t compressed_width = 256 / sizeof(R);

// The most elements of a row of C that are estimated at a time.
template <class R>
inline constexpr index_t compressed_piece = 16 * compressed_width<R>;

// Elements of a product of panels: those of keys [first_key, last_key), where a key is a row of A, modulo `rows`, and
// `begins` says which elements it has. sums[at] += the row of A times row cols[at] of B.
template <class R>
struct compressed_entries {
    R const *a, *b;
    index_t rows; // a power of two
    std::uint32_t const *begins, *cols;
    R* sums;
    index_t first_key, last_key;
};

// Estimates of `width` elements of a row of C, side by side: sketch s has element j at bucket from[s] ^ j of tables[s],
// but for signs[s]. Their medians, times alpha, are written to `to`.
template <class R>
struct compressed_row {
    int count; // of sketches
    R const* const* tables;
    std::uint32_t const* from;
    R const* signs;
    index_t width; // a multiple of the lanes of a vector
    R alpha;
    R* to;
    compressed_parts::median_network const* network;
};

template <class R>
struct compressed_kernels {
    index_t lanes;
    void (*turn)(R const* from, index_t from_row, R* to, index_t to_row);
    void (*dots)(compressed_entries<R> const&);
    void (*estimate)(compressed_row<R> const&);
    void (*medians)(compressed_parts::median_network const&, R* x, index_t width);
};
template <int Count>
inline constexpr compressed_parts::median_network compressed_network{Count};
struct compressed_numbers {
    std::uint32_t at[16];
};
inline constexpr compressed_numbers compressed_lanes{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};

#define STRATAGEMM_EACH_ISA "../../algorithm/compressed/kernels.inl.hpp"
#include "../../backend/host/each_isa.inl.hpp"

// The kernels of the instruction set in force.
template <class R>
compressed_kernels<R> const& compressed_kernels_here() {
#if defined(__x86_64__)
    isa_choice const& choice = current_isa();
    if (choice.available && choice.isa >= host_isa::avx512) return host_avx512::compressed_table<R>;
    if (choice.available && choice.isa >= host_isa::avx2) return host_avx2::compressed_table<R>;
#endif
    return host_portable::compressed_table<R>;
}

STRATAGEMM_END
