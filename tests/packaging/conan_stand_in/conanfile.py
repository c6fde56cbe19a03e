# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boost, nlohmann-json or range-v3 of the system as a Conan package, so that hocket's recipe can require it offline:
conan create tests/packaging/conan_stand_in --name boost --version 1.86.0"""
import os

from conan import ConanFile


class StandIn(ConanFile):
    package_type = "header-library"
    options = {"header_only": [True, False]}
    default_options = {"header_only": True}

    # package: (folder below /usr/include, CMake package, component or None)
    _packages = {
        "boost": ("boost", "Boost", "headers"),
        "nlohmann_json": ("nlohmann", "nlohmann_json", None),
        "range-v3": ("range", "range-v3", None),
    }

    def package_id(self):
        self.info.clear()

    def package(self):
        folder = self._packages[self.name][0]
        os.makedirs(os.path.join(self.package_folder, "include"))
        os.symlink(f"/usr/include/{folder}", os.path.join(self.package_folder, "include", folder))
        if self.name == "range-v3":
            for other in ("meta", "concepts", "std"):
                os.symlink(f"/usr/include/{other}", os.path.join(self.package_folder, "include", other))

    def package_info(self):
        _, package, component = self._packages[self.name]
        self.cpp_info.set_property("cmake_file_name", package)
        info = self.cpp_info.components[component] if component else self.cpp_info
        info.set_property("cmake_target_name", f"{package}::{component or package}")
        info.bindirs, info.libdirs = [], []
