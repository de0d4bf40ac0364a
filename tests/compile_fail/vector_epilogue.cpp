// expect: the last argument is no epilogue: relu, bias(v), or a function object that is called as f(x) or f(x, i, j)
#include <stratagemm/stratagemm.hpp>

#include <vector>

namespace sg = stratagemm;

void biased(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c, std::vector<float> const& v) {
    sg::gemm(a, b, c, v);
}
