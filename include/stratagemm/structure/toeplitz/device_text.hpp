// The kernels of products with a Toeplitz matrix by transforms, in the dialect: the steps of dft/written.hpp, with
// numbers of columns and of their products with a spectrum instead of elements of a transform.
//
// Where one launch transforms a column, the launch reads the column, transforms it, multiplies by the spectrum,
// transforms back and writes the rows that are wanted. Else the first launch of the transform back reads the products.
#pragma once

#include "../dft/written.hpp"
#include "spectrum.hpp"

STRATAGEMM_BEGIN

// What a launch does, beside the flags of dft/work.hpp. dft_real: two real elements are a number.
inline constexpr index_t spectrum_whole = dft_free_flag; // both transforms, and the product with the spectrum
inline constexpr index_t spectrum_in =
    2 * dft_free_flag; // sums of products of workspace and the spectrum are read

// Columns are of elements of T, numbers of workspace of two REAL. c_sign is that of imaginary parts before the last
// conjugation.
inline constexpr char spectrum_numbers_text[] = R"(
#define SPECTRUM_PARAMETERS                                                                            \
    BUFFER(IN const, x), index x_point, index x_side, index x_batch, index x_rows, int x_conjugated,   \
        index x_part, int parts, BUFFER(OUT const, e), index e_point, index e_side, index e_batch,     \
        int e_conjugated, scalar beta, int adds, BUFFER(OUT, c), index c_point, index c_side,          \
        index c_batch, index c_rows, int c_conjugated, scalar factor, index units, index sets,         \
        index first, index cols, index row0, index col0, index row_first, index row_step, int turned,  \
        int nothing,                                                                                   \
        BUFFER(REAL const, spectrum) EPILOGUE_STATE

/* (to_x, to_y) += the product of row `row` of the spectrum and a number z, whose mirror is m. */
#if COMPLEX
#define ADD_PRODUCT(to_x, to_y, row, z_x, z_y, m_x, m_y)                            \
    do {                                                                            \
        VECTOR(REAL, 2) const by = LOAD_VECTOR(REAL, 2, spectrum, 2 * (row));       \
        to_x = fma(by.x, z_x, fma(-by.y, z_y, to_x));                               \
        to_y = fma(by.x, z_y, fma(by.y, z_x, to_y));                                \
    } while (0)
#else
#define ADD_PRODUCT(to_x, to_y, row, z_x, z_y, m_x, m_y)                            \
    do {                                                                            \
        VECTOR(REAL, 4) const by = LOAD_VECTOR(REAL, 4, spectrum, 4 * (row));       \
        to_x = fma(by.x, z_x, fma(-by.y, z_y, fma(by.z, m_x, fma(by.w, m_y, to_x)))); \
        to_y = fma(by.x, z_y, fma(by.y, z_x, fma(by.w, m_x, fma(-by.z, m_y, to_y)))); \
    } while (0)
#endif

#if IN_SPECTRUM
#define READ_POINT(to_x, to_y, there, i)                                            \
    do {                                                                            \
        index const number = (there).j + (index)(i) * SPAN;                         \
        index const mirror = number == 0 ? 0 : ALL_POINTS - number;                 \
        to_x = 0, to_y = 0;                                                         \
        for (int part = 0; part < parts && (there).has; ++part) {                   \
            GLOBAL REAL const *const from = (GLOBAL REAL const *)x + 2 * (part * x_part + (there).set * x_side); \
            VECTOR(REAL, 2) const z = LOAD_VECTOR(REAL, 2, from, 2 * number * x_point); \
            VECTOR(REAL, 2) const m = LOAD_VECTOR(REAL, 2, from, 2 * mirror * x_point); \
            ADD_PRODUCT(to_x, to_y, part * ALL_POINTS + number, z.x, z.y, m.x, m.y); \
        }                                                                           \
        to_y = -to_y;                                                               \
    } while (0)
#elif IN_INSIDE
#define READ_POINT(to_x, to_y, there, i)                                            \
    do {                                                                            \
        index const number = (there).j + (index)(i) * SPAN;                         \
        to_x = 0, to_y = 0;                                                         \
        if ((there).has) {                                                          \
            VECTOR(REAL, 2) const z = LOAD_VECTOR(REAL, 2, (GLOBAL REAL const *)x, 2 * ((there).set * x_side + number * x_point)); \
            to_x = z.x, to_y = z.y;                                                 \
        }                                                                           \
    } while (0)
#elif COMPLEX
#define READ_POINT(to_x, to_y, there, i)                                            \
    do {                                                                            \
        index const number = (there).j + (index)(i) * SPAN;                         \
        to_x = 0, to_y = 0;                                                         \
        if ((there).has && number < x_rows) {                                       \
            scalar read;                                                            \
            LOAD_ALIGNED(IN_ALIGNED, read, x, (there).batch * x_batch + (there).col * x_side + number * x_point); \
            to_x = read.x, to_y = x_sign * read.y;                                  \
        }                                                                           \
    } while (0)
#else
/* Elements 2i and 2i + 1. */
#define READ_POINT(to_x, to_y, there, i)                                            \
    do {                                                                            \
        index const row = 2 * ((there).j + (index)(i) * SPAN);                      \
        index const at = (there).batch * x_batch + (there).col * x_side + row * (IN_ALIGNED ? 1 : x_point); \
        to_x = 0, to_y = 0;                                                         \
        if ((there).has && row + 1 < x_rows && IN_ALIGNED) {                        \
            VECTOR(REAL, 2) const read = LOAD_VECTOR(REAL, 2, x, at);               \
            to_x = read.x, to_y = read.y;                                           \
        } else if ((there).has && row < x_rows) {                                   \
            to_x = LOAD(IN, x, at);                                                 \
            if (row + 1 < x_rows) to_y = LOAD(IN, x, at + x_point);                 \
        }                                                                           \
    } while (0)
#endif

#if ENDS
#define ENDED(result, there, row)                                                   \
    if (adds) {                                                                     \
        scalar const added = LOAD(OUT, e, (there).batch * e_batch + (there).col * e_side + (row) * e_point); \
        result = multiply_add(beta, conjugate_if(e_conjugated, added), result);     \
    }                                                                               \
    result = epilogue(result, row0 + (turned ? (there).col : row_first + (row) * row_step), \
                      col0 + (turned ? row_first + (row) * row_step : (there).col) EPILOGUE_NAMES);
#else
#define ENDED(result, there, row)
#endif
#if OUT_INSIDE
#define WRITE_POINT(from_x, from_y, there, i)                                       \
    do {                                                                            \
        if ((there).has) {                                                          \
            VECTOR(REAL, 2) result;                                                 \
            result.x = from_x, result.y = from_y;                                   \
            STORE_VECTOR(REAL, 2, (GLOBAL REAL *)c, 2 * ((there).set * c_side + NUMBER_OF(there, i) * c_point), result); \
        }                                                                           \
    } while (0)
#elif COMPLEX
#define WRITE_POINT(from_x, from_y, there, i)                                       \
    do {                                                                            \
        index const row = NUMBER_OF(there, i);                                      \
        if ((there).has && row < c_rows) {                                          \
            scalar result;                                                          \
            result.x = from_x, result.y = c_sign * (from_y);                        \
            result = scale_by(factor, result);                                      \
            ENDED(result, there, row)                                               \
            STORE_ALIGNED(OUT_ALIGNED, c, (there).batch * c_batch + (there).col * c_side + row * c_point, result); \
        }                                                                           \
    } while (0)
#else
#define WRITE_POINT(from_x, from_y, there, i)                                       \
    do {                                                                            \
        index const row = 2 * NUMBER_OF(there, i);                                  \
        index const at = (there).batch * c_batch + (there).col * c_side + row * (OUT_ALIGNED ? 1 : c_point); \
        if ((there).has && row < c_rows) {                                          \
            scalar even = factor * (from_x), odd = factor * -(from_y);              \
            ENDED(even, there, row)                                                 \
            if (row + 1 < c_rows) { ENDED(odd, there, row + 1) }                    \
            if (OUT_ALIGNED && row + 1 < c_rows) {                                  \
                VECTOR(REAL, 2) both;                                               \
                both.x = even, both.y = odd;                                        \
                STORE_VECTOR(REAL, 2, c, at, both);                                 \
            } else {                                                                \
                STORE(OUT, c, at, even);                                            \
                if (row + 1 < c_rows) STORE(OUT, c, at + c_point, odd);             \
            }                                                                       \
        }                                                                           \
    } while (0)
#endif
)";

// The sequence of a matrix as a convolution has it (set_sequence() in spectrum.hpp), for each element of a block.
inline constexpr char spectrum_sequence_text[] = R"(
KERNEL(ITEMS) spectrum_sequence(MATRIX(IN const, a), index a_step, index a_count, scalar a_scale, int a_conjugated,
                                MATRIX(IN const, b), index b_step, index b_count, scalar b_scale, int b_conjugated,
                                index zeros, index m, index n, int is_hankel, index across, index elements,
                                index period, BUFFER(NUMBER, z)) {
    OPEN(IN const, a);
    OPEN(IN const, b);
    OPEN(NUMBER, z);
    GLOBAL REAL *const to = (GLOBAL REAL *)z;
    for (EACH(at, period * elements)) {
        index const element = at / period, t = at - element * period;
        index const i = element / across, j = element - i * across;
        index const apart = t < m ? t : t - period;
        index const number = is_hankel ? apart + (n - 1) : m - 1 - apart, behind = number - zeros;
        scalar x = ZERO;
        if (number >= 0 && number < m + n - 1 && behind >= 0) {
            if (behind < a_count)
                x = scale_by(a_scale, conjugate_if(a_conjugated, LOAD(IN, a, AT(a, i, j) + behind * a_step)));
            else if (behind - a_count < b_count)
                x = scale_by(b_scale, conjugate_if(b_conjugated, LOAD(IN, b, AT(b, i, j) + (behind - a_count) * b_step)));
        }
#if COMPLEX
        to[2 * at] = x.x, to[2 * at + 1] = x.y;
#else
        to[at] = x;
#endif
    }
}
)";
// The rows of a spectrum, from transforms of sequences (set_spectrum() in spectrum.hpp).
inline constexpr char spectrum_rows_head[] = R"(
KERNEL(ITEMS) spectrum_rows(BUFFER(NUMBER const, z), BUFFER(REAL, spectrum), index points, index rows)";
inline constexpr char spectrum_rows_text[] = R"() {
    OPEN(NUMBER const, z);
    OPEN(REAL, spectrum);
    GLOBAL REAL const *const from = (GLOBAL REAL const *)z;
    REAL const over = (REAL)1 / (REAL)points;
    for (EACH(at, rows)) {
        VECTOR(REAL, 2) const x = LOAD_VECTOR(REAL, 2, from, 2 * at);
#if COMPLEX
        VECTOR(REAL, 2) row;
        row.x = x.x * over, row.y = x.y * over;
        STORE_VECTOR(REAL, 2, spectrum, 2 * at, row);
#else
        index const k = at % points;
        VECTOR(REAL, 2) const y = LOAD_VECTOR(REAL, 2, from, 2 * (k == 0 ? at : at - 2 * k + points));
        VECTOR(REAL, 2) const w = root((uint)k);
        REAL const half_over = over / 2;
        REAL const even_x = (x.x + y.x) * half_over, even_y = (x.y - y.y) * half_over;
        REAL const odd_x = (x.y + y.y) * half_over, odd_y = (y.x - x.x) * half_over;
        REAL const a_x = w.y / 2, a_y = (1 - w.x) / 2, b_x = -w.y / 2, b_y = (1 + w.x) / 2;
        VECTOR(REAL, 4) row;
        row.x = even_x + (a_x * odd_x - a_y * odd_y), row.y = even_y + (a_x * odd_y + a_y * odd_x);
        row.z = b_x * odd_x - b_y * odd_y, row.w = b_x * odd_y + b_y * odd_x;
        STORE_VECTOR(REAL, 4, spectrum, 4 * at, row);
#endif
    }
}
)";

template <class R>
class spectrum_writer : public dft_writer<R> {
public:
    using dft_writer<R>::dft_writer;

    std::string write() {
        this->begin();
        this->define("IN_SPECTRUM", this->has(spectrum_in));
        this->text_ += std::string(dft_places_text) + spectrum_numbers_text;
        kernel();
        return std::move(this->text_);
    }
    std::string write_rows() {
        this->roots_of_order("root", this->all_);
        this->text_ += spectrum_rows_head;
        this->text_ += this->tables_parameter();
        this->text_ += spectrum_rows_text;
        return std::move(this->text_);
    }

private:
    using layout = typename dft_writer<R>::layout;

    void kernel() {
        auto const& work = this->work_;
        layout const head{layout::reads, 0, false, false}, tail{layout::writes, this->last(), false, false};
        layout const flat_head{layout::flat, 0, work.across, false},
            flat_tail{layout::flat, 0, this->has(dft_out_across), false};
        this->open("spectrum_product(SPECTRUM_PARAMETERS",
                   this->has(spectrum_in | spectrum_whole) ? "    OPEN(REAL const, spectrum);\n" : "");
        if (work.flat_in) {
            this->read(flat_head);
            this->exchange(flat_head, head);
        } else {
            this->read(head);
        }
        if (this->has(spectrum_whole))
            both_ways(tail, head);
        else
            this->steps(false, false);
        if (work.flat_out) {
            this->exchange(tail, flat_tail);
            this->write_out(flat_tail);
        } else {
            this->write_out(tail);
        }
        this->text_ += "}\n";
    }
    // The same steps twice, with the product in between. `nothing` is 0, which a compiler does not know: it would keep
    // the addresses and roots of the first turn in registers for the second.
    void both_ways(layout const& tail, layout const& head) {
        this->text_ += "    int const own = thread;\n#pragma unroll 1\n"
                       "    for (int turn = 0; turn < 2; ++turn) {\n"
                       "    int const thread = own + turn * nothing;\n";
        this->exchanged_ = 1; // there are turns before
        this->steps(false, false);
        this->text_ += "    if (turn == 0) {\n";
        multiply(tail, head);
        this->text_ += "    }\n    }\n";
    }
    // From the results of a transform to the first numbers of the transform back: conjugates of products. A real matrix
    // takes the mirror of each number as well, which comes from shared memory.
    void multiply(layout const& from, layout const& to) {
        std::string const
            product = " re[s] = 0, im[s] = 0; ADD_PRODUCT(re[s], im[s], (index)i, z_x, z_y, m_x, m_y);"
                      " im[s] = -im[s];",
            mirror = "int const mirror = i == 0 ? 0 : POINTS - i; ";
        if (!this->has(dft_real)) {
            this->each(from, "REAL const z_x = re[s], z_y = im[s];" + product);
            return this->exchange(from, to);
        }
        std::string const barrier = "    STEP_BARRIER();\n";
        if (this->exchanged_++ > 0) this->text_ += barrier;
        if (this->work_.both) {
            this->each(from, this->spot() + " = re[s]; " + this->second(this->spot()) + " = im[s];");
            this->text_ += barrier;
            return this->each(to, mirror + "REAL const z_x = " + this->spot() + ", z_y = " +
                                      this->second(this->spot()) + ", m_x = " + this->spot("mirror") +
                                      ", m_y = " + this->second(this->spot("mirror")) + ';' + product);
        }
        this->text_ += "    REAL mirrored[KEPT];\n";
        this->each(from, this->spot() + " = re[s];");
        this->text_ += barrier;
        this->each(to, mirror + "re[s] = " + this->spot() + "; mirrored[s] = " + this->spot("mirror") + ';');
        this->text_ += barrier;
        this->each(from, this->spot() + " = im[s];");
        this->text_ += barrier;
        this->each(to, mirror + "REAL const z_x = re[s], z_y = " + this->spot() +
                           ", m_x = mirrored[s], m_y = " + this->spot("mirror") + ';' + product);
    }
};

template <class R>
std::string spectrum_written(text_numbers const& numbers, text_tables* apart) {
    return spectrum_writer<R>(numbers, apart).write();
}
template <class R>
std::string spectrum_rows_written(text_numbers const& numbers, text_tables* apart) {
    return spectrum_writer<R>(numbers, apart).write_rows();
}
template <class T>
std::string spectrum_types() {
    return kernel_types<T, T>() + "#define NUMBER " + kernel_type<dft_complex<real_t<T>>>() + '\n';
}

// The kernel for some numbers of dft_writer, and those of a spectrum.
template <class T>
device_kernel spectrum_kernel(text_numbers const& numbers, int items) {
    using R = real_t<T>;
    device_kernel kernel{"spectrum_product", dft_device_text, {}, items, sizeof(R) == 8, true,
                         spectrum_types<T>};
    kernel.write = spectrum_written<R>;
    kernel.numbers = numbers;
    return kernel;
}
template <class T>
device_kernel sequence_kernel() {
    return {"spectrum_sequence", spectrum_sequence_text, {}, 256, sizeof(real_t<T>) == 8, true,
            spectrum_types<T>};
}
template <class T>
device_kernel spectrum_rows_kernel(index_t points) {
    device_kernel kernel{"spectrum_rows",  dft_device_text, {}, 256, sizeof(real_t<T>) == 8, true,
                         spectrum_types<T>};
    kernel.write = spectrum_rows_written<real_t<T>>;
    kernel.numbers = {{1, 0, 1, points, 0}};
    return kernel;
}

STRATAGEMM_END
