"""Tools of `sotto.agent`: schemas of annotations, arguments, names, and what is refused."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sotto
from sotto.agent import CallContext, Tool, tool
from sotto.agent.shape import NotRequired, shape_of
from sotto.agent.toolbox import Toolbox


class Side(enum.Enum):
    NORTH = "north"
    SOUTH = "south"


@dataclasses.dataclass
class Place:
    room: str
    floor: int = 0


class Price(TypedDict):
    coins: int
    currency: NotRequired[Literal["copper", "silver"]]


@dataclasses.dataclass
class Node:
    name: str
    next: list[Node]


def schema(annotation: Any) -> dict[str, Any]:
    return shape_of(annotation, "x").schema


def test_a_function_becomes_a_tool() -> None:
    @tool(permission="ask", kind="gate")
    def open_gate(gate: Side, wide: bool = False, place: Place | None = None) -> str:
        """Opens a gate
        of the town.

        Args:
            gate: Which gate,
                of two.
            wide (bool): Both wings.

        Returns:
            What happened.
        """
        return f"{gate.name} {wide} {place}"

    place = {
        "type": "object",
        "properties": {"room": {"type": "string"}, "floor": {"type": "integer"}},
        "required": ["room"],
        "additionalProperties": False,
    }
    assert open_gate.schema == {
        "type": "function",
        "function": {
            "name": "open_gate",
            "description": "Opens a gate of the town.",
            "parameters": {
                "type": "object",
                "properties": {
                    "gate": {"enum": ["north", "south"], "description": "Which gate, of two."},
                    "wide": {"type": "boolean", "description": "Both wings."},
                    "place": {"anyOf": [place, {"type": "null"}]},
                },
                "required": ["gate"],
                "additionalProperties": False,
            },
        },
    }
    assert open_gate(Side.SOUTH) == "SOUTH False None"
    read = open_gate.read({"gate": "north", "place": {"room": "hall"}}, "arguments")
    assert open_gate.run(read, CallContext("open_gate")) == "NORTH False Place(room='hall', floor=0)"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (list, {"type": "array", "items": {}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Annotated[int, "A count."], {"type": "integer", "description": "A count."}),
        (
            Price,
            {
                "type": "object",
                "properties": {"coins": {"type": "integer"}, "currency": {"enum": ["copper", "silver"]}},
                "required": ["coins"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_schemas_of_annotations(annotation: Any, expected: dict[str, Any]) -> None:
    assert schema(annotation) == expected


# JSON schema takes 1.0 for an integer; the reader wants a number without a point.
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, one: isinstance(one, int) and not isinstance(one, bool)
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.sampled_from(["north", "a", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["room", "floor", "coins", "currency"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.sampled_from(
        [
            str,
            int,
            bool,
            float,
            Side,
            Place,
            Price,
            list[int],
            dict[str, Place],
            int | None,
            list[Price | str],
        ]
    ),
    JSON,
)
def test_what_is_read_is_what_the_schema_allows(annotation: Any, value: Any) -> None:
    shape = shape_of(annotation, "x")
    allowed = STRICT(shape.schema).is_valid(value)
    try:
        shape.read(value, "x")
        read = True
    except sotto.ArgumentError as error:
        assert str(error).startswith(("invalid x", "missing x", "invalid field"))
        read = False
    assert read == allowed


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (Node, "does not contain itself"),
        (bytes, "annotation of x 'bytes'"),
        (dict[int, str], "key of x"),
        (tuple[int, str], "tuple"),
        (object, "annotation of x"),
        (complex, "annotation of x"),
        (functools.reduce(lambda inner, _: list[inner], range(20), int), "levels"),  # type: ignore[valid-type]
        (Literal[b"a"], "value of x"),
        ({}, "annotation of x"),
    ],
)
def test_annotations_without_json_are_refused(annotation: Any, why: str) -> None:
    with pytest.raises(sotto.ArgumentError, match=why):
        shape_of(annotation, "x")


def test_functions_that_cannot_be_tools() -> None:
    def untyped(gate):  # type: ignore[no-untyped-def]
        pass

    def variadic(*gates: str) -> None: ...

    def positional(gate: str, /) -> None: ...

    def unresolved(gate: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(sotto.ArgumentError, match=r"missing annotation of untyped\(gate\)"):
        tool(untyped)
    for function in (variadic, positional):
        with pytest.raises(sotto.ArgumentError, match="passed by its name"):
            tool(function)
    with pytest.raises(sotto.ArgumentError, match="Nowhere"):
        tool(unresolved)
    with pytest.raises(sotto.ArgumentError, match="name"):
        tool(lambda: None)
    for odd in (7, "open_gate", None, Side):
        with pytest.raises(TypeError):
            Toolbox([odd])


def test_bound_methods_partials_and_objects_are_tools() -> None:
    class Gate:
        def open(self, wide: bool) -> str:
            return f"open {wide}"

        def __call__(self, wide: bool) -> str:
            return f"called {wide}"

    def both(gate: str, wide: bool) -> str:
        return f"{gate} {wide}"

    bound = [
        tool(Gate().open),
        tool(name="gate")(Gate()),
        tool(name="both")(functools.partial(both, "north")),
    ]
    said = [one.run(one.read({"wide": True}, "arguments"), CallContext(one.name)) for one in bound]
    assert said == ["open True", "called True", "north True"]


@pytest.mark.parametrize("name", ["open gate", "", "a" * 65, "gåte", "a.b", "a\n"])
def test_names_that_no_model_can_call(name: str) -> None:
    with pytest.raises(sotto.ArgumentError, match="invalid name"):
        tool(name=name)(lambda: None)
    with pytest.raises(sotto.ArgumentError, match="invalid name"):
        Tool.from_schema({"type": "function", "function": {"name": name}}, print)


def test_names_that_collide_and_too_many_tools() -> None:
    @tool
    def wave() -> None: ...

    with pytest.raises(sotto.ArgumentError, match="one tool 'wave', not two"):
        Toolbox([wave, wave])
    assert len(Toolbox([wave, wave.renamed("bow")])) == 2
    with pytest.raises(sotto.ArgumentError, match="at most 128, not 500"):
        Toolbox([wave.renamed(f"wave_{at}") for at in range(500)])
    for odd in ("wave", b"wave", 3):
        with pytest.raises(TypeError):
            Toolbox(odd)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"permission": "maybe"},
        {"permission": 1},
        {"kind": ""},
        {"time_limit": 0},
        {"time_limit": "long"},
        {"read_only": 1},
        {"untrusted": "yes"},
        {"priorities": ["urgent"]},
        {"priorities": "normal"},
        {"characters": "mara"},
        {"characters": [3]},
        {"colour": "red"},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises((sotto.ArgumentError, TypeError)):
        tool(name="wave", **options)(lambda: None)


def test_openai_schemas_with_callbacks() -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    given = {
        "type": "function",
        "function": {"name": "count", "description": "Counts.", "parameters": parameters},
    }
    counted = Tool.from_schema(given, lambda arguments: arguments["n"] + 1, kind="maths")
    assert counted.schema == given and counted.kind == "maths"
    assert counted.run(counted.read({"n": 2}, "arguments"), CallContext("count")) == 3
    with pytest.raises(sotto.ArgumentError, match=r"invalid arguments\.n: 0 is less than"):
        counted.read({"n": 0}, "arguments")


def test_schemas_that_are_none() -> None:
    cyclic: dict[str, Any] = {"type": "object"}
    cyclic["properties"] = {"self": cyclic}
    for parameters in (cyclic, {"type": "objekt"}, {"type": "object", "properties": 3}, "text", [1]):
        with pytest.raises((sotto.ArgumentError, TypeError), match="parameters"):
            Tool.from_schema({"type": "function", "function": {"name": "a", "parameters": parameters}}, print)
    for odd in ({}, {"type": "retrieval"}, "a", None, {"function": 3}):
        with pytest.raises(sotto.ArgumentError, match="invalid schema"):
            Tool.from_schema(odd, print)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callback"):
        Tool.from_schema({"type": "function", "function": {"name": "a"}}, "print")  # type: ignore[arg-type]


def test_references_of_schemas_are_not_fetched() -> None:
    parameters = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/none.json"}}}
    made = Tool.from_schema({"type": "function", "function": {"name": "a", "parameters": parameters}}, print)
    with pytest.raises(sotto.ArgumentError, match="invalid parameters of tool 'a'"):
        made.read({"a": 1}, "arguments")


def test_a_schema_that_refers_to_itself_reads_nested_arguments() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    made = Tool.from_schema({"type": "function", "function": {"name": "a", "parameters": node}}, print)
    assert made.read({"next": {"next": {}}}, "arguments")
    with pytest.raises(sotto.ArgumentError, match=r"arguments\.next\.next"):
        made.read({"next": {"next": {"other": 1}}}, "arguments")
