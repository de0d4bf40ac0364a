// What the C++ blocks of the documents may use without declaring it. Blocks that declare a name of their own hide the
// one here. tests/docs/snippets.sh says how blocks become functions.
#pragma once

#include <stratagemm/algorithm/compressed.hpp>
#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/cp.hpp>
#include <stratagemm/structure/dct.hpp>
#include <stratagemm/structure/dft.hpp>
#include <stratagemm/structure/diagonal.hpp>
#include <stratagemm/structure/events.hpp>
#include <stratagemm/structure/hadamard.hpp>
#include <stratagemm/structure/kronecker.hpp>
#include <stratagemm/structure/low_rank.hpp>
#include <stratagemm/structure/matrix_market.hpp>
#include <stratagemm/structure/permutation.hpp>
#include <stratagemm/structure/rdft.hpp>
#include <stratagemm/structure/sampled.hpp>
#include <stratagemm/structure/sketch.hpp>
#include <stratagemm/structure/tensor_train.hpp>
#include <stratagemm/structure/toeplitz.hpp>
#include <stratagemm/structure/tucker.hpp>
#include <stratagemm/structure/two_of_four.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sg = stratagemm;

namespace given {
extern sg::matrix<float> a, b, c, e, x, y, z;
extern sg::index_t m, n, k, count;
extern sg::host cpu;
} // namespace given
