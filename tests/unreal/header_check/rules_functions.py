"""Rules on UFUNCTIONs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Function, Module, Record, named
from .property_types import problem, spelled, strip, template
from .rules import Broken, rule
from .specifiers import Specifiers

DEFAULT = re.compile(
    r"[-+]?\s*[\d.]+[fFlLuU]*|true|false|nullptr|NULL|TEXT \( \".*\" \)|\"\"|NAME_None|INDEX_NONE"
    r"|[EF]?\w+ :: \w+"
    r"|F(?:String|Name|Text|Vector|Rotator) \( (?:TEXT \( \".*\" \)|\"\")? \)"
)
BY_VALUE = {"FString", "FText"}
NAMING = (
    "DefaultToSelf",
    "HidePin",
    "InternalUseParam",
    "AutoCreateRefTerm",
    "ArrayParm",
    "DeterminesOutputType",
)
CALLED = ("BlueprintCallable", "BlueprintPure")
EVENTS = ("BlueprintImplementableEvent", "BlueprintNativeEvent")


def each(module: Module) -> Iterator[tuple[Record, Function, Specifiers]]:
    """Yields every UFUNCTION."""
    for record in module.records:
        for function, said in record.ufunctions():
            yield record, function, said


@rule("struct-function")
def struct_function(module: Module) -> Iterator[Broken]:
    """Structs have no UFUNCTIONs."""
    for record, function, _ in each(module):
        if record.is_object() or record.reflected_as("UINTERFACE") or record.name.startswith("I"):
            continue
        yield function.place, f"{named(record, function)} is a UFUNCTION of a class that is no UCLASS"


@rule("overload")
def overload(module: Module) -> Iterator[Broken]:
    """A UFUNCTION's name is unique in its class and the classes above."""
    for record, function, _ in each(module):
        same = [one for one in record.functions if one.name == function.name]
        if len(same) > 1 and function is same[-1]:
            yield function.place, f"{named(record, function)} is overloaded; UFUNCTIONs can't be"
        for name in sorted(record.ancestors):
            above = module.record(name)
            if above and any(one.name == function.name and one.specifiers for one in above.functions):
                yield function.place, f"{named(record, function)} repeats the UFUNCTION of '{name}'"


@rule("blueprint-parameter")
def blueprint_parameter(module: Module) -> Iterator[Broken]:
    """Parameters and results are types that Blueprint knows."""
    for record, function, _ in each(module):
        blueprint = function.is_blueprint()
        for parameter in function.parameters:
            if found := problem(module, parameter.type, blueprint=blueprint):
                yield function.place, f"parameter '{parameter.name}' of {named(record, function)}: {found}"
        if spelled(function.result) != "void" and (
            found := problem(module, function.result, blueprint=blueprint)
        ):
            yield function.place, f"result of {named(record, function)}: {found}"


@rule("by-reference")
def by_reference(module: Module) -> Iterator[Broken]:
    """Strings, texts and containers are passed by const reference."""
    for record, function, _ in each(module):
        for parameter in function.parameters:
            name = spelled(parameter.type)
            is_big = name in BY_VALUE or template(parameter.type) in ("TArray", "TSet", "TMap")
            if is_big and strip(parameter.type) == parameter.type:
                where = f"parameter '{parameter.name}' of {named(record, function)}"
                yield function.place, f"{where} is passed by value; use const {name}&"


@rule("function-category")
def function_category(module: Module) -> Iterator[Broken]:
    """A function that Blueprint graphs call has a Category."""
    for record, function, said in each(module):
        if said.has(*CALLED, *EVENTS) and not said.value("Category") and not said.metadata("Category"):
            yield function.place, f"{named(record, function)} has no Category"


@rule("implementable-event")
def implementable_event(module: Module) -> Iterator[Broken]:
    """The body of a BlueprintImplementableEvent is written in Blueprint only."""
    for record, function, said in each(module):
        name = named(record, function)
        if not said.has("BlueprintImplementableEvent"):
            continue
        if (record.name, function.name) in module.definitions:
            yield function.place, f"BlueprintImplementableEvent {name} has a body in C++; remove it"
        if function.is_virtual:
            yield (
                function.place,
                f"BlueprintImplementableEvent {name} is virtual; Blueprint overrides it anyway",
            )


@rule("native-event")
def native_event(module: Module) -> Iterator[Broken]:
    """A BlueprintNativeEvent has its body in <name>_Implementation."""
    for record, function, said in each(module):
        if not said.has("BlueprintNativeEvent"):
            continue
        name = named(record, function)
        body = f"{function.name}_Implementation"
        if (record.name, function.name) in module.definitions:
            yield function.place, f"BlueprintNativeEvent {name} has a body of its own; move it to {body}"
        elif (record.name, body) not in module.definitions and not record.name.startswith("I"):
            yield function.place, f"BlueprintNativeEvent {name} lacks {body}"


@rule("event-access")
def event_access(module: Module) -> Iterator[Broken]:
    """Events are not private and not static."""
    for record, function, said in each(module):
        name = named(record, function)
        if said.has(*EVENTS) and (function.access == "private" or function.is_static):
            found = "static" if function.is_static else "private"
            yield function.place, f"event {name} is {found}; Blueprint can't override it"


@rule("world-context")
def world_context(module: Module) -> Iterator[Broken]:
    """WorldContext names a UObject parameter, and every WorldContextObject is named so."""
    for record, function, said in each(module):
        name, wanted = named(record, function), said.metadata("WorldContext")
        types = {parameter.name: spelled(parameter.type) for parameter in function.parameters}
        if wanted is None:
            if "WorldContextObject" in types:
                yield function.place, f'{name} lacks meta = (WorldContext = "WorldContextObject")'
        elif wanted not in types:
            yield function.place, f"WorldContext of {name} names '{wanted}', which is no parameter"
        elif types[wanted] != "UObject *":
            where = f"WorldContext parameter '{wanted}' of {name}"
            yield function.place, f"{where} is '{types[wanted]}'; use UObject*"


@rule("async-factory")
def async_factory(module: Module) -> Iterator[Broken]:
    """The factory of an async node is BlueprintInternalUseOnly: the node itself is what graphs show."""
    for record, function, said in each(module):
        if "UBlueprintAsyncActionBase" not in record.ancestors or not function.is_static:
            continue
        if said.has("BlueprintCallable") and said.metadata("BlueprintInternalUseOnly") != "true":
            yield (
                function.place,
                f'async factory {named(record, function)} lacks BlueprintInternalUseOnly = "true"',
            )


@rule("async-pin")
def async_pin(module: Module) -> Iterator[Broken]:
    """The input pins of an async node have other names than its output pins."""
    for record, function, _ in each(module):
        if "UBlueprintAsyncActionBase" not in record.ancestors or not function.is_static:
            continue
        inputs = {parameter.name for parameter in function.parameters}
        pins = [member for member, marks in record.uproperties() if marks.has("BlueprintAssignable")]
        for delegate in sorted({spelled(member.type) for member in pins}):
            for name, _ in module.signatures.get(delegate, []):
                if name in inputs:
                    where = f"parameter '{name}' of async factory {named(record, function)}"
                    yield function.place, f"{where} is a parameter of its delegate '{delegate}' as well"


@rule("meta-parameter")
def meta_parameter(module: Module) -> Iterator[Broken]:
    """Metadata that names parameters names existing ones."""
    for record, function, said in each(module):
        known = {parameter.name for parameter in function.parameters}
        for key in (*NAMING, "AdvancedDisplay"):
            for name in filter(None, (one.strip() for one in (said.metadata(key) or "").split(","))):
                if name not in known and not (key == "AdvancedDisplay" and name.isdigit()):
                    yield (
                        function.place,
                        f"{key} of {named(record, function)} names '{name}', which is no parameter",
                    )


@rule("pure-result")
def pure_result(module: Module) -> Iterator[Broken]:
    """A BlueprintPure function gives something back."""
    for record, function, said in each(module):
        outputs = [
            one
            for one in function.parameters
            if strip(one.type) != one.type and not strip(one.type).is_const_qualified()
        ]
        if said.has("BlueprintPure") and spelled(function.result) == "void" and not outputs:
            yield function.place, f"BlueprintPure {named(record, function)} returns nothing"


@rule("default-value")
def default_value(module: Module) -> Iterator[Broken]:
    """Default arguments are ones that UnrealHeaderTool can read."""
    for record, function, _ in each(module):
        for parameter in function.parameters:
            if parameter.default is not None and not DEFAULT.fullmatch(parameter.default.strip()):
                where = f"default '{parameter.default}' of '{parameter.name}' in {named(record, function)}"
                yield function.place, f"{where} is none that UnrealHeaderTool reads"


@rule("shadowing")
def shadowing(module: Module) -> Iterator[Broken]:
    """A parameter of a UFUNCTION has another name than the class's properties."""
    for record, function, _ in each(module):
        above = [record, *filter(None, (module.record(name) for name in record.ancestors))]
        taken = {one.name for owner in above for one, _ in owner.uproperties()}
        for parameter in function.parameters:
            if parameter.name in taken:
                where = f"parameter '{parameter.name}' of {named(record, function)}"
                yield function.place, f"{where} hides the property of that name"


@rule("unnamed-parameter")
def unnamed_parameter(module: Module) -> Iterator[Broken]:
    """Parameters of UFUNCTIONs have names: they become pins."""
    for record, function, _ in each(module):
        if any(not parameter.name for parameter in function.parameters):
            yield function.place, f"{named(record, function)} has a parameter without a name"
