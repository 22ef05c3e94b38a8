"""The report as a JSON object and as Markdown for an issue. Contains no personal data."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import PurePath
from typing import Any

from ... import __version__
from ..._hub import HOUSE, parse
from .. import machine
from ..text import amount, size

FORMAT = 1
BUSY = 0.25  # load average per core above which the figures are unreliable


_CARD = ("metadata", "chat_templates", "special_tokens")  # long, and the same in every report of a model


def about(described: dict[str, Any], entry: dict[str, Any], model: str, load_s: float) -> dict[str, Any]:
    """Returns the head of the report: date, versions, machine and model.

    Args:
        described: result of `Engine.describe()`.
        entry: entry of the model in the model list.
        model: id or path of the model.
        load_s: load time of the model in seconds.
    """
    backend = next(one for one in described["backends"] if one["name"] == entry["backend"])
    return {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "sotto": {
            "version": __version__,
            "backend": backend["name"],
            "backend_version": backend["details"].get("version"),
            "tier": backend["details"].get("tier"),
        },
        "machine": {
            "processor": machine.processor_name(),
            "x86_64_level": described["cpu"]["x86_64_level"],
            "cores": described["cpu"]["cores"],
            "memory_bytes": machine.memory_bytes(),
            "system": machine.system_name(),
            "kernel": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "governor": machine.governor(),
            "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        },
        "model": {
            "id": public_name(model),
            **{name: value for name, value in entry["details"].items() if name not in _CARD},
            "context": entry["context"],
            "streams": entry["streams"],
            "bytes": entry["bytes"],
            "load_s": round(load_s, 3),
        },
    }


def public_name(model: str) -> str:
    """Returns the model's id, or only the file name if it is a path on this machine."""
    known = model == HOUSE or (parse(model) is not None and not os.path.exists(model))
    return model if known else PurePath(model).name


def markdown(report: dict[str, Any]) -> str:
    """Formats the report as Markdown."""
    lines = [f"# sotto bench: {report['model']['id']}", ""]
    lines += _table([("", ""), *_facts(report)])
    lines += ["", "Reading a prompt:", ""]
    reading = [(f"{row['prompt_tokens']} tokens", f"{row['tps']:,.0f} tokens/s") for row in report["prefill"]]
    lines += _table([("prompt", "speed"), *reading])
    lines += ["", "Writing:", ""]
    writing = [(_streams(row), f"{row['tps']:,.1f} tokens/s") for row in report["decode"]]
    lines += _table([("streams", "speed, all together"), *writing])
    lines += ["", f"Paced speech, {report['pacing'][0]['target_tps']:g} tokens/s asked for:", ""]
    lines += _table(
        [("streams", "tokens/s each", "error of a gap, mean", "p95"), *map(_paced, report["pacing"])]
    )
    lines += ["", "A game of 8 ms a frame at 60 FPS, alone and with 4 characters that speak:", ""]
    head = ("", "frames missed", "frame ms p50", "p95", "p99", "spoken")
    lines += _table([head, *map(_framed, report["frames"])])
    lines += ["", _how(report)]
    return "\n".join(lines) + "\n"


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    sotto, here, model = report["sotto"], report["machine"], report["model"]
    level = f", x86-64-v{here['x86_64_level']}" if here["x86_64_level"] else ""
    governor = f", governor {here['governor']}" if here["governor"] else ""
    load = "" if here["load_average"] is None else f", load {here['load_average']:g} before"
    parameters = amount(model.get("parameters", 0))
    weights, kv, compute = (model["bytes"][kind] for kind in ("weights", "kv", "compute"))
    return [
        (
            "sotto",
            f"{sotto['version']}, {sotto['backend_version'] or sotto['backend']}, tier {sotto['tier']}",
        ),
        ("processor", f"{here['processor']}{level}, {here['cores']} cores to use{governor}{load}"),
        ("memory", size(here["memory_bytes"])),
        ("system", f"{here['system']}, {here['kernel']}, Python {here['python']}"),
        (
            "model",
            f"{model.get('architecture', '?')}, {parameters} parameters, {model.get('quantization', '?')}, "
            f"{model['streams']} streams of {model['context']}, loaded in {model['load_s']:.2f} s",
        ),
        ("takes", f"weights {size(weights)}, keys and values {size(kv)}, compute {size(compute)}"),
    ]


def _paced(row: dict[str, Any]) -> tuple[str, ...]:
    error = row["gap_error_ms"]
    if error["mean"] is None:
        return _streams(row), "too slow to tell", "", ""
    return _streams(row), f"{row['tps']:.2f}", f"{error['mean']:.1f} ms", f"{error['p95']:.1f} ms"


def _framed(row: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{row['frame_ms'][name]:.1f}" for name in ("p50", "p95", "p99"))
    spoken = f"{row['tps']:.0f} tokens/s" if row["game"] != "alone" else ""
    return (row["game"], f"{row['missed_pct']:.2f} %", *times, spoken)


def _streams(row: dict[str, Any]) -> str:
    return str(row["streams"])


def _how(report: dict[str, Any]) -> str:
    kind = "`sotto bench --quick`" if report["quick"] else "`sotto bench`"
    runs, load, cores = report["runs"], report["machine"]["load_average"], report["machine"]["cores"]
    said = f"Medians of {runs['speed']} runs, of the game: {runs['game']}. {report['date']}, {kind}."
    if load is not None and load > BUSY * cores:
        said += f" **The machine was busy before (load {load:g} on {cores} cores).**"
    return said


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]
