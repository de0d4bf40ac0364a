// Inlined code: no library at all. The peer of small batched products.
#include "../contender.hpp"
#include "kernels.hpp"

namespace bench {
namespace {

inlined_kernel kernel_for(long n) {
    return n == 4 ? inlined_4 : n == 8 ? inlined_8 : n == 16 ? inlined_16 : n == 32 ? inlined_32 : nullptr;
}

class inlined final : public contender {
public:
    std::string name() const override { return "inlined code"; }
    std::string version() const override { return "-O3 -march=" STRATAGEMM_BENCH_MARCH; }
    bool takes(problem const& p) const override {
        return p.type == element::f32 && p.count > 1 && p.m == p.n && p.n == p.k && kernel_for(p.n) &&
               !p.a_transposed && !p.b_transposed;
    }
    void run(problem const& p, operands const& x) override {
        auto const kernel = kernel_for(p.n);
        split_batch(p, [&](long first, long last) {
            kernel(last - first, matrix_a<float>(p, x, first), matrix_b<float>(p, x, first),
                   matrix_c<float>(p, x, first));
        });
    }
};

} // namespace

std::unique_ptr<contender> make_inlined() {
    if (native_needs_avx2 && !__builtin_cpu_supports("avx2")) return nullptr;
    if (native_needs_avx512 && !__builtin_cpu_supports("avx512f")) return nullptr;
    return std::make_unique<inlined>();
}

} // namespace bench
