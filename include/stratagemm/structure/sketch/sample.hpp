// What a sketch by a transform draws: a sign for each point, and the points that are its rows.
//
// The points are the first ones of a permutation, so that none is there twice. The permutation is a Feistel network of
// `rounds` rounds, whose keys are words of the generator, on pairs of numbers of `half` bits each; it is repeated until
// the result is below the number of points (Black, Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002). The
// inverse has the same rounds backwards. sketch_text (device.hpp) has the same steps in the dialect.
#pragma once

#include "../hadamard/order.hpp"
#include "device.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

// The sign of point k is bit k >> shift of word k & ((1 << shift) - 1). A work-item whose points differ in the highest
// five bits reads one word.
struct sign_places {
    int shift;
    explicit constexpr sign_places(int bits) : shift(bits < 5 ? 0 : bits - 5) {}
    constexpr index_t words() const { return index_t{1} << shift; }
    constexpr index_t word(index_t k) const { return k & (words() - 1); }
    constexpr int bit(index_t k) const { return static_cast<int>(k >> shift); }
};

// Kind: which sketch, so that two of one seed have nothing in common.
class point_sample {
public:
    point_sample(std::uint64_t seed, int kind, index_t points)
        : seed_(seed), kind_(kind), points_(points), signs_(bits_of(points)), half_(half_of(points)) {
        for (int i = 0; i < sample_numbers::words; i += 4) {
            std::uint32_t words[4];
            draw_four(sketch_stream::permutation, static_cast<std::uint32_t>(i / 4), words);
            for (int j = 0; j < 4; ++j) keys_[i + j] = words[j];
        }
    }
    static constexpr int half_of(index_t points) {
        int const half = (bits_of(points) + 1) / 2;
        return half < 3 ? 3 : half; // fewer bits have too few permutations
    }

    // The point that is row i of the sketch.
    index_t point(index_t i) const {
        auto x = static_cast<std::uint32_t>(i);
        do {
            std::uint32_t low = x & mask(), high = x >> half_;
            for (int r = 0; r < sample_numbers::rounds; ++r) {
                std::uint32_t const next = high ^ mixed(low, r);
                high = low, low = next;
            }
            x = high << half_ | low;
        } while (x >= static_cast<std::uint32_t>(points_));
        return static_cast<index_t>(x);
    }
    // The row that a point is, if the sketch had all of them.
    index_t row(index_t point) const {
        auto x = static_cast<std::uint32_t>(point);
        do {
            std::uint32_t low = x & mask(), high = x >> half_;
            for (int r = sample_numbers::rounds - 1; r >= 0; --r) {
                std::uint32_t const before = low ^ mixed(high, r);
                low = high, high = before;
            }
            x = high << half_ | low;
        } while (x >= static_cast<std::uint32_t>(points_));
        return static_cast<index_t>(x);
    }
    bool is_negative(index_t k) const {
        std::uint32_t words[4];
        index_t const word = signs_.word(k);
        draw_four(sketch_stream::flips, static_cast<std::uint32_t>(word / 4), words);
        return (words[word % 4] >> signs_.bit(k) & 1) != 0;
    }
    // The signs of words [from, to): those of point k go to signs[k]. One bit of neighbouring words is signs of
    // neighbouring points. No branch takes a random sign.
    template <class R>
    void write_signs(index_t from, index_t to, R* signs) const {
        constexpr index_t width = 64;
        for (index_t first = from / 4 * 4; first < to; first += width) {
            std::uint32_t words[width];
            index_t const begin = larger_of(first, from), end = smaller(first + width, to);
            for (index_t w = first; w < end; w += 4) {
                std::uint32_t four[4];
                draw_four(sketch_stream::flips, static_cast<std::uint32_t>(w / 4), four);
                for (index_t i = 0; i < 4; ++i) words[w - first + i] = four[i];
            }
            for (int bit = 0; bit < 32; ++bit) {
                index_t const k = index_t{bit} << signs_.shift;
                for (index_t w = begin; w < smaller(end, points_ - k); ++w)
                    signs[k + w] = static_cast<R>(1 - 2 * static_cast<int>(words[w - first] >> bit & 1));
            }
        }
    }
    index_t words() const { return signs_.words(); }
    index_t points() const { return points_; }
    std::uint64_t seed() const { return seed_; }
    int kind() const { return kind_; }

private:
    std::uint32_t mask() const { return (1u << half_) - 1; }
    std::uint32_t mixed(std::uint32_t x, int round) const {
        std::uint32_t h = (x ^ keys_[2 * round]) * sample_numbers::factor;
        h ^= h >> 15;
        h *= keys_[2 * round + 1] | 1;
        return (h ^ h >> 16) & mask();
    }
    void draw_four(sketch_stream stream, std::uint32_t block, std::uint32_t (&words)[4]) const {
        draw_words({static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32),
                    static_cast<std::uint32_t>(stream), block, static_cast<std::uint32_t>(kind_)},
                   words);
    }

    std::uint64_t seed_;
    int kind_;
    index_t points_;
    sign_places signs_;
    int half_;
    std::uint32_t keys_[sample_numbers::words];
};

// What a product reads of it: the sign of each point, and which point a row is, or which row a point is.
template <class R>
struct sample_tables {
    R const* signs;
    std::int32_t const* points; // of each row of a part
    std::int32_t const* rows;   // of each point: the row of a part, or -1
};
template <class R, class Arena>
std::size_t bytes_of_sample(index_t points, index_t rows) {
    auto const bytes = [](index_t count, std::size_t size) {
        return Arena::rounded(static_cast<std::size_t>(count < 0 ? 0 : count) * size);
    };
    return bytes(points, sizeof(R)) + bytes(rows, sizeof(std::int32_t)) + bytes(points, sizeof(std::int32_t));
}
// Those of rows [first, first + count).
template <class R, class Leaf, class Arena>
sample_tables<R> write_sample(Leaf const& by, point_sample const& sample, index_t points, index_t first,
                              index_t count, Arena& memory) {
    R* const signs = memory.template take<R>(points);
    auto const of_rows = memory.template take<std::int32_t>(count),
               of_points = memory.template take<std::int32_t>(points);
    int const team = by.team(static_cast<double>(points + 16 * count));
    by.each(team, team, [&](int, int part) {
        auto const share = [&](index_t all, int p) { return all * p / team; };
        sample.write_signs(share(sample.words(), part), share(sample.words(), part + 1), signs);
        index_t const last_point = share(points, part + 1), last_row = share(count, part + 1);
        for (index_t k = share(points, part); k < last_point; ++k) of_points[k] = -1;
        for (index_t i = share(count, part); i < last_row; ++i)
            of_rows[i] = static_cast<std::int32_t>(sample.point(first + i));
    });
    for (index_t i = 0; i < count; ++i) of_points[of_rows[i]] = static_cast<std::int32_t>(i);
    return {signs, of_rows, of_points};
}

// On a device: the words of signs, and the point of each of the rows [first, first + count) or, by_point, the row of each
// point, less `first`, or -1.
template <class Space>
struct sample_there {
    typename Space::template handle<int const> signs, places;
};
template <class Arena>
std::size_t bytes_of_sample_there(index_t points, index_t places) {
    auto const bytes = [](index_t count) {
        return Arena::rounded(static_cast<std::size_t>(count < 0 ? 0 : count) * sizeof(int));
    };
    return bytes(sign_places(bits_of(points)).words()) + bytes(places);
}
template <class T, class Space, class Leaf, class Arena>
result<sample_there<Space>> write_sample_there(Leaf const& leaf, point_sample const& sample, index_t first,
                                               index_t count, bool by_point, Arena& memory) {
    index_t const all = by_point ? sample.points() : count;
    auto const signs = memory.template take<int>(sample.words()), places = memory.template take<int>(all);
    seed_words const key(sample.seed());
    status done = leaf.launch(sketch_kernel<T>("write_sample"),
                              groups_for_each(larger_of(sample.words(), all), 256), signs, places, key.first,
                              key.second, sample.kind(), point_sample::half_of(sample.points()),
                              sample.words(), sample.points(), first, count, int{by_point});
    if (!done) return done;
    return sample_there<Space>{signs, places};
}

STRATAGEMM_END
