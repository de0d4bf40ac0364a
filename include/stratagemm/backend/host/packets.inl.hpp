// How vectors make packets of elements; the vectors end where the elements do. Included by kernels.hpp in the namespace
// of AVX-512, which multiplies packets.

using words = vec<std::int32_t>;

// The first bytes of a vector, or of half a vector; the others are zero.
STRATAGEMM_OP words load_bytes(void const* p, index_t bytes) {
    words v;
    std::uint64_t const mask = bytes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
    asm("vmovdqu8 %1, %0%{%2%}%{z%}"
        : "=v"(v)
        : "m"(*static_cast<loose<std::int32_t> const*>(p)), "Yk"(mask));
    return v;
}
STRATAGEMM_OP words load_half(void const* p, index_t bytes) {
    words v;
    auto const mask =
        static_cast<std::uint32_t>(bytes >= 32 ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1);
    asm("vmovdqu8 %1, %t0%{%2%}%{z%}"
        : "=v"(v)
        : "m"(*static_cast<typename vector_types<std::int32_t, 32>::loose const*>(p)), "Yk"(mask));
    return v;
}

// Rows of k elements that lie side by side become rows of packets, the last of which may end with zeros. `flipped`:
// bits of each packet.
template <class T>
STRATAGEMM_TARGET void copy_packets(T* to, index_t to_row, dotted<T> const* from, index_t from_row,
                                    index_t rows, index_t k, std::int32_t flipped) {
    index_t const bytes = k * index_t{sizeof(dotted<T>)}, whole = bytes / 64, rest = bytes % 64;
    part const end = make_part<T>(static_cast<int>(divide_up(rest, 4)));
    for (; rows > 0; --rows, to += to_row, from += from_row) {
        auto const* const in = reinterpret_cast<char const*>(from);
        auto* const out = reinterpret_cast<std::int32_t*>(to);
        for (index_t p = 0; p < whole; ++p)
            store(out + 16 * p, load(reinterpret_cast<std::int32_t const*>(in + 64 * p)) ^ flipped);
        if (rest) store_part(out + 16 * whole, load_bytes(in + 64 * whole, rest) ^ flipped, end);
    }
}

// A row of 32 packets from as many rows of elements as a packet has, of which `left` are there, and `cols` columns.
template <class T>
STRATAGEMM_OP void join_rows(T* to, dotted<T> const* from, index_t from_row, index_t cols, index_t left,
                             std::int32_t flipped) {
    // The elements of the two vectors below that make the packets: with bytes, four columns of each row.
    words const count{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    constexpr bool pairs = sizeof(dotted<T>) == 2;
    words low = pairs ? count * 0x10001 + (32 << 16) : count / 4 + count % 4 * 8,
          high = low + (pairs ? 0x100010 : 4);
    if constexpr (pairs) {
        words const x = load_bytes(from, 2 * cols),
                    y = left > 1 ? load_bytes(from + from_row, 2 * cols) : words{};
        asm("vpermi2w %2, %1, %0" : "+v"(low) : "v"(x), "v"(y));
        asm("vpermi2w %2, %1, %0" : "+v"(high) : "v"(x), "v"(y));
    } else {
        words a = load_half(from, cols), b = left > 1 ? load_half(from + from_row, cols) : words{},
              c = left > 2 ? load_half(from + 2 * from_row, cols) : words{},
              d = left > 3 ? load_half(from + 3 * from_row, cols) : words{};
        asm("vinserti64x4 $1, %t1, %0, %0" : "+v"(a) : "v"(b));
        asm("vinserti64x4 $1, %t1, %0, %0" : "+v"(c) : "v"(d));
        words const columns =
            count % 4 * 0x01010101 + 0x0c080400; // the four elements of each of these columns
        asm("vpermi2d %2, %1, %0\n\tvpshufb %3, %0, %0" : "+&v"(low) : "v"(a), "v"(c), "v"(columns));
        asm("vpermi2d %2, %1, %0\n\tvpshufb %3, %0, %0" : "+&v"(high) : "v"(a), "v"(c), "v"(columns));
    }
    auto* const out = reinterpret_cast<std::int32_t*>(to);
    store(out, low ^ flipped);
    if (cols > 16) store(out + 16, high ^ flipped);
}
// k rows of elements that lie side by side become rows of packets, in strips of 32 columns, `strip_apart` apart, of
// which 16 or 32 columns are written.
template <class T>
STRATAGEMM_TARGET void join_packets(T* to, index_t strip_apart, dotted<T> const* from, index_t from_row,
                                    index_t k, index_t cols, std::int32_t flipped) {
    constexpr index_t length = 4 / sizeof(dotted<T>), strip = 2 * lanes<T>, together = 4 * length;
    // Four rows of packets are written at a time, so that neighbouring writes are side by side.
    for (index_t p = 0; p < k; p += together)
        for (index_t s = 0; s < cols; s += strip)
            for (index_t q = p; q < k && q < p + together; q += length)
                join_rows(to + s / strip * strip_apart + q / length * strip, from + q * from_row + s,
                          from_row, smaller(cols - s, strip), k - q, flipped);
}
