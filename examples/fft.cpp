// A signal without its noise: a transform in place, frequencies that are quiet set to zero, and the transform back.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/fft.cpp -o fft
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int main() {
    using complex = std::complex<float>;
    constexpr index_t samples = 60000; // of any length, and fastest where no prime factor is beyond 7
    sg::host const cpu;

    // Two tones, and noise as loud as they are.
    std::mt19937 random(1);
    std::normal_distribution<float> noise;
    std::vector<complex> clean(samples), signal(samples);
    for (std::size_t i = 0; i < clean.size(); ++i) {
        double const angle = 2 * 3.14159265358979 * static_cast<double>(i) / samples;
        clean[i] = complex(std::polar(1.0, 440 * angle)) + complex(std::polar(1.0, 1000 * angle));
        signal[i] = clean[i] + complex(noise(random), noise(random));
    }

    // A matrix of one column; x and y are the same memory.
    auto const x = sg::col_major(signal, samples, 1);
    sg::fft(cpu, x, x);
    float loudest = 0;
    for (complex const& s : signal) loudest = std::max(loudest, std::abs(s));
    index_t kept = 0;
    for (complex& s : signal)
        if (std::abs(s) < 0.1f * loudest)
            s = 0;
        else
            ++kept;
    sg::ifft(cpu, x, x);

    float worst = 0;
    for (std::size_t i = 0; i < clean.size(); ++i) worst = std::max(worst, std::abs(signal[i] - clean[i]));
    sg::plan const plan(cpu, sg::product(sg::dft<float>(samples), x, x).shape());
    std::printf("%s\n%g us estimated, with %zu bytes of workspace\n", plan.describe().c_str(),
                plan.estimate() * 1e6, plan.workspace().host);
    std::printf("%td frequencies kept; no sample is further than %g from the tones\n", kept,
                static_cast<double>(worst));
    return kept == 2 && worst < 0.1f ? 0 : 1;
}
