"""`Tool`: what a model may call, made of a Python function or of an OpenAI schema and a callback."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_type_hints, overload

from .._json import dump
from .._typing import Unpack
from .._values import invalid, number, string, truth, wrong_type
from ..errors import ArgumentError
from ..terms import PRIORITIES, Priority
from .context import CallContext
from .docstring import read_docstring
from .options import Permission, ToolOptions, permission_of
from .shape import Read, Schema, Shape, object_shape, shape_of

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_FORM = '{"type": "function", "function": {"name": ..., "parameters": ...}}'

Run = Callable[[Any, CallContext], Any]  # arguments as `Tool.read()` returns them


@dataclass(frozen=True)
class Tool:
    """A tool: what the model reads of it, what runs, and the rules for it. See `tool()` and `from_schema()`.

    Attributes:
        name: Name that the model calls, 1 to 64 letters, digits, "_" and "-".
        description: What it does, in a sentence for the model.
        parameters: JSON schema of its arguments, an object.
        source: "function", "schema", "dispatch", "search", "sandbox" or "mcp".
        options: The rules, see `ToolOptions`.
    """

    name: str
    description: str
    parameters: Schema
    source: str
    options: ToolOptions
    run: Run = field(repr=False, compare=False)
    read: Read = field(repr=False, compare=False)
    function: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ArgumentError(invalid("name", self.name, '1 to 64 letters, digits, "_" or "-"'))
        dump(f"parameters of tool '{self.name}'", self.parameters)
        object.__setattr__(self, "options", checked_options(self.name, self.options))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function that the tool was made of, without any rule."""
        return self.function(*args, **kwargs)

    @property
    def kind(self) -> str:
        """Kind of the tool, for the permissions of kinds."""
        return self.options.get("kind", "custom")

    @property
    def permission(self) -> Permission | None:
        """Permission of the tool; None: that of its kind, or the default."""
        return self.options.get("permission")

    @property
    def read_only(self) -> bool:
        """True if the tool changes nothing."""
        return self.options.get("read_only", False)

    @property
    def untrusted(self) -> bool:
        """True if its results hold text of others."""
        return self.options.get("untrusted", False)

    @property
    def schema(self) -> Schema:
        """The tool as an entry of `tools` in an OpenAI request."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def allowed(self, character: str, priority: Priority) -> bool:
        """Returns True if a character may call the tool in a turn of this priority."""
        characters, priorities = self.options.get("characters"), self.options.get("priorities")
        return (characters is None or character in characters) and (
            priorities is None or priority in priorities
        )

    def renamed(self, name: str) -> Tool:
        """Returns the tool under another name, for example because two have the same."""
        return replace(self, name=name)

    @staticmethod
    def from_schema(
        schema: Mapping[str, Any], callback: Callable[[dict[str, Any]], Any], **options: Unpack[ToolOptions]
    ) -> Tool:
        """Makes a tool of an OpenAI schema. Needs the extra `agent`, which checks the arguments.

        Args:
            schema: `{"type": "function", "function": {"name": ..., "parameters": ...}}`.
            callback: Function or coroutine function that gets the arguments as a dict.
            **options: See `ToolOptions`.

        Raises:
            ArgumentError: The schema is not one of a function, or a JSON schema that contains itself.
            ImportError: The extra `agent` is not installed.
        """
        if not callable(callback):
            raise wrong_type("callback", callback, "a function")
        return described(schema, lambda given, context: callback(given), "schema", callback, options)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str = ..., description: str = ..., **options: Unpack[ToolOptions]
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Makes a tool of a Python function or coroutine function. A decorator, with or without arguments.

    The JSON schema of the arguments comes from the annotations, the descriptions from the docstring, whose
    section `Args:` is in Google style. A parameter annotated as `CallContext` gets the context of the call.

    Args:
        function: The function. A function runs on a thread of its own, a coroutine function on the loop.
        name: Name of the tool; None: that of the function.
        description: What it does; None: the beginning of the docstring.
        **options: See `ToolOptions`.

    Raises:
        ArgumentError: A parameter has no annotation, or one that JSON has not.

    >>> @tool(permission="ask")
    ... def open_gate(gate: Literal["north", "south"]) -> str:
    ...     '''Opens a gate of the town.'''
    ...     return world.open(gate)
    """
    if function is None:
        return partial(_of_function, name=name, description=description, options=options)
    return _of_function(function, name=name, description=description, options=options)


def described(schema: Mapping[str, Any], run: Run, source: str, function: Any, options: ToolOptions) -> Tool:
    """Returns a tool of an OpenAI schema, whose arguments are checked with the schema."""
    from .validation import reader

    about = schema.get("function") if isinstance(schema, Mapping) else None
    if not isinstance(about, Mapping) or schema.get("type", "function") != "function":
        raise ArgumentError(invalid("schema", schema, _FORM))
    parameters = about.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        raise wrong_type("schema.function.parameters", parameters, "a JSON schema")
    name, plain = about.get("name"), dict(parameters)
    made = Tool(
        name,  # type: ignore[arg-type]  # checked there
        str(about.get("description") or ""),
        plain,
        source,
        options,
        run,
        lambda value, path: value,
        function,
    )
    return replace(made, read=reader(made.name, plain))


def as_tool(given: Any) -> Tool:
    """Returns a tool as it is, and a tool of a function."""
    if isinstance(given, Tool):
        return given
    if not callable(given):
        raise wrong_type("tools", given, "functions and Tools")
    return _of_function(given, name=None, description=None, options={})


def _of_function(function: Any, *, name: str | None, description: str | None, options: ToolOptions) -> Tool:
    if not callable(function) or isinstance(function, type):
        raise wrong_type("function", function, "a function")
    called = name if name is not None else getattr(function, "__name__", type(function).__name__)
    said, texts = read_docstring(function)
    shape, context = _signature(function, called, texts)

    def run(arguments: Any, given: CallContext) -> Any:
        return function(**arguments, **({} if context is None else {context: given}))

    about = said if description is None else description
    return Tool(called, about, shape.schema, "function", options, run, shape.read, function)


def _signature(function: Any, called: str, texts: Mapping[str, str]) -> tuple[Shape, str | None]:
    """Returns the shape of a function's arguments, and its parameter for the context."""
    plain = function
    while isinstance(plain, partial):
        plain = plain.func
    try:
        parameters = inspect.signature(function).parameters
        hints = get_type_hints(
            plain if inspect.isroutine(plain) else type(plain).__call__, include_extras=True
        )
    except (NameError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"invalid tool '{called}': expected annotations that can be evaluated; {error}"
        ) from None
    fields: dict[str, Shape] = {}
    required: list[str] = []
    context = None
    for name, one in parameters.items():
        path = f"{called}({name})"
        if one.kind in _VARIADIC or one.kind == inspect.Parameter.POSITIONAL_ONLY:
            raise ArgumentError(f"invalid parameter {path}: expected one that is passed by its name")
        if name not in hints:
            raise ArgumentError(f"missing annotation of {path}: the JSON schema is made of it")
        if hints[name] is CallContext:
            context = name
            continue
        shape = shape_of(hints[name], path)
        if (text := texts.get(name)) and "description" not in shape.schema:
            shape = replace(shape, schema={**shape.schema, "description": text})
        fields[name] = shape
        if one.default is inspect.Parameter.empty:
            required.append(name)
    return object_shape(fields, required, lambda found: found), context


def checked_options(name: str, options: ToolOptions) -> ToolOptions:
    """Returns the rules for a tool, checked. `name` is for the errors."""
    for key in options:
        if key not in ToolOptions.__annotations__:
            known = ", ".join(ToolOptions.__annotations__)
            raise TypeError(f"invalid option '{key}' of tool '{name}': expected {known}")
    made = ToolOptions(**options)
    if (given := made.get("permission")) is not None:
        permission_of("permission", given)
    string("kind", made.get("kind", "custom"))
    for key in ("read_only", "untrusted"):
        truth(key, made.get(key, False))
    if (seconds := made.get("time_limit")) is not None and number("time_limit", seconds) <= 0:
        raise ArgumentError(invalid("time_limit", seconds, "a positive number of seconds"))
    for word in _words("priorities", made.get("priorities")):
        if word not in PRIORITIES:
            raise ArgumentError(invalid("priorities", word, f"some of {', '.join(PRIORITIES)}"))
    _words("characters", made.get("characters"))
    return made


def _words(name: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_type(name, given, "several texts, or None")
    return tuple(string(name, one) for one in given)
