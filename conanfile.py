# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe of recipes/hocket, for the headers of this checkout instead of a release: conan create ."""
import os
import re

from conan.tools.files import load
from conan.tools.layout import basic_layout
from recipes.hocket.all.conanfile import HocketConan, required_conan_version  # noqa: F401


class HocketCheckout(HocketConan):
    exports = "recipes/hocket/all/conanfile.py"
    exports_sources = "include/*", "LICENSE"
    test_package_folder = "recipes/hocket/all/test_package"
    _versions = {"boost": "[>=1.74 <2]", "nlohmann_json": "[>=3.10 <4]", "range-v3": "[>=0.12 <1]"}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "hocket", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define HOCKET_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))

    def layout(self):
        basic_layout(self)

    def source(self):
        pass
