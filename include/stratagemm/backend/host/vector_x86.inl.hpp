// The operations that x86-64 vectors of every width share. Included by kernels.hpp in the namespace of each, after
// STRATAGEMM_VECTORS and the masks.

template <class T>
STRATAGEMM_OP vec<T> broadcast(T const* p) {
    vec<T> v;
    if constexpr (sizeof(T) == 8 && lanes<T> == 2)
        asm("vmovddup %1, %0" : "=v"(v) : "m"(*p)); // there is no broadcast of this width
    else if constexpr (sizeof(T) == 8)
        asm("vbroadcastsd %1, %0" : "=v"(v) : "m"(*p));
    else
        asm("vbroadcastss %1, %0" : "=v"(v) : "m"(*p));
    return v;
}
template <class T>
STRATAGEMM_OP void multiply_add(vec<accumulated<T>>& c, vec<T> a, vec<T> b) {
    if constexpr (std::is_same_v<T, double>)
        asm("vfmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    else if constexpr (std::is_same_v<T, float>)
        asm("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    else if constexpr (std::is_same_v<T, bfloat16_pair> || std::is_same_v<T, bfloat16>)
        asm("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    else if constexpr (std::is_same_v<T, int8_quad> || std::is_same_v<T, std::int8_t>)
        asm("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b)); // a is unsigned
    else {
        vec<T> products;
        asm("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(a), "v"(b));
        c += products;
    }
}
// One element of A times one vector of B: with AVX-512 the broadcast is part of the instruction. The product with two
// vectors, below, shares the broadcast.
template <class T>
STRATAGEMM_OP void multiply_add_row(vec<accumulated<T>>& c, T const* a, vec<T> b) {
    if constexpr (masked && std::is_same_v<T, double>)
        asm("vfmadd231pd %1%{1to8%}, %2, %0" : "+v"(c) : "m"(*a), "v"(b));
    else if constexpr (masked && std::is_same_v<T, float>)
        asm("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(c) : "m"(*a), "v"(b));
    else
        multiply_add<T>(c, broadcast<T>(a), b);
}
// One step of k for one row of a tile.
template <class T, int NV>
STRATAGEMM_OP void step_row(vec<accumulated<T>> (&c)[NV], T const* a, vec<T> const (&b)[NV]) {
    vec<T> x;
    if constexpr (NV == 1)
        multiply_add_row<T>(c[0], a, b[0]);
    else if constexpr (std::is_same_v<T, double>)
        asm("vbroadcastsd %3, %2\n\tvfmadd231pd %4, %2, %0\n\tvfmadd231pd %5, %2, %1"
            : "+v"(c[0]), "+v"(c[1]), "=&v"(x)
            : "m"(*a), "v"(b[0]), "v"(b[1]));
    else if constexpr (std::is_same_v<T, float>)
        asm("vbroadcastss %3, %2\n\tvfmadd231ps %4, %2, %0\n\tvfmadd231ps %5, %2, %1"
            : "+v"(c[0]), "+v"(c[1]), "=&v"(x)
            : "m"(*a), "v"(b[0]), "v"(b[1]));
    else {
        x = broadcast<T>(a);
        multiply_add<T>(c[0], x, b[0]);
        multiply_add<T>(c[1], x, b[1]);
    }
}
// c = alpha sum + beta e, written as one statement: this end is most of the code of a tile.
template <class T>
STRATAGEMM_OP void finish(T* c, vec<T> sum, vec<T> alpha, vec<T> beta, T const* e) {
    auto& to = *reinterpret_cast<loose<T>*>(c);
    auto const& from = *reinterpret_cast<loose<T> const*>(e);
    vec<T> x;
    if constexpr (std::is_same_v<T, double>)
        asm("vmulpd %2, %4, %1\n\tvfmadd231pd %3, %5, %1\n\tvmovupd %1, %0"
            : "=m"(to), "=&v"(x)
            : "m"(from), "v"(sum), "v"(beta), "v"(alpha));
    else if constexpr (std::is_same_v<T, float>)
        asm("vmulps %2, %4, %1\n\tvfmadd231ps %3, %5, %1\n\tvmovups %1, %0"
            : "=m"(to), "=&v"(x)
            : "m"(from), "v"(sum), "v"(beta), "v"(alpha));
    else
        store<T>(c, modular_sum<T>(alpha, sum, beta, load<T>(e)));
}
// The vector with the elements of each pair exchanged.
template <class T>
STRATAGEMM_OP vec<T> exchange_pairs(vec<T> v) {
    vec<T> x;
    if constexpr (sizeof(T) == 8)
        asm("vpermilpd $0x55, %1, %0" : "=v"(x) : "v"(v));
    else
        asm("vpermilps $0xb1, %1, %0" : "=v"(x) : "v"(v));
    return x;
}
// A vector of floats from as many elements of 16 or 8 bits.
template <class T, class From>
STRATAGEMM_OP vec<T> load_as(From const* p) {
    constexpr int bytes = lanes<T> * static_cast<int>(sizeof(From));
    vec<T> v;
    if constexpr (std::is_same_v<From, std::int8_t>)
        asm("vpmovsxbd %1, %0\n\tvcvtdq2ps %0, %0"
            : "=v"(v)
            : "m"(*reinterpret_cast<typename vector_types<char, bytes>::loose const*>(p)));
    else if constexpr (std::is_same_v<From, half>)
        asm("vcvtph2ps %1, %0"
            : "=v"(v)
            : "m"(*reinterpret_cast<typename vector_types<char, bytes>::loose const*>(p)));
    else
        asm("vpmovzxwd %1, %0\n\tvpslld $16, %0, %0"
            : "=v"(v)
            : "m"(*reinterpret_cast<typename vector_types<char, bytes>::loose const*>(p)));
    return v;
}
