// Sparse matrices times dense ones on a device, divided by rows and elements together, against the host.
#include "catch.hpp"
#include "csr_there.hpp"
#include "policies.hpp"

#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

#include <limits>
#include <string>

using namespace trials;

namespace {

// Row i has length(i) elements, of integers. The last column is not used.
template <class T, class Index, class F>
support::sparse_arrays<T, Index> of_lengths(sg::index_t rows, sg::index_t cols, F&& length) {
    support::sparse_arrays<T, Index> a;
    a.rows = rows, a.cols = cols;
    for (sg::index_t i = 0; i < rows; ++i) {
        for (sg::index_t at = 0; at < length(i); ++at) {
            a.columns.push_back(static_cast<Index>((at * 11 + i * 5) % (cols - 1)));
            a.values.push_back(T(static_cast<float>((3 * i + 5 * at) % 7 - 3)));
        }
        a.begins.push_back(static_cast<Index>(a.columns.size()));
    }
    return a;
}

// Lengths of rows: alike, as in graphs, with empty rows, with rows that many segments have parts of, and one alone.
template <class T, class Index>
std::vector<support::sparse_arrays<T, Index>> of_all_kinds() {
    using sg::index_t;
    std::vector<support::sparse_arrays<T, Index>> all;
    all.push_back(of_lengths<T, Index>(170, 61, [](index_t) { return index_t{27}; }));
    all.push_back(of_lengths<T, Index>(400, 97, [](index_t i) { return 1 + 900 / (1 + i * 37 % 400); }));
    all.push_back(of_lengths<T, Index>(700, 50, [](index_t i) { return i % 9 == 4 ? i % 40 : index_t{0}; }));
    all.push_back(of_lengths<T, Index>(90, 83, [](index_t i) {
        return i == 0 || i == 50 ? index_t{1700} : i == 51 ? index_t{64} : i % 3;
    }));
    all.push_back(of_lengths<T, Index>(1, 19, [](index_t) { return index_t{2900}; }));
    all.push_back(of_lengths<T, Index>(3000, 19, [](index_t i) { return index_t{i == 2999}; }));
    return all;
}

// C and B are parts of others, with NaN beside, and where no element is multiplied.
template <class T, class Index>
class merged_trial {
    using S = sg::accumulator_t<T>;
    using space = under_test::space;
    under_test device_;
    support::sparse_arrays<T, Index> const& a_;
    csr_there<T, Index> there_;
    sg::index_t n_;
    sg::matrix<T> b_;
    sg::matrix<S> e_;
    under_test::matrix<T> there_b_;
    under_test::matrix<S> there_e_;

    static sg::matrix<T> beside_nan(sg::index_t k, sg::index_t n, sg::layout order) {
        T const nan = std::is_integral_v<S> ? T(1) : T(std::numeric_limits<float>::quiet_NaN());
        auto const numbers = support::integers<T>(k, n, 1);
        return sg::matrix<T>(
            k, n + 4,
            [&](sg::index_t i, sg::index_t j) { return j >= n || i == k - 1 ? nan : numbers(i, j); }, order);
    }

public:
    merged_trial(support::sparse_arrays<T, Index> const& a, sg::index_t n, sg::layout order)
        : a_(a), there_(device_, a.view(), 37), n_(n), b_(beside_nan(a.cols, n, order)),
          e_(support::integers<S>(a.rows, n, 2)), there_b_(device_, b_), there_e_(device_, e_) {}

    // How many elements are wrong, or are not the same each time.
    int wrong(sg::csr_merged_work const& work, S alpha, S beta) const {
        sg::index_t const m = a_.rows;
        under_test::matrix<S> there_c(device_, m, n_ + 4);
        sg::matrix<S> c(m, n_ + 4), again(m, n_ + 4), expected(m, n_);
        sg::gemm(sg::host{}, alpha, a_.view(), sg::as_view(b_).part(0, 0, a_.cols, n_), beta, e_, expected);
        auto const p = sg::product(alpha, there_.view, sg::as_view(there_b_).part(0, 0, a_.cols, n_), beta,
                                   there_e_, sg::as_view(there_c).part(0, 0, m, n_));
        auto const memory = *sg::reserve_for(
            device_, under_test::arena::rounded(static_cast<std::size_t>(work.segments(m, there_.room)) * 4) +
                         static_cast<std::size_t>(work.sums(m, there_.room) * n_) * sizeof(S));
        for (auto* to : {&c, &again}) {
            device_.leaf().fill(there_c.view(), S(9)).or_throw();
            sg::multiply_csr_merged(device_.leaf(), p, work, sg::vector_of(p.c), *memory).or_throw();
            there_c.download(*to);
        }
        int wrong = 0;
        for (sg::index_t i = 0; i < m; ++i)
            for (sg::index_t j = 0; j < n_ + 4; ++j)
                wrong += !(c(i, j) == (j < n_ ? expected(i, j) : S(9))) + !(c(i, j) == again(i, j));
        return wrong;
    }
    sg::csr_merged_work choice() const {
        return sg::choose_csr_merged<S>(a_.rows, n_, there_.room,
                                        sg::vector_of(sg::as_view(there_b_).part(0, 0, a_.cols, n_)));
    }
};

template <class T, class Index>
void csr_merged_on_device(std::initializer_list<sg::index_t> widths) {
    using S = sg::accumulator_t<T>;
    int kind = 0;
    for (auto const& a : of_all_kinds<T, Index>()) {
        for (sg::index_t const n : widths)
            for (auto const order : {sg::layout::row_major, sg::layout::col_major}) {
                merged_trial<T, Index> const trial(a, n, order);
                auto work = trial.choice();
                INFO("kind " << kind << ", " << n << " columns, " << work.describe());
                CHECK(trial.wrong(work, S(1), S(0)) == 0);
                (work.few ? work.spans : work.even) = 3;
                if (!work.few) work.segment *= 2;
                CHECK(trial.wrong(work, S(2), S(-1)) == 0);
            }
        ++kind;
    }
}

} // namespace

TEST_CASE("csr merged: float", "[csr]") { csr_merged_on_device<float, std::int32_t>({1, 2, 4, 8, 37, 132}); }
TEST_CASE("csr merged: double", "[csr]") { csr_merged_on_device<double, std::int64_t>({1, 3, 10}); }
TEST_CASE("csr merged: half", "[csr]") { csr_merged_on_device<sg::half, std::int32_t>({1, 40}); }
TEST_CASE("csr merged: int8", "[csr]") { csr_merged_on_device<std::int8_t, std::int32_t>({3, 20}); }
TEST_CASE("csr merged: complex", "[csr]") { csr_merged_on_device<std::complex<float>, std::int32_t>({1, 6}); }

// Few elements in many segments, for what watches every access. The row of the middle has parts in several.
TEST_CASE("csr merged: small") {
    auto const a =
        of_lengths<float, std::int32_t>(40, 23, [](sg::index_t i) { return i == 9 ? 700 : i % 4; });
    for (sg::index_t const n : {1, 3, 8}) {
        merged_trial<float, std::int32_t> const trial(a, n, sg::layout::row_major);
        auto work = trial.choice();
        if (work.few) work.ahead = 3, work.segment = work.items * work.ahead;
        INFO(n << " columns, " << work.describe());
        CHECK(work.segments(40, a.view().nonzeros) > 2);
        CHECK(trial.wrong(work, 2, -1) == 0);
    }
}

// Shape and number of elements decide, because no row is read.
TEST_CASE("csr merged: where the rows may differ") {
    CHECK(sg::csr_merges(262144, 262144, 3431127));
    CHECK(sg::csr_merges(65536, 1 << 20, 2097136));
    CHECK(!sg::csr_merges(2048, 2048, 419840));  // a layer that keeps a tenth
    CHECK(!sg::csr_merges(1024, 4096, 1048576)); // a quarter
    CHECK(!sg::csr_merges(0, 9, 0));

    under_test const device;
    using space = under_test::space;
    sg::index_t const m = 262144;
    sg::csr<float, std::int32_t, space> a{m, m};
    a.nonzeros = 13 * m;
    sg::view<float const, space> const b{{}, m, 32, 32, 1};
    sg::view<float, space> const c{{}, m, 32, 32, 1};
    sg::plan const plan(device, sg::product(a, b, c).shape());
    INFO(plan.describe());
    CHECK(plan.describe().find("divided by elements and rows together") != std::string::npos);
    CHECK(plan.estimate() > 6e-6);
    auto need = plan.workspace();
    CHECK(space::share(need) > 0);

    // The maker of the rows says that they are alike.
    a.longest = 40;
    sg::plan const of_rows(device, sg::product(a, b, c).shape());
    INFO(of_rows.describe());
    CHECK(of_rows.describe().find("no row is long enough to wait for (40 elements") != std::string::npos);
    need = of_rows.workspace();
    CHECK(space::share(need) == 0);
}
