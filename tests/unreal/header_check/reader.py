"""Reads the AST of a module into the model."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from clang.cindex import AccessSpecifier, Cursor, CursorKind, TranslationUnit, TypeKind

from .model import Enumeration, Finding, Function, Module, Parameter, Place, Property, Record
from .specifiers import SpecifierError, Specifiers, parse

SCOPES = (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC)
RECORDS = (CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE)
METHODS = (CursorKind.CXX_METHOD, CursorKind.FUNCTION_TEMPLATE)
DEFINED = (CursorKind.MACRO_DEFINITION,)
MARK, SIGNATURE = "HeaderCheckMark_", "HeaderCheckSignature_"
EXPORT = re.compile(r"\b(?:class|struct)\s+(\w+_API)\b")


class Reader:
    """Fills a module from a translation unit."""

    def __init__(self, module: Module, cursors: Iterable[Cursor]) -> None:
        self._module = module
        self._files = {str(path): path for path in module.sources}
        self._delegates = {delegate.name for _, delegate in module.delegates}
        self._scope(cursors, "")

    def _place(self, cursor: Cursor) -> Place | None:
        """Returns where a declaration stands, or None if that is not in the module."""
        file = cursor.location.file
        path = self._files.get(file.name) if file is not None else None
        return Place(path, cursor.location.line) if path is not None else None

    def _scope(self, cursors: Iterable[Cursor], scope: str) -> None:
        mark: Specifiers | None = None
        for cursor in cursors:
            place = self._place(cursor)
            if place is None or cursor.kind.is_preprocessing():
                continue
            if cursor.kind is CursorKind.TYPEDEF_DECL and cursor.spelling.startswith(MARK):
                mark = self._specifiers(cursor)
                continue
            self._declaration(cursor, place, scope, mark)
            if cursor.is_definition() or cursor.kind not in RECORDS:
                mark = None

    def _declaration(self, cursor: Cursor, place: Place, scope: str, mark: Specifiers | None) -> None:
        if cursor.kind in SCOPES:
            self._scope(
                cursor.get_children(), "::".join(filter(None, (scope, cursor.spelling or "(anonymous)")))
            )
        elif cursor.kind in RECORDS and cursor.is_definition() and cursor.spelling not in self._delegates:
            self._record(cursor, place, scope, mark)
        elif cursor.kind is CursorKind.ENUM_DECL and cursor.is_definition():
            self._enumeration(cursor, place, scope, mark)
        elif cursor.kind in METHODS and cursor.is_definition():
            self._module.definitions.add((cursor.semantic_parent.spelling, cursor.spelling))
        elif cursor.kind is CursorKind.TYPEDEF_DECL and cursor.spelling.startswith(SIGNATURE):
            listed = [(one.spelling, one.type) for one in _children(cursor, CursorKind.PARM_DECL)]
            self._module.signatures[cursor.spelling.removeprefix(SIGNATURE)] = listed

    def _specifiers(self, cursor: Cursor) -> Specifiers | None:
        for attribute in _children(cursor, CursorKind.ANNOTATE_ATTR):
            owner, macro, text = (*attribute.spelling.split(":", 2), "", "")[:3]
            if owner != "Unreal":
                continue
            try:
                return parse(macro, text, cursor.location.line)
            except SpecifierError as error:
                place = self._place(cursor)
                assert place is not None
                self._module.problems.append(Finding(place, "specifier-syntax", f"{macro}: {error}"))
                return Specifiers(macro, cursor.location.line)
        return None

    def _record(self, cursor: Cursor, place: Place, scope: str, mark: Specifiers | None) -> None:
        source = self._module.sources[place.path]
        head = source.blanked[cursor.extent.start.offset : cursor.extent.end.offset].split("{")[0]
        lines = source.blanked.splitlines()
        head = " ".join(lines[cursor.extent.start.line - 1 : cursor.location.line]) or head
        export = EXPORT.search(head)
        record = Record(
            name=cursor.spelling,
            place=place,
            end=cursor.extent.end.line,
            keyword="struct" if cursor.kind is CursorKind.STRUCT_DECL else "class",
            specifiers=mark,
            bases=[base.spelling for base in _bases(cursor)],
            ancestors=set(_ancestors(cursor)),
            api=export[1] if export else None,
            scope=scope,
            is_template=cursor.kind is CursorKind.CLASS_TEMPLATE,
        )
        self._module.records.append(record)
        inner = "::".join(filter(None, (scope, record.name)))
        nested: Specifiers | None = None
        for child in cursor.get_children():
            where = self._place(child)
            if where is None:
                continue
            if child.kind is CursorKind.TYPEDEF_DECL and child.spelling.startswith(MARK):
                nested = self._specifiers(child)
            elif child.kind in METHODS:
                record.functions.append(self._function(child, where))
                if child.is_definition():
                    self._module.definitions.add((record.name, child.spelling))
            elif child.kind in (CursorKind.FIELD_DECL, CursorKind.VAR_DECL):
                record.properties.append(self._property(child, where))
            elif child.kind in (*RECORDS, CursorKind.ENUM_DECL, CursorKind.TYPEDEF_DECL):
                self._declaration(child, where, inner, nested)
                nested = None

    def _function(self, cursor: Cursor, place: Place) -> Function:
        parameters = [
            Parameter(one.spelling, one.type, _default(one), self._specifiers(one))
            for one in _children(cursor, CursorKind.PARM_DECL)
        ]
        return Function(
            name=cursor.spelling,
            place=place,
            result=cursor.result_type,
            parameters=parameters,
            specifiers=self._specifiers(cursor),
            access=_access(cursor),
            is_static=cursor.is_static_method(),
            is_virtual=cursor.is_virtual_method(),
            is_const=cursor.is_const_method(),
            has_body=cursor.is_definition(),
        )

    def _property(self, cursor: Cursor, place: Place) -> Property:
        return Property(
            name=cursor.spelling,
            place=place,
            type=cursor.type,
            specifiers=self._specifiers(cursor),
            access=_access(cursor),
            is_static=cursor.kind is CursorKind.VAR_DECL,
            has_initializer=any(child.kind.is_expression() for child in cursor.get_children()),
        )

    def _enumeration(self, cursor: Cursor, place: Place, scope: str, mark: Specifiers | None) -> None:
        values = [
            (one.spelling, self._specifiers(one)) for one in _children(cursor, CursorKind.ENUM_CONSTANT_DECL)
        ]
        self._module.enumerations.append(
            Enumeration(
                name=cursor.spelling,
                place=place,
                specifiers=mark,
                underlying=cursor.enum_type.spelling,
                is_scoped=cursor.is_scoped_enum(),
                scope=scope,
                values=values,
            )
        )


def top_level(unit: TranslationUnit, files: Container[str]) -> list[Cursor]:
    """The declarations, includes and used macros of some files; there are 20 times as many of other files."""
    return [
        cursor
        for cursor in unit.cursor.get_children()
        if cursor.kind not in DEFINED and _file(cursor) in files
    ]


def _file(cursor: Cursor) -> str:
    file = cursor.location.file
    return file.name if file is not None else ""


def _children(cursor: Cursor, kind: CursorKind) -> Iterator[Cursor]:
    return (child for child in cursor.get_children() if child.kind is kind)


def _bases(cursor: Cursor) -> Iterator[Cursor]:
    for base in _children(cursor, CursorKind.CXX_BASE_SPECIFIER):
        yield base.type.get_declaration()


def _ancestors(cursor: Cursor) -> Iterator[str]:
    definition = cursor.get_definition() or cursor
    for base in _bases(definition):
        yield base.spelling
        yield from _ancestors(base)


def derives(cursor: Cursor, name: str) -> bool:
    """Returns true if a class is `name` or derives from it."""
    return cursor.spelling == name or name in _ancestors(cursor)


def is_object_class(cursor: Cursor) -> bool:
    """Returns true for a class that derives from UObject; an undefined one is judged by its prefix."""
    if cursor.kind not in RECORDS:
        return False
    if cursor.get_definition() is None:
        return re.match(r"[UA][A-Z]", cursor.spelling) is not None
    return derives(cursor, "UObject")


def is_object_pointer(kind: object) -> bool:
    """Returns true for a pointer to a class that derives from UObject."""
    canonical = kind.get_canonical()  # type: ignore[attr-defined]
    return canonical.kind is TypeKind.POINTER and is_object_class(canonical.get_pointee().get_declaration())


def _access(cursor: Cursor) -> str:
    names = {AccessSpecifier.PUBLIC: "public", AccessSpecifier.PROTECTED: "protected"}
    return names.get(cursor.access_specifier, "private")


def _default(cursor: Cursor) -> str | None:
    tokens = [token.spelling for token in cursor.get_tokens()]
    return " ".join(tokens[tokens.index("=") + 1 :]) if "=" in tokens else None
