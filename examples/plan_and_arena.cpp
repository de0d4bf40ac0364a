// A plan does once what depends on policy and shape alone: it says what will run, how much workspace that takes
// and how large the error can be, and then runs without allocating. To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/plan_and_arena.cpp -o plan_and_arena
#include <stratagemm/stratagemm.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace sg = stratagemm;
using sg::index_t;

// Count every allocation of the program, to show that run() makes none.
std::atomic<int> allocations = 0;
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
    ++allocations;
    std::size_t const align = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(align, (size + align - 1) / align * align);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    if (void* p = operator new(size, alignment, std::nothrow)) return p;
    throw std::bad_alloc();
}
void* operator new(std::size_t size) { return operator new(size, std::align_val_t(16)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

int main() {
    index_t const n = 300;
    sg::matrix<float> a(n, n, [](index_t i, index_t j) { return (i + 2 * j) % 9 - 4; });
    sg::matrix<float> b(n, n, [](index_t i, index_t j) { return (3 * i + j) % 7 - 3; });
    sg::matrix<float> c(n, n);

    auto plan = sg::plan(sg::strassen{sg::host{}, {.levels = 1}}, sg::shape<float>{.m = n, .n = n, .k = n});
    std::printf("runs:      %s\n", plan.describe().c_str());
    std::printf("workspace: %zu bytes\n", plan.workspace().host);
    sg::bound const bound = plan.error_bound();
    std::printf("error:     expected %.1e, never more than %.1e, times %s\n", bound.expected, bound.worst,
                bound.normwise ? "k max|A| max|B|" : "(|A||B|)_ij");

    auto arena = plan.reserve(); // the only allocation; the arena frees it
    plan.run(a, b, c, arena);    // the first run may start threads
    int const before = allocations;
    for (int repeat = 0; repeat < 10; ++repeat) plan.run(a, b, c, arena);
    int const during = allocations - before;
    std::printf("allocated: %d times in 10 runs\n", during);

    int wrong = 0; // the values are small integers: every sum is exact
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
            float sum = 0;
            for (index_t l = 0; l < n; ++l) sum += a(i, l) * b(l, j);
            wrong += sum != c(i, j);
        }
    return wrong || during ? 1 : 0;
}
