// The library as its user has it: this file is compiled at plain -O2 with OpenMP and no -march.
#include "contender.hpp"

#include <stratagemm/stratagemm.hpp>

#include <cstdint>

namespace sg = stratagemm;

namespace bench {
namespace {

class library final : public contender {
public:
    std::string name() const override { return "stratagemm"; }
    std::string version() const override { return "-O2, no -march"; }
    role part() const override { return role::library; }
    bool takes(problem const&) const override { return true; }

    void run(problem const& p, operands const& x) override {
        switch (p.type) {
        case element::f32: return product<float, float>(p, x);
        case element::f64: return product<double, double>(p, x);
        case element::bf16: return product<sg::bfloat16, float>(p, x);
        case element::i8: return product<std::int8_t, std::int32_t>(p, x);
        }
    }

private:
    template <class In, class Out>
    static void product(problem const& p, operands const& x) {
        auto const *a = static_cast<In const*>(x.a), *b = static_cast<In const*>(x.b);
        auto const C = sg::row_major(static_cast<Out*>(x.c), p.m, p.n);
        if (p.a_transposed) return times(p, sg::transposed(sg::row_major(a, p.k, p.m)), b, C);
        times(p, sg::row_major(a, p.m, p.k), b, C);
    }

    template <class A, class In, class C>
    static void times(problem const& p, A const& a, In const* b, C const& c) {
        sg::host const cpu{.threads = p.threads};
        auto const B = sg::row_major(b, p.k, p.n);
        if (p.count > 1)
            sg::gemm(cpu, sg::batched(a, p.count, p.m * p.k), sg::batched(B, p.count, p.k * p.n),
                     sg::batched(c, p.count, p.m * p.n));
        else if (p.b_transposed)
            sg::gemm(cpu, a, sg::transposed(sg::row_major(b, p.n, p.k)), c);
        else
            sg::gemm(cpu, a, B, c);
    }
};

} // namespace

std::unique_ptr<contender> make_library() { return std::make_unique<library>(); }

} // namespace bench
