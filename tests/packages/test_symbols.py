"""Symbols apart: `.debug` files by build id for ELF, `.pdb` files for DLLs."""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from build_folder import PLATFORMS
from debug_info import ElfSplitter, pdb_identity, pdb_of
from release import PackagingError

from conftest import run

SOURCE = """
static int __attribute__((noinline)) inner(int value) { return value * 3; }
__attribute__((visibility("default"))) int outer(int value) {
    return inner(value) + 1;
}
"""


def located(library: Path, address: int) -> tuple[str, str]:
    """Function and source line of an address; addr2line follows .gnu_debuglink to line numbers."""
    said = run(["addr2line", "-f", "-e", library, hex(address)], library.parent).splitlines()
    return said[0], said[1]


def debug_link(library: Path, folder: Path) -> tuple[str, int]:
    """File name and checksum of the symbols that a library names."""
    section = folder / "link"
    run(["objcopy", "--dump-section", f".gnu_debuglink={section}", library, folder / "copy"], folder)
    content = section.read_bytes()
    return content.split(b"\0")[0].decode(), int.from_bytes(content[-4:], "little")


def build_id(library: Path) -> str:
    found = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", library], library.parent))
    assert found
    return found[1]


@pytest.mark.parametrize(
    "name", ["libsotto.so", "sotto_llama-native.so", "sotto_onnx.so", "sotto_diffusion-native.so"]
)
def test_packaged_symbols_name_the_functions_of_a_stripped_library(
    name: str, unpacked: Callable[[str], Path], tmp_path: Path
) -> None:
    (library,) = unpacked("sotto-sdk-*-linux-*").rglob(name)
    identity = build_id(library)
    (symbols,) = unpacked("sotto-symbols-*").rglob(f".build-id/{identity[:2]}/{identity[2:]}.debug")
    assert build_id(symbols) == identity
    listed = run(["nm", "--defined-only", symbols], tmp_path).splitlines()
    address, function = next(
        (int(line.split()[0], 16), line.split()[2])
        for line in listed
        if re.match(r"\w+ t _ZN5sotto\w{20,}E", line)
    )
    assert located(library, address)[0] != function
    assert located(symbols, address)[0] == function
    assert debug_link(library, tmp_path) == (symbols.name, zlib.crc32(symbols.read_bytes()))
    index = next(unpacked("sotto-symbols-*").rglob("INDEX.tsv")).read_text()
    assert f"{name}\t.build-id/{identity[:2]}/{identity[2:]}.debug\t" in index


def link(folder: Path, *flags: str) -> Path:
    """A small library."""
    (folder / "small.c").write_text(SOURCE)
    command = ["cc", "-shared", "-fPIC", "-O1", "-fvisibility=hidden", *flags, "small.c", "-o", "libsmall.so"]
    run(command, folder)
    return folder / "libsmall.so"


def test_line_numbers_survive_the_split(tmp_path: Path) -> None:
    library = link(tmp_path, "-g1", "-Wl,--build-id=sha1", f"-ffile-prefix-map={tmp_path}=game")
    address = next(
        int(line.split()[0], 16)
        for line in run(["nm", library], tmp_path).splitlines()
        if line.endswith(" t inner")
    )
    size = library.stat().st_size
    symbols = ElfSplitter("objcopy", "readelf").split(library, tmp_path)
    assert symbols is not None and symbols.lines
    assert library.stat().st_size < size
    assert not re.search(r"\.symtab|\.debug_info", run(["readelf", "-SW", library], tmp_path))
    assert isinstance(symbols.entry.source, Path)
    shutil.copy(symbols.entry.source, tmp_path)
    function, line = located(library, address)
    assert (function, Path(line).name) == ("inner", "small.c:2")


def test_a_library_without_symbols_has_none(tmp_path: Path) -> None:
    library = link(tmp_path, "-s")
    before = library.read_bytes()
    assert ElfSplitter("objcopy", "readelf").split(library, tmp_path) is None
    assert library.read_bytes() == before


def test_symbols_without_a_build_id_are_refused(tmp_path: Path) -> None:
    library = link(tmp_path, "-g1", "-Wl,--build-id=none")
    with pytest.raises(
        PackagingError, match=r"libsmall.so has symbols but no build id; link it with -Wl,--build-id"
    ):
        ElfSplitter("objcopy", "readelf").split(library, tmp_path)


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    library = link(tmp_path)
    with pytest.raises(PackagingError, match="program 'no-readelf' not found; install binutils"):
        ElfSplitter("objcopy", "no-readelf").split(library, tmp_path)


@pytest.fixture(scope="module")
def dll(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DLL by zig, the compiler of the Windows build, with its PDB file beside it."""
    folder = tmp_path_factory.mktemp("windows")
    (folder / "small.c").write_text(SOURCE.replace('visibility("default")', "dllexport"))
    target = ["-target", "x86_64-windows-gnu"]
    run(
        [os.environ["SOTTO_ZIG"], "cc", *target, "-g", "-O1", "-shared", "small.c", "-o", "small.dll"],
        folder,
        300,
    )
    return folder / "small.dll"


def test_a_pdb_file_is_found_by_guid(dll: Path) -> None:
    symbols = pdb_of(dll, dll.parent)
    assert symbols is not None and symbols.lines
    assert re.fullmatch(r"small\.pdb/[0-9A-F]{32}1/small\.pdb", symbols.entry.name)
    guid, age = pdb_identity((dll.parent / "small.pdb").read_bytes())
    assert symbols.entry.name.split("/")[1] == f"{guid}{age:X}"


def test_a_dll_without_debug_information_has_none(dll: Path, tmp_path: Path) -> None:
    shutil.copy(dll.parent / "small.c", tmp_path)
    target = ["-target", "x86_64-windows-gnu"]
    command = [
        os.environ["SOTTO_ZIG"],
        "cc",
        *target,
        "-g0",
        "-Wl,-s",
        "-shared",
        "small.c",
        "-o",
        "small.dll",
    ]
    run(command, tmp_path, 300)
    assert pdb_of(tmp_path / "small.dll", tmp_path) is None


def test_a_pdb_file_of_another_link_is_refused(dll: Path, tmp_path: Path) -> None:
    content = bytearray((dll.parent / "small.pdb").read_bytes())
    guid, _ = pdb_identity(bytes(content))
    raw = pdb_raw(guid)
    at = content.index(raw)
    content[at] ^= 0xFF
    (tmp_path / "small.pdb").write_bytes(bytes(content))
    with pytest.raises(PackagingError, match=r"small.pdb has GUID .*, small.dll wants .*; link it again"):
        pdb_of(dll, tmp_path)
    (tmp_path / "small.pdb").write_bytes(b"not a PDB file")
    with pytest.raises(PackagingError, match="not a PDB file"):
        pdb_of(dll, tmp_path)
    (tmp_path / "small.pdb").unlink()
    with pytest.raises(PackagingError, match=r"names small.pdb, which is missing"):
        pdb_of(dll, tmp_path)


def pdb_raw(guid: str) -> bytes:
    """A GUID as a PDB file has it."""
    import uuid

    return uuid.UUID(guid).bytes_le


def test_platforms_have_distinct_names() -> None:
    assert (
        len({platform.name for platform in PLATFORMS}) == len(PLATFORMS) == len({p.option for p in PLATFORMS})
    )
