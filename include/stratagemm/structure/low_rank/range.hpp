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
#include "small.hpp"
#include "widened.hpp"

STRATAGEMM_BEGIN

// The random matrices of low_rank. fastest: gaussian or srht, by their estimates; signs: sparse_sign with eight of them
// in a column.
enum class low_rank_sketch { fastest, gaussian, signs, srht, srct };

struct low_rank_options {
    double tolerance = 0;      // of |A - U V| / |A|, in the Frobenius norm; 0: `rank` alone decides
    index_t rank = 0;          // at most so many columns; 0: `tolerance` alone decides
    double confidence = 0.999; // that the certified error is an upper bound
    std::uint64_t seed = 0;    // of the random matrices
    low_rank_sketch sketch = low_rank_sketch::fastest;
};

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
        index_t const half = probes / 2;
        for (index_t j = half; j + half <= count; ++j) {
            double logarithms = 0, behind = 0;
            for (index_t l = j - half; l < j + half; ++l) {
                double const left = pivot(count, l) * static_cast<double>(count);
                logarithms += __builtin_log(left > 0 ? left : 0) / probes;
                if (l >= j) behind += left / static_cast<double>(half);
            }
            if (behind <= most && logarithms <= __builtin_log(most)) return j;
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
    status reserve() {
        auto made = reserve_for(policy_, bytes<T>(a_.rows * most_) + bytes<T>(most_ * a_.cols));
        if (!made) return made.take_status();
        found_.memory = std::move(*made);
        found_.q = found_.memory->template take<T>(a_.rows * most_),
        found_.b = found_.memory->template take<T>(most_ * a_.cols);
        found_.room = most_;
        index_t const longest = larger_of(a_.rows, a_.cols);
        lines_of_panel_ = larger_of(index_t{1}, smaller(longest, (1 << 19) / longest));
        footprint room;
        index_t const wide = larger_of(block_, index_t{probes});
        space::share(room) = bytes<T>(a_.rows * block_) + bytes<T>(most_ * block_) + bytes_to_draw() +
                             bytes_to_widen() +
                             (on_host ? bytes_to_decide_here(wide, longest) : bytes_to_decide(wide, longest));
        auto work = policy_.reserve(room);
        if (!work) return work.take_status();
        work_ = std::move(*work);
        block_of_y_ = take<T>(a_.rows, block_), along_ = take<T>(most_, block_);
        if constexpr (on_host) {
            other_y_ = take<T>(a_.rows, block_);
        } else {
            wide_y_ = take<W>(a_.rows, block_);
            inverse_ = work_.template take<W>(largest_gram() * largest_gram());
            levels_there_ = work_.template take<double>(count_of_levels());
            if (!levels_.resize(static_cast<std::size_t>(count_of_levels()))) return no_memory();
        }
        return {};
    }
    // Numbers that are fetched together: the diagonal of a Gram matrix and pivots, sums of squares of a certificate and
    // of lines of B.
    index_t count_of_levels() const { return 2 * (most_ + low_rank_device::sums); }
    std::size_t bytes_to_decide_here(index_t wide, index_t longest) const {
        return bytes<T>(a_.rows * block_) + 4 * bytes<W>(most_ * larger_of(most_, wide)) +
               2 * bytes<W>(longest * wide) + bytes<W>(lines_of_panel_ * (longest + probes));
    }
    // On a device: factors of blocks, and of all columns if some are left out in the end.
    index_t largest_gram() const { return options_.rank > 0 ? most_ : block_; }
    std::size_t bytes_to_decide(index_t wide, index_t longest) const {
        std::size_t const to_leave_out =
            options_.rank > 0 ? bytes<W>(a_.cols * most_) + bytes<T>(spare * (a_.rows + a_.cols)) : 0;
        return 3 * bytes<W>(longest * wide) + 3 * bytes<W>(largest_gram() * largest_gram()) +
               4 * bytes<W>(most_ * wide) + bytes<W>(low_rank_device::room_of_chunks(longest)) +
               bytes<double>(count_of_levels()) + to_leave_out;
    }
    status fetch_levels() {
        if (status s = policy_.leaf().download(levels_there_, levels_.data(), count_of_levels()); !s)
            return s;
        if (is_capturing_) captured_ += sum_of_levels(1);
        is_capturing_ = false;
        return {};
    }
    handle<double> place_of_sums(int which) const {
        return levels_there_ + (2 * most_ + which * low_rank_device::sums);
    }
    double sum_of_levels(int which) const {
        double sum = 0;
        for (index_t i = 0; i < low_rank_device::sums; ++i)
            sum += levels_[static_cast<std::size_t>(2 * most_ + which * low_rank_device::sums + i)];
        return sum;
    }
    // The inverse of the factor of the Gram matrix G, which is overwritten; and its pivots, up to some that are all at
    // most `enough` of the squares of their columns.
    status factor_there(view<W, space> const& g, double enough) {
        typename arena::scope const scope(work_);
        view<W, space> const x{inverse_, g.rows, g.rows, 1, g.rows};
        return low_rank_device::factor(policy_.leaf(), g, take<W>(g.rows, g.rows), x, levels_there_,
                                       noise_of(a_.rows), enough);
    }
    // Leaves Y in doubles, too.
    status factor_gram(view<T const, space> const& y, double enough) {
        typename arena::scope const scope(work_);
        auto const wide = reshaped(wide_y_, y.rows, y.cols), product = take<W>(y.cols, y.cols);
        if (status s = policy_.leaf().copy(y, wide); !s) return s;
        if (status s = try_gemm(policy_, transposed(conjugated(wide)), wide, product); !s) return s;
        if (status s = factor_there(product, enough); !s) return s;
        return fetch_levels();
    }
    // Pivots that columns_needed() certainly stops at. Columns of a sketch have nearly the same norm.
    double enough_of_block() const {
        return found_.rank == 0 && options_.tolerance > 0 ? 0.25 * aim() * aim() : every_pivot;
    }

    // Y = the part of A S^T that is orthogonal to Q. `rest` is an estimate of |A - Q B|.
    status sketch_rest(index_t count, double& rest) {
        auto const y = reshaped(block_of_y_, a_.rows, count);
        if (status done = sketch(count, y); !done) return done;
        if (status done = remove_known(y); !done) return done;
        if (status done = remove_known(y); !done) return done;
        rest = 0;
        if constexpr (on_host) {
            if (status done = gram(y, gram_); !done) return done;
            for (index_t i = 0; i < count; ++i) rest += real_part(gram_(i, i));
        } else {
            if (status done = factor_gram(y, enough_of_block()); !done) return done;
            for (index_t i = 0; i < count; ++i) rest += levels_[static_cast<std::size_t>(i)];
        }
        rest = __builtin_sqrt(rest);
        return {};
    }
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
    low_rank_sketch chosen(index_t count) const {
        if constexpr (is_view<A>::value && takes_sketch<gaussian_sketch<T>> &&
                      takes_sketch<transformed_sketch<by_hadamard, T>>) {
            if (options_.sketch == low_rank_sketch::fastest &&
                estimate_of(srht<T>(count, a_.cols, 0)) < estimate_of(gaussian<T>(count, a_.cols, 0)))
                return low_rank_sketch::srht;
        }
        return options_.sketch;
    }
    // Y = A S^T
    status sketch(index_t count, view<T, space> const& y) {
        auto const number = seed(++sketches_);
        switch (chosen(count)) {
        case low_rank_sketch::signs:
            return sketch_by(sparse_sign<T>(count, a_.cols, number, smaller(count, 8)), y);
        case low_rank_sketch::srht: return sketch_by(srht<T>(count, a_.cols, number), y);
        case low_rank_sketch::srct: return sketch_by(srct<T>(count, a_.cols, number), y);
        default: return sketch_by(gaussian<T>(count, a_.cols, number), y);
        }
    }
    template <class S>
    status sketch_by(S const& s, view<T, space> const& y) {
        if constexpr (is_view<A>::value && takes_sketch<S>) {
            return try_gemm(policy_, a_, s.transposed(), y);
        } else {
            typename arena::scope const scope(work_);
            view<T, space> drawn;
            if (status done = write_out(s, drawn); !done) return done;
            return try_gemm(policy_, a_, drawn, y);
        }
    }
    // S^T
    template <class S>
    status write_out(S const& s, view<T, space>& to) {
        if constexpr (std::is_same_v<S, gaussian_sketch<T>>) {
            return draw(s, to);
        } else if constexpr (takes_drawn<S>) {
            small_matrix<W> one;
            if (!make_unit(s.rows, one)) return no_memory();
            to = take<T>(s.cols, s.rows);
            view<T, space> unit;
            if (status done = send(one, unit); !done) return done;
            return try_gemm(policy_, s.transposed(), unit, to);
        } else {
            return refuse("this policy has no products with this `sketch`; take low_rank_sketch::gaussian");
        }
    }
    // The transposed of a Gaussian sketch, whose factor the view has.
    template <class X>
    status draw(gaussian_sketch<X> const& s, view<X, space>& to) {
        view<X, space> const lines{work_.template take<X>(s.rows * s.cols), s.rows, s.cols, s.cols, 1};
        if constexpr (on_host) {
            write_normals(policy_.leaf(), s.seed, 0, 0, lines);
        } else {
            if (status done = write_normals_on_device(policy_.leaf(), s.seed, 0, 0, lines); !done)
                return done;
        }
        to = lines.transposed();
        to.scale = s.scale;
        return {};
    }
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
    // Y -= Q (Q^H Y)
    status remove_known(view<T, space> const& y) {
        if (found_.rank == 0) return {};
        using S = accumulator_t<T>;
        auto const along = reshaped(along_, found_.rank, y.cols);
        if (status s = try_gemm(policy_, transposed(conjugated(q())), y, along); !s) return s;
        return try_gemm(policy_, S(-1), q(), along, S(1), y);
    }
    // G = Y^H Y
    status gram(view<T const, space> const& y, small_matrix<W>& g) {
        typename arena::scope const scope(work_);
        auto const wide = take<W>(y.rows, y.cols);
        if (status s = policy_.leaf().copy(y, wide); !s) return s;
        return gram_wide(wide, g);
    }
    status gram_wide(view<W, space> const& y, small_matrix<W>& g) {
        typename arena::scope const scope(work_);
        auto const product = take<W>(y.cols, y.cols);
        if (status s = try_gemm(policy_, transposed(conjugated(y)), y, product); !s) return s;
        return fetch(product, g);
    }
    status fetch(view<W, space> const& from, small_matrix<W>& to) const {
        to = small_matrix<W>(from.rows, from.cols);
        if (!to) return no_memory();
        if constexpr (on_host) {
            for (index_t i = 0; i < from.rows * from.cols; ++i) to.data()[i] = from.data[i];
            return {};
        } else {
            return policy_.leaf().download(from.data, to.data(), from.rows * from.cols);
        }
    }
    status send_wide(small_matrix<W> const& from, view<W, space> const& to) const {
        if constexpr (on_host) {
            for (index_t i = 0; i < from.rows() * from.cols(); ++i) to.data[i] = from.data()[i];
            return {};
        } else {
            return policy_.leaf().upload(from.data(), to.data, from.rows() * from.cols());
        }
    }
    // The same in the type of A, in workspace.
    status send(small_matrix<W> const& from, view<T, space>& to) {
        auto const there = take<W>(from.rows(), from.cols());
        to = take<T>(from.rows(), from.cols());
        if (status s = send_wide(from, there); !s) return s;
        return policy_.leaf().copy(view<W const, space>(there), to);
    }
    // Replaces Y, whose Gram matrix is known, by orthonormal columns of the same span: `count` of them.
    status orthonormalize(view<T, space>& y, view<T, space>& other, index_t& count) {
        // What the Gram matrix cannot tell from rounding is dropped, and in the end columns that were made of it.
        double const noise = noise_of(y.rows);
        for (int pass = 0; pass < 3; ++pass) {
            typename arena::scope const scope(work_);
            if (pass > 0) {
                if (status s = remove_known(y); !s) return s;
                if (status s = gram(y, gram_); !s) return s;
            }
            pivoted_factor<W> factor(gram_, pass == 0 ? noise : 0.01);
            count = factor.rank;
            if (factor.has_memory && count == 0) return {};
            auto const m = factor.orthonormalizer();
            if (!factor.has_memory || !m) return no_memory();
            view<T, space> there;
            if (status s = send(m, there); !s) return s;
            auto const next = reshaped(other, y.rows, count);
            if (status s = try_gemm(policy_, y, there, next); !s) return s;
            other = y, y = next;
        }
        return {};
    }
    // The same for the first `count` columns, behind those that are known, by inverse factors that stay on the device.
    // Columns from the first one on that is not larger than rounding are dropped.
    status orthonormalize_there(index_t from, index_t& count) {
        view<T, space> y = block_of_y_;
        for (int pass = 0;; ++pass) {
            typename arena::scope const scope(work_);
            if (pass > 0) {
                if (status s = remove_known(y); !s) return s;
                if (status s = factor_gram(y, every_pivot); !s) return s;
            }
            double const least = drop_small(from, pass == 0 ? noise_of(a_.rows) : 0.01, count);
            if (count == 0) return {};
            view<W const, space> const x{inverse_, count, count, 1, from};
            auto const next = take<W>(a_.rows, count);
            if (status s =
                    try_gemm(policy_, reshaped(wide_y_, a_.rows, count), transposed(conjugated(x)), next);
                !s)
                return s;
            y = columns(found_.rank, count), from = count;
            if (status s = policy_.leaf().copy(view<W const, space>(next), y); !s) return s;
            if (is_orthonormal(pass, least)) return {};
        }
    }
    // Of `from` columns, whose levels are here, the first `count` or fewer. Returns the least part of one that the
    // columns before it leave.
    double drop_small(index_t from, double noise, index_t& count) const {
        double least = 1;
        for (index_t j = 0; j < count; ++j) {
            double const part = pivot(from, j) / levels_[static_cast<std::size_t>(j)];
            if (!(part > noise))
                count = j;
            else if (part < least)
                least = part;
        }
        return least;
    }
    // Whether columns are, after a pass with this least part. Rounding of the Gram matrix is random.
    bool is_orthonormal(int pass, double least) const {
        if (pass == 0)
            return found_.rank == 0 &&
                   noise_of(1) * __builtin_sqrt(static_cast<double>(a_.rows)) < 0.01 * least;
        return pass == 2 || least > 0.5;
    }
    // Of `count` columns, the first `added` are wanted on a device; fewer may be found.
    status add_block(index_t count, index_t& added) {
        leaf_of<P> const leaf = policy_.leaf();
        if constexpr (on_host) {
            auto y = reshaped(block_of_y_, a_.rows, count), other = reshaped(other_y_, a_.rows, count);
            if (status s = orthonormalize(y, other, added); !s || added == 0) return s;
            if (status s = leaf.copy(view<T const, space>(y), columns(found_.rank, added)); !s) return s;
        } else {
            if (status s = orthonormalize_there(count, added); !s || added == 0) return s;
        }
        auto const b = lines(found_.rank, added);
        if (status s = try_gemm(policy_, transposed(conjugated(columns(found_.rank, added))), a_, b); !s)
            return s;
        found_.rank += added;
        return capture(b);
    }
    // Adds |B|^2 of some rows.
    status capture(view<T, space> const& b) {
        if constexpr (on_host) {
            small_matrix<W> squares;
            if (status s = gram(b.transposed(), squares); !s) return s;
            for (index_t i = 0; i < b.rows; ++i) captured_ += real_part(squares(i, i));
            return {};
        } else {
            if (is_capturing_)
                if (status s = fetch_levels(); !s) return s;
            is_capturing_ = true;
            return low_rank_device::add_squares<T>(policy_.leaf(), view<T const, space>(b), place_of_sums(1));
        }
    }

    status finish() {
        leaf_of<P> const leaf = policy_.leaf();
        if (found_.rank == 0) { // A is zero
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
    // Leaves out what the tolerance allows besides what is left out already, if that makes the factors smaller. They
    // stay as they are if the certificate of the smaller ones says too much.
    status shorten(int look) {
        double const allowed = 0.8 * options_.tolerance * norm() / certified_factor(look),
                     so_far = found_.error * norm(), budget = allowed * allowed - so_far * so_far;
        if (budget <= 0) return {};
        small_matrix<W> squares;
        if (status s = gram(transposed(conjugated(b())), squares); !s) return s;
        auto const x = spanning_vectors(squares, budget, noise_of(a_.cols));
        if (!x || x.cols() >= found_.rank) return {};
        auto const before = found_;
        if (status s = turn_to(x); !s) return s;
        if (status s = certify(look); !s) return s;
        if (found_.bound > options_.tolerance) found_ = before;
        return {};
    }
    // Q = Q X and B = X^H B for the vectors X that keep most of B.
    status keep_leading(index_t count) {
        if constexpr (!on_host) return leave_out_least(count);
        small_matrix<W> squares;
        if (status s = gram(transposed(conjugated(b())), squares); !s) return s;
        auto const x = leading_vectors<W>(std::move(squares), 0, count, noise_of(a_.cols)).vectors;
        if (!x)
            return failure(errc::memory, "low_rank", "the singular values of a small matrix were not found");
        return turn_to(x);
    }
    // The same on a device: X is orthogonal to vectors that B stretches least, which powers of the inverse of B B^H
    // turn random vectors to.
    status leave_out_least(index_t count) {
        typename arena::scope const scope(work_);
        index_t const all = found_.rank, out = all - count;
        auto const wide = take<W>(all, a_.cols), product = take<W>(all, all);
        if (status s = policy_.leaf().copy(view<T const, space>(b()), wide); !s) return s;
        if (status s = try_gemm(policy_, wide, transposed(conjugated(wide)), product); !s) return s;
        if (status s = factor_there(product, every_pivot); !s) return s;
        view<W const, space> const x{inverse_, all, all, 1, all};
        auto const least = take<W>(all, out), along = take<W>(all, out);
        view<W, space> random;
        if (status s = draw(gaussian<W>(out, all, seed(-looks_ - 1) ^ 1), random); !s) return s;
        if (status s = policy_.leaf().copy(view<W const, space>(random), least); !s) return s;
        if (is_capturing_)
            if (status s = fetch_levels(); !s) return s;
        W const unit(__builtin_sqrt(captured_)); // so that powers keep in range
        for (int pass = 0; pass < 3; ++pass) {
            if (status s = try_gemm(policy_, unit, x, least, W(0), along); !s) return s;
            if (status s = try_gemm(policy_, unit, transposed(conjugated(x)), along, W(0), least); !s)
                return s;
        }
        small_matrix<W> vectors;
        if (status s = fetch(least, vectors); !s) return s;
        make_orthonormal(vectors);
        return turn_away_from(std::move(vectors));
    }
    // Q = Q X and B = X^H B for an orthogonal complement X of some vectors.
    status turn_away_from(small_matrix<W> vectors) {
        using S = accumulator_t<T>;
        index_t const out = vectors.cols(), count = found_.rank - out;
        complement<W> const x(std::move(vectors));
        if (!x.v || !x.m) return no_memory();
        view<T, space> v, m;
        if (status s = send(x.v, v); !s) return s;
        if (status s = send(x.m, m); !s) return s;
        auto const along = take<T>(a_.rows, out), across = take<T>(out, a_.cols);
        return move_to(count, [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
            if (status s = policy_.leaf().copy(view<T const, space>(columns(out, count)), to_q); !s) return s;
            if (status s = policy_.leaf().copy(view<T const, space>(lines(out, count)), to_b); !s) return s;
            if (status s = try_gemm(policy_, q(), v, along); !s) return s;
            if (status s = try_gemm(policy_, S(-1), along, m, S(1), to_q); !s) return s;
            if (status s = try_gemm(policy_, transposed(conjugated(v)), b(), across); !s) return s;
            return try_gemm(policy_, S(-1), transposed(conjugated(m)), across, S(1), to_b);
        });
    }
    status turn_to(small_matrix<W> const& x) {
        typename arena::scope const scope(work_);
        view<T, space> vectors;
        if (status s = send(x, vectors); !s) return s;
        return move_to(x.cols(), [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
            if (status s = try_gemm(policy_, q(), vectors, to_q); !s) return s;
            return try_gemm(policy_, transposed(conjugated(vectors)), b(), to_b);
        });
    }
    // Factors of `count` columns in memory for so many; f(Q, B) sets them.
    template <class F>
    status move_to(index_t count, F const& f) {
        auto made = reserve_for(policy_, bytes<T>(a_.rows * count) + bytes<T>(count * a_.cols));
        if (!made) return made.take_status();
        auto const to_q = (*made)->template take<T>(a_.rows * count),
                   to_b = (*made)->template take<T>(count * a_.cols);
        view<T, space> const q{to_q, a_.rows, count, 1, a_.rows}, b{to_b, count, a_.cols, a_.cols, 1};
        if (status s = f(q, b); !s) return s;
        if (status s = policy_.leaf().synchronize(); !s) return s; // the memory before goes
        found_.memory = std::move(*made), found_.q = to_q, found_.b = to_b, found_.rank = found_.room = count;
        return {};
    }

    // Z = alpha X Y + beta Z, with a beta of 0 or 1, for lines of X, which are widened to W: on the host some at a
    // time.
    status times_wide(view<T const, space> const& x, view<W const, space> const& y, view<W, space> const& z,
                      W alpha, W beta) {
        if constexpr (!on_host) {
            typename arena::scope const scope(work_);
            index_t const room = low_rank_device::room_of_chunks(x.rows);
            auto const chunks = work_.template take<double>(room * index_t{sizeof(W) / sizeof(double)});
            return low_rank_device::wide_product<T>(policy_.leaf(), alpha * static_cast<W>(x.scale) * y.scale,
                                                    x, y, z, beta != W(0), chunks);
        }
        index_t const most = smaller(x.rows, lines_of_panel_);
        for (index_t i = 0; i < x.rows; i += most) {
            typename arena::scope const scope(work_);
            index_t const count = smaller(most, x.rows - i);
            view<W, space> const wide{work_.template take<W>(count * x.cols), count, x.cols, x.cols, 1};
            if (status s = policy_.leaf().copy(x.block(i, 0, count, x.cols), wide); !s) return s;
            if (status s = try_gemm(policy_, alpha, wide, y, beta, z.block(i, 0, count, z.cols)); !s)
                return s;
        }
        return {};
    }
    // Z = A Y
    status matrix_times(view<W const, space> const& y, view<W, space> const& z) {
        if constexpr (is_view<A>::value) {
            return times_wide(a_, y, z, W(1), W(0));
        } else if constexpr (std::is_same_v<T, W>) {
            return try_gemm(policy_, a_, y, z);
        } else {
            typename arena::scope const scope(work_);
            auto wide = widened_operand<A, W>::made(policy_.leaf(), work_, a_);
            if (!wide) return wide.take_status();
            return try_gemm(policy_, *wide, y, z);
        }
    }
    // The norm of A - Q B from fresh vectors, in W: lines of A, Q and B are widened, a panel at a time.
    status certify(int look) {
        typename arena::scope const scope(work_);
        view<W, space> x;
        if (status s = draw(gaussian<W>(probes, a_.cols, seed(-look)), x); !s) return s;
        auto const along = take<W>(found_.rank, probes);
        if (status s = times_wide(b(), x, along, W(1), W(0)); !s) return s;
        auto const rest = take<W>(a_.rows, probes);
        if (status s = matrix_times(x, rest); !s) return s;
        if (status s = times_wide(q(), along, rest, W(-1), W(1)); !s) return s;
        double squares = 0;
        if constexpr (on_host) {
            small_matrix<W> product;
            if (status s = gram_wide(rest, product); !s) return s;
            for (index_t i = 0; i < probes; ++i) squares += real_part(product(i, i));
        } else {
            if (status s = low_rank_device::add_squares<W>(policy_.leaf(), view<W const, space>(rest),
                                                           place_of_sums(0));
                !s)
                return s;
            if (status s = fetch_levels(); !s) return s;
            squares = sum_of_levels(0);
        }
        found_.error = captured_ > 0 ? __builtin_sqrt(squares) / norm() : 0;
        found_.bound = found_.error * certified_factor(look);
        if (found_.bound > 1) found_.bound = 1; // Q B is a projection of A
        if (!__builtin_isfinite(found_.error)) return refuse("A has Inf or NaN, or its squares overflow");
        return {};
    }

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
