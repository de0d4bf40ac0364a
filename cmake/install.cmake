# Install rules and the CMake package, so that find_package(stratagemm) works after `cmake --install`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/stratagemm")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
install(TARGETS stratagemm EXPORT stratagemm-targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT stratagemm-targets NAMESPACE stratagemm:: DESTINATION "${package_dir}" COMPONENT dev)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/stratagemm-config.cmake.in"
    "${PROJECT_BINARY_DIR}/stratagemm-config.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may break its users. Headers suit every machine, compiled kernels do not.
set(any_machine ARCH_INDEPENDENT)
if(STRATAGEMM_KERNELS)
    install(TARGETS stratagemm_kernels EXPORT stratagemm-targets ARCHIVE COMPONENT dev)
    set(any_machine)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stratagemm-config-version.cmake"
    COMPATIBILITY SameMinorVersion ${any_machine})
install(FILES "${PROJECT_BINARY_DIR}/stratagemm-config.cmake"
              "${PROJECT_BINARY_DIR}/stratagemm-config-version.cmake" DESTINATION "${package_dir}" COMPONENT dev)
# pkg-config; found from where the file lies, so that a prefix may be moved.
configure_file("${CMAKE_CURRENT_LIST_DIR}/stratagemm.pc.in" "${PROJECT_BINARY_DIR}/stratagemm.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/stratagemm.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/stratagemm" COMPONENT dev)

if(PROJECT_IS_TOP_LEVEL)
    include("${CMAKE_CURRENT_LIST_DIR}/packages.cmake")
endif()
