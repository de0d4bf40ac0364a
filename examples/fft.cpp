// The spectrum of a signal by windows: the rows of a matrix overlap, and each row is transformed. Then the whole signal
// is transformed, and transformed back.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/fft.cpp -o fft
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

int main() {
    using complex = std::complex<float>;
    constexpr index_t samples = 1 << 16, points = 64, step = 16;
    sg::host const cpu;

    // A tone that rises from frequency 4 to 12 of a window.
    std::vector<complex> signal(samples);
    double phase = 0;
    for (index_t i = 0; i < samples; ++i) {
        phase += 2 * 3.14159265358979 / points * (4 + 8 * static_cast<double>(i) / samples);
        signal[static_cast<std::size_t>(i)] = {static_cast<float>(std::cos(phase)),
                                               static_cast<float>(std::sin(phase))};
    }

    // Row i begins at sample i * step: nothing is copied. Frequency 0 is in the middle of a row of the spectrum.
    index_t const windows = (samples - points) / step + 1;
    sg::matrix<complex> spectrum(windows, points);
    auto const rows = sg::strided<complex const>(signal.data(), windows, points, step, 1);
    auto const transform = sg::fftshift(sg::dft<float>(points), sg::along::columns);
    sg::gemm(cpu, rows, transform, spectrum);
    for (index_t i = 0; i < windows; i += windows / 8) {
        index_t loudest = 0;
        for (index_t k = 0; k < points; ++k)
            if (std::abs(spectrum(i, k)) > std::abs(spectrum(i, loudest))) loudest = k;
        std::printf("window %4td: frequency %td\n", i, loudest - points / 2);
    }
    sg::plan const plan(cpu, sg::product(rows, transform, spectrum).shape());
    std::printf("%s, %g us estimated\n", plan.describe().c_str(), plan.estimate() * 1e6);

    // The whole signal is transformed in place, and back.
    auto const all = sg::col_major(signal, samples, 1);
    complex const before = signal[1000];
    sg::fft(cpu, all, all);
    sg::ifft(cpu, all, all);
    double const change = static_cast<double>(std::abs(signal[1000] - before));
    std::printf("there and back: sample 1000 differs by %g\n", change);
    return change < 1e-5 ? 0 : 1;
}
