# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import textwrap

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get, save
from conan.tools.layout import basic_layout
from conan.tools.scm import Version

required_conan_version = ">=2.1"


class HocketConan(ConanFile):
    name = "hocket"
    description = "Plans what a deep-learning executor runs: dependencies, pipeline schedules, tilings, costs, launches"
    license = "Apache-2.0 WITH LLVM-exception"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "https://github.com/example/hocket"
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
    no_copy_source = True

    _versions = {"boost": "1.86.0", "nlohmann_json": "3.11.3", "range-v3": "0.12.0"}
    # component: (option, component that it builds on, package and target that it needs)
    _components = {
        "cost": ("with_cost", "hocket", "boost", "boost::headers"),
        "planner": ("with_cost", "cost", "boost", "boost::headers"),
        "hugging_face": ("with_hugging_face", "cost", "nlohmann_json", "nlohmann_json::nlohmann_json"),
        "range_v3": ("with_range_v3", "hocket", "range-v3", "range-v3::range-v3"),
        "boost_graph": ("with_boost_graph", "hocket", "boost", "boost::headers"),
    }
    # CMakeDeps accepts any component; this file, which its hocket-config.cmake includes, does not.
    _check_file = os.path.join("lib", "cmake", "hocket-check-components.cmake")

    def configure(self):
        if self.options.with_hugging_face:
            self.options.with_cost = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        if self.options.with_cost or self.options.with_boost_graph:
            self.requires(f"boost/{self._versions['boost']}", options={"header_only": True})
        if self.options.with_hugging_face:
            self.requires(f"nlohmann_json/{self._versions['nlohmann_json']}")
        if self.options.with_range_v3:
            self.requires(f"range-v3/{self._versions['range-v3']}")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        compiler = str(self.settings.compiler)
        if compiler == "msvc":
            raise ConanInvalidConfiguration("hocket is not tested with msvc: use gcc or clang")
        if self.settings.arch == "x86":
            raise ConanInvalidConfiguration("hocket's headers refuse x87 arithmetic, the default of x86: use x86_64")
        least = {"gcc": "12", "clang": "16"}.get(compiler)
        if least and Version(self.settings.compiler.version) < least:
            raise ConanInvalidConfiguration(f"hocket needs {compiler} {least} or newer")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def build(self):
        pass

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        save(self, os.path.join(self.package_folder, self._check_file), textwrap.dedent("""\
            foreach(hocket_component IN LISTS hocket_FIND_COMPONENTS)
              if(TARGET hocket::${hocket_component})
                set(hocket_${hocket_component}_FOUND TRUE)
              else()
                set(hocket_${hocket_component}_FOUND FALSE)
                if(hocket_FIND_REQUIRED_${hocket_component})
                  set(hocket_FOUND FALSE)
                  set(hocket_NOT_FOUND_MESSAGE "component ${hocket_component} is not in this package: set its option")
                endif()
              endif()
            endforeach()
            unset(hocket_component)
            """))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "hocket")
        self.cpp_info.set_property("pkg_config_name", "hocket")
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
        self.cpp_info.set_property("cmake_build_modules", [self._check_file])
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
