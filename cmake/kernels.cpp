// stratagemm::kernels: everything that programs which link it do not compile themselves.
#include <stratagemm/backend/host.hpp>

STRATAGEMM_BEGIN
STRATAGEMM_HOST_INSTANCES()
STRATAGEMM_END
