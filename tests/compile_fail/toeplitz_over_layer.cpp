// expect: this policy takes plain matrices only
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/toeplitz.hpp>

#include <vector>

namespace sg = stratagemm;

// Direct products are made of a layer's; those by transforms are a backend's.
void layered(std::vector<float> const& d, sg::matrix<float>& x, sg::matrix<float>& y) {
    sg::gemm(sg::strassen{sg::host{}}, sg::toeplitz(d, 4, 4), x, y);
    sg::gemm(sg::strassen{sg::host{}}, sg::toeplitz(d, 4, 4).by_transforms(), x, y);
}
