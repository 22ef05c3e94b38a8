"""Builds a game that uses the package, and runs it."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class SottoTestConan(ConanFile):
    """The consumer of the package."""

    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        """Requires the package under test."""
        self.requires(self.tested_reference_str)

    def layout(self):
        """Uses Conan's folders for CMake."""
        cmake_layout(self)

    def build(self):
        """Builds the program."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        """Runs the program if this machine can run it."""
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "game"), env="conanrun")
