# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import atexit
import os
import shutil
import tempfile

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        # Nothing is built inside the recipe's folder, which may be a checkout: `conan create` leaves it as it was.
        folder = tempfile.mkdtemp(prefix="hocket_test_package_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        cmake_layout(self, build_folder=folder)

    def _components(self):
        """The optional libraries that the tested package was created with."""
        options = self.dependencies["hocket"].options
        needs = {"cost": "cost", "planner": "cost", "hugging_face": "hugging_face", "range_v3": "range_v3", "boost_graph": "boost_graph"}
        return [component for component, option in needs.items() if options.get_safe(f"with_{option}")]

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables["HOCKET_COMPONENTS"] = ";".join(self._components())
        version = self.tested_reference_str.split("/")[1].split("@")[0].split(".")
        toolchain.cache_variables["HOCKET_VERSION"] = ".".join(version[:2])
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        for name in ("hocket", *self._components()):
            self.run(os.path.join(self.cpp.build.bindir, f"test_{name}"), env="conanrun")
