"""The steps of `tests/check.py`, cheapest first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from . import csharp, fleet, packages, speech, tavern, unity, unity_shim, unreal
from .cross import WINE_NEEDS, check_windows, look_at
from .csharp import check_csharp
from .demo import DEMO
from .diffusion import check_diffusion
from .fleet import check_fleet, check_hosts, check_ray
from .godot import check_godot
from .ground import BUILD, JOBS, PYTHON, ROOT, Failed, Step, ctest, is_full, last_line, run
from .images import check_images
from .matting import check_matting
from .package import check_package, check_wheel, installed
from .packages import check_packages
from .portable import ARM_LIBRARY, check_aarch64, check_glibc, check_tier
from .samples import check_sample
from .server import SERVER
from .speech import check_speech
from .tavern import check_tavern
from .unity import check_unity
from .unity_shim import check_unity_shim
from .unreal import check_unreal

RELEASE = BUILD / "release"
OUT = RELEASE / "out"
TOOLS = PYTHON.parent
LLVMPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
DOCTEST = "/usr/include/doctest/doctest.h"


def tracked(*patterns: str) -> list[str]:
    """Files git knows, or would if they were added."""
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns])
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def check_format() -> str:
    """Formatters decide; linters find nothing."""
    run([TOOLS / "ruff", "format", "--check", "."])
    run([TOOLS / "ruff", "check", "."])
    sources = [name for name in tracked("*.c", "*.cpp", "*.h", "*.hpp") if ".g." not in name]
    run([TOOLS / "clang-format", "--dry-run", "-Werror", *sources])
    return f"{len(sources)} C and C++ files; {last_line(run([PYTHON, 'tests/language.py']))}"


def check_types() -> str:
    """The Python package is typed, strictly, and its types refuse misspelt words."""
    told = last_line(run([TOOLS / "mypy", "python/sotto"]))
    return f"{told}; {refused_by_types()} misspelt words refused"


def refused_by_types() -> int:
    """Checks that mypy refuses each line of tests/types/refused.py that is marked, and no other."""
    file = "tests/types/refused.py"
    lines = (ROOT / file).read_text().splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    script = "import sys; from mypy import api; print(api.run(sys.argv[1:])[0])"
    told = run([PYTHON, "-c", script, file], env={"MYPYPATH": "python"})
    found = {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}
    if found != wanted:
        raise Failed(f"refused: {sorted(found)}, wanted {sorted(wanted)}\n{told}")
    return len(wanted)


def check_generated() -> str:
    """Bindings and generated pages are up to date; the README has the figures of the last reports."""
    run([PYTHON, "tests/bench/readme.py", "--check"])
    run([PYTHON, "unity/Tools~/documentation.py", "--check"])
    return last_line(run([PYTHON, "native/bindgen/emit.py", "--check"]))


def check_docs() -> str:
    """The documentation builds without a warning; `tests/python/test_docs.py` runs its snippets."""
    run([PYTHON, "-m", "pip", "install", "-q", *extra("docs")])
    env = {"NO_MKDOCS_2_WARNING": "1"}
    run([TOOLS / "mkdocs", "build", "-q", "--strict", "-f", "docs/mkdocs.yml", "-d", BUILD / "site"], env=env)
    return f"{sum(1 for _ in (BUILD / 'site').rglob('*.html'))} pages"


def check_layers() -> str:
    """No file includes what its layer may not know; no file or class is too large."""
    return last_line(run([PYTHON, "tests/layers.py"]))


def check_headers() -> str:
    """Each public header alone, in every C and C++ standard; layouts as the bindings have them."""
    return last_line(run([PYTHON, "tests/abi/headers.py"]))


def check_abi() -> str:
    """Today's ABI continues that of the last release."""
    return last_line(run([PYTHON, "tests/abi/abi_check.py"]))


def configure(folder: Path, *options: str) -> None:
    """Configures a native build."""
    long_tests = f"-DSOTTO_LONG_TESTS={'ON' if is_full() else 'OFF'}"
    run(["cmake", "-S", "native", "-B", folder, "-G", "Ninja", "-DSOTTO_TESTS=ON", long_tests, *options])


def build_release() -> str:
    """The library, the llama.cpp module, the scripted backend and the native tests."""
    options = ("-DSOTTO_TIERS=native", "-DSOTTO_VULKAN=OFF", f"-DPython3_EXECUTABLE={PYTHON}")
    together = f"-DSOTTO_UNITY={'OFF' if is_full() else 'ON'}"  # alone, a source must include what it needs
    configure(RELEASE, together, *options)
    run(["cmake", "--build", RELEASE, "-j", JOBS])
    return ", ".join(sorted(path.name for path in OUT.iterdir() if path.is_file()))


def check_symbols() -> str:
    """Exported names are those of the headers; binaries are hardened; licence texts are the sources' own."""
    return "; ".join([look_at(OUT), last_line(run([PYTHON, "native/licences.py", "--check"]))])


def check_native() -> str:
    """C++ tests of the core, of the ABI and of the llama.cpp module."""
    return ctest(RELEASE)


def check_sanitized(kind: str, **env: str) -> str:
    """The core with the scripted backend under sanitizers; with --full the module with tiny models too."""
    folder = BUILD / kind
    # The runtimes take what lies before a loaded library's thread-locals for a header that older glibc had
    # there, where their address is as if: one in 256 is, and then memory at random says how large they are.
    options = {name: f"{value}:intercept_tls_get_addr=0" for name, value in env.items()}
    modules = [f"-DSOTTO_{name}={'ON' if is_full() else 'OFF'}" for name in ("LLAMA", "TLS")]
    configure(folder, *modules, "-DSOTTO_TIERS=native", f"-DSOTTO_SANITIZE={kind}")
    run(["cmake", "--build", folder, "-j", JOBS])
    quick = [] if is_full() else ["-LE", "long"]
    return ctest(folder, *quick, **options)


def check_asan() -> str:
    """AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer."""
    options = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    return check_sanitized("address", **options)


def check_tsan() -> str:
    """ThreadSanitizer."""
    options = f"halt_on_error=1:suppressions={ROOT / 'tests' / 'native' / 'tsan.supp'}"
    return check_sanitized("thread", TSAN_OPTIONS=options)


def check_vulkan() -> str:
    """The house model on ggml's Vulkan backend, on a device that is there without a graphics card."""
    options = ("-DSOTTO_TIERS=native", "-DSOTTO_VULKAN=ON", f"-DPython3_EXECUTABLE={PYTHON}")
    configure(RELEASE, *options)
    names = ("llama_vulkan-native", "diffusion_vulkan-native", "vulkan_count", "no_vulkan", "vulkan_types")
    run(["cmake", "--build", RELEASE, "-j", JOBS, "--target", *(f"sotto_{name}" for name in names)])
    env = {"SOTTO_TEST_LIBRARY": str(OUT), "VK_DRIVER_FILES": LLVMPIPE, "VK_ICD_FILENAMES": LLVMPIPE}
    run([PYTHON, "-m", "pip", "install", "-q", *extra("vulkan"), *extra("images")])
    printed = run([PYTHON, "-m", "pytest", "-q", "-s", ROOT / "tests" / "vulkan"], env=env)
    told = [
        line.lstrip(".") for line in printed.splitlines() if " is llvmpipe" in line or "likeliest" in line
    ]
    drawn = draw_frame(env)
    return "; ".join([look_at(OUT), *told, drawn, last_line(printed)])


def check_gpu() -> str:
    """What tests/gpu/run.sh does on a card, rehearsed: sharing on the double, the rest on the processor."""
    parts = ["--rehearse", "cpu", "--quick", "--parts", "answers,sharing,budget"]
    said = run([PYTHON, "tests/gpu/run.py", *parts, "--build", RELEASE])
    report = json.loads(said[said.index("{") :])
    return f"{report['sharing']['said']}, on the double; {report['rehearsal']}"


def draw_frame(env: dict[str, str]) -> str:
    """The C sample that draws while a character speaks, on a device that it hands over."""
    binary, picture = BUILD / "vulkan_frame", BUILD / "vulkan_frame.png"
    headers = cached(RELEASE, "SOTTO_VULKAN_HEADERS")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", "-isystem", headers]
    libraries = [f"-L{OUT}", "-lsotto", "-l:libvulkan.so.1", f"-Wl,-rpath,{OUT}"]
    run(["cc", *flags, "samples/c/vulkan_frame.c", *libraries, "-o", binary])
    picture.unlink(missing_ok=True)
    said = run([binary, OUT / "house.gguf", picture], env=env, timeout=300)
    if '"rung":"vulkan"' not in said or picture.read_bytes()[:4] != b"\x89PNG":
        raise Failed(said)
    return last_line(said)


def extra(name: str) -> list[str]:
    """What an extra of the package brings."""
    from .ground import requirements

    return [pin for pin in requirements(name) if pin not in requirements()]


def cached(folder: Path, name: str) -> str:
    """A variable of a native build."""
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    return next(line.split("=", 1)[1] for line in lines if line.startswith(f"{name}:"))


def check_python() -> str:
    """The Python tests, against the installed wheel."""
    run([installed(), "-m", "pip", "install", "-q", *test_requirements()])
    env = {"SOTTO_TEST_LIBRARY": str(OUT)}
    tests = ["-m", "pytest", "-q", "-n", JOBS, "--dist", "loadfile", "-rP", ROOT / "tests" / "python"]
    return last_line(run([installed(), *tests], env=env, cwd=BUILD))  # with what they print


def test_requirements() -> Iterable[str]:
    """What the tests import, as pyproject.toml pins it."""
    from .ground import requirements

    wanted = ("pytest", "pyyaml", "jsonschema", "hypothesis", "pyte", "gguf", "xxhash", "opentelemetry-sdk")
    wanted += ("openai", "anthropic", "schemathesis", "pillow", "inferencekey", "simpy")
    pins = [pin for pin in requirements("dev") if pin.startswith(wanted)]
    return [*pins, *extra("plot"), *extra("cuda"), *extra("server"), *extra("agent"), *extra("fleet")]


def check_bench() -> str:
    """What a frame pays for asking: each figure within its limit."""
    said = run([PYTHON, "tests/bench/poll.py", "--json", "--build", RELEASE, "--python", installed()])
    figures = json.loads(said)
    if not figures["ok"]:
        raise Failed(said)
    told = [f"{name} {figures[name]:.3g}" for name in figures["limits"]]
    return ", ".join(told + [within_limits(bench) for bench in ("frames", "many_npcs", "pacing", "budget")])


def within_limits(bench: str) -> str:
    """Runs a bench for moments: each figure within its limit, looser than those of a long run."""
    command = [PYTHON, f"tests/bench/{bench}.py", "--quick", "--json", "--build", RELEASE]
    began, again = time.monotonic(), ""
    try:
        run(command)
    except Failed:
        run(command)  # the machine may have been busy for a moment; what is broken is so each time
        again = " at the second run"
    return f"{bench} within its limits{again}, {time.monotonic() - began:.0f} s"


STEPS = [
    Step("format", "formatters and linters", check_format),
    Step("generated", "generated files are up to date", check_generated),
    Step("layers", "layers, and sizes of files and classes", check_layers),
    Step("docs", "the documentation", check_docs),
    Step("abi", "ABI against the last release", check_abi),
    Step("headers", "headers alone, layouts", check_headers, needs=["g++"]),
    Step("types", "mypy, strict", check_types),
    Step(
        "build",
        "release build",
        build_release,
        needs=["g++", "cmake", "ninja", DOCTEST],
    ),
    Step("symbols", "exported symbols, hardening, licence texts", check_symbols, after=["build"]),
    Step("native", "C++ tests", check_native, after=["build"]),
    Step(
        "asan",
        "core under ASan and UBSan; --full: the module too",
        check_asan,
        needs=["g++", "cmake", "ninja"],
    ),
    Step("tsan", "core under TSan; --full: the module too", check_tsan, needs=["g++", "cmake", "ninja"]),
    Step("sample", "the C samples", check_sample, after=["build"]),
    Step("gpu", "what measures a card, rehearsed", check_gpu, after=["build"]),
    Step(
        "csharp",
        "the Unity package's C# on three runtimes, reloads",
        check_csharp,
        needs=csharp.NEEDS,
        after=["build"],
    ),
    Step("unity", "unusable libraries, the editor's code", check_unity, needs=unity.NEEDS, after=["build"]),
    Step(
        "unreal",
        "the Unreal plugin, on a double of the engine",
        check_unreal,
        needs=unreal.NEEDS,
        after=["build"],
    ),
    Step("tavern", "the tavern's window, under Xvfb", check_tavern, needs=tavern.NEEDS, after=["build"]),
    Step(
        "godot",
        "the Godot addon in a real editor and an exported game",
        check_godot,
        needs=["g++", "cmake", "ninja", "Xvfb", LLVMPIPE],
        after=["build"],
    ),
    Step("wheel", "wheel, in an empty environment", check_wheel, needs=["g++", "cmake", "ninja"]),
    Step("package", "C and C++ programs on the installed library", check_package, after=["build", "wheel"]),
    Step("python", "Python tests", check_python, after=["build", "wheel"]),
    Step("matting", "removal of backgrounds on ONNX Runtime", check_matting, after=["build"]),
    Step("diffusion", "images of tiny models on stable-diffusion.cpp", check_diffusion, after=["build"]),
    Step(
        "speech",
        "models of CTranslate2: they hear, write, embed, translate",
        check_speech,
        needs=speech.NEEDS,
        after=["build"],
    ),
    Step(
        "fleet",
        "the control plane, its clients and the published one",
        check_fleet,
        needs=fleet.NEEDS,
        after=["build"],
    ),
    Step(
        "ray",
        "workloads on a Ray cluster; --full: all its tests",
        check_ray,
        needs=fleet.RAY_NEEDS,
        after=["build"],
    ),
    Step(
        "hosts",
        "the data plane on four hosts: replicas killed, networks cut, reloads",
        check_hosts,
        needs=fleet.HOSTS_NEEDS,
        after=["build"],
        full=True,
    ),
    Step("images", "pipelines of diffusers: images, step by step", check_images, after=["build"]),
    *SERVER,
    Step("bench", "poll, frame and import cost", check_bench, after=["build", "wheel"]),
    DEMO,
    Step(
        "vulkan",
        "the Vulkan module, on llvmpipe",
        check_vulkan,
        needs=["glslc", LLVMPIPE],
        after=["build"],
        full=True,  # ggml's shaders compile for minutes, and ccache cannot keep them
    ),
    Step(
        "tier",
        "tiers of the module, on an old processor",
        check_tier,
        needs=["g++", "cmake", "ninja", "qemu-x86_64"],
        after=["build"],
        full=True,
    ),
    Step(
        "windows",
        "built for Windows, under Wine; --full: the modules too",
        check_windows,
        needs=["g++", "cmake", "ninja", "glslc", DOCTEST, *WINE_NEEDS],
    ),
    Step(
        "unity_shim",
        "Unity's native plugin, on doubles of Unity",
        check_unity_shim,
        needs=unity_shim.NEEDS,
        after=["build", "windows"],
    ),
    Step(
        "packages",
        "every package of a release, made, unpacked and used",
        check_packages,
        needs=packages.NEEDS,
        after=["build", "wheel", "windows"],
    ),
    Step("glibc", "the library for older systems", check_glibc, needs=["cmake", "ninja", DOCTEST], full=True),
    Step(
        "aarch64",
        "built for 64-bit ARM, under QEMU",
        check_aarch64,
        needs=["cmake", "ninja", DOCTEST, "qemu-aarch64", ARM_LIBRARY],
        after=["build"],
        full=True,
    ),
]


def choose(only: list[str] | None) -> list[Step]:
    """All steps (those of --full only with it), or some with everything they come after."""
    if not only:
        return [step for step in STEPS if is_full() or not step.full]
    wanted = set(only)
    for step in reversed(STEPS):
        if step.name in wanted:
            wanted |= set(step.after)
    return [step for step in STEPS if step.name in wanted]
