// What a launch is made of.
#pragma once

#include "api.hpp"

STRATAGEMM_BEGIN

struct cuda_compiled {
    CUfunction function = nullptr; // of a module that stays as long as the process
    unsigned shared_bytes = 0,
             fixed_bytes = 0; // of shared memory: asked for by a launch, and the kernel's own
    int resident = 1;         // blocks that a multiprocessor has room for
};

struct cuda_grid {
    unsigned blocks = 1, threads = 1;
    unsigned cluster = 1; // blocks of a cluster
    bool overlaps = true; // the kernel waits by itself for those before it (prelude.cu.hpp)
    unsigned each = 0;    // blocks of a multiprocessor at most; 0: as many as it has room for
};

STRATAGEMM_END
