// What a program gains or loses that calls BLAS and gets the libraries of bindings/blas:
//   bench_blas LIBRARY [SIZE [ROUNDS]]
// First dgemm_ of LIBRARY and of OpenBLAS by turns within this process, for small sides. Then factorizations of
// matrices of SIZE (2000), each by processes of their own, by turns: the LAPACK of OpenBLAS, and that of the reference
// over the BLAS of the reference and of OpenBLAS, with LIBRARY preloaded and without. No header of the library.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <random>
#include <string>
#include <vector>

namespace {

using gemm = void(char const*, char const*, int const*, int const*, int const*, double const*, double const*,
                  int const*, double const*, int const*, double const*, double*, int const*);
using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begin) {
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
}
double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
}
template <class Function>
Function* function_of(std::string const& library, char const* name) {
    void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const found = opened ? dlsym(opened, name) : nullptr;
    if (!found) {
        std::fprintf(stderr, "bench_blas: no %s: %s\n", name, opened ? library.c_str() : dlerror());
        std::exit(1);
    }
    return reinterpret_cast<Function*>(found);
}
std::vector<double> random_matrix(int n) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<double> a(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    for (double& x : a) x = any(random);
    return a;
}
// The first file of a pattern, or nothing.
std::string file(char const* pattern) {
    glob_t found;
    std::string first;
    if (glob(pattern, 0, nullptr, &found) == 0) first = found.gl_pathv[0];
    globfree(&found);
    return first;
}
std::string folder_of(std::string const& path) { return path.substr(0, path.rfind('/')); }

// Nanoseconds of a call.
double time_of(gemm* f, int n, std::vector<double> const& a, std::vector<double>& c) {
    double const one = 1, zero = 0;
    int const calls = n < 32 ? 2000 : 200;
    auto const begin = steady_clock::now();
    for (int i = 0; i < calls; ++i)
        f("N", "N", &n, &n, &n, &one, a.data(), &n, a.data(), &n, &zero, c.data(), &n);
    return seconds_since(begin) * 1e9 / calls;
}
void race_small(std::string const& library) {
    auto* const ours = function_of<gemm>(library, "dgemm_");
    auto* const theirs = function_of<gemm>("libopenblas.so.0", "dgemm_");
    std::printf("dgemm_, ns a call   library   OpenBLAS   difference   ratio (medians of 101 rounds)\n");
    for (int const n : {4, 8, 16, 32, 64, 128}) {
        auto const a = random_matrix(n);
        auto c = a;
        std::vector<double> x, y, more, ratio;
        for (int round = 0; round < 101; ++round) {
            x.push_back(time_of(ours, n, a, c)), y.push_back(time_of(theirs, n, a, c));
            more.push_back(x.back() - y.back()), ratio.push_back(y.back() / x.back());
        }
        std::printf("%17d %9.0f %10.0f %12.0f %7.2f\n", n, median(x), median(y), median(more), median(ratio));
    }
}

constexpr char const* factorizations[] = {"dgetrf (lu_factor)", "dpotrf (cholesky)", "dsyevd (eigh)"};

// In a process of its own: prints the seconds of each factorization by a LAPACK.
void factor(std::string const& lapack, int n) {
    auto const general = random_matrix(n);
    auto symmetric = general;
    std::size_t const side = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < side; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            symmetric[i + j * side] = symmetric[j + i * side] = general[i + j * side] + (i == j ? n : 0);
    std::vector<double> a = general, w(side), work(1 + 6 * side + 2 * side * side);
    std::vector<int> pivots(3 + 5 * side);
    int info = 0, room = static_cast<int>(work.size()), more = static_cast<int>(pivots.size());
    double seconds[3];
    auto begin = steady_clock::now();
    function_of<void(int const*, int const*, double*, int const*, int*, int*)>(lapack, "dgetrf_")(
        &n, &n, a.data(), &n, pivots.data(), &info);
    seconds[0] = seconds_since(begin);
    a = symmetric, begin = steady_clock::now();
    function_of<void(char const*, int const*, double*, int const*, int*)>(lapack, "dpotrf_")(
        "L", &n, a.data(), &n, &info);
    seconds[1] = seconds_since(begin);
    a = symmetric, begin = steady_clock::now();
    function_of<void(char const*, char const*, int const*, double*, int const*, double*, double*, int const*,
                     int*, int const*, int*)>(lapack, "dsyevd_")(
        "V", "L", &n, a.data(), &n, w.data(), work.data(), &room, pivots.data(), &more, &info);
    seconds[2] = seconds_since(begin);
    std::printf("%g %g %g\n", seconds[0], seconds[1], seconds[2]);
}

struct way {
    char const* name;
    std::string lapack, blas; // files; the folder of `blas` has the libblas.so.3
    std::vector<double> alone[3] = {}, ours[3] = {};

    // Adds the seconds of one process.
    void run(std::string const& program, std::string const& preloaded, int n,
             std::vector<double> (&to)[3]) const {
        std::string command = "LD_LIBRARY_PATH=" + folder_of(blas) + ":$LD_LIBRARY_PATH ";
        if (!preloaded.empty()) command += "LD_PRELOAD=" + preloaded + ' ';
        command += program + " --factor " + lapack + ' ' + std::to_string(n);
        std::FILE* const said = popen(command.c_str(), "r");
        double seconds[3];
        if (!said || std::fscanf(said, "%lf %lf %lf", &seconds[0], &seconds[1], &seconds[2]) != 3) {
            std::fprintf(stderr, "bench_blas: this failed: %s\n", command.c_str());
            std::exit(1);
        }
        pclose(said);
        for (int i = 0; i < 3; ++i) to[i].push_back(seconds[i]);
    }
};

void race_factorizations(std::string const& program, std::string const& library, int n, int rounds) {
    std::string const reference = file("/usr/lib/*/lapack/liblapack.so.3"),
                      blas = file("/usr/lib/*/blas/libblas.so.3"),
                      open = file("/usr/lib/*/openblas-*/libopenblas.so.0");
    way ways[] = {{"OpenBLAS's LAPACK", open, open},
                  {"reference LAPACK and BLAS", reference, blas},
                  {"reference LAPACK, OpenBLAS", reference, open}};
    std::printf(
        "\n%d x %d, seconds                        alone   with the library   ratio (medians of %d)\n", n, n,
        rounds);
    for (way& w : ways) {
        if (w.lapack.empty() || w.blas.empty()) {
            std::printf("%s: not installed here\n", w.name);
            continue;
        }
        for (int round = 0; round < rounds; ++round)
            w.run(program, "", n, w.alone), w.run(program, library, n, w.ours);
        for (int i = 0; i < 3; ++i)
            std::printf("%-27s %-19s %7.3f %12.3f %12.2f\n", w.name, factorizations[i], median(w.alone[i]),
                        median(w.ours[i]), median(w.alone[i]) / median(w.ours[i]));
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::strcmp(argv[1], "--factor") == 0) {
        factor(argv[2], std::atoi(argv[3]));
        return 0;
    }
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s LIBRARY [SIZE [ROUNDS]]\n", argv[0]);
        return 1;
    }
    race_small(argv[1]);
    race_factorizations(argv[0], argv[1], argc > 2 ? std::atoi(argv[2]) : 2000,
                        argc > 3 ? std::atoi(argv[3]) : 5);
}
