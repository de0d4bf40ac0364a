// A program of its own, since it replaces operator new: the n-th allocation of a call fails, and in a second pass all from
// the n-th on, for each n until the call gets through. try_gemm must return errc::memory, throw nothing, and leave C as
// it was.
#include "failing_new.hpp"

#include <stratagemm/stratagemm.hpp>

#include <cstdio>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using namespace failing;

namespace {

int wrong = 0;

void complain(char const* name, bool alone, long n, char const* what) {
    ++wrong;
    std::printf("%s, %s allocation %ld fails: %s\n", name, alone ? "only" : "from", n, what);
}

// `call` is a product whose C is `c`; `ends` is how it ends with enough memory. `least` allocations have to be seen, so
// that the test knows that it tests something.
template <class Call>
void try_each(char const* name, long least, sg::matrix<float>& c, Call const& call, bool succeeds = true,
              sg::errc ends = sg::errc::memory) {
    for (bool const alone : {true, false}) {
        long n = 0;
        for (bool failed = true; failed && n < 1000; n += failed) {
            // A thread of its own: workspace that a thread keeps would serve the next call.
            std::thread([&] {
                for (sg::index_t i = 0; i < c.rows() * c.cols(); ++i) c.data()[i] = -7;
                has_failed = false, one_alone = alone, until_failure = n, armed = true;
                try {
                    sg::status const s = call();
                    armed = false;
                    if (!has_failed) {
                        if (static_cast<bool>(s) != succeeds || (!s && s.error().code() != ends))
                            complain(name, alone, n, s ? "it succeeds" : s.error().what());
                    } else if (s) { // it did without
                    } else if (s.error().code() != sg::errc::memory && s.error().code() != ends) {
                        complain(name, alone, n, s.error().what());
                    } else {
                        bool touched = false;
                        for (sg::index_t i = 0; i < c.rows() * c.cols(); ++i) touched |= c.data()[i] != -7;
                        if (touched) complain(name, alone, n, "C was written");
                    }
                } catch (...) {
                    armed = false;
                    complain(name, alone, n, "an exception was thrown");
                }
                failed = has_failed;
            }).join();
        }
        if (n < least || n >= 1000) complain(name, alone, n, "so many allocations were not expected");
    }
}

float element(sg::index_t i, sg::index_t j) { return static_cast<float>((3 * i + 5 * j) % 7) - 3; }

} // namespace

int main() {
    sg::index_t const n = 200;
    sg::matrix<float> const a(n, n, element), b(n, n, element);
    sg::matrix<float> c(n, n);
    sg::host const one{.threads = 1}, all{};
    // LLVM's OpenMP allocates when it starts, and holds a lock for good if that fails.
    if (!sg::try_gemm(all, a, b, c)) return 1;
    auto const single = [&](char const* name, long least, auto const& policy) {
        try_each(name, least, c, [&] { return sg::try_gemm(policy, a, b, c); });
    };
    single("host", 1, one);
    single("host, all threads", 1, all);
    single("reference", 0, sg::reference{});
    single("strassen", 1, sg::strassen{one, {.levels = 2}});
    single("recursive", 1, sg::recursive{one, {.leaf_bytes = 20000}});
    single("ozaki, moduli", 1, sg::ozaki{one, {.moduli = 8}});
    single("ozaki, slices", 1, sg::ozaki{one, {.slices = 3}});
    single("ozaki, accuracy", 1, sg::ozaki{one, {.accuracy = sg::accuracy::fp32}});
    single("split", 1, sg::split{one, {.products = 6}});

    // Blocks that interleave in one C, so that validation has the most to look at.
    using product = decltype(sg::product(a.block(0, 0, 1, 1), b.block(0, 0, 1, 1), c.block(0, 0, 1, 1)));
    std::vector<product> products;
    for (sg::index_t i = 0; i < n; i += 40)
        for (sg::index_t j = 0; j < n; j += 40)
            products.push_back(
                sg::product(a.block(i, 0, 40, n), b.block(0, j, n, 40), c.block(i, j, 40, 40)));
    try_each("group", 3, c, [&] { return sg::try_gemm(one, products); });
    try_each("group over reference", 3, c, [&] { return sg::try_gemm(sg::reference{}, products); });
    std::vector<product> const twice(2, products[0]);
    try_each(
        "group with an alias", 2, c, [&] { return sg::try_gemm(one, twice); }, false, sg::errc::alias);

    sg::ozaki const keeper{one, {.moduli = 8}};
    try_each("keep", 3, c, [&] {
        auto const kept = sg::keep(keeper, b);
        auto const copy = kept;
        return sg::try_gemm(keeper, a, copy, c);
    });
    try_each("keep_left", 3, c, [&] { return sg::try_gemm(keeper, sg::keep_left(keeper, a), b, c); });
    auto const kept = sg::keep(keeper, b);
    try_each("kept before", 1, c, [&] { return sg::try_gemm(keeper, a, kept, c); });

    sg::matrix<float> const narrow(n, n - 1);
    try_each(
        "wrong shape", 1, c, [&] { return sg::try_gemm(one, narrow, b, c); }, false, sg::errc::shape);

    if (wrong == 0) std::puts("every allocation may fail");
    return wrong != 0;
}
