"""Compiles and executes the Build.cs files of a plugin, and reads what they print."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checks.ground import BUILD, Failed
from dotnet.toolchain import compile_cs, run_mono

HERE = Path(__file__).resolve().parent
PLATFORMS = ("Win64", "Linux", "Android")
SOURCES = (HERE / "UnrealBuildTool.cs", HERE / "Run.cs")
CACHE = BUILD / "unreal" / "rules"


@dataclass
class ModuleLists:
    """What a module's rules name for one platform."""

    lists: dict[str, list[str]] = field(default_factory=dict)
    staged: list[tuple[str, str]] = field(default_factory=list)  # RuntimeDependencies: target, source
    receipt: list[tuple[str, str]] = field(default_factory=list)

    def dependencies(self) -> set[str]:
        """The modules whose headers the module may include."""
        names = ("PublicDependencyModuleNames", "PrivateDependencyModuleNames")
        names += ("PublicIncludePathModuleNames", "PrivateIncludePathModuleNames", "EngineThirdParty")
        return {module for name in names for module in self.lists.get(name, [])}

    def to_json(self) -> dict[str, object]:
        """The lists as JSON values."""
        staged = [{"path": path, "source": source} for path, source in self.staged]
        return {**self.lists, "RuntimeDependencies": staged, "AdditionalPropertiesForReceipt": self.receipt}


Lists = dict[str, dict[str, ModuleLists]]  # platform, module


def build_files(plugin: Path) -> list[Path]:
    """The Build.cs files of a plugin. Raises Failed if there are none."""
    found = sorted(plugin.glob("Source/*/*.Build.cs"))
    if not found:
        raise Failed(
            f"invalid plugin folder '{plugin}': expected Source/<module>/<module>.Build.cs; found none"
        )
    for path in found:
        if path.name != f"{path.parent.name}.Build.cs":
            raise Failed(f"{path}: its folder has another name than its module")
    return found


def compiled(files: Sequence[Path]) -> Path:
    """Compiles Build.cs files with the double. Compiles again only if a source changed."""
    inputs = [*SOURCES, *files]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    program = CACHE / f"{key}.exe"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        compile_cs(program, inputs, options=["-nowarn:0649"])
    return program


def execute(plugin: Path, platforms: Sequence[str] = PLATFORMS, project: Path | None = None) -> Lists:
    """Executes the rules of all modules.

    Args:
        plugin: Folder of the .uplugin.
        platforms: Names of target platforms.
        project: The .uproject whose settings the rules read.

    Returns:
        For each platform and module, what its rules name.

    Raises:
        Failed: A Build.cs does not compile, throws, or names no rules of its module.
    """
    plugin = plugin.resolve()
    files = build_files(plugin)
    printed = run_mono(compiled(files), plugin, project or "", *platforms, timeout=60)
    found: Lists = {platform: {} for platform in platforms}
    for line in printed.splitlines():
        platform, module, name, *values = line.split("\t")
        lists = found[platform].setdefault(module, ModuleLists())
        if name == "RuntimeDependencies":
            lists.staged.append((values[0], values[1]))
        elif name == "AdditionalPropertiesForReceipt":
            lists.receipt.append((values[0], values[1]))
        else:
            lists.lists.setdefault(name, []).extend(values)
    expected = {path.parent.name for path in files}
    if expected != set(found[platforms[0]]):
        raise Failed(f"Build.cs files are of {sorted(expected)}, their classes {sorted(found[platforms[0]])}")
    return found
