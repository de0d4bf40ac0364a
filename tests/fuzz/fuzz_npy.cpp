// A .npy file of any bytes: it is refused by an error, or it is a matrix whose elements are bytes of the file, and
// stays so when it is written again.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Iinclude -Itests tests/fuzz/fuzz_npy.cpp
//
// Without libFuzzer: replay.cpp.
#include <stratagemm/backend/file.hpp>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/mman.h>

namespace sg = stratagemm;
using sg::index_t;

namespace {

// A file that no folder has.
struct unnamed_file {
    int fd = ::memfd_create("stratagemm", MFD_CLOEXEC);
    std::string const path = "/proc/self/fd/" + std::to_string(fd);

    void hold(void const* data, std::size_t size) const {
        if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
            std::abort();
    }
};

void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz_npy: %s\n", what);
    std::abort();
}

// Elements as they are, by rows.
template <class T>
sg::matrix<T> held(sg::file_matrix<T> const& x) {
    sg::matrix<T> all(x.rows(), x.cols());
    sg::file_operations{}.copy_async(x.view(), all.view()).or_throw();
    return all;
}
template <class T>
std::string_view bytes_of(sg::matrix<T> const& x) {
    return {reinterpret_cast<char const*>(x.data()),
            static_cast<std::size_t>(x.rows() * x.cols()) * sizeof(T)};
}

template <class T>
void read(std::string_view file, std::string const& path) {
    sg::file_matrix<T> const x(path);
    auto const v = x.view();
    if (v.rows == 0 || v.cols == 0) return;
    sg::matrix<T> const all = held(x);
    std::string_view const found = bytes_of(all);
    for (index_t i = 0; i < v.rows; ++i)
        for (index_t j = 0; j < v.cols; ++j) {
            auto const at = static_cast<std::size_t>(v.data.byte) +
                            static_cast<std::size_t>(i * v.row_stride + j * v.col_stride) * sizeof(T);
            require(at + sizeof(T) <= file.size(), "an element is beyond the end");
            require(file.compare(at, sizeof(T), found, static_cast<std::size_t>(i * v.cols + j) * sizeof(T),
                                 sizeof(T)) == 0,
                    "an element is not what the file holds");
        }
    static unnamed_file const copy;
    bool const by_columns = v.row_stride == 1 && v.rows > 1;
    auto again = sg::file_matrix<T>::create_npy(copy.path, v.rows, v.cols,
                                                by_columns ? sg::layout::col_major : sg::layout::row_major);
    sg::file_operations{}.copy_async(all.view(), again.view()).or_throw();
    require(bytes_of(held(sg::file_matrix<T>(copy.path))) == found, "a copy holds other elements");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static unnamed_file const file;
    file.hold(data, size);
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    try {
        std::string const type = sg::npy_type(file.path);
        if (type == "<f8")
            read<double>(bytes, file.path);
        else if (type == "<f2")
            read<sg::half>(bytes, file.path);
        else if (type == "|i1")
            read<std::int8_t>(bytes, file.path);
        else if (type == "<i4")
            read<std::int32_t>(bytes, file.path);
        else if (type == "<c8")
            read<std::complex<float>>(bytes, file.path);
        else if (type == "<c16")
            read<std::complex<double>>(bytes, file.path);
        else
            read<float>(bytes, file.path);
    } catch (sg::error const& e) {
        require(std::string_view(e.what()).substr(0, 6) == "file: ",
                "a refusal that does not say whose it is");
    }
    return 0;
}
