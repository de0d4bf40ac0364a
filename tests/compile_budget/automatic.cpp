// What it costs to compile that the library chooses the policy.
#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

int main() {
    sg::matrix<float> a(64, 64), b(64, 64), c(64, 64);
    sg::automatic const pick{sg::host{}};
    sg::gemm(pick, a, b, c);
}
