"""`Toolkit`: the tools of a request, by which of the runner's roads each is executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..agent import CallContext, Dispatch, Tool
from ..agent.tool import described
from .errors import RunnerError
from .files import Files
from .responses import File
from .tools import RequestedFile

ToolCallback = Callable[[str, dict[str, Any]], Any]
Schema = dict[str, Any]


class Toolkit(NamedTuple):
    """The tools of a request.

    Attributes:
        tools: Those that the runner executes.
        schemas: The schemas of the others, which the caller executes.
    """

    tools: list[Tool]
    schemas: list[Schema]


class Offers(NamedTuple):
    """What the runner has for a request, in the order of precedence.

    Attributes:
        built_in: Search and code execution.
        callbacks: Functions by name.
        mcp: Tools of MCP servers.
        all_mcp: Offer all tools of MCP servers, also those that the request does not name.
        dispatch_url: Address that runs the other tools; None: none does.
    """

    built_in: Sequence[Tool]
    callbacks: Mapping[str, ToolCallback]
    mcp: Sequence[Tool]
    all_mcp: bool
    dispatch_url: str | None

    def runs(self, schemas: Sequence[Schema]) -> bool:
        """Returns True if the runner executes a tool of a request with these schemas."""
        names = {name_of(one) for one in schemas}
        if self.built_in or (self.all_mcp and self.mcp) or names & self.callbacks.keys():
            return True
        return bool(names & {one.name for one in self.mcp}) or (bool(names) and self.dispatch_url is not None)

    def kit(self, schemas: Sequence[Schema], files: Files) -> Toolkit:
        """Returns the tools of a request. A name has one tool: that of the road with the highest precedence.

        Raises:
            RunnerError: Some tools have no road, beside others that the runner executes.
        """
        made = {one.name: one for one in self.built_in}
        remote = {one.name: one for one in self.mcp if one.name not in {*made, *self.callbacks}}
        own, rest = [], []
        for one in schemas:
            name = name_of(one)
            if name in made:
                continue
            if name in self.callbacks:
                run = self.callbacks[name]
                own.append(described(one, _runs(name, run, files), "schema", run, {}))
            elif name not in remote:
                rest.append(one)
            elif not self.all_mcp:
                own.append(remote[name])
        tools = [*made.values(), *own, *(remote.values() if self.all_mcp else ())]
        if self.dispatch_url is not None:  # the host's own server, whose results are no text of strangers
            return Toolkit([*tools, *Dispatch(self.dispatch_url, rest, untrusted=False).tools], [])
        if tools and rest:
            names = ", ".join(f"'{name_of(one)}'" for one in rest)
            raise RunnerError(
                f"invalid tool_schemas: expected a callback for each tool, or for none; {names} has none; "
                "add it to tool_callbacks, or set tool_dispatch_url"
            )
        return Toolkit(tools, rest)


def name_of(schema: Schema) -> str:
    """Returns the name of the tool of a schema; "None" if it has none."""
    about = schema.get("function")
    return str(about.get("name") if isinstance(about, Mapping) else None)


def told(tools: list[Tool], wanted: Sequence[RequestedFile]) -> list[Tool]:
    """Returns tools of which the first one's description has the files that are wanted."""
    if not tools or not wanted:
        return tools
    lines = "; ".join(
        one.name
        + (f" ({one.format})" if one.format else "")
        + (f": {one.description}" if one.description else "")
        for one in wanted
    )
    first = replace(tools[0], description=f"{tools[0].description} Files that have to be written: {lines}")
    return [first, *tools[1:]]


def _runs(name: str, callback: ToolCallback, files: Files) -> Callable[[Any, CallContext], Any]:
    def run(arguments: Any, context: CallContext) -> Any:
        result = callback(name, arguments)
        if not isinstance(result, File):
            return result
        made = files.keep(result, context)
        return f"made the file {made.name} ({made.bytes} bytes){': ' + made.preview if made.preview else ''}"

    return run
