"""The step of Unity's native plugin: on doubles of Unity with real devices, from C++ and from C#."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .cross import WINE, WINE_NEEDS, look_at, screen
from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, ctest, run

LLVMPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
DOCTEST = "/usr/include/doctest/doctest.h"
NEEDS = ("g++", "cmake", "ninja", "glslc", "mono", DOCTEST, *WINE_NEEDS)
HERE = ROOT / "tests" / "unity_shim"
FOLDER = BUILD / "unity_shim"
LIBRARIES = BUILD / "release" / "out"
VULKAN_MODULE = LIBRARIES / "sotto_llama_vulkan-native.so"  # the step `vulkan` makes it, with --full
WINDOWS = BUILD / "windows"
VULKAN = {"VK_DRIVER_FILES": LLVMPIPE, "VK_ICD_FILENAMES": LLVMPIPE}
TESTS = ("unity_shim_test", "unity_shim_alone_test", "unity_shim_version_test")
UNUSABLE = {  # folder of a plugin -> what C# says of it
    "missing": "missing plugin 'sotto_unity'",
    "other_abi": "invalid sotto_unity plugin ABI '99'",
    "no_functions": "invalid plugin 'sotto_unity'",
}


def check_unity_shim() -> str:
    """Unity's native plugin: natively, under sanitizers, from C#, and for Windows under Wine."""
    return "; ".join([natively(), sanitized(), from_csharp(), under_wine()])


def build(folder: Path, libraries: Path, *options: str, targets: Sequence[str] = ("all",)) -> None:
    """Builds the plugin and its tests against libraries that are built already."""
    configure = ["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", f"-DSOTTO_LIBRARY_DIR={libraries}"]
    run([*configure, f"-DPython3_EXECUTABLE={PYTHON}", *options])
    run(["cmake", "--build", folder, "-j", JOBS, "--target", *targets])


def natively() -> str:
    """The plugin on llvmpipe: its exports, and its tests. Returns figures."""
    build(FOLDER, LIBRARIES)
    look_at(FOLDER / "out")
    passed = ctest(FOLDER, **VULKAN)
    log = (FOLDER / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace")
    figures = re.findall(r"figure: (.+)", log)
    if not figures:
        raise Failed(f"figures are missing:\n{log}")
    without = "" if VULKAN_MODULE.exists() else "not run: a model on Unity's device (--full)"
    return "; ".join(filter(None, [passed, *figures, without]))


def sanitized() -> str:
    """The same under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer."""
    folder = BUILD / "unity_shim_asan"
    build(folder, LIBRARIES, "-DSOTTO_SANITIZE=address", targets=TESTS)
    leaks = HERE / "leaks.supp"
    env = {"ASAN_OPTIONS": "detect_leaks=1", "LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"}
    return "ASan: " + ctest(folder, **VULKAN, **env)


def from_csharp() -> str:
    """SottoGraphics on the plugin, and where the plugin can't be used."""
    from dotnet.toolchain import compile_cs, run_mono

    program = FOLDER / "csharp" / "Graphics.exe"  # Mono looks for libraries beside a program first
    program.parent.mkdir(exist_ok=True)
    runtime = ROOT / "unity" / "Runtime"
    sources = sorted([*runtime.glob("*.cs"), *(runtime / "Native").glob("*.cs")])  # no components
    compile_cs(program, [HERE / "Graphics.cs", *sources])
    modules = str(LIBRARIES / "scripted")
    paths = f"{FOLDER / 'out'}:{FOLDER}"
    told = [run_mono(program, "present", modules, env={**VULKAN, "LD_LIBRARY_PATH": paths})]
    for folder, expected in UNUSABLE.items():
        env = {"LD_LIBRARY_PATH": str(FOLDER / folder)}
        told.append(run_mono(program, expected, modules, env=env))
    counts = [re.search(r"(\d+) passed, 0 failed", said) for said in told]
    if not all(counts):
        raise Failed("\n".join(told))
    return f"C#: {sum(int(count[1]) for count in counts if count)} passed"


def under_wine() -> str:
    """The plugin for Windows, on Wine's Direct3D 12 and Vulkan."""
    folder = BUILD / "unity_shim_windows"
    toolchain = ROOT / "native" / "cmake" / "zig" / "x86_64-windows.cmake"
    build(folder, WINDOWS / "out", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}")
    look_at(folder / "out")
    env = {
        **VULKAN,
        "WINEPREFIX": str(WINDOWS / "wine"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "winedbg.exe=d",  # which would wait for a person if a test crashes
    }
    with screen() as display:
        env["DISPLAY"] = display
        run([WINE, "cmd", "/c", "ver"], env=env, timeout=300)
        return "Windows: " + ctest(folder, **env)
