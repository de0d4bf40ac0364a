// How `out_of_core` runs a product on one device: as one part, or as a pipeline of parts.
//
// In a pipeline one thread loads blocks, one queues products and one stores blocks of C. A thread waits where it
// needs a block that has not come, or the place of one that is still in use. After an error nothing more is begun.
// Both forms return when all that was queued is done.
#pragma once

#include "tiling.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

STRATAGEMM_BEGIN

namespace out_of_core_parts {

// ---- a product that is one part ---------------------------------------------------------------------------

// All that the base's queue is to do, back to the copy of C.
template <class Base, class Problem>
status queue_in_one(Base const& base, Problem const& p, typename Base::arena& memory) {
    typename Base::arena::scope const until_queued(memory);
    constexpr bool fused = fuses<Base, Problem>;
    using C = typename Problem::c_type;
    counterpart<Base, Problem, std::conditional_t<fused, typename Problem::epilogue_type, identity>> q;
    q.alpha = p.alpha, q.beta = p.beta, q.count = p.count, q.row0 = p.row0, q.col0 = p.col0;
    if constexpr (fused) q.epilogue = p.epilogue;
    bool const adds = p.beta != typename Problem::scalar(0);
    auto const bring = [&](auto const& from, index_t from_step, auto& to, index_t& step) {
        using T = typename std::remove_cvref_t<decltype(from)>::value_type;
        staging<T, typename Base::space> const room(from, from_step, p.count, memory);
        to = room.first, to.conjugate = from.conjugate;
        step = room.step;
        return room.each_block(from, from_step, [&](auto const& here, auto const& over) {
            return copy_between(channel(base), here, over, here.data);
        });
    };
    if (status s = bring(p.a, p.a_step, q.a, q.a_step); !s) return s;
    if (status s = bring(p.b, p.b_step, q.b, q.b_step); !s) return s;
    if (adds)
        if (status s = bring(p.e, p.e_step, q.e, q.e_step); !s) return s;
    staging<C, typename Base::space> const back(p.c, p.c_step, p.count, memory);
    q.c = back.first, q.c_step = back.step;
    if (!adds) q.e = q.c, q.e_step = q.c_step;
    if (status s = base(q, memory); !s) return s;
    return back.each_block(p.c, p.c_step, [&](auto const& here, auto const& over) {
        return copy_between(channel(base), over, here, here.data);
    });
}

template <class Base, class Problem>
status run_in_one(Base const& base, Problem const& p, typename Base::arena& memory) {
    status queued = queue_in_one(base, p, memory);
    // Also after an error: what was queued before it may read the caller's memory.
    status done = channel(base).synchronize();
    if (!queued) return queued;
    if (!done) return done;
    if constexpr (!fuses<Base, Problem>)
        for (index_t i = 0; i < p.count; ++i) {
            typename memory_beyond<typename Base::space>::leaf const leaf{};
            if (status s = leaf.apply(p.epilogue, p.at(i).c, p.row0, p.col0); !s) return s;
        }
    return {};
}

// ---- a product in parts -----------------------------------------------------------------------------------

// What the devices of a product share.
template <class There>
struct job {
    using journal = typename memory_beyond<There>::journal;

    course way;
    journal& finished; // of the whole batch
    index_t before;    // blocks of C of the products before this one
    std::atomic<index_t> next_unit{0};
    std::mutex mutex;
    index_t done = 0; // blocks of C of this one
    status failed;

    job(course const& w, journal& all, index_t product)
        : way(w), finished(all), before(product * w.rows() * w.cols()) {
        for (index_t x = 0; x < way.rows() * way.cols(); ++x) done += finished.has(before + x);
    }
    index_t number(typename course::step const& at) const { return before + at.i * way.cols() + at.j; }
    void fail(status s) {
        std::lock_guard const lock(mutex);
        if (failed) failed = std::move(s);
        next_unit = way.units();
    }
};

// An error of one of several devices, which says of which.
inline status of_device(status s, int device, int count) {
    if (s || count == 1) return s;
    return or_no_memory([&]() -> status {
        error const& e = s.error();
        return error(e.code(), "out_of_core",
                     "device " + std::to_string(device) + " of the list: " + e.what(), e.native_code());
    });
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

// What threads of a product tell each other: one waits until something holds, which another one changes. The first
// error is kept, and ends all waiting.
class signals {
public:
    // False if a thread failed.
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
    void fail(status s) {
        change([&] {
            if (failed_) failed_ = std::move(s);
            stopped_ = true;
        });
    }
    // Once all threads have ended.
    status take_failure() { return std::move(failed_); }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false;
    status failed_;
};

// What one device does. Steps are numbered in the order in which they are done.
template <policy Base, class P>
class pipeline {
    using there = typename Base::space;
    using beyond = memory_beyond<there>;
    using space = typename beyond::space;
    using Leaf = decltype(channel(std::declval<Base const&>()));
    using event = typename Leaf::event;
    using A = typename P::a_type;
    using B = typename P::b_type;
    using C = typename P::c_type;
    static constexpr bool fused = fuses<Base, P>;

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
    pipeline(Base const& base, P const& p, tiling const& c, job<there>& shared,
             out_of_core_options const& options, typename Base::arena& memory)
        : base_(base), p_(p), tiling_(c), job_(shared), options_(options), memory_(memory),
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
        return signals_.take_failure();
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
                if (job_.finished.has(job_.number(at))) continue;
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
        index_t const k = division<Base>::template early_k<decltype(p_.shape())>(tiling_);
        auto const a = block_of(p_.a, at.i, at.l, tiling_.m, tiling_.k);
        auto const b = block_of(p_.b, at.l, at.j, tiling_.k, tiling_.n);
        slot<A>& to_a = *a_.begin();
        slot<B>& to_b = *b_.begin();
        auto const room_a = room_of(to_a, a, a);
        auto const room_b = room_of(to_b, b, b);
        for (index_t l = 0, x = 0; l < a.cols; l += k, ++x) {
            index_t const length = smaller(k, a.cols - l);
            if (status s = copy_in(a.part(0, l, a.rows, length), room_a.part(0, l, a.rows, length), to_a); !s)
                return s;
            if (status s = copy_in(b.part(l, 0, length, b.cols), room_b.part(l, 0, length, b.cols), to_b); !s)
                return s;
            early_[x] = to_b.loaded;
        }
        to_a.block = number_of(at.i, at.l), to_b.block = number_of(at.l, at.j);
        to_a.last = to_b.last = 0;
        return {};
    }
    index_t number_of(index_t i, index_t j) const { return i * (job_.way.pieces() + job_.way.cols()) + j; }
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
        counterpart<Base, P, Epilogue> q;
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
        index_t const k = division<Base>::template early_k<decltype(p_.shape())>(tiling_);
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
            if (!wait_until([&] { return (more = blocks_queued_ > number) || all_queued_; }) || !more) return;
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
            if (status x = typename beyond::leaf{}.apply(p_.epilogue, to, p_.row0 + s.at.i * tiling_.m,
                                                         p_.col0 + s.at.j * tiling_.n);
                !x)
                return x;
        if (status x = job_.finished.add(job_.number(s.at), to); !x) return x;
        std::lock_guard const lock(job_.mutex);
        ++job_.done;
        if (options_.progress) options_.progress(job_.done, job_.way.rows() * job_.way.cols());
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
        return without_gaps<T, there>(x.data, block.rows, block.cols, !rows_are_closer(all));
    }

    template <class F>
    bool wait_until(F const& holds) {
        return signals_.wait_until(holds);
    }
    template <class F>
    void change(F const& f) {
        signals_.change(f);
    }
    template <class F>
    void guarded(F const& f) {
        status s = or_no_memory([&]() -> status {
            f();
            return {};
        });
        if (!s) fail(std::move(s));
    }
    void fail(status s) {
        job_.next_unit = job_.way.units();
        signals_.fail(std::move(s));
    }

    static constexpr index_t most_ahead = 64;

    Base const& base_;
    P const& p_;
    tiling const& tiling_;
    job<there>& job_;
    out_of_core_options const& options_;
    typename Base::arena& memory_;
    Leaf main_, up_{}, down_{};

    slots<slot<A>> a_;
    slots<slot<B>> b_;
    slots<c_slot> c_;
    c_slot* c_now_ = nullptr;
    event early_[division<Base>::first_pieces];
    index_t tiles_ = 0;

    signals signals_;
    step ahead_[most_ahead];
    std::array<step, 4> finished_; // as many as there are slots, or more
    index_t loaded_ = 0, queued_ = 0, blocks_queued_ = 0;
    bool all_loaded_ = false, all_queued_ = false;
};

} // namespace out_of_core_parts

STRATAGEMM_END
