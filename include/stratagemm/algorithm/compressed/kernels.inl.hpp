// Kernels of compressed products, in one instruction set: backend/host/each_isa.inl.hpp includes this once for each.
// Vectors are exchanged as in structure/hadamard/passes.inl.hpp.

// One round of a transposition: of `Count` vectors, those that are half of them apart become pairs that alternate.
template <class R, int Count>
STRATAGEMM_OP void compressed_round(vec<R> (&x)[Count]) {
    vec<R> y[Count];
    STRATAGEMM_UNROLLED
    for (int i = 0; i < Count / 2; ++i) {
        y[2 * i] = hadamard_pick<R>(x[i], x[i + Count / 2], hadamard_in_turn<lanes<R>, 1, 0>{});
        y[2 * i + 1] = hadamard_pick<R>(x[i], x[i + Count / 2], hadamard_in_turn<lanes<R>, 1, 1>{});
    }
    STRATAGEMM_UNROLLED
    for (int i = 0; i < Count; ++i) x[i] = y[i];
}
// Columns [0, lanes) of as many rows become rows, `to_row` apart.
template <class R>
STRATAGEMM_TARGET void compressed_turn(R const* from, index_t from_row, R* to, index_t to_row) {
    constexpr int W = lanes<R>;
    vec<R> x[W];
    STRATAGEMM_UNROLLED
    for (int i = 0; i < W; ++i) x[i] = load<R>(from + i * from_row);
    STRATAGEMM_UNROLLED
    for (int round = 1; round < W; round *= 2) compressed_round<R, W>(x);
    STRATAGEMM_UNROLLED
    for (int i = 0; i < W; ++i) store<R>(to + i * to_row, x[i]);
}

// Lane l of the result is the sum of vector l.
template <class R, int Count>
STRATAGEMM_OP vec<R> compressed_sums(vec<R> const (&x)[Count]) {
    if constexpr (Count == 1) {
        return x[0];
    } else {
        vec<R> y[Count / 2];
        STRATAGEMM_UNROLLED
        for (int i = 0; i < Count / 2; ++i)
            y[i] = hadamard_pick<R>(x[i], x[i + Count / 2], hadamard_in_turn<lanes<R>, 1, 0>{}) +
                   hadamard_pick<R>(x[i], x[i + Count / 2], hadamard_in_turn<lanes<R>, 1, 1>{});
        return compressed_sums<R, Count / 2>(y);
    }
}
// The dot products of a row of A with `lanes` rows of B.
template <class R>
STRATAGEMM_OP vec<R> compressed_dots_of(vec<R> const* a, R const* b, std::uint32_t const* cols) {
    constexpr int W = lanes<R>, parts = compressed_width<R> / W;
    vec<R> x[W];
    STRATAGEMM_UNROLLED
    for (int l = 0; l < W; ++l) {
        R const* const row = b + index_t{cols[l]} * compressed_width<R>;
        x[l] = a[0] * load<R>(row);
        STRATAGEMM_UNROLLED
        for (int i = 1; i < parts; ++i) x[l] += a[i] * load<R>(row + i * W);
    }
    return compressed_sums<R, W>(x);
}
template <class R>
STRATAGEMM_TARGET void compressed_dots(compressed_entries<R> const& g) {
    constexpr int W = lanes<R>, parts = compressed_width<R> / W;
    for (index_t key = g.first_key; key < g.last_key; ++key) {
        index_t const end = g.begins[key + 1];
        index_t at = g.begins[key];
        if (at == end) continue;
        vec<R> a[parts];
        R const* const row = g.a + (key & (g.rows - 1)) * compressed_width<R>;
        STRATAGEMM_UNROLLED
        for (int i = 0; i < parts; ++i) a[i] = load<R>(row + i * W);
        for (; at + W <= end; at += W)
            store<R>(g.sums + at, load<R>(g.sums + at) + compressed_dots_of<R>(a, g.b, g.cols + at));
        if (at == end) continue;
        std::uint32_t cols[W];
        R last[W];
        for (int l = 0; l < W; ++l) cols[l] = g.cols[at + l < end ? at + l : at];
        store<R>(last, compressed_dots_of<R>(a, g.b, cols));
        for (int l = 0; at + l < end; ++l) g.sums[at + l] += last[l];
    }
}

// Lane l becomes lane l ^ low.
template <class R>
STRATAGEMM_OP vec<R> compressed_exchange(vec<R> x, unsigned low) {
    constexpr int bytes = lanes<R> * static_cast<int>(sizeof(R));
    using word = typename vector_types<std::uint32_t, bytes>::type;
    word index;
    __builtin_memcpy(&index, compressed_lanes.at, bytes);
    index ^= low * static_cast<unsigned>(sizeof(R) / 4);
#ifdef STRATAGEMM_ON_X86
    vec<R> y;
    asm("vpermps %2, %1, %0" : "=v"(y) : "v"(index), "v"(x));
    return y;
#else
    word const from = __builtin_bit_cast(word, x);
    word to{};
    for (int l = 0; l < bytes / 4; ++l) to[l] = from[static_cast<int>(index[l])];
    return __builtin_bit_cast(vec<R>, to);
#endif
}
// The medians of `width` columns, in the middle row. Rows are `width` apart.
template <class R>
STRATAGEMM_TARGET void compressed_medians(compressed_parts::median_network const& network, R* x,
                                          index_t width) {
    for (int i = 0; i < network.steps; ++i) {
        auto const s = network.at[i];
        R *const low = x + s.low * width, *const high = x + s.high * width;
        for (index_t j = 0; j < width; j += lanes<R>) {
            vec<R> const a = load<R>(low + j), b = load<R>(high + j);
            if (s.keeps_low) store<R>(low + j, a < b ? a : b);
            if (s.keeps_high) store<R>(high + j, a < b ? b : a);
        }
    }
}
// The same for a vector of columns.
template <class R>
STRATAGEMM_OP void compressed_compare(vec<R>& low, vec<R>& high) {
    vec<R> const a = low, b = high;
    low = a < b ? a : b, high = a < b ? b : a;
}
template <class R, int Count, std::size_t... Step>
STRATAGEMM_OP vec<R> compressed_median(vec<R> (&x)[Count], std::index_sequence<Step...>) {
    constexpr auto const& network = compressed_network<Count>;
    (compressed_compare<R>(x[network.at[Step].low], x[network.at[Step].high]), ...);
    return x[Count / 2];
}
// What sketch s says of a vector of elements from j on.
template <class R>
STRATAGEMM_OP vec<R> compressed_fetch(compressed_row<R> const& g, int s, std::uint32_t j) {
    constexpr auto W = static_cast<std::uint32_t>(lanes<R>);
    std::uint32_t const from = g.from[s];
    return g.signs[s] *
           compressed_exchange<R>(load<R>(g.tables[s] + ((from ^ j) & ~(W - 1))), from & (W - 1));
}
template <class R, int Count>
STRATAGEMM_TARGET void compressed_estimate_few(compressed_row<R> const& g) {
    if constexpr (Count > 1)
        if (g.count < Count) return compressed_estimate_few<R, Count - 2>(g);
    constexpr std::make_index_sequence<static_cast<std::size_t>(compressed_network<Count>.steps)> steps;
    for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(g.width); j += lanes<R>) {
        vec<R> x[Count];
        STRATAGEMM_UNROLLED
        for (int s = 0; s < Count; ++s) x[s] = compressed_fetch<R>(g, s, j);
        store<R>(g.to + j, g.alpha * compressed_median<R, Count>(x, steps));
    }
}
template <class R>
STRATAGEMM_TARGET void compressed_estimate(compressed_row<R> const& g) {
    if (g.count <= compressed_parts::unrolled)
        return compressed_estimate_few<R, compressed_parts::unrolled>(g);
    constexpr index_t width = compressed_width<R>;
    R x[compressed_parts::most_sketches * width];
    for (index_t first = 0; first < g.width; first += width) {
        index_t const some = smaller(width, g.width - first);
        for (int s = 0; s < g.count; ++s)
            for (index_t j = 0; j < some; j += lanes<R>)
                store<R>(x + s * some + j, compressed_fetch<R>(g, s, static_cast<std::uint32_t>(first + j)));
        compressed_medians<R>(*g.network, x, some);
        for (index_t j = 0; j < some; j += lanes<R>)
            store<R>(g.to + first + j, g.alpha * load<R>(x + g.count / 2 * some + j));
    }
}

template <class R>
inline constexpr compressed_kernels<R> compressed_table{lanes<R>, compressed_turn<R>, compressed_dots<R>,
                                                        compressed_estimate<R>, compressed_medians<R>};
