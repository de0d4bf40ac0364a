// The generator and normal numbers, in one instruction set: backend/host/each_isa.inl.hpp includes this once for each.
// device.hpp has the same steps in the dialect.

// The operations of single_word, for a vector.
struct vector_words {
    static constexpr int bytes = 4 * lanes<float>;
    typedef std::uint32_t type __attribute__((vector_size(bytes)));
    typedef std::uint64_t pairs __attribute__((vector_size(bytes)));

    STRATAGEMM_OP static type all(std::uint32_t x) { return x - type{}; }
    STRATAGEMM_OP static pairs even_products(pairs a, pairs b) {
#ifdef STRATAGEMM_ON_X86
        pairs c;
        asm("vpmuludq %2, %1, %0" : "=v"(c) : "v"(a), "v"(b));
        return c;
#else
        return (a & 0xffffffff) * (b & 0xffffffff);
#endif
    }
    STRATAGEMM_OP static type high(type a, type b) {
        pairs const x = __builtin_bit_cast(pairs, a), y = __builtin_bit_cast(pairs, b);
        return __builtin_bit_cast(type, even_products(x, y) >> 32 |
                                            (even_products(x >> 32, y >> 32) & 0xffffffff00000000));
    }
    STRATAGEMM_OP static void product(type a, type b, type& above, type& below) {
        pairs const x = __builtin_bit_cast(pairs, a), y = __builtin_bit_cast(pairs, b),
                    even = even_products(x, y), odd = even_products(x >> 32, y >> 32);
        above = __builtin_bit_cast(type, even >> 32 | (odd & 0xffffffff00000000));
        below = __builtin_bit_cast(type, (even & 0xffffffff) | odd << 32);
    }
};

// The four words of a counter under a key become random ones.
template <class W>
STRATAGEMM_OP void draw(typename W::type (&c)[4], std::uint32_t key, std::uint32_t second_key) {
    using word = typename W::type;
    STRATAGEMM_UNROLLED
    for (int round = 0; round < philox::rounds; ++round) {
        word high_0, low_0, high_1, low_1;
        W::product(c[0], W::all(philox::first), high_0, low_0);
        W::product(c[2], W::all(philox::second), high_1, low_1);
        c[0] = high_1 ^ c[1] ^ W::all(key), c[1] = low_1;
        c[2] = high_0 ^ c[3] ^ W::all(second_key), c[3] = low_0;
        key += philox::first_key, second_key += philox::second_key;
    }
}

template <class W, int Terms>
STRATAGEMM_OP typename W::type series(std::uint32_t const (&c)[Terms], typename W::type t) {
    typename W::type x = W::all(c[Terms - 1]);
    STRATAGEMM_UNROLLED
    for (int i = Terms - 2; i >= 0; --i) x = W::all(c[i]) + W::high(x, t);
    return x;
}
template <class W, int Terms>
STRATAGEMM_OP typename W::type alternating(std::uint32_t const (&c)[Terms], typename W::type t) {
    typename W::type x = W::all(c[Terms - 1]);
    STRATAGEMM_UNROLLED
    for (int i = Terms - 2; i >= 0; --i) x = W::all(c[i]) - W::high(x, t);
    return x;
}

// The normal numbers of the uniform words `radius` and `angle`, in units of 2^-28, as words in two's complement.
template <class W>
STRATAGEMM_OP void two_normals(typename W::type radius, typename W::type angle, typename W::type& x,
                               typename W::type& y) {
    using word = typename W::type;
    using of = normal_tables;
    // u = f 2^-n in units of 2^-32, where f has its highest bit; it is odd, in the middle of two words.
    word const zero = W::all(0);
    word f = radius | 1u, n = zero;
    STRATAGEMM_UNROLLED
    for (std::uint32_t step = 16; step > 0; step /= 2) {
        auto const none = f >> (32 - step) == zero;
        f = none ? f << step : f, n = none ? n + W::all(step) : n;
    }
    // -log2(u) = n + g, by the logarithm of a number from sqrt(1/2) on; g in units of 2^-31.
    auto const is_low = f < W::all(of::least_root);
    f = is_low ? f + W::high(f, W::all(of::root_of_two)) : f;
    word const t = 0u - f, g = W::high(series<W>(of::logarithm, t), t) + (is_low ? W::all(1u << 30) : zero);
    // Its square root, by that of a in [1/4, 1), in units of 2^-32; that of n + g is `down` powers of two below 8.
    auto const is_first = n == zero;
    word a = is_first ? g >> 1u : (n << 26u) + (g >> 5u), down = is_first ? W::all(2) : zero;
    STRATAGEMM_UNROLLED
    for (std::uint32_t step = 16; step > 1; step /= 2) {
        auto const none = a >> (32 - step) == zero;
        a = none ? a << step : a, down = none ? down + W::all(step / 2) : down;
    }
    word z = alternating<W>(of::inverse_root, a) << 2u, k = 0xc0000000u - (W::high(a, W::high(z, z)) << 2u);
    z = W::high(z, k) << 2u, k = 0xc0000000u - W::high(a, W::high(z, z)), z = W::high(z, k) << 1u;
    word const root = W::high(a, z) << 1u;
    // The angle within its quarter, from either axis, and a sign for each number.
    word const from_x = angle << 2u | 2u, from_y = 0u - from_x;
    word const sine = W::high(alternating<W>(of::sine, W::high(from_x, from_x)), from_x),
               cosine = W::high(alternating<W>(of::sine, W::high(from_y, from_y)), from_y);
    word const x_sign = 0u - (angle >> 31u), y_sign = 0u - (angle >> 30u & 1u);
    x = ((W::high(root, sine) >> down) ^ x_sign) - x_sign;
    y = ((W::high(root, cosine) >> down) ^ y_sign) - y_sign;
}

// The normal numbers of a block of rows, in columns [column, column + count): four lines of `stride` numbers. `count`
// is rounded up to whole vectors.
STRATAGEMM_TARGET inline void normals_of_block(sketch_block const& b, index_t count, std::int32_t* to,
                                               index_t stride) {
    using word = vector_words::type;
    word column = vector_words::all(b.column);
    for (int l = 0; l < lanes<float>; ++l) column[l] += static_cast<std::uint32_t>(l);
    for (index_t j = 0; j < count; j += lanes<float>, column += static_cast<std::uint32_t>(lanes<float>)) {
        word c[] = {vector_words::all(b.block), column, vector_words::all(b.stream), vector_words::all(0)};
        draw<vector_words>(c, b.key, b.second_key);
        STRATAGEMM_UNROLLED
        for (int half = 0; half < 2; ++half) {
            word x, y;
            two_normals<vector_words>(c[2 * half], c[2 * half + 1], x, y);
            __builtin_memcpy(to + 2 * half * stride + j, &x, sizeof(x));
            __builtin_memcpy(to + (2 * half + 1) * stride + j, &y, sizeof(y));
        }
    }
}
