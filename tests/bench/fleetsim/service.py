"""Service times of a node, fitted to kept reports of benchmarks, and the simulated kinds of nodes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "results"
SHARED, OWN, STREAMS = 400, 40, 8  # tokens and streams of many_npcs.py
# Share of a decode step of 8 streams that does not depend on their number: many_npcs.py measures 8 streams
# alone.
STEP_BASE_SHARE = 0.1
# Share of a node's time that prefill has at least while prompts wait. The closed loop of many_npcs.py says
# so: with 0.5 and more the simulated node serves 111 tokens/s of the 113 measured, with 0.25 only 82.
MIN_PREFILL_SHARE = 0.5


@dataclass(frozen=True)
class ServiceTimes:
    """How long work takes on a node that does nothing else, in seconds."""

    prefill_base_s: float  # per request
    prefill_token_s: float
    prefill_depth_s: float  # per token and token of context before it
    step_base_s: float  # per decode step
    step_stream_s: float  # per decode step and stream
    restore_token_s: float  # per token of a KV cache that is read back from host memory

    def prefill_s(self, tokens: int, depth: int) -> float:
        """Time to the first token of a prompt of which `depth` tokens are in the KV cache."""
        end = depth + tokens
        attention = self.prefill_depth_s * (end * end - depth * depth) / 2
        return self.prefill_base_s + self.prefill_token_s * tokens + attention

    def step_s(self, streams: int) -> float:
        """Time of a step that decodes one token of each stream."""
        return self.step_base_s + self.step_stream_s * streams


@dataclass(frozen=True)
class NodeKind:
    """A kind of node with one model."""

    name: str
    model: str
    service: ServiceTimes
    slots: int  # streams that decode at once
    kv_slots: int  # sessions whose KV cache is on the device
    parked_tokens: int  # of sessions whose KV cache is in host memory
    boot_s: float  # from the decision to a node that runs
    load_s: float  # of the model, from a cold disk
    assumed: str  # which of the figures are not measured


def kept(bench: str) -> dict[str, Any]:
    """A benchmark's kept report."""
    return dict(json.loads((RESULTS / f"{bench}.json").read_text(encoding="utf-8")))


def fit(many_npcs: dict[str, Any], budget: dict[str, Any], model: str = "110m") -> ServiceTimes:
    """Solves for the service times of a model.

    Three first tokens give the prefill: 440 unknown tokens and 40 after 400 known ones (many_npcs.py), and
    `unpark.tokens` unknown ones (budget.py). A batch of 8 streams gives the decode step, the resume of a
    parked session the restore.
    """
    found = next(one for one in many_npcs["models"] if one["name"] == model)
    prefix, unpark = found["shared_prefix"], budget["unpark"]
    if unpark["model"] != model:
        raise ValueError(f"invalid model '{model}': the report of budget.py has '{unpark['model']}' alone")
    whole, tokens = SHARED + OWN, unpark["tokens"]
    equations = [  # coefficients of base, token, depth
        (1.0, whole, whole**2 / 2),
        (1.0, OWN, (whole**2 - SHARED**2) / 2),
        (1.0, tokens, tokens**2 / 2),
    ]
    seconds = [prefix["first_ms"] / 1e3, prefix["others_ms"] / 1e3, unpark["prefill_ms"] / 1e3]
    base, token, depth = np.linalg.solve(np.array(equations), np.array(seconds))
    step = STREAMS / found["batched_bench"]["ours_tps"]
    times = ServiceTimes(
        float(base),
        float(token),
        float(depth),
        STEP_BASE_SHARE * step,
        (1 - STEP_BASE_SHARE) * step / STREAMS,
        0.0,
    )
    turn = unpark["remembered"] - tokens
    restore = (unpark["unpark_ms"] / 1e3 - times.prefill_s(turn, tokens)) / tokens
    return replace(times, restore_token_s=max(restore, 0.0))


def cpu_node() -> NodeKind:
    """Two cores with the 110 M model, as benchmarked."""
    return NodeKind(
        name="cpu",
        model="110 M, Q4_0, 2 cores",
        service=fit(kept("many_npcs"), kept("budget")),
        slots=STREAMS,
        kv_slots=STREAMS,
        parked_tokens=(4 << 30) // 36_864,  # 4 GiB; 12 layers of 768 keys and values in f16
        boot_s=60.0,
        load_s=2.0,
        assumed="boot and load time, memory for parked sessions, split of the decode step",
    )


def gpu_node() -> NodeKind:
    """A card of 24 GB and 300 GB/s with a 1 B model. Estimated from its bandwidth, not measured."""
    service = ServiceTimes(
        prefill_base_s=0.010,
        prefill_token_s=1 / 30_000,
        prefill_depth_s=0.0,
        step_base_s=0.006,  # 0.8 GB of weights at 300 GB/s, and launches
        step_stream_s=0.00025,  # 2,200 tokens of 32 kB at 300 GB/s
        restore_token_s=2.7e-6,  # 32 kB at 12 GB/s
    )
    return NodeKind(
        name="gpu",
        model="1 B, Q4_0, one 24 GB card",
        service=service,
        slots=200,
        kv_slots=280,  # 20 GB of KV cache
        parked_tokens=2_000_000,  # 64 GB
        boot_s=120.0,
        load_s=30.0,
        assumed="all service times",
    )


KINDS = {"cpu": cpu_node, "gpu": gpu_node}


def read_kinds(path: Path | None) -> dict[str, NodeKind]:
    """Returns the kinds of nodes, with the figures that a JSON file has of them.

    The file: kind -> fields of NodeKind, of which `service` has fields of ServiceTimes. `assumed` is empty
    then, if the file does not say.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is no JSON object, or has an unknown kind or field, or a negative figure.
    """
    kinds = {name: make() for name, make in KINDS.items()}
    if path is None:
        return kinds
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        entries = {name: dict(entry) for name, entry in given.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"invalid nodes '{path}': expected a JSON object of objects; {error}") from error
    for name, entry in entries.items():
        if name not in kinds:
            raise ValueError(f"invalid nodes.{name}: expected one of {', '.join(kinds)}")
        service = _changed(f"nodes.{name}.service", kinds[name].service, entry.pop("service", {}))
        entry.setdefault("assumed", "")
        kinds[name] = replace(_changed(f"nodes.{name}", kinds[name], entry), service=service, name=name)
        if kinds[name].slots < 1:
            raise ValueError(f"invalid nodes.{name}.slots '{kinds[name].slots}': expected >= 1")
    return kinds


def _changed(where: str, kept: Any, entry: dict[str, Any]) -> Any:
    """Returns a dataclass with some other figures."""
    for field, value in entry.items():
        if not hasattr(kept, field):
            raise ValueError(f"invalid {where}.{field}: expected one of {', '.join(vars(kept))}")
        now = getattr(kept, field)
        fits = isinstance(value, str) if isinstance(now, str) else _fits(value, whole=isinstance(now, int))
        if not fits:
            raise ValueError(f"invalid {where}.{field} '{value}': expected a value as {now!r}, >= 0")
    return replace(kept, **entry)


def _fits(value: Any, whole: bool) -> bool:
    types = int if whole else (int, float)
    return isinstance(value, types) and not isinstance(value, bool) and 0 <= value < math.inf
