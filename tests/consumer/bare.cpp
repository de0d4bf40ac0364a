// A program without exceptions and run-time type information. With an argument it calls gemm with wrong shapes.
#include <stratagemm/stratagemm.hpp>

#include <cstdio>

namespace sg = stratagemm;

int other(); // 0 if all is well; of bare_other.cpp, or of a file with nothing else

namespace {

template <class T, class Policy>
bool right(Policy const& policy) {
    sg::index_t const n = 70;
    sg::matrix<T> const a(n, n, [](sg::index_t i, sg::index_t j) { return static_cast<T>((i + 2 * j) % 5); });
    sg::matrix<T> const one(n, n, [](sg::index_t i, sg::index_t j) { return static_cast<T>(i == j); });
    sg::matrix<T> c(n, n);
    if (!sg::try_gemm(policy, a, one, c)) return false;
    for (sg::index_t i = 0; i < n * n; ++i)
        if (c.data()[i] != a.data()[i]) return false;
    return true;
}

} // namespace

int main(int count, char**) {
    sg::matrix<float> const a(3, 4), b(5, 6);
    sg::matrix<float> c(3, 6);
    if (count > 1) sg::gemm(a, b, c); // does not come back
    sg::host const cpu{};
    if (!right<float>(cpu) || !right<double>(cpu) || !right<double>(sg::reference{}) ||
        !right<float>(sg::strassen{cpu, {.levels = 1}}) || !right<float>(sg::recursive{cpu}) ||
        !right<double>(sg::ozaki{cpu, {.moduli = 15}}) || !right<float>(sg::split{cpu, {.products = 6}})) {
        std::puts("a product is wrong");
        return 1;
    }
    sg::status const s = sg::try_gemm(a, b, c);
    if (s || s.error().code() != sg::errc::shape) {
        std::puts("try_gemm does not return errc::shape");
        return 1;
    }
    return other();
}
