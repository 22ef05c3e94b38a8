"""`sotto mcp`: characters as tools of an MCP server, over stdio and over HTTP."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sotto
from agent_script import call
from conftest import ENVIRONMENT, SCRIPTED
from mcp_servers import TOKEN, ask, until
from sotto.agent import McpError, McpHttp, McpProcess, McpServer
from sotto.cli import main
from sotto.commands.mcp.sheets import read_sheets, tavern_sheets
from sotto.demo.personas import personas
from tiny_encoder import WIDTH, TinyEncoder

MARA = {"name": "Mara", "role": "innkeeper", "place": "the Kettle and Crow", "facts": ["The king is gold."]}
COMMAND = [sys.executable, "-m", "sotto.cli", "mcp", "--threads", "1"]
INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
from sotto.cli import main
sys.exit(main())
"""
READY = "sotto mcp: ready at "


def offered(*arguments: str, **given: Any) -> McpServer:
    """The command over stdio, as the tools of an agent."""
    source = McpProcess(COMMAND[0], [*COMMAND[1:], *arguments], env=dict(ENVIRONMENT))
    return McpServer("sotto", source, **{"prefix": "", "time_limit": 60, **given})


@contextmanager
def listening(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command over HTTP, and its address."""
    env = {**ENVIRONMENT, "SOTTO_MCP_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, "--http", "0", *arguments]
    with subprocess.Popen(command, env=env, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            line = process.stdout.readline()
            assert line.startswith(READY), line + process.communicate()[1]
            yield process, line.removeprefix(READY).strip()
        finally:
            process.kill()


@pytest.fixture
def mara(tmp_path: Path) -> str:
    """A file with a character."""
    file = tmp_path / "mara.json"
    file.write_text(json.dumps(MARA))
    return str(file)


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    """Arguments for a model of the scripted backend, which speaks slowly and without an end."""
    file = tmp_path / "model.json"
    file.write_text(json.dumps({"tokens": ["and "], "loop": True, "token_ms": 5}))
    return [str(file), "--module-dir", str(SCRIPTED), "--max-tokens", "1000000"]


@pytest.mark.real
def test_characters_talk_and_remember(engine: sotto.Engine, tmp_path: Path, mara: str) -> None:
    TinyEncoder(1).write(tmp_path / "encoder.gguf")
    store = str(tmp_path / "town.db")
    arguments = (
        "sotto/house",
        "--character",
        mara,
        "--store",
        store,
        "--embedder",
        str(tmp_path / "encoder.gguf"),
    )
    talk = call("talk", {"character": "Mara", "text": "Who is gold?", "by": "Ilse"}, 1)
    recall = call("recall", {"character": "Mara", "about": "moon", "limit": 8}, 3)
    with offered(*arguments, "--write") as town:
        assert [one.name for one in town.tools] == ["list_characters", "talk", "recall", "remember"]
        remember = call("remember", {"character": "Mara", "fact": "The moon is gold."}, 2)
        listed, said, done, recalled, nobody, empty = ask(
            engine, [town], call("list_characters"), talk, remember, recall,
            call("talk", {"character": "Odo", "text": "Hi."}, 4),
            call("talk", {"character": "Mara", "text": ""}, 5),
        ).calls  # fmt: skip
        about = {
            "name": "Mara",
            "role": "innkeeper",
            "place": "the Kettle and Crow",
            "mood": "",
            "memories": 0,
        }
        assert json.loads(listed.result) == [about]
        assert said.status == "done" and said.result and done.result == "done"
        assert "The moon is gold." in recalled.result and "Ilse said: Who is gold?" in recalled.result
        assert nobody.status == "failed" and "invalid character 'Odo': expected one of Mara" in nobody.result
        assert empty.status == "failed"
    with sotto.Store.open(tmp_path / "town.db", read_only=True) as kept:
        assert kept.count(namespace="Mara") == 2 and kept.info()["dim"] == WIDTH
    with offered(*arguments) as town:
        assert [one.name for one in town.tools] == ["list_characters", "talk", "recall"]
        said, recalled, refused = ask(engine, [town], talk, recall, remember).calls
        assert said.status == "done" and "The moon is gold." in recalled.result
        assert refused.status == "failed" and "unknown tool" in refused.result
    with sotto.Store.open(tmp_path / "town.db", read_only=True) as kept:
        assert kept.count(namespace="Mara") == 2


def test_standard_output_is_protocol_alone(script: list[str], mara: str) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in lines)
    process = subprocess.Popen(
        [*COMMAND, *script, "--character", mara], env=ENVIRONMENT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    with process:
        process.stdin.write("no json\n" + text)
        process.stdin.flush()
        said = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(60) == 0, process.stderr.read()
    assert [one.get("id") for one in said] == [1, 2] and said[0]["result"]["serverInfo"]["name"] == "sotto"
    assert [one["name"] for one in said[1]["result"]["tools"]] == ["list_characters", "talk"]
    assert rest == ""


def test_a_cancelled_talk_frees_the_character(engine: sotto.Engine, script: list[str], mara: str) -> None:
    talk = {"character": "Mara", "text": "Tell me all."}
    with offered(*script, "--character", mara, "--timeout", "1") as town:
        short = [replace(one, options={**one.options, "time_limit": 0.5}) for one in town.tools]
        first, second = ask(engine, short, call("talk", talk), call("talk", talk, 1)).calls
        assert [first.status, second.status] == ["timed_out", "timed_out"]
        first, second = ask(engine, [town], call("talk", talk), call("talk", talk, 1)).calls
        for one in (first, second):
            assert one.status == "failed" and "'Mara' did not answer within 1 s" in one.result


def test_http_needs_the_token(engine: sotto.Engine, script: list[str], mara: str) -> None:
    script[-1] = "4"
    with listening(*script, "--character", mara) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": TOKEN}):
            asked = urllib.request.Request(url, b"{}", headers, method="POST")
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(asked, timeout=30)
            assert caught.value.code == 401 and TOKEN not in caught.value.read().decode()
        foreign = {
            "Authorization": f"Bearer {TOKEN}",
            "Host": "evil.example",
            "Content-Type": "application/json",
        }
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, b"{}", foreign), timeout=30)
        assert 400 <= caught.value.code < 500 and caught.value.code != 401
        with pytest.raises(McpError, match="HTTP status 401"):
            McpServer("town", McpHttp(url, bearer_token="x" * 20)).connect()
        with McpServer("town", McpHttp(url, bearer_token=TOKEN), prefix="") as town:
            (said,) = ask(engine, [town], call("talk", {"character": "Mara", "text": "Hi."})).calls
            assert (said.status, said.result) == ("done", "and and and and")
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        assert process.stderr is not None and TOKEN not in process.stderr.read()


def test_ctrl_c_ends_it_while_the_input_is_open(script: list[str], mara: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *COMMAND[3:], *script, "--character", mara],
        env=ENVIRONMENT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == ""


def test_the_tavern_is_the_default() -> None:
    sheets = tavern_sheets()
    for sheet, one in zip(sheets, personas(), strict=True):
        assert sheet.name == one.name
        assert sheet.render() == one.system.replace("\nMemories:", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "expected JSON"),
        ("7", "expected an object"),
        ("{}", "missing name"),
        ('{"name": " "}', "missing name"),
        ('{"name": 7}', "expected a text as 'name'"),
        ('{"name": "A", "mod": ""}', "unknown field 'mod'; expected name, text, role"),
        ('{"name": "A", "facts": "x"}', "expected an array of texts as 'facts'"),
        ('{"name": "A", "prices": {"ale": 2}}', "expected texts by name as 'prices'"),
        ('[{"name": "A"}, {"name": "A"}]', "expected one character 'A', not several"),
        (json.dumps([{"name": str(at)} for at in range(65)]), "at most 64 characters, not 65"),
    ],
)
def test_files_that_are_no_characters(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(sotto.ArgumentError, match=re.escape(why)):
        read_sheets([file])


def test_arguments_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOTTO_MCP_TOKEN", raising=False)
    short, nothing = tmp_path / "token", str(tmp_path / "nothing")
    short.write_text("short-secret\n")
    os.mkfifo(tmp_path / "fifo")
    for arguments, why in (
        (["--write"], "missing --store"),
        (["--http", "0"], "missing token: --http expects --token-file FILE, or a token in $SOTTO_MCP_TOKEN"),
        (["--http", "0", "--token-file", nothing], "expected a regular file"),
        (["--http", "0", "--token-file", str(tmp_path / "fifo")], "expected a regular file"),
        (["--http", "0", "--token-file", str(short)], "expected a token of 16 to 1024 ASCII characters"),
        (["--character", nothing], "expected a regular file"),
        (["--character", str(tmp_path / "fifo")], "expected a regular file"),
        (["--options", "["], "invalid --options"),
    ):
        assert main(["mcp", *arguments]) == 2
        said = capsys.readouterr()
        assert why in said.err and said.out == "" and "short-secret" not in said.err
    assert main(["mcp", str(tmp_path / "no.gguf"), "--threads", "1"]) == 1


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, script: list[str]) -> None:
    town = offered(*script, "--store", str(tmp_path / "town.db"), "--embedder", script[0])
    with pytest.raises(McpError, match=r"the program ended with exit status 1: .*town"):
        town.connect()
    until(lambda: not (tmp_path / "town.db").exists())


def test_the_packages_are_named_where_they_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "sotto.commands.mcp.tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp"]) == 2
    said = capsys.readouterr()
    assert "sotto mcp needs the extra 'agent': pip install sotto-runtime[agent] (mcp.server" in said.err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"mcp and websockets: pip install sotto-runtime\[agent\]"):
        McpServer("town", McpProcess("town"))
