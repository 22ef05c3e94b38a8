"""Sessions of a `Runner`: how messages continue them, limits, exports and imports."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner_house import HELLO, HOUSE, OPTIONS, chat, said, stream
from sotto.runner import Runner, RunnerError
from sotto.runner.sessions import IDLE_SECONDS, MAX_SESSIONS, Sessions, read_session, spliced

U1, A1, U2, A2, U3 = (
    {"role": role, "content": text}
    for role, text in (
        ("user", "u1"),
        ("assistant", "a1"),
        ("user", "u2"),
        ("assistant", "a2"),
        ("user", "u3"),
    )
)
SYSTEM, OTHER = ({"role": "system", "content": text} for text in ("be kind", "be rude"))
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c0", "function": {"name": "open"}}]}
RESULT = {"role": "tool", "tool_call_id": "c0", "content": "opened"}
STORED = [U1, CALL, RESULT, A1]


@pytest.mark.row("E-088")
@pytest.mark.parametrize(
    ("stored", "new", "expected"),
    [
        ([], [U1], [U1]),
        (STORED, [U1, A1, U2], [*STORED, U2]),  # the whole conversation: calls are kept
        (STORED, [U2], [*STORED, U2]),  # one new message continues it
        ([SYSTEM, *STORED], [U2], [SYSTEM, *STORED, U2]),
        ([SYSTEM, *STORED], [SYSTEM, U2], [SYSTEM, *STORED, U2]),
        ([SYSTEM, *STORED], [OTHER, U2], [OTHER, *STORED, U2]),
        (STORED, [SYSTEM, U2], [SYSTEM, *STORED, U2]),
        ([*STORED, U2, A2], [U1, A1, U3], [*STORED, U3]),  # an edited message takes effect
        ([*STORED, U2, A2], [U1, A2, U3], [U1, A2, U3]),  # so does an edited answer
        (STORED, [U1], [U1]),  # the first message again
        (STORED, [*STORED, U2], [*STORED, U2]),
        ([U1, CALL], [U1, CALL, RESULT], STORED[:3]),  # the caller executes the calls
    ],
)
def test_messages_continue_a_session(stored: list[Any], new: list[Any], expected: list[Any]) -> None:
    assert spliced(stored, new) == expected


@given(
    st.lists(st.sampled_from([U1, A1, U2, A2, U3, CALL, RESULT, SYSTEM])),
    st.lists(st.sampled_from([U1, U2, A1, SYSTEM]), min_size=1),
)
def test_a_conversation_ends_with_the_new_messages(stored: list[Any], new: list[Any]) -> None:
    found = spliced(stored, new)
    visible = [one for one in found if one["role"] != "tool" and not one.get("tool_calls")]
    assert (found[-1] == new[-1] and visible[-len(new) :] == new) or found[-1] == new[-1]
    assert all(one in [*stored, *new] for one in found)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.row("E-086")
def test_the_limits_of_sessions() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    for number in range(MAX_SESSIONS):
        sessions.end("m", sessions.begin("m", f"s{number}"), [U1])
    sessions.end("m", sessions.begin("m", "s0"), [U1, A1])  # used again
    sessions.end("n", sessions.begin("n", "new"), [U1])
    assert "s1" not in sessions.ids("m") and "s0" in sessions.ids("m") and sessions.ids("n") == ["new"]
    assert len(sessions.ids("m")) == MAX_SESSIONS - 1 == 127
    clock.now = IDLE_SECONDS - 60
    sessions.end("m", sessions.begin("m", "s2"), [U1])
    clock.now = IDLE_SECONDS + 60
    assert sessions.ids("m") == ["s2"] and sessions.ids("n") == []
    assert sessions.export("m", "s3") is None and sessions.export("m", "s2")
    clock.now += IDLE_SECONDS + 1
    assert sessions.ids("m") == [] and not sessions.delete("m", "s2")


def test_a_busy_session_is_kept() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    busy = sessions.begin("m", "busy")
    with pytest.raises(RunnerError, match="'busy' already answers"):
        sessions.begin("m", "busy")
    for number in range(MAX_SESSIONS + 5):
        sessions.end("m", sessions.begin("m", f"s{number}"), [U1])
    clock.now = IDLE_SECONDS * 3
    assert sessions.ids("m") == ["busy"]
    sessions.end("m", busy, [U1])
    assert sessions.begin("m", "busy").messages == [U1]
    with pytest.raises(RunnerError, match="answers"):
        sessions.take("m", "busy", str(Sessions.export(_with("x"), "m", "x")))
    sessions.end("m", sessions.begin("m", "fails"), None)
    assert sessions.ids("m") == ["busy"]


def _with(name: str) -> Sessions:
    sessions = Sessions()
    sessions.end("m", sessions.begin("m", name), [U1, A1])
    return sessions


GOOD = {"kind": "sotto.runner.session", "version": 1, "turns": 1, "messages": [U1, A1], "files": []}
BAD: list[tuple[Any, str]] = [
    ("", "session_json"),
    ("garbage", "session_json"),
    ("[]", "session_json"),
    ("null", "session_json"),
    ("{}", "session_json"),
    ("{" * 5000, "session_json"),
    ({**GOOD, "kind": "other"}, "session_json"),
    ({**GOOD, "version": 2}, "version '2': expected 1"),
    ({**GOOD, "version": None}, "version"),
    ({**GOOD, "turns": -1}, "turns"),
    ({**GOOD, "turns": True}, "turns"),
    ({**GOOD, "messages": None}, "messages"),
    ({**GOOD, "messages": [3]}, r"messages\[0\]"),
    ({**GOOD, "messages": [U1, {"role": "king"}]}, r"messages\[1\]"),
    ({**GOOD, "messages": [{"role": [], "content": ""}]}, r"messages\[0\]"),
    ({**GOOD, "messages": [{"role": "user", "content": 3}]}, r"messages\[0\]"),
    ({**GOOD, "messages": [{"role": "assistant", "tool_calls": 3}]}, r"messages\[0\]"),
    ({**GOOD, "files": {}}, "files"),
    ({**GOOD, "files": [{}]}, "files"),
    ({**GOOD, "files": [{"source": 3}]}, "files"),
    ({**GOOD, "files": [3]}, "files"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_what_is_no_session(text: Any, words: str) -> None:
    with pytest.raises(RunnerError, match=words):
        read_session("s", text if isinstance(text, str) else json.dumps(text))


def test_wrong_types_of_sessions() -> None:
    with pytest.raises(TypeError, match="session_json"):
        read_session("s", b"{}")  # type: ignore[arg-type]
    for call in (Sessions().export, Sessions().delete):
        with pytest.raises(TypeError, match="session_id"):
            call("m", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="file_id"):
        Sessions().find_file(3)  # type: ignore[arg-type]


# On the house model


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(HOUSE, options=OPTIONS) as made:
        yield made


@pytest.mark.real
@pytest.mark.row("E-082", "E-083", "E-084", "E-085", "E-087", "E-134", "E-457", "E-477")
def test_a_session_goes_on(runner: Runner) -> None:
    first = chat(runner, session_id="mara")
    assert first.session_id == "mara" and runner.list_session_ids() == ["mara"]
    assert chat(runner).session_id is None  # no session without an id
    again = [{"role": "user", "content": "What do you sell?"}]
    whole = [*HELLO, {"role": "assistant", "content": said(first)}, *again]
    exported = runner.export_session("mara")
    assert exported is not None and json.loads(exported)["messages"] == whole[:2]
    second = chat(runner, again, session_id="mara")
    expected = chat(runner, whole)
    assert (said(second), second.usage.prompt_tokens) == (said(expected), expected.usage.prompt_tokens)
    for _ in range(2):  # imported twice, also over another session
        runner.import_session("copy", exported)
        runner.import_session("mara", exported)
        assert runner.export_session("copy") == exported == runner.export_session("mara")
    copied = chat(runner, again, session_id="copy", temperature=0)
    assert (said(copied), copied.usage.prompt_tokens) == (said(second), second.usage.prompt_tokens)
    assert set(runner.list_session_ids("sotto/house")) == {"mara", "copy"}
    assert [runner.delete_session("mara"), runner.delete_session("mara")] == [True, False]
    assert runner.export_session("mara") is None and runner.list_session_ids() == ["copy"]
    assert runner.find_file("file-0") is None
    runner.delete_session("copy")
    for call in (runner.export_session, runner.delete_session):
        with pytest.raises(RunnerError, match="model_id 'four'"):
            call("mara", "four")
    with pytest.raises(RunnerError, match="model_id 'four'"):
        runner.list_session_ids("four")
    with pytest.raises(RunnerError, match="session_json"):
        runner.import_session("mara", "{}")
    with pytest.raises(RunnerError, match="n_choices"):
        chat(runner, session_id="mara", n_choices=2)
    assert runner.list_session_ids() == []


@pytest.mark.real
def test_a_stream_of_a_session(runner: Runner) -> None:
    chunks = list(stream(runner, session_id="s"))
    assert [one.session_id for one in chunks] == [None] * (len(chunks) - 1) + ["s"]
    exported = runner.export_session("s")
    assert exported is not None
    text = "".join(one.choices[0].delta.content or "" for one in chunks)
    assert json.loads(exported)["messages"][-1] == {"role": "assistant", "content": text}
    open_ = stream(runner, session_id="s", max_tokens=300, ignore_eos=True)
    next(open_)
    with pytest.raises(RunnerError, match="'s' already answers"):
        chat(runner, session_id="s")
    del open_
    gc.collect()
    assert runner.export_session("s") == exported  # an answer that was cancelled changes nothing
    assert chat(runner, session_id="s").session_id == "s"
    with pytest.raises(RunnerError, match="max_tokens"):
        chat(runner, session_id="t", max_tokens=-1)
    assert "t" not in runner.list_session_ids()


@pytest.mark.real
def test_sessions_on_threads(runner: Runner) -> None:
    wrong: list[str] = []

    def talk(name: str) -> None:
        for turn in range(3):
            answer = chat(
                runner, [{"role": "user", "content": f"{name} {turn}"}], session_id=name, max_tokens=3
            )
            told = json.loads(runner.export_session(name) or "{}")
            if answer.session_id != name or len(told["messages"]) != 2 * turn + 2:
                wrong.append(name)

    threads = [threading.Thread(target=talk, args=(f"t{number}",)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
