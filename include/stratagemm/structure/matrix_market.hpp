// Sparse matrices in Matrix Market files (R. F. Boisvert, R. Pozo, K. A. Remington: The Matrix Market exchange
// formats, 1996).
//
//   auto const a = sg::read_matrix_market<double>("a.mtx");   a csr_matrix on the host, columns in order
//   sg::gemm(cpu, a, b, c);
//   sg::write_matrix_market("b.mtx", a);                      any sparse operand of the host
//
// Reads coordinate and array files: real, integer, complex and pattern; general, symmetric, skew-symmetric and
// hermitian. The other half of a symmetric matrix is written out; elements of a pattern are 1; zeros of an array
// are left out. An error names the file and its line. try_ forms return errors instead of throwing.
#pragma once

#include "../backend/host.hpp"
#include "../core/list.hpp"
#include "coo.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

STRATAGEMM_BEGIN

// A text file by lines, read in large pieces. [at, end) is what is left of whole lines; a zero follows.
class line_reader {
public:
    line_reader() = default;
    line_reader(line_reader const&) = delete;
    line_reader& operator=(line_reader const&) = delete;
    ~line_reader() {
        if (file_) std::fclose(file_);
    }

    status open(char const* path) {
        path_ = path;
        file_ = std::fopen(path, "rb");
        if (!file_) return wrong(errc::native, "cannot be opened");
        if (!buffer_.reserve(piece + 1)) return wrong(errc::memory, "no host memory is left");
        at = end = buffer_.data();
        return {};
    }
    // Whether there is a line. `at` is where it begins.
    result<bool> next() {
        if (at == end)
            if (status s = refill(); !s) return s;
        ++line_;
        return at != end;
    }
    // Moves to the next character that is no blank, which may be the end of the line.
    void skip_blanks() {
        while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
    }
    bool ends() const { return at == end || *at == '\n'; }
    bool ends_word() const { return ends() || *at == ' ' || *at == '\t' || *at == '\r'; }
    // Moves behind the line, whatever is left of it.
    void skip_line() {
        auto const* const stop =
            static_cast<char const*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        at = stop ? stop + 1 : end;
    }
    [[gnu::cold, gnu::noinline]] status wrong(errc code, char const* what) const {
        return failure(code, "matrix_market", path_ + ": " + what);
    }
    [[gnu::cold, gnu::noinline]] status wrong(error const& e) const { return wrong(e.code(), e.what()); }
    [[gnu::cold, gnu::noinline]] status wrong_line(char const* what) const {
        return failure(errc::argument, "matrix_market",
                       path_ + ", line " + std::to_string(line_) + ": " + what);
    }

    char const *at = nullptr, *end = nullptr;

private:
    static constexpr std::size_t piece = std::size_t{1} << 20;

    // The rest of the buffer moves to the front, and whole lines follow. The last line may lack its end.
    status refill() {
        char* const first = buffer_.data();
        std::memmove(first, end, held_);
        std::size_t const got = std::fread(first + held_, 1, piece - held_, file_);
        if (std::ferror(file_)) return wrong(errc::native, "cannot be read");
        std::size_t const size = held_ + got;
        std::size_t whole = size;
        if (got != 0) {
            while (whole > 0 && first[whole - 1] != '\n') --whole;
            if (whole == 0 && size == piece) return wrong_line("is longer than 1 MiB");
            if (whole == 0) return held_ = size, end = first, refill();
        }
        at = first, end = first + whole, held_ = size - whole;
        first[size] = '\0';
        return {};
    }

    std::string path_;
    std::FILE* file_ = nullptr;
    list<char> buffer_;
    std::size_t held_ = 0; // bytes behind `end`
    index_t line_ = 0;
};

struct matrix_market_header {
    enum { real, integer, complex, pattern } field = real;
    enum { general, symmetric, skew, hermitian } symmetry = general;
    bool coordinate = true;
    index_t rows = 0, cols = 0, entries = 0;
};

// Reads the number at r.at, and moves r.at behind the number. A blank or the end of the line follows.
inline bool read_count(line_reader& r, index_t& x) {
    r.skip_blanks();
    char const* p = r.at;
    std::uint64_t number = 0;
    for (; *p >= '0' && *p <= '9'; ++p) {
        if (number > (std::uint64_t{1} << 59)) return false;
        number = 10 * number + static_cast<std::uint64_t>(*p - '0');
    }
    if (p == r.at) return false;
    r.at = p, x = static_cast<index_t>(number);
    return r.ends_word();
}
// Whether the text of a number beyond the range of any type is that of a large number, and not of one next to 0. strtod
// would take the decimal point from the locale.
inline bool is_large(char const* p, char const* end) {
    long place = 0; // of the first digit that is not 0: above 0, so many are before the point
    bool fraction = false, found = false;
    for (; p != end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') fraction = true;
        if (*p >= '1' && *p <= '9') found = true;
        if (*p >= '0' && *p <= '9' && found != fraction) place += found ? 1 : -1;
    }
    if (p == end) return place > 0;
    if (*++p == '+') ++p;
    long exponent = 0;
    if (std::from_chars(p, end, exponent).ec != std::errc()) return *p != '-';
    return exponent > -place;
}
template <class R>
bool read_number(line_reader& r, R& x) {
    r.skip_blanks();
    bool const has_plus = *r.at == '+', has_minus = r.at[has_plus ? 1 : 0] == '-';
    if (has_plus) ++r.at;
    char const* const from = r.at;
    auto const [stop, error] = std::from_chars(from, r.end, x);
    r.at = stop;
    bool const beyond = error == std::errc::result_out_of_range;
    if (beyond) x = is_large(from, stop) ? infinite<R>() : R(0);
    if (beyond && has_minus) x = -x;
    return (beyond || error == std::errc()) && !(has_plus && has_minus) && r.ends_word();
}

// An element as the file has it, or why not.
template <class T>
char const* read_element(line_reader& r, matrix_market_header const& h, T& x) {
    using number = std::conditional_t<std::is_integral_v<T>, double, real_t<T>>;
    number re = 1, im = 0;
    if (h.field != h.pattern && !read_number(r, re)) return "a number is missing, or is none";
    if (h.field == h.complex && !read_number(r, im)) return "an imaginary part is missing, or is no number";
    if constexpr (complex_like<T>) {
        x = T(re, im);
    } else if constexpr (std::is_integral_v<T>) {
        // The other half of a skew-symmetric matrix has the number with another sign.
        if (!holds<T>(re) || (h.symmetry == h.skew && !holds<T>(-re)))
            return "a number is none of the type that is read";
        x = static_cast<T>(re);
    } else {
        x = static_cast<T>(re);
    }
    return nullptr;
}

// The banner, comments and sizes.
inline status read_header(line_reader& r, matrix_market_header& h) {
    auto line = r.next();
    if (!line) return line.take_status();
    auto const word = [&] {
        std::string text;
        for (r.skip_blanks(); !r.ends_word(); ++r.at)
            text += *r.at >= 'A' && *r.at <= 'Z' ? static_cast<char>(*r.at - 'A' + 'a') : *r.at;
        return text;
    };
    if (!*line || word() != "%%matrixmarket" || word() != "matrix")
        return r.wrong_line("the file does not begin with %%MatrixMarket matrix");
    std::string const kind = word(), field = word(), symmetry = word();
    h.coordinate = kind == "coordinate";
    if (!h.coordinate && kind != "array") return r.wrong_line("the format is neither coordinate nor array");
    if (field == "real" || field == "double")
        h.field = h.real;
    else if (field == "integer")
        h.field = h.integer;
    else if (field == "complex")
        h.field = h.complex;
    else if (field == "pattern" && h.coordinate)
        h.field = h.pattern;
    else
        return r.wrong_line("the field is none of real, integer, complex and, of coordinates, pattern");
    if (symmetry == "general")
        h.symmetry = h.general;
    else if (symmetry == "symmetric")
        h.symmetry = h.symmetric;
    else if (symmetry == "skew-symmetric" && h.field != h.pattern)
        h.symmetry = h.skew;
    else if (symmetry == "hermitian" && h.field == h.complex)
        h.symmetry = h.hermitian;
    else
        return r.wrong_line("the symmetry is none of general, symmetric, skew-symmetric and, of complex "
                            "numbers, hermitian");
    for (;;) {
        r.skip_line();
        if (line = r.next(); !line) return line.take_status();
        if (!*line) return r.wrong_line("the file ends before its sizes");
        r.skip_blanks();
        if (!r.ends() && *r.at != '%') break;
    }
    bool const read =
        read_count(r, h.rows) && read_count(r, h.cols) && (!h.coordinate || read_count(r, h.entries));
    r.skip_blanks();
    if (!read || !r.ends())
        return r.wrong_line(h.coordinate ? "expected the numbers of rows, columns and entries"
                                         : "expected the numbers of rows and columns");
    if (h.symmetry != h.general && h.rows != h.cols)
        return r.wrong_line("a symmetric matrix has as many rows as columns");
    r.skip_line();
    return {};
}

// The elements of a file, mirrored where it has one half of them.
template <class T, class Index>
struct matrix_market_entries {
    list<Index> rows, columns;
    list<T> values;

    bool add(index_t i, index_t j, T x) {
        return rows.append(static_cast<Index>(i)) && columns.append(static_cast<Index>(j)) &&
               values.append(x);
    }
    bool add(index_t i, index_t j, T x, matrix_market_header const& h) {
        if (!add(i, j, x)) return false;
        if (h.symmetry == h.general || i == j) return true;
        if (h.symmetry == h.skew) x = static_cast<T>(-static_cast<accumulator_t<T>>(x));
        return add(j, i, h.symmetry == h.hermitian ? conjugate(x) : x);
    }
};

template <class T, class Index>
status read_entries(line_reader& r, matrix_market_header const& h, matrix_market_entries<T, Index>& to) {
    // A file with one half of a matrix has the diagonal and the elements below it, column by column.
    index_t const first = h.symmetry == h.skew ? 1 : 0;
    index_t i = h.symmetry == h.general ? 0 : first, j = 0;
    bool const is_half = h.symmetry != h.general;
    index_t const side = h.rows;
    index_t count = h.entries;
    if (!h.coordinate && __builtin_mul_overflow(h.rows, h.cols, &count))
        return r.wrong(errc::overflow, "the matrix has more elements than there can be");
    if (!h.coordinate && is_half) count = side * (side + 1) / 2 - first * side;
    for (index_t done = 0; done < count;) {
        auto line = r.next();
        if (!line) return line.take_status();
        if (!*line) {
            char text[120];
            __builtin_snprintf(text, sizeof(text), "the file ends after %td of %td entries", done, count);
            return r.wrong_line(text);
        }
        r.skip_blanks();
        if (r.ends()) {
            r.skip_line();
            continue;
        }
        if (h.coordinate) {
            if (!read_count(r, i) || !read_count(r, j)) return r.wrong_line("expected a row and a column");
            if (i < 1 || i > h.rows) return r.wrong_line("the row is out of range");
            if (j < 1 || j > h.cols) return r.wrong_line("the column is out of range");
            --i, --j;
            if (is_half && i < j + first)
                return r.wrong_line(first == 0
                                        ? "a symmetric matrix has no entries above its diagonal"
                                        : "a skew-symmetric matrix has entries below its diagonal only");
        }
        T x{};
        if (char const* const wrong = read_element(r, h, x)) return r.wrong_line(wrong);
        r.skip_blanks();
        if (!r.ends()) return r.wrong_line("there is more in the line than an entry");
        r.skip_line();
        bool const is_listed = h.coordinate || !(static_cast<accumulator_t<T>>(x) ==
                                                 accumulator_t<T>(real_t<accumulator_t<T>>(0)));
        if (is_listed && !to.add(i, j, x, h)) return r.wrong(errc::memory, "no host memory is left");
        ++done;
        if (!h.coordinate && ++i == h.rows) ++j, i = is_half ? j + first : 0;
    }
    // Nothing may follow.
    for (;;) {
        auto line = r.next();
        if (!line) return line.take_status();
        if (!*line) return {};
        r.skip_blanks();
        if (!r.ends()) return r.wrong_line("there are more entries than the header says");
        r.skip_line();
    }
}

template <class T, class Index = std::int32_t>
result<csr_matrix<T, Index, host>> try_read_matrix_market(char const* path) {
    return or_no_memory([&]() -> result<csr_matrix<T, Index, host>> {
        line_reader r;
        if (status s = r.open(path); !s) return s;
        matrix_market_header h;
        if (status s = read_header(r, h); !s) return s;
        if (h.field == h.complex && !complex_like<T>)
            return r.wrong(errc::argument, "the matrix is complex, and is read into a real type");
        if (!can_count<Index>(h.rows) || !can_count<Index>(h.cols))
            return r.wrong(errc::overflow, "a side is longer than 32-bit indices can count; read it with "
                                           "std::int64_t");
        matrix_market_entries<T, Index> entries;
        if (status s = read_entries(r, h, entries); !s) return s;
        // Sorted by columns and then by rows.
        coo<T, Index> const all{h.rows,
                                h.cols,
                                entries.rows.data(),
                                entries.columns.data(),
                                entries.values.data(),
                                static_cast<index_t>(entries.values.size())};
        host const one{1};
        auto by_columns = try_by_rows(one, all.transposed());
        if (!by_columns) return r.wrong(by_columns.error());
        auto sorted = try_by_rows(one, by_columns->view().transposed());
        if (!sorted) return r.wrong(sorted.error());
        return sorted;
    });
}
template <class T, class Index = std::int32_t>
csr_matrix<T, Index, host> read_matrix_market(char const* path) {
    auto read = try_read_matrix_market<T, Index>(path);
    read.or_throw();
    return std::move(*read);
}
template <class T, class Index = std::int32_t>
csr_matrix<T, Index, host> read_matrix_market(std::string const& path) {
    return read_matrix_market<T, Index>(path.c_str());
}

// Writes real, integer or complex coordinates of a general matrix; for a csr_of_ones without a factor, writes a
// pattern. Each number has the fewest digits that are read as the same number.
template <sparse_operand X>
status try_write_matrix_market(char const* path,
                               X const& x) requires std::is_same_v<typename X::space, host_memory> {
    using T = typename X::value_type;
    using S = accumulator_t<T>;
    return or_no_memory([&]() -> status {
        auto const wrong = [&](char const* what) {
            return failure(errc::native, "matrix_market", std::string(path) + ": " + what);
        };
        auto listed = try_by_rows(host{1}, x);
        if (!listed) return listed.take_status();
        auto const a = listed->view();
        std::FILE* const file = std::fopen(path, "wb");
        if (!file) return wrong("cannot be made");
        std::string text = "%%MatrixMarket matrix coordinate ";
        constexpr bool valued = has_values<decltype(a)>;
        bool const is_pattern = !valued && a.scale == S(real_t<S>(1));
        text += is_pattern              ? "pattern"
                : complex_like<T>       ? "complex"
                : std::is_integral_v<T> ? "integer"
                                        : "real";
        text += " general\n";
        auto const put = [&](auto number, char behind) {
            char digits[64];
            auto const end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
            text.append(digits, end), text += behind;
        };
        put(a.rows, ' '), put(a.cols, ' '), put(a.nonzeros, '\n');
        bool written = true;
        auto const flush = [&] {
            written &= std::fwrite(text.data(), 1, text.size(), file) == text.size();
            text.clear();
        };
        for (index_t i = 0; i < a.rows; ++i)
            for (index_t at = a.row_begins[i]; at < a.row_begins[i + 1]; ++at) {
                put(i + 1, ' '), put(a.columns[at] + index_t{1}, is_pattern ? '\n' : ' ');
                if (!is_pattern) {
                    S number = a.scale;
                    if constexpr (valued) number = a.number(at);
                    if constexpr (complex_like<T>)
                        put(number.real(), ' '), put(number.imag(), '\n');
                    else
                        put(number, '\n');
                }
                if (text.size() > 1 << 16) flush();
            }
        flush();
        written &= std::fclose(file) == 0;
        return written ? status() : wrong("cannot be written");
    });
}
template <class M>
void write_matrix_market(char const* path, M const& matrix) {
    try_write_matrix_market(path, as_view(matrix)).or_throw();
}
template <class M>
void write_matrix_market(std::string const& path, M const& matrix) {
    write_matrix_market(path.c_str(), matrix);
}

STRATAGEMM_END
