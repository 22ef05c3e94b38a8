"""Child process of `sotto models check`: loads a model file and runs it."""

from __future__ import annotations

import json
import os
from typing import Any

from ...engine import Engine
from ...errors import SottoError

_MODEL = "checked"


def run(path: str) -> dict[str, Any]:
    """Loads the model and generates one token. Returns facts of the model and its file size in bytes.

    Raises `SottoError` if the model cannot be loaded or run.
    """
    with Engine(mode="prioritize_compute") as engine:
        try:
            engine.load_model(_MODEL, path=path, options={"parallel": 1})
        except SottoError as error:  # the command names the file itself
            raise type(error)(str(error).removeprefix(f"model '{_MODEL}' ({path}): "), error.status) from None
        engine.llm_text_completion({"model": _MODEL, "prompt": "a", "max_tokens": 1, "temperature": 0})
        details: dict[str, Any] = json.loads(engine.model_list())[0]["details"]
    return {**details, "bytes": os.path.getsize(path)}
