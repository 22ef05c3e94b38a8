"""Rules on the text of files: includes, bodies, conditions, assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import Module, Place, Record
from .rules import Broken, rule
from .sources import Source

ASSERTION = re.compile(
    r"(?<![\w.>])(check(?:f|Slow|fSlow|Code|NoEntry|NoReentry|NoRecursion)?|verify(?:f|Slow)?)\s*\("
)
REFLECTED = re.compile(r"(?<![\w#])(UCLASS|USTRUCT|UENUM|UINTERFACE|UFUNCTION|UPROPERTY)\s*\(")
GENERATED_BODY = re.compile(r"\bGENERATED_(?:\w+_)?BODY\s*\(")
EDITOR = re.compile(r"(WITH_EDITOR|WITH_EDITORONLY_DATA)")
HANDLER = re.compile(
    r"\b((?:Add|AddUnique|Bind|Remove)Dynamic|IsAlreadyBound)\s*\(\s*[^,()]+(?:\([^()]*\))?\s*,\s*&(\w+)::(\w+)"
)


def reflects(source: Source) -> bool:
    """Returns true if a file declares types that UnrealHeaderTool reads."""
    return (
        re.search(r"^\s*(UCLASS|USTRUCT|UENUM|UINTERFACE|UDELEGATE)\s*\(", source.blanked, re.M) is not None
    )


def headers(module: Module) -> Iterator[Source]:
    """Yields the headers of a module."""
    return (source for source in module.sources.values() if source.is_header)


@rule("pragma-once")
def pragma_once(module: Module) -> Iterator[Broken]:
    """Every header starts with #pragma once."""
    for source in headers(module):
        if not source.blanked.lstrip().startswith("#pragma once"):
            yield Place(source.path, 1), "the header does not start with '#pragma once'"


@rule("generated-include")
def generated_include(module: Module) -> Iterator[Broken]:
    """A header with reflected types includes X.generated.h, last."""
    for source in headers(module):
        wanted = f"{source.path.stem}.generated.h"
        included = source.includes()
        generated = [(line, name) for line, name in included if name.endswith(".generated.h")]
        if not generated:
            if reflects(source):
                yield (
                    Place(source.path, 1),
                    f"'{wanted}' is not included; the header declares reflected types",
                )
            continue
        line, name = generated[0]
        if name != wanted:
            yield Place(source.path, line), f"'{name}' is included; expected '{wanted}'"
        elif included[-1][1] != name:
            yield (
                Place(source.path, line),
                f"'{name}' is not the last include; move it below '{included[-1][1]}'",
            )


@rule("generated-body")
def generated_body(module: Module) -> Iterator[Broken]:
    """A reflected class has one GENERATED_BODY(), another class none."""
    for record in module.records:
        source = module.sources[record.place.path]
        inner = [one for one in module.records if _stands_in(one, record)]
        lines = set(range(record.place.line, record.end + 1))
        lines -= {line for one in inner for line in range(one.place.line, one.end + 1)}
        text = source.blanked.splitlines()
        count = sum(len(GENERATED_BODY.findall(text[line - 1])) for line in sorted(lines))
        wanted = (
            1 if record.reflected_as("UCLASS", "USTRUCT", "UINTERFACE") or interface_of(module, record) else 0
        )
        if count != wanted:
            yield record.place, f"'{record.name}' has {count} GENERATED_BODY(); expected {wanted}"


def _stands_in(inner: Record, outer: Record) -> bool:
    same = inner.place.path == outer.place.path and inner is not outer
    return same and outer.place.line <= inner.place.line and inner.end <= outer.end


def interface_of(module: Module, record: Record) -> bool:
    """Returns true if a class IThing belongs to a UINTERFACE UThing."""
    if not record.name.startswith("I"):
        return False
    pair = module.record("U" + record.name[1:])
    return pair is not None and pair.reflected_as("UINTERFACE")


@rule("conditional")
def conditional(module: Module) -> Iterator[Broken]:
    """UnrealHeaderTool reads no macro inside #if, except WITH_EDITOR and WITH_EDITORONLY_DATA."""
    for source in headers(module):
        stack: list[str] = []
        for number, line in enumerate(source.blanked.splitlines(), 1):
            directive = re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b(.*)", line)
            if directive is None:
                outside = [one for one in stack if not EDITOR.fullmatch(one)]
                if (found := REFLECTED.search(line)) and outside:
                    yield Place(source.path, number), f"{found[1]} stands inside '#if {outside[-1]}'"
            elif directive[1] == "endif":
                stack = stack[:-1]
            elif directive[1] in ("else", "elif"):
                stack = [*stack[:-1], f"!{stack[-1]}" if stack else "else"]
            else:
                stack.append(directive[2].strip())


@rule("assertion")
def assertion(module: Module) -> Iterator[Broken]:
    """A plugin that lacks its library stays inert: no assertion that ends the process."""
    for source in module.sources.values():
        for found in ASSERTION.finditer(source.blanked):
            place = Place(source.path, source.line_of(found.start()))
            yield place, f"{found[1]}() ends the game; log the reason and return instead"


@rule("handler")
def handler(module: Module) -> Iterator[Broken]:
    """A function bound to a dynamic delegate is a UFUNCTION."""
    for source in module.sources.values():
        for found in HANDLER.finditer(source.blanked):
            record = module.record(found[2])
            functions = [one for one in record.functions if one.name == found[3]] if record else []
            if functions and functions[0].specifiers is None:
                place = Place(source.path, source.line_of(found.start()))
                yield (
                    place,
                    f"{found[1]}: '{found[2]}::{found[3]}' has no UFUNCTION(), so that it is never called",
                )
