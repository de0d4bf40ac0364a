// Sums of matrices as operands, and results that go to several places, on a device and against the oracle: each number
// of terms and targets, terms that lie alike and terms that do not, poison in what may not be read and guards around
// all buffers.
#include "suite.hpp"

#include <deque>
#include <memory>

using namespace trials;

namespace {

using space = under_test::space;

// A matrix on the host, and on the device the same elements with the same poison between them, and more around them.
template <class T>
class twin {
public:
    placed<T> host;

    twin(under_test const& device, form const& f, index_t rows, index_t cols)
        : host(f, rows, cols, 1, 0, false), device_(device) {}

    template <class F>
    void fill(F const& value) {
        host.each([&](T& x, index_t, index_t, index_t) { x = value(); });
    }
    void upload() {
        before_.assign(margin, poison<T>());
        before_.insert(before_.end(), host.bytes().begin(), host.bytes().end());
        before_.insert(before_.end(), margin, poison<T>());
        sg::footprint bytes;
        space::share(bytes) = before_.size() * sizeof(T);
        auto arena = device_.reserve(bytes);
        arena.or_throw();
        arena_ = std::move(*arena);
        data_ = arena_.template take<T>(count());
        device_.leaf().upload(before_.data(), data_, count()).or_throw();
        is_result_.assign(before_.size(), false);
    }
    // Elements of a result may change: that is noted here.
    void is_result(index_t i, index_t j) { is_result_[at(i, j)] = true; }
    sg::view<T, space> view() const {
        auto const v = host.view();
        return {data_ + (margin + offset()), v.rows, v.cols, v.row_stride, v.col_stride};
    }
    // What the device holds afterwards; whether it changed nothing but the results.
    bool download() {
        after_ = before_;
        device_.leaf().download(data_, after_.data(), count()).or_throw();
        for (std::size_t x = 0; x < after_.size(); ++x)
            if (!is_result_[x] && std::memcmp(&after_[x], &before_[x], sizeof(T)) != 0) return false;
        return true;
    }
    T const& after(index_t i, index_t j) const { return after_[at(i, j)]; }

private:
    static constexpr index_t margin = 64;

    index_t count() const { return static_cast<index_t>(before_.size()); }
    index_t offset() const { return host.view().data - host.bytes().data(); }
    std::size_t at(index_t i, index_t j) const {
        return static_cast<std::size_t>(margin + (&host(0, i, j) - host.bytes().data()));
    }

    under_test device_;
    typename under_test::arena arena_;
    typename space::template handle<T> data_{};
    std::vector<T> before_, after_;
    std::vector<bool> is_result_;
};

// A block of a matrix, as the term of a sum or as what a target adds.
template <class T>
struct block_of {
    twin<T>* whole;
    index_t i, j, rows, cols;
    T factor{1};
    bool conjugate = false;

    auto view() const { return whole->view().block(i, j, rows, cols); }
    sg::view<T const, space> term() const {
        sg::view<T const, space> v = view();
        v.scale = factor, v.conjugate = conjugate;
        return v;
    }
    number<wide_t<T>> operator()(index_t r, index_t c) const {
        auto const x = widen<wide_t<T>>(whole->host(0, i + r, j + c));
        return widen<wide_t<T>>(factor) * (conjugate ? x.conjugated() : x);
    }
};

// How the matrices of a sum, or of a result, lie: quarters of one, each in a buffer of its own with the same strides, or
// each as it likes.
enum class lie { quarters, alike, apart };

struct combined_trial {
    index_t m, n, k;
    int a_terms, b_terms, targets; // no targets: the result is a matrix
    lie how;
    values data;
    bool plain = false; // row-major and without gaps, which kernels read by vectors
    int seed;
};

template <class T>
class combined {
    using W = wide_t<T>;
    using N = number<W>;
    using sum = sg::sum_of<sg::view<T const, space>, 4>;
    using result = sg::spread<sg::view<T, space>, 4>;

public:
    explicit combined(combined_trial const& t) : what_(t), from_(static_cast<std::uint64_t>(t.seed)) {
        a_ = blocks(t.m, t.k, t.a_terms), b_ = blocks(t.k, t.n, t.b_terms);
        for (auto* list : {&a_, &b_})
            for (auto& x : *list) {
                x.factor = draw_factor(), x.conjugate = from_.below(3) == 0;
            }
        for (auto& x : matrices_) x.fill([&] { return draw(); });
        alpha_ = draw_factor();
        c_ = blocks(t.m, t.n, t.targets ? t.targets : 1);
        // Each target adds nothing, itself, or another matrix; at least one adds nothing to poison.
        for (std::size_t x = 0; x < c_.size(); ++x) {
            int const adds = x == 0 ? from_.below(2) : from_.below(3);
            c_[x].factor = draw_factor();
            keep_.push_back(adds == 0 ? T(0) : draw_factor());
            if (adds == 2) {
                auto& apart = matrices_.emplace_back(device_, draw_form(from_), t.m, t.n);
                apart.fill([&] { return draw(); });
                added_.push_back({&apart, 0, 0, t.m, t.n, T(1), false});
            } else {
                if (adds == 1)
                    for (index_t i = 0; i < t.m; ++i)
                        for (index_t j = 0; j < t.n; ++j)
                            c_[x].whole->host(0, c_[x].i + i, c_[x].j + j) = draw();
                added_.push_back(c_[x]), added_.back().factor = T(1);
            }
            added_.back().conjugate = from_.below(3) == 0;
        }
        solve();
    }

    template <class Policy>
    std::string try_on(Policy const& policy) {
        for (auto& x : matrices_) x.upload();
        for (auto const& c : c_)
            for (index_t i = 0; i < what_.m; ++i)
                for (index_t j = 0; j < what_.n; ++j) c.whole->is_result(c.i + i, c.j + j);
        if (what_.targets > 0) {
            result to;
            for (std::size_t x = 0; x < c_.size(); ++x) {
                auto from = added_[x].term();
                if (keep_[x] == T(0)) from = {};
                to.add(c_[x].view(), c_[x].factor, keep_[x], from);
            }
            if (what_.seed % 4 == 1 && a_.size() == 1) return judge(policy, a_[0].term(), sum_of(b_), to);
            if (what_.seed % 4 == 1 && b_.size() == 1) return judge(policy, sum_of(a_), b_[0].term(), to);
            return judge(policy, sum_of(a_), sum_of(b_), to);
        }
        return judge(policy, sum_of(a_), sum_of(b_), c_[0].view());
    }

    static constexpr bool is_taken = sg::takes<under_test, sg::problem<sum, sum, result>> &&
                                     sg::takes<under_test, sg::problem<sum, sum, sg::view<T, space>>>;

private:
    // Factors are such that sums of integers stay exact.
    T draw_factor() {
        double const some[] = {1, -1, 1, -1, 2, -0.5};
        if (what_.data != values::integers && from_.below(4) == 0) return make<T>(0.7, -0.3);
        double const x = some[from_.below(6)];
        return from_.below(5) == 0 ? make<T>(sg::complex_like<T> ? 0 : x, x) : make<T>(x);
    }
    T draw() { return draw_value<T, false>(from_, what_.data); }

    std::vector<block_of<T>> blocks(index_t rows, index_t cols, int count) {
        std::vector<block_of<T>> list;
        form f = what_.plain ? form{} : draw_form(from_);
        if (what_.how == lie::quarters) {
            // Quarters that run backwards are taken to overlap, which targets may not.
            if (rows == what_.m && cols == what_.n) f.rows_back = f.cols_back = false;
            auto& whole = matrices_.emplace_back(device_, f, 2 * rows, 2 * cols);
            for (int x = 0; x < count; ++x)
                list.push_back({&whole, x / 2 * rows, x % 2 * cols, rows, cols, T(1), false});
            return list;
        }
        for (int x = 0; x < count; ++x) {
            if (what_.how == lie::apart) f = draw_form(from_);
            list.push_back({&matrices_.emplace_back(device_, f, rows, cols), 0, 0, rows, cols, T(1), false});
        }
        return list;
    }
    static sum sum_of(std::vector<block_of<T>> const& list) {
        sum x;
        for (auto const& one : list) x.term[x.terms++] = one.term();
        x.rows = list[0].rows, x.cols = list[0].cols;
        return x;
    }

    // The sum and the sum of the magnitudes.
    struct sized {
        N value{};
        double size = 0;
    };
    static sized total(std::vector<block_of<T>> const& list, index_t i, index_t j) {
        sized x;
        for (auto const& one : list) {
            N const y = one(i, j);
            x.value = x.value + y, x.size += size_of(y);
        }
        return x;
    }
    void solve() {
        auto const K = static_cast<std::size_t>(what_.k);
        std::vector<sized> a, b;
        for (index_t i = 0; i < what_.m; ++i)
            for (index_t l = 0; l < what_.k; ++l) a.push_back(total(a_, i, l));
        for (index_t j = 0; j < what_.n; ++j)
            for (index_t l = 0; l < what_.k; ++l) b.push_back(total(b_, l, j));
        for (std::size_t i = 0; i < a.size(); i += K)
            for (std::size_t j = 0; j < b.size(); j += K) {
                sized x;
                for (std::size_t l = 0; l < K; ++l) {
                    x.value = x.value + a[i + l].value * b[j + l].value;
                    x.size += a[i + l].size * b[j + l].size;
                }
                x.value = widen<W>(alpha_) * x.value, x.size *= size_of(widen<W>(alpha_));
                product_.push_back(x);
            }
    }

    template <class Policy, class A, class B, class C>
    std::string judge(Policy const& policy, A const& a, B const& b, C const& c) {
        constexpr bool spreads = std::is_same_v<C, result>;
        auto const p = [&] {
            if constexpr (spreads)
                return sg::product(alpha_, a, b, T(0), c);
            else // a result that is a matrix has an epilogue
                return sg::product(alpha_, a, b, keep_[0], added_[0].term(), c, sg::scale(T(2)));
        }();
        sg::status const ran = sg::run(policy, p);
        std::ostringstream wrong;
        if (!ran) wrong << "  failed: " << ran.error().what() << '\n';
        for (auto& x : matrices_)
            if (!x.download()) wrong << "  something beside the results was written to\n";
        double const bound = policy.error_bound(p.shape()).worst;
        for (std::size_t x = 0; ran && x < c_.size(); ++x) wrong << judge_target(x, bound, spreads ? 1 : 2);
        return wrong.str();
    }
    std::string judge_target(std::size_t x, double bound, int twice) const {
        N const factor = twice == 2 ? N{1, 0} : widen<W>(c_[x].factor), keep = widen<W>(keep_[x]);
        std::size_t cell = 0;
        for (index_t i = 0; i < what_.m; ++i)
            for (index_t j = 0; j < what_.n; ++j, ++cell) {
                sized want{factor * product_[cell].value, size_of(factor) * product_[cell].size};
                if (keep_[x] != T(0)) {
                    N const y = keep * added_[x](i, j);
                    want.value = want.value + y, want.size += size_of(y);
                }
                N const e{want.value.re * twice, want.value.im * twice},
                    got = widen<W>(c_[x].whole->after(c_[x].i + i, c_[x].j + j)),
                    off{got.re - e.re, got.im - e.im};
                double const allowed = what_.data == values::integers ? 0 : twice * bound * want.size;
                if (!(size_of(off) <= allowed)) {
                    std::ostringstream s;
                    s << "  target " << x << ", (" << i << ", " << j << ") is " << double(got.re) << " + "
                      << double(got.im) << "i, should be " << double(e.re) << " + " << double(e.im)
                      << "i: allowed " << allowed << '\n';
                    return s.str();
                }
            }
        return "";
    }

    combined_trial what_;
    random_source from_;
    under_test device_;
    std::deque<twin<T>> matrices_;
    std::vector<block_of<T>> a_, b_, c_, added_;
    std::vector<T> keep_;
    T alpha_;
    std::vector<sized> product_;
};

std::string describe(combined_trial const& t) {
    char const* const ways[] = {"quarters of one", "alike", "apart"};
    std::ostringstream s;
    s << t.m << " x " << t.n << " x " << t.k << ", sums of " << t.a_terms << " and " << t.b_terms << ", "
      << t.targets << " targets, " << ways[static_cast<int>(t.how)] << (t.plain ? ", plain" : "") << ", seed "
      << t.seed;
    return s.str();
}

// Odd sizes first; then those that tiles divide, and larger ones.
constexpr index_t sides[][3] = {{1, 1, 1},   {3, 5, 7},    {13, 17, 9},  {33, 29, 21},  {17, 50, 131},
                                {70, 3, 65}, {2, 61, 200}, {32, 48, 64}, {64, 32, 128}, {130, 133, 101}};

template <class T>
void sums_and_spreads(int rounds) {
    if constexpr (combined<T>::is_taken) {
        if (!chosen_policies().takes(under_test_name)) return;
        int failed = 0, seed = 0;
        for (int round = 0; round < rounds; ++round)
            for (auto const& s : sides) {
                ++seed;
                bool const large = s[0] * s[1] * s[2] > 1000000;
                if (large && round > 0) continue;
                // Every number of terms and of targets meets every way to lie; each fifth result is a matrix.
                combined_trial t{s[0],
                                 s[1],
                                 s[2],
                                 1 + seed % 4,
                                 1 + (seed + seed / 4) % 4,
                                 seed % 5,
                                 static_cast<lie>(seed % 3),
                                 seed % 2 ? values::integers : values::random,
                                 large || seed % 6 == 0,
                                 seed};
                combined<T> x(t);
                auto const note = [&](char const* name, std::string const& wrong) {
                    if (wrong.empty()) return;
                    FAIL_CHECK(name << ": " << describe(t) << '\n' << wrong);
                    if (++failed == 10) FAIL("ten failures are enough");
                };
                note(under_test_name, x.try_on(under_test{}));
                if (!large && (seed / 2 + round) % 2) note("with small tiles", x.try_on(with_small_tiles()));
            }
        CHECK(seed > 0);
    }
}

} // namespace

TEST_CASE("float: sums and spreads") { sums_and_spreads<float>(2); }
TEST_CASE("double: sums and spreads") { sums_and_spreads<double>(1); }
TEST_CASE("complex64: sums and spreads") { sums_and_spreads<std::complex<float>>(1); }
TEST_CASE("complex128: sums and spreads") { sums_and_spreads<std::complex<double>>(1); }
