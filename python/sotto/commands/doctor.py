"""`sotto doctor`: reports the hardware, the backends, and each skipped backend module with the reason."""

from __future__ import annotations

import argparse
import platform
from typing import Any

from .. import __version__
from .._lib import library_folder
from ..engine import Engine
from ..gpu import gpus, why_none
from ..memory import Memory
from . import machine, screen
from .text import size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `sotto doctor` to `parser`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--gpu", action="store_true", help="ask the drivers too: cards, and what they can share"
    )


def examine(*, gpu: bool = False) -> dict[str, Any]:
    """Returns the report of `sotto doctor`. `gpu`: queries the GPU drivers too."""
    with Engine() as engine:
        found, memory = engine.describe(), engine.memory()
    house = library_folder() / "house.gguf"
    report = {
        "sotto_version": __version__,
        "library": str(library_folder()),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": {**found["cpu"], "name": machine.processor_name()},
        "memory_bytes": machine.memory_bytes(),
        "devices": [{"name": "cpu", "used": True, "memory": _memory(memory)}],
        "cards": memory["cards"],
        "backends": found["backends"],
        "modules_passed_over": found["modules_passed_over"],
        "house_model": {"path": str(house), "bytes": house.stat().st_size if house.exists() else None},
    }
    if gpu:
        cards = gpus()
        report["gpus"] = [card._asdict() for card in cards]
        report["gpus_reason"] = "" if cards else why_none()
    return report


def _memory(told: Memory) -> dict[str, int]:
    """Returns a device's total and available memory, and the default budget of an engine, in bytes."""
    system = told["system"]
    available = system["available"] if system else machine.available_bytes()
    return {
        "total": system["total"] if system else machine.memory_bytes(),
        "available": available,
        "granted": told["budget"] or available,
    }


def run(arguments: argparse.Namespace) -> int:
    """Prints the report. Returns 1 if there are no backends to run a model, else 0."""
    report = examine(gpu=arguments.gpu)
    if arguments.json:
        screen.say(screen.dump(report))
    else:
        show(report)
    return 0 if report["backends"] else 1


def show(report: dict[str, Any]) -> None:
    """Prints a report as a table."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(style="bold")
    processor = report["processor"]
    table.add_row("sotto", f"{report['sotto_version']}, Python {report['python']}, {report['system']}")
    table.add_row(
        "processor",
        f"{processor['name']}: x86-64-v{processor['x86_64_level']}, {processor['cores']} cores to use",
    )
    for device in report["devices"]:
        memory = {name: size(count) for name, count in device["memory"].items()}
        table.add_row(
            "memory",
            f"{device['name']}: {memory['total']}, of which {memory['available']} are available; "
            f"granted to an engine without a budget: {memory['granted']}",
        )
    for card in report["cards"]:
        table.add_row(
            "", f"{card['name']}: {size(card['total'])}, of which {size(card['available'])} are available"
        )
    for backend in report["backends"]:
        details = backend["details"]
        table.add_row(
            "backend", f"{backend['name']}: {details.get('version', '')}, tier {details.get('tier', '-')}"
        )
    for module in report["modules_passed_over"]:
        table.add_row("passed over", f"{module['path']}: {module['why']}")
    if not report["backends"]:
        table.add_row("backend", "[red]none: no model can run. Is the package whole? Reinstall it.[/red]")
    for card in report.get("gpus", []):
        _show_card(table, card)
    if report.get("gpus_reason"):
        table.add_row("gpu", f"none that CUDA knows: {report['gpus_reason']}")
    on_cuda = [backend["name"] for backend in report["backends"] if "cuda" in backend["uses"]]
    if report.get("gpus") and not on_cuda:
        table.add_row("", "no backend of this build computes there: models run on the processor")
    house = report["house_model"]
    table.add_row("house model", house["path"] if house["bytes"] else f"[red]missing: {house['path']}[/red]")
    screen.console().print(table)


def _show_card(table: Any, card: dict[str, Any]) -> None:
    """Adds the rows of one GPU: memory, CUDA version, and the graphics APIs that support CiG on it."""
    capability = f"{card['capability'] // 10}.{card['capability'] % 10}"
    table.add_row(
        "gpu", f"{card['name']}: {size(card['vram'])}, CUDA {card['driver']}, compute capability {capability}"
    )
    for api, label in (("d3d12", "Direct3D 12"), ("vulkan", "Vulkan")):
        can = card[f"cig_{api}"]
        table.add_row("", f"CiG with {label}: {'yes' if can else 'no: ' + card[f'cig_{api}_reason']}")
