// `verified` where operands are in a device's memory: the place that a check asks, and a verdict by kernels alone.
//
// Kernels add up rows and columns, choose the lines that are off by most, and compute again the elements where these
// cross. If all of these are right, C is, and the host waits once, for that word. If not, check.hpp decides on the
// host, with the sums and with the lines that it asks for.
#pragma once

#include "../../core/list.hpp"
#include "../../device/product.hpp"
#include "check.hpp"
#include "kernels.hpp"

STRATAGEMM_BEGIN

namespace verified_parts {

// What counts of elements: themselves, those that are finite, how many are not, or their magnitudes' largest.
enum class counted { all, finite, odd, largest };

// How a matrix of E is swept. A line has its elements side by side; `across` groups have the elements of some lines.
template <class E>
struct sweep_work {
    static constexpr int items = 256, wide = sizeof(E) == 8 ? 2 : 4;
    static constexpr index_t batch = 16, enough = 1024 / wide; // groups, measured on an H200

    index_t lines, length, across, lines_each, parts;

    sweep_work(index_t lines_, index_t length_) : lines(lines_), length(length_) {
        auto const up = [](index_t x, index_t by) {
            return x > 0 ? (x + by - 1) / by : 1;
        }; // of nothing, too
        across = up(length, index_t{items} * wide);
        index_t const batches = up(lines, batch), wanted = enough / across;
        lines_each = batch * up(batches, wanted < 1 ? 1 : wanted);
        parts = up(lines, lines_each);
    }
    index_t dots() const { return 2 * across * lines; }
    index_t sums() const { return 2 * parts * length; }
    index_t groups() const { return across * parts; }
};

// Arrays of N in a device's memory. Vectors are pairs of arrays (kernels.hpp). `results` has twelve arrays, which
// come to the host together.
template <class Space, class T, class C, class N>
struct device_room {
    template <class E>
    using handle = typename Space::template handle<E>;
    static constexpr int arrays = 6;      // of results, of rows and of columns
    static constexpr int most_rounds = 4; // whose verdicts come to the host together
    static constexpr int verdict = 10 + lines_off::most * lines_off::most;

    handle<N> x, y, w, v, ones, results, dots, sums, found;
    handle<std::int32_t> suspects;
    handle<std::byte> line;

    template <class Take>
    void each(index_t m, index_t n, index_t k, Take&& take) {
        index_t const longer = m < n ? n : m, longest = longer < k ? k : longer;
        take(x, 2 * n), take(y, 2 * m), take(w, 2 * k), take(v, 2 * k), take(ones, 2 * longest);
        take(results, arrays * (m + n));
        index_t most_dots = 0, most_sums = 0;
        auto const sweep = [&]<class E>(E, index_t lines, index_t length) {
            sweep_work<E> const work(lines, length);
            most_dots = most_dots < work.dots() ? work.dots() : most_dots;
            most_sums = most_sums < work.sums() ? work.sums() : most_sums;
        };
        auto const either = [&](auto type, index_t rows, index_t cols) {
            sweep(type, rows, cols), sweep(type, cols, rows);
        };
        either(T{}, m, k), either(T{}, k, n), either(C{}, m, n);
        take(dots, most_dots), take(sums, most_sums);
        take(found, most_rounds * verdict), take(suspects, 2 * lines_off::most);
        constexpr index_t element = 8; // a line is one of A or B, or a vector of N made of it, or one of C
        take(line, element * longest);
    }
    template <class Arena>
    static std::size_t bytes(index_t m, index_t n, index_t k) {
        std::size_t all = 0;
        device_room{}.each(m, n, k, [&]<class E>(handle<E>&, index_t count) {
            all += Arena::rounded(static_cast<std::size_t>(count) * sizeof(E));
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
    using room = device_room<space, T, C, N>;
    template <class E>
    using handle = typename space::template handle<E>;
    static constexpr bool exact = std::is_integral_v<C>;
    using sums = sums_of<T, W>;

public:
    static constexpr double rounding = std::is_same_v<N, float> ? 0x1p-23 : 0x1p-52;

    template <class Arena>
    on_device(Leaf leaf, P const& p, Arena& memory)
        : leaf_(std::move(leaf)), p_(p), m_(p.c.rows), n_(p.c.cols), k_(p.a.cols) {
        there_.each(m_, n_, k_, [&]<class E>(handle<E>& array, index_t count) {
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

    // Whether kernels find C right; the report then says so. If they do not, C may be right all the same.
    bool is_right(bound const& allowed, verified_options const& options, report& to) {
        if (!is_finite(magnitude_of(p_.alpha)) || !is_finite(magnitude_of(p_.beta))) return false;
        int const rounds = rounds_of<C>(m_, n_, k_, options);
        double limit = 0, error = 0;
        for (int first = 0; first < rounds; first += room::most_rounds) {
            int const some = rounds - first < room::most_rounds ? rounds - first : room::most_rounds;
            for (int round = first; round < first + some; ++round) {
                draw(options.seed, round);
                add_up(counted::all);
                find_and_judge(allowed, there_.found + (round - first) * room::verdict);
            }
            N found[room::most_rounds * room::verdict];
            if (ok()) state_ = leaf_.download(there_.found, found, index_t{some} * room::verdict);
            for (int round = 0; round < some; ++round) {
                double of_round = 0;
                if (!ok() || !is_right(allowed, found + round * room::verdict, of_round, error)) return false;
                limit = first + round == 0 || of_round < limit ? of_round : limit;
            }
        }
        to.products += 1;
        to.error = to.error < error ? error : to.error;
        to.limit = to.limit < limit ? limit : to.limit;
        return true;
    }

    void add_up(sums const& r, bool clean) {
        send(r.x, n_, there_.x), send(r.y, m_, there_.y);
        add_up(clean ? counted::finite : counted::all);
        fetch(there_.results, room::arrays * (m_ + n_));
        index_t const cols = room::arrays * m_;
        give(r.rows, 0, m_), give(r.rows_c, 2 * m_, m_);
        give(r.cols, cols, n_), give(r.cols_c, cols + 2 * n_, n_);
        if (!exact) {
            give(r.rows_size, m_, m_), give(r.cols_size, cols + n_, n_);
            give(r.rows_c_size, 3 * m_, m_), give(r.cols_c_size, cols + 3 * n_, n_);
        }
        if (!adds()) return;
        give(r.rows_e, 4 * m_, m_), give(r.cols_e, cols + 4 * n_, n_);
        if (!exact) give(r.rows_e_size, 5 * m_, m_), give(r.cols_e_size, cols + 5 * n_, n_);
    }

    void mark_odd(W* rows, W* cols) {
        set_ones();
        times(p_.a, there_.ones, of_rows(0), counted::odd);
        if (adds()) times(p_.e, there_.ones, of_rows(2), counted::odd);
        times(p_.b.transposed(), there_.ones, of_cols(0), counted::odd);
        fetch(there_.results, room::arrays * (m_ + n_));
        give(rows, 0, m_), give(cols, room::arrays * m_, n_);
        for (index_t i = 0; adds() && i < m_; ++i) rows[i] += static_cast<W>(result(2 * m_ + i));
    }
    void mark_odd_of_c(W* rows) {
        set_ones();
        times(reading(p_.c), there_.ones, of_rows(0), counted::odd);
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
        set_ones();
        auto const peak = [&](auto const& m, handle<N> const& to) {
            times(m, there_.ones, to, counted::largest);
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
        fill(to + count, count);
    }
    void fill(handle<N> const& to, index_t count) {
        if (!exact && ok()) state_ = leaf_.fill(view<N, space>{to, 1, count, count, 1}, N(1));
    }
    void set_ones() {
        index_t const longer = m_ < n_ ? n_ : m_;
        fill(there_.ones, 2 * (longer < k_ ? k_ : longer));
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
            if (ok())
                state_ = leaf_.upload(static_cast<N const*>(vector_.data()), there_.w + (sizes ? k_ : 0), k_);
        }
        auto const to = by_rows ? of_cols(0) : of_rows(0);
        times(by_rows ? p_.b.transposed() : p_.a, there_.w, to, counted::finite);
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

    // The sums of a product for the vectors x and y that are there. The smaller of A and B is read twice.
    void add_up(counted what) {
        handle<N> const &x = there_.x, &y = there_.y, &v = there_.v, &w = there_.w;
        if (m_ < n_) {
            sweep(p_.a, nullptr, {}, &y, w, what);
            sweep(p_.b, &x, v, &w, of_cols(0), what);
            sweep(p_.a, &v, of_rows(0), nullptr, {}, what);
        } else {
            sweep(p_.b, &x, v, nullptr, {}, what);
            sweep(p_.a, &v, of_rows(0), &y, w, what);
            sweep(p_.b, nullptr, {}, &w, of_cols(0), what);
        }
        sweep(reading(p_.c), &x, of_rows(2), &y, of_cols(2), what);
        if (adds()) sweep(p_.e, &x, of_rows(4), &y, of_cols(4), what);
    }

    template <class E>
    void times(view<E const, space> const& m, handle<N> const& x, handle<N> const& y, counted what) {
        sweep(m, &x, y, nullptr, {}, what);
    }
    // M x to `right`, unless x is null, and y M to `left`, unless y is; both with sizes.
    template <class E>
    void sweep(view<E const, space> const& m, handle<N> const* x, handle<N> const& right, handle<N> const* y,
               handle<N> const& left, counted what) {
        if (rows_are_closer(m)) return sweep(m.transposed(), y, left, x, right, what);
        sweep_work<E> const work(m.rows, m.cols);
        constexpr bool measured = !exact;
        bool const aligned =
            m.col_stride == 1 && m.row_stride % work.wide == 0 && m.cols % work.wide == 0 &&
            space::address(m.data) % static_cast<std::intptr_t>(work.wide * sizeof(E)) == 0 &&
            (sizeof(E) >= 4 || std::is_integral_v<E>);
        std::string const text = definitions(what) + define("MEASURED", measured) +
                                 define("DOTS", x != nullptr) + define("SUMS", y != nullptr) +
                                 define("WIDE", work.wide) + define("VECTORS", aligned);
        handle<N> const& none = there_.ones; // a launch needs a buffer
        launch<E>({"sweep", sweep_text, text}, work.groups(), m, work.lines, work.length, work.lines_each,
                  work.across, x ? *x : none, y ? *y : none, there_.dots, there_.sums);
        index_t const rows = x ? work.lines : 0, cols = y ? work.length : 0, several = measured ? 2 : 1;
        launch<E>({"add_parts", add_parts_text, definitions(what) + define("MEASURED", measured)},
                  (several * rows + 31) / 32 + (several * cols + 31) / 32, there_.dots, work.across, rows,
                  x ? right : none, there_.sums, work.parts, cols, y ? left : none);
    }
    void draw(std::uint64_t seed, int round) {
        auto const of = [&](std::uint64_t which) {
            return static_cast<index_t>(random_bits(seed, 2 * static_cast<std::uint64_t>(round) + which));
        };
        launch<C>({"draw", draw_text, definitions(counted::all)}, groups_for_each(m_ + n_, items), there_.x,
                  n_, of(0), there_.y, m_, of(1), int{round == 0});
    }

    // Where the elements of a verdict are: find_suspects_text and judge_text say what they are.
    void find_and_judge(bound const& allowed, handle<N> const& found) {
        auto const number = [](auto const& x) {
            if constexpr (exact)
                return static_cast<std::int32_t>(x);
            else
                return static_cast<N>(x);
        };
        auto const alpha = number(p_.alpha), beta = number(p_.beta);
        double const underflow = exact ? 0 : underflow_of<C>(p_.alpha, p_.beta, k_);
        auto const floor = [&](bool by_rows) { return number(lines_of(!by_rows, allowed).floor(underflow)); };
        std::string const text = definitions(counted::all) + define("SUSPECTS", lines_off::most);
        launch<C>({"find_suspects", find_suspects_text, text}, 2, there_.results, m_, n_, alpha, beta,
                  int{adds()}, floor(true), floor(false), there_.dots, there_.sums, found, there_.suspects);
        if constexpr (!exact) {
            using S = typename P::scalar;
            double const of_s = largest_of<S>() / 64, of_c = 0.9 * largest_of<C>();
            device_kernel judge{"judge", judge_text, text};
            judge.exact = true;
            launch<T, C>(judge, lines_off::most * lines_off::most, p_.a, p_.b, k_, added_or_c(p_),
                         reading(p_.c), alpha, beta, int{adds()}, number(allowed.worst), number(underflow),
                         number(of_s < of_c ? of_s : of_c), there_.suspects, found);
        }
    }
    // Which rows (side 0) or columns are off.
    lines_off lines_of(int side, bound const& allowed) const {
        lines_off off;
        off.lines = side ? n_ : m_, off.length = side ? m_ : n_, off.worst = allowed.worst;
        return off;
    }
    bool is_right(bound const& allowed, N const* found, double& limit, double& error) const {
        for (int side = 0; side < 2; ++side) {
            N const* const own = found + 5 * side;
            if constexpr (exact) {
                if (own[2] != 0) return false;
            } else {
                auto const at = [&](int i) { return static_cast<double>(own[i]); };
                lines_off off = lines_of(side, allowed);
                off.first = at(0), off.last = at(1), off.count = static_cast<int>(own[2]), off.mean = at(3),
                off.rounding = at(4);
                if (!(off.first < far) || off.stand_out()) return false;
                double const x = off.limit();
                limit = limit < x ? x : limit;
            }
        }
        if constexpr (!exact)
            for (int i = 10; i < room::verdict; ++i) {
                auto const by = static_cast<double>(found[i]);
                if (!(by <= 1)) return false;
                error = error < by ? by : error;
            }
        return true;
    }

    // ---- launches --------------------------------------------------------------------------------------

    static std::string define(char const* name, int value) {
        return std::string("#define ") + name + ' ' + std::to_string(value) + '\n';
    }
    template <class E, class Out = E, class... Arguments>
    void launch(device_kernel kernel, index_t groups, Arguments const&... arguments) {
        if (!ok()) return;
        kernel.items = items;
        kernel.uses_double = std::is_same_v<N, double> || uses_double<E, Out>;
        kernel.types = kernel_types<E, Out>;
        state_ = leaf_.launch(kernel, groups, arguments...);
    }
    static std::string definitions(counted what) {
        std::string text =
            exact ? "#define NUMBER uint\n#define INTEGERS 1\n#define MAGNITUDE(x) (x)\n"
                  : std::string("#define NUMBER ") + kernel_type<N>() +
                        "\n#define INTEGERS 0\n#define MAGNITUDE(x) fabs(x)\n" +
                        (sizeof(N) == 8 ? "#define IS_FINITE(x) (fabs(x) <= 0x1.fffffffffffffp1023)\n"
                                          "#define ROUNDING 0x1p-52\n#define FAR 1e300\n"
                                        : "#define IS_FINITE(x) (fabs(x) <= 0x1.fffffep127f)\n"
                                          "#define ROUNDING 0x1p-23f\n#define FAR 1e30f\n");
        text +=
            what == counted::largest ? "#define JOIN(s, x) max(s, x)\n" : "#define JOIN(s, x) ((s) + (x))\n";
        if (what == counted::all || exact) return text + "#define USED(x) (x)\n";
        return text + (what == counted::odd ? "#define USED(x) (IS_FINITE(x) ? (NUMBER)0 : (NUMBER)1)\n"
                                            : "#define USED(x) (IS_FINITE(x) ? (x) : (NUMBER)0)\n");
    }

    static constexpr int items = 256;
    static constexpr double far = sizeof(N) == 8 ? 1e300 : 0x1p99; // find_suspects_text has it, and not less
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
