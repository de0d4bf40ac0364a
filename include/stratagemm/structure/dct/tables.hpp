// How cosine transforms become complex ones, and the factors for it. Factors are computed in double, each from a separate
// sine and cosine, and rounded once. They are kept for later calls.
//
// A transform II of n points is the real part of a Fourier transform of the points in another order: the even ones, then
// the odd ones backwards (Makhoul: A fast cosine transform in one and two dimensions, 1980). If n is even, the real
// transform is a complex one of n / 2 points, which pairs neighbours. A transform III goes the same way back. A transform
// IV of an even n is a complex one of n / 2 points between two factors; of an odd n one of 2n points, half of them zero.
#pragma once

#include "../dft.hpp"
#include "../dft/number.hpp"

STRATAGEMM_BEGIN

enum class dct_type { ii = 2, iii = 3, iv = 4 };

// The points of the complex transform.
constexpr index_t dct_length(dct_type type, index_t n) {
    return n % 2 == 0 ? n / 2 : type == dct_type::iv ? 2 * n : n;
}

template <class R>
struct dct_tables {
    dct_type type;
    index_t n;
    list<dft_complex<R>> first, second;
    dct_tables* next = nullptr;
    int users = 0;

    dct_tables(dct_type t, index_t points) : type(t), n(points) {}
    std::size_t bytes() const { return (first.size() + second.size()) * sizeof(dft_complex<R>); }

    // False: there is no memory.
    [[gnu::cold]] bool build() {
        index_t const half = n / 2 + 1;
        if (type !=
            dct_type::iv) // exp(-pi i k / 2n), and for an even n its product with exp(-2 pi i k / n), or that
            return fill(first, half, 1, 0, 4 * n) &&
                   (n % 2 == 1 ||
                    (type == dct_type::ii ? fill(second, half, 5, 0, 4 * n) : fill(second, half, 1, 0, n)));
        if (n % 2 == 0) // exp(-pi i (4j + 1) / 4n) before, exp(-pi i k / n) behind
            return fill(first, n / 2, 4, 1, 8 * n) && fill(second, n / 2, 1, 0, 2 * n);
        return fill(first, n, 1, 0, 4 * n) && fill(second, n, 2, 1, 8 * n);
    }

private:
    // exp(-2 pi i (step k + begin) / turn)
    static bool fill(list<dft_complex<R>>& to, index_t count, index_t step, index_t begin, index_t turn) {
        if (!to.resize(static_cast<std::size_t>(count))) return false;
        for (index_t k = 0; k < count; ++k) {
            auto const w = root_of_unity((step * k + begin) % turn, turn);
            to[static_cast<std::size_t>(k)] = {static_cast<R>(w.re), static_cast<R>(w.im)};
        }
        return true;
    }
};

// The tables that were used last, and others as long as the last cache has room for them. Hidden: each library that holds
// this code has separate tables, since these are freed when the library is unloaded.
template <class R>
class [[gnu::visibility("hidden")]] dct_tables_kept {
public:
    using tables = dct_tables<R>;
    // Returns null if there is no memory. The caller gives them back.
    [[gnu::cold, gnu::noinline]] static tables* take(dct_type type, index_t n) {
        static bool const once = (call_at_unload([] { all().clear(); }), true);
        (void)once;
        dct_tables_kept& kept = all();
        kept.lock();
        tables* found = kept.first_;
        while (found && (found->n != n || found->type != type)) found = found->next;
        if (found) ++found->users;
        kept.unlock();
        if (found) return found;
        found = new (std::nothrow) tables(type, n);
        if (!found || !found->build()) {
            delete found;
            return nullptr;
        }
        found->users = 1;
        kept.lock();
        found->next = kept.first_, kept.first_ = found;
        kept.unlock();
        return found;
    }
    static void give_back(tables * used) {
        dct_tables_kept& kept = all();
        auto room = static_cast<std::size_t>(third_level_cache());
        kept.lock();
        --used->users;
        for (tables** at = &kept.first_; *at;) {
            tables* const x = *at;
            bool const stays = x == kept.first_ || x->users > 0 || x->bytes() <= room;
            room -= x->bytes() < room ? x->bytes() : room;
            if (stays)
                at = &x->next;
            else
                *at = x->next, delete x;
        }
        kept.unlock();
    }

private:
    static dct_tables_kept& all() {
        static constinit dct_tables_kept kept;
        return kept;
    }
    void clear() {
        while (tables* const x = first_) first_ = x->next, delete x;
    }
    // The lock is held for some steps along a list.
    void lock() {
        while (__atomic_exchange_n(&is_locked_, true, __ATOMIC_ACQUIRE))
            while (__atomic_load_n(&is_locked_, __ATOMIC_RELAXED)) {
            }
    }
    void unlock() { __atomic_store_n(&is_locked_, false, __ATOMIC_RELEASE); }

    tables* first_ = nullptr;
    bool is_locked_ = false;
};

// Tables as long as this lives.
template <class R>
class dct_tables_use {
public:
    dct_tables_use(dct_type type, index_t n) : tables_(dct_tables_kept<R>::take(type, n)) {}
    dct_tables_use(dct_tables_use const&) = delete;
    dct_tables_use& operator=(dct_tables_use const&) = delete;
    ~dct_tables_use() {
        if (tables_) dct_tables_kept<R>::give_back(tables_);
    }
    explicit operator bool() const { return tables_; }
    dct_tables<R> const& operator*() const { return *tables_; }

private:
    dct_tables<R>* tables_;
};

STRATAGEMM_END
