// Panels as an operand of a product: what is on each device, without owning it.
#pragma once

#include "values.hpp"

STRATAGEMM_BEGIN

inline constexpr int most_panels = 64;

namespace panel_parts {
// `side` or a little more, so that tiles of a device are not cut: the sides of most tiles divide 128, where so much more
// is little, and tensor cores take multiples of 16.
constexpr index_t in_whole_tiles(index_t side) {
    index_t const grain = side >= 1024 ? 128 : side >= 128 ? 16 : 1;
    return (side + grain - 1) / grain * grain;
}
} // namespace panel_parts

// The usual height of the blocks of rows that are multiplied at a time: there are 8, or a few more, so that each device
// has as many, and so that 1, 2, 4 and 8 devices have the same blocks, and bits.
constexpr index_t height_of_blocks(index_t rows, index_t devices) {
    index_t const blocks = (7 + devices) / devices * devices;
    return rows > 0 ? panel_parts::in_whole_tiles((rows + blocks - 1) / blocks) : 1;
}
// Which of `rows` rows a device has: neighbouring blocks, of which each device has as many, the last ones perhaps fewer.
struct rows_of_device {
    index_t begin, end;
    constexpr rows_of_device(index_t rows, index_t height, index_t device, index_t devices) {
        index_t const blocks = (rows + height - 1) / height, each = (blocks + devices - 1) / devices;
        auto const at = [&](index_t d) { return d * each < blocks ? d * each * height : rows; };
        begin = at(device), end = at(device + 1);
    }
    constexpr index_t count() const { return end - begin; }
};

template <class P>
class panel_product;

// Turned: the panels have rows of the transposed matrix, which are columns of this one.
template <class T, class Space, class Queue, bool Turned = false>
struct panels_form {
    using value_type = T;
    static constexpr bool has_facts = true, is_turned = Turned;
    // For a policy of several devices: out_of_core.
    template <class P>
    requires requires(P const& p) { p.device(p.devices() - 1); }
    using over = panel_product<P>;

    index_t height = 0; // of blocks of rows; 0: the usual one
};

template <class T, class Space, class Queue, bool Turned = false>
struct panels_view {
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using space = Space;
    using form = panels_form<value_type, Space, Queue, Turned>;
    using panel = panel_of<value_type, Space, Queue>;
    static constexpr int most_views = most_panels;
    static constexpr bool is_turned = Turned;

    index_t rows = 0, cols = 0;
    panel const* panels = nullptr; // of the matrix that has them
    int count = 0;
    index_t height = 0;

    form facts() const { return {height}; }
    template <class F>
    void each_view(F&& f) const {
        for (int i = 0; i < count; ++i)
            if (panels[i].data.rows > 0) f(view<T, Space>(panels[i].data));
    }
    panels_view<T, Space, Queue, !Turned> transposed() const { return {cols, rows, panels, count, height}; }
    // What a device has of the rows [i, i + m) and columns [j, j + n) of this matrix, and where that begins.
    struct piece {
        view<value_type const, Space> data;
        index_t row, col;
    };
    piece within(int device, index_t i, index_t j, index_t m, index_t n) const {
        panel const& p = panels[device];
        index_t const first = Turned ? j : i, last = Turned ? j + n : i + m;
        index_t const own_last = p.first_row + p.data.rows;
        index_t const from = first < p.first_row ? p.first_row : first,
                      to = last < own_last ? last : own_last;
        index_t const length = to > from ? to - from : 0;
        auto const own = [&](index_t across, index_t other) {
            return view<value_type const, Space>(p.data).part(length > 0 ? from - p.first_row : 0, across,
                                                              length, other);
        };
        if constexpr (Turned)
            return {own(i, m).transposed(), 0, from - j};
        else
            return {own(j, n), from - i, 0};
    }
    bool is_same(panels_view const& other) const { return panels == other.panels; }
    bool is_same(auto const&) const { return false; }
    // C = epilogue(beta C), of a product without terms.
    template <class Leaf, class P>
    status keep_only(Leaf const&, P const& p) const {
        if (!has_values_of(p.epilogue)) return panel_parts::other_devices();
        for (int i = 0; i < count; ++i) {
            panel const& own = panels[i];
            if (own.data.rows == 0) continue;
            auto const& leaf = own.queue;
            auto const c = Turned ? own.data.transposed() : own.data;
            status s = stratagemm::keep_only(leaf, c, view<value_type const, Space>(c), p.beta);
            if constexpr (!std::is_same_v<typename P::epilogue_type, identity>)
                if (s)
                    s = leaf.apply(panel_parts::on_device{i}(p.epilogue), c,
                                   p.row0 + (Turned ? 0 : own.first_row),
                                   p.col0 + (Turned ? own.first_row : 0));
            if (s) s = leaf.synchronize();
            if (!s) return out_of_core_parts::of_device(std::move(s), i, count);
        }
        return {};
    }
    // Whether the values of an epilogue are on the devices of this matrix.
    template <class F>
    bool has_values_of(F const& epilogue) const {
        bool all = true;
        panel_parts::each_values(epilogue, [&](auto const& v) {
            all &= panel_parts::have_same_devices(v.panels, v.count, panels, count);
        });
        return all;
    }
};

// A shape of products of panels: panels_shape<double, sg::cuda>{.m = m, .n = n, .k = k}.
template <class T, class Policy>
using panels_form_of = panels_form<T, typename Policy::space, device_queue<leaf_of<Policy>>>;
template <class T, class Policy>
using panels_shape = shape<panels_form_of<T, Policy>, panels_form_of<T, Policy>, panels_form_of<T, Policy>>;

STRATAGEMM_END
