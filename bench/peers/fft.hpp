// Peers of transforms on the host. Each is in a translation unit of its own, and no std:: type crosses (see
// kernels.hpp).
#pragma once

namespace bench {

// `count` transforms of `points`, one after the other. x: complex numbers or, in a real case, real ones. y: complex
// numbers, in a real case points / 2 + 1 of each transform.
struct fft_problem {
    long points, count;
    bool wide, real;
    int threads;
    void const* x;
    void* y;
    bool measured = true; // the plan is one that the library measured, where it can
};

// A library: prepare() is not timed, makes a plan, and may write to y alone; it returns null where the library lacks
// the case. release() ends the plan.
struct fft_peer {
    char const* name;
    void* (*prepare)(fft_problem const&);
    void (*run)(fft_problem const&, void* plan);
    void (*release)(void* plan);
};

extern fft_peer const fft_fftw, fft_ducc0;
char const* fft_fftw_version();
fft_peer const* open_fft_mkl(); // opened at run time; null where it is not installed

} // namespace bench
