// Compiled kernels, and what tuning found, kept on disk from one process to the next.
//
// The store is a folder that belongs to this user alone: a binary that somebody else planted would run on the
// device. A folder or a file that another user owns, or that group or others may write, is refused, and so is
// a symbolic link in place of a file (the folder may be reached through one). What the store makes has the
// modes 0700 and 0600. A store that is refused, or that cannot be written, is no error: it finds nothing and
// keeps nothing, and ready() says why.
//
// An entry is a file: a header, the whole text of its key, the binary, and a checksum. A file that is cut
// short, damaged, or written by another version or for another key is not found, and so its program is built
// again. An entry is written to a draft and then renamed, so that a reader sees all of it or nothing,
// whatever other threads and processes do. The store keeps to a size: after each new entry it removes those
// that were not used for longest.
#pragma once

#include "../core/error.hpp"
#include "program_entry.hpp"

#include <atomic>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#ifndef _WIN32
#    include <algorithm>
#    include <dirent.h>
#    include <sys/file.h>
#    include <unistd.h>
#    include <vector>
#endif

STRATAGEMM_BEGIN

class program_store {
public:
    static constexpr std::uint64_t usual_bytes = std::uint64_t{512} << 20;

    // Without a directory it holds nothing. `bytes` is the size it keeps to.
    explicit program_store(std::filesystem::path directory = {}, std::uint64_t bytes = usual_bytes)
        : directory_(std::move(directory)), bytes_(bytes) {}

    // In the standard folder. The size is STRATAGEMM_CACHE_BYTES: 1000000, 64K, 512M, 2G; 0 keeps nothing.
    static program_store standard() {
        char const* const size = std::getenv("STRATAGEMM_CACHE_BYTES");
        std::uint64_t const bytes = size ? bytes_in(size).value_or(usual_bytes) : usual_bytes;
        return program_store(standard_cache_folder(), bytes);
    }

    std::filesystem::path const& directory() const { return directory_; }
    std::uint64_t bytes() const { return bytes_; }

    std::optional<std::string> load(program_key const& key) const {
        std::string binary;
        if (load_entry(directory_.string(), key, binary)) return binary;
        return {};
    }

#ifdef _WIN32 // whose files have no owner and mode of this kind to check
    status ready() const { return error(errc::unsupported, "program store: there is none on Windows"); }
    void store(program_key const&, std::string_view) const {}
    template <class Change>
    void change(program_key const&, Change const&) const {}
#else
    // Why nothing is kept; success if something is. A folder that does not exist is made when it is first
    // needed.
    status ready() const {
        if (directory_.empty()) return refused("no folder is named; see STRATAGEMM_CACHE_DIR");
        if (open_file const folder = open_folder(); folder || errno == ENOENT) return {};
        int const code = errno;
        if (code != EPERM) return refused(std::generic_category().message(code), code);
        return refused(
            "another user owns it, or group or others may write it; a program planted there would run "
            "on the device (chmod go-w, or set STRATAGEMM_CACHE_DIR)",
            code);
    }

    void store(program_key const& key, std::string_view binary) const {
        if (!open_folder() && errno == ENOENT) make_folder();
        open_file folder = open_folder();
        if (!folder) return;
        std::string const text = key.text(), place = entry_name(text);
        entry_header h;
        h.key_bytes = text.size(), h.binary_bytes = binary.size(), h.checksum = hash_bytes(binary);
        if (sizeof(h) + text.size() + binary.size() > bytes_) return;
        std::string const draft = place + own_suffix();
        open_file file(openat(folder.get(), draft.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
        if (!file) return;
        bool const whole = file.write(&h, sizeof(h)) && file.write(text.data(), text.size()) &&
                           file.write(binary.data(), binary.size());
        if (!file.close() || !whole ||
            renameat(folder.get(), draft.c_str(), folder.get(), place.c_str()) != 0)
            return (void)unlinkat(folder.get(), draft.c_str(), 0);
        trim(std::move(folder), place);
    }
    // change(text) of an entry, which is empty if there is none. Processes that change entries of one folder wait for each
    // other, where the file system has locks.
    template <class Change>
    void change(program_key const& key, Change const& change) const {
        if (!open_folder() && errno == ENOENT) make_folder();
        open_file const folder = open_folder(); // whose lock ends when it is closed
        if (!folder) return;
        while (flock(folder.get(), LOCK_EX) != 0 && errno == EINTR) {
        }
        std::string text = load(key).value_or("");
        change(text);
        store(key, text);
    }

private:
    struct entry {
        std::string name;
        std::uint64_t bytes;
        struct timespec used;
    };
    static constexpr std::size_t name_bytes = 36;    // of an entry; a draft has more
    static constexpr std::time_t draft_stays = 3600; // seconds; writing one takes less than one

    static status refused(std::string const& why, int code = 0) {
        return error(errc::unsupported, "program store", why.c_str(), code);
    }

    open_file open_folder() const { return open_own_folder(directory_.c_str()); }
    void make_folder() const {
        std::filesystem::path place;
        for (auto const& part : directory_) {
            place /= part;
            (void)mkdir(place.c_str(), S_IRWXU);
        }
    }

    // Removes the entries that were used least recently until the rest keeps to the size, and drafts whose
    // writers are gone. Several processes may do so at once: they agree on the order, and what another has
    // removed is gone for all.
    void trim(open_file folder, std::string const& newest) const {
        DIR* const list = fdopendir(folder.get());
        if (!list) return;
        (void)folder.release(); // the list closes it
        auto const remove = [at = dirfd(list)](std::string const& name) {
            return unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT;
        };
        std::vector<entry> entries;
        std::uint64_t sum = 0;
        while (dirent const* const d = readdir(list)) {
            std::string name = d->d_name;
            struct stat about;
            if (!is_ours(name) || fstatat(dirfd(list), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 ||
                !S_ISREG(about.st_mode))
                continue;
            if (name.size() > name_bytes) {
                if (std::time(nullptr) - about.st_mtime > draft_stays) remove(name);
                continue;
            }
            auto const bytes = static_cast<std::uint64_t>(about.st_size);
            sum += bytes;
            if (name != newest) entries.push_back({std::move(name), bytes, used(about)});
        }
        std::sort(entries.begin(), entries.end(), [](entry const& x, entry const& y) {
            if (x.used.tv_sec != y.used.tv_sec) return x.used.tv_sec < y.used.tv_sec;
            return x.used.tv_nsec != y.used.tv_nsec ? x.used.tv_nsec < y.used.tv_nsec : x.name < y.name;
        });
        for (entry const& e : entries) {
            if (sum <= bytes_) break;
            if (remove(e.name)) sum -= e.bytes;
        }
        closedir(list);
    }
#    ifdef __APPLE__
    static struct timespec used(struct stat const& about) { return about.st_mtimespec; }
#    else
    static struct timespec used(struct stat const& about) { return about.st_mtim; }
#    endif

    // Entries and drafts; whatever else is in the folder is not ours to remove.
    static bool is_ours(std::string const& name) {
        if (name.size() < name_bytes || name.compare(32, 4, ".bin") != 0 ||
            name.find_first_not_of("0123456789abcdef") != 32)
            return false;
        return name.size() == name_bytes ||
               (name[name_bytes] == '.' && name.compare(name.size() - 4, 4, ".tmp") == 0);
    }
    static std::string own_suffix() { // no two writers share it
        static std::uint64_t const process =
            std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
        static std::atomic<unsigned> count{0};
        char text[40];
        __builtin_snprintf(text, sizeof(text), ".%016llx.%u.tmp", static_cast<unsigned long long>(process),
                           count++);
        return text;
    }
#endif

private:
    static std::optional<std::uint64_t> bytes_in(char const* text) {
        if (*text < '0' || *text > '9') return {};
        char* end = nullptr;
        errno = 0;
        std::uint64_t const number = std::strtoull(text, &end, 10);
        int const shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
        if (errno != 0 || (shift ? end[1] : *end) || number << shift >> shift != number) return {};
        return number << shift;
    }

    std::filesystem::path directory_;
    std::uint64_t bytes_;
};

STRATAGEMM_END
