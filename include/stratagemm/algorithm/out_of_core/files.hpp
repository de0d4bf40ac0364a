// Products of matrices in files, of which none has to fit into memory.
//
//   sg::file_matrix<float> const a("a.npy"), b("b.npy");
//   auto c = sg::file_matrix<float>::create_npy("c.npy", a.rows(), b.cols());
//   sg::gemm(sg::out_of_core{sg::host{}, {.host_bytes = 1_GiB}}, a, b, c);
//   sg::gemm(sg::out_of_core{sg::out_of_core{gpu}, {.host_bytes = 8_GiB}}, a, b, c);   from files to the device
//
// A and B are read in blocks, and finished blocks of C are written at once, while products go on. With a
// journal, a product whose process ended is resumed by the same call.
#pragma once

#include "../../backend/file.hpp"
#include "../out_of_core.hpp"

#include <vector>

STRATAGEMM_BEGIN

// Which blocks of a product are done: a line that says which product, and a record for each. A record that
// was cut off counts for nothing. It outlives the process; that blocks reach the disk before the machine
// fails is left to the system.
class file_journal {
public:
    file_journal() = default;
    file_journal(file_journal const&) = delete;
    file_journal& operator=(file_journal const&) = delete;
    ~file_journal() {
        if (fd_ >= 0) ::close(fd_);
    }

    template <class P>
    status open(out_of_core_options const& options, P const& p, tiling const& c) {
        if (status s = p.c.data.file->check_writable(); !s) return s;
        path_ = options.journal;
        if (path_.empty()) return {};
        bool const adds = p.beta != typename P::scalar(0);
        if (adds && p.e.data.file->identity() == p.c.data.file->identity())
            return failure(errc::argument,
                           "out_of_core: with a journal, the matrix that is added must be in another file "
                           "than C: a block of C that was half written could not be done again");
        std::string const product = text_of(p, c);
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd_ < 0) return file_error(path_, "the journal cannot be opened", errno);
        std::string held;
        char part[4096];
        for (ssize_t n; (n = ::read(fd_, part, sizeof(part))) != 0;) {
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return file_error(path_, "the journal cannot be read", errno);
            held.append(part, static_cast<std::size_t>(n));
        }
        // A process may have ended before the first line was whole.
        if (held.size() < product.size() && product.compare(0, held.size(), held) == 0) {
            if (::ftruncate(fd_, 0) != 0) return file_error(path_, "the journal cannot be written", errno);
            return append(product.data(), product.size(), 0);
        }
        if (held.compare(0, product.size(), product) != 0)
            return failure(errc::argument, "out_of_core",
                           path_ + " is the journal of another product: it says '" +
                               held.substr(0, held.find('\n')) + "', and this one is '" +
                               product.substr(0, product.size() - 1) + "'; remove it to begin anew");
        index_t const blocks = ((p.c.rows + c.m - 1) / c.m) * ((p.c.cols + c.n - 1) / c.n);
        done_.resize(static_cast<std::size_t>(blocks));
        end_ = product.size();
        for (record r; end_ + sizeof(r) <= held.size(); end_ += sizeof(r)) {
            __builtin_memcpy(&r, held.data() + end_, sizeof(r));
            if (r.check != check_of(r.block) || r.block >= done_.size()) break;
            count_ += !done_[r.block], done_[r.block] = true;
        }
        return {};
    }
    bool has(index_t block) const { return count_ > 0 && done_[static_cast<std::size_t>(block)]; }
    index_t count() const { return count_; }
    status add(index_t block) {
        if (fd_ < 0) return {};
        record const r{static_cast<std::uint64_t>(block), check_of(static_cast<std::uint64_t>(block))};
        return append(&r, sizeof(r), end_);
    }
    status finish() {
        if (fd_ >= 0 && ::unlink(path_.c_str()) != 0)
            return file_error(path_, "the journal cannot be removed", errno);
        return {};
    }

private:
    struct record {
        std::uint64_t block, check;
    };
    static std::uint64_t check_of(std::uint64_t block) { return (block + 1) * 0x9e3779b97f4a7c15u; }

    status append(void const* data, std::size_t bytes, std::size_t at) {
        ssize_t const n = ::pwrite(fd_, data, bytes, static_cast<off_t>(at));
        if (n != static_cast<ssize_t>(bytes))
            return file_error(path_, "the journal cannot be written", n < 0 ? errno : ENOSPC);
        end_ = at + bytes;
        return {};
    }
    template <class P>
    static std::string text_of(P const& p, tiling const& c) {
        auto const number = [](auto x) { return std::to_string(x); };
        auto const sides = [&](index_t m, index_t n, index_t k) {
            return number(m) + " x " + number(n) + " x " + number(k);
        };
        auto const place = [&](auto const& v, bool is_read) {
            matrix_file const& f = *v.data.file;
            std::string text = " at byte " + number(v.data.byte) + ", strides " + number(v.row_stride) +
                               " and " + number(v.col_stride) + (v.conjugate ? ", conjugated, of " : " of ") +
                               f.path() + " (" + number(reinterpret_cast<std::uintptr_t>(f.identity())) + ")";
            if (is_read && f.identity() != p.c.data.file->identity())
                text += " of " + number(f.size()) + " bytes, changed " + number(f.changed());
            return text;
        };
        auto const bytes = [](auto const& x) {
            unsigned char raw[sizeof(x)];
            __builtin_memcpy(raw, &x, sizeof(x));
            std::string text;
            for (unsigned char const b : raw)
                text += "0123456789abcdef"[b >> 4], text += "0123456789abcdef"[b & 15];
            return text;
        };
        std::string text = "stratagemm 1: " + sides(p.c.rows, p.c.cols, p.a.cols) + " in blocks of " +
                           sides(c.m, c.n, c.k) + "; " + type_name<typename P::a_type>() + ", " +
                           type_name<typename P::c_type>() + "; alpha " + bytes(p.alpha) + ", beta " +
                           bytes(p.beta) + "; A" + place(p.a, true) + "; B" + place(p.b, true) + "; C" +
                           place(p.c, false);
        if (p.beta != typename P::scalar(0)) text += "; E" + place(p.e, true);
        return text + '\n';
    }

    std::string path_;
    int fd_ = -1;
    std::size_t end_ = 0;
    index_t count_ = 0;
    std::vector<bool> done_;
};

// Where operands of a policy on the host come from, when they are not there.
template <>
struct memory_beyond<host_memory> {
    using space = file_memory;
    using leaf = file_operations;
    using journal = file_journal;
};

// Operands that are in memory need no layer to bring them there.
template <>
struct refuse_space<file_memory, host_memory> {
    template <class There = file_memory>
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, host_memory>,
            "stratagemm: these operands are in memory already, and out_of_core over a policy of the host "
            "takes matrices in files: call the policy beneath it");
        return false;
    }
};

STRATAGEMM_END
