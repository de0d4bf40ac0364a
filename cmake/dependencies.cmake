# Catch2 and Google Benchmark: the installed package, or the source where there is none.
include(FetchContent)

# Warnings in what we fetched are not ours.
function(stratagemm_system_includes target)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    set_target_properties(${target} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${directories}")
endfunction()

# The whole of Catch2 2.13 is compiled with main, at length; nothing of it needs to be fast or checked.
set(STRATAGEMM_CATCH2_MAIN_OPTIONS -O0 -g0 -fno-sanitize=all)

# Makes Catch2::Catch2: 2.13, which is one header, or 3.x.
macro(stratagemm_find_catch2)
    find_package(Catch2 3 QUIET)
    if(NOT Catch2_FOUND)
        find_package(Catch2 2.13 QUIET)
    endif()
    if(NOT Catch2_FOUND)
        message(STATUS "Catch2 is not installed: fetching it")
        FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git
                             GIT_TAG v3.7.1 GIT_SHALLOW ON)
        FetchContent_MakeAvailable(Catch2)
        stratagemm_system_includes(Catch2)
    endif()
endmacro()

# Makes benchmark::benchmark. CMAKE_PREFIX_PATH names a copy of the package (bench/bundle.sh makes one), and
# FETCHCONTENT_SOURCE_DIR_BENCHMARK one of the source. Where there is none of these and no network, programs that race
# do not compile, and the others do.
macro(stratagemm_find_benchmark)
    find_package(benchmark 1.7 QUIET)
    set(STRATAGEMM_BENCHMARK_ARCHIVE "${PROJECT_BINARY_DIR}/google-benchmark-1.9.1.tar.gz")
    if(NOT benchmark_FOUND AND NOT FETCHCONTENT_SOURCE_DIR_BENCHMARK AND NOT EXISTS "${STRATAGEMM_BENCHMARK_ARCHIVE}")
        message(STATUS "Google Benchmark is not installed: fetching it")
        file(DOWNLOAD https://github.com/google/benchmark/archive/refs/tags/v1.9.1.tar.gz
             "${STRATAGEMM_BENCHMARK_ARCHIVE}" STATUS STRATAGEMM_FETCHED INACTIVITY_TIMEOUT 20)
        if(NOT STRATAGEMM_FETCHED MATCHES "^0;")
            file(REMOVE "${STRATAGEMM_BENCHMARK_ARCHIVE}")
        endif()
    endif()
    if(NOT benchmark_FOUND AND (FETCHCONTENT_SOURCE_DIR_BENCHMARK OR EXISTS "${STRATAGEMM_BENCHMARK_ARCHIVE}"))
        set(BENCHMARK_ENABLE_TESTING OFF)
        set(BENCHMARK_ENABLE_INSTALL OFF)
        set(BENCHMARK_ENABLE_WERROR OFF)
        set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # so that its options heed the variables above
        if(POLICY CMP0135)
            cmake_policy(SET CMP0135 NEW)
        endif()
        FetchContent_Declare(benchmark URL "${STRATAGEMM_BENCHMARK_ARCHIVE}")
        FetchContent_MakeAvailable(benchmark)
        stratagemm_system_includes(benchmark)
        target_compile_options(benchmark PRIVATE -w)
        set(benchmark_FOUND TRUE)
    endif()
    if(NOT benchmark_FOUND)
        message(STATUS "No Google Benchmark here: what races is left out, or does not compile")
        add_library(benchmark::benchmark INTERFACE IMPORTED)
    endif()
endmacro()

# Makes stratagemm_cuda where the headers of the CUDA toolkit are: those of the driver and of NVRTC. Both are opened
# when a program runs.
macro(stratagemm_find_cuda)
    find_path(STRATAGEMM_CUDA_INCLUDE nvrtc.h
        HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
    if(STRATAGEMM_CUDA_INCLUDE AND EXISTS "${STRATAGEMM_CUDA_INCLUDE}/cuda.h" AND NOT TARGET stratagemm_cuda)
        add_library(stratagemm_cuda INTERFACE)
        target_include_directories(stratagemm_cuda SYSTEM INTERFACE "${STRATAGEMM_CUDA_INCLUDE}")
        target_link_libraries(stratagemm_cuda INTERFACE ${CMAKE_DL_LIBS})
    endif()
endmacro()
