// A diagonal matrix as an operand that borrows its elements.
//
//   sg::gemm(cpu, sg::diagonal(d), x, y);     multiplies row i of x by d[i]
//   sg::gemm(cpu, x, sg::diagonal(d), y);     multiplies column j of x by d[j]
//
// d is a matrix with one row or one column, such as one on a device, or a range such as std::vector. x and y may have any
// strides; x may be a batch, with y; alpha, beta, E and an epilogue serve as in other products. Zeros of d are multiplied,
// so that 0 times NaN is NaN; elements beside the diagonal are not.
#pragma once

#include "../gemm.hpp"
#include "borrowed_vector.hpp"
#include "diagonal/product.hpp"

STRATAGEMM_BEGIN

template <class T>
struct diagonal_form {
    using value_type = T;
    using index_type = std::int32_t;
    static constexpr bool has_facts = true, is_sparse = true;
    template <class P>
    requires P::is_backend using over = single_element_product<P>;

    bool conjugate = false;

    diagonal_form transposed() const { return *this; }
    template <class Arena, class Leaf>
    std::size_t bytes(index_t rows, index_t) const {
        return bytes_of_lists<Arena, T, index_type>(rows, rows);
    }
    index_t most(index_t rows, index_t) const { return rows; }
    index_t likely(index_t rows, index_t) const { return rows; }
    bool conjugates() const { return conjugate; }
    std::string origin() const { return "diagonal; "; }
};

template <class T, class Space = host_memory>
struct diagonal_matrix {
    using value_type = T;
    using space = Space;
    using form = diagonal_form<T>;
    using index_type = std::int32_t;
    static constexpr int most_views = 1;

    index_t rows = 0, cols = 0;
    view<T const, Space> elements{}; // one row
    accumulator_t<T> scale{1};
    bool conjugate = false;

    diagonal_matrix() = default;
    explicit diagonal_matrix(batch<T const, Space> const& d)
        : rows(d.count), cols(d.count), elements(d.first), scale(d.first.scale),
          conjugate(d.first.conjugate) {
        elements.cols = d.count, elements.col_stride = used_stride(d.count, d.stride);
        elements.scale = accumulator_t<T>(real_t<T>(1)), elements.conjugate = false;
    }
    form facts() const { return {conjugate}; }
    template <class F>
    void each_view(F&& f) const {
        f(elements);
    }
    diagonal_matrix transposed() const { return *this; }
    status usable() const {
        if (!can_count<index_type>(rows))
            return failure(errc::overflow, "diagonal: there are more elements than 32-bit indices can count");
        return {};
    }
    template <class Leaf, class Arena>
    result<csr<T, index_type, Space>> listed(Leaf const& leaf, Arena& memory) const {
        auto const numbers = memory.template take<index_type>(rows + 1);
        if (status s = number_rows<T, index_type>(leaf, numbers, rows + 1); !s) return s;
        csr<T, index_type, Space> list{rows, cols, numbers, numbers, elements.data, rows, scale, conjugate};
        if (elements.col_stride != 1) {
            auto const values = memory.template take<T>(rows);
            if (status s = leaf.copy(elements, view<T, Space>{values, 1, rows, rows, 1}); !s) return s;
            list.values = values;
        }
        return list;
    }
};
static_assert(sparse_operand<diagonal_matrix<float>>);

template <vector_like D>
auto diagonal(D&& d) {
    auto const run = elements_of(d);
    using Run = std::remove_const_t<decltype(run)>;
    return diagonal_matrix<std::remove_const_t<typename Run::element_type>, typename Run::space>(run);
}

STRATAGEMM_END
