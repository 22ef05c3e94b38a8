"""The step that builds for Windows with zig, and runs what came of it under Wine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, ctest, is_full, last_line, note_rungs, run

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


def look_at(libraries: Path) -> str:
    """What libraries export is what they should; they are hardened and hold no build path."""
    looks = [run([PYTHON, f"tests/abi/{look}.py", libraries]) for look in ("symbols", "hardening")]
    return "; ".join(last_line(said) for said in looks)


def run_tests(folder: Path, names: list[str], env: dict[str, str]) -> str:
    """Runs some of a build's tests. Returns how many passed."""
    return ctest(folder, "-R", f"^({'|'.join(names)})$", **env)


@contextmanager
def screen(size: str = "640x480", prepare: Callable[[], None] | None = None) -> Iterator[str]:
    """Starts an X server in memory and yields its display's name; `prepare` runs in its process first."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, pass_fds=[writing], stdout=quiet, stderr=quiet, stdin=quiet, preexec_fn=prepare
    ) as server:
        os.close(writing)
        try:
            with os.fdopen(reading) as told:
                yield ":" + told.readline().strip()
        finally:
            server.terminate()


def tier() -> str:
    """The best processor tier of a release that this machine runs."""
    described = Path("/proc/cpuinfo").read_text()
    return "x86-64-v3" if " avx2 " in described else "x86-64-v2"


def both_speak(printed: str) -> str:
    """What the C sample printed, in short: both of its characters say something."""
    spoken = printed.splitlines()
    for name in ("Mara", "Tobin"):
        if not any(f"{name}: " in line for line in spoken):
            raise Failed(f"{name} said nothing:\n{printed}")
    return f"{len(spoken)} pieces of speech"


def share_d3d12(folder: Path, env: dict[str, str]) -> str:
    """A Direct3D 12 device and queue handed over by the sample, whose character speaks."""
    sample = folder / "tests" / "windows" / "share_d3d12.exe"
    said = run([WINE, sample, folder / "out" / "house.gguf"], env=env, timeout=120)
    taken = re.search(r'"gpu":{"rung":"(\w+)"', said)
    refused = re.search(r'{"rung":"cig","reason":"([^"]+)"}', said)
    if taken is None or refused is None:
        raise Failed(f"no rung is told of, or CiG is not refused:\n{said}")
    note_rungs(f"rung: samples/c/share_d3d12.cpp: {taken[1]}: not cig: {refused[1]}")
    if len(last_line(said).split()) < 3:
        raise Failed(f"the character said nothing:\n{said}")
    return f"beside a Direct3D 12 queue one says {last_line(said)!r}"


def check_windows() -> str:
    """The library for Windows, with --full the modules too: what they export, and what they do under Wine."""
    folder, best = BUILD / "windows", tier()
    modules = [f"sotto_llama-{best}", f"sotto_llama_vulkan-{best}"] if is_full() else []
    programs = ["paths_test", "sotto_delay_host", "frame_loop", "share_d3d12", "d3d12_test"]
    if is_full():
        programs.append("vulkan_test")
    modular = "ON" if is_full() else "OFF"
    options = (f"-DSOTTO_TIERS={best}", f"-DSOTTO_LLAMA={modular}", f"-DSOTTO_VULKAN={modular}")
    options += ("-DSOTTO_PROXY=OFF",)  # its TLS library has not been linked for Windows
    build(folder, "x86_64-windows", ["sotto", "sotto_scripted", *modules, *programs, *TESTS], *options)
    look_at(folder / "out")
    env = {
        "WINEPREFIX": str(folder / "wine"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "winedbg.exe=d",  # which would wait for somebody where a test crashes
        "WINEPATH": "Z:" + str(folder / "out").replace("/", "\\"),
    }
    # Wine's Vulkan and Direct3D 12 need a display, and its desktop keeps to what it found when it was made.
    with screen() as display:
        return "; ".join([*modules, *under_wine(folder, {**env, "DISPLAY": display})])


def under_wine(folder: Path, env: dict[str, str]) -> list[str]:
    """What was built for Windows, run."""
    programs = folder / "tests" / "windows"
    run([WINE, "cmd", "/c", "ver"], env=env, timeout=300)  # makes what Wine keeps; the tests have less time
    told = [run_tests(folder, [*TESTS, "paths_test", "d3d12_test"], env)]
    late = run([WINE, programs / "delay_host.exe"], env=env, timeout=60)
    if f'"{late}"' not in (ROOT / "include" / "sotto" / "base.h").read_text():
        raise Failed(f"the host that loads the library late read the version {late!r}")
    if is_full():
        spoken = both_speak(run([WINE, programs / "frame_loop.exe", folder / "out" / "house.gguf"], env=env))
        device = run([WINE, programs / "vulkan_test.exe"], env=env, timeout=300)
        told += [f"{spoken} in the C sample", share_d3d12(folder, env)]
        told += [line for line in device.splitlines() if line.startswith("vulkan0 is ")]
    return told
