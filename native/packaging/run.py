"""One run of the packaging command: installs the builds, then writes one package after another."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import sdk
import unity
import wheel
from build_folder import PLATFORMS, BuildFolder, Installed
from components import linked
from debug_info import ElfSplitter, Symbols
from output import OutputFolder
from release import ROOT
from sbom import render
from shipped import Choice, chooser

import godot
import unreal

PACKAGES = ("wheel", "unity", "unreal", "godot", "sdk", "symbols", "sbom")


class Run:
    """Holds the installed builds and their symbols, and writes packages of them."""

    def __init__(self, output: OutputFolder, version: str, epoch: int, options: argparse.Namespace) -> None:
        """Takes the place of the packages, the version and the options of the command line.

        Raises:
            PackagingError: --godot or --wheel names files that are missing or have another version.
        """
        self._output = output
        self._version = version
        self._epoch = epoch
        self._options = options
        self._addons = [godot.AddonBuild(folder.resolve()) for folder in options.godot]
        if options.wheel is not None:
            wheel.check(options.wheel, version)
        self._builds: list[Installed] = []
        self._symbols: dict[str, list[Symbols]] = {}  # by name of platform
        self.remarks: list[str] = []  # lines below the table of sizes

    def install(self, folders: list[BuildFolder]) -> None:
        """Installs the builds, and strips their libraries."""
        splitter = ElfSplitter(self._options.objcopy, self._options.readelf)
        choice = Choice(chooser(self._options.modules), chooser(self._options.models))
        for folder in folders:
            name = folder.platform.name
            build = folder.install(self._output.work / name, choice)
            place = self._output.work / f"symbols-{name}"
            place.mkdir()
            self._symbols[name], without = sdk.split(build, place, folder.folder / "out", splitter)
            self._builds.append(build)
            self.remarks += [f"not for release: {note}" for note in build.notes]
            if build.left_out:
                files = ", ".join(build.left_out)
                self.remarks.append(f"{name}: left out by --modules and --models: {files}")
            if without:
                self.remarks.append(f"{name}: linked without symbols: {', '.join(without)}")
        present = {folder.platform for folder in folders}
        absent = [platform for platform in PLATFORMS if platform not in present]
        self.remarks += [f"not packaged: {platform.name}: no --{platform.option}" for platform in absent]

    def write(self, names: list[str]) -> None:
        """Writes the packages of these names, and the notices."""
        writers: dict[str, Callable[[], None]] = {
            "wheel": self._write_wheel,
            "unity": self._write_unity,
            "unreal": self._write_unreal,
            "godot": self._write_godot,
            "sdk": self._write_sdks,
            "symbols": self._write_symbols,
            "sbom": self._write_sbom,
        }
        for name in names:
            writers[name]()
        notices = (ROOT / "THIRD_PARTY.md").read_bytes()
        self._output.add_file(f"sotto-{self._version}-notices.md", notices, "licences of what is linked")

    def _write_wheel(self) -> None:
        file = self._options.wheel or wheel.release_wheel(self._output.work, self._epoch)
        self._output.add_file(file.name, file.read_bytes(), "Python package")

    def _write_unity(self) -> None:
        entries = unity.entries(self._builds, self._version, self._output.work)
        self._output.add_archive(unity.file_name(self._version), entries, f"Unity package, {self._names()}")

    def _write_unreal(self) -> None:
        entries = unreal.entries(self._builds, self._version)
        self._output.add_archive(
            f"sotto-unreal-{self._version}.zip", entries, f"Unreal plugin, {self._names()}"
        )

    def _write_godot(self) -> None:
        if not self._addons:
            self.remarks.append("not packaged: Godot addon: no --godot")
            return
        entries, without = godot.entries(self._builds, self._addons)
        self.remarks += [f"not packaged: Godot addon for {name}: no --godot build" for name in without]
        self._output.add_archive(f"sotto-godot-{self._version}.zip", entries, f"Godot addon, {self._names()}")

    def _write_sdks(self) -> None:
        for build in self._builds:
            name, entries = sdk.entries(build, self._version)
            self._output.add_archive(name, entries, "headers, libraries, CMake config, pkg-config")

    def _write_symbols(self) -> None:
        for build in self._builds:
            symbols = self._symbols[build.platform.name]
            if symbols:
                name, entries = sdk.symbols_archive(build, self._version, symbols)
                self._output.add_archive(name, entries, "symbols, by build id")
            else:
                self.remarks.append(
                    f"not packaged: symbols of {build.platform.name}: its libraries have none"
                )

    def _write_sbom(self) -> None:
        text = render(linked(self._builds), self._builds, self._version, self._epoch)
        name = f"sotto-{self._version}.cdx.json"
        self._output.add_file(name, text.encode(), "bill of materials, CycloneDX 1.6")

    def _names(self) -> str:
        return ", ".join(build.platform.name for build in self._builds)
