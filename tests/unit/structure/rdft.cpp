#include "catch.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/rdft.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class X>
sg::matrix<X> random_matrix(index_t rows, index_t cols, unsigned seed) {
    support::random_source from(seed);
    using R = sg::real_t<X>;
    return sg::matrix<X>(rows, cols, [&](index_t, index_t) {
        auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
        if constexpr (sg::complex_like<X>) {
            R const re = part();
            return X(re, part());
        } else {
            return part();
        }
    });
}
template <class X>
double largest(sg::matrix<X> const& x) {
    double most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, static_cast<double>(std::abs(x(i, j))));
    return most;
}
template <class X>
double distance(sg::matrix<X> const& x, sg::matrix<X> const& y) {
    double most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) {
            auto const d = static_cast<double>(std::abs(x(i, j) - y(i, j)));
            most = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(most, d);
        }
    return most;
}
template <class X>
index_t differences(sg::matrix<X> const& x, sg::matrix<X> const& y) {
    index_t count = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) count += std::memcmp(&x(i, j), &y(i, j), sizeof(X)) != 0;
    return count;
}
template <class X>
sg::matrix<X> turned(sg::matrix<X> const& x) {
    return sg::matrix<X>(x.cols(), x.rows(), [&](index_t i, index_t j) { return x(j, i); });
}
// exp(-2 pi i j / n); kept for the next call, which mostly asks for the same.
std::vector<std::complex<long double>> const& roots_of(index_t n) {
    static std::vector<std::complex<long double>> roots;
    if (static_cast<index_t>(roots.size()) == n) return roots;
    long double const pi = 3.14159265358979323846264338327950288L;
    roots.clear();
    for (index_t j = 0; j < n; ++j) {
        long double const angle = -2 * pi * static_cast<long double>(j) / static_cast<long double>(n);
        roots.emplace_back(std::cos(angle), std::sin(angle));
    }
    return roots;
}
// sum_j x_j exp(-2 pi i j k / n), with e(j) = x_j.
template <class F>
std::complex<long double> exact_sum(index_t n, index_t k, F const& e) {
    auto const& roots = roots_of(n);
    std::complex<long double> sum = 0;
    for (index_t j = 0; j < n; ++j)
        sum += std::complex<long double>(e(j)) * roots[static_cast<std::size_t>(j * k % n)];
    return sum;
}
template <class R>
index_t lanes() {
    return sg::dft_kernels_here<R>().lanes;
}
template <class R>
sg::matrix<std::complex<R>> spectra_of(sg::matrix<R> const& x, sg::host const& cpu = {1}) {
    sg::matrix<std::complex<R>> y(x.rows() / 2 + 1, x.cols());
    sg::gemm(cpu, sg::rdft<R>(x.rows()), x, y);
    return y;
}
template <class R>
sg::matrix<R> numbers_of(index_t n, sg::matrix<std::complex<R>> const& y, sg::host const& cpu = {1}) {
    sg::matrix<R> x(n, y.cols());
    sg::gemm(cpu, sg::irdft<R>(n), y, x);
    return x;
}
template <class R>
sg::bound bound_of_spectra(index_t n, index_t cols) {
    sg::shape<sg::dft_form<R>, R, std::complex<R>> const s{n / 2 + 1, cols, n};
    return sg::plan(sg::host{1}, s).error_bound();
}
template <class R>
sg::bound bound_of_numbers(index_t n, index_t cols) {
    sg::shape<sg::irdft_form<R>, std::complex<R>, R> const s{n, cols, n / 2 + 1};
    return sg::plan(sg::host{1}, s).error_bound();
}
// Lengths of each kind: halved in a block, with and without a convolution, and long; not halved in a block, with and
// without a convolution, and long, with and without one.
std::vector<index_t> some_lengths() {
    if (support::sanitized) return {1, 2, 12, 15, 17, 34, 131072, 65610};
    return {1, 2, 4, 12, 15, 17, 34, 64, 70, 225, 131072, 180000, 59049, 65542, 32771};
}
index_t columns_for(index_t n, index_t lanes) { return n > 1000 ? 2 : 2 * lanes + 3; }

} // namespace

TEMPLATE_TEST_CASE("rdft and irdft of every length are the transforms by their definitions", "", float,
                   double) {
    using R = TestType;
    using C = std::complex<R>;
    double tightest = 0, tightest_back = 0;
    for (index_t n = 1; n <= 130; n += support::sanitized ? 7 : 1) {
        INFO(n);
        index_t const cols = lanes<R>() + 3, h = n / 2;
        auto const x = random_matrix<R>(n, cols, 1);
        auto const y = random_matrix<C>(h + 1, cols, 2);
        auto const spectra = spectra_of(x);
        auto const numbers = numbers_of(n, y);
        sg::matrix<C> spectra_by_definition(h + 1, cols);
        sg::matrix<R> numbers_by_definition(n, cols);
        sg::gemm(sg::reference{}, sg::rdft<R>(n), x, spectra_by_definition);
        sg::gemm(sg::reference{}, sg::irdft<R>(n), y, numbers_by_definition);
        double error = 0, error_back = 0, error_of_definition = 0;
        for (index_t j = 0; j < cols; ++j) {
            for (index_t k = 0; k <= h; ++k) {
                auto const e = exact_sum(n, k, [&](index_t i) { return static_cast<long double>(x(i, j)); });
                error = std::max(error,
                                 static_cast<double>(std::abs(e - std::complex<long double>(spectra(k, j)))));
            }
            for (index_t i = 0; i < n; ++i) {
                // The conjugate sum of the spectrum, whose other half is the conjugate.
                auto const e = exact_sum(n, i, [&](index_t k) {
                    std::complex<long double> z = y(k <= h ? k : n - k, j);
                    if (k == 0 || 2 * k == n) z = z.real();
                    return k <= h ? std::conj(z) : z;
                });
                auto const off = [&](R got) {
                    return static_cast<double>(std::abs(e.real() / static_cast<long double>(n) - got));
                };
                error_back = std::max(error_back, off(numbers(i, j)));
                error_of_definition = std::max(error_of_definition, off(numbers_by_definition(i, j)));
            }
        }
        auto const b = bound_of_spectra<R>(n, cols), back = bound_of_numbers<R>(n, cols);
        double const size = static_cast<double>(n) * largest(x),
                     // alpha k max|A| max|B|, where elements of A are at most 1 / n: bounds count the 2
            size_back = static_cast<double>(2 * (h + 1)) / static_cast<double>(n) * largest(y);
        REQUIRE(error <= b.expected * size);
        REQUIRE(error_back <= back.expected * size_back);
        REQUIRE(error_of_definition <= 2 * sg::unit_roundoff<R>() * (1 + largest(y)));
        REQUIRE(distance(spectra, spectra_by_definition) <= 2 * b.expected * size);
        CHECK(b.normwise);
        if (n > 2) tightest = std::max(tightest, error / (b.expected * size));
        if (n > 2) tightest_back = std::max(tightest_back, error_back / (back.expected * size_back));
    }
    CHECK(tightest > 0.1);
    CHECK(tightest_back > 0.1);
}

TEMPLATE_TEST_CASE("rdft is the half of a dft, and irdft brings the numbers back", "", float, double) {
    using R = TestType;
    using C = std::complex<R>;
    double const u = sg::unit_roundoff<R>();
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = columns_for(n, lanes<R>()), h = n / 2;
        auto const x = random_matrix<R>(n, cols, 3);
        sg::matrix<C> whole(n, cols);
        sg::gemm(sg::host{1}, sg::dft<R>(n), x, whole);
        auto y = spectra_of(x);
        sg::matrix<C> const half(h + 1, cols, [&](index_t k, index_t j) { return whole(k, j); });
        double const size = static_cast<double>(n) * largest(x);
        CHECK(distance(y, half) <= 2 * bound_of_spectra<R>(n, cols).expected * size);
        auto const back = numbers_of(n, y);
        CHECK(distance(back, x) <= 60 * u);
        // What is no part of real numbers is not read.
        R const none = std::numeric_limits<R>::quiet_NaN();
        for (index_t j = 0; j < cols; ++j) {
            y(0, j) = C(y(0, j).real(), none);
            if (n % 2 == 0) y(h, j) = C(y(h, j).real(), none);
        }
        CHECK(same_bits(numbers_of(n, y), back));
        sg::matrix<C> again(h + 1, cols);
        sg::matrix<R> numbers(n, cols);
        sg::rfft(sg::host{1}, x, again);
        sg::irfft(sg::host{1}, again, numbers);
        CHECK(same_bits(numbers, back));
    }
}

TEMPLATE_TEST_CASE("rdft and irdft in any layout have the same bits, and write C alone", "", float, double) {
    using R = TestType;
    using C = std::complex<R>;
    R const none = std::numeric_limits<R>::quiet_NaN();
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = columns_for(n, lanes<R>()), h = n / 2;
        auto const x = random_matrix<R>(n, cols, 4);
        auto const spectra = spectra_of(x);
        auto const numbers = numbers_of(n, spectra);
        for (int layout = 0; layout < 6; ++layout) {
            INFO(layout);
            // Every second row and third column of a larger matrix, or all, by rows, by columns, or backwards.
            index_t const rs = layout / 2 == 0   ? 3 * cols
                               : layout / 2 == 1 ? 1
                                                 : -(cols + 1),
                          cs = layout / 2 == 0   ? 3
                               : layout / 2 == 1 ? n + 1
                                                 : 1,
                          size = (n + 2) * 3 * (cols + 2), first = rs < 0 ? (n + 1) * (cols + 1) : 5;
            std::vector<R> real(static_cast<std::size_t>(size), none), to_real(real.size(), R(77));
            std::vector<C> half(real.size(), C(none)), to_half(real.size(), C(R(77)));
            auto const at = [&](auto& all, index_t rows) {
                return sg::strided(all.data() + first, rows, cols, rs, cs);
            };
            auto const from_x = at(real, n), to_x = at(to_real, n);
            auto const from_y = at(half, h + 1), to_y = at(to_half, h + 1);
            for (index_t j = 0; j < cols; ++j) {
                for (index_t i = 0; i < n; ++i) from_x(i, j) = x(i, j);
                for (index_t k = 0; k <= h; ++k) from_y(k, j) = spectra(k, j);
            }
            if (layout % 2 == 0) {
                sg::gemm(sg::host{1}, sg::rdft<R>(n), from_x, to_y);
                sg::gemm(sg::host{1}, sg::irdft<R>(n), from_y, to_x);
            } else {
                sg::gemm(sg::host{1}, from_x.transposed(), sg::transposed(sg::rdft<R>(n)), to_y.transposed());
                sg::gemm(sg::host{1}, from_y.transposed(), sg::transposed(sg::irdft<R>(n)),
                         to_x.transposed());
            }
            int wrong = 0;
            for (index_t j = 0; j < cols; ++j) {
                for (index_t i = 0; i < n; ++i) wrong += to_x(i, j) != numbers(i, j), to_x(i, j) = R(77);
                for (index_t k = 0; k <= h; ++k)
                    wrong += to_y(k, j) != spectra(k, j), wrong += from_y(k, j) != spectra(k, j),
                        to_y(k, j) = C(R(77));
            }
            CHECK(wrong == 0);
            CHECK(std::count(to_real.begin(), to_real.end(), R(77)) == size);
            CHECK(std::count(to_half.begin(), to_half.end(), C(R(77))) == size);
        }
    }
}

TEMPLATE_TEST_CASE("rdft and irdft in place, where lines have room", "", float, double) {
    using R = TestType;
    using C = std::complex<R>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = columns_for(n, lanes<R>()), h = n / 2, count = 2;
        auto const x = random_matrix<R>(n, cols * count, 5);
        auto const spectra = spectra_of(x);
        auto const numbers = numbers_of(n, spectra);
        // Columns side by side, or with more room; batches of them, or columns of a batch; elements among others, so that
        // each number lies where the real part of an element of a larger spectrum would.
        struct layout {
            index_t stride, pitch,
                step; // in complex elements, and of real numbers the double of pitch and step
            bool is_dense;
        };
        for (layout const l : {layout{1, h + 1, cols * (h + 1), true},
                               {1, h + 4, cols * (h + 4) + 3, true},
                               {1, count * (h + 1), h + 1, true},
                               {cols * count, 1, cols, false}}) {
            INFO(l.pitch << ' ' << l.step);
            std::vector<C> memory(static_cast<std::size_t>((n + 4) * (cols * count + 1)), C(R(77)));
            auto* const first = reinterpret_cast<R*>(memory.data());
            auto const real = sg::strided(first, n, cols, l.is_dense ? 1 : 2 * l.stride, 2 * l.pitch);
            auto const half = sg::strided(memory.data(), h + 1, cols, l.stride, l.pitch);
            for (index_t q = 0; q < count; ++q)
                for (index_t j = 0; j < cols; ++j)
                    for (index_t i = 0; i < n; ++i) real.moved(2 * q * l.step)(i, j) = x(i, q * cols + j);
            int wrong = 0;
            auto const differs = [&](auto const& got, auto const& expected, index_t factor) {
                for (index_t q = 0; q < count; ++q)
                    for (index_t j = 0; j < cols; ++j)
                        for (index_t i = 0; i < expected.rows(); ++i)
                            wrong += got.moved(factor * q * l.step)(i, j) != expected(i, q * cols + j);
            };
            auto const reals = sg::batched(real, count, 2 * l.step);
            auto const halves = sg::batched(half, count, l.step);
            sg::gemm(sg::host{2}, sg::rdft<R>(n), reals, halves);
            differs(half, spectra, 1);
            sg::gemm(sg::host{2}, sg::transposed(halves), sg::transposed(sg::irdft<R>(n)),
                     sg::transposed(reals));
            differs(real, numbers, 2);
            CHECK(wrong == 0);
        }
    }
    std::vector<C> memory(1000);
    auto* const first = reinterpret_cast<R*>(memory.data());
    auto const message = [&](auto const& x, auto const& y) {
        auto const s = sg::try_gemm(sg::host{1}, sg::rdft<R>(8), x, y);
        auto const back = sg::try_gemm(sg::host{1}, sg::irdft<R>(8), y, x);
        return !s && !back && s.error().code() == sg::errc::alias && back.error().code() == sg::errc::alias
                   ? std::string(s.error().what())
                   : std::string();
    };
    auto const real = [&](index_t rs, index_t cs) { return sg::strided(first, 8, 4, rs, cs); };
    auto const half = [&](index_t rs, index_t cs) { return sg::strided(memory.data(), 5, 4, rs, cs); };
    std::string const room = "their columns have the same distance, with room for 10 real numbers each";
    CHECK(
        message(real(1, 8), half(1, 4)) ==
        "dft: C overlaps the operand that is transformed; in place, the real and the complex matrix begin at "
        "the same address, and " +
            room);
    CHECK(contains(message(real(1, 8), half(1, 5)), room));
    CHECK(contains(message(real(4, 1), half(4, 1)), "room for"));
    CHECK(contains(message(real(1, 10), half(-1, 5)), "room for"));
    CHECK(contains(message(sg::strided(first + 2, 8, 4, 1, 10), half(1, 5)), room));
    CHECK(contains(message(sg::batched(real(1, 10), 2, 40), sg::batched(half(1, 5), 2, 25)), room));
    CHECK(message(real(1, 10), half(1, 5)) == "");
}

TEMPLATE_TEST_CASE("rdft and irdft with alpha, beta, an added matrix, conjugates and an epilogue", "", float,
                   double) {
    using R = TestType;
    using C = std::complex<R>;
    double const u = sg::unit_roundoff<R>();
    R const alpha(R(1.5)), beta(R(-0.75));
    auto const place = [](auto x, index_t i, index_t j) {
        return x + decltype(x)(static_cast<R>(3 * i - j));
    };
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 1 : lanes<R>() + 2, h = n / 2;
        auto const x = random_matrix<R>(n, cols, 6), added = random_matrix<R>(n, cols, 7);
        auto const y = random_matrix<C>(h + 1, cols, 8), e = random_matrix<C>(h + 1, cols, 9);
        auto const plain = spectra_of(x);
        auto const plain_back = numbers_of(n, y);
        sg::matrix<C> z(h + 1, cols, [](index_t, index_t) { return C(std::numeric_limits<R>::quiet_NaN()); }),
            own = e, opposite(h + 1, cols);
        sg::matrix<R> w(n, cols, [](index_t, index_t) { return std::numeric_limits<R>::quiet_NaN(); }),
            of_rows = turned(added), reversed(n, cols);
        sg::gemm(sg::host{1}, alpha, sg::rdft<R>(n), x, beta, sg::conjugated(e), z,
                 [&](auto v, index_t i, index_t j) {
                     if constexpr (sg::complex_like<decltype(v)>)
                         return place(v, i, j);
                     else
                         return v;
                 });
        sg::gemm(sg::host{1}, alpha, sg::conjugated(sg::rdft<R>(n)), x, beta, own);
        sg::gemm(sg::host{1}, alpha, sg::scaled(R(2), sg::irdft<R>(n)), sg::scaled(C(R(2)), y), beta, added,
                 w, place);
        sg::gemm(sg::host{1}, alpha, sg::transposed(y), sg::transposed(sg::irdft<R>(n)), beta, of_rows,
                 [&](R v, index_t i, index_t j) { return place(v, j, i); });
        sg::gemm(sg::host{1}, sg::irdft<R>(n), sg::conjugated(y), reversed);
        auto const far = [&](auto a, auto b) {
            return !(static_cast<double>(std::abs(a - b)) <=
                     8 * u * (4 + static_cast<double>(3 * n) + 8 * static_cast<double>(std::abs(a))));
        };
        int wrong = 0;
        for (index_t j = 0; j < cols; ++j) {
            for (index_t k = 0; k <= h; ++k) {
                wrong += far(z(k, j), place(alpha * plain(k, j) + beta * std::conj(e(k, j)), k, j));
                wrong += far(own(k, j), alpha * std::conj(plain(k, j)) + beta * e(k, j));
            }
            for (index_t i = 0; i < n; ++i) {
                wrong += far(w(i, j), place(4 * alpha * plain_back(i, j) + beta * added(i, j), i, j));
                wrong += far(of_rows(j, i), place(alpha * plain_back(i, j) + beta * added(i, j), i, j));
                wrong += far(reversed(i, j), plain_back(i == 0 ? 0 : n - i, j));
            }
        }
        CHECK(wrong == 0);
        sg::gemm(sg::host{1}, sg::conjugated(sg::irdft<R>(n)), y, w);
        CHECK(same_bits(w, reversed));
        sg::gemm(sg::host{1}, R(0), sg::irdft<R>(n), y, R(2), w);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) wrong += w(i, j) != R(2) * reversed(i, j);
        CHECK(wrong == 0);
        if (n > 1000) continue;
        sg::matrix<R> by_definition(n, cols);
        sg::gemm(sg::reference{}, alpha, sg::irdft<R>(n), y, beta, added, by_definition, place);
        sg::gemm(sg::host{1}, alpha, sg::irdft<R>(n), y, beta, added, w, place);
        CHECK(distance(w, by_definition) <= 60 * u * static_cast<double>(4 * n + 8));
    }
}

TEMPLATE_TEST_CASE("rdft and irdft have the same bits in any batch and with any number of threads", "", float,
                   double) {
    using R = TestType;
    using C = std::complex<R>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 3 : 40 * lanes<R>() + 1, h = n / 2;
        auto const x = random_matrix<R>(n, cols, 10);
        auto const spectra = spectra_of(x);
        auto const numbers = numbers_of(n, spectra);
        for (int threads = 2; threads <= 5; ++threads) {
            CHECK(differences(spectra_of(x, {threads}), spectra) == 0);
            CHECK(differences(numbers_of(n, spectra, {threads}), numbers) == 0);
        }
        index_t const width = n > 1000 ? 1 : 5, count = n > 1000 ? 3 : 7;
        sg::matrix<C> y(h + 1, cols), z(cols, h + 1);
        sg::matrix<R> w(n, cols);
        sg::gemm(sg::host{3}, sg::rdft<R>(n), sg::batched(x.view().block(0, 0, n, width), count, width),
                 sg::batched(y.view().block(0, 0, h + 1, width), count, width));
        sg::gemm(sg::host{3}, sg::batched(sg::transposed(x.view().block(0, 0, n, width)), count, width),
                 sg::transposed(sg::rdft<R>(n)),
                 sg::batched(z.view().block(0, 0, width, h + 1), count, width * (h + 1)));
        sg::gemm(sg::host{3}, sg::irdft<R>(n),
                 sg::batched(spectra.view().block(0, 0, h + 1, width), count, width),
                 sg::batched(w.view().block(0, 0, n, width), count, width));
        int wrong = 0;
        for (index_t j = 0; j < width * count; ++j) {
            for (index_t k = 0; k <= h; ++k)
                wrong += y(k, j) != spectra(k, j), wrong += z(j, k) != spectra(k, j);
            for (index_t i = 0; i < n; ++i) wrong += w(i, j) != numbers(i, j);
        }
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("the leading part of an rdft and of an irdft", "", float, double) {
    using R = TestType;
    using C = std::complex<R>;
    for (index_t const n : some_lengths())
        for (index_t const some : {index_t{1}, n / 3 + 1, n / 2, n - 1}) {
            index_t const cols = n > 1000 ? 2 : lanes<R>() + 3, h = n / 2,
                          frequencies = std::min(some / 2 + 1, h + 1);
            if (some < 1) continue;
            INFO(n << ": " << some << " numbers, " << frequencies << " frequencies");
            auto const x = random_matrix<R>(some, cols, 3);
            auto const y = random_matrix<C>(frequencies, cols, 4);
            sg::matrix<R> padded(n, cols, [&](index_t i, index_t j) { return i < some ? x(i, j) : R(0); });
            sg::matrix<C> padded_half(h + 1, cols,
                                      [&](index_t i, index_t j) { return i < frequencies ? y(i, j) : C(0); });
            auto const spectra = spectra_of(padded);
            auto const numbers = numbers_of(n, padded_half);
            sg::matrix<C> z(frequencies, cols);
            sg::matrix<R> w(some, cols), of_rows(cols, some);
            auto const leading = sg::leading(sg::rdft<R>(n), frequencies, some);
            auto const leading_back = sg::leading(sg::irdft<R>(n), some, frequencies);
            sg::gemm(sg::host{1}, leading, x, z);
            sg::gemm(sg::host{1}, leading_back, y, w);
            sg::gemm(sg::host{1}, sg::transposed(y), leading_back.transposed(), of_rows);
            int wrong = 0;
            for (index_t j = 0; j < cols; ++j) {
                for (index_t k = 0; k < frequencies; ++k) wrong += z(k, j) != spectra(k, j);
                for (index_t i = 0; i < some; ++i)
                    wrong += w(i, j) != numbers(i, j), wrong += of_rows(j, i) != numbers(i, j);
            }
            REQUIRE(wrong == 0);
            auto const again = w;
            auto const halves = z;
            sg::gemm(sg::host{1}, R(2), leading_back, y, R(1), w);
            sg::gemm(sg::host{1}, R(2), leading, x, R(1), z);
            for (index_t j = 0; j < cols; ++j) {
                for (index_t i = 0; i < some; ++i)
                    wrong += std::abs(w(i, j) - R(3) * again(i, j)) > R(1e-5) * (1 + std::abs(w(i, j)));
                for (index_t k = 0; k < frequencies; ++k)
                    wrong += std::abs(z(k, j) - R(3) * halves(k, j)) > R(1e-5) * (1 + std::abs(z(k, j)));
            }
            REQUIRE(wrong == 0);
            if (n > 1000) continue;
            sg::gemm(sg::reference{}, leading_back, y, w);
            CHECK(distance(w, again) <=
                  20 * sg::unit_roundoff<R>() * largest(y) * static_cast<double>(frequencies));
        }
}

TEST_CASE("irdft takes half a spectrum and real results, of one precision") {
    using sg::verdict;
    using F = std::complex<float>;
    using D = std::complex<double>;
    auto const of = []<class T, class Y, class X>(T, Y, X) {
        using Q = sg::problem<sg::irdft<T>, sg::view<Y const>, sg::view<X>>;
        return sg::answer<sg::performer<sg::host, Q>, Q>();
    };
    CHECK(of(1.0f, F{}, 1.0f) == verdict::yes);
    CHECK(of(1.0, D{}, 1.0) == verdict::yes);
    CHECK(of(1.0f, F{}, F{}) == verdict::types);
    CHECK(of(1.0f, 1.0f, 1.0f) == verdict::types);
    CHECK(of(1.0, F{}, 1.0) == verdict::types);
    CHECK(of(1.0f, D{}, 1.0f) == verdict::types);
    CHECK(of(1.0f, F{}, 1.0) == verdict::types);
    using layered = sg::problem<sg::irdft<float>, sg::view<F const>, sg::view<float>>;
    CHECK(sg::answer<sg::performer<sg::strassen<sg::host>, layered>, layered>() == verdict::structure);
}

TEST_CASE("rdft and irdft refuse lengths, factors and sides in one sentence, and write nothing") {
    using C = std::complex<float>;
    struct { // x follows y
        C y[33];
        float x[64];
    } both = {{}, {7}};
    auto& y = both.y;
    auto& x = both.x;
    auto const message = [&](auto const& a, index_t frequencies, index_t results) {
        auto const s = sg::try_gemm(sg::host{1}, a, sg::strided<C const>(y, frequencies, 1, 0, 1),
                                    sg::strided(x, results, 1, 1, 1));
        return s ? std::string() : std::string(s.error().what());
    };
    index_t const beyond = index_t{1} << 31;
    CHECK(message(sg::irdft<float>(0), 1, 0) ==
          "dft: a transform has from 1 to 2147483647 points, and this one has 0");
    CHECK(message(sg::irdft<float>(beyond), beyond / 2 + 1, beyond) ==
          "dft: a transform has from 1 to 2147483647 points, and this one has 2147483648");
    CHECK(message(sg::irdft<float>(-2), 0, -2) == "gemm: sizes must not be negative");
    CHECK(message(sg::leading(sg::irdft<float>(8), 9, 5), 5, 9) ==
          "dft: a transform of 8 points has no leading rows and columns of 9 x 5");
    CHECK(message(sg::leading(sg::irdft<float>(8), 8, 6), 6, 8) ==
          "dft: a transform of 8 points has no leading rows and columns of 8 x 6");
    CHECK(contains(message(sg::irdft<float>(8), 8, 8), "C = A B needs"));
    CHECK(message(sg::transposed(sg::irdft<float>(8)), 8, 5) ==
          "irdft: it is on the left as it is, and transposed(irdft<T>(n)) on the right");
    auto const s =
        sg::try_gemm(sg::host{1}, sg::irdft<float>(2),
                     sg::scaled(C(0, 1), sg::strided<C const>(y, 2, 1, 1, 1)), sg::strided(x, 2, 1, 1, 1));
    REQUIRE(!s);
    CHECK(s.error().code() == sg::errc::argument);
    CHECK(x[0] == 7);
    CHECK(message(sg::irdft<float>(64), 33, 64) == "");
    CHECK(x[0] == 0);
}

TEST_CASE("a plan of an rdft or an irdft says what runs, what memory it takes, and that it suffices") {
    using C = std::complex<float>;
    using forth = sg::shape<sg::dft_form<float>, float, C>;
    using back = sg::shape<sg::irdft_form<float>, C, float>;
    auto const w = std::to_string(lanes<float>());
    auto const text = [](auto const& shape) { return sg::plan(sg::host{1}, shape).describe(); };
    bool const eights = sg::dft_kernels_here<float>().largest_radix == 8;
    CHECK(text(forth{65, 9, 128}) == std::string("dft of 128 points as 64 pairs, radices ") +
                                         (eights ? "8 8" : "4 4 4") + ", " + w +
                                         " transforms at a time, on 1 thread");
    CHECK(contains(text(forth{65, 9, 128}), "as 64 pairs"));
    CHECK(!contains(text(forth{66, 9, 128}), "pairs"));
    CHECK(contains(text(back{128, 9, 65}), "irdft of 128 points as 64 pairs, "));
    CHECK(contains(text(back{125, 9, 63}), "irdft of 125 points, radices 5 5 5, "));
    CHECK(contains(text(back{2018, 9, 1010}), "irdft of 2018 points as 1009 pairs by a convolution of 2025"));
    index_t const length = index_t{1} << 22;
    CHECK(contains(text(back{length, 1, length / 2 + 1}), "as 2048 x 1024, "));
    CHECK(contains(sg::plan(sg::reference{}, back{64, 1, 33}).describe(), "by its definition"));
    sg::plan const small(sg::host{1}, back{64, 100, 33});
    CHECK(small.estimate() > 0);
    CHECK(small.workspace().host ==
          static_cast<std::size_t>(4 * 33 * lanes<float>()) * sizeof(float) + 2 * 2048);

    auto const x = random_matrix<float>(64, 100, 12);
    auto const spectra = spectra_of(x);
    sg::matrix<float> to(64, 100);
    auto memory = small.reserve();
    small.run(sg::irdft<float>(64), spectra, to, memory);
    CHECK(same_bits(to, numbers_of(64, spectra)));
    sg::plan const rows(sg::host{1}, sg::shape<C, sg::irdft_form<float>, float>{100, 64, 33});
    sg::matrix<float> of_rows(100, 64);
    CHECK(rows.workspace() == small.workspace());
    rows.run(sg::transposed(spectra), sg::transposed(sg::irdft<float>(64)), of_rows);
    CHECK(of_rows(7, 3) == to(3, 7));

    // A plan whose shape does not say how many points there are is one of the least that there may be.
    sg::plan const other(sg::host{1}, forth{5, 1, 8});
    sg::matrix<float> const eight(8, 1);
    sg::matrix<C> five(5, 1);
    auto room = other.reserve();
    auto const s = other.try_run(sg::product(sg::leading(sg::rdft<float>(4096), 5, 8), eight, five), room);
    REQUIRE(!s);
    CHECK(contains(s.error().what(), "the plan is one of another transform"));
}
