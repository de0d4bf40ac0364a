// Tiles that were found by tuning, in memory and in the user's cache: by device, driver, type and size of product.
#pragma once

#include "../../../jit/disk_cache.hpp"
#include "../choice.hpp"
#include "../kernels/tiled.cl.hpp"

#include <map>
#include <mutex>

STRATAGEMM_BEGIN

// Products whose sides round to the same powers of two share a tile.
struct opencl_bucket {
    char sums;
    short m, n, k;

    friend auto operator<=>(opencl_bucket const&, opencl_bucket const&) = default;
};
inline opencl_bucket bucket_of(char sums, opencl_sides const& s) {
    auto const power = [](std::ptrdiff_t side) {
        short p = 0;
        while ((std::ptrdiff_t{3} << p) / 2 <= side) ++p; // 0.75 to 1.5 times 2^p
        return p;
    };
    return {sums, power(s.m), power(s.n), power(s.k)};
}

class opencl_tuning_store {
public:
    // `target` names the device and its driver; another driver is another compiler.
    opencl_tuning_store(disk_cache cache, std::string target)
        : cache_(std::move(cache)), target_(std::move(target)) {}

    // No tile if none is known.
    opencl_tile find(opencl_bucket const& b) {
        std::lock_guard const lock(mutex_);
        auto const known = tiles_.find(b);
        if (known != tiles_.end()) return known->second;
        return tiles_[b] = parsed(cache_.load(key(b)).value_or(""));
    }
    void keep(opencl_bucket const& b, opencl_tile const& tile) {
        std::lock_guard const lock(mutex_);
        tiles_[b] = tile;
        std::string text;
        for (short const value : values_of(tile)) text += std::to_string(value) + ' ';
        cache_.store(key(b), text);
    }

private:
    // A kernel that has changed asks for new tuning.
    program_key key(opencl_bucket const& b) const {
        return {target_,
                std::string("tile ") + b.sums + ' ' + std::to_string(b.m) + ' ' + std::to_string(b.n) + ' ' +
                    std::to_string(b.k),
                opencl_tiled_text};
    }
    static opencl_tile parsed(std::string const& text) {
        std::vector<short> values;
        char const* at = text.c_str();
        for (char* end = nullptr;; at = end) {
            long const value = std::strtol(at, &end, 10);
            if (end == at) break;
            values.push_back(static_cast<short>(value));
        }
        return values.size() == opencl_tile::parameters ? tile_of(values) : opencl_tile{};
    }

    disk_cache cache_;
    std::string target_;
    std::mutex mutex_;
    std::map<opencl_bucket, opencl_tile> tiles_;
};

STRATAGEMM_END
