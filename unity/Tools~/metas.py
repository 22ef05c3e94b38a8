"""Writes the .meta file of every asset of the Unity package, from a table, and finds wrong ones.

    metas.py [--check] [ROOT]

ROOT is a package: this one, or a copy to which the native libraries were added. --check writes nothing and
fails if a .meta is missing, left over or other than the table says.

A GUID is the hash of the asset's path, so it never changes while the path stays.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

PACKAGE = "com.sotto.runtime"
FIXED = {  # GUIDs that were given before this table existed
    "LICENSE.md": "5b7c2e914fd84a06b1c9d3e8a7f60521",
    "Runtime/LiveHandles.cs": "523a246c1dfa57f081ac851920ff48b0",
    "Runtime/SottoGpu.cs": "2bd0c4b99e4af5169e47814de00010b7",
    "Runtime/SottoJson.cs": "7b0c5d1e92f84a36a1d0c4e85f2b6d93",
    "Runtime/SottoSession.cs": "44233e0189e65e28a8f63e7b00dc8581",
    "Runtime/SottoStats.cs": "909fa4c2617b4e4395cd5590373e9f68",
    "Third Party Notices.md": "8c1f6d5e0b7a49d2a3e4f5061728394a",
}
PRELOADED = ("sotto_unity",)  # must be loaded before the graphics device is created
TAIL = "  userData: \n  assetBundleName: \n  assetBundleVariant: \n"
PLAIN = "  externalObjects: {}\n"
IMPORTERS = {  # suffix -> importer, and its settings
    ".cs": (
        "MonoImporter",
        PLAIN + "  serializedVersion: 2\n  defaultReferences: []\n  executionOrder: 0\n"
        "  icon: {instanceID: 0}\n",
    ),
    ".asmdef": ("AssemblyDefinitionImporter", PLAIN),
    ".asset": ("NativeFormatImporter", PLAIN + "  mainObjectFileID: 11400000\n"),
    ".md": ("TextScriptImporter", PLAIN),
    ".json": ("TextScriptImporter", PLAIN),
    ".txt": ("TextScriptImporter", PLAIN),
    ".xml": ("TextScriptImporter", PLAIN),
}


@dataclass(frozen=True)
class Platform:
    """A platform of Unity's plugin importer."""

    group: str  # "Standalone", "Android" or "iPhone"
    name: str
    system: str = ""  # the editor's OS that can load its libraries; "": none
    disabled: dict[str, str] = field(default_factory=lambda: {"CPU": "None"})


WINDOWS = Platform("Standalone", "Win64", "Windows")
LINUX = Platform("Standalone", "Linux64", "Linux")
MACOS = Platform("Standalone", "OSXUniversal", "OSX")
ANDROID = Platform("Android", "Android", disabled={"AndroidSharedLibraryType": "Executable", "CPU": "ARMv7"})
IOS = Platform(
    "iPhone",
    "iOS",
    disabled={
        "AddToEmbeddedBinaries": "false",
        "CPU": "AnyCPU",
        "CompileFlags": "",
        "FrameworkDependencies": "",
    },
)
WINDOWS_32 = Platform("Standalone", "Win")
PLATFORMS = (ANDROID, LINUX, MACOS, WINDOWS_32, WINDOWS, IOS)
LIBRARIES = {".dll": WINDOWS, ".so": LINUX, ".dylib": MACOS, ".a": IOS}
ANDROID_CPUS = {"arm64-v8a": "ARM64", "x86_64": "X86_64", "armeabi-v7a": "ARMv7"}
MACOS_CPUS = {"x86_64": "x86_64", "arm64": "ARM64"}


def platform_of(path: PurePosixPath) -> Platform | None:
    """Returns the only platform that can load a native library; None if the file is none."""
    if path.suffix == ".so" and any(part.lower() == "android" for part in path.parts):
        return ANDROID
    return LIBRARIES.get(path.suffix)


def processor(path: PurePosixPath, platform: Platform) -> str:
    """Returns the processor of a native library, as the importer names it."""
    if platform is ANDROID:
        return ANDROID_CPUS.get(path.parent.name, "ARM64")
    if platform is MACOS:
        return MACOS_CPUS.get(path.parent.name, "AnyCPU")
    return "AnyCPU" if platform is IOS else "x86_64"


def assets(root: Path) -> Iterator[PurePosixPath]:
    """Yields the assets that Unity imports, relative to the package: files and folders, without hidden ones.

    Unity ignores a folder whose name ends in `~`. The contents of `Samples~` count all the same: the package
    manager copies a sample into the project, with its .meta files.
    """
    for path in sorted(root.rglob("*")):
        inside = PurePosixPath(path.relative_to(root).as_posix())
        first, *others = inside.parts
        hidden = any(part.startswith(".") or part.endswith("~") for part in others)
        outside = first.startswith(".") or (first.endswith("~") and (first != "Samples~" or not others))
        if not (hidden or outside or path.suffix in (".meta", ".tmp") or "__pycache__" in inside.parts):
            yield inside


def guid(path: PurePosixPath) -> str:
    """Returns an asset's GUID: a hash of its path, or the one that it already had."""
    return FIXED.get(str(path)) or uuid.uuid5(uuid.NAMESPACE_URL, f"{PACKAGE}/{path}").hex


def text(root: Path, path: PurePosixPath) -> str:
    """Returns the contents of an asset's .meta file."""
    head = f"fileFormatVersion: 2\nguid: {guid(path)}\n"
    if (root / path).is_dir():
        return f"{head}folderAsset: yes\nDefaultImporter:\n{PLAIN}{TAIL}"
    platform = platform_of(path)
    if platform is not None:
        return f"{head}{plugin(path, platform)}{TAIL}"
    importer, settings = IMPORTERS.get(path.suffix, ("DefaultImporter", PLAIN))
    if str(path) == "package.json":
        importer = "PackageManifestImporter"
    return f"{head}{importer}:\n{settings}{TAIL}"


def plugin(path: PurePosixPath, only: Platform) -> str:
    """Returns the importer settings of a native library: on for one platform and for its editor."""
    cpu = processor(path, only)
    excluded = {f"Exclude {one.name}": str(int(one is not only)) for one in PLATFORMS}
    excluded["Exclude Editor"] = str(int(not only.system))
    editor = {
        "CPU": cpu if only.system else "AnyCPU",
        "DefaultValueInitialized": "true",
        "OS": only.system or "AnyOS",
    }
    data = entry("", "Any", False, dict(sorted(excluded.items())))
    for one in (ANDROID, Platform("Editor", "Editor"), LINUX, MACOS, WINDOWS_32, WINDOWS, IOS):
        if one.group == "Editor":
            data += entry("Editor", "Editor", bool(only.system), editor)
        else:
            on = one is only
            data += entry(one.group, one.name, on, {**one.disabled, "CPU": cpu} if on else one.disabled)
    preloaded = int(path.stem.removeprefix("lib") in PRELOADED)
    return (
        "PluginImporter:\n"
        "  externalObjects: {}\n"
        "  serializedVersion: 2\n"
        "  iconMap: {}\n"
        "  executionOrder: {}\n"
        "  defineConstraints: []\n"
        f"  isPreloaded: {preloaded}\n"
        "  isOverridable: 0\n"
        "  isExplicitlyReferenced: 0\n"
        "  validateReferences: 1\n"
        f"  platformData:\n{data}"
    )


def entry(group: str, name: str, enabled: bool, settings: dict[str, str]) -> str:
    """Returns one platform's block."""
    lines = "".join(f"        {key}: {value}\n" for key, value in settings.items())
    return (
        f"  - first:\n      {group}: {name}\n    second:\n      enabled: {int(enabled)}\n"
        f"      settings:\n{lines}"
    )


def write(root: Path) -> int:
    """Writes the .meta files that are missing or other than the table says. Returns how many it wrote."""
    written = 0
    for path in assets(root):
        meta = meta_of(root, path)
        wanted = text(root, path)
        if not meta.exists() or meta.read_text(encoding="utf-8") != wanted:
            meta.write_text(wanted, encoding="utf-8", newline="\n")
            written += 1
    return written


def drift(root: Path) -> list[str]:
    """Returns a line for each .meta that is missing, left over or differs from the table."""
    found, known = [], set()
    for path in assets(root):
        meta = meta_of(root, path)
        known.add(meta)
        if not meta.exists():
            found.append(f"{path}: no .meta file; run unity/Tools~/metas.py")
        elif meta.read_text(encoding="utf-8") != text(root, path):
            found.append(f"{path}: its .meta is not as the table says; run unity/Tools~/metas.py")
    for meta in sorted(root.rglob("*.meta")):
        if meta not in known:
            found.append(f"{meta.relative_to(root)}: no such asset; delete the .meta file")
    return found


def meta_of(root: Path, path: PurePosixPath) -> Path:
    """Returns the path of an asset's .meta file."""
    asset = root / path
    return asset.with_name(asset.name + ".meta")


def main() -> int:
    """Writes or checks. Returns 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.root / "package.json").is_file():
        parser.error(f"invalid ROOT '{arguments.root}': expected a folder with a package.json")
    count = sum(1 for _ in assets(arguments.root))
    if not arguments.check:
        print(f"{write(arguments.root)} of {count} .meta files written")
        return 0
    found = drift(arguments.root)
    print(*found or [f"{count} .meta files as the table says"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
