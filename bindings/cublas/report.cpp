#include "report.hpp"

#include "settings.hpp"

#include <cstdio>

namespace stratagemm_cublas {
namespace {

struct {
    reason why;
    char const* text;
    std::int64_t calls; // atomic
} left[] = {
    {reason::small, "fewer flops than STRATAGEMM_CUBLAS_MIN", 0},
    {reason::slower, "not expected to be faster here", 0},
    {reason::scalars, "alpha and beta on the device", 0},
    {reason::arrays, "addresses of matrices on the device", 0},
    {reason::modes, "a mode of the handle, or a variable of cuBLAS", 0},
    {reason::types, "element or compute types", 0},
    {reason::descriptor, "a descriptor asks for more", 0},
    {reason::arguments, "arguments that cuBLAS is to refuse", 0},
    {reason::capture, "captured before a first call outside of the graph", 0},
    {reason::context, "no driver, or another context than the primary one", 0},
    {reason::refused, "an error of the library", 0},
};
static_assert(sizeof(left) / sizeof(left[0]) == static_cast<std::size_t>(reason::last));

} // namespace

thread_local bool symbol::is_inside = false;

std::int64_t symbol::begin_of(double flops) {
    settings const& s = environment();
    if (s.smallest > 0 && flops < s.smallest) return below;
    return s.reports ? stratagemm_bindings::call_counts::now() : 0;
}

void symbol::count(answer const& a, double flops, std::int64_t begin) {
    if (!environment().reports) return;
    if (a.why == reason::none) return counts_.add_done(flops, counts_.now() - begin);
    counts_.add_left();
    __atomic_add_fetch(&left[static_cast<std::size_t>(a.why) - 1].calls, 1, __ATOMIC_RELAXED);
}

void print_left() {
    for (auto const& one : left)
        if (one.calls > 0)
            std::fprintf(stderr, "left beneath, %-48s %12lld\n", one.text, static_cast<long long>(one.calls));
}

} // namespace stratagemm_cublas
