// Matrices in files: what is read and written, whatever strides they have, and what is no matrix.
#include "catch.hpp"
#include "files.hpp"

#include <stratagemm/algorithm/out_of_core/files.hpp>
#include <stratagemm/stratagemm.hpp>

#include <complex>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace sg = stratagemm;
using sg::index_t;
using support::contains;
using support::files;
using support::folder;
using support::held;
using support::message_of;
using support::same;
using support::stored;
using support::write;

TEST_CASE(".npy files of versions 1 to 3, and what is wrong with others") {
    folder const here;
    std::string const six(24, '\0');
    auto const file = [&](char version, std::string const& text) {
        std::string head("\x93NUMPY", 6);
        head += version, head += '\0';
        head += static_cast<char>(text.size()), head += '\0';
        if (version > 1) head += std::string(2, '\0');
        return head + text + six;
    };
    std::string const usual = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    for (char const version : {'\1', '\2', '\3'}) {
        write(here / "x.npy", file(version, usual));
        sg::file_matrix<float> const x(here / "x.npy");
        CHECK(x.rows() == 2);
        CHECK(x.cols() == 3);
    }
    write(here / "x.npy", file('\1', R"({"shape":(3,2),"fortran_order":True,"descr":"<f4"})"));
    CHECK(sg::file_matrix<float>(here / "x.npy").view().row_stride == 1);
    auto const message = [&](std::string const& bytes) {
        write(here / "x.npy", bytes);
        return message_of([&] { sg::file_matrix<float> const x(here / "x.npy"); });
    };
    CHECK(contains(message("short"), "is too short to be a .npy file"));
    CHECK(contains(message("not a file of NumPy's"), "is not a .npy file; for a raw one, say its layout"));
    CHECK(contains(message(file('\4', usual)), "version 4, and versions 1 to 3 are known"));
    CHECK(contains(message(file('\1', usual).substr(0, 40)), "truncated within its header"));
    CHECK(contains(message(file('\1', usual).substr(0, 80)), "is truncated: a matrix of 2 x 3 takes "));
    CHECK(contains(message(file('\1', "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }")),
                   "has elements of type >f4, and the matrix is of <f4"));
    CHECK(contains(message(file('\1', "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }")),
                   "has elements of type <f8"));
    CHECK(contains(message(file('\1', "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }")),
                   "has the shape (6,), and a matrix has two sides"));
    CHECK(
        contains(message(file('\1', "{'descr': '<f4', 'fortran_order': False}")), "a header without shape"));
    CHECK(contains(
        message(file('\1', "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 3)}")),
        "more bytes than a file can"));
    CHECK(
        contains(message_of([&] { sg::file_matrix<float> const x(here / "none.npy"); }), "cannot be opened"));
    CHECK(contains(message_of([&] { sg::file_matrix<float> const x(here.path); }), "is not a regular file"));
}

// The bytes of a raw file tell what was written where.
TEST_CASE("matrices in files have any strides, and copies go one way") {
    folder const here;
    constexpr index_t m = 5, n = 7, all = 400;
    auto const x = support::integers<float>(m, n, 1);
    auto const turned = [&] { // the same by columns, not const
        sg::matrix<float> t(n, m);
        for (index_t i = 0; i < m; ++i)
            for (index_t j = 0; j < n; ++j) t(j, i) = x(i, j);
        return t;
    };
    auto raw = sg::file_matrix<float>::create(here / "x.bin", {.rows = 1, .cols = all});
    struct layout {
        index_t first, row_stride, col_stride;
    };
    for (layout const& l : {layout{3, 7, 1},
                            {3, 9, 1},
                            {3, 1, 5},
                            {0, 20, 2},
                            {0, 2, 20},
                            {100, -9, 1},
                            {100, 9, -1},
                            {100, -20, 2},
                            {100, 2, -14},
                            {200, -1, -6},
                            {0, 8, 1}}) {
        INFO("first " << l.first << ", strides " << l.row_stride << " and " << l.col_stride);
        auto view = raw.view();
        view.data = view.data + l.first, view.rows = m, view.cols = n;
        view.row_stride = l.row_stride, view.col_stride = l.col_stride;
        auto const right = [&] {
            std::vector<float> expected(all, -1.0f);
            for (index_t i = 0; i < m; ++i)
                for (index_t j = 0; j < n; ++j)
                    expected[static_cast<std::size_t>(l.first + i * l.row_stride + j * l.col_stride)] =
                        x(i, j);
            auto const now = held(raw);
            for (index_t e = 0; e < all; ++e)
                if (now(0, e) != expected[static_cast<std::size_t>(e)]) return false;
            return true;
        };
        auto const clear = [&] { files.fill(raw.view(), -1.0f).or_throw(); };

        clear();
        files.copy_async(x.view(), view).or_throw();
        CHECK(right());
        clear();
        auto t = turned();
        files.copy_async(t.view().transposed(), view).or_throw();
        CHECK(right());
        CHECK(same(t, turned())); // what is copied stays
        sg::matrix<float> back(m, n), back_by_columns(n, m);
        files.copy_async(view, back.view()).or_throw();
        CHECK(same(back, x));
        files.copy_async(view, back_by_columns.view().transposed()).or_throw();
        CHECK(same(back_by_columns, turned()));
        CHECK(right());

        clear();
        files.fill(view, 2.0f).or_throw();
        files.copy(stored(here / "y.npy", x).view(), view).or_throw();
        CHECK(right());
        clear();
        sg::matrix<float> const left(m, 3, [](index_t i, index_t l2) { return static_cast<float>(i - l2); });
        auto const right_side = support::integers<float>(3, n, 2);
        sg::gemm(sg::out_of_core{sg::host{.threads = 1}, {.host_bytes = 800}}, stored(here / "a.npy", left),
                 stored(here / "b.npy", right_side), view);
        files.copy_async(view, back.view()).or_throw();
        CHECK(same(back, support::product_of(left, right_side)));
    }
}

// A sanitizer sees what is read beyond the end of one.
TEST_CASE("headers of .npy files that end anywhere, and sides that are none") {
    folder const here;
    auto const message = [&](std::string const& text) {
        std::string head("\x93NUMPY\x01\x00", 8);
        head += static_cast<char>(text.size()), head += '\0';
        write(here / "x.npy", head + text + std::string(24, '\0'));
        return message_of([&] { sg::file_matrix<float> const x(here / "x.npy"); });
    };
    std::string const before = "{'descr': '<f4', 'fortran_order': False, 'shape': ",
                      usual = before + "(2, 3), }";
    for (std::size_t size = 0; size < usual.size(); ++size) {
        INFO(usual.substr(0, size));
        bool const whole = size > usual.find(')');
        CHECK((message(usual.substr(0, size)) == "") == whole);
    }
    for (char const* shape :
         {"(", "(1000000000000000000", "(2", "(2,", "(2, ", "(2, 3", "(2, 3,", "(,)", "(2,,3)", "(2, 3,,)",
          "(2 3)", "(-2, 3)", "(2, -3)", "(2, 3, 1)", "(2.5, 3)", "(99999999999999999999, 0)"}) {
        INFO(shape);
        CHECK(contains(message(before + shape), "and a matrix has two sides"));
    }
    for (char const* shape : {"(2,3)", "(2, 3,)", "( 2 , 3 )", "(2,\n3)", "(0, 9223372036854775807)"}) {
        INFO(shape);
        CHECK(message(before + shape) == "");
    }
    for (char const* shape :
         {"(9223372036854775807, 1)", "(4294967296, 4294967296)", "(3037000500, 3037000500)"}) {
        INFO(shape);
        CHECK(contains(message(before + shape), "more bytes than a file can"));
    }
}

// What hangs is ended by a signal.
TEST_CASE("a pipe in the place of a file is refused") {
    folder const here;
    REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0);
    ::alarm(20);
    CHECK(contains(message_of([&] { sg::file_matrix<float> const x(here / "pipe"); }),
                   "is not a regular file"));
    CHECK(contains(message_of([&] { sg::file_matrix<float> const x(here / "pipe", true); }),
                   "is not a regular file"));
    CHECK(contains(message_of([&] { (void)sg::npy_type(here / "pipe"); }), "is not a regular file"));
    CHECK(contains(message_of([&] { (void)sg::file_matrix<float>::create_npy(here / "pipe", 2, 2); }),
                   "is not a regular file"));
    ::alarm(0);
}

TEST_CASE("a copy to or from a file wants one shape") {
    folder const here;
    auto x = stored(here / "x.npy", support::integers<float>(5, 7, 1));
    sg::matrix<float> y(5, 6);
    CHECK(contains(files.copy_async(x.view(), y.view()).error().what(), "must have the same shape"));
    CHECK(contains(files.copy_async(y.view(), x.view()).error().what(), "must have the same shape"));
}
