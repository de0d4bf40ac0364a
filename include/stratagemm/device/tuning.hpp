// Tuning: the fastest tile for products of about one size on the device at hand, looked for under a budget of
// time, and kept in memory and in the user's cache.
//
// A backend's Tile is what the search varies: values_of(tile) lists its parameters, and Tile::of(values) is
// the tile again.
#pragma once

#include "kept_lines.hpp"
#include "program_store.hpp"
#include "search.hpp"
#include "trial.hpp"

#include <map>
#include <mutex>

STRATAGEMM_BEGIN

template <class Tile>
struct tuning_options {
    double seconds = 60; // after which nothing new is tried
    std::uint64_t seed = 1;
    // Called for each candidate with its time, or -1 if it failed, and with the best so far.
    std::function<void(Tile const& tile, double seconds, double best)> progress{};
};
template <class Tile>
struct tuned {
    Tile tile;                      // the best; none if nothing could be run
    double before = -1, after = -1; // seconds of one product: as chosen until now, and with the tile
    int measured = 0;
};

// Products of one type whose sides round to the same powers of two share a tile.
struct tuning_bucket {
    char type;
    short m, n, k;

    tuning_bucket(char letter, index_t rows, index_t cols, index_t depth)
        : type(letter), m(power(rows)), n(power(cols)), k(power(depth)) {}
    friend bool operator==(tuning_bucket const&, tuning_bucket const&) = default;
    friend auto operator<=>(tuning_bucket const&, tuning_bucket const&) = default;

private:
    static short power(index_t side) {
        short p = 0;
        while ((index_t{3} << p) / 2 <= side) ++p; // 0.75 to 1.5 times 2^p
        return p;
    }
};

template <class Tile>
class tuning_store {
public:
    // `target` names the device and its driver; another driver is another compiler. Kernels that have changed
    // ask for new tuning: `kernels` is their text. All tiles of a target and its kernels are one entry of the cache.
    tuning_store(program_store cache, std::string target, std::string_view kernels)
        : cache_(std::move(cache)),
          lines_(cache_.directory().string(),
                 {std::move(target), "tiles", std::to_string(hash_bytes(kernels))}) {}

    // No tile if none is known.
    Tile find(tuning_bucket const& b) {
        std::lock_guard const lock(mutex_);
        auto const known = tiles_.find(b);
        if (known != tiles_.end()) return known->second;
        return tiles_.emplace(b, parsed(lines_.find(name_of(b)))).first->second;
    }
    void keep(tuning_bucket const& b, Tile const& tile) {
        std::lock_guard const lock(mutex_);
        // Not by insert_or_assign, whose tuples of references clang 17 cannot build from libstdc++ 14 in C++23.
        if (auto const [at, fresh] = tiles_.emplace(b, tile); !fresh) at->second = tile;
        std::string text;
        for (short const value : values_of(tile)) text += std::to_string(value) + ' ';
        lines_.set(name_of(b), text);
        lines_.store(cache_, name_of(b), text);
    }

private:
    static std::string name_of(tuning_bucket const& b) {
        return std::string(1, b.type) + ' ' + std::to_string(b.m) + ' ' + std::to_string(b.n) + ' ' +
               std::to_string(b.k);
    }
    static Tile parsed(std::string const& text) {
        std::vector<short> values;
        char const* at = text.c_str();
        for (char* end = nullptr;; at = end) {
            long const value = std::strtol(at, &end, 10);
            if (end == at) break;
            values.push_back(static_cast<short>(value));
        }
        return values.size() == values_of(Tile{}).size() ? Tile::of(values) : Tile{};
    }

    program_store cache_;
    kept_lines<> lines_;
    std::mutex mutex_;
    std::map<tuning_bucket, Tile> tiles_;
};

// Searches `candidates` for products of T of that size. with(tile) is the policy with that tile for every
// product.
template <class T, class Tile, class Policy, class With>
result<tuned<Tile>> tune_tile(Policy const& policy, shape<T> const& s, search_problem candidates,
                              tuning_options<Tile> const& options, With&& with) {
    if (status r = policy.ready(); !r) return result<tuned<Tile>>(std::move(r));
    if (s.m < 1 || s.n < 1 || s.k < 1 || s.count != 1)
        return error(errc::shape, "tune: tuning is for one product with no empty side");
#ifdef __cpp_exceptions
    try {
#endif
        tuning_trial<T, Policy> trial(policy, s.m, s.n, s.k);
        tuned<Tile> found;
        found.before = trial.measure(policy);
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
        double best = -1;
        candidates.seed = options.seed;
        candidates.more = [&] { return std::chrono::steady_clock::now() < end; };
        candidates.measure = [&](search_point const& x) {
            double const seconds = trial.measure(with(Tile::of(x)));
            if (seconds >= 0 && (best < 0 || seconds < best)) best = seconds;
            if (options.progress) options.progress(Tile::of(x), seconds, best);
            return seconds;
        };
        search_result const r = search(candidates);
        found.measured = r.measured, found.after = r.seconds;
        if (!r.best.empty()) found.tile = Tile::of(r.best);
        return found;
#ifdef __cpp_exceptions
    } catch (error const& e) { // no memory for the operands
        return e;
    }
#endif
}

STRATAGEMM_END
