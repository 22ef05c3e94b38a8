"""The step that builds for Windows with zig, and runs what came of it under Wine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, run

WINE = "/usr/lib/wine/wine64"
WINE_NEEDS = (WINE, "Xvfb", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")  # llvmpipe, for Direct3D 12

# What hangs on the system: threads, waiting, files, loading, and the ABI itself.
TESTS = [
    "signal_test",
    "modules_test",
    "abi_calls_test",
    "abi_threads_test",
    "engine_life_test",
    "engine_state_test",
    "engine_hooks_test",
    "engine_pacing_test",
    "old_caller",
    "exit_test",
]


def build(folder: Path, system: str, targets: list[str], *options: str) -> None:
    """Configures a build for another system, and builds some of it."""
    toolchain = ROOT / "native" / "cmake" / "zig" / f"{system}.cmake"
    generate = ["cmake", "-S", "native", "-B", folder, "-G", "Ninja", f"-DPython3_EXECUTABLE={PYTHON}"]
    run([*generate, "--toolchain", toolchain, "-DSOTTO_TESTS=ON", *options])
    run(["cmake", "--build", folder, "-j", JOBS, "--target", *targets])


def run_tests(folder: Path, names: list[str], env: dict[str, str]) -> str:
    """Runs some of a build's tests. Returns how many passed."""
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error"]
    printed = run([*command, "-R", f"^({'|'.join(names)})$"], env=env)
    return next(line for line in printed.splitlines() if "tests passed" in line)


@contextmanager
def screen() -> Iterator[str]:
    """The name of a display that nobody looks at; Wine's Vulkan, and so its Direct3D 12, wants one."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, pass_fds=[writing], stdout=quiet, stderr=quiet, stdin=quiet) as server:
        os.close(writing)
        with os.fdopen(reading) as told:
            yield ":" + told.readline().strip()
        server.terminate()


def check_windows() -> str:
    """The library for Windows, with the scripted backend: what it exports, and what it does under Wine."""
    folder = BUILD / "windows"
    programs = ["paths_test", "sotto_delay_host", "frame_loop", "share_d3d12", "d3d12_test"]
    build(folder, "x86_64-windows", ["sotto", "sotto_scripted", *programs, *TESTS], "-DSOTTO_LLAMA=OFF")
    run([PYTHON, "tests/abi/symbols.py", folder / "out"])
    env = {
        "WINEPREFIX": str(folder / "wine"),
        "WINEDEBUG": "-all",
        "WINEPATH": "Z:" + str(folder / "out").replace("/", "\\"),
    }
    run([WINE, "cmd", "/c", "ver"], env=env, timeout=300)  # makes what Wine keeps; the tests have less time
    passed = run_tests(folder, [*TESTS, "paths_test"], env)
    late = run([WINE, folder / "tests" / "windows" / "delay_host.exe"], env=env, timeout=60)
    if f'"{late}"' not in (ROOT / "include" / "sotto" / "base.h").read_text():
        raise Failed(f"the host that loads the library late read the version {late!r}")
    with screen() as display:
        run_tests(folder, ["d3d12_test"], {**env, "DISPLAY": display})
    return f"{passed}; a Direct3D 12 device and queue are taken, and CiG is refused with the reason"
