"""Checks a .uplugin file: its form by a JSON Schema, its modules by the folders."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from checks.ground import Failed

SCHEMA = Path(__file__).with_name("uplugin.schema.json")


def check_descriptor(plugin: Path) -> str:
    """Checks the .uplugin of a plugin. Returns one line of figures; raises Failed."""
    path = only_descriptor(plugin)
    document = json.loads(path.read_text(encoding="utf-8"))
    problems = form(document)
    listed = {module["Name"]: module for module in document.get("Modules", [])}
    for name in sorted(listed.keys() - folders(plugin)):
        problems.append(f"Modules: '{name}' has no Source/{name}/{name}.Build.cs")
    for name in sorted(compiled_folders(plugin) - listed.keys()):
        problems.append(f"Modules: '{name}' has sources, but is not listed")
    if problems:
        raise Failed("\n".join(f"{path.name}: {problem}" for problem in problems))
    return f"{path.name}: {len(listed)} modules"


def only_descriptor(plugin: Path) -> Path:
    """Returns the .uplugin of a plugin's folder. Raises Failed if there is none, or more than one."""
    found = sorted(plugin.glob("*.uplugin"))
    if len(found) != 1:
        raise Failed(f"invalid plugin '{plugin}': expected one .uplugin in it, found {len(found)}")
    return found[0]


def form(document: object) -> list[str]:
    """Returns what the schema finds wrong."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def folders(plugin: Path) -> set[str]:
    """The names of the modules' folders."""
    return {path.parent.name for path in plugin.glob("Source/*/*.Build.cs")}


def compiled_folders(plugin: Path) -> set[str]:
    """The names of the modules that have C++; an external module is not listed in a .uplugin."""
    return {name for name in folders(plugin) if any((plugin / "Source" / name).rglob("*.cpp"))}
