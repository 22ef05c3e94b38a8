"""The Unreal plugin as a zip: unreal/Sotto with headers and libraries in its external module SottoSDK."""

from __future__ import annotations

import json

from archives import Entry, tree
from build_folder import Installed
from release import ROOT, PackagingError

PLUGIN = ROOT / "unreal" / "Sotto"
FOLDERS = {"linux-x86_64": "Linux", "windows-x86_64": "Win64", "android-arm64": "Android/arm64-v8a"}
BUILT = ("Binaries", "Intermediate", "Saved")  # folders that Unreal writes in a plugin's folder


def is_source(name: str) -> bool:
    """Returns True if a file of the plugin is packaged: neither written by Unreal nor hidden."""
    return not any(part in BUILT or part.startswith(".") for part in name.split("/"))


def entries(builds: list[Installed], version: str) -> list[Entry]:
    """Returns the files of the zip, which is unpacked in a project's folder Plugins.

    Raises:
        PackagingError: The plugin is missing, or of another version.
    """
    descriptor = PLUGIN / "Sotto.uplugin"
    if not descriptor.is_file():
        raise PackagingError(f"{descriptor} is missing; restore unreal/Sotto, or leave unreal out of --only")
    named = json.loads(descriptor.read_text(encoding="utf-8"))["VersionName"]
    if named != version:
        raise PackagingError(
            f"{descriptor}: expected VersionName {version}, found {named}; set it to the version"
        )
    plugin = [entry for entry in tree(PLUGIN, "Sotto/") if is_source(entry.name)]
    sdk = "Sotto/Source/SottoSDK"
    found = {entry.name: entry for entry in plugin}
    headers = builds[0].prefix / "include"
    for entry in tree(headers, f"{sdk}/include/"):
        found[entry.name] = entry
    for build in builds:
        folder = f"{sdk}/lib/{FOLDERS[build.platform.name]}"
        for file in (*build.shipped, *build.import_libraries):
            found[f"{folder}/{file.name}"] = Entry(f"{folder}/{file.name}", file)
    for name in ("LICENSE", "THIRD_PARTY.md"):
        found[f"Sotto/{name}"] = Entry(f"Sotto/{name}", ROOT / name)
    return list(found.values())
