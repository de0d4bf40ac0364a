// expect: the last argument is no epilogue: relu, bias(v), or a function object that is called as f(x) or f(x, i, j)
#include <stratagemm/stratagemm.hpp>

#include <string>

namespace sg = stratagemm;

void named(sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c, std::string const& name) {
    sg::gemm(a, b, c, name);
}
