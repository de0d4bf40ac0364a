// A host that does not say how fast it is, so that layers upon it do not choose by speed.
#pragma once

#include <stratagemm/backend/host.hpp>

struct untimed : stratagemm::host {
    stratagemm::host_operations leaf() const { return stratagemm::host::leaf(); }
};
