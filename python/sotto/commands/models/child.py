"""What opens an untrusted file for `sotto models check`: if a parser crashes, this process does."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from ...engine import Engine
from ...errors import ArgumentError, SottoError

_MODEL = "checked"


def main(path: str) -> None:
    """Prints one JSON object."""
    _no_core_dump()
    try:
        print(json.dumps({"verdict": "sound", "why": "", "details": examine(path)}))
    except (SottoError, ArgumentError) as error:
        print(json.dumps({"verdict": "refused", "why": str(error), "details": {}}))


def examine(path: str) -> dict[str, Any]:
    """Loads the model and has it say a word. Raises what is wrong with it."""
    with Engine(mode="prioritize_compute") as engine:
        engine.load_model(_MODEL, path=path, options={"parallel": 1})
        engine.llm_text_completion({"model": _MODEL, "prompt": "a", "max_tokens": 1, "temperature": 0})
        details: dict[str, Any] = json.loads(engine.model_list())[0]["details"]
    return {**details, "bytes": os.path.getsize(path)}


def _no_core_dump() -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(sys.argv[1])
