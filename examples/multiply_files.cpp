// C = A B for matrices in .npy files, of which none has to fit into memory; progress goes to stderr. A product that was
// ended is resumed.
//
//   multiply_files A.npy B.npy C.npy [--memory 2G] [--policy host|strassen|ozaki|reference] [--resume]
//
// Without arguments it makes two small files, multiplies them and checks the result. To compile, from the top of the
// checkout:
//   g++ -std=c++20 -O2 -fopenmp -Iinclude examples/multiply_files.cpp -o multiply_files
#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/algorithm/strassen.hpp>
#include <stratagemm/stratagemm.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace sg = stratagemm;
using sg::index_t;

struct arguments {
    std::string a, b, c, policy = "host";
    index_t bytes = index_t{1} << 30;
    bool resume = false;
};

int usage() {
    std::fprintf(
        stderr,
        "usage: multiply_files A.npy B.npy C.npy [--memory 2G] [--policy host|strassen|ozaki|reference] "
        "[--resume]\n");
    return 2;
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Blocks that are done, the rate, and the time that is left, in one line that is written over.
struct progress_bar {
    double work, begin = seconds();
    index_t before = -1; // blocks that an earlier process did

    void operator()(index_t done, index_t all) {
        if (before < 0) before = done - 1;
        double const passed = seconds() - begin, share = static_cast<double>(done) / static_cast<double>(all);
        double const rate = static_cast<double>(done - before) / static_cast<double>(all) / passed;
        int const full = static_cast<int>(30 * share);
        std::fprintf(stderr, "\r[%.*s%*s] %td of %td blocks, %.1f GFLOP/s, %.0f s left  ", full,
                     "##############################", 30 - full, "", done, all, work * rate / 1e9,
                     (1 - share) / rate);
        if (done == all) std::fprintf(stderr, "\n");
    }
};

template <class T, class Policy>
void multiply(arguments const& x, Policy const& base) {
    sg::file_matrix<T> const a(x.a), b(x.b);
    // Looked at before C is made: making it would overwrite its own operand.
    std::error_code none;
    for (std::string const& from : {x.a, x.b})
        if (std::filesystem::equivalent(from, x.c, none))
            throw sg::error(sg::errc::alias, "multiply_files: C is A or B");
    std::string const journal = x.c + ".journal";
    if (!x.resume) std::filesystem::remove(journal, none);
    auto c = sg::file_matrix<T>::create_npy(x.c, a.rows(), b.cols());
    double const work =
        2.0 * static_cast<double>(a.rows()) * static_cast<double>(a.cols()) * static_cast<double>(b.cols());
    sg::out_of_core const policy{
        base, {.host_bytes = x.bytes, .journal = journal, .progress = progress_bar{.work = work}}};
    std::fprintf(
        stderr, "%s\n",
        sg::plan(policy, sg::shape<T>{.m = a.rows(), .n = b.cols(), .k = a.cols()}).describe().c_str());
    sg::gemm(policy, a, b, c);
}

template <class T>
int multiply(arguments const& x) {
    if (x.policy == "host") return multiply<T>(x, sg::host{}), 0;
    if (x.policy == "strassen") return multiply<T>(x, sg::strassen{sg::host{}}), 0;
    if (x.policy == "ozaki") return multiply<T>(x, sg::ozaki{sg::host{}}), 0;
    if (x.policy == "reference") return multiply<T>(x, sg::reference{}), 0;
    return usage();
}

// Two files of 300 x 200 and 200 x 250, and the product of these against the one in memory.
int demonstrate() {
    auto const place =
        std::filesystem::temp_directory_path() / ("multiply_files_" + std::to_string(::getpid()));
    std::filesystem::create_directory(place);
    arguments const x{.a = place / "a.npy", .b = place / "b.npy", .c = place / "c.npy", .bytes = 300'000};
    sg::matrix<double> a(300, 200,
                         [](index_t i, index_t j) { return static_cast<double>((3 * i + j) % 7) / 7; });
    sg::matrix<double> b(200, 250,
                         [](index_t i, index_t j) { return static_cast<double>((i + 5 * j) % 11) / 11; });
    sg::matrix<double> expected(300, 250), found(300, 250);
    sg::gemm(a, b, expected);
    // What reads and writes files copies between them and memory, too.
    sg::file_operations const files;
    auto fa = sg::file_matrix<double>::create_npy(x.a, 300, 200);
    auto fb = sg::file_matrix<double>::create_npy(x.b, 200, 250, sg::layout::col_major);
    files.copy_async(std::as_const(a).view(), fa.view()).or_throw();
    files.copy_async(std::as_const(b).view(), fb.view()).or_throw();
    if (int const code = multiply<double>(x)) return code;
    sg::file_matrix<double> const fc(x.c);
    files.copy_async(fc.view(), found.view()).or_throw();
    std::filesystem::remove_all(place);
    for (index_t i = 0; i < 300; ++i)
        for (index_t j = 0; j < 250; ++j)
            if (std::abs(found(i, j) - expected(i, j)) > 1e-12) return std::printf("wrong\n"), 1;
    std::printf("300 x 200 x 250, from files to a file: right\n");
    return 0;
}

int main(int argc, char** argv) try {
    if (argc == 1) return demonstrate();
    arguments x;
    int names = 0;
    for (int i = 1; i < argc; ++i) {
        std::string const word = argv[i];
        if (word == "--resume") {
            x.resume = true;
        } else if (word == "--memory" && i + 1 < argc) {
            char* end = nullptr;
            double const number = std::strtod(argv[++i], &end);
            double const unit = *end == 'G' ? 0x1p30 : *end == 'M' ? 0x1p20 : *end == 'K' ? 0x1p10 : 1;
            if (!(number * unit >= 1 && number * unit < 0x1p60)) return usage();
            x.bytes = static_cast<index_t>(number * unit);
        } else if (word == "--policy" && i + 1 < argc) {
            x.policy = argv[++i];
        } else if (word[0] == '-' || names == 3) {
            return usage();
        } else {
            (names == 0 ? x.a : names == 1 ? x.b : x.c) = word;
            ++names;
        }
    }
    if (names != 3) return usage();
    return sg::npy_type(x.a) == "<f8" ? multiply<double>(x) : multiply<float>(x);
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
