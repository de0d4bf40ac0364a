// What stratagemm::kernels holds of automatic over the host (backend/host/instances.hpp): the whole call of a plain product
// of floats or doubles, and what a program asks about one. A program that links it compiles none of the candidates for
// these, which take most of the time that automatic costs a compiler.
#pragma once

#include "../../backend/host.hpp"
#include "../automatic.hpp"

STRATAGEMM_BEGIN

// Types cannot be in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define STRATAGEMM_AUTOMATIC_INSTANCES_OF(EXTERN, ELEMENT)                                                   \
    EXTERN template status run_in_workspace(automatic<host> const&,                                          \
                                            dense_problem<ELEMENT, ELEMENT, ELEMENT> const&, bool);          \
    EXTERN template status automatic<host>::operator()(dense_problem<ELEMENT, ELEMENT, ELEMENT> const&,      \
                                                       automatic<host>::arena&) const;                       \
    EXTERN template footprint automatic<host>::workspace(shape<ELEMENT> const&) const;                       \
    EXTERN template bound automatic<host>::error_bound(shape<ELEMENT> const&) const;                         \
    EXTERN template double automatic<host>::estimate(shape<ELEMENT> const&) const;                           \
    EXTERN template std::string automatic<host>::describe(shape<ELEMENT> const&) const;                      \
    EXTERN template status automatic<host>::check(shape<ELEMENT> const&) const;                              \
    EXTERN template int automatic<host>::choose(shape<ELEMENT> const&) const;                                \
    EXTERN template explanation automatic<host>::explain(shape<ELEMENT> const&) const;

#define STRATAGEMM_AUTOMATIC_INSTANCES(EXTERN)                                                               \
    STRATAGEMM_AUTOMATIC_INSTANCES_OF(EXTERN, float)                                                         \
    STRATAGEMM_AUTOMATIC_INSTANCES_OF(EXTERN, double)

// NOLINTEND(bugprone-macro-parentheses)

#ifdef STRATAGEMM_COMPILED_KERNELS
STRATAGEMM_AUTOMATIC_INSTANCES(extern)
#endif

STRATAGEMM_END
