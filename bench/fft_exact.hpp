// Cases of transforms, numbers to transform, and a transform in long double to measure errors by.
//
// A case is points:N/batch:COUNT/TYPE[/real|/dct][/threads:T]: COUNT transforms of N points, one after the other
// without gaps, not in place. A real case has real numbers to transform; dct is the cosine transform II of real
// numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

struct fft_case {
    long points = 0, count = 1;
    bool wide = false, real = false; // double; real numbers to transform
    int threads = 0;                 // 0: a device
    bool cosine = false;

    std::string name() const {
        return "points:" + std::to_string(points) + "/batch:" + std::to_string(count) +
               (wide ? "/double" : "/float") +
               (cosine ? "/dct"
                : real ? "/real"
                       : "") +
               (threads ? "/threads:" + std::to_string(threads) : "");
    }
    // Frequencies from 0 to points / 2 say all of a real transform.
    long frequencies() const { return real ? points / 2 + 1 : points; }
    double bytes() const { // read and written
        double const size = wide ? 8 : 4;
        if (cosine) return size * double(count) * 2 * double(points);
        return size * double(count) * (double(points) * (real ? 1 : 2) + 2 * double(frequencies()));
    }
};

// The cases of every program, for so many threads; of lengths in batches, so many points in all.
inline std::vector<fft_case> fft_cases(long points_in_all, std::vector<int> const& threads) {
    std::vector<fft_case> all;
    for (bool const wide : {false, true})
        for (int const t : threads) {
            for (long const n : {64, 256, 1024, 4096, 960, 3125})
                all.push_back({n, points_in_all / n, wide, false, t});
            all.push_back({64, 16 * points_in_all / 64, wide, false, t});
            for (int const bits : {18, 20}) all.push_back({1L << bits, 1, wide, false, t});
            for (long const n : {64, 1024}) all.push_back({n, points_in_all / n, wide, true, t});
        }
    return all;
}

// Those for devices: batches of 64 points that fit a second-level cache, and all else larger than it.
inline std::vector<fft_case> fft_device_cases() {
    std::vector<fft_case> all;
    for (bool const wide : {false, true}) {
        for (long const count : {10000L, 16384L, 131072L, 4L << 20}) all.push_back({64, count, wide});
        for (long const n : {256, 1024, 4096, 960, 3125}) all.push_back({n, (1L << 24) / n, wide});
        for (int const bits : {18, 20, 22}) all.push_back({1L << bits, 1, wide});
        for (long const n : {64, 960, 1024, 4096}) all.push_back({n, (1L << 24) / n, wide, true});
        for (long const n : {64, 1024}) all.push_back({n, (1L << 24) / n, wide, false, 0, true});
    }
    return all;
}

// Numbers from -1 to 1.
template <class T>
std::vector<T> fft_data(long count, std::uint64_t state = 7) {
    std::vector<T> x(static_cast<std::size_t>(count));
    auto* const part = reinterpret_cast<decltype(std::real(T{}))*>(x.data());
    for (std::size_t i = 0; i < x.size() * sizeof(T) / sizeof(*part); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        part[i] = static_cast<std::remove_reference_t<decltype(*part)>>(double(state >> 11) * 0x1p-52 - 1);
    }
    return x;
}

// Transforms of so many points in long double, by halves, thirds, fifths and so on.
class exact_fft {
public:
    explicit exact_fft(long points) : n_(points), roots_(static_cast<std::size_t>(points)) {
        long double const step = -2 * 3.14159265358979323846264338327950288L / static_cast<long double>(n_);
        for (long k = 0; k < n_; ++k)
            roots_[static_cast<std::size_t>(k)] = {std::cos(step * static_cast<long double>(k)),
                                                   std::sin(step * static_cast<long double>(k))};
    }

    // The relative error of some of the transforms of x, the first and the last among them.
    template <class X, class T>
    double error(fft_case const& c, X const* x, std::complex<T> const* y) const {
        long double off = 0, all = 0;
        std::vector<number> in(roots_.size()), out(roots_.size());
        long const some = std::min(c.count, std::max(1L, 16384 / n_));
        for (long s = 0; s < some; ++s) {
            long const t = some == 1 ? 0 : s * (c.count - 1) / (some - 1);
            for (long j = 0; j < n_; ++j)
                in[static_cast<std::size_t>(j)] = {std::real(x[t * n_ + j]), std::imag(x[t * n_ + j])};
            transform(in.data(), 1, out.data(), n_);
            for (long k = 0; k < c.frequencies(); ++k) {
                number const exact = out[static_cast<std::size_t>(k)];
                std::complex<T> const seen = y[t * c.frequencies() + k];
                long double const re = seen.real() - exact.re, im = seen.imag() - exact.im;
                off += re * re + im * im, all += exact.re * exact.re + exact.im * exact.im;
            }
        }
        return static_cast<double>(std::sqrt(off / all));
    }

    // Likewise of cosine transforms II of x, which gives real numbers.
    template <class T>
    double error_of_cosines(fft_case const& c, T const* x, T const* y) const {
        long double off = 0, all = 0;
        long double const step = 3.14159265358979323846264338327950288L / static_cast<long double>(2 * n_);
        std::vector<number> in(roots_.size()), out(roots_.size());
        long const some = std::min(c.count, std::max(1L, 16384 / n_));
        for (long s = 0; s < some; ++s) {
            long const t = some == 1 ? 0 : s * (c.count - 1) / (some - 1);
            for (long j = 0; j < n_; ++j)
                in[static_cast<std::size_t>(j)] = {x[t * n_ + (2 * j < n_ ? 2 * j : 2 * (n_ - 1 - j) + 1)],
                                                   0};
            transform(in.data(), 1, out.data(), n_);
            for (long k = 0; k < n_; ++k) {
                number const exact = out[static_cast<std::size_t>(k)];
                long double const angle = step * static_cast<long double>(k),
                                  cosine = exact.re * std::cos(angle) + exact.im * std::sin(angle),
                                  difference = y[t * n_ + k] - cosine;
                off += difference * difference, all += cosine * cosine;
            }
        }
        return static_cast<double>(std::sqrt(off / all));
    }

private:
    struct number {
        long double re = 0, im = 0;
        void add_product(number a, number b) {
            re += a.re * b.re - a.im * b.im, im += a.re * b.im + a.im * b.re;
        }
    };
    void transform(number const* in, long stride, number* out, long n) const {
        long p = 2;
        while (p * p <= n && n % p) ++p;
        if (n % p) p = n;
        if (n == 1) {
            out[0] = in[0];
            return;
        }
        long const m = n / p, turn = n_ / n;
        for (long r = 0; r < p; ++r) transform(in + r * stride, stride * p, out + r * m, m);
        std::vector<number> terms(static_cast<std::size_t>(p));
        for (long k = 0; k < m; ++k) {
            for (long r = 0; r < p; ++r) terms[static_cast<std::size_t>(r)] = out[r * m + k];
            for (long q = 0; q < p; ++q) {
                number sum;
                for (long r = 0; r < p; ++r)
                    sum.add_product(terms[static_cast<std::size_t>(r)],
                                    roots_[static_cast<std::size_t>(r * (k + q * m) % n * turn)]);
                out[q * m + k] = sum;
            }
        }
    }

    long n_;
    std::vector<number> roots_;
};

} // namespace bench
