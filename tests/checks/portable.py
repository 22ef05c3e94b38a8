"""The steps for other processors, under QEMU: 64-bit ARM, and the oldest x86-64 that there is a tier for."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .cross import TESTS, build, look_at, run_tests
from .ground import BUILD, JOBS, PYTHON, Failed, run

ARM_LIBRARY = "/usr/aarch64-linux-gnu/lib/libc.so.6"
ON_ARM = ("qemu-aarch64", "-L", str(Path(ARM_LIBRARY).parents[1]))
ON_NEHALEM = ("qemu-x86_64", "-cpu", "Nehalem")  # the x86-64 of 2008: no AVX
BASE_TIER, NEXT_TIER = "x86-64-v2", "x86-64-v3"
CHOSEN = re.compile(r"_(avx2|avx512)E")  # in mangled names of functions for some processors
HERE = BUILD / "release" / "out"


def say(program: Path, house: Path, emulator: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """What tests/abi/say.c says of the engine, and what the model writes."""
    printed = run([*emulator, program, house], timeout=300)
    start = max(printed.find("{"), 0)  # after warnings: under an emulator, a step may take long
    described, _, words = printed[start:].partition("\n")
    return json.loads(described), words.strip()


def link_say(libraries: Path, program: Path) -> Path:
    """The program, made for this machine and the libraries of a folder."""
    flags = ["-std=c11", "-Iinclude", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    run(["cc", *flags, "tests/abi/say.c", "-lsotto", "-o", program])
    return program


def same_words(words: str, where: str) -> str:
    """What the model writes on another processor is what it writes on this one."""
    _, ours = say(link_say(HERE, BUILD / "say"), HERE / "house.gguf")
    if not words or words != ours:
        raise Failed(f"{where} the house model writes {words!r}, and here {ours!r}")
    return f"the house model writes {words!r}"


def protected(objects: Path) -> None:
    """Objects have a stack protector, which a stripped library for ARM does not show."""
    symbols = run(["readelf", "--wide", "--symbols", *objects.rglob("*.o")])
    if "__stack_chk_fail" not in symbols:
        raise Failed(f"no stack protector in {objects}")


def check_aarch64() -> str:
    """The library for 64-bit ARM and its module: what they export, and what they do."""
    folder = BUILD / "aarch64"
    build(folder, "aarch64-linux", ["sotto", "sotto_scripted", "sotto_llama-native", "say", *TESTS])
    look_at(folder / "out")
    protected(folder / "CMakeFiles" / "sotto_core.dir")
    passed = run_tests(folder, TESTS, {})
    _, words = say(folder / "tests" / "say", folder / "out" / "house.gguf", ON_ARM)
    return f"{passed}; {same_words(words, 'on ARM')}"


def check_glibc() -> str:
    """The library compiled for an old glibc; `native/release_wheel.py` looks into a whole wheel so."""
    folder = BUILD / "glibc"
    build(folder, "x86_64-linux", ["sotto"], "-DSOTTO_LLAMA=OFF")
    look_at(folder / "out")
    return run([PYTHON, "native/release_wheel.py", "--look", folder / "out" / "libsotto.so"]).strip()


def first_avx(library: Path) -> str | None:
    """The first AVX instruction in a library: their names, and no others of a compiler's, begin with a v.

    Functions that say in their names what they need are left out: the library calls them where it is there.
    """
    command = ["objdump", "-d", "--no-show-raw-insn", library]
    found, chosen = None, False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as objdump:
        assert objdump.stdout is not None
        for line in objdump.stdout:
            if line.endswith(">:\n"):
                chosen = CHOSEN.search(line) is not None
            elif "\tv" in line and not chosen:
                found = line.strip()
                objdump.terminate()
                break
    if found is None and objdump.returncode != 0:
        raise Failed(f"objdump does not know {library}")
    return found


def only_sse(libraries: Path) -> None:
    """What every processor runs has no AVX in it; and what has some is seen to."""
    for name in ("libsotto.so", f"sotto_llama-{BASE_TIER}.so"):
        if found := first_avx(libraries / name):
            raise Failed(f"{name} holds {found!r}")
    if first_avx(libraries / f"sotto_llama-{NEXT_TIER}.so") is None:
        raise Failed(f"no AVX is seen in {NEXT_TIER} either")


def tiers(found: dict[str, Any]) -> tuple[str, list[str]]:
    """The tier that an engine took, and the modules that it passed over with the reason."""
    (llama,) = found["backends"]
    passed_over = [f"{Path(one['path']).stem}: {one['reason']}" for one in found["modules_passed_over"]]
    return llama["details"]["tier"], passed_over


def on_nehalem(libraries: Path) -> str:
    """Of the tiers beside each other the engine takes the base tier, and speaks."""
    found, words = say(link_say(libraries, BUILD / "say_nehalem"), libraries / "house.gguf", ON_NEHALEM)
    wanted = [f"sotto_llama-{NEXT_TIER}: this processor is {BASE_TIER}"]
    if tiers(found) != (BASE_TIER, wanted):
        raise Failed(f"on a Nehalem the engine took {tiers(found)}")
    return same_words(words, "on a Nehalem")


def check_tier() -> str:
    """The tiers beside each other, on an old processor."""
    folder = BUILD / "tier"
    modules = [f"sotto_llama-{tier}" for tier in (BASE_TIER, NEXT_TIER)]
    configure = ["cmake", "-S", "native", "-B", folder, "-G", "Ninja", f"-DPython3_EXECUTABLE={PYTHON}"]
    configure += ["-DSOTTO_TESTS=ON"]  # compiled as in the step "build", so that ccache has it
    run([*configure, f"-DSOTTO_TIERS={BASE_TIER};{NEXT_TIER}"])
    run(["cmake", "--build", folder, "-j", JOBS, "--target", "sotto", *modules])
    only_sse(folder / "out")
    spoken = on_nehalem(folder / "out")
    return f"no AVX in {BASE_TIER}, which a Nehalem takes beside {NEXT_TIER}: {spoken}"
