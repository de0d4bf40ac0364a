// stratagemm::kernels: what programs with `automatic` over the host do not compile themselves. It is apart from
// kernels.cpp, because a linker takes whole files: other programs do without it.
#define STRATAGEMM_COMPILED_KERNELS // those of kernels.cpp
#include <stratagemm/algorithm/automatic/instances.hpp>

STRATAGEMM_BEGIN
STRATAGEMM_AUTOMATIC_INSTANCES()
STRATAGEMM_END
