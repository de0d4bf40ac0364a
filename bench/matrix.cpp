// bench_matrix_BACKEND FILE: the selection matrix of the backend that this is compiled for (matrix.hpp). Writes what it measured
// to FILE, a line for each candidate, and prints it.
#include "backend.hpp"

#include "matrix.hpp"

#include <fstream>

int main(int argc, char** argv) try {
    bench::backend const over = bench::make_backend();
    if (stratagemm::status const s = bench::ready(over); !s)
        return std::printf("skipped: %s\n", s.error().what()), 77;
    std::ofstream data(argc > 1 ? argv[1] : "matrix.txt");
    data << "about | device | " << bench::device_of(over) << '\n';
    bench::selection_matrix matrix(over, 5, data);
    stratagemm::index_t const large = bench::is_large(over) ? 4 : 1;
    for (bench::shape_class const& x : {bench::shape_class{"tiny", 32, 32, 32},
                                        {"small", 256, 256, 256},
                                        {"middle", 512 * large, 512 * large, 512 * large},
                                        {"large", 2048 * large, 2048 * large, 2048 * large},
                                        {"few rows", 8, 1024 * large, 1024 * large},
                                        {"long sums", 64, 64, 16384 * large},
                                        {"short sums", 1024 * large, 1024 * large, 16},
                                        {"odd sides", 1023 * large, 517 * large, 771 * large}}) {
        matrix.run<float>(x, "float");
        if (bench::has_double(over)) matrix.run<double>(x, "double");
    }
    return data.flush() ? 0 : 1;
} catch (std::exception const& e) {
    std::fprintf(stderr, "bench_matrix: %s\n", e.what());
    return 1;
}
