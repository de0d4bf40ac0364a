// cublasLtMatmul. Descriptors are read by the library's own functions. What they say beyond what is done here has to
// have the value that a new descriptor has, also where only a later library knows what it means.
#include "gemm.hpp"
#include "multiply.hpp"
#include "settings.hpp"

#include <cstring>
#include <vector>

namespace stratagemm_cublas {
namespace {

// cublasLtMatmulDescAttributes_t
namespace matmul_attribute {
enum : int {
    compute_type = 0,
    scale_type = 1,
    pointer_mode = 2,
    transa = 3,
    transb = 4,
    epilogue = 7,
    bias = 8,
    bias_step = 10,
    aux = 11,
    aux_leading = 12,
    aux_step = 13,
    alpha_vector_step = 14,
    aux_type = 22,
    aux_scale = 23,
    aux_largest = 24,
    fast_sums = 25, // of fp8
    bias_type = 26
};
// Read below, or without a meaning for the epilogues that are done here.
constexpr int known[] = {compute_type, scale_type, pointer_mode, transa,      transb,   epilogue,
                         bias,         bias_step,  aux,          aux_leading, aux_step, alpha_vector_step,
                         aux_type,     aux_scale,  aux_largest,  fast_sums,   bias_type};
} // namespace matmul_attribute

// cublasLtMatrixLayoutAttribute_t
namespace layout_attribute {
enum : int { type = 0, order = 1, rows = 2, cols = 3, leading = 4, count = 5, step = 6 };
constexpr int known[] = {type, order, rows, cols, leading, count, step};
} // namespace layout_attribute

// cublasLtEpilogue_t, of which each flag is a step
enum : int { epilogue_none = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_gelu = 32 };

// What a new descriptor says, but for the known attributes.
class unknown_attributes {
public:
    template <std::size_t N>
    unknown_attributes(questions::attribute read, void const* fresh, int const (&known)[N]) : read_(read) {
        constexpr int most = 64; // the last that there is has number 38
        for (int id = 0; id < most; ++id) {
            bool is_known = false;
            for (int const one : known) is_known |= one == id;
            one_attribute x{id, 0, {}};
            if (is_known || read(fresh, id, nullptr, 0, &x.bytes) != success || x.bytes > sizeof(x.value))
                continue;
            if (read(fresh, id, x.value, x.bytes, nullptr) == success) all_.push_back(x);
        }
    }
    // Whether a descriptor says the same.
    bool are_in(void const* descriptor) const {
        for (one_attribute const& x : all_) {
            unsigned char value[sizeof(x.value)];
            if (read_(descriptor, x.id, value, x.bytes, nullptr) != success ||
                std::memcmp(value, x.value, x.bytes) != 0)
                return false;
        }
        return true;
    }

private:
    struct one_attribute {
        int id;
        std::size_t bytes;
        unsigned char value[32];
    };
    questions::attribute read_;
    std::vector<one_attribute> all_;
};

// Both lists, read from descriptors of our own.
struct defaults {
    std::unique_ptr<unknown_attributes> matmul, layout;

    defaults() {
        questions const& q = ask();
        if (!q.of_matmul || !q.of_layout || !q.make_matmul || !q.destroy_matmul || !q.make_layout ||
            !q.destroy_layout)
            return;
        void* fresh = nullptr;
        if (q.make_matmul(&fresh, static_cast<int>(compute::float32), static_cast<int>(type::float32)) ==
            success) {
            matmul = std::make_unique<unknown_attributes>(q.of_matmul, fresh, matmul_attribute::known);
            (void)q.destroy_matmul(fresh);
        }
        if (q.make_layout(&fresh, static_cast<int>(type::float32), 1, 1, 1) == success) {
            layout = std::make_unique<unknown_attributes>(q.of_layout, fresh, layout_attribute::known);
            (void)q.destroy_layout(fresh);
        }
    }
};
defaults const& fresh() {
    static auto const* const one = new defaults;
    return *one;
}

template <class T>
bool read(questions::attribute ask_for, void const* of, int id, T& value) {
    return ask_for(of, id, &value, sizeof(value), nullptr) == success;
}

struct layout {
    std::int32_t type = 0, order = 0, count = 1;
    std::uint64_t rows = 0, cols = 0;
    std::int64_t leading = 0, step = 0;

    bool read_from(void const* of) {
        auto const ask_for = ask().of_layout;
        namespace at = layout_attribute;
        return of && read(ask_for, of, at::type, type) && read(ask_for, of, at::order, order) &&
               read(ask_for, of, at::rows, rows) && read(ask_for, of, at::cols, cols) &&
               read(ask_for, of, at::leading, leading) && read(ask_for, of, at::count, count) &&
               read(ask_for, of, at::step, step);
    }
    bool is_by_columns() const { return order == 0; }
    // By columns or by rows.
    bool is_plain() const {
        return (order == 0 || order == 1) && count >= 0 &&
               leading >= static_cast<std::int64_t>(is_by_columns() ? rows : cols);
    }
    matrix operand(void const* data, op what) const {
        matrix x;
        x.data = data, x.step = step;
        x.rows = static_cast<index_t>(rows), x.cols = static_cast<index_t>(cols);
        x.row_stride = is_by_columns() ? 1 : leading, x.col_stride = is_by_columns() ? leading : 1;
        if (what == op::transposed || what == op::adjoint)
            std::swap(x.rows, x.cols), std::swap(x.row_stride, x.col_stride);
        x.is_conjugated = what == op::adjoint || what == op::conjugated;
        return x;
    }
};

struct matmul_descriptor {
    std::int32_t compute_type = 0, factors = 0, pointer_mode = 0, transa = 0, transb = 0, bias_type = -1;
    std::uint32_t epilogue = epilogue_none;
    void* bias = nullptr;
    std::int64_t bias_step = 0;

    bool read_from(void const* of) {
        auto const ask_for = ask().of_matmul;
        namespace at = matmul_attribute;
        return of && read(ask_for, of, at::compute_type, compute_type) &&
               read(ask_for, of, at::scale_type, factors) &&
               read(ask_for, of, at::pointer_mode, pointer_mode) && read(ask_for, of, at::transa, transa) &&
               read(ask_for, of, at::transb, transb) && read(ask_for, of, at::epilogue, epilogue);
    }
    // The steps after the product, if they are those of finish().
    bool read_epilogue(void const* of, layout const& d, product_call& p) {
        if (epilogue == epilogue_none) return true;
        bool const adds = (epilogue & epilogue_bias) != 0;
        std::uint32_t const then = epilogue & ~static_cast<std::uint32_t>(epilogue_bias);
        if ((then != 0 && then != epilogue_relu && then != epilogue_gelu) || !d.is_by_columns()) return false;
        if (d.type == static_cast<int>(type::int32) || p.factors != factors_of(p.factors, p.sums))
            return false;
        p.then = then == 0 ? activation::none : then == epilogue_relu ? activation::relu : activation::gelu;
        if (!adds) return true;
        auto const ask_for = ask().of_matmul;
        namespace at = matmul_attribute;
        if (!read(ask_for, of, at::bias, bias) || !read(ask_for, of, at::bias_step, bias_step)) return false;
        (void)read(ask_for, of, at::bias_type, bias_type); // which older libraries do not have
        p.bias = bias;
        return bias && (bias_type == -1 || bias_type == d.type) && (p.count == 1 || bias_step == 0);
    }
};

bool is_op(std::int32_t x) {
    return x >= static_cast<int>(op::none) && x <= static_cast<int>(op::conjugated);
}

// The product of a call, or why it is none of ours.
reason product_of(matmul_call const& m, product_call& p) {
    defaults const& plain = fresh();
    if (!plain.matmul || !plain.layout) return reason::context;
    matmul_descriptor what;
    layout a, b, c, d;
    if (!what.read_from(m.descriptor) || !a.read_from(m.a_layout) || !b.read_from(m.b_layout) ||
        !c.read_from(m.c_layout) || !d.read_from(m.d_layout))
        return reason::arguments;
    if (what.pointer_mode != 0) return reason::scalars;
    if (!is_op(what.transa) || !is_op(what.transb)) return reason::arguments;
    if (!plain.matmul->are_in(m.descriptor) || environment().asks_of_cublas) return reason::descriptor;
    for (layout const* x : {&a, &b, &c, &d})
        if (!x->is_plain() || x->count != d.count) return reason::descriptor;
    for (void const* x : {m.a_layout, m.b_layout, m.c_layout, m.d_layout})
        if (!plain.layout->are_in(x)) return reason::descriptor;
    if (c.type != d.type) return reason::types;
    if (leaves(type{d.type})) return reason::slower;
    p.a_type = type{a.type}, p.b_type = type{b.type}, p.c_type = type{d.type};
    p.sums = compute{what.compute_type}, p.factors = type{what.factors};
    p.a = a.operand(m.a, op{what.transa}), p.b = b.operand(m.b, op{what.transb});
    p.e = c.operand(m.c, op::none), p.c = d.operand(m.d, op::none);
    p.count = d.count, p.alpha = m.alpha, p.beta = m.beta;
    if (p.a.rows != p.c.rows || p.b.cols != p.c.cols || p.a.cols != p.b.rows || p.e.rows != p.c.rows ||
        p.e.cols != p.c.cols)
        return reason::arguments;
    return what.read_epilogue(m.descriptor, d, p) ? reason::none : reason::descriptor;
}

} // namespace

answer matmul(matmul_call const& m) noexcept {
    try {
        product_call p;
        if (reason const why = product_of(m, p); why != reason::none) return {why};
        place at(m.stream, m.workspace, m.workspace_bytes);
        return multiply(p, at);
    } catch (...) { // no memory for what is known of descriptors
        return {reason::refused};
    }
}

double flops_of(matmul_call const& m) noexcept {
    layout a, d;
    if (!ask().of_layout || !a.read_from(m.a_layout) || !d.read_from(m.d_layout) || d.rows == 0) return 0;
    // A has the rows of D, stored or turned.
    double const k = static_cast<double>(a.rows) * static_cast<double>(a.cols) / static_cast<double>(d.rows);
    bool const is_complex =
        a.type == static_cast<int>(type::complex64) || a.type == static_cast<int>(type::complex128);
    return (is_complex ? 8 : 2) * static_cast<double>(d.rows) * static_cast<double>(d.cols) * k *
           static_cast<double>(d.count);
}

} // namespace stratagemm_cublas
