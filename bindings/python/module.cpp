// The module stratagemm._core. What Python says as shortly is in the package beside it.
#include "arguments.hpp"
#include "array.hpp"
#include "gemm.hpp"
#include "operand.hpp"

namespace {

using namespace stratagemm_python;

constexpr char const* gemm_text =
    "gemm(a, b, out=None, *, alpha=1, beta=0, add=None, epilogue=None, policy=None, stream=None)\n\n"
    "C = epilogue(alpha A B + beta E). E is `add`, or else what `out` holds; beta is 1 if `add` is given.\n"
    "C is written to `out`, or to a new array of A's library. Dimensions before the last two are batches.";

PyMethodDef functions[] = {
    {"gemm", as_method(gemm), METH_FASTCALL | METH_KEYWORDS, gemm_text},
    {"explain", as_method(explain), METH_FASTCALL | METH_KEYWORDS,
     "explain(a, b, out=None, **arguments)\n\nWhat gemm() with these arguments would do, in words."},
    {"plan", as_method(make_plan_object), METH_FASTCALL | METH_KEYWORDS,
     "plan(m, n, k, dtype='float64', *, out_dtype=None, count=1, add=False, policy=None, "
     "device=None)\n\nA Plan."},
    {"fft", as_method(fft), METH_FASTCALL | METH_KEYWORDS,
     "fft(x, *, axis=-1, out=None, inverse=False)\n\nThe discrete Fourier transform along an axis."},
    {"low_rank_factors", as_method(low_rank), METH_FASTCALL | METH_KEYWORDS,
     "low_rank_factors(a, *, tolerance=0, rank=0, confidence=0.999, seed=0)\n\nU, V, and the error and its "
     "bound."},
    {"csr", as_method(make_csr), METH_FASTCALL | METH_KEYWORDS, "csr(data, indices, indptr, rows, columns)"},
    {"toeplitz", as_method(make_toeplitz), METH_FASTCALL | METH_KEYWORDS,
     "toeplitz(column, row, by_transforms)"},
    {"factored", as_method(make_factored), METH_FASTCALL | METH_KEYWORDS, "factored(u, v)"},
    {"policies", policies, METH_O, "policies(on_device)\n\nThe names of policies."},
    {}};

int fill(PyObject* module) {
    return guarded(-1, [&] {
        intern_names();
        add_array_type(module);
        add_operand_type(module);
        add_plan_type(module);
        object const version(PyUnicode_FromFormat("%d.%d.%d", STRATAGEMM_VERSION_MAJOR,
                                                  STRATAGEMM_VERSION_MINOR, STRATAGEMM_VERSION_PATCH));
        if (PyModule_AddObjectRef(module, "__version__", version.get()) < 0) throw raised();
        return 0;
    });
}

} // namespace

PyMODINIT_FUNC PyInit__core() {
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {}};
    static PyModuleDef definition{PyModuleDef_HEAD_INIT,
                                  "stratagemm._core",
                                  "Matrix products by policies of stratagemm.",
                                  0,
                                  functions,
                                  slots,
                                  nullptr,
                                  nullptr,
                                  nullptr};
    return PyModuleDef_Init(&definition);
}
