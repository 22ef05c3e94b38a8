"""Conan package of an unpacked SDK: `conan create sotto-sdk-<version>-<platform>/conan --no-remote`.

The SDK archive has this recipe in its folder conan/. Nothing is compiled, and no network is used.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.files import copy

FOLDERS = ("include", "lib", "bin", "share")
LIBRARIES = {"lib/libsotto.so": ("Linux", "Android"), "bin/sotto.dll": ("Windows",)}


class SottoConan(ConanFile):
    """The shared library with its C headers, the backend modules and the house model."""

    name = "sotto"
    license = "MIT"
    description = "An AI runtime that games embed"
    topics = ("games", "llm", "npc", "inference")
    package_type = "shared-library"
    settings = "os", "arch"  # a C ABI depends on no compiler and no build type
    no_copy_source = True

    def set_version(self):
        """Reads the version from the SDK's headers."""
        header = os.path.join(self._sdk(), "include", "sotto", "base.h")
        if not os.path.isfile(header):
            raise ConanException(
                f"invalid recipe folder '{self.recipe_folder}': expected it inside an unpacked SDK; "
                "run conan create sotto-sdk-<version>-<platform>/conan"
            )
        with open(header, encoding="utf-8") as file:
            self.version = re.search(r'define SOTTO_VERSION "([^"]+)"', file.read())[1]

    def _sdk(self):
        return os.path.dirname(os.path.abspath(self.recipe_folder))

    def export_sources(self):
        """Copies the SDK that contains this recipe to the exported sources of the package."""
        for folder in FOLDERS:
            place = os.path.join(self.export_sources_folder, folder)
            copy(self, "*", os.path.join(self._sdk(), folder), place)

    def build(self):
        """Checks that the SDK is for the system of the profile."""
        for library, systems in LIBRARIES.items():
            if os.path.isfile(os.path.join(self.source_folder, library)) and self.settings.os in systems:
                return
        raise ConanInvalidConfiguration(
            f"invalid setting os '{self.settings.os}': this SDK is for another system; "
            "unpack the SDK of that system"
        )

    def package(self):
        """Copies the SDK into the package."""
        for folder in FOLDERS:
            copy(
                self, "*", os.path.join(self.source_folder, folder), os.path.join(self.package_folder, folder)
            )

    def package_info(self):
        """Names the library, as sottoConfig.cmake and sotto.pc do."""
        self.cpp_info.libs = ["sotto"]
        self.cpp_info.set_property("cmake_file_name", "sotto")
        self.cpp_info.set_property("cmake_target_name", "sotto::sotto")
        self.cpp_info.set_property("pkg_config_name", "sotto")
