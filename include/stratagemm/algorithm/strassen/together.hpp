// All products of one or several levels at once, for devices: a kernel forms every sum of blocks of A, and one those of
// B, a batch multiplies them, and a kernel adds up what goes to each block of C. Each block of A, B and C is moved once,
// whatever the number of levels, and the batch leaves the device idle at its end only once.
//
// The kernels are written out from the table (bilinear.hpp), with sums in the same order as level by level.
#pragma once

#include "../../core/leaf.hpp"
#include "../../core/policy.hpp"
#include "../../device/dialect.hpp"
#include "../../device/product.hpp"
#include "bilinear.hpp"

#include <string>

STRATAGEMM_BEGIN

// An item for each place in a block; what it does with the blocks and the products there is written out (below).
inline constexpr char bilinear_sums_text[] = R"(
#define BLOCK(i, j) LOAD(IN, x, from + (i) * down + (j) * right)
#define SUM(r, value) STORE(IN, to, at + (r) * size, value)
KERNEL(ITEMS) sums_of_blocks(MATRIX(IN const, x), BUFFER(IN, to), index rows, index cols) {
    ELEMENT(i, j, rows, cols);
    OPEN(IN const, x);
    OPEN(IN, to);
    index const from = AT(x, i, j), down = rows * x_row, right = cols * x_col;
    index const at = i * cols + j, size = rows * cols;
    SUMS
}
)";
inline constexpr char bilinear_result_text[] = R"(
#define PRODUCT_OF(r) LOAD(IN, x, at + (r) * size)
#define TARGET(i, j, value) \
    STORE(IN, c, AT(c, (i) * rows + i0, (j) * cols + j0), value)
#define TARGET_AND_E(i, j, value)                                                                     \
    STORE(IN, c, AT(c, (i) * rows + i0, (j) * cols + j0),                                             \
          multiply_add(beta, conjugate_if(e_conjugated, LOAD(IN, e, AT(e, (i) * rows + i0, (j) * cols + j0))), value))
KERNEL(ITEMS) blocks_of_products(BUFFER(IN const, x), scalar beta, int adds, MATRIX(IN const, e), int e_conjugated,
                                 MATRIX(IN, c), index rows, index cols) {
    ELEMENT(i0, j0, rows, cols);
    OPEN(IN const, x);
    OPEN(IN const, e);
    OPEN(IN, c);
    index const at = i0 * cols + j0, size = rows * cols;
    SUMS
    if (adds) {
        TARGETS(TARGET_AND_E)
    } else {
        TARGETS(TARGET)
    }
}
)";

// The statements of these kernels. A transposed matrix has its blocks transposed, too.
enum class bilinear_kernel { sums_of_a, sums_of_b, result };
// A template, so that a program without a device does not pay for compiling it.
template <class Text = std::string>
class bilinear_statements {
public:
    bilinear_statements(bilinear const& table, int levels) : table_(table), levels_(levels) {}

    int products() const { return power(table_.products, levels_); }

    // Written when a thread first asks for them: those of several levels are long. (An array, since <vector>, <map> and
    // <mutex> would be compiled by every program that has this for the host.)
    Text of(bilinear_kernel kernel, bool transposed) const {
        struct kept {
            Text table, text;
        };
        thread_local kept all[24];
        thread_local unsigned next = 0; // which is written over
        Text key;
        for (int const x : {static_cast<int>(kernel), int{transposed}, levels_, table_.m, table_.n, table_.k})
            key += static_cast<char>(x);
        for (auto const* lists : {table_.a, table_.b, table_.c})
            for (int r = 0; r < table_.products; ++r)
                key.append(reinterpret_cast<char const*>(lists[r]), sizeof(bilinear::list));
        for (kept const& one : all)
            if (one.table == key) return one.text;
        kept& one = all[next++ % 24];
        one.text = kernel == bilinear_kernel::result
                       ? of_result(transposed)
                       : of_operand(kernel == bilinear_kernel::sums_of_a, transposed);
        one.table = std::move(key);
        return one.text;
    }

private:
    // The kernel that forms the sums of blocks of A, or of B.
    Text of_operand(bool of_a, bool transposed) const {
        int const rows = of_a ? table_.m : table_.k, cols = of_a ? table_.k : table_.n;
        int const down = power(rows, levels_), right = power(cols, levels_);
        Text text = "#define SUMS";
        for (int i = 0; i < down; ++i)
            for (int j = 0; j < right; ++j)
                text += " scalar const " + name('x', i, j) + " = BLOCK(" +
                        (transposed ? pair(j, i) : pair(i, j)) + ");";
        for (int r = 0; r < products(); ++r)
            text += " SUM(" + std::to_string(r) + ", " +
                    sum(of_a ? table_.a : table_.b, rows, cols, r, 0, 0, 0) + ");";
        return text + '\n';
    }
    Text of_result(bool transposed) const {
        int const down = power(table_.m, levels_), right = power(table_.n, levels_);
        Text text = "#define SUMS" + added(0, 0, "c") + "\n#define TARGETS(f)";
        for (int i = 0; i < down; ++i)
            for (int j = 0; j < right; ++j)
                text += " f(" + (transposed ? pair(j, i) : pair(i, j)) + ", c" +
                        std::to_string(i * right + j) + ");";
        return text + '\n';
    }

    static int power(int x, int n) { return n == 0 ? 1 : x * power(x, n - 1); }
    static Text pair(int i, int j) { return std::to_string(i) + ", " + std::to_string(j); }
    static Text name(char matrix, int i, int j) {
        return matrix + std::to_string(i) + '_' + std::to_string(j);
    }

    // The sum that product r of the levels from `level` on multiplies, of the block (i, j) of that level.
    Text sum(bilinear::list const* lists, int rows, int cols, int r, int level, int i, int j) const {
        if (level == levels_) return name('x', i, j);
        int const below = power(table_.products, levels_ - 1 - level);
        bilinear::list const& terms = lists[r / below];
        Text text = terms[0] < 0 ? "(ZERO" : "(";
        for (int t = 0; terms[t]; ++t) {
            int const block = bilinear::block(terms[t]) - 1;
            text += terms[t] < 0 ? " - " : t > 0 ? " + " : "";
            text += sum(lists, rows, cols, r % below, level + 1, i * rows + block / cols,
                        j * cols + block % cols);
        }
        return text + ')';
    }

    // Statements that declare and set `name` and the number of each smallest block of what product `first` of the levels
    // above comes to.
    Text added(int level, int first, Text const& name) const {
        if (level == levels_)
            return " scalar const " + name + "0 = PRODUCT_OF(" + std::to_string(first) + ");";
        int const below_down = power(table_.m, levels_ - 1 - level),
                  below_right = power(table_.n, levels_ - 1 - level), right = below_right * table_.n;
        Text text;
        for (int q = 0; q < below_down * table_.m * right; ++q)
            text += (q == 0 ? " scalar " : ", ") + name + std::to_string(q);
        text += ';';
        bool reached[bilinear::most_blocks + 1] = {};
        for (int r = 0; r < table_.products; ++r) {
            Text const part = name + '_';
            text += " {" + added(level + 1, first * table_.products + r, part);
            for (int t = 0; table_.c[r][t]; ++t) {
                bool const taken = table_.c[r][t] < 0;
                int const block = bilinear::block(table_.c[r][t]);
                bool const again = std::exchange(reached[block], true);
                for (int q = 0; q < below_down * below_right; ++q) {
                    int const i = (block - 1) / table_.n * below_down + q / below_right,
                              j = (block - 1) % table_.n * below_right + q % below_right;
                    Text const to = name + std::to_string(i * right + j);
                    ((text += ' ') += to) += " = ";
                    if (again || taken) text += again ? to : "ZERO";
                    text += taken ? " - " : again ? " + " : "";
                    ((text += part) += std::to_string(q)) += ';';
                }
            }
            text += " }";
        }
        return text;
    }

    bilinear const& table_;
    int levels_;
};

// What the sums of A and of B and the products take; h is the shape of one product.
template <class Arena, class S>
std::size_t bytes_together(S const& h, int products) {
    auto const of = [&](index_t rows, index_t cols) {
        return Arena::rounded(static_cast<std::size_t>(rows * cols * products) * sizeof(typename S::c_type));
    };
    return of(h.m, h.k) + of(h.k, h.n) + of(h.m, h.n);
}

// C = alpha A B + beta E by `levels` levels of a table, which divide its sides without a rest.
template <class Base, class P>
status multiply_together(Base const& base, bilinear const& table, int levels, P const& p,
                         typename Base::arena& memory) {
    using T = typename P::c_type;
    using space = typename Base::space;
    typename Base::arena::scope const scope(memory);
    bilinear_statements const statements(table, levels);
    int const products = statements.products();
    auto const leaf = base.leaf();
    auto const divided = [&](index_t side, int parts) {
        for (int i = 0; i < levels; ++i) side /= parts;
        return side;
    };
    index_t const m = divided(p.c.rows, table.m), n = divided(p.c.cols, table.n),
                  k = divided(p.a.cols, table.k);

    // A batch of matrices of such sides, lying as a matrix that they are blocks of.
    auto const batch_like = [&](auto const& whole, index_t rows, index_t cols) {
        bool const by_columns = rows_are_closer(whole);
        return view<T, space>{memory.template take<T>(rows * cols * products), rows, cols,
                              by_columns ? 1 : cols, by_columns ? rows : 1};
    };
    auto const launch = [&](char const* name, static_text text, bilinear_kernel kind, bool turned,
                            index_t rows, index_t cols, auto const&... arguments) -> status {
        device_kernel const kernel{
            name, text, statements.of(kind, turned), 256, uses_double<T, T>, false, kernel_types<T, T>};
        if (turned) std::swap(rows, cols);
        return leaf.launch(kernel, groups_for_elements(rows, cols), arguments..., rows, cols);
    };
    auto const sums = [&](bilinear_kernel kind, view<T const, space> const& x, view<T, space> const& to) {
        bool const turned = rows_are_closer(x);
        return launch("sums_of_blocks", bilinear_sums_text, kind, turned, to.rows, to.cols,
                      turned ? x.transposed() : x, to.data);
    };

    view<T, space> const a = batch_like(p.a, m, k), b = batch_like(p.b, k, n), c = batch_like(p.c, m, n);
    if (status s = sums(bilinear_kernel::sums_of_a, p.a, a); !s) return s;
    if (status s = sums(bilinear_kernel::sums_of_b, p.b, b); !s) return s;
    P all{p.alpha, a, b, T(0), c, c};
    all.a.conjugate = p.a.conjugate, all.b.conjugate = p.b.conjugate;
    all.count = products, all.a_step = m * k, all.b_step = k * n, all.e_step = all.c_step = m * n;
    if (status s = base(all, memory); !s) return s;

    bool const turned = rows_are_closer(p.c), adds = p.beta != T(0);
    auto const e = added_or_c(p);
    return launch("blocks_of_products", bilinear_result_text, bilinear_kernel::result, turned, m, n, c.data,
                  p.beta, int{adds}, turned ? e.transposed() : e, int{e.conjugate},
                  turned ? p.c.transposed() : p.c);
}

STRATAGEMM_END
