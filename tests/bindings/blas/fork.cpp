// fork() after a product by several threads: the child multiplies, too, and ends. A thousand times.
#include "library.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

// Whether the library's product of two matrices of ones is right.
bool multiplies(int n) {
    auto const size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<double> const a(size, 1.0);
    std::vector<double> c(size, -1.0);
    blas_test::routines<double>(blas_test::plain, blas_test::language::fortran)
        .gemm('N', 'N', n, n, n, 1.0, a.data(), n, a.data(), n, 0.0, c.data(), n);
    for (double const x : c)
        if (x != n) return false;
    return true;
}

} // namespace

int main(int argc, char** argv) {
    int const times = argc > 1 ? std::atoi(argv[1]) : 1000;
    constexpr int n = 160; // more work than one thread does alone
    for (int i = 0; i < times; ++i) {
        if (!multiplies(n)) return std::puts("the parent's product is wrong"), 1;
        pid_t const child = fork();
        if (child == 0) {
            alarm(20); // a child that never comes back fails
            _exit(multiplies(n) ? 0 : 1);
        }
        int result = -1;
        if (child < 0 || waitpid(child, &result, 0) != child || result != 0)
            return std::printf("child %d ended with %d\n", i, result), 1;
    }
    return 0;
}
