// Cosine transforms of the columns of a matrix on a device: what is launched, by the kernels of Fourier transforms.
//
// The real parts of complex columns are transformed by one launch and the imaginary parts by another, so that neither
// part changes the other's result. Complex factors, E and an epilogue follow.
#pragma once

#include "../dft/device.hpp"
#include "tables.hpp"

STRATAGEMM_BEGIN

// Columns of complex numbers that E is added to, which are transformed in workspace: of one matrix, as many as keep a
// device busy.
inline index_t dct_columns_at_once(index_t points, index_t columns) {
    return smaller(larger_of(1, (index_t{1} << 22) / larger_of(1, points)), columns);
}
// Bytes of workspace for products with C of `rows` rows of type T, in an arena of type Arena.
template <class T, class Arena, class R>
std::size_t dct_workspace(dft_device_way<R> const& way, index_t rows, index_t columns, index_t count,
                          bool adds) {
    std::size_t bytes = workspace_of<Arena>(way.division, columns * count);
    if (complex_like<T> && adds)
        bytes +=
            Arena::rounded(static_cast<std::size_t>(rows * dct_columns_at_once(way.n, columns)) * sizeof(T));
    return bytes;
}

// A product whose A is a cosine transform and whose B and C are views on a device, or hold the rows of a Share of the
// points. `turned`: the caller's product is the transposed one, whose epilogue is told.
template <class Leaf, class Q, class Arena, class Share = dft_all_points>
class dct_launches {
    using C = typename Q::c_type;
    using R = real_t<C>;
    using S = typename Q::scalar;

public:
    dct_launches(Leaf const& leaf, Q const& problem, dft_device_way<R> const& way, bool turned,
                 Share const& share = {})
        : leaf_(leaf), p_(problem), way_(way), turned_(turned), share_(share) {}

    status operator()(Arena& memory) const {
        if constexpr (complex_like<C>)
            return transform_parts(memory);
        else
            return run(p_, turned_, memory, 0);
    }

private:
    template <class X>
    status run(X const& p, bool turned, Arena& memory, index_t lines) const {
        return dft_on_device<Leaf, X, Arena, Share>(leaf_, p, way_, turned, lines, share_).run(memory);
    }
    // Both parts of columns, without E and epilogue: by a real factor.
    template <class X>
    status run_parts(X const& p, Arena& memory) const {
        if (status s = run(p, false, memory, dft_parts); !s) return s;
        return run(p, false, memory, dft_parts | dft_second_part);
    }
    status transform_parts(Arena& memory) const {
        auto parts = p_.without_epilogue();
        parts.beta = S(0);
        bool const is_real = p_.alpha.imag() == R(0), adds = p_.beta != S(0);
        if (!is_real || adds) parts.alpha = S(1);
        if (!adds)
            if (status s = run_parts(parts, memory); !s) return s;
        if (is_real && !adds && std::is_same_v<typename Q::epilogue_type, identity>) return {};
        typename Arena::scope const scope(memory);
        for (index_t i = 0; i < p_.count; ++i) {
            auto const one = parts.at(i);
            if (adds) {
                if (status s = add(one, p_.e.moved(i * p_.e_step), memory); !s) return s;
            } else if (!is_real) {
                auto x = reading(one.c);
                x.scale = p_.alpha;
                if (status s = leaf_.copy(x, one.c); !s) return s;
            }
            if (status s = end(one.c); !s) return s;
        }
        return {};
    }
    // C = alpha A B + beta E of one matrix, some columns at a time.
    template <class X, class E>
    status add(X const& one, E const& e, Arena& memory) const {
        typename Arena::scope const scope(memory);
        index_t const at_once = dct_columns_at_once(way_.n, one.c.cols), rows = one.c.rows;
        auto room = one.c;
        room.data = memory.template take<C>(rows * at_once);
        room.row_stride = 1, room.col_stride = rows;
        for (index_t j = 0; j < one.c.cols; j += at_once) {
            index_t const cols = smaller(at_once, one.c.cols - j);
            X q = one;
            q.b = one.b.block(0, j, one.b.rows, cols), q.c = room.block(0, 0, rows, cols);
            if (status s = run_parts(q, memory); !s) return s;
            auto x = reading(q.c), y = e.block(0, j, rows, cols);
            x.scale = p_.alpha, y.scale = p_.beta;
            if (status s = leaf_.add(x, y, one.c.block(0, j, rows, cols)); !s) return s;
        }
        return {};
    }
    template <class To>
    status end(To const& c) const {
        if constexpr (std::is_same_v<typename Q::epilogue_type, identity>)
            return {};
        else
            return leaf_.apply(p_.epilogue, turned_ ? c.transposed() : c, p_.row0, p_.col0);
    }

    Leaf const& leaf_;
    Q const& p_;
    dft_device_way<R> const& way_;
    bool turned_;
    Share share_;
};

STRATAGEMM_END
