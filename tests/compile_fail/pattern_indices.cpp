// expect: pattern() takes two sparse matrices with one element type and one type of indices
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/sampled.hpp>

namespace sg = stratagemm;

void of_two_types(sg::csr<float> const& a, sg::csr<float, std::int64_t> const& b) {
    sg::pattern(sg::host{}, a, b);
}
