// Eigen, compiled for this machine (the peer) and as a newcomer compiles it (for information).
#include "../contender.hpp"
#include "kernels.hpp"

namespace bench {
namespace {

class eigen final : public contender {
public:
    explicit eigen(eigen_table const& table, bool plain) : table_(table), plain_(plain) {}

    std::string name() const override { return plain_ ? "Eigen, plain -O3" : "Eigen"; }
    std::string version() const override {
        auto const& v = table_.version;
        return std::to_string(v[0]) + "." + std::to_string(v[1]) + "." + std::to_string(v[2]) +
               (plain_ ? ", no -march" : ", -march=" STRATAGEMM_BENCH_MARCH);
    }
    role part() const override { return plain_ ? role::information : role::peer; }

    bool takes(problem const& p) const override {
        if (p.type != element::f32 && p.type != element::f64) return false;
        if (p.count > 1) return p.type == element::f32 && p.m == p.n && p.n == p.k;
        return !plain_ || p.flops() < 40e9; // a fifth of the others' speed: not worth a minute a case
    }

    void enter(problem const& p) override { table_.set_threads(p.count > 1 ? 1 : p.threads); }

    void run(problem const& p, operands const& x) override {
        if (p.count > 1)
            split_batch(p, [&](long first, long last) {
                table_.batch(p.n, last - first, matrix_a<float>(p, x, first), matrix_b<float>(p, x, first),
                             matrix_c<float>(p, x, first));
            });
        else if (p.type == element::f32)
            one<float>(p, x, table_.f32);
        else
            one<double>(p, x, table_.f64);
    }

private:
    template <class T, class Function>
    static void one(problem const& p, operands const& x, Function f) {
        f(p.m, p.n, p.k, matrix_a<T>(p, x, 0), p.a_transposed, matrix_b<T>(p, x, 0), p.b_transposed,
          matrix_c<T>(p, x, 0));
    }

    eigen_table const& table_;
    bool plain_;
};

} // namespace

std::unique_ptr<contender> make_eigen_plain() { return std::make_unique<eigen>(eigen_plain, true); }

std::unique_ptr<contender> make_eigen() {
    if (native_needs_avx2 && !__builtin_cpu_supports("avx2")) return nullptr;
    if (native_needs_avx512 && !__builtin_cpu_supports("avx512f")) return nullptr;
    return std::make_unique<eigen>(eigen_native, false);
}

} // namespace bench
