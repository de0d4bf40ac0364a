// Many small products in one call: batched(first, count, stride) is `count` matrices, `stride` elements apart.
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/batched.cpp -o batched
#include <stratagemm/stratagemm.hpp>

#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index;

int main() {
    index const count = 1000, n = 8;
    std::vector<float> a(count * n * n), b(count * n * n), c(count * n * n);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i % 7) - 3; // small integers: nothing rounds
        b[i] = static_cast<float>(i % 5) - 2;
    }
    // The t-th of the matrices that lie one after another in v.
    auto nth = [&](std::vector<float>& v, index t) { return sg::row_major(v.data() + t * n * n, n, n); };
    auto all = [&](std::vector<float>& v) { return sg::batched(nth(v, 0), count, n * n); };
    auto wrong = [&](sg::view<float> left, sg::view<float> right, sg::view<float> result) {
        int bad = 0;
        for (index i = 0; i < n; ++i)
            for (index j = 0; j < n; ++j) {
                float sum = 0;
                for (index l = 0; l < n; ++l) sum += left(i, l) * right(l, j);
                bad += sum != result(i, j);
            }
        return bad;
    };

    int failures = 0;
    sg::gemm(all(a), all(b), all(c)); // C_t = A_t B_t
    for (index t = 0; t < count; ++t) failures += wrong(nth(a, t), nth(b, t), nth(c, t));

    sg::gemm(all(a), nth(b, 0), all(c)); // C_t = A_t B: one matrix beside a batch serves every product
    for (index t = 0; t < count; ++t) failures += wrong(nth(a, t), nth(b, 0), nth(c, t));

    std::printf("%d x 2 products of %d x %d, %d wrong elements\n", int(count), int(n), int(n), failures);
    return failures ? 1 : 0;
}
