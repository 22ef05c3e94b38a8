"""Parses a module of the plugin as one translation unit, as UnrealBuildTool's unity builds do."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from clang.cindex import Cursor, Diagnostic, Index, TranslationUnit

from .model import Finding, Module, Place
from .reader import Reader, top_level
from .sources import HOST, Source

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[2] / "build" / "check" / "unreal" / "header_check"
GENERATED = HERE / "generated"  # virtual: its files exist in memory only
FOR_SERIALIZATION = 0x10  # CXTranslationUnit_ForSerialization, which the Python module does not name
KEPT = 4  # precompiled headers in the cache
SHOWN = (Diagnostic.Error, Diagnostic.Fatal)


@dataclass(frozen=True)
class Ground:
    """What every module is parsed with."""

    includes: tuple[Path, ...]  # the double of the engine, the C headers
    platform: str = HOST  # whose branches of #if PLATFORM_... are read


@cache
def _system_includes() -> tuple[str, ...]:
    """The folders that the machine's C++ compiler looks in: the wheel of libclang brings no headers."""
    command = ["g++", "-E", "-x", "c++", "-v", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stderr
    listed = said.split("#include <...> search starts here:")[1].split("End of search list")[0]
    return tuple(line.strip() for line in listed.splitlines() if line.strip())


def _language(ground: Ground) -> list[str]:
    """The options that the precompiled header and what includes it share."""
    options = ["-x", "c++", "-std=c++20", "-nostdinc", "-fno-exceptions", "-fno-rtti", "-ferror-limit=20"]
    options += ["-Wno-everything"]
    for folder in ground.includes:
        options += ["-I", str(folder)]
    for folder in _system_includes():
        options += ["-isystem", folder]
    return options


@cache
def precompiled(ground: Ground) -> Path:
    """Returns the precompiled header of the macros and CoreMinimal.h; makes it if anything changed."""
    text = f'#include "{HERE / "macros.h"}"\n#include "CoreMinimal.h"\n'
    target = CACHE / f"{_mark(ground, text)}.pch"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    source, unfinished = HERE / "precompiled.hpp", target.with_suffix(f".{os.getpid()}")
    options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | TranslationUnit.PARSE_INCOMPLETE
    arguments = ["-x", "c++-header", *_language(ground)[2:]]
    unit = Index.create().parse(str(source), arguments, [(str(source), text)], options | FOR_SERIALIZATION)
    unit.save(str(unfinished))
    unfinished.rename(target)
    for old in sorted(CACHE.glob("*.pch"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        old.unlink()
    return target


def _mark(ground: Ground, text: str) -> str:
    """A hash of what a precompiled header depends on; clang compares times and sizes of its files, too."""
    files = [HERE / "macros.h", *map(Path, _system_includes())]
    files += [path for folder in ground.includes for path in sorted(folder.rglob("*.h"))]
    states = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    known = (version("libclang"), _language(ground), text, states)
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


def parse(
    ground: Ground,
    sources: Sequence[Source],
    others: Sequence[Source],
    own: Iterable[Path],
    exports: Iterable[str],
) -> TranslationUnit:
    """Parses sources together.

    Args:
        ground: What every module is parsed with.
        sources: The module's files.
        others: Headers of the plugin's other modules, which the sources may include.
        own: Include folders.
        exports: The modules' API macros.
    """
    arguments = [*_language(ground), "-include-pch", str(precompiled(ground))]
    for folder in (*own, GENERATED):
        arguments += ["-I", str(folder)]
    arguments += [f"-D{export}=" for export in exports]
    known = [*sources, *others]
    files = [(str(source.path), source.prepared(ground.platform)) for source in known]
    stems = {source.path.stem for source in known if source.is_header}
    included = (name for source in known for _, name in source.includes())
    stems |= {name.removesuffix(".generated.h") for name in included if name.endswith(".generated.h")}
    files += [(str(GENERATED / f"{stem}.generated.h"), "#pragma once\n") for stem in sorted(stems)]
    unity = HERE / "unity.cpp"
    files.append((str(unity), "".join(f'#include "{source.path}"\n' for source in sources)))
    options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    return Index.create().parse(str(unity), args=arguments, unsaved_files=files, options=options)


def read_module(
    name: str,
    ground: Ground,
    sources: Sequence[Source],
    *,
    others: Sequence[Source] = (),
    own: Iterable[Path] = (),
    exports: Iterable[str] = (),
) -> tuple[Module, list[Cursor]]:
    """Reads a module; errors of the compiler become findings. Returns its top-level cursors, too."""
    unit = parse(ground, sources, others, own, exports)
    module = Module(name, {source.path: source for source in sources})
    for said in unit.diagnostics:
        if said.severity in SHOWN:
            file = said.location.file
            place = Place(Path(file.name) if file else HERE, said.location.line)
            module.problems.append(Finding(place, "compiles", said.spelling))
    for source in sources:
        for _, delegate in source.delegates():
            module.delegates.append((Place(source.path, delegate.line), delegate))
    cursors = top_level(unit, {str(path) for path in module.sources})
    Reader(module, cursors)
    return module, cursors
