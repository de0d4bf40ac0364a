# Catch2: the installed package, or the source where there is none.
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
