// librsb: recursive blocks of a sparse matrix.
#include "sparse.hpp"

#include <rsb.h>

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

void check(rsb_err_t code, char const* what) {
    if (code == RSB_ERR_NO_ERROR) return;
    std::fprintf(stderr, "librsb: %s failed with %d\n", what, static_cast<int>(code));
    std::exit(1);
}
void set_threads(int threads) {
    static bool const started = (check(rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init"), true);
    (void)started;
    rsb_int_t const number = threads;
    check(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &number), "rsb_lib_set_opt");
}

template <class T>
void* prepare(sparse_problem<T> const& p) {
    set_threads(p.threads);
    rsb_err_t code = RSB_ERR_NO_ERROR;
    constexpr rsb_type_t type = sizeof(T) == 4 ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE;
    auto* const a =
        rsb_mtx_alloc_from_csr_const(p.values, p.begins, p.columns, static_cast<rsb_nnz_idx_t>(p.nonzeros),
                                     type, static_cast<rsb_coo_idx_t>(p.rows),
                                     static_cast<rsb_coo_idx_t>(p.cols), 0, 0, RSB_FLAG_NOFLAGS, &code);
    check(code, "rsb_mtx_alloc_from_csr_const");
    return a;
}
template <class T>
void run(sparse_problem<T> const& p, void* kept) {
    set_threads(p.threads);
    T const one = 1, none = 0;
    auto const* const a = static_cast<rsb_mtx_t const*>(kept);
    if (p.n == 1)
        check(rsb_spmv(RSB_TRANSPOSITION_N, &one, a, p.b, 1, &none, p.c, 1), "rsb_spmv");
    else
        check(rsb_spmm(RSB_TRANSPOSITION_N, &one, a, static_cast<rsb_coo_idx_t>(p.n),
                       RSB_FLAG_WANT_ROW_MAJOR_ORDER, p.b, p.n, &none, p.c, p.n),
              "rsb_spmm");
}

} // namespace

sparse_peer const sparse_librsb{
    "librsb", true, prepare<float>, prepare<double>, run<float>, run<double>, [](void* kept) {
        rsb_mtx_free(static_cast<rsb_mtx_t*>(kept));
    }};

} // namespace bench
