// Transforms side by side in vectors, in one instruction set: backend/host/each_isa.inl.hpp includes this once for
// each.
//
// A block has a row for each point: the real parts of lanes<R> transforms, then their imaginary parts. Each transform
// has one lane, and is computed as in any other lane.

inline constexpr int dft_largest_radix = masked || !portable_is_last_resort ? 8 : 4;

// (re, im) = (re, im) times (wr, wi)
template <class R>
STRATAGEMM_OP void dft_multiply(vec<R>& re, vec<R>& im, vec<R> wr, vec<R> wi) {
    vec<R> const x = re * wr - im * wi;
    im = re * wi + im * wr;
    re = x;
}

template <class R>
STRATAGEMM_OP void dft_butterfly_of_4(vec<R>& re0, vec<R>& im0, vec<R>& re1, vec<R>& im1, vec<R>& re2,
                                      vec<R>& im2, vec<R>& re3, vec<R>& im3) {
    vec<R> const ar = re0 + re2, ai = im0 + im2, br = re0 - re2, bi = im0 - im2, cr = re1 + re3,
                 ci = im1 + im3, dr = re1 - re3, di = im1 - im3;
    re0 = ar + cr, im0 = ai + ci, re2 = ar - cr, im2 = ai - ci;
    re1 = br + di, im1 = bi - dr, re3 = br - di, im3 = bi + dr;
}

// The transform of Radix points, in place. An odd radix pairs k and Radix - k, which have one cosine, and one sine
// except for its sign.
template <class R, int Radix>
STRATAGEMM_OP void dft_butterfly(vec<R> (&re)[Radix], vec<R> (&im)[Radix]) {
    if constexpr (Radix == 2) {
        vec<R> const xr = re[0] - re[1], xi = im[0] - im[1];
        re[0] += re[1], im[0] += im[1], re[1] = xr, im[1] = xi;
    } else if constexpr (Radix == 4) {
        dft_butterfly_of_4<R>(re[0], im[0], re[1], im[1], re[2], im[2], re[3], im[3]);
    } else if constexpr (Radix == 8) {
        dft_butterfly_of_4<R>(re[0], im[0], re[2], im[2], re[4], im[4], re[6], im[6]);
        dft_butterfly_of_4<R>(re[1], im[1], re[3], im[3], re[5], im[5], re[7], im[7]);
        auto const h = static_cast<R>(0.70710678118654752440);
        vec<R> const ar = (re[3] + im[3]) * h, ai = (im[3] - re[3]) * h, br = im[5], bi = -re[5],
                     cr = (im[7] - re[7]) * h, ci = -((re[7] + im[7]) * h);
        vec<R> const or0 = re[1], oi0 = im[1], er1 = re[2], ei1 = im[2], er2 = re[4], ei2 = im[4],
                     er3 = re[6], ei3 = im[6];
        re[4] = re[0] - or0, im[4] = im[0] - oi0, re[0] += or0, im[0] += oi0;
        re[1] = er1 + ar, im[1] = ei1 + ai, re[5] = er1 - ar, im[5] = ei1 - ai;
        re[2] = er2 + br, im[2] = ei2 + bi, re[6] = er2 - br, im[6] = ei2 - bi;
        re[3] = er3 + cr, im[3] = ei3 + ci, re[7] = er3 - cr, im[7] = ei3 - ci;
    } else {
        constexpr int half = Radix / 2;
        using of = dft_roots<Radix>;
        vec<R> ur[half], ui[half], vr[half], vi[half], sr = re[0], si = im[0];
        STRATAGEMM_UNROLLED
        for (int k = 0; k < half; ++k) {
            ur[k] = re[k + 1] + re[Radix - 1 - k], ui[k] = im[k + 1] + im[Radix - 1 - k];
            vr[k] = re[k + 1] - re[Radix - 1 - k], vi[k] = im[k + 1] - im[Radix - 1 - k];
            sr += ur[k], si += ui[k];
        }
        STRATAGEMM_UNROLLED
        for (int j = 1; j <= half; ++j) {
            vec<R> mr = re[0], mi = im[0], tr{}, ti{};
            STRATAGEMM_UNROLLED
            for (int k = 0; k < half; ++k) {
                int const at = j * (k + 1) % Radix;
                auto const c = static_cast<R>(of::cosines[at]), s = static_cast<R>(of::sines[at]);
                mr += ur[k] * c, mi += ui[k] * c;
                tr += vr[k] * s, ti += vi[k] * s;
            }
            re[j] = mr + ti, im[j] = mi - tr, re[Radix - j] = mr - ti, im[Radix - j] = mi + tr;
        }
        // re[0] is read by all rows above
        re[0] = sr, im[0] = si;
    }
}

// One pass of Stockham's algorithm: `s` transforms of m * Radix points, interleaved, become Radix * s transforms of m
// points. Last: m is 1, and so are all factors.
template <class R, int Radix, bool Last>
STRATAGEMM_TARGET void dft_pass(R const* x, R* y, R const* factors, index_t m, index_t s) {
    constexpr index_t row = 2 * lanes<R>;
    for (index_t p = 0; p < m; ++p, factors += 2 * (Radix - 1)) {
        vec<R> wr[Radix], wi[Radix];
        if constexpr (!Last) {
            STRATAGEMM_UNROLLED
            for (int t = 1; t < Radix; ++t)
                wr[t] = broadcast<R>(factors + 2 * t - 2), wi[t] = broadcast<R>(factors + 2 * t - 1);
        }
        for (index_t q = 0; q < s; ++q) {
            vec<R> re[Radix], im[Radix];
            R const* const from = x + (q + s * p) * row;
            R* const to = y + (q + s * Radix * p) * row;
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t)
                re[t] = load<R>(from + s * m * t * row), im[t] = load<R>(from + s * m * t * row + lanes<R>);
            dft_butterfly<R, Radix>(re, im);
            STRATAGEMM_UNROLLED
            for (int t = 0; t < Radix; ++t) {
                if constexpr (!Last)
                    if (t > 0) dft_multiply<R>(re[t], im[t], wr[t], wi[t]);
                store<R>(to + s * t * row, re[t]), store<R>(to + s * t * row + lanes<R>, im[t]);
            }
        }
    }
}
template <class R, int Radix>
STRATAGEMM_TARGET void dft_pass_of(R const* x, R* y, R const* factors, index_t m, index_t s) {
    if (m == 1)
        dft_pass<R, Radix, true>(x, y, factors, m, s);
    else
        dft_pass<R, Radix, false>(x, y, factors, m, s);
}

// A row times a factor.
template <class R>
STRATAGEMM_OP void dft_put(R* to, vec<R> re, vec<R> im, R const* w) {
    dft_multiply<R>(re, im, broadcast<R>(w), broadcast<R>(w + 1));
    store<R>(to, re), store<R>(to + lanes<R>, im);
}
// The same for a prime radix beyond 7, by the definition for pairs of results: `roots` has exp(2 pi i k / radix).
template <class R>
STRATAGEMM_TARGET void dft_pass_of_prime(R const* x, R* y, R const* roots, int radix, index_t m, index_t s) {
    constexpr index_t row = 2 * lanes<R>;
    constexpr int most = largest_prime_pass / 2;
    int const half = radix / 2;
    R const one[] = {R(1), R(0)}, *factors = roots + 2 * radix;
    vec<R> ur[most], ui[most], vr[most], vi[most];
    for (index_t p = 0; p < m; ++p, factors += 2 * (radix - 1))
        for (index_t q = 0; q < s; ++q) {
            R const* const from = x + (q + s * p) * row;
            R* const to = y + (q + s * radix * p) * row;
            vec<R> const xr = load<R>(from), xi = load<R>(from + lanes<R>);
            vec<R> sr = xr, si = xi;
            for (int k = 0; k < half; ++k) {
                R const *const a = from + s * m * (k + 1) * row, *const b =
                                                                     from + s * m * (radix - 1 - k) * row;
                vec<R> const ar = load<R>(a), ai = load<R>(a + lanes<R>), br = load<R>(b),
                             bi = load<R>(b + lanes<R>);
                ur[k] = ar + br, ui[k] = ai + bi, vr[k] = ar - br, vi[k] = ai - bi;
                sr += ur[k], si += ui[k];
            }
            store<R>(to, sr), store<R>(to + lanes<R>, si);
            for (int j = 1; j <= half; ++j) {
                vec<R> mr = xr, mi = xi, tr{}, ti{};
                for (int k = 0, at = j; k < half; ++k, at += at + j < radix ? j : j - radix) {
                    vec<R> const c = broadcast<R>(roots + 2 * at), t = broadcast<R>(roots + 2 * at + 1);
                    mr += ur[k] * c, mi += ui[k] * c, tr += vr[k] * t, ti += vi[k] * t;
                }
                bool const is_last = m == 1;
                dft_put<R>(to + s * j * row, mr + ti, mi - tr, is_last ? one : factors + 2 * (j - 1));
                dft_put<R>(to + s * (radix - j) * row, mr - ti, mi + tr,
                           is_last ? one : factors + 2 * (radix - j - 1));
            }
        }
}

// Passes [first, end) of a block; returns which of the two buffers has the results. A pass before `first` has a short
// radix.
template <class R>
STRATAGEMM_TARGET R* dft_passes(dft_steps<R> const& steps, R* x, R* y, int first, int end) {
    index_t m = steps.points, s = 1;
    R const* factors = steps.factors;
    for (int i = 0; i < end; ++i) {
        int const radix = steps.radix[i];
        m /= radix;
        if (i < first) {
            factors += 2 * m * (radix - 1), s *= radix;
            continue;
        }
        switch (radix) {
        case 2: dft_pass_of<R, 2>(x, y, factors, m, s); break;
        case 3: dft_pass_of<R, 3>(x, y, factors, m, s); break;
        case 4: dft_pass_of<R, 4>(x, y, factors, m, s); break;
        case 5: dft_pass_of<R, 5>(x, y, factors, m, s); break;
        case 7: dft_pass_of<R, 7>(x, y, factors, m, s); break;
        case 8: dft_pass_of<R, 8>(x, y, factors, m, s); break;
        default: dft_pass_of_prime<R>(x, y, factors, radix, m, s); factors += 2 * radix;
        }
        factors += 2 * m * (radix - 1), s *= radix;
        R* const other = x;
        x = y, y = other;
    }
    return x;
}

template <class R>
STRATAGEMM_TARGET R* dft_all_passes(dft_steps<R> const& steps, R* x, R* y) {
    return dft_passes<R>(steps, x, y, 0, steps.count);
}

// Row i of a block times factor i; conjugated afterwards if `conjugate` says so. If the factors are `apart`, each lane
// has its own: the factors of a row are laid out as the row.
template <class R>
STRATAGEMM_TARGET void dft_times(R* x, R const* factors, index_t rows, bool apart, bool conjugate) {
    constexpr index_t W = lanes<R>;
    R const minus_one = conjugate ? R(-1) : R(1);
    vec<R> const sign = broadcast<R>(&minus_one);
    for (index_t i = 0; i < rows; ++i, x += 2 * W) {
        R const* const w = factors + i * (apart ? 2 * W : 2);
        vec<R> re = load<R>(x), im = load<R>(x + W);
        if (apart)
            dft_multiply<R>(re, im, load<R>(w), load<R>(w + W));
        else
            dft_multiply<R>(re, im, broadcast<R>(w), broadcast<R>(w + 1));
        store<R>(x, re), store<R>(x + W, im * sign);
    }
}
// All rows times one factor, after they are conjugated if asked.
template <class R>
STRATAGEMM_TARGET void dft_scale(R* x, index_t rows, R re_factor, R im_factor, bool conjugate) {
    constexpr index_t W = lanes<R>;
    R const minus_one = conjugate ? R(-1) : R(1);
    vec<R> const sign = broadcast<R>(&minus_one), wr = broadcast<R>(&re_factor),
                 wi = broadcast<R>(&im_factor);
    for (index_t i = 0; i < rows; ++i, x += 2 * W) {
        vec<R> re = load<R>(x), im = load<R>(x + W) * sign;
        if (im_factor == R(0))
            re *= wr, im *= wr;
        else
            dft_multiply<R>(re, im, wr, wi);
        store<R>(x, re), store<R>(x + W, im);
    }
}

// Elements of two vectors, numbered through. Written out: nvcc loses a pack among these arguments.
template <class R, class At>
STRATAGEMM_OP vec<R> dft_pick(vec<R> a, vec<R> b, At) {
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
// Pairs (re, im), those of a before those of b, as a row of a block, and back.
template <class R>
STRATAGEMM_OP void dft_split(vec<R> a, vec<R> b, R* to) {
    store<R>(to, dft_pick<R>(a, b, dft_second_of_two<0>{}));
    store<R>(to + lanes<R>, dft_pick<R>(a, b, dft_second_of_two<1>{}));
}
template <class R>
STRATAGEMM_OP void dft_join(R const* from, vec<R>& a, vec<R>& b) {
    vec<R> const re = load<R>(from), im = load<R>(from + lanes<R>);
    a = dft_pick<R>(re, im, dft_in_turn<lanes<R>, 1, 0>{});
    b = dft_pick<R>(re, im, dft_in_turn<lanes<R>, 1, 1>{});
}

// As many vectors as one has pairs, transposed: each round takes halves that lie half of the vectors apart.
template <class R, int N>
STRATAGEMM_OP void dft_transpose(vec<R> (&x)[N]) {
    STRATAGEMM_UNROLLED
    for (int round = 1; round < N; round *= 2) {
        vec<R> y[N];
        STRATAGEMM_UNROLLED
        for (int i = 0; i < N / 2; ++i) {
            y[2 * i] = dft_pick<R>(x[i], x[i + N / 2], dft_in_turn<lanes<R>, 2, 0>{});
            y[2 * i + 1] = dft_pick<R>(x[i], x[i + N / 2], dft_in_turn<lanes<R>, 2, 1>{});
        }
        STRATAGEMM_UNROLLED
        for (int i = 0; i < N; ++i) x[i] = y[i];
    }
}

// Rows of lanes that lie side by side in memory, in either direction, into rows of a block.
template <class R>
STRATAGEMM_TARGET void dft_load_rows(dft_lanes<R const> const& g, R* to) {
    constexpr index_t W = lanes<R>;
    R const* const first = 0 > g.lane ? g.data + (W - 1) * g.lane : g.data;
    for (index_t i = 0; i < g.rows; ++i, to += 2 * W) {
        R const* const x = first + i * g.row;
        // Processors do not fetch ahead over rows that are pages apart.
        if (i + 16 < g.rows) {
            __builtin_prefetch(x + 16 * g.row);
            __builtin_prefetch(x + 16 * g.row + (g.lane == 1 ? g.apart : W));
        }
        if (g.lane == 1) {
            store<R>(to, load<R>(x));
            store<R>(to + W, g.real ? vec<R>{} : load<R>(x + g.apart));
        } else if (g.lane == 2) {
            dft_split<R>(load<R>(x), load<R>(x + W), to);
        } else {
            vec<R> const a = load<R>(x), b = load<R>(x + W);
            store<R>(to, dft_pick<R>(a, b, dft_second_of_two_back<lanes<R>, 0>{}));
            store<R>(to + W, dft_pick<R>(a, b, dft_second_of_two_back<lanes<R>, 1>{}));
        }
    }
}
template <class R>
STRATAGEMM_TARGET void dft_store_rows(R const* from, dft_lanes<R> const& g) {
    constexpr index_t W = lanes<R>;
    R* const first = 0 > g.lane ? g.data + (W - 1) * g.lane : g.data;
    for (index_t i = 0; i < g.rows; ++i, from += 2 * W) {
        R* const x = first + i * g.row;
        vec<R> re = load<R>(from), im = load<R>(from + W);
        if (g.lane == 1) {
            store<R>(x, re);
            if (!g.real) store<R>(x + g.apart, im);
            continue;
        }
        if (0 > g.lane)
            re = dft_pick<R>(re, re, dft_backwards<lanes<R>>{}),
            im = dft_pick<R>(im, im, dft_backwards<lanes<R>>{});
        store<R>(x, dft_pick<R>(re, im, dft_in_turn<lanes<R>, 1, 0>{}));
        store<R>(x + W, dft_pick<R>(re, im, dft_in_turn<lanes<R>, 1, 1>{}));
    }
}
// Whether these two serve; and whether elements of a lane lie side by side.
template <class R, class T>
STRATAGEMM_OP bool dft_are_rows(dft_lanes<T> const& g) {
    bool const pairs = !g.real && g.apart == 1;
    return g.count == lanes<R> && (g.lane == 1 || (pairs && (g.lane == 2 || g.lane == -2)));
}
template <class R, class T>
STRATAGEMM_OP bool dft_are_columns(dft_lanes<T> const& g) {
    return g.count == lanes<R> && !g.real && g.apart == 1 && g.row == 2;
}

// Elements of a matrix into lanes of a block.
template <class R>
STRATAGEMM_TARGET void dft_load(dft_lanes<R const> const& g, R* to) {
    constexpr index_t W = lanes<R>, N = W / 2;
    if (dft_are_rows<R>(g)) return dft_load_rows<R>(g, to);
    index_t i = 0;
    for (; dft_are_columns<R>(g) && i + N <= g.rows; i += N) {
        vec<R> a[N], b[N];
        STRATAGEMM_UNROLLED
        for (index_t l = 0; l < N; ++l)
            a[l] = load<R>(g.data + (i * 2 + l * g.lane)),
            b[l] = load<R>(g.data + (i * 2 + (l + N) * g.lane));
        dft_transpose<R>(a), dft_transpose<R>(b);
        STRATAGEMM_UNROLLED
        for (index_t j = 0; j < N; ++j) dft_split<R>(a[j], b[j], to + (i + j) * 2 * W);
    }
    for (; i < g.rows; ++i)
        for (index_t l = 0; l < g.count; ++l) {
            R const* const x = g.data + (i * g.row + l * g.lane);
            to[i * 2 * W + l] = x[0];
            to[i * 2 * W + W + l] = g.real ? R(0) : x[g.apart];
        }
}
// And back.
template <class R>
STRATAGEMM_TARGET void dft_store(R const* from, dft_lanes<R> const& g) {
    constexpr index_t W = lanes<R>, N = W / 2;
    if (dft_are_rows<R>(g)) return dft_store_rows<R>(from, g);
    index_t i = 0;
    for (; dft_are_columns<R>(g) && i + N <= g.rows; i += N) {
        vec<R> a[N], b[N];
        STRATAGEMM_UNROLLED
        for (index_t j = 0; j < N; ++j) dft_join<R>(from + (i + j) * 2 * W, a[j], b[j]);
        dft_transpose<R>(a), dft_transpose<R>(b);
        STRATAGEMM_UNROLLED
        for (index_t l = 0; l < N; ++l)
            store<R>(g.data + (i * 2 + l * g.lane), a[l]),
                store<R>(g.data + (i * 2 + (l + N) * g.lane), b[l]);
    }
    for (; i < g.rows; ++i)
        for (index_t l = 0; l < g.count; ++l) {
            R* const x = g.data + (i * g.row + l * g.lane);
            x[0] = from[i * 2 * W + l];
            if (!g.real) x[g.apart] = from[i * 2 * W + W + l];
        }
}

// With z_j = x_2j + i x_2j+1 for h = n / 2 pairs of real numbers, whose transform is Z, the transform Y of x has
//   2 Y_k = (Z_k + Z*_h-k) + u_k (Z_k - Z*_h-k),   u_k = -i exp(-2 pi i k / n),   0 <= k <= h,   Z_h = Z_0,
// and 2 Y*_h-k is the difference. Back, 2 Z_k is the sum of Y_k + Y*_h-k and u*_k (Y_k - Y*_h-k). Row p + i is k, and
// row q - i is h - k. On the way back both are exchanged, so that the transform of the rows is the inverse.
template <class R, bool Back>
STRATAGEMM_TARGET void dft_mirror(dft_pairs<R> const& g) {
    constexpr index_t W = lanes<R>;
    R const minus_one = g.conjugate ? R(-1) : R(1);
    vec<R> const sign = broadcast<R>(&minus_one), factor = broadcast<R>(&g.factor);
    vec<R> ar{}, ai{};
    if (g.across) ar = load<R>(g.across), ai = load<R>(g.across + W);
    R *p = g.p, *q = g.q;
    for (index_t i = 0; i < g.count; ++i, p += 2 * W, q -= 2 * W) {
        vec<R> wr = broadcast<R>(g.turns + 2 * i), wi = broadcast<R>(g.turns + 2 * i + 1);
        if (g.across) dft_multiply<R>(wr, wi, ar, ai);
        vec<R> const pr = load<R>(p), pi = load<R>(p + W), qr = load<R>(q), qi = load<R>(q + W);
        vec<R> const sr = pr + qr;
        vec<R> si = pi - qi, dr = pr - qr, di = pi + qi;
        if constexpr (Back) si *= sign, di *= sign, wi = -wi;
        dft_multiply<R>(dr, di, wr, wi);
        vec<R> const xr = (sr + dr) * factor, yr = (sr - dr) * factor;
        vec<R> xi = (si + di) * factor, yi = (di - si) * factor;
        if constexpr (!Back) xi *= sign, yi *= sign;
        R *const to_x = Back ? q : p, *const to_y = Back ? p : q;
        store<R>(to_x, xr), store<R>(to_x + W, xi);
        store<R>(to_y, yr), store<R>(to_y + W, yi);
    }
}
