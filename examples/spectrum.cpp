// A picture of a signal: time from left to right, frequency from the bottom to the top, loudness as brightness.
//
//   spectrum [PICTURE.bmp [SOUND.wav]]     the sound has one or more channels of 16 bits, of which the first is taken
//
// Windows of the signal overlap, and each is a row of a matrix whose rows begin `step` samples after one another.
// Nothing is copied: one product with a transform makes all spectra. A Hann window fades each row in and out. It costs
// no pass over the samples: its own spectrum has three elements, so that it is a sum of neighbours afterwards.
//
// To compile, from the top of the checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/spectrum.cpp -o spectrum
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;

namespace {

using complex = std::complex<float>;
constexpr index_t points = 512, frequencies = points / 2 + 1;

// A tone that rises, a steady one, and a click every 8192 samples.
std::vector<float> some_signal() {
    std::vector<float> signal(1 << 17);
    double const samples = static_cast<double>(signal.size()), turn = 6.28318530717959;
    double phase = 0;
    for (std::size_t i = 0; i < signal.size(); ++i) {
        double const at = static_cast<double>(i);
        phase += turn * (0.02 + 0.3 * at / samples);
        signal[i] = static_cast<float>(0.5 * std::sin(phase) + 0.05 * std::sin(turn * 0.4 * at));
        if (i % 8192 == 4096) signal[i] += 0.9f;
    }
    return signal;
}

// The first channel of a file in RIFF's form: chunks of a name, a size and data. Empty: it is no such file.
std::vector<float> read_sound(char const* path) {
    std::vector<float> signal;
    std::FILE* const file = std::fopen(path, "rb");
    if (!file) return signal;
    std::vector<unsigned char> all;
    unsigned char piece[65536];
    for (std::size_t read; (read = std::fread(piece, 1, sizeof(piece), file)) > 0;)
        all.insert(all.end(), piece, piece + read);
    std::fclose(file);
    auto const number = [&](std::size_t at, int bytes) {
        std::size_t x = 0;
        for (int i = 0; i < bytes; ++i)
            x |= static_cast<std::size_t>(all[at + static_cast<std::size_t>(i)]) << 8 * i;
        return x;
    };
    std::size_t channels = 0;
    for (std::size_t at = 12; at + 8 <= all.size();) {
        std::size_t const begin = at + 8, size = std::min(number(at + 4, 4), all.size() - begin);
        if (std::memcmp(&all[at], "fmt ", 4) == 0 && size >= 16 && number(begin, 2) == 1 &&
            number(begin + 14, 2) == 16)
            channels = number(begin + 2, 2);
        if (std::memcmp(&all[at], "data", 4) == 0 && channels > 0)
            for (std::size_t i = begin; i + 2 * channels <= begin + size; i += 2 * channels)
                signal.push_back(static_cast<float>(static_cast<std::int16_t>(number(i, 2))) / 32768);
        at = begin + size + size % 2;
    }
    return signal;
}

// Row 0 of a picture of 24 bits is at its bottom, as frequency 0 is. Quiet is black, then blue, red, yellow and white.
bool write_picture(char const* path, sg::matrix<float> const& decibels, float loudest) {
    auto const width = static_cast<std::uint32_t>(decibels.rows()),
               height = static_cast<std::uint32_t>(decibels.cols()), row = (3 * width + 3) / 4 * 4;
    std::uint32_t const head[] = {
        54 + row * height, 0, 54, 40, width, height, 1 | 24 << 16, 0, 0, 0, 0, 0, 0};
    std::vector<unsigned char> bytes(54 + std::size_t{row} * height);
    bytes[0] = 'B', bytes[1] = 'M';
    std::memcpy(&bytes[2], head, sizeof(head));
    for (std::uint32_t y = 0; y < height; ++y)
        for (std::uint32_t x = 0; x < width; ++x) {
            float const level = std::clamp(1 + (decibels(x, y) - loudest) / 80, 0.0f, 1.0f); // of 80 dB
            auto const part = [&](float from) {
                return static_cast<unsigned char>(255 * std::clamp(3 * (level - from), 0.0f, 1.0f));
            };
            unsigned char const blue = level < 0.5f ? part(0) / 2 : part(0.66f), red = part(0.3f),
                                green = part(0.55f);
            unsigned char* const at = &bytes[54 + std::size_t{row} * y + 3 * std::size_t{x}];
            at[0] = blue, at[1] = green, at[2] = red;
        }
    std::FILE* const file = std::fopen(path, "wb");
    if (!file) return false;
    bool const good = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return std::fclose(file) == 0 && good;
}

} // namespace

int main(int argc, char** argv) {
    char const* const picture = argc > 1 ? argv[1] : "spectrum.bmp";
    std::vector<float> const signal = argc > 2 ? read_sound(argv[2]) : some_signal();
    auto const samples = static_cast<index_t>(signal.size());
    if (samples < points) {
        std::fprintf(stderr, "%s: no sound of 16 bits with %td samples or more\n", argv[2], points);
        return 1;
    }
    // About 1000 windows.
    index_t const step = std::max<index_t>(1, (samples - points) / 1000),
                  windows = (samples - points) / step + 1;
    sg::host const cpu;
    sg::matrix<complex> spectrum(windows, frequencies);
    auto const rows = sg::strided(signal.data(), windows, points, step, 1);
    auto const transform = sg::leading(sg::dft<float>(points), points, frequencies);
    sg::gemm(cpu, rows, transform, spectrum);

    // A Hann window, (1 - cos) / 2, subtracts a quarter of each neighbour from half of an element.
    sg::matrix<float> decibels(windows, frequencies);
    float loudest = -200;
    for (index_t w = 0; w < windows; ++w)
        for (index_t f = 0; f < frequencies; ++f) {
            complex const below = f > 0 ? spectrum(w, f - 1) : std::conj(spectrum(w, 1)),
                          above = f + 1 < frequencies ? spectrum(w, f + 1) : std::conj(spectrum(w, f - 1)),
                          faded = 0.5f * spectrum(w, f) - 0.25f * (below + above);
            decibels(w, f) = 20 * std::log10(std::abs(faded) + 1e-9f);
            loudest = std::max(loudest, decibels(w, f));
        }
    if (!write_picture(picture, decibels, loudest)) {
        std::fprintf(stderr, "%s: cannot be written\n", picture);
        return 1;
    }
    sg::plan const plan(cpu, sg::product(rows, transform, spectrum).shape());
    std::printf("%td windows of %td samples: %s\n%s: %td x %td points\n", windows, points,
                plan.describe().c_str(), picture, windows, frequencies);
    return 0;
}
