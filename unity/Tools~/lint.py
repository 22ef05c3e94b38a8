"""Finds .meta files that would break a build, by rules that do not depend on how the files were made.

    lint.py [ROOT]

Each rule stands for a mistake that a published Unity package shipped: a library enabled for a system that
cannot load it, or for every platform; an editor entry without a system; a GUID twice; a library whose name
another package uses too.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from metas import PRELOADED, assets, meta_of, platform_of, processor

ENTRY = re.compile(
    r"^  - first:\n      (?P<group>.*): (?P<name>.*)\n    second:\n      enabled: (?P<enabled>[01])\n"
    r"      settings:(?P<settings>(?: \{\}\n|\n(?:        .*\n)*))",
    re.M,
)
OURS = re.compile(r"^(lib)?sotto(_\w+)?(-[\w.-]+)?$")  # file names that no other package has


@dataclass(frozen=True)
class Entry:
    """The importer's settings for a library on one platform."""

    enabled: bool
    settings: dict[str, str]


def lint(root: Path) -> list[str]:
    """Returns the mistakes of a package's .meta files, a line each."""
    found: list[str] = []
    seen: dict[str, PurePosixPath] = {}
    for path in assets(root):
        meta = meta_of(root, path)
        if not meta.exists():
            found.append(f"{path}: no .meta file; Unity ignores the asset in an installed package")
            continue
        content = meta.read_text(encoding="utf-8")
        found += [f"{path}: {problem}" for problem in lint_guid(content, path, seen)]
        if platform_of(path) is not None:
            found += [f"{path}: {problem}" for problem in lint_library(path, content)]
    return found


def lint_guid(content: str, path: PurePosixPath, seen: dict[str, PurePosixPath]) -> list[str]:
    """Returns the mistakes of a GUID; adds it to those that were seen."""
    match = re.search(r"^guid: ([0-9a-f]{32})$", content, re.M)
    if match is None:
        return ["invalid guid: expected 32 hexadecimal digits"]
    other = seen.setdefault(match[1], path)
    return [] if other is path else [f"guid {match[1]} is that of {other} too"]


def lint_library(path: PurePosixPath, content: str) -> list[str]:
    """Returns the mistakes in a native library's importer settings."""
    platform = platform_of(path)
    assert platform is not None
    entries = read(content)
    found = []
    if not OURS.match(path.stem):
        found.append(f"invalid name '{path.name}': expected sotto*, since another package may have the name")
    if "Any" not in entries or entries["Any"].enabled:
        found.append("enabled for Any: expected one platform and its editor")
    for name, one in entries.items():
        if name not in ("Any", "Editor", platform.name) and one.enabled:
            found.append(f"enabled for {name}: expected {platform.name} only")
    mine = entries.get(platform.name)
    if mine is None or not mine.enabled:
        found.append(f"not enabled for {platform.name}")
    elif mine.settings.get("CPU") != processor(path, platform):
        found.append(f"CPU {mine.settings.get('CPU')!r}: expected {processor(path, platform)}")
    found += lint_editor(entries.get("Editor"), platform.system)
    preloaded = re.search(r"^  isPreloaded: ([01])$", content, re.M)
    wanted = path.stem.removeprefix("lib") in PRELOADED
    if preloaded is None or (preloaded[1] == "1") != wanted:
        found.append(f"isPreloaded: expected {int(wanted)}")
    return found


def lint_editor(editor: Entry | None, system: str) -> list[str]:
    """Returns the mistakes in the editor's entry."""
    if editor is None or editor.enabled != bool(system):
        return [f"editor: expected {'enabled' if system else 'disabled'}"]
    if system and editor.settings.get("OS") != system:
        return [f"editor OS {editor.settings.get('OS')!r}: expected {system}"]
    if system and editor.settings.get("CPU") not in ("x86_64", "ARM64", "AnyCPU"):
        return [f"editor CPU {editor.settings.get('CPU')!r}: expected the library's"]
    return []


def read(content: str) -> dict[str, Entry]:
    """Returns the importer's platforms. YAML readers fail on Unity's key without a name (`: Any`)."""
    entries = {}
    for match in ENTRY.finditer(content):
        pairs = re.findall(r"^        ([^:]+): ?(.*)$", match["settings"], re.M)
        entries[match["name"]] = Entry(match["enabled"] == "1", dict(pairs))
    return entries


if __name__ == "__main__":
    problems = lint(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    print(*problems or ["no mistakes"], sep="\n")
    sys.exit(1 if problems else 0)
