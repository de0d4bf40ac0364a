// The choices of a policy, by shape, for copies of it to share.
#pragma once

#include "../../core/problem.hpp"

STRATAGEMM_BEGIN

namespace automatic_parts {

// A type, as a number that no other type has.
template <class T>
inline constexpr char mark_of_type = 0;

struct product_key {
    void const* type = nullptr;
    index_t m = 0, n = 0, k = 0, count = 0;
    bool adds = false;

    template <class S>
    static product_key of(S const& s) {
        return {&mark_of_type<S>, s.m, s.n, s.k, s.count, s.adds};
    }
    friend bool operator==(product_key const&, product_key const&) = default;
};

// A table of fixed size: a shape that has no room takes that of another. Nobody waits: who finds the table in use goes on
// without.
class choices {
public:
    static constexpr int unknown = -2;

    int find(product_key const& key) {
        if (busy()) return unknown;
        int found = unknown;
        for (entry const& e : row_of(key).at)
            if (e.key == key) found = e.choice;
        done();
        return found;
    }
    void keep(product_key const& key, int choice) {
        if (busy()) return;
        row& r = row_of(key);
        r.at[r.next] = {key, choice};
        r.next = (r.next + 1) % ways;
        done();
    }
    void forget() {
        while (busy()) {
        }
        for (row& r : rows_) r = {};
        done();
    }

private:
    static constexpr int rows = 32, ways = 4;
    struct entry {
        product_key key;
        int choice = unknown;
    };
    struct row {
        entry at[ways];
        int next = 0;
    };

    row& row_of(product_key const& key) {
        auto x = reinterpret_cast<std::uintptr_t>(key.type);
        for (index_t const side : {key.m, key.n, key.k, key.count})
            x = (x ^ static_cast<std::uintptr_t>(side)) * 0x9e3779b97f4a7c15u;
        return rows_[(x >> 40) % rows];
    }
    bool busy() { return __atomic_test_and_set(&used_, __ATOMIC_ACQUIRE); }
    void done() { __atomic_clear(&used_, __ATOMIC_RELEASE); }

    row rows_[rows];
    bool used_ = false;
};

} // namespace automatic_parts

STRATAGEMM_END
