// An entry of the program store: where it lies, how it is laid out, and how it is read. The store, which writes
// entries, needs many more headers.
#pragma once

#include "../core/posix.hpp"
#include "program_key.hpp"

#include <cerrno>
#include <cstdlib>
#include <utility>

#ifndef _WIN32
#    include <fcntl.h>
#    include <sys/stat.h>
#endif

STRATAGEMM_BEGIN

// STRATAGEMM_CACHE_DIR (empty: no store), else stratagemm/ in XDG_CACHE_HOME or ~/.cache.
template <class Text = std::string>
Text standard_cache_folder() {
    if (char const* const own = std::getenv("STRATAGEMM_CACHE_DIR")) return own;
    if (char const* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return Text(cache) + "/stratagemm";
    if (char const* const home = std::getenv("HOME"); home && *home) return Text(home) + "/.cache/stratagemm";
    return {};
}

#ifdef _WIN32 // which has no store
template <class Text>
bool load_entry(Text const&, program_key const&, Text&) {
    return false;
}
#else
// A file or folder that is open. Its owner and mode are those of what was opened, whatever its name leads to
// now.
class open_file {
public:
    explicit open_file(int descriptor = -1) : descriptor_(descriptor) {
        if (descriptor_ >= 0 && fstat(descriptor_, &about_) != 0) close();
    }
    open_file(open_file&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), about_(other.about_) {}
    open_file& operator=(open_file&&) = delete;
    ~open_file() { close(); }

    explicit operator bool() const { return descriptor_ >= 0; }
    int get() const { return descriptor_; }
    int release() { return std::exchange(descriptor_, -1); }
    bool is_file() const { return S_ISREG(about_.st_mode); }
    std::uint64_t bytes() const { return static_cast<std::uint64_t>(about_.st_size); }
    // Whether nobody but this user (and the superuser) can have written it. With an access control list the
    // bits of the group are its mask, so that they cover what it grants.
    bool is_own() const {
        return about_.st_uid == posix_effective_user() && !(about_.st_mode & (S_IWGRP | S_IWOTH));
    }

    bool read(void* to, std::size_t count) const {
        return all(static_cast<char*>(to), count,
                   [&](char* p, std::size_t n) { return posix_read(get(), p, n); });
    }
    bool write(void const* from, std::size_t count) const {
        return all(static_cast<char const*>(from), count,
                   [&](char const* p, std::size_t n) { return posix_write(get(), p, n); });
    }
    bool close() { return descriptor_ >= 0 && posix_close(release()) == 0; }

private:
    template <class P, class Step>
    static bool all(P at, std::size_t count, Step&& step) {
        while (count > 0) {
            auto const done = step(at, count);
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) return false;
            at += done, count -= static_cast<std::size_t>(done);
        }
        return true;
    }

    int descriptor_;
    struct stat about_ {};
};

struct entry_header {
    std::uint64_t magic = 0x31304a4d47545253u; // "SRTGMJ01", in the byte order of the machine
    std::uint64_t key_bytes = 0, binary_bytes = 0, checksum = 0;
};
template <class Text>
Text entry_name(Text const& key_text) {
    return program_key::name_of<Text>(key_text) + ".bin";
}

// Fails with EPERM for a folder that others may write.
inline open_file open_own_folder(char const* path) {
    // Without a name it fails with ENOENT, and so does making it.
    open_file folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder && !folder.is_own()) {
        folder.close();
        errno = EPERM;
    }
    return folder;
}

// False, and `binary` without meaning, if there is no such entry, or if it is not whole.
template <class Text>
bool load_entry(Text const& path, program_key const& key, Text& binary) {
    open_file const folder = open_own_folder(path.c_str());
    if (!folder) return false;
    Text const text = key.text<Text>();
    // Without O_NONBLOCK a pipe would be waited for.
    open_file const file(openat(folder.get(), entry_name(text).c_str(),
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file || !file.is_file() || !file.is_own()) return false;
    entry_header h;
    if (!file.read(&h, sizeof(h)) || h.magic != entry_header{}.magic || h.key_bytes != text.size() ||
        file.bytes() < sizeof(h) + text.size() || h.binary_bytes != file.bytes() - sizeof(h) - text.size())
        return false;
    Text found(text.size(), '\0');
    if (!file.read(found.data(), found.size()) || found != text) return false;
    binary.resize(static_cast<std::size_t>(h.binary_bytes)); // as long as the file has it
    if (!file.read(binary.data(), binary.size()) || hash_bytes(binary) != h.checksum) return false;
    (void)futimens(file.get(), nullptr); // used now
    return true;
}
#endif

STRATAGEMM_END
