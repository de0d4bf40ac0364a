// Sketches and Hadamard transforms on a CUDA device beside copies, for bench_approximate_cuda.
#include "approximate_cuda.hpp"

#include <stratagemm/structure/hadamard.hpp>
#include <stratagemm/structure/sketch.hpp>

namespace {

using reader = sg::view<float const, device_space>;
using writer = sg::view<float, device_space>;

sg::matrix<float> fetched(sg::cuda const& gpu, reader const& x) {
    sg::matrix<float> here(x.rows, x.cols);
    gpu.leaf().copy_async(x, sg::as_view(here)).or_throw();
    gpu.synchronize().or_throw();
    return here;
}

// Sums of squares of the error and of what is right.
struct squares {
    double off = 0, all = 0;

    void add(double right, double given) { off += (given - right) * (given - right), all += right * right; }
    double error() const { return std::sqrt(off / all); }
};

// H x, in double.
void transform(std::vector<double>& x) {
    for (std::size_t half = 1; half < x.size(); half *= 2)
        for (std::size_t i = 0; i < x.size(); ++i)
            if (!(i & half)) {
                double const low = x[i], high = x[i + half];
                x[i] = low + high, x[i + half] = low - high;
            }
}
// The error of some transforms, whose elements are columns of x and whose results are columns of y.
double error_of_transforms(sg::cuda const& gpu, reader const& x, reader const& y) {
    squares sum;
    for (index_t const j : {index_t{0}, x.cols / 3, x.cols - 1}) {
        auto const from = fetched(gpu, x.block(0, j, x.rows, 1)), to = fetched(gpu, y.block(0, j, x.rows, 1));
        std::vector<double> right(from.data(), from.data() + x.rows);
        transform(right);
        for (index_t i = 0; i < x.rows; ++i) sum.add(right[std::size_t(i)], double(to(i, 0)));
    }
    return sum.error();
}

entry copy_of(cuda_desk const& desk, there<float> const& x, there<float>& y) {
    double const bytes = double(x.size()) * sizeof(float);
    entry copy{"copy", [&desk, &x, &y, bytes] {
                   must(desk.copy(address(y), address(x), std::size_t(bytes), desk.gpu.stream),
                        "cuMemcpyDtoDAsync");
               }};
    copy.bytes = 2 * bytes;
    return copy;
}
// Calls once and sees the error; what is refused has a row without times.
template <class Make, class See>
void add(cuda_desk const& desk, std::vector<entry>& rows, std::string name, double bytes,
         writer const& result, Make const& make, See const& see) {
    entry x{std::move(name)};
    x.bytes = bytes;
    desk.gpu.leaf().fill(result, NAN).or_throw();
    try {
        x.call = make();
        x.call();
        desk.gpu.synchronize().or_throw();
        x.error = see();
    } catch (std::exception const& e) {
        x.call = nullptr, x.refusal = e.what();
    }
    rows.push_back(std::move(x));
}

// S X or X S^T for one X.
class sketch_race {
public:
    sketch_race(cuda_desk const& desk, index_t n, bool from_left)
        : desk_(desk), n_(n), from_left_(from_left), here_(uniform(n, n, 1)), x_(desk.gpu, here_),
          y_(desk.gpu, n, n) {}

    void run(index_t rows_of_sketch) {
        rows_.clear();
        z_ = from_left_ ? there<float>(desk_.gpu, rows_of_sketch, n_)
                        : there<float>(desk_.gpu, n_, rows_of_sketch);
        rows_.push_back(copy_of(desk_, x_, y_));
        add_hadamard();
        std::size_t const srht = 2;
        add_sketch("srht", sg::srht<float>(rows_of_sketch, n_, 1));
        add_signs("count_sketch", sg::count_sketch<float>(rows_of_sketch, n_, 1));
        add_signs("sparse_sign, 8 in a column", sg::sparse_sign<float>(rows_of_sketch, n_, 1, 8));
        add_sketch("gaussian", sg::gaussian<float>(rows_of_sketch, n_, 1));
        std::printf("\n== sketches of %td rows %s %td x %td floats, row by row in memory\n", rows_of_sketch,
                    from_left_ ? "times" : "transposed, from the right: of", n_, n_);
        if (desk_.can_time()) event_race(desk_).run(rows_);
        print_table(rows_, {0});
        auto const &copy = rows_[0].seconds, &hadamard = rows_[1].seconds, &own = rows_[srht].seconds;
        if (own.empty() || hadamard.empty()) return;
        std::printf("srht over hadamard and copy: %.3f\n", median_of_rounds(own.size(), [&](std::size_t r) {
                        return own[r] / (hadamard[r] + copy[r]);
                    }));
    }

private:
    double bytes_of(there<float> const& result) const {
        return double(x_.size() + result.size()) * sizeof(float);
    }
    void add_hadamard() {
        auto const h = sg::hadamard<float>(n_);
        auto const x = x_.view();
        auto const y = y_.view();
        add(
            desk_, rows_, "hadamard", bytes_of(y_), y,
            [&] {
                return from_left_ ? planned(desk_.gpu, sg::product(h, x, y))
                                  : planned(desk_.gpu, sg::product(x, h, y));
            },
            [&] {
                return from_left_ ? error_of_transforms(desk_.gpu, x, y)
                                  : error_of_transforms(desk_.gpu, x.transposed(), reader(y).transposed());
            });
    }
    template <class S>
    void add_sketch(char const* name, S const& s) {
        add(
            desk_, rows_, name, bytes_of(z_), z_.view(),
            [&] {
                return from_left_ ? planned(desk_.gpu, sg::product(s, std::as_const(x_), z_))
                                  : planned(desk_.gpu, sg::product(std::as_const(x_), s.transposed(), z_));
            },
            [&] { return error(s); });
    }
    // Listed in each call, and once.
    template <class S>
    void add_signs(char const* name, S const& s) {
        add_sketch(name, s);
        add(
            desk_, rows_, std::string(name) + ", kept", bytes_of(z_), z_.view(),
            [&]() -> std::function<void()> {
                auto const run = [&](auto const& list, auto const& p) {
                    return [list, call = planned(desk_.gpu, p)] { call(); };
                };
                if (from_left_) {
                    auto const list = sg::keep_left(desk_.gpu, s);
                    return run(list, sg::product(list, std::as_const(x_), z_));
                }
                auto const list = sg::keep(desk_.gpu, s.transposed());
                return run(list, sg::product(std::as_const(x_), list, z_));
            },
            [&] { return error(s); });
    }
    // The error of some rows of the sketch, against sums in double of elements that the host draws.
    template <class S>
    double error(S const& s) const {
        squares sum;
        reader const z = from_left_ ? z_.view() : z_.view().transposed();
        for (index_t const i : {index_t{0}, s.rows / 3, s.rows - 1}) {
            std::vector<double> right(std::size_t(n_), 0);
            for (index_t l = 0; l < n_; ++l) {
                double const element = double(s.element(i, l));
                if (element == 0) continue;
                for (index_t j = 0; j < n_; ++j)
                    right[std::size_t(j)] += element * double(from_left_ ? here_(l, j) : here_(j, l));
            }
            auto const given = fetched(desk_.gpu, z.block(i, 0, 1, n_));
            for (index_t j = 0; j < n_; ++j) sum.add(right[std::size_t(j)], double(given(0, j)));
        }
        return sum.error();
    }

    cuda_desk const& desk_;
    index_t n_;
    bool from_left_;
    sg::matrix<float> here_;
    there<float> x_, y_, z_{};
    std::vector<entry> rows_{};
};

} // namespace

void race_sketches(cuda_desk const& desk) {
    index_t const n = 8192 / desk.divisor;
    for (bool const from_left : {true, false}) {
        sketch_race race(desk, n, from_left);
        for (index_t const rows : {n / 16, n / 8}) race.run(rows);
    }
}

void race_hadamard(cuda_desk const& desk) {
    index_t const size = (index_t{1} << 26) / desk.divisor / desk.divisor;
    there<float> const x(desk.gpu, uniform(1, size, 1));
    there<float> y(desk.gpu, 1, size);
    for (bool const along : {true, false}) {
        std::vector<entry> rows{copy_of(desk, x, y)};
        for (index_t points = 64; points <= 32768 && points <= size; points *= 2) {
            index_t const count = size / points, step = along ? 1 : count, next = along ? points : 1;
            reader const from{x.data(), points, count, step, next};
            writer const to{y.data(), points, count, step, next};
            add(
                desk, rows, std::to_string(points) + " points", rows[0].bytes, to,
                [&] { return planned(desk.gpu, sg::product(sg::hadamard<float>(points), from, to)); },
                [&] { return error_of_transforms(desk.gpu, from, to); });
        }
        std::printf("\n== Hadamard transforms of %td floats in all: the elements of a transform lie %s\n",
                    size, along ? "side by side" : "apart, and the transforms side by side");
        if (desk.can_time()) event_race(desk).run(rows);
        print_table(rows, {0});
    }
}
