// How a device does a transform: the launches of kernels that a length takes, and how a group of work-items does short
// transforms in registers and shared memory. It depends on the length, the type and the layout alone.
#pragma once

#include "../../core/leaf.hpp"
#include "kinds.hpp"

#include <cmath>
#include <cstdint>

STRATAGEMM_BEGIN

// The radices of a short length: each is a primitive one, or a product of two, done in registers.
struct dft_radix {
    static constexpr int primitives[] = {1, 2, 3, 4, 5, 7};
    int radix = 1, first = 1, second = 1; // radix = first x second; second is 1 for a primitive radix

    // The radix as its most even product; `radix` is 0 if it is none.
    static constexpr dft_radix of(int r) {
        dft_radix best{0, 1, 1};
        for (int const a : primitives)
            for (int const b : primitives)
                if (a * b == r && a <= b && (best.radix == 0 || a > best.first)) best = {r, a, b};
        if (best.radix != 0 && best.first == 1) best = {r, r, 1};
        return best;
    }
};

// Bit r: whether r is a radix.
inline constexpr unsigned dft_radix_bits = [] {
    unsigned bits = 0;
    for (int r = 1; r < 32; ++r)
        if (dft_radix::of(r).radix != 0) bits |= 1u << r;
    return bits;
}();
constexpr bool is_dft_radix(int r) { return (dft_radix_bits >> r & 1) != 0; }

// How work-items share a transform of some points: by a step for each radix, with some butterflies of each step for each
// of the `threads` work-items. The division depends on the length alone, and so do the bits of the results.
//
// A launch is bound by memory, or by what lies between two barriers. On an H200, three steps are the best from 64 points
// on: fewer have larger radices, whose numbers take registers, and more have more barriers. A work-item keeps 8 numbers
// best up to 512 points, and 16 beyond. Among the radices of three steps, and the numbers of work-items, those are taken
// that leave the fewest slots for numbers empty, where numbers above these make slots dearer.
struct dft_sharing {
    static constexpr int largest_radix = 25; // more numbers do not fit registers
    static constexpr int most = 12;          // 4096 has no more factors
    // Work-items of a group, at most.
    static constexpr int most_items(int points) { return points <= 4096 ? 256 : 1024; }

    int count = 0;
    int radix[most] = {}; // the largest comes first, unless told otherwise
    int threads = 1;

    explicit dft_sharing(int points, bool smallest_first = false) : dft_sharing(found(points)) {
        for (int i = 0; smallest_first && i < count / 2; ++i) {
            int const r = radix[i];
            radix[i] = radix[count - 1 - i], radix[count - 1 - i] = r;
        }
    }
    int rounds(int points, int step) const {
        int const butterflies = points / radix[step];
        return (butterflies + threads - 1) / threads;
    }

private:
    struct cost {
        long slots = 0;
        int away = 0; // from the number that a work-item ought to keep
        bool operator<(cost const& y) const {
            return y.slots == 0 || slots < y.slots || (slots == y.slots && away < y.away);
        }
    };
    dft_sharing() = default;
    // The search takes microseconds, and a call asks several times for what the call before asked for.
    static dft_sharing const& found(int points) {
        thread_local int lengths[16] = {};
        thread_local dft_sharing answers[16];
        unsigned const at = static_cast<std::uint32_t>(points) * 0x9e3779b1u >> 28;
        if (lengths[at] != points) answers[at] = searched(points), lengths[at] = points;
        return answers[at];
    }
    static dft_sharing searched(int points) {
        dft_sharing best;
        cost least;
        for (int steps = points < 64 ? 1 : 3; best.count == 0; ++steps)
            for (int first = 1; first <= largest_radix; ++first) best.consider(points, steps, first, least);
        return best;
    }
    void consider(int points, int steps, int first, cost& least) {
        dft_sharing one;
        if (!is_dft_radix(first) || points % first != 0) return;
        one.radix[one.count++] = first;
        if (!one.divide(points / first, steps - 1, first)) return;
        int const keeps = larger(first, usual(points));
        for (int i = 0; i < one.count; ++i) {
            int const butterflies = points / one.radix[i];
            for (int c = (butterflies + most_items(points) - 1) / most_items(points);
                 c * one.radix[i] <= 2 * keeps; ++c) {
                one.threads = (butterflies + c - 1) / c;
                cost const of = one.cost_of(points);
                if (of < least) least = of, *this = one;
            }
        }
    }
    static int usual(int points) { return points <= 512 ? 8 : 16; }
    static int larger(int x, int y) { return x < y ? y : x; }
    cost cost_of(int points) const {
        int own = 0;
        cost of;
        for (int i = 0; i < count; ++i) {
            int const numbers = rounds(points, i) * radix[i];
            of.slots += long{numbers} * threads, own = larger(own, numbers);
        }
        int const away = own - usual(points);
        of.slots *= 32 + larger(away, 0), of.away = larger(away, -away);
        return of;
    }
    // Radices of so many steps, of which the first is as small as can be, and none is larger than the one before.
    bool divide(int rest, int steps, int limit) {
        if (steps == 0) return rest == 1;
        for (int r = 2; r <= limit; ++r)
            if (is_dft_radix(r) && rest % r == 0) {
                radix[count++] = r;
                if (divide(rest / r, steps - 1, r)) return true;
                --count;
            }
        return false;
    }
};

// What a launch does, beside its lengths.
inline constexpr index_t dft_in_across =
    1; // neighbours in the memory that is read are elements of neighbouring transforms
inline constexpr index_t dft_out_across = 2; // the same for the memory that is written
inline constexpr index_t dft_in_unit = 4; // elements of a transform are neighbours in the memory that is read
inline constexpr index_t dft_out_unit = 8;         // the same for the memory that is written
inline constexpr index_t dft_in_moved = 16;        // rows of X are shifted, or zeros follow them
inline constexpr index_t dft_out_moved = 32;       // rows of C are shifted, or some are left out
inline constexpr index_t dft_in_inside = 64;       // workspace is read
inline constexpr index_t dft_out_inside = 128;     // workspace is written
inline constexpr index_t dft_in_pairs = 256;       // 16 bytes of X are read at once
inline constexpr index_t dft_out_pairs = 512;      // 16 bytes of C are written at once
inline constexpr index_t dft_in_aligned = 131072;  // the address of X is a multiple of the size of an element
inline constexpr index_t dft_out_aligned = 262144; // the same for C
inline constexpr index_t dft_real = 1024;          // elements of X have no imaginary part
inline constexpr index_t dft_ends = 2048;          // E is added, or there is an epilogue
inline constexpr index_t dft_columns_first =
    4096; // of a long transform: neighbours are the same elements of different transforms
inline constexpr index_t dft_in_chirp = 8192;       // what is read is multiplied by a chirp; zeros follow
inline constexpr index_t dft_out_chirp = 16384;     // the conjugate of a result is multiplied by a chirp
inline constexpr index_t dft_out_spectrum = 32768;  // a result is multiplied by a spectrum, and conjugated
inline constexpr index_t dft_from_chirp = 65536;    // a chirp is transformed, and nothing is read
inline constexpr index_t dft_parts = 1 << 24;       // a cosine transform of the real parts of complex numbers
inline constexpr index_t dft_second_part = 1 << 25; // with dft_parts: of the imaginary parts
inline constexpr index_t dft_roomy = 1 << 26;       // a group has twice dft_work::most_room
inline constexpr index_t dft_sampled =
    1 << 27; // of a cosine transform: rows of X or of C are some of the points
inline constexpr index_t dft_free_flag = 1 << 28; // this and greater ones are for kernels that add to these
// Bits 20 to 23: the kind, of elements that are read from X, and of results that are written to C.
constexpr index_t flags_of(dft_kind kind) { return static_cast<index_t>(kind) << 20; }
constexpr dft_kind kind_of(index_t flags) { return static_cast<dft_kind>(flags >> 20 & 15); }
constexpr dft_kind kind_read(index_t flags) {
    return flags & dft_in_inside ? dft_kind::whole : kind_of(flags);
}
constexpr dft_kind kind_written(index_t flags) {
    return flags & dft_out_inside ? dft_kind::whole : kind_of(flags);
}

// A group of `items` work-items does `together` short transforms at once, each by `threads` of them.
template <class R>
struct dft_work {
    static constexpr int largest_points = 4096;         // on any device
    static constexpr int usual = 128 / (2 * sizeof(R)); // points of a work-item: 128 bytes in flight
    static constexpr int most_room = 32768;             // bytes of shared memory, for several transforms

    static index_t room_on(device_limits const& limits) {
        return limits.group_bytes >= 2 * most_room ? dft_roomy : 0;
    }
    // On this device: a work-item has the usual number of points, and shared memory has room for all.
    static int largest_on(device_limits const& limits) {
        index_t const by_items = index_t{usual} * limits.group_items,
                      by_room = static_cast<index_t>(limits.group_bytes / sizeof(R));
        return static_cast<int>(larger_of(largest_points, smaller(by_items, by_room)));
    }

    int points;
    dft_sharing steps;
    int threads, together = 1, items = 32;
    bool across;
    bool flat_in = false, flat_out = false; // through shared memory, by all work-items in the order of memory
    bool both = false;                      // real and imaginary parts are exchanged at once
    bool meets_in = false, meets_out = false; // pairs of elements meet before the steps, or behind them
    bool is_laden = false;                    // results have more to them than a factor
    bool has_own_pairs = false; // each work-item has pairs of the transform that its steps are of

    dft_work(int points_, index_t flags)
        : points(points_), steps(points, is_smallest_first(kind_written(flags))), threads(steps.threads),
          across((flags & dft_in_across) != 0) {
        int const room = points * static_cast<int>(sizeof(R));
        bool const scattered = threads * 2 * static_cast<int>(sizeof(R)) < 32;
        meets_in = meets_before(kind_read(flags)), meets_out = meets_behind(kind_written(flags));
        flat_in = meets_in || (!across && scattered && points > 1 && !(flags & dft_in_pairs));
        flat_out =
            meets_out || turns_out(flags) || (!across && scattered && points > 1 && !(flags & dft_out_pairs));
        if (across) {
            while (together < 32 && 2 * together * threads <= dft_sharing::most_items(points) &&
                   2 * together * room <= most_room)
                together *= 2;
        } else {
            int const wanted = flat_in || flat_out ? 128 : 64;
            together = threads < wanted ? wanted / threads : 1;
            while (together > 1 && together * room > most_room) --together;
        }
        items = (together * threads + 31) / 32 * 32;
        both = 2 * together * room <= (flags & dft_roomy ? 2 * most_room : most_room);
        is_laden = (flags & dft_ends) != 0;
        // Then those of a warp are neighbours, and no work-item has to ask what transform a pair is of.
        has_own_pairs = !across && !turns_out(flags) && threads >= 32 && items == together * threads;
    }
    // With the smallest radix first, more elements are read by 16 bytes. Where pairs meet behind the steps, none are
    // written so in any case.
    static bool is_smallest_first(dft_kind kind) { return sizeof(R) == 4 && meets_behind(kind); }
    int rounds(int step) const { return steps.rounds(points, step); }
    // Whether neighbours in the memory that is read are none in the memory that is written.
    bool turns_out(index_t flags) const { return across != ((flags & dft_out_across) != 0); }
    // Numbers that a work-item keeps.
    int kept() const {
        int most = 1;
        for (int i = 0; i < steps.count; ++i) most = larger_int(most, rounds(i) * steps.radix[i]);
        if (flat_in || flat_out) most = larger_int(most, flat_rounds());
        if (meets_in || meets_out) most = larger_int(most, 2 * pair_rounds(points));
        return most;
    }
    // Whether NVRTC has to be told how many groups are wanted: where there are pairs or many numbers of float, it
    // spills some of these for more groups. Of doubles, which take twice the registers, it spills some where pairs
    // meet.
    bool names_groups(bool has_pairs) const {
        return sizeof(R) == 4 ? has_pairs || is_laden || kept() > usual : meets_in || meets_out;
    }
    // Groups whose registers fit a multiprocessor of 65,536: those of the numbers, of 16 more, of addresses and of
    // what ends a product.
    int groups_at_once() const {
        int const words = static_cast<int>(sizeof(R) / 4),
                  groups = 65536 / (items * (2 * (kept() + 16) * words + (is_laden ? 50 : 32)));
        return groups < 1 ? 1 : groups;
    }
    // Of shared memory: numbers, and bytes that the launch has to ask for.
    int numbers_of_room() const { return (flat_points() + 31) / 32 * 32 * (both ? 2 : 1); }
    std::size_t launched_bytes() const {
        auto const all = static_cast<std::size_t>(numbers_of_room()) * sizeof(R);
        return all > device_declared_bytes ? all : 0;
    }
    int flat_rounds() const { return (points * together + items - 1) / items; }
    int flat_points() const { return points * together; }
    // Elements k and h - k of all transforms of the group, 0 <= k <= h / 2, for h = `length` points or fewer.
    int all_pairs(int length) const { return (length / 2 + 1) * together; }
    int pair_rounds(int length) const {
        return has_own_pairs ? length / 2 / threads + 1 : (all_pairs(length) + items - 1) / items;
    }
    // Roots of a step, for 0 < q < radix and 0 <= k < lead. Where there would be more than 4 KiB of them, a table has
    // those whose q is less than some number, or a multiple of it; the others are products of two. The answer is this
    // number, or the radix.
    static int few_roots(int radix, int lead) {
        int few = 1;
        while (few * few < radix) ++few;
        return index_t{radix - 1} * lead * index_t{2 * sizeof(R)} > 4096 && few > 2 ? few : radix;
    }
    // Whether pairs of butterflies can share reads and writes of 16 bytes.
    bool can_pair(int step) const {
        return sizeof(R) == 4 && !across && points / steps.radix[step] % (2 * threads) == 0;
    }
    // A work-item exchanges numbers with those of its warp alone.
    bool in_warp() const { return !across && 32 % threads == 0 && !flat_in && !flat_out; }

private:
    static int larger_int(int x, int y) { return x < y ? y : x; }
};

// The launches of a transform of a length without prime factors but 2, 3, 5 and 7: one, or several whose lengths have
// the product `length` (Stockham's algorithm with these lengths for radices).
struct dft_launches {
    static constexpr index_t longest = 1024; // of several: so that a group reads 32 bytes of neighbours
    int count = 1;
    int points[4] = {1, 1, 1, 1};

    dft_launches(index_t length, int largest) {
        if (length <= largest) {
            points[0] = static_cast<int>(length);
            return;
        }
        for (count = 2; count < 4; ++count)
            if (divide(length, 0)) return;
        divide(length, 0);
    }

private:
    // The least first factor that leaves factors no larger, for as many launches as there are.
    bool divide(index_t rest, int at) {
        if (at == count - 1) {
            points[at] = static_cast<int>(rest);
            return rest <= longest;
        }
        double const root = std::pow(static_cast<double>(rest), 1.0 / (count - at));
        for (index_t d = larger_of(2, static_cast<index_t>(root)); d <= longest; ++d) {
            double power = 1;
            for (int i = at; i < count; ++i) power *= static_cast<double>(d);
            if (power < static_cast<double>(rest) || rest % d != 0) continue;
            points[at] = static_cast<int>(d);
            if (divide(rest / d, at + 1)) return true;
        }
        return false;
    }
};

// How a device does transforms of n points.
template <class R>
struct dft_device_division {
    index_t n, length;
    dft_launches launches;

    explicit dft_device_division(index_t points, device_limits const& limits = {})
        : n(points < 1 ? 1 : points), length(is_smooth(n) ? n : smooth_from(2 * n - 1)),
          launches(length, // a chirp in one launch has tables of three lengths in its text
                   is_chirp() ? dft_work<R>::largest_points : dft_work<R>::largest_on(limits)) {}
    bool is_chirp() const { return length != n; }
    bool is_long() const { return launches.count > 1; }
    // Transforms that are done at once, if one has to go through workspace: enough to keep a device busy.
    index_t at_once(index_t transforms) const {
        index_t const enough = larger_of(1, (index_t{1} << 22) / length);
        return smaller(enough, transforms);
    }
    // Arrays of `length` numbers in workspace, for each transform.
    int arrays() const { return !is_long() ? 0 : launches.count > 2 || is_chirp() ? 2 : 1; }
};

// How a device does a transform of n real or complex points: by which complex one.
template <class R>
struct dft_device_way {
    index_t n;
    dft_kind kind;
    dft_device_division<R> division;

    static dft_device_way complex(index_t n, device_limits const& limits) {
        return {n, dft_kind::whole, dft_device_division<R>(n, limits)};
    }
    // Of n real numbers, to no more frequencies than tell all; and back.
    static dft_device_way to_half(index_t n) { return halved_or(dft_kind::to_half, n, dft_kind::whole); }
    static dft_device_way from_half(index_t n) {
        return halved_or(dft_kind::from_half, n, dft_kind::from_mirrored);
    }
    // `type` is 2, 3 or 4.
    static dft_device_way cosine(int type, index_t n) {
        if (type == 2) return halved_or(dft_kind::cosine_2_halved, n, dft_kind::cosine_2);
        if (type == 3) return halved_or(dft_kind::cosine_3_halved, n, dft_kind::cosine_3);
        if (n % 2 == 0) return {n, dft_kind::cosine_4_halved, dft_device_division<R>(n / 2)};
        return {n, dft_kind::cosine_4, dft_device_division<R>(2 * n)};
    }
    bool is_halved() const { return meets_before(kind) || meets_behind(kind); }

private:
    static dft_device_way halved_or(dft_kind halved, index_t n, dft_kind other) {
        if (n % 2 == 0 && n > 0) {
            dft_device_division<R> const half(n / 2);
            if (!half.is_long()) return {n, halved, half};
        }
        return {n, other, dft_device_division<R>(n)};
    }
};

STRATAGEMM_END
