"""Checks the .meta files of the Unity package, and that the lint rejects the mistakes that it is there for.

The package itself must be as the table says. A copy with a native library for each platform must pass, and
must fail once one of its files is spoiled as published packages were.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from checks.ground import ROOT, Failed

UNITY = ROOT / "unity"
sys.path.insert(0, str(UNITY / "Tools~"))

import lint  # noqa: E402
import metas  # noqa: E402

PLUGINS = "Runtime/Plugins"
NATIVES = (
    "Windows/x86_64/sotto.dll",
    "Windows/x86_64/sotto_llama-avx2.dll",
    "Windows/x86_64/sotto_llama-x86-64-v3.dll",
    "Windows/x86_64/sotto_unity.dll",
    "Linux/x86_64/libsotto.so",
    "Linux/x86_64/libsotto_unity.so",
    "Android/arm64-v8a/libsotto.so",
    "macOS/libsotto.dylib",
    "iOS/libsotto.a",
)
DLL, SO = f"{PLUGINS}/Windows/x86_64/sotto.dll", f"{PLUGINS}/Linux/x86_64/libsotto.so"
SHIM = f"{PLUGINS}/Windows/x86_64/sotto_unity.dll"
Spoil = Callable[[Path], None]


def change(asset: str, pattern: str, replacement: str) -> Spoil:
    """Replaces text in a .meta; the text must be there."""

    def spoil(root: Path) -> None:
        meta = root / f"{asset}.meta"
        changed, count = re.subn(pattern, replacement, meta.read_text(), flags=re.S)
        if count == 0:
            raise Failed(f"{meta} lacks {pattern!r}")
        meta.write_text(changed, newline="\n")

    return spoil


def enable(asset: str, platform: str) -> Spoil:
    """Enables a library on one more platform."""
    return change(asset, rf"({platform}\n    second:\n      enabled: )0", r"\g<1>1")


def rename(root: Path) -> None:
    """Gives a library the name that other packages' libraries have."""
    for suffix in ("", ".meta"):
        (root / f"{DLL}{suffix}").rename(root / f"{PLUGINS}/Windows/x86_64/ggml.dll{suffix}")


def same_guid(root: Path) -> None:
    """Copies a .meta with its GUID."""
    shutil.copyfile(root / f"{DLL}.meta", root / f"{SHIM}.meta")


def no_meta(root: Path) -> None:
    """Removes the .meta of a script."""
    (root / "Runtime/SottoEngine.cs.meta").unlink()


MISTAKES: dict[str, tuple[Spoil, str]] = {  # name -> change, and part of the lint's answer
    "a Windows library on for Linux": (enable(DLL, "Standalone: Linux64"), "enabled for Linux64"),
    "a Windows library on for macOS": (enable(DLL, "Standalone: OSXUniversal"), "enabled for OSXUniversal"),
    "a Linux library on for Windows": (enable(SO, "Standalone: Win64"), "enabled for Win64"),
    "a library on for Any": (enable(DLL, ": Any"), "enabled for Any"),
    "an editor entry without OS": (change(DLL, "        OS: Windows\n", ""), "editor OS"),
    "an editor entry of another OS": (change(SO, "OS: Linux", "OS: AnyOS"), "editor OS"),
    "a library of another processor": (
        change(f"{PLUGINS}/Android/arm64-v8a/libsotto.so", "CPU: ARM64", "CPU: ARMv7"),
        "CPU",
    ),
    "a library off everywhere": (change(SO, "enabled: 1", "enabled: 0"), "not enabled"),
    "a graphics plugin loaded late": (change(SHIM, "isPreloaded: 1", "isPreloaded: 0"), "isPreloaded"),
    "a library that is loaded early": (change(SO, "isPreloaded: 0", "isPreloaded: 1"), "isPreloaded"),
    "a name that others have": (rename, "invalid name 'ggml.dll'"),
    "a GUID twice": (same_guid, "is that of"),
    "a script without .meta": (no_meta, "no .meta file"),
}


def copy_with_natives(root: Path) -> None:
    """A copy of the package with a file for each native library."""
    shutil.copytree(UNITY, root, ignore=shutil.ignore_patterns("*~", "__pycache__"))
    for name in NATIVES:
        path = root / PLUGINS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    metas.write(root)


def check_stable(root: Path) -> None:
    """The same files come out again, byte for byte."""
    before = {path: path.read_bytes() for path in root.rglob("*.meta")}
    for path in before:
        path.unlink()
    metas.write(root)
    after = {path: path.read_bytes() for path in root.rglob("*.meta")}
    if before != after:
        raise Failed(
            f"other .meta files at the second time: {sorted(set(before.items()) ^ set(after.items()))}"
        )


def check_metas() -> str:
    """Checks the package and the lint. Returns one line of figures."""
    found = metas.drift(UNITY) + lint.lint(UNITY)
    if found:
        raise Failed("\n".join(found))
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name, "whole")
        copy_with_natives(whole)
        check_stable(whole)
        if found := lint.lint(whole):
            raise Failed("\n".join(found))
        for what, (spoil, answer) in MISTAKES.items():
            spoiled = Path(name, "spoiled")
            shutil.copytree(whole, spoiled)
            spoil(spoiled)
            found = lint.lint(spoiled)
            if not any(answer in line for line in found):
                raise Failed(f"the lint accepts {what}; it says {found}")
            shutil.rmtree(spoiled)
    count = sum(1 for _ in metas.assets(UNITY))
    return f"{count} .meta files, {len(MISTAKES)} mistakes rejected"
