// bench_fft_toeplitz [N [COLUMNS...]]: an N x N Toeplitz matrix of float, 8192 unless told otherwise, times 1, 64 and N
// columns that lie one after another on a CUDA device: directly and by transforms with the spectrum kept, beside
//   cuFFT    a pipeline of calls: columns are copied in front of zeros, cufftExecR2C, a kernel that multiplies by the
//            spectrum, cufftExecC2R, and the wanted rows are copied
//   cuBLAS   cublasSgemm, or cublasSgemv of one column, with the matrix in memory
// The first line of a case is microseconds of a call in a captured graph, the second of calls queued back to back; in
// parentheses stands how many times as fast the better of the two ways of the library is. Operands do not rotate: those
// of few columns stay in the second-level cache. "off" is the largest error over the largest element of C.
#include "sparse.hpp"

#include <stratagemm/structure/toeplitz.hpp>

#include <cstring>
#include <memory>

namespace {

template <class T>
using there = sg::cuda::matrix<T>;

struct cufft {
    void* library = open_any({"libcufft.so.12", "libcufft.so.11", "/usr/local/cuda/lib64/libcufft.so"});
    int (*create)(int*) = get<decltype(create)>(library, "cufftCreate");
    int (*make)(int, int, long long*, long long*, long long, long long, long long*, long long, long long, int,
                long long, std::size_t*) = get<decltype(make)>(library, "cufftMakePlanMany64");
    int (*set_stream)(int, void*) = get<decltype(set_stream)>(library, "cufftSetStream");
    int (*r2c)(int, void*, void*) = get<decltype(r2c)>(library, "cufftExecR2C");
    int (*c2r)(int, void*, void*) = get<decltype(c2r)>(library, "cufftExecC2R");
    int (*destroy)(int) = get<decltype(destroy)>(library, "cufftDestroy");
    bool is_here() const {
        int plan = 0;
        return create && make && set_stream && r2c && c2r && destroy && create(&plan) == 0 &&
               destroy(plan) == 0;
    }
};

constexpr char multiply_text[] = R"(
KERNEL(ITEMS) times_spectrum(BUFFER(float const, spectrum), BUFFER(float, y), int frequencies, index all) {
    OPEN(float const, spectrum);
    OPEN(float, y);
    for (EACH(at, all)) {
        VECTOR(float, 2) const h = LOAD_VECTOR(float, 2, spectrum, 2 * ((uint)at % (uint)frequencies));
        VECTOR(float, 2) x = LOAD_VECTOR(float, 2, y, 2 * at);
        float const re = h.x * x.x - h.y * x.y;
        x.y = h.x * x.y + h.y * x.x, x.x = re;
        STORE_VECTOR(float, 2, y, 2 * at, x);
    }
}
)";

void* address(there<float>& x) { return x.data().address; }

// What a program does that has cuFFT.
class pipeline {
public:
    pipeline(sg::cuda const& gpu, cufft const& f, index_t n, index_t columns,
             std::vector<float> const& diagonals)
        : gpu_(gpu), f_(f), n_(n), period_(2 * n), columns_(columns),
          padded_(gpu, period_, columns, by_columns), spectra_(gpu, 2 * (n + 1), columns, by_columns),
          results_(gpu, period_, columns, by_columns), spectrum_(gpu, 2 * (n + 1), 1, by_columns) {
        sg::matrix<float> circle(period_, 1);
        for (index_t i = 0; i < n; ++i) circle(i, 0) = diagonals[std::size_t(n - 1 - i)] / float(period_);
        for (index_t j = 1; j < n; ++j)
            circle(period_ - j, 0) = diagonals[std::size_t(n - 1 + j)] / float(period_);
        there<float> there_circle(gpu, circle);
        forward_ = plan(1, 0x2a);
        check(f_.r2c(forward_, address(there_circle), address(spectrum_)), "cufftExecR2C");
        gpu_.synchronize().or_throw();
        f_.destroy(forward_);
        forward_ = plan(columns, 0x2a), back_ = plan(columns, 0x2c);
        gpu_.leaf().fill(padded_.view(), 0.0f).or_throw();
    }
    ~pipeline() { f_.destroy(forward_), f_.destroy(back_); }
    pipeline(pipeline const&) = delete;
    pipeline& operator=(pipeline const&) = delete;

    void run(there<float>& x, there<float>& c) {
        copy(x, n_, padded_, period_);
        check(f_.r2c(forward_, address(padded_), address(spectra_)), "cufftExecR2C");
        index_t const all = (n_ + 1) * columns_;
        sg::device_kernel const kernel{
            "times_spectrum", multiply_text, {}, 256, false, false, sg::kernel_types<float, float>};
        gpu_.leaf()
            .launch(kernel, sg::groups_for_each(all, 256), sg::cuda_pointer<float const>(spectrum_.data()),
                    spectra_.data(), int(n_ + 1), all)
            .or_throw();
        check(f_.c2r(back_, address(spectra_), address(results_)), "cufftExecC2R");
        copy(results_, period_, c, n_);
    }

private:
    static constexpr auto by_columns = sg::layout::col_major;

    int plan(index_t count, int type) const {
        int made = 0;
        std::size_t bytes = 0;
        long long real = period_, half = n_ + 1;
        check(f_.create(&made), "cufftCreate");
        long long const in = type == 0x2a ? real : half, out = type == 0x2a ? half : real;
        long long in_side = in, out_side = out;
        check(f_.make(made, 1, &real, &in_side, 1, in, &out_side, 1, out, type, count, &bytes),
              "cufftMakePlanMany64");
        check(f_.set_stream(made, gpu_.stream), "cufftSetStream");
        return made;
    }
    // The first n rows.
    void copy(there<float>& from, index_t from_side, there<float>& to, index_t to_side) const {
        CUDA_MEMCPY2D all{};
        all.srcMemoryType = all.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        all.srcDevice = reinterpret_cast<CUdeviceptr>(address(from));
        all.dstDevice = reinterpret_cast<CUdeviceptr>(address(to));
        all.srcPitch = std::size_t(from_side) * sizeof(float),
        all.dstPitch = std::size_t(to_side) * sizeof(float);
        all.WidthInBytes = std::size_t(n_) * sizeof(float), all.Height = std::size_t(columns_);
        check(copy_(&all, gpu_.stream), "cuMemcpy2DAsync");
    }

    sg::cuda const& gpu_;
    cufft const& f_;
    index_t n_, period_, columns_;
    there<float> padded_, spectra_, results_, spectrum_;
    int forward_ = 0, back_ = 0;
    int (*copy_)(CUDA_MEMCPY2D const*, CUstream) = get<decltype(copy_)>(open_any({"libcuda.so.1"}),
                                                                        "cuMemcpy2DAsync_v2");
};

// Some columns of C against sums in double.
double error(there<float> const& there_c, std::vector<float> const& diagonals, sg::matrix<float> const& x) {
    index_t const n = x.rows();
    sg::matrix<float> c(n, x.cols(), sg::layout::col_major);
    there_c.download(c);
    double most = 0, worst = 0;
    for (index_t const j : {index_t{0}, x.cols() / 2, x.cols() - 1})
        for (index_t i = 0; i < n; i += n < 4096 ? 1 : 7) {
            double sum = 0;
            for (index_t k = 0; k < n; ++k)
                sum += double(diagonals[std::size_t(n - 1 + k - i)]) * double(x(k, j));
            most = std::max(most, std::fabs(sum)), worst = std::max(worst, std::fabs(sum - double(c(i, j))));
        }
    return worst / most;
}

class one_case {
public:
    one_case(sg::cuda const& gpu, cublas const& blas, index_t n, index_t columns)
        : gpu_(gpu), blas_(blas), n_(n), columns_(columns), diagonals_(std::size_t(2 * n - 1)),
          x_(n, columns, by_columns), there_x_(gpu, n, columns, by_columns), c_(gpu, n, columns, by_columns),
          there_d_(gpu, 1, 2 * n - 1) {
        std::mt19937 random(7);
        for (float& d : diagonals_) d = static_cast<float>(random()) * 0x1p-31f - 1;
        for (index_t j = 0; j < columns; ++j)
            for (index_t i = 0; i < n; ++i) x_(i, j) = static_cast<float>(random()) * 0x1p-31f - 1;
        there_x_.upload(x_);
        there_d_.upload(sg::row_major(diagonals_, 1, 2 * n - 1));
    }
    void run(race const& by, cufft const& f, bool can_time) {
        auto const a = sg::toeplitz(there_d_, n_, n_);
        auto const kept = sg::keep_left(gpu_, a.by_transforms());
        auto const add = [&](char const* name, auto const& p) {
            using plan_type = decltype(sg::plan(gpu_, p.shape()));
            auto const plan = std::make_shared<plan_type const>(gpu_, p.shape());
            auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
            std::printf("%s: %s\n", name, plan->describe().c_str());
            add_way(name, [p, plan, memory](int) { plan->run(p, *memory); });
        };
        add("direct", sg::product(a, std::as_const(there_x_), c_));
        add("transforms", sg::product(kept, std::as_const(there_x_), c_));
        std::unique_ptr<pipeline> calls;
        if (f.is_here()) {
            calls = std::make_unique<pipeline>(gpu_, f, n_, columns_, diagonals_);
            add_way("cuFFT", [&](int) { calls->run(there_x_, c_); });
        }
        there<float> dense(gpu_, n_, n_, by_columns);
        if (blas_.handle) {
            sg::matrix<float> const all(
                n_, n_, [&](index_t i, index_t j) { return diagonals_[std::size_t(n_ - 1 + j - i)]; },
                by_columns);
            dense.upload(all);
            add_way("cuBLAS", [&](int) { multiply(dense); });
        }
        if (!can_time) return; // in the stand-in of tests/stand_in, which has no graphs
        by.run(ways_, 1, 11);
        print("graph", [](way const& w) { return median(w.seconds); });
        print("queued", [](way const& w) { return median(w.queued); });
    }

private:
    static constexpr auto by_columns = sg::layout::col_major;

    // With its error.
    template <class Call>
    void add_way(char const* name, Call const& call) {
        gpu_.leaf().fill(c_.view(), NAN).or_throw();
        call(0);
        gpu_.synchronize().or_throw();
        std::printf("%s: off %.1e\n", name, error(c_, diagonals_, x_));
        ways_.push_back({name, call});
    }
    void multiply(there<float>& dense) {
        float const one = 1, zero = 0;
        int const n = static_cast<int>(n_), columns = static_cast<int>(columns_);
        auto const at = [](there<float>& x) { return static_cast<float*>(address(x)); };
        check(columns == 1
                  ? blas_.gemv(blas_.handle, 0, n, n, &one, at(dense), n, at(there_x_), 1, &zero, at(c_), 1)
                  : blas_.gemm(blas_.handle, 0, 0, n, columns, n, &one, at(dense), 0, n, at(there_x_), 0, n,
                               &zero, at(c_), 0, n, 68, -1), // CUDA_R_32F, CUBLAS_COMPUTE_32F
              "cuBLAS");
    }
    template <class Time>
    void print(char const* how, Time const& time) const {
        double const best = std::min(time(ways_[0]), time(ways_[1]));
        std::printf("%td x %td times %td columns, %s:", n_, n_, columns_, how);
        for (way const& w : ways_)
            std::printf("  %s %.2f us (%.2f)", w.name.c_str(), time(w) * 1e6, time(w) / best);
        std::printf("\n");
        std::fflush(stdout);
    }

    sg::cuda const& gpu_;
    cublas const& blas_;
    index_t n_, columns_;
    std::vector<float> diagonals_;
    sg::matrix<float> x_;
    there<float> there_x_, c_, there_d_;
    std::vector<way> ways_;
};

} // namespace

int main(int argc, char** argv) {
    index_t const n = argc > 1 ? std::atol(argv[1]) : 8192;
    std::vector<index_t> columns{1, 64, n};
    if (argc > 2) columns.clear();
    for (int i = 2; i < argc; ++i) columns.push_back(std::atol(argv[i]));
    sg::cuda gpu;
    if (sg::status s = gpu.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    auto const in = sg::cuda_session::of(0).enter();
    graphs const g;
    graphs::stream stream = nullptr;
    check(g.create(&stream, 1), "to create a stream");
    gpu.stream = static_cast<CUstream>(stream);
    std::printf("%s, driver for CUDA %d\n", gpu.where().name.c_str(), gpu.where().driver);
    cublas blas;
    if (!blas.gemm || !blas.gemv || blas.create(&blas.handle) != 0 ||
        blas.set_stream(blas.handle, stream) != 0)
        blas.handle = nullptr;
    cufft const f;
    race const by(g, stream);
    for (index_t const some : columns) one_case(gpu, blas, n, some).run(by, f, g.begin != nullptr);
    return 0;
}
