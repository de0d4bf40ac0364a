#include "beneath.hpp"

#include "../beneath.hpp"

namespace stratagemm_cublas {
namespace {

template <class Function>
void find(Function*& f, char const* name) {
    f = reinterpret_cast<Function*>(find_beneath(name));
}

questions find_all() {
    questions q{};
    find(q.stream, "cublasGetStream_v2");
    find(q.pointer_mode, "cublasGetPointerMode_v2");
    find(q.math_mode, "cublasGetMathMode");
    find(q.atomics_mode, "cublasGetAtomicsMode");
    find(q.multiprocessors, "cublasGetSmCountTarget");
    find(q.of_matmul, "cublasLtMatmulDescGetAttribute");
    find(q.of_layout, "cublasLtMatrixLayoutGetAttribute");
    find(q.make_matmul, "cublasLtMatmulDescCreate");
    find(q.destroy_matmul, "cublasLtMatmulDescDestroy");
    find(q.make_layout, "cublasLtMatrixLayoutCreate");
    find(q.destroy_layout, "cublasLtMatrixLayoutDestroy");
    return q;
}

} // namespace

void* find_beneath(char const* name) {
    return stratagemm_bindings::find_beneath_us(name, [](std::string const&, void*) { return true; });
}

questions const& ask() {
    static questions const all = find_all();
    return all;
}

} // namespace stratagemm_cublas
