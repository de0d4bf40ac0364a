// Catch2, whichever is installed: distributions ship 2.13 or 3.
#pragma once

// Headers of 3 may lie beside the package of 2.13 that CMake found.
#if __has_include(<catch2/catch_all.hpp>) && !defined(STRATAGEMM_CATCH2_IS_ONE_HEADER)
#    include <catch2/catch_all.hpp>
#else
#    include <catch2/catch.hpp>
#endif

// Sanitizers watch memory, for which a type of element is its size: of three or four types they have the first and the last.
#ifdef STRATAGEMM_SANITIZED
#    define STRATAGEMM_ALL_TYPES(...) __VA_ARGS__
#    define STRATAGEMM_ENDS_OF_3(first, second, last) first, last
#    define STRATAGEMM_ENDS_OF_4(first, second, third, last) first, last
#    define STRATAGEMM_SEVENTH(a, b, c, d, e, f, seventh, ...) seventh
#    define STRATAGEMM_WATCHED_TYPES(...)                                                                    \
        STRATAGEMM_SEVENTH(__VA_ARGS__, STRATAGEMM_ALL_TYPES, STRATAGEMM_ALL_TYPES, STRATAGEMM_ENDS_OF_4,    \
                           STRATAGEMM_ENDS_OF_3, STRATAGEMM_ALL_TYPES, STRATAGEMM_ALL_TYPES, )               \
        (__VA_ARGS__)
#    undef TEMPLATE_TEST_CASE
#    define TEMPLATE_TEST_CASE(name, tags, ...)                                                              \
        INTERNAL_CATCH_TEMPLATE_TEST_CASE(name, tags, STRATAGEMM_WATCHED_TYPES(__VA_ARGS__))
#endif
