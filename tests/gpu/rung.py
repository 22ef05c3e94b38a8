"""Tells which rung a test took; the check prints these lines."""

from __future__ import annotations

import os
from typing import Any


def tell_rung(gpu: dict[str, Any]) -> None:
    """Prints `rung: <test>: <rung>: <why no closer one>` of an engine's description of its card."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].rpartition(" ")[0]
    why = "; ".join(f"not {one['rung']}: {one['reason']}" for one in gpu["not_taken"])
    print(f"rung: {test}: {gpu['rung']}" + (f": {why}" if why else ""))


def attach(engine: Any, renderer: Any, **how: Any) -> str:
    """Hands a renderer to an engine, which takes it. Returns the rung."""
    rung = engine.attach_gpu(renderer, **how)
    tell_rung(engine.describe()["gpu"])
    return str(rung)
