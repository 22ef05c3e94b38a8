"""MCP servers that crash, stall, flood and stay: each a clear error, and nothing hangs or is left behind."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import sotto
import sotto.agent
import sotto.agent.mcp.stdio as stdio
from agent_script import call, calls, options, says
from conftest import ENVIRONMENT, SCRIPTED
from mcp_program import good
from mcp_servers import FOLDER, TOKEN, ask, listening, over_http, over_websocket, program, until
from sotto.agent import Agent, AuditLog, McpError, McpHttp, McpProcess, McpServer, McpServers, McpWebSocket

DEADLINE = 20  # seconds for what takes 7 at most, on a busy machine


def is_running(pid: int) -> bool:
    """Returns True if a process lives; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def is_left(pid: int) -> bool:
    """Returns True if a process lives, or was not reaped."""
    return Path(f"/proc/{pid}").exists()


def test_a_server_that_crashes_is_started_again(engine: sotto.Engine) -> None:
    with program("mcp_program", "good", "") as board:
        answer = ask(engine, [board], call("crash"), call("read_board", {"name": "inn"}, 1))
        crashed, read = answer.calls
        assert crashed.status == "failed"
        assert "the program ended with exit status 3: the board has burnt down" in crashed.result
        assert "the call may have acted" in crashed.result
        assert (read.status, read.result) == ("done", "inn: wolves in the hills") and board.connected


def test_restarts_are_bounded_until_the_host_connects_again(engine: sotto.Engine) -> None:
    with program("mcp_raw", "serves", max_restarts=2) as board:
        begun = time.monotonic()
        answer = ask(engine, [board], *(call("crash", {}, at) for at in range(5)))
        assert time.monotonic() - begun < DEADLINE
        for one in answer.calls[:3]:
            assert "ended with exit status 3; the call may have acted" in one.result
        for one in answer.calls[3:]:
            assert "started again 2 times without a result" in one.result and one.seconds < 5
        board.connect()
        (looked,) = ask(engine, [board], call("look")).calls
        assert looked.result == "ran look"


def test_a_server_that_does_not_start_again(engine: sotto.Engine, tmp_path: Path) -> None:
    count = tmp_path / "count"
    with program("mcp_raw", "once", str(count), max_restarts=2) as board:
        crash, look, after = ask(
            engine, [board], *(call(one, {}, at) for at, one in enumerate(("crash", "look", "look")))
        ).calls
        assert [crash.status, look.status, after.status] == ["failed"] * 3
        assert "exit status 7" in look.result and look.result == after.result
        assert count.read_text() == "3"  # once, and two restarts


def test_a_server_that_stalls_costs_its_calls_alone(engine: sotto.Engine, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    with program("mcp_raw", "serves", str(notes), tools={"stall": {"time_limit": 0.3}}) as board:
        answer = ask(engine, [board], call("stall"), call("look", {}, 1))
        assert [one.status for one in answer.calls] == ["timed_out", "done"]
        until(lambda: notes.read_text().startswith("cancelled"))


def test_a_server_that_floods_a_call(engine: sotto.Engine) -> None:
    with program("mcp_raw", "serves") as board:
        answer = ask(engine, [board], call("flood"), call("look", {}, 1))
        assert answer.calls[0].status == "failed" and "floods the connection" in answer.calls[0].result
        assert answer.calls[1].status == "done"


def test_results_that_are_too_large_or_none(engine: sotto.Engine) -> None:
    with program("mcp_raw", "serves") as board:
        made = [call("large", {"size": 5 << 20}), call("large", {"size": 1 << 20}, 1), call("odd", {}, 2)]
        large, long, odd = ask(engine, [board], *made, max_result=1000).calls
        assert large.status == "failed" and "a message of more than 4194304 bytes" in large.result
        assert long.status == "done" and len(long.result) == 1000 and long.truncated
        assert odd.status == "failed" and "not of the protocol's form, at " in odd.result
        assert board.connected


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("ends", "the program ended with exit status 7: no licence"),
        ("garbage", "it floods the connection with messages, of which 1"),
        ("endless line", "it sent a message of more than 4194304 bytes"),
        ("notifications", "it floods the connection with messages"),
    ],
)
def test_servers_that_cannot_be_connected(mode: str, why: str) -> None:
    board = program("mcp_raw", mode)
    begun = time.monotonic()
    with pytest.raises(McpError, match=why) as caught:
        board.connect()
    assert caught.value.status == sotto.Status.NOT_FOUND
    with pytest.raises(sotto.SottoError, match="MCP server 'board' is not connected: call connect"):
        _ = board.tools
    board.close()
    assert time.monotonic() - begun < DEADLINE


def test_a_server_that_stalls_at_the_start_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    board = program("mcp_raw", "stalls", str(file), connect_limit=0.5)
    begun = time.monotonic()
    with pytest.raises(McpError, match=r"no connection within 0.5 s"):
        board.connect()
    board.close()
    assert time.monotonic() - begun < DEADLINE
    until(lambda: not stdio._children)


def test_noise_beside_the_protocol_is_passed_over(engine: sotto.Engine) -> None:
    for mode in ("chatty", "errors"):
        with program("mcp_raw", mode) as board:
            assert ask(engine, [board], call("look")).calls[0].result == "ran look"


def test_programs_that_are_none(tmp_path: Path) -> None:
    for source in (
        McpProcess(str(tmp_path / "nothing")),
        McpProcess(str(tmp_path)),
        McpProcess(sys.executable, cwd=tmp_path / "nowhere"),
    ):
        with pytest.raises(McpError, match=r"MCP server 'board' .program '.*'.: [A-Z]"):
            McpServer("board", source).connect()


# The end


@pytest.mark.parametrize("mode", ["does not end", "parent"])
def test_closing_ends_what_was_started(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with program("mcp_raw", mode, str(file)) as board:
        pid = int(file.read_text())
        assert is_running(pid)
        begun = time.monotonic()
    assert time.monotonic() - begun < DEADLINE
    until(lambda: not is_running(pid))
    board.close()
    for again in (board.connect, board.__enter__):
        with pytest.raises(McpError, match="it is closed; make another one"):
            again()


def test_a_server_that_nobody_holds_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    board = program("mcp_raw", "does not end", str(file))
    board.connect()
    del board
    gc.collect()
    until(lambda: not is_left(int(file.read_text())))


def test_closing_in_the_middle_of_a_call(engine: sotto.Engine) -> None:
    board = program("mcp_raw", "serves")
    board.connect()
    engine.load_model("npc", options=options({"hi": [calls(call("stall")), says("Well.")]}))
    with engine.session(model="npc") as session, Agent(session, [board]).stream("hi") as events:
        until(lambda: any(getattr(one, "status", "") == "running" for one in events))
        board.close()
        list(events)
        assert "MCP server 'board'" in events.answer.calls[0].result


def test_the_engine_may_be_closed_first(engine: sotto.Engine, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with program("mcp_raw", "does not end", str(file)) as board:
        engine.load_model("npc", options=options({"hi": [calls(call("stall")), says("Well.")]}))
        session = engine.session(model="npc")
        events = Agent(session, [board], time_limit=60).stream("hi")
        until(lambda: any(getattr(one, "status", "") == "running" for one in events))
        engine.close()
        events.close()
        assert board.connected and events.answer.calls[0].status == "cancelled"
    until(lambda: not is_left(int(file.read_text())))


SCRIPT = """
import os, sys, threading
import sotto
from agent_script import call, calls, options, says
from mcp_servers import program
from sotto.agent import Agent

board = program("mcp_raw", "does not end", sys.argv[1])
board.connect()
engine = sotto.Engine(module_dir=sys.argv[2], mode="prioritize_compute")
engine.load_model("npc", options=options({"hi": [calls(call("stall")), says("Well.")]}))
session = engine.session(model="npc")
events = Agent(session, [board], time_limit=600).stream("hi")
while getattr(next(events), "status", "") != "running":
    pass
if sys.argv[3] == "fork":
    if (pid := os.fork()) == 0:
        try:
            board.connect()
        except sotto.SottoError as error:
            os.write(1, str(error).encode())
        board.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert board.connected
elif sys.argv[3] == "raise":
    raise SystemExit(5)
"""


@pytest.mark.parametrize(("how", "status"), [("raise", 5), ("fork", 0)])
def test_the_interpreter_may_exit_in_the_middle_of_a_call(how: str, status: int, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    path = os.pathsep.join([str(FOLDER), *filter(None, [ENVIRONMENT.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(file), str(SCRIPTED), how],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    assert not re.search("ignored|Fatal|ResourceWarning|never awaited|destroyed", done.stderr), done.stderr
    assert ("which this one is a fork of; make another one" in done.stdout) is (how == "fork")
    until(lambda: not is_running(int(file.read_text())))


# Addresses


def test_servers_over_http_come_and_go(engine: sotto.Engine) -> None:
    with listening() as (taken, port):
        url = f"http://127.0.0.1:{port}/mcp"
        with over_http(good().streamable_http_app(), taken):
            board = McpServer("board", McpHttp(url), prefix="")
            board.connect()
            made = call("read_board", {"name": "inn"})
            assert ask(engine, [board], made).calls[0].status == "done"
        tools = board.tools
        (away,) = ask(engine, tools, made, time_limit=5).calls
        assert away.status in ("failed", "timed_out")
    with listening(port) as (again, _), over_http(good().streamable_http_app(), again):
        board.connect()
        (back,) = ask(engine, tools, made).calls
        assert back.status == "done"
        board.close()


@pytest.mark.parametrize("kind", [McpHttp, McpWebSocket])
def test_nobody_listens(kind: Any) -> None:
    scheme = "http" if kind is McpHttp else "ws"
    board = McpServer("board", kind(f"{scheme}://127.0.0.1:9/mcp?key={TOKEN}", bearer_token=TOKEN))
    with pytest.raises(
        McpError, match=rf"MCP server 'board' \({scheme}://127.0.0.1:9/mcp\): .*[Cc]onnect"
    ) as caught:
        board.connect()
    assert TOKEN not in str(caught.value)
    board.close()


def guarded(app: Any, heard: list[str]) -> Any:
    """An application that wants the token, and says so with what it got."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        given = dict(scope["headers"]).get(b"authorization", b"").decode()
        heard.append(given)
        if given == f"Bearer {TOKEN}":
            return await app(scope, receive, send)
        error = {"code": -32000, "message": f"no: {given}"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return call


def test_tokens_are_sent_and_never_shown(
    engine: sotto.Engine, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for name in ("", "mcp", "client", "httpx2", "httpcore2", "sotto"):
        caplog.set_level(logging.DEBUG, logger=name)
    heard: list[str] = []
    shown = ""
    audit = AuditLog(tmp_path / "audit")
    with over_http(guarded(good().streamable_http_app(), heard)) as url:
        with McpServer("board", McpHttp(url, bearer_token=TOKEN), prefix="") as board:
            answer = ask(engine, [board], call("read_board", {"name": TOKEN}), audit=audit)
            assert answer.calls[0].result == "***: wolves in the hills"
            shown += repr(board) + repr(board.source) + repr(vars(board)) + repr(board.problems)
        assert set(heard) == {f"Bearer {TOKEN}"}
        other = TOKEN[::-1]
        wrong = McpServer("board", McpHttp(url, bearer_token=other, headers={"X-Key": "key of the board"}))
        with pytest.raises(McpError, match="HTTP status 401") as caught:
            wrong.connect()
        shown += str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)
    assert f"Bearer {other}" in heard
    with program("mcp_raw", "serves", env={"BOARD_TOKEN": TOKEN}) as board:
        (echo,) = ask(engine, [board], call("echo")).calls
        assert echo.status == "failed" and "denied: ***" in echo.result
        shown += repr(board.source) + echo.result
    socket: list[Any] = []
    with (
        over_websocket(good(), socket) as url,
        McpServer("board", McpWebSocket(url, bearer_token=TOKEN)) as board,
    ):
        assert board.connected
    assert socket[0]["Authorization"] == f"Bearer {TOKEN}"
    log = "\n".join(
        one.getMessage() for one in caplog.records if not one.name.startswith("websockets.server")
    )
    for secret in (TOKEN, other, "key of the board"):
        assert secret not in shown and secret not in log


def test_one_server_of_several_may_be_away(engine: sotto.Engine) -> None:
    here = program("mcp_raw", "serves", name="here", prefix=None)
    away = program("mcp_raw", "ends", name="away")
    with McpServers([here, away]) as servers:
        assert [*servers.problems] == ["away"] and "no licence" in servers.problems["away"][0]
        assert {one.name.split("_")[0] for one in servers.tools} == {"here"}
        assert ask(engine, [servers], call("here_look")).calls[0].result == "ran look"
    assert not here.connected
