// The elements of a product whose magnitude reaches a threshold t, without the product.
//
// The sketches are so large that all estimates are within t / 4, with the confidence; they are looked at one after
// another, which takes d reads of small tables for each element of C, but no memory for it. What is estimated at 3/4
// t or more is computed, as a dot product in double, and listed if it reaches t. So nothing else is listed, and
// nothing is missed unless an estimate is worse. With Z elements that are not zero, or Z = 16 |A B|^2 / t^2, the
// buckets are those of a product (choice.hpp). If that is more work than the exact product, the call is refused, or
// the exact product is looked at, a few rows at a time.
#pragma once

#include "../../core/keep.hpp"
#include "../../core/list.hpp"
#include "../../structure/coo.hpp"
#include "work.hpp"

STRATAGEMM_BEGIN

namespace compressed_parts {

template <class Base, class R>
class heavy_elements {
    using arena = typename Base::arena;
    using matrix = owned<coo<R>, Base>;
    struct element {
        std::int32_t row, col;
        R value;
    };
    static constexpr int parts = 64; // of the rows, each with a list

public:
    heavy_elements(Base const& base, compressed_options const& options, view<R const> const& a,
                   view<R const> const& b)
        : base_(base), options_(options), a_(a), b_(b), work_(base, options, a, b) {}

    result<matrix> elements(double threshold) {
        if (status s = check(threshold); !s) return s;
        if (a_.rows == 0 || b_.cols == 0 || a_.cols == 0) return gathered();
        threshold_ =
            threshold / __builtin_fabs(static_cast<double>(a_.scale) * static_cast<double>(b_.scale));
        if (!is_finite(threshold_)) return gathered(); // a factor is zero, or nearly
        plan made;
        if (status s = choose(made); !s) return s;
        double const exact = base_.estimate(to_choose_by(shape<R>{a_.rows, b_.cols, a_.cols}));
        bool const pays = made.size.sketches > 0 && made.seconds < exact &&
                          norms_ * made.rounding / sides() < threshold_ / 4;
        if (!pays && options_.otherwise == otherwise::refuse)
            return wrong("the exact product is less work than sketches for this threshold: raise it, give "
                         "`nonzeros`, or "
                         "set otherwise::exact");
        if (status s = pays ? look_at_sketches(made.size) : look_at_product(); !s) return s;
        for (bool const is_full : is_full_)
            if (is_full) return no_memory();
        return gathered();
    }

private:
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
        return {};
    }
    // Sets norms_ to |A||B|.
    status measure(arena& memory) {
        typename arena::scope const scope(memory);
        double* const squares = memory.template take<double>(a_.cols);
        double all[2] = {};
        for (int side = 0; side < 2; ++side) {
            auto const x = side == 0 ? a_.transposed() : b_;
            if (status s = approximate_parts::squares_of_rows(base_.leaf(), x, squares, memory); !s) return s;
            for (index_t l = 0; l < a_.cols; ++l) all[side] += squares[l];
        }
        norms_ = __builtin_sqrt(all[0]) * __builtin_sqrt(all[1]);
        if (!is_finite(norms_) || !(4 * sides() * norms_ < largest_number<R>()))
            return wrong("A or B has Inf or NaN, or products may overflow");
        return {};
    }
    status choose(plan& made) {
        using approximate_parts::bytes_for_squares;
        footprint room = work_.room_of_norm();
        room.host += larger(bytes_for_squares<arena, R>(host_memory{}, a_.cols, a_.rows),
                            bytes_for_squares<arena, R>(host_memory{}, a_.cols, b_.cols)) +
                     arena::rounded(static_cast<std::size_t>(a_.cols) * sizeof(double));
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        if (status s = measure(*memory); !s) return s;
        double bad = static_cast<double>(options_.nonzeros), fails = 1 - options_.confidence;
        if (options_.nonzeros == 0) {
            double norm = 0;
            fails /= 2;
            if (status s = work_.norm_of_product(fails, norm, *memory); !s) return s;
            bad = 16 * (norm / threshold_) * (norm / threshold_);
        }
        made = plan_for<R>(static_cast<double>(a_.rows), static_cast<double>(b_.cols),
                           static_cast<double>(a_.cols), bad, fails, options_.form);
        return {};
    }

    status look_at_sketches(sketch_size size) {
        footprint room;
        room.host = work_.bytes(size);
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        auto const least = static_cast<R>(0.75 * threshold_);
        return work_.each(size, R(1), *memory, parts,
                          [&](int part, index_t i, index_t j, index_t count, R const* x) {
                              for (index_t l = 0; l < count; ++l)
                                  if (x[l] >= least || x[l] <= -least) keep(part, i, j + l);
                          });
    }
    // 64 rows of the product at a time.
    status look_at_product() {
        index_t const rows = smaller(a_.rows, 64), n = b_.cols;
        footprint room = base_.workspace(shape<R>{rows, n, a_.cols});
        if (a_.rows % rows > 0) room = larger(room, base_.workspace(shape<R>{a_.rows % rows, n, a_.cols}));
        room.host += arena::rounded(static_cast<std::size_t>(rows * n) * sizeof(R));
        auto memory = base_.reserve(room);
        if (!memory) return memory.take_status();
        R* const c = memory->template take<R>(rows * n);
        for (index_t i = 0; i < a_.rows; i += rows) {
            index_t const some = smaller(rows, a_.rows - i);
            view<R> const to{c, some, n, n, 1};
            if (status s = base_(dense_problem<R, R, R>{R(1), a_.part(i, 0, some, a_.cols), b_, R(0), to, to},
                                 *memory);
                !s)
                return s;
            for (index_t at = 0; at < some * n; ++at)
                if (__builtin_fabs(static_cast<double>(c[at])) >= 0.75 * threshold_)
                    keep(0, i + at / n, at % n);
        }
        return {};
    }
    // Lists an element if it reaches the threshold.
    void keep(int part, index_t i, index_t j) {
        double sum = 0;
        for (index_t l = 0; l < a_.cols; ++l)
            sum += static_cast<double>(a_(i, l)) * static_cast<double>(b_(l, j));
        if (!(__builtin_fabs(sum) >= threshold_)) return;
        auto const value =
            static_cast<R>(sum * static_cast<double>(a_.scale) * static_cast<double>(b_.scale));
        element const one{static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value};
        if (!found_[part].append(one)) is_full_[part] = true;
    }
    result<matrix> gathered() const {
        index_t count = 0;
        for (auto const& some : found_) count += static_cast<index_t>(some.size());
        auto memory =
            reserve_for(base_, 2 * arena::rounded(static_cast<std::size_t>(count) * sizeof(std::int32_t)) +
                                   arena::rounded(static_cast<std::size_t>(count) * sizeof(R)));
        if (!memory) return memory.take_status();
        auto* const rows = (*memory)->template take<std::int32_t>(count);
        auto* const cols = (*memory)->template take<std::int32_t>(count);
        auto* const values = (*memory)->template take<R>(count);
        index_t at = 0;
        for (auto const& some : found_)
            for (element const& one : some) rows[at] = one.row, cols[at] = one.col, values[at++] = one.value;
        return matrix(std::move(*memory), coo<R>{a_.rows, b_.cols, rows, cols, values, count});
    }

    Base const& base_;
    compressed_options const& options_;
    view<R const> a_, b_;
    work<Base, R> work_;
    double threshold_ = 0, norms_ = 0;
    list<element> found_[parts];
    bool is_full_[parts] = {}; // no memory was left for another element
};

} // namespace compressed_parts

STRATAGEMM_END
