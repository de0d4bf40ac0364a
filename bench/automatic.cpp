// bench_automatic [SEED [COUNT [SECONDS]]]: what `automatic` chooses on the host (automatic.hpp).
#include "automatic.hpp"

namespace {

namespace sg = stratagemm;

// As a caller writes it: a call takes its workspace itself.
struct host_place {
    double sample = 3e-3;

    template <class T>
    auto matrix(sg::index_t rows, sg::index_t cols, unsigned seed) const {
        return bench::random_elements<T>(rows, cols, seed);
    }
    template <class Policy, class A, class B, class C>
    bool run(Policy const& policy, A const& a, B const& b, C& c, int times) const {
        bool done = true;
        for (int x = 0; x < times && done; ++x) done = static_cast<bool>(sg::try_gemm(policy, a, b, c));
        return done;
    }
};

} // namespace

int main(int argc, char** argv) {
    bench::judge judge(sg::host{}, host_place{}, 4096, 1e10);
    bench::arguments const x(argc, argv);
    judge.run<float, double, std::complex<float>, sg::bfloat16>(static_cast<unsigned>(x.seed), x.count,
                                                                x.seconds);
}
