"""Runs a script with the modules that it imports replaced, and prints its variable `result` as JSON.

`run_script.py SCRIPT MODEL [ITS=OURS ...]`: `import ITS` and `from ITS import` become those of OURS. The
script reads the path of the model from `sys.argv[1]`. Runs in the Python of either side.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any


def replaced(text: str, modules: dict[str, str]) -> str:
    """Returns a script that imports other modules instead."""
    for its, ours in modules.items():
        text = re.sub(rf"^(\s*)from {re.escape(its)} import", rf"\1from {ours} import", text, flags=re.M)
        text = re.sub(rf"^(\s*)import {re.escape(its)}$", rf"\1import {ours} as {its}", text, flags=re.M)
    return text


def plain(value: Any) -> Any:
    """Returns what JSON has no word for as something that it has."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if hasattr(value, "tolist"):  # numpy's
        return value.tolist()
    return repr(type(value))


def result(script: Path, model: str, modules: dict[str, str]) -> Any:
    """Runs a script, and returns its result, or the class and text of the error that ended it."""
    sys.argv = [str(script), model]
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(script)}
    try:
        exec(compile(replaced(script.read_text(encoding="utf-8"), modules), str(script), "exec"), names)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    return names.get("result")


def main() -> None:
    """Keeps standard output for the result alone: libraries and scripts may print."""
    script, model, *pairs = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    found = result(Path(script), model, dict(pair.split("=", 1) for pair in pairs))
    out.write(json.dumps(found, default=plain))
    out.flush()


if __name__ == "__main__":
    main()
