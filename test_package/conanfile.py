# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class HocketTestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def _components(self):
        """The optional libraries that the tested package was created with."""
        names = ("cost", "hugging_face", "range_v3", "boost_graph")
        options = self.dependencies["hocket"].options
        return [name for name in names if options.get_safe(f"with_{name}")]

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HOCKET_TEST_COMPONENTS"] = " ".join(self._components())
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        for name in ("consumer", *(f"consumer_{name}" for name in self._components())):
            self.run(os.path.join(self.cpp.build.bindir, name), env="conanrun")
