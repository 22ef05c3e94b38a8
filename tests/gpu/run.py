"""Builds the module for CUDA, and measures it on this machine's NVIDIA card: one JSON report on stdout.

    tests/gpu/run.sh                        # on a card; takes an hour, most of it compilation
    tests/gpu/run.sh --rehearse vulkan      # without one: the same on a Vulkan device, or on the "cpu"

Tokens a second beside llama-bench of the same build; the card's attributes 135 and 138; what is shared with
a renderer on Vulkan, its frame times in three modes, and slices against their limits; the ledger against what
the driver says of the card's memory; the tests of sharing on the real driver. What ran on a card is kept in
tests/gpu/results; a rehearsal only shows that all of this runs, says so in its report, and is never kept.

Exit status: 0 all within limits; 1 not, or it could not be built; 2 a wrong option; 3 there is nothing here
to run on.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from machine_card import CIG_D3D12, CIG_VULKAN, Driver, Missing, Nvml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "bench")]
NOTHING = 3  # exit status: there is no card
RESULTS = HERE / "results"
TARGETS = ["sotto", "sotto_bench_decode"]
DOUBLES = ["cuda_whole", "sotto_scripted_on_card"]


class Unready(Exception):
    """What measures could not be built."""


def arguments_of() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rehearse", choices=["cpu", "vulkan"], help="on what, in place of a card")
    parser.add_argument("--build", type=Path, help="a native build with tests; not given: build/gpu is made")
    parser.add_argument("--parts", help="some of devices,answers,sharing,speed,budget,frames")
    parser.add_argument("--quick", action="store_true", help="the house model alone, and moments of it")
    parser.add_argument("--architectures", default="native", help="what is compiled for, as CMake has it")
    return parser.parse_args()


def card_here() -> dict[str, Any]:
    """The first card, as its drivers describe it. Raises Missing."""
    driver = Driver()
    driver.check_version()
    nvml = Nvml(driver.uuid())
    return {
        "gpu": nvml.card.name,
        "uuid": nvml.card.uuid,
        "vram": nvml.card.total,
        "driver": nvml.driver(),
        "attribute_135": driver.attribute(CIG_D3D12),
        "attribute_138": driver.attribute(CIG_VULKAN),
    }


def has(*names: str) -> bool:
    """Whether this interpreter has these packages."""
    return all(importlib.util.find_spec(name) for name in names)


def in_our_python(rehearse: str | None) -> None:
    """Goes on in the virtual environment of the checks, unless this interpreter has what is needed."""
    from checks import ground
    from checks.steps import extra

    draws = [] if rehearse == "cpu" else ["vulkan"]
    if Path(sys.prefix).resolve() == ground.VENV.resolve() or has("cffi", "pytest", *draws):
        return
    ground.LOGS.mkdir(parents=True, exist_ok=True)
    try:
        ground.make_venv()
        if draws:
            ground.run([ground.PYTHON, "-m", "pip", "install", "-q", *extra("vulkan")])
    except ground.Failed:
        if has("cffi", "pytest"):
            return  # no network, perhaps; only what draws is missing then
        raise
    os.execv(ground.PYTHON, [str(ground.PYTHON), *sys.argv])


def built(arguments: argparse.Namespace) -> Path:
    """A native build with the module for the device."""
    if arguments.build is not None:
        return Path(arguments.build).resolve()
    kind, folder = arguments.rehearse or "cuda", ROOT / "build" / "gpu"
    options = [f"-DSOTTO_{name}={'ON' if kind == name.lower() else 'OFF'}" for name in ("CUDA", "VULKAN")]
    options += [
        "-DSOTTO_TESTS=ON",
        "-DSOTTO_WERROR=OFF",
        "-DSOTTO_TIERS=native",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    if kind == "cuda":
        options.append(f"-DSOTTO_CUDA_ARCHITECTURES={arguments.architectures}")
    module = "sotto_llama-native" if kind == "cpu" else f"sotto_llama_{kind}-native"
    targets = {*TARGETS, "sotto_llama-native", module}
    targets |= {"cuda_devices_test"} if kind == "cuda" else set(DOUBLES)
    for command in (
        ["cmake", "-S", ROOT / "native", "-B", folder, "-G", "Ninja", *options],
        ["cmake", "--build", folder, "--target", *sorted(targets)],
    ):
        words = [str(word) for word in command]
        if subprocess.run(words, stdout=sys.stderr, check=False).returncode != 0:
            raise Unready(f"{' '.join(words)} failed; its output is above")
    return folder


def show_cublas(build: Path) -> None:
    """Lets cuBLAS be found where it was when the module was built; a game ships it beside the module."""
    found = re.search(r"^SOTTO_CUBLAS_DIR:\w+=(/.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if found is not None:
        paths = [found[1], os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(path for path in paths if path)


def in_use(device: str) -> Any:
    """What says how much of the device's memory is taken; of one that is the processor, the process."""

    def process(engine: Any) -> int:
        system = engine.memory()["system"]
        return int((system["device"] or system)["process"])

    if not device.startswith("cuda"):
        return process
    nvml = Nvml(Driver().uuid())
    return lambda engine: nvml.memory().used


def measured(arguments: argparse.Namespace, build: Path) -> dict[str, Any]:
    """The parts, each whatever becomes of the others."""
    import measure
    from ours import package

    device = {"cpu": "cpu", "vulkan": "vulkan0"}.get(arguments.rehearse, "cuda0")
    run = measure.Run(arguments, build, device, package(build), in_use(device))
    names = arguments.parts.split(",") if arguments.parts else list(measure.PARTS)
    report: dict[str, Any] = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            report[name] = measure.PARTS[name](run)
        except Missing as missing:  # which is nobody's fault here
            report[name] = {"missing": str(missing), "ok": True}
        except Exception:  # told, and the others are run all the same
            report[name] = {"why": traceback.format_exc(), "ok": False}
    return report


def main() -> int:
    """One report. Returns the exit status."""
    arguments = arguments_of()
    report: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    }
    try:
        if arguments.rehearse is None:
            report.update(card_here())
        else:
            report["rehearsal"] = f"on {arguments.rehearse}; nothing of this was measured on a graphics card"
    except Missing as missing:
        print(json.dumps({**report, "ran": False, "ok": False, "missing": str(missing)}, indent=2))
        return NOTHING
    try:
        in_our_python(arguments.rehearse)
        build = built(arguments)
    except Exception as error:  # of pip or a compiler
        print(json.dumps({**report, "ran": False, "ok": False, "why": str(error)[-2000:]}, indent=2))
        return 1
    if arguments.rehearse is None and "SOTTO_SHOWN_CUBLAS" not in os.environ:
        show_cublas(build)  # which the loader reads when a program begins
        os.environ["SOTTO_SHOWN_CUBLAS"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    parts = measured(arguments, build)
    # Limits are a card's. In a rehearsal it is well if each part ran to its end.
    well = [("why" not in part if arguments.rehearse else part["ok"]) for part in parts.values()]
    report.update(parts, ran=arguments.rehearse is None, ok=all(well))
    said = json.dumps(report, indent=2)
    if arguments.rehearse is None:
        RESULTS.mkdir(exist_ok=True)
        day = report["date"][:10]
        (RESULTS / f"{day}-{re.sub('[^a-z0-9]+', '-', report['gpu'].lower())}.json").write_text(said + "\n")
    print(said)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
