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

// The tensor map of a box: `along` elements of a line, and `lines` lines. Swizzled lines have 128 bytes.
template <class T>
status cuda_map_of(cuda_session const& session, CUtensorMap& map, cuda_lines<T> const& l, index_t along,
                   index_t lines, bool swizzled) {
    constexpr CUtensorMapDataType type = sizeof(T) == 8   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
                                         : sizeof(T) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                         : sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                          : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    auto const number = [](index_t x) { return static_cast<cuuint64_t>(x); };
    auto const bytes = [&](index_t x) { return number(x) * sizeof(T); };
    // One matrix that is repeated is a batch of one; kernels then ask for the first.
    bool const batch = l.count > 1 && l.step > 0;
    cuuint64_t const sides[3] = {number(l.length), number(l.lines), batch ? number(l.count) : 1};
    cuuint64_t const strides[2] = {bytes(l.stride), batch ? bytes(l.step) : bytes(l.stride)};
    cuuint32_t const box[3] = {static_cast<cuuint32_t>(along), static_cast<cuuint32_t>(lines), 1};
    // How much is brought to the cache at once. A line of 128 bytes that does not begin at a multiple of 128 should not
    // bring four times as much: with 256 at once, products of 1000 take an eighth longer.
    CUtensorMapL2promotion const fetched =
        swizzled && sizeof(T) < 8 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    CUtensorMapSwizzle const swizzle = swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
    CUresult const code = session.encode(map, type, l.data, sides, strides, box, swizzle, fetched);
    if (code != CUDA_SUCCESS) return cuda_error(code, "cuTensorMapEncodeTiled");
    return {};
}

STRATAGEMM_END
