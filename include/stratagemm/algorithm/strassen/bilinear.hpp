// Bilinear algorithms as tables: how to multiply matrices of m x k and k x n blocks by fewer than m n k products.
//
// A table is written as text, a line a product:
//   constexpr bilinear_product lines[] = {{"a11+a22", "b11+b22", "c11+c22"}, ...};
//   constexpr bilinear mine{"name", 2, 2, 2, lines};
// says that (A11 + A22)(B11 + B22) is added to C11 and to C22. A '-' takes a block instead of adding it, so that each
// coefficient is -1, 0 or 1. A constexpr table that does not multiply matrices does not compile: its constructor checks
// Brent's equations.
//
// The order of the lines is the order of the products. It decides which temporaries are needed.
//
// Brent: Algorithms for matrix multiplication, 1970. Hopcroft, Kerr: On minimizing the number of multiplications
// necessary for matrix multiplication, 1971. Ballard, Benson, Druinsky, Lipshitz, Schwartz: Improving the numerical
// stability of fast matrix multiplication, 2016.
#pragma once

#include "../../core/error.hpp"
#include "../../core/types.hpp"

#include <initializer_list>

STRATAGEMM_BEGIN

// One line of a table: the sums that are multiplied, and where the product goes.
struct bilinear_product {
    char const *a, *b, *c;
};

// Where a schedule makes a product.
enum class product_place : signed char {
    target,    // in the only block it goes to, on top of what belongs there
    unreached, // in a block that no product has reached yet
    temporary
};

// What one level of an algorithm needs, costs and loses; without E, or with it.
struct level_facts {
    bool uses_s = false, uses_t = false, uses_p = false; // temporaries: sums of A and of B, and a product
    bool p_beside_s = false;                             // both at a time
    bool stores = false, accumulates = false; // products of the base without an added matrix, and with one
    int a_sums = 0, b_sums = 0, c_sums = 0;   // additions of two blocks

    // The largest element of a block of C is wrong by (products x + additions u) h at most, where x is the bound of
    // one product, u the unit roundoff, max|A| = max|B| = 1 and h the terms of one product's sums.
    double products = 0, additions = 0;
    // E is wrong by added x + additions_of_added u at most.
    double added = 0, additions_of_added = 0;
    double mean_square = 0; // of a block's error to that of one product, where errors add as their squares do
};

// Numbers of blocks in a table: 1 for the upper left one, then along the rows; negative for a block that is taken.
class bilinear {
public:
    static constexpr int most_products = 32, most_blocks = 16;
    using list = signed char[most_blocks + 1]; // ended by 0

    char const* name;
    int m, n, k; // into how many parts the sides are divided
    int products;
    list a[most_products]{}, b[most_products]{}, c[most_products]{};
    int most_terms = 0, most_targets = 0;
    level_facts facts[2]; // without E, with it

    template <int N>
    constexpr bilinear(char const* name_, int m_, int n_, int k_, bilinear_product const (&lines)[N])
        : name(name_), m(m_), n(n_), k(k_), products(N) {
        static_assert(N <= most_products);
        if (m * k > most_blocks || k * n > most_blocks || m * n > most_blocks) has_too_many_blocks();
        for (int r = 0; r < N; ++r) {
            most_terms = larger_of(most_terms, read(lines[r].a, 'a', m, k, a[r]));
            most_terms = larger_of(most_terms, read(lines[r].b, 'b', k, n, b[r]));
            most_targets = larger_of(most_targets, read(lines[r].c, 'c', m, n, c[r]));
        }
        if (!multiplies()) brent_equations_do_not_hold();
        facts[0] = facts_of(false), facts[1] = facts_of(true);
    }

    static constexpr int size(list const& x) {
        int n = 0;
        while (x[n]) ++n;
        return n;
    }
    static constexpr int block(int number) { return number < 0 ? -number : number; }
    static constexpr int coefficient(list const& x, int number) {
        for (int i = 0; x[i]; ++i)
            if (block(x[i]) == number) return x[i] < 0 ? -1 : 1;
        return 0;
    }

    // Where product r is made, and the block: with E, which may be C, no block can hold anything else.
    struct place {
        product_place where;
        int block;
    };
    constexpr place place_of(int r, bool const (&reached)[most_blocks + 1], bool adds) const {
        if (size(c[r]) == 1) return {product_place::target, block(c[r][0])};
        if (!adds) {
            for (int i = 0; c[r][i]; ++i)
                if (!reached[block(c[r][i])]) return {product_place::unreached, block(c[r][i])};
            for (int q = 1; q <= m * n; ++q)
                if (!reached[q]) return {product_place::unreached, q};
        }
        return {product_place::temporary, 0};
    }

private:
    // Not constexpr: a compiler that meets a call of one of these in a constant says its name.
    static void brent_equations_do_not_hold() { refuse("the table does not multiply matrices"); }
    static void has_too_many_blocks() { refuse("a table divides a matrix into at most 16 blocks"); }
    static void is_no_sum_of_blocks() {
        refuse("a sum is written as a11-a12, of blocks that the matrix has");
    }
    [[gnu::cold, gnu::noinline]] static void refuse(char const* text) {
        raise(error(errc::argument, "bilinear", text));
    }

    static constexpr int larger_of(int x, int y) { return x < y ? y : x; }

    // Returns how many blocks.
    static constexpr int read(char const* text, char matrix, int rows, int cols, list& to) {
        int count = 0;
        while (char const sign = *text) {
            if (sign == '+' || sign == '-')
                ++text;
            else if (count > 0)
                is_no_sum_of_blocks();
            if (*text++ != matrix || count == most_blocks) is_no_sum_of_blocks();
            int const row = digit(*text++, rows), col = digit(*text++, cols);
            int const number = row * cols - cols + col;
            for (int i = 0; i < count; ++i)
                if (block(to[i]) == number) is_no_sum_of_blocks();
            to[count++] = static_cast<signed char>(sign == '-' ? -number : number);
        }
        if (count == 0) is_no_sum_of_blocks();
        return count;
    }
    static constexpr int digit(char x, int most) {
        int const number = x - '0';
        if (number < 1 || number > most) is_no_sum_of_blocks();
        return number;
    }

    // Brent's equations: of all products of a block of A and one of B, each block of C gets those that belong to it.
    constexpr bool multiplies() const {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                int got[most_blocks + 1][most_blocks + 1] = {};
                for (int r = 0; r < products; ++r) {
                    int const w = coefficient(c[r], i * n + j + 1);
                    for (int x = 0; w && a[r][x]; ++x)
                        for (int y = 0; b[r][y]; ++y)
                            got[block(a[r][x])][block(b[r][y])] += (a[r][x] < 0) == (b[r][y] < 0) ? w : -w;
                }
                for (int x = 0; x < m * k; ++x)
                    for (int y = 0; y < k * n; ++y)
                        if (got[x + 1][y + 1] != (x / k == i && y % n == j && x % k == y / n)) return false;
            }
        return true;
    }
    // A product of a sum of p blocks and one of q is at most p q h, and wrong by p q (x + (p + q - 2) u) h; each
    // addition that it goes through once it is in a block of C rounds it by u. Where the base adds a product to what a
    // block holds, its bound is relative to that, too.
    //
    // The mean square is the larger of two models: elements of both signs, where a sum of p blocks is sqrt(p) times as
    // large as one; and elements of one sign, where a sum counts for its coefficients' sum.
    constexpr level_facts facts_of(bool adds) const {
        level_facts f;
        bool reached[most_blocks + 1] = {};
        int arrivals[most_blocks + 1] = {};
        for (int r = 0; r < products; ++r)
            for (int i = 0; c[r][i]; ++i) ++arrivals[block(c[r][i])];
        int arrived[most_blocks + 1] = {}, held[most_blocks + 1] = {}, products_in[most_blocks + 1] = {},
                                  additions_in[most_blocks + 1] = {}, both_signs[most_blocks + 1] = {},
                                  one_sign[most_blocks + 1] = {}, added[most_blocks + 1] = {};
        for (int r = 0; r < products; ++r) {
            int const p = size(a[r]), q = size(b[r]), targets = size(c[r]);
            place const to = place_of(r, reached, adds);
            bool const direct = to.where == product_place::target,
                       takes_p = to.where == product_place::temporary;
            bool const onto = direct && (adds || reached[to.block]);
            f.uses_s |= p > 1, f.uses_t |= q > 1, f.uses_p |= takes_p;
            f.p_beside_s |= takes_p && p > 1;
            f.stores |= !onto, f.accumulates |= onto;
            f.a_sums += p - 1, f.b_sums += q - 1;
            f.c_sums += targets - (coefficient(c[r], to.block) ? 1 : 0);
            int const sums = sum(a[r]) * sum(b[r]);
            for (int i = 0; i < targets; ++i) {
                int const t = block(c[r][i]), first = arrived[t]++ == 0;
                int const after = arrivals[t] - (first && !adds ? 1 : arrived[t] - 1);
                if (onto) products_in[t] += held[t], added[t] += 1;
                held[t] += p * q, products_in[t] += p * q;
                additions_in[t] += p * q * (p + q - 2 + after);
                both_signs[t] += p * q, one_sign[t] += sums * sums;
                reached[t] = true;
            }
        }
        for (int t = 1; t <= m * n; ++t) {
            raise_to(f.products, products_in[t]), raise_to(f.additions, additions_in[t]);
            raise_to(f.mean_square, both_signs[t]), raise_to(f.mean_square, one_sign[t]);
            raise_to(f.added, added[t]), raise_to(f.additions_of_added, arrivals[t] + 4);
        }
        return f;
    }
    static constexpr int sum(list const& x) {
        int s = 0;
        for (int i = 0; x[i]; ++i) s += x[i] < 0 ? -1 : 1;
        return s;
    }
    static constexpr void raise_to(double& x, double y) {
        if (x < y) x = y;
    }
};

// Blocks of a level, numbered from a first one.
struct block_numbers {
    int at[bilinear::most_blocks] = {}, count = 0;

    [[gnu::noinline]] block_numbers(std::initializer_list<int> list) {
        for (int const i : list) at[count++] = i;
    }
    [[gnu::noinline]] block_numbers(bilinear::list const& list, int first) {
        for (; list[count]; ++count) at[count] = list[count] < 0 ? list[count] - first : list[count] + first;
    }
};

// The numbers are those of Strassen's paper. M6 and M7, wanted once, are made where they belong.
inline constexpr bilinear_product bilinear_strassen_lines[] = {
    {"a21-a11", "b11+b12", "c22"},     // M6
    {"a12-a22", "b21+b22", "c11"},     // M7
    {"a11+a22", "b11+b22", "c11+c22"}, // M1
    {"a21+a22", "b11", "c21-c22"},     // M2
    {"a22", "b21-b11", "c21+c11"},     // M4
    {"a11+a12", "b22", "c12-c11"},     // M5
    {"a11", "b12-b22", "c12+c22"},     // M3
};
inline constexpr bilinear bilinear_strassen{"Strassen's form", 2, 2, 2, bilinear_strassen_lines};

// The definition: nothing is saved, and nothing is lost.
inline constexpr bilinear_product bilinear_plain_lines[] = {
    {"a11", "b11", "c11"}, {"a12", "b21", "c11"}, {"a11", "b12", "c12"}, {"a12", "b22", "c12"},
    {"a21", "b12", "c22"}, {"a22", "b22", "c22"}, {"a21", "b11", "c21"}, {"a22", "b21", "c21"},
};
inline constexpr bilinear bilinear_plain{"8 products", 2, 2, 2, bilinear_plain_lines};

// As few as Hopcroft and Kerr proved to be possible; the coefficients are not theirs. A is 3 x 2, B 2 x 3. A template of
// its type, as the next, so that a program without Strassen does not pay for evaluating it.
inline constexpr bilinear_product bilinear_323_lines[] = {
    {"a12+a21-a11-a22", "b21+b23", "c11"},     {"a22+a32", "b22-b21", "-c31"},
    {"a12+a31-a32", "b12+b13+b22", "c12+c33"}, {"a22+a31", "b11+b22", "c22+c31"},
    {"a22", "b11+b21", "c21-c23-c31"},         {"a12", "b23", "c13+c33-c11"},
    {"a21-a11", "b11+b13+b21+b23", "c23"},     {"a21+a31", "b12-b11", "c22"},
    {"a31", "b12+b22", "c32-c22-c33"},         {"a11", "b13", "c13+c23-c12"},
    {"a32-a31", "b22", "c12+c31+c32"},         {"a32-a12", "b12+b13+b22+b23", "c33"},
    {"a21-a22", "b11", "c11+c21+c22"},         {"a11+a32-a12-a31", "b12+b13", "c12"},
    {"a11+a22-a21", "b11+b21+b23", "c11+c23"},
};
template <class Table>
inline constexpr Table bilinear_323{"<3,2,3> in 15 products", 3, 3, 2, bilinear_323_lines};

// As many as Hopcroft and Kerr need for m = n = 4: (3 m n + max(m, n)) / 2. A is 4 x 2, B 2 x 4.
inline constexpr bilinear_product bilinear_424_lines[] = {
    {"a42", "b12+b22", "c22+c41+c42"},
    {"a32", "b14+b24-b11-b21", "-c24-c31-c32"},
    {"a11+a21+a31-a42", "b12+b24", "c12-c44"},
    {"a41-a21", "b13-b12", "c43"},
    {"a42-a22", "b23-b22", "c22-c12"},
    {"a41-a42", "b12", "c42+c43+c44"},
    {"a21+a32", "b14+b23-b11", "c12+c24+c33"},
    {"a11+a21+a31-a12", "b11+b13+b24", "-c12-c14"},
    {"a12+a22+a32-a42", "b24-b22", "-c12"},
    {"a12+a21", "b11+b13+b23", "c12+c13+c21+c24-c11"},
    {"a11+a21+a31-a32", "b14+b24-b11", "-c31-c32-c34"},
    {"a11+a21+a42-a41", "b12+b22-b21", "-c41"},
    {"a12+a22", "b21", "c12+c21+c24"},
    {"a11+a21+a32-a41", "b14+b22-b11-b21", "c32-c12"},
    {"a22-a21", "b23", "c22+c23+c24"},
    {"a12", "b11+b13+b21+b23", "c11-c12-c21-c24"},
    {"a11-a12", "b11+b13", "c12+c13+c14"},
    {"a11+a21+a31-a41", "b14-b12", "c12-c32-c44"},
    {"a21", "b13+b23", "c11+c23+c43-c12-c13-c21-c24-c33"},
    {"a11+a21-a41", "b12+b22-b11-b21", "c12+c41-c32"},
    {"a42-a21", "b12+b23", "c12+c43-c22"},
    {"a11+a21", "b11", "c11+c41-c13-c31-c32-c34"},
    {"a21+a31", "b11+b13-b14", "c12+c14+c33"},
    {"a22+a32", "b21+b23-b24", "-c12-c24"},
    {"a31-a32", "b14-b11", "c32+c33+c34"},
    {"a11+a21+a31", "b14+b24", "c14+c31+c32+c34+c44"},
};
template <class Table>
inline constexpr Table bilinear_424{"<4,2,4> in 26 products", 4, 4, 2, bilinear_424_lines};

STRATAGEMM_END
