// bench_fft_dense: a product of two dense matrices by transforms, against gemm: on one thread, in float. Nothing of a
// general matrix repeats, so that transforms save no multiplication: the program shows what they add.
//
//   spectra        the rows of A and the columns of B are replaced by their spectra. By Parseval's theorem the product
//                  of these is C, and it is as dense as A and B were: with real operands n^3 multiply-adds again, once
//                  the real and imaginary parts of half of the frequencies stand in a matrix of n x n
//   convolutions   element (i, j) of C is one element of a cyclic convolution of n points: that of row i of A with
//                  column j of B in reversed order. The spectra of rows and columns are made once; each of n x n pairs
//                  takes a product of spectra and an inverse transform, of which one element is wanted: O(n^3 log n)
// Each ratio is the median over rounds of the time of gemm divided by that of the way; the errors are relative 2-norms,
// against sums in double.
#include "fft_exact.hpp"
#include "median.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <cstdio>
#include <ctime>
#include <functional>

namespace sg = stratagemm;

namespace {

using sg::index_t;
using number = std::complex<float>;

double seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The operands of a product of n x n, in the order that a transform of columns reads, and the ways to multiply them.
class product {
public:
    explicit product(index_t n)
        : n_(n), a_(bench::fft_data<float>(n * n, 1)), b_(bench::fft_data<float>(n * n, 2)), c_(a_.size()),
          reversed_(b_.size()), reals_of_a_(a_.size()), reals_of_b_(b_.size()), rows_(a_.size()),
          columns_(a_.size()), pairs_(a_.size()), found_(a_.size()) {
        for (index_t j = 0; j < n; ++j)
            for (index_t k = 0; k < n; ++k) reversed_[at(n - 1 - k, j)] = b_[at(k, j)];
    }

    // A is kept by rows, B by columns: each is contiguous.
    void by_gemm() { sg::gemm(cpu_, a(), b(), c()); }

    void by_convolutions() {
        sg::gemm(cpu_, sg::dft<float>(n_), sg::transposed(a()), by_columns(rows_));
        sg::gemm(cpu_, sg::dft<float>(n_), sg::col_major(reversed_, n_, n_), by_columns(columns_));
        for (index_t i = 0; i < n_; ++i) {
            number const* const row = rows_.data() + i * n_;
            for (index_t j = 0; j < n_; ++j)
                for (index_t f = 0; f < n_; ++f) pairs_[at(f, j)] = times(row[f], columns_[at(f, j)]);
            sg::gemm(cpu_, sg::idft<float>(n_), by_columns(pairs_), by_columns(found_));
            for (index_t j = 0; j < n_; ++j) c_[at(j, i)] = found_[at(n_ - 1, j)].real();
        }
    }
    void by_spectra() {
        sg::gemm(cpu_, sg::dft<float>(n_), sg::transposed(a()), by_columns(rows_));
        sg::gemm(cpu_, sg::dft<float>(n_), b(), by_columns(columns_));
        for (auto const& [from, to] : {std::pair{&rows_, &reals_of_a_}, std::pair{&columns_, &reals_of_b_}})
            for (index_t line = 0; line < n_; ++line) parts(from->data() + line * n_, to->data() + line * n_);
        sg::gemm(cpu_, sg::row_major(reals_of_a_, n_, n_), sg::col_major(reals_of_b_, n_, n_), c());
    }

    double error() const {
        double off = 0, all = 0;
        for (index_t i = 0; i < n_; ++i)
            for (index_t j = 0; j < n_; ++j) {
                double sum = 0;
                for (index_t k = 0; k < n_; ++k) sum += double(a_[at(k, i)]) * double(b_[at(k, j)]);
                double const difference = double(c_[at(j, i)]) - sum;
                off += difference * difference, all += sum * sum;
            }
        return std::sqrt(off / all);
    }

private:
    // The compiler does not vectorize the complex operator, which also looks for NaN.
    static number times(number x, number y) {
        return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
    }
    std::size_t at(index_t in_line, index_t line) const {
        return static_cast<std::size_t>(line * n_ + in_line);
    }
    sg::view<float const> a() const { return sg::row_major(a_, n_, n_); }
    sg::view<float const> b() const { return sg::col_major(b_, n_, n_); }
    sg::view<float> c() { return sg::row_major(c_, n_, n_); }
    sg::view<number> by_columns(std::vector<number>& x) const { return sg::col_major(x, n_, n_); }

    // A spectrum of real numbers in n real numbers, whose products with those of another sum to the product of the
    // signals. n is even.
    void parts(number const* spectrum, float* to) const {
        float const once = 1 / std::sqrt(static_cast<float>(n_)), twice = once * std::sqrt(2.0f);
        index_t const half = n_ / 2;
        to[0] = once * spectrum[0].real(), to[1] = once * spectrum[half].real();
        for (index_t f = 1; f < half; ++f)
            to[2 * f] = twice * spectrum[f].real(), to[2 * f + 1] = twice * spectrum[f].imag();
    }

    sg::host cpu_{1};
    index_t n_;
    std::vector<float> a_, b_, c_, reversed_, reals_of_a_, reals_of_b_;
    std::vector<number> rows_, columns_, pairs_, found_;
};

struct way {
    char const* name;
    std::function<void()> run;
    double error = 0;
    std::vector<double> times{};
};

void race(index_t n) {
    product p(n);
    std::vector<way> all{{"gemm", [&] { p.by_gemm(); }},
                         {"spectra", [&] { p.by_spectra(); }},
                         {"convolutions", [&] { p.by_convolutions(); }}};
    for (way& one : all) {
        one.run();
        one.error = p.error();
    }
    for (int round = 0; round < 5; ++round)
        for (way& one : all) {
            double const begin = seconds();
            int runs = 0;
            do one.run(), ++runs;
            while (seconds() - begin < 4e-3);
            one.times.push_back((seconds() - begin) / runs);
        }
    std::printf("%5td", n);
    for (way const& one : all) {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < one.times.size(); ++r) ratios.push_back(all[0].times[r] / one.times[r]);
        std::printf("  %s %.1f us", one.name, bench::median(one.times) * 1e6);
        if (&one != &all[0]) std::printf(" (%.2g)", bench::median(ratios));
        std::printf(", error %.1e", one.error);
    }
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main() {
    std::printf(
        "dense products of n x n by transforms, float, one thread; us, in parentheses how many times as fast "
        "as gemm, and relative errors\n");
    for (index_t const n : {32, 64, 128, 256, 512, 1024}) race(n);
}
