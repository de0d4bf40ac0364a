// Matrices in files: memory of a space of its own, and the leaf that reads and writes it.
//
//   sg::file_matrix<float> a("a.npy");    .npy, versions 1 to 3, C and Fortran order
//   sg::file_matrix<float> b("b.bin", {.rows = k, .cols = n, .leading = ldb, .offset = 64});  raw, by rows
//   auto c = sg::file_matrix<float>::create_npy("c.npy", a.rows(), b.cols());
//
// algorithm/out_of_core/files.hpp multiplies them. A file is read and written by blocks with pread and
// pwrite; nothing is mapped, so that an error of the disk is an error of the call. Elements are as this
// machine has them, in its order of bytes.
#pragma once

#include "../core/list.hpp"
#include "../core/matrix.hpp"
#include "../device/transfer.hpp"
#include "host/memory.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

STRATAGEMM_BEGIN

[[gnu::cold, gnu::noinline]] inline error file_error(std::string_view path, char const* what, int code) {
    return error(code == ENOMEM ? errc::memory : errc::native, "file",
                 std::string(path) + ": " + what + (code ? std::string(": ") + std::strerror(code) : ""),
                 code);
}

// A file that is open until nobody has it any more.
class matrix_file {
public:
    // Fails by exception, as constructors of matrices do.
    matrix_file(std::string path, bool writable, bool create) : path_(std::move(path)), writable_(writable) {
        // A pipe without a writer is refused below: O_NONBLOCK, or open() would wait for one.
        int const how = (writable ? O_RDWR : O_RDONLY) | (create ? O_CREAT : 0) | O_NONBLOCK | O_CLOEXEC;
        fd_ = ::open(path_.c_str(), how, 0666);
        if (fd_ < 0)
            raise(file_error(path_, writable ? "cannot be opened for writing" : "cannot be opened", errno));
        struct stat s {};
        if (::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode)) {
            int const code = errno;
            ::close(fd_);
            raise(file_error(path_, "is not a regular file", S_ISREG(s.st_mode) ? code : 0));
        }
        // One file is one place, however often it is opened.
        identity_ = 2 * (static_cast<std::uint64_t>(s.st_ino) +
                         static_cast<std::uint64_t>(s.st_dev) * 0x9e3779b97f4a7c15u) +
                    1; // not null
        size_ = static_cast<index_t>(s.st_size);
    }
    matrix_file(matrix_file const&) = delete;
    matrix_file& operator=(matrix_file const&) = delete;
    ~matrix_file() { ::close(fd_); }

    std::string const& path() const { return path_; }
    bool writable() const { return writable_; }
    index_t size() const { return size_; }
    void const* identity() const { return reinterpret_cast<void const*>(identity_); }

    // What it is now, which is another text when it was written to, renamed or replaced. The time of the last write
    // can be set back, that of the last change of any kind cannot.
    std::string state() const {
        struct stat s {};
        if (::fstat(fd_, &s) != 0) return "unknown";
        return "file " + std::to_string(identity_) + " of " + std::to_string(s.st_size) + " bytes, changed " +
               std::to_string(s.st_ctim.tv_sec) + " s and " + std::to_string(s.st_ctim.tv_nsec) + " ns";
    }

    void resize(index_t bytes) {
        if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0)
            raise(file_error(path_, "cannot be made as long as the matrix needs", errno));
        size_ = bytes;
    }
    status check_writable() const {
        if (writable_) return {};
        return file_error(path_, "is open for reading alone: C needs file_matrix(path, true), or create_npy",
                          0);
    }
    status read(void* to, index_t bytes, index_t at) const {
        for (auto* p = static_cast<char*>(to); bytes > 0;) {
            ssize_t const n = ::pread(fd_, p, static_cast<std::size_t>(bytes), static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return file_error(path_, "cannot be read", errno);
            if (n == 0) return file_error(path_, "has become shorter than the matrix in it", 0);
            p += n, at += n, bytes -= n;
        }
        return {};
    }
    status write(void const* from, index_t bytes, index_t at) const {
        if (status s = check_writable(); !s) return s;
        for (auto const* p = static_cast<char const*>(from); bytes > 0;) {
            ssize_t const n = ::pwrite(fd_, p, static_cast<std::size_t>(bytes), static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return file_error(path_, "cannot be written", n < 0 ? errno : ENOSPC);
            p += n, at += n, bytes -= n;
        }
        return {};
    }

private:
    std::string path_;
    bool writable_;
    int fd_ = -1;
    std::uint64_t identity_ = 0;
    index_t size_ = 0;
};

template <class T>
struct file_pointer {
    matrix_file const* file = nullptr;
    index_t byte = 0;

    friend file_pointer operator+(file_pointer p, index_t n) {
        return {p.file, p.byte + n * static_cast<index_t>(sizeof(T))};
    }
    template <class U>
    requires(std::same_as<U, T const> && !std::same_as<U, T>) operator file_pointer<U>() const {
        return {file, byte};
    }
};

struct file_memory {
    template <class T>
    using handle = file_pointer<T>;
    static constexpr char const* name = "file";

    template <class T>
    static void const* buffer(file_pointer<T> p) {
        return p.file ? p.file->identity() : nullptr;
    }
    template <class T>
    static std::intptr_t address(file_pointer<T> p) {
        return p.byte;
    }
    template <class T>
    static index_t capacity(file_pointer<T> p) {
        return p.file ? p.file->size() : 0;
    }
    template <class Footprint>
    static auto& share(Footprint& f) {
        return f.host;
    }
};
template <class T>
using file_view = view<T, file_memory>;

// The leaf of what multiplies matrices in files, and its queue, which is done with everything when a call
// returns.
struct file_operations {
    struct event {};

    device_limits limits() const {
        device_limits all;
        all.memory_bytes = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                           static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
        all.link = 2e9;
        return all;
    }
    result<file_operations> fork() const { return file_operations{}; }
    result<event> record() const { return event{}; }
    status wait(event const&) const { return {}; }
    status synchronize() const { return {}; }
    template <class Data>
    bool reads_itself(Data const&) const {
        return false;
    }

    // Lines that follow each other without gaps go at once, others one by one.
    template <class From, class T>
    requires std::same_as<std::remove_cv_t<From>, T> status copy_async(file_view<From> const& from,
                                                                       view<T> const& to)
    const {
        if (status s = check_block_copy(from, to); !s) return s;
        return each_run(from, to, [&](index_t at, T* p, index_t step, index_t count) -> status {
            matrix_file const& file = *from.data.file;
            if (step == 1) return file.read(p, count * static_cast<index_t>(sizeof(T)), at);
            return in_pieces<T>(at, count, [&](T* piece, index_t first, index_t length, index_t byte) {
                status s = file.read(piece, length * static_cast<index_t>(sizeof(T)), byte);
                for (index_t x = 0; s && x < length; ++x) p[(first + x) * step] = piece[x];
                return s;
            });
        });
    }
    template <class From, class T>
    requires std::same_as<std::remove_cv_t<From>, T> status copy_async(view<From> const& from,
                                                                       file_view<T> const& to)
    const {
        if (status s = check_block_copy(from, to); !s) return s;
        return each_run(to, from, [&](index_t at, From* p, index_t step, index_t count) -> status {
            matrix_file const& file = *to.data.file;
            if (step == 1) return file.write(p, count * static_cast<index_t>(sizeof(T)), at);
            return in_pieces<T>(at, count, [&](T* piece, index_t first, index_t length, index_t byte) {
                for (index_t x = 0; x < length; ++x) piece[x] = p[(first + x) * step];
                return file.write(piece, length * static_cast<index_t>(sizeof(T)), byte);
            });
        });
    }

    // Operations on matrices in files go through memory, some lines at a time.
    template <class From, class To>
    status copy(file_view<From> const& from, file_view<To> const& to) const {
        return by_lines(to, false, [&](view<To> const& part, index_t i, index_t j) -> status {
            using X = std::remove_cv_t<From>;
            list<X> room;
            auto x = lines_of(room, from, i, j, part);
            return x ? host_operations{}.copy(*x, part) : no_memory();
        });
    }
    template <class X, class Y, class To>
    status add(file_view<X> const& x, file_view<Y> const& y, file_view<To> const& to) const {
        return by_lines(to, false, [&](view<To> const& part, index_t i, index_t j) -> status {
            list<std::remove_cv_t<X>> first;
            list<std::remove_cv_t<Y>> second;
            auto v = lines_of(first, x, i, j, part);
            auto w = lines_of(second, y, i, j, part);
            return v && w ? host_operations{}.add(*v, *w, part) : no_memory();
        });
    }
    template <class To>
    status fill(file_view<To> const& to, To value) const {
        return by_lines(to, false, [&](view<To> const& part, index_t, index_t) {
            return host_operations{}.fill(part, value);
        });
    }
    template <class F, class To>
    status apply(F const& f, file_view<To> const& to, index_t row0, index_t col0) const {
        return by_lines(to, true, [&](view<To> const& part, index_t i, index_t j) {
            return host_operations{}.apply(f, part, row0 + i, col0 + j);
        });
    }

private:
    static status no_memory() { return failure(errc::memory, "file: no host memory is left"); }

    // f(byte in the file, address, distance from an address to the next, elements) for elements that are
    // neighbours in the file: lines, or single elements where the file has gaps within lines.
    template <class File, class T, class F>
    static status each_run(file_view<File> const& file, view<T> const& host, F&& f) {
        bool const by_rows = !rows_are_closer(file);
        index_t const lines = by_rows ? file.rows : file.cols, length = by_rows ? file.cols : file.rows;
        auto const strides = [&](auto const& v) {
            return by_rows ? std::pair(v.row_stride, v.col_stride) : std::pair(v.col_stride, v.row_stride);
        };
        auto const [file_pitch, file_unit] = strides(file);
        auto const [host_pitch, host_unit] = strides(host);
        if (lines == 0 || length == 0) return {};
        auto const at = [&, pitch = file_pitch, unit = file_unit](index_t l, index_t x) {
            return file.data.byte + (l * pitch + x * unit) * static_cast<index_t>(sizeof(T));
        };
        bool const runs = length == 1 || (file_unit == 1 && host_unit == 1);
        bool const together = runs && (lines == 1 || (file_pitch == length && host_pitch == length));
        if (together) return f(at(0, 0), host.data, index_t{1}, lines * length);
        index_t const run = file_unit == 1 ? length : 1;
        for (index_t l = 0; l < lines; ++l)
            for (index_t x = 0; x < length; x += run)
                if (status s = f(at(l, x), host.data + (l * host_pitch + x * host_unit),
                                 run == 1 ? index_t{1} : host_unit, run);
                    !s)
                    return s;
        return {};
    }
    // f(room, first element, elements, byte in the file) for pieces of a run that go through memory.
    template <class T, class F>
    static status in_pieces(index_t at, index_t count, F&& f) {
        constexpr auto most = static_cast<index_t>(4096 / sizeof(T));
        T piece[most];
        for (index_t first = 0; first < count; first += most) {
            index_t const length = count - first < most ? count - first : most;
            if (status s = f(piece, first, length, at + first * static_cast<index_t>(sizeof(T))); !s)
                return s;
        }
        return {};
    }

    // f(a part of `to` in memory, its first row and column), read before if it is wanted, and written after.
    template <class To, class F>
    status by_lines(file_view<To> const& to, bool read, F&& f) const {
        bool const by_rows = !rows_are_closer(to);
        index_t const length = by_rows ? to.cols : to.rows, lines = by_rows ? to.rows : to.cols;
        if (length == 0) return {};
        file_view<To> const all{to.data, to.rows, to.cols, to.row_stride, to.col_stride};
        index_t const most = 1 + (index_t{1} << 20) / length; // lines read together
        list<To> room;
        if (!room.resize(static_cast<std::size_t>((most < lines ? most : lines) * length)))
            return no_memory();
        for (index_t l = 0; l < lines; l += most) {
            index_t const some = lines - l < most ? lines - l : most;
            auto const there = by_rows ? all.part(l, 0, some, length) : all.part(0, l, length, some);
            auto const part = without_gaps<To, host_memory>(room.data(), there.rows, there.cols, by_rows);
            if (read)
                if (status s = copy_async(there, part); !s) return s;
            if (status s = f(part, by_rows ? l : 0, by_rows ? 0 : l); !s) return s;
            if (status s = copy_async(part, there); !s) return s;
        }
        return {};
    }
    // The block of a matrix that lies where a part of another does, in memory, scaled and conjugated as it
    // is.
    template <class X, class From, class Part>
    auto lines_of(list<X>& room, file_view<From> const& all, index_t i, index_t j, Part const& like) const
        -> result<view<X const>> {
        file_view<From> const stored{all.data, all.rows, all.cols, all.row_stride, all.col_stride};
        auto const there = stored.part(i, j, like.rows, like.cols);
        if (!room.resize(static_cast<std::size_t>(like.rows * like.cols))) return no_memory();
        auto part = without_gaps<X, host_memory>(room.data(), like.rows, like.cols, !rows_are_closer(all));
        if (status s = copy_async(there, part); !s) return s;
        part.scale = all.scale, part.conjugate = all.conjugate;
        return view<X const>(part);
    }
};

// What .npy calls a type; nothing, if it has none.
template <class T>
constexpr char const* npy_name() {
    if constexpr (std::is_same_v<T, float>)
        return "<f4";
    else if constexpr (std::is_same_v<T, double>)
        return "<f8";
    else if constexpr (std::is_same_v<T, half>)
        return "<f2";
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return "|i1";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "<i4";
    else if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? "<c8" : "<c16";
    else
        return "";
}

// How a .npy file begins: a magic word, a version, the length of a text, and the text, a literal of Python
// with three entries. Fails by exception.
struct npy_header {
    std::string path, type;
    index_t rows = 0, cols = 0;
    index_t bytes = 0; // before the elements
    bool by_columns = false;

    explicit npy_header(matrix_file const& file) : path(file.path()) {
        unsigned char head[12] = {};
        if (file.size() < 12) refuse("is too short to be a .npy file");
        file.read(head, 12, 0).or_throw();
        if (std::string_view(reinterpret_cast<char*>(head), 6) != "\x93NUMPY")
            refuse("is not a .npy file; for a raw one, say its layout: file_matrix(path, {.rows = m, .cols = "
                   "n})");
        if (head[6] < 1 || head[6] > 3)
            refuse("is a .npy file of version " + std::to_string(head[6]) +
                   ", and versions 1 to 3 are known");
        index_t const fixed = head[6] == 1 ? 10 : 12;
        index_t size = head[8] + 256 * head[9];
        if (head[6] > 1) size += 65536 * (head[10] + index_t{256} * head[11]);
        if (size > 65536 || fixed + size > file.size()) refuse("is truncated within its header");
        std::string text(static_cast<std::size_t>(size), '\0');
        file.read(text.data(), size, fixed).or_throw();
        bytes = fixed + size;

        auto const value_of = [&](std::string const& key) {
            std::size_t at = text.find("'" + key + "'");
            if (at == text.npos) at = text.find('"' + key + '"');
            at = at == text.npos ? at : text.find(':', at);
            if (at == text.npos) refuse("has a header without " + key);
            at = text.find_first_not_of(" \t", at + 1);
            return at == text.npos ? std::string() : text.substr(at);
        };
        std::string const descr = value_of("descr"), sides = value_of("shape");
        by_columns = value_of("fortran_order").compare(0, 4, "True") == 0;
        type = descr.size() > 1 ? descr.substr(1, descr.find(descr[0], 1) - 1) : descr;
        if (sides.empty() || sides[0] != '(') refuse("has a header without a shape");
        char const *at = sides.data() + 1, *const end = sides.data() + sides.size();
        auto const found = [&](char sign) {
            while (at != end && (*at == ' ' || *at == '\t' || *at == '\n')) ++at;
            return at != end && *at == sign && ++at;
        };
        auto const number = [&](index_t& side) {
            (void)found(' '); // blanks before it
            auto const read = std::from_chars(at, end, side);
            at = read.ptr;
            return read.ec == std::errc() && side >= 0;
        };
        bool const two = number(rows) && found(',') && number(cols);
        if (two) (void)found(','); // Python takes one more
        if (!two || !found(')'))
            refuse("has the shape " + sides.substr(0, sides.find(')')) + "), and a matrix has two sides");
    }
    [[noreturn]] void refuse(std::string const& what) const { raise(file_error(path, what.c_str(), 0)); }
};
// The type of the elements of a .npy file, for a program that takes several types: "<f4", "<f8", ...
inline std::string npy_type(std::string path) {
    return npy_header(matrix_file(std::move(path), false, false)).type;
}

// A matrix in a file, which stays open as long as it, or a copy of it, is there.
struct file_layout {
    index_t rows = 0, cols = 0;
    index_t leading = 0; // elements from a row to the next; 0: as many as a row has
    index_t offset = 0;  // bytes before the first element
};

template <element T>
class file_matrix {
public:
    using value_type = T;

    // A .npy file, to be read, or to be written in place.
    explicit file_matrix(std::string path, bool writable = false)
        : file_(std::make_shared<matrix_file>(std::move(path), writable, false)) {
        read_npy();
    }
    // Elements by rows.
    file_matrix(std::string path, file_layout const& raw, bool writable = false)
        : file_(std::make_shared<matrix_file>(std::move(path), writable, false)) {
        place(raw);
        check_length();
    }
    // A new file of that layout, or one that is there and is made as long; what it held stays.
    static file_matrix create(std::string path, file_layout const& raw) {
        file_matrix made;
        made.file_ = std::make_shared<matrix_file>(std::move(path), true, true);
        made.place(raw);
        made.grow();
        return made;
    }
    static file_matrix create_npy(std::string path, index_t rows, index_t cols,
                                  layout order = layout::row_major) {
        file_matrix made;
        made.file_ = std::make_shared<matrix_file>(std::move(path), true, true);
        std::string const header = npy_text(rows, cols, order);
        made.place({.rows = rows, .cols = cols, .offset = static_cast<index_t>(header.size())});
        if (order == layout::col_major) made.row_stride_ = 1, made.col_stride_ = rows;
        made.grow();
        made.file_->write(header.data(), static_cast<index_t>(header.size()), 0).or_throw();
        return made;
    }

    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    std::string const& path() const { return file_->path(); }

    file_view<T const> view() const {
        return {{file_.get(), offset_}, rows_, cols_, row_stride_, col_stride_};
    }
    file_view<T> view() { return {{file_.get(), offset_}, rows_, cols_, row_stride_, col_stride_}; }
    auto block(index_t i, index_t j, index_t m, index_t n) { return view().block(i, j, m, n); }
    auto block(index_t i, index_t j, index_t m, index_t n) const { return view().block(i, j, m, n); }

private:
    file_matrix() = default;

    void place(file_layout const& raw) {
        rows_ = raw.rows, cols_ = raw.cols, offset_ = raw.offset;
        row_stride_ = raw.leading == 0 ? cols_ : raw.leading, col_stride_ = 1;
        if (rows_ < 0 || cols_ < 0 || offset_ < 0 || row_stride_ < cols_)
            raise(file_error(path(),
                             "rows, columns and offset must not be negative, and the leading dimension at "
                             "least the number of columns",
                             0));
    }
    // Bytes up to the last element.
    index_t length() const {
        index_t reach = 0, last = 0;
        if (rows_ == 0 || cols_ == 0) return offset_;
        if (__builtin_mul_overflow(rows_ - 1, row_stride_, &reach) ||
            __builtin_mul_overflow(cols_ - 1, col_stride_, &last) ||
            __builtin_add_overflow(reach, last, &reach) || __builtin_add_overflow(reach, 1, &reach) ||
            __builtin_mul_overflow(reach, static_cast<index_t>(sizeof(T)), &reach) ||
            __builtin_add_overflow(reach, offset_, &reach))
            raise(file_error(path(), "a matrix of these sides has more bytes than a file can", 0));
        return reach;
    }
    void check_length() const {
        if (length() > file_->size()) {
            char text[160];
            __builtin_snprintf(text, sizeof(text),
                               "is truncated: a matrix of %td x %td takes %td bytes, and there are %td",
                               rows_, cols_, length(), file_->size());
            raise(file_error(path(), text, 0));
        }
    }
    void grow() {
        if (file_->size() != length()) file_->resize(length());
    }

    static std::string npy_text(index_t rows, index_t cols, layout order) {
        std::string text = std::string("{'descr': '") + npy_name<T>() +
                           "', 'fortran_order': " + (order == layout::col_major ? "True" : "False") +
                           ", 'shape': (" + std::to_string(rows) + ", " + std::to_string(cols) + "), }";
        text.resize((text.size() + 1 + 10 + 63) / 64 * 64 - 10, ' ');
        text.back() = '\n';
        std::string head("\x93NUMPY\x01\x00", 8);
        head += static_cast<char>(text.size() & 255), head += static_cast<char>(text.size() >> 8);
        return head + text;
    }
    void read_npy() {
        npy_header const h(*file_);
        if (h.type != npy_name<T>())
            h.refuse("has elements of type " + h.type + ", and the matrix is of " +
                     (npy_name<T>()[0] ? npy_name<T>() : "a type that .npy does not have"));
        rows_ = h.rows, cols_ = h.cols, offset_ = h.bytes;
        row_stride_ = h.by_columns ? 1 : cols_, col_stride_ = h.by_columns ? rows_ : 1;
        check_length();
    }

    std::shared_ptr<matrix_file> file_;
    index_t rows_ = 0, cols_ = 0, row_stride_ = 0, col_stride_ = 1, offset_ = 0;
};

STRATAGEMM_END
