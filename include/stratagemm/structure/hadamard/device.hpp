// Hadamard transforms of the columns of a matrix on a device: the kernel, and how transforms are divided.
//
// A group transforms a tile: a power of two of points of some lines. A line is a transform or, where the points of one
// do not fit, a part: points that are a power of two apart. Each work-item has 32 numbers in registers, which it adds
// and subtracts in up to five steps before it exchanges them through shared memory. A transform that fits is read and
// written once. A longer one takes several passes, with C or workspace between them. Lines are chosen to lie beside
// each other where points do not, for whole sectors of memory to be read and written.
//
// Points that are far apart are added before near ones, as on the host, so the results are the same.
#pragma once

#include "../../device/product.hpp"
#include "passes.hpp"
#include "text.hpp"

STRATAGEMM_BEGIN

// How many transforms of n points are done together if they take several passes through workspace: a launch takes as
// long as many more would.
constexpr index_t hadamard_together(index_t n, index_t transforms) {
    constexpr index_t elements = 1 << 22;
    index_t const some = n < elements ? elements / n : 1;
    return some < transforms ? some : transforms;
}
// Numbers of workspace, in any layout: a transform takes several passes, too, if one would read less than whole sectors.
template <class Sum>
index_t hadamard_workspace(index_t n, index_t transforms, device_limits const& limits) {
    return bits_of(n) <= hadamard_passes::most_bits_across(sizeof(Sum), limits)
               ? 0
               : n * hadamard_together(n, transforms);
}

// Which points are rows of x or of C where not all are, as in a sketch: points [first, first + count) of one of the
// two, and `sampled` ones of the other. `in` and `out` say of which, as SHARE_IN and SHARE_OUT do.
template <class Space>
struct hadamard_share_on {
    int in, out;
    index_t first, count, sampled;
    typename Space::template handle<int const> signs, places;
};
template <class F, class Space>
void each_given(F&& f, hadamard_share_on<Space> const& x) {
    f(x.first), f(x.count), f(x.sampled), f(x.signs), f(x.places);
}
struct no_hadamard_share {
    static constexpr int in = 0, out = 0;
};
template <class F>
void each_given(F&&, no_hadamard_share const&) {}

inline std::string hadamard_written(text_numbers const& numbers, text_tables*) {
    return hadamard_pass(numbers).definitions(hadamard_pass::is_complex(numbers)) + hadamard_words_text +
           hadamard_text;
}
template <class In, class Out>
device_kernel hadamard_kernel(hadamard_pass const& pass, std::string const& epilogue) {
    return {"hadamard_pass",
            "",
            epilogue,
            pass.items(),
            uses_double<In, Out>,
            false,
            kernel_types<In, Out>,
            pass.launched_bytes(),
            hadamard_written,
            pass.numbers(complex_like<In>)};
}

// A product whose A is a Hadamard matrix, or a part of one. `turned`: rows are the caller's columns.
template <class Leaf, class Q, class Arena, class Share = no_hadamard_share>
class hadamard_launches {
    using In = typename Q::b_type;
    using Out = typename Q::c_type;
    using S = typename Q::scalar;
    using Space = typename Q::space;

public:
    hadamard_launches(Leaf const& by, Q const& problem, bool is_turned, Share const& points = {})
        : leaf(by), p(problem), turned(is_turned), share(points), epilogue(problem.epilogue) {
        p.alpha = scaled_by(p.alpha, S(p.a.scale)), p.e = added_or_c(p);
        if (p.beta == S(0)) p.e_step = p.c_step;
        // Vectors of a batch are columns, if no epilogue asks for these.
        if (std::is_same_v<typename Q::epilogue_type, identity> && p.c.cols == 1) {
            p.b.cols = p.c.cols = p.e.cols = p.count, p.count = 1;
            p.b.col_stride = p.b_step, p.c.col_stride = p.c_step, p.e.col_stride = p.e_step;
        }
    }
    status operator()(Arena& memory) const {
        index_t const n = points(), cols = p.c.cols;
        bool const across = is_across(), by_sequency = is_by_sequency();
        auto const all = passes();
        if (all.count == 1) return last_pass<In>(all.at[0], p, p.b, p.b_step, p.b.conjugate);
        // What is between two passes lies in C, if C has such numbers, nothing is added, and all is written where it is
        // read.
        bool const in_c = std::is_same_v<Out, S> && p.beta == S(0) && !by_sequency && !is_part &&
                          (cols == 1 || rows_are_closer(p.c) != across);
        typename Arena::scope const scope(memory);
        index_t const together = in_c ? cols : hadamard_together(n, cols);
        auto const room = memory.template take<S>(in_c ? 0 : n * together);
        for (index_t b = 0; b < p.count; ++b)
            for (index_t j = 0; j < cols; j += together) {
                index_t const some = cols - j < together ? cols - j : together;
                Q one = p.at(b);
                one.b = one.b.block(0, j, p.b.rows, some), one.c = one.c.block(0, j, p.c.rows, some);
                one.e = one.e.block(0, j, p.c.rows, some), one.col0 += turned ? 0 : j,
                one.row0 += turned ? j : 0;
                view<S, Space> t{room, n, some, across ? some : 1, across ? 1 : n};
                if constexpr (std::is_same_v<Out, S> && !is_part)
                    if (in_c) t = one.c;
                if (status s = in_passes(all, one, t); !s) return s;
            }
        return {};
    }

    hadamard_passes passes() const {
        hadamard_passes all(bits_of(points()), sizeof(S), is_across(), is_by_sequency(), true, p.c.cols,
                            leaf.limits());
        if constexpr (is_part) all.at[0].share_in = share.in, all.at[all.count - 1].share_out = share.out;
        return all;
    }
    // Where the signs and the sampled points lie, which passes() does not need.
    template <class Sample>
    void read(Sample const& x) {
        share.signs = x.signs, share.places = x.places;
    }

private:
    index_t points() const {
        if constexpr (is_part)
            return p.a.points();
        else
            return p.c.rows;
    }
    bool is_across() const { return !rows_are_closer(p.b) && p.c.cols > 1; }
    bool is_by_sequency() const {
        if constexpr (is_part)
            return false;
        else
            return p.a.order == hadamard_order::sequency;
    }
    status in_passes(hadamard_passes const& passes, Q const& one, view<S, Space> const& t) const {
        status s = first_pass<In>(passes.at[0], one.b, t, one.b.conjugate);
        view<S const, Space> const from = t;
        for (int i = 1; s && i + 1 < passes.count; ++i) s = first_pass<S>(passes.at[i], from, t, false);
        return s ? last_pass<S>(passes.at[passes.count - 1], one, from, 0, false) : std::move(s);
    }
    // f(what a kernel gets of the share)
    template <class F>
    status with_share(hadamard_pass const& pass, F const& f) const {
        if constexpr (is_part)
            if (pass.share_in > 0 || pass.share_out > 0) return f(share);
        return f(no_hadamard_share{});
    }
    // Whether neighbours in a tile are neighbours in memory.
    template <class T>
    static bool is_unit(hadamard_pass const& pass, bool lines_low, view<T, Space> const& x) {
        index_t const line = pass.columns ? x.col_stride : x.row_stride * (index_t{1} << pass.line_shift);
        return (lines_low ? line : x.row_stride * (index_t{1} << pass.point_shift)) == 1;
    }
    // Whether 16 bytes of C are elements of one transform, and begin at multiples of 16 bytes.
    bool has_vectors(hadamard_pass const& pass, Q const& one) const {
        if constexpr (std::is_same_v<Out, S> && !is_part && !complex_like<S>) {
            constexpr index_t width = 16 / index_t{sizeof(S)};
            return pass.columns && pass.keeps_order() && pass.sequency == 0 && pass.out_unit &&
                   (1 << pass.point_bits) >= width && Space::address(one.c.data) % 16 == 0 &&
                   ((one.c.cols > 1 ? one.c.col_stride : 0) | (one.count > 1 ? one.c_step : 0)) % width == 0;
        }
        return false;
    }
    template <class From>
    status first_pass(hadamard_pass pass, view<From const, Space> const& x, view<S, Space> const& t,
                      bool conjugated) const {
        pass.in_unit = is_unit(pass, pass.lines_low, x),
        pass.out_unit = is_unit(pass, pass.store_lines_low, t);
        return with_share(pass, [&](auto const& points) {
            return leaf.launch(hadamard_kernel<From, S>(pass, {}), pass.tiles() * pass.blocks(x.cols), x,
                               index_t{0}, int{conjugated}, static_cast<int>(pass.tiles()),
                               static_cast<int>(pass.blocks(x.cols)), pass.point_shift, pass.line_shift,
                               points, index_t{0}, t, x.cols);
        });
    }
    template <class From>
    status last_pass(hadamard_pass pass, Q const& one, view<From const, Space> const& x, index_t x_step,
                     bool conjugated) const {
        pass.in_unit = is_unit(pass, pass.lines_low, x);
        pass.out_unit = is_unit(pass, pass.store_lines_low, one.c);
        pass.out_vectors = has_vectors(pass, one);
        return with_share(pass, [&](auto const& points) {
            return leaf.launch(hadamard_kernel<From, Out>(pass, epilogue.definitions()),
                               pass.tiles() * pass.blocks(x.cols) * one.count, x, x_step, int{conjugated},
                               static_cast<int>(pass.tiles()), static_cast<int>(pass.blocks(x.cols)),
                               pass.point_shift, pass.line_shift, points, one.c_step, one.e_step, one.row0,
                               one.col0, int{turned}, one.alpha, one.beta, int{one.beta != S(0)}, one.e,
                               int{one.e.conjugate}, one.c, one.c.rows, one.c.cols, epilogue);
        });
    }

    static constexpr bool is_part = !std::is_same_v<Share, no_hadamard_share>;

    Leaf const& leaf;
    Q p;
    bool turned;
    Share share;
    typename Leaf::template epilogue<S> epilogue;
};

STRATAGEMM_END
