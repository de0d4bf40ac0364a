// How the factors of a matrix are found: A = Q B, where Q has orthonormal columns that span the range of A, and B = Q^H
// A.
//
// Blocks of columns A S^T of random sketches S are made orthogonal to the columns there are, twice, and to one another
// by Cholesky's factors of their Gram matrix, three times (Halko, Martinsson, Tropp: Finding structure with randomness,
// 2011; Martinsson, Voronin: A randomized blocked algorithm, 2016). The sketch does not know Q, so that the part of A
// S^T that is orthogonal to Q says how large the rest of A is. Where that may be small enough, fresh random vectors
// certify it, summed in double (core/certificate.hpp). Each look for a certificate has its share of the probability to
// err.
//
// On a device, blocks are larger, factors of Gram matrices stay there (device.hpp), and the pivots of a block tell how
// many of its columns are taken. The product with the inverse factor is one of doubles: the columns it gives are
// orthogonal up to what rounding did to the Gram matrix, relative to the least pivot. The first block, which no columns
// have to be taken from, needs one pass where the pivots say that this is little. Other blocks have two, and a third one
// if the second finds columns far from orthogonal.
#pragma once

#include "../../core/certificate.hpp"
#include "../../core/keep.hpp"
#include "../factored.hpp"
#include "../sketch.hpp"
#include "device.hpp"
#include "options.hpp"
#include "small.hpp"
#include "widened.hpp"

STRATAGEMM_BEGIN

// A: the matrix, any operand that P multiplies. W: numbers that Gram matrices and certificates are summed in.
template <policy P, class A, class W>
class range_finder {
    using T = typename A::value_type;
    using space = typename P::space;
    using arena = typename P::arena;
    template <class X>
    using handle = typename space::template handle<X>;
    static constexpr bool on_host = host_leaf<leaf_of<P>>;
    // Columns that are found beside those that are asked for, so that these are nearly the best.
    static constexpr index_t spare = 8;
    static constexpr int probes = 16;
    static constexpr double every_pivot = -1; // what no pivot is small enough for

public:
    range_finder(P const& policy, A const& a, low_rank_options const& options)
        : policy_(policy), a_(a), options_(options) {
        index_t const sides = smaller(a.rows, a.cols);
        double const m = static_cast<double>(a.rows), n = static_cast<double>(a.cols);
        most_ =
            options.rank > 0 ? smaller(options.rank + spare, sides) : static_cast<index_t>(m * n / (m + n));
        most_ = larger_of(most_, index_t{1});
        // A device takes many columns at once, and all that are asked for, since a block costs a wait of the host.
        if constexpr (on_host)
            block_ = smaller(most_, larger_of(index_t{8}, smaller(index_t{64}, sides / 32)));
        else
            block_ = options.tolerance == 0 ? most_ : smaller(most_, larger_of(index_t{8}, sides / 8));
    }

    // The factors, once find() has succeeded: Q, then B, in memory that copies share.
    shared<arena> const& memory() const { return found_.memory; }
    view<T const, space> q() const { return columns(0, found_.rank); }
    view<T const, space> b() const { return lines(0, found_.rank); }
    double certified_error() const { return found_.bound; } // of |A|, with the confidence that was asked for
    double estimated_error() const { return found_.error; }

    status find() {
        if (status s = reserve(); !s) return s;
        if constexpr (on_host) {
            if (status s = search(); !s) return s;
        } else {
            if (status s = search_by_pivots(); !s) return s;
        }
        if (found_.rank == found_.room) return {};
        return move_to(found_.rank, [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
            if (status s = policy_.leaf().copy(q(), to_q); !s) return s;
            return policy_.leaf().copy(b(), to_b);
        });
    }

private:
    status search() {
        for (int look = 1; found_.rank < most_; ++look) {
            index_t const count = smaller(block_, most_ - found_.rank);
            double rest = 0;
            if (status s = sketch_rest(count, rest); !s) return s;
            if (!__builtin_isfinite(rest)) return refuse("A has Inf or NaN, or its squares overflow");
            if (rest == 0) break;
            looks_ = look;
            if (options_.tolerance > 0 && rest * certified_factor(look) <= options_.tolerance * norm()) {
                if (status s = certify(look); !s) return s;
                if (found_.bound <= options_.tolerance) return shorten(look + 1);
            }
            index_t added = 0;
            if (status s = add_block(count, added); !s) return s;
            if (added == 0) break; // nothing is left of A
        }
        return finish();
    }
    // The same on a device. Pivots of a block say how many of its columns the tolerance takes.
    status search_by_pivots() {
        while (found_.rank < most_) {
            index_t const count = smaller(block_, most_ - found_.rank);
            double rest = 0;
            if (status s = sketch_rest(count, rest); !s) return s;
            if (!__builtin_isfinite(rest)) return refuse("A has Inf or NaN, or its squares overflow");
            if (rest == 0) break;
            if (options_.tolerance > 0 &&
                rest * certified_factor(looks_ + 1) <= options_.tolerance * norm()) {
                if (status s = certify(++looks_); !s) return s;
                if (found_.bound <= options_.tolerance) return {};
            }
            index_t const needed = columns_needed(count, rest);
            index_t added = needed;
            if (status s = add_block(count, added); !s) return s;
            if (added == 0) break;
            if (added < needed || needed == count) continue;
            if (status s = certify(++looks_); !s) return s;
            if (found_.bound <= options_.tolerance) return {};
        }
        return finish();
    }
    // Column j of the block has what the columns before it leave of A, times a random vector. The geometric mean of
    // some columns says what is left in their middle, where that falls steadily; elsewhere those behind it do.
    index_t columns_needed(index_t count, double rest) const {
        if (options_.tolerance == 0) return count;
        double const allowed = aim(), most = allowed * allowed * (captured_ + rest * rest);
        auto const left = [&](index_t l) { return pivot(count, l) * static_cast<double>(count); };
        index_t const half = probes / 2;
        double const limit = __builtin_log(most) * probes;
        double logarithms[probes]{}, sum = 0; // of the last columns: the device waits for these
        for (index_t l = 0; l < count; ++l) {
            double& last = logarithms[l % probes];
            sum -= last;
            last = __builtin_log(left(l) > 1e-300 ? left(l) : 1e-300);
            sum += last;
            if (l + 1 < probes || sum > limit) continue;
            double behind = 0;
            for (index_t j = l + 1 - half; j <= l; ++j) behind += left(j) / static_cast<double>(half);
            if (behind <= most) return l + 1 - half;
        }
        return count;
    }
    // What is to be left of A, relative to it. An estimate from some columns is that certain: a certificate that fails
    // by little costs another block.
    double aim() const { return 0.7 * options_.tolerance / certified_factor(looks_ + 1); }
    double pivot(index_t count, index_t j) const { return levels_[static_cast<std::size_t>(count + j)]; }
    static status no_memory() { return failure(errc::memory, "low_rank", "no host memory is left"); }
    static status refuse(char const* why) { return failure(errc::argument, "low_rank", why); }
    // At most |A|: the part that Q B has.
    double norm() const { return __builtin_sqrt(captured_) * (1 - 1e-4); }
    // Look t has the probability (1 - confidence) / t (t + 1) to err. These add up to that of all.
    double certified_factor(int look) const {
        double const share = (1 - options_.confidence) / (static_cast<double>(look) * (look + 1.0));
        return certified(probes * (complex_like<T> ? 2 : 1), 1 - share);
    }
    // What rounding makes of sums of so many squares.
    static double noise_of(index_t terms) { return 4 * unit_roundoff<W>() * static_cast<double>(terms); }
    std::uint64_t seed(int use) const {
        return options_.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(use);
    }

    view<T, space> columns(index_t from, index_t count) const {
        return {found_.q + from * a_.rows, a_.rows, count, 1, a_.rows};
    }
    view<T, space> lines(index_t from, index_t count) const {
        return {found_.b + from * a_.cols, count, a_.cols, a_.cols, 1};
    }
    template <class X>
    static std::size_t bytes(index_t count) {
        return arena::rounded(static_cast<std::size_t>(count) * sizeof(X));
    }
    template <class X>
    view<X, space> take(index_t rows, index_t cols) {
        return {work_.template take<X>(rows * cols), rows, cols, 1, rows};
    }
    // The same memory for a smaller matrix, columns one after another.
    template <class X>
    static view<X, space> reshaped(view<X, space> const& x, index_t rows, index_t cols) {
        return {x.data, rows, cols, 1, rows};
    }
    status reserve();
    status make_room(index_t count);
    template <class F>
    status move_to(index_t count, F const& f);
    // Numbers that are fetched together: the diagonal of a Gram matrix and pivots, sums of squares of a certificate and
    // of lines of B.
    index_t count_of_levels() const { return 2 * (largest_gram() + low_rank_device::sums); }
    std::size_t bytes_to_decide_here(index_t wide, index_t longest) const;
    // On a device: factors of blocks, and of all columns if some are left out in the end.
    index_t largest_gram() const { return options_.rank > 0 ? most_ : block_; }
    std::size_t bytes_to_decide(index_t wide, index_t longest) const;
    status fetch_levels() {
        if (status s = policy_.leaf().download(levels_there_, levels_.data(), count_of_levels()); !s)
            return s;
        if (is_capturing_) captured_ += sum_of_levels(1);
        is_capturing_ = false;
        return {};
    }
    handle<double> place_of_sums(int which) const {
        return levels_there_ + (2 * largest_gram() + which * low_rank_device::sums);
    }
    double sum_of_levels(int which) const {
        double sum = 0;
        for (index_t i = 0; i < low_rank_device::sums; ++i)
            sum += levels_[static_cast<std::size_t>(2 * largest_gram() + which * low_rank_device::sums + i)];
        return sum;
    }
    status factor_there(view<W, space> const& g, double enough);
    status factor_gram(view<T const, space> const& y, double enough);
    // Pivots that columns_needed() certainly stops at. Columns of a sketch have nearly the same norm.
    double enough_of_block() const {
        return found_.rank == 0 && options_.tolerance > 0 ? 0.25 * aim() * aim() : every_pivot;
    }

    status sketch_rest(index_t count, double& rest);
    // Whether P multiplies a matrix by S^T itself; else S is written out.
    template <class S>
    static constexpr bool takes_sketch = [] {
        using Q = problem<view<T const, space>, S, view<T, space>>;
        return takes<performer<P, Q>, Q>;
    }();
    template <class S>
    static constexpr bool takes_drawn = [] {
        using Q = problem<S, view<T const, space>, view<T, space>>;
        return takes<performer<P, Q>, Q>;
    }();
    // Of A S^T, for a choice that no number of threads changes.
    template <class S>
    double estimate_of(S const& s) const {
        auto const turned = s.transposed();
        using Q = problem<view<T const, space>, std::remove_const_t<decltype(turned)>, view<T, space>>;
        shape<T, typename S::form, T> one{a_.rows, s.rows, a_.cols};
        if constexpr (requires { turned.facts(); }) one.b_facts = turned.facts();
        return performer<P, Q>(policy_).estimate(to_choose_by(one));
    }
    low_rank_sketch chosen(index_t count) const;
    status sketch(index_t count, view<T, space> const& y);
    template <class S>
    status sketch_by(S const& s, view<T, space> const& y);
    template <class S>
    status write_out(S const& s, view<T, space>& to);
    template <class X>
    status draw(gaussian_sketch<X> const& s, view<X, space>& to);
    static bool make_unit(index_t n, small_matrix<W>& to) {
        to = small_matrix<W>(n, n);
        for (index_t i = 0; to && i < n; ++i) to(i, i) = W(1);
        return static_cast<bool>(to);
    }
    std::size_t bytes_to_draw() const {
        return bytes<T>(a_.cols * block_) + bytes<T>(block_ * block_) + bytes<W>(block_ * block_);
    }
    std::size_t bytes_to_widen() const {
        if constexpr (is_view<A>::value || std::is_same_v<T, W>)
            return 0;
        else
            return widened_operand<A, W>::template bytes<arena, leaf_of<P>>(a_);
    }
    status remove_known(view<T, space> const& y);
    status gram(view<T const, space> const& y, small_matrix<W>& g);
    status gram_wide(view<W, space> const& y, small_matrix<W>& g);
    status fetch(view<W, space> const& from, small_matrix<W>& to) const;
    status send_wide(small_matrix<W> const& from, view<W, space> const& to) const;
    status send(small_matrix<W> const& from, view<T, space>& to);
    status orthonormalize(view<T, space>& y, view<T, space>& other, index_t& count);
    status orthonormalize_there(index_t from, index_t& count);
    double drop_small(index_t from, double noise, index_t& count) const;
    bool is_orthonormal(int pass, double least) const;
    status add_block(index_t count, index_t& added);
    status capture(view<T, space> const& b);

    status finish() {
        leaf_of<P> const leaf = policy_.leaf();
        if (found_.rank == 0) { // A is zero
            if (status s = make_room(1); !s) return s;
            found_.rank = 1;
            if (status s = leaf.fill(columns(0, 1), T(0)); !s) return s;
            return leaf.fill(lines(0, 1), T(0));
        }
        if (options_.rank > 0 && found_.rank > options_.rank)
            if (status s = keep_leading(options_.rank); !s) return s;
        if (status s = certify(looks_ + 1); !s) return s;
        if (options_.tolerance == 0 || found_.bound <= options_.tolerance) return {};
        char text[240];
        __builtin_snprintf(
            text, sizeof(text),
            "a rank of %td leaves up to %.3g of the norm of A, with a confidence of %g, and the tolerance is "
            "%.3g%s",
            found_.rank, found_.bound, options_.confidence, options_.tolerance,
            options_.rank > 0 ? "" : "; factors of a higher rank have more elements than A");
        return failure(errc::argument, "low_rank", text);
    }
    status shorten(int look);
    status keep_leading(index_t count);
    status leave_out_least(index_t count);
    status turn_away_from(small_matrix<W> vectors);
    status turn_to(small_matrix<W> const& x);

    status times_wide(view<T const, space> const& x, view<W const, space> const& y, view<W, space> const& z,
                      W alpha, W beta);
    status matrix_times(view<W const, space> const& y, view<W, space> const& z);
    status squares_of_rest(view<W const, space> const& x, view<W const, space> const& y, double& squares);
    status certify(int look);

    P const& policy_;
    A a_;
    low_rank_options options_;
    struct factors {
        shared<arena> memory;
        handle<T> q{}, b{};
        index_t rank = 0, room = 0; // columns, and columns that there is memory for
        double error = 0, bound = 0;
    };
    factors found_;
    arena work_;
    view<T, space> block_of_y_, along_;
    view<T, space> other_y_;        // on the host
    small_matrix<W> gram_;          // likewise
    view<W, space> wide_y_;         // on a device: the block, in the numbers of its Gram matrix
    handle<W> inverse_{};           // likewise: of the last factor
    handle<double> levels_there_{}; // likewise
    list<double> levels_;           // as they were fetched
    bool is_capturing_ = false;     // sums of squares of B are there and not in captured_
    index_t most_ = 0, block_ = 0, lines_of_panel_ = 1;
    int sketches_ = 0, looks_ = 0;
    double captured_ = 0;
};

STRATAGEMM_END

#include "range_block.hpp"
#include "range_certify.hpp"
#include "range_memory.hpp"
#include "range_shorten.hpp"
#include "range_sketch.hpp"
