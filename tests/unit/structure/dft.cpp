#include "catch.hpp"
#include "child.hpp"
#include "unit/support.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/dft.hpp>

#include <algorithm>
#include <atomic>
#include <complex>
#include <limits>
#include <thread>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::same_bits;

namespace {

template <class X>
sg::matrix<X> random_matrix(index_t rows, index_t cols, unsigned seed,
                            sg::layout order = sg::layout::row_major) {
    support::random_source from(seed);
    return sg::matrix<X>(
        rows, cols,
        [&](index_t, index_t) {
            using R = sg::real_t<X>;
            auto const part = [&] { return static_cast<R>(from.uniform(-1, 1)); };
            if constexpr (sg::complex_like<X>) {
                R const re = part();
                return X(re, part());
            } else {
                return part();
            }
        },
        order);
}

// Frequencies of the columns of a matrix, in long double.
class exact_transform {
public:
    explicit exact_transform(index_t n) : n_(n), re_(static_cast<std::size_t>(n)), im_(re_.size()) {
        long double const pi = 3.14159265358979323846264338327950288L;
        for (index_t k = 0; k < n; ++k) {
            long double const angle = 2 * pi * static_cast<long double>(k) / static_cast<long double>(n);
            re_[at(k)] = std::cos(angle), im_[at(k)] = -std::sin(angle);
        }
    }
    template <class X>
    std::complex<long double> operator()(sg::matrix<X> const& x, index_t frequency, index_t col) const {
        long double re = 0, im = 0;
        for (index_t j = 0, k = 0; j < n_; ++j) {
            std::complex<sg::real_t<X>> const e = x(j, col);
            long double const a = e.real(), b = e.imag(), c = re_[at(k)], s = im_[at(k)];
            re += a * c - b * s, im += a * s + b * c;
            if ((k += frequency) >= n_) k -= n_;
        }
        return {re, im};
    }

private:
    static std::size_t at(index_t k) { return static_cast<std::size_t>(k); }
    index_t n_;
    std::vector<long double> re_, im_;
};

template <class X>
double largest(sg::matrix<X> const& x) {
    double most = 0;
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j) most = std::max(most, static_cast<double>(std::abs(x(i, j))));
    return most;
}
// The largest error of y = dft x at some frequencies, over n max|x|.
template <class X, class C>
double error_of(sg::matrix<X> const& x, sg::matrix<C> const& y, index_t frequencies) {
    index_t const n = x.rows(), most = std::min(n, frequencies);
    exact_transform const exact(n);
    long double error = 0;
    for (index_t f = 0; f < most; ++f)
        for (index_t j = 0; j < x.cols(); ++j) {
            index_t const k = most == n || f < most / 2 ? f : f * 7919 % n; // tones are among the first
            auto const e = exact(x, k, j);
            error = std::max(error, std::hypot(e.real() - static_cast<long double>(y(k, j).real()),
                                               e.imag() - static_cast<long double>(y(k, j).imag())));
        }
    return static_cast<double>(error) / (static_cast<double>(n) * largest(x));
}
template <class C, class P>
sg::bound bound_of(P const& policy, index_t n, index_t cols) {
    using S = sg::shape<sg::dft_form<sg::real_t<C>>, C, C>;
    return sg::plan(policy, S{n, cols, n}).error_bound();
}
// Random columns, and tones, whose error is in one element.
template <class C>
sg::matrix<C> tones(index_t n, index_t cols) {
    using R = sg::real_t<C>;
    return sg::matrix<C>(n, cols, [&](index_t i, index_t j) {
        double const angle =
            6.283185307179586 * static_cast<double>(i * (j * 5 % n) % n) / static_cast<double>(n) + 0.3;
        return C(static_cast<R>(std::cos(angle)), static_cast<R>(std::sin(angle)));
    });
}
template <class C>
index_t lanes() {
    return sg::dft_kernels_here<sg::real_t<C>>().lanes;
}

template <class C>
C const not_a_number{std::numeric_limits<sg::real_t<C>>::quiet_NaN(), 0};

template <class C>
sg::matrix<C> transform(sg::matrix<C> const& x, sg::host const& cpu = {1}) {
    sg::matrix<C> y(x.rows(), x.cols());
    sg::gemm(cpu, sg::dft<sg::real_t<C>>(x.rows()), x, y);
    return y;
}
// Lengths of each kind: one, passes of each radix, a prime, and longer than a block.
std::vector<index_t> some_lengths() {
    if (support::sanitized) return {1, 12, 17, 70, 65536, 32771};
    return {1, 2, 12, 17, 64, 70, 225, 65536, 32771};
}

} // namespace

TEMPLATE_TEST_CASE("dft of every length is the transform by its definition", "", std::complex<float>,
                   std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    double tightest = 0, tightest_typical = 0;
    for (index_t n = 1; n <= 130; n += support::sanitized ? 7 : 1) {
        INFO(n);
        index_t const cols = lanes<C>() + 3;
        auto const x = random_matrix<C>(n, cols, 1), tone = tones<C>(n, 5);
        auto const bound = bound_of<C>(sg::host{1}, n, cols);
        double const error = error_of(x, transform(x), n), of_tones = error_of(tone, transform(tone), n);
        REQUIRE(error <= bound.expected);
        REQUIRE(std::max(error, of_tones) <= bound.worst);
        if (n > 1) tightest_typical = std::max(tightest_typical, error / bound.expected);
        if (n > 1) tightest = std::max(tightest, of_tones / bound.worst);

        sg::matrix<C> y(n, cols);
        sg::gemm(sg::reference{}, sg::dft<R>(n), x, y);
        REQUIRE(error_of(x, y, n) <= bound_of<C>(sg::reference{}, n, cols).expected);
    }
    CHECK(tightest_typical > 0.05);
    CHECK(tightest > 0.05);
}

TEMPLATE_TEST_CASE("dft of long lengths", "", std::complex<float>, std::complex<double>) {
    using C = TestType;
    for (index_t const n : {960, 1009, 1024, 3125, 4096, 131072, 100003}) {
        if (support::sanitized && n > 5000) continue;
        INFO(n);
        index_t const cols = n > 5000 ? 1 : 3;
        auto const x = random_matrix<C>(n, cols, 2), tone = tones<C>(n, cols);
        auto const bound = bound_of<C>(sg::host{1}, n, cols);
        double const error = error_of(x, transform(x), 60);
        CHECK(error <= bound.expected);
        CHECK(error >= bound.expected / 20);
        CHECK(error_of(tone, transform(tone), 60) <= bound.worst);
        CHECK(bound.normwise);
    }
}

TEMPLATE_TEST_CASE("dft of columns and rows in any layout has the same bits, and writes C alone", "",
                   std::complex<float>, std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 2 : 2 * lanes<C>() + 3;
        auto const x = random_matrix<C>(n, cols, 3);
        auto const expected = transform(x);
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
            std::vector<C> from(static_cast<std::size_t>(size), not_a_number<C>),
                to(static_cast<std::size_t>(size), C(R(77), R(78)));
            auto v = sg::strided<C>(from.data() + first, n, cols, rs, cs);
            auto w = sg::strided<C>(to.data() + first, n, cols, rs, cs);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j) v(i, j) = x(i, j), w(i, j) = not_a_number<C>;
            if (layout % 2 == 0)
                sg::gemm(sg::host{1}, sg::dft<R>(n), v, w);
            else
                sg::gemm(sg::host{1}, v.transposed(), sg::dft<R>(n), w.transposed());
            int wrong = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < cols; ++j)
                    wrong += std::memcmp(&w(i, j), &expected(i, j), sizeof(C)) != 0,
                        w(i, j) = C(R(77), R(78));
            CHECK(wrong == 0);
            CHECK(std::count(to.begin(), to.end(), C(R(77), R(78))) == size);
        }
    }
}

TEMPLATE_TEST_CASE("dft in place, and refused where C overlaps otherwise", "", std::complex<float>,
                   std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 1 : lanes<C>() + 1;
        auto const x = random_matrix<C>(n, cols, 4);
        auto const expected = transform(x);
        auto y = x, z = sg::matrix<C>(cols, n, [&](index_t i, index_t j) { return x(j, i); });
        sg::gemm(sg::host{2}, sg::dft<R>(n), y, y);
        CHECK(same_bits(y, expected));
        sg::gemm(sg::host{2}, z, sg::dft<R>(n), z);
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) wrong += z(j, i) != expected(i, j);
        CHECK(wrong == 0);
        if (n > 1000) continue;
        auto u = x, by_definition = x;
        sg::gemm(sg::reference{}, sg::dft<R>(n), x, by_definition);
        sg::gemm(sg::reference{}, sg::dft<R>(n), u, u);
        CHECK(same_bits(u, by_definition));
    }
    std::vector<C> memory(1000);
    auto const refused = [](auto const& x, auto const& y) {
        auto const s = sg::try_gemm(sg::host{1}, sg::dft<R>(8), x, y);
        return !s && s.error().code() == sg::errc::alias;
    };
    auto const at = [&](index_t first, index_t rows, index_t cols) {
        return sg::strided<C>(memory.data() + first, 8, 8, rows, cols);
    };
    CHECK(refused(at(0, 8, 1), at(1, 8, 1)));
    CHECK(refused(at(0, 8, 1), at(0, 1, 8)));
    CHECK(refused(at(0, 8, 1), at(0, 16, 1)));
    CHECK(refused(sg::strided<R>(reinterpret_cast<R*>(memory.data()), 8, 8, 8, 1), at(0, 8, 1)));
    // One X for a batch that it is a part of.
    CHECK(refused(at(0, 8, 1), sg::batched(at(0, 8, 1), 2, 64)));
    CHECK(sg::try_gemm(sg::host{1}, sg::dft<R>(8), sg::batched(at(0, 8, 1), 2, 64),
                       sg::batched(at(0, 8, 1), 2, 64)));
    // A matrix product in place is refused as before.
    auto const s = sg::try_gemm(sg::host{1}, at(500, 8, 1), at(0, 8, 1), at(0, 8, 1));
    CHECK((!s && s.error().code() == sg::errc::alias));
}

TEMPLATE_TEST_CASE("dft of real numbers, conjugates and multiples, and back", "", std::complex<float>,
                   std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    double const u = sg::unit_roundoff<C>();
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 1 : lanes<C>() + 2;
        auto const real = random_matrix<R>(n, cols, 5);
        sg::matrix<C> const same(n, cols, [&](index_t i, index_t j) { return C(real(i, j)); });
        auto const expected = transform(same);
        sg::matrix<C> y(n, cols), z(n, cols);
        sg::gemm(sg::host{1}, sg::dft<R>(n), real, y);
        CHECK(support::equal(y, expected));

        auto const x = random_matrix<C>(n, cols, 6);
        sg::matrix<C> const conjugate(n, cols, [&](index_t i, index_t j) { return std::conj(x(i, j)); });
        auto const of_x = transform(x), of_conjugate = transform(conjugate);
        sg::gemm(sg::host{1}, sg::dft<R>(n), sg::conjugated(x), y);
        CHECK(support::equal(y, of_conjugate));
        sg::gemm(sg::host{1}, sg::conjugated(sg::dft<R>(n)), x, y);
        sg::gemm(sg::host{1}, sg::scaled(R(4), sg::dft<R>(n)), sg::scaled(C(0, 2), x), z);
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) {
                wrong += y(i, j) != std::conj(of_conjugate(i, j));
                wrong += z(i, j) != C(-8 * of_x(i, j).imag(), 8 * of_x(i, j).real());
            }
        CHECK(wrong == 0);

        sg::fft(sg::host{1}, x, y);
        CHECK(same_bits(y, of_x));
        sg::ifft(sg::host{1}, y, z);
        double difference = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j)
                difference = std::max(difference, static_cast<double>(std::abs(z(i, j) - x(i, j))));
        CHECK(difference <= 40 * u);
    }
}

TEMPLATE_TEST_CASE("dft with frequency 0 elsewhere", "", std::complex<float>, std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 1 : lanes<C>() + 2;
        auto const x = random_matrix<C>(n, cols, 7);
        auto const expected = transform(x);
        sg::matrix<C> y(n, cols), z(n, cols), turned(cols, n), by_definition(n, cols);
        sg::gemm(sg::host{1}, sg::fftshift(sg::dft<R>(n)), x, y);
        sg::gemm(sg::host{1}, sg::transposed(x), sg::fftshift(sg::dft<R>(n), sg::along::columns), turned);
        // What is shifted is shifted back first.
        sg::gemm(sg::host{1}, sg::fftshift(sg::dft<R>(n), sg::along::columns),
                 sg::matrix<C>(n, cols, [&](index_t i, index_t j) { return x((i + n - n / 2) % n, j); }), z);
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) {
                wrong += y((i + n / 2) % n, j) != expected(i, j);
                wrong += turned(j, (i + n / 2) % n) != expected(i, j);
                wrong += z(i, j) != expected(i, j);
            }
        CHECK(wrong == 0);
        sg::gemm(sg::host{1}, sg::ifftshift(sg::fftshift(sg::dft<R>(n))), x, y);
        CHECK(same_bits(y, expected));
        if (n > 1000) continue;
        sg::gemm(sg::reference{}, sg::fftshift(sg::dft<R>(n)), x, by_definition);
        sg::gemm(sg::host{1}, sg::fftshift(sg::dft<R>(n)), x, y);
        double const most = bound_of<C>(sg::host{1}, n, cols).worst * static_cast<double>(n) * 2 * largest(x);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j)
                wrong += !(static_cast<double>(std::abs(y(i, j) - by_definition(i, j))) <= most);
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("dft with alpha, beta, an added matrix and an epilogue", "", std::complex<float>,
                   std::complex<double>, float, double) {
    using X = TestType;
    using R = sg::real_t<X>;
    using C = std::complex<R>;
    double const u = sg::unit_roundoff<R>();
    X alpha(R(1.5)), beta(R(-0.75));
    if constexpr (sg::complex_like<X>) alpha = X(1.5, -0.5), beta = X(0.25, 2);
    auto const place = [](auto x, index_t i, index_t j) {
        return decltype(x)(x.real() + static_cast<R>(3 * i), x.imag() - static_cast<R>(j));
    };
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 1 : lanes<C>() + 2;
        auto const x = random_matrix<X>(n, cols, 8);
        auto const e = random_matrix<C>(n, cols, 9);
        sg::matrix<C> plain(n, cols), y(n, cols, [](index_t, index_t) { return not_a_number<C>; }), own = e;
        sg::gemm(sg::host{1}, sg::dft<R>(n), x, plain);
        auto const finishes = [&](auto x_, index_t i, index_t j) {
            if constexpr (sg::complex_like<decltype(x_)>)
                return place(x_, i, j);
            else
                return x_;
        };
        sg::gemm(sg::host{1}, alpha, sg::dft<R>(n), x, beta, sg::conjugated(e), y, finishes);
        sg::gemm(sg::host{1}, alpha, sg::dft<R>(n), x, beta, own);
        sg::matrix<C> turned(cols, n, [](index_t, index_t) { return not_a_number<C>; }),
            none(n, cols, [](index_t, index_t) { return not_a_number<C>; });
        sg::gemm(sg::host{1}, sg::transposed(x), sg::dft<R>(n), turned,
                 [&](auto x_, index_t i, index_t j) { return finishes(x_, j, i); });
        sg::gemm(sg::host{1}, alpha, sg::dft<R>(n), x, X(R(0)), none);
        int wrong = 0;
        auto const far = [&](C a, C b) {
            double const size = 1 + static_cast<double>(3 * n) + static_cast<double>(std::abs(a));
            return !(static_cast<double>(std::abs(a - b)) <= 8 * u * size);
        };
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) {
                wrong += far(y(i, j), place(alpha * plain(i, j) + beta * std::conj(e(i, j)), i, j));
                wrong += far(own(i, j), alpha * plain(i, j) + beta * e(i, j));
                wrong += far(turned(j, i), place(plain(i, j), i, j));
                wrong += far(none(i, j), alpha * plain(i, j));
            }
        CHECK(wrong == 0);
        // alpha = 0: x is not read
        sg::gemm(
            sg::host{1}, X(R(0)), sg::dft<R>(n),
            sg::matrix<X>(n, cols, [](index_t, index_t) { return X(std::numeric_limits<R>::quiet_NaN()); }),
            X(R(2)), own = e);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j) wrong += own(i, j) != R(2) * e(i, j);
        CHECK(wrong == 0);
        if (n > 1000) continue;
        sg::matrix<C> z(n, cols);
        sg::gemm(sg::reference{}, alpha, sg::dft<R>(n), x, beta, e, z, finishes);
        sg::gemm(sg::host{1}, alpha, sg::dft<R>(n), x, beta, e, y, finishes);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < cols; ++j)
                wrong += !(static_cast<double>(std::abs(y(i, j) - z(i, j))) <=
                           30 * u * static_cast<double>(4 * n + 8));
        CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("dft has the same bits in any batch and with any number of threads", "",
                   std::complex<float>, std::complex<double>) {
    using C = TestType;
    using R = sg::real_t<C>;
    for (index_t const n : some_lengths()) {
        INFO(n);
        index_t const cols = n > 1000 ? 3 : 40 * lanes<C>() + 1;
        auto const x = random_matrix<C>(n, cols, 10);
        auto const expected = transform(x);
        for (int threads = 1; threads <= 5; ++threads) {
            auto const y = transform(x, {threads});
            CHECK(same_bits(y, expected));
        }
        for (index_t const some : {index_t{1}, index_t{5}, lanes<C>() + 1}) {
            if (some > cols) continue;
            sg::matrix<C> part(n, some);
            sg::gemm(sg::host{1}, sg::dft<R>(n), x.view().block(0, cols - some, n, some), part);
            int wrong = 0;
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < some; ++j)
                    wrong += std::memcmp(&part(i, j), &expected(i, cols - some + j), sizeof(C)) != 0;
            CHECK(wrong == 0);
        }
        // Batches of matrices of some columns, and of rows on the right; a repeated X.
        index_t const width = n > 1000 ? 1 : 5, count = n > 1000 ? 3 : 7;
        sg::matrix<C> y(n, cols), z(cols, n), repeated(n, cols);
        sg::gemm(sg::host{3}, sg::dft<R>(n), sg::batched(x.view().block(0, 0, n, width), count, width),
                 sg::batched(y.view().block(0, 0, n, width), count, width));
        sg::gemm(sg::host{3}, sg::batched(sg::transposed(x.view().block(0, 0, n, width)), count, width),
                 sg::dft<R>(n), sg::batched(z.view().block(0, 0, width, n), count, width * n));
        sg::gemm(sg::host{3}, sg::dft<R>(n), x.view().block(0, 0, n, width),
                 sg::batched(repeated.view().block(0, 0, n, width), count, width));
        int wrong = 0;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < width * count; ++j) {
                wrong += y(i, j) != expected(i, j);
                wrong += z(j, i) != expected(i, j);
                wrong += repeated(i, j) != expected(i, j % width);
            }
        CHECK(wrong == 0);
        if (n <= 1000) {
            sg::gemm(sg::reference{}, sg::dft<R>(n),
                     sg::batched(x.view().block(0, 0, n, width), count, width),
                     sg::batched(y.view().block(0, 0, n, width), count, width));
            double const most =
                bound_of<C>(sg::host{1}, n, cols).worst * static_cast<double>(n) * 2 * largest(x);
            for (index_t i = 0; i < n; ++i)
                for (index_t j = 0; j < width * count; ++j)
                    wrong += !(static_cast<double>(std::abs(y(i, j) - expected(i, j))) <= most);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("threads of the program may transform at the same time") {
    using C = std::complex<float>;
    auto const x = random_matrix<C>(300, 3, 13);
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (index_t n = 1; n <= 300; n += 1 + t) {
                sg::matrix<C> y(n, 3), z(n, 3);
                auto const part = x.view().block(0, 0, n, 3);
                sg::gemm(sg::host{1}, sg::dft<float>(n), part, y);
                sg::gemm(sg::host{1}, sg::dft<float>(n), part, z);
                wrong[static_cast<std::size_t>(t)] += !same_bits(y, z);
            }
        });
    for (auto& t : threads) t.join();
    CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("a child of fork() transforms, whatever threads of its parent were at") {
    using C = std::complex<float>;
    auto const x = random_matrix<C>(64, 3, 14);
    auto const expected = transform(x);
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            for (index_t n = 1; !done; n = n % 40 + 1) {
                sg::matrix<C> y(n, 1);
                sg::gemm(sg::host{1}, sg::dft<float>(n), x.view().block(0, 0, n, 1), y);
            }
        });
    int wrong = 0;
    for (int again = 0; again < (support::sanitized ? 5 : 50); ++again) {
        pid_t const child = fork();
        if (child == 0) {
            alarm(30); // a child that waits for ever fails
            _exit(same_bits(transform(x), expected) ? 0 : 1);
        }
        wrong += support::wait_for(child) != 0;
    }
    done = true;
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
}

TEST_CASE("NaN and Inf stay in the transform that they are in") {
    using C = std::complex<float>;
    auto x = random_matrix<C>(64, 20, 11);
    auto const expected = transform(x);
    x(5, 7) = not_a_number<C>;
    auto const y = transform(x);
    for (index_t i = 0; i < 64; ++i)
        for (index_t j = 0; j < 20; ++j)
            if (j == 7)
                CHECK((std::isnan(y(i, j).real()) || std::isnan(y(i, j).imag())));
            else
                CHECK(y(i, j) == expected(i, j));
}

TEST_CASE("dft refuses lengths and shapes in one sentence, and writes nothing") {
    using C = std::complex<float>;
    C both[] = {C(1), C(2)}; // y follows x
    C &one = both[0], &two = both[1];
    auto const message = [&](index_t n, index_t x_rows, index_t y_rows) {
        auto const s = sg::try_gemm(sg::host{1}, sg::dft<float>(n), sg::strided(&one, x_rows, 1, 0, 1),
                                    sg::strided(&two, y_rows, 1, 1, 1));
        return s ? std::string() : std::string(s.error().what());
    };
    index_t const beyond = index_t{1} << 31;
    CHECK(message(0, 0, 0) == "dft: a transform has from 1 to 2147483647 points, and this one has 0");
    CHECK(message(beyond, beyond, beyond) ==
          "dft: a transform has from 1 to 2147483647 points, and this one has 2147483648");
    CHECK(message(-1, -1, -1) == "gemm: sizes must not be negative");
    auto const part = sg::try_gemm(sg::host{1}, sg::leading(sg::dft<float>(1), 1, 2),
                                   sg::strided(&one, 2, 1, 0, 1), sg::strided(&two, 1, 1, 1, 1));
    REQUIRE(!part);
    CHECK(part.error().what() ==
          std::string("dft: a transform of 1 points has no leading rows and columns of 1 x 2"));
    CHECK(contains(message(8, 9, 8), "C = A B needs"));
    CHECK(contains(message(8, 8, 9), "C = A B needs"));
    CHECK(two == C(2));
    CHECK(message(1, 1, 1) == "");
    CHECK(two == one);
}

TEMPLATE_TEST_CASE("the leading part of a dft transforms elements and zeros to the first frequencies", "",
                   std::complex<float>, std::complex<double>, double) {
    using X = TestType;
    using R = sg::real_t<X>;
    using C = std::complex<R>;
    struct part {
        index_t rows, cols;
    };
    for (index_t const n : some_lengths())
        for (part const some : {part{n, n}, part{n / 2 + 1, n}, part{n, n / 3 + 1}, part{1, n / 2 + 1}})
            for (index_t const shift : {index_t{0}, n / 2}) {
                INFO(n << ": " << some.rows << " x " << some.cols << " of it, shifted by " << shift);
                index_t const cols = n > 1000 ? 2 : lanes<C>() + 3;
                sg::dft<R> whole(n);
                whole.row_shift = shift, whole.col_shift = -shift;
                auto const x = random_matrix<X>(some.cols, cols, 3);
                sg::matrix<X> padded(n, cols,
                                     [&](index_t i, index_t j) { return i < some.cols ? x(i, j) : X(0); });
                sg::matrix<C> expected(n, cols), y(some.rows, cols), turned(cols, some.rows);
                sg::gemm(sg::host{1}, whole, padded, expected);
                auto const leading = sg::leading(whole, some.rows, some.cols);
                sg::gemm(sg::host{1}, leading, x, y);
                sg::gemm(sg::host{1}, sg::transposed(x), leading.transposed(), turned);
                // Half of the frequencies of real numbers, or fewer, are transformed as an rdft.
                bool const may_differ = std::is_same_v<X, double> && shift == 0 && some.rows <= n / 2 + 1;
                double const most = may_differ ? 1e-14 * static_cast<double>(n) : 0;
                index_t differences = 0;
                for (index_t i = 0; i < some.rows; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        differences += !(static_cast<double>(std::abs(y(i, j) - expected(i, j))) <= most) +
                                       !(turned(j, i) == y(i, j));
                REQUIRE(differences == 0);
                auto const again = y;
                sg::gemm(sg::host{1}, X(2), leading, x, X(1), y);
                index_t wrong = 0;
                for (index_t i = 0; i < some.rows; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        wrong += std::abs(y(i, j) - R(3) * again(i, j)) > R(1e-5) * (1 + std::abs(y(i, j)));
                REQUIRE(wrong == 0);
                if (n > 1000) continue;
                using S = sg::shape<sg::dft_form<R>, X, C>;
                S shape{some.rows, cols, some.cols};
                shape.a_facts = leading.facts();
                auto const limit = sg::plan(sg::host{1}, shape).error_bound();
                double const by = static_cast<double>(some.cols) * largest(x);
                sg::gemm(sg::reference{}, leading, x, y);
                double error = 0;
                for (index_t i = 0; i < some.rows; ++i)
                    for (index_t j = 0; j < cols; ++j)
                        error = std::max(error, static_cast<double>(std::abs(y(i, j) - expected(i, j))));
                CHECK(error <= 2 * limit.expected * by);
            }
    using S = sg::shape<sg::dft_form<R>, X, C>;
    S shape{33, 5, 40};
    shape.a_facts.points = 64;
    CHECK(contains(sg::plan(sg::host{1}, shape).describe(), "dft of 64 points"));
}

TEST_CASE("dft takes complex and real operands of its own precision") {
    using sg::verdict;
    using F = std::complex<float>;
    using D = std::complex<double>;
    auto const of = []<class T, class X, class Y>(T, X, Y) {
        using Q = sg::problem<sg::dft<T>, sg::view<X const>, sg::view<Y>>;
        return sg::answer<sg::performer<sg::host, Q>, Q>();
    };
    CHECK(of(1.0f, F{}, F{}) == verdict::yes);
    CHECK(of(1.0f, 1.0f, F{}) == verdict::yes);
    CHECK(of(1.0, D{}, D{}) == verdict::yes);
    CHECK(of(1.0, 1.0, D{}) == verdict::yes);
    CHECK(of(1.0f, F{}, D{}) == verdict::types);
    CHECK(of(1.0, F{}, F{}) == verdict::types);
    CHECK(of(1.0f, D{}, D{}) == verdict::types);
    CHECK(of(1.0f, 1.0f, 1.0f) == verdict::types);
    CHECK(of(1.0f, sg::half{}, F{}) == verdict::types);
    using two = sg::problem<sg::dft<float>, sg::dft<float>, sg::view<F>>;
    CHECK(sg::answer<sg::performer<sg::host, two>, two>() == verdict::structure);
    using layered = sg::problem<sg::dft<float>, sg::view<F const>, sg::view<F>>;
    CHECK(sg::answer<sg::performer<sg::strassen<sg::host>, layered>, layered>() == verdict::structure);
}

TEST_CASE("a plan of a dft says what runs, what memory it takes, and that it suffices") {
    using C = std::complex<float>;
    using S = sg::shape<sg::dft_form<float>, C, C>;
    auto const w = std::to_string(lanes<C>());
    bool const eights = sg::dft_kernels_here<float>().largest_radix == 8;
    sg::plan const small(sg::host{1}, S{64, 100, 64});
    CHECK(small.describe() == std::string("dft of 64 points, radices ") + (eights ? "8 8" : "4 4 4") + ", " +
                                  w + " transforms at a time, on 1 thread");
    CHECK(contains(sg::plan(sg::host{1}, S{60, 1, 60}).describe(), "radices 5 3 4, "));
    CHECK(
        contains(sg::plan(sg::host{1}, S{1009, 1, 1009}).describe(), "by a convolution of 2025 (Bluestein)"));
    index_t const length = index_t{1} << 22;
    CHECK(contains(sg::plan(sg::host{1}, S{length, 1, length}).describe(), "as 2048 x 2048, "));
    index_t const longest = index_t{1} << 30; // n x n elements would be refused
    CHECK(contains(sg::plan(sg::host{1}, S{longest, 1, longest}).describe(), "as 32768 x 32768, "));
    CHECK(contains(sg::plan(sg::reference{}, S{64, 1, 64}).describe(), "by its definition"));
    CHECK(small.estimate() > 0);
    CHECK(small.workspace().host == static_cast<std::size_t>(4 * 64 * lanes<C>()) * sizeof(float) + 2 * 2048);

    auto const x = random_matrix<C>(64, 100, 12);
    auto const expected = transform(x);
    sg::matrix<C> y(64, 100), turned(100, 64);
    auto memory = small.reserve();
    small.run(sg::dft<float>(64), x, y, memory);
    CHECK(same_bits(y, expected));
    using turned_shape = sg::shape<C, sg::dft_form<float>, C>;
    sg::plan const rows(sg::host{1}, turned_shape{100, 64, 64});
    CHECK(rows.workspace() == small.workspace());
    rows.run(sg::transposed(x), sg::dft<float>(64), turned);
    CHECK(turned(7, 3) == expected(3, 7));
}
