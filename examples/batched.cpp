// Many small products in one call: batched(first, count, stride) is `count` matrices, `stride` elements apart; a group is
// any container of products, each of its own size.
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/batched.cpp -o batched
#include <stratagemm/stratagemm.hpp>

#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int main() {
    index_t const count = 1000, n = 8;
    std::vector<float> a(count * n * n), b(count * n * n), c(count * n * n);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i % 7) - 3; // small integers: nothing rounds
        b[i] = static_cast<float>(i % 5) - 2;
    }
    // The t-th of the matrices that lie one after another in v.
    auto nth = [&](std::vector<float>& v, index_t t) { return sg::row_major(v.data() + t * n * n, n, n); };
    auto all = [&](std::vector<float>& v) { return sg::batched(nth(v, 0), count, n * n); };
    auto wrong = [&](sg::view<float> left, sg::view<float> right, sg::view<float> result) {
        int bad = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) {
                float sum = 0;
                for (index_t l = 0; l < n; ++l) sum += left(i, l) * right(l, j);
                bad += sum != result(i, j);
            }
        return bad;
    };

    int failures = 0;
    sg::gemm(all(a), all(b), all(c)); // C_t = A_t B_t
    for (index_t t = 0; t < count; ++t) failures += wrong(nth(a, t), nth(b, t), nth(c, t));

    sg::gemm(all(a), nth(b, 0), all(c)); // C_t = A_t B: one matrix beside a batch serves every product
    for (index_t t = 0; t < count; ++t) failures += wrong(nth(a, t), nth(b, 0), nth(c, t));

    // The i-th takes the first i + 1 rows of A_i and columns of B_i. They may run in any order and at the same time.
    std::vector<sg::dense_problem<float, float, float>> group;
    for (index_t i = 0; i < n; ++i)
        group.push_back(sg::product(nth(a, i).block(0, 0, i + 1, n), nth(b, i).block(0, 0, n, i + 1),
                                    nth(c, count - 1 - i).block(0, 0, i + 1, i + 1)));
    sg::gemm(group);
    for (auto const& one : group)
        for (index_t i = 0; i < one.c.rows; ++i)
            for (index_t j = 0; j < one.c.cols; ++j) {
                float sum = 0;
                for (index_t l = 0; l < n; ++l) sum += one.a(i, l) * one.b(l, j);
                failures += sum != one.c(i, j);
            }

    std::printf("%d x 2 products of %d x %d and a group of %d, %d wrong elements\n", int(count), int(n),
                int(n), int(n), failures);
    return failures ? 1 : 0;
}
