"""The package's C#, compiled as Unity would: an assembly for each asmdef, under the defines of a target."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.ground import ROOT, Failed
from dotnet.toolchain import NUNIT, Runtime, compile_cs

HERE = Path(__file__).resolve().parent
UNITY = ROOT / "unity"
DOUBLES = HERE / "doubles"
VERSIONS = ("UNITY_5_3_OR_NEWER", "UNITY_2021_3_OR_NEWER")
TARGETS = {  # name -> defines
    "editor": ("UNITY_EDITOR", "UNITY_EDITOR_64", "UNITY_STANDALONE", *VERSIONS),
    "standalone": ("UNITY_STANDALONE", *VERSIONS),
    "il2cpp": ("UNITY_STANDALONE", "ENABLE_IL2CPP", *VERSIONS),
    "android": ("UNITY_ANDROID", "ENABLE_IL2CPP", *VERSIONS),
    "ios": ("UNITY_IOS", "ENABLE_IL2CPP", *VERSIONS),
    "unity6": ("UNITY_STANDALONE", *VERSIONS, "UNITY_2022_2_OR_NEWER", "UNITY_6000_0_OR_NEWER"),
}
# Only .NET 8 calls the serialization of exceptions obsolete; Unity's class libraries need it between domains.
OBSOLETE_ON_CORE = "-nowarn:0672,SYSLIB0051"


@dataclass(frozen=True)
class Assembly:
    """An asmdef and its sources."""

    name: str
    folder: Path
    references: tuple[str, ...]
    editor_only: bool
    is_test: bool

    def sources(self, others: Sequence[Assembly]) -> list[Path]:
        """Its files: all below its folder that no other asmdef has."""
        nested = [one.folder for one in others if self.folder in one.folder.parents]
        files = sorted(self.folder.rglob("*.cs"))
        return [path for path in files if not any(folder in path.parents for folder in nested)]


def assemblies() -> list[Assembly]:
    """The package's assemblies, each after those that it refers to."""
    found = []
    for path in sorted(UNITY.rglob("*.asmdef")):
        text = json.loads(path.read_text())
        name, platforms = text["name"], text.get("includePlatforms", [])
        tests = "UNITY_INCLUDE_TESTS" in text.get("defineConstraints", [])
        references = tuple(text.get("references", ()))
        found.append(Assembly(name, path.parent, references, platforms == ["Editor"], tests))
    return list(in_order(found))


def in_order(found: Sequence[Assembly]) -> Iterator[Assembly]:
    """Assemblies after those that they refer to."""
    names = {one.name for one in found}
    done: set[str] = set()
    while len(done) < len(found):
        ready = [one for one in found if one.name not in done and not (set(one.references) & names) - done]
        if not ready:
            raise Failed(f"asmdefs refer to each other in a circle: {sorted(names - done)}")
        yield from ready
        done |= {one.name for one in ready}


def compile_package(
    folder: Path, target: str, runtime: Runtime = "mono", tests: bool = False
) -> dict[str, Path]:
    """Compiles doubles and package for a target, warnings as errors.

    Args:
        folder: Where to write the assemblies.
        target: One of TARGETS.
        runtime: Whose class library to compile against.
        tests: Whether to compile the package's tests too; "core" only.

    Returns:
        Each assembly's file by its name; the stand-ins are "Doubles".
    """
    folder.mkdir(parents=True, exist_ok=True)
    editor = target == "editor"
    defines = [*TARGETS[target], *(["UNITY_INCLUDE_TESTS"] if tests else [])]
    options = [OBSOLETE_ON_CORE] if runtime == "core" else []
    nunit = [NUNIT] if tests else []
    made = {"Doubles": folder / "Doubles.dll"}
    doubles = doubles_sources(editor, tests)
    how = {"defines": defines, "library": True, "runtime": runtime, "options": options}
    compile_cs(made["Doubles"], doubles, references=nunit, **how)
    found = assemblies()
    for one in found:
        if (one.editor_only and not editor) or (one.is_test and not tests):
            continue
        others = [made[name] for name in one.references if name in made]
        out = folder / f"{one.name}.dll"
        references = [made["Doubles"], *others, *(nunit if one.is_test else [])]
        compile_cs(out, one.sources(found), references=references, **how)
        made[one.name] = out
    return made


def doubles_sources(editor: bool = False, tests: bool = False) -> list[Path]:
    """The stand-ins for UnityEngine, and on demand for UnityEditor and for Unity's test framework."""
    parts = [DOUBLES, *([DOUBLES / "editor"] if editor else []), *([DOUBLES / "nunit"] if tests else [])]
    return [path for part in parts for path in sorted(part.glob("*.cs"))]


def runtime_sources(components: bool = True) -> list[Path]:
    """The runtime's files; those in Components name UnityEngine."""
    files = sorted((UNITY / "Runtime").rglob("*.cs"))
    return [path for path in files if components or "Components" not in path.parts]
