# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy
from conan.tools.layout import basic_layout
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class HocketConan(ConanFile):
    name = "hocket"
    version = "0.1.0"
    description = "Plans what a deep-learning executor runs: dependencies, pipeline schedules, tilings, costs, launches"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("deep-learning", "scheduling", "pipeline-parallelism", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "with_cost": [True, False],
        "with_hugging_face": [True, False],
        "with_range_v3": [True, False],
        "with_boost_graph": [True, False],
    }
    default_options = {
        "with_cost": False,
        "with_hugging_face": False,
        "with_range_v3": False,
        "with_boost_graph": False,
    }
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True

    # component: (option, component that it builds on, package and target that it needs)
    _components = {
        "cost": ("with_cost", "hocket", "boost", "boost::headers"),
        "planner": ("with_cost", "cost", "boost", "boost::headers"),
        "hugging_face": ("with_hugging_face", "cost", "nlohmann_json", "nlohmann_json::nlohmann_json"),
        "range_v3": ("with_range_v3", "hocket", "range-v3", "range-v3::range-v3"),
        "boost_graph": ("with_boost_graph", "hocket", "boost", "boost::headers"),
    }

    def configure(self):
        if self.options.with_hugging_face:
            self.options.with_cost = True

    def requirements(self):
        if self.options.with_cost or self.options.with_boost_graph:
            self.requires("boost/[>=1.74]", options={"header_only": True})
        if self.options.with_hugging_face:
            self.requires("nlohmann_json/[>=3.10]")
        if self.options.with_range_v3:
            self.requires("range-v3/[>=0.12]")

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)
        least = {"gcc": "12", "clang": "16"}.get(str(self.settings.compiler))
        if least and Version(self.settings.compiler.version) < least:
            raise ConanInvalidConfiguration(f"hocket needs {self.settings.compiler} {least} or newer")

    def layout(self):
        basic_layout(self)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "hocket")
        self.cpp_info.set_property("pkg_config_name", "hocket")
        library = self.cpp_info.components["hocket"]
        library.set_property("cmake_target_name", "hocket::hocket")
        library.bindirs, library.libdirs = [], []
        # A package that the profile declares as installed on the platform is no dependency in Conan's graph, and a
        # component that named it would be refused; the compiler finds its headers by itself.
        known = {dependency.ref.name for _, dependency in self.dependencies.direct_host.items()}
        for name, (option, base, package, target) in self._components.items():
            if not self.options.get_safe(option):
                continue
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"hocket::{name}")
            component.bindirs, component.libdirs = [], []
            component.requires = [base, target] if package in known else [base]
