// ducc0, compiled from its source for this processor (CMakeLists.txt).
#include "fft.hpp"

#include "ducc0/fft/fft.h"

namespace bench {
namespace {

template <class T>
void run_as(fft_problem const& p) {
    using C = std::complex<T>;
    auto const count = static_cast<std::size_t>(p.count), n = static_cast<std::size_t>(p.points);
    auto const threads = static_cast<std::size_t>(p.threads);
    ducc0::vfmav<C> to(static_cast<C*>(p.y), {count, p.real ? n / 2 + 1 : n});
    if (p.real)
        ducc0::r2c(ducc0::cfmav<T>(static_cast<T const*>(p.x), {count, n}), to, {1}, true, T(1), threads);
    else
        ducc0::c2c(ducc0::cfmav<C>(static_cast<C const*>(p.x), {count, n}), to, {1}, true, T(1), threads);
}
// It keeps plans by itself.
void* prepare(fft_problem const&) {
    static int none;
    return &none;
}
void run(fft_problem const& p, void*) { p.wide ? run_as<double>(p) : run_as<float>(p); }
void release(void*) {}

} // namespace

extern fft_peer const fft_ducc0{"ducc0", prepare, run, release};

} // namespace bench
