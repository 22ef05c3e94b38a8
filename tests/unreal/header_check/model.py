"""What the header check knows of a plugin's module: its reflected types, functions and properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .sources import Delegate, Source
from .specifiers import Specifiers


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: Path
    line: int


@dataclass(frozen=True)
class Finding:
    """A broken rule."""

    place: Place
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.place.path}:{self.place.line}: {self.rule}: {self.message}"


@dataclass
class Parameter:
    """A parameter of a function."""

    name: str
    type: Any  # clang.cindex.Type
    default: str | None  # as written
    specifiers: Specifiers | None


@dataclass
class Function:
    """A member function."""

    name: str
    place: Place
    result: Any  # clang.cindex.Type
    parameters: list[Parameter]
    specifiers: Specifiers | None  # None: no UFUNCTION
    access: str
    is_static: bool
    is_virtual: bool
    is_const: bool
    has_body: bool

    def is_blueprint(self) -> bool:
        """Returns true if Blueprint graphs see the function."""
        return self.specifiers is not None and self.specifiers.has(
            "BlueprintCallable", "BlueprintPure", "BlueprintImplementableEvent", "BlueprintNativeEvent"
        )


@dataclass
class Property:
    """A data member, or a static one."""

    name: str
    place: Place
    type: Any  # clang.cindex.Type
    specifiers: Specifiers | None  # None: no UPROPERTY
    access: str
    is_static: bool
    has_initializer: bool

    def is_blueprint(self) -> bool:
        """Returns true if Blueprint graphs see the property."""
        return self.specifiers is not None and self.specifiers.has(
            "BlueprintReadOnly", "BlueprintReadWrite", "BlueprintAssignable", "BlueprintCallable"
        )


@dataclass
class Record:
    """A class or struct."""

    name: str
    place: Place
    end: int  # its last line
    keyword: str  # class or struct
    specifiers: Specifiers | None  # None: not reflected
    bases: list[str]  # the direct ones
    ancestors: set[str]  # all of them
    api: str | None  # the export macro
    scope: str  # "", or the namespace or class around it
    is_template: bool
    functions: list[Function] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)

    def is_object(self) -> bool:
        """Returns true for a class that derives from UObject."""
        return "UObject" in self.ancestors

    def reflected_as(self, *macros: str) -> bool:
        """Returns true if one of the macros stands before the type."""
        return self.specifiers is not None and self.specifiers.macro in macros

    def ufunctions(self) -> Iterator[tuple[Function, Specifiers]]:
        """Yields the functions with UFUNCTION."""
        for function in self.functions:
            if function.specifiers is not None:
                yield function, function.specifiers

    def uproperties(self) -> Iterator[tuple[Property, Specifiers]]:
        """Yields the members with UPROPERTY."""
        for member in self.properties:
            if member.specifiers is not None:
                yield member, member.specifiers


@dataclass
class Enumeration:
    """An enum."""

    name: str
    place: Place
    specifiers: Specifiers | None
    underlying: str
    is_scoped: bool
    scope: str
    values: list[tuple[str, Specifiers | None]]


@dataclass
class Module:
    """A module of the plugin, read."""

    name: str
    sources: dict[Path, Source]
    records: list[Record] = field(default_factory=list)
    enumerations: list[Enumeration] = field(default_factory=list)
    delegates: list[tuple[Place, Delegate]] = field(default_factory=list)
    signatures: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)  # of dynamic delegates
    definitions: set[tuple[str, str]] = field(default_factory=set)  # class, function: has a body anywhere
    problems: list[Finding] = field(default_factory=list)  # found while reading

    def record(self, name: str) -> Record | None:
        """Returns a class or struct of the plugin by its name."""
        return next((one for one in self.records if one.name == name), None)

    def enumeration(self, name: str) -> Enumeration | None:
        """Returns an enum of the plugin by its name."""
        return next((one for one in self.enumerations if one.name == name), None)

    def specified(self) -> Iterator[tuple[Place, Specifiers]]:
        """Yields every macro with its arguments."""
        for record in self.records:
            if record.specifiers is not None:
                yield record.place, record.specifiers
            for function, specifiers in record.ufunctions():
                yield function.place, specifiers
            for function in record.functions:
                for parameter in function.parameters:
                    if parameter.specifiers is not None:
                        yield function.place, parameter.specifiers
            for member, specifiers in record.uproperties():
                yield member.place, specifiers
        for enumeration in self.enumerations:
            if enumeration.specifiers is not None:
                yield enumeration.place, enumeration.specifiers
            for _, value in enumeration.values:
                if value is not None:
                    yield enumeration.place, value


def named(record: Record, one: Function | Property) -> str:
    """The name of a member for messages: 'UClass::Member'."""
    return f"'{record.name}::{one.name}'"
