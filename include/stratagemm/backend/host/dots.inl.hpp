// Dot products: rows times a matrix whose columns are contiguous. Included by kernels.hpp in the namespace of the one
// instruction set that has them compiled.

// The sums of neighbours in every 16 bytes, those of x first.
template <class T>
STRATAGEMM_OP auto add_neighbours(T x, T y) {
    if constexpr (sizeof(x[0]) == 4)
        return __builtin_shufflevector(x, y, 0, 2, 4, 6) + __builtin_shufflevector(x, y, 1, 3, 5, 7);
    else
        return __builtin_shufflevector(x, y, 0, 2) + __builtin_shufflevector(x, y, 1, 3);
}
// The sums of four elements, or two, that 16 bytes hold the rest of.
template <class T>
STRATAGEMM_OP auto halves_sum(vec<T> v) {
    if constexpr (sizeof(v) == 16) {
        return v;
    } else {
        using half = typename vector_types<T, 16>::type;
        half low, high;
        asm("vextractf128 $1, %1, %0" : "=x"(high) : "x"(v));
        __builtin_memcpy(&low, &v, sizeof(low));
        return low + high;
    }
}
// A vector, or part of one. Elements of another type are widened. Elements for which there are no masks go through a
// buffer.
template <class T, class From>
STRATAGEMM_OP vec<T> load_whole(From const* p) {
    if constexpr (std::is_same_v<T, From>)
        return load<T>(p);
    else
        return load_as<T, From>(p);
}
template <class T, class From>
STRATAGEMM_OP vec<T> load_end(From const* p, part n) {
    if constexpr (std::is_same_v<T, From> && sizeof(T) >= 4) {
        return load_part<T>(p, n);
    } else {
        From end[lanes<T>] = {};
        __builtin_memcpy(end, p,
                         static_cast<std::size_t>(n.count < lanes<T> ? n.count : lanes<T>) * sizeof(From));
        return load_whole<T>(static_cast<From const*>(end));
    }
}
template <bool Part, class T, class From, int... S>
STRATAGEMM_OP void add_products(vec<accumulated<T>> (&sum)[sizeof...(S)], T const* a,
                                From const* const (&b)[sizeof...(S)], index_t p, part tail,
                                std::integer_sequence<int, S...>) {
    vec<T> const x = Part ? load_end<T>(a + p, tail) : load<T>(a + p);
    (multiply_add<T>(sum[S], x, Part ? load_end<T>(b[S] + p, tail) : load_whole<T>(b[S] + p)), ...);
}
// Dot products of a row and four columns. Each has a chain in each lane of two vectors, so that generated kernels,
// whose vectors are as long as these two, sum in the same order. Where fewer columns are left, the last column is read
// again. B has elements From, whatever the type of its pointer is.
template <class T, class From, int... S>
STRATAGEMM_TARGET __attribute__((noinline)) void dots(block_args<T> const& g, index_t i, index_t j,
                                                      std::integer_sequence<int, S...> all) {
    using Acc = accumulated<T>;
    constexpr int W = lanes<T>;
    index_t const last = g.n - 1 - j;
    T const* const a = g.a + i * g.a_row;
    From const* const b[] = {reinterpret_cast<From const*>(g.b) + (j + (S < last ? S : last)) * g.b_strip...};
    vec<Acc> even[sizeof...(S)] = {}, odd[sizeof...(S)] = {};
    index_t p = 0;
    for (; p + 2 * W <= g.k; p += 2 * W) {
        add_products<false, T, From>(even, a, b, p, part{}, all);
        add_products<false, T, From>(odd, a, b, p + W, part{}, all);
    }
    if (p < g.k) {
        int const left = static_cast<int>(g.k - p);
        add_products<true, T, From>(even, a, b, p, make_part<T>(left), all);
        if (left > W) add_products<true, T, From>(odd, a, b, p + W, make_part<T>(left - W), all);
    }
    Acc sums[4];
    auto* const out = reinterpret_cast<typename vector_types<Acc, 16>::loose*>(sums);
    auto const x = add_neighbours(halves_sum<Acc>(even[0] + odd[0]), halves_sum<Acc>(even[1] + odd[1])),
               y = add_neighbours(halves_sum<Acc>(even[2] + odd[2]), halves_sum<Acc>(even[3] + odd[3]));
    if constexpr (sizeof(Acc) == 4)
        out[0] = add_neighbours(x, y);
    else
        out[0] = x, out[1] = y;
    finish_dots<T>(g, sums, i, j);
}
template <class T, class From = T>
STRATAGEMM_TARGET void dot_products(block_args<T> const& g) {
    for (index_t j = 0; j < g.n; j += 4)
        for (index_t i = 0; i < g.m; ++i) dots<T, From>(g, i, j, rows_of<4>{});
}
