// OpenBLAS, opened at run time.
#include "cblas.hpp"

#include <cstdlib>

namespace bench {
namespace {

// OpenBLAS goes by the model too: on an Intel processor newer than itself, or renamed by a hypervisor, it may fall
// back to kernels of 2004 (it says "Prescott"). Its best ones are named here, unless the user already chose.
void choose_kernels() {
    if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", /*overwrite=*/0);
}

class openblas final : public cblas_peer {
public:
    openblas() : cblas_peer((choose_kernels(), "libopenblas.so.0"), "openblas_get_config") {
        if (complete()) set_ = symbol<void (*)(int)>("openblas_set_num_threads");
    }
    bool found() const { return set_ != nullptr; }
    std::string name() const override { return "OpenBLAS"; }
    std::string version() const override {
        std::string config =
            symbol<char const* (*)()>("openblas_get_config")(); // "OpenBLAS 0.3.21 NO_LAPACKE ..."
        config.erase(0, config.find(' ') + 1);
        return config.substr(0, config.find(' ')) + ", " +
               symbol<char const* (*)()>("openblas_get_corename")();
    }

protected:
    void set_threads(int n) override { set_(n); }

private:
    void (*set_)(int) = nullptr;
};

} // namespace

std::unique_ptr<contender> make_openblas() {
    auto p = std::make_unique<openblas>();
    if (!p->found()) return nullptr;
    return p;
}

} // namespace bench
