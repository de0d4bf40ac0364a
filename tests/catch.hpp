// Catch2, whichever is installed: distributions ship 2.13 or 3.
#pragma once

// Headers of 3 may lie beside the package of 2.13 that CMake found.
#if __has_include(<catch2/catch_all.hpp>) && !defined(STRATAGEMM_CATCH2_IS_ONE_HEADER)
#    include <catch2/catch_all.hpp>
#else
#    include <catch2/catch.hpp>
#endif
