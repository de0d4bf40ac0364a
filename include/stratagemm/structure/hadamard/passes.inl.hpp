// Hadamard transforms of rows of numbers, in one instruction set: backend/host/each_isa.inl.hpp includes this once for
// each.
//
// Numbers that are far apart are added before those that are near, however many a pass combines: so all instruction
// sets, and all layouts, have the same bits.

inline constexpr int hadamard_widest = masked ? 4 : 3; // 16 rows and a temporary take more than 16 registers

// Lanes of two vectors, numbered through. Written out: nvcc loses a pack among these arguments.
template <class R, class At>
STRATAGEMM_OP vec<R> hadamard_pick(vec<R> a, vec<R> b, At) {
    if constexpr (lanes<R> == 2)
        return __builtin_shufflevector(a, b, At::of(0), At::of(1));
    else if constexpr (lanes<R> == 4)
        return __builtin_shufflevector(a, b, At::of(0), At::of(1), At::of(2), At::of(3));
    else if constexpr (lanes<R> == 8)
        return __builtin_shufflevector(a, b, At::of(0), At::of(1), At::of(2), At::of(3), At::of(4), At::of(5),
                                       At::of(6), At::of(7));
    else
        return __builtin_shufflevector(a, b, At::of(0), At::of(1), At::of(2), At::of(3), At::of(4), At::of(5),
                                       At::of(6), At::of(7), At::of(8), At::of(9), At::of(10), At::of(11),
                                       At::of(12), At::of(13), At::of(14), At::of(15));
}
// Sums and differences of numbers of one vector that are Step apart, and nearer ones, down to `last`.
template <class R, int Step>
STRATAGEMM_OP vec<R> hadamard_within(vec<R> x, index_t top, index_t last) {
    if (Step <= top && Step >= last)
        x = hadamard_pick<R>(x, x, hadamard_partner<Step>{}) + x * load<R>(hadamard_sign<R, Step>.at);
    if constexpr (Step > 1) x = hadamard_within<R, Step / 2>(x, top, last);
    return x;
}
// Sums and differences of vectors that are Step apart, and nearer ones.
template <class R, int Count, int Step>
STRATAGEMM_OP void hadamard_butterflies(vec<R> (&x)[Count]) {
    STRATAGEMM_UNROLLED
    for (int i = 0; i < Count; ++i)
        if (!(i & Step)) {
            vec<R> const difference = x[i] - x[i + Step];
            x[i] += x[i + Step], x[i + Step] = difference;
        }
    if constexpr (Step > 1) hadamard_butterflies<R, Count, Step / 2>(x);
}

// Rows that are `apart` rows apart, 1 << Bits of them at a time.
template <class R, int Bits, bool Last>
STRATAGEMM_TARGET void hadamard_pass(hadamard_block<R> const& g, hadamard_rows<R const> const& from,
                                     hadamard_rows<R> const& to, index_t apart) {
    constexpr index_t W = lanes<R>;
    constexpr int count = 1 << Bits;
    R const pair[] = {g.factors[0], g.factors[1]};
    R both[W];
    for (index_t i = 0; i < W; ++i) both[i] = pair[i % 2];
    vec<R> const factor = load<R>(both);
    bool const by_sequency = Last && g.sequency_bits > 0;
    index_t out_of[count], into[count]; // from the first of these rows on
    for (index_t t = 0; t < count; ++t) {
        out_of[t] = from.at(t * apart);
        into[t] = by_sequency ? sequency_of_row(t * apart, g.sequency_bits) : to.at(t * apart);
    }
    index_t const rows = index_t{1} << g.bits, others = apart * (count - 1);
    for (index_t first = 0; first < rows; first = ((first | others) + 1) & ~others) {
        index_t const place = by_sequency ? sequency_of_row(g.first_row + first, g.sequency_bits) : 0;
        R const* const x = from.data + from.at(first);
        R* const y = to.data + (by_sequency ? 0 : to.at(first));
        for (index_t j = 0; j < g.width; j += W) {
            vec<R> v[count];
            STRATAGEMM_UNROLLED
            for (int t = 0; t < count; ++t) v[t] = load<R>(x + out_of[t] + j);
            if constexpr (Bits > 0) hadamard_butterflies<R, count, count / 2>(v);
            STRATAGEMM_UNROLLED
            for (int t = 0; t < count; ++t) {
                if constexpr (Last) v[t] = hadamard_within<R, W / 2>(v[t], g.top, g.last) * factor;
                store<R>(y + (by_sequency ? to.at(place ^ into[t]) : into[t]) + j, v[t]);
            }
        }
    }
}
template <class R, bool Last>
STRATAGEMM_TARGET void hadamard_pass_of(int bits, hadamard_block<R> const& g,
                                        hadamard_rows<R const> const& from, hadamard_rows<R> const& to,
                                        index_t apart) {
    switch (bits) {
    case 0: return hadamard_pass<R, 0, Last>(g, from, to, apart);
    case 1: return hadamard_pass<R, 1, Last>(g, from, to, apart);
    case 2: return hadamard_pass<R, 2, Last>(g, from, to, apart);
    case 3: return hadamard_pass<R, 3, Last>(g, from, to, apart);
    default: return hadamard_pass<R, hadamard_widest, Last>(g, from, to, apart);
    }
}

template <class R>
STRATAGEMM_TARGET void hadamard_transform(hadamard_block<R> const& g) {
    int const most = (g.bits + hadamard_widest - 1) / hadamard_widest, passes = most < 1 ? 1 : most;
    hadamard_rows<R const> from = g.from;
    for (int i = 0, left = g.bits; i < passes; ++i) {
        int const bits = g.bits * (i + 1) / passes - g.bits * i / passes;
        left -= bits;
        index_t const apart = index_t{1} << left;
        if (i + 1 == passes) return hadamard_pass_of<R, true>(bits, g, from, g.to, apart);
        hadamard_pass_of<R, false>(bits, g, from, g.room, apart);
        from = {g.room.data, g.room.row, g.room.gap};
    }
}

// The low bits of a place by sequency come from the high bits of the row. So vectors that are as far apart as can be
// are transposed: what was one lane of them becomes a vector that lies in one piece. Where the other bits of the row
// have an odd sum, the low bits of its place are inverted, so this piece is backwards.
template <class R, int Width>
STRATAGEMM_TARGET void hadamard_order_by(hadamard_rows<R const> const& from, R* to, int bits) {
    constexpr int count = lanes<R> / Width, steps = __builtin_ctz(count); // elements of a vector
    index_t const apart = index_t{1} << (bits - 2 * steps);
    auto const is_odd = [](index_t i) { return __builtin_parityll(static_cast<unsigned long long>(i)); };
    index_t row_at[count], place_of_lane[count];
    for (index_t i = 0; i < count; ++i) {
        row_at[i] = row_of_sequency(i, steps) * apart;
        place_of_lane[i] = sequency_of_row(i, bits) & -index_t{count};
    }
    for (index_t base = 0; base < apart; ++base) {
        vec<R> x[count], y[count];
        int const turned = is_odd(base) ? count - 1 : 0;
        STRATAGEMM_UNROLLED
        for (int i = 0; i < count; ++i) x[i] = load<R>(from.data + from.at(row_at[i ^ turned] + base));
        STRATAGEMM_UNROLLED
        for (int round = 1; round < count; round *= 2) {
            STRATAGEMM_UNROLLED
            for (int i = 0; i < count / 2; ++i) {
                y[2 * i] = hadamard_pick<R>(x[i], x[i + count / 2], hadamard_in_turn<lanes<R>, Width, 0>{});
                y[2 * i + 1] =
                    hadamard_pick<R>(x[i], x[i + count / 2], hadamard_in_turn<lanes<R>, Width, 1>{});
            }
            STRATAGEMM_UNROLLED
            for (int i = 0; i < count; ++i) x[i] = y[i];
        }
        index_t const place = sequency_of_row(base * count, bits) & -index_t{count};
        STRATAGEMM_UNROLLED
        for (int i = 0; i < count; ++i) {
            vec<R> const v = __builtin_parity(static_cast<unsigned>(i))
                                 ? hadamard_pick<R>(x[i], x[i], hadamard_backwards<lanes<R>, Width>{})
                                 : x[i];
            store<R>(to + (place ^ place_of_lane[i]) * Width, v);
        }
    }
}
template <class R>
STRATAGEMM_TARGET void hadamard_by_sequency(hadamard_rows<R const> const& from, R* to, int bits,
                                            index_t width) {
    if (width == 2)
        hadamard_order_by<R, 2>(from, to, bits);
    else
        hadamard_order_by<R, 1>(from, to, bits);
}

template <class R>
STRATAGEMM_TARGET void hadamard_scaled(R const* from, R factor, R* to, index_t count) {
    constexpr index_t W = lanes<R>;
    index_t j = 0;
    for (; j + W <= count; j += W) store<R>(to + j, load<R>(from + j) * factor);
    for (; j < count; ++j) to[j] = from[j] * factor;
}
template <class R>
STRATAGEMM_TARGET void hadamard_signed(R const* from, R const* signs, R* to, index_t count) {
    constexpr index_t W = lanes<R>;
    index_t j = 0;
    for (; j + W <= count; j += W) store<R>(to + j, load<R>(from + j) * load<R>(signs + j));
    for (; j < count; ++j) to[j] = from[j] * signs[j];
}

template <class R>
inline constexpr hadamard_kernels<R> hadamard_table{
    lanes<R>,           hadamard_widest,   hadamard_transform<R>, hadamard_by_sequency<R>,
    hadamard_scaled<R>, hadamard_signed<R>};
