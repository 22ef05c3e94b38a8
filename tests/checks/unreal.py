"""The Unreal plugin: compiled by three compilers against a double of the engine, and run with sanitizers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, is_full, run

HERE = ROOT / "tests" / "unreal"
PLUGIN = ROOT / "unreal" / "Sotto"
FOLDER = BUILD / "unreal"
LIBRARY = BUILD / "release" / "out"
LLVMPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
DOCTEST = "/usr/include/doctest/doctest.h"
NEEDS = ("clang++-14", "g++", "mono", "mcs", "npm", DOCTEST, LLVMPIPE)  # of ground.SYSTEM
FLAGS = ("-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fno-exceptions", "-fno-rtti")
GUIDE = ROOT / "docs" / "pages" / "guide" / "unreal.md"
ASAN = "detect_leaks=1:intercept_tls_get_addr=0:detect_stack_use_after_return=1"


def build(name: str, *options: str) -> Path:
    """Configures and builds the plugin, and returns the folder."""
    folder = FOLDER / name
    run(["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", f"-DPython3_EXECUTABLE={PYTHON}", *options])
    run(["cmake", "--build", folder, "-j", JOBS])
    return folder


def compile_all() -> str:
    """Compiles with gcc and sanitizers, with clang for Unreal 5.8, and with zig for Windows.

    The latter two compile all sources of a module together, as Unreal's unity builds do; gcc six at a time,
    and with --full each alone.
    """
    some = f"-DSOTTO_UNREAL_TOGETHER={1 if is_full() else 6}"
    build("gcc", "-DCMAKE_CXX_COMPILER=g++", "-DSOTTO_UNREAL_SANITIZE=address,undefined", some)
    together = ("-DSOTTO_UNREAL_RUN=OFF", "-DSOTTO_UNREAL_TOGETHER=0")
    newer = "-DSOTTO_UNREAL_MINOR=8"  # which deprecates what older versions need
    build("clang", "-DCMAKE_CXX_COMPILER=clang++-14", newer, *together)
    windows = ROOT / "native" / "cmake" / "zig" / "x86_64-windows.cmake"
    build("windows", f"--toolchain={windows}", *together)
    count = len([*PLUGIN.rglob("*.cpp")])
    return f"{count} files by gcc, clang and zig for Windows"


def passed(printed: str) -> int:
    """Returns the number of assertions that passed. Raises Failed if no case ran, or one failed."""
    cases = re.search(r"test cases: +(\d+) \| +(\d+) passed \| +0 failed", printed)
    assertions = re.search(r"assertions: +(\d+)", printed)
    if cases is None or cases[1] == "0" or cases[1] != cases[2] or assertions is None:
        raise Failed(f"no test case ran, or one failed:\n{printed}")
    return int(assertions[1])


def run_tests() -> str:
    """Runs the tests on the real library and the house model. Returns their figures."""
    gcc = FOLDER / "gcc"
    encoders = FOLDER / "encoders"
    run([PYTHON, ROOT / "tests" / "data" / "tiny_encoder.py", encoders])
    env = {
        "SOTTO_TEST_LIBRARY": str(LIBRARY),
        "SOTTO_UNREAL_WORK": str(FOLDER / "project"),
        "SOTTO_UNREAL_PLUGIN": str(PLUGIN),
        "SOTTO_UNREAL_ENCODER": str(encoders / "encoder.gguf"),
        "SOTTO_UNREAL_OTHER_LIBRARY": str(gcc / "libother_library.so"),
        "ASAN_OPTIONS": ASAN,
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    core = passed(run([gcc / "core_test"], env=env, timeout=60))
    played = run([gcc / "unreal_test", "-tse=vulkan"], env=env, timeout=300)
    # Mesa's compiler leaks.
    vulkan = {"SOTTO_UNREAL_RHI": "vulkan", "VK_DRIVER_FILES": LLVMPIPE, "VK_ICD_FILENAMES": LLVMPIPE}
    vulkan["ASAN_OPTIONS"] = ASAN.replace("detect_leaks=1", "detect_leaks=0")
    shared = run([gcc / "unreal_test", "-ts=vulkan"], env={**env, **vulkan}, timeout=120)
    told = re.findall(r"stop: median .*", played)
    count = core + passed(played) + passed(shared)
    return f"{count} assertions under ASan and UBSan; 100 plays: {'; '.join(told)}"


def compile_guide() -> str:
    """Compiles the C++ files of the guide against the double."""
    folder = FOLDER / "guide"
    folder.mkdir(parents=True, exist_ok=True)
    files = re.findall(r'^```c\+\+ title="(\S+)"\n(.*?)^```$', GUIDE.read_text(), re.M | re.S)
    for name, code in files:
        (folder / name).write_text(code)
    run([PYTHON, HERE / "double" / "generate.py", folder / "generated", PLUGIN / "Source", folder])
    places = [folder, folder / "generated", HERE / "double" / "include", ROOT / "include"]
    places.append(PLUGIN / "Source" / "SottoRuntime" / "Public")
    sources = [folder / name for name, _ in files if name.endswith(".cpp")]
    if not sources:
        raise Failed(f"{GUIDE} has no C++ file")
    run(["g++", *FLAGS, "-fsyntax-only", *(f"-I{place}" for place in places), *sources])
    return f"{len(files)} files of the guide"


def check_unreal() -> str:
    """Compiles and runs the plugin, and checks its headers, its Build.cs and the symbols that it uses."""
    sys.path.insert(0, str(HERE))
    import tools  # type: ignore[import-not-found]

    told = [compile_all(), compile_guide(), run_tests()]
    told += [tools.check_headers(), tools.check_build_rules(), tools.check_api()]
    return "; ".join(told)
