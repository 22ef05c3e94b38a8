"""Reads the declarations of the public headers, and computes the layout of structs.

The headers are written in a strict subset of C, so this stays short: opaque structs, structs of
sized integers, floats, pointers and frozen structs, `typedef int32_t` or `uint32_t` followed by an
anonymous enum, function pointer types, and functions marked SOTTO_API. Anything else is an error
here, on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_parser

import docs

SIZES = {"int32_t": 4, "uint32_t": 4, "uint64_t": 8, "int64_t": 8, "float": 4, "size_t": 8}
DIRECTIVES = re.compile(  # allowed directives other than constants, without the `#`
    r"include (<std(def|int)\.h>|<sotto/\w+\.h>|\"\w+\.h\")"
    r"|ifndef SOTTO_(\w+_)?H|define SOTTO_(\w+_)?H|else|endif"
    r"|if defined\((_WIN32|SOTTO_BUILDING)\)|define SOTTO_(API|CALL|EXPORT|NUL|INIT\(type\))( .*)?"
)
CONSTANT = re.compile(r'define (SOTTO_[A-Z0-9_]+) (?:"([^"]*)"|(-?\d+))')

Signature = tuple[str, list[tuple[str, str]]]  # return type; type and name of each argument


@dataclass
class Field:
    name: str
    type: str
    offset: int
    size: int


@dataclass
class Struct:
    name: str
    frozen: bool
    fields: list[Field] = field(default_factory=list)
    size: int = 0


@dataclass
class Api:
    texts: dict[str, str] = field(default_factory=dict)  # by header: its declarations only
    where: dict[str, str] = field(default_factory=dict)  # by name: the header that declares it
    structs: dict[str, Struct] = field(default_factory=dict)
    opaque: list[str] = field(default_factory=list)
    scalars: dict[str, str] = field(default_factory=dict)
    enums: dict[str, str] = field(default_factory=dict)  # by constant of an enum: the enum's type
    constants: dict[str, int | str] = field(default_factory=dict)
    callbacks: dict[str, Signature] = field(default_factory=dict)
    functions: dict[str, Signature] = field(default_factory=dict)

    def of(self, name: str) -> Api:
        """Returns the declarations of one header, which may use the types of other headers."""

        def own(names: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in names.items() if self.where[key] == name}

        return replace(
            self,
            opaque=[key for key in self.opaque if self.where[key] == name],
            structs=own(self.structs),
            constants=own(self.constants),
            callbacks=own(self.callbacks),
            functions=own(self.functions),
        )


def read(include: Path, names: list[str]) -> Api:
    """Returns everything that the headers `names` in the folder `include` declare, in that order."""
    return Reader({name: (include / name).read_text() for name in names}).api


class Reader:
    """Reads the headers in one pass. Raises SyntaxError that names the place of a fault."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.api = Api()
        self.sources = sources
        for name, source in sources.items():
            self.api.texts[name] = self.declarations(name, source)
        prelude = "".join(f"typedef int {t};" for t in SIZES if t != "float")
        files = "\n".join(f'# 1 "{name}"\n{text}' for name, text in self.api.texts.items())
        before: c_ast.Node | None = None
        for node in c_parser.CParser().parse(f"{prelude}\n{files}", "prelude").ext:
            if node.coord.file != "prelude":
                self.take(node, before)
                before = node
        docs.check(self.api, sources)

    def declarations(self, name: str, text: str) -> str:
        """Returns the declarations on their original lines, without directives, comments and macros."""
        text = blank(r"/\*.*?\*/", text)
        text = blank(r"^#ifdef __cplusplus\n.*?^#(?:else|endif)", text)
        for line in re.finditer(r"^#\s*((?:.*\\\n)*.*)$", text, re.M):
            if constant := CONSTANT.fullmatch(line[1].strip()):
                self.api.constants[constant[1]] = constant[2] if constant[3] is None else int(constant[3])
                self.api.where[constant[1]] = name
            elif not DIRECTIVES.fullmatch(line[1].strip()):
                raise SyntaxError(f"{name}:{text.count(chr(10), 0, line.start()) + 1}: #{line[1]}")
        text = blank(r"^#(?:[^\n]*\\\n)*[^\n]*$", text)
        return re.sub(r"\bSOTTO_(?:API|CALL)\b", "", text)

    def take(self, node: c_ast.Node, before: c_ast.Node | None) -> None:
        api, type_ = self.api, node.type
        if isinstance(type_, c_ast.Enum) and node.name is None and type_.name is None:
            kind = before.name if isinstance(before, c_ast.Typedef) else ""
            if api.scalars.get(kind) not in ("int32_t", "uint32_t"):
                raise SyntaxError(f"{node.coord}: no typedef of an int32_t or uint32_t before this enum")
            for item in type_.values.enumerators:
                self.name(item)
                api.constants[item.name], api.enums[item.name] = value(item), kind
            return
        self.name(node)
        if isinstance(node, c_ast.Decl) and isinstance(type_, c_ast.FuncDecl):
            self.marked(node, rf"SOTTO_API\s+[\w*\s]+?\bSOTTO_CALL\s+{node.name}\(", "SOTTO_API, SOTTO_CALL")
            api.functions[node.name] = self.signature(type_)
        elif not isinstance(node, c_ast.Typedef):
            raise SyntaxError(f"{node.coord}: {node.name} is neither a type nor a function")
        elif isinstance(type_, c_ast.PtrDecl) and isinstance(type_.type, c_ast.FuncDecl):
            if not node.name.endswith("_fn"):
                raise SyntaxError(f"{node.coord}: {node.name} does not end in _fn")
            self.marked(node, rf"\(SOTTO_CALL\* {node.name}\)\(", "SOTTO_CALL")
            api.callbacks[node.name] = self.signature(type_.type)
        elif not isinstance(type_.type, c_ast.Struct):
            if (base := spell(type_)) not in SIZES:
                raise SyntaxError(f"{node.coord}: {node.name} is no sized number")
            api.scalars[node.name] = base
        elif type_.type.name != node.name:
            raise SyntaxError(f"{node.coord}: struct {type_.type.name} is not called {node.name}")
        elif type_.type.decls is None:
            api.opaque.append(node.name)
        else:
            api.structs[node.name] = self.lay_out(node, type_.type.decls)

    def name(self, node: c_ast.Node) -> None:
        """Records the header of a name. Raises SyntaxError if the name lacks our prefix or is a duplicate."""
        if node.name is None or not node.name.lower().startswith("sotto_") or node.name in self.api.where:
            raise SyntaxError(f"{node.coord}: {node.name} is no name of ours, or a second time the same")
        self.api.where[node.name] = node.coord.file

    def marked(self, node: c_ast.Node, pattern: str, what: str) -> None:
        if not re.search(pattern, self.sources[node.coord.file]):
            raise SyntaxError(f"{node.coord}: {node.name} is not marked {what}")

    def signature(self, node: c_ast.FuncDecl) -> Signature:
        if node.args is None:
            raise SyntaxError(f"{node.coord}: say (void)")
        args = [] if spelled_void(node.args.params) else node.args.params
        if any(isinstance(arg, c_ast.EllipsisParam) or arg.name is None for arg in args):
            raise SyntaxError(f"{node.coord}: an argument has no name")
        if (returned := spell(node.type)) != "void":
            self.measure(node, returned)
        for arg in args:
            self.measure(arg, spell(arg.type))
        return returned, [(spell(arg.type), arg.name) for arg in args]

    def lay_out(self, node: c_ast.Typedef, decls: list[c_ast.Decl]) -> Struct:
        frozen = "Frozen: this struct never grows." in docs.before(
            self.sources[node.coord.file], rf"typedef struct {node.name} \{{"
        )
        struct, align = Struct(node.name, frozen), 1
        for decl in decls:
            if decl.name is None or getattr(decl, "bitsize", None):
                raise SyntaxError(f"{decl.coord}: {node.name} holds a bit-field or a nameless thing")
            type_ = spell(decl.type)
            size, alignment = self.measure(decl, type_)
            if struct.size % alignment:
                raise SyntaxError(f"{decl.coord}: padding before {decl.name}; reorder, or say `reserved`")
            struct.fields.append(Field(decl.name, type_, struct.size, size))
            struct.size, align = struct.size + size, max(align, alignment)
        if struct.size % align:
            raise SyntaxError(f"{node.coord}: padding at the end of {node.name}; say `reserved`")
        if not frozen and (struct.fields[0].name, struct.fields[0].type) != ("struct_size", "uint32_t"):
            raise SyntaxError(f"{node.coord}: {node.name} does not begin with uint32_t struct_size")
        return struct

    def measure(self, node: c_ast.Node, type_: str) -> tuple[int, int]:
        """Returns size and alignment, in bytes, of a type that may be stored or passed."""
        api = self.api
        base = base_type(type_)
        base = api.scalars.get(base, base)
        known = base in SIZES or base in api.structs or base in api.opaque or base in api.callbacks
        if "*" in type_ and (known or base in ("char", "void")):
            return 8, 8
        if base in api.callbacks:
            return 8, 8
        if base in SIZES:
            return SIZES[base], SIZES[base]
        if base in api.structs and api.structs[base].frozen:
            return api.structs[base].size, 8
        raise SyntaxError(f"{node.coord}: {type_} is not in our subset of C")


def blank(pattern: str, text: str) -> str:
    """Removes all matches of a pattern, except their line ends."""
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)


def spelled_void(params: list[c_ast.Node]) -> bool:
    return len(params) == 1 and isinstance(params[0], c_ast.Typename) and spell(params[0]) == "void"


def spell(node: c_ast.Node) -> str:
    """Returns the canonical spelling of a type."""
    const = " const" if "const" in (getattr(node, "quals", None) or []) else ""
    if isinstance(node, c_ast.PtrDecl) and not isinstance(node.type, c_ast.FuncDecl):
        return spell(node.type) + "*" + const
    if isinstance(node, (c_ast.TypeDecl, c_ast.Typename)):
        return (const + " ").lstrip() + spell(node.type)
    if isinstance(node, c_ast.IdentifierType):
        return " ".join(node.names)
    raise SyntaxError(f"{node.coord}: {type(node).__name__} is not in our subset of C")


def value(item: c_ast.Enumerator) -> int:
    """Returns a constant's value. Raises SyntaxError unless it is a plain number that fits an int."""
    node, sign = item.value, 1
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        node, sign = node.expr, -1
    if not isinstance(node, c_ast.Constant) or not -(1 << 31) <= sign * int(node.value, 0) < 1 << 31:
        raise SyntaxError(f"{item.coord}: give {item.name} a plain number")
    return sign * int(node.value, 0)


def base_type(type_: str) -> str:
    """Returns a type without const and pointers."""
    return re.sub(r"\bconst\b|[* ]", "", type_)


def sized(api: Api) -> Iterator[Struct]:
    """Returns the structs that may grow."""
    return (struct for struct in api.structs.values() if not struct.frozen)
