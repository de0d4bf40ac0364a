// The order in which an invariant policy sums the terms of k: a function of k and of the types, and of nothing else.
//
// k is cut into pieces of equal depth, the last of which may be shorter. The terms of a piece are summed one after
// another, from zero on, and the sums of the pieces are added to zero in ascending order. So a kernel may sum the whole of
// k, or one piece only, whose sums another kernel adds up: the bits are the same.
#pragma once

#include "../core/config.hpp"

#include <cstddef>

STRATAGEMM_BEGIN

// The depth of a piece: at least `least` terms and at most `pieces` pieces, in multiples of 64, which are whole steps
// of every kernel. What is not deeper is one piece.
constexpr std::ptrdiff_t piece_depth(std::ptrdiff_t k, std::ptrdiff_t least, std::ptrdiff_t pieces) {
    std::ptrdiff_t const depth = ((k - 1) / pieces / 64 + 1) * 64;
    return depth > least ? depth : least;
}

STRATAGEMM_END
