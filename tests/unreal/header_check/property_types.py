"""Which C++ types properties and Blueprint graphs can hold."""

from __future__ import annotations

import re
from typing import Any

from clang.cindex import TypeKind

from .model import Module
from .reader import is_object_class

BLUEPRINT_NUMBERS = {
    TypeKind.BOOL,
    TypeKind.UCHAR,
    TypeKind.INT,
    TypeKind.LONG,
    TypeKind.LONGLONG,
    TypeKind.FLOAT,
    TypeKind.DOUBLE,
}
NUMBERS = BLUEPRINT_NUMBERS | {
    TypeKind.SCHAR,
    TypeKind.SHORT,
    TypeKind.USHORT,
    TypeKind.UINT,
    TypeKind.ULONG,
    TypeKind.ULONGLONG,
}
INSTEAD = {
    TypeKind.SCHAR: "uint8",
    TypeKind.CHAR_S: "uint8",
    TypeKind.SHORT: "int32",
    TypeKind.USHORT: "int32",
    TypeKind.UINT: "int64",
    TypeKind.ULONG: "int64",
    TypeKind.ULONGLONG: "int64",
}
CONTAINERS = {"TArray", "TSet", "TMap"}
HANDLES = {
    "TObjectPtr",
    "TSubclassOf",
    "TSoftObjectPtr",
    "TSoftClassPtr",
    "TScriptInterface",
    "TWeakObjectPtr",
    "TEnumAsByte",
}
PROPERTY_ONLY = {"TLazyObjectPtr", "TOptional", "TFieldPath"}


def strip(kind: Any) -> Any:
    """The type without reference."""
    return kind.get_pointee() if kind.kind in (TypeKind.LVALUEREFERENCE, TypeKind.RVALUEREFERENCE) else kind


def spelled(kind: Any) -> str:
    """The type as a reader writes it: no reference, const, class keyword or scope."""
    text = re.sub(r"\b(const|class|struct|enum) ", "", strip(kind).spelling)
    return text.removesuffix("&").strip()


def arguments(kind: Any) -> list[Any]:
    """The type arguments of a template."""
    count = kind.get_num_template_arguments()
    listed = [kind.get_template_argument_type(index) for index in range(max(count, 0))]
    return [one for one in listed if one.kind is not TypeKind.INVALID]


def template(kind: Any) -> str:
    """The name of the template that a type comes from, or an empty string."""
    declared = strip(kind).get_canonical().get_declaration()
    return declared.spelling if arguments(strip(kind).get_canonical()) else ""


def problem(module: Module, kind: Any, *, blueprint: bool, inside: str = "") -> str | None:
    """Returns why a property can't have a type, or None. `inside`: the container around it."""
    kind = strip(kind)
    name, canonical = spelled(kind), kind.get_canonical()
    if name in module.signatures:
        return None
    if canonical.kind in NUMBERS | INSTEAD.keys():
        if canonical.kind in BLUEPRINT_NUMBERS or not (blueprint or canonical.kind not in NUMBERS):
            return None
        return f"type '{name}' is unknown to Blueprint; use {INSTEAD[canonical.kind]}"
    if canonical.kind is TypeKind.ENUM:
        return _enum(module, canonical, blueprint)
    if canonical.kind is TypeKind.POINTER:
        if is_object_class(canonical.get_pointee().get_declaration()):
            return None
        return (
            f"type '{name}' is a pointer to something that is no UObject; use a handle, an index or a struct"
        )
    if canonical.kind is TypeKind.RECORD:
        return _record(module, kind, blueprint, inside)
    return f"type '{name}' can't be a property"


def _enum(module: Module, canonical: Any, blueprint: bool) -> str | None:
    name = canonical.get_declaration().spelling
    known = module.enumeration(name)
    if known is None:
        return None  # the engine's
    if known.specifiers is None:
        return f"enum '{name}' has no UENUM()"
    if blueprint and not known.specifiers.has("BlueprintType"):
        return f"enum '{name}' is not BlueprintType"
    return None


def _record(module: Module, kind: Any, blueprint: bool, inside: str) -> str | None:
    canonical = kind.get_canonical()
    declared = canonical.get_declaration()
    name = declared.spelling
    if declared.semantic_parent.spelling == "std" or "std::" in canonical.spelling.split("<")[0]:
        return f"type '{spelled(kind)}' is of the C++ standard library; use Unreal's own"
    if listed := arguments(canonical):
        return _template(module, kind, name, blueprint, inside)
    if is_object_class(declared):
        return f"class '{name}' is held by value; use TObjectPtr<{name}>"
    known = module.record(name)
    if known is None or listed:
        return None  # the engine's
    if not known.reflected_as("USTRUCT"):
        return f"struct '{name}' has no USTRUCT()"
    assert known.specifiers is not None
    if blueprint and not known.specifiers.has("BlueprintType"):
        return f"struct '{name}' is not BlueprintType"
    return None


def _template(module: Module, kind: Any, name: str, blueprint: bool, inside: str) -> str | None:
    if name in CONTAINERS:
        if inside:
            return f"'{name}' stands inside '{inside}'; containers of containers need a USTRUCT between"
        listed = arguments(kind) if arguments(kind) else arguments(kind.get_canonical())
        wanted = 2 if name == "TMap" else 1
        found = (problem(module, one, blueprint=blueprint, inside=name) for one in listed[:wanted])
        return next((one for one in found if one), None)
    if name in HANDLES or (name in PROPERTY_ONLY and not blueprint):
        return None
    return f"template '{name}' can't be a {'Blueprint type' if blueprint else 'property'}"
