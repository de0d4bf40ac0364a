// Host memory for policies: workspace, and the operations on sub-views that algorithms are made of.
//
// Plain loops that a compiler vectorises where the inner stride is one; they run at the speed of memory and
// are divided by rows when the program has OpenMP.
#pragma once

#include "../../core/policy.hpp"
#include "team.hpp"

#include <new>

#ifdef __linux__
#    include <sys/mman.h>
#endif

STRATAGEMM_BEGIN

// Blocks of workspace. The last block released on a thread is kept for the next call: fresh pages cost more than a
// product of a few hundred rows, and up to a tenth of an emulated product of 4096, whose workspace just fits `keep`.
// Larger blocks go back to the system at once.
class host_block {
public:
    static constexpr std::size_t keep = std::size_t{320} << 20;
    static constexpr std::size_t huge_page = std::size_t{2} << 20;

    // At least `bytes`. If the block was kept from a call before, `bytes` becomes its size.
    [[gnu::cold, gnu::noinline]] static std::byte* acquire(std::size_t& bytes) {
        host_block& kept = cache();
        if (kept.data_ && kept.size_ >= bytes) {
            bytes = kept.size_;
            return std::exchange(kept.data_, nullptr);
        }
        return allocate(bytes);
    }
    static void release(std::byte* data, std::size_t bytes) {
        host_block& kept = cache();
        if (bytes > keep || kept.closed_) return free(data, bytes);
        if (kept.data_ && kept.size_ >= bytes) return free(data, bytes);
        if (kept.data_) free(kept.data_, kept.size_);
        kept.data_ = data;
        kept.size_ = bytes;
    }

private:
    static std::size_t rounded(std::size_t bytes) {
        std::size_t const page = bytes >= huge_page ? huge_page : 4096;
        return (bytes + page - 1) / page * page;
    }
    static std::byte* allocate(std::size_t bytes) {
        std::size_t const size = rounded(bytes);
        if (size < bytes) return nullptr;
        void* p = ::operator new(size, alignment(bytes), std::nothrow);
#ifdef __linux__
        if (p && size >= huge_page) madvise(p, size, MADV_HUGEPAGE);
#endif
        return static_cast<std::byte*>(p);
    }
    [[gnu::cold, gnu::noinline]] static void free(std::byte* p, std::size_t bytes) {
        ::operator delete(p, alignment(bytes));
    }
    static std::align_val_t alignment(std::size_t bytes) {
        return std::align_val_t(bytes > huge_page - 4096 ? huge_page : 4096);
    }
    static host_block& cache() {
        static thread_local host_block block;
        return block;
    }
    ~host_block() {
        if (data_) free(data_, size_);
        data_ = nullptr;
        closed_ = true;
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    bool closed_ = false;
};

using host_arena = linear_arena<host_memory>;

[[gnu::cold, gnu::noinline]] inline result<host_arena> reserve_host(footprint f, char const* layer) {
    if (f.host == 0) return host_arena{};
    std::size_t size = f.host;
    std::byte* const p = host_block::acquire(size);
    if (!p) {
        char text[160];
        __builtin_snprintf(
            text, sizeof(text),
            "cannot allocate %zu bytes of workspace; free memory or multiply in smaller blocks", f.host);
        return failure(errc::memory, layer, text);
    }
    return host_arena(p, size, host_block::release);
}

// The leaf of every policy whose operands are in host memory: a host_leaf (core/leaf.hpp).
struct host_operations {
    int threads = 1;

    // One thread for each 2^18 multiply-adds, about 5 us, or part of them: starting more threads costs more than they
    // gain.
    int team(double work) const {
        constexpr double share = 0x1p18;
        if (!host_has_teams || work <= share) return 1;
        int const offered = host_threads(threads);
        return work / share < offered ? static_cast<int>(work / share) + 1 : offered;
    }
    template <class F>
    void each(int team, int parts, F const& f) const {
        host_each(team, parts, f);
    }

    template <class From, class To>
    status copy(view<From> from, view<To> to) const {
        // Floats are also multiplied by a factor of one: memory takes as long, and one loop less is compiled. Narrow
        // types would be converted for such a factor.
        if constexpr (std::is_same_v<std::remove_cv_t<From>, To> && !std::floating_point<To>) {
            if (is_plain(from)) return assign(to, [&](index_t i, index_t j) { return from(i, j); });
        }
        return assign(to, [&](index_t i, index_t j) { return static_cast<To>(value(from, i, j)); });
    }

    template <class X, class Y, class To>
    status add(view<X> x, view<Y> y, view<To> to) const {
        if (is_plain(x) && is_plain(y))
            return assign(to, [&](index_t i, index_t j) {
                return static_cast<To>(sum_of_two(wide(x(i, j)), wide(y(i, j))));
            });
        return assign(to, [&](index_t i, index_t j) {
            return static_cast<To>(sum_of_two(value(x, i, j), value(y, i, j)));
        });
    }

    template <class To>
    status fill(view<To> to, To value) const {
        return assign(to, [&](index_t, index_t) { return value; });
    }

    // Not inlined: layers apply the same functions in many places. There is one loop, since f may be long.
    template <class F, class To>
    [[gnu::noinline]] status apply(F const& f, view<To> to, index_t row0, index_t col0) const {
        bool const by_rows = magnitude(to.col_stride) <= magnitude(to.row_stride);
        view<To> const v = by_rows ? to : transposed(to);
        int const team = host_has_teams && v.rows * v.cols >= 65536 ? host_threads(threads) : 1;
        host_each(team, team, [=, &f](int, int x) {
            for (index_t o = v.rows * x / team; o < v.rows * (x + 1) / team; ++o)
                for (index_t l = 0; l < v.cols; ++l) {
                    index_t const i = by_rows ? o : l, j = by_rows ? l : o;
                    v(o, l) = static_cast<To>(apply_epilogue(f, wide(v(o, l)), row0 + i, col0 + j));
                }
        });
        return {};
    }

    status synchronize() const { return {}; }

private:
    template <class T>
    static accumulator_t<T> wide(T const& x) {
        return static_cast<accumulator_t<T>>(x);
    }
    template <class T>
    static bool is_plain(view<T> const& v) {
        return v.scale == accumulator_t<T>(1) && !v.conjugate;
    }
    template <class T>
    static accumulator_t<T> value(view<T> const& v, index_t i, index_t j) {
        auto const x = wide(v(i, j));
        return scaled_by(v.scale, v.conjugate ? conjugate(x) : x);
    }

    // to_ij = f(i, j), with the inner loop along the smaller stride of `to`.
    template <class To, class F>
    status assign(view<To> to, F const& f) const {
        bool const by_rows = magnitude(to.col_stride) <= magnitude(to.row_stride);
        index_t const outer = by_rows ? to.rows : to.cols, inner = by_rows ? to.cols : to.rows;
        auto const line = [&](index_t o) {
            if (by_rows)
                for (index_t j = 0; j < inner; ++j) to(o, j) = f(o, j);
            else
                for (index_t i = 0; i < inner; ++i) to(i, o) = f(i, o);
        };
        int const team = !host_has_teams || outer * inner < 65536 ? 1 : host_threads(threads);
        if (team == 1) {
            for (index_t o = 0; o < outer; ++o) line(o);
        } else {
            host_each(team, team, [&](int, int x) {
                for (index_t o = outer * x / team; o < outer * (x + 1) / team; ++o) line(o);
            });
        }
        return {};
    }
};

STRATAGEMM_END
