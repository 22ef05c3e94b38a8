"""Tools of a `Runner`: callbacks, files, the dispatch URL, and calls for the caller."""

from __future__ import annotations

import base64
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import sotto
from conftest import ENVIRONMENT
from runner_house import HOUSE, chat, said, stream
from runner_script import GATE, HI, OPEN, RING, scripted_runners, user
from sotto.runner import (
    AgentPermission,
    AgentToolApproval,
    AgentToolSource,
    ChatCompletionRequest,
    File,
    FileSource,
    Runner,
    RunnerError,
    ToolCallType,
    ToolChoice,
    Which,
)

Made = Callable[..., Runner]


@pytest.fixture
def made(engine: sotto.Engine) -> Iterator[Made]:
    yield from scripted_runners(engine)


@pytest.mark.row("E-026", "E-118", "E-455", "E-534", "E-535", "E-536", "E-537", "E-538", "E-539", "E-540")
def test_a_callback(made: Made) -> None:
    heard: list[Any] = []

    def open_(name: str, arguments: dict[str, Any]) -> str:
        heard.append((name, arguments))
        return f"opened {arguments['gate']}"

    runner = made(open=open_)
    answer = chat(runner, HI, tool_schemas=[OPEN])
    assert heard == [("open", {"gate": "north"})]
    assert said(answer) == "It is open." and answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.tool_calls is None
    assert answer.agentic_tool_calls is not None
    (one,) = answer.agentic_tool_calls
    assert (one.round, one.name, json.loads(one.arguments), one.result_content) == (
        1,
        "open",
        {"gate": "north"},
        "opened north",
    )
    assert one.result_images_base64 == [] and one.file_ids == [] and answer.files is None
    assert answer.usage.completion_tokens > 0 and answer.usage.total_time_sec >= 0
    assert answer.session_id in runner.list_session_ids()  # generated
    stored = json.loads(runner.export_session(str(answer.session_id)) or "")["messages"]
    assert [one["role"] for one in stored] == ["user", "assistant", "tool", "assistant"]
    assert "opened north" in stored[2]["content"]


def test_a_stream_of_a_callback(made: Made) -> None:
    runner = made(open=lambda name, arguments: "opened")
    chunks = list(stream(runner, HI, tool_schemas=[OPEN], session_id="s"))
    assert "".join(one.choices[0].delta.content or "" for one in chunks) == "It is open."
    assert [one.choices[0].finish_reason for one in chunks][-1] == "stop"
    assert [one.choices[0].finish_reason for one in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].usage is not None and chunks[-1].session_id == "s"
    assert runner.list_session_ids() == ["s"]


@pytest.mark.row("E-083", "E-088")
def test_the_rounds_of_a_session_are_kept(made: Made) -> None:
    runner = made(open=lambda name, arguments: "opened")
    chat(runner, HI, tool_schemas=[OPEN], session_id="s")
    exported = runner.export_session("s")
    assert exported is not None
    runner.import_session("t", exported)
    whole = [*HI, {"role": "assistant", "content": "It is open."}, *user("again")]
    answers = [chat(runner, whole, tool_schemas=[OPEN], session_id=name) for name in ("s", "t")]
    assert {said(one) for one in answers} == {"It was open."}
    assert answers[0].usage.prompt_tokens == answers[1].usage.prompt_tokens
    after = [json.loads(runner.export_session(name) or "")["messages"] for name in ("s", "t")]
    assert after[0] == after[1]
    assert [one["role"] for one in after[0]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("result", [None, {"open": True}, 3, "x" * 100_000, "\ud800"])
def test_other_results_are_texts(made: Made, result: Any) -> None:
    answer = chat(made(open=lambda name, arguments: result), HI, tool_schemas=[OPEN])
    assert said(answer) == "It is open." and answer.agentic_tool_calls
    assert 0 < len(answer.agentic_tool_calls[0].result_content) <= 8192


def test_a_callback_that_raises(made: Made) -> None:
    def fails(name: str, arguments: dict[str, Any]) -> str:
        raise RuntimeError("rusty")

    for one in (fails, lambda name, arguments: b"\0", lambda: "too few"):
        answer = chat(made(open=one), HI, tool_schemas=[OPEN])
        assert said(answer) == "It is open." and answer.agentic_tool_calls
        assert answer.agentic_tool_calls[0].result_content


def test_tools_without_a_callback(made: Made) -> None:
    with pytest.raises(RunnerError, match=r"a callback for each tool.*'ring'"):
        chat(made(open=lambda name, arguments: ""), user("both"), tool_schemas=[OPEN, RING])
    for wrong, words in (("[", r"tool_schemas\[0\]"), ("3", r"tool_schemas\[0\]"), ("{}", "schema")):
        with pytest.raises(RunnerError, match=words):
            chat(
                made(open=lambda name, arguments: "", None_=lambda name, arguments: ""),
                HI,
                tool_schemas=[wrong, OPEN],
            )
    with pytest.raises(RunnerError, match="two"):
        chat(made(open=lambda name, arguments: ""), HI, tool_schemas=[OPEN, OPEN])
    with pytest.raises(RunnerError, match="n_choices"):
        chat(made(open=lambda name, arguments: ""), HI, tool_schemas=[OPEN], n_choices=2)
    with pytest.raises(TypeError, match="tool_callbacks"):
        Runner(Which.GGUF("npc", "x"), tool_callbacks=[print])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"tool_callbacks\['open'\]"):
        Runner(Which.GGUF("npc", "x"), tool_callbacks={"open": 3})  # type: ignore[dict-item]


@pytest.mark.row("E-094", "E-119", "E-173", "E-467", "E-526", "E-529", "E-530", "E-531", "E-532", "E-533")
def test_calls_that_the_caller_executes(made: Made) -> None:
    runner = made()
    answer = chat(runner, user("both"), tool_schemas=[OPEN, RING])
    (one,) = answer.choices
    assert one.finish_reason == "tool_calls" and one.message.tool_calls is not None
    first, second = one.message.tool_calls
    assert (first.index, first.id, first.tp) == (0, "c0", ToolCallType.Function)
    assert (first.function.name, json.loads(first.function.arguments)) == ("open", {"gate": "north"})
    assert (second.index, second.function.name) == (1, "ring") and answer.agentic_tool_calls is None
    chunks = list(stream(runner, user("both"), tool_schemas=[OPEN, RING], session_id="s"))
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].choices[0].delta.tool_calls == one.message.tool_calls
    assert all(each.choices[0].delta.tool_calls is None for each in chunks[:-1])
    stored = json.loads(runner.export_session("s") or "")["messages"]
    assert [each["function"]["name"] for each in stored[-1]["tool_calls"]] == ["open", "ring"]
    silent = made(open=lambda name, arguments: "opened")
    none = chat(silent, user("again"), tool_schemas=[OPEN], tool_choice=ToolChoice.NoTools)
    assert none.agentic_tool_calls is None and none.choices[0].message.tool_calls is None


@pytest.mark.row("E-090", "E-128")
@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_the_cap_of_rounds(made: Made, rounds: int) -> None:
    ran: list[Any] = []
    runner = made(open=lambda name, arguments: ran.append(arguments) or "opened")
    answer = chat(runner, user("twice"), tool_schemas=[OPEN], max_tool_rounds=rounds)
    assert len(ran) == rounds
    assert answer.agentic_tool_calls is not None
    assert [one.round for one in answer.agentic_tool_calls if one.result_content == "opened"] == [1, 2][
        :rounds
    ]
    for wrong in (-1, 257):
        with pytest.raises(ValueError, match="max_tool_rounds"):
            chat(runner, HI, tool_schemas=[OPEN], max_tool_rounds=wrong)


# Files


@pytest.mark.row("E-089", "E-456", "E-551", "E-556", "E-557", "E-569", "E-570", "E-571")
def test_files_of_callbacks(made: Made) -> None:
    body = "the map " * 1000
    bodies: list[dict[str, Any]] = [{"text": body}, {"data_base64": base64.b64encode(b"\0\1").decode()}]
    plain = {"text": None, "data_base64": None, "format": None, "mime_type": None, "preview": None}

    def draw(name: str, arguments: dict[str, Any]) -> File:
        fields: dict[str, Any] = {**plain, **bodies.pop(0)}
        return File("", name="map", bytes=0, source=FileSource("", 0, 0), **fields)

    runner = made(open=draw)
    answer = chat(runner, user("twice"), tool_schemas=[OPEN], session_id="s")
    assert answer.files is not None and answer.agentic_tool_calls is not None
    text, data = answer.files
    assert [one.file_ids for one in answer.agentic_tool_calls] == [
        [text.id],
        [data.id],
    ] and text.id != data.id
    assert (text.bytes, data.bytes, text.text, text.preview) == (len(body), 2, body, body[:256])
    assert (text.source, data.source) == (FileSource("open", 1, 1), FileSource("open", 2, 1))
    assert "map" in answer.agentic_tool_calls[0].result_content
    assert runner.find_file(text.id) == text and runner.find_file("file-none") is None
    runner.import_session("copy", str(runner.export_session("s")))
    runner.delete_session("s")
    assert runner.find_file(data.id) == data
    runner.delete_session("copy")
    assert runner.find_file(data.id) is None


# Cancellation and threads


def test_a_stream_that_is_closed_while_a_tool_runs(made: Made) -> None:
    began, leave = threading.Event(), threading.Event()

    def wait(name: str, arguments: dict[str, Any]) -> str:
        began.set()
        leave.wait(30)
        return "opened"

    runner = made(open=wait)
    for close in (True, False):
        began.clear()
        chunks = stream(runner, HI, tool_schemas=[OPEN], session_id="s")
        reader = threading.Thread(target=lambda: None)
        assert began.wait(10)
        reader.start()
        if close:
            chunks.close()
            assert list(chunks) == []
        del chunks
        gc.collect()
        reader.join()
        end = time.monotonic() + 10
        while runner._loader.engine.sessions() and time.monotonic() < end:
            time.sleep(0.01)
        assert runner._loader.engine.sessions() == {} and runner.list_session_ids() == []
    leave.set()


def test_a_callback_asks_the_runner_itself(made: Made) -> None:
    def ask(name: str, arguments: dict[str, Any]) -> str:
        with pytest.raises(RunnerError, match="'s' already answers"):
            chat(runner, user("again"), session_id="s")
        return said(chat(runner, user("again"), tool_schemas=[OPEN]))

    runner = made(open=ask)
    answer = chat(runner, HI, tool_schemas=[OPEN], session_id="s")
    assert answer.agentic_tool_calls and answer.agentic_tool_calls[0].result_content == "It was open."


ENDS = """
import sys, time
import sotto
from runner_house import stream
from runner_script import HI, OPEN, PLAYS
from agent_script import options
from conftest import ENVIRONMENT
from conftest import SCRIPTED
from sotto.runner import Runner, Which

engine = sotto.Engine(module_dir=SCRIPTED)
engine.load_model("npc", options=options(PLAYS))
runner = Runner(Which.GGUF("npc", "x"), tool_callbacks={"open": lambda *_: time.sleep(60)}, engine=engine)
chunks = stream(runner, HI, tool_schemas=[OPEN])
print("began")
sys.exit(3)
"""


def test_the_interpreter_ends_in_the_middle_of_a_call() -> None:
    where = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", ENDS], env=where, capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "began\n", "")


def test_callbacks_on_threads(made: Made) -> None:
    lock, ran = threading.Lock(), []

    def count(name: str, arguments: dict[str, Any]) -> str:
        with lock:
            ran.append(arguments)
        return "opened"

    runner = made(open=count)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(said(chat(runner, HI, tool_schemas=[OPEN]))))
        for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert answers == ["It is open."] * 8 and len(ran) == 8 and len(runner.list_session_ids()) == 8


# The dispatch URL


@contextmanager
def server(heard: list[Any]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps({"content": f"ran {heard[-1]['name']}"}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/act"
        httpd.shutdown()


@pytest.mark.row("E-091", "E-092", "E-129")
def test_a_dispatch_url(made: Made) -> None:
    heard: list[Any] = []
    with server(heard) as url:
        runner = made()
        answer = chat(runner, user("twice"), tool_schemas=[OPEN], tool_dispatch_url=url)
        assert heard == [{"name": "open", "arguments": {"gate": one}} for one in ("north", "south")]
        assert answer.agentic_tool_calls is not None and said(answer) == "Both."
        assert [one.result_content for one in answer.agentic_tool_calls] == ["ran open"] * 2
        own = made(ring=lambda name, arguments: "rang")  # a callback has precedence
        answer = chat(own, user("both"), tool_schemas=[OPEN, RING], tool_dispatch_url=url)
        assert answer.agentic_tool_calls is not None
        assert [one.result_content for one in answer.agentic_tool_calls] == ["ran open", "rang"]
        approvals: list[AgentToolApproval] = []
        fields = {"agent_permission": AgentPermission.Ask, "agent_approval_callback": approvals.append}
        chat(runner, HI, tool_schemas=[OPEN], tool_dispatch_url=url, **fields)
        assert approvals[0].tool.source is AgentToolSource.External and len(heard) == 3
    with pytest.raises(RunnerError, match="url"):
        chat(runner, HI, tool_schemas=[OPEN], tool_dispatch_url="ftp://x")


@pytest.mark.real
@pytest.mark.row("E-095")
def test_arguments_match_their_schema_for_every_seed() -> None:
    about = {"name": "open", "description": "Opens a gate.", "strict": True, "parameters": GATE}
    schema = json.dumps({"type": "function", "function": about})
    request = ChatCompletionRequest(
        user("Please open the gate."),
        "default",
        n_choices=50,
        tool_schemas=[schema],
        max_tokens=40,
        temperature=1.2,
    )
    with Runner(HOUSE, seed=3, options={"context": 512, "parallel": 16}) as runner:
        answer: Any = runner.send_chat_completion_request(request)
        calls_ = [one for choice in answer.choices for one in choice.message.tool_calls or ()]
    called = [json.loads(one.function.arguments)["gate"] for one in calls_]
    assert len(called) > 10 and set(called) == {"north", "south"}
