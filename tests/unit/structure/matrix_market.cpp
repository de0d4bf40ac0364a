#include "catch.hpp"
#include "sparse.hpp"
#include "unit/support.hpp"

#include <stratagemm/structure/bsr.hpp>
#include <stratagemm/structure/matrix_market.hpp>

#include <bit>
#include <clocale>
#include <cmath>
#include <complex>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <unistd.h>

namespace sg = stratagemm;
using support::contains;
using support::equal;

namespace {

// A file that is gone when the test is over.
struct temporary_file {
    std::string path =
        (std::filesystem::temp_directory_path() / ("stratagemm_" + std::to_string(::getpid()) + ".mtx"))
            .string();

    explicit temporary_file(std::string const& text) {
        std::FILE* const file = std::fopen(path.c_str(), "wb");
        std::fwrite(text.data(), 1, text.size(), file);
        std::fclose(file);
    }
    temporary_file(temporary_file const&) = delete;
    ~temporary_file() { std::remove(path.c_str()); }
};

template <class T>
sg::matrix<T> dense(sg::csr_matrix<T, std::int32_t, sg::host> const& a) {
    CHECK(static_cast<bool>(a.view().check()));
    sg::matrix<T> const one(a.cols(), a.cols(),
                            [](sg::index_t i, sg::index_t j) { return i == j ? 1.0f : 0.0f; });
    sg::matrix<T> all(a.rows(), a.cols());
    sg::gemm(sg::host{1}, a, one, all);
    return all;
}
template <class T>
sg::matrix<T> read(std::string const& text) {
    temporary_file const file(text);
    return dense(sg::read_matrix_market<T>(file.path));
}
template <class T>
std::string refusal(std::string const& text) {
    temporary_file const file(text);
    auto const a = sg::try_read_matrix_market<T>(file.path.c_str());
    return a ? "read" : a.error().what();
}

} // namespace

TEST_CASE("matrix market: what is written is read, of every shape") {
    auto const try_one = [](auto const& a) {
        temporary_file const file("");
        sg::write_matrix_market(file.path, a.view());
        auto const back = sg::read_matrix_market<double>(file.path);
        CHECK(static_cast<bool>(back.view().check_sorted()));
        CHECK(back.view().nonzeros == static_cast<sg::index_t>(a.values.size()));
        CHECK(equal(dense(back), a.dense()));
    };
    try_one(support::uniform_sparse<double>(40, 30, 0.2, 1));
    try_one(support::power_law<double>(30, 60, 1.2, 2));
    try_one(support::banded<double>(20, 25, 2, 3));
    try_one(support::blocks<double>(24, 32, 4, 0.3, 4));
    // Numbers that take all digits, and a factor.
    sg::matrix<double> const x = support::fractions<double>(7, 9, 5);
    std::vector<std::int32_t> begins{0}, columns;
    for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < 9; ++j) columns.push_back(j);
        begins.push_back(9 * (i + 1));
    }
    sg::csr<double> const all{7, 9, begins.data(), columns.data(), x.data(), 63};
    temporary_file const file("");
    sg::write_matrix_market(file.path, sg::scaled(-1.0, all));
    auto const back = dense(sg::read_matrix_market<double>(file.path));
    int wrong = 0;
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 9; ++j) wrong += back(i, j) != -x(i, j);
    CHECK(wrong == 0);
}

TEST_CASE("matrix market: a pattern") {
    auto const a = support::uniform_sparse<double>(40, 30, 0.2, 1);
    auto const places = sg::to_csr_of_ones(sg::host{}, a.view());
    temporary_file const file("");
    sg::write_matrix_market(file.path, places);
    auto const size = std::filesystem::file_size(file.path);
    auto const back = sg::read_matrix_market<double>(file.path);
    CHECK(equal(dense(back), dense(sg::to_csr(sg::host{}, places))));
    // A factor takes values.
    sg::write_matrix_market(file.path, sg::scaled(3.0, places.view()));
    CHECK(std::filesystem::file_size(file.path) > size);
    CHECK(equal(dense(sg::read_matrix_market<double>(file.path)),
                dense(sg::to_csr(sg::host{}, sg::scaled(3.0, places.view())))));
}

TEST_CASE("matrix market: a file of many pieces") {
    auto const a = support::uniform_sparse<float>(700, 800, 0.5, 7);
    temporary_file const file("");
    sg::write_matrix_market(file.path, a.view());
    CHECK(std::filesystem::file_size(file.path) > (2u << 20));
    auto const back = sg::read_matrix_market<float>(file.path);
    auto const v = back.view();
    REQUIRE(v.nonzeros == static_cast<sg::index_t>(a.values.size()));
    int wrong = 0;
    for (sg::index_t at = 0; at < v.nonzeros; ++at)
        wrong += v.columns[at] != a.columns[static_cast<std::size_t>(at)] ||
                 v.values[at] != a.values[static_cast<std::size_t>(at)];
    CHECK(wrong == 0);
}

TEST_CASE("matrix market: fields and symmetries") {
    auto x = read<double>("%%MatrixMarket matrix coordinate real general\n% a comment\n\n 2 3 3\n"
                          "1 1 1.5\n2 3 -2e1\r\n\n1\t2 +4");
    CHECK((x(0, 0) == 1.5 && x(1, 2) == -20 && x(0, 1) == 4 && x(1, 1) == 0));
    x = read<double>("%%matrixmarket MATRIX coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n");
    CHECK((x(1, 0) == 1 && x(0, 1) == 1 && x(2, 2) == 1 && x(0, 0) == 0));
    x = read<double>("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n");
    CHECK((x(1, 0) == 5 && x(0, 1) == -5));
    x = read<double>("%%MatrixMarket matrix array real general\n2 2\n1\n2\n0\n4\n");
    CHECK((x(0, 0) == 1 && x(1, 0) == 2 && x(0, 1) == 0 && x(1, 1) == 4));
    x = read<double>("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n4\n");
    CHECK((x(0, 0) == 1 && x(1, 0) == 2 && x(0, 1) == 2 && x(1, 1) == 4));
    x = read<double>("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n4\n");
    CHECK((x(1, 0) == 1 && x(0, 1) == -1 && x(2, 0) == 2 && x(2, 1) == 4 && x(1, 2) == -4));
    using Z = std::complex<double>;
    auto const z = read<Z>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n");
    CHECK((z(0, 0) == Z(3, 0) && z(1, 0) == Z(1, 2) && z(0, 1) == Z(1, -2)));
    temporary_file const file("");
    std::vector<std::int32_t> const begins{0, 2}, columns{0, 1};
    std::vector<Z> const values{{1, 2}, {3, 4}};
    sg::csr<Z> const row{1, 2, begins.data(), columns.data(), values.data(), 2};
    sg::write_matrix_market(file.path, sg::conjugated(row));
    auto const back = sg::read_matrix_market<Z>(file.path);
    CHECK((back.view().values[0] == Z(1, -2) && back.view().values[1] == Z(3, -4)));
    auto const none = read<double>("%%MatrixMarket matrix coordinate real general\n4 5 0\n");
    CHECK((none.rows() == 4 && none.cols() == 5 && none(3, 4) == 0));
    // Beyond the type: Inf, and nothing.
    auto const f = read<double>("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e-400\n");
    CHECK(f(0, 0) == 0);
}

TEST_CASE("matrix market: what is wrong is said, with its line") {
    std::string const head = "%%MatrixMarket matrix coordinate real general\n";
    auto const says = [](std::string const& text, char const* words) {
        std::string const said = refusal<float>(text);
        INFO(said);
        CHECK(contains(said, words));
    };
    says("", "line 1: the file does not begin with %%MatrixMarket matrix");
    says("1 1 1\n", "line 1: the file does not begin");
    says("%%MatrixMarket matrix list real general\n", "line 1: the format is neither");
    says("%%MatrixMarket matrix coordinate quaternion general\n", "line 1: the field");
    says("%%MatrixMarket matrix coordinate real lower\n", "line 1: the symmetry");
    says("%%MatrixMarket matrix coordinate real hermitian\n", "line 1: the symmetry");
    says(head, "line 2: the file ends before its sizes");
    says(head + "3 3\n", "line 2: expected the numbers of rows, columns and entries");
    says(head + "3 x 1\n", "line 2: expected");
    says(head + "3 3 1 1\n", "line 2: expected");
    says(head + "3 3 2\n1 1 1\n", "line 4: the file ends after 1 of 2 entries");
    says(head + "3 3 1\n1 1 1\n2 2 2\n", "line 4: there are more entries");
    says(head + "3 3 1\n4 1 1\n", "line 3: the row is out of range");
    says(head + "3 3 1\n0 1 1\n", "line 3: the row is out of range");
    says(head + "3 3 1\n1 4 1\n", "line 3: the column is out of range");
    says(head + "3 3 1\n-1 1 1\n", "line 3: expected a row and a column");
    says(head + "3 3 1\n1 1\n", "line 3: a number is missing");
    says(head + "3 3 1\n1 1 abc\n", "line 3: a number is missing, or is none");
    says(head + "3 3 1\n1 1 1 1\n", "line 3: there is more in the line");
    says(head + "3000000000 3 0\n", "32-bit indices");
    says(head + "3 3 1\n1 2.85\n", "line 3: expected a row and a column");
    says(head + "3 3 1\n1.0 2 5\n", "line 3: expected a row and a column");
    says(head + "3 3 1.\n1 2 5\n", "line 2: expected the numbers");
    says(head + "3 3 1\n1 2 1.5.5\n", "line 3: a number is missing, or is none");
    says(head + "3 3 1\n1 2 +-5\n", "line 3: a number is missing, or is none");
    CHECK(contains(refusal<std::complex<float>>("%%MatrixMarket matrix coordinate complex general\n"
                                                "1 1 1\n1 1 1-2\n"),
                   "line 3: a number is missing, or is none"));
    std::string const skew = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 ";
    CHECK(contains(refusal<std::int8_t>(skew + "-128\n"), "line 3: a number is none of the type"));
    CHECK(contains(refusal<std::int32_t>(skew + "-2147483648\n"), "line 3: a number is none of the type"));
    CHECK(read<std::int32_t>(skew + "-2147483647\n")(0, 1) == 2147483647);
    says("%%MatrixMarket matrix coordinate real symmetric\n3 2 0\n",
         "line 2: a symmetric matrix has as many");
    says("%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 2 1\n",
         "line 3: a symmetric matrix has no");
    says("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "read into a real type");
    says("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "line 6: the file ends after 3 of 4");
    CHECK(contains(refusal<std::int8_t>(head + "1 1 1\n1 1 300\n"), "line 3: a number is none of the type"));
    CHECK(contains(refusal<std::int8_t>(head + "1 1 1\n1 1 0.5\n"), "line 3: a number is none of the type"));
    auto const missing = sg::try_read_matrix_market<float>("no such file.mtx");
    REQUIRE(!missing);
    CHECK(missing.error().code() == sg::errc::native);
    CHECK(contains(missing.error().what(), "no such file.mtx: cannot be opened"));
    CHECK(!sg::try_write_matrix_market("no such folder/a.mtx", support::banded<float>(2, 2, 1, 1).view()));
}

TEMPLATE_TEST_CASE("matrix market: Inf, NaN and the sign of a zero are written and read as they are", "",
                   float, double, std::complex<float>, std::complex<double>) {
    using T = TestType;
    using R = sg::real_t<T>;
    R const inf = std::numeric_limits<R>::infinity(), least = std::numeric_limits<R>::denorm_min();
    std::vector<R> const numbers{inf,
                                 -inf,
                                 R(0),
                                 -R(0),
                                 least,
                                 -least,
                                 std::numeric_limits<R>::max(),
                                 R(0.1),
                                 std::numeric_limits<R>::quiet_NaN()};
    std::vector<T> values;
    for (R const re : numbers)
        if constexpr (sg::complex_like<T>)
            for (R const im : numbers) values.emplace_back(re, im);
        else
            values.push_back(re);
    auto const count = static_cast<std::int32_t>(values.size());
    std::vector<std::int32_t> const begins{0, count};
    std::vector<std::int32_t> columns;
    for (std::int32_t j = 0; j < count; ++j) columns.push_back(j);
    sg::csr<T> const row{1, count, begins.data(), columns.data(), values.data(), count};
    auto const bits = [](T const& x) {
        auto const of = [](R part) { // of NaN, that it is one
            return part == part
                       ? std::bit_cast<std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>>(part)
                       : 1;
        };
        if constexpr (sg::complex_like<T>)
            return std::pair(of(x.real()), of(x.imag()));
        else
            return of(x);
    };
    temporary_file const file("");
    sg::write_matrix_market(file.path, row);
    auto const back = sg::read_matrix_market<T>(file.path);
    sg::matrix<T> whole(1, count);
    sg::to_dense(sg::host{}, row, whole);
    auto const blocks = sg::to_bsr(sg::host{}, row, 1);
    int wrong = 0;
    for (std::int32_t j = 0; j < count; ++j) {
        auto const expected = bits(values[static_cast<std::size_t>(j)]);
        wrong += bits(back.view().values[j]) != expected;
        wrong += bits(whole(0, j)) != expected;
        wrong += bits(blocks.view().values[j]) != expected;
    }
    CHECK(wrong == 0);
}

TEST_CASE("matrix market: numbers beyond the range, whatever the locale") {
    struct german { // where it is installed: 1.5 is 1,5 there
        german() { std::setlocale(LC_NUMERIC, "de_DE.UTF-8"); }
        german(german const&) = delete;
        ~german() { std::setlocale(LC_NUMERIC, "C"); }
    } const numbers;
    auto const number = [](auto zero, std::string const& text) {
        temporary_file const file("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + text + "\n");
        return static_cast<double>(sg::read_matrix_market<decltype(zero)>(file.path).view().values[0]);
    };
    double const inf = std::numeric_limits<double>::infinity();
    for (auto const& [text, value] : {std::pair<char const*, double>{"1.5e400", inf},
                                      {"-1.5e400", -inf},
                                      {"+1.5e+400", inf},
                                      {"1.5e-400", 0},
                                      {"-0.0015e-400", 0},
                                      {"0.001e99999999999999999999", inf},
                                      {"7e-99999999999999999999", 0}}) {
        INFO(text);
        CHECK(number(0.0, text) == value);
        CHECK(std::signbit(number(0.0, text)) == (*text == '-'));
        CHECK(number(0.0f, text) == value);
    }
    CHECK(number(0.0f, "1.5e39") == inf);
    CHECK(number(0.0f, "0.00015e43") == inf);
    CHECK(number(0.0f, "1.5e-60") == 0);
    CHECK(number(0.0, std::string(400, '9')) == inf);
    CHECK(number(0.0, "0." + std::string(400, '0') + "1") == 0);
    CHECK(number(0.0, "0." + std::string(400, '0') + "1e401") == 1);
    CHECK(number(0.0, "5e-324") > 0);
}

TEST_CASE("matrix market: sides beyond all memory are refused") {
    // 2^61 + 1 numbers of 8 bytes are 8 bytes, modulo 2^64.
    for (char const* const sides : {"2305843009213693952 1 1\n1 1 1\n", "1 2305843009213693952 1\n1 1 1\n",
                                    "2305843009213693952 2305843009213693952 0\n"}) {
        temporary_file const file(std::string("%%MatrixMarket matrix coordinate real general\n") + sides);
        auto const a = sg::try_read_matrix_market<float, std::int64_t>(file.path.c_str());
        REQUIRE(!a);
        CHECK(a.error().code() == sg::errc::overflow);
        CHECK(contains(a.error().what(), file.path));
        CHECK(contains(a.error().what(), "more than 2^52 rows, columns or elements"));
    }
}
