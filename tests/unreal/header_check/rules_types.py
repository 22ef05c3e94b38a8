"""Rules on classes, structs, enums, interfaces and delegates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Module, Record
from .property_types import problem
from .rules import Broken, rule
from .rules_files import interface_of
from .vocabulary import SPECIFIERS, known_metadata


@rule("specifier")
def specifier(module: Module) -> Iterator[Broken]:
    """Every specifier is one that UnrealHeaderTool knows."""
    for place, found in module.specified():
        for word in found.words:
            if word.lower() not in SPECIFIERS[found.macro]:
                yield place, f"{found.macro} has unknown specifier '{word}'"


@rule("metadata")
def metadata(module: Module) -> Iterator[Broken]:
    """Every metadata key is one that the editor knows."""
    for place, found in module.specified():
        for key in found.meta:
            if key.lower() not in known_metadata(found.macro):
                yield place, f"{found.macro} has unknown metadata key '{key}'"


@rule("prefix")
def prefix(module: Module) -> Iterator[Broken]:
    """Names carry Unreal's prefix: A, U, F, T, S, I, E."""
    for record in module.records:
        if record.scope and not record.is_object():
            continue  # a namespace of the engine-free part, or a helper inside a class
        if wanted := _wrong_prefix(module, record):
            yield record.place, f"'{record.name}' lacks the prefix {wanted}"
    for enumeration in module.enumerations:
        if not enumeration.scope and not re.match(r"E[A-Z]", enumeration.name):
            yield enumeration.place, f"'{enumeration.name}' lacks the prefix E"


def _wrong_prefix(module: Module, record: Record) -> str | None:
    if record.is_object() or record.reflected_as("UCLASS", "UINTERFACE"):
        wanted = "A" if "AActor" in record.ancestors else "U"
    elif interface_of(module, record):
        return None
    elif record.is_template:
        wanted = "T"
    elif "SWidget" in record.ancestors:
        wanted = "S"
    else:
        wanted = "F" if record.reflected_as("USTRUCT") else "FI"
    found = re.match(rf"[{wanted}][A-Z]", record.name)
    return None if found else " or ".join(wanted)


@rule("scope")
def scope(module: Module) -> Iterator[Broken]:
    """Reflected types stand in the global namespace, outside other classes."""
    for one in (*module.records, *module.enumerations):
        if one.specifiers is not None and one.scope:
            yield one.place, f"{one.specifiers.macro} '{one.name}' stands inside '{one.scope}'"


@rule("template-class")
def template_class(module: Module) -> Iterator[Broken]:
    """UnrealHeaderTool reads no templates."""
    for record in module.records:
        if record.specifiers is not None and record.is_template:
            yield record.place, f"{record.specifiers.macro} '{record.name}' is a template"


@rule("bases")
def bases(module: Module) -> Iterator[Broken]:
    """A UCLASS has one base that is a UObject, the first one; a USTRUCT has none."""
    for record in module.records:
        named = [base for base in record.bases if re.match(r"[UA][A-Z]", base)]
        if record.reflected_as("UCLASS"):
            if not record.is_object() or record.bases[:1] != named[:1]:
                yield record.place, f"UCLASS '{record.name}' does not derive first from a UObject class"
            elif len(named) > 1:
                yield record.place, f"UCLASS '{record.name}' has two UObject bases: {', '.join(named)}"
        elif record.reflected_as("USTRUCT") and named:
            yield record.place, f"USTRUCT '{record.name}' derives from '{named[0]}'; use UCLASS"
        elif record.specifiers is None and record.is_object() and not record.scope:
            yield record.place, f"'{record.name}' derives from UObject, but has no UCLASS()"


@rule("export")
def export(module: Module) -> Iterator[Broken]:
    """A UCLASS in a public header is exported with its own module's macro."""
    wanted = f"{module.name.upper()}_API"
    for record in module.records:
        if record.api is not None and record.api != wanted:
            yield record.place, f"'{record.name}' is exported with {record.api}; expected {wanted}"
        elif record.api is None and _needs_export(record):
            yield record.place, f"'{record.name}' lacks {wanted}; other modules can't link against it"


def _needs_export(record: Record) -> bool:
    said = record.specifiers
    is_class = said is not None and said.macro == "UCLASS" and not said.has("MinimalAPI")
    return is_class and "Private" not in record.place.path.parts


@rule("interface")
def interface(module: Module) -> Iterator[Broken]:
    """A UINTERFACE UThing derives from UInterface and has a class IThing."""
    for record in module.records:
        if record.reflected_as("UINTERFACE"):
            if "UInterface" not in record.ancestors:
                yield record.place, f"UINTERFACE '{record.name}' does not derive from UInterface"
            if module.record("I" + record.name[1:]) is None:
                yield record.place, f"UINTERFACE '{record.name}' has no class 'I{record.name[1:]}'"


@rule("enum-size")
def enum_size(module: Module) -> Iterator[Broken]:
    """An enum for Blueprint is an enum class over uint8."""
    for enumeration in module.enumerations:
        if enumeration.specifiers is None:
            continue
        if not enumeration.is_scoped:
            yield enumeration.place, f"UENUM '{enumeration.name}' is no enum class"
        elif enumeration.specifiers.has("BlueprintType") and enumeration.underlying != "uint8":
            found = enumeration.underlying
            yield enumeration.place, f"UENUM '{enumeration.name}' is over {found}; Blueprint knows uint8 only"


@rule("delegate-name")
def delegate_name(module: Module) -> Iterator[Broken]:
    """Names of delegates begin with F."""
    for place, delegate in module.delegates:
        if not re.match(r"F[A-Z]", delegate.name):
            yield place, f"delegate '{delegate.name}' lacks the prefix F"


@rule("delegate-parameter")
def delegate_parameter(module: Module) -> Iterator[Broken]:
    """Parameters of dynamic delegates are types that Blueprint knows."""
    for place, delegate in module.delegates:
        for name, kind in module.signatures.get(delegate.name, []):
            if found := problem(module, kind, blueprint=True):
                yield place, f"parameter '{name}' of '{delegate.name}': {found}"


@rule("config-class")
def config_class(module: Module) -> Iterator[Broken]:
    """A class with Config properties names its configuration file."""
    for record in module.records:
        kept = [one for one, said in record.uproperties() if said.has("Config", "GlobalConfig")]
        if kept and record.reflected_as("UCLASS"):
            assert record.specifiers is not None
            if not record.specifiers.value("Config"):
                name = kept[0].name
                yield record.place, f"'{record.name}' has the Config property '{name}', but no Config=<file>"


@rule("replication")
def replication(module: Module) -> Iterator[Broken]:
    """A class with Replicated properties overrides GetLifetimeReplicatedProps."""
    for record in module.records:
        names = [one.name for one, said in record.uproperties() if said.has("Replicated", "ReplicatedUsing")]
        if names and all(one.name != "GetLifetimeReplicatedProps" for one in record.functions):
            yield (
                record.place,
                f"'{names[0]}' is Replicated, but GetLifetimeReplicatedProps is not overridden",
            )
