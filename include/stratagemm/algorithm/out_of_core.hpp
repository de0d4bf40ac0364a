// Operands in one memory, products in another: blocks of A, B and E are brought into the memory of the
// base, blocks of C are brought back, and products larger than the memory of the base are done in parts.
//
//   sg::gemm(sg::out_of_core{gpu, {.device_bytes = 4_GiB}}, a, b, c);  at most 4 GiB of the device
//   sg::gemm(sg::out_of_core{sg::strassen{gpu}}, a, b, c);             as much as the device has
//   sg::gemm(sg::out_of_core{{gpu0, gpu1}}, a, b, c);                  whichever is free takes the next part
//   sg::gemm(sg::staged{gpu}, a, b, c);                                the same as out_of_core{gpu}
//
//   sg::gemm(sg::out_of_core{sg::host{}, {.host_bytes = 1_GiB}}, a, b, c);  files: out_of_core/files.hpp
//
// The call returns when C is there. A product that fits into the budget and is small is one part: in,
// product, out, on the queue of the base. Any other is cut into blocks. Either blocks of B with all of k
// stay in the memory of the base while blocks of A stream by (or the other way round), or, if k is too long
// for that, a block of C stays while pieces of k stream by: whichever is estimated to take less time.
// Uploads, products and downloads run at once, each on a queue of its own, fed by a thread of its own.
// Blocks go across as they lie, gaps and all; what is not pinned, or has no lines that a copy engine takes,
// is packed on the way, by a few threads. No block is padded.
//
// The result does not depend on the number of devices, if they are alike, nor on which of them took which
// part. An epilogue that the base cannot run is run on the host, on each finished block of C.
#pragma once

#include "../backend/host/memory.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

STRATAGEMM_BEGIN

inline namespace literals {
constexpr index_t operator""_MiB(unsigned long long x) { return static_cast<index_t>(x << 20); }
constexpr index_t operator""_GiB(unsigned long long x) { return static_cast<index_t>(x << 30); }
} // namespace literals

struct out_of_core_options {
    // Three quarters of the memory that a device, or the host, has.
    static constexpr index_t automatic = PTRDIFF_MAX;

    index_t device_bytes = automatic; // of each device: blocks, and the workspace of the base
    index_t host_bytes =
        automatic; // the same of the host, if the base multiplies there and operands are in files
    // Of matrices in files: a file that tells which blocks of C are done. A product that was ended goes on
    // from there; the file is removed when all is done. Empty: none is kept.
    std::string journal{};
    // Called with the number of finished blocks of C, and of all, by one thread at a time.
    std::function<void(index_t done, index_t all)> progress{};
};

// How a product is cut. Blocks of C are m x n, pieces of their sums k long; the last of each may be smaller.
struct tiling {
    index_t m = 0, n = 0, k = 0;
    index_t a_slots = 0, b_slots = 0, c_slots = 0; // blocks in the memory of the base
    bool a_stays = false;                          // else, if k is whole, blocks of B stay
    bool exists() const { return m > 0; }
};

// Where the operands of out_of_core are, for a base whose memory is There, and the leaf of that place: on
// the host for devices, and where out_of_core/files.hpp says for the host.
template <class There>
struct memory_beyond {
    using space = host_memory;
    using leaf = host_operations;
    // Of finished blocks: nobody resumes what is in memory.
    struct journal {
        template <class P>
        status open(out_of_core_options const& options, P const&, tiling const&) {
            if (options.journal.empty()) return {};
            return failure(errc::argument, "out_of_core: a journal is for matrices in files");
        }
        bool has(index_t) const { return false; }
        index_t count() const { return 0; }
        status add(index_t) { return {}; }
        status finish() { return {}; }
    };
};
template <>
struct memory_beyond<host_memory>;

// Host memory, and that of each base beside it.
template <class Arena>
class arenas : public host_arena {
public:
    arenas() = default;
    arenas(host_arena own, std::unique_ptr<Arena[]> bases, int count)
        : host_arena(std::move(own)), bases_(std::move(bases)), count_(count) {}
    bool fits(footprint f) const {
        for (int i = 0; i < count_; ++i)
            if (!bases_[i].fits(f)) return false;
        return std::is_base_of_v<host_arena, Arena> || host_arena::fits(f);
    }
    Arena& operator[](int i) { return bases_[static_cast<std::size_t>(i)]; }

private:
    std::unique_ptr<Arena[]> bases_;
    int count_ = 0;
};

// A layer over a device, such as strassen{gpu}, is not given host operands in silence: a copy there and back
// costs time.
template <class There>
requires(!std::is_same_v<There, host_memory>) struct refuse_space<There, host_memory> {
    static constexpr bool say() {
        static_assert(
            std::is_same_v<There, host_memory>,
            "stratagemm: the operands are in host memory and the policy is on a device: put staged{} around "
            "the policy, or the operands into matrices of the device");
        return false;
    }
};

// The order of the products of a tiling. A unit is what a device takes at a time: blocks of C that share a
// block of the operand that streams by, or one block of C and all its pieces.
class course {
public:
    struct step {
        index_t i, j, l; // numbers of blocks
        bool first;      // of all
    };

    template <class S>
    course(tiling const& c, S const& s)
        : c_(c), rows_(parts(s.m, c.m)), cols_(parts(s.n, c.n)), pieces_(parts(s.k, c.k)) {
        bool const whole = pieces_ == 1;
        group_ = !whole ? 1 : c.a_stays ? c.a_slots : c.b_slots;
        stream_ = !whole ? rows_ * cols_ : c.a_stays ? cols_ : rows_;
        stays_ = !whole ? 1 : c.a_stays ? rows_ : cols_;
    }
    static index_t parts(index_t side, index_t block) { return (side + block - 1) / block; }

    index_t units() const { return parts(stays_, group_) * stream_; }
    index_t steps(index_t unit) const {
        index_t const left = stays_ - unit / stream_ * group_;
        return pieces_ > 1 ? pieces_ : left < group_ ? left : group_;
    }
    step at(index_t unit, index_t x) const {
        index_t const streamed = unit % stream_, stayed = unit / stream_ * group_ + x;
        bool const first = unit == 0 && x == 0;
        if (pieces_ > 1) return {streamed / cols_, streamed % cols_, x, first};
        return c_.a_stays ? step{stayed, streamed, 0, first} : step{streamed, stayed, 0, first};
    }
    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    index_t pieces() const { return pieces_; }
    // How often all of the operand that streams by is read.
    index_t passes() const { return parts(stays_, group_); }

private:
    tiling c_;
    index_t rows_, cols_, pieces_, group_, stream_, stays_;
};

template <policy Base>
class out_of_core {
public:
    using there = typename Base::space;
    using space = typename memory_beyond<there>::space;
    using arena = arenas<typename Base::arena>;
    static constexpr bool from_files = std::is_same_v<there, host_memory>;

    explicit out_of_core(Base base, out_of_core_options options = {})
        : first_(std::move(base)), options_(std::move(options)) {}
    // Several devices, which should be alike.
    explicit out_of_core(std::initializer_list<Base> bases, out_of_core_options options = {})
        : out_of_core(first_of(bases), std::move(options)) {
        if (bases.size() > 1)
            others_ = std::make_shared<std::vector<Base> const>(bases.begin() + 1, bases.end());
    }

    template <class P, class Epilogue>
    using counterpart =
        dense_problem<typename P::a_type, typename P::b_type, typename P::c_type, there, Epilogue>;
    template <class P>
    static constexpr bool fuses = takes<Base, counterpart<P, typename P::epilogue_type>>;
    template <class P>
    static constexpr verdict accepts =
        !from_files && !queued_leaf<leaf_of<Base>, there> ? verdict::leaf
                                                          : answer<Base, counterpart<P, identity>>();

    auto leaf() const { return typename memory_beyond<there>::leaf{}; }

    result<arena> reserve(footprint f) const {
        int const count = devices();
        std::unique_ptr<typename Base::arena[]> memory(
            new (std::nothrow) typename Base::arena[static_cast<std::size_t>(count)]);
        if (!memory) return failure(errc::memory, "out_of_core: no host memory is left");
        for (int i = 0; i < count; ++i) {
            auto one = device(i).reserve(f);
            if (!one) return one.take_status();
            memory[static_cast<std::size_t>(i)] = std::move(*one);
        }
        footprint own;
        own.host = from_files ? 0 : f.host; // else it is the base's
        auto host = reserve_host(own, "out_of_core");
        if (!host) return host.take_status();
        return arena(std::move(*host), std::move(memory), count);
    }

    // Of each device.
    template <class S>
    footprint workspace(S const& s) const {
        if (index_t const count = together(s)) return whole(with_count(s, count));
        tiling const c = tiling_of(one_of(s));
        return c.exists() ? need(c, one_of(s)) : footprint{};
    }

    // Of the products of the base. Sums of P pieces: an error of the first ones is carried along by P - 1
    // additions.
    template <class S>
    bound error_bound(S const& s) const {
        tiling const c = tiling_if_any(s);
        if (!c.exists()) return base().error_bound(s);
        bound all, early;
        each_block(c, one_of(s), [&](S const& block) { all = larger(all, base().error_bound(block)); });
        each_early_block(c, one_of(s),
                         [&](S const& block) { early = larger(early, base().error_bound(block)); });
        return in_pieces<S>(larger(all, in_pieces<S>(early, course::parts(c.k, early_k<S>(c)))),
                            course(c, s).pieces());
    }

    template <class S>
    double estimate(S const& s) const {
        tiling const c = tiling_if_any(s);
        if (!c.exists()) return base().estimate(s) + operand_bytes(s) / bandwidth() + 20e-6;
        S block = one_of(s);
        block.m = c.m, block.n = c.n, block.k = c.k;
        return static_cast<double>(s.count) * seconds(c, one_of(s), seconds_of(block));
    }

    template <class S>
    std::string describe(S const& s) const {
        if (together(s) > 0) return "out_of_core, one part; " + base().describe(s);
        tiling const c = tiling_of(one_of(s));
        if (!c.exists()) return "out_of_core: the budget is too small";
        course const way(c, s);
        auto const times = [](index_t x, index_t y) { return std::to_string(x) + " x " + std::to_string(y); };
        S block = one_of(s);
        block.m = c.m, block.n = c.n, block.k = c.k;
        footprint f = need(c, one_of(s));
        return "out_of_core: " + times(way.rows(), way.cols()) + " blocks of " + times(c.m, c.n) + ", " +
               (way.pieces() > 1 ? std::to_string(way.pieces()) + " pieces of k, C stays"
                                 : std::string(c.a_stays ? "A stays" : "B stays")) +
               ", " + std::to_string((there::share(f) + 0xfffff) >> 20) + " MiB" +
               (devices() > 1 ? " on each of " + std::to_string(devices()) + " devices" : "") + "; " +
               base().describe(block);
    }

    template <class P>
    status operator()(P const& p, arena& memory) const {
        if (asked() <= 0)
            return failure(errc::argument, from_files ? "out_of_core: host_bytes must be positive"
                                                      : "out_of_core: device_bytes must be positive");
        index_t const together_at_most = together(p.shape());
        for (index_t i = 0, count = 1; i < p.count; i += count) {
            P some = p.at(i);
            if (together_at_most > 0) some.count = count = smaller(together_at_most, p.count - i);
            if (status s = together_at_most > 0 ? in_one(some, memory) : in_parts(some, memory); !s) return s;
        }
        return {};
    }

private:
    static Base const& first_of(std::initializer_list<Base> bases) {
        if (bases.size() == 0) raise(error(errc::argument, "out_of_core: there is no device in the list"));
        return *bases.begin();
    }
    Base const& base() const { return first_; }
    int devices() const { return others_ ? 1 + static_cast<int>(others_->size()) : 1; }
    Base const& device(int i) const { return i == 0 ? first_ : (*others_)[static_cast<std::size_t>(i - 1)]; }

    // ---- how to cut ------------------------------------------------------------------------------

    // Between host and device, in one direction, bytes a second.
    double bandwidth() const { return channel(base()).limits().link; }
    // What copies between the two memories, on queues if the base has any.
    static auto channel(Base const& base) {
        if constexpr (from_files)
            return typename memory_beyond<there>::leaf{};
        else
            return base.leaf();
    }
    index_t asked() const { return from_files ? options_.host_bytes : options_.device_bytes; }
    // What is smaller travels so quickly that it is not worth another queue.
    static constexpr double few_bytes = 0x1p26;

    template <class S>
    static S one_of(S s) {
        s.count = 1;
        return s;
    }
    static std::size_t bytes_of(index_t rows, index_t cols, std::size_t element) {
        return arena::rounded(static_cast<std::size_t>(rows * cols) * element);
    }

    std::size_t budget() const {
        return asked() == out_of_core_options::automatic ? channel(base()).limits().memory_bytes / 4 * 3
                                                         : static_cast<std::size_t>(asked());
    }

    // Everything at once, batches too.
    template <class S>
    footprint whole(S const& s) const {
        auto const bytes = [&](index_t rows, index_t cols, std::size_t element) {
            return bytes_of(s.count * rows, cols, element);
        };
        footprint f = base().workspace(s);
        there::share(f) += bytes(s.m, s.k, sizeof(typename S::a_type)) +
                           bytes(s.k, s.n, sizeof(typename S::b_type)) +
                           (s.adds ? 2 : 1) * bytes(s.m, s.n, sizeof(typename S::c_type));
        return f;
    }
    // How many products of a batch are one part; none if a product has to be cut, or is worth it.
    template <class S>
    index_t together(S s) const {
        if (s.m < 1 || s.n < 1 || s.k < 1 || s.count < 1) return 1;
        if (operand_bytes(one_of(s)) > few_bytes) return 0;
        for (std::size_t const room = budget(); s.count > 0; s.count /= 2) {
            footprint f = whole(s);
            if (there::share(f) <= room) break;
        }
        return s.count;
    }
    template <class S>
    static S with_count(S s, index_t count) {
        s.count = count;
        return s;
    }
    // None if products are not cut, or cannot be.
    template <class S>
    tiling tiling_if_any(S const& s) const {
        return together(s) > 0 ? tiling{} : tiling_of(one_of(s));
    }

    // Of a sum of so many pieces: each addition carries the error of what was there along, and rounds once
    // more.
    template <class S>
    static bound in_pieces(bound x, index_t pieces) {
        if (pieces == 1) return x;
        double const once = 4 * unit_roundoff<typename S::c_type>();
        double worst = 0;
        for (index_t l = 0; l < pieces; ++l) worst += x.worst * (1 + worst);
        double const expected =
            __builtin_sqrt(x.expected * x.expected + static_cast<double>(pieces) * once * once);
        return {worst, expected < worst ? expected : worst, x.normwise};
    }

    // The first block of all is multiplied in pieces of k, so that it begins when a part of it has come.
    // How many terms each has; all, where that would not do.
    static constexpr index_t first_pieces = 4;
    template <class S>
    static index_t early_k(tiling const& c) {
        return from_files || whole_k<S> || c.k < 64 * first_pieces
                   ? c.k
                   : (course::parts(c.k, first_pieces) + 15) / 16 * 16;
    }
    template <class S, class F>
    static void each_early_block(tiling const& c, S s, F&& f) {
        index_t const k = early_k<S>(c);
        s.m = c.m, s.n = c.n, s.adds = s.adds || k < c.k;
        for (index_t l = 0; l < c.k; l += k) {
            s.k = smaller(k, c.k - l);
            if (l == 0 || s.k < k) f(s);
        }
    }

    // f(shape) for the shapes of the base's products.
    template <class S, class F>
    static void each_block(tiling const& c, S s, F&& f) {
        index_t const rest_m = s.m % c.m, rest_n = s.n % c.n, rest_k = s.k % c.k;
        bool const adds = s.adds, cut_k = c.k < s.k;
        for (index_t const m : {c.m, rest_m})
            for (index_t const n : {c.n, rest_n})
                for (index_t const k : {c.k, rest_k}) {
                    if (m == 0 || n == 0 || k == 0) continue;
                    s.m = m, s.n = n, s.k = k, s.adds = adds || cut_k;
                    f(s);
                    if (cut_k && !adds && k == c.k) s.adds = false, f(s);
                }
    }
    // Of blocks; the base's workspace is `own`.
    template <class S>
    static footprint need(tiling const& c, footprint own) {
        there::share(own) +=
            static_cast<std::size_t>(c.a_slots) * bytes_of(c.m, c.k, sizeof(typename S::a_type)) +
            static_cast<std::size_t>(c.b_slots) * bytes_of(c.k, c.n, sizeof(typename S::b_type)) +
            static_cast<std::size_t>(c.c_slots) * bytes_of(c.m, c.n, sizeof(typename S::c_type));
        return own;
    }
    template <class S>
    footprint need(tiling const& c, S const& s) const {
        footprint own;
        auto const with = [&](S const& block) { own = larger(own, base().workspace(block)); };
        each_block(c, s, with), each_early_block(c, s, with);
        return need<S>(c, own);
    }

    // Of a product among others. On the host each packs its operands anew, beside threads that read and
    // write.
    template <class S>
    double seconds_of(S const& block) const {
        return base().estimate(block) + (from_files ? operand_bytes(block) / 10e9 : 10e-6);
    }

    // Products overlap with what travels but for the first blocks and the last; `once` is what a product of
    // full blocks takes. In the first unit, each product needs another block of the operand that stays.
    template <class S>
    double seconds(tiling const& c, S const& s, double once) const {
        course const way(c, s);
        auto const number = [](index_t x) { return static_cast<double>(x); };
        double const link = bandwidth();
        double const a = number(c.m) * number(c.k) * sizeof(typename S::a_type) / link,
                     b = number(c.k) * number(c.n) * sizeof(typename S::b_type) / link,
                     e = number(c.m) * number(c.n) * sizeof(typename S::c_type) / link;
        // Devices share out units.
        double const units = number(course::parts(way.units(), devices())), steps = number(way.steps(0));
        bool const cut_k = way.pieces() > 1;
        double const stays = cut_k ? a + b : c.a_stays ? a : b, streams = cut_k ? 0 : c.a_stays ? b : a;
        double const begin = (a + b) * number(early_k<S>(c)) / number(c.k), new_c = s.adds ? e : 0;
        auto const longer = [](double x, double y) { return x < y ? y : x; };
        double const first = longer(steps * once, (steps - 1) * (stays + new_c) + streams);
        double const loads = cut_k ? steps * stays + new_c : streams + steps * new_c;
        double const passes = cut_k ? 0 : number(way.passes() - 1) * steps * stays / number(devices());
        double const stores = (cut_k ? 1 : steps) * e;
        double const others = (units - 1) * longer(steps * once, longer(loads, stores)) + passes / 2;
        return begin + first + others + e;
    }

    // About equal parts of at most `block`; multiples of 128 where there are as many.
    static index_t balanced(index_t side, index_t block) {
        index_t const parts = course::parts(side, block), even = course::parts(side, parts);
        index_t const grain = even >= 1024 ? 128 : even >= 128 ? 16 : 1;
        index_t const rounded = (even + grain - 1) / grain * grain;
        return rounded < block && rounded < side ? rounded : even;
    }

    // Where C is narrower than its sums, k stays whole, so that nothing is rounded twice.
    template <class S>
    static constexpr bool whole_k = !std::is_same_v<typename S::c_type, accumulator_t<typename S::c_type>>;

    // Blocks are about square; the smallest are for budgets that no others fit into. Products of matrices
    // in files have k cut only where nothing else fits, so that they have the bits of the product in
    // memory.
    template <class S>
    tiling tiling_of(S const& s) const {
        tiling best;
        double least = 0;
        std::size_t const room = budget();
        for (bool const cut_k : {false, true}) {
            if (cut_k && (whole_k<S> || (from_files && best.exists()))) break;
            for (index_t side = 12288; side >= 1 && (side >= 256 || !best.exists());
                 side = side < 4 || (side & (side - 1)) != 0 ? side - (side + 2) / 3 : side / 4 * 3) {
                tiling c;
                c.m = balanced(s.m, side), c.n = balanced(s.n, side);
                S block = s;
                block.m = c.m, block.n = c.n;
                footprint own;
                double once = 0;
                auto const with_k = [&](index_t k) {
                    c.k = block.k = k, block.adds = s.adds || k < s.k;
                    own = base().workspace(block), once = seconds_of(block);
                };
                auto const consider = [&] {
                    footprint f = need<S>(c, own);
                    if (there::share(f) > room) return false;
                    double const time = seconds(c, s, once);
                    if (best.exists() && time >= least) return true;
                    f = need(c, s); // with those of the last blocks
                    if (there::share(f) > room) return false;
                    best = c, least = time;
                    return true;
                };
                index_t const rows = course::parts(s.m, c.m), cols = course::parts(s.n, c.n);
                c.c_slots = smaller(rows * cols, s.adds ? 3 : 2);
                if (cut_k) {
                    c.a_slots = c.b_slots = 2;
                    for (index_t pieces = 2; pieces <= s.k; pieces *= 2) {
                        with_k(balanced(s.k, course::parts(s.k, pieces)));
                        if (consider()) break;
                    }
                    continue;
                }
                with_k(s.k);
                for (bool const a_stays : {false, true}) {
                    c.a_stays = a_stays;
                    index_t const stays = a_stays ? rows : cols, streams = a_stays ? cols : rows;
                    index_t& stay_slots = a_stays ? c.a_slots : c.b_slots;
                    (a_stays ? c.b_slots : c.a_slots) = smaller(streams, 2);
                    // As many as there is room for, in groups of about one size.
                    for (index_t groups = 1;; groups += (groups + 2) / 3) {
                        stay_slots = course::parts(stays, groups);
                        if (stay_slots == 1 && stays > 1) stay_slots = 2; // or nothing overlaps
                        if (consider() || stay_slots <= smaller(stays, 2)) break;
                    }
                }
            }
        }
        return best;
    }
    // What a budget has to have.
    template <class S>
    std::size_t least_budget(S const& s) const {
        std::size_t least = 0;
        for (index_t side = 1; side <= 4096; side *= 4) {
            tiling c{smaller(s.m, side), smaller(s.n, side), whole_k<S> ? s.k : smaller(s.k, side), 2, 2,
                     s.adds ? 3 : 2};
            footprint f = need(c, s);
            if (least == 0 || there::share(f) < least) least = there::share(f);
        }
        return least;
    }
    static constexpr index_t smaller(index_t x, index_t y) { return x < y ? x : y; }

    // ---- one part ----------------------------------------------------------------------------------

    template <class Problem>
    status in_one(Problem const& p, arena& memory) const {
        status queued = queue(p, memory[0]);
        // Also after an error: what was queued before it may read the caller's memory.
        status done = channel(base()).synchronize();
        if (!queued) return queued;
        if (!done) return done;
        if constexpr (!fuses<Problem>)
            for (index_t i = 0; i < p.count; ++i)
                if (status s = leaf().apply(p.epilogue, p.at(i).c, p.row0, p.col0); !s) return s;
        return {};
    }

    // All that the base's queue is to do, back to the copy of C.
    template <class Problem>
    status queue(Problem const& p, typename Base::arena& memory) const {
        typename Base::arena::scope const until_queued(memory);
        using Epilogue = std::conditional_t<fuses<Problem>, typename Problem::epilogue_type, identity>;
        counterpart<Problem, Epilogue> q;
        q.alpha = p.alpha, q.beta = p.beta, q.count = p.count, q.row0 = p.row0, q.col0 = p.col0;
        if constexpr (fuses<Problem>) q.epilogue = p.epilogue;
        bool const adds = p.beta != typename Problem::scalar(0);

        if (status s = bring(p.a, p.a_step, p.count, q.a, q.a_step, memory); !s) return s;
        if (status s = bring(p.b, p.b_step, p.count, q.b, q.b_step, memory); !s) return s;
        if (adds)
            if (status s = bring(p.e, p.e_step, p.count, q.e, q.e_step, memory); !s) return s;
        staging<typename Problem::c_type> const back(p.c, p.c_step, p.count, memory);
        q.c = back.first, q.c_step = back.step;
        if (!adds) q.e = q.c, q.e_step = q.c_step;
        if (status s = base()(q, memory); !s) return s;
        return back.each_block(p.c, p.c_step, [&](auto const& here, auto const& over) {
            return copy_between(channel(base()), over, here, here.data);
        });
    }

    // Room for a (batch of) matrices without gaps, in the order in which those on the host lie. One that is
    // repeated is one.
    template <class T>
    struct staging {
        bool by_rows;
        index_t matrices, step;
        view<T, there> first;

        template <class V>
        staging(V const& host, index_t host_step, index_t count, typename Base::arena& memory)
            : by_rows(lies_by_rows(host)), matrices(host_step == 0 ? 1 : count),
              step(host_step == 0 ? 0 : host.rows * host.cols) {
            first = room_for<T>(memory.template take<T>(matrices * host.rows * host.cols), host.rows,
                                host.cols, by_rows);
        }

        // f(block of the host's, block there) for all of it: at once where the lines of all matrices, or
        // the matrices themselves, follow each other at one pitch.
        template <class V, class F>
        status each_block(V host, index_t host_step, F&& f) const {
            host.conjugate = false;
            view<T, there> over = first;
            index_t const lines = by_rows ? host.rows : host.cols, length = by_rows ? host.cols : host.rows;
            index_t const pitch = by_rows ? host.row_stride : host.col_stride,
                          unit = by_rows ? host.col_stride : host.row_stride;
            if (matrices > 1 && (lines == 1 || host_step == lines * pitch)) {
                (by_rows ? host.rows : host.cols) = (by_rows ? over.rows : over.cols) = lines * matrices;
                (by_rows ? host.row_stride : host.col_stride) = lines == 1 ? host_step : pitch;
                return f(host, over);
            }
            if (matrices > 1 && unit == 1 && pitch == length) {
                host.rows = over.rows = matrices, host.cols = over.cols = step;
                host.row_stride = host_step, over.row_stride = step;
                host.col_stride = over.col_stride = 1;
                return f(host, over);
            }
            for (index_t i = 0; i < matrices; ++i) {
                if (status s = f(host, over); !s) return s;
                host.data = host.data + host_step, over.data = over.data + step;
            }
            return {};
        }
    };
    template <class V>
    static bool lies_by_rows(V const& v) {
        return magnitude(v.col_stride) <= magnitude(v.row_stride);
    }
    template <class T>
    static view<T, there> room_for(typename there::template handle<T> data, index_t rows, index_t cols,
                                   bool by_rows) {
        return {data, rows, cols, by_rows ? cols : 1, by_rows ? 1 : rows};
    }

    template <class T, class To>
    status bring(view<T const, space> const& from, index_t host_step, index_t count, To& to, index_t& step,
                 typename Base::arena& memory) const {
        staging<T> const room(from, host_step, count, memory);
        to = room.first, to.conjugate = from.conjugate;
        step = room.step;
        return room.each_block(from, host_step, [&](auto const& here, auto const& over) {
            return copy_between(channel(base()), here, over, here.data);
        });
    }

    // To or from the host, as a leaf's copy_async does it. Packing keeps up with a copy engine only where a
    // few threads do it, each a part.
    template <class Leaf, class From, class To, class Data>
    static status copy_between(Leaf const& leaf, From const& from, To const& to, Data host) {
        constexpr int threads = 6;
        double const bytes = static_cast<double>(from.rows) * static_cast<double>(from.cols) *
                             sizeof(typename From::value_type);
        if (bytes < 0x1p22 || leaf.reads_itself(host)) return leaf.copy_async(from, to);
        status failed[threads];
        bool const by_rows = from.rows >= from.cols;
        index_t const side = by_rows ? from.rows : from.cols;
        host_each(threads, threads, [&](int, int x) {
            index_t const first = side * x / threads, length = side * (x + 1) / threads - first;
            auto const part = [&](auto const& v) {
                return by_rows ? v.part(first, 0, length, v.cols) : v.part(0, first, v.rows, length);
            };
            failed[x] = leaf.copy_async(part(from), part(to));
        });
        for (status& s : failed)
            if (!s) return std::move(s);
        return {};
    }

    // ---- parts ---------------------------------------------------------------------------------------

    // What the devices of a product share.
    struct job {
        course way;
        std::atomic<index_t> next_unit{0};
        std::mutex mutex;
        index_t done = 0; // blocks of C
        typename memory_beyond<there>::journal finished;
        status failed;

        explicit job(course const& w) : way(w) {}
        void fail(status s) {
            std::lock_guard const lock(mutex);
            if (failed) failed = std::move(s);
            next_unit = way.units();
        }
    };

    template <class P>
    status in_parts(P const& p, arena& memory) const {
        auto const s = p.shape();
        tiling const c = tiling_of(s);
        if (!c.exists()) {
            char text[200];
            __builtin_snprintf(
                text, sizeof(text),
                "%s is %zu, which is too little for one block; the least for this product is %zu",
                from_files ? "host_bytes" : "device_bytes", budget(), least_budget(s));
            return failure(errc::memory, "out_of_core", text);
        }
        job shared{course(c, s)};
        if (status x = shared.finished.open(options_, p, c); !x) return x;
        shared.done = shared.finished.count();
        auto const work = [&](int i) {
            line<P> one(*this, device(i), p, c, shared, memory[i]);
            if (status x = one.run(); !x) shared.fail(std::move(x));
        };
        {
            workers others;
            for (int i = 1; i < devices(); ++i)
                if (status x = others.start([&work, i] { work(i); }); !x) {
                    shared.fail(std::move(x));
                    break;
                }
            work(0);
        }
        if (!shared.failed) return std::move(shared.failed);
        return shared.finished.finish();
    }

    // Threads that are waited for.
    class workers {
    public:
        ~workers() {
            for (std::thread& t : threads_) t.join();
        }
        template <class F>
        status start(F f) {
#ifdef __cpp_exceptions
            try {
                threads_.emplace_back(std::move(f));
            } catch (std::exception const&) {
                return failure(errc::memory, "out_of_core: the system gives no more threads");
            }
#else
            threads_.emplace_back(std::move(f));
#endif
            return {};
        }

    private:
        std::vector<std::thread> threads_;
    };

    // What one device does: this thread queues products, a second one loads blocks, a third stores blocks
    // of C. Steps are numbered in the order in which they are done.
    template <class P>
    class line {
        using Leaf = decltype(channel(std::declval<Base const&>()));
        using event = typename Leaf::event;
        using A = typename P::a_type;
        using B = typename P::b_type;
        using C = typename P::c_type;
        static constexpr bool fused = fuses<P>;

        // Room for a block.
        template <class T>
        struct slot {
            typename there::template handle<T> data{};
            index_t block = -1; // which is there
            index_t last = -1;  // the last step that uses it
            event loaded, used; // when it has come, and when that step is done
        };
        struct c_slot : slot<C> {
            bool taken = false;
        };
        struct step {
            typename course::step at;
            slot<A>* a;
            slot<B>* b;
            c_slot* c;
        };

        template <class Slot>
        struct slots {
            std::unique_ptr<Slot[]> first;
            index_t count = 0;

            bool make(index_t n) {
                first.reset(new (std::nothrow) Slot[static_cast<std::size_t>(n)]), count = n;
                return first != nullptr;
            }
            Slot* begin() const { return first.get(); }
            Slot* end() const { return first.get() + count; }
        };

    public:
        line(out_of_core const& policy, Base const& base, P const& p, tiling const& c, job& shared,
             typename Base::arena& memory)
            : policy_(policy), base_(base), p_(p), tiling_(c), job_(shared), memory_(memory),
              main_(channel(base)) {}

        status run() {
            typename Base::arena::scope const all(memory_);
            if (status s = prepare(); !s) return s;
            {
                workers others;
                status s = others.start([this] { guarded([this] { load(); }); });
                if (s) s = others.start([this] { guarded([this] { store(); }); });
                if (!s) fail(std::move(s));
                guarded([this] { multiply(); });
            }
            // Also after an error: what was queued before it may read the caller's memory.
            for (Leaf const* const leaf : {&up_, &main_, &down_})
                if (status s = leaf->synchronize(); !s) fail(std::move(s));
            return std::move(failed_);
        }

    private:
        status prepare() {
            auto up = main_.fork();
            if (!up) return up.take_status();
            auto down = main_.fork();
            if (!down) return down.take_status();
            up_ = std::move(*up), down_ = std::move(*down);
            if (!a_.make(tiling_.a_slots) || !b_.make(tiling_.b_slots) || !c_.make(tiling_.c_slots))
                return failure(errc::memory, "out_of_core: no host memory is left");
            for (auto& x : a_) x.data = memory_.template take<A>(tiling_.m * tiling_.k);
            for (auto& x : b_) x.data = memory_.template take<B>(tiling_.k * tiling_.n);
            for (auto& x : c_) x.data = memory_.template take<C>(tiling_.m * tiling_.n);
            // The memory may be in use until what was queued before is done.
            auto before = main_.record();
            if (!before) return before.take_status();
            if (status s = up_.wait(*before); !s) return s;
            return down_.wait(*before);
        }

        // ---- loading

        void load() {
            for (index_t unit; (unit = job_.next_unit++) < job_.way.units();)
                for (index_t x = 0; x < job_.way.steps(unit); ++x) {
                    auto const at = job_.way.at(unit, x);
                    if (job_.finished.has(at.i * job_.way.cols() + at.j)) continue;
                    if (status s = load(at); !s) return fail(std::move(s));
                }
            change([&] { all_loaded_ = true; });
        }
        status load(typename course::step const& at) {
            index_t const number = loaded_;
            if (!wait_until([&] { return number - queued_ < most_ahead; })) return {};
            step s{at, nullptr, nullptr, nullptr};
            if (at.first)
                if (status x = load_early(at); !x) return x;
            if (status x = bring(a_, p_.a, at.i, at.l, tiling_.m, tiling_.k, s.a); !x) return x;
            if (status x = bring(b_, p_.b, at.l, at.j, tiling_.k, tiling_.n, s.b); !x) return x;
            if (at.l == 0) {
                c_slot& c = c_.first[static_cast<std::size_t>(tiles_++ % c_.count)];
                if (!wait_until([&] { return !c.taken; })) return {};
                c.taken = true;
                if (p_.beta != typename P::scalar(0)) {
                    auto const from = block_of(p_.e, at.i, at.j, tiling_.m, tiling_.n);
                    if (status x = copy_in(from, room_of(c, p_.c, from), c); !x) return x;
                }
                c_now_ = &c;
            }
            s.c = c_now_;
            change([&] { ahead_[static_cast<std::size_t>(loaded_++) % most_ahead] = s; });
            return {};
        }
        // The first blocks, in pieces of k; bring() will find them.
        status load_early(typename course::step const& at) {
            index_t const k = early_k<decltype(p_.shape())>(tiling_);
            auto const a = block_of(p_.a, at.i, at.l, tiling_.m, tiling_.k);
            auto const b = block_of(p_.b, at.l, at.j, tiling_.k, tiling_.n);
            slot<A>& to_a = *a_.begin();
            slot<B>& to_b = *b_.begin();
            auto const room_a = room_of(to_a, a, a);
            auto const room_b = room_of(to_b, b, b);
            for (index_t l = 0, x = 0; l < a.cols; l += k, ++x) {
                index_t const length = smaller(k, a.cols - l);
                if (status s = copy_in(a.part(0, l, a.rows, length), room_a.part(0, l, a.rows, length), to_a);
                    !s)
                    return s;
                if (status s = copy_in(b.part(l, 0, length, b.cols), room_b.part(l, 0, length, b.cols), to_b);
                    !s)
                    return s;
                early_[x] = to_b.loaded;
            }
            to_a.block = number_of(at.i, at.l), to_b.block = number_of(at.l, at.j);
            to_a.last = to_b.last = 0;
            return {};
        }
        index_t number_of(index_t i, index_t j) const {
            return i * (job_.way.pieces() + job_.way.cols()) + j;
        }
        // A slot with block (i, j): one that has it, or else the one that was not used for the longest time.
        template <class T>
        status bring(slots<slot<T>> const& all_slots, view<T const, space> const& all, index_t i, index_t j,
                     index_t m, index_t n, slot<T>*& found) {
            index_t const block = number_of(i, j);
            found = all_slots.begin();
            for (slot<T>& x : all_slots) {
                if (x.block == block) {
                    x.last = loaded_;
                    found = &x;
                    return {};
                }
                if (x.last < found->last) found = &x;
            }
            if (!wait_until([&] { return queued_ > found->last; })) return {};
            if (status s = up_.wait(found->used); !s) return s;
            auto const from = block_of(all, i, j, m, n);
            found->block = block, found->last = loaded_;
            return copy_in(from, room_of(*found, from, from), *found);
        }
        template <class From, class To, class T>
        status copy_in(From from, To const& to, slot<T>& into) {
            from.conjugate = false;
            if (status s = copy_between(up_, from, to, from.data); !s) return s;
            auto loaded = up_.record();
            if (!loaded) return loaded.take_status();
            into.loaded = std::move(*loaded);
            return {};
        }

        // ---- multiplying

        void multiply() {
            for (index_t number = 0;; ++number) {
                bool more = false;
                if (!wait_until([&] { return (more = loaded_ > number) || all_loaded_; })) return;
                if (!more) break;
                step const s = ahead_[static_cast<std::size_t>(number) % most_ahead];
                if (status x = multiply(s); !x) return fail(std::move(x));
            }
            change([&] { all_queued_ = true; });
        }
        status multiply(step const& s) {
            if (!s.at.first) // which waits for pieces
                for (event const* const e : {&s.a->loaded, &s.b->loaded})
                    if (status x = main_.wait(*e); !x) return x;
            if (status x = main_.wait(s.c->loaded); !x) return x;
            bool const last = s.at.l + 1 == job_.way.pieces();
            status x = last ? multiply<std::conditional_t<fused, typename P::epilogue_type, identity>>(s)
                            : multiply<identity>(s);
            if (!x) return x;
            auto done = main_.record();
            if (!done) return done.take_status();
            change([&] {
                s.a->used = s.b->used = s.c->used = *done;
                if (last) finished_[static_cast<std::size_t>(blocks_queued_++) % finished_.size()] = s;
                ++queued_;
            });
            return {};
        }
        template <class Epilogue>
        status multiply(step const& s) {
            counterpart<P, Epilogue> q;
            auto const place = [](auto& to, auto const& from, auto const& room) {
                to = room, to.conjugate = from.conjugate;
            };
            auto const a = block_of(p_.a, s.at.i, s.at.l, tiling_.m, tiling_.k);
            auto const b = block_of(p_.b, s.at.l, s.at.j, tiling_.k, tiling_.n);
            auto const c = block_of(p_.c, s.at.i, s.at.j, tiling_.m, tiling_.n);
            place(q.a, a, room_of(*s.a, a, a));
            place(q.b, b, room_of(*s.b, b, b));
            q.c = room_of(*s.c, p_.c, c);
            q.e = q.c;
            q.alpha = p_.alpha;
            if (s.at.l == 0)
                q.beta = p_.beta, q.e.conjugate = p_.e.conjugate;
            else
                q.beta = typename P::scalar(1);
            q.row0 = p_.row0 + s.at.i * tiling_.m, q.col0 = p_.col0 + s.at.j * tiling_.n;
            if constexpr (!std::is_same_v<Epilogue, identity>) q.epilogue = p_.epilogue;
            return s.at.first ? multiply_early(q) : base_(q, memory_);
        }
        template <class Q>
        status multiply_early(Q const& q) {
            index_t const k = early_k<decltype(p_.shape())>(tiling_);
            for (index_t l = 0, x = 0; l < q.a.cols; l += k, ++x) {
                if (status s = main_.wait(early_[x]); !s) return s;
                auto const piece = [&](auto const& all) {
                    auto one = all.part(0, 0, l, q.c.rows, q.c.cols, smaller(k, q.a.cols - l));
                    if (l > 0) one.beta = typename P::scalar(1), one.e = one.c;
                    return base_(one, memory_);
                };
                if (status s = l + k < q.a.cols ? piece(q.without_epilogue()) : piece(q); !s) return s;
            }
            return {};
        }

        // ---- storing

        void store() {
            for (index_t number = 0;; ++number) {
                bool more = false;
                if (!wait_until([&] { return (more = blocks_queued_ > number) || all_queued_; }) || !more)
                    return;
                step const s = finished_[static_cast<std::size_t>(number) % finished_.size()];
                if (status x = store(s); !x) return fail(std::move(x));
            }
        }
        status store(step const& s) {
            auto const to = block_of(p_.c, s.at.i, s.at.j, tiling_.m, tiling_.n);
            if (status x = down_.wait(s.c->used); !x) return x;
            view<C const, there> const from = room_of(*s.c, p_.c, to);
            if (status x = copy_between(down_, from, to, to.data); !x) return x;
            if (status x = down_.synchronize(); !x) return x;
            change([&] { s.c->taken = false; });
            if constexpr (!fused)
                if (status x = policy_.leaf().apply(p_.epilogue, to, p_.row0 + s.at.i * tiling_.m,
                                                    p_.col0 + s.at.j * tiling_.n);
                    !x)
                    return x;
            std::lock_guard const lock(job_.mutex);
            if (status x = job_.finished.add(s.at.i * job_.way.cols() + s.at.j); !x) return x;
            ++job_.done;
            if (policy_.options_.progress)
                policy_.options_.progress(job_.done, job_.way.rows() * job_.way.cols());
            return {};
        }

        // ----

        // Block (i, j) of a matrix that is cut into blocks of m x n.
        template <class V>
        static V block_of(V const& v, index_t i, index_t j, index_t m, index_t n) {
            return v.part(i * m, j * n, smaller(m, v.rows - i * m), smaller(n, v.cols - j * n));
        }
        // The room of a slot for a block with these sides, in the order in which `all` lies.
        template <class T, class V, class Block>
        static view<T, there> room_of(slot<T> const& x, V const& all, Block const& block) {
            return room_for<T>(x.data, block.rows, block.cols, lies_by_rows(all));
        }

        // False if another thread failed.
        template <class F>
        bool wait_until(F const& holds) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopped_ || holds(); });
            return !stopped_;
        }
        template <class F>
        void change(F const& f) {
            {
                std::lock_guard const lock(mutex_);
                f();
            }
            changed_.notify_all();
        }
        template <class F>
        void guarded(F const& f) {
#ifdef __cpp_exceptions
            try {
                f();
            } catch (std::bad_alloc const&) {
                fail(failure(errc::memory, "out_of_core: no host memory is left"));
            }
#else
            f();
#endif
        }
        void fail(status s) {
            job_.next_unit = job_.way.units();
            change([&] {
                if (failed_) failed_ = std::move(s);
                stopped_ = true;
            });
        }

        static constexpr index_t most_ahead = 64;

        out_of_core const& policy_;
        Base const& base_;
        P const& p_;
        tiling const& tiling_;
        job& job_;
        typename Base::arena& memory_;
        Leaf main_, up_{}, down_{};

        slots<slot<A>> a_;
        slots<slot<B>> b_;
        slots<c_slot> c_;
        c_slot* c_now_ = nullptr;
        event early_[first_pieces];
        index_t tiles_ = 0;

        std::mutex mutex_;
        std::condition_variable changed_;
        step ahead_[most_ahead];
        std::array<step, 4> finished_; // as many as there are slots, or more
        index_t loaded_ = 0, queued_ = 0, blocks_queued_ = 0;
        bool all_loaded_ = false, all_queued_ = false, stopped_ = false;
        status failed_;
    };

    Base first_;
    std::shared_ptr<std::vector<Base> const> others_;
    out_of_core_options options_;
};

// out_of_core over out_of_core is two of them, and not a copy of one.
template <policy Base>
out_of_core(out_of_core<Base>) -> out_of_core<out_of_core<Base>>;
template <policy Base>
out_of_core(out_of_core<Base>, out_of_core_options) -> out_of_core<out_of_core<Base>>;

// Operands on the host for a policy on a device.
template <policy Base>
class staged : public out_of_core<Base> {
public:
    explicit staged(Base base) : out_of_core<Base>(std::move(base)) {}
};

STRATAGEMM_END
