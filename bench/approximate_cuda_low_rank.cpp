// Factors of low rank on a CUDA device, for bench_approximate_cuda.
#include "approximate_cuda.hpp"

#include <stratagemm/structure/low_rank.hpp>

namespace {

// The randomised SVD of cuSOLVER.
struct cusolver {
    void* library =
        open_any({"libcusolver.so.12", "libcusolver.so.11", "/usr/local/cuda/lib64/libcusolver.so"});
    int (*create)(void**) = get<decltype(create)>(library, "cusolverDnCreate");
    int (*set_stream)(void*, void*) = get<decltype(set_stream)>(library, "cusolverDnSetStream");
    int (*create_params)(void**) = get<decltype(create_params)>(library, "cusolverDnCreateParams");
    using number = std::int64_t;
    int (*room)(void*, void*, signed char, signed char, number, number, number, number, number, int,
                void const*, number, int, void const*, int, void const*, number, int, void const*, number,
                int, std::size_t*,
                std::size_t*) = get<decltype(room)>(library, "cusolverDnXgesvdr_bufferSize");
    int (*run)(void*, void*, signed char, signed char, number, number, number, number, number, int, void*,
               number, int, void*, int, void*, number, int, void*, number, int, void*, std::size_t, void*,
               std::size_t, int*) = get<decltype(run)>(library, "cusolverDnXgesvdr");
    void *handle = nullptr, *params = nullptr;

    bool open(graphs::stream stream) {
        return create && set_stream && create_params && room && run && create(&handle) == 0 &&
               set_stream(handle, stream) == 0 && create_params(&params) == 0;
    }
};

// Its calls for one matrix. In its order of columns a matrix of rows is the transposed one: A^T = U S V^T, and V S times
// U^T is A. A call overwrites what it is given, and so it copies A first. U, S and V have memory for all singular
// values, as in NVIDIA's sample; the first `rank` of them are what is asked for.
class cusolver_svd {
public:
    // With so many steps of the power method, and as many spare columns as low_rank has.
    cusolver_svd(cuda_desk const& desk, cusolver const& s, there<float> const& a, index_t rank, index_t steps)
        : desk_(desk), s_(s), a_(a), n_(a.rows()), rank_(rank), steps_(steps), copy_(desk.gpu, n_, n_),
          s_values_(desk.gpu, n_, 1), u_(desk.gpu, n_, n_, by_columns), v_(desk.gpu, n_, n_, by_columns),
          info_(desk.gpu, 1, 1) {
        must(s_.room(s_.handle, s_.params, 'S', 'S', n_, n_, rank_, spare, steps_, 0, address(copy_), n_, 0,
                     address(s_values_), 0, address(u_), n_, 0, address(v_), n_, 0, &device_bytes_,
                     &host_bytes_),
             "cusolverDnXgesvdr_bufferSize");
        work_ = there<float>(desk.gpu, 1, static_cast<index_t>(device_bytes_ / sizeof(float)) + 1);
        host_work_.resize(host_bytes_ + 1);
    }

    void run() {
        must(desk_.copy(address(copy_), address(a_), std::size_t(n_ * n_) * sizeof(float), desk_.gpu.stream),
             "cuMemcpyDtoDAsync");
        must(s_.run(s_.handle, s_.params, 'S', 'S', n_, n_, rank_, spare, steps_, 0, address(copy_), n_, 0,
                    address(s_values_), 0, address(u_), n_, 0, address(v_), n_, 0, address(work_),
                    device_bytes_, host_work_.data(), host_bytes_, info_.data().address),
             "cusolverDnXgesvdr");
    }
    // V S, and U^T.
    there<double> left() const {
        sg::matrix<float> v(n_, n_, by_columns), s(n_, 1);
        v_.download(v), s_values_.download(s);
        sg::matrix<double> const wide(
            n_, rank_, [&](index_t i, index_t j) { return double(v(i, j)) * double(s(j, 0)); });
        return there<double>(desk_.gpu, wide);
    }
    there<double> right() const { return widened(desk_.gpu, u_.view().block(0, 0, n_, rank_).transposed()); }
    // A U, which is V S if these are what they should be.
    there<double> left_of_range() const {
        there<double> const a = widened(desk_.gpu, a_.view()), u_transposed = right();
        there<double> product(desk_.gpu, n_, rank_);
        sg::gemm(desk_.gpu, a, sg::transposed(u_transposed), product);
        return product;
    }
    int info() const {
        sg::matrix<std::int32_t> here(1, 1);
        info_.download(here);
        return here(0, 0);
    }

private:
    static constexpr auto by_columns = sg::layout::col_major;
    static constexpr index_t spare = 8;

    cuda_desk const& desk_;
    cusolver const& s_;
    there<float> const& a_;
    index_t n_, rank_, steps_;
    there<float> copy_, s_values_, u_, v_, work_{};
    there<std::int32_t> info_;
    std::size_t device_bytes_ = 0, host_bytes_ = 0;
    std::vector<char> host_work_{};
};

// X D Y, whose singular values fall by 10^6.6 within n / 16: not quite so many columns keep a certified 1e-5.
there<float> decaying(sg::cuda const& gpu, index_t n) {
    index_t const inner = n / 8;
    sg::matrix<float> x = uniform(n, inner, 1);
    sg::matrix<float> const y = uniform(inner, n, 2);
    for (index_t j = 0; j < inner; ++j) {
        auto const factor = static_cast<float>(std::pow(10, -106.0 * double(j) / double(n)));
        for (index_t i = 0; i < n; ++i) x(i, j) *= factor;
    }
    there<float> const there_x(gpu, x), there_y(gpu, y);
    there<float> a(gpu, n, n);
    sg::gemm(gpu, there_x, there_y, a);
    gpu.synchronize().or_throw();
    return a;
}

struct asked {
    char const* name;
    sg::low_rank_options options;
};
std::vector<asked> ways_to_ask(index_t rank) {
    using kind = sg::low_rank_sketch;
    std::vector<asked> all;
    for (double const tolerance : {1e-5, 0.0}) {
        auto const add = [&](char const* by_tolerance, char const* by_rank, kind k) {
            sg::low_rank_options o{.seed = 1, .sketch = k};
            if (tolerance > 0)
                o.tolerance = tolerance;
            else
                o.rank = rank;
            all.push_back({tolerance > 0 ? by_tolerance : by_rank, o});
        };
        add("low_rank, 1e-5", "low_rank, n / 16", kind::fastest);
        add("low_rank, 1e-5, gaussian", "low_rank, n / 16, gaussian", kind::gaussian);
        add("low_rank, 1e-5, sparse_sign", "low_rank, n / 16, sparse_sign", kind::signs);
        add("low_rank, 1e-5, srht", "low_rank, n / 16, srht", kind::srht);
    }
    all.push_back({"low_rank, n / 16 or 1e-5", {.tolerance = 1e-5, .rank = rank, .seed = 1}});
    return all;
}

template <class F>
std::string about(F const& factors) {
    auto const& r = factors.report();
    char text[120];
    std::snprintf(text, sizeof text, "rank %td, certified %.1e at %g%%", factors.rank(), r.bound.worst,
                  100 * r.bound.confidence);
    return text;
}

// |A - U V| / |A|
double error_of_factors(sg::cuda const& gpu, there<float> const& a, there<double> const& u,
                        there<double> const& v) {
    there<double> rest = widened(gpu, a.view());
    sg::gemm(gpu, -1.0, u, v, 1.0, rest);
    sg::matrix<double> here(a.rows(), a.cols());
    rest.download(here);
    double sum = 0;
    for (index_t i = 0; i < a.rows() * a.cols(); ++i) sum += here.data()[i] * here.data()[i];
    return std::sqrt(sum) / frobenius(a);
}

// The error of gesvdr for a matrix that suits it, X Y with singular values alike, and noise: it shows that the calls are
// right. Rows of tables are longer lines (docs/tables.sh).
void see_gesvdr_alone(cuda_desk const& desk, cusolver const& solver, index_t n) {
    float const noise = 1e-3f;
    there<float> const x(desk.gpu, uniform(n, n / 16, 4)), y(desk.gpu, uniform(n / 16, n, 5));
    there<float> a(desk.gpu, uniform(n, n, 6));
    double const part = noise * frobenius(a);
    sg::gemm(desk.gpu, 1.0f, x, y, noise, a);
    cusolver_svd svd(desk, solver, a, n / 16, 1);
    svd.run();
    std::printf("gesvdr beside noise of %.1e: an error of %.1e\n", part / frobenius(a),
                error_of_factors(desk.gpu, a, svd.left(), svd.right()));
}

class low_rank_race {
public:
    low_rank_race(cuda_desk const& desk, index_t n)
        : desk_(desk), n_(n), rank_(n / 16), a_(decaying(desk.gpu, n)) {}

    void products(event_race const& race) {
        there<float> const b(desk_.gpu, uniform(n_, n_, 3));
        product_rows rows(desk_, a_, b);
        for (asked const& x : ways_to_ask(rank_)) {
            std::string note;
            entry& made = rows.add(
                x.name,
                [&] {
                    note = about(sg::low_rank(desk_.gpu, a_, x.options));
                    return std::function<void()>([this, x, &b, &rows] {
                        sg::gemm(desk_.gpu, sg::low_rank(desk_.gpu, a_, x.options), b, rows.c);
                    });
                },
                false);
            made.note = note;
        }
        for (asked const& x : ways_to_ask(rank_)) {
            if (x.options.sketch != sg::low_rank_sketch::fastest) continue;
            std::string note;
            entry& made = rows.add(std::string(x.name) + ", kept", [&] {
                auto const f = sg::low_rank(desk_.gpu, a_, x.options);
                note = about(f);
                auto const run = planned(desk_.gpu, sg::product(f, b, rows.c));
                return std::function<void()>([f, run] { run(); });
            });
            made.note = note;
        }
        std::printf(
            "\n== factors of %td x %td, about rank %td, times as many columns: found in the call, and kept\n",
            n_, n_, rank_);
        if (desk_.can_time()) race.run(rows.all);
        print_table(rows.all, rows.dense());
    }

    void factors(event_race const& race, cusolver const* solver) {
        std::vector<entry> rows;
        std::vector<std::size_t> beside;
        for (index_t const steps : {0, 1, 2}) {
            if (!solver) break;
            std::shared_ptr<cusolver_svd> svd;
            beside.push_back(rows.size());
            std::string note;
            auto const see = [&] {
                svd = std::make_shared<cusolver_svd>(desk_, *solver, a_, rank_, steps);
                svd->run();
                char text[120];
                std::snprintf(text, sizeof text, "rank %td, info %d, %.1e with its singular values", rank_,
                              svd->info(), error(svd->left(), svd->right()));
                note = text;
                return error(svd->left_of_range(), svd->right());
            };
            add(rows, "gesvdr, " + std::to_string(steps), see,
                [&svd] { return std::function<void()>([svd] { svd->run(); }); });
            rows.back().note = note;
        }
        for (asked const& x : ways_to_ask(rank_)) {
            std::string note;
            add(
                rows, x.name,
                [&] {
                    auto const f = sg::low_rank(desk_.gpu, a_, x.options);
                    note = about(f);
                    auto const parts = f.view();
                    return error(widened(desk_.gpu, parts.u()), widened(desk_.gpu, parts.v()));
                },
                [this, x] {
                    return std::function<void()>(
                        [this, x] { (void)sg::try_low_rank(desk_.gpu, a_, x.options); });
                });
            rows.back().note = note;
        }
        std::printf("\n== factors of %td x %td alone%s; the error is |A - U V| / |A|\n", n_, n_,
                    solver ? ", and gesvdr of cuSOLVER with 0, 1 and 2 steps of its power method, whose "
                             "error is that of "
                             "its right vectors V: |A - A V V^T| / |A|"
                           : "; no cuSOLVER here");
        if (desk_.can_time()) race.run(rows);
        print_table(rows, beside);
    }

private:
    // see() gives the error of what the call of make() does again.
    template <class See, class Make>
    static void add(std::vector<entry>& rows, std::string name, See const& see, Make const& make) {
        entry x{std::move(name)};
        x.is_queued = false;
        try {
            x.error = see();
            x.call = make();
        } catch (std::exception const& e) {
            x.refusal = e.what();
        }
        rows.push_back(std::move(x));
    }
    double error(there<double> const& u, there<double> const& v) const {
        return error_of_factors(desk_.gpu, a_, u, v);
    }

    cuda_desk const& desk_;
    index_t n_, rank_;
    there<float> a_;
};

} // namespace

void race_low_rank(cuda_desk const& desk, index_t n) {
    event_race const race(desk);
    cusolver solver;
    bool const is_here = solver.open(desk.gpu.stream);
    low_rank_race one(desk, n);
    one.products(race);
    one.factors(race, is_here ? &solver : nullptr);
    if (is_here) see_gesvdr_alone(desk, solver, n);
}
