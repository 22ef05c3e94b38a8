"""Compares the engine's symbols that a plugin uses with the ledger tests/unreal/api.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from .uses import Uses

VERSION = {"type": "string", "pattern": r"^[45]\.\d+$"}
SYMBOL = {
    "type": "object",
    "required": ["kind", "header", "module", "first", "last", "source"],
    "additionalProperties": False,
    "properties": {
        "kind": {"enum": ["class", "enum", "function", "macro", "type", "variable"]},
        "header": {"type": "string", "pattern": r"\.h$"},
        "module": {"type": "string"},
        "first": VERSION,
        "last": VERSION,
        "source": {"enum": ["listing", "hand"]},
        "members": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "opaque": {"const": True},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["about", "minimum", "headers", "symbols"],
    "additionalProperties": False,
    "properties": {
        "about": {"type": "string"},
        "minimum": VERSION,
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "symbols": {"type": "object", "additionalProperties": SYMBOL},
    },
}


@dataclass
class ModuleUses:
    """What a module of the plugin uses, and what its Build.cs allows."""

    name: str  # its Build.cs and the target platform
    uses: Uses
    dependencies: set[str]


class Ledger:
    """The file api.json."""

    def __init__(self, path: Path) -> None:
        self._document = json.loads(path.read_text(encoding="utf-8"))
        self._headers: dict[str, str] = self._document.get("headers", {})
        self._symbols: dict[str, Mapping[str, object]] = self._document.get("symbols", {})

    def problems(self, modules: list[ModuleUses]) -> Iterator[str]:
        """Yields what is wrong with the ledger, or with the plugin by it."""
        errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(self._document))
        if errors:
            yield from (f"api.json: {error.json_path}: {error.message}" for error in errors)
            return
        together = Uses()
        for module in modules:
            together.add(module.uses)
            yield from self._module(module)
        yield from self._missing(together)
        yield from self._unused(together)
        yield from self._versions()

    def figures(self) -> str:
        """Counts the entries."""
        members = sum(len(one.get("members", [])) for one in self._symbols.values())  # type: ignore[arg-type]
        listed = sum(one["source"] == "listing" for one in self._symbols.values())
        symbols = f"{len(self._symbols)} symbols with {members} members, {listed} of them in the 5.6 listing"
        return f"{symbols}, {len(self._headers)} headers"

    def _missing(self, uses: Uses) -> Iterator[str]:
        for name, use in sorted(uses.symbols.items()):
            entry = self._symbols.get(name)
            if entry is None:
                where = f"{use.kind}, {use.header} in the double"
                yield f"api.json: symbols: '{name}' ({where}) is used, but not listed"
                continue
            if use.defined and entry.get("header") != use.header:
                where = f"'{entry.get('header')}', but the double declares it in '{use.header}'"
                yield f"api.json: symbols.{name}.header: {where}"
            for member in sorted(use.members - set(entry.get("members", []))):  # type: ignore[arg-type]
                yield f"api.json: symbols.{name}.members: '{member}' is used, but not listed"
        for header in sorted(uses.headers - self._headers.keys()):
            yield f"api.json: headers: '{header}' is included, but not listed"

    def _unused(self, uses: Uses) -> Iterator[str]:
        for name, entry in sorted(self._symbols.items()):
            use = uses.symbols.get(name)
            if use is None:
                yield f"api.json: symbols: '{name}' is listed, but not used"
                continue
            for member in sorted(set(entry.get("members", [])) - use.members):  # type: ignore[call-overload]
                yield f"api.json: symbols.{name}.members: '{member}' is listed, but not used"
        for header in sorted(self._headers.keys() - uses.headers):
            yield f"api.json: headers: '{header}' is listed, but not included"

    def _module(self, module: ModuleUses) -> Iterator[str]:
        """Every module whose symbols or headers are used is in the Build.cs."""
        needed: dict[str, str] = {}
        for header in sorted(module.uses.headers & self._headers.keys()):
            needed.setdefault(self._headers[header], f"includes '{header}'")
        for name in sorted(module.uses.symbols.keys() & self._symbols.keys()):
            if not self._symbols[name].get("opaque"):
                needed.setdefault(str(self._symbols[name]["module"]), f"uses '{name}'")
        for wanted, reason in sorted(needed.items()):
            if wanted not in module.dependencies:
                yield f"{module.name}: '{wanted}' is missing; the module {reason}"

    def _versions(self) -> Iterator[str]:
        minimum = str(self._document["minimum"])
        for name, entry in self._symbols.items():
            first, last = str(entry["first"]), str(entry["last"])
            if _number(first) > _number(minimum):
                yield f"api.json: symbols.{name}: first known in {first}, but the plugin is for {minimum} on"
            if _number(last) < _number(minimum):
                yield f"api.json: symbols.{name}: last known in {last}, but the plugin is for {minimum} on"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
