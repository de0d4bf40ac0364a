// expect: include stratagemm/algorithm/out_of_core.hpp
#include <stratagemm/algorithm/automatic.hpp>
#include <stratagemm/backend/opencl.hpp>
#include <stratagemm/stratagemm.hpp>

namespace sg = stratagemm;

void both(sg::host& cpu, sg::opencl& gpu) { sg::automatic{cpu, gpu}; }
