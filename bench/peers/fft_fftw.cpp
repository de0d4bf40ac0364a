// FFTW, planned with FFTW_MEASURE unless told otherwise, its threads on where there are two.
#include "fft.hpp"

#include <fftw3.h>

#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

struct plan {
    fftw_plan wide = nullptr;
    fftwf_plan narrow = nullptr;
};

void set_threads(int threads) {
    static int const ready = fftw_init_threads() && fftwf_init_threads();
    if (ready) fftw_plan_with_nthreads(threads), fftwf_plan_with_nthreads(threads);
}

// Measuring overwrites the operands: x is restored.
void* prepare(fft_problem const& p) {
    set_threads(p.threads);
    auto const bytes = static_cast<std::size_t>(p.points * p.count) * (p.real ? 1 : 2) * (p.wide ? 8 : 4);
    void* const before = std::malloc(bytes);
    if (!before) return nullptr;
    std::memcpy(before, p.x, bytes);
    void* const x = const_cast<void*>(p.x);
    int const n = static_cast<int>(p.points), count = static_cast<int>(p.count), out = p.real ? n / 2 + 1 : n;
    unsigned const how = p.measured ? FFTW_MEASURE : FFTW_ESTIMATE;
    plan made;
    if (p.wide && p.real)
        made.wide = fftw_plan_many_dft_r2c(1, &n, count, static_cast<double*>(x), nullptr, 1, n,
                                           static_cast<fftw_complex*>(p.y), nullptr, 1, out, how);
    else if (p.wide)
        made.wide = fftw_plan_many_dft(1, &n, count, static_cast<fftw_complex*>(x), nullptr, 1, n,
                                       static_cast<fftw_complex*>(p.y), nullptr, 1, out, FFTW_FORWARD, how);
    else if (p.real)
        made.narrow = fftwf_plan_many_dft_r2c(1, &n, count, static_cast<float*>(x), nullptr, 1, n,
                                              static_cast<fftwf_complex*>(p.y), nullptr, 1, out, how);
    else
        made.narrow =
            fftwf_plan_many_dft(1, &n, count, static_cast<fftwf_complex*>(x), nullptr, 1, n,
                                static_cast<fftwf_complex*>(p.y), nullptr, 1, out, FFTW_FORWARD, how);
    std::memcpy(x, before, bytes);
    std::free(before);
    return made.wide || made.narrow ? new plan(made) : nullptr;
}
void run(fft_problem const& p, void* made) {
    if (p.wide)
        fftw_execute(static_cast<plan*>(made)->wide);
    else
        fftwf_execute(static_cast<plan*>(made)->narrow);
}
void release(void* made) {
    auto* const old = static_cast<plan*>(made);
    if (old->wide) fftw_destroy_plan(old->wide);
    if (old->narrow) fftwf_destroy_plan(old->narrow);
    delete old;
}

} // namespace

constexpr fft_peer fft_fftw{"FFTW", prepare, run, release};
char const* fft_fftw_version() { return fftw_version; }

} // namespace bench
