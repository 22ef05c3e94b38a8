"""Collects the files of the Godot addon's zip: addons/sotto with the libraries of all platforms."""

from __future__ import annotations

import re
from pathlib import Path

from archives import Entry, tree
from build_folder import Installed, machine
from release import ROOT, PackagingError

ADDON = "addons/sotto"
EXTENSION = "sotto.gdextension"
SYSTEMS = {
    "linux-x86_64": "linux.x86_64",
    "windows-x86_64": "windows.x86_64",
    "android-arm64": "android.arm64",
}


class AddonBuild:
    """A built folder of samples/godot, for one platform."""

    def __init__(self, folder: Path) -> None:
        """Reads the extension file that the build wrote.

        Raises:
            PackagingError: The folder is missing, or its addon was not built.
        """
        self.addon = folder / ADDON
        self._folder = folder
        try:
            self.text = (self.addon / EXTENSION).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise self._refuse(f"expected {ADDON}/{EXTENSION}, which is missing") from None
        named = re.search(r'^([\w.]+) = "res://addons/sotto/bin/([^"]+)"', self.text, re.M)
        if named is None:
            raise self._refuse(f"{EXTENSION} names no library")
        self.system = named[1]
        self.library = self.addon / "bin" / named[2]
        if not self.library.is_file():
            raise self._refuse(f"expected {ADDON}/bin/{named[2]}, which is missing")

    def _refuse(self, found: str) -> PackagingError:
        return PackagingError(
            f"invalid --godot '{self._folder}': {found}; cmake -S samples/godot -B {self._folder} && "
            f"cmake --build {self._folder}"
        )

    def check(self, build: Installed) -> None:
        """Checks that the addon's library is for the platform of a build."""
        if machine(self.library) != build.platform.machine:
            raise self._refuse(f"{self.library.name} is for another processor than {build.platform.name}")

    def files(self) -> list[Entry]:
        """Returns the files of the addon that all platforms share."""
        found = tree(self.addon, f"{ADDON}/")
        own = (f"{ADDON}/bin/", f"{ADDON}/{EXTENSION}")
        return [entry for entry in found if not entry.name.startswith(own)]


def section(name: str, lines: list[str]) -> str:
    """Returns a section of an extension file."""
    return "\n".join([f"[{name}]", *lines]) + "\n"


def extension(addons: list[AddonBuild], files: dict[str, list[str]]) -> str:
    """Returns the extension file for several platforms.

    Args:
        addons: A build for each platform.
        files: By system, the names of the files that the addon's library needs beside itself.
    """
    parts = re.split(r"^\[(\w+)\]\n", addons[0].text, flags=re.M)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    texts = {name: text.strip() for name, text in texts.items()}
    libraries, dependencies = [], []
    for addon in addons:
        folder = f"res://{ADDON}/bin/{addon.system}"
        libraries.append(f'{addon.system} = "{folder}/{addon.library.name}"')
        # A comma after the last entry too, so that each line can be deleted or copied.
        listed = "\n".join(f'\t"{folder}/{name}": "",' for name in files[addon.system])
        dependencies.append(f"{addon.system} = {{\n{listed}\n}}")
    sections = {**texts, "libraries": "\n".join(libraries), "dependencies": "\n".join(dependencies)}
    return "\n".join(section(name, [text]) for name, text in sections.items())


def entries(builds: list[Installed], addons: list[AddonBuild]) -> tuple[list[Entry], list[str]]:
    """Returns the files of the zip, which is unpacked in a project's folder.

    Args:
        builds: The libraries.
        addons: A built addon for each of these platforms.

    Returns:
        The files, and the names of the platforms that have no addon.

    Raises:
        PackagingError: No platform has an addon, or an addon is for another processor.
    """
    by_system = {addon.system: addon for addon in addons}
    found, used, names, without = {}, [], {}, []
    for build in builds:
        system = SYSTEMS[build.platform.name]
        if system not in by_system:
            without.append(build.platform.name)
            continue
        addon = by_system[system]
        addon.check(build)
        used.append(addon)
        names[system] = [file.name for file in build.shipped]
        for file in (addon.library, *build.shipped):
            name = f"{ADDON}/bin/{system}/{file.name}"
            found[name] = Entry(name, file)
    if not used:
        raise PackagingError(
            f"invalid --godot: builds for {', '.join(by_system)}, expected one for {', '.join(without)}; "
            "build samples/godot for that system"
        )
    for entry in used[0].files():
        found[entry.name] = entry
    text = extension(used, names)
    found[f"{ADDON}/{EXTENSION}"] = Entry(f"{ADDON}/{EXTENSION}", text.encode())
    for name in ("LICENSE", "THIRD_PARTY.md"):
        found[f"{ADDON}/{name}"] = Entry(f"{ADDON}/{name}", ROOT / name)
    return list(found.values()), without
