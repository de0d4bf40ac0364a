// What tests of matrices in files share: a folder of their own, and matrices and bytes to and from files.
#pragma once

#include "random.hpp"
#include "unit/support.hpp"

#include <stratagemm/backend/file.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace support {

namespace sg = stratagemm;
using sg::index_t;

// A folder that goes with its end.
struct folder {
    std::filesystem::path path;
    folder() {
        static int count = 0;
        path = std::filesystem::temp_directory_path() /
               ("stratagemm_files_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
        std::filesystem::create_directory(path);
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::string operator/(char const* name) const { return path / name; }
};

inline sg::file_operations const files;

template <class T>
sg::matrix<T> held(sg::file_matrix<T> const& x) {
    sg::matrix<T> all(x.rows(), x.cols());
    files.copy_async(x.view(), all.view()).or_throw();
    return all;
}
template <class T>
bool same(sg::matrix<T> const& x, sg::matrix<T> const& y) {
    for (index_t i = 0; i < x.rows(); ++i)
        for (index_t j = 0; j < x.cols(); ++j)
            if (!(x(i, j) == y(i, j))) return false;
    return x.rows() == y.rows() && x.cols() == y.cols();
}
template <class T>
sg::file_matrix<T> stored(std::string const& path, sg::matrix<T> const& x,
                          sg::layout order = sg::layout::row_major) {
    auto file = sg::file_matrix<T>::create_npy(path, x.rows(), x.cols(), order);
    files.copy_async(x.view(), file.view()).or_throw();
    return file;
}
inline void write(std::string const& path, std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}
inline std::string bytes_of(std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
template <class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (sg::error const& e) {
        return e.what();
    }
    return "";
}

} // namespace support
