"""Parts of `sotto.agent.mcp`: schemas, names, results, the meter, addresses and configurations."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator

import sotto
from mcp_servers import TOKEN
from sotto.agent import McpHttp, McpProcess, McpServer, McpServers, McpWebSocket
from sotto.agent.mcp.content import result_text
from sotto.agent.mcp.errors import described_error
from sotto.agent.mcp.meter import CAPACITY, PER_SECOND, Meter
from sotto.agent.mcp.redaction import Redactor
from sotto.agent.mcp.schema import portable

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
LIST = {"type": "array", "items": TEXT}
CLOSED = {"additionalProperties": False}


def properties(**given: Any) -> dict[str, Any]:
    """The schema of an object."""
    return {"type": "object", "properties": given}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (properties(a=TEXT), properties(a=TEXT)),
        ({"type": "object"}, properties()),
        ({}, properties()),
        (properties(a={**TEXT, "pattern": "(a+)+$", "minLength": 1}), properties(a={**TEXT, "minLength": 1})),
        (properties(a={"not": TEXT}), properties(a={})),
        (properties(a={"type": "banana"}), properties(a={})),
        (properties(a=True, b=False), properties(a={})),
        (properties(a={"const": 3}), properties(a={"enum": [3]})),
        (properties(a={"enum": []}), properties(a={})),
        (properties(a={"enum": [{"b": 1}]}), properties(a={})),
        (properties(a={"enum": ["x" * 301]}), properties(a={})),
        (
            properties(a={**WHOLE, "minimum": 2, "maximum": 3}),
            properties(a={**WHOLE, "minimum": 2, "maximum": 3}),
        ),
        (properties(a={**WHOLE, "minimum": 3, "maximum": 2}), properties(a=WHOLE)),
        (properties(a={**WHOLE, "minimum": 0.5}), properties(a=WHOLE)),
        (properties(a={**WHOLE, "minimum": 1 << 70}), properties(a=WHOLE)),
        (properties(a={"oneOf": [TEXT, WHOLE]}), properties(a={"anyOf": [TEXT, WHOLE]})),
        (properties(a={"type": ["string", "null"]}), properties(a={"type": ["string", "null"]})),
        (properties(a={"allOf": [TEXT]}), properties(a=TEXT)),
        (properties(a={"$ref": "#/$defs/t"}) | {"$defs": {"t": TEXT}}, properties(a=TEXT)),
        (properties(a={"$ref": "https://evil.example/a"}), properties(a={})),
        (properties(a={"$ref": "#/nothing"}), properties(a={})),
        (properties(a={"$ref": "#"}), properties(a=properties(a={}))),
        (properties(a={"description": "two\n\x00lines\u202e"}), properties(a={"description": "two lines"})),
        (properties(a=TEXT) | {"required": ["a", "b", 7]}, properties(a=TEXT) | {"required": ["a"]}),
        (properties(a=TEXT) | CLOSED, properties(a=TEXT) | CLOSED),
        (properties(a=TEXT) | CLOSED | {"patternProperties": {"b": {}}}, properties(a=TEXT)),
        (properties(a={**LIST, "minItems": -1, "maxItems": 9}), properties(a={**LIST, "maxItems": 9})),
        (properties(a=TEXT) | {"if": {}, "anyOf": [{}], "$schema": "x"}, properties()),
    ],
)
def test_schemas_are_reduced(given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert portable(given) == kept
    Draft202012Validator.check_schema(portable(given))


@pytest.mark.parametrize(
    "given", [None, 7, [], {"type": "string"}, properties(**{f"a{at}": {} for at in range(129)})]
)
def test_schemas_of_no_object_are_refused(given: Any) -> None:
    with pytest.raises(sotto.ArgumentError, match="its inputSchema"):
        portable(given)


def test_schemas_without_an_end_end() -> None:
    """Doubled references, deep nesting, and rings: the result is small, and quick to make and to check."""
    doubled: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}
    deep: dict[str, Any] = TEXT
    for _ in range(500):
        deep = properties(a=deep)
    ring = {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}
    begun = time.process_time()
    for given in (
        properties(a={"$ref": "#/$defs/d0"}) | {"$defs": doubled},
        deep,
        properties(a={"$ref": "#/$defs/a"}) | {"$defs": ring},
    ):
        made = portable(given)
        assert len(json.dumps(made)) < 100_000
        Draft202012Validator(made).is_valid({"a": {"a": {"a": "x"}}})
    assert time.process_time() - begun < 5


def test_results_are_text() -> None:
    image = types.ImageContent(data="aGFsbG8=", mime_type="image/png\n")
    audio = types.AudioContent(data="aGFsbA==", mime_type="audio/wav")
    link = types.ResourceLink(name="rules", uri="file:///rules.txt")
    text = types.EmbeddedResource(resource=types.TextResourceContents(uri="a:b", text="of a book"))
    blob = types.EmbeddedResource(resource=types.BlobResourceContents(uri="a:b", blob="aGE="))
    plain = types.TextContent(text="two\nlines")

    def said(*content: Any, structured: Any = None) -> str:
        return result_text(types.CallToolResult(content=list(content), structured_content=structured))

    assert said(plain, image, audio, link, text, blob).split("\n") == [
        "two",
        "lines",
        "[image: image/png, 5 bytes]",
        "[audio: audio/wav, 4 bytes]",
        "[resource: rules, file:///rules.txt]",
        "of a book",
        "[resource: a:b, bytes, 2 bytes]",
    ]
    assert said() == ""
    assert said(structured={"a": "夜"}) == '{"a": "夜"}'
    assert said(plain, structured={"a": 1}) == 'two\nlines\n{"a": 1}'
    assert said(types.TextContent(text='{ "a": 1 }'), structured={"a": 1}) == '{"a": 1}'
    assert said(types.TextContent(text="7"), structured={"result": 7}) == "7"
    assert (
        said(types.TextContent(text="7"), types.TextContent(text="x"), structured={"result": [7, "x"]})
        == '[7, "x"]'
    )
    assert said(types.TextContent(text="[" * 100_000)).startswith("[[[")


def test_the_meter_refills() -> None:
    now = [0.0]
    meter = Meter(lambda: now[0])
    for _ in range(int(CAPACITY)):
        assert meter.message()
    now[0] = 1.0
    assert all(meter.message() for _ in range(int(PER_SECOND)))
    now[0] = 1e6  # no more than the capacity comes back
    assert meter.data(4 << 20) and not meter.ended.is_set()
    while meter.garbage():
        pass
    assert meter.ended.is_set() and re.search(r"floods .*, of which \d+ are not JSON-RPC", meter.reason)
    meter.end("later")
    meter.explain("later")
    assert "floods" in meter.reason and not meter.message()


def test_redaction() -> None:
    redactor = Redactor([TOKEN, "", TOKEN[:6]])
    assert redactor.clean(f"a {TOKEN} b {TOKEN[:6]}") == "a *** b ***" and TOKEN not in repr(redactor)


def test_errors_of_others_as_text() -> None:
    class Group(Exception):
        exceptions = (OSError(2, "No such file"), ValueError("x"))

    assert described_error(Group()) == "No such file"
    assert described_error(ValueError("a\nb\x00" + "c" * 1000))[:16] == "ValueError: a b "
    assert len(described_error(ValueError("c" * 1000))) < 350
    assert described_error(KeyError()) == "KeyError"


# Addresses and programs


@pytest.mark.parametrize("kind", [McpHttp, McpWebSocket])
def test_addresses_are_checked(kind: Any) -> None:
    good = "http" if kind is McpHttp else "ws"
    for url in (
        "",
        "127.0.0.1",
        "ftp://a/",
        f"{good}://",
        f"{good}://a:b/",
        f"{good}://a:0/",
        f"{good}://a/\nb",
        "file:///etc",
    ):
        with pytest.raises(sotto.ArgumentError, match="invalid url: expected"):
            kind(url)
    with pytest.raises(sotto.ArgumentError, match="without a user") as caught:
        kind(f"{good}://me:{TOKEN}@a/")
    assert TOKEN not in str(caught.value)
    with pytest.raises(TypeError, match="url"):
        kind(7)
    for name, value in (
        ("bearer_token", f"{TOKEN}\r\nX: y"),
        ("bearer_token", ""),
        ("bearer_token", f"Bearer {TOKEN}"),
        ("headers", {"X": f"{TOKEN}\n"}),
        ("headers", {"X Y": TOKEN}),
        ("headers", {"X": f"{TOKEN}é"}),
    ):
        with pytest.raises(sotto.ArgumentError, match=name) as caught:
            kind(f"{good}://a/", **{name: value})
        assert TOKEN not in str(caught.value)
    for name, value in (
        ("bearer_token", 7),
        ("headers", [TOKEN]),
        ("headers", {7: "x"}),
        ("headers", {"X": 7}),
    ):
        with pytest.raises(TypeError, match=name):
            kind(f"{good}://a/", **{name: value})
    made = kind(
        f"{good}://a/b?key={TOKEN}", bearer_token=TOKEN, headers={"authorization": "other one", "X": "y"}
    )
    assert repr(made) == f"{kind.__name__}('{good}://a/b')" and TOKEN not in str(vars(McpServer("a", made)))
    assert made.fields() == {"X": "y", "Authorization": f"Bearer {TOKEN}"}


def test_programs_are_checked() -> None:
    secret = {"API_TOKEN": TOKEN}
    assert TOKEN not in repr(McpProcess("a", ["--token", TOKEN], env=secret))
    assert [*McpProcess("a", env={**secret, "HOME": "/home/somewhere"}).secrets()] == [TOKEN]
    words = ["--token", f"{TOKEN}1", f"--api-key={TOKEN}2", "--key", "-v", "/a/path/of/files"]
    assert [*McpProcess("a", words).secrets()] == [f"{TOKEN}1", f"{TOKEN}2"]
    for given, error in (
        ({"command": ""}, sotto.ArgumentError),
        ({"command": 7}, TypeError),
        ({"command": "a", "args": "b"}, TypeError),
        ({"command": "a", "args": [7]}, TypeError),
        ({"command": "a", "args": ["a\0b"]}, sotto.ArgumentError),
        ({"command": "a", "env": {"A=B": "c"}}, sotto.ArgumentError),
        ({"command": "a", "env": {"A": 7}}, TypeError),
        ({"command": "a", "env": [("A", "b")]}, TypeError),
        ({"command": "a", "cwd": ""}, sotto.ArgumentError),
    ):
        with pytest.raises(error):
            McpProcess(**given)  # type: ignore[arg-type]


def test_arguments_of_servers_are_checked() -> None:
    source = McpProcess("a")
    for given, error in (
        ({"name": ""}, sotto.ArgumentError),
        ({"name": 7}, TypeError),
        ({"name": "my server"}, sotto.ArgumentError),  # its tools would have no valid names
        ({"source": "npx"}, TypeError),
        ({"prefix": "x" * 33}, sotto.ArgumentError),
        ({"prefix": 7}, TypeError),
        ({"include": "read_*"}, TypeError),
        ({"exclude": [""]}, sotto.ArgumentError),
        ({"connect_limit": 0}, sotto.ArgumentError),
        ({"connect_limit": "x"}, TypeError),
        ({"connect_limit": float("nan")}, sotto.ArgumentError),
        ({"max_concurrent": 0}, sotto.ArgumentError),
        ({"max_concurrent": 65}, sotto.ArgumentError),
        ({"max_restarts": -1}, sotto.ArgumentError),
        ({"max_tools": 129}, sotto.ArgumentError),
        ({"max_tools": True}, TypeError),
        ({"permission": "yes"}, sotto.ArgumentError),
        ({"tools": ["x"]}, TypeError),
        ({"tools": {"x": "deny"}}, TypeError),
        ({"tools": {"x": {"permission": "no"}}}, sotto.ArgumentError),
        ({"tools": {"x": {"colour": "red"}}}, TypeError),
        ({"colour": "red"}, TypeError),
    ):
        with pytest.raises(error):
            McpServer(**{"name": "a", "source": source, **given})  # type: ignore[arg-type]
    assert McpServer("my server", source, prefix="").name == "my server"
    server = McpServer("a", source)
    assert repr(server) == "<sotto.agent.McpServer 'a', stdio, not connected>" and server.problems == ()
    server.close()


# Configurations


def test_a_file_of_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOARD_TOKEN", TOKEN)
    monkeypatch.delenv("NOTHING", raising=False)
    file = tmp_path / "mcp.json"
    listed = {
        "files": {
            "command": "a",
            "args": ["${NOTHING:-/data}", "x"],
            "env": {"T": "${BOARD_TOKEN}"},
            "cwd": "/",
        },
        "web": {
            "url": "http://a/mcp",
            "headers": {"Authorization": "Bearer ${BOARD_TOKEN}"},
            "alwaysAllow": ["*"],
        },
        "sock": {"url": "wss://a/mcp"},
        "typed": {"type": "streamable-http", "url": "https://a/mcp"},
        "off": {"command": "b", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": listed, "other": 1}))
    servers = McpServers.from_file(file, options={"files": {"permission": "ask", "prefix": "f"}})
    assert [(one.name, type(one.source)) for one in servers] == [
        ("files", McpProcess),
        ("web", McpHttp),
        ("sock", McpWebSocket),
        ("typed", McpHttp),
    ]
    files, web = servers["files"].source, servers["web"].source
    assert files == McpProcess("a", ["/data", "x"], env={"T": TOKEN}, cwd="/")
    assert isinstance(web, McpHttp) and web.fields() == {"Authorization": f"Bearer {TOKEN}"}
    assert servers["files"]._options["permission"] == "ask" and "permission" not in servers["web"]._options
    assert len(servers) == 4 and TOKEN not in repr(servers) + repr(vars(servers))
    with pytest.raises(sotto.SottoError, match="MCP server 'files' is not connected"):
        _ = servers.tools
    servers.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (7, 'expected {"mcpServers"'),
        ({"servers": {}}, 'expected {"mcpServers"'),
        ({"mcpServers": []}, 'expected {"mcpServers"'),
        ({"mcpServers": {"a": 7}}, "invalid mcpServers.a: expected an object"),
        ({"mcpServers": {"a": {}}}, "invalid mcpServers.a: expected either command or url"),
        ({"mcpServers": {"a": {"command": "x", "url": "http://a"}}}, "expected either command or url"),
        (
            {"mcpServers": {"a": {"type": "sse", "url": "http://a"}}},
            "invalid mcpServers.a.type: expected stdio, http",
        ),
        ({"mcpServers": {"a": {"type": "http"}}}, "mcpServers.a: missing url"),
        ({"mcpServers": {"a": {"type": "stdio"}}}, "mcpServers.a: missing command"),
        ({"mcpServers": {"a": {"command": 7}}}, "invalid mcpServers.a.command: expected a text"),
        (
            {"mcpServers": {"a": {"command": "x", "args": "y"}}},
            "mcpServers.a: invalid args: expected an array",
        ),
        (
            {"mcpServers": {"a": {"command": "x", "args": [7]}}},
            "invalid mcpServers.a.args[0]: expected a text",
        ),
        (
            {"mcpServers": {"a": {"command": "x", "env": {"B": 7}}}},
            "invalid mcpServers.a.env.B: expected a text",
        ),
        (
            {"mcpServers": {"a": {"url": "http://a", "headers": 7}}},
            "invalid mcpServers.a.headers: expected an object",
        ),
        ({"mcpServers": {"a": {"url": "nowhere"}}}, "mcpServers.a: invalid url"),
        (
            {"mcpServers": {"a": {"command": "${NOTHING}"}}},
            "invalid mcpServers.a.command: the environment has no",
        ),
        ({"mcpServers": {str(at): {"command": "x"} for at in range(65)}}, "expected at most 64, not 65"),
    ],
)
def test_configurations_that_are_none(given: Any, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTHING", raising=False)
    with pytest.raises(sotto.ArgumentError, match=re.escape(why)):
        McpServers.from_config(given)


def test_files_that_are_no_configurations(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        McpServers.from_file(tmp_path / "nothing.json")
    for text in ("{", "[" * 100_000, "\0", " " * (1 << 20) + "{}"):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(sotto.ArgumentError, match="expected"):
            McpServers.from_file(tmp_path / "a.json")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(sotto.ArgumentError, match="a regular file"):
        McpServers.from_file(tmp_path / "fifo")
    good = {"mcpServers": {"a": {"command": "x"}}}
    with pytest.raises(sotto.ArgumentError, match="invalid options 'b'"):
        McpServers.from_config(good, options={"b": {}})
    with pytest.raises(sotto.ArgumentError, match="one server 'a', not two"):
        McpServers([*McpServers.from_config(good), *McpServers.from_config(good)])
    with pytest.raises(TypeError, match="servers"):
        McpServers(["a"])  # type: ignore[list-item]
