"""A class of native/ is small enough to be understood, and its members are defined in one folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

MAX_FUNCTIONS = 25  # declared, with constructors and operators; deleted ones aside
MAX_MEMBERS = 12  # data members that are not static
MAX_RECORD_MEMBERS = 25  # of a record, which has constructors, a destructor and defaulted functions at most
SOURCES = {".h", ".hpp", ".cpp"}
CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
WRAPPERS = ("pointer_declarator", "reference_declarator", "parenthesized_declarator", "array_declarator")

MACROS = re.compile(r"\b(SOTTO_CALL|VKAPI_ATTR|VKAPI_CALL)\b")  # calling conventions, which are no C++

PARSER = Parser(Language(tree_sitter_cpp.language()))


@dataclass
class Class:
    """What a class declares."""

    name: str
    path: PurePosixPath
    functions: int = 0
    behaviour: int = 0  # functions that a record does not have
    members: int = 0
    folders: set[str] = field(default_factory=set)  # in which its member functions are defined

    def problems(self) -> Iterator[str]:
        """Everything that is wrong with it."""
        where = f"{self.path}: {self.name}"
        limit = MAX_MEMBERS if self.behaviour else MAX_RECORD_MEMBERS
        if self.functions > MAX_FUNCTIONS:
            yield f"{where} declares {self.functions} functions; at most {MAX_FUNCTIONS}: split it"
        if self.members > limit:
            yield f"{where} has {self.members} data members; at most {limit}: split it"
        if len(self.folders) > 1:
            yield f"{where} is defined in several folders: {', '.join(sorted(self.folders))}"


def text_of(node: Node | None) -> str:
    """The source of a node; empty if there is none."""
    return node.text.decode() if node is not None and node.text is not None else ""


def function_in(declarator: Node | None) -> Node | None:
    """The function declarator of a declarator; None if it declares an object, such as a function pointer."""
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in WRAPPERS:
            inner = next((child for child in declarator.named_children if "declarator" in child.type), None)
        declarator = inner
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    return None if inner is not None and inner.type == "parenthesized_declarator" else declarator


def declared(body: Node) -> Iterator[Node]:
    """The declarations in a class's body, also those below #if and template<>."""
    for child in body.named_children:
        if child.type.startswith("preproc_") or child.type == "template_declaration":
            yield from declared(child)
        else:
            yield child


def count(found: Class, node: Node) -> None:
    """Adds what one declaration in a class's body declares."""
    if node.type not in ("field_declaration", "function_definition", "declaration"):
        return
    declarators = node.children_by_field_name("declarator")
    functions = [one for one in map(function_in, declarators) if one is not None]
    if any(child.type == "delete_method_clause" for child in node.named_children):
        return
    found.functions += len(functions)
    if not any(child.type == "default_method_clause" for child in node.named_children):
        name = found.name.rpartition("::")[2]
        names = [text_of(one.child_by_field_name("declarator")) for one in functions]
        found.behaviour += sum(one not in (name, f"~{name}") for one in names)
    is_static = any(text_of(child) == "static" for child in node.named_children)
    if not functions and node.type != "function_definition" and not is_static:
        found.members += len(declarators) or is_anonymous_union(node)


def is_anonymous_union(node: Node) -> bool:
    """Returns true if a declaration without a declarator has members of its own in the class."""
    kind = node.child_by_field_name("type")
    return kind is not None and kind.type in CLASSES and kind.child_by_field_name("name") is None


def classes(path: PurePosixPath, node: Node, scope: str = "") -> Iterator[Class]:
    """Every class that is defined below a node, and those nested in it."""
    for child in node.named_children:
        inside = scope
        body = child.child_by_field_name("body")
        if child.type in CLASSES and body is not None:
            inside = "::".join(
                filter(None, (scope, text_of(child.child_by_field_name("name")) or "anonymous"))
            )
            found = Class(inside, path)
            for one in declared(body):
                count(found, one)
            yield found
        elif child.type == "namespace_definition":
            inside = "::".join(filter(None, (scope, text_of(child.child_by_field_name("name")))))
        yield from classes(path, child, inside)


def definitions(node: Node, scope: str = "") -> Iterator[str]:
    """The qualified names of functions that are defined outside of a class's body."""
    for child in node.named_children:
        inside = scope
        if child.type == "namespace_definition":
            inside = "::".join(filter(None, (scope, text_of(child.child_by_field_name("name")))))
        elif child.type == "function_definition":
            function = function_in(child.child_by_field_name("declarator"))
            name = function.child_by_field_name("declarator") if function is not None else None
            if name is not None and name.type == "qualified_identifier":
                yield "::".join(filter(None, (scope, text_of(name))))
            continue
        if child.type not in CLASSES:
            yield from definitions(child, inside)


def violations(files: Mapping[PurePosixPath, str]) -> list[str]:
    """Everything in these files of native/ that breaks the rule."""
    trees = {path: PARSER.parse(MACROS.sub("", text).encode()).root_node for path, text in files.items()}
    found = [one for path, tree in trees.items() for one in classes(path, tree)]
    by_name: dict[str, list[Class]] = defaultdict(list)
    for one in found:
        by_name[one.name].append(one)
    for path, tree in trees.items():
        for name in definitions(tree):
            for one in nearest(by_name.get(name.rpartition("::")[0], []), path):
                one.folders.add(path.parent.as_posix())
    return sorted(problem for one in found for problem in one.problems())


def nearest(candidates: list[Class], path: PurePosixPath) -> list[Class]:
    """Of classes of one name, those that a file may define: of its own, or else of headers."""
    own = [one for one in candidates if one.path == path]
    return own or [one for one in candidates if one.path.suffix != ".cpp"]


def of(functions: int, members: int) -> str:
    """A class with so many functions and data members."""
    declared = [f"void f{i}();" for i in range(functions)] + [f"int m{i}_ = 0;" for i in range(members)]
    return "class A {\n" + "\n".join(declared) + "\n};\n"


OFFENCES = {  # the files of each
    "too many functions": {"native/core/a/a.hpp": of(26, 1)},
    "too many members": {"native/core/a/a.hpp": of(1, 13)},
    "too many members of a record": {"native/core/a/a.hpp": of(0, 26)},
    "members below #if": {"native/core/a/a.hpp": of(1, 12).replace("};", "#if X\nint last_;\n#endif\n};")},
    "a nested class": {"native/core/a/a.hpp": "namespace n {\nclass B {\n" + of(1, 13) + "};\n}\n"},
    "function pointers as members": {
        "native/core/a/a.hpp": of(1, 12).replace("};", "void (*last_)(int);\n};")
    },
    "a function with a calling convention": {
        "native/core/a/a.hpp": of(25, 1).replace("};", "static int SOTTO_CALL last(void* context);\n};")
    },
    "a destructor and behaviour": {"native/core/a/a.hpp": of(1, 12).replace("};", "~A();\nint a_, b_;\n};")},
    "defined in two folders": {
        "native/core/a/a.hpp": "namespace n {\nclass A { void f(); void g(); };\n}\n",
        "native/core/a/a.cpp": "namespace n {\nvoid A::f() {}\n}\n",
        "native/core/b/a.cpp": "namespace n {\nvoid A::g() {}\n}\n",
    },
    "defined in two folders, returning a reference": {
        "native/core/a/a.hpp": "class A { void f(); int& g(); };\n",
        "native/core/a/a.cpp": "void A::f() {}\n",
        "native/core/b/a.cpp": "int& A::g() { return x; }\n",
    },
}
GOOD = {
    "as large as may be": {"native/core/a/a.hpp": of(25, 12)},
    "a record": {"native/core/a/a.hpp": of(0, 25).replace("};", "A();\n~A();\nA(const A&) = default;\n};")},
    "deleted functions": {"native/core/a/a.hpp": of(25, 12).replace("};", "A(const A&) = delete;\n};")},
    "static members": {"native/core/a/a.hpp": of(25, 12).replace("};", "static constexpr int kMax = 1;\n};")},
    "one class in each of two files": {
        "native/core/a/a.cpp": "namespace n {\nclass A { void f(); };\nvoid A::f() {}\n}\n",
        "native/core/b/a.cpp": "namespace n {\nclass A { void f(); };\nvoid A::f() {}\n}\n",
    },
    "functions of one name without a class": {
        "native/core/a/a.cpp": "void n::f() {}\n",
        "native/core/b/a.cpp": "void n::f() {}\n",
    },
}


def controls() -> list[str]:
    """Offences that the rule lets through, and what it refuses though it is right."""

    def found(files: dict[str, str]) -> list[str]:
        return violations({PurePosixPath(path): text for path, text in files.items()})

    wrong = [f"the class rule lets {name} through" for name, files in OFFENCES.items() if not found(files)]
    return wrong + [f"{name}: {line}" for name, files in GOOD.items() for line in found(files)]
