"""Every package of a release: made by one command, unpacked in empty folders, and used there."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from godot.fetch import Unavailable, have_godot

from .cross import WINE, WINE_NEEDS
from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, is_full, last_line, run

FOLDER = BUILD / "packages"
REQUIREMENTS = ("native/packaging/requirements.txt", "tests/packages/requirements.txt")
# Of ground.SYSTEM; `mcs` and `npm` make the C# compiler, see tests/dotnet.
NEEDS = ("g++", "cmake", "ninja", "mono", "mcs", "npm", "objcopy", "pkg-config", *WINE_NEEDS)


def make_python() -> Path:
    """The interpreter of a virtual environment with what packaging and its tests need, pinned by hash."""
    venv = FOLDER / "venv"
    python, stamp = venv / "bin" / "python", venv / "made-from"
    pins = b"".join((ROOT / name).read_bytes() for name in REQUIREMENTS)
    mark = hashlib.sha256(pins + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == mark:
        return python
    shutil.rmtree(venv, ignore_errors=True)
    run([sys.executable, "-m", "venv", venv])
    files = [word for name in REQUIREMENTS for word in ("-r", ROOT / name)]
    run([python, "-m", "pip", "install", "-q", "--require-hashes", *files])
    stamp.write_text(mark)
    return python


def zig() -> Path:
    """The compiler for Windows."""
    script = "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).with_name('zig'))"
    return Path(run([PYTHON, "-c", script]).strip())


def godot_programs() -> Path | None:
    """The folder of Godot's programs; None where Godot cannot be had."""
    try:
        return have_godot(BUILD / "godot")
    except Unavailable:
        return None


def build_addon(godot: Path) -> Path:
    """Builds samples/godot, with the header that a Godot program writes."""
    folder = FOLDER / "addon"
    options = {"SOTTO_LIBRARIES": BUILD / "release" / "out", "GODOT": godot}
    defines = [f"-D{name}={value}" for name, value in options.items()]
    run(["cmake", "-S", ROOT / "samples" / "godot", "-B", folder, "-G", "Ninja", *defines])
    run(["cmake", "--build", folder])
    return folder


def build_debug(system: str, *options: str | Path) -> Path:
    """Builds the core with debug information, as docs/pages/guide/packages.md has it for a release."""
    folder = FOLDER / f"debug-{system}"
    flags = ["-DCMAKE_C_FLAGS=-g1", "-DCMAKE_CXX_FLAGS=-g1", "-DSOTTO_LLAMA=OFF"]
    run(["cmake", "-S", ROOT / "native", "-B", folder, "-G", "Ninja", *flags, *options])
    run(["cmake", "--build", folder, "-j", JOBS, "--target", "sotto"])
    return folder


def build_debug_windows() -> Path:
    """Builds the core for Windows with debug information."""
    toolchain = ROOT / "native" / "cmake" / "zig" / "x86_64-windows.cmake"
    flags = ("-DCMAKE_SHARED_LINKER_FLAGS=", "-DCMAKE_MODULE_LINKER_FLAGS=")  # else the linker strips
    return build_debug("windows", "--toolchain", toolchain, f"-DPython3_EXECUTABLE={PYTHON}", *flags)


def check_packages() -> str:
    """Makes every package of the release build, twice, and uses each."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = make_python()
    wheels = sorted((BUILD / "wheels").glob("*.whl"))
    if not wheels:
        raise Failed(f"no wheel in {BUILD / 'wheels'}: run the step `wheel` first")
    godot = godot_programs()
    env = {
        "SOTTO_PACKAGES_BUILD": str(BUILD / "release"),
        "SOTTO_PACKAGES_WHEEL": str(wheels[-1]),
        "SOTTO_PACKAGES_WINDOWS": str(BUILD / "windows"),
        "SOTTO_PACKAGES_GODOT": str(build_addon(godot / "godot")) if godot else "",
        "SOTTO_GODOT": str(godot or ""),
        "SOTTO_ZIG": str(zig()),
        "SOTTO_WINE": WINE,
        "WINEPREFIX": str(BUILD / "windows" / "wine"),  # the step `windows` makes it
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if is_full():  # two builds of the core
        env["SOTTO_PACKAGES_DEBUG_LINUX"] = str(build_debug("linux"))
        env["SOTTO_PACKAGES_DEBUG_WINDOWS"] = str(build_debug_windows())
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests" / "packages"]
    printed = run(command, env=env, timeout=600)
    sizes = next(line for line in printed.splitlines() if line.startswith("packages: "))
    absent = [] if godot else ["not run: Godot zip, no Godot"]
    absent += [] if is_full() else ["not run: line numbers of the core, --full"]
    return "; ".join([sizes.removeprefix("packages: "), last_line(printed), *absent])
