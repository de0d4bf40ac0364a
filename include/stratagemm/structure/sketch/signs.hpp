// Sparse sketches: where the signs of a column are, and the list of a sketch by rows, on the host or on a device.
//
// The rows of a sketch with s signs in each column are divided into s parts of like size, and each column has one
// sign in each part (Kane, Nelson: Sparser Johnson-Lindenstrauss transforms, J. ACM 61, 2014). No place is drawn
// twice, and the place of each sign is one random word: the lowest bit is the sign, the others are the row within the
// part. Rows of a part are equally likely but for rows / 2^31.
//
// A sketch whose rows are those of the transposed has its elements by rows already; they are listed in the order of the
// parts. Any other sketch is the transposed of that list, by a stable sort. So no order depends on threads.
#pragma once

#include "../csr.hpp"
#include "blocks.hpp"
#include "operand.hpp"

STRATAGEMM_BEGIN

// The rows of part t of `parts`: as near to rows / parts as can be.
constexpr index_t first_of_part(index_t rows, index_t parts, index_t t) {
    return rows / parts * t + (t < rows % parts ? t : rows % parts);
}

// The signs of a column: f(row, is_negative), from the first row to the last.
template <class F>
void each_sign(std::uint64_t seed, index_t rows, index_t signs, index_t col, F&& f) {
    std::uint32_t words[4]{};
    for (index_t t = 0; t < signs; ++t) {
        if (t % 4 == 0)
            draw_words({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(sketch_stream::signs), static_cast<std::uint32_t>(t / 4),
                        static_cast<std::uint32_t>(col)},
                       words);
        index_t const first = first_of_part(rows, signs, t), size = first_of_part(rows, signs, t + 1) - first;
        std::uint64_t const word = words[t % 4];
        f(first + static_cast<index_t>((word >> 1) * static_cast<std::uint64_t>(size) >> 31),
          (word & 1) != 0);
    }
}

template <policy P>
class sign_product;

// Whose rows lie listed in the memory of a device.
enum class kept_list { none, of_this, of_transposed };

template <class T>
struct sign_form {
    using value_type = T;
    using index_type = std::int32_t;
    static constexpr bool has_facts = true, is_sparse = true, has_elements = true;
    template <class P>
    requires P::is_backend using over = sign_product<P>;

    index_t signs = 1, all_rows = 1; // of a column
    bool turned = false;
    kept_list kept = kept_list::none;

    sign_form transposed() const {
        return {signs, all_rows, !turned,
                kept == kept_list::of_this         ? kept_list::of_transposed
                : kept == kept_list::of_transposed ? kept_list::of_this
                                                   : kept_list::none};
    }
    // A part has no more signs of a column than rows.
    index_t most(index_t rows, index_t cols) const {
        return turned ? rows * lesser(signs, cols) : cols * lesser(signs, rows);
    }
    index_t likely(index_t rows, index_t cols) const {
        double const share = static_cast<double>(turned ? cols : rows) / static_cast<double>(all_rows);
        return static_cast<index_t>(static_cast<double>((turned ? rows : cols) * signs) * share);
    }
    // A row of the transposed has all signs of a column. The signs of a row of the sketch are drawn independently, so by
    // Bernstein's inequality none of the rows has more, but with a probability of 1 / rows.
    index_t longest_row(index_t rows, index_t cols) const {
        if (turned || rows < 1) return lesser(signs, cols);
        double const average = static_cast<double>(cols * signs) / static_cast<double>(all_rows),
                     fails = 2 * __builtin_log(static_cast<double>(rows)),
                     more = fails / 3 + __builtin_sqrt(fails * fails / 9 + 2 * average * fails);
        return lesser(static_cast<index_t>(average + more) + 1, cols);
    }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t cols) const {
        if (kept == kept_list::of_this) return 0;
        index_t const count = most(rows, cols);
        std::size_t const list = bytes_of_lists<Arena, T, index_type>(rows, count);
        if (turned) return list + bytes_to_scan<Arena, Leaf>();
        return list + bytes_of_lists<Arena, T, index_type>(cols, count) + bytes_to_scan<Arena, Leaf>() +
               bytes_to_sort<Arena, index_type, Leaf>(count);
    }
    bool conjugates() const { return false; } // signs are real
    std::string origin() const {
        return std::to_string(signs) + (signs == 1 ? " sign" : " signs") + " in each column of a sketch, " +
               (kept == kept_list::of_this ? "kept; " : "listed first; ");
    }

private:
    template <class Arena, class Leaf>
    static std::size_t bytes_to_scan() {
        return host_leaf<Leaf> ? 0 : Arena::rounded(scan_parts::most * sizeof(index_type));
    }
};

// The memory space of an arena.
template <class Arena>
struct space_of_arena {
    using type = host_memory;
};
template <class Space>
struct space_of_arena<linear_arena<Space>> {
    using type = Space;
};

// rows x cols of signs, or a part of these. T: the type of the elements.
template <class T>
struct sign_sketch : sketch_part<sign_sketch<T>, T> {
    using form = sign_form<T>;
    using index_type = std::int32_t;

    index_t signs = 1; // in each column

    sign_sketch() = default;
    sign_sketch(index_t of_rows, index_t of_cols, std::uint64_t of_seed, index_t of_signs)
        : sketch_part<sign_sketch, T>(of_rows, of_cols, of_seed,
                                      1 / __builtin_sqrt(static_cast<double>(of_signs < 1 ? 1 : of_signs))),
          signs(of_signs) {}

    form facts() const { return {signs, this->all_rows, this->turned, kept_list::none}; }
    T drawn(index_t row, index_t col) const {
        T x(real_t<T>(0));
        each_sign(this->seed, this->all_rows, signs, col, [&](index_t i, bool is_negative) {
            if (i == row) x = T(real_t<T>(is_negative ? -1 : 1));
        });
        return x;
    }
    status usable() const {
        if (status s = this->sides_usable("sparse_sign"); !s) return s;
        char text[160];
        if (signs < 1 || signs > this->all_rows)
            __builtin_snprintf(text, sizeof(text),
                               "a column of %td rows has from 1 to %td signs, and not %td", this->all_rows,
                               this->all_rows, signs);
        else if (!can_count<index_type>(lesser(signs, columns().m), columns().n))
            __builtin_snprintf(
                text, sizeof(text),
                "a part of a sketch has at most 2^31 - 1 signs; multiply fewer columns at a time");
        else
            return {};
        return failure(errc::argument, "sparse_sign", text);
    }
    // f(i, j, sign) for the elements of a part of the columns.
    template <class F>
    void each_element(int part, int parts, F&& f) const {
        range const c = columns();
        for (index_t j = c.n * part / parts; j < c.n * (part + 1) / parts; ++j)
            each_sign_of(c, j, [&](index_t i, T sign) { this->turned ? f(j, i, sign) : f(i, j, sign); });
    }
    template <class Leaf, class Arena>
    result<csr<T, index_type, typename space_of_arena<Arena>::type>> listed(Leaf const& leaf,
                                                                            Arena& memory) const {
        using list = csr<T, index_type, typename space_of_arena<Arena>::type>;
        range const c = columns();
        index_t const most = facts().most(this->rows, this->cols);
        auto const begins = memory.template take<index_type>(this->rows + 1);
        auto const numbers = memory.template take<index_type>(most);
        auto const values = memory.template take<T>(most);
        list x{this->rows, this->cols, begins, numbers, values, most, this->scale};
        x.longest = facts().longest_row(this->rows, this->cols);
        typename Arena::scope const scope(memory);
        if constexpr (!host_leaf<Leaf>)
            if (!this->turned && c.m == this->all_rows && signs <= this->all_rows &&
                lists_rows_at_once(*this, c.n, leaf.limits())) {
                status s = list_rows_on_device<T>(leaf, *this, c.col, c.n, begins, numbers, values);
                if (!s) return s;
                return x;
            }
        if (this->turned) {
            if (status s = list_columns(leaf, c, begins, numbers, values, memory); !s) return s;
        } else {
            auto const column_begins = memory.template take<index_type>(c.n + 1);
            auto const row_numbers = memory.template take<index_type>(most);
            auto const signs_of_columns = memory.template take<T>(most);
            list from{c.n, c.m, column_begins, row_numbers, signs_of_columns, most};
            if (status s = list_columns(leaf, c, column_begins, row_numbers, signs_of_columns, memory); !s)
                return s;
            if constexpr (host_leaf<Leaf>) from.nonzeros = column_begins[c.n];
            if (status s = transpose_csr(leaf, from, begins, numbers, values, memory); !s) return s;
        }
        if constexpr (host_leaf<Leaf>) x.nonzeros = begins[this->rows];
        return x;
    }

private:
    // The rows and the columns of the sketch that this part has.
    struct range {
        index_t row, m, col, n;
    };
    range columns() const {
        return this->turned ? range{this->col0, this->cols, this->row0, this->rows}
                            : range{this->row0, this->rows, this->col0, this->cols};
    }
    template <class F>
    void each_sign_of(range const& c, index_t j, F&& f) const {
        each_sign(this->seed, this->all_rows, signs, c.col + j, [&](index_t i, bool is_negative) {
            if (i >= c.row && i < c.row + c.m) f(i - c.row, T(real_t<T>(is_negative ? -1 : 1)));
        });
    }
    // The transposed by rows: which rows each column has signs in.
    template <class Leaf, class Numbers, class Values, class Arena>
    status list_columns(Leaf const& leaf, range const& c, Numbers begins, Numbers numbers, Values values,
                        Arena& memory) const {
        if constexpr (host_leaf<Leaf>) {
            (void)memory;
            bool const is_whole = c.m == this->all_rows;
            index_type count = 0;
            for (index_t j = 0; j <= c.n; ++j) {
                begins[j] = is_whole ? static_cast<index_type>(j * signs) : count;
                if (!is_whole && j < c.n) each_sign_of(c, j, [&](index_t, T) { ++count; });
            }
            // Ten rounds for four signs.
            int const team = leaf.team(10 * static_cast<double>(c.n * signs));
            leaf.each(team, team, [&](int, int part) {
                for (index_t j = c.n * part / team; j < c.n * (part + 1) / team; ++j) {
                    index_type at = begins[j];
                    each_sign_of(c, j, [&](index_t i, T sign) {
                        numbers[at] = static_cast<index_type>(i), values[at++] = sign;
                    });
                }
            });
            return {};
        } else {
            typename Arena::scope const scope(memory);
            auto const sums = memory.template take<index_type>(scan_parts::most);
            return list_signs_on_device<T>(leaf, *this, c.row, c.m, c.col, c.n, begins, numbers, values,
                                           sums);
        }
    }
};

// The same with its rows, or those of its transposed, listed in the memory of a device, and lists of blocks where it may be
// multiplied in blocks. A part of it draws again.
template <class T, class Space>
struct listed_signs : sign_sketch<T> {
    using base = sign_sketch<T>;
    using typename base::form;
    using list = csr<T, typename base::index_type, Space>;

    list rows_of_list{};
    typename Space::template handle<int const> blocks{};
    bool is_of_transposed = false;

    form facts() const {
        form x = base::facts();
        x.kept = is_of_transposed ? kept_list::of_transposed : kept_list::of_this;
        return x;
    }
    listed_signs transposed() const { return {base::transposed(), rows_of_list, blocks, !is_of_transposed}; }
    template <class Leaf, class Arena>
    result<list> listed(Leaf const& leaf, Arena& memory) const {
        if (is_of_transposed) return base::listed(leaf, memory);
        list x = rows_of_list;
        x.scale = this->scale;
        return x;
    }
};

// Products with signs are those of a sparse matrix, and the bound is by the signs of a column where sums run along
// these. On a device that has room for it, a product whose sums run along the columns of the sketch takes blocks of
// these (blocks.hpp), where that is estimated to take less time.
template <policy P>
class sign_product : public csr_product<P> {
    using base = csr_product<P>;

public:
    using typename base::arena;
    using typename base::space;

    // always_in_blocks: wherever a device has room for blocks, whatever the estimate says.
    sign_product(P policy, bool always_in_blocks = false)
        : base(std::move(policy)), always_in_blocks_(always_in_blocks) {}

    template <class S>
    bound error_bound(S const& s) const {
        auto const form = signs_of(s);
        return chain_bound<S>(form.turned ? lesser(form.signs, s.k) : s.k);
    }
    template <class S>
    footprint workspace(S const& s) const {
        return with_blocks(s, base::workspace(s));
    }
    template <class Q>
    footprint workspace_for(Q const& p) const {
        return with_blocks(p.shape(), base::workspace_for(p));
    }
    // The estimate is for a dense matrix by rows, if the sketch is on its left.
    template <class S>
    double estimate(S const& s) const {
        return takes_blocks(s, false) ? seconds_in_blocks(s) : base::estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        if (takes_blocks(s, false)) return describe_blocks(s);
        return base::describe(s) + (takes_blocks(s, true)
                                        ? "; or, where terms of a sum lie side by side, " + describe_blocks(s)
                                        : "");
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        using S = decltype(p.shape());
        if constexpr (can_take_blocks<S>) {
            if constexpr (is_left<S>) {
                if (takes_blocks(p.shape(), rows_are_closer(p.b)))
                    return multiply_in_blocks(p.without_epilogue(), p, memory);
            } else if (takes_blocks(p.shape(), !rows_are_closer(p.a))) {
                return multiply_in_blocks(p.without_epilogue().transposed(), p, memory);
            }
        }
        return base::operator()(p, memory);
    }

private:
    template <class S>
    static constexpr bool is_left = sparse_form<typename S::a_form>;
    template <class S>
    static constexpr bool can_take_blocks =
        base::on_device&& std::is_same_v<typename S::a_type, typename S::c_type>;

    template <class S>
    static auto signs_of(S const& s) {
        if constexpr (is_left<S>)
            return s.a_facts;
        else
            return s.b_facts.transposed();
    }
    template <class S>
    static sign_sides sides_of(S const& s) {
        auto const form = signs_of(s);
        return {larger_of(1, form.all_rows), larger_of(1, form.signs),       is_left<S> ? s.m : s.n, s.k,
                is_left<S> ? s.n : s.m,      form.kept == kept_list::of_this};
    }
    template <class S>
    sign_blocks blocks_for([[maybe_unused]] sign_sides const& sides) const {
        if constexpr (base::on_device)
            return choose_sign_blocks(sides, sizeof(typename S::c_type), this->leaf().limits());
        else
            return {};
    }
    template <class S>
    double seconds_in_blocks(S const& s) const {
        if constexpr (can_take_blocks<S>) {
            auto const sides = sides_of(s);
            return static_cast<double>(larger_of(1, s.count)) *
                   seconds_of(blocks_for<S>(sides), sides, sizeof(typename S::c_type), this->leaf().limits());
        } else {
            return 0;
        }
    }
    // As a sparse product. `along`: the terms of a sum lie side by side in the dense matrix, so that a read from a cache
    // has one element, and takes the time of 32 bytes.
    template <class S>
    double seconds_by_rows(S const& s, bool along) const {
        double const seconds = base::estimate(s);
        if (!along) return seconds;
        auto const sides = sides_of(s);
        double const reads = static_cast<double>(sides.cols * sides.signs) * static_cast<double>(sides.rows) /
                             static_cast<double>(sides.all_rows) * static_cast<double>(sides.n),
                     more = 32 - static_cast<double>(sizeof(typename S::a_type));
        if constexpr (base::on_device)
            return seconds + static_cast<double>(larger_of(1, s.count)) * reads * more / 2.5 /
                                 this->leaf().limits().bandwidth;
        else
            return seconds;
    }
    template <class S>
    bool takes_blocks(S const& s, bool along) const {
        if constexpr (can_take_blocks<S>) {
            if (signs_of(s).turned || s.k == 0 || s.m == 0 || s.n == 0) return false;
            auto const sides = sides_of(s);
            return sides.signs <= sides.all_rows && blocks_for<S>(sides).depth > 0 &&
                   (always_in_blocks_ || seconds_in_blocks(s) < seconds_by_rows(s, along));
        } else {
            return false;
        }
    }
    // Operands in any layout.
    template <class S>
    footprint with_blocks(S const& s, footprint need) const {
        if (!takes_blocks(s, true)) return need;
        auto const sides = sides_of(s);
        if (sides.kept) return need;
        footprint lists;
        space::share(lists) = bytes_of_sign_blocks<arena>(blocks_for<S>(sides), sides);
        return larger(need, lists);
    }
    template <class S>
    std::string describe_blocks(S const& s) const {
        auto const sides = sides_of(s);
        auto const x = blocks_for<S>(sides);
        return std::to_string(sides.signs) + (sides.signs == 1 ? " sign" : " signs") +
               " in each column of a sketch, " + (sides.kept ? "kept" : "listed first") + " for blocks of " +
               std::to_string(x.depth) + " columns; " + std::to_string(x.rows()) + " rows by " +
               std::to_string(x.width()) +
               " columns of sums in registers, blocks of the other matrix in shared memory";
    }
    // q has the sketch on the left; p is the caller's product, which has the epilogue.
    template <class Q, class R>
    status multiply_in_blocks(Q const& q, R const& p, arena& memory) const {
        auto const s = q.shape();
        auto const sides = sides_of(s);
        auto const x = blocks_for<decltype(q.shape())>(sides);
        if (!memory.fits(with_blocks(s, {})))
            return failure(errc::argument,
                           "sparse_sign: the plan is one of another sketch; give its shape the "
                           "facts() of the operand");
        typename arena::scope const scope(memory);
        using T = typename Q::c_type;
        typename space::template handle<int const> lists{};
        status done;
        if constexpr (requires { q.a.blocks; }) {
            lists = q.a.blocks;
        } else {
            auto const drawn = memory.template take<int>(words_of_sign_blocks(x, sides));
            done = list_sign_blocks<T>(this->leaf(), x, sides, q.a.seed, q.a.row0, q.a.col0, drawn);
            lists = drawn;
        }
        for (index_t i = 0; i < p.count && done; ++i) {
            done = multiply_sign_blocks(this->leaf(), x, sides, q.at(i), lists);
            if (done) done = apply_to_c(this->leaf(), p.at(i));
        }
        return done;
    }

    bool always_in_blocks_;
};

// Whether a policy multiplies signs of type T by a list.
template <class P, class T>
concept listed_by = std::same_as<typename over_form<P, sign_form<T>>::type, sign_product<P>>;

STRATAGEMM_END
