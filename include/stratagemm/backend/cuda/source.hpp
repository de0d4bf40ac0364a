// The sources of the kernels, and their arguments.
#pragma once

#include "../../device/dialect_source.hpp"
#include "../../device/warpgroups.hpp"
#include "epilogue.hpp"
#include "kernels/blocked.cu.hpp"
#include "kernels/copies.cu.hpp"
#include "kernels/dialect.cu.hpp"
#include "kernels/direct.cu.hpp"
#include "kernels/fp64.cu.hpp"
#include "kernels/mma.cu.hpp"
#include "kernels/narrow.cu.hpp"
#include "kernels/narrow_along_k.cu.hpp"
#include "kernels/narrow_along_m.cu.hpp"
#include "kernels/ordered.cu.hpp"
#include "kernels/pipeline.cu.hpp"
#include "kernels/prelude.cu.hpp"
#include "kernels/rows.cu.hpp"
#include "kernels/shared.cu.hpp"
#include "kernels/simt.cu.hpp"
#include "kernels/small.cu.hpp"
#include "kernels/wgmma.cu.hpp"
#include "session.hpp"

STRATAGEMM_BEGIN

template <class In, class Out, class Epilogue>
cuda_source cuda_source_of(char const* kernel, char const* body, Epilogue const& epilogue,
                           std::string const& definitions = {}) {
    std::string const prelude =
        std::string(cuda_elements_text) + cuda_numbers_text + cuda_flags_text + cuda_product_text;
    cuda_source source{kernel, kernel_text<In, Out>(prelude, body, epilogue, definitions)};
    source.exact = definitions.find("#define INVARIANT 1") != std::string::npos;
    return source;
}

inline cuda_source cuda_source_of(device_kernel const& k) {
    cuda_source source{k.name, dialect_source(k,
                                              std::string(cuda_elements_text) + cuda_dialect_text +
                                                  cuda_shared_text + (k.write ? cuda_tables_text : ""),
                                              cuda_numbers_text)};
    source.shared_bytes = k.shared_bytes;
    source.exact = k.exact;
    return source;
}

// The tensor cores keep 13 bits after the first of a sum of products of fp8. Sums are therefore kept outside of them.
inline std::string cuda_promotes(char letter) {
    return letter == '4' || letter == '5' ? "#define PROMOTES 1\n" : "#define PROMOTES 0\n";
}

// The definition that names the type of an operand of T, if T is narrower than In.
template <class In, class T>
std::string cuda_narrower(char const* name) {
    return std::is_same_v<T, In> ? "" : std::string("#define ") + name + ' ' + kernel_type<T>() + '\n';
}

// What mma.cu.hpp asks for.
inline std::string cuda_mma_operands(char letter) {
    char const* const type = letter == 'h'   ? "m16n8k16.row.col.f32.f16.f16.f32"
                             : letter == 'w' ? "m16n8k16.row.col.f32.bf16.bf16.f32"
                             : letter == 'b' ? "m16n8k32.row.col.s32.s8.s8.s32"
                             : letter == '4' ? "m16n8k32.row.col.f32.e4m3.e4m3.f32"
                             : letter == '5' ? "m16n8k32.row.col.f32.e5m2.e5m2.f32"
                                             : "m16n8k8.row.col.f32.tf32.tf32.f32";
    return std::string("#define MMA_TYPE \"") + type + "\"\n" + cuda_promotes(letter);
}

// The kernel of a product, but for the direct one. A may be narrower than In where there are few columns, and either
// operand where simt gathers.
template <class In, class Out, class A = In, class B = In, class Epilogue>
cuda_source cuda_product_source(cuda_tile const& tile, cuda_form const& form, Epilogue const& epilogue) {
    if (tile.engine == cuda_engine::blocked)
        return cuda_source_of<In, Out>("blocked", cuda_blocked_text, epilogue, definitions(tile, form));
    if (tile.engine == cuda_engine::small) {
        std::string const body = std::string(cuda_copies_text) + cuda_small_text;
        cuda_source source =
            cuda_source_of<In, Out>("small", body.c_str(), epilogue, definitions(tile, form));
        source.threads = threads_of(tile);
        return source;
    }
    if (tile.engine == cuda_engine::narrow && form.invariant) {
        bool const on_tensor_cores = sizeof(In) == 2;
        std::string const body = (tile.cluster > 1 ? fetches_text : "") + std::string(cuda_copies_text) +
                                 cuda_ordered_copies_text +
                                 (on_tensor_cores ? cuda_ordered_mma_text : cuda_ordered_text);
        cuda_source source = cuda_source_of<In, Out>(
            on_tensor_cores ? "ordered_mma" : "ordered", body.c_str(), epilogue,
            (on_tensor_cores ? cuda_mma_operands(type_letter<In>()) : "") + definitions(tile, form));
        source.shared_bytes = shared_bytes_of_ordered(tile, sizeof(In), form.a_along_k);
        return source;
    }
    if (tile.engine == cuda_engine::narrow) {
        std::string const body = (form.together ? fetches_text : "") + std::string(cuda_copies_text) +
                                 cuda_narrow_text +
                                 (form.a_along_k ? cuda_narrow_along_k_text : cuda_narrow_along_m_text);
        cuda_source source = cuda_source_of<In, Out>(
            "narrow", body.c_str(), epilogue,
            cuda_narrower<In, A>("A_IN") + cuda_mma_operands(type_letter<In>()) + definitions(tile, form));
        source.shared_bytes = shared_bytes_of_narrow(tile, sizeof(In), sizeof(accumulator_t<In>), form);
        return source;
    }
    std::string body = std::string(fetches_text) + cuda_pipeline_text;
    switch (tile.engine) {
    case cuda_engine::simt:
        body += cuda_narrower<In, A>("A_IN") + cuda_narrower<In, B>("B_IN") + cuda_simt_text;
        break;
    case cuda_engine::fp64: body += cuda_fp64_text; break;
    case cuda_engine::mma:
        body += cuda_mma_operands(type_letter<In>()) + cuda_copies_text + cuda_shared_text + cuda_rows_text +
                cuda_mma_text;
        break;
    default: {
        char const letter = type_letter<In>();
        char const* const type = letter == 'h'   ? "f16"
                                 : letter == 'w' ? "bf16"
                                 : letter == 'b' ? "s8"
                                 : letter == '4' ? "e4m3"
                                 : letter == '5' ? "e5m2"
                                                 : "tf32";
        bool const turned = is_turned(tile, form, sizeof(In));
        bool const few_registers =
            tile.n > 256 || (has_three_groups(tile) && tile.n > 128); // beside the sums
        body += cuda_promotes(letter) + "#define FROM_REGISTERS " + (turned ? "1\n" : "0\n") +
                "#define WARP_BYTES " + std::to_string(warp_results(tile, sizeof(In))) + '\n' +
                (few_registers ? "#define ROWS_IN_FLIGHT 4\n" : "") + wgmma_text +
                wgmma_instructions(type, tile.n, turned) + cuda_shared_text + cuda_rows_text +
                cuda_wgmma_text;
    }
    }
    cuda_source source = cuda_source_of<In, Out>(name_of(tile.engine), body.c_str(), epilogue,
                                                 definitions(lying_on_c(tile, form, sizeof(In)), form));
    source.shared_bytes = shared_bytes_of(tile, sizeof(In), form);
    source.threads = threads_of(tile, form);
    return source;
}

// The kernel that adds up sums of parts of k: for all tiles of a product, or for its last tiles only.
template <class In, class Out, class Epilogue>
cuda_source cuda_gather_source(cuda_tile const& tile, cuda_form const& form, int slices,
                               Epilogue const& epilogue) {
    std::string const body =
        form.tail ? std::string(fetches_text) + cuda_pipeline_text + cuda_gather_text : cuda_gather_text;
    std::string of_tile = form.tail ? definitions(tile, form) : "#define TAIL 0\n";
    if (form.spreads && !form.tail) of_tile += "#define SPREADS 1\n";
    if (form.invariant) of_tile += "#define INVARIANT 1\n";
    return cuda_source_of<In, Out>("gather", body.c_str(), epilogue,
                                   of_tile + "#define SLICES " + std::to_string(slices) + '\n');
}

inline constexpr int cuda_most_targets = 4;

// Matrices as kernels take them; see prelude.cu.hpp.
struct cuda_operand {
    void const* data = nullptr;
    long long row = 0, col = 0, step = 0;
};
template <class T>
cuda_operand cuda_place(cuda_view<T> const& v, index_t step = 0) {
    return {v.data.address, v.row_stride, v.col_stride, step};
}
template <class Scalar>
struct cuda_arguments {
    cuda_operand a, b, e, c;
    long long row0 = 0, col0 = 0;
    int m = 0, n = 0, k = 0, count = 1;
    int part = 0;
    int flags = 0; // cuda_flag
    Scalar alpha{}, beta{};
};

// With the targets of a spread.
template <class Scalar>
struct cuda_spread_arguments : cuda_arguments<Scalar> {
    struct target {
        cuda_operand e, c;
        Scalar factor{}, beta{};
        int flags = 0;
    };
    int targets = 0;
    target at[cuda_most_targets];
};

STRATAGEMM_END
