#include "conformance/missing.hpp"

#include <stratagemm/backend/opencl.hpp>

std::string missing_here() {
    auto const ready = stratagemm::opencl().ready();
    return ready ? "" : ready.error().what();
}
