"""Finds the engine's symbols that a module's sources use: declarations in the double's headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ctypes import byref, c_uint
from dataclasses import dataclass, field
from pathlib import Path

from clang.cindex import Cursor, CursorKind, File, SourceLocation, c_object_p, conf

from .reader import RECORDS
from .sources import MACROS, Source
from .unit import Ground

OWN = re.compile(
    r"HC_|HeaderCheck|[FTU]?Double[A-Z_]|double_|operator\b"
)  # names of the double and of this check
SKIPPED = {CursorKind.NAMESPACE_REF, CursorKind.LABEL_REF}
OUTER = (*RECORDS, CursorKind.ENUM_DECL)
KINDS = {
    CursorKind.ENUM_DECL: "enum",
    CursorKind.TYPEDEF_DECL: "type",
    CursorKind.TYPE_ALIAS_DECL: "type",
    CursorKind.FUNCTION_DECL: "function",
    CursorKind.FUNCTION_TEMPLATE: "function",
    CursorKind.VAR_DECL: "variable",
    CursorKind.MACRO_DEFINITION: "macro",
    CursorKind.ENUM_CONSTANT_DECL: "variable",
}


@dataclass
class Use:
    """A symbol that the sources use."""

    name: str
    kind: str
    header: str  # that defines it in the double, or declares it
    defined: bool = True  # false: the sources see no more than a declaration
    members: set[str] = field(default_factory=set)


@dataclass
class Uses:
    """What the sources of one module use."""

    symbols: dict[str, Use] = field(default_factory=dict)
    headers: set[str] = field(default_factory=set)

    def add(self, other: Uses) -> None:
        """Adds what other sources use."""
        self.headers |= other.headers
        for name, use in other.symbols.items():
            known = self.symbols.setdefault(name, Use(name, use.kind, use.header, use.defined))
            if use.defined and not known.defined:
                known.header, known.defined = use.header, True
            known.members.update(use.members)


class Collector:
    """Walks the declarations of a module."""

    def __init__(self, cursors: Iterable[Cursor], sources: Iterable[Source], ground: Ground) -> None:
        self.uses = Uses()
        self._double = f"{ground.includes[0]}/"
        self._texts = {str(source.path): source.prepared(ground.platform).encode() for source in sources}
        for source in sources:
            self._source(source)
        for cursor in cursors:
            if self._file(cursor) not in self._texts:
                continue
            if (
                cursor.kind is CursorKind.INCLUSION_DIRECTIVE
                and Path(self._double, cursor.spelling).is_file()
            ):
                self.uses.headers.add(cursor.spelling)
            self._walk(cursor)

    def _source(self, source: Source) -> None:
        for macro in (*MACROS, "GENERATED_BODY"):
            if re.search(rf"\b{macro}\s*\(", source.blanked):
                self._add(macro, "macro", "UObject/ObjectMacros.h")

    @staticmethod
    def _file(cursor: Cursor) -> str:
        file = cursor.location.file
        return file.name if file is not None else ""

    def _walk(self, cursor: Cursor) -> None:
        self._cursor(cursor)
        for child in cursor.get_children():
            self._walk(child)

    def _cursor(self, cursor: Cursor) -> None:
        if cursor.kind in (CursorKind.CXX_METHOD, CursorKind.DESTRUCTOR):
            for above in _overridden(cursor):
                self._declared(above)
        target = cursor.referenced
        if target is None or target == cursor or cursor.kind in SKIPPED or not target.spelling:
            return
        if self._is_written(cursor, target.spelling):
            self._declared(target)

    def _is_written(self, cursor: Cursor, name: str) -> bool:
        """Returns true if the name stands in the source, rather than in a macro of the double."""
        file, offset = _place(cursor.location)
        text = self._texts.get(file)
        return text is not None and text[offset : offset + len(name)] == name.encode()

    def _declared(self, target: Cursor) -> None:
        if target.kind in RECORDS:
            target = target.get_definition() or target
        file = self._file(target)
        if not file.startswith(self._double) or OWN.match(target.spelling):
            return
        header = file.removeprefix(self._double)
        owner = target.semantic_parent
        if owner is not None and owner.kind in OUTER:
            while owner.semantic_parent is not None and owner.semantic_parent.kind in OUTER:
                target, owner = owner, owner.semantic_parent
            outer = owner.semantic_parent
            if (
                outer is not None
                and outer.kind is CursorKind.NAMESPACE
                and owner.kind is CursorKind.ENUM_DECL
            ):
                self._member(outer, target, "enum", header)
            elif not owner.spelling:
                self._add(target.spelling, KINDS.get(target.kind, "type"), header)
            else:
                self._member(owner, target, KINDS.get(owner.kind, "class"), header)
        elif owner is not None and owner.kind is CursorKind.NAMESPACE:
            self._member(owner, target, KINDS.get(target.kind, "class"), header)
        elif target.kind not in (CursorKind.TEMPLATE_TYPE_PARAMETER, CursorKind.PARM_DECL):
            use = self._add(target.spelling, KINDS.get(target.kind, "class"), header)
            if use is not None and target.kind in RECORDS and not target.is_definition():
                use.defined = False

    def _member(self, owner: Cursor, target: Cursor, kind: str, header: str) -> None:
        use = self._add(owner.spelling, kind, header)
        named = target.kind not in (CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR)
        if use is not None and named and not OWN.match(target.spelling):
            use.members.add(target.spelling)

    def _add(self, name: str, kind: str, header: str) -> Use | None:
        if OWN.match(name):
            return None
        return self.uses.symbols.setdefault(name, Use(name, kind, header))


def _place(location: SourceLocation) -> tuple[str, int]:
    """Returns file and offset at which a token is written, also inside the arguments of a macro."""
    file, line, column, offset = c_object_p(), c_uint(), c_uint(), c_uint()
    conf.lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
    return (File(file).name if file else ""), offset.value


def _overridden(cursor: Cursor) -> Iterator[Cursor]:
    """Yields the methods of base classes that a method overrides."""
    parent = cursor.semantic_parent
    if parent is None or parent.kind not in RECORDS or not cursor.is_virtual_method():
        return
    for base in parent.get_children():
        if base.kind is CursorKind.CXX_BASE_SPECIFIER:
            yield from _named(base.type.get_declaration(), cursor.spelling)


def _named(record: Cursor, name: str) -> Iterator[Cursor]:
    definition = record.get_definition() or record
    for child in definition.get_children():
        if child.kind is CursorKind.CXX_METHOD and child.spelling == name and child.is_virtual_method():
            yield child
            return
    for base in definition.get_children():
        if base.kind is CursorKind.CXX_BASE_SPECIFIER:
            yield from _named(base.type.get_declaration(), name)
