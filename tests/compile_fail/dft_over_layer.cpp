// expect: this policy takes plain matrices only
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <complex>

namespace sg = stratagemm;

void layered(sg::matrix<std::complex<float>>& x, sg::matrix<std::complex<float>>& y) {
    sg::gemm(sg::strassen{sg::host{}}, sg::dft<float>(8), x, y);
}
