// `verified` where operands are in a device's memory: kernels for the sums over rows and columns, and the place that
// a check asks.
//
// What comes to the host are the sums, a few numbers for each row and column, and the lines that a check looks at.
// Sums are in double, or in float on a device without double; those of integers are modulo 2^32. Each is added up in
// one order, so that the same call has the same sums.
#pragma once

#include "../../core/list.hpp"
#include "../../device/dialect.hpp"
#include "check.hpp"

STRATAGEMM_BEGIN

namespace verified_parts {

// NUMBER is the type of sums. USED(x) is what counts of an element x, JOIN(s, x) adds a magnitude to others.
// A vector may be left out, and its elements are 1 then.
inline constexpr char device_sums_text[] = R"(
#define ADD_TERM(i, j, l)                                                                            \
    do {                                                                                             \
        NUMBER const element = (NUMBER)LOAD(IN, m, AT(m, i, j)), used = USED(element);               \
        sum += used * (has_x ? x[l] : (NUMBER)1);                                                    \
        if (MEASURED) size = JOIN(size, MAGNITUDE(used) * (has_size ? x_size[l] : (NUMBER)1));       \
    } while (0)
)";

// y = M x and y_size = |M| x_size: a warp for each row. The columns have the smaller stride.
inline constexpr char device_along_text[] = R"(
KERNEL(ITEMS) along(MATRIX(IN const, m), index rows, index cols, BUFFER(NUMBER const, x), int has_x,
                    BUFFER(NUMBER const, x_size), int has_size, BUFFER(NUMBER, y), BUFFER(NUMBER, y_size)) {
    SHARED NUMBER all[ITEMS];
    SHARED NUMBER all_size[ITEMS];
    OPEN(IN const, m);
    OPEN(NUMBER const, x);
    OPEN(NUMBER const, x_size);
    OPEN(NUMBER, y);
    OPEN(NUMBER, y_size);
    index const i = (index)GROUP * (ITEMS / 32) + WARP;
    NUMBER sum = 0, size = 0;
    if (i < rows)
        for (index j = LANE; j < cols; j += 32)
            ADD_TERM(i, j, j);
    all[ITEM] = sum;
    all_size[ITEM] = size;
    BARRIER();
    for (int other = 16; other > 0; other /= 2) {
        if (LANE < other) {
            all[ITEM] += all[ITEM + other];
            all_size[ITEM] = JOIN(all_size[ITEM], all_size[ITEM + other]);
        }
        BARRIER();
    }
    if (LANE == 0 && i < rows) {
        y[i] = all[ITEM];
        if (MEASURED) y_size[i] = all_size[ITEM];
    }
}
)";

// y = x M and y_size = x_size |M| of each of some parts of the rows; then, their sums.
inline constexpr char device_across_text[] = R"(
KERNEL(ITEMS) across(MATRIX(IN const, m), index rows, index cols, BUFFER(NUMBER const, x), int has_x,
                     BUFFER(NUMBER const, x_size), int has_size, BUFFER(NUMBER, partial), index parts) {
    OPEN(IN const, m);
    OPEN(NUMBER const, x);
    OPEN(NUMBER const, x_size);
    OPEN(NUMBER, partial);
    for (EACH(at, parts * cols)) {
        index const part = at / cols, j = at % cols, end = rows * (part + 1) / parts;
        NUMBER sum = 0, size = 0;
        for (index i = rows * part / parts; i < end; ++i)
            ADD_TERM(i, j, i);
        partial[2 * part * cols + j] = sum;
        partial[(2 * part + 1) * cols + j] = size;
    }
}
)";
inline constexpr char device_add_parts_text[] = R"(
KERNEL(ITEMS) add_parts(BUFFER(NUMBER const, partial), index parts, index cols, BUFFER(NUMBER, y),
                        BUFFER(NUMBER, y_size)) {
    OPEN(NUMBER const, partial);
    OPEN(NUMBER, y);
    OPEN(NUMBER, y_size);
    for (EACH(j, cols)) {
        NUMBER sum = 0, size = 0;
        for (index part = 0; part < parts; ++part) {
            sum += partial[2 * part * cols + j];
            size = JOIN(size, partial[(2 * part + 1) * cols + j]);
        }
        y[j] = sum;
        if (MEASURED) y_size[j] = size;
    }
}
)";

// What counts of elements: themselves, those that are finite, how many are not, or their magnitudes' largest.
enum class counted { all, finite, odd, largest };

// Arrays of N in a device's memory. `results` has ten arrays, which come to the host together.
template <class Space, class T, class N>
struct device_room {
    template <class E>
    using handle = typename Space::template handle<E>;
    static constexpr int arrays = 5; // of results, of rows and of columns
    static constexpr index_t most_parts = 32;

    handle<N> x, y, w, w_size, v, v_size, results, partial;
    handle<std::byte> line;

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        index_t const longer = m < n ? n : m, longest = longer < k ? k : longer;
        // A line is one of A or B, or a vector of N made of it, or one of C.
        constexpr index_t element = 8;
        take(x, n), take(y, m), take(w, k), take(w_size, k), take(v, k), take(v_size, k);
        take(results, arrays * (m + n)), take(partial, 2 * most_parts * longest);
        take(line, element * longest);
    }
    template <class Arena>
    static std::size_t bytes(index_t m, index_t n, index_t k) {
        std::size_t all = 0;
        device_room{}.each(m, n, k, [&]<class Handle>(Handle& array, index_t count) {
            constexpr std::size_t size = std::is_same_v<Handle, handle<N>> ? sizeof(N) : 1;
            (void)array;
            all += Arena::rounded(static_cast<std::size_t>(count) * size);
        });
        return all;
    }
};

// See check.hpp. `N` is the type of sums on the device.
template <class Leaf, class P, class N>
class on_device {
    using T = typename P::a_type;
    using C = typename P::c_type;
    using W = number_of<C>;
    using space = typename P::space;
    using room = device_room<space, T, N>;
    template <class E>
    using handle = typename space::template handle<E>;
    static constexpr bool exact = std::is_integral_v<C>;
    using sums = sums_of<T, W>;

public:
    static constexpr double rounding = std::is_same_v<N, float> ? 0x1p-23 : 0x1p-52;

    template <class Arena>
    on_device(Leaf leaf, P const& p, Arena& memory)
        : leaf_(std::move(leaf)), p_(p), m_(p.c.rows), n_(p.c.cols), k_(p.a.cols) {
        there_.each(m_, n_, k_, [&]<class Handle>(Handle& array, index_t count) {
            using E = std::conditional_t<std::is_same_v<Handle, handle<N>>, N, std::byte>;
            array = memory.template take<E>(count);
        });
        auto const count = [](index_t x) { return static_cast<std::size_t>(x); };
        index_t const longer = m_ < n_ ? n_ : m_;
        if (!results_.resize(count(room::arrays * (m_ + n_))) ||
            !vector_.resize(count(longer < k_ ? k_ : longer)) || !row_.resize(count(n_)) ||
            !col_.resize(count(m_)) || !added_.resize(count(longer)))
            state_ =
                failure(errc::memory, "verified: cannot allocate host memory for sums over rows and columns");
    }
    bool ok() const { return static_cast<bool>(state_); }
    status take_state() { return std::move(state_); }

    void add_up(sums const& r, bool clean) {
        counted const what = clean ? counted::finite : counted::all;
        send(r.x, n_, there_.x), send(r.y, m_, there_.y);
        times(p_.a.transposed(), &there_.y, nullptr, there_.w, there_.w_size, what);
        times(p_.b, &there_.x, nullptr, there_.v, there_.v_size, what);
        times(p_.a, &there_.v, &there_.v_size, of_rows(0), of_rows(1), what);
        times(p_.b.transposed(), &there_.w, &there_.w_size, of_cols(0), of_cols(1), what);
        times(reading(p_.c), &there_.x, nullptr, of_rows(2), of_rows(3), what);
        times(reading(p_.c).transposed(), &there_.y, nullptr, of_cols(2), of_cols(3), what);
        if (adds()) { // after those of C, which leave sizes there
            times(p_.e, &there_.x, nullptr, of_rows(3), of_rows(4), what);
            times(p_.e.transposed(), &there_.y, nullptr, of_cols(3), of_cols(4), what);
        }
        fetch(there_.results, room::arrays * (m_ + n_));
        index_t const cols = room::arrays * m_;
        give(r.rows, 0, m_), give(r.rows_c, 2 * m_, m_);
        give(r.cols, cols, n_), give(r.cols_c, cols + 2 * n_, n_);
        if (!exact) give(r.rows_size, m_, m_), give(r.cols_size, cols + n_, n_);
        if (!adds()) return;
        give(r.rows_e, 3 * m_, m_), give(r.cols_e, cols + 3 * n_, n_);
        if (!exact) give(r.rows_e_size, 4 * m_, m_), give(r.cols_e_size, cols + 4 * n_, n_);
    }

    void mark_odd(W* rows, W* cols) {
        times(p_.a, nullptr, nullptr, of_rows(0), of_rows(1), counted::odd);
        if (adds()) times(p_.e, nullptr, nullptr, of_rows(2), of_rows(3), counted::odd);
        times(p_.b.transposed(), nullptr, nullptr, of_cols(0), of_cols(1), counted::odd);
        fetch(there_.results, room::arrays * (m_ + n_));
        give(rows, 0, m_), give(cols, room::arrays * m_, n_);
        for (index_t i = 0; adds() && i < m_; ++i) rows[i] += static_cast<W>(result(2 * m_ + i));
    }
    void mark_odd_of_c(W* rows) {
        times(reading(p_.c), nullptr, nullptr, of_rows(0), of_rows(1), counted::odd);
        fetch(of_rows(0), m_);
        give(rows, 0, m_);
    }

    void copy_row_of_a(index_t i, T* to) { copy_row(p_.a.part(i, 0, 1, k_), to); }
    void copy_col_of_b(index_t j, T* to) { copy_row(p_.b.part(0, j, k_, 1).transposed(), to); }
    view<C const> row_of_c(index_t i) {
        copy_row(reading(p_.c).part(i, 0, 1, n_), row_.data());
        return {row_.data(), 1, n_, n_, 1};
    }
    view<C const> col_of_c(index_t j) {
        copy_row(reading(p_.c).part(0, j, m_, 1).transposed(), col_.data());
        return {col_.data(), m_, 1, 1, m_};
    }
    C element_of_e(index_t i, index_t j) {
        C x{};
        copy_row(p_.e.part(i, j, 1, 1), &x);
        return x;
    }
    C element_of_c(index_t i, index_t j) {
        C x{};
        copy_row(reading(p_.c).part(i, j, 1, 1), &x);
        return x;
    }
    void put(index_t i, index_t j, C const& value) {
        if (ok()) state_ = leaf_.upload(&value, p_.c.part(i, j, 1, 1).data, 1);
    }

    // Those elements of a line that are furthest, relative to |A||B|, from what the device computes again.
    template <class F>
    void look_along(bool by_rows, index_t line, sums const& at, F&& f) {
        index_t which[sums::most];
        int const found = furthest(by_rows, line, at, which);
        for (int x = 0; x < found; ++x) {
            index_t const i = by_rows ? line : which[x], j = by_rows ? which[x] : line;
            by_rows ? copy_col_of_b(j, at.lines_b) : copy_row_of_a(i, at.lines_a);
            if (!ok() ||
                !f(i, j, view<T const>{at.lines_a, 1, k_, k_, 1}, view<T const>{at.lines_b, k_, 1, 1, k_}))
                return;
        }
    }

    magnitudes peaks() {
        auto const peak = [&](auto const& m, handle<N> const& to) {
            times(m, nullptr, nullptr, to, to + m.rows, counted::largest);
            fetch(to + m.rows, m.rows);
            double most = 0;
            for (index_t i = 0; i < m.rows; ++i)
                most = most < result(i) ? static_cast<double>(result(i)) : most;
            return most;
        };
        return {peak(p_.a, of_rows(0)), peak(p_.b.transposed(), of_cols(0)),
                adds() ? peak(p_.e, of_rows(0)) : 0};
    }

private:
    bool adds() const { return p_.beta != typename P::scalar(0); }
    handle<N> of_rows(index_t x) const { return there_.results + x * m_; }
    handle<N> of_cols(index_t x) const { return there_.results + (room::arrays * m_ + x * n_); }
    N result(index_t i) const { return results_[static_cast<std::size_t>(i)]; }
    void give(W* to, index_t first, index_t count) const {
        for (index_t i = 0; i < count; ++i) to[i] = static_cast<W>(result(first + i));
    }
    void fetch(handle<N> const& from, index_t count) {
        if (ok()) state_ = leaf_.download(from, results_.data(), count);
    }
    void send(W const* from, index_t count, handle<N> const& to) {
        for (index_t i = 0; i < count; ++i) vector_[static_cast<std::size_t>(i)] = static_cast<N>(from[i]);
        if (ok()) state_ = leaf_.upload(static_cast<N const*>(vector_.data()), to, count);
    }
    template <class E>
    void copy_row(view<E const, space> row, E* to) {
        if (!ok()) return;
        row.scale = accumulator_t<E>(1);
        if (row.cols > 1 && row.col_stride != 1) {
            view<E, space> const packed{space::template cast<E>(there_.line), 1, row.cols, row.cols, 1};
            state_ = leaf_.copy(row, packed);
            row = packed;
        }
        if (ok()) state_ = leaf_.download(row.data, to, row.cols);
    }

    int furthest(bool by_rows, index_t line, sums const& at, index_t* which) {
        index_t const count = by_rows ? n_ : m_;
        T* const own = by_rows ? at.lines_a : at.lines_b;
        by_rows ? copy_row_of_a(line, own) : copy_col_of_b(line, own);
        for (bool const sizes : {false, true}) {
            for (index_t l = 0; l < k_; ++l) {
                double const x = static_cast<double>(static_cast<real_t<T>>(own[l]));
                vector_[static_cast<std::size_t>(l)] = static_cast<N>(sizes && x < 0 ? -x : x);
            }
            handle<N> const& to = sizes ? there_.w_size : there_.w;
            if (ok()) state_ = leaf_.upload(static_cast<N const*>(vector_.data()), to, k_);
        }
        auto const to = by_rows ? of_cols(0) : of_rows(0);
        times(by_rows ? p_.b.transposed() : p_.a, &there_.w, &there_.w_size, to, to + count, counted::finite);
        fetch(to, 2 * count);
        C const* const c = (by_rows ? row_of_c(line) : col_of_c(line)).data;
        if (adds())
            copy_row(by_rows ? p_.e.part(line, 0, 1, n_) : p_.e.part(0, line, m_, 1).transposed(),
                     added_.data());

        double by[sums::most];
        int found = 0;
        for (index_t x = 0; ok() && x < count; ++x) {
            if ((by_rows ? at.x : at.y)[x] == W(0)) continue; // is not checked
            auto const number = [](auto const& y) { return static_cast<double>(static_cast<real_t<C>>(y)); };
            double const e = adds()
                                 ? static_cast<double>(p_.beta) * number(added_[static_cast<std::size_t>(x)])
                                 : 0,
                         alpha = static_cast<double>(p_.alpha);
            double const difference = number(c[x]) - alpha * static_cast<double>(result(x)) - e;
            double const all =
                __builtin_fabs(alpha) * static_cast<double>(result(count + x)) + __builtin_fabs(e);
            double off = difference == 0 ? 0 : __builtin_fabs(difference) / all;
            if (!is_finite(off)) off = 1e300;
            if (found == sums::most && off <= by[found - 1]) continue;
            int place = found < sums::most ? found++ : found - 1;
            for (; place > 0 && by[place - 1] < off; --place)
                by[place] = by[place - 1], which[place] = which[place - 1];
            by[place] = off, which[place] = x;
        }
        return found;
    }

    // y = M x, and y_size = |M| x_size unless sums are exact; null for a vector of ones.
    template <class E>
    void times(view<E const, space> const& m, handle<N> const* x, handle<N> const* x_size, handle<N> const& y,
               handle<N> const& y_size, counted what) {
        if (!ok()) return;
        handle<N> const& some = there_.x; // a launch needs a buffer
        auto const given = [&](auto const& f) {
            return f(x ? *x : some, int{x != nullptr}, x_size ? *x_size : some, int{x_size != nullptr});
        };
        if (!rows_are_closer(m)) {
            given([&](auto const&... vectors) {
                launch<E>("along", device_along_text, what, (m.rows + items / 32 - 1) / (items / 32), m,
                          m.rows, m.cols, vectors..., y, y_size);
            });
            return;
        }
        view<E const, space> const t = m.transposed();
        index_t const wanted = t.rows / 64, parts = wanted < 1                  ? 1
                                                    : wanted < room::most_parts ? wanted
                                                                                : room::most_parts;
        given([&](auto const&... vectors) {
            launch<E>("across", device_across_text, what, groups_for_each(parts * t.cols, items), t, t.rows,
                      t.cols, vectors..., there_.partial, parts);
        });
        launch<E>("add_parts", device_add_parts_text, what, groups_for_each(t.cols, items), there_.partial,
                  parts, t.cols, y, y_size);
    }
    template <class E, class... Arguments>
    void launch(char const* name, static_text text, counted what, index_t groups,
                Arguments const&... arguments) {
        if (!ok()) return;
        constexpr bool wide = std::is_same_v<N, double> || uses_double<E, E>;
        state_ = or_no_memory([&] {
            return leaf_.launch({name, text, definitions(what), items, wide, false, typed<E>}, groups,
                                arguments...);
        });
    }
    template <class E>
    static std::string typed() {
        return kernel_types<E, E>() + device_sums_text;
    }
    static std::string definitions(counted what) {
        std::string text = exact
                               ? "#define NUMBER uint\n#define MEASURED 0\n#define MAGNITUDE(x) (x)\n"
                               : std::string("#define NUMBER ") + kernel_type<N>() +
                                     "\n#define MEASURED 1\n#define MAGNITUDE(x) fabs(x)\n#define "
                                     "IS_FINITE(x) (fabs(x) <= " +
                                     (sizeof(N) == 8 ? "0x1.fffffffffffffp1023" : "0x1.fffffep127f") + ")\n";
        text +=
            what == counted::largest ? "#define JOIN(s, x) max(s, x)\n" : "#define JOIN(s, x) ((s) + (x))\n";
        if (what == counted::all || exact) return text + "#define USED(x) (x)\n";
        return text + (what == counted::odd ? "#define USED(x) (IS_FINITE(x) ? (NUMBER)0 : (NUMBER)1)\n"
                                            : "#define USED(x) (IS_FINITE(x) ? (x) : (NUMBER)0)\n");
    }

    static constexpr int items = 256;
    Leaf leaf_;
    P const& p_;
    index_t const m_, n_, k_;
    room there_{};
    list<N> results_, vector_;
    list<C> row_, col_, added_;
    status state_;
};

} // namespace verified_parts

STRATAGEMM_END
