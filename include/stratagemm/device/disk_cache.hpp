// Compiled kernels kept on disk from one process to the next.
//
// An entry is a file: a header, the whole text of its key, the binary, and checksums of both. What is cut
// short, damaged, written by another version or for another key is not found, and so is built again. An entry
// is written under a name of its own and then renamed, so that whoever reads sees all of it or nothing,
// whatever other threads and processes do. A cache that cannot be written is no error: it just does not help.
#pragma once

#include "program_key.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

STRATAGEMM_BEGIN

class disk_cache {
public:
    // Without a directory it holds nothing.
    explicit disk_cache(std::filesystem::path directory = {}) : directory_(std::move(directory)) {}

    // STRATAGEMM_CACHE_DIR (empty: no cache), else stratagemm/ in XDG_CACHE_HOME or ~/.cache.
    static disk_cache standard() {
        if (char const* const own = std::getenv("STRATAGEMM_CACHE_DIR")) return disk_cache(own);
        if (char const* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
            return disk_cache(std::filesystem::path(cache) / "stratagemm");
        if (char const* const home = std::getenv("HOME"); home && *home)
            return disk_cache(std::filesystem::path(home) / ".cache" / "stratagemm");
        return disk_cache();
    }

    std::filesystem::path const& directory() const { return directory_; }

    std::optional<std::string> load(program_key const& key) const {
        if (directory_.empty()) return {};
        std::string const text = key.text();
        std::ifstream file(file_of(text), std::ios::binary);
        header h;
        if (!file.read(reinterpret_cast<char*>(&h), sizeof(h))) return {};
        if (h.magic != header{}.magic || h.key_bytes != text.size() || h.binary_bytes > largest) return {};
        std::string found(text.size(), '\0'), binary(static_cast<std::size_t>(h.binary_bytes), '\0');
        file.read(found.data(), static_cast<std::streamsize>(found.size()));
        file.read(binary.data(), static_cast<std::streamsize>(binary.size()));
        if (!file || found != text || hash_bytes(binary) != h.checksum) return {};
        return binary;
    }

    void store(program_key const& key, std::string_view binary) const {
        if (directory_.empty() || binary.size() > largest) return;
        std::error_code failed;
        std::filesystem::create_directories(directory_, failed);
        std::string const text = key.text();
        std::filesystem::path const place = file_of(text), draft = place.string() + own_suffix();
        header h;
        h.key_bytes = text.size(), h.binary_bytes = binary.size(), h.checksum = hash_bytes(binary);
        {
            std::ofstream file(draft, std::ios::binary);
            file.write(reinterpret_cast<char const*>(&h), sizeof(h));
            file.write(text.data(), static_cast<std::streamsize>(text.size()));
            file.write(binary.data(), static_cast<std::streamsize>(binary.size()));
            file.close();
            if (!file) return std::filesystem::remove(draft, failed), void();
        }
        std::filesystem::rename(draft, place, failed);
        if (failed) std::filesystem::remove(draft, failed);
    }

private:
    struct header {
        std::uint64_t magic = 0x31304a4d47545253u; // "SRTGMJ01", in the byte order of the machine
        std::uint64_t key_bytes = 0, binary_bytes = 0, checksum = 0;
    };
    static constexpr std::uint64_t largest = std::uint64_t{1} << 30; // of a binary; a damaged size is larger

    std::filesystem::path file_of(std::string const& text) const {
        return directory_ / (program_key::name_of(text) + ".bin");
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

    std::filesystem::path directory_;
};

STRATAGEMM_END
