# What our own programs (tests, examples, benchmarks) are built with, and users are not: warnings, and OpenMP where the
# compiler has it. CXXFLAGS=-Werror makes errors of warnings, as .ci/run does, for the other compilers too.
find_package(OpenMP QUIET COMPONENTS CXX)

set(STRATAGEMM_WARNINGS -Wall -Wextra -Wconversion)
string(REGEX MATCH "-Werror" STRATAGEMM_WERROR "${CMAKE_CXX_FLAGS}")
# g++ sees uninitialized variables in its own library once sanitizers rearrange the code.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    list(APPEND STRATAGEMM_WARNINGS -Wno-maybe-uninitialized)
endif()

# A target of ours that has OpenMP only if it asks for it.
function(stratagemm_warn target)
    target_link_libraries(${target} PRIVATE stratagemm::stratagemm)
    target_compile_options(${target} PRIVATE ${STRATAGEMM_WARNINGS})
    # g++ collects its garbage again and again once it has 128 MiB: a tenth of the time of compiling tests.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1000000)
    endif()
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
function(stratagemm_own target)
    stratagemm_warn(${target})
    if(OpenMP_CXX_FOUND)
        target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
    endif()
endfunction()
