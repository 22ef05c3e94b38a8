"""Fails when a shared library is not hardened, or holds a path of the machine that built it.

    hardening.py LIBRARY-OR-FOLDER-OR-WHEEL...

An ELF library needs a stack protector, checked libc calls (FORTIFY), RELRO with BIND_NOW, and no executable
stack; a DLL needs address space randomisation and data execution prevention. /proc, /sys, /dev, /etc, the
temporary folders that SQLite looks for and folders of certificates are not build paths. Not for sanitizer
builds.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from symbols import libraries_in

ROOT = Path(__file__).resolve().parents[2]
PATH = re.compile(rb"/(?:[A-Za-z0-9_.+-]+/)+[A-Za-z0-9_.+-]+")
# mov %fs:0x28, %reg: an x86-64 function reads the canary. zig links an unused __stack_chk_fail.
CANARY = re.compile(rb"\x64[\x48\x4c]\x8b[\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x25\x28\0\0\0")
BUILT_IN = re.compile(rb"/(?:home|root|work|tmp|build|usr|opt|mnt|var|Users|github|runner)/")
OF_SYSTEM = {"/usr/tmp", "/var/tmp", "/usr/share/ca-certificates"}


def paths_in(content: bytes) -> list[str]:
    """Absolute paths in a binary, but those of the running system."""
    texts = re.findall(rb"[\x20-\x7e]{6,}", content)
    found = {one.decode() for text in texts for one in PATH.findall(text) if BUILT_IN.match(one)}
    here = {str(place) for place in (ROOT, Path.home()) if bytes(place) + b"/" in content}
    return sorted((found | here) - OF_SYSTEM)


def readelf(option: str, library: Path) -> str:
    command = ["readelf", "--wide", option, library]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_arm(content: bytes) -> bool:
    """Whether it is for 64-bit ARM, whose stripped libraries do not show a stack protector."""
    return content[18:20] == b"\xb7\0"  # e_machine


def lacks_elf(dynamic: str, segments: str, symbols: str, content: bytes) -> list[str]:
    """What a library lacks, of what readelf says and of what is in it."""
    stack = next((line for line in segments.splitlines() if "GNU_STACK" in line), "RWE")
    needs = {
        "no stack protector": is_arm(content)
        or "__stack_chk_fail" in symbols
        or CANARY.search(content) is not None,
        "no checked libc call: FORTIFY is off": re.search(r"__\w+_chk\b", symbols) is not None,
        "no BIND_NOW": "BIND_NOW" in dynamic or re.search(r"Flags:.*\bNOW\b", dynamic) is not None,
        "no RELRO": "GNU_RELRO" in segments,
        "an executable stack": "RWE" not in stack,
    }
    return [text for text, held in needs.items() if not held]


def lacks_dll(library: Path) -> list[str]:
    from pefile import PE  # which only those need who look at a library for Windows

    flags = PE(str(library), fast_load=True).OPTIONAL_HEADER.DllCharacteristics
    needs = {"no address space randomisation": flags & 0x40, "no data execution prevention": flags & 0x100}
    return [text for text, held in needs.items() if not held]


def problems(library: Path) -> list[str]:
    content = library.read_bytes()
    if library.suffix == ".dll":
        lacks = lacks_dll(library)
    else:
        told = (readelf(option, library) for option in ("-d", "-l", "--dyn-syms"))
        lacks = lacks_elf(*told, content)
    return lacks + [f"the build path {path!r}" for path in paths_in(content)]


def controls() -> list[str]:
    """A check that lets these through is none."""
    good = (" (FLAGS) BIND_NOW", "GNU_STACK RW \nGNU_RELRO", "__stack_chk_fail __memcpy_chk", b"")
    wrong = ["hardening: refuses a hardened library"] if lacks_elf(*good) else []
    for place, missing in (
        (0, ""),
        (1, "GNU_STACK RW "),
        (1, "GNU_STACK RWE\nGNU_RELRO"),
        (2, "__memcpy_chk"),
    ):
        bad = [*good]
        bad[place] = missing
        if len(lacks_elf(*bad)) != 1:
            wrong.append(f"hardening: lets {missing!r} through")
    if lacks_elf(*good[:2], "__memcpy_chk", b"\x64\x48\x8b\x04\x25\x28\0\0\0"):
        wrong.append("hardening: does not see the canary of a stripped library")
    if lacks_elf(*good[:2], "__memcpy_chk", b"") != ["no stack protector"]:
        wrong.append("hardening: lets a library without a stack protector through")
    if paths_in(b"\0/home/me/sotto/x.cpp\0/proc/self/maps\0") != ["/home/me/sotto/x.cpp"]:
        wrong.append("hardening: does not tell build paths from others")
    return wrong


def unpacked(places: list[str], aside: Path) -> Iterator[Path]:
    """The places, wheels as folders of what is in them, which are put into `aside`."""
    for number, place in enumerate(map(Path, places)):
        if place.suffix != ".whl":
            yield place
            continue
        folder = aside / str(number)
        with zipfile.ZipFile(place) as wheel:
            wheel.extractall(folder)
        yield folder


def main(places: list[str]) -> int:
    found = controls()
    with tempfile.TemporaryDirectory() as aside:
        libraries = []
        for place, folder in zip(places, unpacked(places, Path(aside)), strict=True):
            libraries += (inside := libraries_in(folder))
            if not inside:
                found.append(f"hardening: no library in {place}")
        for library in libraries:
            found += [f"{library}: {what}" for what in problems(library)]
    print("\n".join(found) or f"hardening: {len(libraries)} libraries hardened, without build paths")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
