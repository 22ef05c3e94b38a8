"""Separates debug information from libraries: `.debug` files by build id, and the `.pdb` files of Windows."""

from __future__ import annotations

import re
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from archives import Entry
from release import PackagingError

RSDS = re.compile(rb"RSDS(.{16})(.{4})([^\0]{1,260}\.pdb)\0", re.S)
PDB_MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"


@dataclass
class Symbols:
    """Debug information of one library."""

    library: str
    entry: Entry
    lines: bool  # True: with line numbers; False: names of functions only


def run_tool(command: list[str | Path], cwd: Path) -> str:
    """Runs a program of binutils; returns what it printed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    except FileNotFoundError:
        raise PackagingError(
            f"cannot split debug information: program '{words[0]}' not found; install binutils, or name it"
            " with --objcopy and --readelf"
        ) from None
    if done.returncode != 0:
        told = (done.stderr.strip().splitlines() or [f"{words[0]} ended with status {done.returncode}"])[-1]
        raise PackagingError(
            f"cannot split debug information: {told}; free space, or name programs for this processor with"
            " --objcopy and --readelf"
        )
    return done.stdout


class ElfSplitter:
    """Moves symbols and debug information of ELF libraries into separate files."""

    def __init__(self, objcopy: str, readelf: str) -> None:
        """Takes the programs to use: those of binutils, or LLVM's for other processors."""
        self._objcopy = objcopy
        self._readelf = readelf

    def split(self, library: Path, folder: Path) -> Symbols | None:
        """Strips a library in place, and stores its symbols' file name in .gnu_debuglink.

        Args:
            library: The library.
            folder: Folder for the symbols: .build-id/<2 digits>/<rest>.debug, which debuggers search.

        Returns:
            The symbols; None if the library was linked without any.

        Raises:
            PackagingError: The library has symbols but no build id, which names their file.
        """
        sections = run_tool([self._readelf, "--wide", "--sections", library], folder)
        if not re.search(r"\.symtab\b|\.debug_info\b", sections):
            return None
        notes = run_tool([self._readelf, "--wide", "--notes", library], folder)
        found = re.search(r"Build ID: ([0-9a-f]{8,})", notes)
        if found is None:
            raise PackagingError(
                f"{library.name} has symbols but no build id; link it with -Wl,--build-id=sha1, for instance"
                " by -DCMAKE_SHARED_LINKER_FLAGS"
            )
        symbols = folder / ".build-id" / found[1][:2] / f"{found[1][2:]}.debug"
        symbols.parent.mkdir(parents=True, exist_ok=True)
        run_tool([self._objcopy, "--only-keep-debug", library, symbols], folder)
        stripped = folder / f"{library.name}.stripped"
        link = f"--add-gnu-debuglink={symbols.name}"  # file name only: objcopy runs in the file's folder
        run_tool([self._objcopy, "--strip-all", link, library, stripped], symbols.parent)
        stripped.replace(library)
        name = symbols.relative_to(folder).as_posix()
        return Symbols(library.name, Entry(name, symbols), ".debug_info" in sections)


def pdb_identity(content: bytes) -> tuple[str, int]:
    """Returns GUID and age of a PDB file, from its stream 1."""

    def number(at: int) -> int:
        return int.from_bytes(content[at : at + 4], "little")

    if not content.startswith(PDB_MAGIC):
        raise ValueError("not a PDB file of MSF 7.00")
    block, directory_size, map_block = number(32), number(44), number(52)
    count = -(-directory_size // block)
    blocks = [number(map_block * block + 4 * index) for index in range(count)]
    directory = b"".join(content[one * block : (one + 1) * block] for one in blocks)

    def entry(index: int) -> int:
        return int.from_bytes(directory[4 * index : 4 * index + 4], "little")

    streams = entry(0)
    first = entry(1) if entry(1) != 0xFFFFFFFF else 0  # size of stream 0, which precedes stream 1's blocks
    info = entry(1 + streams + -(-first // block)) * block
    return uuid.UUID(bytes_le=content[info + 12 : info + 28]).hex.upper(), number(info + 8)


def pdb_of(library: Path, folder: Path) -> Symbols | None:
    """Finds the PDB file of a DLL.

    Args:
        library: The DLL.
        folder: Folder in which the linker wrote the PDB file.

    Returns:
        The symbols, named as symbol servers expect it, <name>.pdb/<GUID><age>/<name>.pdb; None if the DLL was
        linked without debug information.

    Raises:
        PackagingError: The DLL names a PDB file that is missing or belongs to another link.
    """
    found = RSDS.search(library.read_bytes())
    if found is None:
        return None
    name = re.split(rb"[\\/]", found[3])[-1].decode()
    key = uuid.UUID(bytes_le=found[1]).hex.upper()
    path = folder / name
    if not path.is_file():
        raise PackagingError(
            f"{library.name} names {name}, which is missing in {folder}; link the library again"
        )
    try:
        identity = pdb_identity(path.read_bytes())
    except ValueError as error:
        raise PackagingError(f"{path}: {error}; link {library.name} again") from None
    if identity[0] != key:
        raise PackagingError(f"{path} has GUID {identity[0]}, {library.name} wants {key}; link it again")
    age = int.from_bytes(found[2], "little")
    return Symbols(library.name, Entry(f"{name}/{key}{age:X}/{name}", path), True)
