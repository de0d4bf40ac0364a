// The data that transforms of one length need: their division, and tables. Tables are computed in double, each element
// from a separate sine and cosine, and rounded once. Tables are kept for later calls.
//
// A length without prime factors beyond largest_prime_pass is divided into passes (Stockham's algorithm). Such a length
// is a product n1 n2 if a block of transforms is larger than a core's second-level cache: transforms of n1 points,
// factors, transforms of n2 points (Bailey: FFTs in external or hierarchical memory, 1990). Any other length is a
// convolution with a chirp, by transforms of a smooth length of at least 2n - 1 (Bluestein: A linear filtering approach
// to the computation of discrete Fourier transform, 1970).
#pragma once

#include "../../backend/host/caches.hpp"
#include "../../backend/host/unload.hpp"
#include "../../core/error.hpp"
#include "../../core/list.hpp"
#include "kernels.hpp"

#ifdef __linux__
#    include <pthread.h>
#endif

STRATAGEMM_BEGIN

struct dft_root {
    double re, im;
};
// exp(-2 pi i k / n), 0 <= k < n, from an angle of at most pi / 4.
[[gnu::noinline]] inline dft_root root_of_unity(index_t k, index_t n) {
    // 8k = octant n + rest. Since n <= 2^32, none of these overflows.
    index_t const octant = 8 * k / n, rest = 8 * k - octant * n;
    bool const odd = octant & 1;
    double const angle =
        0.78539816339744830962 * static_cast<double>(odd ? n - rest : rest) / static_cast<double>(n);
    double const c = __builtin_cos(angle), s = __builtin_sin(angle);
    // Within its quarter, the angle is that from the nearer axis.
    double const x = odd ? s : c, y = odd ? c : s;
    switch (octant / 2) {
    case 0: return {x, -y};
    case 1: return {-y, -x};
    case 2: return {-x, y};
    default: return {y, x};
    }
}

// Whether n has no prime factors but 2, 3, 5 and 7.
inline bool is_smooth(index_t n) {
    for (index_t const p : {2, 3, 5, 7})
        while (n % p == 0) n /= p;
    return n == 1;
}
inline index_t smooth_from(index_t n) {
    while (!is_smooth(n)) ++n;
    return n;
}

// Whether it has none beyond largest_prime_pass, so that the host does without a convolution.
inline bool has_passes(index_t n) {
    for (index_t p = 2; p <= largest_prime_pass; ++p)
        while (n % p == 0) n /= p;
    return n == 1;
}

// Bytes of a core's first-level cache, or a cautious guess.
[[gnu::noinline]] inline index_t first_level_cache() {
#if defined(__linux__) && defined(_SC_LEVEL1_DCACHE_SIZE)
    static long const bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    if (bytes > 0) return bytes;
#endif
    return 32 << 10;
}

// How transforms of n points are divided, without tables. Those of real numbers are `halved` where they can be: two
// numbers are one complex one, and n is half their count.
template <class R>
struct dft_division {
    index_t n = 1;
    bool is_halved = false;
    index_t length = 1;     // of the convolution, or n
    index_t n1 = 1, n2 = 1; // their product is `length`; n2 is 1 if a block is in the cache
    bool is_chirp() const { return length != n; }
    bool is_long() const { return n2 > 1; }
    index_t most() const { return larger_of(n1, n2); }

    explicit dft_division(index_t points, bool halved = false)
        : n(points < 1 ? 1
            : halved   ? points / 2
                       : points),
          is_halved(halved) {
        length = has_passes(n) ? n : smooth_from(2 * n - 1);
        n1 = length;
        index_t const row = 4 * dft_kernels_here<R>().lanes * index_t{sizeof(R)};
        if (length * row <= second_level_cache()) return;
        // The greatest divisor up to the square root.
        index_t best = 1;
        for (index_t d = 2; d * d <= length; ++d)
            if (length % d == 0) best = d;
        n1 = length / best, n2 = best;
    }
};

// Of n real numbers, or to them.
template <class R>
dft_division<R> division_of_reals(index_t n) {
    if (n % 2 == 0 && n > 0) {
        dft_division<R> const half(n, true);
        if (!(half.is_long() && half.is_chirp())) return half;
    }
    return dft_division<R>(n);
}

// Lanes of one matrix of n1 x n2 elements k = i n2 + j, j a lane: first + step l for l < count. The elements k and n1
// n2 - k of a halved transform meet in one step. They are row i of lane j and row n1 - 1 - i of lane n2 - j; or rows i
// and n1 - i of lane 0. Strip 0 is lane 0 alone, strip 2b + 1 has lanes from W b + 1 on, and strip 2b + 2 those that
// meet them.
struct dft_strip {
    index_t first, step, count;
};
inline index_t strips_of(index_t lanes, index_t W) { return 1 + 2 * divide_up(lanes / 2, W); }
inline dft_strip strip_of(index_t lanes, index_t W, index_t strip) {
    if (strip == 0) return {0, 1, 1};
    index_t const before = (strip - 1) / 2 * W, count = smaller(W, lanes / 2 - before);
    if (strip % 2 == 1) return {before + 1, 1, count};
    return {lanes - 1 - before, -1, count};
}

// The radices of a length that has passes: as few as there can be.
template <class R>
dft_steps<R> steps_of(index_t points) {
    dft_steps<R> s;
    s.points = points;
    index_t rest = points;
    int twos = 0;
    for (; rest % 2 == 0; rest /= 2) ++twos;
    for (int p = 3; p <= largest_prime_pass; p += 2)
        for (; rest % p == 0; rest /= p) s.radix[s.count++] = p;
    for (int i = 0; i < s.count / 2; ++i)
        std::swap(s.radix[i], s.radix[s.count - 1 - i]);                 // the largest first
    int const widest = dft_kernels_here<R>().largest_radix == 8 ? 3 : 2; // twos of a pass
    int passes = (twos + widest - 1) / widest;
    // The last pass writes to as many places as its radix is. If these share a set of the first-level cache, the set
    // has no room for eight of them, each of which may begin in the middle of a line.
    if (passes > 0 && twos == 3 * passes && are_pages_apart(points / 8 * 2 * index_t{sizeof(R)})) ++passes;
    for (int i = 0; i < passes; ++i) s.radix[s.count++] = 1 << ((twos + passes - 1 - i) / passes);
    return s;
}
// How many lanes of a vector a transform has whose elements lie side by side (lines.inl.hpp): all of them, or half
// where some pass has no more. 0: the transforms of this length run side by side in lanes alone.
template <class R>
int part_of(dft_steps<R> const& s) {
    auto const W = static_cast<int>(dft_kernels_here<R>().lanes);
    for (int part = W; part > 1 && 2 * part >= W; part /= 2) {
        bool fits = s.count > 1;
        for (int i = 0; i < s.count; ++i) {
            int const r = s.radix[i];
            bool const is_last = i + 1 == s.count;
            fits = fits && s.points / r % part == 0 && (r == 4 || r == 8 || (r == 2 && is_last));
        }
        if (fits) return part;
    }
    return 0;
}
template <class R>
int part_of(dft_division<R> const& d) {
    return d.is_long() || d.is_chirp() ? 0 : part_of(steps_of<R>(d.n));
}

// Tables of a length. Those that use it count themselves.
template <class R>
struct dft_plan {
    dft_division<R> division;
    dft_steps<R> first, second; // of n1 and n2 points
    list<R> first_factors, second_factors;
    list<R>
        between; // of n1 n2: row k1 of as many blocks of lanes as n2 takes, for each block; or for each strip
    int part = 0;
    list<R> line_factors; // of transforms whose elements lie side by side: see set_line_factors()
    list<R> chirp, spectrum;
    list<R> turns, turns_of_rows, turns_across; // of a halved one: see set_turns()
    dft_plan* next = nullptr;
    int users = 0;

    explicit dft_plan(dft_division<R> const& d) : division(d) {}
    std::size_t bytes() const {
        return (first_factors.size() + second_factors.size() + line_factors.size() + between.size() +
                chirp.size() + spectrum.size() + turns.size() + turns_of_rows.size() + turns_across.size()) *
               sizeof(R);
    }

    // False: there is no memory.
    [[gnu::cold]] bool build() {
        first = steps_of<R>(division.n1), second = steps_of<R>(division.n2);
        if (!set_factors(first, first_factors) || !set_factors(second, second_factors)) return false;
        if (division.is_long() && !set_between()) return false;
        part = part_of(division);
        if (part > 0 && !set_line_factors()) return false;
        if (division.is_halved && !set_turns()) return false;
        return !division.is_chirp() || (set_chirp() && set_spectrum());
    }

private:
    static std::size_t pairs(index_t count) { return 2 * static_cast<std::size_t>(count); }
    static bool set_factors(dft_steps<R>& s, list<R>& factors) {
        index_t m = s.points, count = 0;
        for (int i = 0; i < s.count; ++i) {
            m /= s.radix[i], count += m * (s.radix[i] - 1);
            if (s.radix[i] > 8) count += s.radix[i];
        }
        if (!factors.resize(pairs(count))) return false;
        R* to = factors.data();
        m = s.points;
        for (int i = 0; i < s.count; ++i) {
            index_t const length = m;
            m /= s.radix[i];
            for (index_t k = 0; k < s.radix[i] && s.radix[i] > 8; ++k) {
                auto const w = root_of_unity(k, s.radix[i]);
                *to++ = static_cast<R>(w.re), *to++ = static_cast<R>(-w.im);
            }
            for (index_t p = 0; p < m; ++p)
                for (index_t t = 1; t < s.radix[i]; ++t) {
                    auto const w = root_of_unity(p * t, length);
                    *to++ = static_cast<R>(w.re), *to++ = static_cast<R>(w.im);
                }
        }
        s.factors = factors.data();
        return true;
    }
    // Of the passes whose s is less than `part`: rows whose lanes have a factor each.
    bool set_line_factors() {
        index_t const W = dft_kernels_here<R>().lanes;
        index_t rows = 0, s = 1;
        for (int i = 0; s < part; s *= first.radix[i++])
            rows += first.points / first.radix[i] / part * (first.radix[i] - 1);
        index_t const group = dft_order<R, 2>::group;
        auto const number_of = [&](index_t lane) { // as dft_order has it
            return lane / group % 2 * (W / 2) + lane / (2 * group) * group + lane % group;
        };
        if (!line_factors.resize(pairs(rows * W))) return false;
        R* to = line_factors.data();
        s = 1;
        for (int i = 0; s < part; s *= first.radix[i++])
            for (index_t j = 0; j < first.points / first.radix[i]; j += part)
                for (index_t t = 1; t < first.radix[i]; ++t, to += 2 * W)
                    for (index_t l = 0; l < W; ++l) {
                        auto const w = root_of_unity((j + number_of(l) % part) / s * t, first.points / s);
                        to[l] = static_cast<R>(w.re), to[l + W] = static_cast<R>(w.im);
                    }
        return true;
    }
    bool set_between() {
        index_t const W = dft_kernels_here<R>().lanes, n1 = division.n1, n2 = division.n2,
                      blocks = division.is_halved ? strips_of(n2, W) : divide_up(n2, W);
        if (!between.resize(pairs(blocks * W * n1))) return false;
        for (index_t b = 0; b < blocks; ++b) {
            dft_strip const lanes =
                division.is_halved ? strip_of(n2, W, b) : dft_strip{b * W, 1, smaller(W, n2 - b * W)};
            for (index_t k = 0; k < n1; ++k)
                for (index_t l = 0; l < lanes.count; ++l) { // the others are zero
                    auto const w = root_of_unity((lanes.first + lanes.step * l) * k, division.length);
                    R* const to = between.data() + (b * n1 + k) * 2 * W + l;
                    to[0] = static_cast<R>(w.re), to[W] = static_cast<R>(w.im);
                }
        }
        return true;
    }
    // The factors between Z and Y (dft_mirror, passes.inl.hpp). Of a block that has all n elements in rows: `turns`,
    // for row k. Of one that has rows k1 + n1 k2: `turns_of_rows`, for k2. Of one that has rows i n2 + j: `turns`, for
    // i. These two times `turns_across`, for lanes k1 or j.
    bool set_turns() {
        index_t const W = dft_kernels_here<R>().lanes, n1 = division.n1, n2 = division.n2, n = division.n;
        auto const set = [&](list<R>& to, index_t count, index_t by) {
            if (!to.resize(pairs(count))) return false;
            for (index_t k = 0; k < count; ++k) { // -i exp(-2 pi i k by / 2n)
                auto const w = root_of_unity(k * by, 2 * n);
                to[pairs(k)] = static_cast<R>(w.im), to[pairs(k) + 1] = static_cast<R>(-w.re);
            }
            return true;
        };
        if (!division.is_long()) return set(turns, n / 2 + 1, 1);
        index_t const blocks = divide_up(division.most() / 2, W);
        if (!set(turns, n1, n2) || !set(turns_of_rows, n2, n1) || !turns_across.resize(pairs(blocks * W)))
            return false;
        for (index_t j = 0; j < blocks * W; ++j) {
            auto const w = root_of_unity(j + 1, 2 * n);
            R* const to = turns_across.data() + j / W * 2 * W + j % W;
            to[0] = static_cast<R>(w.re), to[W] = static_cast<R>(w.im);
        }
        return true;
    }
    // exp(-pi i j^2 / n)
    dft_root chirp_at(index_t j) const { return root_of_unity(j * j % (2 * division.n), 2 * division.n); }
    bool set_chirp() {
        if (!chirp.resize(pairs(division.n))) return false;
        for (index_t j = 0; j < division.n; ++j) {
            auto const w = chirp_at(j);
            chirp[pairs(j)] = static_cast<R>(w.re), chirp[pairs(j) + 1] = static_cast<R>(w.im);
        }
        return true;
    }
    // Sets the spectrum of the conjugate chirp, over `length`, in the order in which kernels read it.
    bool set_spectrum();
};

// A transform in double by one lane of a block.
[[gnu::cold]] inline bool transform_one(list<double>& x) {
    auto const points = static_cast<index_t>(x.size() / 2);
    dft_plan<double> plan{dft_division<double>(points)};
    plan.division.n1 = points, plan.division.n2 = 1;     // undivided
    auto const& with = host_portable::dft_table<double>; // with few lanes
    list<double> room;
    auto const size = static_cast<std::size_t>(2 * points * with.lanes);
    if (!plan.build() || !room.resize(2 * size)) return false;
    dft_lanes<double> lane{x.data(), 2, 0, points, 1};
    with.load({lane.data, lane.row, lane.lane, lane.rows, lane.count}, room.data());
    with.store(with.passes(plan.first, room.data(), room.data() + size), lane);
    return true;
}

template <class R>
bool dft_plan<R>::set_spectrum() {
    index_t const n = division.n, length = division.length;
    list<double> x;
    if (!x.resize(pairs(length)) || !spectrum.resize(pairs(length))) return false;
    auto const over = 1 / static_cast<double>(length);
    for (index_t j = 0; j < n; ++j) {
        auto const w = chirp_at(j);
        for (index_t const at : {j, j == 0 ? j : length - j})
            x[pairs(at)] = w.re * over, x[pairs(at) + 1] = -w.im * over;
    }
    if (!transform_one(x)) return false;
    for (std::size_t i = 0; i < x.size(); ++i) spectrum[i] = static_cast<R>(x[i]);
    return true;
}

// The plan that was used last, and plans before that one as long as the last cache has room for their tables. Hidden:
// each library that holds this code has separate plans, since its plans are freed when the library is unloaded.
template <class R>
struct [[gnu::visibility("hidden")]] dft_plans {
    // Returns null if there is no memory. The caller gives the plan back.
    [[gnu::cold, gnu::noinline]] dft_plan<R>* take(dft_division<R> const& d) {
        if (!__atomic_exchange_n(&is_watched_, true, __ATOMIC_RELAXED)) watch();
        lock();
        dft_plan<R>* plan = unlink(d);
        if (plan) link(plan);
        unlock();
        if (plan) return plan;
        plan = new (std::nothrow) dft_plan<R>(d); // by two threads at once, one of which is kept as well
        if (!plan || !plan->build()) {
            delete plan;
            return nullptr;
        }
        lock();
        link(plan);
        unlock();
        return plan;
    }
    void give_back(dft_plan<R> * plan) {
        lock();
        --plan->users;
        auto room = static_cast<std::size_t>(third_level_cache());
        for (dft_plan<R>** at = &first_; *at;) {
            dft_plan<R>* const x = *at;
            if (x == first_ || x->users > 0 || x->bytes() <= room) {
                room -= x->bytes() < room ? x->bytes() : room;
                at = &x->next;
            } else {
                *at = x->next;
                delete x;
            }
        }
        unlock();
    }
    static dft_plans& kept() {
        static constinit dft_plans plans;
        return plans;
    }

private:
    // A child of fork() may have been made while another thread held the lock: it begins without plans.
    static void watch() {
        call_at_unload([] { kept().clear(); });
#ifdef __linux__
        pthread_atfork(nullptr, nullptr, [] { new (&kept()) dft_plans; });
#endif
    }
    void clear() {
        while (dft_plan<R>* const x = first_) first_ = x->next, delete x;
    }
    dft_plan<R>* unlink(dft_division<R> const& d) {
        for (dft_plan<R>** at = &first_; *at; at = &(*at)->next)
            if (dft_plan<R>* const x = *at; x->division.n == d.n && x->division.is_halved == d.is_halved) {
                *at = x->next;
                return x;
            }
        return nullptr;
    }
    void link(dft_plan<R> * plan) {
        plan->next = first_, first_ = plan;
        ++plan->users;
    }
    // The lock is held for some steps along a list.
    void lock() {
        while (__atomic_exchange_n(&is_locked_, true, __ATOMIC_ACQUIRE))
            while (__atomic_load_n(&is_locked_, __ATOMIC_RELAXED)) {
            }
    }
    void unlock() { __atomic_store_n(&is_locked_, false, __ATOMIC_RELEASE); }

    dft_plan<R>* first_ = nullptr;
    bool is_locked_ = false;
    static inline constinit bool is_watched_ = false;
};

// A plan as long as this lives.
template <class R>
class dft_plan_use {
public:
    explicit dft_plan_use(dft_division<R> const& d) : plan_(dft_plans<R>::kept().take(d)) {}
    explicit dft_plan_use(index_t n) : dft_plan_use(dft_division<R>(n)) {}
    dft_plan_use(dft_plan_use const&) = delete;
    dft_plan_use& operator=(dft_plan_use const&) = delete;
    ~dft_plan_use() {
        if (plan_) dft_plans<R>::kept().give_back(plan_);
    }
    explicit operator bool() const { return plan_; }
    dft_plan<R> const& operator*() const { return *plan_; }

private:
    dft_plan<R>* plan_;
};

STRATAGEMM_END
