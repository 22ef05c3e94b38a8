"""Rules on UPROPERTYs and other data members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from clang.cindex import TypeKind

from .model import Module, Property, Record, named
from .property_types import CONTAINERS, NUMBERS, arguments, problem, spelled, template
from .reader import is_object_pointer
from .rules import Broken, rule
from .specifiers import Specifiers

EDITED = ("EditAnywhere", "EditDefaultsOnly", "EditInstanceOnly")
SHOWN = ("VisibleAnywhere", "VisibleDefaultsOnly", "VisibleInstanceOnly")
READ = ("BlueprintReadOnly", "BlueprintReadWrite")


def each(module: Module) -> Iterator[tuple[Record, Property, Specifiers]]:
    """Yields every UPROPERTY."""
    for record in module.records:
        for member, said in record.uproperties():
            yield record, member, said


def held(member: Property) -> list[Any]:
    """The types that a member holds: its own, or those in the container that it is."""
    is_container = template(member.type) in CONTAINERS
    return [member.type, *(arguments(member.type) if is_container else [])]


@rule("property-type")
def property_type(module: Module) -> Iterator[Broken]:
    """A UPROPERTY has a type that the property system, and where shown there, Blueprint knows."""
    for record, member, _ in each(module):
        if found := problem(module, member.type, blueprint=member.is_blueprint()):
            yield member.place, f"property {named(record, member)}: {found}"


@rule("static-property")
def static_property(module: Module) -> Iterator[Broken]:
    """A UPROPERTY is neither static nor const."""
    for record, member, _ in each(module):
        if member.is_static or member.type.is_const_qualified():
            found = "static" if member.is_static else "const"
            yield member.place, f"property {named(record, member)} is {found}"


@rule("object-pointer")
def object_pointer(module: Module) -> Iterator[Broken]:
    """A UPROPERTY that holds an object is a TObjectPtr."""
    for record, member, _ in each(module):
        for kind in held(member):
            if is_object_pointer(kind):
                wanted = spelled(kind).removesuffix("*").strip()
                yield (
                    member.place,
                    f"property {named(record, member)} is a raw pointer; use TObjectPtr<{wanted}>",
                )


@rule("unreferenced")
def unreferenced(module: Module) -> Iterator[Broken]:
    """A member that holds an object is a UPROPERTY or a weak pointer, so that it can't dangle."""
    for record in module.records:
        for member in record.properties:
            if member.specifiers is not None or member.is_static:
                continue
            if any(is_object_pointer(one) or template(one) == "TObjectPtr" for one in held(member)):
                name = named(record, member)
                yield (
                    member.place,
                    f"{name} holds an object, but is no UPROPERTY(); add it or use TWeakObjectPtr",
                )


@rule("property-category")
def property_category(module: Module) -> Iterator[Broken]:
    """A property that the editor or Blueprint shows has a Category."""
    for record, member, said in each(module):
        if said.has(*EDITED, *SHOWN, *READ) and not said.value("Category") and not said.metadata("Category"):
            yield member.place, f"property {named(record, member)} has no Category"


@rule("assignable")
def assignable(module: Module) -> Iterator[Broken]:
    """BlueprintAssignable stands on dynamic multicast delegates, and on all of them."""
    multicast = {one.name for _, one in module.delegates if one.dynamic and one.multicast}
    for record in module.records:
        for member in record.properties:
            is_delegate = spelled(member.type) in multicast
            said = member.specifiers is not None and member.specifiers.has("BlueprintAssignable")
            name = named(record, member)
            if said and not is_delegate:
                yield (
                    member.place,
                    f"property {name} is BlueprintAssignable, but no dynamic multicast delegate",
                )
            elif is_delegate and not said and record.specifiers is not None:
                yield member.place, f"delegate {name} is not BlueprintAssignable; Blueprint can't bind to it"


@rule("conflict")
def conflict(module: Module) -> Iterator[Broken]:
    """A property has one Edit or Visible specifier and one Blueprint access."""
    for record, member, said in each(module):
        for group in (EDITED + SHOWN, READ):
            found = [one for one in group if said.has(one)]
            if len(found) > 1:
                yield member.place, f"property {named(record, member)} has both {found[0]} and {found[1]}"


@rule("private-property")
def private_property(module: Module) -> Iterator[Broken]:
    """A private property that Blueprint reads says AllowPrivateAccess."""
    for record, member, said in each(module):
        if member.access == "private" and said.has(*READ) and said.metadata("AllowPrivateAccess") is None:
            where = f"property {named(record, member)}"
            yield member.place, f"{where} is private, and Blueprint reads it; make it protected or public"


@rule("initialized")
def initialized(module: Module) -> Iterator[Broken]:
    """Numbers, enums and pointers of a USTRUCT have initial values."""
    for record, member, _ in each(module):
        canonical = member.type.get_canonical()
        plain = canonical.kind in NUMBERS or canonical.kind in (TypeKind.ENUM, TypeKind.POINTER)
        if record.reflected_as("USTRUCT") and plain and not member.has_initializer and not member.is_static:
            yield member.place, f"property {named(record, member)} has no initial value"


@rule("bool-prefix")
def bool_prefix(module: Module) -> Iterator[Broken]:
    """Names of bool properties begin with b."""
    for record, member, _ in each(module):
        is_bool = member.type.get_canonical().kind is TypeKind.BOOL
        if is_bool and not (member.name[:1] == "b" and member.name[1:2].isupper()):
            yield member.place, f"bool property {named(record, member)} lacks the prefix b"


@rule("edit-condition")
def edit_condition(module: Module) -> Iterator[Broken]:
    """EditCondition names properties of the class."""
    for record, member, said in each(module):
        condition = said.metadata("EditCondition") or ""
        known = {one.name for one, _ in record.uproperties()}
        for name in re.findall(r"(?<![\w:])(b?[A-Z]\w+)(?!\w|::)", condition):
            if name not in known and module.enumeration(name) is None:
                yield (
                    member.place,
                    f"EditCondition of {named(record, member)} names '{name}', which is no property",
                )


@rule("accessor")
def accessor(module: Module) -> Iterator[Broken]:
    """BlueprintGetter, BlueprintSetter and ReplicatedUsing name UFUNCTIONs."""
    for record, member, said in each(module):
        known = {function.name for function, _ in record.ufunctions()}
        for key in ("BlueprintGetter", "BlueprintSetter", "ReplicatedUsing"):
            name = said.value(key)
            if name and name not in known:
                yield member.place, f"{key} of {named(record, member)} names '{name}', which is no UFUNCTION"
