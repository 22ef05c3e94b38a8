"""`portable()`: the JSON schema of a server, reduced to what engines take and what is quick to check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError
from ..shape import Schema

_TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")
_MOST_NODES = 512
_MOST_DEPTH = 12
_MOST_MEMBERS = 128
_MOST_VALUES = 128
_LONGEST = 300  # characters of a description, a value or a name


def portable(schema: Any) -> Schema:
    """Returns a schema that allows at least what the given one does: the server checks the rest itself.

    References are replaced by what they refer to. Patterns, negations and conditions are left out: the first
    can take hours to match, and not every engine can constrain decoding to them.

    Raises:
        ArgumentError: The schema is not that of an object, or has more than 128 members.
    """
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise ArgumentError("its inputSchema is not the JSON schema of an object")
    made = _Reduction(schema).reduced(schema, (), 0)
    made["type"] = "object"
    made.setdefault("properties", {})
    for key in made.keys() - {"type", "properties", "required", "additionalProperties"}:
        del made[key]
    return made


class _Reduction:
    """Reduces one schema. `root` is the document that its references point into."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def reduced(self, schema: Any, within: tuple[str, ...], depth: int) -> Schema:
        self._nodes += 1
        if not isinstance(schema, Mapping) or depth > _MOST_DEPTH or self._nodes > _MOST_NODES:
            return {}
        if isinstance(target := schema.get("$ref"), str):
            found = None if target in within else self._at(target)
            return self.reduced(found, (*within, target), depth + 1)
        every = schema.get("allOf")
        if isinstance(every, list) and len(every) == 1 and isinstance(every[0], Mapping):
            return self.reduced(
                {**{k: v for k, v in schema.items() if k != "allOf"}, **every[0]}, within, depth + 1
            )
        made: Schema = {}
        if isinstance(about := schema.get("description"), str):
            made["description"] = line(about, _LONGEST)
        if values := _values(schema):
            return {**made, "enum": values}
        for key in ("anyOf", "oneOf"):
            if isinstance(options := schema.get(key), list) and 0 < len(options) <= 16:
                return {**made, "anyOf": [self.reduced(one, within, depth + 1) for one in options]}
        kinds = _kinds(schema)
        if not kinds:
            return made
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
        if kinds == ["object"]:
            made |= self._members(schema, within, depth)
        elif kinds == ["array"]:
            if isinstance(items := schema.get("items"), Mapping):
                made["items"] = self.reduced(items, within, depth + 1)
            made |= _bounds(schema, "minItems", "maxItems", 0)
        elif kinds == ["string"]:
            made |= _bounds(schema, "minLength", "maxLength", 0)
        elif kinds == ["integer"]:
            made |= _bounds(schema, "minimum", "maximum", None)
        return made

    def _members(self, schema: Mapping[str, Any], within: tuple[str, ...], depth: int) -> Schema:
        given = schema.get("properties")
        given = given if isinstance(given, Mapping) else {}
        if len(given) > _MOST_MEMBERS:
            raise ArgumentError(f"its inputSchema has {len(given)} members: expected at most {_MOST_MEMBERS}")
        kept = {str(name): one for name, one in given.items() if one is not False}
        made: Schema = {
            "properties": {name: self.reduced(one, within, depth + 1) for name, one in kept.items()}
        }
        required = schema.get("required")
        if isinstance(required, list):
            made["required"] = [name for name in kept if name in required]
        more = schema.get("additionalProperties")
        if more is False and "patternProperties" not in schema:
            made["additionalProperties"] = False
        elif isinstance(more, Mapping) and not kept:
            made["additionalProperties"] = self.reduced(more, within, depth + 1)
        return made

    def _at(self, target: str) -> Any:
        """Returns the part of the document that a reference names; None: it names nothing."""
        if not target.startswith("#"):
            return None
        found: Any = self._root
        for part in target[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = found[name]
        return found


def line(text: str, most: int) -> str:
    """Returns a text of others on one line, without control characters, cut."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return plain if len(plain) <= most else f"{plain[: most - 3]}..."


def _values(schema: Mapping[str, Any]) -> list[Any]:
    """Returns the values that `const` or `enum` allow; none: there are no such keywords, or they are odd."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_VALUES:
        return []
    for one in values:
        if isinstance(one, float) and not math.isfinite(one):
            return []
        if not (one is None or isinstance(one, bool | int | float | str)) or len(str(one)) > _LONGEST:
            return []
    return list(values)


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("type")
    if given is None and isinstance(schema.get("properties"), Mapping):
        given = "object"
    kinds = [given] if isinstance(given, str) else given
    if not isinstance(kinds, list) or not all(one in _TYPES for one in kinds):
        return []
    return list(dict.fromkeys(kinds))


def _bounds(schema: Mapping[str, Any], low: str, high: str, floor: int | None) -> Schema:
    """Returns the bounds that are integers, and none if no value is within them."""
    found = {}
    for key in (low, high):
        value = schema.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 53:
            continue
        if floor is None or value >= floor:
            found[key] = value
    return found if found.get(low, -math.inf) <= found.get(high, math.inf) else {}
