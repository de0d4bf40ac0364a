// Kernels that wait for memory more than for arithmetic: sums of matrices, and a few rows times a matrix. Included by
// kernels.hpp after kernel.inl.hpp. AVX-512 runs the kernels of AVX2, unless B is widened.

// c = alpha b + beta e, some elements. A function, since all kernels for few rows end with it.
template <class Acc>
STRATAGEMM_TARGET __attribute__((noinline)) void finish_line(Acc* c, Acc const* b, Acc a, Acc beta_of_e,
                                                             Acc const* e, index_t n) {
    constexpr int W = lanes<Acc>;
    vec<Acc> const alpha = broadcast<Acc>(&a), beta = broadcast<Acc>(&beta_of_e);
    index_t const e_step = beta_of_e == Acc(0) ? 0 : W; // E is not read
    if (e_step == 0) e = nothing_added<Acc>.at;
    for (; n >= W; n -= W, c += W, b += W, e += e_step) finish<Acc>(c, load<Acc>(b), alpha, beta, e);
    if (n == 0) return;
    auto const tail = make_part<Acc>(static_cast<int>(n));
    if constexpr (masked) {
        finish_part<Acc>(c, load_part<Acc>(b, tail), alpha, beta, e, tail);
    } else {
        Acc end[W];
        store<Acc>(end, load_part<Acc>(e, tail));
        finish<Acc>(end, load_part<Acc>(b, tail), alpha, beta, end);
        store_part<Acc>(c, load<Acc>(end), tail);
    }
}
// C = alpha B + beta E.
template <class Acc>
STRATAGEMM_TARGET void add(block_args<Acc> const& g) {
    index_t const e_row = g.beta == Acc(0) ? 0 : g.e_row;
    for (index_t i = 0; i < g.m; ++i)
        finish_line<Acc>(g.c + i * g.c_row, g.b + i * g.b_row, g.alpha, g.beta, e_row ? g.e + i * e_row : g.e,
                         g.n);
}

// Sums of real parts times both parts, and of imaginary parts times both: those of complex products.
template <class T>
STRATAGEMM_OP void join_vector(T* c, T const* real, T const* imag, T const (&signs)[2][lanes<T>],
                               vec<T> alpha, vec<T> beta, T const* e) {
    vec<T> sum = load<T>(signs[0]) * load<T>(real);
    multiply_add<T>(sum, load<T>(signs[1]), exchange_pairs<T>(load<T>(imag)));
    finish<T>(c, sum, alpha, beta, e);
}
template <class T>
STRATAGEMM_TARGET void join(block_args<T> const& g, bool conjugate_a, bool conjugate_b) {
    constexpr int W = lanes<T>;
    vec<T> const alpha = broadcast<T>(&g.alpha), beta = broadcast<T>(&g.beta);
    T signs[2][W];
    for (int l = 0; l < W; l += 2) {
        signs[0][l] = 1, signs[0][l + 1] = conjugate_b ? T(-1) : T(1);
        signs[1][l] = conjugate_a == conjugate_b ? T(-1) : T(1), signs[1][l + 1] = conjugate_a ? T(-1) : T(1);
    }
    bool const adds = g.beta != T(0);
    for (index_t i = 0; i < g.m; ++i) {
        T const *real = g.b + 2 * i * g.b_row, *imag = real + g.b_row;
        T const* e = adds ? g.e + i * g.e_row : nothing_added<T>.at;
        T* c = g.c + i * g.c_row;
        index_t n = g.n;
        for (; n >= W; n -= W, real += W, imag += W, c += W, e += adds ? W : 0)
            join_vector<T>(c, real, imag, signs, alpha, beta, e);
        if (n == 0) continue;
        T ends[4][W] = {};
        for (int l = 0; l < n; ++l) ends[0][l] = real[l], ends[1][l] = imag[l], ends[2][l] = e[l];
        join_vector<T>(ends[3], ends[0], ends[1], signs, alpha, beta, ends[2]);
        for (int l = 0; l < n; ++l) c[l] = ends[3][l];
    }
}

// Elements of a row, as numbers: as many as a vector has, or part of them.
template <class T, class From>
STRATAGEMM_OP vec<T> load_row(From const* p, part tail, index_t count) {
    if constexpr (std::is_same_v<T, From>) {
        return load_part<T>(p, tail);
    } else {
        constexpr int W = lanes<T>;
        if (count >= W) return load_as<T, From>(p);
        From last[W] = {};
        __builtin_memcpy(last, p, static_cast<std::size_t>(count) * sizeof(From));
        return load_as<T, From>(last);
    }
}
// Sums += A B for some rows of B, one after the other, kept in registers for all rows of A. The next rows of B are
// fetched if g.ahead is set.
template <class T, class From, int... R>
STRATAGEMM_TARGET inline void add_rows(block_args<T> const& g, T const* a, From const* b, T* sums,
                                       index_t width, index_t n, std::integer_sequence<int, R...>) {
    constexpr int W = lanes<T>;
    index_t const b_row = g.b_row, a_row = g.a_row, a_col = g.a_col;
    for (index_t j = 0; j < n; j += W) {
        auto const tail = make_part<T>(static_cast<int>(n - j < W ? n - j : W));
        vec<T> const row[] = {load_row<T>(b + R * b_row + j, tail, n - j)...};
        if (g.ahead) (__builtin_prefetch(b + (R + index_t{sizeof...(R)}) * b_row + j), ...);
        T const* x = a;
        T* s = sums + j;
        for (index_t i = g.m; i > 0; --i, x += a_row, s += width) {
            vec<T> sum = load<T>(s);
            (multiply_add_row<T>(sum, x + R * a_col, row[R]), ...);
            store<T>(s, sum);
        }
    }
}

// A few rows times a piece of a matrix whose rows are contiguous, eight rows of B at a time, so that B streams through
// once while the sums stay in the first-level cache. B has elements From, whatever the type of its pointer is.
template <class T, class From = T>
STRATAGEMM_TARGET void rows_times_rows(block_args<T> const& g) {
    constexpr index_t room = 16384 / sizeof(T), W = lanes<T>;
    alignas(64) T sums[room];
    index_t const most = room / g.m / W * W, width = g.n < most ? (g.n + W - 1) / W * W : most;
    for (index_t from = 0; from < g.n; from += width) {
        index_t const n = g.n - from < width ? g.n - from : width;
        for (index_t j = 0; j < g.m * width; j += W) store<T>(sums + j, vec<T>{});
        T const* a = g.a;
        From const* b = reinterpret_cast<From const*>(g.b) + from;
        for (index_t left = g.k, step; left > 0; left -= step, a += step * g.a_col, b += step * g.b_row) {
            step = left >= 8 ? 8 : 1;
            if (step == 8)
                add_rows<T>(g, a, b, sums, width, n, rows_of<8>{});
            else
                add_rows<T>(g, a, b, sums, width, n, rows_of<1>{});
        }
        for (index_t i = 0; i < g.m; ++i)
            finish_line<T>(g.c + i * g.c_row + from, sums + i * width, g.alpha, g.beta,
                           g.e ? g.e + i * g.e_row + from : nullptr, n);
    }
}
