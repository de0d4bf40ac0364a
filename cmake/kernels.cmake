# stratagemm::kernels: the kernels of the CPU, compiled once. Whoever links it compiles products several times faster.
set(stratagemm_kernel_sources "${CMAKE_CURRENT_LIST_DIR}/kernels.cpp" "${CMAKE_CURRENT_LIST_DIR}/automatic.cpp")
add_library(stratagemm_kernels STATIC ${stratagemm_kernel_sources})
add_library(stratagemm::kernels ALIAS stratagemm_kernels)
set_target_properties(stratagemm_kernels PROPERTIES EXPORT_NAME kernels POSITION_INDEPENDENT_CODE ON)
target_link_libraries(stratagemm_kernels PUBLIC stratagemm)
target_compile_definitions(stratagemm_kernels INTERFACE STRATAGEMM_COMPILED_KERNELS)

# Once more for programs with OpenMP: core/config.hpp gives them names of their own. The linker takes what is asked for.
find_package(OpenMP QUIET COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
    add_library(stratagemm_kernels_openmp OBJECT ${stratagemm_kernel_sources})
    set_target_properties(stratagemm_kernels_openmp PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(stratagemm_kernels_openmp PRIVATE stratagemm OpenMP::OpenMP_CXX)
    target_sources(stratagemm_kernels PRIVATE $<TARGET_OBJECTS:stratagemm_kernels_openmp>)
endif()
