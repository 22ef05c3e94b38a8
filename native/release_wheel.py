"""Builds the released wheel for Linux: x86-64 of the last fifteen years, glibc 2.28 or newer.

    python native/release_wheel.py [FOLDER]
    python native/release_wheel.py --look FILE...    (checks existing wheels or libraries)

Compiles with zig for an old system (native/cmake/zig/x86_64-linux.cmake), in three ISA tiers, of which the
library loads the best one. Then checks each ELF file in the wheel: a wheel that requires more than its name
says, or whose libraries are not hardened, is deleted. Requires the extra "dev" of pyproject.toml, and
binutils.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLCHAIN = ROOT / "native" / "cmake" / "zig" / "x86_64-linux.cmake"
KEPT = ROOT / "build" / "released"  # build folder; later builds compile only changed sources
TIERS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
FLOOR = (2, 28)
TAG = "py3-none-manylinux_{}_{}_x86_64".format(*FLOOR)
EMBEDDED = ("house.gguf", "matting.onnx")  # models beside the library
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def zig() -> Path:
    """Returns the compiler of the package ziglang."""
    import ziglang

    return Path(ziglang.__file__).with_name("zig")


def build(folder: Path) -> Path:
    """Builds the wheel in `folder` and returns its path. Does not check the wheel."""
    told = {
        "wheel.tags": TAG,
        "build-dir": KEPT,
        "cmake.define.CMAKE_TOOLCHAIN_FILE": TOOLCHAIN,
        "cmake.define.SOTTO_ZIG": zig(),
        "cmake.define.SOTTO_TIERS": ";".join(TIERS),
        "cmake.define.SOTTO_WERROR": "ON",
    }
    options = [f"--config-settings={name}={value}" for name, value in told.items()]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, *options, ROOT], check=True
    )
    (wheel,) = folder.glob(f"*-{TAG}.whl")
    return wheel


def elf_files(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yields name and content of a library, or of each ELF file in a wheel."""
    if file.suffix != ".whl":
        yield file.name, file.read_bytes()
        return
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if content[:4] == b"\x7fELF":
                yield Path(name).name, content


def headers(content: bytes) -> str:
    """Returns the headers of an ELF file as `objdump -p` prints them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return subprocess.run(["objdump", "-p", file.name], capture_output=True, text=True, check=True).stdout


def problems(told: str) -> list[str]:
    """Returns why a library with the headers `told` may fail on the oldest supported system."""
    needs = set(re.findall(r"^\s+NEEDED\s+(\S+)", told, re.M))
    highest = highest_glibc(told)
    found = [f"needs {name}, which not every system has" for name in sorted(needs - SYSTEM)]
    if highest > FLOOR:
        found.append(f"needs glibc {'.'.join(map(str, highest))}")
    if highest == (0,):
        found.append("names no version of glibc, so nothing is known of it")
    return found


def highest_glibc(told: str) -> tuple[int, ...]:
    """Returns the newest glibc version in a library's headers; (0,) if they name none."""
    versions = re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)", told)
    return max((tuple(map(int, version.split("."))) for version in versions), default=(0,))


def controls() -> list[str]:
    """Tests problems() itself: returns a message if it accepts a bad library or rejects a good one."""
    good = "  NEEDED               libc.so.6\n    0x0 0x00 02 GLIBC_2.28\n    0x0 0x00 03 GLIBC_2.2.5\n"
    bad = [good + "    0x0 0x00 04 GLIBC_2.34\n", good + "  NEEDED               libstdc++.so.6\n", ""]
    let_through = [f"release_wheel: lets {one!r} through" for one in bad if not problems(one)]
    return let_through + [f"release_wheel: refuses {good!r}" for _ in problems(good)]


def look_into(file: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the faults of a wheel or library, and the newest glibc that each of its libraries needs."""
    wrong, seen = controls(), {}
    for name, content in elf_files(file):
        told = headers(content)
        wrong += [f"{name} {what}" for what in problems(told)]
        seen[name] = ".".join(map(str, highest_glibc(told)))
    tiered = [f"sotto_{backend}-{tier}.so" for backend in ("llama", "diffusion") for tier in TIERS]
    modules = ["sotto_proxy.so", "sotto_onnx.so", *tiered]
    if file.suffix == ".whl":
        wrong += [f"there is no {name}" for name in ("libsotto.so", *modules) if name not in seen]
        with zipfile.ZipFile(file) as archive:
            wrong += absent(archive.namelist())
    return wrong, seen


def absent(names: list[str]) -> list[str]:
    """Returns a fault for each embedded model that is not among the files of a wheel."""
    found = {Path(name).name for name in names}
    return [f"there is no {name}" for name in EMBEDDED if name not in found]


def hardening(file: Path) -> list[str]:
    """Returns the faults that tests/abi/hardening.py finds in a wheel; none for other files."""
    if file.suffix != ".whl":
        return []
    command = [sys.executable, ROOT / "tests" / "abi" / "hardening.py", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines() if done.returncode != 0 else []


def look(files: list[Path]) -> int:
    """Checks wheels or libraries and prints the results. Returns 0 if there are no faults."""
    failed = 0
    for file in files:
        wrong, seen = look_into(file)
        wrong += hardening(file)
        needed = ", ".join(f"{name} glibc {version}" for name, version in sorted(seen.items()))
        print(f"{file.name}: " + ("; ".join(wrong) if wrong else f"needed are {needed}"))
        failed += bool(wrong)
    return 1 if failed else 0


def main() -> int:
    """Returns 0 if the wheel may be released."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("dist"), help="where the wheel is put")
    parser.add_argument("--look", nargs="+", type=Path, metavar="FILE", help="build nothing, look at these")
    arguments = parser.parse_args()
    if arguments.look:
        return look(arguments.look)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as aside:
        wheel = build(Path(aside))
        if look([wheel]) != 0:
            return 1
        print(f"{wheel.replace(arguments.folder / wheel.name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
