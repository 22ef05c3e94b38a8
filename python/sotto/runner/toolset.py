"""`Toolset`: all tools of a runner: search, code execution, callbacks and MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from .._handle import Unique
from .._values import string, truth, typed, wrong_type
from ..engine import Engine
from ..store import Store
from .coding import CodeExecution
from .errors import RunnerError
from .files import Files
from .refusals import refuse
from .requests import ChatCompletionRequest, ToolChoice
from .searching import EMBEDDERS, SearchCallback, Searching
from .servers import Servers
from .sessions import StoredSession
from .toolkit import Offers, Schema, ToolCallback, Toolkit, told
from .tools import CodeExecutionConfig, McpClientConfigPy


class Toolset(Unique):
    """The tools of a runner. Owns the processes and connections behind them.

    Args:
        callbacks: Functions of tools by name; None: none.

    Raises:
        TypeError: `callbacks` is no mapping of functions.
    """

    def __init__(self, callbacks: Mapping[str, ToolCallback] | None) -> None:
        self._callbacks = _callbacks(callbacks)
        self._search: Searching | None = None
        self._servers: Servers | None = None
        self.code: CodeExecution | None = None

    def open_code(self, config: CodeExecutionConfig | None, engine: Engine, max_sessions: int) -> None:
        """Makes the sandbox of code execution, which ends with the engine."""
        if config is not None:
            typed("code_execution_config", config, CodeExecutionConfig)
            self.code = CodeExecution(config, max_sessions)
            engine._handle.followers.add(self.code)

    def open_servers(self, config: McpClientConfigPy | None) -> None:
        """Connects MCP servers."""
        if config is not None:
            typed("mcp_client_config", config, McpClientConfigPy)
            self._servers = Servers(config)

    def open_search(self, engine: Engine, source: SearchCallback, embedder: str | None) -> None:
        """Makes the search."""
        self._search = Searching(engine, source, embedder)

    def runs(self, request: ChatCompletionRequest, schemas: list[Schema]) -> bool:
        """Returns True if the runner executes a tool of a request."""
        if request.tool_choice is ToolChoice.NoTools:
            return False
        search = self._search is not None and request.web_search_options is not None
        code = self.code is not None and request.enable_code_execution
        return search or code or self._offers(request, []).runs(schemas)

    def kit(
        self, request: ChatCompletionRequest, schemas: list[Schema], stored: StoredSession, files: Files
    ) -> Toolkit:
        """Returns the tools of a request."""
        built_in = []
        if self._search is not None and request.web_search_options is not None:
            built_in.append(self._search.tool(request.web_search_options))
        if self.code is not None and request.enable_code_execution:
            built_in.append(self.code.tool(stored, files))
        made = self._offers(request, built_in).kit(schemas, files)
        first = sorted(made.tools, key=lambda one: one.source != "sandbox")  # it reads which files to write
        return Toolkit(told(first, request.files or ()), made.schemas)

    def close(self) -> None:
        """Ends processes and connections. A second call does nothing."""
        with ExitStack() as ends:
            for one in (self._search, self._servers, self.code):
                if one is not None:
                    ends.callback(one.close)

    def _offers(self, request: ChatCompletionRequest, built_in: list[Any]) -> Offers:
        remote = self._servers
        return Offers(
            built_in,
            self._callbacks,
            [] if remote is None else remote.tools,
            remote is not None and remote.all,
            request.tool_dispatch_url,
        )


def checked_search(enable_search: bool, embedder: str | None, source: object) -> bool:
    """Checks the arguments about search. Returns True if there is one.

    Raises:
        RunnerError: Search is enabled, and there is nothing that searches.
    """
    wanted = truth("enable_search", enable_search)
    if embedder is not None:
        string("search_embedding_model", embedder)
    searches = callable(source) or isinstance(source, Store) or hasattr(source, "find")
    if source is not None and not searches:
        raise wrong_type("search_callback", source, "a function, a source of sotto.agent.Search, or None")
    if wanted and source is None:
        refuse("enable_search without search_callback")
    return wanted


def checked_embedder(engine: Engine, name: str | None) -> str | None:
    """Checks that a model embeds texts, and returns its id.

    Raises:
        RunnerError: The model is unknown, or embeds no texts.
    """
    if name is None:
        return None
    if not engine.model_is_loaded(name):
        known = ", ".join(f"'{one}'" for one in EMBEDDERS)
        raise RunnerError(
            f"invalid search_embedding_model '{name}': expected {known}, or the id of a model in `engine`"
        )
    engine.embeddings(["text"], model=name)
    return name


def _callbacks(given: Mapping[str, ToolCallback] | None) -> dict[str, ToolCallback]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise wrong_type("tool_callbacks", given, "a mapping of functions by name, or None")
    for name, one in given.items():
        string("name in tool_callbacks", name)
        if not callable(one):
            raise wrong_type(f"tool_callbacks['{name}']", one, "a function")
    return dict(given)
