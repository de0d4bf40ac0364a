// Transforms of elements that lie side by side in memory, in one instruction set: included once for each, after
// passes.inl.hpp.
//
// Lanes of a vector are `Part` neighbours of one transform, or of each of two, in the order of dft_order. A row has the
// real parts of its lanes, then their imaginary parts. The first pass reads numbers from memory and the last pass
// writes them there. A pass whose `s` (dft_pass) is less than `Part` has several factors in a vector, and exchanges
// lanes after its butterflies. The passes in between are those of transforms side by side, with rows for points. Each
// number meets the operations that it meets in dft_passes(), in the same order.

// Lanes of two vectors exchanged.
template <class R, class Lower, class Upper>
STRATAGEMM_OP void dft_exchange_two(vec<R>& x, vec<R>& y) {
    vec<R> const a = x, b = y;
    x = dft_pick<R>(a, b, Lower{}), y = dft_pick<R>(a, b, Upper{});
}
// How results of a chunk, in vectors by t, whose lanes are groups of S, come to be sorted by group, then by t: bits
// that number vectors and bits that number lanes change places. `near` lanes have 16 bytes.
template <class R, int N, int Part, int S>
struct dft_exchange_of {
    static constexpr int W = lanes<R>, near = 16 / static_cast<int>(sizeof(R)), far = W / near,
                         groups = Part / S;
    static constexpr bool is_single = near == 4, is_whole = Part == W;
    // The number of vectors is right for instructions that exchange lanes within 16 bytes, or 16 bytes as a whole: the
    // bits of vectors one after another, from the lowest on. takes_halves: the last of them within 16 bytes.
    static constexpr bool takes_halves = is_whole && N == (is_single ? 4 : 2) * far;
    static constexpr bool by_bits = S == 1 && (is_whole || !masked) &&
                                    (takes_halves || N == (is_single  ? 2
                                                           : is_whole ? 0
                                                                      : 1) *
                                                              far);
    // Otherwise a round rotates all bits by one, in the direction that takes fewer rounds.
    static constexpr bool by_vectors = N <= groups;

    // The vector that has chunk i of the results.
    static constexpr int vector_of(int i) {
        return !by_bits || !is_single || !is_whole ? i
               : takes_halves                      ? i / (N / 2) | i % 2 * (N / 2) | (i & (N / 2 - 2))
                                                   : i / (N / 2) | i * 2 % N;
    }
};
template <class R, int N, int Part, int Bit>
STRATAGEMM_OP void dft_exchange_bit(vec<R>& x, vec<R>& y) {
    using of = dft_exchange_of<R, N, Part, 1>;
    constexpr int W = of::W, near = of::near;
    using lower_of_near = dft_every_second<W, near / 2, 0, near>;
    using upper_of_near = dft_every_second<W, near / 2, 1, near>;
    if constexpr (of::is_single && Bit == 1) {
        dft_exchange_two<R, dft_in_turn<W, 1, 0, near>, dft_in_turn<W, 1, 1, near>>(x, y);
        if constexpr (!of::is_whole) dft_exchange_two<R, lower_of_near, upper_of_near>(x, y);
    } else if constexpr (of::takes_halves && Bit == N / 2) {
        dft_exchange_two<R, lower_of_near, upper_of_near>(x, y);
    } else {
        dft_exchange_two<R, dft_every_second<W, near, 0, W>, dft_every_second<W, near, 1, W>>(x, y);
    }
}
template <class R, int N, int Part, int S>
STRATAGEMM_OP void dft_exchange_rounds(vec<R> (&x)[N]) {
    using of = dft_exchange_of<R, N, Part, S>;
    constexpr int W = of::W;
    STRATAGEMM_UNROLLED
    for (int round = 1; round < (of::by_vectors ? N : of::groups); round *= 2) {
        vec<R> y[N];
        STRATAGEMM_UNROLLED
        for (int i = 0; i < N / 2; ++i)
            if constexpr (of::by_vectors) {
                y[2 * i] = x[i], y[2 * i + 1] = x[i + N / 2];
                dft_exchange_two<R, dft_ordered<R, W, dft_in_turn<W, S, 0, Part>>,
                                 dft_ordered<R, W, dft_in_turn<W, S, 1, Part>>>(y[2 * i], y[2 * i + 1]);
            } else {
                y[i] = x[2 * i], y[i + N / 2] = x[2 * i + 1];
                dft_exchange_two<R, dft_ordered<R, W, dft_every_second<W, S, 0, Part>>,
                                 dft_ordered<R, W, dft_every_second<W, S, 1, Part>>>(y[i], y[i + N / 2]);
            }
        STRATAGEMM_UNROLLED
        for (int i = 0; i < N; ++i) x[i] = y[i];
    }
}
// Vectors [First, First + Count) of a butterfly times their factors. Exchanged as soon as they are there, since
// processors exchange lanes and multiply at the same time.
template <class R, int N, int Part, int S, int First, int Count>
STRATAGEMM_OP void dft_end_of_pass(vec<R> (&re)[N], vec<R> (&im)[N], R const* w) {
    constexpr int half = Count / 2;
    if constexpr (Count > 1) {
        dft_end_of_pass<R, N, Part, S, First, half>(re, im, w);
        dft_end_of_pass<R, N, Part, S, First + half, half>(re, im, w);
        if constexpr (dft_exchange_of<R, N, Part, S>::by_bits) {
            STRATAGEMM_UNROLLED
            for (int i = First; i < First + half; ++i)
                dft_exchange_bit<R, N, Part, half>(re[i], re[i + half]),
                    dft_exchange_bit<R, N, Part, half>(im[i], im[i + half]);
        } else if constexpr (Count == N) {
            dft_exchange_rounds<R, N, Part, S>(re), dft_exchange_rounds<R, N, Part, S>(im);
        }
    } else if constexpr (First > 0) {
        R const* const own = w + (First - 1) * 2 * lanes<R>;
        dft_multiply<R>(re[First], im[First], load<R>(own), load<R>(own + lanes<R>));
    }
}

// Where a pass reads or writes so many sets of rows, each of one transform or of two. In memory, the second vector of a
// row begins `apart` numbers after the first.
template <class P>
struct dft_sets {
    P data;
    index_t count, step, apart;
};

// A pass with s = S < Part. From memory, s is 1. `rows` are those of a set over Radix.
template <class R, int Radix, int Part, int S, bool FromMemory>
STRATAGEMM_TARGET void dft_pass_within(dft_sets<R const*> const& g, R* y, R const* factors, index_t rows,
                                       R sign) {
    constexpr int W = lanes<R>, near = 16 / static_cast<int>(sizeof(R));
    constexpr index_t row = 2 * W;
    vec<R> const signs = broadcast<R>(&sign);
    index_t const count = g.count, step = g.step, apart = g.apart; // vectors that are stored might be these
    R const* begin = g.data;
    for (index_t i = 0; i < count; ++i, begin += step) {
        R const *x = begin, *w = factors;
        for (index_t j = 0; j < rows; ++j, y += Radix * row, x += FromMemory ? 2 * Part : row) {
            vec<R> re[Radix], im[Radix];
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t) {
                if constexpr (FromMemory) {
                    R const* const from = x + t * rows * 2 * Part;
                    vec<R> const a = load<R>(from), b = load<R>(from + apart);
                    re[t] = dft_pick<R>(a, b, dft_every_second<W, 1, 0, near>{});
                    im[t] = dft_pick<R>(a, b, dft_every_second<W, 1, 1, near>{}) * signs;
                } else {
                    re[t] = load<R>(x + t * rows * row), im[t] = load<R>(x + t * rows * row + W);
                }
            }
            dft_butterfly<R, Radix>(re, im);
            dft_end_of_pass<R, Radix, Part, S, 0, Radix>(re, im, w);
            w += (Radix - 1) * row;
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t) {
                int const from = dft_exchange_of<R, Radix, Part, S>::vector_of(t);
                store<R>(y + t * row, re[from]), store<R>(y + t * row + W, im[from]);
            }
        }
    }
}

// The last pass of transforms side by side, whose rows are s, to memory: times factors of each lane, if there are, and
// the factor of all.
template <class R, int Radix, bool Ordered>
STRATAGEMM_TARGET void dft_last_pass(R const* x, R* y, index_t s, dft_last<R> const& g) {
    constexpr int W = lanes<R>, near = Ordered ? 16 / static_cast<int>(sizeof(R)) : W;
    constexpr index_t row = 2 * W;
    R const other = g.conjugate ? -g.factor : g.factor;
    vec<R> const by = broadcast<R>(&g.factor), im_by = broadcast<R>(&other);
    index_t const count = g.count, step = g.step, y_row = g.row, apart = g.apart; // as in dft_pass_within()
    R const* const factors = g.factors;
    for (index_t i = 0; i < count; ++i, x += (Radix - 1) * s * row) {
        R* to_row = y + i * step;
        for (index_t q = 0; q < s; ++q, x += row, to_row += y_row) {
            vec<R> re[Radix], im[Radix];
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t)
                re[t] = load<R>(x + t * s * row), im[t] = load<R>(x + t * s * row + W);
            dft_butterfly<R, Radix>(re, im);
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t) {
                if constexpr (!Ordered)
                    if (factors) {
                        R const* const w = factors + (q + t * s) * row;
                        dft_multiply<R>(re[t], im[t], load<R>(w), load<R>(w + W));
                    }
                R* const to = to_row + t * s * y_row;
                vec<R> const a = re[t] * by, b = im[t] * im_by;
                store<R>(to, dft_pick<R>(a, b, dft_in_turn<W, 1, 0, near>{}));
                store<R>(to + apart, dft_pick<R>(a, b, dft_in_turn<W, 1, 1, near>{}));
            }
        }
    }
}
template <class R, bool Ordered>
STRATAGEMM_OP void dft_last_pass_of(int radix, R const* x, R* y, index_t s, dft_last<R> const& g) {
    if (radix == 8)
        dft_last_pass<R, 8, Ordered>(x, y, s, g);
    else if (radix == 4)
        dft_last_pass<R, 4, Ordered>(x, y, s, g);
    else
        dft_last_pass<R, 2, Ordered>(x, y, s, g);
}
// The first pass of transforms side by side, from rows of pairs in memory.
template <class R, int Radix>
STRATAGEMM_TARGET void dft_first_pass(R const* x, index_t x_row, bool conjugate, R* y, R const* factors,
                                      index_t m) {
    constexpr index_t W = lanes<R>, row = 2 * W, ahead = 16 / Radix;
    R const sign = conjugate ? R(-1) : R(1);
    vec<R> const signs = broadcast<R>(&sign);
    for (index_t p = 0; p < m; ++p, x += x_row, y += Radix * row, factors += 2 * (Radix - 1)) {
        vec<R> re[Radix], im[Radix];
        STRATAGEMM_UNROLLED
        for (int t = 0; t < Radix; ++t) {
            R const* const from = x + t * m * x_row;
            if (p + ahead < m) // as in dft_load_rows()
                __builtin_prefetch(from + ahead * x_row), __builtin_prefetch(from + ahead * x_row + W);
            vec<R> const a = load<R>(from), b = load<R>(from + W);
            re[t] = dft_pick<R>(a, b, dft_second_of_two<0>{});
            im[t] = dft_pick<R>(a, b, dft_second_of_two<1>{}) * signs;
        }
        dft_butterfly<R, Radix>(re, im);
        STRATAGEMM_UNROLLED
        for (int t = 0; t < Radix; ++t) {
            R const* const w = factors + 2 * t - 2;
            if (t > 0) dft_multiply<R>(re[t], im[t], broadcast<R>(w), broadcast<R>(w + 1));
            store<R>(y + t * row, re[t]), store<R>(y + t * row + W, im[t]);
        }
    }
}
// The transforms of a block from memory to memory.
template <class R>
STRATAGEMM_TARGET void dft_through(dft_steps<R> const& steps, dft_lanes<R const> const* from, bool conjugate,
                                   R* x, R* y, dft_lanes<R> const& to, dft_last<R> const& last) {
    auto const is_short = [](int radix) { return radix == 4 || radix == 8; };
    index_t s = 1;
    if (from &&
        (steps.count < 2 || !is_short(steps.radix[0]) || !dft_are_rows<R>(*from) || from->lane != 2)) {
        dft_load<R>(*from, x);
        if (conjugate) dft_scale<R>(x, steps.points, R(1), R(0), true);
    } else if (from) {
        s = steps.radix[0];
        if (s == 8)
            dft_first_pass<R, 8>(from->data, from->row, conjugate, x, steps.factors, steps.points / 8);
        else
            dft_first_pass<R, 4>(from->data, from->row, conjugate, x, steps.factors, steps.points / 4);
    }
    int const radix = steps.count > 0 ? steps.radix[steps.count - 1] : 1;
    bool const ends =
        steps.count > 1 && (radix == 2 || is_short(radix)) && dft_are_rows<R>(to) && to.lane == 2;
    R* const at = dft_passes<R>(steps, x, y, s > 1 ? 1 : 0, ends ? steps.count - 1 : steps.count);
    if (ends) {
        dft_last<R> g = last;
        g.row = to.row, g.apart = lanes<R>;
        return dft_last_pass_of<R, false>(radix, at, to.data, steps.points / radix, g);
    }
    if (last.factors) dft_times<R>(at, last.factors, steps.points, true, false);
    if (last.factor != R(1) || last.conjugate)
        dft_scale<R>(at, steps.points, last.factor, R(0), last.conjugate);
    dft_store<R>(at, to);
}

// A pass whose lanes have factors each, in the radices and for the s that lengths have: see part_of().
template <class R, int Part>
STRATAGEMM_OP void dft_pass_within_of(int radix, index_t s, dft_sets<R const*> const& x, R* y,
                                      R const* factors, index_t rows) {
    if constexpr (Part > 8)
        if (s == 8 && radix == 8) return dft_pass_within<R, 8, Part, 8, false>(x, y, factors, rows, R(1));
    if constexpr (Part > 8)
        if (s == 8) return dft_pass_within<R, 4, Part, 8, false>(x, y, factors, rows, R(1));
    if constexpr (Part > 4) return dft_pass_within<R, 4, Part, 4, false>(x, y, factors, rows, R(1));
}
// Numbers that are read next and places that are written next, on their way from memory to the first-level cache.
template <class R>
STRATAGEMM_TARGET void dft_fetch_lines(dft_lines<R> const& g, index_t first, index_t done) {
    constexpr index_t line = 64 / sizeof(R);
    index_t const numbers = 2 * g.steps->points;
    for (index_t i = first; i < first + done; ++i) {
        R const *const written = g.to + i * g.to_step, *const read = g.from + smaller(i + done, g.count - 1) *
                                                                                  g.from_step;
        for (index_t k = 0; k < numbers; k += line)
            __builtin_prefetch(written + k, 1), __builtin_prefetch(read + k);
    }
}
// Sets of rows through all passes: `done` transforms, from `first` on.
template <class R, int Part>
STRATAGEMM_TARGET void dft_sets_through(dft_lines<R> const& g, index_t first, index_t done,
                                        dft_sets<R const*> const& from, dft_sets<R*> const& to, R* x, R* y) {
    dft_steps<R> const& steps = *g.steps;
    index_t const set = steps.points / Part * 2 * lanes<R>;
    R const *factors = steps.factors, *within = g.factors, sign = g.conjugates_input ? R(-1) : R(1);
    index_t m = steps.points, s = 1;
    for (int i = 0; i + 1 < steps.count; ++i) {
        int const radix = steps.radix[i];
        index_t const rows = steps.points / radix / Part;
        m /= radix;
        if (i == 0 && radix == 8)
            dft_pass_within<R, 8, Part, 1, true>(from, x, within, rows, sign);
        else if (i == 0)
            dft_pass_within<R, 4, Part, 1, true>(from, x, within, rows, sign);
        else if (s < Part)
            dft_pass_within_of<R, Part>(radix, s, {x, from.count, set, 0}, y, within, rows);
        else
            for (index_t k = 0; k < from.count; ++k) {
                if (radix == 8)
                    dft_pass<R, 8, false>(x + k * set, y + k * set, factors, m, s / Part);
                else
                    dft_pass<R, 4, false>(x + k * set, y + k * set, factors, m, s / Part);
            }
        if (i == 0 && g.fetches) dft_fetch_lines<R>(g, first, done);
        if (s < Part) within += rows * (radix - 1) * 2 * lanes<R>;
        factors += 2 * m * (radix - 1), s *= radix;
        if (i > 0) std::swap(x, y);
    }
    dft_last_pass_of<R, true>(
        steps.radix[steps.count - 1], x, to.data, s / Part,
        {nullptr, g.factor, g.conjugates_output, 2 * Part, to.apart, to.count, to.step});
}
// Transforms one by one, or two at a time.
template <class R>
STRATAGEMM_TARGET void dft_all_lines(dft_lines<R> const& g, R* x, R* y) {
    constexpr int W = lanes<R>;
    for (index_t i = 0, done = 0; i < g.count; i += done) {
        R const* const from = g.from + i * g.from_step;
        R* const to = g.to + i * g.to_step;
        done = smaller(g.together, g.count - i);
        if (g.part == W) {
            dft_sets_through<R, W>(g, i, done, {from, done, g.from_step, W}, {to, done, g.to_step, W}, x, y);
        } else if constexpr (W > 2) {
            bool const has_two = done > 1; // a transform that is left is done twice
            index_t const sets = has_two ? done / 2 : 1;
            done = has_two ? 2 * sets : 1;
            dft_sets_through<R, W / 2>(g, i, done, {from, sets, 2 * g.from_step, has_two ? g.from_step : 0},
                                       {to, sets, 2 * g.to_step, has_two ? g.to_step : 0}, x, y);
        }
    }
}

template <class R>
inline constexpr dft_kernels<R> dft_table{
    lanes<R>,     dft_largest_radix,    dft_all_passes<R>,   dft_times<R>,     dft_scale<R>,  dft_load<R>,
    dft_store<R>, dft_mirror<R, false>, dft_mirror<R, true>, dft_all_lines<R>, dft_through<R>};
