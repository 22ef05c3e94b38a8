"""Checks results against docs/pages/reference/schemas/results.json."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from conftest import ROOT

SCHEMA = json.loads((ROOT / "docs/pages/reference/schemas/results.json").read_text())


def closed(schema: Any) -> Any:
    """Returns the schema with every object that names its properties closed to others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(one) for name, one in schema.items()}
    return {**found, "additionalProperties": False} if "properties" in found else found


def check(name: str, text: str) -> Any:
    """Checks a result against the schema of that name. Returns the result."""
    result = json.loads(text)
    whole = closed(SCHEMA["$defs"])
    jsonschema.Draft202012Validator({"$defs": whole, "$ref": f"#/$defs/{name}"}).validate(result)
    return result
