// expect: the plan was made for operands of other types
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void other(sg::plan<sg::host, sg::shape<float>> const& plan, sg::matrix<double>& a, sg::matrix<double>& b,
           sg::matrix<double>& c) {
    plan.run(a, b, c);
}
