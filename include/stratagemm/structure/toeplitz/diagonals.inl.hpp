// Sums along diagonals, in one instruction set. Included once for each, inside its namespace, by kernels.hpp, which
// defines STRATAGEMM_TARGET and STRATAGEMM_OP.

// sum += x u; `low` gets what the sum rounds away, and the products with the lower halves of x and u. The product of the
// upper halves is exact.
STRATAGEMM_OP void add_halves(vec<double>& sum, vec<double>& low, vec<double> xh, vec<double> xl,
                              vec<double> uh, vec<double> ul) {
    vec<double> const p = xh * uh, s = sum + p, t = s - sum;
    low += ((sum - (s - t)) + (p - t)) + (xl * ul + xl * uh + xh * ul);
    sum = s;
}
template <bool Twofold>
STRATAGEMM_TARGET void add_to_diagonals(double* sum, double* low, diagonal_term const& a,
                                        diagonal_term const& b, index_t n) {
    constexpr index_t W = lanes<double>;
    vec<double> const ah = broadcast<double>(&a.factor), bh = broadcast<double>(&b.factor),
                      al = broadcast<double>(&a.factor_low), bl = broadcast<double>(&b.factor_low);
    index_t i = 0;
    for (; i + W <= n; i += W) {
        vec<double> s = load<double>(sum + i);
        if constexpr (Twofold) {
            vec<double> l = load<double>(low + i);
            add_halves(s, l, ah, al, load<double>(a.numbers + i), load<double>(a.numbers_low + i));
            add_halves(s, l, bh, bl, load<double>(b.numbers + i), load<double>(b.numbers_low + i));
            store<double>(low + i, l);
        } else {
            s += ah * load<double>(a.numbers + i);
            s += bh * load<double>(b.numbers + i);
        }
        store<double>(sum + i, s);
    }
    if (i == n) return;
    // The rest is done as any other sums are, so that bits do not depend on where a diagonal lies.
    double rest[4][2 * W] = {};
    auto const copy = [&](double* to, double const* from) {
        for (index_t l = 0; l < n - i; ++l) to[l] = from[i + l];
    };
    copy(rest[0], sum), copy(rest[1], a.numbers), copy(rest[2], b.numbers);
    if constexpr (Twofold)
        copy(rest[3], low), copy(rest[1] + W, a.numbers_low), copy(rest[2] + W, b.numbers_low);
    diagonal_term const rest_a{a.factor, a.factor_low, rest[1], rest[1] + W},
        rest_b{b.factor, b.factor_low, rest[2], rest[2] + W};
    add_to_diagonals<Twofold>(rest[0], rest[3], rest_a, rest_b, W);
    for (index_t l = 0; l < n - i; ++l) sum[i + l] = rest[0][l];
    if constexpr (Twofold)
        for (index_t l = 0; l < n - i; ++l) low[i + l] = rest[3][l];
}

// to = alpha (sum + low)
template <class R>
STRATAGEMM_TARGET void store_diagonals(double const* sum, double const* low, R* to, double alpha, index_t n) {
    constexpr int W = lanes<double>;
    vec<double> const factor = broadcast<double>(&alpha);
    index_t i = 0;
    for (; i + W <= n; i += W) {
        vec<double> x = load<double>(sum + i);
        if (low) x += load<double>(low + i);
        x *= factor;
        if constexpr (std::is_same_v<R, double>) {
            store<double>(to + i, x);
        } else {
            using half = typename vector_types<float, W* static_cast<int>(sizeof(float))>::type;
            half const narrow = __builtin_convertvector(x, half);
            __builtin_memcpy(to + i, &narrow, sizeof(narrow));
        }
    }
    for (; i < n; ++i) to[i] = static_cast<R>(alpha * (low ? sum[i] + low[i] : sum[i]));
}

inline constexpr diagonal_kernels diagonal_table{add_to_diagonals<false>, add_to_diagonals<true>,
                                                 store_diagonals<float>, store_diagonals<double>};
