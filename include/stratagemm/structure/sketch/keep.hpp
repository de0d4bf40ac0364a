// What a sketch draws, for many products with it: signs and the points that are its rows, of one by a transform; lists of
// signs on a device.
#pragma once

#include "../../core/keep.hpp"
#include "../csr/convert.hpp"
#include "signs.hpp"
#include "srct.hpp"
#include "srht.hpp"

STRATAGEMM_BEGIN

// On a device: for products that read the point of each row, and for those that read the row of each point.
template <class Space>
struct both_samples_there {
    sample_there<Space> by_row, by_point;
};

// Whether products with P read a sample from its memory.
template <class P>
inline constexpr bool keeps_samples = [] {
    if constexpr (
        requires { requires P::is_backend; } && !requires { requires P::is_oracle; })
        return host_leaf<leaf_of<P>> || device_leaf<leaf_of<P>, typename P::space>;
    else
        return false;
}();

// For the sketch on the left of products, and on their right.
template <policy P, class Kind, class T>
requires keeps_samples<P>
auto keep_left(P const& policy, transformed_sketch<Kind, T> const& sketch) {
    using arena = typename P::arena;
    using R = real_t<T>;
    sketch.usable().or_throw();
    index_t const points = sketch.points(), first = sketch.first_row(), rows = sketch.count_of_rows();
    if constexpr (host_leaf<leaf_of<P>>) {
        auto memory = reserve_for(policy, bytes_of_sample<R, arena>(points, rows));
        memory.or_throw();
        auto const tables = write_sample<R>(policy.leaf(), sketch.sample(), points, first, rows, **memory);
        using made = sampled_sketch<Kind, T, sample_tables<R>>;
        return kept<made, P>(std::move(*memory), {made{sketch, tables}});
    } else {
        using space = typename P::space;
        auto memory = reserve_for(policy, bytes_of_sample_there<arena>(points, rows) +
                                              bytes_of_sample_there<arena>(points, points));
        memory.or_throw();
        auto const write = [&](bool by_point) {
            auto tables =
                write_sample_there<T, space>(policy.leaf(), sketch.sample(), first, rows, by_point, **memory);
            tables.or_throw();
            return *tables;
        };
        auto const by_row = write(false), by_point = write(true);
        policy.leaf().synchronize().or_throw(); // another queue may read them
        using made = sampled_sketch<Kind, T, both_samples_there<space>>;
        return kept<made, P>(std::move(*memory), {made{sketch, {by_row, by_point}}});
    }
}
template <policy P, class Kind, class T>
requires keeps_samples<P>
auto keep(P const& policy, transformed_sketch<Kind, T> const& sketch) { return keep_left(policy, sketch); }

// Signs on a device: the rows of the sketch, and its blocks.
template <policy P, class T>
auto keep_signs(P const& policy, sign_sketch<T> const& sketch) {
    using arena = typename P::arena;
    using made = listed_signs<T, typename P::space>;
    sketch.usable().or_throw();
    auto const rows = by_rows(policy, sketch);
    made x{sketch, rows.view(), {}, false};
    auto const leaf = policy.leaf();
    sign_sides const sides{sketch.all_rows, sketch.signs, sketch.rows, sketch.cols, 0, true};
    sign_blocks const division = choose_sign_blocks(sides, sizeof(T), leaf.limits());
    if (sketch.turned || division.depth == 0) return kept<made, P>(rows.memory(), {x});
    auto memory = reserve_for(policy, bytes_of_sign_blocks<arena>(division, sides));
    memory.or_throw();
    auto const lists = (*memory)->template take<int>(words_of_sign_blocks(division, sides));
    list_sign_blocks<T>(leaf, division, sides, sketch.seed, sketch.row0, sketch.col0, lists).or_throw();
    leaf.synchronize().or_throw(); // another queue may read them
    x.blocks = lists;
    memory->hold(rows.memory());
    return kept<made, P>(std::move(*memory), {x});
}

STRATAGEMM_END
