// Everything that needs nothing installed: the front end, the host backends, the algorithms.
#pragma once

#include "gemm.hpp"

#include "backend/reference.hpp"
