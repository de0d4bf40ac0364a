// bench_approximate_cuda [low_rank | train | sketch | policies | hadamard | all [DIVISOR]]: on a CUDA device
//   low_rank   n = 4096 and 8192 floats, singular values that fall by 10^6.6 within n / 16: factors to 1e-5 and of rank
//              n / 16, by each sketch, times n columns, found in the call and kept, beside our dense product and
//              cublasSgemm; and the factors alone beside cusolverDnXgesvdr of the same rank
//   train      4096 x 4096 as (16, 16, 16)^2 of the ranks 4 and 6 times 512 columns, beside the dense matrix
//   sketch     8192 x 8192 floats to 512 and 1024 rows or columns, beside a copy, and srht beside hadamard and a copy
//   policies   monte_carlo and sketched at 4096, with the first two of some tolerances that they take and one that they
//              refuse, beside our dense product and cublasSgemm
//   hadamard   64 to 32768 points, 256 MB of floats, beside a copy
// Rows run in turn, seven times; times are medians by events, and ratios medians of those within a round. Calls are in
// a captured graph; a star: a graph cannot hold the call, and calls run back to back. The error of a product is
// |C - A B| / |A||B| over all elements, against a product of doubles on the device; that of a sketch or a transform is
// relative to the norm of some rows of the result, against sums of doubles on the host. Both libraries of NVIDIA are
// opened at run time. DIVISOR, a power of two, divides all sides.
#include "approximate_cuda.hpp"

#include <stratagemm/algorithm/monte_carlo.hpp>
#include <stratagemm/algorithm/sketched.hpp>
#include <stratagemm/structure/tensor_train.hpp>

#include <cstring>
#include <exception>

namespace {

// ---- trains -----------------------------------------------------------------------------------------------------

// Random cores, three of part x part.
sg::tensor_train_matrix<float> random_train(index_t part, index_t rank) {
    sg::train_sides sides;
    sides.cores = 3;
    for (int k = 0; k < 3; ++k) sides.rows[k] = sides.cols[k] = part, sides.rank[k] = k == 0 ? 1 : rank;
    sides.rank[3] = 1;
    sg::matrix<float> const cores = uniform(1, sides.size(), 5);
    return sg::rounded(sg::train<float>(cores.data(), sides), {.tolerance = 1e-6});
}

void race_trains(cuda_desk const& desk) {
    index_t const part = std::max<index_t>(4, 16 / desk.divisor), n = part * part * part,
                  columns = std::max<index_t>(8, 512 / desk.divisor);
    there<float> const b(desk.gpu, uniform(n, columns, 2));
    for (index_t const rank : {4, 6}) {
        auto const train = random_train(part, rank);
        there<float> const a(desk.gpu, sg::written(train));
        auto const there_train = sg::to_device(desk.gpu, train);
        product_rows rows(desk, a, b);
        entry& made =
            rows.add("tensor_train", [&] { return planned(desk.gpu, sg::product(there_train, b, rows.c)); });
        made.note = "ranks to " + std::to_string(train.report().count);
        std::printf("\n== a train of %td x %td as (%td, %td, %td)^2 of rank %td times %td columns\n", n, n,
                    part, part, part, rank, columns);
        if (desk.can_time()) event_race(desk).run(rows.all);
        print_table(rows.all, rows.dense());
    }
}

// ---- approximate policies ----------------------------------------------------------------------------------------

class policy_race {
public:
    policy_race(cuda_desk const& desk, index_t n)
        : desk_(desk), a_(desk.gpu, uniform(n, n, 1)), b_(desk.gpu, uniform(n, n, 2)), rows_(desk, a_, b_) {}

    // make(tolerance, report) gives the policy, which takes the product or refuses it: both are timed. Gives whether it
    // is taken.
    template <class Make>
    bool add(std::string const& name, double tolerance, Make const& make) {
        auto const told = std::make_shared<sg::report>();
        auto const policy = make(tolerance, told.get());
        auto const p = sg::product(std::as_const(a_), std::as_const(b_), rows_.c);
        using policy_type = std::remove_const_t<decltype(policy)>;
        char text[80];
        std::snprintf(text, sizeof text, "%s, %g", name.c_str(), tolerance);
        if constexpr (!sg::takes<policy_type, std::remove_const_t<decltype(p)>>) {
            entry refused{text};
            refused.refusal = "the policy has no such product on this device";
            rows_.all.push_back(refused);
            return false;
        } else {
            using plan_type = decltype(sg::plan(policy, p.shape()));
            std::string refusal;
            auto const prepare = [&] {
                auto const plan = std::make_shared<plan_type const>(policy, p.shape());
                auto const memory = std::make_shared<typename plan_type::arena>(plan->reserve());
                if (sg::status const s = plan->try_run(p, *memory); !s) refusal = s.error().what();
                return std::function<void()>([p, plan, memory, told] { (void)plan->try_run(p, *memory); });
            };
            entry& made = rows_.add(text, prepare, false);
            if (!refusal.empty()) made.refusal = refusal, made.error = -1;
            if (made.refusal.empty()) made.note = promised(*told);
            return made.refusal.empty();
        }
    }
    // The first of the tolerances that is taken, and the one after it; or what refuses the last.
    template <class Make>
    void add_first_taken(std::string const& name, std::vector<double> const& tolerances, Make const& make) {
        int taken = 0;
        for (std::size_t i = 0; i < tolerances.size() && taken < 2; ++i) {
            if (add(name, tolerances[i], make))
                ++taken;
            else if (i + 1 < tolerances.size())
                rows_.all.pop_back();
        }
    }
    void run() {
        index_t const n = a_.rows();
        std::printf("\n== approximate products of %td x %td x %td; of C = 0 the error is %.1e\n", n, n, n,
                    1 / std::sqrt(double(n)));
        if (desk_.can_time()) event_race(desk_).run(rows_.all);
        print_table(rows_.all, rows_.dense());
        entry const& dense = rows_.all[0];
        for (entry const& x : rows_.all)
            if (!x.refusal.empty() && !x.seconds.empty())
                std::printf("%s: refused in %.2f%% of the time of the exact product\n", x.name.c_str(),
                            100 * median_of_rounds(x.seconds.size(), [&](std::size_t r) {
                                return x.seconds[r] / dense.seconds[r];
                            }));
    }

private:
    static std::string promised(sg::report const& r) {
        char text[120];
        std::snprintf(text, sizeof text, "promised %.2g at %g%%; %.*s, count %d", r.bound.worst,
                      100 * r.bound.confidence, static_cast<int>(r.ran.size()), r.ran.data(), r.count);
        return text;
    }

    cuda_desk const& desk_;
    there<float> a_, b_;
    product_rows rows_;
};

void race_policies(cuda_desk const& desk) {
    policy_race race(desk, 4096 / desk.divisor);
    auto const draws = [&](double t, sg::report* r) {
        return sg::monte_carlo{desk.gpu, {.tolerance = t, .seed = 1, .report = r}};
    };
    auto const by = [&]<class Kind>(Kind const& kind) {
        return [&desk, kind](double t, sg::report* r) {
            return sg::sketched<sg::cuda, Kind>{desk.gpu, kind, {.tolerance = t, .seed = 1, .report = r}};
        };
    };
    std::vector<double> const tolerances{0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
    race.add_first_taken("monte_carlo", tolerances, draws);
    race.add("monte_carlo", 0.01, draws);
    race.add_first_taken("sketched, gaussian", tolerances, by(sg::sketches::gaussian{}));
    race.add("sketched, gaussian", 0.01, by(sg::sketches::gaussian{}));
    race.add_first_taken("sketched, sparse_sign 8", tolerances, by(sg::sketches::sparse_sign{8}));
    race.add_first_taken("sketched, count_sketch", tolerances, by(sg::sketches::count_sketch{}));
    race.add_first_taken("sketched, srht", tolerances, by(sg::sketches::srht{}));
    race.add_first_taken("sketched, srct", tolerances, by(sg::sketches::srct{}));
    race.run();
}

// ------------------------------------------------------------------------------------------------------------------

int usage() {
    std::fprintf(stderr,
                 "usage: bench_approximate_cuda [low_rank | train | sketch | policies | hadamard | all "
                 "[DIVISOR]]: DIVISOR is a power of two from 1 to 64\n");
    return 2;
}

void run(cuda_desk const& desk, std::string const& part) {
    double const begin = now();
    auto const wants = [&](char const* name) { return part == "all" || part == name; };
    if (wants("low_rank"))
        for (index_t const n : {4096, 8192}) race_low_rank(desk, n / desk.divisor);
    if (wants("train")) race_trains(desk);
    if (wants("sketch")) race_sketches(desk);
    if (wants("policies")) race_policies(desk);
    if (wants("hadamard")) race_hadamard(desk);
    std::printf("\n%.0f seconds in all\n", now() - begin);
}

} // namespace

int main(int argc, char** argv) try {
    std::string const part = argc > 1 ? argv[1] : "all";
    bool is_known = argc <= 3;
    long divisor = argc > 2 ? std::atol(argv[2]) : 1;
    is_known = is_known && divisor >= 1 && divisor <= 64 && (divisor & (divisor - 1)) == 0;
    bool is_part = false;
    for (char const* const known : {"low_rank", "train", "sketch", "policies", "hadamard", "all"})
        is_part = is_part || part == known;
    if (!is_known || !is_part) return usage();
    sg::cuda gpu;
    if (sg::status s = gpu.ready(); !s) return std::printf("%s\n", s.error().what()), 77;
    auto const in = sg::cuda_session::of(0).enter();
    graphs const g;
    graphs::stream stream = nullptr;
    check(g.create(&stream, 1), "to create a stream");
    gpu.stream = static_cast<CUstream>(stream);
    std::printf("%s, driver for CUDA %d\n", gpu.where().name.c_str(), gpu.where().driver);
    cuda_desk desk(gpu, g, divisor);
    cublas& blas = desk.blas;
    if (!blas.gemm || !blas.create || blas.create(&blas.handle) != 0 ||
        blas.set_stream(blas.handle, stream) != 0)
        blas.handle = nullptr;
    if (!blas.handle) std::printf("no cuBLAS here\n");
    run(desk, part);
    return 0;
} catch (std::exception const& e) {
    std::printf("%s\n", e.what());
    return 1;
}
