"""A server whose model answers from a script."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import serving
from conftest import SCRIPTED


@contextmanager
def scripted(*arguments: str, **script: Any) -> Iterator[serving.Served]:
    """Starts `sotto serve` with the model `npc`; see tests/native/scripted_backend.cpp for scripts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "script.json")
        file.write_text(json.dumps(script))
        with serving.served("--module-dir", str(SCRIPTED), *arguments, model=f"npc={file}") as running:
            yield running
