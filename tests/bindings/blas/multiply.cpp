// A program that knows BLAS only: C = A B for matrices of ones, by dgemm_. Fails if an element of C is not their side.
#include <cstdlib>
#include <vector>

extern "C" void dgemm_(char const*, char const*, int const*, int const*, int const*, double const*,
                       double const*, int const*, double const*, int const*, double const*, double*,
                       int const*);

int main(int argc, char** argv) {
    int const n = argc > 1 ? std::atoi(argv[1]) : 100;
    std::vector<double> const a(static_cast<std::size_t>(n * n), 1.0);
    std::vector<double> c(a.size(), -1.0);
    double const one = 1, zero = 0;
    dgemm_("N", "T", &n, &n, &n, &one, a.data(), &n, a.data(), &n, &zero, c.data(), &n);
    for (double const x : c)
        if (x != n) return 1;
    return 0;
}
