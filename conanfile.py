"""A recipe for Conan 2: `conan create . -s compiler.cppstd=20` (docs/install.md). CMakeLists.txt has the version."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain


class Stratagemm(ConanFile):
    name = "stratagemm"
    description = "Matrix products as stacks of policies: header-only, any backend, any algorithm"
    license = "Apache-2.0"
    topics = "gemm", "blas", "linear-algebra", "header-only"
    settings = "os", "arch", "compiler", "build_type"
    options = {"kernels": [True, False]}  # stratagemm::kernels: the kernels of the CPU, compiled once
    default_options = {"kernels": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"

    def set_version(self):
        text = (Path(self.recipe_folder) / "CMakeLists.txt").read_text()
        self.version = re.search(r"^project\(stratagemm VERSION ([0-9.]+)", text, re.MULTILINE)[1]

    def configure(self):
        self.package_type = "static-library" if self.options.kernels else "header-library"

    def package_id(self):
        if not self.info.options.kernels:  # headers suit every machine
            self.info.settings.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["STRATAGEMM_TESTS"] = False
        toolchain.cache_variables["STRATAGEMM_EXAMPLES"] = False
        toolchain.cache_variables["STRATAGEMM_KERNELS"] = bool(self.options.kernels)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.kernels:
            cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "stratagemm")
        self.cpp_info.set_property("pkg_config_name", "stratagemm")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "stratagemm::stratagemm")
        headers.libdirs = headers.bindirs = []
        if self.options.kernels:
            kernels = self.cpp_info.components["kernels"]
            kernels.set_property("cmake_target_name", "stratagemm::kernels")
            kernels.requires = ["headers"]
            kernels.libs, kernels.bindirs = ["stratagemm_kernels"], []
            kernels.defines = ["STRATAGEMM_COMPILED_KERNELS"]
