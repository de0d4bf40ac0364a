// Catch2, whichever is installed: distributions ship 2.13 or 3.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#    include <catch2/catch_all.hpp>
#else
#    include <catch2/catch.hpp>
#endif
