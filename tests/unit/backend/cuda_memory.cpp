// A program of its own, since it replaces operator new.
#include "failing_new.hpp"

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/backend/cuda.hpp>

#include "memory.hpp"

namespace sg = stratagemm;

int main() {
    // The session, which nothing has asked for until here, is made by a call that may fail.
    memory::operands const x;
    sg::matrix<float> c(33, 40);
    sg::cuda const gpu;
    memory::try_each(
        "the first call", 10, [&] { return sg::try_gemm(gpu, 2.0f, x.a, x.b, 0.0f, c, sg::relu); },
        [&] { return x.is(c); });
    memory::try_all(gpu, sg::cuda{.tile = sg::cuda_blocked{16, 16, 8, 4, 2, 2, 2}});
    return memory::verdict();
}
