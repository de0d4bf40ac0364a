#include "narrow.hpp"

#include "routines.inl.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <new>

namespace stratagemm_blas {

template void gemm(caller const&, product_call<sg::bfloat16, float> const&);
template void gemm(caller const&, product_call<sg::bfloat16, float, sg::bfloat16> const&);

namespace {

using std::int32_t;
using std::int64_t;
using std::int8_t;

template <class T>
std::unique_ptr<T[]> room_for(index_t count) {
    std::unique_ptr<T[]> room(new (std::nothrow) T[static_cast<std::size_t>(count)]);
    if (!room) give_up("gemm_s8u8s32: there is no memory for its sums");
    return room;
}

// An operand with signs, and what has to be added to each of its elements.
struct signed_operand {
    sg::view<int8_t const> elements;
    int64_t offset;
    std::unique_ptr<int8_t[]> room{};

    // Unsigned numbers less 128 are signed ones.
    void make_signed() {
        auto const& from = elements;
        room = room_for<int8_t>(from.rows * from.cols);
        for (index_t i = 0; i < from.rows; ++i)
            for (index_t j = 0; j < from.cols; ++j)
                room[static_cast<std::size_t>(i * from.cols + j)] = static_cast<int8_t>(from(i, j) ^ -128);
        elements = sg::view<int8_t const>{room.get(), from.rows, from.cols, from.cols, 1};
        offset += 128;
    }
};

// The sums of the rows of a matrix.
std::unique_ptr<int64_t[]> row_sums(sg::view<int8_t const> const& v) {
    auto sums = room_for<int64_t>(v.rows);
    for (index_t i = 0; i < v.rows; ++i) {
        int64_t sum = 0;
        for (index_t j = 0; j < v.cols; ++j) sum += v(i, j);
        sums[static_cast<std::size_t>(i)] = sum;
    }
    return sums;
}

int32_t nearest(double x) {
    constexpr double least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(x < least ? least : x > most ? most : std::nearbyint(x));
}

} // namespace

void gemm_s8u8s32(caller const& who, integer_call const& p) {
    bool const ta = turns(p.transa), tb = turns(p.transb);
    index_t const a_rows = ta ? p.k : p.m, a_cols = ta ? p.m : p.k, b_rows = tb ? p.n : p.k,
                  b_cols = tb ? p.k : p.n;
    int const wrong = first_wrong({{1, p.transa == op::bad},
                                   {2, p.transb == op::bad},
                                   {3, p.offsetc == offset::bad},
                                   {4, p.m < 0},
                                   {5, p.n < 0},
                                   {6, p.k < 0},
                                   {9, is_short(who, p.lda, a_rows, a_cols)},
                                   {12, is_short(who, p.ldb, b_rows, b_cols)},
                                   {16, is_short(who, p.ldc, p.m, p.n)}});
    if (wrong) return refuse(who, wrong);
    if (p.m == 0 || p.n == 0) return;
    auto const bytes = [](void const* x) { return static_cast<int8_t const*>(x); };
    signed_operand a{applied(p.transa, stored(who, bytes(p.a), a_rows, a_cols, p.lda)), p.oa};
    signed_operand b{applied(p.transb, stored(who, bytes(p.b), b_rows, b_cols, p.ldb)), p.ob};
    (who.by_rows ? a : b).make_signed();

    auto const room = room_for<int32_t>(p.m * p.n);
    sg::view<int32_t> const product = stored(who, room.get(), p.m, p.n, who.by_rows ? p.n : p.m);
    multiply<int8_t>(int32_t{1}, a.elements, b.elements, int32_t{0}, product);
    auto const a_sums = row_sums(a.elements), b_sums = row_sums(b.elements.transposed());
    sg::view<int32_t> const c = stored(who, p.c, p.m, p.n, p.ldc);
    int64_t const both = p.k * a.offset * b.offset;
    for (index_t i = 0; i < p.m; ++i)
        for (index_t j = 0; j < p.n; ++j) {
            int64_t const sum = product(i, j) + b.offset * a_sums[static_cast<std::size_t>(i)] +
                                a.offset * b_sums[static_cast<std::size_t>(j)] + both;
            int32_t const added = p.oc[p.offsetc == offset::fixed ? 0 : p.offsetc == offset::column ? i : j];
            double x = static_cast<double>(p.alpha) * static_cast<double>(sum) + added;
            if (p.beta != 0) x += static_cast<double>(p.beta) * c(i, j);
            c(i, j) = nearest(x);
        }
}

} // namespace stratagemm_blas
