// C = A B by ScaLAPACK's pdgemm_ on the processes that mpirun starts, timed, and checked against the library's oracle.
//
//   mpirun -np 4 pdgemm SIZE|MxNxK [TILE = 64 [ROUNDS = 3 [FILE.npy]]]
//
// TILE is the side of the tiles that ScaLAPACK deals out to the processes. With FILE.npy the processes write C, each its
// tiles, and the file gets its name only when all of it is written and checked. Ends with 1 if C is wrong, and with 2 if
// an argument is. Multiplies as its BLAS does: docs/cluster.md says how that becomes stratagemm's.
//
//   g++ -std=c++20 -O2 -I include examples/cluster/pdgemm.cpp -o pdgemm -Wl,--no-as-needed -lblas -lscalapack-openmpi
#include <stratagemm/backend/file.hpp>
#include <stratagemm/backend/reference.hpp>
#include <stratagemm/gemm.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What Fortran programs call of ScaLAPACK and its BLACS.
extern "C" {
void blacs_pinfo_(int* me, int* processes);
void blacs_get_(int const* context, int const* what, int* value);
void blacs_gridinit_(int* context, char const* order, int const* rows, int const* cols);
void blacs_gridinfo_(int const* context, int* rows, int* cols, int* row, int* col);
void blacs_barrier_(int const* context, char const* scope);
void blacs_abort_(int const* context, int const* status);
void blacs_exit_(int const* more);
void dgamx2d_(int const* context, char const* scope, char const* topology, int const* m, int const* n,
              double* a, int const* lda, int* row, int* col, int const* leading, int const* to_row,
              int const* to_col);
int numroc_(int const* n, int const* tile, int const* me, int const* first, int const* processes);
void descinit_(int* descriptor, int const* m, int const* n, int const* tile_m, int const* tile_n,
               int const* first_row, int const* first_col, int const* context, int const* lda, int* info);
void pdgemm_(char const* transa, char const* transb, int const* m, int const* n, int const* k,
             double const* alpha, double const* a, int const* ia, int const* ja, int const* desca,
             double const* b, int const* ib, int const* jb, int const* descb, double const* beta, double* c,
             int const* ic, int const* jc, int const* descc);
int pilaenv_(int const* context, char const* type, std::size_t length);
}

namespace sg = stratagemm;

namespace {

constexpr int zero = 0, one = 1;

struct sizes {
    int m, n, k, tile, rounds;
};

// The processes as rows and columns, which are as equal as their number allows.
struct process_grid {
    int me = 0, processes = 0, context = 0, rows = 1, cols = 1, row = 0, col = 0;

    process_grid() {
        blacs_pinfo_(&me, &processes);
        for (int r = 1; r * r <= processes; ++r)
            if (processes % r == 0) rows = r;
        cols = processes / rows;
        int const none = -1;
        blacs_get_(&none, &zero, &context);
        blacs_gridinit_(&context, "R", &rows, &cols);
        blacs_gridinfo_(&context, &rows, &cols, &row, &col);
    }
    void wait() const { blacs_barrier_(&context, "A"); }
    // The largest of the x of all processes.
    double largest(double x) const {
        int r = 0, c = 0;
        int const none = -1;
        dgamx2d_(&context, "A", " ", &one, &one, &x, &one, &r, &c, &none, &none, &none);
        return x;
    }
    // Ends all processes: MPI says so.
    [[noreturn]] void give_up(std::string const& why) const {
        std::fprintf(stderr, "pdgemm: process %d: %s\n", me, why.c_str());
        blacs_abort_(&context, &one);
        std::abort();
    }
};

// Element (i, j) of A or B, a function of its place: each process makes its own part, and any element again.
double element(int which, int i, int j) {
    auto x =
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(i)) << 32) | static_cast<std::uint32_t>(j);
    x = (x ^ (static_cast<std::uint64_t>(which) << 62)) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>(static_cast<std::int64_t>(x ^ (x >> 31))) * 0x1p-63;
}

// The part of a rows x cols matrix that lies with this process, by columns.
struct part {
    int tile, local_rows, local_cols;
    int descriptor[9];
    std::vector<double> data;

    part(process_grid const& grid, int m, int n, int side) : tile(side), grid_(grid) {
        local_rows = numroc_(&m, &tile, &grid.row, &zero, &grid.rows);
        local_cols = numroc_(&n, &tile, &grid.col, &zero, &grid.cols);
        int const lda = std::max(local_rows, 1);
        int info = 0;
        descinit_(descriptor, &m, &n, &tile, &tile, &zero, &zero, &grid.context, &lda, &info);
        if (info != 0) grid.give_up("descinit_ refuses argument " + std::to_string(-info));
        data.resize(static_cast<std::size_t>(lda) * static_cast<std::size_t>(std::max(local_cols, 1)));
    }
    int row(int i) const { return (i / tile * grid_.rows + grid_.row) * tile + i % tile; }
    int col(int j) const { return (j / tile * grid_.cols + grid_.col) * tile + j % tile; }
    double& at(int i, int j) {
        return data[static_cast<std::size_t>(i) +
                    static_cast<std::size_t>(j) * static_cast<std::size_t>(std::max(local_rows, 1))];
    }
    void fill(int which) {
        for (int j = 0; j < local_cols; ++j)
            for (int i = 0; i < local_rows; ++i) at(i, j) = element(which, row(i), col(j));
    }

private:
    process_grid const& grid_;
};

// The slowest process's seconds.
double multiply(process_grid const& grid, sizes const& s, part const& a, part const& b, part& c) {
    double const alpha = 1, beta = 0;
    grid.wait();
    auto const start = std::chrono::steady_clock::now();
    pdgemm_("N", "N", &s.m, &s.n, &s.k, &alpha, a.data.data(), &one, &one, a.descriptor, b.data.data(), &one,
            &one, b.descriptor, &beta, c.data.data(), &one, &one, c.descriptor);
    return grid.largest(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

// Up to 16 of 0 ... n - 1: the first, the last, and others.
std::vector<int> sample(int n, int salt) {
    std::vector<int> all;
    for (int i = 0; i < std::min(n, 16); ++i)
        all.push_back(n <= 16   ? i
                      : i == 0  ? 0
                      : i == 15 ? n - 1
                                : static_cast<int>(std::abs(element(3, salt, i)) * n) % n);
    return all;
}

// The largest error of `computed(i, j)` for these rows and columns of C, over k u (|A| |B|)(i, j), which no order of a
// sum exceeds; NaN counts as infinite. The oracle is the policy `reference`.
template <class F>
double worst_error(int k, std::vector<int> const& rows, std::vector<int> const& cols, F const& computed) {
    auto const m = static_cast<sg::index_t>(rows.size()), n = static_cast<sg::index_t>(cols.size());
    sg::matrix<double> a(m, k), b(k, n), sum(m, n), bound(m, n);
    for (int p = 0; p < k; ++p) {
        for (sg::index_t i = 0; i < m; ++i) a(i, p) = element(0, rows[static_cast<std::size_t>(i)], p);
        for (sg::index_t j = 0; j < n; ++j) b(p, j) = element(1, p, cols[static_cast<std::size_t>(j)]);
    }
    sg::gemm(sg::reference{}, a, b, sum);
    for (int p = 0; p < k; ++p) {
        for (sg::index_t i = 0; i < m; ++i) a(i, p) = std::abs(a(i, p));
        for (sg::index_t j = 0; j < n; ++j) b(p, j) = std::abs(b(p, j));
    }
    sg::gemm(sg::reference{}, a, b, bound);
    double worst = 0;
    for (sg::index_t i = 0; i < m; ++i)
        for (sg::index_t j = 0; j < n; ++j) {
            double const x = computed(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
            double const error = std::abs(x - sum(i, j)) / (k * 0x1p-53 * bound(i, j));
            worst = error <= worst ? worst : std::isnan(error) ? HUGE_VAL : error;
        }
    return worst;
}
double worst_error(process_grid const& grid, int k, part& c) {
    auto const i = sample(c.local_rows, 2 * grid.me), j = sample(c.local_cols, 2 * grid.me + 1);
    auto rows = i, cols = j;
    for (int& x : rows) x = c.row(x);
    for (int& x : cols) x = c.col(x);
    if (rows.empty() || cols.empty()) return grid.largest(0);
    return grid.largest(
        worst_error(k, rows, cols, [&](std::size_t r, std::size_t s) { return c.at(i[r], j[s]); }));
}

// The file that all processes write, each its tiles: its name is NAME.unfinished until finish().
class result_file {
public:
    result_file(process_grid const& grid, std::string name, int m, int n)
        : grid_(grid), name_(std::move(name)), file_(make(m, n)) {}

    void write(part& c) {
        for (int j = 0; j < c.local_cols; j += c.tile)
            for (int i = 0; i < c.local_rows; i += c.tile) {
                int const rows = std::min(c.tile, c.local_rows - i),
                          cols = std::min(c.tile, c.local_cols - j);
                auto const from = sg::col_major(&c.at(i, j), rows, cols, std::max(c.local_rows, 1));
                leaf_.copy_async(from, file_.block(c.row(i), c.col(j), rows, cols)).or_throw();
            }
        grid_.wait();
    }
    // As worst_error(), for elements that are read from the file.
    double worst_error(int k) const {
        auto const rows = sample(int(file_.rows()), -1), cols = sample(int(file_.cols()), -2);
        return ::worst_error(k, rows, cols, [&](std::size_t i, std::size_t j) {
            sg::matrix<double> x(1, 1);
            leaf_.copy_async(file_.block(rows[i], cols[j], 1, 1), x.view()).or_throw();
            return x(0, 0);
        });
    }
    void finish() const {
        if (grid_.me == 0) std::filesystem::rename(file_.path(), name_);
    }

private:
    // Process 0 makes the file, and what had its name before is gone.
    sg::file_matrix<double> make(int m, int n) const {
        std::string const unfinished = name_ + ".unfinished";
        if (grid_.me == 0) {
            std::filesystem::remove(name_);
            sg::file_matrix<double>::create_npy(unfinished, m, n, sg::layout::col_major);
        }
        grid_.wait();
        return sg::file_matrix<double>(unfinished, true);
    }

    process_grid const& grid_;
    std::string name_;
    sg::file_matrix<double> file_;
    sg::file_operations leaf_;
};

// Whether C is right.
bool run(process_grid const& grid, sizes const& s, char const* name) {
    part a(grid, s.m, s.k, s.tile), b(grid, s.k, s.n, s.tile), c(grid, s.m, s.n, s.tile);
    a.fill(0), b.fill(1);
    std::fill(c.data.begin(), c.data.end(), std::nan("")); // beta = 0 does not read it
    std::optional<result_file> file;
    if (name) file.emplace(grid, name, s.m, s.n);
    if (grid.me == 0)
        std::printf("pdgemm %d x %d x %d, %d x %d processes, tiles of %d, blocks of %d\n", s.m, s.n, s.k,
                    grid.rows, grid.cols, s.tile, pilaenv_(&grid.context, "D", 1));
    std::vector<double> seconds;
    double const flops = 2.0 * s.m * s.n * s.k;
    for (int round = 0; round < s.rounds; ++round) {
        seconds.push_back(multiply(grid, s, a, b, c));
        if (grid.me == 0)
            std::printf("round %d: %.1f GFLOP/s\n", round + 1, flops / seconds.back() / 1e9),
                std::fflush(stdout);
    }
    double worst = worst_error(grid, s.k, c);
    if (file) {
        file->write(c);
        worst = std::max(worst, grid.largest(file->worst_error(s.k)));
        if (worst <= 1) file->finish();
    }
    std::sort(seconds.begin(), seconds.end());
    if (grid.me == 0)
        std::printf("%s: %.1f GFLOP/s, the median; the largest error is %.2g of k u |A| |B|\n",
                    worst <= 1 ? "right" : "WRONG", flops / seconds[seconds.size() / 2] / 1e9, worst);
    return worst <= 1;
}

int number(char const* text) { return text ? std::atoi(text) : 0; }

} // namespace

int main(int count, char** arguments) {
    process_grid const grid;
    sizes s{0, 0, 0, count > 2 ? number(arguments[2]) : 64, count > 3 ? number(arguments[3]) : 3};
    int const given = count > 1 ? std::sscanf(arguments[1], "%dx%dx%d", &s.m, &s.n, &s.k) : 0;
    if (given == 1) s.n = s.k = s.m;
    if ((given != 1 && given != 3) || std::min({s.m, s.n, s.k, s.tile, s.rounds}) < 1) {
        if (grid.me == 0)
            std::fprintf(stderr, "usage: pdgemm SIZE|MxNxK [TILE = 64 [ROUNDS = 3 [FILE.npy]]]\n");
        blacs_exit_(&zero);
        return 2;
    }
    bool right = false;
    try {
        right = run(grid, s, count > 4 ? arguments[4] : nullptr);
    } catch (std::exception const& e) {
        grid.give_up(e.what());
    }
    blacs_exit_(&zero);
    return right ? 0 : 1;
}
