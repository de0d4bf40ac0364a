// expect: strassen_options
// and: option names: see strassen_options
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

// A wrong name in a list of options: the line that the compiler shows says where the names are.
void misspelt(sg::host& cpu, sg::matrix<float>& a, sg::matrix<float>& b, sg::matrix<float>& c) {
    sg::gemm(sg::strassen{cpu, {.level = 2}}, a, b, c);
}
