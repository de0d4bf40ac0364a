// Memory that factors of a matrix are found in.
#pragma once

#include "range.hpp"

STRATAGEMM_BEGIN

template <policy P, class A, class W>
status range_finder<P, A, W>::reserve() {
    if constexpr (on_host)
        if (status s = make_room(most_); !s) return s;
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

template <policy P, class A, class W>
std::size_t range_finder<P, A, W>::bytes_to_decide_here(index_t wide, index_t longest) const {
    return bytes<T>(a_.rows * block_) + 4 * bytes<W>(most_ * larger_of(most_, wide)) +
           2 * bytes<W>(longest * wide) + bytes<W>(lines_of_panel_ * (longest + probes));
}

template <policy P, class A, class W>
std::size_t range_finder<P, A, W>::bytes_to_decide(index_t wide, index_t longest) const {
    std::size_t const to_leave_out =
        options_.rank > 0 ? bytes<W>(a_.cols * most_) + bytes<T>(spare * (a_.rows + a_.cols)) : 0;
    return 3 * bytes<W>(longest * wide) + 3 * bytes<W>(largest_gram() * largest_gram()) +
           4 * bytes<W>(most_ * wide) + 2 * bytes<W>(low_rank_device::room_of_chunks<W>(longest)) +
           bytes<double>(count_of_levels()) + to_leave_out;
}

// Memory for `count` columns and rows, with those that are known.
template <policy P, class A, class W>
status range_finder<P, A, W>::make_room(index_t count) {
    if (count <= found_.room) return {};
    index_t const known = found_.rank;
    status s = move_to(count, [&](view<T, space> const& to_q, view<T, space> const& to_b) -> status {
        if (known == 0) return {};
        if (status done = policy_.leaf().copy(q(), to_q.block(0, 0, a_.rows, known)); !done) return done;
        return policy_.leaf().copy(b(), to_b.block(0, 0, known, a_.cols));
    });
    found_.rank = known;
    return s;
}
// Factors of `count` columns in memory for so many; f(Q, B) sets them.
template <policy P, class A, class W>
template <class F>
status range_finder<P, A, W>::move_to(index_t count, F const& f) {
    auto made = reserve_for(policy_, bytes<T>(a_.rows * count) + bytes<T>(count * a_.cols));
    if (!made) return made.take_status();
    auto const to_q = (*made)->template take<T>(a_.rows * count),
               to_b = (*made)->template take<T>(count * a_.cols);
    view<T, space> const q{to_q, a_.rows, count, 1, a_.rows}, b{to_b, count, a_.cols, a_.cols, 1};
    if (status s = f(q, b); !s) return s;
    if (found_.memory)
        if (status s = policy_.leaf().synchronize(); !s) return s; // the memory before goes
    found_.memory = std::move(*made), found_.q = to_q, found_.b = to_b, found_.rank = found_.room = count;
    return {};
}

STRATAGEMM_END
