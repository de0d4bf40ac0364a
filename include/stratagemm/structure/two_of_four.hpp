// Sparse matrices with two elements, at most, of each four neighbours in a row (2:4).
//
//   sg::two_of_four<sg::half> a{m, k, values, positions};      borrows the arrays
//   sg::gemm(gpu, a, b, c);
//   auto x = sg::to_two_of_four(gpu, dense);                   refuses a third element that is not zero
//   auto y = sg::prune_to_two_of_four(gpu, dense);             keeps the two largest of each four
//
// k is a multiple of 4. Elements 2 g and 2 g + 1 of row i of `values`, m x k/2, belong to the columns from 4 g to 4 g +
// 3. Four bits of `positions` say where they are: the two lower ones for the first element, the two upper ones for the
// second, which is further right. two_of_four_place() gives the place of these four bits. Both elements are multiplied,
// also if they are zero; the other two columns are not.
//
// On CUDA devices of sm_90a, A B and B A^T in half and bfloat16 run on the tensor cores, which have instructions for
// such matrices, if the rows of the values begin at multiples of 16 bytes. B is copied first, if neither its rows nor
// its columns do. Every other product lists the elements by rows, and multiplies them as a csr.
#pragma once

#include "csr.hpp"
#include "two_of_four/warpgroups.hpp"

#include <cmath>
#include <utility>
#include <vector>

STRATAGEMM_BEGIN

template <policy P>
class two_of_four_product;

// ---- positions --------------------------------------------------------------------------------------------

// Positions are in the order in which threads take them: 128 words of 32 bits for 64 rows and 64 columns, and blocks of
// these by rows. Word 32 w + 4 r + q of a block has the rows 16 w + r, in its lower half, and 16 w + r + 8. For each of
// these rows the word has the columns 16 q to 16 q + 15, four bits for each four columns. Bits of rows and columns that
// the matrix does not have may be anything.
constexpr index_t two_of_four_words(index_t rows, index_t cols) {
    return (rows + 63) / 64 * ((cols + 63) / 64) * 128;
}
struct four_bits {
    index_t word;
    int shift;
};
// The place of the positions of row i, columns 4 group to 4 group + 3, in a matrix of `cols` columns.
constexpr four_bits two_of_four_place(index_t cols, index_t i, index_t group) {
    index_t const block = i / 64 * ((cols + 63) / 64) + group / 16;
    return {block * 128 + i % 64 / 16 * 32 + i % 8 * 4 + group % 16 / 4,
            static_cast<int>(i / 8 % 2 * 16 + group % 4 * 4)};
}

// ---- operand ----------------------------------------------------------------------------------------------

template <class T>
struct two_of_four_form {
    using value_type = T;
    using index_type = std::int32_t;
    static constexpr bool has_facts = true, is_sparse = true;
    template <class P>
    requires P::is_backend using over = two_of_four_product<P>;

    bool conjugate = false;
    bool aligned = true; // values and positions are as tensor cores take them

    turned_form<two_of_four_form> transposed() const { return {*this, false}; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t cols) const {
        return bytes_of_lists<Arena, T, index_type>(rows, most(rows, cols));
    }
    index_t most(index_t rows, index_t cols) const { return rows * (cols / 2); }
    index_t likely(index_t rows, index_t cols) const { return most(rows, cols); }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "two of four, listed first; "; }
};

inline constexpr char two_of_four_text[] = R"(
KERNEL(ITEMS) list_two_of_four(BUFFER(int const, positions), MATRIX(IN const, from_values), BUFFER(INDEX, begins),
                               BUFFER(INDEX, columns), BUFFER(IN, values), index rows, index half_cols, index across) {
    OPEN(int const, positions);
    OPEN(IN const, from_values);
    OPEN(INDEX, begins);
    OPEN(INDEX, columns);
    OPEN(IN, values);
    for (EACH(i, rows + 1)) begins[i] = (INDEX)(i * half_cols);
    for (EACH(at, rows * half_cols)) {
        index const i = at / half_cols, e = at % half_cols, group = e / 2;
        index const word = (i / 64 * across + group / 16) * 128 + i % 64 / 16 * 32 + i % 8 * 4 + group % 16 / 4;
        uint const bits = (uint)positions[word] >> (i / 8 % 2 * 16 + group % 4 * 4 + e % 2 * 2);
        scalar const element = LOAD(IN, from_values, AT(from_values, i, e));
        columns[at] = (INDEX)(4 * group + (index)(bits & 3));
        STORE(IN, values, at, CONVERT(OUT_VALUE, (value)element));
    }
}
)";

template <class T, class Space = host_memory>
struct two_of_four {
    using value_type = T;
    using space = Space;
    using form = two_of_four_form<T>;
    using index_type = std::int32_t;
    static constexpr int most_views = 2;

    index_t rows = 0, cols = 0;
    view<T const, Space> values{};                                   // rows x cols / 2
    typename Space::template handle<std::int32_t const> positions{}; // two_of_four_words(rows, cols)
    accumulator_t<T> scale{1};
    bool conjugate = false;

    form facts() const { return {conjugate, is_aligned_two_of_four(values, positions)}; }
    template <class F>
    void each_view(F&& f) const {
        index_t const words = two_of_four_words(rows, cols);
        f(values);
        f(view<std::int32_t const, Space>{positions, 1, words, words, 1});
    }
    turned<two_of_four> transposed() const { return turn(*this); }
    status usable() const {
        if (cols % 4 != 0)
            return failure(
                errc::shape,
                "two_of_four: the number of columns must be a multiple of 4; add columns of zeros");
        if (values.rows != rows || values.cols != cols / 2)
            return failure(errc::shape,
                           "two_of_four: the values must have half as many columns as the matrix");
        if (!can_count<index_type>(rows, cols / 2))
            return failure(errc::overflow,
                           "two_of_four: there are more elements than 32-bit indices can count");
        return {};
    }
    // On the host: the column of element e of row i.
    index_t column(index_t i, index_t e) const requires std::is_same_v<Space, host_memory> {
        auto const [word, shift] = two_of_four_place(cols, i, e / 2);
        auto const bits = static_cast<std::uint32_t>(positions[word]) >> (shift + e % 2 * 2);
        return e / 2 * 4 + static_cast<index_t>(bits & 3);
    }
    status check() const requires std::is_same_v<Space, host_memory> {
        if (status s = usable(); !s) return s;
        for (index_t i = 0; i < rows; ++i)
            for (index_t e = 0; e < cols / 2; e += 2)
                if (column(i, e) >= column(i, e + 1)) {
                    char text[120];
                    __builtin_snprintf(text, sizeof(text),
                                       "the two positions do not rise in row %td, columns %td to %td", i,
                                       2 * e, 2 * e + 3);
                    return failure(errc::argument, "two_of_four", text);
                }
        return {};
    }
    template <class Leaf, class Arena>
    result<csr<T, index_type, Space>> listed(Leaf const& leaf, Arena& memory) const {
        index_t const half_cols = cols / 2, elements = rows * half_cols;
        auto const begins = memory.template take<index_type>(rows + 1);
        auto const columns = memory.template take<index_type>(elements);
        auto const to_values = memory.template take<T>(elements);
        if constexpr (host_leaf<Leaf>) {
            (void)leaf;
            for (index_t i = 0; i <= rows; ++i) begins[i] = static_cast<index_type>(i * half_cols);
            for (index_t i = 0; i < rows; ++i)
                for (index_t e = 0; e < half_cols; ++e) {
                    columns[i * half_cols + e] = static_cast<index_type>(column(i, e));
                    to_values[i * half_cols + e] = values(i, e);
                }
        } else {
            index_t const work = elements > rows ? elements : rows + 1;
            status s = leaf.launch(list_kernel<T, index_type>("list_two_of_four", two_of_four_text, ""),
                                   groups_for_each(work, 256), positions, values, begins, columns, to_values,
                                   rows, half_cols, (cols + 63) / 64);
            if (!s) return s;
        }
        return csr<T, index_type, Space>{rows, cols, begins, columns, to_values, elements, scale, conjugate};
    }
};
static_assert(sparse_operand<two_of_four<float>>);

// ---- products ---------------------------------------------------------------------------------------------

template <class Form>
inline constexpr bool is_two_of_four = false;
template <class T>
inline constexpr bool is_two_of_four<two_of_four_form<T>> = true;
template <class Form>
inline constexpr bool is_turned_two_of_four = false;
template <class T>
inline constexpr bool is_turned_two_of_four<turned_form<two_of_four_form<T>>> = true;

// Products with such a matrix on the left, or its transposed on the right, stay as they are if the device has a kernel
// for them. All other products are those of csr_product.
template <policy P>
class two_of_four_product : public csr_product<P> {
public:
    using typename csr_product<P>::arena;
    using typename csr_product<P>::space;

private:
    template <class S>
    bool stays(S const& s) const {
        if constexpr (is_two_of_four<typename S::a_form>)
            return s.a_facts.aligned && has_two_of_four_kernel<space, typename S::a_type>(this->leaf());
        else if constexpr (is_turned_two_of_four<typename S::b_form>)
            return s.b_facts.of.aligned && has_two_of_four_kernel<space, typename S::a_type>(this->leaf());
        else
            return false;
    }
    // Rows and columns of the product with the sparse matrix on the left.
    template <class S>
    static std::pair<index_t, index_t> sides(S const& s) {
        if constexpr (is_two_of_four<typename S::a_form>)
            return {s.m, s.n};
        else
            return {s.n, s.m};
    }
    template <class T>
    static index_t aligned_length(index_t n) {
        constexpr index_t unit = 16 / static_cast<index_t>(sizeof(T));
        return (n + unit - 1) / unit * unit;
    }

public:
    using csr_product<P>::csr_product;

    // A copy of B, if the hardware cannot fetch it as it is.
    template <class S>
    footprint workspace(S const& s) const {
        using T = typename S::a_type;
        if (!stays(s)) return csr_product<P>::workspace(s);
        footprint need;
        space::share(need) =
            arena::rounded(static_cast<std::size_t>(s.k * aligned_length<T>(sides(s).second)) * sizeof(T));
        return need;
    }
    template <class Q>
    footprint workspace_for(Q const& p) const {
        auto const s = p.shape();
        return stays(s) ? workspace(s) : csr_product<P>::workspace_for(p);
    }
    // Tensor cores truncate where other units round, about once for 32 terms.
    template <class S>
    bound error_bound(S const& s) const {
        bound b = csr_product<P>::error_bound(s);
        if (stays(s)) b = {2 * b.worst, b.expected + static_cast<double>(s.k) / 16 * unit_roundoff<float>()};
        return b;
    }
    template <class S>
    double estimate(S const& s) const {
        if constexpr (warpgroup_leaf<leaf_of<P>, space>)
            if (stays(s)) {
                auto const [m, n] = sides(s);
                return estimate_two_of_four(m, n, s.k, this->leaf().warpgroup_units()) *
                           static_cast<double>(s.count) +
                       5e-6;
            }
        return csr_product<P>::estimate(s);
    }
    template <class S>
    std::string describe(S const& s) const {
        if constexpr (warpgroup_leaf<leaf_of<P>, space>)
            if (stays(s)) {
                auto const [m, n] = sides(s);
                auto const tile = choose_two_of_four_tiling(m, n, this->leaf().warpgroup_units());
                return "two of four on the tensor cores, tiles of " + std::to_string(tile.rows) + " x " +
                       std::to_string(tile.cols);
            }
        return csr_product<P>::describe(s);
    }
    template <class Q>
    status operator()(Q const& p, arena& memory) const {
        if constexpr (may_have_two_of_four_kernel<leaf_of<P>, space, typename Q::a_type> &&
                      (is_two_of_four<typename Q::a_operand::form> ||
                       is_turned_two_of_four<typename Q::b_operand::form>))
            if (stays(p.shape())) {
                for (index_t i = 0; i < p.count; ++i) {
                    status s;
                    if constexpr (is_two_of_four<typename Q::a_operand::form>)
                        s = multiply(p.at(i), false, memory);
                    else // C^T = B^T A^T
                        s = multiply(p.at(i).transposed(), true, memory);
                    if (!s) return s;
                }
                return {};
            }
        return csr_product<P>::operator()(p, memory);
    }

private:
    template <class Q>
    status multiply(Q p, bool turned, arena& memory) const {
        using T = typename Q::a_type;
        typename arena::scope const scope(memory);
        p.alpha = scaled_by(p.alpha, p.a.scale);
        if (!has_aligned_rows(p.b) && !has_aligned_rows(p.b.transposed())) {
            index_t const length = aligned_length<T>(p.b.cols);
            view<T, space> const copy{memory.template take<T>(p.b.rows * length), p.b.rows, p.b.cols, length,
                                      1};
            if (status s = this->leaf().copy(p.b, copy); !s) return s;
            p.b = copy;
        }
        auto const tile = choose_two_of_four_tiling(p.c.rows, p.c.cols, this->leaf().warpgroup_units());
        return multiply_two_of_four(this->leaf(), p, tile, turned);
    }
};

// ---- conversions ------------------------------------------------------------------------------------------

// A work-item writes a word of positions, and the elements that the word describes. If PRUNES, it keeps the largest
// elements. Otherwise it keeps those that are not zero, and refused[GROUP] becomes the first place with more than two
// in each group of work-items.
inline constexpr char pack_two_of_four_text[] = R"(
#if COMPLEX
#define SIZE(of) (fabs((of).x) + fabs((of).y))
#define IS_ZERO(of) ((of).x == 0 && (of).y == 0)
#elif INTEGER
#define SIZE(of) ((value)(of) < 0 ? 0u - (uint)(of) : (uint)(of))
#define IS_ZERO(of) ((of) == 0)
#else
#define SIZE(of) fabs(of)
#define IS_ZERO(of) ((of) == 0)
#endif
/* NaN is larger than any number. */
#define AHEAD(w, of) (size[w] > size[of] || (size[w] != size[w] && size[of] == size[of]))
KERNEL(ITEMS) pack_two_of_four(MATRIX(IN const, from), MATRIX(IN, values), BUFFER(int, positions),
                               BUFFER(index, refused), index rows, index cols, index across, index words) {
    SHARED ulong first_refused[ITEMS];
    OPEN(IN const, from);
    OPEN(IN, values);
    OPEN(int, positions);
    OPEN(index, refused);
    ulong mine = (ulong)rows * (ulong)cols;
    for (EACH(at, words)) {
        index const block = at / 128, in_block = at % 128;
        index const i0 = block / across * 64 + in_block / 32 * 16 + in_block % 32 / 4;
        index const j0 = block % across * 64 + in_block % 4 * 16;
        uint word = 0;
        for (int g = 0; g < 8; ++g) {
            index const i = i0 + g / 4 * 8, j = j0 + g % 4 * 4;
            int first = 0, second = 1;
            if (i < rows && j < cols) {
                real size[4];
                int count = 0;
                for (int w = 0; w < 4; ++w) {
                    scalar const element = LOAD(IN, from, AT(from, i, j + w));
#if PRUNES
                    size[w] = SIZE(element);
#else
                    size[w] = IS_ZERO(element) ? 0 : 1;
                    count += IS_ZERO(element) ? 0 : 1;
#endif
                }
                if (count > 2) mine = min(mine, (ulong)(i * cols + j));
                for (int w = 1; w < 4; ++w)
                    if (AHEAD(w, first)) first = w;
                second = first == 0 ? 1 : 0;
                for (int w = second + 1; w < 4; ++w)
                    if (w != first && AHEAD(w, second)) second = w;
                int const left = min(first, second), right = max(first, second);
                first = left, second = right;
                scalar const one = LOAD(IN, from, AT(from, i, j + first));
                scalar const other = LOAD(IN, from, AT(from, i, j + second));
                STORE(IN, values, AT(values, i, j / 2), CONVERT(OUT_VALUE, (value)one));
                STORE(IN, values, AT(values, i, j / 2 + 1), CONVERT(OUT_VALUE, (value)other));
            }
            word |= (uint)(first | second << 2) << (g * 4);
        }
        positions[at] = (int)word;
    }
    first_refused[ITEM] = mine;
    BARRIER();
    if (ITEM == 0) {
        for (int w = 1; w < ITEMS; ++w) mine = min(mine, first_refused[w]);
        refused[GROUP] = (index)mine;
    }
}
)";

template <class S>
double size_to_prune(S const& x) {
    if constexpr (complex_like<S>)
        return std::fabs(static_cast<double>(x.real())) + std::fabs(static_cast<double>(x.imag()));
    else
        return std::fabs(static_cast<double>(x));
}
// The first place i cols + j with a third element, or rows * cols.
template <class T>
index_t pack_on_host(view<T const> const& x, bool prunes, view<T> const& values, std::int32_t* positions) {
    using S = accumulator_t<T>;
    index_t refused = x.rows * x.cols;
    index_t const words = two_of_four_words(x.rows, x.cols);
    for (index_t at = 0; at < words; ++at) positions[at] = 0x44444444;
    double size[4] = {};
    auto const ahead = [&](int w, int of) {
        return size[w] > size[of] || (is_nan(size[w]) && !is_nan(size[of]));
    };
    for (index_t i = 0; i < x.rows; ++i)
        for (index_t j = 0; j < x.cols; j += 4) {
            int count = 0;
            for (int w = 0; w < 4; ++w) {
                auto const element = static_cast<S>(x(i, j + w));
                bool const is_zero = element == S(real_t<S>(0));
                count += is_zero ? 0 : 1;
                size[w] = is_zero ? 0 : prunes ? size_to_prune(element) : 1;
            }
            if (count > 2 && !prunes && i * x.cols + j < refused) refused = i * x.cols + j;
            int first = 0;
            for (int w = 1; w < 4; ++w)
                if (ahead(w, first)) first = w;
            int second = first == 0 ? 1 : 0;
            for (int w = second + 1; w < 4; ++w)
                if (w != first && ahead(w, second)) second = w;
            if (second < first) std::swap(first, second);
            values(i, j / 2) = x(i, j + first);
            values(i, j / 2 + 1) = x(i, j + second);
            auto const [word, shift] = two_of_four_place(x.cols, i, j / 4);
            auto bits = static_cast<std::uint32_t>(positions[word]);
            bits = (bits & ~(std::uint32_t{15} << shift)) | static_cast<std::uint32_t>(first | second << 2)
                                                                << shift;
            positions[word] = static_cast<std::int32_t>(bits);
        }
    return refused;
}

template <policy P, class T>
auto pack_two_of_four(P const& policy, view<T, typename P::space> const& dense, bool prunes) {
    using Value = std::remove_const_t<T>;
    using space = typename P::space;
    using arena = typename P::arena;
    using A = two_of_four<Value, space>;
    char const* const name = prunes ? "prune_to_two_of_four" : "to_two_of_four";
    view<Value const, space> const x = dense;
    if (x.cols % 4 != 0)
        raise(
            error(errc::shape, name, "the number of columns must be a multiple of 4; add columns of zeros"));
    // Rows of values begin at multiples of 16 bytes, which tensor cores need.
    constexpr index_t unit = sizeof(Value) < 16 ? 16 / static_cast<index_t>(sizeof(Value)) : 1;
    index_t const leading = (x.cols / 2 + unit - 1) / unit * unit,
                  room = product_of_sides(name, x.rows, leading, sizeof(Value)),
                  words = two_of_four_words(x.rows, x.cols);
    auto memory = reserve_for(policy, arena::rounded(static_cast<std::size_t>(room) * sizeof(Value)) +
                                          arena::rounded(static_cast<std::size_t>(words) * 4));
    memory.or_throw();
    view<Value, space> const values{(*memory)->template take<Value>(room), x.rows, x.cols / 2, leading, 1};
    auto const positions = (*memory)->template take<std::int32_t>(words);
    index_t refused = x.rows * x.cols;
    if constexpr (host_leaf<leaf_of<P>>) {
        refused = pack_on_host(x, prunes, values, positions);
    } else if (words > 0) {
        auto const leaf = policy.leaf();
        index_t const groups = lesser(groups_for_each(words, 256), 4096);
        auto scratch = reserve_for(policy, static_cast<std::size_t>(groups) * sizeof(index_t));
        scratch.or_throw();
        auto const found = (*scratch)->template take<index_t>(groups);
        leaf.launch(list_kernel<Value, std::int32_t>("pack_two_of_four", pack_two_of_four_text,
                                                     prunes ? "#define PRUNES 1\n" : "#define PRUNES 0\n"),
                    groups, x, values, positions, found, x.rows, x.cols, (x.cols + 63) / 64, words)
            .or_throw();
        std::vector<index_t> each(static_cast<std::size_t>(groups));
        leaf.download(found, each.data(), groups).or_throw();
        for (index_t const at : each) refused = lesser(refused, at);
    }
    if (refused < x.rows * x.cols) {
        char text[240];
        __builtin_snprintf(text, sizeof(text),
                           "more than two elements are not zero in row %td, columns %td to %td; "
                           "prune_to_two_of_four() keeps the two largest",
                           refused / x.cols, refused % x.cols, refused % x.cols + 3);
        raise(error(errc::argument, name, text));
    }
    A a{x.rows, x.cols, values, positions};
    a.scale = x.scale, a.conjugate = x.conjugate;
    return owned<A, P>(std::move(*memory), a);
}
template <policy P, operand M>
auto pack_any(P const& policy, M const& matrix, bool prunes) {
    auto const x = as_view(matrix);
    using X = std::remove_const_t<decltype(x)>;
    if constexpr (sparse_operand<X>) {
        using T = typename X::value_type;
        index_t const room = product_of_sides("to_two_of_four", x.rows, x.cols, sizeof(T));
        auto memory = reserve_for(policy, static_cast<std::size_t>(room) * sizeof(T));
        memory.or_throw();
        view<T, typename P::space> const dense{(*memory)->template take<T>(room), x.rows, x.cols, x.cols, 1};
        to_dense(policy, x, dense);
        return pack_two_of_four(policy, dense, prunes);
    } else {
        static_assert(is_view<X>::value, "stratagemm: to_two_of_four() takes a matrix, dense or sparse");
        return pack_two_of_four(policy, x, prunes);
    }
}

// Converts a dense matrix, or any sparse operand, with no more than two elements of each four that are not zero. A
// factor and a conjugation of a dense matrix stay marks of the view. On a device, the call waits for the device.
template <policy P, operand M>
auto to_two_of_four(P const& policy, M const& matrix) {
    return pack_any(policy, matrix, false);
}
// Keeps the two largest of each four neighbours in a row, by absolute value (for complex numbers |re| + |im|). Among
// equal elements it keeps the left ones. NaN is larger than any number.
template <policy P, operand M>
auto prune_to_two_of_four(P const& policy, M const& matrix) {
    return pack_any(policy, matrix, true);
}

STRATAGEMM_END
