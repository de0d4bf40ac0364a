// Leaves the choice of the policy to the library, and prints why it chose what it did.
#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/stratagemm.hpp>

#include <iostream>

namespace sg = stratagemm;

int main() {
    sg::index_t const n = 500;
    sg::matrix<double> const a(n, n, [](auto i, auto j) { return 1.0 / static_cast<double>(i + j + 1); });
    sg::matrix<double> c(n, n);

    // One policy for the whole program: it keeps what it chose.
    sg::automatic const pick{sg::host{}};
    sg::gemm(pick, a, a, c);
    std::cout << pick.explain(sg::shape<double>{n, n, n}) << '\n';

    // Errors that are small beside the largest elements, and not beside each, allow Strassen's algorithm.
    sg::automatic const norms{sg::host{}, {.normwise = true}};
    std::cout << norms.explain(sg::shape<double>{20 * n, 20 * n, 20 * n}) << '\n';

    // Seven digits of doubles are enough: where int8 products are fast, they run.
    sg::automatic const rough{sg::host{}, {.bound = 1e-7}};
    std::cout << rough.explain(sg::shape<double>{20 * n, 20 * n, 20 * n});
    return pick.explain(sg::shape<double>{n, n, n}).taken() ? 0 : 1;
}
