// The libFuzzer target of Matrix Market files: what is read is consistent, and is written and read again with the same
// bits, in several types.
//
//   clang++ -std=c++20 -O1 -g -fopenmp -fsanitize=fuzzer,address,undefined -Iinclude tests/fuzz/fuzz_matrix_market.cpp
//   ./a.out FOLDER tests/fuzz/corpus/matrix_market      what is new goes to FOLDER
#include <stratagemm/structure/matrix_market.hpp>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace sg = stratagemm;

namespace {

void expect(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "matrix market: %s\n", what);
    std::abort();
}

// A file in memory, with a path.
class memory_file {
public:
    memory_file()
        : file_(::memfd_create("matrix_market", 0)), path_("/proc/self/fd/" + std::to_string(file_)) {
        expect(file_ >= 0, "there is no file in memory");
    }
    char const* path() const { return path_.c_str(); }
    void write(std::uint8_t const* data, std::size_t size) const {
        expect(::ftruncate(file_, 0) == 0 && ::pwrite(file_, data, size, 0) == static_cast<ssize_t>(size),
               "the file in memory cannot be written");
    }

private:
    int file_;
    std::string path_;
};

// Whether two numbers have the same bits, or both are NaN.
template <class T>
bool same(T const& x, T const& y) {
    if constexpr (sg::complex_like<T>)
        return same(x.real(), y.real()) && same(x.imag(), y.imag());
    else
        return std::memcmp(&x, &y, sizeof(T)) == 0 || (x != x && y != y);
}

// Whether the file is read in these types.
template <class T, class Index>
bool read(memory_file const& file, memory_file const& copy, sg::matrix_market_header const& h) {
    auto first = sg::try_read_matrix_market<T, Index>(file.path());
    if (!first) return false;
    auto const x = first->view();
    expect(x.rows == h.rows && x.cols == h.cols, "the sides are not those of the file");
    expect(static_cast<bool>(x.check()), "what was read is no csr");
    for (sg::index_t i = 0; i < x.rows; ++i)
        for (sg::index_t at = x.row_begins[i] + 1; at < x.row_begins[i + 1]; ++at)
            expect(x.columns[at - 1] <= x.columns[at], "columns are not in order");
    expect(static_cast<bool>(sg::try_write_matrix_market(copy.path(), x)), "it cannot be written");
    auto second = sg::try_read_matrix_market<T, Index>(copy.path());
    expect(static_cast<bool>(second), "what was written cannot be read");
    auto const y = second->view();
    expect(x.rows == y.rows && x.cols == y.cols && x.nonzeros == y.nonzeros, "the shape changed");
    for (sg::index_t i = 0; i <= x.rows; ++i) expect(x.row_begins[i] == y.row_begins[i], "a row changed");
    for (sg::index_t at = 0; at < x.nonzeros; ++at)
        expect(x.columns[at] == y.columns[at] && same(x.values[at], y.values[at]), "an element changed");
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static memory_file const file, copy;
    file.write(data, size);
    sg::line_reader r;
    sg::matrix_market_header h;
    expect(static_cast<bool>(r.open(file.path())), "the file cannot be opened");
    if (!sg::read_header(r, h)) return 0;
    // Sides up to 2^20 are read, and those beyond 2^52 refused; those between take memory and time.
    auto const is_long = [](sg::index_t n) { return n > sg::index_t{1} << 20 && n <= sg::index_t{1} << 52; };
    if (is_long(h.rows) || is_long(h.cols)) return 0;
    if (!read<std::complex<double>, std::int64_t>(file, copy, h)) return 0; // nor in any other
    read<float, std::int32_t>(file, copy, h);
    read<double, std::int64_t>(file, copy, h);
    read<sg::half, std::int32_t>(file, copy, h);
    read<std::int8_t, std::int64_t>(file, copy, h);
    read<std::int32_t, std::int32_t>(file, copy, h);
    read<std::complex<float>, std::int32_t>(file, copy, h);
    return 0;
}
