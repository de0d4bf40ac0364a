// Operands for the kernels whose tiles are fetched by hardware: the copy that is made of what cannot be fetched, and the
// tensor map that the hardware reads.
#pragma once

#include "kernels/pack.cu.hpp"
#include "lines.hpp"
#include "operations.hpp"

#include <array>

STRATAGEMM_BEGIN

// As in pack.cu.hpp.
enum class cuda_pack_way : int { transposes, straight, straight_unit };
template <class T>
struct cuda_pack_operand {
    cuda_operand from;
    T* to = nullptr;
    long long line = 0, step = 0;
    int lines = 0, length = 0, batches = 1;
    cuda_pack_way way = cuda_pack_way::transposes;
    unsigned across = 32, blocks = 0;
};
inline constexpr int cuda_most_terms = 4;
template <class T>
struct cuda_pack_sum : cuda_pack_operand<T> {
    int terms = 1, conjugated = 0;
    cuda_operand more[cuda_most_terms - 1];
    accumulator_t<T> factor[cuda_most_terms] = {1};
};

// Copies with aligned lines of an operand or two, in one launch. The launch adds up operands that are sums, and widens
// operands of another type From.
template <class T, class From = T>
class cuda_packing {
    static constexpr bool widens = !std::is_same_v<T, From>;

    // The side of the square that a block copies as it is, or transposes through shared memory.
    static constexpr index_t side = sizeof(T) > 8 ? 32 : 64;

public:
    // Returns where the copy will be.
    cuda_lines<T> add(cuda_line_view<From> const& x, cuda_arena& memory) {
        index_t const count = x.step == 0 ? 1 : x.count; // one matrix that is repeated
        cuda_lines<T> packed{nullptr, x.view.rows, x.view.cols, x.count, cuda_lines<T>::rounded(x.view.cols),
                             0};
        packed.step = count == 1 ? 0 : packed.stride * packed.lines;
        T* const to = memory.take<T>(packed.stride * packed.lines * count).address;
        packed.data = to;
        bool const straight = magnitude(x.view.col_stride) <= magnitude(x.view.row_stride);
        index_t const pieces = (packed.length - 1) / cuda_lines<T>::unit + 1;
        index_t across = 32;
        while (across < pieces && across < 256) across *= 2;
        // A block copies `lines` lines, and `length` elements of each.
        index_t const lines = straight ? 4 * 256 / across : side;
        index_t const length = straight ? across * cuda_lines<T>::unit : side;
        index_t const blocks = ((packed.length - 1) / length + 1) * ((packed.lines - 1) / lines + 1) * count;
        blocks_ += blocks;
        cuda_pack_way const way = !straight                ? cuda_pack_way::transposes
                                  : x.view.col_stride == 1 ? cuda_pack_way::straight_unit
                                                           : cuda_pack_way::straight;
        cuda_pack_sum<T>& of = of_[static_cast<std::size_t>(added_++)];
        static_cast<cuda_pack_operand<T>&>(of) = {cuda_place(x.view, x.step),
                                                  to,
                                                  packed.stride,
                                                  packed.step,
                                                  static_cast<int>(packed.lines),
                                                  static_cast<int>(packed.length),
                                                  static_cast<int>(count),
                                                  way,
                                                  static_cast<unsigned>(across),
                                                  static_cast<unsigned>(blocks)};
        if (x.is_sum()) sums_ = true, of.terms = x.terms;
        for (int t = 0; x.is_sum() && t < x.terms; ++t) {
            cuda_view<From const> const v = x.flipped ? transposed(x.term[t]) : x.term[t];
            if (t > 0) of.more[t - 1] = cuda_place(v, x.step);
            of.factor[t] = static_cast<accumulator_t<T>>(v.scale);
            if (v.conjugate) of.conjugated |= 1 << t;
        }
        return packed;
    }

    status run(cuda_session& session, CUstream stream) const {
        if (added_ == 0) return {};
        if (blocks_ > device_longest)
            return error(errc::unsupported, "cuda: a product is too large for one launch; multiply blocks");
        cuda_form form;
        form.sums = sums_;
        auto compiled = session.kernel(
            {cuda_operation::pack, {type_letter<T>(), type_letter<From>()}, {}, form, {}}, [&] {
                return cuda_source_of<T, T>(
                    "pack", cuda_pack_text, cuda_epilogue<accumulator_t<T>>(identity{}),
                    std::string(sums_ ? "#define SUMS 1\n" : "") +
                        (widens ? std::string("#define FROM ") + kernel_type<From>() + '\n' : ""));
            });
        if (!compiled) return compiled.take_status();
        cuda_grid const grid{static_cast<unsigned>(blocks_), 256};
        if (sums_) return session.launch(stream, **compiled, grid, of_);
        std::array<cuda_pack_operand<T>, 2> const plain{of_[0], of_[1]};
        return session.launch(stream, **compiled, grid, plain);
    }

private:
    std::array<cuda_pack_sum<T>, 2> of_{};
    int added_ = 0;
    index_t blocks_ = 0;
    bool sums_ = false;
};

STRATAGEMM_END
