// The sources of the kernels, and their arguments.
#pragma once

#include "../../device/dialect_source.hpp"
#include "../../device/warpgroups.hpp"
#include "epilogue.hpp"
#include "kernels/dialect.cu.hpp"
#include "kernels/gather.cu.hpp"
#include "kernels/pipeline.cu.hpp"
#include "kernels/prelude.cu.hpp"
#include "kernels/shared.cu.hpp"
#include "query.hpp"

STRATAGEMM_BEGIN

// A program of one kernel, before it is compiled.
struct cuda_source {
    char const* kernel; // its name
    std::string text;
    std::size_t shared_bytes = 0; // dynamic shared memory of a block
    int threads = 0;              // of a block, if as many blocks are launched as there is room for
    bool exact = false;           // a b + c is not contracted
};

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

// The parameters of a kernel, as its text names them.
class cuda_definitions {
public:
    cuda_definitions& operator()(char const* name, int value) {
        ((((text_ += "#define ") += name) += ' ') += std::to_string(value)) += '\n';
        return *this;
    }
    // What a kernel is given only if it holds.
    cuda_definitions& only(char const* name, bool holds) { return holds ? (*this)(name, 1) : *this; }
    // Of a tile of C: its sides, the depth of a step, what a thread or a warp has of it, and the rest.
    template <class Tile>
    cuda_definitions& tile(Tile const& t, int stages, int group) {
        (*this)("TILE_M", t.m)("TILE_N", t.n)("TILE_K", t.k)("MICRO_M", t.micro_m)("MICRO_N", t.micro_n);
        return (*this)("STAGES", stages)("GROUP", group)("CLUSTER", 1);
    }
    cuda_definitions& form(cuda_form const& f) {
        (*this)("A_ALONG_K", f.a_along_k)("B_ALONG_K", f.b_along_k)("PARTIAL", f.partial);
        return only("TAIL", f.tail)
            .only("INVARIANT", f.invariant)
            .only("PIECES", f.pieces)
            .only("SPREADS", f.spreads);
    }
    std::string const& text() const { return text_; }

private:
    std::string text_;
};

// The kernel that adds up sums of parts of k: for all tiles of a product or, with their definitions, for its last tiles
// only.
template <class In, class Out, class Epilogue>
cuda_source cuda_gather_source(std::string of_tile, cuda_form const& form, int slices,
                               Epilogue const& epilogue) {
    std::string const body =
        form.tail ? std::string(fetches_text) + cuda_pipeline_text + cuda_gather_text : cuda_gather_text;
    if (!form.tail) of_tile = "#define TAIL 0\n";
    if (form.spreads && !form.tail) of_tile += "#define SPREADS 1\n";
    if (form.invariant) of_tile += "#define INVARIANT 1\n";
    return cuda_source_of<In, Out>("gather", body.c_str(), epilogue,
                                   of_tile + "#define SLICES " + std::to_string(slices) + '\n');
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
