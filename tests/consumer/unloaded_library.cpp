// A shared library that has this one inside, and is closed while the program runs.
#include <stratagemm/stratagemm.hpp>

#include <cstring>

// Products on one thread, again and again, so that their shape gets a kernel of its own, and by a team. 0: all are right.
extern "C" int multiply() {
    namespace sg = stratagemm;
    auto const make = [](sg::index_t n) {
        return sg::matrix<float>(n, n, [](auto i, auto j) { return static_cast<float>((i + 2 * j) % 5); });
    };
    for (sg::index_t n : {24, 300}) {
        sg::matrix<float> const a = make(n);
        sg::matrix<float> c(n, n), expected(n, n);
        sg::gemm(sg::reference{}, a, a, expected);
        for (int again = 0; again < (n < 100 ? 200 : 3); ++again) sg::gemm(sg::host{.threads = 3}, a, a, c);
        if (std::memcmp(c.data(), expected.data(), static_cast<std::size_t>(n * n) * sizeof(float)) != 0)
            return 1;
    }
    return 0;
}
