#include "multiply.hpp"

#include "settings.hpp"

#include <complex>
#include <unordered_set>

namespace stratagemm_cublas {
namespace {

struct pair {
    type in, out, factors;
    compute sums;
    answer (*multiply)(product_call const&, place&);
};
constexpr pair pairs[] = {
    {type::float64, type::float64, type::float64, compute::float64, multiply_types<double, double>},
    {type::float32, type::float32, type::float32, compute::float32, multiply_types<float, float>},
    {type::bfloat16, type::bfloat16, type::float32, compute::float32,
     multiply_types<sg::bfloat16, sg::bfloat16>},
    {type::float16, type::float16, type::float32, compute::float32, multiply_types<sg::half, sg::half>},
    {type::bfloat16, type::float32, type::float32, compute::float32, multiply_types<sg::bfloat16, float>},
    {type::float16, type::float32, type::float32, compute::float32, multiply_types<sg::half, float>},
    {type::complex64, type::complex64, type::complex64, compute::float32,
     multiply_types<std::complex<float>, std::complex<float>>},
    {type::complex128, type::complex128, type::complex128, compute::float64,
     multiply_types<std::complex<double>, std::complex<double>>},
    {type::int8, type::int32, type::int32, compute::int32, multiply_types<std::int8_t, std::int32_t>},
};
pair const* pair_of(product_call const& p) {
    if (p.a_type != p.b_type) return nullptr;
    for (pair const& one : pairs)
        if (one.in == p.a_type && one.out == p.c_type && one.factors == p.factors && one.sums == p.sums)
            return &one;
    return nullptr;
}

// All that kernels and workspace depend on, in one number. Where operands lie matters as far as hardware can fetch from
// there; so does whether C is read.
class fingerprint {
public:
    fingerprint(product_call const& p, int device, bool reads_c) {
        for (matrix const* m : {&p.a, &p.b, &p.c, &p.e})
            add(m->rows), add(m->cols), add(m->row_stride), add(m->col_stride), add(m->step),
                add(m->is_conjugated),
                add(static_cast<index_t>(reinterpret_cast<std::uintptr_t>(m->data) % 256));
        add(p.count), add(static_cast<index_t>(p.a_type)), add(static_cast<index_t>(p.c_type));
        add(static_cast<index_t>(p.then)), add(p.bias != nullptr), add(device), add(reads_c);
    }
    std::uint64_t value() const { return value_; }

private:
    void add(index_t x) {
        value_ = (value_ ^ static_cast<std::uint64_t>(x)) * 0x9e3779b97f4a7c15u;
        value_ ^= value_ >> 29;
    }
    std::uint64_t value_ = 0;
};

// The products that ran outside of graphs: their kernels are compiled.
class warm_products {
public:
    static warm_products& get() {
        static auto* const one = new warm_products;
        return *one;
    }
    bool has(std::uint64_t x) {
        std::lock_guard const lock(mutex_);
        return all_.count(x) != 0;
    }
    void add(std::uint64_t x) {
        std::lock_guard const lock(mutex_);
        all_.insert(x);
    }

private:
    std::mutex mutex_;
    std::unordered_set<std::uint64_t> all_;
};

bool is_zero(product_call const& p) {
    switch (p.factors) {
    case type::float64: return *static_cast<double const*>(p.beta) == 0;
    case type::complex64: return *static_cast<std::complex<float> const*>(p.beta) == 0.0f;
    case type::complex128: return *static_cast<std::complex<double> const*>(p.beta) == 0.0;
    case type::int32: return *static_cast<std::int32_t const*>(p.beta) == 0;
    default: return *static_cast<float const*>(p.beta) == 0;
    }
}

// Whether cuBLAS does the steps after a product in less time than the library, if no policy is asked for. With operands of
// 16 bits cuBLAS does the steps of one tile while tensor cores multiply the next tile, if a multiprocessor has several. The
// library does them after each tile. docs/cublas.md says what was measured.
bool hides_steps_of(product_call const& p, sg::cuda_device const& device) {
    if (environment().is_given || (!p.bias && p.then == activation::none)) return false;
    if (p.a_type != type::float16 && p.a_type != type::bfloat16) return false;
    constexpr double of_tile = 128 * 256; // of cuBLAS
    double const elements =
        static_cast<double>(p.c.rows) * static_cast<double>(p.c.cols) * static_cast<double>(p.count);
    return elements > of_tile * device.units;
}

// By accuracy, ozaki looks at the operands and waits for what it finds there.
bool waits(product_call const& p) {
    return environment().chosen() == device_policy::ozaki && p.a_type == p.c_type && p.factors == p.c_type;
}

answer multiply_known(pair const& types, product_call const& p, place& at) {
    std::uint64_t const key = fingerprint(p, at.gpu.device, !is_zero(p)).value();
    bool const warm = warm_products::get().has(key);
    if ((!warm || waits(p)) && at.captures()) return {reason::capture};
    answer const a = types.multiply(p, at);
    if (!warm && a.why == reason::none) warm_products::get().add(key);
    return a;
}

} // namespace

bool leaves(type c) { return (c == type::complex64 || c == type::complex128) && !environment().is_given; }

answer multiply(product_call const& p, place& at) noexcept {
    pair const* const types = pair_of(p);
    if (!types) return {reason::types};
    if (!p.alpha || !p.beta) return {reason::arguments};
    try {
        if (!at.find_device()) return {reason::context};
        if (hides_steps_of(p, at.gpu.where())) return {reason::slower};
        return multiply_known(*types, p, at);
    } catch (...) { // no memory for a string or a list, before anything was queued
        return {reason::refused};
    }
}

} // namespace stratagemm_cublas
