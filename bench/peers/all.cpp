// Every peer that is installed.
#include "../contender.hpp"

namespace bench {

contenders make_peers() {
    contenders all;
    for (auto make : {
             make_openblas,
             make_blis,
             make_inlined,
#ifdef STRATAGEMM_BENCH_EIGEN
             make_eigen,
             make_eigen_plain,
#endif
#ifdef STRATAGEMM_BENCH_ONEDNN
             make_onednn,
             make_onednn_packed,
#endif
#ifdef STRATAGEMM_BENCH_LIBXSMM
             make_libxsmm,
#endif
         })
        if (auto c = make()) all.push_back(std::move(c));
    return all;
}

} // namespace bench
