"""The wheel and the installed library: what developers get, built and used as they would."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from .ground import BUILD, PYTHON, ROOT, Failed, last_line, run


def installed() -> Path:
    """The interpreter of the virtual environment that the wheel is installed in."""
    return BUILD / "elsewhere" / "bin" / "python"


def check_wheel() -> str:
    """A wheel is built, and works in an empty virtual environment elsewhere on disk."""
    wheels = BUILD / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    same = {"CC": "cc", "CXX": "c++"}  # compiled as in the step `build`, so that ccache has it already
    command = [PYTHON, "-m", "pip", "wheel", "-q", "--no-deps", "-C", "cmake.define.SOTTO_WERROR=ON"]
    run([*command, "-w", wheels, "."], env=same)
    (wheel,) = wheels.glob("*.whl")
    if "-py3-none-" not in wheel.name:
        raise Failed(f"{wheel.name} is not a py3-none wheel")
    texts = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("THIRD_PARTY.md")]
    if not texts:
        raise Failed(f"{wheel.name} lacks the licence texts of THIRD_PARTY.md")
    hardened = run([PYTHON, "tests/abi/hardening.py", wheel])
    run([sys.executable, "-m", "venv", "--clear", BUILD / "elsewhere"])
    run([installed(), "-m", "pip", "install", "-q", wheel])
    with tempfile.TemporaryDirectory() as empty:
        found = json.loads(run([installed().parent / "sotto", "doctor", "--json"], cwd=Path(empty)))
        if [backend["name"] for backend in found["backends"]] != ["diffusion", "llama", "onnx", "proxy"]:
            raise Failed(f"the doctor found {found['backends']}, passed over {found['modules_passed_over']}")
    return f"{wheel.name}, {wheel.stat().st_size / 2**20:.1f} MB; {last_line(hardened)}"


def check_package() -> str:
    """Builds samples/c/find_package on the installed library: by CMake, pkg-config and `sotto config`."""
    prefix, built = BUILD / "prefix", BUILD / "find_package"
    for folder in (prefix, built):
        shutil.rmtree(folder, ignore_errors=True)
    run(["cmake", "--install", BUILD / "release", "--prefix", prefix])
    game = ROOT / "samples" / "c" / "find_package"
    config = installed().parent / "sotto"
    wheel_cmake = run([config, "config", "--cmake-dir"]).strip()
    for name, option in (
        ("prefix", f"-DCMAKE_PREFIX_PATH={prefix}"),
        ("wheel", f"-Dsotto_DIR={wheel_cmake}"),
    ):
        run(["cmake", "-S", game, "-B", built / name, "-G", "Ninja", option])
        run(["cmake", "--build", built / name])
        said = [run([built / name / program], cwd=built) for program in ("game", "game_cpp")]
        if not all("3 copper" in line for line in said):
            raise Failed(f"{name}: the programs said {said}")
    flags = run([config, "config", "--cflags", "--libs"]).split()
    run(["cc", game / "game.c", *flags, "-o", built / "by_config"])
    ways = ["find_package (prefix, wheel)", "sotto config"]
    spoken = [run([built / "by_config"])]
    if shutil.which("pkg-config"):
        (folder,) = prefix.rglob("pkgconfig")
        env = {"PKG_CONFIG_PATH": str(folder)}
        flags = run(["pkg-config", "--cflags", "--libs", "sotto"], env=env).split()
        rpath = "-Wl,-rpath," + run(["pkg-config", "--variable=libdir", "sotto"], env=env).strip()
        run(["cc", game / "game.c", *flags, rpath, "-o", built / "by_pkg_config"])
        spoken.append(run([built / "by_pkg_config"]))
        ways.append("pkg-config")
    if not all("3 copper" in line for line in spoken):
        raise Failed(f"the programs said {spoken}")
    return f"{', '.join(ways)}: {spoken[0].strip()!r}"
