"""The SDK archive of a platform, and the archive of its symbols."""

from __future__ import annotations

from pathlib import Path

from archives import Entry, tree
from build_folder import Installed
from debug_info import ElfSplitter, Symbols, pdb_of
from release import ROOT

HERE = Path(__file__).resolve().parent
GAME = ROOT / "samples" / "c" / "find_package" / "game.c"  # the Conan recipe tests its package with it


def entries(build: Installed, version: str) -> tuple[str, list[Entry]]:
    """Returns name and entries of the SDK archive.

    The archive has headers, libraries, CMake config, pkg-config, notices, and the recipes that package an
    unpacked SDK for Conan and vcpkg.
    """
    top = f"sotto-sdk-{version}-{build.platform.name}"
    unity = set(build.unity_plugins)
    found = [entry for entry in tree(build.prefix, f"{top}/") if entry.source not in unity]
    for recipes in ("conan", "vcpkg"):
        found += tree(HERE / recipes, f"{top}/{recipes}/")
    found.append(Entry(f"{top}/conan/test_package/{GAME.name}", GAME))
    return f"{top}{build.platform.archive}", found


def split(
    build: Installed, folder: Path, out: Path, splitter: ElfSplitter
) -> tuple[list[Symbols], list[str]]:
    """Moves the symbols of a build's libraries into separate files.

    Args:
        build: The installed build; its libraries are stripped in place.
        folder: Folder for the symbols.
        out: Folder that the libraries were linked in, which has the PDB files.
        splitter: Splits ELF libraries.

    Returns:
        The symbols, and the names of the libraries that were linked without symbols.
    """
    found, without = [], []
    for library in (*build.libraries, *build.unity_plugins):
        symbols = pdb_of(library, out) if library.suffix == ".dll" else splitter.split(library, folder)
        if symbols is None:
            without.append(library.name)
        else:
            found.append(symbols)
    return found, without


def symbols_archive(build: Installed, version: str, symbols: list[Symbols]) -> tuple[str, list[Entry]]:
    """Returns name and entries of the archive of symbols."""
    top = f"sotto-symbols-{version}-{build.platform.name}"
    found = [Entry(f"{top}/{one.entry.name}", one.entry.source) for one in symbols]
    rows = [f"{one.library}\t{one.entry.name}\t{'lines' if one.lines else 'functions'}\n" for one in symbols]
    found.append(Entry(f"{top}/INDEX.tsv", "".join(["library\tsymbols\tdetail\n", *rows]).encode()))
    return f"{top}{build.platform.archive}", found
