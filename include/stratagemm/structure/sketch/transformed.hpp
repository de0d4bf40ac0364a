// Sketches by transforms as operands: sqrt(n / rows) P H D, where D has random signs, H is an orthogonal transform of n
// points, and P samples rows of it without replacement. Behind the columns of the sketch, up to n, come zeros.
#pragma once

#include "../dct.hpp"
#include "../hadamard.hpp"
#include "sample.hpp"

STRATAGEMM_BEGIN

// The Walsh-Hadamard transform of the next power of two of points.
struct by_hadamard {
    static constexpr char const* name = "srht";
    static constexpr int number = 0;
    static constexpr index_t most = index_t{1} << 30;
    static index_t points(index_t cols) { return index_t{1} << bits_of(cols); }
    // Element (p, k), times the root of the points over `factor`.
    static double entry(index_t p, index_t k, index_t) {
        return __builtin_parityll(static_cast<unsigned long long>(p & k)) ? -1 : 1;
    }
    static constexpr double factor = 1;
};
// The cosine transform II of as many points as columns.
struct by_dct {
    static constexpr char const* name = "srct";
    static constexpr int number = 1;
    static constexpr index_t most = (index_t{1} << 30) - 1;
    static index_t points(index_t cols) { return cols; }
    static double entry(index_t p, index_t k, index_t n) {
        double const cosine = root_of_unity((2 * k + 1) * p % (4 * n), 4 * n).re;
        return p == 0 ? cosine * 0.70710678118654752440 : cosine;
    }
    static constexpr double factor = 1.41421356237309504880;
};

template <class Kind, policy P>
class transformed_sketch_product;
template <policy P>
class sketch_product;

// The policy that multiplies such a sketch: the oracle takes the elements one by one.
template <class Kind, class P>
struct product_of_transformed {
    using type = transformed_sketch_product<Kind, P>;
};
template <class Kind, class P>
requires requires { requires P::is_oracle; }
struct product_of_transformed<Kind, P> {
    using type = sketch_product<P>;
};

template <class Kind, class T>
struct transformed_sketch_form {
    using value_type = T;
    using kind = Kind;
    static constexpr bool has_facts = true, is_transformed_sketch = true;
    template <class P>
    requires P::is_backend using over = typename product_of_transformed<Kind, P>::type;

    index_t all_cols = 1;
    bool turned = false, kept = false; // kept: what it draws lies in memory

    transformed_sketch_form transposed() const { return {all_cols, !turned, kept}; }
};

// rows x cols of it, or a part of these. T: the type of the elements, which are real.
template <class Kind, class T>
struct transformed_sketch : sketch_part<transformed_sketch<Kind, T>, T> {
    using form = transformed_sketch_form<Kind, T>;
    using real_type = real_t<T>;

    transformed_sketch() = default;
    transformed_sketch(index_t of_rows, index_t of_cols, std::uint64_t of_seed)
        : sketch_part<transformed_sketch, T>(
              of_rows, of_cols, of_seed,
              Kind::factor / __builtin_sqrt(static_cast<double>(of_rows < 1 ? 1 : of_rows))) {}

    form facts() const { return {this->all_cols, this->turned, false}; }
    index_t points() const { return Kind::points(this->all_cols); }
    point_sample sample() const { return {this->seed, Kind::number, points()}; }
    T drawn(index_t row, index_t col) const {
        point_sample const drawn = sample();
        double const x = Kind::entry(drawn.point(row), col, points());
        return T(static_cast<real_type>(drawn.is_negative(col) ? -x : x));
    }
    // The rows and the columns of the sketch that this part has.
    index_t first_row() const { return this->turned ? this->col0 : this->row0; }
    index_t first_col() const { return this->turned ? this->row0 : this->col0; }
    index_t count_of_rows() const { return this->turned ? this->cols : this->rows; }
    index_t count_of_cols() const { return this->turned ? this->rows : this->cols; }

    status usable() const {
        if (status s = this->sides_usable(Kind::name); !s) return s;
        char text[160];
        if (this->all_cols > Kind::most)
            __builtin_snprintf(text, sizeof(text),
                               "the transform has at most %td points, and this sketch %td columns",
                               Kind::most, this->all_cols);
        else if (this->all_rows > points())
            __builtin_snprintf(
                text, sizeof(text),
                "rows are drawn without replacement from the %td of a transform, and this sketch has %td",
                points(), this->all_rows);
        else
            return {};
        return failure(errc::argument, Kind::name, text);
    }
};
template <class X>
inline constexpr bool is_transformed_sketch = false;
template <class X>
requires requires { requires X::form::is_transformed_sketch; }
inline constexpr bool is_transformed_sketch<X> = true;

// The same with what it draws in memory: Tables, of the rows that it has (keep.hpp). A part of it draws again.
template <class Kind, class T, class Tables>
struct sampled_sketch : transformed_sketch<Kind, T> {
    using base = transformed_sketch<Kind, T>;
    using typename base::form;
    Tables tables;

    form facts() const { return {this->all_cols, this->turned, true}; }
    sampled_sketch transposed() const { return {base::transposed(), tables}; }
};

// Whether products with such sketches by policy P end with an epilogue of sums of type Sum.
template <class P, class Epilogue, class Sum>
inline constexpr bool sketch_ends_with = [] {
    using Leaf = leaf_of<P>;
    if constexpr (!host_leaf<Leaf> && device_leaf<Leaf, typename P::space>)
        return has_source<Epilogue, typename Leaf::template epilogue<Sum>>;
    else
        return epilogue_for<Epilogue, Sum>;
}();

// What the products of such sketches share. A product with the sketch on the right runs as the transposed product.
// `forward`: the sketch maps columns of the other operand to fewer numbers, and its transposed maps these back.
template <class S>
struct transformed_sketch_shape {
    static constexpr bool is_left = requires { requires S::a_form::is_transformed_sketch; };
    index_t points, rows, cols, columns; // of the transform, of the sketch's part, and that are transformed
    bool forward, kept;

    explicit transformed_sketch_shape(S const& s) {
        auto const facts = [&] {
            if constexpr (is_left)
                return s.a_facts;
            else
                return s.b_facts.transposed();
        }();
        using kind = typename decltype(facts)::kind;
        index_t const out = is_left ? s.m : s.n;
        forward = !facts.turned, kept = facts.kept, columns = is_left ? s.n : s.m;
        rows = forward ? out : s.k, cols = forward ? s.k : out;
        points = kind::points(facts.all_cols < 1 ? 1 : facts.all_cols);
    }
};

// What a product on the host reads of sketch A: it is drawn into memory, unless A is kept.
template <class R, class Arena, class X>
std::size_t bytes_to_draw(X const& x) {
    return x.kept ? 0 : bytes_of_sample<R, Arena>(x.points, x.rows);
}
template <class R, class Leaf, class A, class Arena>
sample_tables<R> tables_of(Leaf const& by, A const& a, Arena& memory) {
    if constexpr (requires { a.tables; })
        return a.tables;
    else
        return write_sample<R>(by, a.sample(), a.points(), a.first_row(), a.count_of_rows(), memory);
}
// Seconds of one thread: a word of the generator has the signs of 32 points, and a row takes eight rounds of two products.
template <class X>
double seconds_to_sample(X const& x) {
    return x.kept ? 0 : static_cast<double>(x.points) * 0.7e-9 + static_cast<double>(x.rows) * 10e-9;
}
// On a device; by_point says which table of places is meant.
template <class Arena, class X>
std::size_t bytes_to_draw_there(X const& x, bool by_point) {
    return x.kept ? 0 : bytes_of_sample_there<Arena>(x.points, by_point ? x.points : x.rows);
}
template <class T, class Space, class Leaf, class A, class Arena>
result<sample_there<Space>> tables_there(Leaf const& by, A const& a, bool by_point, Arena& memory) {
    if constexpr (requires { a.tables; })
        return by_point ? a.tables.by_point : a.tables.by_row;
    else
        return write_sample_there<T, Space>(by, a.sample(), a.first_row(), a.count_of_rows(), by_point,
                                            memory);
}

STRATAGEMM_END
