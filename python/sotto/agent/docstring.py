"""Reads what a Google-style docstring says of a function and of its parameters."""

from __future__ import annotations

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def read_docstring(function: Any) -> tuple[str, dict[str, str]]:
    """Returns the text before the first section, and a text for each parameter."""
    lines = (inspect.getdoc(function) or "").splitlines()
    section, last, indent = "", "", 0
    said: list[str] = []
    parameters: dict[str, str] = {}
    for line in lines:
        if found := _SECTION.match(line):
            section = found[1]
        elif not section:
            said.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            depth = len(line) - len(line.lstrip())
            if (found := _PARAMETER.match(line)) and (not parameters or depth <= indent):
                last, indent = found[1], depth
                parameters[last] = found[2].strip()
            elif last:
                parameters[last] = f"{parameters[last]} {line.strip()}".strip()
    return " ".join(" ".join(said).split()), parameters
