#include "conformance/missing.hpp"

#include <stratagemm/backend/cuda.hpp>

std::string missing_here() {
    auto const ready = stratagemm::cuda().ready();
    return ready ? "" : ready.error().what();
}
