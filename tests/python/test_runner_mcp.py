"""The MCP servers of a `Runner`: transports, prefixes, limits, precedence, and servers that misbehave."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sotto
from mcp_program import good
from mcp_servers import FOLDER, TOKEN, listening, over_http, over_websocket
from runner_acting import Made, plays_of, records, results, runners
from runner_house import HOUSE, chat
from runner_script import HI, user
from sotto.agent import McpServers
from sotto.runner import (
    AgentPermission,
    AgentToolApproval,
    AgentToolKind,
    AgentToolSource,
    McpClientConfigPy,
    McpServerConfigPy,
    McpServerSourcePy,
    Runner,
    RunnerError,
    ToolChoice,
    WebSearchOptions,
    servers,
)

READ = ("board_read_board", {"name": "north"})
ASK = plays_of(READ)
TEXT = "north: wolves in the hills"


@pytest.fixture
def made(engine: sotto.Engine) -> Iterator[Made]:
    with runners(engine) as make:
        yield make


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server that behaves."""
    with over_http(good().streamable_http_app()) as found:
        yield found


def board(url: str, **fields: Any) -> McpServerConfigPy:
    """A server over HTTP."""
    given = {"id": "one", "name": "board", "tool_prefix": "board", **fields}
    return McpServerConfigPy(source=McpServerSourcePy.Http(url, None, None), **given)


def program() -> McpServerConfigPy:
    """A server over stdio."""
    arguments = [str(FOLDER / "mcp_program.py"), "good", ""]
    source = McpServerSourcePy.Process(sys.executable, arguments, str(FOLDER), {"GAME": "Bree"})
    return McpServerConfigPy("one", "board", source, tool_prefix="board")


@contextmanager
def config(kind: str) -> Iterator[McpServerConfigPy]:
    """A server of each transport."""
    if kind == "Process":
        yield program()
        return
    where = over_http(good().streamable_http_app()) if kind == "Http" else over_websocket(good())
    with where as url:
        source = getattr(McpServerSourcePy, kind)(url, 20, {"X-Game": "Bree"})
        yield McpServerConfigPy("one", "board", source, tool_prefix="board", bearer_token=TOKEN)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.row(*rows))
        for kind, rows in (
            ("Http", ["E-594", "E-604"]),
            ("Process", ["E-595"]),
            ("WebSocket", ["E-596"]),
        )
    ],
)
@pytest.mark.row("E-027", "E-602", "E-605")
def test_a_server(made: Made, kind: str) -> None:
    with config(kind) as one:
        runner = made(ASK, mcp_client_config=McpClientConfigPy([one]))
        (told,) = records(chat(runner, HI))
        assert (told.name, told.result_content) == (READ[0], TEXT)
        assert chat(runner, HI, tool_choice=ToolChoice.NoTools).agentic_tool_calls is None
        runner.close()


@pytest.mark.row("E-098")
def test_the_prefix(made: Made, url: str) -> None:
    servers = [
        board(url),
        board(url, id="two", name="second", tool_prefix=None),
        board(url, id="three", name="3", tool_prefix=""),
    ]
    runner = made(plays_of(("read_board", {"name": "east"})), mcp_client_config=McpClientConfigPy(servers))
    assert results(chat(runner, HI)) == ["east: wolves in the hills"]
    names = [one.name for one in runner._tools._servers.tools if one.name.endswith("read_board")]  # type: ignore[union-attr]
    (second,) = (name for name in names if name not in ("read_board", "board_read_board"))
    assert second.startswith("mcp_") and len(second) == len("mcp_12345678_read_board")


@pytest.mark.row("E-601", "E-606")
def test_servers_that_are_used(made: Made, url: str) -> None:
    broken = McpServerConfigPy("b", "b", McpServerSourcePy.Process("/no/such", [], None, None), enabled=False)
    runner = made(ASK, mcp_client_config=McpClientConfigPy([broken, board(url)]))
    assert results(chat(runner, HI)) == [TEXT]
    assert chat(made(ASK, mcp_client_config=McpClientConfigPy([broken])), HI).agentic_tool_calls is None


@pytest.mark.row("E-607")
def test_tools_that_the_request_names(made: Made, url: str) -> None:
    runner = made(ASK, mcp_client_config=McpClientConfigPy([board(url)], auto_register_tools=False))
    assert chat(runner, HI).agentic_tool_calls is None
    schema = json.dumps({"type": "function", "function": {"name": READ[0]}})
    assert results(chat(runner, HI, tool_schemas=[schema])) == [TEXT]


@pytest.mark.row("E-608")
def test_the_time_limit(made: Made, url: str) -> None:
    plays = plays_of(("board_wait", {"seconds": 30}))
    runner = made(plays, mcp_client_config=McpClientConfigPy([board(url)], tool_timeout_secs=1))
    assert results(chat(runner, HI)) == ["error: no result within 1 s"]


@pytest.mark.row("E-609")
def test_the_limit_of_calls_at_once(made: Made, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    where = over_http(good(str(notes)).streamable_http_app())
    with where as url:
        both = [board(url), board(url, id="two", name="second", tool_prefix="second")]
        _at_once(made, both)
    assert notes.read_text().splitlines() == ["waiting 1"] * 4


def _at_once(made: Made, both: list[McpServerConfigPy]) -> None:
    """Four chats call two servers at once, one call after another."""
    plays = plays_of(("board_wait", {"seconds": 0.1})) | {
        "you": plays_of(("second_wait", {"seconds": 0.1}))["hi"]
    }
    runner = made(plays, mcp_client_config=McpClientConfigPy(both, max_concurrent_calls=1))
    tool = next(one for one in runner._tools._servers.tools if one.name == "second_wait")  # type: ignore[union-attr]
    assert runner._tools._servers._slots._value == 1 and tool.source == "mcp"  # type: ignore[union-attr]
    threads = [threading.Thread(target=chat, args=(runner, said)) for said in (HI, user("you")) * 2]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    runner.close()


def test_an_approval(made: Made, url: str) -> None:
    asked: list[AgentToolApproval] = []
    runner = made(ASK, mcp_client_config=McpClientConfigPy([board(url)]))
    fields = {
        "agent_permission": AgentPermission.Ask,
        "agent_approval_callback": lambda one: asked.append(one) or True,
    }
    assert results(chat(runner, HI, **fields)) == [TEXT]
    assert (asked[0].tool.source, asked[0].tool.kind) == (AgentToolSource.Mcp, AgentToolKind.External)


@pytest.mark.row("E-091")
def test_the_precedence(made: Made, url: str) -> None:
    """search > code execution > callback > MCP > dispatch URL."""
    schema = json.dumps({"type": "function", "function": {"name": "read_board"}})
    server = McpClientConfigPy([board(url, tool_prefix="")])
    plays = plays_of(("read_board", {"name": "north"}))
    heard: list[Any] = []
    callback = {"read_board": lambda name, arguments: heard.append(arguments) or "read"}
    nowhere = {"tool_dispatch_url": "http://127.0.0.1:9/"}
    remote = made(plays, mcp_client_config=server)
    assert results(chat(remote, HI, tool_schemas=[schema], **nowhere)) == [TEXT]
    both = made(plays, mcp_client_config=server, tool_callbacks=callback)
    assert results(chat(both, HI, tool_schemas=[schema])) == ["read"] and heard == [{"name": "north"}]
    found = [{"title": "t", "content": "found it", "url": "u"}]
    search = {"enable_search": True, "search_callback": lambda query: found}
    names = {"web_search": lambda name, arguments: "the callback"}
    all_ = made(plays_of(("web_search", {"query": "x"})), tool_callbacks=names, **search)
    own = json.dumps({"type": "function", "function": {"name": "web_search"}})
    assert results(chat(all_, HI, tool_schemas=[own])) == ["the callback"]
    (told,) = results(chat(all_, HI, tool_schemas=[own], web_search_options=WebSearchOptions()))
    assert "found it" in told


# What goes wrong


def test_a_server_that_crashes_in_a_call(made: Made) -> None:
    runner = made(plays_of(("board_crash", {})), mcp_client_config=McpClientConfigPy([program()]))
    (told,) = results(chat(runner, HI))
    assert told.startswith("error: ")


def test_a_server_that_cannot_be_reached(
    engine: sotto.Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[McpServers] = []

    class Noted(McpServers):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(servers, "McpServers", Noted)
    with listening() as (_, port):
        pass
    sources = {
        "program": McpServerSourcePy.Process("/no/such/program", [], None, None),
        f"127.0.0.1:{port}": McpServerSourcePy.Http(f"http://127.0.0.1:{port}/mcp", 2, None),
        f"ws://127.0.0.1:{port}": McpServerSourcePy.WebSocket(f"ws://127.0.0.1:{port}/mcp", 2, None),
    }
    for words, source in sources.items():
        bad = McpServerConfigPy("b", "bad", source)
        with pytest.raises(RunnerError, match=words):
            Runner(HOUSE, mcp_client_config=McpClientConfigPy([board(url), bad]), engine=engine)
        assert [one.connected for one in made.pop()] == [False, False]
    assert made == [] and not engine.model_is_loaded("sotto/house")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": McpServerSourcePy()}, r"expected McpServerSourcePy\.Http"),
        ({"source": McpServerSourcePy.Http("ftp://x", None, None)}, "MCP server 'one': invalid url"),
        ({"source": McpServerSourcePy.WebSocket("http://x", None, None)}, "MCP server 'one': invalid url"),
        ({"source": McpServerSourcePy.Http("http://x", 0, None)}, "timeout_secs '0'"),
        ({"source": McpServerSourcePy.Http("http://x", None, {"a b": "c"})}, "headers"),
        ({"source": McpServerSourcePy.Process("", [], None, None)}, "command"),
        ({"source": McpServerSourcePy.Process("x\0", [], None, None)}, "command"),
        ({"source": McpServerSourcePy.Process("x", [], None, {"a=b": "c"})}, "env"),
        ({"bearer_token": TOKEN}, "bearer_token: expected none for a Process"),
        ({"tool_prefix": "a b"}, "prefix"),
        ({"tool_prefix": "a" * 100}, "prefix"),
        ({"id": ""}, "id"),
        ({"name": ""}, "name"),
    ],
)
@pytest.mark.row("E-598", "E-599", "E-600")
def test_a_server_that_is_wrong(change: dict[str, Any], words: str) -> None:
    fields = {
        "id": "one",
        "name": "board",
        "source": McpServerSourcePy.Process("x", [], None, None),
        **change,
    }
    with pytest.raises(RunnerError, match=words) as told:
        Runner(HOUSE, mcp_client_config=McpClientConfigPy([McpServerConfigPy(**fields)]))
    assert TOKEN not in str(told.value)


def test_a_configuration_that_is_wrong(url: str) -> None:
    with pytest.raises(RunnerError, match="id 'one': expected an id that no other server has"):
        Runner(HOUSE, mcp_client_config=McpClientConfigPy([board(url), board(url)]))
    with pytest.raises(RunnerError, match="expected one server 'board', not two"):
        Runner(HOUSE, mcp_client_config=McpClientConfigPy([board(url), board(url, id="two")]))
    for name in ("tool_timeout_secs", "max_concurrent_calls"):
        for wrong in (0, -1, 2**40):
            with pytest.raises(RunnerError, match=f"{name} '{wrong}'"):
                Runner(HOUSE, mcp_client_config=McpClientConfigPy([board(url)], **{name: wrong}))
    with pytest.raises(TypeError, match="mcp_client_config"):
        Runner(HOUSE, mcp_client_config={"servers": []})  # type: ignore[arg-type]
