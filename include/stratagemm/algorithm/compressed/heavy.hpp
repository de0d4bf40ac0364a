// The elements of a product whose magnitude reaches a threshold t, without the product.
//
// The sketches are so large that all estimates are within t / 4, with the confidence; they are looked at one after
// another, which takes d reads of small tables for each element of C, but no memory for it. What is estimated at 3/4
// t or more is computed, as a dot product in double, and listed if it reaches t. So nothing else is listed, and
// nothing is missed unless an estimate is worse. A device counts and lists, row by row, and its dot products are sums
// of two numbers. With Z elements that are not zero, or Z = 16 |A B|^2 / t^2, the buckets are those of a product
// (choice.hpp). If that is more work than the exact product, the call is refused, or the exact product is looked at, a
// few rows at a time.
#pragma once

#include "../../core/keep.hpp"
#include "../../core/list.hpp"
#include "../../structure/coo.hpp"
#include "dots.hpp"
#include "work.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

// A device has a kernel instead of exact_dots.
struct no_dots {
    template <class A, class B>
    no_dots(A const&, B const&) {}
};

// What heavy() reads of an operand, and the memory of it: a sparse one by rows, which a device writes out.
template <class X, class Arena>
struct heavy_side {
    X is;
    shared<Arena> memory{};
};
template <class Base, class X>
auto heavy_operand(Base const& base, X const& x) {
    using arena = typename Base::arena;
    using space = typename Base::space;
    using R = std::remove_const_t<typename X::value_type>;
    if constexpr (!sparse_operand<X>) {
        return heavy_side<view<R const, space>, arena>{x};
    } else {
        auto const list = by_rows(base, x);
        auto const rows = list.view();
        using List = std::remove_const_t<decltype(rows)>;
        static_assert(has_values<List>, "stratagemm: heavy() takes no pattern; to_csr() makes a csr of it");
        if constexpr (host_leaf<leaf_of<Base>>) {
            return heavy_side<List, arena>{rows, list.memory()};
        } else {
            auto memory = reserve_for(base, bytes_to_write_out<arena, R>(rows.rows, rows.cols));
            memory.or_throw();
            memory->hold(list.memory()); // for kernels that read the list
            auto places = written_out(base.leaf(), rows, **memory);
            places.or_throw();
            view<R const, space> matrix = *places;
            matrix.scale = rows.scale;
            return heavy_side<view<R const, space>, arena>{matrix, std::move(*memory)};
        }
    }
}

// A, B: matrices or, on the host, csr.
template <class Base, class R, class A = view<R const, typename Base::space>, class B = A>
class heavy_elements {
    using arena = typename Base::arena;
    using space = typename Base::space;
    using list_of_all = coo<R, std::int32_t, space>;
    using matrix = owned<list_of_all, Base>;
    using product = problem<A, B, view<R, space>>;
    using product_shape = decltype(product{}.shape());
    template <class T>
    using handle = typename space::template handle<T>;
    static constexpr bool on_host = host_leaf<leaf_of<Base>>;
    struct element {
        std::int32_t row, col;
        R value;
    };
    static constexpr int parts = 64; // of the rows, each with a list

public:
    heavy_elements(Base const& base, compressed_options const& options, A const& a, B const& b)
        : base_(base), options_(options), a_(a), b_(b), work_(base, options, a, b), dots_(a, b) {}

    result<matrix> elements(double threshold) {
        if (status s = check(threshold); !s) return s;
        if (a_.rows == 0 || b_.cols == 0 || a_.cols == 0) return gathered();
        threshold_ =
            threshold / __builtin_fabs(static_cast<double>(a_.scale) * static_cast<double>(b_.scale));
        if (!is_finite(threshold_)) return gathered(); // a factor is zero, or nearly
        plan made;
        if (status s = choose(made); !s) return s;
        double const exact = this->exact().estimate(to_choose_by(shape_of(a_.rows)));
        bool const pays = made.size.sketches > 0 && made.seconds < exact &&
                          norms_ * made.rounding / sides() < threshold_ / 4;
        if (!pays && options_.otherwise == otherwise::refuse)
            return wrong("the exact product is less work than sketches for this threshold: raise it, give "
                         "`nonzeros`, or "
                         "set otherwise::exact");
        if constexpr (on_host)
            if (status s = dots_.prepare(base_.leaf(), parts); !s) return s;
        if (status s = pays ? look_at_sketches(made.size) : look_at_product(); !s) return s;
        for (bool const is_full : is_full_)
            if (is_full) return no_memory();
        return gathered();
    }

private:
    // What multiplies A and B exactly, and `rows` rows of that product.
    auto exact() const {
        if constexpr (is_csr_list<A> && is_csr_list<B>)
            return sparse_pair_product<Base>(base_);
        else
            return multiplier<Base, product_shape>(base_);
    }
    product_shape shape_of(index_t rows) const {
        product_shape s{rows, b_.cols, a_.cols};
        if constexpr (is_csr_list<A>) s.a_facts = a_.facts();
        if constexpr (is_csr_list<B>) s.b_facts = b_.facts();
        return s;
    }
    A rows_of_a(index_t from, index_t rows) const {
        if constexpr (is_csr_list<A>) {
            A some = a_;
            some.row_begins += from, some.rows = rows;
            return some;
        } else {
            return a_.part(from, 0, rows, a_.cols);
        }
    }
    static status wrong(char const* why) { return failure(errc::argument, "heavy", why); }
    static status no_memory() { return failure(errc::memory, "heavy", "no host memory is left"); }
    double sides() const {
        return __builtin_sqrt(static_cast<double>(a_.rows) * static_cast<double>(b_.cols));
    }
    status check(double threshold) const {
        if (a_.cols != b_.rows)
            return failure(errc::shape, "heavy", "A must have as many columns as B has rows");
        if (!(threshold > 0) || !is_finite(threshold)) return wrong("the threshold is a number above 0");
        if (!(options_.confidence > 0 && options_.confidence < 1))
            return wrong("`confidence` is more than 0 and less than 1");
        if (a_.rows > INT32_MAX || b_.cols > INT32_MAX) return wrong("sides are counted in 31 bits");
        if constexpr (!on_host) {
            if (options_.form == compressed_form::fourier)
                return failure(errc::unsupported, "heavy",
                               "form Fourier runs on the host: take walsh_hadamard");
        }
        return {};
    }
    // Sets norms_ to |A||B|. `squares` has room for a_.cols numbers.
    status measure(double* squares, arena& memory) {
        double all[2] = {};
        for (int side = 0; side < 2; ++side) {
            if (status s = side == 0 ? squares_of_a(squares, memory) : squares_of_b(squares, memory); !s)
                return s;
            for (index_t l = 0; l < a_.cols; ++l) all[side] += squares[l];
        }
        norms_ = __builtin_sqrt(all[0]) * __builtin_sqrt(all[1]);
        if (!is_finite(norms_) || !(4 * sides() * norms_ < largest_number<R>()))
            return wrong("A or B has Inf or NaN, or products may overflow");
        return {};
    }
    status squares_of_a(double* squares, arena& memory) const {
        if constexpr (is_csr_list<A>) {
            approximate_parts::squares_of_columns(a_, squares);
            return {};
        } else {
            return approximate_parts::squares_of_rows(base_.leaf(), a_.transposed(), squares, memory);
        }
    }
    status squares_of_b(double* squares, arena& memory) const {
        if constexpr (is_csr_list<B>) {
            approximate_parts::squares_of_rows(b_, squares);
            return {};
        } else {
            return approximate_parts::squares_of_rows(base_.leaf(), b_, squares, memory);
        }
    }
    status choose(plan& made) {
        using approximate_parts::bytes_for_squares;
        footprint room = work_.room_of_norm(), numbers;
        space::share(room) += larger(bytes_for_squares<arena, R>(space{}, a_.cols, a_.rows),
                                     bytes_for_squares<arena, R>(space{}, a_.cols, b_.cols));
        numbers.host = host_arena::rounded(static_cast<std::size_t>(a_.cols) * sizeof(double));
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        auto squares = reserve_host(numbers, "heavy");
        if (!squares) return squares.take_status();
        if (status s = measure(squares->template take<double>(a_.cols), *memory); !s) return s;
        double bad = static_cast<double>(options_.nonzeros), fails = 1 - options_.confidence;
        if (options_.nonzeros == 0) {
            double norm = 0;
            fails /= 2;
            if (status s = work_.norm_of_product(fails, norm, *memory); !s) return s;
            bad = 16 * (norm / threshold_) * (norm / threshold_);
        }
        made = work_.plan_for(bad, fails);
        return {};
    }

    status look_at_sketches(sketch_size size) {
        footprint room;
        space::share(room) = work_.bytes(size) + bytes_of_list(a_.rows);
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        auto const least = static_cast<R>(0.75 * threshold_);
        if constexpr (on_host) {
            return work_.each(size, R(1), *memory, parts,
                              [&](int part, index_t i, index_t j, index_t count, R const* x) {
                                  for (index_t l = 0; l < count; ++l)
                                      if (x[l] >= least || x[l] <= -least) keep(part, i, j + l);
                              });
        } else {
            auto sketch = work_.on_device(size);
            if (status s = sketch.run(options_.seed, *memory); !s) return s;
            return sketch.look([&](auto const&... estimates) {
                return list_on_device(0, a_.rows, least, *memory, estimates...);
            });
        }
    }
    // The rows of the product that are computed at a time.
    index_t rows_at_once() const {
        index_t const some = on_host ? 64 : larger_of(64, (index_t{1} << 24) / b_.cols);
        return smaller(a_.rows, some);
    }
    status look_at_product() {
        index_t const rows = rows_at_once(), n = b_.cols;
        auto const policy = exact();
        footprint room = policy.workspace(shape_of(rows));
        if (a_.rows % rows > 0) room = larger(room, policy.workspace(shape_of(a_.rows % rows)));
        space::share(room) +=
            arena::rounded(static_cast<std::size_t>(rows * n) * sizeof(R)) + bytes_of_list(rows);
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        auto const c = memory->template take<R>(rows * n);
        for (index_t i = 0; i < a_.rows; i += rows) {
            typename arena::scope const scope(*memory);
            view<R, space> const to{c, smaller(rows, a_.rows - i), n, n, 1};
            product const q{R(1), rows_of_a(i, to.rows), b_, R(0), to, to};
            if (status s = policy(q, *memory); !s) return s;
            if (status s = look_at_rows(i, to, *memory); !s) return s;
        }
        return {};
    }
    status look_at_rows(index_t i, view<R, space> const& rows, arena& memory) {
        auto const least = static_cast<R>(0.75 * threshold_);
        if constexpr (on_host) {
            for (index_t at = 0; at < rows.rows * rows.cols; ++at)
                if (rows.data[at] >= least || rows.data[at] <= -least)
                    keep(0, i + at / rows.cols, at % rows.cols);
            return {};
        } else {
            return list_on_device(i, rows.rows, least, memory, 0, rows.data, 0, handle<std::int32_t>{},
                                  handle<std::int32_t>{});
        }
    }

    // Rows of which elements are listed, and how many each has.
    static std::size_t bytes_of_list(index_t rows) {
        return on_host ? 0 : 2 * arena::rounded(static_cast<std::size_t>(rows) * sizeof(std::int32_t));
    }
    // Lists what is estimated to be large in `rows` rows from row `from` of A B on.
    template <class... Places>
    status list_on_device(index_t from, index_t rows, R least, arena& memory, int sketches,
                          handle<R> const& tables, int bits, Places const&... places) {
        typename arena::scope const scope(memory);
        auto const leaf = base_.leaf();
        auto const counts = memory.template take<std::int32_t>(rows),
                   which = memory.template take<std::int32_t>(rows);
        if (status s = leaf.launch(medians_kernel<R>("count_large", sketches, {}), rows, tables, bits,
                                   places..., rows, b_.cols, least, counts);
            !s)
            return s;
        footprint room;
        room.host = 2 * bytes_of_list(rows);
        auto here = reserve_host(room, "heavy");
        if (!here) return here.take_status();
        auto* const begins = here->template take<std::int32_t>(rows);
        auto* const listed = here->template take<std::int32_t>(rows);
        if (status s = leaf.download(counts, begins, rows); !s) return s;
        index_t all = 0, some = 0;
        for (index_t i = 0; i < rows; ++i) {
            std::int32_t const count = begins[i];
            if (count == 0) continue;
            listed[some] = static_cast<std::int32_t>(i), begins[some++] = static_cast<std::int32_t>(all);
            all += count;
            if (all > INT32_MAX) return wrong("too many elements reach the threshold: raise it");
        }
        if (all == 0) return {};
        if (status s = leaf.upload(listed, which, some); !s) return s;
        if (status s = leaf.upload(begins, counts, some); !s) return s;
        return keep_listed(all, [&](auto const& to_rows, auto const& to_cols) {
            return leaf.launch(medians_kernel<R>("list_large", sketches, {}), some, tables, bits, places...,
                               rows, b_.cols, least, which, counts, static_cast<int>(from), to_rows, to_cols);
        });
    }
    // list(rows, columns) lists `count` elements; those that reach the threshold are kept.
    template <class List>
    status keep_listed(index_t count, List const& list) {
        auto const numbers = [&](std::size_t size) {
            return arena::rounded(static_cast<std::size_t>(count) * size);
        };
        footprint room, copies;
        space::share(room) = copies.host = 2 * numbers(sizeof(std::int32_t)) + numbers(2 * sizeof(R));
        auto there = base_.reserve(room);
        if (!there) return there.take_status();
        auto here = reserve_host(copies, "heavy");
        if (!here) return here.take_status();
        auto const rows = there->template take<std::int32_t>(count),
                   cols = there->template take<std::int32_t>(count);
        auto const sums = there->template take<R>(2 * count);
        auto const leaf = base_.leaf();
        if (status s = list(rows, cols); !s) return s;
        A a = a_;
        B b = b_;
        a.scale = b.scale = R(1);
        if (status s = leaf.launch(exact_elements_kernel<R>(), count, a, b, a_.cols, rows, cols, sums); !s)
            return s;
        auto* const i = here->template take<std::int32_t>(count);
        auto* const j = here->template take<std::int32_t>(count);
        auto* const x = here->template take<R>(2 * count);
        if (status s = leaf.download(rows, i, count); !s) return s;
        if (status s = leaf.download(cols, j, count); !s) return s;
        if (status s = leaf.download(sums, x, 2 * count); !s) return s;
        for (index_t at = 0; at < count; ++at)
            keep_sum(0, i[at], j[at], static_cast<double>(x[2 * at]) + static_cast<double>(x[2 * at + 1]));
        return {};
    }
    // Lists an element if it reaches the threshold.
    void keep(int part, index_t i, index_t j) { keep_sum(part, i, j, dots_.at(part, i, j)); }
    void keep_sum(int part, index_t i, index_t j, double sum) {
        if (!(__builtin_fabs(sum) >= threshold_)) return;
        auto const value =
            static_cast<R>(sum * static_cast<double>(a_.scale) * static_cast<double>(b_.scale));
        element const one{static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value};
        if (!found_[part].append(one)) is_full_[part] = true;
    }
    result<matrix> gathered() const {
        index_t count = 0;
        for (auto const& some : found_) count += static_cast<index_t>(some.size());
        std::size_t const bytes = 2 * arena::rounded(static_cast<std::size_t>(count) * sizeof(std::int32_t)) +
                                  arena::rounded(static_cast<std::size_t>(count) * sizeof(R));
        auto memory = reserve_for(base_, bytes);
        if (!memory) return memory.take_status();
        auto const rows = (*memory)->template take<std::int32_t>(count);
        auto const cols = (*memory)->template take<std::int32_t>(count);
        auto const values = (*memory)->template take<R>(count);
        if constexpr (on_host) {
            write(rows, cols, values);
        } else {
            footprint room;
            room.host = bytes;
            auto here = reserve_host(room, "heavy");
            if (!here) return here.take_status();
            auto* const i = here->template take<std::int32_t>(count);
            auto* const j = here->template take<std::int32_t>(count);
            auto* const x = here->template take<R>(count);
            write(i, j, x);
            auto const leaf = base_.leaf();
            if (status s = leaf.upload(i, rows, count); !s) return s;
            if (status s = leaf.upload(j, cols, count); !s) return s;
            if (status s = leaf.upload(x, values, count); !s) return s;
        }
        return matrix(std::move(*memory), list_of_all{a_.rows, b_.cols, rows, cols, values, count});
    }
    void write(std::int32_t* rows, std::int32_t* cols, R* values) const {
        index_t at = 0;
        for (auto const& some : found_)
            for (element const& one : some) rows[at] = one.row, cols[at] = one.col, values[at++] = one.value;
    }

    Base const& base_;
    compressed_options const& options_;
    A a_;
    B b_;
    work<Base, R, A, B> work_;
    std::conditional_t<on_host, exact_dots<A, B>, no_dots> dots_;
    double threshold_ = 0, norms_ = 0;
    list<element> found_[parts];
    bool is_full_[parts] = {}; // no memory was left for another element
};

} // namespace compressed_parts

STRATAGEMM_END
