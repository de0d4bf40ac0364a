// Everything that needs nothing installed: the front end, the host backends, the algorithms.
#pragma once

#include "gemm.hpp"

#include "algorithm/quantized.hpp"
#include "algorithm/recursive.hpp"
#include "algorithm/split.hpp"
#include "algorithm/strassen.hpp"
#include "backend/host.hpp"
#include "backend/reference.hpp"
