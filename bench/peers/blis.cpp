// BLIS, opened at run time.
#include "cblas.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace bench {
namespace {

// BLIS counts vector units by the model's name, so on an Intel processor whose name a hypervisor hides it falls
// back to AVX2 kernels: half of its rate. There we name its Skylake-X kernels, unless the user already chose. Their
// number differs between releases, so it is looked up by name; BLIS reads the variable at its first product. On AMD
// its own choice is right.
char const* choose_kernels() {
    constexpr char const* library = "libblis.so.4";
    if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        if (void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
            auto const name = reinterpret_cast<char const* (*)(int)>(dlsym(handle, "bli_arch_string"));
            for (int id = 0; name && id < 10; ++id)
                if (std::strcmp(name(id), "skx") == 0)
                    setenv("BLIS_ARCH_TYPE", std::to_string(id).c_str(), /*overwrite=*/0);
        }
    return library;
}

class blis final : public cblas_peer {
public:
    blis() : cblas_peer(choose_kernels(), "bli_info_get_version_str") {
        if (complete()) set_ = symbol<void (*)(long)>("bli_thread_set_num_threads");
    }
    bool found() const { return set_ != nullptr; }
    std::string name() const override { return "BLIS"; }
    std::string version() const override {
        symbol<void (*)()>("bli_init")(); // a chosen architecture is looked up among those it registers
        int const arch = symbol<int (*)()>("bli_arch_query_id")();
        return std::string(symbol<char const* (*)()>("bli_info_get_version_str")()) + ", " +
               symbol<char const* (*)(int)>("bli_arch_string")(arch);
    }

protected:
    void set_threads(int n) override { set_(n); }

private:
    void (*set_)(long) = nullptr;
};

} // namespace

std::unique_ptr<contender> make_blis() {
    auto p = std::make_unique<blis>();
    if (!p->found()) return nullptr;
    return p;
}

} // namespace bench
