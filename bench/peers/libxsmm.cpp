// libxsmm: one kernel compiled at run time for the exact small shape, called in a loop over the batch.
#include "../contender.hpp"

#include <libxsmm.h>

namespace bench {
namespace {

class xsmm final : public contender {
public:
    xsmm() { libxsmm_init(); }
    ~xsmm() override { libxsmm_finalize(); }

    std::string name() const override { return "libxsmm"; }
    std::string version() const override {
        return std::string(LIBXSMM_CONFIG_VERSION) + ", " + libxsmm_get_target_arch();
    }
    bool takes(problem const& p) const override {
        return (p.type == element::f32 || p.type == element::f64) && !p.a_transposed && !p.b_transposed &&
               p.m <= 64 && p.n <= 64 && p.k <= 64;
    }

    // libxsmm is column-major: a row-major C = A B is its C' = B' A'.
    void prepare(problem const& p, operands const&) override {
        int const m = int(p.n), n = int(p.m), k = int(p.k), none = LIBXSMM_PREFETCH_NONE;
        if (p.type == element::f32) {
            float const alpha = 1, beta = 0;
            f32_ = libxsmm_smmdispatch(m, n, k, &m, &k, &m, &alpha, &beta, nullptr, &none);
        } else {
            double const alpha = 1, beta = 0;
            f64_ = libxsmm_dmmdispatch(m, n, k, &m, &k, &m, &alpha, &beta, nullptr, &none);
        }
    }

    void run(problem const& p, operands const& x) override {
        if (p.type == element::f32)
            loop<float>(p, x, f32_);
        else
            loop<double>(p, x, f64_);
    }

private:
    template <class T, class Kernel>
    static void loop(problem const& p, operands const& x, Kernel kernel) {
        if (!kernel) return; // no code for this machine: the check of the result reports it
        split_batch(p, [&](long first, long last) {
            for (long i = first; i < last; ++i)
                kernel(matrix_b<T>(p, x, i), matrix_a<T>(p, x, i), matrix_c<T>(p, x, i));
        });
    }

    libxsmm_smmfunction f32_ = nullptr;
    libxsmm_dmmfunction f64_ = nullptr;
};

} // namespace

std::unique_ptr<contender> make_libxsmm() { return std::make_unique<xsmm>(); }

} // namespace bench
