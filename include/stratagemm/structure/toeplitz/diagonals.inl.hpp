// Sums along diagonals, in one instruction set: backend/host/each_isa.inl.hpp includes this once for
// each.

// sum += x u; `low` gets what the sum rounds away, and the products with the lower halves of x and u. The product of the
// upper halves is exact.
STRATAGEMM_OP void add_halves(vec<double>& sum, vec<double>& low, vec<double> xh, vec<double> xl,
                              vec<double> uh, vec<double> ul) {
    vec<double> const p = xh * uh, s = sum + p, t = s - sum;
    low += ((sum - (s - t)) + (p - t)) + (xl * ul + xl * uh + xh * ul);
    sum = s;
}
// Stores alpha (sum + low) as R.
template <class R>
STRATAGEMM_OP void store_rounded(R* to, vec<double> x, vec<double> alpha) {
    x *= alpha;
    if constexpr (std::is_same_v<R, double>) {
        store<double>(to, x);
    } else {
        using half = typename vector_types<float, lanes<double>* static_cast<int>(sizeof(float))>::type;
        half const narrow = __builtin_convertvector(x, half);
        __builtin_memcpy(to, &narrow, sizeof(narrow));
    }
}
template <bool Twofold, int Rows, class R>
STRATAGEMM_TARGET void add_to_last(double* sum, double* low, diagonal_row<R> const* rows, index_t i,
                                   index_t n, double alpha);
// The terms of Rows rows, one row after another, whose sums stay in registers in between.
template <bool Twofold, int Rows, class R>
STRATAGEMM_TARGET void add_to_diagonals(double* sum, double* low, diagonal_row<R> const* rows, index_t n,
                                        double alpha) {
    constexpr index_t W = lanes<double>;
    vec<double> high[2 * Rows], rest[2 * Rows];
    STRATAGEMM_UNROLLED
    for (int t = 0; t < 2 * Rows; ++t) {
        high[t] = broadcast<double>(&rows[t / 2].term[t % 2].factor);
        if constexpr (Twofold) rest[t] = broadcast<double>(&rows[t / 2].term[t % 2].factor_low);
    }
    vec<double> const factor = broadcast<double>(&alpha);
    index_t i = 0;
    for (; i + W <= n; i += W) {
        vec<double> s = load<double>(sum + i), l{};
        if constexpr (Twofold) l = load<double>(low + i);
        STRATAGEMM_UNROLLED
        for (int t = 0; t < 2 * Rows; ++t) {
            diagonal_row<R> const& row = rows[t / 2];
            vec<double> const x = load<double>(row.term[t % 2].numbers + i);
            if constexpr (Twofold)
                add_halves(s, l, high[t], rest[t], x, load<double>(row.term[t % 2].numbers_low + i));
            else
                s += high[t] * x;
            if (t % 2 == 1 && row.to) store_rounded<R>(row.to + i, s + l, factor);
        }
        store<double>(sum + i, s);
        if constexpr (Twofold) store<double>(low + i, l);
    }
    if (i < n) add_to_last<Twofold, Rows, R>(sum + i, low + i, rows, i, n - i, alpha);
}
// Fewer sums than a vector has lanes, from number i on: they are added up as any others are, so that bits do not depend
// on where a diagonal lies.
template <bool Twofold, int Rows, class R>
STRATAGEMM_TARGET void add_to_last(double* sum, double* low, diagonal_row<R> const* rows, index_t i,
                                   index_t n, double alpha) {
    constexpr index_t W = lanes<double>;
    double sums[2 * W] = {}, numbers[4 * Rows][W] = {};
    R done[Rows][W];
    diagonal_row<R> same[Rows];
    for (int t = 0; t < 2 * Rows; ++t) {
        diagonal_term const& from = rows[t / 2].term[t % 2];
        for (index_t l = 0; l < n; ++l) {
            numbers[2 * t][l] = from.numbers[i + l];
            if constexpr (Twofold) numbers[2 * t + 1][l] = from.numbers_low[i + l];
        }
        same[t / 2].term[t % 2] = {from.factor, from.factor_low, numbers[2 * t], numbers[2 * t + 1]};
        same[t / 2].to = rows[t / 2].to ? done[t / 2] : nullptr;
    }
    for (index_t l = 0; l < n; ++l) {
        sums[l] = sum[l];
        if constexpr (Twofold) sums[W + l] = low[l];
    }
    add_to_diagonals<Twofold, Rows, R>(sums, sums + W, same, W, alpha);
    for (index_t l = 0; l < n; ++l) {
        sum[l] = sums[l];
        if constexpr (Twofold) low[l] = sums[W + l];
        for (int row = 0; row < Rows; ++row)
            if (rows[row].to) rows[row].to[i + l] = done[row][l];
    }
}

// sums i += sign x_(-l) numbers_(i - l) for l < k. As many sums as stay in registers are added up at a time, and as many
// are written: n is rounded up to a multiple of them, and there are as many numbers.
template <bool Twofold>
STRATAGEMM_TARGET void begin_diagonals(double* sum, double* low, diagonal_factors const& x,
                                       double const* numbers, double const* numbers_low, index_t k,
                                       index_t n) {
    constexpr index_t W = lanes<double>, V = Twofold ? 4 : 8;
    vec<double> const sign = broadcast<double>(&x.sign);
    for (index_t i = 0; i < n; i += V * W) {
        vec<double> s[V], l[V];
        STRATAGEMM_UNROLLED
        for (index_t v = 0; v < V; ++v) {
            s[v] = load<double>(sum + i + v * W);
            if constexpr (Twofold) l[v] = load<double>(low + i + v * W);
        }
        for (index_t t = 0; t < k; ++t) {
            vec<double> const xh = broadcast<double>(x.factors - t) * sign;
            double const* const at = numbers + (i - t);
            if constexpr (Twofold) {
                vec<double> const xl = broadcast<double>(x.factors_low - t) * sign;
                double const* const at_low = numbers_low + (i - t);
                STRATAGEMM_UNROLLED
                for (index_t v = 0; v < V; ++v)
                    add_halves(s[v], l[v], xh, xl, load<double>(at + v * W), load<double>(at_low + v * W));
            } else {
                STRATAGEMM_UNROLLED
                for (index_t v = 0; v < V; ++v) s[v] += xh * load<double>(at + v * W);
            }
        }
        STRATAGEMM_UNROLLED
        for (index_t v = 0; v < V; ++v) {
            store<double>(sum + i + v * W, s[v]);
            if constexpr (Twofold) store<double>(low + i + v * W, l[v]);
        }
    }
}

template <class R>
inline constexpr diagonal_kernels<R> diagonal_table{
    add_to_diagonals<std::is_same_v<R, double>, 1, R>, add_to_diagonals<std::is_same_v<R, double>, 2, R>,
    begin_diagonals<std::is_same_v<R, double>>, (std::is_same_v<R, double> ? 4 : 8) * lanes<double>};
