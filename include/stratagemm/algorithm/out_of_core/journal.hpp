// A journal: which blocks of C in a file are done, so that the same call goes on where a process ended.
//
// The file begins with lines that say which product it is: sides, blocks, types, factors, the policy with its
// instruction set, and each operand with its file, that file's length and when it changed last. Where one of
// them differs, the call is refused, and names it. A record follows for each finished block, with a hash of its
// elements as they are in C. When a journal is opened, a block counts as done if C still holds what has that
// hash: a C that was removed, cut off or written over, or that lost a block with the power, is computed again
// where it has to be. A record that was cut off counts for nothing.
#pragma once

#include "../../backend/file.hpp"
#include "tiling.hpp"

#include <charconv>
#include <string>
#include <string_view>

STRATAGEMM_BEGIN

class file_journal {
public:
    file_journal() = default;
    file_journal(file_journal const&) = delete;
    file_journal& operator=(file_journal const&) = delete;
    ~file_journal() {
        if (fd_ >= 0) ::close(fd_);
    }

    // What no product into a file may be, cut or not.
    template <class P>
    static status check(out_of_core_options const& options, P const& p) {
        if (status s = p.c.data.file->check_writable(); !s) return s;
        bool const adds = p.beta != typename P::scalar(0);
        if (!options.journal.empty() && adds && p.e.data.file->identity() == p.c.data.file->identity())
            return failure(errc::argument,
                           "out_of_core: with a journal, the matrix that is added must be in another file "
                           "than C: a block of C that was half written could not be done again");
        return {};
    }
    // For all products of a batch. `policy` says what computes a block.
    template <class P>
    status open(out_of_core_options const& options, P const& p, tiling const& c, std::string const& policy) {
        path_ = options.journal;
        if (path_.empty()) return {};
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
        if (fd_ < 0) return file_error(path_, "the journal cannot be opened", errno);
        struct stat s {};
        if (::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode))
            return file_error(path_, "the journal is not a regular file", 0);
        blocks_of const blocks(p, c);
        if (!done_.resize(static_cast<std::size_t>(blocks.each * p.count)))
            return failure(errc::memory, "out_of_core: no host memory is left");
        std::string const product = text_of(p, c, policy);
        std::string held(product.size() + most_text, '\0');
        ssize_t const n = read_at(held.data(), held.size(), 0);
        if (n < 0) return file_error(path_, "the journal cannot be read", errno);
        held.resize(static_cast<std::size_t>(n));
        // A process may have ended before the text was whole.
        if (held.size() < product.size() && product.compare(0, held.size(), held) == 0) {
            if (status x = cut_off(0); !x) return x;
            return append(product.data(), product.size());
        }
        if (held.compare(0, product.size(), product) != 0) return refuse(held, product);
        return read_records(blocks, static_cast<index_t>(product.size()));
    }
    // Blocks are numbered by rows, those of each product of a batch after those of the one before.
    bool has(index_t block) const { return fd_ >= 0 && done_[static_cast<std::size_t>(block)]; }
    // The hash of a block, read from C. Several threads may call this function.
    template <class T>
    status add(index_t block, file_view<T> const& stored) {
        if (fd_ < 0) return {};
        auto hash = hash_of<std::remove_const_t<T>>(stored);
        if (!hash) return hash.take_status();
        record const r(static_cast<std::uint64_t>(block), *hash);
        return append(&r, sizeof(r));
    }
    status finish() {
        if (fd_ >= 0 && ::unlink(path_.c_str()) != 0)
            return file_error(path_, "the journal cannot be removed", errno);
        return {};
    }

private:
    static constexpr std::size_t most_text = 65536;

    static std::uint64_t mixed(std::uint64_t hash, std::uint64_t x) {
        hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
        return hash ^ (hash >> 29);
    }
    struct record {
        std::uint64_t block = 0, hash = 0, check = 0;

        record() = default;
        record(std::uint64_t b, std::uint64_t h) : block(b), hash(h), check(mixed(mixed(1, b), h)) {}
        bool holds() const { return check == record(block, hash).check; }
    };
    // The blocks of C of a batch.
    template <class P>
    struct blocks_of {
        P const& p;
        tiling const& c;
        index_t cols, each;

        blocks_of(P const& all, tiling const& cut) : p(all), c(cut) {
            course const way(c, p.shape());
            cols = way.cols(), each = way.rows() * way.cols();
        }
        auto operator[](index_t block) const {
            auto const all = p.c.moved(block / each * p.c_step);
            index_t const i = block % each / cols * c.m, j = block % each % cols * c.n;
            return all.part(i, j, out_of_core_parts::smaller(c.m, all.rows - i),
                            out_of_core_parts::smaller(c.n, all.cols - j));
        }
    };

    // Hashes the elements in the order of the file, line by line.
    template <class T>
    static result<std::uint64_t> hash_of(file_view<T const> v) {
        if (rows_are_closer(v)) v = v.transposed();
        constexpr auto most = static_cast<index_t>(8192 / sizeof(T));
        T line[most];
        std::uint64_t hash = 0;
        for (index_t i = 0; i < v.rows; ++i)
            for (index_t j = 0; j < v.cols; j += most) {
                index_t const n = out_of_core_parts::smaller(most, v.cols - j);
                if (status s = file_operations{}.copy_async(v.part(i, j, 1, n), view<T>{line, 1, n, n}); !s)
                    return s;
                auto const bytes = static_cast<std::size_t>(n) * sizeof(T);
                for (std::size_t at = 0; at < bytes; at += 8) {
                    std::uint64_t x = 0;
                    __builtin_memcpy(&x, reinterpret_cast<char const*>(line) + at,
                                     bytes - at < 8 ? bytes - at : 8);
                    hash = mixed(hash, x);
                }
            }
        return hash;
    }

    template <class P>
    status read_records(blocks_of<P> const& blocks, index_t at) {
        record some[64];
        for (bool more = true; more;) {
            ssize_t const n = read_at(some, sizeof(some), at);
            if (n < 0) return file_error(path_, "the journal cannot be read", errno);
            index_t const whole = n / static_cast<ssize_t>(sizeof(record));
            more = whole == 64;
            for (index_t x = 0; x < whole; ++x) {
                record const& r = some[x];
                if (!r.holds() || r.block >= done_.size()) return cut_off(at);
                auto hash = hash_of<typename P::c_type>(blocks[static_cast<index_t>(r.block)]);
                if (!hash) return hash.take_status();
                done_[static_cast<std::size_t>(r.block)] = *hash == r.hash;
                at += static_cast<index_t>(sizeof(r));
            }
        }
        return cut_off(at);
    }
    // As many bytes as there are, or -1.
    ssize_t read_at(void* to, std::size_t bytes, index_t at) const {
        std::size_t all = 0;
        while (all < bytes) {
            ssize_t const n = ::pread(fd_, static_cast<char*>(to) + all, bytes - all,
                                      static_cast<off_t>(at) + static_cast<off_t>(all));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return -1;
            if (n == 0) break;
            all += static_cast<std::size_t>(n);
        }
        return static_cast<ssize_t>(all);
    }
    status cut_off(index_t at) const {
        if (::ftruncate(fd_, static_cast<off_t>(at)) == 0) return {};
        return file_error(path_, "the journal cannot be written", errno);
    }
    status append(void const* data, std::size_t bytes) const {
        ssize_t const n = ::write(fd_, data, bytes);
        if (n == static_cast<ssize_t>(bytes)) return {};
        return file_error(path_, "the journal cannot be written", n < 0 ? errno : ENOSPC);
    }

    // ---- which product it is: a line for each thing that could differ, and an empty one

    // The first line that differs.
    status refuse(std::string_view held, std::string_view product) const {
        auto const next = [](std::string_view& text) {
            std::string_view const line = text.substr(0, text.find('\n'));
            text.remove_prefix(line.size() + (line.size() < text.size()));
            return line;
        };
        std::string_view theirs = next(held), ours = next(product);
        if (theirs != ours)
            return failure(errc::argument, "out_of_core",
                           path_ + " is not a journal of this version of the library: name another path");
        while (theirs == ours && !product.empty()) theirs = next(held), ours = next(product);
        return failure(errc::argument, "out_of_core",
                       path_ + " is the journal of another product: it says '" +
                           std::string(theirs.substr(0, 400)) + "', and this one is '" + std::string(ours) +
                           "'; remove it to begin anew");
    }

    template <class T>
    static std::string number(T const& x) {
        if constexpr (complex_like<T>) {
            return number(x.real()) + " + " + number(x.imag()) + " i";
        } else {
            char text[64];
            return {text, std::to_chars(text, text + sizeof(text), x).ptr};
        }
    }
    template <class P, class V>
    static std::string operand(P const& p, char const* name, V const& v, index_t step) {
        matrix_file const& f = *v.data.file;
        std::string path = f.path();
        for (char& x : path)
            if (x == '\n') x = '?';
        std::string text = std::string(name) + ": " + path;
        // C, and what is in its file, changes.
        if (f.identity() != p.c.data.file->identity()) text += ", " + f.state();
        text += std::string("\n") + name + " from byte " + number(v.data.byte) + ", strides " +
                number(v.row_stride) + " and " + number(v.col_stride);
        if (p.count > 1) text += ", in the batch " + number(step);
        return text + (v.conjugate ? ", conjugated\n" : "\n");
    }
    template <class E>
    static std::string epilogue_name() {
        if constexpr (std::is_same_v<E, identity>) return "none";
        std::string_view name =
            __PRETTY_FUNCTION__; // "... [with E = name; std::string = ...]", or "... [E = name]"
        name.remove_prefix(name.find("E = ") + 4);
        name.remove_suffix(1);
        return std::string(name.substr(0, name.rfind("; std::string")));
    }
    template <class P>
    static std::string text_of(P const& p, tiling const& c, std::string const& policy) {
        auto const sides = [](index_t m, index_t n, index_t k) {
            return number(m) + " x " + number(n) + " x " + number(k) + "\n";
        };
        std::string text = "stratagemm journal 2, " + number(STRATAGEMM_VERSION) + "\n";
        text += "product: " + sides(p.c.rows, p.c.cols, p.a.cols);
        text += "batch of: " + number(p.count) + "\n";
        text += "types: " + std::string(type_name<typename P::a_type>()) + ", " +
                type_name<typename P::b_type>() + ", " + type_name<typename P::c_type>() + "\n";
        text += "alpha: " + number(p.alpha) + "\nbeta: " + number(p.beta) + "\n";
        text += "epilogue: " + epilogue_name<typename P::epilogue_type>() + "\n";
        text += "policy: " + policy + "\n";
        text += "blocks: " + sides(c.m, c.n, c.k);
        text += operand(p, "A", p.a, p.a_step) + operand(p, "B", p.b, p.b_step);
        if (p.beta != typename P::scalar(0)) text += operand(p, "E", p.e, p.e_step);
        return text + operand(p, "C", p.c, p.c_step) + "\n";
    }

    std::string path_;
    int fd_ = -1;
    list<bool> done_;
};

STRATAGEMM_END
