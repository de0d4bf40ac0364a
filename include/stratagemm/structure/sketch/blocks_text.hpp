// Signs times dense on a device, in blocks of the sums: the kernels in the dialect, and what they are compiled for.
//
// Each element of a dense X meets as many rows of a sketch as a column has signs. As a sparse product, X would be read
// from caches once for each sign. Here a group reads a block of X into shared memory, DEPTH terms of WIDTH columns, and
// sums of all rows that the group has stay in registers while the blocks go by; a warp has ROWS_OF_WARP rows, and a lane WIDE
// columns. The next block is read while this one is added. So X is read from memory once, if one group has all rows.
//
// The signs of a block are listed by rows first, by a kernel: a word for each row says where its entries begin, and how
// many there are, in units of four; an entry is twice the place of a term in shared memory, and one more if the sign is negative. The last
// entries of a row are of a term that is zero, so that no entry takes a condition. Entries of a row are in the order of
// the terms, so the order of all sums is that of the terms, whatever runs when.
#pragma once

#include "../../backend/host/kernels.hpp"
#include "../csr/columns_text.hpp"
#include "device.hpp"

STRATAGEMM_BEGIN

// How the work is divided: what the kernels are compiled for.
struct sign_blocks {
    int wide = 1, each = 1, warps = 1, depth = 1; // of a lane, of a warp, of a group, of a block
    index_t parts = 1;                            // whose rows a group has, at most
    // In which a block is read: few registers hold what is on its way.
    static constexpr int stages = 4;

    int items() const { return 32 * warps; }
    index_t rows() const { return index_t{each} * warps; }
    index_t width() const { return index_t{wide} * 32; }
    index_t line() const { return width() + wide; } // so that neither terms nor columns meet in one bank
    index_t tile() const { return (depth + 1) * line(); } // with a term that is zero
    // The entries of a part are behind one another, and those of a row begin at a multiple of four.
    index_t entries() const { return depth * parts + 4 * rows(); }
    index_t list() const { return rows() + entries(); }
    // Two blocks and their lists; in the end, what warps turn.
    index_t words_of_tiles(std::size_t element) const {
        return divide_up(2 * tile() * static_cast<index_t>(element), 16) * 4;
    }
    std::size_t shared_bytes(std::size_t element) const {
        index_t const turned = warps * smaller(each, 16) * 33 * static_cast<index_t>(element) / 4;
        return static_cast<std::size_t>(larger_of(words_of_tiles(element) + 2 * list(), turned)) * 4;
    }
    text_numbers numbers() const { return {{wide, each, warps, depth, parts}}; }
};

inline constexpr char sign_blocks_text[] = R"(
#define WIDTH (32 * WIDE)
#define LINE (WIDTH + WIDE)
#define TILE ((DEPTH + 1) * LINE)
#define QUAD VECTOR(int, 4)
#define ROOM SHARED_AS(scalar, room)
#define LISTS SHARED_AS(int, room + WORDS_OF_TILES / 4)
#define MINOR (ALONG ? DEPTH : WIDTH)
#define STEP (ITEMS / MINOR)
#define LOADS (DEPTH * WIDTH / ITEMS / STAGES)
#define WORDS ((LIST + STAGES * ITEMS - 1) / (STAGES * ITEMS))
#define TURNED_ROWS (ROWS_OF_WARP < 16 ? ROWS_OF_WARP : 16)
#if COMPLEX
#define ADD_SIGNED(sum, sign, v)        \
    sum.x = fma(sign, (v).x, sum.x);    \
    sum.y = fma(sign, (v).y, sum.y)
#else
#define ADD_SIGNED(sum, sign, v) sum = fma(sign, v, sum)
#endif
#define SIGN_OF(entry) ((entry) & 1 ? (REAL)-1.0f : (REAL)1.0f)
/* A lane reads its columns, which are neighbours, at once. */
#if WIDE == 2
#define TERM VECTOR(REAL, 2)
#define READ_TERM(entry) (SHARED_AS(TERM, room) + place)[(entry) >> 1]
#define ADD_TERM(v, entry)                                  \
    {                                                       \
        float const sign = sign_of(entry);                  \
        ADD_SIGNED(sum[2 * r], sign, (v).x);                \
        ADD_SIGNED(sum[2 * r + 1], sign, (v).y);            \
    }
FUNCTION float sign_of(int entry) {
    union {
        uint bits;
        float number;
    } x;
    x.bits = ((uint)entry << 31) + 0x3f800000u; /* one instruction; so is half of the entry */
    return x.number;
}
#else
#define TERM scalar
#define READ_TERM(entry) (ROOM + place)[(entry) >> 1]
#define ADD_TERM(v, entry) ADD_SIGNED(sum[r], SIGN_OF(entry), v)
#endif
/* Elements of X of a stage of block b, for this work-item, and words of its list. */
#define READ_STAGE(b)                                                                                    \
    {                                                                                                    \
        index const from = x_of_item + (index)(b) * DEPTH * x_row + stage * LOADS * step,                \
                    left_terms = depth - (index)(b) * DEPTH;                                             \
        int const terms = (int)min(left_terms, (index)DEPTH);                                            \
        int const bound = ALONG ? (minor < terms ? columns : 0) : (minor < columns ? terms : 0);         \
        for (int u = 0; u < LOADS; ++u) {                                                                \
            next[u] = ZERO;                                                                              \
            if (major + (stage * LOADS + u) * STEP < bound) next[u] = LOAD(IN, x, from + u * step);      \
        }                                                                                                \
    }
#define KEEP_STAGE(b)                                                                                    \
    for (int u = 0; u < LOADS; ++u) {                                                                    \
        int const at = major + (stage * LOADS + u) * STEP;                                               \
        ROOM[((b) & 1) * TILE + (ALONG ? minor * LINE + at : at * LINE + minor)] =                       \
            conjugate_if(x_conjugated, next[u]);                                                         \
    }
#define READ_LIST(b)                                                                                     \
    for (int u = 0; u < WORDS; ++u) {                                                                    \
        int const at = (stage * WORDS + u) * ITEMS + ITEM;                                               \
        if (at < LIST) words[u] = lists[(list_of_group * blocks + (b)) * LIST + at];                     \
    }
#define KEEP_LIST(b)                                                                                     \
    for (int u = 0; u < WORDS; ++u) {                                                                    \
        int const at = (stage * WORDS + u) * ITEMS + ITEM;                                               \
        if (at < LIST) LISTS[((b) & 1) * LIST + at] = words[u];                                          \
    }

KERNEL_AT_ONCE(ITEMS, 1)
signs_times_dense(BUFFER(int const, lists), index blocks, index chunks, MATRIX(IN const, x), int x_conjugated,
                  index depth, PRODUCT) {
#if ROOM_BYTES > MOST_DECLARED
    LARGE_SHARED(QUAD, room, ROOM_BYTES / 16);
#else
    SHARED QUAD room[ROOM_BYTES / 16];
#endif
    OPEN(int const, lists);
    OPEN(IN const, x);
    OPEN(OUT const, e);
    OPEN(OUT, c);
    index const list_of_group = (index)GROUP % chunks, first_j = (index)GROUP / chunks * WIDTH,
                first_i = list_of_group * (ROWS_OF_WARP * WARPS);
    int const minor = ITEM % MINOR, major = ITEM / MINOR, columns = (int)min(cols - first_j, (index)WIDTH);
    index const step = STEP * (ALONG ? x_col : x_row),
                x_of_item = AT(x, (index)(ALONG ? minor : major), first_j + (ALONG ? major : minor));
    scalar sum[ROWS_OF_WARP * WIDE], next[LOADS];
    int words[WORDS];
#pragma unroll
    for (int s = 0; s < ROWS_OF_WARP * WIDE; ++s) sum[s] = ZERO;
#pragma unroll
    for (int stage = 0; stage < STAGES; ++stage) {
        READ_STAGE(0)
        READ_LIST(0)
        KEEP_STAGE(0)
        KEEP_LIST(0)
    }
    for (int at = ITEM; at < 2 * LINE; at += ITEMS) ROOM[at / LINE * TILE + DEPTH * LINE + at % LINE] = ZERO;
    BARRIER();
    for (int b = 0; b < (int)blocks; ++b) {
        bool const more = b + 1 < (int)blocks;
        int const place = (b & 1) * (TILE / WIDE) + LANE, list = (b & 1) * LIST,
                  quads = list / 4 + ROWS_OF_WARP * WARPS / 4;
#pragma unroll
        for (int stage = 0; stage < STAGES; ++stage) {
            if (more) {
                READ_STAGE(b + 1)
                READ_LIST(b + 1)
            }
#pragma unroll
            for (int r = stage * (ROWS_OF_WARP / STAGES); r < (stage + 1) * (ROWS_OF_WARP / STAGES); ++r) {
                int const row = LISTS[list + WARP * ROWS_OF_WARP + r];
                int at = quads + (row >> 16), left = row & 0xffff;
#pragma unroll 1
                for (; left > 0; --left, ++at) {
                    QUAD const entries = SHARED_AS(QUAD, LISTS)[at];
                    TERM const p = READ_TERM(entries.x), q = READ_TERM(entries.y), s = READ_TERM(entries.z),
                               t = READ_TERM(entries.w);
                    ADD_TERM(p, entries.x);
                    ADD_TERM(q, entries.y);
                    ADD_TERM(s, entries.z);
                    ADD_TERM(t, entries.w);
                }
            }
            if (more) {
                KEEP_STAGE(b + 1)
                KEEP_LIST(b + 1)
            }
        }
        BARRIER();
    }
#if ENDS_ALONG
    /* A warp turns what it has in shared memory, and writes along the rows of the sketch. */
#pragma unroll
    for (int w = 0; w < WIDE; ++w)
#pragma unroll
        for (int first = 0; first < ROWS_OF_WARP; first += TURNED_ROWS) {
            int const mine = WARP * TURNED_ROWS * 33;
#pragma unroll
            for (int r = 0; r < TURNED_ROWS; ++r) ROOM[mine + r * 33 + LANE] = sum[(first + r) * WIDE + w];
            BARRIER();
            for (int u = 0; u < TURNED_ROWS; ++u) {
                int const at = u * 32 + LANE, r = at % TURNED_ROWS, column = at / TURNED_ROWS;
                index const i = first_i + WARP * ROWS_OF_WARP + first + r, j = first_j + WIDE * column + w;
                if (i < rows && j < cols) FINISH_ELEMENT(i, j, ROOM[mine + r * 33 + column]);
            }
            BARRIER();
        }
#else
#pragma unroll
    for (int r = 0; r < ROWS_OF_WARP; ++r)
#pragma unroll
        for (int w = 0; w < WIDE; ++w) {
            index const i = first_i + WARP * ROWS_OF_WARP + r, j = first_j + WIDE * LANE + w;
            if (i < rows && j < cols) FINISH_ELEMENT(i, j, sum[r * WIDE + w]);
        }
#endif
}
)";

// Lists the signs of a block of columns in those rows of a part that a group of the product has. A work-item has a row,
// and sees all signs twice: to count those of rows before, and to write those of its own.
inline constexpr char sign_lists_text[] = R"(
KERNEL(ITEMS) list_sign_blocks(BUFFER(int, lists), int key, int second_key, index all_rows, index signs, index row,
                               index rows, index col, index cols, index blocks, index chunk_rows, index parts,
                               index slices, index line, index words, index depth) {
    SHARED int rows_of[MOST_DEPTH];
    OPEN(int, lists);
    index const slice = (index)GROUP % slices, part = (index)GROUP / slices % parts,
                b = (index)GROUP / slices / parts % blocks, chunk = (index)GROUP / slices / parts / blocks;
    /* The rows of the sketch that this part has here: [from, to) */
    index const first_row = row + chunk * chunk_rows, end_row = row + min(rows, (chunk + 1) * chunk_rows);
    index const low = all_rows / signs, longer = all_rows % signs;
    index const first_part = first_row < (low + 1) * longer ? first_row / (low + 1)
                                                            : longer + (first_row - (low + 1) * longer) / low;
    index const t = first_part + part, part_begin = low * t + min(t, longer),
                size = low + (t < longer ? 1 : 0);
    index const from = max(part_begin, first_row), to = min(part_begin + size, end_row);
    for (int l = ITEM; l < (int)depth; l += ITEMS) {
        index const j = b * depth + l;
        int found = -1;
        if (j < cols && t < signs) {
            uint drawn[4];
            drawn[0] = (uint)(t / 4);
            drawn[1] = (uint)(col + j);
            drawn[2] = 2;
            drawn[3] = 0;
            draw(drawn, (uint)key, (uint)second_key);
            int const at = (int)(t & 3);
            uint const word = at == 0 ? drawn[0] : at == 1 ? drawn[1] : at == 2 ? drawn[2] : drawn[3];
            index const i = part_begin + (index)((ulong)(word >> 1) * (ulong)size >> 31);
            if (i >= from && i < to) found = (int)((i - from) << 1) | (int)(word & 1);
        }
        rows_of[l] = found;
    }
    BARRIER();
    GLOBAL int *const list = lists + (chunk * blocks + b) * words;
    /* Rows of no part are empty, for the last part to say. */
    if (part == parts - 1 && slice == 0)
        for (index i = max(end_row - first_row, (index)0) + ITEM; i < chunk_rows; i += ITEMS) list[i] = 0;
    index const entries_of_part = depth * part + 4 * (from - first_row);
    for (index i = slice * ITEMS + ITEM; i < to - from; i += slices * ITEMS) {
        int before = 0, count = 0;
        for (int l = 0; l < (int)depth; ++l) {
            int const other = rows_of[l] >> 1;
            before += other >= 0 && other < (int)i;
            count += other == (int)i;
        }
        int const quad = (int)(entries_of_part / 4 + i) + (before + 3) / 4;
        list[from - first_row + i] = quad << 16 | (count + 3) / 4;
        GLOBAL int *next = list + chunk_rows + 4 * quad;
        for (int l = 0; l < (int)depth; ++l)
            if (rows_of[l] >> 1 == (int)i) *next++ = (int)(l * line) << 1 | (rows_of[l] & 1);
        for (; count & 3; ++count) *next++ = (int)(depth * line) << 1;
    }
}
)";
inline constexpr joined_text sign_list_texts{sketch_text, sign_lists_text};

STRATAGEMM_END
