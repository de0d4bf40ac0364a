// How a device does a transform: the launches of kernels that a length takes, and how a group of work-items does short
// transforms in registers and shared memory. It depends on the length, the type and the layout alone.
#pragma once

#include "../../core/leaf.hpp"
#include "kinds.hpp"

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

// A length as a product of radices, largest first: as few as can be, and these as small as can be.
struct dft_radices {
    static constexpr int most = 12; // 4096 has no more factors
    int count = 0;
    int radix[most] = {};

    // Radices up to `largest`, which is at least 7.
    dft_radices(int points, int largest) {
        if (points == 1) {
            radix[count++] = 1;
            return;
        }
        for (count = 1; count < most; ++count)
            for (int limit = 2; limit <= largest; ++limit)
                if (is_dft_radix(limit) && points % limit == 0 && divide(points, 0, limit)) return;
    }

private:
    bool divide(int rest, int at, int limit) {
        if (at == count) return rest == 1;
        double reach = 1;
        for (int i = at; i < count; ++i) reach *= limit;
        if (reach < rest) return false;
        for (int r = limit; r > 1; --r)
            if (is_dft_radix(r) && rest % r == 0) {
                radix[at] = r;
                if (divide(rest / r, at + 1, r)) return true;
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
inline constexpr index_t dft_free_flag = 1 << 26;   // this and greater ones are for kernels that add to these
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
    static constexpr int largest_points = 4096;                    // on any device
    static constexpr int largest_radix = sizeof(R) == 4 ? 25 : 16; // more of them do not fit registers
    static constexpr int usual = 128 / (2 * sizeof(R)); // points of a work-item: 128 bytes in flight
    static constexpr int most_room = 32768;             // bytes of shared memory, for several transforms

    // On this device: a work-item has the usual number of points, and shared memory has room for all.
    static int largest_on(device_limits const& limits) {
        index_t const by_items = index_t{usual} * limits.group_items,
                      by_room = static_cast<index_t>(limits.group_bytes / sizeof(R));
        return static_cast<int>(larger_of(largest_points, smaller(by_items, by_room)));
    }

    int points;
    dft_radices radices;
    int most_items; // of a group
    int threads = 1, together = 1, items = 32;
    bool across;
    bool flat_in = false, flat_out = false; // through shared memory, by all work-items in the order of memory
    bool both = false;                      // real and imaginary parts are exchanged at once
    bool meets_in = false, meets_out = false; // pairs of elements meet before the steps, or behind them

    dft_work(int points_, index_t flags)
        : points(points_), radices(points_, largest_radix), most_items(points <= largest_points ? 256 : 1024),
          across((flags & dft_in_across) != 0) {
        choose_threads();
        int const room = points * static_cast<int>(sizeof(R));
        if (across) {
            together = 1;
            while (together < 32 && 2 * together * threads <= most_items && 2 * together * room <= most_room)
                together *= 2;
        } else {
            together = threads < 128 ? 128 / threads : 1;
            while (together > 1 && together * room > most_room) --together;
        }
        items = (together * threads + 31) / 32 * 32;
        both = 2 * together * room <= most_room / 2;
        bool const scattered = threads * 2 * static_cast<int>(sizeof(R)) < 32;
        meets_in = meets_before(kind_read(flags)), meets_out = meets_behind(kind_written(flags));
        flat_in = meets_in || (!across && scattered && points > 1 && !(flags & dft_in_pairs));
        flat_out =
            meets_out || turns_out(flags) || (!across && scattered && points > 1 && !(flags & dft_out_pairs));
    }
    int rounds(int step) const {
        int const butterflies = points / radices.radix[step];
        return (butterflies + threads - 1) / threads;
    }
    // Whether neighbours in the memory that is read are none in the memory that is written.
    bool turns_out(index_t flags) const { return across != ((flags & dft_out_across) != 0); }
    // Numbers that a work-item keeps.
    int kept() const {
        int most = 1;
        for (int i = 0; i < radices.count; ++i) most = larger_int(most, rounds(i) * radices.radix[i]);
        if (flat_in || flat_out) most = larger_int(most, flat_rounds());
        if (meets_in || meets_out) most = larger_int(most, 2 * pair_rounds(points));
        return most;
    }
    // Whether NVRTC has to be told how many groups are wanted: where there are pairs or many numbers of float, it
    // spills some of these for more groups. Of doubles, which take twice the registers, it spills some where pairs
    // meet.
    bool names_groups(bool has_pairs) const {
        return sizeof(R) == 4 ? has_pairs || kept() > usual : meets_in || meets_out;
    }
    // Groups whose registers fit a multiprocessor of 65,536: those of the numbers, of 16 more and of addresses.
    int groups_at_once() const {
        int const words = static_cast<int>(sizeof(R) / 4),
                  groups = 65536 / (items * (2 * (kept() + 16) * words + 32));
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
    int pair_rounds(int length) const { return (all_pairs(length) + items - 1) / items; }
    // Whether pairs of butterflies can share reads and writes of 16 bytes.
    bool can_pair(int step) const {
        return sizeof(R) == 4 && !across && points / radices.radix[step] % (2 * threads) == 0;
    }
    // A work-item exchanges numbers with those of its warp alone.
    bool in_warp() const { return !across && 32 % threads == 0 && !flat_in && !flat_out; }

private:
    static int larger_int(int x, int y) { return x < y ? y : x; }
    // The number of work-items whose rounds waste least; among these as many as have the usual number of points.
    void choose_threads() {
        long least = -1;
        int const wanted = larger_int(usual, radices.radix[0]);
        for (int i = 0; i < radices.count; ++i) {
            int const butterflies = points / radices.radix[i],
                      fewest = (butterflies + most_items - 1) / most_items,
                      most = larger_int(fewest, wanted / radices.radix[i]);
            for (int c = fewest; c <= most; ++c) {
                int const t = (butterflies + c - 1) / c;
                long slots = 0;
                int own = 0;
                for (int s = 0; s < radices.count; ++s) {
                    int const one = (points / radices.radix[s] + t - 1) / t * radices.radix[s];
                    slots += long{one} * t, own = larger_int(own, one);
                }
                if (own > wanted && least >= 0) continue;
                if (least < 0 || slots < least || (slots == least && t < threads)) least = slots, threads = t;
            }
        }
    }
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
        for (index_t d = 2; d <= longest; ++d) {
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
